package tokens

import (
	"hash/maphash"
	"sync"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/ln"
)

// Memory computes costs, and remembers the like-for-like indices, which take most of the time. No row changes the index
// of a day before it, so what was known at a past moment has nearly always the first of the indices of today. The zero
// value is ready to use, and nil remembers nothing.
type Memory struct {
	once sync.Once
	seed maphash.Seed // no one can know it, and make other rows look the same

	mu     sync.Mutex
	groups map[remembering]remembered // guarded by mu
}

// remembering names the indices of a group under one version of the methodology.
type remembering struct {
	lab, family string
	window      int64
	version     string
}

// remembered are the logarithms of the indices of a group, with a digest of all rows up to the day of each.
type remembered struct {
	digests []uint64
	logs    []ln.Log
}

// Costs is the function Costs.
func (m *Memory) Costs(known []assay.Observed[assay.ModelDay], labs []assay.Lab, schedule index.Schedule) []Cost {
	return m.costsOver(overWeek, known, labs, schedule)
}

// DailyCosts is the function DailyCosts.
func (m *Memory) DailyCosts(known []assay.Observed[assay.ModelDay], labs []assay.Lab, schedule index.Schedule) []Cost {
	return m.costsOver(overDay, known, labs, schedule)
}

// logs returns the logarithms of the indices that follow from rows, which are ordered by day.
func (m *Memory) logs(of remembering, rows []row, compute func() []ln.Log) []ln.Log {
	if m == nil || len(rows) == 0 {
		return compute()
	}
	m.once.Do(func() { m.seed, m.groups = maphash.MakeSeed(), map[remembering]remembered{} })
	digests := digestDays(m.seed, rows)
	last := len(digests) - 1
	m.mu.Lock()
	known := m.groups[of]
	m.mu.Unlock()
	if last < len(known.digests) && known.digests[last] == digests[last] {
		return known.logs[:last+1]
	}
	logs := compute()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(logs) >= len(m.groups[of].logs) {
		m.groups[of] = remembered{digests, logs}
	}
	return logs
}

// digestDays returns a digest of all rows up to each day.
func digestDays(seed maphash.Seed, rows []row) (digests []uint64) {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range rows {
		r := &rows[i]
		maphash.WriteComparable(&h, struct {
			day                       int64
			model                     string
			requests, tokens, dollars int64
		}{r.Day, r.Model, r.Requests, r.tokens(), int64(r.Dollars)})
		if i == len(rows)-1 || rows[i+1].Day != r.Day {
			digests = append(digests, h.Sum64())
		}
	}
	return digests
}
