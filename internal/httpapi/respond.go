package httpapi

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
)

// answer is what a handler returns. It is one of three: a body that is ready, rows that lie ready in one piece, or rows
// that are appended one by one. Rows stand between a head, the envelope up to the opening bracket, and the closing "]}".
type answer struct {
	body *body

	head     []byte
	rows     []byte                         // in one piece, or
	count    int                            // this many, each
	row      func(dst []byte, k int) []byte // appended by row
	end      []byte                         // what closes the envelope; nil for "]}"
	tag      string                         // the ETag, without quotes and coding
	modified int64

	redirect string // where to send a browser, instead of all the above

	contentType []string // nil: JSON
	status      int      // 0: 200
	fresh       bool     // made of the moment: not to be cached
	brief       bool     // may change before the next publication is due: not to be cached beyond this minute
	byAccept    bool     // another Accept header gives another form
}

// object is an answer of a small value.
func object(v any, modified int64) (answer, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return answer{}, err
	}
	return ready(newBody(raw, modified)), nil
}

func ready(b *body) answer { return answer{body: b} }

// closing is what follows the rows.
func (a *answer) closing() []byte {
	if a.end != nil {
		return a.end
	}
	return tail
}

var (
	jsonType = []string{"application/json"}
	tail     = []byte("]}")
)

const noStore = "no-store"

// send writes an answer: headers, then 304, or the body in the coding that suits the caller.
func (c *call) send(a answer) error {
	h := c.Header()
	if a.redirect != "" {
		c.set("Location", a.redirect)
		c.set("Cache-Control", noStore)
		c.WriteHeader(http.StatusSeeOther)
		return nil
	}
	h["Content-Type"] = jsonType
	if a.contentType != nil {
		h["Content-Type"] = a.contentType
	}
	switch {
	case c.route.rule == access.Public:
		c.set("Vary", "Accept-Encoding")
	case a.byAccept:
		c.set("Vary", "Authorization, Cookie, Accept, Accept-Encoding")
	default:
		c.set("Vary", "Authorization, Cookie, Accept-Encoding")
	}
	if a.fresh {
		c.set("Cache-Control", noStore)
		c.sendForm(cmp.Or(a.status, http.StatusOK), a.body.forms[identity], identity)
		return nil
	}
	c.set("Cache-Control", c.s.cacheControl(c, a.brief))
	coding := negotiate(c.r.Header["Accept-Encoding"])
	if a.body != nil {
		c.sendReady(a.body, coding)
	} else {
		c.sendRows(a, coding)
	}
	return nil
}

// sendReady writes a ready body.
func (c *call) sendReady(b *body, wanted coding) {
	form, coding := b.form(wanted)
	if b.lastModified != "" {
		c.set("Last-Modified", b.lastModified)
	}
	if !c.notModified(form.etag) {
		c.sendForm(http.StatusOK, form, coding)
	}
}

// notModified sets the ETag, and answers 304 when the caller has that already.
func (c *call) notModified(etag string) bool {
	c.set("ETag", etag)
	given := c.r.Header["If-None-Match"]
	if given == nil || !matches(given, etag) {
		return false
	}
	c.Header()["Content-Type"] = nil // none, and none to be guessed
	c.WriteHeader(http.StatusNotModified)
	return true
}

// smallBody is what net/http buffers whole: it then sets the length by itself, for less than we could.
const smallBody = 2048

func (c *call) sendForm(status int, f form, coding coding) {
	if coding != identity {
		c.set("Content-Encoding", codings[coding].name)
	}
	head := c.r.Method == http.MethodHead
	if head || len(f.payload) >= smallBody {
		c.Header()["Content-Length"] = f.length
	}
	c.WriteHeader(status)
	if !head {
		c.writeAll(f.payload)
	}
}

// writeAll writes a body. What the network does to it is not ours to report.
func (c *call) writeAll(pieces ...[]byte) {
	for _, piece := range pieces {
		_, _ = c.Write(piece)
	}
}

// sendRows writes an envelope with its rows. Nothing here grows with the number of rows.
func (c *call) sendRows(a answer, coding coding) {
	tail := a.closing()
	size := len(a.head) + len(a.rows) + len(tail)
	if a.row == nil && size < compressFrom {
		coding = identity
	}
	if a.modified != 0 {
		c.set("Last-Modified", lastModified(a.modified))
	}
	if c.notModified(etag(a.tag, coding)) {
		return
	}
	if coding != identity {
		c.set("Content-Encoding", codings[coding].name)
	} else if a.row == nil {
		c.Header()["Content-Length"] = []string{strconv.Itoa(size)}
	}
	c.WriteHeader(http.StatusOK)
	switch {
	case c.r.Method == http.MethodHead:
	case coding != identity || a.row != nil:
		w, done := encoder(coding, c)
		a.writeTo(w)
		done()
	case size > pieceSize:
		c.writeAll(a.head, a.rows, tail)
	default: // one write beats the copying of a few kilobytes
		buffer := buffers.Get().(*[]byte)
		*buffer = append(append(append((*buffer)[:0], a.head...), a.rows...), tail...)
		c.writeAll(*buffer)
		buffers.Put(buffer)
	}
}

// writeTo writes head, rows and tail in pieces of a bounded size. A failed write shows at the next one, and the network's
// failures are not ours to report.
func (a *answer) writeTo(w io.Writer) {
	tail := a.closing()
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
	name   string
	suffix string // of the ETag: the bytes of each coding are another representation
}{
	identity:   {"identity", ""},
	gzipCoding: {"gzip", "-g"},
	zstdCoding: {"zstd", "-z"},
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

// streamWindow keeps the pooled encoders small; rows repeat within far less.
const streamWindow = 128 << 10

var zstdWriters = sync.Pool{New: func() any {
	w, err := zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(streamWindow), zstd.WithLowerEncoderMem(true))
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

// cacheControl lets caches keep an answer until the next publication is due, a brief one to the end of the minute. While
// a publication is due and has not come, they may keep it for a second. The header is made once a second and snapshot.
func (s *Server) cacheControl(c *call, brief bool) string {
	now := c.now.Unix()
	made := s.caching.Load()
	if made == nil || made.second != now || made.covered != c.snap.Covered {
		made = newCaching(now, c.snap.Covered)
		s.caching.Store(made)
	}
	words := &made.due
	if brief {
		words = &made.brief
	}
	if c.caller != (assay.Caller{}) {
		return words.private
	}
	return words.public
}

// caching is the Cache-Control header of one second.
type caching struct {
	second, covered int64
	due, brief      cacheWords
}

type cacheWords struct{ public, private string }

func newCaching(now, covered int64) *caching {
	due := max(1, (covered+assay.Hour)/assay.Second-now)
	const minute = assay.Minute / assay.Second
	return &caching{now, covered, newCacheWords(due), newCacheWords(min(due, minute-now%minute))}
}

func newCacheWords(seconds int64) cacheWords {
	age := strconv.FormatInt(seconds, 10)
	return cacheWords{"public, max-age=" + age, "private, max-age=" + age}
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
	c.set("Cache-Control", noStore)
	h["Content-Length"] = []string{strconv.Itoa(len(raw))}
	if e.Kind == assay.Unauthorized {
		c.set("WWW-Authenticate", `Bearer realm="assay"`)
	}
	c.WriteHeader(e.Kind.Status())
	if c.r.Method != http.MethodHead {
		_, _ = c.Write(raw)
	}
}
