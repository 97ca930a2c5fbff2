// Package tokens makes two things of what was asked of the labs' models, day by day, and what it cost.
//
// OTPI is the price of a lab's tokens: dollars per million tokens, input and output together, over all its models that
// are paid for. It is exact and rounded once. A day that is covered too thinly has no price.
//
// The workload cost index asks why a request costs what it costs. Over the seven days that end with a day, a request
// costs the sum over the models of
//
//	share of the requests × thousand tokens a request × cents a thousand tokens
//
// and from one such window to the next the change is taken apart by logarithmic means (LMDI): what the prices did, what the
// length of the requests did, and what the mix of models did. The three add up to the change, to the last digit. The
// price effects, chained, are the like-for-like index: what the same requests to the same models would cost.
//
// Everything is a function of the observations, in whatever order they come. There is no clock here and no database.
package tokens

import (
	"cmp"
	"slices"

	"github.com/assaydata/assay"
)

// row is an observation with the place of its lab in the registry.
type row struct {
	assay.ModelDay
	lab      int
	received int64
}

// tokens are those of input and output together.
func (r *row) tokens() int64 { return r.InputTokens + r.OutputTokens }

// sorted gives the observations of the labs by day, then lab, then model. Those of a lab that is not in the registry are
// passed over.
func sorted(known []assay.Observed[assay.ModelDay], labs []assay.Lab) []row {
	places := make(map[string]int, len(labs))
	for i, lab := range labs {
		places[lab.Lab] = i
	}
	rows := make([]row, 0, len(known))
	for i := range known {
		if place, ok := places[known[i].Value.Lab]; ok {
			rows = append(rows, row{known[i].Value, place, known[i].Received})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.lab, b.lab), cmp.Compare(a.Model, b.Model))
	})
	return rows
}
