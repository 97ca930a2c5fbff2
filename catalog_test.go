package assay

import (
	"slices"
	"strings"
	"testing"
)

func TestDefaultCatalog_GPUs(t *testing.T) {
	t.Parallel()
	c := DefaultCatalog()
	var names, free []string
	for _, g := range c.GPUs {
		names = append(names, g.Name)
		if g.Free {
			free = append(free, g.Name)
		}
	}
	// The order is that of the message about an unknown GPU, which client programs print.
	if got, want := strings.Join(names, ", "), "H100 SXM, H200, A100 SXM4, RTX 5090, B200, RTX PRO 6000 WS"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	slices.Sort(free)
	if want := []string{"A100 SXM4", "B200", "H100 SXM", "H200", "RTX 5090"}; !slices.Equal(free, want) {
		t.Errorf("free are %q, want %q", free, want)
	}
}

func TestDefaultCatalog_Labs(t *testing.T) {
	t.Parallel()
	c := DefaultCatalog()
	if len(c.Labs) != 11 {
		t.Errorf("%d labs, want 11", len(c.Labs))
	}
	for i, lab := range c.Labs {
		if first := i < 4; lab.Free != first || lab.Lab == "" || lab.Label == "" {
			t.Errorf("lab %d is %+v: the first four, and only they, are free", i, lab)
		}
	}
}

func TestDefaultCatalog_MemoryTypes(t *testing.T) {
	t.Parallel()
	c := DefaultCatalog()
	count := map[string]int{}
	seen := map[string]bool{}
	for _, m := range c.MemoryTypes {
		count[m.Category]++
		if !strings.HasPrefix(m.ID, "mem_") || m.MemoryType == "" || seen[m.ID] || seen[m.MemoryType] {
			t.Errorf("%+v: the id lacks mem_, or a name is missing or stands twice", m)
		}
		seen[m.ID], seen[m.MemoryType] = true, true
	}
	if len(c.MemoryTypes) != 14 || count["dram"] != 7 || count["flash"] != 4 || count["module"] != 3 {
		t.Errorf("%d memory types, by category %v", len(c.MemoryTypes), count)
	}
}

func TestDefaultCatalog_CodingProducts(t *testing.T) {
	t.Parallel()
	c := DefaultCatalog()
	count := map[string]int{}
	kinds := map[string]string{"prs": "count", "commits": "count", "merge": "pct"}
	for _, p := range c.CodingProducts {
		if p.Kind != kinds[p.Category] {
			t.Errorf("%s: category %q and kind %q", p.ID, p.Category, p.Kind)
		}
		if p.Compare && len(p.SeriesLabels) != 2 || !p.Compare && p.SeriesLabels != nil {
			t.Errorf("%s: compare is %v and the labels are %q", p.ID, p.Compare, p.SeriesLabels)
		}
		if p.Compare {
			count["compare"]++
		} else {
			count[p.Category]++
		}
	}
	if len(c.CodingProducts) != 13 || count["prs"] != 5 || count["commits"] != 1 || count["merge"] != 5 || count["compare"] != 2 {
		t.Errorf("%d products, by category %v", len(c.CodingProducts), count)
	}
}

func TestCatalog_Find(t *testing.T) {
	t.Parallel()
	c := DefaultCatalog()
	f := func(name string, want GPU, found bool) {
		t.Helper()
		if got, ok := c.GPU(name); got != want || ok != found {
			t.Errorf("%q: got %+v, %v", name, got, ok)
		}
	}
	f("H100 SXM", GPU{"H100 SXM", true}, true)
	f("RTX PRO 6000 WS", GPU{"RTX PRO 6000 WS", false}, true)
	f("h100 sxm", GPU{}, false)
	f("", GPU{}, false)

	region := func(name string, want bool) {
		t.Helper()
		if got := c.HasRegion(name); got != want {
			t.Errorf("region %q: got %v", name, got)
		}
	}
	region(Global, true)
	region("us-east", true)
	region("US-EAST", false)
	region("", false)
}

func TestWords_RoundTrip(t *testing.T) {
	t.Parallel()
	for _, tier := range []Tier{Premium, Full} {
		if got, err := ParseTier(tier.String()); err != nil || got != tier {
			t.Errorf("tier %s: got %s (%v)", tier, got, err)
		}
	}
	for _, word := range []string{Anonymous.String(), "", "Full", "trial"} {
		if got, err := ParseTier(word); err == nil {
			t.Errorf("tier %q was read as %s", word, got)
		}
	}
	for _, grain := range Grains {
		if got, err := ParseGrain(grain.String()); err != nil || got != grain {
			t.Errorf("grain %s: got %s (%v)", grain, got, err)
		}
	}
	for _, word := range []string{"", "Daily", "auto", "weekly"} {
		if got, err := ParseGrain(word); err == nil {
			t.Errorf("grain %q was read as %s", word, got)
		}
	}
}
