package combine

import (
	"context"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/source"
)

// programsOf returns the compiled programs of each part of a trace that holds such, and what is said of them.
func programsOf(ctx context.Context, n *Node) (out []*collective.Programs, said sentences, err error) {
	once := func(text string) {
		if !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	for _, view := range n.views() {
		p, err := collective.ReadPrograms(ctx, n.Src, view, once)
		if err != nil {
			return nil, nil, withPath(err, n.Path)
		}
		out = append(out, p)
	}
	return out, said, nil
}

// markCompiled notes in the mark what a Chrome JSON loses of the compiled programs of node k: without it nobody could tell its
// collectives. programs are those that were read before; nil: none were.
func (d *chromeDocument) markCompiled(k int, x *crossing, programs []*collective.Programs) error {
	if programs == nil {
		var said sentences
		var err error
		if programs, said, err = programsOf(d.job.Context(), d.in.nodes[k]); err != nil {
			return err
		}
		d.done[k].warnings = append(d.done[k].warnings, said...)
	}
	if programs == nil { // the trace holds none
		return nil
	}
	for part, i := range d.marks.mine[k] {
		list, err := programs[part].Mark(&d.programs)
		if err != nil {
			return err
		}
		d.marks.mark.Nodes[i].Compiled = &aligned.Compiled{Programs: list, Planes: []aligned.Plane{}}
	}
	for _, p := range x.planes {
		part := d.partOf(k, p.plane)
		if part < 0 || p.recorded.Kind == "" {
			continue
		}
		said := aligned.Plane{Process: p.pid, Kind: p.recorded.Kind, Device: p.recorded.Device, DeviceID: p.recorded.DeviceID}
		for _, l := range p.lines {
			if p.recorded.Executes[l.line.Index] {
				said.Threads = append(said.Threads, l.tid)
			}
		}
		switch len(said.Threads) {
		case 0:
			continue
		case len(p.lines):
			said.Threads = nil
		}
		c := d.marks.mark.Nodes[d.marks.mine[k][part]].Compiled
		c.Planes = append(c.Planes, said)
	}
	return nil
}

// partOf returns which node of the trace a plane is of, -1 nobody's.
func (d *chromeDocument) partOf(k int, p *source.Process) int {
	if m := d.in.nodes[k].places; m != nil {
		return m.NodeOf[p.Index]
	}
	return 0
}

// keepCompiled takes over what the mark of node k, a Chrome JSON, says of compiled programs: its processes have other pids now.
func (d *chromeDocument) keepCompiled(k int, edits []source.TextProcess) error {
	n := d.in.nodes[k]
	if n.mark == nil {
		return nil
	}
	pids := make(map[string]int64, len(edits))
	for i, p := range n.layout {
		if pid, err := strconv.ParseInt(edits[i].PID, 10, 64); err == nil {
			pids[unquoted(p.TextID)] = pid
		}
	}
	for part, i := range d.marks.mine[k] {
		c, err := d.programs.Adopt(n.mark, part)
		if err != nil {
			return err
		}
		if d.marks.mark.Nodes[i].Compiled = c; c == nil {
			continue
		}
		planes := make([]aligned.Plane, 0, len(c.Planes))
		for _, p := range c.Planes {
			if pid, ok := pids[strconv.FormatInt(p.Process, 10)]; ok {
				p.Process = pid
				planes = append(planes, p)
			}
		}
		c.Planes = planes
	}
	return nil
}

// settlePrograms puts the programs into the mark: all of them, or none with a warning, because a collective whose program is missing
// would be taken for another.
func (d *chromeDocument) settlePrograms() {
	if !d.programs.Full {
		d.marks.mark.Programs = d.programs.List
		return
	}
	for i := range d.marks.mark.Nodes {
		d.marks.mark.Nodes[i].Compiled = nil
	}
	d.said.warn("the compiled programs are more than the mark of a Chrome JSON holds (%d programs, %d collectives, %d MiB): prlx validate cannot judge it, and combine judged the XSpaces",
		aligned.MaxPrograms, aligned.MaxCollectives, aligned.MaxProgramBytes>>20)
}
