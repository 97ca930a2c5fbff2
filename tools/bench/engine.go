package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// engine is a run that measures the index engine by the program's commands.
type engine struct {
	options
	tools  tools
	dir    string   // of everything the run writes
	env    []string // of the program's commands, beside our own: where another database is than in a folder
	market *market
	hour   time.Time // the next one that nothing was executed in
}

// measureEngine measures import, publishing and verification.
func measureEngine(ctx context.Context, o options, tools tools, dir string) (finding, error) {
	if err := o.checkClock(time.Now()); err != nil {
		return nil, err
	}
	if err := o.checkDisk(dir); err != nil {
		return nil, err
	}
	e := &engine{options: o, tools: tools, dir: dir, market: newMarket(1), hour: marketEnd}
	r := engineReport{options: o, tools: tools, at: time.Now()}
	var err error
	if r.whole, err = e.measureWhole(ctx); err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "growing")
	if r.growth, err = e.measureGrowth(ctx, data); err != nil {
		return nil, err
	}
	r.reading, err = e.measureReading(ctx, data)
	return r, err
}

// hoursASecond is how many hours are made ready for each second of reading. A process that publishes one takes longer
// than a fiftieth of a second even on an idle machine.
const hoursASecond = 48

func (o options) readingHours() int { return int(o.duration.Seconds()) * hoursASecond }

// checkClock makes sure that the hours to be published have ended: nothing is imported or published ahead of its time.
// The hour before the current one is used as well, see measureReading.
func (o options) checkClock(now time.Time) error {
	if err := checkHours(now, o.rounds*len(o.sizes)+o.readingHours()); err != nil {
		return fmt.Errorf("%w; with a smaller -rounds or -duration they are fewer", err)
	}
	return nil
}

func checkHours(now time.Time, hours int) error {
	end := marketEnd.Add(time.Duration(hours+2) * time.Hour)
	if now.Before(end) {
		return fmt.Errorf("the clock says %s, and the run publishes hours until %s",
			now.UTC().Format(time.RFC3339), end.Format(time.RFC3339))
	}
	return nil
}

// Bytes a row takes at most while it is measured, by measurement and rounded up. Whole: the file, Assay's database, and
// the peer's with its log. Growing: Assay's database alone, since the files are small pieces.
const (
	wholeRowBytes   = 650
	growingRowBytes = 140
	otherBytes      = 500e6 // published values, pieces, logs
)

func (o options) diskNeed() int64 {
	return max(int64(o.wholeRows())*wholeRowBytes, int64(o.sizes[len(o.sizes)-1])*growingRowBytes) + otherBytes
}

func (o options) checkDisk(dir string) error { return checkSpace(dir, o.diskNeed()) }

func checkSpace(dir string, need int64) error {
	free, err := freeSpace(dir)
	if err != nil {
		return fmt.Errorf("look for free space in %s: %w", dir, err)
	}
	if free < need {
		return fmt.Errorf("%s has %s of free space, and the run needs %s; TMPDIR names another folder, -rows fewer rows",
			filepath.Dir(dir), megabytes(free), megabytes(need))
	}
	return nil
}

// wholeRows is how many rows are imported and verified in one piece.
func (o options) wholeRows() int { return o.sizes[len(o.sizes)/2] }

// timing is a piece of work: how many of something, and in what time by the clock.
type timing struct {
	count int
	took  time.Duration
	said  int // a second, as the program says; 0 when it says nothing
}

func (t timing) rate() float64 { return float64(t.count) / max(t.took.Seconds(), 1e-6) }

// whole is what became of one file.
type whole struct {
	rows                    int
	load, again, sqliteLoad timing // rows
	publish                 timing // values
	verify, sqliteRead      timing // transactions
}

// measureWhole makes a file and takes it through all the commands.
func (e *engine) measureWhole(ctx context.Context) (w whole, err error) {
	file, data := filepath.Join(e.dir, "whole.csv"), filepath.Join(e.dir, "whole")
	defer os.RemoveAll(data) // the next part needs the space
	defer os.Remove(file)
	w.rows = e.wholeRows()
	say("%s rows: writing the file", thousands(float64(w.rows)))
	if err := e.market.writeFile(ctx, file, stretch{marketBegin, marketEnd, w.rows}, 0, w.rows); err != nil {
		return w, err
	}
	if err := e.initKeys(ctx, data); err != nil {
		return w, err
	}
	for _, step := range e.wholeSteps(ctx, &w, file, data) {
		t, err := step.run()
		if err != nil {
			return w, fmt.Errorf("%s: %w", step.name, err)
		}
		say("%s: %s in %.1f s, %s a second", step.name, thousands(float64(t.count)), t.took.Seconds(), thousands(t.rate()))
		*step.into = t
	}
	return w, nil
}

type wholeStep struct {
	name string
	into *timing
	run  func() (timing, error)
}

// wholeSteps imports a file, imports it again, publishes all of it and verifies it, each with its peer right behind.
func (e *engine) wholeSteps(ctx context.Context, w *whole, file, data string) []wholeStep {
	return []wholeStep{
		{"import", &w.load, func() (timing, error) { return e.load(ctx, data, file, imported{added: w.rows}) }},
		{"import into sqlite3", &w.sqliteLoad, func() (timing, error) { return e.sqliteLoad(ctx, file, w.rows) }},
		{"import again", &w.again, func() (timing, error) { return e.load(ctx, data, file, imported{known: w.rows}) }},
		{"publish", &w.publish, func() (timing, error) { return e.publish(ctx, data, time.Time{}, marketEnd) }},
		{"verify", &w.verify, func() (timing, error) { return e.verify(ctx, data, w.rows) }},
		{"read by sqlite3", &w.sqliteRead, func() (timing, error) { return e.sqliteRead(ctx, data, w.rows) }},
	}
}

// assay runs a command of the program.
func (e *engine) assay(ctx context.Context, args ...string) (out string, took time.Duration, err error) {
	return command{program: e.options.assay, args: args, env: e.env}.run(ctx)
}

// initKeys makes the key that manifests are signed with, because that is how it is run in earnest.
func (e *engine) initKeys(ctx context.Context, data string) error {
	_, _, err := e.assay(ctx, "signing-key", "init", "--dir", data)
	return err
}

// load imports a file. The counts must be the wanted ones: a row that is rejected is fast and worth nothing.
func (e *engine) load(ctx context.Context, data, file string, want imported) (timing, error) {
	out, took, err := e.assay(ctx, "import", "transactions", "--dir", data, file)
	if err != nil {
		return timing{}, err
	}
	got, err := parseImported(out)
	if err != nil {
		return timing{}, err
	}
	if want.rate = got.rate; got != want {
		return timing{}, fmt.Errorf("imported %+v, want %+v", got, want)
	}
	return timing{count: got.added + got.known, took: took, said: got.rate}, nil
}

// publish publishes what lies between two instants; a zero one leaves the choice to the program.
func (e *engine) publish(ctx context.Context, data string, from, to time.Time) (timing, error) {
	args := []string{"publish", "--dir", data, "--to", to.Format(time.RFC3339)}
	if !from.IsZero() {
		args = append(args, "--from", from.Format(time.RFC3339))
	}
	out, took, err := e.assay(ctx, args...)
	if err != nil {
		return timing{}, err
	}
	got, err := parsePublished(out)
	return timing{count: got.values, took: took}, err
}

func (e *engine) verify(ctx context.Context, data string, rows int) (timing, error) {
	out, took, err := e.assay(ctx, "verify", "--dir", data)
	if err != nil {
		return timing{}, err
	}
	got, err := parseVerified(out)
	if err != nil {
		return timing{}, err
	}
	if got.transactions != rows || got.values == 0 {
		return timing{}, fmt.Errorf("verified %+v, want %d transactions", got, rows)
	}
	return timing{count: rows, took: took, said: got.rate}, nil
}
