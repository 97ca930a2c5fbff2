package web

import (
	"strconv"
	"strings"
)

// Tag is a short digest of everything that makes a response what it is; the same on every node. An ETag is a tag and
// the encoding's suffix in quotes.
func Tag(parts ...[]byte) string {
	t := NewTagger()
	for _, part := range parts {
		t.Add(part)
	}
	return t.Tag()
}

// Tagger makes a tag of parts that are not all at hand.
type Tagger struct{ hash uint64 }

// FNV-1a.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// NewTagger makes a tagger without parts.
func NewTagger() Tagger { return Tagger{fnvOffset} }

// Add adds a part.
func (t *Tagger) Add(part []byte) {
	h := t.hash
	for _, c := range part {
		h = (h ^ uint64(c)) * fnvPrime
	}
	t.hash = (h ^ 0xff) * fnvPrime // separates the parts; no UTF-8 text contains this byte
}

// Tag is the tag of all parts.
func (t *Tagger) Tag() string { return strconv.FormatUint(t.hash, 36) }

// etag is strong: the bytes of each encoding are a representation of their own.
func etag(tag string, e encoding) string { return `"` + tag + encodings[e].suffix + `"` }

// matches reports whether an If-None-Match header names the ETag.
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
