package tracks

import "github.com/prlx-go/prlx/core/nccl/operation"

// Arg is what a slice says beside its name and time: a text, or a number.
type Arg struct {
	Key    string
	Text   string
	Number int64
	IsText bool
}

// Args lists what is known of a slice of a process.
func (t *Tracks) Args(p *Process, s *Slice, out []Arg) []Arg {
	r := t.Job.Recordings[t.Job.Ranks[p.Rank].Recording]
	num := func(key string, n int64) { out = append(out, Arg{Key: key, Number: n}) }
	text := func(key, v string) {
		if v != "" {
			out = append(out, Arg{Key: key, Text: v, IsText: true})
		}
	}
	if s.Open {
		text("state", "not finished when the recording ended")
	}
	switch s.Kind {
	case Group:
		num("depth", int64(r.Groups[s.Index].Depth))
	case API:
		a := &r.APIs[s.Index]
		num("count", int64(a.Count))
		text("datatype", r.Name(a.Datatype))
		num("stream", int64(a.Stream))
	case Launch:
		num("stream", int64(r.Launch[s.Index].Stream))
	case Operation:
		opArgs(r, &r.Ops[s.Index], num, text)
	case Kernel:
		k := &r.Kernels[s.Index]
		num("channel", int64(k.Channel))
		num("seen_by_host_ns", k.CallStopNS-k.CallStartNS)
		switch {
		case k.BoundNS >= 0:
			num("bound_ns", k.BoundNS)
		default:
			text("time", "when the host saw it: the clock of the GPU is not known")
		}
	case Proxy:
		proxyArgs(&r.Proxies[s.Index], num, text)
	case Step:
		x := &r.Steps[s.Index]
		num("bytes", x.Bytes)
		num("retries", int64(x.Retries))
		text("stage", operation.StageNames[x.Stage])
	}
	return out
}

func opArgs(r *operation.Recording, op *operation.Op, num func(string, int64), text func(string, string)) {
	num("sequence", int64(op.Sequence))
	num("occurrence", int64(op.Occurrence))
	num("count", int64(op.Count))
	num("bytes", op.Bytes)
	text("datatype", r.Name(op.Datatype))
	text("algorithm", r.Name(op.Algorithm))
	text("protocol", r.Name(op.Protocol))
	num("channels", int64(op.Channels))
	num("peer", int64(op.Peer))
	if op.Captured {
		text("graph", "its call was captured")
	}
}

func proxyArgs(x *operation.ProxyOp, num func(string, int64), text func(string, string)) {
	num("channel", int64(x.Channel))
	num("peer", int64(x.Peer))
	num("bytes", x.Bytes)
	num("steps", int64(x.StepsTotal))
	num("steps_finished", int64(x.Finished))
	num("retries", int64(x.Retries))
	if x.Adopted {
		text("pxn", "another process of the host did it")
	}
	if x.NIC >= 0 {
		num("nic", int64(x.NIC))
	}
	for stage, ns := range x.StageNS {
		if ns > 0 && stage > 0 {
			num(operation.StageNames[stage]+"_ns", ns)
		}
	}
	if x.StopNS == 0 {
		text("stage", operation.StageNames[x.Stage])
	}
}
