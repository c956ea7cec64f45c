package hlo

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/event"
)

func read(t testing.TB, b []byte) (*Module, error) {
	t.Helper()
	src, err := file.FromBytes("module.hlo", b)
	if err != nil {
		t.Skip("looks compressed and is not")
	}
	defer src.Close()
	return Read(context.Background(), src, 0, src.Size())
}

func mustRead(t testing.TB, b []byte) *Module {
	t.Helper()
	m, err := read(t, b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// protosOf finds the HLO protos of an XSpace: bytes stats of the event metadata of /host:metadata, by metadata name.
func protosOf(t testing.TB, path string) map[string][]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	sub := func(b []byte, want protowire.Number) (found [][]byte) {
		if err := eachField(b, func(num protowire.Number, typ protowire.Type, _ uint64, body []byte) error {
			if num == want && typ == protowire.BytesType {
				found = append(found, body)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, plane := range sub(b, 1) {
		if name := sub(plane, 2); len(name) == 0 || string(name[0]) != "/host:metadata" {
			continue
		}
		for _, entry := range sub(plane, 4) {
			for _, meta := range sub(entry, 2) {
				for _, stat := range sub(meta, 5) {
					for _, proto := range sub(stat, 6) {
						out[string(bytes.Join(sub(meta, 2), nil))] = proto
					}
				}
			}
		}
	}
	return out
}

func describe(m *Module) string {
	var b strings.Builder
	for i := range m.Ops {
		o := &m.Ops[i]
		members, err := m.Members(o)
		transfers, err2 := m.Transfers(o)
		fmt.Fprintf(&b, "%s %s %v phase %d channel %d members %v %v transfers %v %v\n", o.Name, o.Opcode, o.Kind, o.Phase, o.ChannelID,
			members, err, transfers, err2)
	}
	return b.String()
}

func TestRealModulesOfJAXOnCPU(t *testing.T) {
	protos := protosOf(t, filetest.Data(t, "jax_skew/p4/node0.xplane.pb"))
	want := map[string]string{
		"jit_allreduce_step(0)":      "psum_invariant.7 all-reduce all-reduce phase 0 channel 1 members [[0 1 2 3]] <nil> transfers [] <nil>\n",
		"jit_reduce_scatter_step(4)": "reduce_scatter.7 reduce-scatter reduce-scatter phase 0 channel 1 members [[0 1 2 3]] <nil> transfers [] <nil>\n",
		"jit_allgather_step(2)":      "all_gather.7 all-gather all-gather phase 0 channel 1 members [[0 1 2 3]] <nil> transfers [] <nil>\n",
		"jit__identity_fn(8)":        "all-gather all-gather all-gather phase 0 channel 1 members [[0 1 2 3]] <nil> transfers [] <nil>\n",
		"jit_permute_step(6)": "ppermute.3 collective-permute permute phase 0 channel 1 members [] <nil> " +
			"transfers [{0 1} {1 2} {2 3} {3 0}] <nil>\n",
	}
	for name, w := range want {
		m := mustRead(t, protos[name])
		if got := describe(m); got != w {
			t.Errorf("%s:\ngot  %swant %s", name, got, w)
		}
		if want := []int64{0, 2048, 4096, 6144}; !slices.Equal(m.Devices, want) || m.Replicas != 1 || m.Partitions != 4 {
			t.Errorf("%s: %d replicas, %d partitions, devices %v, want %v", name, m.Replicas, m.Partitions, m.Devices, want)
		}
		if p, ok := m.participant(4096); !ok || p != 2 {
			t.Errorf("%s: device 4096 is participant %d, %v", name, p, ok)
		}
		if base := m.Name + "("; !strings.HasPrefix(name, base) {
			t.Errorf("module name %q in %q", m.Name, name)
		}
	}
}

func TestRealModuleOfTPUHasIotaGroups(t *testing.T) {
	protos := protosOf(t, filetest.Data(t, "xplane/openxla+xprof__2cc1243__tpu_inference_2.xplane.pb"))
	m := mustRead(t, protos["jit__psum(9646411105960254074)"])
	want := "all-reduce all-reduce all-reduce phase 0 channel 1 members [[0 4] [1 5] [2 6] [3 7]] <nil> transfers [] <nil>\n"
	if got := describe(m); got != want {
		t.Errorf("got %s want %s", got, want)
	}
	if other := mustRead(t, protos["jit_f(12190760917235803885)"]); len(other.Ops) != 0 {
		t.Errorf("jit_f has no collective, got %s", describe(other))
	}
}

func TestEveryRealModuleIsReadAndSameProgramsHaveTheSameFingerprint(t *testing.T) {
	n := 0
	for _, path := range filetest.Glob(t, "xplane/*.xplane.pb") {
		if strings.Contains(path, "60203f9") {
			continue // re-encoded as UTF-8: not a protobuf at all
		}
		for name, p := range protosOf(t, path) {
			if m := mustRead(t, p); len(m.Warnings) > 0 || m.Name == "" {
				t.Errorf("%s: %q %v", name, m.Name, m.Warnings)
			}
			n++
		}
	}
	if n < 40 {
		t.Errorf("read %d modules, want at least 40", n)
	}
	a := protosOf(t, filetest.Data(t, "jax_skew/p4/node0.xplane.pb"))
	b := protosOf(t, filetest.Data(t, "jax_skew/p4/node3.xplane.pb"))
	seen := map[uint64]string{}
	for name := range a {
		fa, fb := mustRead(t, a[name]).Fingerprint, mustRead(t, b[name]).Fingerprint
		if fa != fb {
			t.Errorf("%s: fingerprints %x and %x on two nodes", name, fa, fb)
		}
		if was, ok := seen[fa]; ok {
			t.Errorf("%s and %s share a fingerprint", name, was)
		}
		seen[fa] = name
	}
}

func TestNamesThatOnlyLookLikeCollectives(t *testing.T) {
	for name, want := range map[string]string{
		"all-reduce.17": "all-reduce", "%all-reduce": "all-reduce", "all-gather-start.3": "all-gather-start", "recv-done": "recv-done",
		"collective-permute.2.clone": "collective-permute", "loop_reduce_fusion.3": "", "reduce.5": "", "all-reduce-fusion.1": "",
		"scatter.1": "", "gather": "", "psum_invariant.7": "", "": "", ".7": "", "all-reduce.x": "",
	} {
		got, ok := OpcodeInName(name)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: got %q %v, want %q", name, got, ok, want)
		}
	}
}

// twin expands an iota list the slow way: every id is placed by its coordinates.
func twin(l *iotaList) [][]int64 {
	n := int64(1)
	for _, d := range l.dims {
		n *= d
	}
	flat := make([]int64, n)
	for id := int64(0); id < n; id++ {
		coord := make([]int64, len(l.dims))
		rest := id
		for d := len(l.dims) - 1; d >= 0; d-- {
			coord[d] = rest % l.dims[d]
			rest /= l.dims[d]
		}
		at := int64(0)
		for _, d := range l.perm {
			at = at*l.dims[d] + coord[d]
		}
		flat[at] = id
	}
	var out [][]int64
	for i := int64(0); i < n; i += l.perGroup {
		out = append(out, flat[i:i+l.perGroup])
	}
	return out
}

func TestIotaGroupsEqualTheSlowTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		l := &iotaList{perGroup: 1}
		n := int64(1)
		for range 1 + r.IntN(4) {
			d := 1 + r.Int64N(5)
			l.dims = append(l.dims, d)
			n *= d
			if r.IntN(2) == 0 {
				l.perGroup *= d
			}
		}
		for _, p := range r.Perm(len(l.dims)) {
			l.perm = append(l.perm, int64(p))
		}
		l.groups = n / l.perGroup
		got, err := l.expand()
		if want := twin(l); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%+v: got %v %v, want %v", *l, got, err, want)
		}
	}
}

func TestMeshGroups(t *testing.T) {
	for name, c := range map[string]struct {
		mesh meshList
		want string
	}{
		"one axis":       {meshList{sizes: []int64{4}, axes: []axisRef{{index: 0}}}, "[[0 1 2 3]]"},
		"major axis":     {meshList{sizes: []int64{2, 3}, axes: []axisRef{{index: 0}}}, "[[0 3] [1 4] [2 5]]"},
		"minor axis":     {meshList{sizes: []int64{2, 3}, axes: []axisRef{{index: 1}}}, "[[0 1 2] [3 4 5]]"},
		"both, swapped":  {meshList{sizes: []int64{2, 3}, axes: []axisRef{{index: 1}, {index: 0}}}, "[[0 3 1 4 2 5]]"},
		"device order":   {meshList{sizes: []int64{2, 2}, devices: []int64{3, 1, 2, 0}, axes: []axisRef{{index: 1}}}, "[[3 1] [2 0]]"},
		"outer sub-axis": {meshList{sizes: []int64{8}, axes: []axisRef{{index: 0, pre: 1, size: 2}}}, "[[0 4] [1 5] [2 6] [3 7]]"},
		"inner sub-axis": {meshList{sizes: []int64{8}, axes: []axisRef{{index: 0, pre: 4, size: 2}}}, "[[0 1] [2 3] [4 5] [6 7]]"},
		"middle":         {meshList{sizes: []int64{8}, axes: []axisRef{{index: 0, pre: 2, size: 2}}}, "[[0 2] [1 3] [4 6] [5 7]]"},
		"no axis":        {meshList{sizes: []int64{3}}, "[[0] [1] [2]]"},
	} {
		got, err := c.mesh.expand()
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: got %v %v, want %s", name, got, err, c.want)
		}
	}
	for name, m := range map[string]meshList{
		"axis out of range": {sizes: []int64{4}, axes: []axisRef{{index: 1}}},
		"negative axis":     {sizes: []int64{4}, axes: []axisRef{{index: -1}}},
		"sub-axis too big":  {sizes: []int64{4}, axes: []axisRef{{index: 0, pre: 4, size: 2}}},
		"overflow":          {sizes: []int64{4}, axes: []axisRef{{index: 0, pre: 1 << 62, size: 4}}},
		"overlap":           {sizes: []int64{12}, axes: []axisRef{{index: 0, pre: 2, size: 2}, {index: 0, pre: 3, size: 2}}},
		"twice":             {sizes: []int64{4}, axes: []axisRef{{index: 0}, {index: 0}}},
		"devices":           {sizes: []int64{4}, devices: []int64{1}},
		"zero":              {sizes: []int64{0}},
		"huge":              {sizes: []int64{1 << 40, 1 << 40}},
	} {
		if got, err := m.expand(); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
}

func TestWhatIdsMean(t *testing.T) {
	m := &Module{Replicas: 2, Partitions: 3}
	groups := func(lists ...[]int64) *Groups { return &Groups{explicit: lists} }
	for name, c := range map[string]struct {
		op      Op
		members string
		pairs   string
	}{
		"replicas":                {Op{Kind: event.AllReduce, Groups: groups([]int64{0, 1})}, "[[0 3] [1 4] [2 5]]", "[]"},
		"all replicas":            {Op{Kind: event.AllReduce}, "[[0 3] [1 4] [2 5]]", "[]"},
		"replicas and partitions": {Op{Kind: event.AllReduce, ChannelID: 1, Groups: groups([]int64{1}, []int64{0})}, "[[3 4 5] [0 1 2]]", "[]"},
		"partitions":              {Op{Kind: event.AllToAll, ChannelID: 1, Groups: groups([]int64{0, 2}, []int64{1})}, "[[0 2] [1] [3 5] [4]]", "[]"},
		"participants":            {Op{Kind: event.AllGather, ChannelID: 1, UseGlobalIDs: true, Groups: groups([]int64{0, 4})}, "[[0 4]]", "[]"},
		"everyone":                {Op{Kind: event.AllGather, ChannelID: 1, UseGlobalIDs: true}, "[]", "[]"},
		"permute partitions":      {Op{Kind: event.Permute, ChannelID: 1, Pairs: []Pair{{0, 2}}}, "[[0 1 2] [3 4 5]]", "[{0 2} {3 5}]"},
		"permute replicas":        {Op{Kind: event.Permute, Pairs: []Pair{{0, 1}}}, "[[0 3] [1 4] [2 5]]", "[{0 3} {1 4} {2 5}]"},
	} {
		members, err := m.Members(&c.op)
		if err != nil || fmt.Sprint(members) != c.members {
			t.Errorf("%s: members %v %v, want %s", name, members, err, c.members)
		}
		if pairs, err := m.Transfers(&c.op); err != nil || fmt.Sprint(pairs) != c.pairs {
			t.Errorf("%s: transfers %v %v, want %s", name, pairs, err, c.pairs)
		}
	}
	if _, err := m.Members(&Op{Kind: event.AllReduce, Groups: groups([]int64{2})}); err == nil {
		t.Error("replica 2 of 2: want an error")
	}
	if _, err := m.Transfers(&Op{Kind: event.Permute, Pairs: []Pair{{0, 2}}}); err == nil {
		t.Error("replica 2 of 2 as a target: want an error")
	}
	if got, err := (&Module{}).Members(&Op{Kind: event.AllReduce}); got != nil || err != nil {
		t.Errorf("nothing known: got %v %v, want everyone (nil)", got, err)
	}
}

func TestDamagedModulesAreTypedErrorsOrWarnings(t *testing.T) {
	protos := protosOf(t, filetest.Data(t, "jax_skew/p4/node0.xplane.pb"))
	for name, p := range protos {
		for cut := 0; cut < len(p); cut++ {
			m, err := read(t, p[:cut])
			if err != nil && !fault.Is(err, fault.Format) {
				t.Fatalf("%s cut at %d: got %v, want a format error", name, cut, err)
			}
			if err == nil {
				_ = describe(m)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, rel := range []string{"jax_skew/p4/node0.xplane.pb", "xplane/openxla+xprof__2cc1243__tpu_inference_2.xplane.pb"} {
		if _, err := os.Stat(filetest.Root() + "/" + rel); err == nil {
			for _, p := range protosOf(f, filetest.Root()+"/"+rel) {
				f.Add(p)
			}
		}
	}
	f.Add(encode(f, sample()))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := read(t, b)
		if err != nil {
			if k := fault.Of(err).Kind; k != fault.Format && k != fault.Limit {
				t.Fatalf("got %v (%s), want a format or limit error", err, k)
			}
			return
		}
		for i := range m.Ops {
			o := &m.Ops[i]
			if m.Op(o.Name) == nil && !strings.HasPrefix(o.Name, "%") {
				t.Errorf("op %q cannot be found", o.Name)
			}
			members, err := m.Members(o)
			for _, g := range members {
				for _, p := range g {
					if m.Replicas > 0 && (p < 0 || p >= int64(m.Replicas*m.Partitions)) {
						t.Fatalf("participant %d of %dx%d, %v", p, m.Replicas, m.Partitions, err)
					}
				}
			}
			_, _ = m.Transfers(o)
		}
	})
}

// participant returns the participant (replica*Partitions+partition) that runs on a global device id.
func (m *Module) participant(deviceID int64) (int64, bool) {
	for i, d := range m.Devices {
		if d == deviceID {
			return int64(i), true
		}
	}
	return 0, false
}
