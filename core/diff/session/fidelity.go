package session

import "github.com/prlx-go/prlx/core/fault"

// Fidelity says in short what of a launch on the simulator was not exact. The document of the launch, prlx.simulation/1, says it by line.
type Fidelity struct {
	Exact        bool     `json:"exact"`        // nothing was approximated
	Approximated []string `json:"approximated"` // instructions whose results may differ from a GPU's, each once
	Decides      []string `json:"decides"`      // what values that may come from these decided: "address", "branch", "predicate", "barrier"
}

// What a Fidelity may hold.
const (
	maxApproximated = 256
	maxInstruction  = 256 // bytes of a name
)

// Check tells whether it is one; nil is.
func (f *Fidelity) Check() error {
	if f == nil {
		return nil
	}
	if n := max(len(f.Approximated), len(f.Decides)); n > maxApproximated {
		return fault.Usagef("fidelity: %d names, at most %d are possible", n, maxApproximated)
	}
	for _, names := range [][]string{f.Approximated, f.Decides} {
		for _, name := range names {
			if len(name) > maxInstruction {
				return fault.Usagef("fidelity: a name of %d bytes, at most %d are possible", len(name), maxInstruction)
			}
		}
	}
	if f.Exact && len(f.Approximated)+len(f.Decides) > 0 {
		return fault.Usagef("fidelity: exact, and something is approximated")
	}
	return nil
}
