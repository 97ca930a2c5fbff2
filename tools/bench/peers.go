package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/report"
)

// The peers are what people would use instead of Assay to serve the same values: files, a time series database, a small
// service before a database, a small program. Each gets the published values of one GPU model through its own
// interface. Before anything is measured, every response must have the values that Assay's has.

// Where make bench-peers puts what it builds and installs.
const (
	victoriaProgram = "tools/peers/victoria/bin/victoria-metrics"
	stdlibProgram   = "tools/peers/stdlib/bin/stdlib"
	expressFolder   = "tools/peers/express"
	expressPackage  = expressFolder + "/node_modules/express/package.json"
)

// peerGPU is the GPU model whose values are compared.
const peerGPU = "H100 SXM"

// The names of the servers in the table.
const (
	nameAssay    = "Assay"
	nameNginx    = "nginx, files"
	nameQuery    = "VictoriaMetrics, query"
	nameExport   = "VictoriaMetrics, export"
	nameStdlib   = "Go, `encoding/json`"
	nameExpress  = "Express, PostgreSQL"
	nameVictoria = "VictoriaMetrics" // whichever of its ways is faster
)

// ask is one of the requests that all servers are compared by.
type ask struct {
	scenario scenario           // as Assay gets it; its body is Assay's response
	step     time.Duration      // between values; zero for the price, which is one value
	values   []value            // in the response
	goals    map[string]float64 // least ratio of Assay's rate to that of a peer, by name
}

// newAsks lists the requests. The price has no compressed form: Assay does not compress what fits into one packet.
func newAsks(k apiKeys, now time.Time) []ask {
	const (
		price  = "/api/gpu/H100%20SXM"
		hourly = price + "/index-history?granularity=hourly"
	)
	const hour, day = time.Hour, 24 * time.Hour
	days := price + "/index-history?startDate=" + now.UTC().AddDate(0, 0, -89).Format(time.DateOnly)
	return []ask{
		{
			scenario: scenario{name: "price", path: price},
			goals:    map[string]float64{nameVictoria: 2.5, nameExpress: 20},
		},
		{
			scenario: scenario{name: "90 days", path: days}, step: day,
			goals: map[string]float64{nameVictoria: 5, nameExpress: 40},
		},
		{scenario: scenario{name: "90 days, gzip", path: days, gzip: true}, step: day},
		{
			scenario: scenario{name: "hourly, all", path: hourly, key: k.Full}, step: hour,
			goals: map[string]float64{nameVictoria: 15},
		},
		{scenario: scenario{name: "hourly, all, gzip", path: hourly, key: k.Full, gzip: true}, step: hour},
	}
}

// value is a published value.
type value struct {
	at    time.Time // zero if the response does not say
	value float64
}

// contender is a server with its request for an ask.
type contender struct {
	name     string
	target   target
	scenario scenario
	read     func(body []byte) ([]value, error)
}

// peerServers are all servers under comparison.
type peerServers struct {
	assay    *assayServer
	nginx    *nginxServer
	victoria *victoria
	stdlib   target
	express  target
	stops    []func()
}

func (p *peerServers) stop() {
	for _, stop := range slices.Backward(p.stops) { // what was started last may need what was started before
		stop()
	}
}

// measurePeers compares Assay with what people would use instead.
func measurePeers(ctx context.Context, o options, tools tools, dir string) (measurement, error) {
	for _, built := range []string{victoriaProgram, stdlibProgram, expressPackage} {
		if _, err := os.Stat(built); err != nil {
			return nil, fmt.Errorf("find a peer: %w; run make bench-peers, which builds it", err)
		}
	}
	database, err := findPostgres(ctx, tools["psql"], o.short)
	if err != nil {
		return nil, err
	}
	wrk, err := newLoader(tools["wrk"], dir)
	if err != nil {
		return nil, err
	}
	r := peersReport{options: o, at: time.Now(), load: report.Load()}
	r.versions = append(r.versions, goVersion(o.assay), nginxVersion(tools["nginx"]), victoriaVersion(victoriaProgram),
		"PostgreSQL "+database.version, nodeVersion(tools["node"]), expressVersion(expressPackage), wrkVersion(tools["wrk"]))
	servers, asks := peerServers{}, []ask(nil)
	defer servers.stop()
	if asks, err = servers.start(ctx, o, tools, database, dir); err != nil {
		return nil, err
	}
	for i, a := range asks {
		res, err := servers.compare(ctx, wrk, o, i, a)
		if err != nil {
			return nil, err
		}
		r.results = append(r.results, res)
	}
	return r, nil
}

// start starts all servers, with the values that Assay serves.
func (p *peerServers) start(
	ctx context.Context, o options, tools tools, database *postgres, dir string,
) (asks []ask, err error) {
	if p.assay, err = startDemo(ctx, o.assay, dir); err != nil {
		return nil, err
	}
	p.stops = append(p.stops, p.assay.Stop)
	asks = newAsks(p.assay.keys, time.Now())
	scenarios := make([]scenario, len(asks))
	for i := range asks {
		scenarios[i] = asks[i].scenario
	}
	if err := p.assay.fetchBodies(ctx, scenarios); err != nil {
		return nil, err
	}
	for i := range asks {
		asks[i].scenario = scenarios[i]
		if asks[i].values, err = readEnvelope(scenarios[i].plain); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", asks[i].scenario.name, nameAssay, err)
		}
	}
	if p.nginx, err = startNginx(ctx, tools["nginx"], dir, scenarios); err != nil {
		return nil, err
	}
	p.stops = append(p.stops, p.nginx.Stop)
	values, err := p.fetchValues(ctx)
	if err != nil {
		return nil, err
	}
	if p.victoria, err = startVictoria(ctx, victoriaProgram, dir, values); err != nil {
		return nil, err
	}
	p.stops = append(p.stops, p.victoria.Stop)
	if p.stdlib, err = startStdlib(ctx, stdlibProgram, dir, values); err != nil {
		return nil, err
	}
	p.stops = append(p.stops, p.stdlib.process.Stop)
	return asks, p.startExpress(ctx, tools["node"], database, dir, values)
}

// lines are the values of the GPU model that every peer serves, oldest first.
type lines struct {
	daily, hourly []value
}

// fetchValues reads all published values from Assay.
func (p *peerServers) fetchValues(ctx context.Context) (l lines, err error) {
	for granularity, into := range map[string]*[]value{"daily": &l.daily, "hourly": &l.hourly} {
		s := scenario{path: "/api/gpu/H100%20SXM/index-history?granularity=" + granularity, key: p.assay.keys.Full}
		body, err := fetch(ctx, p.assay.base, s)
		if err != nil {
			return l, p.assay.Explain(err)
		}
		if *into, err = readEnvelope(body); err != nil {
			return l, fmt.Errorf("GET %s: %w", s.path, err)
		}
	}
	return l, nil
}

// startStdlib starts the program of the standard library. It reads its values from a file.
func startStdlib(ctx context.Context, program, dir string, l lines) (t target, err error) {
	text, err := json.Marshal(map[string]any{
		"gpu": peerGPU, "daily": envelopeRows(l.daily), "hourly": envelopeRows(l.hourly),
	})
	if err != nil {
		return t, err
	}
	file := filepath.Join(dir, "values.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return t, err
	}
	ports, err := process.SparePorts(1)
	if err != nil {
		return t, err
	}
	return startPeer(ctx, "http://"+process.Loopback(ports[0]), process.Command{
		Name: "stdlib", Dir: dir, DeathSignal: syscall.SIGKILL, Program: program,
		Args: []string{"-addr", process.Loopback(ports[0]), "-values", file},
	})
}

// startPeer starts a server and waits until it responds to Assay's request for the price.
func startPeer(ctx context.Context, base string, c process.Command) (target, error) {
	running, err := c.Start()
	if err != nil {
		return target{}, err
	}
	err = running.Await(ctx, time.Minute, func(ctx context.Context) error {
		_, err := fetch(ctx, base, scenario{path: "/api/gpu/H100%20SXM"})
		return err
	})
	if err != nil {
		running.Stop()
		return target{}, err
	}
	return target{process: running, base: base}, nil
}

// contenders are the servers that are compared by an ask, Assay first. Those with Assay's routes get Assay's request.
func (p *peerServers) contenders(i int, a ask) []contender {
	same := func(name string, t target) contender {
		return contender{name: name, target: t, scenario: a.scenario, read: readEnvelope}
	}
	list := []contender{
		same(nameAssay, target{process: p.assay.Process, base: p.assay.base}),
		same(nameNginx, target{process: p.nginx.Process, base: p.nginx.bases[i]}),
	}
	list = append(list, p.victoria.contenders(a)...)
	return append(list, same(nameStdlib, p.stdlib), same(nameExpress, p.express))
}

// compare checks the responses of all servers and loads them in turns.
func (p *peerServers) compare(ctx context.Context, wrk loader, o options, i int, a ask) (peersResult, error) {
	list := p.contenders(i, a)
	scenarios, targets := make([]scenario, len(list)), make([]target, len(list))
	for i := range list {
		if err := list[i].check(ctx, a); err != nil {
			return peersResult{}, list[i].target.process.Explain(fmt.Errorf("%s, %s: %w", a.scenario.name, list[i].name, err))
		}
		scenarios[i], targets[i] = list[i].scenario, list[i].target
		targets[i].label = list[i].name
	}
	samples, err := loadInTurns(ctx, wrk, o, scenarios, targets)
	if err != nil {
		return peersResult{}, err
	}
	res := peersResult{ask: a}
	for i, c := range list {
		res.servers = append(res.servers, peerSample{name: c.name, sample: medians(samples[i]), size: len(c.scenario.body)})
	}
	return res, nil
}

// check fetches the response, keeps its body, and compares its values with Assay's.
func (c *contender) check(ctx context.Context, a ask) (err error) {
	if c.scenario.body, err = fetch(ctx, c.target.base, c.scenario); err != nil {
		return err
	}
	text := c.scenario.body
	if c.scenario.gzip {
		if text, err = gunzip(text); err != nil {
			return fmt.Errorf("decompress the response: %w", err)
		}
	}
	got, err := c.read(text)
	if err != nil {
		return fmt.Errorf("parse %.200s: %w", text, err)
	}
	return sameValues(got, a.values)
}

// sameValues returns an error if a peer's values are not Assay's.
func sameValues(got, want []value) error {
	if len(got) != len(want) {
		return fmt.Errorf("the response has %d values, Assay's has %d", len(got), len(want))
	}
	if len(want) == 0 {
		return errors.New("there are no values to compare")
	}
	for i, w := range want {
		if g := got[i]; g.value != w.value || !g.at.IsZero() && !g.at.Equal(w.at) {
			return fmt.Errorf("value %d of the response is %v at %s, Assay's is %v at %s", i+1, g.value,
				g.at.Format(time.RFC3339), w.value, w.at.Format(time.RFC3339))
		}
	}
	return nil
}

// envelopeRow is a value in a response of Assay's form.
type envelopeRow struct {
	At      time.Time `json:"timestamp"`
	Updated time.Time `json:"last_updated,omitzero"` // in place of the timestamp, in the price
	Value   *float64  `json:"index_value"`
}

func envelopeRows(values []value) []envelopeRow {
	rows := make([]envelopeRow, len(values))
	for i := range values {
		rows[i] = envelopeRow{At: values[i].at, Value: &values[i].value}
	}
	return rows
}

// readEnvelope reads a response of Assay's form: one value or a list, under data.
func readEnvelope(body []byte) ([]value, error) {
	var envelope struct{ Data json.RawMessage }
	if err := json.Unmarshal(body, &envelope); err != nil {
		return nil, err
	}
	list := []envelopeRow{{}}
	into := any(&list[0])
	if bytes.HasPrefix(envelope.Data, []byte("[")) {
		into = &list
	}
	if err := json.Unmarshal(envelope.Data, into); err != nil {
		return nil, err
	}
	values := make([]value, len(list))
	for i, row := range list {
		if row.Value == nil {
			return nil, fmt.Errorf("row %d has no index_value", i+1)
		}
		values[i] = value{at: row.At, value: *row.Value}
		if values[i].at.IsZero() {
			values[i].at = row.Updated
		}
	}
	return values, nil
}

// nodeVersion is "Node v20.20.2".
func nodeVersion(program string) string {
	out, _ := exec.Command(program, "--version").Output()
	return "Node " + cmp.Or(string(bytes.TrimSpace(out)), "of unknown version")
}
