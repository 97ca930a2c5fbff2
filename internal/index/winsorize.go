package index

import (
	"cmp"
	"slices"
)

// winsorize moves the prices beyond two percentiles to the percentiles, and counts the moves. A percentile is
// weighted by GPU-hours: it is the lowest price at or below which at least that share of the weight lies. The
// transactions are sorted by price.
func winsorize(transactions []counted, m Methodology) (moved int) {
	slices.SortFunc(transactions, func(a, b counted) int { return cmp.Compare(a.price, b.price) })
	var total uint128
	for i := range transactions {
		total.add(uint128{lo: transactions[i].weight})
	}
	lowest := transactions[percentile(transactions, m.WinsorizeLower, total)].price
	highest := transactions[percentile(transactions, m.WinsorizeUpper, total)].price
	for i := range transactions {
		t := &transactions[i]
		if price := min(max(t.price, lowest), highest); price != t.price {
			t.price = price
			moved++
		}
	}
	return moved
}

// percentile is the position at which the weight, summed from the lowest price, reaches the share.
func percentile(transactions []counted, share int, total uint128) int {
	var reached uint128
	wanted := total.times(uint64(share))
	for i := range transactions {
		reached.add(uint128{lo: transactions[i].weight})
		if !reached.times(Whole).less(wanted) {
			return i
		}
	}
	return len(transactions) - 1
}
