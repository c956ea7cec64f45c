package operation

// Job is the recordings of a job, tied together.
type Job struct {
	Recordings []*Recording
	Ranks      []Rank
	Comms      []Comm
	Matches    []Match // ascending by communicator, then in the order in which the communicator executed them
	Parts      []Part  // of the matches
	Clocks     []HostClock
	Clocked    string // what relates the clocks of hosts: "one host", "probes", "collectives", "realtime"
	Warnings   []string
	Unread     []Unread // files that hold nothing that could be read
	Others     []Other  // jobs whose recordings lie beside, and that are not looked at
}

// Unread is a file that holds nothing that could be read.
type Unread struct{ Path, Why string }

// String says which file, and why.
func (u Unread) String() string { return u.Why }

// Other is a job whose recordings lie beside those of this one.
type Other struct {
	ID         string // by which the scheduler knows it, "" where that was not recorded
	Recordings []string
	Ranks      int
	StartedNS  int64
	LastNS     int64
	Before     bool // it was over when this one began
}

// Unrecorded are the seats of a communicator of which there is no recording.
func (c *Comm) Unrecorded() (seats []int32) {
	for i := range c.Seats {
		if c.Seats[i].Recording < 0 {
			seats = append(seats, int32(i))
		}
	}
	return seats
}

// Rank is one GPU that takes part: a process, or one of the GPUs of a process.
type Rank struct {
	ID        string // the number in the communicator of all, else HOST/PID
	World     int32  // that number, -1 where no communicator has all
	Recording int32
	Seat      int32
	Host      string
	Clock     int32 // place in Job.Clocks
}

// HostClock is the clock of a host, or of one process where it is not known which machine it ran on.
type HostClock struct {
	Host     string
	BootID   string
	OffsetNS int64 // how far it was ahead of the job's clock before it was aligned
	BoundNS  int64 // how far instants of it can be off on the job's clock at most; -1 unknown
	Method   string
}

// Seat is a member of a communicator.
type Seat struct {
	Recording int32 // -1: there is no recording of it
	Member    int32
	Rank      int32 // place in Job.Ranks
}

// Comm is a communicator.
type Comm struct {
	ID    uint64
	Name  string // what the program calls it, else its number in hex
	Ranks int32  // that it has, recorded or not
	Told  bool   // NCCL said how many; else there may be more than were recorded
	Seats []Seat // by rank in the communicator
	World bool   // all ranks of the job are in it
}

// Match is one operation of a communicator, with what each member did for it. Of a send and its receive there are two parts, the
// sender's first.
type Match struct {
	Comm       int32
	Kind       Kind // Collective, CopyEngine, or Send for a pair
	Func       string
	Sequence   uint64
	Occurrence int32
	Place      int32 // how many operations of the communicator came before it, of the member that executed most
	From, To   int32 // of Job.Parts
}

// Part is what one member did for an operation.
type Part struct {
	Seat      int32 // rank in the communicator
	Rank      int32 // place in Job.Ranks
	Recording int32
	Op        int32
}

// Of returns the parts of a match.
func (j *Job) Of(m *Match) []Part { return j.Parts[m.From:m.To] }

// Op returns the operation of a part.
func (j *Job) Op(p *Part) *Op { return &j.Recordings[p.Recording].Ops[p.Op] }

// Role says whether others need a member to enter before they leave, and whether it needs others.
func Role(m *Match, op *Op, seat int32) (gives, takes bool) {
	switch m.Func {
	case "AllReduce", "AllGather", "ReduceScatter", "AlltoAll":
		return true, true
	case "Broadcast", "Scatter":
		return op.Peer == seat, op.Peer != seat
	case "Reduce", "Gather":
		return op.Peer != seat, op.Peer == seat
	case "Send":
		return op.Kind == Send, op.Kind == Recv
	}
	return false, false
}
