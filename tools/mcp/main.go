//go:build linux

// Command mcp lets the inspector of the Model Context Protocol judge the tools for agents: it lists them and calls each
// of them on a real server, and some of them through assay mcp.
//
//	go run ./tools/mcp         # a minute
//	go run ./tools/mcp -short  # lists the tools, and calls those that are also called through assay mcp
//
// The inspector is the official one, of the npm packages in this folder. It validates what it gets against the schemas
// that the tools name.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/target"
)

func main() { process.Main("mcp", parseOptions, run) }

type options struct {
	assay, inspector string
	short            bool
}

func parseOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("mcp", flag.ContinueOnError)
	flags.StringVar(&o.assay, "assay", "bin/assay", "the `binary`")
	flags.BoolVar(&o.short, "short", false, "call only a few tools")
	if err := process.ParseFlags(flags, args, &o.assay, "build"); err != nil {
		return o, err
	}
	o.inspector, err = filepath.Abs("tools/mcp/node_modules/.bin/mcp-inspector")
	return o, err
}

// calls has the arguments of a call of each tool.
var calls = map[string][]string{
	"list_gpu_types":           nil,
	"get_gpu_price":            {"gpu=H100 SXM"},
	"get_market_index":         nil,
	"get_gpu_index_history":    {"gpu=H200", "granularity=hourly", "startDate=2026-09-01"},
	"get_daily_index":          {"gpu=B200"},
	"get_daily_index_snapshot": nil,
	"get_gpu_price_history":    {"gpu=H200"},
	"get_gpu_price_at":         {"gpu=H200", "datetime=2026-10-01T10:00:00Z"},
	"get_gpu_rolling_average":  {"gpu=H200"},
	"get_gpu_volatility":       {"gpu=H200", "startDate=2026-09-01", "endDate=2026-10-01"},
	"get_gpu_volume_metrics":   {"gpu=H200"},
	"list_memory_types":        nil,
	"get_memory_index":         {"category=dram"},
	"get_memory_price_history": {"memoryType=mem_ddr5_16gb"},
	"list_token_types":         nil,
	"get_token_price_index":    {"lab=openai", "startDate=2026-10-10"},
	"get_workload_index":       {"lab=openai", "limit=5"},
	"list_llm_coding_products": nil,
	"get_llm_coding_index":     {"product=cc-prs"},
	"get_llm_coding_history":   {"product=cc-vs-codex", "limit=5"},
	"get_neocloud_sites":       {"country=Germany"},
	"get_neocloud_aggregate":   nil,
	"list_corrections":         {"limit=5"},
	"get_determination":        {"gpu=H200", "date=2026-10-01"},
	"verify_value":             {"gpu=H200", "date=2026-10-01"},
	"search":                   {"query=H100"},
	"fetch":                    {"id=doc:api.md#rate-limits"},
}

// throughCommand are the tools that are also called through assay mcp.
var throughCommand = []string{"get_workload_index", "verify_value"}

// atOnce is how many inspectors run at a time.
const atOnce = 3

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "assay-mcp-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	data, keysFile := filepath.Join(dir, "data"), filepath.Join(dir, "keys.json")
	const moment = "2026-11-01T12:01:00Z"
	market := exec.CommandContext(ctx, "scripts/demo-market", data, moment) //nolint:gosec // G204: the folder is ours
	market.Env = append(os.Environ(), "ASSAY_TEST_BINARY="+o.assay)
	if out, err := market.CombinedOutput(); err != nil {
		return fmt.Errorf("scripts/demo-market: %w\n%s", err, out)
	}
	server, err := target.Start(ctx, target.Command(o.assay, dir, "demo", "--dir", data, "--no-feed",
		"--end", moment, "--keys-file", keysFile, "--trusted-proxies", "127.0.0.1"))
	if err != nil {
		return err
	}
	defer server.Stop()
	key, err := readKey(keysFile)
	if err != nil {
		return err
	}
	keyFile := filepath.Join(dir, "key.txt")
	if err := os.WriteFile(keyFile, []byte(key+"\n"), 0o600); err != nil {
		return err
	}
	i := &inspector{
		program: o.inspector, home: dir, url: "http://" + server.Address, key: key, short: o.short,
		command: []string{
			"-e", "ASSAY_SERVER=http://" + server.Address, "-e", "ASSAY_KEY_FILE=" + keyFile, o.assay, "mcp",
		},
	}
	return i.judge(ctx)
}

func readKey(file string) (string, error) {
	var keys struct{ Full string }
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &keys)
	}
	return keys.Full, err
}

// inspector runs the inspector.
type inspector struct {
	program, home, url, key string
	command                 []string // assay mcp
	short                   bool

	mu    sync.Mutex
	count int // of runs; guarded by mu
}

// judge lists the tools and calls them.
func (i *inspector) judge(ctx context.Context) error {
	for _, era := range []string{"legacy", "modern"} { // versions of the protocol with sessions, and without
		if err := errors.Join(i.checkList(ctx, true, era), i.checkList(ctx, false, era)); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	called := 0
	for name, arguments := range calls {
		commandToo := slices.Contains(throughCommand, name)
		if i.short && !commandToo {
			continue
		}
		called++
		group.Go(func() error { return i.call(ctx, true, name, arguments) })
		if commandToo {
			group.Go(func() error { return i.call(ctx, false, name, arguments) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Printf("the inspector lists %d tools, and calls %d\n", len(calls), called)
	return nil
}

// checkList checks that the tools are those that are called, and that their schemas are portable.
func (i *inspector) checkList(ctx context.Context, overHTTP bool, era string) error {
	out, complaints, err := i.run(ctx, overHTTP, "--method", "tools/list", "--strict", "--protocol-era", era)
	if err != nil {
		return err
	}
	if strings.Contains(complaints, "Warning:") || strings.Contains(complaints, "Error:") {
		return fmt.Errorf("the inspector complains: %s", complaints)
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(out, &list); err != nil {
		return fmt.Errorf("the list: %w: %.300s", err, out)
	}
	for _, tool := range list.Tools {
		if _, ok := calls[tool.Name]; !ok {
			return fmt.Errorf("%s is not called", tool.Name)
		}
	}
	if len(list.Tools) != len(calls) {
		return fmt.Errorf("%d tools are listed, %d expected", len(list.Tools), len(calls))
	}
	return nil
}

// call calls a tool.
func (i *inspector) call(ctx context.Context, overHTTP bool, name string, arguments []string) error {
	args := []string{"--method", "tools/call", "--tool-name", name}
	for _, argument := range arguments {
		args = append(args, "--tool-arg", argument)
	}
	out, _, err := i.run(ctx, overHTTP, args...)
	if err != nil {
		return err
	}
	var result struct {
		IsError           bool
		StructuredContent map[string]any
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return fmt.Errorf("%s: %w: %.300s", name, err, out)
	}
	if result.IsError || len(result.StructuredContent) == 0 {
		return fmt.Errorf("%s fails: %.500s", name, out)
	}
	if name == "verify_value" && result.StructuredContent["verified"] != true {
		return fmt.Errorf("a value is not proven: %.2000s", out)
	}
	return nil
}

// run runs the inspector once, over HTTP from an address of its own, whose limit it does not share with others.
func (i *inspector) run(ctx context.Context, overHTTP bool, args ...string) (out []byte, complaints string, err error) {
	i.mu.Lock()
	i.count++
	address := fmt.Sprintf("203.0.113.%d", i.count)
	i.mu.Unlock()
	server := i.command
	if overHTTP {
		server = []string{
			i.url + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + i.key,
			"--header", "X-Forwarded-For: " + address,
		}
	}
	command := exec.CommandContext(ctx, i.program, slices.Concat([]string{"--cli"}, server, args)...)
	command.Env = append(os.Environ(), "HOME="+i.home, "NO_COLOR=1")
	var errs strings.Builder
	command.Stderr = &errs
	out, err = command.Output()
	if err != nil {
		err = errors.Join(fmt.Errorf("the inspector with %s: %w", strings.Join(args, " "), err), errors.New(errs.String()))
	}
	return out, errs.String(), err
}
