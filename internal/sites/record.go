package sites

import (
	"strconv"

	"github.com/assaydata/assay"
)

// appendRecord appends the JSON record of a site.
func appendRecord(dst []byte, s *assay.Site) []byte {
	dst = assay.AppendString(append(dst, `{"company":`...), s.Company)
	dst = assay.AppendString(append(dst, `,"site_name":`...), s.SiteName)
	dst = assay.AppendString(append(dst, `,"city":`...), s.City)
	dst = assay.AppendString(append(dst, `,"country":`...), s.Country)
	dst = assay.AppendString(append(dst, `,"gpu_types":`...), s.GPUTypes)
	dst = strconv.AppendInt(append(dst, `,"gpu_qty":`...), s.GPUQty, 10)
	dst = s.Power.AppendJSON(append(dst, `,"power_capacity_mw":`...))
	dst = assay.AppendString(append(dst, `,"chip_generation":`...), s.ChipGeneration)
	dst = assay.AppendString(append(dst, `,"category":`...), s.Category)
	dst = append(dst, `,"key_customer":`...)
	if s.KeyCustomer == "" {
		dst = append(dst, "null"...)
	} else {
		dst = assay.AppendString(dst, s.KeyCustomer)
	}
	dst = assay.AppendString(append(dst, `,"status":`...), s.Status)
	dst = assay.AppendString(append(dst, `,"dc_tier":`...), s.DCTier)
	dst = s.Latitude.AppendJSON(append(dst, `,"latitude":`...))
	dst = s.Longitude.AppendJSON(append(dst, `,"longitude":`...))
	dst = strconv.AppendBool(append(dst, `,"is_neocloud":`...), s.IsNeocloud)
	return append(dst, '}')
}

// AppendSite appends the record of a site.
func (m *Model) AppendSite(dst []byte, f Found) []byte { return append(dst, m.records.at(f.site)...) }

// AppendNear appends the record of a site of a circle query, with its distance in km, rounded half-even to meters.
func (m *Model) AppendNear(dst []byte, f Found) []byte {
	record := m.records.at(f.site)
	dst = append(append(dst, record[:len(record)-1]...), `,"distance_km":`...)
	return append(assay.Micros(f.meters*1000).AppendJSON(dst), '}')
}

// AppendFeature appends a site as a GeoJSON feature: a point whose properties are the record.
func (m *Model) AppendFeature(dst []byte, f Found) []byte {
	s := &m.sites[f.site]
	dst = s.Longitude.AppendJSON(append(dst, `{"type":"Feature","geometry":{"type":"Point","coordinates":[`...))
	dst = s.Latitude.AppendJSON(append(dst, ','))
	return append(m.AppendSite(append(dst, `]},"properties":`...), f), '}')
}
