package xspace

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/hlo"
	"github.com/prlx-go/prlx/core/trace/source"
)

// kindOf tells what a plane's events are to collectives: aligned.PlaneHost and so on, "" nothing. A GPU plane whose kernels were not
// recorded has a line of operations, as TPU planes have.
func kindOf(p *Plane) string {
	switch {
	case strings.HasPrefix(p.Name, planeHostCPU):
		return aligned.PlaneHost
	case strings.HasPrefix(p.Name, "/device:TPU:"):
		return aligned.PlaneOperations
	case !strings.HasPrefix(p.Name, "/device:"):
		return ""
	}
	for i := range p.Lines {
		if l := &p.Lines[i]; l.Timed() > 0 && !derivedLine(l.Name) {
			return aligned.PlaneKernels
		}
	}
	return aligned.PlaneOperations
}

const lineOfOperations = "XLA Ops"

// derivedLine reports whether a line of a device plane was made from the others by the profiler.
func derivedLine(name string) bool {
	switch name {
	case lineOfOperations, "Async XLA Ops", "XLA Modules", "XLA TraceMe", "Steps", "Framework Ops", "Framework Name Scope", "TensorFlow Ops",
		"TensorFlow Name Scope", "Source code", "Source Code", "Launch Stats":
		return true
	}
	return false
}

// holdsExecutions reports whether a line is one of those whose events are counted; the others repeat them.
func holdsExecutions(kind string, l *Line) bool {
	switch kind {
	case aligned.PlaneHost:
		return true
	case aligned.PlaneKernels:
		return !derivedLine(l.Name)
	}
	return l.Name == lineOfOperations
}

// globalID returns the number of a TPU plane's core among all of the job's: its core_details stat has it as the global id of
// the chip (5) and of the core (6). Where the two differ it is not known which of them programs mean.
func globalID(p *Plane) (int64, bool) {
	st := p.Stat("core_details")
	if st == nil || st.Kind != statBytes || int64(len(st.Bytes)) != st.Length {
		return 0, false
	}
	var id [2]int64
	for b := st.Bytes; len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0, false
		}
		if typ == protowire.VarintType && (num == 5 || num == 6) {
			v, _ := protowire.ConsumeVarint(b[n:])
			id[num-5] = int64(v)
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			return 0, false
		}
		b = b[n+m:]
	}
	return id[0], id[0] == id[1]
}

// executions says of a plane what its events are to collectives.
func (p *Plane) executions(to *source.Process) {
	if to.Kind = kindOf(p); to.Kind == "" {
		return
	}
	if id, ok := globalID(p); ok {
		to.DeviceID = &id
	}
	to.Device, to.Executes = source.DeviceNumber(p.Name), make([]bool, len(p.Lines))
	for k := range p.Lines {
		to.Executes[k] = holdsExecutions(to.Kind, &p.Lines[k])
	}
}

// Part returns a view of some planes, under the names that they had in the recording.
func (s *Space) Part(planes []int, names []string) source.Compiled { return s.only(planes, names) }

// maxModules is how many compiled programs of a trace are read for their collectives.
const maxModules = 1 << 14

// Programs reads the HLO protos of the metadata planes.
func (s *Space) Programs(ctx context.Context, src *file.Source, warn func(string)) ([]source.Program, error) {
	x := &programReader{src: src, warn: warn}
	for i := range s.Planes {
		p := &s.Planes[i]
		if !strings.HasPrefix(p.Name, planeMetadata) {
			continue
		}
		if err := EventMetadata(ctx, src, p, func(m *EventMeta) error { return x.entry(ctx, m) }); err != nil {
			return nil, err
		}
	}
	return x.list, nil
}

type programReader struct {
	src   *file.Source
	warn  func(string)
	list  []source.Program
	count int
}

// entry reads the program in an event metadata, if it holds one.
func (x *programReader) entry(ctx context.Context, m *EventMeta) error {
	for i := range m.Stats {
		st := &m.Stats[i]
		if st.Kind != statBytes || !strings.EqualFold(st.Name, "Hlo Proto") && !strings.EqualFold(st.Name, "hlo_proto") {
			continue
		}
		if x.count++; x.count > maxModules {
			x.warn(fmt.Sprintf("only the first %d compiled programs are searched for collectives", maxModules))
			return nil
		}
		mod, err := hlo.Read(ctx, x.src, st.Offset, st.Offset+st.Length)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			x.warn(fmt.Sprintf("the program %s is damaged: its collectives are not known", m.Name))
			continue
		}
		for _, w := range mod.Warnings {
			x.warn(m.Name + ": " + w)
		}
		if len(mod.Ops) == 0 {
			mod.Devices = nil
		}
		x.list = append(x.list, source.Program{ID: programID(m), Module: mod})
	}
	return nil
}

// programID returns the id of a program: its program_id stat, else the number behind its name, else the number of its entry.
func programID(m *EventMeta) int64 {
	for i := range m.Stats {
		if m.Stats[i].Name == statProgram {
			if id, ok := idBits(&m.Stats[i]); ok {
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

// statProgram is the stat that holds the id of a program.
const statProgram = "program_id"

// ProgramOf returns the id of the program that an event metadata names.
func ProgramOf(m *EventMeta) (id int64, ok bool) {
	for i := range m.Stats {
		if m.Stats[i].Name == statProgram {
			if v, isID := idBits(&m.Stats[i]); isID {
				id, ok = v, true
			}
		}
	}
	return id, ok
}

// programsOfEvents returns the program id of each candidate's event metadata, where it is kept there and not with the events.
func programsOfEvents(ctx context.Context, src *file.Source, p *Plane, only *idSet) (map[int64]int64, error) {
	out := map[int64]int64{}
	err := EventMetadata(ctx, src, p, func(m *EventMeta) error {
		if !only.Has(m.ID) {
			return nil
		}
		if id, ok := ProgramOf(m); ok {
			out[m.ID] = id
		}
		return nil
	})
	return out, err
}

// facts finds in the stats what the event says of its operation.
func facts(e *Event, o *source.Operation) {
	for it := e.Stats(); it.Next(); {
		st := it.Stat()
		switch st.Name {
		case "hlo_op":
			o.Op = strings.TrimPrefix(st.Text(), "%")
		case "hlo_module":
			o.Module = st.Text()
		case statProgram:
			o.Program, o.HasProgram = idBits(st)
		case "run_id":
			o.Run, o.HasRun = idBits(st)
		case "device_ordinal":
			o.Ordinal, o.HasOrdinal = st.Integer()
		}
	}
}

// idBits reads an id, which producers write as int64 or uint64 and which may be negative in the one and huge in the other.
func idBits(st *xStat) (int64, bool) {
	switch st.Kind {
	case statInt:
		return st.Int, true
	case statUint:
		return int64(st.Uint), true
	}
	v, ok := st.Integer()
	return v, ok
}

func floorNS(ps int64) int64 {
	if ps < 0 {
		return -((-ps + 999) / 1000)
	}
	return ps / 1000
}

func ceilNS(ps int64) int64 { return -floorNS(-ps) }
