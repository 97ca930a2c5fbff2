package assay

// SharedSeries names one series and how much of it is shown: what a share link or a picture is about.
type SharedSeries struct {
	Family      string `json:"family"`
	Series      string `json:"series"` // a GPU model, the id of a memory type or a coding product, a lab
	Region      string `json:"region"`
	Granularity string `json:"granularity"`
	Range       string `json:"range"`
}

// ShareLink is a link to one series, as its owner sees it. Its token is shown once, and is not in it.
type ShareLink struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	SharedSeries
	Status    string    `json:"status"`
	CreatedAt Timestamp `json:"created_at"`
}

// The statuses of a share link.
const (
	LinkActive   = "active"
	LinkReduced  = "reduced"   // it shows less than it was made for, because its account's access has become less
	LinkNoAccess = "no_access" // its account may not read the series
)

// The families whose series can be shared.
const (
	SharedGPU         = "gpu"
	SharedMemory      = "memory"
	SharedModels      = "models"
	SharedCoding      = "coding"
	SharedUtilization = "utilization"
)

// SharedFamilies lists them.
var SharedFamilies = []string{SharedGPU, SharedMemory, SharedModels, SharedCoding, SharedUtilization}

// ranges are how far back a series can be shown, in days or in months; the last one is from its beginning.
var ranges = []span{{"7d", 7, 0}, {"1m", 0, 1}, {"3m", 0, 3}, {"6m", 0, 6}, {"1y", 0, 12}, {"all", 0, 0}}

type span struct {
	name         string
	days, months int
}

// RangeNames lists the names of ranges, shortest first.
func RangeNames() (names []string) {
	for _, r := range ranges {
		names = append(names, r.name)
	}
	return names
}

// RangeStart is the first day of a range that ends now, as midnight UTC; 0 for a series from its beginning. The name is
// one of RangeNames.
func RangeStart(name string, now int64) int64 {
	for _, r := range ranges {
		switch {
		case r.name != name:
		case r.days > 0:
			return StartOfDay(now) - int64(r.days)*Day
		case r.months > 0:
			return MonthsBack(now, r.months)
		}
	}
	return 0
}

// OpenLink is what a share link shows now.
type OpenLink struct {
	ID string // public
	SharedSeries
	Owner Caller // with its access as of now
}
