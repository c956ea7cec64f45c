package straggler

// Schema is the schema of Document.
const Schema = "prlx.stragglers/1"

// The values of Document.Status.
const (
	StatusBlamed       = "blamed"       // a rank or a link cost more than chance explains
	StatusNobody       = "nobody"       // operations were looked at, and none did
	StatusInconclusive = "inconclusive" // nothing could be looked at, or the clocks are not known well enough
)

// Document is prlx.stragglers/1: who was late, and what it cost.
type Document struct {
	Schema     string      `json:"schema"`
	Status     string      `json:"status"`
	Verdict    string      `json:"verdict"`   // in a sentence
	FromNS     int64       `json:"from_ns"`   // of the first operation, on the clock of the reference
	ToNS       int64       `json:"to_ns"`     // the end of the last
	LengthNS   int64       `json:"length_ns"` // of which shares are parts: from the one to the other, or the steps that were asked for
	Clocks     string      `json:"clocks"`    // what relates the clocks of ranks
	Operations Operations  `json:"operations"`
	Time       Parts       `json:"time"`  // of all ranks in all operations
	Ranks      []RankCost  `json:"ranks"` // most expensive first
	Links      []LinkCost  `json:"links"` // that were slow, most expensive first
	Steps      []StepCost  `json:"steps"` // by time
	Groups     []GroupCost `json:"groups"`
	Worst      []Late      `json:"worst"` // the most expensive single latenesses
	Notes      []string    `json:"notes"`
	Warnings   []string    `json:"warnings"`
}

// Operations counts those that were looked at.
type Operations struct {
	Count int `json:"count"`
	Told  int `json:"told"` // of which it is known who entered last
}

// RankCost is what a rank cost the others, and what it waited for them.
type RankCost struct {
	ID         string  `json:"id"`
	Host       string  `json:"host"`
	Blamed     bool    `json:"blamed"`
	CostNS     int64   `json:"cost_ns"` // by how much later than the others it was, where nobody else was waited for, as far as it took longer than usual itself
	GainNS     int64   `json:"gain_ns"` // by how much shorter the job would be, were it as fast as usual
	Share      float64 `json:"share"`   // of the job that the cost is
	Steps      int     `json:"steps"`   // in which it was the most expensive
	Operations int     `json:"operations"`
	Last       int     `json:"last"` // of these it entered last, and that is certain
	Time       Parts   `json:"time"`
	Causes     []Cause `json:"causes"` // what took longer than usual, most expensive first
}

// Cause is something that a rank did and that took longer than usual.
type Cause struct {
	Name   string `json:"name"` // "" where what it did is not known
	CostNS int64  `json:"cost_ns"`
}

// LinkCost is what operations between two ranks, or of a communicator, took longer than usual when all were there.
type LinkCost struct {
	Ranks  []string `json:"ranks"` // of a pair; empty for a communicator
	Group  string   `json:"group"`
	Blamed bool     `json:"blamed"`
	CostNS int64    `json:"cost_ns"`
	Share  float64  `json:"share"`
	Times  int      `json:"times"`
}

// StepCost is a step, and who was the most expensive in it.
type StepCost struct {
	Name     string `json:"name"`
	FromNS   int64  `json:"from_ns"`
	ToNS     int64  `json:"to_ns"`
	Critical string `json:"critical"` // "" nobody
	CostNS   int64  `json:"cost_ns"`
	Cause    string `json:"cause"`
	Time     Parts  `json:"time"`
}

// GroupCost is the time of a communicator's operations.
type GroupCost struct {
	Group      string `json:"group"`
	Operations int    `json:"operations"`
	Told       int    `json:"told"`
	Time       Parts  `json:"time"`
}

// Late is one lateness.
type Late struct {
	Rank       string `json:"rank"` // "" where a link was slow
	Operation  string `json:"operation"`
	Occurrence int    `json:"occurrence"`
	Step       string `json:"step"`
	AtNS       int64  `json:"at_ns"` // when it entered, or left
	CostNS     int64  `json:"cost_ns"`
	BoundNS    int64  `json:"bound_ns"` // how far off its lead over the next to last can be
	Cause      string `json:"cause"`
}
