package reading

import (
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/segment"
)

// Codes of events, as segment numbers them.
const (
	codeGroup = iota
	codeColl
	codeP2P
	codeProxyOp
	codeProxyStep
	codeProxyCtrl
	codeKernel
	codeNet
	codeGroupAPI
	codeCollAPI
	codeP2PAPI
	codeLaunch
	codeCopyEngine

	codeContext = 22
)

// States that the recorder writes down.
const (
	stateOpDoneSend  = 3
	stateOpDoneRecv  = 7
	stateIdle        = 13
	stateActive      = 14
	stateSleep       = 15
	stateWakeup      = 16
	stateAppended    = 18
	stateInProgress  = 19
	stateKernelStop  = 22
	stateGroupedLast = 24 // ncclGroupEnd begins
)

// builder makes a recording of records, in the order in which they come: those of one thread in theirs, those of several by segments. What a
// record refers to may so come after it; such records wait for the end.
type builder struct {
	f   *segment.File
	t   *ticks
	h   *handles
	opt Options
	out *operation.Recording

	names  map[string]int32
	recent [16]recentName           // of names
	event  segment.Event            // the last that was read
	slots  struct{ taken, all int } // of records: what was read, and what the file has
	groups []uint64                 // handles, by place; likewise the following
	apis   []owned
	launch []owned
	ops    []owned
	kerns  []owned
	live   []proxyLive // by place of the proxy operation

	steps []liveStep
	free  int32 // the first slot that is free, -1 none
	ctrl  map[uint64]control

	waiting []later
	orphans int                   // stops and states whose start is not in the file
	strays  int                   // records of communicators or operations that the file does not name
	told    [segment.Codes]uint64 // what loss records tell of, by code
}

// owned is the handle of something, and of what it belongs to.
type owned struct{ handle, parent uint64 }

// control is what a proxy thread is doing.
type control struct {
	state uint32
	ns    int64
}

// later is a stop or a state whose handle had not come yet.
type later struct {
	handle, value uint64
	ns            int64
	state         uint32
	stop          bool
}

// recentName is a name that was looked up, and its place.
type recentName struct {
	text  string
	place int32
}

func newBuilder(f *segment.File, t *ticks, opt Options, opened []segment.Segment) *builder {
	b := &builder{f: f, t: t, opt: opt, h: newHandles(f.Size()), names: map[string]int32{}, ctrl: map[uint64]control{}, free: operation.None}
	for i := range opened {
		b.slots.all += opened[i].Slots
	}
	b.out = &operation.Recording{
		Path: f.Path(), Host: f.Host, BootID: f.BootID, PID: f.PID, PIDNamespace: f.PIDNamespace, Cookie: uint16(f.Cookie), Level: int(f.Level),
		JobID: jobID(f.Environment), Ended: f.State == segment.Ended, StartedNS: f.StartedRealtimeNS, LastNS: max(t.ns(f.HeartbeatTicks), t.ns(f.EndedTicks)),
		WallOffsetNS: t.wall, RealtimeStepNS: t.step,
	}
	for i := range f.Comms {
		c := &f.Comms[i]
		m := operation.Member{
			Comm: operation.None, Context: c.Context, ID: c.ID, Name: c.Name, Nodes: c.Nodes, Ranks: c.Ranks, Rank: c.Rank, Version: uint8(c.Version),
			InitNS: t.ns(c.InitTicks), FinalizedNS: t.ns(c.FinalTicks),
		}
		if m.ID == 0 {
			m.ID = c.Hash
		}
		b.out.Members = append(b.out.Members, m)
	}
	for _, m := range f.Masks {
		b.out.Masks = append(b.out.Masks, operation.Mask{FromNS: t.ns(m.Ticks), Codes: m.Recorded & (m.NCCL | 0xffff0000)})
	}
	return b
}

// record takes one record.
func (b *builder) record(_ segment.Source, r *segment.Record) error {
	b.slots.taken += 1 + len(r.Body)/slotBytes
	ns := b.t.ns(r.Ticks)
	if ns > 0 && r.Kind != segment.Loss {
		if b.out.FirstNS == 0 || ns < b.out.FirstNS {
			b.out.FirstNS = ns
		}
		b.out.LastNS = max(b.out.LastNS, ns)
	}
	switch r.Kind {
	case segment.Start:
		return b.start(r, ns)
	case segment.Stop:
		if r.Code != codeGroup && r.Code < codeContext && r.Code != segment.CodeForeign {
			b.stop(r.ID, ns, false)
		}
	case segment.Update:
		if codeOf(r.ID) != codeGroup && uint16(r.ID>>48) == b.out.Cookie {
			b.state(r.ID, r.State, r.Value, r.Number, ns, false)
		}
	case segment.Loss:
		b.loss(r)
	case segment.Init:
		return b.init(r, ns)
	}
	return nil
}

func (b *builder) loss(r *segment.Record) {
	l := &b.out.Loss
	if r.Code >= 0 && r.Code < segment.Codes {
		b.told[r.Code] += r.ID
	}
	from := b.t.ns(r.Value)
	if from > 0 && (l.LostFromNS == 0 || from < l.LostFromNS) {
		l.LostFromNS = from
	}
	l.LostToNS = max(l.LostToNS, b.t.ns(r.Ticks))
}

// init is a communicator that may have found no entry in the table.
func (b *builder) init(r *segment.Record, ns int64) error {
	if len(r.Body) < 24 || r.Comm < len(b.out.Members) && (r.Comm < 0 || b.out.Members[r.Comm].Context != 0) {
		return nil
	}
	u32 := func(at int) uint32 {
		return uint32(r.Body[at]) | uint32(r.Body[at+1])<<8 | uint32(r.Body[at+2])<<16 | uint32(r.Body[at+3])<<24
	}
	for len(b.out.Members) < r.Comm {
		b.out.Members = append(b.out.Members, operation.Member{Comm: operation.None, Nodes: -1, Ranks: -1, Rank: -1})
	}
	name, err := b.f.Text(u32(0))
	m := operation.Member{
		Comm: operation.None, Context: r.ID, ID: r.Value, Name: name.Text, Nodes: int32(u32(4)), Ranks: int32(u32(8)), Rank: int32(u32(12)),
		Version: uint8(r.Version), InitNS: ns,
	}
	if r.Comm < len(b.out.Members) {
		b.out.Members[r.Comm] = m
	} else {
		b.out.Members = append(b.out.Members, m)
	}
	return err
}

// member is the place of the communicator that a record is of, -1 where it is another process's.
func (b *builder) member(r *segment.Record) int32 {
	n := r.Comm
	if n < 0 && r.Extended && uint16(r.Context>>48) == b.out.Cookie && codeOf(r.Context) == codeContext {
		n = int(r.Context&sequenceMask) - 1
	}
	if n < 0 || n >= len(b.out.Members) {
		return operation.None
	}
	return int32(n)
}

func (b *builder) name(s string) int32 {
	if s == "" {
		return operation.None
	}
	last := &b.recent[(len(s)*7+int(s[len(s)-1]))%len(b.recent)]
	if last.text == s {
		return last.place
	}
	n, ok := b.names[s]
	if !ok {
		n = int32(len(b.out.Names))
		b.out.Names = append(b.out.Names, s)
		b.names[s] = n
	}
	*last = recentName{s, n}
	return n
}

// find is the place of a handle in its list; -1 where the list holds another there.
func (b *builder) find(handle uint64) int32 {
	if uint16(handle>>48) != b.out.Cookie {
		return operation.None
	}
	n := b.h.get(handle)
	if n < 0 {
		return operation.None
	}
	held := uint64(0)
	switch codeOf(handle) {
	case codeColl, codeP2P, codeCopyEngine:
		held = at(b.ops, n).handle
	case codeProxyOp:
		if int(n) < len(b.out.Proxies) {
			held = b.out.Proxies[n].Handle
		}
	case codeProxyStep:
		if int(n) < len(b.steps) {
			held = b.steps[n].handle
		}
	case codeKernel:
		held = at(b.kerns, n).handle
	case codeGroupAPI:
		if int(n) < len(b.groups) {
			held = b.groups[n]
		}
	case codeCollAPI, codeP2PAPI:
		held = at(b.apis, n).handle
	case codeLaunch:
		held = at(b.launch, n).handle
	}
	if held != handle {
		return operation.None
	}
	return n
}

const (
	slotBytes = 32
	fewPlaces = 1024 // a list is this long before it tells how many there will be
)

// grown appends to a list. One that is full becomes as long as it will be in the end, if the rest of the file is like what was read of it: no
// longer than there are records left.
func grown[T any](b *builder, list []T, one T) []T {
	if n := len(list); n == cap(list) && n >= fewPlaces && b.slots.taken > 0 {
		left := max(b.slots.all-b.slots.taken, 0)
		more := int(float64(n) / float64(b.slots.taken) * float64(left))
		list = slices.Grow(list, max(min(more+more/32, left)+1, n/8))
	}
	return append(list, one)
}

func at(list []owned, n int32) owned {
	if int(n) < len(list) {
		return list[n]
	}
	return owned{}
}

// jobID is by which a scheduler knows the job of a process.
func jobID(environment []string) string {
	for _, one := range environment {
		if id, ok := strings.CutPrefix(one, "SLURM_JOB_ID="); ok {
			return id
		}
	}
	return ""
}
