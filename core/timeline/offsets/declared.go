package offsets

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/timeline/clock"
	"github.com/prlx-go/prlx/core/timeline/clockfile"
)

// declaredAtNS is the knot of a declared offset without drift, for which any instant serves (2001-09-09).
const declaredAtNS = int64(1e18)

// FromDeclared makes maps of offsets that somebody states: X = Y + offset + drift*(Y - at), Y being the reference's clock. They
// hold everywhere with the stated bound; without one the bound is unknown, which is a warning and counts as 1 ms. nameToID
// gives the number of a node that is declared under a name without one; nil when there are no such names.
func FromDeclared(d *clockfile.Declared, nameToID func(string) (int, bool), options Options) (*Solution, error) {
	s := &Solution{Reference: max(0, d.Reference), Method: "declared"}
	if d.Reference < 0 {
		s.Reference = zeroNode(d)
	}
	haveRef := false
	for _, dn := range d.Nodes {
		id := dn.Node
		if id < 0 {
			ok := false
			if nameToID != nil {
				id, ok = nameToID(dn.Name)
			}
			if !ok {
				s.warnf("declared node %q is none of the nodes", dn.Name)
				continue
			}
		}
		if id == s.Reference {
			if dn.OffsetNS != 0 || dn.DriftPPM != 0 {
				return nil, fault.New(fault.Alignment, "the reference node %d is declared with an offset of %d ns against itself", id, dn.OffsetNS)
			}
			haveRef = true
			s.Nodes = append(s.Nodes, identity(id))
			continue
		}
		if _, dup := s.find(id); dup {
			return nil, fault.New(fault.Incompatible, "node %d is declared twice", id)
		}
		n := NodeOffsets{Node: id, DriftPPM: dn.DriftPPM, Windows: 1}
		if err := n.declare(dn); err != nil {
			return nil, err
		}
		s.Nodes = append(s.Nodes, n)
	}
	if !haveRef {
		s.Nodes = append(s.Nodes, identity(s.Reference))
	}
	s.sortNodes()
	if options.ReferenceSet && options.Reference != s.Reference {
		return s.Rebase(options.Reference)
	}
	return s, nil
}

// zeroNode is the reference of a file that names none: the first node declared without any error, else node 0.
func zeroNode(d *clockfile.Declared) int {
	for _, n := range d.Nodes {
		if n.Node >= 0 && n.OffsetNS == 0 && n.DriftPPM == 0 {
			return n.Node
		}
	}
	return 0
}

func (n *NodeOffsets) declare(dn clockfile.DeclaredNode) error {
	at, bound := dn.AtNS, dn.BoundNS
	if at == 0 {
		at = declaredAtNS
	}
	if bound < 0 {
		bound = 1_000_000
		n.warnf("declared without bound_ns: 1 ms is assumed")
	}
	if !believable(at, dn.OffsetNS) {
		return fault.New(fault.Alignment, "node %d: at_ns %d with offset_ns %d is no instant that can be aligned", n.Node, at, dn.OffsetNS)
	}
	drift := driftOf(dn.DriftPPM * 1e3)
	return n.build([]clock.Knot{{X: at + dn.OffsetNS, Y: at, BoundNS: bound}}, nil, tail{before: drift, after: drift, covered: true})
}
