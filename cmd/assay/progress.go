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
		p.finish()
		p.step, p.begun = step, now
	} else if now.Sub(p.shown) < 100*time.Millisecond && done < 1 {
		return
	}
	p.shown = now
	filled := min(max(int(done*barWidth), 0), barWidth)
	fmt.Fprintf(p.w, "\r%-24s [%s%s] %3.0f%%  %4.1f s  %s\x1b[K", step, strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled),
		100*min(done, 1), now.Sub(p.begun).Seconds(), note)
}

// finish ends the line of the step.
func (p *progress) finish() {
	if p.terminal && p.step != "" {
		fmt.Fprintln(p.w)
	}
	p.step = ""
}
