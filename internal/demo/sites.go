package demo

import (
	"fmt"
	"iter"
	"math"

	"github.com/assaydata/assay"
)

// The demo has firstSites when its capacity is first counted, and one more every day.
const (
	firstSites = 2400
	sitesBegin = firstCount * assay.Hour
)

// The ages at which a site changes: building begins, it opens, and some are enlarged.
const (
	buildingAge = 120 * assay.Day
	openAge     = 400 * assay.Day
	largerAge   = 900 * assay.Day
)

// fleet is the GPUs of a site.
type fleet struct {
	chips, generation string
	watts             int64 // per GPU, cooling and network included
	weight            int64
}

var fleets = [...]fleet{
	{"8x H100 SXM5", "Hopper", 1400, 24},
	{"8x H100 SXM5 / A100", "Hopper, Ampere", 1300, 8},
	{"H200 SXM", "Hopper", 1450, 16},
	{"8xB200", "Blackwell", 1950, 10},
	{"GB200 NVL72", "Blackwell", 2300, 8},
	{"GB300 NVL72 + B300", "Blackwell Ultra", 2500, 4},
	{"A100 80GB", "Ampere", 900, 12},
	{"L40S, L4", "Ada Lovelace", 600, 7},
	{"RTX 4090 / RTX 5090", "Ada Lovelace, Blackwell", 800, 6},
	{"RTX PRO 6000", "Blackwell", 900, 3},
	{"MI300X", "CDNA 3", 1500, 7},
	{"MI325X and MI300X", "CDNA 3", 1600, 3},
	{"Gaudi 3", "Gaudi", 1300, 2},
	{"TPU v5p", "TPU", 1000, 2},
	{"V100 / T4", "Volta, Turing", 500, 3},
	{"in-house accelerators", "own design", 1000, 3},
	{"", "", 1200, 2},
}

// owners have GPUs for their own use; newcomers rent them out, as the market's providers do. The names are invented.
var (
	owners = [...]string{
		"Aldermoor Research", "Bellwether Institute", "Corviston Bank", "Dunmere University", "Eastreach Automotive",
		"Fallowgate Energy", "Glimmerholt Media", "Harrowfen National Laboratory", "Ironbridge Genomics",
		"Juniper Strait Authority", "Kingsloch Telecom", "Larkhollow Health", "Mirefield Weather Service",
		"Nettlecombe Search", "Oakumvale Robotics",
	}
	newcomers = [...]string{
		"Amberlock Compute", "Brackenfold", "Cindertrace Cloud", "Driftmark GPU", "Elmsworth Tensor", "Flintrow",
		"Gossamer Racks", "Hollowell Compute", "Inkwater Cloud", "Jasperline", "Kilnbrook Systems", "Loamfield AI",
	}
	customers = [...]string{
		"Paperwing Labs", "Northlight Models", "Tallgrass AI", "Quietstone Research", "Vellum Studio", "Harborline Bank",
		"Sundial Robotics", "Greywater Genomics",
	}
	siteHalls      = [...]string{"Campus", "Hall A", "Hall B", "North", "South", "West", "Yard", "Park"}
	siteTiers      = [...]string{"Tier III", "Tier III", "Tier III", "Tier IV", "Tier II"}
	rentCategories = [...]string{"GPU cloud", "GPU cloud", "Bare metal", "AI colocation", "Marketplace"}
	ownCategories  = [...]string{"AI supercomputer", "Research", "Enterprise", "Sovereign AI"}
)

// siteBorn is when a site is announced: the first ones before the demo begins, each of the others on its own day.
func siteBorn(n int64) int64 {
	if n < firstSites {
		return sitesBegin - (firstSites-n)*assay.Day/2
	}
	return sitesBegin + (n-firstSites)*assay.Day + int64(scramble(uint64(n))%uint64(assay.Day))
}

// siteChanged tells whether a site changes in (from, until].
func siteChanged(n, from, until int64) bool {
	for _, age := range [...]int64{0, buildingAge, openAge, largerAge} {
		if at := siteBorn(n) + age; from < at && at <= until {
			return true
		}
	}
	return false
}

var (
	townWeights = func() (w weights) {
		for _, t := range towns {
			w = w.with(t.weight)
		}
		return w
	}()
	fleetWeights = func() (w weights) {
		for _, f := range fleets {
			w = w.with(f.weight)
		}
		return w
	}()
)

// siteAt returns site n of a seed as it is at an instant, when it must have been announced.
func siteAt(seed, n, at int64) assay.Site {
	d := &dice{}
	d.Seed(mix(uint64(seed), 300), uint64(n))
	t, f := &towns[townWeights.draw(d)], &fleets[fleetWeights.draw(d)]
	s := assay.Site{
		ID: fmt.Sprintf("site-%05d", n), City: t.name, Country: t.country,
		GPUTypes: f.chips, ChipGeneration: f.generation, DCTier: siteWord(d, siteTiers[:]),
	}
	s.Latitude, s.Longitude = degrees(t.latitude, d.bell()), degrees(t.longitude, d.bell())
	s.IsNeocloud = d.below(100) < 74
	s.Company, s.Category = siteOwner(d, s.IsNeocloud)
	s.SiteName = fmt.Sprintf("%s %s %d", t.name, siteWord(d, siteHalls[:]), n%97+1)
	if d.below(100) < 35 {
		s.KeyCustomer = siteWord(d, customers[:])
	}
	if d.below(100) < 3 {
		s.Country = ""
	}
	s.GPUQty = 64 << d.below(9) * (4 + d.below(5)) / 4
	larger := d.below(3) == 0
	switch age := at - siteBorn(n); {
	case age < buildingAge:
		s.Status = "planned"
	case age < openAge:
		s.Status = "under construction"
	default:
		s.Status = "operational"
		if larger && age >= largerAge {
			s.GPUQty *= 2
		}
	}
	s.Power = assay.Micros(s.GPUQty * f.watts / 1000 * 1000) // in whole kilowatts, as they are contracted
	return s
}

// siteOwner draws the company of a site and its business.
func siteOwner(d *dice, rents bool) (company, category string) {
	if !rents {
		return siteWord(d, owners[:]), siteWord(d, ownCategories[:])
	}
	i := d.below(int64(len(listings) + len(newcomers)))
	if i < int64(len(listings)) {
		company = listings[i].name
	} else {
		company = newcomers[i-int64(len(listings))]
	}
	return company, siteWord(d, rentCategories[:])
}

func siteWord(d *dice, words []string) string { return words[d.below(int64(len(words)))] }

// degrees is an angle at some distance from a town's, rounded to four decimals, which is about ten meters.
func degrees(town float64, distance micro) assay.Micros {
	away := 12 * distance / 100 // up to 0.42 degrees
	return assay.Micros((int64(math.Round(town*1e6))+away+540_000_050)/100*100 - 540_000_000)
}

// sites are the sites that change in (from, until], as they are then; all of them when the demo begins with them.
func (d *Demo) sites(from, until int64) iter.Seq[assay.Site] {
	all := from <= d.begin(until)
	return func(yield func(assay.Site) bool) {
		for n := int64(0); siteBorn(n) <= until; n++ {
			if (all || siteChanged(n, from, until)) && !yield(siteAt(d.Seed, n, until)) {
				return
			}
		}
	}
}
