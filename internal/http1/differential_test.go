package http1

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"io"
	"log"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// inputs is how many connections TestDifferential compares; make fuzz-http compares many more.
var inputs = flag.Int("inputs", 40_000, "connections that TestDifferential compares")

// TestDifferential serves the same bytes twice, by net/http alone and with this package before it, and compares what
// the handler saw and what came back. Most bytes are requests that were damaged in some way.
func TestDifferential(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var workers sync.WaitGroup
	for worker := range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			b := newBench()
			defer b.close()
			random := rand.New(rand.NewPCG(seed, uint64(worker)))
			for range *inputs / runtime.GOMAXPROCS(0) {
				if text := draw(random); !b.agree(t, split(random, text)) {
					return
				}
			}
		})
	}
	workers.Wait()
}

// FuzzDifferential is TestDifferential with inputs that the fuzzer finds.
func FuzzDifferential(f *testing.F) {
	for _, text := range requests {
		f.Add([]byte(text), uint(0))
		f.Add([]byte(text+text), uint(len(text)/2))
	}
	b := newBench()
	f.Cleanup(b.close)
	f.Fuzz(func(t *testing.T, text []byte, at uint) {
		first := min(int(at%(1<<16)), len(text))
		b.agree(t, [][]byte{text[:first], text[first:]})
	})
}

// Requests that arrive in two pieces are the same wherever they are cut.
func TestDifferential_EveryCut(t *testing.T) {
	t.Parallel()
	b := newBench()
	defer b.close()
	for _, text := range requests {
		text += "HEAD /next HTTP/1.1\r\nHost: assay\r\n\r\n"
		for i := range len(text) {
			if !b.agree(t, [][]byte{[]byte(text[:i]), []byte(text[i:])}) {
				break
			}
		}
		single := make([][]byte, len(text))
		for i := range text {
			single[i] = []byte{text[i]}
		}
		b.agree(t, single)
	}
}

// requests are what the damaged ones are made of.
var requests = []string{
	"GET / HTTP/1.1\r\nHost: assay\r\n\r\n",
	"GET /api/gpu/H100%20SXM/index-history?startDate=2026-01-01&x=%41 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n" +
		"Authorization: Bearer sk_x\r\nAccept-Encoding: gzip, deflate, br\r\nX-Forwarded-For: 10.1.2.3\r\n\r\n",
	"HEAD /head HTTP/1.1\r\nhost: assay.example\r\nuser-agent: curl/8\r\naccept: */*\r\n\r\n",
	"GET /close HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
	"GET /keep HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nX-A: 1\r\nX-A: 2\r\nx-a: 3\r\n\r\n",
	"GET /big HTTP/1.1\r\nHost: a\r\nAccept:\r\n\r\n",
	"GET /chunks HTTP/1.1\r\nHost: a\r\n X: folded\r\n\r\n",
	"GET /204 HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
	"GET /304 HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"x\"\r\n\r\n",
	"GET /500 HTTP/1.1\r\nHost: a\r\nCookie: a=b; c=d\r\n\r\n",
	"GET /short HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /abort HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /ends HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /sized HTTP/1.1\r\nHost: a\r\n\r\n",
	"HEAD /sized HTTP/1.1\r\nHost: a\r\n\r\n",
	"POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
	"GET /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
	"GET /zero HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
	"PUT /chunked HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	"GET /expect HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
	"GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\r\n",
	"GET /old HTTP/1.0\r\n\r\n",
	"GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	"GET http://other/absolute HTTP/1.1\r\nHost: a\r\n\r\n",
	"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"GET /bare HTTP/1.1\nHost: a\n\n",
	"GET /pragma HTTP/1.1\r\nHost: a\r\nPragma: no-cache\r\n\r\n",
	"GET //double/../dots?a=b?c#d HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /q? HTTP/1.1\r\nHost: a\r\nTrailer: X\r\nTE: trailers\r\n\r\n",
	"GET /long HTTP/1.1\r\nHost: a\r\nX-Padding: " + strings.Repeat("p", 5000) + "\r\n\r\n",
	"GET /many HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X-Many: 1\r\n", maxLines) + "\r\n",
}

// fragments are what damaged requests get.
var fragments = []string{
	"\r\n", "\n", "\r", "\r\n\r\n", "\n\n", " ", "\t", ":", ": ", "  ", "%", "%2", "%2F", "%zz", "/", "//", "/./", "?", "#", "*", ",",
	"\x00", "\x01", "\x7f", "\x80", "\xff", "é", "\v", "\f", "\u0085", "(", ")", "\"", "\\", "{", "|", "@", "[", "]", ";", "~", "_", "0", "-",
	"GET ", "HEAD ", "POST ", "get ", " HTTP/1.1", " HTTP/1.0", " HTTP/2.0", " HTTP/1.10", " http/1.1", " HTTP/1.1 ", "HTTP/1.1",
	"Host: b\r\n", "Host:\r\n", "Host : b\r\n", "host: b\r\n", "HOST: b\r\n", "Host: b c\r\n", "Host: é\r\n", "Host: b:80\r\n",
	"Content-Length: 3\r\n", "Content-Length: 0\r\n", "Content-Length: x\r\n", "content-length:3\r\n", "Content-Length: +3\r\n",
	"Transfer-Encoding: chunked\r\n", "transfer-encoding: Chunked\r\n", "Transfer-Encoding: identity\r\n", "Transfer-Encoding : chunked\r\n",
	"Connection: close\r\n", "connection: Close\r\n", "Connection: close, x\r\n", "Connection: keep-alive\r\n", "Connection: upgrade\r\n",
	"Expect: 100-continue\r\n", "Upgrade: h2c\r\n", "Trailer: A\r\n", "Pragma: no-cache\r\n", "Cache-Control: x\r\n", "TE: trailers\r\n",
	" folded\r\n", "\tfolded\r\n", "X\r\n", ": x\r\n", "X:\r\n", "X: \t y \t\r\n", "X-é: 1\r\n", "X: é\r\n", "X: \x00\r\n", "X(: 1\r\n",
	"http://h/", "/api/gpu/H200", "?startDate=2026-01-01",
}

// draw makes the text of a connection: one to three requests, damaged at up to four places.
func draw(random *rand.Rand) []byte {
	var text []byte
	for range 1 + random.IntN(3)*random.IntN(2) {
		text = append(text, requests[random.IntN(len(requests))]...)
	}
	for range random.IntN(5) {
		at := random.IntN(len(text) + 1)
		if random.IntN(3) > 0 { // most damage is done near the beginning, where the grammar is
			at = random.IntN(min(len(text), 80) + 1)
		}
		rest := bytes.Clone(text[at:])
		fragment := fragments[random.IntN(len(fragments))]
		switch random.IntN(5) {
		case 0:
			text = append(append(text[:at], fragment...), rest...)
		case 1: // in place of some
			text = append(append(text[:at], fragment...), rest[min(len(rest), random.IntN(12)):]...)
		case 2:
			text = append(text[:at], rest[min(len(rest), 1+random.IntN(8)):]...)
		case 3:
			if at < len(text) {
				text[at] = byte(random.Uint32())
			}
		case 4: // a part again
			text = append(append(text[:at], rest[:min(len(rest), random.IntN(30))]...), rest...)
		}
	}
	return text
}

// split cuts a text into the pieces in which it arrives.
func split(random *rand.Rand, text []byte) (pieces [][]byte) {
	for random.IntN(2) == 0 && len(text) > 1 && len(pieces) < 5 {
		at := 1 + random.IntN(len(text)-1)
		pieces = append(pieces, text[:at])
		text = text[at:]
	}
	return append(pieces, text)
}

// bench serves connections on both paths.
type bench struct {
	standard *http.Server
	fast     *Server
	conns    chan net.Conn     // for the standard server
	ended    chan struct{}     // a connection of the standard server is closed
	seen     []string          // by the handler
	methods  []string          // of these requests
	known    map[uint64]string // texts, by the hash of what they were made of
	seed     maphash.Seed
}

func newBench() *bench {
	b := &bench{
		conns: make(chan net.Conn), ended: make(chan struct{}), known: map[uint64]string{}, seed: maphash.MakeSeed(),
	}
	b.standard = &http.Server{
		Handler: b, MaxHeaderBytes: 64 << 10, DisableGeneralOptionsHandler: true, ErrorLog: log.New(io.Discard, "", 0),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				b.ended <- struct{}{}
			}
		},
	}
	go func() { _ = b.standard.Serve(b) }()
	b.fast = &Server{
		Handler: b, Changed: func(net.Conn, http.ConnState) {}, Log: slog.New(slog.DiscardHandler),
		HandOff: func(nc net.Conn, unread []byte) {
			c := nc.(*memory)
			c.pieces = append([][]byte{unread}, c.pieces...)
			b.conns <- c
			<-b.ended
		},
	}
	return b
}

func (b *bench) close() { close(b.conns) }

func (b *bench) Accept() (net.Conn, error) {
	if nc, ok := <-b.conns; ok {
		return nc, nil
	}
	return nil, net.ErrClosed
}

func (b *bench) Close() error   { return nil }
func (b *bench) Addr() net.Addr { return &net.TCPAddr{} }

// agree reports whether both paths do the same with a connection.
func (b *bench) agree(t *testing.T, pieces [][]byte) bool {
	t.Helper()
	want := &memory{pieces: append([][]byte(nil), pieces...)}
	b.seen, b.methods = nil, nil
	b.conns <- want
	<-b.ended
	wantSeen, wantBack := b.seen, b.understood(want.out)
	got := &memory{pieces: append([][]byte(nil), pieces...)}
	b.seen, b.methods = nil, nil
	b.fast.ServeConn(got)
	if !slices.Equal(wantSeen, b.seen) {
		t.Errorf("%q:\nnet/http saw %q,\nthis        %q", pieces, wantSeen, b.seen)
		return false
	}
	if gotBack := b.understood(got.out); wantBack != gotBack {
		t.Errorf("%q:\nnet/http responds %q,\nthis             %q", pieces, wantBack, gotBack)
		return false
	}
	return true
}

// ServeHTTP remembers what it sees and responds in as many ways as there are.
func (b *bench) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	b.methods = append(b.methods, r.Method)
	b.seen = append(b.seen, describe(r, body, err))
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Add("X-Twice", "1")
	w.Header().Add("X-Twice", "2")
	switch r.URL.Path {
	case "/204":
		w.WriteHeader(http.StatusNoContent)
	case "/304":
		w.WriteHeader(http.StatusNotModified)
	case "/500":
		http.Error(w, "no", http.StatusInternalServerError)
	case "/big":
		_, _ = w.Write(bytes.Repeat([]byte("b"), 40_000))
	case "/chunks":
		for range 50 {
			_, _ = w.Write(bytes.Repeat([]byte("c"), 1000))
		}
	case "/sized":
		w.Header().Set("Content-Length", "20000")
		_, _ = w.Write(bytes.Repeat([]byte("s"), 20000))
	case "/short":
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "short")
	case "/abort":
		_, _ = io.WriteString(w, "begun")
		panic(http.ErrAbortHandler)
	case "/ends":
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, "last")
	case "/next": // nothing
	default:
		_, _ = io.WriteString(w, "served "+r.RequestURI)
	}
}

// describe lists everything that a handler sees of a request.
func describe(r *http.Request, body []byte, err error) string {
	u := r.URL
	text := make([]byte, 0, 512)
	for _, field := range []string{
		r.Method, r.RequestURI, r.Proto, r.Host, r.RemoteAddr, u.Scheme, u.Opaque, u.Host, u.Path, u.RawPath, u.RawQuery,
		u.Fragment, u.RawFragment, strings.Join(r.TransferEncoding, ","), string(body),
	} {
		text = strconv.AppendQuote(append(text, ' '), field)
	}
	for _, flag := range []bool{
		r.Close, u.ForceQuery, u.OmitHost, u.User != nil, r.TLS != nil, r.Body == http.NoBody, err != nil, len(r.Trailer) > 0,
	} {
		text = strconv.AppendBool(append(text, ' '), flag)
	}
	for _, number := range []int{r.ProtoMajor, r.ProtoMinor, int(r.ContentLength)} {
		text = strconv.AppendInt(append(text, ' '), int64(number), 10)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			text = strconv.AppendQuote(append(append(append(text, ' '), name...), ": "...), value)
		}
	}
	return string(text)
}

// maxKnown is how many texts are remembered at most.
const maxKnown = 1 << 16

// understood is understand with a memory: many connections get the same responses, apart from their dates.
func (b *bench) understood(out []byte) string {
	key := maphash.Bytes(b.seed, append(date.ReplaceAll(out, nil), strings.Join(b.methods, " ")...))
	text, ok := b.known[key]
	if !ok {
		text = understand(out, b.methods)
		if len(b.known) == maxKnown {
			clear(b.known)
		}
		b.known[key] = text
	}
	return text
}

// date is a header line that differs from second to second. No body has lines.
var date = regexp.MustCompile(`\r\nDate: [^\r]{29}`)

// understand is what a client understands of the responses to its requests. Whether a body has its length or is in
// chunks does not matter, nor does the length that a response to HEAD gives.
func understand(out []byte, methods []string) string {
	var text strings.Builder
	reader := bufio.NewReader(bytes.NewReader(out))
	for i := 0; ; i++ {
		request := &http.Request{Method: http.MethodGet} // of an error that no handler has seen
		if i < len(methods) {
			request.Method = methods[i]
		}
		response, err := http.ReadResponse(reader, request)
		if err != nil {
			fmt.Fprintf(&text, "%v after %d", err, reader.Buffered())
			return text.String()
		}
		body, err := io.ReadAll(response.Body)
		response.Header.Del("Date")
		response.Header.Del("Content-Length")
		_ = response.Header.Write(&text) // in order, and a Builder takes everything
		fmt.Fprintf(&text, "%s %v %d %x %v\n", response.Status, response.Close, len(body), crc32.ChecksumIEEE(body), err)
	}
}

// memory is a connection in memory on which pieces of text arrive.
type memory struct {
	pieces [][]byte
	out    []byte
}

func (c *memory) Read(p []byte) (int, error) {
	for len(c.pieces) > 0 && len(c.pieces[0]) == 0 {
		c.pieces = c.pieces[1:]
	}
	if len(c.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.pieces[0])
	c.pieces[0] = c.pieces[0][n:]
	return n, nil
}

func (c *memory) Write(p []byte) (int, error) {
	c.out = append(c.out, p...)
	return len(p), nil
}

func (*memory) Close() error        { return nil }
func (*memory) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 80} }

func (*memory) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1234} }
func (*memory) SetDeadline(time.Time) error      { return nil }
func (*memory) SetReadDeadline(time.Time) error  { return nil }
func (*memory) SetWriteDeadline(time.Time) error { return nil }
