package demo

import (
	"sync"

	"github.com/assaydata/assay"
)

// factor names one of the random movements that the prices are made of.
type factor int

// The factors. Their order is the order of each day's draws: a new one goes to the end, so that the others keep their
// path.
const (
	wholeMarket factor = iota
	datacenter
	consumer
	hopper
	ownA100
	ownH100
	ownH200
	ownB200
	ownRTX5090
	ownRTXPro6000
	usEast
	usWest
	euWest
	euNorth
	apEast
	memoryMarket
	dram
	flash
	factorCount
)

// motion is how a factor moves from day to day: by a random shock, and back toward its mean.
type motion struct {
	daily micro // typical shock of a day
	days  int64 // that a deviation lasts: one part in so many is lost each day
}

// motions are the factors' motions. The whole market carries a little more than half of a data-center GPU's variance,
// which makes their daily returns correlate by 0.5 to 0.8. Of the regions, the thin ones stray farther.
var motions = [factorCount]motion{
	wholeMarket:   {daily: 13_000, days: 70},
	datacenter:    {daily: 5_000, days: 50},
	consumer:      {daily: 5_500, days: 50},
	hopper:        {daily: 4_000, days: 40},
	ownA100:       {daily: 5_500, days: 40},
	ownH100:       {daily: 4_500, days: 40},
	ownH200:       {daily: 5_000, days: 40},
	ownB200:       {daily: 6_500, days: 40},
	ownRTX5090:    {daily: 5_500, days: 40},
	ownRTXPro6000: {daily: 5_500, days: 40},
	usEast:        {daily: 1_500, days: 12},
	usWest:        {daily: 2_000, days: 12},
	euWest:        {daily: 2_500, days: 12},
	euNorth:       {daily: 4_500, days: 15},
	apEast:        {daily: 6_000, days: 15},
	memoryMarket:  {daily: 8_000, days: 150},
	dram:          {daily: 5_000, days: 60},
	flash:         {daily: 6_000, days: 60},
}

// regime is the mood of the GPU market.
type regime int

const (
	calm  regime = iota
	tight        // demand outruns supply
	glut         // new capacity stands idle
)

// moods are what a regime does and how long it lasts.
var moods = [...]struct {
	target      micro // logarithm of where it pulls the whole market, against the trend
	shocks      micro // factor of all shocks of GPU prices
	least, most int64 // days
}{
	calm:  {target: 0, shocks: 0.75 * million, least: 50, most: 150},
	tight: {target: 0.17 * million, shocks: 1.20 * million, least: 35, most: 90},
	glut:  {target: -0.13 * million, shocks: 1.35 * million, least: 45, most: 110},
}

// state is the market as a day begins, at midnight UTC.
type state struct {
	regime   regime
	daysLeft int64 // of the regime
	variance micro // of the next shock, against its mean
	levels   [factorCount]micro
}

// path is the movement of all factors from day to day, from opening on. Each day follows from the day before and from
// its own dice, so the path of a seed is the same wherever a reader begins. Days are computed when they are first
// needed, and kept.
type path struct {
	seed uint64
	mu   sync.Mutex
	days []state // from opening on; guarded by mu
}

// opening is the first day of the path, 2020-01-01. Before it every day moves like this one.
const opening = 18_262

// around returns the states at the beginning and at the end of the day that holds hour n.
func (p *path) around(n int64) (begin, end state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := max(n/24-opening, 0)
	for int64(len(p.days)) <= i+1 {
		p.days = append(p.days, p.next())
	}
	return p.days[i], p.days[i+1]
}

// next is the state after the last one.
func (p *path) next() state {
	if len(p.days) == 0 {
		return state{daysLeft: moods[calm].least, variance: million}
	}
	s := p.days[len(p.days)-1]
	var d dice
	d.Seed(p.seed, mix(p.seed, uint64(len(p.days))))
	s.turn(&d)
	mood := &moods[s.regime]
	volatility := root(s.variance * million)
	for f, m := range motions {
		target, shock := micro(0), d.bell()
		if f == int(wholeMarket) {
			target = mood.target
			s.variance = nextVariance(s.variance, shock)
		}
		if f < int(memoryMarket) {
			shock = times(times(shock, volatility), mood.shocks)
		}
		s.levels[f] += (target-s.levels[f])/m.days + times(m.daily, shock)
	}
	return s
}

// nextVariance is GARCH(1,1): the variance of tomorrow is mostly that of today, more after a large shock of the whole
// market, and it returns to its mean over a month; it stays below 4 times the mean. All factors of GPU prices share it:
// a nervous market is nervous everywhere. The weights add up to 1.
func nextVariance(variance, shock micro) micro {
	squared := times(variance, times(shock, shock))
	return min((35_000*million+190_000*squared+775_000*variance)/million, 4*million)
}

// turn lets a regime end. A calm market becomes tight or falls into a glut; from either it mostly calms down.
func (s *state) turn(d *dice) {
	draw, days := d.below(100), d.below(million)
	if s.daysLeft--; s.daysLeft > 0 {
		return
	}
	switch {
	case s.regime == calm && draw < 50:
		s.regime = tight
	case s.regime == calm:
		s.regime = glut
	case draw < 75:
		s.regime = calm
	default:
		s.regime = tight + glut - s.regime
	}
	mood := &moods[s.regime]
	s.daysLeft = mood.least + times(mood.most-mood.least, days)
}

// tide is the levels of all factors at one hour: a straight line over the day.
type tide [factorCount]micro

func (p *path) tide(n int64) (t tide) {
	begin, end := p.around(n)
	hour := n % 24
	for f := range t {
		from, to := begin.levels[f], end.levels[f]
		t[f] = from + (to-from)*hour/24
	}
	return t
}

// ramp goes from 0 to 1 in the time from begin to begin+length.
func ramp(at, begin, length int64) micro {
	return min(max((at-begin)/assay.Second*million/(length/assay.Second), 0), million)
}
