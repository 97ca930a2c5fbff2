package api

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/assaydata/assay/internal/events"
	"github.com/assaydata/assay/internal/push"
	"github.com/assaydata/assay/internal/snapshot"
)

// feed sends the events of each new snapshot to the streams. A stream that begins gets everything up to the feed's
// cursor itself, and the feed sends what comes after it; the lock keeps the two apart.
type feed struct {
	api    *API
	behind map[streamClass]time.Time // since when readers of a class are ahead of this node

	mu   sync.Mutex
	snap *snapshot.Snapshot // of which the streams have the events; nil before the first; guarded by mu
	at   events.Cursor      // likewise; guarded by mu
}

// replays is how many streams may make what they have missed at a time: each looks through all series.
const replays = 2

var replaying = make(chan struct{}, replays)

// aheadFor is how long a reader may be ahead of this node. After that the reader is not ahead: the database was
// restored.
const aheadFor = 10 * time.Second

// RunStreams sends the events of new snapshots to the streams until the context ends.
func (a *API) RunStreams(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		changed := a.Snapshots.Changed()
		a.feed.publish(a.Snapshots.Load())
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C:
			a.feed.settle()
		}
	}
}

// publish sends the events of a snapshot.
func (f *feed) publish(snap *snapshot.Snapshot) {
	f.mu.Lock()
	if snap == nil || snap == f.snap {
		f.mu.Unlock()
		return
	}
	before, first := f.at, f.snap == nil
	f.snap, f.at = snap, events.At(snap)
	after, audience := f.at, f.api.Hub.Audience()
	f.mu.Unlock()
	if first {
		return // all streams have joined with this very snapshot
	}
	list, reason := f.between(snap, before, after)
	if reason != nil {
		audience.Send(func(c push.Class) []byte {
			class := c.(streamClass)
			return appendGap(nil, snap, class.tier, before, reason, after.String())
		})
		return
	}
	texts := newTexts(list)
	audience.Send(func(c push.Class) []byte {
		class := c.(streamClass)
		return texts.of(&class)
	})
	f.settle()
}

// between lists the events from one cursor of this node to the next, or says why there are none.
func (f *feed) between(snap *snapshot.Snapshot, before, after events.Cursor) ([]events.Event, error) {
	if !before.Within(after) {
		return nil, events.ErrHistory
	}
	if err := events.Check(snap, before, events.Every); err != nil {
		return nil, err
	}
	return events.After(snap, before, f.api.Now().UnixMilli())
}

// settle moves readers who were ahead of this node to the class of all others once the node has caught up, and tells
// those who have been ahead for too long that their events are of another history.
func (f *feed) settle() {
	f.mu.Lock()
	snap, at, audience := f.snap, f.at, f.api.Hub.Audience()
	f.mu.Unlock()
	now, ahead := f.api.Now(), map[streamClass]time.Time{}
	for c := range audience.Classes() {
		class := c.(streamClass)
		if class.ahead == (events.Cursor{}) {
			continue
		}
		since, known := f.behind[class]
		if !known {
			since = now
		}
		caughtUp, late := class.ahead.Within(at), now.Sub(since) > aheadFor
		if !caughtUp && !late {
			ahead[class] = since
			continue
		}
		normal := class
		normal.ahead = events.Cursor{}
		if late || events.Check(snap, class.ahead, class.wantsKind) != nil {
			audience.Send(func(other push.Class) []byte {
				if other != c {
					return nil
				}
				return appendGap(nil, snap, class.tier, class.ahead, events.ErrHistory, at.String())
			})
		}
		f.api.Hub.Reclassify(class, normal)
	}
	f.behind = ahead
}

// texts are events as bytes: what all classes have in common is made once.
type texts struct {
	list []events.Event
	text [][]byte
}

func newTexts(list []events.Event) *texts {
	t := &texts{list: list, text: make([][]byte, len(list))}
	for i := range list {
		t.text[i] = appendEvent(nil, &list[i], list[i].After)
	}
	return t
}

// of is what a class gets.
func (t *texts) of(class *streamClass) (text []byte) {
	ahead := class.ahead != (events.Cursor{})
	for i := range t.list {
		e := &t.list[i]
		switch {
		case !class.wants(e) || ahead && e.Passed(class.ahead):
		case ahead:
			text = appendEvent(text, e, e.After.Join(class.ahead))
		default:
			text = append(text, t.text[i]...)
		}
	}
	return text
}

func appendEvent(dst []byte, e *events.Event, after events.Cursor) []byte {
	return push.AppendEvent(dst, e.Kind.String(), after.String(), e.Data)
}

// join adds a stream whose reader has the event with this id; none if it is empty.
func (f *feed) join(m *push.Member, class streamClass, id string) {
	m.First = appendRetry(m.First)
	if id == "" {
		f.joinNow(m, class, func(snap *snapshot.Snapshot, at events.Cursor) []byte {
			return appendHello(nil, snap, class.tier, at.String(), false)
		})
		return
	}
	since, ok := events.Parse(id)
	reason := error(events.ErrNoCursor)
	if ok {
		replaying <- struct{}{}
		defer func() { <-replaying }()
		reason = f.replay(m, class, since)
	}
	if reason != nil {
		f.joinNow(m, class, func(snap *snapshot.Snapshot, at events.Cursor) []byte {
			b := appendGap(nil, snap, class.tier, since, reason, at.String())
			return appendHello(b, snap, class.tier, at.String(), false)
		})
	}
}

// joinNow adds a stream that gets the events from now on, after first.
func (f *feed) joinNow(m *push.Member, class streamClass, first func(*snapshot.Snapshot, events.Cursor) []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.currentLocked()
	m.First = append(m.First, first(f.snap, f.at)...)
	m.Class = class
	f.api.Hub.Add(m)
}

// currentLocked begins the feed with the current snapshot if it has not begun.
func (f *feed) currentLocked() {
	if f.snap == nil {
		f.snap = f.api.Snapshots.Load()
		f.at = events.At(f.snap)
	}
}

// replay adds a stream that gets what came after a cursor first, or says why that is not possible. What comes while it
// makes most of that is made under the lock.
func (f *feed) replay(m *push.Member, class streamClass, since events.Cursor) error {
	f.mu.Lock()
	f.currentLocked()
	snap := f.snap
	f.mu.Unlock()
	first := appendHello(m.First, snap, class.tier, since.String(), true)
	first, since, err := f.appendMissed(first, snap, &class, since)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.snap != snap {
		if first, since, err = f.appendMissed(first, f.snap, &class, since); err != nil {
			return err
		}
	}
	if !since.Within(f.at) {
		class.ahead = since
	}
	m.First, m.Class = first, class
	f.api.Hub.Add(m)
	return nil
}

// appendMissed appends the events after a cursor that a class wants, and returns the cursor after all of them.
func (f *feed) appendMissed(
	dst []byte, snap *snapshot.Snapshot, class *streamClass, since events.Cursor,
) ([]byte, events.Cursor, error) {
	if err := events.Check(snap, since, class.wantsKind); err != nil {
		return dst, since, err
	}
	list, err := events.After(snap, since, f.api.Now().UnixMilli())
	if err != nil {
		return dst, since, err
	}
	for i := range list {
		if class.wants(&list[i]) {
			dst = appendEvent(dst, &list[i], list[i].After)
		}
		if len(dst) > push.MaxQueue/2 {
			return dst, since, events.ErrTooMany
		}
	}
	return dst, since.Join(events.At(snap)), nil
}

// How soon a client connects again, in milliseconds. They differ, so that the clients of a node that has stopped do not
// all come at once.
const retryFrom, retrySpread = 1000, 4000

// appendRetry appends how soon the client is to connect again.
func appendRetry(dst []byte) []byte {
	dst = append(dst, "retry: "...)
	dst = strconv.AppendInt(dst, retryFrom+rand.Int64N(retrySpread), 10) //nolint:gosec // G404: it spreads load
	return append(dst, "\n\n"...)
}
