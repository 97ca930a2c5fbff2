package demo

import (
	"context"
	"math"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/memory"
)

// memoryRead is when, after midnight UTC, memory prices are read: as the session in Taipei ends.
const memoryRead = 10 * assay.Hour

// memoryLevels are the prices of memory types at the beginning of 2026, in USD. Others than these cost memoryLevel.
var memoryLevels = map[string]float64{
	"mem_ddr3_4gb": 1.9, "mem_ddr4_16gb": 13.4, "mem_ddr4_16gb_ett": 9.6, "mem_ddr4_8gb": 6.1, "mem_ddr4_8gb_ett": 4.2,
	"mem_ddr5_16gb": 15.8, "mem_ddr5_16gb_ett": 10.9, "mem_mlc_32gb": 3.1, "mem_mlc_64gb": 4.9, "mem_slc_1gb": 1.2, "mem_slc_2gb": 1.7,
	"mem_ddr4_udimm_16gb": 62, "mem_ddr5_rdimm_32gb": 245, "mem_ddr5_udimm_16gb": 78,
}

const memoryLevel = 5.0

// AppendMemory appends what the memory types of the catalog cost on a day that begins at the given midnight; on weekends
// nothing is traded.
func (m *Market) AppendMemory(dst []assay.MemoryReading, types []assay.MemoryType, midnight int64) []assay.MemoryReading {
	if day := time.UnixMilli(midnight).UTC().Weekday(); day == time.Saturday || day == time.Sunday {
		return dst
	}
	n := (midnight + memoryRead) / assay.Hour
	for i, t := range types {
		salt := mix(m.seed, 300+uint64(i))
		level, ok := memoryLevels[t.ID]
		if !ok {
			level = memoryLevel
		}
		// Memory goes in long cycles, and its types go together more than GPUs do.
		cycle := 1 + 0.22*wave(float64(n)/(610*24)+unit(m.seed)) + 0.8*swings(m.seed+1, n) + 0.5*swings(salt, n)
		dst = append(dst, assay.MemoryReading{MemoryID: t.ID, At: midnight + memoryRead, Price: round3(level * cycle)})
	}
	return dst
}

// round3 is a price as it is quoted, in tenths of a cent.
func round3(usd float64) assay.Nanos { return assay.Nanos(math.Round(usd*1000)) * assay.Unit(3) }

// codingTold is when, after the end of a day, its metrics are told.
const codingTold = assay.Hour

// codingTool is how many pull requests a tool opens on a working day at the beginning of 2026, the share by which their
// number grows in a year, less than a half, the share that is merged, and how many commits there are in one.
type codingTool struct{ prs, growth, merged, commits float64 }

// codingTools are the tools. Others than these are like otherTool.
var codingTools = map[string]codingTool{
	"cc":      {14_200, 0.45, 0.79, 4.6},
	"codex":   {17_500, 0.48, 0.84, 2.2},
	"copilot": {9_300, 0.25, 0.58, 3.1},
	"cursor":  {5_100, 0.30, 0.71, 3.4},
	"devin":   {1_900, 0.10, 0.62, 5.2},
}

var otherTool = codingTool{1_000, 0.1, 0.6, 3}

// AppendCoding appends what the tools did on the day that begins at the given midnight.
func (m *Market) AppendCoding(dst []assay.CodingDay, tools []string, midnight int64) []assay.CodingDay {
	n := midnight/assay.Hour + 12
	rhythm := 1.0
	if day := time.UnixMilli(midnight).UTC().Weekday(); day == time.Saturday || day == time.Sunday {
		rhythm = 0.62
	}
	const start2026, hoursPerYear = 490_896, 8766
	years := float64(n-start2026) / hoursPerYear
	years /= math.Sqrt(1 + years*years/4) // between -2 and 2, as the trend of GPUs
	for i, tool := range tools {
		salt := mix(m.seed, 400+uint64(i))
		t, ok := codingTools[tool]
		if !ok {
			t = otherTool
		}
		prs := int64(t.prs * (1 + t.growth*years) * rhythm * (1 + swings(salt, n) + 0.04*noise(salt+7, n, 24)))
		share := t.merged + 0.03*noise(salt+8, n, 9*24) + 0.012*noise(salt+9, n, 24)
		commits := t.commits * (1 + 0.05*noise(salt+10, n, 15*24))
		dst = append(dst, assay.CodingDay{Day: midnight, Tool: tool, PRs: prs, Merged: int64(share * float64(prs)), Commits: int64(commits * float64(prs))})
	}
	return dst
}

// observe imports the memory prices and the coding metrics that were told in (from, until].
func (d *Demo) observe(ctx context.Context, from, until int64) error {
	options := ingest.Options{
		Store: d.Store, Catalog: d.catalog, NotAfter: func() int64 { return until },
		Rejected: func(r ingest.Reject) { d.Log.Error("demo observation rejected", "reason", r.Reason) },
	}
	memories, codings := ingest.Observations(options, memory.Family), ingest.Observations(options, coding.Family)
	var readings []assay.MemoryReading
	var days []assay.CodingDay
	for midnight := firstDay(from, memoryRead); midnight+memoryRead <= until; midnight += assay.Day {
		readings = d.market.AppendMemory(readings[:0], d.catalog.MemoryTypes, midnight)
		for _, r := range readings {
			if err := memories.Add(ctx, memory.Family.Row(r)); err != nil {
				return err
			}
		}
	}
	names := d.catalog.CodingTools()
	for midnight := firstDay(from, assay.Day+codingTold); midnight+assay.Day+codingTold <= until; midnight += assay.Day {
		days = d.market.AppendCoding(days[:0], names, midnight)
		for _, day := range days {
			if err := codings.Add(ctx, coding.Family.Row(day)); err != nil {
				return err
			}
		}
	}
	if err := memories.Flush(ctx); err != nil {
		return err
	}
	return codings.Flush(ctx)
}

// firstDay is the first day that is told after an instant, when days are told so long after they begin.
func firstDay(from, told int64) int64 { return assay.StartOfDay(from-told) + assay.Day }
