package api

import "github.com/assaydata/assay/internal/table"

// The columns of rows, for routes whose rows can be had as a table. They are those of the description, in the order of
// the rows; TestTables_AsDescribed compares them.
var (
	gpuColumns    = table.MustSchema("gpu_name text", "region text")
	regionColumns = table.MustSchema("region text")
	labColumns    = table.MustSchema("lab text", "label text")
	memoryColumns = table.MustSchema("id text", "memory_type text", "category text")
	codingColumns = table.MustSchema("id text", "label text", "category text", "kind text", "compare boolean",
		"seriesLabels json?")

	priceColumns   = table.MustSchema("gpu_name text", "region text", "index_value decimal", "last_updated instant")
	dailyColumns   = table.MustSchema("gpu_type text", "region text", "index_value decimal", "date instant")
	pointColumns   = table.MustSchema("timestamp instant", "index_value decimal")
	nearestColumns = table.MustSchema("gpu_type text", "region text", "timestamp instant", "index_value decimal")
	rangeColumns   = table.MustSchema("recorded_at instant", "exact_timestamp instant", "index_value decimal",
		"data_type text", "daily_stats_min_index decimal?", "daily_stats_max_index decimal?",
		"daily_stats_std_dev decimal?", "daily_stats_samples_count integer")
	printColumns   = pointColumns.With("transactions integer", "gpu_hours decimal")
	averageColumns = table.MustSchema("gpu_type text", "region text", "average_usd_per_hour decimal",
		"timestamp instant")
	volatilityColumns = table.MustSchema("recorded_at instant", "exact_timestamp instant", "gpu_type text",
		"region text", "index_value decimal", "rolling_volatility decimal?", "window_days integer")
	shareColumns = table.MustSchema("recorded_at instant", "exact_timestamp instant", "utilization_ratio decimal",
		"partial boolean?")
	utilizationColumns = table.MustSchema("gpu_type text", "region text", "utilization_ratio decimal?",
		"avg_7d decimal?", "avg_30d decimal?", "recorded_at instant")

	memoryPriceColumns = table.MustSchema("id text", "memoryType text", "category text", "price decimal",
		"changePct decimal", "weeklyHigh decimal", "weeklyLow decimal", "sourceUpdatedAt instant", "date instant",
		"updatedAt instant", "sources integer?", "excludedSources integer?")
	memoryHistoryColumns = table.MustSchema("date day", "id text", "memoryType text", "category text", "price decimal",
		"weeklyHigh decimal", "weeklyLow decimal", "changePct decimal", "sourceUpdatedAt instant", "timestamp instant",
		"sources integer?", "excludedSources integer?")
	tokenColumns = table.MustSchema("date day", "lab text", "indexPerMtok decimal", "computedAt instant",
		"inputPerMtok decimal?", "cachedInputPerMtok decimal?", "outputPerMtok decimal?", "mixPerMtok decimal?",
		"splitShare decimal?")
	workloadColumns = table.MustSchema("date day", "lab text", "family text", "cCents decimal", "lfl decimal",
		"qKtok decimal", "priceEffect decimal", "intensityEffect decimal", "mixEffect decimal", "computedAt instant",
		"unlinkedShare decimal?")
	codingValueColumns = table.MustSchema("product text", "label text", "kind text", "value decimal",
		"changePct decimal?", "date day", "updatedAt instant", "weekChangePct decimal?", "partial boolean?")
	codingHistoryColumns = table.MustSchema("date day", "value decimal", "value2 decimal?", "partial boolean?")

	siteColumns = table.MustSchema("company text", "site_name text", "city text", "country text", "gpu_types text",
		"gpu_qty integer", "power_capacity_mw double", "chip_generation text", "category text", "key_customer text?",
		"status text", "dc_tier text", "latitude double", "longitude double", "is_neocloud boolean",
		"distance_km double?").In("sites")
	bucketColumns = table.MustSchema("key text", "site_count integer", "total_gpu_qty integer",
		"total_power_mw double")

	methodologyColumns = table.MustSchema("version text", "effective_at instant", "adopted_at instant", "reason text?",
		"text text")
	noticeColumns = table.MustSchema("number integer", "published_at instant", "kind text", "gpu_type text?",
		"region text?", "about instant?", "text text")
	bulkFileColumns = table.MustSchema("name text", "dataset text", "month text", "granularity text", "revision integer",
		"current boolean", "known_at instant", "from instant", "to instant", "rows integer", "size integer", "sha256 text",
		"url text")
	correctionColumns = table.MustSchema("gpu_type text", "region text", "granularity text", "timestamp instant",
		"revision integer", "index_value decimal?", "previous_value decimal?", "corrected_at instant", "reason text")
	familyCorrectionColumns = table.MustSchema("family text", "route text", "date day", "previous json?",
		"current json?", "corrected_at instant", "reason text")
)
