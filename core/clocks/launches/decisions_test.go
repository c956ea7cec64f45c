package launches

import (
	"context"
	"errors"
	"math/bits"
	"reflect"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

// damaged is a trace that cannot be read to its end.
type damaged struct{ recording }

var errDamaged = errors.New("damaged")

func (d *damaged) Launches(context.Context, *file.Source, func(*source.Launch)) error {
	return errDamaged
}

// TestReadSaysWhatItFoundAndWhatFailed: a trace that is damaged must not pass for one without launches.
func TestReadSaysWhatItFoundAndWhatFailed(t *testing.T) {
	r := &recording{}
	r.add(isCall, host, 1, 101, 105)
	r.add(isWork, gpu0, 1, 107, 151)
	f, err := Read(context.Background(), nil, r)
	if err != nil || len(f.Devices) != 1 || f.Devices[0].Linked != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := Read(context.Background(), nil, &damaged{}); !errors.Is(err, errDamaged) || f != nil {
		t.Errorf("of a damaged trace %+v, %v", f, err)
	}
}

// TestWhichCallsWaitForTheirWork: a copy to the host is waited for by a call that blocks, and by any where the trace says so.
func TestWhichCallsWaitForTheirWork(t *testing.T) {
	for _, c := range []struct {
		awaited, toHost, blocks bool
		want                    []fact
	}{
		{false, false, false, nil},
		{true, false, false, []fact{{211, 180}}},
		{false, true, true, []fact{{211, 180}}},
		{false, true, false, nil}, // it returns while the copy runs
		{false, false, true, nil}, // what blocks to give data to the device does not wait for its end
	} {
		r := &recording{}
		r.add(isCall, host, 1, 101, 211).Blocks = c.blocks
		r.add(isCall, host, 1, 105, 203) // of the driver, inside of it: the outer one is what returns
		w := r.add(isWork, gpu0, 1, 107, 181)
		w.Awaited, w.ToHost = c.awaited, c.toHost
		d := r.read(t, roomForAll).Devices[0]
		if !reflect.DeepEqual(d.Waits, c.want) || !reflect.DeepEqual(d.Launches, []fact{{101, 107}}) {
			t.Errorf("%+v: %+v", c, d)
		}
	}
}

// TestWhatCountsAsACall: at the first instant of the clock, too, and only with a number.
func TestWhatCountsAsACall(t *testing.T) {
	r := &recording{}
	r.add(isCall, host, 1, 0, 5)
	r.add(isCall, host, 0, 7, 9)
	r.add(isWork, gpu0, 1, 11, 21)
	if f := r.read(t, roomForAll); f.Calls != 1 || f.Devices[0].Linked != 1 {
		t.Errorf("%+v", f)
	}
}

// TestWaitsInAnyOrder: a wait before all work says nothing, and a trace may store a later wait first.
func TestWaitsInAnyOrder(t *testing.T) {
	r := &recording{}
	r.add(isWait, host, 0, 301, 303)
	r.add(isWait, host, 0, 151, 153)
	r.add(isWait, host, 0, 51, 53) // nothing was launched yet
	r.add(isCall, host, 1, 101, 105)
	r.add(isWork, gpu0, 1, 107, 149)
	r.add(isCall, host, 2, 201, 205)
	r.add(isWork, gpu0, 2, 207, 251)
	if d := r.read(t, roomForAll).Devices[0]; !reflect.DeepEqual(d.Waits, []fact{{153, 148}, {303, 250}}) {
		t.Errorf("%+v", d.Waits)
	}
}

// TestNoOrderIsImpossibleWhereNoneIsCounted: either sort alone is one.
func TestNoOrderIsImpossibleWhereNoneIsCounted(t *testing.T) {
	for v, want := range map[Inversions]bool{{}: true, {BeforeLaunch: 1}: false, {AfterWait: 1}: false, {BeforeLaunch: 2, AfterWait: 1}: false} {
		if v.None() != want {
			t.Errorf("%+v: %v", v, v.None())
		}
	}
}

// TestTheTightestWaitsAreKept: those that leave the least room, wherever in a stretch they are.
func TestTheTightestWaitsAreKept(t *testing.T) {
	kept := newTight(8, waitRoom)
	for i := range int64(100) {
		room := 1000 - i
		if i == 37 {
			room = 5
		}
		kept.add(fact{HostNS: i*10_000 + room, DeviceNS: i * 10_000})
	}
	var rooms []int64
	for _, f := range kept.list() {
		rooms = append(rooms, waitRoom(f))
	}
	if !reflect.DeepEqual(rooms, []int64{5, 903, 902, 901}) {
		t.Errorf("%v", rooms)
	}
}

// TestManyWaitsAreThinnedEvenly: one in so many is kept, over the whole time, and no more than there is room for.
func TestManyWaitsAreThinnedEvenly(t *testing.T) {
	r := &reader{every: 1, limit: 80}
	for i := range int64(1000) {
		r.wait(wait{from: i})
		if len(r.waits) > 10 {
			t.Fatalf("%d waits are held", len(r.waits))
		}
	}
	for i, w := range r.waits {
		if w.from != int64(i*r.every) {
			t.Fatalf("one in %d: %+v", r.every, r.waits)
		}
	}
	if len(r.waits)*r.every < 900 {
		t.Errorf("%d of 1000, one in %d", len(r.waits), r.every)
	}
}

// TestWorkWithoutCallsIsBounded: a trace of a device alone has no call of any of its numbers.
func TestWorkWithoutCallsIsBounded(t *testing.T) {
	r := &recording{}
	for i := range int64(20_000) {
		r.add(isWork, gpu0, uint64(i+1), i*100, i*100+51)
	}
	if f := r.read(t, 1000); f.Every < 8 || f.Devices[0].Work > 1000 || f.Devices[0].Linked != 0 {
		t.Errorf("one in %d, %+v", f.Every, f.Devices[0])
	}
}

// TestALaunchOfMuchWorkStaysLinked: a graph that is launched once has more kernels than are held, and all are looked at.
func TestALaunchOfMuchWorkStaysLinked(t *testing.T) {
	for _, limit := range []int{1, 100} {
		r := &recording{}
		r.add(isCall, host, 5, 1, 2)
		for i := range int64(5000) {
			r.add(isWork, gpu0, 5, 3+i, 4+i)
		}
		if f := r.read(t, limit); limit == 100 && (f.Every != 1 || f.Devices[0].Linked != 5000 || f.Devices[0].Shared) {
			t.Errorf("one in %d, %d linked, shared: %v", f.Every, f.Devices[0].Linked, f.Devices[0].Shared)
		}
	}
}

// TestALateWaitIsNotOfWhatCameAfter: it is stored when later work is no longer held, and says nothing of that.
func TestALateWaitIsNotOfWhatCameAfter(t *testing.T) {
	r := longRecording(5000, func(int64) int64 { return 20 }, true)
	r.add(isWait, host, 0, 1_000_501, 1_000_601)
	for _, w := range r.read(t, 1000).Devices[0].Waits {
		if w.DeviceNS > w.HostNS {
			t.Errorf("%+v", w)
		}
	}
}

// TestWhoseNumberItWasIsAskedForAllThatWereCondensed: the first one, one in the middle, and one whose call is still held.
func TestWhoseNumberItWasIsAskedForAllThatWereCondensed(t *testing.T) {
	for number, again := range map[uint64]bool{1: true, 2500: true, 5000: true, 5001: false} {
		r := longRecording(5000, func(int64) int64 { return 20 }, true)
		r.add(isCall, other, number, 10, 20)
		if f := r.read(t, 1000); (f.Every > 1) != again {
			t.Errorf("number %d: one in %d", number, f.Every)
		}
	}
}

// TestNumbersAreSpread: whatever bit numbers differ in, each of the bits by which a share of them is looked at differs for about half of them.
func TestNumbersAreSpread(t *testing.T) {
	const numbers, looked = 512, 12
	for bit := range 64 {
		var differ [looked]int
		for n := uint64(1); n <= numbers; n++ {
			for k := range looked {
				differ[k] += bits.OnesCount64((hash(n) ^ hash(n^1<<bit)) >> k & 1)
			}
		}
		for k, d := range differ {
			if d < numbers/4 || d > numbers*3/4 {
				t.Errorf("bit %d of a number changes bit %d of %d hashes in %d", bit, k, d, numbers)
			}
		}
	}
}

// TestWhatCannotBeLinkedMakesRoom: a trace whose beginning was cut holds work without calls, up to what is held. If nothing of it went, all of it would be looked
// through again for nearly every launch that follows.
func TestWhatCannotBeLinkedMakesRoom(t *testing.T) {
	r := &recording{}
	for i := range int64(990) {
		r.add(isWork, gpu0, uint64(100_000+i), i, i+1)
	}
	r.add(isCall, host, 5, 2000, 2001)
	for i := range int64(100) {
		r.add(isWork, gpu0, 5, 2003+i, 2004+i)
	}
	if f := r.read(t, 1000); f.Every != 2 {
		t.Errorf("one in %d", f.Every)
	}
}

// TestTheTightestFactSaysHowFarAheadADeviceCanBe, wherever it stands.
func TestTheTightestFactSaysHowFarAheadADeviceCanBe(t *testing.T) {
	d := &Device{Launches: []fact{{100, 109}, {200, 204}, {300, 307}}, Waits: []fact{{150, 130}, {250, 248}, {350, 341}}}
	if most, ok, least, both := d.Ahead(); !ok || !both || most != 4 || least != -2 {
		t.Errorf("by %d at most (%v), %d at least (%v)", most, ok, least, both)
	}
	if _, ok, _, both := (&Device{}).Ahead(); ok || both {
		t.Error("nothing says how far")
	}
}
