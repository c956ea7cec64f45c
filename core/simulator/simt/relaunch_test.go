package simt

import (
	"encoding/binary"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simt/sites"
)

// A kernel is bound and its sites are found once, however often it is launched and whoever looks.
func TestALaunchAgainBindsNothingAndFindsNoSite(t *testing.T) {
	p := mustLoad(t, entry(addressOfThread+"\tst.global.u32 [%rd3], %r31;"))
	launch := func() {
		t.Helper()
		if r, err := p.Run(nil, testLaunch(2, 64, make([]byte, 256), 0)); err != nil || len(r.Findings) > 0 {
			t.Fatal(r, err)
		}
	}
	observed := func() (k *code.Kernel, list *sites.List) {
		t.Helper()
		with := func(kernel *code.Kernel, found *sites.List, _ execute.Observer) execute.Observer {
			k, list = kernel, found
			return nil
		}
		if _, err := p.Observe(nil, testLaunch(2, 64, make([]byte, 256), 0), nil, with); err != nil {
			t.Fatal(err)
		}
		return k, list
	}
	launch()
	k, list := observed()
	for range 3 {
		launch()
		if again, found := observed(); again != k || found != list {
			t.Fatal("a launch has a kernel or sites of its own")
		}
	}
	if p.made != (made{bindings: 1, siteLists: 1}) {
		t.Errorf("eight launches made %+v", p.made)
	}
}

// A kernel keeps a pointer in a variable, and a launch that is passed something else follows it.
func TestAPointerThatAKernelKeptLeadsToItsArrayInLaterLaunches(t *testing.T) {
	p := mustLoad(t, withFunctions(".global .align 8 .u64 kept;\n",
		"\tld.global.u64 %rd5, [kept];\n\tsetp.ne.u64 %p1, %rd5, 0;\n\t@%p1 st.global.u32 [%rd5+8], 7;\n\tadd.s64 %rd6, %rd1, 4;\n\tst.global.u64 [kept], %rd6;\n"))
	arrays := []memory.Allocation{{Name: "a", Host: 0x7f1000000000, Bytes: make([]byte, 64)}, {Name: "b", Host: 0x7f1000001000, Bytes: make([]byte, 4096)}}
	table := new(memory.Standing)
	table.Change(arrays, nil)
	for _, passed := range arrays {
		l := testLaunch(1, 1, nil, 0)
		l.Memory, l.Standing, l.Params[0].Bits = []memory.Allocation{passed}, table, passed.Host
		if r, err := p.Run(nil, l); err != nil || len(r.Findings) > 0 {
			t.Fatal(r, err)
		}
		kept := make([]byte, 8)
		if _, err := p.Variable("kept", 0, kept, false); err != nil || binary.LittleEndian.Uint64(kept) != passed.Host+4 {
			t.Errorf("%s: the host reads %#x, want %#x (%v)", passed.Name, binary.LittleEndian.Uint64(kept), passed.Host+4, err)
		}
	}
	if got := binary.LittleEndian.Uint32(arrays[0].Bytes[12:]); got != 7 {
		t.Errorf("the second launch left %d in the array of the first, want 7", got)
	}
}
