package operation

import "testing"

// TestWhichEventsWereRecorded: by level, and from an instant on by what the mask was set to then.
func TestWhichEventsWereRecorded(t *testing.T) {
	for level, kernels := range map[int]bool{-1: false, 0: false, 1: true, 2: true, 3: true, 9: true} {
		r := Recording{Level: level}
		if r.records(codeKernel, 5) != kernels || !r.records(CodeColl, 5) || r.records(31, 5) {
			t.Errorf("level %d: kernels %v, collectives %v", level, r.records(codeKernel, 5), r.records(CodeColl, 5))
		}
	}
	r := Recording{Level: 3, Masks: []Mask{{FromNS: 10, Codes: 1 << CodeColl}, {FromNS: 20, Codes: 1 << codeKernel}, {FromNS: 30}}}
	for ns, want := range map[int64][2]bool{5: {true, false}, 10: {true, false}, 19: {true, false}, 20: {false, true}, 29: {false, true}, 30: {}, 99: {}} {
		if got := [2]bool{r.records(CodeColl, ns), r.records(codeKernel, ns)}; got != want {
			t.Errorf("at %d: collectives and kernels are recorded: %v, want %v", ns, got, want)
		}
	}
}

// TestWhenAnOperationBegan: when the first of its kernels did; where there is none, the first of its proxies.
func TestWhenAnOperationBegan(t *testing.T) {
	for name, c := range map[string]struct {
		kernels []Kernel
		proxies []ProxyOp
		began   int64
		ended   int64
		how     Progress
	}{
		"kernels alone":          {[]Kernel{{StartNS: 50, StopNS: 90, Stopped: true}, {StartNS: 40, StopNS: 80, Stopped: true}}, nil, 40, 90, Finished},
		"proxies alone":          {nil, []ProxyOp{{ProgressNS: 30, StopNS: 70}, {FirstNS: 20, StopNS: 60}}, 20, 70, Finished},
		"kernels before proxies": {[]Kernel{{StartNS: 20, StopNS: 90, Stopped: true}}, []ProxyOp{{ProgressNS: 30, StopNS: 95}}, 20, 95, Finished},
		"proxies before kernels": {[]Kernel{{StartNS: 50, StopNS: 90, Stopped: true}}, []ProxyOp{{ProgressNS: 30, StopNS: 80}}, 50, 90, Finished},
		"a kernel runs":          {[]Kernel{{StartNS: 50}}, []ProxyOp{{ProgressNS: 30, StopNS: 80}}, 50, 0, Running},
		"a proxy is not done":    {nil, []ProxyOp{{ProgressNS: 30}}, 30, 0, Running},
	} {
		r := Recording{Level: 3, Kernels: c.kernels, Proxies: c.proxies}
		e := r.Extent(&Op{API: -1, KernelTo: int32(len(c.kernels)), ProxyTo: int32(len(c.proxies)), StartNS: 10})
		if e.BeganNS != c.began || e.EndedNS != c.ended || e.Progress != c.how {
			t.Errorf("%s: %+v, want %d to %d", name, e, c.began, c.ended)
		}
	}
}
