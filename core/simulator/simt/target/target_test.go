package target

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// op takes an opcode apart as package ptx does.
func op(full string) ptx.Opcode {
	parts := strings.Split(full, ".")
	return ptx.Opcode{Name: parts[0], Mods: parts[1:], Full: full}
}

func TestInstructionsOfHopperCameAfterSM80(t *testing.T) {
	for full, later := range map[string]bool{
		"wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16": true, "elect.sync": true,
		"cp.async.bulk.tensor.2d.shared::cluster.global": true, "fence.proxy.async": true, "barrier.cluster.arrive": true, "cvt.rn.satfinite.e4m3x2.f32": true,
		"cp.async.cg.shared.global": false, "ldmatrix.sync.aligned.m8n8.x4.shared.b16": false, "barrier.sync": false, "cvt.rn.bf16x2.f32": false,
		"ld.global.L1::evict_last.L2::cluster_hint.b32": false,
	} {
		if got := SM80.IsLater(op(full)); got != later {
			t.Errorf("%s is later than sm_80: got %t, want %t", full, got, later)
		}
	}
}

func TestAtomicsOfSM80(t *testing.T) {
	for _, c := range []struct {
		kind memory.AtomicKind
		on   ptx.Type
		has  bool
	}{
		{memory.Add, ptx.U32, true},
		{memory.Add, ptx.BF16x2, true},
		{memory.Add, ptx.F64, true},
		{memory.Add, ptx.B32, false},
		{memory.Min, ptx.S64, true},
		{memory.Max, ptx.F16, false},
		{memory.Xor, ptx.B64, true},
		{memory.Exch, ptx.U32, false},
		{memory.Inc, ptx.U32, true},
		{memory.Dec, ptx.U64, false},
		{memory.CAS, ptx.B16, true},
		{memory.CAS, ptx.U32, false},
	} {
		if got := SM80.HasAtomic(c.kind, c.on); got != c.has {
			t.Errorf("atomic %d on type %d: got %t, want %t", c.kind, c.on, got, c.has)
		}
	}
	if !SM80.HasFence("acq_rel") || SM80.HasFence("cluster") {
		t.Error("fences are of a block, the GPU or the system, not of a cluster")
	}
}

func TestTargetsThatCameAfterSM80(t *testing.T) {
	for name, before := range map[string]bool{"sm_90": true, "sm_90a": true, "sm_100f": true, "sm_80": false, "sm_75": false, "": false, "debug": false} {
		if got := SM80.IsBefore(name); got != before {
			t.Errorf("sm_80 is before %q: got %t, want %t", name, got, before)
		}
	}
}
