package apitest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
)

// recorder records a response. If the server takes the connection over, it keeps the client's end of one.
type recorder struct {
	*httptest.ResponseRecorder
	taken net.Conn // nil unless the connection was taken over
}

// Hijack gives the connection to the server.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	server, client := net.Pipe()
	r.taken = client
	return server, bufio.NewReadWriter(bufio.NewReader(server), bufio.NewWriter(server)), nil
}

// firstEvents reads a stream up to hello and leaves. The body is what was read of it.
func (r *Rig) firstEvents(client net.Conn) *http.Response {
	r.Test.Helper()
	defer client.Close()
	in := bufio.NewReader(client)
	response, err := http.ReadResponse(in, nil)
	r.Must(err)
	var body strings.Builder
	events := bufio.NewReader(response.Body)
	for hello := false; ; {
		line, err := events.ReadString('\n')
		r.Must(err)
		if !strings.HasPrefix(line, "retry: ") { // which is random
			body.WriteString(line)
		}
		if hello = hello || line == "event: hello\n"; hello && line == "\n" {
			break
		}
	}
	response.Body = io.NopCloser(strings.NewReader(body.String()))
	return response
}

// CheckEvent compares the data of an event with its description.
func (r *Rig) CheckEvent(name string, data []byte) {
	r.Test.Helper()
	document, err := defaultDescription()
	r.Must(err)
	place := []string{"components", "schemas", "EventStream", "x-events", name}
	if err := document.checkJSON(data, place); err != nil {
		r.Test.Errorf("the event %s does not fit openapi.yaml: %v\n%s", name, err, data)
	}
}

// Peer is an address of a client.
func (r *Rig) Peer() netip.Addr { return netip.MustParseAddr("192.0.2.1") }
