package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/alert"
	"github.com/assaydata/assay/internal/live"
	"github.com/assaydata/assay/internal/store"
)

// published is what can be evaluated: publications and notices whose instant has come.
type published struct {
	from, to     store.AlertedTo
	publications map[int64]assay.Publication
	notices      []assay.Notice
}

func (p *published) isNew() bool { return p.from != p.to }

// evaluatedAtOnce is how many publications one evaluation takes: a node that was away for long catches up in steps.
const evaluatedAtOnce = 200

// aheadMost is how far ahead the clock of the publisher may be: an instant that is later counts as come.
const aheadMost = 10 * assay.Second

// readPublished reads what was published since the last evaluation. A version is stored a moment before it is served,
// and no alert may be earlier than the API.
func (s *Service) readPublished(ctx context.Context) (p published, err error) {
	done, available, err := s.Store.AlertedTo(ctx)
	if err != nil {
		return p, err
	}
	p = published{from: done, to: done, publications: map[int64]assay.Publication{}}
	if available.Publication < done.Publication || available.Notice < done.Notice { // restored from a backup
		p.to = available
		return p, nil
	}
	now := s.now()
	come := func(at int64) bool { return at <= now || at > now+aheadMost }
	if available.Publication > done.Publication {
		list, err := s.Store.Publications(ctx, done.Publication, min(available.Publication, done.Publication+evaluatedAtOnce))
		if err != nil {
			return p, err
		}
		for _, one := range list {
			if !come(one.PublishedAt) {
				break
			}
			p.publications[one.Version], p.to.Publication = one, one.Version
		}
	}
	if available.Notice == done.Notice {
		return p, nil
	}
	list, err := s.Store.Notices(ctx, done.Notice, min(available.Notice, done.Notice+evaluatedAtOnce))
	for _, one := range list {
		if !come(one.At) {
			break
		}
		p.notices, p.to.Notice = append(p.notices, one), one.Number
	}
	return p, err
}

// evaluate evaluates all alerts on what is new. More reports that it may not have been everything.
func (s *Service) evaluate(ctx context.Context) (more bool, err error) {
	p, err := s.readPublished(ctx)
	if err != nil || !p.isNew() {
		return false, err
	}
	outcome, err := s.fired(ctx, &p)
	if err != nil {
		return false, fmt.Errorf("evaluate alerts up to version %d: %w", p.to.Publication, err)
	}
	err = s.Store.FinishAlerts(ctx, p.from, p.to, outcome)
	if errors.Is(err, store.ErrOvertaken) {
		return true, nil
	}
	return true, err
}

// evaluation is one evaluation of all alerts.
type evaluation struct {
	*Service
	published *published
	catalog   assay.Catalog
	changes   []store.Change
	news      alert.News
}

// watcher is an alert that may fire, and what its account may read.
type watcher struct {
	alert.Alert
	stored store.Alert
	tier   assay.Tier
}

// fired returns the alerts that fire, or whose state changes.
func (s *Service) fired(ctx context.Context, p *published) (outcome []store.Fired, err error) {
	stored, err := s.Store.Alerts(ctx)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	e := evaluation{Service: s, published: p}
	if e.catalog, err = s.Store.Catalog(ctx); err != nil {
		return nil, err
	}
	watchers := e.watchers(stored)
	if err := e.readNews(ctx, watchers); err != nil {
		return nil, err
	}
	for i := range watchers {
		w := &watchers[i]
		events, armed := w.Evaluate(&e.news, func(f alert.First) bool { return !f.Paid || w.tier >= assay.Premium })
		if len(events) == 0 && armed == w.Armed {
			continue
		}
		f := store.Fired{Alert: w.stored}
		f.Alert.Armed = armed
		for _, event := range events {
			f.Messages = append(f.Messages, newMessage(event, s.now()))
		}
		outcome = append(outcome, f)
	}
	return outcome, nil
}

// watchers are the alerts whose accounts may read what they watch. The others pause: what is published meanwhile fires
// nothing, also not later.
func (e *evaluation) watchers(stored []store.Alert) (list []watcher) {
	for _, one := range stored {
		w := watcher{Alert: alert.Alert{ID: one.ID, Name: one.Name, Since: one.Since, Armed: one.Armed}, stored: one}
		if err := json.Unmarshal([]byte(one.Rule), &w.AlertRule); err != nil {
			e.Log.Error("an alert cannot be read", "alert", one.ID, "error", err)
			continue
		}
		view, ok := e.access(one.AccountID)
		if w.tier = view.Tier; ok && mayWatch(&w.AlertRule, w.tier, &e.catalog, e.now()) == nil {
			list = append(list, w)
		}
	}
	return list
}

// mayWatch returns why a tier does not include what a rule watches. It asks the rules of the API.
func mayWatch(rule *assay.AlertRule, tier assay.Tier, catalog *assay.Catalog, now int64) error {
	caller := assay.Caller{Tier: tier}
	route, ask := access.FreeGPU, access.Ask{}
	if rule.Granularity != nil && *rule.Granularity == assay.Hourly.String() {
		route, ask.HourlyOnly = access.FullGrain, true
	}
	if rule.Type == assay.NewModel {
		if ask.HourlyOnly {
			return access.Admit(route, caller)
		}
		return nil // which values it may read depends on the model
	}
	gpu, ok := catalog.GPU(*rule.GPU)
	if !ok || *rule.Region != assay.Global && !catalog.HasRegion(*rule.Region) {
		return errNotListed
	}
	if !gpu.Free {
		ask.Paid = gpu.Name
	}
	_, err := access.Decide(route, caller, ask, now)
	return err
}

// errNotListed is why an alert does not fire whose series is not in the catalog any more.
var errNotListed = errors.New("the catalog does not list the series")

// readNews reads what the alerts need of what is new.
func (e *evaluation) readNews(ctx context.Context, watchers []watcher) (err error) {
	if e.changes, err = e.Store.Changes(ctx, e.published.from.Publication, e.published.to.Publication); err != nil {
		return err
	}
	synthetic, err := e.Store.Setting(ctx, live.SettingSynthetic)
	if err != nil {
		return err
	}
	e.news = alert.News{
		Values: map[alert.Series][]alert.Value{}, Corrections: map[alert.Series][]alert.Correction{},
		Missed: map[assay.Line][]alert.Missed{}, Synthetic: synthetic == "true",
	}
	back, corrected, first := map[alert.Series]int64{}, map[alert.Series]bool{}, false
	for i := range watchers {
		switch w := &watchers[i]; w.Type {
		case assay.PriceAbove, assay.PriceBelow, assay.PriceChange:
			back[w.Series()] = max(back[w.Series()], w.Back())
		case assay.Corrected:
			corrected[w.Series()] = true
		case assay.NewModel:
			first = true
		case assay.MissedFixing:
		}
	}
	for _, n := range e.published.notices {
		if line := (assay.Line{GPU: n.GPU, Region: n.Region}); n.Kind == assay.NoValueNotice {
			e.news.Missed[line] = append(e.news.Missed[line], alert.Missed{At: n.About, PublishedAt: n.At})
		}
	}
	if err := e.readValues(ctx, back); err != nil {
		return err
	}
	if err := e.readCorrections(ctx, corrected); err != nil || !first {
		return err
	}
	return e.readFirst(ctx)
}

// longestLookBack bounds which new values are read: an outage of a month is caught up with, a backfill of years is not.
const longestLookBack = 31 * assay.Day

// readValues reads the new values of series, and those before them that changes are measured from.
func (e *evaluation) readValues(ctx context.Context, back map[alert.Series]int64) error {
	spans := map[alert.Series]store.Span{}
	for _, c := range e.changes {
		key := alert.Series{Line: c.Line, Grain: c.Grain}
		if _, watched := back[key]; !watched || e.isRestatement(c.Version) {
			continue
		}
		span, ok := spans[key]
		if !ok {
			span = store.Span{From: math.MaxInt64, To: math.MinInt64}
		}
		spans[key] = store.Span{From: min(span.From, c.First), To: max(span.To, c.Last)}
	}
	for key, span := range spans {
		span.From = max(span.From, e.now()-longestLookBack)
		if span.From > span.To {
			continue
		}
		list, err := e.Store.Revisions(ctx, key.Line, key.Grain, span.From-back[key], span.To, 0, e.published.to.Publication)
		if err != nil {
			return err
		}
		e.news.Values[key] = e.values(list)
	}
	return nil
}

func (e *evaluation) isRestatement(version int64) bool {
	return e.published.publications[version].Reason != ""
}

// values are the values that revisions show. One is new if nothing was published of its slot before, and its first
// revision is no restatement.
func (e *evaluation) values(revisions []assay.Revision) (list []alert.Value) {
	for i := 0; i < len(revisions); {
		first := revisions[i]
		for i++; i < len(revisions) && revisions[i].At == first.At; i++ {
		}
		shown := revisions[i-1]
		if shown.Gone {
			continue
		}
		_, published := e.published.publications[first.Version]
		list = append(list, alert.Value{
			Point: shown.Point, Version: shown.Version, New: published && !e.isRestatement(first.Version),
		})
	}
	return list
}

// readCorrections reads what restatements have changed in watched series.
func (e *evaluation) readCorrections(ctx context.Context, watched map[alert.Series]bool) error {
	for _, c := range e.changes {
		key := alert.Series{Line: c.Line, Grain: c.Grain}
		if !watched[key] || !e.isRestatement(c.Version) {
			continue
		}
		list, err := e.Store.Revisions(ctx, c.Line, c.Grain, c.First, c.Last, c.Version-1, c.Version)
		if err != nil {
			return err
		}
		p := e.published.publications[c.Version]
		e.news.Corrections[key] = append(e.news.Corrections[key], alert.Correction{
			Version: c.Version, PublishedAt: p.PublishedAt, Reason: p.Reason, Values: len(list), First: c.First, Last: c.Last,
		})
	}
	return nil
}

// readFirst reads the first values of GPU models that had none.
func (e *evaluation) readFirst(ctx context.Context) error {
	known := map[store.SeriesKey]bool{}
	for _, c := range e.changes {
		key := store.SeriesKey{Line: c.Line, Grain: c.Grain}
		gpu, listed := e.catalog.GPU(c.GPU)
		if c.Region != assay.Global || !listed || known[key] {
			continue
		}
		known[key] = true
		had, err := e.Store.HasValue(ctx, key, e.published.from.Publication)
		if err != nil {
			return err
		}
		if had {
			continue
		}
		list, err := e.Store.Revisions(ctx, c.Line, c.Grain, c.First, c.Last, 0, e.published.to.Publication)
		if err != nil {
			return err
		}
		for _, r := range list {
			if !r.Gone {
				e.news.First = append(e.news.First, alert.First{
					GPU: gpu.Name, Paid: !gpu.Free, Grain: c.Grain, Value: alert.Value{Point: r.Point, Version: r.Version},
					PublishedAt: e.published.publications[r.Version].PublishedAt,
				})
				break
			}
		}
	}
	return nil
}

// newMessage is the message of an event.
func newMessage(event alert.Event, now int64) store.Message {
	return store.Message{ID: "msg_" + newID(), Type: event.Type, Payload: event.Payload(now)}
}
