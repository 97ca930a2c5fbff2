package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// notAfter is the clock of these tests: 2026-02-01.
var notAfter = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// outcome is what an import reported.
type outcome struct {
	Counts
	rejects []Reject
	err     error
}

func testOptions(db *store.DB, out *outcome) Options {
	return Options{
		Store: db, Catalog: assay.DefaultCatalog(), Source: "desk", NotAfter: func() int64 { return notAfter },
		Rejected: func(r Reject) error {
			out.rejects = append(out.rejects, r)
			return nil
		},
	}
}

func importFile(t *testing.T, db *store.DB, name, content string) (out outcome) {
	t.Helper()
	im := Transactions(testOptions(db, &out))
	out.err = im.File(t.Context(), name, strings.NewReader(content))
	out.Counts = im.Counts()
	return out
}

// want checks the counts, that they add up to the rows, and that nothing else went wrong.
func (o outcome) want(t *testing.T, inserted, duplicates, rejected int) {
	t.Helper()
	if want := (Counts{Inserted: inserted, Duplicates: duplicates, Rejected: rejected}); o.Counts != want || o.err != nil {
		t.Errorf("imported %+v (%v), want %+v; rejects %+v", o.Counts, o.err, want, o.rejects)
	}
	if len(o.rejects) != o.Rejected {
		t.Errorf("%d rejects were told and %d counted", len(o.rejects), o.Rejected)
	}
}

func stored(t *testing.T, db *store.DB) (all []assay.Transaction) {
	t.Helper()
	received, err := db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range received {
		if x.Receipt = 0; x.Verified {
			all = append(all, x)
		}
	}
	return all
}

// trimmedCells are the cells of a row as they are reported.
func trimmedCells(row map[string]string) (cells []string) {
	for _, column := range TransactionColumns {
		cells = append(cells, strings.TrimSpace(row[column]))
	}
	return cells
}

// good is the row that the tests vary, and goodTransaction what becomes of it.
func good() map[string]string {
	return map[string]string{
		"id": "t-1", "source": "exchange", "executed_at": "2026-01-02T03:04:05.678Z", "gpu_name": "H100 SXM",
		"region": "us-east", "price": "2.35", "gpus": "8", "hours": "24.5", "provider": "Acme", "verified": "true",
	}
}

func goodTransaction() assay.Transaction {
	return assay.Transaction{
		Source: "exchange", ID: "t-1", GPU: "H100 SXM", Region: "us-east", Provider: "Acme", Verified: true,
		ExecutedAt: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC).UnixMilli(),
		Price:      2_350_000_000, GPUs: 8, HourMicros: 24_500_000,
	}
}

// with is the good row with a field changed.
func with(field, value string) map[string]string {
	row := good()
	row[field] = value
	return row
}

var csvHeaderLine = strings.Join(TransactionColumns, ",") + "\n"

func csvLine(row map[string]string) string {
	var cells []string
	for _, column := range TransactionColumns {
		cells = append(cells, `"`+strings.ReplaceAll(row[column], `"`, `""`)+`"`)
	}
	return strings.Join(cells, ",") + "\n"
}

func jsonLine(row map[string]string) string {
	line, err := json.Marshal(row)
	if err != nil {
		panic(err) // strings can be encoded
	}
	return string(line) + "\n"
}

func TestCSV_GoodRows(t *testing.T) {
	t.Parallel()
	f := func(content string, change func(*assay.Transaction)) {
		t.Helper()
		db, want := storetest.Open(t), goodTransaction()
		change(&want)
		importFile(t, db, "a.csv", content).want(t, 1, 0, 0)
		if got := stored(t, db); !slices.Equal(got, []assay.Transaction{want}) {
			t.Errorf("%s\nbecame %+v, want %+v", content, got, want)
		}
	}
	const head = "id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n"
	same := func(*assay.Transaction) {}
	f(head+"t-1,exchange,2026-01-02T03:04:05.678Z,H100 SXM,us-east,2.35,8,24.5,Acme,true", same)
	f(head+" t-1 ,exchange\t, 2026-01-02 03:04:05.678,H100 SXM,us-east,2.350,08,24.5000000000,Acme,TRUE\n", same)
	f(head+`"t-1",exchange,2026-01-02T04:04:05.678+01:00,"H100 SXM",us-east,"2.35",8,24.5,Acme,1`, same)
	f(head+`t-1,exchange,2026-01-02T03:04:05.678Z,H100 SXM,us-east,2.35,8.0,24.5,"Acme, ""the"" cloud",true`,
		func(x *assay.Transaction) { x.Provider = `Acme, "the" cloud` })
	f(head+"t-1,,2026-01-02T03:04:05Z,H100 SXM,,2.35,8,24.5,Ürümqi 计算,true",
		func(x *assay.Transaction) {
			x.Source, x.Region, x.Provider, x.ExecutedAt = "desk", "", "Ürümqi 计算", x.ExecutedAt-678
		})
	// Columns in any order and case, the optional ones left out.
	f("Verified, PROVIDER ,reason,hours,gpus,price,gpu_name,executed_at,ID\ntrue,Acme,\"a, b\",24.5,8,2.35,H100 SXM,2026-01-02T03:04:05.678Z,t-1\n",
		func(x *assay.Transaction) { x.Source, x.Region = "desk", "" })
}

func TestNDJSON_GoodRows(t *testing.T) {
	t.Parallel()
	f := func(line string, change func(*assay.Transaction)) {
		t.Helper()
		db, want := storetest.Open(t), goodTransaction()
		change(&want)
		importFile(t, db, "a.ndjson", line).want(t, 1, 0, 0)
		if got := stored(t, db); !slices.Equal(got, []assay.Transaction{want}) {
			t.Errorf("%s\nbecame %+v, want %+v", line, got, want)
		}
	}
	const rest = `"id":"t-1","executed_at":"2026-01-02T03:04:05.678Z","gpu_name":"H100 SXM","provider":"Acme"`
	desk := func(x *assay.Transaction) { x.Source, x.Region = "desk", "" }
	f(jsonLine(good()), func(*assay.Transaction) {})
	f(`{`+rest+`,"price":2.35,"gpus":8,"hours":24.5,"verified":true}`, desk)
	f(` { "reason": {"a":[1]}, `+rest+`, "price":"2.35","gpus":"8","hours":"24.5","verified":"true","region":null,"source":null } `, desk)
	f(`{`+rest+`,"price":2.35,"gpus":8,"hours":24.5,"verified":1,"source":"\u0065xchange","region":"us-east"}`, func(*assay.Transaction) {})
	f(`{`+strings.Replace(rest, `"t-1"`, `12345678901234567890`, 1)+`,"price":2.35,"gpus":8,"hours":24.5,"verified":true}`,
		func(x *assay.Transaction) { desk(x); x.ID = "12345678901234567890" })
	f(strings.ReplaceAll(jsonLine(good()), `":"`, `":" \t`), func(*assay.Transaction) {}) // cells are trimmed as in CSV
	f(strings.ReplaceAll(jsonLine(good()), `"id"`, `"ID"`), func(*assay.Transaction) {})
	f(`{"reason":[{"id":"]}\"","a":[[],{}]}],`+strings.ReplaceAll(rest, "Acme", `\u0041cme\n`)+`,"reason":null , "price" : 2.35 ,"gpus":8,"hours":24.5,"verified":true}`, desk)
	// Numbers are exact where a float64 would not be.
	f(`{`+rest+`,"price":999.999999999,"gpus":8,"hours":99999.999999,"verified":true}`,
		func(x *assay.Transaction) { desk(x); x.Price, x.HourMicros = 999_999_999_999, 99_999_999_999 })
}

// The last believable values are taken.
func TestBounds_Taken(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	var content strings.Builder
	f := func(field, value string) {
		row := good()
		row["id"] = fmt.Sprint(content.Len()) // another one for every row
		row[field] = value
		content.WriteString(jsonLine(row))
	}
	f("id", strings.Repeat("é", 64))
	f("source", strings.Repeat("s", 128))
	f("provider", strings.Repeat("p", 128))
	f("price", "0.0001")
	f("price", "1000")
	f("gpus", "1")
	f("gpus", "1000000")
	f("hours", "0.000001")
	f("hours", "100000")
	f("executed_at", "2000-01-01T00:00:00Z")
	f("executed_at", assay.FormatInstant(notAfter))
	f("verified", "false")
	f("verified", "0")
	importFile(t, db, "bounds.jsonl", content.String()).want(t, 13, 0, 0)
	if n := len(stored(t, db)); n != 11 {
		t.Errorf("%d rows are verified, want 11 of 13", n)
	}
}

func TestRejects_EveryReason(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testRejectsEveryReason)
}

func testRejectsEveryReason(t *testing.T, db *store.DB) {
	f := func(field, value, reason string) {
		t.Helper()
		row := with(field, value)
		for name, content := range map[string]string{
			"in/bad.csv":    csvHeaderLine + csvLine(good()) + csvLine(row) + csvLine(with("id", "t-2")),
			"in/bad.ndjson": "\n" + jsonLine(good()) + jsonLine(row) + jsonLine(with("id", "t-2")),
		} {
			out := importFile(t, db, name, content)
			want := []Reject{{
				File: name, Line: 3, Reason: reason, Cells: trimmedCells(row), Conflict: strings.Contains(reason, "is known with"),
			}}
			if !reflect.DeepEqual(out.rejects, want) {
				t.Errorf("%s %q: got\n%+v, want\n%+v", field, value, out.rejects, want)
			}
			if out.Inserted+out.Duplicates != 2 || out.err != nil {
				t.Errorf("%s %q: the good rows beside it became %+v (%v)", field, value, out.Counts, out.err)
			}
		}
	}
	const (
		prices    = "from 0.0001 to 1000 USD per GPU-hour, with up to 9 decimals"
		numbers   = "an integer from 1 to 1000000"
		durations = "greater than 0 and at most 100000, with up to 6 decimals"
	)
	long := strings.Repeat("x", 129)
	f("id", "", `id is missing`)
	f("id", long, `id is longer than 128 bytes`)
	f("source", long, `source is longer than 128 bytes`)
	f("provider", "", `provider is missing`)
	f("provider", long, `provider is longer than 128 bytes`)
	f("executed_at", "", `executed_at is missing`)
	f("executed_at", "yesterday", `executed_at "yesterday" is not an ISO 8601 date-time such as 2026-01-31T16:00:00Z`)
	f("executed_at", "2026-02-30T00:00:00Z", `executed_at "2026-02-30T00:00:00Z" is not an ISO 8601 date-time such as 2026-01-31T16:00:00Z`)
	f("executed_at", "2026-01-01", `executed_at "2026-01-01" has no time of day`)
	f("executed_at", "1999-12-31T23:59:59.999Z", `executed_at 1999-12-31T23:59:59.999Z is before the year 2000`)
	f("executed_at", "2026-02-01T00:00:00.001Z", `executed_at 2026-02-01T00:00:00.001Z is in the future`)
	f("gpu_name", "", `gpu_name "" is not in the catalog: must be one of H100 SXM, H200, A100 SXM4, RTX 5090, B200, RTX PRO 6000 WS`)
	f("gpu_name", "h100 sxm", `gpu_name "h100 sxm" is not in the catalog: must be one of H100 SXM, H200, A100 SXM4, RTX 5090, B200, RTX PRO 6000 WS`)
	f("region", "mars", `region "mars" is not in the catalog: must be one of us-east, us-west, eu-west, eu-north, ap-east, or empty`)
	f("region", "global", `region "global" is not in the catalog: must be one of us-east, us-west, eu-west, eu-north, ap-east, or empty`)
	f("price", "", `price is missing`)
	for _, text := range []string{"1e400", "1e-3", "NaN", "Infinity", "+1", ".5", "5.", "1,5", "0x10", "1_000", "$2.35", "2.35 USD", "2,35", "-Inf", "nan", "--1", "２"} {
		f("price", text, fmt.Sprintf(`price %q is not a plain decimal number: must be %s`, text, prices))
	}
	f("price", "2.3500000001", `price "2.3500000001" has more than 9 decimals: must be `+prices)
	f("price", "99999999999999999", `price "99999999999999999" is too large: must be `+prices)
	f("price", "0", `price 0 is out of bounds: must be `+prices)
	f("price", "-0", `price 0 is out of bounds: must be `+prices)
	f("price", "0.000099999", `price 0.000099999 is out of bounds: must be `+prices)
	f("price", "-1.5", `price -1.5 is out of bounds: must be `+prices)
	f("price", "1000.000000001", `price 1000.000000001 is out of bounds: must be `+prices)
	f("gpus", "", `gpus is missing`)
	f("gpus", "1.5", `gpus "1.5" has more than 0 decimals: must be `+numbers)
	f("gpus", "eight", `gpus "eight" is not a plain decimal number: must be `+numbers)
	f("gpus", "8x", `gpus "8x" is not a plain decimal number: must be `+numbers)
	f("gpus", "0", `gpus 0 is out of bounds: must be `+numbers)
	f("gpus", "-8", `gpus -8 is out of bounds: must be `+numbers)
	f("gpus", "1000001", `gpus 1000001 is out of bounds: must be `+numbers)
	f("hours", "", `hours is missing`)
	f("hours", "0.0000001", `hours "0.0000001" has more than 6 decimals: must be `+durations)
	f("hours", "1h", `hours "1h" is not a plain decimal number: must be `+durations)
	f("hours", "0", `hours 0 is out of bounds: must be `+durations)
	f("hours", "-2.5", `hours -2.5 is out of bounds: must be `+durations)
	f("hours", "100000.000001", `hours 100000.000001 is out of bounds: must be `+durations)
	f("gpus", "40816327", `gpus 40816327 is out of bounds: must be `+numbers)
	f("verified", "", `verified "": must be true or false`)
	f("verified_by", "Audit desk", `verified_by is given, but not the evidence`)
	f("evidence", "invoice", `verified_by is missing`)
	f("evidence", "hearsay",
		`evidence "hearsay": must be one of payment, invoice, order, metering, attestation, judgement, or empty`)
	f("evidence", "judgement", `evidence "judgement": it needs a rationale: import the row as not verified, and use `+
		`assay transaction verify --evidence judgement`)
	f("verified", "yes", `verified "yes": must be true or false`)
	f("price", "3", `id "t-1" of source "exchange" is known with different content; the first version stays`)
	if got := stored(t, db); len(got) != 2 || got[0] != goodTransaction() {
		t.Errorf("stored are %+v, want the two good rows", got)
	}
}

// A row's GPU-hours are bounded beside its GPUs and its hours.
func TestRejects_GPUHours(t *testing.T) {
	t.Parallel()
	row := with("gpus", "1000000")
	row["hours"] = "1000"
	most := jsonLine(row)
	row["hours"] = "1000.000001"
	out := importFile(t, storetest.Open(t), "a.ndjson", most+jsonLine(row))
	out.want(t, 1, 0, 1)
	if want := "gpus 1000000 times hours 1000.000001 is more than 1000000000 GPU-hours, the limit of one row"; out.rejects[0].Reason != want {
		t.Errorf("rejected because %s, want %s", out.rejects[0].Reason, want)
	}
}

func TestRejects_SourceNowhere(t *testing.T) {
	t.Parallel()
	var out outcome
	options := testOptions(storetest.Open(t), &out)
	options.Source = ""
	im := Transactions(options)
	out.err = im.File(t.Context(), "a.csv", strings.NewReader(csvHeaderLine+csvLine(with("source", ""))))
	out.Counts = im.Counts()
	out.want(t, 0, 0, 1)
	if reason := out.rejects[0].Reason; reason != "source is missing" {
		t.Errorf("a row without a source is rejected because %q", reason)
	}
}

// A line that cannot be read as a row is one reject, and the lines around it are not touched.
func TestRejects_BrokenLines(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	importFile(t, db, "good.ndjson", jsonLine(good())+jsonLine(with("id", "t-2"))).want(t, 2, 0, 0)
	f := func(name, head, before, broken, after, reason string) {
		t.Helper()
		out := importFile(t, db, name, head+before+broken+"\n"+after)
		out.want(t, 0, 2, 1)
		if r := out.rejects[0]; r.Line != 3 || r.File != name || !strings.Contains(r.Reason, reason) {
			t.Errorf("rejected is %+v, want line 3 because %q", r, reason)
		}
	}
	csv := func(broken, reason string) {
		t.Helper()
		f("a.csv", csvHeaderLine, csvLine(good()), broken, csvLine(with("id", "t-2")), reason)
	}
	row := strings.TrimSuffix(csvLine(good()), "\n")
	csv(`t-3,"exchange`+row, `column`)
	csv(`"`, `column 2: extraneous or missing " in quoted-field`)
	csv(row+`"`, `extraneous or missing "`)
	csv(`a"b`+row, `bare " in non-quoted-field`)
	csv(row+",more", `13 columns where the header has 12`)
	csv("t-3,exchange", `2 columns where the header has 12`)
	csv("   ", `1 columns where the header has 12`)
	csv("t-3\x00"+row, `the line is not valid UTF-8 text`)
	csv("t-3\xff"+row, `the line is not valid UTF-8 text`)
	csv(strings.Repeat("x", 64<<10), `the line is longer than 65536 bytes`)
	csv(strings.Repeat("é", 200_000), `the line is longer than 65536 bytes`)

	ndjson := func(broken, reason string) {
		t.Helper()
		f("a.ndjson", "\r\n", jsonLine(good()), broken, jsonLine(with("id", "t-2")), reason)
	}
	object := strings.TrimSuffix(jsonLine(good()), "\n")
	const not = `not a JSON object`
	ndjson(`{"id":"t-3"`, not)
	ndjson(object+object, not)
	ndjson(`[`+object+`]`, not)
	ndjson(`7`, not)
	ndjson(`null`, not)
	ndjson(`{"id":"t-3","ID":"t-4"}`, `id occurs twice`)
	ndjson(`{}`, `executed_at is missing`)
	ndjson(`{"price":NaN}`, not)
	ndjson(`{"price":{"usd":1}}`, `price is an object or an array: must be a string, a number, true or false`)
	ndjson(`{"price":[1]}`, `price is an object or an array: must be a string, a number, true or false`)
	ndjson(strings.Replace(object, `"2.35"`, `1e400`, 1), `price "1e400" is not a plain decimal number`)
	ndjson(strings.Replace(object, `"2.35"`, `-0`, 1), `price 0 is out of bounds`)
	ndjson(strings.Replace(object, `"t-1"`, `"t\u0000"`, 1), `id contains U+0000: must be visible characters and plain spaces`)
	ndjson(`{"id":"`+strings.Repeat("x", 64<<10)+`"}`, `the line is longer than 65536 bytes`)
}

func TestLines_EndsMarksAndBlanks(t *testing.T) {
	t.Parallel()
	f := func(name, content string, line int) {
		t.Helper()
		out := importFile(t, storetest.Open(t), name, content)
		out.want(t, 2, 0, 1)
		if got := out.rejects[0].Line; got != line {
			t.Errorf("%q: the bad row is told at line %d, want %d", content, got, line)
		}
	}
	one, two, bad := csvLine(good()), csvLine(with("id", "t-2")), csvLine(with("price", "no"))
	f("a.csv", bom+csvHeaderLine+one+bad+two, 3)
	f("a.csv", csvHeaderLine+"\n\n"+one+"\n"+two+"\n"+bad+"\n\n", 8)
	f("a.csv", strings.ReplaceAll(csvHeaderLine+one+"\n"+two+bad, "\n", "\r\n"), 5)
	f("a.csv", csvHeaderLine+one+two+strings.TrimSuffix(bad, "\n"), 4)
	one, two, bad = jsonLine(good()), jsonLine(with("id", "t-2")), jsonLine(with("price", "no"))
	f("a.jsonl", bom+one+bad+two, 2)
	f("a.jsonl", bom+"\r\n"+one+"\n"+two+"\n"+bad, 6)
	f("a.jsonl", strings.TrimSuffix(bad+one+two, "\n"), 1)
}

func TestFile_HeaderTrouble(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	f := func(content, want string) {
		t.Helper()
		out := importFile(t, db, "a.csv", content)
		if out.err == nil || !strings.Contains(out.err.Error(), "a.csv: "+want) {
			t.Errorf("%.80q gives the error %v, want %s", content, out.err, want)
		}
	}
	for _, column := range []string{"id", "executed_at", "gpu_name", "price", "gpus", "hours", "provider", "verified"} {
		f(strings.Replace(csvHeaderLine, column, "x", 1), fmt.Sprintf("line 1: column %q is missing", column))
	}
	f("price,"+csvHeaderLine, `line 1: column "price" occurs twice`)
	f("Region,"+csvHeaderLine, `line 1: column "region" occurs twice`)
	f("\n"+csvHeaderLine, `line 1: column "id" is missing`)
	f(`"id,source`, `line 1: column 11: extraneous or missing "`)
	f("\xff"+csvHeaderLine, `the line is not valid UTF-8 text`)
	f(strings.Repeat("x", 70_000), `the line is longer than 65536 bytes`)

	importFile(t, db, "empty.csv", "").want(t, 0, 0, 0)
	importFile(t, db, "head.csv", csvHeaderLine).want(t, 0, 0, 0)
	importFile(t, db, "empty.ndjson", "").want(t, 0, 0, 0)
}

func TestFile_Compressed(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	f := func(name, content string, inserted, duplicates int) {
		t.Helper()
		importFile(t, db, name, content).want(t, inserted, duplicates, 0)
	}
	csv, ndjson := csvHeaderLine+csvLine(good()), jsonLine(with("id", "t-2"))
	f("A.CSV", csv, 1, 0)
	f("a.csv.gz", gz(t, csv), 0, 1)
	f("a.CSV.zst", zst(t, csv), 0, 1)
	f("a.ndjson.GZ", gz(t, ndjson), 1, 0)
	f("a.jsonl.zst", zst(t, ndjson), 0, 1)
	// Two concatenated archives are one file, as gzip and zstd treat them.
	f("b.jsonl.gz", gz(t, ndjson)+gz(t, jsonLine(with("id", "t-3"))), 1, 1)
	f("b.jsonl.zst", zst(t, ndjson)+zst(t, jsonLine(with("id", "t-4"))), 1, 1)
}

func gz(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	return packed(t, text, &b, gzip.NewWriter(&b))
}

func zst(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	return packed(t, text, &b, w)
}

func packed(t *testing.T, text string, b *bytes.Buffer, w io.WriteCloser) string {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFile_Unreadable(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	f := func(name, content, want string) {
		t.Helper()
		out := importFile(t, db, name, content)
		if out.err == nil || !strings.Contains(out.err.Error(), name) || !strings.Contains(out.err.Error(), want) {
			t.Errorf("%s gives the error %v, want its name and %q", name, out.err, want)
		}
	}
	const format = "unknown file name extension: must be one of .csv, .ndjson and .jsonl, optionally followed by .gz or .zst, and .parquet"
	f("a", "", format)
	f("a.txt", csvHeaderLine, format)
	f("csv", csvHeaderLine, format)
	f("a.gz", gz(t, csvHeaderLine), format)
	f("a.csv.bz2", "", format)
	f("a.csv.gz", csvHeaderLine, "gzip")
	f("a.csv.zst", csvHeaderLine, "")
	whole := gz(t, jsonLine(good())+strings.Repeat("\n", 5)+jsonLine(with("id", "t-2")))
	f("a.jsonl.gz", whole[:len(whole)-12], "read line")
	if got := stored(t, db); !slices.Equal(got, []assay.Transaction{goodTransaction()}) {
		t.Errorf("stored are %+v, want the row before the end of the truncated file", got)
	}
}

func TestFile_Twice(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testFileTwice)
}

func testFileTwice(t *testing.T, db *store.DB) {
	content := csvHeaderLine + csvLine(good()) + csvLine(with("id", "t-2")) + csvLine(good()) + csvLine(with("gpus", "0"))
	importFile(t, db, "a.csv", content).want(t, 2, 1, 1)
	want := stored(t, db)
	importFile(t, db, "a.csv", content).want(t, 0, 3, 1)
	importFile(t, db, "b.ndjson", jsonLine(good())+jsonLine(with("id", "t-2"))).want(t, 0, 2, 0)
	if got := stored(t, db); !slices.Equal(got, want) {
		t.Errorf("after importing twice stored are %+v, want %+v", got, want)
	}
}

// An import larger than a batch is committed in pieces; broken off between them and repeated, it comes to the same.
func TestFile_SeveralBatches(t *testing.T) {
	t.Parallel()
	var content strings.Builder
	content.WriteString(csvHeaderLine)
	const size, rows = 100, 110
	for i := range rows {
		fmt.Fprintf(&content, "%06d,x,2026-01-02T03:04:05Z,H200,,2.5,1,1,Acme,1,,\n", i)
	}
	content.WriteString("000007,x,2026-01-02T03:04:05Z,H200,,2.6,1,1,Acme,1,,\n") // the first piece has it with another price

	db := storetest.Open(t)
	run := func(ctx context.Context, committed func(), want ...Counts) (out outcome) {
		t.Helper()
		var heard []Counts
		im := Transactions(testOptions(db, &out))
		im.size = size
		im.Committed = func(c Counts) { heard = append(heard, c); committed() }
		out.err = im.File(ctx, "a.csv", strings.NewReader(content.String()))
		out.Counts = im.Counts()
		if !slices.Equal(heard, want) {
			t.Errorf("heard of commits %+v, want %+v", heard, want)
		}
		return out
	}
	ctx, cancel := context.WithCancel(t.Context())
	if out := run(ctx, cancel, Counts{Inserted: size}); !errors.Is(out.err, context.Canceled) {
		t.Errorf("broken off, the import gives the error %v", out.err)
	}
	again := run(t.Context(), func() {},
		Counts{Duplicates: size}, Counts{Inserted: rows - size, Duplicates: size, Rejected: 1})
	again.want(t, rows-size, size, 1)
	if r := again.rejects[0]; r.Line != rows+2 || r.Cells[0] != "000007" {
		t.Errorf("the changed row is told as %+v, want line %d", r, rows+2)
	}
	if n, err := db.CountTransactions(t.Context()); n != rows || err != nil {
		t.Errorf("%d rows are stored (%v), want %d", n, err, rows)
	}
}

// A feed's transactions are checked like rows; they are reported by source and id.
func TestAdd(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testAdd)
}

func testAdd(t *testing.T, db *store.DB) {
	var out outcome
	im := Transactions(testOptions(db, &out))
	late, changed := goodTransaction(), goodTransaction()
	late.ID, late.ExecutedAt = "late", notAfter+1
	changed.Price++
	for _, x := range []assay.Transaction{goodTransaction(), late, goodTransaction(), changed} {
		if err := im.Add(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := db.CountTransactions(t.Context()); n != 0 || err != nil {
		t.Errorf("%d rows are stored before Flush (%v)", n, err)
	}
	if err := im.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	out.Counts = im.Counts()
	out.want(t, 1, 1, 2)
	want := []Reject{
		{File: "exchange", Reason: `id "late": executed_at 2026-02-01T00:00:00.001Z is in the future`},
		{
			File: "exchange", Conflict: true,
			Reason: `id "t-1" of source "exchange" is known with different content; the first version stays`,
		},
	}
	if !reflect.DeepEqual(out.rejects, want) {
		t.Errorf("rejected are %+v, want %+v", out.rejects, want)
	}
}
