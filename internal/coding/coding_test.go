package coding

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index/indextest"
)

// TestScripts runs testdata/*.txt; merge-rate.txt says how they are written.
func TestScripts(t *testing.T) {
	t.Parallel()
	indextest.Run(t, func(*testing.T) indextest.Runner { return &script{} })
}

// script is what has been loaded so far.
type script struct {
	loaded []assay.Observed[assay.CodingDay]
}

func (s *script) Run(verb string, args []string) (checked bool, err error) {
	switch {
	case verb == "clear" && len(args) == 0:
		s.loaded = nil
		return false, nil
	case verb == "load" && len(args) == 5:
		return false, s.load(args)
	case verb == "eval" && len(args) == 3:
		return true, s.eval(args)
	}
	return false, indextest.ErrUnknown(verb, args)
}

func (s *script) load(args []string) error {
	d := assay.CodingDay{Tool: args[1]}
	var errs [4]error
	d.Day, _, errs[0] = assay.ParseInstant(args[0])
	d.PRs, errs[1] = assay.ParseDecimal(args[2], 0)
	d.Merged, errs[2] = assay.ParseDecimal(args[3], 0)
	d.Commits, errs[3] = assay.ParseDecimal(args[4], 0)
	s.loaded = append(s.loaded, observed(d))
	return cmp.Or(errs[:]...)
}

func observed(d assay.CodingDay) assay.Observed[assay.CodingDay] {
	return assay.Observed[assay.CodingDay]{Value: d, Key: d.Key(), Received: d.Day + assay.Day}
}

func (s *script) eval(args []string) error {
	day, _, err := assay.ParseInstant(args[1])
	if err != nil {
		return err
	}
	products := assay.DefaultCatalog().CodingProducts
	number := slices.IndexFunc(products, func(p assay.CodingProduct) bool { return p.ID == args[0] })
	if number < 0 {
		return fmt.Errorf("there is no product %s", args[0])
	}
	got, series := "none", Build(s.loaded, products)[args[0]]
	if i, j := series.Range(day, day); i < j {
		got = series.text(i, products[number].Compare)
	}
	if want := strings.TrimPrefix(args[2], "= "); got != want {
		return fmt.Errorf("the value is %s", got)
	}
	return nil
}

func (s Series) text(i int, compare bool) string {
	if compare {
		return fmt.Sprintf("%s and %s", s[i].Value, s[i].Second)
	}
	if change, ok := s.ChangePct(i); ok {
		return fmt.Sprintf("%s, change %s", s[i].Value, change)
	}
	return fmt.Sprintf("%s, no change", s[i].Value)
}

// TestBuild_AnyOrder: days come as they come, and the values are the same.
func TestBuild_AnyOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	var days []assay.Observed[assay.CodingDay]
	for day := range int64(60) {
		for _, tool := range []string{"cc", "codex", "devin"} {
			if prs := rng.Int64N(5); rng.IntN(4) > 0 {
				days = append(days, observed(assay.CodingDay{
					Day: day * assay.Day, Tool: tool, PRs: prs,
					Merged: rng.Int64N(prs + 1), Commits: rng.Int64N(9),
				}))
			}
		}
	}
	products := assay.DefaultCatalog().CodingProducts
	want := Build(days, products)
	for range 20 {
		rng.Shuffle(len(days), func(i, j int) { days[i], days[j] = days[j], days[i] })
		got := Build(days, products)
		for _, p := range products {
			if !slices.Equal(got[p.ID], want[p.ID]) {
				t.Fatalf("%s depends on the order of the days", p.ID)
			}
		}
	}
	a, b, both := want["cc-merge"], want["codex-merge"], want["cc-vs-codex-merge"]
	for _, v := range both {
		i, _ := a.Range(v.Day, v.Day)
		j, _ := b.Range(v.Day, v.Day)
		if a[i].Day != v.Day || a[i].Value != v.Value || b[j].Day != v.Day || b[j].Value != v.Second {
			t.Errorf("%s compares %v, of %v and %v", assay.FormatInstant(v.Day), v, a[i], b[j])
		}
	}
	if len(both) == 0 || len(both) >= min(len(a), len(b)) {
		t.Errorf("%d days are compared, of %d and %d: nothing was tested", len(both), len(a), len(b))
	}
}

func TestSeries_ExtremeChange(t *testing.T) {
	t.Parallel()
	const most = 50_000_000 // the bound of the import
	days := []assay.Observed[assay.CodingDay]{
		observed(assay.CodingDay{Day: 0, Tool: "cc", PRs: 1}), observed(assay.CodingDay{Day: assay.Day, Tool: "cc", PRs: most, Merged: 1}),
	}
	all := Build(days, assay.DefaultCatalog().CodingProducts)
	if change, ok := all["cc-prs"].ChangePct(1); !ok || change.String() != "4999999900" {
		t.Errorf("the change is %s", change)
	}
	if got := all["cc-merge"][1].Value.String(); got != "0" {
		t.Errorf("1 of %d merged is %s %%", most, got)
	}
}
