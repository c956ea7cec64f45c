package otherplugins

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// inspectorLine is one line: an operation that has ended. Fields that its version does not have are zero.
type inspectorLine struct {
	Header struct {
		ID    string `json:"id"`
		Name  string `json:"comm_name"`
		Rank  *int32 `json:"rank"`
		Ranks int32  `json:"n_ranks"`
		Nodes int32  `json:"nnodes"`
	} `json:"header"`
	Metadata struct {
		Version string `json:"inspector_output_format_version"`
		AtUS    int64  `json:"dump_timestamp_us"`
		Host    string `json:"hostname"`
		PID     uint32 `json:"pid"`
	} `json:"metadata"`
	Coll *struct {
		Func     string         `json:"coll"`
		Sequence uint64         `json:"coll_sn"`
		Bytes    int64          `json:"coll_msg_size_bytes"`
		ExecUS   int64          `json:"coll_exec_time_us"`
		Source   string         `json:"coll_timing_source"`
		Trace    inspectorTrace `json:"event_trace_ts"`
	} `json:"coll_perf"`
	P2P *struct {
		Func     string         `json:"p2p"`
		Sequence uint64         `json:"p2p_sn"`
		Peer     int32          `json:"p2p_peer"`
		Bytes    int64          `json:"p2p_msg_size_bytes"`
		ExecUS   int64          `json:"p2p_exec_time_us"`
		Source   string         `json:"p2p_timing_source"`
		Trace    inspectorTrace `json:"event_trace_ts"`
	} `json:"p2p_perf"`
}

// inspectorTrace is what NCCL_INSPECTOR_DUMP_VERBOSE adds: when the host was told, in us since 1970.
type inspectorTrace struct {
	CollStartUS int64 `json:"coll_start_ts"`
	CollStopUS  int64 `json:"coll_stop_ts"`
	P2PStartUS  int64 `json:"p2p_start_ts"`
	P2PStopUS   int64 `json:"p2p_stop_ts"`
	Kernels     []struct {
		Channel uint8 `json:"channel_id"`
		StartUS int64 `json:"kernel_start_ts"`
		StopUS  int64 `json:"kernel_stop_ts"`
	} `json:"kernel_events"`
}

// one is an operation until all are there.
type one struct {
	op      operation.Op
	kernels []operation.Kernel
}

type inspector struct {
	out    *operation.Recording
	names  texts
	member map[string]int32
	all    []one
	timed  int
}

func newInspector(path string) *inspector {
	return &inspector{
		out: &operation.Recording{Path: path, Writer: "NCCL Inspector", EndedOnly: true}, names: texts{}, member: map[string]int32{},
	}
}

// mostUS is beyond every instant that a clock shows.
const mostUS = int64(1) << 52

func ns(us int64) int64 {
	if us <= 0 || us > mostUS {
		return 0
	}
	return us * 1000
}

func (i *inspector) line(b []byte) bool {
	var l inspectorLine
	if json.Unmarshal(b, &l) != nil || l.Header.ID == "" || l.Coll == nil && l.P2P == nil {
		return false
	}
	m, ok := i.memberOf(&l)
	if !ok {
		return false
	}
	span(i.out, ns(l.Metadata.AtUS))
	op := operation.Op{API: operation.None, Launch: operation.None, Algorithm: operation.None, Protocol: operation.None, Member: m, Peer: -1}
	var t *inspectorTrace
	if c := l.Coll; c != nil {
		t = &c.Trace
		op.Func, op.Sequence, op.Bytes, op.TookNS = i.names.of(i.out, c.Func), c.Sequence, max(c.Bytes, 0), ns(c.ExecUS)
		op.StartNS, op.StopNS = ns(t.CollStartUS), ns(t.CollStopUS)
	} else {
		p := l.P2P
		t = &p.Trace
		op.Kind, op.Peer = operation.Send, p.Peer
		if p.Func == "Recv" {
			op.Kind = operation.Recv
		}
		op.Func, op.Sequence, op.Bytes, op.TookNS = i.names.of(i.out, p.Func), p.Sequence, max(p.Bytes, 0), ns(p.ExecUS)
		op.StartNS, op.StopNS = ns(t.P2PStartUS), ns(t.P2PStopUS)
	}
	op.Count, op.Datatype = uint64(op.Bytes), i.names.of(i.out, "bytes")
	span(i.out, op.StartNS, op.StopNS)
	i.all = append(i.all, one{op: op, kernels: i.kernels(t)})
	return true
}

// kernels are the channels whose start and stop NCCL told. Inspector lists channels from 0 on, whichever an operation is on: those that it is
// not on have no instants.
func (i *inspector) kernels(t *inspectorTrace) (out []operation.Kernel) {
	for _, k := range t.Kernels {
		from, to := ns(k.StartUS), ns(k.StopUS)
		if from == 0 || to < from {
			continue
		}
		span(i.out, from, to)
		out = append(out, operation.Kernel{Channel: k.Channel, Stopped: true, CallStartNS: from, CallStopNS: to, StartNS: from, StopNS: to, BoundNS: -1})
	}
	if len(out) > 0 {
		i.timed++
	}
	return out
}

func (i *inspector) memberOf(l *inspectorLine) (int32, bool) {
	if i.out.Host == "" {
		i.out.Host, i.out.PID = l.Metadata.Host, l.Metadata.PID
		i.out.BootID = l.Metadata.Host // processes of one host share its clock
	}
	rank := int32(-1)
	if l.Header.Rank != nil {
		rank = *l.Header.Rank
	}
	key := fmt.Sprintf("%s/%d", l.Header.ID, rank)
	if m, ok := i.member[key]; ok {
		return m, true
	}
	id, err := strconv.ParseUint(strings.TrimPrefix(l.Header.ID, "0x"), 16, 64)
	if err != nil || len(i.member) >= mostComms {
		return 0, false
	}
	name := l.Header.Name
	if name == "unknown" { // what it says where there is none
		name = ""
	}
	m := int32(len(i.out.Members))
	i.member[key] = m
	i.out.Members = append(i.out.Members, operation.Member{Comm: operation.None, ID: id, Name: name, Nodes: l.Header.Nodes, Ranks: l.Header.Ranks, Rank: rank})
	return m, true
}

func (i *inspector) done() *operation.Recording {
	r := i.out
	slices.SortStableFunc(i.all, func(x, y one) int {
		return cmp.Or(cmp.Compare(x.op.StartNS, y.op.StartNS), cmp.Compare(x.op.Member, y.op.Member), cmp.Compare(x.op.Func, y.op.Func), cmp.Compare(x.op.Sequence, y.op.Sequence))
	})
	sends := map[[3]int32]int32{}
	seen := map[[4]uint64]int32{}
	for n := range i.all {
		o := &i.all[n].op
		if o.Kind == operation.Collective {
			k := [4]uint64{uint64(o.Member), uint64(o.Func), o.Sequence}
			o.Occurrence = seen[k]
			seen[k]++
		} else {
			k := [3]int32{o.Member, o.Peer, int32(o.Kind)}
			o.Occurrence = sends[k]
			sends[k]++
		}
		o.Handle = uint64(n) + 1
		o.KernelFrom = int32(len(r.Kernels))
		for _, k := range i.all[n].kernels {
			k.Op = int32(n)
			r.Kernels = append(r.Kernels, k)
		}
		o.KernelTo = int32(len(r.Kernels))
		r.Ops = append(r.Ops, *o)
	}
	r.StartedNS = r.FirstNS
	if i.timed > 0 {
		r.Level = 1
		r.Limits = append(r.Limits, "NCCL Inspector writes operations that have ended, of the size that it was asked for and that it found room for; it writes no calls, launches and proxies, so what came before a kernel is not divided and no link is seen")
	} else {
		r.Limits = append(r.Limits, "NCCL Inspector wrote how long operations took, and not when: NCCL_INSPECTOR_DUMP_VERBOSE=1 does; without it who came last is told by durations alone, the shortest is theirs")
	}
	return r
}
