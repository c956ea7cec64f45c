package chrometrace

import "github.com/prlx-go/prlx/core/trace/source"

// CorrectionArg is the name of the arg that Edit.CorrectionArg usually asks for.
const CorrectionArg = "prlx_correction_ns"

// What a Rewriter changes and counts; the types are those of source.
type (
	Edit        = source.TextEdit
	ProcessEdit = source.TextProcess
	IDEdit      = source.TextIDs
	Counts      = source.TextCounts
	Instant     = source.Instant
)
