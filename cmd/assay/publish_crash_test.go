package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/demo"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/store"
)

// How often publishing is killed. Each round is one fixing.
const (
	crashRounds = 25
	crashKills  = 2 // in each round
)

var crashStart = time.Date(2025, 6, 1, 20, 0, 0, 0, time.UTC) // a fixing: 16:00 in New York

// TestCrash_PublishKilled kills a publisher fifty times while it publishes and signs day after day, each across a
// fixing. In the end there is one value per slot, the chains and signatures hold, and everything equals an undisturbed
// run.
func TestCrash_PublishKilled(t *testing.T) {
	t.Parallel()
	needProgram(t)
	dir := crashMarket(t)
	clean := t.TempDir()
	copyFolder(t, dir, clean)
	random := rand.New(rand.NewPCG(8, 2026)) // the same shares of a run's time in every run of the test
	took := publishUntil(t, clean, crashStart.AddDate(0, 0, 1), time.Hour)
	unfinished := 0
	for round := range crashRounds {
		to := crashStart.AddDate(0, 0, round+1)
		for range crashKills {
			limit := time.Duration(random.Float64() * float64(took))
			if d := publishUntil(t, dir, to, limit); d > 0 {
				took = d // the machine is less busy than it was
			} else {
				unfinished++
			}
			checkIntegrity(t, dir)
		}
		took = max(publishUntil(t, dir, to, time.Hour), took*9/10)
	}
	if kills := crashRounds * crashKills; unfinished < kills/2 {
		t.Errorf("%d of %d runs were killed before their end: the kills came too late to show anything", unfinished, kills)
	}
	t.Logf("%d of %d runs were killed before their end, after up to %v", unfinished, crashRounds*crashKills, took)
	publishUntil(t, clean, crashStart.AddDate(0, 0, crashRounds), time.Hour)
	wantSameRecords(t, dir, provenRecords(t, clean))
}

// crashMarket is a folder with a signing key and the transactions of all rounds.
func crashMarket(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	market := demo.NewMarket(1, assay.DefaultCatalog())
	rows := [][]string{plainColumns}
	var arrivals []demo.Arrival
	end := crashStart.AddDate(0, 0, crashRounds).UnixMilli()
	for hour := crashStart.UnixMilli(); hour < end; hour += assay.Hour {
		arrivals = market.AppendHour(arrivals[:0], hour)
		for i := range arrivals {
			r := &arrivals[i]
			rows = append(rows, []string{
				r.ID, r.Source, assay.FormatInstant(r.ExecutedAt), r.GPU, r.Region, r.Price.String(),
				strconv.FormatInt(r.GPUs, 10), assay.Nanos(r.HourMicros * 1000).String(), r.Provider,
				strconv.FormatBool(r.Verified),
			})
		}
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "init", "--dir", dir)
	mustRun(t, "import", "transactions", "--dir", dir, file)
	return dir
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("assay %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// publishUntil publishes up to an instant and kills the program after the limit. It returns how long it took, or 0 if
// it was killed.
func publishUntil(t *testing.T, dir string, to time.Time, limit time.Duration) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	start := time.Now()
	cmd := exec.CommandContext(ctx, program, "publish", "--dir", dir,
		"--from", crashStart.Format(time.RFC3339), "--to", to.Format(time.RFC3339))
	out, err := cmd.CombinedOutput() // the end of the context kills it
	if ctx.Err() != nil && err != nil {
		return 0
	}
	if err != nil {
		t.Fatalf("publish: %v\n%s", err, out)
	}
	return time.Since(start)
}

func checkIntegrity(t *testing.T, dir string) {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ledger, err := db.Ledger(t.Context())
	if err != nil {
		t.Errorf("after a kill: %v", err)
	}
	packed, err := db.AllRevisions(t.Context(), math.MaxInt64)
	if err != nil {
		t.Errorf("after a kill: %v", err)
	}
	for _, c := range ledger.Chains {
		points, err := db.Revisions(t.Context(), c.Line, c.Grain, math.MinInt64, math.MaxInt64, 0, math.MaxInt64)
		if err != nil || !slices.Equal(points, packed[c.SeriesKey]) {
			t.Errorf("after a kill, %v has %d points (%v), which differ from the %d that are packed",
				c.SeriesKey, len(points), err, len(packed[c.SeriesKey]))
		}
	}
	if ledger.Packed != ledger.Counters.Publication {
		t.Errorf("after a kill, points are packed up to version %d of %d", ledger.Packed, ledger.Counters.Publication)
	}
}

// copyFolder copies the files of a folder whose database is not open.
func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// wantSameRecords wants a folder to prove its values, and to hold the same ones made of the same transactions as an
// undisturbed run, each slot once.
func wantSameRecords(t *testing.T, killed string, want map[string]assay.Determination) {
	t.Helper()
	got := provenRecords(t, killed)
	for _, slot := range slices.Sorted(maps.Keys(want)) {
		if diff := cmp.Diff(want[slot], got[slot]); diff != "" {
			t.Fatalf("%s differs from an undisturbed run (-undisturbed +killed):\n%s", slot, diff)
		}
	}
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%d slots are published, and %d of an undisturbed run", len(got), len(want))
	}
}

// provenRecords is readRecords for a folder that must prove them.
func provenRecords(t *testing.T, dir string) map[string]assay.Determination {
	t.Helper()
	mustRun(t, "verify", "--dir", dir)
	return readRecords(t, dir)
}

// readRecords reads every record of a folder by its slot, without what may differ: when it was published, and the
// hashes that follow from that.
func readRecords(t *testing.T, dir string) map[string]assay.Determination {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list, err := db.AppendRecords(t.Context(), nil, math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	records := map[string]assay.Determination{}
	for _, r := range list {
		slot := fmt.Sprintf("%s %s %s %s", r.GPU, r.Region, r.Grain, assay.FormatInstant(r.At))
		if _, ok := records[slot]; ok {
			t.Errorf("%s: there are two records", slot)
		}
		d := r.Determination
		d.PublishedAt, d.Previous, d.Hash = 0, assay.Hash{}, assay.Hash{}
		records[slot] = d
	}
	return records
}

// fixing is the fixing at whose publication the demo is killed, delay how long after it that is by the methodology,
// and lead how long before that the demo starts.
var fixing = time.Date(2025, 6, 11, 20, 0, 0, 0, time.UTC)

const (
	delay = 5 * time.Second
	lead  = 600 * time.Millisecond
)

// TestCrash_FixingKilled kills a server at moments around a fixing and restarts it before the same fixing. Whether or
// not the fixing was published by then, the values equal those of an undisturbed server.
func TestCrash_FixingKilled(t *testing.T) {
	t.Parallel()
	needProgram(t)
	prepared, clean := demoBeforeFixing(t), t.TempDir()
	copyFolder(t, prepared, clean)
	finishFixing(t, clean)
	undisturbed := provenRecords(t, clean)
	random := rand.New(rand.NewPCG(9, 2026))
	f := func(wait func(p *process, dir string)) (published bool) {
		t.Helper()
		dir := t.TempDir()
		copyFolder(t, prepared, dir)
		p := startBeforeFixing(t, dir, lead)
		wait(p, dir)
		p.kill()
		published = fixed(t, dir) == nil
		finishFixing(t, dir)
		wantSameRecords(t, dir, undisturbed)
		return published
	}
	early := t.TempDir()
	copyFolder(t, prepared, early)
	startBeforeFixing(t, early, 50*time.Minute).kill() // so early that no machine is slow enough to come to it
	if fixed(t, early) == nil {
		t.Error("the fixing was published before it was due")
	}
	for kill := range 8 {
		published := f(func(p *process, dir string) {
			if kill%2 == 0 {
				waitForChange(t, filepath.Join(dir, store.FileName+"-wal"))
				return
			}
			select {
			case <-p.exited:
				t.Fatal("the server ended before it was killed")
			case <-time.After(lead + time.Duration(random.IntN(150)-130)*time.Millisecond):
			}
		})
		t.Logf("kill %d: the fixing was published: %t", kill, published)
	}
}

// waitForChange waits until a file is written to.
func waitForChange(t *testing.T, file string) {
	t.Helper()
	before := fileState(file)
	err := until(patience, 100*time.Microsecond, func() error {
		if fileState(file) == before {
			return errors.New("nothing is written")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fileState changes when a file is written to.
func fileState(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return "missing"
	}
	return fmt.Sprint(info.Size(), info.ModTime())
}

// finishFixing runs the server over the fixing until it is published.
func finishFixing(t *testing.T, dir string) {
	t.Helper()
	p := startBeforeFixing(t, dir, lead)
	if err := until(patience, 10*time.Millisecond, func() error { return fixed(t, dir) }); err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
}

// demoBeforeFixing is the folder of a demo that has published everything up to an hour before the fixing. Its history
// is of two days, because the demo takes it for one that was fed up to there.
func demoBeforeFixing(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	begin, end := fixing.Add(-49*time.Hour), fixing.Add(-time.Hour)
	db, err := store.Create(t.Context(), "sqlite://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	plain := index.Plain() // its other families take no time, and the fixing is the same
	err = errors.Join(
		db.AdoptMethodology(t.Context(), assay.MethodologyFile{
			Version: plain.Version, Effective: plain.Effective, Text: index.PlainText(),
		}, 0),
		db.SetSetting(t.Context(), "demo_seed", "1"),
		db.SetSetting(t.Context(), "demo_fed", strconv.FormatInt(begin.UnixMilli(), 10)),
		db.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, "signing-key", "init", "--dir", dir)
	importExamples(t, dir, begin)
	p, err := startServer(t.TempDir(), "demo", "demo", "--dir", dir, "--no-feed", "--end", end.Format(time.RFC3339))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "publish", "--dir", dir,
		"--from", fixing.Add(-48*time.Hour).Format(time.RFC3339), "--to", end.Format(time.RFC3339))
	return dir
}

// importExamples imports the example of each family but transactions. The demo gives a family that has nothing a
// history of two years, and every start would read it.
func importExamples(t *testing.T, dir string, day time.Time) {
	t.Helper()
	for _, family := range ingest.Families[1:] {
		file := filepath.Join(t.TempDir(), family.Name+".csv")
		example := strings.ReplaceAll(mustRun(t, "template", family.Name), "2026-01-02", day.Format(time.DateOnly))
		if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
			t.Fatal(err)
		}
		mustRun(t, "import", family.Name, "--dir", dir, file)
	}
}

// startBeforeFixing starts the demo shortly before the fixing is published.
func startBeforeFixing(t *testing.T, dir string, lead time.Duration) *process {
	t.Helper()
	end := fixing.Add(delay - lead).Format(time.RFC3339Nano)
	p, err := startServer(t.TempDir(), "demo", "demo", "--dir", dir, "--no-feed", "--end", end)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// fixed is an error while the day of the fixing is not published.
func fixed(t *testing.T, dir string) error {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite://"+dir)
	if err != nil {
		return err
	}
	defer db.Close()
	coverage, err := db.Coverage(t.Context())
	if err != nil {
		return err
	}
	if end := coverage.End(store.CoverageKey{GPU: "H100 SXM", Grain: assay.Daily}); end < fixing.UnixMilli() {
		return fmt.Errorf("published up to %s", assay.FormatInstant(end))
	}
	return nil
}
