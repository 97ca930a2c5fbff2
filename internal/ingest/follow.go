package ingest

import (
	"context"
	"errors"
	"io"
	"time"
)

// Follow imports an NDJSON stream that may never end, such as a pipe from an exchange. A row is committed within the
// delay, even if no other row follows. When the input or the context ends, the rows read so far are committed. An
// unterminated last line counts as a row only at the end of the input. The goroutine that reads input ends with the
// input.
func (im *Importer[T]) Follow(ctx context.Context, name string, r io.Reader, delay time.Duration) error {
	f := &feed{
		due:    time.NewTimer(delay),
		delay:  delay / 2, // the other half is for the commit
		commit: im.hand,
		chunks: make(chan chunk),
		ctx:    ctx,
		left:   make(chan struct{}),
	}
	f.due.Stop()
	defer f.due.Stop()
	defer close(f.left)
	go f.pump(r)
	im.feed = f
	defer func() { im.feed = nil }()
	// Rows that were read are written even when the context ends.
	return im.importRows(context.WithoutCancel(ctx), name, &ndjsonReader{newLineReader(f), im.columns()})
}

// feed is input that may fall silent. The parser blocks in Read while it waits for a row, so rows that fall due
// meanwhile are committed from Read.
type feed struct {
	due    *time.Timer // runs from the first row of a batch
	delay  time.Duration
	commit func() error
	chunks chan chunk
	ctx    context.Context // in the struct because Read takes no context
	left   chan struct{}   // closed when the parser has stopped reading
	rest   []byte          // of the current chunk
	err    error           // what follows the chunk
}

// chunk is the result of one Read.
type chunk struct {
	bytes []byte
	err   error
}

// errStopped ends a feed whose context has ended.
var errStopped = errors.New("stopped following")

// pump reads one chunk ahead: one is filled while the other is parsed.
func (f *feed) pump(r io.Reader) {
	buffers := [2][]byte{make([]byte, maxLine), make([]byte, maxLine)}
	for i := 0; ; i++ {
		buffer := buffers[i%2]
		n, err := r.Read(buffer)
		select {
		case f.chunks <- chunk{buffer[:n], err}:
		case <-f.left:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read waits for input, and commits rows that fall due meanwhile.
func (f *feed) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		if err := f.wait(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// wait returns the next chunk. Due rows are committed first, because input may never pause.
func (f *feed) wait() error {
	select {
	case <-f.due.C:
		return f.commit()
	case <-f.ctx.Done():
		return errStopped
	default:
	}
	select {
	case <-f.due.C:
		return f.commit()
	case <-f.ctx.Done():
		return errStopped
	case c := <-f.chunks:
		f.rest, f.err = c.bytes, c.err
		return nil
	}
}
