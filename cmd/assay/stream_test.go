package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay/internal/store/storetest"
	programs "github.com/assaydata/assay/tools/process"
)

// sse is a stream that is being read.
type sse struct {
	body   *http.Response
	in     *bufio.Reader
	lastID string
}

// sseEvent is an event as its name and its data.
type sseEvent struct{ name, data string }

// openStream opens a stream, after the event with an id.
func openStream(ctx context.Context, url, key, lastID string) (*sse, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/stream", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	if lastID != "" {
		request.Header.Set("Last-Event-ID", lastID)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, errors.New(response.Status)
	}
	return &sse{response, bufio.NewReader(response.Body), lastID}, nil
}

// next reads the next event.
func (s *sse) next() (e sseEvent, err error) {
	id := ""
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return e, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.name != "" {
				if id != "" {
					s.lastID = id
				}
				return e, nil
			}
		}
	}
}

// streamReader reads events until the context ends, and connects again wherever connect leads.
type streamReader struct {
	key     string
	url     func() string
	opened  chan struct{} // closed with the first hello
	mu      sync.Mutex
	events  []sseEvent // guarded by mu
	gaps    int        // guarded by mu
	resumed int        // guarded by mu
	current *sse       // guarded by mu
}

func newStreamReader(key string, url func() string) *streamReader {
	return &streamReader{key: key, url: url, opened: make(chan struct{})}
}

func (r *streamReader) run(ctx context.Context) {
	lastID := ""
	for ctx.Err() == nil {
		stream, err := openStream(ctx, r.url(), r.key, lastID)
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond): // as a client waits before it tries again
			}
			continue
		}
		r.mu.Lock()
		r.current = stream
		r.mu.Unlock()
		for {
			e, err := stream.next()
			if err != nil {
				break
			}
			r.take(e)
		}
		lastID = stream.lastID
		stream.body.Body.Close()
	}
}

func (r *streamReader) take(e sseEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.name {
	case "hello":
		if strings.Contains(e.data, `"resumed":true`) {
			r.resumed++
		} else {
			close(r.opened)
		}
	case "gap":
		r.gaps++
	case "bye":
	default:
		r.events = append(r.events, e)
	}
}

// hop ends the connection in the middle of whatever comes.
func (r *streamReader) hop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current.body.Body.Close()
}

// values are the events but for prices, of which only the current one is sent again, in the order of their text.
func (r *streamReader) values() (values, prices []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.name == "price" {
			prices = append(prices, e.data)
		} else {
			values = append(values, e.name+" "+e.data)
		}
	}
	slices.Sort(values)
	slices.Sort(prices)
	return values, prices
}

func (r *streamReader) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

// streamDays is how many days are published while readers listen.
const streamDays = 12

// hoursPerDay is how many values a day has: 24 hours, in a region and worldwide.
const hoursPerDay = 2 * 24

// streamingMarket is a database with a transaction in every hour of some days.
type streamingMarket struct {
	t        *testing.T
	dir      string // of files
	database string // as a setting
	key      string // a Full key
	started  int    // nodes
}

// run runs the program on the database.
func (m *streamingMarket) run(line string) string {
	m.t.Helper()
	cmd := exec.Command(program, strings.Fields(line)...)
	cmd.Dir, cmd.Env = m.dir, []string{"PATH=" + os.Getenv("PATH"), m.database}
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("assay %s: %v\n%s", line, err, out)
	}
	return strings.TrimSpace(string(out))
}

// publish publishes the next day.
func (m *streamingMarket) publish(day int) {
	m.t.Helper()
	m.run(fmt.Sprintf("publish --from 2025-06-%02d --to 2025-06-%02d", 10+day, 11+day))
}

// serve starts a node that reads.
func (m *streamingMarket) serve(flags ...string) *process {
	m.t.Helper()
	m.started++
	args := append([]string{"serve", "--role", "read", "--key-limit", "1000000"}, flags...)
	p, err := startServerWith([]string{m.database}, m.dir, fmt.Sprint("node", m.started), args...)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(p.kill)
	return p
}

// newStreamingMarket fills a database and publishes the first day.
func newStreamingMarket(t *testing.T, address string) *streamingMarket {
	t.Helper()
	m := &streamingMarket{t: t, dir: t.TempDir(), database: "ASSAY_STORE=" + address}
	var rows strings.Builder
	rows.WriteString("id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n")
	from := time.Date(2025, 6, 9, 0, 15, 0, 0, time.UTC)
	for i := range 24 * (streamDays + 2) {
		at := from.Add(time.Duration(i) * time.Hour).Format(time.RFC3339)
		fmt.Fprintf(&rows, "t%d,exchange,%s,H100 SXM,us-east,2.%03d,1,1,Alder,true\n", i, at, i)
	}
	if err := os.WriteFile(filepath.Join(m.dir, "rows.csv"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	m.run("import transactions rows.csv")
	m.publish(0)
	m.key = anyKey.FindString(m.run("key create --tier full --name reader"))
	return m
}

var anyKey = regexp.MustCompile(`sk_(live|prem)_\w+`)

// A reader whose nodes are killed, and who moves from node to node, gets what a reader gets who is never disconnected:
// nothing is missing, and nothing comes twice.
func TestStream_Failover(t *testing.T) {
	t.Parallel()
	needProgram(t)
	storetest.EachAddress(t, func(t *testing.T, address string) {
		m := newStreamingMarket(t, address)
		steady, other := m.serve(), m.serve()
		witness := newStreamReader(m.key, func() string { return steady.url })
		var turn int
		var mu sync.Mutex
		nodes := []*process{other, steady}
		hopper := newStreamReader(m.key, func() string {
			mu.Lock()
			defer mu.Unlock()
			turn++
			return nodes[turn%2].url
		})
		ctx, stop := context.WithCancel(t.Context())
		var reading sync.WaitGroup
		for _, r := range []*streamReader{witness, hopper} {
			reading.Go(func() { r.run(ctx) })
			<-r.opened
		}
		for day := range streamDays {
			m.publish(1 + day)
			if day%4 != 1 {
				hopper.hop()
				continue
			}
			nodes[0].kill()
			restarted := m.serve()
			mu.Lock()
			nodes[0] = restarted
			mu.Unlock()
		}
		const values = streamDays * hoursPerDay
		awaitEvents(t, witness, values)
		err := until(patience, 10*time.Millisecond, func() error {
			if got, _ := hopper.values(); len(got) < values {
				return fmt.Errorf("%d values of %d", len(got), values)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		stop()
		reading.Wait()
		want, prices := witness.values()
		got, seen := hopper.values()
		if diff := cmp.Diff(want, got); diff != "" || len(want) != values {
			t.Errorf("%d values instead of %d; the reader who was disconnected (-want +got):\n%.2000s", len(want), values, diff)
		}
		if twice := len(seen) - len(slices.Compact(slices.Clone(seen))); twice > 0 {
			t.Errorf("%d of %d prices came twice", twice, len(seen))
		}
		if len(prices) != 2*streamDays || len(seen) == 0 || seen[len(seen)-1] != prices[len(prices)-1] {
			t.Errorf("%d prices, and %d for the reader who was disconnected", len(prices), len(seen))
		}
		if witness.resumed != 0 || hopper.resumed < 3 || witness.gaps+hopper.gaps > 0 {
			t.Errorf("the readers were disconnected %d and %d times, with %d gaps",
				witness.resumed, hopper.resumed, witness.gaps+hopper.gaps)
		}

		revoked, err := openStream(t.Context(), steady.url, m.key, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := revoked.next(); err != nil {
			t.Fatal(err)
		}
		m.run("key revoke " + strings.Split(m.key, "_")[2])
		began := time.Now() // the command has committed
		bye, err := revoked.next()
		if err != nil || bye.name != "bye" || !strings.Contains(bye.data, `"key_revoked"`) {
			t.Errorf("after the key was revoked came %v, %v", bye, err)
		}
		if took := time.Since(began); took > time.Second && !testing.Short() {
			t.Errorf("the stream of a revoked key lasted %v", took)
		}
	})
}

// awaitEvents waits until a reader has so many events.
func awaitEvents(t *testing.T, r *streamReader, n int) {
	t.Helper()
	err := until(patience, time.Millisecond, func() error {
		if got := r.count(); got < n {
			return fmt.Errorf("%d events of %d", got, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// haproxyConfig is the whole configuration in the documentation, whose other blocks are parts.
var haproxyConfig = regexp.MustCompile("(?s)```haproxy\n(defaults\n.*?)```")

// Through HAProxy, as the documentation configures it, events arrive at once, and a reader whose node is killed
// continues at another one.
func TestStream_BehindHAProxy(t *testing.T) {
	t.Parallel()
	needProgram(t)
	const haproxy = "/usr/sbin/haproxy"
	if _, err := os.Stat(haproxy); err != nil {
		t.Skip("NOT COVERED: HAProxy; scripts/need haproxy installs it")
	}
	m := newStreamingMarket(t, storetest.SQLite(t))
	text, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	found := haproxyConfig.FindSubmatch(text)
	if found == nil {
		t.Fatal("docs/operate.md has no configuration of HAProxy for streams")
	}
	ports, err := programs.SparePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	front := programs.Loopback(ports[0])
	config := strings.Replace(string(found[1]), ":443 ssl crt /etc/haproxy/certs/", front, 1)
	var nodes []*process
	for _, server := range []string{"10.0.0.21:8080", "10.0.0.22:8080", "10.0.0.23:8080"} {
		node := m.serve("--trusted-proxies", "127.0.0.1")
		nodes = append(nodes, node)
		config = strings.ReplaceAll(config, server, strings.TrimPrefix(node.url, "http://"))
	}
	file := filepath.Join(m.dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy := exec.Command(haproxy, "-db", "-f", file)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- proxy.Wait() }()
	t.Cleanup(func() {
		_ = proxy.Process.Kill()
		<-ended
	})

	reader := newStreamReader(m.key, func() string { return "http://" + front })
	ctx, stop := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	reading.Go(func() { reader.run(ctx) })
	select {
	case <-reader.opened:
	case err := <-ended:
		ended <- err
		stop()
		t.Fatalf("HAProxy has ended: %v", err)
	}
	m.publish(1)
	const perDay = hoursPerDay + 2 // and prices
	awaitEvents(t, reader, perDay)
	// The first connection is at the first node. The last node is the only one that stays.
	for i, node := range nodes[:2] {
		node.kill()
		m.publish(2 + i)
		awaitEvents(t, reader, (2+i)*perDay)
	}
	stop()
	reading.Wait()
	values, _ := reader.values()
	if unique := slices.Compact(slices.Clone(values)); len(unique) != 3*hoursPerDay ||
		len(values) != 3*hoursPerDay || reader.gaps > 0 {
		t.Errorf("%d events, %d different ones, %d gaps", len(values), len(unique), reader.gaps)
	}
	if reader.resumed == 0 {
		t.Error("the reader was never disconnected")
	}
}
