package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/mail"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func TestAlert_FiresAndIsDelivered(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		w := r.webhook(r.full, rec.URL)
		r.above(r.full, w, 3*assay.One)
		r.publish(2)
		r.work()
		for _, value := range []assay.Nanos{4, 5, 2, 6} {
			r.nextHour(value)
			r.work()
		}
		if got := rec.values(); got != "4 6" {
			t.Errorf("received %q", got)
		}
		list := r.deliveries(r.full, w)
		if len(list) != 2 || list[0].Status != assay.DeliveryDelivered || *list[0].ResponseCode != 204 || list[0].Attempts != 1 {
			t.Fatalf("%+v", list)
		}
		// A replay has the same id; a test has its own.
		_, err := r.Replay(t.Context(), r.full, w.ID, list[0].ID)
		r.must(err)
		_, err = r.Test(t.Context(), r.full, w.ID)
		r.must(err)
		if _, err := r.Replay(t.Context(), r.full, w.ID, list[0].ID); assay.AsError(err).Code != "delivery_pending" {
			t.Errorf("a second replay: %v", err)
		}
		if _, err := r.Test(t.Context(), r.full, w.ID); assay.AsError(err).Code != "test_pending" {
			t.Errorf("a second test: %v", err)
		}
		r.work()
		got := rec.messages()
		if len(got) != 4 || !strings.Contains(got[2].body, `"type":"webhook.test"`) || got[3] != got[0] {
			t.Errorf("received %+v", got)
		}
		alerts, err := r.Alerts(t.Context(), r.full)
		r.must(err)
		if alerts[0].Status != assay.AlertActive || alerts[0].LastFiredAt != assay.Timestamp(r.now()) {
			t.Errorf("%+v", alerts[0])
		}
	})
}

// A version is stored a moment before it is served. Its alerts wait for that moment.
func TestAlert_NotBeforeItIsServed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		r.above(r.full, r.webhook(r.full, rec.URL), assay.One)
		r.publishAt(4, r.clock.now().Add(time.Second), "")
		r.work()
		if got := rec.values(); got != "" {
			t.Errorf("received %q too early", got)
		}
		r.clock.advance(time.Second)
		r.work()
		if got := rec.values(); got != "4" {
			t.Errorf("received %q", got)
		}
	})
}

func TestAlert_Correction(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		r.publish(4)
		w := r.webhook(r.full, rec.URL)
		r.corrections(r.full, w)
		r.above(r.full, w, 5*assay.One)
		r.work()
		r.restate(9)
		r.work()
		got := rec.messages()
		if len(got) != 1 || !strings.Contains(got[0].body, `"type":"alert.correction"`) || !strings.Contains(got[0].body, `"values":1,`) ||
			!strings.Contains(got[0].body, `"reason":"Late rentals"`) {
			t.Errorf("received %+v", got)
		}
	})
}

func TestAlert_FirstPriceOfAModel(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		free := r.account("free@example.com", assay.PlanNone)
		hourly, recs := "hourly", []*receiver{newReceiver(t), newReceiver(t)}
		w := r.webhook(r.full, recs[0].URL)
		_, err := r.CreateAlert(t.Context(), r.full, NewAlert{
			Name: "new", WebhookID: &w.ID, Rule: assay.AlertRule{Type: assay.NewModel, Granularity: &hourly},
		})
		r.must(err)
		wFree := r.webhook(free, recs[1].URL)
		_, err = r.CreateAlert(t.Context(), free, NewAlert{
			Name: "new", WebhookID: &wFree.ID, Rule: assay.AlertRule{Type: assay.NewModel, Granularity: &hourly},
		})
		if assay.AsError(err).Code != "no_access" {
			t.Errorf("hourly values without a plan: %v", err)
		}
		for _, value := range []assay.Nanos{4, 5} {
			r.nextHour(value)
			r.work()
		}
		if got := recs[0].values(); got != "4" {
			t.Errorf("received %q", got)
		}
	})
}

// An alert pauses with the access of its account. What is published meanwhile fires nothing, also not later.
func TestAlert_AccessEnds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		r.above(r.full, r.webhook(r.full, rec.URL), assay.One)
		view, err := r.Accounts.Account(r.full.AccountID)
		r.must(err)
		r.must(r.Accounts.EndGrant(t.Context(), view.Grants[0].ID))
		r.nextHour(4)
		r.work()
		alerts, err := r.Alerts(t.Context(), r.full)
		r.must(err)
		if got := rec.values(); got != "" || alerts[0].Status != assay.AlertNoAccess || *alerts[0].Reason != "Alerts on hourly values need Full access." {
			t.Errorf("received %q; %+v", got, alerts[0])
		}
		again := r.account("again@example.com", assay.PlanFull) // the same view for another account shows that it still works
		r.above(again, r.webhook(again, rec.URL), assay.One)
		r.nextHour(5)
		r.work()
		if got := rec.values(); got != "5" {
			t.Errorf("received %q", got)
		}
		r.must(r.Accounts.CloseAccount(t.Context(), "again@example.com"))
		r.nextHour(0)
		r.nextHour(7)
		r.work()
		if got := rec.values(); got != "5" {
			t.Errorf("a closed account received %q", got)
		}
	})
}

// An endpoint gets its messages in order, however often it fails, and in the end each of them.
func TestDelivery_InOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		rec.respond = func(number int) int { // every other request fails
			return map[bool]int{true: http.StatusServiceUnavailable, false: http.StatusOK}[number%2 == 1]
		}
		w := r.webhook(r.full, rec.URL)
		r.corrections(r.full, w)
		r.publish(1)
		for value := assay.Nanos(2); value <= 6; value++ {
			r.restate(value)
		}
		for range 5 {
			r.work()
			r.clock.advance(firstBackoff)
		}
		r.work()
		list := r.deliveries(r.full, w)
		got := rec.messages()
		if len(list) != 5 || len(got) != 10 {
			t.Fatalf("%d deliveries, %d requests", len(list), len(got))
		}
		for i := range list {
			if got[2*i].id != list[i].MessageID || got[2*i+1].id != list[i].MessageID || list[i].Attempts != 2 {
				t.Errorf("delivery %d has %+v; received %+v, %+v", i, list[i], got[2*i], got[2*i+1])
			}
		}
	})
}

// After a day of failures a webhook is disabled, and its owner gets a mail. What it has missed can be sent again.
func TestDelivery_GivesUp(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		r.Mail = &mail.Config{Address: "127.0.0.1:1", From: "a@example.com", Encryption: mail.StartTLS} // nothing listens there
		w := r.webhook(r.full, rec.URL)
		r.corrections(r.full, w)
		r.publish(1)
		r.restate(2)
		r.restate(3)
		rec.answer(http.StatusInternalServerError)
		enabled := func() assay.Webhook {
			list, err := r.Webhooks(t.Context(), r.full)
			r.must(err)
			return list[0]
		}
		began := r.clock.now()
		for attempts := 1; enabled().Enabled; attempts++ {
			r.work()
			r.clock.advance(backoff(attempts, 1))
			if attempts > 100 {
				t.Fatal("it is never disabled")
			}
		}
		if after := r.clock.now().Sub(began); after < 24*time.Hour || after > 26*time.Hour {
			t.Errorf("disabled after %v", after)
		}
		if got := enabled(); *got.DisabledReason != store.DisabledFailing || got.Waiting != 0 {
			t.Errorf("%+v", got)
		}
		list := r.deliveries(r.full, w)
		if list[0].Status != assay.DeliveryFailed || *list[0].Error != "unsuccessful_status" || *list[1].Error != "disabled" {
			t.Errorf("%+v", list)
		}
		endpoints, err := r.Store.EndpointsOf(t.Context(), r.full.AccountID)
		r.must(err)
		if len(endpoints) != 2 || endpoints[1].Kind != store.MailEndpoint || endpoints[1].Waiting != 1 {
			t.Errorf("%+v", endpoints)
		}
		alerts, err := r.Alerts(t.Context(), r.full)
		r.must(err)
		if alerts[0].Status != assay.AlertUndeliverable {
			t.Errorf("%+v", alerts[0])
		}
		if _, err := r.Replay(t.Context(), r.full, w.ID, list[0].ID); assay.AsError(err).Code != "webhook_disabled" {
			t.Errorf("replay of a disabled webhook: %v", err)
		}
		rec.answer(http.StatusOK)
		before := len(rec.messages())
		_, err = r.ChangeWebhook(t.Context(), r.full, w.ID, WebhookChange{Enabled: new(true)})
		r.must(err)
		for _, d := range list {
			_, err := r.Replay(t.Context(), r.full, w.ID, d.ID)
			r.must(err)
		}
		r.work()
		if got := rec.messages()[before:]; len(got) != 2 || got[0].id != list[0].MessageID || got[1].id != list[1].MessageID {
			t.Errorf("received %+v", got)
		}
	})
}

func TestDelivery_Gone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		rec.answer(http.StatusGone)
		w := r.webhook(r.full, rec.URL)
		r.corrections(r.full, w)
		_, err := r.Test(t.Context(), r.full, w.ID)
		r.must(err)
		r.work() // a test disables nothing
		r.publish(1)
		r.restate(2)
		r.work()
		list, err := r.Webhooks(t.Context(), r.full)
		r.must(err)
		if list[0].Enabled || *list[0].DisabledReason != store.DisabledGone || len(rec.messages()) != 2 {
			t.Errorf("%+v after %d requests", list[0], len(rec.messages()))
		}
	})
}

// Endpoints that never respond delay no other, also if they are many.
func TestDelivery_SlowOnesDelayNoOther(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		release := make(chan struct{})
		hanging := newHanging(t, release)
		for i := range 3 {
			slow := r.account(fmt.Sprintf("slow%d@example.com", i), assay.PlanFull)
			for range MaxWebhooks {
				r.corrections(slow, r.webhook(slow, hanging.URL))
			}
		}
		r.corrections(r.full, r.webhook(r.full, rec.URL))
		r.publish(1)
		r.restate(2)
		ctx, cancel := context.WithCancel(t.Context())
		worked := make(chan error, 1)
		go func() { worked <- r.workIfDue(ctx) }()
		err := eventually(func() error {
			if len(rec.messages()) == 0 {
				return errors.New("the message waits for others")
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		cancel()
		close(release)
		<-worked
	})
}

// Two nodes: one is paused in the middle of an attempt, the other takes over. Nothing is lost or out of order, and what
// is sent twice has the same id.
func TestLease_TakenOver(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		other := r.another(storetest.Another(t, db))
		w := r.webhook(r.full, rec.URL)
		r.corrections(r.full, w)
		r.publish(1)
		r.restate(2)
		r.restate(3)
		seen, err := r.Store.Lease(t.Context())
		r.must(err)
		lease, err := r.Store.TakeLease(t.Context(), seen)
		r.must(err)
		h := r.newHolder(lease, time.Now())
		_, err = h.evaluate(t.Context())
		r.must(err)
		list, err := r.Store.NextDeliveries(t.Context())
		r.must(err)
		// The paused node has sent the first message and not stored that. The other one must wait for its lease.
		if result := r.send(t.Context(), &list[0]); result.Error != "" {
			t.Fatal(result)
		}
		r.must(other.workIfDue(t.Context()))
		if got := rec.messages(); len(got) != 1 {
			t.Fatalf("the other node does not wait: %+v", got)
		}
		other.seenAt = time.Now().Add(-other.leaseTimeout()) // it has waited long enough
		r.must(other.workIfDue(t.Context()))
		// The paused node continues.
		if err := h.deliver(t.Context(), lease, list[0], time.Now().Add(time.Minute)); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("storing the outcome returns %v", err)
		}
		if _, err := r.Store.RenewLease(t.Context(), lease); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("renewing returns %v", err)
		}
		var ids []string
		for _, d := range r.deliveries(r.full, w) {
			if d.Status != assay.DeliveryDelivered || d.Attempts != 1 {
				t.Errorf("%+v", d)
			}
			ids = append(ids, d.MessageID)
		}
		got := rec.messages() // sent by the first, both by the other, the repeated one of the first
		if len(got) != 4 || got[0].id != ids[0] || got[1].id != ids[0] || got[2].id != ids[1] || got[3].id != ids[0] {
			t.Errorf("received %+v", got)
		}
	})
}

// The holder renews its lease, so that another node keeps waiting.
func TestLease_Renewed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		other := r.another(storetest.Another(t, db))
		seen, err := r.Store.Lease(t.Context())
		r.must(err)
		lease, err := r.Store.TakeLease(t.Context(), seen)
		r.must(err)
		if _, err := r.Store.TakeLease(t.Context(), seen); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("taking it twice: %v", err)
		}
		for range 3 {
			if _, taken, err := other.take(t.Context()); taken || err != nil {
				t.Fatalf("taken: %t, %v", taken, err)
			}
			other.seenAt = time.Now().Add(-time.Hour) // it has waited, but the beat changes
			lease, err = r.Store.RenewLease(t.Context(), lease)
			r.must(err)
		}
		r.must(r.Store.ReleaseLease(t.Context(), lease))
		if _, taken, err := other.take(t.Context()); !taken || err != nil {
			t.Errorf("taken: %t, %v", taken, err)
		}
	})
}

// Wherever an evaluation is broken off, the next one sends every message, and none twice.
func TestEvaluate_BrokenOff(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		w := r.webhook(r.full, rec.URL)
		r.corrections(r.full, w)
		r.publish(1)
		r.work()
		h := r.newHolder(store.Lease{}, time.Now())
		rounds := 0
		for uses := int64(1); ; uses++ {
			r.restate(assay.Nanos(uses + 1))
			rounds++
			_, err := h.evaluate(storetest.BreakAt(t, uses))
			if _, err := h.evaluate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if list := r.deliveries(r.full, w); len(list) != rounds {
				t.Fatalf("broken off at use %d: %d messages for %d restatements", uses, len(list), rounds)
			}
			if err == nil || uses > 400 {
				break
			}
		}
		if rounds < 5 {
			t.Errorf("broken off %d times: too few to show anything", rounds)
		}
	})
}

// Two nodes evaluate the same at the same time: the message is queued once.
func TestEvaluate_Twice(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		w := r.webhook(r.full, rec.URL)
		a := r.corrections(r.full, w)
		r.publish(1)
		r.work()
		r.restate(2)
		p, err := r.readPublished(t.Context())
		r.must(err)
		outcome, err := r.fired(t.Context(), &p)
		r.must(err)
		r.work()
		if err := r.Store.FinishAlerts(t.Context(), p.from, p.to, outcome); !errors.Is(err, store.ErrOvertaken) {
			t.Errorf("the second evaluation returns %v", err)
		}
		// An alert that is changed in between sends nothing.
		r.restate(3)
		p, err = r.readPublished(t.Context())
		r.must(err)
		outcome, err = r.fired(t.Context(), &p)
		r.must(err)
		_, err = r.ChangeAlert(t.Context(), r.full, a.ID, AlertChange{Name: new("renamed")})
		r.must(err)
		r.must(r.Store.FinishAlerts(t.Context(), p.from, p.to, outcome))
		if list := r.deliveries(r.full, w); len(list) != 1 || len(outcome) != 1 {
			t.Errorf("%d messages: %+v", len(list), list)
		}
	})
}

func TestSecret_Rotation(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		w := r.webhook(r.full, rec.URL)
		_, secret, err := r.RotateSecret(t.Context(), r.full, w.ID)
		r.must(err)
		if !strings.HasPrefix(secret, "whsec_") {
			t.Errorf("the secret is %q", secret)
		}
		for i, step := range []struct {
			after time.Duration
			want  int
		}{{0, 2}, {24*time.Hour - time.Millisecond, 2}, {time.Millisecond + 10*time.Second, 1}} {
			r.clock.advance(step.after)
			_, err := r.Test(t.Context(), r.full, w.ID)
			r.must(err)
			r.work()
			if got := rec.messages(); len(got) != i+1 || got[i].signatures != step.want {
				t.Errorf("after %v: %+v, want %d signatures", step.after, got, step.want)
			}
		}
	})
}

// What is stored of a secret does not contain it.
func TestSecret_IsSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		w := r.webhook(r.full, "http://127.0.0.1:1/")
		list, err := r.Store.EndpointsOf(t.Context(), r.full.AccountID)
		r.must(err)
		secrets, err := r.secrets(&list[0])
		r.must(err)
		if strings.Contains(string(list[0].Secret), string(secrets[0])) {
			t.Error("the secret is stored as it is")
		}
		moved := list[0]
		moved.ID = "wh_another"
		if _, err := r.secrets(&moved); err == nil {
			t.Error("the secret of one webhook opens for another")
		}
		if log, err := r.Store.AuditLog(t.Context(), store.AuditFilter{Limit: 1}); err != nil ||
			strings.Contains(log[0].Detail, "127.0.0.1") {
			t.Errorf("the audit log has the URL of %s: %+v, %v", w.ID, log, err)
		}
	})
}

// The clock is set back by years, or forward: deliveries neither stop nor are they given up early.
func TestDelivery_WrongClock(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, rec := newRig(t, db), newReceiver(t)
		rec.answer(http.StatusInternalServerError)
		w := r.webhook(r.full, rec.URL)
		r.corrections(r.full, w)
		r.publish(1)
		r.restate(2)
		r.work()
		r.clock.advance(10 * 365 * 24 * time.Hour)
		r.work()
		if list, err := r.Webhooks(t.Context(), r.full); err != nil || !list[0].Enabled {
			t.Errorf("given up after two attempts: %+v, %v", list, err)
		}
		rec.answer(http.StatusOK)
		r.clock.advance(-10 * 365 * 24 * time.Hour)
		r.work()
		if list := r.deliveries(r.full, w); len(list) != 1 || list[0].Status != assay.DeliveryDelivered {
			t.Errorf("%+v", list)
		}
	})
}

func TestManage_Refusals(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		ctx := t.Context()
		w := r.webhook(r.full, "http://127.0.0.1:1/")
		a := r.above(r.full, w, assay.One)
		eve := r.account("eve@example.com", assay.PlanFull)
		low := assay.Caller{AccountID: r.full.AccountID, KeyID: "abc", Tier: assay.Premium}
		operator := assay.Caller{KeyID: "abc", Tier: assay.Full}
		gpu, threshold := "H200", assay.One
		rule := assay.AlertRule{Type: assay.PriceAbove, GPU: &gpu, Threshold: &threshold}
		f := func(name, code string, err error) {
			t.Helper()
			if err == nil || assay.AsError(err).Code != code {
				t.Errorf("%s: %v, want %s", name, err, code)
			}
		}
		create := func(caller assay.Caller, n NewAlert) error {
			_, err := r.CreateAlert(ctx, caller, n)
			return err
		}
		f("alert to the webhook of another", "unknown_webhook", create(eve, NewAlert{Name: "x", WebhookID: &w.ID, Rule: rule}))
		f("alert without a target", "no_target", create(eve, NewAlert{Name: "x", Rule: rule}))
		f("mail that is not configured", "no_mail", create(eve, NewAlert{Name: "x", Email: true, Rule: rule}))
		f("alert without a name", "invalid_parameter", create(eve, NewAlert{Rule: rule, WebhookID: &w.ID}))
		f("name with a line end", "invalid_parameter", create(eve, NewAlert{Name: "x\r\nBcc: y", Rule: rule, WebhookID: &w.ID}))
		f("key of the operator", "account_required", create(operator, NewAlert{Name: "x", WebhookID: &w.ID, Rule: rule}))
		f("key with less access", "key_too_low", create(low, NewAlert{Name: "x", WebhookID: &w.ID, Rule: rule}))
		_, err := r.ChangeAlert(ctx, eve, a.ID, AlertChange{Name: new("x")})
		f("change the alert of another", "unknown_alert", err)
		f("delete the alert of another", "unknown_alert", r.RemoveAlert(ctx, eve, a.ID))
		_, err = r.ChangeWebhook(ctx, eve, w.ID, WebhookChange{URL: new("http://127.0.0.1:2/")})
		f("change the webhook of another", "unknown_webhook", err)
		_, err = r.ChangeWebhook(ctx, low, w.ID, WebhookChange{URL: new("http://127.0.0.1:2/")})
		f("change the target with a key of less access", "key_too_low", err)
		_, err = r.ChangeWebhook(ctx, r.full, w.ID, WebhookChange{URL: new("http://10.0.0.1/")})
		f("a target that is not allowed", "invalid_url", err)
		f("delete the webhook of another", "unknown_webhook", r.RemoveWebhook(ctx, eve, w.ID))
		_, _, err = r.RotateSecret(ctx, eve, w.ID)
		f("rotate the secret of another", "unknown_webhook", err)
		_, err = r.Test(ctx, eve, w.ID)
		f("test the webhook of another", "unknown_webhook", err)
		_, err = r.Deliveries(ctx, eve, w.ID, 1, 1)
		f("deliveries of another", "unknown_webhook", err)
		_, err = r.Replay(ctx, r.full, w.ID, 4711)
		f("replay of nothing", "unknown_delivery", err)
		for range MaxWebhooks - 1 {
			r.webhook(r.full, "http://127.0.0.1:1/")
		}
		_, _, err = r.CreateWebhook(ctx, r.full, NewWebhook{Name: "x", URL: "http://127.0.0.1:1/"})
		f("one webhook too many", "too_many_webhooks", err)
		for range MaxAlerts - 1 {
			r.above(r.full, w, assay.One)
		}
		f("one alert too many", "too_many_alerts", create(r.full, NewAlert{Name: "x", WebhookID: &w.ID, Rule: rule}))
		r.must(r.RemoveWebhook(ctx, r.full, w.ID))
		alerts, err := r.Alerts(ctx, r.full)
		r.must(err)
		if alerts[0].WebhookID != nil || alerts[0].Status != assay.AlertUndeliverable {
			t.Errorf("%+v", alerts[0])
		}
	})
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	f := func(attempts int, jitter float64, want time.Duration) {
		t.Helper()
		if got := backoff(attempts, jitter); got != want {
			t.Errorf("after %d attempts: %v, want %v", attempts, got, want)
		}
	}
	f(1, 0, 2500*time.Millisecond)
	f(1, 1, 5*time.Second)
	f(2, 1, 10*time.Second)
	f(10, 1, 2560*time.Second)
	f(11, 1, time.Hour)
	f(1000, 0, 30*time.Minute)
}
