package demo

import (
	"slices"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
)

// Market invents the rentals of the demo and everything else it shows. The rows of an hour depend on the seed and the
// hour alone, so a feed may stop anywhere and continue later, and two feeds agree. A Market may be shared.
type Market struct {
	seed     uint64
	path     *path
	models   []model
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

// load is how much of a factor's movement a model takes part in.
type load struct {
	factor factor
	beta   micro
}

// model is a GPU model that the market trades.
type model struct {
	name       string
	weight     int64 // share of trades, in percent
	level      int64 // trend at the start of 2026, in nanodollars per GPU-hour
	fall       micro // how fast it gets cheaper: roughly the share lost a year
	loads      []load
	datacenter bool    // it takes part in the price cuts, and launches displace it
	launch     *launch // nil when the market always had it
	salt       uint64  // of its movements within a day, by the seed
}

// The levels are plausible, not measured. Older generations lose more of their price every year.
var models = [...]model{
	{
		name: "H100 SXM", weight: 31, level: 2_600_000_000, fall: 0.085 * million, datacenter: true,
		loads: []load{{wholeMarket, million}, {datacenter, million}, {hopper, million}, {ownH100, million}},
	},
	{
		name: "H200", weight: 18, level: 3_280_000_000, fall: 0.060 * million, datacenter: true,
		loads: []load{{wholeMarket, million}, {datacenter, million}, {hopper, million}, {ownH200, million}},
	},
	{
		name: "A100 SXM4", weight: 17, level: 1_380_000_000, fall: 0.140 * million, datacenter: true,
		loads: []load{{wholeMarket, 0.9 * million}, {datacenter, million}, {ownA100, million}},
	},
	{
		name: "RTX 5090", weight: 14, level: 560_000_000, fall: 0.050 * million,
		loads: []load{{wholeMarket, 0.65 * million}, {consumer, million}, {ownRTX5090, million}},
	},
	{
		name: "B200", weight: 12, level: 4_350_000_000, fall: 0.080 * million, datacenter: true,
		loads: []load{{wholeMarket, 1.1 * million}, {datacenter, million}, {ownB200, million}},
	},
	{
		name: "RTX PRO 6000 WS", weight: 8, level: 1_050_000_000, fall: 0.035 * million,
		loads: []load{{wholeMarket, 0.7 * million}, {consumer, million}, {ownRTXPro6000, million}},
	},
}

// region is a place, its share of the trades, and how far its prices are from the market's.
type region struct {
	name   string
	weight int64
	spread micro // logarithm of its usual price against the market's
	factor factor
}

// The last two regions are thin: many of their hours have no trade of a model, and a few days neither.
var regions = [...]region{
	{name: "us-east", weight: 40, spread: -0.004 * million, factor: usEast},
	{name: "us-west", weight: 25, spread: 0.006 * million, factor: usWest},
	{name: "eu-west", weight: 24, spread: 0.012 * million, factor: euWest},
	{name: "eu-north", weight: 6, spread: -0.030 * million, factor: euNorth},
	{name: "ap-east", weight: 4, spread: 0.035 * million, factor: apEast},
}

// seller is a listing with its regions looked up.
type seller struct {
	name     string
	premium  micro // logarithm of its usual price against the market's
	regions  []int // in Market.regions
	byRegion weights
	cuts     []int64 // when it takes part in each of the cuts
}

// NewMarket makes the market of a seed. It trades the models and regions of the catalog that it has levels for.
func NewMarket(seed int64, catalog assay.Catalog) *Market {
	m := &Market{seed: mix(uint64(seed), 0)}
	m.path = &path{seed: mix(m.seed, 1)}
	for i, g := range models {
		if _, ok := catalog.GPU(g.name); ok {
			g.salt, g.launch = mix(m.seed, 100+uint64(i)), launchOf(g.name)
			m.models = append(m.models, g)
		}
	}
	for _, r := range regions {
		if catalog.HasRegion(r.name) {
			m.regions = append(m.regions, r)
		}
	}
	for rank, l := range listings {
		if s := m.seller(rank, l); len(s.regions) > 0 {
			m.sellers = append(m.sellers, s)
			m.bySeller = m.bySeller.with(listingWeight(rank))
		}
	}
	return m
}

// seller looks up the regions of the listing of a rank, and when it follows the price cuts.
func (m *Market) seller(rank int, l listing) seller {
	s := seller{name: l.name, premium: l.basisPoints * (million / 10_000)}
	for name := range strings.FieldsSeq(l.regions) {
		i := slices.IndexFunc(m.regions, func(r region) bool { return r.name == name })
		if i >= 0 {
			s.regions = append(s.regions, i)
			s.byRegion = s.byRegion.with(m.regions[i].weight)
		}
	}
	for i := range cuts {
		s.cuts = append(s.cuts, cuts[i].followed(rank))
	}
	return s
}

// AppendHour appends the transactions executed in the hour that starts at the instant, a full hour, ordered by
// ExecutedAt and then by ID.
func (m *Market) AppendHour(dst []Arrival, hour int64) []Arrival {
	n := hour / assay.Hour
	var sums [len(models)]int64
	byModel := m.shares(sums[:0], hour)
	if len(byModel) == 0 || byModel[len(byModel)-1] == 0 || len(m.sellers) == 0 {
		return dst
	}
	q := m.quotes(n)
	var d dice
	d.Seed(m.seed, mix(m.seed, uint64(n)))
	var keys [128]int64
	for i, key := range schedule(keys[:0], &d, n, byModel) {
		g := int(key&(1<<slotBits-1)) - 1
		sure := g >= 0
		if !sure {
			g = byModel.draw(&d)
		}
		a := m.trade(&d, q, g, key>>slotBits, sure)
		a.ID = tradeID(n, i)
		dst = append(dst, a)
	}
	return dst
}

// shares appends the running weights of the models in an hour. A model before its launch has none, and a new one less
// than later.
func (m *Market) shares(dst weights, hour int64) weights {
	for i := range m.models {
		g, share := &m.models[i], micro(million)
		if g.launch != nil && hour >= g.launch.at {
			share = max(ramp(hour, g.launch.at, adoption), million/20)
		} else if g.launch != nil {
			share = 0
		}
		dst = dst.with(g.weight * share)
	}
	return dst
}

// Trades by hour of the day, in UTC: busiest in the afternoon, when Europe and America both work. A weekend day has at
// least 1,000, also when New York's clocks go forward and the fixing's day has 23 hours.
var (
	onWeekday = [24]int64{41, 39, 38, 37, 37, 38, 41, 47, 54, 58, 60, 61, 62, 66, 71, 74, 75, 73, 70, 65, 59, 53, 49, 45}
	onWeekend = [24]int64{43, 42, 41, 40, 40, 40, 41, 43, 45, 46, 47, 47, 48, 49, 50, 51, 51, 50, 49, 49, 48, 47, 46, 45}
)

// volume is how many trades hour n since 1970 has.
func volume(d *dice, n int64) int64 {
	table := &onWeekday
	if weekend(n) {
		table = &onWeekend
	}
	return (table[n%24]*(94+d.below(13)) + 50) / 100
}

// A key of the schedule is a millisecond of the hour and, below it, a slot: zero for an ordinary trade, otherwise one
// more than the model the trade is there to quote.
const slotBits = 8

// schedule draws when the trades of hour n happen, in order. Every model on the market has one that is sure to be
// verified, on time and delivered before the hour ends, so that the global index has no gap.
func schedule(dst []int64, d *dice, n int64, byModel weights) []int64 {
	before := int64(0)
	for i, sum := range byModel {
		if sum > before {
			dst = append(dst, d.below(assay.Hour-maxDelay)<<slotBits|int64(i+1))
		}
		before = sum
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

// trade draws one trade of model g at a millisecond of the hour of the quotes.
func (m *Market) trade(d *dice, q *quotes, g int, at int64, sure bool) Arrival {
	s := &m.sellers[m.bySeller.draw(d)]
	r := s.regions[s.byRegion.draw(d)]
	doublings := lot(d, q.hour)

	var a Arrival
	a.Source = sources[bySource.draw(d)]
	a.ExecutedAt = q.hour*assay.Hour + at
	a.At = a.ExecutedAt + minDelay + d.below(maxDelay-minDelay+1)
	a.GPU = m.models[g].name
	a.Region = m.regions[r].name
	apart := q.regions[r] + terms[doublings].offer(s.premium) + times(terms[doublings].noise, d.bell())
	if m.models[g].datacenter {
		apart += s.cut(a.ExecutedAt)
	}
	a.Price = decimals(times(q.model(g, at), exp(apart)), 4)
	a.GPUs = 1 << doublings
	a.HourMicros = rental(d)
	a.Provider = s.name
	a.Verified = true
	if !sure {
		blemish(d, &a)
	}
	return a
}

// cut is the logarithm of the price cuts that the seller has made by an instant.
func (s *seller) cut(at int64) (sum micro) {
	for i, from := range s.cuts {
		if at >= from {
			sum += cuts[i].depth
		}
	}
	return sum
}

// blemish gives a trade, rarely, the faults the service must cope with.
func blemish(d *dice, a *Arrival) {
	if d.below(10_000) < unverifiedShare {
		a.Verified = false
		astray := 150_000 + d.spread()/20
		if d.below(2) == 0 {
			astray = -astray
		}
		a.Price = decimals(times(int64(a.Price), million+astray), 4)
	}
	if d.below(10_000) < lateShare {
		a.At = a.ExecutedAt + minLate + d.below(maxLate-minLate)
	}
	if d.below(10_000) < regionlessShare {
		a.Region = ""
	}
}

// lotTerms is how a rental of some size is priced. Small ones pay list prices, which differ from provider to provider
// and from deal to deal; large ones are negotiated, cheaper and close to the market.
type lotTerms struct {
	discount, noise micro
	list            micro // share of the provider's premium that is charged
}

func (t *lotTerms) offer(premium micro) micro { return times(premium, t.list) - t.discount }

// byLot is how many rentals in 10,000 are of 1, 2, 4 … 512 GPUs, and terms is how they are priced. The sizes have a
// heavy tail.
var (
	byLot = newWeights(3000, 1800, 1600, 2700, 550, 220, 90, 28, 9, 3)
	terms = [...]lotTerms{
		{discount: 0, noise: 16_000, list: 650_000},
		{discount: 1_000, noise: 15_000, list: 600_000},
		{discount: 2_000, noise: 13_000, list: 500_000},
		{discount: 3_000, noise: 11_000, list: 400_000},
		{discount: 4_000, noise: 9_000, list: 300_000},
		{discount: 5_000, noise: 7_000, list: 250_000},
		{discount: 6_000, noise: 6_000, list: 200_000},
		{discount: 7_000, noise: 5_000, list: 150_000},
		{discount: 8_000, noise: 4_000, list: 100_000},
		{discount: 9_000, noise: 4_000, list: 100_000},
	}
)

// lot draws the size of a rental in hour n, as a power of two. Few large deals are signed on a weekend.
func lot(d *dice, n int64) int {
	doublings := byLot.draw(d)
	if doublings > 3 && weekend(n) {
		doublings -= 2
	}
	return doublings
}

// lengths bound the lengths of rentals, in millionths of an hour; byLength is how many rentals in 1,000 lie between one
// bound and the next.
var (
	lengths  = [...]int64{500_000, 1 * million, 8 * million, 24 * million, 48 * million, 168 * million, 720 * million}
	byLength = newWeights(80, 390, 310, 190, 28, 2)
)

// rental draws the length of a rental in millionths of an hour, in quarters or tenths: both divide every bound.
func rental(d *dice) int64 {
	step := int64(250_000)
	if d.below(2) == 0 {
		step = 100_000
	}
	i := byLength.draw(d)
	from, to := lengths[i], lengths[i+1]
	return from + d.below((to-from)/step+1)*step
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
	hour     int64              // since 1970
	from, to [len(models)]int64 // of each model, at the start of the hour and of the next
	regions  [len(regions)]micro
}

// quotes works out the prices of hour n, once for all its trades.
func (m *Market) quotes(n int64) *quotes {
	q := quotes{hour: n}
	now, next := m.path.tide(n), m.path.tide(n+1)
	for i := range m.models {
		q.from[i], q.to[i] = m.level(&m.models[i], &now, n), m.level(&m.models[i], &next, n+1)
	}
	for i := range m.regions {
		r := &m.regions[i]
		q.regions[i] = r.spread + now[r.factor]
	}
	return &q
}

// model is the price of a model at a millisecond of the hour; between full hours the path is straight.
func (q *quotes) model(g int, at int64) int64 {
	return q.from[g] + (q.to[g]-q.from[g])*at/assay.Hour
}

// level is the price of a model at hour n, in nanodollars: its trend, moved by the factors, the launches and the time
// of the week.
func (m *Market) level(g *model, t *tide, n int64) int64 {
	x := 2*noise(m.seed, n, 3)/1000 + 2*noise(g.salt, n, 2)/1000 + rhythm(n)
	for _, l := range g.loads {
		x += times(t[l.factor], l.beta)
	}
	for i := range launches {
		x += launches[i].effect(g, n*assay.Hour)
	}
	trend := g.level * million / (million + times(g.fall, yearsFrom2026(n)))
	return times(trend, exp(x))
}

// rhythm is how far the time of the week moves a price: up to 0.4 % on Wednesdays, up to 0.3 % in the afternoon.
func rhythm(n int64) micro {
	const morning = 12 // UTC: the curve rises from here to its top at 18:00
	return 4*week(n)/1000 + 3*wave(n+24-morning, 24, 0)/1000
}

// effect is the logarithm of what the launch does to the price of a model at an instant.
func (l *launch) effect(g *model, at int64) micro {
	switch age := at - l.at; {
	case age < 0:
		return 0
	case g.name == l.model:
		return times(l.premium, halfLife/assay.Second*million/((halfLife+age)/assay.Second))
	case g.datacenter:
		return times(l.displaced, ramp(at, l.at, settle))
	}
	return 0
}
