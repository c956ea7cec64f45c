package simt

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/execute"
)

// laneBefore stores the number of each lane in shared memory, and leaves the address of the next lane's word in %r5.
const laneBefore = `	.shared .align 4 .b8 tile[128];
	mov.u32 %r1, tile;
	shl.b32 %r2, %r31, 2;
	add.s32 %r3, %r1, %r2;
	add.s32 %r4, %r31, 1;
	and.b32 %r4, %r4, 31;
	shl.b32 %r4, %r4, 2;
	add.s32 %r5, %r1, %r4;
`

// TestRacesWithinAWarp: what lanes of one warp do in shared memory, with and without something between.
func TestRacesWithinAWarp(t *testing.T) {
	const after = "\tst.global.u32 [%rd3], %r6;\n"
	for name, c := range map[string]struct {
		body string
		race string // what the message has, "" none
	}{
		"nothing between":           {"st.shared.u32 [%r3], %r31;\nld.shared.u32 %r6, [%r5];", "a store of lane 1 "},
		"bar.warp.sync":             {"st.shared.u32 [%r3], %r31;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r5];", ""},
		"bar.sync":                  {"st.shared.u32 [%r3], %r31;\nbar.sync 0;\nld.shared.u32 %r6, [%r5];", ""},
		"a shuffle":                 {"st.shared.u32 [%r3], %r31;\nshfl.sync.idx.b32 %r7, %r4, 0, 31, -1;\nld.shared.u32 %r6, [%r5];", ""},
		"its own word":              {"st.shared.u32 [%r3], %r31;\nld.shared.u32 %r6, [%r3];", ""},
		"one instruction":           {"st.shared.u32 [%r1], %r31;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r1];", ""},
		"a store behind a load":     {"st.shared.u32 [%r3], %r31;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r5];\nst.shared.u32 [%r3], %r6;", "a load of lane 31 "},
		"the same, synchronised":    {"st.shared.u32 [%r3], %r31;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r5];\nbar.warp.sync -1;\nst.shared.u32 [%r3], %r6;", ""},
		"two stores":                {"st.shared.u32 [%r3], %r31;\nst.shared.u32 [%r5], %r4;", "a store of lane 1 "},
		"two stores of one value":   {"st.shared.u32 [%r3], 7;\nst.shared.u32 [%r5], 7;", ""},
		"halves of a word":          {"shl.b32 %r8, %r31, 1;\nadd.s32 %r8, %r1, %r8;\nst.shared.u8 [%r8], %r31;\nst.shared.u8 [%r8+1], %r31;\nld.shared.u8 %r6, [%r8];", ""},
		"volatile, in step":         {"st.volatile.shared.u32 [%r3], %r31;\nld.volatile.shared.u32 %r6, [%r5];", "a store of lane 1 "},
		"a volatile flag":           {"setp.eq.u32 %p1, %r31, 0;\n@%p1 st.shared.u32 [%r1], 0;\nbar.warp.sync -1;\n@%p1 bra A;\nld.volatile.shared.u32 %r6, [%r1];\nbra B;\nA:\nst.volatile.shared.u32 [%r1], 1;\nB:", ""},
		"atomics":                   {"st.shared.u32 [%r3], %r31;\nbar.warp.sync -1;\natom.shared.add.u32 %r6, [%r1], 1;\natom.shared.add.u32 %r6, [%r1], 1;", ""},
		"an atomic behind a store":  {"st.shared.u32 [%r3], %r31;\natom.shared.add.u32 %r6, [%r5], 1;", "a store of lane 1 "},
		"half of the warp meets":    {"st.shared.u32 [%r3], %r31;\nmov.u32 %r8, 0xffff;\nsetp.lt.u32 %p1, %r31, 16;\n@!%p1 mov.u32 %r8, 0xffff0000;\nbar.warp.sync %r8;\nld.shared.u32 %r6, [%r5];", "a store of lane 16 "},
		"within the halves":         {"st.shared.u32 [%r3], %r31;\nmov.u32 %r8, 0xffff;\nsetp.lt.u32 %p1, %r31, 16;\n@!%p1 mov.u32 %r8, 0xffff0000;\nbar.warp.sync %r8;\nxor.b32 %r5, %r2, 4;\nadd.s32 %r5, %r5, %r1;\nld.shared.u32 %r6, [%r5];", ""},
		"generic addresses":         {"cvt.u64.u32 %rd4, %r3;\ncvta.shared.u64 %rd4, %rd4;\ncvt.u64.u32 %rd5, %r5;\ncvta.shared.u64 %rd5, %rd5;\nst.u32 [%rd4], %r31;\nld.u32 %r6, [%rd5];", "a store of lane 1 "},
		"released and acquired":     {"setp.eq.u32 %p1, %r31, 0;\n@%p1 st.shared.u32 [%r1+4], 5;\n@%p1 red.release.cta.global.add.u32 [%rd1+124], 1;\nld.acquire.cta.global.u32 %r7, [%rd1+124];\nld.shared.u32 %r6, [%r1+4];", ""},
		"in arms of a branch":       {"setp.lt.u32 %p1, %r31, 16;\n@%p1 bra A;\nst.shared.u32 [%r1], 1;\nbra B;\nA:\nst.shared.u32 [%r1], 2;\nB:", "a store of lane "},
		"in arms, behind a barrier": {"setp.lt.u32 %p1, %r31, 16;\n@%p1 bra A;\nst.shared.u32 [%r1], 1;\nbra B;\nA:\nB:\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r1];", ""},
	} {
		body := laneBefore + addressOfThread + strings.ReplaceAll("\n"+c.body, "\n", "\n\t") + "\n" + after
		l := testLaunch(2, 32, make([]byte, 256), 0)
		if r := mustRun(t, entry(body), l); len(r.Findings) != 0 && name != "atomics" {
			t.Errorf("%s: found when nobody asked: %+v", name, r.Findings)
		}
		l.Options.WarpRaces = true
		r := mustRun(t, entry(body), l)
		switch {
		case c.race == "" && len(r.Findings) != 0:
			t.Errorf("%s: %s", name, r.Findings[0].Message)
		case c.race == "":
		case len(r.Findings) != 1 || r.Findings[0].Check != "warp-race" || !strings.Contains(r.Findings[0].Message, c.race):
			t.Errorf("%s: %+v", name, r.Findings)
		}
	}
}

// TestAccessesOutsideOfAView: the argument is a view of words 8 to 23 of an array of 32.
func TestAccessesOutsideOfAView(t *testing.T) {
	const body = "\tshl.b32 %r2, %r31, 2;\n\tcvt.u64.u32 %rd2, %r2;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
	for name, c := range map[string]struct {
		body  string
		lanes uint32
		says  string
	}{
		"all inside":  {body + "\tand.b32 %r4, %r31, 15;\n\tshl.b32 %r4, %r4, 2;\n\tcvt.u64.u32 %rd4, %r4;\n\tadd.s64 %rd4, %rd1, %rd4;\n\tld.global.u32 %r5, [%rd4];", 0, ""},
		"a load":      {body + "\tsetp.lt.u32 %p1, %r31, 20;\n\t@%p1 ld.global.u32 %r5, [%rd3];", 0xf0000, "reaches 4 bytes beyond its end"},
		"a store":     {body + "\tsetp.lt.u32 %p1, %r31, 17;\n\t@%p1 st.global.u32 [%rd3], %r31;", 1 << 16, "reaches 4 bytes beyond its end"},
		"before it":   {"\tld.global.u32 %r5, [%rd1+-4];", ^uint32(0), "begins 4 bytes before its start"},
		"an atomic":   {"\tred.global.add.u32 [%rd1+64], 1;", ^uint32(0), "reaches 4 bytes"},
		"half of it":  {"\tld.global.u64 %rd4, [%rd1+56];\n\tld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+48];\n\tld.global.v2.u64 {%rd4, %rd5}, [%rd1+64];", ^uint32(0), "reaches 16 bytes"},
		"through all": {"\tld.global.u32 %r5, [%rd1+200];", ^uint32(0), ""}, // beyond the array: out of bounds, as ever
	} {
		l := testLaunch(1, 32, make([]byte, 128), 0)
		host := l.Memory[0].Host
		l.Params[0].Bits, l.Params[0].View = host+32, []uint64{host + 32, host + 96}
		if r := mustRun(t, entry(c.body), l); len(r.Findings) != 0 && name != "through all" {
			t.Errorf("%s: found when nobody asked: %+v", name, r.Findings)
		}
		l.Options.Views = true
		r := mustRun(t, entry(c.body), l)
		switch {
		case name == "through all":
			only(t, r, "out-of-bounds")
		case c.says == "" && len(r.Findings) != 0:
			t.Errorf("%s: %+v", name, r.Findings)
		case c.says == "":
		default:
			if f := only(t, r, "outside-view"); f.Lanes != c.lanes || !strings.Contains(f.Message, c.says) || !strings.Contains(f.Message, "storage of ") {
				t.Errorf("%s: lanes %08x, %s", name, f.Lanes, f.Message)
			}
		}
	}
}

// A recording sees the same with these checks as without.
func TestChecksOnRequestLeaveRecordingsAlone(t *testing.T) {
	body := laneBefore + addressOfThread + "\tst.shared.u32 [%r3], %r31;\n\tsetp.lt.u32 %p1, %r31, 9;\n\t@%p1 bra A;\n\tst.global.u32 [%rd3], %r31;\nA:\n"
	var all [2][]string
	for i := range all {
		l := testLaunch(2, 32, make([]byte, 256), 0)
		l.Options.WarpRaces, l.Options.Views = i == 1, i == 1
		w := &lineWitness{blocks: map[uint64]map[int][]passed{}, watched: map[int]bool{}}
		for line := range 100 {
			w.watched[line] = line%3 == 0
		}
		p := mustLoad(t, entry(body))
		k, err := p.bound("k")
		if err != nil {
			t.Fatal(err)
		}
		w.k, l.Options.Workers = k, 1
		if _, err := execute.Run(nil, k, p.variables, l, w); err != nil {
			t.Fatal(err)
		}
		for block := range uint64(2) {
			for line := range 100 {
				for _, p := range w.blocks[block][line] {
					all[i] = append(all[i], strings.Join([]string{string(rune(line)), string(rune(p.active)), string(rune(p.taken))}, ","))
				}
			}
		}
	}
	if strings.Join(all[0], ";") != strings.Join(all[1], ";") || len(all[0]) == 0 {
		t.Errorf("watched %v, with checks %v", all[0], all[1])
	}
}
