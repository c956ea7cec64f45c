package recorder

import "testing"

func TestScalarsInText(t *testing.T) {
	for _, c := range []struct {
		ty   string
		bits uint64
		want string
	}{
		{"i32", 0xffffffff, "-1"},
		{"u32", 0xffffffff, "4294967295"},
		{"i64", 1 << 63, "-9223372036854775808"},
		{"i8", 0x80, "-128"},
		{"fp32", 0x40200000, "2.5"},
		{"fp64", 0x4004000000000000, "2.5"},
		{"i1", 1, "true"},
		{"bf16", 0x3f80, "0x0000000000003f80"},
	} {
		if got := ScalarText(c.ty, c.bits); got != c.want {
			t.Errorf("%s %#x: got %s, want %s", c.ty, c.bits, got, c.want)
		}
	}
}
