package report

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/prlx-go/prlx/core/report/figure"
)

// minus is the minus sign of typography; the hyphen that strconv writes is narrower than a digit.
const minus = "\u2212"

var units = []struct {
	name string
	ns   float64
}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}}

// duration writes ns with three or more significant digits and the unit that fits.
func duration(ns int64) string {
	if ns == 0 {
		return "0"
	}
	v := math.Abs(float64(ns))
	for _, u := range units {
		if v >= u.ns {
			return signed(ns, digits(v/u.ns)+"\u00a0"+u.name)
		}
	}
	return signed(ns, digits(v)+"\u00a0ns")
}

// withSign is duration with a plus sign for positive values.
func withSign(ns int64) string {
	if ns > 0 {
		return "+" + duration(ns)
	}
	return duration(ns)
}

func signed(ns int64, text string) string {
	if ns < 0 {
		return minus + text
	}
	return text
}

// digits writes v >= 0 with three significant digits, or all digits before the point.
func digits(v float64) string {
	switch {
	case v >= 99.95 || v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// ppm writes a drift.
func ppm(v float64) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', 2, 64)
	switch {
	case text == "0.00":
		return "0"
	case v < 0:
		return minus + text + "\u00a0ppm"
	}
	return "+" + text + "\u00a0ppm"
}

// percent writes a share; it says 100 only when nothing is missing.
func percent(share float64) string {
	switch {
	case share >= 1:
		return "100\u00a0%"
	case share <= 0:
		return "0\u00a0%"
	}
	return strconv.FormatFloat(min(math.Floor(share*10000)/100, 99.99), 'f', 2, 64) + "\u00a0%"
}

// size writes a number of bytes.
func size(bytes int64) string {
	for _, u := range []struct {
		name string
		n    float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if v := float64(bytes); v >= u.n {
			return digits(v/u.n) + "\u00a0" + u.name
		}
	}
	return figure.Count(bytes) + "\u00a0B"
}

// shellQuote quotes a path for a POSIX shell where it needs it.
func shellQuote(path string) string {
	plain := func(r rune) bool {
		return r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./+=:,@%", r))
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
