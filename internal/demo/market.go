package demo

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
)

// Market invents the rentals of the demo. The rows of an hour depend on the seed and the hour alone, so a feed may stop
// anywhere and go on later, and two feeds agree. A Market does not change once made and may be shared.
//
// The rows are meant to stay the same for ever. Draws come from PCG and whole-number arithmetic; the price path is made
// of basic operations and square roots, which IEEE 754 rounds the same everywhere. A processor that fuses a
// multiplication with an addition may differ in the last bit, which the rounding to four decimals takes away.
type Market struct {
	seed     uint64
	models   []model
	byModel  weights
	regions  []region
	sellers  []seller
	bySeller weights
}

// Arrival is a transaction and the moment the feed delivers it.
type Arrival struct {
	assay.Transaction
	At int64 // ExecutedAt and some seconds; hours to days when it is late
}

// Late tells whether the feed delivers the row long after its hour was published.
func (a Arrival) Late() bool { return a.At-a.ExecutedAt >= assay.Hour }

// model is a GPU the market knows.
type model struct {
	name   string
	weight int64   // share of trades, in percent
	level  float64 // USD per GPU-hour at the start of 2026
	fall   float64 // how fast it gets cheaper: roughly the share lost a year
	salt   uint64  // of its own swings, by the seed
}

// The levels are plausible, not measured. From November 2024 to November 2026 the A100 loses about a quarter, the
// H100 a fifth, and the B200 comes down from six dollars.
var models = []model{
	{name: "H100 SXM", weight: 32, level: 2.30, fall: 0.123},
	{name: "H200", weight: 18, level: 2.90, fall: 0.087},
	{name: "A100 SXM4", weight: 17, level: 1.25, fall: 0.158},
	{name: "RTX 5090", weight: 14, level: 0.55, fall: 0.045},
	{name: "B200", weight: 12, level: 4.40, fall: 0.270},
	{name: "RTX PRO 6000 WS", weight: 7, level: 1.05, fall: 0.030},
}

// region is a place and how far its prices are from the market's, as a share.
type region struct {
	name   string
	offset float64
	salt   uint64 // of its sway, by the seed
}

var regions = []region{
	{name: "us-east", offset: 0},
	{name: "us-west", offset: 0.012},
	{name: "eu-west", offset: 0.022},
	{name: "eu-north", offset: -0.055},
	{name: "ap-east", offset: 0.060},
}

// regionSway is how far a region wanders from its offset, over weeks.
const regionSway = 0.015

// seller is a listing with its regions looked up.
type seller struct {
	name    string
	factor  float64
	regions []int // in Market.regions
}

// NewMarket makes the market of a seed. It trades the models and regions of the catalog that it has levels for.
func NewMarket(seed int64, catalog assay.Catalog) *Market {
	m := &Market{seed: mix(uint64(seed), 0)}
	for i, g := range models {
		if _, ok := catalog.GPU(g.name); ok {
			g.salt = mix(m.seed, 100+uint64(i))
			m.models = append(m.models, g)
			m.byModel = m.byModel.with(g.weight)
		}
	}
	for i, r := range regions {
		if catalog.HasRegion(r.name) {
			r.salt = mix(m.seed, 200+uint64(i))
			m.regions = append(m.regions, r)
		}
	}
	for place, l := range listings {
		if s := m.seller(l); len(s.regions) > 0 {
			m.sellers = append(m.sellers, s)
			m.bySeller = m.bySeller.with(listingWeight(place))
		}
	}
	return m
}

// seller looks up the regions of a listing.
func (m *Market) seller(l listing) seller {
	s := seller{name: l.name, factor: 1 + float64(l.basisPoints)/10_000}
	for name := range strings.FieldsSeq(l.regions) {
		if i := slices.IndexFunc(m.regions, func(r region) bool { return r.name == name }); i >= 0 {
			s.regions = append(s.regions, i)
		}
	}
	return s
}

// AppendHour appends the transactions executed in the hour that starts at the instant, a full hour, ordered by
// ExecutedAt and then by ID.
func (m *Market) AppendHour(dst []Arrival, hour int64) []Arrival {
	if len(m.models) == 0 || len(m.sellers) == 0 {
		return dst
	}
	n := hour / assay.Hour
	var d dice
	d.Seed(m.seed, mix(m.seed, uint64(n)))
	q := m.quotes(n)
	var buf [128]int64
	for i, key := range m.schedule(buf[:0], &d, n) {
		a := m.trade(&d, q, key>>slotBits, int(key&(1<<slotBits-1))-1)
		a.ID = tradeID(n, i)
		a.ExecutedAt += hour
		a.At += hour
		dst = append(dst, a)
	}
	return dst
}

// Trades by hour of the day, in UTC. A weekend adds up to 1,140: less the busiest hour, for the 23-hour day on which New
// York's clocks go forward, and less the 6 % that volume may take away, it is still above 1,000. The week averages 1,254
// a day.
var (
	onWeekday = [24]int64{45, 44, 43, 42, 42, 43, 46, 50, 54, 56, 57, 57, 58, 61, 64, 66, 67, 66, 64, 61, 58, 55, 52, 49}
	onWeekend = [24]int64{45, 44, 43, 42, 42, 42, 43, 45, 46, 47, 48, 49, 50, 51, 52, 53, 53, 52, 51, 50, 49, 48, 48, 47}
)

// volume is how many trades hour n since 1970 has.
func volume(d *dice, n int64) int64 {
	table := &onWeekday
	if day := n / 24 % 7; day == 2 || day == 3 { // 1 January 1970 was a Thursday
		table = &onWeekend
	}
	return (table[n%24]*(94+d.below(13)) + 50) / 100
}

// A key of the schedule is a millisecond of the hour and, below it, a slot: zero for an ordinary trade, otherwise one
// more than the model the trade is there to quote.
const slotBits = 8

// schedule draws when the trades of an hour happen, in order. Every model has one that is sure to be verified, on time
// and delivered before the hour ends, so that the global index has no hole.
func (m *Market) schedule(dst []int64, d *dice, n int64) []int64 {
	for i := range m.models {
		dst = append(dst, d.below(assay.Hour-maxDelay)<<slotBits|int64(i+1))
	}
	for count := volume(d, n); int64(len(dst)) < count; {
		dst = append(dst, d.below(assay.Hour)<<slotBits)
	}
	slices.Sort(dst)
	return dst
}

const (
	minDelay = assay.Second
	maxDelay = 20 * assay.Second
	minLate  = 2 * assay.Hour
	maxLate  = 5 * assay.Day
)

// Ordinary trades that are unverified, late, or without a region, in 10,000. With the sure ones that makes 4 %, 0.3 %
// and 0.5 % of all.
const (
	unverifiedShare = 450
	lateShare       = 34
	regionlessShare = 56
)

var sources = [...]string{"synthetic-exchange", "synthetic-broker", "synthetic-direct"}

var bySource = newWeights(50, 30, 20)

// trade draws one trade at a millisecond of the hour; its times count from the start of the hour. Sure is the model a
// sure trade is there to quote, -1 for an ordinary one.
func (m *Market) trade(d *dice, q quotes, at int64, sure int) Arrival {
	g := sure
	if sure < 0 {
		g = m.byModel.draw(d)
	}
	s := &m.sellers[m.bySeller.draw(d)]
	r := s.regions[d.below(int64(len(s.regions)))]
	doublings := byLot.draw(d)

	var a Arrival
	a.Source = sources[bySource.draw(d)]
	a.ExecutedAt = at
	a.At = at + minDelay + d.below(maxDelay-minDelay+1)
	a.GPU = m.models[g].name
	a.Region = m.regions[r].name
	a.Price = round4(q.model(g, at) * q.regions[r] * s.factor * lotFactor(doublings) * (1 + tradeNoise*d.bell()))
	a.GPUs = 1 << doublings
	a.HourMicros = rental(d)
	a.Provider = s.name
	a.Verified = true
	if sure < 0 {
		blemish(d, &a)
	}
	return a
}

// blemish gives a trade, rarely, the faults the service must cope with.
func blemish(d *dice, a *Arrival) {
	if d.below(10_000) < unverifiedShare {
		a.Verified = false
		astray := 0.15 + 0.05*d.spread()
		if d.below(2) == 0 {
			astray = -astray
		}
		a.Price = round4(a.Price.Float() * (1 + astray))
	}
	if d.below(10_000) < lateShare {
		a.At = a.ExecutedAt + minLate + d.below(maxLate-minLate)
	}
	if d.below(10_000) < regionlessShare {
		a.Region = ""
	}
}

// tradeNoise is the standard deviation of a trade's price around its quote.
const tradeNoise = 0.03

// byLot says how many rentals in 1,000 are of 1, 2, 4 … 512 GPUs.
var byLot = newWeights(300, 170, 150, 250, 60, 35, 18, 10, 5, 2)

// lotFactor makes a lot 0.6 % cheaper every time its size doubles.
func lotFactor(doublings int) float64 { return 1 - 0.006*float64(doublings) }

// terms are the lengths of rentals in hours, from the first bound to the last; byTerm says how many in 100 lie between
// one bound and the next.
var (
	terms  = [...]float64{0.5, 1, 8, 24, 48, 168, 720}
	byTerm = newWeights(8, 38, 28, 17, 6, 3)
)

// rental draws the length of a rental in millionths of an hour, in quarters or tenths: both divide every bound.
func rental(d *dice) int64 {
	step := int64(250_000)
	if d.below(2) == 0 {
		step = 100_000
	}
	i := byTerm.draw(d)
	from, to := int64(terms[i]*1e6), int64(terms[i+1]*1e6)
	return from + d.below((to-from)/step+1)*step
}

// round4 rounds to the four decimals the market quotes.
func round4(usd float64) assay.Nanos {
	return max(assay.Nanos(math.Round(usd*10_000)), 1) * (assay.One / 10_000)
}

// tradeID names trade i of hour n, such as ajf1-0031. IDs ascend with time.
func tradeID(n int64, i int) string {
	var buf [16]byte
	b := strconv.AppendInt(buf[:0], n, 36)
	b = append(b, '-', digit(i/1000), digit(i/100), digit(i/10), digit(i))
	return string(b)
}

func digit(i int) byte { return byte('0' + i%10) }

// quotes are the prices of one hour before anything particular to a trade.
type quotes struct {
	from, to []float64 // of each model, at the start of the hour and of the next
	regions  []float64 // factor of each region
}

// quotes works out the prices of hour n, once for all its trades.
func (m *Market) quotes(n int64) quotes {
	var q quotes
	for i := range m.models {
		q.from = append(q.from, m.level(&m.models[i], n))
		q.to = append(q.to, m.level(&m.models[i], n+1))
	}
	for _, r := range m.regions {
		q.regions = append(q.regions, 1+r.offset+regionSway*noise(r.salt, n, 10*24))
	}
	return q
}

// model is the price of a model at a millisecond of the hour; between full hours the path is straight.
func (q *quotes) model(g int, at int64) float64 {
	return q.from[g] + (q.to[g]-q.from[g])*float64(at)/float64(assay.Hour)
}

// level is the price of a model at hour n: its trend, the swings of the whole market, its own, and the rhythm of the
// week.
func (m *Market) level(g *model, n int64) float64 {
	return trend(g, n) * (1 + 0.6*swings(m.seed, n) + 0.7*swings(g.salt, n) + week(n))
}

// trend is the level of a model without swings. A few years before and after 2026 it flattens out: no date takes it
// below 0.6 or above 2.2 times its level.
func trend(g *model, n int64) float64 {
	const start2026, hoursPerYear = 490_896, 8766
	years := float64(n-start2026) / hoursPerYear
	years /= math.Sqrt(1 + years*years/4) // between -2 and 2
	return g.level / (1 + g.fall*years)
}

// cycles are the regular part of the swings: the length in hours and the share of the price. Lengths without a common
// multiple keep the sum from repeating.
var cycles = [...]struct{ hours, share float64 }{
	{97 * 24, 0.030}, {53 * 24, 0.020}, {23 * 24, 0.012}, {11 * 24, 0.006},
}

// swings is how far hour n is from the trend, as a share: some percent over weeks, a few tenths over hours.
func swings(salt uint64, n int64) float64 {
	sum := 0.020*noise(salt, n, 6*24) + 0.008*noise(salt+1, n, 24) + 0.003*noise(salt+2, n, 1)
	for i, c := range cycles {
		phase := unit(mix(salt, uint64(i)))
		sum += c.share * wave(float64(n)/c.hours+phase)
	}
	return sum
}

// week is 1 % up on Wednesday noon and 1 % down as Sunday begins. Weeks are counted from 1970, a Thursday.
func week(n int64) float64 {
	const wednesdayNoon = 6.5 / 7
	return 0.01 * wave(float64(n)/(7*24)-wednesdayNoon+0.25)
}

// wave has the period 1 and the bounds 1 and -1. Two parabolas pass for a sine, and their digits do not depend on the
// version of a library.
func wave(turns float64) float64 {
	x := turns - math.Floor(turns)
	if x < 0.5 {
		return 16 * x * (0.5 - x)
	}
	return -16 * (x - 0.5) * (1 - x)
}

// noise is a smooth random curve between -1 and 1 with a new value every so many hours.
func noise(salt uint64, n, hours int64) float64 {
	cell, x := n/hours, float64(n%hours)/float64(hours)
	from, to := 2*unit(mix(salt, uint64(cell)))-1, 2*unit(mix(salt, uint64(cell+1)))-1
	return from + (to-from)*x*x*(3-2*x)
}

// mix hashes two numbers into one, by two rounds of the finalizer of SplitMix64.
func mix(a, b uint64) uint64 { return scramble(scramble(a) + b) }

func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit turns random bits into a number from 0 up to 1.
func unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// dice are the draws of one hour. Only the bits come from the library: how rand.Rand turns them into numbers is not
// promised to stay.
type dice struct{ rand.PCG }

// below is a whole number from 0 to n-1.
func (d *dice) below(n int64) int64 {
	high, _ := bits.Mul64(d.Uint64(), uint64(n))
	return int64(high)
}

// spread is a number between -1 and 1.
func (d *dice) spread() float64 { return 2*unit(d.Uint64()) - 1 }

// bell is nearly normal, with standard deviation 1, and never beyond 3.5: the sum of four spreads.
func (d *dice) bell() float64 {
	return (d.spread() + d.spread() + d.spread() + d.spread()) * (math.Sqrt(3) / 2)
}

// weights are running sums, to draw a place in proportion to its weight.
type weights []int64

func newWeights(each ...int64) weights {
	var w weights
	for _, weight := range each {
		w = w.with(weight)
	}
	return w
}

// with is w and one more place.
func (w weights) with(weight int64) weights {
	if len(w) > 0 {
		weight += w[len(w)-1]
	}
	return append(w, weight)
}

func (w weights) draw(d *dice) int {
	r, i := d.below(w[len(w)-1]), 0
	for r >= w[i] {
		i++
	}
	return i
}
