package simt

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// structure is a kernel whose first parameter is a structure of 24 bytes: a number, a pointer and a byte with a sign.
const structure = preamble + `.visible .entry k(.param .align 8 .b8 s[24], .param .u32 n)
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	.reg .f32 %f<2>;
	ld.param.u32 %r1, [s];
	ld.param.s8 %r2, [s+4];
	ld.param.u64 %rd1, [s+8];
	ld.param.v2.b32 {%r3, %r4}, [s+16];
	ld.param.u32 %r5, [n];
	st.global.v4.b32 [%rd1], {%r1, %r2, %r3, %r4};
	st.global.b32 [%rd1+16], %r5;
	ret;
}
`

func structureLaunch(data []byte) *Launch {
	l := testLaunch(1, 1, data, 7)
	s := make([]byte, 24)
	binary.LittleEndian.PutUint32(s, 0x01020304)
	s[4] = 0xf0
	binary.LittleEndian.PutUint64(s[8:], 0x7f0000000000)
	binary.LittleEndian.PutUint64(s[16:], 0x1122334455667788)
	l.Params[0] = Argument{Name: "s", Allocation: -1, Data: s}
	return l
}

func TestStructuresArePassedToKernels(t *testing.T) {
	data := make([]byte, 20)
	if r := mustRun(t, structure, structureLaunch(data)); len(r.Findings) != 0 {
		t.Fatalf("findings %+v", r.Findings)
	}
	if got := fmt.Sprintf("%08x", wordsOf(data)); got != "[01020304 fffffff0 55667788 11223344 00000007]" {
		t.Errorf("got %s", got)
	}
	params, err := mustLoad(t, structure).Params("k")
	if err != nil || fmt.Sprint(params) != "[{s 24 false b8 8 true} {n 4 false u32 4 false}]" {
		t.Errorf("parameters %v, %v", params, err)
	}
}

func TestArgumentsOfTheWrongSizeAreUsageErrors(t *testing.T) {
	for name, change := range map[string]func(*Launch){
		"a structure of 24 bytes, the launch passes 16": func(l *Launch) { l.Params[0].Data = l.Params[0].Data[:16] },
		"a structure of 24 bytes, the launch passes 0":  func(l *Launch) { l.Params[0].Data = nil },
		"they are passed as a number":                   func(l *Launch) { l.Params[1].Data = make([]byte, 4) },
	} {
		l := structureLaunch(make([]byte, 20))
		change(l)
		if _, err := mustLoad(t, structure).Run(nil, l); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
}
