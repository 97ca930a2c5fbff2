package index

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydata/assay"
)

// dollars parses prices.
func dollars(t *testing.T, texts ...string) (values []assay.Nanos) {
	t.Helper()
	for _, text := range texts {
		n, err := assay.ParseDecimal(text, 9)
		if err != nil {
			t.Fatalf("%s %v", text, err)
		}
		values = append(values, assay.Nanos(n))
	}
	return values
}

func TestMean(t *testing.T) {
	t.Parallel()
	f := func(want string, values ...string) {
		t.Helper()
		if got := Plain().Mean(dollars(t, values...)).String(); got != want {
			t.Errorf("mean of %v: got %s, want %s", values, got, want)
		}
	}
	f("2", "2")
	f("2.5", "2", "3")
	f("1.3333", "1", "1", "2")
	f("1.6667", "1", "2", "2")
	f("2", "2", "2.0001")           // the middle rounds down to the even digit
	f("2.0002", "2.0001", "2.0002") // and up to it
}

func TestMean_AgainstOracle(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(6, 1))
	m := Plain()
	for i := range 2000 {
		m.Decimals = i % 10
		values := make([]assay.Nanos, 1+rng.IntN(30))
		total := new(big.Rat)
		for j := range values {
			values[j] = assay.Nanos(rng.Int64() >> (3 + rng.IntN(60))) // large enough to pass 64 bits in the sum
			total.Add(total, big.NewRat(int64(values[j]), 1))
		}
		want := slowRound(total.Quo(total, big.NewRat(int64(len(values)), 1)), assay.Unit(m.Decimals))
		if got := m.Mean(values); got != want {
			t.Fatalf("mean of %v to %d decimals: got %s, want %s", values, m.Decimals, got, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	f := func(lowest, highest, deviation string, values ...string) {
		t.Helper()
		want := dollars(t, lowest, highest, deviation)
		got := Describe(dollars(t, values...))
		if got != (Stats{Min: want[0], Max: want[1], StdDev: want[2], Samples: len(values)}) {
			t.Errorf("%v: got %+v, want %v", values, got, want)
		}
	}
	f("0", "0", "0")
	f("2.35", "2.35", "0", "2.35")
	f("2", "9", "2", "2", "4", "4", "4", "5", "5", "7", "9")
	f("1", "2", "0.5", "1", "2")
	f("1", "3", "0.816497", "3", "1", "2") // √(2/3)
	// A small spread far from zero, where it would be lost among the squares of the values.
	f("999999.9999", "1000000", "0.00005", "999999.9999", "1000000")
	// The middle of two millionths rounds to the even one.
	f("1", "1.000001", "0", "1", "1.000001")
	f("1", "1.000003", "0.000002", "1", "1.000003")
}

// naiveDeviation is the textbook standard deviation: the mean first, then the distances from it.
func naiveDeviation(values []assay.Nanos) float64 {
	var sum, squares float64
	for _, v := range values {
		sum += v.Float()
	}
	mean := sum / float64(len(values))
	for _, v := range values {
		squares += (v.Float() - mean) * (v.Float() - mean)
	}
	return math.Sqrt(squares / float64(len(values)))
}

func TestDescribe_AgainstOracle(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(6, 2))
	for range 2000 {
		values := make([]assay.Nanos, 1+rng.IntN(25))
		level, spread := rng.Int64N(100*int64(assay.One)), 1+rng.Int64N(int64(assay.One))
		for i := range values {
			values[i] = assay.Nanos(level + rng.Int64N(spread))
		}
		got := Describe(values)
		want := Stats{Min: slices.Min(values), Max: slices.Max(values), StdDev: got.StdDev, Samples: len(values)}
		if got != want || got.StdDev%1000 != 0 {
			t.Fatalf("%v: got %+v", values, got)
		}
		if want := naiveDeviation(values); math.Abs(got.StdDev.Float()-want) > 0.5e-6+1e-10 {
			t.Fatalf("%v: got the deviation %s, want %.9f", values, got.StdDev, want)
		}
	}
}

func TestChangePct(t *testing.T) {
	t.Parallel()
	f := func(now, before, want string) {
		t.Helper()
		v := dollars(t, now, before)
		if got := ChangePct(v[0], v[1]).String(); got != want {
			t.Errorf("from %s to %s: got %s, want %s", before, now, got, want)
		}
	}
	f("2", "2", "0")
	f("2.2", "2", "10")
	f("1.8", "2", "-10")
	f("6", "2", "200")
	f("1", "3", "-66.6667")
	f("4", "3", "33.3333")
	f("2.3514", "2.3471", "0.1832")
	f("900000", "0.01", "8999999900")
	// In the middle of two ten-thousandths, up and down.
	f("200.0001", "200", "0")
	f("200.0003", "200", "0.0002")
	f("199.9999", "200", "0")
	f("199.9997", "200", "-0.0002")
}

func TestLogRatio_AgainstOracle(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(6, 3))
	f := func(a, b assay.Nanos) {
		t.Helper()
		got, want := logRatio(a, b), math.Log(float64(a)/float64(b))
		if math.Abs(got-want) > 1e-15*max(1, math.Abs(want)) {
			t.Fatalf("ln(%d/%d): got %v, want %v", a, b, got, want)
		}
	}
	f(1, 1)
	f(2, 1)
	f(1, 2)
	f(1, 1000*assay.One)
	f(1000*assay.One, 1)
	for range 20000 {
		b := assay.Nanos(1 + rng.Int64N(1000*int64(assay.One)))
		f(assay.Nanos(1+rng.Int64N(1000*int64(assay.One))), b)
		f(b+assay.Nanos(rng.Int64N(int64(b)/50+1)), b) // as prices move
	}
	if logRatio(5, 5) != 0 {
		t.Error("the logarithm of 1 is not 0")
	}
}

func TestVolatility(t *testing.T) {
	t.Parallel()
	f := func(want string, perYear int, prices ...string) {
		t.Helper()
		v, ok := Volatility(Returns(dollars(t, prices...)), perYear)
		if got := v.String(); ok != (want != "") || ok && got != want {
			t.Errorf("%v: got %s, %v; want %s", prices, got, ok, want)
		}
	}
	f("", 365)
	f("", 365, "2")
	f("", 365, "2", "2.1") // one return has no deviation
	f("0", 365, "2", "2", "2")
	f("0", 365, "1", "2", "4") // grows evenly
	// Two returns, +r and -r with r = ln 1.1, have the deviation r·√2.
	f("2.575139", 365, "2", "2.2", "2")
	f("12.615554", 8760, "2", "2.2", "2")
	f("0.001351", 365, "2", "2.0001", "2")
}

// slowVolatility is the textbook formula in big floating-point numbers, except for the logarithm.
func slowVolatility(prices []assay.Nanos, perYear int) float64 {
	big1 := func(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }
	sum, n := big1(0), big1(float64(len(prices)-1))
	var returns []*big.Float
	for i := 1; i < len(prices); i++ {
		r := big1(math.Log(float64(prices[i]) / float64(prices[i-1])))
		returns = append(returns, r)
		sum.Add(sum, r)
	}
	mean, squares := new(big.Float).Quo(sum, n), big1(0)
	for _, r := range returns {
		d := new(big.Float).Sub(r, mean)
		squares.Add(squares, d.Mul(d, d))
	}
	variance := squares.Quo(squares, new(big.Float).Sub(n, big1(1)))
	v, _ := variance.Mul(variance, big1(float64(perYear))).Sqrt(variance).Float64()
	return v
}

func TestVolatility_AgainstOracle(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(6, 4))
	for range 2000 {
		prices := make([]assay.Nanos, 3+rng.IntN(364))
		price := 0.5 + 5*rng.Float64()
		for i := range prices {
			price *= 1 + 0.1*(rng.Float64()-0.5)
			prices[i] = assay.Nanos(price*1e4) * assay.Unit(4)
		}
		perYear := PrintsPerYear(assay.Grains[rng.IntN(2)])
		got, ok := Volatility(Returns(prices), perYear)
		want := slowVolatility(prices, perYear)
		if !ok || got%1000 != 0 || math.Abs(got.Float()-want) > 0.5e-6+1e-11 {
			t.Fatalf("%v: got %s, want %.9f", prices, got, want)
		}
	}
}

func TestPrintsPerYear(t *testing.T) {
	t.Parallel()
	if PrintsPerYear(assay.Daily) != 365 || PrintsPerYear(assay.Hourly) != 24*365 {
		t.Error("a year has 365 days")
	}
}

func TestRatioMean(t *testing.T) {
	t.Parallel()
	f := func(want string, shares ...int64) {
		t.Helper()
		var m RatioMean
		for i := 0; i < len(shares); i += 2 {
			m.Add(shares[i], shares[i+1])
		}
		if got, ok := m.Mean(); ok != (want != "") || ok && got.String() != want {
			t.Errorf("%v: got %s, %v; want %s", shares, got, ok, want)
		}
	}
	f("")
	f("0", 0, 7)
	f("1", 7, 7)
	f("1", 1, 1, 1<<62, 1<<62, 3, 3)
	f("0.333333", 1, 3)
	f("0.666667", 2, 3)
	f("0.5", 1, 3, 2, 3) // the parts are not rounded
	f("0.5", 0, 1, 1, 1)
	f("0.75", 1, 2, 1, 1)
	f("0", 1, 2_000_000) // the middle rounds to the even digit
	f("0.000002", 3, 2_000_000)
	f("0.5", 1, 2, 500_001, 1_000_000)
	f("0.500002", 500_001, 1_000_000, 500_002, 1_000_000)
}

func TestRatioMean_AgainstOracle(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(6, 5))
	for range 2000 {
		var m RatioMean
		sum, n := new(big.Rat), 1+rng.IntN(40)
		for range n {
			tracked := max(1, rng.Int64()>>rng.IntN(62))
			rented := rng.Int64N(tracked + 1)
			m.Add(rented, tracked)
			sum.Add(sum, big.NewRat(rented, tracked))
		}
		sum.Mul(sum, big.NewRat(1_000_000, int64(n)))
		want := assay.DivideHalfEven(new(big.Int).Set(sum.Num()), new(big.Int).Set(sum.Denom()))
		if got, ok := m.Mean(); !ok || got != assay.Nanos(want)*1000 {
			t.Fatalf("%d shares: got %s, want %d millionths", n, got, want)
		}
	}
}
