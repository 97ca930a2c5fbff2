package client

import (
	"context"
	"time"

	"github.com/assaydata/assay"
)

// CodingValue is the newest value of a coding product.
type CodingValue struct {
	Product       string       `json:"product"`
	Label         string       `json:"label"`
	Kind          string       `json:"kind"` // count or pct
	Value         assay.Nanos  `json:"value"`
	ChangePct     *assay.Nanos `json:"changePct"` // since the previous day; nil without one or if it was 0
	Date          Day          `json:"date"`
	UpdatedAt     time.Time    `json:"updatedAt"`
	WeekChangePct *assay.Nanos `json:"weekChangePct"`     // since the same day of the week before; nil likewise
	Partial       bool         `json:"partial,omitempty"` // the day has not ended
}

// CodingHistory is the series of a coding product.
type CodingHistory struct {
	Meta

	Product      string             `json:"product"`
	Compare      bool               `json:"compare"`      // rows have a Value2
	SeriesLabels []string           `json:"seriesLabels"` // of the two values; nil without a comparison
	Access       assay.Access       `json:"access"`
	Granularity  string             `json:"granularity"`
	Count        int                `json:"count"`
	HasMore      bool               `json:"has_more"`
	Next         map[string]string  `json:"next,omitempty"`
	Data         []CodingHistoryRow `json:"data"`
}

// CodingHistoryRow is the value of a product on a day.
type CodingHistoryRow struct {
	Date    Day          `json:"date"`
	Value   assay.Nanos  `json:"value"`
	Value2  *assay.Nanos `json:"value2,omitempty"` // of the second tool of a comparison
	Partial bool         `json:"partial,omitempty"`
}

// CodingIndex returns the newest value of a coding product.
func (c *Client) CodingIndex(ctx context.Context, p *CodingIndexParams) (*One[CodingValue], error) {
	return get[One[CodingValue]](ctx, c, "/api/llm-coding/index", p)
}

// CodingHistory returns the series of a coding product, oldest first.
func (c *Client) CodingHistory(ctx context.Context, p *CodingHistoryParams) (*CodingHistory, error) {
	return get[CodingHistory](ctx, c, "/api/llm-coding/history", p)
}
