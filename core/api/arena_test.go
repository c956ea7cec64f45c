package api

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simulation"
)

// Where the arrays of decides lie in the memory of a test, which begins at address 4096.
const (
	atX, atIdx, atOut, atArena = 4096, 8192, 12288, 65536
	arenaBytes                 = 1 << 16
)

// decides is a machine with a kernel that Triton compiled to record, its arrays filled, and the table of its sites.
func decides(t testing.TB) (*machine, string) { return compiled(t, "decides") }

// compiled is so with the kernel as it was compiled for a mode: digests keep no events.
func compiled(t testing.TB, name string) (*machine, string) {
	t.Helper()
	var texts [2]string
	for i, name := range []string{name + ".ptx", name + ".table"} {
		b, err := os.ReadFile(filepath.Join("..", "simulator", "simulation", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	m := newMachine(t, texts[0])
	m.memory = make([]byte, 1<<18)
	word := func(at, i int, v uint32) { binary.LittleEndian.PutUint32(m.memory[at-4096+4*i:], v) }
	for i := range 300 {
		word(atX, i, math.Float32bits(float32(i%7)-1))
	}
	for i, v := range []uint32{0, 70, 70, 290} {
		word(atIdx, i, v)
	}
	return m, strings.TrimSpace(texts[1])
}

// launch is a request to launch decides, which knows of no recording.
func (m *machine) launchDecides(more map[string]any) map[string]any {
	pointer := func(name string, at, allocation int) map[string]any {
		return map[string]any{"name": name, "type": "*fp32", "bits": at, "allocation": allocation}
	}
	memory := func(name string, at, n int) map[string]any {
		return map[string]any{"name": name, "address": at, "bytes": n}
	}
	r := map[string]any{
		"module": m.module, "kernel": "decides", "grid": [3]int{3, 1, 1}, "block": [3]int{64, 1, 1}, "shared_bytes": 8,
		"params": []map[string]any{
			pointer("x", atX, 0), pointer("idx", atIdx, 1), pointer("out", atOut, 2),
			{"name": "n", "type": "i32", "bits": 300, "allocation": -1},
			{"name": "global_scratch", "type": "*i8", "allocation": -1},
			pointer("profile_scratch", atArena, 3),
		},
		"allocations": []map[string]any{memory("x", atX, 1200), memory("idx", atIdx, 16), memory("out", atOut, 256), memory("arena", atArena, arenaBytes)},
	}
	for name, v := range more {
		r[name] = v
	}
	return r
}

// arenaOfDecides is what whoever launches the kernel says of its arena.
func arenaOfDecides(table string, record map[string]any) map[string]any {
	piece := func(id, at, n int) map[string]any {
		return map[string]any{"id": id, "base": at, "type": "*fp32", "at": [][2]int{{at, n}}}
	}
	record["instrumented"] = map[string]any{"sites": table}
	for name, v := range map[string]any{"last": record["last"], "window": record["window"]} {
		if delete(record, name); v != nil {
			record["instrumented"].(map[string]any)[name] = v
		}
	}
	return map[string]any{
		"address": atArena, "bytes": arenaBytes, "record": record, "kernel": "decides", "grid": [3]int{3, 1, 1}, "block": [3]int{64, 1, 1},
		"arch": "sm_80", "arch_number": 80, "names": []string{"x", "idx", "out", "n", "global_scratch", "profile_scratch"},
		"arguments": []map[string]any{{"name": "x", "type": "*fp32"}, {"name": "idx", "type": "*fp32"}, {"name": "out", "type": "*fp32"}, {"name": "n", "type": "i32", "bits": 300}},
		"arrays":    []map[string]any{piece(0, atX, 1200), piece(1, atIdx, 16), piece(2, atOut, 256)},
	}
}

// left is what a recording has of its kernel, but for what its recorder saw of arrays.
func left(t *testing.T, path string) (warps []warptrace.Warp, stores []warptrace.StoreTotal, notes []string, h *warptrace.Header) {
	t.Helper()
	trace, err := warptrace.OpenPath(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	index, err := trace.Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range index {
		var w warptrace.Warp
		if err := trace.ReadWarp(t.Context(), info.Warp, &w); err != nil {
			t.Fatal(err)
		}
		warps = append(warps, w)
	}
	o, err := trace.Outputs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	losses, err := trace.Losses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return warps, o.Stores, losses.Notes, trace.Header()
}

// TestALaunchThatSomebodyElseMadeIsRecorded prepares an arena, launches the kernel as a driver does that knows of no recorder, and makes a
// recording of what is in the arena: it is what the simulator records of its own instrumented launch.
func TestALaunchThatSomebodyElseMadeIsRecorded(t *testing.T) {
	for name, record := range map[string]map[string]any{
		"events": {}, "digest": {"mode": "digest"}, "the last events": {"last": true, "events_per_warp": 4}, "few events": {"events_per_warp": 3},
		"some warps": {"warps": [][2]int{{1, 2}, {4, 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			kernel := "decides"
			if name == "digest" {
				kernel = "digests"
			}
			m, table := compiled(t, kernel)
			ours := map[string]any{"path": filepath.Join(folder, "ours.prlx"), "instrumented": map[string]any{"sites": table, "arena": 3, "last": record["last"] == true}}
			for key, v := range record {
				if key != "last" {
					ours[key] = v
				}
			}
			var ran simulation.Document
			m.must("simulate_launch", m.launchDecides(map[string]any{"record": ours}), &ran)
			result := append([]byte(nil), m.memory[atOut-4096:][:256]...)

			m, table = compiled(t, kernel)
			asked := arenaOfDecides(table, record)
			var prepared prepareArenaDocument
			m.must("arena_prepare", asked, &prepared)
			onGPU := m.memory[atArena-4096:][:arenaBytes]
			for _, b := range onGPU[prepared.Front:] {
				if b != 0 {
					t.Fatal("behind the front of a prepared arena there is something")
				}
			}
			if wanted := map[bool]uint64{true: 4, false: 6}[record["warps"] != nil]; prepared.Warps != wanted {
				t.Errorf("room for %d warps, want %d", prepared.Warps, wanted)
			}
			m.must("simulate_launch", m.launchDecides(nil), &ran)
			asked["record"].(map[string]any)["path"] = filepath.Join(folder, "theirs.prlx")
			var done recorder.Recorded
			m.must("arena_collect", asked, &done)
			if ran.Recording != nil || done.Written == nil || done.Written.Arrays != 0 || string(m.memory[atOut-4096:][:256]) != string(result) {
				t.Errorf("recorded %+v, and the results are others", done)
			}

			warps, stores, notes, h := left(t, filepath.Join(folder, "ours.prlx"))
			theirWarps, theirStores, theirNotes, theirs := left(t, filepath.Join(folder, "theirs.prlx"))
			if len(warps) == 0 || !reflect.DeepEqual(warps, theirWarps) {
				t.Errorf("warps differ: %s", cmp.Diff(warps, theirWarps))
			}
			if len(stores) == 0 || !reflect.DeepEqual(stores, theirStores) {
				t.Errorf("sums differ: %s", cmp.Diff(stores, theirStores))
			}
			if !reflect.DeepEqual(notes, theirNotes) || h.Means != theirs.Means || h.Keep != theirs.Keep || h.WarpSlots != theirs.WarpSlots || h.Kernel != theirs.Kernel {
				t.Errorf("%v, %v; %+v, %+v", notes, theirNotes, h, theirs)
			}
		})
	}
}

// TestArenasThatNobodyPreparedAreRefused, and those that a kernel wrote over: an error, and no file.
func TestArenasThatNobodyPreparedAreRefused(t *testing.T) {
	m, table := decides(t)
	path := filepath.Join(t.TempDir(), "a.prlx")
	asked := arenaOfDecides(table, map[string]any{"path": path})
	if reply := m.call("arena_collect", asked); reply[0] != replyError || !strings.Contains(string(reply), "this is no arena") {
		t.Errorf("got %s", reply)
	}
	for change, want := range map[string]string{
		`{"bytes": 64}`: "no room for its header", `{"lanes": 17}`: "a warp of 17 lanes", `{"record": {}}`: "with which table", `{"bytes": -1}`: "not a piece of memory",
		`{"record": {"instrumented": {"sites": "no table"}}}`: "broken", `{"record": {"mode": "all", "instrumented": {"sites": ""}}}`: "no mode",
	} {
		var more map[string]any
		if err := json.Unmarshal([]byte(change), &more); err != nil {
			t.Fatal(err)
		}
		other := map[string]any{}
		for name, v := range asked {
			other[name] = v
		}
		for name, v := range more {
			other[name] = v
		}
		if reply := m.call("arena_prepare", other); reply[0] != replyError || !strings.Contains(string(reply), want) {
			t.Errorf("%s: got %s, want %q", change, reply, want)
		}
	}
	var prepared prepareArenaDocument
	m.must("arena_prepare", asked, &prepared)
	var ran simulation.Document
	m.must("simulate_launch", m.launchDecides(nil), &ran)
	whole := append([]byte(nil), m.memory[atArena-4096:][:arenaBytes]...)
	rnd, refused := rand.New(rand.NewPCG(1, 2)), 0
	for k := range 2000 {
		held := m.memory[atArena-4096:][:arenaBytes]
		copy(held, whole)
		for range 1 + k%3 {
			at := rnd.IntN(int(prepared.Front) + 4096)
			binary.LittleEndian.PutUint64(held[at&^7:], rnd.Uint64()>>rnd.IntN(64))
		}
		asked["record"].(map[string]any)["path"] = fmt.Sprintf("%s.%d", path, k)
		reply := m.call("arena_collect", asked)
		_, err := os.Stat(fmt.Sprintf("%s.%d", path, k))
		if (reply[0] == replyError) != os.IsNotExist(err) || strings.Contains(string(reply), "internal") {
			t.Fatalf("round %d: %s, and the file: %v", k, reply, err)
		}
		if reply[0] == replyError {
			refused++
		}
	}
	if refused < 200 {
		t.Errorf("only %d of 2,000 arenas that were written over are refused", refused)
	}
}
