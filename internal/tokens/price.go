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

	// Of the models whose dollars are split:
	Split                 assay.Nanos // their share in the dollars; 0 without any
	Input, Cached, Output Optional    // USD per million tokens
	Mix                   Optional    // of the methodology's reference mix of these
}

// Optional is a number, if there is one.
type Optional struct {
	Value assay.Nanos
	OK    bool
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
	var parts splitParts
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
		parts.add(&r.ModelDay)
	}
	if models < m.OTPIModels || requests < int64(m.OTPIRequests) || tokens.Sign() == 0 {
		return p, false
	}
	unit := assay.Unit(m.Decimals)
	parts.set(&p, dollars, m)
	dollars.Mul(dollars, big.NewInt(million))
	tokens.Mul(tokens, big.NewInt(int64(unit)))
	p.Value = assay.Nanos(assay.DivideHalfEven(dollars, tokens)) * unit
	return p, true
}

// splitParts sums up tokens and what they cost.
type splitParts struct{ input, cached, output part }

type part struct{ dollars, tokens big.Int }

func (p *part) add(dollars assay.Nanos, tokens int64) {
	p.dollars.Add(&p.dollars, big.NewInt(int64(dollars)))
	p.tokens.Add(&p.tokens, big.NewInt(tokens))
}

func (s *splitParts) add(m *assay.ModelDay) {
	if !m.Split {
		return
	}
	s.input.add(m.InputDollars, m.InputTokens-m.CachedTokens)
	s.cached.add(m.CachedDollars, m.CachedTokens)
	s.output.add(m.OutputDollars, m.OutputTokens)
}

// set sets the prices of the parts.
func (s *splitParts) set(p *Price, dollars *big.Int, m index.Methodology) {
	split := new(big.Int)
	for _, one := range []*part{&s.input, &s.cached, &s.output} {
		split.Add(split, &one.dollars)
	}
	if split.Sign() == 0 {
		return
	}
	const millionths = 1000 // billionths
	split.Mul(split, big.NewInt(million))
	p.Split = millionths * assay.Nanos(assay.DivideHalfEven(split, new(big.Int).Set(dollars)))
	input, cached, output := s.input.price(), s.cached.price(), s.output.price()
	p.Input, p.Cached, p.Output = rounded(input, m), rounded(cached, m), rounded(output, m)
	if m.TokenMix == (index.TokenMix{}) || input == nil || output == nil {
		return
	}
	if cached == nil {
		cached = input // no cache had anything: what it would have cost is what input cost
	}
	mix := new(big.Rat)
	for _, one := range []struct {
		price *big.Rat
		share int
	}{{input, m.TokenMix.Input}, {cached, m.TokenMix.Cached}, {output, m.TokenMix.Output}} {
		mix.Add(mix, new(big.Rat).Mul(one.price, big.NewRat(int64(one.share), 10_000)))
	}
	p.Mix = rounded(mix, m)
}

// price is billionths of a dollar per million tokens; nil without tokens.
func (p *part) price() *big.Rat {
	if p.tokens.Sign() == 0 {
		return nil
	}
	price := new(big.Rat).SetFrac(&p.dollars, &p.tokens)
	return price.Mul(price, big.NewRat(million, 1))
}

func rounded(price *big.Rat, m index.Methodology) Optional {
	if price == nil {
		return Optional{}
	}
	unit := assay.Unit(m.Decimals)
	units := new(big.Int).Mul(price.Denom(), big.NewInt(int64(unit)))
	return Optional{assay.Nanos(assay.DivideHalfEven(new(big.Int).Set(price.Num()), units)) * unit, true}
}
