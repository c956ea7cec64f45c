package simt

import (
	"strings"
	"testing"
)

// Parts of registers and signs in front of them reach the instruction; anywhere else they are refused.
func TestVideoInstructionsInAKernel(t *testing.T) {
	body := addressOfThread + `	mov.u32 %r1, 0x80ff7f01;
	mov.u32 %r2, 0x00030002;
	mov.u32 %r4, 0xaabbccdd;
	vadd.s32.s32.s32 %r5.h1, %r1.b2, %r2.h0, %r4;
	vmad.s32.s32.s32 %r6, -%r2.h0, %r2.h1, %r5;
	mov.u64 %rd4, 64;
	isspacep.param %p1, %rd1;
	selp.b32 %r7, 100, 0, %p1;
	add.s32 %r6, %r6, %r7;
	st.global.u32 [%rd3], %r6;`
	data := make([]byte, 128)
	if r := mustRun(t, entry(body), testLaunch(1, 32, data, 0)); len(r.Findings) != 0 {
		t.Errorf("findings %+v", r.Findings)
	}
	if got, want := wordsOf(data)[5], uint32(0x0001ccdd-6); got != want { // -1 + 2 into the high half, then minus 2 times 3
		t.Errorf("got %x, want %x", got, want)
	}
	for _, text := range []string{"add.s32 %r1, %r2.h0, %r3;", "vadd.s32.s32.s32 %r1, %r2.x, %r3;", "vadd.s32.s32.s32 %r1, %r2.b9, %r3;"} {
		if _, err := Load(t.Context(), "k.ptx", []byte(entry("\t"+text))); err == nil || !strings.Contains(err.Error(), "vector registers") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
