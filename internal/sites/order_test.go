package sites

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/assaydata/assay"
)

// Sites that are shown at the same distance are in the order of company, name and id.
func TestFind_EqualDistances(t *testing.T) {
	t.Parallel()
	var all []assay.Site
	for i, company := range []string{"Cedar", "Alder", "Birch"} { // some decimeters apart
		all = append(all, assay.Site{
			ID: company, Company: company, SiteName: "Hall", Latitude: 50_000_000 + assay.Micros(i), Longitude: 8_000_000,
			IsNeocloud: true,
		})
	}
	m := New(observe(all...))
	page, _ := m.Find(Query{Near: &Circle{Latitude: 50.01, Longitude: 8, RadiusKm: 50}})
	var companies, distances []string
	for _, f := range page {
		companies = append(companies, m.sites[f.site].Company)
		text := string(m.AppendNear(nil, f))
		distances = append(distances, text[strings.Index(text, `"distance_km"`):])
	}
	if want := []string{"Alder", "Birch", "Cedar"}; !slices.Equal(companies, want) {
		t.Errorf("the order is %q at %q, want %q", companies, distances, want)
	}
	if len(slices.Compact(distances)) != 1 {
		t.Errorf("the distances differ: %q", distances)
	}
}

// A pole is one point, whatever its longitude.
func TestFind_Poles(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var all []assay.Site
	for range 50 {
		longitude := assay.Micros(math.Round(rng.Float64()*360e6 - 180e6))
		all = append(all, assay.Site{
			ID: fmt.Sprint(longitude), Company: "C", SiteName: "Hall", Latitude: 90e6, Longitude: longitude,
			IsNeocloud: true,
		})
	}
	m := New(observe(all...))
	for range 50 {
		circle := &Circle{Latitude: 90, Longitude: rng.Float64()*360 - 180, RadiusKm: 0.001}
		page, total := m.Find(Query{Near: circle})
		if total != len(all) || !slices.IsSortedFunc(page, func(a, b Found) int { return int(a.site - b.site) }) {
			t.Errorf("%d sites at the pole, want %d in order", total, len(all))
		}
		for _, f := range page {
			if f.meters != 0 {
				t.Errorf("%d m from the pole to itself", f.meters)
			}
		}
		if _, total := m.Find(Query{Box: &Box{West: 10, South: 89, East: 11, North: 90}}); total != len(all) {
			t.Errorf("%d sites in a box that touches the pole, want %d", total, len(all))
		}
	}
	if _, total := m.Find(Query{Box: &Box{West: -180, South: 80, East: 180, North: 89}}); total != 0 {
		t.Errorf("%d sites south of the pole, want none", total)
	}
}

// The sites of a chip are those that its bucket counts.
func TestFind_ChipsAgreeWithBuckets(t *testing.T) {
	t.Parallel()
	var all []assay.Site
	for _, gpus := range []string{"GB200 NVL72", "B200", "8x B200 / H100", "L40S", "L40", "Tesla", "", "MI 300X", "h100-sxm5"} {
		all = append(all, assay.Site{ID: gpus, Company: gpus, SiteName: "x", GPUTypes: gpus, IsNeocloud: true})
	}
	m := New(observe(all...))
	for _, bucket := range m.Buckets(ByGPUType, All) {
		chip, ok := Chip(strings.ToLower(bucket.Key))
		if _, total := m.Find(Query{Scope: All, Chip: chip}); !ok || chip != bucket.Key || total != bucket.SiteCount {
			t.Errorf("%s: %d sites of the chip %q, want %d", bucket.Key, total, chip, bucket.SiteCount)
		}
	}
	for text, want := range map[string]string{
		"b200": "B200", " MI-300X ": "MI300X", "rtx6000 ada": "RTX 6000 Ada", "other": "Other", "h100 sxm5": "", "8xH100": "", "": "",
	} {
		if got, _ := Chip(text); got != want {
			t.Errorf("%q is the chip %q, want %q", text, got, want)
		}
	}
}

func TestCountry_CodesAreNoNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ST": "São Tomé and Príncipe", "stp": "São Tomé and Príncipe", "Saint": "", "St.": "São Tomé and Príncipe",
		"St. Lucia": "Saint Lucia", "saint lucia": "Saint Lucia", "Kosovo": "Kosovo", "XK": "Kosovo", "xkx": "Kosovo",
	} {
		if got, _ := Country(text); got != want {
			t.Errorf("%q is the country %q, want %q", text, got, want)
		}
	}
}

// A text can be written with composed and with decomposed characters.
func TestFold_ComposedAndDecomposed(t *testing.T) {
	t.Parallel()
	for r := rune(1); r <= 0x2ffff; r++ {
		text := "a" + string(r) + "b"
		if want := Fold(text); Fold(norm.NFC.String(text)) != want || Fold(norm.NFD.String(text)) != want {
			t.Errorf("%U is not the same when it is composed and decomposed", r)
		}
	}
}
