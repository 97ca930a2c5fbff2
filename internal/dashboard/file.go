package dashboard

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// How long a browser may keep a file without requesting it again.
const (
	forever    = "public, max-age=31536000, immutable" // its name changes with its content
	revalidate = "no-cache"
)

// security are the headers of every response, besides those that the server adds to all of its responses: nothing from
// other origins, no script or style within a document, no frame around it. The application draws maps and downloads,
// hence data: and blob: for images.
var security = [][2]string{
	{"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
		"font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"},
	{"Referrer-Policy", "same-origin"},
}

// file is one file of the build.
type file struct {
	contentType  string
	cacheControl string
	tag          string // of its content
	content      []byte
	compressed   func() []byte // made at the first request; nil if compression does not pay
}

// compressFrom is the size at which compression begins to pay.
const compressFrom = 1024

func newFile(name string, content []byte, cacheControl string) *file {
	digest := sha256.Sum256(content)
	return &file{
		contentType:  contentType(name),
		cacheControl: cacheControl,
		content:      content,
		tag:          base64.RawURLEncoding.EncodeToString(digest[:12]),
		compressed:   sync.OnceValue(func() []byte { return compress(content) }),
	}
}

// compress returns nil if the result is not shorter by a tenth: pictures and fonts are compressed already.
func compress(content []byte) []byte {
	if len(content) < compressFrom {
		return nil
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	_, _ = w.Write(content) // a bytes.Buffer returns no error
	_ = w.Close()
	if out.Len() > len(content)/10*9 {
		return nil
	}
	return out.Bytes()
}

// serve writes the file. Its ETag is strong: the compressed bytes are another representation.
func (f *file) serve(w http.ResponseWriter, r *http.Request, status int) {
	h := w.Header()
	for _, line := range security {
		h.Set(line[0], line[1])
	}
	h.Set("Cache-Control", f.cacheControl)
	h.Set("Vary", "Accept-Encoding")
	content, etag := f.content, `"`+f.tag+`"`
	if compressed := f.compressed(); compressed != nil && takesGzip(r.Header["Accept-Encoding"]) {
		content, etag = compressed, `"`+f.tag+`-g"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", etag)
	if status == http.StatusOK && names(r.Header["If-None-Match"], etag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(content) // errors of the network are not reported
	}
}

// takesGzip tells whether a browser accepts compressed responses. All of them do; a weight of zero refuses.
func takesGzip(header []string) bool {
	for part := range eachOf(header) {
		name, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
			return weight == "" || err == nil && q > 0
		}
	}
	return false
}

// names tells whether an If-None-Match header names an ETag.
func names(header []string, etag string) bool {
	for part := range eachOf(header) {
		if part == "*" || strings.TrimPrefix(part, "W/") == etag {
			return true
		}
	}
	return false
}

// eachOf iterates over the entries of a header's list.
func eachOf(header []string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, line := range header {
			for part := range strings.SplitSeq(line, ",") {
				if !yield(strings.TrimSpace(part)) {
					return
				}
			}
		}
	}
}
