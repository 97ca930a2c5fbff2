package api

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/bulk"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/table"
	"github.com/assaydata/assay/internal/tokens"
	"github.com/assaydata/assay/internal/utilization"
)

// The columns of families: those of the routes that serve one series, with the names of the series in front.
var (
	bulkCodingColumns      = table.MustSchema("product text*", "date day", "value decimal", "value2 decimal?")
	bulkUtilizationColumns = table.MustSchema("gpu_type text*", "region text*", "recorded_at instant",
		"exact_timestamp instant", "utilization_ratio decimal")
	bulkMemoryColumns   = memoryHistoryColumns
	bulkTokenColumns    = tokenColumns
	bulkWorkloadColumns = workloadColumns
)

// bulkFamily is a dataset of the values of a family. What was known of it at an instant has to be computed again, for
// all months at once.
type bulkFamily struct {
	name   string
	family assay.Family
	rows   func(a *API, snap *snapshot.Snapshot, moment int64) []bulkRow
}

// bulkRow is a row of a family's dataset.
type bulkRow struct {
	series string
	at     int64
	text   []byte
}

var (
	bulkUtilization = &bulkFamily{"utilization", assay.FamilyUtilization, bulkUtilizationRows}
	bulkMemory      = &bulkFamily{"memory", assay.FamilyMemory, bulkMemoryRows}
	bulkPrices      = &bulkFamily{"token prices", assay.FamilyModels, bulkPriceRows}
	bulkCosts       = &bulkFamily{"workload costs", assay.FamilyModels, bulkCostRows((*tokens.Memory).Costs)}
	bulkDailyCosts  = &bulkFamily{"daily workload costs", assay.FamilyModels, bulkCostRows((*tokens.Memory).DailyCosts)}
	bulkCoding      = &bulkFamily{"coding", assay.FamilyCoding, bulkCodingRows}
)

// familyDelay is how long after its end a month of a family is complete: sources report days on the days after them.
const familyDelay = 3 * assay.Day

func (f *bulkFamily) key(a *API, snap *snapshot.Snapshot) bulkKey {
	return f.basis(a, snap, math.MaxInt64)
}

func (f *bulkFamily) basis(_ *API, snap *snapshot.Snapshot, knownAt int64) bulkKey {
	key := bulkKey{catalog: snap.CatalogVersion, schedule: keyOfSchedule(snap)}
	for i := range snap.Restatements {
		if r := &snap.Restatements[i]; r.Family == f.family && r.At <= knownAt {
			key.restated++
		}
	}
	if f.family != assay.FamilyUtilization {
		key.count = snap.Observations[f.family].Count(knownAt)
		return key
	}
	if knownAt == math.MaxInt64 {
		key.arrived = snap.Utilization.NewestArrival()
	}
	return key
}

func (f *bulkFamily) history(a *API, snap *snapshot.Snapshot) *bulk.History {
	restated := map[int64]bool{}
	for i := range snap.Restatements {
		if r := &snap.Restatements[i]; r.Family == f.family {
			restated[r.At] = true
		}
	}
	h := &bulk.History{Delay: familyDelay, Reaches: true}
	add := func(counts, at int64) { h.Add(at, at, counts, restated[counts]) }
	if f.family == assay.FamilyUtilization {
		snap.Utilization.EachCounting(add)
	} else {
		snap.Observations[f.family].EachCounting(a.settlement(snap, f.family), add)
	}
	return h
}

func (f *bulkFamily) complete(*snapshot.Snapshot, int64) bool { return true }

// write writes the rows of a month by series and day.
func (f *bulkFamily) write(a *API, snap *snapshot.Snapshot, moment int64, w *bulkWriter) error {
	key := bulkRowsKey{f.name, moment, f.basis(a, snap, moment)}
	rows := a.bulk.rows.Get(key, func() []bulkRow {
		rows := f.rows(a, snap, moment)
		slices.SortStableFunc(rows, func(a, b bulkRow) int {
			return cmp.Or(cmp.Compare(a.series, b.series), cmp.Compare(a.at, b.at))
		})
		return rows
	})
	from, to := w.month.Begins(), w.month.Ends()
	for len(rows) > 0 {
		n := sort.Search(len(rows), func(i int) bool { return rows[i].series > rows[0].series })
		for i := range rows[:n] {
			if row := &rows[i]; row.at >= from && row.at < to {
				if err := w.file.Row(row.text); err != nil {
					return err
				}
				w.count(row.at)
			}
		}
		rows = rows[n:]
	}
	return nil
}

func bulkPriceRows(a *API, snap *snapshot.Snapshot, moment int64) (rows []bulkRow) {
	known := tokens.Family.In(&snap.Observations).Known(moment, a.settlement(snap, assay.FamilyModels))
	for _, p := range tokens.Prices(known, snap.Catalog.Labs, a.schedule(snap)) {
		rows = append(rows, bulkRow{p.Lab, p.Day, appendTokenPrice(nil, &p)})
	}
	return rows
}

func bulkCostRows(costs costsOf) func(a *API, snap *snapshot.Snapshot, moment int64) []bulkRow {
	return func(a *API, snap *snapshot.Snapshot, moment int64) (rows []bulkRow) {
		known := tokens.Family.In(&snap.Observations).Known(moment, a.settlement(snap, assay.FamilyModels))
		for _, c := range costs(&a.costs, known, snap.Catalog.Labs, a.schedule(snap)) {
			rows = append(rows, bulkRow{c.Lab + "/" + c.Family, c.Day, appendCost(nil, &c)})
		}
		return rows
	}
}

func bulkMemoryRows(a *API, snap *snapshot.Snapshot, moment int64) (rows []bulkRow) {
	known := memory.Family.In(&snap.Observations).Known(moment, a.settlement(snap, assay.FamilyMemory))
	series := memory.Build(known, a.schedule(snap))
	for _, m := range snap.Catalog.MemoryTypes {
		middle := appendMemoryMiddle(nil, m)
		for i := range series[m.ID] {
			p := &series[m.ID][i]
			rows = append(rows, bulkRow{m.ID, p.At, appendMemoryRow(nil, middle, p)})
		}
	}
	return rows
}

func bulkCodingRows(a *API, snap *snapshot.Snapshot, moment int64) (rows []bulkRow) {
	known := coding.Family.In(&snap.Observations).Known(moment, a.settlement(snap, assay.FamilyCoding))
	series := coding.Build(known, snap.Catalog.CodingProducts)
	for _, product := range snap.Catalog.CodingProducts {
		for i := range series[product.ID] {
			v := &series[product.ID][i]
			text := appendStringField(nil, `{"product":`, product.ID)
			row := appendCodingRow(nil, v, product.Compare, math.MaxInt64) // days of months that are complete have ended
			rows = append(rows, bulkRow{product.ID, v.Day, appendMembers(text, row)})
		}
	}
	return rows
}

func bulkUtilizationRows(a *API, snap *snapshot.Snapshot, moment int64) (rows []bulkRow) {
	carry := utilization.CarryBy(a.schedule(snap))
	for _, line := range snap.Utilization.Names() {
		if snap.Line(line.GPU, line.Region) == nil {
			continue // not in the catalog
		}
		capacities := snap.Utilization.Capacities(line, 0, math.MaxInt64, moment, carry)
		for _, p := range utilization.Periods(capacities, assay.Day) {
			text := appendStringField(appendStringField(nil, `{"gpu_type":`, line.GPU), `,"region":`, line.Region)
			row := appendShare(nil, &shareRow{Period: p})
			rows = append(rows, bulkRow{line.GPU + "/" + line.Region, p.Begins, appendMembers(text, row)})
		}
	}
	return rows
}

// appendMembers appends the members of a row to those of another one, which has not ended.
func appendMembers(dst, row []byte) []byte { return append(append(dst, ','), row[1:]...) }
