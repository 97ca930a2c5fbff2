package demo

import (
	"sync"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/tools/testenv"
)

// fixing is a published value of one day, and what it was computed from.
type fixing struct {
	at int64
	assay.Determination
}

// history is what the index makes of two years of a seed's market.
type history struct {
	daily  map[assay.Line][]fixing
	hourly map[assay.Line]int // how many hours have a value; of the global lines and those of the thinnest region
}

// thinnest is the region with the fewest trades.
const thinnest = "ap-east"

// The two years that the tests look at, a little more than what a demo of November 2026 begins with.
var historyBegin, historyEnd = marketAt(2024, 11, 1), marketAt(2026, 11, 2)

var methodology = index.Plain()

// twoYears publishes two years of the market of seed 1, once for all tests that read it.
func twoYears(t *testing.T) history {
	t.Helper()
	testenv.OneGoroutine(t)
	return publishOnce()
}

var publishOnce = sync.OnceValue(func() history { return publishHistory(1, historyBegin, historyEnd) })

// publishHistory computes every daily and hourly value of a market with the methodology of the service. Nothing is
// late.
func publishHistory(seed, begin, end int64) history {
	h := history{daily: map[assay.Line][]fixing{}, hourly: map[assay.Line]int{}}
	var rows []Arrival
	slots := map[assay.Grain]*slot{assay.Daily: {grain: assay.Daily}, assay.Hourly: {grain: assay.Hourly}}
	m := NewMarket(seed, assay.DefaultCatalog())
	for hour := begin; hour < end; hour += assay.Hour {
		rows = m.AppendHour(rows[:0], hour)
		for _, s := range slots {
			s.add(&h, hour, rows)
		}
	}
	return h
}

// slot gathers the transactions of one period.
type slot struct {
	grain        assay.Grain
	at           int64
	transactions []assay.Transaction
	calculator   index.Calculator
}

// add gathers the rows of an hour, and publishes the period before when a new one begins.
func (s *slot) add(h *history, hour int64, rows []Arrival) {
	if at := methodology.NextSlot(s.grain, hour); at != s.at {
		s.publish(h)
		s.at, s.transactions = at, s.transactions[:0]
	}
	for i := range rows {
		s.transactions = append(s.transactions, rows[i].Transaction)
	}
}

func (s *slot) publish(h *history) {
	byLine := map[assay.Line][]int32{}
	for i := range s.transactions {
		for line := range s.transactions[i].Lines() {
			if s.grain == assay.Daily || line.Region == assay.Global || line.Region == thinnest {
				byLine[line] = append(byLine[line], int32(i))
			}
		}
	}
	s.calculator.Load(s.transactions)
	for line, rows := range byLine {
		d, ok := s.calculator.Compute(rows, methodology)
		switch {
		case !ok:
		case s.grain == assay.Daily:
			h.daily[line] = append(h.daily[line], fixing{s.at, d})
		default:
			h.hourly[line]++
		}
	}
}
