package diagnosing

import "github.com/prlx-go/prlx/core/verdict"

// Schema is the schema of Document.
const Schema = "prlx.nccl-diagnose/1"

// The values of Document.Status.
const (
	StatusCulprit      = "culprit"      // something is wrong, and it is said what and where
	StatusNothing      = "nothing"      // operations were looked at, and nothing is wrong with them
	statusInconclusive = "inconclusive" // nothing could be looked at, or something is wrong and the recordings do not say where
)

// The values of Finding.Class.
const (
	classNeverArrived = "never-arrived" // a rank has not called an operation that others are in
	classEnded        = "ended"         // a process ended before an operation that others are in
	classUnrecorded   = "unrecorded"    // all that is missing is a rank of which there is no recording
	classNotStarted   = "not-started"   // a rank called an operation, and its GPU has not begun with it
	classMismatch     = "mismatch"      // members passed different things to one operation, or called different ones
	ClassDeadlock     = "deadlock"      // ranks wait for each other in a circle
	classStage        = "stage"         // a stage of a proxy step holds everything up
	classStuck        = "stuck"         // an operation does not come to an end, and nothing tells where it is held up
	ClassSlowLink     = "slow-link"     // from one rank to another
	ClassSlowNIC      = "slow-nic"      // all that a rank sends, or all that it receives
	classStraggler    = "straggler"     // a rank is late again and again
)

// Document is prlx.nccl-diagnose/1: what holds a job up.
type Document struct {
	Schema     string          `json:"schema"`
	Status     string          `json:"status"`
	Verdict    string          `json:"verdict"` // in a sentence
	Conclusion verdict.Verdict `json:"conclusion"`
	Progress   verdict.Verdict `json:"progress"` // whether the job goes on: failed where an operation does not come to an end
	Findings   []Finding       `json:"findings"` // the culprit first
	Waits      []Wait          `json:"waits"`    // who waits for whom, to the root
	Stuck      []Stuck         `json:"stuck"`    // operations that do not come to an end, by rank and stage
	Looked     Looked          `json:"looked"`
	Ranks      []Rank          `json:"ranks"`
	Recordings []Quality       `json:"recordings"`
	Clocks     string          `json:"clocks"` // what relates the clocks of hosts
	StallNS    int64           `json:"stall_ns"`
	Advice     []string        `json:"advice"` // what to record to know more
	Notes      []string        `json:"notes"`
	Warnings   []string        `json:"warnings"`
}

// Finding is something that is wrong.
type Finding struct {
	Class      string   `json:"class"`
	Sentence   string   `json:"sentence"`
	Certain    bool     `json:"certain"`   // the recordings show it; else they suggest it
	Ranks      []string `json:"ranks"`     // that cause it
	Hosts      []string `json:"hosts"`     // of these
	Peer       string   `json:"peer"`      // the other end of a link, "" none
	Channel    int      `json:"channel"`   // -1 none, or several
	NIC        int      `json:"nic"`       // -1 unknown
	Stage      string   `json:"stage"`     // of a proxy step, as NCCL calls it
	Direction  string   `json:"direction"` // of a slow NIC: send or receive
	Comm       string   `json:"communicator"`
	Operation  string   `json:"operation"`
	Sequence   uint64   `json:"sequence"`
	Occurrence int      `json:"occurrence"`
	SinceNS    int64    `json:"since_ns"` // for how long it had not moved when the recordings end; 0 none
	Waiting    []string `json:"waiting"`  // ranks that wait for it
	CostNS     int64    `json:"cost_ns"`  // of stragglers and links
	Window     *Window  `json:"window"`   // when time was lost by it; null: it does not end, or costs nothing
	Detail     []string `json:"detail"`   // what it rests on
}

// Window is from when to when time was lost, and in how many operations.
type Window struct {
	FromNS     int64  `json:"from_ns"` // on the clock of the job; 0: it is not recorded when
	ToNS       int64  `json:"to_ns"`
	First      uint64 `json:"first"`      // sequence number of the first operation that lost time, in its communicator
	Last       uint64 `json:"last"`       // and of the last
	Operations int    `json:"operations"` // that lost time
	Of         int    `json:"of"`         // of which it is known
}

// Wait is a rank that waits for another.
type Wait struct {
	Rank      string `json:"rank"`
	For       string `json:"for"` // "" for nobody: here it ends
	Comm      string `json:"communicator"`
	Operation string `json:"operation"`
	Sequence  uint64 `json:"sequence"`
	Because   string `json:"because"`
}

// Stuck is what one rank does for an operation that does not come to an end.
type Stuck struct {
	Comm      string `json:"communicator"`
	Operation string `json:"operation"`
	Sequence  uint64 `json:"sequence"`
	Rank      string `json:"rank"`
	State     string `json:"state"` // not called, called, queued, running, finished, ended, silent, unrecorded, damaged
	Stage     string `json:"stage"` // "" where no step is recorded
	Direction string `json:"direction"`
	Peer      string `json:"peer"`
	Channel   int    `json:"channel"`
	NIC       int    `json:"nic"`
	Steps     int    `json:"steps"` // that ended
	Of        int    `json:"of"`
	SinceNS   int64  `json:"since_ns"` // for how long it is so
	Retries   int    `json:"retries"`
}

// Looked says what was looked at.
type Looked struct {
	Operations int    `json:"operations"`
	Complete   int    `json:"complete"`   // that all members were seen to finish
	Unfinished int    `json:"unfinished"` // that at least one member has not finished, and would be seen to
	Unknown    int    `json:"unknown"`    // of which it is not recorded whether they finished
	Kernels    int    `json:"kernels"`    // channels
	Proxies    int    `json:"proxies"`    // operations of them
	Steps      int    `json:"steps"`
	Stalls     string `json:"stalls"`     // found, none, or unknown
	Mismatches string `json:"mismatches"` // likewise
	Stragglers string `json:"stragglers"` // likewise
	Links      string `json:"links"`      // likewise
}

// Rank is one GPU of the job.
type Rank struct {
	ID        string  `json:"id"`
	Host      string  `json:"host"`
	PID       int     `json:"pid"`
	Level     int     `json:"level"`            // that was asked for
	State     string  `json:"state"`            // recording, ended, silent, unrecorded
	SilentNS  int64   `json:"silent_ns"`        // for how long nothing of it was heard when the last recording ends
	IdleShare float64 `json:"proxy_idle_share"` // of the time that its proxy threads were recorded
	Retries   int     `json:"retries"`          // of steps
}

// Quality is what a recording holds, and what not.
type Quality struct {
	Path        string   `json:"path"`
	Records     int      `json:"records"`
	Lost        uint64   `json:"lost"`
	Overwritten uint64   `json:"overwritten"`
	Damaged     int      `json:"damaged"` // segments that do not hold records to their end
	Gone        int      `json:"gone"`    // segments that were written and are not there, or whose checksum is another's
	Orphans     int      `json:"orphans"`
	Complete    bool     `json:"complete"`
	Says        []string `json:"says"`
}
