//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// generator derives requests from the description. Everything about an exchange follows from the seed and its number,
// so that a failure can be repeated; only the keys and cookies differ from run to run.
type generator struct {
	seed        uint64
	now         time.Time
	description *description
	cast        *cast
}

// form is how an exchange is carried.
type form uint8

const (
	pipelined  form = iota // all requests at once on a connection that is kept
	halfClosed             // likewise, and then the client closes its side
	byClient               // one after the other, by the client of net/http
)

// exchange is a few requests on one connection.
type exchange struct {
	number   uint64
	form     form
	requests []*request
}

// halfCloses tells that the client closes its side after the last request.
func (e *exchange) halfCloses() bool {
	return e.form == halfClosed || e.requests[len(e.requests)-1].ends
}

// mostRequests is how many requests an exchange has at most.
const mostRequests = 24

// exchange makes the exchange of a number.
func (g *generator) exchange(number uint64) *exchange {
	d := newDraw(g.seed, number)
	e := &exchange{number: number}
	count := 1 + d.IntN(mostRequests)
	switch n := d.IntN(100); {
	case n < 4:
		e.form, count = byClient, min(count, 6)
	case n < 9:
		e.form = halfClosed
	}
	for i := range count {
		r := g.request(d, e.form, fmt.Sprintf("x%d-%d", number, i))
		e.requests = append(e.requests, r)
		if r.ends {
			break
		}
	}
	for _, r := range e.requests {
		r.halfClosed = e.form != byClient && e.halfCloses()
	}
	return e
}

// mostHeader is somewhat less than the server takes before the body.
const mostHeader = 60_000

// request makes one request: a valid one first, which is then mutated.
func (g *generator) request(d draw, f form, id string) *request {
	o := pick(d, g.description.operations)
	r := &request{operation: o, id: id, method: o.method, version: "HTTP/1.1"}
	r.header("Host", "assay.example")
	g.cast.enter(d, r)
	g.fillParameters(d, r)
	r.header("X-Request-Id", id)
	g.fillBody(d, r)
	if o.method == "GET" && d.oneIn(12) {
		r.method = "HEAD"
	}
	g.mutate(d, r, f)
	r.write()
	r.broken = r.broken || len(r.raw)-len(r.body) > mostHeader
	if f == byClient && strings.HasPrefix(r.target, "//") {
		r.sendAsAddress()
	}
	return r
}

// sendAsAddress writes a request target that begins with two slashes as the client of net/http sends it: as an address,
// whose host must not be escaped.
func (r *request) sendAsAddress() {
	r.target = "http:" + r.target
	if _, err := url.ParseRequestURI(r.target); err != nil {
		r.broken = true
	}
}

// fillParameters gives the path and the query valid values. Optional parameters are left out now and then.
func (g *generator) fillParameters(d draw, r *request) {
	values := map[string]string{}
	for _, p := range r.operation.parameters {
		value := g.parameter(d, r, p)
		switch {
		case p.In == openapi3.ParameterInPath:
			values["{"+p.Name+"}"] = value
		case p.In != openapi3.ParameterInQuery:
		case p.Required && !d.oneIn(20), g.bounds(p) && !d.oneIn(50), !p.Required && d.oneIn(3):
			r.query = append(r.query, pair{name: p.Name, value: value})
		}
	}
	for name := range strings.SplitSeq(r.operation.template[1:], "/") {
		if value, variable := values[name]; variable {
			name = string(appendEscaped(nil, value, usual))
		}
		r.segments = append(r.segments, name)
	}
}

// bounds tells that without the parameter the response is large. Such a response costs as much as hundreds of others.
func (g *generator) bounds(p *openapi3.Parameter) bool {
	return p.Name == "limit" || p.Name == "bbox"
}

// costlyAsOf is how seldom a request asks for the token prices of a past instant, which the server has to compute.
const costlyAsOf = 300

// parameter draws a valid value of a parameter.
func (g *generator) parameter(d draw, r *request, p *openapi3.Parameter) string {
	switch {
	case p.Name == "id" && r.session != nil && len(r.session.keyIDs) > 0:
		return pick(d, r.session.keyIDs)
	case p.Name == "as_of" && slices.Contains(r.operation.tags, "Tokens") && !d.oneIn(costlyAsOf):
		return g.now.AddDate(1, 0, 0).Format(time.DateOnly)
	}
	return d.valid(p.Schema.Value, g.now)
}

// costlyBody is how seldom a body with a password is whole: the server then spends a twentieth of a second on its hash.
const costlyBody = 60

// fillBody gives a request the body that its operation takes.
func (g *generator) fillBody(d draw, r *request) {
	if r.operation.body == nil {
		return
	}
	fields := map[string]any{}
	properties := r.operation.body.Schema.Value.Properties
	names := sortedKeys(properties)
	for _, name := range names {
		fields[name] = g.bodyValue(d, name, properties[name].Value)
	}
	if hasPassword(names) && !d.oneIn(costlyBody) {
		delete(fields, pick(d, names))
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // texts and numbers
	}
	r.setHeader("Content-Type", "application/json")
	r.setBody(text, byLength)
	if d.oneIn(4) {
		r.framing = chunked
	}
}

// hasPassword tells that one of the fields is checked against a stored hash.
func hasPassword(names []string) bool {
	return slices.Contains(names, "password") || slices.Contains(names, "current")
}

func (g *generator) bodyValue(d draw, name string, schema *openapi3.Schema) any {
	switch {
	case name == "email":
		return "reader" + strconv.Itoa(d.IntN(100_000)) + "@example.com"
	case schema.Type.Is("integer"):
		return d.integer(schema)
	}
	return "abuse " + d.text(16)
}

// mutate applies up to three mutations. A third of the requests stay valid.
func (g *generator) mutate(d draw, r *request, f form) {
	count := [...]int{0, 0, 0, 1, 1, 1, 1, 2, 2, 3}[d.IntN(10)]
	for range count {
		m := &mutations[d.IntN(len(mutations))]
		if m.raw && f == byClient || m.ends && len(r.mutations) > 0 || !m.apply(d, r) {
			continue
		}
		r.mutations = append(r.mutations, m.name)
		r.broken, r.ends = r.broken || m.broken, r.ends || m.ends
		if m.raw {
			return // what is written as bytes is not changed again
		}
	}
}
