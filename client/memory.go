package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/assaydata/assay"
)

// MemoryIndex has the newest prices of memory types.
type MemoryIndex struct {
	Meta

	Access assay.Access `json:"access"`
	Date   time.Time    `json:"date"` // the newest fixing among them
	Count  int          `json:"count"`
	Data   MemoryPrices `json:"data"`
}

// MemoryPrices are the rows of a MemoryIndex. The API sends one row without a list if a Type was requested.
type MemoryPrices []MemoryPrice

// UnmarshalJSON reads a list or one row.
func (m *MemoryPrices) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]MemoryPrice)(m))
	}
	*m = make(MemoryPrices, 1)
	return json.Unmarshal(text, &(*m)[0])
}

// MemoryPrice is the newest price of a memory type, in USD per unit.
type MemoryPrice struct {
	ID              string      `json:"id"`
	MemoryType      string      `json:"memoryType"`
	Category        string      `json:"category"`
	Price           assay.Nanos `json:"price"`
	ChangePct       assay.Nanos `json:"changePct"` // since the previous point
	WeeklyHigh      assay.Nanos `json:"weeklyHigh"`
	WeeklyLow       assay.Nanos `json:"weeklyLow"`
	SourceUpdatedAt time.Time   `json:"sourceUpdatedAt"`           // when the source read it
	Date            time.Time   `json:"date"`                      // the fixing
	UpdatedAt       time.Time   `json:"updatedAt"`                 // when it was received
	Sources         int         `json:"sources,omitempty"`         // that a median is over; 0 if it is none
	ExcludedSources *int        `json:"excludedSources,omitempty"` // of a median; nil if it is none
}

// MemoryHistory is the series of a memory type.
type MemoryHistory struct {
	Meta

	ID          string             `json:"id"`
	MemoryType  string             `json:"memoryType"`
	Access      assay.Access       `json:"access"`
	Granularity string             `json:"granularity"`
	Count       int                `json:"count"`
	HasMore     bool               `json:"has_more"`
	Next        map[string]string  `json:"next,omitempty"`
	Data        []MemoryHistoryRow `json:"data"`
}

// MemoryHistoryRow is the price of a memory type at a fixing, in USD per unit.
type MemoryHistoryRow struct {
	Date            Day         `json:"date"`
	ID              string      `json:"id"`
	MemoryType      string      `json:"memoryType"`
	Category        string      `json:"category"`
	Price           assay.Nanos `json:"price"`
	WeeklyHigh      assay.Nanos `json:"weeklyHigh"`
	WeeklyLow       assay.Nanos `json:"weeklyLow"`
	ChangePct       assay.Nanos `json:"changePct"`
	SourceUpdatedAt time.Time   `json:"sourceUpdatedAt"`
	Timestamp       time.Time   `json:"timestamp"` // the fixing
	Sources         int         `json:"sources,omitempty"`
	ExcludedSources *int        `json:"excludedSources,omitempty"`
}

// MemoryIndex returns the newest prices of memory types.
func (c *Client) MemoryIndex(ctx context.Context, p *MemoryIndexParams) (*MemoryIndex, error) {
	return get[MemoryIndex](ctx, c, "/api/memory-index", p)
}

// MemoryHistory returns the series of a memory type, which is an id or a name, oldest first.
func (c *Client) MemoryHistory(ctx context.Context, memoryType string, p *MemoryHistoryParams) (*MemoryHistory, error) {
	return get[MemoryHistory](ctx, c, "/api/memory/{memoryType}/history", p, memoryType)
}
