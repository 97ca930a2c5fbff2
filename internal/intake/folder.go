package intake

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/store"
)

// A watched folder has a folder for each family that is delivered, in which files appear. Those that name no source may
// lie in a folder of the source below. What was imported is moved, with a report next to it: to done if every row is
// stored, else to rejected.
const (
	doneFolder     = "done"
	rejectedFolder = "rejected"
	reportSuffix   = ".report.json"
)

const (
	// rescanEvery is how often the folder is looked through without news: not every file system sends any.
	rescanEvery = 30 * time.Second
	// settleTime is how old the last change of a file must be. A file that is still being written would be imported in
	// part, and again until it stays as it is.
	settleTime = 2 * time.Second
)

// Report is what is written next to a file that was imported.
type Report struct {
	File string `json:"file"`
	At   string `json:"at"`
	// Error is why the file was not read to its end.
	Error string `json:"error,omitempty"`
	*Result
}

// Watch imports the files that appear in a folder until the context ends.
func (s *Service) Watch(ctx context.Context, folder string) error {
	w := &watch{Service: s, folder: folder, told: map[string]bool{}, log: s.Log.With("folder", folder)}
	var events chan fsnotify.Event
	var failures chan error
	if watcher, err := fsnotify.NewWatcher(); err != nil {
		w.log.Warn("no news of the watched folder: it is looked through now and then", "error", err)
	} else {
		defer func() { _ = watcher.Close() }() // nothing waits for its news any more
		w.watcher, events, failures = watcher, watcher.Events, watcher.Errors
	}
	for {
		next := w.look(ctx)
		timer := time.NewTimer(next)
		if !waitForNews(ctx, events, failures, timer.C) {
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// waitForNews reports false when the context ends. An overflow of news is news too.
func waitForNews(
	ctx context.Context, events chan fsnotify.Event, failures chan error, due <-chan time.Time,
) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-due:
			return true
		case <-failures:
			return true
		case e := <-events:
			if !e.Has(fsnotify.Create) && !e.Has(fsnotify.Rename) {
				continue // a file is looked at again when it may have settled
			}
			return true
		}
	}
}

// watch is a folder that is watched.
type watch struct {
	*Service
	folder  string
	watcher *fsnotify.Watcher // nil without news
	told    map[string]bool   // what the log has been told of
	log     *slog.Logger
}

// look imports what is there, and returns when to look again.
func (w *watch) look(ctx context.Context) (next time.Duration) {
	next = rescanEvery
	for _, entry := range w.entries(w.folder) {
		if !entry.IsDir() {
			w.tellOnce("a file in the watched folder is in no folder of a family", entry.Name(), errNoFamily)
		}
	}
	for _, f := range ingest.Families {
		path := filepath.Join(w.folder, f.Name)
		entries := w.entries(path)
		for _, entry := range entries {
			if !entry.IsDir() {
				next = min(next, w.file(ctx, f, "", filepath.Join(path, entry.Name())))
				continue
			}
			source := entry.Name()
			for _, below := range w.entries(filepath.Join(path, source)) {
				if !below.IsDir() {
					next = min(next, w.file(ctx, f, source, filepath.Join(path, source, below.Name())))
				}
			}
		}
	}
	return next
}

var errNoFamily = fmt.Errorf("must be in one of the folders %s", strings.Join(familyNames(), ", "))

// entries lists a folder, and asks for its news. A folder that does not exist has none.
func (w *watch) entries(path string) (list []fs.DirEntry) {
	all, err := os.ReadDir(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.tellOnce("cannot read a watched folder", path, err)
		}
		return nil
	}
	w.follow(path)
	for _, entry := range all {
		if !strings.HasPrefix(entry.Name(), ".") {
			list = append(list, entry)
		}
	}
	return list
}

// follow asks for the news of a folder; asking again changes nothing.
func (w *watch) follow(path string) {
	if w.watcher == nil {
		return
	}
	if err := w.watcher.Add(path); err != nil {
		w.tellOnce("no news of a watched folder: it is looked through now and then", path, err)
	}
}

func (w *watch) tellOnce(message, path string, err error) {
	if key := message + path; !w.told[key] {
		w.told[key] = true
		w.log.Warn(message, "path", path, "error", err)
	}
}

// partial are the ends of names that files have while they are written.
var partial = []string{".part", ".tmp"}

// file imports a file if it is complete, and returns when to look again.
func (w *watch) file(ctx context.Context, f ingest.Family, source, path string) (next time.Duration) {
	name := filepath.Base(path)
	for _, suffix := range partial {
		if strings.HasSuffix(name, suffix) {
			return rescanEvery
		}
	}
	before, err := os.Lstat(path)
	if err != nil || !before.Mode().IsRegular() || ctx.Err() != nil {
		return rescanEvery // it is gone, or is no file
	}
	if ingest.Format(name) == "" {
		w.tellOnce("a file in the watched folder has an unknown format", path, fmt.Errorf("must be %s", ingest.Formats))
		return rescanEvery
	}
	if age := w.Now().Sub(before.ModTime()); age >= 0 && age < settleTime {
		return settleTime - age
	}
	report, err := w.importFile(ctx, f, source, path)
	switch {
	case ctx.Err() != nil:
		return rescanEvery
	case err != nil:
		w.log.Error("cannot import a file of the watched folder, trying again", "path", path, "error", err)
		return rescanEvery
	}
	if after, err := os.Lstat(path); err != nil || after.Size() != before.Size() ||
		!after.ModTime().Equal(before.ModTime()) || !os.SameFile(before, after) {
		return settleTime // it was still being written: what is stored is known the next time
	}
	if err := w.putAway(report, path); err != nil {
		w.log.Error("cannot move an imported file, trying again", "path", path, "error", err)
	}
	return rescanEvery
}

// importFile imports a file. An error is ours; what is wrong with the file is in the report.
func (w *watch) importFile(ctx context.Context, f ingest.Family, source, path string) (*Report, error) {
	db := w.db.Load()
	ctx = store.WithActor(ctx, "watched-folder")
	report := &Report{File: filepath.Base(path), At: assay.FormatInstant(w.Now().UnixMilli())}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, files.Reader(ctx, file)); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r, err := w.take(ctx, db, delivery{family: f, source: source, name: filepath.Base(path)}, file)
	report.Result = r.result
	if wrong, ok := errors.AsType[ingest.FileError](err); ok {
		report.Error = wrong.Error()
		r.unsigned("the file was not read to its end")
		return report, nil
	}
	if err != nil {
		return nil, err
	}
	return report, w.finish(ctx, db, r, assay.Hash(sum.Sum(nil)))
}

// putAway writes the report and moves the file. A crash in between leaves the file where it was: its rows are known
// the next time, and the report is written again.
func (w *watch) putAway(report *Report, path string) error {
	to := doneFolder
	if report.Error != "" || report.Rejected+report.Conflicting > 0 {
		to = rejectedFolder
	}
	relative, err := filepath.Rel(w.folder, path)
	if err != nil {
		return err
	}
	target := filepath.Join(w.folder, to, relative)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	target = freeName(target)
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if err := files.Replace(target+reportSuffix, append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(path, target); err != nil {
		return err
	}
	w.log.Info("imported a file", "path", relative, "to", to, "stored", report.Stored, "known", report.Known,
		"conflicting", report.Conflicting, "rejected", report.Rejected, "error", report.Error)
	return nil
}

// freeName returns a name that no file has: the given one, or with a number.
func freeName(target string) string {
	folder, base := filepath.Split(target)
	name, extensions, _ := strings.Cut(base, ".")
	free := target
	for i := 2; ; i++ {
		if _, err := os.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			return free
		}
		free = filepath.Join(folder, fmt.Sprintf("%s-%d.%s", name, i, extensions))
	}
}
