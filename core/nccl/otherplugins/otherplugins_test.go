package otherplugins_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/otherplugins"
)

func read(t *testing.T, text string) *operation.Recording {
	t.Helper()
	r, err := readAll([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readAll(b []byte) (*operation.Recording, error) {
	src, err := file.FromBytes("other.log", b)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	kind, err := otherplugins.Sniff(src)
	if err != nil {
		return nil, err
	}
	return otherplugins.Read(context.Background(), src, kind)
}

// inspected is a line as Inspector writes it, by its source in NCCL 2.30 (inspector_json.cc).
func inspected(rank int, sequence, execUS int, trace string) string {
	return fmt.Sprintf(`{"header":{"id":"0x7f8c496ae9f661","comm_name":"unknown","rank":%d,"n_ranks":2,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1748030377748202,"hostname":"node7","pid":1639453},"coll_perf":{"coll":"AllReduce","coll_sn":%d,"coll_msg_size_bytes":17179869184,"coll_exec_time_us":%d,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":276.43,"coll_busbw_gbs":276.43%s}}`+"\n", rank, sequence, execUS, trace)
}

const trace = `,"event_trace_sn":{"coll_start_sn":1,"coll_stop_sn":2,"kernel_events":[{"channel_id":0,"kernel_start_sn":3,"kernel_stop_sn":5,"kernel_record_sn":6},{"channel_id":1,"kernel_start_sn":0,"kernel_stop_sn":0,"kernel_record_sn":0}]},"event_trace_ts":{"coll_start_ts":1748030377748000,"coll_stop_ts":1748030377748010,"kernel_events":[{"channel_id":0,"kernel_start_ts":1748030377748020,"kernel_stop_ts":1748030377748120,"kernel_record_ts":1748030377748110},{"channel_id":1,"kernel_start_ts":0,"kernel_stop_ts":0,"kernel_record_ts":0}]}`

func TestInspectorsLinesAreOperationsThatHaveEnded(t *testing.T) {
	text := inspected(1, 1407, 61974, "") + inspected(1, 1408, 100, trace) + `{"header":{"id":"0x7f8c496ae9f661","rank":1,"n_ranks":2,"nnodes":1},"metadata":{},"p2p_perf":{"p2p":"Recv","p2p_sn":3,"p2p_peer":0,"p2p_msg_size_bytes":64,"p2p_exec_time_us":7}}` + "\n" + inspected(1, 1409, 5, "")[:200]
	r := read(t, text)
	if r.Writer != "NCCL Inspector" || !r.EndedOnly || r.Host != "node7" || r.PID != 1639453 || len(r.Members) != 1 || r.Members[0].ID != 0x7f8c496ae9f661 || r.Members[0].Rank != 1 || r.Members[0].Ranks != 2 || r.Members[0].Name != "" {
		t.Fatalf("recording %+v, members %+v", r, r.Members)
	}
	if len(r.Ops) != 3 || r.Loss.Unreadable != 1 || r.Loss.Records != 3 || len(r.Limits) != 1 {
		t.Fatalf("%d operations, loss %+v, limits %q", len(r.Ops), r.Loss, r.Limits)
	}
	for i := range r.Ops {
		switch o := &r.Ops[i]; {
		case o.Kind == operation.Recv:
			if o.Peer != 0 || o.Bytes != 64 || o.TookNS != 7000 {
				t.Errorf("the receive is %+v", o)
			}
		case o.Sequence == 1408:
			if k := r.Kernels[o.KernelFrom:o.KernelTo]; len(k) != 1 || k[0].CallStartNS != 1748030377748020000 || k[0].CallStopNS != 1748030377748120000 || !k[0].Stopped || k[0].BoundNS != -1 || k[0].Op != int32(i) {
				t.Errorf("kernels of the operation with instants: %+v", k)
			}
			at := read(t, strings.ReplaceAll(text, "1748030377748120", "1748030377748020")) // a kernel that took less than a microsecond
			if len(at.Kernels) != 1 || at.Kernels[0].CallStartNS != at.Kernels[0].CallStopNS {
				t.Errorf("a kernel that ends as it begins: %+v", at.Kernels)
			}
			if e := r.Extent(o); e.Progress != operation.Finished || e.EndedNS != 1748030377748120000 {
				t.Errorf("it is %+v", e)
			}
		default:
			if o.Sequence != 1407 || o.TookNS != 61974000 || o.StartNS != 0 || o.KernelFrom != o.KernelTo || r.Name(o.Func) != "AllReduce" || o.Bytes != 17179869184 {
				t.Errorf("the operation without instants is %+v", o)
			}
		}
	}
}

// printed is what the example plug-in prints, by its source in NCCL 2.30 (print_event.cc): the list has a comma too many.
const printed = `[
{"name": "Group API", "cat": "GROUP_API", "ph": "b", "id": 0, "pid": 225798, "tid": 1, "ts": 7.480000, "args": {"groupApiId": 5, "groupDepth": 1}},
{"name": "KernelLaunch", "cat": "KERNEL_LAUNCH", "ph": "b", "id": 0, "pid": 225798, "tid": 1, "ts": 9.000000, "args": {"groupId": 0, "Stream": "0x5"}},
{"name": "KernelLaunch", "cat": "KERNEL_LAUNCH", "ph": "e", "id": 0, "pid": 225798, "tid": 1, "ts": 11.000000},
{"name": "AllReduce", "cat": "COLL_API", "ph": "b", "id": 0, "pid": 225798, "tid": 1, "ts": 8.000000, "args": {"count": 262144, "datatype": "ncclFloat32", "root": 0, "GraphCaptured": 0, "Stream": "0x5"}},
{"name": "AllReduce", "cat": "COLL", "ph": "b", "id": 0, "pid": 225798, "tid": 1, "ts": 12.000000, "args": {"SeqNum": 3, "CommHash": 17, "Rank": 1, "Count": 262144, "Datatype": "ncclFloat32", "Algorithm": "RING", "Protocol": "SIMPLE", "nChannels": 2}},
{"name": "KernelCh", "cat": "GPU", "ph": "b", "id": 0, "pid": 225798, "tid": 1, "ts": 20.000000, "args": {"Channel": 0, "StartGpuClk": 900000020000, "StopGpuClk": 900000095000}},
{"name": "KernelCh", "cat": "GPU", "ph": "e", "id": 0, "pid": 225798, "tid": 1, "ts": 100.000000},
{"name": "ScheduleSend", "cat": "PROXY", "ph": "b", "id": 0, "pid": 225798, "tid": 1, "ts": 21.000000, "args": {"Channel": 0, "Peer": 2, "Steps": 2, "ChunkSize": 131072, "transSize": 262144}},
{"name": "ScheduleSend", "cat": "PROXY", "ph": "e", "id": 0, "pid": 225798, "tid": 1, "ts": 25.000000},
{"name": "ProgressSend", "cat": "PROXY", "ph": "b", "id": 0, "pid": 225798, "tid": 1, "ts": 25.000000, "args": {"Channel": 0, "Peer": 2, "Steps": 2, "ChunkSize": 131072, "transSize": 262144}},
{"name": "SendGpuWait", "cat": "NET", "ph": "b", "id": 0, "pid": 225798, "tid": 1, "ts": 26.000000, "args": {"Step": 0}},
{"name": "SendGpuWait", "cat": "NET", "ph": "e", "id": 0, "pid": 225798, "tid": 1, "ts": 30.000000},
{"name": "SendPeerWait", "cat": "NET", "ph": "b", "id": 0, "pid": 225798, "tid": 1, "ts": 30.000000, "args": {"Step": 0}},
{"name": "SendPeerWait", "cat": "NET", "ph": "e", "id": 0, "pid": 225798, "tid": 1, "ts": 32.000000},
{"name": "SendWait", "cat": "NET", "ph": "b", "id": 0, "pid": 225798, "tid": 1, "ts": 32.000000, "args": {"Step": 0}},
{"name": "SendWait", "cat": "NET", "ph": "e", "id": 0, "pid": 225798, "tid": 1, "ts": 52.000000},
{"name": "SendGpuWait", "cat": "NET", "ph": "b", "id": 1, "pid": 225798, "tid": 1, "ts": 40.000000, "args": {"Step": 1}},
{"name": "SendGpuWait", "cat": "NET", "ph": "e", "id": 1, "pid": 225798, "tid": 1, "ts": 41.000000},
{"name": "SendPeerWait", "cat": "NET", "ph": "b", "id": 1, "pid": 225798, "tid": 1, "ts": 41.000000, "args": {"Step": 1}},
{"name": "SendPeerWait", "cat": "NET", "ph": "e", "id": 1, "pid": 225798, "tid": 1, "ts": 42.000000},
{"name": "SendWait", "cat": "NET", "ph": "b", "id": 1, "pid": 225798, "tid": 1, "ts": 42.000000, "args": {"Step": 1}},
{"name": "SendWait", "cat": "NET", "ph": "e", "id": 1, "pid": 225798, "tid": 1, "ts": 62.000000},
{"name": "ProgressSend", "cat": "PROXY", "ph": "e", "id": 0, "pid": 225798, "tid": 1, "ts": 63.000000},
{"name": "AllReduce", "cat": "COLL", "ph": "e", "id": 0, "pid": 225798, "tid": 1, "ts": 13.000000},
{"name": "AllReduce", "cat": "COLL_API", "ph": "e", "id": 0, "pid": 225798, "tid": 1, "ts": 8.500000},
{"name": "Group API", "cat": "GROUP_API", "ph": "e", "id": 0, "pid": 225798, "tid": 1, "ts": 0.000000},
`

func TestTheExamplesEventsBelongToWhatIsOpen(t *testing.T) {
	for name, end := range map[string]string{"as it ends": "{}]\n", "unclosed": "", "cut": `{"name": "Group API", "cat": "GRO`} {
		r := read(t, printed+end)
		if len(r.Ops) != 1 || len(r.Kernels) != 1 || len(r.Proxies) != 1 || len(r.Launch) != 1 || len(r.APIs) != 1 || len(r.Groups) != 1 {
			t.Fatalf("%s: %d operations, %d kernels, %d proxies, %d launches, %d calls, %d groups", name, len(r.Ops), len(r.Kernels), len(r.Proxies), len(r.Launch), len(r.APIs), len(r.Groups))
		}
		if r.Host != "process 225798" || r.PID != 225798 {
			t.Errorf("%s: of %q, process %d", name, r.Host, r.PID)
		}
		const us = int64(1000)
		from := r.Ops[0].StartNS - 12*us
		if o := &r.Ops[0]; o.Sequence != 3 || o.API != 0 || o.Launch != 0 || o.Bytes != 1<<20 || o.Channels != 2 || o.StopNS-from != 13*us || r.Name(o.Algorithm) != "RING" || r.Members[o.Member].Rank != 1 || r.Members[o.Member].ID != 17 {
			t.Errorf("%s: the operation is %+v", name, o)
		}
		if k := &r.Kernels[0]; k.GPUStartNS != 900000020000 || k.CallStopNS-from != 100*us || !k.Stopped {
			t.Errorf("%s: the kernel is %+v", name, k)
		}
		p := &r.Proxies[0]
		if !p.Send || p.Peer != 2 || p.Begun != 2 || p.Finished != 2 || p.Bytes != 262144 || p.ProgressNS-from != 25*us || p.StopNS-from != 63*us || p.SentNS-from != 32*us {
			t.Errorf("%s: the proxy operation is %+v", name, p)
		}
		// The second step counts from 52 us on, when the first has ended.
		if want := [operation.Stages]int64{operation.SendGPUWait: 4 * us, operation.SendPeerWait: 2 * us, operation.SendWait: 30 * us}; p.StageNS != want {
			t.Errorf("%s: stages took %v, want %v", name, p.StageNS, want)
		}
		if want := 40 * us; p.SumNS[operation.SendWait] != want {
			t.Errorf("%s: steps were in the network for %d ns, want %d", name, p.SumNS[operation.SendWait], want)
		}
		if r.Groups[0].StopNS != 0 {
			t.Errorf("%s: an instant of 0 is taken for one: %+v", name, r.Groups[0])
		}
	}
}

func TestWhatNoPlugInWroteIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "another list": `[{"name":"x","ph":"X"}]`, "another document": `{"header":{}}`, "Inspector without a line": `{"header":{"id":` + "\n",
		"example without an event": "[\n" + `{"name": "x", "cat": "` + "\n",
	} {
		if _, err := readAll([]byte(text)); !fault.Is(err, fault.Format) {
			t.Errorf("%s: got %v, want a Format error", name, err)
		}
	}
	if _, err := readAll([]byte(inspected(0, 1, 1, "") + strings.Repeat("x", 2<<20))); !fault.Is(err, fault.Limit) {
		t.Errorf("a line of 2 MiB: got %v, want a Limit error", err)
	}
}
