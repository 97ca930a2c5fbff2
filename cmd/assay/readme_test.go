package main

import (
	"encoding/json"
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
