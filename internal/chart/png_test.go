package chart

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"github.com/assaydata/assay"
)

func decode(t *testing.T, text []byte, err error) image.Image {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// colorAt is the color of a pixel, and whether it covers what is behind.
func colorAt(picture image.Image, x, y int) (rgb uint32, opaque bool) {
	r, g, b, a := picture.At(x, y).RGBA()
	return r>>8<<16 | g>>8<<8 | b>>8, a == 0xffff
}

// count counts the pixels of a color.
func count(picture image.Image, want uint32) (n int) {
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			if rgb, opaque := colorAt(picture, x, y); opaque && rgb == want {
				n++
			}
		}
	}
	return n
}

func TestPNG(t *testing.T) {
	t.Parallel()
	for name, c := range examples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := c.PNG(Auto)
			picture := decode(t, text, err)
			if picture.Bounds() != image.Rect(0, 0, Width*density, Height*density) || len(text) > 200_000 {
				t.Errorf("the picture is %v and has %d bytes", picture.Bounds(), len(text))
			}
			if _, opaque := colorAt(picture, 0, 0); opaque {
				t.Error("the corner is not round")
			}
			if rgb, opaque := colorAt(picture, 10, Height); !opaque || rgb != light[surface] {
				t.Errorf("the ground is %06x", rgb)
			}
			texts, lines := count(picture, light[muted]), count(picture, light[line])
			if texts < 200 || (lines > 5) != (len(c.Points) > 0) {
				t.Errorf("%d pixels are text and %d are line", texts, lines)
			}
			if warned := count(picture, light[warning]) > 50; warned != (c.Notice != "") {
				t.Errorf("the notice is shown: %t", warned)
			}
		})
	}
}

// What several parts of a line cover is covered: where they overlap they do not cancel out.
func TestPNG_LineHasNoHoles(t *testing.T) {
	t.Parallel()
	c := &Chart{Title: "zigzag", Joined: assay.Day * 2}
	for i := range int64(60) {
		c.Points = append(c.Points, assay.Point{At: i * assay.Day, Value: assay.Nanos(i%2) * assay.One})
	}
	text, err := c.PNG(Dark)
	picture := decode(t, text, err)
	if rgb, _ := colorAt(picture, 10, Height); rgb != dark[surface] {
		t.Errorf("the ground is %06x", rgb)
	}
	s := c.scene()
	drawn := 0
	for _, one := range s.shapes {
		if one.kind != lineShape || one.color != line {
			continue
		}
		for _, corner := range one.corners {
			drawn++
			x, y := corner.x*density/10, corner.y*density/10
			if rgb, _ := colorAt(picture, min(x, picture.Bounds().Dx()-1), y); rgb != dark[line] {
				t.Errorf("at %d, %d the line is %06x", x, y, rgb)
			}
		}
	}
	if drawn != 60 {
		t.Errorf("the line has %d corners", drawn)
	}
}

func TestBadge_PNG(t *testing.T) {
	t.Parallel()
	b := &Badge{Label: "H100 SXM", Unit: "USD/GPU-h", Last: assay.Point{Value: 1_947_800_000}, Notice: "synthetic"}
	text, err := b.PNG()
	picture := decode(t, text, err)
	if size := picture.Bounds(); size.Dy() != 40 || size.Dx() < 200 || size.Dx() > 800 {
		t.Errorf("the badge is %v", size)
	}
	if count(picture, light[labelBack]) < 500 || count(picture, light[noticeBack]) < 500 || count(picture, light[onBack]) < 50 {
		t.Error("a part of the badge is missing")
	}
}
