package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Open opens a file for reading. It returns when the context ends, even if the file is a pipe that no one writes to.
func Open(ctx context.Context, name string) (*os.File, error) {
	type result struct {
		file *os.File
		err  error
	}
	opened := make(chan result, 1)
	go func() {
		file, err := os.Open(name)
		opened <- result{file, err}
	}()
	select {
	case r := <-opened:
		return r.file, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Read reads a file of at most the given size. A file without an end, such as a device, is refused like a large one.
func Read(ctx context.Context, name string, most int64) ([]byte, error) {
	file, err := Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(Reader(ctx, file), most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	return content, err
}

// Reader returns a reader that fails once the context has ended, even while a read is waiting for a silent pipe.
func Reader(ctx context.Context, r io.Reader) io.Reader {
	if file, ok := r.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return &checkedReader{ctx, r}
		}
	}
	return &waitingReader{ctx: ctx, r: r, buffer: make([]byte, bufferSize), reads: make(chan readResult, 1)}
}

// checkedReader reads from a file that does not let a read wait.
type checkedReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *checkedReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// bufferSize is what a waitingReader reads at once.
const bufferSize = 64 << 10

// waitingReader reads in another goroutine, which may wait longer than the context lasts.
type waitingReader struct {
	ctx    context.Context
	r      io.Reader
	buffer []byte // used by the goroutine until it has sent its result
	reads  chan readResult
	rest   []byte // of the buffer
	err    error  // what follows the rest
}

type readResult struct {
	n   int
	err error
}

func (w *waitingReader) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	if len(w.rest) == 0 {
		if w.err != nil {
			return 0, w.err
		}
		go func() {
			n, err := w.r.Read(w.buffer)
			w.reads <- readResult{n, err}
		}()
		select {
		case r := <-w.reads:
			w.rest, w.err = w.buffer[:r.n], r.err
		case <-w.ctx.Done():
			return 0, w.ctx.Err()
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// OpenRegular opens a regular file inside a folder, of at most the given size. Nothing else is opened: a link may lead
// anywhere, and a device or a pipe may have no end.
func OpenRegular(root *os.Root, name string, most int64) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := checkRegular(info, most); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil {
		err = checkRegular(info, most) // it may be another file by now
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return file, nil
}

func checkRegular(info os.FileInfo, most int64) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	if info.Size() > most {
		return fmt.Errorf("it has %d bytes: allowed are %d", info.Size(), most)
	}
	return nil
}
