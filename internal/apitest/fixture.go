package apitest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/sites"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/tokens"
)

// Now is when tests take place, a Wednesday in winter.
var Now = time.Date(2026, 2, 4, 12, 34, 56, 0, time.UTC)

// Snapshot is the snapshot of most tests: daily from 1 August 2025, which includes the end of summer time, and hourly
// from 20 January 2026, for all six GPUs worldwide and for one of them in one region, where three values were restated.
func Snapshot() *snapshot.Snapshot {
	return snapshot.New(assay.DefaultCatalog(), 1).With(Update())
}

// Update is what the snapshot is made of. Tests must not change it.
var Update = sync.OnceValue(func() snapshot.Update {
	u := snapshot.Update{Version: 7, Covered: Instant("2026-02-04T12:00:00Z"), Publications: []assay.Publication{
		{Version: 4, PublishedAt: Instant("2026-02-01T21:00:01Z"), Methodology: "1.0.0"},
		{
			Version: 5, PublishedAt: Instant("2026-02-02T10:00:00Z"), Methodology: "1.0.0",
			Reason: "Late rentals of a provider", Actor: "ops",
		},
		{Version: 6, PublishedAt: Instant("2026-02-03T21:00:01Z"), Methodology: "1.0.0"},
		{Version: 7, PublishedAt: Instant("2026-02-04T12:00:01Z"), Methodology: "1.0.0"},
	}}
	lines := []assay.Line{{GPU: "H100 SXM", Region: "us-east"}}
	for _, gpu := range assay.DefaultCatalog().GPUs {
		lines = append(lines, assay.Line{GPU: gpu.Name, Region: assay.Global})
	}
	for n, line := range lines {
		for _, g := range []struct {
			grain   assay.Grain
			start   string
			version int64
		}{{assay.Daily, "2025-08-01", 6}, {assay.Hourly, "2026-01-20", 7}} {
			revisions := revisionsOf(points(g.grain, time.UnixMilli(Instant(g.start)), n), u.Publications)
			if n == 0 {
				revisions = restate(revisions, g.grain)
			}
			u.Series = append(u.Series, snapshot.SeriesUpdate{
				Line: line, Grain: g.grain, Revisions: revisions,
				Version: g.version, Published: u.Publications[g.version-4].PublishedAt,
			})
		}
	}
	u.Realtime = []snapshot.RealtimeUpdate{{Line: assay.Line{GPU: "H200", Region: assay.Global}, Prints: prints()}}
	u.Utilization = readings()
	u.Observations = family.Batches{
		assay.FamilyMemory: memory.Family.BatchOf(MemoryReadings()...),
		assay.FamilyModels: tokens.Family.BatchOf(ModelDays()...),
		assay.FamilyCoding: coding.Family.BatchOf(CodingDays()...),
		assay.FamilySites:  sites.Family.BatchOf(Sites()...),
	}
	u.Methodologies = []assay.MethodologyFile{
		{
			Version: "1.0.0", Effective: 0, Adopted: Instant("2025-07-01T09:00:00Z"),
			Text: Methodology("1.0.0", "1970-01-01", 4),
		},
		{
			Version: "1.1.0", Effective: Instant("2026-03-01"), Adopted: Instant("2026-02-01T09:00:00Z"),
			Text: Methodology("1.1.0", "2026-03-01", 5),
		},
	}
	u.Manifests = []assay.Manifest{{
		Day: Instant("2026-02-03"), Publication: 7, Receipt: 12, Records: 175, Digest: assay.Hash{1},
		SignedAt: Instant("2026-02-04T00:00:02Z"),
		Previous: assay.Hash{2}, Hash: assay.Hash{3}, PublicKey: make([]byte, 32), Signature: make([]byte, 64),
	}}
	return u
})

// prints are the real-time prints since noon of the day before.
func prints() (prints []assay.RealtimePrint) {
	for at := Instant("2026-02-03T12:00:00Z"); at <= Now.UnixMilli(); at += assay.Minute {
		i := int64(len(prints))
		prints = append(prints, assay.RealtimePrint{
			At: at, Value: assay.Nanos(23_000+i%97) * assay.Unit(4), Transactions: int(i % 40), HourMicros: 1_500_000 * (i % 40),
		})
	}
	return prints
}

// readings are readings of utilization: of H200 twice a day by two sources, one of which is a day late; of B200
// until 2 February and of A100 SXM4 until January; of RTX 5090 none for more than 30 days.
func readings() (readings []assay.UtilizationReading) {
	add := func(gpu, region, source, from, to string, late int64) {
		for at := Instant(from); at <= Instant(to); at += 12 * assay.Hour {
			i := int64(len(readings))
			readings = append(readings, assay.UtilizationReading{
				Source: source, At: at, GPU: gpu, Region: region, Rented: 600 + i*7%300, Tracked: 1000, Received: at + late,
			})
		}
	}
	add("H200", "us-east", "a", "2025-12-20", "2026-02-04T12:00:00Z", assay.Minute)
	add("H200", "", "b", "2026-01-30", "2026-02-03", assay.Day)
	add("B200", "us-west", "a", "2026-01-20", "2026-02-02T12:00:00Z", assay.Minute)
	add("A100 SXM4", "", "b", "2026-01-10", "2026-01-12", assay.Minute)
	add("RTX 5090", "", "b", "2025-12-20", "2026-01-05", assay.Minute)
	return readings
}

func record(line assay.Line, grain assay.Grain, r assay.Revision, p assay.Publication) assay.Determination {
	d := assay.Determination{
		Line: line, Grain: grain, At: r.At, From: index.Plain().WindowStart(grain, r.At),
		Revision: r.Number, Methodology: p.Methodology, PublishedAt: p.PublishedAt,
		Inputs: assay.Hash{0xab, byte(r.Number)}, Hash: assay.Hash{0xcd, byte(r.Number)},
		Excluded: assay.Exclusions{Unverified: 2},
	}
	if r.Gone {
		d.Excluded.Withdrawn = 1
		return d
	}
	d.HasValue, d.Value, d.Low, d.High, d.Median = true, r.Value, r.Value-assay.One, r.Value+assay.One, r.Value
	d.Transactions, d.HourMicros, d.Providers, d.HHI = 3, 1_250_000_500, 2, 5556
	return d
}

// Instant parses an instant.
func Instant(s string) int64 {
	ms, _, err := assay.ParseInstant(s)
	if err != nil {
		panic(err)
	}
	return ms
}

// revisionsOf has each point made by the first regular publication that could know it.
func revisionsOf(points []assay.Point, publications []assay.Publication) []assay.Revision {
	revisions := make([]assay.Revision, len(points))
	for i, p := range points {
		revisions[i].Point = p
		for _, made := range slices.Backward(publications) {
			if made.Reason == "" && made.PublishedAt >= p.At {
				revisions[i].Version = made.Version
			}
		}
	}
	return revisions
}

// restate lets version 5 have changed a value, and of the days taken one back and given one.
func restate(revisions []assay.Revision, grain assay.Grain) (restated []assay.Revision) {
	for _, r := range revisions {
		second := r
		second.Number, second.Version = 1, 5
		switch assay.FormatInstant(r.At) {
		case "2026-01-30T21:00:00.000Z", "2026-02-01T10:00:00.000Z":
			r.Value += assay.One / 2
			restated = append(restated, r, second)
		case "2026-01-29T21:00:00.000Z":
			if second.Gone = grain == assay.Daily; second.Gone {
				restated = append(restated, r, second)
				continue
			}
			restated = append(restated, r)
		case "2026-01-28T21:00:00.000Z":
			if grain == assay.Daily {
				r.Version = 5
			}
			restated = append(restated, r)
		default:
			restated = append(restated, r)
		}
	}
	return restated
}

// Methodology is the text of a version.
func Methodology(version, effective string, decimals int) string {
	return fmt.Sprintf(`version = %q
effective = %sT00:00:00Z
decimals = %d
fixing = {zone = "America/New_York", time = "16:00"}
minimum = {transactions = 1, providers = 1}
`, version, effective, decimals)
}

// points are points at every slot from the start until now, with values of up to four decimals.
func points(grain assay.Grain, start time.Time, n int) (points []assay.Point) {
	m := index.Plain()
	for at := m.NextSlot(grain, start.UnixMilli()); at <= Now.UnixMilli(); at = m.NextSlot(grain, at) {
		i := int64(len(points))
		value := assay.Nanos(20_000+1_000*int64(n)+(i*37)%911) * assay.Unit(4)
		points = append(points, assay.Point{At: at, Value: value})
	}
	return points
}

// Day is the publication of a day's value in some lines.
func Day(day string, lines ...assay.Line) snapshot.Update {
	u := snapshot.Update{Version: 8, Covered: Update().Covered}
	u.Publications = []assay.Publication{{Version: 8, PublishedAt: Now.UnixMilli(), Methodology: "1.0.0"}}
	for _, line := range lines {
		u.Series = append(u.Series, snapshot.SeriesUpdate{
			Line: line, Grain: assay.Daily, Version: 8, Published: Now.UnixMilli(),
			Revisions: []assay.Revision{{Point: assay.Point{At: Instant(day + "T21:00:00Z"), Value: assay.One}, Version: 8}},
		})
	}
	return u
}
