package verify

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/tools/testenv"
)

// exported exports the days in [from, to).
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
	return Bundle(t.Context(), dir, Signatures{}, nil)
}

// A bundle of any consecutive days can be proven without the database.
func TestBundle_AnyPeriod(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db := openMarket(t)
	for from := 4; from <= 10; from++ {
		for to := from + 1; to <= 11; to++ {
			t.Run(fmt.Sprintf("%d to %d March", from, to), func(t *testing.T) {
				t.Parallel()
				dir, wrote := exported(t, db, instant(from, 0), instant(to, 0))
				got, err := verifyBundle(t, dir)
				if err != nil {
					t.Fatal(err)
				}
				got.Unsigned, got.PublicKeys = nil, nil // an export does not report these
				if got.Records == 0 || !reflect.DeepEqual(got, wrote) {
					t.Errorf("exported %+v, verified %+v", wrote, got)
				}
			})
		}
	}
}

// A bundle of everything proves the same as the database, and reports its progress.
func TestBundle_Everything(t *testing.T) {
	t.Parallel()
	dir, _ := exported(t, openMarket(t), instant(1, 0), instant(30, 0))
	done := 0.0
	got, err := Bundle(t.Context(), dir, marketSignatures(0), func(d float64, _ int) { done = d })
	if err != nil || done != 1 {
		t.Fatalf("%v at %g", err, done)
	}
	if diff := cmp.Diff(marketReport, got); diff != "" {
		t.Errorf("the report (-database +bundle):\n%s", diff)
	}
	head := readHead(t, dir)
	if head.From != "2026-03-04" || head.To != "2026-03-11" {
		t.Errorf("the bundle is of %s to %s, want the days with data", head.From, head.To)
	}
	another := Signatures{PublicKeys: [][]byte{make([]byte, ed25519.PublicKeySize)}}
	if _, err := Bundle(t.Context(), dir, another, nil); !errors.Is(err, ErrDiffers) {
		t.Errorf("with another key: %v", err)
	}
}

func TestExport_NothingPublished(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bundle")
	_, err := Export(t.Context(), openMarket(t), dir, ExportOptions{From: instant(1, 0), To: instant(3, 0)})
	if err == nil || !strings.Contains(err.Error(), "nothing is published for the days from 2026-03-01 up to 2026-03-03") {
		t.Error(err)
	}
	left, err := filepath.Glob(dir + "*")
	if err != nil || len(left) > 0 {
		t.Errorf("a failed export has left %v, %v", left, err)
	}
}

func TestExport_KeepsAnExistingFolder(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	dir, _ := exported(t, db, instant(5, 0), instant(6, 0))
	_, err := Export(t.Context(), db, dir, ExportOptions{From: instant(5, 0), To: instant(7, 0)})
	if err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("exported over a bundle: %v", err)
	}
	if _, err := verifyBundle(t, dir); err != nil {
		t.Error(err)
	}
}

// A bundle leaves out what is received, restated and signed while it is written.
func TestExport_WhileOthersWrite(t *testing.T) {
	t.Parallel()
	whileWriting(t, 200, func(ctx context.Context, t *testing.T, db *store.DB) {
		dir := filepath.Join(t.TempDir(), "bundle")
		if _, err := Export(ctx, db, dir, ExportOptions{From: instant(4, 0), To: instant(30, 0)}); err != nil {
			t.Fatal(err)
		}
		if _, err := verifyBundle(t, dir); err != nil {
			t.Fatal(err)
		}
	})
}

// A write that fails leaves its error alone, and nothing is flushed after it.
func TestWriteFile_StopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	failed := errors.New("failed")
	err := writeFile(name, func(w *bufio.Writer) error {
		if _, err := w.WriteString("half of it"); err != nil {
			return err
		}
		return failed
	})
	text, readErr := os.ReadFile(name)
	if !errors.Is(err, failed) || err.Error() != failed.Error() || readErr != nil || len(text) != 0 {
		t.Errorf("the error is %v, and the file has %q (%v)", err, text, readErr)
	}
}

// A file without its header is reported once: by the error of the read, or by the columns.
func TestBundle_Header(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, err := openFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.close()
	b := &bundle{bundleFolder: folder}
	f := func(text, want string) {
		t.Helper()
		write(t, filepath.Join(dir, coversFile), []byte(text))
		if err := b.readCovers(); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	f("", "covers.csv: EOF")
	f("gpu_name,granularity\n", "covers.csv: the first line does not name the columns")
	f(strings.Join(coverColumns, ",")+"\nH200\n", "covers.csv: record on line 2: wrong number of fields")
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

// updateSums recomputes the sums of all files, as a forger would.
func updateSums(t *testing.T, dir string) {
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

// TestBundle_AnyByte changes one byte of one file. Only the time of the export is not checked.
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
				t.Errorf("byte %d of %s, %q instead of %q: not detected", i, name, damaged[i], files[name][i])
			} else if !strings.Contains(err.Error(), name) && name != bundleFile {
				t.Errorf("byte %d of %s: the error does not name the file: %v", i, name, err)
			}
		}
		write(t, filepath.Join(dir, name), files[name])
	}
	if _, err := verifyBundle(t, dir); err != nil {
		t.Errorf("restored: %v", err)
	}
}

func isExportedAt(head []byte, i int) bool {
	from := bytes.Index(head, []byte(`"exported_at": "`)) + len(`"exported_at": "`)
	return i >= from && i < from+len(assay.InstantLayout)
}

// Every file that bundle.json lists must exist.
func TestBundle_MissingFile(t *testing.T) {
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

// forger changes the files of a bundle, and the sums with them.
type forger struct {
	dir    string
	files  map[string][]byte
	random *rand.Rand
}

func newForger(t *testing.T, seed uint64) *forger {
	t.Helper()
	dir, _ := exported(t, openMarket(t), instant(4, 0), instant(11, 0))
	return &forger{dir: dir, files: readFiles(t, dir), random: rand.New(rand.NewPCG(6, seed))}
}

// wantRejected writes a forged file, wants the verification to fail, and restores the file.
func (f *forger) wantRejected(t *testing.T, name string, forged []byte, what string) {
	t.Helper()
	write(t, filepath.Join(f.dir, name), forged)
	updateSums(t, f.dir)
	_, err := verifyBundle(t, f.dir)
	if err == nil {
		t.Errorf("%s, %s: not detected", name, what)
	} else if !errors.Is(err, ErrDiffers) {
		t.Errorf("%s, %s: it fails for another reason: %v", name, what, err)
	}
	write(t, filepath.Join(f.dir, name), f.files[name])
}

// replace forges a file by replacing one text in it.
func (f *forger) replace(t *testing.T, name, old, replacement string) {
	t.Helper()
	f.wantRejected(t, name, bytes.Replace(f.files[name], []byte(old), []byte(replacement), 1), replacement)
}

// TestBundle_Forged changes data that a value depends on, and the sums with it. A forger can change data that no
// value of the period depends on: comments of a methodology, when and why something was verified, the order of
// receipts between two publications.
func TestBundle_Forged(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	for i, name := range []string{recordsFile, manifestsFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newForger(t, uint64(i)).forgeLines(t, name)
		})
	}
	t.Run(transactionsFile, func(t *testing.T) {
		t.Parallel()
		newForger(t, 2).forgeCells(t, transactionsFile, slices.DeleteFunc(slices.Clone(transactionColumns), isReceipt))
	})
	t.Run(verificationsFile, func(t *testing.T) {
		t.Parallel()
		newForger(t, 3).forgeCells(t, verificationsFile, []string{"id", "source", "executed_at", "verified"})
	})
	t.Run(correctionsFile, func(t *testing.T) {
		t.Parallel()
		newForger(t, 6).forgeCells(t, correctionsFile, []string{"id", "source", "executed_at", "corrected_receipt"})
	})
	t.Run(methodologyFolder, func(t *testing.T) {
		t.Parallel()
		f, name := newForger(t, 4), filepath.Join(methodologyFolder, "1.1.0.toml")
		f.replace(t, name, "decimals  = 3", "decimals  = 4")
		f.replace(t, name, "providers    = 2", "providers    = 3")
		f.replace(t, name, "upper = 95", "upper = 90")
		f.replace(t, name, "provider_share = 60", "provider_share = 70")
		f.replace(t, name, "03-08T00", "03-08T01")
		f.replace(t, name, `"1.1.0"`, `"1.1.1"`)
		f.replace(t, name, "16:00", "17:00")
	})
	t.Run(bundleFile, func(t *testing.T) {
		t.Parallel()
		f := newForger(t, 5)
		f.replace(t, bundleFile, `"from": "2026-03-04"`, `"from": "2026-03-05"`)
		f.replace(t, bundleFile, `"from": "2026-03-04"`, `"from": "2026-03-03"`)
		f.replace(t, bundleFile, `"to": "2026-03-11"`, `"to": "2026-03-10"`)
		f.replace(t, bundleFile, `"to": "2026-03-11"`, `"to": "2026-03-12"`)
		f.replace(t, bundleFile, `"exported_at": "2026-03-10`, `"exported_at": "2026-03-09`)
	})
}

// A receipt may change as long as it stays between the same two publications.
func isReceipt(column string) bool { return column == "receipt" }

// forgeLines flips bits of a file, and deletes and repeats lines.
func (f *forger) forgeLines(t *testing.T, name string) {
	t.Helper()
	text := f.files[name]
	for range 80 {
		i := f.random.IntN(len(text) - 1) // not the end of the last line
		forged := bytes.Clone(text)
		forged[i] ^= byte(1 << f.random.IntN(8))
		f.wantRejected(t, name, forged, string(forged[max(0, i-40):i+1]))
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for range 10 {
		i := f.random.IntN(len(lines) - 2)
		without, twice := slices.Delete(slices.Clone(lines), i, i+1), slices.Insert(slices.Clone(lines), i, lines[i])
		f.wantRejected(t, name, bytes.Join(without, nil), "without line "+string(lines[i][:80]))
		f.wantRejected(t, name, bytes.Join(twice, nil), "twice line "+string(lines[i][:80]))
	}
}

// forgeCells changes cells of the given columns in some rows, so that each still parses.
func (f *forger) forgeCells(t *testing.T, name string, columns []string) {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(f.files[name])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range columns {
		at := slices.Index(rows[0], column)
		for range 6 {
			row := 1 + f.random.IntN(len(rows)-1)
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
			f.wantRejected(t, name, out.Bytes(), column+" "+was+" → "+rows[row][at]+" of "+rows[row][0])
			rows[row][at] = was
		}
	}
}

// unpublished tells whether no value depends on a row: it is late and not restated, or of the day that has not ended,
// or a B200, of which there are often too few for a value.
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
