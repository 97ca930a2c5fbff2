package tokens

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/index/indextest"
)

// TestScripts runs testdata/*.txt; the files say how they are written.
func TestScripts(t *testing.T) {
	t.Parallel()
	indextest.Run(t, func(*testing.T) indextest.Runner { return &script{schedule: plain()} })
}

// script is what has been loaded so far, and the rules that hold.
type script struct {
	schedule index.Schedule
	loaded   []assay.Observed[assay.ModelDay]
}

func (s *script) Run(verb string, args []string) (checked bool, err error) {
	switch {
	case verb == "clear" && len(args) == 0:
		s.loaded = nil
		return false, nil
	case verb == "methodology" && len(args) > 0:
		m := index.Plain()
		s.schedule = index.Schedule{m}
		return false, adopt(&s.schedule[0], args)
	case verb == "next" && len(args) > 1:
		m := index.Plain()
		m.Version = "next"
		if m.Effective, _, err = assay.ParseInstant(args[0]); err != nil {
			return false, err
		}
		s.schedule = append(s.schedule, m)
		return false, adopt(&s.schedule[len(s.schedule)-1], args[1:])
	case verb == "load" && len(args) >= 8:
		return false, s.load(args)
	case verb == "split" && len(args) == 3:
		return false, s.split(args)
	case verb == "price" && len(args) == 3:
		return true, s.price(args)
	case verb == "parts" && len(args) == 3:
		return true, s.parts(args)
	case verb == "cost" && len(args) == 4:
		return true, s.cost(args, Costs(s.loaded, labs(), s.schedule))
	case verb == "daily" && len(args) == 4:
		return true, s.cost(args, DailyCosts(s.loaded, labs(), s.schedule))
	case verb == "unlinked" && len(args) == 4:
		return true, s.unlinked(args)
	}
	return false, indextest.ErrUnknown(verb, args)
}

func adopt(m *index.Methodology, rules []string) error {
	for _, rule := range rules {
		var name string
		var number int
		if rule == "plain" {
			continue
		}
		if n, _ := fmt.Sscanf(rule, "mix %d %d %d", &m.TokenMix.Input, &m.TokenMix.Cached, &m.TokenMix.Output); n == 3 {
			mix := &m.TokenMix
			mix.Input, mix.Cached, mix.Output = 100*mix.Input, 100*mix.Cached, 100*mix.Output
			continue
		}
		if link, ok := strings.CutPrefix(rule, "link "); ok {
			l := index.ModelLink{Lab: "openai", Reason: "a scenario"}
			var quality float64
			if _, err := fmt.Sscanf(link, "%s to %s quality %g", &l.From, &l.To, &quality); err != nil {
				return fmt.Errorf("%q: %w", rule, err)
			}
			l.Quality = int(quality * index.QualityUnit)
			m.ModelLinks = append(m.ModelLinks, l)
			continue
		}
		if method, base, ok := strings.Cut(rule, " base "); ok {
			at, _, err := assay.ParseInstant(base)
			if err != nil {
				return err
			}
			if m.LikeForLike = (index.LikeForLike{Method: method, Base: at}); method == index.GEKS {
				m.LikeForLike.WindowDays = 365
			}
			continue
		}
		if _, err := fmt.Sscanf(rule, "%s %d", &name, &number); err != nil {
			return fmt.Errorf("%q: %w", rule, err)
		}
		switch name {
		case "minimum_models":
			m.OTPIModels = number
		case "minimum_requests":
			m.OTPIRequests = number
		default:
			return fmt.Errorf("%q is no rule: there are minimum_models, minimum_requests, mix, and a method with its base", rule)
		}
	}
	return nil
}

func (s *script) load(args []string) error {
	m := assay.ModelDay{Lab: args[1], Model: args[2], Family: args[3]}
	var dollars int64
	var errs [5]error
	m.Day, _, errs[0] = assay.ParseInstant(args[0])
	m.Requests, errs[1] = assay.ParseDecimal(args[4], 0)
	m.InputTokens, errs[2] = assay.ParseDecimal(args[5], 0)
	m.OutputTokens, errs[3] = assay.ParseDecimal(args[6], 0)
	dollars, errs[4] = assay.ParseDecimal(args[7], 9)
	m.Dollars, m.Free = assay.Nanos(dollars), len(args) == 9 && args[8] == "free"
	if len(args) > 8 && !m.Free {
		return indextest.ErrUnknown("load", args)
	}
	s.loaded = append(s.loaded, assay.Observed[assay.ModelDay]{Value: m, Key: m.Key()})
	return cmp.Or(errs[:]...)
}

// split says what the dollars of the last load were for.
func (s *script) split(args []string) error {
	m := &s.loaded[len(s.loaded)-1].Value
	input, err := assay.ParseDecimal(args[0], 9)
	if err != nil {
		return err
	}
	if m.CachedTokens, err = assay.ParseDecimal(args[1], 0); err != nil {
		return err
	}
	cached, err := assay.ParseDecimal(args[2], 9)
	m.Split, m.InputDollars, m.CachedDollars = true, assay.Nanos(input), assay.Nanos(cached)
	m.OutputDollars = m.Dollars - m.InputDollars - m.CachedDollars
	return cmp.Or(err, checkSplit(m))
}

func (s *script) parts(args []string) error {
	got := "none"
	for _, p := range Prices(s.loaded, labs(), s.schedule) {
		if dayText(p.Day) != args[0] || p.Lab != args[1] || p.Split == 0 {
			continue
		}
		var parts []string
		for _, part := range []Optional{p.Input, p.Cached, p.Output, p.Mix} {
			if text := part.Value.String(); part.OK {
				parts = append(parts, text)
			} else {
				parts = append(parts, "-")
			}
		}
		got = strings.Join(append(parts, p.Split.String()), ", ")
	}
	if want := strings.TrimPrefix(args[2], "= "); got != want {
		return fmt.Errorf("it is %s", got)
	}
	return nil
}

func labs() []assay.Lab { return assay.DefaultCatalog().Labs }

func (s *script) price(args []string) error {
	got := "none"
	for _, p := range Prices(s.loaded, labs(), s.schedule) {
		if dayText(p.Day) == args[0] && p.Lab == args[1] {
			got = p.Value.String()
		}
	}
	if want := strings.TrimPrefix(args[2], "= "); got != want {
		return fmt.Errorf("it is %s", got)
	}
	return nil
}

func (s *script) cost(args []string, costs []Cost) error {
	got := "none"
	for _, c := range costs {
		if dayText(c.Day) != args[0] || c.Lab != args[1] || c.Family != args[2] {
			continue
		}
		var numbers []string
		for _, n := range []fmt.Stringer{c.Cents, c.Ktok, text(c.Index), c.Price, c.Intensity, c.Mix} {
			numbers = append(numbers, n.String())
		}
		got = strings.Join(numbers, ", ")
	}
	if want := strings.TrimPrefix(args[3], "= "); got != want {
		return fmt.Errorf("it is %s", got)
	}
	return nil
}

// unlinked checks the share of the cost that cannot be compared.
func (s *script) unlinked(args []string) error {
	got := "none"
	for _, c := range Costs(s.loaded, labs(), s.schedule) {
		if dayText(c.Day) == args[0] && c.Lab == args[1] && c.Family == args[2] && c.Unlinked.OK {
			got = c.Unlinked.Value.String()
		}
	}
	if want := strings.TrimPrefix(args[3], "= "); got != want {
		return fmt.Errorf("it is %s", got)
	}
	return nil
}

type text string

func (t text) String() string { return string(t) }

func dayText(ms int64) string { return assay.FormatInstant(ms)[:len(assay.DayLayout)] }

// Rows of labs that are not in the registry are passed over; the others come in its order, and the families by name.
func TestOrder(t *testing.T) {
	t.Parallel()
	s := &script{}
	for _, lab := range []string{"openai", "nobody", "anthropic"} {
		for _, family := range []string{"opus", "haiku"} {
			if err := s.load([]string{"2026-01-02", lab, family + "-1", family, "1", "1", "1", "1"}); err != nil {
				t.Fatal(err)
			}
			if err := s.load([]string{"2026-01-01", lab, family + "-1", family, "1", "1", "1", "1"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []string
	for _, c := range Costs(s.loaded, labs(), plain()) {
		got = append(got, dayText(c.Day)[9:]+" "+c.Lab+" "+c.Family)
	}
	for _, p := range Prices(s.loaded, labs(), plain()) {
		got = append(got, dayText(p.Day)[9:]+" "+p.Lab)
	}
	want := []string{
		"1 anthropic all", "1 anthropic haiku", "1 anthropic opus", "1 openai all", "1 openai haiku", "1 openai opus",
		"2 anthropic all", "2 anthropic haiku", "2 anthropic opus", "2 openai all", "2 openai haiku", "2 openai opus",
		"1 anthropic", "1 openai", "2 anthropic", "2 openai",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the order is\n%q, want\n%q", got, want)
	}
}
