package main

import (
	"errors"
	"io"
	"log/slog"
	"strconv"
)

// newLog makes the program's log: one JSON object per line.
func newLog(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
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
