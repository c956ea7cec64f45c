package diff

import "github.com/prlx-go/prlx/core/kernel/diff/script"

// maxSlide is how far a gap is moved at most.
const maxSlide = 1 << 16

// place moves the gaps of a script to where they belong. A run that one side lacks can often stand at several places: among the
// iterations of a loop, say, of which one more was run. All places cost the same edits, but they pair other events with each
// other. Of the places a gap can take, the one counts at which the fewest pairs differ in decision, lanes or value. Among
// equals it is the last one before which every pair is the same, so that the first divergence is where the streams, read
// side by side, first differ; when there is none, the first.
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
	at, atClean := -left, -left
	bestClean := 0
	for k := -left; k < right; k++ {
		before := p.differ(int(e.A)+k, int(e.B)+k) != 0
		behind := p.differ(int(e.A+e.Del)+k, int(e.B+e.Ins)+k) != 0
		if before {
			cost++
		}
		if behind {
			cost--
		}
		clean = clean && !before
		if clean {
			atClean, bestClean = k+1, cost
		}
		if cost < best {
			best, at = cost, k+1
		}
	}
	if bestClean == best {
		at = atClean
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
