package index

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index/indextest"
)

// TestScripts runs testdata/*.txt; weighted-average.txt explains the commands.
func TestScripts(t *testing.T) {
	t.Parallel()
	indextest.Run(t, func(*testing.T) indextest.Runner { return &script{methodology: Plain()} })
}

// script holds the rentals loaded so far, and the current rules.
type script struct {
	methodology Methodology
	loaded      []assay.Transaction
}

func (s *script) Run(verb string, args []string) (checked bool, err error) {
	switch {
	case verb == "clear" && len(args) == 0:
		s.loaded = nil
		return false, nil
	case verb == "methodology" && len(args) > 0:
		return false, s.adopt(args)
	case verb == "load" && len(args) == 8:
		t, err := indextest.Transaction(args)
		t.ID = fmt.Sprint(len(s.loaded))
		s.loaded = append(s.loaded, t)
		return false, err
	case verb == "eval" && len(args) == 5:
		return true, s.eval(args)
	case verb == "record" && len(args) == 5:
		return true, s.record(args)
	case verb == "window" && len(args) == 3:
		return true, s.window(args)
	}
	return false, indextest.ErrUnknown(verb, args)
}

func (s *script) adopt(rules []string) error {
	if rules[0] == "plain" {
		rules = rules[1:]
	}
	text, err := indextest.Methodology("test", rules)
	if err != nil {
		return err
	}
	s.methodology, err = ParseMethodology(text)
	return err
}

// eval computes the value twice, from the window's rentals and from a stream of all of them.
func (s *script) eval(args []string) error {
	slot, err := indextest.ParseSlot(args[:4])
	if err != nil {
		return err
	}
	want := strings.TrimPrefix(args[4], "= ")
	if d, ok := s.fromWindow(slot); valueText(d, ok) != want {
		return fmt.Errorf("the window's rentals give %s", valueText(d, ok))
	}
	if d, ok := s.fromStream(slot); valueText(d, ok) != want {
		return fmt.Errorf("the stream gives %s", valueText(d, ok))
	}
	return nil
}

func valueText(d assay.Determination, ok bool) string {
	if !ok {
		return "none"
	}
	return d.Value.String()
}

func (s *script) record(args []string) error {
	slot, err := indextest.ParseSlot(args[:4])
	if err != nil {
		return err
	}
	d, _ := s.fromWindow(slot)
	return indextest.CheckFacts(&d, args[4])
}

func (s *script) fromWindow(slot indextest.Slot) (assay.Determination, bool) {
	if s.methodology.LastSlot(slot.Grain, slot.At) != slot.At {
		return assay.Determination{}, false
	}
	start := s.methodology.WindowStart(slot.Grain, slot.At)
	var inside []assay.Transaction
	for _, t := range s.loaded {
		inLine := t.GPU == slot.GPU && (slot.Region == assay.Global || t.Region == slot.Region)
		if inLine && t.ExecutedAt >= start && t.ExecutedAt < slot.At {
			inside = append(inside, t)
		}
	}
	return compute(inside, s.methodology)
}

func (s *script) fromStream(slot indextest.Slot) (found assay.Determination, ok bool) {
	var calculator Calculator
	Order(s.loaded, nil)
	calculator.Load(s.loaded)
	err := NewWindows(Schedule{s.methodology}, slot.Grain).Each(s.loaded, func(w Window) error {
		if w.Line == slot.Line && w.At == slot.At {
			found, ok = calculator.Compute(w.Rows, s.methodology)
		}
		return nil
	})
	return found, ok && err == nil
}

func (s *script) window(args []string) error {
	grain, err := assay.ParseGrain(args[0])
	if err != nil {
		return err
	}
	at, _, err := assay.ParseInstant(args[1])
	if err != nil {
		return err
	}
	want, err := time.ParseDuration(strings.TrimPrefix(args[2], "= "))
	if err != nil {
		return err
	}
	if s.methodology.LastSlot(grain, at) != at {
		return fmt.Errorf("no %s window ends there", grain)
	}
	got := time.Duration(at-s.methodology.WindowStart(grain, at)) * time.Millisecond
	if got != want {
		return fmt.Errorf("it is %s long", got)
	}
	return nil
}
