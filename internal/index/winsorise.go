package index

import (
	"cmp"
	"slices"
)

// winsorise draws the prices beyond two percentiles to the percentiles, and says how many it moved. A percentile is
// weighted by GPU-hours: it is the lowest price at and below which at least that share of the weight lies. It puts
// the transactions into the order of price.
func winsorise(transactions []counted, m Methodology) (moved int) {
	slices.SortFunc(transactions, func(a, b counted) int { return cmp.Compare(a.price, b.price) })
	var total uint128
	for i := range transactions {
		total.add(uint128{lo: transactions[i].weight})
	}
	low, high := percentile(transactions, m.WinsoriseLower, total), percentile(transactions, m.WinsoriseUpper, total)
	lowest, highest := transactions[low].price, transactions[high].price
	for i := range transactions {
		t := &transactions[i]
		if price := min(max(t.price, lowest), highest); price != t.price {
			t.price = price
			moved++
		}
	}
	return moved
}

// percentile is the position at which the weight from the lowest price on reaches the share.
func percentile(transactions []counted, share int, total uint128) int {
	var reached uint128
	wanted := total.times(uint64(share))
	for i := range transactions {
		reached.add(uint128{lo: transactions[i].weight})
		if !reached.times(whole).less(wanted) {
			return i
		}
	}
	return len(transactions) - 1
}
