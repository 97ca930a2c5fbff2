package chart

import (
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// fonts are the Go fonts, by weight. They are part of the program, so every machine measures and draws alike.
var fonts = [...]func() *sfnt.Font{
	regular: sync.OnceValue(func() *sfnt.Font { return parse(goregular.TTF) }),
	bold:    sync.OnceValue(func() *sfnt.Font { return parse(gobold.TTF) }),
}

func parse(text []byte) *sfnt.Font {
	f, err := sfnt.Parse(text)
	if err != nil {
		panic(err) // the text is a constant
	}
	return f
}

// textWidth is how wide a text is at a size, both in tenths of a pixel. It is computed in the units of the font, which
// are whole numbers. A character that the font lacks is as wide as the box that stands for it.
func textWidth(w weight, size int, text string) int {
	f := fonts[w]()
	var buffer sfnt.Buffer
	units, perEm := 0, int(f.UnitsPerEm())
	for _, r := range text {
		glyph, err := f.GlyphIndex(&buffer, r)
		if err != nil {
			continue // only for a damaged font
		}
		advance, err := f.GlyphAdvance(&buffer, glyph, fixed.Int26_6(perEm), font.HintingNone)
		if err == nil {
			units += int(advance)
		}
	}
	return (units*size + perEm - 1) / perEm
}

// fitted is a text, cut so that it is not wider than it may be.
func fitted(w weight, size int, text string, most int) string {
	if textWidth(w, size, text) <= most {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && textWidth(w, size, string(runes)+"…") > most {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}
