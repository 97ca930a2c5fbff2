package tokens

import (
	"math/big"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

// Price is the token price of a lab on a day.
type Price struct {
	Day      int64
	Lab      string
	Value    assay.Nanos // USD per million tokens
	Computed int64       // when its newest observation was received
}

// million is the number of tokens that a price is for.
const million = 1_000_000

// Prices returns the prices of all days and labs, by day, then in the order of the catalog. A day follows the
// methodology in effect when it ends.
func Prices(known []assay.Observed[assay.ModelDay], labs []assay.Lab, schedule index.Schedule) (prices []Price) {
	rows := sorted(known, labs)
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Day == rows[0].Day && rows[n].lab == rows[0].lab {
			n++
		}
		if p, ok := price(rows[:n], schedule.At(rows[0].Day+assay.Day)); ok {
			prices = append(prices, p)
		}
		rows = rows[n:]
	}
	return prices
}

// price returns the price of one lab and day; ok is false if its rows do not cover the day well enough.
func price(rows []row, m index.Methodology) (p Price, ok bool) {
	p = Price{Day: rows[0].Day, Lab: rows[0].Lab}
	models, requests := 0, int64(0)
	dollars, tokens := new(big.Int), new(big.Int)
	for i := range rows {
		r := &rows[i]
		if r.Free {
			continue
		}
		models++
		requests += r.Requests
		dollars.Add(dollars, big.NewInt(int64(r.Dollars)))
		tokens.Add(tokens, big.NewInt(r.tokens()))
		p.Computed = max(p.Computed, r.received)
	}
	if models < m.OTPIModels || requests < int64(m.OTPIRequests) || tokens.Sign() == 0 {
		return p, false
	}
	unit := assay.Unit(m.Decimals)
	dollars.Mul(dollars, big.NewInt(million))
	tokens.Mul(tokens, big.NewInt(int64(unit)))
	p.Value = assay.Nanos(assay.DivideHalfEven(dollars, tokens)) * unit
	return p, true
}
