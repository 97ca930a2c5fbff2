package account

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/mileusna/useragent"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/redact"
)

// maxUserAgent is how much of the header User-Agent is looked at, in bytes; browsers send less than half.
const maxUserAgent = 512

// shortAgent is a client's program as people recognize it, such as Firefox on Linux. It is empty if the header says
// nothing that can be shown.
func shortAgent(header string) string {
	header = redact.Keys(header[:min(len(header), maxUserAgent)])
	parsed := useragent.Parse(header)
	name := parsed.Name
	if parsed.OS != "" && name != "" {
		name += " on " + parsed.OS
	}
	name = strings.TrimSpace(name)
	if utf8.RuneCountInString(name) > maxName || assay.CheckVisible("user agent", name) != nil {
		return ""
	}
	return name
}

// newSessionID draws the public id of a session.
func newSessionID() string {
	random := make([]byte, 6)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}
