package utilization

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/index/indextest"
)

// TestScripts runs testdata/*.txt, which say how they are written.
func TestScripts(t *testing.T) {
	t.Parallel()
	indextest.Run(t, func(*testing.T) indextest.Runner { return &script{} })
}

const gpu = "H100 SXM"

// script is what has been read so far.
type script struct {
	schedule index.Schedule
	settler  *Settler
	lines    Lines
	known    map[string]int // revisions by key
}

func (s *script) Run(verb string, args []string) (checked bool, err error) {
	switch {
	case verb == "clear" && len(args) == 0:
		*s = script{}
		return false, nil
	case verb == "methodology" && len(args) == 1:
		return false, s.methodology(args[0])
	case verb == "read" && len(args) == 4:
		return false, s.read(args)
	case verb == "restate" && len(args) == 1:
		return false, s.restate(args[0])
	case verb == "day" && len(args) == 3:
		return true, s.period(args, assay.Day)
	case verb == "hour" && len(args) == 3:
		return true, s.period(args, assay.Hour)
	case verb == "final" && len(args) == 1:
		return true, s.final(args[0])
	case verb == "late" && len(args) == 1:
		return true, same(strconv.Itoa(len(s.settler.Late())), args[0])
	}
	return false, indextest.ErrUnknown(verb, args)
}

// same compares what is with what is expected, after an equals sign.
func same(got, want string) error {
	if want = strings.TrimPrefix(want, "= "); got != want {
		return fmt.Errorf("it is %s", got)
	}
	return nil
}

func (s *script) methodology(text string) error {
	var age, after string
	if _, err := fmt.Sscanf(text, "max_age %s settlement %s", &age, &after); err != nil {
		return err
	}
	m := index.Plain()
	var errs [2]error
	m.UtilizationMaxAge, errs[0] = time.ParseDuration(age)
	m.SettleAfter, errs[1] = time.ParseDuration(after)
	s.schedule, s.known = index.Schedule{m}, map[string]int{}
	settlement := family.Settlement{}
	if s.schedule.Settles() {
		settlement.After = s.schedule.SettleAfter
	}
	s.settler = NewSettler(settlement)
	return errorOf(errs[:]...)
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *script) read(args []string) error {
	numbers, received, _ := strings.Cut(args[3], " received ")
	r := assay.UtilizationReading{Source: args[1], Region: strings.TrimPrefix(args[2], "-"), GPU: gpu}
	var errs [3]error
	r.At, _, errs[0] = assay.ParseInstant(args[0])
	_, errs[1] = fmt.Sscanf(numbers, "%d of %d", &r.Rented, &r.Tracked)
	r.Received = r.At + assay.Minute
	if received != "" {
		r.Received, _, errs[2] = assay.ParseInstant(received)
	}
	r.Revision = s.known[r.Key()]
	s.known[r.Key()]++
	s.lines = s.lines.With(s.settler.Settle([]assay.UtilizationReading{r}))
	return errorOf(errs[:]...)
}

func (s *script) restate(text string) error {
	var from, to, at string
	if _, err := fmt.Sscanf(text, "%s to %s at %s", &from, &to, &at); err != nil {
		return err
	}
	r := assay.Restatement{Family: assay.FamilyUtilization}
	var errs [3]error
	r.From, _, errs[0] = assay.ParseInstant(from)
	r.To, _, errs[1] = assay.ParseInstant(to)
	r.At, _, errs[2] = assay.ParseInstant(at)
	r.To += assay.Day
	s.lines = s.lines.With(s.settler.Restate([]assay.Restatement{r}))
	return errorOf(errs[:]...)
}

func (s *script) period(args []string, step int64) error {
	at, _, err := assay.ParseInstant(args[0])
	if err != nil {
		return err
	}
	line := assay.Line{GPU: gpu, Region: args[1]}
	got := "none"
	capacities := s.lines.Capacities(line, at, at+step-1, math.MaxInt64, CarryBy(s.schedule))
	for _, p := range Periods(capacities, step) {
		got = p.Ratio.String()
	}
	return same(got, args[2])
}

func (s *script) final(text string) error {
	moment, want, _ := strings.Cut(strings.TrimPrefix(text, "at "), " ")
	at, _, err := assay.ParseInstant(moment)
	if err != nil {
		return err
	}
	got := "none"
	if final, _ := s.settler.Settled(at); len(final) > 0 {
		got = assay.FormatDay(final[gpu])
	}
	return same(got, want)
}
