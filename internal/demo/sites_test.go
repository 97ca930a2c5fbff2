package demo

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/sites"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

// storedSites reads all revisions of the sites in a store.
func storedSites(t *testing.T, db *store.DB) (all []assay.Observed[assay.Site]) {
	t.Helper()
	read := func(o store.Observation, revision int, received int64) error {
		all = append(all, assay.Observed[assay.Site]{Key: o.Key, Revision: revision, Received: received})
		return json.Unmarshal(o.Body, &all[len(all)-1].Value)
	}
	err := db.EachObservation(t.Context(), assay.FamilySites, 0, math.MaxInt64, read)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// siteDemo is a demo that imports nothing but its sites.
func siteDemo(db *store.DB) *Demo {
	d := newDemo(db, 1, halfPast)
	d.catalog = assay.DefaultCatalog()
	return d
}

func TestSites_CoverTheWorld(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db := storetest.Open(t)
	mustBring(t, siteDemo(db), assay.FamilySites, math.MinInt64, halfPast)
	stored := storedSites(t, db)
	if want := firstSites + int((halfPast-sitesBegin)/assay.Day); len(stored) < want || len(stored) > want+1 {
		t.Errorf("%d sites are stored, want %d: some were rejected", len(stored), want)
	}
	m := sites.New(stored)
	countries, chips := m.Buckets(sites.ByCountry, sites.All), m.Buckets(sites.ByGPUType, sites.All)
	if len(stored) < 2000 || len(countries) < 40 || countries[0].SiteCount <= 500 {
		t.Errorf("%d sites in %d countries, most of them %+v", len(stored), len(countries), countries[0])
	}
	if len(chips) < 15 {
		t.Errorf("%d chips, want 15 at least", len(chips))
	}
	f := func(what string, buckets []sites.Bucket, key string) {
		t.Helper()
		if !slices.ContainsFunc(buckets, func(b sites.Bucket) bool { return b.Key == key && b.SiteCount > 20 }) {
			t.Errorf("20 sites or fewer are %s", what)
		}
	}
	f("without a country", countries, sites.Unknown)
	f("without a known chip", chips, sites.Other)
	if _, rents := m.Find(sites.Query{Scope: sites.Neocloud}); rents < len(stored)/2 || rents > len(stored)*9/10 {
		t.Errorf("%d of %d sites are neo-clouds", rents, len(stored))
	}
	statuses := map[string]int{}
	for _, s := range stored {
		statuses[s.Value.Status]++
	}
	if statuses["planned"] < 50 || statuses["under construction"] < 100 || statuses["operational"] < 1000 {
		t.Errorf("states are %v", statuses)
	}
	for _, around := range towns {
		circle := &sites.Circle{Latitude: around.latitude, Longitude: around.longitude, RadiusKm: 100}
		_, n := m.Find(sites.Query{Scope: sites.All, City: sites.Fold(around.name), Near: circle})
		if n == 0 && around.weight > 5 {
			t.Errorf("%s has no site", around.name)
		}
	}
}

func TestSites_FollowFromTheSeed(t *testing.T) {
	t.Parallel()
	if siteAt(1, 7, halfPast) == siteAt(2, 7, halfPast) {
		t.Error("two seeds share a site")
	}
	got, err := json.Marshal(siteAt(1, 7, halfPast))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"site-00007","company":"Mirefield Weather Service","site_name":"Kraków West 8","city":"Kraków",` +
		`"country":"Poland","gpu_types":"in-house accelerators","gpu_qty":2560,"power_capacity_mw":2.56,` +
		`"chip_generation":"own design","category":"Research","key_customer":"Greywater Genomics",` +
		`"status":"operational","dc_tier":"Tier III","latitude":50.3571,"longitude":20.0421,"is_neocloud":false}`
	if string(got) != want {
		t.Errorf("site 7 of seed 1 is\n%s, want\n%s", got, want)
	}
}

// Step by step or at once, the sites become the same; a change is a new revision.
func TestSites_ChangeOverTime(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	const days = 20
	stepped, direct := storetest.Open(t), storetest.Open(t)
	var clock int64
	stepped.Now = func() time.Time { return time.UnixMilli(clock) }
	d := siteDemo(stepped)
	clock = halfPast
	mustBring(t, d, assay.FamilySites, math.MinInt64, clock)
	first := len(storedSites(t, stepped))
	for range days {
		before := clock
		clock += assay.Day
		mustBring(t, d, assay.FamilySites, before, clock)
	}
	all := storedSites(t, stepped)
	newest, revised, added := map[string]assay.Site{}, 0, 0
	for _, s := range all[first:] {
		if s.Revision > 0 {
			revised++
		} else {
			added++
		}
	}
	for _, s := range all {
		newest[s.Key] = s.Value
	}
	if added != days || revised < days {
		t.Errorf("in %d days %d sites were added and %d changed", days, added, revised)
	}
	mustBring(t, siteDemo(direct), assay.FamilySites, math.MinInt64, clock)
	for _, s := range storedSites(t, direct) {
		if newest[s.Key] != s.Value {
			t.Errorf("%s became\n%+v, and at once\n%+v", s.Key, newest[s.Key], s.Value)
		}
		delete(newest, s.Key)
	}
	if len(newest) > 0 {
		t.Errorf("%d sites exist step by step only", len(newest))
	}
}

// No name of the demo is used twice.
func TestSites_NamesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, l := range listings {
		seen[l.name] = true
	}
	for _, names := range [][]string{owners[:], newcomers[:], customers[:]} {
		for _, name := range names {
			if seen[name] {
				t.Errorf("%q is used twice", name)
			}
			seen[name] = true
		}
	}
}
