package xspace

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/source"
)

// The stats of planes by which prlx says what it did to a file. docs/formats/alignment-mark.md describes them.
const (
	statMark          = "prlx_alignment"           // the mark of one node, JSON, on its Task Environment plane or else its first one
	statNode          = "prlx_node"                // on every plane, where a file holds several nodes: whose it is
	statPlane         = "prlx_plane"               // on a plane that was renamed: its name in the recording
	statTracerLines   = "prlx_tracer_lines"        // on a plane with lines of the tracer's clock: "all", or their places
	StatRecordedStart = "prlx_recorded_start_time" // beside profile_start_time, which fits the output's times: what it was
	StatRecordedStop  = "prlx_recorded_stop_time"  // likewise of profile_stop_time

	allLines = "all"
)

// ReadMark returns what a file says about what prlx did to it, nil when it says nothing.
func ReadMark(ctx context.Context, src *file.Source, s *Space) (*marked, error) {
	var m *marked
	for i := range s.Planes {
		st := s.Planes[i].Stat(statMark)
		if st == nil {
			continue
		}
		one, err := readMark(ctx, src, st)
		if err != nil {
			return nil, fault.Of(err).WithPath(src.Path())
		}
		if len(one.Nodes) != 1 {
			return nil, fault.New(fault.Format, "plane %d: its mark of an alignment speaks of %d nodes, expected one", i, len(one.Nodes)).WithPath(src.Path()).WithHint("combine the traces as recorded")
		}
		switch {
		case m == nil:
			m = &marked{Mark: one, Places: &source.Places{NodeOf: make([]int, len(s.Planes)), Names: make([]string, len(s.Planes)), Tracer: make([]aligned.Lines, len(s.Planes))}}
		case !m.Joins(one):
			return nil, fault.New(fault.Incompatible, "holds planes of two alignments, to %s and to %s, whose times count from different zeros", m.Reference, one.Reference).
				WithPath(src.Path()).WithHint("files of different runs of prlx combine were joined: combine the traces as recorded")
		case len(m.Nodes)+len(one.Nodes) > aligned.MaxNodes:
			return nil, fault.New(fault.Limit, "marks of more than %d nodes", aligned.MaxNodes).WithPath(src.Path())
		default:
			m.Nodes = append(m.Nodes, one.Nodes...)
		}
		for len(m.At) < len(m.Nodes) {
			m.At = append(m.At, i)
		}
	}
	if m != nil {
		places(m, s)
	}
	return m, nil
}

// readMark reads the mark in a stat: its text, which may be longer than what Scan keeps.
func readMark(ctx context.Context, src *file.Source, st *xStat) (*aligned.Mark, error) {
	text := st.Bytes
	if st.Kind != statStr {
		return nil, fault.New(fault.Format, "the stat %s holds no text", statMark)
	}
	if st.Length > int64(len(text)) && st.Length <= aligned.MaxBytes {
		text = make([]byte, st.Length)
		if err := ctx.Err(); err != nil {
			return nil, fault.FromIO(src.Path(), err)
		}
		if err := readFull(src, text, st.Offset); err != nil {
			return nil, err
		}
	}
	return aligned.Read(text)
}

// places reads whose the planes are, and which of their lines were on a tracer's clock.
func places(m *marked, s *Space) {
	byID := make(map[string]int, len(m.Nodes))
	for i := range m.Nodes {
		byID[m.Nodes[i].ID] = i
	}
	for i := range s.Planes {
		p := &s.Planes[i]
		m.Names[i] = p.Name
		if st := p.Stat(statPlane); st != nil {
			m.Names[i] = st.Text()
		}
		m.NodeOf[i] = -1
		if st := p.Stat(statNode); st == nil && len(m.Nodes) == 1 {
			m.NodeOf[i] = 0
		} else if st != nil {
			if k, ok := byID[st.Text()]; ok {
				m.NodeOf[i] = k
			}
		}
		if st := p.Stat(statTracerLines); st != nil {
			m.Tracer[i] = parseLines(st.Text(), len(p.Lines))
		}
	}
}

// parseLines reads the places of lines in a plane of n.
func parseLines(text string, n int) aligned.Lines {
	if text == allLines {
		return aligned.Lines{All: true}
	}
	var out aligned.Lines
	for _, field := range strings.Split(text, ",") {
		if k, err := strconv.Atoi(field); err == nil && k >= 0 && k < n {
			out.Lines = append(out.Lines, k)
		}
	}
	return out
}

func linesText(l aligned.Lines) string {
	if l.All {
		return allLines
	}
	fields := make([]string, len(l.Lines))
	for i, k := range l.Lines {
		fields[i] = strconv.Itoa(k)
	}
	return strings.Join(fields, ",")
}

// only returns a view of some planes, under the names that they had in the recording.
func (s *Space) only(planes []int, names []string) *Space {
	view := *s
	view.Planes = nil
	for _, i := range planes {
		p := s.Planes[i]
		p.Name = names[i]
		view.Planes = append(view.Planes, p)
	}
	return &view
}

// MarkPlane returns the plane that carries the mark of a file of one node: the first Task Environment, else the first plane.
func (s *Space) MarkPlane() int {
	return max(0, slices.IndexFunc(s.Planes, func(p Plane) bool { return p.Name == PlaneTaskEnvironment }))
}

// AddMark makes an edit write what was done to a node: the mark, whose planes they are and what they were called, which lines were
// on the tracer's clock (by plane, nil: none), and the session's start and stop on the output's clock.
func (s *Space) AddMark(e *spaceEdit, n nodeMark, tracer []aligned.Lines) {
	set := func(plane int, st newStat) { e.Planes[plane].SetStats = append(e.Planes[plane].SetStats, st) }
	for _, i := range n.Planes {
		p := &s.Planes[i]
		if n.ID != "" {
			set(i, newStat{Name: statNode, Kind: statStr, Text: n.ID})
		}
		if name := e.Planes[i].Name; name != nil && *name != p.Name && p.Stat(statPlane) == nil {
			set(i, newStat{Name: statPlane, Kind: statStr, Text: p.Name})
		}
		if tracer != nil && (tracer[i].All || len(tracer[i].Lines) > 0) {
			set(i, newStat{Name: statTracerLines, Kind: statStr, Text: linesText(tracer[i])})
		}
	}
	set(n.Plane, newStat{Name: statMark, Kind: statStr, Text: string(n.Text)})
	for _, t := range []struct {
		name, kept string
		ns         int64
	}{{statProfileStart, StatRecordedStart, n.StartNS}, {statProfileStop, StatRecordedStop, n.StopNS}} {
		was, ok := int64(0), false
		if st := s.Planes[n.Plane].Stat(t.name); st != nil {
			was, ok = st.Integer()
		}
		if !ok || was <= 0 || t.ns <= 0 {
			continue
		}
		set(n.Plane, newStat{Name: t.name, Kind: statUint, Uint: uint64(t.ns)})
		set(n.Plane, newStat{Name: t.kept, Kind: statUint, Uint: uint64(was)})
	}
}
