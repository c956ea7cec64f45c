package code

// Approximation is an instruction whose result may differ from a GPU's.
type Approximation struct {
	At   int32 // index into Kernel.Code
	Name string
	How  string // in words

	Sometimes bool // it depends on what the instruction meets: it counts by itself where it was
}

// Use is what a value decides.
type Use uint8

// The uses.
const (
	UseAddress   Use = iota // where memory is accessed
	UseBranch               // which way lanes go
	UsePredicate            // whether an instruction is executed
	UseBarrier              // who waits for whom
)

func (u Use) String() string { return [...]string{"address", "branch", "predicate", "barrier"}[u] }

// Arrival is an instruction that decides something by a value which may come from approximations.
type Arrival struct {
	At   int32 // index into Kernel.Code
	Use  Use
	From uint64 // bit i: Kernel.Approximations[i]; those from 63 on share bit 63
}
