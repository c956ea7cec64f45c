package simt

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// BenchmarkGlobalRaces runs kernels that do little else than load and store, with and without a look for races.
func BenchmarkGlobalRaces(b *testing.B) {
	thread := "\tmov.u32 %r20, %ctaid.x;\n\tmad.lo.u32 %r21, %r20, 128, %r31;\n"
	for _, c := range []struct{ name, body string }{
		{"whole", thread + `	mul.wide.u32 %rd2, %r21, 16;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd3];
	ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd3+8388608];
	add.u32 %r1, %r1, %r5;
	st.global.v4.u32 [%rd3+16777216], {%r1, %r2, %r3, %r4};
`},
		{"halves", thread + `	mul.wide.u32 %rd2, %r21, 2;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u16 %r1, [%rd3];
	ld.global.u16 %r2, [%rd3+8388608];
	add.u32 %r1, %r1, %r2;
	st.global.u16 [%rd3+16777216], %r1;
`},
		{"gather", thread + `	mul.wide.u32 %rd2, %r21, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r1, [%rd3];
	mul.wide.u32 %rd4, %r1, 4;
	add.s64 %rd5, %rd1, %rd4;
	ld.global.u32 %r2, [%rd5+8388608];
	st.global.u32 [%rd3+16777216], %r2;
`},
	} {
		for how, races := range map[string]bool{"without": false, "with": true} {
			b.Run(c.name+"/"+how, func(b *testing.B) {
				data := make([]byte, 3<<23)
				random := rand.New(rand.NewPCG(1, 2))
				for at := 0; at < len(data); at += 4 {
					binary.LittleEndian.PutUint32(data[at:], random.Uint32()%(1<<21))
				}
				for b.Loop() {
					l := testLaunch(4096, 128, data, 0)
					l.Options.GlobalRaces, l.Options.Workers = races, 1
					mustRun(b, entry(c.body), l)
				}
			})
		}
	}
}
