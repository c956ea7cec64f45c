// Package observe says what of a kernel is observed, whatever language its code is in: which sites there are, what they are called, where
// their operands come from, and which of them somebody asked for. It knows no language. A reader of one gives it a small view of the
// code, Code, and how many instructions that has, or how they look, is the reader's business.
package observe

import (
	"github.com/prlx-go/prlx/core/recording/site"
)

// Source says what makes a value. Where Same is set, the value is another one under a new name or in a new type.
type Source[V any] struct {
	Origin site.Origin
	Name   string
	Where  site.Frame
	Inputs []V
	Around []V // those of a value around a loop that are made behind it; provenance does not follow them
	Same   *V
	Memory int    // number of the access, plus one, of loads and atomics; 0 none
	Lanes  string // of a value from other lanes: from which, "bfly 16"; "" not known
}

// Code is what observing needs to know of code: what makes each value.
type Code[V any] interface {
	Source(v V) Source[V]
}

// Limits of the provenance of one operand, those of what is observed of PTX.
const (
	provenanceDepth = 5
	provenanceNodes = 12
	maxInputs       = 4
	maxSame         = 64
)

// Provenance finds where an operand comes from, a few steps back. Site of the operands is the number of a memory access, plus one,
// until Resolve puts keys there.
func Provenance[V any](c Code[V], v V, role, ty string) site.Operand {
	nodes := provenanceNodes
	o := origin(c, v, provenanceDepth, &nodes)
	o.Role, o.Type = role, ty
	return o
}

func origin[V any](c Code[V], v V, depth int, nodes *int) site.Operand {
	*nodes--
	s := c.Source(v)
	for n := 0; s.Same != nil && n < maxSame; n++ {
		s = c.Source(*s.Same)
	}
	o := site.Operand{Origin: s.Origin, Name: s.Name, Where: s.Where, Site: site.Key(s.Memory)}
	if s.Origin == site.FromLoad || s.Origin == site.FromAtomic {
		return o
	}
	for _, input := range s.Inputs {
		if depth <= 0 || *nodes <= 0 || len(o.Inputs) == maxInputs {
			break
		}
		o.Inputs = append(o.Inputs, origin(c, input, depth-1, nodes))
	}
	return o
}

// Resolve puts keys where operands name memory accesses by number. An access without a site has none.
func Resolve(operands []site.Operand, key func(access int) site.Key) {
	for i := range operands {
		o := &operands[i]
		if o.Site != 0 {
			o.Site = key(int(o.Site) - 1)
		}
		Resolve(o.Inputs, key)
	}
}
