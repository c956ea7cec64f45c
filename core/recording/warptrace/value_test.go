package warptrace

import "testing"

func TestWidthsOfElements(t *testing.T) {
	for ty, want := range map[string]uint32{"*fp16": 2, "*bf16": 2, "*fp32": 4, "*i64": 8, "**i8": 8, "*fp8e4nv": 1, "*i8": 1, "*u1": 1, "i32": 1, "": 1} {
		if got := ElementBytes(ty); got != want {
			t.Errorf("%s: %d bytes, want %d", ty, got, want)
		}
	}
}
