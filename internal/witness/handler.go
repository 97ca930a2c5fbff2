package witness

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
)

// maxBody is the largest request: a checkpoint with many signatures, and a proof.
const maxBody = 64 << 10

// Handler serves the witness: POST /add-checkpoint signs, GET /vkey says by which key others know it.
func (w *Witness) Handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /add-checkpoint", func(out http.ResponseWriter, in *http.Request) { w.serve(out, in, log) })
	mux.HandleFunc("GET /vkey", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintln(out, w.Key()) // the client may be gone
	})
	return mux
}

func (w *Witness) serve(out http.ResponseWriter, in *http.Request, log *slog.Logger) {
	body, err := io.ReadAll(http.MaxBytesReader(out, in.Body, maxBody))
	if err != nil {
		http.Error(out, fmt.Sprintf("the request has more than %d bytes, or broke off", maxBody), http.StatusBadRequest)
		return
	}
	line, err := w.AddCheckpoint(in.Context(), string(body))
	refusal, refused := errors.AsType[*Refusal](err)
	switch {
	case err == nil:
		out.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(out, line) // the client may be gone
	case !refused:
		log.Error("cannot sign", "error", err)
		http.Error(out, "the witness is in trouble; try again later", http.StatusInternalServerError)
	case refusal.Reason == Stale || refusal.Reason == Forked:
		if refusal.Reason == Forked {
			log.Error("refused", "reason", err)
		}
		out.Header().Set("Content-Type", "text/x.tlog.size")
		out.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(out, strconv.FormatInt(refusal.Seen, 10)+"\n")
	default:
		log.Warn("refused", "reason", err)
		http.Error(out, err.Error(), statuses[refusal.Reason])
	}
}

// statuses are those of tlog-witness.
var statuses = map[Reason]int{
	Malformed: http.StatusBadRequest, UnknownLog: http.StatusNotFound, Unsigned: http.StatusForbidden,
	Inconsistent: http.StatusUnprocessableEntity,
}
