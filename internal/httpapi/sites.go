package httpapi

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/sites"
	"github.com/assaydata/assay/internal/snapshot"
)

// siteAnswers are the sites that were known at a moment, with the answers that are about all of them, each made once.
type siteAnswers struct {
	*sites.Model
	aggregates [2][2]func() *body // by scope and grouping
	maps       [2][2]func() *body // by scope: in the envelope, and bare
}

var (
	siteScopes    = [...]string{sites.Neocloud: "neocloud", sites.All: "all"}
	siteGroupings = [...]string{sites.ByCountry: "country", sites.ByGPUType: "gpu_type"}
)

func newSiteAnswers(observed []assay.Observed[assay.Site]) *siteAnswers {
	a := &siteAnswers{Model: sites.New(observed)}
	for scope := range siteScopes {
		for by := range siteGroupings {
			a.aggregates[scope][by] = sync.OnceValue(func() *body { return a.aggregate(sites.Grouping(by), sites.Scope(scope)) })
		}
		for form := range mapForms {
			a.maps[scope][form] = sync.OnceValue(func() *body { return a.wholeMap(sites.Scope(scope), form) })
		}
	}
	return a
}

// sites gives the sites that were known at the moment asked for.
func (c *call) sites() *siteAnswers {
	return family.Model(sites.Family.In(&c.snap.Observations), c.known(), newSiteAnswers)
}

// warmSites makes the answers about all sites before somebody waits for them.
func warmSites(snap *snapshot.Snapshot) {
	a := family.Model(sites.Family.In(&snap.Observations), math.MaxInt64, newSiteAnswers)
	for scope := range siteScopes {
		for i := range 2 {
			a.aggregates[scope][i]()
			a.maps[scope][i]()
		}
	}
}

// siteScope reads scope and as_of, which all site routes take, and decides what the caller gets.
func (c *call) siteScope() (scope sites.Scope, err error) {
	word, err := c.oneOf("scope", siteScopes[sites.Neocloud], siteScopes[:]...)
	if err != nil {
		return scope, err
	}
	if word == siteScopes[sites.All] {
		scope = sites.All
	}
	_, err = c.granted(access.Ask{})
	return scope, err
}

// siteQuery echoes the parameters of a question for sites.
type siteQuery struct {
	City     string   `json:"city,omitempty"`
	Lat      *float64 `json:"lat,omitempty"`
	Lng      *float64 `json:"lng,omitempty"`
	RadiusKm *float64 `json:"radius_km,omitempty"`
	Country  string   `json:"country,omitempty"`
	GPUType  string   `json:"gpu_type,omitempty"`
	Scope    string   `json:"scope"`
	Limit    int      `json:"limit"`
	Offset   int      `json:"offset"`
}

// Bounds of the parameters.
const (
	sitesLimit, sitesMostLimit = 100, 1000
	defaultRadius, mostRadius  = 50.0, 500.0
)

// neocloudSites answers the sites of a region.
func neocloudSites(c *call) (answer, error) {
	q, echo, err := c.siteQuery()
	if err != nil {
		return answer{}, err
	}
	query, err := json.Marshal(echo)
	if err != nil {
		return answer{}, err
	}
	all := c.sites()
	page, total := all.Find(q)
	head := strconv.AppendInt(append(make([]byte, 0, 512), `{"success":true,"access":"full","count":`...), int64(len(page)), 10)
	head = strconv.AppendInt(append(head, `,"total":`...), int64(total), 10)
	head = strconv.AppendBool(append(head, `,"has_more":`...), q.Offset+len(page) < total)
	head = append(append(append(append(head, `,"query":`...), query...), `,"sites":`...), '[')
	a := all.rows(head, len(page))
	if a.row = func(dst []byte, k int) []byte { return all.AppendSite(dst, page[k]) }; q.Near != nil {
		a.row = func(dst []byte, k int) []byte { return all.AppendNear(dst, page[k]) }
	}
	return a, nil
}

// rows is an answer of some of the sites. Its head tells what was asked for, and the moment of the newest site which sites
// there were: together they are what the answer is made of.
func (a *siteAnswers) rows(head []byte, count int) answer {
	return answer{head: head, count: count, tag: hash(head, strconv.AppendInt(nil, a.Received, 10)), modified: a.Received, brief: true}
}

func (c *call) siteQuery() (q sites.Query, echo siteQuery, err error) {
	if echo.City, q.City, err = c.folded("city"); err != nil {
		return q, echo, err
	}
	if q.Near, err = c.circle(); err != nil {
		return q, echo, err
	}
	if near := q.Near; near != nil {
		echo.Lat, echo.Lng, echo.RadiusKm = &near.Latitude, &near.Longitude, &near.RadiusKm
	}
	if q.Country, err = c.country(); err != nil {
		return q, echo, err
	}
	if echo.GPUType, q.GPUType, err = c.folded("gpu_type"); err != nil {
		return q, echo, err
	}
	if q.Limit, err = c.whole("limit", sitesLimit, 1, sitesMostLimit); err != nil {
		return q, echo, err
	}
	if q.Offset, err = c.whole("offset", 0, 0, math.MaxInt32); err != nil {
		return q, echo, err
	}
	if q.City == "" && q.Near == nil && q.Country == "" {
		return q, echo, missing("city", "a region is required, which is city, lat with lng, or country")
	}
	q.Scope, err = c.siteScope()
	echo.Country, echo.Scope, echo.Limit, echo.Offset = q.Country, siteScopes[q.Scope], q.Limit, q.Offset
	return q, echo, err
}

// missing says which parameter is not there and what is needed.
func missing(name, needed string) error {
	return &assay.Error{Kind: assay.Invalid, Code: "invalid_parameter", Message: fmt.Sprintf("Parameter %s is missing; %s.", name, needed)}
}

// folded gives a text parameter, and the form of it that is looked for.
func (c *call) folded(name string) (value, folded string, err error) {
	if value, err = c.param(name); err != nil || value == "" {
		return "", "", err
	}
	if folded = strings.TrimSpace(sites.Fold(value)); folded == "" {
		return "", "", invalid(name, value, "a text with something to look for")
	}
	return value, folded, nil
}

// country gives the country asked for, as we write it.
func (c *call) country() (string, error) {
	value, err := c.param("country")
	if err != nil || value == "" {
		return "", err
	}
	name, ok := sites.Country(value)
	if !ok {
		return "", invalid("country", value, "a country's English name or ISO 3166 code, or Unknown")
	}
	return name, nil
}

// circle gives the circle asked for; nil for none.
func (c *call) circle() (*sites.Circle, error) {
	lat, hasLat, err := c.number("lat", "a decimal number from -90 to 90", func(v float64) bool { return v >= -90 && v <= 90 })
	if err != nil {
		return nil, err
	}
	lng, hasLng, err := c.number("lng", "a decimal number from -180 to 180", func(v float64) bool { return v >= -180 && v <= 180 })
	if err != nil {
		return nil, err
	}
	radius, hasRadius, err := c.number("radius_km", "a decimal number above 0 and up to 500", func(v float64) bool { return v > 0 && v <= mostRadius })
	switch {
	case err != nil:
		return nil, err
	case hasLat && !hasLng:
		return nil, missing("lng", "lat and lng are given together")
	case hasLng && !hasLat:
		return nil, missing("lat", "lat and lng are given together")
	case hasRadius && !hasLat:
		value, _ := c.param("radius_km") // it was read before
		return nil, invalid("radius_km", value, "a radius together with lat and lng")
	case !hasLat:
		return nil, nil
	case !hasRadius:
		radius = defaultRadius
	}
	return &sites.Circle{Latitude: lat, Longitude: lng, RadiusKm: radius}, nil
}

// number gives a parameter that is a plain decimal number within bounds; ok is false when it is absent.
func (c *call) number(name, allowed string, within func(float64) bool) (v float64, ok bool, err error) {
	value, err := c.param(name)
	if err != nil || value == "" {
		return 0, false, err
	}
	if v, ok = plainNumber(value); !ok || !within(v) {
		return 0, false, invalid(name, value, allowed)
	}
	return v, true, nil
}

// plainNumber reads digits with at most a minus before and a point among them.
func plainNumber(text string) (v float64, ok bool) {
	digits := strings.TrimPrefix(text, "-")
	before, after, pointed := strings.Cut(digits, ".")
	if before == "" || pointed && after == "" || strings.Trim(before+after, "0123456789") != "" {
		return 0, false
	}
	if v, err := strconv.ParseFloat(text, 64); err != nil || v != 0 {
		return v, err == nil
	}
	return 0, true // and not -0
}

// sitesAggregate answers how many sites, GPUs and megawatts each country or chip has.
func sitesAggregate(c *call) (answer, error) {
	word, err := c.oneOf("by", siteGroupings[sites.ByCountry], siteGroupings[:]...)
	if err != nil {
		return answer{}, err
	}
	scope, err := c.siteScope()
	if err != nil {
		return answer{}, err
	}
	by := sites.ByCountry
	if word == siteGroupings[sites.ByGPUType] {
		by = sites.ByGPUType
	}
	a := ready(c.sites().aggregates[scope][by]())
	a.brief = true
	return a, nil
}

func (a *siteAnswers) aggregate(by sites.Grouping, scope sites.Scope) *body {
	buckets := a.Buckets(by, scope)
	raw, err := json.Marshal(struct {
		Success bool           `json:"success"`
		Access  assay.Access   `json:"access"`
		By      string         `json:"by"`
		Scope   string         `json:"scope"`
		Count   int            `json:"count"`
		Data    []sites.Bucket `json:"data"`
	}{true, assay.AccessFull, siteGroupings[by], siteScopes[scope], len(buckets), buckets})
	if err != nil {
		panic(err) // the buckets are strings and numbers
	}
	return newBody(raw, a.Received)
}

// mapForms are the two forms of a map: in the envelope, and as a bare collection.
var mapForms = [...]struct {
	contentType []string
	begin       string // before the number of features; the bare form does not tell it
	head        string
	end         []byte
}{
	{jsonType, `{"success":true,"access":"full","count":`, `,"data":{"type":"FeatureCollection","features":[`, []byte("]}}")},
	{[]string{"application/geo+json"}, "", `{"type":"FeatureCollection","features":[`, []byte("]}")},
}

func mapHead(form, count int) []byte {
	head := []byte(mapForms[form].begin)
	if len(head) > 0 {
		head = strconv.AppendInt(head, int64(count), 10)
	}
	return append(head, mapForms[form].head...)
}

// sitesMap answers sites as GeoJSON.
func sitesMap(c *call) (answer, error) {
	var q sites.Query
	var err error
	if q.Country, err = c.country(); err != nil {
		return answer{}, err
	}
	if q.Box, err = c.box(); err != nil {
		return answer{}, err
	}
	if q.Scope, err = c.siteScope(); err != nil {
		return answer{}, err
	}
	form := 0
	if prefersGeoJSON(c.r.Header["Accept"]) {
		form = 1
	}
	all := c.sites()
	var a answer
	if q.Country == "" && q.Box == nil {
		a = ready(all.maps[q.Scope][form]())
	} else {
		a = all.someMap(q, form)
	}
	a.contentType, a.brief, a.byAccept = mapForms[form].contentType, true, true
	return a, nil
}

// someMap is the map of some sites.
func (a *siteAnswers) someMap(q sites.Query, form int) answer {
	found, _ := a.Find(q)
	some := a.rows(mapHead(form, len(found)), len(found))
	asked := fmt.Appendf(nil, "%d %q %v", q.Scope, q.Country, q.Box) // which the head does not tell
	some.tag, some.end = hash([]byte(some.tag), asked), mapForms[form].end
	some.row = func(dst []byte, k int) []byte { return a.AppendFeature(dst, found[k]) }
	return some
}

// wholeMap is the map of all sites in a scope.
func (a *siteAnswers) wholeMap(scope sites.Scope, form int) *body {
	found, _ := a.Find(sites.Query{Scope: scope})
	raw := mapHead(form, len(found))
	for k, f := range found {
		if k > 0 {
			raw = append(raw, ',')
		}
		raw = a.AppendFeature(raw, f)
	}
	return newBody(append(raw, mapForms[form].end...), a.Received)
}

// box gives the box asked for; nil for none.
func (c *call) box() (*sites.Box, error) {
	value, err := c.param("bbox")
	if err != nil || value == "" {
		return nil, err
	}
	var edges [4]float64
	parts := strings.Split(value, ",")
	good := len(parts) == len(edges)
	for i := 0; good && i < len(edges); i++ {
		edges[i], good = plainNumber(parts[i])
	}
	b := &sites.Box{West: edges[0], South: edges[1], East: edges[2], North: edges[3]}
	if !good || math.Abs(b.West) > 180 || math.Abs(b.East) > 180 || b.South < -90 || b.North > 90 || b.South > b.North {
		return nil, invalid("bbox", value, "minLon,minLat,maxLon,maxLat in degrees, with minLat not above maxLat")
	}
	return b, nil
}

// prefersGeoJSON tells whether an Accept header names GeoJSON, and not JSON before it.
func prefersGeoJSON(header []string) bool {
	var geo, plain float64
	for _, line := range header {
		for part := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "application/geo+json":
				geo = acceptQuality(parameters)
			case "application/json":
				plain = acceptQuality(parameters)
			}
		}
	}
	return geo > 0 && geo >= plain
}

// acceptQuality finds the quality among the parameters of a media type.
func acceptQuality(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		if parameter = strings.TrimSpace(parameter); strings.HasPrefix(parameter, "q=") {
			return quality(parameter)
		}
	}
	return 1
}
