package report

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// By is the line with the date and the command of a measurement. Where files are on the machine does not matter.
func By(at time.Time, tool string, args []string) string {
	command := "go run " + tool
	for _, arg := range args {
		if filepath.IsAbs(arg) {
			arg = filepath.Base(arg)
		}
		command += " " + arg
	}
	return fmt.Sprintf("Measured on %s by `%s`:\n", at.UTC().Format(time.DateOnly), command)
}

// CPU describes the processor of the machine.
func CPU() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return fmt.Sprintf("%d cores", runtime.NumCPU())
	}
	return parseCPU(string(text))
}

func parseCPU(info string) string {
	model, cores := "unknown processor", 0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "processor":
			cores++
		case "model name":
			model = strings.TrimSpace(value)
		}
	}
	return fmt.Sprintf("%s, %d cores", model, cores)
}

// Load is the load average of the last minute: on a busy machine the figures are worse.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	load, _, _ := strings.Cut(string(text), " ")
	return load
}
