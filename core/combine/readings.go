package combine

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/source"
)

// readSnapshots reads the files of clock snapshots: readings of two clocks of a node, and what its system says of the one.
func (t *task) readSnapshots(k *known) error {
	for _, in := range t.req.Snapshots {
		f, err := t.readClockFile(in.Path)
		if err != nil {
			return err
		}
		if f.Kind != clockfile.KindSnapshots {
			return wrongKind(f, "snapshots").WithPath(in.Path)
		}
		ofTracer := source.IsTracer(f.Snapshots.TracerClock)
		owners := t.ownersOf(in, f.Snapshots)
		switch {
		case len(owners) == 0 && ofTracer:
			return fault.New(fault.Incompatible, "cannot tell which node these snapshots belong to").WithPath(in.Path).
				WithHint("name it: --snapshots ID=%s, ID one of %v", in.Path, names(identities(t.nodes)))
		case len(owners) == 0:
			t.note("%s: the clock readings in it belong to none of the traces", filepath.Base(in.Path))
		}
		for _, n := range owners {
			k.system[n] = append(k.system[n], f.Snapshots.System...)
			before := k.snapshots[n]
			switch {
			case before == nil || ofTracer && !source.IsTracer(before.TracerClock):
				k.snapshots[n] = f.Snapshots
			case ofTracer:
				return fault.New(fault.Incompatible, "a second snapshot file for %s", n.ID).WithPath(in.Path)
			}
		}
	}
	return nil
}

// ownersOf finds the nodes that a file of snapshots belongs to: as given, by its path, by the name of the trace that it lies beside, by what it
// says of itself, or the only node there is.
func (t *task) ownersOf(in Input, s *clockfile.Snapshots) []*Node {
	id := givenIdentity(in.ID)
	if in.ID == "" {
		id, _ = identityFromPath(in.Path)
	}
	for _, n := range t.nodes {
		if in.ID != "" && (n.ID == in.ID || n.Host == in.ID) || id.ID != "" && n.Number >= 0 && n.Number == id.Number {
			return []*Node{n}
		}
	}
	if in.ID != "" {
		return nil
	}
	if beside := t.nodesOf(func(n *Node) bool { return namedAfter(in.Path, n.Path) }); len(beside) > 0 {
		return beside
	}
	if s.Rank != nil {
		if own := t.nodesOf(func(n *Node) bool { return n.Rank != nil && *n.Rank == int64(*s.Rank) }); len(own) == 1 {
			return own
		}
	}
	if s.Host != "" {
		if own := t.nodesOf(func(n *Node) bool { return n.Host == s.Host }); len(own) == 1 {
			return own
		}
	}
	if len(t.nodes) == 1 {
		return t.nodes
	}
	return nil
}

func (t *task) nodesOf(is func(*Node) bool) []*Node {
	var out []*Node
	for _, n := range t.nodes {
		if is(n) {
			out = append(out, n)
		}
	}
	return out
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

// strange reports whether the clock that snapshots name is not that of the lines which a tracer stamped. Where there is no such line, a tracer's
// own clock is not strange.
func (n *Node) strange(clock string) bool {
	if source.Stamps(n.layout, clock) {
		return false
	}
	return !source.IsTracer(clock) || source.Stamps(n.layout, source.AnyTracer)
}

// noteIdle says which readings move nothing, and why.
func (t *task) noteIdle(idle map[string][]string) {
	clocks := make([]string, 0, len(idle))
	for name := range idle {
		clocks = append(clocks, name)
	}
	slices.Sort(clocks)
	for _, name := range clocks {
		of := idle[name]
		shown := strings.Join(of[:min(len(of), 4)], ", ")
		if len(of) > 4 {
			shown += andMore(len(of) - 4)
		}
		t.note("clock readings of %s are there (%s): no line of the traces is on that clock, so they move nothing", name, shown)
	}
}

// keptWithin is how far, at most, the system clock of a node was from what it is kept to while its trace was recorded, by reference, as the
// system says.
func (n *Node) keptWithin(k *known) map[string]int64 {
	first, last, ok := n.spanNS()
	if !ok || !n.absolute {
		return nil
	}
	return clockfile.Kept(k.system[n], first, last)
}

// keptTogether is how far two clocks can be apart that are kept to the same reference, by the one that says least; ok is false where there is none.
func keptTogether(a, b map[string]int64) (boundNS int64, reference string, ok bool) {
	for r, e := range a {
		if f, both := b[r]; both && (!ok || e+f < boundNS || e+f == boundNS && r < reference) {
			boundNS, reference, ok = e+f, r, true
		}
	}
	return boundNS, reference, ok
}

// learnKept takes what the systems say of their own clocks for offsets: two clocks that are kept near one reference are near each other. It is a
// claim of these systems, which nothing here has measured.
func (t *task) learnKept(k *known) error {
	if t.req.Method != "auto" || t.alone() {
		return nil
	}
	ofReference := t.nodes[t.ref].keptWithin(k)
	d := &clockfile.Declared{Reference: t.ref, Nodes: []clockfile.DeclaredNode{{Node: t.ref}}}
	widest, kept := int64(0), map[string]bool{}
	for i, n := range t.nodes {
		if bound, to, ok := keptTogether(n.keptWithin(k), ofReference); ok && i != t.ref {
			d.Nodes = append(d.Nodes, clockfile.DeclaredNode{Node: i, BoundNS: bound})
			widest, kept[to] = max(widest, bound), true
		}
	}
	if len(d.Nodes) == 1 {
		return nil
	}
	s, err := offsets.FromDeclared(d, nil, offsets.Options{})
	if err != nil {
		return err
	}
	k.kept = s
	to := slices.Sorted(maps.Keys(kept))
	t.note("the systems of %d nodes say that their clocks are kept near %s: they are within %s us of that of %s", len(d.Nodes)-1, strings.Join(to, " and "), fmt.Sprint(int64(math.Ceil(float64(widest)/1e3))), t.nodes[t.ref].ID)
	return nil
}

// sayClaimed says how many clocks rest on what their systems say: nothing has measured them so well.
func (t *task) sayClaimed() {
	claimed := 0
	for _, n := range t.nodes {
		if n.Result.Method == methodSystem {
			claimed++
		}
	}
	if claimed == 0 || t.doc.NotAligned != "" {
		return
	}
	t.doc.beside = append(t.doc.beside, fmt.Sprintf("bounds of %s rest on what their systems claim", plural(claimed, "node")))
	t.warn("the bounds of %s rest on what their systems say of their own clocks, which nothing here has measured: where a daemon is wrong, so is the bound", plural(claimed, "node"))
}
