package chart

import "github.com/assaydata/assay"

// Badge is the newest value of a series on one line, for a README.
type Badge struct {
	Label  string
	Unit   string // in short
	Notice string // as in Chart, in short; empty for nothing
	Last   assay.Point
	Hourly bool
	Empty  bool // whether there is no value
}

// The measures of a badge, in tenths of a pixel.
const (
	badgeHeight = 200
	badgeFont   = 110
	badgeBase   = 140 // where the letters stand
	badgeMargin = 60
	badgeRound  = 30
	badgeLabel  = 2400 // at most, so that a long name does not push the value out of sight
)

// SVG draws the badge. Its colors are the same in every theme.
func (b *Badge) SVG() []byte { return b.scene().svg(Light) }

// PNG draws the badge as pixels.
func (b *Badge) PNG() ([]byte, error) { return b.scene().png(Light) }

func (b *Badge) scene() *scene {
	value, when := "no value", ""
	if !b.Empty {
		value = joined(" ", shownValue(b.Last.Value), b.Unit)
		when = (&Chart{Hourly: b.Hourly}).instant(b.Last.At)
	}
	label := fitted(regular, badgeFont, b.Label, badgeLabel)
	s := &scene{height: badgeHeight, title: b.Label + ": " + joined(", ", value, when, b.Notice)}
	s.description = sentence(s.title)
	back := valueBack
	if b.Notice != "" {
		back, value = noticeBack, value+" · "+b.Notice
	}
	labelWidth := textWidth(regular, badgeFont, label)
	valueWidth := textWidth(bold, badgeFont, value)
	border := labelWidth + 2*badgeMargin
	s.width = (border + valueWidth + 2*badgeMargin + 9) / 10 * 10
	s.box(0, 0, s.width, badgeHeight, badgeRound, back)
	s.box(0, 0, border, badgeHeight, badgeRound, labelBack)
	s.box(border-badgeRound, 0, border, badgeHeight, 0, labelBack) // whose right corners are not round
	s.text(badgeMargin, badgeBase, regular, badgeFont, onBack, start, label)
	s.shapes[len(s.shapes)-1].width = labelWidth
	s.text(border+badgeMargin, badgeBase, bold, badgeFont, onBack, start, value)
	s.shapes[len(s.shapes)-1].width = valueWidth
	return s
}
