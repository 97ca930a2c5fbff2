// Package redact removes secrets from text that is shown or logged.
package redact

import (
	"regexp"
	"strings"
)

var (
	keyLike   = regexp.MustCompile(`sk_(live|prem|ingest)_[0-9A-Za-z_]*`)
	tokenLike = regexp.MustCompile(`shl_[0-9A-Za-z]*`)
)

// Keys hides everything that looks like an API key or the token of a share link.
func Keys(text string) string {
	if strings.Contains(text, "sk_") {
		text = keyLike.ReplaceAllString(text, "sk_${1}_…")
	}
	if strings.Contains(text, "shl_") {
		text = tokenLike.ReplaceAllString(text, "shl_…")
	}
	return text
}
