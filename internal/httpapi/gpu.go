package httpapi

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
)

// currentPrice answers the newest hourly print of a GPU.
func currentPrice(c *call) (answer, error) {
	grant, line, err := c.pathLine()
	if err != nil {
		return answer{}, err
	}
	if line.Series(assay.Hourly).Len() == 0 {
		return answer{}, noPrice("no_data", line.GPU, line.Region)
	}
	return ready(priceBody(line, grant.Access)), nil
}

// priceBody is the answer of the current price for one kind of caller, made once a print.
func priceBody(line *snapshot.Line, access assay.Access) *body {
	series := line.Series(assay.Hourly)
	return series.Memo(snapshot.MemoKey{Kind: "price", Access: access}, func() any {
		last := series.At(series.Len() - 1)
		region := line.Region
		if region == assay.Global {
			region = ""
		}
		b := append([]byte(nil), `{"success":true,"access":`...)
		b = assay.AppendString(b, string(access))
		b = assay.AppendString(append(b, `,"data":{"gpu_name":`...), line.GPU)
		b = assay.AppendString(append(b, `,"region":`...), region)
		b = last.Value.AppendJSON(append(b, `,"index_value":`...))
		b = assay.AppendInstant(append(b, `,"last_updated":"`...), last.At)
		return newBody(append(b, `"}}`...), series.Modified())
	}).(*body)
}

// accessWords are the kinds of caller that GPU answers are made for.
var accessWords = []assay.Access{assay.Public3Months, assay.AccessPremium, assay.AccessFull}

func warmPrice(line *snapshot.Line) {
	if line.Series(assay.Hourly).Len() == 0 {
		return
	}
	for _, word := range accessWords {
		priceBody(line, word)
	}
}
