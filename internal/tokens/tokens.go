// Package tokens computes two indices from the daily requests to the labs' models and what they cost.
//
// OTPI is the price of a lab's tokens: dollars per million tokens, input and output together, over all its paid models.
// It is exact and rounded once. A day with too little coverage has no price.
//
// The workload cost index explains why a request costs what it costs. Over the seven days that end with a day, a
// request costs the sum over the models of
//
//	share of requests × thousand tokens per request × cents per thousand tokens
//
// The change from one such window to the next is decomposed by logarithmic means (LMDI) into a price effect, an
// intensity effect (length of requests) and a mix effect (choice of models). The three add up to the change, to the
// last digit. The like-for-like index is what the same requests to the same models would cost, by the method of the
// methodology.
//
// Everything is a pure function of the observations, in any order.
package tokens

import (
	"cmp"
	"slices"

	"github.com/assaydata/assay"
)

// row is an observation with its lab's position in the catalog.
type row struct {
	assay.ModelDay
	lab      int
	received int64
}

// tokens returns input and output tokens together.
func (r *row) tokens() int64 { return r.InputTokens + r.OutputTokens }

// sorted returns the observations ordered by day, lab and model. Observations of a lab that is not in the catalog are
// ignored.
func sorted(known []assay.Observed[assay.ModelDay], labs []assay.Lab) []row {
	positions := make(map[string]int, len(labs))
	for i, lab := range labs {
		positions[lab.Lab] = i
	}
	rows := make([]row, 0, len(known))
	for i := range known {
		if lab, ok := positions[known[i].Value.Lab]; ok {
			rows = append(rows, row{ModelDay: known[i].Value, lab: lab, received: known[i].Received})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.lab, b.lab), cmp.Compare(a.Model, b.Model))
	})
	return rows
}
