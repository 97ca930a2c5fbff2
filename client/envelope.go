package client

import "github.com/assaydata/assay"

// One is the response with one row.
type One[T any] struct {
	Meta

	Access assay.Access `json:"access"` // the window or tier that served it
	Data   T            `json:"data"`
}

// List is the response with the rows of a catalog, or of current values.
type List[T any] struct {
	Meta

	Access assay.Access `json:"access,omitempty"` // empty for catalogs, which are the same for everyone
	Count  int          `json:"count"`
	Data   []T          `json:"data"`
}

// Series is the response with a series of a GPU model.
type Series[T any] struct {
	Meta

	GPUType     string            `json:"gpu_type"`
	Region      string            `json:"region"`
	Access      assay.Access      `json:"access"`
	Granularity string            `json:"granularity"` // what was served: daily or hourly
	Count       int               `json:"count"`
	HasMore     bool              `json:"has_more"`       // the limit has cut rows off
	Next        map[string]string `json:"next,omitempty"` // parameters of the next page; nil on the last one
	Data        []T               `json:"data"`
}
