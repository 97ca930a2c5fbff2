package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
)

// checker sends requests as a caller and looks for a text in the response.
func checker(t *testing.T, r *rig) func(caller, target string, status int, want string) {
	return func(caller, target string, status int, want string) {
		t.Helper()
		if got := r.Get(caller, target); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s as %q: %d %.500s\nwant %d %s", target, caller, got.StatusCode, got.Text, status, want)
		}
	}
}

func TestRealtime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := checker(t, r)
	const now = "/api/gpu/H200/realtime"
	f("full", now, 200, `"granularity":"realtime","latest":{"timestamp":"2026-02-04T12:34:00.000Z","index_value":2.3019,"transactions":34,"gpu_hours":51,"window_seconds":3600},"count":60,"data":[{"timestamp":"2026-02-04T11:35:00.000Z"`)
	f("full", now+"?minutes=1", 200, `"count":1,"data":[{"timestamp":"2026-02-04T12:34:00.000Z","index_value":2.3019,"transactions":34,"gpu_hours":51}]`)
	f("full", now+"?minutes=1440", 200, `"count":1440,"data":[{"timestamp":"2026-02-03T12:35:00.000Z"`)
	f("full", now+"?minutes=2&order=desc", 200, `"data":[{"timestamp":"2026-02-04T12:34:00.000Z"`)
	f("full", now+"?as_of=2026-02-04T10:00:00Z&minutes=2", 200, `"latest":{"timestamp":"2026-02-04T10:00:00.000Z","index_value":2.3059,"transactions":0,"gpu_hours":0,"window_seconds":3600},"count":2,"data":[{"timestamp":"2026-02-04T09:59:00.000Z"`)
	f("full", now+"?as_of=2026-02-03T12:00:00Z", 200, `"count":1,`)
	f("full", now+"?as_of=2026-02-03T11:59:59Z", 404, `"error":"No data available","message":"No real-time data found for H200"`)
	f("full", "/api/gpu/B200/realtime", 404, `"error":"No data available","message":"No real-time data found for B200"`)
	f("full", now+"?region=mars", 404, `"error":"Not found"`)
	f("full", now+"?minutes=0", 400, `for \"minutes\": must be`)
	f("full", now+"?minutes=1441", 400, "an integer from 1 to 1440")
	f("full", now+"?order=up", 400, `for \"order\": must be`)
	f("premium", now+"?minutes=0", 403, "Hourly and real-time data require a full subscription.")
	f("", now, 401, "key_required")
	r.Clock = apitest.Now.AddDate(0, 0, 1) // the prints have stopped
	f("full", now, 200, `"latest":{"timestamp":"2026-02-04T12:34:00.000Z","index_value":2.3019,"transactions":34,"gpu_hours":51,"window_seconds":3600},"count":0,"data":[]`)
}

func TestVolatility(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := checker(t, r)
	const days, hours = "/api/gpu/H200/volatility?", "/api/gpu/H200/volatility?granularity=hourly&startDate=2026-01-20&endDate=2026-02-04&"
	f("premium", days+"endDate=2026-02-01", 400, `Missing value for \"startDate\": must be YYYY-MM-DD`)
	f("premium", days+"startDate=2026-02-01", 400, `Missing value for \"endDate\": must be`)
	f("premium", days+"startDate=&endDate=2026-02-01", 400, `Missing value for \"startDate\": must be`)
	f("premium", days+"startDate=2026-02-02&endDate=2026-02-01", 400, `for \"startDate\": must be`)
	f("premium", days+"startDate=2026-02-01&endDate=2026-02-01&windowDays=0", 400, `for \"windowDays\": must be`)
	f("premium", days+"startDate=2026-02-01&endDate=2026-02-01&windowDays=366", 400, "an integer from 1 to 365")
	f("premium", days+"startDate=2026-02-01&endDate=2026-02-01&limit=10001", 400, `for \"limit\": must be`)
	f("premium", days+"startDate=2026-02-01&endDate=2026-02-01&granularity=weekly", 400, `for \"granularity\": must be`)
	f("", days+"startDate=2026-02-01&endDate=2026-02-01", 401, "key_required")
	f("premium", days+"startDate=2030-01-01&endDate=2030-01-02", 200, `"count":0,"has_more":false,"data":[]`)
	f("premium", "/api/gpu/H200/volatility?region=eu-west&startDate=2026-02-01&endDate=2026-02-01", 404, "No daily index data found for H200")
	// The first print has no row, the second no volatility, and a window of one never has any.
	f("premium", days+"startDate=2020-01-01&endDate=2025-08-01", 200, `"count":0,`)
	f("premium", days+"startDate=2020-01-01&endDate=2025-08-02", 200, `"count":1,"has_more":false,"data":[{"recorded_at":"2025-08-02T00:00:00.000Z","exact_timestamp":"2025-08-02T20:00:00.000Z","gpu_type":"H200","region":"global","index_value":2.2037,"rolling_volatility":null,"window_days":30}]`)
	f("premium", days+"startDate=2026-02-01&endDate=2026-02-01&windowDays=1", 200, `"rolling_volatility":null,"window_days":1}`)
	f("premium", days+"startDate=2025-08-01&endDate=2026-02-01", 200, `"data":[{"recorded_at":"2026-02-01T00:00:00.000Z"`)
	f("full", hours+"limit=1", 200, `"granularity":"hourly","count":1,"has_more":true,"next":{"endDate":"2026-02-04T11:00:00.000Z"},"data":[{"recorded_at":"2026-02-04T12:00:00.000Z","exact_timestamp":"2026-02-04T12:00:00.000Z"`)

	series := r.Snapshots.Load().Line("H200", assay.Global).Series(assay.Hourly)
	for _, window := range []int{2, 24, 365} {
		for _, order := range []string{"asc", "desc"} {
			got := r.Get("full", fmt.Sprintf("%slimit=10000&windowDays=%d&order=%s", hours, window, order))
			for i := 1; i < series.Len(); i++ {
				v, ok := index.Volatility(index.Returns(series.Reader().Values(max(0, i-window), i+1)), 8760)
				want := fmt.Sprintf(`"exact_timestamp":%q,"gpu_type":"H200","region":"global","index_value":%s,"rolling_volatility":%s,"window_days":%d}`,
					assay.FormatInstant(series.At(i).At), series.At(i).Value, v, window)
				if !ok {
					want = strings.Replace(want, `"rolling_volatility":0,`, `"rolling_volatility":null,`, 1)
				}
				if !strings.Contains(got.Text, want) {
					t.Fatalf("window %d, %s, row %d: no %s", window, order, i, want)
				}
			}
		}
	}
	// Returns before startDate are used: what a row says does not depend on the range.
	whole := r.Get("full", hours+"limit=10000&windowDays=48").Text
	_, last, _ := strings.Cut(r.Get("full", days+"granularity=hourly&startDate=2026-02-04T12:00:00Z&endDate=2026-02-04T12:00:00Z&windowDays=48").Text, `"data":[`)
	if !strings.Contains(whole, strings.TrimSuffix(last, "]}")) {
		t.Errorf("another range has other rows: %s", last)
	}
}

func TestVolumeMetrics(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := checker(t, r)
	const all = "/api/gpu/H200/volume-metrics?"
	// On 4 February: source a at 00:00 and 12:00. On the 3rd at 00:00 both sources, at 12:00 only a.
	f("premium", all+"partial=true&startDate=2026-02-03", 200, `"granularity":"daily","count":2,"has_more":false,"data":[{"recorded_at":"2026-02-04T00:00:00.000Z","exact_timestamp":"2026-02-04T12:00:00.000Z","utilization_ratio":0.6475,"partial":true},{"recorded_at":"2026-02-03T00:00:00.000Z","exact_timestamp":"2026-02-03T12:00:00.000Z","utilization_ratio":`)
	f("full", all+"partial=true&granularity=hourly&limit=1", 200, `"granularity":"hourly","count":1,"has_more":true,"next":{"endDate":"2026-02-04T00:00:00.000Z"},"data":[{"recorded_at":"2026-02-04T12:00:00.000Z","exact_timestamp":"2026-02-04T12:00:00.000Z","utilization_ratio":0.651,"partial":true}]`)
	// Without partial=true the running day and hour are left out; the day or hour before is complete.
	f("premium", all+"startDate=2026-02-03", 200, `"count":1,"has_more":false,"data":[{"recorded_at":"2026-02-03T00:00:00.000Z","exact_timestamp":"2026-02-03T12:00:00.000Z","utilization_ratio":`)
	f("premium", all+"startDate=2026-02-03&partial=false", 200, `"count":1,`)
	f("full", all+"granularity=hourly&limit=1", 200, `"data":[{"recorded_at":"2026-02-04T00:00:00.000Z","exact_timestamp":"2026-02-04T00:00:00.000Z","utilization_ratio":`)
	f("premium", all+"partial=yes", 400, "partial")
	if got := r.Get("premium", all+"startDate=2026-02-03&limit=1&partial=true"); strings.Count(got.Text, `"partial":true`) != 1 {
		t.Errorf("the running day is not marked: %s", got.Text)
	}
	f("premium", all+"order=asc&limit=1", 200, `"data":[{"recorded_at":"2025-12-20T00:00:00.000Z","exact_timestamp":"2025-12-20T12:00:00.000Z","utilization_ratio":0.6035}]`)
	// A row belongs to the range its last reading lies in, and is the mean of its whole day.
	f("premium", all+"partial=true&startDate=2026-02-04T12:00:00Z", 200, `"count":1,"has_more":false,"data":[{"recorded_at":"2026-02-04T00:00:00.000Z","exact_timestamp":"2026-02-04T12:00:00.000Z","utilization_ratio":0.6475,"partial":true}]`)
	f("premium", all+"partial=true&startDate=2026-02-04T12:00:00.001Z", 200, `"count":0,"has_more":false,"data":[]`)
	f("premium", all+"partial=true&startDate=2026-02-04&endDate=2026-02-04T11:00:00Z", 200, `"count":0,`)
	f("premium", all+"endDate=1969-01-01", 200, `"count":0,`)
	// As of before a late source came in, its share is not known; nor is a reading that lay in the future.
	f("premium", all+"partial=true&startDate=2026-02-02&as_of=2026-02-03T23:59:59Z", 200, `"data":[{"recorded_at":"2026-02-03T00:00:00.000Z","exact_timestamp":"2026-02-03T12:00:00.000Z","utilization_ratio":0.6335,"partial":true},`)
	f("premium", all+"startDate=2026-02-03&as_of=2026-02-04", 200, `"count":1,"has_more":false,"data":[{"recorded_at":"2026-02-03T00:00:00.000Z","exact_timestamp":"2026-02-03T12:00:00.000Z"`)
	f("premium", all+"as_of=2025-12-20T00:00:59Z", 404, `"error":"No data available","message":"No utilization data found for H200"`)
	f("premium", "/api/gpu/H100%20SXM/volume-metrics", 404, "No utilization data found for H100 SXM")
	f("premium", all+"region=us-east&limit=1", 200, `"region":"us-east"`)
	f("premium", all+"region=us-west", 404, "No utilization data found for H200")
	f("premium", all+"region=mars", 404, `"error":"Not found"`)
	f("premium", all+"limit=10001", 400, `for \"limit\": must be`)
	f("premium", all+"startDate=soon", 400, `for \"startDate\": must be`)
	f("", all, 401, "key_required")
	one, two := r.Get("full", all+"order=asc").Header.Get("Etag"), r.Get("full", all+"order=desc").Header.Get("Etag")
	readings := []assay.UtilizationReading{
		{Source: "c", GPU: "H200", At: apitest.Instant("2026-01-01"), Rented: 1, Tracked: 1000, Received: 1},
	}
	snap := r.Snapshots.Load()
	r.Use(snap.With(snapshot.Update{Version: 7, Covered: snap.Covered, Utilization: readings}))
	if three := r.Get("full", all+"order=asc").Header.Get("Etag"); one == two || one == three {
		t.Errorf("the ETag does not follow the rows: %s, %s, %s", one, two, three)
	}
}

func TestGPUUtilization(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := checker(t, r)
	const all = "/api/gpu-utilization"
	// B200's newest reading is 48 hours and half a minute old; A100 has none in 7 days, RTX 5090 one at the edge of 30.
	f("premium", all, 200, `{"success":true,"access":"premium","count":3,"data":[{"gpu_type":"A100 SXM4","region":"global","utilization_ratio":null,"avg_7d":null,"avg_30d":`)
	f("premium", all, 200, `{"gpu_type":"B200","region":"global","utilization_ratio":null,"avg_7d":0.`)
	f("premium", all, 200, `"recorded_at":"2026-02-02T12:00:00.000Z"},{"gpu_type":"H200","region":"global","utilization_ratio":0.651,`)
	f("premium", all+"?region=us-west", 200, `"count":1,"data":[{"gpu_type":"B200","region":"us-west",`)
	f("premium", all+"?as_of=2026-02-04T11:59:59.999Z", 200, `{"gpu_type":"B200","region":"global","utilization_ratio":0.`)
	f("premium", all+"?as_of=2026-02-04T12:00:00.000Z", 200, `{"gpu_type":"B200","region":"global","utilization_ratio":null`)
	f("premium", all+"?as_of=2026-02-03T23:59:59.999Z", 200, `"recorded_at":"2026-01-05T00:00:00.000Z"}`)
	f("premium", all+"?region=eu-west", 404, `"error":"No data available","message":"No utilization data found for any GPU"`)
	f("premium", all+"?as_of=2025-01-01", 404, "No utilization data found for any GPU")
	f("premium", all+"?region=mars", 404, `"error":"Not found","message":"No data found for any GPU in the region mars"`)
	f("premium", all+"?as_of=soon", 400, `for \"as_of\": must be`)
	f("", all, 401, "key_required")
	if got := r.Get("premium", all).Text; strings.Contains(got, "RTX") {
		t.Errorf("a GPU without a reading in 30 days is listed: %s", got)
	}
}
