package tracks

import (
	"context"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/fault"
)

// The numbers of fields of XSpace, as docs/formats/xplane.proto has them.
const (
	spacePlane, spaceHost                                  = 1, 4
	planeID, planeName, planeLine, planeEvents, planeStats = 1, 2, 3, 4, 5
	planeOwn                                               = 6
	lineID, lineName, lineStart, lineEvent                 = 1, 2, 3, 4
	lineDuration, lineDisplayID                            = 9, 10
	eventMeta, eventOffset, eventDuration, eventStat       = 1, 2, 3, 4
	statMeta, statUnsigned, statSigned, statText           = 1, 3, 4, 5
	metaID, metaName                                       = 1, 2
	mapKey, mapValue                                       = 1, 2
)

// WriteXSpace writes an XSpace: a plane for each rank. Instants count from profile_start_time of its task environment. A chain of flows through
// an operation has the stat `flow`, as TensorFlow's XFlow encodes it: the viewer draws it in the order of time.
func (t *Tracks) WriteXSpace(ctx context.Context, w io.Writer) error {
	hosts := map[string]bool{}
	var head []byte
	for i := range t.Processes {
		if h := t.Processes[i].Host; h != "" && !hosts[h] {
			hosts[h] = true
			head = protowire.AppendString(protowire.AppendTag(head, spaceHost, protowire.BytesType), h)
		}
	}
	if _, err := w.Write(append(head, field(spacePlane, t.environment())...)); err != nil {
		return fault.FromIO("", err)
	}
	ends := t.chainEnds()
	for i := range t.Processes {
		if err := ctx.Err(); err != nil {
			return fault.FromIO("", err)
		}
		if _, err := w.Write(field(spacePlane, t.plane(i, ends))); err != nil {
			return fault.FromIO("", err)
		}
	}
	return nil
}

// field is a length-prefixed field.
func field(number protowire.Number, b []byte) []byte {
	out := make([]byte, 0, len(b)+10)
	return protowire.AppendBytes(protowire.AppendTag(out, number, protowire.BytesType), b)
}

func appendField(dst []byte, number protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, number, protowire.BytesType), b)
}

func appendInt(dst []byte, number protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.VarintType), uint64(v))
}

// environment is the plane that says when the recording began and ended.
func (t *Tracks) environment() []byte {
	x := &plane{}
	b := appendField(nil, planeName, []byte("Task Environment"))
	for _, s := range []struct {
		name string
		ns   int64
	}{{"profile_start_time", t.ZeroNS}, {"profile_stop_time", t.EndNS}} {
		b = appendField(b, planeOwn, appendInt(appendInt(nil, statMeta, x.stat(s.name)), statUnsigned, s.ns))
	}
	return append(b, x.metadata()...)
}

// names numbers names from 1 on, in the order in which they come.
type names struct {
	at  map[string]int64
	all []string
}

func (n *names) of(name string) int64 {
	if id, ok := n.at[name]; ok {
		return id
	}
	if n.at == nil {
		n.at = map[string]int64{}
	}
	n.all = append(n.all, name)
	n.at[name] = int64(len(n.all))
	return n.at[name]
}

// plane is a plane in the making.
type plane struct{ events, stats names }

func (x *plane) event(name string) int64 { return x.events.of(name) }
func (x *plane) stat(name string) int64  { return x.stats.of(name) }

// metadata is what a plane's ids mean.
func (x *plane) metadata() (b []byte) {
	for _, m := range []struct {
		number protowire.Number
		names  *names
	}{{planeEvents, &x.events}, {planeStats, &x.stats}} {
		for i, name := range m.names.all {
			meta := appendField(appendInt(nil, metaID, int64(i+1)), metaName, []byte(name))
			b = appendField(b, m.number, appendField(appendInt(nil, mapKey, int64(i+1)), mapValue, meta))
		}
	}
	return b
}

// ends are the first and the last slice of a chain, and whether it goes on to a peer.
type ends struct {
	first, last Place
	peer        bool
	n           int
}

// receives reports whether a slice is what a peer receives of a chain.
func (t *Tracks) receives(p *Process, s *Slice) bool {
	return s.Kind == Proxy && !t.Job.Recordings[t.Job.Ranks[p.Rank].Recording].Proxies[s.Index].Send
}

// chainEnds finds where chains begin and end. A peer may have begun to receive long before.
func (t *Tracks) chainEnds() map[uint64]ends {
	out := map[uint64]ends{}
	for pi := range t.Processes {
		for li := range t.Processes[pi].Lines {
			for si := range t.Processes[pi].Lines[li].Slices {
				s := &t.Processes[pi].Lines[li].Slices[si]
				if s.Chain == 0 {
					continue
				}
				at := Place{int32(pi), int32(li), int32(si)}
				e := out[s.Chain]
				switch {
				case t.receives(&t.Processes[pi], s):
					e.peer = true
				case e.n == 0:
					e.first, e.last, e.n = at, at, 1
				default:
					if s.StartNS < t.slice(e.first).StartNS {
						e.first = at
					}
					if s.StartNS >= t.slice(e.last).StartNS {
						e.last = at
					}
					e.n++
				}
				e.peer = e.peer || t.alone && s.Kind == Proxy // it may go on in another recording, or have come from there
				out[s.Chain] = e
			}
		}
	}
	return out
}

// xflow encodes TensorFlow's XFlow: direction in the lowest two bits (1 in, 2 out, 3 both), the id in the next 56. ok is false where it leads nowhere.
func xflow(chain uint64, at Place, receives bool, e ends) (flow int64, ok bool) {
	direction := int64(3)
	switch {
	case receives, at == e.last && at != e.first && !e.peer:
		direction = 1
	case at == e.first:
		direction = 2
	}
	return direction | int64(chain)<<2, e.n > 1 || e.peer
}

// plane writes the plane of a process.
func (t *Tracks) plane(pi int, chains map[uint64]ends) []byte {
	p := &t.Processes[pi]
	x := &plane{}
	b := appendField(appendInt(nil, planeID, int64(pi+1)), planeName, []byte("/device:CUSTOM:"+p.Name))
	var args []Arg
	for li := range p.Lines {
		l := &p.Lines[li]
		line := appendField(appendInt(nil, lineID, int64(li+1)), lineName, []byte(l.Name))
		line = appendInt(line, lineDisplayID, int64(li+1))
		line = appendInt(line, lineStart, 0)
		end := int64(0)
		for si := range l.Slices {
			s := &l.Slices[si]
			e := appendInt(nil, eventMeta, x.event(s.Name))
			e = appendInt(e, eventOffset, (s.StartNS-t.ZeroNS)*1000)
			e = appendInt(e, eventDuration, (s.StopNS-s.StartNS)*1000)
			end = max(end, s.StopNS-t.ZeroNS)
			args = t.Args(p, s, args[:0])
			for i := range args {
				e = appendField(e, eventStat, x.arg(&args[i]))
			}
			if s.Chain != 0 {
				if v, ok := xflow(s.Chain, Place{int32(pi), int32(li), int32(si)}, t.receives(p, s), chains[s.Chain]); ok {
					e = appendField(e, eventStat, appendInt(appendInt(nil, statMeta, x.stat("flow")), statUnsigned, v))
				}
			}
			line = appendField(line, lineEvent, e)
		}
		b = appendField(b, planeLine, appendInt(line, lineDuration, end*1000))
	}
	return append(b, x.metadata()...)
}

// arg is a stat.
func (x *plane) arg(a *Arg) []byte {
	b := appendInt(nil, statMeta, x.stat(a.Key))
	if a.IsText {
		return appendField(b, statText, []byte(a.Text))
	}
	return appendInt(b, statSigned, a.Number)
}
