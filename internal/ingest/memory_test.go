package ingest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// importInto imports a file of a family.
func importInto(t *testing.T, db *store.DB, f family.Family, revise bool, name, content string) (out outcome) {
	t.Helper()
	options := testOptions(db, &out)
	options.Revise = revise
	im := Observations(options, f)
	out.err = im.File(t.Context(), name, strings.NewReader(content))
	out.Counts = im.Counts()
	return out
}

// storedObservations are all revisions of a family, in the order of receipt.
func storedObservations[T any](t *testing.T, db *store.DB, family assay.Family) (all []T) {
	t.Helper()
	if err := db.EachObservation(t.Context(), family, 0, 1<<62, func(o store.Observation, _ int, _ int64) error {
		var value T
		all = append(all, value)
		return json.Unmarshal(o.Body, &all[len(all)-1])
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// changed is a row with another value in one field.
func changed(row map[string]string, field, value string) map[string]string {
	row = maps.Clone(row)
	row[field] = value
	return row
}

var goodMemory = map[string]string{"recorded_at": "2026-01-02T03:04:00Z", "memory_type": "mem_ddr5_16gb", "price": "5.125"}

func TestMemory_EveryFormat(t *testing.T) {
	t.Parallel()
	want := assay.MemoryReading{MemoryID: "mem_ddr5_16gb", At: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC).UnixMilli(), Price: 5_125_000_000}
	f := func(name, content string) {
		t.Helper()
		db := storetest.Open(t)
		importInto(t, db, memory.Family, false, name, content).want(t, 1, 0, 0)
		importInto(t, db, memory.Family, true, name, content).want(t, 0, 1, 0)
		got := storedObservations[assay.MemoryReading](t, db, assay.FamilyMemory)
		if !slices.Equal(got, []assay.MemoryReading{want}) {
			t.Errorf("%s became %+v, want %+v", name, got, want)
		}
	}
	f("a.csv", "recorded_at,memory_type,price\n2026-01-02T03:04:00Z,mem_ddr5_16gb,5.125\n")
	f("a.csv.gz", gz(t, "price,memory_type,recorded_at\n5.1250,DDR5 16Gb (2Gx8) 4800/5600,2026-01-02 03:04:00\n"))
	f("a.ndjson", jsonLine(goodMemory))
	f("a.jsonl", `{"recorded_at":"2026-01-02T04:04:00+01:00","memory_type":"mem_ddr5_16gb","price":5.125}`)
	columns, row := stringColumns(memory.Family.Schema.Names()), textRow(goodMemory)
	columns["recorded_at"], row["recorded_at"] = parquet.Timestamp(parquet.Millisecond), want.At
	columns["price"], row["price"] = parquet.Leaf(parquet.DoubleType), 5.125
	f("a.parquet", parquetFile(t, columns, []map[string]any{row}))
}

func TestMemory_Rejects(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testMemoryRejects)
}

func testMemoryRejects(t *testing.T, db *store.DB) {
	f := func(field, value, reason string) {
		t.Helper()
		out := importInto(t, db, memory.Family, false, "a.ndjson", jsonLine(goodMemory)+jsonLine(changed(goodMemory, field, value)))
		if len(out.rejects) != 1 || out.rejects[0].Line != 2 || out.rejects[0].Reason != reason || out.err != nil {
			t.Errorf("%s %q is rejected as %+v (%v), want %s", field, value, out.rejects, out.err, reason)
		}
	}
	const allowed = ": must be a plain decimal from 0.001 to 10000 with up to 9 decimals"
	f("recorded_at", "", `recorded_at is missing`)
	f("recorded_at", "2026-01-02", `recorded_at "2026-01-02" has no time of day`)
	f("recorded_at", "2026-02-01T00:00:00.001Z", `recorded_at 2026-02-01T00:00:00.001Z is in the future`)
	f("recorded_at", "1999-12-31T00:00:00Z", `recorded_at 1999-12-31T00:00:00.000Z is before the year 2000`)
	f("memory_type", "", `memory_type is missing`)
	f("memory_type", "ddr5", `memory_type "ddr5" is not in the catalog: must be one of the ids and names of /api/memory-types`)
	f("price", "", `price is missing`)
	f("price", "0", `price 0 is out of bounds`+allowed)
	f("price", "-5", `price -5 is out of bounds`+allowed)
	f("price", "0.000999999", `price 0.000999999 is out of bounds`+allowed)
	f("price", "10000.000000001", `price 10000.000000001 is out of bounds`+allowed)
	f("price", "$5", `price "$5" is not a plain decimal number`+allowed)
	f("price", "5.1234567891", `price "5.1234567891" has more than 9 decimals`+allowed)
	f("price", "6", `the price of memory_type "mem_ddr5_16gb" at 2026-01-02T03:04:00.000Z is known with different content; the first version stays. Use --revise to add a new revision.`)
	got := storedObservations[assay.MemoryReading](t, db, assay.FamilyMemory)
	if len(got) != 1 || got[0].Price != 5_125_000_000 {
		t.Errorf("stored are %+v, want the good reading", got)
	}
	importInto(t, db, memory.Family, true, "a.ndjson", jsonLine(changed(goodMemory, "price", "6"))).want(t, 1, 0, 0)
	if got := storedObservations[assay.MemoryReading](t, db, assay.FamilyMemory); len(got) != 2 || got[0].Price != 5_125_000_000 || got[1].Price != 6*assay.One {
		t.Errorf("stored are %+v, want both revisions", got)
	}
}

// wantMissing checks the error for a header that lacks one of the columns.
func wantMissing(t *testing.T, f family.Family) {
	t.Helper()
	columns := f.FileSchema().Names()
	for _, column := range columns {
		if slices.Contains(f.FileSchema().Optional(), column) {
			continue
		}
		out := importInto(t, storetest.Open(t), f, false, "a.csv", strings.Replace(strings.Join(columns, ","), column, "x", 1))
		want := fmt.Sprintf("a.csv: line 1: column %q is missing: the header must name %s", column, strings.Join(columns, ", "))
		if out.err == nil || out.err.Error() != want {
			t.Errorf("without %s the error is %v, want %s", column, out.err, want)
		}
	}
}

func TestMemory_MissingColumns(t *testing.T) {
	t.Parallel()
	wantMissing(t, memory.Family)
}

// FuzzMemoryCells checks that every accepted row is plausible and survives storage unchanged.
func FuzzMemoryCells(f *testing.F) {
	f.Add("2026-01-02T03:04:00Z", "mem_ddr5_16gb", "5.125", "")
	f.Add("2026-01-02 03:04:00.9999", "DDR5 16Gb (2Gx8) 4800/5600", "0.001", "exchange")
	f.Add("2026-01-02", "", "-0", "a\nb")
	f.Add("0001-01-01T00:00:00+14:00", "mem_", "1e9", "")
	c := family.NewChecker(assay.DefaultCatalog(), "", func() int64 { return notAfter })
	f.Fuzz(func(t *testing.T, at, kind, price, source string) {
		var r, again assay.MemoryReading
		if memory.Family.Parse(c, []string{at, kind, price, source}, &r) != nil || memory.Family.Check(c, &r) != nil {
			return
		}
		if r.At < family.NotBefore || r.At > notAfter || r.Price < assay.Unit(3) || r.Price > 10_000*assay.One || !strings.HasPrefix(r.MemoryID, "mem_") ||
			strings.ContainsRune(r.Source, '\n') {
			t.Errorf("%q, %q, %q and %q became %+v", at, kind, price, source, r)
		}
		body, err := json.Marshal(&r)
		if err == nil {
			err = json.Unmarshal(body, &again)
		}
		if err != nil || again != r {
			t.Errorf("%+v is read back as %+v (%v)", r, again, err)
		}
	})
}
