package simt

import (
	"strings"
	"testing"
)

// TestReadsOfArraysThatNobodyHasWritten: the array has 64 words, of which nobody wrote any before the launch.
func TestReadsOfArraysThatNobodyHasWritten(t *testing.T) {
	const write = addressOfThread + "\tst.global.u32 [%rd3], %r31;\n"
	for name, c := range map[string]struct {
		body  string
		lanes uint32 // that read what is not there
	}{
		"read first":           {addressOfThread + "\tld.global.u32 %r1, [%rd3];", 0xffffffff},
		"written, then read":   {write + "\tld.global.u32 %r1, [%rd3];", 0},
		"the next":             {write + "\tld.global.u32 %r1, [%rd3+4];", 1 << 31},
		"a part of it":         {addressOfThread + "\tst.global.u16 [%rd3], 7;\n\tld.global.u32 %r1, [%rd3];", 0xffffffff},
		"two halves":           {addressOfThread + "\tst.global.u16 [%rd3], 7;\n\tst.global.u16 [%rd3+2], 7;\n\tld.global.u32 %r1, [%rd3];", 0},
		"an atomic":            {addressOfThread + "\tatom.global.add.u32 %r1, [%rd3], 1;", 0xffffffff},
		"an atomic afterwards": {write + "\tatom.global.add.u32 %r1, [%rd3], 1;", 0},
		"under a mask":         {addressOfThread + "\tsetp.lt.u32 %p1, %r31, 4;\n\t@%p1 ld.global.u32 %r1, [%rd3];", 0xf},
		"a copy":               {addressOfThread + "\t.shared .align 16 .b8 tile[128];\n\tmov.u32 %r2, tile;\n\tshl.b32 %r3, %r31, 2;\n\tadd.u32 %r2, %r2, %r3;\n\tcp.async.ca.shared.global [%r2], [%rd3], 4;\n\tcp.async.wait_all;", 0xffffffff},
		"a generic address":    {addressOfThread + "\tld.u32 %r1, [%rd3];", 0xffffffff},
		"only written":         {write, 0},
	} {
		for _, unwritten := range []bool{true, false} {
			l := testLaunch(1, 32, make([]byte, 256), 0)
			l.Memory[0].Unwritten = unwritten
			r := mustRun(t, entry(c.body), l)
			if c.lanes == 0 || !unwritten {
				if len(r.Findings) > 0 {
					t.Errorf("%s, unwritten %t: %v", name, unwritten, r.Findings)
				}
				continue
			}
			f := only(t, r, "uninitialised-global")
			if f.Lanes != c.lanes || !strings.Contains(f.Message, "reads what nobody has written of out") {
				t.Errorf("%s: lanes %08x, %q; want lanes %08x", name, f.Lanes, f.Message, c.lanes)
			}
		}
	}
}
