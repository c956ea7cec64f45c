package simt

import (
	"strings"
	"testing"
)

// A product with a sparse matrix whose rows have ones at places 0 and 2 of each four, with a matrix of ones: 8 of 16 products. Metadata that
// names one place twice is a finding, at the lanes that have it.
func TestSparseProductInAKernel(t *testing.T) {
	for metadata, lanes := range map[string]uint32{"0x88888888": 0, "0x88888885": 0x22222222} {
		text := entry("\tmov.u32 %r1, 0x3c003c00;\n\tmov.u32 %r2, " + metadata + ";\n\tmov.u32 %r4, 0;\n" +
			"\tmma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r4, %r5, %r6, %r7}, {%r1, %r1}, {%r1, %r1}, {%r4, %r4, %r4, %r4}, %r2, 0x1;\n" + storeR4)
		data := make([]byte, 4*32)
		r := mustRun(t, text, testLaunch(1, 32, data, 0))
		if lanes != 0 {
			if f := only(t, r, "sparse-metadata"); f.Lanes != lanes || !strings.Contains(f.Message, "bits 0 to 3 of the metadata of lane 1 are 0b0101") {
				t.Errorf("lanes %08x, %s", f.Lanes, f.Message)
			}
			continue
		}
		if len(r.Findings) != 0 {
			t.Errorf("findings %+v", r.Findings)
		}
		for i, v := range wordsOf(data) {
			if v != 0x41000000 {
				t.Errorf("lane %d has %08x", i, v)
			}
		}
	}
}
