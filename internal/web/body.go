package web

import (
	"net/http"
	"time"
)

// Body is a whole response body, ready in every content encoding, with the headers that belong to it.
type Body struct {
	forms    [len(encodings)]form
	modified int64 // or 0
}

// form is a body in one content encoding.
type form struct {
	payload  []byte
	etag     string
	lines    []byte // of the header that every response with it has: Last-Modified, if it is known, and ETag
	encoding []byte // the line Content-Encoding, if there is one; a 304 has none
}

// compressFrom is the size at which compression begins to pay. A smaller body has the identity form only.
const compressFrom = 1024

// NewBody makes a body of its text; modified is an instant, or 0.
func NewBody(raw []byte, modified int64) *Body { return newTaggedBody(raw, Tag(raw), modified) }

// NewPlainBody is NewBody without compression, for what does not get smaller by it.
func NewPlainBody(raw []byte) *Body {
	b := &Body{}
	b.forms[identity] = newForm(raw, Tag(raw), identity, 0)
	return b
}

// newTaggedBody is NewBody with a given tag.
func newTaggedBody(raw []byte, tag string, modified int64) *Body {
	b := &Body{modified: modified}
	b.forms[identity] = newForm(raw, tag, identity, modified)
	if len(raw) >= compressFrom {
		b.forms[gzipEncoding] = newForm(compressGzip(raw), tag, gzipEncoding, modified)
		b.forms[zstdEncoding] = newForm(zstdEncoder.EncodeAll(raw, nil), tag, zstdEncoding, modified)
	}
	return b
}

func newForm(payload []byte, tag string, e encoding, modified int64) form {
	f := form{payload: payload, etag: etag(tag, e)}
	f.lines = appendLine(appendLastModified(nil, modified), "ETag", f.etag)
	if e != identity {
		f.encoding = appendLine(nil, "Content-Encoding", encodings[e].name)
	}
	return f
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
func (b *Body) form(wanted encoding) *form {
	if b.forms[wanted].payload == nil {
		wanted = identity
	}
	return &b.forms[wanted]
}

// appendLastModified appends the header line, unless the instant is 0.
func appendLastModified(dst []byte, ms int64) []byte {
	if ms == 0 {
		return dst
	}
	dst = append(dst, "Last-Modified: "...)
	dst = time.UnixMilli(ms).UTC().AppendFormat(dst, http.TimeFormat)
	return append(dst, "\r\n"...)
}
