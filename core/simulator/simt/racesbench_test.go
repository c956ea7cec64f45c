package simt

import "testing"

// BenchmarkGlobalRaces adds two arrays, with and without a look for races.
func BenchmarkGlobalRaces(b *testing.B) {
	body := `	mov.u32 %r20, %ctaid.x;
	mad.lo.u32 %r21, %r20, 128, %r31;
	mul.wide.u32 %rd2, %r21, 16;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd3];
	ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd3+8388608];
	add.u32 %r1, %r1, %r5;
	add.u32 %r2, %r2, %r6;
	add.u32 %r3, %r3, %r7;
	add.u32 %r4, %r4, %r8;
	st.global.v4.u32 [%rd3+16777216], {%r1, %r2, %r3, %r4};
`
	for name, races := range map[string]bool{"without": false, "with": true} {
		b.Run(name, func(b *testing.B) {
			data := make([]byte, 3<<23)
			for i := range data {
				data[i] = byte(i)
			}
			for b.Loop() {
				l := testLaunch(4096, 128, data, 0)
				l.Options.GlobalRaces, l.Options.Workers = races, 1
				mustRun(b, entry(body), l)
			}
		})
	}
}
