// Package chart draws line charts and badges, as SVG and as PNG, without a browser: for spreadsheets, READMEs and pages
// of others.
//
// A picture is drawn twice from one scene, a list of shapes and texts (scene.go): as SVG text (svg.go) and as pixels
// (png.go). Where shapes are is computed with integers, in tenths of a pixel, so an SVG has the same bytes on every
// machine. Texts are measured with the Go fonts, which PNGs are drawn with. An SVG leaves the font to its reader and
// says how wide each text is where that matters.
//
// Every text of a picture is escaped: names are what operators chose. Every picture has a text alternative.
package chart

import (
	"github.com/assaydata/assay"
)

// Chart is a line over time.
type Chart struct {
	Title  string // such as the name of a GPU model
	Unit   string // of the values
	Source string // who publishes the values, and which they are
	Notice string // what readers must know of the values, such as that they are synthetic; empty for nothing
	Points []assay.Point
	// Joined is the longest time between two points that are joined by a line: a gap stays one.
	Joined int64
	Hourly bool // whether points stand for hours, so that texts name the time of day
}

// The size of a chart in pixels.
const (
	Width  = 720
	Height = 360
)

// margins around the plot, in tenths of a pixel.
const (
	marginTop    = 740
	marginBottom = 640
	marginRight  = 240
	marginLeft   = 200 // beside the labels of the axis
	tickGap      = 80  // between a label and the plot

	mostText = 4600 // how wide the texts on the left are at most, so that those on the right have room
)

// plot is where values and times are in the picture.
type plot struct {
	left, top, right, bottom int // tenths of a pixel
	from, to                 int64
	low, high                assay.Nanos
}

func (p *plot) x(at int64) int {
	return p.left + scale(at-p.from, p.to-p.from, p.right-p.left)
}

func (p *plot) y(v assay.Nanos) int {
	return p.bottom - scale(int64(v-p.low), int64(p.high-p.low), p.bottom-p.top)
}

// scene is the chart as shapes.
func (c *Chart) scene() *scene {
	s := &scene{width: Width * 10, height: Height * 10, title: c.heading(), description: c.Description()}
	s.box(0, 0, s.width, s.height, 80, surface)
	s.text(marginLeft, 330, bold, 180, ink, start, fitted(bold, 180, c.Title, mostText))
	s.text(marginLeft, 530, regular, 120, muted, start, fitted(regular, 120, c.Unit, mostText))
	s.text(marginLeft, s.height-160, regular, 110, muted, start, fitted(regular, 110, c.Source, mostText))
	if c.Notice != "" {
		s.text(s.width-marginRight, s.height-160, bold, 110, warning, end, c.Notice)
	}
	if len(c.Points) == 0 {
		s.text(s.width/2, s.height/2, regular, 140, muted, middle, "No values in this range")
		return s
	}
	last := c.Points[len(c.Points)-1]
	s.text(s.width-marginRight, 330, bold, 180, ink, end, shownValue(last.Value))
	s.text(s.width-marginRight, 530, regular, 120, muted, end, c.instant(last.At))
	c.draw(s)
	return s
}

// draw adds the axes and the line.
func (c *Chart) draw(s *scene) {
	low, high := c.bounds()
	values := valueTicks(low, high)
	p := &plot{
		top: marginTop, bottom: s.height - marginBottom, right: s.width - marginRight, from: c.Points[0].At,
		to: c.Points[len(c.Points)-1].At, low: min(low, values[0]), high: max(high, values[len(values)-1]),
	}
	widest := 0
	labels := tickLabels(values)
	for _, label := range labels {
		widest = max(widest, textWidth(regular, 120, label))
	}
	p.left = marginLeft + widest + tickGap
	for i, v := range values {
		s.line(p.left, p.y(v), p.right, p.y(v), 10, grid)
		s.text(p.left-tickGap, p.y(v)+40, regular, 120, muted, end, labels[i])
	}
	for _, t := range timeTicks(p.from, p.to) {
		s.line(p.x(t.at), p.bottom, p.x(t.at), p.bottom+50, 10, muted)
		half := textWidth(regular, 120, t.label) / 2
		x := min(max(p.x(t.at), p.left+half), p.right-half)
		s.text(x, p.bottom+190, regular, 120, muted, middle, t.label)
	}
	for _, run := range c.runs(p) {
		if len(run) == 1 {
			s.dot(run[0], 20, line)
		} else {
			s.polyline(run, 20, line)
		}
	}
}

// bounds are the lowest and the highest value.
func (c *Chart) bounds() (low, high assay.Nanos) {
	low, high = c.Points[0].Value, c.Points[0].Value
	for _, p := range c.Points {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	return low, high
}

// runs are where the points are that are joined to each other. A gap within one pixel is not seen.
func (c *Chart) runs(p *plot) (list [][]corner) {
	gaps := make([]int, len(c.Points)) // before each point
	for i := 1; i < len(gaps); i++ {
		gaps[i] = gaps[i-1]
		if c.Points[i].At-c.Points[i-1].At > c.Joined {
			gaps[i]++
		}
	}
	last := -1
	for _, i := range thin(c.Points, p) {
		at := corner{p.x(c.Points[i].At), p.y(c.Points[i].Value)}
		if last < 0 || gaps[i] != gaps[last] && at.x/10 != p.x(c.Points[last].At)/10 {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], at)
		last = i
	}
	return list
}

// thin leaves out points that no one would see: of those within one pixel it keeps the first, the lowest, the highest
// and the last. So the size of a picture does not grow with the number of points.
func thin(points []assay.Point, p *plot) (kept []int) {
	for begin := 0; begin < len(points); {
		pixel, low, high, next := p.x(points[begin].At)/10, begin, begin, begin
		for ; next < len(points) && p.x(points[next].At)/10 == pixel; next++ {
			if points[next].Value < points[low].Value {
				low = next
			}
			if points[next].Value > points[high].Value {
				high = next
			}
		}
		for _, i := range [...]int{begin, min(low, high), max(low, high), next - 1} {
			if len(kept) == 0 || i > kept[len(kept)-1] {
				kept = append(kept, i)
			}
		}
		begin = next
	}
	return kept
}

// scale is part/whole of a length, rounded; half of it if there is no whole.
func scale(part, whole int64, length int) int {
	if whole <= 0 {
		return length / 2
	}
	// A part has at most 63 bits, so it is divided before it is multiplied if the product would not fit.
	const most = 1 << 40
	for whole > most {
		part, whole = part/2, whole/2
	}
	return int((2*part*int64(length) + whole) / (2 * whole))
}
