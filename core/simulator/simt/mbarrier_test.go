package simt

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/execute"
)

// handover is a block of 64 threads: the first warp writes what the second one reads, when the mbarrier at 128 says so. WAIT stands for
// the instructions by which the second warp waits.
const handover = `
	.shared .align 8 .b8 tile[256];
	setp.ne.u32 %p1, %r31, 0;
	@%p1 bra BEGUN;
	mbarrier.init.shared.b64 [tile+128], 32;
BEGUN:
	bar.sync 0;
	shl.b32 %r1, %r31, 2;
	and.b32 %r1, %r1, 127;
	mov.u32 %r2, tile;
	add.u32 %r2, %r2, %r1;
	setp.gt.u32 %p1, %r31, 31;
	@%p1 bra SECOND;
	add.u32 %r3, %r31, 500;
	st.shared.u32 [%r2], %r3;
	ARRIVE
	bra DONE;
SECOND:
	WAIT
	ld.shared.u32 %r4, [%r2];
	sub.u32 %r5, %r31, 32;
	mul.wide.u32 %rd2, %r5, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r4;
DONE:
`

func TestWhoWaitsAtAnMbarrierSeesWhatWasWritten(t *testing.T) {
	spin := "SPIN:\n\tmbarrier.test_wait.parity.shared.b64 %p2, [tile+128], 0;\n\t@!%p2 bra SPIN;"
	arrive := "mbarrier.arrive.shared.b64 %rd5, [tile+128];"
	for name, c := range map[string]struct {
		arrive, wait string
		want         execute.Check
	}{
		"waits":           {arrive, spin, ""},
		"a whole warp":    {"mbarrier.arrive.noComplete.shared.b64 %rd5, [tile+128], 1;", "mbarrier.test_wait.parity.shared.b64 %p2, [tile+128], 1;", "mbarrier"},
		"does not wait":   {arrive, "", "shared-race"},
		"looks once":      {arrive, "mbarrier.test_wait.parity.shared.b64 %p2, [tile+128], 1;", "shared-race"},
		"too many":        {"mbarrier.arrive.shared.b64 %rd5, [tile+128], 2;", spin, "mbarrier"},
		"after its end":   {"mbarrier.arrive.shared.b64 _, [tile+128];\n\tmbarrier.inval.shared.b64 [tile+128];", spin, "mbarrier"},
		"no such barrier": {"mbarrier.arrive.shared.b64 _, [tile+136];", spin, "mbarrier"},
	} {
		for seed := range uint64(5) {
			data := make([]byte, 128)
			l := testLaunch(1, 64, data, 0)
			l.Options.ScheduleSeed, l.Options.MaxInstructions = seed, 1<<14
			r, err := mustLoad(t, entry(strings.NewReplacer("ARRIVE", c.arrive, "WAIT", c.wait).Replace(handover))).Run(nil, l)
			if err != nil {
				t.Errorf("%s, seed %d: %v", name, seed, err)
				continue
			}
			found := false
			for _, f := range r.Findings {
				found = found || f.Check == c.want || c.want == "mbarrier" && f.Check == "deadlock" // nobody completes the phase
			}
			if found != (c.want != "") || c.want == "" && len(r.Findings) > 0 {
				t.Errorf("%s, seed %d: findings %v, want %q", name, seed, r.Findings, c.want)
			}
			for i, v := range wordsOf(data) {
				if c.want == "" && v != uint32(i)+500 {
					t.Errorf("%s, seed %d: word %d is %d", name, seed, i, v)
				}
			}
		}
	}
}

func TestStatesOfMbarriers(t *testing.T) {
	body := `
	.shared .align 8 .b8 tile[16];
	mbarrier.init.shared.b64 [tile], 3;
	mbarrier.arrive.shared.b64 %rd2, [tile];
	mbarrier.pending_count.b64 %r1, %rd2;
	mbarrier.test_wait.shared.b64 %p1, [tile], %rd2;
	selp.u32 %r2, 1, 0, %p1;
	mbarrier.arrive_drop.shared.b64 %rd3, [tile];
	mbarrier.pending_count.b64 %r3, %rd3;
	cvta.shared.u64 %rd4, tile;
	mbarrier.arrive.b64 %rd5, [%rd4], 1;
	mbarrier.test_wait.acquire.cta.shared::cta.b64 %p1, [tile], %rd5;
	selp.u32 %r4, 1, 0, %p1;
	cp.async.mbarrier.arrive.noinc.shared.b64 [tile];
	cp.async.mbarrier.arrive.shared.b64 [tile];
	mbarrier.arrive.noComplete.shared.b64 %rd6, [tile], 1;
	mbarrier.pending_count.b64 %r5, %rd6;
	st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
	st.global.u32 [%rd1+16], %r5;`
	data := make([]byte, 20)
	r := mustRun(t, entry(body), testLaunch(1, 1, data, 0))
	want := [5]uint32{3, 0, 2, 1, 1} // a phase of 3, of which one drops out: the next has 2
	if got := [5]uint32(wordsOf(data)); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if f := only(t, r, "mbarrier"); !strings.Contains(f.Message, "1 arrivals come to an mbarrier, whose phase waits for 1 of 2 more") {
		t.Errorf("the finding is %q", f.Message) // the last one would complete the phase
	}
}
