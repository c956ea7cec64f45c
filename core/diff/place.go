package diff

import "github.com/prlx-go/prlx/core/recording/script"

// maxSlide is how far a gap is moved at most.
const maxSlide = 1 << 16

// place moves the gaps of a script to where they belong. A run that one side lacks can often stand at several places: among the
// iterations of a loop, say, of which one more was run. All places cost the same edits, but they pair other events with each
// other. Of the places a gap can take, the one counts at which the fewest pairs differ in decision, lanes or value.
//
// Among equals, what the streams show when they are read side by side decides: when the first pair that differs is one of the
// same site, the gap comes as soon as possible after it, so that it is reported as what it is; otherwise the gap comes as late as
// possible before it. Either way the first divergence of two streams is where they first differ, read side by side.
//
// A gap keeps at least one pair between it and its neighbours, and a place where events are replaced is not moved.
func (p *streams) place(edits script.Script, keys keysOf) {
	for n := range edits {
		e := &edits[n]
		if e.Del != 0 && e.Ins != 0 {
			continue
		}
		low, high := 0, min(p.a.n-int(e.A+e.Del), p.b.n-int(e.B+e.Ins))
		if n > 0 {
			low = int(edits[n-1].A+edits[n-1].Del) + 1
		}
		if n+1 < len(edits) {
			high = int(edits[n+1].A-e.A-e.Del) - 1
		}
		p.slide(e, int(e.A)-low, high, keys)
	}
}

// keysOf gives the keys by which events were aligned.
type keysOf interface {
	keyA(i int) uint32
	keyB(j int) uint32
}

// slide moves one gap by up to back or ahead pairs.
func (p *streams) slide(e *script.Edit, back, ahead int, keys keysOf) {
	back, ahead = min(back, maxSlide, int(e.B)), min(ahead, maxSlide)
	left, right := 0, 0
	for left < back && p.sameEnds(e, -left-1, keys) {
		left++
	}
	for right < ahead && p.sameEnds(e, right, keys) {
		right++
	}
	if left+right == 0 {
		return
	}
	// Step k takes the pair at k from behind the gap before it. The cost is that of the leftmost place to begin with.
	cost, best, clean := 0, 0, true
	at, behindFirst := -left, false // the best place, and whether it is behind the first pair that differs
	for k := -left; k < right; k++ {
		if p.differ(int(e.A)+k, int(e.B)+k) != 0 {
			cost++
			clean = false
		}
		if p.differ(int(e.A+e.Del)+k, int(e.B+e.Ins)+k) != 0 {
			cost--
		}
		if cost < best || cost == best && !behindFirst {
			best, at, behindFirst = cost, k+1, !clean
		}
	}
	e.A += int32(at)
	e.B += int32(at)
}

// sameEnds reports whether the gap can be moved over the pair at offset k from its beginning: what leaves the gap at one end must
// be what enters it at the other.
func (p *streams) sameEnds(e *script.Edit, k int, keys keysOf) bool {
	if e.Del > 0 {
		return keys.keyA(int(e.A)+k) == keys.keyA(int(e.A+e.Del)+k)
	}
	return keys.keyB(int(e.B)+k) == keys.keyB(int(e.B+e.Ins)+k)
}
