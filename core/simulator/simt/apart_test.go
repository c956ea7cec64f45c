package simt

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// ownWord makes %rd3 the word of a thread of the grid and %rd4 that of the same thread of the next block, around the end.
const ownWord = `	mov.u32 %r20, %ctaid.x;
	mov.u32 %r21, %nctaid.x;
	mov.u32 %r22, %ntid.x;
	mad.lo.u32 %r23, %r20, %r22, %r31;
	mul.wide.u32 %rd2, %r23, 4;
	add.s64 %rd3, %rd1, %rd2;
	add.u32 %r24, %r20, 1;
	rem.u32 %r24, %r24, %r21;
	mad.lo.u32 %r25, %r24, %r22, %r31;
	mul.wide.u32 %rd2, %r25, 4;
	add.s64 %rd4, %rd1, %rd2;
`

// Several workers find what one finds, and leave what it leaves: where blocks keep apart, and where they do not.
func TestRacesInGlobalMemoryWithSeveralWorkers(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		race bool
	}{
		"apart":             {ownWord + "\tld.global.u32 %r1, [%rd3];\n\tadd.u32 %r1, %r1, %r31;\n\tst.global.u32 [%rd3], %r1;\n", false},
		"read by all":       {ownWord + "\tld.global.u32 %r1, [%rd1+65536];\n\tst.global.u32 [%rd3], %r1;\n", false},
		"one value":         {ownWord + "\tst.global.u32 [%rd1+65536], 7;\n\tld.global.u32 %r1, [%rd1+65536];\n\tst.global.u32 [%rd3], %r1;\n", true},
		"parts of a word":   {ownWord + "\tmul.wide.u32 %rd2, %r20, 2;\n\tadd.s64 %rd4, %rd1, %rd2;\n\tst.global.u16 [%rd4+65536], 9;\n", false},
		"many values":       {ownWord + "\tst.global.u32 [%rd1+65536], %r20;\n", true},
		"what others write": {ownWord + "\tld.global.u32 %r1, [%rd4];\n\tadd.u32 %r1, %r1, %r20;\n\tst.global.u32 [%rd3], %r1;\n", true},
		"a copy that reads": {ownWord + "\t.shared .align 16 .b8 tile[1024];\n\tmov.u32 %r9, tile;\n\tshl.b32 %r8, %r31, 2;\n\tadd.u32 %r9, %r9, %r8;\n\tcp.async.ca.shared.global [%r9], [%rd4], 4;\n\tcp.async.wait_all;\n\tld.shared.u32 %r1, [%r9];\n\tadd.u32 %r1, %r1, 1;\n\tst.global.u32 [%rd3], %r1;\n", true},
		"warps of a block":  {ownWord + "\tmul.wide.u32 %rd2, %r20, 4;\n\tadd.s64 %rd4, %rd1, %rd2;\n\tst.global.u32 [%rd4+65536], %r31;\n", true},
		"beyond the end":    {ownWord + "\tst.global.u32 [%rd3], %r31;\n\tst.global.u32 [%rd3+131072], %r31;\n", false},
	} {
		run := func(workers int, seed uint64) (*Result, []byte) {
			data := make([]byte, 1<<17)
			l := testLaunch(64, 64, data, 0)
			l.Options.GlobalRaces, l.Options.Workers, l.Options.ScheduleSeed = true, workers, seed
			return mustRun(t, entry(c.body), l), data
		}
		for seed := range uint64(4) {
			want, left := run(1, seed)
			raced := false
			for _, f := range want.Findings {
				raced = raced || f.Check == execute.Check("global-race")
			}
			if raced != c.race {
				t.Errorf("%s: findings %+v", name, want.Findings)
			}
			for _, workers := range []int{2, 5} {
				got, data := run(workers, seed)
				if !reflect.DeepEqual(withoutPointers(got.Findings), withoutPointers(want.Findings)) {
					t.Errorf("%s, seed %d, %d workers: findings\n%+v, of one worker\n%+v", name, seed, workers, got.Findings, want.Findings)
				}
				if string(data) != string(left) || !reflect.DeepEqual(got.Lines, want.Lines) || got.Instructions != want.Instructions {
					t.Errorf("%s, seed %d, %d workers: memory or counts are not those of one worker", name, seed, workers)
				}
			}
		}
	}
}

// withoutPointers is what findings say.
func withoutPointers(list []Finding) (out []string) {
	for _, f := range list {
		text := fmt.Sprintf("%+v", *f.Fault)
		f.Fault = nil
		out = append(out, fmt.Sprintf("%+v", f)+text)
	}
	return out
}

// Arrays that pointers lead to which a kernel loads are looked at, too; one worker runs the blocks then.
func TestRacesInArraysThatPointersLeadTo(t *testing.T) {
	body := "\tld.global.u64 %rd5, [%rd1];\n\tmov.u32 %r20, %ctaid.x;\n\tst.global.u32 [%rd5+4092], %r20;\n"
	data, other := make([]byte, 64), make([]byte, 4096)
	binary.LittleEndian.PutUint64(data, 0x7f1000000000)
	table := new(memory.Standing)
	table.Change([]memory.Allocation{{Name: "other", Host: 0x7f1000000000, Bytes: other}}, nil)
	l := testLaunch(16, 32, data, 0)
	l.Standing, l.Options.GlobalRaces, l.Options.Workers = table, true, 4
	f := only(t, mustRun(t, entry(body), l), execute.Check("global-race"))
	if f.Count != 15 || !strings.Contains(f.Message, "other") {
		t.Errorf("%d times, %q; want 15 times, and the array", f.Count, f.Message)
	}
	if binary.LittleEndian.Uint32(other[4092:]) != 15 {
		t.Errorf("the word is %d, want that of the last block", binary.LittleEndian.Uint32(other[4092:]))
	}
}
