package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows a bar on a terminal while a long step runs. It is off if standard error is not a terminal, and with
// --quiet.
type progress struct {
	w        io.Writer
	terminal bool
	step     string
	note     string // shown last
	start    time.Time
	shown    time.Time
}

func newProgress(s *streams) *progress {
	p := &progress{w: s.err}
	if f, ok := s.err.(*os.File); ok && !s.quiet {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

const barWidth = 30

// show draws the bar of a step, at most ten times per second. A new step starts a new line.
func (p *progress) show(step string, done float64, note string) {
	if !p.terminal {
		return
	}
	now := time.Now()
	if step != p.step {
		p.finish()
		p.step, p.start = step, now
	} else if now.Sub(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = now
	p.draw(done, note)
}

func (p *progress) draw(done float64, note string) {
	filled := min(max(int(done*barWidth), 0), barWidth)
	p.note = note
	bar := strings.Repeat("#", filled) + strings.Repeat(".", barWidth-filled)
	took := time.Since(p.start)
	if left := timeLeft(done, took); left > 0 {
		note = strings.TrimSuffix(fmt.Sprintf("about %v left  %s", left, note), "  ")
	}
	fmt.Fprintf(p.w, "\r%-24s [%s] %3.0f%%  %4.1f s  %s\x1b[K", p.step, bar, 100*min(done, 1), took.Seconds(), note)
}

// timeLeft estimates how long a step still takes, or returns 0 while that would be a guess, and at the end.
func timeLeft(done float64, took time.Duration) time.Duration {
	if done < 0.01 || done >= 1 || took < 2*time.Second {
		return 0
	}
	return time.Duration((1 - done) / done * float64(took)).Round(time.Second)
}

// finish ends the line of a step that is complete.
func (p *progress) finish() {
	if p.step != "" {
		p.draw(1, p.note)
	}
	p.stop()
}

// stop ends the line of a step as it is.
func (p *progress) stop() {
	if p.step != "" {
		fmt.Fprintln(p.w)
	}
	p.step = ""
}
