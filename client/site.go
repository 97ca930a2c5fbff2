package client

import (
	"context"

	"github.com/assaydata/assay"
)

// Sites are data-center sites of a region.
type Sites struct {
	Meta

	Access  assay.Access      `json:"access"`
	Count   int               `json:"count"`
	Total   int               `json:"total"` // on all pages
	HasMore bool              `json:"has_more"`
	Next    map[string]string `json:"next,omitempty"`
	Query   SitesQuery        `json:"query"`
	Sites   []Site            `json:"sites"`
}

// SitesQuery is what was applied.
type SitesQuery struct {
	City     string        `json:"city,omitempty"`
	Lat      *assay.Micros `json:"lat,omitempty"`
	Lng      *assay.Micros `json:"lng,omitempty"`
	RadiusKm *float64      `json:"radius_km,omitempty"`
	Country  string        `json:"country,omitempty"`
	GPUType  string        `json:"gpu_type,omitempty"`
	Scope    string        `json:"scope"`
	Limit    int           `json:"limit"`
	Offset   int           `json:"offset"`
}

// Site is a data-center site.
type Site struct {
	Company         string        `json:"company"`
	SiteName        string        `json:"site_name"`
	City            string        `json:"city"`
	Country         string        `json:"country"` // Unknown if none is on file
	GPUTypes        string        `json:"gpu_types"`
	GPUQty          int64         `json:"gpu_qty"`
	PowerCapacityMW assay.Micros  `json:"power_capacity_mw"`
	ChipGeneration  string        `json:"chip_generation"`
	Category        string        `json:"category"`
	KeyCustomer     *string       `json:"key_customer"`
	Status          string        `json:"status"`
	DCTier          string        `json:"dc_tier"`
	Latitude        assay.Micros  `json:"latitude"`
	Longitude       assay.Micros  `json:"longitude"`
	IsNeocloud      bool          `json:"is_neocloud"`
	DistanceKm      *assay.Micros `json:"distance_km,omitempty"` // from the point that was asked about
}

// SitesAggregate are totals of sites by country or by GPU type.
type SitesAggregate struct {
	Meta

	Access      assay.Access  `json:"access"`
	By          string        `json:"by"`
	Scope       string        `json:"scope"`
	Overlapping bool          `json:"overlapping"` // a site may count in several buckets: do not add them up
	Count       int           `json:"count"`
	Data        []SitesBucket `json:"data"`
}

// SitesBucket is the total of one country or GPU type.
type SitesBucket struct {
	Key          string       `json:"key"`
	SiteCount    int          `json:"site_count"`
	TotalGPUQty  int64        `json:"total_gpu_qty"`
	TotalPowerMW assay.Micros `json:"total_power_mw"`
}

// SitesMap are sites on a map.
type SitesMap struct {
	Meta

	Access assay.Access   `json:"access"`
	Count  int            `json:"count"`
	Data   SiteCollection `json:"data"`
}

// SiteCollection is a FeatureCollection of GeoJSON.
type SiteCollection struct {
	Type     string        `json:"type"`
	Features []SiteFeature `json:"features"`
}

// SiteFeature is a Feature of GeoJSON: a site and where it is.
type SiteFeature struct {
	Type       string    `json:"type"`
	Geometry   SitePoint `json:"geometry"`
	Properties Site      `json:"properties"`
}

// SitePoint is a Point of GeoJSON.
type SitePoint struct {
	Type        string         `json:"type"`
	Coordinates []assay.Micros `json:"coordinates"` // longitude, latitude
}

// sitesRoute is the route that EachSite reads page by page.
const sitesRoute = "/api/neocloud/sites"

// Sites returns the sites of a region. For all pages use EachSite.
func (c *Client) Sites(ctx context.Context, p *SitesParams) (*Sites, error) {
	return get[Sites](ctx, c, sitesRoute, p)
}

// SitesAggregate returns totals of sites by country or by GPU type.
func (c *Client) SitesAggregate(ctx context.Context, p *SitesAggregateParams) (*SitesAggregate, error) {
	return get[SitesAggregate](ctx, c, "/api/neocloud/sites/aggregate", p)
}

// SitesMap returns the sites as GeoJSON.
func (c *Client) SitesMap(ctx context.Context, p *SitesMapParams) (*SitesMap, error) {
	return get[SitesMap](ctx, c, "/api/neocloud/map", p)
}
