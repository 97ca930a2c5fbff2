//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	limitWindow   = time.Minute
	limitRequests = 60 // the public limit, by address
	greedyPause   = 40 * time.Millisecond
	greedyAddress = "198.51.100.7"

	movingAddress = "198.51.100.8"
	movingBurst   = 45 // requests of the moving client to one node: less than the limit, so that the node gets leases
	movingRest    = 8 * time.Second
)

// admission is a request that was admitted: the node decided on it somewhere between the two times.
type admission struct{ sent, answered time.Time }

// exceedLimit sends far more requests than the limit from one client to all nodes in turn, and returns what was
// admitted.
func (d *drill) exceedLimit(work context.Context) (admitted []admission) {
	for i := 0; pause(work, greedyPause); i++ {
		admitted = d.sendLimited(work, d.readNodes[i%len(d.readNodes)], greedyAddress, admitted)
	}
	return admitted
}

// exceedLimitMoving sends bursts from one client that stays with a node for one burst and then moves to the next one,
// so that the nodes have leases for it when something breaks. It returns what was admitted.
func (d *drill) exceedLimitMoving(work context.Context) (admitted []admission) {
	for i := 0; pause(work, movingRest); i++ {
		for range movingBurst {
			admitted = d.sendLimited(work, d.readNodes[i%len(d.readNodes)], movingAddress, admitted)
		}
	}
	return admitted
}

// sendLimited sends one request, and appends it if it was admitted. Live nodes either admit a request or respond 429.
func (d *drill) sendLimited(work context.Context, r *readNode, address string, admitted []admission) []admission {
	sent, before := time.Now(), r.lifecycle.Load()
	a, err := r.get(work, "/api/gpu-types", "", address)
	switch {
	case work.Err() != nil:
	case err == nil && a.status == http.StatusOK:
		return append(admitted, admission{sent, time.Now()})
	case before%2 == 1 && r.lifecycle.Load() == before && a.status != http.StatusTooManyRequests:
		d.journal.recordRead(fmt.Sprintf("%s to a client beyond its limit: status %d, %v", r.name, a.status, err))
	}
	return admitted
}

// overshoots returns, for each admission, how many more than the limit were certainly admitted in the window that ends
// with it.
func overshoots(admitted []admission) []int {
	over, first := make([]int, len(admitted)), 0
	for i, a := range admitted {
		for first <= i && a.answered.Sub(admitted[first].sent) >= limitWindow {
			first++
		}
		over[i] = max(0, i-first+1-limitRequests)
	}
	return over
}

// countOvershoots notes the largest overshoot of each phase, and what the documentation allows: nothing while Redis
// counts. If a node began to count alone within the window, each node may have admitted the limit; a node that
// restarted in the window has lost its counts, and counts as one more. Nodes of two releases may count apart.
func (j *journal) countOvershoots(clients [][]admission, fallbacks, restarts []time.Time) {
	for _, admitted := range clients {
		for i, over := range overshoots(admitted) {
			p := j.phaseAt(admitted[i].answered)
			p.overshoot = max(p.overshoot, over)
		}
	}
	for i, p := range j.phases {
		during := func(at time.Time) bool {
			return at.After(p.begun.Add(-limitWindow)) && (i+1 == len(j.phases) || at.Before(j.phases[i+1].begun))
		}
		if p.mixed {
			p.allowedOvershoot = limitRequests
		}
		if !slices.ContainsFunc(fallbacks, during) {
			continue
		}
		nodes := readNodeCount
		for _, at := range restarts {
			if during(at) {
				nodes++
			}
		}
		p.allowedOvershoot += limitRequests * (nodes - 1)
	}
}

// fellBack is the log message of a node that begins to count alone.
const fellBack = "Redis is slow or away"

// fallbacks reads from the nodes' logs when they began to count alone. /health shows it too, but starts over with the
// node.
func (d *drill) fallbacks() (times []time.Time, err error) {
	for _, r := range d.readNodes {
		text, err := os.ReadFile(r.process.Log)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(text) {
			var entry struct {
				Time time.Time
				Msg  string
			}
			if json.Unmarshal(line, &entry) == nil && strings.HasPrefix(entry.Msg, fellBack) { // the first line is not JSON
				times = append(times, entry.Time)
			}
		}
	}
	return times, nil
}
