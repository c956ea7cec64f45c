// Package event is the small in-memory model of timeline events that analyses share: spans of collectives and a table of
// columns. It reads no format, knows no file and holds no more rows than it was told to; what does not fit is counted.
package event

import "strings"

// Kind is what a collective does, which decides the order that its members must keep.
type Kind uint8

// The kinds. Unknown is a collective of which only the existence is known: it can be matched, not judged.
const (
	Unknown       Kind = iota
	AllReduce          // everyone gives to everyone
	AllGather          // everyone gives to everyone
	ReduceScatter      // everyone gives to everyone
	AllToAll           // everyone gives to everyone
	Barrier            // everyone waits for everyone
	Broadcast          // the root gives to everyone
	Scatter            // the root gives to everyone
	Reduce             // everyone gives to the root
	Gather             // everyone gives to the root
	Permute            // each source gives to its target
	SendRecv           // each sender gives to its receiver
)

var kindNames = [...]string{
	"unknown", "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "barrier", "broadcast", "scatter", "reduce",
	"gather", "permute", "send-recv",
}

// String returns the name that documents use.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[Unknown]
}

// Symmetric reports whether every member waits for every other.
func (k Kind) Symmetric() bool { return k >= AllReduce && k <= Barrier }

// RootGives reports whether the root's data reaches every member (broadcast, scatter).
func (k Kind) RootGives() bool { return k == Broadcast || k == Scatter }

// RootTakes reports whether every member's data reaches the root (reduce, gather).
func (k Kind) RootTakes() bool { return k == Reduce || k == Gather }

// Paired reports whether the order holds between sources and targets only (permute, send-recv).
func (k Kind) Paired() bool { return k == Permute || k == SendRecv }

// Span is one execution of a collective on one device, on the clock of its recording.
type Span struct {
	Node, Device int32 // Device is the ordinal within the node
	Plane, Line  int32 // where in the node's file the event lies: its clock may depend on it
	Op           int32 // index into whatever list of operations the reader keeps
	HasRun       bool
	Run          int64 // the launch, equal on all nodes; only when HasRun
	StartNS      int64 // absolute ns, rounded down
	EndNS        int64 // absolute ns, rounded up, so that rounding never makes an order impossible
	Size         int64 // elements of the message, 0 unknown: a witness against wrong matches
	ElementBytes uint8 // bytes of an element, 0 unknown
}

// Before orders spans by node, device, start, end, place; a total order for spans that differ in any of them.
func (s *Span) Before(o *Span) bool {
	switch {
	case s.Node != o.Node:
		return s.Node < o.Node
	case s.Device != o.Device:
		return s.Device < o.Device
	case s.StartNS != o.StartNS:
		return s.StartNS < o.StartNS
	case s.EndNS != o.EndNS:
		return s.EndNS < o.EndNS
	case s.Plane != o.Plane:
		return s.Plane < o.Plane
	}
	return s.Line < o.Line
}

// names gives small numbers to strings, in order of first appearance.
type names struct {
	list []string
	ids  map[string]int32
}

// id returns the number of a name. The string is copied, so it may alias a buffer.
func (n *names) id(name string) int32 {
	if id, ok := n.ids[name]; ok {
		return id
	}
	if n.ids == nil {
		n.ids = map[string]int32{}
	}
	name = strings.Clone(name)
	id := int32(len(n.list))
	n.list = append(n.list, name)
	n.ids[name] = id
	return id
}

// All returns the names by number.
func (n *names) All() []string { return n.list }
