// Package api serves the market data: one table of routes, one file per data family, each route a plain function of a
// request and a snapshot. It also serves /health, the catalogs and the description of the API.
//
// Everything is read from one snapshot in memory, which a request loads once. This package cannot reach the database,
// directly or through another package, and arch_test.go keeps it that way: a read never waits for the database.
package api

import (
	"log/slog"
	"slices"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/cache"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/push"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/table"
	"github.com/assaydata/assay/internal/tokens"
	"github.com/assaydata/assay/internal/web"
)

// Config is what the API needs.
type Config struct {
	Snapshots *snapshot.Holder
	Status    *web.NodeStatus
	Limits    *sharedlimit.Redis // for /health; nil when this node counts alone
	Program   Program            // for /health
	Now       func() time.Time
	Log       *slog.Logger
	Hub       *push.Hub // of the streams

	// Session returns the caller whose session a cookie names. It must not wait for the database.
	Session func(token string) (assay.Caller, bool)
	// WatchSession returns what finds out whose session it is later on. It must not wait for the database either.
	WatchSession func(token string) func(now int64) (assay.Caller, bool)
}

// Program says which program serves.
type Program struct {
	Release string `json:"version"`
	Commit  string `json:"commit"` // empty if it is not known
	Schema  int    `json:"schema"` // of the databases it uses
}

// API serves the market-data routes.
type API struct {
	Config
	catalogs     *cache.Cache[int64, catalogBodies] // by version of the catalog
	descriptions *cache.Cache[int64, description]   // likewise
	schedules    *cache.Cache[scheduleKey, index.Schedule]
	past         *pastModels
	costs        tokens.Memory
	feed         *feed
	bulk         *bulkFiles
	routes       map[string]*web.Route // by path, for shared series
}

// New makes the API.
func New(config Config) *API {
	a := &API{
		Config:       config,
		catalogs:     cache.New[int64](cache.Limits[catalogBodies]{Entries: currentAndNext}),
		descriptions: cache.New[int64](cache.Limits[description]{Entries: currentAndNext}),
		schedules:    cache.New[scheduleKey](cache.Limits[index.Schedule]{Entries: currentAndNext}),
		past:         newPastModels(),
	}
	a.feed = &feed{api: a}
	a.bulk = newBulkFiles(a)
	list := a.Routes().Routes
	a.routes = make(map[string]*web.Route, len(list))
	for i := range list {
		a.routes[list[i].Path] = &list[i]
	}
	return a
}

// currentAndNext is how many versions of something are needed at once: while a snapshot is prepared, requests read the
// one before.
const currentAndNext = 2

// route is one row of the API. All of them read, so the method is always GET.
type route struct {
	path  string
	limit web.LimitClass
	rule  access.Rule
	serve func(query) (web.Response, error)
	table *table.Schema // of the rows; nil if there are none
}

// serviceRoutes are about the service rather than about a family of data.
var serviceRoutes = []route{
	{healthPath, web.Unlimited, access.Public, health, nil},
	{livePath, web.Unlimited, access.Public, live, nil},
	{readyPath, web.Unlimited, access.Public, ready, nil},
	{"/openapi.json", web.Unlimited, access.Public, openAPIJSON, nil},
	{"/openapi.yaml", web.Unlimited, access.Public, openAPIYAML, nil},
	{"/api/methodology", web.PerAddress, access.Public, methodology, methodologyColumns},
	{"/api/stream", web.PerCaller, access.FreeGPU, stream, nil},
	{"/api/notices", web.PerAddress, access.Public, notices, noticeColumns},
	{"/api/publications/latest", web.PerAddress, access.Public, latestPublication, nil},
	{"/api/bulk", web.PerKey, access.Keyed, listBulk, bulkFileColumns},
	{"/api/bulk/{dataset}/{file}", web.PerKey, access.Keyed, bulkFile, nil},
	{"/api/corrections", web.PerKey, access.Keyed, corrections, correctionColumns},
	{"/api/corrections/{family}", web.PerKey, access.Keyed, familyCorrections, familyCorrectionColumns},
}

// Routes are all routes of the API.
func (a *API) Routes() web.Group {
	group := web.Group{
		Session:      func(_ *web.Request, token string) (assay.Caller, bool) { return a.Session(token) },
		WatchSession: a.WatchSession,
	}
	add := func(r route) {
		group.Routes = append(group.Routes, web.Route{
			Method: "GET", Path: r.path, Limit: r.limit, Rule: r.rule, Table: r.table,
			Serve: a.handler(r.serve), WithoutData: slices.Contains(statePaths, r.path),
			Deprecated: deprecations[r.path],
		})
	}
	for _, r := range serviceRoutes {
		add(r)
	}
	for _, f := range families {
		for _, c := range f.catalogs {
			add(route{c.path, web.PerAddress, access.Public, serveCatalog(c.path), c.columns})
		}
		for _, r := range f.routes {
			add(r)
		}
	}
	return group
}

// handler serves a route from the snapshot that is current when the request arrives.
func (a *API) handler(serve func(query) (web.Response, error)) func(*web.Request) (web.Response, error) {
	return func(r *web.Request) (web.Response, error) {
		q := a.query(r)
		response, err := serve(q)
		if r.WantsTable() && err == nil {
			q.addFacts()
		}
		return q.expires(response), err
	}
}

// Data describes the current snapshot to the transport.
func (a *API) Data() web.DataState {
	snap := a.Snapshots.Load()
	return web.DataState{Loaded: snap != nil, Synthetic: snap != nil && snap.Synthetic}
}

// Warm prepares the responses that are requested most, before a snapshot is swapped in.
func (a *API) Warm(snap *snapshot.Snapshot) {
	a.catalogBodies(snap)
	if d := a.description(snap); d.err != nil {
		a.Log.Error("describe the API", "error", d.err)
	}
	for _, f := range families {
		f.warm(a, snap)
	}
}

// DropIdle drops the responses that requests have made, and prepares those that are requested most again.
func (a *API) DropIdle() {
	snap := a.Snapshots.Load()
	if snap == nil {
		return
	}
	for _, f := range families {
		if f.forget != nil {
			f.forget(a, snap)
		}
	}
	a.past.models.Clear()
	a.bulk.rows.Clear()
	a.Warm(snap)
}

// scheduleKey identifies a list of methodology versions, which only grows.
type scheduleKey struct {
	versions int
	newest   string
}

func keyOfSchedule(snap *snapshot.Snapshot) scheduleKey {
	n := len(snap.Methodologies)
	if n == 0 {
		return scheduleKey{}
	}
	return scheduleKey{n, snap.Methodologies[n-1].Version}
}

// schedule returns the methodology's versions of a snapshot.
func (a *API) schedule(snap *snapshot.Snapshot) index.Schedule {
	return a.schedules.Get(keyOfSchedule(snap), func() index.Schedule {
		schedule, err := index.ReadableSchedule(snap.Methodologies)
		if err != nil {
			a.Log.Error("read the methodology", "error", err)
		}
		return schedule
	})
}
