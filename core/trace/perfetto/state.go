package perfetto

import (
	"strings"

	"github.com/prlx-go/prlx/core/trace/rows"
)

// Limits of what is kept of names.
const (
	maxTexts  = 256 << 20 // bytes
	maxTracks = 1 << 20
)

// sequence is the state of one sequence of packets: what it has interned, and its defaults.
type sequence struct {
	names, categories, keys, values, kernels, arguments map[uint64]string
	specs                                               map[uint64]spec
	contexts                                            map[uint64]int64 // pids
	track                                               uint64
	clock                                               uint32
	pid, tid                                            int64 // of the thread that writes it, in traces of Chrome
	thread                                              bool
}

// spec is a queue or a stage of GPUs.
type spec struct {
	name     string
	category uint64 // 2: it computes
}

// clear forgets what was interned.
func (s *sequence) clear() {
	s.names, s.categories, s.keys, s.values = map[uint64]string{}, map[uint64]string{}, map[uint64]string{}, map[uint64]string{}
	s.kernels, s.arguments, s.specs, s.contexts = map[uint64]string{}, map[uint64]string{}, map[uint64]spec{}, map[uint64]int64{}
	s.track, s.clock = 0, 0
}

// Fields of InternedData. The last two are an extension that CUDA's recorders write.
const (
	internedCategories, internedNames, internedKeys, internedValues = 1, 2, 3, 29
	internedContexts, internedSpecs                                 = 23, 24
)

// intern takes InternedData.
func (b *book) intern(s *sequence, data []byte) error {
	return each(data, func(f field) {
		var table map[uint64]string
		switch f.num {
		case internedCategories:
			table = s.categories
		case internedNames:
			table = s.names
		case internedKeys:
			table = s.keys
		case internedValues:
			table = s.values
		case internedContexts, internedSpecs:
			b.internGPU(s, f)
			return
		default:
			b.internKernel(s, f)
			return
		}
		iid, text := entry(f.b)
		table[iid] = b.text(text)
	})
}

// entry is an interned text: its number and itself.
func entry(b []byte) (iid uint64, text []byte) {
	_ = each(b, func(f field) {
		switch f.num {
		case 1:
			iid = f.v
		case 2:
			text = f.b
		}
	})
	return iid, text
}

// internGPU takes a context or a queue or stage.
func (b *book) internGPU(s *sequence, of field) {
	var iid, second, third uint64
	var name []byte
	_ = each(of.b, func(f field) {
		switch {
		case f.num == 1:
			iid = f.v
		case f.num == 2 && f.b != nil:
			name = f.b
		case f.num == 2:
			second = f.v
		case f.num == 4:
			third = f.v
		}
	})
	if of.num == internedContexts {
		s.contexts[iid] = int64(second)
		b.count(64)
		return
	}
	s.specs[iid] = spec{b.text(name), third}
}

// Extensions of InternedData: names of kernels, and of what a launch is told.
const (
	internedKernels   = 1000
	internedArguments = 1001
)

func (b *book) internKernel(s *sequence, f field) {
	switch f.num {
	case internedKernels:
		iid, text := entry(f.b)
		s.kernels[iid] = b.text(text)
	case internedArguments:
		iid, text := entry(f.b)
		s.arguments[iid] = b.text(text)
	}
}

// track is a TrackDescriptor.
type track struct {
	parent          uint64
	name            string
	pid, tid        int64
	process, thread bool
	counter         bool
	nth             int64 // among all tracks
	device          int64 // of the GPU that it stands for, -1 none
	uuid            uint64
	begun           int // slices so far
	open            []*slice
	owner           int64 // pid of the process above it
	resolved        int   // in which generation of descriptors device and owner were found
	lane            rows.Lane
}

// describe takes a TrackDescriptor.
func (b *book) describe(data []byte) error {
	var uuid uint64
	one := track{device: -1}
	err := each(data, func(f field) {
		switch f.num {
		case 1:
			uuid = f.v
		case 2, 10, 13:
			one.name = b.text(f.b)
		case 5:
			one.parent = f.v
		case 3:
			one.process = true
			one.pid, _, one.name = b.processOf(f.b, one.name)
		case 4:
			one.thread = true
			one.pid, one.tid, one.name = b.threadOf(f.b, one.name)
		case 8:
			one.counter = true
		}
	})
	if err != nil {
		return err
	}
	t := b.trackOf(uuid)
	if t == nil {
		return nil
	}
	one.nth, one.open, one.uuid, one.begun = t.nth, t.open, uuid, t.begun
	*t = one
	b.generation++ // what was derived from it is derived again
	if one.process && one.name != "" {
		b.names.Processes[one.pid] = one.name
	}
	return nil
}

// trackOf finds or begins a track; nil: there are too many.
func (b *book) trackOf(uuid uint64) *track {
	t := b.tracks[uuid]
	if t == nil && len(b.tracks) < maxTracks {
		t = &track{uuid: uuid, device: -1, nth: int64(len(b.order))}
		b.tracks[uuid] = t
		b.order = append(b.order, t)
	}
	return t
}

func (b *book) processOf(data []byte, name string) (pid, _ int64, _ string) {
	_ = each(data, func(f field) {
		switch f.num {
		case 1:
			pid = int64(int32(f.v))
		case 6:
			if name == "" {
				name = b.text(f.b)
			}
		}
	})
	return pid, 0, name
}

func (b *book) threadOf(data []byte, name string) (pid, tid int64, _ string) {
	_ = each(data, func(f field) {
		switch f.num {
		case 1:
			pid = int64(int32(f.v))
		case 2:
			tid = int64(f.v)
		case 5:
			if name == "" {
				name = b.text(f.b)
			}
		}
	})
	return pid, tid, name
}

// deviceOf is the number of the GPU that the name of a track or a process speaks of, -1 none: "GPU 0", "/device:GPU:1", and rocprofv3's
// "COMPUTE AGENT [4] STREAM [2] (GPU)".
func deviceOf(name string) int64 {
	if strings.HasSuffix(strings.TrimRight(name, " "), "(GPU)") {
		if _, rest, ok := strings.Cut(name, "["); ok {
			if n, ok := digits(rest); ok {
				return n
			}
		}
		return 0
	}
	for _, prefix := range []string{"/device:GPU:", "GPU "} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			if n, ok := digits(rest); ok {
				return n
			}
		}
	}
	return -1
}

// digits reads the number that a text begins with.
func digits(text string) (n int64, ok bool) {
	for i := 0; i < len(text) && i < 9 && text[i]-'0' <= 9; i++ {
		n, ok = n*10+int64(text[i]-'0'), true
	}
	return n, ok
}

// processes takes a ProcessTree: names.
func (b *book) processes(data []byte) error {
	return each(data, func(f field) {
		var id, owner int64
		var name []byte
		_ = each(f.b, func(g field) {
			switch {
			case g.num == 1:
				id = int64(int32(g.v))
			case g.b != nil && name == nil:
				name = g.b
			case g.num == 3:
				owner = int64(int32(g.v))
			}
		})
		switch {
		case len(name) == 0:
		case f.num == 1:
			b.names.Processes[id] = b.text(name)
		case f.num == 2:
			b.threads[[2]int64{owner, id}] = b.text(name)
		}
	})
}
