package ptx

import (
	"context"
	"testing"
)

// Texts that stand one behind the other, as a linker leaves them, may both bring a weak variable: the first counts.
func TestWeakVariablesMayBeDeclaredAgain(t *testing.T) {
	const head = ".version 8.0\n.target sm_80\n.address_size 64\n"
	first, again := ".weak .global .align 4 .u32 one = 1;\n", ".weak .global .align 4 .u32 one = 2;\n"
	m, err := Read(context.Background(), "k.ptx", []byte(head+first+head+again))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Variables) != 1 || m.Variables[0].Init[0] != 1 {
		t.Errorf("variables %+v, want the first alone", m.Variables)
	}
	for name, other := range map[string]string{"strong": ".global .align 4 .u32 one = 2;\n", "larger": ".weak .global .align 8 .u64 one = 2;\n"} {
		if _, err := Read(context.Background(), "k.ptx", []byte(head+first+other)); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}
