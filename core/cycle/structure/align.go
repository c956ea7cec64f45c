package structure

// Segment is a stretch of an edited repetition whose kernels stand at their places: kernel off+i has slot slot+i.
type Segment struct{ Slot, Off, N int32 }

// maxAlignEdits bounds the edits of an alignment: it takes their square in memory.
const maxAlignEdits = 2000

// Align aligns a text with a word by the greedy O(ND) method of Myers and returns what they share, in order. Beyond limit edits only
// the common beginning and end are taken.
func Align(text, word []uint32, limit int) []Segment {
	n, m := len(text), len(word)
	limit = min(limit, n+m, maxAlignEdits)
	v := make([]int32, 2*limit+3)
	mid := limit + 1
	var trace [][]int32
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || (k != d && v[mid+k-1] < v[mid+k+1]) {
				x = int(v[mid+k+1])
			} else {
				x = int(v[mid+k-1]) + 1
			}
			y := x - k
			for x < n && y < m && y >= 0 && text[x] == word[y] {
				x++
				y++
			}
			v[mid+k] = int32(x)
			if x >= n && y >= m {
				return walkBack(append(trace, row(v, mid, d)), d, k, n)
			}
		}
		trace = append(trace, row(v, mid, d))
	}
	return ends(text, word)
}

// row keeps the diagonals -d..d.
func row(v []int32, mid, d int) []int32 {
	return append([]int32(nil), v[mid-d:mid+d+1]...)
}

func walkBack(trace [][]int32, d, k, x int) []Segment {
	var out []Segment
	add := func(fromX, fromY, toX int) {
		if toX > fromX {
			out = append(out, Segment{Slot: int32(fromY), Off: int32(fromX), N: int32(toX - fromX)})
		}
	}
	for ; d > 0; d-- {
		prev := trace[d-1]
		at := func(k int) int32 {
			if k < -(d-1) || k > d-1 {
				return -1
			}
			return prev[k+d-1]
		}
		from, pk := 0, 0
		if k == -d || (k != d && at(k-1) < at(k+1)) {
			pk = k + 1
			from = int(at(pk)) // y grows
		} else {
			pk = k - 1
			from = int(at(pk)) + 1 // x grows
		}
		add(from, from-k, x)
		x = int(at(pk))
		k = pk
	}
	add(0, 0, x)
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// ends is the common beginning and the common end.
func ends(text, word []uint32) []Segment {
	n := min(len(text), len(word))
	i := 0
	for i < n && text[i] == word[i] {
		i++
	}
	j := 0
	for j < n-i && text[len(text)-1-j] == word[len(word)-1-j] {
		j++
	}
	var out []Segment
	if i > 0 {
		out = append(out, Segment{0, 0, int32(i)})
	}
	if j > 0 {
		out = append(out, Segment{int32(len(word) - j), int32(len(text) - j), int32(j)})
	}
	return out
}

// Edits counts what segments leave out: an inserted and a missing kernel side by side are one.
func Edits(segs []Segment, text, word int) int {
	sum, x, y := 0, 0, 0
	for _, s := range segs {
		sum += max(int(s.Off)-x, int(s.Slot)-y)
		x, y = int(s.Off+s.N), int(s.Slot+s.N)
	}
	return sum + max(text-x, word-y)
}
