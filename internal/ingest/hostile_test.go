package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/parquet-go/parquet-go"

	"github.com/assaydata/assay/internal/store/storetest"
)

// hostileFile names the file that the test's own process imports, to measure its memory.
const hostileFile = "ASSAY_TEST_HOSTILE_FILE"

// A small file takes little memory, whatever it expands to.
func TestHostile_FilesTakeLittleMemory(t *testing.T) {
	t.Parallel()
	if name := os.Getenv(hostileFile); name != "" {
		importHostile(t, name)
		return
	}
	if testing.Short() {
		t.Skip("a short run measures no memory")
	}
	f := func(name, want string, content []byte) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const mostFile, mostMemory = 4 << 20, 64 << 20
			if len(content) > mostFile {
				t.Fatalf("the file has %d bytes", len(content))
			}
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			//nolint:gosec // the program is this test
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHostile_FilesTakeLittleMemory$", "-test.v")
			cmd.Env = append(os.Environ(), hostileFile+"="+file, "GOMEMLIMIT=off", "GOGC=100")
			out, err := cmd.CombinedOutput()
			_, result, ok := strings.Cut(string(out), "heap ")
			var heap int
			if _, scanErr := fmt.Sscan(result, &heap); err != nil || !ok || scanErr != nil {
				t.Fatalf("%v, %v:\n%s", err, scanErr, out)
			}
			if !strings.Contains(result, want) || heap > mostMemory {
				t.Errorf("%d bytes take %d MB: %s, want at most %d MB and %q", len(content), heap>>20, result, mostMemory>>20, want)
			}
		})
	}
	header := []byte(csvHeaderLine)
	long := append(bytes.Repeat([]byte("x"), 60_000), '\n')
	f("one-line.csv.zst", "1 rejected", append(zstdFrame(header), zstdZeros(8<<20, 1<<30)...))
	f("large-window.csv.zst", "a window of more than 8 MB", append(zstdFrame(header), zstdZeros(512<<20, 1<<30)...))
	f("one-line.csv.gz", "1 rejected", gzipRepeated(t, header, make([]byte, 1<<20), 300))
	f("long-lines.csv.gz", "5000 rejected", gzipRepeated(t, header, long, 5000))
	one := map[string]string{"provider": strings.Repeat("x", 60_000)}
	f("long-lines.parquet", "2600 rejected", parquetPages(t, 10, one, 260))
	wide := map[string]string{}
	for _, column := range TransactionColumns {
		wide[column] = strings.Repeat("x", 1000)
	}
	f("all-columns.parquet", "6250 rejected", parquetPages(t, 5, wide, 1250))
	f("large-page.parquet", "smaller pages", parquetPages(t, 1, one, 1000))
}

// importHostile imports a file into a new database and prints by how much the heap grew at most.
func importHostile(t *testing.T, name string) {
	t.Helper()
	var ignored outcome
	options := testOptions(storetest.Open(t), &ignored)
	options.Rejected = nil
	im := Transactions(options)
	if err := im.File(t.Context(), "a.csv", strings.NewReader(csvHeaderLine+csvLine(good()))); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before := heapSize()
	err = im.File(t.Context(), name, file)
	fmt.Printf("\nheap %d: %d rejected, error %v\n", heapSize()-before, im.Counts().Rejected, err)
}

// heapSize is the largest size that the heap has had.
func heapSize() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapSys)
}

// zstdFrame is a frame with a short content, stored as it is.
func zstdFrame(content []byte) []byte {
	return append(append(zstdHead(1<<20), zstdBlock(0, len(content), true)...), content...)
}

// zstdZeros is a frame of zeros that needs a window.
func zstdZeros(window, size int) []byte {
	const block = 128 << 10
	frame := zstdHead(window)
	for left := size; left > 0; left -= block {
		frame = append(append(frame, zstdBlock(1, min(left, block), left <= block)...), 0)
	}
	return frame
}

// zstdHead is the beginning of a frame whose window is a power of two.
func zstdHead(window int) []byte {
	exponent := 0
	for 1<<(10+exponent) < window {
		exponent++
	}
	return []byte{0x28, 0xb5, 0x2f, 0xfd, 0, byte(exponent << 3)}
}

// zstdBlock is the header of a block: stored (0) or one byte repeated (1).
func zstdBlock(kind, size int, last bool) []byte {
	head := kind<<1 | size<<3
	if last {
		head |= 1
	}
	return []byte{byte(head), byte(head >> 8), byte(head >> 16)}
}

// gzipRepeated compresses a beginning and what follows it many times.
func gzipRepeated(t *testing.T, begin, more []byte, times int) []byte {
	t.Helper()
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	_, err := w.Write(begin)
	for range times {
		if err == nil {
			_, err = w.Write(more)
		}
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// parquetPages writes row groups of equal rows, each with one page per column. Columns that are not given are empty.
func parquetPages(t *testing.T, groups int, row map[string]string, rows int) []byte {
	t.Helper()
	var file bytes.Buffer
	schema := parquet.NewSchema("rows", stringColumns(TransactionColumns))
	w := parquet.NewWriter(&file, schema, parquet.Compression(&parquet.Zstd), parquet.PageBufferSize(1<<30))
	values := parquetRow(schema, textRow(row))
	var err error
	for range groups {
		for range rows {
			if err == nil {
				_, err = w.WriteRows([]parquet.Row{values})
			}
		}
		err = errors.Join(err, w.Flush())
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// A file that stands for more rows than can be read ends with the context.
func TestHostile_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var out outcome
	options := testOptions(storetest.Open(t), &out)
	options.Rejected = func(Reject) error {
		cancel()
		return nil
	}
	file := gzipRepeated(t, []byte(csvHeaderLine), bytes.Repeat([]byte("x\n"), 1<<19), 100) // 50 million rows
	err := Transactions(options).File(ctx, "a.csv.gz", bytes.NewReader(file))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
