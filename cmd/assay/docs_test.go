package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// update rewrites the responses and figures that the documents show: go test ./cmd/assay -run TestDocs -update.
var update = flag.Bool("update", false, "write the golden files and the documents' examples again")

// demoArgs start the demo whose responses the documents show. They say so.
var demoArgs = []string{"demo", "--end", "2026-11-01T12:01:00Z", "--no-feed", "--seed", "1"}

// demoServer is a running demo.
type demoServer struct {
	*process
	keys  demoKeySet
	admin string // the address of --admin-addr
}

// sharedDemo starts, on first use, a demo that tests only read from.
var sharedDemo = sync.OnceValues(func() (d demoServer, err error) {
	if err := copyMarket(filepath.Join(sharedFolder, "assay-demo")); err != nil {
		return d, err
	}
	args := append(slices.Clone(demoArgs), "--keys-file", "keys.json", "--admin-addr", "127.0.0.1:0")
	if d.process, err = startServer(sharedFolder, "demo", args...); err != nil {
		return d, err
	}
	stopSharedDemo = d.kill
	if d.admin, err = adminOf(filepath.Join(sharedFolder, "demo.err")); err != nil {
		return d, err
	}
	text, err := os.ReadFile(filepath.Join(sharedFolder, "keys.json"))
	if err != nil {
		return d, err
	}
	return d, json.Unmarshal(text, &d.keys)
})

// copyMarket puts the market of demoArgs into a folder.
func copyMarket(folder string) error {
	market := exec.Command("../../scripts/demo-market", folder)
	market.Env = append(os.Environ(), "ASSAY_TEST_BINARY="+program)
	if out, err := market.CombinedOutput(); err != nil {
		return fmt.Errorf("scripts/demo-market: %w\n%s", err, out)
	}
	return nil
}

// stopSharedDemo ends the shared demo, if there is one.
var stopSharedDemo = func() {}

// proofDocument has the story of a value, from import to restatement, and a check of a record's hash.
const proofDocument = "../../docs/proof.md"

// documents lists the README and the pages of docs.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"../../README.md"}, pages...)
}

// TestDocs_Examples sends every request that a document shows and compares the response with the one shown below it.
func TestDocs_Examples(t *testing.T) {
	needProgram(t)
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, file := range documents(t) {
		text := readDocument(t, file)
		examples := readExamples(text)
		total += len(examples)
		if requests := strings.Count(text, "```sh\ncurl "); file != proofDocument && requests != len(examples) {
			t.Errorf("%s has %d blocks that begin with curl but only %d are followed by their response",
				file, requests, len(examples))
		}
		for _, e := range examples {
			t.Run(filepath.Base(file)+" "+e.command, func(t *testing.T) {
				got := demo.request(t, e.command)
				if got == e.output {
					return
				}
				if !*update {
					t.Fatalf("%s\ngot:\n%s\n%s shows:\n%s", e.command, got, file, e.output)
				}
				text = strings.Replace(text, e.block, strings.Replace(e.block, e.output, got, 1), 1)
			})
		}
		writeDocument(t, file, text)
	}
	// The number of examples that the documents had when they were split. A command that was tested stays tested.
	if total < 10 {
		t.Errorf("the documents have %d examples, a sh block that begins with curl and a json block, "+
			"of at least 10 expected", total)
	}
}

// request runs one command of a document.
func (d demoServer) request(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", strings.ReplaceAll(command, "http://127.0.0.1:8080", d.url))
	// Nothing else of the environment: curl looks there for proxies.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PREMIUM=" + d.keys.Premium, "FULL=" + d.keys.Full}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\n%v", command, err)
	}
	return strings.TrimRight(string(out), "\n")
}

func readDocument(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// writeDocument writes a document with -update; otherwise it does nothing.
func writeDocument(t *testing.T, file, text string) {
	t.Helper()
	if !*update || text == readDocument(t, file) {
		return
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

var (
	// storyBlock is the first block of the section that tells the story of a value.
	storyBlock = regexp.MustCompile("(?s)## Try it\n.*?```sh\n(.*?)```\n")

	// storyValues is the sentence below it.
	storyValues = regexp.MustCompile(`The three responses show [0-9.]+, [0-9.]+ and [0-9.]+\.`)

	// hashCheck is the block that computes a record's hash.
	hashCheck = regexp.MustCompile("(?s)```sh\n(curl .*?)```")

	// dailyValue is the value in a response of the daily index.
	dailyValue = regexp.MustCompile(`"index_value":([0-9.]+),"date"`)
)

// TestDocs_Story runs the story of a value and the check of a record's hash on a copy of the demo.
func TestDocs_Story(t *testing.T) {
	t.Parallel()
	needProgram(t)
	text := readDocument(t, proofDocument)
	story := storyBlock.FindStringSubmatch(text)
	if story == nil {
		t.Fatal("docs/proof.md does not tell the story of a value")
	}
	dir := t.TempDir()
	demo := copyDemo(t, dir)
	// The demo of the test lives in the past: the clock's time is in its future.
	out := demo.shell(t, dir, strings.Replace(story[1], "$(date -u +%FT%TZ)", "2026-11-01T12:01:00Z", 1))
	values := dailyValue.FindAllStringSubmatch(out, -1)
	if len(values) != 3 || values[0][1] != values[2][1] || values[0][1] == values[1][1] {
		t.Fatalf("the values are %v in\n%s", values, out)
	}
	if strings.Count(out, "verified: ") != 2 || !strings.Contains(out, "restated: ") {
		t.Errorf("the story prints:\n%s", out)
	}
	want := fmt.Sprintf("The three responses show %s, %s and %s.", values[0][1], values[1][1], values[2][1])
	if got := storyValues.FindString(text); got != want && !*update {
		t.Errorf("docs/proof.md says %q instead of %q", got, want)
	}
	writeDocument(t, proofDocument, storyValues.ReplaceAllLiteralString(text, want))
	checkRecordHash(t, demo, dir, text)
}

// checkRecordHash runs the check of a record's hash that the document shows.
func checkRecordHash(t *testing.T, demo demoServer, dir, text string) {
	t.Helper()
	check := hashCheck.FindStringSubmatch(text)
	if check == nil {
		t.Fatal("docs/proof.md does not check a record's hash")
	}
	lines := strings.Fields(demo.shell(t, dir, check[1]))
	if len(lines) != 3 || len(lines[0]) != 64 || lines[0] != lines[2] {
		t.Errorf("the check of docs/proof.md prints %q", lines)
	}
}

// copyDemo serves a copy of the shared demo, made with assay backup, from the folder that docs/proof.md names.
func copyDemo(t *testing.T, dir string) demoServer {
	t.Helper()
	shared, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "assay-demo")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "backup", "--dir", filepath.Join(sharedFolder, "assay-demo"), filepath.Join(data, "assay.db"))
	for _, name := range []string{"demo-keys.json", signingKeyFile} {
		text, err := os.ReadFile(filepath.Join(sharedFolder, "assay-demo", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, err := startServer(dir, "demo", demoArgs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.kill)
	return demoServer{process: server, keys: shared.keys}
}

// shell runs lines of a document against the demo.
func (d demoServer) shell(t *testing.T, dir, script string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "bin", "assay")); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-ec", strings.ReplaceAll(script, "http://127.0.0.1:8080", d.url))
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PREMIUM=" + d.keys.Premium, "FULL=" + d.keys.Full}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// example is a request and the response shown below it; block is the text of both.
type example struct{ command, output, block string }

// exampleBlocks are two fenced blocks with only empty lines between them.
var exampleBlocks = regexp.MustCompile("(?ms)^```sh\n(curl [^`]*?)\n```\n\\s*^```(?:json|text)\n(.*?)\n?^```$")

func readExamples(markdown string) (examples []example) {
	for _, match := range exampleBlocks.FindAllStringSubmatch(markdown, -1) {
		examples = append(examples, example{command: match[1], output: strings.TrimRight(match[2], "\n"), block: match[0]})
	}
	return examples
}
