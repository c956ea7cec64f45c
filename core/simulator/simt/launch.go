package simt

import (
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/record"
)

// What callers pass to a launch and get from it, by the names of this room.
type (
	Launch    = execute.Launch
	Argument  = execute.Argument
	Options   = execute.Options
	Result    = execute.Result
	Finding   = execute.Finding
	LineCount = execute.LineCount
	Fidelity  = execute.Fidelity
	Freed     = execute.Freed
	Recording = record.Request
	Place     = record.Place
)

// Unlimited as Options.MaxInstructions lets a launch run for as long as it takes.
const Unlimited = execute.Unlimited
