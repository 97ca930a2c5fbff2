//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// rulesFile has the alerts that operators use, and that must fire here.
const rulesFile = "deploy/prometheus/rules.yml"

// A real Prometheus asks every 15 or 30 seconds, and an alert fires after some minutes. Here it asks every second, and
// the rules are the same, but for their times.
var hurries = []struct {
	what *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(?m)^( +for: ).*$`), "${1}1s"},
	{regexp.MustCompile(`\[\d+[mh]\]`), "[15s]"},
}

func hurried(rules string) string {
	for _, h := range hurries {
		rules = h.what.ReplaceAllString(rules, h.to)
	}
	return rules
}

const prometheusConfig = `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
  - {job_name: assay, static_configs: [{targets: ["%s"]}]}
`

// startPrometheus starts Debian's Prometheus, which finds the node as soon as it serves.
func (n *node) startPrometheus(ctx context.Context) error {
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		return err
	}
	ports, err := process.SparePorts(2)
	if err != nil {
		return err
	}
	n.adminPort, n.prometheusPort = ports[0], ports[1]
	dir := n.path("prometheus")
	err = errors.Join(
		os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "rules.yml"), []byte(hurried(string(rules))), 0o600), //nolint:gosec // G703: our own
		os.WriteFile(filepath.Join(dir, "prometheus.yml"),
			fmt.Appendf(nil, prometheusConfig, process.Loopback(n.adminPort)), 0o600),
	)
	if err != nil {
		return err
	}
	n.prometheus, err = process.Command{
		Name: "prometheus", Dir: dir, DeathSignal: syscall.SIGKILL, Program: "prometheus",
		Args: []string{
			"--config.file", "prometheus.yml", "--storage.tsdb.path", "tsdb", "--log.level", "warn",
			"--web.listen-address", process.Loopback(n.prometheusPort),
		},
	}.Start()
	if err != nil {
		return fmt.Errorf("%w; scripts/need prometheus installs it", err)
	}
	return n.prometheus.Await(ctx, patience, func(ctx context.Context) error {
		_, err := n.firing(ctx)
		return err
	})
}

// ask asks Prometheus.
func (n *node) ask(ctx context.Context, path string, into any) error {
	url := "http://" + process.Loopback(n.prometheusPort) + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it has been read
	return json.NewDecoder(response.Body).Decode(into)
}

// checkRead is an error until Prometheus has read the node.
func (n *node) checkRead(ctx context.Context) error {
	var found struct {
		Data struct {
			Result []any `json:"result"`
		} `json:"data"`
	}
	err := n.ask(ctx, "/api/v1/query?query=assay_build_info", &found)
	if err == nil && len(found.Data.Result) == 0 {
		err = errors.New("the node has not been read yet")
	}
	return err
}

// firing are the alerts that fire, and since when.
func (n *node) firing(ctx context.Context) (map[string]time.Time, error) {
	var list struct {
		Data struct {
			Alerts []struct {
				Labels   map[string]string `json:"labels"`
				State    string            `json:"state"`
				ActiveAt time.Time         `json:"activeAt"`
			} `json:"alerts"`
		} `json:"data"`
	}
	if err := n.ask(ctx, "/api/v1/alerts", &list); err != nil {
		return nil, err
	}
	firing := map[string]time.Time{}
	for _, a := range list.Data.Alerts {
		if a.State == "firing" {
			firing[a.Labels["alertname"]] = a.ActiveAt
		}
	}
	return firing, nil
}

// awaitQuiet waits until Prometheus has read the node and an alert does not fire.
func (n *node) awaitQuiet(ctx context.Context, alerts ...string) error {
	return process.Await(ctx, "quiet", patience, func(ctx context.Context) error {
		if err := n.checkRead(ctx); err != nil {
			return err
		}
		firing, err := n.firing(ctx)
		for _, alert := range alerts {
			if since, fires := firing[alert]; err == nil && fires {
				err = fmt.Errorf("%s fires since %s", alert, since)
			}
		}
		return err
	})
}

// awaitAlert waits until an alert fires.
func (n *node) awaitAlert(ctx context.Context, alert string) error {
	err := process.Await(ctx, alert, patience, func(ctx context.Context) error {
		firing, err := n.firing(ctx)
		if _, fires := firing[alert]; err == nil && !fires {
			err = fmt.Errorf("it does not fire, but %v do", firing)
		}
		return err
	})
	if err == nil {
		n.alerts = append(n.alerts, alert)
	}
	return err
}
