package verify

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// exported makes a bundle of the days in [from, to).
func exported(t *testing.T, db *store.DB, from, to int64) (dir string, report Report) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "bundle")
	report, err := Export(t.Context(), db, dir, ExportOptions{From: from, To: to, Now: marketEnd})
	if err != nil {
		t.Fatal(err)
	}
	return dir, report
}

func verifyBundle(t *testing.T, dir string) (Report, error) {
	t.Helper()
	return Bundle(t.Context(), dir, nil, nil)
}

// Any days that follow one another make a bundle that proves itself, without the database.
func TestBundle_AnyPeriod(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
	db := openMarket(t)
	for from := 4; from <= 10; from++ {
		for to := from + 1; to <= 11; to++ {
			dir, wrote := exported(t, db, instant(from, 0), instant(to, 0))
			got, err := verifyBundle(t, dir)
			if err != nil {
				t.Fatalf("from %d to %d March: %v", from, to, err)
			}
			if got.Records == 0 || got.Records != wrote.Records || got.Transactions != wrote.Transactions || got.Manifests != wrote.Manifests {
				t.Errorf("from %d to %d March: written %+v, verified %+v", from, to, wrote, got)
			}
		}
	}
}

// A bundle of everything proves what the database proves, and says how long it will take.
func TestBundle_Everything(t *testing.T) {
	t.Parallel()
	dir, _ := exported(t, openMarket(t), instant(1, 0), instant(30, 0))
	done := 0.0
	got, err := Bundle(t.Context(), dir, marketKey.Public().(ed25519.PublicKey), func(d float64, _ int) { done = d })
	if err != nil || done != 1 {
		t.Fatalf("%v at %g", err, done)
	}
	if diff := cmp.Diff(marketReport, got); diff != "" {
		t.Errorf("the report (-database +bundle):\n%s", diff)
	}
	head := readHead(t, dir)
	if head.From != "2026-03-04" || head.To != "2026-03-11" {
		t.Errorf("the bundle is of %s to %s, want the days that have something", head.From, head.To)
	}
	if _, err := Bundle(t.Context(), dir, make([]byte, ed25519.PublicKeySize), nil); !errors.Is(err, ErrDiffers) {
		t.Errorf("with another key: %v", err)
	}
}

func TestBundle_NothingThere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bundle")
	_, err := Export(t.Context(), openMarket(t), dir, ExportOptions{From: instant(1, 0), To: instant(3, 0)})
	if err == nil || !strings.Contains(err.Error(), "nothing is published for the days from 2026-03-01 up to 2026-03-03") {
		t.Error(err)
	}
	left, err := filepath.Glob(dir + "*")
	if err != nil || len(left) > 0 {
		t.Errorf("an export that failed has left %v, %v", left, err)
	}
}

func TestBundle_KeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	dir, _ := exported(t, db, instant(5, 0), instant(6, 0))
	if _, err := Export(t.Context(), db, dir, ExportOptions{From: instant(5, 0), To: instant(7, 0)}); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("exported over a bundle: %v", err)
	}
	if _, err := verifyBundle(t, dir); err != nil {
		t.Error(err)
	}
}

// What is received, restated and signed while a bundle is written is not in it.
func TestBundle_WhileOthersWrite(t *testing.T) {
	t.Parallel()
	written := 0
	for n := int64(1); n < 200; n += n/3 + 1 {
		dir := filepath.Join(t.TempDir(), "bundle")
		wrote := whileWriting(t, n, func(ctx context.Context, db *store.DB) {
			if _, err := Export(ctx, db, dir, ExportOptions{From: instant(4, 0), To: instant(30, 0)}); err != nil {
				t.Fatal(err)
			}
		})
		if wrote {
			written++
		}
		if _, err := verifyBundle(t, dir); err != nil {
			t.Fatalf("written at use %d: %v", n, err)
		}
	}
	if written < 5 {
		t.Errorf("only %d exports saw somebody write", written)
	}
}

func readHead(t *testing.T, dir string) (head bundleHead) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, bundleFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &head); err != nil {
		t.Fatal(err)
	}
	return head
}

// mend writes the sums anew, as who forges a bundle would.
func mend(t *testing.T, dir string) {
	t.Helper()
	head := readHead(t, dir)
	for name := range head.Files {
		sum, err := fileSum(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		head.Files[name] = sum
	}
	text, err := head.text()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, bundleFile), text)
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			files[name], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestBundle_AnyByte damages one byte of one file. Only when the bundle was exported is a word for people.
func TestBundle_AnyByte(t *testing.T) {
	t.Parallel()
	dir, _ := exported(t, openMarket(t), instant(6, 0), instant(9, 0))
	random := rand.New(rand.NewPCG(5, 2026))
	files := readFiles(t, dir)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for range 25 {
			i := random.IntN(len(files[name]))
			if name == bundleFile && isExportedAt(files[name], i) {
				continue
			}
			damaged := bytes.Clone(files[name])
			damaged[i] ^= byte(1 + random.IntN(255))
			write(t, filepath.Join(dir, name), damaged)
			if _, err := verifyBundle(t, dir); err == nil {
				t.Errorf("byte %d of %s, %q instead of %q: not noticed", i, name, damaged[i], files[name][i])
			} else if !strings.Contains(err.Error(), name) && name != bundleFile {
				t.Errorf("byte %d of %s: the error does not name the file: %v", i, name, err)
			}
		}
		write(t, filepath.Join(dir, name), files[name])
	}
	if _, err := verifyBundle(t, dir); err != nil {
		t.Errorf("put back as it was: %v", err)
	}
}

func isExportedAt(head []byte, i int) bool {
	from := bytes.Index(head, []byte(`"exported_at": "`)) + len(`"exported_at": "`)
	return i >= from && i < from+len(assay.InstantLayout)
}

// TestBundle_FilesGone wants every file that bundle.json lists.
func TestBundle_FilesGone(t *testing.T) {
	t.Parallel()
	dir, _ := exported(t, openMarket(t), instant(6, 0), instant(7, 0))
	for name, text := range readFiles(t, dir) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := verifyBundle(t, dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
		write(t, filepath.Join(dir, name), text)
	}
}

// TestBundle_Forged changes what a value rests on, and the sums with it. What no value of the period rests on can be
// changed by who writes the sums anew, too: comments of a methodology, who said something, when and why, the order of
// receipts between two publications.
func TestBundle_Forged(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
	dir, _ := exported(t, openMarket(t), instant(4, 0), instant(11, 0))
	files := readFiles(t, dir)
	random := rand.New(rand.NewPCG(6, 2026))
	refused := func(name string, forged []byte, what string) {
		t.Helper()
		write(t, filepath.Join(dir, name), forged)
		mend(t, dir)
		if _, err := verifyBundle(t, dir); err == nil {
			t.Errorf("%s, %s: not noticed", name, what)
		} else if !errors.Is(err, ErrDiffers) {
			t.Errorf("%s, %s: it fails for another reason: %v", name, what, err)
		}
		write(t, filepath.Join(dir, name), files[name])
	}
	for _, name := range []string{recordsFile, manifestsFile} {
		for range 80 {
			i := random.IntN(len(files[name]) - 1) // not the end of the last line
			forged := bytes.Clone(files[name])
			forged[i] ^= byte(1 << random.IntN(8))
			refused(name, forged, string(forged[max(0, i-40):i+1]))
		}
		lines := bytes.SplitAfter(files[name], []byte("\n"))
		for range 10 {
			i := random.IntN(len(lines) - 2)
			if bytes.HasPrefix(lines[i], []byte(`{"day":"2026-03-09"`)) {
				continue // the day waits for its next manifest, so nobody misses this one
			}
			refused(name, bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil), "without line "+string(lines[i][:80]))
			refused(name, bytes.Join(slices.Insert(slices.Clone(lines), i, lines[i]), nil), "twice line "+string(lines[i][:80]))
		}
	}
	forgeCells(t, files[transactionsFile], []string{"id", "source", "executed_at", "gpu_name", "region", "price", "gpus", "hours", "provider", "verified"}, random, transactionsFile, refused)
	forgeCells(t, files[verificationsFile], []string{"id", "source", "executed_at", "verified"}, random, verificationsFile, refused)
	for _, rule := range [][2]string{{"decimals  = 3", "decimals  = 4"}, {"providers    = 2", "providers    = 3"}, {"upper = 95", "upper = 90"}, {"provider_share = 60", "provider_share = 70"}, {"03-08T00", "03-08T01"}, {`"1.1.0"`, `"1.1.1"`}, {"16:00", "17:00"}} {
		name := filepath.Join(methodologyFolder, "1.1.0.toml")
		refused(name, bytes.Replace(files[name], []byte(rule[0]), []byte(rule[1]), 1), rule[1])
	}
	for _, days := range [][2]string{{`"from": "2026-03-04"`, `"from": "2026-03-05"`}, {`"from": "2026-03-04"`, `"from": "2026-03-03"`}, {`"to": "2026-03-11"`, `"to": "2026-03-10"`}, {`"to": "2026-03-11"`, `"to": "2026-03-12"`}, {`"2026-03-10"`, `"2026-03-11"`}} {
		refused(bundleFile, bytes.Replace(files[bundleFile], []byte(days[0]), []byte(days[1]), 1), days[1])
	}
}

// forgeCells changes cells of the given columns of some rows, so that each still reads as what it was.
func forgeCells(t *testing.T, text []byte, columns []string, random *rand.Rand, name string, refused func(name string, forged []byte, what string)) {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range columns {
		at := slices.Index(rows[0], column)
		for range 6 {
			row := 1 + random.IntN(len(rows)-1)
			if unpublished(rows, row) {
				continue
			}
			was := rows[row][at]
			rows[row][at] = forge(was)
			var out bytes.Buffer
			w := csv.NewWriter(&out)
			if err := w.WriteAll(rows); err != nil {
				t.Fatal(err)
			}
			refused(name, out.Bytes(), column+" "+was+" → "+rows[row][at]+" of "+rows[row][0])
			rows[row][at] = was
		}
	}
}

// unpublished tells of transactions and verifications of which no value knows: late ones that nobody has taken up,
// those of the day that has not ended, and B200s, which are often too few for a value.
func unpublished(rows [][]string, row int) bool {
	id, at := rows[row][0], rows[row][2]
	return id == "late-2" || id == "late-5" || at >= assay.FormatInstant(instant(9, 20)) || strings.HasPrefix(id, "B200")
}

func forge(cell string) string {
	switch {
	case cell == "true":
		return "false"
	case cell == "false":
		return "true"
	case strings.HasSuffix(cell, "Z"): // an instant
		return strings.TrimSuffix(cell, "0Z") + "1Z"
	case cell == "":
		return "us-east"
	}
	last := cell[len(cell)-1]
	if last >= '0' && last <= '9' {
		return cell[:len(cell)-1] + string('0' + (last-'0'+1)%9 + 1)[:1]
	}
	return cell[:len(cell)-1] + "x"
}
