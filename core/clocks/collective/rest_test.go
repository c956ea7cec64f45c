package collective

import (
	"context"
	"reflect"
	"runtime"
	"testing"

	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
)

// restJob makes the parts of three devices that executed a job: an all-reduce that is a start and a done, and one of a communicator. Every
// hundredth launch is in an impossible order, every thirtieth lacks a device where launches have numbers. odd changes executions.
func restJob(limit int, numbered bool, launches int64, odd func(p *Part, s *event.Span)) *Part {
	return Join(restParts(limit, numbered, launches, odd)...)
}

func restParts(limit int, numbered bool, launches int64, odd func(p *Part, s *event.Span)) []*Part {
	rest := &Rest{}
	var parts []*Part
	for node := range int32(3) {
		p := begin(Options{Limit: limit, Rest: rest})
		p.Ops = []Op{
			{Key: "a/start", Kind: event.AllReduce, Phase: hlo.Start},
			{Key: "a/done", Kind: event.AllReduce, Phase: hlo.Done, Start: "a/start"},
			{Key: "world/reduce", Kind: event.AllReduce, Ranked: true, Chain: "world"},
			{Key: "world/gather", Kind: event.AllGather, Ranked: true, Chain: "world"},
		}
		for run := range launches {
			at := run*10_000_000 + int64(node)*100
			if run%100 == 7 && node == 2 {
				at += 5000
			}
			if numbered && run%30 == 3 && node == 1 {
				continue
			}
			for op, span := range [][2]int64{{0, 50}, {1500, 2000}, {3000, 4000}} {
				s := event.Span{Op: int32(op), HasRun: numbered, Run: run, StartNS: at + span[0], EndNS: at + span[1], Size: 64}
				if odd != nil {
					odd(p, &s)
				}
				p.add(s)
			}
		}
		p.finish()
		p.Renumber(node)
		p.Ranks[node] = int(node)
		parts = append(parts, p)
	}
	return parts
}

func checkAll(t *testing.T, p *Part) *Judged {
	t.Helper()
	m, err := Match(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	j, err := CheckAll(context.Background(), m, []Clock{AsRecorded}, CheckOptions{Worst: 25})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range j.Verdicts { // what is said of the kept alone
		v.MedianNS = 0
		for i := range v.Worst {
			v.Worst[i].Group = 0
		}
	}
	j.Rest = 0
	p.rest.Close()
	return j
}

// TestTheRestIsJudgedAsIfThereWereRoomForAll: the same verdicts, partners missing, reasons and worst groups, with numbers and without.
func TestTheRestIsJudgedAsIfThereWereRoomForAll(t *testing.T) {
	for _, numbered := range []bool{true, false} {
		want := checkAll(t, restJob(1<<20, numbered, 3000, nil))
		if want.Verdicts[0].Violated != 2*30 || len(want.Verdicts[0].Worst) != 25 || want.Verdicts[0].Worst[3].Occurrence == 0 {
			t.Fatalf("%+v", want.Verdicts[0])
		}
		for _, limit := range []int{5000, 700, 40} {
			p := restJob(limit, numbered, 3000, nil)
			if p.Thinned == 0 || len(p.Spans) > 3*limit {
				t.Fatalf("limit %d: %d kept, %d not", limit, len(p.Spans), p.Thinned)
			}
			if got := checkAll(t, p); !reflect.DeepEqual(got, want) {
				t.Errorf("numbered %t, limit %d: %+v, want %+v", numbered, limit, *got.Verdicts[0], *want.Verdicts[0])
			}
			parts := restParts(limit, numbered, 3000, nil)
			wanted := Wanted(parts, limit/4)
			if err := Recall(parts, wanted); err != nil {
				t.Fatal(err)
			}
			p = Join(parts...)
			paired := 0
			for i := range p.Spans {
				if s := &p.Spans[i]; !drawn(s.Run, p.Halvings) && p.Ops[s.Op].Phase == hlo.Start {
					paired++
				}
			}
			if paired == 0 || len(p.Spans) > 3*limit {
				t.Errorf("numbered %t, limit %d: %d kept, of them %d that were wanted and are a start and a done", numbered, limit, len(p.Spans), paired)
			}
			if got := checkAll(t, p); !reflect.DeepEqual(got, want) {
				t.Errorf("with the shortest: numbered %t, limit %d: %+v, want %+v", numbered, limit, *got.Verdicts[0], *want.Verdicts[0])
			}
		}
	}
}

// TestDoubtsOfOneExecutionHoldForAll: one number that names another operation, or one size that differs where the order is all there is, takes back
// what was matched of the communicator, wherever that lies.
func TestDoubtsOfOneExecutionHoldForAll(t *testing.T) {
	for name, c := range map[string]struct {
		numbered bool
		odd      func(p *Part, s *event.Span)
	}{
		"number": {true, func(p *Part, s *event.Span) {
			if s.Op == 2 && s.Run == 1500 && p.id == 3 {
				s.Op = 3
			}
		}},
		"size": {false, func(p *Part, s *event.Span) {
			if s.Op == 2 && s.Run == 1500 && p.id == 3 {
				s.Size = 65
			}
		}},
	} {
		got := checkAll(t, restJob(700, c.numbered, 3000, c.odd))
		if v := got.Verdicts[0]; v.Groups != 3000 || v.Violated != 30 {
			t.Errorf("%s: %+v, unmatched %+v; want the 3000 of the other operation", name, v.Counts, got.Unmatched)
		}
	}
}

// TestVerdictsTakeNoMemoryForMoreExecutions.
func TestVerdictsTakeNoMemoryForMoreExecutions(t *testing.T) {
	var peak [2]uint64
	for i, launches := range []int64{10_000, 80_000} {
		p := restJob(1000, true, launches, nil)
		var m runtime.MemStats
		watch := func(s *event.Span, ns int64) (int64, int64) {
			if s.Run%5000 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&m)
				peak[i] = max(peak[i], m.HeapAlloc)
			}
			return ns, 0
		}
		matched, err := Match(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		j, err := CheckAll(context.Background(), matched, []Clock{watch}, CheckOptions{})
		if err != nil || int64(j.Verdicts[0].Groups) != 2*launches {
			t.Errorf("%+v, %v", j, err)
		}
		p.rest.Close()
	}
	t.Logf("%d KB of 90,000 executions, %d KB of 720,000", peak[0]>>10, peak[1]>>10)
	if peak[1] > 3*peak[0] {
		t.Errorf("%d KB of 90,000 executions, %d KB of 720,000", peak[0]>>10, peak[1]>>10)
	}
}
