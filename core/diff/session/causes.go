package session

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// The roles of a launch that differs.
const (
	RoleCauses  = "causes"  // it was given the same and did something else
	roleGiven   = "given"   // no launch before it differs, and it was given something else: the program around it differs
	RoleFollows = "follows" // it is the same kernel with the same numbers, and was given what an earlier cause made
	roleUnclear = "unclear" // it was given what an earlier cause made and is another build, or what it was given is not known
)

// Cause is where two sessions begin to differ: a launch that does something else, that is given something else, or that one side lacks.
type Cause struct {
	What    string `json:"what"` // "launch" | "given" | "missing" | "inserted"
	Kernel  string `json:"kernel"`
	Launch  uint64 `json:"launch"`  // its number; of one that only B has, in B
	IndexA  int64  `json:"index_a"` // places in the sessions; of one that a side lacks, before which it would be
	IndexB  int64  `json:"index_b"`
	Follow  int64  `json:"follow"` // launches behind it, up to the next cause, that differ only by what they were given
	Because string `json:"because"`
}

// received is what a launch was given in B against A.
type received int

const (
	notKnown  received = iota
	theSame            // type, value and contents of every argument
	otherData          // the same but for what arrays held
	otherCall          // other numbers, types or views
)

// given compares the arguments of two launches.
func given(x, y *Launch) received {
	switch {
	case x.ArgumentDigest == 0 || y.ArgumentDigest == 0:
		return notKnown
	case x.ArgumentDigest == y.ArgumentDigest:
		return theSame
	case x.Header == nil || y.Header == nil || len(x.Header.Arguments) == 0 || len(y.Header.Arguments) == 0:
		return notKnown
	}
	same := slices.EqualFunc(x.Header.Arguments, y.Header.Arguments, func(p, q warptrace.Argument) bool {
		return p.Name == q.Name && p.Type == q.Type && p.Value == q.Value && p.Offset == q.Offset
	})
	if !same {
		return otherCall
	}
	return otherData
}

// otherBuild reports whether two launches are known to be of two builds.
func otherBuild(x, y *Launch) bool {
	return x.ModuleHash != "" && y.ModuleHash != "" && x.ModuleHash != y.ModuleHash
}

// step is one launch on the way through both sessions.
type step struct {
	at      int64 // in A, for the order
	result  *LaunchResult
	only    *LaunchOf // that one side lacks
	missing bool      // B lacks it
	indexB  int64
}

// causes tells the launches that cause something from those that only received what others made, in the order of A.
func (c *comparison) causes() {
	upstream := false
	for _, s := range c.steps() {
		switch {
		case s.only != nil:
			if c.surely(int64(len(c.matching.OnlyA)), 0) && s.missing || c.surely(int64(len(c.matching.OnlyB)), 1) && !s.missing {
				c.lacks(&s)
			}
			upstream = upstream || len(c.doc.Causes) > 0
		case s.result.Status == StatusDiverged:
			c.role(s.result, upstream)
			upstream = true
		}
	}
	if c.doc.Causes == nil {
		c.doc.Causes = []Cause{}
	}
}

// steps are all launches, those that only B has where they ran.
func (c *comparison) steps() []step {
	var steps []step
	for i := range c.doc.KernelResults {
		r := &c.doc.KernelResults[i]
		steps = append(steps, step{at: 2 * r.IndexA, result: r, indexB: r.IndexB})
	}
	for i := range c.doc.Missing {
		steps = append(steps, step{at: 2 * c.doc.Missing[i].Index, only: &c.doc.Missing[i], missing: true})
	}
	before := func(indexB int64) int64 { // where in A a launch that only B has would be
		at := int64(-1)
		for i := range c.doc.KernelResults {
			if r := &c.doc.KernelResults[i]; r.IndexB < indexB && r.MatchedBy != ByContent {
				at = max(at, r.IndexA)
			}
		}
		return at
	}
	for i := range c.doc.Inserted {
		o := &c.doc.Inserted[i]
		steps = append(steps, step{at: 2*before(o.Index) + 1, only: o, indexB: o.Index})
	}
	slices.SortStableFunc(steps, func(x, y step) int { return cmp.Compare(x.at, y.at) })
	return steps
}

// lacks notes a launch that one side lacks.
func (c *comparison) lacks(s *step) {
	cause := Cause{What: "inserted", Kernel: s.only.Kernel, Launch: s.only.Launch, IndexA: (s.at + 1) / 2, IndexB: s.indexB, Because: "A does not have this launch"}
	if s.missing {
		cause.What, cause.Because = "missing", "B does not have this launch"
	}
	c.doc.Causes = append(c.doc.Causes, cause)
}

// role tells what a launch that differs is to those before it.
func (c *comparison) role(r *LaunchResult, upstream bool) {
	x, y := &c.a.Launches[r.IndexA], &c.b.Launches[r.IndexB]
	got := given(x, y)
	r.Given = diff.GivenOf(x.Header, y.Header)
	cause := Cause{What: "launch", Kernel: r.Kernel, Launch: r.Launch, IndexA: r.IndexA, IndexB: r.IndexB}
	switch {
	case got == otherData && upstream && !otherBuild(x, y):
		r.Role = RoleFollows
		c.doc.Causes[len(c.doc.Causes)-1].Follow++
		return
	case upstream && (got == notKnown || got == otherData):
		r.Role = roleUnclear
		return
	case got == theSame:
		r.Role, cause.Because = RoleCauses, "it was given the same, and wrote something else or went another way"
	case got == otherCall, got == otherData && !otherBuild(x, y):
		r.Role, cause.What, cause.Because = roleGiven, "given", "it was given something else, and no launch before it made that"
		if got == otherCall {
			cause.Because = "it was given other arguments"
		}
		if len(r.Given) > 0 {
			cause.Because += ": " + r.Given[0].Text()
		}
	case got == otherData:
		r.Role, cause.Because = RoleCauses, "it is another build, and no launch before it differs; what it was given differs, too"
	default:
		r.Role, cause.Because = RoleCauses, "no launch before it differs; what it was given is not recorded"
	}
	c.doc.Causes = append(c.doc.Causes, cause)
}

// blame says of the launches that differ which only follow, and of which cause; "" where nothing is to be said.
func (d *Document) blame() string {
	var follow, unclear int64
	for i := range d.KernelResults {
		switch d.KernelResults[i].Role {
		case RoleFollows:
			follow++
		case roleUnclear:
			unclear++
		}
	}
	if follow == 0 && unclear == 0 || len(d.Causes) == 0 {
		return ""
	}
	first := &d.Causes[0]
	text := fmt.Sprintf("it begins with %s (launch %d)", first.Kernel, first.Launch)
	switch first.What {
	case "missing":
		text += ", which B does not have"
	case "inserted":
		text += " of B, which A does not have"
	}
	if n := len(d.Causes); n > 1 {
		text += fmt.Sprintf(", %d causes in all", n)
	}
	if follow > 0 {
		text += fmt.Sprintf("; %s only by what %s given", plural(follow, "launch")+" "+verb(follow, "differs", "differ"), verb(follow, "it was", "they were"))
	}
	if unclear > 0 {
		text += fmt.Sprintf("; of %s it is not known whether %s", plural(unclear, "launch"), verb(unclear, "it only follows", "they only follow"))
	}
	return text
}
