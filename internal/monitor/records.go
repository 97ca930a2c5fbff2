package monitor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/assaydata/assay/verifier"
)

// listed is a record that the log lists: of a GPU, or of a value of another index.
type listed struct {
	verifier.RecordEntry
	Index  string `json:"index,omitempty"`
	Series string `json:"series,omitempty"`
	Date   string `json:"date,omitempty"`
}

// slot is the part of a query that says which value is meant.
func slot(e *verifier.RecordEntry) url.Values {
	query := url.Values{"region": {e.Region}}
	if e.Region == "global" {
		query.Del("region")
	}
	return query
}

// sample is some of the records that a monitor has seen, each with the same chance.
type sample struct {
	Seen    int      `json:"seen"`
	Entries []listed `json:"entries"`
}

func (s *sample) add(e listed, most int) {
	if most == 0 {
		return
	}
	place := s.Seen
	if s.Seen++; place >= most {
		if place = rand.IntN(s.Seen); place >= most { //nolint:gosec // the server does not see the generator
			return
		}
	}
	if place < len(s.Entries) {
		s.Entries[place] = e
	} else {
		s.Entries = append(s.Entries, e)
	}
}

// knownRecords is how many records a monitor remembers, to check them again later.
const knownRecords = 500

// publicFor is how long days are public: somewhat less than three months.
const publicFor = 85 * 24 * time.Hour

const instantLayout = "2006-01-02T15:04:05.000Z"

// canCheck reports whether the server shows a record to the monitor: without a key, only days of the last months, or
// token prices of the last month.
func (m *Monitor) canCheck(e *listed) bool {
	switch {
	case m.Server.Key != "":
		return true
	case e.Type == valueType:
		return e.Index == tokenPrices && e.Date >= m.Now().Add(-pricesPublicFor).UTC().Format(dayLayout)
	}
	return e.Granularity == "daily" && e.Timestamp >= m.Now().Add(-publicFor).UTC().Format(instantLayout)
}

// recordOf is the entry of a record that can be checked; ok is false for others.
func (m *Monitor) recordOf(entry []byte) (e listed, ok bool) {
	switch {
	case m.Records == 0:
		return e, false
	case bytes.HasPrefix(entry, []byte(`{"type":"record",`)):
		record, err := verifier.ParseRecordEntry(string(entry))
		e.RecordEntry, ok = record, err == nil && len(record.Timestamp) == len(instantLayout)
	case bytes.HasPrefix(entry, []byte(`{"type":"value",`)):
		value, err := verifier.ParseValueEntry(string(entry))
		e = listed{Index: value.Index, Series: value.Series, Date: value.Date}
		e.Type, e.Revision, e.Hash = value.Type, value.Revision, value.Hash
		ok = err == nil && len(value.Date) == len(dayLayout)
	}
	return e, ok && m.canCheck(&e) // one that is not ok proves nothing, and a reader of it finds that out
}

// known are some records that were there before: the server could show other values for them later.
func (m *Monitor) known(most int) (entries []listed) {
	for _, i := range rand.Perm(len(m.last.Known.Entries)) { //nolint:gosec // the server does not see the generator
		if e := m.last.Known.Entries[i]; len(entries) < most && m.canCheck(&e) {
			entries = append(entries, e)
		}
	}
	return entries
}

// checkRecords requests records of the log, and the values that are served for them.
func (m *Monitor) checkRecords(ctx context.Context, entries []listed, signed string, r *Report) error {
	for i := range entries {
		if entries[i].Type == valueType {
			if err := m.checkOther(ctx, &entries[i], signed, r); err != nil {
				return err
			}
			continue
		}
		e := &entries[i].RecordEntry
		record, err := m.checkRecord(ctx, e, signed)
		if err != nil {
			return err
		}
		if record == nil {
			continue // it is not for everyone, or not there at the moment
		}
		r.Records++
		compared, err := m.checkValue(ctx, e, record, signed)
		if err != nil {
			return err
		}
		if compared {
			r.Values++
		}
	}
	return nil
}

// checkRecord requests the record of an entry; nil if the server does not show it.
func (m *Monitor) checkRecord(ctx context.Context, e *verifier.RecordEntry, signed string) (*verifier.Record, error) {
	query := slot(e)
	if e.Granularity == "daily" {
		query.Set("date", e.Timestamp[:len("2006-01-02")])
	} else {
		query.Set("timestamp", e.Timestamp)
	}
	text, status, err := m.Server.get(ctx, "/api/gpu/"+url.PathEscape(e.GPU)+"/determination?"+query.Encode())
	if err != nil || status != http.StatusOK {
		return nil, err
	}
	record, _, err := m.Log.CheckRecord(text)
	switch {
	case errors.Is(err, verifier.ErrNotLogged), errors.Is(err, verifier.ErrTooFewWitnesses):
		return nil, nil //nolint:nilnil // it is signed in a moment
	case err != nil:
		return nil, m.evidence(fmt.Sprintf("the record of %s is not proven: %v", e, err), signed, text)
	case record.Timestamp != e.Timestamp || record.Region != e.Region || record.GPU != e.GPU:
		return nil, m.evidence(fmt.Sprintf("the server shows another record than that of %s", e), signed, text)
	case record.Revision < e.Revision || record.Revision == e.Revision && record.Hash != e.Hash:
		return nil, m.evidence(fmt.Sprintf("the server shows another record of %s than the log lists", e), signed, text)
	}
	return &record, nil
}

// checkValue compares the value that is served with its record, unless the server does not show it.
func (m *Monitor) checkValue(
	ctx context.Context, e *verifier.RecordEntry, record *verifier.Record, signed string,
) (compared bool, err error) {
	day := e.Timestamp[:len("2006-01-02")]
	query := slot(e)
	query.Set("granularity", e.Granularity)
	query.Set("startDate", day)
	query.Set("endDate", day)
	text, status, err := m.Server.get(ctx, "/api/gpu/"+url.PathEscape(e.GPU)+"/index-history?"+query.Encode())
	if err != nil || status != http.StatusOK {
		return false, err
	}
	var served struct {
		Access      string `json:"access"`
		Granularity string `json:"granularity"`
		Data        []struct {
			Timestamp string      `json:"timestamp"`
			Value     json.Number `json:"index_value"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &served); err != nil {
		return false, fmt.Errorf("the values of %s: %w", e, err)
	}
	if served.Granularity != e.Granularity {
		return false, nil
	}
	value := json.Number("")
	for _, row := range served.Data {
		if row.Timestamp == e.Timestamp {
			value = row.Value
		}
	}
	proven := json.Number("")
	if record.Value != nil {
		proven = *record.Value
	}
	switch {
	case value == proven:
		return true, nil
	case value == "" && served.Access != "full":
		return false, nil // it is older than what this reader may see
	}
	again, err := m.checkRecord(ctx, e, signed)
	if err != nil || again == nil || again.Hash != record.Hash {
		return false, err // it was restated between the two requests
	}
	what := fmt.Sprintf("the server shows %q for %s, and its record says %q", value, e, proven)
	return false, m.evidence(what, signed, text)
}
