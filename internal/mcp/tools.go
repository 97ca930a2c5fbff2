package mcp

import (
	"context"
	"encoding/json"
)

// tool is a question that an agent can ask.
type tool struct {
	name, title string
	about       string // when to use it, what it returns, and which access it needs
	routes      []route
	run         runner // nil: callRoute

	input, output json.RawMessage // schemas; if nil, those of the routes
}

// runner is what a tool does.
type runner func(*service, context.Context, *tool, arguments) (result, problem json.RawMessage, err error)

// route is a route that a tool calls.
type route struct {
	path string
	when []string // of several routes the first is called of which one of these arguments is given; the last has none

	// What the description of the API says about it.
	parameters []parameter
	response   any
	ordered    bool // it has a series, which order reverses
	paged      bool // it has a list with pages
	limited    bool // its limit has a default
}

const sitesPath = "/api/neocloud/sites"

// to is for a tool with one route.
func to(path string) []route { return []route{{path: path}} }

// recordRoutes are those of determination records.
var recordRoutes = []route{
	{path: "/api/determinations/{index}", when: []string{"index", "series"}},
	{path: "/api/gpu/{gpuName}/determination"},
}

// tools are all tools, in the order in which agents see them.
var tools = []tool{
	{
		name: "list_gpu_types", title: "List GPU models", routes: to("/api/gpu-types"),
		about: "The exact names of all GPU models that have a price index. Use it before other GPU tools when you do not " +
			"know a name. Needs no key.",
	},
	{
		name: "get_gpu_price", title: "Current price of a GPU model", routes: to("/api/gpu/{gpuName}"),
		about: "What one GPU costs now: the newest hourly index value of a GPU model, in USD per GPU-hour, worldwide or " +
			"in a region. Free GPU models need no key.",
	},
	{
		name: "get_market_index", title: "Current prices of all GPU models", routes: to("/api/gpu-prices"),
		about: "The newest index value of every GPU model that you may read, in USD per GPU-hour. Use it to compare GPU " +
			"models or to see the whole market with one call. Without a key: the free GPU models.",
	},
	{
		name: "get_gpu_index_history", title: "Price history of a GPU model",
		routes: to("/api/gpu/{gpuName}/index-history"),
		about: "The index of a GPU model over time, in USD per GPU-hour, oldest row first. Use it for trends and charts. " +
			"Free GPU models without a key: daily values of the last three months; Premium: all days; Full: also " +
			"hours.",
	},
	{
		name: "get_daily_index", title: "Daily index of a GPU model", routes: to("/api/daily-index"),
		about: "The settled daily value of one GPU model, in USD per GPU-hour: the latest, or that of a date. Settlement " +
			"is 16:00 New York. Use it for a reference price of a day. Free GPU models need no key for the last three " +
			"months.",
	},
	{
		name: "get_daily_index_snapshot", title: "Daily index of all GPU models", routes: to("/api/daily-index/all"),
		about: "The settled daily values of all GPU models that you may read, of the latest settled day or of a date, in " +
			"USD per GPU-hour. Without a key: the free GPU models, last three months.",
	},
	{
		name: "get_gpu_price_history", title: "Price history with daily statistics",
		routes: to("/api/gpu/{gpuName}/history-range"),
		about: "The index of a GPU model over time with the lowest and highest value, the deviation and the number of " +
			"samples of each day, in USD per GPU-hour, oldest row first. Needs a Premium or Full key; without one use " +
			"get_gpu_index_history.",
	},
	{
		name: "get_gpu_price_at", title: "Price of a GPU model at an instant", routes: to("/api/gpu/{gpuName}/history"),
		about: "The index value nearest to an instant, in USD per GPU-hour, and how many seconds lie between the two " +
			"(time_difference). Needs a Premium key (nearest day) or a Full key (nearest hour).",
	},
	{
		name: "get_gpu_rolling_average", title: "Average price of the last 24 hours",
		routes: []route{
			{path: "/api/gpu/{gpuName}/rolling-24h-average/history", when: []string{"startDate", "endDate"}},
			{path: "/api/gpu/{gpuName}/rolling-24h-average"},
		},
		about: "The average of the last 24 hourly values of a GPU model, in USD per GPU-hour: the current one (Full " +
			"key), or with startDate or endDate one row a day (Premium or Full key).",
	},
	{
		name: "get_gpu_volatility", title: "Volatility of a GPU model", routes: to("/api/gpu/{gpuName}/volatility"),
		about: "The annualized volatility of a GPU model's index: the standard deviation of logarithmic returns over " +
			"windowDays values, 0.5 being 50 % a year. Oldest row first. Needs a Premium or Full key.",
	},
	{
		name: "get_gpu_volume_metrics", title: "Utilization of a GPU model",
		routes: to("/api/gpu/{gpuName}/volume-metrics"),
		about: "Which share of the tracked capacity of a GPU model is rented, from 0 to 1, by day or hour, oldest row " +
			"first. Use it for supply and demand. Needs a Premium or Full key.",
	},
	{
		name: "list_memory_types", title: "List memory types", routes: to("/api/memory-types"),
		about: "The ids, names and categories of all memory types that have a price. Needs no key.",
	},
	{
		name: "get_memory_index", title: "Current memory prices", routes: to("/api/memory-index"),
		about: "Current spot prices of memory in USD per unit, with the change in percent and the week's high and low: " +
			"all types, those of a category, or one type. Needs a Premium or Full key.",
	},
	{
		name: "get_memory_price_history", title: "Price history of a memory type",
		routes: to("/api/memory/{memoryType}/history"),
		about: "The spot price of one memory type over time, in USD per unit, oldest row first. Needs a Premium or Full " +
			"key.",
	},
	{
		name: "list_token_types", title: "List labs", routes: to("/api/token-types"),
		about: "The labs (makers of language models) that have a token price index. Needs no key.",
	},
	{
		name: "get_token_price_index", title: "Token price index (OTPI)", routes: to("/api/otpi"),
		about: "What a million tokens of a lab's models cost, in USD (indexPerMtok), by day: the latest day, a date, or " +
			"a range. Four labs are free for the last month; others and a longer range need a Premium or Full key.",
	},
	{
		name: "get_workload_index", title: "Cost of a request to a language model", routes: to("/api/workload"),
		about: "What a typical request to a lab's models costs, in US cents (cCents), how many thousand tokens it has " +
			"(qKtok), and how price, intensity and mix changed it, by day, oldest row first. Needs a Premium or Full " +
			"key.",
	},
	{
		name: "list_llm_coding_products", title: "List coding metrics", routes: to("/api/llm-coding/products"),
		about: "The ids of the metrics of coding tools: pull requests, commits and merge rates of each tool, and " +
			"comparisons. Needs no key.",
	},
	{
		name: "get_llm_coding_index", title: "Current value of a coding metric", routes: to("/api/llm-coding/index"),
		about: "The latest daily value of one coding metric: a count of pull requests or commits, or a merge rate in " +
			"percent. Needs a Premium or Full key.",
	},
	{
		name: "get_llm_coding_history", title: "History of a coding metric", routes: to("/api/llm-coding/history"),
		about: "The daily values of a coding metric over time, oldest row first. Products that compare two tools have a " +
			"second value, value2. Needs a Premium or Full key.",
	},
	{
		name: "get_neocloud_sites", title: "Data-center sites", routes: to(sitesPath),
		about: "GPU data centers of a region, with owner, place, chips, number of GPUs and power in MW. Give a city, a " +
			"country, or lat and lng. More pages with offset. Needs a Full key.",
	},
	{
		name: "get_neocloud_aggregate", title: "Data-center sites by country or chip",
		routes: to("/api/neocloud/sites/aggregate"),
		about: "How many GPU data-center sites, GPUs and megawatts each country or each chip has, most sites first. " +
			"Needs a Full key.",
	},
	{
		name: "list_corrections", title: "List corrections",
		routes: []route{{path: "/api/corrections/{family}", when: []string{"family"}}, {path: "/api/corrections"}},
		about: "Which published values were corrected, with the value before and after. Of GPU prices; with family of " +
			"another family. Pass next as since for the next page. Needs a Premium or Full key.",
	},
	{
		name: "get_determination", title: "Record of a value", routes: recordRoutes,
		about: "How one published value was determined: the transactions used and left out, providers, concentration, " +
			"methodology and hashes. Of a GPU model with date (daily) or timestamp (hourly, Full key); of another " +
			"index with index, series and date. Free for what is free, else Premium or Full key.",
	},
	{
		name: "verify_value", title: "Prove a value", routes: recordRoutes, run: (*service).verifyValue, output: verifyOutput,
		about: "Whether a published value is proven: checks the hash of its record, the entry in the public log and the " +
			"signature of the log's operator. The result has the proof, who checked what, and what only you can " +
			"check. Takes the arguments of get_determination.",
	},
	{
		name: "search", title: "Search", run: (*service).search, input: searchInput, output: searchOutput,
		about: "Finds GPU models, labs, memory types, coding metrics and sections of the documentation by words. Returns " +
			"ids for fetch. It reads four catalogs and counts as four calls. Needs no key.",
	},
	{
		name: "fetch", title: "Fetch", run: (*service).fetch, input: fetchInput, output: fetchOutput,
		about: "The text behind an id that search has returned: the current values of an item, or a section of the " +
			"documentation. Items that are not free need a key.",
	},
}
