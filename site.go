package assay

// Site is a place where GPUs stand, as it is kept. What callers see of it leaves out the id, says Unknown where no country
// is on file, and null where no key customer is.
type Site struct {
	ID             string `json:"id"` // within the operator's list; never shown
	Company        string `json:"company"`
	SiteName       string `json:"site_name"`
	City           string `json:"city"`
	Country        string `json:"country"` // normalised; empty when none is on file
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

// Key is what a site is known by.
func (s *Site) Key() string { return s.ID }

// Micros is an exact decimal number counted in millionths: degrees, which are then good to a tenth of a metre, or
// megawatts.
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

// Float is the nearest float64, for what is not exact by nature: distances.
func (m Micros) Float() float64 { return float64(m) / 1e6 }
