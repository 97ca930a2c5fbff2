package httpapi

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// body is a whole answer, ready in every content coding, with the headers that belong to it.
type body struct {
	forms        [len(codings)]form
	lastModified string // empty when not known
}

// form is a body in one content coding.
type form struct {
	payload []byte
	etag    string
	length  []string
}

// compressFrom is the size at which compression begins to pay. A smaller body has the identity form only.
const compressFrom = 1024

// newBody makes a body of its JSON text; modified is an instant, or 0.
func newBody(raw []byte, modified int64) *body { return newTaggedBody(raw, hash(raw), modified) }

// newTaggedBody is newBody with a tag that tells the text from every other answer to the same request.
func newTaggedBody(raw []byte, tag string, modified int64) *body {
	b := &body{lastModified: lastModified(modified)}
	b.forms[identity] = newForm(raw, tag, identity)
	if len(raw) >= compressFrom {
		b.forms[gzipCoding] = newForm(compressGzip(raw), tag, gzipCoding)
		b.forms[zstdCoding] = newForm(zstdEncoder.EncodeAll(raw, nil), tag, zstdCoding)
	}
	return b
}

func newForm(payload []byte, tag string, coding coding) form {
	return form{payload, etag(tag, coding), []string{strconv.Itoa(len(payload))}}
}

// form gives the body in a coding, or as it is when it is too small for that.
func (b *body) form(wanted coding) (form, coding) {
	if b.forms[wanted].payload == nil {
		wanted = identity
	}
	return b.forms[wanted], wanted
}

// etag is strong: the bytes of each coding are a representation of their own.
func etag(tag string, coding coding) string { return `"` + tag + codings[coding].suffix + `"` }

func lastModified(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(http.TimeFormat)
}

// hash is a short digest of what makes an answer what it is, the same on every node.
func hash(parts ...[]byte) string {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for _, part := range parts {
		for _, c := range part {
			h = (h ^ uint64(c)) * prime
		}
		h = (h ^ 0xff) * prime // so that parts do not run together; no UTF-8 text has this byte
	}
	return strconv.FormatUint(h, 36)
}

func compressGzip(raw []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.DefaultCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	_, _ = w.Write(raw) // a bytes.Buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

var zstdEncoder = func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}()
