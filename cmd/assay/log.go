package main

import (
	"bufio"
	"io"
	"log/slog"
	"sync"
	"time"
)

// logFlushEvery is how long a log line may wait in memory: one write covers many lines, and a reader sees them soon.
const logFlushEvery = 100 * time.Millisecond

// logWriter buffers log lines and writes them in the background. Close writes the rest.
type logWriter struct {
	mu     sync.Mutex
	buffer *bufio.Writer
	stop   chan struct{}
	done   chan struct{}
}

func newLogWriter(w io.Writer) *logWriter {
	l := &logWriter{buffer: bufio.NewWriterSize(w, 64<<10), stop: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

func (l *logWriter) run() {
	defer close(l.done)
	ticker := time.NewTicker(logFlushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.flush()
		case <-l.stop:
			l.flush()
			return
		}
	}
}

func (l *logWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.buffer.Flush() // a log that cannot be written cannot report it
}

// Write takes one line.
func (l *logWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(p)
}

// Close writes the rest.
func (l *logWriter) Close() error {
	close(l.stop)
	<-l.done
	return nil
}

// newLog makes the program's log: one JSON object per line.
func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}
