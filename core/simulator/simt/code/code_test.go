package code_test

import (
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
)

// everyOperand has an operand of each kind that instructions can have.
const everyOperand = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<3>;
	.reg .f32 %f<3>;
	ld.param.u64 %rd1, [out];
	@!%p1 ld.global.v2.u32 {%r1, _}, [%rd1+-8];
	setp.lt.and.f32 %p1|%p2, %f1, 0f3F800000, !%p2;
	mov.u32 %r2, %tid.x;
	st.shared.u32 [16], -5;
	@%p1 bra END;
END:
	ret;
}
`

func TestTextOfInstructions(t *testing.T) {
	m, err := ptx.Read(context.Background(), "k.ptx", []byte(everyOperand))
	if err != nil {
		t.Fatal(err)
	}
	f := m.Functions[0]
	for i, want := range []string{
		"ld.param.u64 %rd1, [out]", "@!%p1 ld.global.v2.u32 {%r1, _}, [%rd1-8]", "setp.lt.and.f32 %p1|%p2, %f1, 0f3F800000, !%p2",
		"mov.u32 %r2, %tid.x", "st.shared.u32 [16], -5", "@%p1 bra @6", "ret",
	} {
		in := code.Origin{Function: f, Inst: int32(i)}.PTX()
		if got := code.Text(f, in); got != want {
			t.Errorf("instruction %d is %q, want %q", i, got, want)
		}
	}
	end := code.Origin{Function: f, Inst: int32(len(f.Insts))}
	if in := end.PTX(); in != nil {
		t.Errorf("the end of the function is %s, want no instruction", in.Op.Full)
	}
	k := code.Kernel{Module: m, Entry: f, Code: []code.Inst{{}}, Origins: []code.Origin{end}}
	if where, text := k.Where(0), k.Text(0); where != nil || text != "ret" {
		t.Errorf("the end of the function is %q at %v, want ret, nowhere", text, where)
	}
}
