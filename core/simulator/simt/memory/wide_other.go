//go:build !amd64

package memory

import "github.com/prlx-go/prlx/core/simulator/simt/lane"

func quietWide(cells *[lane.Lanes]cell, state *[lane.Lanes]uint32, known uint64) bool {
	return quietInGo(cells, state, known)
}

func fillWide(cells *[lane.Lanes]cell, state *[lane.Lanes]uint32, write uint64, st uint32) {
	fillInGo(cells, state, write, st)
}
