package main

import (
	"context"
	"encoding/csv"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func marketText(t *testing.T, seed uint64, s period, first, last int) string {
	t.Helper()
	var b strings.Builder
	if err := newMarket(seed).write(t.Context(), &b, s, first, last); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarket_FollowsFromTheSeed(t *testing.T) {
	t.Parallel()
	s := period{marketBegin, marketEnd, 1000}
	one := marketText(t, 1, s, 0, 1000)
	if one != marketText(t, 1, s, 0, 1000) {
		t.Error("the same seed gave other rows")
	}
	if one == marketText(t, 2, s, 0, 1000) {
		t.Error("another seed gave the same rows")
	}
	const want = csvHeader + `b7219997-bcc1-4af2-860f-a9ae9e1453f8,bench,2024-11-01T04:10:37.827Z,H100 SXM,eu-north,2.1462,32,100,provider-13,true
f82a4206-d3b9-4fa8-a783-8a8e7945fb4b,bench,2024-11-01T19:35:28.810Z,H100 SXM,ap-east,1.8837,32,81,provider-34,true
`
	if got := marketText(t, 1, s, 0, 2); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Rows by the million take a while; who interrupts does not wait for them.
func TestMarket_Interrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b strings.Builder
	err := newMarket(1).write(ctx, &b, period{marketBegin, marketEnd, 1000}, 0, 1000)
	if !errors.Is(err, context.Canceled) || b.String() != csvHeader {
		t.Errorf("error %v, written\n%s", err, b.String())
	}
}

// A market in two files is the market in one: it grows by what is written next.
func TestMarket_GrowsInPieces(t *testing.T) {
	t.Parallel()
	s := period{marketBegin, marketEnd, 100}
	var b strings.Builder
	m := newMarket(1)
	if err := errors.Join(m.write(t.Context(), &b, s, 0, 30), m.write(t.Context(), &b, s, 30, 100)); err != nil {
		t.Fatal(err)
	}
	if got, want := csvHeader+strings.ReplaceAll(b.String(), csvHeader, ""), marketText(t, 1, s, 0, 100); got != want {
		t.Errorf("in pieces:\n%sin one:\n%s", got, want)
	}
}

func TestMarket_Columns(t *testing.T) {
	t.Parallel()
	const rows = 20000
	text := marketText(t, 1, period{marketBegin, marketEnd, rows}, 0, rows)
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string][]string{}
	for i, name := range records[0] {
		for _, record := range records[1:] {
			columns[name] = append(columns[name], record[i])
		}
	}
	distinct := func(name string, want int) {
		t.Helper()
		values := slices.Clone(columns[name])
		slices.Sort(values)
		if got := len(slices.Compact(values)); got != want {
			t.Errorf("%d different values of %s, want %d", got, name, want)
		}
	}
	distinct("id", rows)
	distinct("source", 1)
	distinct("gpu_name", 6)
	distinct("region", 5)
	distinct("provider", 40)
	distinct("verified", 2)

	each := func(name, pattern string) {
		t.Helper()
		want := regexp.MustCompile("^" + pattern + "$")
		if i := slices.IndexFunc(columns[name], func(v string) bool { return !want.MatchString(v) }); i >= 0 {
			t.Errorf("row %d: %s %q, want %s", i, name, columns[name][i], pattern)
		}
	}
	each("id", `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	each("price", `[0-9]\.[0-9]{4}`)
	each("gpus", `[1-9][0-9]*`)
	each("hours", `[1-9][0-9]*`)

	times := columns["executed_at"]
	if !slices.IsSorted(times) || times[0] < "2024-11-01T00:" || times[0] > "2024-11-01T01:" ||
		times[rows-1] < "2026-10-31T23:" || times[rows-1] >= "2026-11-01" {
		t.Errorf("from %s to %s, sorted: %t", times[0], times[rows-1], slices.IsSorted(times))
	}
	unverified := 0
	for _, v := range columns["verified"] {
		if v == "false" {
			unverified++
		}
	}
	if unverified < rows/60 || unverified > rows/40 {
		t.Errorf("%d of %d are not verified, want about one in 50", unverified, rows)
	}
}

func TestStretch_At(t *testing.T) {
	t.Parallel()
	s := period{marketEnd, marketEnd.Add(time.Hour), 4}
	f := func(i int, within float64, want string) {
		t.Helper()
		if got := s.at(i, within).Format("15:04:05.000"); got != want {
			t.Errorf("at(%d, %v) = %s, want %s", i, within, got, want)
		}
	}
	f(0, 0, "00:00:00.000")
	f(1, 0, "00:15:00.000")
	f(3, 0.9999999999, "00:59:59.999")
}

func TestStretch_Reach(t *testing.T) {
	t.Parallel()
	f := func(rows, i int, want time.Time) {
		t.Helper()
		if got := (period{marketEnd, marketEnd.Add(time.Hour), rows}).reach(i); !got.Equal(want) {
			t.Errorf("the first %d of %d rows reach to %s, want %s", i, rows, got, want)
		}
	}
	f(4, 1, marketEnd.Add(15*time.Minute))
	for rows := 1; rows < 500; rows++ { // some do not divide the hour
		f(rows, rows, marketEnd.Add(time.Hour))
	}
}

func TestAppendPrice(t *testing.T) {
	t.Parallel()
	f := func(tenThousandths int, want string) {
		t.Helper()
		if got := string(appendPrice(nil, tenThousandths)); got != want {
			t.Errorf("appendPrice(%d) = %s, want %s", tenThousandths, got, want)
		}
	}
	f(0, "0.0000")
	f(4400, "0.4400")
	f(29001, "2.9001")
	f(120000, "12.0000")
}
