package site

import "testing"

func TestPredicatesHaveTheNamesOfLLVM(t *testing.T) {
	for c, want := range map[Compare]string{0: "false", 1: "oeq", 15: "true", 16: "", 31: "", 32: "eq", 40: "slt", 41: "sle", 42: "", NoCompare: ""} {
		if got := c.Name(); got != want {
			t.Errorf("predicate %d: got %q, want %q", c, got, want)
		}
	}
}
