package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// drillMessages is how many messages the drill delivers. Two of the requests stay open, and one fails.
const (
	drillMessages = 24
	heldFirst     = 4
	failing       = 9
	heldSecond    = 15
)

// TestAlerts_DeliveryDrill delivers messages from two nodes on PostgreSQL to a receiver that is slow and fails, while
// the // node that delivers is killed, and the next one is paused in the middle of an attempt. Every message
// arrives, in order, and what arrives twice has the same id and body.
func TestAlerts_DeliveryDrill(t *testing.T) {
	t.Parallel()
	needProgram(t)
	d := newDrill(t, storetest.Postgres(t))
	first := d.startNode("first")
	d.createAlert(first)
	for range drillMessages {
		d.restate()
	}
	d.await(heldFirst)
	second := d.startNode("second")
	first.kill()
	close(d.held[heldFirst])
	d.await(heldSecond)
	third := d.startNode("third")
	d.signal(second, syscall.SIGSTOP)
	close(d.held[heldSecond])
	d.awaitAll()
	d.signal(second, syscall.SIGCONT)
	d.check(third)
}

// drill is a database, an account with a key, and a receiver.
type drill struct {
	t       *testing.T
	dir     string
	address string
	db      *store.DB
	key     string
	server  *httptest.Server

	held    map[int]chan struct{} // requests by number, which wait for theirs to be closed
	mu      sync.Mutex
	got     []arrived
	arrival chan struct{} // closed at the next arrival
}

type arrived struct {
	id, body string
	version  int64
}

func newDrill(t *testing.T, address string) *drill {
	t.Helper()
	d := &drill{
		t: t, dir: t.TempDir(), address: address, db: storetest.OpenIn(t, address), arrival: make(chan struct{}),
		held: map[int]chan struct{}{heldFirst: make(chan struct{}), heldSecond: make(chan struct{})},
	}
	d.must(os.WriteFile(filepath.Join(d.dir, "secret"), bytes.Repeat([]byte("s"), 43), 0o600))
	accounts := &account.Service{Store: d.db, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	d.must(accounts.Load(t.Context()))
	a, err := accounts.AddAccount(t.Context(), "ann@example.com", "Ann", "", false)
	d.must(err)
	_, err = accounts.AddGrant(t.Context(), "ann@example.com", account.GrantRequest{Plan: assay.PlanFull})
	d.must(err)
	secret, _, err := accounts.CreateKey(t.Context(), a.ID, "drill", "")
	d.must(err)
	d.key = secret.Reveal()
	d.publish("")
	d.server = httptest.NewServer(http.HandlerFunc(d.receive))
	t.Cleanup(d.server.Close)
	return d
}

func (d *drill) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// receive notes a message and responds slowly.
func (d *drill) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var event struct {
		Data struct {
			Version int64 `json:"publication"`
		} `json:"data"`
	}
	if err != nil || json.Unmarshal(body, &event) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	d.got = append(d.got, arrived{id: r.Header.Get("webhook-id"), body: string(body), version: event.Data.Version})
	number := len(d.got)
	close(d.arrival)
	d.arrival = make(chan struct{})
	d.mu.Unlock()
	if held := d.held[number]; held != nil {
		<-held
	}
	if number == failing {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (d *drill) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.got)
}

// await waits until so many requests have arrived.
func (d *drill) await(requests int) {
	d.t.Helper()
	d.awaitThat(fmt.Sprintf("%d requests", requests), func() bool { return len(d.got) >= requests })
}

// awaitAll waits until every message has arrived.
func (d *drill) awaitAll() {
	d.t.Helper()
	d.awaitThat("all messages", func() bool { return len(firstArrivals(d.got)) >= drillMessages })
}

func (d *drill) awaitThat(what string, holds func() bool) {
	d.t.Helper()
	timeout := time.After(patience)
	for {
		d.mu.Lock()
		done, next := holds(), d.arrival
		d.mu.Unlock()
		if done {
			return
		}
		select {
		case <-next:
		case <-timeout:
			d.t.Fatalf("%s: not within %v; there are %d", what, patience, d.count())
		}
	}
}

// firstArrivals are the messages in the order in which they first arrived.
func firstArrivals(got []arrived) (list []arrived) {
	for _, one := range got {
		if !slices.ContainsFunc(list, func(a arrived) bool { return a.id == one.id }) {
			list = append(list, one)
		}
	}
	return list
}

func (d *drill) startNode(name string) *process {
	d.t.Helper()
	p, err := startServer(d.dir, name, "serve", "--role", "read", "--store", d.address, "--dir", name, "--secret-key-file", "secret",
		"--webhook-allow", "127.0.0.0/8")
	d.must(err)
	d.t.Cleanup(p.kill)
	return p
}

func (d *drill) signal(p *process, s os.Signal) {
	d.t.Helper()
	d.must(p.cmd.Process.Signal(s))
}

// call sends a request to a node and returns the response's body.
func (d *drill) call(p *process, method, path, body string, status int) string {
	d.t.Helper()
	return requestWithKey(d.t, d.key, method, p.url+path, body, status)
}

// createAlert creates a webhook, and an alert that fires at every restatement.
func (d *drill) createAlert(p *process) {
	d.t.Helper()
	var made struct{ Data struct{ ID string } }
	text := d.call(p, http.MethodPost, "/api/webhooks", `{"name":"drill","url":"`+d.server.URL+`"}`, http.StatusCreated)
	d.must(json.Unmarshal([]byte(text), &made))
	d.call(p, http.MethodPost, "/api/alerts", `{"name":"drill","type":"correction","gpu_type":"H200","granularity":"hourly","webhook_id":"`+
		made.Data.ID+`"}`, http.StatusCreated)
}

func (d *drill) restate() { d.publish("drill") }

// publish publishes a value, or with a reason restates it.
func (d *drill) publish(reason string) {
	d.t.Helper()
	line := assay.Line{GPU: "H200", Region: assay.Global}
	state, err := d.db.State(d.t.Context())
	d.must(err)
	const to = 490_000 * assay.Hour
	known, err := d.db.Revisions(d.t.Context(), line, assay.Hourly, to, to, 0, 1<<60)
	d.must(err)
	now := time.Now().UnixMilli()
	r := assay.Determination{
		Line: line, Grain: assay.Hourly, At: to, From: to - assay.Hour, HasValue: true,
		Value:       assay.Nanos(len(known)+1) * assay.One,
		PublishedAt: now, Revision: len(known),
	}
	proof.Seal(&r, state.Heads[store.SeriesKey{Line: line, Grain: assay.Hourly}])
	_, err = d.db.Publish(context.WithoutCancel(d.t.Context()), store.Publication{
		Methodology: "1.0.0", Receipt: state.Receipt, PublishedAt: now, Reason: reason, Actor: reason,
		Series: []store.SeriesRecords{{Line: line, Grain: assay.Hourly, Records: []assay.Determination{r}}},
		Covers: store.Coverage{{GPU: "H200", Grain: assay.Hourly}: {{From: to - assay.Hour, To: to}}},
	})
	d.must(err)
}

// check checks what has arrived, and that the log of deliveries says so.
func (d *drill) check(p *process) {
	d.t.Helper()
	d.mu.Lock()
	got := slices.Clone(d.got)
	d.mu.Unlock()
	messages := firstArrivals(got)
	if len(messages) != drillMessages {
		d.t.Errorf("%d messages arrived, want %d", len(messages), drillMessages)
	}
	for i := range messages {
		if i > 0 && messages[i].version != messages[i-1].version+1 {
			d.t.Errorf("version %d arrives after version %d", messages[i].version, messages[i-1].version)
		}
	}
	for _, one := range got {
		i := slices.IndexFunc(messages, func(a arrived) bool { return a.id == one.id })
		if messages[i].body != one.body {
			d.t.Errorf("%s arrives with two bodies", one.id)
		}
	}
	if len(got) == len(messages) {
		d.t.Error("nothing arrived twice: the drill has broken nothing")
	}
	var hooks struct{ Data []struct{ ID string } }
	d.must(json.Unmarshal([]byte(d.call(p, http.MethodGet, "/api/webhooks", "", http.StatusOK)), &hooks))
	err := until(patience, 50*time.Millisecond, func() error {
		text := d.call(p, http.MethodGet, "/api/webhooks/"+hooks.Data[0].ID+"/deliveries", "", http.StatusOK)
		if n := strings.Count(text, `"status":"delivered"`); n != drillMessages {
			return fmt.Errorf("%d deliveries are done: %s", n, text)
		}
		return nil
	})
	d.must(err)
}
