package combine

import (
	"context"
	"strconv"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
)

// inputs is what was asked and what was read: the first of five values. Each is made whole by one function of those before it, and nobody
// changes it afterwards:
//
//	inputs     the nodes with their traces, scanned and named       settle
//	evidence   what clock files, tracers, launches and collectives say of their clocks    gather
//	clocks     which map each line goes through                    decide
//	judged     the order of collectives before and after           judge
//	written    the files, and what happened to the events          writeRun, writeSingle, writeChrome
//
// conclude makes the document of all five. Combining elsewhere (remote.go), validate and stragglers take the same stages as far as they need them.
type inputs struct {
	req     *Request
	nodes   []*Node
	ref     int      // place of the reference
	parties []party  // the nodes of the job
	found   findings // what was found of collectives while traces were scanned; match uses it up
	doubted []bool   // by node: its kernels contradict those of the trace beside it
	same    []SameKernels
	skipped []Unreadable
	files   *Ledger
	ranks   *Ranks
	said    remarks
}

// preparing says what becomes of recordings that libraries made beside traces.
type preparing struct {
	tied      bool // their kernels are compared with those of the trace
	asXSpaces bool // they become XSpaces
}

// settle makes the inputs of nodes that were read. out are those that cannot be read.
func settle(j *job.Job, req *Request, nodes []*Node, out []Unreadable, ref int, how preparing) (*inputs, error) {
	in := &inputs{req: req, nodes: nodes, ref: ref, doubted: make([]bool, len(nodes)), said: noteMerged(nodes)}
	in.skipped, in.files, in.ranks = out, req.ledger(), ranksOf(nodes)
	in.said.add(sayLeftOut(in.files, out))
	if how.tied {
		if err := in.tieRecordings(j); err != nil {
			return nil, err
		}
	}
	in.found = takeFindings(nodes)
	if how.asXSpaces {
		if err := in.writeAsXSpaces(j); err != nil {
			return nil, err
		}
	}
	in.parties = partiesOf(nodes)
	return in, nil
}

// alone reports whether the run is about one trace: then the reference is a node of the clock files, not of the inputs.
func (in *inputs) alone() bool { return len(in.nodes) == 1 }

// nodeOf is the place of the node that a party is of.
func (in *inputs) nodeOf(party int32) int { return in.parties[party].node }

// slot names a device of a node; the device is left out where the node has only one in the trace.
func (in *inputs) slot(s collective.Slot) string {
	id := in.parties[s.Node].id
	if s.Device != 0 {
		id += "/" + strconv.Itoa(int(s.Device))
	}
	return id
}

// referenceFirst returns the places of the nodes, the reference's first.
func (in *inputs) referenceFirst() []int {
	order := []int{in.ref}
	for k := range in.nodes {
		if k != in.ref {
			order = append(order, k)
		}
	}
	return order
}

// allText reports whether all traces are re-timed as text.
func (in *inputs) allText() bool {
	for _, n := range in.nodes {
		if n.text == nil {
			return false
		}
	}
	return true
}

// undated counts the traces whose times count from no known instant.
func (in *inputs) undated() int {
	undated := 0
	for _, n := range in.nodes {
		if !n.absolute {
			undated++
		}
	}
	return undated
}

// warningsOf are what reading says of a node, by its place.
func (in *inputs) warningsOf(k int) (said sentences) {
	n := in.nodes[k]
	if n.rankNote != "" {
		said.say("%s", n.rankNote)
	}
	if n.salvaged != nil {
		said.say("%s", n.salvaged.Sentence())
	}
	return said
}

// party is one node of the job as collectives and marks know it: a whole trace, or a node's part of one that holds several.
type party struct {
	node int // place in inputs.nodes
	part int // of the trace
	id   string
}

// partiesOf lists the nodes of the job, those inside of merged traces too.
func partiesOf(nodes []*Node) (all []party) {
	seen := map[string]bool{}
	for k, n := range nodes {
		for i := range n.parts() {
			p := party{node: k, part: i, id: n.ID}
			if n.parts() > 1 {
				if p.id = n.member(i).ID; seen[p.id] {
					p.id = n.ID + "/" + p.id
				}
			}
			for seen[p.id] {
				p.id += "'"
			}
			seen[p.id] = true
			all = append(all, p)
		}
	}
	return all
}

// stage starts a part of the work that goes over the bytes of all traces.
func (in *inputs) stage(j *job.Job, name string) {
	total := int64(0)
	for _, n := range in.nodes {
		total += n.bytes()
	}
	j.Progress().SetStage(name)
	j.Progress().SetTotal(total)
}

// share is the part of a node in such a stage.
func (n *Node) share(j *job.Job) *job.Share { return j.Progress().Share(n.bytes(), n.bytes()) }

// bytes is the size of the trace, 0 where it lies elsewhere.
func (n *Node) bytes() int64 {
	if n.Src == nil {
		return 0
	}
	return n.Src.Size()
}

// eachNode runs f for every node, as many at once as there are workers; a node gets more than one worker when there are fewer
// nodes than workers.
func (in *inputs) eachNode(j *job.Job, f func(ctx context.Context, k, workers int) error) error {
	group, ctx := safe.NewGroup(j.Context())
	group.SetLimit(j.Workers())
	per := max(1, j.Workers()/len(in.nodes))
	for k := range in.nodes {
		group.Go(func() error { return f(ctx, k, per) })
	}
	return group.Wait()
}

// refuseTwice keeps clock data, which is about the clocks that traces were recorded on, from being applied to traces that are not
// on those clocks any more.
func (in *inputs) refuseTwice() error {
	for _, n := range in.nodes {
		if n.parts() > 1 && !n.aligned {
			return fault.New(fault.Incompatible, "holds %d nodes that were merged on clocks of their own, and clock data is about single nodes", n.parts()).WithPath(n.Path).
				WithHint("combine the traces as recorded")
		}
		if n.aligned {
			return fault.New(fault.Incompatible, "prlx has aligned this trace already, and clock data would move its times twice").WithPath(n.Path).
				WithHint("combine the traces as recorded, or leave the clock data out: --method wall")
		}
	}
	return nil
}
