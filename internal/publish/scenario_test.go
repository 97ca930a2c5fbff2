package publish_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/index/indextest"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// TestScenarios runs testdata/*.txt against real databases and a publisher; late.txt explains the commands.
func TestScenarios(t *testing.T) {
	t.Parallel()
	storetest.EachEngine(t, func(t *testing.T, address func(testing.TB) string) {
		indextest.Run(t, func(t *testing.T) indextest.Runner { return newScenario(t, address(t)) })
	})
}

// scenario is a database, a publisher, and a clock that the file sets.
type scenario struct {
	t         *testing.T
	db        *store.DB
	publisher *publish.Publisher
	now       int64
	batch     []assay.Transaction // consecutive load lines are one import
	loaded    store.Appended      // outcome of the last import
	versions  int                 // methodologies so far
}

func newScenario(t *testing.T, address string) *scenario {
	s := &scenario{t: t, db: storetest.OpenIn(t, address)}
	clock := func() time.Time { return time.UnixMilli(s.now) }
	s.db.Now = clock
	s.publisher = &publish.Publisher{Store: s.db, Now: clock, Log: slog.New(slog.DiscardHandler)}
	t.Cleanup(func() { checkChains(t, s.db) })
	return s
}

// commands are the commands by verb and number of columns; checks is true for those that compare anything.
var commands = map[string]struct {
	checks bool
	run    func(*scenario, []string) error
}{
	"now 1":      {run: (*scenario).setClock},
	"loaded 1":   {checks: true, run: (*scenario).wantLoaded},
	"publish 0":  {run: (*scenario).publish},
	"publish 1":  {checks: true, run: (*scenario).publish},
	"publish 2":  {run: (*scenario).publish},
	"publish 3":  {checks: true, run: (*scenario).publish},
	"withdraw 3": {run: (*scenario).withdraw},
	"verify 3":   {run: (*scenario).verify},
	"restate 4":  {run: (*scenario).restate},
	"restate 5":  {checks: true, run: (*scenario).restate},
	"eval 5":     {checks: true, run: (*scenario).eval},
	"eval 6":     {checks: true, run: (*scenario).eval},
	"record 5":   {checks: true, run: (*scenario).record},
	"add 2":      {run: (*scenario).add},
	"late 1":     {checks: true, run: (*scenario).late},
	"conflict 1": {checks: true, run: (*scenario).conflict},
}

func (s *scenario) Run(verb string, args []string) (checked bool, err error) {
	if verb == "load" && len(args) == 10 {
		t, err := indextest.Transaction(args[2:])
		t.Source, t.ID = args[0], args[1]
		s.batch = append(s.batch, t)
		return false, err
	}
	if err := s.flush(); err != nil {
		return false, err
	}
	if verb == "methodology" && len(args) > 0 {
		return false, s.adopt(args)
	}
	command, ok := commands[fmt.Sprint(verb, " ", len(args))]
	if !ok {
		return false, indextest.ErrUnknown(verb, args)
	}
	return command.checks, command.run(s, args)
}

// flush imports the pending load lines.
func (s *scenario) flush() (err error) {
	if len(s.batch) == 0 {
		return nil
	}
	s.loaded, err = s.db.AppendTransactions(s.t.Context(), s.batch)
	s.batch = nil
	return err
}

func (s *scenario) setClock(args []string) error {
	at, err := indextest.Instant(args[0], "")
	if err == nil && at < s.now {
		return errors.New("the clock cannot go back")
	}
	s.now = at
	return err
}

// add adds a GPU or a region to the catalog.
func (s *scenario) add(args []string) error {
	switch args[0] {
	case "gpu":
		return s.db.AddToCatalog(s.t.Context(), assay.Catalog{GPUs: []assay.GPU{{Name: args[1]}}})
	case "region":
		return s.db.AddToCatalog(s.t.Context(), assay.Catalog{Regions: []string{args[1]}})
	}
	return fmt.Errorf("there is no %q to add: use gpu or region", args[0])
}

// adopt adopts the rules as a version that governs all slots.
func (s *scenario) adopt(rules []string) error {
	s.versions++
	text, err := indextest.Methodology(fmt.Sprintf("1.%d.0", s.versions), rules)
	if err != nil {
		return err
	}
	m, err := index.ParseMethodology(text)
	if err != nil {
		return err
	}
	file := assay.MethodologyFile{Version: m.Version, Effective: m.Effective, Text: text}
	return s.db.AdoptMethodology(s.t.Context(), file, 0)
}

// want compares an outcome with the last column.
func want(args []string, got string) error {
	if last := args[len(args)-1]; "= "+got != last {
		return fmt.Errorf("got %s", got)
	}
	return nil
}

func (s *scenario) wantLoaded(args []string) error {
	a := s.loaded
	return want(args, fmt.Sprintf("%d new, %d duplicate, %d conflicting, %d late",
		a.Inserted, a.Duplicates, len(a.Conflicts), a.Late))
}

// publish backfills a period, or catches up to the clock.
func (s *scenario) publish(args []string) (err error) {
	if err := publish.AdoptPrompt(s.t.Context(), s.db); err != nil {
		return err
	}
	var records int
	if len(args) >= 2 {
		from, errFrom := indextest.Instant(args[0], "from ")
		to, errTo := indextest.Instant(args[1], "to ")
		if err := errors.Join(errFrom, errTo); err != nil {
			return err
		}
		records, err = s.publisher.Backfill(s.t.Context(), from, to, nil)
	} else {
		records, err = s.publisher.CatchUp(s.t.Context())
	}
	if err != nil || len(args)%2 == 0 {
		return err
	}
	return want(args, fmt.Sprintf("%d records", records))
}

func (s *scenario) withdraw(args []string) error { return s.addVerification(args, false) }
func (s *scenario) verify(args []string) error   { return s.addVerification(args, true) }

func (s *scenario) addVerification(args []string, verified bool) error {
	_, err := s.db.AddVerifications(s.t.Context(), assay.Verification{
		Source: args[0], ID: args[1], Verified: verified, Actor: "operator", Reason: args[2],
	})
	return err
}

func (s *scenario) restate(args []string) error {
	from, errFrom := indextest.Instant(args[1], "from ")
	to, errTo := indextest.Instant(args[2], "to ")
	if err := errors.Join(errFrom, errTo); err != nil {
		return err
	}
	done, err := s.publisher.Restate(s.t.Context(), publish.Restatement{
		GPU: args[0], From: from, To: to, Reason: args[3], Actor: "operator",
	})
	if err != nil || len(args) == 4 {
		return err
	}
	return want(args, fmt.Sprintf("%d revisions, %d moved", done.Slots, done.Moved))
}

// eval reads a value as the API does: the newest revision of the slot among the versions published by then.
func (s *scenario) eval(args []string) error {
	slot, err := indextest.ParseSlot(args[:4])
	if err != nil {
		return err
	}
	upTo := int64(math.MaxInt64)
	if len(args) == 6 {
		instant, err := indextest.Instant(args[4], "as of ")
		if err != nil {
			return err
		}
		upTo, err = s.versionAt(instant)
		if err != nil {
			return err
		}
	}
	revisions, err := s.db.Revisions(s.t.Context(), slot.Line, slot.Grain, slot.At, slot.At, 0, upTo)
	if err != nil {
		return err
	}
	if len(revisions) == 0 || revisions[len(revisions)-1].Gone {
		return want(args, "none")
	}
	return want(args, revisions[len(revisions)-1].Value.String())
}

// versionAt is the newest version at an instant.
func (s *scenario) versionAt(instant int64) (version int64, err error) {
	publications, err := s.db.Publications(s.t.Context(), 0, math.MaxInt64)
	for _, p := range publications {
		if p.PublishedAt <= instant {
			version = p.Version
		}
	}
	return version, err
}

// record checks facts of the newest record of a slot.
func (s *scenario) record(args []string) error {
	slot, err := indextest.ParseSlot(args[:4])
	if err != nil {
		return err
	}
	records, err := s.db.Determinations(s.t.Context(), slot.Line, slot.Grain, slot.At)
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return want(args, "none")
	}
	return indextest.CheckFacts(&records[len(records)-1], args[4])
}

func (s *scenario) late(args []string) error {
	n := 0
	if err := s.db.EachLate(s.t.Context(), func(*store.Late) error { n++; return nil }); err != nil {
		return err
	}
	return want(args, fmt.Sprint(n))
}

// conflict compares the rows in conflict, with their prices.
func (s *scenario) conflict(args []string) error {
	var prices []string
	err := s.db.EachConflict(s.t.Context(), func(t *assay.Transaction, _ int64) error {
		prices = append(prices, fmt.Sprintf("%s %s at %s", t.Source, t.ID, t.Price))
		return nil
	})
	if err != nil {
		return err
	}
	if len(prices) == 0 {
		return want(args, "none")
	}
	return want(args, strings.Join(prices, ", "))
}

// checkChains follows the chain of every series from its first record to its head.
func checkChains(t *testing.T, db *store.DB) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // it ends before the cleanups
	chains, err := db.Chains(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, chain := range chains {
		records, err := db.SeriesRecords(ctx, chain.SeriesKey, 0, math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		bySequence := make([]*store.Record, len(records)+1)
		for i := range records {
			bySequence[records[i].Sequence] = &records[i]
		}
		previous := assay.Hash{}
		for _, r := range bySequence[1:] {
			if r.Previous != previous || r.Hash != proof.Record(&r.Determination) {
				t.Errorf("%v: record %d does not follow the record before it", chain.SeriesKey, r.Sequence)
			}
			previous = r.Hash
		}
		if previous != chain.Head || int64(len(records)) != chain.Records {
			t.Errorf("%v: the chain does not end at its head", chain.SeriesKey)
		}
	}
}
