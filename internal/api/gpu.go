package api

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// gpuFamily is the index values and the utilization of GPUs.
var gpuFamily = marketFamily{
	name: "gpu",
	catalogs: []catalog{
		newCatalog("/api/gpu-types", gpuTypes, gpuColumns),
		newCatalog("/api/gpu-types-free", freeGPUTypes, gpuColumns),
		newCatalog("/api/regions", regions, regionColumns),
	},
	routes: []route{
		{"/api/gpu/{gpuName}", web.PerAddress, access.FreeGPU, currentPrice, priceColumns},
		{"/api/gpu-prices", web.PerAddress, access.FreeGPU, gpuPrices, priceColumns},
		{"/api/gpu-overview", web.PerAddress, access.FreeGPU, overview, nil},
		{"/api/daily-index", web.PerAddress, access.FreeGPU, dailyIndex, dailyColumns},
		{"/api/day-index", web.PerAddress, access.FreeGPU, dailyIndex, dailyColumns},
		{"/api/daily-index/all", web.PerAddress, access.FreeGPU, dailyIndexAll, dailyColumns},
		{"/api/daily-index/{gpuName}/previous", web.PerAddress, access.FreeGPU, dailyIndexPrevious, dailyColumns},
		{"/api/gpu/{gpuName}/index-history", web.PerAddress, access.FreeGPU, indexHistory, pointColumns},
		{"/api/h100-history", web.PerAddress, access.FreeGPU, h100History, pointColumns},

		{"/api/gpu/{gpuName}/history", web.PerKey, access.Keyed, nearest, nearestColumns},
		{"/api/gpu/{gpuName}/history-simple", web.PerKey, access.Keyed, historySimple, pointColumns},
		{"/api/gpu/{gpuName}/history-range", web.PerKey, access.Keyed, historyRange, rangeColumns},
		{"/api/gpu/{gpuName}/hourly", web.PerKey, access.FullGrain, hourly, pointColumns},
		{"/api/gpu/{gpuName}/realtime", web.PerKey, access.FullGrain, realtime, printColumns},
		{"/api/gpu/{gpuName}/rolling-24h-average", web.PerKey, access.FullGrain, rollingAverage, averageColumns},
		{"/api/gpu/{gpuName}/rolling-24h-average/history", web.PerKey, access.Keyed, rollingAverageHistory, averageColumns},
		{"/api/gpu/{gpuName}/volatility", web.PerKey, access.Keyed, volatility, volatilityColumns},
		{"/api/gpu/{gpuName}/volume-metrics", web.PerKey, access.Keyed, volumeMetrics, shareColumns},
		{"/api/gpu-utilization", web.PerKey, access.Keyed, gpuUtilization, utilizationColumns},
	},
	latest: func(snap *snapshot.Snapshot) int64 { return snap.Latest },
	warm:   warmGPUs,
	forget: func(_ *API, snap *snapshot.Snapshot) { snap.DropMemos() },
	enums: func(c *assay.Catalog) [][]string {
		var free []string
		for _, g := range c.GPUs {
			if g.Free {
				free = append(free, g.Name)
			}
		}
		return [][]string{c.GPUNames(), free, c.Regions}
	},
}

// gpuType is a row of the GPU catalog.
type gpuType struct {
	GPUName string `json:"gpu_name"`
	Region  string `json:"region"`
}

func gpuTypes(snap *snapshot.Snapshot) (rows []gpuType) {
	for _, g := range snap.GPUsByName {
		rows = append(rows, gpuType{GPUName: g.Name})
	}
	return rows
}

func freeGPUTypes(snap *snapshot.Snapshot) (rows []gpuType) {
	for _, g := range snap.GPUsByName {
		if g.Free {
			rows = append(rows, gpuType{GPUName: g.Name})
		}
	}
	return rows
}

// regionRow is a row of the catalog of regions.
type regionRow struct {
	Region string `json:"region"`
}

func regions(snap *snapshot.Snapshot) (rows []regionRow) {
	for _, region := range snap.Catalog.Regions {
		rows = append(rows, regionRow{region})
	}
	return rows
}

// warmGPUs makes the prices and histories that are requested most.
func warmGPUs(_ *API, snap *snapshot.Snapshot) {
	for _, gpu := range snap.Catalog.GPUs {
		line := snap.Line(gpu.Name, assay.Global)
		warmPrice(line)
		warmHistory(line, keptText/len(snap.Catalog.GPUs))
	}
}

// currentPrice serves the newest hourly print of a GPU.
func currentPrice(q query) (web.Response, error) {
	grant, line, err := q.pathLine()
	if err != nil {
		return web.Response{}, err
	}
	if line.Series(assay.Hourly).Len() == 0 {
		return web.Response{}, noPrice("no_data", line.GPU, line.Region)
	}
	return web.Ready(priceBody(line, grant.Access)), nil
}

// priceBody is the current price for one access level, made once per print.
func priceBody(line *snapshot.Line, access assay.Access) *web.Body {
	series := line.Series(assay.Hourly)
	return series.Memo(access, func() any {
		return web.ObjectBody(struct {
			Success bool         `json:"success"`
			Access  assay.Access `json:"access"`
			Data    priceRow     `json:"data"`
		}{true, access, newPriceRow(line, series.At(series.Len()-1))}, series.Modified())
	}).(*web.Body)
}

// accessLevels are those that GPU responses are made for.
var accessLevels = []assay.Access{assay.Public3Months, assay.AccessPremium, assay.AccessFull}

func warmPrice(line *snapshot.Line) {
	if line.Series(assay.Hourly).Len() == 0 {
		return
	}
	for _, level := range accessLevels {
		priceBody(line, level)
	}
}
