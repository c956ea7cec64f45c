package llir

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/observe/arena"
)

// brought are the operands that lanes hand to the recorder, by warp and site; of lanes that have an event.
func brought(calls []called) map[string][][3]uint64 {
	all := map[string][][3]uint64{}
	for _, c := range calls {
		if c.name != "prlx_record_operands" {
			continue
		}
		key := fmt.Sprint(c.warp, "/", c.site)
		eachLane(c.active, func(l int) {
			if c.args[0][l][0] != 0 {
				all[key] = append(all[key], [3]uint64{uint64(l), c.args[1][l][0], c.args[2][l][0]})
			}
		})
	}
	return all
}

// held are the operands that an arena holds, likewise.
func held(t *testing.T, memory []byte) (map[string][][3]uint64, *arena.Arena) {
	t.Helper()
	a, err := arena.Open(memory)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][][3]uint64{}
	if err := a.Warps(func(w *arena.Warp) error {
		for _, o := range w.Operands {
			if w.Events[o.Event].Site != o.Site || o.Active&^w.Events[o.Event].Active != 0 {
				t.Errorf("warp %d: operands of site %d belong to an event of site %d", w.Number, o.Site, w.Events[o.Event].Site)
			}
			key := fmt.Sprint(w.Number, "/", o.Site)
			eachLane(o.Active, func(l int) { all[key] = append(all[key], [3]uint64{uint64(l), o.Lhs[l], o.Rhs[l]}) })
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all, a
}

// TestAMDKernelsRecordTheOperandsOfEveryLane compares what lanes brought with what the arena holds, in waves of 32 and of 64 lanes.
func TestAMDKernelsRecordTheOperandsOfEveryLane(t *testing.T) {
	lanesSeen, upper := 0, 0
	for name, body := range microkernels {
		for _, lanes := range []int{32, 64} {
			made := Instrument(micro(body), Options{Values: true, Stores: true, Atomics: true})
			if made.Warning != "" {
				t.Fatal(made.Warning)
			}
			warps := uint64(6 * ((96 + lanes - 1) / lanes))
			plan := arena.Plan{Warps: warps, Events: true, Operands: true, Lanes: uint32(lanes), Sites: uint32(len(made.Sites))}
			memory := make([]byte, 4<<20)
			if err := arena.Prepare(memory, planned(made, plan, 4)); err != nil {
				t.Fatal(err)
			}
			clean, r := interpret(t, micro(body), lanes, nil), interpret(t, made.Text, lanes, memory)
			if !bytes.Equal(clean.out, r.out) {
				t.Errorf("%s/%d: what the kernel computes is not what it was", name, lanes)
			}
			want := brought(r.calls)
			got, a := held(t, memory)
			if fmt.Sprint(got) != fmt.Sprint(want) || a.NoRoom+a.Orphans+a.Deep != 0 {
				t.Errorf("%s/%d: got %v\nwant %v", name, lanes, got, want)
			}
			for _, rows := range got {
				for _, row := range rows {
					if lanesSeen++; row[0] >= 32 {
						upper++
					}
				}
			}
		}
	}
	if lanesSeen < 5000 || upper < 1000 {
		t.Errorf("only %d operands, %d of lanes from 32 on", lanesSeen, upper)
	}
}

// TestOperandsAreKeptAtFirstVisitsAndCounted asks for a depth, for rings, and for more than there is room for.
func TestOperandsAreKeptAtFirstVisitsAndCounted(t *testing.T) {
	name, body := "", ""
	for n, b := range microkernels {
		if strings.Contains(b, "phi") && n > name { // a loop
			name, body = n, b
		}
	}
	made := Instrument(micro(body), Options{Values: true})
	sites := uint32(len(made.Sites))
	clean := interpret(t, micro(body), 32, nil)
	run := func(size int, p arena.Plan) (map[string][][3]uint64, *arena.Arena) {
		t.Helper()
		p.Warps, p.Events, p.Operands, p.Sites = 18, true, true, sites
		memory := make([]byte, size)
		if err := arena.Prepare(memory, planned(made, p, 4)); err != nil {
			t.Fatal(err)
		}
		if r := interpret(t, made.Text, 32, memory); !bytes.Equal(r.out, clean.out) {
			t.Errorf("%s: %+v changes results", name, p)
		}
		return held(t, memory)
	}
	all, _ := run(4<<20, arena.Plan{})
	few, a := run(4<<20, arena.Plan{Depth: 1})
	lost := 0
	for key, rows := range all {
		n := 0
		for n < len(rows) && (n == 0 || rows[n][0] > rows[n-1][0]) { // of one visit: lanes ascend
			n++
		}
		if fmt.Sprint(few[key]) != fmt.Sprint(rows[:n]) {
			t.Errorf("%s %s: the first visit has %v, want %v", name, key, few[key], rows[:n])
		}
		lost += len(rows) - n
	}
	if len(all) < 18 || lost == 0 || a.Deep == 0 || a.NoRoom != 0 {
		t.Errorf("%s: %d sites of warps, %d lanes of later visits, %d events left out", name, len(all), lost, a.Deep)
	}
	if got, a := run(48<<10, arena.Plan{}); a.NoRoom == 0 || len(got) == 0 {
		t.Errorf("%s: a small arena has %d, and lost %d", name, len(got), a.NoRoom)
	}
	got, a := run(4<<20, arena.Plan{Last: true, Budget: 2})
	for key, rows := range got {
		if most := all[key]; len(rows) == 0 || fmt.Sprint(rows[len(rows)-1]) != fmt.Sprint(most[len(most)-1]) {
			t.Errorf("%s %s: the last events end with %v", name, key, rows)
		}
	}
	if len(got) < 18 || a.Orphans == 0 {
		t.Errorf("%s: rings hold %d, and left %d", name, len(got), a.Orphans)
	}
}
