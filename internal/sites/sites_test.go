package sites

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
)

func observe(all ...assay.Site) (observed []assay.Observed[assay.Site]) {
	for i, s := range all {
		observed = append(observed, assay.Observed[assay.Site]{Value: s, Key: s.ID, Received: int64(1000 + i)})
	}
	return observed
}

// random makes sites: most of them in towns, some anywhere, many near the date line and the poles.
func random(rng *rand.Rand, n int) []assay.Site {
	type town struct{ lat, lng float64 }
	towns := make([]town, 300)
	for i := range towns {
		towns[i] = town{rng.Float64()*130 - 60, rng.Float64()*360 - 180}
	}
	all := make([]assay.Site, n)
	for i := range all {
		lat, lng := math.Asin(2*rng.Float64()-1)*180/math.Pi, rng.Float64()*360-180
		switch rng.IntN(8) {
		case 0:
			lng = math.Copysign(180-rng.Float64()*3, rng.Float64()-0.5)
		case 1:
			lat = math.Copysign(90-rng.Float64()*4, rng.Float64()-0.5)
		case 2, 3, 4, 5:
			t := towns[rng.IntN(len(towns))]
			lat, lng = t.lat+rng.Float64()-0.5, math.Remainder(t.lng+rng.Float64()-0.5, 360)
		}
		all[i] = assay.Site{
			ID: fmt.Sprint("s", i), Company: fmt.Sprint("Company ", rng.IntN(50)), SiteName: fmt.Sprint("Hall ", rng.IntN(50)), City: fmt.Sprint("Town ", rng.IntN(300)),
			Country: []string{"", "Germany", "Japan"}[rng.IntN(3)], GPUTypes: []string{"8x H100 SXM5", "B200", "MI300X"}[rng.IntN(3)],
			Latitude: assay.Micros(lat * 1e6), Longitude: assay.Micros(lng * 1e6), IsNeocloud: rng.IntN(3) > 0,
		}
	}
	return all
}

// haversine is the textbook's great-circle distance.
func haversine(lat1, lng1, lat2, lng2 float64) float64 {
	const degree = math.Pi / 180
	a, b := math.Sin((lat2-lat1)*degree/2), math.Sin((lng2-lng1)*degree/2)
	return 2 * earthKm * math.Asin(math.Sqrt(min(1, a*a+math.Cos(lat1*degree)*math.Cos(lat2*degree)*b*b)))
}

// TestFind_NearIsGreatCircleDistance holds circles anywhere, over the date line and the poles too, against the
// textbook.
func TestFind_NearIsGreatCircleDistance(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	m := New(observe(random(rng, 1000)...))
	found := 0
	for range 10_000 {
		center := Circle{
			math.Asin(2*rng.Float64()-1) * 180 / math.Pi, rng.Float64()*360 - 180,
			math.Pow(rng.Float64(), 2)*499 + 1,
		}
		switch rng.IntN(6) {
		case 0:
			center.Longitude = []float64{180, -180, 179.5, -179.5}[rng.IntN(4)]
		case 1:
			center.Latitude = []float64{90, -90, 88, -88}[rng.IntN(4)]
		case 2:
			s := m.sites[rng.IntN(len(m.sites))]
			center.Latitude, center.Longitude = s.Latitude.Float(), s.Longitude.Float()
		}
		page, total := m.Find(Query{Scope: All, Near: &center})
		found += total
		got, last := map[int32]bool{}, int64(0)
		for _, f := range page {
			got[f.site] = true
			if f.meters < last {
				t.Fatalf("%+v: %d m comes after %d m", center, f.meters, last)
			}
			last = f.meters
		}
		for i := range m.sites {
			s := &m.sites[i]
			km := haversine(center.Latitude, center.Longitude, s.Latitude.Float(), s.Longitude.Float())
			if inside := km <= center.RadiusKm; inside != got[int32(i)] && math.Abs(km-center.RadiusKm) > 1e-6 {
				t.Fatalf("%+v: the site at %v, %v is %f km away, and found is %v", center, s.Latitude.Float(), s.Longitude.Float(), km, got[int32(i)])
			}
		}
		if len(got) != total {
			t.Fatalf("%+v: %d sites of %d", center, len(got), total)
		}
	}
	if found < 5_000 {
		t.Errorf("10000 circles held %d sites only", found)
	}
}

// TestFind_Pages reads answers page by page: each page continues the one before, and together they are the whole.
func TestFind_Pages(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	m := New(observe(random(rng, 2000)...))
	f := func(q Query) {
		t.Helper()
		whole, total := m.Find(q)
		if len(whole) != total || total < 20 {
			t.Fatalf("%+v: %d sites of %d", q, len(whole), total)
		}
		var read []Found
		for q.Limit = 1 + rng.IntN(total/3); q.Offset < total; q.Offset += q.Limit {
			page, again := m.Find(q)
			if again != total {
				t.Fatalf("%+v: %d in all, then %d", q, total, again)
			}
			read = append(read, page...)
		}
		if !slices.Equal(read, whole) {
			t.Errorf("%+v: the pages are not the whole", q)
		}
		if q.Offset = total + 5; len(first(m.Find(q))) != 0 {
			t.Errorf("%+v: there is something behind the end", q)
		}
	}
	f(Query{Scope: All})
	f(Query{Scope: Neocloud, Country: "Japan"})
	f(Query{Scope: All, Country: Unknown})
	f(Query{Scope: All, City: "town 1"})
	f(Query{Scope: Neocloud, Country: "Germany", GPUType: "h100"})
	f(Query{Scope: All, Near: &Circle{89, 0, 500}})
	f(Query{Scope: All, Near: &Circle{89, 0, 500}, Country: "Japan"})
	f(Query{Scope: All, Box: &Box{175, -90, -175, 90}})
}

func first[A, B any](a A, _ B) A { return a }

// TestFind holds all ways of asking against a plain look at every site.
func TestFind(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	m := New(observe(random(rng, 2000)...))
	for range 2000 {
		q := Query{Scope: Scope(rng.IntN(2))}
		if rng.IntN(2) == 0 {
			q.Country = []string{"Germany", "Japan", Unknown, "Norway"}[rng.IntN(4)]
		}
		if rng.IntN(2) == 0 {
			q.City = []string{"town 1", "hall", "7", "x"}[rng.IntN(4)]
		}
		if rng.IntN(2) == 0 {
			q.GPUType = []string{"h100", "sxm", "b2", "q"}[rng.IntN(4)]
		}
		if rng.IntN(2) == 0 {
			q.Box = &Box{rng.Float64()*360 - 180, -60, rng.Float64()*360 - 180, 60}
		}
		var want []Found
		for i, s := range m.sites {
			inBox := q.Box == nil || s.Latitude.Float() >= -60 && s.Latitude.Float() <= 60 &&
				math.Mod(s.Longitude.Float()-q.Box.West+720, 360) <= math.Mod(q.Box.East-q.Box.West+720, 360)
			if (q.Scope == All || s.IsNeocloud) && (q.Country == "" || s.Country == q.Country) && inBox &&
				(strings.Contains(strings.ToLower(s.City), q.City) || strings.Contains(strings.ToLower(s.SiteName), q.City)) &&
				strings.Contains(strings.ToLower(s.GPUTypes), q.GPUType) {
				want = append(want, Found{site: int32(i)})
			}
		}
		if got, total := m.Find(q); total != len(want) || !slices.Equal(got, want) {
			t.Fatalf("%+v (%+v): %d sites, want %d", q, q.Box, total, len(want))
		}
	}
}

func TestFind_TextsDoNotRunTogether(t *testing.T) {
	t.Parallel()
	m := New(observe(assay.Site{ID: "1", City: "Ams", SiteName: "Ham"}, assay.Site{ID: "2", City: "burg", SiteName: "x"}))
	f := func(city string, want int) {
		t.Helper()
		if _, got := m.Find(Query{Scope: All, City: Fold(city)}); got != want {
			t.Errorf("%q finds %d sites, want %d", city, got, want)
		}
	}
	f("ham", 1)
	f("Amsham", 0)
	f("ams\x00ham", 0)
	f("hamburg", 0)
	f("HAM\x00\x00burg", 0)
	f("B", 1)
}

func TestBox_DateLine(t *testing.T) {
	t.Parallel()
	f := func(b Box, latitude, longitude float64, want bool) {
		t.Helper()
		if b.contains(latitude, longitude) != want {
			t.Errorf("%+v contains %v, %v: %v", b, latitude, longitude, !want)
		}
	}
	fiji := Box{170, -30, -170, 0}
	f(fiji, -18, 178, true)
	f(fiji, -18, -179, true)
	f(fiji, -18, 180, true)
	f(fiji, -18, 0, false)
	f(fiji, 1, 178, false)
	f(Box{170, -30, 180, 0}, -18, -180, true)
	f(Box{-180, -30, -170, 0}, -18, 180, true)
	f(Box{-10, -30, 10, 0}, -18, 180, false)
	f(Box{-10, -30, 10, 0}, -30, 10, true)
}

func TestFold(t *testing.T) {
	t.Parallel()
	f := func(text, want string) {
		t.Helper()
		if got := Fold(text); got != want {
			t.Errorf("%q is folded to %q, want %q", text, got, want)
		}
	}
	f("São Paulo", "sao paulo")
	f("SÃO PAULO", "sao paulo")
	f("Sa\u0303o Paulo", "sao paulo")
	f("Tromsø", "tromso")
	f("ŁÓDŹ", "lodz")
	f("Kraków", "krakow")
	f("Straße", "strasse")
	f("Reykjavík", "reykjavik")
	f("İstanbul", "istanbul")
	f("東京", "東京")
	f("a\x00b\tc", "abc")
	f("\u0301", "")
}

func TestCountry(t *testing.T) {
	t.Parallel()
	f := func(want string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if got, ok := Country(text); got != want || ok != (want != "") {
				t.Errorf("%q is %q (%v), want %q", text, got, ok, want)
			}
		}
	}
	f("United States", "USA", "us", "United States", "united  states", "U.S.", "U.S.A.", "the United States of America")
	f("United Kingdom", "UK", "gb", "GBR", "Great Britain", "United Kingdom of Great Britain and Northern Ireland")
	f("South Korea", "kr", "Korea", "Republic of Korea", "Korea, Republic of")
	f("Türkiye", "turkey", "Turkiye", "TÜRKİYE", "tr")
	f("Côte d'Ivoire", "Cote d’Ivoire", "ivory coast", "CI")
	f("Saint Kitts and Nevis", "St. Kitts & Nevis", "St Kitts and Nevis")
	f("DR Congo", "Congo, The Democratic Republic of the", "COD")
	f("Netherlands", "The Netherlands", "Holland", "nl")
	f("Unknown", "Unknown", "UNKNOWN")
	f("", "", " ", "Atlantis", "XX", "United", "the")
}

// TestCountry_List walks the list: every country is there once, under its codes and its name, and no name is that of
// two.
func TestCountry_List(t *testing.T) {
	t.Parallel()
	owners, rows := map[string]string{}, 0
	for line := range strings.Lines(countriesText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		rows++
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		names := strings.Split(fields[2], "; ")
		if len(fields[0]) != 2 || len(fields[1]) != 3 {
			t.Errorf("codes of %q", line)
		}
		for _, name := range append(names, fields[0], fields[1]) {
			key := countryKey(name)
			if owner := owners[key]; key == "" || owner != "" && owner != names[0] {
				t.Errorf("%q of %s is the key of %s too", name, names[0], owner)
			}
			owners[key] = names[0]
			if got, _ := Country(name); got != names[0] {
				t.Errorf("%q is %s, want %s", name, got, names[0])
			}
		}
	}
	if rows != 250 {
		t.Errorf("the list has %d rows, want the 249 of ISO 3166-1, and Kosovo", rows)
	}
}

func TestChips(t *testing.T) {
	t.Parallel()
	f := func(text string, want ...string) {
		t.Helper()
		if got := Chips(text); !slices.Equal(got, want) {
			t.Errorf("%q names %v, want %v", text, got, want)
		}
	}
	f("8x H100 SXM5 / A100", "H100", "A100")
	f("NVIDIA GB200 NVL72", "GB200")
	f("H200, h20; H200", "H200", "H20")
	f("8xH100-80GB", "H100")
	f("H100x8", "H100")
	f("H100s and A100s", "H100", "A100")
	f("L40S+L40+L4", "L40S", "L40", "L4")
	f("A10G (A10)", "A10G", "A10")
	f("MI300X, MI-300A, Instinct MI 325X", "MI300X", "MI300A", "MI325X")
	f("MI250X/MI250", "MI250X", "MI250")
	f("TPUv5e TPU v5p TPU-v4 Trillium", "TPU v5e", "TPU v5p", "TPU v4", "TPU v6")
	f("Trainium 2", "Trainium2")
	f("trainium", "Trainium")
	f("Gaudi2 / Gaudi 3", "Gaudi 2", "Gaudi 3")
	f("GeForce RTX 4090, RTX5090, 4x RTX 3090, 2xRTX4090", "RTX 4090", "RTX 5090", "RTX 3090")
	f("RTX PRO 6000 Blackwell", "RTX PRO 6000")
	f("RTX 6000 Ada", "RTX 6000 Ada")
	f("Huawei Ascend 910B", "Ascend 910B")
	f("A 100 MW hall", Other)
	f("XH100Y", Other)
	f("custom ASIC", Other)
	f("", Other)
}

// TestAggregate has sums that can be checked by hand.
func TestAggregate(t *testing.T) {
	t.Parallel()
	m := New(observe(
		assay.Site{ID: "1", Country: "Norway", GPUTypes: "H100, A100", GPUQty: 100, Power: 1_500_000, IsNeocloud: true},
		assay.Site{ID: "2", Country: "Norway", GPUTypes: "H100", GPUQty: 10, Power: 250_000, IsNeocloud: true},
		assay.Site{ID: "3", Country: "Chile", GPUTypes: "own design", GPUQty: 7, Power: 1, IsNeocloud: true},
		assay.Site{ID: "4", GPUTypes: "A100", GPUQty: 1, Power: 0},
	))
	f := func(by Grouping, scope Scope, want ...Bucket) {
		t.Helper()
		if diff := cmp.Diff(want, m.Buckets(by, scope)); diff != "" {
			t.Error(diff)
		}
	}
	f(ByCountry, Neocloud, Bucket{"Norway", 2, 110, 1_750_000}, Bucket{"Chile", 1, 7, 1})
	f(ByCountry, All, Bucket{"Norway", 2, 110, 1_750_000}, Bucket{"Chile", 1, 7, 1}, Bucket{"Unknown", 1, 1, 0})
	f(ByGPUType, Neocloud, Bucket{"H100", 2, 110, 1_750_000}, Bucket{"A100", 1, 100, 1_500_000}, Bucket{"Other", 1, 7, 1})
	f(ByGPUType, All, Bucket{"A100", 2, 101, 1_500_000}, Bucket{"H100", 2, 110, 1_750_000}, Bucket{"Other", 1, 7, 1})
	if none := New(nil); none.Buckets(ByCountry, All) == nil || none.Received != 0 {
		t.Errorf("no sites: %v, received %d", none.Buckets(ByCountry, All), none.Received)
	}
}

// TestAppend holds the records against encoding/json.
func TestAppend(t *testing.T) {
	t.Parallel()
	type record struct {
		Company        string       `json:"company"`
		SiteName       string       `json:"site_name"`
		City           string       `json:"city"`
		Country        string       `json:"country"`
		GPUTypes       string       `json:"gpu_types"`
		GPUQty         int64        `json:"gpu_qty"`
		Power          assay.Micros `json:"power_capacity_mw"`
		ChipGeneration string       `json:"chip_generation"`
		Category       string       `json:"category"`
		KeyCustomer    *string      `json:"key_customer"`
		Status         string       `json:"status"`
		DCTier         string       `json:"dc_tier"`
		Latitude       assay.Micros `json:"latitude"`
		Longitude      assay.Micros `json:"longitude"`
		IsNeocloud     bool         `json:"is_neocloud"`
	}
	customer := "A & B"
	f := func(s assay.Site, want any, appendTo func(*Model, []byte, Found) []byte, near *Circle) {
		t.Helper()
		m := New(observe(s))
		page, _ := m.Find(Query{Scope: All, Near: near})
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendTo(m, []byte("before "), page[0]); string(got) != "before "+string(text) {
			t.Errorf("the record is\n%s, want\nbefore %s", got, text)
		}
	}
	site := assay.Site{
		ID: "1", Company: "Ä \"x\"", SiteName: "b", City: "c", GPUTypes: "e<f", GPUQty: 5, Power: 12_345_678, ChipGeneration: "g", Category: "h",
		KeyCustomer: customer, Status: "j", DCTier: "k", Latitude: -33_456_789, Longitude: 151_200_000, IsNeocloud: true,
	}
	want := record{"Ä \"x\"", "b", "c", "Unknown", "e<f", 5, 12_345_678, "g", "h", &customer, "j", "k", -33_456_789, 151_200_000, true}
	f(site, want, (*Model).AppendSite, nil)
	f(site, struct {
		record
		Km float64 `json:"distance_km"`
	}{want, 111.195}, (*Model).AppendNear, &Circle{-32.456789, 151.2, 500})
	f(site, map[string]any{"type": "Feature", "geometry": 0, "properties": want}, func(m *Model, dst []byte, f Found) []byte {
		return []byte(strings.Replace(string(swap(m.AppendFeature(dst, f))), `{"coordinates":[151.2,-33.456789],"type":"Point"}`, "0", 1))
	}, nil)
	site.KeyCustomer, want.KeyCustomer, site.Country, want.Country = "", nil, "Norway", "Norway"
	f(site, want, (*Model).AppendSite, nil)
}

// swap puts the members of a feature into the order in which encoding/json writes a map.
func swap(feature []byte) []byte {
	text, properties, _ := strings.Cut(string(feature), `,"properties":`)
	return []byte(strings.Replace(text, `{"type":"Feature","geometry":{"type":"Point","coordinates":[151.2,-33.456789]}`,
		`{"geometry":{"coordinates":[151.2,-33.456789],"type":"Point"}`, 1) + `,"properties":` + strings.TrimSuffix(properties, "}") + `,"type":"Feature"}`)
}

func FuzzChips(f *testing.F) {
	for _, seed := range []string{"8x H100 SXM5 / A100", "TPUv5e", "L40S", "\xff 4x", "XXXX8888"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		chips := Chips(text)
		if len(chips) == 0 {
			t.Errorf("%q has no bucket", text)
		}
		if again := Chips(strings.Join(chips, " / ")); !slices.Equal(again, chips) && !slices.Equal(chips, []string{Other}) {
			t.Errorf("%q names %v, which names %v", text, chips, again)
		}
	})
}

// TestFind_IndexBeatsScan compares a circle with a look at every site, on the same machine at the same time.
func TestFind_IndexBeatsScan(t *testing.T) {
	t.Parallel()
	m := New(observe(random(rand.New(rand.NewPCG(7, 8)), 100_000)...))
	const questions = 20
	var fast, slow time.Duration
	for i := range questions {
		q := nearby(m, i)
		begun := time.Now()
		_, total := m.Find(q)
		fast += time.Since(begun)
		begun, n := time.Now(), 0
		for k := range m.sites {
			if haversine(q.Near.Latitude, q.Near.Longitude, m.sites[k].Latitude.Float(),
				m.sites[k].Longitude.Float()) <= q.Near.RadiusKm {
				n++
			}
		}
		slow += time.Since(begun)
		if total != n {
			t.Errorf("%+v: %d sites, and looking at every site finds %d", q.Near, total, n)
		}
	}
	if fast*10 > slow {
		t.Errorf("the index takes %v, looking at every site %v", fast, slow)
	}
}

// nearby is a question for the surroundings of a site.
func nearby(m *Model, i int) Query {
	s := &m.sites[i*7919%len(m.sites)]
	return Query{Scope: All, Near: &Circle{s.Latitude.Float() + 0.1, s.Longitude.Float() - 0.1, 50}, Limit: 100}
}

func BenchmarkFind(b *testing.B) {
	m := New(observe(random(rand.New(rand.NewPCG(7, 8)), 100_000)...))
	run := func(name string, question func(i int) Query) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var out []byte
			for i := 0; b.Loop(); i++ {
				page, _ := m.Find(question(i))
				out = out[:0]
				for _, f := range page {
					out = m.AppendNear(out, f)
				}
			}
		})
	}
	run("radius", func(i int) Query { return nearby(m, i) })
	run("radius500", func(i int) Query {
		q := nearby(m, i)
		q.Near.RadiusKm = 500
		return q
	})
	run("country", func(int) Query { return Query{Scope: All, Country: "Japan", Offset: 5000, Limit: 100} })
	run("city", func(int) Query { return Query{Scope: All, City: "town 123", Limit: 100} })
}
