package straggler

import "testing"

func TestDurationsHaveFourDigitsAndAUnit(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0 ns", 1: "1 ns", -7: "-7 ns", 999: "999 ns", 1000: "1.000 us", 5_012_900: "5.013 ms", 535_785_000: "535.8 ms", 999_960_000: "1.000 s", 999_940_000: "999.9 ms",
		4_984_148_000: "4.984 s", 99_996_000_000: "100.0 s", 7_200_000_000_000: "7200 s", -1_500_000: "-1.500 ms",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("%d ns is written %q, want %q", ns, got, want)
		}
	}
}
