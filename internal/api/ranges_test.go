package api_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/snapshot"
)

// TestRanges_AnyRangeInEveryEncoding requests random ranges of a long series, and compares all encodings with rows that
// are written plainly. Some ranges have text that is kept ready, some have not.
func TestRanges_AnyRangeInEveryEncoding(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rng := rand.New(rand.NewPCG(31, 1))
	line := assay.Line{GPU: "H200", Region: "us-west"}
	points, rows := longSeries(rng, 2000)
	revisions := make([]assay.Revision, len(points))
	for i, p := range points {
		revisions[i] = assay.Revision{Point: p, Version: 8}
	}
	snap := r.Snapshots.Load().With(snapshot.Update{Version: 8, Series: []snapshot.SeriesUpdate{{
		Line: line, Grain: assay.Hourly, Revisions: revisions, Version: 8, Published: 1,
	}}})
	r.Use(snap)
	const target = "/api/gpu/H200/index-history?region=us-west&granularity=hourly&startDate=%s&endDate=%s"
	for n := range 120 {
		if n == 60 {
			snap.Line(line.GPU, line.Region).Series(assay.Hourly).KeepText(60 << 10)
		}
		i := rng.IntN(len(points))
		j := i + 1 + rng.IntN(len(points)-i)
		want := fmt.Sprintf(`{"success":true,"gpu_type":"H200","region":"us-west","access":"full","granularity":"hourly",`+
			`"count":%d,"has_more":false,"data":[%s]}`, j-i, strings.Join(rows[i:j], ","))
		path := fmt.Sprintf(target, assay.FormatInstant(points[i].At), assay.FormatInstant(points[j-1].At))
		checkEncodings(t, r.Rig, path, want)
		r.Clock = r.Clock.Add(time.Minute) // so that no limiter steps in
	}
}

func longSeries(rng *rand.Rand, n int) (points []assay.Point, rows []string) {
	at, value := apitest.Now.UnixMilli()/assay.Hour*assay.Hour-int64(n)*assay.Hour, assay.Nanos(23_000)
	for range n {
		at += assay.Hour
		value += assay.Nanos(rng.Int64N(201) - 100)
		p := assay.Point{At: at, Value: value * assay.Unit(4)}
		points = append(points, p)
		rows = append(rows, fmt.Sprintf(`{"timestamp":%q,"index_value":%s}`, assay.FormatInstant(p.At), p.Value))
	}
	return points, rows
}

// checkEncodings wants a text in every encoding, with its length, and the same headers of HEAD.
func checkEncodings(t *testing.T, r *apitest.Rig, path, want string) {
	t.Helper()
	for accepted, encoding := range map[string]string{
		"identity": "", "gzip": "gzip", "zstd": "zstd", "gzip, deflate, br, zstd": "gzip", "gzip;q=0.5, zstd": "zstd",
	} {
		got := r.Get("full", path, "Accept-Encoding", accepted)
		if len(want) < 1024 {
			encoding = ""
		}
		if got.StatusCode != 200 || got.Header.Get("Content-Encoding") != encoding {
			t.Fatalf("%s with %s: %d %q", path, accepted, got.StatusCode, got.Header.Get("Content-Encoding"))
		}
		if text := unpacked(t, encoding, got.Text); text != want {
			t.Fatalf("%s with %s: another text of %d bytes, want %d", path, accepted, len(text), len(want))
		}
		head := r.Do(http.MethodHead, "full", path, "Accept-Encoding", accepted)
		length := head.Header.Get("Content-Length")
		if encoding != "zstd" && length != strconv.Itoa(len(got.Text)) || head.Header.Get("Etag") != got.Header.Get("Etag") {
			t.Fatalf("HEAD %s with %s: %s bytes, GET has %d", path, accepted, length, len(got.Text))
		}
	}
}

func unpacked(t *testing.T, encoding, body string) string {
	t.Helper()
	var r io.Reader = strings.NewReader(body)
	var err error
	switch encoding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
