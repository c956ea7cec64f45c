package simt

import "testing"

func TestParametersAreReadThroughAddresses(t *testing.T) {
	text := preamble + ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n" + testRegisters + "\tld.param.u64 %rd1, [out];\n\tmov.u32 %r31, %tid.x;\n\tmov.b32 %r1, n;\n\tmov.b64 %rd2, out;\n" +
		"\tld.param.u32 %r2, [%r1];\n\tadd.s64 %rd4, %rd2, 8;\n\tld.param.u32 %r3, [%rd4];\n\tld.param.u64 %rd3, [%rd2];\n\tsetp.lt.u32 %p1, %r31, 16;\n\tsub.u32 %r5, %r1, 8;\n\tselp.b32 %r4, %r1, %r5, %p1;\n\tld.param.u32 %r6, [%r4];\n" +
		"\tsetp.ne.u32 %p2, %r31, 3;\n\t@%p2 ret;\n\tst.global.u32 [%rd3], %r2;\n\tst.global.u32 [%rd3+4], %r3;\n\tst.global.u32 [%rd1+8], %r6;\n\tret;\n}\n"
	data := make([]byte, 12)
	r := mustRun(t, text, testLaunch(1, 32, data, 77))
	if got := wordsOf(data); len(r.Findings) > 0 || got[0] != 77 || got[1] != 77 || got[2] != 77 {
		t.Errorf("got %v, findings %v; want 77 three times", got, r.Findings)
	}
}
