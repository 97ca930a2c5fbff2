package main

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/demo"
	"github.com/assaydata/assay/internal/store"
)

// The market of the crash test: eleven batches, which grow from 20,000 rows to 61,000. That is one more than the kills
// let through at most.
const (
	marketRows = 330_000
	marketFrom = "2026-01-01"
	marketTo   = "2026-07-01"
	batchRows  = 20_000 // as the first ones of ingest; with another size only the moments of the kills would be others
)

// marketCSV is the start of a synthetic market as a file for import, and where each row ends.
func marketCSV(t *testing.T) (file []byte, ends []int) {
	t.Helper()
	from, _, err := assay.ParseInstant(marketFrom)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	write := func(cells []string) {
		if err := w.Write(cells); err != nil {
			t.Fatal(err)
		}
		w.Flush()
	}
	write(plainColumns)
	market := demo.NewMarket(1, assay.DefaultCatalog())
	var rows []demo.Arrival
	for hour := from; ; hour += assay.Hour {
		rows = market.AppendHour(rows[:0], hour)
		for _, r := range rows {
			write([]string{
				r.ID, r.Source, assay.FormatInstant(r.ExecutedAt), r.GPU, r.Region, r.Price.String(),
				strconv.FormatInt(r.GPUs, 10), assay.Nanos(r.HourMicros * 1000).String(), r.Provider,
				strconv.FormatBool(r.Verified),
			})
			if ends = append(ends, out.Len()); len(ends) == marketRows {
				return out.Bytes(), ends
			}
		}
	}
}

// TestCrash_ImportKilled kills an import twenty times and each time starts it again from the beginning, on the folder
// that the kill left. Acknowledged rows are stored, no row is stored twice, and in the end every published value equals
// that of an undisturbed import.
func TestCrash_ImportKilled(t *testing.T) {
	t.Parallel()
	needProgram(t)
	rows, ends := marketCSV(t)
	dir := t.TempDir()
	mustRun(t, "init", "--dir", dir, "--no-signing-key")
	random := rand.New(rand.NewPCG(1, 2)) // the same moments in every run
	stored := 0
	for round := range 20 {
		im := startImport(t, dir)
		switch ahead := random.IntN(batchRows); round % 4 {
		case 0: // right after the acknowledgment of new rows
			go im.feed(rows)
			im.waitFor(t, stored+1)
		case 1: // while new rows are written to the database's log
			go im.feed(rows)
			im.waitFor(t, stored)
			im.waitForWriting(t, dir)
		case 2: // while new rows are collected
			im.feed(rows[:ends[stored+ahead]])
		case 3: // the same, in the middle of a row
			im.feed(rows[:ends[stored+ahead]+20])
		}
		acknowledged := im.kill(t)
		stored = checkStored(t, dir, round, max(stored, acknowledged))
	}
	if stored == 0 || stored == marketRows {
		t.Fatalf("%d of %d rows are stored after the last kill: the kills came too early or too late", stored, marketRows)
	}
	clean := t.TempDir()
	mustRun(t, "init", "--dir", clean, "--no-signing-key")
	for _, folder := range []string{dir, clean} {
		im := startImport(t, folder)
		im.feed(rows)
		im.finish(t)
		checkStored(t, folder, 20, marketRows)
		mustRun(t, "publish", "--dir", folder, "--from", marketFrom, "--to", marketTo)
	}
	got, want := readPoints(t, dir), readPoints(t, clean)
	for series, points := range want {
		if !slices.Equal(got[series], points) {
			t.Errorf("%s differs from an undisturbed import (-undisturbed +killed):\n%s", series, cmp.Diff(points, got[series]))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d series are published, and %d of an undisturbed import", len(got), len(want))
	}
	if len(want) != 6*6*2 {
		t.Errorf("%d series are published, not six GPUs in six regions by two grains", len(want))
	}
}

// importProcess is an import whose standard input the test feeds.
type importProcess struct {
	cmd          *exec.Cmd
	stdin        io.WriteCloser
	acknowledged chan int // how many rows are committed, a number a line; closed when standard error ends
	last         int      // the last of these
}

func startImport(t *testing.T, dir string) *importProcess {
	t.Helper()
	im := &importProcess{
		cmd:          exec.Command(program, "import", "transactions", "--dir", dir, "-"),
		acknowledged: make(chan int, 1000),
	}
	var err error
	if im.stdin, err = im.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stderr, err := im.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := im.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(im.acknowledged)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			n := 0
			if _, err := fmt.Sscanf(lines.Text(), "committed %d rows", &n); err != nil {
				t.Errorf("import says %q", lines.Text())
			}
			im.acknowledged <- n
		}
	}()
	return im
}

// feed writes to the import's standard input until everything is written or the import has ended. When it returns, the
// import has read all but what a pipe holds.
func (im *importProcess) feed(rows []byte) { _, _ = im.stdin.Write(rows) }

// waitFor waits until so many rows have been acknowledged.
func (im *importProcess) waitFor(t *testing.T, rows int) {
	t.Helper()
	for im.last < rows {
		select {
		case n, ok := <-im.acknowledged:
			if !ok {
				t.Fatal("the import ended before it was killed")
			}
			im.last = n
		case <-time.After(patience):
			t.Fatalf("no batch is acknowledged in %v, %d rows after the start", patience, im.last)
		}
	}
}

// waitForWriting waits until the database's log changes, or a batch is acknowledged, if that was too fast to be seen.
func (im *importProcess) waitForWriting(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, store.FileName+"-wal")
	before := fileState(file)
	err := until(patience, 100*time.Microsecond, func() error {
		if fileState(file) == before && len(im.acknowledged) == 0 {
			return errors.New("nothing is written")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// kill ends the import immediately and returns how many rows it has acknowledged.
func (im *importProcess) kill(t *testing.T) int {
	t.Helper()
	if err := im.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for n := range im.acknowledged {
		im.last = n
	}
	_ = im.cmd.Wait() // it was killed
	return im.last
}

// finish lets the import end.
func (im *importProcess) finish(t *testing.T) {
	t.Helper()
	if err := im.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	for range im.acknowledged { //nolint:revive // the numbers do not matter, their end does
	}
	if err := im.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// checkStored checks a folder after a kill and returns how many rows are stored.
func checkStored(t *testing.T, dir string, round, acknowledged int) (stored int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var state string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&state); err != nil || state != "ok" {
		t.Errorf("round %d: the database's integrity: %s, %v", round, state, err)
	}
	distinct := map[string]bool{}
	all := readTransactions(t, dir)
	for _, x := range all {
		distinct[x.Source+" "+x.ID] = true
	}
	if stored = len(all); stored < acknowledged || len(distinct) != stored {
		t.Errorf("round %d: %d rows were acknowledged, %d are stored, %d of them different",
			round, acknowledged, stored, len(distinct))
	}
	t.Logf("round %d: acknowledged %d, stored %d", round, acknowledged, stored)
	return stored
}

func readTransactions(t *testing.T, dir string) []assay.Transaction {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all, err := db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readPoints reads everything published in a folder, by series.
func readPoints(t *testing.T, dir string) map[string][]assay.Point {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	catalog, err := db.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	points := map[string][]assay.Point{}
	for _, gpu := range catalog.GPUs {
		for _, region := range append([]string{assay.Global}, catalog.Regions...) {
			for _, grain := range assay.Grains {
				line := assay.Line{GPU: gpu.Name, Region: region}
				list, err := db.Revisions(t.Context(), line, grain, math.MinInt64, math.MaxInt64, 0, math.MaxInt64)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range list {
					series := fmt.Sprint(gpu.Name, " ", region, " ", grain)
					points[series] = append(points[series], r.Point)
				}
			}
		}
	}
	return points
}
