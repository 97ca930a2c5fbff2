package api

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/tokens"
	"github.com/assaydata/assay/internal/utilization"
	"github.com/assaydata/assay/internal/web"
)

// valueRow is a row that a route of a family serves.
type valueRow struct {
	route string
	order string // within the route: the day first
	day   int64
	text  []byte
	bare  string // the text without what may change while no value does
}

// familyValues makes the rows of a family's routes at a moment, at least those that a restatement may have changed.
type familyValues func(a *API, snap *snapshot.Snapshot, moment int64, r *assay.Restatement) []valueRow

// correctedFamilies are the families whose restated values are listed.
var correctedFamilies = map[string]familyValues{
	assay.FamilyMemory.String(): memoryValues,
	assay.FamilyModels.String(): modelValues,
	assay.FamilyCoding.String(): codingValues,

	assay.FamilyUtilization.String(): utilizationValues,
}

// correctedFamilyNames are their names in the order of the documentation.
var correctedFamilyNames = []string{
	assay.FamilyMemory.String(), assay.FamilyModels.String(), assay.FamilyCoding.String(),
	assay.FamilyUtilization.String(),
}

func modelValues(a *API, snap *snapshot.Snapshot, moment int64, _ *assay.Restatement) (rows []valueRow) {
	known := tokens.Family.In(&snap.Observations).Known(moment, a.settlement(snap, assay.FamilyModels))
	schedule := a.schedule(snap)
	for _, p := range tokens.Prices(known, snap.Catalog.Labs, schedule) {
		bare := p
		bare.Computed = 0
		rows = append(rows, valueRow{
			"/api/otpi", assay.FormatDay(p.Day) + " " + p.Lab, p.Day, appendTokenPrice(nil, &p),
			string(appendTokenPrice(nil, &bare)),
		})
	}
	rows = appendCosts(rows, "/api/workload", a.costs.Costs(known, snap.Catalog.Labs, schedule))
	return appendCosts(rows, "/api/workload?windowDays=1", a.costs.DailyCosts(known, snap.Catalog.Labs, schedule))
}

func appendCosts(rows []valueRow, route string, costs []tokens.Cost) []valueRow {
	for _, c := range costs {
		bare := c
		bare.Computed = 0
		rows = append(rows, valueRow{
			route, assay.FormatDay(c.Day) + " " + c.Lab + " " + c.Family, c.Day, appendCost(nil, &c),
			string(appendCost(nil, &bare)),
		})
	}
	return rows
}

func memoryValues(a *API, snap *snapshot.Snapshot, moment int64, _ *assay.Restatement) (rows []valueRow) {
	known := memory.Family.In(&snap.Observations).Known(moment, a.settlement(snap, assay.FamilyMemory))
	series := memory.Build(known, a.schedule(snap))
	for _, m := range sortedMemory(snap.Catalog.MemoryTypes) {
		middle := appendMemoryMiddle(nil, m)
		for i := range series[m.ID] {
			p := &series[m.ID][i]
			text := appendMemoryRow(nil, middle, p)
			rows = append(rows, valueRow{"/api/memory/" + m.ID + "/history", assay.FormatDay(p.At), p.At, text, string(text)})
		}
	}
	return rows
}

func codingValues(a *API, snap *snapshot.Snapshot, moment int64, _ *assay.Restatement) (rows []valueRow) {
	known := coding.Family.In(&snap.Observations).Known(moment, a.settlement(snap, assay.FamilyCoding))
	series := coding.Build(known, snap.Catalog.CodingProducts)
	for _, product := range snap.Catalog.CodingProducts {
		for i := range series[product.ID] {
			v := &series[product.ID][i]
			text := appendCodingRow(nil, v, product.Compare, moment)
			rows = append(rows, valueRow{
				"/api/llm-coding/history?product=" + product.ID, assay.FormatDay(v.Day), v.Day, text, string(text),
			})
		}
	}
	return rows
}

// utilizationValues makes the rows of the time that the restated readings count in.
func utilizationValues(a *API, snap *snapshot.Snapshot, moment int64, r *assay.Restatement) (rows []valueRow) {
	carry := utilization.CarryBy(a.schedule(snap))
	from, to, readings := snap.Utilization.Affected(r.At)
	if readings == 0 {
		return nil
	}
	from, to = assay.StartOfDay(from), assay.StartOfDay(to)+assay.Day-1
	for _, gpu := range snap.GPUsByName {
		for _, region := range append([]string{assay.Global}, snap.Catalog.Regions...) {
			route := "/api/gpu/" + url.PathEscape(gpu.Name) + "/volume-metrics?region=" + url.QueryEscape(region)
			line := assay.Line{GPU: gpu.Name, Region: region}
			capacities := slices.Collect(snap.Utilization.Capacities(line, from, to, moment, carry))
			rows = appendPeriods(rows, route, capacities, assay.Day, moment)
			rows = appendPeriods(rows, route+"&granularity=hourly", capacities, assay.Hour, moment)
		}
	}
	return rows
}

func appendPeriods(
	rows []valueRow, route string, capacities []utilization.Capacity, step, moment int64,
) []valueRow {
	for _, p := range utilization.Periods(slices.Values(capacities), step) {
		text := appendShare(nil, &shareRow{p, moment < p.Begins+step})
		rows = append(rows, valueRow{route, assay.FormatInstant(p.Begins), assay.StartOfDay(p.Begins), text, string(text)})
	}
	return rows
}

// familyCorrection is a row that a restatement has changed.
type familyCorrection struct {
	route             string
	order             string
	day               int64
	previous, current []byte // nil if there is none
}

// difference is what has changed from some rows to others, in the order of routes and days.
func difference(before, after []valueRow) (changed []familyCorrection) {
	type name struct{ route, order string }
	earlier := make(map[name]*valueRow, len(before))
	for i := range before {
		earlier[name{before[i].route, before[i].order}] = &before[i]
	}
	for i := range after {
		row := &after[i]
		n := name{row.route, row.order}
		was := earlier[n]
		delete(earlier, n)
		switch {
		case was == nil:
			changed = append(changed, familyCorrection{row.route, row.order, row.day, nil, row.text})
		case was.bare != row.bare:
			changed = append(changed, familyCorrection{row.route, row.order, row.day, was.text, row.text})
		}
	}
	for n, was := range earlier {
		changed = append(changed, familyCorrection{n.route, n.order, was.day, was.text, nil})
	}
	slices.SortFunc(changed, func(a, b familyCorrection) int {
		return strings.Compare(a.route+"\x00"+a.order, b.route+"\x00"+b.order)
	})
	return changed
}

// restated is what a restatement of a family has changed.
func (q *query) restated(r assay.Restatement) ([]familyCorrection, error) {
	// Nothing else changes in the millisecond of a restatement, except its own rows.
	key := pastKey{"corrections of " + r.Family.String(), r.At, q.snap.CatalogVersion, keyOfSchedule(q.snap)}
	observations := func() int {
		if r.Family == assay.FamilyUtilization {
			_, _, readings := q.snap.Utilization.Affected(r.At)
			return readings
		}
		return 2 * q.snap.Observations[r.Family].Count(r.At)
	}
	past, err := q.pastModel(key, observations, func() pastModel {
		values := correctedFamilies[r.Family.String()]
		changed := difference(values(q.api, q.snap, r.At-1, &r), values(q.api, q.snap, r.At, &r))
		size := 0
		for i := range changed {
			size += len(changed[i].previous) + len(changed[i].current) + sizeOf[familyCorrection](1)
		}
		return pastModel{changed, size}
	})
	if err != nil {
		return nil, err
	}
	return past.model.([]familyCorrection), nil
}

// familyBookmark is where a reader of a family's corrections has stopped.
type familyBookmark struct {
	family      string
	restatement int64
	position    int // how many of its corrections were read
}

func (b familyBookmark) cursor() string {
	text := fmt.Appendf(nil, "%s\x00%s\x00%s", b.family, strconv.FormatInt(b.restatement, 36), strconv.Itoa(b.position))
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(text, checksum(text)))
}

func parseFamilyCursor(s, family string) (b familyBookmark, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(text) < 4 {
		return b, false
	}
	fields := strings.Split(string(text[:len(text)-4]), "\x00")
	if len(fields) != 3 || fields[0] != family {
		return b, false
	}
	b.family = family
	var errs [2]error
	b.restatement, errs[0] = strconv.ParseInt(fields[1], 36, 64)
	b.position, errs[1] = strconv.Atoi(fields[2])
	return b, errs == [2]error{} && b.restatement >= 0 && b.position >= 0 && b.cursor() == s
}

// familyCorrections serves the values of a family that restatements changed, in the order in which that happened.
func familyCorrections(q query) (web.Response, error) {
	family := q.PathValue("family")
	if !slices.Contains(correctedFamilyNames, family) {
		return web.Response{}, web.InvalidWord("family", family, correctedFamilyNames)
	}
	since, limit, err := q.familyCorrectionsAsk(family)
	if err != nil {
		return web.Response{}, err
	}
	grant, err := q.decide(access.Ask{})
	if err != nil {
		return web.Response{}, err
	}
	rows, next, more, err := q.pickFamilyCorrections(since, limit)
	if err != nil {
		return web.Response{}, err
	}
	head := appendStringField(make([]byte, 0, 256), `{"success":true,"access":`, string(grant.Access))
	head = appendIntField(head, `,"count":`, len(rows))
	head = appendBoolField(head, `,"has_more":`, more)
	head = appendStringField(head, `,"next":`, next.cursor())
	if more {
		q.LinkNext([]web.Change{{Param: "since", Value: next.cursor()}})
	}
	version := web.NewVersion(0, []byte("corrections"), head, []byte(since.cursor()))
	return web.Rows(version, append(head, `,"data":[`...), len(rows), func(dst []byte, k int) []byte {
		return rows[k].append(dst)
	}).ShortLived(), nil
}

func (q *query) familyCorrectionsAsk(family string) (since familyBookmark, limit int, err error) {
	since.family = family
	text, err := q.Param("since")
	if err != nil {
		return since, 0, err
	}
	if text != "" {
		var ok bool
		if since, ok = parseFamilyCursor(text, family); !ok {
			return since, 0, web.Invalid("since", text, "the value of next in an earlier response for this family")
		}
	}
	limit, err = q.Int("limit", 1000, 1, 10_000)
	return since, limit, err
}

// restatedRow is a correction with the restatement that made it.
type restatedRow struct {
	*familyCorrection
	of *assay.Restatement
}

func (r restatedRow) append(dst []byte) []byte {
	dst = appendStringField(dst, `{"family":`, r.of.Family.String())
	dst = appendStringField(dst, `,"route":`, r.route)
	dst = appendDayField(dst, `,"date":`, r.day)
	dst = appendRowField(dst, `,"previous":`, r.previous)
	dst = appendRowField(dst, `,"current":`, r.current)
	dst = appendInstantField(dst, `,"corrected_at":`, r.of.At)
	return append(appendStringField(dst, `,"reason":`, r.of.Reason), '}')
}

func appendRowField(dst []byte, field string, row []byte) []byte {
	if dst = append(dst, field...); row == nil {
		return append(dst, "null"...)
	}
	return append(dst, row...)
}

// pickFamilyCorrections returns the corrections after a bookmark, where the next page begins, and whether it has any.
func (q *query) pickFamilyCorrections(
	since familyBookmark, limit int,
) (rows []restatedRow, next familyBookmark, more bool, err error) {
	next = since
	for i := range q.snap.Restatements {
		r := &q.snap.Restatements[i]
		if r.Family.String() != since.family || r.Number < since.restatement {
			continue
		}
		changed, err := q.restated(*r)
		if err != nil {
			return nil, next, false, err
		}
		position := 0
		if r.Number == since.restatement {
			position = min(since.position, len(changed))
		}
		for ; position < len(changed); position++ {
			if len(rows) == limit {
				return rows, next, true, nil
			}
			rows = append(rows, restatedRow{&changed[position], r})
			next.restatement, next.position = r.Number, position+1
		}
	}
	return rows, next, false, nil
}
