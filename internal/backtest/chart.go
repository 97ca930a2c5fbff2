package backtest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/assaydata/assay"
)

// ChartMark is the first line of every chart. It distinguishes a chart from any other file.
const ChartMark = "<!-- assay backtest -->"

// Sizes of the chart, in its units, which are pixels unless it is scaled.
const (
	chartWidth  = 1200
	chartMargin = 36
	chartHead   = 112 // title, period and legend
	chartFoot   = 34

	panelGap    = 36 // between two panels
	panelHead   = 46 // the name and its summary
	panelLeft   = 56 // price levels
	priceHeight = 180
	stripGap    = 20
	stripHeight = 84
	panelFoot   = 22 // dates
	panelHeight = panelHead + priceHeight + stripGap + stripHeight + panelFoot
)

// Colors: the base is a broad pale line and the candidate a thin strong one over it, so that both show where they
// agree.
const (
	inkColor       = "#1f2933"
	paleInkColor   = "#66727f"
	gridColor      = "#e4e8ec"
	zeroColor      = "#aab4be"
	baseColor      = "#8fb3d9"
	candidateColor = "#c2410c"
	diffColor      = "#6d4ba3" // of the difference
	lostColor      = "#4b5563"
)

// chart is a chart being drawn.
type chart struct {
	bytes.Buffer
	*Comparison
	shown       []Series // those with a value to show
	columns     int
	first, last int64       // instants at the left and the right edge of every panel
	low, high   assay.Nanos // differences at the bottom and the top of every strip, in percent; the same for all
	lost        bool        // there are days with a base and no candidate
}

// Chart draws the comparison as SVG: one panel per GPU or lab, with both values over the days and the difference below.
// The note, if any, is at the foot. All coordinates are computed in integers, so the same comparison gives the same
// bytes.
func (c *Comparison) Chart(note string) []byte {
	d := newChart(c)
	rows := (len(d.shown) + d.columns - 1) / d.columns
	height := chartHead + max(rows, 1)*(panelHeight+panelGap) - panelGap + chartFoot
	fmt.Fprint(d, ChartMark+"\n")
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="12" fill="%s">`+"\n", chartWidth, height, chartWidth, height, inkColor)
	fmt.Fprintf(d, "<title>%s</title>\n", escape(c.title()))
	fmt.Fprintf(d, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", chartWidth, height)
	d.head()
	width := (chartWidth - 2*chartMargin - (d.columns-1)*panelGap) / d.columns
	for i := range d.shown {
		left := chartMargin + i%d.columns*(width+panelGap)
		top := chartHead + i/d.columns*(panelHeight+panelGap)
		d.panel(&d.shown[i], left, top, width)
	}
	if len(d.shown) == 0 {
		d.text(chartMargin, chartHead+panelHead, "", "No day of this period has a value.")
	}
	d.text(chartMargin, height-12, `font-size="11" fill="`+paleInkColor+`"`, note)
	fmt.Fprint(d, "</svg>\n")
	return d.Bytes()
}

// newChart computes what all panels share.
func newChart(c *Comparison) *chart {
	d := &chart{Comparison: c, columns: 2}
	for _, one := range c.Series {
		if one.Last() != nil {
			d.shown = append(d.shown, one)
			d.include(one.Days)
		}
	}
	margin := max((d.high-d.low)/10, assay.Unit(2))
	d.low, d.high = d.low-margin, d.high+margin
	d.first, d.last = c.Period()
	if d.first == d.last { // put a single day in the middle
		d.first, d.last = d.first-assay.Day, d.last+assay.Day
	}
	if len(d.shown) < 2 {
		d.columns = 1
	}
	return d
}

// include extends the scale of the strips to the differences of a panel.
func (d *chart) include(days []Day) {
	for i := range days {
		percent, _ := days[i].Difference()
		d.low, d.high = min(d.low, percent), max(d.high, percent)
		d.lost = d.lost || days[i].lost()
	}
}

// lost tells whether the base has a value and the candidate has none.
func (d *Day) lost() bool { return d.HasBase && !d.HasCandidate }

// Period gives the first and the last day.
func (c *Comparison) Period() (first, last int64) {
	for _, one := range c.Series {
		for i := range one.Days {
			at := one.Days[i].At
			if first == 0 || at < first {
				first = at
			}
			last = max(last, at)
		}
	}
	return first, last
}

// BaseName names what the candidate is compared with.
func (c *Comparison) BaseName() string {
	kind := "published"
	if c.Index != "" {
		kind = "current"
	}
	switch last := len(c.Published) - 1; {
	case c.Against != "":
		return "version " + c.Against
	case last > 0:
		return fmt.Sprintf("%s values (%s to %s)", kind, c.Published[0], c.Published[last])
	default:
		return fmt.Sprintf("%s values (%s)", kind, c.Published[0])
	}
}

func (c *Comparison) title() string {
	return fmt.Sprintf("Methodology %s against %s", c.Candidate, c.BaseName())
}

// head draws the title and the legend.
func (d *chart) head() {
	size := 22
	if len(d.title()) > 75 { // versions may have long names
		size = 16
	}
	d.text(chartMargin, 38, fmt.Sprintf(`font-size="%d" font-weight="bold"`, size), d.title())
	first, last := d.Period()
	what, each := "Daily global index in USD per GPU-hour", "GPU"
	if i := indexNamed(d.Index); i != nil {
		what, each = i.about, "lab"
	}
	subtitle := fmt.Sprintf("%s, %s to %s. Below each %s, the difference in percent.",
		what, assay.FormatDay(first), assay.FormatDay(last), each)
	d.text(chartMargin, 60, `font-size="13" fill="`+paleInkColor+`"`, subtitle)
	x := chartMargin
	entry := func(sample, label string) {
		fmt.Fprintf(d, `<g transform="translate(%d,86)">%s</g>`+"\n", x, sample)
		d.text(x+34, 90, `font-size="13"`, label)
		x += 34 + 24 + len(label)*7 // letters of this size are seldom wider
	}
	entry(`<path d="M0 0h26" stroke="`+baseColor+`" stroke-width="3.4" stroke-linecap="round"/>`, d.BaseName())
	entry(`<path d="M0 0h26" stroke="`+candidateColor+`" stroke-width="1.3"/>`, "candidate "+d.Candidate)
	entry(`<path d="M0 5l7 -9 6 7 7 -9 6 11z" fill="`+diffColor+`" fill-opacity=".35" stroke="`+diffColor+`"/>`,
		"difference")
	if d.lost {
		entry(`<path d="M8 -4v8m5 -8v8m5 -8v8" stroke="`+lostColor+`"/>`, "day without a candidate value")
	}
}

// text writes a line of text that begins at (x, y).
func (d *chart) text(x, y int, attributes, text string) {
	if text == "" {
		return
	}
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(d, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y, attributes, escape(text))
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder never fails
	return b.String()
}

// panel draws a series into the rectangle that begins at (x, y).
func (d *chart) panel(series *Series, x, y, width int) {
	s := series.Summary()
	d.text(x, y+14, `font-size="16" font-weight="bold"`, series.Name)
	if s.Candidate != s.Base {
		d.text(x+width, y+14, `text-anchor="end" fill="`+paleInkColor+`"`,
			fmt.Sprintf("%d of %d days have a candidate value", s.Candidate, s.Days))
	}
	d.text(x, y+32, `fill="`+paleInkColor+`"`, describe(s))
	days := reduce(withGaps(series.Days))
	plot := frame{
		left: x + panelLeft, top: y + panelHead, width: width - panelLeft, height: priceHeight, first: d.first, last: d.last,
	}
	plot.low, plot.high = priceRange(days)
	d.dates(plot, plot.top+priceHeight+stripGap+stripHeight)
	d.levels(plot, 7, "")
	base := func(day *Day) (assay.Nanos, bool) { return day.Base, day.HasBase }
	d.series(plot, days, `stroke="`+baseColor+`" stroke-width="34"`, base)
	candidate := func(day *Day) (assay.Nanos, bool) { return day.Candidate, day.HasCandidate }
	d.series(plot, days, `stroke="`+candidateColor+`" stroke-width="11"`, candidate)

	strip := plot
	strip.top, strip.height = plot.top+priceHeight+stripGap, stripHeight
	strip.low, strip.high = d.low, d.high
	d.levels(strip, 5, " %")
	d.differences(strip, days)
	d.largest(strip, s)
}

// describe is a summary in one line.
func describe(s Summary) string {
	text := fmt.Sprintf("%d of %d days moved", s.Moved, s.Base)
	if s.Compared > 0 {
		text += fmt.Sprintf("  ·  mean %s %%", Percent(s.Mean, true))
	}
	if s.LargestAt != 0 {
		text += fmt.Sprintf("  ·  largest %s %% on %s", Percent(s.Largest, true), assay.FormatDay(s.LargestAt))
	}
	return text
}

// series draws a line through the values, with a gap where one is missing. A day between two missing ones is a dot.
func (d *chart) series(f frame, days []Day, attributes string, value func(*Day) (assay.Nanos, bool)) {
	p := d.beginPath(f, `fill="none" stroke-linejoin="round" stroke-linecap="round" `+attributes)
	open := false
	for i := range days {
		v, ok := value(&days[i])
		switch {
		case ok && open:
			p.line(f.x(days[i].At), f.y(v))
		case ok:
			p.move(f.x(days[i].At), f.y(v))
			fmt.Fprint(d, "h0")
		}
		open = ok
	}
	d.endPath()
}

// differences draws the area between zero and the difference, and below it a mark for each day without a candidate
// value.
func (d *chart) differences(f frame, days []Day) {
	zero := f.y(0)
	p := d.beginPath(f, `fill="`+diffColor+`" fill-opacity=".35" stroke="`+diffColor+
		`" stroke-width="7" stroke-linejoin="round"`)
	for i := range days {
		at := f.x(days[i].At)
		percent, ok := days[i].Difference()
		if ok && !p.open {
			p.move(at, zero)
		}
		if ok {
			p.line(at, f.y(percent))
		}
		if p.open && (!ok || i == len(days)-1) {
			p.line(p.x, zero)
			fmt.Fprint(d, "z")
			p.open = false
		}
	}
	d.endPath()
	if !d.lost {
		return
	}
	p = d.beginPath(f, `stroke="`+lostColor+`" stroke-width="8"`)
	for i := range days {
		if days[i].lost() {
			p.move(f.x(days[i].At), (f.height-6)*tenths)
			p.line(f.x(days[i].At), f.height*tenths)
		}
	}
	d.endPath()
}

// largest puts a ring around the largest difference, which the line above the panel names.
func (d *chart) largest(f frame, s Summary) {
	if s.LargestAt != 0 {
		fmt.Fprintf(d, `<circle cx="%d" cy="%d" r="4" fill="none" stroke="%s" stroke-width="1.2"/>`+"\n",
			f.left+f.x(s.LargestAt)/tenths, f.top+f.y(s.Largest)/tenths, inkColor)
	}
}

// path writes the steps of a path in relative coordinates, which take half the bytes.
type path struct {
	*chart
	x, y int
	open bool
}

func (d *chart) beginPath(f frame, attributes string) *path {
	fmt.Fprintf(d, `<path transform="translate(%d,%d) scale(.1)" %s d="`, f.left, f.top, attributes)
	return &path{chart: d}
}

func (d *chart) endPath() { fmt.Fprint(d, "\"/>\n") }

func (p *path) move(x, y int) {
	fmt.Fprintf(p, "M%d %d", x, y)
	p.x, p.y, p.open = x, y, true
}

func (p *path) line(x, y int) {
	fmt.Fprintf(p, "l%d %d", x-p.x, y-p.y)
	p.x, p.y = x, y
}
