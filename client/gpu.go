package client

import (
	"context"
	"time"

	"github.com/assaydata/assay"
)

// Price is the current price of a GPU model: its newest hourly print.
type Price struct {
	GPUName     string      `json:"gpu_name"`
	Region      string      `json:"region"`      // empty for all regions
	IndexValue  assay.Nanos `json:"index_value"` // USD per GPU-hour
	LastUpdated time.Time   `json:"last_updated"`
}

// DailyValue is the index of a GPU model on a day.
type DailyValue struct {
	GPUType    string      `json:"gpu_type"`
	Region     string      `json:"region"`
	IndexValue assay.Nanos `json:"index_value"`
	Date       time.Time   `json:"date"` // the fixing
}

// Point is a value of a series.
type Point struct {
	Timestamp  time.Time   `json:"timestamp"`
	IndexValue assay.Nanos `json:"index_value"` // USD per GPU-hour
}

// DailyIndexAll is the index of all GPU models on one day.
type DailyIndexAll struct {
	Meta

	Access assay.Access `json:"access"`
	Date   time.Time    `json:"date"`
	Count  int          `json:"count"`
	Data   []DailyValue `json:"data"`
}

// PreviousDailyIndex is the index of the day before the latest, and the change since.
type PreviousDailyIndex struct {
	Meta

	Access    assay.Access `json:"access"`
	Latest    LatestDay    `json:"latest"`
	ChangePct assay.Nanos  `json:"change_pct"`
	Data      DailyValue   `json:"data"`
}

// LatestDay is the value of the latest day.
type LatestDay struct {
	IndexValue assay.Nanos `json:"index_value"`
	Date       time.Time   `json:"date"`
}

// NearestValue is the value nearest to a requested instant.
type NearestValue struct {
	Meta

	Access         assay.Access `json:"access"`
	Granularity    string       `json:"granularity"`
	Requested      time.Time    `json:"requested"`
	TimeDifference float64      `json:"time_difference"` // seconds between the two
	IsExact        bool         `json:"is_exact"`
	Data           PointOfGPU   `json:"data"`
}

// PointOfGPU is a value of a series, with the GPU model and the region that it is of.
type PointOfGPU struct {
	GPUType    string      `json:"gpu_type"`
	Region     string      `json:"region"`
	Timestamp  time.Time   `json:"timestamp"`
	IndexValue assay.Nanos `json:"index_value"`
}

// HistoryRange is a series with the statistics of each row.
type HistoryRange struct {
	Meta

	GPUType     string            `json:"gpu_type"`
	Region      string            `json:"region"`
	Access      assay.Access      `json:"access"`
	Granularity string            `json:"granularity"`
	Query       HistoryRangeQuery `json:"query"`
	Count       int               `json:"count"`
	HasMore     bool              `json:"has_more"`
	Next        map[string]string `json:"next,omitempty"`
	Data        []HistoryRangeRow `json:"data"`
}

// HistoryRangeQuery is what a HistoryRange was asked for.
type HistoryRangeQuery struct {
	StartDate    *string `json:"startDate"` // as it was sent
	EndDate      *string `json:"endDate"`
	Granularity  string  `json:"granularity"`
	Limit        int     `json:"limit"`
	Region       string  `json:"region"`
	Order        string  `json:"order"`
	RecordsFound int     `json:"records_found"` // before the limit
}

// HistoryRangeRow is a value with the statistics of the hourly prints in its window.
type HistoryRangeRow struct {
	RecordedAt     time.Time   `json:"recorded_at"` // of a daily row, midnight UTC of its day
	ExactTimestamp time.Time   `json:"exact_timestamp"`
	IndexValue     assay.Nanos `json:"index_value"`
	DataType       string      `json:"data_type"`
	DailyStats     DailyStats  `json:"daily_stats"`
}

// DailyStats describe hourly prints; without any, the prices are nil.
type DailyStats struct {
	MinIndex     *assay.Nanos `json:"min_index"`
	MaxIndex     *assay.Nanos `json:"max_index"`
	StdDev       *assay.Nanos `json:"std_dev"` // of the population
	SamplesCount int          `json:"samples_count"`
}

// Realtime has the prints of the running hour, one a minute.
type Realtime struct {
	Meta

	GPUType     string          `json:"gpu_type"`
	Region      string          `json:"region"`
	Access      assay.Access    `json:"access"`
	Granularity string          `json:"granularity"`
	Latest      LatestPrint     `json:"latest"`
	Count       int             `json:"count"`
	Data        []RealtimePrint `json:"data"`
}

// RealtimePrint is the index of the 60 minutes that end with it.
type RealtimePrint struct {
	Timestamp    time.Time    `json:"timestamp"`
	IndexValue   assay.Nanos  `json:"index_value"`
	Transactions int          `json:"transactions"`
	GPUHours     assay.Micros `json:"gpu_hours"`
}

// LatestPrint is the newest print, and how long its window is.
type LatestPrint struct {
	Timestamp     time.Time    `json:"timestamp"`
	IndexValue    assay.Nanos  `json:"index_value"`
	Transactions  int          `json:"transactions"`
	GPUHours      assay.Micros `json:"gpu_hours"`
	WindowSeconds int          `json:"window_seconds"`
}

// RollingAverage is the mean of the hourly prints of 24 hours.
type RollingAverage struct {
	GPUType           string      `json:"gpu_type"`
	Region            string      `json:"region"`
	AverageUSDPerHour assay.Nanos `json:"average_usd_per_hour"`
	Timestamp         time.Time   `json:"timestamp"` // when the 24 hours ended
}

// GPUPrice returns the current price of a GPU model.
func (c *Client) GPUPrice(ctx context.Context, gpuName string, p *GPUParams) (*One[Price], error) {
	return get[One[Price]](ctx, c, "/api/gpu/{gpuName}", p, gpuName)
}

// GPUPrices returns the current prices of all GPU models in one request.
func (c *Client) GPUPrices(ctx context.Context, p *GPUParams) (*List[Price], error) {
	return get[List[Price]](ctx, c, "/api/gpu-prices", p)
}

// DailyIndex returns the index of a GPU model on the latest day, or on the given one.
func (c *Client) DailyIndex(ctx context.Context, p *DailyIndexParams) (*One[DailyValue], error) {
	return get[One[DailyValue]](ctx, c, "/api/daily-index", p)
}

// DailyIndexAll returns the index of all GPU models on the latest day, or on the given one.
func (c *Client) DailyIndexAll(ctx context.Context, p *DailyIndexAllParams) (*DailyIndexAll, error) {
	return get[DailyIndexAll](ctx, c, "/api/daily-index/all", p)
}

// PreviousDailyIndex returns the index of the day before the latest, and the change since.
func (c *Client) PreviousDailyIndex(ctx context.Context, gpuName string, p *GPUParams) (*PreviousDailyIndex, error) {
	return get[PreviousDailyIndex](ctx, c, "/api/daily-index/{gpuName}/previous", p, gpuName)
}

// indexHistory and hourlyHistory are the routes that EachPoint and EachHourlyPoint read in parts.
const (
	indexHistory  = "/api/gpu/{gpuName}/index-history"
	hourlyHistory = "/api/gpu/{gpuName}/hourly"
)

// IndexHistory returns the series of a GPU model, oldest first. For long ranges use EachPoint.
func (c *Client) IndexHistory(ctx context.Context, gpuName string, p *HistoryParams) (*Series[Point], error) {
	return get[Series[Point]](ctx, c, indexHistory, p, gpuName)
}

// H100History returns the series of the H100 SXM, oldest first.
func (c *Client) H100History(ctx context.Context, p *HistoryParams) (*Series[Point], error) {
	return get[Series[Point]](ctx, c, "/api/h100-history", p)
}

// NearestValue returns the value nearest to an instant, however far away it is.
func (c *Client) NearestValue(ctx context.Context, gpuName string, p *NearestValueParams) (*NearestValue, error) {
	return get[NearestValue](ctx, c, "/api/gpu/{gpuName}/history", p, gpuName)
}

// HistorySimple returns the series of a GPU model, newest first.
func (c *Client) HistorySimple(ctx context.Context, gpuName string, p *HistoryParams) (*Series[Point], error) {
	return get[Series[Point]](ctx, c, "/api/gpu/{gpuName}/history-simple", p, gpuName)
}

// HistoryRange returns the series of a GPU model with the statistics of each row, oldest first.
func (c *Client) HistoryRange(ctx context.Context, gpuName string, p *HistoryParams) (*HistoryRange, error) {
	return get[HistoryRange](ctx, c, "/api/gpu/{gpuName}/history-range", p, gpuName)
}

// HourlyHistory returns hourly values of a GPU model, those of the last seven days unless p has a StartDate.
func (c *Client) HourlyHistory(ctx context.Context, gpuName string, p *SeriesParams) (*Series[Point], error) {
	return get[Series[Point]](ctx, c, hourlyHistory, p, gpuName)
}

// Realtime returns the prints of the last minutes.
func (c *Client) Realtime(ctx context.Context, gpuName string, p *RealtimeParams) (*Realtime, error) {
	return get[Realtime](ctx, c, "/api/gpu/{gpuName}/realtime", p, gpuName)
}

// RollingAverage returns the mean of the hourly prints of the last 24 hours.
func (c *Client) RollingAverage(ctx context.Context, gpuName string, p *GPUParams) (*One[RollingAverage], error) {
	return get[One[RollingAverage]](ctx, c, "/api/gpu/{gpuName}/rolling-24h-average", p, gpuName)
}

// RollingAverageHistory returns that mean at each daily fixing.
func (c *Client) RollingAverageHistory(
	ctx context.Context, gpuName string, p *SeriesParams,
) (*Series[RollingAverage], error) {
	return get[Series[RollingAverage]](ctx, c, "/api/gpu/{gpuName}/rolling-24h-average/history", p, gpuName)
}
