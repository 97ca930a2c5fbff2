package chart

// Cover is a picture of what has no chart of its own, for the preview of a link.
type Cover struct {
	Title  string
	Text   string // what it is, in a sentence
	Source string // as in Chart
	Notice string // as in Chart
}

// The measures of a cover, in tenths of a pixel. It is as large as a chart.
const (
	coverTitle = 640
	coverText  = 240
	coverLeft  = 480
	coverBar   = 120
)

// PNG draws the cover as pixels.
func (c *Cover) PNG(theme Theme) ([]byte, error) { return c.scene().png(theme) }

func (c *Cover) scene() *scene {
	s := &scene{
		width: Width * 10, height: Height * 10, title: c.Title,
		description: joined(" ", sentence(c.Text), sentence(c.Notice)),
	}
	room := s.width - coverLeft - marginRight
	s.box(0, 0, s.width, s.height, 0, surface)
	s.box(0, 0, coverBar, s.height, 0, line)
	s.text(coverLeft, s.height/2-100, bold, coverTitle, ink, start, fitted(bold, coverTitle, c.Title, room))
	s.text(coverLeft, s.height/2+400, regular, coverText, muted, start, fitted(regular, coverText, c.Text, room))
	s.text(coverLeft, s.height-320, regular, 130, muted, start, fitted(regular, 130, c.Source, mostText))
	if c.Notice != "" {
		s.text(s.width-marginRight, s.height-320, bold, 130, warning, end, c.Notice)
	}
	return s
}
