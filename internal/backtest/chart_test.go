package backtest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
)

var update = flag.Bool("update", false, "write the golden files")

// noisy makes a comparison with random prices.
func noisy(gpus, days int) *Comparison {
	c := &Comparison{Candidate: "2.0.0", Published: []string{"1.0.0"}}
	random := rand.New(rand.NewPCG(1, 2))
	for g := range gpus {
		line := Series{Name: fmt.Sprintf("GPU %d", g)}
		for d := range days {
			price := assay.Nanos(2_000_000_000 + random.Int64N(900_000_000))
			line.Days = append(line.Days, Day{
				At: marchUTC(5, 21) + int64(d)*assay.Day, Base: price, HasBase: true,
				Candidate: price + assay.Nanos(random.Int64N(200_000_000)-100_000_000), HasCandidate: true,
			})
		}
		c.Series = append(c.Series, line)
	}
	return c
}

// The golden file shows two GPUs over a month, with a gap, days without a candidate value, and a spike.
func TestChart_Golden(t *testing.T) {
	t.Parallel()
	c := noisy(2, 30)
	c.Series[0].Name, c.Series[1].Name = "H100 SXM", "RTX PRO 6000 WS"
	c.Series[0].Days[11].Candidate += assay.One
	c.Series[1].Days[5].HasCandidate, c.Series[1].Days[6].HasCandidate = false, false
	c.Series[1].Days = append(c.Series[1].Days[:14], c.Series[1].Days[20:]...)
	got := c.Chart("A note.")
	const file = "testdata/backtest.svg"
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); go test ./internal/backtest -update updates it:\n%s", file, diff)
	}
}

func TestChart_IsPlainSVG(t *testing.T) {
	t.Parallel()
	c := noisy(3, 40)
	c.Candidate, c.Against = "2.0--draft-", "1.0"
	c.Series[1].Name = `<script>"A" & B</script>`
	svg := c.Chart("<b>")
	if first, _, _ := strings.Cut(string(svg), "\n"); first != ChartMark {
		t.Errorf("the first line is %s, want %s", first, ChartMark)
	}
	allowed := regexp.MustCompile(`^(svg|title|rect|text|g|path|circle)$`)
	attribute := regexp.MustCompile(
		`^(xmlns|version|width|height|viewBox|font-.*|fill.*|stroke.*|text-anchor|transform|d|x|y|cx|cy|r)$`)
	var text strings.Builder
	for reader := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := reader.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !allowed.MatchString(token.Name.Local) {
				t.Errorf("there is an element %s", token.Name.Local)
			}
			for _, a := range token.Attr {
				if !attribute.MatchString(a.Name.Local) || strings.Contains(a.Value, "url(") {
					t.Errorf("there is an attribute %s=%q of %s", a.Name.Local, a.Value, token.Name.Local)
				}
			}
		case xml.CharData:
			text.Write(token)
			text.WriteByte('\n')
		}
	}
	for _, want := range []string{
		"Methodology 2.0--draft- against version 1.0", "2026-03-05 to 2026-04-13", "GPU 0", `<script>"A" & B</script>`,
		"GPU 2", "<b>", "candidate 2.0--draft-",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "without a candidate value") {
		t.Error("the legend explains a mark that is not used")
	}
}

func TestChart_Size(t *testing.T) {
	t.Parallel()
	f := func(days, most int) {
		t.Helper()
		if size := len(noisy(6, days).Chart("")); size > most {
			t.Errorf("%d days of six GPUs are %d bytes, want at most %d", days, size, most)
		}
	}
	f(731, 130_000)
	f(maxDays, 140_000)
	f(20*365, 130_000)
}

func TestChart_NothingToShow(t *testing.T) {
	t.Parallel()
	c := noisy(1, 1)
	c.Series[0].Days[0] = neither(marchUTC(5, 21))
	svg := string(c.Chart(""))
	if !strings.Contains(svg, "No day of this period has a value.") || strings.Contains(svg, "GPU 0") {
		t.Errorf("a comparison without a value gives\n%s", svg)
	}
}

func TestBaseName(t *testing.T) {
	t.Parallel()
	f := func(against, want string, published ...string) {
		t.Helper()
		if got := (&Comparison{Against: against, Published: published}).BaseName(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("1.0.0", "version 1.0.0", "1.0.0", "1.1.0")
	f("", "published values (1.0.0)", "1.0.0")
	f("", "published values (1.0.0 to 2.0.0)", "1.0.0", "1.1.0", "2.0.0")
	labs := &Comparison{Index: "otpi", Published: []string{"1.0.0", "2.0.0"}}
	if got, want := labs.BaseName(), "current values (1.0.0 to 2.0.0)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A line has a gap where a value is missing, and a value between two missing ones is a dot.
func TestChart_Gaps(t *testing.T) {
	t.Parallel()
	f := func(pattern, want string) {
		t.Helper()
		var days []Day
		for i, c := range pattern {
			days = append(days, Day{At: int64(i) * assay.Day, Base: assay.One, HasBase: c == 'x'})
		}
		d := &chart{}
		frame := frame{width: 10, height: 10, first: 0, last: 10 * assay.Day, low: 0, high: 2 * assay.One}
		d.series(frame, days, "", func(day *Day) (assay.Nanos, bool) { return day.Base, day.HasBase })
		_, got, _ := strings.Cut(d.String(), ` d="`)
		if got = strings.TrimSuffix(got, "\"/>\n"); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
	f("", "")
	f("...", "")
	f("xxx", "M0 50h0l10 0l10 0")
	f("xx.xx", "M0 50h0l10 0M30 50h0l10 0")
	f("x.x", "M0 50h0M20 50h0")
	f(".xx.", "M10 50h0l10 0")
}

func TestChart_Differences(t *testing.T) {
	t.Parallel()
	f := func(lost bool, want string, days ...Day) {
		t.Helper()
		for i := range days {
			days[i].At = int64(i) * assay.Day
		}
		d := &chart{lost: lost}
		d.differences(frame{
			width: 10, height: 10, first: 0, last: 10 * assay.Day, low: -10 * assay.One, high: 10 * assay.One,
		}, days)
		var got []string
		for _, path := range regexp.MustCompile(` d="([^"]*)"`).FindAllStringSubmatch(d.String(), -1) {
			got = append(got, path[1])
		}
		if text := strings.Join(got, " and "); text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
	f(false, "M0 50l0 -25l10 50l0 -25z", both(0, "2", "2.1"), both(0, "2", "1.9"))
	f(true, "M0 50l0 -25l0 25zM20 50l0 0l0 0z and M10 40l0 60", both(0, "2", "2.1"), onlyBase(0, "2"), both(0, "2", "2"))
}

func TestWithGaps(t *testing.T) {
	t.Parallel()
	days := []Day{
		both(marchUTC(7, 21), "1", "1"), both(marchUTC(8, 20), "1", "1"), both(marchUTC(9, 20), "1", "1"),
		both(marchUTC(20, 20), "1", "1"),
	}
	want := []Day{days[0], days[1], days[2], neither(marchUTC(10, 20)), days[3]}
	if diff := cmp.Diff(want, withGaps(days)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReduce(t *testing.T) {
	t.Parallel()
	days := noisy(1, maxDays).Series[0].Days
	if diff := cmp.Diff(days, reduce(days)); diff != "" {
		t.Errorf("days that fit are dropped (-want +got):\n%s", diff)
	}
	days = noisy(1, 5000).Series[0].Days
	f := func(what string, at int, change func(*Day)) {
		t.Helper()
		before := days[at]
		change(&days[at])
		kept := reduce(days)
		if len(kept) > 1000 {
			t.Errorf("%s: %d days are left", what, len(kept))
		}
		found := false
		for i := range kept {
			found = found || kept[i] == days[at]
			if i > 0 && kept[i].At <= kept[i-1].At {
				t.Fatalf("%s: the days are out of order", what)
			}
		}
		if !found {
			t.Errorf("%s: day %d is dropped", what, at)
		}
		days[at] = before
	}
	f("the first", 0, func(*Day) {})
	f("the last", 4999, func(*Day) {})
	f("a high base", 1234, func(d *Day) { d.Base *= 2 })
	f("a low base", 1235, func(d *Day) { d.Base /= 2 })
	f("a high candidate", 1236, func(d *Day) { d.Candidate *= 2 })
	f("a low candidate", 1237, func(d *Day) { d.Candidate /= 2 })
	f("a difference up", 1238, func(d *Day) { d.Base, d.Candidate = 2_400_000_000, 2_700_000_000 })
	f("a difference down", 1239, func(d *Day) { d.Base, d.Candidate = 2_700_000_000, 2_400_000_000 })
	f("no base", 1240, func(d *Day) { d.HasBase = false })
	f("no candidate", 1241, func(d *Day) { d.HasCandidate = false })
}

func TestTicks(t *testing.T) {
	t.Parallel()
	at := func(day string) int64 {
		ms, err := time.Parse(assay.DayLayout, day)
		if err != nil {
			t.Fatal(err)
		}
		return ms.UnixMilli() + 20*assay.Hour
	}
	f := func(first, last string, width int, want string) {
		t.Helper()
		var labels []string
		for _, tick := range ticks(at(first), at(last), width) {
			labels = append(labels, tick.label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("%s to %s: %s, want %s", first, last, got, want)
		}
	}
	f("2026-03-05", "2026-03-07", 500, "2026-03-05 2026-03-06 2026-03-07")
	f("2026-02-20", "2026-03-20", 500, "2026-02-20 2026-02-27 2026-03-06 2026-03-13 2026-03-20")
	f("2026-01-20", "2026-04-20", 300, "Feb 2026 Mar 2026 Apr 2026")
	f("2024-11-02", "2026-10-31", 500, "Jan 2025 Apr 2025 Jul 2025 Oct 2025 Jan 2026 Apr 2026 Jul 2026 Oct 2026")
	f("2000-06-02", "2026-10-31", 500, "Jan 2005 Jan 2010 Jan 2015 Jan 2020 Jan 2025")
}

func TestNiceStep(t *testing.T) {
	t.Parallel()
	f := func(wish, step string, decimals int) {
		t.Helper()
		if got, n := niceStep(int64(decimal(wish))); got != decimal(step) || n != decimals {
			t.Errorf("%s: %s with %d decimals, want %s with %d", wish, got, n, step, decimals)
		}
	}
	f("0", "0.000000001", 9)
	f("0.0011", "0.002", 3)
	f("0.2", "0.2", 1)
	f("0.21", "0.5", 1)
	f("0.6", "1", 0)
	f("3", "5", 0)
	f("120", "200", 0)
	f("400000000", "500000000", 0)
}

func TestPercent(t *testing.T) {
	t.Parallel()
	f := func(n string, signed bool, want string) {
		t.Helper()
		if got := Percent(decimal(n), signed); got != want {
			t.Errorf("%s: %s, want %s", n, got, want)
		}
	}
	f("0", true, "0.0000")
	f("0.0012", true, "+0.0012")
	f("0.0012", false, "0.0012")
	f("-12.5", true, "-12.5000")
	f("1000000000", true, "+1000000000.0000")
}

// A base near zero gives absurd percentages; the chart must still work.
func TestChart_AbsurdDifference(t *testing.T) {
	t.Parallel()
	c := noisy(1, 3)
	c.Series[0].Days[1] = both(c.Series[0].Days[1].At, "0.0001", "1000")
	svg := string(c.Chart(""))
	level := strings.Contains(svg, ">+1000000000 %<") || strings.Contains(svg, ">+500000000 %<")
	if !level || !strings.Contains(svg, "largest +999999900.0000 %") {
		t.Errorf("the difference is not named:\n%s", svg)
	}
	for _, y := range regexp.MustCompile(`cy="(-?\d+)"`).FindAllStringSubmatch(svg, -1) {
		if y[1] < "300" || y[1] > "500" || len(y[1]) != 3 {
			t.Errorf("the ring is at %s", y[1])
		}
	}
}
