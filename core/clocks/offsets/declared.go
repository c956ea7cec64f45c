package offsets

import (
	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// declaredAtNS is the knot of a declared offset without drift, for which any instant serves (2001-09-09).
const declaredAtNS = int64(1e18)

// unseenNode is the number of a reference that is declared under a name which no trace has: above all numbers of nodes.
const unseenNode = clockfile.MaxNode + 2

// FromDeclared makes maps of offsets that somebody states: X = Y + offset + drift*(Y - at), Y being the reference's clock. They
// hold everywhere with the stated bound; without one the bound is unknown, which is a warning and counts as 1 ms. nameToID
// gives the number of a node that is declared under a name without one; nil when there are no such names.
func FromDeclared(d *clockfile.Declared, nameToID func(string) (int, bool), options Options) (*Solution, error) {
	s := &Solution{Method: "declared"}
	ids := numbersOf(d, nameToID)
	var err error
	if s.Reference, s.ReferenceName, err = referenceOf(d, ids, nameToID); err != nil {
		return nil, err
	}
	haveRef := false
	for i, dn := range d.Nodes {
		id := ids[i]
		if s.ReferenceName != "" && dn.Name == s.ReferenceName {
			id = s.Reference
		}
		if id < 0 {
			s.warnf("declared node %q is not one of the nodes", dn.Name)
			continue
		}
		if _, dup := s.find(id); dup {
			return nil, fault.New(fault.Incompatible, "node %d is declared twice", id)
		}
		if id == s.Reference {
			if dn.OffsetNS != 0 || dn.DriftPPM != 0 {
				return nil, fault.New(fault.Alignment, "the reference node %q is declared with an offset of %d ns against itself", dn.Name, dn.OffsetNS)
			}
			haveRef = true
			s.Nodes = append(s.Nodes, identity(id))
			continue
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

// numbersOf gives every declared node its number, -1 where nobody knows its name.
func numbersOf(d *clockfile.Declared, nameToID func(string) (int, bool)) []int {
	ids := make([]int, len(d.Nodes))
	for i, dn := range d.Nodes {
		ids[i] = dn.Node
		if dn.Node < 0 && nameToID != nil {
			if id, ok := nameToID(dn.Name); ok {
				ids[i] = id
			}
		}
	}
	return ids
}

// referenceOf finds the reference as the file states it; in a file that does not, the first node declared without any error, else
// node 0. A declared name that no trace has may be the reference too; it is returned beside its number.
func referenceOf(d *clockfile.Declared, ids []int, nameToID func(string) (int, bool)) (id int, name string, err error) {
	if d.Reference >= 0 {
		return d.Reference, "", nil
	}
	for i, n := range d.Nodes {
		stated := n.Name == d.ReferenceName
		switch {
		case d.ReferenceName == "" && ids[i] >= 0 && n.OffsetNS == 0 && n.DriftPPM == 0, stated && ids[i] >= 0:
			return ids[i], "", nil
		case stated:
			return unseenNode, n.Name, nil
		}
	}
	if d.ReferenceName == "" {
		return 0, "", nil
	}
	if nameToID != nil {
		if id, ok := nameToID(d.ReferenceName); ok {
			return id, "", nil
		}
	}
	return 0, "", fault.New(fault.Incompatible, "the reference %q is neither a declared node nor one of the traces", d.ReferenceName).
		WithHint("name it as [nodes.<id>] does, or as its trace is called")
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
		return fault.New(fault.Alignment, "node %d: at_ns %d with offset_ns %d is not an instant that can be aligned", n.Node, at, dn.OffsetNS)
	}
	drift := driftOf(dn.DriftPPM * 1e3)
	return n.build([]clock.Knot{{X: at + dn.OffsetNS, Y: at, BoundNS: bound}}, nil, tail{before: drift, after: drift, covered: true})
}
