// Package simulated is what the launches of a program did on the simulator, added up by kernel, and how two versions of a program differ,
// line by line. It runs nothing: the documents of launches are package simulation's, and whoever started the program adds them up.
package simulated

import (
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/simulator/simulation"
	"github.com/prlx-go/prlx/core/simulator/watch"
	"github.com/prlx-go/prlx/core/verdict"
)

// Schema names Document.
const Schema = "prlx.simulate/1"

// Document is prlx.simulate/1: everything that a script launched on the simulator.
type Document struct {
	Schema       string          `json:"schema"`
	Script       string          `json:"script"`
	Status       string          `json:"status"` // clean, findings or inconclusive
	Conclusion   verdict.Verdict `json:"conclusion"`
	ExitStatus   int             `json:"exit_status"` // with what the script ended
	Launches     int64           `json:"launches"`
	Instructions uint64          `json:"instructions"` // of warps
	Kernels      []Kernel        `json:"kernels"`      // in the order in which they were first launched
	Findings     []Finding       `json:"findings"`
	MoreFindings int64           `json:"more_findings"` // beyond those listed
	Recording    *string         `json:"recording"`     // null: nothing was recorded
	Stops        []Stop          `json:"stops"`         // at lines that were asked for
	MoreStops    int64           `json:"more_stops"`    // beyond those listed
	Repeated     int64           `json:"repeated"`      // launches of these that found what an earlier one found: what that one did is counted again
	Refused      []Refused       `json:"refused"`       // launches that the simulator did not execute
}

// Kernel sums over the launches of a kernel.
type Kernel struct {
	Kernel           string            `json:"kernel"`
	Launches         int64             `json:"launches"`
	Blocks           uint64            `json:"blocks"`
	Warps            uint64            `json:"warps"`
	Instructions     uint64            `json:"instructions"`      // of warps
	LaneInstructions uint64            `json:"lane_instructions"` // of active lanes
	Lines            []simulation.Line `json:"lines"`             // by file and line
	Origin           *origin.Origin    `json:"origin,omitempty"`  // of its first launch, where a compiler of graphs made it
	simulation.Counts

	Fidelity *simulation.Fidelity `json:"fidelity"` // of all its launches together; null: the document does not say

	Texts   *Texts   `json:"texts"`   // null: not known, or not asked for
	Touched *Touched `json:"touched"` // null: not asked for
}

// Texts is the text of a kernel as it was compiled, the kernel first, and what it was compiled for.
type Texts struct {
	Functions []Function `json:"functions"`
	Constants []Constant `json:"constants"`
}

// Function is the text of one function.
type Function struct {
	File      string `json:"file"`
	Function  string `json:"function"`
	FirstLine uint32 `json:"first_line"`
	Text      string `json:"text"`
}

// Constant is a value that a kernel was compiled for.
type Constant struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Touched says which blocks of one launch touched which elements.
type Touched struct {
	Launch int64     `json:"launch"` // the first of the kernel
	Grid   [3]uint32 `json:"grid"`
	watch.Touched
}

// Finding is a finding, with the launch in which it was first made.
type Finding struct {
	simulation.Finding
	Launch     int64 `json:"launch"`
	PassedOver int64 `json:"passed_over,omitempty"` // launches of its process before it, which left memory as it was
}

// Stop is what lanes held at a line, with the launch.
type Stop struct {
	Kernel string `json:"kernel"`
	Launch int64  `json:"launch"`
	watch.Stop
}

// Refused is a launch that the simulator refused by name. Where the script went on after it, what it would have computed is missing from
// the results.
type Refused struct {
	Kernel  string `json:"kernel"`
	Message string `json:"message"`
	Count   int64  `json:"count"` // how often, with these words
}
