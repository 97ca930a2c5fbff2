// Package apitest runs the whole HTTP server on fixed data, for tests of the packages it is made of.
package apitest

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/console"
	"github.com/assaydata/assay/internal/dashboard"
	"github.com/assaydata/assay/internal/intake"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/links"
	"github.com/assaydata/assay/internal/mcp"
	"github.com/assaydata/assay/internal/notify"
	"github.com/assaydata/assay/internal/personal"
	"github.com/assaydata/assay/internal/push"
	"github.com/assaydata/assay/internal/share"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/internal/usage"
	"github.com/assaydata/assay/internal/web"
	"github.com/assaydata/assay/internal/webhook"
)

// Rig is a server on a fixed snapshot, with keys in a real database and a clock that stands still until a test moves
// it. It is not safe for concurrent use.
type Rig struct {
	*web.Server
	Config    Config
	API       *api.API
	Status    *web.NodeStatus
	Snapshots *snapshot.Holder
	Accounts  *account.Service
	Usage     *usage.Counter
	Alerts    *notify.Service
	Links     *links.Service
	Intake    *intake.Service
	DB        *store.DB
	Groups    []web.Group // the routes: market data, console, records, log, agents, documents, shared, intake

	Test      testing.TB // reports failures
	Clock     time.Time
	Logs      Buffer
	Keys      map[string]string // caller to key
	Sessions  map[string]string // caller to the session's cookie
	PingErr   error             // what a ping of the database fails with
	Panic     bool              // reading a record panics
	RecordErr error             // what reading a record fails with
	Sent      int               // requests so far; each comes from another address unless it names one
	Dir       string            // of the database

	web    web.Config
	agents *mcp.Server
	paths  *http.ServeMux // knows the paths of the routes; it serves nothing
}

// Config is the configuration of the server's parts, which options of New may change.
type Config struct {
	Web     web.Config
	Status  web.StatusConfig
	API     api.Config
	Console console.Config
}

// TrustProxies is an option for a server behind proxies.
func TrustProxies(prefixes ...string) func(*Config) {
	return func(c *Config) {
		for _, p := range prefixes {
			c.Web.TrustedProxies = append(c.Web.TrustedProxies, netip.MustParsePrefix(p))
		}
	}
}

// New makes a rig.
func New(t testing.TB, options ...func(*Config)) *Rig {
	t.Helper()
	r := &Rig{
		Test: t, Clock: Now, Keys: map[string]string{}, Sessions: map[string]string{}, DB: storetest.Open(t),
		Snapshots: &snapshot.Holder{},
	}
	r.Dir = storetest.Folder(t, r.DB)
	r.DB.Now = r.now
	log := slog.New(slog.NewJSONHandler(&r.Logs, nil))
	keyring := r.newKeyring()
	r.Accounts = &account.Service{Store: r.DB, Keys: keyring, Now: r.now, Log: log, HashMemory: 64}
	r.Must(r.Accounts.Load(context.Background()))
	r.Usage = usage.New(r.DB, log, r.now)
	hub := push.NewHub(r.now)
	r.Alerts = &notify.Service{
		Store: r.DB, Accounts: r.Accounts, Sender: &webhook.Sender{Agent: "Assay-Webhook/test", Now: r.now}, Now: r.now,
		Log: log,
	}
	r.Links = &links.Service{Store: r.DB, Accounts: r.Accounts, Now: r.now, Log: log}
	r.Must(r.Links.Load(context.Background()))
	r.Intake = intake.New(intake.Config{
		Keys: &keys.IngestKeys{Store: r.DB, Log: log}, Writes: true, Draining: func() bool { return r.Status.Draining() },
		SigningKey: func(context.Context, *store.DB) (ed25519.PrivateKey, error) { return nil, nil },
		Folder:     t.TempDir(), Now: r.now, Log: log,
	})
	r.Must(r.Intake.Keys.Load(context.Background()))
	r.Intake.Open(r.DB)
	r.Config = Config{
		Status: web.StatusConfig{Role: web.NodeAll, Ping: r.ping, Now: r.now, Log: log},
		API: api.Config{
			Snapshots: r.Snapshots, Program: api.Program{Release: "test", Commit: "0123456789ab", Schema: 1}, Now: r.now,
			Log: log, Session: r.sessionInMemory, WatchSession: r.Accounts.WatchSession, Hub: hub,
		},
		Console: console.Config{
			Accounts: r.Accounts, Usage: r.Usage, Alerts: r.Alerts, Links: r.Links,
			Personal: &personal.Service{Store: r.DB, IsPage: dashboard.IsPage}, Determinations: r.determinations,
			ValueRecords: r.valueRecords, Log: func() console.Log { return r.DB },
		},
		Web: web.Config{
			Settings: web.Settings{KeyLimit: 600, Streams: web.Streams{PerKey: 10, PerAddress: 10}},
			Now:      r.now, Requests: &r.Logs, Log: log, Key: keyring.Lookup, WatchKey: keyring.Watch, Hub: hub,
			Count: r.Usage.Count,
		},
	}
	for _, option := range options {
		option(&r.Config)
	}
	r.Server = r.NewServer(r.Config)
	r.Use(Snapshot())
	return r
}

// NewServer makes a server, and replaces the rig's parts by those of the server.
func (r *Rig) NewServer(c Config) *web.Server {
	r.Test.Helper()
	r.Status = web.NewNodeStatus(c.Status)
	r.Status.CheckDatabase(context.Background())
	c.API.Status, c.Web.Status = r.Status, r.Status
	r.API = api.New(c.API)
	c.Console.API, c.Web.Data = r.API, r.API.Data
	private := console.New(c.Console)
	r.agents = mcp.New(mcp.Config{Release: "test", Log: c.Web.Log, CheckedBy: "the server"})
	r.Groups = []web.Group{
		r.API.Routes(), private.Routes(), private.RecordRoutes(), private.LogRoutes(), r.agents.Routes(),
		mcp.DocumentRoutes(), share.New(share.Config{API: r.API, Open: r.Links.Open}).Routes(),
		r.Intake.Routes(),
	}
	r.paths = http.NewServeMux()
	known := map[string]bool{}
	for _, group := range r.Groups {
		for _, route := range group.Routes {
			if !known[route.Path] {
				known[route.Path] = true
				r.paths.Handle(route.Path, http.NotFoundHandler())
			}
		}
	}
	r.web = c.Web
	return r.newWebServer()
}

// newWebServer makes a server of the rig's routes, whose rate limits have counted nothing.
func (r *Rig) newWebServer() *web.Server {
	r.Test.Helper()
	server, err := web.New(r.web, r.Groups...)
	r.Must(err)
	r.agents.Serve(server)
	return server
}

// newKeyring makes a keyring with keys of every state.
func (r *Rig) newKeyring() *keys.Keyring {
	r.Test.Helper()
	ctx := context.Background()
	for _, k := range []struct {
		caller  string
		tier    assay.Tier
		expires int64
	}{
		{"premium", assay.Premium, 0},
		{"full", assay.Full, 0},
		{"revoked", assay.Premium, 0},
		{"ended trial", assay.Premium, Now.UnixMilli()},
	} {
		secret, key, err := keys.Create(ctx, r.DB, k.tier, k.caller, k.expires)
		r.Must(err)
		r.Keys[k.caller] = secret.Reveal()
		if k.caller == "revoked" {
			r.Must(r.DB.RevokeKey(ctx, key.ID))
		}
	}
	r.Keys["unknown key"] = keys.Mint(assay.Full).Reveal()
	keyring := &keys.Keyring{Store: r.DB, Log: slog.New(slog.DiscardHandler)}
	r.Must(keyring.Load(ctx))
	return keyring
}

func (r *Rig) now() time.Time { return r.Clock }

func (r *Rig) ping(context.Context) error {
	return r.PingErr
}

func (r *Rig) sessionInMemory(token string) (assay.Caller, bool) {
	session, ok := r.Accounts.IdentifyInMemory(token)
	return session.Caller, ok
}

// determinations are the records of the snapshot's revisions.
func (r *Rig) determinations(
	_ context.Context, line assay.Line, grain assay.Grain, at int64,
) (records []assay.Determination, err error) {
	if r.Panic {
		panic("a bug")
	}
	u := Update()
	for _, series := range u.Series {
		if series.Line != line || series.Grain != grain {
			continue
		}
		for _, revision := range series.Revisions {
			if revision.At == at {
				records = append(records, record(line, grain, revision, u.Publications[revision.Version-4]))
			}
		}
	}
	return records, r.RecordErr
}

// valueRecords are those of the fixture.
func (r *Rig) valueRecords(
	_ context.Context, index, series string, day int64,
) (records []assay.ValueRecord, err error) {
	for _, record := range ValueRecords() {
		if record.Index == index && record.Series == series && record.Day == day {
			records = append(records, record)
		}
	}
	return records, r.RecordErr
}

// Must stops the test at an error that the test is not about.
func (r *Rig) Must(err error) {
	r.Test.Helper()
	if err != nil {
		r.Test.Fatal(err)
	}
}

// Use makes a snapshot the current one.
func (r *Rig) Use(s *snapshot.Snapshot) {
	r.API.Warm(s)
	r.Snapshots.Store(s)
}

// UseCatalog puts the data under another catalog, as the follower would.
func (r *Rig) UseCatalog(catalog assay.Catalog) {
	current := r.Snapshots.Load()
	r.Use(current.WithCatalog(catalog, current.CatalogVersion+1))
}

// Reply is a response whose body has been read.
type Reply struct {
	*http.Response
	Text string
}

// WithoutID is the body without the request's id.
func (r Reply) WithoutID() string {
	return strings.ReplaceAll(r.Text, r.Header.Get("X-Request-Id"), "ID")
}

// Get sends a GET request as a caller: "" or "anonymous", one of the rig's keys, or a session such as "premium
// session".
func (r *Rig) Get(caller, target string, headers ...string) Reply {
	r.Test.Helper()
	return r.Do(http.MethodGet, caller, target, headers...)
}

// Do sends a request and checks the response against the description of the API. The header "peer" is the client's
// address.
func (r *Rig) Do(method, caller, target string, headers ...string) Reply {
	r.Test.Helper()
	request := httptest.NewRequest(method, "/", nil)
	r.Sent++
	request.RemoteAddr = fmt.Sprintf("192.0.%d.%d:1234", r.Sent/256, r.Sent%256)
	request.RequestURI = target
	parsed, err := url.ParseRequestURI(target)
	r.Must(err)
	request.URL = parsed
	switch {
	case strings.HasSuffix(caller, " session"):
		request.Header.Set("Cookie", r.Session(caller))
	case caller != "" && caller != "anonymous":
		request.Header.Set("Authorization", "Bearer "+r.Keys[caller])
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "peer" {
			request.RemoteAddr = headers[i+1]
			continue
		}
		request.Header.Add(headers[i], headers[i+1])
	}
	return r.Send(request)
}

// Write sends a JSON body as a session.
func (r *Rig) Write(method, caller, target, body string, headers ...string) Reply {
	r.Test.Helper()
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	request.RequestURI = target
	request.Header.Set("Content-Type", "application/json")
	if caller != "" {
		request.Header.Set("Cookie", r.Session(caller))
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "peer" {
			request.RemoteAddr = headers[i+1]
			continue
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	return r.Send(request)
}

// Send sends a request and checks the response against the description of the API.
func (r *Rig) Send(request *http.Request) Reply {
	r.Test.Helper()
	recorder := &recorder{ResponseRecorder: httptest.NewRecorder()}
	r.ServeHTTP(recorder, request)
	response := recorder.Result()
	if recorder.taken != nil {
		response = r.firstEvents(recorder.taken)
	}
	for name, values := range response.Header { // as the network would deliver them
		response.Header[http.CanonicalHeaderKey(name)] = values
	}
	body, err := io.ReadAll(response.Body)
	r.Must(err)
	r.validate(request, response, body)
	return Reply{response, string(body)}
}
