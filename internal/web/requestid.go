package web

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"

	"github.com/assaydata/assay/internal/redact"
)

// requestID is the caller's id when it is sane, else a random prefix of this process and a counter.
func (s *Server) requestID(r *http.Request) string {
	if given := r.Header["X-Request-Id"]; len(given) == 1 && saneID(given[0]) {
		return given[0]
	}
	return s.newRequestID()
}

func (s *Server) newRequestID() string {
	id := append(make([]byte, 0, 32), s.idPrefix...)
	return string(strconv.AppendUint(id, s.requestCount.Add(1), 36))
}

func newIDPrefix() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:]) + "-"
}

func saneID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return redact.Keys(id) == id // an id is logged, so it may not be a key
}
