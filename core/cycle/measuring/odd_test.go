package measuring

import (
	"slices"
	"testing"
)

func TestPettittFindsTheChangePoint(t *testing.T) {
	v := make([]int64, 60)
	for i := range v {
		v[i] = int64(i % 7)
		if i >= 22 {
			v[i] += 10
		}
	}
	if at, p := pettitt(v); at != 22 || p > 1e-4 {
		t.Errorf("at %d, p %g", at, p)
	}
	if _, p := pettitt(slices.Repeat([]int64{5}, 40)); p != 1 {
		t.Errorf("equal values: p %g", p)
	}
}
