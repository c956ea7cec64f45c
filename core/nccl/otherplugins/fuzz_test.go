package otherplugins_test

import (
	"testing"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// FuzzOtherPlugins: whatever a file holds, there is a recording whose places lie inside of its lists, or a typed error.
func FuzzOtherPlugins(f *testing.F) {
	f.Add([]byte(inspected(1, 1407, 61974, "") + inspected(1, 1408, 100, trace)))
	f.Add([]byte(printed + "{}]\n"))
	f.Add([]byte(printed[:900]))
	f.Add([]byte("[\n{\"name\": \"ScheduleRecv\", \"cat\": \"PROXY\", \"ph\": \"b\", \"ts\": 1e300},\n{\"name\": \"RecvWait\", \"cat\": \"NET\", \"ph\": \"b\", \"ts\": 5},\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := readAll(b)
		if err != nil {
			return
		}
		for i := range r.Ops {
			o := &r.Ops[i]
			if o.Member < 0 || int(o.Member) >= len(r.Members) || o.KernelFrom > o.KernelTo || int(o.KernelTo) > len(r.Kernels) || o.ProxyFrom > o.ProxyTo || int(o.ProxyTo) > len(r.Proxies) {
				t.Fatalf("operation %+v of %d members, %d kernels, %d proxies", o, len(r.Members), len(r.Kernels), len(r.Proxies))
			}
			if o.API >= 0 && int(o.API) >= len(r.APIs) || o.Launch >= 0 && int(o.Launch) >= len(r.Launch) {
				t.Fatalf("operation %+v", o)
			}
			for k := o.KernelFrom; k < o.KernelTo; k++ {
				if r.Kernels[k].Op != int32(i) {
					t.Fatalf("kernel %d of operation %d is of operation %d", k, i, r.Kernels[k].Op)
				}
			}
			r.Extent(o)
		}
		for i := range r.Proxies {
			if p := &r.Proxies[i]; p.Op != operation.None && int(p.Op) >= len(r.Ops) {
				t.Fatalf("proxy operation %+v", p)
			}
		}
	})
}
