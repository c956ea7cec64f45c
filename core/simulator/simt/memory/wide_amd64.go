package memory

import "github.com/prlx-go/prlx/core/simulator/simt/lane"

//go:noescape
func quietWide(cells *[lane.Lanes]cell, state *[lane.Lanes]uint32, known uint64) bool

//go:noescape
func fillWide(cells *[lane.Lanes]cell, state *[lane.Lanes]uint32, write uint64, st uint32)
