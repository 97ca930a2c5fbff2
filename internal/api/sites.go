package api

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/cache"
	"github.com/assaydata/assay/internal/redact"
	"github.com/assaydata/assay/internal/sites"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// siteFamily is where GPUs are.
var siteFamily = marketFamily{
	name: assay.FamilySites.String(),
	routes: []route{
		{"/api/neocloud/sites", web.PerKey, access.FullSites, neocloudSites, siteColumns},
		{"/api/neocloud/sites/aggregate", web.PerKey, access.FullSites, sitesAggregate, bucketColumns},
		{"/api/neocloud/map", web.PerKey, access.FullSites, sitesMap, nil},
	},
	latest: func(snap *snapshot.Snapshot) int64 { return snap.Observations[assay.FamilySites].Latest() },
	warm:   warmSites,
}

// siteModel is the sites that were known at a moment, with the bodies that are about all of them.
type siteModel struct {
	*sites.Model
	bodies *cache.Cache[siteBody, *web.Body]
}

// siteBody names a body about all sites of a scope.
type siteBody struct {
	kind  string // aggregate or map
	scope sites.Scope
	form  int // the grouping, or the form of the map
}

var (
	siteScopes    = [...]string{sites.Neocloud: "neocloud", sites.All: "all"}
	siteGroupings = [...]string{sites.ByCountry: "country", sites.ByGPUType: "gpu_type"}
)

// maxSiteBodies is all of them.
const maxSiteBodies = len(siteScopes) * (len(siteGroupings) + len(mapForms))

var siteModels = &modelKind[assay.Site, *siteModel]{
	name:   "sites",
	family: sites.Family,
	build: func(_ *API, _ *snapshot.Snapshot, known knownRows[assay.Site]) *siteModel {
		return &siteModel{
			Model:  sites.New(known.rows),
			bodies: cache.New[siteBody](cache.Limits[*web.Body]{Entries: maxSiteBodies}),
		}
	},
	size: func(m *siteModel) int { return m.Size() },
}

// sites returns the sites that were known at the requested moment. Responses about the past are not cached.
func (q *query) sites() (*siteModel, error) {
	m, err := siteModels.of(q)
	if err == nil && q.asOf {
		m = &siteModel{Model: m.Model}
	}
	return m, err
}

// warmSites makes the responses about all sites.
func warmSites(a *API, snap *snapshot.Snapshot) {
	m := siteModels.current(a, snap)
	for scope := range siteScopes {
		for by := range siteGroupings {
			m.aggregate(sites.Grouping(by), sites.Scope(scope))
		}
		for form := range mapForms {
			m.wholeMap(sites.Scope(scope), form)
		}
	}
}

// siteScope reads scope and as_of, which all site routes take, and decides what the caller gets.
func (q *query) siteScope() (scope sites.Scope, err error) {
	word, err := q.OneOf("scope", siteScopes[sites.Neocloud], siteScopes[:]...)
	if err != nil {
		return scope, err
	}
	if word == siteScopes[sites.All] {
		scope = sites.All
	}
	_, err = q.granted(access.Ask{})
	return scope, err
}

// siteQuery echoes the parameters of a request for sites.
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
	defaultSites, maxSites   = 100, 1000
	defaultRadius, maxRadius = 50.0, 500.0
)

// neocloudSites serves the sites of a region.
func neocloudSites(q query) (web.Response, error) {
	find, echo, err := q.siteQuery()
	if err != nil {
		return web.Response{}, err
	}
	query, err := json.Marshal(echo)
	if err != nil {
		return web.Response{}, err
	}
	all, err := q.sites()
	if err != nil {
		return web.Response{}, err
	}
	page, total := all.Find(find)
	head := appendIntField(make([]byte, 0, 512), `{"success":true,"access":"full","count":`, len(page))
	head = appendIntField(head, `,"total":`, total)
	var next []web.Change
	if end := find.Offset + len(page); end < total {
		next = []web.Change{{Param: "offset", Value: strconv.Itoa(end)}}
		q.LinkNext(next)
	}
	head = appendMore(head, next)
	head = append(append(append(head, `,"query":`...), query...), `,"sites":[`...)
	row := func(dst []byte, k int) []byte { return all.AppendSite(dst, page[k]) }
	if find.Near != nil {
		row = func(dst []byte, k int) []byte { return all.AppendNear(dst, page[k]) }
	}
	return web.Rows(all.version(head), head, len(page), row).ShortLived(), nil
}

// version identifies a response about some of the sites. The head shows what was requested, and the time of the newest
// site which sites existed; more is what both do not tell.
func (m *siteModel) version(head []byte, more ...[]byte) web.Version {
	return web.NewVersion(m.Received, append([][]byte{head, strconv.AppendInt(nil, m.Received, 10)}, more...)...)
}

func (q *query) siteQuery() (find sites.Query, echo siteQuery, err error) {
	if echo.City, find.City, err = q.folded("city"); err != nil {
		return find, echo, err
	}
	if find.Near, err = q.circle(); err != nil {
		return find, echo, err
	}
	if near := find.Near; near != nil {
		echo.Lat, echo.Lng, echo.RadiusKm = &near.Latitude, &near.Longitude, &near.RadiusKm
	}
	if find.Country, err = q.country(); err != nil {
		return find, echo, err
	}
	if echo.GPUType, find.GPUType, err = q.folded("gpu_type"); err != nil {
		return find, echo, err
	}
	if chip, ok := sites.Chip(find.GPUType); ok { // as the bucket of that chip: GB200 is not B200
		find.Chip, find.GPUType = chip, ""
	}
	if find.Limit, err = q.Int("limit", defaultSites, 1, maxSites); err != nil {
		return find, echo, err
	}
	if find.Offset, err = q.Int("offset", 0, 0, math.MaxInt32); err != nil {
		return find, echo, err
	}
	if find.City == "" && find.Near == nil && find.Country == "" {
		return find, echo, web.Missing("city", "given, or lat with lng, or country")
	}
	find.Scope, err = q.siteScope()
	echo.Country, echo.Scope, echo.Limit, echo.Offset = find.Country, siteScopes[find.Scope], find.Limit, find.Offset
	return find, echo, err
}

// folded returns a text parameter as the response may repeat it, without keys, and the form of it that is searched for.
func (q *query) folded(name string) (value, folded string, err error) {
	if value, err = q.Param(name); err != nil || value == "" {
		return "", "", err
	}
	if folded = strings.TrimSpace(sites.Fold(value)); folded == "" {
		return "", "", web.Invalid(name, value, "a text with at least one letter or digit")
	}
	return redact.Keys(value), folded, nil
}

// country returns the requested country, in our spelling.
func (q *query) country() (string, error) {
	value, err := q.Param("country")
	if err != nil || value == "" {
		return "", err
	}
	name, ok := sites.Country(value)
	if !ok {
		return "", web.Invalid("country", value, "a country's English name or ISO 3166 code, or Unknown")
	}
	return name, nil
}

// circle returns the requested circle; nil for none.
func (q *query) circle() (*sites.Circle, error) {
	lat, hasLat, err := q.Number("lat", "a decimal number from -90 to 90", within(-90, 90))
	if err != nil {
		return nil, err
	}
	lng, hasLng, err := q.Number("lng", "a decimal number from -180 to 180", within(-180, 180))
	if err != nil {
		return nil, err
	}
	radius, hasRadius, err := q.Number("radius_km", "a decimal number above 0 and up to 500", func(v float64) bool {
		return v > 0 && v <= maxRadius
	})
	switch {
	case err != nil:
		return nil, err
	case hasLat && !hasLng:
		return nil, web.Missing("lng", "given together with lat")
	case hasLng && !hasLat:
		return nil, web.Missing("lat", "given together with lng")
	case hasRadius && !hasLat:
		value, _ := q.Param("radius_km") // read before
		return nil, web.Invalid("radius_km", value, "given together with lat and lng")
	case !hasLat:
		return nil, nil
	case !hasRadius:
		radius = defaultRadius
	}
	return &sites.Circle{Latitude: lat, Longitude: lng, RadiusKm: radius}, nil
}

func within(lowest, highest float64) func(float64) bool {
	return func(v float64) bool { return v >= lowest && v <= highest }
}

// sitesAggregate serves how many sites, GPUs and megawatts each country or chip has.
func sitesAggregate(q query) (web.Response, error) {
	word, err := q.OneOf("by", siteGroupings[sites.ByCountry], siteGroupings[:]...)
	if err != nil {
		return web.Response{}, err
	}
	scope, err := q.siteScope()
	if err != nil {
		return web.Response{}, err
	}
	by := sites.ByCountry
	if word == siteGroupings[sites.ByGPUType] {
		by = sites.ByGPUType
	}
	all, err := q.sites()
	if err != nil {
		return web.Response{}, err
	}
	return web.Ready(all.aggregate(by, scope)).ShortLived(), nil
}

func (m *siteModel) aggregate(by sites.Grouping, scope sites.Scope) *web.Body {
	return m.bodies.Get(siteBody{"aggregate", scope, int(by)}, func() *web.Body {
		buckets := m.Buckets(by, scope)
		return web.ObjectBody(struct {
			Success bool           `json:"success"`
			Access  assay.Access   `json:"access"`
			By      string         `json:"by"`
			Scope   string         `json:"scope"`
			Overlap bool           `json:"overlapping"` // a site may count in several buckets
			Count   int            `json:"count"`
			Data    []sites.Bucket `json:"data"`
		}{
			true, assay.AccessFull, siteGroupings[by], siteScopes[scope], by == sites.ByGPUType, len(buckets), buckets,
		}, m.Received)
	})
}

// mapForms are the two forms of a map: in the envelope, and as a bare collection.
var mapForms = [...]struct {
	contentType string // empty: JSON
	begin       string // before the number of features; the bare form does not have it
	head        string
	tail        []byte
}{
	{
		begin: `{"success":true,"access":"full","count":`,
		head:  `,"data":{"type":"FeatureCollection","features":[`,
		tail:  []byte("]}}"),
	},
	{
		contentType: "application/geo+json",
		head:        `{"type":"FeatureCollection","features":[`,
		tail:        []byte("]}"),
	},
}

func mapHead(form, count int) []byte {
	head := []byte(mapForms[form].begin)
	if len(head) > 0 {
		head = strconv.AppendInt(head, int64(count), 10)
	}
	return append(head, mapForms[form].head...)
}

// sitesMap serves sites as GeoJSON.
func sitesMap(q query) (web.Response, error) {
	var find sites.Query
	var err error
	if find.Country, err = q.country(); err != nil {
		return web.Response{}, err
	}
	if find.Box, err = q.box(); err != nil {
		return web.Response{}, err
	}
	if find.Scope, err = q.siteScope(); err != nil {
		return web.Response{}, err
	}
	form := 0
	if prefersGeoJSON(q.Header("Accept")) {
		form = 1
	}
	all, err := q.sites()
	if err != nil {
		return web.Response{}, err
	}
	return all.mapOf(find, form).As(mapForms[form].contentType).ShortLived().ByAccept(), nil
}

// mapOf is the map of some sites or, without a country and a box, of all in the scope.
func (m *siteModel) mapOf(find sites.Query, form int) web.Response {
	if find.Country == "" && find.Box == nil {
		return web.Ready(m.wholeMap(find.Scope, form))
	}
	found, _ := m.Find(find)
	head := mapHead(form, len(found))
	requested := fmt.Appendf(nil, "%d %q %v", find.Scope, find.Country, find.Box)
	return web.RowsWithTail(m.version(head, requested), head, len(found), func(dst []byte, k int) []byte {
		return m.AppendFeature(dst, found[k])
	}, mapForms[form].tail)
}

// wholeMap is the map of all sites in a scope.
func (m *siteModel) wholeMap(scope sites.Scope, form int) *web.Body {
	return m.bodies.Get(siteBody{"map", scope, form}, func() *web.Body {
		found, _ := m.Find(sites.Query{Scope: scope})
		raw := mapHead(form, len(found))
		for k, f := range found {
			if k > 0 {
				raw = append(raw, ',')
			}
			raw = m.AppendFeature(raw, f)
		}
		return web.NewBody(append(raw, mapForms[form].tail...), m.Received)
	})
}

// box returns the requested box; nil for none.
func (q *query) box() (*sites.Box, error) {
	value, err := q.Param("bbox")
	if err != nil || value == "" {
		return nil, err
	}
	var edges [4]float64
	parts := strings.Split(value, ",")
	good := len(parts) == len(edges)
	for i := 0; good && i < len(edges); i++ {
		edges[i], good = web.ParseNumber(parts[i])
	}
	b := &sites.Box{West: edges[0], South: edges[1], East: edges[2], North: edges[3]}
	if !good || math.Abs(b.West) > 180 || math.Abs(b.East) > 180 || b.South < -90 || b.North > 90 || b.South > b.North {
		return nil, web.Invalid("bbox", value, "minLon,minLat,maxLon,maxLat in degrees, with minLat not above maxLat")
	}
	return b, nil
}

// prefersGeoJSON reports whether an Accept header names GeoJSON, and does not prefer JSON.
func prefersGeoJSON(accept []string) bool {
	geo := web.AcceptQuality(accept, "application/geo+json")
	return geo > 0 && geo >= web.AcceptQuality(accept, "application/json")
}
