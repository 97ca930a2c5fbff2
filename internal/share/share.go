// Package share serves series to those who have no key: through share links, for spreadsheets and READMEs, and as
// charts that pages of others embed. Nothing here needs a script, a cookie or a header of the caller, and nothing waits
// for the database.
//
// A share link opens its series as the account that made it may read it now. Everyone who has the link can use it, so
// its token is treated like a key: it is not logged, no referrer carries it, and search engines are asked to leave it
// out. Requests through a link count under the link's own limit and that of all links of its account, not under those
// of its owner's keys. A wrong token counts under the public limit of its address; a right one does not, so those who
// share an address with a guesser can still open their links.
//
// Caches may keep what a link shows to the end of the minute at most, because the link may be revoked. An embedded
// chart shows what everyone may read, under the public limit of its reader's address. So does the picture that chats
// and social networks show beside a link to a page of the dashboard.
package share

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/chart"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/table"
	"github.com/assaydata/assay/internal/web"
)

// Config is what the package needs.
type Config struct {
	API    *api.API
	Limits *sharedlimit.Redis // counts for all nodes together; nil when this node counts alone
	// Open returns what the share link with a token shows now. It must not wait for the database.
	Open func(token string) (link assay.OpenLink, ok bool)
}

// Share serves the routes.
type Share struct {
	Config
	byLink    *web.Limiter[string]
	byAccount *web.Limiter[int64]
	pictures  *web.BodyCache
}

// The limits of links. One link is enough for a badge that many see, as their caches and proxies ask once a minute; all
// links of an account together are no way around the limits of keys.
const (
	linkLimit    = 60
	accountLimit = 300
	limitWindow  = time.Minute
	maxCounted   = 65_536 // links, and accounts, that a node remembers
)

// New makes the package's server.
func New(config Config) *Share {
	limit := func(name string, most int) web.LimitConfig {
		return web.LimitConfig{
			Name: name, Limit: most, Window: limitWindow, MaxKeys: maxCounted, Counted: "requests per minute",
		}
	}
	accountText := func(id int64) string { return strconv.FormatInt(id, 10) }
	return &Share{
		Config:    config,
		byLink:    web.NewLimiter(config.Limits, limit("link", linkLimit), func(id string) string { return id }),
		byAccount: web.NewLimiter(config.Limits, limit("links", accountLimit), accountText),
		pictures:  web.NewBodyCache(),
	}
}

// Routes are open to everyone.
func (s *Share) Routes() web.Group {
	route := func(path string, limit web.LimitClass, serve func(*web.Request) (web.Response, error)) web.Route {
		return web.Route{Method: http.MethodGet, Path: path, Limit: limit, Rule: access.Public, Serve: serve}
	}
	return web.Group{Routes: []web.Route{
		route("/s/{file}", web.Unlimited, s.link),
		route("/embed/gpu/{gpuName}", web.PerAddress, s.embed),
		route("/embed/picture", web.PerAddress, s.cover),
		route("/embed/picture/{gpuName}", web.PerAddress, s.preview),
		route("/oembed", web.PerAddress, s.oEmbed),
	}}
}

// The extensions of links.
const (
	jsonFile = "json"
	csvFile  = "csv"
	svgFile  = "svg"
	pngFile  = "png"
)

var extensions = []string{csvFile, jsonFile, svgFile, pngFile}

var (
	errNoLink = &assay.Error{
		Kind: assay.NotFound, Code: "unknown_share_link",
		Message: "There is no such share link, or it was revoked. Its address ends with .csv, .json, .svg or .png.",
	}
	errNoAccess = &assay.Error{
		Kind: assay.Forbidden, Code: "no_access",
		Message: "The account that made this share link may not read the series at present.",
	}
	errNoSeries = &assay.Error{
		Kind: assay.NotFound, Code: "unknown_series", Message: "The series of this share link is not published any more.",
	}
)

// link serves what a share link shows.
func (s *Share) link(r *web.Request) (web.Response, error) {
	protect(r, pictureSources, "'none'")
	token, extension, _ := strings.Cut(r.PathValue("file"), ".")
	open, ok := s.Open(token)
	if !ok || !slices.Contains(extensions, extension) {
		if err := r.CountPublic(1); err != nil {
			return web.Response{}, err
		}
		return web.Response{}, errNoLink
	}
	claims := []web.Claim{s.byLink.Claim(open.ID), s.byAccount.Claim(open.Owner.AccountID)}
	if _, err := web.CountAll(r, claims); err != nil {
		return web.Response{}, err
	}
	response, err := s.show(r, open.SharedSeries, open.Owner, extension)
	return response.ShortLived(), explain(err)
}

// show makes a file of a series.
func (s *Share) show(
	r *web.Request, series assay.SharedSeries, caller assay.Caller, extension string,
) (response web.Response, err error) {
	if extension == csvFile {
		return s.API.Shared(r, series, caller, table.CSV)
	}
	if response, err = s.API.Shared(r, series, caller, nil); err != nil || extension == jsonFile {
		return response, err
	}
	return s.picture(r, series, &response, extension)
}

// explain turns what the owner of a link would read into what its reader gets.
func explain(err error) error {
	e, ok := errors.AsType[*assay.Error](err)
	switch {
	case !ok:
		return err
	case e.Kind == assay.Unauthorized || e.Kind == assay.Forbidden:
		return errNoAccess
	case e.Code == "unknown_gpu" || e.Code == "unknown_region":
		return errNoSeries
	}
	return err
}

// pictureSources are the styles of pictures, which nothing else may be loaded with.
var pictureSources = []string{chart.Auto.StyleSource(), chart.Light.StyleSource(), chart.Dark.StyleSource()}

// protect sets the headers that keep an address secret and a document harmless: it runs no script and loads nothing.
// Pages of any origin may show the picture.
func protect(r *web.Request, styles []string, ancestors string) {
	r.SetHeader("Content-Security-Policy", "default-src 'none'; style-src "+strings.Join(styles, " ")+
		"; base-uri 'none'; form-action 'none'; frame-ancestors "+ancestors)
	r.SetHeader("Cross-Origin-Resource-Policy", "cross-origin")
	r.SetHeader("Referrer-Policy", "no-referrer")
	r.SetHeader("X-Robots-Tag", "noindex")
}
