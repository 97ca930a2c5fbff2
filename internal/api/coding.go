package api

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// codingFamily is what coding tools do.
var codingFamily = marketFamily{
	name:     assay.FamilyCoding.String(),
	catalogs: []catalog{newCatalog("/api/llm-coding/products", codingProducts, codingColumns)},
	routes: []route{
		{"/api/llm-coding/index", web.PerKey, access.Keyed, codingIndex, codingValueColumns},
		{"/api/llm-coding/history", web.PerKey, access.Keyed, codingHistory, codingHistoryColumns},
	},
	latest: func(snap *snapshot.Snapshot) int64 { return snap.Observations[assay.FamilyCoding].Latest() },
	warm:   func(a *API, snap *snapshot.Snapshot) { codingModels.current(a, snap) },
	forget: func(a *API, snap *snapshot.Snapshot) { codingModels.current(a, snap).bodies.Clear() },
	enums: func(c *assay.Catalog) [][]string {
		var all, single, compared []string
		for _, p := range c.CodingProducts {
			all = append(all, p.ID)
			if p.Compare {
				compared = append(compared, p.ID)
			} else {
				single = append(single, p.ID)
			}
		}
		return [][]string{all, single, compared}
	},
}

func codingProducts(snap *snapshot.Snapshot) []assay.CodingProduct {
	return snap.Catalog.CodingProducts
}

// codingForm is the history of a coding product.
var codingForm = historyForm{defaultLimit: 2000, maxLimit: 10_000, oneGrain: true}

// codingModel is made of the days that were known at a moment.
type codingModel struct {
	series  map[string]coding.Series // by the id of the product
	changed int64                    // when the days that count changed last
	bodies  *web.BodyCache
}

var codingModels = &modelKind[assay.CodingDay, *codingModel]{
	name:   "coding",
	family: coding.Family,
	build:  newCodingModel,
	size: func(m *codingModel) (bytes int) {
		for _, series := range m.series {
			bytes += sizeOf[coding.Value](cap(series))
		}
		return bytes
	},
}

func newCodingModel(_ *API, snap *snapshot.Snapshot, known knownRows[assay.CodingDay]) *codingModel {
	series := coding.Build(known.rows, snap.Catalog.CodingProducts)
	return &codingModel{series: series, changed: known.changed, bodies: web.NewBodyCache()}
}

// codingProduct returns the product that the query must name; without compare, not one that compares two tools.
func (q *query) codingProduct(compare bool) (product assay.CodingProduct, err error) {
	id, err := q.Param("product")
	if err != nil {
		return product, err
	}
	if found, ok := q.snap.Catalog.CodingProduct(id); ok && (compare || !found.Compare) {
		return found, nil
	}
	var allowed []string
	for _, p := range q.snap.Catalog.CodingProducts {
		if compare || !p.Compare {
			allowed = append(allowed, p.ID)
		}
	}
	oneOf := "one of " + strings.Join(allowed, ", ")
	if id != "" {
		return product, web.Invalid("product", id, oneOf, allowed...)
	}
	return product, web.Missing("product", oneOf, allowed...)
}

// codingIndex serves the newest value of a product.
func codingIndex(q query) (web.Response, error) {
	product, err := q.codingProduct(false)
	if err != nil {
		return web.Response{}, err
	}
	grant, err := q.granted(access.Ask{})
	if err != nil {
		return web.Response{}, err
	}
	model, err := codingModels.of(&q)
	if err != nil {
		return web.Response{}, err
	}
	series := model.series[product.ID]
	if len(series) == 0 {
		return web.Response{}, noData("No LLM coding data found for " + product.ID)
	}
	received := strconv.AppendInt(nil, model.changed, 36)
	partial := series[len(series)-1].Partial(q.moment)
	key := web.Tag([]byte("coding-index"), []byte(grant.Access), []byte(product.ID), received,
		strconv.AppendBool(nil, partial))
	return web.Ready(q.bodies(model.bodies).Get(key, func() *web.Body {
		return codingBody(grant.Access, product, series, partial, model.changed)
	})).ShortLived(), nil
}

// codingBody has the last value of a series. A part of a day is not compared with a whole one.
func codingBody(
	access assay.Access, product assay.CodingProduct, series coding.Series, partial bool, modified int64,
) *web.Body {
	last := len(series) - 1
	v := &series[last]
	value := assay.CodingValue{
		Product: product.ID, Label: product.Label, Kind: product.Kind, Value: v.Value,
		Date: assay.FormatDay(v.Day), UpdatedAt: assay.FormatInstant(v.Received), Partial: partial,
	}
	if change, ok := series.ChangePct(last); ok && !partial {
		value.ChangePct = &change
	}
	if change, ok := series.WeekChangePct(last); ok && !partial {
		value.WeekChangePct = &change
	}
	return web.ObjectBody(struct {
		Success bool              `json:"success"`
		Access  assay.Access      `json:"access"`
		Data    assay.CodingValue `json:"data"`
	}{true, access, value}, modified)
}

// codingHistory serves the values of a product. Days have no time: only the day of the range's bounds counts.
func codingHistory(q query) (web.Response, error) {
	product, err := q.codingProduct(true)
	if err != nil {
		return web.Response{}, err
	}
	h := history{form: codingForm}
	ask, to, err := h.parse(&q)
	if err != nil {
		return web.Response{}, err
	}
	if h.grant, err = q.granted(ask); err != nil {
		return web.Response{}, err
	}
	model, err := codingModels.of(&q)
	if err != nil {
		return web.Response{}, err
	}
	series := model.series[product.ID]
	h.i, h.j = series.Range(assay.StartOfDay(ask.Start), to) // without a start from 1970, before all days
	if other, more := h.cut(); more {
		h.continueAt(&q, assay.FormatDay(series[other].Day))
	}
	head, err := h.appendCodingHead(make([]byte, 0, 256), product)
	if err != nil {
		return web.Response{}, err
	}
	kind := "coding"
	if n := len(series); n > 0 && series[n-1].Partial(q.moment) {
		kind = "coding, and a day that has not ended"
	}
	version := h.modelVersion(kind, head, model.changed, model.changed)
	moment := q.moment
	response := web.Rows(version, head, h.count(), func(dst []byte, k int) []byte {
		return appendCodingRow(dst, &series[h.at(k)], product.Compare, moment)
	}).ShortLived()
	if h.j != len(series) || h.i == h.j {
		return response, nil // rarely requested again
	}
	return response.Cached(q.bodies(model.bodies)), nil
}

func (h *history) appendCodingHead(dst []byte, product assay.CodingProduct) ([]byte, error) {
	labels, err := json.Marshal(product.SeriesLabels)
	if err != nil {
		return nil, err
	}
	dst = appendStringField(dst, `{"success":true,"product":`, product.ID)
	dst = appendBoolField(dst, `,"compare":`, product.Compare)
	dst = append(append(dst, `,"seriesLabels":`...), labels...)
	return h.appendDailyHead(dst), nil
}

func appendCodingRow(dst []byte, v *coding.Value, compare bool, moment int64) []byte {
	dst = appendDayField(dst, `{"date":`, v.Day)
	dst = v.Value.AppendJSON(append(dst, `,"value":`...))
	if compare {
		dst = v.Second.AppendJSON(append(dst, `,"value2":`...))
	}
	if v.Partial(moment) {
		dst = append(dst, `,"partial":true`...)
	}
	return append(dst, '}')
}
