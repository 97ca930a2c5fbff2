package demo

import (
	"iter"

	"github.com/assaydata/assay"
)

// memoryRead is when, after midnight UTC, memory prices are read: as the session in Taipei ends.
const memoryRead = 10 * assay.Hour

// memoryLevels are the prices of memory types at the start of 2026, in nanodollars. Other types cost memoryLevel.
var memoryLevels = map[string]int64{
	"mem_ddr3_4gb": 1.9e9, "mem_ddr4_16gb": 13.4e9, "mem_ddr4_16gb_ett": 9.6e9, "mem_ddr4_8gb": 6.1e9,
	"mem_ddr4_8gb_ett": 4.2e9, "mem_ddr5_16gb": 15.8e9, "mem_ddr5_16gb_ett": 10.9e9,
	"mem_mlc_32gb": 3.1e9, "mem_mlc_64gb": 4.9e9, "mem_slc_1gb": 1.2e9, "mem_slc_2gb": 1.7e9,
	"mem_ddr4_udimm_16gb": 62e9, "mem_ddr5_rdimm_32gb": 245e9, "mem_ddr5_udimm_16gb": 78e9,
}

const memoryLevel = 5e9

// memoryCycle is the length in hours of a cycle from shortage to shortage.
const memoryCycle = 610 * 24

// AppendMemory appends the prices of the catalog's memory types on the day that begins at the given midnight; there is
// no trading on weekends. Types move together in long cycles; modules are made of DRAM and follow its chips.
func (m *Market) AppendMemory(
	dst []assay.MemoryReading, types []assay.MemoryType, midnight int64,
) []assay.MemoryReading {
	n := (midnight + memoryRead) / assay.Hour
	if weekend(n) {
		return dst
	}
	t := m.path.tide(n)
	cycle := 18*wave(n, memoryCycle, unit(m.seed))/100 + t[memoryMarket]
	for i, memory := range types {
		salt := mix(m.seed, 300+uint64(i))
		level, ok := memoryLevels[memory.ID]
		if !ok {
			level = memoryLevel
		}
		category := t[dram]
		if memory.Category == "flash" {
			category = t[flash]
		}
		own := 25*noise(salt, n, 20*24)/1000 + 6*noise(salt+1, n, 36)/1000
		price := decimals(times(level, exp(cycle+category+own)), 3)
		dst = append(dst, assay.MemoryReading{MemoryID: memory.ID, At: midnight + memoryRead, Price: price})
	}
	return dst
}

// memory are the readings of (from, until].
func (d *Demo) memory(from, until int64) iter.Seq[assay.MemoryReading] {
	return daily(from, until, memoryRead, func(dst []assay.MemoryReading, midnight int64) []assay.MemoryReading {
		return d.market.AppendMemory(dst, d.catalog.MemoryTypes, midnight)
	})
}
