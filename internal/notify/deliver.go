package notify

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/alert"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/webhook"
)

// How many attempts run at once. Endpoints that took long the last time have attempts of their own, and an account has
// a few of each: however slow some receivers are, the others do not wait for them.
const (
	fastAttempts    = 32
	slowAttempts    = 16
	accountAttempts = 4
	slowAfter       = time.Second
)

// lane is the attempts of fast or slow endpoints that run now.
type lane struct {
	most      int
	running   int
	byAccount map[int64]int
}

// enter reports whether one more attempt for an account may begin.
func (l *lane) enter(accountID int64) bool {
	if l.running >= l.most || l.byAccount[accountID] >= accountAttempts {
		return false
	}
	l.running++
	l.byAccount[accountID]++
	return true
}

func (l *lane) leave(accountID int64) {
	l.running--
	if l.byAccount[accountID]--; l.byAccount[accountID] == 0 {
		delete(l.byAccount, accountID)
	}
}

// holder is the node that holds the lease.
type holder struct {
	*Service
	lease   store.Lease
	renewed time.Time // a moment before the last renewal

	fast, slow lane
	inFlight   map[string]*lane // by endpoint
	slowOnes   map[string]bool  // endpoints that took long the last time
	finished   chan finished
}

// finished is the end of an attempt.
type finished struct {
	endpointID string
	accountID  int64
	took       time.Duration
	err        error // that its outcome could not be stored
}

func (s *Service) newHolder(lease store.Lease, renewed time.Time) *holder {
	newLane := func(most int) lane { return lane{most: most, byAccount: map[int64]int{}} }
	return &holder{
		Service: s, lease: lease, renewed: renewed, fast: newLane(fastAttempts), slow: newLane(slowAttempts),
		inFlight: map[string]*lane{}, slowOnes: map[string]bool{}, finished: make(chan finished, fastAttempts+slowAttempts),
	}
}

// work evaluates and delivers until nothing is due, the lease is lost or the context ends. Attempts that run when it
// returns an error are broken off: their messages stay pending.
func (h *holder) work(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		for len(h.inFlight) > 0 {
			h.end(<-h.finished)
		}
	}()
	for ctx.Err() == nil {
		changed := h.Store.Changed()
		if err := h.renew(ctx); err != nil {
			return err
		}
		more, err := h.evaluate(ctx)
		if err != nil {
			return err
		}
		next, err := h.begin(ctx)
		if err != nil {
			return err
		}
		if more {
			continue
		}
		if len(h.inFlight) == 0 && next > renewEvery {
			return nil
		}
		wait := min(next, renewEvery)
		if len(h.inFlight) > 0 {
			changed, wait = nil, min(wait, lookAgain) // every attempt that ends is a change, too
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case one := <-h.finished:
			if err := h.endAll(one); err != nil {
				return err
			}
		case <-time.After(wait):
		}
	}
	return nil
}

// lookAgain is how often a node that delivers looks for more: what waits is read again each time.
const lookAgain = 250 * time.Millisecond

// endAll removes an attempt and the others that have ended since.
func (h *holder) endAll(one finished) (err error) {
	for {
		h.end(one)
		err = errors.Join(err, one.err)
		select {
		case one = <-h.finished:
		default:
			return err
		}
	}
}

// renew renews the lease, if that is due.
func (h *holder) renew(ctx context.Context) error {
	asked := time.Now()
	if asked.Sub(h.renewed) < renewEvery {
		return nil
	}
	lease, err := h.Store.RenewLease(ctx, h.lease)
	if err == nil {
		h.lease, h.renewed = lease, asked
	}
	return err
}

// begin begins the attempts that are due, and returns in how long the next one is.
func (h *holder) begin(ctx context.Context) (next time.Duration, err error) {
	list, err := h.Store.NextDeliveries(ctx)
	if err != nil {
		return 0, err
	}
	next = time.Hour
	now := h.now()
	for i := range list {
		due := list[i]
		if h.inFlight[due.EndpointID] != nil {
			continue
		}
		if !isDue(&due, now) {
			next = min(next, time.Duration(due.NextAt-now)*time.Millisecond)
			continue
		}
		if time.Since(h.renewed) > h.leaseTimeout()-webhook.Timeout {
			return 0, nil // renew first
		}
		h.attempt(ctx, due) // if there is no room, the end of another attempt makes some
	}
	return max(next, 0), nil
}

// isDue reports whether a delivery may be attempted. One that is due later than any pause lasts was stored before the
// clock was set back.
func isDue(due *store.Due, now int64) bool {
	return due.NextAt <= now || due.NextAt > now+longestBackoff.Milliseconds()
}

// attempt begins an attempt if there is room in the lane of its endpoint.
func (h *holder) attempt(ctx context.Context, due store.Due) {
	in := &h.fast
	if h.slowOnes[due.EndpointID] {
		in = &h.slow
	}
	if !in.enter(due.Endpoint.AccountID) {
		return
	}
	h.inFlight[due.EndpointID] = in
	lease, deadline := h.lease, h.renewed.Add(h.leaseTimeout())
	go func() {
		began := time.Now()
		err := h.deliver(ctx, lease, due, deadline)
		h.finished <- finished{due.EndpointID, due.Endpoint.AccountID, time.Since(began), err}
	}()
}

// end removes an attempt.
func (h *holder) end(one finished) {
	h.inFlight[one.endpointID].leave(one.accountID)
	delete(h.inFlight, one.endpointID)
	if one.took > slowAfter {
		h.slowOnes[one.endpointID] = true
	} else {
		delete(h.slowOnes, one.endpointID)
	}
}

// deliver makes one attempt and stores its outcome. It ends before another node may attempt the same. The outcome of an
// attempt that the end of the node has broken off is unknown, and not stored.
func (h *holder) deliver(ctx context.Context, lease store.Lease, due store.Due, deadline time.Time) error {
	sending, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	result := h.send(sending, &due)
	if result.Error != "" && ctx.Err() != nil {
		return nil
	}
	h.attempts.count(due.Endpoint.Kind, result.Error == "")
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	err := h.Store.FinishAttempt(storing, lease, due, h.judge(&due, result))
	if errors.Is(err, store.ErrLeaseLost) {
		h.Log.Warn("another node delivers now", "message", due.Message.ID)
	}
	return err
}

// send sends a message to its endpoint.
func (s *Service) send(ctx context.Context, due *store.Due) webhook.Result {
	view, ok := s.access(due.Endpoint.AccountID)
	if !ok {
		return webhook.Result{Error: errClosed}
	}
	if due.Endpoint.Kind == store.MailEndpoint {
		return s.sendMail(ctx, view.Email, due)
	}
	secrets, err := s.secrets(&due.Endpoint)
	if err != nil {
		s.Log.Error("the secret of a webhook cannot be read", "webhook", due.EndpointID, "error", err)
		return webhook.Result{Error: errSecret}
	}
	return s.Sender.Send(ctx, webhook.Message{
		ID: due.Message.ID, URL: due.Endpoint.URL, Payload: due.Message.Payload, Secrets: secrets,
	})
}

// Errors of attempts that do not come from the endpoint.
const (
	errClosed = "account_closed"
	errSecret = "secret_unreadable"
	errNoMail = "mail_not_configured"
	errMail   = "mail_refused"
)

// The pauses between attempts double from the first to the longest, with jitter. An endpoint is disabled when every
// attempt has failed for giveUpAfter: at least as many as that takes, in case the clock was set forward.
const (
	firstBackoff   = 5 * time.Second
	longestBackoff = time.Hour
	giveUpAfter    = assay.Day
	leastAttempts  = 12
)

// backoff is the pause after so many attempts: from half to the whole of what it doubles to.
func backoff(attempts int, jitter float64) time.Duration {
	pause := longestBackoff
	if attempts < 12 {
		pause = min(firstBackoff<<max(attempts-1, 0), longestBackoff)
	}
	return pause/2 + time.Duration(jitter*float64(pause/2))
}

// judge decides what follows from the outcome of an attempt.
func (s *Service) judge(due *store.Due, result webhook.Result) store.Attempt {
	a := store.Attempt{ResponseCode: result.Status, Error: result.Error}
	now, attempts := s.now(), due.Attempts+1
	const gone = 410
	switch {
	case result.Error == "" || due.Test:
		return a
	case result.Error == errClosed:
		a.Disable = errClosed
	case result.Status == gone:
		a.Disable = store.DisabledGone
	case due.FirstAt != 0 && now-due.FirstAt >= giveUpAfter && attempts >= leastAttempts:
		a.Disable = store.DisabledFailing
	default:
		a.NextAt = now + backoff(attempts, s.jitter()).Milliseconds()
		return a
	}
	s.Log.Warn("an endpoint of alerts was disabled", "endpoint", due.EndpointID, "reason", a.Disable)
	if s.Mail != nil && a.Disable != errClosed {
		notice := disabledNotice(due, a.Disable, now)
		a.Notice = &notice
	}
	return a
}

func (s *Service) jitter() float64 {
	if s.Jitter != nil {
		return s.Jitter()
	}
	return rand.Float64() //nolint:gosec // G404: it spreads attempts
}

// disabledNotice is the mail about a webhook that was disabled.
func disabledNotice(due *store.Due, reason string, now int64) store.Message {
	why := "every attempt to deliver has failed for 24 hours"
	if reason == store.DisabledGone {
		why = "it responded 410 Gone"
	}
	return newMessage(alert.Event{Type: alert.DisabledType, Data: alert.Data{
		WebhookID: due.EndpointID,
		Message: "The webhook \"" + due.Endpoint.Name + "\" was disabled, because " + why +
			". Enable it in Settings, where you can also send again what it has missed.",
	}}, now)
}
