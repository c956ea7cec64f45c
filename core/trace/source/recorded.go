package source

import (
	"context"

	"github.com/prlx-go/prlx/core/file"
)

// Recorded is a trace whose recorder wrote beside kernels what they communicate, or left around them what tells.
type Recorded interface {
	Trace
	// Communication visits the kernels of communication libraries, in order. omitted is how many more there are than a scan lists.
	Communication(ctx context.Context, src *file.Source, visit func(k *Communication)) (omitted int64, err error)
	// Around visits what else tells of collectives.
	Around(ctx context.Context, src *file.Source, v AroundVisitor) error
	// Groups returns, by the id of the node, what was recorded of the process groups of the nodes that were merged into the trace.
	Groups(ctx context.Context, src *file.Source) (map[string]*Distributed, error)
}

// Distributed is a recorder's account of the process groups of one rank.
type Distributed struct {
	Backend   string
	Rank      int // -1 where absent
	WorldSize int // 0 where absent
	Groups    []ProcessGroup
}

// ProcessGroup is one group of ranks.
type ProcessGroup struct {
	Name, Desc, Backend string
	Size                int
	Ranks               []int
}

// Span is where an event lies and when.
type Span struct {
	Process, Line int32 // places in Trace.Layout and Process.Lines, -1 where the event says none
	Start         Instant
	EndNS         int64 // rounded up
}

// Communication is a kernel of a communication library, and what its recorder wrote beside it. What it did not write is zero.
type Communication struct {
	Span
	Name string

	Collective, Group, Description, Ranks string // the group's ranks as a list: "[0, 1]"
	InSplit, OutSplit                     string // lists of what goes to and comes from each member
	Device, Correlation, Stream           int64
	GroupSize, Elements                   int64
	ElementBytes                          uint8 // 0 unknown
	Seq, Source, Target                   int64 // number of the collective in its group; ranks of a send's ends
	ID                                    int64 // hash of its group, the group's ranks and Seq, equal on all members

	HasCollective, HasSeq, HasID, HasSource, HasTarget bool
}

// AroundVisitor takes what else tells of collectives.
type AroundVisitor struct {
	// Launches asks for calls that launch kernels, and for ranges of the host that name a collective.
	Launches bool
	Call     func(c *Call)
	Range    func(c *Call)
	// Executed takes collectives that a library executed on threads of the host; nil: they are not asked for.
	Executed func(c *Call)
	// Operation takes events that may be operations of compiled programs. They are valid until it returns.
	Operation func(o *OperationEvent)
}

// Call is something on a thread of the host: a call that launched a kernel, or a range.
type Call struct {
	Span
	Name           string // of a range
	Shapes         string // of a range's input: "[[2, 3]]"
	Correlation    int64
	HasCorrelation bool
}

// OperationEvent is an event that may be an operation of a compiled program, with the args that say so.
type OperationEvent struct {
	Span
	Name []byte
	Args Args
}

// Args looks up what an event says beside its name, place and time.
type Args interface {
	// Arg returns the text of an arg.
	Arg(key string) ([]byte, bool)
	// ArgInt returns an arg that is an integer, or a string that holds one.
	ArgInt(key string) (int64, bool)
}
