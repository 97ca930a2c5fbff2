package httpapi

import (
	"sort"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
)

// realtime answers the prints of the last minutes, and the newest with the length of its window.
func realtime(c *call) (answer, error) {
	gpu, err := c.gpu(c.pathGPU())
	if err != nil {
		return answer{}, err
	}
	minutes, err := c.whole("minutes", 60, 1, 1440)
	if err != nil {
		return answer{}, err
	}
	order, err := c.oneOf("order", "asc", "asc", "desc")
	if err != nil {
		return answer{}, err
	}
	grant, line, err := c.grantedLine(gpu, access.Ask{})
	if err != nil {
		return answer{}, err
	}
	prints := printsUntil(line.Realtime(), c.moment)
	if len(prints) == 0 {
		return answer{}, c.noPrints(gpu.Name)
	}
	latest := prints[len(prints)-1]
	prints = prints[len(printsUntil(prints, c.moment-int64(minutes)*assay.Minute)):]
	head := appendRealtimeHead(make([]byte, 0, 512), line.Line, grant.Access, latest, len(prints))
	a := answer{head: head, tag: hash([]byte("realtime"), head, []byte(order)), modified: latest.At, count: len(prints), brief: true}
	a.row = func(dst []byte, k int) []byte {
		if order == "desc" {
			k = len(prints) - 1 - k
		}
		return appendPrint(dst, prints[k])
	}
	return a, nil
}

func appendRealtimeHead(dst []byte, line assay.Line, access assay.Access, latest assay.RealtimePrint, count int) []byte {
	dst = assay.AppendString(append(dst, `{"success":true,"gpu_type":`...), line.GPU)
	dst = assay.AppendString(append(dst, `,"region":`...), line.Region)
	dst = assay.AppendString(append(dst, `,"access":`...), string(access))
	dst = append(dst, `,"granularity":"realtime","latest":{`...)
	dst = appendPrintFields(dst, latest)
	dst = strconv.AppendInt(append(dst, `,"window_seconds":`...), assay.RealtimeWindow/assay.Second, 10)
	return append(appendIntField(dst, `},"count":`, count), `,"data":[`...)
}

// printsUntil gives the prints up to an instant.
func printsUntil(prints []assay.RealtimePrint, at int64) []assay.RealtimePrint {
	return prints[:sort.Search(len(prints), func(i int) bool { return prints[i].At > at })]
}

func (c *call) noPrints(gpu string) error {
	message := "No real-time data found for " + gpu
	if c.asOf {
		message += " as of " + assay.FormatInstant(c.moment) + ": real-time prints are kept for two days"
	}
	return &assay.Error{Kind: assay.NoData, Code: "no_data", Message: message}
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
