package combine

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

// The clock of a node as curves beside its events: how far it was ahead of the reference's, and how far off that can be.

const (
	trackSteps = 200  // instants at the same distance, at which a clock is drawn
	trackKnots = 2000 // bends of the clock's map that are drawn too; of more, some
)

// drawnAs is the name of node k on the curves of its clock, "" where they are not asked for or nothing is known of it.
func (t *task) drawnAs(k int) string {
	if t.drawn != nil {
		return t.drawn[k]
	}
	if n := t.nodes[k]; t.req.BoundStat && n.absolute && !n.stays() && t.corrects() && !t.boundUnknown(k) {
		return n.tag
	}
	return ""
}

// clockTracks returns the curves of node k.
func (t *task) clockTracks(k int) []source.CounterTrack {
	n, name := t.nodes[k], t.drawnAs(k)
	if name == "" {
		return nil
	}
	from, to, ok := n.spanNS()
	if !ok {
		return nil
	}
	offset := source.CounterTrack{Name: fmt.Sprintf("clock of %s ahead by", name)}
	bound := source.CounterTrack{Name: fmt.Sprintf("clock of %s bound", name)}
	for _, x := range n.drawnAt(from, to) {
		y, b, _ := n.Clocks.Wall.At(x)
		if keep := t.keep; keep != nil && (y < keep.FromNS || y > keep.ToNS) {
			continue
		}
		offset.Points = append(offset.Points, source.CounterPoint{AtNS: y, Value: x - y})
		bound.Points = append(bound.Points, source.CounterPoint{AtNS: y, Value: b})
	}
	if len(bound.Points) == 0 {
		return nil
	}
	return []source.CounterTrack{offset, bound}
}

// drawnAt returns the instants of the node's clock at which it is drawn, in order.
func (n *Node) drawnAt(from, to int64) []int64 {
	at := []int64{from, to}
	if step := (to - from) / trackSteps; step > 0 { // what spans more than 292 years has no steps
		for i := range int64(trackSteps) {
			at = append(at, from+step*i)
		}
	}
	knots := n.Clocks.Wall.Knots()
	for i := 0; i < len(knots); i += 1 + len(knots)/trackKnots {
		if x := knots[i].X; x > from && x < to {
			at = append(at, x)
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// counterPlane is the plane of the curves of node k, nil where it has none. id is the plane's.
func (t *task) counterPlane(k int, id int64) []byte {
	tracks := t.clockTracks(k)
	if tracks == nil {
		return nil
	}
	return t.nodes[k].retimer().CounterPlane("clock of "+t.drawnAs(k), id, t.zeroNS, tracks)
}

// addCounters writes the curves of node k behind its bytes, and returns how many there are then.
func (t *task) addCounters(k int, o *file.Output, bytes int64) (int64, error) {
	plane := t.counterPlane(k, t.nodes[k].freePlane())
	if _, err := o.WriteAt(plane, bytes); err != nil {
		return 0, err
	}
	return bytes + int64(len(plane)), nil
}

// freePlane is an id that no plane of the node has.
func (n *Node) freePlane() int64 {
	id := int64(0)
	for _, p := range n.layout {
		if p.ID >= id && p.ID < math.MaxInt64 {
			id = p.ID + 1
		}
	}
	return id
}

// clockProcess yields the curves of all nodes as a process of their own.
func (d *chromeDocument) clockProcess(yield func(int64, maker) error) error {
	pid := d.nextPID
	if d.alone() && d.nodes[0].text != nil {
		pid = d.nodes[0].freePID()
	}
	var text []byte
	for k := range d.nodes {
		for _, track := range d.clockTracks(k) {
			for _, p := range track.Points {
				text = d.counter(text, pid, track.Name, p)
			}
		}
	}
	if len(text) == 0 {
		return nil
	}
	text = fmt.Appendf(text, `{"ph":"M","name":"process_name","pid":%d,"tid":0,"args":{"name":"prlx: clocks of the nodes"}},`+"\n", pid)
	text = fmt.Appendf(text, `{"ph":"M","name":"process_sort_index","pid":%d,"tid":0,"args":{"sort_index":%d}}`, pid, math.MaxInt32)
	return yield(int64(len(text)), func(w *pieceWorker) error { return w.emit([]byte(",\n"), text) })
}

// counter appends one value of a curve. Viewers draw one curve for each name.
func (d *chromeDocument) counter(dst []byte, pid int64, name string, p source.CounterPoint) []byte {
	dst = source.AppendString(append(dst, `{"ph":"C","name":`...), name)
	dst = strconv.AppendInt(append(dst, `,"pid":`...), pid, 10)
	at, ok := source.AppendMicros(append(dst, `,"tid":0,"ts":`...), source.Instant{NS: p.AtNS}, d.zeroNS)
	if !ok {
		at = append(at, '0')
	}
	dst = strconv.AppendInt(append(at, `,"args":{"ns":`...), p.Value, 10)
	return append(dst, "}},\n"...)
}

// freePID is a pid that no process of a Chrome trace has.
func (n *Node) freePID() int64 {
	pid := int64(1)
	for _, p := range n.layout {
		if v, err := strconv.ParseInt(unquoted(p.TextID), 10, 64); err == nil && v >= pid && v < math.MaxInt32 {
			pid = v + 1
		}
	}
	return pid
}
