package collective

import (
	"context"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/hlo"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Programs are the compiled programs of a trace, found by the id and by the name that events carry.
type Programs struct {
	list   []source.Program
	byID   map[int64][]*hlo.Module // more than one where a file holds several nodes
	byName map[string][]*hlo.Module
	names  map[string]bool // of all collective instructions
}

func newPrograms() *Programs {
	return &Programs{byID: map[int64][]*hlo.Module{}, byName: map[string][]*hlo.Module{}, names: map[string]bool{}}
}

// ReadPrograms reads the compiled programs of a trace.
func ReadPrograms(ctx context.Context, src *file.Source, trace source.Compiled, warn func(string)) (*Programs, error) {
	x := newPrograms()
	list, err := trace.Programs(ctx, src, warn)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		for k := range p.Ops {
			x.names[p.Ops[k].Name] = true
		}
		x.add(p.ID, p.Module)
	}
	return x, nil
}

// add adds a program, but for the names of its collectives.
func (x *Programs) add(id int64, m *hlo.Module) {
	x.list = append(x.list, source.Program{ID: id, Module: m})
	x.byID[id] = append(x.byID[id], m)
	x.byName[m.Name] = append(x.byName[m.Name], m)
}

// find returns the program of an event, known false where the trace has none. It is nil where several could be meant that
// differ: then nothing is known about the event.
func (x *Programs) find(f *source.Operation) (m *hlo.Module, known bool) {
	name, _, _ := strings.Cut(f.Module, "(")
	var list []*hlo.Module
	if f.HasProgram {
		for _, m := range x.byID[f.Program] {
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
			return x.only(list, f.Op), true
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

// GobEncode leaves the programs out: a part that goes to another process is matched there without them.
func (x *Programs) GobEncode() ([]byte, error) { return nil, nil }

// GobDecode reads what GobEncode wrote.
func (x *Programs) GobDecode([]byte) error { return nil }
