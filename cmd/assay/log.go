package main

import (
	"errors"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/linelog"
)

// logFormat is the form of a log's lines. docs/operate.md has their fields.
type logFormat string

// The forms: an object in each line, or key=value.
const (
	logJSON logFormat = "json"
	logText logFormat = "text"
)

func (f *logFormat) set(text string) error {
	switch logFormat(text) {
	case logJSON, logText:
		*f = logFormat(text)
		return nil
	}
	return errors.New("must be json or text")
}

// newLog makes the program's log. The time of a line is an instant as the API writes it, also in those that web and
// linelog write themselves.
func newLog(w io.Writer, level slog.Leveler, format logFormat) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 && a.Value.Kind() == slog.KindTime {
			a.Value = slog.StringValue(assay.FormatInstant(a.Value.Time().UnixMilli()))
		}
		return a
	}}
	if format == logText {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// newLines makes the writer of the log's lines.
func newLines(w io.Writer, now func() time.Time, format logFormat) *linelog.Writer {
	if format == logText {
		return linelog.NewText(w, now)
	}
	return linelog.New(w, now)
}

// accessLog says how many requests are logged: one in so many, 0 for none.
type accessLog int

// maxAccessLog is the sparsest access log: with less than one request in a million, --access-log off is meant.
const maxAccessLog = 1_000_000

func (a *accessLog) set(text string) error {
	switch text {
	case "all":
		*a = 1
		return nil
	case "off":
		*a = 0
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxAccessLog {
		return errors.New("must be all, off, or a number from 1 to 1000000 to log one request in so many")
	}
	*a = accessLog(n)
	return nil
}
