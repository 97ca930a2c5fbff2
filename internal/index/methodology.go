package index

import "time"

// Methodology is the rule a value was made by. Its version stands with every publication.
type Methodology struct {
	Version         string
	Decimals        int
	Zone            *time.Location
	FixingHour      int // the hour of the day, in Zone, at which the day is fixed
	MinTransactions int
	MinProviders    int
}

// Plain is methodology 1.0.0: the weighted average of all verified transactions, fixed at 16:00 in New York.
func Plain() Methodology {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic("the time zone database is linked into the program: " + err.Error())
	}
	return Methodology{Version: "1.0.0", Decimals: 4, Zone: zone, FixingHour: 16, MinTransactions: 1, MinProviders: 1}
}
