package otherplugins

import (
	"encoding/json"
	"fmt"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// exampleEvent is one line: the begin ("b") or the end ("e") of an event, whose children stand between them.
type exampleEvent struct {
	Name  string  `json:"name"`
	Cat   string  `json:"cat"`
	Phase string  `json:"ph"`
	PID   uint32  `json:"pid"`
	US    float64 `json:"ts"` // since the plug-in began; 0: it never was
	Args  struct {
		Sequence  uint64 `json:"SeqNum"`
		CommHash  uint64 `json:"CommHash"`
		Rank      int32  `json:"Rank"`
		Peer      int32  `json:"Peer"`
		Count     uint64 `json:"Count"`
		CountAPI  uint64 `json:"count"`
		Datatype  string `json:"Datatype"`
		TypeAPI   string `json:"datatype"`
		Algorithm string `json:"Algorithm"`
		Protocol  string `json:"Protocol"`
		Channels  uint8  `json:"nChannels"`
		Channel   uint8  `json:"Channel"`
		Steps     int32  `json:"Steps"`
		Chunk     int32  `json:"ChunkSize"`
		Size      uint64 `json:"transSize"`
		Step      int32  `json:"Step"`
		Depth     int32  `json:"groupDepth"`
		Root      int32  `json:"root"`
		Captured  int    `json:"GraphCaptured"`
		StartGPU  uint64 `json:"StartGpuClk"`
		StopGPU   uint64 `json:"StopGpuClk"`
		Device    *int32 `json:"device"`
	} `json:"args"`
}

// exampleStages are what it calls the stages of steps.
var exampleStages = map[string]operation.Stage{
	"SendGpuWait": operation.SendGPUWait, "SendPeerWait": operation.SendPeerWait, "SendWait": operation.SendWait,
	"RecvWait": operation.RecvWait, "RecvFlushWait": operation.RecvFlushWait, "RecvGpuWait": operation.RecvGPUWait,
}

// example reads events in the order in which the plug-in wrote them: what is open when an event begins is what it belongs to.
type example struct {
	out    *operation.Recording
	names  texts
	member map[uint64]int32

	group, api, launch, op, proxy, kernel int32 // that are open, -1 none
	step                                  *operation.Step
	steps                                 map[int32][]operation.Step // by proxy operation
	kept                                  int
	zero                                  int
}

// mostSteps bounds the steps that are held until their operation is added up.
const mostSteps = 1 << 24

func newExample(path string) *example {
	none := operation.None
	return &example{
		out:   &operation.Recording{Path: path, Writer: "NVIDIA's example plug-in", EndedOnly: true, Level: 3},
		names: texts{}, member: map[uint64]int32{}, steps: map[int32][]operation.Step{}, group: none, api: none, launch: none, op: none, proxy: none, kernel: none,
	}
}

// beginNS is where the plug-in's clock begins: it says of no instant what time it was.
const beginNS = int64(1_000_000_000_000)

func (x *example) ns(us float64) int64 {
	if !(us > 0) || us > 1e13 {
		x.zero++
		return 0
	}
	n := beginNS + int64(us*1000)
	span(x.out, n)
	return n
}

func (x *example) line(b []byte) bool {
	var e exampleEvent
	if json.Unmarshal(b, &e) != nil || e.Cat == "" || e.Phase != "b" && e.Phase != "e" {
		return false
	}
	if x.out.Host == "" {
		x.out.PID, x.out.Host = e.PID, fmt.Sprintf("process %d", e.PID)
	}
	at := x.ns(e.US)
	if e.Phase == "b" {
		x.begin(&e, at)
	} else {
		x.end(&e, at)
	}
	return true
}

func (x *example) begin(e *exampleEvent, at int64) {
	a, r := &e.Args, x.out
	switch e.Cat {
	case "GROUP_API":
		x.group, r.Groups = int32(len(r.Groups)), append(r.Groups, operation.Group{Member: operation.None, Depth: a.Depth, StartNS: at})
	case "COLL_API", "P2P_API":
		x.api = int32(len(r.APIs))
		r.APIs = append(r.APIs, operation.API{
			Member: operation.None, Group: x.group, Func: x.names.of(r, e.Name), Datatype: x.names.of(r, a.TypeAPI), Root: a.Root, P2P: e.Cat == "P2P_API", Captured: a.Captured != 0,
			Count: a.CountAPI, StartNS: at,
		})
	case "KERNEL_LAUNCH":
		x.launch, r.Launch = int32(len(r.Launch)), append(r.Launch, operation.Launch{Member: operation.None, Group: x.group, StartNS: at})
	case "COLL", "P2P":
		x.beginOp(e, at)
	case "PROXY":
		x.beginProxy(e, at)
	case "NET":
		x.beginStage(e, at)
	case "NET_IB":
		if x.proxy >= 0 && a.Device != nil {
			r.Proxies[x.proxy].NIC = *a.Device
		}
	case "GPU":
		x.kernel = operation.None
		if x.op >= 0 {
			x.kernel = int32(len(r.Kernels))
			r.Kernels = append(r.Kernels, operation.Kernel{
				Op: x.op, Channel: a.Channel, CallStartNS: at, StartNS: at, BoundNS: -1, GPUStartNS: int64(a.StartGPU & (1<<62 - 1)), GPUStopNS: int64(a.StopGPU & (1<<62 - 1)),
			})
		}
	}
}

func (x *example) beginOp(e *exampleEvent, at int64) {
	a, r := &e.Args, x.out
	m, ok := x.member[a.CommHash]
	if !ok {
		if len(r.Members) >= mostComms {
			x.op = operation.None
			return
		}
		m = int32(len(r.Members))
		x.member[a.CommHash] = m
		r.Members = append(r.Members, operation.Member{Comm: operation.None, ID: a.CommHash, Nodes: -1, Ranks: -1, Rank: a.Rank})
	}
	op := operation.Op{
		Handle: uint64(len(r.Ops)) + 1, Member: m, API: x.api, Launch: operation.None, Func: x.names.of(r, e.Name), Datatype: x.names.of(r, a.Datatype), Algorithm: x.names.of(r, a.Algorithm),
		Protocol: x.names.of(r, a.Protocol), Channels: a.Channels, Sequence: a.Sequence, Count: a.Count, Bytes: int64(min(a.Count, 1<<56)) * operation.TypeBytes(a.Datatype), Peer: -1, StartNS: at,
		KernelFrom: int32(len(r.Kernels)), KernelTo: int32(len(r.Kernels)), ProxyFrom: int32(len(r.Proxies)), ProxyTo: int32(len(r.Proxies)),
	}
	if x.api >= 0 {
		op.Peer, r.APIs[x.api].Member, op.Captured = r.APIs[x.api].Root, m, r.APIs[x.api].Captured
		if g := r.APIs[x.api].Group; g >= 0 && x.launch >= 0 && r.Launch[x.launch].Group == g {
			op.Launch = x.launch
		}
	}
	if e.Cat == "P2P" {
		op.Kind, op.Peer = operation.Send, a.Peer
		if e.Name == "Recv" {
			op.Kind = operation.Recv
		}
	}
	x.op = int32(len(r.Ops))
	r.Ops = append(r.Ops, op)
}

// beginProxy takes the two events of a proxy operation: until it is begun with (Schedule), and from then on (Progress).
func (x *example) beginProxy(e *exampleEvent, at int64) {
	a, r := &e.Args, x.out
	send := e.Name == "ScheduleSend" || e.Name == "ProgressSend"
	switch e.Name {
	case "ScheduleSend", "ScheduleRecv":
		x.proxy = int32(len(r.Proxies))
		m := operation.None
		if x.op >= 0 {
			m = r.Ops[x.op].Member
		}
		r.Proxies = append(r.Proxies, operation.ProxyOp{
			Handle: uint64(len(r.Proxies)) + 1, Op: x.op, Member: m, Peer: a.Peer, StepsTotal: a.Steps, ChunkBytes: a.Chunk, Channel: a.Channel, Send: send, NIC: -1, StartNS: at,
			Other: operation.None, Bytes: int64(min(a.Size, 1<<50)),
		})
	case "ProgressSend", "ProgressRecv":
		if x.proxy >= 0 {
			r.Proxies[x.proxy].ProgressNS = at
		}
	case "Idle":
		r.Control.Idles++
	case "Sleep":
		r.Control.Sleeps++
	case "Append":
		r.Control.Appends++
	}
}

// beginStage takes a stage of a step. A step begins with SendGpuWait or RecvWait.
func (x *example) beginStage(e *exampleEvent, at int64) {
	stage, ok := exampleStages[e.Name]
	if !ok || x.proxy < 0 {
		return
	}
	if stage == operation.SendGPUWait || stage == operation.RecvWait || x.step == nil {
		x.step = nil
		if x.kept < mostSteps {
			x.kept++
			x.step = &operation.Step{Proxy: x.proxy, Number: e.Args.Step, StartNS: at}
		}
	}
	if x.step != nil && at > 0 {
		x.step.Stage, x.step.StageNS, x.step.Entered[stage] = stage, at, at
	}
}

func (x *example) end(e *exampleEvent, at int64) {
	r := x.out
	switch e.Cat {
	case "GROUP_API":
		if x.group >= 0 {
			r.Groups[x.group].StopNS = at
		}
		x.group, x.launch = operation.None, operation.None
	case "COLL_API", "P2P_API":
		if x.api >= 0 {
			r.APIs[x.api].StopNS = at
		}
		x.api = operation.None
	case "KERNEL_LAUNCH":
		if x.launch >= 0 {
			r.Launch[x.launch].StopNS = at
		}
	case "COLL", "P2P":
		if x.op >= 0 {
			op := &r.Ops[x.op]
			op.StopNS, op.KernelTo, op.ProxyTo = at, int32(len(r.Kernels)), int32(len(r.Proxies))
		}
		x.op = operation.None
	case "GPU":
		if x.kernel >= 0 && at > 0 {
			k := &r.Kernels[x.kernel]
			k.CallStopNS, k.StopNS, k.Stopped = at, at, true
		}
		x.kernel = operation.None
	case "NET":
		if (e.Name == "SendWait" || e.Name == "RecvGpuWait") && x.step != nil {
			x.step.StopNS = at
			x.steps[x.proxy] = append(x.steps[x.proxy], *x.step)
			x.step = nil
		}
	case "PROXY":
		if (e.Name == "ProgressSend" || e.Name == "ProgressRecv") && x.proxy >= 0 {
			r.Proxies[x.proxy].StopNS = at
			x.proxy = operation.None
		}
	}
}

func (x *example) done() *operation.Recording {
	r := x.out
	for p, list := range x.steps {
		addUp(&r.Proxies[p], list)
	}
	if n := x.op; n >= 0 { // the file was cut in it
		r.Ops[n].KernelTo, r.Ops[n].ProxyTo = int32(len(r.Kernels)), int32(len(r.Proxies))
	}
	x.order()
	r.StartedNS = r.FirstNS
	r.Limits = append(r.Limits, "NVIDIA's example plug-in writes what was in its pools when a communicator was finalized, and no time of day: what they had no room for is not in its files, and each file has a clock of its own")
	if x.zero > 0 {
		r.Limits = append(r.Limits, fmt.Sprintf("%s: %d events have no instant", r.Path, x.zero))
	}
	return r
}
