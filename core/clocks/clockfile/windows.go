package clockfile

import (
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// Windows is the probe file of one node: per window, the line fitted through the stamps to each peer.
type Windows struct {
	Node  int // from the meta line, the rows, or the digits after the last "node" of the file name
	Meta  NodeMeta
	Rows  []Window
	Alpha alphaForm
}

// Window is one probe window of a node. Instants are ns of that node's own wall clock.
type Window struct {
	Node       int
	WindowID   int64
	RoundID    int64
	FromNS     int64
	ToNS       int64
	Edges      []Edge
	nodeInLine bool
}

// Edge is the clock of a peer as a window saw it: theta(t) = BetaNS + Alpha*(t - an instant in the window), theta being the
// peer's clock minus this node's.
type Edge struct {
	Dst    int
	Alpha  float64 // drift as a fraction (1e-6 = 1 ppm), whatever the file's convention
	BetaNS float64
	Pairs  int64 // probes behind the fit
	Lost   int64
}

// alphaForm says how a file writes alpha.
type alphaForm string

// The two conventions, their mixture, and a file without any non-zero alpha.
const (
	alphaNone  alphaForm = ""
	alphaDrift alphaForm = "drift" // about 0.0000023
	alphaRatio alphaForm = "ratio" // about 1.0000023
	alphaMixed alphaForm = "mixed"
)

// alphaDrift returns alpha as a drift fraction and books which convention was seen.
func (a *alphaForm) alphaDrift(v float64) (float64, error) {
	form := alphaDrift
	switch {
	case v == 0:
		return 0, nil
	case math.Abs(v-1) < 0.01:
		v, form = v-1, alphaRatio
	case math.Abs(v) >= 0.01:
		return 0, fmt.Errorf("alpha %g is neither a drift (near 0) nor a ratio of rates (near 1)", v)
	}
	if *a == alphaNone {
		*a = form
	} else if *a != form {
		*a = alphaMixed
	}
	return v, nil
}

func (f *File) window(b []byte, line int) error {
	w := Window{Node: -1}
	have := 0
	alpha := f.Windows.Alpha
	err := object(b, func(key, value []byte) error {
		var err error
		switch string(key) {
		case "window_start_ns":
			w.FromNS, err = instant(value)
			have |= 1
		case "window_end_ns":
			w.ToNS, err = instant(value)
			have |= 2
		case "window_id":
			w.WindowID, _, err = integer(value)
		case "round_id":
			w.RoundID, _, err = integer(value)
			have |= 4
		case "node_id":
			w.Node, err = nodeID(value)
			w.nodeInLine = true
		case "edges":
			err = array(value, func(v []byte) error {
				if len(w.Edges) >= maxEdges {
					return fmt.Errorf("more than %d edges", maxEdges)
				}
				e, err := edge(v, &alpha)
				w.Edges = append(w.Edges, e)
				return err
			})
		}
		return err
	})
	if err != nil {
		return err
	}
	if have&3 != 3 {
		return fmt.Errorf("a probe window needs window_start_ns and window_end_ns")
	}
	if w.ToNS < w.FromNS {
		return fmt.Errorf("the window ends %d ns before it starts", w.FromNS-w.ToNS)
	}
	if have&4 == 0 {
		w.RoundID = -1
	}
	f.edges += len(w.Edges)
	f.Windows.Alpha = alpha
	f.Windows.Rows = append(f.Windows.Rows, w)
	return nil
}

func edge(b []byte, form *alphaForm) (Edge, error) {
	e := Edge{Dst: -1}
	err := object(b, func(key, value []byte) error {
		var err error
		switch string(key) {
		case "dst":
			e.Dst, err = nodeID(value)
		case "alpha":
			if e.Alpha, err = float(value); err == nil {
				e.Alpha, err = form.alphaDrift(e.Alpha)
			}
		case "beta", "beta_ns":
			e.BetaNS, err = float(value)
		case "pairs":
			e.Pairs, _, err = integer(value)
		case "lost":
			e.Lost, _, err = integer(value)
		}
		return err
	})
	if err == nil && e.Dst < 0 {
		err = fmt.Errorf("an edge needs dst")
	}
	if err == nil && (math.Abs(e.BetaNS) > 4e18 || e.Pairs < 0) {
		err = fmt.Errorf("edge to %d is out of range (beta %g ns, %d pairs)", e.Dst, e.BetaNS, e.Pairs)
	}
	return e, err
}

// nodeMeta keeps the meta line of one node. Which kind of file it heads is decided by the records that follow.
func (f *File) nodeMeta(b []byte) error {
	m, err := parseNodeMeta(b)
	if err != nil {
		return err
	}
	f.metas = append(f.metas, m)
	p, err := parseProber(b)
	if p.Hostname != "" || p.Ranks != nil {
		p.Node = m.Node
		f.Probers = append(f.Probers, p)
	}
	return err
}

// maxHostname is how long the name of a host may be.
const maxHostname = 255

func parseProber(b []byte) (p Prober, err error) {
	total := 0
	err = object(b, func(key, value []byte) error {
		switch string(key) {
		case "hostname":
			if p.Hostname = string(unquote(value)); len(p.Hostname) > maxHostname {
				return fmt.Errorf("a host name of %d bytes, at most %d", len(p.Hostname), maxHostname)
			}
		case "ranks":
			p.Ranks = [][]int{}
			return array(value, func(of []byte) error {
				ranks := []int{}
				err := array(of, func(one []byte) error {
					r, err := nodeID(one)
					ranks = append(ranks, r)
					if total++; total > maxEdges && err == nil {
						err = fmt.Errorf("more than %d ranks", maxEdges)
					}
					return err
				})
				p.Ranks = append(p.Ranks, ranks)
				return err
			})
		}
		return nil
	})
	return p, err
}

func parseNodeMeta(b []byte) (NodeMeta, error) {
	m := NodeMeta{Node: -1}
	err := object(b, func(key, value []byte) error {
		var err error
		switch string(key) {
		case "node_id":
			m.Node, err = nodeID(value)
		case "start_walltime_ns":
			m.StartWalltimeNS, _, err = integer(value)
		case "start_gpu_ns":
			m.StartTracerNS, _, err = integer(value)
		}
		return err
	})
	if err == nil && m.Node < 0 {
		err = fmt.Errorf("the meta line has no node_id")
	}
	return m, err
}

// finish settles which node the file belongs to: every row must agree.
func (w *Windows) finish(f *File) error {
	for _, m := range f.metas {
		if w.Node >= 0 && w.Node != m.Node {
			return fault.Formatf(f.Path, fault.Unknown, "holds the meta lines of node %d and of node %d", w.Node, m.Node).WithHint("one node a file")
		}
		w.Node, w.Meta = m.Node, m
	}
	if w.Node < 0 {
		for i := range w.Rows {
			if w.Rows[i].nodeInLine {
				w.Node = w.Rows[i].Node
				break
			}
		}
	}
	if w.Node < 0 {
		n, ok := nodeOfName(f.Path)
		if !ok {
			return fault.Formatf(f.Path, fault.Unknown, "probe windows of an unknown node: no node_id inside and no node<N> in the file name").
				WithHint("rename the file to probe_windows_node<N>.jsonl")
		}
		w.Node = n
		f.warnf("node %d is taken from the file name", n)
	}
	for i := range w.Rows {
		r := &w.Rows[i]
		if r.nodeInLine && r.Node != w.Node {
			return fault.Formatf(f.Path, fault.Unknown, "holds probe windows of node %d and of node %d", w.Node, r.Node).WithHint("one node a file")
		}
		r.Node = w.Node
	}
	if w.Alpha != alphaNone {
		f.warnf("alpha is written as %s", describeAlpha(w.Alpha))
	}
	return nil
}

func describeAlpha(a alphaForm) string {
	switch a {
	case alphaRatio:
		return "a ratio of rates (about 1)"
	case alphaMixed:
		return "a ratio of rates in some lines and as a drift in others"
	}
	return "a drift (about 0)"
}

// nodeOfName returns the number after the last "node" of a file name.
func nodeOfName(p string) (int, bool) {
	name := path.Base(strings.ReplaceAll(p, "\\", "/"))
	i := strings.LastIndex(name, "node")
	if i < 0 {
		return 0, false
	}
	rest := strings.TrimLeft(name[i+4:], "_-")
	n, digits := 0, 0
	for _, c := range []byte(rest) {
		if c < '0' || c > '9' || n > MaxNode {
			break
		}
		n = n*10 + int(c-'0')
		digits++
	}
	return n, digits > 0 && n <= MaxNode
}
