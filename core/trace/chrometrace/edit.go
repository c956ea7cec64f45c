package chrometrace

import "github.com/prlx-go/prlx/core/trace/source"

// correctionArg is the name of the arg that Edit.correctionArg usually asks for.
const correctionArg = "prlx_correction_ns"

// What a Rewriter changes and counts; the types are those of source.
type (
	edit        = source.TextEdit
	processEdit = source.TextProcess
	idEdit      = source.TextIDs
	counts      = source.TextCounts
	Instant     = source.Instant
)
