//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

const (
	patience = 2 * time.Minute // how long anything may take

	days       = 4  // of history, of which the last two are published at the start
	beforeRows = 15 // files that are imported before the backup, and as many after it
	rowsAFile  = 5
	rowsHeader = "id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n"
)

// machine is where a database lives: a folder, and for PostgreSQL a server.
type machine struct {
	options
	dir     string
	store   string // address of a PostgreSQL database; SQLite is in dir/data
	as      *syscall.Credential
	servers []*process.Process
	begin   time.Time // of the history
	work    work
}

// work is what was acknowledged, and when that began and ended.
type work struct {
	mu    sync.Mutex
	files []acknowledged // imported
	hours []acknowledged // published
}

type acknowledged struct {
	name string // of a file, or the instant at which an hour begins
	at   time.Time
}

func newMachine(o options) (*machine, error) {
	as, err := process.Unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "assay-restore")
	if err != nil {
		return nil, err
	}
	if as != nil {
		err = os.Chown(dir, int(as.Uid), int(as.Gid))
	}
	begin := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -days)
	return &machine{options: o, dir: dir, as: as, begin: begin}, err
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

// stop ends the servers, the last first.
func (m *machine) stop() {
	for i := len(m.servers) - 1; i >= 0; i-- {
		m.servers[i].Stop()
	}
}

// assay runs a command of the program on the database in a folder, or at an address beside it.
func (m *machine) assay(ctx context.Context, folder, store string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.options.assay, args...)
	cmd.Env = append(os.Environ(), "ASSAY_DIR="+folder)
	if store != "" {
		cmd.Env = append(cmd.Env, "ASSAY_STORE="+store)
	}
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("assay %s: %w: %s", strings.Join(args, " "), err, process.Tail(exit.Stderr))
	}
	return string(out), err
}

// here runs a command on the machine's own database.
func (m *machine) here(ctx context.Context, args ...string) (string, error) {
	return m.assay(ctx, m.path("data"), m.store, args...)
}

// shell runs a line of the documents, as the account of the servers.
func (m *machine) shell(ctx context.Context, line string, environment ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = m.dir, append(os.Environ(), environment...)
	if m.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: m.as}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, process.Tail(out))
	}
	return nil
}

// appendRow adds a transaction as a CSV row.
func appendRow(b *bytes.Buffer, id string, at time.Time, cents int) {
	fmt.Fprintf(b, "%s,drill,%s,H100 SXM,us-east,2.%02d,1,1,Alder,true\n",
		id, at.UTC().Format("2006-01-02T15:04:05.000Z"), cents%100)
}

// prepare makes a database with a history whose last days are published, a key and an account.
func (m *machine) prepare(ctx context.Context) error {
	b := bytes.NewBufferString(rowsHeader)
	for i := range days * 48 {
		appendRow(b, fmt.Sprintf("history-%d", i), m.begin.Add(time.Duration(i)*30*time.Minute+time.Minute), i)
	}
	file := m.path("history.csv")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init"},
		{"import", "transactions", file},
		{
			"publish", "--from", m.begin.AddDate(0, 0, days-2).Format(time.DateOnly),
			"--to", m.begin.AddDate(0, 0, days).Format(time.DateOnly),
		},
		{"key", "create", "--tier", "full", "--name", "drill"},
		{"account", "add", "ann@example.com", "--no-password"},
	} {
		if _, err := m.here(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// start imports and publishes until stop is called, which returns the first error.
func (m *machine) start(ctx context.Context) (stop func() error) {
	working, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	var first error
	all.Go(func() {
		for n := 0; working.Err() == nil && first == nil; n++ {
			first = m.importOne(ctx, n)
			if first == nil && n%4 == 0 && n/4 < (days-2)*24 {
				first = m.publishOne(ctx, m.begin.Add(time.Duration(n/4)*time.Hour))
			}
		}
	})
	return func() error {
		cancel()
		all.Wait()
		return first
	}
}

func (m *machine) importOne(ctx context.Context, n int) error {
	b := bytes.NewBufferString(rowsHeader)
	for i := range rowsAFile {
		appendRow(b, fmt.Sprintf("row-%d-%d", n, i), time.Now(), n+i)
	}
	name := m.path(fmt.Sprintf("rows-%d.csv", n))
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		return err
	}
	if _, err := m.here(ctx, "import", "transactions", name); err != nil {
		return err
	}
	m.work.mu.Lock()
	defer m.work.mu.Unlock()
	m.work.files = append(m.work.files, acknowledged{name, time.Now()})
	return nil
}

func (m *machine) publishOne(ctx context.Context, hour time.Time) error {
	from := hour.Format(time.RFC3339)
	if _, err := m.here(ctx, "publish", "--from", from, "--to", hour.Add(time.Hour).Format(time.RFC3339)); err != nil {
		return err
	}
	m.work.mu.Lock()
	defer m.work.mu.Unlock()
	m.work.hours = append(m.work.hours, acknowledged{from, time.Now()})
	return nil
}

// awaitFiles waits until so many more files are imported.
func (m *machine) awaitFiles(ctx context.Context, more int) error {
	count := func() int {
		m.work.mu.Lock()
		defer m.work.mu.Unlock()
		return len(m.work.files)
	}
	want := count() + more
	return process.Await(ctx, fmt.Sprintf("%d imports", want), patience, func(context.Context) error {
		if n := count(); n < want {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
}

// split tells what was acknowledged before a moment from what came later.
func split(list []acknowledged, moment time.Time) (before, later []string) {
	for _, a := range list {
		if a.at.Before(moment) {
			before = append(before, a.name)
		} else {
			later = append(later, a.name)
		}
	}
	return before, later
}

var (
	importedRows    = regexp.MustCompile(`(?m)^imported: ([\d,]+) new, ([\d,]+) known before, 0 rejected`)
	publishedValues = regexp.MustCompile(`(?m)^published: ([\d,]+) values?`)
)

// number is the first number of a pattern in a command's output.
func number(pattern *regexp.Regexp, out string, err error) (int, error) {
	found := pattern.FindStringSubmatch(out)
	if err == nil && found == nil {
		err = fmt.Errorf("unexpected output: %s", out)
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
}

// compare checks a restored database against what was acknowledged up to a moment: rows that are new when they are
// imported again were lost, and hours that can be published again.
func (m *machine) compare(ctx context.Context, folder, store string, moment time.Time) (out outcome, err error) {
	start := time.Now()
	text, err := m.assay(ctx, folder, store, "verify")
	if err != nil {
		return out, err
	}
	out.verified = time.Since(start)
	out.verdict, _, _ = strings.Cut(text, " (")
	files, laterFiles := split(m.work.files, moment)
	hours, _ := split(m.work.hours, moment)
	out.rows, out.hours, out.laterRows = rowsAFile*len(files), len(hours), rowsAFile*len(laterFiles)
	if out.rows == 0 || out.hours == 0 || out.laterRows == 0 {
		return out, fmt.Errorf("%+v shows nothing", out)
	}
	imports := func(files []string) (lost int, err error) {
		text, err := m.assay(ctx, folder, store, append([]string{"import", "transactions"}, files...)...)
		return number(importedRows, text, err)
	}
	lost, err := imports(append(files, m.path("history.csv")))
	if err == nil && lost > 0 {
		err = fmt.Errorf("%d of %d acknowledged rows were lost", lost, out.rows)
	}
	if err != nil {
		return out, err
	}
	for _, hour := range hours {
		at, err := time.Parse(time.RFC3339, hour)
		if err != nil {
			return out, err
		}
		text, err := m.assay(ctx, folder, store, "publish", "--from", hour, "--to", at.Add(time.Hour).Format(time.RFC3339))
		again, err := number(publishedValues, text, err)
		if err == nil && again > 0 {
			err = fmt.Errorf("the hour from %s was published, and was lost", hour)
		}
		if err != nil {
			return out, err
		}
	}
	lost, err = imports(laterFiles)
	out.latest = out.laterRows - lost
	return out, err
}

// finish publishes what came since on the restored database, and verifies all of it.
func (m *machine) finish(ctx context.Context, folder, store string) error {
	from := m.begin.Format(time.DateOnly)
	if _, err := m.assay(ctx, folder, store, "publish", "--from", from); err != nil {
		return err
	}
	_, err := m.assay(ctx, folder, store, "verify")
	return err
}

// copyFile copies a file that only its owner may read.
func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}
