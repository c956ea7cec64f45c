package collective

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/timeline/source/hlo"
	"github.com/prlx-go/prlx/core/timeline/source/xspace"
)

// maxModules is how many compiled programs of a trace are read for their collectives.
const maxModules = 1 << 14

// Programs are the compiled programs of a trace, found by the id and by the name that events carry.
type Programs struct {
	list   []numbered
	byID   map[int64][]*hlo.Module // more than one where a file holds several nodes
	byName map[string][]*hlo.Module
	names  map[string]bool // of all collective instructions
	count  int
}

type numbered struct {
	id int64
	*hlo.Module
}

func newPrograms() *Programs {
	return &Programs{byID: map[int64][]*hlo.Module{}, byName: map[string][]*hlo.Module{}, names: map[string]bool{}}
}

// ReadPrograms reads the HLO protos of the metadata planes.
func ReadPrograms(ctx context.Context, src *file.Source, space *xspace.Space, warn func(string)) (*Programs, error) {
	x := newPrograms()
	for i := range space.Planes {
		p := &space.Planes[i]
		if !strings.HasPrefix(p.Name, xspace.PlaneMetadata) {
			continue
		}
		if err := xspace.EventMetadata(ctx, src, p, func(m *xspace.EventMeta) error { return x.entry(ctx, src, m, warn) }); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// add adds a program, but for the names of its collectives.
func (x *Programs) add(id int64, m *hlo.Module) {
	x.list = append(x.list, numbered{id, m})
	x.byID[id] = append(x.byID[id], m)
	x.byName[m.Name] = append(x.byName[m.Name], m)
}

// entry reads the program in an event metadata, if it holds one.
func (x *Programs) entry(ctx context.Context, src *file.Source, m *xspace.EventMeta, warn func(string)) error {
	for i := range m.Stats {
		st := &m.Stats[i]
		if st.Kind != xspace.StatBytes || !strings.EqualFold(st.Name, "Hlo Proto") && !strings.EqualFold(st.Name, "hlo_proto") {
			continue
		}
		if x.count++; x.count > maxModules {
			warn(fmt.Sprintf("only the first %d compiled programs are searched for collectives", maxModules))
			return nil
		}
		mod, err := hlo.Read(ctx, src, st.Offset, st.Offset+st.Length)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			warn(fmt.Sprintf("the program %s is damaged: its collectives are not known", m.Name))
			continue
		}
		for _, w := range mod.Warnings {
			warn(m.Name + ": " + w)
		}
		if len(mod.Ops) == 0 {
			mod.Devices = nil
		}
		for k := range mod.Ops {
			x.names[mod.Ops[k].Name] = true
		}
		x.add(programID(m), mod)
	}
	return nil
}

// programID returns the id of a program: its program_id stat, else the number behind its name, else the number of its entry.
func programID(m *xspace.EventMeta) int64 {
	for i := range m.Stats {
		if m.Stats[i].Name == StatProgram {
			if id, ok := bits(&m.Stats[i]); ok {
				return id
			}
		}
	}
	if open := strings.LastIndexByte(m.Name, '('); open >= 0 && strings.HasSuffix(m.Name, ")") {
		if id, err := strconv.ParseUint(m.Name[open+1:len(m.Name)-1], 10, 64); err == nil {
			return int64(id)
		}
	}
	return m.ID
}

// find returns the program of an event, known false where the trace has none. It is nil where several could be meant that
// differ: then nothing is known about the event.
func (x *Programs) find(f *eventFacts) (m *hlo.Module, known bool) {
	name, _, _ := strings.Cut(f.module, "(")
	var list []*hlo.Module
	if f.hasProgram {
		for _, m := range x.byID[f.program] {
			if name == "" || m.Name == name {
				list = append(list, m)
			}
		}
	}
	if len(list) == 0 && name != "" {
		list = x.byName[name]
	}
	for _, candidate := range list {
		switch {
		case m == nil || m.Fingerprint == candidate.Fingerprint:
			m = candidate
		default:
			return x.only(list, f.op), true
		}
	}
	return m, m != nil
}

// only returns the one program of a list that has a collective of a name, any when none has it, nil when several have.
func (x *Programs) only(list []*hlo.Module, op string) *hlo.Module {
	var found *hlo.Module
	for _, m := range list {
		if m.Op(op) == nil {
			continue
		}
		if found != nil && found.Fingerprint != m.Fingerprint {
			return nil
		}
		found = m
	}
	if found == nil {
		return list[0]
	}
	return found
}

// StatProgram is the stat that holds the id of a program.
const StatProgram = "program_id"

// ProgramOf returns the id of the program that an event metadata names.
func ProgramOf(m *xspace.EventMeta) (id int64, ok bool) {
	for i := range m.Stats {
		if m.Stats[i].Name == StatProgram {
			if v, isID := bits(&m.Stats[i]); isID {
				id, ok = v, true
			}
		}
	}
	return id, ok
}

// programsOfEvents returns the program id of each candidate's event metadata, where it is kept there and not with the events.
func programsOfEvents(ctx context.Context, src *file.Source, p *xspace.Plane, candidates map[int64]bool) (map[int64]int64, error) {
	out := map[int64]int64{}
	err := xspace.EventMetadata(ctx, src, p, func(m *xspace.EventMeta) error {
		if !candidates[m.ID] {
			return nil
		}
		if id, ok := ProgramOf(m); ok {
			out[m.ID] = id
		}
		return nil
	})
	return out, err
}
