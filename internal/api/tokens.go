package api

import (
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/tokens"
	"github.com/assaydata/assay/internal/web"
)

// tokenFamily is the prices of tokens and the cost of workloads, both made of what models did.
var tokenFamily = marketFamily{
	name: assay.FamilyModels.String(),
	catalogs: []catalog{
		newCatalog("/api/token-types", labs, labColumns),
		newCatalog("/api/token-types-free", freeLabs, labColumns),
	},
	routes: []route{
		{"/api/otpi", web.PerAddress, access.FreeLab, otpi, tokenColumns},
		{"/api/workload", web.PerKey, access.Keyed, workload, workloadColumns},
	},
	latest: func(snap *snapshot.Snapshot) int64 { return snap.Observations[assay.FamilyModels].Latest() },
	warm: func(a *API, snap *snapshot.Snapshot) {
		priceModels.current(a, snap)
		costModels.current(a, snap)
	},
	forget: func(a *API, snap *snapshot.Snapshot) {
		priceModels.current(a, snap).bodies.Clear()
		costModels.current(a, snap).bodies.Clear()
	},
	enums: func(c *assay.Catalog) [][]string {
		var free []string
		for _, l := range c.Labs {
			if l.Free {
				free = append(free, l.Lab)
			}
		}
		return [][]string{c.LabNames(), free}
	},
}

func labs(snap *snapshot.Snapshot) []assay.Lab { return snap.Catalog.Labs }

func freeLabs(snap *snapshot.Snapshot) []assay.Lab {
	return slices.DeleteFunc(slices.Clone(snap.Catalog.Labs), func(l assay.Lab) bool { return !l.Free })
}

// tokenFilter says which rows are requested. Its zero value requests all.
type tokenFilter struct {
	lab, family string
	free        bool // of the free labs
}

// priceModels are the prices of tokens.
var priceModels = &modelKind[assay.ModelDay, *dayRows]{
	name:   "token prices",
	family: tokens.Family,
	build:  newPriceModel,
	size:   (*dayRows).size,
}

func newPriceModel(a *API, snap *snapshot.Snapshot, known knownRows[assay.ModelDay]) *dayRows {
	free := map[string]bool{}
	for _, lab := range snap.Catalog.Labs {
		free[lab.Lab] = lab.Free
	}
	rows := newDayRows()
	for _, p := range tokens.Prices(known.rows, snap.Catalog.Labs, a.schedule(snap)) {
		filters := []tokenFilter{{lab: p.Lab}}
		if free[p.Lab] {
			filters = append(filters, tokenFilter{free: true})
		}
		rows.text = appendTokenPrice(rows.begin(p.Day, filters...), &p)
		rows.end()
	}
	rows.digest = web.Tag(rows.text)
	return rows
}

// costModel is the costs of workloads.
type costModel struct {
	*dayRows
	families map[string][]string // by lab, and of all labs under ""; AllModels first, then by name
}

// costModels are over weeks, dailyCostModels over single days.
var (
	costModels      = newCostModels("workload costs", (*tokens.Memory).Costs)
	dailyCostModels = newCostModels("daily workload costs", (*tokens.Memory).DailyCosts)
)

// costsOf computes the costs of workloads.
type costsOf func(
	m *tokens.Memory, known []assay.Observed[assay.ModelDay], labs []assay.Lab, schedule index.Schedule,
) []tokens.Cost

func newCostModels(name string, costs costsOf) *modelKind[assay.ModelDay, *costModel] {
	return &modelKind[assay.ModelDay, *costModel]{
		name:   name,
		family: tokens.Family,
		build: func(a *API, snap *snapshot.Snapshot, known knownRows[assay.ModelDay]) *costModel {
			return newCostModel(snap, costs(&a.costs, known.rows, snap.Catalog.Labs, a.schedule(snap)))
		},
		size: func(m *costModel) int { return m.size() },
	}
}

func newCostModel(snap *snapshot.Snapshot, costs []tokens.Cost) *costModel {
	m := &costModel{dayRows: newDayRows(), families: map[string][]string{"": {tokens.AllModels}}}
	for _, lab := range snap.Catalog.Labs {
		m.families[lab.Lab] = []string{tokens.AllModels}
	}
	for _, c := range costs {
		filters := []tokenFilter{{lab: c.Lab}, {family: c.Family}, {lab: c.Lab, family: c.Family}}
		m.text = appendCost(m.begin(c.Day, filters...), &c)
		m.end()
		m.addFamily("", c.Family)
		m.addFamily(c.Lab, c.Family)
	}
	m.digest = web.Tag(m.text)
	return m
}

func (m *costModel) addFamily(lab, family string) {
	names := m.families[lab]
	if family == tokens.AllModels {
		return
	}
	if i, found := slices.BinarySearch(names[1:], family); !found {
		m.families[lab] = slices.Insert(names, 1+i, family)
	}
}

func appendTokenPrice(dst []byte, p *tokens.Price) []byte {
	dst = appendDayField(dst, `{"date":`, p.Day)
	dst = appendStringField(dst, `,"lab":`, p.Lab)
	dst = p.Value.AppendJSON(append(dst, `,"indexPerMtok":`...))
	dst = appendInstantField(dst, `,"computedAt":`, p.Computed)
	if p.Split > 0 {
		dst = appendOptional(dst, `,"inputPerMtok":`, p.Input)
		dst = appendOptional(dst, `,"cachedInputPerMtok":`, p.Cached)
		dst = appendOptional(dst, `,"outputPerMtok":`, p.Output)
		dst = appendOptional(dst, `,"mixPerMtok":`, p.Mix)
		dst = p.Split.AppendJSON(append(dst, `,"splitShare":`...))
	}
	return append(dst, '}')
}

func appendOptional(dst []byte, field string, p tokens.Optional) []byte {
	if dst = append(dst, field...); !p.OK {
		return append(dst, "null"...)
	}
	return p.Value.AppendJSON(dst)
}

func appendCost(dst []byte, c *tokens.Cost) []byte {
	dst = appendDayField(dst, `{"date":`, c.Day)
	dst = appendStringField(dst, `,"lab":`, c.Lab)
	dst = appendStringField(dst, `,"family":`, c.Family)
	dst = c.Cents.AppendJSON(append(dst, `,"cCents":`...))
	dst = append(append(dst, `,"lfl":`...), c.Index...)
	dst = c.Ktok.AppendJSON(append(dst, `,"qKtok":`...))
	dst = c.Price.AppendJSON(append(dst, `,"priceEffect":`...))
	dst = c.Intensity.AppendJSON(append(dst, `,"intensityEffect":`...))
	dst = c.Mix.AppendJSON(append(dst, `,"mixEffect":`...))
	dst = appendInstantField(dst, `,"computedAt":`, c.Computed)
	return append(appendOptional(dst, `,"unlinkedShare":`, c.Unlinked), '}')
}

// dayRows are rows of calendar days, oldest first, as one text, of which any part can be sent without copying. The
// positions of the rows that pass a filter are known.
type dayRows struct {
	days   []int64
	text   []byte // commas between the rows
	ends   []int  // of each row, in text
	picked map[tokenFilter][]int32
	digest string
	bodies *web.BodyCache
}

func newDayRows() *dayRows {
	return &dayRows{picked: map[tokenFilter][]int32{}, bodies: web.NewBodyCache()}
}

// size is how many bytes the rows take, without the cached bodies.
func (r *dayRows) size() int {
	bytes := cap(r.text) + sizeOf[int64](cap(r.days)) + sizeOf[int](cap(r.ends))
	for _, rows := range r.picked {
		bytes += sizeOf[int32](cap(rows))
	}
	return bytes
}

// begin registers the next row, which passes the filters, and gives the text to append it to.
func (r *dayRows) begin(day int64, filters ...tokenFilter) []byte {
	for _, f := range filters {
		r.picked[f] = append(r.picked[f], int32(len(r.days)))
	}
	r.days = append(r.days, day)
	if len(r.ends) > 0 {
		return append(r.text, ',')
	}
	return r.text
}

// end registers the end of the row that has been appended.
func (r *dayRows) end() { r.ends = append(r.ends, len(r.text)) }

// piece is the text of the rows [i, j).
func (r *dayRows) piece(i, j int) []byte {
	if i >= j {
		return nil
	}
	from := 0
	if i > 0 {
		from = r.ends[i-1] + 1
	}
	return r.text[from:r.ends[j-1]]
}

// tokenView is the rows that pass a filter, and which of them are served.
type tokenView struct {
	history
	rows   *dayRows
	bodies *web.BodyCache
	filter tokenFilter
	picked []int32 // unless the filter requests all
}

func (q *query) tokenView(h history, rows *dayRows, filter tokenFilter) tokenView {
	return tokenView{history: h, rows: rows, bodies: q.bodies(rows.bodies), filter: filter, picked: rows.picked[filter]}
}

func (v *tokenView) every() bool { return v.filter == tokenFilter{} }

func (v *tokenView) len() int {
	if v.every() {
		return len(v.rows.days)
	}
	return len(v.picked)
}

// position is where the k-th row of the view is among all rows.
func (v *tokenView) position(k int) int {
	if v.every() {
		return k
	}
	return int(v.picked[k])
}

// before is how many rows have a day before the given one.
func (v *tokenView) before(day int64) int {
	return sort.Search(v.len(), func(k int) bool { return v.rows.days[v.position(k)] >= day })
}

// between picks the rows of the days in [from, to] after an offset.
func (v *tokenView) between(q *query, from, to int64, offset int) {
	v.i = v.before(from)
	v.j = max(v.i, v.before(to+1))
	if offset = min(offset, v.count()); v.desc {
		v.j -= offset
	} else {
		v.i += offset
	}
	other, more := v.cut()
	if !more {
		return
	}
	// A page may end within a day: the next one skips the rows of that day that were served.
	day := v.rows.days[v.position(other)]
	served := other - v.before(day)
	if v.desc {
		served = v.before(day+1) - 1 - other
	}
	skip := web.Change{Param: "offset", Value: strconv.Itoa(served)}
	if v.start == "" && v.end == "" && from == to { // a single day
		v.next = []web.Change{{Param: "date", Value: assay.FormatDay(day)}, skip}
		q.LinkNext(v.next)
		return
	}
	v.continueAt(q, assay.FormatDay(day), skip)
}

// respond serves the picked rows in an envelope that begins with head.
func (v *tokenView) respond(kind string, head []byte, modified int64) web.Response {
	head = v.appendCounts(head)
	begins := strconv.AppendBool(append(strconv.AppendInt(nil, int64(v.i), 36), '.'), v.desc)
	begins = strconv.AppendBool(append(begins, '.'), v.filter.free)
	lab, family := []byte(v.filter.lab), []byte(v.filter.family)
	version := web.NewVersion(modified, []byte(kind), head, []byte(v.rows.digest), begins, lab, family)
	var response web.Response
	if v.every() && !v.desc {
		response = web.Piece(version, head, v.rows.piece(v.i, v.j)).ShortLived()
	} else {
		view := *v // what the closure keeps
		response = web.Rows(version, head, v.count(), func(dst []byte, k int) []byte {
			at := view.position(view.at(k))
			return append(dst, view.rows.piece(at, at+1)...)
		}).ShortLived()
	}
	if v.whole() {
		return response.Cached(v.bodies)
	}
	return response
}

// whole reports whether nothing but a lab or a family was requested: there are few such responses, they are long, and
// they are requested again and again.
func (v *tokenView) whole() bool {
	return v.i == 0 && v.start == "" && v.end == "" && v.limit == 0 && !v.desc
}

// tokenForm is the form of the ranges of token prices and workload costs, which have one row a day and lab or family.
var tokenForm = historyForm{maxLimit: 100_000, oneGrain: true}

// settled is the last day that has ended at the requested moment.
func (q *query) settled() int64 { return assay.StartOfDay(q.moment) - assay.Day }

// lab reads the parameter lab; its name is empty when it is absent.
func (q *query) lab() (assay.Lab, error) {
	name, err := q.Param("lab")
	if err != nil || name == "" {
		return assay.Lab{}, err
	}
	names := make([]string, len(q.snap.Catalog.Labs))
	for i, lab := range q.snap.Catalog.Labs {
		if lab.Lab == name {
			return lab, nil
		}
		names[i] = lab.Lab
	}
	return assay.Lab{}, web.InvalidWord("lab", name, names)
}

// appendTokenHead begins an envelope.
func appendTokenHead(grant access.Decision) []byte {
	head := appendStringField(make([]byte, 0, 384), `{"success":true,"access":`, string(grant.Access))
	return append(head, `,"granularity":"daily"`...)
}

// appendRange appends the range as it was given.
func (v *tokenView) appendRange(head []byte) []byte {
	return appendGivenField(appendGivenField(head, `,"startDate":`, v.start), `,"endDate":`, v.end)
}

// bounds are the first and the last day that the caller gets of what it requests: days that have ended.
func (q *query) bounds(ask access.Ask, grant access.Decision, to int64) (first, last int64) {
	first = grant.From
	if ask.HasStart {
		first = assay.StartOfDay(ask.Start) // not before the window: that was refused
	}
	return first, min(to, q.settled())
}

// otpi serves the price of the labs' tokens: of a day, of a range, or of the latest settled day.
func otpi(q query) (web.Response, error) {
	lab, err := q.lab()
	if err != nil {
		return web.Response{}, err
	}
	h := history{form: tokenForm}
	day, ask, to, err := q.dayOrRange(&h)
	if err != nil {
		return web.Response{}, err
	}
	offset, err := q.tokenOffset()
	if err != nil {
		return web.Response{}, err
	}
	if !lab.Free {
		ask.Paid = lab.Lab
	}
	grant, err := q.decide(ask)
	if err != nil {
		return web.Response{}, err
	}
	filter := tokenFilter{lab: lab.Lab, free: lab.Lab == "" && q.Caller().Tier == assay.Anonymous}
	prices, err := priceModels.of(&q)
	if err != nil {
		return web.Response{}, err
	}
	view := q.tokenView(h, prices, filter)
	first, last := q.bounds(ask, grant, to)
	single := h.start == "" && h.end == ""
	if single && !day.given {
		last = view.latest(last)
		first = max(first, last) // beyond it when even the latest lies before the window
	}
	view.between(&q, first, last, offset)
	head := appendTokenHead(grant)
	switch {
	case !single:
		head = view.appendRange(head)
	case view.i == view.j:
		return web.Response{}, noTokenPrice(lab, &day)
	default:
		head = appendDayField(head, `,"date":`, first)
	}
	return view.respond("otpi", head, priceModels.changed(&q)), nil
}

// dayOrRange reads a day or a range, order, limit and as_of; to is the last requested instant.
func (q *query) dayOrRange(h *history) (day dayAsk, ask access.Ask, to int64, err error) {
	if day, err = q.dayAsk(); err != nil {
		return day, ask, 0, err
	}
	if ask, to, err = h.parse(q); err != nil {
		return day, ask, 0, err
	}
	if day.given {
		if ask.HasStart || ask.HasEnd {
			text, _ := q.Param("date") // read before
			return day, ask, 0, web.Invalid("date", text, "absent when startDate or endDate is given")
		}
		ask, to = day.Ask, day.day
	}
	return day, ask, to, q.readAsOf(&ask)
}

// tokenOffset is how many rows to leave out at the beginning, because an earlier page had them.
func (q *query) tokenOffset() (int, error) { return q.Int("offset", 0, 0, tokenForm.maxLimit) }

// latest is the newest day up to the given one that has a row.
func (v *tokenView) latest(last int64) int64 {
	n := v.before(last + 1)
	if n == 0 {
		return math.MinInt64
	}
	return v.rows.days[v.position(n-1)]
}

func noTokenPrice(lab assay.Lab, day *dayAsk) error {
	message := "No token price found for "
	if lab.Lab == "" {
		message += "any lab"
	} else {
		message += lab.Lab
	}
	if day.given {
		message += " on " + assay.FormatDay(day.day)
	}
	return noData(message)
}

// workload serves what a request to the labs' models costs, and why that changed.
func workload(q query) (web.Response, error) {
	lab, err := q.lab()
	if err != nil {
		return web.Response{}, err
	}
	h := history{form: tokenForm}
	ask, to, err := h.parse(&q)
	if err != nil {
		return web.Response{}, err
	}
	if err := q.readAsOf(&ask); err != nil {
		return web.Response{}, err
	}
	offset, err := q.tokenOffset()
	if err != nil {
		return web.Response{}, err
	}
	modelFamily, err := q.Param("family")
	if err != nil {
		return web.Response{}, err
	}
	models, kind := costModels, "workload"
	window, err := q.OneOf("windowDays", "", "7", "1")
	if err != nil {
		return web.Response{}, err
	}
	if window == "1" {
		models, kind = dailyCostModels, "workload of days"
	}
	costs, err := models.of(&q)
	if err != nil {
		return web.Response{}, err
	}
	if names := costs.families[lab.Lab]; modelFamily != "" && !slices.Contains(names, modelFamily) {
		return web.Response{}, web.InvalidWord("family", modelFamily, names)
	}
	grant, err := q.decide(ask)
	if err != nil {
		return web.Response{}, err
	}
	view := q.tokenView(h, costs.dayRows, tokenFilter{lab: lab.Lab, family: modelFamily})
	first, last := q.bounds(ask, grant, to)
	view.between(&q, first, last, offset)
	head := appendGivenField(appendTokenHead(grant), `,"lab":`, lab.Lab)
	head = view.appendRange(appendGivenField(head, `,"family":`, modelFamily))
	if window != "" {
		head = append(append(head, `,"windowDays":`...), window...)
	}
	return view.respond(kind, head, models.changed(&q)), nil
}
