package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/verifier"
)

// Determination is the record of how a value of a GPU model was determined, with the proof that the log lists it. A
// Verifier checks it.
type Determination struct {
	Meta

	Access      assay.Access        `json:"access"`
	Granularity string              `json:"granularity"`
	Revisions   int                 `json:"revisions"` // how many the slot has had
	Inclusion   *verifier.Inclusion `json:"inclusion"` // nil until a checkpoint includes the record
	Data        DeterminationRecord `json:"data"`
}

// DeterminationRecord says how a value was determined.
type DeterminationRecord struct {
	GPUType                 string       `json:"gpu_type"`
	Region                  string       `json:"region"`
	Granularity             string       `json:"granularity"`
	Timestamp               time.Time    `json:"timestamp"`
	Revision                int          `json:"revision"`
	Window                  Window       `json:"window"`
	Methodology             string       `json:"methodology"`
	Fallback                string       `json:"fallback,omitempty"` // of the methodology that was used; empty for none
	PublicationDelaySeconds *int         `json:"publication_delay_seconds,omitempty"`
	Receipt                 int64        `json:"receipt"`
	IndexValue              *assay.Nanos `json:"index_value"` // nil: a restatement took the value back
	Transactions            int          `json:"transactions"`
	GPUHours                assay.Micros `json:"gpu_hours"`
	Providers               int          `json:"providers"`
	HHI                     int          `json:"hhi"` // concentration of the providers, 0 to 10,000
	Volumes                 *Volumes     `json:"volumes,omitempty"`
	LowestPrice             *assay.Nanos `json:"lowest_price"`
	HighestPrice            *assay.Nanos `json:"highest_price"`
	MedianPrice             *assay.Nanos `json:"median_price"`
	Excluded                Excluded     `json:"excluded"`
	Adjusted                Adjusted     `json:"adjusted"`
	InputsDigest            string       `json:"inputs_digest"`
	PublishedAt             time.Time    `json:"published_at"`
	PreviousHash            string       `json:"previous_hash"`
	Hash                    string       `json:"hash"`
}

// Window is the time whose transactions count.
type Window struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Volumes are the GPU-hours of a record by their source, the largest first, and by what they were verified by.
type Volumes struct {
	BySource   []assay.Micros          `json:"by_source"`
	ByEvidence map[string]assay.Micros `json:"by_evidence"`
}

// Excluded counts the transactions that did not count.
type Excluded struct {
	Unverified int `json:"unverified"`
	Withdrawn  int `json:"withdrawn"`
}

// Adjusted counts what the optional rules of the methodology have changed.
type Adjusted struct {
	Winsorized int `json:"winsorised"`
	Capped     int `json:"capped"`
}

// ValueDetermination is the record of a value of another index than that of GPUs.
type ValueDetermination struct {
	Meta

	Access    assay.Access        `json:"access"`
	Index     string              `json:"index"`
	Revisions int                 `json:"revisions"`
	Inclusion *verifier.Inclusion `json:"inclusion"` // nil until a checkpoint includes the record
	Data      ValueRecord         `json:"data"`
}

// ValueRecord says what the numbers of a value are, and what they follow from.
type ValueRecord struct {
	Index       string                  `json:"index"`
	Series      string                  `json:"series"`
	Date        Day                     `json:"date"`
	Revision    int                     `json:"revision"`
	Values      map[string]*assay.Nanos `json:"values"` // nil: a restatement has left none
	Methodology string                  `json:"methodology"`
	KnownAt     time.Time               `json:"known_at"`
	Inputs      string                  `json:"inputs"`
	Hash        string                  `json:"hash"`
}

// Corrections are values that restatements have changed. To keep a copy current, apply Data, store Next, and pass it as
// Since in the next request, also if Data is empty.
type Corrections[T any] struct {
	Meta

	Access  assay.Access `json:"access"`
	Count   int          `json:"count"`
	HasMore bool         `json:"has_more"`
	Next    string       `json:"next"`
	Data    []T          `json:"data"`
}

// Correction is a value of a GPU model that a restatement has changed.
type Correction struct {
	GPUType       string       `json:"gpu_type"`
	Region        string       `json:"region"`
	Granularity   string       `json:"granularity"`
	Timestamp     time.Time    `json:"timestamp"`
	Revision      int          `json:"revision"`
	IndexValue    *assay.Nanos `json:"index_value"`    // nil: it was taken back
	PreviousValue *assay.Nanos `json:"previous_value"` // nil: there was none
	CorrectedAt   time.Time    `json:"corrected_at"`
	Reason        string       `json:"reason"`
}

// FamilyCorrection is a row of another family that a restatement has changed.
type FamilyCorrection struct {
	Family      string          `json:"family"`
	Route       string          `json:"route"` // whose row it is
	Date        Day             `json:"date"`
	Previous    json.RawMessage `json:"previous"` // the row as it was, or null
	Current     json.RawMessage `json:"current"`  // the row as it is, or null
	CorrectedAt time.Time       `json:"corrected_at"`
	Reason      string          `json:"reason"`
}

// LogInclusion is the proof that the log lists a record.
type LogInclusion struct {
	Meta

	Data verifier.Inclusion `json:"data"`
}

// LogConsistency is the proof that the log has only grown.
type LogConsistency struct {
	Meta

	Data Consistency `json:"data"`
}

// Consistency has the hashes for verifier.CheckConsistency.
type Consistency struct {
	From   int64    `json:"from"`
	To     int64    `json:"to"`
	Hashes []string `json:"hashes"`
}

// The routes that a Verifier or an iterator requests, too.
const (
	determination      = "/api/gpu/{gpuName}/determination"
	valueDetermination = "/api/determinations/{index}"
	corrections        = "/api/corrections"
	familyCorrections  = "/api/corrections/{family}"
)

// Determination returns the record of a daily or an hourly value of a GPU model.
func (c *Client) Determination(ctx context.Context, gpuName string, p *DeterminationParams) (*Determination, error) {
	return get[Determination](ctx, c, determination, p, gpuName)
}

// ValueDetermination returns the record of a value of an index: otpi, workload, workload-daily, memory, llm-coding or
// utilization.
func (c *Client) ValueDetermination(
	ctx context.Context, index string, p *ValueDeterminationParams,
) (*ValueDetermination, error) {
	return get[ValueDetermination](ctx, c, valueDetermination, p, index)
}

// Corrections returns values of GPU models that restatements have changed, in the order of the restatements.
func (c *Client) Corrections(ctx context.Context, p *CorrectionsParams) (*Corrections[Correction], error) {
	return get[Corrections[Correction]](ctx, c, corrections, p)
}

// FamilyCorrections returns rows of a family (memory, models, coding or utilization) that restatements have changed.
func (c *Client) FamilyCorrections(
	ctx context.Context, family string, p *FamilyCorrectionsParams,
) (*Corrections[FamilyCorrection], error) {
	return get[Corrections[FamilyCorrection]](ctx, c, familyCorrections, p, family)
}

// LogInclusion returns the proof that the log lists a record, which its hash names.
func (c *Client) LogInclusion(ctx context.Context, record string) (*LogInclusion, error) {
	return get[LogInclusion](ctx, c, "/api/log/inclusion", &inclusionParams{Record: record})
}

// LogConsistency returns the proof that the first entries of the log, to of them, begin with the first from.
func (c *Client) LogConsistency(ctx context.Context, from, to int64) (*LogConsistency, error) {
	return get[LogConsistency](ctx, c, "/api/log/consistency", &consistencyParams{From: from, To: to})
}
