package bulk_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/bulk"
)

func instant(text string) int64 {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return at.UnixMilli()
}

// The same changes in another order make the same revisions.
func TestHistory_Instants(t *testing.T) {
	t.Parallel()
	type added struct {
		at, counts string
		restated   bool
	}
	for _, c := range []struct {
		name    string
		history bulk.History
		changes []added
		moment  string
		want    []string
	}{
		{
			"nothing but what came in time",
			bulk.History{Delay: assay.Day},
			[]added{{"2026-01-05T00:00:00Z", "2026-01-05T00:01:00Z", false}, {"2026-01-31T23:00:00Z", "2026-02-01T00:01:00Z", false}},
			"2026-03-01T00:00:00Z",
			[]string{"2026-02-01T00:01:00Z"},
		},
		{
			"a month that is not complete",
			bulk.History{Delay: assay.Day},
			[]added{{"2026-01-05T00:00:00Z", "2026-01-05T00:01:00Z", false}},
			"2026-02-01T23:59:59Z", nil,
		},
		{
			"a restatement in time is a part of the first revision",
			bulk.History{Delay: assay.Day},
			[]added{{"2026-01-05T00:00:00Z", "2026-01-05T00:01:00Z", false}, {"2026-01-05T00:00:00Z", "2026-01-20T10:00:00Z", true}},
			"2026-03-01T00:00:00Z",
			[]string{"2026-01-20T10:00:00Z"},
		},
		{
			"each restatement makes a revision",
			bulk.History{Delay: assay.Day},
			[]added{
				{"2026-01-05T00:00:00Z", "2026-01-05T00:01:00Z", false},
				{"2026-01-05T00:00:00Z", "2026-02-20T10:00:00Z", true},
				{"2026-01-09T00:00:00Z", "2026-02-20T11:00:00Z", true},
				{"2026-02-09T00:00:00Z", "2026-02-20T12:00:00Z", true},
			},
			"2026-03-09T00:00:00Z",
			[]string{"2026-01-05T00:01:00Z", "2026-02-20T10:00:00Z", "2026-02-20T11:00:00Z"},
		},
		{
			"a history that is published later makes one a day",
			bulk.History{Delay: assay.Day},
			[]added{
				{"2026-01-05T00:00:00Z", "2026-05-05T10:00:00Z", false},
				{"2026-01-06T00:00:00Z", "2026-05-05T11:00:00Z", false},
				{"2026-01-07T00:00:00Z", "2026-05-06T11:00:00Z", false},
			},
			"2026-06-01T00:00:00Z",
			[]string{"2026-05-05T11:00:00Z", "2026-05-06T11:00:00Z"},
		},
		{
			"a publisher that was down has caught up",
			bulk.History{Delay: assay.Day, Follows: true},
			[]added{
				{"2026-01-05T00:00:00Z", "2026-01-05T00:01:00Z", false},
				{"2026-01-31T00:00:00Z", "2026-02-09T10:00:00Z", false},
				{"2026-02-01T00:00:00Z", "2026-02-09T10:00:00Z", false},
			},
			"2026-03-09T00:00:00Z",
			[]string{"2026-02-09T10:00:00Z"},
		},
		{
			"a row that reaches into later months",
			bulk.History{Delay: assay.Day, Reaches: true},
			[]added{
				{"2025-12-05T00:00:00Z", "2026-02-20T10:00:00Z", true}, {"2026-01-05T00:00:00Z", "2026-01-05T00:01:00Z", false},
			},
			"2026-03-09T00:00:00Z",
			[]string{"2026-01-05T00:01:00Z", "2026-02-20T10:00:00Z"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				h := c.history
				rand.Shuffle(len(c.changes), func(i, j int) { c.changes[i], c.changes[j] = c.changes[j], c.changes[i] })
				for _, a := range c.changes {
					h.Add(instant(a.at), instant(a.at), instant(a.counts), a.restated)
				}
				var got []string
				for _, at := range h.Instants(bulk.MonthOf(instant("2026-01-15T00:00:00Z")), instant(c.moment)) {
					got = append(got, time.UnixMilli(at).UTC().Format(time.RFC3339))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
}

func TestMonth(t *testing.T) {
	t.Parallel()
	f := func(at, want, begins, ends string) {
		t.Helper()
		m := bulk.MonthOf(instant(at))
		if m.String() != want || m.Begins() != instant(begins) || m.Ends() != instant(ends) {
			t.Errorf("%s: %s from %d to %d", at, m, m.Begins(), m.Ends())
		}
	}
	f("2026-12-31T23:59:59Z", "2026-12", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z")
	f("2027-01-01T00:00:00Z", "2027-01", "2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z")
	f("2024-02-29T12:00:00Z", "2024-02", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z")
}

func TestFitsName(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0123456789abcdef", 4)
	r := bulk.Revision{Dataset: "gpu-daily", Month: bulk.MonthOf(instant("2026-01-01T00:00:00Z")), Hash: [32]byte{1, 2}}
	f := func(want bool, name, dataset, month, sha256 string) {
		t.Helper()
		if got := bulk.FitsName(name, dataset, month, sha256); got != want {
			t.Errorf("%s of %s in %s: %t", name, dataset, month, got)
		}
	}
	f(true, r.Name(), r.Dataset, r.Month.String(), r.SHA256())
	f(true, "a-2026-01-0123456789abcdef.parquet", "a", "2026-01", hash)
	f(false, "a-2026-01-0123456789abcdee.parquet", "a", "2026-01", hash)
	f(false, "a-2026-01-0123456789abcdef.exe", "a", "2026-01", hash)
	f(false, "../a-2026-01-0123456789abcdef.parquet", "../a", "2026-01", hash)
	f(false, "-2026-01-0123456789abcdef.parquet", "", "2026-01", hash)
	f(false, "a-2026-01-.parquet", "a", "2026-01", "")
}

// A file is made once, and only with the bytes that its hash promises.
func TestShelf(t *testing.T) {
	t.Parallel()
	var m bulk.Meter
	_, _ = io.WriteString(&m, "the file")
	r := &bulk.Revision{Dataset: "a", Size: m.Size, Hash: m.Hash()}
	s, made := bulk.NewShelf(), 0
	write := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			made++
			_, _ = io.WriteString(w, text)
			return err
		}
	}
	broken := errors.New("broken")
	if _, err := s.Open(r, write("the file", broken)); !errors.Is(err, broken) || s.Has(r) {
		t.Errorf("%v", err)
	}
	if _, err := s.Open(r, write("another file", nil)); err == nil || s.Has(r) {
		t.Error("other bytes were taken for the file")
	}
	for range 2 {
		content, err := s.Open(r, write("the file", nil))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(io.NewSectionReader(content, 4, 100))
		if err != nil || string(text) != "file" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if made != 3 || !s.Has(r) {
		t.Errorf("made %d times", made)
	}
}
