package simt

import (
	"strings"
	"testing"
)

// TestSlipsFromOneSharedVariableIntoTheNext: two variables of 128 bytes stand one behind the other.
func TestSlipsFromOneSharedVariableIntoTheNext(t *testing.T) {
	const begin = "\t.shared .align 4 .b8 one[128];\n\t.shared .align 4 .b8 two[128];\n\tshl.b32 %r1, %r31, 2;\n\tmov.u32 %r2, one;\n\tmov.u32 %r3, two;\n\tadd.u32 %r4, %r2, %r1;\n\tadd.u32 %r5, %r3, %r1;\n" +
		"\tst.shared.u32 [%r4], %r31;\n\tst.shared.u32 [%r5], %r31;\n\tbar.sync 0;\n"
	for name, c := range map[string]struct{ body, want string }{
		"inside":                  {"\tld.shared.u32 %r6, [%r4];", ""},
		"a constant":              {"\tld.shared.u32 %r6, [one+128];", "it reaches 4 bytes beyond the end of one (128 bytes)"},
		"an index":                {"\tld.shared.u32 %r6, [%r4+4];", "it reaches 4 bytes beyond the end of one (128 bytes)"},
		"before the start":        {"\tld.shared.u32 %r6, [%r5+-8];", "it begins 8 bytes before the start of two (128 bytes)"},
		"a store":                 {"\tst.shared.u32 [%r4+124], %r31;", "a store of 4 bytes"},
		"an atomic":               {"\tatom.shared.add.u32 %r6, [%r4+8], 1;", "an atomic of 4 bytes"},
		"a generic address":       {"\tcvt.u64.u32 %rd2, %r4;\n\tcvta.shared.u64 %rd3, %rd2;\n\tld.u32 %r6, [%rd3+4];", "beyond the end of one (128 bytes)"},
		"an index from memory":    {"\tld.global.u32 %r7, [%rd1];\n\tadd.u32 %r8, %r4, %r7;\n\tld.shared.u32 %r6, [%r8];", "beyond the end of one (128 bytes)"},
		"through a product":       {"\tmad.lo.u32 %r8, %r31, 8, %r2;\n\tld.shared.u32 %r6, [%r8];", "beyond the end of one (128 bytes)"},
		"either of two":           {"\tsetp.lt.u32 %p1, %r31, 9;\n\tselp.u32 %r8, %r2, %r3, %p1;\n\tld.shared.u32 %r6, [%r8+120];", ""},
		"an address from memory":  {"\tld.global.u32 %r7, [%rd1+4];\n\tld.shared.u32 %r6, [%r7];", ""},
		"further than all memory": {"\tld.shared.u32 %r6, [%r4+4096];", "beyond the end of shared memory"},
	} {
		data := make([]byte, 8)
		data[0], data[4] = 4, 132
		r := mustRun(t, entry(begin+c.body), testLaunch(1, 32, data, 0))
		if c.want == "" {
			if len(r.Findings) > 0 {
				t.Errorf("%s: %v", name, r.Findings)
			}
			continue
		}
		if f := only(t, r, "out-of-bounds"); !strings.Contains(f.Message, c.want) {
			t.Errorf("%s: %q does not say %q", name, f.Message, c.want)
		}
	}
}
