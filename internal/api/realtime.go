package api

import (
	"sort"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/web"
)

// realtime serves the prints of the last minutes, and the newest with the length of its window.
func realtime(q query) (web.Response, error) {
	gpu, err := q.gpu(gpuName, q.pathGPU())
	if err != nil {
		return web.Response{}, err
	}
	minutes, err := q.Int("minutes", 60, 1, 1440)
	if err != nil {
		return web.Response{}, err
	}
	order, err := q.OneOf("order", "asc", "asc", "desc")
	if err != nil {
		return web.Response{}, err
	}
	grant, line, err := q.grantedLine(gpu, access.Ask{})
	if err != nil {
		return web.Response{}, err
	}
	prints := printsUntil(line.Realtime(), q.moment)
	if len(prints) == 0 {
		return web.Response{}, noData("No real-time data found for " + gpu.Name)
	}
	latest := prints[len(prints)-1]
	prints = prints[len(printsUntil(prints, q.moment-int64(minutes)*assay.Minute)):]
	head := appendRealtimeHead(make([]byte, 0, 512), line.Line, grant.Access, latest, len(prints))
	version := web.NewVersion(latest.At, []byte("realtime"), head, []byte(order))
	return web.Rows(version, head, len(prints), func(dst []byte, k int) []byte {
		if order == "desc" {
			k = len(prints) - 1 - k
		}
		return appendPrint(dst, prints[k])
	}).ShortLived(), nil
}

func appendRealtimeHead(
	dst []byte, line assay.Line, access assay.Access, latest assay.RealtimePrint, count int,
) []byte {
	dst = appendStringField(dst, `{"success":true,"gpu_type":`, line.GPU)
	dst = appendStringField(dst, `,"region":`, line.Region)
	dst = appendStringField(dst, `,"access":`, string(access))
	dst = append(dst, `,"granularity":"realtime","latest":{`...)
	dst = appendPrintFields(dst, latest)
	dst = appendIntField(dst, `,"window_seconds":`, int(assay.RealtimeWindow/assay.Second))
	return append(appendIntField(dst, `},"count":`, count), `,"data":[`...)
}

// printsUntil returns the prints up to an instant.
func printsUntil(prints []assay.RealtimePrint, at int64) []assay.RealtimePrint {
	return prints[:sort.Search(len(prints), func(i int) bool { return prints[i].At > at })]
}

func appendPrint(dst []byte, p assay.RealtimePrint) []byte {
	return append(appendPrintFields(append(dst, '{'), p), '}')
}

func appendPrintFields(dst []byte, p assay.RealtimePrint) []byte {
	dst = appendInstantField(dst, `"timestamp":`, p.At)
	dst = p.Value.AppendJSON(append(dst, `,"index_value":`...))
	dst = appendIntField(dst, `,"transactions":`, p.Transactions)
	return assay.AppendMicros(append(dst, `,"gpu_hours":`...), p.HourMicros)
}
