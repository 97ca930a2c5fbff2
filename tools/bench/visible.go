package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// waits is how long something took until all read nodes had it.
type waits struct {
	publications, newKeys, revokedKeys []wait
}

// wait is the time of one change: from the start of the command that made it, and from the command's return, which is 0 for
// what all nodes had before.
type wait struct{ sinceStart, sinceReturn time.Duration }

// measureWaits starts a node that publishes and those that read, and then changes things by commands, one at a time.
//
// The hours are published by command, because then we know when. The node that publishes would take those that follow the end of
// what is published; so the last hour before now, which is empty, is published first (see measureReading).
func (n *nodesRun) measureWaits(ctx context.Context) (w waits, err error) {
	e, data := n.onServer, n.keyFolder()
	hours := e.takeHours(n.steps())
	if _, err := e.loadPiece(ctx, data, hours, 0, hours.rows); err != nil {
		return w, err
	}
	now := time.Now().UTC().Truncate(time.Hour)
	if _, err := e.publish(ctx, data, now.Add(-time.Hour), now); err != nil {
		return w, err
	}
	publisher, err := e.start(ctx, "publisher", data, "publish")
	if err != nil {
		return w, err
	}
	defer publisher.Stop()
	if err := publisher.Await(ctx, time.Minute, publisher.caughtUp); err != nil {
		return w, err
	}
	var c crowd
	for i := range readNodes {
		node, err := e.start(ctx, fmt.Sprintf("reader%d", i+1), data, "read")
		if err != nil {
			return w, err
		}
		defer node.Stop()
		c = append(c, node)
	}
	if w.publications, err = n.watchHours(ctx, c, hours.from); err != nil {
		return w, err
	}
	w.newKeys, w.revokedKeys, err = n.watchKeys(ctx, c)
	return w, err
}

// watchHours publishes hour after hour and waits for each.
func (n *nodesRun) watchHours(ctx context.Context, c crowd, hour time.Time) (all []wait, err error) {
	for range n.steps() {
		before, err := fetch(ctx, c[0].base, readingScenario)
		if err != nil {
			return nil, err
		}
		seen := c.watch(ctx, readingScenario, func(status int, body []byte) bool { return status == http.StatusOK && !bytes.Equal(body, before) })
		begun := time.Now()
		_, err = n.onServer.publishHour(ctx, n.keyFolder(), hour)
		returned := time.Now()
		w, late := seen(begun, returned)
		if err := errors.Join(err, late); err != nil {
			return nil, fmt.Errorf("publish the hour from %s: %w", hour.Format(time.RFC3339), err)
		}
		all, hour = append(all, w), hour.Add(time.Hour)
	}
	sayWaits("publications", all)
	return all, nil
}

// keyedScenario is a short answer to whoever has a key.
func keyedScenario(key string) scenario {
	return scenario{path: "/api/gpu/H200/history?datetime=" + marketBegin.Format(time.DateOnly), key: key}
}

// watchKeys makes keys and revokes them, and waits until all nodes accept and refuse them. A key's text is known when the command
// has ended, so nobody asks with it before.
func (n *nodesRun) watchKeys(ctx context.Context, c crowd) (made, revoked []wait, err error) {
	for range n.steps() {
		begun := time.Now()
		key, err := n.onServer.createKey(ctx, n.keyFolder())
		returned := time.Now()
		if err != nil {
			return nil, nil, err
		}
		w, err := c.watch(ctx, keyedScenario(key), func(status int, _ []byte) bool { return status == http.StatusOK })(begun, returned)
		if err != nil {
			return nil, nil, fmt.Errorf("a new key: %w", err)
		}
		made = append(made, w)

		seen := c.watch(ctx, keyedScenario(key), func(status int, _ []byte) bool { return status == http.StatusUnauthorized })
		begun = time.Now()
		_, _, err = n.onServer.assay(ctx, "key", "revoke", "--dir", n.keyFolder(), keyID(key))
		returned = time.Now()
		w, late := seen(begun, returned)
		if err := errors.Join(err, late); err != nil {
			return nil, nil, fmt.Errorf("a revoked key: %w", err)
		}
		revoked = append(revoked, w)
	}
	sayWaits("new keys", made)
	sayWaits("revoked keys", revoked)
	return made, revoked, nil
}

// keyID is the public part of a key's text: sk_live_AbC123_….
func keyID(key string) string {
	parts := strings.SplitN(key, "_", 4)
	if len(parts) < 4 {
		return ""
	}
	return parts[2]
}

func sayWaits(what string, all []wait) {
	s := summarize(all, func(w wait) time.Duration { return w.sinceStart })
	say("%s: on all nodes after %s, at most %s", what, millis(s.median), millis(s.max))
}

// summary is what many times come to.
type summary struct{ median, p99, max time.Duration }

func summarize(all []wait, of func(wait) time.Duration) summary {
	times := make([]time.Duration, len(all))
	for i, w := range all {
		times[i] = of(w)
	}
	slices.Sort(times)
	return summary{middle(times), times[(len(times)*99+99)/100-1], times[len(times)-1]}
}

// crowd is the nodes that read.
type crowd []*assayServer

const (
	pollPause     = 5 * time.Millisecond // between two questions to a node: enough to tell a second from a tenth
	visibleWithin = 30 * time.Second     // after which something is lost, not late
)

// watch asks all nodes over and over until an answer of each is the wanted one. The function that it gives waits for the last of
// them, and tells how long that was.
func (c crowd) watch(ctx context.Context, s scenario, wanted func(status int, body []byte) bool) func(begun, returned time.Time) (wait, error) {
	ctx, cancel := context.WithTimeout(ctx, visibleWithin)
	seen, errs := make([]time.Time, len(c)), make([]error, len(c))
	var wg sync.WaitGroup
	for i, node := range c {
		wg.Go(func() { seen[i], errs[i] = node.pollUntil(ctx, s, wanted) })
	}
	return func(begun, returned time.Time) (wait, error) {
		wg.Wait()
		cancel()
		if err := errors.Join(errs...); err != nil {
			return wait{}, err
		}
		last := slices.MaxFunc(seen, time.Time.Compare)
		return wait{last.Sub(begun), max(0, last.Sub(returned))}, nil
	}
}

// poller keeps its connections: a new one for each question would soon use up the ports.
var poller = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 2}}

// polled counts the questions: each comes from another address, so that no limiter minds.
var polled atomic.Int64

// pollUntil gives the moment at which the wanted answer had come.
func (a *assayServer) pollUntil(ctx context.Context, s scenario, wanted func(int, []byte) bool) (time.Time, error) {
	for {
		n := polled.Add(1)
		status, body, err := a.poll(ctx, fmt.Sprintf("10.254.%d.%d", n/256%256, n%256), s)
		if err == nil && wanted(status, body) {
			return time.Now(), nil
		}
		if status == http.StatusTooManyRequests {
			err = errors.New("the limiter refuses us")
		}
		if err != nil || ctx.Err() != nil {
			return time.Time{}, a.Explain(fmt.Errorf("%s: last answer %d %.200s: %w", a.Name, status, body, errors.Join(err, ctx.Err())))
		}
		time.Sleep(pollPause)
	}
}

func (a *assayServer) poll(ctx context.Context, address string, s scenario) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+s.path, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("X-Forwarded-For", address)
	for _, h := range s.headers() {
		req.Header.Set(h.name, h.value)
	}
	res, err := poller.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// fallbacks is how often a node has counted in place of Redis, as it says itself. One that does not ask Redis at all is an error.
func (a *assayServer) fallbacks(ctx context.Context) (int64, error) {
	text, err := fetch(ctx, a.base, scenario{path: "/health"})
	if err != nil {
		return 0, err
	}
	var health struct {
		Limits struct {
			Mode      string `json:"mode"`
			Fallbacks int64  `json:"fallbacks"`
		} `json:"limits"`
	}
	if err := json.Unmarshal(text, &health); err != nil {
		return 0, fmt.Errorf("parse /health: %w", err)
	}
	if health.Limits.Mode != "shared" && health.Limits.Fallbacks == 0 {
		return 0, fmt.Errorf("the limits are counted by %q, not by Redis", health.Limits.Mode)
	}
	return health.Limits.Fallbacks, nil
}
