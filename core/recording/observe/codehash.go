package observe

import (
	"hash/fnv"

	"github.com/prlx-go/prlx/core/recording/site"
)

// What a site does, as its hash has it.
const (
	doesDecide = iota + 1
	doesSwitch
	doesStore
	doesAdd
	doesLoad
	doesOther
)

// Of is a hash over what a site computes, alike whether its code is PTX or LLVM IR, whichever version of a compiler printed it. It
// holds what all of these agree on: whether lanes decide, store or do something atomic; whether a compare asks for equality or for an
// order, of integers or of floats, in 64 bits or fewer; and from what its operands are made, as a set: arguments by position, numbers of
// threads and blocks, loads, atomics, other lanes. Lines, names, opcodes, constants and the order of operands do not count, for the last
// stages of a compiler change all of these. docs/formats/prlx-sites.md has it byte by byte. 0 is no hash.
//
// ty is the type of what is compared, "" where nothing is.
func (s *Hashes[V]) Of(kind site.Kind, compare site.Compare, ty string, operands ...V) uint32 {
	h := fnv.New64a()
	h.Write([]byte{does(kind), asks(compare), wide(compare, ty)})
	for _, text := range s.leaves(operands) {
		h.Write(append([]byte(text), 0))
	}
	sum := h.Sum64()
	return max(1, uint32(sum^sum>>32))
}

func does(k site.Kind) byte {
	switch k {
	case site.Branch, site.Predicate:
		return doesDecide
	case site.Switch:
		return doesSwitch
	case site.GlobalStore, site.SharedStore:
		return doesStore
	case site.Atomic:
		return doesAdd
	case site.Load:
		return doesLoad
	}
	return doesOther
}

// asks is 0 where nothing is compared, 1 for equal or not, 2 for an order, 3 and more for floats: equal or not, an order, an order or
// equal, whether there are numbers. A compare, its opposite and the same with its operands turned are alike.
func asks(c site.Compare) byte {
	switch c {
	case site.NoCompare:
		return 0
	case 32, 33: // eq, ne
		return 1
	case 1, 6, 9, 14: // oeq, one, ueq, une
		return 3
	case 3, 5, 10, 12: // oge, ole, ugt, ult
		return 5
	case 7, 8: // ord, uno
		return 6
	}
	if c < 16 {
		return 4
	}
	return 2
}

// wide is 1 for compares of 64 bits: smaller integers and floats are widened to 32 by some.
func wide(c site.Compare, ty string) byte {
	switch ty {
	case "i64", "u64", "f64", "ptr", "s64", "b64":
		if c != site.NoCompare {
			return 1
		}
	}
	return 0
}

// leaf is the text of what ends a walk.
func leaf(o site.Origin, name, lanes string) (string, bool) {
	switch o {
	case site.FromArgument:
		return "argument " + name, true
	case site.FromProgramID:
		return "thread " + name, true
	case site.FromLoad:
		return "load", true
	case site.FromAtomic:
		return "atomic", true
	case site.FromShuffle:
		if lanes != "" {
			return "lanes " + lanes, true
		}
		return "lanes", true
	case site.FromConstant, site.FromCall: // what is called may have been inlined by the next stage
		return "", true
	}
	return "", false
}
