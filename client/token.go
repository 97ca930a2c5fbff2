package client

import (
	"context"
	"time"

	"github.com/assaydata/assay"
)

// TokenPrices are token prices of labs: of one Date, or of a range from StartDate to EndDate.
type TokenPrices struct {
	Meta

	Access      assay.Access      `json:"access"`
	Granularity string            `json:"granularity"`
	Date        *Day              `json:"date,omitempty"`
	StartDate   *string           `json:"startDate,omitempty"` // as it was sent
	EndDate     *string           `json:"endDate,omitempty"`
	Count       int               `json:"count"`
	HasMore     bool              `json:"has_more"`
	Next        map[string]string `json:"next,omitempty"`
	Data        []TokenPrice      `json:"data"`
}

// TokenPrice is what a lab's paid models cost on a day, in USD per million tokens. The prices of input, cached input
// and output, and that of the reference mix, are there if sources said what the dollars were for.
type TokenPrice struct {
	Date               Day          `json:"date"`
	Lab                string       `json:"lab"`
	IndexPerMtok       assay.Nanos  `json:"indexPerMtok"` // input and output together
	ComputedAt         time.Time    `json:"computedAt"`
	InputPerMtok       *assay.Nanos `json:"inputPerMtok,omitempty"`
	CachedInputPerMtok *assay.Nanos `json:"cachedInputPerMtok,omitempty"`
	OutputPerMtok      *assay.Nanos `json:"outputPerMtok,omitempty"`
	MixPerMtok         *assay.Nanos `json:"mixPerMtok,omitempty"`
	SplitShare         *assay.Nanos `json:"splitShare,omitempty"` // of the dollars
}

// Workload is what requests to labs' models cost.
type Workload struct {
	Meta

	Access      assay.Access      `json:"access"`
	Granularity string            `json:"granularity"`
	Lab         *string           `json:"lab"` // as it was sent, like the next three
	Family      *string           `json:"family"`
	StartDate   *string           `json:"startDate"`
	EndDate     *string           `json:"endDate"`
	WindowDays  int               `json:"windowDays,omitempty"` // as it was sent
	Count       int               `json:"count"`
	HasMore     bool              `json:"has_more"`
	Next        map[string]string `json:"next,omitempty"`
	Data        []WorkloadRow     `json:"data"`
}

// WorkloadRow is what a request to a family of a lab's models cost, and why that changed.
type WorkloadRow struct {
	Date            Day          `json:"date"`
	Lab             string       `json:"lab"`
	Family          string       `json:"family"`
	CCents          assay.Nanos  `json:"cCents"` // cents a request
	LFL             assay.Nanos  `json:"lfl"`    // like-for-like index
	QKtok           assay.Nanos  `json:"qKtok"`  // thousand tokens a request
	PriceEffect     assay.Nanos  `json:"priceEffect"`
	IntensityEffect assay.Nanos  `json:"intensityEffect"`
	MixEffect       assay.Nanos  `json:"mixEffect"`
	ComputedAt      time.Time    `json:"computedAt"`
	UnlinkedShare   *assay.Nanos `json:"unlinkedShare"` // of the cost, that the previous row cannot be compared with
}

// OTPI returns token prices of the latest day, of one day or of a range.
func (c *Client) OTPI(ctx context.Context, p *OTPIParams) (*TokenPrices, error) {
	return get[TokenPrices](ctx, c, "/api/otpi", p)
}

// Workload returns what requests to labs' models cost, oldest first.
func (c *Client) Workload(ctx context.Context, p *WorkloadParams) (*Workload, error) {
	return get[Workload](ctx, c, "/api/workload", p)
}
