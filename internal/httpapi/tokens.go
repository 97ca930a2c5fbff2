package httpapi

import (
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/tokens"
)

// tokenModel is what the observations of models give, as text that is ready to be sent.
type tokenModel struct {
	prices, costs *dayRows
	families      map[string][]string // by lab, and of all labs under ""; AllModels first, then by name
	kept          kept
}

// tokenFilter says which rows are asked for. Its zero value asks for all.
type tokenFilter struct {
	lab, family string
	free        bool // of the free labs
}

// tokenModelOf gives the model of what was known at a moment.
func (s *Server) tokenModelOf(snap *snapshot.Snapshot, moment int64) *tokenModel {
	return family.Model(tokens.Family.In(&snap.Observations), moment, func(known []assay.Observed[assay.ModelDay]) *tokenModel {
		return newTokenModel(known, snap.Catalog.Labs, *s.schedule.Load())
	})
}

func newTokenModel(known []assay.Observed[assay.ModelDay], labs []assay.Lab, schedule index.Schedule) *tokenModel {
	m := &tokenModel{prices: newDayRows(), costs: newDayRows(), families: map[string][]string{"": {tokens.AllModels}}}
	free := map[string]bool{}
	for _, lab := range labs {
		free[lab.Lab] = lab.Free
		m.families[lab.Lab] = []string{tokens.AllModels}
	}
	for _, p := range tokens.Prices(known, labs, schedule) {
		filters := []tokenFilter{{lab: p.Lab}}
		if free[p.Lab] {
			filters = append(filters, tokenFilter{free: true})
		}
		m.prices.text = appendTokenPrice(m.prices.begin(p.Day, filters...), &p)
		m.prices.end()
	}
	for _, c := range tokens.Costs(known, labs) {
		m.costs.text = appendCost(m.costs.begin(c.Day, tokenFilter{lab: c.Lab}, tokenFilter{family: c.Family}, tokenFilter{lab: c.Lab, family: c.Family}), &c)
		m.costs.end()
		m.addFamily("", c.Family)
		m.addFamily(c.Lab, c.Family)
	}
	m.prices.digest, m.costs.digest = hash(m.prices.text), hash(m.costs.text)
	return m
}

func (m *tokenModel) addFamily(lab, family string) {
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
	dst = assay.AppendString(append(dst, `,"lab":`...), p.Lab)
	dst = p.Value.AppendJSON(append(dst, `,"indexPerMtok":`...))
	return append(appendInstantField(dst, `,"computedAt":`, p.Computed), '}')
}

func appendCost(dst []byte, c *tokens.Cost) []byte {
	dst = appendDayField(dst, `{"date":`, c.Day)
	dst = assay.AppendString(append(dst, `,"lab":`...), c.Lab)
	dst = assay.AppendString(append(dst, `,"family":`...), c.Family)
	dst = c.Cents.AppendJSON(append(dst, `,"cCents":`...))
	dst = c.Index.AppendJSON(append(dst, `,"lfl":`...))
	dst = c.Ktok.AppendJSON(append(dst, `,"qKtok":`...))
	dst = c.Price.AppendJSON(append(dst, `,"priceEffect":`...))
	dst = c.Intensity.AppendJSON(append(dst, `,"intensityEffect":`...))
	dst = c.Mix.AppendJSON(append(dst, `,"mixEffect":`...))
	return append(appendInstantField(dst, `,"computedAt":`, c.Computed), '}')
}

// appendDayField appends a member whose value is a day.
func appendDayField(dst []byte, member string, day int64) []byte {
	return append(assay.AppendDay(append(append(dst, member...), '"'), day), '"')
}

// dayRows are rows of calendar days, oldest first, as one text. Any stretch of them can be sent as it lies; of the rows
// that pass a filter the places are known.
type dayRows struct {
	days   []int64
	text   []byte // commas between the rows
	ends   []int  // of each row, in text
	picked map[tokenFilter][]int32
	digest string
}

func newDayRows() *dayRows { return &dayRows{picked: map[tokenFilter][]int32{}} }

// begin notes the next row, which passes the filters, and gives the text to append it to.
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

// end notes where the row ends that has been appended.
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

// tokenView is the rows that pass a filter, and which of them are answered.
type tokenView struct {
	history
	rows   *dayRows
	kept   *kept
	filter tokenFilter
	picked []int32 // unless the filter asks for all
}

func newTokenView(h history, rows *dayRows, kept *kept, filter tokenFilter) tokenView {
	return tokenView{history: h, rows: rows, kept: kept, filter: filter, picked: rows.picked[filter]}
}

func (v *tokenView) every() bool { return v.filter == tokenFilter{} }

func (v *tokenView) len() int {
	if v.every() {
		return len(v.rows.days)
	}
	return len(v.picked)
}

// place is where the k-th row of the view lies.
func (v *tokenView) place(k int) int {
	if v.every() {
		return k
	}
	return int(v.picked[k])
}

// before is how many rows have a day before the given one.
func (v *tokenView) before(day int64) int {
	return sort.Search(v.len(), func(k int) bool { return v.rows.days[v.place(k)] >= day })
}

// between picks the rows of the days in [from, to].
func (v *tokenView) between(from, to int64) {
	v.i = v.before(from)
	v.j = max(v.i, v.before(to+1))
	v.cut()
}

// answer answers the picked rows behind an envelope that begins with head.
func (v *tokenView) answer(kind string, head []byte, modified int64) answer {
	head = strconv.AppendInt(append(head, `,"count":`...), int64(v.j-v.i), 10)
	head = strconv.AppendBool(append(head, `,"has_more":`...), v.j-v.i < v.found)
	head = append(head, `,"data":[`...)
	place := strconv.AppendBool(append(strconv.AppendInt(nil, int64(v.i), 36), '.'), v.desc)
	place = strconv.AppendBool(append(place, '.'), v.filter.free)
	a := answer{
		head: head, count: v.j - v.i, modified: modified, brief: true,
		tag: hash([]byte(kind), head, []byte(v.rows.digest), place, []byte(v.filter.lab), []byte(v.filter.family)),
	}
	if v.every() && !v.desc {
		a.rows = v.rows.piece(v.i, v.j)
	} else {
		rows := *v // what the closure keeps
		a.row = func(dst []byte, k int) []byte {
			place := rows.place(rows.at(k))
			return append(dst, rows.rows.piece(place, place+1)...)
		}
	}
	if v.whole() {
		return v.kept.rows(a)
	}
	return a
}

// whole tells that nothing but a lab or a family was asked for: there are few such answers, they are long, and they are
// asked again and again.
func (v *tokenView) whole() bool {
	return v.i == 0 && v.start == "" && v.end == "" && v.limit == 0 && !v.desc
}

// tokenForm is the form of the ranges of token prices and workload costs, which have one row a day and lab or family.
var tokenForm = historyForm{maxLimit: 100_000, oneGrain: true}

// settled is the last day that has ended at the moment asked for.
func (c *call) settled() int64 { return assay.StartOfDay(c.moment) - assay.Day }

// lab reads the parameter lab; its name is empty when it is absent.
func (c *call) lab() (assay.Lab, error) {
	name, err := c.param("lab")
	if err != nil || name == "" {
		return assay.Lab{}, err
	}
	names := make([]string, len(c.snap.Catalog.Labs))
	for i, lab := range c.snap.Catalog.Labs {
		if lab.Lab == name {
			return lab, nil
		}
		names[i] = lab.Lab
	}
	return assay.Lab{}, invalid("lab", name, oneOfNames(names))
}

// appendTokenHead begins an envelope.
func appendTokenHead(grant access.Grant) []byte {
	head := assay.AppendString(append(make([]byte, 0, 384), `{"success":true,"access":`...), string(grant.Access))
	return append(head, `,"granularity":"daily"`...)
}

// appendGiven appends a parameter as it was asked, or null when it was not.
func appendGiven(dst []byte, member, value string) []byte {
	dst = append(dst, member...)
	if value == "" {
		return append(dst, "null"...)
	}
	return assay.AppendString(dst, value)
}

// appendRange appends the range as it was asked.
func (v *tokenView) appendRange(head []byte) []byte {
	return appendGiven(appendGiven(head, `,"startDate":`, v.start), `,"endDate":`, v.end)
}

// bounds are the first and the last day that the caller gets of what it asks for, whole days that have ended.
func (c *call) bounds(ask access.Ask, grant access.Grant, to int64) (first, last int64) {
	first = grant.From
	if ask.HasStart {
		first = assay.StartOfDay(ask.Start) // not before the window: that was refused
	}
	return first, min(to, c.settled())
}

// otpi answers the price of the labs' tokens: of a day, of a range, or of the latest settled day.
func otpi(c *call) (answer, error) {
	lab, err := c.lab()
	if err != nil {
		return answer{}, err
	}
	h := history{form: tokenForm}
	day, ask, to, err := c.dayOrRange(&h)
	if err != nil {
		return answer{}, err
	}
	ask.PaidLab = lab.Lab != "" && !lab.Free
	grant, err := c.decide(ask)
	if err != nil {
		return answer{}, err
	}
	filter := tokenFilter{lab: lab.Lab, free: lab.Lab == "" && c.caller.Tier == assay.Anonymous}
	model := c.s.tokenModelOf(c.snap, c.known())
	view := newTokenView(h, model.prices, c.keptIn(&model.kept), filter)
	first, last := c.bounds(ask, grant, to)
	single := h.start == "" && h.end == ""
	if single && !day.given {
		last = view.latest(last)
		first = max(first, last) // beyond it when even the latest lies before the window
	}
	view.between(first, last)
	head := appendTokenHead(grant)
	switch {
	case !single:
		head = view.appendRange(head)
	case view.i == view.j:
		return answer{}, noTokenPrice(lab, &day)
	default:
		head = appendDayField(head, `,"date":`, first)
	}
	return view.answer("otpi", head, tokens.Family.In(&c.snap.Observations).Received(c.known())), nil
}

// dayOrRange reads a day or a range, order, limit and as_of; to is the last instant asked for.
func (c *call) dayOrRange(h *history) (day dayAsk, ask access.Ask, to int64, err error) {
	if day, err = c.dayAsk(); err != nil {
		return day, ask, 0, err
	}
	if ask, to, err = h.parse(c); err != nil {
		return day, ask, 0, err
	}
	if day.given {
		if ask.HasStart || ask.HasEnd {
			text, _ := c.param("date") // read before
			return day, ask, 0, invalid("date", text, "none together with startDate or endDate")
		}
		ask, to = day.Ask, day.day
	}
	return day, ask, to, c.askAsOf(&ask)
}

// latest is the newest day up to the given one that has a row.
func (v *tokenView) latest(last int64) int64 {
	n := v.before(last + 1)
	if n == 0 {
		return math.MinInt64
	}
	return v.rows.days[v.place(n-1)]
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
	return &assay.Error{Kind: assay.NoData, Code: "no_data", Message: message}
}

// workload answers what a request to the labs' models costs, and why that changed.
func workload(c *call) (answer, error) {
	lab, err := c.lab()
	if err != nil {
		return answer{}, err
	}
	h := history{form: tokenForm}
	ask, to, err := h.parse(c)
	if err != nil {
		return answer{}, err
	}
	if err := c.askAsOf(&ask); err != nil {
		return answer{}, err
	}
	model := c.s.tokenModelOf(c.snap, c.known())
	family, err := c.param("family")
	if err != nil {
		return answer{}, err
	}
	if names := model.families[lab.Lab]; family != "" && !slices.Contains(names, family) {
		return answer{}, invalid("family", family, oneOfNames(names))
	}
	grant, err := c.decide(ask)
	if err != nil {
		return answer{}, err
	}
	view := newTokenView(h, model.costs, c.keptIn(&model.kept), tokenFilter{lab: lab.Lab, family: family})
	view.between(c.bounds(ask, grant, to))
	head := appendGiven(appendTokenHead(grant), `,"lab":`, lab.Lab)
	head = view.appendRange(appendGiven(head, `,"family":`, family))
	return view.answer("workload", head, tokens.Family.In(&c.snap.Observations).Received(c.known())), nil
}
