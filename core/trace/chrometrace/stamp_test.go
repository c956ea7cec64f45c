package chrometrace

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestNumbersAreReadExactlyToThePicosecond(t *testing.T) {
	for _, c := range []struct {
		text     string
		us       int64
		ps       int32
		decimals int
		rounded  bool
	}{
		{"0", 0, 0, 0, false},
		{"-0.0", 0, 0, 1, false},
		{"1661203463029548", 1661203463029548, 0, 0, false},
		{"4458676522709.059", 4458676522709, 59000, 3, false},
		{"66.540000000000006", 66, 540000, 15, true},
		{"848671.6747283936", 848671, 674728, 10, true},
		{"9.9999999999999995e-07", 0, 1, 23, true},
		{"0.0000005", 0, 1, 7, true},
		{"-0.5", -1, 500000, 1, false},
		{"-1.25e2", -125, 0, 0, false},
		{"1.5E+3", 1500, 0, 0, false},
		{`"123.4"`, 123, 400000, 1, false},
		{"9223372036854775", 9223372036854775, 0, 0, false},
		{"000012", 12, 0, 0, false},
		{"1e-400", 0, 0, 400, true},
		{"0e999999999999999999999", 0, 0, 400, false},
	} {
		n := parseNumber([]byte(c.text))
		if !n.ok || n.us != c.us || n.ps != c.ps || n.rounded != c.rounded || (n.decimals != c.decimals && c.decimals < 30) {
			t.Errorf("%s: got %+v, want us %d ps %d decimals %d rounded %v", c.text, n, c.us, c.ps, c.decimals, c.rounded)
		}
	}
	for _, text := range []string{"", "-", "abc", `""`, "1e400", "9223372036854776", "99999999999999999999", "1.2.3", "null", "true", "[1]", "NaN", "1e", "0x10"} {
		if n := parseNumber([]byte(text)); n.ok {
			t.Errorf("%q was read as %+v, want no number", text, n)
		}
	}
}

// twinStamp is parseNumber with big rationals.
func twinStamp(t *testing.T, text string) (us int64, ps int32, exact bool) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("twin cannot read %q", text)
	}
	r.Mul(r, big.NewRat(1e6, 1))
	q := new(big.Int)
	twice := new(big.Int).Mul(r.Num(), big.NewInt(2)) // half away from zero: floor((2|n|+d)/(2d))
	neg := twice.Sign() < 0
	twice.Abs(twice).Add(twice, r.Denom())
	q.Quo(twice, new(big.Int).Mul(r.Denom(), big.NewInt(2)))
	if neg {
		q.Neg(q)
	}
	m := new(big.Int)
	q.DivMod(q, big.NewInt(1e6), m)
	return q.Int64(), int32(m.Int64()), r.IsInt()
}

func TestNumbersAgreeWithRationals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	digits := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(byte('0' + rng.IntN(10)))
		}
		return b.String()
	}
	for range 200000 {
		text := ""
		if rng.IntN(4) == 0 {
			text = "-"
		}
		text += fmt.Sprint(1+rng.IntN(9)) + digits(rng.IntN(13))
		if rng.IntN(3) > 0 {
			text += "." + digits(1+rng.IntN(20))
		}
		if rng.IntN(3) == 0 {
			text += fmt.Sprintf("e%d", rng.IntN(25)-23)
		}
		us, ps, exact := twinStamp(t, text)
		n := parseNumber([]byte(text))
		if !n.ok || n.us != us || n.ps != ps || n.rounded == exact {
			t.Fatalf("%s: got %+v, want us %d ps %d, exact %v", text, n, us, ps, exact)
		}
		for _, decimals := range []int{0, 3, 6, 17} {
			out := string(appendStamp(nil, n.stamp, decimals))
			if back := parseNumber([]byte(out)); back.stamp != n.stamp {
				t.Fatalf("%+v printed as %s, which reads as %+v", n.stamp, out, back.stamp)
			}
			if _, frac, _ := strings.Cut(out, "."); decimals <= 6 && len(frac) < decimals {
				t.Fatalf("%+v printed as %s, want at least %d decimals", n.stamp, out, decimals)
			}
		}
	}
}
