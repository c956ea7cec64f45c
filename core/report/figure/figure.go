// Package figure writes numbers for people, alike in all reports: counts with their nouns, times, and sentences around them.
package figure

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Minus is the minus sign of typography; the hyphen that strconv writes is narrower than a digit.
const Minus = "\u2212"

// integer is what Count writes.
type integer interface {
	int | int64 | uint32 | uint64
}

// Count writes an integer with narrow spaces between groups of three digits.
func Count[T integer](v T) string {
	sign, text := "", strconv.FormatUint(uint64(v), 10)
	if v < 0 {
		sign, text = Minus, strconv.FormatUint(-uint64(v), 10)
	}
	var b strings.Builder
	for i, r := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(r)
	}
	return sign + b.String()
}

// Plural writes a number with its noun.
func Plural[T integer](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Duration writes a time in nanoseconds with three digits and the unit that fits; a dash where it is no number.
func Duration[T int64 | float64](ns T) string {
	v := float64(ns)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	sign := ""
	if v < 0 {
		sign, v = Minus, -v
	}
	for _, u := range []struct {
		ns   float64
		unit string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if v < u.ns {
			continue
		}
		digits := 2
		if v >= 100*u.ns {
			digits = 0
		} else if v >= 10*u.ns {
			digits = 1
		}
		return sign + strconv.FormatFloat(v/u.ns, 'f', digits, 64) + "\u00a0" + u.unit
	}
	return sign + strconv.FormatFloat(v, 'f', 0, 64) + "\u00a0ns"
}

// Sentence ends a text with a full stop and begins it with a capital.
func Sentence(s string) string {
	if s == "" {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
