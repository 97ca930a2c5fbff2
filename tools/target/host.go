//go:build linux

package target

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// HostTime is how much of the processors' time the host of a virtual machine has taken for others, since the start.
type HostTime struct{ Taken, All float64 }

// ReadHostTime reads it from the kernel.
func ReadHostTime() (HostTime, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return HostTime{}, err
	}
	return parseHostTime(string(text))
}

var errHostTime = errors.New("/proc/stat does not begin with the times of all processors")

// parseHostTime reads the first line: the times in user mode, nice, system, idle, waiting, two kinds of interrupts, and
// those that the host has taken. What follows is part of the first two.
func parseHostTime(text string) (h HostTime, err error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	const stolen = 8
	if len(fields) <= stolen || fields[0] != "cpu" {
		return h, errHostTime
	}
	for i, field := range fields[1 : stolen+1] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return h, fmt.Errorf("%w: %w", errHostTime, err)
		}
		h.All += ticks
		if i == stolen-1 {
			h.Taken = ticks
		}
	}
	return h, nil
}

// TakenSince is the part of the time since then that the host has taken.
func (h HostTime) TakenSince(before HostTime) float64 {
	return (h.Taken - before.Taken) / max(h.All-before.All, 1)
}
