package chrometrace

import (
	"math"
	"strconv"
)

// stamp is a decimal number of microseconds, exact to the picosecond: us + ps/1e6, 0 <= ps < 1e6, us rounded towards
// minus infinity.
type stamp struct {
	us int64
	ps int32
}

// maxUS keeps us*1000 inside int64.
const maxUS = (1<<63 - 1) / 1000

// number says how a decimal number was spelled.
type number struct {
	stamp
	decimals int  // digits after the point, as written
	rounded  bool // it had digits beyond the picosecond, which were rounded half away from zero
	ok       bool // false: no number, or too large to be an instant in int64 ns
}

// plus adds two stamps and returns the instant after base (ns).
func plus(a, b stamp, base int64) (Instant, bool) {
	us, ps := a.us+b.us, a.ps+b.ps // |us| <= maxUS+1 each, far from overflow
	if ps >= 1e6 {
		us, ps = us+1, ps-1e6
	}
	if us > maxUS || us < -maxUS {
		return Instant{}, false
	}
	return stamp{us, ps}.instant(base)
}

// totalPS returns the stamp in ps, saturating at 106 days.
func (s stamp) totalPS() int64 {
	const most = math.MaxInt64/1_000_000 - 1
	if s.us > most {
		return math.MaxInt64
	}
	if s.us < -most {
		return math.MinInt64
	}
	return s.us*1_000_000 + int64(s.ps)
}

var pow10 = [...]int64{1, 10, 100, 1e3, 1e4, 1e5, 1e6}

// parseNumber reads a JSON number, or a string that holds one, as microseconds.
func parseNumber(text []byte) number {
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
	}
	i, neg := 0, false
	if i < len(text) && text[i] == '-' {
		neg = true
		i++
	}
	first := i
	var us int64
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		if i-first >= 17 {
			return parseSlow(text)
		}
		us = us*10 + int64(text[i]-'0')
	}
	if i == first {
		return number{}
	}
	if i == len(text) {
		if us > maxUS {
			return number{}
		}
		if neg {
			us = -us
		}
		return number{stamp: stamp{us, 0}, ok: true}
	}
	if text[i] != '.' {
		return parseSlow(text)
	}
	i++
	point := i
	var frac int64
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		if i-point >= 6 {
			return parseSlow(text)
		}
		frac = frac*10 + int64(text[i]-'0')
	}
	if i != len(text) || i == point {
		return parseSlow(text)
	}
	if us > maxUS {
		return number{}
	}
	n := number{decimals: i - point, ok: true}
	n.stamp = signed(us, frac*pow10[6-n.decimals], neg)
	return n
}

// signed makes a stamp of a magnitude.
func signed(us, ps int64, neg bool) stamp {
	if neg {
		us, ps = -us, -ps
		if ps < 0 {
			us, ps = us-1, ps+1e6
		}
	}
	return stamp{us, int32(ps)}
}

// parseSlow reads any decimal number, with an exponent or with more digits than a picosecond has.
func parseSlow(text []byte) number {
	i, neg := 0, false
	if i < len(text) && text[i] == '-' {
		neg = true
		i++
	}
	// significant digits without leading zeros; the value is 0.d1d2d3... * 10^exp
	var digits [40]byte
	count, exp, seen, point, rest := 0, 0, 0, -1, false
	decimals := 0
	for ; i < len(text); i++ {
		c := text[i]
		if c == '.' {
			if point >= 0 {
				return number{}
			}
			point = i
			continue
		}
		if c-'0' > 9 {
			break
		}
		seen++
		if point >= 0 {
			decimals++
		}
		if count == 0 && c == '0' {
			if point >= 0 {
				exp--
			}
			continue
		}
		if point < 0 {
			exp++
		}
		if count < len(digits) {
			digits[count] = c - '0'
			count++
		} else if c != '0' {
			rest = true
		}
	}
	if seen == 0 {
		return number{}
	}
	if i < len(text) {
		if text[i]|0x20 != 'e' {
			return number{}
		}
		e, err := strconv.Atoi(string(text[i+1:]))
		if err != nil || e > 1<<20 || e < -1<<20 {
			if err != nil && !isRange(err) {
				return number{}
			}
			if e > 0 && count > 0 {
				return number{}
			}
			e = -1 << 20 // far below a picosecond, or zero
		}
		exp += e
		decimals = max(decimals-e, 0)
	}
	n := number{decimals: decimals, ok: true}
	if count == 0 {
		return n
	}
	if exp > 16 {
		return number{}
	}
	var us, ps int64
	for k := 0; k < exp+6; k++ {
		d := int64(0)
		if k < count {
			d = int64(digits[k])
		}
		if k < exp {
			us = us*10 + d
		} else {
			ps = ps*10 + d
		}
	}
	next := exp + 6 // the first digit beyond the picosecond
	if next < count {
		for _, d := range digits[max(next, 0):count] {
			if d != 0 {
				n.rounded = true
			}
		}
	}
	n.rounded = n.rounded || rest
	if next >= 0 && next < count && digits[next] >= 5 {
		if ps++; ps == 1e6 {
			us, ps = us+1, 0
		}
	}
	if us > maxUS {
		return number{}
	}
	n.stamp = signed(us, ps, neg)
	return n
}

func isRange(err error) bool {
	ne, ok := err.(*strconv.NumError)
	return ok && ne.Err == strconv.ErrRange
}
