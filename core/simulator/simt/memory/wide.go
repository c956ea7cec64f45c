package memory

import "github.com/prlx-go/prlx/core/simulator/simt/lane"

// Loops over the granules of a whole warp that are also in assembly.

// quiet reports whether nobody accessed any of some granules after the marks of known, and none of them is extraordinary.
func quiet(cells *[lane.Lanes]cell, state *[lane.Lanes]uint32, known uint64) bool {
	if lane.Wide() {
		return quietWide(cells, state, known)
	}
	return quietInGo(cells, state, known)
}

func quietInGo(cells *[lane.Lanes]cell, state *[lane.Lanes]uint32, known uint64) bool {
	for i := range cells {
		if c := &cells[i]; state[i]&extraordinary != 0 || c.write > known || c.read > known {
			return false
		}
	}
	return true
}

// fill notes one writer of some granules, and no readers.
func fill(cells *[lane.Lanes]cell, state *[lane.Lanes]uint32, write uint64, st uint32) {
	if lane.Wide() {
		fillWide(cells, state, write, st)
		return
	}
	fillInGo(cells, state, write, st)
}

func fillInGo(cells *[lane.Lanes]cell, state *[lane.Lanes]uint32, write uint64, st uint32) {
	for i := range cells {
		cells[i] = cell{write: write}
		state[i] = st
	}
}
