package tokens

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/ln"
)

// What is remembered is what would be computed: of the market up to a week, with a row that was revised, of other
// methods, and of labs that the catalog has in another order.
func TestMemory_SameCosts(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 9))
	var memory Memory
	for range 20 {
		m := randomMarket(rng, 30)
		for range 30 {
			weeks := m[:1+rng.IntN(len(m))]
			if rng.IntN(3) == 0 {
				weeks = slices.Clone(weeks)
				week := rng.IntN(len(weeks))
				weeks[week] = slices.Clone(weeks[week])
				weeks[week][0].cents++
			}
			rule := by([]string{index.GEKS, index.SatoVartia}[rng.IntN(2)])
			schedule := scheduleBy(rule)
			schedule[0].Version = rule.Method
			known, list := weeks.observed(0), labs()
			if rng.IntN(2) == 0 {
				slices.Reverse(list)
			}
			if got, want := memory.Costs(known, list, schedule), Costs(known, list, schedule); !slices.Equal(got, want) {
				t.Fatalf("remembered are %+v, want %+v", got, want)
			}
			got, want := memory.DailyCosts(known, list, schedule), DailyCosts(known, list, schedule)
			if !slices.Equal(got, want) {
				t.Fatalf("remembered of days are %+v, want %+v", got, want)
			}
		}
	}
}

// The indices of a past moment are not computed again.
func TestMemory_PastMoment(t *testing.T) {
	t.Parallel()
	m := randomMarket(rand.New(rand.NewPCG(1, 1)), 30)
	rows := sorted(m.observed(0), labs())
	states := statesOf(overWeek, rows)
	var memory Memory
	of := remembering{"openai", AllModels, overWeek, "1.0.0"}
	computed := 0
	for _, weeks := range []int{30, 30, 12, 1, 29} {
		n := slices.IndexFunc(rows, func(r row) bool { return r.Day >= int64(weeks)*overWeek })
		if n < 0 {
			n = len(rows)
		}
		logs := memory.logs(of, rows[:n], func() []ln.Log {
			computed++
			return indexLogs(states[:weeks], by(index.GEKS))
		})
		if !slices.Equal(logs, indexLogs(states[:weeks], by(index.GEKS))) {
			t.Errorf("the first %d weeks have other indices", weeks)
		}
	}
	if computed != 1 {
		t.Errorf("indices were computed %d times", computed)
	}
}
