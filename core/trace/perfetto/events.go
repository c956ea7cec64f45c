package perfetto

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/trace/rows"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Kinds of TrackEvent.
const (
	sliceBegin, sliceEnd, instant, counter = 1, 2, 3, 4
)

// slice is an event that was begun.
type slice struct {
	ns             int64
	timed          bool
	name, category string
	correlation    uint64
	device         int64 // that the event itself names, -1 none
	args           argText
}

// argText is args as members of a JSON object.
type argText []byte

// AppendArgs appends them.
func (a *argText) AppendArgs(dst []byte, open int, _ *source.Lost) []byte {
	if len(*a) > 0 && len(dst) > open {
		dst = append(dst, ',')
	}
	return append(dst, *a...)
}

// maxOpen is how many slices a track may have open.
const maxOpen = 1 << 16

// rolesOf are what categories are, in the words of Kineto and of rocprofv3.
var rolesOf = map[string]rows.Role{
	"kernel": rows.Kernel, "kernel_dispatch": rows.Kernel, "gpu_kernel": rows.Kernel, "gpu_memcpy": rows.Copy, "memory_copy": rows.Copy, "gpu_memset": rows.Fill,
	"cuda_runtime": rows.Call, "cuda_driver": rows.Call, "hip_runtime": rows.Call, "hip_driver": rows.Call, "hip_api": rows.Call, "hip_runtime_api": rows.Call,
	"hip_compiler_api": rows.Call, "hsa_api": rows.Call, "rccl_api": rows.Call, "user_annotation": rows.Range, "gpu_user_annotation": rows.Range, "marker_api": rows.Range,
	"nvtx": rows.Range,
}

// event takes a TrackEvent.
func (b *book) event(data []byte, s *sequence, ns int64, timed bool) error {
	var one slice
	var kind, uuid, flow uint64
	uuid, one.device = s.track, -1
	var legacy []byte
	for rest := data; len(rest) > 0; {
		f, r, ok := next(rest)
		if !ok {
			return errDamaged
		}
		rest = r
		switch f.num {
		case 9:
			kind = f.v
		case 10:
			one.name = s.names[f.v]
		case 23:
			one.name = b.text(f.b)
		case 11:
			uuid = f.v
		case 3:
			if f.b != nil { // packed
				f.v, _ = firstVarint(f.b)
			}
			if one.category == "" {
				one.category = s.categories[f.v]
			}
		case 22:
			if one.category == "" {
				one.category = b.text(f.b)
			}
		case 47, 36:
			if f.b != nil {
				f.v, _ = firstFixed(f.b, f.num == 47)
			}
			flow = cmp.Or(flow, f.v)
		case 4:
			if err := b.annotation(f.b, s, &one); err != nil {
				return err
			}
		case 6:
			legacy = f.b
		}
	}
	if one.correlation == 0 && flow != 0 {
		one.correlation = folded(flow)
	}
	if !timed {
		b.lost.untimed++
	}
	one.ns, one.timed = ns, timed
	t := b.trackFor(uuid, s)
	if t == nil {
		b.lost.tracks++
		return nil
	}
	if legacy != nil && kind == 0 {
		return b.legacy(t, &one, legacy, s)
	}
	return b.kinds(t, &one, kind)
}

// folded makes a correlation of the number of a flow, which may have 64 bits.
func folded(flow uint64) uint64 { return max(1, (flow^flow>>32)&0xffffffff) }

// firstVarint and firstFixed read the first of a packed list.
func firstVarint(b []byte) (uint64, bool) {
	var v uint64
	for i := 0; i < len(b) && i < 10; i++ {
		v |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return v, true
		}
	}
	return 0, false
}

func firstFixed(b []byte, fixed bool) (uint64, bool) {
	if !fixed {
		return firstVarint(b)
	}
	if len(b) < 8 {
		return 0, false
	}
	var v uint64
	for i := range 8 {
		v |= uint64(b[i]) << (8 * i)
	}
	return v, true
}

// trackFor is the track of an event: its own, or the thread that writes the sequence.
func (b *book) trackFor(uuid uint64, s *sequence) *track {
	if uuid == 0 && s.thread {
		t := b.trackOf(1<<63 | uint64(uint32(s.pid))<<31 ^ uint64(s.tid))
		if t != nil {
			t.thread, t.pid, t.tid = true, s.pid, s.tid
		}
		return t
	}
	return b.trackOf(uuid)
}

// kinds takes an event of a kind.
func (b *book) kinds(t *track, one *slice, kind uint64) error {
	order := b.looked.tracks[t.uuid]
	switch kind {
	case sliceBegin:
		if order != nil && order.ends != nil {
			return b.known(t, one, order)
		}
		if len(t.open) >= maxOpen {
			b.lost.tracks++
			return nil
		}
		held := *one
		t.open = append(t.open, &held)
	case sliceEnd:
		if order != nil && order.ends != nil {
			return nil
		}
		return b.end(t, one)
	case instant:
		return b.emit(t, one, one.ns)
	case counter:
		b.unused["counters"]++
	default:
		b.unused["events of other kinds"]++
	}
	return nil
}

// known visits a slice of a track whose events are not in order of time, and which was ended by looking at all of them.
func (b *book) known(t *track, one *slice, order *trackOrder) error {
	end := order.ends[min(t.begun, len(order.ends)-1)]
	if t.begun++; end == notEnded {
		b.lost.unclosed++
		end = one.ns
	}
	return b.emit(t, one, end)
}

// end ends the slice that was begun last, or, where the end has a name, the last one of that name.
func (b *book) end(t *track, at *slice) error {
	i := len(t.open) - 1
	if at.name != "" {
		for k := i; k >= 0; k-- {
			if t.open[k].name == at.name {
				i = k
				break
			}
		}
	}
	if i < 0 {
		b.lost.unopened++
		return nil
	}
	for k := len(t.open) - 1; k > i; k-- { // those inside end with it
		if err := b.emit(t, t.open[k], at.ns); err != nil {
			return err
		}
	}
	one := t.open[i]
	t.open = t.open[:i]
	one.timed = one.timed && at.timed
	return b.emit(t, one, at.ns)
}

// legacy takes an event of Chrome's recorder.
func (b *book) legacy(t *track, one *slice, data []byte, s *sequence) error {
	var phase, durationUS int64
	err := each(data, func(f field) {
		switch f.num {
		case 1:
			one.name = cmp.Or(one.name, s.names[f.v])
		case 2:
			phase = int64(f.v)
		case 3:
			durationUS = int64(f.v)
		}
	})
	if err != nil {
		return err
	}
	switch phase {
	case 'X':
		return b.emit(t, one, one.ns+durationUS*1000)
	case 'B':
		return b.kinds(t, one, sliceBegin)
	case 'E':
		return b.kinds(t, one, sliceEnd)
	case 'i', 'I', 'R':
		return b.kinds(t, one, instant)
	}
	b.unused["events of other kinds"]++
	return nil
}

// emit visits an event as a row.
func (b *book) emit(t *track, one *slice, endNS int64) error {
	r := &b.row
	role, known := rolesOf[one.category]
	if !known {
		role = rows.Other
	}
	*r = rows.Row{Role: role, Name: one.name, Category: one.category, Correlation: one.correlation, Lane: b.laneOf(t)}
	if role <= rows.Graph && r.Lane.Device < 0 {
		r.Lane.Device = max(one.device, 0)
		b.lineNames[r.Lane] = cmp.Or(b.lineNames[t.lane], t.name)
	}
	if role == rows.Call {
		r.Graphs = strings.Contains(one.name, "GraphLaunch")
	}
	r.ToHost = role == rows.Copy && (strings.Contains(one.name, "DtoH") || strings.HasSuffix(one.name, "DEVICE_TO_HOST"))
	r.Pageable = r.ToHost && strings.HasSuffix(one.name, "-> Pageable)")
	if one.timed {
		b.clock.Place(r, one.ns, endNS)
	}
	if !b.ask.Wants(role) {
		return nil
	}
	if b.ask.Args {
		r.Args = &one.args
	}
	return b.visit(r)
}

// laneOf is where the events of a track belong.
func (b *book) laneOf(t *track) rows.Lane {
	if t.resolved == b.generation {
		return t.lane
	}
	t.resolved = b.generation
	t.device, t.owner = -1, t.pid
	name := t.name
	for up, depth := t, 0; up != nil && depth < 64; depth++ {
		if t.device < 0 {
			t.device = deviceOf(up.name)
		}
		if (up.process || up.thread) && t.owner == 0 {
			t.owner = up.pid
		}
		if up.parent == 0 {
			break
		}
		up = b.tracks[up.parent]
	}
	t.lane = rows.Lane{PID: t.owner, Device: t.device, Number: t.nth, Context: 1}
	if t.thread {
		t.lane.Context, t.lane.Number = 0, t.tid
		name = cmp.Or(name, b.threads[[2]int64{t.pid, t.tid}], b.threads[[2]int64{0, t.tid}])
		if name == "" && t.device < 0 {
			name = "thread " + strconv.FormatInt(t.tid, 10)
		}
	}
	b.lineNames[t.lane] = cmp.Or(name, "track "+strconv.FormatInt(t.nth, 10))
	return t.lane
}
