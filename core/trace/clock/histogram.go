package clock

import (
	"math"
	"math/bits"
)

// Histogram keeps bounds (ns, >= 0) in buckets of 1/16 of an octave, so a quantile is at most 6.3 % above the truth; the maximum
// is exact. It is small until it holds more than a few different values: a trace may have a hundred thousand lines.
type Histogram struct {
	few    [fewBuckets]bucketCount // while counts is nil
	used   int
	counts []int64
	n, max int64
}

type bucketCount struct {
	bucket int
	n      int64
}

const (
	fewBuckets = 6
	allBuckets = 16 * 61
)

// Add counts one value; negative ones count as 0.
func (h *Histogram) Add(v int64) {
	v = max(v, 0)
	h.max = max(h.max, v)
	h.add(bucket(v), 1)
}

// AddRun counts n values that share a bucket, of which the largest is given.
func (h *Histogram) AddRun(largest, n int64) {
	largest = max(largest, 0)
	h.max = max(h.max, largest)
	h.add(bucket(largest), n)
}

// Bucket returns the smallest and the largest value that share a bucket with v.
func Bucket(v int64) (from, to int64) {
	b := bucket(max(v, 0))
	if b == 0 {
		return math.MinInt64, 0
	}
	return ceiling(b-1) + 1, ceiling(b)
}

func (h *Histogram) add(b int, n int64) {
	h.n += n
	if h.counts != nil {
		h.counts[b] += n
		return
	}
	at := 0
	for at < h.used && h.few[at].bucket < b {
		at++
	}
	if at < h.used && h.few[at].bucket == b {
		h.few[at].n += n
		return
	}
	if h.used < fewBuckets { // kept by value, so that the same counts are the same histogram in whatever order they came
		copy(h.few[at+1:h.used+1], h.few[at:h.used])
		h.few[at] = bucketCount{b, n}
		h.used++
		return
	}
	h.counts = make([]int64, allBuckets)
	for _, f := range h.few {
		h.counts[f.bucket] += f.n
	}
	h.counts[b] += n
}

func bucket(v int64) int {
	if v < 16 {
		return int(v)
	}
	e := bits.Len64(uint64(v)) - 5
	return (e+1)<<4 + int(v>>e)&15
}

// ceiling returns the largest value of a bucket.
func ceiling(b int) int64 {
	if b < 16 {
		return int64(b)
	}
	e := b>>4 - 1
	return (int64(b&15)+17)<<e - 1
}

// Merge adds the counts of o.
func (h *Histogram) Merge(o *Histogram) {
	o.each(func(b int, n int64) bool { h.add(b, n); return true })
	h.max = max(h.max, o.max)
}

// each visits the buckets that are not empty, by value, until visit returns false.
func (h *Histogram) each(visit func(b int, n int64) bool) {
	if h.counts == nil {
		for _, f := range h.few[:h.used] {
			if !visit(f.bucket, f.n) {
				return
			}
		}
		return
	}
	for b, n := range h.counts {
		if n > 0 && !visit(b, n) {
			return
		}
	}
}

// Quantile returns a value that at least the share q of the values does not exceed, 0 when there are none.
func (h *Histogram) Quantile(q float64) int64 {
	need := int64(math.Ceil(q * float64(h.n)))
	var seen, found int64
	h.each(func(b int, n int64) bool {
		seen, found = seen+n, min(ceiling(b), h.max)
		return seen < need
	})
	return found
}

// Total returns how many values there are.
func (h *Histogram) Total() int64 { return h.n }

// Max returns the largest value.
func (h *Histogram) Max() int64 { return h.max }
