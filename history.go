package assay

import "fmt"

// Grain is the distance between the points of a series.
type Grain uint8

// The grains that are published.
const (
	Daily Grain = iota
	Hourly
)

var grainNames = [...]string{Daily: "daily", Hourly: "hourly"}

// Grains lists the published grains.
var Grains = []Grain{Daily, Hourly}

// String returns the grain's name, the same in the API and the database.
func (g Grain) String() string { return grainNames[g] }

// ParseGrain parses a grain's name.
func ParseGrain(s string) (Grain, error) {
	for _, g := range Grains {
		if s == g.String() {
			return g, nil
		}
	}
	return 0, fmt.Errorf("grain %q: must be daily or hourly", s)
}

// Point is one published value: the index, and the instant its window ended.
type Point struct {
	At    int64
	Value Nanos
}
