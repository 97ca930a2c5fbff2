package api_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/snapshot"
)

func TestRoutes_AreTheDescribedOnes(t *testing.T) {
	t.Parallel()
	document, err := apitest.Description(assay.DefaultCatalog())
	if err != nil {
		t.Fatal(err)
	}
	registered := map[string]bool{}
	for _, r := range newRig(t).allRoutes() {
		path := apitest.DescribedPath(r.Path)
		registered[r.Method+" "+path] = true
		if item := document.Paths.Find(path); item == nil || item.GetOperation(r.Method) == nil {
			t.Errorf("%s %s is not in openapi.yaml", r.Method, r.Path)
		}
	}
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			if !registered[method+" "+path] {
				t.Errorf("%s %s is in openapi.yaml and not a route", method, path)
			}
		}
	}
	if document.Info.Version != "1.0.0" {
		t.Errorf("the description has version %s", document.Info.Version)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if got := r.Get("", "/health"); got.StatusCode != 200 || !strings.Contains(got.Text, `"latest":"2026-02-04T12:00:00.000Z","age_seconds":2096`) {
		t.Errorf("healthy: %d %s", got.StatusCode, got.Text)
	}
	r.PingErr = errors.New("disk gone, secret path /srv/x")
	r.Status.CheckDatabase(t.Context())
	got := r.Get("", "/health")
	if got.StatusCode != 503 || !strings.Contains(got.Text, `"error":"Service unavailable"`) || !strings.Contains(got.Text, `"database":"disconnected"`) {
		t.Errorf("unhealthy: %d %s", got.StatusCode, got.Text)
	}
	if strings.Contains(got.Text, "disk gone") {
		t.Error("the 503 shows its cause")
	}
	if got := r.Get("", "/api/gpu/H200"); got.StatusCode != 200 {
		t.Errorf("with the database away a read answers %d", got.StatusCode)
	}
	r.Use(snapshot.New(assay.DefaultCatalog(), 2))
	r.PingErr = nil
	r.Status.CheckDatabase(t.Context())
	if got := r.Get("", "/health"); !strings.Contains(got.Text, `"latest":null,"age_seconds":null`) {
		t.Errorf("without data: %s", got.Text)
	}
}
