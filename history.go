package assay

import "fmt"

// Grain is how far apart the points of a series stand.
type Grain uint8

// The grains that are published.
const (
	Daily Grain = iota
	Hourly
)

var grainNames = [...]string{Daily: "daily", Hourly: "hourly"}

// Grains lists the published grains.
var Grains = []Grain{Daily, Hourly}

// String is the grain's word, the same in the API and the database.
func (g Grain) String() string { return grainNames[g] }

// ParseGrain reads a grain's word.
func ParseGrain(s string) (Grain, error) {
	for _, g := range Grains {
		if s == g.String() {
			return g, nil
		}
	}
	return 0, fmt.Errorf("grain %q: allowed are daily and hourly", s)
}

// Point is one published value: the instant its window ended, and the index there.
type Point struct {
	At    int64
	Value Nanos
}
