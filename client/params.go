package client

// Params are the optional parameters of a route: a pointer to one of the structs of this package whose names end with
// Params, or nil. A field that is empty is not sent. The description of the API says what each parameter takes.
type Params interface{ params() }

// AsOfParams are the parameters of routes that take nothing but a moment of the past.
type AsOfParams struct {
	AsOf Moment `query:"as_of"` // what was published by then
}

// GPUParams are the parameters of the routes about current values of GPU models.
type GPUParams struct {
	Region string `query:"region"` // empty for the index over all regions
	AsOf   Moment `query:"as_of"`
}

// DailyIndexParams are the parameters of DailyIndex.
type DailyIndexParams struct {
	GPUType string `query:"gpuType"` // H100 SXM unless given
	Region  string `query:"region"`
	Date    Moment `query:"date"` // the latest day unless given
	AsOf    Moment `query:"as_of"`
}

// DailyIndexAllParams are the parameters of DailyIndexAll.
type DailyIndexAllParams struct {
	Region string `query:"region"`
	Date   Moment `query:"date"`
	AsOf   Moment `query:"as_of"`
}

// HistoryParams are the parameters of IndexHistory, H100History, HistorySimple, HistoryRange and EachPoint.
type HistoryParams struct {
	StartDate   Moment `query:"startDate"`
	EndDate     Moment `query:"endDate"`
	Granularity string `query:"granularity"` // daily, hourly or auto
	Region      string `query:"region"`
	Order       string `query:"order"` // asc or desc
	Limit       int    `query:"limit"`
	AsOf        Moment `query:"as_of"`
}

// SeriesParams are the parameters of series of one granularity: HourlyHistory, EachHourlyPoint and
// RollingAverageHistory.
type SeriesParams struct {
	StartDate Moment `query:"startDate"`
	EndDate   Moment `query:"endDate"`
	Region    string `query:"region"`
	Order     string `query:"order"`
	Limit     int    `query:"limit"`
	AsOf      Moment `query:"as_of"`
}

// NearestValueParams are the parameters of NearestValue. The server requires DateTime.
type NearestValueParams struct {
	DateTime Moment `query:"datetime"`
	Region   string `query:"region"`
	AsOf     Moment `query:"as_of"`
}

// RealtimeParams are the parameters of Realtime.
type RealtimeParams struct {
	Minutes int    `query:"minutes"` // 60 unless given
	Region  string `query:"region"`
	Order   string `query:"order"`
	AsOf    Moment `query:"as_of"`
}

// VolatilityParams are the parameters of Volatility. The server requires StartDate and EndDate.
type VolatilityParams struct {
	StartDate   Moment `query:"startDate"`
	EndDate     Moment `query:"endDate"`
	WindowDays  int    `query:"windowDays"` // 30 unless given
	Granularity string `query:"granularity"`
	Region      string `query:"region"`
	Order       string `query:"order"`
	Limit       int    `query:"limit"`
	AsOf        Moment `query:"as_of"`
}

// VolumeMetricsParams are the parameters of VolumeMetrics.
type VolumeMetricsParams struct {
	StartDate   Moment `query:"startDate"`
	EndDate     Moment `query:"endDate"`
	Granularity string `query:"granularity"`
	Region      string `query:"region"`
	Order       string `query:"order"`
	Limit       int    `query:"limit"`
	Partial     bool   `query:"partial"` // with the running day or hour
	AsOf        Moment `query:"as_of"`
}

// MemoryIndexParams are the parameters of MemoryIndex.
type MemoryIndexParams struct {
	Type     string `query:"type"`     // id or name of a memory type
	Category string `query:"category"` // dram, flash or module
	AsOf     Moment `query:"as_of"`
}

// MemoryHistoryParams are the parameters of MemoryHistory.
type MemoryHistoryParams struct {
	StartDate Moment `query:"startDate"`
	EndDate   Moment `query:"endDate"`
	Order     string `query:"order"`
	Limit     int    `query:"limit"`
	AsOf      Moment `query:"as_of"`
}

// CodingIndexParams are the parameters of CodingIndex. The server requires Product.
type CodingIndexParams struct {
	Product string `query:"product"` // such as cc-prs
	AsOf    Moment `query:"as_of"`
}

// CodingHistoryParams are the parameters of CodingHistory. The server requires Product.
type CodingHistoryParams struct {
	Product   string `query:"product"`
	StartDate Moment `query:"startDate"`
	EndDate   Moment `query:"endDate"`
	Order     string `query:"order"`
	Limit     int    `query:"limit"`
	AsOf      Moment `query:"as_of"`
}

// OTPIParams are the parameters of OTPI: Date, or StartDate and EndDate, or neither for the latest day.
type OTPIParams struct {
	Lab       string `query:"lab"`
	Date      Moment `query:"date"`
	StartDate Moment `query:"startDate"`
	EndDate   Moment `query:"endDate"`
	Order     string `query:"order"`
	Limit     int    `query:"limit"`
	Offset    int    `query:"offset"`
	AsOf      Moment `query:"as_of"`
}

// WorkloadParams are the parameters of Workload.
type WorkloadParams struct {
	Lab        string `query:"lab"`
	Family     string `query:"family"`     // of the lab's models, or all
	WindowDays int    `query:"windowDays"` // 1 or 7; 7 unless given
	StartDate  Moment `query:"startDate"`
	EndDate    Moment `query:"endDate"`
	Order      string `query:"order"`
	Limit      int    `query:"limit"`
	Offset     int    `query:"offset"`
	AsOf       Moment `query:"as_of"`
}

// DeterminationParams are the parameters of Determination, which takes Date or Timestamp.
type DeterminationParams struct {
	Date      Moment `query:"date"`
	Timestamp Moment `query:"timestamp"` // the end of an hour
	Revision  *int   `query:"revision"`  // from 0 on; the latest unless given
	Region    string `query:"region"`
	AsOf      Moment `query:"as_of"`
}

// ValueDeterminationParams are the parameters of ValueDetermination, which requires Series and Date.
type ValueDeterminationParams struct {
	Series   string `query:"series"` // such as openai, openai/all, mem_ddr5_16gb or cc/prs
	Date     Moment `query:"date"`
	Revision *int   `query:"revision"`
	AsOf     Moment `query:"as_of"`
}

// CorrectionsParams are the parameters of Corrections and EachCorrection.
type CorrectionsParams struct {
	Since       string `query:"since"` // the Next of an earlier response; empty for the beginning
	Limit       int    `query:"limit"`
	GPUType     string `query:"gpuType"`
	Region      string `query:"region"`
	Granularity string `query:"granularity"`
}

// FamilyCorrectionsParams are the parameters of FamilyCorrections and EachFamilyCorrection.
type FamilyCorrectionsParams struct {
	Since string `query:"since"`
	Limit int    `query:"limit"`
}

// MethodologyParams are the parameters of Methodology.
type MethodologyParams struct {
	Version string `query:"version"` // all of them unless given
}

// NoticesParams are the parameters of Notices and EachNotice.
type NoticesParams struct {
	GPUType string `query:"gpuType"` // also those about all GPU models
	Kind    string `query:"kind"`
	Before  int64  `query:"before"` // the number of a notice
	Limit   int    `query:"limit"`
}

// SitesParams are the parameters of Sites and EachSite. A region is a City, Lat and Lng, a Country, or several of them.
type SitesParams struct {
	City     string   `query:"city"`
	Lat      *float64 `query:"lat"`
	Lng      *float64 `query:"lng"`
	RadiusKm float64  `query:"radius_km"` // 50 unless given
	Country  string   `query:"country"`
	GPUType  string   `query:"gpu_type"`
	Scope    string   `query:"scope"` // neocloud, unless given, or all
	Limit    int      `query:"limit"`
	Offset   int      `query:"offset"`
	AsOf     Moment   `query:"as_of"`
}

// SitesAggregateParams are the parameters of SitesAggregate.
type SitesAggregateParams struct {
	By    string `query:"by"` // country, unless given, or gpu_type
	Scope string `query:"scope"`
	AsOf  Moment `query:"as_of"`
}

// SitesMapParams are the parameters of SitesMap.
type SitesMapParams struct {
	Scope   string `query:"scope"`
	Country string `query:"country"`
	BBox    string `query:"bbox"` // west,south,east,north in degrees
	AsOf    Moment `query:"as_of"`
}

// StreamParams are the parameters of Stream. Empty fields let everything through that the caller may see.
type StreamParams struct {
	Event       []string `query:"event"`  // print, hour, day, correction, observation, notice
	Family      []string `query:"family"` // gpu, memory, models, coding, sites, utilization
	GPU         []string `query:"gpu"`
	Region      []string `query:"region"`
	LastEventID string   `query:"last_event_id"` // of the last event that was received before; empty for what comes now
}

// consistencyParams are the parameters of LogConsistency.
type consistencyParams struct {
	From int64 `query:"from"`
	To   int64 `query:"to"`
}

// inclusionParams are the parameters of LogInclusion.
type inclusionParams struct {
	Record string `query:"record"`
}

func (*AsOfParams) params()               {}
func (*GPUParams) params()                {}
func (*DailyIndexParams) params()         {}
func (*DailyIndexAllParams) params()      {}
func (*HistoryParams) params()            {}
func (*SeriesParams) params()             {}
func (*NearestValueParams) params()       {}
func (*RealtimeParams) params()           {}
func (*VolatilityParams) params()         {}
func (*VolumeMetricsParams) params()      {}
func (*MemoryIndexParams) params()        {}
func (*MemoryHistoryParams) params()      {}
func (*CodingIndexParams) params()        {}
func (*CodingHistoryParams) params()      {}
func (*OTPIParams) params()               {}
func (*WorkloadParams) params()           {}
func (*DeterminationParams) params()      {}
func (*ValueDeterminationParams) params() {}
func (*CorrectionsParams) params()        {}
func (*FamilyCorrectionsParams) params()  {}
func (*BulkParams) params()               {}
func (*MethodologyParams) params()        {}
func (*NoticesParams) params()            {}
func (*SitesParams) params()              {}
func (*SitesAggregateParams) params()     {}
func (*SitesMapParams) params()           {}
func (*StreamParams) params()             {}
func (*consistencyParams) params()        {}
func (*inclusionParams) params()          {}
