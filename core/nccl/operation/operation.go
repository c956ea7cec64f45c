// Package operation is the model of what NCCL did in a job: processes, communicators, operations, and what was called, launched, executed
// and moved for them.
//
// It is plain data: `reading` fills a Recording of each process, `joining` ties the recordings of a job together, and analyses and exports
// read both. Instants are int64 ns; 0 is an instant that was not recorded. Places in lists are int32; -1 is none.
package operation

// None is the place of what is not there.
const None = int32(-1)

// Kind is what an operation is.
type Kind uint8

// The kinds of operations.
const (
	Collective Kind = iota
	Send
	Recv
	CopyEngine // a collective that copy engines execute: only when it was enqueued is recorded
)

// Recording is what one process recorded. Instants are on the clock of its host (see Host) as `reading` leaves them, and on that of the
// job once `joining` has aligned them.
type Recording struct {
	Path           string
	Host           string
	BootID         string // machines are told apart by it
	PID            uint32
	PIDNamespace   uint64
	Cookie         uint16 // begins all handles of the process
	JobID          string // by which a scheduler knows the job; "" where that was not recorded
	Level          int    // what was asked for, 0 to 3
	Ended          bool   // by exit: the process has said so
	StartedNS      int64  // when the file was made
	FirstNS        int64  // the first record that is in it; older ones may have made room
	LastNS         int64  // the last sign of life: a record or an anchor
	ClockBoundNS   int64  // how far instants can be from the clock of the host
	WallOffsetNS   int64  // CLOCK_REALTIME less CLOCK_MONOTONIC at the first anchor: instants are CLOCK_MONOTONIC plus this
	RealtimeStepNS int64  // by how much CLOCK_REALTIME was set while it was recorded, at most

	Writer    string   // "" the recorder of prlx; else which other plug-in wrote it
	EndedOnly bool     // it holds operations that have ended, and not even all: of one that it lacks nothing follows
	Limits    []string // what its writer does not write down, in sentences

	KernelsTold bool // kernels are recorded somewhere in the job: where they are asked for, one that is not there has not begun

	Masks   []Mask   // what was recorded from when on, ascending
	Names   []string // of functions, types, algorithms and protocols
	Members []Member // by number of the communicator in the process
	Groups  []Group
	APIs    []API
	Launch  []Launch
	Ops     []Op
	Kernels []Kernel  // by operation
	Proxies []ProxyOp // by operation; those without one come first
	Steps   []Step    // by proxy operation
	Control Control

	Loss Loss
}

// Mask says which events were recorded from an instant on, by code of segment: a bit each.
type Mask struct {
	FromNS int64
	Codes  uint32
}

// levelCodes are the codes that each level records.
var levelCodes = [4]uint32{0x7f07, 0x7f47, 0x7f4f, 0xffff}

// records reports whether events of a code were recorded at an instant.
func (r *Recording) records(code int, ns int64) bool {
	codes := levelCodes[min(max(r.Level, 0), 3)]
	for i := range r.Masks {
		if i > 0 && r.Masks[i].FromNS > ns {
			break
		}
		codes = r.Masks[i].Codes
	}
	return codes>>code&1 != 0
}

// Name is the text of a place in Names, "" of none.
func (r *Recording) Name(place int32) string {
	if place < 0 || int(place) >= len(r.Names) {
		return ""
	}
	return r.Names[place]
}

// Doubted reports whether the file is damaged: of what it lacks nothing follows.
func (r *Recording) Doubted() bool { return len(r.Loss.Harm) > 0 }

// Loss is what a recording does not hold.
type Loss struct {
	Records      int    // that were read
	Lost         uint64 // callbacks that found no room
	LostFromNS   int64  // when the first of these was, 0 none or not known
	LostToNS     int64
	Overwritten  uint64     // records that made room for newer ones
	Damaged      int        // segments of which a part is no record
	Harm         []string   // what of the file is damaged, in sentences: of what it lacks nothing is known, and nothing that it lacks says anything
	Gone         int        // segments that were written and are not there, or whose checksum is another's
	Retaken      int        // segments that made room while they were read
	Orphans      int        // stops, states and children whose start is not in the recording
	LostByCode   [32]uint64 // of these, those that found no room
	ByCode       [32]uint64 // lost or overwritten, by code of segment
	StepsLeftOut int        // steps that ended and were added up, but are not listed in Steps
	Unreadable   int        // records whose body is shorter than their event's
	StorageErrno uint32
	TextsMissing uint64
	CommsMissing uint64
}

// Member is one process's part in a communicator: a rank of it.
type Member struct {
	Comm        int32  // place in Job.Comms, once joined
	Seat        int32  // which of the GPUs of the process
	Context     uint64 // the handle of the recorder
	ID          uint64 // NCCL's number of the communicator; 0 in versions 1 to 3
	Name        string
	Nodes       int32 // -1: NCCL did not say it; likewise Ranks and Rank
	Ranks       int32
	Rank        int32
	Version     uint8 // of the profiler's interface
	InitNS      int64
	FinalizedNS int64 // 0: it was not
}

// Group is a group of calls: ncclGroupStart to ncclGroupEnd, or one call outside of them.
type Group struct {
	Member     int32
	Depth      int32
	Captured   bool
	StartNS    int64
	EnqueuedNS int64 // the last call was made: ncclGroupEnd begins
	StopNS     int64
}

// API is a call of a collective or of ncclSend or ncclRecv.
type API struct {
	Member   int32
	Group    int32
	Func     int32 // place in Names; likewise Datatype
	Datatype int32
	Root     int32
	P2P      bool
	Captured bool // into a graph
	Count    uint64
	Stream   uint64
	UserTag  uint64
	StartNS  int64
	StopNS   int64
}

// Launch is a launch of a kernel.
type Launch struct {
	Member  int32
	Group   int32
	Stream  uint64
	StartNS int64
	StopNS  int64
}

// Op is one operation of one member of a communicator, as NCCL scheduled it.
type Op struct {
	Handle     uint64
	Kind       Kind
	Captured   bool  // its call was captured: it is a replay of a graph if Occurrence > 0, and its API and Launch are those of the capture
	Channels   uint8 // that it was given
	Member     int32
	API        int32
	Launch     int32
	Func       int32 // place in Names; likewise the following
	Datatype   int32
	Algorithm  int32
	Protocol   int32
	Peer       int32 // of a send or receive; else the root, -1 unknown
	Occurrence int32 // how many operations of the member had the same function and Sequence before it; sends and receives: of the same peer
	Sequence   uint64
	Count      uint64
	Bytes      int64 // of one member's buffer as NCCL counts it, 0 where the size of the type is not known
	StartNS    int64 // scheduled on the host
	StopNS     int64
	TookNS     int64 // how long its kernel took, where its writer says that and not when; 0 else

	KernelFrom, KernelTo int32 // its kernel channels, in Kernels
	ProxyFrom, ProxyTo   int32 // its proxy operations, in Proxies
}

// Kernel is the part of an operation's kernel that runs on one channel.
type Kernel struct {
	Op          int32
	Channel     uint8
	Stopped     bool
	CallStartNS int64 // when the host saw that it had started: later than it did
	CallStopNS  int64
	GPUStartNS  int64 // by the GPU's clock, 0 not told
	GPUStopNS   int64

	StartNS int64 // on the clock of the host: the GPU's instants where its clock has been fitted, else what the host saw
	StopNS  int64
	BoundNS int64 // how far off these can be; negative: the GPU's clock is not fitted, and the host may have seen it any time later
}

// Stage is what a step of a proxy operation waits for.
type Stage uint8

// The stages of steps.
const (
	StageNone     Stage = iota // nothing was recorded of it
	SendGPUWait                // the GPU of the rank has not filled the buffer
	SendPeerWait               // the receiver has given no buffer
	SendWait                   // the network sends
	RecvWait                   // nothing has come from the sender
	RecvFlushWait              // what came is flushed to the GPU
	RecvGPUWait                // the GPU of the rank has not emptied the buffer
	Stages
)

// StageNames are what NCCL calls the stages.
var StageNames = [Stages]string{"", "SendGPUWait", "SendPeerWait", "SendWait", "RecvWait", "RecvFlushWait", "RecvGPUWait"}

// ProxyOp is what a proxy thread sends or receives for an operation on one channel.
type ProxyOp struct {
	Handle     uint64
	Op         int32  // -1: of another process, or its start is not in the recording
	Parent     uint64 // the handle of its operation; of another process's where Foreign
	Member     int32  // of the communicator; -1 where Foreign
	Other      int32  // where Foreign or Adopted: the other process, by place in the recordings that were read together; -1 it is not among them
	PID        int32  // of the process whose operation it is
	Peer       int32
	StepsTotal int32
	ChunkBytes int32
	Channel    uint8
	Send       bool
	Foreign    bool  // PXN: done for another process of the host
	Adopted    bool  // PXN: another process of the host did it for this one, in whose recording it stands as Foreign
	NIC        int32 // -1 unknown

	StartNS    int64
	ProgressNS int64 // the proxy thread began with it
	StopNS     int64

	Begun    int32 // steps
	Finished int32
	Retries  int32         // of all steps: starts and SendPeerWait that were told again
	Stage    Stage         // of the oldest step that is open, or the last one that there was
	Bytes    int64         // moved, as steps told it
	FirstNS  int64         // when the first step began
	SentNS   int64         // when a step first was with the network
	CameNS   int64         // when something first had come from it
	HandedNS int64         // when something that had come was last given to the GPU
	LastNS   int64         // the last state or stop of a step
	StageNS  [Stages]int64 // from FirstNS to the end, or to the last sign of life, by the stage of the oldest step that was open; they add up
	SumNS    [Stages]int64 // what the steps spent in each, added up over steps that ran side by side

	StepFrom, StepTo int32 // in Steps
}

// Step is one chunk of a proxy operation. Those that ended are listed only on request.
type Step struct {
	Proxy   int32
	Number  int32
	Stage   Stage // in which it is, or was last
	Open    bool
	Retries int32
	Bytes   int64
	StartNS int64
	StageNS int64 // when it got into Stage
	StopNS  int64
	Entered [Stages]int64 // when it got into each, 0 never
}

// Control is what the proxy threads of a process did when they moved no data.
type Control struct {
	IdleNS, SleepNS int64
	Idles, Sleeps   int
	Appends         int // times at which operations were taken over
	Appended        int // operations
	FirstNS, LastNS int64
}
