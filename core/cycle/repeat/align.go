package repeat

// snake is a stretch in which text and word agree.
type snake struct{ x, y, n int }

// aligner aligns a text with a word said several times, by the greedy O(ND) method of Myers: as few inserted and missing symbols as
// possible, at most limit.
type aligner struct {
	v      []int
	trace  []int
	snakes []snake // of the last alignment, in order
	budget int     // steps that may still be made
	text   []uint32
	word   []uint32
}

// align aligns text with times repetitions of word. With open, the end of the text is free: as much of it is used as fits best. It
// returns how much of the text was used; snakes then hold the way.
func (a *aligner) align(text, word []uint32, times, limit int, open bool) (used int, ok bool) {
	a.text, a.word = text, word
	n, m := len(text), len(word)*times
	limit = min(limit, n+m)
	a.budget -= limit
	a.v = append(a.v[:0], make([]int, 2*limit+3)...)
	a.trace = a.trace[:0]
	v, mid := a.v, limit+1
	v[mid+1] = 0
	for d := 0; d <= limit && a.budget > 0; d++ {
		a.budget -= d + 1
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || (k != d && v[mid+k-1] < v[mid+k+1]) {
				x = v[mid+k+1]
			} else {
				x = v[mid+k-1] + 1
			}
			y := x - k
			for x < n && y < m && y >= 0 && text[x] == word[y%len(word)] {
				x++
				y++
				a.budget--
			}
			v[mid+k] = x
		}
		a.trace = append(a.trace, v[mid-d:mid+d+1]...)
		if k, found := a.reached(d, mid, n, m, open); found {
			a.walk(d, k)
			return v[mid+k], true
		}
	}
	return 0, false
}

// reached looks for a diagonal that arrived; with open the one nearest to no shift.
func (a *aligner) reached(d, mid, n, m int, open bool) (int, bool) {
	if !open {
		k := n - m
		if k < -d || k > d || (k-d)%2 != 0 {
			return 0, false
		}
		return k, a.v[mid+k] == n && n-k == m
	}
	for s := d & 1; s <= d; s += 2 {
		for _, k := range [2]int{s, -s} {
			if x := a.v[mid+k]; x <= n && x-k == m {
				return k, true
			}
		}
	}
	return 0, false
}

// walk goes back from the end and fills snakes.
func (a *aligner) walk(d, k int) {
	a.snakes = a.snakes[:0]
	row := func(d int) []int { return a.trace[d*d : (d+1)*(d+1)] } // rows have 1, 3, 5, ... entries
	for ; d > 0; d-- {
		x := row(d)[k+d]
		prev := row(d - 1)
		at := func(k int) int {
			if k < -(d-1) || k > d-1 {
				return -1
			}
			return prev[k+d-1]
		}
		down := k == -d || (k != d && at(k-1) < at(k+1))
		from := 0
		if down {
			k++
			from = at(k)
		} else {
			k--
			from = at(k) + 1
		}
		kk := k
		if down {
			kk--
		} else {
			kk++
		}
		a.snakes = append(a.snakes, snake{from, from - kk, x - from})
	}
	x := row(0)[0]
	a.snakes = append(a.snakes, snake{0, 0, x})
	for i, j := 0, len(a.snakes)-1; i < j; i, j = i+1, j-1 {
		a.snakes[i], a.snakes[j] = a.snakes[j], a.snakes[i]
	}
}

// place returns where in the text the symbol y of the word lies; of a missing one, where it would be.
func (a *aligner) place(y, end int) int {
	for i := range a.snakes { // few
		if s := a.snakes[i]; s.n > 0 && y < s.y+s.n {
			if y < s.y {
				return s.x
			}
			return s.x + y - s.y
		}
	}
	return end
}

// edits counts the edits at symbols [from, to) of the word; an inserted and a missing symbol side by side are one, and so are two symbols
// that changed places. What is inserted in front of a symbol belongs to the repetition before it, as place has it.
func (a *aligner) edits(from, to, textEnd, wordEnd int) int {
	sum, x, y := 0, 0, 0
	var missed, added uint32 // the symbol of the last edit, if it was the only one, and matched one symbol before the next
	var hadMissed, hadAdded bool
	count := func(x2, y2 int) {
		inserted, missing := 0, min(y2, to)-max(y, from)
		if from < y && y <= to || from == 0 && y == 0 {
			inserted = x2 - x
		}
		switch {
		case inserted == 1 && y2 == y && hadMissed && missed == a.text[x], missing == 1 && x2 == x && y2 == y+1 && hadAdded && added == a.word[y%len(a.word)]:
			hadMissed, hadAdded = false, false
			return
		}
		sum += max(0, inserted, missing)
		if hadMissed = missing == 1 && x2 == x && y2 == y+1; hadMissed {
			missed = a.word[y%len(a.word)]
		}
		if hadAdded = inserted == 1 && y2 == y; hadAdded {
			added = a.text[x]
		}
	}
	for _, s := range a.snakes {
		if s.n == 0 {
			continue
		}
		count(s.x, s.y)
		if s.n > 1 {
			hadMissed, hadAdded = false, false
		}
		x, y = s.x+s.n, s.y+s.n
	}
	count(textEnd, wordEnd)
	return sum
}
