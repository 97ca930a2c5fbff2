package ingest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// received is the clock of the databases in these tests.
const received = 1_800_000_000_000

func openForReadings(t *testing.T) *store.DB {
	t.Helper()
	db := storetest.Open(t)
	db.Now = func() time.Time { return time.UnixMilli(received) }
	return db
}

func importReadings(t *testing.T, db *store.DB, name, content string) (out outcome) {
	t.Helper()
	im := Utilization(testOptions(db, &out))
	out.err = im.File(t.Context(), name, strings.NewReader(content))
	out.Counts = im.Counts()
	return out
}

func storedReadings(t *testing.T, db *store.DB) (all []assay.UtilizationReading) {
	t.Helper()
	if err := db.EachUtilization(t.Context(), 0, math.MaxInt64, func(r *assay.UtilizationReading) error {
		all = append(all, *r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// goodReading is the row that the tests vary.
func goodReading() map[string]string {
	return map[string]string{
		"recorded_at": "2026-01-02T03:04:00Z", "gpu_name": "H200", "region": "us-east", "rented_gpus": "60", "tracked_gpus": "80", "source": "monitor",
	}
}

func readingWith(field, value string) map[string]string {
	row := maps.Clone(goodReading())
	row[field] = value
	return row
}

func TestUtilization_EveryFormat(t *testing.T) {
	t.Parallel()
	want := assay.UtilizationReading{
		Source: "monitor", At: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC).UnixMilli(), GPU: "H200", Region: "us-east",
		Rented: 60, Tracked: 80, Received: received,
	}
	f := func(name, content string, change func(*assay.UtilizationReading)) {
		t.Helper()
		db, want := openForReadings(t), want
		change(&want)
		importReadings(t, db, name, content).want(t, 1, 0, 0)
		importReadings(t, db, name, content).want(t, 0, 1, 0)
		if got := storedReadings(t, db); !slices.Equal(got, []assay.UtilizationReading{want}) {
			t.Errorf("%s became %+v, want %+v", name, got, want)
		}
	}
	same := func(*assay.UtilizationReading) {}
	f("a.csv", "recorded_at,gpu_name,region,rented_gpus,tracked_gpus,source\n2026-01-02T03:04:00Z,H200,us-east,60,80,monitor\n", same)
	f("a.csv.gz", gz(t, "tracked_gpus,rented_gpus,gpu_name,recorded_at\n80,60,H200,2026-01-02 03:04:00\n"),
		func(r *assay.UtilizationReading) { r.Source, r.Region = "desk", "" })
	f("a.ndjson", jsonLine(goodReading()), same)
	f("a.jsonl", `{"recorded_at":"2026-01-02T03:04:00Z","gpu_name":"H200","region":null,"rented_gpus":0,"tracked_gpus":1}`,
		func(r *assay.UtilizationReading) { r.Source, r.Region, r.Rented, r.Tracked = "desk", "", 0, 1 })
	columns, row := stringColumns(UtilizationColumns), textRow(goodReading())
	columns["recorded_at"], row["recorded_at"] = parquet.Timestamp(parquet.Microsecond), want.At*1000
	columns["rented_gpus"], row["rented_gpus"] = parquet.Int(64), int64(60)
	f("a.parquet", parquetFile(t, columns, []map[string]any{row}), same)
}

func TestUtilization_Rejects(t *testing.T) {
	t.Parallel()
	db := openForReadings(t)
	f := func(field, value, reason string) {
		t.Helper()
		out := importReadings(t, db, "a.ndjson", jsonLine(goodReading())+jsonLine(readingWith(field, value)))
		if len(out.rejects) != 1 || out.rejects[0].Line != 2 || out.rejects[0].Reason != reason || out.err != nil {
			t.Errorf("%s %q is rejected as %+v (%v), want %s", field, value, out.rejects, out.err, reason)
		}
	}
	const rentedAllowed, trackedAllowed = ": must be an integer from 0 to tracked_gpus", ": must be an integer from 1 to 1000000000"
	f("recorded_at", "", `recorded_at is missing`)
	f("recorded_at", "2026-01-02", `recorded_at "2026-01-02" has no time of day`)
	f("recorded_at", "2026-02-01T00:00:00.001Z", `recorded_at 2026-02-01T00:00:00.001Z is in the future`)
	f("recorded_at", "1999-12-31T00:00:00Z", `recorded_at 1999-12-31T00:00:00.000Z is before the year 2000`)
	f("gpu_name", "H99", `gpu_name "H99" is not in the catalog: must be one of H100 SXM, H200, A100 SXM4, RTX 5090, B200, RTX PRO 6000 WS`)
	f("region", "mars", `region "mars" is not in the catalog: must be one of us-east, us-west, eu-west, eu-north, ap-east, or empty`)
	f("source", strings.Repeat("x", 129), `source is longer than 128 bytes`)
	f("rented_gpus", "", `rented_gpus is missing`)
	f("rented_gpus", "-1", `rented_gpus -1 is out of bounds`+rentedAllowed)
	f("rented_gpus", "0.75", `rented_gpus "0.75" has more than 0 decimals`+rentedAllowed)
	f("rented_gpus", "75%", `rented_gpus "75%" is not a plain decimal number`+rentedAllowed)
	f("rented_gpus", "81", `rented_gpus 81 is greater than tracked_gpus 80`)
	f("tracked_gpus", "", `tracked_gpus is missing`)
	f("tracked_gpus", "0", `tracked_gpus 0 is out of bounds`+trackedAllowed)
	f("tracked_gpus", "NaN", `tracked_gpus "NaN" is not a plain decimal number`+trackedAllowed)
	f("tracked_gpus", "1000000001", `tracked_gpus 1000000001 is out of bounds`+trackedAllowed)
	f("rented_gpus", "61", `the reading of gpu_name "H200" and region "us-east" at 2026-01-02T03:04:00.000Z `+
		`of source "monitor" is known with different content; the first version stays. Use --revise to add a new revision.`)
	if got := storedReadings(t, db); len(got) != 1 || got[0].Rented != 60 {
		t.Errorf("stored are %+v, want the good reading", got)
	}
}

func TestUtilization_MissingColumns(t *testing.T) {
	t.Parallel()
	db := openForReadings(t)
	for _, column := range []string{"recorded_at", "gpu_name", "rented_gpus", "tracked_gpus"} {
		out := importReadings(t, db, "a.csv", strings.Replace(strings.Join(UtilizationColumns, ","), column, "x", 1))
		want := fmt.Sprintf("a.csv: line 1: column %q is missing: the header must name %s", column, strings.Join(UtilizationColumns, ", "))
		if out.err == nil || out.err.Error() != want {
			t.Errorf("without %s the error is %v, want %s", column, out.err, want)
		}
	}
}
