package api

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// memoryFamily is the prices of memory.
var memoryFamily = marketFamily{
	name:     assay.FamilyMemory.String(),
	catalogs: []catalog{newCatalog("/api/memory-types", memoryTypes, memoryColumns)},
	routes: []route{
		{"/api/memory-index", web.PerKey, access.Keyed, memoryIndex, memoryPriceColumns},
		{"/api/memory/{memoryType}/history", web.PerKey, access.Keyed, memoryHistory, memoryHistoryColumns},
	},
	latest: func(snap *snapshot.Snapshot) int64 { return snap.Observations[assay.FamilyMemory].Latest() },
	warm:   func(a *API, snap *snapshot.Snapshot) { memoryModels.current(a, snap) },
	forget: func(a *API, snap *snapshot.Snapshot) { memoryModels.current(a, snap).bodies.Clear() },
	enums: func(c *assay.Catalog) [][]string {
		var ids, names []string
		for _, m := range sortedMemory(c.MemoryTypes) {
			ids, names = append(ids, m.ID), append(names, m.MemoryType)
		}
		return [][]string{ids, names, slices.Concat(ids, names)}
	},
}

func memoryTypes(snap *snapshot.Snapshot) []assay.MemoryType {
	return sortedMemory(snap.Catalog.MemoryTypes)
}

// sortedMemory is the order of memory types: by category, then name.
func sortedMemory(types []assay.MemoryType) []assay.MemoryType {
	return slices.SortedFunc(slices.Values(types), compareMemory)
}

func compareMemory(a, b assay.MemoryType) int {
	return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.MemoryType, b.MemoryType))
}

// memoryForm is the history of a memory type.
var memoryForm = historyForm{defaultLimit: 1000, maxLimit: 10_000, oneGrain: true}

// memoryModel is made of the readings that were known at a moment.
type memoryModel struct {
	series  map[string]memory.Series // by the id of the memory type
	changed int64                    // when the readings that count changed last
	bodies  *web.BodyCache
}

var memoryModels = &modelKind[assay.MemoryReading, *memoryModel]{
	name:   "memory",
	family: memory.Family,
	build:  newMemoryModel,
	size: func(m *memoryModel) (bytes int) {
		for _, series := range m.series {
			bytes += sizeOf[memory.Point](cap(series))
		}
		return bytes
	},
}

func newMemoryModel(a *API, snap *snapshot.Snapshot, known knownRows[assay.MemoryReading]) *memoryModel {
	series := memory.Build(known.rows, a.schedule(snap))
	return &memoryModel{series: series, changed: known.changed, bodies: web.NewBodyCache()}
}

// settled are the points of a memory type whose fixings are in the past.
func (m *memoryModel) settled(id string, moment int64) memory.Series {
	s := m.series[id]
	return s[:s.Settled(moment)]
}

// memoryAsk is which memory types are requested; all when both are empty.
type memoryAsk struct{ name, category string }

func (ask *memoryAsk) wants(m assay.MemoryType) bool {
	return (ask.name == "" || ask.name == m.ID || ask.name == m.MemoryType) &&
		(ask.category == "" || ask.category == m.Category)
}

// memoryIndex serves the newest price of one memory type, of a category, or of all.
func memoryIndex(q query) (web.Response, error) {
	var ask memoryAsk
	var err error
	if ask.name, err = q.Param("type"); err != nil {
		return web.Response{}, err
	}
	if ask.category, err = q.OneOf("category", "", assay.MemoryDRAM, assay.MemoryFlash, assay.MemoryModule); err != nil {
		return web.Response{}, err
	}
	grant, err := q.granted(access.Ask{})
	if err != nil {
		return web.Response{}, err
	}
	model, err := memoryModels.of(&q)
	if err != nil {
		return web.Response{}, err
	}
	rows, newest := q.memoryPrices(model, ask)
	if len(rows) == 0 {
		return web.Response{}, noMemory(cmp.Or(ask.name, ask.category, "any memory type"))
	}
	// Which rows there are, and of which fixing, follows from these.
	key := web.Tag([]byte("memory-index"), []byte(grant.Access), []byte(ask.name), []byte(ask.category),
		strconv.AppendInt(nil, model.changed, 36), strconv.AppendInt(nil, newest, 36),
		strconv.AppendInt(nil, int64(len(rows)), 36))
	return web.Ready(q.bodies(model.bodies).Get(key, func() *web.Body {
		return memoryBody(grant.Access, ask, rows, max(model.changed, newest))
	})).ShortLived(), nil
}

// memoryRow is a memory type with its newest point.
type memoryRow struct {
	assay.MemoryType
	memory.Point
}

// memoryPrices finds the newest points of the requested types, in the order of the catalog, and the newest fixing.
func (q *query) memoryPrices(model *memoryModel, ask memoryAsk) (rows []memoryRow, newest int64) {
	for _, m := range q.snap.Catalog.MemoryTypes {
		if !ask.wants(m) {
			continue
		}
		if points := model.settled(m.ID, q.moment); len(points) > 0 {
			rows = append(rows, memoryRow{m, points[len(points)-1]})
			newest = max(newest, points[len(points)-1].At)
		}
	}
	slices.SortFunc(rows, func(a, b memoryRow) int { return compareMemory(a.MemoryType, b.MemoryType) })
	return rows, newest
}

// memoryBody is one object when a memory type was named, else a list.
func memoryBody(access assay.Access, ask memoryAsk, rows []memoryRow, modified int64) *web.Body {
	prices, newest := make([]assay.MemoryPrice, len(rows)), int64(0)
	for i, r := range rows {
		newest = max(newest, r.At)
		prices[i] = assay.MemoryPrice{
			ID: r.ID, MemoryType: r.MemoryType.MemoryType, Category: r.Category,
			Price: r.Price, ChangePct: r.ChangePct, WeeklyHigh: r.High, WeeklyLow: r.Low,
			SourceUpdatedAt: assay.FormatInstant(r.ReadAt),
			Date:            assay.FormatInstant(r.At),
			UpdatedAt:       assay.FormatInstant(r.Received),
		}
		if r.Sources > 0 {
			excluded := r.ExcludedSources()
			prices[i].Sources, prices[i].ExcludedSources = r.Sources, &excluded
		}
	}
	var data any = prices
	if ask.name != "" {
		data = prices[0]
	}
	return web.ObjectBody(struct {
		Success bool         `json:"success"`
		Access  assay.Access `json:"access"`
		Date    string       `json:"date"`
		Count   int          `json:"count"`
		Data    any          `json:"data"`
	}{true, access, assay.FormatInstant(newest), len(prices), data}, modified)
}

func noMemory(name string) error { return noData("No memory price data found for " + web.Shown(name)) }

// memoryHistory serves the points of a memory type.
func memoryHistory(q query) (web.Response, error) {
	h := history{form: memoryForm}
	ask, to, err := h.parse(&q)
	if err != nil {
		return web.Response{}, err
	}
	if h.grant, err = q.granted(ask); err != nil {
		return web.Response{}, err
	}
	name := q.PathValue("memoryType")
	memoryType, _ := q.snap.Catalog.Memory(name)
	model, err := memoryModels.of(&q)
	if err != nil {
		return web.Response{}, err
	}
	points := model.settled(memoryType.ID, q.moment)
	if len(points) == 0 {
		return web.Response{}, noMemory(name)
	}
	h.i, h.j = points.Range(ask.Start, to) // without a start from 1970, before all points
	if other, more := h.cut(); more {
		h.continueAt(&q, assay.FormatInstant(points[other].At))
	}
	head := h.appendMemoryHead(make([]byte, 0, 256), memoryType)
	version := h.modelVersion("memory", head, model.changed, max(model.changed, points[len(points)-1].At))
	middle := appendMemoryMiddle(nil, memoryType)
	response := web.Rows(version, head, h.count(), func(dst []byte, k int) []byte {
		return appendMemoryRow(dst, middle, &points[h.at(k)])
	}).ShortLived()
	if h.j != len(points) || h.i == h.j {
		return response, nil // rarely requested again
	}
	return response.Cached(q.bodies(model.bodies)), nil
}

func (h *history) appendMemoryHead(dst []byte, m assay.MemoryType) []byte {
	dst = appendStringField(dst, `{"success":true,"id":`, m.ID)
	dst = appendStringField(dst, `,"memoryType":`, m.MemoryType)
	return h.appendDailyHead(dst)
}

// appendMemoryMiddle appends what all rows of a memory type have in common.
func appendMemoryMiddle(dst []byte, m assay.MemoryType) []byte {
	dst = appendStringField(dst, `","id":`, m.ID)
	dst = appendStringField(dst, `,"memoryType":`, m.MemoryType)
	dst = appendStringField(dst, `,"category":`, m.Category)
	return append(dst, `,"price":`...)
}

func appendMemoryRow(dst, middle []byte, p *memory.Point) []byte {
	dst = assay.AppendDay(append(dst, `{"date":"`...), p.At)
	dst = p.Price.AppendJSON(append(dst, middle...))
	dst = p.High.AppendJSON(append(dst, `,"weeklyHigh":`...))
	dst = p.Low.AppendJSON(append(dst, `,"weeklyLow":`...))
	dst = p.ChangePct.AppendJSON(append(dst, `,"changePct":`...))
	dst = appendInstantField(dst, `,"sourceUpdatedAt":`, p.ReadAt)
	dst = appendInstantField(dst, `,"timestamp":`, p.At)
	if p.Sources > 0 {
		dst = appendIntField(dst, `,"sources":`, p.Sources)
		dst = appendIntField(dst, `,"excludedSources":`, p.ExcludedSources())
	}
	return append(dst, '}')
}
