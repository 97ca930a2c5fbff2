package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/snapshot"
)

// streaming is a rig that serves streams on loopback.
type streaming struct {
	*rig
	address string
}

func newStreaming(t *testing.T, options ...func(*apitest.Config)) *streaming {
	t.Helper()
	r := newRig(t, options...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.Must(err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Serve(ctx, l) })
	running.Go(func() { _ = r.API.RunStreams(ctx) })
	running.Go(func() { _ = r.API.Hub.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return &streaming{r, l.Addr().String()}
}

// reader reads a stream.
type reader struct {
	t    *testing.T
	body io.Closer
	in   *bufio.Reader
}

// event is an event as a reader gets it.
type event struct{ id, name, data string }

func (e event) member(t *testing.T, name string) string {
	t.Helper()
	var data map[string]any
	if err := json.Unmarshal([]byte(e.data), &data); err != nil {
		t.Fatalf("the data of %s is %q: %v", e.name, e.data, err)
	}
	return fmt.Sprint(data[name])
}

// open opens a stream.
func (s *streaming) open(caller, query string, headers ...string) (*reader, *http.Response) {
	s.Test.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+s.address+"/api/stream"+query, nil)
	s.Must(err)
	switch {
	case strings.HasSuffix(caller, " session"):
		request.Header.Set("Cookie", s.Session(caller))
	case caller != "anonymous":
		request.Header.Set("Authorization", "Bearer "+s.Keys[caller])
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := (&http.Transport{DialContext: patiently}).RoundTrip(request)
	s.Must(err)
	s.Test.Cleanup(func() { response.Body.Close() })
	return &reader{s.Test.(*testing.T), response.Body, bufio.NewReader(response.Body)}, response
}

// patiently connects for as long as any test waits for an event.
func patiently(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(30 * time.Second))
	}
	return conn, err
}

// next reads the next event; without a name at the end.
func (r *reader) next() (e event) {
	r.t.Helper()
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return e
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.name != "" {
				return e
			}
		}
	}
}

// until reads up to an event of a kind, and returns the names of those before, and that event.
func (r *reader) until(name string) (before []string, e event) {
	r.t.Helper()
	for e = r.next(); e.name != name; e = r.next() {
		if e.name == "" {
			r.t.Fatalf("the stream ended before %q, after %v", name, before)
		}
		before = append(before, e.name)
	}
	return before, e
}

// publish makes the next version current: an hour and a day of two GPUs, and a notice, which comes last.
func (s *streaming) publish() {
	current := s.Snapshots.Load()
	version := current.Version + 1
	at := apitest.Instant("2026-02-04T13:00:00Z") + (version-8)*assay.Hour
	u := snapshot.Update{
		Version: version, Covered: at,
		Publications: []assay.Publication{{Version: version, PublishedAt: at + 1, Methodology: "1.0.0"}},
		Notices:      []assay.Notice{{Number: version, At: at, Kind: assay.MessageNotice, Text: fmt.Sprint(version)}},
	}
	for _, gpu := range []string{"H200", "RTX PRO 6000 WS"} {
		for _, grain := range assay.Grains {
			u.Series = append(u.Series, snapshot.SeriesUpdate{
				Line: assay.Line{GPU: gpu, Region: assay.Global}, Grain: grain, Version: version, Published: at + 1,
				Revisions: []assay.Revision{{Point: assay.Point{At: at, Value: assay.Nanos(version) * 1e9}, Version: version}},
			})
		}
	}
	s.Use(current.With(u))
}

func TestStream_WhoGetsWhat(t *testing.T) {
	t.Parallel()
	for _, standardOnly := range []bool{false, true} {
		s := newStreaming(t, func(c *apitest.Config) { c.Web.StandardHTTP = standardOnly })
		type want struct {
			caller, query, access string
			events                []string
		}
		wants := []want{
			{"anonymous", "", "public-3mo", []string{"day H200", "price H200"}},
			{"free session", "", "public-3mo", []string{"day H200", "price H200"}},
			{"premium", "", "premium", []string{
				"day H200", "price H200", "day RTX PRO 6000 WS", "price RTX PRO 6000 WS",
			}},
			{"full", "", "full", []string{
				"day H200", "hour H200", "price H200", "day RTX PRO 6000 WS", "hour RTX PRO 6000 WS", "price RTX PRO 6000 WS",
			}},
			{"full session", "?event=hour,notice", "full", []string{"hour H200", "hour RTX PRO 6000 WS"}},
			{"full", "?event=day&event=notice", "full", []string{"day H200", "day RTX PRO 6000 WS"}},
			{"full", "?gpu=H200,B200", "full", []string{"day H200", "hour H200", "price H200"}},
			{"full", "?region=us-east", "full", nil},
			{"full", "?family=gpu&gpu=RTX%20PRO%206000%20WS&event=day,notice", "full", []string{"day RTX PRO 6000 WS"}},
		}
		readers := make([]*reader, len(wants))
		for i, w := range wants {
			var response *http.Response
			readers[i], response = s.open(w.caller, w.query)
			hello := readers[i].next()
			if hello.name != "hello" || hello.member(t, "access") != w.access || hello.member(t, "version") != "7" {
				t.Errorf("%s: the first event is %v", w.caller, hello)
			}
			if response.Header.Get("X-Accel-Buffering") != "no" || response.Header.Get("Cache-Control") != "no-store" ||
				response.Header.Get("Content-Type") != "text/event-stream" || response.Header.Get("X-Request-Id") == "" {
				t.Errorf("%s: the headers are %v", w.caller, response.Header)
			}
		}
		s.publish()
		for i, w := range wants {
			t.Run(fmt.Sprint(w.caller, w.query, " standard ", standardOnly), func(t *testing.T) {
				var got []string
				for e := readers[i].next(); e.name != "notice"; e = readers[i].next() {
					if e.name == "" {
						t.Fatalf("the stream ended after %v", got)
					}
					got = append(got, e.name+" "+e.member(t, "gpu_type"))
				}
				if !slices.Equal(got, w.events) {
					t.Errorf("got %q, want %q", got, w.events)
				}
			})
		}
	}
}

// The data of every event is as the description has it.
func TestStream_AsDescribed(t *testing.T) {
	t.Parallel()
	s := newStreaming(t)
	reader, _ := s.open("full", "")
	reader.next()
	s.publish()
	described := map[string]bool{}
	for {
		e := reader.next()
		s.CheckEvent(e.name, []byte(e.data))
		if described[e.name] = true; e.name == "notice" {
			break
		}
	}
	if len(described) != 4 {
		t.Errorf("the events were %v", described)
	}
}

func TestStream_Resumes(t *testing.T) {
	t.Parallel()
	s := newStreaming(t, func(c *apitest.Config) { c.Web.Streams.PerKey = 100 })
	live, _ := s.open("full", "")
	hello := live.next()
	s.publish()
	s.publish()
	ids := []string{hello.id}
	var names []string
	for range 2 {
		for e := live.next(); ; e = live.next() {
			names, ids = append(names, e.name+" "+e.data), append(ids, e.id)
			if e.name == "notice" {
				break
			}
		}
	}
	for i, id := range ids {
		t.Run(fmt.Sprint("after event ", i), func(t *testing.T) {
			how := []string{"Last-Event-ID", id}
			query := ""
			if i%2 == 1 {
				how, query = nil, "?last_event_id="+id
			}
			again, _ := s.open("full", query, how...)
			if hello := again.next(); hello.name != "hello" || hello.member(t, "resumed") != "true" || hello.id != id {
				t.Errorf("the first event is %v", hello)
			}
			// Of a price only the current one is sent again, and a notice may come after a later publication.
			want := slices.DeleteFunc(slices.Clone(names[i:]), func(e string) bool {
				return strings.HasPrefix(e, "price ") && strings.Contains(e, `"version":8`)
			})
			got := []string{}
			for range want {
				e := again.next()
				got = append(got, e.name+" "+e.data)
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%.1000s", diff)
			}
		})
	}
}

func TestStream_Gap(t *testing.T) {
	t.Parallel()
	s := newStreaming(t)
	live, _ := s.open("full", "")
	hello := live.next()
	s.Use(apitest.Snapshot().With(snapshot.Update{Version: 8, Publications: []assay.Publication{
		{Version: 8, PublishedAt: apitest.Now.UnixMilli(), Methodology: "1.0.0"},
		{Version: 9, PublishedAt: apitest.Now.UnixMilli() + 30*assay.Day, Methodology: "1.0.0"},
	}}))
	live.until("gap") // readers who come now find what was published
	f := func(caller, id, reason, catchUp string) {
		t.Run(caller+" "+reason, func(t *testing.T) {
			reader, _ := s.open(caller, "", "Last-Event-ID", id)
			gap := reader.next()
			if gap.name != "gap" || gap.member(t, "reason") != reason || !strings.HasPrefix(gap.member(t, "catch_up"), catchUp) {
				t.Errorf("the first event is %v", gap)
			}
			s.CheckEvent("gap", []byte(gap.data))
			if hello := reader.next(); hello.name != "hello" || hello.member(t, "resumed") != "false" {
				t.Errorf("the second event is %v", hello)
			}
			if caller == "full" {
				if reply := s.Get("full", gap.member(t, "catch_up")); reply.StatusCode != http.StatusOK {
					t.Errorf("catching up: %s", reply.Text)
				}
			}
		})
	}
	f("full", "garbage", "unknown_id", "/api/corrections")
	f("anonymous", strings.Repeat("8", 5000), "unknown_id", "/api/daily-index/all")
	f("full", hello.id, "too_old", "/api/corrections?since=")
	f("full", "8"+hello.id[1:], "unknown_id", "/api/corrections")
}

// A reader who comes from a node that has read more gets nothing twice from this one; and one whose events are of
// another history learns that soon.
func TestStream_Ahead(t *testing.T) {
	t.Parallel()
	ahead, behind := newStreaming(t), newStreaming(t)
	first, _ := ahead.open("full", "")
	first.next()
	ahead.publish()
	_, last := first.until("notice")

	reader, _ := behind.open("full", "", "Last-Event-ID", last.id)
	if hello := reader.next(); hello.member(t, "resumed") != "true" {
		t.Errorf("the first event is %v", hello)
	}
	behind.publish()
	behind.publish()
	if before, e := reader.until("notice"); len(before) != 6 || e.member(t, "number") != "9" {
		t.Errorf("after %v came %v", before, e)
	}

	restored := newStreaming(t)
	reader, _ = restored.open("full", "", "Last-Event-ID", last.id)
	reader.next()
	other := apitest.Snapshot().With(snapshot.Update{Version: 8, Publications: []assay.Publication{
		{Version: 8, PublishedAt: apitest.Now.UnixMilli() + 1, Methodology: "1.0.0"},
	}, Notices: []assay.Notice{{Number: 8, At: 1, Kind: assay.MessageNotice, Text: "another history"}}})
	restored.Use(other)
	if before, gap := reader.until("gap"); gap.member(t, "reason") != "history_changed" {
		t.Errorf("after %v came %v", before, gap)
	}
}

// A database that is restored has less than before: every reader learns that.
func TestStream_WentBack(t *testing.T) {
	t.Parallel()
	s := newStreaming(t)
	reader, _ := s.open("anonymous", "")
	reader.next()
	s.publish()
	reader.until("notice")
	s.Use(apitest.Snapshot())
	if before, gap := reader.until("gap"); len(before) > 0 || gap.member(t, "reason") != "history_changed" {
		t.Errorf("after %v came %v", before, gap)
	}
}

func TestStream_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, query string, status int, code string) {
		t.Run(caller+query, func(t *testing.T) {
			reply := r.Get(caller, "/api/stream"+query)
			if reply.StatusCode != status || !strings.Contains(reply.Text, `"code":"`+code+`"`) {
				t.Errorf("%d %s", reply.StatusCode, reply.Text)
			}
		})
	}
	f("anonymous", "?event=tick", 400, "invalid_parameter")
	f("anonymous", "?family=gpus", 400, "invalid_parameter")
	f("anonymous", "?gpu=H300", 400, "unknown_gpu")
	f("anonymous", "?region=moon", 404, "unknown_region")
	f("anonymous", "?event=%zz", 400, "invalid_parameter")
	f("premium", "?event=day,print", 403, "full_required")
	f("premium", "?family=sites", 403, "full_required")
	f("anonymous", "?family=gpu,memory", 401, "key_required")
	f("anonymous", "?gpu=RTX%20PRO%206000%20WS", 401, "key_required")
	f("revoked", "", 401, "inactive_key")
}

func TestStream_Head(t *testing.T) {
	t.Parallel()
	s := newStreaming(t)
	request, err := http.NewRequest(http.MethodHead, "http://"+s.address+"/api/stream", nil)
	s.Must(err)
	response, err := http.DefaultTransport.RoundTrip(request)
	s.Must(err)
	defer response.Body.Close()
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" || s.API.Hub.Len() != 0 {
		t.Errorf("%d %v, %d streams", response.StatusCode, response.Header, s.API.Hub.Len())
	}
}

func TestStream_Places(t *testing.T) {
	t.Parallel()
	for _, standardOnly := range []bool{false, true} {
		s := newStreaming(t, func(c *apitest.Config) {
			c.Web.StandardHTTP = standardOnly
			c.Web.Streams.PerKey, c.Web.Streams.PerAddress = 2, 1
		})
		f := func(caller string, places int) {
			t.Run(fmt.Sprint(caller, " standard ", standardOnly), func(t *testing.T) {
				var first *reader
				for range places {
					first, _ = s.open(caller, "")
					if e := first.next(); e.name != "hello" {
						t.Fatalf("got %v", e)
					}
				}
				refused, response := s.open(caller, "")
				text, _ := io.ReadAll(refused.in)
				if response.StatusCode != 429 || !strings.Contains(string(text), `"too_many_streams"`) ||
					response.Header.Get("Retry-After") != "10" {
					t.Errorf("%d %s", response.StatusCode, text)
				}
				first.body.Close()
				for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
					again, response := s.open(caller, "")
					if response.StatusCode == 200 || time.Now().After(deadline) {
						if e := again.next(); e.name != "hello" {
							t.Errorf("the place is not free again: %v", e)
						}
						return
					}
				}
			})
		}
		f("full", 2)
		f("full session", 2)
		f("anonymous", 1)
	}
}

// Signing out ends the streams of the session. Those of other accounts continue.
func TestStream_SignOut(t *testing.T) {
	t.Parallel()
	s := newStreaming(t)
	reader, _ := s.open("premium session", "")
	reader.next()
	other, _ := s.open("full session", "")
	other.next()
	token := strings.TrimPrefix(s.Session("premium session"), "assay_session=")
	s.Must(s.Accounts.SignOut(t.Context(), token, s.Peer()))
	bye := reader.next()
	if bye.name != "bye" || bye.member(t, "reason") != "key_revoked" || reader.next().name != "" {
		t.Errorf("got %v", bye)
	}
	s.CheckEvent("bye", []byte(bye.data))
	s.publish()
	if before, _ := other.until("notice"); len(before) == 0 {
		t.Error("the other session gets nothing")
	}
}

// A server that shuts down says so, and does not wait for its streams.
func TestStream_Shutdown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.Must(err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- r.Serve(ctx, l) }()
	s := &streaming{r, l.Addr().String()}
	reader, _ := s.open("anonymous", "")
	reader.next()
	stop()
	if bye := reader.next(); bye.name != "bye" || bye.member(t, "reason") != "shutdown" {
		t.Errorf("got %v", bye)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
