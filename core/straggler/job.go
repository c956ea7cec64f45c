// Package straggler says who was late at operations that ranks execute together, by how much, and what it cost.
//
// It is told who entered and left which operation when, on one clock with a bound, and who had to wait for whom. It divides the time of
// each operation, follows the critical path back to its beginning, and compares what lies on it with what the others needed for
// the same. It reads no trace and knows no clock; docs/concepts/stragglers.md has the definitions, and what cannot be known.
package straggler

// Job is what ranks executed together, on one clock.
type Job struct {
	Ranks  []Rank
	Ops    []Op
	Events []Event
	Steps  []string // names; Op.Step is a place in here
	Work   [][]Work // by rank, ascending by begin and none inside of another: what it did by itself, where all do the same by these names
	Doing  [][]Work // likewise, where names only explain what took longer
	Names  []Did    // what work is

	Links []Slow // those of which Op.Slow tells; NS is 0

	ByDurations bool // it is known how long operations took, and not when: what ranks took before them all alike is not seen

	byEnds bool // clocks were related by when operations ended

	StepsBy string // what steps are: one of the constants that begin with StepsBy
}

// Rank is one that waits and is waited for.
type Rank struct {
	ID, Host string
	Device   string // "GPU 3"; "" where the trace does not say it
	Clock    int32  // ranks of one clock have no error between them
	FirstNS  int64  // when its recording begins
}

// Op is one execution of an operation by all its members.
type Op struct {
	Key        string
	Class      string // operations of one class do the same: what they need is compared
	Group      string // communicator
	Step       int32  // -1: in none
	Occurrence int
	Gates      []Gate

	Name    string // without its communicator
	Kind    string // all-reduce, ...; "" unknown
	Members int    // of its communicator; 2 for a send and its receive
	Bytes   int64  // size as nccl-tests counts it: what one member gets in all, or gives; 0 unknown
	Slow    *Slow  // the link on which its data took longer than usual by most; nil: that is not known
}

// Slow is by how much longer than usual data took from one rank to another. They are places in Job.Ranks.
type Slow struct {
	From, To int32
	NS       int64
}

// Gate says who had to wait for whom: no receiver leaves before the last giver has entered. They are places in Job.Events.
type Gate struct{ Givers, Receivers []int32 }

// Event is one rank's part in an operation.
type Event struct {
	Rank, Op                   int32
	EnterNS, LeaveNS           int64
	EnterBoundNS, LeaveBoundNS int64 // how far off they can be
	OwnBoundNS                 int64 // of that what is not the clock's: by so much they can be off against those of ranks that share it
	LaunchNS                   int64 // when its host had launched it; 0 unknown
}

// Did is what work is.
type Did struct{ Name, Kind string } // Kind: one of the constants that begin with Did

// Work is something that a rank did by itself.
type Work struct {
	Name         int32 // place in Job.Names
	FromNS, ToNS int64
}

// Parts is the time of operations, divided. The parts add up to the time between entering and leaving.
type Parts struct {
	TransferNS int64 `json:"transfer_ns"`       // all whom it needed were there
	WaitingNS  int64 `json:"waiting_ns"`        // somebody was late
	LaunchNS   int64 `json:"late_launch_ns"`    // somebody was late whose host had not even launched the operation
	ProfilerNS int64 `json:"profiler_start_ns"` // somebody was not being recorded yet
	UntoldNS   int64 `json:"undecided_ns"`      // the clocks are not known well enough to tell transfer from waiting
}

// Total is the time that was divided.
func (p *Parts) Total() int64 {
	return p.TransferNS + p.WaitingNS + p.LaunchNS + p.ProfilerNS + p.UntoldNS
}

func (p *Parts) add(o Parts) {
	p.TransferNS += o.TransferNS
	p.WaitingNS += o.WaitingNS
	p.LaunchNS += o.LaunchNS
	p.ProfilerNS += o.ProfilerNS
	p.UntoldNS += o.UntoldNS
}
