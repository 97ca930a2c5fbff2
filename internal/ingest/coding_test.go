package ingest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

var goodCoding = map[string]string{"date": "2026-01-02", "tool": "cc", "prs": "200", "merged": "150", "commits": "900"}

func TestCoding_EveryFormat(t *testing.T) {
	t.Parallel()
	want := assay.CodingDay{
		Day: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).UnixMilli(), Tool: "cc", PRs: 200,
		Merged: 150, Commits: 900,
	}
	f := func(name, content string) {
		t.Helper()
		db := storetest.Open(t)
		importInto(t, db, coding.Family, false, name, content).want(t, 1, 0, 0)
		importInto(t, db, coding.Family, true, name, content).want(t, 0, 1, 0)
		got := storedObservations[assay.CodingDay](t, db, assay.FamilyCoding)
		if !slices.Equal(got, []assay.CodingDay{want}) {
			t.Errorf("%s became %+v, want %+v", name, got, want)
		}
	}
	f("a.csv", "date,tool,prs,merged,commits\n2026-01-02,cc,200,150,900\n")
	f("a.csv.gz", gz(t, "commits,merged,prs,tool,date\n900,150,200,cc,2026-01-02 00:00:00\n"))
	f("a.ndjson", jsonLine(goodCoding))
	f("a.jsonl", `{"date":"2026-01-02","tool":"cc","prs":200,"merged":150,"commits":900}`)
	columns, row := stringColumns(coding.Family.Schema.Names()), textRow(goodCoding)
	columns["date"], row["date"] = parquet.Date(), int32(want.Day/assay.Day)
	columns["prs"], row["prs"] = parquet.Int(64), int64(200)
	f("a.parquet", parquetFile(t, columns, []map[string]any{row}))
	columns["date"], row["date"] = parquet.Timestamp(parquet.Nanosecond), want.Day*1_000_000
	f("b.parquet", parquetFile(t, columns, []map[string]any{row}))
}

func TestCoding_Rejects(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testCodingRejects)
}

func testCodingRejects(t *testing.T, db *store.DB) {
	f := func(field, value, reason string) {
		t.Helper()
		out := importInto(t, db, coding.Family, false, "a.ndjson", jsonLine(goodCoding)+jsonLine(changed(goodCoding, field, value)))
		if len(out.rejects) != 1 || out.rejects[0].Line != 2 || out.rejects[0].Reason != reason || out.err != nil {
			t.Errorf("%s %q is rejected as %+v (%v), want %s", field, value, out.rejects, out.err, reason)
		}
	}
	const counts = ": must be an integer from 0 to 50000000"
	f("date", "", `date is missing`)
	f("date", "2026-02-30", `date "2026-02-30" is not a day such as 2026-01-31`)
	f("date", "2026-01-02T10:00:00Z", `date "2026-01-02T10:00:00Z" has a time of day: must be a day such as 2026-01-31`)
	f("date", "2026-02-02", `date 2026-02-02T00:00:00.000Z is in the future`)
	f("date", "1999-12-31", `date 1999-12-31T00:00:00.000Z is before the year 2000`)
	f("tool", "", `tool is missing`)
	f("tool", "vim", `tool "vim" is not in the catalog: must be one of cc, codex, copilot, cursor, devin`)
	f("prs", "", `prs is missing`)
	f("prs", "-1", `prs -1 is out of bounds`+counts)
	f("prs", "50000001", `prs 50000001 is out of bounds`+counts)
	f("prs", "1,000", `prs "1,000" is not a plain decimal number`+counts)
	f("merged", "201", `merged 201 is greater than prs 200`)
	f("merged", "", `merged is missing`)
	f("merged", "75%", `merged "75%" is not a plain decimal number: must be an integer from 0 to prs`)
	f("merged", "-1", `merged -1 is out of bounds: must be an integer from 0 to prs`)
	f("commits", "", `commits is missing`)
	f("commits", "0.5", `commits "0.5" has more than 0 decimals`+counts)
	f("commits", "50000001", `commits 50000001 is out of bounds`+counts)
	f("prs", "300", `the day 2026-01-02 of tool "cc" is known with different content; the first version stays. Use --revise to add a new revision.`)
	if got := storedObservations[assay.CodingDay](t, db, assay.FamilyCoding); len(got) != 1 || got[0].PRs != 200 {
		t.Errorf("stored are %+v, want the good day", got)
	}
	importInto(t, db, coding.Family, true, "a.ndjson", jsonLine(changed(goodCoding, "prs", "300"))).want(t, 1, 0, 0)
	if got := storedObservations[assay.CodingDay](t, db, assay.FamilyCoding); len(got) != 2 || got[1].PRs != 300 {
		t.Errorf("stored are %+v, want both revisions", got)
	}
}

func TestCoding_MissingColumns(t *testing.T) {
	t.Parallel()
	wantMissing(t, coding.Family)
}

// TestParquet_DayIsNoInstant: a DATE says no time of day, which an instant needs.
func TestParquet_DayIsNoInstant(t *testing.T) {
	t.Parallel()
	columns, row := stringColumns(memory.Family.Schema.Names()), textRow(goodMemory)
	columns["recorded_at"], row["recorded_at"] = parquet.Date(), int32(20455)
	out := importInto(t, storetest.Open(t), memory.Family, false, "a.parquet",
		parquetFile(t, columns, []map[string]any{row}))
	if len(out.rejects) != 1 || !strings.Contains(out.rejects[0].Reason, `recorded_at "2026-01-02" has no time of day`) {
		t.Errorf("rejected are %+v (%v)", out.rejects, out.err)
	}
}

// FuzzCodingCells checks that every accepted row is plausible and survives storage unchanged.
func FuzzCodingCells(f *testing.F) {
	f.Add("2026-01-02", "cc", "200", "150", "900")
	f.Add("2026-01-02T00:00:00+00:00", "devin", "0", "0", "0")
	f.Add("2026-01-02T10:00:00+10:00", "codex", "1.0", "-0", "50000000")
	f.Add("9999-12-31", "", "1e9", "２", "99999999999999999999")
	c := family.NewChecker(assay.DefaultCatalog(), "", func() int64 { return notAfter })
	f.Fuzz(func(t *testing.T, date, tool, opened, merged, commits string) {
		var d, again assay.CodingDay
		cells := []string{date, tool, opened, merged, commits}
		if coding.Family.Parse(c, cells, &d) != nil || coding.Family.Check(c, &d) != nil {
			return
		}
		if d.Day%assay.Day != 0 || d.Day > notAfter || d.Merged < 0 || d.Merged > d.PRs || d.PRs > 50_000_000 || d.Commits < 0 || d.Commits > 50_000_000 {
			t.Errorf("%q, %q, %q, %q and %q became %+v", date, tool, opened, merged, commits, d)
		}
		body, err := json.Marshal(&d)
		if err == nil {
			err = json.Unmarshal(body, &again)
		}
		if err != nil || again != d {
			t.Errorf("%+v is read back as %+v (%v)", d, again, err)
		}
	})
}
