package client

import (
	"context"
	"time"

	"github.com/assaydata/assay"
)

// VolatilityRow is how much a price moved in the prints before an instant.
type VolatilityRow struct {
	RecordedAt        time.Time    `json:"recorded_at"`
	ExactTimestamp    time.Time    `json:"exact_timestamp"`
	GPUType           string       `json:"gpu_type"`
	Region            string       `json:"region"`
	IndexValue        assay.Nanos  `json:"index_value"`
	RollingVolatility *assay.Nanos `json:"rolling_volatility"` // annualized; nil below two returns
	WindowDays        int          `json:"window_days"`
}

// VolumeMetricsRow is which share of a GPU model's tracked capacity was rented in a day or an hour.
type VolumeMetricsRow struct {
	RecordedAt       time.Time   `json:"recorded_at"`
	ExactTimestamp   time.Time   `json:"exact_timestamp"`
	UtilizationRatio assay.Nanos `json:"utilization_ratio"` // 0 to 1
	Partial          bool        `json:"partial,omitempty"` // the day or hour has not ended
}

// Utilization is which share of a GPU model's tracked capacity is rented.
type Utilization struct {
	GPUType          string       `json:"gpu_type"`
	Region           string       `json:"region"`
	UtilizationRatio *assay.Nanos `json:"utilization_ratio"` // nil without a reading of the last 48 hours
	Avg7d            *assay.Nanos `json:"avg_7d"`
	Avg30d           *assay.Nanos `json:"avg_30d"`
	RecordedAt       time.Time    `json:"recorded_at"`
}

// Volatility returns the volatility of a GPU model's price, newest first.
func (c *Client) Volatility(ctx context.Context, gpuName string, p *VolatilityParams) (*Series[VolatilityRow], error) {
	return get[Series[VolatilityRow]](ctx, c, "/api/gpu/{gpuName}/volatility", p, gpuName)
}

// VolumeMetrics returns the utilization of a GPU model, newest first.
func (c *Client) VolumeMetrics(
	ctx context.Context, gpuName string, p *VolumeMetricsParams,
) (*Series[VolumeMetricsRow], error) {
	return get[Series[VolumeMetricsRow]](ctx, c, "/api/gpu/{gpuName}/volume-metrics", p, gpuName)
}

// GPUUtilization returns the utilization of all GPU models.
func (c *Client) GPUUtilization(ctx context.Context, p *GPUParams) (*List[Utilization], error) {
	return get[List[Utilization]](ctx, c, "/api/gpu-utilization", p)
}
