// Package metrics shows what a node does to those who watch it: as metrics in the formats of Prometheus and
// OpenMetrics, and, on this machine, as profiles of Go.
//
// Nothing is counted twice. The parts of a server know what they do, because they need it, or because they count it for
// themselves without locks; this package reads that when someone asks, and keeps no state of its own. So a request pays
// for nothing but a few additions, and a node that no one watches pays for nothing else.
//
// Every metric is in one list (list.go), from which the documentation is written. Labels have few values by design:
// routes are those of the route table, never paths; callers are tiers, never keys; whatever a client can make up is no
// label. Metrics have a registry of their own, so that no library can add to them.
//
// What is in the database, such as the rows of imports that other processes have made, is read in one transaction, at
// most every few seconds. While the database does not respond, these metrics are left out, and assay_database_up is 0.
package metrics

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/disk"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/linelog"
	"github.com/assaydata/assay/internal/notify"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/push"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/web"
)

// Node is what a node consists of, as far as metrics come from it.
type Node struct {
	Release, Commit, Go string

	Now       func() time.Time
	Log       *slog.Logger
	Lines     *linelog.Writer
	Server    *web.Server
	Status    *web.NodeStatus
	Hub       *push.Hub
	API       *api.API
	Snapshots *snapshot.Holder
	Behind    func() time.Duration // how old the snapshot may be
	Limits    *sharedlimit.Redis   // nil if this node counts alone
	Publisher *publish.Publisher   // nil on a node that only reads
	Alerts    *notify.Service
	Keys      *keys.Keyring
	Accounts  *account.Service
	Witnesses int    // that are asked to sign
	Folder    string // of the database; empty if it is not on this machine

	// CertificateExpiry is when the first certificate expires, the zero time if there is none yet; nil on a node that does
	// not end TLS itself.
	CertificateExpiry func() time.Time
	// Databases returns the database and what market data is read from, which may be the same; nil until they are open.
	Databases func() (db, data *store.DB)
}

// prefix begins the name of every metric, also of those about Go and the process.
const prefix = "assay_"

// NewRegistry makes a registry with all metrics of a node.
func NewRegistry(n *Node) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	own := prometheus.WrapRegistererWithPrefix(prefix, registry)
	own.MustRegister(
		&collector{Node: n, figures: figures{node: n}},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return registry
}

// collector reads everything from the node.
type collector struct {
	*Node

	figures figures
}

// Describe sends the descriptions of all metrics.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range list {
		to <- m.desc
	}
}

// Collect sends the metrics as they are now.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	e := emitter(to)
	e.send(buildInfo, 1, c.Release, c.Commit, c.Go)
	c.requests(e)
	c.limits(e)
	c.state(e)
	c.snapshot(e)
	c.publishing(e)
	c.process(e)
	c.database(e)
}

// emitter takes metrics.
type emitter chan<- prometheus.Metric

func (e emitter) send(m *metric, value float64, labels ...string) {
	e <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
}

// requests are about the HTTP server.
func (c *collector) requests(e emitter) {
	e.send(inFlight, float64(c.Server.InFlight()))
	all := c.Server.Connections()
	e.send(connections, float64(all.Open))
	e.send(connectionsRefused, float64(all.Refused))
	e.send(streams, float64(c.Hub.Len()))
	if c.CertificateExpiry != nil {
		e.send(handshakesFailed, float64(all.Failed))
		if at := c.CertificateExpiry(); !at.IsZero() {
			e.send(certificateExpiry, float64(at.Unix()))
		}
	}
	codes := map[int]uint64{}
	for _, code := range web.Statuses {
		codes[code] = 0 // a counter that appears with its first error shows no increase
	}
	for _, t := range c.Server.Traffic() {
		classes := map[[2]string]uint64{}
		for _, o := range t.Outcomes {
			codes[o.Status] += o.Requests
			classes[[2]string{statusClass(o.Status), o.Tier.String()}] += o.Requests
		}
		for key, n := range classes {
			e.send(requests, float64(n), t.Method, t.Route, key[0], key[1])
		}
		e <- prometheus.MustNewConstHistogram(requestSeconds.desc, t.Took.Count, t.Took.Sum.Seconds(), t.Took.Buckets,
			t.Method, t.Route)
	}
	for code, n := range codes {
		e.send(responses, float64(n), statusText(code))
	}
}

// limits are about the rate limits.
func (c *collector) limits(e emitter) {
	for _, d := range c.Server.Decisions() {
		e.send(limitDecisions, float64(d.Allowed), d.Limit, "allowed")
		e.send(limitDecisions, float64(d.Refused), d.Limit, "refused")
	}
	if c.Limits == nil {
		return
	}
	counts := c.Limits.Counts()
	e.send(limitShared, boolean(c.Limits.Mode() == sharedlimit.Shared))
	e.send(limitFallbacks, float64(counts.Fallbacks))
	e.send(limitCalls, float64(counts.Shared), "redis")
	e.send(limitCalls, float64(counts.Alone), "node")
	e.send(limitLate, float64(counts.Late))
}

// state is about the node as a whole.
func (c *collector) state(e emitter) {
	e.send(role, 1, string(c.Status.Role))
	e.send(ready, boolean(!c.Status.Draining() && (!c.Status.Role.Reads() || c.Snapshots.Load() != nil)))
	e.send(draining, boolean(c.Status.Draining()))
	e.send(dataAge, c.Status.DataAge().Seconds())
	e.send(linesDropped, float64(c.Lines.Dropped()))
	if c.Status.Role.Reads() {
		e.send(keyCount, float64(c.Keys.Len()))
		e.send(sessionCount, float64(c.Accounts.SessionCount()))
		a := c.Alerts.Attempts()
		e.send(deliveries, float64(a.WebhooksDelivered), "webhook", "delivered")
		e.send(deliveries, float64(a.WebhooksFailed), "webhook", "failed")
		e.send(deliveries, float64(a.MailsDelivered), "email", "delivered")
		e.send(deliveries, float64(a.MailsFailed), "email", "failed")
	}
	if space, ok := disk.SpaceOf(c.Folder); ok {
		e.send(diskFree, float64(space.Free))
		e.send(diskSize, float64(space.Size))
	}
}

// snapshot is about the data in memory.
func (c *collector) snapshot(e emitter) {
	snap := c.Snapshots.Load()
	if snap == nil {
		return
	}
	e.send(snapshotVersion, float64(snap.Version))
	e.send(followerLag, c.Behind().Seconds())
	if newest, ok := snap.Publication(); ok {
		e.send(snapshotAge, seconds(c.now()-newest.PublishedAt))
	}
	series, points := snap.Size()
	e.send(snapshotSeries, float64(series))
	e.send(snapshotPoints, float64(points))
	for _, a := range c.API.Ages(c.now()) {
		e.send(familyAge, a.Age.Seconds(), a.Family)
	}
}

// publishing is about what this node publishes, and what is missing.
func (c *collector) publishing(e emitter) {
	if said := c.Status.Publishing(); said.State != "" || c.Publisher != nil {
		for _, state := range publishingStates {
			e.send(publishingState, boolean(said.State == state), state)
		}
	}
	if c.Publisher == nil {
		return
	}
	made := c.Publisher.Made()
	e.send(published, float64(made.Values), "value")
	e.send(published, float64(made.Prints), "minute")
	e.send(published, float64(made.Records), "record")
	e.send(published, float64(made.Manifests), "manifest")
	e.send(published, float64(made.Checkpoints), "checkpoint")
	e.send(witnesses, float64(c.Witnesses))
}

// process is about the database as this process sees it.
func (c *collector) process(e emitter) {
	db, data := c.Databases()
	if db == nil {
		return
	}
	activity := db.Activity()
	if data != nil && data != db {
		e.send(replicaLag, data.Lag().Seconds())
		c.transactions(e, "replica", data.Activity())
	}
	c.transactions(e, "primary", activity)
}

func (c *collector) transactions(e emitter, name string, a store.Activity) {
	e <- prometheus.MustNewConstHistogram(transactionSeconds.desc, a.Reads.Count, a.Reads.Sum.Seconds(), a.Reads.Buckets,
		name, "read")
	if name == "primary" {
		e <- prometheus.MustNewConstHistogram(transactionSeconds.desc, a.Writes.Count, a.Writes.Sum.Seconds(),
			a.Writes.Buckets, name, "write")
	}
	for _, f := range store.Failures {
		e.send(transactionErrors, float64(a.Failed[f]), name, string(f))
	}
}

// database is about what is in the database.
func (c *collector) database(e emitter) {
	f, ok := c.figures.read(context.Background())
	e.send(databaseUp, boolean(ok))
	for _, fixing := range c.fixings(f, ok) {
		e.send(publicationLag, seconds(fixing.lag), "gpu", fixing.grain)
		e.send(fixingsMissed, float64(fixing.missed), "gpu", fixing.grain)
	}
	if !ok {
		return
	}
	for _, i := range importsOf(f) {
		e.send(importFiles, float64(i.Files), i.Family)
		e.send(importRows, float64(i.New), i.Family, "new")
		e.send(importRows, float64(i.Known), i.Family, "known")
		e.send(importRows, float64(i.Rejected), i.Family, "rejected")
	}
	for _, feed := range feedsOf(f) {
		e.send(feedAge, seconds(c.now()-feed.at), feed.family)
	}
	e.send(lateRows, float64(f.Late))
	e.send(conflicts, float64(f.Conflicts))
	e.send(logEntries, float64(f.LogEntries))
	e.send(logSigned, float64(f.Counters.Checkpoint))
	if f.CheckpointAt != 0 {
		e.send(checkpointAge, seconds(c.now()-f.CheckpointAt))
		e.send(cosignatures, float64(f.Cosignatures))
	}
	e.send(manifestsMissing, float64(f.UnsignedDays))
	e.send(messagesPending, float64(f.Pending))
	if f.PendingSince != 0 {
		e.send(messageAge, seconds(c.now()-f.PendingSince))
	}
}

func (n *Node) now() int64 { return n.Now().UnixMilli() }

// seconds are those of milliseconds; none if the clock was set back.
func seconds(ms int64) float64 { return float64(max(ms, 0)) / 1000 }

func boolean(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
