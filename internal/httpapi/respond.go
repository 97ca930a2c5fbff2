package httpapi

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/snapshot"
)

// answer is what a handler returns. It is one of three: a body that is ready, rows that lie ready in one piece, or rows
// that are appended one by one. Rows stand between a head, the envelope up to the opening bracket, and the closing "]}".
type answer struct {
	body *snapshot.Body

	head  []byte
	rows  []byte                         // in one piece, or
	count int                            // this many, each
	row   func(dst []byte, k int) []byte // appended by row
	tag   string                         // what, beside the head, makes the rows what they are

	modified    int64
	contentType []string // nil: JSON
	status      int      // 0: 200
	fresh       bool     // made of the moment: not to be cached
}

// object is an answer of a small value.
func object(v any, modified int64) (answer, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return answer{}, err
	}
	return ready(snapshot.NewBody(raw, modified)), nil
}

func ready(b *snapshot.Body) answer { return answer{body: b, modified: b.Modified} }

var (
	jsonType  = []string{"application/json"}
	noStore   = []string{"no-store"}
	varyKeyed = []string{"Authorization, Accept-Encoding"}
	varyOpen  = []string{"Accept-Encoding"}
	tail      = []byte("]}")
)

// send writes an answer: headers, then 304, or the body in the coding that suits the caller.
func (c *call) send(a answer) error {
	h := c.Header()
	h["Content-Type"] = jsonType
	if a.contentType != nil {
		h["Content-Type"] = a.contentType
	}
	vary := varyKeyed
	if c.route.rule == access.Public {
		vary = varyOpen
	}
	h["Vary"] = append(h["Vary"], vary...)
	if a.fresh {
		h["Cache-Control"] = noStore
		return c.sendBody(a, identity)
	}
	coding := negotiate(c.r.Header["Accept-Encoding"])
	if a.size() < snapshot.CompressFrom {
		coding = identity
	}
	etag := a.etag(coding)
	h["Etag"] = []string{etag}
	if a.modified != 0 {
		h["Last-Modified"] = []string{time.UnixMilli(a.modified).UTC().Format(http.TimeFormat)}
	}
	h["Cache-Control"] = c.cacheControl()
	if matches(c.r.Header["If-None-Match"], etag) {
		delete(h, "Content-Type")
		c.WriteHeader(http.StatusNotModified)
		return nil
	}
	if a.body != nil {
		return c.sendBody(a, coding)
	}
	return c.sendRows(a, coding)
}

func (a *answer) size() int {
	switch {
	case a.body != nil:
		return len(a.body.Raw)
	case a.row != nil:
		return snapshot.CompressFrom * a.count // a row is short, so a few make it worth while
	}
	return len(a.head) + len(a.rows)
}

func (a *answer) etag(coding coding) string {
	tag := a.tag
	if a.body != nil {
		tag = a.body.ETag
	}
	return `"` + tag + codings[coding].suffix + `"`
}

// sendBody writes a ready body.
func (c *call) sendBody(a answer, coding coding) error {
	payload := a.body.Raw
	switch coding {
	case gzipCoding:
		payload = a.body.Gzip
	case zstdCoding:
		payload = a.body.Zstd
	case identity:
	}
	if coding != identity {
		c.Header()["Content-Encoding"] = codings[coding].header
	}
	return c.sendBytes(cmp.Or(a.status, http.StatusOK), payload, nil, nil)
}

// sendBytes writes up to three pieces whose length is known. A failed write shows at the next one, and the network's
// failures are not ours to report.
func (c *call) sendBytes(status int, one, two, three []byte) error {
	c.Header()["Content-Length"] = []string{strconv.Itoa(len(one) + len(two) + len(three))}
	c.WriteHeader(status)
	if c.r.Method == http.MethodHead {
		return nil
	}
	for _, piece := range [...][]byte{one, two, three} {
		if len(piece) > 0 {
			_, _ = c.Write(piece)
		}
	}
	return nil
}

// sendRows writes an envelope with its rows. Nothing here grows with the number of rows.
func (c *call) sendRows(a answer, coding coding) error {
	if coding == identity && a.row == nil {
		return c.sendBytes(http.StatusOK, a.head, a.rows, tail)
	}
	if coding != identity {
		c.Header()["Content-Encoding"] = codings[coding].header
	}
	c.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	w, done := encoder(coding, c)
	defer done()
	a.writeTo(w)
	return nil
}

// writeTo writes head, rows and tail in pieces of a bounded size. A failed write shows at the next one, and the network's
// failures are not ours to report.
func (a *answer) writeTo(w io.Writer) {
	if a.row == nil {
		for _, piece := range [...][]byte{a.head, a.rows, tail} {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
		return
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	out := append((*buffer)[:0], a.head...)
	for k := range a.count {
		if k > 0 {
			out = append(out, ',')
		}
		out = a.row(out, k)
		if len(out) > pieceSize {
			if _, err := w.Write(out); err != nil {
				return
			}
			out = out[:0]
		}
	}
	_, _ = w.Write(append(out, tail...))
	*buffer = out[:0]
}

// pieceSize is how much is gathered before it is written: a few rows above it always fit the buffer.
const pieceSize = 32 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, pieceSize+4<<10); return &b }}

// coding is a content coding.
type coding uint8

const (
	identity coding = iota
	gzipCoding
	zstdCoding
)

var codings = [...]struct {
	suffix string // of the ETag: the bytes of each coding are another representation
	header []string
}{
	identity:   {"", nil},
	gzipCoding: {"-g", []string{"gzip"}},
	zstdCoding: {"-z", []string{"zstd"}},
}

// negotiate picks the coding that the caller likes best; zstd before gzip among equals.
func negotiate(header []string) coding {
	best, bestQ := identity, 0.0
	for _, line := range header {
		for part := range strings.SplitSeq(line, ",") {
			name, q := part, 1.0
			if semicolon := strings.IndexByte(part, ';'); semicolon >= 0 {
				name, q = part[:semicolon], quality(part[semicolon+1:])
			}
			var this coding
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip", "*":
				this = gzipCoding
			case "zstd":
				this = zstdCoding
			default:
				continue
			}
			if q > bestQ || q == bestQ && q > 0 && this > best {
				best, bestQ = this, q
			}
		}
	}
	return best
}

// quality reads "q=0.5"; what cannot be read counts as refused.
func quality(s string) float64 {
	value, ok := strings.CutPrefix(strings.TrimSpace(s), "q=")
	if !ok {
		return 1
	}
	q, err := strconv.ParseFloat(value, 64)
	if err != nil || q < 0 || q > 1 {
		return 0
	}
	return q
}

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

var zstdWriters = sync.Pool{New: func() any {
	w, err := zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // the options are constants
	}
	return w
}}

// encoder gives a writer that compresses on the way to w, and what to call when all is written.
func encoder(coding coding, w io.Writer) (io.Writer, func()) {
	switch coding {
	case gzipCoding:
		z := gzipWriters.Get().(*gzip.Writer)
		z.Reset(w)
		return z, func() { _ = z.Close(); gzipWriters.Put(z) }
	case zstdCoding:
		z := zstdWriters.Get().(*zstd.Encoder)
		z.Reset(w)
		return z, func() { _ = z.Close(); zstdWriters.Put(z) }
	case identity:
	}
	return w, func() {}
}

// matches tells whether an If-None-Match header names the ETag.
func matches(header []string, etag string) bool {
	for _, line := range header {
		for candidate := range strings.SplitSeq(line, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == etag || candidate == "*" {
				return true
			}
		}
	}
	return false
}

// cacheControl lets caches keep an answer until the next publication is due. While one is due and has not come, they may
// keep it for a second.
func (c *call) cacheControl() []string {
	seconds := int64(1)
	if left := c.snap.Covered + assay.Hour - c.now.UnixMilli(); left > assay.Second {
		seconds = left / assay.Second
	}
	scope := "public, max-age="
	if c.caller.Tier != assay.Anonymous {
		scope = "private, max-age="
	}
	return []string{scope + strconv.FormatInt(seconds, 10)}
}

// errorBody is how every failure is told.
type errorBody struct {
	Error     string `json:"error"`
	Message   string `json:"message"`
	Code      string `json:"code"`
	RequestID string `json:"request_id"`
}

func (c *call) errorBody(e *assay.Error) errorBody {
	return errorBody{e.Kind.Label(), e.Message, e.Code, c.id}
}

// fail answers an error. If the answer had begun, nothing can be said any more; the log has the cause.
func (c *call) fail(err error) {
	e := assay.AsError(err)
	if e.Kind == assay.Internal {
		c.cause = err
	}
	if c.status != 0 {
		return
	}
	raw, err := json.Marshal(c.errorBody(e))
	if err != nil {
		panic(err) // the fields are strings
	}
	h := c.Header()
	h["Content-Type"] = jsonType
	h["Cache-Control"] = noStore
	h["Content-Length"] = []string{strconv.Itoa(len(raw))}
	delete(h, "Content-Encoding")
	if e.Kind == assay.Unauthorized {
		h["Www-Authenticate"] = []string{`Bearer realm="assay"`}
	}
	c.WriteHeader(e.Kind.Status())
	if c.r.Method != http.MethodHead {
		_, _ = c.Write(raw)
	}
}

// appendString appends a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // a string can always be written
			}
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}
