package httpapi

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	products "github.com/assaydata/assay/internal/coding" // coding is a content coding here
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/snapshot"
)

// codingForm is the history of a coding product.
var codingForm = historyForm{defaultLimit: 2000, maxLimit: 10_000, oneGrain: true}

// codingModel is what the days that were known at a moment make.
type codingModel struct {
	series   map[string]products.Series // by the id of the product
	received int64                      // when the newest day came
	kept     kept
}

func codingModelOf(snap *snapshot.Snapshot, known int64) *codingModel {
	return family.Model(products.Family.In(&snap.Observations), known, func(days []assay.Observed[assay.CodingDay]) *codingModel {
		m := &codingModel{series: products.Build(days, snap.Catalog.CodingProducts)}
		for i := range days {
			m.received = max(m.received, days[i].Received)
		}
		return m
	})
}

// codingProduct gives the product that the query must name. Where compare is false, one that compares two tools will not
// do.
func (c *call) codingProduct(compare bool) (product assay.CodingProduct, err error) {
	id, err := c.param("product")
	if err != nil {
		return product, err
	}
	if found, ok := c.snap.Catalog.CodingProduct(id); ok && (compare || !found.Compare) {
		return found, nil
	}
	var allowed []string
	for _, p := range c.snap.Catalog.CodingProducts {
		if compare || !p.Compare {
			allowed = append(allowed, p.ID)
		}
	}
	oneOf := "one of " + strings.Join(allowed, ", ")
	if id != "" {
		return product, invalid("product", id, oneOf)
	}
	return product, &assay.Error{
		Kind: assay.Invalid, Code: "invalid_parameter",
		Message: fmt.Sprintf("Parameter product is required; allowed is %s.", oneOf),
	}
}

// codingIndex answers the newest value of a product.
func codingIndex(c *call) (answer, error) {
	product, err := c.codingProduct(false)
	if err != nil {
		return answer{}, err
	}
	grant, err := c.granted(access.Ask{})
	if err != nil {
		return answer{}, err
	}
	model := codingModelOf(c.snap, c.known())
	series := model.series[product.ID]
	if len(series) == 0 {
		return answer{}, &assay.Error{Kind: assay.NoData, Code: "no_data", Message: "No LLM coding data found for " + product.ID}
	}
	tag := hash([]byte("coding-index"), []byte(grant.Access), []byte(product.ID), strconv.AppendInt(nil, model.received, 36))
	a, err := c.keptIn(&model.kept).object(tag, func() (answer, error) {
		return codingAnswer(grant.Access, product, series, model.received)
	})
	a.brief = true
	return a, err
}

func codingAnswer(access assay.Access, product assay.CodingProduct, series products.Series, modified int64) (answer, error) {
	last := len(series) - 1
	v := &series[last]
	value := assay.CodingValue{
		Product: product.ID, Label: product.Label, Kind: product.Kind, Value: v.Value,
		Date: assay.FormatDay(v.Day), UpdatedAt: assay.FormatInstant(v.Received),
	}
	if change, ok := series.ChangePct(last); ok {
		value.ChangePct = &change
	}
	return object(struct {
		Success bool              `json:"success"`
		Access  assay.Access      `json:"access"`
		Data    assay.CodingValue `json:"data"`
	}{true, access, value}, modified)
}

// codingHistory answers the values of a product. Days have no time: of the range's bounds the day counts.
func codingHistory(c *call) (answer, error) {
	product, err := c.codingProduct(true)
	if err != nil {
		return answer{}, err
	}
	h := history{form: codingForm}
	ask, to, err := h.parse(c)
	if err != nil {
		return answer{}, err
	}
	if h.grant, err = c.granted(ask); err != nil {
		return answer{}, err
	}
	model := codingModelOf(c.snap, c.known())
	series := model.series[product.ID]
	h.i, h.j = series.Range(assay.StartOfDay(ask.Start), to) // without a start from 1970, before all days
	h.cut()
	head, err := h.appendCodingHead(make([]byte, 0, 256), product)
	if err != nil {
		return answer{}, err
	}
	a := h.rows(head, "coding", model.received, model.received)
	a.row = func(dst []byte, k int) []byte { return appendCodingRow(dst, &series[h.at(k)], product.Compare) }
	if h.j != len(series) || h.i == h.j {
		return a, nil // seldom asked again
	}
	return c.keptIn(&model.kept).rows(a), nil
}

func (h *history) appendCodingHead(dst []byte, product assay.CodingProduct) ([]byte, error) {
	labels, err := json.Marshal(product.SeriesLabels)
	if err != nil {
		return nil, err
	}
	dst = assay.AppendString(append(dst, `{"success":true,"product":`...), product.ID)
	dst = strconv.AppendBool(append(dst, `,"compare":`...), product.Compare)
	dst = append(append(dst, `,"seriesLabels":`...), labels...)
	return h.appendDailyHead(dst), nil
}

func appendCodingRow(dst []byte, v *products.Value, compare bool) []byte {
	dst = assay.AppendDay(append(dst, `{"date":"`...), v.Day)
	dst = v.Value.AppendJSON(append(dst, `","value":`...))
	if compare {
		dst = v.Second.AppendJSON(append(dst, `,"value2":`...))
	}
	return append(dst, '}')
}
