package sheet

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
)

// TestEveryCellHasItsShade reads the strokes of the map back.
func TestEveryCellHasItsShade(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rows, columns, most = 7, 40, 1_000_000
	costs := make([][]int64, rows)
	for r := range costs {
		costs[r] = make([]int64, columns)
		for c := range costs[r] {
			costs[r][c] = max(0, rng.Int64N(2*most)-most)
		}
	}
	var got [rows][columns]int
	step := regexp.MustCompile(`M(\d+) (\d+)\.5|m(\d+) 0|h(\d+)`)
	for shade := 1; shade <= shades; shade++ {
		r, c := 0, 0
		path := shadePath(costs, columns, shade, most)
		for _, m := range step.FindAllStringSubmatch(path, -1) {
			var a, b int
			switch {
			case m[1] != "":
				fmt.Sscan(m[1]+" "+m[2], &c, &r)
			case m[3] != "":
				fmt.Sscan(m[3], &a)
				c += a
			default:
				fmt.Sscan(m[4], &b)
				for range b {
					got[r][c] = shade
					c++
				}
			}
		}
		if left := step.ReplaceAllString(path, ""); left != "" {
			t.Errorf("%q is not a stroke", left)
		}
	}
	for r := range costs {
		for c, ns := range costs[r] {
			if want := shadeOf(ns, most); got[r][c] != want {
				t.Errorf("row %d, column %d costs %d: shade %d, not %d", r, c, ns, got[r][c], want)
			}
			if s := shadeOf(ns, most); s > 0 && (ns > shadeEnd(s, most) || s > 1 && ns < shadeEnd(s-1, most)) {
				t.Errorf("%d ns have shade %d, which the legend calls %d to %d", ns, s, shadeEnd(s-1, most), shadeEnd(s, most))
			}
		}
	}
}
