package combine

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/lazyregexp"
	"github.com/prlx-go/prlx/core/trace/formats"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Found is what a list of arguments stands for: traces, and clock files that lay in directories beside them.
type Found struct {
	Traces    []Input
	Beside    []Input // recordings of libraries that lie beside the traces of profilers in directories; alone they are the traces
	Probes    []string
	Offsets   []string
	Declared  []string
	Snapshots []Input
	Notes     []string // what was chosen and what was passed over, one sentence each

	seen []seenFile // of directories: what was met beside the traces
	root string     // the directory that all arguments share
}

// maxFiles bounds how many files of directories are looked at.
const maxFiles = 100_000

var idPath = lazyregexp.New(`^([A-Za-z0-9_.:-]+)=(.+)$`)

// Discover expands arguments: ID=PATH, files, globs, directories. A directory is a log directory (plugins/profile: its latest run
// is taken), or holds traces, or holds directories that do. Formats are told by content.
func Discover(ctx context.Context, args []Input) (*Found, error) {
	f := &Found{}
	w := &walker{ctx: ctx, found: f}
	for _, arg := range args {
		if arg.ID == "" {
			arg = splitID(arg.Path)
		}
		if err := w.argument(arg.ID, arg.Path); err != nil {
			return nil, err
		}
		w.args = append(w.args, arg.Path)
	}
	f.root = w.root()
	if len(f.Traces) == 0 {
		return nil, fault.Usagef("no traces are named").WithHint("name .xplane.pb or Chrome JSON files, or directories that hold them")
	}
	return f, nil
}

// splitID splits ID=PATH; a path that exists as it is written stays whole.
func splitID(arg string) Input {
	if _, err := os.Lstat(arg); err != nil {
		if m := idPath.FindStringSubmatch(arg); m != nil {
			return Input{ID: m[1], Path: m[2]}
		}
	}
	return Input{Path: arg}
}

// AddClockFiles fills the request's clock files with those found beside the traces, unless the request names any itself.
func (r *Request) AddClockFiles(ctx context.Context, f *Found) error {
	if !r.applies() || r.Offsets != "" || len(r.Probes) > 0 || r.Declared != "" {
		return nil
	}
	note := func(what string, paths ...string) {
		for i := range paths {
			paths[i] = filepath.Base(paths[i])
		}
		shown := strings.Join(paths[:min(4, len(paths))], ", ")
		if len(paths) > 4 {
			shown += fmt.Sprintf(" and %d more", len(paths)-4)
		}
		f.Notes = append(f.Notes, fmt.Sprintf("%s found beside the traces: %s", what, shown))
	}
	if len(f.Offsets)+len(f.Probes)+len(f.Declared) == 0 {
		r.Nearby = nearby(ctx, f.Traces)
	}
	switch {
	case len(f.Offsets) > 1 || len(f.Offsets) == 0 && len(f.Probes) == 0 && len(f.Declared) > 1:
		return fault.New(fault.Incompatible, "several files state offsets: %s", strings.Join(append(f.Offsets, f.Declared...), ", ")).WithHint("pick one with --offsets or --declared")
	case len(f.Offsets) == 1:
		r.Offsets = f.Offsets[0]
		note("round offsets", f.Offsets[0])
	case len(f.Probes) > 0:
		r.Probes = f.Probes
		note("probes", slices.Clone(f.Probes)...)
	case len(f.Declared) == 1:
		r.Declared = f.Declared[0]
		note("declared offsets", f.Declared[0])
	}
	if len(r.Snapshots) == 0 {
		r.Snapshots = f.Snapshots
	}
	return nil
}

type walker struct {
	ctx   context.Context
	found *Found
	files int
	args  []string // what was named
}

// root is the directory that all arguments share.
func (w *walker) root() string {
	dirs := make([]string, 0, len(w.args))
	for _, p := range w.args {
		if st, err := os.Stat(p); err != nil || !st.IsDir() {
			p = filepath.Dir(p)
		}
		dirs = append(dirs, filepath.Clean(p))
	}
	return commonDir(dirs)
}

func (w *walker) argument(id, path string) error {
	st, err := os.Stat(path)
	if err != nil && path != "-" {
		if strings.ContainsAny(path, "*?[") {
			return w.glob(id, path)
		}
		return fault.FromIO(path, err)
	}
	if path == "-" || !st.IsDir() {
		w.found.Traces = append(w.found.Traces, Input{ID: id, Path: path})
		return nil
	}
	before := len(w.found.Traces)
	if err := w.directory(path, 0); err != nil {
		return err
	}
	n := len(w.found.Traces) - before
	switch {
	case n == 0:
		return fault.New(fault.IO, "no traces in this directory").WithPath(path).WithHint("expected .xplane.pb or Chrome JSON files, or directories that hold them")
	case id != "" && n > 1:
		return fault.New(fault.Incompatible, "%q stands for one node, and this directory holds %d traces", id, n).WithPath(path).WithHint("name the files one by one")
	case id != "":
		w.found.Traces[before].ID = id
	}
	return nil
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

func (w *walker) glob(id, pattern string) error {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return fault.Usagef("%q is not a glob pattern: %v", pattern, err)
	}
	if len(paths) == 0 {
		return fault.New(fault.IO, "nothing matches this pattern").WithPath(pattern)
	}
	if id != "" && len(paths) > 1 {
		return fault.New(fault.Incompatible, "%q stands for one node, and %q matches %d files", id, pattern, len(paths))
	}
	for _, p := range paths {
		if err := w.argument(id, p); err != nil {
			return err
		}
	}
	return nil
}

// directory takes the traces of one directory.
func (w *walker) directory(dir string, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return fault.FromIO(dir, err)
	}
	if run, n := latestRun(dir); run != "" {
		if n > 1 {
			w.note("%s holds %d runs: the latest, %s, is taken", filepath.Base(dir), n, filepath.Base(run))
			w.earlierRuns(run)
		}
		dir = run
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fault.FromIO(dir, err)
	}
	traces, dirs := byFormat{}, []string(nil)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		st, err := os.Stat(path)
		switch {
		case err == nil && st.IsDir() && isOurs(path):
			w.spare(path, "an output of prlx")
		case err == nil && st.IsDir() && !strings.HasPrefix(e.Name(), "."):
			dirs = append(dirs, path)
		default:
			if err := w.file(traces, path, st, err); err != nil {
				return err
			}
		}
	}
	w.passOverOurs(traces)
	w.take(dir, traces)
	if len(traces) > 0 || depth >= 4 {
		for _, d := range dirs {
			w.spare(d, "a directory beside traces, not looked into")
		}
		if len(dirs) > 0 {
			w.note("%s: %d directories inside it are not looked into; name them to use them", filepath.Base(dir), len(dirs))
		}
		return nil
	}
	before := len(w.found.Traces)
	for _, d := range dirs {
		if err := w.directory(d, depth+1); err != nil {
			return err
		}
	}
	if len(w.found.Traces) == before {
		w.see(dir, "a directory without a trace").dir = true
	}
	return nil
}

// file takes a file of a directory, or notes why it is not taken.
func (w *walker) file(traces byFormat, path string, st os.FileInfo, missing error) error {
	switch {
	case strings.HasPrefix(filepath.Base(path), "."):
		w.spare(path, "hidden")
		return nil
	case missing != nil: // a dangling link
		if !traces.addByName(path) {
			w.see(path, fault.Of(fault.FromIO(path, missing)).Msg)
		}
		return nil
	}
	if w.files++; w.files > maxFiles {
		return fault.New(fault.Limit, "more than %d files to look at", maxFiles).WithPath(filepath.Dir(path)).WithHint("name the traces themselves")
	}
	switch c := classify(w.ctx, path, st); {
	case c.trace != nil:
		traces.add(c.trace, path)
	case c.clocks != "":
		w.clockFile(path, c.clocks)
		w.see(path, "").spare = true // unless it is used
	case traces.addByName(path):
	default:
		s := w.see(path, c.why)
		s.broken, s.spare = c.broken, c.kind == format.Document || !st.Mode().IsRegular()
	}
	return nil
}

// spare notes what holds no trace, whatever its name.
func (w *walker) spare(path, why string) { w.see(path, why).spare = true }

// byFormat are the traces of a directory, by their format.
type byFormat map[*source.Format][]string

func (b byFormat) add(f *source.Format, path string) { b[f] = append(b[f], path) }

// addByName adds a file that is called a trace but does not look like one: empty, unreadable, damaged from its first byte. Reading it
// says what is wrong, where passing it over would lose a node in silence.
func (b byFormat) addByName(path string) bool {
	f := formats.Named(filepath.Base(path))
	if f != nil {
		b.add(f, path)
	}
	return f != nil
}

// passOverOurs leaves out files that combine or align wrote beside the traces they were made of. Where there is nothing else they
// are what is meant.
func (w *walker) passOverOurs(traces byFormat) {
	var ours []string
	left := byFormat{}
	for _, f := range formats.Table {
		for _, path := range traces[f] {
			if _, err := os.Stat(path + ".alignment.json"); err == nil {
				ours = append(ours, path)
			} else {
				left.add(f, path)
			}
		}
	}
	if len(left) == 0 || len(ours) == 0 {
		return
	}
	clear(traces)
	maps.Copy(traces, left)
	names := make([]string, len(ours))
	for i, path := range ours {
		names[i] = filepath.Base(path)
		w.spare(path, "an output of prlx")
	}
	w.note("written by prlx, and so passed over: %s", strings.Join(names, ", "))
}

// take takes the traces of the first format of the table that has any, and beside them recordings of libraries, which come last in the table.
func (w *walker) take(dir string, traces byFormat) {
	var taken *source.Format
	for _, f := range formats.Table {
		switch n := len(traces[f]); {
		case n == 0:
		case taken == nil:
			taken = f
		case f.Beside:
			for _, p := range traces[f] {
				w.found.Beside = append(w.found.Beside, Input{Path: p})
			}
		default:
			for _, p := range traces[f] {
				w.see(p, f.Title+" beside "+taken.Title)
			}
			w.note("%s: %d %s files beside the %s files are not used; name them to use them", filepath.Base(dir), n, f.Title, taken.Title)
		}
	}
	for _, p := range w.lastCycles(dir, traces[taken]) {
		w.found.Traces = append(w.found.Traces, Input{Path: p})
	}
}

// cycleName is the name that torch.profiler's handler for TensorBoard gives a trace: the worker, and when the cycle of the schedule ended.
var cycleName = lazyregexp.New(`^(.+)\.(\d{13,19})\.pt\.trace\.json(?:\.gz|\.zst)?$`)

// lastCycles leaves out traces of earlier cycles of the same worker, as the earlier runs of a log directory are: a schedule that repeats
// writes a file for each.
func (w *walker) lastCycles(dir string, paths []string) []string {
	last, cycles := map[string]string{}, map[string]int{}
	parts := make([][]string, len(paths))
	for i, p := range paths {
		m := cycleName.FindStringSubmatch(filepath.Base(p))
		if parts[i] = m; m == nil {
			continue
		}
		cycles[m[1]]++
		if l := last[m[1]]; len(m[2]) > len(l) || len(m[2]) == len(l) && m[2] > l {
			last[m[1]] = m[2]
		}
	}
	var kept []string
	for i, p := range paths {
		if m := parts[i]; m == nil || m[2] == last[m[1]] {
			kept = append(kept, p)
			continue
		}
		w.spare(p, "an earlier cycle of its worker")
	}
	if len(kept) < len(paths) {
		w.note("%s: the last cycle of each worker is taken, and %d traces of earlier cycles are not; name them to use them", filepath.Base(dir), len(paths)-len(kept))
		if counts := slices.Compact(slices.Sorted(maps.Values(cycles))); len(counts) > 1 {
			w.note("%s: workers have from %d to %d cycles, so their last ones need not be of the same steps", filepath.Base(dir), counts[0], counts[len(counts)-1])
		}
	}
	return kept
}

func (w *walker) note(format string, args ...any) {
	w.found.Notes = append(w.found.Notes, fmt.Sprintf(format, args...))
}

func (w *walker) clockFile(path string, kind clockfile.Kind) {
	switch kind {
	case clockfile.KindStamps, clockfile.KindWindows:
		w.found.Probes = append(w.found.Probes, path)
	case clockfile.KindRounds:
		w.found.Offsets = append(w.found.Offsets, path)
	case clockfile.KindDeclared:
		w.found.Declared = append(w.found.Declared, path)
	case clockfile.KindSnapshots:
		w.found.Snapshots = append(w.found.Snapshots, Input{Path: path})
	}
}

// latestRun returns the newest run of a log directory, by name (profilers name runs by their time), and how many there are.
func latestRun(dir string) (run string, n int) {
	root := filepath.Join(dir, "plugins", "profile")
	entries, err := os.ReadDir(root)
	if err != nil {
		return "", 0
	}
	var runs []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !isOurs(filepath.Join(root, e.Name())) {
			runs = append(runs, e.Name())
		}
	}
	if len(runs) == 0 {
		return "", 0
	}
	sort.Strings(runs)
	return filepath.Join(root, runs[len(runs)-1]), len(runs)
}

// isOurs reports whether a directory is an output of combine.
func isOurs(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "alignment.json"))
	return err == nil
}

// earlierRuns notes the runs beside the latest.
func (w *walker) earlierRuns(latest string) {
	root := filepath.Dir(latest)
	entries, _ := os.ReadDir(root) // it was read before
	for _, e := range entries {
		if path := filepath.Join(root, e.Name()); path != latest {
			w.spare(path, "beside the latest run")
		}
	}
}

// classified is what a file in a directory is.
type classified struct {
	trace  *source.Format // of this format; nil: it is not a trace
	clocks clockfile.Kind // clock readings of this kind; "": none
	kind   format.Kind
	why    string // what it is, where it is neither
	broken bool   // it is called JSON, and is damaged
}

// classify tells what a file in a directory is by its first bytes: a trace, clock readings of some kind, or neither. JSON whose first bytes do
// not tell is read whole.
func classify(ctx context.Context, path string, st os.FileInfo) classified {
	called := calledJSON(path)
	switch {
	case !st.Mode().IsRegular():
		return classified{kind: format.Empty, why: "not a regular file"}
	case st.Size() == 0:
		return classified{kind: format.Empty, why: "empty", broken: called}
	}
	head, whole, err := file.Head(ctx, path, format.HeadBytes)
	switch {
	case err != nil:
		return classified{kind: format.Binary, why: fault.Of(err).Msg, broken: called}
	case len(head) == 0:
		return classified{kind: format.Empty, why: "empty", broken: called}
	}
	c := classified{kind: format.Of(head)}
	c.why = c.kind.String()
	if c.trace = formats.Of(head); c.trace != nil || c.kind.Known() && c.kind != format.PairsMessage && c.kind != format.ClockText {
		c.broken = c.kind == format.UTF16 && called
		return c
	}
	if c.clocks = clocksOf(ctx, path, head, whole); c.clocks != "" {
		return c
	}
	switch c.kind {
	case format.JSON:
		c.trace, err = formats.OfWhole(ctx, path, head)
		if c.broken = err != nil; c.broken {
			c.why = "damaged: " + fault.Of(err).Msg
		}
	case format.Text, format.Binary:
		c.broken = called
	}
	return c
}

// calledJSON reports whether a file is called JSON, compressed or not.
func calledJSON(path string) bool { return isJSON(strings.ToLower(path)) }

// clocksOf tells of which kind the clock readings are that a file holds, "" where it holds none.
func clocksOf(ctx context.Context, path string, head []byte, whole bool) clockfile.Kind {
	if !whole {
		cut := bytes.LastIndexByte(head, '\n')
		if cut < 0 {
			return ""
		}
		head = head[:cut+1]
	}
	src, err := file.FromBytes(path, head)
	if err != nil {
		return ""
	}
	if f, err := clockfile.Read(ctx, src); err == nil && (f.Kind != clockfile.KindDeclared || f.Declared != nil && len(f.Declared.Nodes) > 0) {
		return f.Kind
	}
	return ""
}
