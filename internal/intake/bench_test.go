package intake_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/store/storetest"
)

// benchCSV is a feed in the order of time with random ids, as exchanges write them.
func benchCSV(rows int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var content bytes.Buffer
	content.WriteString("id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n")
	begin := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for i := range rows {
		fmt.Fprintf(&content, "%016x%016x,exchange,%s,H100 SXM,eu-north,%d.%04d,8,%d,prov-%02d,true\n", random.Uint64(),
			random.Uint64(), assay.FormatInstant(begin+int64(i)*12_096), 1+i%5, i%10_000, 1+i%72, i%40)
	}
	return content.Bytes()
}

// BenchmarkPost posts rows over one connection to a server with SQLite, and imports the same rows as assay import does.
// It reports the rows per second of both, and how long posting takes as a multiple of importing, the median of pairs.
func BenchmarkPost(b *testing.B) {
	const rows = 500_000
	content := benchCSV(rows)
	var posting, importing time.Duration
	var ratios []float64
	for b.Loop() {
		begin := time.Now()
		im := ingest.Transactions(ingest.Options{
			Store: storetest.Open(b), Catalog: assay.DefaultCatalog(), NotAfter: func() int64 { return time.Now().UnixMilli() },
		})
		if err := im.File(b.Context(), "a.csv", bytes.NewReader(content)); err != nil || im.Counts().Inserted != rows {
			b.Fatal(err, im.Counts())
		}
		imported := time.Since(begin)
		r := newRig(b, storetest.Open(b))
		begin = time.Now()
		r.want("the rows", r.post(strings.NewReader(string(content)), "text/csv"), rows, 0, 0, 0)
		posted := time.Since(begin)
		importing, posting = importing+imported, posting+posted
		ratios = append(ratios, posted.Seconds()/imported.Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(float64(rows*b.N)/posting.Seconds(), "posted-rows/s")
	b.ReportMetric(float64(rows*b.N)/importing.Seconds(), "imported-rows/s")
	b.ReportMetric(ratios[len(ratios)/2], "times-import")
}
