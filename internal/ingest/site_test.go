package ingest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/sites"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func importSites(t *testing.T, db *store.DB, revise bool, name, content string) (out outcome) {
	t.Helper()
	options := testOptions(db, &out)
	options.Revise = revise
	im := Observations(options, sites.Family)
	out.err = im.File(t.Context(), name, strings.NewReader(content))
	out.Counts = im.Counts()
	return out
}

// storedSites are all revisions of all sites, in the order of receipt.
func storedSites(t *testing.T, db *store.DB) (all []assay.Observed[assay.Site]) {
	t.Helper()
	err := db.EachObservation(t.Context(), assay.FamilySites, 0, math.MaxInt64,
		func(o store.Observation, revision int, _ int64) error {
			all = append(all, assay.Observed[assay.Site]{Key: o.Key, Revision: revision})
			return json.Unmarshal(o.Body, &all[len(all)-1].Value)
		})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// goodSite is the row that the tests vary, and goodSiteValue what becomes of it.
func goodSite() map[string]string {
	return map[string]string{
		"id": "gru-1", "company": "Aço Compute", "site_name": "São Paulo 1", "city": "São Paulo", "country": "br", "gpu_types": "8x H100 SXM5 / A100",
		"gpu_qty": "2048", "power_capacity_mw": "6.25", "chip_generation": "Hopper", "category": "GPU cloud", "key_customer": "Lab", "status": "operational",
		"dc_tier": "Tier III", "latitude": "-23.550520", "longitude": "-46.633308", "is_neocloud": "true",
	}
}

func goodSiteValue() assay.Site {
	return assay.Site{
		ID: "gru-1", Company: "Aço Compute", SiteName: "São Paulo 1", City: "São Paulo", Country: "Brazil", GPUTypes: "8x H100 SXM5 / A100",
		GPUQty: 2048, Power: 6_250_000, ChipGeneration: "Hopper", Category: "GPU cloud", KeyCustomer: "Lab", Status: "operational",
		DCTier: "Tier III", Latitude: -23_550_520, Longitude: -46_633_308, IsNeocloud: true,
	}
}

func siteWith(field, value string) map[string]string {
	row := maps.Clone(goodSite())
	row[field] = value
	return row
}

func TestSites_EveryFormat(t *testing.T) {
	t.Parallel()
	f := func(name, content string, change func(*assay.Site)) {
		t.Helper()
		db, want := storetest.Open(t), goodSiteValue()
		change(&want)
		importSites(t, db, false, name, content).want(t, 1, 0, 0)
		importSites(t, db, false, name, content).want(t, 0, 1, 0)
		if diff := cmp.Diff([]assay.Observed[assay.Site]{{Value: want, Key: "gru-1"}}, storedSites(t, db)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	same := func(*assay.Site) {}
	var cells []string
	for _, column := range sites.Family.Schema.Names() {
		cells = append(cells, goodSite()[column])
	}
	f("a.csv", strings.Join(sites.Family.Schema.Names(), ",")+"\n"+strings.Join(cells, ",")+"\n", same)
	f("a.csv.gz", gz(t, "is_neocloud,id,company,site_name,gpu_qty,power_capacity_mw,latitude,longitude\n0,gru-1,c,n,0,0,90,-180\n"), func(s *assay.Site) {
		*s = assay.Site{ID: "gru-1", Company: "c", SiteName: "n", Latitude: 90_000_000, Longitude: -180_000_000}
	})
	f("a.ndjson", jsonLine(goodSite()), same)
	f("a.jsonl", `{"id":"gru-1","company":"c","site_name":"n","country":null,"gpu_qty":8,"power_capacity_mw":0.5,"latitude":1.000001,"longitude":-0.5,"is_neocloud":true}`,
		func(s *assay.Site) {
			*s = assay.Site{ID: "gru-1", Company: "c", SiteName: "n", GPUQty: 8, Power: 500_000, Latitude: 1_000_001, Longitude: -500_000, IsNeocloud: true}
		})
	columns, row := stringColumns(sites.Family.Schema.Names()), textRow(goodSite())
	columns["gpu_qty"], row["gpu_qty"] = parquet.Int(64), int64(2048)
	columns["latitude"], row["latitude"] = parquet.Leaf(parquet.DoubleType), -23.55052
	columns["is_neocloud"], row["is_neocloud"] = parquet.Leaf(parquet.BooleanType), true
	f("a.parquet", parquetFile(t, columns, []map[string]any{row}), same)
}

func TestSites_Countries(t *testing.T) {
	t.Parallel()
	f := func(cell, want string) {
		t.Helper()
		db := storetest.Open(t)
		importSites(t, db, false, "a.ndjson", jsonLine(siteWith("country", cell))).want(t, 1, 0, 0)
		if got := storedSites(t, db)[0].Value.Country; got != want {
			t.Errorf("country %q is kept as %q, want %q", cell, got, want)
		}
	}
	f("USA", "United States")
	f("us", "United States")
	f("United States", "United States")
	f("Viet Nam", "Vietnam")
	f("", "")
	f("unknown", "")
}

func TestSites_Rejects(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testSitesRejects)
}

func testSitesRejects(t *testing.T, db *store.DB) {
	f := func(field, value, reason string) {
		t.Helper()
		out := importSites(t, db, false, "a.ndjson", jsonLine(goodSite())+jsonLine(siteWith(field, value)))
		if len(out.rejects) != 1 || out.rejects[0].Line != 2 || out.rejects[0].Reason != reason || out.err != nil {
			t.Errorf("%s %q is rejected as %+v (%v), want %s", field, value, out.rejects, out.err, reason)
		}
	}
	const latitudes, longitudes = ": must be from -90 to 90, with up to 6 decimals", ": must be from -180 to 180, with up to 6 decimals"
	f("id", "", `id is missing`)
	f("company", "", `company is missing`)
	f("site_name", "", `site_name is missing`)
	f("city", strings.Repeat("x", 129), `city is longer than 128 bytes`)
	f("gpu_types", strings.Repeat("x", 513), `gpu_types is longer than 512 bytes`)
	f("status", "a\x01b", `status contains U+0001: must be visible characters and plain spaces`)
	f("country", "Atlantis", `country "Atlantis" is not known: must be an English name or ISO 3166 code of a country, Unknown, or empty`)
	f("gpu_qty", "", `gpu_qty is missing`)
	f("gpu_qty", "-1", `gpu_qty -1 is out of bounds: must be an integer from 0 to 100000000`)
	f("gpu_qty", "1.5", `gpu_qty "1.5" has more than 0 decimals: must be an integer from 0 to 100000000`)
	f("power_capacity_mw", "", `power_capacity_mw is missing`)
	f("power_capacity_mw", "100000.000001", `power_capacity_mw 100000.000001 is out of bounds: must be from 0 to 100000, with up to 6 decimals`)
	f("power_capacity_mw", "50 MW", `power_capacity_mw "50 MW" is not a plain decimal number: must be from 0 to 100000, with up to 6 decimals`)
	f("latitude", "", `latitude is missing`)
	f("latitude", "90.000001", `latitude 90.000001 is out of bounds`+latitudes)
	f("latitude", "1.0000001", `latitude "1.0000001" has more than 6 decimals`+latitudes)
	f("longitude", "", `longitude is missing`)
	f("longitude", "-180.5", `longitude -180.5 is out of bounds`+longitudes)
	f("longitude", "46° W", `longitude "46° W" is not a plain decimal number`+longitudes)
	f("is_neocloud", "", `is_neocloud is missing`)
	f("is_neocloud", "maybe", `is_neocloud "maybe": must be true or false`)
	f("gpu_qty", "2049", `the site with id "gru-1" is known with different content; the first version stays. Use --revise to add a new revision.`)
	if diff := cmp.Diff([]assay.Observed[assay.Site]{{Value: goodSiteValue(), Key: "gru-1"}},
		storedSites(t, db)); diff != "" {
		t.Error(diff)
	}
}

func TestSites_Revise(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testSitesRevise)
}

func testSitesRevise(t *testing.T, db *store.DB) {
	importSites(t, db, false, "a.ndjson", jsonLine(goodSite())).want(t, 1, 0, 0)
	importSites(t, db, true, "a.ndjson", jsonLine(siteWith("gpu_qty", "4096"))).want(t, 1, 0, 0)
	importSites(t, db, true, "a.ndjson", jsonLine(siteWith("gpu_qty", "4096"))).want(t, 0, 1, 0)
	second := goodSiteValue()
	second.GPUQty = 4096
	want := []assay.Observed[assay.Site]{
		{Value: goodSiteValue(), Key: "gru-1"},
		{Value: second, Key: "gru-1", Revision: 1},
	}
	if diff := cmp.Diff(want, storedSites(t, db)); diff != "" {
		t.Error(diff)
	}
}

// TestSites_AddedCountry: what a feed has made must have the country's name as we write it.
func TestSites_AddedCountry(t *testing.T) {
	t.Parallel()
	var out outcome
	im := Observations(testOptions(storetest.Open(t), &out), sites.Family)
	site := goodSiteValue()
	site.Country = "USA"
	if err := im.Add(t.Context(), sites.Family.Row(site)); err != nil {
		t.Fatal(err)
	}
	if len(out.rejects) != 1 || !strings.Contains(out.rejects[0].Reason, `the site with id "gru-1": country "USA"`) {
		t.Errorf("rejects are %+v", out.rejects)
	}
}

func TestSites_MissingColumns(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	for _, column := range []string{"id", "company", "site_name", "gpu_qty", "power_capacity_mw", "latitude", "longitude", "is_neocloud"} {
		header := strings.Replace(","+strings.Join(sites.Family.Schema.Names(), ",")+",", ","+column+",", ",x,", 1)
		out := importSites(t, db, false, "a.csv", strings.Trim(header, ","))
		want := fmt.Sprintf("a.csv: line 1: column %q is missing: the header must name %s", column, strings.Join(sites.Family.Schema.Names(), ", "))
		if out.err == nil || out.err.Error() != want {
			t.Errorf("without %s the error is %v, want %s", column, out.err, want)
		}
	}
}
