package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/assaydata/assay"
)

// say prints an informational line to standard output, such as what a command has done. --quiet leaves it out.
func (s *streams) say(format string, args ...any) {
	if !s.quiet {
		fmt.Fprintf(s.out, format+"\n", args...)
	}
}

// note prints an informational line to standard error. --quiet leaves it out.
func (s *streams) note(format string, args ...any) {
	if !s.quiet {
		fmt.Fprintf(s.err, format+"\n", args...)
	}
}

// printJSON prints an object as an indented JSON document.
func printJSON(w io.Writer, document any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(document)
}

// printTable prints rows as aligned columns separated by two spaces. Trailing empty cells leave no spaces behind.
func printTable(w io.Writer, rows [][]string) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
	return nil
}

// printJSONList prints one JSON array with an entry per line, so that line-based tools work on it too.
func printJSONList[T any](w io.Writer, list []T) error {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	for i, entry := range list {
		if i > 0 {
			text.Truncate(text.Len() - 1)
			text.WriteString(",\n")
		}
		if err := out.Encode(entry); err != nil {
			return err
		}
	}
	format := "[\n%s]\n"
	if len(list) == 0 {
		format = "[%s]\n"
	}
	_, err := fmt.Fprintf(w, format, text.Bytes())
	return err
}

// printList prints a list as JSON or as a table with a header.
func printList[T any](s *streams, asJSON bool, list []T, header []string, row func(T) []string) error {
	if asJSON {
		return printJSONList(s.out, list)
	}
	rows := [][]string{header}
	for _, entry := range list {
		rows = append(rows, row(entry))
	}
	return printTable(s.out, rows)
}

// writeCSV writes rows as CSV.
func writeCSV(w io.Writer, write func(row func(...string) error) error) error {
	out := csv.NewWriter(w)
	err := write(func(cells ...string) error { return out.Write(cells) })
	out.Flush()
	return errors.Join(err, out.Error())
}

// instant is a moment in milliseconds for tables and JSON: 0 is "-" and null.
type instant int64

func (i instant) String() string { return i.or("-") }

// or formats the instant, or returns a word if there is none.
func (i instant) or(none string) string {
	if i == 0 {
		return none
	}
	return assay.FormatInstant(int64(i))
}

// MarshalJSON writes ISO 8601 or null.
func (i instant) MarshalJSON() ([]byte, error) {
	if i == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(assay.FormatInstant(int64(i)))
}

// thousands formats a count with separators.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// count formats a number of things: 1 file, 2,000 files.
func count(n int, thing string) string {
	return thousands(n) + " " + plural(n, thing)
}

func plural(n int, thing string) string {
	if n == 1 {
		return thing
	}
	return thing + "s"
}

// rate formats how many per second.
func rate(n int, took time.Duration) string {
	return thousands(int(float64(n) / max(took.Seconds(), 0.001)))
}
