package assay

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestNanos_AppendJSON(t *testing.T) {
	t.Parallel()
	f := func(n Nanos, want string) {
		t.Helper()
		if got := string(n.AppendJSON([]byte("kept:"))); got != "kept:"+want {
			t.Errorf("%d: got %q, want %q behind the prefix", int64(n), got, want)
		}
	}
	f(0, "0")
	f(1, "0.000000001")
	f(-1, "-0.000000001")
	f(One, "1")
	f(-One, "-1")
	f(10*One, "10")
	f(One/10, "0.1")
	f(2_350_000_000, "2.35")
	f(2_035_000_000, "2.035")
	f(1_000_000_001, "1.000000001")
	f(-2_350_000_000, "-2.35")
	f(math.MaxInt64, "9223372036.854775807")
	f(math.MinInt64, "-9223372036.854775808")
}

// randomNanos draws numbers of every magnitude, half of them below zero, some with many trailing zeros.
func randomNanos(rng *rand.Rand) Nanos {
	n := rng.Int64() >> rng.IntN(63)
	scale := int64(pow10[rng.IntN(10)])
	n = n / scale * scale
	if rng.IntN(2) == 0 {
		n = -n
	}
	return Nanos(n)
}

// slowText is the shortest decimal form by way of big fractions and string surgery.
func slowText(n Nanos) string {
	text := big.NewRat(int64(n), int64(One)).FloatString(nanosDecimals)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func TestNanos_EqualsEncodingJSON(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		n := randomNanos(rng)
		marshalled, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(json.Number(slowText(n)))
		if err != nil {
			t.Fatal(err)
		}
		if string(marshalled) != string(want) || string(n.AppendJSON(nil)) != string(want) || n.String() != string(want) {
			t.Fatalf("%d: appended %s, marshalled %s, want %s", int64(n), n, marshalled, want)
		}
		// A float64 holds 15 digits of any decimal, and encoding/json writes no exponent from a millionth on.
		if magnitude := max(n, -n); magnitude < 1000 || magnitude >= 1e15 {
			continue
		}
		if want, err = json.Marshal(n.Float()); err != nil || string(marshalled) != string(want) {
			t.Fatalf("%d: got %s, a float64 gives %s (%v)", int64(n), marshalled, want, err)
		}
	}
}

func TestNanos_RoundTrip(t *testing.T) {
	t.Parallel()
	f := func(n Nanos) {
		t.Helper()
		parsed, err := ParseDecimal(n.String(), nanosDecimals)
		if err != nil || Nanos(parsed) != n {
			t.Fatalf("%s parsed is %d (%v), want %d", n, parsed, err, int64(n))
		}
		var read Nanos
		if err := json.Unmarshal([]byte(n.String()), &read); err != nil || read != n {
			t.Fatalf("%s unmarshalled is %d (%v), want %d", n, int64(read), err, int64(n))
		}
	}
	f(0)
	f(-1)
	f(math.MaxInt64)
	f(math.MinInt64)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		f(randomNanos(rng))
	}
}

func TestParseDecimal(t *testing.T) {
	t.Parallel()
	f := func(s string, decimals int, want int64) {
		t.Helper()
		if got, err := ParseDecimal(s, decimals); err != nil || got != want {
			t.Errorf("%q with %d decimals: got %d (%v), want %d", s, decimals, got, err, want)
		}
	}
	f("0", 9, 0)
	f("-0", 9, 0)
	f("-0.0", 9, 0)
	f("2.35", 9, 2_350_000_000)
	f("2.35", 2, 235)
	f("-2.35", 2, -235)
	f("007", 0, 7)
	f("0.000000001", 9, 1)
	f("-0.000000001", 9, -1)
	f("1.0000000000000000000000", 9, 1_000_000_000) // zeros beyond the last decimal change nothing
	f("1.0", 0, 1)
	f("00000000000000000000001", 0, 1)
	f("9223372036854775807", 0, math.MaxInt64)
	f("-9223372036854775808", 0, math.MinInt64)
	f("9223372036.854775807", 9, math.MaxInt64)
	f("-9223372036.854775808", 9, math.MinInt64)

	refused := func(s string, decimals int, why string) {
		t.Helper()
		if got, err := ParseDecimal(s, decimals); err == nil || err.Error() != why {
			t.Errorf("%q with %d decimals: got %d (%v), want the error %q", s, decimals, got, err, why)
		}
	}
	const notPlain, tooLarge = "is not a plain decimal number", "is too large"
	for _, s := range []string{
		"", "-", ".", "-.", "1.", ".5", "-.5", "+1", "--1", "1-", " 1", "1 ", "1 000", "1,5", "1.2.3",
		"1e400", "1e2", "0x10", "NaN", "Inf", "-Inf", "null", "١", "½",
	} {
		refused(s, 9, notPlain)
	}
	refused("12345678901234567890", 0, tooLarge) // 20 digits
	refused("9223372036854775808", 0, tooLarge)
	refused("-9223372036854775809", 0, tooLarge)
	refused("9223372037", 9, tooLarge)
	refused("9223372036.854775808", 9, tooLarge)
	refused("0.0000000001", 9, "has more than 9 decimals")
	refused("1.5", 0, "has more than 0 decimals")
}

func TestNanos_UnmarshalJSONRefusesText(t *testing.T) {
	t.Parallel()
	var n Nanos
	for _, s := range []string{`"1"`, `1e3`, `true`, `0.0000000001`} {
		if err := json.Unmarshal([]byte(s), &n); err == nil {
			t.Errorf("%s was read as %s", s, n)
		}
	}
}

var plainDecimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// slowParse says by way of big fractions which number a text is, and whether it can be held.
func slowParse(s string, decimals int) (units int64, ok bool) {
	if !plainDecimal.MatchString(s) {
		return 0, false
	}
	value, _ := new(big.Rat).SetString(s)
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	value.Mul(value, new(big.Rat).SetInt(scale))
	return value.Num().Int64(), value.IsInt() && value.Num().IsInt64()
}

func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{
		"0", "-0", "2.35", "-2.35", "1.", ".5", "+1", "1e400", "NaN", "9223372036854775807", "-9223372036854775808",
		"9223372036.854775807", "-9223372036.854775808", "9223372036.8547758070", "92233720368.54775808",
		"0.0000000001", "1.0000000000", "00000000000000000000000001.5",
	} {
		f.Add(s, byte(0))
		f.Add(s, byte(nanosDecimals))
	}
	f.Fuzz(func(t *testing.T, s string, places byte) {
		decimals := int(places) % 19
		got, err := ParseDecimal(s, decimals)
		want, ok := slowParse(s, decimals)
		if ok != (err == nil) || ok && got != want {
			t.Errorf("%q with %d decimals: got %d (%v), want %d (held: %v)", s, decimals, got, err, want, ok)
		}
	})
}

func TestDivideHalfEven(t *testing.T) {
	t.Parallel()
	f := func(amount, divisor, want int64) {
		t.Helper()
		if got := DivideHalfEven(big.NewInt(amount), big.NewInt(divisor)); got != want {
			t.Errorf("%d / %d: got %d, want %d", amount, divisor, got, want)
		}
	}
	f(0, 7, 0)
	f(7, 2, 4)
	f(5, 2, 2)
	f(-5, 2, -2)
	f(-7, 2, -4)
	f(-1, 2, 0)
	f(1, 2, 0)
	f(3, 2, 2)
	f(-3, 2, -2)
	f(14, 10, 1)
	f(16, 10, 2)
	f(-14, 10, -1)
	f(-16, 10, -2)
	f(math.MaxInt64, 1, math.MaxInt64)
	f(math.MinInt64, 1, math.MinInt64)
	f(math.MaxInt64, 2, 1<<62) // …807 / 2 lies in the middle of an odd and an even number
}

// nearestEven looks at every whole number around and keeps the nearest, of two the even one.
func nearestEven(amount, divisor int64) (best int64) {
	distance := int64(math.MaxInt64)
	bound := max(amount, -amount)
	for q := -bound; q <= bound; q++ {
		d := amount - q*divisor
		if d = max(d, -d); d < distance || d == distance && q%2 == 0 {
			best, distance = q, d
		}
	}
	return best
}

func TestDivideHalfEven_AgainstOracle(t *testing.T) {
	t.Parallel()
	for amount := int64(-40); amount <= 40; amount++ {
		for divisor := int64(1); divisor <= 24; divisor++ {
			got, want := DivideHalfEven(big.NewInt(amount), big.NewInt(divisor)), nearestEven(amount, divisor)
			if got != want {
				t.Fatalf("%d / %d: got %d, want %d", amount, divisor, got, want)
			}
		}
	}
}

// Of big numbers the definition itself is checked: no whole number is nearer, and from the middle it is the even one.
func TestDivideHalfEven_BigNumbers(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 3))
	for range 20_000 {
		quotient := big.NewInt(int64(randomNanos(rng)))
		divisor := new(big.Int).SetUint64(rng.Uint64()>>rng.IntN(63) + 1)
		amount := new(big.Int).Mul(quotient, divisor)
		switch rng.IntN(3) {
		case 0: // somewhere between two whole numbers
			amount.Add(amount, new(big.Int).SetUint64(rng.Uint64()%divisor.Uint64()))
		case 1: // in the middle, or beside it when the divisor is odd
			amount.Add(amount, new(big.Int).Rsh(divisor, 1))
		}
		got := DivideHalfEven(new(big.Int).Set(amount), new(big.Int).Set(divisor))
		rest := new(big.Int).Mul(big.NewInt(got), divisor)
		rest.Sub(amount, rest)
		twice := rest.Abs(rest).Lsh(rest, 1).Cmp(divisor)
		if twice > 0 || twice == 0 && got%2 != 0 {
			t.Fatalf("%s / %s: got %d", amount, divisor, got)
		}
	}
}

func TestUnit(t *testing.T) {
	t.Parallel()
	f := func(decimals int, want string) {
		t.Helper()
		if got := Unit(decimals).String(); got != want {
			t.Errorf("%d decimals: got %s, want %s", decimals, got, want)
		}
	}
	f(0, "1")
	f(1, "0.1")
	f(4, "0.0001")
	f(9, "0.000000001")
}

func TestAppendMicros(t *testing.T) {
	t.Parallel()
	f := func(micros int64) {
		t.Helper()
		want := new(big.Rat).SetFrac64(micros, 1_000_000).FloatString(6)
		want = strings.TrimSuffix(strings.TrimRight(want, "0"), ".")
		if micros == 0 {
			want = "0"
		}
		if got := string(AppendMicros([]byte("x"), micros)); got != "x"+want {
			t.Errorf("%d: got %s, want x%s", micros, got, want)
		}
	}
	const most = math.MaxInt64 / 1000 // what billionths can say
	for _, n := range []int64{
		0, 1, 10, 999_999, 1_000_000, 1_000_001, 1_100_000, 12_500_000, most - 1, most, most + 1,
		math.MaxInt64 - 1, math.MaxInt64,
	} {
		f(n)
	}
	f(9_223_372_036_854_000_000) // large and whole
	f(9_223_372_036_854_000_001)
	f(9_223_372_036_854_100_000)
	rng := rand.New(rand.NewPCG(11, 1))
	for range 20_000 {
		f(rng.Int64() >> rng.IntN(63) / int64(pow10[rng.IntN(7)]) * int64(pow10[rng.IntN(7)]) & math.MaxInt64)
	}
}
