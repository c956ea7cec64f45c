package diff

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// Allowed says how many divergences may count for a comparison to pass. The zero value allows none.
type Allowed struct {
	Total  int64            // of all kinds together, or of those without a number of their own
	ByKind map[string]int64 // nil: Total is of all kinds
}

// otherKinds stands for every kind without a number of its own.
const otherKinds = "*"

// UnmarshalJSON reads a number, or an object of numbers by kind, in which "*" is every other kind together.
func (a *Allowed) UnmarshalJSON(b []byte) error {
	var total int64
	if json.Unmarshal(b, &total) == nil {
		*a = Allowed{Total: total}
		return a.check()
	}
	var byKind map[string]int64
	if err := json.Unmarshal(b, &byKind); err != nil {
		return fault.Usagef("max_divergences is %s, expected a whole number, or whole numbers by kind", b).Wrap(err)
	}
	a.Total = byKind[otherKinds]
	delete(byKind, otherKinds)
	if a.ByKind = byKind; len(byKind) == 0 {
		a.ByKind = nil
	}
	return a.check()
}

func (a *Allowed) check() error {
	if a.Total < 0 {
		return fault.Usagef("max_divergences is %d, expected 0 or more", a.Total)
	}
	for _, kind := range slices.Sorted(maps.Keys(a.ByKind)) {
		if n := a.ByKind[kind]; n < 0 {
			return fault.Usagef("max_divergences of %s is %d, expected 0 or more", kind, n)
		}
		if !slices.Contains(kindNames[:], kind) {
			return fault.Usagef("%q is not a kind of divergence%s", clippedWord(kind), nearName(kind, kindNames[:])).
				WithHint("the kinds are %s", strings.Join(kindNames[:], ", "))
		}
	}
	return nil
}

// passes reports whether no more counts than is allowed.
func (a Allowed) passes(counted map[string]int64) bool {
	var others int64
	for kind, n := range counted {
		limit, ok := a.ByKind[kind]
		switch {
		case !ok:
			others += n
		case n > limit:
			return false
		}
	}
	return others <= a.Total
}
