package ptx

import "testing"

func TestEveryTypeHasASpelling(t *testing.T) {
	seen := map[string]Type{}
	for ty := Pred; ty <= F64; ty++ {
		name := ty.String()
		if other, twice := seen[name]; name == "" || twice {
			t.Errorf("type %d is %q, as type %d is", ty, name, other)
		}
		seen[name] = ty
	}
	if NoType.String() != "" || Type(200).String() != "" || F16x2.String() != "f16x2" || S64.String() != "s64" {
		t.Error("a spelling is wrong")
	}
}
