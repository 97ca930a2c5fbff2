package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	products "github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/sites"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/internal/tokens"
	"github.com/assaydata/assay/internal/usage"
)

// fixtureNow is the moment at which the tests live, a Wednesday in winter.
var fixtureNow = time.Date(2026, 2, 4, 12, 34, 56, 0, time.UTC)

// rig is a server on a fixed snapshot, with keys in a real store and a clock that stands still until it is moved.
type rig struct {
	*Server
	t     testing.TB
	now   time.Time
	logs  bytes.Buffer
	keys  map[string]string // caller to key text
	ping  error
	panic bool
	away  error // what reading a record fails with
	asked int   // requests so far; each comes from an address of its own unless it names one

	dir      string            // of the database
	sessions map[string]string // caller to the session's cookie
}

// newRig makes a rig. The options change the configuration before the server is made.
func newRig(t testing.TB, options ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, now: fixtureNow, keys: map[string]string{}, dir: storetest.SQLite(t), sessions: map[string]string{}}
	db := storetest.OpenIn(t, r.dir)
	db.Now = func() time.Time { return r.now }
	ctx := context.Background()
	for _, k := range []struct {
		caller  string
		tier    assay.Tier
		expires int64
	}{{"premium", assay.Premium, 0}, {"full", assay.Full, 0}, {"revoked", assay.Premium, 0}, {"ended trial", assay.Premium, fixtureNow.UnixMilli()}} {
		secret, key, err := keys.Create(ctx, db, k.tier, k.caller, k.expires)
		if err != nil {
			t.Fatal(err)
		}
		r.keys[k.caller] = secret.Reveal()
		if k.caller == "revoked" {
			if err := db.RevokeKey(ctx, key.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.keys["unknown key"] = keys.Mint(assay.Full).Reveal()
	keyring := &keys.Keyring{Store: db, Log: slog.New(slog.DiscardHandler)}
	if err := keyring.Load(ctx); err != nil {
		t.Fatal(err)
	}
	config := Config{
		Snapshots: &snapshot.Holder{}, Keys: keyring, Now: func() time.Time { return r.now },
		Requests: &r.logs, Log: slog.New(slog.NewJSONHandler(&r.logs, nil)), Version: "test", KeyLimit: 600, Role: assay.RoleAll,
		Ping: func(context.Context) error {
			if r.panic {
				panic("a bug")
			}
			return r.ping
		},
	}
	config.Determinations = r.determinations
	config.Accounts = &account.Service{Store: db, Keys: keyring, Now: config.Now, Log: config.Log}
	if err := config.Accounts.Load(ctx); err != nil {
		t.Fatal(err)
	}
	config.Usage = usage.New(db, config.Log)
	for _, option := range options {
		option(&config)
	}
	var err error
	if r.Server, err = New(config); err != nil {
		t.Fatal(err)
	}
	r.use(fixture())
	return r
}

// use makes a snapshot the current one.
func (r *rig) use(s *snapshot.Snapshot) {
	r.Warm(s)
	r.Snapshots.Store(s)
}

// fixture is the snapshot of most tests: daily from 1 August 2025, which includes the end of summer time, and hourly from
// 20 January 2026, for all six GPUs worldwide and for one of them in one region, where three values were restated.
func fixture() *snapshot.Snapshot {
	return snapshot.New(assay.DefaultCatalog(), 1).With(fixtureUpdate())
}

// fixtureUpdate is what the fixture is made of. Nobody changes it.
var fixtureUpdate = sync.OnceValue(func() snapshot.Update {
	u := snapshot.Update{Version: 7, Covered: fixtureInstant("2026-02-04T12:00:00Z"), Publications: []assay.Publication{
		{Version: 4, PublishedAt: fixtureInstant("2026-02-01T21:00:01Z"), Methodology: "1.0.0"},
		{Version: 5, PublishedAt: fixtureInstant("2026-02-02T10:00:00Z"), Methodology: "1.0.0", Reason: "Late rentals of a provider", Actor: "ops"},
		{Version: 6, PublishedAt: fixtureInstant("2026-02-03T21:00:01Z"), Methodology: "1.0.0"},
		{Version: 7, PublishedAt: fixtureInstant("2026-02-04T12:00:01Z"), Methodology: "1.0.0"},
	}}
	lines := []assay.Line{{GPU: "H100 SXM", Region: "us-east"}}
	for _, gpu := range assay.DefaultCatalog().GPUs {
		lines = append(lines, assay.Line{GPU: gpu.Name, Region: assay.Global})
	}
	for n, line := range lines {
		for _, g := range []struct {
			grain   assay.Grain
			start   string
			version int64
		}{{assay.Daily, "2025-08-01", 6}, {assay.Hourly, "2026-01-20", 7}} {
			revisions := fixtureRevisions(fixturePoints(g.grain, time.UnixMilli(fixtureInstant(g.start)), n), u.Publications)
			if n == 0 {
				revisions = fixtureRestated(revisions, g.grain)
			}
			u.Series = append(u.Series, snapshot.SeriesUpdate{
				Line: line, Grain: g.grain, Revisions: revisions, Version: g.version, Published: u.Publications[g.version-4].PublishedAt,
			})
		}
	}
	u.Realtime = []snapshot.RealtimeUpdate{{Line: assay.Line{GPU: "H200", Region: assay.Global}, Prints: fixturePrints()}}
	u.Utilization = fixtureReadings()
	u.Observations = family.Batches{
		assay.FamilyMemory: memory.Family.BatchOf(fixtureMemory()...),
		assay.FamilyModels: tokens.Family.BatchOf(fixtureModels()...),
		assay.FamilyCoding: products.Family.BatchOf(fixtureCoding()...),
		assay.FamilySites:  sites.Family.BatchOf(fixtureSites()...),
	}
	u.Methodologies = []assay.MethodologyFile{
		{Version: "1.0.0", Effective: 0, Adopted: fixtureInstant("2025-07-01T09:00:00Z"), Text: fixtureMethodology("1.0.0", "1970-01-01", 4)},
		{Version: "1.1.0", Effective: fixtureInstant("2026-03-01"), Adopted: fixtureInstant("2026-02-01T09:00:00Z"), Text: fixtureMethodology("1.1.0", "2026-03-01", 5)},
	}
	u.Manifest = &assay.Manifest{
		Day: fixtureInstant("2026-02-03"), Records: 175, Digest: assay.Hash{1}, SignedAt: fixtureInstant("2026-02-04T00:00:02Z"),
		Previous: assay.Hash{2}, Hash: assay.Hash{3}, PublicKey: make([]byte, 32), Signature: make([]byte, 64),
	}
	return u
})

// fixturePrints are the real-time prints since noon of the day before.
func fixturePrints() (prints []assay.RealtimePrint) {
	for at := fixtureInstant("2026-02-03T12:00:00Z"); at <= fixtureNow.UnixMilli(); at += assay.Minute {
		i := int64(len(prints))
		prints = append(prints, assay.RealtimePrint{
			At: at, Value: assay.Nanos(23_000+i%97) * assay.Unit(4), Transactions: int(i % 40), HourMicros: 1_500_000 * (i % 40),
		})
	}
	return prints
}

// fixtureReadings are readings of utilization: of H200 twice a day by two sources, one of which is a day late; of B200
// until 2 February and of A100 SXM4 until January; of RTX 5090 none for more than 30 days.
func fixtureReadings() (readings []assay.UtilizationReading) {
	add := func(gpu, region, source, from, to string, late int64) {
		for at := fixtureInstant(from); at <= fixtureInstant(to); at += 12 * assay.Hour {
			i := int64(len(readings))
			readings = append(readings, assay.UtilizationReading{
				Source: source, At: at, GPU: gpu, Region: region, Rented: 600 + i*7%300, Tracked: 1000, Received: at + late,
			})
		}
	}
	add("H200", "us-east", "a", "2025-12-20", "2026-02-04T12:00:00Z", assay.Minute)
	add("H200", "", "b", "2026-01-30", "2026-02-03", assay.Day)
	add("B200", "us-west", "a", "2026-01-20", "2026-02-02T12:00:00Z", assay.Minute)
	add("A100 SXM4", "", "b", "2026-01-10", "2026-01-12", assay.Minute)
	add("RTX 5090", "", "b", "2025-12-20", "2026-01-05", assay.Minute)
	return readings
}

// determinations are the records of the fixture's revisions.
func (r *rig) determinations(_ context.Context, line assay.Line, grain assay.Grain, at int64) (records []assay.Determination, err error) {
	u := fixtureUpdate()
	for _, series := range u.Series {
		if series.Line != line || series.Grain != grain {
			continue
		}
		for _, revision := range series.Revisions {
			if revision.At == at {
				records = append(records, fixtureRecord(line, grain, revision, u.Publications[revision.Version-4]))
			}
		}
	}
	return records, r.away
}

func fixtureRecord(line assay.Line, grain assay.Grain, r assay.Revision, p assay.Publication) assay.Determination {
	d := assay.Determination{
		Line: line, Grain: grain, At: r.At, From: index.Plain().WindowStart(grain, r.At), Revision: r.Number, Methodology: p.Methodology,
		PublishedAt: p.PublishedAt, Inputs: assay.Hash{0xab, byte(r.Number)}, Hash: assay.Hash{0xcd, byte(r.Number)}, Excluded: assay.Exclusions{Unverified: 2},
	}
	if r.Gone {
		d.Excluded.Withdrawn = 1
		return d
	}
	d.HasValue, d.Value, d.Low, d.High, d.Median = true, r.Value, r.Value-assay.One, r.Value+assay.One, r.Value
	d.Transactions, d.HourMicros, d.Providers, d.HHI = 3, 1_250_000_500, 2, 5556
	return d
}

func fixtureInstant(s string) int64 {
	ms, _, err := assay.ParseInstant(s)
	if err != nil {
		panic(err)
	}
	return ms
}

// fixtureRevisions has each point made by the first regular publication that could know it.
func fixtureRevisions(points []assay.Point, publications []assay.Publication) []assay.Revision {
	revisions := make([]assay.Revision, len(points))
	for i, p := range points {
		revisions[i].Point = p
		for _, made := range slices.Backward(publications) {
			if made.Reason == "" && made.PublishedAt >= p.At {
				revisions[i].Version = made.Version
			}
		}
	}
	return revisions
}

// fixtureRestated lets version 5 have changed a value, and of the days taken one back and given one.
func fixtureRestated(revisions []assay.Revision, grain assay.Grain) (restated []assay.Revision) {
	for _, r := range revisions {
		second := r
		second.Number, second.Version = 1, 5
		switch assay.FormatInstant(r.At) {
		case "2026-01-30T21:00:00.000Z", "2026-02-01T10:00:00.000Z":
			r.Value += assay.One / 2
			restated = append(restated, r, second)
		case "2026-01-29T21:00:00.000Z":
			if second.Gone = grain == assay.Daily; second.Gone {
				restated = append(restated, r, second)
				continue
			}
			restated = append(restated, r)
		case "2026-01-28T21:00:00.000Z":
			if grain == assay.Daily {
				r.Version = 5
			}
			restated = append(restated, r)
		default:
			restated = append(restated, r)
		}
	}
	return restated
}

func fixtureMethodology(version, effective string, decimals int) string {
	return fmt.Sprintf(`version = %q
effective = %sT00:00:00Z
decimals = %d
fixing = {zone = "America/New_York", time = "16:00"}
minimum = {transactions = 1, providers = 1}
`, version, effective, decimals)
}

// fixturePoints are points at every slot from the start until now, with values of up to four decimals.
func fixturePoints(grain assay.Grain, start time.Time, n int) (points []assay.Point) {
	m := index.Plain()
	for at := m.NextSlot(grain, start.UnixMilli()); at <= fixtureNow.UnixMilli(); at = m.NextSlot(grain, at) {
		i := int64(len(points))
		value := assay.Nanos(20_000+1_000*int64(n)+(i*37)%911) * assay.Unit(4)
		points = append(points, assay.Point{At: at, Value: value})
	}
	return points
}

// reply is a response whose body has been read.
type reply struct {
	*http.Response
	body string
}

// get asks as a caller: "" or one of the rig's keys.
func (r *rig) get(caller, target string, headers ...string) reply {
	r.t.Helper()
	return r.do(http.MethodGet, caller, target, headers...)
}

// do sends one request through the handler and holds the answer against the description of the API.
func (r *rig) do(method, caller, target string, headers ...string) reply {
	r.t.Helper()
	request := httptest.NewRequest(method, "/", nil)
	r.asked++
	request.RemoteAddr = fmt.Sprintf("192.0.%d.%d:1234", r.asked/256, r.asked%256)
	request.RequestURI = target
	parsed, err := url.ParseRequestURI(target)
	if err != nil {
		r.t.Fatal(err)
	}
	request.URL = parsed
	switch {
	case strings.HasSuffix(caller, " session"):
		request.Header.Set("Cookie", r.session(caller))
	case caller != "" && caller != "anonymous":
		request.Header.Set("Authorization", "Bearer "+r.keys[caller])
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "peer" {
			request.RemoteAddr = headers[i+1]
			continue
		}
		request.Header.Add(headers[i], headers[i+1])
	}
	return r.send(request)
}

func (r *rig) send(request *http.Request) reply {
	r.t.Helper()
	recorder := httptest.NewRecorder()
	r.ServeHTTP(recorder, request)
	response := recorder.Result()
	for name, values := range response.Header { // as the network would deliver them
		response.Header[http.CanonicalHeaderKey(name)] = values
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	r.validate(request, response, body)
	return reply{response, string(body)}
}

var description = sync.OnceValues(func() (*openapi3.T, error) { return loadDescription(openAPIText) })

func loadDescription(text []byte) (*openapi3.T, error) {
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	return document, document.Validate(context.Background())
}

var descriptions sync.Map // catalog as text → *openapi3.T

// descriptionUnder is the description that a server with the catalog must keep.
func descriptionUnder(catalog assay.Catalog) (*openapi3.T, error) {
	if reflect.DeepEqual(catalog, assay.DefaultCatalog()) {
		return description()
	}
	key := fmt.Sprintf("%+v", catalog)
	if known, ok := descriptions.Load(key); ok {
		return known.(*openapi3.T), nil
	}
	text, err := describeText(&catalog)
	if err != nil {
		return nil, err
	}
	document, err := loadDescription(text)
	descriptions.Store(key, document)
	return document, err
}

// validate holds an answer against openapi.yaml: its status must be described, its headers and its body must fit.
func (r *rig) validate(request *http.Request, response *http.Response, body []byte) {
	r.t.Helper()
	catalog := assay.DefaultCatalog()
	if snap := r.Snapshots.Load(); snap != nil {
		catalog = snap.Catalog
	}
	document, err := descriptionUnder(catalog)
	if err != nil {
		r.t.Fatal(err)
	}
	if request.Method == http.MethodOptions || response.Header.Get("Content-Encoding") != "" {
		return // a preflight has no description; compressed bodies are compared with plain ones where they are made
	}
	_, pattern := r.mux.Handler(request)
	item := document.Paths.Find(pattern)
	method := request.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if item == nil || item.GetOperation(method) == nil || response.StatusCode == http.StatusMethodNotAllowed || bytes.Contains(body, []byte(`"unknown_path"`)) {
		r.validateError(document, response, body)
		return
	}
	if request.Method == http.MethodHead {
		return // it has no body, and GET's answer is compared with it where it matters
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: request,
			Route:   &routers.Route{Spec: document, Path: pattern, PathItem: item, Method: method, Operation: item.GetOperation(method)},
		},
		Status: response.StatusCode, Header: response.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	input.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		r.t.Errorf("%s %s: the answer does not fit openapi.yaml: %v\n%.300s", request.Method, request.RequestURI, err, body)
	}
}

// validateError holds an answer that belongs to no described route against the error shape.
func (r *rig) validateError(document *openapi3.T, response *http.Response, body []byte) {
	r.t.Helper()
	if response.StatusCode < 400 || len(body) == 0 || strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
		return // pages of the dashboard are not in the description
	}
	var value any
	if err := unmarshal(body, &value); err != nil {
		r.t.Errorf("the body of a %d is not JSON: %v", response.StatusCode, err)
		return
	}
	if err := document.Components.Schemas["Error"].Value.VisitJSON(value); err != nil {
		r.t.Errorf("the body of a %d is not an error: %v\n%s", response.StatusCode, err, body)
	}
}

// trust is the option of a rig behind a proxy.
func trust(prefixes ...string) func(*Config) {
	return func(c *Config) {
		for _, p := range prefixes {
			c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix(p))
		}
	}
}

// allRoutes is the whole API.
var allRoutes = slices.Concat(routes, ownRoutes)

func TestRoutes_AreTheDescribedOnes(t *testing.T) {
	document, err := description()
	if err != nil {
		t.Fatal(err)
	}
	registered := map[string]bool{}
	for _, r := range allRoutes {
		registered[r.method+" "+r.path] = true
		if item := document.Paths.Find(r.path); item == nil || item.GetOperation(r.method) == nil {
			t.Errorf("%s %s is not in openapi.yaml", r.method, r.path)
		}
	}
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			if !registered[method+" "+path] {
				t.Errorf("%s %s is in openapi.yaml and not a route", method, path)
			}
		}
	}
	if document.Info.Version != "1.0.0" {
		t.Errorf("the description has version %s", document.Info.Version)
	}
}

func TestHealth(t *testing.T) {
	r := newRig(t)
	if got := r.get("", "/health"); got.StatusCode != 200 || !strings.Contains(got.body, `"latest":"2026-02-04T12:00:00.000Z","age_seconds":2096`) {
		t.Errorf("healthy: %d %s", got.StatusCode, got.body)
	}
	r.ping = errors.New("disk gone, secret path /srv/x")
	got := r.get("", "/health")
	if got.StatusCode != 503 || !strings.Contains(got.body, `"error":"Service unavailable"`) || !strings.Contains(got.body, `"database":"disconnected"`) {
		t.Errorf("unhealthy: %d %s", got.StatusCode, got.body)
	}
	if strings.Contains(got.body, "disk gone") {
		t.Error("the 503 shows its cause")
	}
	if got := r.get("", "/api/gpu/H200"); got.StatusCode != 200 {
		t.Errorf("with the database away a read answers %d", got.StatusCode)
	}
	r.use(snapshot.New(assay.DefaultCatalog(), 2))
	r.ping = nil
	if got := r.get("", "/health"); !strings.Contains(got.body, `"latest":null,"age_seconds":null`) {
		t.Errorf("without data: %s", got.body)
	}
}

func TestServe_PanicIsA500WithoutInternals(t *testing.T) {
	r := newRig(t)
	r.panic = true
	got := r.get("", "/health")
	if got.StatusCode != 500 || !strings.Contains(got.body, `"error":"Internal server error"`) || strings.Contains(got.body, "a bug") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if !strings.Contains(r.logs.String(), "a bug") || !strings.Contains(r.logs.String(), got.Header.Get("X-Request-Id")) {
		t.Errorf("the log does not tell of it: %s", r.logs.String())
	}
}

func TestServe_RequestID(t *testing.T) {
	r := newRig(t)
	f := func(given string, echoed bool) {
		t.Helper()
		got := r.get("", "/api/gpu/H200", "X-Request-Id", given).Header.Get("X-Request-Id")
		if got == "" || (got == given) != echoed {
			t.Errorf("id %q came back as %q", given, got)
		}
	}
	f("abc-123_x.Y", true)
	f(strings.Repeat("a", 64), true)
	f(strings.Repeat("a", 65), false)
	f("has space", false)
	f("semi;colon", false)
	f("ünïcode", false)
	one, two := r.get("", "/health").Header.Get("X-Request-Id"), r.get("", "/health").Header.Get("X-Request-Id")
	if one == two {
		t.Errorf("two requests have the id %s", one)
	}
}

func TestServe_LogsOneLineWithoutSecrets(t *testing.T) {
	r := newRig(t)
	secret := r.keys["full"]
	r.get("full", "/api/gpu/H200/hourly?limit=1&api_key="+secret)
	r.get("", "/api/gpu/"+secret)
	r.get("", "/"+secret)
	r.get("", "/api/gpu/H200/index-history?startDate="+secret)
	r.get("", "/api/gpu/H200", "Authorization", "Bearer "+secret+"x")
	r.get("", "/api/gpu/H200", "Authorization", secret)
	r.get("", "/api/gpu/H200", "X-Request-Id", secret)
	logs := r.logs.String()
	if strings.Contains(logs, secret) || strings.Contains(logs, secret[16:]) {
		t.Errorf("the log holds a key:\n%s", logs)
	}
	if got := strings.Count(logs, "\n"); got != 7 {
		t.Errorf("7 requests left %d lines:\n%s", got, logs)
	}
	if !strings.Contains(logs, `"key":"`+secret[8:14]+`"`) {
		t.Errorf("the log does not name the key's id:\n%s", logs)
	}
}
