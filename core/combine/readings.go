package combine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/source"
)

// readings is what clock files say.
type readings struct {
	snapshots []*clockfile.Snapshots     // by node; nil: none
	system    [][]clockfile.SystemClock  // by node: what the systems say of their own clocks
	numbers   []int                      // by node: by which number clock files know it, -1 none
	metas     map[int]clockfile.NodeMeta // by number
	probers   probers                    // whose clocks were measured

	solution *offsets.Solution // what relates the wall clocks; nil: nothing
	method   string            // how that was found out
	declared *offsets.Solution // what is declared beside a solution that was measured, relative to its reference
	said     remarks
}

// readClockFiles reads the clock files of a request.
func readClockFiles(j *job.Job, in *inputs) (readings, error) {
	r := clockReader{job: j}
	j.Progress().SetStage("clocks")
	j.Progress().SetTotal(OnDisk(in.req.clockFiles()))
	k := readings{metas: map[int]clockfile.NodeMeta{}}
	for _, n := range in.nodes {
		k.numbers = append(k.numbers, n.Number)
	}
	var err error
	if k.snapshots, k.system, err = readSnapshots(&r, in); err != nil {
		return k, err
	}
	err = k.readOffsets(&r, in)
	k.said = r.said
	return k, err
}

// clockReader reads clock files one by one, and gathers what is said of them.
type clockReader struct {
	job  *job.Job
	said remarks
	cut  []string // files that end inside a line
}

// read opens and reads one clock file.
func (r *clockReader) read(path string) (*clockfile.File, error) {
	src, err := file.Open(r.job.Context(), path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	f, err := clockfile.Read(r.job.Context(), src)
	if err != nil {
		return nil, withPath(err, path)
	}
	r.job.Progress().Add(src.DiskSize())
	r.note(f)
	return f, nil
}

// note says what the reader of a clock file noticed.
func (r *clockReader) note(f *clockfile.File) {
	name := filepath.Base(f.Path)
	for _, w := range f.Warnings {
		r.said.warn("%s: %s", name, w)
	}
	if f.Skipped > 0 {
		r.said.warn("%s: %d of %d lines are not records and were skipped (first: %v)", name, f.Skipped, f.Lines, f.SkippedLines)
	}
	if f.CutLastLine {
		r.said.warn("%s: the last line is cut short and was skipped", name)
		r.cut = append(r.cut, name)
	}
}

// readSnapshots reads the files of clock snapshots: readings of two clocks of a node, and what its system says of the one. Both are by node.
func readSnapshots(r *clockReader, in *inputs) (snapshots []*clockfile.Snapshots, system [][]clockfile.SystemClock, err error) {
	snapshots, system = make([]*clockfile.Snapshots, len(in.nodes)), make([][]clockfile.SystemClock, len(in.nodes))
	for _, given := range in.req.Snapshots {
		f, err := r.read(given.Path)
		if err != nil {
			return nil, nil, err
		}
		if f.Kind != clockfile.KindSnapshots {
			return nil, nil, wrongKind(f, "snapshots").WithPath(given.Path)
		}
		ofTracer := source.IsTracer(f.Snapshots.TracerClock)
		owners := ownersOf(in.nodes, given, f.Snapshots)
		switch {
		case len(owners) == 0 && ofTracer:
			return nil, nil, fault.New(fault.Incompatible, "cannot tell which node these snapshots belong to").WithPath(given.Path).
				WithHint("name it: --snapshots ID=%s, ID one of %v", given.Path, names(identities(in.nodes)))
		case len(owners) == 0:
			r.said.note("%s: the clock readings in it belong to none of the traces", filepath.Base(given.Path))
		}
		for _, k := range owners {
			system[k] = append(system[k], f.Snapshots.System...)
			before := snapshots[k]
			switch {
			case before == nil || ofTracer && !source.IsTracer(before.TracerClock):
				snapshots[k] = f.Snapshots
			case ofTracer:
				return nil, nil, fault.New(fault.Incompatible, "a second snapshot file for %s", in.nodes[k].ID).WithPath(given.Path)
			}
		}
	}
	return snapshots, system, nil
}

// ownersOf finds the nodes that a file of snapshots belongs to: as given, by its path, by the name of the trace that it lies beside, by what it
// says of itself, or the only node there is.
func ownersOf(nodes []*Node, in Input, s *clockfile.Snapshots) []int {
	id := givenIdentity(in.ID)
	if in.ID == "" {
		id, _ = identityFromPath(in.Path)
	}
	for k, n := range nodes {
		if in.ID != "" && (n.ID == in.ID || n.Host == in.ID) || id.ID != "" && n.Number >= 0 && n.Number == id.Number {
			return []int{k}
		}
	}
	if in.ID != "" {
		return nil
	}
	if beside := nodesOf(nodes, func(n *Node) bool { return namedAfter(in.Path, n.Path) }); len(beside) > 0 {
		return beside
	}
	if s.Rank != nil {
		if own := nodesOf(nodes, func(n *Node) bool { return n.Rank != nil && *n.Rank == int64(*s.Rank) }); len(own) == 1 {
			return own
		}
	}
	if s.Host != "" {
		if own := nodesOf(nodes, func(n *Node) bool { return n.Host == s.Host }); len(own) == 1 {
			return own
		}
	}
	if len(nodes) == 1 {
		return []int{0}
	}
	return nil
}

// nodesOf are the places of the nodes that something is true of.
func nodesOf(nodes []*Node, is func(*Node) bool) (places []int) {
	for k, n := range nodes {
		if is(n) {
			places = append(places, k)
		}
	}
	return places
}

// endings are those of files of snapshots as prlx's recorders name them.
var endings = []string{".zst", ".jsonl", ".pairs", ".pb", ".snapshot_pairs"}

// namedAfter reports whether a file of snapshots lies beside a trace and is named after it: host.snapshot_pairs.pb of host.xplane.pb,
// host_7.pairs.jsonl of host_7.1760000000.pt.trace.json.
func namedAfter(snapshots, trace string) bool {
	name := filepath.Base(snapshots)
	for _, e := range endings {
		name = strings.TrimSuffix(name, e)
	}
	return name != "" && filepath.Dir(snapshots) == filepath.Dir(trace) && strings.HasPrefix(filepath.Base(trace), name+".")
}

func identities(nodes []*Node) []identity {
	ids := make([]identity, len(nodes))
	for k, n := range nodes {
		ids[k] = n.identity
	}
	return ids
}

// readOffsets reads what relates the nodes' wall clocks: the best of what was given and the method allows.
func (k *readings) readOffsets(r *clockReader, in *inputs) error {
	req := in.req
	wantProbes := req.Method == "auto" || req.Method == MethodProbes
	wantDeclared := req.Method == "auto" || req.Method == MethodDeclared
	if req.Method == MethodProbes && req.Offsets == "" && len(req.Probes) == 0 {
		return fault.Usagef("method probes needs round offsets or probes").WithHint("pass --offsets or --probes")
	}
	if req.Method == MethodDeclared && req.Declared == "" {
		return fault.Usagef("method declared needs a file of declared offsets").WithHint("pass --declared")
	}
	switch {
	case wantProbes && req.Offsets != "":
		f, err := r.read(req.Offsets)
		if err != nil {
			return err
		}
		if err := k.useFile(r, in, f); err != nil {
			return err
		}
		if len(req.Probes) > 0 {
			r.said.note("round offsets and probes are given: the clocks are those of %s, and the probes are not used", filepath.Base(req.Offsets))
		}
	case wantProbes && len(req.Probes) > 0:
		if err := k.solveProbes(r, in); err != nil {
			return err
		}
	case wantDeclared && req.Declared != "":
		f, err := r.read(req.Declared)
		if err != nil {
			return err
		}
		return k.useFile(r, in, f)
	}
	if k.solution == nil || req.Declared == "" {
		return nil
	}
	return k.declareBeside(r, in)
}

// useFile makes the solution of a file that states offsets, solved or declared.
func (k *readings) useFile(r *clockReader, in *inputs, f *clockfile.File) (err error) {
	switch f.Kind {
	case clockfile.KindRounds:
		k.method = MethodProbes
		for _, m := range f.Rounds.Meta {
			k.metas[m.Node] = m
		}
		k.solution, err = offsets.FromRounds(f.Rounds, k.options(in))
	case clockfile.KindDeclared:
		k.method = MethodDeclared
		k.noteStrangers(r, in, f)
		opt := k.options(in)
		if in.alone() && in.req.Reference == f.Declared.ReferenceName {
			opt = offsets.Options{}
		}
		k.solution, err = offsets.FromDeclared(f.Declared, k.numberOf(in.nodes), opt)
	default:
		return wrongKind(f, "round offsets or declared offsets").WithPath(f.Path)
	}
	return withPath(err, f.Path)
}

// noteStrangers says which declared nodes have no trace: a misspelt one is among them.
func (k *readings) noteStrangers(r *clockReader, in *inputs, f *clockfile.File) {
	var names []string
	for _, d := range f.Declared.Nodes {
		if known := slices.Contains(k.numbers, d.Node); d.Node >= 0 && !known && d.OffsetNS != 0 && !in.alone() {
			names = append(names, d.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	more := ""
	if n := len(names) - 4; n > 0 {
		names, more = names[:4], fmt.Sprintf(" and %d more", n)
	}
	r.said.note("%s speaks of %s%s, and no trace is of that node", filepath.Base(f.Path), strings.Join(names, ", "), more)
}

// numberOf finds the number of a node that a declaration names by id or host.
func (k *readings) numberOf(nodes []*Node) func(name string) (int, bool) {
	return func(name string) (int, bool) {
		for i, n := range nodes {
			if name == n.ID || n.Host != "" && name == n.Host {
				return k.numbers[i], true
			}
		}
		return 0, false
	}
}

// nameOf is what a node of the clock files is called: as its trace is, else by its number.
func (k *readings) nameOf(nodes []*Node, number int) string {
	if i := slices.Index(k.numbers, number); i >= 0 {
		return nodes[i].ID
	}
	return fmt.Sprintf("node%d", number)
}

// declareBeside takes offsets that are declared beside a solution that was measured. Which of the two a node's clock rests on is decided as
// between any sources.
func (k *readings) declareBeside(r *clockReader, in *inputs) error {
	f, err := r.read(in.req.Declared)
	if err != nil {
		return err
	}
	if f.Kind != clockfile.KindDeclared {
		return wrongKind(f, "declared offsets").WithPath(f.Path)
	}
	name := filepath.Base(f.Path)
	if in.req.Method == MethodProbes {
		r.said.note("%s is not used: the method is %s", name, MethodProbes)
		return nil
	}
	k.noteStrangers(r, in, f)
	ref := k.solution.Reference
	d, err := offsets.FromDeclared(f.Declared, k.numberOf(in.nodes), offsets.Options{})
	if err != nil {
		return withPath(err, f.Path)
	}
	if _, ok := d.Node(ref); !ok {
		r.said.warn("%s is not used: it says nothing of %s, on whose clock the measured offsets are", name, k.nameOf(in.nodes, ref))
		return nil
	}
	if d, err = d.Rebase(ref); err != nil {
		return withPath(err, f.Path)
	}
	r.said.warnings = append(r.said.warnings, d.Warnings...)
	k.declared = d
	return nil
}

// solveProbes reads probe windows or raw stamps and solves them.
func (k *readings) solveProbes(r *clockReader, in *inputs) (err error) {
	p, err := readProbes(in.req.Probes, r.read)
	if err != nil {
		return err
	}
	for _, m := range p.metas {
		k.metas[m.Node] = m
	}
	if len(p.stamps) == 0 && len(p.windows) == 0 && in.req.Method == "auto" { // probers ran, and a firewall was between them
		r.said.warn("no peer has answered a probe: %d files hold no stamps", len(in.req.Probes))
		return nil
	}
	k.method = MethodProbes
	var said remarks
	k.probers, k.numbers, said = placeProbers(in, p)
	r.said.add(said)
	k.solution, err = p.solve(r.job.Context(), k.options(in))
	return err
}

// options are the solver's options: the reference of this run, and what the user knows of bounds.
func (k *readings) options(in *inputs) offsets.Options {
	opt := k.reference(in)
	if given := in.req.RoundBoundNS; given != nil {
		opt.RoundBoundNS = *given
	}
	return opt
}

func (k *readings) reference(in *inputs) offsets.Options {
	if in.alone() {
		if n, err := strconv.Atoi(strings.TrimLeft(in.req.Reference, "abcdefghijklmnopqrstuvwxyz-_")); err == nil {
			return offsets.Options{Reference: k.probers.ofRank(n), ReferenceSet: true}
		}
		return offsets.Options{}
	}
	return offsets.Options{Reference: k.numbers[in.ref], ReferenceSet: k.numbers[in.ref] >= 0}
}
