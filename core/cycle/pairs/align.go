package pairs

import "slices"

// cyclicScores is, for every rotation r of b, the length of the longest common subsequence of a and b rotated left by r.
//
// It combs the alignment grid of a against b twice (Tiskin, "Semi-local string comparison", 2008): every strand starts at the left or at the
// top and crosses others at most once; at a match two strands swap without crossing. LCS(a, bb[i:j]) is j-i less the strands that
// start at or behind i and end before j. One pass in O(len(a)*len(b)) answers all rotations.
func cyclicScores(a, b []int32) []int {
	m, n := len(a), len(b)
	down := make([]int32, 2*n) // the strand in each column
	right := make([]int32, m)  // the strand in each row
	for i := range right {
		right[i] = int32(m - 1 - i)
	}
	for j := range down {
		down[j] = int32(m + j)
	}
	bb := slices.Concat(b, b)
	for i, x := range a {
		h := right[i]
		for j, y := range bb {
			v := down[j]
			if x == y || h > v {
				h, down[j] = v, h
			}
		}
		right[i] = h
	}
	change := make([]int, n+1)
	for end, strand := range down {
		start := int(strand) - m
		if start < 0 {
			continue
		}
		from, to := max(0, end-n+1), min(n-1, start)
		if from <= to {
			change[from]++
			change[to+1]--
		}
	}
	out := make([]int, n)
	missing := 0
	for r := range out {
		missing += change[r]
		out[r] = n - missing
	}
	return out
}

// rotation is the rotation of b that shares most with a: by loose keys, then by strict ones, then the smallest.
func rotation(a, b keys) int {
	loose, strict := cyclicScores(a.loose, b.loose), cyclicScores(a.strict, b.strict)
	best := 0
	for r := range loose {
		if loose[r] > loose[best] || loose[r] == loose[best] && strict[r] > strict[best] {
			best = r
		}
	}
	return best
}

// pair is one step of an alignment: slots of a and b, -1 where the other side has none.
type pair struct{ a, b int }

const (
	stepPair = iota
	stepA
	stepB
)

// aligned aligns a with b rotated left by r: as many pairs of one loose key as possible, among those as many of one strict key.
func aligned(a, b keys, r int) []pair {
	m, n := len(a.loose), len(b.loose)
	const looseWeight = 1 << 14 // above the number of strict pairs that maxPeriod allows
	step := make([]uint8, (m+1)*(n+1))
	row, above := make([]int32, n+1), make([]int32, n+1)
	for i := 1; i <= m; i++ {
		row, above = above, row
		row[0] = 0
		for j := 1; j <= n; j++ {
			best, how := above[j], uint8(stepA)
			if row[j-1] > best {
				best, how = row[j-1], stepB
			}
			if k := (j - 1 + r) % n; a.loose[i-1] == b.loose[k] {
				s := above[j-1] + looseWeight
				if a.strict[i-1] == b.strict[k] {
					s++
				}
				if s >= best {
					best, how = s, stepPair
				}
			}
			row[j], step[i*(n+1)+j] = best, how
		}
	}
	var out []pair
	for i, j := m, n; i > 0 || j > 0; {
		switch {
		case j == 0 || i > 0 && step[i*(n+1)+j] == stepA:
			i--
			out = append(out, pair{i, -1})
		case i == 0 || step[i*(n+1)+j] == stepB:
			j--
			out = append(out, pair{-1, (j + r) % n})
		default:
			i--
			j--
			out = append(out, pair{i, (j + r) % n})
		}
	}
	slices.Reverse(out)
	return out
}
