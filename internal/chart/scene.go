package chart

// scene is a picture as shapes, back to front. Lengths are in tenths of a pixel.
type scene struct {
	width, height int
	title         string
	description   string
	shapes        []shape
}

// shape is one of a box, a line of several corners, a dot, or a text.
type shape struct {
	kind    shapeKind
	color   color
	corners []corner // the upper left and the lower right one of a box, those of a line, the place of others
	size    int      // the radius of a box's corners or of a dot, half the thickness of a line, the size of a font
	text    string
	weight  weight
	anchor  anchor
	width   int // that a text must have; 0: what its font gives
}

type shapeKind uint8

const (
	boxShape shapeKind = iota + 1
	lineShape
	dotShape
	textShape
)

type corner struct{ x, y int }

// weight is that of a font.
type weight uint8

const (
	regular weight = iota
	bold
)

// anchor says which part of a text its place is.
type anchor uint8

const (
	start anchor = iota
	middle
	end
)

func (s *scene) add(one shape) { s.shapes = append(s.shapes, one) }

func (s *scene) box(left, top, right, bottom, round int, c color) {
	s.add(shape{kind: boxShape, color: c, corners: []corner{{left, top}, {right, bottom}}, size: round})
}

func (s *scene) line(x1, y1, x2, y2, thickness int, c color) {
	s.polyline([]corner{{x1, y1}, {x2, y2}}, thickness, c)
}

func (s *scene) polyline(corners []corner, thickness int, c color) {
	s.add(shape{kind: lineShape, color: c, corners: corners, size: thickness / 2})
}

func (s *scene) dot(at corner, radius int, c color) {
	s.add(shape{kind: dotShape, color: c, corners: []corner{at}, size: radius})
}

func (s *scene) text(x, y int, w weight, size int, c color, a anchor, text string) {
	s.add(shape{kind: textShape, color: c, corners: []corner{{x, y}}, size: size, weight: w, anchor: a, text: text})
}
