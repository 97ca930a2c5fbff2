package web

import (
	"net/http"
	"time"
)

// Body is a whole response body, ready in every content encoding, with the headers that belong to it.
type Body struct {
	forms        [len(encodings)]form
	lastModified string // empty when not known
}

// form is a body in one content encoding.
type form struct {
	payload []byte
	etag    string
}

// compressFrom is the size at which compression begins to pay. A smaller body has the identity form only.
const compressFrom = 1024

// NewBody makes a body of its text; modified is an instant, or 0.
func NewBody(raw []byte, modified int64) *Body { return newTaggedBody(raw, Tag(raw), modified) }

// NewPlainBody is NewBody without compression, for what does not get smaller by it.
func NewPlainBody(raw []byte) *Body {
	b := &Body{}
	b.forms[identity] = newForm(raw, Tag(raw), identity)
	return b
}

// newTaggedBody is NewBody with a given tag.
func newTaggedBody(raw []byte, tag string, modified int64) *Body {
	b := &Body{lastModified: lastModified(modified)}
	b.forms[identity] = newForm(raw, tag, identity)
	if len(raw) >= compressFrom {
		b.forms[gzipEncoding] = newForm(compressGzip(raw), tag, gzipEncoding)
		b.forms[zstdEncoding] = newForm(zstdEncoder.EncodeAll(raw, nil), tag, zstdEncoding)
	}
	return b
}

func newForm(payload []byte, tag string, e encoding) form {
	return form{payload: payload, etag: etag(tag, e)}
}

// Size is how many bytes the body takes in all encodings.
func (b *Body) Size() (bytes int) {
	for i := range b.forms {
		bytes += len(b.forms[i].payload)
	}
	return bytes
}

// Text is the body without compression.
func (b *Body) Text() []byte { return b.forms[identity].payload }

// form returns the body in an encoding, or as it is when it is too small for that.
func (b *Body) form(wanted encoding) (*form, encoding) {
	if b.forms[wanted].payload == nil {
		wanted = identity
	}
	return &b.forms[wanted], wanted
}

// addLastModified adds the header, unless the instant is 0.
func (r *Request) addLastModified(ms int64) {
	if ms == 0 {
		return
	}
	lines := append(r.out.headers.lines, "Last-Modified: "...)
	lines = time.UnixMilli(ms).UTC().AppendFormat(lines, http.TimeFormat)
	r.out.headers.lines = append(lines, "\r\n"...)
}

func lastModified(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(http.TimeFormat)
}
