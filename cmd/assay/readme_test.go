package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// demoArgs are how the README says to start the demo whose answers it shows.
var demoArgs = []string{"demo", "--end", "2026-11-01T12:00:00Z", "--no-feed", "--seed", "1"}

// demoServer is a running demo.
type demoServer struct {
	*process
	keys demoKeySet
}

// sharedDemo starts, when it is first asked for, a demo that tests only read from: making one takes long.
var sharedDemo = sync.OnceValues(func() (d demoServer, err error) {
	if d.process, err = startServer(sharedFolder, "demo", append(demoArgs, "--keys-file", "keys.json")...); err != nil {
		return d, err
	}
	stopSharedDemo = d.kill
	text, err := os.ReadFile(filepath.Join(sharedFolder, "keys.json"))
	if err != nil {
		return d, err
	}
	return d, json.Unmarshal(text, &d.keys)
})

// stopSharedDemo ends the shared demo, if there is one.
var stopSharedDemo = func() {}

// TestREADME runs every request of the README that stands before the answer it is said to get.
func TestREADME(t *testing.T) {
	needProgram(t)
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := readExamples(string(text))
	if len(examples) < 4 {
		t.Fatalf("README.md has %d examples, a sh block that begins with curl and behind it a json or text block: it should have 4 at least", len(examples))
	}
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		cmd := exec.Command("bash", "-c", strings.ReplaceAll(e.command, "http://127.0.0.1:8080", demo.url))
		// Nothing else of the environment: curl looks there for proxies.
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PREMIUM=" + demo.keys.Premium, "FULL=" + demo.keys.Full}
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s\n%v", e.command, err)
		}
		if got := strings.TrimRight(string(out), "\n"); got != e.output {
			t.Errorf("%s\ngot:\n%s\nREADME:\n%s", e.command, got, e.output)
		}
	}
}

// storyBlock is the block of the README that tells the whole story of a value.
var storyBlock = regexp.MustCompile("(?s)## A value and its proof\n.*?```sh\n(.*?)```\n\n(.*?)\n\n")

// TestREADME_Story runs the story of a value, and the shell's check of docs/proof.md, on a copy of the demo.
func TestREADME_Story(t *testing.T) {
	needProgram(t)
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	story := storyBlock.FindStringSubmatch(string(text))
	if story == nil {
		t.Fatal("README.md does not tell the story of a value")
	}
	dir := t.TempDir()
	demo := copyDemo(t, dir)
	// The demo of the test lives in the past: what the clock says is in its future.
	out := demo.shell(t, dir, strings.Replace(story[1], "$(date -u +%FT%TZ)", "2026-11-01T12:00:00Z", 1))
	values := regexp.MustCompile(`"index_value":([0-9.]+),"date"`).FindAllStringSubmatch(out, -1)
	if len(values) != 3 || values[0][1] != values[2][1] || values[0][1] == values[1][1] {
		t.Fatalf("the values are %v in\n%s", values, out)
	}
	told := fmt.Sprintf("The day stands at %s, then at %s, and as of before at %s.", values[0][1], values[1][1], values[2][1])
	if !strings.Contains(strings.Join(strings.Fields(story[2]), " "), told) {
		t.Errorf("README.md does not say: %s", told)
	}
	if strings.Count(out, "verified: ") != 2 || !strings.Contains(out, "restated: ") {
		t.Errorf("the story went another way:\n%s", out)
	}
	checkRecordHash(t, demo, dir)
}

// checkRecordHash runs the check that docs/proof.md shows.
func checkRecordHash(t *testing.T, demo demoServer, dir string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/proof.md")
	if err != nil {
		t.Fatal(err)
	}
	check := regexp.MustCompile("(?s)```sh\n(curl .*?)```").FindStringSubmatch(string(text))
	if check == nil {
		t.Fatal("docs/proof.md has no check")
	}
	lines := strings.Fields(demo.shell(t, dir, check[1]))
	if len(lines) != 3 || len(lines[0]) != 64 || lines[0] != lines[2] {
		t.Errorf("the check of docs/proof.md prints %q", lines)
	}
}

// copyDemo serves a copy of the shared demo, made the way an operator makes one, from the folder that the README names.
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
	if out, err := exec.Command(program, "backup", "--dir", filepath.Join(sharedFolder, "assay-demo"), filepath.Join(data, "assay.db")).CombinedOutput(); err != nil {
		t.Fatalf("backup: %v\n%s", err, out)
	}
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
	return demoServer{server, shared.keys}
}

// shell runs lines of the README against the demo.
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

// example is a request and the answer shown below it.
type example struct{ command, output string }

// exampleBlocks are two fenced blocks with nothing but empty lines between them.
var exampleBlocks = regexp.MustCompile("(?ms)^```sh\n(curl [^`]*?)\n```\n\\s*^```(?:json|text)\n(.*?)\n?^```$")

func readExamples(markdown string) (examples []example) {
	for _, match := range exampleBlocks.FindAllStringSubmatch(markdown, -1) {
		examples = append(examples, example{match[1], strings.TrimRight(match[2], "\n")})
	}
	return examples
}
