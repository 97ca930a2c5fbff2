package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsServer is a real NATS server with a stream named ROWS, which keeps its messages on the disk.
type natsServer struct {
	t    *testing.T
	dir  string
	cmd  *exec.Cmd
	port string // of the first start: the next one takes it again
	url  string
}

func startNATS(t *testing.T) *natsServer {
	t.Helper()
	needProgram(t)
	s := &natsServer{t: t, dir: t.TempDir(), port: "-1"}
	s.start()
	t.Cleanup(s.kill)
	_, err := s.stream().CreateStream(t.Context(), jetstream.StreamConfig{Name: "ROWS", Subjects: []string{"rows.>"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start starts the server and waits until it has said which port it has.
func (s *natsServer) start() {
	s.t.Helper()
	program, err := filepath.Abs("../../tools/nats/bin/nats-server")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		s.t.Skip("NOT COVERED: the NATS server, which make script builds")
	}
	s.cmd = exec.Command(program, "-js", "-sd", s.dir, "-a", "127.0.0.1", "-p", s.port, "--ports_file_dir", s.dir)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.dir, fmt.Sprintf("nats-server_%d.ports", s.cmd.Process.Pid))
	err = until(patience, 10*time.Millisecond, func() error {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var ports struct{ NATS []string }
		if err := json.Unmarshal(text, &ports); err != nil || len(ports.NATS) == 0 {
			return errors.Join(err, errors.New("no port yet"))
		}
		s.url = ports.NATS[0]
		s.port = s.url[strings.LastIndexByte(s.url, ':')+1:]
		conn, err := nats.Connect(s.url)
		if err == nil {
			conn.Close()
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *natsServer) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *natsServer) stream() jetstream.JetStream {
	s.t.Helper()
	conn, err := nats.Connect(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		s.t.Fatal(err)
	}
	return js
}

// publish publishes messages, each acknowledged by the server.
func (s *natsServer) publish(messages ...string) {
	s.t.Helper()
	js := s.stream()
	for _, text := range messages {
		if _, err := js.Publish(s.t.Context(), "rows.test", []byte(text)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// consumer is what the server knows of a consumer.
func (s *natsServer) consumer() *jetstream.ConsumerInfo {
	s.t.Helper()
	consumer, err := s.stream().Consumer(s.t.Context(), "ROWS", "assay")
	if err != nil {
		s.t.Fatal(err)
	}
	return consumer.CachedInfo()
}

// ingester is assay ingest nats in the background.
type ingester struct {
	t   *testing.T
	cmd *exec.Cmd
	log string
}

func startIngester(t *testing.T, dir string, args ...string) *ingester {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(dir, "ingest.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	g := &ingester{t: t, log: file.Name(), cmd: exec.Command(program, append([]string{
		"ingest", "nats", "--dir", "data", "--stream", "ROWS", "--family", "transactions",
	}, args...)...)}
	g.cmd.Dir, g.cmd.Stdout, g.cmd.Stderr = dir, file, file
	g.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait()
	})
	return g
}

// says waits until the log has a text.
func (g *ingester) says(text string) {
	g.t.Helper()
	err := until(patience, 20*time.Millisecond, func() error {
		log, err := os.ReadFile(g.log)
		if err == nil && !strings.Contains(string(log), text) {
			err = fmt.Errorf("%q is not in\n%s", text, log)
		}
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
}

func natsFolder(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	mustRun(t, "init", "--dir", filepath.Join(dir, "data"), "--no-signing-key")
	return dir
}

// Rows of messages are stored; wrong ones are refused with a reason, and good ones next to them are stored. An empty
// message has no rows.
func TestIngestNATS(t *testing.T) {
	t.Parallel()
	server := startNATS(t)
	dir := natsFolder(t)
	changed := strings.Replace(feedRow(1), `"price":2.40`, `"price":9.99`, 1)
	other := strings.Replace(feedRow(7), `"source":"exchange"`, `"source":"desk"`, 1)
	server.publish(feedRow(1)+feedRow(2), feedRow(3), "no JSON", feedRow(4)+changed, "", feedRow(3), other)
	g := startIngester(t, dir, "--server", server.url, "--source", "exchange")
	g.says(`"messages":7,"stored":4,"known":1,"refused":3`)
	for _, reason := range []string{"ROWS-3", "ROWS-4", "ROWS-7"} {
		g.says(`"message":"` + reason + `","reason":"`)
	}
	server.publish(feedRow(5))
	g.says(`"messages":8,"stored":5,"known":1,"refused":3`)
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	g.says("imported 8 messages: 5 rows new, 1 known before; 3 messages refused")
	wantPrices(t, dir, 5)
	if info := server.consumer(); info.NumAckPending != 0 || info.NumPending != 0 {
		t.Errorf("%d messages are not settled, %d not delivered", info.NumAckPending, info.NumPending)
	}
}

// wantPrices wants the rows from 1 on, each once and as it was first.
func wantPrices(t *testing.T, dir string, rows int) {
	t.Helper()
	seen := map[string]bool{}
	for _, x := range storedTransactions(t, filepath.Join(dir, "data")) {
		if seen[x.ID] || x.Price != 2_400_000_000 {
			t.Errorf("the row %s is doubled or changed: %+v", x.ID, x)
		}
		seen[x.ID] = true
	}
	if len(seen) != rows {
		t.Errorf("%d rows are stored, want %d", len(seen), rows)
	}
}

// The consumer is killed with messages that it has fetched, and then NATS is killed: each row is stored once.
func TestCrash_IngestNATS(t *testing.T) {
	t.Parallel()
	const messages, rowsEach = 200, 100
	server := startNATS(t)
	dir := natsFolder(t)
	list := make([]string, messages)
	for i := range list {
		list[i] = feedRowsText(1+i*rowsEach, 1+(i+1)*rowsEach)
	}
	server.publish(list...)
	first := startIngester(t, dir, "--server", server.url)
	err := until(patience, time.Millisecond, func() error {
		if server.consumerExists() && server.consumer().NumAckPending > 0 {
			return nil
		}
		return errors.New("nothing is delivered yet")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()
	// What the killed process had is delivered again after a while. A consumer whose time is over at once shows it now.
	config := server.consumer().Config
	config.AckWait = time.Second
	if _, err := server.stream().UpdateConsumer(t.Context(), "ROWS", config); err != nil {
		t.Fatal(err)
	}
	second := startIngester(t, dir, "--server", server.url)
	second.says(`"msg":"imported messages"`)
	server.kill()
	server.start()
	server.publish(feedRowsText(1+messages*rowsEach, 1+(messages+1)*rowsEach))
	err = until(patience, 20*time.Millisecond, func() error {
		if info := server.consumer(); info.NumAckPending+int(info.NumPending) > 0 {
			return fmt.Errorf("%d not settled, %d not delivered", info.NumAckPending, info.NumPending)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantPrices(t, dir, (messages+1)*rowsEach)
}

func (s *natsServer) consumerExists() bool {
	_, err := s.stream().Consumer(s.t.Context(), "ROWS", "assay")
	return err == nil
}

// What cannot work ends at once with what is wrong, and no credentials are shown.
func TestIngestNATS_Refuses(t *testing.T) {
	t.Parallel()
	server := startNATS(t)
	dir := natsFolder(t)
	_, err := server.stream().CreateConsumer(t.Context(), "ROWS", jetstream.ConsumerConfig{
		Durable: "careless", AckPolicy: jetstream.AckNonePolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	f := func(want string, args ...string) {
		t.Helper()
		cmd := exec.Command(program, append([]string{"ingest", "nats"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "geheim") {
			t.Errorf("%q: %v\n%s, want %q", args, err, out, want)
		}
	}
	from := []string{"--family", "transactions", "--server", server.url}
	here := append(slices.Clone(from), "--dir", "data")
	rows := append(slices.Clone(here), "--stream", "ROWS")
	f("--stream and --family are required")
	f("must be transactions", "--stream", "ROWS", "--family", "bonds")
	f("must be nats://HOST:PORT", "--server", "http://127.0.0.1")
	f("use --credentials", "--server", "nats://user:geheim@127.0.0.1")
	f("stream NONE", append(here, "--stream", "NONE")...)
	f("would lose rows", append(rows, "--consumer", "careless")...)
	f("no such file", append(rows, "--credentials", "missing")...)
	f("there is no database in missing", append(from, "--stream", "ROWS", "--dir", "missing")...)
	server.kill()
	f("connect to "+server.url, rows...)
}
