package api

import (
	"math"
	"strconv"

	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/web"

	"github.com/assaydata/assay"
)

// historyForm is how one of the routes with a range of rows differs from the others.
type historyForm struct {
	newestFirst  bool
	defaultLimit int // 0: everything
	maxLimit     int
	defaultSpan  int64 // how far back without startDate; 0: to the beginning
	oneGrain     bool  // the route takes no granularity
	rolling      bool  // the route shows rolling averages
	notFirst     bool  // the very first point has no row
}

// history is a range of rows that the caller may see: the rows [i, j) of a series, in the served order.
type history struct {
	form        historyForm
	grant       access.Decision
	desc        bool
	limit       int
	i, j        int
	found       int          // rows in the range before the limit cut it
	next        []web.Change // of the parameters, for the next page; none if there is no such page
	start, end  string       // as given; empty when not
	granularity string       // as given
	order       string
}

// parse reads range, grain, order and limit; to is the last instant of the range.
func (h *history) parse(q *query) (ask access.Ask, to int64, err error) {
	start, err := q.Instant("startDate")
	if err != nil {
		return ask, 0, err
	}
	end, err := q.Instant("endDate")
	if err != nil {
		return ask, 0, err
	}
	to = math.MaxInt64 - 1
	if end.Given {
		if to = end.At; end.DateOnly {
			to = end.At + assay.Day - 1
		}
		ask.End, ask.HasEnd = to, true
		h.end, _ = q.Param("endDate")
	}
	if start.Given {
		ask.Start, ask.HasStart = start.At, true
		h.start, _ = q.Param("startDate")
		if start.At > to {
			allowed := "a date that is not after endDate " + strconv.Quote(web.Shorten(h.end))
			return ask, 0, web.Invalid("startDate", h.start, allowed)
		}
	}
	if !h.form.oneGrain {
		if ask.Granularity, err = q.OneOf("granularity", "daily", "daily", "hourly", "auto"); err != nil {
			return ask, 0, err
		}
		h.granularity = ask.Granularity
	}
	natural := "asc"
	if h.form.newestFirst {
		natural = "desc"
	}
	if h.order, err = q.OneOf("order", natural, "asc", "desc"); err != nil {
		return ask, 0, err
	}
	h.desc = h.order == "desc"
	h.limit, err = q.Int("limit", h.form.defaultLimit, 1, h.form.maxLimit)
	return ask, to, err
}

// cut keeps the first rows in the served order. It reports whether there are others, and the position of the first of
// them in the series.
func (h *history) cut() (other int, more bool) {
	h.found = h.j - h.i
	if h.limit == 0 || h.found <= h.limit {
		return 0, false
	}
	if h.desc {
		h.i = h.j - h.limit
		return h.i - 1, true
	}
	h.j = h.i + h.limit
	return h.j, true
}

// continueAt lets the next page begin at a date or an instant.
func (h *history) continueAt(q *query, at string, changes ...web.Change) {
	bound := "startDate"
	if h.desc {
		bound = "endDate"
	}
	changes = append(changes, web.Change{Param: bound, Value: at})
	if h.granularity == "auto" { // which would look at the length of what is left
		changes = append(changes, web.Change{Param: "granularity", Value: h.grant.Grain.String()})
	}
	h.next = changes
	q.LinkNext(changes)
}

// at returns the position in the series of row k.
func (h *history) at(k int) int {
	if h.desc {
		return h.j - 1 - k
	}
	return h.i + k
}

// count is the number of rows.
func (h *history) count() int { return h.j - h.i }

// appendCounts appends the end of an envelope up to the rows.
func (h *history) appendCounts(dst []byte) []byte {
	dst = appendIntField(dst, `,"count":`, h.count())
	return append(appendMore(dst, h.next), `,"data":[`...)
}

// appendDailyHead appends the end of an envelope of daily rows up to the rows.
func (h *history) appendDailyHead(dst []byte) []byte {
	dst = appendStringField(dst, `,"access":`, string(h.grant.Access))
	return h.appendCounts(append(dst, `,"granularity":"daily"`...))
}

// modelVersion identifies rows of a model. They depend on the head, which has their number, on where they begin, and on
// the newest observation that the model was made of.
func (h *history) modelVersion(kind string, head []byte, received, modified int64) web.Version {
	rest := strconv.AppendInt(nil, received, 36)
	rest = strconv.AppendInt(append(rest, '.'), int64(h.i), 36)
	rest = strconv.AppendBool(append(rest, '.'), h.desc)
	return web.NewVersion(modified, []byte(kind), head, rest)
}

// appendMore appends whether there is a next page, and which parameters it needs beside those of this one.
func appendMore(dst []byte, next []web.Change) []byte {
	dst = appendBoolField(dst, `,"has_more":`, len(next) > 0)
	for i, c := range next {
		field := `,"next":{"`
		if i > 0 {
			field = `,"`
		}
		dst = appendStringField(append(append(dst, field...), c.Param...), `":`, c.Value)
	}
	if len(next) > 0 {
		dst = append(dst, '}')
	}
	return dst
}
