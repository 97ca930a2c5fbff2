package chart

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// SVG draws the chart.
func (c *Chart) SVG(theme Theme) []byte { return c.scene().svg(theme) }

// svg writes the picture, with its text alternative.
func (s *scene) svg(theme Theme) []byte {
	var b svgText
	b.put(`<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="t d" width="`, tenths(s.width),
		`" height="`, tenths(s.height), `" viewBox="0 0 `, tenths(s.width), ` `, tenths(s.height), `"><title id="t">`)
	b.escape(s.title)
	b.put(`</title><desc id="d">`)
	b.escape(s.description)
	b.put(`</desc><style>`, theme.Style(), `</style>`, "\n")
	for i := range s.shapes {
		b.shape(&s.shapes[i])
		b.put("\n")
	}
	b.put("</svg>\n")
	return []byte(b.String())
}

// svgText is the text of a picture.
type svgText struct{ strings.Builder }

func (b *svgText) put(texts ...string) {
	for _, t := range texts {
		_, _ = b.WriteString(t) // a Builder returns no error
	}
}

// escape appends a text that may be anything.
func (b *svgText) escape(text string) { _ = xml.EscapeText(b, []byte(text)) } // a Builder returns no error

func (b *svgText) shape(s *shape) {
	area, stroke := `class="a`+strconv.Itoa(int(s.color))+`"`, `class="l`+strconv.Itoa(int(s.color))+`"`
	at := s.corners[0]
	switch s.kind {
	case boxShape:
		to := s.corners[1]
		b.put(`<rect `, area, ` x="`, tenths(at.x), `" y="`, tenths(at.y), `" width="`, tenths(to.x-at.x), `" height="`,
			tenths(to.y-at.y), `" rx="`, tenths(s.size), `"/>`)
	case lineShape:
		b.put(`<polyline `, stroke, ` stroke-width="`, tenths(2*s.size),
			`" stroke-linejoin="round" stroke-linecap="round" points="`)
		for i, c := range s.corners {
			if i > 0 {
				b.put(" ")
			}
			b.put(tenths(c.x), ",", tenths(c.y))
		}
		b.put(`"/>`)
	case dotShape:
		b.put(`<circle `, area, ` cx="`, tenths(at.x), `" cy="`, tenths(at.y), `" r="`, tenths(s.size), `"/>`)
	case textShape:
		b.text(s, area)
	}
}

// text appends a text. Screen readers get the text alternative in place of the many texts of a picture.
func (b *svgText) text(s *shape, class string) {
	b.put(`<text aria-hidden="true" `, class, ` x="`, tenths(s.corners[0].x), `" y="`, tenths(s.corners[0].y),
		`" font-size="`, tenths(s.size), `"`)
	if s.weight == bold {
		b.put(` font-weight="600"`)
	}
	if s.anchor != start {
		b.put(` text-anchor="`, [...]string{middle: "middle", end: "end"}[s.anchor], `"`)
	}
	if s.width > 0 {
		b.put(` textLength="`, tenths(s.width), `" lengthAdjust="spacingAndGlyphs"`)
	}
	b.put(`>`)
	b.escape(s.text)
	b.put(`</text>`)
}

// tenths writes a length.
func tenths(n int) string {
	text := strconv.Itoa(n / 10)
	if n < 0 && n > -10 {
		text = "-0"
	}
	if rest := n % 10; rest != 0 {
		text += "." + strconv.Itoa(max(rest, -rest))
	}
	return text
}
