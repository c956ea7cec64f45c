package tracks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

const t0 = int64(1_795_000_000_000_000_000)

// two makes a job of two ranks that do n AllReduces: each with its call, launch, kernels on two channels, a send and a receive on each. The last send of rank 1
// has not ended.
func two(n int) *operation.Job {
	j := &operation.Job{Comms: []operation.Comm{{ID: 7, Name: "world", Ranks: 2, World: true}}}
	for k := range int32(2) {
		r := &operation.Recording{
			Host: "node", PID: uint32(100 + k), Names: []string{"AllReduce", "ncclFloat32"}, LastNS: t0 + int64(n)*1_000_000 + 500_000,
			Members: []operation.Member{{Comm: 0, ID: 7, Ranks: 2, Rank: k}},
		}
		for i := range int32(n) {
			at := t0 + int64(i)*1_000_000 + int64(k)*20_000
			r.Groups = append(r.Groups, operation.Group{StartNS: at, StopNS: at + 90_000})
			r.APIs = append(r.APIs, operation.API{StartNS: at + 1000, StopNS: at + 5000, Count: 1 << 60, Datatype: 1})
			r.Launch = append(r.Launch, operation.Launch{StartNS: at + 6000, StopNS: at + 9000})
			op := operation.Op{API: i, Launch: i, Sequence: uint64(i), StartNS: at + 10_000, StopNS: at + 11_000, KernelFrom: 2 * i, ProxyFrom: 4 * i}
			for ch := range uint8(2) {
				r.Kernels = append(r.Kernels, operation.Kernel{Op: i, Channel: ch, Stopped: true, StartNS: at + 30_000, StopNS: at + 300_000, BoundNS: 2000})
				for _, send := range []bool{true, false} {
					p := operation.ProxyOp{Op: i, Peer: 1 - k, Channel: ch, Send: send, StartNS: at + 20_000, StopNS: at + 280_000, NIC: -1, Bytes: 4096}
					if !send {
						p.StopNS += 15_000
					}
					if int(i) == n-1 && k == 1 && send && ch == 1 {
						p.StopNS, p.Stage = 0, operation.SendWait
					}
					r.Proxies = append(r.Proxies, p)
				}
			}
			op.KernelTo, op.ProxyTo = 2*i+2, 4*i+4
			r.Ops = append(r.Ops, op)
		}
		j.Recordings = append(j.Recordings, r)
		j.Ranks = append(j.Ranks, operation.Rank{ID: fmt.Sprint(k), World: k, Recording: k, Host: "node"})
	}
	for i := range int32(n) {
		j.Matches = append(j.Matches, operation.Match{Func: "AllReduce", Sequence: uint64(i), From: 2 * i, To: 2*i + 2})
		j.Parts = append(j.Parts, operation.Part{Seat: 0, Op: i}, operation.Part{Seat: 1, Rank: 1, Recording: 1, Op: i})
	}
	return j
}

type event struct {
	Ph, Name, Cat, Bp string
	PID, TID, ID      int
	TS, Dur           json.Number
	Args              map[string]any
}

func chromeOf(t *testing.T, tr *Tracks) []event {
	t.Helper()
	var b bytes.Buffer
	if err := tr.WriteChrome(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		BaseTimeNanoseconds int64
		TraceEvents         []event
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.BaseTimeNanoseconds != tr.ZeroNS {
		t.Errorf("base %d, want %d", doc.BaseTimeNanoseconds, tr.ZeroNS)
	}
	return doc.TraceEvents
}

// ns is a decimal of microseconds in ns.
func ns(n json.Number) int64 {
	whole, rest, _ := strings.Cut(n.String(), ".")
	var us, frac int64
	fmt.Sscan(whole, &us)
	fmt.Sscan(rest+"000"[:3-len(rest)], &frac)
	return us*1000 + frac
}

// TestSlicesOfALineNest: none crosses another, on any line, also of operations that overlap.
func TestSlicesOfALineNest(t *testing.T) {
	j := two(5)
	for _, r := range j.Recordings { // every operation lasts into the next
		for i := range r.Kernels {
			r.Kernels[i].StopNS += 1_500_000
		}
	}
	tr := Build(j)
	for _, p := range tr.Processes {
		for _, l := range p.Lines {
			var open []int64
			for _, s := range l.Slices {
				for len(open) > 0 && open[len(open)-1] <= s.StartNS {
					open = open[:len(open)-1]
				}
				if len(open) > 0 && open[len(open)-1] < s.StopNS {
					t.Errorf("%s, %s: %s crosses what is open", p.Name, l.Name, s.Name)
				}
				open = append(open, s.StopNS)
			}
		}
	}
	names := func(p Process) (out []string) {
		for _, l := range p.Lines {
			out = append(out, l.Name)
		}
		return out
	}
	if got := names(tr.Processes[0]); !slices.Contains(got, "operations of world (2)") || slices.Contains(got, "operations of world (3)") || slices.Contains(got, "calls (2)") {
		t.Errorf("lines: %q", got)
	}
}

// TestFlowsLeadFromTheCallToThePeer, each from inside of its first slice to inside of its second, and never back in time.
func TestFlowsLeadFromTheCallToThePeer(t *testing.T) {
	const n = 4
	tr := Build(two(n))
	kinds := map[string]int{}
	for _, f := range tr.Flows {
		a, b := tr.slice(f.From), tr.slice(f.To)
		if f.FromNS < a.StartNS || f.FromNS >= a.StopNS || f.ToNS < b.StartNS || f.ToNS >= b.StopNS || f.ToNS < f.FromNS {
			t.Errorf("%s to %s: from %d of %d..%d to %d of %d..%d", a.Name, b.Name, f.FromNS, a.StartNS, a.StopNS, f.ToNS, b.StartNS, b.StopNS)
		}
		kinds[fmt.Sprintf("%s>%s same=%v", Categories[a.Kind], Categories[b.Kind], f.From.Process == f.To.Process)]++
	}
	want := map[string]int{
		"nccl_api>nccl_launch same=true": 2 * n, "nccl_launch>nccl_kernel same=true": 4 * n, "nccl_kernel>nccl_proxy same=true": 4 * n, "nccl_proxy>nccl_proxy same=false": 4 * n,
	}
	if fmt.Sprint(kinds) != fmt.Sprint(want) || tr.Unordered != 0 {
		t.Errorf("got %v, want %v; %d are not drawn", kinds, want, tr.Unordered)
	}
}

// TestAReceiveThatWasOverBeforeIsNotDrawn: a flow does not go back in time, it is counted.
func TestAReceiveThatWasOverBeforeIsNotDrawn(t *testing.T) {
	j := two(1)
	j.Recordings[0].Proxies[1].StopNS = j.Recordings[0].Proxies[1].StartNS + 10
	if tr := Build(j); tr.Unordered != 1 {
		t.Errorf("%d flows are not drawn", tr.Unordered)
	}
}

// TestChromeHasEveryInstantToTheNanosecond.
func TestChromeHasEveryInstantToTheNanosecond(t *testing.T) {
	j := two(3)
	j.Recordings[0].APIs[1].StartNS += 7
	tr := Build(j)
	got := chromeOf(t, tr)
	var slices_, starts, ends int
	at := map[string]int64{}
	threads := map[[2]int]bool{}
	for _, e := range got {
		switch e.Ph {
		case "X":
			slices_++
			at[fmt.Sprint(e.PID, e.Name, e.Cat, ns(e.TS), "+", ns(e.Dur))]++
			if !threads[[2]int{e.PID, e.TID}] {
				t.Errorf("%s is on thread %d of %d, which has no name", e.Name, e.TID, e.PID)
			}
		case "M":
			if e.Name == "thread_name" {
				threads[[2]int{e.PID, e.TID}] = true
			}
		case "s":
			starts++
		case "f":
			if ends++; e.Bp != "e" {
				t.Error("a flow does not bind to the slice around it")
			}
		}
	}
	if slices_ != tr.Slices || starts != len(tr.Flows) || ends != starts {
		t.Errorf("%d slices of %d, %d flows begin and %d end of %d", slices_, tr.Slices, starts, ends, len(tr.Flows))
	}
	for _, want := range []string{"1ncclAllReducenccl_api1001007+3993", "2AllReduce #2nccl_kernel2050000+270000"} {
		if at[want] == 0 {
			t.Errorf("no %s", want)
		}
	}
	last := got[slices.IndexFunc(got, func(e event) bool { return e.Args["state"] != nil && e.Cat == "nccl_proxy" })]
	if last.PID != 2 || last.Args["stage"] != "SendWait" || !strings.HasPrefix(last.Name, "send AllReduce #2") {
		t.Errorf("what had not ended: %+v", last)
	}
}

// TestXSpaceHasAPlaneForEachRank with the same slices: the wire is walked.
func TestXSpaceHasAPlaneForEachRank(t *testing.T) {
	tr := Build(two(3))
	var b bytes.Buffer
	if err := tr.WriteXSpace(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	planes, events, flows := 0, 0, 0
	each(t, b.Bytes(), func(n protowire.Number, v []byte) {
		if n != spacePlane {
			return
		}
		planes++
		each(t, v, func(n protowire.Number, v []byte) {
			if n == planeLine {
				each(t, v, func(n protowire.Number, v []byte) {
					if n == lineEvent {
						events++
					}
				})
			}
			if n == planeStats && bytes.Contains(v, []byte("flow")) {
				flows++
			}
		})
	})
	if planes != 3 || events != tr.Slices || flows != 2 {
		t.Errorf("%d planes, %d events of %d, %d planes with flows", planes, events, tr.Slices, flows)
	}
	e := ends{first: Place{0, 0, 0}, last: Place{1, 2, 3}, n: 3}
	for _, c := range []struct {
		at       Place
		receives bool
		peer     bool
		want     int64
	}{{e.first, false, false, 2}, {e.last, false, false, 1}, {e.last, false, true, 3}, {Place{0, 1, 0}, false, false, 3}, {Place{2, 0, 0}, true, true, 1}} {
		e.peer = c.peer
		if got, ok := xflow(5, c.at, c.receives, e); !ok || got != c.want|5<<2 {
			t.Errorf("%+v: got %d, %v", c, got, ok)
		}
	}
}

func each(t *testing.T, b []byte, visit func(n protowire.Number, v []byte)) {
	t.Helper()
	for len(b) > 0 {
		n, typ, at := protowire.ConsumeTag(b)
		if at < 0 {
			t.Fatal("no tag")
		}
		size := protowire.ConsumeFieldValue(n, typ, b[at:])
		if size < 0 {
			t.Fatal("no value")
		}
		if typ == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(b[at:])
			visit(n, v)
		}
		b = b[at+size:]
	}
}
