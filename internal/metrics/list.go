package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metric is one row of the list of metrics.
type metric struct {
	name, help string
	labels     []string
	kind       prometheus.ValueType
	histogram  bool
	desc       *prometheus.Desc
}

// list has all metrics but those about Go and the process, in the order of the documentation.
var list []*metric

func add(m metric) *metric {
	m.desc = prometheus.NewDesc(m.name, m.help, m.labels, nil)
	list = append(list, &m)
	return &m
}

func gauge(name, help string, labels ...string) *metric {
	return add(metric{name: name, help: help, labels: labels, kind: prometheus.GaugeValue})
}

func counter(name, help string, labels ...string) *metric {
	return add(metric{name: name, help: help, labels: labels, kind: prometheus.CounterValue})
}

func histogram(name, help string, labels ...string) *metric {
	return add(metric{name: name, help: help, labels: labels, histogram: true})
}

// Requests.
var (
	requests = counter("http_requests_total",
		"Requests that have ended, by the route's method and pattern, class of status, and tier of the caller.",
		"method", "route", "status", "tier")
	requestSeconds = histogram("http_request_duration_seconds",
		"Time from the arrival of a request to the end of its response.", "method", "route")
	responses = counter("http_responses_total", "Responses by status code, of all routes.", "code")
	inFlight  = gauge("http_requests_in_flight", "Requests that are being served.")

	connections        = gauge("connections_open", "Open connections, streams included.")
	connectionsRefused = counter("connections_refused_total",
		"Connections refused over --max-connections or --max-connections-per-address.")
	streams = gauge("streams_open", "Open streams of /api/stream.")

	certificateExpiry = gauge("tls_certificate_expiry_timestamp_seconds",
		"When the certificate expires, or the first of several. Only with --tls-cert or --acme-domain.")
	handshakesFailed = counter("tls_handshakes_failed_total",
		"Connections that ended in the TLS handshake. Only with --tls-cert or --acme-domain.")
)

// Rate limits.
var (
	limitDecisions = counter("limit_decisions_total",
		"Decisions of the rate limits: public is by address, session by the account of a session, key by key, "+
			"account by account.", "limit", "decision")
	limitShared = gauge("limit_shared", "1 while Redis counts for all nodes, 0 while this node counts alone. "+
		"Only with --limits.")
	limitFallbacks = counter("limit_fallbacks_total", "How often this node has changed from Redis to its own limiters.")
	limitCalls     = counter("limit_shared_decisions_total",
		"Decisions with --limits, by who made them: redis, or the node in its place.", "by")
	limitLate = counter("limit_late_total", "Decisions for which Redis did not respond in time.")
)

// The node.
var (
	buildInfo = gauge("build_info", "Always 1. The labels say which program this is.", "version", "commit", "go")
	role      = gauge("role_info", "Always 1. The label says what the node does.", "role")
	ready     = gauge("ready", "1 if the node has data and is not shutting down, as /readyz says.")
	draining  = gauge("draining", "1 while the node is shutting down.")
	dataAge   = gauge("data_age_seconds", "Time since the data of this node was last known to be current.")

	linesDropped = counter("log_lines_dropped_total", "Lines that were not logged, because the log was too slow.")
	keyCount     = gauge("keys", "API keys, revoked and expired ones included.")
	sessionCount = gauge("sessions", "Sessions of people who are signed in.")
	deliveries   = counter("alert_attempts_total",
		"Attempts of this node to deliver messages of alerts.", "kind", "outcome")
	diskFree = gauge("disk_free_bytes", "Space that the program may use on the disk of the database's folder. "+
		"Only with a database on this machine.")
	diskSize = gauge("disk_size_bytes", "Size of that disk.")
)

// The data in memory.
var (
	snapshotVersion = gauge("snapshot_version", "Number of the newest publication that is served.")
	snapshotAge     = gauge("snapshot_age_seconds", "Time since that publication.")
	snapshotSeries  = gauge("snapshot_series", "Series in memory that have values.")
	snapshotPoints  = gauge("snapshot_points", "Values in them.")
	familyAge       = gauge("family_age_seconds", "Time since the newest value of a family of data.", "family")
	followerLag     = gauge("follower_lag_seconds",
		"Time since the data in memory was last compared with the database.")
)

// Publishing.
var (
	publishingState = gauge("publishing_state", "1 for the state that /health shows, 0 for the others.", "state")
	publicationLag  = gauge("publication_lag_seconds",
		"Time since the oldest value that is due and not published was due; 0 if none is.", "family", "grain")
	fixingsMissed = gauge("fixings_missed",
		"Fixings that were due more than a minute ago and are not published.", "family", "grain")
	published = counter("published_total", "What the publisher of this process has made: daily and hourly values, "+
		"prints of minutes, records of final values, manifests and checkpoints.", "what")
	witnesses = gauge("witnesses", "Witnesses that this node asks for signatures.")
)

// The database.
var (
	databaseUp         = gauge("database_up", "1 if the figures of the database were read, 0 if it did not respond.")
	transactionSeconds = histogram("database_transaction_duration_seconds",
		"Time that transactions took, waiting for locks included.", "database", "kind")
	transactionErrors = counter("database_errors_total", "Transactions that failed.", "database", "reason")
	replicaLag        = gauge("replica_lag_seconds",
		"Time since the replica had everything that the primary has. Only with --store-read.")

	importFiles = counter("import_files_total", "Files imported by any process. A feed counts when it ends.", "family")
	importRows  = counter("import_rows_total", "Rows of those files.", "family", "outcome")
	feedAge     = gauge("feed_age_seconds", "Time since rows of a family were last received.", "family")
	lateRows    = gauge("late_transactions", "Late changes of transactions that no restatement includes.")
	conflicts   = gauge("conflicting_rows", "Rows that were set aside: their id was known with other content.")

	logEntries       = gauge("log_entries", "Entries of the transparency log.")
	logSigned        = gauge("log_signed_entries", "Entries that the newest checkpoint signs.")
	checkpointAge    = gauge("checkpoint_age_seconds", "Time since the newest checkpoint was signed.")
	cosignatures     = gauge("checkpoint_cosignatures", "Witnesses that have signed the newest checkpoint.")
	manifestsMissing = gauge("manifests_missing", "Days that are over and whose manifest is not signed.")
	messagesPending  = gauge("alert_messages_pending", "Messages of alerts that are not delivered.")
	messageAge       = gauge("alert_message_age_seconds", "Time for which the oldest of them has waited.")
)

// publishingStates are the values of the label state.
var publishingStates = []string{"current", "late", "failing", "held"}

// statusClass is the class of a status, such as 2xx.
func statusClass(status int) string {
	if status < 100 || status > 599 {
		return "other"
	}
	return strconv.Itoa(status/100) + "xx"
}

func statusText(status int) string {
	if status == 0 {
		return "other"
	}
	return strconv.Itoa(status)
}

// Description is what the documentation says of a metric.
type Description struct{ Name, Type, Labels, Help string }

// Descriptions lists the metrics, except those about Go and the process.
func Descriptions() (all []Description) {
	for _, m := range list {
		d := Description{Name: prefix + m.name, Type: "gauge", Help: m.help}
		switch {
		case m.histogram:
			d.Type = "histogram"
		case m.kind == prometheus.CounterValue:
			d.Type = "counter"
		}
		for i, label := range m.labels {
			if i > 0 {
				d.Labels += ", "
			}
			d.Labels += label
		}
		all = append(all, d)
	}
	return all
}
