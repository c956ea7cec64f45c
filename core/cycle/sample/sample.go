// Package sample describes samples of times: mean, deviation, percentiles by nearest rank.
package sample

import (
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
)

// Describe measures a sample; it may change the order of the values.
func Describe(values []int64) cycledoc.Times {
	n := len(values)
	if n == 0 {
		return cycledoc.Times{}
	}
	t := cycledoc.Times{Count: int64(n), Min: values[0], Max: values[0]}
	// Sums of deviations from the first value are small numbers: no digits are lost for times of the same size.
	base := values[0]
	sum, squares := 0.0, 0.0
	for _, v := range values {
		t.Min, t.Max = min(t.Min, v), max(t.Max, v)
		d := float64(v - base)
		sum += d
		squares += d * d
	}
	mean := sum / float64(n)
	t.Mean = float64(base) + mean
	t.StdDev = math.Sqrt(max(0, squares/float64(n)-mean*mean))
	if t.Min == t.Max {
		t.StdDev = 0
	}
	if t.Mean != 0 {
		t.CV = t.StdDev / t.Mean
	}
	t.P50 = nth(values, rank(n, 50))
	t.P99 = nth(values, rank(n, 99))
	return t
}

// rank is the place of a percentile in a sorted sample of n values, by nearest rank.
func rank(n, percent int) int { return (n*percent+99)/100 - 1 }

// Median is the 50th percentile; it may change the order of the values.
func Median(values []int64) int64 {
	if len(values) == 0 {
		return 0
	}
	return nth(values, rank(len(values), 50))
}

const (
	sortedBelow = 24 // values that are sorted rather than parted
	maxPivots   = 64 // times that values are parted before all that is left is sorted
)

// nth returns the value that would stand at place k if the values were sorted. It partly sorts them.
func nth(v []int64, k int) int64 {
	for tries := 0; len(v) > sortedBelow; tries++ {
		if tries > maxPivots { // they were bad again and again
			break
		}
		pivot := middle(v[0], v[len(v)/2], v[len(v)-1])
		less, i, more := 0, 0, len(v)
		for i < more { // three parts: below, equal, above
			switch x := v[i]; {
			case x < pivot:
				v[less], v[i] = x, v[less]
				less++
				i++
			case x > pivot:
				more--
				v[i], v[more] = v[more], x
			default:
				i++
			}
		}
		switch {
		case k < less:
			v = v[:less]
		case k >= more:
			v, k = v[more:], k-more
		default:
			return pivot
		}
	}
	slices.Sort(v)
	return v[k]
}

func middle(a, b, c int64) int64 { return max(min(a, b), min(max(a, b), c)) }
