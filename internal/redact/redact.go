// Package redact removes secrets from text that is shown or logged.
package redact

import (
	"regexp"
	"strings"
)

var keyLike = regexp.MustCompile(`sk_(live|prem)_[0-9A-Za-z_]*`)

// Keys hides everything that looks like an API key.
func Keys(text string) string {
	if !strings.Contains(text, "sk_") {
		return text
	}
	return keyLike.ReplaceAllString(text, "sk_${1}_…")
}
