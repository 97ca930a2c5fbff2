package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/tools/testenv"
)

// story is a market that is published every few hours and now and then restated, told as updates of a snapshot.
type story struct {
	rng     *rand.Rand
	now     int64
	version int64
	slots   map[assay.Grain]map[int64]int // revisions so far
}

var storyLine = assay.Line{GPU: "H200", Region: assay.Global}

// next is the update of the next six hours.
func (s *story) next() snapshot.Update {
	from := s.now
	s.now += 6 * assay.Hour
	s.version++
	p := assay.Publication{Version: s.version, PublishedAt: s.now + 1500, Methodology: "1.0.0"}
	u := snapshot.Update{Version: s.version, Covered: s.now}
	restate := s.version%4 == 0
	if restate {
		p.Reason = "late rentals"
	}
	u.Publications = []assay.Publication{p}
	for _, grain := range assay.Grains {
		var revisions []assay.Revision
		if restate {
			revisions = s.restated(grain)
		} else {
			revisions = s.published(grain, from)
		}
		if len(revisions) > 0 {
			u.Series = append(u.Series, snapshot.SeriesUpdate{
				Line: storyLine, Grain: grain, Revisions: revisions, Version: s.version, Published: p.PublishedAt,
			})
		}
	}
	return u
}

func (s *story) published(grain assay.Grain, from int64) (revisions []assay.Revision) {
	m := index.Plain()
	for at := m.NextSlot(grain, from); at <= s.now; at = m.NextSlot(grain, at) {
		s.slots[grain][at] = 1
		revisions = append(revisions, assay.Revision{Point: assay.Point{At: at, Value: s.value()}, Version: s.version})
	}
	return revisions
}

// restated revises a few of the slots of the last days, and takes every third value back.
func (s *story) restated(grain assay.Grain) (revisions []assay.Revision) {
	m := index.Plain()
	for at := m.NextSlot(grain, s.now-3*assay.Day); at <= s.now; at = m.NextSlot(grain, at) {
		if number := s.slots[grain][at]; number > 0 && s.rng.IntN(4) == 0 {
			s.slots[grain][at]++
			revisions = append(revisions, assay.Revision{
				Point: assay.Point{At: at, Value: s.value()}, Number: number, Gone: s.rng.IntN(3) == 0, Version: s.version,
			})
		}
	}
	return revisions
}

// learned are readings of utilization that came in since the last that did: of instants now and a while ago.
func (s *story) learned(until int64) (readings []assay.UtilizationReading) {
	for range 4 {
		readings = append(readings, assay.UtilizationReading{
			At: until - s.rng.Int64N(2)*s.rng.Int64N(3*assay.Day), GPU: storyLine.GPU,
			Rented: s.rng.Int64N(100), Tracked: 100, Received: until,
		})
	}
	return readings
}

func (s *story) value() assay.Nanos { return assay.Nanos(20_000+s.rng.Int64N(5000)) * assay.Unit(4) }

// storyTargets are the routes that take as_of, in forms that depend on the moment as much as they can.
var storyTargets = []string{
	"/api/gpu/H200?",
	"/api/gpu-prices?",
	"/api/gpu-overview?",
	"/api/daily-index?gpu=H200",
	"/api/day-index?gpu=H200",
	"/api/daily-index/all?",
	"/api/daily-index?gpu=H200&date=2026-01-12",
	"/api/daily-index/H200/previous?",
	"/api/gpu/H200/index-history?startDate=2026-01-01",
	"/api/gpu/H200/index-history?startDate=2026-01-08&endDate=2026-01-12&order=desc&limit=3",
	"/api/gpu/H200/index-history?startDate=2026-01-01&granularity=hourly",
	"/api/gpu/H200/index-history?startDate=2025-12-10&granularity=auto",
	"/api/gpu/H200/history?datetime=2026-01-12T03:00:00Z",
	"/api/gpu/H200/history-simple?limit=5",
	"/api/gpu/H200/history-range?startDate=2026-01-03",
	"/api/gpu/H200/hourly?",
	"/api/gpu/H200/rolling-24h-average?",
	"/api/gpu/H200/rolling-24h-average/history?",
	"/api/gpu/H200/volatility?startDate=2026-01-06&endDate=2026-02-28&windowDays=5",
	"/api/gpu/H200/volatility?startDate=2026-01-06&endDate=2026-02-28&granularity=hourly&limit=30",
	"/api/gpu/H200/volume-metrics?",
	"/api/gpu/H200/volume-metrics?granularity=hourly&startDate=2026-01-06",
	"/api/gpu-utilization?",
}

// pastReplies are the replies to requests at several moments, to be compared with as_of later.
type pastReplies struct {
	targets []string
	moments []time.Time
	served  map[string]apitest.Reply
}

var everyCaller = []string{"", "premium", "full"}

// record sends every request as every caller, now.
func (p *pastReplies) record(r *rig) {
	p.moments = append(p.moments, r.Clock)
	for _, caller := range everyCaller {
		for _, target := range p.targets {
			p.served[fmt.Sprint(r.Clock, caller, target)] = r.Get(caller, target)
		}
	}
}

// wantAsOf sends every request again as of each of the moments, and wants the replies of then. A request whose reply
// never changed has tested nothing, and fails.
func (p *pastReplies) wantAsOf(t *testing.T, r *rig) {
	t.Helper()
	for _, caller := range everyCaller {
		for _, target := range p.targets {
			now, changed := r.Get(caller, target), false
			for _, then := range p.moments {
				was := p.served[fmt.Sprint(then, caller, target)]
				got := r.Get(caller, target+"&as_of="+assay.FormatInstant(then.UnixMilli()))
				wantSameReply(t, fmt.Sprintf("%s as %q as of %s", target, caller, then), got, was)
				changed = changed || was.WithoutID() != now.WithoutID()
			}
			if !changed && now.StatusCode == http.StatusOK {
				t.Errorf("%s has the same reply for %q at every moment: nothing was tested", target, caller)
			}
		}
	}
}

// wantSameReply wants the status, text and validators of an earlier reply.
func wantSameReply(t *testing.T, request string, got, was apitest.Reply) {
	t.Helper()
	same := got.WithoutID() == was.WithoutID() && got.StatusCode == was.StatusCode
	for _, header := range []string{"Last-Modified", "Etag"} {
		same = same && got.Header.Get(header) == was.Header.Get(header)
	}
	if !same {
		t.Fatalf("%s:\n got %d %.400s\nserved was %d %.400s",
			request, got.StatusCode, got.WithoutID(), was.StatusCode, was.WithoutID())
	}
}

// TestAsOf_EqualsWhatWasServed asks everything when it is new, and again as of then when the story is over.
func TestAsOf_EqualsWhatWasServed(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	r := newRig(t, func(c *apitest.Config) { c.Web.KeyLimit = 1_000_000 })
	tell := &story{rng: rand.New(rand.NewPCG(7, 7)), now: apitest.Instant("2026-01-05"), slots: map[assay.Grain]map[int64]int{assay.Daily: {}, assay.Hourly: {}}}
	r.Use(snapshot.New(assay.DefaultCatalog(), 1))
	past := pastReplies{targets: storyTargets, served: map[string]apitest.Reply{}}
	for range 11 {
		r.Use(r.Snapshots.Load().With(tell.next()))
		r.Clock = time.UnixMilli(tell.now + 1500 + tell.rng.Int64N(5*assay.Hour)).UTC()
		r.Use(r.Snapshots.Load().With(snapshot.Update{
			Version: tell.version, Covered: tell.now, Utilization: tell.learned(r.Clock.UnixMilli()),
		}))
		past.record(r)
	}
	r.Clock = r.Clock.Add(5 * 24 * time.Hour)
	past.wantAsOf(t, r)
}

func TestAsOf_Edges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, target string, status int, want string) {
		t.Helper()
		if got := r.Get(caller, target); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s as %q: %d %.300s\nwant %d %s", target, caller, got.StatusCode, got.Text, status, want)
		}
	}
	// Version 4 came at 21:00:01 on 1 February, a second after the fixing; 5 restated at 10:00 on the 2nd.
	const east = "/api/gpu/H100%20SXM/index-history?region=us-east&startDate=2026-01-28&endDate=2026-01-31&as_of="
	f("premium", east+"2026-02-02", 200, `[{"timestamp":"2026-01-29T21:00:00.000Z","index_value":2.032},{"timestamp":"2026-01-30T21:00:00.000Z","index_value":2.5357},{"timestamp":"2026-01-31`)
	f("premium", east+"2026-02-02T09:59:59.999Z", 200, `[{"timestamp":"2026-01-29T21:00:00.000Z","index_value":2.032},{"timestamp":"2026-01-30T21:00:00.000Z","index_value":2.5357},{"timestamp":"2026-01-31`)
	f("premium", east+"2026-02-02T10:00:00Z", 200, `[{"timestamp":"2026-01-28T21:00:00.000Z","index_value":2.0283},{"timestamp":"2026-01-30T21:00:00.000Z","index_value":2.0357},{"timestamp":"2026-01-31`)
	f("", "/api/daily-index?as_of=2026-02-03T21:00:00.999Z", 200, `"date":"2026-02-01T21:00:00.000Z"`)
	f("", "/api/daily-index?as_of=2026-02-03T21:00:01Z", 200, `"date":"2026-02-03T21:00:00.000Z"`)
	f("", "/api/daily-index?as_of=", 200, `"date":"2026-02-03T21:00:00.000Z"`)
	// The future is now.
	for _, target := range storyTargets {
		if r.Get("full", target).Text != r.Get("full", target+"&as_of=2030-01-01").Text {
			t.Errorf("%s: the future is not now", target)
		}
	}
	f("full", "/api/gpu/H200/hourly?as_of=9999-12-31", 200, `"count":168,`)
	// Default spans count from as_of.
	f("full", "/api/gpu/H200/hourly?as_of=2026-02-01T21:30:00Z", 200, `"count":168,"has_more":false,"data":[{"timestamp":"2026-01-25T22:00:00.000Z"`)
	f("full", "/api/gpu/H200/index-history?granularity=auto&startDate=2026-01-02&as_of=2026-02-02", 200, `"granularity":"hourly"`)
	f("full", "/api/gpu/H200/index-history?granularity=auto&startDate=2026-01-01T23:59:59Z&as_of=2026-02-02", 200, `"granularity":"daily"`)
	// The free window counts from today, and as_of has to lie inside it.
	f("", "/api/gpu/H200/index-history?as_of=2026-02-02", 200, `"data":[{"timestamp":"2025-11-04T21:00:00.000Z"`)
	f("", "/api/gpu/H200/index-history?as_of=2025-11-03T23:59:59.999Z", 401, "outside_free_window")
	f("", "/api/gpu/H200?as_of=2025-11-03", 401, "outside_free_window")
	f("", "/api/daily-index/all?as_of=2025-11-03", 401, "outside_free_window")
	f("", "/api/gpu/RTX%20PRO%206000%20WS?as_of=2026-02-02", 401, "key_required")
	// Before the first publication there was nothing.
	f("", "/api/gpu/H200?as_of=2025-11-04", 404, "No data found for H200 in the region global")
	f("premium", "/api/daily-index?as_of=2025-01-01", 404, "No daily index data found for H100 SXM")
	f("premium", "/api/daily-index/all?as_of=2025-01-01", 404, "No daily index data found for any GPU")
	f("premium", "/api/gpu/H200/history-range?as_of=2025-01-01", 404, "No daily index data found for H200")
	f("premium", "/api/gpu/H200/history?datetime=2026-01-01&as_of=2025-01-01", 404, "No daily index data found for H200")
	f("full", "/api/gpu/H200/rolling-24h-average?as_of=2025-01-01", 404, "No data found for H200")
	// Checks keep their order: the route, the parameters, the window, the data.
	f("", "/api/gpu/H200?as_of=yesterday", 400, `for \"as_of\": must be`)
	f("", "/api/gpu/RTX%20PRO%206000%20WS?as_of=yesterday", 400, `for \"as_of\": must be`)
	f("", "/api/gpu/H200/hourly?as_of=yesterday", 401, "key_required")
	f("premium", "/api/gpu/H200/hourly?as_of=yesterday", 403, "full_required")
	f("", "/api/gpu/TPU?as_of=2001-01-01", 400, "unknown_gpu")
	f("", "/api/gpu/H200?region=mars&as_of=2001-01-01", 401, "outside_free_window")
	f("premium", "/api/gpu/H200?region=mars&as_of=2001-01-01", 404, "unknown_region")
	f("", "/api/gpu/H200?as_of=2026-02-02&as_of=2026-02-02", 400, `for \"as_of\": must be given once.`)
}
