package chart

import (
	"bytes"
	"fmt"
	"image"
	imagecolor "image/color"
	"image/png"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// PNG draws the chart as pixels.
func (c *Chart) PNG(theme Theme) ([]byte, error) { return c.scene().png(theme) }

// density is how many pixels of a PNG a pixel of the picture has, so that it is sharp on today's screens.
const density = 2

// pixels is a picture that is being drawn.
type pixels struct {
	*image.RGBA
	palette *[colors]uint32
	faces   map[faceKey]font.Face
}

type faceKey struct {
	weight weight
	size   int
}

// png draws the picture. What is outside of its shapes is transparent.
func (s *scene) png(theme Theme) ([]byte, error) {
	p := &pixels{
		RGBA:    image.NewRGBA(image.Rect(0, 0, s.width*density/10, s.height*density/10)),
		palette: &light, faces: map[faceKey]font.Face{},
	}
	if theme == Dark {
		p.palette = &dark
	}
	for i := range s.shapes {
		if err := p.shape(&s.shapes[i]); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, p.RGBA); err != nil {
		return nil, fmt.Errorf("encode a picture: %w", err)
	}
	return out.Bytes(), nil
}

// px is a length in pixels of the PNG.
func px(tenths int) float64 { return float64(tenths) * density / 10 }

func (p *pixels) ink(c color) *image.Uniform {
	rgb := p.palette[c]
	return image.NewUniform(imagecolor.RGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 255})
}

func (p *pixels) shape(s *shape) error {
	at := place{px(s.corners[0].x), px(s.corners[0].y)}
	switch s.kind {
	case boxShape:
		to := place{px(s.corners[1].x), px(s.corners[1].y)}
		p.fill(s.color, roundBox(at, to, px(s.size)))
	case lineShape:
		p.fill(s.color, stroke(s.corners, px(s.size))...)
	case dotShape:
		p.fill(s.color, circle(at, px(s.size)))
	case textShape:
		return p.text(s, at)
	}
	return nil
}

// place is a place in the picture, in pixels.
type place struct{ x, y float64 }

// outline is the corners of an area, counterclockwise on the screen. Outlines of one shape may overlap: as all turn the
// same way, what both cover is covered.
type outline []place

// fill fills what the outlines cover.
func (p *pixels) fill(c color, outlines ...outline) {
	low, high := bounds(outlines)
	left, top := max(0, int(low.x)), max(0, int(low.y))
	area := image.Rect(left, top, int(math.Ceil(high.x))+1, int(math.Ceil(high.y))+1).Intersect(p.Bounds())
	if area.Empty() {
		return
	}
	r := vector.NewRasterizer(area.Dx(), area.Dy())
	for _, o := range outlines {
		for i, corner := range o {
			x, y := float32(corner.x-float64(left)), float32(corner.y-float64(top))
			if i == 0 {
				r.MoveTo(x, y)
			} else {
				r.LineTo(x, y)
			}
		}
		r.ClosePath()
	}
	r.Draw(p.RGBA, area, p.ink(c), image.Point{})
}

// bounds are the upper left and the lower right corner of a box around outlines.
func bounds(outlines []outline) (low, high place) {
	low, high = place{math.Inf(1), math.Inf(1)}, place{math.Inf(-1), math.Inf(-1)}
	for _, o := range outlines {
		for _, c := range o {
			low, high = place{min(low.x, c.x), min(low.y, c.y)}, place{max(high.x, c.x), max(high.y, c.y)}
		}
	}
	return low, high
}

// roundBox is a box with round corners.
func roundBox(from, to place, round float64) (o outline) {
	if round == 0 {
		return outline{from, {from.x, to.y}, to, {to.x, from.y}}
	}
	for quarter, center := range []place{
		{from.x + round, from.y + round},
		{from.x + round, to.y - round},
		{to.x - round, to.y - round},
		{to.x - round, from.y + round},
	} {
		const steps = 8
		for step := range steps + 1 {
			angle := -math.Pi/2 - math.Pi/2*(float64(quarter)+float64(step)/steps)
			o = append(o, place{center.x + round*math.Cos(angle), center.y + round*math.Sin(angle)})
		}
	}
	return o
}

// circle is a circle with enough corners to look round.
func circle(center place, radius float64) (o outline) {
	const corners = 16
	for i := range corners {
		angle := -2 * math.Pi * float64(i) / corners
		o = append(o, place{center.x + radius*math.Cos(angle), center.y + radius*math.Sin(angle)})
	}
	return o
}

// stroke is a line of some thickness: a box for each part, and a circle where two meet and at the ends.
func stroke(corners []corner, half float64) (list []outline) {
	for i, c := range corners {
		to := place{px(c.x), px(c.y)}
		if len(corners) > 2 {
			list = append(list, circle(to, half))
		}
		if i == 0 {
			continue
		}
		from := place{px(corners[i-1].x), px(corners[i-1].y)}
		length := math.Hypot(to.x-from.x, to.y-from.y)
		if length == 0 {
			continue
		}
		// At a right angle to the line.
		x, y := (from.y-to.y)/length*half, (to.x-from.x)/length*half
		list = append(list, outline{
			{from.x + x, from.y + y}, {to.x + x, to.y + y}, {to.x - x, to.y - y}, {from.x - x, from.y - y},
		})
	}
	return list
}

// text draws a text.
func (p *pixels) text(s *shape, at place) error {
	face, err := p.face(faceKey{s.weight, s.size})
	if err != nil {
		return err
	}
	width := px(textWidth(s.weight, s.size, s.text))
	switch s.anchor {
	case start:
	case middle:
		at.x -= width / 2
	case end:
		at.x -= width
	}
	drawer := font.Drawer{
		Dst: p.RGBA, Src: p.ink(s.color), Face: face,
		Dot: fixed.Point26_6{X: fixed.Int26_6(at.x * 64), Y: fixed.Int26_6(at.y * 64)},
	}
	drawer.DrawString(s.text)
	return nil
}

// face is a font at a size. A face is for one goroutine, so each picture has its own.
func (p *pixels) face(key faceKey) (font.Face, error) {
	if known := p.faces[key]; known != nil {
		return known, nil
	}
	face, err := opentype.NewFace(fonts[key.weight](), &opentype.FaceOptions{Size: px(key.size), DPI: 72})
	if err != nil {
		return nil, fmt.Errorf("prepare a font: %w", err)
	}
	p.faces[key] = face
	return face, nil
}
