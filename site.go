package assay

// Site is a data-center site as it is stored. Responses leave out the id, and show Unknown for a missing country and
// null for a missing key customer.
type Site struct {
	ID             string `json:"id"` // within the operator's list; never shown
	Company        string `json:"company"`
	SiteName       string `json:"site_name"`
	City           string `json:"city"`
	Country        string `json:"country"` // normalized; empty if none is on file
	GPUTypes       string `json:"gpu_types"`
	GPUQty         int64  `json:"gpu_qty"`
	Power          Micros `json:"power_capacity_mw"`
	ChipGeneration string `json:"chip_generation"`
	Category       string `json:"category"`
	KeyCustomer    string `json:"key_customer"` // empty for none
	Status         string `json:"status"`
	DCTier         string `json:"dc_tier"`
	Latitude       Micros `json:"latitude"` // degrees
	Longitude      Micros `json:"longitude"`
	IsNeocloud     bool   `json:"is_neocloud"`
}

// Key identifies a site.
func (s *Site) Key() string { return s.ID }

// Micros is an exact decimal number in millionths: degrees, which are then precise to a tenth of a meter, or megawatts.
type Micros int64

// MicroDecimals is how many decimals a Micros holds.
const MicroDecimals = 6

// AppendJSON appends the shortest exact decimal form of m, which is also its JSON number.
func (m Micros) AppendJSON(dst []byte) []byte {
	if m < 0 {
		dst, m = append(dst, '-'), -m
	}
	return AppendMicros(dst, int64(m))
}

// MarshalJSON writes m as a JSON number.
func (m Micros) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// UnmarshalJSON reads a plain JSON number exactly.
func (m *Micros) UnmarshalJSON(b []byte) error {
	parsed, err := ParseDecimal(string(b), MicroDecimals)
	*m = Micros(parsed)
	return err
}

// String returns the shortest exact decimal form.
func (m Micros) String() string { return string(m.AppendJSON(nil)) }

// Float returns the nearest float64, for distances.
func (m Micros) Float() float64 { return float64(m) / 1e6 }
