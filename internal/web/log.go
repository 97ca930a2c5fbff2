package web

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/redact"
)

// log writes the request's line, and the cause of a failure of the server.
func (r *Request) log() {
	if r.cause != nil {
		write, message := r.server.config.Log.Error, "request failed"
		if r.abandoned() {
			write, message = r.server.config.Log.Info, "the client went away"
		}
		write(message, "id", r.id, "error", redact.Keys(r.cause.Error()))
	}
	if r.server.config.Requests == nil || !r.sampled() {
		return
	}
	if r.server.config.LogText {
		r.logLine = r.appendTextLine(r.logLine[:0])
	} else {
		r.logLine = r.appendLogLine(r.logLine[:0])
	}
	_, _ = r.server.config.Requests.Write(r.logLine) // there is nowhere to report that the log cannot be written
}

// sampled reports whether the request is one of those that are logged.
func (r *Request) sampled() bool {
	every := r.settings.LogOneIn
	if every == LogNone {
		return false
	}
	return every <= 1 || r.out.status >= http.StatusInternalServerError || r.server.finished.Add(1)%every == 0
}

// abandoned reports whether the request failed because its client went away, which is no failure of the server.
func (r *Request) abandoned() bool {
	_, panicked := errors.AsType[*panicError](r.cause)
	return !panicked && r.http.Context().Err() != nil
}

// appendLogLine appends one JSON object in the form of the program's other log lines. It names the route rather than
// the path, so that the log repeats what callers wrote only for paths that are not routes.
func (r *Request) appendLogLine(dst []byte) []byte {
	dst = assay.AppendInstant(append(dst, `{"time":"`...), r.now.UnixMilli())
	dst = assay.AppendString(append(dst, `","level":"INFO","msg":"request","id":`...), r.id)
	dst = assay.AppendString(append(dst, `,"method":`...), shown(r.http.Method))
	dst = assay.AppendString(append(dst, `,"path":`...), r.loggedPath())
	dst = strconv.AppendInt(append(dst, `,"status":`...), int64(r.out.status), 10)
	dst = strconv.AppendInt(append(dst, `,"bytes":`...), r.out.bytes, 10)
	dst = strconv.AppendInt(append(dst, `,"micros":`...), r.took.Microseconds(), 10)
	dst = r.client.AppendTo(append(dst, `,"client":"`...))
	dst = append(dst, '"')
	if r.span != nil {
		dst = append(append(append(dst, `,"trace":"`...), r.span.TraceID()...), '"')
	}
	if r.caller.KeyID != "" {
		dst = assay.AppendString(append(dst, `,"key":`...), r.caller.KeyID)
	}
	if r.caller.AccountID != 0 {
		dst = strconv.AppendInt(append(dst, `,"account":`...), r.caller.AccountID, 10)
	}
	return append(dst, "}\n"...)
}

// appendTextLine appends the same as key=value, in the form of slog's text.
func (r *Request) appendTextLine(dst []byte) []byte {
	dst = assay.AppendInstant(append(dst, "time="...), r.now.UnixMilli())
	dst = appendTextValue(append(dst, " level=INFO msg=request id="...), r.id)
	dst = appendTextValue(append(dst, " method="...), shown(r.http.Method))
	dst = appendTextValue(append(dst, " path="...), r.loggedPath())
	dst = strconv.AppendInt(append(dst, " status="...), int64(r.out.status), 10)
	dst = strconv.AppendInt(append(dst, " bytes="...), r.out.bytes, 10)
	dst = strconv.AppendInt(append(dst, " micros="...), r.took.Microseconds(), 10)
	dst = r.client.AppendTo(append(dst, " client="...))
	if r.span != nil {
		dst = append(append(dst, " trace="...), r.span.TraceID()...)
	}
	if r.caller.KeyID != "" {
		dst = appendTextValue(append(dst, " key="...), r.caller.KeyID)
	}
	if r.caller.AccountID != 0 {
		dst = strconv.AppendInt(append(dst, " account="...), r.caller.AccountID, 10)
	}
	return append(dst, '\n')
}

// appendTextValue appends a value, in quotes if it could be taken for something else.
func appendTextValue(dst []byte, value string) []byte {
	for i := range len(value) {
		if c := value[i]; c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f {
			return strconv.AppendQuoteToASCII(dst, value)
		}
	}
	if value == "" {
		return append(dst, `""`...)
	}
	return append(dst, value...)
}

func (r *Request) loggedPath() string {
	if r.route != nil {
		return r.route.Path
	}
	return shown(r.http.URL.Path)
}
