package utilization

import (
	"cmp"
	"math"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
)

// Settler takes readings in the order of receipt, and says from when on they count. Each instant of a GPU model is
// final some time after a reading of it was received, with all before it: what comes for them later is late, of all
// regions, because regions add up to the global line. So a day is final once its model was read after it, and that is
// some time ago.
type Settler struct {
	settlement family.Settlement
	gpus       map[string]*family.Frontier
	late       []assay.UtilizationReading // those that do not count
}

// NewSettler returns a settler that has seen no reading yet.
func NewSettler(s family.Settlement) *Settler {
	return &Settler{settlement: s, gpus: map[string]*family.Frontier{}}
}

// Settle takes readings, in any order, that were received after all it has taken before. It returns those that count.
func (s *Settler) Settle(received []assay.UtilizationReading) (counting []assay.UtilizationReading) {
	if s.settlement.After == nil {
		return received
	}
	slices.SortStableFunc(received, func(a, b assay.UtilizationReading) int {
		return cmp.Compare(a.Received, b.Received)
	})
	for i := range received {
		r := &received[i]
		gpu := s.gpus[r.GPU]
		if gpu == nil {
			gpu = &family.Frontier{}
			s.gpus[r.GPU] = gpu
		}
		if final, ok := gpu.At(r.Received); ok && r.At <= final {
			if r.Restated = s.settlement.LetsCount(slotOf(r), r.Received, math.MaxInt64); r.Restated == 0 {
				s.late = append(s.late, *r)
				continue
			}
		} else if after := s.settlement.After(r.At); after > 0 {
			gpu.Add(r.At, r.Received+after)
		}
		counting = append(counting, *r)
	}
	return counting
}

func slotOf(r *assay.UtilizationReading) family.Slot {
	return family.Slot{Series: r.GPU, At: r.At, End: r.At}
}

// Restate takes restatements of utilization, in their order. It returns the late readings that count by them.
func (s *Settler) Restate(restated []assay.Restatement) (counting []assay.UtilizationReading) {
	s.settlement.Restated = slices.Concat(s.settlement.Restated, restated)
	s.late = slices.DeleteFunc(s.late, func(r assay.UtilizationReading) bool {
		r.Restated = s.settlement.LetsCount(slotOf(&r), r.Received, math.MaxInt64)
		if r.Restated > 0 {
			counting = append(counting, r)
		}
		return r.Restated > 0
	})
	return counting
}

// Late returns the readings that came late and do not count, in the order of receipt.
func (s *Settler) Late() []assay.UtilizationReading { return s.late }

// Settled returns the last day of each GPU model that is final at a moment, and when more of them will be, if nothing
// else is received; 0 for never.
func (s *Settler) Settled(moment int64) (final map[string]int64, next int64) {
	final = map[string]int64{}
	for name, gpu := range s.gpus {
		today := int64(math.MinInt64)
		if at, ok := gpu.At(moment); ok {
			today = assay.StartOfDay(at)
			final[name] = today - assay.Day
		}
		// The next day that is final ends with the first instant of a later one.
		due := gpu.After(moment, today+assay.Day-1)
		if due > 0 && (next == 0 || due < next) {
			next = due
		}
	}
	return final, next
}
