package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows on a terminal how far a long step has come. Elsewhere it is silent: a file wants no bar.
type progress struct {
	w        io.Writer
	terminal bool
	step     string
	note     string // the one shown last
	begun    time.Time
	shown    time.Time
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

const barWidth = 30

// show draws the bar of a step, at most ten times a second. A step that is new begins a line of its own.
func (p *progress) show(step string, done float64, note string) {
	if !p.terminal {
		return
	}
	now := time.Now()
	if step != p.step {
		p.complete()
		p.step, p.begun = step, now
	} else if now.Sub(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = now
	p.draw(done, note)
}

func (p *progress) draw(done float64, note string) {
	filled := min(max(int(done*barWidth), 0), barWidth)
	p.note = note
	fmt.Fprintf(p.w, "\r%-24s [%s%s] %3.0f%%  %4.1f s  %s\x1b[K", p.step, strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled),
		100*min(done, 1), time.Since(p.begun).Seconds(), note)
}

// complete ends the line of a step that has come to its end.
func (p *progress) complete() {
	if p.step != "" {
		p.draw(1, p.note)
	}
	p.leave()
}

// leave ends the line of a step as it is.
func (p *progress) leave() {
	if p.step != "" {
		fmt.Fprintln(p.w)
	}
	p.step = ""
}
