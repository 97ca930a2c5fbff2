package api

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/table"
	"github.com/assaydata/assay/internal/web"
)

// query is a request for market data, and the snapshot that it is served from.
type query struct {
	*web.Request
	api    *API
	snap   *snapshot.Snapshot // nil before there is one, when only /health is served
	moment int64              // the data as known at this instant is requested: now, or as_of
	asOf   bool               // whether as_of was given
}

func (a *API) query(r *web.Request) query {
	return query{Request: r, api: a, snap: a.Snapshots.At(r.Milli())}
}

// expires lets caches keep a response until the next publication is due.
func (q *query) expires(r web.Response) web.Response {
	if q.snap == nil {
		return r
	}
	return r.Expires(q.snap.Covered + assay.Hour)
}

func (q *query) schedule() index.Schedule { return q.api.schedule(q.snap) }

func (q *query) decide(ask access.Ask) (access.Decision, error) {
	return access.Decide(q.Rule(), q.Caller(), ask, q.Milli())
}

// gpuName is the variable in paths that names a GPU.
const gpuName = "gpuName"

// pathGPU is the name of the GPU in the path.
func (q *query) pathGPU() string { return q.PathValue(gpuName) }

// gpu finds a GPU by its exact name, the value of a parameter.
func (q *query) gpu(param, name string) (assay.GPU, error) {
	if gpu, ok := q.snap.GPU(name); ok {
		return gpu, nil
	}
	allowed := q.snap.Catalog.GPUNames()
	return assay.GPU{}, &assay.Error{
		Kind: assay.Invalid, Code: "unknown_gpu", Message: "Invalid GPU type. Allowed: " + strings.Join(allowed, ", "),
		Param: param, Allowed: allowed,
	}
}

// region returns the requested region.
func (q *query) region() (string, error) {
	region, err := q.Param("region")
	if region == "" {
		region = assay.Global
	}
	return region, err
}

// unchanging is how long before the newest publication a past must be to be complete on every node: what was received
// then may have been stored minutes later, by an import that takes long.
const unchanging = assay.Day

// readAsOf reads as_of into the query and into what is requested. An instant in the future is now.
func (q *query) readAsOf(ask *access.Ask) error {
	q.moment = q.Milli()
	at, err := q.Instant("as_of")
	if err != nil || !at.Given || at.At >= q.moment {
		return err
	}
	q.moment, q.asOf = at.At, true
	ask.AsOf, ask.HasAsOf = at.At, true
	if newest, _ := q.snap.Publication(); at.At < min(newest.PublishedAt, q.Milli())-unchanging {
		q.AboutPast()
	}
	if q.WantsTable() {
		published, _ := q.snap.PublicationAt(q.moment)
		q.AddFacts(append(publicationFacts(published), table.Fact{Name: "as_of", Value: assay.FormatInstant(q.moment)})...)
	}
	return nil
}

// addFacts adds to a table what it was made of, unless as_of says so: the newest publication, and the checkpoint of the
// log that was known. Tables of the past have no checkpoint, so that they never change.
func (q *query) addFacts() {
	if q.HasFacts() {
		return
	}
	if published, ok := q.snap.Publication(); ok {
		q.AddFacts(publicationFacts(published)...)
	}
	if q.snap.Checkpoint != "" {
		q.AddFacts(table.Fact{Name: "checkpoint", Value: q.snap.Checkpoint})
	}
}

func publicationFacts(p assay.Publication) []table.Fact {
	return []table.Fact{
		{Name: "methodology", Value: p.Methodology},
		{Name: "publication", Value: strconv.FormatInt(p.Version, 10)},
		{Name: "published_at", Value: assay.FormatInstant(p.PublishedAt)},
	}
}

// known is the instant up to which observations must have been received to count: all of them, unless as_of was given.
func (q *query) known() int64 {
	if q.asOf {
		return q.moment
	}
	return math.MaxInt64
}

// bodies returns a model's cache. Responses about the past are many, and are not cached.
func (q *query) bodies(cached *web.BodyCache) *web.BodyCache {
	if q.asOf {
		return nil
	}
	return cached
}

// granted reads as_of and decides what the caller gets. All other parameters must have been read before, because a bad
// parameter is reported before missing access.
func (q *query) granted(ask access.Ask) (access.Decision, error) {
	if err := q.readAsOf(&ask); err != nil {
		return access.Decision{}, err
	}
	return q.decide(ask)
}

// lineOf returns the line of a GPU in a region as it was known at the requested moment; nil when there is no such
// region.
func (q *query) lineOf(gpu, region string) *snapshot.Line {
	if !q.asOf {
		return q.snap.Line(gpu, region)
	}
	return q.snap.LineAsOf(gpu, region, q.snap.VersionAt(q.moment))
}

// pathLine is grantedLine for a route whose path names a GPU and that takes nothing but a region.
func (q *query) pathLine() (grant access.Decision, line *snapshot.Line, err error) {
	gpu, err := q.gpu(gpuName, q.pathGPU())
	if err != nil {
		return grant, nil, err
	}
	return q.grantedLine(gpu, access.Ask{})
}

// grantedLine reads region and as_of, decides what the caller gets and finds the line. All other parameters must have
// been read before.
func (q *query) grantedLine(gpu assay.GPU, ask access.Ask) (grant access.Decision, line *snapshot.Line, err error) {
	region, err := q.region()
	if err != nil {
		return grant, nil, err
	}
	if !gpu.Free {
		ask.Paid = gpu.Name
	}
	if grant, err = q.granted(ask); err != nil {
		return grant, nil, err
	}
	if line = q.lineOf(gpu.Name, region); line == nil {
		return grant, nil, noPrice("unknown_region", gpu.Name, region)
	}
	return grant, line, nil
}

// grantedRegion is grantedLine for a route that serves every GPU.
func (q *query) grantedRegion(ask access.Ask) (grant access.Decision, region string, err error) {
	if region, err = q.region(); err != nil {
		return grant, "", err
	}
	if grant, err = q.granted(ask); err != nil {
		return grant, "", err
	}
	if !q.snap.Catalog.HasRegion(region) {
		return grant, "", noPrice("unknown_region", "any GPU", region)
	}
	return grant, region, nil
}

func noPrice(code, gpu, region string) error {
	return &assay.Error{
		Kind: assay.NotFound, Code: code,
		Message: fmt.Sprintf("No data found for %s in the region %s", gpu, web.Shown(region)),
	}
}

func noDaily(gpu, more string) error { return noData("No daily index data found for " + gpu + more) }

// noData says that there is nothing to serve.
func noData(message string) error {
	return &assay.Error{Kind: assay.NoData, Code: "no_data", Message: message}
}

// dayAsk is a day, or the latest one.
type dayAsk struct {
	access.Ask
	day   int64 // midnight UTC
	given bool
}

func (q *query) dayAsk() (ask dayAsk, err error) {
	at, err := q.Instant("date")
	if err != nil || !at.Given {
		return ask, err
	}
	ask.day, ask.given = assay.StartOfDay(at.At), true
	ask.Start, ask.HasStart = ask.day, true
	return ask, nil
}
