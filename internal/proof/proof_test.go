package proof

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
)

// hashOf makes a hash that is easy to recognize.
func hashOf(b byte) (h assay.Hash) {
	for i := range h {
		h[i] = b
	}
	return h
}

func exampleTransaction() assay.Transaction {
	return assay.Transaction{
		Source: "desk-7", ID: "T/0042", ExecutedAt: 1_768_403_400_250, GPU: "H100 SXM", Region: "us-east",
		Price: 2_350_000_001, GPUs: 8, HourMicros: 12_500_000, Provider: "Acme Ünlimited", Verified: true, Receipt: 7,
	}
}

// Operators and auditors reproduce the texts below to check a value. A changed text would invalidate every published
// hash.

func TestAppendTransaction_Text(t *testing.T) {
	t.Parallel()
	tr := exampleTransaction()
	const want = "desk-7\tT/0042\t2026-01-14T15:10:00.250Z\tH100 SXM\tus-east\t2.350000001\t8\t12.5\tAcme Ünlimited"
	if got := string(AppendTransaction([]byte("before "), &tr)); got != "before "+want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	if got := Transaction(&tr); got != sha256.Sum256([]byte(want)) {
		t.Errorf("the digest %x is not the digest of the text", got)
	}
	tr.Region = ""
	if got := string(AppendTransaction(nil, &tr)); !strings.Contains(got, "\tH100 SXM\t\t2.35") {
		t.Errorf("without a region the text is %q", got)
	}
	// Longer than the buffer that the digest is computed in.
	tr.Provider = strings.Repeat("long ", 200)
	if got := Transaction(&tr); got != sha256.Sum256(AppendTransaction(nil, &tr)) {
		t.Error("the digest of a long transaction is not the digest of its text")
	}
}

func exampleRecord() assay.Determination {
	return assay.Determination{
		Line: assay.Line{GPU: "H100 SXM", Region: "us-east"}, Grain: assay.Hourly,
		At: 1_768_406_400_000, From: 1_768_402_800_000, Revision: 2, Methodology: "1.0.0", DelaySeconds: 5, Receipt: 17,
		PublishedAt: 1_768_406_400_123, HasValue: true, Value: 2_350_100_000,
		Transactions: 12, HourMicros: 480_500_000, Providers: 3, HHI: 4321,
		Low: 1_990_000_000, High: 2_999_999_999, Median: 2_340_000_000,
		Excluded: assay.Exclusions{Unverified: 4, Withdrawn: 1}, Adjusted: assay.Adjustments{Winsorized: 5, Capped: 6},
		Inputs: hashOf(0xab), Previous: hashOf(0xcd), Hash: hashOf(0xef),
	}
}

func TestAppendRecord_Text(t *testing.T) {
	t.Parallel()
	d := exampleRecord()
	want := `{"gpu_type":"H100 SXM","region":"us-east","granularity":"hourly","timestamp":"2026-01-14T16:00:00.000Z",` +
		`"revision":2,` +
		`"window":{"from":"2026-01-14T15:00:00.000Z","to":"2026-01-14T16:00:00.000Z"},"methodology":"1.0.0",` +
		`"publication_delay_seconds":5,"receipt":17,` +
		`"index_value":2.3501,"transactions":12,"gpu_hours":480.5,"providers":3,"hhi":4321,` +
		`"lowest_price":1.99,"highest_price":2.999999999,"median_price":2.34,` +
		`"excluded":{"unverified":4,"withdrawn":1},"adjusted":{"winsorised":5,"capped":6},` +
		`"inputs_digest":"` + strings.Repeat("ab", 32) + `","published_at":"2026-01-14T16:00:00.123Z",` +
		`"previous_hash":"` + strings.Repeat("cd", 32) + `"}`
	if got := string(AppendRecord([]byte("before "), &d)); got != "before "+want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if got := Record(&d); got != sha256.Sum256([]byte(want)) {
		t.Errorf("the hash %x is not the hash of the text", got)
	}
	published := strings.TrimSuffix(want, "}") + `,"hash":"` + strings.Repeat("ef", 32) + `"}`
	if got := string(AppendJSON(nil, &d)); got != published {
		t.Errorf("it is published as\n%s, want\n%s", got, published)
	}
}

// Records of releases that had no delay keep their text, and so their hash.
func TestAppendRecord_WithoutDelay(t *testing.T) {
	t.Parallel()
	d := exampleRecord()
	d.DelaySeconds = 0
	if got := string(AppendRecord(nil, &d)); !strings.Contains(got, `"methodology":"1.0.0","receipt":17,`) {
		t.Errorf("got %s", got)
	}
}

// A record without a value has no prices, whatever the fields hold.
func TestAppendRecord_WithoutValue(t *testing.T) {
	t.Parallel()
	d := exampleRecord()
	d.HasValue = false
	got := string(AppendRecord(nil, &d))
	for _, name := range []string{"index_value", "lowest_price", "highest_price", "median_price"} {
		if !strings.Contains(got, `"`+name+`":null,`) {
			t.Errorf("%s is not null in %s", name, got)
		}
	}
}

type adjustedJSON struct {
	Winsorized int `json:"winsorised"`
	Capped     int `json:"capped"`
}

// recordJSON is a record as any program would read it.
type recordJSON struct {
	GPU         string                    `json:"gpu_type"`
	Region      string                    `json:"region"`
	Granularity string                    `json:"granularity"`
	Timestamp   string                    `json:"timestamp"`
	Revision    int                       `json:"revision"`
	Window      struct{ From, To string } `json:"window"`
	Methodology string                    `json:"methodology"`
	Delay       int                       `json:"publication_delay_seconds"`
	Receipt     int64                     `json:"receipt"`
	Value       *assay.Nanos              `json:"index_value"`
	Counted     int                       `json:"transactions"`
	Hours       json.Number               `json:"gpu_hours"`
	Providers   int                       `json:"providers"`
	HHI         int                       `json:"hhi"`
	Low         *assay.Nanos              `json:"lowest_price"`
	High        *assay.Nanos              `json:"highest_price"`
	Median      *assay.Nanos              `json:"median_price"`
	Excluded    assay.Exclusions          `json:"excluded"`
	Adjusted    adjustedJSON              `json:"adjusted"`
	Inputs      string                    `json:"inputs_digest"`
	Published   string                    `json:"published_at"`
	Previous    string                    `json:"previous_hash"`
	Hash        string                    `json:"hash"`
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func TestAppendJSON_ParsesBack(t *testing.T) {
	t.Parallel()
	price := func(n assay.Nanos, known bool) *assay.Nanos {
		if !known {
			return nil
		}
		return &n
	}
	f := func(d assay.Determination) {
		t.Helper()
		var got recordJSON
		decode(t, AppendJSON(nil, &d), &got)
		hours := new(big.Rat).SetFrac64(d.HourMicros, 1_000_000)
		if read, ok := new(big.Rat).SetString(got.Hours.String()); !ok || read.Cmp(hours) != 0 {
			t.Errorf("gpu_hours is %s, want %s", got.Hours, hours)
		}
		got.Hours = ""
		want := recordJSON{
			GPU: d.GPU, Region: d.Region, Granularity: d.Grain.String(), Timestamp: assay.FormatInstant(d.At),
			Revision: d.Revision, Methodology: d.Methodology, Delay: d.DelaySeconds, Receipt: d.Receipt,
			Value: price(d.Value, d.HasValue), Counted: d.Transactions, Providers: d.Providers, HHI: d.HHI,
			Low: price(d.Low, d.HasValue), High: price(d.High, d.HasValue), Median: price(d.Median, d.HasValue),
			Excluded: d.Excluded, Adjusted: adjustedJSON(d.Adjusted),
			Inputs: hex.EncodeToString(d.Inputs[:]), Published: assay.FormatInstant(d.PublishedAt),
			Previous: hex.EncodeToString(d.Previous[:]), Hash: hex.EncodeToString(d.Hash[:]),
		}
		want.Window.From, want.Window.To = assay.FormatInstant(d.From), assay.FormatInstant(d.At)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("parsed (-want +got):\n%s", diff)
		}
	}
	f(exampleRecord())
	f(assay.Determination{})
	d := exampleRecord()
	d.HasValue, d.HourMicros = false, math.MaxInt64
	d.GPU, d.Region, d.Methodology = `H100 "quoted" <&>`, "süd\\west\u2028", "\x7f\t"
	f(d)
}

// eachChange changes one field after another by its smallest step, and calls f with the field's name each time. Every
// byte of a hash is a separate field.
func eachChange(v reflect.Value, name string, f func(name string)) {
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			eachChange(v.Field(i), strings.TrimPrefix(name+"."+v.Type().Field(i).Name, "."), f)
		}
		return
	}
	if v.Kind() == reflect.Array || v.Kind() == reflect.Slice {
		for i := range v.Len() {
			eachChange(v.Index(i), name, f)
		}
		return
	}
	before := reflect.New(v.Type()).Elem()
	before.Set(v)
	change(v)
	f(name)
	v.Set(before)
}

func change(v reflect.Value) {
	switch {
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint(): // a grain, or a byte of a hash
		v.SetUint(v.Uint() ^ 1)
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	default:
		v.SetString(v.String() + "x")
	}
}

// checkChanges checks that a change of any field changes the hash, except for the fields in free, which must not.
func checkChanges[T any](t *testing.T, value *T, hash func(*T) assay.Hash, free ...string) {
	t.Helper()
	before, seen := hash(value), map[string]bool{}
	isFree := map[string]bool{}
	for _, name := range free {
		isFree[name] = true
	}
	eachChange(reflect.ValueOf(value).Elem(), "", func(name string) {
		seen[name] = true
		if changed := hash(value) != before; changed == isFree[name] {
			t.Errorf("%T: a changed %s changes the hash: %v", *value, name, changed)
		}
	})
	for _, name := range free {
		if !seen[name] {
			t.Errorf("%T has no field %s", *value, name)
		}
	}
	if hash(value) != before {
		t.Fatal("eachChange did not restore every field")
	}
}

func TestHashes_EveryFieldCounts(t *testing.T) {
	t.Parallel()
	tr := exampleTransaction()
	// Whether, why and since when it counts is not part of its content.
	checkChanges(t, &tr, Transaction, "Verified", "Withdrawn", "Evidence", "VerifiedBy", "Receipt")
	d := exampleRecord()
	checkChanges(t, &d, Record, "Hash")
	d.HasValue = false
	checkChanges(t, &d, Record, "Hash", "Value", "Low", "High", "Median")
}

func TestInputs(t *testing.T) {
	t.Parallel()
	batch := make([]assay.Transaction, 200)
	digests := make([]assay.Hash, len(batch))
	for i := range batch {
		batch[i] = exampleTransaction()
		batch[i].GPUs = int64(i)
		digests[i] = Transaction(&batch[i])
	}
	f := func(rows ...int32) assay.Hash {
		t.Helper()
		var text []byte
		for _, row := range rows {
			mark := byte('u')
			if batch[row].Verified {
				mark = 'c'
			} else if batch[row].Withdrawn {
				mark = 'w'
			}
			text = append(append(text, digests[row][:]...), mark)
		}
		got := Inputs(batch, digests, rows)
		if got != sha256.Sum256(text) {
			t.Errorf("the digest of rows %v is not the digest of their digests and marks", rows)
		}
		return got
	}
	f()
	counted := f(0, 1, 2)
	for name, other := range map[string]assay.Hash{
		"another order": f(0, 2, 1), "one fewer": f(0, 1), "one more": f(0, 1, 2, 3), "one twice": f(0, 1, 2, 2),
	} {
		if other == counted {
			t.Errorf("%s gives the same digest", name)
		}
	}
	batch[1].Verified = false
	unverified := f(0, 1, 2)
	batch[1].Withdrawn = true
	withdrawn := f(0, 1, 2)
	if unverified == counted || withdrawn == counted || withdrawn == unverified {
		t.Error("two of the marks give the same digest")
	}
	// The digest is computed in blocks of 64 rows: try counts below, at and above the block ends.
	var rows []int32
	for i := range int32(len(batch)) {
		batch[i].Verified, batch[i].Withdrawn = i%3 == 0, i%3 == 1
		rows = append(rows, i)
		f(rows...)
	}
}

func TestSeal_Chain(t *testing.T) {
	t.Parallel()
	var chain []assay.Determination
	previous := assay.Hash{}
	for i := range 5 {
		d := exampleRecord()
		d.Revision, d.Hash, d.Previous = i, assay.Hash{}, assay.Hash{}
		Seal(&d, previous)
		if d.Previous != previous || d.Hash != Record(&d) || d.Hash == previous {
			t.Fatalf("record %d is sealed as %x after %x", i, d.Hash, d.Previous)
		}
		chain, previous = append(chain, d), d.Hash
	}
	// The hash does not depend on the hash that was set before, so sealing again changes nothing.
	again := chain[2]
	Seal(&again, chain[1].Hash)
	if again != chain[2] {
		t.Error("sealing again changes the record")
	}
	// A change of one record requires a change of all records after it.
	chain[1].Value++
	Seal(&chain[1], chain[0].Hash)
	if chain[1].Hash == chain[2].Previous {
		t.Error("a changed record still matches the record after it")
	}
}
