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
		newCatalog("/api/gpu-types", gpuTypes),
		newCatalog("/api/gpu-types-free", freeGPUTypes),
		newCatalog("/api/regions", regions),
	},
	routes: []route{
		{"/api/gpu/{gpuName}", web.PerAddress, access.FreeGPU, currentPrice},
		{"/api/gpu-prices", web.PerAddress, access.FreeGPU, gpuPrices},
		{"/api/daily-index", web.PerAddress, access.FreeGPU, dailyIndex},
		{"/api/day-index", web.PerAddress, access.FreeGPU, dayIndex},
		{"/api/daily-index/all", web.PerAddress, access.FreeGPU, dailyIndexAll},
		{"/api/daily-index/{gpuName}/previous", web.PerAddress, access.FreeGPU, dailyIndexPrevious},
		{"/api/gpu/{gpuName}/index-history", web.PerAddress, access.FreeGPU, indexHistory},
		{"/api/h100-history", web.PerAddress, access.FreeGPU, h100History},

		{"/api/gpu/{gpuName}/history", web.PerKey, access.Keyed, nearest},
		{"/api/gpu/{gpuName}/history-simple", web.PerKey, access.Keyed, historySimple},
		{"/api/gpu/{gpuName}/history-range", web.PerKey, access.Keyed, historyRange},
		{"/api/gpu/{gpuName}/hourly", web.PerKey, access.FullGrain, hourly},
		{"/api/gpu/{gpuName}/realtime", web.PerKey, access.FullGrain, realtime},
		{"/api/gpu/{gpuName}/rolling-24h-average", web.PerKey, access.FullGrain, rollingAverage},
		{"/api/gpu/{gpuName}/rolling-24h-average/history", web.PerKey, access.Keyed, rollingAverageHistory},
		{"/api/gpu/{gpuName}/volatility", web.PerKey, access.Keyed, volatility},
		{"/api/gpu/{gpuName}/volume-metrics", web.PerKey, access.Keyed, volumeMetrics},
		{"/api/gpu-utilization", web.PerKey, access.Keyed, gpuUtilization},
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
