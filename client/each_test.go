package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/client"
)

// collect takes all rows of an iteration, as text.
func collect[T any](t *testing.T, rows iter.Seq2[T, error]) (list []string) {
	t.Helper()
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, texts(t, []T{row})...)
	}
	return list
}

func texts[T any](t *testing.T, rows []T) (list []string) {
	t.Helper()
	for _, row := range rows {
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(text))
	}
	return list
}

// same compares what an iterator yields with what one response has, and how many requests it took.
func same(t *testing.T, got, want []string, requests, wantRequests int) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(want) == 0 {
		t.Errorf("got %d rows, want %d:\n%s\nwant\n%s", len(got), len(want), got, want)
	}
	if requests != wantRequests {
		t.Errorf("it took %d requests, want %d", requests, wantRequests)
	}
}

// The iterators over series yield what one large response has, whatever the size of the parts, the order and the
// granularity.
func TestEachPoint(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(name string, p client.HistoryParams, limit, requests int) {
		t.Run(name, func(t *testing.T) {
			sent := &statuses{}
			c := r.client(t, "full", client.WithHTTPClient(&http.Client{Transport: sent}))
			whole, err := c.IndexHistory(t.Context(), "H200", &p)
			if err != nil {
				t.Fatal(err)
			}
			sent.got = nil
			p.Limit = limit
			points := c.EachPoint(t.Context(), "H200", &p)
			same(t, collect(t, points), texts(t, whole.Data), len(sent.got), requests)
			same(t, collect(t, points), texts(t, whole.Data), len(sent.got), 2*requests) // a second loop begins again
		})
	}
	f("at once", client.HistoryParams{}, 0, 1)
	f("in parts", client.HistoryParams{StartDate: "2026-01-20"}, 4, 4)
	f("one by one", client.HistoryParams{StartDate: "2026-01-30"}, 1, 5)
	f("the last part is full", client.HistoryParams{StartDate: "2026-01-30"}, 5, 1)
	f("newest first", client.HistoryParams{StartDate: "2026-01-20", EndDate: "2026-02-01", Order: "desc"}, 4, 4)
	f("newest first, from the beginning", client.HistoryParams{Order: "desc"}, 100, 2)
	f("hourly", client.HistoryParams{StartDate: "2026-02-01", Granularity: "hourly"}, 30, 3)
	// 40 days are served daily, the last 30 of them alone would be hourly.
	f("auto", client.HistoryParams{StartDate: "2025-12-26", EndDate: "2026-02-03", Granularity: "auto"}, 15, 3)
	f("of the past", client.HistoryParams{StartDate: "2026-01-20", AsOf: "2026-02-03T22:00:00Z"}, 5, 3)
}

func TestEachHourlyPoint(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, order := range []string{"asc", "desc"} {
		sent := &statuses{}
		c := r.client(t, "full", client.WithHTTPClient(&http.Client{Transport: sent}))
		whole, err := c.HourlyHistory(t.Context(), "H200", &client.SeriesParams{Order: order})
		if err != nil {
			t.Fatal(err)
		}
		sent.got = nil
		got := collect(t, c.EachHourlyPoint(t.Context(), "H200", &client.SeriesParams{Order: order, Limit: 100}))
		same(t, got, texts(t, whole.Data), len(sent.got), 2)
	}
}

// An iterator without parameters, and one that is left early.
func TestEachPoint_Left(t *testing.T) {
	t.Parallel()
	sent := &statuses{}
	c := newRig(t).client(t, "", client.WithHTTPClient(&http.Client{Transport: sent}))
	n := 0
	for range c.EachPoint(t.Context(), "H200", nil) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 || len(sent.got) != 1 {
		t.Errorf("%d rows, statuses %v", n, sent.got)
	}
	for _, err := range c.EachPoint(t.Context(), "RTX PRO 6000 WS", nil) {
		if e := failure(t, err); e.Code != "key_required" {
			t.Errorf("got %+v", e)
		}
	}
}

// Rows are yielded as they arrive: the server does not send the second before the client has seen the first.
func TestEachPoint_AsTheyArrive(t *testing.T) {
	t.Parallel()
	seen := make(chan bool)
	c := respond(t, func(out http.ResponseWriter, _ *http.Request) {
		writeJSON(out, 200, seriesHead+row("2026-02-01"))
		out.(http.Flusher).Flush()
		<-seen
		_, _ = io.WriteString(out, ","+row("2026-02-02")+"]}")
	})
	n := 0
	for _, err := range c.EachPoint(t.Context(), "H200", nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			close(seen)
		}
	}
	if n != 2 {
		t.Errorf("got %d rows", n)
	}
}

const seriesHead = `{"success":true,"gpu_type":"H200","region":"global","access":"full","granularity":"daily","count":1,"has_more":false,"data":[`

func row(day string) string { return `{"timestamp":"` + day + `T21:00:00.000Z","index_value":2}` }

// A server that does not keep its promises ends the loop with an error, after the rows that came before.
func TestEachPoint_Dishonest(t *testing.T) {
	t.Parallel()
	more := strings.Replace(seriesHead, `"has_more":false`, `"has_more":true`, 1)
	f := func(name, body, want string, rows int) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := respond(t, func(out http.ResponseWriter, _ *http.Request) { writeJSON(out, 200, body) })
			n := 0
			var last error
			for _, err := range c.EachPoint(t.Context(), "H200", nil) {
				if last = err; err == nil {
					n++
				}
			}
			if last == nil || !strings.Contains(last.Error(), want) || failure(t, last).Code != "bad_response" || n != rows {
				t.Errorf("%d rows and %v, want %d and %s", n, last, rows, want)
			}
		})
	}
	f("the same row again", seriesHead+row("2026-02-01")+","+row("2026-02-01")+"]}", "not in order", 1)
	f("backward", seriesHead+row("2026-02-01")+","+row("2026-01-31")+"]}", "not in order", 1)
	f("the same part again", more+row("2026-02-01")+"]}", "not in order", 1)
	f("more, but nothing", more+"]}", "leads nowhere", 0)
	f("cut off in a row", seriesHead+row("2026-02-01")+`,{"timestamp"`, "unexpected EOF", 1)
	f("cut off between rows", seriesHead+row("2026-02-01"), "unexpected EOF", 1)
	f("cut off after the rows", seriesHead+row("2026-02-01")+"]", "unexpected EOF", 1)
	f("no rows", strings.TrimSuffix(seriesHead, `,"data":[`)+"}", `no "data"`, 0)
	f("an object instead of rows", strings.TrimSuffix(seriesHead, "[")+"{}}", "not a list", 0)
	f("null instead of rows", strings.TrimSuffix(seriesHead, "[")+"null}", "not a list", 0)
	f("a failure", strings.Replace(seriesHead, "true", "false", 1)+"]}", "false", 0)
	f("a page", "<html>", "invalid character", 0)
	f("a row that is too large", seriesHead+`{"timestamp":"`+strings.Repeat("x", 2<<20)+`"}]}`, "too large", 0)
	f("too much before the rows", strings.Replace(seriesHead, "H200", strings.Repeat("x", 2<<20), 1)+"]}", "too large", 0)
	f("a row of another sort", seriesHead+`{"timestamp":"2026-02-01T21:00:00Z","index_value":{}}]}`, "plain decimal", 0)
}

func TestEachSite(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sent := &statuses{}
	c := r.client(t, "full", client.WithHTTPClient(&http.Client{Transport: sent}))
	p := &client.SitesParams{Country: "Norway", Scope: "all"}
	whole, err := c.Sites(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{0, 1} {
		sent.got, p.Limit = nil, limit
		requests := 1
		if limit == 1 {
			requests = len(whole.Sites)
		}
		same(t, collect(t, c.EachSite(t.Context(), p)), texts(t, whole.Sites), len(sent.got), requests)
	}
	if whole.Count != whole.Total || whole.Count < 2 {
		t.Errorf("the fixture has %d of %d sites there: too few for pages", whole.Count, whole.Total)
	}
	for _, err := range c.EachSite(t.Context(), nil) {
		if e := failure(t, err); e.Kind != assay.Invalid {
			t.Errorf("without a region: %+v", e)
		}
	}
}

func TestEachCorrection(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sent := &statuses{}
	c := r.client(t, "full", client.WithHTTPClient(&http.Client{Transport: sent}))
	whole, err := c.Corrections(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sent.got = nil
	got := collect(t, c.EachCorrection(t.Context(), &client.CorrectionsParams{Limit: 1}))
	same(t, got, texts(t, whole.Data), len(sent.got), len(whole.Data))
	same(t, collect(t, c.EachCorrection(t.Context(), nil)), got, len(sent.got), len(whole.Data)+1)
}

// Pages of the families and of notices, which the fixture has too few of.
func TestEach_Pages(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"/api/corrections/coding?limit=2":         `{"success":true,"access":"full","count":2,"has_more":true,"next":"b","data":[` + correctionOf("a1") + "," + correctionOf("a2") + `]}`,
		"/api/corrections/coding?limit=2&since=b": `{"success":true,"access":"full","count":1,"has_more":false,"next":"c","data":[` + correctionOf("b1") + `]}`,
		"/api/notices?limit=2":                    `{"success":true,"count":2,"has_more":true,"data":[` + notice(9) + "," + notice(7) + `]}`,
		"/api/notices?before=7&limit=2":           `{"success":true,"count":1,"has_more":false,"data":[` + notice(3) + `]}`,
	}
	c := respond(t, func(out http.ResponseWriter, in *http.Request) {
		body, ok := pages[in.URL.RequestURI()]
		if !ok {
			t.Errorf("it requests %s", in.URL.RequestURI())
		}
		writeJSON(out, 200, body)
	})
	var got []string
	for row, err := range c.EachFamilyCorrection(t.Context(), "coding", &client.FamilyCorrectionsParams{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row.Reason, string(row.Previous))
	}
	for row, err := range c.EachNotice(t.Context(), &client.NoticesParams{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(row.Number))
	}
	if text := fmt.Sprint(got); text != "[a1 null a2 null b1 null 9 7 3]" {
		t.Errorf("got %s", text)
	}
}

func correctionOf(reason string) string {
	return `{"family":"coding","route":"/api/llm-coding/history","date":"2026-01-30","previous":null,"current":{"value":1},` +
		`"corrected_at":"2026-02-02T09:00:00.000Z","reason":"` + reason + `"}`
}

func notice(number int) string {
	return fmt.Sprintf(`{"number":%d,"published_at":"2026-02-02T09:00:00.000Z","kind":"message","gpu_type":null,"region":null,`+
		`"about":null,"text":"x"}`, number)
}

// A server whose pages lead back does not keep the caller in the loop.
func TestEach_Stuck(t *testing.T) {
	t.Parallel()
	f := func(name, body string, each func(context.Context, *client.Client) iter.Seq2[bool, error]) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := respond(t, func(out http.ResponseWriter, _ *http.Request) { writeJSON(out, 200, body) })
			n := 0
			for _, err := range each(t.Context(), c) {
				if n++; n > 5 {
					t.Fatal("it does not end")
				}
				if err != nil && !strings.Contains(err.Error(), "do not continue") {
					t.Errorf("got %v", err)
				}
			}
		})
	}
	f("a cursor that stays", `{"success":true,"access":"full","count":1,"has_more":true,"next":"x","data":[`+correctionOf("a")+`]}`,
		func(ctx context.Context, c *client.Client) iter.Seq2[bool, error] {
			return anyOf(c.EachFamilyCorrection(ctx, "coding", nil))
		})
	f("notices that are not older", `{"success":true,"count":1,"has_more":true,"data":[`+notice(5)+`]}`,
		func(ctx context.Context, c *client.Client) iter.Seq2[bool, error] {
			return anyOf(c.EachNotice(ctx, nil))
		})
	f("pages without sites", `{"success":true,"access":"full","count":0,"total":9,"has_more":true,"query":{"scope":"all","limit":1,"offset":0},"sites":[]}`,
		func(ctx context.Context, c *client.Client) iter.Seq2[bool, error] { return anyOf(c.EachSite(ctx, nil)) })
}

// anyOf is an iteration without its rows.
func anyOf[T any](rows iter.Seq2[T, error]) iter.Seq2[bool, error] {
	return func(yield func(bool, error) bool) {
		for _, err := range rows {
			if !yield(true, err) {
				return
			}
		}
	}
}

// A response may be longer than what the client allows between two rows.
func TestEachPoint_Many(t *testing.T) {
	t.Parallel()
	const rows = 50_000
	c := respond(t, func(out http.ResponseWriter, _ *http.Request) {
		writeJSON(out, 200, seriesHead)
		at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		for i := range rows {
			comma := ","
			if i == 0 {
				comma = ""
			}
			fmt.Fprintf(out, `%s{"timestamp":"%s","index_value":2.5}`, comma, at.Add(time.Duration(i)*time.Hour).Format(time.RFC3339))
		}
		_, _ = io.WriteString(out, "]}")
	})
	n := 0
	for point, err := range c.EachPoint(t.Context(), "H200", nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; point.IndexValue != 5*assay.One/2 {
			t.Fatalf("row %d is %+v", n, point)
		}
	}
	if n != rows {
		t.Errorf("got %d rows, want %d", n, rows)
	}
}
