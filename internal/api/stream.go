package api

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/events"
	"github.com/assaydata/assay/internal/push"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// streamClass says what a stream gets: streams of one class get the same bytes. Hubs compare classes, so
// lists are texts, each entry between two line ends. An empty list filters nothing.
type streamClass struct {
	tier     assay.Tier
	kinds    uint32 // a bit for each kind of events
	families string
	gpus     string
	regions  string
	ahead    events.Cursor // of a reader who came from a node that had read more; else the zero value
}

// wants reports whether the stream gets an event.
func (c *streamClass) wants(e *events.Event) bool {
	return c.wantsKind(e.Kind) && e.Seen(c.tier) && listed(c.families, e.Family) &&
		(listed(c.gpus, e.GPU) || e.All && e.GPU == "") && (listed(c.regions, e.Region) || e.All && e.Region == "")
}

func (c *streamClass) wantsKind(kind assay.EventKind) bool { return c.kinds&(1<<kind) != 0 }

// list is a list as classes have it.
func list(values []string) string {
	if len(values) == 0 {
		return ""
	}
	slices.Sort(values)
	return "\n" + strings.Join(values, "\n") + "\n"
}

func listed(list, value string) bool { return list == "" || strings.Contains(list, "\n"+value+"\n") }

// streamFamilies are the families of events, in the order of the documentation.
var streamFamilies = []string{
	events.FamilyGPU, assay.FamilyMemory.String(), assay.FamilyModels.String(), assay.FamilyCoding.String(),
	assay.FamilySites.String(), assay.FamilyUtilization.String(),
}

// eventNames are the names of the kinds of events.
var eventNames = func() (names []string) {
	for kind := range assay.NumEventKinds {
		names = append(names, kind.String())
	}
	return names
}()

// stream serves the events of the market, from the id on that the reader has last.
func stream(q query) (web.Response, error) {
	class, err := q.streamClass()
	if err != nil {
		return web.Response{}, err
	}
	id, err := q.lastEventID()
	if err != nil {
		return web.Response{}, err
	}
	if err := q.admitStream(&class); err != nil {
		return web.Response{}, err
	}
	a := q.api
	return web.Stream(func(m *push.Member) { a.feed.join(m, class, id) }), nil
}

// streamClass reads the filters.
func (q *query) streamClass() (class streamClass, err error) {
	class.tier = q.Caller().Tier
	kinds, err := q.words("event", eventNames)
	if err != nil {
		return class, err
	}
	for kind := range assay.NumEventKinds {
		if len(kinds) == 0 || slices.Contains(kinds, kind.String()) {
			class.kinds |= 1 << kind
		}
	}
	families, err := q.words("family", streamFamilies)
	if err != nil {
		return class, err
	}
	gpus, err := q.List("gpu")
	if err != nil {
		return class, err
	}
	for _, name := range gpus {
		if _, err := q.gpu("gpu", name); err != nil {
			return class, err
		}
	}
	regions, err := q.List("region")
	if err != nil {
		return class, err
	}
	for _, region := range regions {
		if !q.snap.Catalog.HasRegion(region) {
			return class, noPrice("unknown_region", "any GPU", region)
		}
	}
	class.families, class.gpus, class.regions = list(families), list(gpus), list(regions)
	return class, nil
}

// words is a list of some of a few words.
func (q *query) words(name string, allowed []string) ([]string, error) {
	values, err := q.List(name)
	if err != nil {
		return nil, err
	}
	for _, value := range values {
		if !slices.Contains(allowed, value) {
			return nil, web.InvalidWord(name, value, allowed)
		}
	}
	return values, nil
}

// admitStream refuses a caller who asks by name for what the caller never gets. Without names, a stream has what the
// caller may see.
func (q *query) admitStream(class *streamClass) error {
	caller := q.Caller()
	if class.kinds != 1<<assay.NumEventKinds-1 {
		for kind := range assay.NumEventKinds {
			if class.wantsKind(kind) {
				if err := access.AdmitEvents(kind, caller); err != nil {
					return err
				}
			}
		}
	}
	for family := range assay.FamilyUtilization + 1 {
		if class.families != "" && listed(class.families, family.String()) {
			if err := access.AdmitFamily(family, caller); err != nil {
				return err
			}
		}
	}
	for _, gpu := range q.snap.Catalog.GPUs {
		if class.gpus != "" && listed(class.gpus, gpu.Name) {
			if err := access.AdmitGPU(gpu, caller); err != nil {
				return err
			}
		}
	}
	return nil
}

// lastEventID is the id of the last event that the reader has, or empty. Programs that cannot set the header, such as
// EventSource at its first connection, have a parameter.
func (q *query) lastEventID() (string, error) {
	given, err := q.Param("last_event_id")
	if header := q.Header("Last-Event-Id"); err == nil && len(header) > 0 {
		given = header[0] // of a browser that comes back, which repeats the parameter of its first connection
	}
	return strings.TrimSpace(given), err
}

// hello is the first event of a stream, or the second after a gap.
type hello struct {
	Success          bool         `json:"success"`
	Access           assay.Access `json:"access"`
	Version          int64        `json:"version"` // of the newest publication
	PublishedAt      *string      `json:"published_at"`
	HeartbeatSeconds int          `json:"heartbeat_seconds"`
	Resumed          bool         `json:"resumed"` // whether the events after the reader's last one follow
	Synthetic        bool         `json:"synthetic"`
}

// streamAccess is the access level of a tier, as the responses of other routes name it.
var streamAccess = [...]assay.Access{
	assay.Anonymous: assay.Public3Months, assay.Premium: assay.AccessPremium, assay.Full: assay.AccessFull,
}

func appendHello(dst []byte, snap *snapshot.Snapshot, tier assay.Tier, id string, resumed bool) []byte {
	h := hello{
		Success: true, Access: streamAccess[tier], HeartbeatSeconds: int(push.HeartbeatEvery.Seconds()),
		Resumed: resumed, Synthetic: snap.Synthetic,
	}
	if p, ok := snap.Publication(); ok {
		published := assay.FormatInstant(p.PublishedAt)
		h.Version, h.PublishedAt = p.Version, &published
	}
	data, err := json.Marshal(h)
	if err != nil {
		panic(err) // texts and numbers can always be encoded
	}
	return push.AppendEvent(dst, "hello", id, data)
}

// gap is an event in place of events that the reader has missed.
type gap struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	CatchUp string `json:"catch_up"` // the route that says what has changed
}

// gapMessages are the reasons for a gap, in words.
var gapMessages = map[error]string{
	events.ErrNoCursor: "This server has not written the id of your last event.",
	events.ErrTooOld:   "Your last event is too old to continue from.",
	events.ErrTooMany:  "You have missed more events than can be sent again.",
	events.ErrCatalog:  "The catalogs have changed since your last event.",
	events.ErrHistory:  "Your last event is from another history: the database was restored or replaced.",
}

// appendGap says that events are missing, and from which route the reader learns what they said.
func appendGap(
	dst []byte, snap *snapshot.Snapshot, tier assay.Tier, since events.Cursor, reason error, id string,
) []byte {
	g := gap{reason.Error(), gapMessages[reason] + " Load again what you show.", "/api/daily-index/all"}
	if tier != assay.Anonymous {
		g.CatchUp = "/api/corrections"
		history, known := snap.HistoryAt(since.Version())
		if known && !errors.Is(reason, events.ErrHistory) {
			before := bookmark{Position: snapshot.Position{Version: since.Version()}, history: history}
			before.correctedAt = snap.PublicationOf(since.Version()).PublishedAt
			g.CatchUp += "?since=" + before.cursor()
		}
	}
	data, err := json.Marshal(g)
	if err != nil {
		panic(err) // texts can always be encoded
	}
	return push.AppendEvent(dst, "gap", id, data)
}
