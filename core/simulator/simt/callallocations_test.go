package simt

import "testing"

// Calls of lanes that parted allocate nothing once a warp has made as many: a launch of many calls allocates about what one of few does.
func TestCallsAllocateOnce(t *testing.T) {
	text := preamble + `.func (.param .b32 back) f(.param .b32 x)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	ld.param.b32 %r1, [x];
	and.b32 %r2, %r1, 1;
	setp.eq.u32 %p1, %r2, 0;
	@%p1 bra EVEN;
	add.u32 %r1, %r1, 1;
	st.param.b32 [back], %r1;
	ret;
EVEN:
	add.u32 %r1, %r1, 2;
	st.param.b32 [back], %r1;
	ret;
}
`
	body := "\tmov.u32 %r1, 0;\n\tmov.u32 %r2, %r31;\nL:\n\tsetp.eq.u32 %p1, %r31, 7;\n\t@%p1 bra SKIP;\n\t{\n\t.param .b32 x;\n\t.param .b32 y;\n\tst.param.b32 [x], %r2;\n\tcall (y), f, (x);\n\tld.param.b32 %r2, [y];\n\t}\nSKIP:\n\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p2, %r1, %r30;\n\t@%p2 bra L;\n"
	p := mustLoad(t, text+entry(body)[len(preamble):])
	of := func(calls uint64) float64 {
		return testing.AllocsPerRun(3, func() {
			l := testLaunch(1, 32, make([]byte, 4), calls)
			l.Options.Workers = 1
			if _, err := p.Run(nil, l); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := of(10), of(5000); many > few+100 {
		t.Errorf("%v allocations for 5000 calls, %v for 10", many, few)
	}
}
