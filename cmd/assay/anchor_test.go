package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/verifier"
)

// tsaConfig lets openssl be an authority. Its files are in the folder in which it runs.
const tsaConfig = `[tsa]
default_tsa = authority
[authority]
serial            = serial
signer_cert       = authority.pem
certs             = root.pem
signer_key        = authority.key
signer_digest     = sha256
default_policy    = 1.2.3.4
digests           = sha256
ess_cert_id_chain = no
[authority_certificate]
extendedKeyUsage = critical, timeStamping
`

// newTSA makes an authority for timestamps with openssl, and a root certificate of its own, root.pem.
func newTSA(t *testing.T) (dir, url string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tsa.conf"), []byte(tsaConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"req -x509 -newkey rsa:2048 -nodes -keyout root.key -out root.pem -days 2 -subj /CN=Root",
		"req -newkey rsa:2048 -nodes -keyout authority.key -out authority.csr -subj /O=Example/CN=Timestamps",
		"x509 -req -in authority.csr -CA root.pem -CAkey root.key -CAcreateserial -out authority.pem -days 2 " +
			"-extfile tsa.conf -extensions authority_certificate",
	} {
		if out, err := openssl(t, dir, line); err != nil {
			t.Fatalf("openssl %s: %v\n%s", line, err, out)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		query, err := io.ReadAll(in.Body)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "query.tsq"), query, 0o600)
		}
		if err != nil || in.Header.Get("Content-Type") != "application/timestamp-query" {
			t.Errorf("the request has the type %q, %v", in.Header.Get("Content-Type"), err)
			return
		}
		if text, err := openssl(t, dir, "ts -reply -config tsa.conf -queryfile query.tsq -out reply.tsr"); err != nil {
			t.Errorf("openssl ts -reply: %v\n%s", err, text)
			return
		}
		out.Header().Set("Content-Type", "application/timestamp-reply")
		http.ServeFile(out, in, filepath.Join(dir, "reply.tsr"))
	}))
	t.Cleanup(server.Close)
	return dir, server.URL
}

func openssl(t *testing.T, dir, line string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "openssl", strings.Fields(line)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// startAnchoring starts a publisher that sends checkpoints to an authority.
func startAnchoring(t *testing.T, dir, name, authority string) *process {
	t.Helper()
	p, err := startServer(dir, name, "serve", "--role", "publish", "--anchor", authority, "--dir", "data")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// openssl is the authority, and with the commands that docs/proof.md shows it judges what the server keeps and serves.
func TestAnchor_JudgedByOpenSSL(t *testing.T) {
	t.Parallel()
	dir := nodeFolder(t)
	assayIn(t, dir, "signing-key init --dir data")
	assayIn(t, dir, "publish --dir data --from 2025-06-11 --to 2025-06-12")
	reader := startReader(t, dir, "reader")
	tsa, authority := newTSA(t)
	startAnchoring(t, dir, "publisher", authority)
	var lines string
	err := until(patience, 50*time.Millisecond, func() error {
		response, text, err := getWith(http.DefaultClient, "", reader.url+"/log/anchors")
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%d: %s", response.StatusCode, text)
		}
		lines = text
		return err
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, readText(t, filepath.Join(dir, "publisher.err")))
	}
	var anchor struct{ Checkpoint, Authority, Timestamp string }
	if err := json.Unmarshal([]byte(lines), &anchor); err != nil {
		t.Fatalf("%v: %s", err, lines)
	}
	stamped, err := time.Parse(time.RFC3339, anchor.Timestamp)
	if err != nil || time.Since(stamped).Abs() > time.Hour || anchor.Authority != authority {
		t.Errorf("the anchor is %+v, %v", anchor, err)
	}

	documented := anchorCommands(t, reader.url)
	judge := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-ec", documented)
		cmd.Dir = tsa
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := judge()
	if err != nil || !strings.Contains(out, "Verification: OK") || !strings.Contains(out, "Time stamp:") {
		t.Errorf("%v: %s", err, out)
	}
	if got := readText(t, filepath.Join(tsa, "checkpoint.txt")); got != anchor.Checkpoint {
		t.Errorf("the commands find the checkpoint %q, want %q", got, anchor.Checkpoint)
	}
	wantRefused := func(what, line string) {
		t.Helper()
		if out, err := openssl(t, tsa, line); err == nil || !strings.Contains(out, "Verification: FAILED") {
			t.Errorf("%s: %v: %s", what, err, out)
		}
	}
	other, _ := newTSA(t)
	wantRefused("another authority",
		"ts -verify -data checkpoint.txt -in token.der -token_in -CAfile "+filepath.Join(other, "root.pem"))
	wantRefused("another text", "ts -verify -data anchor.json -in token.der -token_in -CAfile root.pem")

	out = assayIn(t, dir, "verify --dir data")
	for _, want := range []string{"timestamps of 1 checkpoint from " + anchor.Timestamp, "timestamps by CN=Timestamps,O=Example"} {
		if !strings.Contains(out, want) {
			t.Errorf("verify prints %s, want %q", out, want)
		}
	}
	wantContinued(t, reader.url, anchor.Checkpoint)
}

// anchorCommands are the commands in the documentation that check an anchor.
func anchorCommands(t *testing.T, server string) string {
	t.Helper()
	for _, block := range shellBlock.FindAllStringSubmatch(readText(t, "../../docs/proof.md"), -1) {
		if strings.Contains(block[1], "openssl ts -verify") {
			return strings.ReplaceAll(block[1], "http://127.0.0.1:8080", server)
		}
	}
	t.Fatal("docs/proof.md does not say how to check an anchor")
	return ""
}

// wantContinued wants the log of a server to begin with what a kept checkpoint says, which has no signatures.
func wantContinued(t *testing.T, server, kept string) {
	t.Helper()
	from, err := verifier.ParseCheckpoint(kept)
	if err != nil {
		t.Fatal(err)
	}
	log, err := verifier.NewLog(readText(t, logKey(t, server)))
	if err != nil {
		t.Fatal(err)
	}
	to, err := log.Open(checkpointOf(t, server))
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := getWith(http.DefaultClient, "",
		fmt.Sprintf("%s/api/log/consistency?from=%d&to=%d", server, from.Size, to.Size))
	if err != nil {
		t.Fatal(err)
	}
	var proof struct{ Data struct{ Hashes []string } }
	if err := json.Unmarshal([]byte(text), &proof); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := verifier.CheckConsistency(from, to, proof.Data.Hashes); err != nil {
		t.Error(err)
	}
	from.Root[0] ^= 1
	if err := verifier.CheckConsistency(from, to, proof.Data.Hashes); err == nil {
		t.Error("another history has the same proof")
	}
}

// While an authority keeps the publisher waiting, everything else is published, signed and served, and an interrupt
// ends the publisher.
func TestAnchor_AuthorityHangs(t *testing.T) {
	t.Parallel()
	dir := nodeFolder(t)
	assayIn(t, dir, "signing-key init --dir data")
	assayIn(t, dir, "publish --dir data --from 2025-06-11 --to 2025-06-12")
	asked := make(chan struct{}, 100)
	authority := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, in *http.Request) {
		_, _ = io.Copy(io.Discard, in.Body) // so that the server notices when the client hangs up
		asked <- struct{}{}
		<-in.Context().Done()
	}))
	t.Cleanup(authority.Close)
	reader := startReader(t, dir, "reader")
	publisher := startAnchoring(t, dir, "publisher", authority.URL)
	<-asked
	before := checkpointOf(t, reader.url)
	assayIn(t, dir, "transaction withdraw --dir data --source exchange --reason wrong t2")
	assayIn(t, dir, "restate --dir data --late --reason wrong")
	err := until(patience, 50*time.Millisecond, func() error {
		if checkpointOf(t, reader.url) == before {
			return errors.New("there is no new checkpoint")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	response, text, err := getWith(http.DefaultClient, "", reader.url+"/log/anchors")
	if err != nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("%v: %s", err, text)
	}
	if err := publisher.stop(); err != nil {
		t.Error(err)
	}
	assayIn(t, dir, "verify --dir data")
}
