package source

import (
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD, control characters escapes; everything
// else is written as it is.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\ufffd"...)
			i++
			start = i
			continue
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// AppendMicros appends the time from base (ns) to i in microseconds, with as many decimals as it takes. ok is false, and nothing
// appended, when that is more than 292 years.
func AppendMicros(dst []byte, i Instant, baseNS int64) (out []byte, ok bool) {
	d := i.NS - baseNS
	if (i.NS >= baseNS) != (d >= 0) {
		return dst, false
	}
	us, ns := d/1000, d%1000
	if ns < 0 {
		us, ns = us-1, ns+1000
	}
	return AppendStamp(dst, us, int32(ns)*1000+i.PS, 0), true
}

var pow10 = [...]int64{1, 10, 100, 1e3, 1e4, 1e5, 1e6}

// AppendStamp prints us + ps/1e6 microseconds, 0 <= ps < 1e6, with at least decimals digits after the point (at most six are ever
// needed; a number that was written with more is printed with as many as its value takes).
func AppendStamp(dst []byte, us int64, ps int32, decimals int) []byte {
	rest := int64(ps)
	if us < 0 {
		dst = append(dst, '-')
		us = -us
		if rest > 0 {
			us, rest = us-1, 1e6-rest
		}
	}
	dst = strconv.AppendInt(dst, us, 10)
	if decimals > 6 {
		decimals = 0
	}
	if rest == 0 && decimals == 0 {
		return dst
	}
	n := 6
	for n > decimals && rest%10 == 0 {
		rest /= 10
		n--
	}
	dst = append(dst, '.')
	for k := n - 1; k >= 0; k-- {
		dst = append(dst, byte('0'+rest/pow10[k]%10))
	}
	return dst
}
