// Package tape is what the operators of a training run computed, step by step: the format of such tapes (docs/formats/tape.md), its writer,
// which adds one record an operator while the run goes on, and its reader, which also reads what a killed run left.
//
// A record says what an operator got and what it made, as digests and a few numbers of each tensor, never the contents of large ones. Package
// comparing finds out where two tapes first differ. What calls the writer (hooks/operators.py) knows torch; nothing here does.
package tape

// magic is how every tape begins.
const magic = "\x89PRLXT\n\x1a"

// formatVersion is the version of the format that is written, and the only one that is read.
const formatVersion = 1

// LevelModules is the level of tapes that say what modules got and made, not each operator.
const LevelModules = "modules"

// Phase is the part of a training step in which an operator ran.
type Phase uint8

// The phases.
const (
	forward Phase = iota
	backward
	optimizer
	phases // their number
)

// String names the phase.
func (p Phase) String() string {
	if p < phases {
		return [...]string{"forward", "backward", "optimizer"}[p]
	}
	return "unknown"
}

// Fact is one thing that is true of the whole run: a version, a seed, a number of threads.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Run is what a tape says of the run that it is of. It is JSON in the file: fields of later versions are passed over.
type Run struct {
	Producer string `json:"producer"`
	Level    string `json:"level"` // "operators" or "modules"
	Every    int64  `json:"every"` // one step in so many was to be taken
	Ring     int64  `json:"ring"`  // only so many of the last steps were to be kept; 0: all
	Rank     int64  `json:"rank"`
	Ranks    int64  `json:"ranks"`
	Facts    []Fact `json:"facts"`
}

// Role is what a tensor is to its operator.
type Role uint8

// The roles.
const (
	Input   Role = iota // read
	Output              // returned
	Mutated             // an argument that the operator wrote, as it was after the call
	roles               // their number
)

// Slot is one tensor of a place: what is the same each time that the operator runs there.
type Slot struct {
	Role   Role
	Name   string // of the argument, or the number of the result
	Type   string // "float32"
	Shape  []int64
	Stride []int64 // in elements
}

// Place is where operators run: records that agree in all of this share one.
type Place struct {
	Module   string // path in the model, "" outside of all modules
	Class    string // of the module
	Operator string // "aten.addmm.default"
	Phase    Phase
	Slots    []Slot
	Line     string // of the program, that called it or, in the backward pass, its forward operator: "train.py:12", "" unknown
}

// State says whether the contents of a tensor were looked at.
type State uint8

// The states.
const (
	Taken         State = iota
	Uninitialized       // nobody had written it yet: what is in it differs each time
	Unreadable          // of a layout or on a device that was not looked at
	states              // their number
)

// Value is what one tensor held.
type Value struct {
	State  State
	Digest uint64
	NaN    int64
	Inf    int64
	Max    float64 // the largest absolute value among finite elements; NaN: no floating-point type, or no finite element
	Sum    float64 // of the finite elements
	Sample []byte  // some elements of what was written: all of a small tensor, else evenly spaced ones (sampleAt)
}

// Generator is the state of the random numbers around an operator that draws some.
type Generator struct {
	Seed          uint64 // the state began from it
	Before, After uint64 // digests of the state
}

// Operator is one record: an operator that ran.
type Operator struct {
	Place     *Place
	Scalars   string // the arguments other than tensors, as text
	Generator *Generator
	Values    []Value // of the place's slots, in order
}

// End is what the writer says at the end of a tape. It is JSON in the file.
type End struct {
	Steps     int64            `json:"steps"`     // that were taken, also those that a ring dropped
	Operators int64            `json:"operators"` // likewise
	Dropped   int64            `json:"dropped"`   // records that were not written: the tape had reached its limit, or they were too large
	Skipped   map[string]int64 `json:"skipped"`   // operators that were not taken, by why
	Failed    string           `json:"failed"`    // why taking stopped before the run did, "" when it did not
}
