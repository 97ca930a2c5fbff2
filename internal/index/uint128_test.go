package index

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

func randomUint128(rng *rand.Rand) uint128 {
	n := uint128{hi: rng.Uint64() >> rng.IntN(64), lo: rng.Uint64() >> rng.IntN(64)}
	if rng.IntN(2) == 0 {
		n.hi = 0
	}
	return n
}

// TestUint128_AgainstBig compares every operation with math/big, for numbers of all lengths.
func TestUint128_AgainstBig(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 1))
	for range 50_000 {
		a, b := randomUint128(rng), randomUint128(rng)
		if want := a.big().Cmp(b.big()) < 0; a.less(b) != want {
			t.Fatalf("%s < %s: got %v", a.big(), b.big(), !want)
		}
		sum := uint128{hi: a.hi >> 1, lo: a.lo}
		half := uint128{hi: b.hi >> 1, lo: b.lo}
		want := new(big.Int).Add(sum.big(), half.big())
		sum.add(half)
		if sum.big().Cmp(want) != 0 {
			t.Fatalf("sum %s, want %s", sum.big(), want)
		}
		want.Mul(uint128{lo: a.lo}.big(), uint128{lo: b.lo}.big())
		if got := product(a.lo, b.lo).big(); got.Cmp(want) != 0 {
			t.Fatalf("product %s, want %s", got, want)
		}
		small := uint128{hi: a.hi >> 16, lo: a.lo}
		k := rng.Uint64N(Whole + 1)
		want.Mul(small.big(), new(big.Int).SetUint64(k))
		if got := small.times(k).big(); got.Cmp(want) != 0 {
			t.Fatalf("%s × %d: got %s, want %s", small.big(), k, got, want)
		}
		checkDivide(t, a, b)
	}
}

// checkDivide expects the quotient of math/big if quotient and divisor fit 64 bits, and a rejection otherwise.
func checkDivide(t *testing.T, a, b uint128) {
	t.Helper()
	quotient, rest, ok := a.divide(b)
	if b == (uint128{}) {
		if ok {
			t.Fatal("divided by zero")
		}
		return
	}
	wantQuotient, wantRest := new(big.Int).DivMod(a.big(), b.big(), new(big.Int))
	fits := b.hi == 0 && wantQuotient.IsUint64()
	if ok != fits || ok && (quotient != wantQuotient.Uint64() || rest != wantRest.Uint64()) {
		t.Fatalf("%s / %s: got %d rest %d (%v), want %s rest %s",
			a.big(), b.big(), quotient, rest, ok, wantQuotient, wantRest)
	}
}

func TestUint128_Share(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 2))
	for range 20_000 {
		total := uint128{hi: rng.Uint64() >> (22 + rng.IntN(42)), lo: 1 + rng.Uint64()>>rng.IntN(64)>>1}
		if rng.IntN(2) == 0 {
			total.hi = 0
		}
		part := uint128{hi: total.hi, lo: total.lo}
		if shift := rng.UintN(64); shift > 0 {
			part = uint128{hi: total.hi >> shift, lo: total.lo>>shift | total.hi<<(64-shift)}
		}
		const parts = 1_000_000
		// floor(x + 1/2)
		share := new(big.Rat).SetFrac(part.big(), total.big())
		share.Add(share.Mul(share, big.NewRat(parts, 1)), big.NewRat(1, 2))
		want := new(big.Int).Div(share.Num(), share.Denom()).Uint64()
		if got := part.share(parts, total); got != want {
			t.Fatalf("%s of %s: got %d millionths, want %d", part.big(), total.big(), got, want)
		}
	}
}
