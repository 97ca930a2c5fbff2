package web

import (
	"strconv"
	"strings"
)

// Tag is a short digest of everything that makes a response what it is; the same on every node. An ETag is a tag and the
// encoding's suffix in quotes.
func Tag(parts ...[]byte) string {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for _, part := range parts {
		for _, c := range part {
			h = (h ^ uint64(c)) * prime
		}
		h = (h ^ 0xff) * prime // separates the parts; no UTF-8 text contains this byte
	}
	return strconv.FormatUint(h, 36)
}

// etag is strong: the bytes of each encoding are a representation of their own.
func etag(tag string, e encoding) string { return `"` + tag + encodings[e].suffix + `"` }

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
