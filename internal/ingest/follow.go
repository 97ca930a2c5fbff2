package ingest

import (
	"context"
	"errors"
	"io"
	"time"
)

// Follow imports NDJSON that need not end, such as a pipe from an exchange. A row is committed within the delay, also when
// no further one comes. At the end of the input, and when the context ends, the rows read so far are committed; a line
// without an end is then a row in the first case, and none in the second. The goroutine that waits for input ends with
// the input.
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
	// What has been read is written, whatever ends the reading.
	return im.importRows(context.WithoutCancel(ctx), name, &ndjsonReader{newLineReader(f), im.rows.columns})
}

// feed is input that may fall silent. It is read by the parser, which cannot do anything else while it waits for a row:
// so the rows that fall due meanwhile are committed from here.
type feed struct {
	due    *time.Timer // runs from the first row of a batch
	delay  time.Duration
	commit func() error
	chunks chan chunk
	ctx    context.Context // here because an io.Reader has no other way to hear of its end
	left   chan struct{}   // closed when nobody reads any more
	rest   []byte          // of the chunk that is read
	err    error           // what comes behind it
	failed <-chan struct{} // closed when the writer has failed
}

// chunk is what one Read gave.
type chunk struct {
	bytes []byte
	err   error
}

// errStopped ends a feed whose context has ended.
var errStopped = errors.New("stopped following")

// pump reads ahead by one chunk: while one is parsed the other is filled.
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

// Read waits for input, and commits what falls due while it waits.
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

// wait takes the next chunk. What is due goes first: input that never pauses must not keep it waiting.
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
	case <-f.failed:
		return errWriterFailed
	case c := <-f.chunks:
		f.rest, f.err = c.bytes, c.err
		return nil
	}
}
