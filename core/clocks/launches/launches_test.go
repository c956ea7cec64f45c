package launches

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

// recording is a trace of nothing but launches.
type recording struct {
	source.Trace
	list []source.Launch
}

func (r *recording) Launches(_ context.Context, _ *file.Source, visit func(l *source.Launch)) error {
	for i := range r.list {
		visit(&r.list[i])
	}
	return nil
}

func (r *recording) add(role source.LaunchRole, process int32, number uint64, from, to int64) *source.Launch {
	r.list = append(r.list, source.Launch{Span: source.Span{Process: process, Start: source.Instant{NS: from}, EndNS: to}, Role: role, Number: number})
	return &r.list[len(r.list)-1]
}

func (r *recording) read(t *testing.T, limit int) *Found {
	t.Helper()
	f, err := read(context.Background(), nil, r, limit)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const (
	host, other            = int32(0), int32(1)
	gpu0, gpu1             = int32(2), int32(3)
	roomForAll             = 1 << 20
	isCall, isWork, isWait = source.LaunchCall, source.LaunchWork, source.LaunchWait
)

// TestWorkIsLinkedWithItsLaunchAndItsWait: with its call whichever comes first, copies that their call waits for, and waits for a device with the last work that was
// launched before.
func TestWorkIsLinkedWithItsLaunchAndItsWait(t *testing.T) {
	r := &recording{}
	r.add(isWork, gpu0, 1, 107, 151) // before its call, as stored; its end was rounded up
	r.add(isCall, host, 1, 101, 105)
	r.add(isCall, host, 2, 110, 190)
	w := r.add(isWork, gpu0, 2, 160, 181)
	w.Awaited, w.ToHost = true, true
	r.add(isWait, host, 9, 200, 203) // waits for the work of 1 and 2
	c := r.add(isCall, host, 3, 210, 250)
	c.Blocks = true
	w = r.add(isWork, gpu0, 3, 215, 241)
	w.ToHost = true
	r.add(isCall, host, 4, 260, 270)
	r.add(isWork, gpu0, 4, 265, 301)
	r.add(isWait, host, 9, 269, 290)  // began while 4 was being launched: says nothing of it
	r.add(isWait, other, 9, 600, 700) // of a process that launched nothing
	r.add(isWork, gpu0, 0, 1, 2)      // without a number
	r.add(isWork, gpu0, 77, 3, 4)     // whose call is not in the trace
	f := r.read(t, roomForAll)
	want := []Device{{
		Process: gpu0, Work: 6, Linked: 4,
		Launches: []fact{{101, 107}, {110, 160}, {210, 215}, {260, 265}},
		Waits:    []fact{{190, 180}, {250, 240}, {203, 180}, {290, 240}},
	}}
	if !reflect.DeepEqual(f.Devices, want) || f.Calls != 4 || f.Ambiguous != 0 || f.Every != 1 {
		t.Errorf("%+v", f)
	}
	if from, to := f.Devices[0].Span(); from != 107 || to != 265 {
		t.Errorf("from %d to %d", from, to)
	}
	if most, ok, least, both := f.Devices[0].Ahead(); !ok || !both || most != 5 || least != -10 {
		t.Errorf("ahead by %d at most, %d at least (%v, %v)", most, least, ok, both)
	}
}

// TestTimesThatAreNotInstantsAreLeftOut: so that nothing overflows.
func TestTimesThatAreNotInstantsAreLeftOut(t *testing.T) {
	r := &recording{}
	r.add(isCall, host, 1, math.MinInt64, math.MaxInt64)
	r.add(isWork, gpu0, 1, math.MaxInt64-5, math.MaxInt64)
	r.add(isCall, host, 2, 100, 110)
	r.add(isWork, gpu0, 2, -20, 30)
	r.add(isWork, gpu0, 2, 120, 110)
	r.add(isWork, gpu0, 2, 120, 130)
	r.add(isWait, host, 0, 140, math.MaxInt64)
	f := r.read(t, roomForAll)
	if len(f.Devices) != 1 || f.Devices[0].Work != 1 || f.Calls != 1 || len(f.Devices[0].Waits) != 0 {
		t.Errorf("%+v", f)
	}
}

// TestWhatATraceDoesNotStateIsNotGuessed: whose number it is, which of several devices a call waits for, whether a process is a device.
func TestWhatATraceDoesNotStateIsNotGuessed(t *testing.T) {
	r := &recording{}
	r.add(isCall, host, 1, 10, 12)
	r.add(isCall, other, 1, 11, 13)
	r.add(isWork, gpu0, 1, 20, 30)
	r.add(isCall, host, 2, 14, 16)
	r.add(isCall, host, 2, 15, 18) // of the driver, within that of the runtime
	r.add(isWork, gpu0, 2, 20, 30)
	r.add(isCall, host, 3, 17, 19)
	r.add(isWork, gpu1, 3, 20, 30)
	r.add(isWork, host, 3, 20, 30)
	r.add(isWait, host, 0, 40, 50)
	f := r.read(t, roomForAll)
	if f.Ambiguous != 1 || len(f.Devices) != 3 {
		t.Fatalf("%+v", f)
	}
	shared, first, second := f.Devices[0], f.Devices[1], f.Devices[2]
	if !shared.Shared || first.Shared || len(first.Waits)+len(second.Waits) != 0 {
		t.Errorf("%+v", f.Devices)
	}
	if first.Work != 2 || !reflect.DeepEqual(first.Launches, []fact{{14, 20}}) || !reflect.DeepEqual(second.Launches, []fact{{17, 20}}) {
		t.Errorf("%+v", f.Devices)
	}
}

// longRecording is n launches of a kernel each, 100 ns apart, and waits after some; room says how long after its call the kernel begins. The work is
// stored with its call, or after all calls.
func longRecording(n int64, room func(i int64) int64, together bool) *recording {
	r, works := &recording{}, &recording{}
	random := rand.New(rand.NewPCG(1, 2))
	if together {
		works = r
	}
	for i := range n {
		at := i * 1000
		r.add(isCall, host, uint64(i+1), at, at+10)
		works.add(isWork, gpu0, uint64(i+1), at+room(i), at+room(i)+21)
		if random.IntN(2) == 0 {
			r.add(isWait, host, 0, at+500, at+600)
		}
	}
	if !together {
		r.list = append(r.list, works.list...)
	}
	return r
}

// TestOfLongTracesTheTightestAreKept: what is held has a limit, every launch is looked at, the ones that leave the least room are kept over the whole
// time, and nothing is linked wrongly.
func TestOfLongTracesTheTightestAreKept(t *testing.T) {
	const n = 400_000
	room := func(i int64) int64 {
		if i%20_000 == 13_000 {
			return 20
		}
		return 30 + i%7
	}
	f := longRecording(n, room, true).read(t, 1000)
	d := f.Devices[0]
	if f.Every != 1 || d.Work != n || d.Linked < n*99/100 || len(d.Launches) > 1500 || len(d.Waits) > 1500 || len(d.Waits) < 50 {
		t.Fatalf("one in %d; %d of %d linked, %d launches, %d waits", f.Every, d.Linked, d.Work, len(d.Launches), len(d.Waits))
	}
	tightest := 0
	for _, l := range d.Launches {
		if i := l.HostNS / 1000; l.HostNS%1000 != 0 || l.DeviceNS-l.HostNS != room(i) {
			t.Fatalf("%+v", l)
		}
		if l.DeviceNS-l.HostNS == 20 {
			tightest++
		}
	}
	if tightest != n/20_000 {
		t.Errorf("%d of the %d tightest", tightest, n/20_000)
	}
	for _, l := range d.Waits { // at the end of the last kernel, 49 ns after its call at most
		if at := l.HostNS - 600; at%1000 != 0 || l.DeviceNS >= l.HostNS || l.DeviceNS > at+60 {
			t.Fatalf("%+v", l)
		}
	}
}

// TestLongTracesAreSampled: where work is stored long after its calls, what is looked at is a share of the numbers.
func TestLongTracesAreSampled(t *testing.T) {
	const n = 40_000
	f := longRecording(n, func(int64) int64 { return 20 }, false).read(t, 1000)
	d := f.Devices[0]
	if f.Every < 64 || d.Work != d.Linked || d.Work > 1000 || d.Work*f.Every < n/2 || d.Work*f.Every > 2*n {
		t.Errorf("%d of %d, one in %d", d.Work, n, f.Every)
	}
	for _, l := range d.Launches {
		if l.DeviceNS-l.HostNS != 20 {
			t.Fatalf("%+v", l)
		}
	}
	if len(d.Waits) == 0 || len(d.Waits) > 1000 {
		t.Errorf("%d waits", len(d.Waits))
	}
}

// TestNumbersOfTwoProcessesOfALongTrace: what was kept of the one may be the other's, so that it is read once more and a share is looked at.
func TestNumbersOfTwoProcessesOfALongTrace(t *testing.T) {
	r := longRecording(5000, func(int64) int64 { return 20 }, true)
	r.add(isCall, other, 77, 10, 20)
	f := r.read(t, 1000)
	if d := f.Devices[0]; f.Every < 8 || d.Work > 1000 {
		t.Errorf("%d of 5000, one in %d", d.Work, f.Every)
	}
}

// TestOneNumberWithMoreWorkThanIsHeld, as of a graph that is launched once: it ends, and holds no more.
func TestOneNumberWithMoreWorkThanIsHeld(t *testing.T) {
	r := &recording{}
	r.add(isCall, host, 5, 1, 2)
	for i := range int64(5000) {
		r.add(isWork, gpu0, 5, i, i+1)
	}
	if f := r.read(t, 100); len(f.Devices) > 0 && len(f.Devices[0].Launches) > 100 {
		t.Errorf("%+v", f)
	}
}

// TestRoundingMakesNoWaitImpossible: a recorder that cuts begins and durations to microseconds may show a wait that ends before what it waited for.
func TestRoundingMakesNoWaitImpossible(t *testing.T) {
	r := &recording{}
	r.add(isCall, host, 1, 1000, 1000)
	r.add(isWork, gpu0, 1, 1000, 5001)
	r.add(isWait, host, 0, 3000, 4000)
	d := r.read(t, roomForAll).Devices[0]
	if v := d.Judge(nil); !v.None() {
		t.Errorf("%+v", v)
	}
	late := d.Judge(func(ns int64) int64 { return ns - 1 })
	if late != (Inversions{BeforeLaunch: 1, WorstNS: 1}) {
		t.Errorf("%+v", late)
	}
	if early := d.Judge(func(ns int64) int64 { return ns + 1500 }); early.AfterWait != 1 || early.WorstNS != 500 {
		t.Errorf("%+v", early)
	}
}

// TestACallThatMayHaveReturnedLaterIsNotWaitedFor: where begins and durations were cut to microseconds, a call may end 2 us later than written.
func TestACallThatMayHaveReturnedLaterIsNotWaitedFor(t *testing.T) {
	for from, want := range map[int64]int{2000: 0, 3000: 0, 4000: 1} {
		r := &recording{}
		r.add(isCall, host, 1, 1000, 2000)
		r.add(isWork, gpu0, 1, 3000, 9000)
		r.add(isWait, host, 0, from, 20000)
		if d := r.read(t, roomForAll).Devices[0]; len(d.Waits) != want {
			t.Errorf("a wait from %d on: %+v", from, d.Waits)
		}
	}
}

// TestFactsOfARecorderThatCuts: work that begins in the very instant of its launch and waits that return in the very instant of its end leave no room,
// but for what the recorder cut. The clock of the device is within the bound.
func TestFactsOfARecorderThatCuts(t *testing.T) {
	cut := func(ns int64) int64 { return ns / 1000 * 1000 }
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		ahead := random.Int64N(1000) // of the device's clock: it is cut elsewhere than the host's
		r := &recording{}
		at := int64(1_700_000_000_000_000_000)
		for i := range 400 {
			at += random.Int64N(2_000_000)
			long := random.Int64N(50_000)
			end := cut(at) + cut(long)
			r.add(isCall, host, uint64(i+1), cut(at), end).Blocks = true
			at += random.Int64N(3)
			r.add(isWork, gpu0, uint64(i+1), cut(at+ahead), cut(at+ahead)+cut(long)+1).ToHost = true
			at += long
		}
		d := r.read(t, roomForAll).Devices[0]
		g := offsets.NewGraph()
		device := offsets.Clock{Kind: offsets.Device}
		d.Bind(g, offsets.Clock{}, device)
		s, err := g.Solve(context.Background(), offsets.Clock{}, offsets.Options{})
		if err != nil || len(s.Others) != 1 {
			t.Fatalf("seed %d: %v, %+v", seed, err, s)
		}
		from, to := d.Span()
		for x := from; x <= to; x += (to - from) / 100 {
			if y, bound, _ := s.Others[0].Map.At(x); max(y+ahead-x, x-ahead-y) > bound {
				t.Fatalf("seed %d: off by %d ns, bound %d", seed, y+ahead-x, bound)
			}
		}
		if s.Others[0].Missed > 0 || strings.Contains(strings.Join(s.Warnings, " "), "contradict") {
			t.Fatalf("seed %d: %d facts are not used: %q", seed, s.Others[0].Missed, s.Warnings)
		}
	}
}
