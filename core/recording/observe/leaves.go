package observe

import "slices"

// Hashes are those of the sites of one function. What a value is made of is found once for all sites that use it.
type Hashes[V comparable] struct {
	code   Code[V]
	names  []string // of leaves
	number map[string]int
	nodes  []node[V]
	of     map[V]int32 // nodes by their value
	stack  []int32     // nodes whose component is not known yet
}

// node is a value on the way to its leaves: one of a graph with circles, whose components Tarjan's algorithm finds.
type node[V comparable] struct {
	inputs []V
	next   int   // of the inputs, the one to look at
	low    int32 // the first node that is reached from here and whose component is not known
	open   bool  // the component is not known
	set    leafSet
}

// leafSet is a set of leaves by their numbers.
type leafSet struct {
	low  uint64
	more []uint64
}

// NewHashes are those of a function whose code this is.
func NewHashes[V comparable](c Code[V]) *Hashes[V] {
	return &Hashes[V]{code: c, number: map[string]int{}, of: map[V]int32{}}
}

func (s *leafSet) add(n int) {
	if n < 64 {
		s.low |= 1 << n
		return
	}
	for len(s.more) < n/64 {
		s.more = append(s.more, 0)
	}
	s.more[n/64-1] |= 1 << (n % 64)
}

func (s *leafSet) unite(o *leafSet) {
	s.low |= o.low
	for len(s.more) < len(o.more) {
		s.more = append(s.more, 0)
	}
	for i, word := range o.more {
		s.more[i] |= word
	}
}

func (s *leafSet) has(n int) bool {
	if n < 64 {
		return s.low>>n&1 != 0
	}
	return n/64 <= len(s.more) && s.more[n/64-1]>>(n%64)&1 != 0
}

// leaves are what values are made of, in the order of their text.
func (s *Hashes[V]) leaves(values []V) []string {
	var all leafSet
	for _, v := range values {
		all.unite(&s.nodes[s.find(v)].set)
	}
	var found []string
	for n, name := range s.names {
		if all.has(n) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// enter begins with a value.
func (s *Hashes[V]) enter(v V) int32 {
	n := int32(len(s.nodes))
	one := node[V]{low: n, open: true}
	from := s.code.Source(v)
	switch text, ends := leaf(from.Origin, from.Name, from.Lanes); {
	case from.Same != nil:
		one.inputs = []V{*from.Same}
	case ends && text != "":
		number, ok := s.number[text]
		if !ok {
			number = len(s.names)
			s.number[text], s.names = number, append(s.names, text)
		}
		one.set.add(number)
	case !ends:
		one.inputs = append(from.Inputs[:len(from.Inputs):len(from.Inputs)], from.Around...)
	}
	s.nodes, s.of[v], s.stack = append(s.nodes, one), n, append(s.stack, n)
	return n
}

// find is the node of a value, with its leaves.
func (s *Hashes[V]) find(v V) int32 {
	if n, ok := s.of[v]; ok {
		return n
	}
	way := []int32{s.enter(v)}
	for {
		n := way[len(way)-1]
		one := &s.nodes[n]
		if one.next < len(one.inputs) {
			input := one.inputs[one.next]
			one.next++
			k, ok := s.of[input]
			if !ok {
				way = append(way, s.enter(input))
				continue
			}
			s.reached(n, k)
			continue
		}
		if one.low == n {
			s.close(n)
		}
		if way = way[:len(way)-1]; len(way) == 0 {
			return n
		}
		s.reached(way[len(way)-1], n)
	}
}

// reached says that one node has another as its input.
func (s *Hashes[V]) reached(from, to int32) {
	if s.nodes[to].open {
		s.nodes[from].low = min(s.nodes[from].low, s.nodes[to].low)
		return
	}
	s.nodes[from].set.unite(&s.nodes[to].set)
}

// close gives the nodes of a component, from the first one on, the leaves of all of them.
func (s *Hashes[V]) close(first int32) {
	at := slices.Index(s.stack, first)
	var all leafSet
	for _, n := range s.stack[at:] {
		all.unite(&s.nodes[n].set)
	}
	for _, n := range s.stack[at:] {
		s.nodes[n].set, s.nodes[n].open, s.nodes[n].inputs = all, false, nil
	}
	s.stack = s.stack[:at]
}
