package ingest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// benchRows is a feed in the order of time with random ids, as exchanges write them.
func benchRows(rows int, line func(id, at string, i int) string) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var content bytes.Buffer
	begin := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for i := range rows {
		id := fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", random.Uint32(), i&0xffff, random.Uint32N(1<<16), 7, random.Uint64N(1<<48))
		content.WriteString(line(id, assay.FormatInstant(begin+int64(i)*12_096), i))
	}
	return content.Bytes()
}

// benchmarkParse measures everything but the store: its writer discards everything.
func benchmarkParse(b *testing.B, name string, rows int, content []byte) {
	b.Helper()
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		var out outcome
		im := Transactions(testOptions(nil, &out))
		im.rows.append = func(_ *store.DB, _ context.Context, batch []assay.Transaction) (store.Appended, error) {
			return store.Appended{Inserted: len(batch)}, nil
		}
		if err := im.File(b.Context(), name, bytes.NewReader(content)); err != nil || im.Counts().Inserted != rows {
			b.Fatal(err, im.Counts(), out.rejects)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkParse_CSV(b *testing.B) {
	const rows = 300_000
	content := append([]byte(csvHeaderLine), benchRows(rows, func(id, at string, i int) string {
		return fmt.Sprintf("%s,feed,%s,H100 SXM,eu-north,%d.%04d,8,%d,prov-%02d,true\n", id, at, 1+i%5, i%10_000, 1+i%72, i%40)
	})...)
	benchmarkParse(b, "a.csv", rows, content)
}

func BenchmarkParse_NDJSON(b *testing.B) {
	const rows = 300_000
	content := benchRows(rows, func(id, at string, i int) string {
		return fmt.Sprintf(`{"id":"%s","source":"feed","executed_at":"%s","gpu_name":"H100 SXM","region":"eu-north",`+
			`"price":%d.%04d,"gpus":8,"hours":%d,"provider":"prov-%02d","verified":true}`+"\n", id, at, 1+i%5, i%10_000, 1+i%72, i%40)
	})
	benchmarkParse(b, "a.ndjson", rows, content)
}

func BenchmarkParse_Parquet(b *testing.B) {
	const rows = 100_000
	columns := stringColumns(TransactionColumns)
	columns["executed_at"], columns["price"] = parquet.Timestamp(parquet.Millisecond), parquet.Decimal(4, 18, parquet.Int64Type)
	columns["gpus"], columns["verified"] = parquet.Int(32), parquet.Leaf(parquet.BooleanType)
	var content []map[string]any
	for i := range rows {
		row := textRow(with("id", fmt.Sprintf("%08x-%d", i*2654435761, i)))
		row["executed_at"], row["price"], row["gpus"], row["verified"] = goodTransaction().ExecutedAt+int64(i), int64(20_000+i%10_000), int32(8), true
		content = append(content, row)
	}
	benchmarkParse(b, "a.parquet", rows, []byte(parquetFile(b, columns, content)))
}
