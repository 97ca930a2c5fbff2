package web

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/assaydata/assay/internal/table"
)

// A route with columns also sends its rows as a table, if the parameter format or the Accept header asks for one. The
// handler does the same as for JSON, and decides the same; the text that it makes is turned into the table on its way
// out.

// WantsTable reports whether the response will be sent as a table.
func (r *Request) WantsTable() bool { return r.format != nil }

// AddFacts adds what is to be known of the response as a whole, for a table that has room for it.
func (r *Request) AddFacts(facts ...table.Fact) { r.facts = append(r.facts, facts...) }

// HasFacts reports whether AddFacts was called.
func (r *Request) HasFacts() bool { return len(r.facts) > 0 }

// formatNames are the values of the parameter format.
var formatNames = func() []string {
	names := []string{"json"}
	for _, f := range table.Formats {
		names = append(names, f.Name)
	}
	return names
}()

// readFormat reads which form of the rows is requested. The parameter counts more than the header. A query that cannot
// be read is refused by handlers that read it, and by no others.
func (r *Request) readFormat() error {
	if r.parseParams() != nil {
		return nil //nolint:nilerr // see above
	}
	name, err := r.OneOf("format", "", formatNames...)
	if err != nil {
		return err
	}
	if name == "" {
		r.format = acceptedFormat(r.http.Header["Accept"])
		return nil
	}
	for _, f := range table.Formats {
		if f.Name == name {
			r.format = f
		}
	}
	return nil
}

// acceptedFormat is the table that an Accept header prefers to JSON; nil if it does not. It must name the table: one
// who takes anything gets JSON.
func acceptedFormat(header []string) (best *table.Format) {
	if len(header) == 0 || len(header) == 1 && header[0] == "*/*" {
		return nil
	}
	bestQ := max(AcceptQuality(header, jsonType), AcceptQuality(header, "application/*"))
	for _, f := range table.Formats {
		if q := AcceptQuality(header, f.MediaType()); q > bestQ {
			best, bestQ = f, q
		}
	}
	return best
}

// sendTable writes the rows as a table.
func (r *Request) sendTable(a *Response, e encoding) {
	if r.format.Packed {
		e = identity
	}
	out := tableWriter{request: r, modified: a.modified(), tag: r.tableTag(a), encoding: e}
	for _, e := range [...]encoding{e, identity} { // a short table is not compressed, and is not known to be short yet
		if tag := etag(out.tag, e); matches(r.http.Header["If-None-Match"], tag) {
			out.setVersion(e)
			r.out.headers.contentType = ""
			r.out.WriteHeader(http.StatusNotModified)
			return
		}
	}
	about := r // what the table shows
	if r.inner != nil {
		about = r.inner
	}
	envelope := table.NewEnvelope(r.format, about.route.Table, &out)
	envelope.Begin = func(facts []table.Fact) error {
		out.name = about.fileName(facts)
		return nil
	}
	a.writeTo(envelope)
	envelope.Facts = append(envelope.Facts, r.facts...)
	if err := envelope.Close(); err != nil && out.ended == nil {
		panic(err) // the row is ours, and its columns are not: the caller must not take the table for a whole one
	}
	out.finish()
}

// tableTag identifies the table.
func (r *Request) tableTag(a *Response) string {
	parts := [][]byte{[]byte(a.Tag()), []byte(r.format.Name)}
	if r.format.Facts {
		for _, f := range r.facts {
			parts = append(parts, []byte(f.Name), []byte(f.Value))
		}
	}
	return Tag(parts...)
}

// modified is when the response last changed, or 0.
func (r *Response) modified() int64 {
	if r.form == ready {
		return r.body.modified
	}
	return r.rows.version.Modified
}

// writeTo writes the whole text.
func (r *Response) writeTo(w io.Writer) {
	if r.form == ready {
		_, _ = w.Write(r.body.Text()) // an error stays with the writer
		return
	}
	r.rows.writeTo(w)
}

// fileName is a name for the table as a file: what was requested, which the path and the facts say.
func (r *Request) fileName(facts []table.Fact) string {
	name := slug(strings.TrimPrefix(r.http.URL.Path, "/api/"))
	for _, f := range facts {
		if f.Name == "granularity" || f.Name == "region" && f.Value != "global" {
			name += "-" + slug(f.Value)
		}
	}
	for _, param := range [...]string{"date", "startDate", "endDate", "as_of"} {
		if value, _ := r.Param(param); value != "" {
			name += "-" + slug(value)
		}
	}
	return "assay-" + name + r.format.Extension
}

// slug is a text with nothing but letters, digits and hyphens.
func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	return strings.Join(words, "-")
}

// tableWriter sends a table. It waits for the first piece, because only then it is known whether the table is short.
type tableWriter struct {
	request  *Request
	tag      string
	modified int64
	name     string // of the file
	encoding encoding

	to    io.Writer // nil before the headers are sent
	close func()
	ended error // why no more is taken
}

var errHeadersOnly = errors.New("the caller wants the headers only")

// Write takes a piece. The first one is short only if it is the last.
func (w *tableWriter) Write(piece []byte) (int, error) {
	if w.to == nil {
		w.begin(piece)
	}
	if w.ended != nil {
		return 0, w.ended
	}
	n, err := w.to.Write(piece)
	w.ended = err
	return n, err
}

// begin sends the headers.
func (w *tableWriter) begin(first []byte) {
	r := w.request
	if len(first) < compressFrom {
		w.encoding = identity
		r.out.headers.length = len(first)
	}
	w.setVersion(w.encoding)
	if w.encoding != identity {
		r.SetHeader("Content-Encoding", encodings[w.encoding].name)
	}
	r.SetHeader("Content-Disposition", "attachment; filename="+strconv.Quote(w.name))
	r.out.headers.contentType = r.format.Type
	r.out.WriteHeader(http.StatusOK)
	w.to, w.close = encoder(w.encoding, &r.out)
	if r.http.Method == http.MethodHead {
		w.ended = errHeadersOnly
	}
}

// setVersion sets the headers that a 304 has, too.
func (w *tableWriter) setVersion(e encoding) {
	lines := appendLastModified(w.request.out.headers.lines, w.modified)
	w.request.out.headers.lines = appendLine(lines, "ETag", etag(w.tag, e))
}

// finish sends what is left: the headers of an empty table, or the end of a compressed one.
func (w *tableWriter) finish() {
	if w.to == nil {
		w.begin(nil)
	}
	if w.ended == nil {
		w.close()
	}
}
