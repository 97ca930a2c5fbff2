package httpapi

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/snapshot"
)

// memoryForm is the history of a memory type.
var memoryForm = historyForm{defaultLimit: 1000, maxLimit: 10_000, oneGrain: true}

// memoryModel is what the readings that were known at a moment make.
type memoryModel struct {
	series   map[string]memory.Series // by the id of the memory type
	received int64                    // when the newest reading came
	kept     kept
}

func memoryModelOf(snap *snapshot.Snapshot, known int64) *memoryModel {
	return family.Model(memory.Family.In(&snap.Observations), known, func(readings []assay.Observed[assay.MemoryReading]) *memoryModel {
		m := &memoryModel{series: memory.Build(readings)}
		for i := range readings {
			m.received = max(m.received, readings[i].Received)
		}
		return m
	})
}

// settled are the points of a memory type whose fixings have been.
func (m *memoryModel) settled(id string, moment int64) memory.Series {
	s := m.series[id]
	return s[:s.Settled(moment)]
}

// memoryAsk is what of the memory types is asked for; everything when both are empty.
type memoryAsk struct{ name, category string }

func (ask *memoryAsk) wants(m assay.MemoryType) bool {
	return (ask.name == "" || ask.name == m.ID || ask.name == m.MemoryType) && (ask.category == "" || ask.category == m.Category)
}

// memoryIndex answers the newest price of one memory type, of a category, or of all.
func memoryIndex(c *call) (answer, error) {
	var ask memoryAsk
	var err error
	if ask.name, err = c.param("type"); err != nil {
		return answer{}, err
	}
	if ask.category, err = c.oneOf("category", "", assay.MemoryDRAM, assay.MemoryFlash, assay.MemoryModule); err != nil {
		return answer{}, err
	}
	grant, err := c.granted(access.Ask{})
	if err != nil {
		return answer{}, err
	}
	model := memoryModelOf(c.snap, c.known())
	rows, newest := c.memoryPrices(model, ask)
	if len(rows) == 0 {
		return answer{}, noMemory(cmp.Or(ask.name, ask.category, "any memory type"))
	}
	// Which rows there are, and of which fixing, follows from these.
	tag := hash([]byte("memory-index"), []byte(grant.Access), []byte(ask.name), []byte(ask.category), strconv.AppendInt(nil, model.received, 36),
		strconv.AppendInt(nil, newest, 36), strconv.AppendInt(nil, int64(len(rows)), 36))
	a, err := c.keptIn(&model.kept).object(tag, func() (answer, error) {
		return memoryAnswer(grant.Access, ask, rows, max(model.received, newest))
	})
	a.brief = true
	return a, err
}

// memoryRow is a memory type with its newest point.
type memoryRow struct {
	assay.MemoryType
	memory.Point
}

// memoryPrices finds the newest points of what is asked for, in the order of the catalog route, and the newest fixing.
func (c *call) memoryPrices(model *memoryModel, ask memoryAsk) (rows []memoryRow, newest int64) {
	for _, m := range c.snap.Catalog.MemoryTypes {
		if !ask.wants(m) {
			continue
		}
		if points := model.settled(m.ID, c.moment); len(points) > 0 {
			rows = append(rows, memoryRow{m, points[len(points)-1]})
			newest = max(newest, points[len(points)-1].At)
		}
	}
	slices.SortFunc(rows, func(a, b memoryRow) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.MemoryType.MemoryType, b.MemoryType.MemoryType))
	})
	return rows, newest
}

// memoryAnswer is one object when a memory type was named, else a list.
func memoryAnswer(access assay.Access, ask memoryAsk, rows []memoryRow, modified int64) (answer, error) {
	prices, newest := make([]assay.MemoryPrice, len(rows)), int64(0)
	for i, r := range rows {
		newest = max(newest, r.At)
		prices[i] = assay.MemoryPrice{
			ID: r.ID, MemoryType: r.MemoryType.MemoryType, Category: r.Category, Price: r.Price, ChangePct: r.ChangePct, WeeklyHigh: r.High, WeeklyLow: r.Low,
			SourceUpdatedAt: assay.FormatInstant(r.ReadAt), Date: assay.FormatInstant(r.At), UpdatedAt: assay.FormatInstant(r.Received),
		}
	}
	var data any = prices
	if ask.name != "" {
		data = prices[0]
	}
	return object(struct {
		Success bool         `json:"success"`
		Access  assay.Access `json:"access"`
		Date    string       `json:"date"`
		Count   int          `json:"count"`
		Data    any          `json:"data"`
	}{true, access, assay.FormatInstant(newest), len(prices), data}, modified)
}

func noMemory(name string) error {
	return &assay.Error{Kind: assay.NoData, Code: "no_data", Message: "No memory price data found for " + keys.Redact(shorten(name))}
}

// memoryHistory answers the points of a memory type.
func memoryHistory(c *call) (answer, error) {
	h := history{form: memoryForm}
	ask, to, err := h.parse(c)
	if err != nil {
		return answer{}, err
	}
	if h.grant, err = c.granted(ask); err != nil {
		return answer{}, err
	}
	name := c.r.PathValue("memoryType")
	kind, _ := c.snap.Catalog.Memory(name)
	model := memoryModelOf(c.snap, c.known())
	points := model.settled(kind.ID, c.moment)
	if len(points) == 0 {
		return answer{}, noMemory(name)
	}
	h.i, h.j = points.Range(ask.Start, to) // without a start from 1970, before all points
	h.cut()
	a := h.rows(h.appendMemoryHead(make([]byte, 0, 256), kind), "memory", model.received, max(model.received, points[len(points)-1].At))
	middle := appendMemoryMiddle(nil, kind)
	a.row = func(dst []byte, k int) []byte { return appendMemoryRow(dst, middle, &points[h.at(k)]) }
	if h.j != len(points) || h.i == h.j {
		return a, nil // seldom asked again
	}
	return c.keptIn(&model.kept).rows(a), nil
}

func (h *history) appendMemoryHead(dst []byte, kind assay.MemoryType) []byte {
	dst = assay.AppendString(append(dst, `{"success":true,"id":`...), kind.ID)
	dst = assay.AppendString(append(dst, `,"memoryType":`...), kind.MemoryType)
	return h.appendDailyHead(dst)
}

// appendDailyHead appends the end of an envelope of daily rows.
func (h *history) appendDailyHead(dst []byte) []byte {
	dst = assay.AppendString(append(dst, `,"access":`...), string(h.grant.Access))
	dst = append(dst, `,"granularity":"daily"`...)
	dst = strconv.AppendInt(append(dst, `,"count":`...), int64(h.j-h.i), 10)
	dst = strconv.AppendBool(append(dst, `,"has_more":`...), h.j-h.i < h.found)
	return append(dst, `,"data":[`...)
}

// rows begins an answer of rows of a model. What makes them what they are is the head, which has their number, where they
// begin, and the newest observation that the model was made of.
func (h *history) rows(head []byte, kind string, received, modified int64) answer {
	rest := strconv.AppendInt(nil, received, 36)
	rest = strconv.AppendInt(append(rest, '.'), int64(h.i), 36)
	rest = strconv.AppendBool(append(rest, '.'), h.desc)
	return answer{head: head, tag: hash([]byte(kind), head, rest), modified: modified, count: h.j - h.i, brief: true}
}

// appendMemoryMiddle appends what all rows of a memory type have in common.
func appendMemoryMiddle(dst []byte, kind assay.MemoryType) []byte {
	dst = assay.AppendString(append(dst, `","id":`...), kind.ID)
	dst = assay.AppendString(append(dst, `,"memoryType":`...), kind.MemoryType)
	dst = assay.AppendString(append(dst, `,"category":`...), kind.Category)
	return append(dst, `,"price":`...)
}

func appendMemoryRow(dst, middle []byte, p *memory.Point) []byte {
	dst = assay.AppendDay(append(dst, `{"date":"`...), p.At)
	dst = p.Price.AppendJSON(append(dst, middle...))
	dst = p.High.AppendJSON(append(dst, `,"weeklyHigh":`...))
	dst = p.Low.AppendJSON(append(dst, `,"weeklyLow":`...))
	dst = p.ChangePct.AppendJSON(append(dst, `,"changePct":`...))
	dst = appendInstantField(dst, `,"sourceUpdatedAt":`, p.ReadAt)
	return append(appendInstantField(dst, `,"timestamp":`, p.At), '}')
}
