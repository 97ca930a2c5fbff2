package ingest

import (
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/sites"
)

var siteSchema = &Schema{
	Family: "sites", About: "a place where GPUs stand",
	Columns: []Column{
		{"id", "what the site is known by in your list; never shown", false},
		{"company", "owner of the site", false},
		{"site_name", "name of the site", false},
		{"city", "city, or empty", true},
		{"country", "a country's English name or ISO 3166 code, or empty when it is not known", true},
		{"gpu_types", "which GPUs, in words, for example 8x H100 SXM5 / A100, or empty", true},
		{"gpu_qty", "number of GPUs, a whole number", false},
		{"power_capacity_mw", "megawatts, up to 6 decimals", false},
		{"chip_generation", "for example Hopper, or empty", true},
		{"category", "business category, or empty", true},
		{"key_customer", "main customer, or empty for none", true},
		{"status", "for example operational, or empty", true},
		{"dc_tier", "data-center tier, or empty", true},
		{"latitude", "degrees, -90 to 90, up to 6 decimals", false},
		{"longitude", "degrees, -180 to 180, up to 6 decimals", false},
		{"is_neocloud", "true for GPU-as-a-service, else false", false},
	},
	Example: [][]string{
		{"osl-1", "Fjordline Compute", "Oslo 1", "Oslo", "Norway", "8x H100 SXM5 / A100", "4096", "12.5", "Hopper", "GPU cloud", "", "operational", "Tier III", "59.9139", "10.7522", "true"},
		{"osl-2", "Fjordline Compute", "Oslo 2", "Oslo", "NO", "GB200 NVL72", "1152", "3", "Blackwell", "GPU cloud", "Nordlab", "planned", "Tier III", "59.95", "10.77", "true"},
	},
}

// SiteColumns are the columns of a file of sites.
var SiteColumns = siteSchema.names()

// Sites imports sites. A row is known by its id; other content under a known id is a new revision when options say so.
func Sites(options Options) *Importer[assay.Site] {
	return newImporter(options, &family[assay.Site]{
		columns:  SiteColumns,
		optional: siteSchema.optional(),
		parse:    parseSite,
		check:    checkSite,
		append:   observed(options, assay.FamilySites, (*assay.Site).Key),
		describe: func(s *assay.Site) (source, key string) { return "", fmt.Sprintf("the site of id %q", s.ID) },
		revises:  true,
	})
}

// More GPUs and megawatts than these stand nowhere: such a row counts something else.
const (
	maxSiteGPUs  = 100_000_000
	maxSitePower = 100_000
)

var (
	siteGPUs  = quantity{"gpu_qty", 0, 0, maxSiteGPUs, "whole numbers from 0 to 100000000"}
	sitePower = quantity{"power_capacity_mw", assay.MicroDecimals, 0, maxSitePower * 1e6, "0 to 100000 with up to 6 decimals"}
	latitude  = quantity{"latitude", assay.MicroDecimals, -90e6, 90e6, "-90 to 90 with up to 6 decimals"}
	longitude = quantity{"longitude", assay.MicroDecimals, -180e6, 180e6, "-180 to 180 with up to 6 decimals"}
)

// parseSite takes the cells in the order of SiteColumns.
func parseSite(_ *checker, cells []string, s *assay.Site) (err error) {
	s.ID, s.Company, s.SiteName, s.City, s.GPUTypes = cells[0], cells[1], cells[2], cells[3], cells[5]
	s.ChipGeneration, s.Category, s.KeyCustomer, s.Status, s.DCTier = cells[8], cells[9], cells[10], cells[11], cells[12]
	if s.Country, err = parseCountry(cells[4]); err != nil {
		return err
	}
	if s.GPUQty, err = siteGPUs.parse(cells[6]); err != nil {
		return err
	}
	for _, number := range []struct {
		of   *quantity
		cell string
		into *assay.Micros
	}{{&sitePower, cells[7], &s.Power}, {&latitude, cells[13], &s.Latitude}, {&longitude, cells[14], &s.Longitude}} {
		n, err := number.of.parse(number.cell)
		if err != nil {
			return err
		}
		*number.into = assay.Micros(n)
	}
	if cells[15] == "" {
		return fmt.Errorf("is_neocloud is missing")
	}
	s.IsNeocloud, err = parseFlag("is_neocloud", cells[15])
	return err
}

// parseCountry gives a country the name that we write; it is empty for none.
func parseCountry(cell string) (string, error) {
	if cell == "" {
		return "", nil
	}
	name, ok := sites.Country(cell)
	switch {
	case !ok:
		return "", fmt.Errorf("country %q is not known: allowed are English names and ISO 3166 codes of countries, Unknown, or nothing", shown(cell))
	case name == sites.Unknown:
		return "", nil
	}
	return name, nil
}

// maxWords is the longest description: it may list a few things.
const maxWords = 512

func checkSite(_ *checker, s *assay.Site) error {
	for _, text := range []struct {
		name, value string
		required    bool
		most        int
	}{
		{"id", s.ID, true, maxText},
		{"company", s.Company, true, maxText},
		{"site_name", s.SiteName, true, maxText},
		{"city", s.City, false, maxText},
		{"gpu_types", s.GPUTypes, false, maxWords},
		{"chip_generation", s.ChipGeneration, false, maxText},
		{"category", s.Category, false, maxText},
		{"key_customer", s.KeyCustomer, false, maxWords},
		{"status", s.Status, false, maxText},
		{"dc_tier", s.DCTier, false, maxText},
	} {
		if text.value == "" && !text.required {
			continue
		}
		if err := checkTextUpTo(text.name, text.value, text.most); err != nil {
			return err
		}
	}
	if name, err := parseCountry(s.Country); err != nil || name != s.Country {
		return fmt.Errorf("country %q is not written as we write it", shown(s.Country))
	}
	if err := siteGPUs.check(s.GPUQty); err != nil {
		return err
	}
	if err := sitePower.check(int64(s.Power)); err != nil {
		return err
	}
	if err := latitude.check(int64(s.Latitude)); err != nil {
		return err
	}
	return longitude.check(int64(s.Longitude))
}
