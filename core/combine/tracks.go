package combine

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// The clock of a node as curves beside its events: how far it was ahead of the reference's, and how far off that can be.

const (
	trackSteps = 200  // instants at the same distance, at which a clock is drawn
	trackKnots = 2000 // bends of the clock's map that are drawn too; of more, some
)

// clockTracks returns the curves of a node's clock under a name; nil: there are none.
func clockTracks(n *Node, name string, wall *clock.Map, keep *align.Range) []source.CounterTrack {
	if name == "" {
		return nil
	}
	from, to, ok := n.spanNS()
	if !ok {
		return nil
	}
	offset := source.CounterTrack{Name: fmt.Sprintf("clock of %s ahead by", name)}
	bound := source.CounterTrack{Name: fmt.Sprintf("clock of %s bound", name)}
	for _, x := range drawnAt(wall, from, to) {
		y, b, _ := wall.At(x)
		if keep != nil && (y < keep.FromNS || y > keep.ToNS) {
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

// drawnAt returns the instants of a clock at which it is drawn, in order.
func drawnAt(wall *clock.Map, from, to int64) []int64 {
	at := []int64{from, to}
	if step := (to - from) / trackSteps; step > 0 { // what spans more than 292 years has no steps
		for i := range int64(trackSteps) {
			at = append(at, from+step*i)
		}
	}
	knots := wall.Knots()
	for i := 0; i < len(knots); i += 1 + len(knots)/trackKnots {
		if x := knots[i].X; x > from && x < to {
			at = append(at, x)
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// counterPlane is the plane of the node's curves, nil where it has none. id is the plane's.
func (f *nodeFile) counterPlane(id int64) []byte {
	tracks := clockTracks(f.node, f.drawn, f.at.maps.Wall, f.keep)
	if tracks == nil {
		return nil
	}
	return f.node.retimer().CounterPlane("clock of "+f.drawn, id, f.zeroNS, tracks)
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
	if d.in.alone() && d.in.nodes[0].text != nil {
		pid = d.in.nodes[0].freePID()
	}
	var text []byte
	for k, n := range d.in.nodes {
		for _, track := range clockTracks(n, d.c.drawnAs(d.in, k), d.c.at.nodes[k].maps.Wall, d.c.at.keep) {
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
