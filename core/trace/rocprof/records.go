package rocprof

import (
	"cmp"

	"github.com/prlx-go/prlx/core/trace/rows"
)

// reading is one pass over the records of a document.
type reading struct {
	d     *document
	ask   rows.Ask
	visit func(r *rows.Row) error
	row   rows.Row
	args  rows.Args
}

// roles are the lists of records that are read.
var roles = map[string]rows.Role{
	"kernel_dispatch": rows.Kernel, "memory_copy": rows.Copy, "hip_api": rows.Call, "hsa_api": rows.Call, "rccl_api": rows.Call, "rocdecode_api": rows.Call,
	"rocjpeg_api": rows.Call, "marker_api": rows.Range, "memory_allocation": rows.Other, "scratch_memory": rows.Other,
}

// record is a record of any list.
type record struct {
	Kind        int64 `json:"kind"`
	Operation   int64 `json:"operation"`
	Thread      int64 `json:"thread_id"`
	Correlation struct {
		Internal int64 `json:"internal"`
	} `json:"correlation_id"`
	Start    int64  `json:"start_timestamp"`
	End      int64  `json:"end_timestamp"`
	StreamID handle `json:"stream_id"`
	Dispatch struct {
		Agent   handle `json:"agent_id"`
		Queue   handle `json:"queue_id"`
		Kernel  int64  `json:"kernel_id"`
		Number  int64  `json:"dispatch_id"`
		Private int64  `json:"private_segment_size"`
		Group   int64  `json:"group_segment_size"`
		Size    xyz    `json:"workgroup_size"`
		Grid    xyz    `json:"grid_size"`
	} `json:"dispatch_info"`
	Agent  handle `json:"agent_id"`
	Target handle `json:"dst_agent_id"`
	Source handle `json:"src_agent_id"`
	Bytes  int64  `json:"bytes"`
	Size   int64  `json:"allocation_size"`
}

type xyz struct {
	X, Y, Z int64
}

func (v xyz) list() [3]int64 { return [3]int64{v.X, v.Y, v.Z} }

// records reads one list of records.
func (r *reading) records(key string) error {
	role, used := roles[key]
	if !used {
		n := 0
		err := r.d.list(func() error { n++; return r.d.skip() })
		if n > 0 {
			r.d.unused[key] = true
		}
		return err
	}
	return r.d.list(func() error {
		var rec record
		if err := r.d.value(&rec); err != nil {
			return err
		}
		r.of(&rec, role, key)
		if !r.ask.Wants(role) {
			return nil
		}
		return r.visit(&r.row)
	})
}

// of makes a row of a record.
func (r *reading) of(rec *record, role rows.Role, key string) {
	d := r.d
	one := &r.row
	*one = rows.Row{Role: role, Lane: rows.Lane{PID: d.pid, Device: -1, Number: rec.Thread}, Correlation: uint64(max(0, rec.Correlation.Internal))}
	d.clock.Place(one, rec.Start, rec.End)
	r.args.Reset()
	if r.ask.Args {
		one.Args = &r.args
		r.args.Int("correlation", rec.Correlation.Internal)
	}
	switch role {
	case rows.Kernel:
		a, ok := d.agents[rec.Dispatch.Agent.Handle]
		one.Lane = place(a, ok, d.pid, rec.Thread, rec.Dispatch.Queue.Handle, rec.StreamID.Handle)
		one.Name = cmp.Or(d.kernels[rec.Dispatch.Kernel], "kernel "+decimal(rec.Dispatch.Kernel))
		if id := rec.Dispatch.Kernel; id >= 0 && id < 1<<40 {
			one.Key = uint64(d.nth)<<40 + uint64(id) + 1
		}
		one.Blocks = blocks(rec.Dispatch.Grid.list(), rec.Dispatch.Size.list())
		r.args.Int("dispatch", rec.Dispatch.Number)
		r.args.Int("LDS", rec.Dispatch.Group)
		r.args.Int("scratch", rec.Dispatch.Private)
		r.args.Three("grid", rec.Dispatch.Grid.X, rec.Dispatch.Grid.Y, rec.Dispatch.Grid.Z)
		r.args.Three("block", rec.Dispatch.Size.X, rec.Dispatch.Size.Y, rec.Dispatch.Size.Z)
	case rows.Copy:
		target, known := d.agents[rec.Target.Handle]
		if !known || target.gpu < 0 {
			target, known = d.agents[rec.Source.Handle]
		}
		one.Lane = place(target, known, d.pid, rec.Thread, copies, rec.StreamID.Handle)
		one.Name = d.operation(rec, "copy")
		one.ToHost = toHost(one.Name)
		r.args.Int("bytes", rec.Bytes)
	case rows.Range:
		one.Name = cmp.Or(d.markers[rec.Correlation.Internal], d.operation(rec, "marker"))
	case rows.Call:
		one.Name = d.operation(rec, "call")
		one.Graphs = graphs(one.Name)
		one.Category = key
	default:
		one.Name, one.Category = d.operation(rec, key), key
		r.args.Int("bytes", max(rec.Size, rec.Bytes))
	}
}

// operation is what a record is of.
func (d *document) operation(rec *record, otherwise string) string {
	k := d.kinds[rec.Kind]
	if rec.Operation >= 0 && rec.Operation < int64(len(k.Operations)) {
		return k.Operations[rec.Operation]
	}
	return otherwise + " " + decimal(rec.Operation)
}
