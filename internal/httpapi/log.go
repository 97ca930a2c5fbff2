package httpapi

import (
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
)

// log writes the request's line, and the cause of a failure that is ours.
func (c *call) log() {
	if c.cause != nil {
		c.s.Log.Error("request failed", "id", c.id, "error", keys.Redact(c.cause.Error()))
	}
	if c.s.Requests == nil {
		return
	}
	c.logLine = c.appendLogLine(c.logLine[:0])
	_, _ = c.s.Requests.Write(c.logLine) // there is nowhere to report that the log cannot be written
}

// appendLogLine appends one JSON object in the form of the program's other log lines. It names the route rather than the
// path, so that nothing a caller wrote gets in, except on a path that is none of ours.
func (c *call) appendLogLine(dst []byte) []byte {
	dst = assay.AppendInstant(append(dst, `{"time":"`...), c.now.UnixMilli())
	dst = assay.AppendString(append(dst, `","level":"INFO","msg":"request","id":`...), c.id)
	dst = assay.AppendString(append(dst, `,"method":`...), shorten(c.r.Method))
	dst = assay.AppendString(append(dst, `,"path":`...), c.loggedPath())
	dst = strconv.AppendInt(append(dst, `,"status":`...), int64(c.status), 10)
	dst = strconv.AppendInt(append(dst, `,"bytes":`...), c.bytes, 10)
	dst = strconv.AppendInt(append(dst, `,"micros":`...), c.s.Now().Sub(c.now).Microseconds(), 10)
	dst = c.client.AppendTo(append(dst, `,"client":"`...))
	dst = append(dst, '"')
	if c.caller.KeyID != "" {
		dst = assay.AppendString(append(dst, `,"key":`...), c.caller.KeyID)
	}
	if c.caller.AccountID != 0 {
		dst = strconv.AppendInt(append(dst, `,"account":`...), c.caller.AccountID, 10)
	}
	return append(dst, "}\n"...)
}

func (c *call) loggedPath() string {
	if c.route != nil {
		return c.route.path
	}
	return keys.Redact(shorten(c.r.URL.Path))
}
