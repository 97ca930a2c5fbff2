// Package linelog writes the lines of a log without making those who write them wait.
//
// Lines are collected in memory, and a goroutine of its own writes them out ten times a second. A log whose reader has
// stopped, such as a pipe that no one empties or a full disk, must not stop the program: when the memory is full, lines
// are dropped and counted, and once lines can be written again, the next one says how many are missing. A write that
// fails is repeated from the byte where it stopped, so that the log recovers by itself and its lines stay whole.
package linelog

import (
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/assaydata/assay"
)

const (
	flushInterval = 100 * time.Millisecond // one write covers many lines, and a reader sees them soon
	flushSize     = 64 << 10               // so many bytes do not wait for the interval
	maxWaiting    = 1 << 20                // bytes that wait for a slow log; more are dropped
	closeTimeout  = 2 * time.Second        // for the last lines
)

// Writer collects lines. Its methods can be called at the same time.
type Writer struct {
	now  func() time.Time
	text bool // the line about dropped lines is text, not JSON

	mu      sync.Mutex
	waiting []byte // whole lines, and the rest of one that was written in part
	spare   []byte // of the write before, to be used again
	dropped int64  // lines, since the last that was accepted
	lost    int64  // lines, since the start

	wake chan struct{} // there is enough to write
	stop chan struct{}
	done chan struct{} // the last lines are written
}

// New makes a Writer of lines to out, and starts its goroutine. Close ends it.
func New(out io.Writer, now func() time.Time) *Writer { return start(out, now, false) }

// NewText is New for lines that are text; New is for JSON.
func NewText(out io.Writer, now func() time.Time) *Writer { return start(out, now, true) }

func start(out io.Writer, now func() time.Time, text bool) *Writer {
	w := &Writer{
		now: now, text: text, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go w.run(out)
	return w
}

// Write takes a line, or drops it if too many wait. It never fails and never waits for the log.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting)+len(line) > maxWaiting {
		w.dropped++
		w.lost++
		return len(line), nil
	}
	w.tellDroppedLocked()
	w.waiting = append(w.waiting, line...)
	if len(w.waiting) >= flushSize {
		select {
		case w.wake <- struct{}{}:
		default: // it is awake
		}
	}
	return len(line), nil
}

// Dropped is how many lines were dropped since the start.
func (w *Writer) Dropped() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// tellDroppedLocked adds a line that says how many lines are missing before it, if any are.
func (w *Writer) tellDroppedLocked() {
	if w.dropped == 0 {
		return
	}
	if w.text {
		w.waiting = assay.AppendInstant(append(w.waiting, "time="...), w.now().UnixMilli())
		w.waiting = append(w.waiting, ` level=WARN msg="the log was too slow: lines are missing here" dropped=`...)
		w.waiting = append(strconv.AppendInt(w.waiting, w.dropped, 10), '\n')
		w.dropped = 0
		return
	}
	w.waiting = assay.AppendInstant(append(w.waiting, `{"time":"`...), w.now().UnixMilli())
	w.waiting = append(w.waiting, `","level":"WARN","msg":"the log was too slow: lines are missing here","dropped":`...)
	w.waiting = append(strconv.AppendInt(w.waiting, w.dropped, 10), "}\n"...)
	w.dropped = 0
}

func (w *Writer) run(out io.Writer) {
	defer close(w.done)
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-w.wake:
		case <-w.stop:
			if w.flush(out) {
				w.flush(out) // what the first has added
			}
			return
		}
		if !w.flush(out) {
			<-ticker.C // a log that fails is not tried more often
		}
	}
}

// flush writes what waits, and reports whether all of it was written. The lock is not held meanwhile: a write may take
// any time.
func (w *Writer) flush(out io.Writer) bool {
	w.mu.Lock()
	lines := w.waiting
	w.waiting, w.spare = w.spare[:0], nil
	w.mu.Unlock()
	written := 0
	if len(lines) > 0 {
		written, _ = out.Write(lines) // a log that cannot be written cannot report it
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if written < len(lines) { // the rest stays before the lines that came meanwhile
		w.waiting = append(lines[written:], w.waiting...)
		return false
	}
	w.spare = lines
	w.tellDroppedLocked()
	return true
}

// Close writes what waits and ends the goroutine, unless the log accepts nothing: then it gives up.
func (w *Writer) Close() error {
	close(w.stop)
	select {
	case <-w.done:
	case <-time.After(closeTimeout):
	}
	return nil
}
