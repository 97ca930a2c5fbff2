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

// delays are the times until all read nodes had a change.
type delays struct {
	publications, newKeys, revokedKeys []delay
}

// delay is the time of one change: since the start of the command that made it, and since the command's return, which
// is 0 if all nodes had the change before.
type delay struct{ sinceStart, sinceReturn time.Duration }

// measureDelays starts a node that publishes and nodes that read, and then makes changes by command, one at a time.
//
// The hours are published by command, so that the start is known. The publishing node would publish the hours after the
// last published one; so the last hour before now is published first (see measureReadLoad).
func (n *nodesRun) measureDelays(ctx context.Context) (w delays, err error) {
	e, data := n.onServer, n.keyFolder()
	hours := e.nextHours(n.changeCount())
	if _, err := e.importPiece(ctx, data, hours, 0, hours.rows); err != nil {
		return w, err
	}
	if err := e.publishLastHour(ctx, data); err != nil {
		return w, err
	}
	publisher, err := e.start(ctx, "publisher", data, "publish", withoutHorizon...)
	if err != nil {
		return w, err
	}
	defer publisher.Stop()
	if err := publisher.Await(ctx, time.Minute, publisher.caughtUp); err != nil {
		return w, err
	}
	var c nodeSet
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

// watchHours publishes hour after hour and waits until all nodes show each.
func (n *nodesRun) watchHours(ctx context.Context, c nodeSet, hour time.Time) (all []delay, err error) {
	for range n.changeCount() {
		before, err := fetch(ctx, c[0].base, priceScenario)
		if err != nil {
			return nil, err
		}
		seen := c.watch(ctx, priceScenario, func(status int, body []byte) bool {
			return status == http.StatusOK && !bytes.Equal(body, before)
		})
		begun := time.Now()
		_, err = n.onServer.publishHour(ctx, n.keyFolder(), hour)
		returned := time.Now()
		w, late := seen(begun, returned)
		if err := errors.Join(err, late); err != nil {
			return nil, fmt.Errorf("publish the hour from %s: %w", hour.Format(time.RFC3339), err)
		}
		all, hour = append(all, w), hour.Add(time.Hour)
	}
	printDelays("publications", all)
	return all, nil
}

// keyedScenario is a request with a short response that needs a key.
func keyedScenario(key string) scenario {
	return scenario{path: "/api/gpu/H200/history?datetime=" + marketBegin.Format(time.DateOnly), key: key}
}

// watchKeys makes keys and revokes them, and waits until all nodes accept and refuse them. A key's text is known only
// when the command has ended, so the first request comes after that.
func (n *nodesRun) watchKeys(ctx context.Context, c nodeSet) (made, revoked []delay, err error) {
	for range n.changeCount() {
		begun := time.Now()
		key, err := n.onServer.createKey(ctx, n.keyFolder())
		returned := time.Now()
		if err != nil {
			return nil, nil, err
		}
		seen := c.watch(ctx, keyedScenario(key), func(status int, _ []byte) bool { return status == http.StatusOK })
		w, err := seen(begun, returned)
		if err != nil {
			return nil, nil, fmt.Errorf("a new key: %w", err)
		}
		made = append(made, w)

		seen = c.watch(ctx, keyedScenario(key), func(status int, _ []byte) bool { return status == http.StatusUnauthorized })
		begun = time.Now()
		_, _, err = n.onServer.assay(ctx, "key", "revoke", "--dir", n.keyFolder(), keyID(key))
		returned = time.Now()
		w, late := seen(begun, returned)
		if err := errors.Join(err, late); err != nil {
			return nil, nil, fmt.Errorf("a revoked key: %w", err)
		}
		revoked = append(revoked, w)
	}
	printDelays("new keys", made)
	printDelays("revoked keys", revoked)
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

func printDelays(what string, all []delay) {
	s := summarize(all, func(w delay) time.Duration { return w.sinceStart })
	progress("%s: on all nodes after %s, at most %s", what, millis(s.median), millis(s.max))
}

// summary summarizes many times.
type summary struct{ median, p99, max time.Duration }

func summarize(all []delay, of func(delay) time.Duration) summary {
	times := make([]time.Duration, len(all))
	for i, w := range all {
		times[i] = of(w)
	}
	slices.Sort(times)
	return summary{median(times), times[(len(times)*99+99)/100-1], times[len(times)-1]}
}

// nodeSet are the nodes that read.
type nodeSet []*assayServer

const (
	pollPause    = 5 * time.Millisecond // between two requests to a node: short compared with the limit
	delayTimeout = 30 * time.Second     // after which a change is lost, not late
)

// watch polls all nodes until each sends the wanted response. The function it returns waits for the last of them and
// returns how long that took.
func (c nodeSet) watch(
	ctx context.Context, s scenario, wanted func(status int, body []byte) bool,
) func(begun, returned time.Time) (delay, error) {
	ctx, cancel := context.WithTimeout(ctx, delayTimeout)
	seen, errs := make([]time.Time, len(c)), make([]error, len(c))
	var wg sync.WaitGroup
	for i, node := range c {
		wg.Go(func() { seen[i], errs[i] = node.pollUntil(ctx, s, wanted) })
	}
	return func(begun, returned time.Time) (delay, error) {
		wg.Wait()
		cancel()
		if err := errors.Join(errs...); err != nil {
			return delay{}, err
		}
		last := slices.MaxFunc(seen, time.Time.Compare)
		return delay{last.Sub(begun), max(0, last.Sub(returned))}, nil
	}
}

// pollClient keeps its connections: a new one for each request would soon use up the ports.
var pollClient = &http.Client{
	Timeout:   10 * time.Second,
	Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 2},
}

// polls counts the requests: each comes from another address, so that none reaches its limit.
var polls atomic.Int64

// pollUntil returns the moment at which the wanted response arrived.
func (a *assayServer) pollUntil(ctx context.Context, s scenario, wanted func(int, []byte) bool) (time.Time, error) {
	for {
		n := polls.Add(1)
		status, body, err := a.poll(ctx, fmt.Sprintf("10.254.%d.%d", n/256%256, n%256), s)
		if err == nil && wanted(status, body) {
			return time.Now(), nil
		}
		if status == http.StatusTooManyRequests {
			err = errors.New("the limiter refuses the request")
		}
		if err != nil || ctx.Err() != nil {
			err = errors.Join(err, ctx.Err())
			return time.Time{}, a.Explain(fmt.Errorf("%s: last response %d %.200s: %w", a.Name, status, body, err))
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
	res, err := pollClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// fallbacks is how often a node has counted instead of Redis, by its own report. A node that does not use Redis is an
// error.
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
		return 0, fmt.Errorf("the limits are counted in mode %q, not in Redis", health.Limits.Mode)
	}
	return health.Limits.Fallbacks, nil
}
