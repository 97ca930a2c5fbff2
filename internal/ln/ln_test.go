package ln_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/assaydata/assay/internal/ln"
)

const precision = 400

// slow is the logarithm by square roots and the series of the inverse hyperbolic tangent, with floats of 400 bits.
func slow(n int64) *big.Float {
	x := new(big.Float).SetPrec(precision).SetInt64(n)
	const roots = 40
	for range roots {
		x.Sqrt(x)
	}
	one := big.NewFloat(1).SetPrec(precision)
	u := new(big.Float).Quo(new(big.Float).Sub(x, one), new(big.Float).Add(x, one))
	square := new(big.Float).Mul(u, u)
	sum := new(big.Float).SetPrec(precision)
	for k := int64(1); k < 30; k += 2 {
		sum.Add(sum, new(big.Float).Quo(u, new(big.Float).SetInt64(k)))
		u.Mul(u, square)
	}
	return sum.SetMantExp(sum, roots+1)
}

// off is by how much a logarithm differs from a slow one.
func off(l ln.Log, want *big.Float) float64 {
	got := new(big.Float).SetPrec(precision).SetInt(l.Big())
	got.SetMantExp(got, -ln.Bits)
	difference, _ := got.Sub(got, want).Float64()
	return math.Abs(difference)
}

func TestOf(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	numbers := []int64{1, 2, 3, 10, math.MaxInt64, math.MaxInt64 - 1, 1 << 62, 1<<62 - 1, 1<<53 + 1}
	for i := range int64(512) {
		numbers = append(numbers, 512+i, (512+i)<<40|1, (513+i)<<40-1)
	}
	for range 2000 {
		numbers = append(numbers, 1+rng.Int64N(1<<rng.IntN(63)))
	}
	for _, n := range numbers {
		if difference := off(ln.Of(n), slow(n)); difference > 0x1p-110 {
			t.Fatalf("ln %d is off by %g", n, difference)
		}
	}
	if ln.Of(1) != (ln.Log{}) {
		t.Error("ln 1 is not 0")
	}
}

func TestOfBig(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		a, b := 1+rng.Int64N(math.MaxInt64), 1+rng.Int64N(1<<rng.IntN(63))
		got := ln.OfBig(new(big.Int).Mul(big.NewInt(a), big.NewInt(b)))
		if rest := got.Minus(ln.Of(a)).Minus(ln.Of(b)).Big(); rest.BitLen() > 4 {
			t.Fatalf("ln(%d·%d) is off by %v", a, b, rest)
		}
	}
}

func TestLog_Arithmetic(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		a, b := ln.Of(1+rng.Int64N(1<<50)), ln.Of(1+rng.Int64N(1<<50))
		want := new(big.Int).Sub(a.Big(), b.Big())
		difference := a.Minus(b)
		if difference.Big().Cmp(want) != 0 || difference.Plus(b) != a || ln.FromBig(want) != difference {
			t.Fatalf("%v - %v is %v", a.Big(), b.Big(), difference.Big())
		}
	}
}

func TestSum(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	for range 1000 {
		var sum, negative ln.Sum
		var parts [2]ln.Sum
		exact := new(big.Int)
		for i := range 1 + rng.IntN(20) {
			weight := rng.Uint64N(1 << rng.IntN(60))
			l := ln.Of(1 + rng.Int64N(1<<50)).Minus(ln.Of(1 + rng.Int64N(1<<50)))
			sum.Add(weight, l)
			negative.Add(weight, ln.Log{}.Minus(l))
			parts[i%2].Add(weight, l)
			exact.Add(exact, new(big.Int).Mul(l.Big(), new(big.Int).SetUint64(weight)))
		}
		if parts[0].Join(parts[1]); parts[0] != sum {
			t.Fatalf("two parts are %v together, want %v", parts[0], sum)
		}
		const divisor = 1<<62 + 12345
		exact.Quo(exact, big.NewInt(divisor))
		if got := sum.Over(divisor); got.Big().Cmp(exact) != 0 || negative.Over(divisor) != (ln.Log{}).Minus(got) {
			t.Fatalf("the sum is %v, want %v", got.Big(), exact)
		}
	}
}

// The way back gives the number, as far as its digits are asked for.
func TestLog_Exp(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	const million = 1_000_000
	for range 2000 {
		n := 1 + rng.Int64N(1<<rng.IntN(63))
		want := new(big.Int).Mul(big.NewInt(n), big.NewInt(million))
		if got := ln.Of(n).Exp(million); got.Cmp(want) != 0 {
			t.Fatalf("e to the power of ln %d is %v millionths", n, got)
		}
		m := 1 + rng.Int64N(1<<30)
		quotient := ln.Of(n).Minus(ln.Of(m)).Exp(million)
		exact := new(big.Rat).Mul(big.NewRat(n, m), big.NewRat(million, 1))
		rest := exact.Sub(exact, new(big.Rat).SetInt(quotient))
		if rest.Abs(rest).Cmp(big.NewRat(1, 2)) > 0 {
			t.Fatalf("%d/%d is %v millionths", n, m, quotient)
		}
	}
	if got := (ln.Log{}).Exp(100); got.Int64() != 100 {
		t.Errorf("e to the power of 0 is %v hundredths", got)
	}
	if got := ln.Of(1).Minus(ln.Of(math.MaxInt64)).Exp(1); got.Sign() != 0 {
		t.Errorf("a tiny number is %v", got)
	}
}

func BenchmarkOf(b *testing.B) {
	for i := range b.N {
		ln.Of(int64(i)<<20 + 12345)
	}
}
