package proof

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/assaydata/assay"
)

// recordText is the JSON form of a record.
type recordText struct {
	GPU         string `json:"gpu_type"`
	Region      string `json:"region"`
	Granularity string `json:"granularity"`
	Timestamp   string `json:"timestamp"`
	Revision    int    `json:"revision"`
	Window      struct {
		From string `json:"from"`
		To   string `json:"to"`
	} `json:"window"`
	Methodology  string          `json:"methodology"`
	Fallback     string          `json:"fallback"`
	DelaySeconds int             `json:"publication_delay_seconds"`
	Receipt      int64           `json:"receipt"`
	Value        *assay.Nanos    `json:"index_value"`
	Transactions int             `json:"transactions"`
	GPUHours     json.Number     `json:"gpu_hours"`
	Providers    int             `json:"providers"`
	HHI          int             `json:"hhi"`
	Volumes      json.RawMessage `json:"volumes"`
	Low          *assay.Nanos    `json:"lowest_price"`
	High         *assay.Nanos    `json:"highest_price"`
	Median       *assay.Nanos    `json:"median_price"`
	Excluded     struct {
		Unverified int `json:"unverified"`
		Withdrawn  int `json:"withdrawn"`
	} `json:"excluded"`
	Adjusted struct {
		Winsorized int `json:"winsorised"`
		Capped     int `json:"capped"`
	} `json:"adjusted"`
	Inputs      hexHash `json:"inputs_digest"`
	PublishedAt string  `json:"published_at"`
	Previous    hexHash `json:"previous_hash"`
	Hash        hexHash `json:"hash"`
}

// hexHash is the JSON form of a hash.
type hexHash assay.Hash

func (h *hexHash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return errors.New("a hash must have 64 digits")
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// ParseRecord parses a record. The text must be byte for byte what AppendJSON writes.
func ParseRecord(text []byte) (d assay.Determination, err error) {
	var r recordText
	if err := json.Unmarshal(text, &r); err != nil {
		return d, fmt.Errorf("parse a record: %w", err)
	}
	var errs [4]error
	d = assay.Determination{
		Line: assay.Line{GPU: r.GPU, Region: r.Region}, Revision: r.Revision, Methodology: r.Methodology,
		DelaySeconds: r.DelaySeconds, Receipt: r.Receipt,
		HasValue: r.Value != nil, Transactions: r.Transactions, Providers: r.Providers, HHI: r.HHI,
		Fallback: r.Fallback, Volumes: string(r.Volumes),
		Excluded: assay.Exclusions(r.Excluded), Adjusted: assay.Adjustments(r.Adjusted),
		Inputs: assay.Hash(r.Inputs), Previous: assay.Hash(r.Previous), Hash: assay.Hash(r.Hash),
	}
	for to, price := range map[*assay.Nanos]*assay.Nanos{
		&d.Value: r.Value, &d.Low: r.Low, &d.High: r.High, &d.Median: r.Median,
	} {
		if price != nil { // all are null if the value was withdrawn
			*to = *price
		}
	}
	d.Grain, errs[0] = assay.ParseGrain(r.Granularity)
	d.At, errs[1] = parseInstant(r.Timestamp)
	d.From, errs[2] = parseInstant(r.Window.From)
	d.PublishedAt, errs[3] = parseInstant(r.PublishedAt)
	d.HourMicros, err = assay.ParseDecimal(r.GPUHours.String(), 6)
	err = errors.Join(append(errs[:], err)...)
	if err != nil {
		return d, fmt.Errorf("parse a record: %w", err)
	}
	if !bytes.Equal(AppendJSON(nil, &d), text) {
		return d, errors.New("parse a record: it is not in the published form")
	}
	return d, nil
}

func parseInstant(text string) (int64, error) {
	ms, _, err := assay.ParseInstant(text)
	return ms, err
}

// ParseManifest parses a manifest. The text must be byte for byte what AppendManifestJSON writes.
func ParseManifest(text []byte) (m assay.Manifest, err error) {
	var t struct {
		Day         string  `json:"day"`
		Revision    int     `json:"revision"`
		Publication int64   `json:"publication"`
		Receipt     int64   `json:"receipt"`
		Records     int     `json:"records"`
		Revisions   int     `json:"revisions"`
		Digest      hexHash `json:"records_digest"`
		SignedAt    string  `json:"signed_at"`
		Previous    hexHash `json:"previous_hash"`
		PublicKey   string  `json:"public_key"`
		Hash        hexHash `json:"hash"`
		Signature   string  `json:"signature"`
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return m, fmt.Errorf("parse a manifest: %w", err)
	}
	m = assay.Manifest{
		Revision: t.Revision, Publication: t.Publication, Receipt: t.Receipt, Records: t.Records, Revisions: t.Revisions,
		Digest: assay.Hash(t.Digest), Previous: assay.Hash(t.Previous), Hash: assay.Hash(t.Hash),
	}
	var errs [4]error
	day, err := time.Parse(assay.DayLayout, t.Day)
	m.Day, errs[0] = day.UnixMilli(), err
	m.SignedAt, errs[1] = parseInstant(t.SignedAt)
	m.PublicKey, errs[2] = base64.StdEncoding.DecodeString(t.PublicKey)
	m.Signature, errs[3] = base64.StdEncoding.DecodeString(t.Signature)
	err = errors.Join(errs[:]...)
	if err != nil {
		return m, fmt.Errorf("parse a manifest: %w", err)
	}
	if !bytes.Equal(AppendManifestJSON(nil, &m), text) {
		return m, errors.New("parse a manifest: it is not in the published form")
	}
	return m, nil
}
