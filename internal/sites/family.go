package sites

import (
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
)

// Family is the family of sites. A site is identified by its id in the operator's list.
var Family = &family.Definition[assay.Site]{
	Family:   assay.FamilySites,
	Schema:   schema,
	Parse:    parse,
	Check:    check,
	Key:      (*assay.Site).Key,
	Describe: func(s *assay.Site) string { return fmt.Sprintf("the site with id %q", s.ID) },
	At:       func(o *assay.Observed[assay.Site]) int64 { return o.Received },
}

var schema = &family.Schema{
	Name: assay.FamilySites.String(), About: "a data-center site with GPUs", Revises: true,
	Columns: []family.Column{
		{Name: "id", About: "identifies the site in your list; never shown"},
		{Name: "company", About: "owner of the site"},
		{Name: "site_name", About: "name of the site"},
		{Name: "city", About: "city, or empty", Optional: true},
		{Name: "country", About: "a country's English name or ISO 3166 code, or empty if unknown", Optional: true},
		{Name: "gpu_types", About: "GPU models as text, for example 8x H100 SXM5 / A100, or empty", Optional: true},
		{Name: "gpu_qty", About: "number of GPUs, an integer"},
		{Name: "power_capacity_mw", About: "megawatts, up to 6 decimals"},
		{Name: "chip_generation", About: "for example Hopper, or empty", Optional: true},
		{Name: "category", About: "business category, or empty", Optional: true},
		{Name: "key_customer", About: "main customer, or empty for none", Optional: true},
		{Name: "status", About: "for example operational, or empty", Optional: true},
		{Name: "dc_tier", About: "data-center tier, or empty", Optional: true},
		{Name: "latitude", About: "degrees, -90 to 90, up to 6 decimals"},
		{Name: "longitude", About: "degrees, -180 to 180, up to 6 decimals"},
		{Name: "is_neocloud", About: "true for GPU-as-a-service, else false"},
	},
	Example: [][]string{
		{
			"osl-1", "Fjordline Compute", "Oslo 1", "Oslo", "Norway", "8x H100 SXM5 / A100", "4096", "12.5", "Hopper",
			"GPU cloud", "", "operational", "Tier III", "59.9139", "10.7522", "true",
		},
		{
			"osl-2", "Fjordline Compute", "Oslo 2", "Oslo", "NO", "GB200 NVL72", "1152", "3", "Blackwell",
			"GPU cloud", "Nordlab", "planned", "Tier III", "59.95", "10.77", "true",
		},
	},
}

// No site has more GPUs or megawatts than these: such a row counts something else.
const (
	maxSiteGPUs  = 100_000_000
	maxSitePower = 100_000
)

var (
	gpuQty = family.Quantity{Name: "gpu_qty", Most: maxSiteGPUs, Allowed: "an integer from 0 to 100000000"}
	power  = family.Quantity{
		Name: "power_capacity_mw", Decimals: assay.MicroDecimals, Most: maxSitePower * 1e6,
		Allowed: "from 0 to 100000, with up to 6 decimals",
	}
	latitude = family.Quantity{
		Name: "latitude", Decimals: assay.MicroDecimals, Least: -90e6, Most: 90e6,
		Allowed: "from -90 to 90, with up to 6 decimals",
	}
	longitude = family.Quantity{
		Name: "longitude", Decimals: assay.MicroDecimals, Least: -180e6, Most: 180e6,
		Allowed: "from -180 to 180, with up to 6 decimals",
	}
)

func parse(_ *family.Checker, cells []string, s *assay.Site) (err error) {
	s.ID, s.Company, s.SiteName, s.City, s.GPUTypes = cells[0], cells[1], cells[2], cells[3], cells[5]
	s.ChipGeneration, s.Category, s.KeyCustomer, s.Status, s.DCTier = cells[8], cells[9], cells[10], cells[11], cells[12]
	if s.Country, err = parseCountry(cells[4]); err != nil {
		return err
	}
	if s.GPUQty, err = gpuQty.Parse(cells[6]); err != nil {
		return err
	}
	for _, number := range []struct {
		column *family.Quantity
		cell   string
		into   *assay.Micros
	}{{&power, cells[7], &s.Power}, {&latitude, cells[13], &s.Latitude}, {&longitude, cells[14], &s.Longitude}} {
		n, err := number.column.Parse(number.cell)
		if err != nil {
			return err
		}
		*number.into = assay.Micros(n)
	}
	if cells[15] == "" {
		return fmt.Errorf("is_neocloud is missing")
	}
	s.IsNeocloud, err = family.ParseFlag("is_neocloud", cells[15])
	return err
}

// parseCountry returns the normalized name of a country, or "" for none.
func parseCountry(cell string) (string, error) {
	if cell == "" {
		return "", nil
	}
	if err := assay.CheckVisible("country", cell); err != nil {
		return "", err
	}
	name, ok := Country(cell)
	switch {
	case !ok:
		const allowed = "must be an English name or ISO 3166 code of a country, Unknown, or empty"
		return "", fmt.Errorf("country %q is not known: %s", family.Shorten(cell), allowed)
	case name == Unknown:
		return "", nil
	}
	return name, nil
}

// maxDescription is the length limit in bytes of texts that may list several things.
const maxDescription = 512

func check(_ *family.Checker, s *assay.Site) error {
	for _, text := range []struct {
		name, value string
		required    bool
		most        int
	}{
		{"id", s.ID, true, family.MaxText},
		{"company", s.Company, true, family.MaxText},
		{"site_name", s.SiteName, true, family.MaxText},
		{"city", s.City, false, family.MaxText},
		{"gpu_types", s.GPUTypes, false, maxDescription},
		{"chip_generation", s.ChipGeneration, false, family.MaxText},
		{"category", s.Category, false, family.MaxText},
		{"key_customer", s.KeyCustomer, false, maxDescription},
		{"status", s.Status, false, family.MaxText},
		{"dc_tier", s.DCTier, false, family.MaxText},
	} {
		if text.value == "" && !text.required {
			continue
		}
		if err := family.CheckTextUpTo(text.name, text.value, text.most); err != nil {
			return err
		}
	}
	if name, err := parseCountry(s.Country); err != nil || name != s.Country {
		return fmt.Errorf("country %q is not a normalized country name", family.Shorten(s.Country))
	}
	if err := gpuQty.Check(s.GPUQty); err != nil {
		return err
	}
	if err := power.Check(int64(s.Power)); err != nil {
		return err
	}
	if err := latitude.Check(int64(s.Latitude)); err != nil {
		return err
	}
	return longitude.Check(int64(s.Longitude))
}
