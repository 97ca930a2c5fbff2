package share

import (
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/chart"
	"github.com/assaydata/assay/internal/web"
)

const (
	svgType = "image/svg+xml"
	pngType = "image/png"
)

// The notices of pictures of a synthetic market.
const (
	synthetic      = "Synthetic data: no market price"
	syntheticShort = "synthetic"
)

// picture draws a series. A picture is kept until the series changes.
func (s *Share) picture(
	r *web.Request, series assay.SharedSeries, rows *web.Response, extension string,
) (response web.Response, err error) {
	style, err := r.OneOf("style", "chart", "chart", "badge")
	if err != nil {
		return response, err
	}
	theme, _, err := readTheme(r)
	if err != nil {
		return response, err
	}
	return s.drawn(r, series, rows, look{badge: style == "badge", theme: theme, extension: extension})
}

// look is how a series is drawn.
type look struct {
	badge     bool
	theme     chart.Theme
	extension string
}

// drawn is a series as a picture.
func (s *Share) drawn(
	r *web.Request, series assay.SharedSeries, rows *web.Response, as look,
) (response web.Response, err error) {
	shown := s.API.DescribeShared(series)
	key := strings.Join([]string{
		rows.Tag(), series.Family, shown.Name, strconv.FormatBool(shown.Synthetic), strconv.FormatBool(as.badge),
		chart.ThemeNames[as.theme], as.extension,
	}, "\x00")
	body, err := s.pictures.Try(key, func() (*web.Body, error) {
		read, err := s.API.ReadShared(series, rows)
		if err != nil {
			return nil, err
		}
		return draw(&read, as.badge, as.theme, as.extension)
	})
	if err != nil {
		return response, err
	}
	mediaType := svgType
	if as.extension == pngFile {
		mediaType = pngType
	}
	return web.Ready(body).As(mediaType).Expires(r.Milli() + assay.Minute), nil
}

// readTheme reads the parameter theme.
func readTheme(r *web.Request) (theme chart.Theme, name string, err error) {
	name, err = r.OneOf("theme", chart.ThemeNames[chart.Auto], chart.ThemeNames...)
	for i, known := range chart.ThemeNames {
		if known == name {
			theme = chart.Theme(i)
		}
	}
	return theme, name, err
}

// draw makes the bytes of a picture.
func draw(series *api.Series, badge bool, theme chart.Theme, extension string) (*web.Body, error) {
	if extension == svgFile {
		if badge {
			return web.NewBody(newBadge(series).SVG(), 0), nil
		}
		return web.NewBody(newChart(series).SVG(theme), 0), nil
	}
	var pixels []byte
	var err error
	if badge {
		pixels, err = newBadge(series).PNG()
	} else {
		pixels, err = newChart(series).PNG(theme)
	}
	if err != nil {
		return nil, err
	}
	return web.NewPlainBody(pixels), nil
}

func newChart(series *api.Series) *chart.Chart {
	c := &chart.Chart{
		Title: series.Name, Unit: series.Unit, Source: "Source: Assay", Points: series.Points, Joined: series.Joined,
		Hourly: series.Hourly,
	}
	if series.Synthetic {
		c.Notice = synthetic
	}
	return c
}

func newBadge(series *api.Series) *chart.Badge {
	b := &chart.Badge{
		Label: series.Name, Unit: series.ShortUnit, Hourly: series.Hourly, Empty: len(series.Points) == 0,
	}
	if !b.Empty {
		b.Last = series.Points[len(series.Points)-1]
	}
	if series.Synthetic {
		b.Notice = syntheticShort
	}
	return b
}
