package console

import (
	"math"
	"strconv"

	"github.com/assaydata/assay/internal/web"
)

// page is what a response says of the rows that follow its own.
type page struct {
	HasMore bool              `json:"has_more"`
	Next    map[string]string `json:"next,omitempty"`
}

// pageBy says that more rows follow, from a value of a parameter on.
func pageBy(r *web.Request, param string, value int64) page {
	text := strconv.FormatInt(value, 10)
	r.LinkNext([]web.Change{{Param: param, Value: text}})
	return page{HasMore: true, Next: map[string]string{param: text}}
}

// cut returns the requested part of a list: at most so many rows.
func cut[T any](r *web.Request, rows []T, most int) ([]T, page, error) {
	limit, err := r.Int("limit", most, 1, most)
	if err != nil {
		return nil, page{}, err
	}
	offset, err := r.Int("offset", 0, 0, math.MaxInt32)
	if err != nil {
		return nil, page{}, err
	}
	rows = rows[min(offset, len(rows)):]
	if len(rows) <= limit {
		return rows, page{}, nil
	}
	return rows[:limit], pageBy(r, "offset", int64(offset+limit)), nil
}
