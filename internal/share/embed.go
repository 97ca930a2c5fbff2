package share

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/url"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/chart"
	"github.com/assaydata/assay/internal/web"
)

// embedRanges are those that lie in the free window, longest last.
var embedRanges = []string{"7d", "1m", "3m"}

const htmlType = "text/html; charset=utf-8"

// embedded is a chart that a page embeds.
type embedded struct {
	series assay.SharedSeries
	theme  string
}

// path is the address of the chart on this server.
func (e *embedded) path() string {
	query := url.Values{}
	set := func(name, value, usual string) {
		if value != usual {
			query.Set(name, value)
		}
	}
	set("range", e.series.Range, "3m")
	set("region", e.series.Region, assay.Global)
	set("theme", e.theme, chart.ThemeNames[chart.Auto])
	path := "/embed/gpu/" + url.PathEscape(e.series.Series)
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// embed serves a page with nothing but the chart of a free GPU model, for frames on pages of others.
func (s *Share) embed(r *web.Request) (web.Response, error) {
	protect(r, append([]string{embedStyleSource}, pictureSources...), "*")
	e := embedded{series: assay.SharedSeries{
		Family: assay.SharedGPU, Series: r.PathValue("gpuName"), Granularity: assay.Daily.String(),
	}}
	var err error
	if e.series.Range, err = r.OneOf("range", "3m", embedRanges...); err != nil {
		return web.Response{}, err
	}
	if e.series.Region, err = r.Param("region"); err != nil {
		return web.Response{}, err
	}
	if e.series.Region == "" {
		e.series.Region = assay.Global
	}
	theme, name, err := readTheme(r)
	if err != nil {
		return web.Response{}, err
	}
	e.theme = name
	series, err := s.free(r, &e)
	if err != nil {
		return web.Response{}, err
	}
	drawn := newChart(&series)
	//nolint:gosec // G203: the style is a constant, and the picture escapes its texts
	page, err := renderPage(&pageData{
		Title: drawn.Title, Unit: drawn.Unit, Notice: drawn.Notice, Theme: name, Style: template.CSS(embedStyle),
		Chart: template.HTML(drawn.SVG(theme)), GPU: "/gpu/" + url.PathEscape(e.series.Series),
		OEmbed: oEmbedPath(r.Origin() + e.path()),
	})
	return web.Once(page, 0).As(htmlType).Expires(r.Milli() + assay.Minute).ShortLived(), err
}

// free reads the series of a chart as everyone may read it.
func (s *Share) free(r *web.Request, e *embedded) (series api.Series, err error) {
	rows, err := s.API.Shared(r, e.series, assay.Caller{}, nil)
	if err != nil {
		return series, err
	}
	return s.API.ReadShared(e.series, &rows)
}

// pageData is what a page of a chart shows.
type pageData struct {
	Title, Unit, Notice, Theme string
	Style                      template.CSS
	Chart                      template.HTML
	GPU, OEmbed                string
}

// embedStyle is the style of the page around the chart, in the colors of the chart's background. The policy of the page
// names it by its digest.
const embedStyle = "html{color-scheme:light dark;background:#fff}" +
	"html.light{color-scheme:light}html.dark{color-scheme:dark;background:#141921}" +
	"@media(prefers-color-scheme:dark){html.auto{background:#141921}}" +
	"body{margin:0}a{display:block}svg{display:block;width:100%;height:auto;max-height:100vh}"

var embedStyleSource = func() string {
	digest := sha256.Sum256([]byte(embedStyle))
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}()

var pageTemplate = template.Must(template.New("embed").Parse(`<!DOCTYPE html>
<html lang="en" class="{{.Theme}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}, {{.Unit}}{{with .Notice}} ({{.}}){{end}}</title>
<link rel="alternate" type="application/json+oembed" href="{{.OEmbed}}" title="{{.Title}}">
<style>{{.Style}}</style>
</head>
<body>
<a href="{{.GPU}}" target="_blank" rel="noopener noreferrer">
{{.Chart}}</a>
</body>
</html>
`))

func renderPage(data *pageData) ([]byte, error) {
	var page bytes.Buffer
	err := pageTemplate.Execute(&page, data)
	return page.Bytes(), err
}
