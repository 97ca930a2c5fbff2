package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/assaydata/assay/verifier"
)

const (
	valueType   = "value" // of entries of the log
	tokenPrices = "otpi"
	dayLayout   = "2006-01-02"

	pricesPublicFor = 25 * 24 * time.Hour // somewhat less than a month
)

// checkOther requests the record of a value of another index than that of GPUs, and what the server shows for it.
func (m *Monitor) checkOther(ctx context.Context, e *listed, signed string, r *Report) error {
	name := fmt.Sprintf("%s of %s on %s", e.Index, e.Series, e.Date)
	query := url.Values{"series": {e.Series}, "date": {e.Date}}
	text, status, err := m.Server.get(ctx, "/api/determinations/"+url.PathEscape(e.Index)+"?"+query.Encode())
	if err != nil || status != http.StatusOK {
		return err
	}
	record, _, err := m.Log.CheckValueRecord(text)
	switch {
	case errors.Is(err, verifier.ErrNotLogged), errors.Is(err, verifier.ErrTooFewWitnesses):
		return nil // it is signed in a moment
	case err != nil:
		return m.evidence(fmt.Sprintf("the record of %s is not proven: %v", name, err), signed, text)
	case record.Index != e.Index || record.Series != e.Series || record.Date != e.Date:
		return m.evidence("the server shows another record than that of "+name, signed, text)
	case record.Revision < e.Revision || record.Revision == e.Revision && record.Hash != e.Hash:
		return m.evidence(fmt.Sprintf("the server shows another record of %s than the log lists", name), signed, text)
	}
	r.Records++
	route, ok := servedBy(&record)
	if !ok {
		return nil
	}
	text, status, err = m.Server.get(ctx, route)
	if err != nil || status != http.StatusOK {
		return err
	}
	different, err := compareServed(&record, text)
	if err != nil {
		return fmt.Errorf("what is shown for %s: %w", name, err)
	}
	if different != "" {
		what := fmt.Sprintf("the server shows other values for %s than its record: %s", name, different)
		return m.evidence(what, signed, text)
	}
	r.Values++
	return nil
}

// servedBy is where the server shows what a record is about, as of when the record was made: what was restated later
// has another record. Metrics of coding tools have no such route, because products have names of their own.
func servedBy(r *verifier.ValueRecord) (route string, ok bool) {
	days := url.Values{"startDate": {r.Date}, "endDate": {r.Date}, "as_of": {r.KnownAt}}
	switch r.Index {
	case tokenPrices:
		days.Set("lab", r.Series)
		return "/api/otpi?" + days.Encode(), true
	case "workload", "workload-daily":
		lab, family, _ := strings.Cut(r.Series, "/")
		days.Set("lab", lab)
		days.Set("family", family)
		if r.Index == "workload-daily" {
			days.Set("windowDays", "1")
		}
		return "/api/workload?" + days.Encode(), true
	case "memory":
		return "/api/memory/" + url.PathEscape(r.Series) + "/history?" + days.Encode(), true
	case "utilization":
		slash := strings.LastIndex(r.Series, "/") // the name of a model may have one too
		if slash < 0 {
			return "", false
		}
		days.Set("region", r.Series[slash+1:])
		return "/api/gpu/" + url.PathEscape(r.Series[:slash]) + "/volume-metrics?" + days.Encode(), true
	}
	return "", false
}

// compareServed says what of a response differs from a record; nothing if the server shows no such day to this reader.
func compareServed(r *verifier.ValueRecord, response []byte) (different string, err error) {
	var served struct {
		Access string                       `json:"access"`
		Data   []map[string]json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(response, &served); err != nil {
		return "", err
	}
	numbers, err := r.Numbers()
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(served.Data, func(row map[string]json.RawMessage) bool {
		for _, name := range []string{"date", "timestamp", "recorded_at"} {
			if strings.HasPrefix(string(row[name]), `"`+r.Date) {
				return true
			}
		}
		return false
	})
	switch {
	case i < 0 && numbers != nil && served.Access == "full":
		return "there is none", nil
	case i < 0:
		return "", nil
	case numbers == nil:
		return "there is one, and the record has none", nil
	}
	for name, number := range numbers {
		if strings.HasPrefix(name, "hour_") {
			continue // hours are other rows
		}
		if is := string(served.Data[i][name]); is != number && (is != "" || number != "null") {
			return fmt.Sprintf("%s is %s, and the record has %s", name, is, number), nil
		}
	}
	return "", nil
}
