package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/client"
	"github.com/assaydata/assay/internal/files"
)

// part is what the name of a file ends with until all of it is there.
const part = ".part"

// How often a download is continued that brought nothing new, and how long that waits.
const (
	maxIdle     = 4
	firstWait   = 500 * time.Millisecond
	longestWait = 30 * time.Second
)

// maxWrong is how often a file is downloaded whose bytes are wrong: a part of it may have been damaged on the disk.
const maxWrong = 2

// fetch downloads a file.
func (d *Downloader) fetch(ctx context.Context, f *client.BulkFile, total *Result) (err error) {
	if err := d.Folder.MkdirAll(f.Dataset, 0o755); err != nil {
		return err
	}
	name := path.Join(f.Dataset, f.Name)
	for range maxWrong {
		if err = d.fill(ctx, f, name+part, total); err == nil || !errors.Is(err, errWrong) {
			break
		}
	}
	if err != nil {
		return err
	}
	if err := d.Folder.Rename(name+part, name); err != nil {
		return err
	}
	return d.sync(f.Dataset)
}

// sync makes the names in a folder durable.
func (d *Downloader) sync(folder string) error {
	dir, err := d.Folder.Open(folder)
	if err != nil {
		return err
	}
	return files.SyncFolder(dir)
}

var errWrong = errors.New("the SHA-256 of what the server sends is not the one that it has listed")

// fill makes a part complete, and checks it. A part with the wrong bytes is removed.
func (d *Downloader) fill(ctx context.Context, f *client.BulkFile, name string, total *Result) error {
	file, err := d.Folder.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // after an error; otherwise it is closed below
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil && size > f.Size {
		size, err = 0, file.Truncate(0)
	}
	if err != nil {
		return err
	}
	if err := d.receive(ctx, f, file, size, total); err != nil {
		return err
	}
	if err := verify(f, file); err != nil {
		if errors.Is(err, errWrong) {
			err = errors.Join(err, d.Folder.Remove(name))
		}
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// receive appends what is missing to a file of some size. It continues as long as that brings anything.
func (d *Downloader) receive(
	ctx context.Context, f *client.BulkFile, file *os.File, size int64, total *Result,
) error {
	wait := firstWait
	for idle := 0; size < f.Size; {
		n, err := d.receiveSome(ctx, f, file, size)
		size += n
		total.Bytes += n
		switch {
		case err == nil:
			continue
		case !mayContinue(err):
			return err
		case n > 0:
			idle, wait = 0, firstWait
		default:
			idle++
		}
		if idle == maxIdle {
			return err
		}
		if err := d.Wait(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, longestWait)
	}
	return nil
}

// errNoProgress is for a server that sends nothing, and does not say why.
var errNoProgress = &assay.Error{
	Kind: assay.Unavailable, Code: "bad_response", Message: "the server has ended its response before the end of the file",
}

// receiveSome appends what one response has of the rest. More than the rest is an error.
func (d *Downloader) receiveSome(ctx context.Context, f *client.BulkFile, file *os.File, size int64) (int64, error) {
	body, err := d.Client.BulkFile(ctx, f, size)
	if err != nil {
		return 0, err
	}
	defer func() { _ = body.Close() }() // it was only read
	w := &writer{file: file, at: size}
	n, err := io.Copy(w, io.LimitReader(body, f.Size-size))
	switch {
	case w.failed != nil:
		return n, localError{w.failed}
	case err != nil:
		return n, err
	case size+n < f.Size:
		return n, errNoProgress
	}
	if more, _ := body.Read(make([]byte, 1)); more > 0 {
		return n, localError{fmt.Errorf("the server sends more than the %d bytes that it has listed", f.Size)}
	}
	return n, nil
}

// localError is an error that another attempt does not help.
type localError struct{ error }

func (e localError) Unwrap() error { return e.error }

// mayContinue reports whether another attempt may help: the server is busy, or the connection has broken.
func mayContinue(err error) bool {
	if _, local := errors.AsType[localError](err); local {
		return false
	}
	e, ok := errors.AsType[*assay.Error](err)
	if !ok {
		return false
	}
	return e.Kind == assay.TooMany || e.Kind == assay.Unavailable && e.Code != "canceled" || e.Code == "bad_response"
}

// writer writes to a place in a file.
type writer struct {
	file   *os.File
	at     int64
	failed error
}

func (w *writer) Write(p []byte) (n int, err error) {
	n, w.failed = w.file.WriteAt(p, w.at)
	w.at += int64(n)
	return n, w.failed
}

// verify compares a file with its hash.
func verify(f *client.BulkFile, file *os.File) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, f.Size)); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return errWrong
	}
	return nil
}
