package main

import (
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A verifier in another language proves what the demo has published, with the demo's key.
func TestSecondVerifier_Demo(t *testing.T) {
	t.Parallel()
	needProgram(t)
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	err = until(patience, 100*time.Millisecond, func() error { // a new demo signs its days while it serves
		_, body, err := getWith(http.DefaultClient, "", demo.url+"/api/publications/latest")
		if err == nil && !strings.Contains(body, `"day":"2026-10-31"`) {
			err = errors.New("the last day is not signed")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(t.TempDir(), "bundle")
	assayIn(t, sharedFolder, "export --dir assay-demo --from 2026-10-29 --to 2026-10-31 --bundle "+bundle)
	shown := assayIn(t, sharedFolder, "signing-key show --dir assay-demo")
	_, key, _ := strings.Cut(shown, "public key: ")
	key, _, _ = strings.Cut(key, "\n")
	verifier := exec.CommandContext(t.Context(), "python3", "../../tools/secondverifier/verify_bundle.py", bundle,
		"--public-key", key)
	out, err := verifier.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "verified: ") {
		t.Errorf("%v: %s", err, out)
	}
	proven := assayIn(t, sharedFolder, "verify --bundle "+bundle+" --public-key "+key)
	if counts := strings.Fields(strings.ReplaceAll(proven, ",", "")); !strings.HasPrefix(string(out), "verified: "+counts[1]+" values") {
		t.Errorf("one verifier says %s, the other %s", proven, out)
	}
}
