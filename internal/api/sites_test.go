package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/sites"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/tools/testenv"
)

// siteBatch is an update of sites only.
func siteBatch(observed []assay.Observed[assay.Site]) family.Batches {
	return family.Batches{assay.FamilySites: sites.Family.BatchOf(observed...)}
}

func TestGolden_Sites(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(name, caller, target string, headers ...string) {
		t.Helper()
		r.GoldenResponse(t, name, caller, target, headers...)
	}
	f("sites-anonymous", "anonymous", "/api/neocloud/sites?city=oslo")
	f("sites-premium", "premium", "/api/neocloud/sites?city=oslo")
	f("sites-city", "full", "/api/neocloud/sites?city=OSLO")
	f("sites-city-all", "full", "/api/neocloud/sites?city=oslo&scope=all&limit=1&offset=1")
	f("sites-radius", "full", "/api/neocloud/sites?lat=59.9139&lng=10.7522&scope=all")
	f("sites-radius-date-line", "full", "/api/neocloud/sites?lat=-17&lng=180&radius_km=10.64")
	f("sites-country", "full", "/api/neocloud/sites?country=no&gpu_type=h100")
	f("sites-unknown-country", "full", "/api/neocloud/sites?country=Unknown")
	f("sites-as-of", "full", "/api/neocloud/sites?city=oslo+2&as_of=2026-02-02")
	f("sites-aggregate", "full", "/api/neocloud/sites/aggregate")
	f("sites-aggregate-gpu-type", "full", "/api/neocloud/sites/aggregate?by=gpu_type&scope=all")
	f("sites-aggregate-premium", "premium", "/api/neocloud/sites/aggregate")
	f("sites-map", "full", "/api/neocloud/map?scope=all")
	f("sites-map-bbox", "full", "/api/neocloud/map?bbox=179,-20,-179,-10&country=fj")
	f("sites-map-geojson", "full", "/api/neocloud/map?country=Brazil", "Accept", "application/geo+json")
	f("sites-map-premium", "premium", "/api/neocloud/map")
}

// A key in the wrong parameter is not repeated in the response.
func TestSites_QueryWithoutKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, target := range []string{"?city=", "?country=no&gpu_type="} {
		got := r.Get("full", "/api/neocloud/sites"+target+r.Keys["full"])
		if got.StatusCode != http.StatusOK || strings.Contains(got.Text, r.Keys["full"]) || !strings.Contains(got.Text, "sk_live_…") {
			t.Errorf("%s: %d %s", target, got.StatusCode, got.Text)
		}
	}
}

// names returns the names of the sites in a response, in order.
func names(t *testing.T, got apitest.Reply) (names []string) {
	t.Helper()
	var body struct {
		Count int
		Sites []struct {
			Name string `json:"site_name"`
		}
		Data struct {
			Features []struct {
				Properties struct {
					Name string `json:"site_name"`
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(got.Text), &body); err != nil || got.StatusCode != 200 {
		t.Fatalf("%d %s: %v", got.StatusCode, got.Text, err)
	}
	for _, s := range body.Sites {
		names = append(names, s.Name)
	}
	for _, s := range body.Data.Features {
		names = append(names, s.Properties.Name)
	}
	if body.Count != len(names) {
		t.Errorf("count is %d, and there are %v", body.Count, names)
	}
	return names
}

func TestSites_Regions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(target string, want ...string) {
		t.Helper()
		if got := names(t, r.Get("full", "/api/neocloud/"+target)); !slices.Equal(got, want) {
			t.Errorf("%s gives %v, want %v", target, got, want)
		}
	}
	// City or site name, whatever the case and the accents.
	f("sites?city=oslo", "Oslo 1", "Oslo 2")
	f("sites?city=oslo&scope=all", "Oslo 1", "Oslo 2", "Oslofjord Supercomputer")
	f("sites?city=sao+paulo", "Centro 1")
	f("sites?city=S%C3%83O", "Centro 1")
	f("sites?city=cent", "Centro 1")
	f("sites?city=fjordline")
	f("sites?city=oslo&scope=&limit=&offset=&foo=1", "Oslo 1", "Oslo 2")
	// A country by any of its names; no country has a name, too.
	for _, norway := range []string{"Norway", "no", "NOR", "norge"} {
		f("sites?country="+norway+"&scope=all", "Oslo 1", "Oslo 2", "Oslofjord Supercomputer")
	}
	f("sites?country=unknown", "Barge 7")
	f("sites?country=Japan")
	// A circle: the nearest first; over the date line and around the pole.
	f("sites?lat=59.95&lng=10.77&scope=all", "Oslo 2", "Oslo 1", "Oslofjord Supercomputer")
	f("sites?lat=59.95&lng=10.77&radius_km=0.001", "Oslo 2")
	f("sites?lat=-17&lng=179.95", "Suva East", "Taveuni")
	f("sites?lat=-17&lng=-179.95", "Taveuni", "Suva East")
	f("sites?lat=-89.99&lng=180&radius_km=3", "Amundsen Hall")
	f("sites?lat=-90&lng=77", "Amundsen Hall")
	f("sites?lat=-0&lng=0.0", "Barge 7")
	// Several narrow each other.
	f("sites?lat=59.95&lng=10.77&city=oslo+1", "Oslo 1")
	f("sites?lat=59.95&lng=10.77&country=Brazil")
	f("sites?city=oslo&country=no&gpu_type=gb200+nvl", "Oslo 2")
	f("sites?country=no&gpu_type=mi300a&scope=all", "Oslofjord Supercomputer")
	// Pages.
	f("sites?country=no&scope=all&limit=2&offset=1", "Oslo 2", "Oslofjord Supercomputer")
	f("sites?country=no&offset=2147483647")
	// The map.
	f("map", "Centro 1", "Barge 7", "Oslo 1", "Oslo 2", "Suva East", "Taveuni", "Amundsen Hall")
	f("map?scope=all&country=NO", "Oslo 1", "Oslo 2", "Oslofjord Supercomputer")
	f("map?bbox=10.7522,59.9139,10.77,59.95", "Oslo 1", "Oslo 2")
	f("map?bbox=179,-20,-179,-10", "Suva East", "Taveuni")
	f("map?bbox=-179,-20,179,-10")
	f("map?bbox=-180,-90,180,90&country=unknown", "Barge 7")
	f("map?as_of=2026-02-02", "Centro 1", "Barge 7", "Oslo 1", "Oslo 2", "Suva East", "Taveuni")
	f("map?as_of=2026-01-31")
}

// TestSites_BadParameters: every 400 names the parameter, its value and what is allowed.
func TestSites_BadParameters(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	f := func(target string, parts ...string) {
		t.Helper()
		got := r.Get("full", "/api/neocloud/"+target)
		for _, part := range append(parts, `"error":"Bad request"`, `"code":"invalid_parameter"`) {
			if got.StatusCode != 400 || !strings.Contains(got.Text, part) {
				t.Errorf("%s: %d %s\nwant %s", target, got.StatusCode, got.Text, part)
			}
		}
	}
	bad := func(target, name, value, allowed string) {
		t.Helper()
		f(target, fmt.Sprintf(`Invalid value \"%s\" for \"%s\": must be %s`, value, name, allowed))
	}
	const region = `Missing value for \"city\": must be given, or lat with lng, or country.`
	f("sites", region)
	f("sites?city=&country=", region)
	f("sites?gpu_type=h100&scope=all&limit=5", region)
	f("sites?lat=1", `Missing value for \"lng\": must be given together with lat.`)
	f("sites?lng=1&country=no", `Missing value for \"lat\": must be given together with lng.`)
	f("sites?lng=1&radius_km=5", `Missing value for \"lat\": must be given together with lng.`)
	const lats, lngs, radii = "a decimal number from -90 to 90", "a decimal number from -180 to 180", "a decimal number above 0 and up to 500"
	bad("sites?lat=90.01&lng=0", "lat", "90.01", lats)
	bad("sites?lat=-91&lng=0", "lat", "-91", lats)
	bad("sites?lat=north&lng=0", "lat", "north", lats)
	bad("sites?lat=NaN&lng=0", "lat", "NaN", lats)
	bad("sites?lat=1e1&lng=0", "lat", "1e1", lats)
	bad("sites?lat=0x1&lng=0", "lat", "0x1", lats)
	bad("sites?lat=.&lng=0", "lat", ".", lats)
	bad("sites?lat=1.&lng=0", "lat", "1.", lats)
	bad("sites?lat=0&lng=180.000001", "lng", "180.000001", lngs)
	bad("sites?lat=0&lng=-Inf", "lng", "-Inf", lngs)
	bad("sites?lat=0&lng=--1", "lng", "--1", lngs)
	bad("sites?lat=0&lng=0&radius_km=0", "radius_km", "0", radii)
	bad("sites?lat=0&lng=0&radius_km=-1", "radius_km", "-1", radii)
	bad("sites?lat=0&lng=0&radius_km=500.1", "radius_km", "500.1", radii)
	bad("sites?lat=0&lng=0&radius_km=far", "radius_km", "far", radii)
	bad("sites?country=no&radius_km=5", "radius_km", "5", "given together with lat and lng")
	const limits = "an integer from 1 to 1000"
	bad("sites?country=no&limit=0", "limit", "0", limits)
	bad("sites?country=no&limit=1001", "limit", "1001", limits)
	bad("sites?country=no&limit=ten", "limit", "ten", limits)
	bad("sites?country=no&offset=-1", "offset", "-1", "an integer from 0 to")
	bad("sites?country=no&offset=1.5", "offset", "1.5", "an integer from 0 to")
	bad("sites?country=no&scope=some", "scope", "some", "neocloud or all")
	bad("sites?country=Atlantis", "country", "Atlantis", "a country's English name or ISO 3166 code, or Unknown")
	bad("sites?city=%20", "city", " ", "a text with at least one letter or digit")
	bad("sites?city=%00", "city", `\\x00`, "a text with at least one letter or digit")
	bad("sites?city=%FF", "city", `\\xff`, "a text with at least one letter or digit")
	bad("sites?country=no&gpu_type=%20", "gpu_type", " ", "a text with at least one letter or digit")
	bad("sites?country=no&as_of=then", "as_of", "then", "YYYY-MM-DD")
	for _, name := range []string{"city", "lat", "lng", "radius_km", "scope", "country", "gpu_type", "limit", "offset", "as_of"} {
		f(fmt.Sprintf("sites?city=oslo&lat=1&lng=1&%[1]s=1&%[1]s=1", name), `for \"`+name+`\": must be given once.`)
	}
	bad("sites/aggregate?by=company", "by", "company", "country or gpu_type")
	bad("sites/aggregate?scope=ALL", "scope", "ALL", "neocloud or all")
	bad("sites/aggregate?as_of=then", "as_of", "then", "YYYY-MM-DD")
	bad("map?scope=x", "scope", "x", "neocloud or all")
	bad("map?country=Atlantis", "country", "Atlantis", "a country's English name")
	bad("map?as_of=then", "as_of", "then", "YYYY-MM-DD")
	const boxes = "minLon,minLat,maxLon,maxLat in degrees, with minLat not above maxLat"
	for _, box := range []string{"1", "1,2,3", "1,2,3,4,5", "a,b,c,d", "1,2,3,", "-181,0,0,0", "0,0,180.5,0", "0,-91,0,0", "0,0,0,90.1", "0,10,0,9", "NaN,0,0,0"} {
		bad("map?bbox="+box, "bbox", box, boxes)
	}
}

// TestSites_BucketsAreWhatIsListed reads every country's bucket through the list, page by page, and finds every site
// once.
func TestSites_BucketsAreWhatIsListed(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t, func(c *apitest.Config) { c.Web.KeyLimit = 1_000_000 })
	rng := rand.New(rand.NewPCG(1, 2))
	countries := []string{"", "", "Norway", "Brazil", "Fiji", "Côte d'Ivoire", "Türkiye", "South Korea", "United States", "United States", "United States"}
	var observed []assay.Observed[assay.Site]
	for i := range 1500 {
		s := assay.Site{
			ID: fmt.Sprint(i), Company: fmt.Sprint("c", rng.IntN(9)), SiteName: fmt.Sprint("site ", i), Country: countries[rng.IntN(len(countries))],
			GPUTypes: []string{"H100", "A100 / H100", "abacus", "B200"}[rng.IntN(4)], GPUQty: rng.Int64N(5000), Power: assay.Micros(rng.Int64N(50_000_000)),
			Latitude: assay.Micros(rng.Int64N(180e6) - 90e6), Longitude: assay.Micros(rng.Int64N(360e6) - 180e6),
			IsNeocloud: rng.IntN(3) > 0,
		}
		observed = append(observed, assay.Observed[assay.Site]{Value: s, Key: s.ID, Received: 1})
	}
	r.Use(snapshot.New(assay.DefaultCatalog(), 1).With(snapshot.Update{Version: 1, Observations: siteBatch(observed)}))
	for _, scope := range api.SiteScopes {
		var aggregate struct{ Data []sites.Bucket }
		if err := json.Unmarshal([]byte(r.Get("full", "/api/neocloud/sites/aggregate?scope="+scope).Text), &aggregate); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, bucket := range aggregate.Data {
			listed := r.listed(bucket.Key, scope, 1+rng.IntN(60), seen)
			if listed != bucket {
				t.Errorf("the bucket is %+v, and listed is %+v", bucket, listed)
			}
		}
		for _, o := range observed {
			if want := scope == "all" || o.Value.IsNeocloud; seen[o.Value.SiteName] != want {
				t.Errorf("%s in scope %s: listed %v", o.Value.SiteName, scope, !want)
			}
		}
	}
}

// listed reads all sites of a country and sums them up.
func (r *rig) listed(country, scope string, limit int, seen map[string]bool) sites.Bucket {
	r.Test.Helper()
	sum := sites.Bucket{Key: country}
	for offset := 0; ; offset += limit {
		var body struct {
			Total   int
			HasMore bool `json:"has_more"`
			Sites   []assay.Site
		}
		target := fmt.Sprintf("/api/neocloud/sites?country=%s&scope=%s&limit=%d&offset=%d", url.QueryEscape(country), scope, limit, offset)
		if err := json.Unmarshal([]byte(r.Get("full", target).Text), &body); err != nil {
			r.Test.Fatal(err)
		}
		for _, s := range body.Sites {
			if seen[s.SiteName] {
				r.Test.Errorf("%s is listed twice", s.SiteName)
			}
			seen[s.SiteName] = true
			sum.SiteCount, sum.TotalGPUQty, sum.TotalPower = sum.SiteCount+1, sum.TotalGPUQty+s.GPUQty, sum.TotalPower+s.Power
		}
		if !body.HasMore {
			if sum.SiteCount != body.Total {
				r.Test.Errorf("%s: %d sites are listed, total is %d", country, sum.SiteCount, body.Total)
			}
			return sum
		}
	}
}

// siteTargets request every site route in every form of its responses.
var siteTargets = []string{
	"/api/neocloud/sites?city=oslo", "/api/neocloud/sites?country=no&scope=all", "/api/neocloud/sites?lat=60&lng=10&radius_km=500",
	"/api/neocloud/sites/aggregate", "/api/neocloud/sites/aggregate?by=gpu_type&scope=all", "/api/neocloud/map", "/api/neocloud/map?scope=all",
	"/api/neocloud/map?country=no", "/api/neocloud/map?bbox=0,0,180,90",
}

// TestSites_AsOf: what was served then is served again, byte for byte, with its ETag and Last-Modified.
func TestSites_AsOf(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	all := apitest.Sites()
	whole := apitest.Snapshot()
	early := snapshot.New(assay.DefaultCatalog(), 1).With(snapshot.Update{Version: 7, Observations: siteBatch(all[:7])})
	for _, target := range siteTargets {
		r.Use(early)
		then := r.Get("full", target)
		r.Use(whole)
		now := r.Get("full", target)
		join := "?"
		if strings.Contains(target, "?") {
			join = "&"
		}
		again := r.Get("full", target+join+"as_of=2026-02-02T00:00:00Z")
		if again.Text != then.Text || again.Header.Get("ETag") != then.Header.Get("ETag") || again.Header.Get("Last-Modified") != then.Header.Get("Last-Modified") {
			t.Errorf("%s as of then:\n%s\nserved then:\n%s", target, again.Golden(), then.Golden())
		}
		if now.Header.Get("ETag") == then.Header.Get("ETag") || now.Header.Get("Last-Modified") == then.Header.Get("Last-Modified") {
			t.Errorf("%s: the new sites do not show in %s, %s", target, now.Header.Get("ETag"), now.Header.Get("Last-Modified"))
		}
		if future := r.Get("full", target+join+"as_of=2036-01-01"); future.Text != now.Text {
			t.Errorf("%s: an instant in the future is not now", target)
		}
		if before := r.Get("full", target+join+"as_of=2026-01-01"); before.StatusCode != 200 || before.Header.Get("Last-Modified") != "" {
			t.Errorf("%s before the first site: %s", target, before.Golden())
		}
	}
}

func TestSites_Caching(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	tags := map[string]string{}
	for _, target := range siteTargets {
		got := r.Get("full", target)
		tag := got.Header.Get("ETag")
		if other, ok := tags[tag]; ok {
			t.Errorf("%s has the ETag of %s", target, other)
		}
		tags[tag] = target
		if again := r.Get("full", target, "If-None-Match", tag); again.StatusCode != http.StatusNotModified || again.Text != "" {
			t.Errorf("%s again: %d %s", target, again.StatusCode, again.Text)
		}
		if head := r.Do(http.MethodHead, "full", target); head.StatusCode != 200 || head.Text != "" || head.Header.Get("ETag") != tag {
			t.Errorf("HEAD %s: %s", target, head.Golden())
		}
		if cache := got.Header.Get("Cache-Control"); cache != "private, max-age=4" {
			t.Errorf("%s: Cache-Control %s", target, cache)
		}
		for _, coding := range []string{"gzip", "zstd"} {
			packed := r.Get("full", target, "Accept-Encoding", coding)
			if plain := unpack(t, packed); plain != got.Text {
				t.Errorf("%s in %s:\n%s\nplain:\n%s", target, coding, plain, got.Text)
			}
		}
	}
}

func TestSitesMap_Accept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(accept string, bare bool) {
		t.Helper()
		for _, target := range []string{"/api/neocloud/map", "/api/neocloud/map?country=no"} {
			got, envelope := r.Get("full", target, "Accept", accept), r.Get("full", target)
			want, kind := envelope.Text, "application/json"
			if bare {
				_, want, _ = strings.Cut(envelope.Text, `"data":`)
				want, kind = strings.TrimSuffix(want, "}"), "application/geo+json"
			}
			if got.Text != want || got.Header.Get("Content-Type") != kind || got.Header.Get("Vary") != "Authorization, Cookie, Accept, Accept-Encoding" {
				t.Errorf("%s, Accept %s:\n%s\nwant %s", target, accept, got.Golden(), want)
			}
			if (got.Header.Get("ETag") == envelope.Header.Get("ETag")) == bare {
				t.Errorf("%s, Accept %s: the ETag is %s, that of the envelope %s", target, accept, got.Header.Get("ETag"), envelope.Header.Get("ETag"))
			}
		}
	}
	f("application/geo+json", true)
	f("Application/GEO+JSON; q=0.5, */*;q=0.1", true)
	f("application/geo+json, application/json;q=0.9", true)
	f("application/json, application/geo+json;q=0.5", false)
	f("application/geo+json;q=0", false)
	f("application/json", false)
	f("*/*", false)
	f("", false)
}

func TestSites_NothingOnFile(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	r.Use(snapshot.New(assay.DefaultCatalog(), 1))
	f := func(target, want string) {
		t.Helper()
		if got := r.Get("full", target); got.StatusCode != 200 || got.Text != want {
			t.Errorf("%s: %d %s", target, got.StatusCode, got.Text)
		}
	}
	f("/api/neocloud/sites?city=a", `{"success":true,"access":"full","count":0,"total":0,"has_more":false,"query":{"city":"a","scope":"neocloud","limit":100,"offset":0},"sites":[]}`)
	f("/api/neocloud/sites/aggregate", `{"success":true,"access":"full","by":"country","scope":"neocloud","overlapping":false,"count":0,"data":[]}`)
	f("/api/neocloud/map", `{"success":true,"access":"full","count":0,"data":{"type":"FeatureCollection","features":[]}}`)
	f("/api/neocloud/map?country=no", `{"success":true,"access":"full","count":0,"data":{"type":"FeatureCollection","features":[]}}`)
}

// unpack returns the body of a response without its content encoding.
func unpack(t *testing.T, got apitest.Reply) string {
	t.Helper()
	var reader io.Reader = strings.NewReader(got.Text)
	var err error
	switch got.Header.Get("Content-Encoding") {
	case "gzip":
		reader, err = gzip.NewReader(reader)
	case "zstd":
		reader, err = zstd.NewReader(reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// BenchmarkSites asks for a circle among 100,000 sites, through the whole server.
func BenchmarkSites(b *testing.B) {
	r := newRig(b, func(c *apitest.Config) { c.Web.KeyLimit = 1 << 30 })
	rng := rand.New(rand.NewPCG(1, 2))
	observed := make([]assay.Observed[assay.Site], 100_000)
	for i := range observed {
		town := rand.New(rand.NewPCG(3, rng.Uint64N(300)))
		s := assay.Site{
			ID: fmt.Sprint(i), Company: "Fjordline Compute", SiteName: fmt.Sprint("Site ", i), City: "Oslo", Country: "Norway", GPUTypes: "H100", IsNeocloud: true,
			Latitude:  assay.Micros(town.Int64N(120e6) - 60e6 + rng.Int64N(1e6)),
			Longitude: assay.Micros(town.Int64N(350e6) - 175e6 + rng.Int64N(1e6)),
		}
		observed[i] = assay.Observed[assay.Site]{Value: s, Key: s.ID, Received: 1}
	}
	r.Use(snapshot.New(assay.DefaultCatalog(), 1).With(snapshot.Update{Version: 1, Observations: siteBatch(observed)}))
	for _, radius := range []string{"10", "50", "500"} {
		b.Run(radius+"km", func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s := &observed[i*7919%len(observed)].Value
				target := fmt.Sprintf("/api/neocloud/sites?lat=%f&lng=%f&radius_km=%s", s.Latitude.Float(), s.Longitude.Float(), radius)
				request := httptest.NewRequest(http.MethodGet, target, nil)
				request.Header.Set("Authorization", "Bearer "+r.Keys["full"])
				r.Logs.Reset()
				recorder := httptest.NewRecorder()
				if r.ServeHTTP(recorder, request); recorder.Code != 200 {
					b.Fatal(recorder.Body)
				}
			}
		})
	}
}
