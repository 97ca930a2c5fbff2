//go:build linux

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// How much more something may take with ten times as many values. The factors leave room for a busy machine.
const (
	constant = 3.0  // what does not depend on the number of values
	linear   = 15.0 // what reads or writes all of them
)

// limits are what a command may take: how its processor time may grow, and how much memory it may have at any size; 0
// for no limit.
var limits = map[string]struct {
	growth float64
	memory int64
}{
	"init":                {constant, 200 << 20},
	"import transactions": {linear, 700 << 20},
	"publish":             {linear, 0},
	"verify":              {linear, 300 << 20},
	"verify --gpu":        {linear, 300 << 20},
	"export of a day":     {linear, 0},
	"verify --bundle":     {linear, 0},
	"backup":              {linear, 200 << 20},
	"restate --dry-run":   {linear, 0},
	"late":                {constant, 300 << 20},
	"usage":               {constant, 500 << 20},
	"key list":            {constant, 500 << 20},
	"catalog list":        {constant, 200 << 20},
	"audit-log":           {constant, 200 << 20},
	"db status":           {constant, 200 << 20},
	"serve, until ready":  {linear, 0},
}

// leastCPU and leastLatency are below what can be measured: what takes less is taken as that. maxNewKey is how long a
// new key may take to be accepted.
const (
	leastCPU     = 100 * time.Millisecond
	leastLatency = 5 * time.Millisecond
	maxNewKey    = 200 * time.Millisecond
	bytesAValue  = 400 // of the server's memory, beyond what it has without any
	emptyServer  = 400 << 20
)

// check returns an error that names every limit that was exceeded.
func check(all []*measured, short bool) error {
	var missed []error
	var before *measured
	for _, m := range all {
		reasons := m.oversized()
		if m.newKey > maxNewKey && !short {
			reasons = append(reasons, fmt.Sprintf("a new key was accepted after %s, more than %s",
				milliseconds(m.newKey), milliseconds(maxNewKey)))
		}
		if before != nil && !short {
			reasons = append(reasons, m.grownSince(before)...)
		}
		for _, reason := range reasons {
			missed = append(missed, fmt.Errorf("%d values: %s", m.size, reason))
		}
		before = m
	}
	return errors.Join(missed...)
}

// oversized lists what has more memory than it may have.
func (m *measured) oversized() (reasons []string) {
	if allowed := int64(emptyServer) + bytesAValue*int64(m.size); m.memory > allowed {
		reasons = append(reasons, fmt.Sprintf("the server has %d MB, more than %d MB", m.memory>>20, allowed>>20))
	}
	for _, c := range m.costs {
		if limit := limits[c.name].memory; limit > 0 && c.memory > limit {
			reasons = append(reasons, fmt.Sprintf("%s has %d MB, more than %d MB", c.name, c.memory>>20, limit>>20))
		}
	}
	return reasons
}

// grownSince lists what takes too much longer than with a smaller size.
func (m *measured) grownSince(before *measured) (reasons []string) {
	for i, c := range m.costs {
		factor, limit := factorOf(c.cpu, before.costs[i].cpu, leastCPU), limits[c.name].growth
		if factor > limit {
			reasons = append(reasons, fmt.Sprintf("%s takes %.1f times as long as with %d, more than %.0f times",
				c.name, factor, before.size, limit))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(m.routes)) {
		if factor := factorOf(m.routes[path], before.routes[path], leastLatency); factor > constant {
			reasons = append(reasons, fmt.Sprintf("%s takes %.1f times as long as with %d, more than %.0f times",
				path, factor, before.size, constant))
		}
	}
	return reasons
}

// factorOf is how much longer something takes; what is too short to be measured is taken as the least.
func factorOf(now, before, least time.Duration) float64 {
	return float64(max(now, least)) / float64(max(before, least))
}

// tables are the results in Markdown.
func tables(all []*measured) string {
	var b strings.Builder
	head := func(first string) {
		fmt.Fprintf(&b, "| %s |", first)
		for _, m := range all {
			fmt.Fprintf(&b, " %s values |", thousands(m.size))
		}
		b.WriteString("\n|---|" + strings.Repeat("--:|", len(all)) + "\n")
	}
	row := func(name string, cell func(m *measured) string) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, m := range all {
			fmt.Fprintf(&b, " %s |", cell(m))
		}
		b.WriteString("\n")
	}
	head("command: processor time, largest memory")
	for j, c := range all[0].costs {
		row("`"+c.name+"`", func(m *measured) string {
			return fmt.Sprintf("%.1f s, %d MB", m.costs[j].cpu.Seconds(), m.costs[j].memory>>20)
		})
	}
	row("disk", func(m *measured) string { return fmt.Sprintf("%d MB", m.disk>>20) })
	b.WriteString("\n")
	head("p99 of a route, and a new key")
	for _, path := range slices.Sorted(maps.Keys(all[0].routes)) {
		row("`"+path+"`", func(m *measured) string { return milliseconds(m.routes[path]) })
	}
	row("new key accepted after", func(m *measured) string { return milliseconds(m.newKey) })
	return b.String()
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
