package linelog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// sink is a log that can be made to fail or to block.
type sink struct {
	mu      sync.Mutex
	text    bytes.Buffer
	writes  int
	accepts int           // bytes until it fails; negative: all
	blocked chan struct{} // closed when it accepts lines again; nil: it does
}

func newSink() *sink { return &sink{accepts: -1} }

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	blocked := s.blocked
	s.mu.Unlock()
	if blocked != nil {
		<-blocked
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.accepts < 0 || len(p) <= s.accepts {
		return s.text.Write(p)
	}
	n, _ := s.text.Write(p[:s.accepts])
	s.accepts = 0
	return n, errors.New("no space left on device")
}

func (s *sink) block() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked = make(chan struct{})
}

func (s *sink) unblock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.blocked)
	s.blocked = nil
}

func (s *sink) accept(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepts = bytes
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// bubble runs a test with a writer to a sink, in fake time.
func bubble(t *testing.T, f func(t *testing.T, w *Writer, s *sink)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSink()
		w := New(s, time.Now)
		f(t, w, s)
		w.Close()
	})
}

func say(w *Writer, from, to int) {
	for i := from; i < to; i++ {
		fmt.Fprintf(w, "line %d\n", i)
	}
}

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// settle lets several intervals pass.
func settle() {
	time.Sleep(10 * flushInterval)
	synctest.Wait()
}

func TestWriter_WritesManyLinesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *Writer, s *sink) {
		say(w, 0, 50)
		synctest.Wait()
		if s.String() != "" {
			t.Errorf("lines are written before the interval is over: %q", s)
		}
		settle()
		if s.String() != lines(0, 50) || s.writes != 1 {
			t.Errorf("%d writes of %q", s.writes, s)
		}
	})
}

func TestWriter_WritesMuchWithoutWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, w *Writer, s *sink) {
		for range flushSize / 1024 {
			w.Write(bytes.Repeat([]byte("a"), 1024))
		}
		synctest.Wait()
		if got := len(s.String()); got != flushSize {
			t.Errorf("%d bytes are written, want %d", got, flushSize)
		}
	})
}

func TestWriter_CloseWritesTheRest(t *testing.T) {
	bubble(t, func(t *testing.T, _ *Writer, s *sink) {
		another := New(s, time.Now)
		say(another, 0, 3)
		another.Close()
		if s.String() != lines(0, 3) {
			t.Errorf("got %q", s)
		}
	})
}

// A log that no one reads costs lines, not time.
func TestWriter_BlockedLog(t *testing.T) {
	bubble(t, func(t *testing.T, w *Writer, s *sink) {
		s.block()
		say(w, 0, 10)
		settle() // the goroutine is stuck with these
		begun := time.Now()
		const many = 200_000
		say(w, 10, many)
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("the writers have waited for %v", waited)
		}
		s.unblock()
		settle()
		say(w, many, many+5)
		settle()
		got := s.String()
		text, after, found := strings.Cut(got, `{"time":"2000-01-01T00:00:0`)
		if !found || !strings.HasPrefix(lines(0, many), text) || !strings.HasSuffix(after, lines(many, many+5)) {
			t.Fatalf("the log has %d bytes, and ends with %q", len(got), got[max(0, len(got)-300):])
		}
		written := strings.Count(text, "\n")
		if want := fmt.Sprintf(`"dropped":%d}`+"\n", many-written); !strings.Contains(after, want) {
			t.Errorf("%d lines were written, and the log continues with %.200q, want %s", written, after, want)
		}
	})
}

// The number of dropped lines is written even if no line follows.
func TestWriter_TellsDroppedWithoutAnotherLine(t *testing.T) {
	bubble(t, func(t *testing.T, w *Writer, s *sink) {
		s.block()
		say(w, 0, 1)
		settle()
		say(w, 1, 200_000)
		s.unblock()
		settle()
		if !strings.HasSuffix(s.String(), "}\n") || !strings.Contains(s.String(), `"dropped":`) {
			t.Errorf("the log ends with %q", s.String()[len(s.String())-100:])
		}
	})
}

// In a log of text, the number of dropped lines is text too.
func TestWriter_TellsDroppedAsText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSink()
		w := NewText(s, time.Now)
		s.block()
		say(w, 0, 1)
		settle()
		say(w, 1, 200_000)
		dropped := w.Dropped()
		s.unblock()
		settle()
		w.Close()
		want := fmt.Sprintf(" level=WARN msg=\"the log was too slow: lines are missing here\" dropped=%d\n", dropped)
		if log := s.String(); dropped == 0 || !strings.HasSuffix(log, want) || !strings.Contains(log, "\ntime=2000-01-01T") {
			t.Errorf("the log ends with %q, want %q", log[len(log)-150:], want)
		}
	})
}

// A write that failed is repeated: the log misses no line and has none twice.
func TestWriter_RecoversWithinASecond(t *testing.T) {
	bubble(t, func(t *testing.T, w *Writer, s *sink) {
		s.accept(10) // ends within a line
		say(w, 0, 5)
		settle()
		if got := s.String(); got != lines(0, 5)[:10] {
			t.Fatalf("got %q", got)
		}
		say(w, 5, 8)
		s.accept(-1)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := s.String(); got != lines(0, 8) {
			t.Errorf("got %q", got)
		}
	})
}

// The program must be able to end while its log is blocked.
func TestWriter_CloseGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T, _ *Writer, s *sink) {
		another := New(s, time.Now)
		s.block()
		say(another, 0, 1)
		settle()
		begun := time.Now()
		another.Close()
		if waited := time.Since(begun); waited != closeTimeout {
			t.Errorf("Close has waited for %v, want %v", waited, closeTimeout)
		}
		s.unblock() // so that the test can end
	})
}

func TestWriter_ManyWriters(t *testing.T) {
	bubble(t, func(t *testing.T, w *Writer, s *sink) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() { say(w, 0, 100) })
		}
		group.Wait()
		settle()
		if got := strings.Count(s.String(), "\n"); got != 800 {
			t.Errorf("%d lines, want 800", got)
		}
	})
}
