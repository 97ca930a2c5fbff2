package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	hourOne = time.Date(2026, 2, 4, 1, 0, 0, 0, time.UTC)
	hourTwo = hourOne.Add(time.Hour)
)

func testRead(t *testing.T, read func([]byte) ([]value, error), body, wantErr string, want ...value) {
	t.Helper()
	got, err := read([]byte(body))
	if wantErr != "" {
		if err == nil || !strings.Contains(err.Error(), wantErr) {
			t.Errorf("%s: error %v, want %q", body, err, wantErr)
		}
		return
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(value{})); diff != "" || err != nil {
		t.Errorf("%s: %v\n%s", body, err, diff)
	}
}

func TestReadEnvelope(t *testing.T) {
	t.Parallel()
	f := func(body, wantErr string, want ...value) {
		t.Helper()
		testRead(t, readEnvelope, body, wantErr, want...)
	}
	f(`{"data":{"gpu_name":"H100 SXM","index_value":1.8809,"last_updated":"2026-02-04T01:00:00.000Z"}}`, "",
		value{hourOne, 1.8809})
	f(`{"data":[{"timestamp":"2026-02-04T01:00:00.000Z","index_value":2},`+
		`{"timestamp":"2026-02-04T02:00:00Z","index_value":0}]}`, "", value{hourOne, 2}, value{hourTwo, 0})
	f(`{"data":[{"timestamp":"2026-02-04T01:00:00.000Z"}]}`, "row 1 has no index_value")
	f(`{"success":false}`, "unexpected end")
	f(`<html>`, "invalid character")
}

func TestReadVictoriaQuery(t *testing.T) {
	t.Parallel()
	f := func(body, wantErr string, want ...value) {
		t.Helper()
		testRead(t, readVictoriaQuery, body, wantErr, want...)
	}
	f(`{"data":{"resultType":"vector","result":[{"metric":{},"value":[1770166800,"1.8809"]}]}}`, "", value{value: 1.8809})
	f(`{"data":{"result":[{"metric":{},"values":[[1770166800,"2"],[1770170400,"0"]]}]}}`, "", value{value: 2}, value{})
	f(`{"data":{"result":[]}}`, "it has 0 time series, want 1")
	f(`{"data":{"result":[{"value":[1770166800,"high"]}]}}`, "invalid syntax")
}

func TestReadVictoriaExport(t *testing.T) {
	t.Parallel()
	f := func(body, wantErr string, want ...value) {
		t.Helper()
		testRead(t, readVictoriaExport, body, wantErr, want...)
	}
	f(`{"metric":{"gpu":"H100 SXM"},"values":[2],"timestamps":[1770166800000]}
{"metric":{"gpu":"H100 SXM"},"values":[0],"timestamps":[1770170400000]}`, "",
		value{hourOne.Local(), 2}, value{hourTwo.Local(), 0})
	f(`{"values":[1,2],"timestamps":[1770166800000]}`, "2 values at 1 times")
	f(`{`, "EOF")
}

// A peer that serves other values than Assay is not measured.
func TestContender_Check(t *testing.T) {
	t.Parallel()
	f := func(body, wantErr string) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(body))
		}))
		defer server.Close()
		c := contender{target: target{base: server.URL}, read: readEnvelope}
		err := c.check(t.Context(), ask{values: []value{{hourOne, 2}}})
		if (err == nil) != (wantErr == "") || err != nil && !strings.Contains(err.Error(), wantErr) {
			t.Errorf("%s: error %v, want %q", body, err, wantErr)
		}
		if string(c.scenario.body) != body {
			t.Errorf("%s: the body is kept as %s", body, c.scenario.body)
		}
	}
	f(`{"data":[{"timestamp":"2026-02-04T01:00:00Z","index_value":2}]}`, "")
	f(`{"data":[{"timestamp":"2026-02-04T01:00:00Z","index_value":2.0001}]}`,
		"value 1 of the response is 2.0001 at 2026-02-04T01:00:00Z, Assay's is 2 at 2026-02-04T01:00:00Z")
	f(`{"data":[{"timestamp":"2026-02-04T02:00:00Z","index_value":2}]}`, "2 at 2026-02-04T02:00:00Z, Assay's is 2 at")
	f(`{"data":[]}`, "the response has 0 values, Assay's has 1")
	f(`not found`, "parse not found")
	if err := sameValues(nil, nil); err == nil {
		t.Error("no values are the same as no values")
	}
	if err := sameValues([]value{{value: 2}}, []value{{hourOne, 2}}); err != nil {
		t.Errorf("a response without times: %v", err)
	}
}

// VictoriaMetrics gets the values as it wants them, and is asked for the same ones that Assay is asked for.
func TestVictoria_Requests(t *testing.T) {
	t.Parallel()
	var imported []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		imported = append(imported, r.Method+" "+r.URL.Path)
		if r.URL.Path == "/api/v1/import" {
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	defer server.Close()
	v := &victoria{base: server.URL}
	l := lines{
		daily:  []value{{hourOne, 1}, {hourOne.AddDate(0, 0, 1), 2}, {hourOne.AddDate(0, 0, 2), 3}},
		hourly: []value{{hourOne, 1}, {hourTwo, 2}, {hourTwo.Add(time.Hour), 3}, {hourTwo.Add(2 * time.Hour), 4}},
	}
	if err := v.load(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(imported, ", "); got != "POST /api/v1/import, POST /api/v1/import, GET /internal/force_flush" {
		t.Errorf("requests to load the values: %s", got)
	}
	f := func(step time.Duration, values []value, want ...string) {
		t.Helper()
		var got []string
		for _, c := range v.contenders(ask{step: step, values: values}) {
			got = append(got, c.name+" "+c.scenario.path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	const series = "gpu_index%7Bgpu%3D%22H100+SXM%22%2Cgranularity%3D%22"
	f(0, l.hourly[3:], nameQuery+" /api/v1/query?query="+series+"hourly%22%7D&step=1d")
	f(time.Hour, l.hourly,
		nameQuery+" /api/v1/query_range?end=1770177600&query="+series+"hourly%22%7D&start=1770166800&step=3600",
		nameExport+" /api/v1/export?end=1770177600&match%5B%5D="+series+"hourly%22%7D&start=1770166800")
	f(24*time.Hour, l.daily[1:], // at 1:00, so at the midnights after it
		nameQuery+" /api/v1/query_range?end=1770422400&query="+series+"daily%22%7D&start=1770336000&step=86400",
		nameExport+" /api/v1/export?end=1770339600&match%5B%5D="+series+"daily%22%7D&start=1770253200")
}

func TestWriteValues(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "values.csv")
	if err := writeValues(path, lines{hourly: []value{{hourOne, 1.8809}, {hourTwo, 2}}}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	want := "H100 SXM,hourly,2026-02-04T01:00:00Z,1.8809\nH100 SXM,hourly,2026-02-04T02:00:00Z,2\n"
	if err != nil || string(got) != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func TestExpressVersion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "package.json")
	if got := expressVersion(path); got != "Express of unknown version" {
		t.Error(got)
	}
	if err := os.WriteFile(path, []byte(`{"name":"express","version":"5.3.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := expressVersion(path); got != "Express 5.3.0" {
		t.Error(got)
	}
}
