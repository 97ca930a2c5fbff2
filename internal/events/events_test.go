package events_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/events"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/tokens"
)

var (
	now  = apitest.Now.UnixMilli()
	hour = apitest.Instant("2026-02-04T13:00:00Z")
)

// hourly is a publication of one hour of some lines, and of a day of the first.
func hourly(version, at int64, value assay.Nanos, lines ...assay.Line) (u snapshot.Update) {
	u.Version = version
	u.Publications = []assay.Publication{{Version: version, PublishedAt: at + assay.Second, Methodology: "1.0.0"}}
	for i, line := range lines {
		for _, grain := range []assay.Grain{assay.Hourly, assay.Daily}[:1+(1-min(i, 1))] {
			point := assay.Point{At: at, Value: value + assay.Nanos(i)}
			u.Series = append(u.Series, snapshot.SeriesUpdate{
				Line: line, Grain: grain, Version: version, Published: at + assay.Second,
				Revisions: []assay.Revision{{Point: point, Version: version}},
			})
		}
	}
	return u
}

// printed is a minute of prints of some lines.
func printed(version, at int64, lines ...assay.Line) (u snapshot.Update) {
	u.Version = version
	for _, line := range lines {
		u.Realtime = append(u.Realtime, snapshot.RealtimeUpdate{
			Line: line, Prints: []assay.RealtimePrint{{At: at, Value: 2e9, Transactions: 3, HourMicros: 1_500_000}},
		})
	}
	return u
}

var (
	h200 = assay.Line{GPU: "H200", Region: assay.Global}
	b200 = assay.Line{GPU: "B200", Region: "us-east"}
	paid = assay.Line{GPU: "RTX PRO 6000 WS", Region: assay.Global}
)

// restatement replaces the newest hour of a line.
func restatement(version int64, line assay.Line, r assay.Revision) snapshot.Update {
	r.Version = version
	return snapshot.Update{
		Version: version,
		Publications: []assay.Publication{{
			Version: version, PublishedAt: now + version*assay.Minute, Methodology: "1.0.0", Reason: "Late rentals",
		}},
		Series: []snapshot.SeriesUpdate{{
			Line: line, Grain: assay.Hourly, Version: version, Published: now, Revisions: []assay.Revision{r},
		}},
	}
}

// everything is an update of every sequence.
func everything() snapshot.Update {
	u := hourly(8, hour, 3e9, h200, b200, paid)
	u.Realtime = append(printed(8, now/assay.Minute*assay.Minute+assay.Minute, paid, h200, b200).Realtime,
		printed(8, now/assay.Minute*assay.Minute+2*assay.Minute, h200).Realtime...)
	u.Realtime = []snapshot.RealtimeUpdate{u.Realtime[0], u.Realtime[2], {
		Line: h200, Prints: slices.Concat(u.Realtime[1].Prints, u.Realtime[3].Prints),
	}}
	received := now + assay.Minute
	u.Observations = family.Batches{
		assay.FamilyMemory: memory.Family.BatchOf(
			assay.Observed[assay.MemoryReading]{
				Value: assay.MemoryReading{MemoryID: "mem_ddr5_16gb", At: now, Price: 9e9}, Key: "a", Received: received,
			},
			assay.Observed[assay.MemoryReading]{
				Value: assay.MemoryReading{MemoryID: "mem_hidden", At: now, Price: 9e9}, Key: "b", Received: received,
			}),
		assay.FamilyModels: tokens.Family.BatchOf(
			assay.Observed[assay.ModelDay]{
				Value: assay.ModelDay{Day: apitest.Instant("2026-02-03"), Lab: "openai"}, Key: "c", Received: received,
			},
			assay.Observed[assay.ModelDay]{
				Value: assay.ModelDay{Day: apitest.Instant("2026-02-03"), Lab: "minimax"}, Key: "d", Received: received,
			},
			assay.Observed[assay.ModelDay]{
				Value: assay.ModelDay{Day: apitest.Instant("2026-02-02"), Lab: "openai"}, Key: "e", Received: received,
			}),
	}
	u.Utilization = []assay.UtilizationReading{
		{Source: "a", At: now, GPU: "H200", Region: "us-east", Rented: 1, Tracked: 2, Received: received},
	}
	u.Restatements = []assay.Restatement{{
		Number: 1, At: received, Family: assay.FamilyModels, From: 0, To: now, Reason: "Late rows", Actor: "secret",
	}}
	u.Notices = []assay.Notice{
		{Number: 1, At: received, Kind: assay.MessageNotice, Text: "Maintenance", Actor: "secret"},
		{Number: 2, At: received, Kind: assay.MessageNotice, GPU: "hidden", Text: "Of another GPU"},
	}
	return u
}

func after(t *testing.T, snap *snapshot.Snapshot, from events.Cursor) []events.Event {
	t.Helper()
	list, err := events.After(snap, from, now)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// summary is an event in a line: who gets it, what it is, and the members that tell it from others.
func summary(e *events.Event) string {
	var data map[string]any
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return err.Error()
	}
	who := ""
	for tier, letter := range []string{"a", "p", "f"} {
		if !e.Seen(assay.Tier(tier)) {
			letter = "-"
		}
		who += letter
	}
	words := []string{who, e.Kind.String(), e.Family}
	for _, name := range []string{
		"gpu_type", "region", "series", "date", "timestamp", "index_value", "rows", "number", "restatement", "route",
	} {
		if value, ok := data[name]; ok && value != nil {
			words = append(words, fmt.Sprint(value))
		}
	}
	return strings.Join(words, " ")
}

func summaries(list []events.Event) (lines []string) {
	for i := range list {
		lines = append(lines, summary(&list[i]))
	}
	return lines
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAfter_OrderAndAccess(t *testing.T) {
	t.Parallel()
	before := apitest.Snapshot()
	list := after(t, before.With(everything()), events.At(before))
	compare(t, summaries(list), []string{
		"--f hour gpu B200 us-east 2026-02-04T13:00:00.000Z 3.000000001",
		"apf price gpu B200 us-east 2026-02-04T13:00:00.000Z 3.000000001",
		"apf day gpu H200 global 2026-02-04 2026-02-04T13:00:00.000Z 3",
		"--f hour gpu H200 global 2026-02-04T13:00:00.000Z 3",
		"apf price gpu H200 global 2026-02-04T13:00:00.000Z 3",
		"--f hour gpu RTX PRO 6000 WS global 2026-02-04T13:00:00.000Z 3.000000002",
		"-pf price gpu RTX PRO 6000 WS global 2026-02-04T13:00:00.000Z 3.000000002",
		"--f print gpu B200 us-east 2026-02-04T12:35:00.000Z 2",
		"--f print gpu H200 global 2026-02-04T12:35:00.000Z 2",
		"--f print gpu RTX PRO 6000 WS global 2026-02-04T12:35:00.000Z 2",
		"--f print gpu H200 global 2026-02-04T12:36:00.000Z 2",
		"-pf observation memory mem_ddr5_16gb 1 /api/memory-index?type=mem_ddr5_16gb",
		"-pf observation models minimax 1 /api/otpi?lab=minimax",
		"apf observation models openai 2 /api/otpi?lab=openai",
		"-pf observation utilization H200 global /api/gpu/H200/volume-metrics?region=global",
		"-pf observation utilization H200 us-east /api/gpu/H200/volume-metrics?region=us-east",
		"-pf correction models 1 /api/corrections/models",
		"apf notice gpu 1",
	})
	for i := range list {
		if text := string(list[i].Data); strings.Contains(text, "secret") || strings.Contains(text, "\n") {
			t.Errorf("event %d is %s", i, text)
		}
	}
}

// A reader who comes back with the id of any event gets exactly the events after it, also from a node that
// has restarted
// or has read more.
func TestAfter_ResumesFromEveryEvent(t *testing.T) {
	t.Parallel()
	before := apitest.Snapshot()
	snap := before.With(everything())
	list := after(t, snap, events.At(before))
	later := snap.With(printed(8, now/assay.Minute*assay.Minute+3*assay.Minute, h200))
	for i := range list {
		t.Run(fmt.Sprint("event ", i), func(t *testing.T) {
			cursor, ok := events.Parse(list[i].After.String())
			if !ok || cursor != list[i].After {
				t.Fatalf("the id %q is not the cursor", list[i].After)
			}
			if err := events.Check(snap, cursor, events.Every); err != nil {
				t.Error(err)
			}
			rest := after(t, snap, cursor)
			compare(t, summaries(rest), summaries(list[i+1:]))
			for k := range rest {
				if rest[k].After != list[i+1+k].After {
					t.Errorf("event %d after event %d has another id", k, i)
				}
			}
			want := append(summaries(list[i+1:]), "--f print gpu H200 global 2026-02-04T12:37:00.000Z 2")
			got := summaries(after(t, later, cursor))
			slices.Sort(want)
			slices.Sort(got)
			compare(t, got, want)
		})
	}
}

// Nodes may read a publication and a print in either order, or together. A reader who goes from one to the other after
// any event gets every event once.
func TestAfter_NodesMergeDifferently(t *testing.T) {
	t.Parallel()
	start := apitest.Snapshot()
	minute := now/assay.Minute*assay.Minute + assay.Minute
	publication, print := hourly(8, hour, 3e9, h200, b200), printed(8, minute, h200, b200)
	onlyPrint := print
	onlyPrint.Version = 7
	node := func(updates ...snapshot.Update) (list []events.Event, snaps []*snapshot.Snapshot) {
		snap, at := start, events.At(start)
		for _, u := range updates {
			snap = snap.With(u)
			list = append(list, after(t, snap, at)...)
			at = events.At(snap)
			snaps = append(snaps, snap)
		}
		return list, snaps
	}
	first, _ := node(publication, print)
	second, snaps := node(onlyPrint, publication)
	want := summaries(first)
	slices.Sort(want)
	for i := range first {
		for _, snap := range snaps { // the second node has read one update, or both
			t.Run(fmt.Sprintf("after event %d to version %d", i, snap.Version), func(t *testing.T) {
				cursor := first[i].After
				got := summaries(first[:i+1])
				got = append(got, summaries(after(t, snap, cursor))...)
				at := cursor.Join(events.At(snap))
				if snap != snaps[1] { // the reader is ahead: of what the node sends next, the reader has some already
					rest := after(t, snaps[1], events.At(snap))
					for k := range rest {
						if !rest[k].Passed(at) {
							got = append(got, summary(&rest[k]))
						}
					}
				}
				slices.Sort(got)
				compare(t, got, want)
			})
		}
	}
	if len(second) != len(first) {
		t.Errorf("%d events on one node, %d on the other", len(first), len(second))
	}
}

// Restatements are corrections. Of the price they send the one that is current afterwards.
func TestAfter_Restatement(t *testing.T) {
	t.Parallel()
	published := apitest.Snapshot().With(hourly(8, hour, 3e9, b200))
	changed := published.With(restatement(9, b200, assay.Revision{Point: assay.Point{At: hour, Value: 4e9}, Number: 1}))
	gone := changed.With(restatement(10, b200, assay.Revision{Point: assay.Point{At: hour}, Number: 2, Gone: true}))
	again := gone.With(hourly(11, hour+assay.Hour, 5e9, b200))
	f := func(name string, snap *snapshot.Snapshot, from events.Cursor, want ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, summaries(after(t, snap, from)), want)
		})
	}
	at := "2026-02-04T13:00:00.000Z"
	f("changed", changed, events.At(published),
		"--f correction gpu B200 us-east "+at+" 4", "apf price gpu B200 us-east "+at+" 4")
	f("gone, with no price left", gone, events.At(changed), "--f correction gpu B200 us-east "+at)
	f("all missed", again, events.At(apitest.Snapshot()),
		"apf day gpu B200 us-east 2026-02-04 "+at+" 3", "--f hour gpu B200 us-east "+at+" 3",
		"--f correction gpu B200 us-east "+at+" 4", "--f correction gpu B200 us-east "+at,
		"apf day gpu B200 us-east 2026-02-04 2026-02-04T14:00:00.000Z 5",
		"--f hour gpu B200 us-east 2026-02-04T14:00:00.000Z 5", "apf price gpu B200 us-east 2026-02-04T14:00:00.000Z 5")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	start := apitest.Snapshot()
	snap := start.With(everything())
	list := after(t, snap, events.At(start))
	other := start.With(hourly(8, hour+assay.Minute, 3e9, h200)) // of the same version, at another time
	old := snap.With(hourly(9, hour+4*assay.Day, 3e9, h200)).With(hourly(10, hour+8*assay.Day, 3e9, h200))
	prints := snap.With(printed(8, now+3*assay.Day, h200))
	f := func(name string, snap *snapshot.Snapshot, c events.Cursor, wants func(assay.EventKind) bool, want error) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := events.Check(snap, c, wants); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		})
	}
	days := func(k assay.EventKind) bool { return k == assay.DayEvent }
	f("current", snap, events.At(snap), events.Every, nil)
	f("in the middle of a publication", snap, list[0].After, events.Every, nil)
	f("of another history", snap, events.At(other), events.Every, events.ErrHistory)
	f("of a node that has read more", start, events.At(snap), events.Every, nil)
	f("old", old, events.At(snap), days, events.ErrTooOld)
	f("before prints that are gone", prints, events.At(snap), events.Every, events.ErrTooOld)
	f("before prints that no one wants", prints, events.At(snap), days, nil)
	catalog := assay.DefaultCatalog()
	catalog.GPUs = catalog.GPUs[1:]
	f("complete, under other catalogs", snap.WithCatalog(catalog, 2), events.At(snap), events.Every, nil)
	f("incomplete, under other catalogs", snap.WithCatalog(catalog, 2), list[0].After, events.Every, events.ErrCatalog)
}

// A publication of all history is not sent event by event.
func TestAfter_TooMany(t *testing.T) {
	t.Parallel()
	start := apitest.Snapshot()
	u := snapshot.Update{Version: 8, Publications: []assay.Publication{{Version: 8, PublishedAt: now}}}
	s := snapshot.SeriesUpdate{Line: b200, Grain: assay.Hourly, Version: 8}
	for i := range int64(events.Most + 1) {
		s.Revisions = append(s.Revisions, assay.Revision{Point: assay.Point{At: i * assay.Hour, Value: 1e9}, Version: 8})
	}
	u.Series = []snapshot.SeriesUpdate{s}
	if _, err := events.After(start.With(u), events.At(start), now); !errors.Is(err, events.ErrTooMany) {
		t.Error(err)
	}
}

func TestParse_Garbage(t *testing.T) {
	t.Parallel()
	id := events.At(apitest.Snapshot().With(everything())).String()
	f := func(text string) {
		t.Helper()
		if _, ok := events.Parse(text); ok {
			t.Errorf("%q is an id", text)
		}
	}
	f("")
	f("-")
	f("8")
	f("8-")
	f("8-AAAA")
	f("x" + id)
	f(id + "A")
	f(id[:len(id)-2])
	f("9" + id[1:])
	f("+8" + id[1:])
	f("08" + id[1:])
	f(strings.Repeat("8", 300) + id)
	f(strings.Replace(id, "-", "-_", 1))
	f(id + "\n")
	for i := range id {
		if flipped := id[:i] + string(id[i]^1) + id[i+1:]; flipped != id {
			f(flipped)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(events.At(apitest.Snapshot()).String())
	f.Add("8-AAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, id string) {
		if c, ok := events.Parse(id); ok && c.String() != id {
			t.Errorf("%q is read as %q", id, c)
		}
	})
}
