package web

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/cache"
	"github.com/assaydata/assay/internal/memfile"
	"github.com/assaydata/assay/internal/push"
)

// Response is what a handler returns. Its constructors make the only forms there are: a ready body, a text or rows in
// one piece, rows in several pieces, rows appended one by one, an object that no cache may keep, a redirect, a stream,
// a file.
type Response struct {
	form        responseForm
	body        *Body // of ready and unstored
	file        *File // of file
	rows        rows  // of piece, pieced and appended
	location    string
	status      int    // of unstored
	contentType string // empty: JSON
	expires     int64
	shortLived  bool
	immutable   bool
	byAccept    bool
	join        func(*push.Member) // of stream
}

type responseForm uint8

const (
	ready responseForm = iota + 1
	piece
	pieced
	appended
	unstored
	redirect
	stream
	file
)

// rows is an envelope with rows: a head up to the opening bracket, the rows, and a tail from the closing bracket.
type rows struct {
	head, text, tail []byte
	count            int
	row              func(dst []byte, k int) []byte
	pieced           PiecedRows
	i, j             int // of pieced
	version          Version
}

// PiecedRows are rows of which any range [i, j) has its parts ready, or made faster than by compressing its text.
type PiecedRows interface {
	// TextSize is how many bytes the text has, without compression.
	TextSize(i, j int) int
	// Text calls yield with the text, part by part. A part that is not kept is valid until yield returns.
	Text(i, j int, yield func(part []byte, kept bool))
	// AppendText appends the text.
	AppendText(dst []byte, i, j int) []byte
	// Gzip writes a gzip stream of a head, the rows and a tail.
	Gzip(head []byte, i, j int, tail []byte, to StreamWriter)
}

// StreamWriter writes a stream: a file that has it, or its parts, which are valid until WriteParts returns.
type StreamWriter = interface {
	// WritesFiles reports whether WriteFile can be called, and costs less than WriteParts.
	WritesFiles() bool
	WriteFile(f *memfile.File)
	WriteParts(parts [][]byte)
}

// Ready responds with a body.
func Ready(b *Body) Response { return Response{form: ready, body: b} }

// Once responds with a text that was made for this request, so it is compressed only if and as this caller wants it;
// modified is an instant, or 0.
func Once(text []byte, modified int64) Response {
	return Response{form: piece, rows: rows{version: NewVersion(modified, text), text: text}}
}

// Object responds with the JSON of a small value; modified is an instant, or 0.
func Object(v any, modified int64) (Response, error) {
	raw, err := json.Marshal(v)
	return Once(raw, modified), err
}

// ObjectBody is the body of Object, for a value that can always be encoded.
func ObjectBody(v any, modified int64) *Body {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return NewBody(raw, modified)
}

// Piece responds with rows whose text is ready.
func Piece(v Version, head, text []byte) Response {
	return Response{form: piece, rows: rows{version: v, head: head, text: text, tail: tail}}
}

// Pieces responds with the rows [i, j) in several pieces.
func Pieces(v Version, head []byte, text PiecedRows, i, j int) Response {
	return Response{form: pieced, rows: rows{version: v, head: head, pieced: text, i: i, j: j, tail: tail}}
}

// Rows responds with count rows, each appended by row.
func Rows(v Version, head []byte, count int, row func(dst []byte, k int) []byte) Response {
	return Response{form: appended, rows: rows{version: v, head: head, count: count, row: row, tail: tail}}
}

// RowsWithTail is Rows with another end than "]}".
func RowsWithTail(v Version, head []byte, count int, row func(dst []byte, k int) []byte, tail []byte) Response {
	return Response{form: appended, rows: rows{version: v, head: head, count: count, row: row, tail: tail}}
}

// NoStore responds with the JSON of a small value that no cache may keep.
func NoStore(status int, v any) (Response, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return Response{}, err
	}
	return Response{form: unstored, status: status, body: NewPlainBody(raw)}, nil
}

// NoStoreText responds with a JSON text that no cache may keep, or with nothing if it is empty.
func NoStoreText(status int, text []byte) Response {
	return Response{form: unstored, status: status, body: NewPlainBody(text)}
}

// Redirect sends the browser to another address.
func Redirect(location string) Response { return Response{form: redirect, location: location} }

// ShortLived lets caches keep the response at most to the end of the minute: it may change before it expires.
func (r Response) ShortLived() Response { r.shortLived = true; return r }

// Expires lets caches keep the response until an instant. Without it they may keep it for a second.
func (r Response) Expires(at int64) Response { r.expires = at; return r }

// Immutable lets caches keep the response for a year. It must have the same body forever, for everyone who may call the
// route; shared caches may keep only what anyone may call.
func (r Response) Immutable() Response { r.immutable = true; return r }

// As sets the content type, if it is not JSON.
func (r Response) As(contentType string) Response { r.contentType = contentType; return r }

// ByAccept says that another Accept header gets another form.
func (r Response) ByAccept() Response { r.byAccept = true; return r }

// BodyCache holds bodies by their tag.
type BodyCache = cache.Cache[string, *Body]

// NewBodyCache makes a cache. Callers choose the ranges of their requests, so there is no end to what could be cached:
// the limits are what one family of data may take.
func NewBodyCache() *BodyCache {
	return cache.New[string](cache.Limits[*Body]{Entries: 512, Bytes: 16 << 20, Size: (*Body).Size})
}

// Cached serves rows as a body that is encoded and compressed once, if the cache has room. Text and ETag are the same
// either way.
func (r Response) Cached(bodies *BodyCache) Response {
	if bodies == nil || r.form != piece && r.form != appended {
		return r
	}
	if body, ok := bodies.GetIfRoom(r.rows.version.tag(), r.rows.body); ok {
		r.body, r.form, r.rows = body, ready, rows{}
	}
	return r
}

// Text is the whole text of a response that has rows, or a ready body.
func (r *Response) Text() []byte {
	var raw bytesWriter
	r.writeTo(&raw)
	return raw
}

// Tag identifies the text, as its ETag does.
func (r *Response) Tag() string {
	if r.form == ready {
		return strings.Trim(r.body.forms[identity].etag, `"`)
	}
	return r.rows.version.tag()
}

// body is the whole body of the rows.
func (a *rows) body() *Body {
	var raw bytesWriter
	a.writeTo(&raw)
	return newTaggedBody(raw, a.version.tag(), a.version.Modified)
}

// bytesWriter collects what is written.
type bytesWriter []byte

func (b *bytesWriter) Write(p []byte) (int, error) { *b = append(*b, p...); return len(p), nil }

var tail = []byte("]}")

// send writes a response: headers, then 304, or the body in the encoding that the caller prefers. It fails before it
// writes anything, or not at all.
func (r *Request) send(a *Response) error {
	if a.form == redirect {
		r.SetHeader("Location", a.location)
		r.SetHeader("Cache-Control", noStore)
		r.out.WriteHeader(http.StatusSeeOther)
		return nil
	}
	if a.form == file {
		return r.sendFile(a)
	}
	r.out.headers.contentType = cmp.Or(a.contentType, jsonType)
	r.SetHeader("Vary", r.vary(a.byAccept || r.route.Table != nil))
	if a.form == unstored {
		r.SetHeader("Cache-Control", noStore)
		if len(a.body.Text()) == 0 {
			r.out.headers.contentType = ""
		}
		r.sendForm(a.status, &a.body.forms[identity])
		return nil
	}
	r.SetHeader("Cache-Control", r.cacheControl(a))
	accepted := r.http.Header["Accept-Encoding"]
	if r.format != nil {
		r.sendTable(a, negotiate(accepted, zstdEncoding))
		return nil
	}
	if a.form == pieced {
		r.sendPieces(&a.rows, negotiate(accepted, gzipEncoding)) // zstd would have to be compressed for this response
		return nil
	}
	wanted := negotiate(accepted, zstdEncoding)
	if a.form == ready {
		r.sendReady(a.body, wanted)
		return nil
	}
	r.sendRows(&a.rows, wanted)
	return nil
}

// cacheControl is how long caches may keep a response. What a session gets depends on the plan of its account, which
// may change; what a key gets does not.
func (r *Request) cacheControl(a *Response) string {
	switch {
	case a.immutable && r.route.Rule == access.Public:
		return forever
	case a.immutable:
		return privateForever
	case r.past && r.caller.KeyID != "":
		return privateForever
	}
	anonymous := r.caller == (assay.Caller{})
	return r.server.cacheControl.header(r.now.Unix(), a.expires, a.shortLived, anonymous)
}

// vary names the request headers that the response depends on.
func (r *Request) vary(byAccept bool) string {
	switch {
	case r.route.Rule == access.Public && byAccept:
		return "Accept, Accept-Encoding"
	case r.route.Rule == access.Public:
		return "Accept-Encoding"
	case byAccept:
		return "Authorization, Cookie, Accept, Accept-Encoding"
	}
	return "Authorization, Cookie, Accept-Encoding"
}

// sendReady writes a ready body.
func (r *Request) sendReady(b *Body, wanted encoding) {
	form := b.form(wanted)
	r.out.headers.lines = append(r.out.headers.lines, form.lines...)
	if !r.notModified(form.etag) {
		r.sendForm(http.StatusOK, form)
	}
}

// notModified responds 304 when the caller has what the ETag, which is set, stands for.
func (r *Request) notModified(etag string) bool {
	given := r.http.Header["If-None-Match"]
	if given == nil || !matches(given, etag) {
		return false
	}
	r.out.headers.contentType = ""
	r.out.WriteHeader(http.StatusNotModified)
	return true
}

func (r *Request) sendForm(status int, f *form) {
	r.out.headers.lines = append(r.out.headers.lines, f.encoding...)
	r.out.headers.length = len(f.payload)
	r.out.WriteHeader(status)
	if r.http.Method != http.MethodHead {
		_, _ = r.out.Write(f.payload) // a network failure is not ours to report
	}
}

// sendRows writes an envelope with its rows. Its memory does not grow with the number of rows.
func (r *Request) sendRows(a *rows, e encoding) {
	if a.row != nil {
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		if text, ok := a.appendShort((*buffer)[:0]); ok {
			a = &rows{version: a.version, text: text}
		}
	}
	size := len(a.head) + len(a.text) + len(a.tail)
	if a.row == nil && size < compressFrom {
		e = identity
	}
	if !r.beginRows(a, e) {
		return
	}
	if e == identity && a.row == nil {
		r.out.headers.length = size
	}
	r.out.WriteHeader(http.StatusOK)
	switch {
	case r.http.Method == http.MethodHead:
	case e != identity || a.row != nil:
		w, done := encoder(e, &r.out)
		a.writeTo(w)
		done()
	case size > pieceSize:
		r.out.writeAll(a.head, a.text, a.tail)
	default: // one write costs less than copying a few kilobytes
		buffer := buffers.Get().(*[]byte)
		*buffer = append(append(append((*buffer)[:0], a.head...), a.text...), a.tail...)
		_, _ = r.out.Write(*buffer)
		buffers.Put(buffer)
	}
}

// appendShort appends the whole text of rows that are appended one by one, if it is too short to be compressed.
func (a *rows) appendShort(dst []byte) (text []byte, short bool) {
	dst = append(dst, a.head...)
	for k := 0; k < a.count && len(dst) < compressFrom; k++ {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = a.row(dst, k)
	}
	dst = append(dst, a.tail...)
	return dst, len(dst) < compressFrom // if rows are left out, it is not
}

// beginRows sets the headers that all forms of rows have. It responds 304, and returns false, when the caller has them.
func (r *Request) beginRows(a *rows, e encoding) bool {
	lines := appendLastModified(r.out.headers.lines, a.version.Modified)
	r.out.headers.lines = a.version.appendETagLine(lines, e)
	if r.http.Header["If-None-Match"] != nil && r.notModified(etag(a.version.tag(), e)) {
		return false
	}
	if e != identity {
		r.SetHeader("Content-Encoding", encodings[e].name)
	}
	return true
}

// sendPieces writes an envelope with rows that come in pieces.
func (r *Request) sendPieces(a *rows, e encoding) {
	size := 0
	if e == identity || a.j-a.i < compressFrom { // else it is long enough, and need not be measured
		size = len(a.head) + a.pieced.TextSize(a.i, a.j) + len(a.tail)
		if size < compressFrom {
			e = identity
		}
	}
	if !r.beginRows(a, e) {
		return
	}
	head := r.http.Method == http.MethodHead
	switch e {
	case identity:
		r.out.headers.length = size
		r.out.WriteHeader(http.StatusOK)
		if !head {
			r.writePieces(a, size)
		}
	case gzipEncoding:
		a.pieced.Gzip(a.head, a.i, a.j, a.tail, (*streamWriter)(r))
	case zstdEncoding:
		r.out.WriteHeader(http.StatusOK)
		if !head {
			w, done := encoder(e, &r.out)
			a.writeTo(w)
			done()
		}
	}
}

// streamWriter is a request that gets a stream as its response.
type streamWriter Request

// WritesFiles reports whether the connection can send files.
func (w *streamWriter) WritesFiles() bool { return w.out.fast != nil && w.out.fast.WritesFiles() }

// WriteFile writes the whole response.
func (w *streamWriter) WriteFile(f *memfile.File) {
	w.out.headers.length = f.Size()
	w.out.WriteHeader(http.StatusOK)
	if w.http.Method != http.MethodHead {
		w.out.fast.WriteFile(f)
		w.out.bytes += int64(f.Size())
	}
}

// WriteParts writes the whole response.
func (w *streamWriter) WriteParts(parts [][]byte) {
	r, size := (*Request)(w), 0
	for _, part := range parts {
		size += len(part)
	}
	r.out.headers.length = size
	r.out.WriteHeader(http.StatusOK)
	switch {
	case r.http.Method == http.MethodHead:
	case size > pieceSize:
		r.out.writeAll(parts...)
	default: // one write costs less than copying a few kilobytes
		buffer := buffers.Get().(*[]byte)
		*buffer = (*buffer)[:0]
		for _, part := range parts {
			*buffer = append(*buffer, part...)
		}
		_, _ = r.out.Write(*buffer)
		buffers.Put(buffer)
	}
}

// piecesAtOnce is how many pieces are written together.
const piecesAtOnce = 32

// writePieces writes the text.
func (r *Request) writePieces(a *rows, size int) {
	if size <= pieceSize {
		buffer := buffers.Get().(*[]byte)
		*buffer = append(a.pieced.AppendText(append((*buffer)[:0], a.head...), a.i, a.j), a.tail...)
		_, _ = r.out.Write(*buffer)
		buffers.Put(buffer)
		return
	}
	r.writeLong(a)
}

// writeLong writes a text that is too long to be copied: what is kept together, and what is not as soon as it is there.
func (r *Request) writeLong(a *rows) {
	var waiting [piecesAtOnce][]byte
	list := append(waiting[:0], a.head)
	a.pieced.Text(a.i, a.j, func(part []byte, kept bool) {
		if list = append(list, part); !kept || len(list) == piecesAtOnce-1 { // the tail always has room
			r.out.writeAll(list...)
			list = list[:0]
		}
	})
	r.out.writeAll(append(list, a.tail)...)
}

// writeTo writes head, rows and tail in pieces of a bounded size. A failed write ends it; network failures are not ours
// to report.
func (a *rows) writeTo(w io.Writer) {
	if a.pieced != nil {
		_, err := w.Write(a.head)
		a.pieced.Text(a.i, a.j, func(part []byte, _ bool) {
			if err == nil {
				_, err = w.Write(part)
			}
		})
		if err == nil {
			_, _ = w.Write(a.tail)
		}
		return
	}
	if a.row == nil {
		for _, piece := range [...][]byte{a.head, a.text, a.tail} {
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
	_, _ = w.Write(append(out, a.tail...))
	*buffer = out[:0]
}

// pieceSize is how much is collected before it is written: a few rows above it always fit the buffer.
const pieceSize = 32 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, pieceSize+4<<10); return &b }}
