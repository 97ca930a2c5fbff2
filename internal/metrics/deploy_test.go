package metrics_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/assaydata/assay/internal/metrics"
)

const (
	rulesFile     = "../../deploy/prometheus/rules.yml"
	rulesTestFile = "../../deploy/prometheus/rules_test.yml"
	dashboardFile = "../../deploy/grafana/assay.json"
	document      = "../../docs/operate.md"
	runbook       = "../../docs/runbook.md"
)

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// rule is an alert of rules.yml.
type rule struct {
	Alert, Expr string
	Labels      map[string]string
	Annotations map[string]string
}

func readRules(t *testing.T) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(readFile(t, rulesFile), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) < 20 {
		t.Fatalf("%s has %d groups", rulesFile, len(file.Groups))
	}
	return file.Groups[0].Rules
}

// dashboardQueries are those of the dashboard, with what Grafana fills in.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	var file struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(readFile(t, dashboardFile), &file); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$__rate_interval", "1m", "$job", "assay", "$instance", ".*")
	for _, p := range file.Panels {
		for _, target := range p.Targets {
			if queries = append(queries, fill.Replace(target.Expr)); target.Expr == "" {
				t.Errorf("the panel %s has an empty query", p.Title)
			}
		}
	}
	return queries
}

var metricName = regexp.MustCompile(`\bassay_[a-z0-9_]+`)

// Every metric that a rule, a test of a rule, or the dashboard names is one that a node has.
func TestDeploy_NamesExist(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	known := map[string]bool{}
	families, err := r.registry.Gather() // also those of Go and the process
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		known[f.GetName()] = true
	}
	for _, d := range metrics.Descriptions() {
		known[d.Name] = true
		if d.Type == "histogram" {
			known[d.Name+"_bucket"], known[d.Name+"_sum"], known[d.Name+"_count"] = true, true, true
		}
	}
	texts := append(dashboardQueries(t), string(readFile(t, rulesTestFile)))
	for _, rule := range readRules(t) {
		texts = append(texts, rule.Expr)
	}
	names := 0
	for _, text := range texts {
		for _, name := range metricName.FindAllString(text, -1) {
			if names++; !known[name] {
				t.Errorf("there is no metric %s, in %.200s", name, text)
			}
		}
	}
	if names < 100 {
		t.Errorf("only %d names were found", names)
	}
}

// promtool returns a command of Prometheus' own tool.
func promtool(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs another program: make unit runs it, without the race detector")
	}
	if _, err := exec.LookPath("promtool"); err != nil {
		if os.Getenv("ASSAY_TEST_ENGINES") != "" {
			t.Skip("LEFT OUT: promtool; scripts/need prometheus installs it")
		}
		t.Skip("NOT COVERED: promtool; scripts/need prometheus installs it")
	}
	return exec.Command("promtool", args...)
}

// Prometheus accepts the rules, and each does what its tests say.
func TestDeploy_Rules(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"check", "rules", "--lint-fatal", rulesFile}, {"test", "rules", rulesTestFile}} {
		out, err := promtool(t, args...).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("SUCCESS")) {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// Every rule has a test in which it fires, one in which it does not, and a section in the runbook.
func TestDeploy_EveryRuleTested(t *testing.T) {
	t.Parallel()
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal(readFile(t, rulesTestFile), &file); err != nil {
		t.Fatal(err)
	}
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, alert := range test.AlertRuleTest {
			if len(alert.ExpAlerts) > 0 {
				fires[alert.Alertname] = true
			} else {
				quiet[alert.Alertname] = true
			}
		}
	}
	sections := string(readFile(t, runbook))
	for _, rule := range readRules(t) {
		if !fires[rule.Alert] || !quiet[rule.Alert] {
			t.Errorf("%s: tested to fire %v, to be quiet %v", rule.Alert, fires[rule.Alert], quiet[rule.Alert])
		}
		if !strings.Contains(sections, "\n### "+rule.Alert+"\n") {
			t.Errorf("%s: %s has no section for it", rule.Alert, runbook)
		}
		if !slices.Contains([]string{"critical", "warning"}, rule.Labels["severity"]) ||
			rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s: severity %q, summary or description is missing", rule.Alert, rule.Labels["severity"])
		}
	}
}

// Prometheus understands every query of the dashboard.
func TestDeploy_DashboardQueries(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	for i, query := range dashboardQueries(t) {
		fmt.Fprintf(&b, "      - {record: \"query:%d\", expr: %q}\n", i, query)
	}
	name := filepath.Join(t.TempDir(), "queries.yml")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := promtool(t, "check", "rules", name).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A broken query is refused, so that the test before means something.
func TestDeploy_BrokenQueryRefused(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "queries.yml")
	text := "groups:\n  - name: broken\n    rules:\n      - {record: a, expr: \"sum(rate(x[1m])\"}\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if out, err := promtool(t, "check", "rules", name).CombinedOutput(); !errors.As(err, &exit) {
		t.Errorf("%v\n%s", err, out)
	}
}
