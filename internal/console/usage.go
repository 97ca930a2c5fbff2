package console

import (
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/usage"
	"github.com/assaydata/assay/internal/web"
)

// How many days of usage are served: without a range, and at most.
const (
	usageDays    = 30
	maxUsageDays = 366
)

// usagePage is how many rows a response has at most.
const usagePage = 10_000

// usageRow is how often a key called a route with one outcome on one day.
type usageRow struct {
	Date     string `json:"date"`
	KeyID    string `json:"key_id"`
	Route    string `json:"route"`
	Status   int    `json:"status"`
	Requests int64  `json:"requests"`
}

// showUsage serves how often routes were called: with a key by that key, with a session by all keys of the account.
func (c *Console) showUsage(r *web.Request) (web.Response, error) {
	first, last, err := usageRange(r)
	if err != nil {
		return web.Response{}, err
	}
	of, err := c.usageOf(r)
	if err != nil {
		return web.Response{}, err
	}
	counted, err := c.Usage.Read(r.Context(), of, first, last)
	if err != nil {
		return web.Response{}, err
	}
	counted, following, err := cut(r, counted, usagePage)
	if err != nil {
		return web.Response{}, err
	}
	rows := make([]usageRow, len(counted))
	for i, u := range counted {
		rows[i] = usageRow{
			Date: assay.FormatDay(u.Day), KeyID: u.KeyID, Route: u.Route, Status: u.Status, Requests: u.Requests,
		}
	}
	return uncached(struct {
		Success   bool   `json:"success"`
		StartDate string `json:"startDate"`
		EndDate   string `json:"endDate"`
		Count     int    `json:"count"`
		page
		Data []usageRow `json:"data"`
	}{true, assay.FormatDay(first), assay.FormatDay(last), len(rows), following, rows})
}

// usageRange reads the requested days.
func usageRange(r *web.Request) (first, last int64, err error) {
	last = assay.StartOfDay(r.Milli())
	end, err := r.Instant("endDate")
	if err != nil {
		return 0, 0, err
	}
	if end.Given {
		last = assay.StartOfDay(end.At)
	}
	first = last - (usageDays-1)*assay.Day
	start, err := r.Instant("startDate")
	if err != nil || !start.Given {
		return first, last, err
	}
	first = assay.StartOfDay(start.At)
	if days := (last-first)/assay.Day + 1; days < 1 || days > maxUsageDays {
		text, _ := r.Param("startDate") // read before
		allowed := fmt.Sprintf("a day from %d days before endDate to endDate", maxUsageDays-1)
		return 0, 0, web.Invalid("startDate", text, allowed)
	}
	return first, last, nil
}

// usageOf says whose usage is requested.
func (c *Console) usageOf(r *web.Request) (of usage.Of, err error) {
	id, err := r.Param("key")
	if err != nil {
		return of, err
	}
	if r.Caller().KeyID != "" {
		if id != "" && id != r.Caller().KeyID {
			return of, unknownKey(id)
		}
		return usage.Of{KeyID: r.Caller().KeyID}, nil
	}
	if id != "" {
		_, err = c.keyOf(r, id)
	}
	return usage.Of{AccountID: r.Caller().AccountID, KeyID: id}, err
}
