package simt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simt/sites"
)

// everything asks for all that can be recorded.
func everything(mode warptrace.Mode) Recording {
	return Recording{Mode: mode, Predicates: true, Stores: true, Atomics: true, Loads: true, Barriers: true}
}

// recordedWarps runs a launch and returns copies of what its warps left, in the order in which they came.
func recordedWarps(t *testing.T, text string, l *Launch, r Recording) []warptrace.Warp {
	t.Helper()
	var warps []warptrace.Warp
	r.Warp = func(w *warptrace.Warp) error {
		c := *w
		c.Site, c.Kind, c.Dir, c.Aux = slices.Clone(w.Site), slices.Clone(w.Kind), slices.Clone(w.Dir), slices.Clone(w.Aux)
		c.Active, c.Taken, c.Value, c.Type = slices.Clone(w.Active), slices.Clone(w.Taken), slices.Clone(w.Value), slices.Clone(w.Type)
		c.Snapshots = slices.Clone(w.Snapshots)
		for i := range c.Snapshots {
			s := &c.Snapshots[i]
			s.Lhs, s.Rhs = slices.Clone(s.Lhs), slices.Clone(s.Rhs)
		}
		warps = append(warps, c)
		return nil
	}
	if _, err := mustLoad(t, text).Record(nil, l, &r); err != nil {
		t.Fatal(err)
	}
	return warps
}

// spellWarp writes the events of a warp, one per line; hashes are left out.
func spellWarp(w *warptrace.Warp) string {
	var b strings.Builder
	for i := range w.Site {
		fmt.Fprintf(&b, "%s %x/%x", w.Kind[i], w.Active[i], w.Taken[i])
		if w.Type[i] != warptrace.TypeHash && w.Type[i] != warptrace.TypeNone {
			fmt.Fprintf(&b, " %s %s", w.Type[i], warptrace.FormatValue(w.Value[i], w.Type[i]))
		}
		for k := range w.Snapshots {
			if s := &w.Snapshots[k]; s.Event == int32(i) {
				fmt.Fprintf(&b, "; %d on %x:", s.Role, s.Active)
				for l := range s.Lhs {
					if s.Active>>l&1 != 0 && l < 4 {
						fmt.Fprintf(&b, " %x", s.Lhs[l])
						if s.Rhs != nil {
							fmt.Fprintf(&b, ",%x", s.Rhs[l])
						}
					}
				}
			}
		}
		b.WriteString("\n")
	}
	return strings.TrimSpace(b.String())
}

// wordOfThread puts the address of the thread's own word into %rd3. The first array is at 10000000000 in recordings.
const wordOfThread = "\tmul.wide.u32 %rd2, %r31, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"

func TestRecordsMasksAndOperandsWorkedOutByHand(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		block uint32
		n     uint64
		want  []string // by warp
	}{
		"a mask of 40 of 64 threads": {
			body: wordOfThread + "\tsetp.lt.s32 %p1, %r31, %r30;\n\t@%p1 st.global.u32 [%rd3], %r31;", block: 64, n: 40,
			want: []string{
				"predicate ffffffff/ffffffff i32 0; 0 on ffffffff: 0,28 1,28 2,28 3,28\n" +
					"global-store ffffffff/ffffffff; 2 on ffffffff: 10000000000,0 10000000004,1 10000000008,2 1000000000c,3",
				"predicate ffffffff/ff i32 32; 0 on ffffffff: 20,28 21,28 22,28 23,28\n" +
					"global-store ff/ff; 2 on ff: 10000000080,20 10000000084,21 10000000088,22 1000000008c,23",
			},
		},
		"a negated guard that no lane passes": {
			body: wordOfThread + "\tsetp.lt.s32 %p1, %r31, %r30;\n\t@!%p1 st.global.u32 [%rd3], %r31;", block: 4, n: 4,
			want: []string{"predicate f/0 i32 0; 0 on f: 0,4 1,4 2,4 3,4"},
		},
		"a loop whose counter is stepped between compare and branch": {
			body: "\tmov.u32 %r1, 0;\nTOP:\n\tsetp.lt.u32 %p1, %r1, %r31;\n\tadd.u32 %r1, %r1, 1;\n\t@%p1 bra TOP;\n", block: 4,
			want: []string{
				"branch f/e u32 0; 0 on f: 0,0 0,1 0,2 0,3\n" +
					"branch e/c u32 1; 0 on e: 1,1 1,2 1,3\n" +
					"branch c/8 u32 2; 0 on c: 2,2 2,3\n" +
					"branch 8/0 u32 3; 0 on 8: 3,3",
			},
		},
		"lane 0 is idle": {
			body: "\tsetp.eq.u32 %p1, %r31, 0;\n\t@%p1 bra END;\n\tand.b32 %r1, %r31, 1;\n\tsetp.eq.u32 %p2, %r1, 0;\n\t@%p2 bra END;\n\tmov.u32 %r2, 1;\nEND:\n", block: 4,
			want: []string{
				"branch f/1 u32 0; 0 on f: 0,0 1,0 2,0 3,0\n" +
					"branch e/4 u32 1; 0 on e: 1,0 0,0 1,0",
			},
		},
		"a guarded return": {
			body: "\tsetp.ge.u32 %p1, %r31, 2;\n\t@%p1 ret;\n\tbar.sync 0;", block: 4,
			want: []string{"branch f/c u32 0; 0 on f: 0,2 1,2 2,2 3,2\nbarrier 3/3"},
		},
		"a guarded barrier": {
			body: "\tsetp.ge.u32 %p1, %r31, 2;\n\t@%p1 barrier.sync 0;", block: 4,
			want: []string{"predicate f/c u32 0; 0 on f: 0,2 1,2 2,2 3,2\nbarrier c/c"},
		},
		"a select by the other side of a compare": {
			body: "\tsetp.ge.u32 %p1|%p2, %r31, 3;\n\tselp.b32 %r1, 1, 2, %p2;\n", block: 4,
			want: []string{"predicate f/7 u32 0; 0 on f: 0,3 1,3 2,3 3,3"},
		},
		"atomics in the order of lanes": {
			body: "\tatom.global.add.u32 %r1, [%rd1], %r31;\n\tred.global.add.u32 [%rd1+4], 5;", block: 4,
			want: []string{"atomic f/f u32 10; 1 on f: 0,a 1,a 2,b 3,d\natomic f/f u32 5; 1 on f: 5 5 5 5"},
		},
		"vectors, element by element": {
			body: "\tmul.wide.u32 %rd2, %r31, 8;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tst.global.v2.u32 [%rd3], {%r31, 7};\n\tld.global.v2.u32 {%r2, %r3}, [%rd3];", block: 2,
			want: []string{
				"global-store 3/3; 2 on 3: 10000000000,0 10000000008,1; 2 on 3: 10000000004,7 1000000000c,7\n" +
					"load 3/3; 3 on 3: 10000000000,0 10000000008,1; 3 on 3: 10000000004,7 1000000000c,7",
			},
		},
		"a load that overwrites its address": {
			body: "\tst.global.u64 [%rd1+8], 77;\n\tadd.s64 %rd3, %rd1, 8;\n\tld.global.u64 %rd3, [%rd3];", block: 1,
			want: []string{"global-store 1/1; 2 on 1: 10000000008,4d\nload 1/1; 3 on 1: 10000000008,4d"},
		},
		"a table of labels": {
			body: "\tand.b32 %r1, %r31, 1;\nT: .branchtargets A, B;\n\tbrx.idx %r1, T;\nA:\n\tmov.u32 %r2, 1;\nB:\n", block: 4,
			want: []string{"switch f/5 i32 0; 4 on f: 0 1 0 1"},
		},
	} {
		data := make([]byte, 4*64)
		binary.LittleEndian.PutUint32(data, 10)
		text := entry(c.body)
		l := testLaunch(1, c.block, data, c.n)
		warps := recordedWarps(t, text, l, everything(warptrace.ModeValues))
		for i, want := range c.want {
			if i >= len(warps) {
				t.Errorf("%s: %d warps", name, len(warps))
			} else if got := spellWarp(&warps[i]); got != want {
				t.Errorf("%s, warp %d:\n%s\nwant\n%s", name, i, got, want)
			}
		}
	}
}

// loopOfBlocks goes around a loop as often as the numbers of block and thread say, and stores that at a word of its own.
const loopOfBlocks = "\tmov.u32 %r1, 0;\n\tmov.u32 %r2, %ctaid.x;\n\tadd.u32 %r2, %r2, %r31;\nTOP:\n\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p1, %r1, %r2;\n\t@%p1 bra TOP;\n" +
	"\tmov.u32 %r3, %ctaid.x;\n\tshl.b32 %r3, %r3, 6;\n\tadd.u32 %r3, %r3, %r31;\n\tmul.wide.u32 %rd2, %r3, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tst.global.u32 [%rd3], %r1;"

func TestARecordingDoesNotDependOnWorkersNorOnAddresses(t *testing.T) {
	var want []warptrace.Warp
	for _, workers := range []int{1, 2, 5} {
		for _, host := range []uint64{0x7f0000000000, 0x7f0000000040} {
			l := testLaunch(20, 64, make([]byte, 20*4*64), 0)
			l.Options.Workers = workers
			l.Params[0].Bits, l.Memory[0].Host = host, host
			if host&0x40 != 0 { // another array before the kernel's
				l.Memory = append([]memory.Allocation{{Name: "first", Host: 0x1000, Bytes: make([]byte, 64)}}, l.Memory...)
				l.Params[0].Allocation = 1
			}
			got := recordedWarps(t, entry(loopOfBlocks), l, everything(warptrace.ModeValues))
			if want == nil {
				want = got
			}
			if len(got) != 40 || !reflect.DeepEqual(got, want) {
				t.Fatalf("%d workers, array at %#x: another recording (%d warps)", workers, host, len(got))
			}
		}
	}
	for i := range want {
		if want[i].Warp != uint64(i) {
			t.Fatalf("warp %d came as number %d", want[i].Warp, i)
		}
	}
	for _, workers := range []int{1, 3} {
		l := testLaunch(20, 64, make([]byte, 20*4*64), 0)
		l.Options.Workers, l.Options.ScheduleSeed = workers, 5
		got := recordedWarps(t, entry(loopOfBlocks), l, everything(warptrace.ModeValues))
		slices.SortFunc(got, func(a, b warptrace.Warp) int { return int(a.Warp) - int(b.Warp) })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers, another schedule: another recording", workers)
		}
	}
}

// TestAStoppedLaunchHandsOverWhatEnded: the first block still goes around its loop when the first finding, in the second, ends the launch.
func TestAStoppedLaunchHandsOverWhatEnded(t *testing.T) {
	body := "\tmov.u32 %r2, %ctaid.x;\n\tatom.global.add.u32 %r3, [%rd1], 0;\n\tsetp.eq.u32 %p1, %r2, 0;\n\t@!%p1 st.global.u32 [%rd1+4], 1;\nTOP:\n\t@%p1 bra TOP;\n"
	l := testLaunch(2, 32, make([]byte, 4), 0)
	l.Options.StopAtFirst = true
	warps := recordedWarps(t, entry(body), l, Recording{Mode: warptrace.ModeControlFlow, Stores: true})
	if len(warps) != 1 || warps[0].Warp != 1 || warps[0].Len() == 0 {
		t.Errorf("got %+v, want warp 1", warps)
	}
}

func TestEventsBeyondTheBudgetAreCounted(t *testing.T) {
	r := everything(warptrace.ModeControlFlow)
	r.EventsPerWarp = 3
	w := recordedWarps(t, entry(loopOfBlocks), testLaunch(1, 8, make([]byte, 4*64), 0), r)[0]
	// Threads 0 and 1 pass the branch once, thread t passes it t times: 7 branches and a store.
	if w.Len() != 3 || w.Total != 8 || w.Dropped != 5 || len(w.Snapshots) != 0 {
		t.Errorf("%d events, %d happened, %d dropped, %d snapshots; want 3, 8, 5, 0", w.Len(), w.Total, w.Dropped, len(w.Snapshots))
	}
	if w.Active[2] != 0xf8 || w.Taken[2] != 0xf0 {
		t.Errorf("the third event is %x/%x", w.Active[2], w.Taken[2])
	}
}

func TestDigestsTellWarpsApart(t *testing.T) {
	run := func(n uint64) []warptrace.Warp {
		body := wordOfThread + "\tsetp.lt.s32 %p1, %r31, %r30;\n\t@%p1 st.global.u32 [%rd3], %r31;"
		return recordedWarps(t, entry(body), testLaunch(1, 64, make([]byte, 4*64), n), everything(warptrace.ModeDigest))
	}
	a, again, b := run(40), run(40), run(41)
	for i := range a {
		if a[i].Len() != 0 || a[i].Total != 2 || !a[i].HasRolling || a[i].Rolling != again[i].Rolling {
			t.Errorf("warp %d: %+v, then %+v", i, a[i].WarpInfo, again[i].WarpInfo)
		}
		if differ := a[i].Rolling != b[i].Rolling; differ != (i == 1) {
			t.Errorf("warp %d: digests differ: %t", i, differ)
		}
	}
}

func TestARecordingIsAFile(t *testing.T) {
	l := testLaunch(2, 64, make([]byte, 2*4*64), 0)
	text := entry(loopOfBlocks)
	sites, err := mustLoad(t, text).Sites("k")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	header := warptrace.Header{
		Version: 2, Kernel: "k", Grid: l.Grid, Block: l.Block, WaveSize: 32, WarpsPerBlock: 2, WarpSlots: 4, Mode: warptrace.ModeValues,
		Means: warptrace.MeansObserved, SampleRate: 1, Taken: true,
	}
	w, err := warptrace.CreateV2(&out, header, sites, warptrace.V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := everything(warptrace.ModeValues)
	events := 0
	r.Warp = func(warp *warptrace.Warp) error {
		events += warp.Len()
		return w.Append(warp)
	}
	if _, err := mustLoad(t, text).Record(job.New(context.Background(), job.Options{}), l, &r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := file.FromBytes("k.prlx", out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	trace, err := warptrace.Open(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	losses, err := trace.Losses(context.Background())
	if err != nil || losses.Events != int64(events) || events == 0 {
		t.Errorf("the file has %d events, %d were recorded: %v", losses.Events, events, err)
	}
}

// TestRecordingsHaveTheMasksWorkedOutByHand: what the microkernels' warps pass is known; their recordings say the same.
func TestRecordingsHaveTheMasksWorkedOutByHand(t *testing.T) {
	for _, m := range micros {
		p := loadMicro(t, m.name)
		k, err := p.bound(m.name)
		if err != nil {
			t.Fatal(err)
		}
		marks := sites.Find(p.module, k.Entry, nil).Marks
		got := map[int][]string{}
		r := Recording{Mode: warptrace.ModeControlFlow, Stores: true, Atomics: true, Barriers: true}
		r.Warp = func(w *warptrace.Warp) error {
			for i := range w.Site {
				at := marks[w.Site[i]]
				line := fmt.Sprintf("%s %08x", at.Function.Insts[at.Inst].Op.Name, w.Active[i])
				if w.Kind[i] == site.Branch {
					line += fmt.Sprintf("/%08x", w.Taken[i])
				}
				got[int(w.Warp)] = append(got[int(w.Warp)], line)
			}
			return nil
		}
		l := m.launch(make([]byte, 4*m.words))
		if _, err := p.Record(nil, l, &r); err != nil {
			t.Fatal(err)
		}
		for w, passed := range m.warps {
			var want []string
			for _, line := range passed {
				name, masks, _ := strings.Cut(line, " ")
				active, taken, guarded := strings.Cut(masks, "/")
				switch {
				case guarded && (name == "bra" || name == "ret" || name == "exit"):
					want = append(want, line)
				case guarded && name == "st" && taken != "00000000":
					want = append(want, "st "+taken)
				case !guarded && (name == "st" || name == "atom" || name == "bar" || name == "brx"):
					want = append(want, name+" "+active)
				}
			}
			if !slices.Equal(got[w], want) {
				t.Errorf("%s, warp %d: recorded\n%s\nwant\n%s", m.name, w, strings.Join(got[w], "\n"), strings.Join(want, "\n"))
			}
		}
	}
}
