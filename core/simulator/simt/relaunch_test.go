package simt

import (
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
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
