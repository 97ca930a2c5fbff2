//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// logWatch reads the server's log while it is written, checks every line, and gives its space on the disk back.
type logWatch struct {
	file    *os.File
	secrets [][]byte // that no line may have
	read    int64    // bytes
	lines   int64
	greeted bool // the server has printed where it serves
	found   []error
}

func watchLog(p *process.Process, c *cast) (*logWatch, error) {
	file, err := os.OpenFile(p.Log, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	w := &logWatch{file: file}
	for _, s := range append(c.sessions, c.spare...) {
		w.secrets = append(w.secrets, []byte(s.token))
	}
	for _, password := range c.passwords {
		w.secrets = append(w.secrets, []byte(password))
	}
	return w, nil
}

// run checks lines until the context ends, and then those that are left.
func (w *logWatch) run(ctx context.Context) error {
	defer w.file.Close()
	in := bufio.NewReaderSize(w.file, 1<<20)
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case err == nil:
			w.check(line)
			w.read += int64(len(line))
			line = line[:0]
			w.release()
		case errors.Is(err, io.EOF):
			if ctx.Err() != nil {
				return errors.Join(w.found...)
			}
			time.Sleep(20 * time.Millisecond)
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// release frees the disk below what has been read, a piece at a time: the file keeps its length.
func (w *logWatch) release() {
	const piece = 16 << 20
	const keepSizePunchHole = 1 | 2 // FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
	if done := w.read / piece; done > 1 && w.read%piece < 1024 {
		// A file system that cannot do it keeps the log until the end.
		syscall.Fallocate(int(w.file.Fd()), keepSizePunchHole, 0, (done-1)*piece)
	}
}

// check checks a line: one JSON object without a secret, and no failure of the server.
func (w *logWatch) check(line []byte) {
	w.lines++
	var entry struct{ Level, Msg, Error string }
	switch {
	case !w.greeted && bytes.HasPrefix(line, []byte("Assay ")): // standard output, which goes to the same file
		w.greeted = true
	case json.Unmarshal(line, &entry) != nil:
		w.fail("a line that is not JSON", line)
	case entry.Level == "ERROR" || bytes.Contains(line, []byte("panic")):
		w.fail("an error of the server", line)
	case bytes.Contains(line, []byte("sk_")) && keyText.Match(line):
		w.fail("an API key", line)
	}
	for _, secret := range w.secrets {
		if bytes.Contains(line, secret) {
			w.fail("a session's token or a password", line)
		}
	}
}

func (w *logWatch) fail(what string, line []byte) {
	if len(w.found) < mostFailures {
		w.found = append(w.found, fmt.Errorf("the log has %s: %.3000s", what, line))
	}
}
