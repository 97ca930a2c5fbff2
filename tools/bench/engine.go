package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// engine measures the index engine through the program's commands.
type engine struct {
	options
	tools  tools
	dir    string   // for everything the run writes
	env    []string // added to the environment of the program's commands; names a database outside the folder
	market *market
	hour   time.Time // the next hour without transactions
}

// measureEngine measures import, publishing and verification.
func measureEngine(ctx context.Context, o options, tools tools, dir string) (measurement, error) {
	if err := o.checkClock(time.Now()); err != nil {
		return nil, err
	}
	if err := o.checkDisk(dir); err != nil {
		return nil, err
	}
	e := &engine{options: o, tools: tools, dir: dir, market: newMarket(1), hour: marketEnd}
	r := engineReport{options: o, tools: tools, at: time.Now()}
	var err error
	if r.file, err = e.measureFile(ctx); err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "growing")
	if r.growth, err = e.measureGrowth(ctx, data); err != nil {
		return nil, err
	}
	r.readLoad, err = e.measureReadLoad(ctx, data)
	return r, err
}

// hoursASecond is how many hours are prepared for each second of load. A process that publishes one takes longer than a
// fiftieth of a second even on an idle machine.
const hoursASecond = 48

func (o options) hoursToPublish() int { return int(o.duration.Seconds()) * hoursASecond }

// checkClock makes sure that the hours to publish have ended: the program imports and publishes nothing ahead of its
// time. The hour before the current one is used as well, see measureReadLoad.
func (o options) checkClock(now time.Time) error {
	if err := checkHours(now, o.rounds*len(o.sizes)+o.hoursToPublish()); err != nil {
		return fmt.Errorf("%w; use a smaller -rounds or -duration", err)
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

// The most bytes a row takes during a measurement, measured and rounded up. File: the file, Assay's database, and the
// peer's with its log. Growing: Assay's database alone, since the files are small pieces.
const (
	fileRowBytes    = 650
	growingRowBytes = 140
	otherBytes      = 500e6 // published values, pieces, logs
)

func (o options) diskNeed() int64 {
	growing := int64(o.sizes[len(o.sizes)-1]) * growingRowBytes
	if o.before != "" {
		growing *= 2
	}
	return max(int64(o.fileRows())*fileRowBytes, growing) + otherBytes
}

func (o options) checkDisk(dir string) error { return checkSpace(dir, o.diskNeed()) }

func checkSpace(dir string, need int64) error {
	free, err := freeSpace(dir)
	if err != nil {
		return fmt.Errorf("determine the free space in %s: %w", dir, err)
	}
	if free < need {
		return fmt.Errorf("%s has %s of free space, and the run needs %s; set TMPDIR to another folder or use fewer -rows",
			filepath.Dir(dir), megabytes(free), megabytes(need))
	}
	return nil
}

// fileRows is how many rows are imported and verified in one piece.
func (o options) fileRows() int { return o.sizes[len(o.sizes)/2] }

// timing is a piece of work: how many items, and the wall-clock time.
type timing struct {
	count    int
	took     time.Duration
	used     time.Duration // of the processors, where it is measured
	reported int           // a second, as the program reports; 0 when it reports nothing
}

func (t timing) String() string {
	return fmt.Sprintf("%s in %.1f s, %s a second", thousands(float64(t.count)), t.took.Seconds(), thousands(t.rate()))
}

func (t timing) rate() float64 { return float64(t.count) / max(t.took.Seconds(), 1e-6) }

// fileTimings are the times of the commands on one file.
type fileTimings struct {
	rows                                    int
	firstImport, secondImport, sqliteImport timing // rows
	publish                                 timing // values
	verify, sqliteRead                      timing // transactions
}

// measureFile makes a file and runs all commands on it.
func (e *engine) measureFile(ctx context.Context) (w fileTimings, err error) {
	file, data := filepath.Join(e.dir, "whole.csv"), filepath.Join(e.dir, "whole")
	defer os.RemoveAll(data) // the next part needs the space
	defer os.Remove(file)
	w.rows = e.fileRows()
	progress("%s rows: writing the file", thousands(float64(w.rows)))
	if err := e.market.writeFile(ctx, file, period{marketBegin, marketEnd, w.rows}, 0, w.rows); err != nil {
		return w, err
	}
	if err := e.init(ctx, data); err != nil {
		return w, err
	}
	for _, step := range e.fileSteps(ctx, &w, file, data) {
		t, err := step.run()
		if err != nil {
			return w, fmt.Errorf("%s: %w", step.name, err)
		}
		progress("%s: %s", step.name, t)
		*step.into = t
	}
	return w, nil
}

type step struct {
	name string
	into *timing
	run  func() (timing, error)
}

// fileSteps imports a file, imports it again, publishes and verifies all of it, each step directly followed by its
// peer.
func (e *engine) fileSteps(ctx context.Context, w *fileTimings, file, data string) []step {
	importing := func(want imported) func() (timing, error) {
		return func() (timing, error) { return e.importFile(ctx, data, file, want) }
	}
	return []step{
		{"import", &w.firstImport, importing(imported{added: w.rows})},
		{"import into sqlite3", &w.sqliteImport, func() (timing, error) { return e.sqliteImport(ctx, file, w.rows) }},
		{"import again", &w.secondImport, importing(imported{known: w.rows})},
		{"publish", &w.publish, func() (timing, error) { return e.publish(ctx, data, time.Time{}, marketEnd) }},
		{"verify", &w.verify, func() (timing, error) { return e.verify(ctx, data, w.rows) }},
		{"read by sqlite3", &w.sqliteRead, func() (timing, error) { return e.sqliteRead(ctx, data, w.rows) }},
	}
}

// assay runs a command of the program.
func (e *engine) assay(ctx context.Context, args ...string) (out string, took time.Duration, err error) {
	return command{program: e.options.assay, args: args, env: e.env}.run(ctx)
}

// init makes the database, and the signing key for manifests, because production runs with one.
func (e *engine) init(ctx context.Context, data string) error {
	_, _, err := e.assay(ctx, "init", "--dir", data)
	return err
}

// importFile imports a file. The counts must match: a rejected row is fast and worth nothing.
func (e *engine) importFile(ctx context.Context, data, file string, want imported) (timing, error) {
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
	return timing{count: got.added + got.known, took: took, reported: got.rate}, nil
}

// publish publishes the time between two instants; the program chooses a start that is zero.
func (e *engine) publish(ctx context.Context, data string, from, to time.Time) (timing, error) {
	args := []string{"publish", "--dir", data, "--to", to.Format(time.RFC3339)}
	if !from.IsZero() {
		args = append(args, "--from", from.Format(time.RFC3339))
	}
	t := timing{}
	out, took, err := command{program: e.options.assay, args: args, env: e.env, used: &t.used}.run(ctx)
	if err != nil {
		return t, err
	}
	got, err := parsePublished(out)
	t.count, t.took = got.values, took
	return t, err
}

// publishLastHour publishes the last empty hour, and confirms that nothing is missing: a server that starts then leaves
// the hours before it to commands.
func (e *engine) publishLastHour(ctx context.Context, data string) error {
	hour := lastDueHour(time.Now())
	_, _, err := e.assay(ctx, "publish", "--dir", data, "--confirm",
		"--from", hour.Format(time.RFC3339), "--to", hour.Add(time.Hour).Format(time.RFC3339))
	return err
}

// lastDueHour is the start of the last hour that is due at a time and when the command runs. An hour that
// has just ended is not: the methodology waits for late transactions, and nothing would be published.
func lastDueHour(now time.Time) time.Time {
	const longestDelay = 10 * time.Minute
	return now.UTC().Add(-longestDelay).Truncate(time.Hour).Add(-time.Hour)
}

// withoutHorizon is the flags of a server that publishes past the newest transaction, which is of a fixed market.
var withoutHorizon = []string{"--publish-horizon", "876000h"}

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
	return timing{count: rows, took: took, reported: got.rate}, nil
}
