package combine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/source"
)

// naming is the scheme by which planes of several nodes get names and ids in one XSpace.
type naming string

// The schemes. Viewer is ours and the only one that every viewer shows in full; the others are those of XLA's `trace_combiner`.
const (
	viewer   naming = "viewer"   // dense GPU ids 0..499, /host:CPU kept for the reference and suffixed for the others
	seed     naming = "document" // trace_alignment.md section 8: /device:GPU:{node*64+local}, /device:GPU:Host_Node_{id}
	tagged   naming = "tagged"   // /node:<n>/device:GPU:<local>, /node:<n>/host_threads, /node:<n>/clock_metadata
	rocmCode naming = "rocm"     // /device:GPU:{100+64n+local}, hosts at /device:GPU:{10000n}, the rest ..._misc_...
)

// parseNaming checks the name of a scheme.
func parseNaming(s string) (naming, error) {
	switch n := naming(s); n {
	case "":
		return viewer, nil
	case viewer, seed, tagged, rocmCode:
		return n, nil
	}
	return "", fault.Usagef("naming %q is not known", s).WithHint("choose one of viewer, document, tagged, rocm")
}

const (
	// maxViewerID is the largest plane id that trace_viewer@ shows in a process of its own: its pid is 1 + id, and pids above 500
	// collapse into 1.
	maxViewerID = 499
	gpuStride   = 64 // GPUs a node that the described schemes reserve

	hostCPU = "/host:CPU" // the plane of host threads
)

// named is the new name and id of a plane.
type named struct {
	name string
	id   int64
	keep bool // nothing changes
}

// namer gives names and ids to the planes of all nodes in order; it is used by one goroutine.
type namer struct {
	scheme  naming
	nextID  int64 // dense ids for devices
	extraID int64 // ids for planes that no viewer shows as a process of its own
	misc    int
	nodes   int // named so far
}

func newNamer(scheme naming) *namer { return &namer{scheme: scheme, extraID: 1000} }

// viewerID returns an id of its own for a plane that is added.
func (n *namer) viewerID() int64 {
	if n.scheme == viewer {
		n.nextID++
		return n.nextID - 1
	}
	return n.extra()
}

// plane names one plane. number is the node's position (0 for the reference), tag its padded id.
func (n *namer) plane(p *source.Process, number int, tag string) named {
	switch n.scheme {
	case seed:
		return n.seed(p, number)
	case tagged:
		return n.tagged(p, number)
	case rocmCode:
		return n.rocm(p, number)
	}
	return n.viewer(p, number, tag)
}

func (n *namer) viewer(p *source.Process, number int, tag string) named {
	if kind, _, ok := source.Device(p.Name); ok {
		id := n.nextID
		n.nextID++
		if kind == "CUSTOM" { // viewers number these by their order, and show the name
			return named{name: p.Name + suffix(number, tag), id: id}
		}
		return named{name: fmt.Sprintf("/device:%s:%d%s", kind, id, suffix(number, tag)), id: id}
	}
	id := n.extraID
	n.extraID++
	return named{name: p.Name + suffix(number, tag), id: id}
}

func suffix(number int, tag string) string {
	if number == 0 {
		return ""
	}
	return " " + tag
}

func (n *namer) seed(p *source.Process, number int) named {
	if kind, local, ok := source.Device(p.Name); ok {
		id := int64(number)*gpuStride + local
		return named{name: fmt.Sprintf("/device:%s:%d", kind, id), id: id}
	}
	if strings.HasPrefix(p.Name, hostCPU) {
		return named{name: fmt.Sprintf("/device:GPU:Host_Node_%d", number), id: n.extra()}
	}
	return n.unlessFirst(p, number)
}

func (n *namer) tagged(p *source.Process, number int) named {
	switch kind, local, ok := source.Device(p.Name); {
	case ok:
		return named{name: fmt.Sprintf("/node:%d/device:%s:%d", number, kind, local), id: int64(number)*gpuStride + local}
	case strings.HasPrefix(p.Name, hostCPU):
		return named{name: fmt.Sprintf("/node:%d/host_threads", number), id: n.extra()}
	case p.Name == "/host:snapshots":
		return named{name: fmt.Sprintf("/node:%d/clock_metadata", number), id: n.extra()}
	}
	return named{name: fmt.Sprintf("/node:%d/%s", number, strings.TrimPrefix(p.Name, "/")), id: n.extra()}
}

func (n *namer) rocm(p *source.Process, number int) named {
	if kind, local, ok := source.Device(p.Name); ok && kind == "GPU" {
		id := 100 + int64(number)*gpuStride + local
		return named{name: fmt.Sprintf("/device:GPU:%d", id), id: id}
	}
	if p.Name == hostCPU {
		if number == 0 {
			return named{keep: true, name: p.Name, id: p.ID}
		}
		return named{name: fmt.Sprintf("/device:GPU:%d", 10000*number), id: int64(10000 * number)}
	}
	k := n.misc
	n.misc++
	return named{name: fmt.Sprintf("/device:GPU:%d_misc_%s", 50000+100*number+k, strings.TrimPrefix(p.Name, "/")), id: int64(50000 + 100*number + k)}
}

func (n *namer) unlessFirst(p *source.Process, number int) named {
	if number == 0 {
		return named{keep: true, name: p.Name, id: p.ID}
	}
	return named{name: fmt.Sprintf("%s node%d", p.Name, number), id: n.extra()}
}

func (n *namer) extra() int64 {
	id := n.extraID
	n.extraID++
	return id
}

// tags returns the ids as the viewer's names carry them: numbers that differ in length are padded with zeros, because viewers
// sort host planes by name.
func tags(ids []identity) []string {
	width := 1
	for _, id := range ids {
		width = max(width, len(strconv.Itoa(max(id.Number, 0))))
	}
	out := make([]string, len(ids))
	for k, id := range ids {
		out[k] = id.ID
		if num := strconv.Itoa(id.Number); id.Number >= 0 && len(num) < width && strings.HasSuffix(id.ID, num) {
			out[k] = strings.TrimSuffix(id.ID, num) + strings.Repeat("0", width-len(num)) + num
		}
	}
	return out
}
