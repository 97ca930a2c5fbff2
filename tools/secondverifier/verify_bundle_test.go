package secondverifier

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/verify"
	"github.com/assaydata/assay/verifier"
)

const vectors = "../../docs/proof-vectors/bundle"

// bundle is a copy of the test vectors that a test may change.
type bundle struct {
	t   *testing.T
	dir string
}

func newBundle(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, dir: filepath.Join(t.TempDir(), "bundle")}
	if err := os.CopyFS(b.dir, os.DirFS(vectors)); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bundle) read(name string) []byte {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

func (b *bundle) write(name string, text []byte) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), text, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// replace replaces a text once in a file, which must have it.
func (b *bundle) replace(name, old, replacement string) {
	b.t.Helper()
	text := b.read(name)
	if !bytes.Contains(text, []byte(old)) {
		b.t.Fatalf("%s has no %s", name, old)
	}
	b.write(name, bytes.Replace(text, []byte(old), []byte(replacement), 1))
}

// dropLines drops the lines of a file that contain a text.
func (b *bundle) dropLines(name, text string) {
	b.t.Helper()
	lines := strings.SplitAfter(string(b.read(name)), "\n")
	rest := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.Contains(line, text) })
	if len(rest) == len(lines) {
		b.t.Fatalf("no line of %s contains %s", name, text)
	}
	b.write(name, []byte(strings.Join(rest, "")))
}

// mend makes the sums in bundle.json those of the files again, as a forger would.
func (b *bundle) mend() {
	b.t.Helper()
	text := string(b.read("bundle.json"))
	var head struct{ Files map[string]string }
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		b.t.Fatal(err)
	}
	for name, old := range head.Files {
		sum := sha256.Sum256(b.read(name))
		text = strings.Replace(text, old, hex.EncodeToString(sum[:]), 1)
	}
	b.write("bundle.json", []byte(text))
}

// verify runs the verifier, and returns its exit code and what it wrote.
func (b *bundle) verify(args ...string) (code int, output string) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), "python3", append([]string{"verify_bundle.py", b.dir}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// signingKey has signed the test vectors.
var signingKey = ed25519.NewKeyFromSeed([]byte("a seed of thirty-two bytes, fixed"[:ed25519.SeedSize]))

func marketKey() string {
	return base64.StdEncoding.EncodeToString(signingKey.Public().(ed25519.PublicKey))
}

// signAgain changes the first manifest of a day that has several, and signs it and all after it again.
func (b *bundle) signAgain(change func(m *assay.Manifest)) {
	b.t.Helper()
	var text []byte
	var before assay.Hash
	for line := range bytes.Lines(b.read("manifests.ndjson")) {
		m, err := proof.ParseManifest(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			b.t.Fatal(err)
		}
		if m.Revision == 0 && assay.FormatDay(m.Day) == "2026-03-06" {
			change(&m)
		}
		m.Previous = before
		proof.Sign(&m, signingKey)
		before = m.Hash
		text = append(proof.AppendManifestJSON(text, &m), '\n')
	}
	b.write("manifests.ndjson", text)
}

var otherKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// changeKey appends an event about a key.
func (b *bundle) changeKey(action string, key ed25519.PrivateKey, signers ...ed25519.PrivateKey) {
	b.t.Helper()
	before := string(b.read("keys.ndjson"))
	event := verifier.KeyEvent{
		Number: int64(strings.Count(before, "\n")) + 1, Action: action, PublicKey: key.Public().(ed25519.PublicKey),
	}
	text, err := event.Sign("assay/market", signers...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.write("keys.ndjson", []byte(before+text+"\n"))
}

// rotate appends the change to another key, which an old one has signed.
func (b *bundle) rotate(old, key ed25519.PrivateKey) { b.changeKey(verifier.KeyRotate, key, old, key) }

// Both verifiers follow the key, from one that is accepted to the next.
func TestVerify_Keys(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.rotate(signingKey, otherKey)
	b.changeKey(verifier.KeyRevoke, signingKey, otherKey)
	b.mend()
	if code, output := b.verify("--public-key", marketKey(), "--allow-unsigned"); code != 0 {
		t.Errorf("after a rotation: exit code %d:\n%s", code, output)
	}
	signatures := verify.Signatures{PublicKeys: [][]byte{signingKey.Public().(ed25519.PublicKey)}, AllowUnsigned: true}
	if _, err := verify.Bundle(t.Context(), b.dir, signatures, nil); err != nil {
		t.Errorf("after a rotation: %v", err)
	}
	again, err := proof.SignCheckpoint(checkpointOf(t, b), otherKey)
	if err != nil {
		t.Fatal(err)
	}
	b.write("checkpoint.txt", []byte(again))
	b.mend()
	if code, output := b.verify("--public-key", marketKey(), "--allow-unsigned"); code != 0 {
		t.Errorf("with a checkpoint of the second key: exit code %d:\n%s", code, output)
	}
	if _, err := verify.Bundle(t.Context(), b.dir, signatures, nil); err != nil {
		t.Errorf("with a checkpoint of the second key: %v", err)
	}
}

// checkpointOf is what the checkpoint of a bundle says.
func checkpointOf(t *testing.T, b *bundle) proof.Checkpoint {
	t.Helper()
	text, _, _ := strings.Cut(string(b.read("checkpoint.txt")), "\n\n")
	c, err := verifier.ParseCheckpoint(text + "\n")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestVerify_Vectors(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	if code, output := b.verify(); code != 0 || output != "verified: 373 values from 481 transactions\n" {
		t.Errorf("exit code %d:\n%s", code, output)
	}
	if code, output := b.verify("--public-key", marketKey(), "--allow-unsigned"); code != 0 {
		t.Errorf("with the key: exit code %d:\n%s", code, output)
	}
	if code, _ := b.verify("--public-key"); code != 2 {
		t.Errorf("a wrong command line: exit code %d", code)
	}
}

func TestVerify_Forged(t *testing.T) {
	t.Parallel()
	f := func(want string, forge func(b *bundle), args ...string) {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			forge(b)
			b.mend()
			if code, output := b.verify(args...); code != 1 || !strings.Contains(output, want) {
				t.Errorf("exit code %d, want 1 and %q:\n%.2000s", code, want, output)
			}
		})
	}
	f("the transactions give", func(b *bundle) { b.replace("transactions.csv", ",2.585,8,", ",2.586,8,") })
	f("there is no record of revision", func(b *bundle) { b.dropLines("records.ndjson", `"sequence":5,"version":1,`) })
	f("the record says", func(b *bundle) { b.replace("records.ndjson", `"index_value":2.`, `"index_value":3.`) })
	f("2026-03-09 is over, but not signed", func(*bundle) {}, "--public-key", marketKey())
	f("2026-03-04 is over, but not signed", func(b *bundle) { b.write("manifests.ndjson", nil) }, "--public-key", marketKey())
	f("signed with another key", func(*bundle) {}, "--public-key", base64.StdEncoding.EncodeToString(make([]byte, 32)))
	f("the chain is broken", func(b *bundle) { b.dropLines("manifests.ndjson", `{"day":"2026-03-06","revision":1`) })
	f("its hash is not the hash of its text", func(b *bundle) { b.replace("manifests.ndjson", `"records":`, `"records":1`) })
	f("does not match its public key", func(b *bundle) { b.replace("manifests.ndjson", `"signature":"`, `"signature":"AA`) })
	f("manifest of 2026-03-06, revision 0: it does not list the records of the day", func(b *bundle) {
		b.signAgain(func(m *assay.Manifest) { m.Digest[0]++ })
	}, "--public-key", marketKey(), "--allow-unsigned")
	f("key event 1: begin is not signed", func(b *bundle) { b.replace("keys.ndjson", `"reason":""`, `"reason":"x"`) })
	f("key event 2: rotate is not signed", func(b *bundle) { b.rotate(otherKey, otherKey) })
	f("key event 2: revoke cannot be used", func(b *bundle) {
		b.changeKey(verifier.KeyRevoke, otherKey, signingKey)
	})
	f("checkpoint.txt: it is not signed", func(b *bundle) { b.replace("checkpoint.txt", "\n5", "\n6") })
	f("there is a record that no publication made", func(b *bundle) { b.dropLines("covers.csv", ",true") })
	f("the bundle cannot be read", func(b *bundle) { b.write("records.ndjson", []byte("{\n")) })
}

// Without new sums, every changed file is damage.
func TestVerify_Damaged(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"transactions.csv", "verifications.csv", "covers.csv", "methodology/1.1.0.toml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.write(name, append(b.read(name), '\n'))
			if code, output := b.verify(); code != 1 || !strings.Contains(output, name+": it is not the file that was exported") {
				t.Errorf("exit code %d:\n%s", code, output)
			}
		})
	}
}
