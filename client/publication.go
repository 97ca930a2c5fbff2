package client

import (
	"context"
	"time"

	"github.com/assaydata/assay"
)

// Methodologies are versions of the rules that values follow from.
type Methodologies struct {
	Meta

	Version *string       `json:"version"` // in effect now; nil if the first is not in effect yet
	Count   int           `json:"count"`
	Data    []Methodology `json:"data"`
}

// Methodology is one version.
type Methodology struct {
	Version     string    `json:"version"`
	EffectiveAt time.Time `json:"effective_at"`
	AdoptedAt   time.Time `json:"adopted_at"`
	Reason      *string   `json:"reason"` // of the change; nil in the built-in version
	Text        string    `json:"text"`   // TOML
}

// Notices are notices to readers, the newest first.
type Notices struct {
	Meta

	Count   int               `json:"count"`
	HasMore bool              `json:"has_more"`
	Next    map[string]string `json:"next,omitempty"`
	Data    []Notice          `json:"data"`
}

// Notice tells what happened, or will happen, to the index.
type Notice struct {
	Number      int64            `json:"number"`
	PublishedAt time.Time        `json:"published_at"`
	Kind        assay.NoticeKind `json:"kind"`
	GPUType     *string          `json:"gpu_type"` // nil if it is about all
	Region      *string          `json:"region"`   // likewise
	About       *time.Time       `json:"about"`    // nil if it is about no instant
	Text        string           `json:"text"`
}

// LatestPublication is the newest version of all published data.
type LatestPublication struct {
	Meta

	Data Publication `json:"data"`
}

// Publication is one version of all published data.
type Publication struct {
	Version     int64     `json:"version"`
	PublishedAt time.Time `json:"published_at"`
	Methodology string    `json:"methodology"`
	Reason      *string   `json:"reason"`   // of a restatement; nil for the regular ones
	Manifest    *Manifest `json:"manifest"` // the newest one; nil without one
}

// Manifest is the signed list of one day's records.
type Manifest struct {
	Day           Day       `json:"day"`
	Revision      int       `json:"revision"`
	Publication   int64     `json:"publication,omitempty"`
	Receipt       *int64    `json:"receipt,omitempty"`
	Records       int       `json:"records"`
	Revisions     *int      `json:"revisions,omitempty"` // how many of the records replace others
	RecordsDigest string    `json:"records_digest"`
	SignedAt      time.Time `json:"signed_at"`
	PreviousHash  string    `json:"previous_hash"`
	Hash          string    `json:"hash"`
	PublicKey     string    `json:"public_key"`
	Signature     string    `json:"signature"`
}

// notices is the route that EachNotice reads page by page.
const notices = "/api/notices"

// Methodology returns the versions of the methodology, or one of them.
func (c *Client) Methodology(ctx context.Context, p *MethodologyParams) (*Methodologies, error) {
	return get[Methodologies](ctx, c, "/api/methodology", p)
}

// Notices returns notices to readers, the newest first. For all of them use EachNotice.
func (c *Client) Notices(ctx context.Context, p *NoticesParams) (*Notices, error) {
	return get[Notices](ctx, c, notices, p)
}

// LatestPublication returns the newest version of the data, and the newest manifest.
func (c *Client) LatestPublication(ctx context.Context, p *AsOfParams) (*LatestPublication, error) {
	return get[LatestPublication](ctx, c, "/api/publications/latest", p)
}
