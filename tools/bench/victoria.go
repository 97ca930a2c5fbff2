package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// victoria is VictoriaMetrics, a time series database, with its default settings; its caches are on. Only the retention
// is longer, because it would drop values that are older than a month.
type victoria struct {
	*process.Process
	base string
}

// startVictoria starts it and imports the values as two time series.
func startVictoria(ctx context.Context, program, dir string, l lines) (*victoria, error) {
	ports, err := process.SparePorts(1)
	if err != nil {
		return nil, err
	}
	addr := process.Loopback(ports[0])
	p, err := process.Command{
		Name: "victoria-metrics", Dir: dir, DeathSignal: syscall.SIGKILL, Program: program,
		Args: []string{
			"-storageDataPath=" + filepath.Join(dir, "victoria"), "-httpListenAddr=" + addr, "-retentionPeriod=100y",
		},
	}.Start()
	if err != nil {
		return nil, err
	}
	v := &victoria{Process: p, base: "http://" + addr}
	err = p.Await(ctx, time.Minute, func(ctx context.Context) error {
		_, err := fetch(ctx, v.base, scenario{path: "/health"})
		return err
	})
	if err == nil {
		err = v.load(ctx, l)
	}
	if err != nil {
		p.Stop()
		return nil, p.Explain(err)
	}
	return v, nil
}

// load imports the values and makes them visible.
func (v *victoria) load(ctx context.Context, l lines) error {
	for granularity, values := range map[string][]value{"daily": l.daily, "hourly": l.hourly} {
		if err := v.importLine(ctx, granularity, values); err != nil {
			return err
		}
	}
	return v.send(ctx, http.MethodGet, "/internal/force_flush", nil, http.StatusOK)
}

// victoriaLine is a time series in the format of its import and its export.
type victoriaLine struct {
	Metric     map[string]string `json:"metric"`
	Values     []float64         `json:"values"`
	Timestamps []int64           `json:"timestamps"` // in milliseconds
}

func (v *victoria) importLine(ctx context.Context, granularity string, values []value) error {
	line := victoriaLine{Metric: map[string]string{"__name__": "gpu_index", "gpu": peerGPU, "granularity": granularity}}
	for _, p := range values {
		line.Values = append(line.Values, p.value)
		line.Timestamps = append(line.Timestamps, p.at.UnixMilli())
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	return v.send(ctx, http.MethodPost, "/api/v1/import", text, http.StatusNoContent)
}

// loadClient waits longer than readers do: a partition for every month is created, and written through to the disk.
var loadClient = &http.Client{Timeout: 2 * time.Minute}

// send sends a request that must get the status.
func (v *victoria) send(ctx context.Context, method, path string, body []byte, status int) error {
	req, err := http.NewRequestWithContext(ctx, method, v.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := loadClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != status {
		reason, _ := io.ReadAll(io.LimitReader(res.Body, 200)) // it only explains the status
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, reason)
	}
	return nil
}

// contenders are its ways to respond to an ask. The price is an instant query that looks a day back. A history is a
// range query with a point an hour or a day, or the export of the raw values. The days of a range query begin at
// midnight: its value at a midnight is that of the day before, so it has as many values as days, at other times.
func (v *victoria) contenders(a ask) []contender {
	request := func(path string, parameters url.Values) scenario {
		s := a.scenario
		s.path, s.plain, s.body = path+"?"+parameters.Encode(), nil, nil
		return s
	}
	at, selector := target{process: v.Process, base: v.base}, gpuSelector("hourly")
	if a.step == 0 {
		s := request("/api/v1/query", url.Values{"query": {selector}, "step": {"1d"}})
		return []contender{{name: nameQuery, target: at, scenario: s, read: readVictoriaQuery}}
	}
	if a.step == 24*time.Hour {
		selector = gpuSelector("daily")
	}
	unix := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	stepAfter := func(t time.Time) time.Time { return t.Add(a.step - 1).Truncate(a.step) }
	first, last := a.values[0].at, a.values[len(a.values)-1].at
	ranged := request("/api/v1/query_range", url.Values{
		"query": {selector}, "start": {unix(stepAfter(first))}, "end": {unix(stepAfter(last))},
		"step": {strconv.Itoa(int(a.step.Seconds()))},
	})
	export := request("/api/v1/export", url.Values{"match[]": {selector}, "start": {unix(first)}, "end": {unix(last)}})
	return []contender{
		{name: nameQuery, target: at, scenario: ranged, read: readVictoriaQuery},
		{name: nameExport, target: at, scenario: export, read: readVictoriaExport},
	}
}

// gpuSelector selects a time series.
func gpuSelector(granularity string) string {
	return fmt.Sprintf(`gpu_index{gpu=%q,granularity=%q}`, peerGPU, granularity)
}

// readVictoriaQuery reads the response to a query. Its times are those that the query asked for, not those of values.
func readVictoriaQuery(body []byte) (values []value, err error) {
	type pair [2]json.RawMessage // the time and the value, which is a text
	var response struct {
		Data struct {
			Result []struct {
				Value  *pair
				Values []pair
			}
		}
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return nil, err
	}
	if n := len(response.Data.Result); n != 1 {
		return nil, fmt.Errorf("it has %d time series, want 1", n)
	}
	pairs := response.Data.Result[0].Values
	if one := response.Data.Result[0].Value; one != nil {
		pairs = append(pairs, *one)
	}
	for _, p := range pairs {
		var text string
		if err := json.Unmarshal(p[1], &text); err != nil {
			return nil, err
		}
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		values = append(values, value{value: number})
	}
	return values, nil
}

// readVictoriaExport reads exported values: a line for each block that they are stored in.
func readVictoriaExport(body []byte) (values []value, err error) {
	for lines := json.NewDecoder(bytes.NewReader(body)); lines.More(); {
		var line victoriaLine
		if err := lines.Decode(&line); err != nil {
			return nil, err
		}
		if len(line.Values) != len(line.Timestamps) {
			return nil, fmt.Errorf("%d values at %d times", len(line.Values), len(line.Timestamps))
		}
		for i, number := range line.Values {
			values = append(values, value{at: time.UnixMilli(line.Timestamps[i]), value: number})
		}
	}
	return values, nil
}

// victoriaVersion is "VictoriaMetrics v1.150.0", as the module that it was built from is called.
func victoriaVersion(program string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "VictoriaMetrics of unknown version"
	}
	return "VictoriaMetrics " + info.Main.Version
}
