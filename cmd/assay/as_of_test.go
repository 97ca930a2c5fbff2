package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydata/assay"
)

// sighting is what a reader got, and between which instants.
type sighting struct {
	before, after time.Time
	body          string
}

// A reader polls a value while it is restated again and again. as_of the instant of a response is that response, to the
// byte: nothing is dated before it could be read.
func TestAsOf_IsWhatWasServed(t *testing.T) {
	t.Parallel()
	dir := nodeFolder(t)
	key := assayIn(t, dir, "key create --dir data --tier full --name poller")
	p := startReader(t, dir, "reader")
	client := newClient(t)
	get := func(more string) string {
		response, body, err := getWith(client, key, p.url+nearestPath+more)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%v: %s", err, body)
		}
		return body
	}

	restated := make(chan error, 1)
	go func() { restated <- restateOften(dir) }()
	var seen []sighting
	for done := false; !done; {
		select {
		case err := <-restated:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
		s := sighting{before: time.Now()}
		s.body = get("")
		s.after = time.Now()
		seen = append(seen, s)
	}

	changes := 0
	for i := range seen {
		edge := i == 0 || i == len(seen)-1 || seen[i].body != seen[i-1].body || seen[i].body != seen[i+1].body
		if !edge {
			continue
		}
		if i > 0 && seen[i].body != seen[i-1].body {
			changes++
		}
		asOf := func(at time.Time) string {
			return get("&as_of=" + url.QueryEscape(assay.FormatInstant(at.UnixMilli())))
		}
		first, last := asOf(seen[i].before), asOf(seen[i].after)
		if seen[i].body != first && seen[i].body != last {
			t.Errorf("between %s and %s a reader got\n%s\nas_of says\n%s\nand\n%s",
				seen[i].before, seen[i].after, seen[i].body, first, last)
		}
	}
	if changes != restatements {
		t.Errorf("the reader saw %d changes in %d responses, want %d", changes, len(seen), restatements)
	}
}

const restatements = 5

// restateOften gives a transaction one price after the other, and restates its day each time.
func restateOften(dir string) error {
	for i := range restatements {
		row := fmt.Sprintf(`id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified
t1,exchange,2025-06-10T10:15:00Z,H100 SXM,us-east,2.%d,1,1,Alder,true
`, 41+i)
		if err := os.WriteFile(filepath.Join(dir, "corrected.csv"), []byte(row), 0o600); err != nil {
			return err
		}
		for _, line := range []string{
			"transaction correct --dir data --reason again corrected.csv", "restate --dir data --late --reason again",
		} {
			if _, err := runIn(dir, line); err != nil {
				return err
			}
		}
	}
	return nil
}
