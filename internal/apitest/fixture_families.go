package apitest

import (
	"cmp"
	"slices"
	"time"

	"github.com/assaydata/assay"
)

// observations puts what was received into the order of receipt and numbers the revisions.
func observations[T any](all []assay.Observed[T]) []assay.Observed[T] {
	slices.SortStableFunc(all, func(a, b assay.Observed[T]) int { return int(a.Received - b.Received) })
	known := map[string]int{}
	for i := range all {
		all[i].Revision = known[all[i].Key]
		known[all[i].Key]++
	}
	return all
}

// MemoryReadings are readings at 10:00 UTC of every weekday since December and of one Saturday, received five minutes
// later; of one memory type until January only, of another none. One was corrected on 2 February.
func MemoryReadings() []assay.Observed[assay.MemoryReading] {
	var all []assay.Observed[assay.MemoryReading]
	add := func(id, at string, price assay.Nanos, received int64) {
		r := assay.MemoryReading{MemoryID: id, At: Instant(at), Price: price}
		if received == 0 {
			received = r.At + 5*assay.Minute
		}
		all = append(all, assay.Observed[assay.MemoryReading]{Value: r, Key: r.Key(), Received: received})
	}
	for n, memoryType := range assay.DefaultCatalog().MemoryTypes {
		for day := range 66 {
			date := time.Date(2025, 12, 1+day, 10, 0, 0, 0, time.UTC)
			weekend := date.Weekday() == time.Saturday && date.Day() != 31 || date.Weekday() == time.Sunday
			if weekend || memoryType.ID == "mem_ddr5_rdimm_32gb" || memoryType.ID == "mem_slc_1gb" && day > 45 {
				continue
			}
			add(memoryType.ID, date.Format(time.RFC3339), assay.Nanos(2000+500*n+day*37%91)*assay.Unit(3), 0)
		}
	}
	add("mem_ddr5_16gb", "2026-01-30T10:00:00Z", 9*assay.One, Instant("2026-02-02T09:00:00Z"))
	return observations(all)
}

// CodingDays is what four of the five tools did from December to 3 February, each day received at one o'clock the day
// after. Devin does nothing on Sundays, Cursor did nothing on the last day but one, and Codex has no Saturdays. One day
// was corrected on 2 February.
func CodingDays() []assay.Observed[assay.CodingDay] {
	var all []assay.Observed[assay.CodingDay]
	add := func(d assay.CodingDay, received int64) {
		if received == 0 {
			received = d.Day + 25*assay.Hour
		}
		all = append(all, assay.Observed[assay.CodingDay]{Value: d, Key: d.Key(), Received: received})
	}
	for n, tool := range []string{"cc", "codex", "cursor", "devin"} {
		for day := range 65 {
			date := time.Date(2025, 12, 1+day, 0, 0, 0, 0, time.UTC)
			prs := int64(1000 - 100*n + day*31%97)
			d := assay.CodingDay{
				Day: date.UnixMilli(), Tool: tool, PRs: prs,
				Merged: prs * int64(70+day%9) / 100, Commits: 5*prs + int64(day%7),
			}
			switch {
			case tool == "codex" && date.Weekday() == time.Saturday:
				continue
			case tool == "devin" && date.Weekday() == time.Sunday, tool == "cursor" && day == 63:
				d.PRs, d.Merged, d.Commits = 0, 0, 0
			}
			add(d, 0)
		}
	}
	corrected := assay.CodingDay{Day: Instant("2026-01-30"), Tool: "cc", PRs: 2000, Merged: 1500, Commits: 9000}
	add(corrected, Instant("2026-02-02T09:00:00Z"))
	return observations(all)
}

// Models are the models of the fixture: lab, name, family, dollars per million tokens.
var Models = []struct {
	Lab, Model, Family string
	price              int64
}{
	{"anthropic", "opus-5", "opus", 25},
	{"anthropic", "haiku-5", "haiku", 2},
	{"openai", "gpt-6", "flagship", 8},
	{"google", "flash-4", "flash", 1},
	{"deepseek", "v4", "chat", 0},
	{"minimax", "m3", "text", 3},
}

// ModelDays are models' days from 20 December to today, each received an hour after its day has ended, today's at noon.
// No model has 20 January, google lacks 3 February; deepseek's model is free until 1 February. One day of opus was
// revised. From 1 February on, anthropic's dollars are split.
func ModelDays() (observed []assay.Observed[assay.ModelDay]) {
	add := func(m assay.ModelDay, revision int, received int64) {
		observed = append(observed, assay.Observed[assay.ModelDay]{
			Value: m, Key: m.Key(), Revision: revision, Received: received,
		})
	}
	for day := Instant("2025-12-20"); day <= Instant("2026-02-04"); day += assay.Day {
		for n, name := range Models {
			if day == Instant("2026-01-20") || name.Lab == "google" && day == Instant("2026-02-03") {
				continue
			}
			i := day/assay.Day*7 + int64(n)
			m := assay.ModelDay{
				Day: day, Lab: name.Lab, Model: name.Model, Family: name.Family,
				Requests: 1000 + i%13*50, InputTokens: 4_000_000 + i%17*100_000, OutputTokens: 500_000 + i%11*20_000,
			}
			m.Dollars = assay.Nanos((m.InputTokens + m.OutputTokens) * name.price * 1000)
			m.Free = name.price == 0
			if name.Lab == "deepseek" && day >= Instant("2026-02-01") {
				m.Free, m.Dollars = false, assay.One
			}
			if name.Lab == "anthropic" && day >= Instant("2026-02-01") {
				m.Split, m.CachedTokens = true, m.InputTokens/4
				m.OutputDollars, m.CachedDollars = m.Dollars/2, m.Dollars/50
				m.InputDollars = m.Dollars - m.OutputDollars - m.CachedDollars
			}
			add(m, 0, min(day+assay.Day+assay.Hour, Instant("2026-02-04T12:00:00Z")))
			if name.Model == "opus-5" && day == Instant("2026-01-30") {
				m.Dollars /= 2
				add(m, 1, Instant("2026-02-02T09:00:00Z"))
			}
		}
	}
	slices.SortStableFunc(observed, func(a, b assay.Observed[assay.ModelDay]) int {
		return cmp.Compare(a.Received, b.Received)
	})
	return observed
}

// ValueRecords are records of some values. That of openai's price was restated on 2 February, and that of a coding
// metric lost its value then.
func ValueRecords() (records []assay.ValueRecord) {
	const first, second = "2026-02-01T09:00:00Z", "2026-02-02T10:00:00Z"
	add := func(index, series string, revision int, knownAt, numbers string) {
		number := len(records) + 1
		records = append(records, assay.ValueRecord{
			Number: int64(number), Index: index, Series: series, Day: Instant("2026-01-30"), Revision: revision,
			Numbers: numbers, Methodology: "1.1.0", KnownAt: Instant(knownAt),
			Inputs: assay.Hash{0xab, byte(number)}, Hash: assay.Hash{0xcd, byte(number)},
		})
	}
	const cost = `{"cCents":3.6,"lfl":100.25,"qKtok":4.5,"priceEffect":0,"intensityEffect":0.1,"mixEffect":-0.1,` +
		`"unlinkedShare":null}`
	add("otpi", "openai", 0, first, `{"indexPerMtok":8}`)
	add("otpi", "minimax", 0, first, `{"indexPerMtok":3}`)
	add("otpi", "hidden", 0, first, `{"indexPerMtok":5}`)
	add("workload", "openai/all", 0, first, cost)
	add("workload-daily", "openai/all", 0, first, cost)
	add("memory", "mem_ddr5_16gb", 0, first, `{"price":2.024,"weeklyHigh":2.09,"weeklyLow":2.005,"changePct":-2.6455}`)
	add("llm-coding", "cc/prs", 0, first, `{"value":1020,"changePct":3.1345,"weekChangePct":null}`)
	add("otpi", "openai", 1, second, `{"indexPerMtok":8.25}`)
	add("llm-coding", "cc/prs", 1, second, `null`)
	return records
}

// Sites are eight sites, received on 1 and 3 February; Oslo 2 was another one at first.
func Sites() (observed []assay.Observed[assay.Site]) {
	add := func(received string, revision int, s assay.Site) {
		s.ChipGeneration, s.Status, s.DCTier = "Hopper", "operational", "Tier III"
		observed = append(observed, assay.Observed[assay.Site]{
			Value: s, Key: s.ID, Revision: revision, Received: Instant(received),
		})
	}
	const first, second = "2026-02-01T09:00:00Z", "2026-02-03T10:00:00Z"
	oslo2 := assay.Site{
		ID: "osl-2", Company: "Fjordline Compute", SiteName: "Oslo 2", City: "Oslo", Country: "Norway",
		GPUTypes: "GB200 NVL72", GPUQty: 576, Power: 1_500_000, Category: "GPU cloud",
		Latitude: 59_950_000, Longitude: 10_770_000, IsNeocloud: true,
	}
	add(first, 0, assay.Site{
		ID: "osl-1", Company: "Fjordline Compute", SiteName: "Oslo 1", City: "Oslo", Country: "Norway",
		GPUTypes: "8x H100 SXM5 / A100", GPUQty: 4096, Power: 12_500_000, Category: "GPU cloud",
		Latitude: 59_913_900, Longitude: 10_752_200, IsNeocloud: true,
	})
	add(first, 0, oslo2)
	add(first, 0, assay.Site{
		ID: "gru-1", Company: "Aço Compute", SiteName: "Centro 1", City: "São Paulo", Country: "Brazil",
		GPUTypes: "H200", GPUQty: 2048, Power: 6_250_000, Category: "GPU cloud", KeyCustomer: "Lab & Co",
		Latitude: -23_550_520, Longitude: -46_633_308, IsNeocloud: true,
	})
	add(first, 0, assay.Site{
		ID: "suv-1", Company: "Pacific Racks", SiteName: "Suva East", Country: "Fiji", GPUTypes: "L40S", GPUQty: 64,
		Power: 200_000, Category: "edge", Latitude: -17_000_000, Longitude: 179_900_000, IsNeocloud: true,
	})
	add(first, 0, assay.Site{
		ID: "tav-1", Company: "Pacific Racks", SiteName: "Taveuni", City: "Taveuni", Country: "Fiji",
		GPUTypes: "L4", GPUQty: 32, Power: 100_000, Category: "edge",
		Latitude: -17_000_000, Longitude: -179_900_000, IsNeocloud: true,
	})
	add(first, 0, assay.Site{
		ID: "sup-1", Company: "Nordlab", SiteName: "Oslofjord Supercomputer", City: "Drammen", Country: "Norway",
		GPUTypes: "MI300A", GPUQty: 10_000, Power: 20_000_000, Category: "AI supercomputer",
		Latitude: 59_743_900, Longitude: 10_204_500,
	})
	add(first, 0, assay.Site{
		ID: "unk-1", Company: "Drift Compute", SiteName: "Barge 7", GPUTypes: "custom ASIC",
		Category: "GPU cloud", IsNeocloud: true,
	})
	oslo2.GPUQty, oslo2.Power, oslo2.KeyCustomer = 1152, 3_000_000, "Nordlab"
	add(second, 1, oslo2)
	add(second, 0, assay.Site{
		ID: "pol-1", Company: "Polar Racks", SiteName: "Amundsen Hall", Country: "Antarctica", GPUTypes: "T4", GPUQty: 8,
		Power: 3_000, Category: "research", Latitude: -89_990_000, Longitude: 0, IsNeocloud: true,
	})
	return observed
}
