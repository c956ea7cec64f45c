package diff

import (
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// aspectKind is a part of what recordings hold: the way that a kernel took, what it wrote, the values on the way.
type aspectKind uint8

// The aspects.
const (
	AspectControlFlow aspectKind = iota
	AspectOutputs
	AspectValues
	aspects = iota
)

var aspectNames = [aspects]string{"control-flow", "outputs", "values"}

// String is the spelling in documents and options.
func (a aspectKind) String() string { return aspectNames[a] }

// Require is a set of aspects: those that must agree for a comparison to pass, and that a strict one demands to be recorded. The zero
// Require is the default: control flow and outputs, and values where they are compared.
type Require uint8

// ParseRequire reads names of aspects, as options spell them. None is the default.
func ParseRequire(names []string) (Require, error) {
	var r Require
	for _, name := range names {
		plain := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
		known := false
		for k, aspect := range aspectNames {
			if plain == aspect {
				r |= 1 << k
				known = true
			}
		}
		if !known {
			return 0, fault.Usagef("%q is not something that a recording holds%s", clippedWord(name), nearName(name, aspectNames[:])).
				WithHint("expected some of %s", strings.Join(aspectNames[:], ", "))
		}
	}
	return r, nil
}

// Has reports whether an aspect was named.
func (r Require) Has(a aspectKind) bool { return r>>a&1 != 0 }

// requires reports whether an aspect must agree to pass.
func (o *Options) requires(a aspectKind) bool {
	if o.Require == 0 {
		return a != AspectValues || o.Values
	}
	return o.Require.Has(a)
}

// Required lists what must agree to pass.
func (o *Options) Required() []string {
	var names []string
	for a := range aspectKind(aspects) {
		if o.requires(a) {
			names = append(names, a.String())
		}
	}
	return names
}
