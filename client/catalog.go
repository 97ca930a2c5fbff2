package client

import (
	"context"

	"github.com/assaydata/assay"
)

// GPUType is a GPU model of the catalog.
type GPUType struct {
	GPUName string `json:"gpu_name"`
	Region  string `json:"region"` // empty
}

// Region is a region of the catalog.
type Region struct {
	Region string `json:"region"`
}

// TokenType is a lab of the catalog: a maker of language models whose token price is published.
type TokenType struct {
	Lab   string `json:"lab"`
	Label string `json:"label"`
}

// CodingProduct is a product of the catalog: a coding tool, or two of them, and a metric.
type CodingProduct struct {
	ID           string   `json:"id"`
	Label        string   `json:"label"`
	Category     string   `json:"category"` // prs, commits or merge
	Kind         string   `json:"kind"`     // count or pct
	Compare      bool     `json:"compare"`  // it compares two tools
	SeriesLabels []string `json:"seriesLabels"`
}

// GPUTypes lists the GPU models.
func (c *Client) GPUTypes(ctx context.Context) (*List[GPUType], error) {
	return get[List[GPUType]](ctx, c, "/api/gpu-types", nil)
}

// FreeGPUTypes lists the GPU models that need no key.
func (c *Client) FreeGPUTypes(ctx context.Context) (*List[GPUType], error) {
	return get[List[GPUType]](ctx, c, "/api/gpu-types-free", nil)
}

// Regions lists the regions.
func (c *Client) Regions(ctx context.Context) (*List[Region], error) {
	return get[List[Region]](ctx, c, "/api/regions", nil)
}

// TokenTypes lists the labs.
func (c *Client) TokenTypes(ctx context.Context) (*List[TokenType], error) {
	return get[List[TokenType]](ctx, c, "/api/token-types", nil)
}

// FreeTokenTypes lists the labs that need no key.
func (c *Client) FreeTokenTypes(ctx context.Context) (*List[TokenType], error) {
	return get[List[TokenType]](ctx, c, "/api/token-types-free", nil)
}

// MemoryTypes lists the memory types.
func (c *Client) MemoryTypes(ctx context.Context) (*List[assay.MemoryType], error) {
	return get[List[assay.MemoryType]](ctx, c, "/api/memory-types", nil)
}

// CodingProducts lists the coding products.
func (c *Client) CodingProducts(ctx context.Context) (*List[CodingProduct], error) {
	return get[List[CodingProduct]](ctx, c, "/api/llm-coding/products", nil)
}
