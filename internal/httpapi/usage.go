package httpapi

import (
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/usage"
)

// How many days of usage are answered: without a range, and at most.
const (
	usageDays    = 30
	maxUsageDays = 366
)

// usageRow is how often a key called a route with one outcome on one day.
type usageRow struct {
	Date     string `json:"date"`
	KeyID    string `json:"key_id"`
	Route    string `json:"route"`
	Status   int    `json:"status"`
	Requests int64  `json:"requests"`
}

// showUsage answers what was asked: with a key of that key, signed in of all keys of the account.
func showUsage(c *call) (answer, error) {
	first, last, err := c.usageRange()
	if err != nil {
		return answer{}, err
	}
	of, err := c.usageOf()
	if err != nil {
		return answer{}, err
	}
	counted, err := c.s.Usage.Read(c.r.Context(), of, first, last)
	if err != nil {
		return answer{}, err
	}
	rows := make([]usageRow, len(counted))
	for i, u := range counted {
		rows[i] = usageRow{assay.FormatDay(u.Day), u.KeyID, u.Route, u.Status, u.Requests}
	}
	return own(struct {
		Success   bool       `json:"success"`
		StartDate string     `json:"startDate"`
		EndDate   string     `json:"endDate"`
		Count     int        `json:"count"`
		Data      []usageRow `json:"data"`
	}{true, assay.FormatDay(first), assay.FormatDay(last), len(rows), rows})
}

// usageRange reads the days asked for.
func (c *call) usageRange() (first, last int64, err error) {
	last = assay.StartOfDay(c.now.UnixMilli())
	end, _, hasEnd, err := c.instant("endDate")
	if err != nil {
		return 0, 0, err
	}
	if hasEnd {
		last = assay.StartOfDay(end)
	}
	first = last - (usageDays-1)*assay.Day
	start, _, hasStart, err := c.instant("startDate")
	if err != nil || !hasStart {
		return first, last, err
	}
	first = assay.StartOfDay(start)
	if days := (last-first)/assay.Day + 1; days < 1 || days > maxUsageDays {
		text, _ := c.param("startDate") // read before
		return 0, 0, invalid("startDate", text, fmt.Sprintf("a day from %d days before endDate to endDate", maxUsageDays-1))
	}
	return first, last, nil
}

// usageOf says whose usage is asked for.
func (c *call) usageOf() (of usage.Of, err error) {
	id, err := c.param("key")
	if err != nil {
		return of, err
	}
	if c.caller.KeyID != "" {
		if id != "" && id != c.caller.KeyID {
			return of, unknownKey(id)
		}
		return usage.Of{KeyID: c.caller.KeyID}, nil
	}
	if id != "" {
		_, err = c.keyOf(id)
	}
	return usage.Of{AccountID: c.caller.AccountID, KeyID: id}, err
}
