package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/verifier"
)

// startedWitness is a witness with a folder of its own.
type startedWitness struct {
	*process
	key string
	err string // the file with its log
}

func startWitness(t *testing.T, name, log string) startedWitness {
	t.Helper()
	dir := t.TempDir()
	p, err := startCommand(nil, dir, "witness",
		exec.Command(program, "witness", "--dir", "witness", "--name", name, "--log", log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	w := startedWitness{process: p, err: filepath.Join(dir, "witness.err")}
	err = until(patience, 10*time.Millisecond, func() error {
		out, err := os.ReadFile(filepath.Join(dir, "witness.out"))
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if w.key = lines[len(lines)-1]; !strings.HasPrefix(w.key, name+"+") {
			return fmt.Errorf("the witness prints %q (%w), and no key", out, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// checkpointOf reads the checkpoint of a server's log.
func checkpointOf(t *testing.T, server string) string {
	t.Helper()
	response, text, err := getWith(http.DefaultClient, "", server+"/log/checkpoint")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v: %s", err, text)
	}
	return text
}

// The operator makes a copy of the database, lets the two histories differ, and shows the copy to another reader. No
// witness signs the second history, so a reader who asks for two of three notices.
func TestWitness_OperatorForksHistory(t *testing.T) {
	t.Parallel()
	dir := nodeFolder(t)
	assayIn(t, dir, "signing-key init --dir data")
	assayIn(t, dir, "publish --dir data --from 2025-06-11 --to 2025-06-12")
	first := startReader(t, dir, "first")
	var witnesses []startedWitness
	var keys, peers []string
	for _, name := range []string{"one.example", "two.example", "three.example"} {
		w := startWitness(t, name, first.url)
		witnesses, keys, peers = append(witnesses, w), append(keys, w.key), append(peers, w.key+"="+w.url)
	}
	log, err := verifier.NewLog(readText(t, logKey(t, first.url)))
	if err != nil {
		t.Fatal(err)
	}
	careful, err := log.Require(2, keys...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := careful.Open(checkpointOf(t, first.url)); !errors.Is(err, verifier.ErrTooFewWitnesses) {
		t.Fatalf("before anyone was asked: %v", err)
	}
	serve := []string{"serve", "--role", "publish", "--witness", strings.Join(peers, ",")}
	publisher, err := startServer(dir, "publisher", append(serve, "--dir", "data")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(publisher.kill)
	var signed string // the last checkpoint that all have signed: a new one may follow at once
	signedByAll := func() error {
		signed = checkpointOf(t, first.url)
		if n := strings.Count(signed, ".example "); n != 3 {
			return fmt.Errorf("%d witnesses have signed:\n%s", n, signed)
		}
		_, err := careful.Open(signed)
		return err
	}
	if err := until(patience, 50*time.Millisecond, signedByAll); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		judge := exec.CommandContext(t.Context(), otherProgram(t, "cosigned"), key)
		judge.Stdin = strings.NewReader(signed)
		if out, err := judge.CombinedOutput(); err != nil {
			t.Errorf("transparency-dev's code refuses the signature of %s: %s", key, out)
		}
	}

	fork := t.TempDir()
	assayIn(t, dir, "backup --dir data "+filepath.Join(fork, "assay.db"))
	if err := os.MkdirAll(filepath.Join(fork, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(fork, "assay.db"), filepath.Join(fork, "data", "assay.db")); err != nil {
		t.Fatal(err)
	}
	const keyFile = "data/signing-key.pem"
	key := []byte(readText(t, filepath.Join(dir, keyFile)))
	if err := os.WriteFile(filepath.Join(fork, keyFile), key, 0o600); err != nil {
		t.Fatal(err)
	}
	sizeOf := func(signed string) int64 {
		t.Helper()
		c, err := log.Open(signed)
		if err != nil {
			t.Fatal(err)
		}
		return c.Size
	}
	before := sizeOf(checkpointOf(t, first.url))
	extend := func(dir, reason string) {
		t.Helper()
		assayIn(t, dir, "transaction withdraw --dir data --source exchange --reason "+reason+" t2")
		assayIn(t, dir, "restate --dir data --late --reason "+reason)
	}
	extend(dir, "honest")
	err = until(patience, 50*time.Millisecond, func() error {
		err := signedByAll()
		if err == nil && sizeOf(signed) == before {
			err = errors.New("there is no new checkpoint")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	if out, code := monitorOnce(t, dir, first.url); code != 0 {
		t.Fatalf("the monitor of the first history: exit code %d: %s", code, out)
	}
	var memory struct{ Checkpoint string }
	if err := json.Unmarshal([]byte(readText(t, filepath.Join(dir, "monitor", "monitor.json"))), &memory); err != nil {
		t.Fatal(err)
	}

	rows := "id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n"
	for hour := range 200 { // so that the second history is the longer one
		at := time.Date(2025, 6, 12, hour, 0, 0, 0, time.UTC).Format(time.RFC3339)
		rows += fmt.Sprintf("h%d,desk,%s,H200,,2.5,1,1,Birch,true\n", hour, at)
	}
	if err := os.WriteFile(filepath.Join(fork, "rows.csv"), []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	assayIn(t, fork, "import transactions --dir data rows.csv")
	extend(fork, "dishonest")
	second := startReader(t, fork, "second")
	forger, err := startServer(fork, "forger", append(serve, "--dir", "data")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(forger.kill)
	for _, w := range witnesses {
		err := until(patience, 50*time.Millisecond, func() error {
			if text := readText(t, w.err); !strings.Contains(text, `"msg":"refused"`) {
				return fmt.Errorf("the witness has refused nothing: %s", text)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	shown := checkpointOf(t, second.url)
	if _, err := log.Open(shown); err != nil {
		t.Errorf("the operator has not signed the second history: %v", err)
	}
	if _, err := careful.Open(shown); !errors.Is(err, verifier.ErrTooFewWitnesses) {
		t.Errorf("the second history is accepted: %v\n%s", err, shown)
	}
	if err := until(patience, 50*time.Millisecond, signedByAll); err != nil {
		t.Errorf("the first history: %v", err)
	}
	out, code := monitorOnce(t, dir, second.url)
	if code != exitFailed || !strings.Contains(out, "does not continue that of") {
		t.Errorf("the monitor of the second history: exit code %d: %s", code, out)
	}
	evidence, err := filepath.Glob(filepath.Join(dir, "monitor", "evidence-*"))
	if err != nil || len(evidence) != 1 {
		t.Fatalf("the evidence is in %v, %v", evidence, err)
	}
	if got := readText(t, filepath.Join(evidence[0], "checkpoint-kept.txt")); got != memory.Checkpoint {
		t.Errorf("the evidence has %s, want %s", got, memory.Checkpoint)
	}
	if _, err := log.Open(readText(t, filepath.Join(evidence[0], "checkpoint-sent.txt"))); err != nil {
		t.Errorf("the evidence is not signed by the operator: %v", err)
	}
}

// monitorOnce runs a monitor for one round.
func monitorOnce(t *testing.T, dir, server string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "monitor", server, "--dir", "monitor", "--once")
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return string(text), exit.ExitCode()
	}
	return string(text), 0
}

// The key is rotated while everything runs: the publisher signs with the new one, and a witness and a monitor who know
// the old one follow.
func TestWitness_KeyRotated(t *testing.T) {
	t.Parallel()
	dir := nodeFolder(t)
	assayIn(t, dir, "signing-key init --dir data")
	assayIn(t, dir, "publish --dir data --from 2025-06-11 --to 2025-06-12")
	reader := startReader(t, dir, "reader")
	w := startWitness(t, "one.example", reader.url)
	publisher, err := startServer(dir, "publisher", "serve", "--role", "publish", "--witness", w.key+"="+w.url, "--dir", "data")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(publisher.kill)
	first, err := verifier.NewLog(readText(t, logKey(t, reader.url)))
	if err != nil {
		t.Fatal(err)
	}
	witnessed := func(opens func(signed string) error) {
		t.Helper()
		err := until(patience, 50*time.Millisecond, func() error {
			signed := checkpointOf(t, reader.url)
			if !strings.Contains(signed, "one.example ") {
				return fmt.Errorf("the witness has not signed:\n%s", signed)
			}
			return opens(signed)
		})
		if err != nil {
			t.Fatalf("%v\n%s", err, readText(t, w.err))
		}
	}
	witnessed(func(signed string) error { _, err := first.Open(signed); return err })
	if out, code := monitorOnce(t, dir, reader.url); code != 0 {
		t.Fatalf("the monitor: exit code %d: %s", code, out)
	}
	old := []byte(readText(t, filepath.Join(dir, "data", signingKeyFile)))
	oldKey, err := proof.DecodeKey(old)
	if err != nil {
		t.Fatal(err)
	}
	assayIn(t, dir, "signing-key rotate --dir data --reason planned")
	assayIn(t, dir, "signing-key revoke --dir data --reason stolen "+signingKeyID(oldKey))
	assayIn(t, dir, "transaction withdraw --dir data --source exchange --reason wrong t2")
	assayIn(t, dir, "restate --dir data --late --reason wrong")
	_, events, err := getWith(http.DefaultClient, "", reader.url+"/log/keys")
	if err != nil || strings.Count(events, "\n") != 3 {
		t.Fatalf("the events of the key are %q, %v", events, err)
	}
	followed, err := first.Follow(events)
	if err != nil {
		t.Fatal(err)
	}
	witnessed(func(signed string) error { _, err := followed.Open(signed); return err })
	out, code := monitorOnce(t, dir, reader.url)
	if code != 0 || !strings.Contains(out, "The operator has changed the key of the log") {
		t.Fatalf("the monitor after the rotation: exit code %d: %s", code, out)
	}
	assayIn(t, dir, "verify --dir data --public-key "+publicKeyText(oldKey))
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
