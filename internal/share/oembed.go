package share

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/chart"
	"github.com/assaydata/assay/internal/web"
)

// oEmbedAnswer is what oembed.com describes.
type oEmbedAnswer struct {
	Version      string `json:"version"`
	Type         string `json:"type"`
	Title        string `json:"title"`
	ProviderName string `json:"provider_name"`
	ProviderURL  string `json:"provider_url"`
	CacheAge     int    `json:"cache_age"` // seconds
	Width        int    `json:"width"`
	Height       int    `json:"height"`
	HTML         string `json:"html"`
}

// The sizes that a caller may ask for. Below the smallest no one could read a chart.
const (
	smallest = 100
	largest  = 10_000
	cacheAge = 3600
)

var errNoEmbed = &assay.Error{
	Kind: assay.NotFound, Code: "not_embeddable",
	Message: "There is no chart to embed for this address: it must be /embed/gpu/NAME or /gpu/NAME of this server, " +
		"and the GPU model must be a free one.",
}

// oEmbedPath is where an address is described.
func oEmbedPath(address string) string { return "/oembed?format=json&url=" + url.QueryEscape(address) }

// oEmbed says how to embed the chart of an address of this server.
func (s *Share) oEmbed(r *web.Request) (web.Response, error) {
	address, err := r.Param("url")
	if err != nil {
		return web.Response{}, err
	}
	if address == "" {
		return web.Response{}, web.Missing("url", "an address of this server")
	}
	if format, err := r.Param("format"); err != nil || format != "" && format != "json" {
		return noFormat(r, err)
	}
	width, err := r.Int("maxwidth", chart.Width, smallest, largest)
	if err != nil {
		return web.Response{}, err
	}
	height, err := r.Int("maxheight", chart.Height, smallest/2, largest)
	if err != nil {
		return web.Response{}, err
	}
	e, err := readAddress(address, r.Origin())
	if err != nil {
		return web.Response{}, err
	}
	series, err := s.free(r, &e)
	if _, refused := errors.AsType[*assay.Error](err); refused {
		err = errNoEmbed
	}
	if err != nil {
		return web.Response{}, err
	}
	// The shape of the chart stays the same.
	width = min(width, chart.Width, height*chart.Width/chart.Height)
	answer := oEmbedAnswer{
		Version: "1.0", Type: "rich", Title: newChart(&series).Title + ", " + series.Unit, ProviderName: "Assay",
		ProviderURL: r.Origin(), CacheAge: cacheAge, Width: width, Height: width * chart.Height / chart.Width,
	}
	if series.Synthetic {
		answer.Title += " (" + synthetic + ")"
	}
	answer.HTML = fmt.Sprintf(
		`<iframe src="%s" width="%d" height="%d" title="%s" loading="lazy" style="border:0"></iframe>`,
		html.EscapeString(r.Origin()+e.path()), answer.Width, answer.Height, html.EscapeString(answer.Title))
	response, err := web.Object(answer, 0)
	return response.Expires(r.Milli() + assay.Minute).ShortLived(), err
}

// noFormat is the response that oEmbed wants for a format that the provider does not have.
func noFormat(r *web.Request, err error) (web.Response, error) {
	if err != nil {
		return web.Response{}, err
	}
	body := r.ErrorBody(&assay.Error{
		Kind: assay.Invalid, Code: "unknown_format", Param: "format", Allowed: []string{"json"},
		Message: "This server describes embedded charts in JSON only.",
	})
	body.Error = "Not implemented"
	return web.NoStore(http.StatusNotImplemented, body)
}

// readAddress reads the address of a chart, or of the page about a GPU model. Parameters that it does not know, or
// whose value no chart has, do not count.
func readAddress(address, origin string) (e embedded, err error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme+"://"+parsed.Host != origin || parsed.User != nil {
		return e, errNoEmbed
	}
	name, ok := strings.CutPrefix(strings.TrimPrefix(parsed.EscapedPath(), "/embed"), "/gpu/")
	if !ok || strings.Contains(name, "/") {
		return e, errNoEmbed
	}
	if name, err = url.PathUnescape(name); err != nil {
		return e, errNoEmbed
	}
	query := parsed.Query()
	e = embedded{theme: query.Get("theme"), series: assay.SharedSeries{
		Family: assay.SharedGPU, Series: name, Region: query.Get("region"), Granularity: assay.Daily.String(),
		Range: query.Get("range"),
	}}
	if !slices.Contains(embedRanges, e.series.Range) {
		e.series.Range = "3m"
	}
	if e.series.Region == "" {
		e.series.Region = assay.Global
	}
	if !slices.Contains(chart.ThemeNames, e.theme) {
		e.theme = chart.ThemeNames[chart.Auto]
	}
	return e, nil
}
