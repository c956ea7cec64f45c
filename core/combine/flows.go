package combine

import (
	"strconv"

	"github.com/prlx-go/prlx/core/trace/source"
)

// flowEnd is one end of a flow, where it is in the output.
type flowEnd struct {
	pid int64
	tid int
	at  source.Instant
}

// flows writes the flows of recordings of libraries: within one, and from what one sends to what another receives. An end whose other end is in no input is
// left out, and so is a flow that would go back in time.
func (d *chromeDocument) flows(yield func(int64, maker) error) error {
	begins, ends := map[uint64][]flowEnd{}, map[uint64][]flowEnd{}
	var order []uint64 // of begins, as the inputs have them
	for k, n := range d.in.nodes {
		own, ok := n.Trace.(source.Accompanying)
		x := d.parts[k].cross
		if !ok || x == nil {
			continue
		}
		lines := x.byPlace()
		err := own.FlowEnds(d.job.Context(), n.Src, func(e *source.FlowEnd) {
			l := lines[[2]int32{e.Process, e.Line}]
			if l == nil {
				return
			}
			one := flowEnd{l.pid, l.tid, source.After(l.at.NewBaseNS, l.at.Cursor().Map((e.NS-l.at.OldBaseNS)*1000))} // as its slice is mapped
			switch {
			case !overlaps(d.c.at.keep, one.at, one.at):
			case e.Begins:
				if begins[e.Number] == nil {
					order = append(order, e.Number)
				}
				begins[e.Number] = append(begins[e.Number], one)
			default:
				ends[e.Number] = append(ends[e.Number], one)
			}
		})
		if err != nil {
			return withPath(err, n.Path)
		}
	}
	if len(order) == 0 {
		return nil
	}
	return yield(6*blockBytes, func(w *pieceWorker) error { return d.writeFlows(w, order, begins, ends) })
}

// byPlace are the lines that are written, by their places in the trace.
func (x *crossing) byPlace() map[[2]int32]*crossLine {
	out := map[[2]int32]*crossLine{}
	for _, p := range x.planes {
		for _, l := range p.lines {
			out[[2]int32{int32(p.plane.Index), int32(l.line.Index)}] = l
		}
	}
	return out
}

// writeFlows writes both ends of each flow.
func (d *chromeDocument) writeFlows(w *pieceWorker, order []uint64, begins, ends map[uint64][]flowEnd) error {
	text := w.buffer()
	drawn, back := int64(0), int64(0)
	for _, number := range order {
		for i, from := range begins[number] {
			if i >= len(ends[number]) {
				break
			}
			to := ends[number][i]
			if to.at.Before(from.at) {
				back++
				continue
			}
			drawn++
			text = d.flowEnd(text, "s", drawn, from)
			if text = d.flowEnd(text, "f", drawn, to); len(text) < blockBytes {
				continue
			}
			full := text
			text = w.buffer()
			if err := w.emit([]byte(",\n"), full); err != nil {
				return err
			}
		}
	}
	d.flowsDrawn, d.flowsBack = drawn, back
	return w.emit([]byte(",\n"), text)
}

// flowEnd appends one end of a flow. A flow binds to the slice around it.
func (d *chromeDocument) flowEnd(dst []byte, phase string, id int64, e flowEnd) []byte {
	ts, ok := source.AppendMicros(nil, e.at, d.zeroNS)
	if !ok {
		return dst
	}
	if len(dst) > 0 {
		dst = append(dst, ",\n"...)
	}
	dst = append(append(append(dst, `{"ph":"`...), phase...), `","name":"nccl","cat":"nccl_flow","id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = strconv.AppendInt(append(dst, `,"pid":`...), e.pid, 10)
	dst = strconv.AppendInt(append(dst, `,"tid":`...), int64(e.tid), 10)
	dst = append(append(dst, `,"ts":`...), ts...)
	if phase == "f" {
		dst = append(dst, `,"bp":"e"`...)
	}
	return append(dst, '}')
}

// sayFlows says how many flows were written.
func (d *chromeDocument) sayFlows() {
	if d.flowsDrawn > 0 {
		d.said.note("%d flows lead from calls of NCCL over launches and kernels to the proxies of peers", d.flowsDrawn)
	}
	if d.flowsBack > 0 {
		d.said.warn("%d flows of NCCL are left out: by the clocks as they are known, what they lead to was before what they come from", d.flowsBack)
	}
}
