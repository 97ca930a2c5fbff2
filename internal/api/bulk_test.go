package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/tools/testenv"
)

// bulkFile is a file of the list.
type bulkFile struct {
	Name        string
	Dataset     string
	Month       string
	Granularity string
	Revision    int
	Current     bool
	KnownAt     string `json:"known_at"`
	From, To    string
	Rows        int
	Size        int
	SHA256      string
	URL         string
}

// inMarch is when February is complete.
var inMarch = time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)

// bulkRig is a rig whose months are complete up to February.
func bulkRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.Clock = inMarch
	r.Use(r.Snapshots.Load().With(snapshot.Update{
		Version: 8, Covered: inMarch.UnixMilli(), Publications: []assay.Publication{
			{Version: 8, PublishedAt: inMarch.UnixMilli(), Methodology: "1.0.0"},
		},
	}))
	return r
}

func bulkFiles(t *testing.T, r *rig, caller, query string) (files []bulkFile) {
	t.Helper()
	var list struct{ Data []bulkFile }
	reply := r.Get(caller, "/api/bulk"+query)
	if reply.StatusCode != http.StatusOK {
		t.Fatalf("%d: %s", reply.StatusCode, reply.Text)
	}
	if err := json.Unmarshal([]byte(reply.Text), &list); err != nil {
		t.Fatal(err)
	}
	return list.Data
}

// current returns the newest file of a month.
func current(t *testing.T, files []bulkFile, dataset, month string) bulkFile {
	t.Helper()
	for _, f := range files {
		if f.Dataset == dataset && f.Month == month && f.Current {
			return f
		}
	}
	t.Fatalf("no file of %s in %s", dataset, month)
	return bulkFile{}
}

// Every file has the size, the hash, the rows and the range that the list promises.
func TestBulk_FilesAreAsListed(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := bulkRig(t)
	files := bulkFiles(t, r, "full", "")
	datasets := map[string]bool{}
	for _, f := range files {
		datasets[f.Dataset] = true
		reply := r.Get("full", f.URL)
		sum := sha256.Sum256([]byte(reply.Text))
		if reply.StatusCode != http.StatusOK || len(reply.Text) != f.Size || hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("%s: %d, %d bytes, %x", f.Name, reply.StatusCode, len(reply.Text), sum)
			continue
		}
		for name, want := range map[string]string{
			"Etag": `"` + f.SHA256 + `"`, "Cache-Control": "private, max-age=31536000, immutable", "Accept-Ranges": "bytes",
			"Content-Type": "application/vnd.apache.parquet", "Content-Disposition": `attachment; filename="` + f.Name + `"`,
		} {
			if got := reply.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", f.Name, name, got, want)
			}
		}
		opened, err := parquet.OpenFile(strings.NewReader(reply.Text), int64(f.Size))
		if err != nil || opened.NumRows() != int64(f.Rows) {
			t.Errorf("%s: %v, %v", f.Name, err, opened)
		}
		if f.From < f.Month || f.To < f.From || f.To[:7] != f.Month || f.From[:7] != f.Month {
			t.Errorf("%s: from %s to %s", f.Name, f.From, f.To)
		}
	}
	want := []string{
		"coding", "gpu-daily", "gpu-hourly", "gpu-utilization", "memory-daily", "otpi", "workload", "workload-daily",
	}
	got := []string{}
	for name := range datasets {
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each revision has the rows that as_of gives for the instant when it was known.
func TestBulk_SameRowsAsRoutes(t *testing.T) {
	t.Parallel()
	r := bulkRig(t)
	compared, catalog := 0, assay.DefaultCatalog()
	for _, f := range bulkFiles(t, r, "full", "?dataset=gpu-hourly") {
		type row struct {
			GPU       string    `parquet:"gpu_type"`
			Region    string    `parquet:"region"`
			Timestamp time.Time `parquet:"timestamp,timestamp(millisecond)"`
			Value     int64     `parquet:"index_value,decimal(9:18)"`
		}
		text := r.Get("full", f.URL).Text
		rows, err := parquet.Read[row](strings.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, one := range rows {
			key := one.GPU + "/" + one.Region + "/" + assay.FormatInstant(one.Timestamp.UnixMilli())
			got[key] = string(assay.Nanos(one.Value).AppendJSON(nil))
		}
		want := map[string]string{}
		for _, gpu := range catalog.GPUNames() {
			for _, region := range []string{"global", "us-east"} {
				var list struct {
					Data []struct {
						Timestamp string
						Value     json.Number `json:"index_value"`
					}
				}
				target := fmt.Sprintf("/api/gpu/%s/hourly?region=%s&startDate=%s&endDate=%s&as_of=%s",
					strings.ReplaceAll(gpu, " ", "%20"), region, f.From, f.To, f.KnownAt)
				reply := r.Get("full", target)
				if reply.StatusCode == http.StatusNotFound {
					continue
				}
				if err := json.Unmarshal([]byte(reply.Text), &list); err != nil {
					t.Fatal(err)
				}
				for _, p := range list.Data {
					want[gpu+"/"+region+"/"+p.Timestamp] = p.Value.String()
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %.2000s", f.Name, diff)
		}
		compared += len(want)
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

// Who gets no hourly values elsewhere gets none here, and does not see that there are any.
func TestBulk_Access(t *testing.T) {
	t.Parallel()
	r := bulkRig(t)
	hourly := bulkFiles(t, r, "full", "?dataset=gpu-hourly")[0].URL
	daily := bulkFiles(t, r, "full", "?dataset=gpu-daily")[0].URL
	for _, f := range bulkFiles(t, r, "premium", "") {
		if f.Granularity != "daily" || strings.Contains(f.Name, "hourly") {
			t.Errorf("Premium sees %s", f.Name)
		}
	}
	for _, c := range []struct {
		caller, target string
		want           int
		code           string
	}{
		{"", "/api/bulk", 401, "key_required"},
		{"", daily, 401, "key_required"},
		{"", hourly, 401, "key_required"},
		{"revoked", daily, 401, "inactive_key"},
		{"unknown key", "/api/bulk", 401, "invalid_key"},
		{"premium", daily, 200, ""},
		{"premium session", daily, 200, ""},
		{"premium", hourly, 403, "full_required"},
		{"premium", "/api/bulk?dataset=gpu-hourly", 403, "full_required"},
		{"premium", "/api/bulk/gpu-daily/" + hourly[strings.LastIndex(hourly, "/")+1:], 404, "unknown_file"},
		{"full", "/api/bulk/gpu-hourly/nothing.parquet", 404, "unknown_file"},
		{"full", "/api/bulk/sites/x.parquet", 404, "unknown_file"},
		{"full", "/api/bulk?dataset=sites", 400, "invalid_parameter"},
	} {
		t.Run(c.caller+" "+c.target, func(t *testing.T) {
			reply := r.Get(c.caller, c.target)
			if reply.StatusCode != c.want || !strings.Contains(reply.Text, c.code) {
				t.Errorf("%d, want %d %s: %.300s", reply.StatusCode, c.want, c.code, reply.Text)
			}
		})
	}
}

// A file can be requested in ranges.
func TestBulk_Ranges(t *testing.T) {
	t.Parallel()
	r := bulkRig(t)
	f := bulkFiles(t, r, "full", "?dataset=gpu-hourly")[0]
	text := r.Get("full", f.URL).Text
	n, tag := len(text), `"`+f.SHA256+`"`
	span := func(from, to int) string { return fmt.Sprintf("bytes %d-%d/%d", from, to, n) }
	for _, c := range []struct {
		name    string
		headers []string
		status  int
		body    string
		content string
	}{
		{"the beginning", []string{"Range", "bytes=0-9"}, 206, text[:10], span(0, 9)},
		{"the rest", []string{"Range", "bytes=100-"}, 206, text[100:], span(100, n-1)},
		{"the end", []string{"Range", "bytes=-7"}, 206, text[n-7:], span(n-7, n-1)},
		{"more than there is", []string{"Range", "bytes=5-99999999999999999999999"}, 206, text[5:], span(5, n-1)},
		{"an end that is longer than the file", []string{"Range", "bytes=-99999999"}, 206, text, span(0, n-1)},
		{"the same file", []string{"Range", "bytes=5-6", "If-Range", tag}, 206, text[5:7], span(5, 6)},
		{"another file", []string{"Range", "bytes=5-6", "If-Range", `"other"`}, 200, text, ""},
		{"a weak tag", []string{"Range", "bytes=5-6", "If-Range", "W/" + tag}, 200, text, ""},
		{"a date", []string{"Range", "bytes=5-6", "If-Range", "Wed, 04 Feb 2026 12:00:00 GMT"}, 200, text, ""},
		{"several ranges", []string{"Range", "bytes=0-1,4-5"}, 200, text, ""},
		{"another unit", []string{"Range", "rows=0-1"}, 200, text, ""},
		{"backward", []string{"Range", "bytes=9-5"}, 200, text, ""},
		{"no numbers", []string{"Range", "bytes=a-b"}, 200, text, ""},
		{"a sign", []string{"Range", "bytes=-+5"}, 200, text, ""},
		{"beyond the end", []string{"Range", fmt.Sprintf("bytes=%d-", n)}, 416, "out_of_range", fmt.Sprintf("bytes */%d", n)},
		{"nothing", []string{"Range", "bytes=-0"}, 416, "out_of_range", fmt.Sprintf("bytes */%d", n)},
		{"what is known", []string{"If-None-Match", tag, "Range", "bytes=0-9"}, 304, "", ""},
		{"compressed", []string{"Accept-Encoding", "gzip, zstd"}, 200, text, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply := r.Get("full", f.URL, c.headers...)
			body := reply.Text == c.body || c.status == 416 && strings.Contains(reply.Text, c.body)
			if reply.StatusCode != c.status || !body || reply.Header.Get("Content-Range") != c.content {
				t.Errorf("%d %q, %d bytes", reply.StatusCode, reply.Header.Get("Content-Range"), len(reply.Text))
			}
			if reply.Header.Get("Content-Encoding") != "" || len(reply.Header.Values("Cache-Control")) != 1 {
				t.Errorf("the headers are %v", reply.Header)
			}
		})
	}
	head := r.Do(http.MethodHead, "full", f.URL)
	if head.StatusCode != 200 || head.Header.Get("Content-Length") != fmt.Sprint(n) || head.Text != "" {
		t.Errorf("HEAD: %d, %v", head.StatusCode, head.Header)
	}
}

// A restatement makes a revision of its months, and the earlier one stays as it was.
func TestBulk_Restated(t *testing.T) {
	t.Parallel()
	r := bulkRig(t)
	line := assay.Line{GPU: "H200", Region: assay.Global}
	at := apitest.Instant("2026-01-25T10:00:00Z")
	before := bulkFiles(t, r, "full", "")
	old := current(t, before, "gpu-hourly", "2026-01")
	text := r.Get("full", old.URL).Text
	r.Clock = r.Clock.Add(time.Hour)
	now := r.Clock.UnixMilli()
	r.Use(r.Snapshots.Load().With(snapshot.Update{
		Version: 9, Covered: now, Publications: []assay.Publication{
			{Version: 9, PublishedAt: now, Methodology: "1.0.0", Reason: "A late rental", Actor: "ops"},
		},
		Series: []snapshot.SeriesUpdate{{
			Line: line, Grain: assay.Hourly, Version: 9, Published: now, Revisions: []assay.Revision{
				{Point: assay.Point{At: at, Value: 9_876_500_000}, Number: 1, Version: 9},
			},
		}},
	}))
	after := bulkFiles(t, r, "full", "")
	restated := current(t, after, "gpu-hourly", "2026-01")
	if restated.Revision <= old.Revision || restated.Name == old.Name || restated.KnownAt != assay.FormatInstant(now) {
		t.Errorf("restated %+v, before %+v", restated, old)
	}
	old.Current = false
	if !slices.Contains(after, old) {
		t.Errorf("%+v is no longer listed", old)
	}
	if got := r.Get("full", old.URL).Text; got != text {
		t.Error("the earlier revision has changed")
	}
	for _, f := range before {
		if (f.Dataset != "gpu-hourly" || f.Month != "2026-01") && !slices.Contains(after, f) {
			t.Errorf("%+v has changed, and nothing of it was restated", f)
		}
	}
}

// Two nodes that came to their data in other ways have the same files: a download continues at either.
func TestBulk_SameOnEveryNode(t *testing.T) {
	t.Parallel()
	one, other := bulkRig(t), newRig(t)
	other.Clock = inMarch.Add(3 * time.Second)
	// The other node has read the database in another order: everything but the last two versions, then those.
	u := apitest.Update()
	first, second := u, u
	first.Version, first.Publications, first.Series = 5, u.Publications[:2], nil
	for _, s := range u.Series {
		known := s
		known.Version, known.Published = 5, u.Publications[1].PublishedAt
		known.Revisions = slices.DeleteFunc(slices.Clone(s.Revisions), func(r assay.Revision) bool { return r.Version > 5 })
		first.Series = append(first.Series, known)
	}
	second.Realtime, second.Utilization, second.Observations, second.Manifests = nil, nil, family.Batches{}, nil
	second.Publications = u.Publications[2:]
	other.Use(snapshot.New(assay.DefaultCatalog(), 1).With(first).With(second).With(snapshot.Update{
		Version: 8, Covered: inMarch.UnixMilli(), Publications: []assay.Publication{
			{Version: 8, PublishedAt: inMarch.UnixMilli(), Methodology: "1.0.0"},
		},
	}))
	files := bulkFiles(t, one, "full", "")
	if diff := cmp.Diff(files, bulkFiles(t, other, "full", "")); diff != "" {
		t.Fatal(diff)
	}
	for _, f := range files {
		half := fmt.Sprintf("bytes=%d-", f.Size/2)
		begun := one.Get("full", f.URL, "Range", fmt.Sprintf("bytes=0-%d", f.Size/2-1))
		rest := other.Get("full", f.URL, "Range", half, "If-Range", begun.Header.Get("Etag"))
		sum := sha256.Sum256([]byte(begun.Text + rest.Text))
		if rest.StatusCode != http.StatusPartialContent || hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("%s: %d, %x", f.Name, rest.StatusCode, sum)
		}
	}
}

// A month is listed once all of it is published.
func TestBulk_OnlyCompleteMonths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, covered, now, want string }{
		{"the month has not ended", "2026-02-28T23:00:00Z", "2026-02-28T23:30:00Z", "2026-01"},
		{"it has just ended", "2026-03-01T00:00:00Z", "2026-03-01T00:00:01Z", "2026-01"},
		{"a day ago", "2026-03-02T00:00:00Z", "2026-03-02T00:00:01Z", "2026-02"},
		{"its last hours are missing", "2026-02-28T20:00:00Z", "2026-03-09T00:00:01Z", "2026-01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.Clock = time.UnixMilli(apitest.Instant(c.now)).UTC()
			r.Use(r.Snapshots.Load().With(snapshot.Update{Version: 7, Covered: apitest.Instant(c.covered)}))
			newest := ""
			for _, f := range bulkFiles(t, r, "full", "?dataset=gpu-hourly") {
				newest = max(newest, f.Month)
			}
			if newest != c.want {
				t.Errorf("the newest month is %q, want %q", newest, c.want)
			}
		})
	}
}
