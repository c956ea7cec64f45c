package figure_test

import (
	"math"
	"testing"

	"github.com/prlx-go/prlx/core/report/figure"
)

func TestCount(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{figure.Count(0), "0"},
		{figure.Count(999), "999"},
		{figure.Count(1000), "1\u202f000"},
		{figure.Count(-1234567), "\u22121\u202f234\u202f567"},
		{figure.Count(int64(math.MinInt64)), "\u22129\u202f223\u202f372\u202f036\u202f854\u202f775\u202f808"},
		{figure.Count(uint64(math.MaxUint64)), "18\u202f446\u202f744\u202f073\u202f709\u202f551\u202f615"},
		{figure.Plural(1, "step", "steps"), "1 step"},
		{figure.Plural(0, "step", "steps"), "0 steps"},
		{figure.Plural(int64(12345), "step", "steps"), "12\u202f345 steps"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		ns   float64
		want string
	}{
		{0, "0\u00a0ns"},
		{999, "999\u00a0ns"},
		{1000, "1.00\u00a0µs"},
		{-12345, "\u221212.3\u00a0µs"},
		{123456789, "123\u00a0ms"},
		{9.5e9, "9.50\u00a0s"},
		{86400e9, "86400\u00a0s"},
		{math.NaN(), "–"},
		{math.Inf(-1), "–"},
	} {
		if got := figure.Duration(c.ns); got != c.want {
			t.Errorf("%v: got %q, want %q", c.ns, got, c.want)
		}
	}
}

func TestSentence(t *testing.T) {
	for in, want := range map[string]string{"": "", "a b": "A b.", "ärger.": "Ärger.", "9 steps": "9 steps."} {
		if got := figure.Sentence(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
