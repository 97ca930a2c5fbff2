package notify

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/seal"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/webhook"
)

// rig is a service on a real database, with a clock that stands still until the test moves it.
type rig struct {
	*Service
	t     *testing.T
	clock *clock
	full  assay.Caller
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// start is when tests begin: some minutes after an hour.
var start = time.Date(2026, 2, 4, 12, 34, 56, 0, time.UTC)

func newRig(t *testing.T, db *store.DB) *rig {
	t.Helper()
	r := &rig{t: t, clock: &clock{at: start}}
	db.Now = r.clock.now
	r.Service = r.another(db)
	r.full = r.account("full@example.com", assay.PlanFull)
	return r
}

// another is the service of another node on the same database.
func (r *rig) another(db *store.DB) *Service {
	r.t.Helper()
	db.Now = r.clock.now
	secret, err := seal.NewKey([]byte(strings.Repeat("k", seal.MinSecret)))
	r.must(err)
	log := slog.New(slog.DiscardHandler)
	accounts := &account.Service{Store: db, Now: r.clock.now, Log: log, Secret: secret}
	r.must(accounts.Load(r.t.Context()))
	return &Service{
		Store: db, Accounts: accounts, Now: r.clock.now, Log: log, Jitter: func() float64 { return 1 },
		Sender: &webhook.Sender{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Agent: "test", Now: time.Now},
	}
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// account makes an account with a plan.
func (r *rig) account(email string, plan assay.Plan) assay.Caller {
	r.t.Helper()
	a, err := r.Accounts.AddAccount(r.t.Context(), email, "", "", false)
	r.must(err)
	if plan != assay.PlanNone {
		_, err = r.Accounts.AddGrant(r.t.Context(), email, account.GrantRequest{Plan: plan})
		r.must(err)
	}
	return assay.Caller{AccountID: a.ID, Tier: plan.Tier()}
}

// webhook makes a webhook of a caller at an address.
func (r *rig) webhook(caller assay.Caller, url string) assay.Webhook {
	r.t.Helper()
	w, _, err := r.CreateWebhook(r.t.Context(), caller, NewWebhook{Name: "mine", URL: url})
	r.must(err)
	return w
}

// above makes an alert for hours of H200 above a threshold, which fires at every value.
func (r *rig) above(caller assay.Caller, w assay.Webhook, threshold assay.Nanos) assay.Alert {
	r.t.Helper()
	gpu, hourly, hysteresis := "H200", "hourly", assay.Nanos(0)
	a, err := r.CreateAlert(r.t.Context(), caller, NewAlert{
		Name: "my alert", WebhookID: &w.ID,
		Rule: assay.AlertRule{
			Type: assay.PriceAbove, GPU: &gpu, Granularity: &hourly, Threshold: &threshold, Hysteresis: &hysteresis,
		},
	})
	r.must(err)
	return a
}

// corrections makes an alert for restatements of H200, which fires at each.
func (r *rig) corrections(caller assay.Caller, w assay.Webhook) assay.Alert {
	r.t.Helper()
	gpu, hourly := "H200", "hourly"
	a, err := r.CreateAlert(r.t.Context(), caller, NewAlert{
		Name: "corrections", WebhookID: &w.ID, Rule: assay.AlertRule{Type: assay.Corrected, GPU: &gpu, Granularity: &hourly},
	})
	r.must(err)
	return a
}

var h200 = assay.Line{GPU: "H200", Region: assay.Global}

// publish publishes the value of the hour that ended last, as of now.
func (r *rig) publish(value assay.Nanos) { r.publishAt(value, r.clock.now(), "") }

// nextHour moves the clock by an hour and publishes its value.
func (r *rig) nextHour(value assay.Nanos) {
	r.clock.advance(time.Hour)
	r.publish(value)
}

// restate restates the value of the hour that ended last.
func (r *rig) restate(value assay.Nanos) { r.publishAt(value, r.clock.now(), "Late rentals") }

func (r *rig) publishAt(value assay.Nanos, at time.Time, reason string) {
	r.t.Helper()
	r.must(tryPublish(r.t.Context(), r.Store, value, r.clock.now().Truncate(time.Hour), at, reason))
}

func tryPublish(ctx context.Context, db *store.DB, value assay.Nanos, slot, at time.Time, reason string) error {
	state, err := db.State(ctx)
	if err != nil {
		return err
	}
	to := slot.UnixMilli()
	d := assay.Determination{
		Line: h200, Grain: assay.Hourly, At: to, From: to - assay.Hour, HasValue: true,
		Value: value * assay.One, PublishedAt: at.UnixMilli(),
	}
	p := store.Publication{Methodology: "1.0.0", Receipt: state.Receipt, PublishedAt: at.UnixMilli(), Reason: reason}
	if reason != "" {
		p.Actor = "ops"
		known, err := db.Revisions(ctx, h200, assay.Hourly, to, to, 0, 1<<60)
		if err != nil {
			return err
		}
		d.Revision = len(known)
	}
	p.Covers = store.Coverage{{GPU: "H200", Grain: assay.Hourly}: {{From: to - assay.Hour, To: to}}}
	proof.Seal(&d, state.Heads[store.SeriesKey{Line: h200, Grain: assay.Hourly}])
	p.Series = []store.SeriesRecords{{Line: h200, Grain: assay.Hourly, Records: []assay.Determination{d}}}
	_, err = db.Publish(ctx, p)
	return err
}

// work evaluates and delivers everything that is due.
func (r *rig) work() {
	r.t.Helper()
	r.must(r.workIfDue(r.t.Context()))
}

// receiver is a server of others that keeps what it receives.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	got     []received
	respond func(number int) int // the status for a message, by its number; nil: 204
}

type received struct {
	id, body   string
	signatures int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	rec := &receiver{}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rec.mu.Lock()
		rec.got = append(rec.got, received{
			id: r.Header.Get("webhook-id"), body: string(body), signatures: len(strings.Fields(r.Header.Get("webhook-signature"))),
		})
		status := http.StatusNoContent
		if rec.respond != nil {
			status = rec.respond(len(rec.got))
		}
		rec.mu.Unlock()
		w.WriteHeader(status)
	}))
	t.Cleanup(rec.Close)
	return rec
}

// answer sets what the receiver responds from now on.
func (rec *receiver) answer(status int) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.respond = func(int) int { return status }
}

func (rec *receiver) messages() []received {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Clone(rec.got)
}

// values are the values in the messages, in the order of their arrival; a repeated message counts once.
func (rec *receiver) values() string {
	seen, b := map[string]bool{}, bytes.Buffer{}
	for _, m := range rec.messages() {
		_, rest, ok := strings.Cut(m.body, `"index_value":`)
		if !ok || seen[m.id] {
			continue
		}
		seen[m.id] = true
		value, _, _ := strings.Cut(rest, ",")
		b.WriteString(value + " ")
	}
	return strings.TrimSpace(b.String())
}

// deliveries are the deliveries of a webhook, oldest first.
func (r *rig) deliveries(caller assay.Caller, w assay.Webhook) []assay.Delivery {
	r.t.Helper()
	list, err := r.Deliveries(r.t.Context(), caller, w.ID, 1<<53, 500)
	r.must(err)
	slices.Reverse(list)
	return list
}

// newHanging is a receiver that responds to nothing until the channel is closed.
func newHanging(t *testing.T, release <-chan struct{}) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// eventually waits until a condition holds, as long as an attempt may take.
func eventually(holds func() error) (err error) {
	for deadline := time.Now().Add(webhook.Timeout / 2); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = holds(); err == nil {
			return nil
		}
	}
	return err
}
