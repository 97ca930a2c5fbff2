package chart

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a picture with a file under testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); make golden writes it:\n%s", file, diff)
	}
}

const noticed = "Synthetic data: no market price"

// wave is a series of so many points that go up and down around a value.
func wave(first string, points int, step int64, around, height assay.Nanos) (list []assay.Point) {
	at, _, err := assay.ParseInstant(first)
	if err != nil {
		panic(err)
	}
	for i := range points {
		turn := math.Sin(float64(i)/9) + math.Sin(float64(i)/4)/4
		value := around + height*assay.Nanos(math.Round(turn*1000))/1000
		list = append(list, assay.Point{At: at + int64(i)*step, Value: value / 100_000 * 100_000})
	}
	return list
}

// examples are pictures that people look at when a golden file changes.
func examples() map[string]*Chart {
	quarter := wave("2025-11-04T21:00:00Z", 92, assay.Day, 2*assay.One, assay.One/5)
	gap := append(append([]assay.Point{}, quarter[:30]...), quarter[40])
	gap = append(gap, quarter[50:]...)
	daily := func(points []assay.Point) *Chart {
		return &Chart{
			Title: "H100 SXM", Unit: "USD per GPU-hour", Source: "Source: Assay", Points: points, Joined: assay.Day * 3 / 2,
		}
	}
	synthetic, hostile, empty, one := daily(quarter), daily(quarter), daily(nil), daily(quarter[:1])
	synthetic.Notice = noticed
	hostile.Title = `</title><script>alert("1")</script>&amp;'` + "\x00\x1b" + strings.Repeat(" very long", 20)
	hostile.Unit = `]]><style>*{}</style>`
	hourly := daily(wave("2026-01-28T10:00:00Z", 24*7, assay.Hour, 3*assay.One, assay.One))
	hourly.Hourly, hourly.Joined = true, assay.Hour*3/2
	large := daily(wave("2020-01-01", 2200, assay.Day, 1_250_000*assay.One, 400_000*assay.One))
	large.Unit = "per day"
	return map[string]*Chart{
		"quarter": daily(quarter), "gap": daily(gap), "synthetic": synthetic, "hostile": hostile, "empty": empty, "one": one,
		"hourly": hourly, "large": large, "flat": daily([]assay.Point{{At: 0, Value: assay.One}, {At: assay.Day, Value: assay.One}}),
	}
}

func TestChart_Golden(t *testing.T) {
	t.Parallel()
	for name, c := range examples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := c.SVG(Auto)
			checkXML(t, got)
			golden(t, name+".svg", got)
		})
	}
}

func TestBadge_Golden(t *testing.T) {
	t.Parallel()
	last := assay.Point{At: 1_770_238_800_000, Value: 1_947_800_000}
	for name, b := range map[string]*Badge{
		"badge":           {Label: "H100 SXM", Unit: "USD/GPU-h", Last: last},
		"badge-synthetic": {Label: "H100 SXM", Unit: "USD/GPU-h", Last: last, Notice: "synthetic"},
		"badge-empty":     {Label: "H100 SXM", Unit: "USD/GPU-h", Empty: true},
		"badge-hostile":   {Label: `"><script>` + strings.Repeat("W", 100), Unit: "<b>", Last: last},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.SVG()
			checkXML(t, got)
			golden(t, name+".svg", got)
		})
	}
}

// checkXML reads a picture as a browser would, and wants nothing in it that could run or load something.
func checkXML(t *testing.T, text []byte) {
	t.Helper()
	allowed := map[string]bool{
		"svg": true, "title": true, "desc": true, "style": true, "rect": true, "polyline": true, "circle": true, "text": true,
	}
	decoder := xml.NewDecoder(strings.NewReader(string(text)))
	seen := map[string]int{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
		if element, ok := token.(xml.StartElement); ok {
			seen[element.Name.Local]++
			if !allowed[element.Name.Local] {
				t.Errorf("the picture has an element %s", element.Name.Local)
			}
			for _, a := range element.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || a.Name.Local == "style" {
					t.Errorf("%s has the attribute %s", element.Name.Local, a.Name.Local)
				}
			}
		}
	}
	if seen["title"] != 1 || seen["desc"] != 1 || seen["style"] != 1 {
		t.Errorf("the picture has %v", seen)
	}
}

var coordinate = regexp.MustCompile(`(?:x|y|cx|cy)="(-?[0-9.]+)"|[ "](-?[0-9.]+),(-?[0-9.]+)[ "]`)

// Whatever the points, a picture is valid, all of it is inside of its frame, and its size has a bound.
func TestChart_Property_AnyPoints(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := &Chart{Title: "any", Unit: "unit", Source: "source", Joined: assay.Day * 3 / 2, Hourly: seed%3 == 0}
		scale := assay.Nanos(math.Pow10(random.IntN(18)))
		at := random.Int64N(100_000) * assay.Day
		for range random.IntN(3000) + 1 {
			at += 1 + random.Int64N(assay.Day<<random.IntN(4))
			value := assay.Nanos(random.Int64N(int64(scale)))
			if seed%5 == 0 {
				value -= scale / 2
			}
			c.Points = append(c.Points, assay.Point{At: at, Value: value})
		}
		got := string(c.SVG(Dark))
		checkXML(t, []byte(got))
		if len(got) > 120_000 {
			t.Errorf("seed %d: %d points take %d bytes", seed, len(c.Points), len(got))
		}
		_, shapes, _ := strings.Cut(got, "</style>")
		for _, found := range coordinate.FindAllStringSubmatch(shapes, -1) {
			for _, text := range found[1:] {
				if n, err := strconv.ParseFloat(text, 64); text != "" && (err != nil || n < 0 || n > Width) {
					t.Fatalf("seed %d: %s is outside of the picture", seed, found[0])
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}

// Leaving out points that no one would see keeps every extreme.
func TestThin_KeepsExtremes(t *testing.T) {
	t.Parallel()
	points := wave("2020-01-01", 20_000, assay.Hour, assay.One, assay.One/2)
	points[7777].Value = 9 * assay.One
	points[12_345].Value = -9 * assay.One
	p := &plot{right: 6000, bottom: 3000, low: -assay.One, high: assay.One}
	p.from, p.to = points[0].At, points[len(points)-1].At
	kept := thin(points, p)
	if !slices.IsSorted(kept) || len(kept) > 4*601 {
		t.Errorf("%d points are left, in order: %t", len(kept), slices.IsSorted(kept))
	}
	for _, i := range []int{0, 7777, 12_345, len(points) - 1} {
		if !slices.Contains(kept, i) {
			t.Errorf("the point %d is left out", i)
		}
	}
}

func TestValueTicks(t *testing.T) {
	t.Parallel()
	f := func(low, high, want string) {
		t.Helper()
		var a, b assay.Nanos
		if a.UnmarshalJSON([]byte(low)) != nil || b.UnmarshalJSON([]byte(high)) != nil {
			t.Fatal("a test has a number that is none")
		}
		if got := strings.Join(tickLabels(valueTicks(a, b)), " "); got != want {
			t.Errorf("%s to %s: got %s, want %s", low, high, got, want)
		}
	}
	f("1.78", "2.24", "1.7 1.8 1.9 2.0 2.1 2.2 2.3")
	f("0", "1", "0.0 0.2 0.4 0.6 0.8 1.0")
	f("-3", "3", "-4 -2 0 2 4")
	f("1", "1", "0.90 0.95 1.00 1.05 1.10")
	f("0", "0", "-0.000000001 0.000000000 0.000000001")
	f("1000000", "2000000", "1,000,000 1,200,000 1,400,000 1,600,000 1,800,000 2,000,000")
	f("0.000000001", "0.000000002", "0.000000001 0.000000002")
}

func TestTimeTicks(t *testing.T) {
	t.Parallel()
	f := func(from, to, want string) {
		t.Helper()
		a, _, _ := assay.ParseInstant(from)
		b, _, _ := assay.ParseInstant(to)
		var labels []string
		for _, tick := range timeTicks(a, b) {
			if tick.at < a || tick.at > b {
				t.Errorf("%s to %s: %s is outside", from, to, tick.label)
			}
			labels = append(labels, tick.label)
		}
		if got := strings.Join(labels, ", "); got != want {
			t.Errorf("%s to %s: got %s, want %s", from, to, got, want)
		}
	}
	f("2026-01-28T21:00:00Z", "2026-02-03T21:00:00Z", "Jan 29, Jan 30, Jan 31, Feb 1, Feb 2, Feb 3")
	f("2025-11-04T21:00:00Z", "2026-02-03T21:00:00Z", "Nov 10, Nov 24, Dec 8, Dec 22, Jan 5, Jan 19, Feb 2")
	f("2025-02-04", "2026-02-04", "Mar 2025, May 2025, Jul 2025, Sep 2025, Nov 2025, Jan 2026")
	f("2020-06-01", "2026-02-04", "2021, 2022, 2023, 2024, 2025, 2026")
	f("2026-02-04", "2026-02-04", "Feb 4, 2026")
	f("2026-02-04T01:00:00Z", "2026-02-04T04:00:00Z", "01:00, 02:00, 03:00, 04:00")
}

// The picture says in words what it shows.
func TestChart_Description(t *testing.T) {
	t.Parallel()
	c := examples()["synthetic"]
	first, last := c.Points[0], c.Points[len(c.Points)-1]
	low, high := c.bounds()
	want := fmt.Sprintf("Daily values from 2025-11-04 to 2026-02-03: first %s, last %s, lowest %s, highest %s. "+
		"Synthetic data: no market price. Source: Assay.", first.Value, last.Value, low, high)
	if got := c.Description(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	svg := string(c.SVG(Auto))
	for _, part := range []string{
		`role="img" aria-labelledby="t d"`, `<title id="t">H100 SXM, USD per GPU-hour</title>`, `<desc id="d">` + want,
		`>` + noticed + `</text>`,
	} {
		if !strings.Contains(svg, part) {
			t.Errorf("the picture lacks %s", part)
		}
	}
}

// Only pictures without a theme follow their reader's.
func TestTheme(t *testing.T) {
	t.Parallel()
	c := examples()["quarter"]
	for theme, name := range ThemeNames {
		follows := strings.Contains(string(c.SVG(Theme(theme))), "prefers-color-scheme")
		if follows != (Theme(theme) == Auto) {
			t.Errorf("%s follows its reader: %t", name, follows)
		}
	}
	if Auto.StyleSource() == Dark.StyleSource() {
		t.Error("two styles have one digest")
	}
}

func TestTextWidth(t *testing.T) {
	t.Parallel()
	f := func(text string, most int, want string) {
		t.Helper()
		got := fitted(regular, 120, text, most)
		if got != want || textWidth(regular, 120, got) > most {
			t.Errorf("%q in %d: got %q of %d, want %q", text, most, got, textWidth(regular, 120, got), want)
		}
	}
	f("H100 SXM", 2000, "H100 SXM")
	f("H100 SXM H100 SXM", 700, "H100 SX…")
	f("", 0, "")
	if a, b := textWidth(regular, 120, "iii"), textWidth(bold, 120, "WWW"); a >= b || a == 0 {
		t.Errorf("iii is %d wide, WWW %d", a, b)
	}
	if textWidth(regular, 120, "価格\x00") == 0 {
		t.Error("characters that the font lacks take no room")
	}
}

func TestTenths(t *testing.T) {
	t.Parallel()
	f := func(n int, want string) {
		t.Helper()
		if got := tenths(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
	f(0, "0")
	f(7, "0.7")
	f(120, "12")
	f(123, "12.3")
	f(-5, "-0.5")
	f(-125, "-12.5")
}

func TestRoundTime_Weeks(t *testing.T) {
	t.Parallel()
	for day := range int64(30) {
		at := time.Date(1969, 12, 20, 13, 0, 0, 0, time.UTC).UnixMilli() + day*assay.Day
		if got := roundTime(at, 0, 7, 0); got.Weekday() != time.Monday || got.UnixMilli() > at || at-got.UnixMilli() >= 7*assay.Day {
			t.Errorf("%s: the week begins %s", assay.FormatInstant(at), got)
		}
	}
}

func TestCover_Golden(t *testing.T) {
	t.Parallel()
	c := &Cover{Title: "Assay", Text: `What <it> is, "in a sentence"` + strings.Repeat(" and more", 20), Source: "Source", Notice: noticed}
	got := c.scene().svg(Light)
	checkXML(t, got)
	golden(t, "cover.svg", got)
	if pixels, err := c.PNG(Light); err != nil || !strings.HasPrefix(string(pixels), "\x89PNG") {
		t.Errorf("%v: %.20q", err, pixels)
	}
}
