package web

import (
	"strconv"
	"strings"
)

// Tag is a short digest of everything that makes a response what it is; the same on every node. An ETag is a tag and
// the encoding's suffix in quotes.
func Tag(parts ...[]byte) string {
	return NewVersion(0, parts...).tag()
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

// Version is the version of the tag's parts; modified is an instant, or 0.
func (t *Tagger) Version(modified int64) Version { return Version{t.hash, modified} }

// Version identifies the content of rows.
type Version struct {
	digest   uint64 // which is the tag
	Modified int64  // an instant, or 0
}

// NewVersion is the version of rows that depend on the parts; modified is an instant, or 0.
func NewVersion(modified int64, parts ...[]byte) Version {
	t := NewTagger()
	for _, part := range parts {
		t.Add(part)
	}
	return t.Version(modified)
}

func (v Version) tag() string { return strconv.FormatUint(v.digest, 36) }

// appendETagLine appends the header.
func (v Version) appendETagLine(dst []byte, e encoding) []byte {
	dst = strconv.AppendUint(append(dst, `ETag: "`...), v.digest, 36)
	return append(append(dst, encodings[e].suffix...), "\"\r\n"...)
}

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
