package ptx

import (
	"context"
	"testing"
)

func TestStaticMemoryIsThatOfWhatIsNamed(t *testing.T) {
	m, err := Read(context.Background(), "k.ptx", []byte(`.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 odd[5];
.shared .align 16 .b8 whole[32];
.shared .align 4 .b8 unused[400];
.func helper()
{
	.reg .b32 %r<2>;
	st.shared.u32 [whole], %r1;
	ret;
}
.visible .entry k()
{
	.local .align 8 .b8 stack[24];
	.reg .b32 %r<2>;
	ld.shared.u8 %r1, [odd+4];
	call helper, ();
	ret;
}
.visible .entry empty()
{
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	k, empty := m.Functions[1], m.Functions[2]
	if shared, local, none := m.StaticBytes(k, Shared), m.StaticBytes(k, Local), m.StaticBytes(empty, Shared); shared != 48 || local != 24 || none != 0 {
		t.Errorf("shared %d, local %d, of an empty kernel %d; want 48, 24 and 0", shared, local, none)
	}
}
