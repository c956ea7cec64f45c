// Package xspacetest writes XSpace files of any size whose clocks are known exactly: for tests and benchmarks, in constant memory.
//
// A Job is what several nodes did at the same true times: each node shows it on a wall clock S and a tracer clock R of its own,
// with integer offsets and drifts, in the layout of the ROCm exporter. Device lines are on R (offsets count from the tracer's
// start, timestamp_ns from the session's), host lines on S, and /host:snapshots relates the two. The k-th all-reduce ends at one
// true time on every device and starts at different ones, so its order is possible on the true clock. The same Config gives the
// same bytes.
package xspacetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Epoch is the true instant (ns since 1970) at which all offsets hold.
const Epoch = int64(1_760_000_000_000_000_000)

const (
	collectorDelayNS = int64(3_000_000) // from the start of the session to that of the collector
	sessionDelayNS   = int64(1_000_000) // from Epoch to the start of the session
	kernels          = 200
	fusions          = 500
	allReduces       = 8
)

// Clock is the error of one node's clocks: S = true + OffsetNS + DriftPPB*(true-Epoch), R = TracerNS + (true-Epoch)*(1+TracerPPB).
type Clock struct {
	OffsetNS  int64 `json:"offset_ns"`
	DriftPPB  int64 `json:"drift_ppb"`
	TracerNS  int64 `json:"r0_ns"`
	TracerPPB int64 `json:"gpu_drift_ppb"`
	StartNS   int64 `json:"-"` // by how much later than the others the node's session begins, true ns
}

// Wall returns what the wall clock shows at a true instant.
func (c *Clock) Wall(t int64) int64 { return t + c.OffsetNS + scale(c.DriftPPB, t-Epoch) }

// Tracer returns what the tracer's clock shows at a true instant.
func (c *Clock) Tracer(t int64) int64 { return c.TracerNS + (t - Epoch) + scale(c.TracerPPB, t-Epoch) }

// scale returns ppb*d/1e9, rounded down as a clock's counter is, without overflow.
func scale(ppb, d int64) int64 {
	part := ppb * (d % 1_000_000_000)
	q := part / 1_000_000_000
	if part%1_000_000_000 < 0 {
		q--
	}
	return ppb*(d/1_000_000_000) + q
}

// Config says what to write. The zero value of a field takes the default.
type Config struct {
	Clocks       []Clock // one per node; nil: Nodes random ones, the first without error
	Nodes        int     // default 2
	GPUs         int     // default 8
	EventsPerGPU int64   // default 1000
	Seed         uint64
	JitterNS     int64 // delay between the two readings of a snapshot: uniform in [0, JitterNS)
	SnapshotNS   int64 // spacing of snapshots; default 100 ms
	RoundNS      int64 // length of a probe round; default 4 s
	Unsorted     bool  // every second pair of neighbouring events is swapped
	Nested       bool  // kernels have a child that starts with them
	NoSnapshots  bool  // device lines on S instead of R, as other exporters write
}

// Job is a Config with everything decided.
type Job struct {
	Config
	last int64 // true instant after the last event
}

// New completes a config.
func New(c Config) *Job {
	if c.GPUs == 0 {
		c.GPUs = 8
	}
	if c.EventsPerGPU == 0 {
		c.EventsPerGPU = 1000
	}
	if c.SnapshotNS == 0 {
		c.SnapshotNS = 100_000_000
	}
	if c.RoundNS == 0 {
		c.RoundNS = 4_000_000_000
	}
	if c.Clocks == nil {
		r := random(c.Seed)
		if c.Nodes == 0 {
			c.Nodes = 2
		}
		for k := range c.Nodes {
			cl := Clock{TracerNS: r.in(1e13, 1e15), TracerPPB: r.in(-20_000, 20_000)}
			if k > 0 {
				cl.OffsetNS, cl.DriftPPB = r.in(-500_000_000, 500_000_000), r.in(-100_000, 100_000)
			}
			c.Clocks = append(c.Clocks, cl)
		}
	}
	c.Nodes = len(c.Clocks)
	j := &Job{Config: c}
	j.each(0, 0, func(Event) bool { return true })
	return j
}

// BytesPerEvent is about what one device event takes, for sizing.
const BytesPerEvent = 31

type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *random) in(lo, hi int64) int64 { return lo + int64(r.next()%uint64(hi-lo)) }

// Event is one device event at its true time.
type Event struct {
	Start, End int64 // true ns
	Name, Op   int64 // metadata ids
	Index      int64
}

// session and collector return the true instants at which a node's session and collector begin.
func (j *Job) session(node int) int64   { return Epoch + sessionDelayNS + j.Clocks[node].StartNS }
func (j *Job) collector(node int) int64 { return j.session(node) + collectorDelayNS }

// begin is when the first event may start: after every collector.
func (j *Job) begin() int64 {
	t := int64(0)
	for k := range j.Clocks {
		t = max(t, j.collector(k))
	}
	return t + 1_000_000
}

// Events visits the events of one device line in stored order.
func (j *Job) Events(node, gpu int, visit func(Event)) {
	j.each(node, gpu, func(e Event) bool { visit(e); return true })
}

func (j *Job) each(node, gpu int, visit func(Event) bool) {
	shared, own := random(j.Seed), random(j.Seed*7919+uint64(node)*1009+uint64(gpu)) // ends are shared by all devices, starts are not
	t := j.begin()
	var held *Event
	out := func(e Event) {
		if j.Unsorted && held == nil && e.Index%4 == 1 {
			held = &e
			return
		}
		visit(e)
		if held != nil {
			visit(*held)
			held = nil
		}
	}
	for i := int64(0); i < j.EventsPerGPU; i++ {
		d := shared.in(2000, 60_000)
		e := Event{Start: t + own.in(0, 500), End: t + d, Name: 1 + i%kernels, Op: 4 + i%fusions, Index: i}
		if i%50 == 49 {
			e.Start, e.Name, e.Op = t+own.in(0, d/2), kernels+1, 4+fusions+i/50%allReduces
		} else if j.Nested && i%3 == 0 {
			child := e
			child.End = e.Start + (e.End-e.Start)/2
			out(child)
		}
		out(e)
		t = e.End + 700
	}
	if held != nil {
		visit(*held)
	}
	j.last = max(j.last, t)
}

// StartWallNS, StartTracerNS and ProfileStartNS are what the node's clocks showed at the start of its collector and session.
func (j *Job) StartWallNS(node int) int64    { return j.Clocks[node].Wall(j.collector(node)) }
func (j *Job) StartTracerNS(node int) int64  { return j.Clocks[node].Tracer(j.collector(node)) }
func (j *Job) ProfileStartNS(node int) int64 { return j.Clocks[node].Wall(j.session(node)) }

// LastTrueNS is the true instant after the last event.
func (j *Job) LastTrueNS() int64 { return j.last }

func varint(b []byte, field protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

func text(b []byte, field protowire.Number, s string) []byte { return message(b, field, []byte(s)) }

// metadata appends an entry of a map of names.
func metadata(b []byte, field protowire.Number, id int64, name string) []byte {
	return message(b, field, message(varint(nil, 1, id), 2, text(varint(nil, 1, id), 2, name)))
}

func stat(id int64, field protowire.Number, v int64) []byte {
	return varint(varint(nil, 1, id), field, v)
}

// Write writes the file of one node.
func (j *Job) Write(node int, w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<20)
	for gpu := range j.GPUs {
		j.writeDevice(b, node, gpu)
	}
	for _, plane := range [][]byte{j.hostPlane(node), j.snapshotPlane(node), j.environmentPlane(node)} {
		if plane != nil {
			b.Write(message(nil, 1, plane))
		}
	}
	b.Write(text(nil, 4, fmt.Sprintf("node%d", node)))
	return b.Flush()
}

func (j *Job) writeDevice(w *bufio.Writer, node, gpu int) {
	c := &j.Clocks[node]
	start := j.StartTracerNS(node)
	at := func(t int64) int64 { return c.Tracer(t) - start }
	if j.NoSnapshots {
		start = j.StartWallNS(node)
		at = func(t int64) int64 { return c.Wall(t) - start }
	}
	ev, st := make([]byte, 0, 64), make([]byte, 0, 16)
	encode := func(e Event) []byte {
		b, end := at(e.Start), at(e.End)
		ev = varint(varint(varint(ev[:0], 1, e.Name), 2, b*1000), 3, (end-b)*1000)
		st = varint(varint(st[:0], 1, 1), 7, e.Op)
		ev = message(ev, 4, st)
		st = varint(varint(st[:0], 1, 2), 3, e.Index)
		return message(ev, 4, st)
	}
	size := int64(0)
	j.Events(node, gpu, func(e Event) {
		n := len(encode(e))
		size += int64(1 + protowire.SizeBytes(n))
	})
	line := varint(text(varint(nil, 1, 1), 2, "Stream #1(Compute)"), 3, j.StartWallNS(node)-j.ProfileStartNS(node))
	lineSize := int64(len(line)) + size
	plane := append(text(varint(nil, 1, int64(gpu)), 2, fmt.Sprintf("/device:GPU:%d", gpu)), deviceTables()...)
	planeSize := int64(len(plane)) + 1 + int64(protowire.SizeVarint(uint64(lineSize))) + lineSize
	w.Write(protowire.AppendVarint([]byte{0x0a}, uint64(planeSize)))
	w.Write(plane)
	w.Write(protowire.AppendVarint([]byte{0x1a}, uint64(lineSize)))
	w.Write(line)
	head := make([]byte, 0, 8)
	j.Events(node, gpu, func(e Event) {
		b := encode(e)
		head = protowire.AppendVarint(append(head[:0], 0x22), uint64(len(b)))
		w.Write(head)
		w.Write(b)
	})
}

func deviceTables() []byte {
	var b []byte
	for i := int64(1); i <= kernels; i++ {
		b = metadata(b, 4, i, fmt.Sprintf("fusion.%d", i))
	}
	b = metadata(b, 4, kernels+1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
	for i, s := range []string{"hlo_op", "correlation_id", "occupancy_pct"} {
		b = metadata(b, 5, int64(i+1), s)
	}
	for i := int64(0); i < fusions; i++ {
		b = metadata(b, 5, 4+i, fmt.Sprintf("loop_fusion.%d", i))
	}
	for i := int64(0); i < allReduces; i++ {
		b = metadata(b, 5, 4+fusions+i, fmt.Sprintf("all-reduce.%d", i))
	}
	return b
}

// maxHostEvents bounds the host line: one step of 1 ms an event.
const maxHostEvents = 200_000

func (j *Job) hostPlane(node int) []byte {
	c := &j.Clocks[node]
	line := varint(text(varint(nil, 1, 77), 2, "python"), 3, 0)
	n := 0
	for t := j.begin(); t < j.last && n < maxHostEvents; t += 1_000_000 {
		line = message(line, 4, varint(varint(varint(nil, 1, 1), 2, (c.Wall(t)-j.ProfileStartNS(node))*1000), 3, 900_000_000))
		n++
	}
	return metadata(message(text(nil, 2, "/host:CPU"), 3, line), 4, 1, "train")
}

func (j *Job) snapshotPlane(node int) []byte {
	if j.NoSnapshots {
		return nil
	}
	c := &j.Clocks[node]
	line := varint(text(nil, 2, "Clock Snapshots"), 3, j.StartWallNS(node)-j.ProfileStartNS(node))
	jitter := random(j.Seed + uint64(node))
	for t := j.collector(node); t < j.last+j.SnapshotNS; t += j.SnapshotNS {
		late := int64(0)
		if j.JitterNS > 0 {
			late = jitter.in(0, j.JitterNS)
		}
		e := varint(varint(nil, 1, 1), 2, (c.Wall(t)-j.StartWallNS(node))*1000)
		line = message(line, 4, message(e, 4, stat(1, 3, c.Tracer(t+late))))
	}
	plane := message(text(varint(nil, 1, 990), 2, "/host:snapshots"), 3, line)
	return metadata(metadata(plane, 4, 1, "Snapshot"), 5, 1, "rocm_ns")
}

func (j *Job) environmentPlane(node int) []byte {
	p := text(varint(nil, 1, 991), 2, "Task Environment")
	p = metadata(metadata(p, 5, 1, "profile_start_time"), 5, 2, "profile_stop_time")
	return message(message(p, 6, stat(1, 3, j.ProfileStartNS(node))), 6, stat(2, 3, j.Clocks[node].Wall(j.last)))
}

// RoundOffsets writes what a perfect probe solver would: one row a round and node, relative to node 0.
func (j *Job) RoundOffsets(w io.Writer) error {
	e := json.NewEncoder(w)
	var ids []map[string]int64
	for k := range j.Clocks {
		ids = append(ids, map[string]int64{"node_id": int64(k), "start_walltime_ns": j.StartWallNS(k), "start_gpu_ns": j.StartTracerNS(k)})
	}
	if err := e.Encode(map[string]any{"meta": true, "nodes": ids}); err != nil {
		return err
	}
	ref := &j.Clocks[0]
	for k, t := int64(0), Epoch-j.RoundNS; t < j.last+j.RoundNS; k, t = k+1, t+j.RoundNS {
		for n := range j.Clocks {
			m := t + j.RoundNS/2
			row := map[string]any{
				"round_id": k, "window_id": k, "node_id": n, "midpoint_sys_ns": ref.Wall(m), "window_start_ns": ref.Wall(t), "window_end_ns": ref.Wall(t + j.RoundNS),
				"offset_ns": j.Clocks[n].Wall(m) - ref.Wall(m), "drift_ppm": float64(j.Clocks[n].DriftPPB) / 1000, "residual": 0, "reachable": true, "converged": true,
			}
			if err := e.Encode(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// Truth writes the clocks as JSON.
func (j *Job) Truth(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(map[string]any{
		"epoch_ns": Epoch, "model": "S = true + offset_ns + drift_ppb*(true-epoch); R = r0_ns + (true-epoch)*(1+gpu_drift_ppb)",
		"last_true_ns": j.last, "events_per_gpu": j.EventsPerGPU, "nodes": j.Clocks,
	})
}
