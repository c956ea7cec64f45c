package combine

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Format is what Run writes.
type Format string

// The formats.
const (
	FormatRun    Format = "run"    // a directory with one aligned XSpace a node, as XProf and TensorBoard open it
	FormatXPlane Format = "xplane" // one XSpace
	FormatChrome Format = "chrome" // one Chrome JSON, .gz by the output's name
)

// policy is what happens where clock data is missing.
type policy string

// The policies.
const (
	degrade policy = "degrade" // extrapolate with the fitted drift and growing bounds; the status says degraded
	hold    policy = "hold"    // hold the last offset (no drift) with growing bounds
	refuse  policy = "refuse"  // an error
)

// Request is what combine is asked for. The zero value of every field but Inputs is its default.
type Request struct {
	Inputs         []Input  `json:"inputs"`
	Output         string   `json:"output"`
	Format         Format   `json:"format"`
	Snapshots      []Input  `json:"snapshots"` // snapshot files; ID names the node, else the path does
	Offsets        string   `json:"offsets"`   // round offsets
	Probes         []string `json:"probes"`    // probe windows or raw stamps
	Declared       string   `json:"declared"`
	Method         string   `json:"method"` // auto, probes, declared, collectives, wall
	Policy         policy   `json:"policy"`
	RoundBoundNS   *int64   `json:"round_bound_ns"` // of round offsets that state no bound and are too few to scatter
	Reference      string   `json:"reference"`
	Naming         string   `json:"naming"`
	Timebase       string   `json:"timebase"`
	TimeRange      []*int64 `json:"time_range"` // two instants in ns, nil is open; below AbsoluteNS they count from the first event
	ApplyAlignment *bool    `json:"apply_alignment"`
	CorrectionStat bool     `json:"correction_stat"`
	BoundStat      bool     `json:"bound_stat"`
	DeviceClocks   string   `json:"device_clocks"`   // trust, check, correct
	SkipUnreadable bool     `json:"skip_unreadable"` // traces that cannot be read are left out
	Salvage        bool     `json:"salvage"`         // of traces that were cut, what is complete is read
	Explain        string   `json:"explain"`         // the node whose clock is explained, by id, number or host; "" none
	Repair         bool     `json:"repair"`          // move clocks within their bounds until no collective is in an impossible order
	Overwrite      bool     `json:"overwrite"`
	Report         string   `json:"report"` // HTML summary, which the caller writes
	Notes          []string `json:"-"`      // what the caller decided on the way, for the document's warnings
	Nearby         string   `json:"nearby"` // which clock files lie near the traces and are not used, and how to use them
	Files          *Ledger  `json:"files"`  // what became of what the arguments stand for; nil: nothing is known of others than the inputs
	Version        string   `json:"-"`      // of prlx, for the outputs' marks

	naming   naming
	timebase align.Timebase
}

// correctionStatName is the stat (XSpace) and arg (Chrome JSON) that carries an event's correction in ns.
const correctionStatName = "timestamp_correction_ns"

// boundStatName is the stat and arg that carries by how many ns the start or the end of an event can be off.
const boundStatName = "timestamp_bound_ns"

// maxSingleBytes is the largest XSpace that protobuf readers can parse.
const maxSingleBytes = int64(math.MaxInt32)

// normalize checks the request and fills in defaults.
func (r *Request) normalize() error {
	var err error
	if r.naming, err = parseNaming(r.Naming); err != nil {
		return err
	}
	switch r.Timebase {
	case "", "host":
		r.timebase = align.HostTime
	case "tracer":
		r.timebase = align.TracerTime
	default:
		return fault.Usagef("timebase %q is not known", r.Timebase).WithHint("choose host or tracer")
	}
	switch r.Policy {
	case "":
		r.Policy = degrade
	case degrade, hold, refuse:
	default:
		return fault.Usagef("policy %q is not known", r.Policy).WithHint("choose degrade, hold or refuse")
	}
	switch r.Method {
	case "":
		r.Method = "auto"
	case "auto", MethodProbes, MethodDeclared, methodCollectives, MethodWall:
	default:
		return fault.Usagef("method %q is not known", r.Method).WithHint("choose auto, probes, declared, collectives or wall")
	}
	if relates := r.Method != "auto" && r.Method != MethodWall; relates && !r.applies() {
		return fault.Usagef("method %s relates the clocks, and --no-align touches no time", r.Method).WithHint("leave one of them out")
	}
	switch r.Format {
	case "", FormatRun, FormatXPlane, FormatChrome:
	default:
		return fault.Usagef("format %q is not known", r.Format).WithHint("choose xplane, run or chrome")
	}
	switch r.DeviceClocks {
	case "":
		r.DeviceClocks = deviceClocksTrust
	case deviceClocksTrust, deviceClocksCheck, deviceClocksCorrect:
	default:
		return fault.Usagef("device_clocks %q is not known", r.DeviceClocks).WithHint("choose trust, check or correct")
	}
	if r.DeviceClocks == deviceClocksCorrect && !r.applies() {
		return fault.Usagef("device clocks cannot be corrected where no time is touched").WithHint("leave out --no-align, or choose --device-clocks check")
	}
	if b := r.RoundBoundNS; b != nil && *b <= 0 {
		return fault.Usagef("round_bound_ns is %d, expected more than 0: how far off a round offset can be, in ns", *b)
	}
	if n := len(r.TimeRange); n != 0 && n != 2 {
		return fault.Usagef("time_range has %d instants, want 2", n)
	}
	return nil
}

func (r *Request) loading() LoadOptions {
	return LoadOptions{SkipUnreadable: r.SkipUnreadable, Salvage: r.Salvage}
}

func (r *Request) applies() bool { return r.ApplyAlignment == nil || *r.ApplyAlignment }

// chooseFormat decides the format from the request, the output's name and the inputs.
func (r *Request) chooseFormat(nodes []*Node) (Format, error) {
	other, recordings := 0, 0 // inputs that cannot be re-timed in a format of their own; those that become XSpaces
	var titles []string
	for _, n := range nodes {
		if _, ok := n.Trace.(source.Accompanying); ok {
			recordings++
		} else if _, ok := n.Trace.(source.Retimer); !ok {
			other++
			if !slices.Contains(titles, n.format.Title) {
				titles = append(titles, n.format.Title)
			}
		}
	}
	f := r.Format
	if f == "" {
		switch name := strings.ToLower(r.Output); {
		case strings.HasSuffix(name, ".pb"):
			f = FormatXPlane
		case isJSON(name):
			f = FormatChrome
		case other > 0, recordings == len(nodes):
			f = FormatChrome
			r.addEnding()
		default:
			f = FormatRun
		}
	}
	if other > 0 && f != FormatChrome {
		return "", fault.Usagef("format %s holds XSpace only, and %d of %d inputs are %s", f, other, len(nodes), strings.Join(titles, " or ")).WithHint("use --format chrome, and a name that ends in .json, .json.gz or .json.zst")
	}
	return f, refuseOtherEnding(r.Output, f)
}

// refuseOtherEnding refuses the name of another format for what is written: viewers go by it.
func refuseOtherEnding(output string, f Format) error {
	switch name := strings.ToLower(output); {
	case f == FormatChrome && strings.HasSuffix(name, ".pb"):
		return fault.New(fault.Usage, "is the name of an XSpace, and JSON is written").WithPath(output).WithHint("end it in .json, .json.gz or .json.zst")
	case f == FormatRun && (strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".txt")):
		return fault.New(fault.Usage, "is the name of a report, and a run directory is written").WithPath(output).WithHint("name a directory; --report FILE.html writes a report")
	case f == FormatXPlane && isJSON(name):
		return fault.New(fault.Usage, "is the name of a JSON, and an XSpace is written").WithPath(output).WithHint("end it in .pb")
	}
	return nil
}

// isJSON reports whether a name is that of a JSON, compressed or not.
func isJSON(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst"), ".json")
}

// addEnding gives a name without an ending the one of what is written: inputs of another format than XSpace become one JSON, where
// a directory may have been expected.
func (r *Request) addEnding() {
	if r.Output == "" || filepath.Ext(r.Output) != "" {
		return
	}
	named := filepath.Base(r.Output)
	r.Output = filepath.Clean(r.Output) + ".json.gz"
	r.Notes = append(r.Notes, fmt.Sprintf("not all inputs are XSpace, so one JSON is written and no run directory: %s.json.gz", named))
}

// FormatOf is the format of a single aligned trace: that of its input, by its name where that tells, else by the output's.
func FormatOf(input, output string) Format {
	for _, name := range []string{strings.ToLower(output), strings.ToLower(input)} {
		if isJSON(name) {
			return FormatChrome
		}
	}
	return FormatXPlane
}

// keep returns the range of instants to keep, nil for all, given the instant from which times "from the start" count.
func (r *Request) keep(firstNS int64) (*align.Range, error) {
	if len(r.TimeRange) == 0 || r.TimeRange[0] == nil && r.TimeRange[1] == nil {
		return nil, nil
	}
	k := align.Range{FromNS: math.MinInt64, ToNS: math.MaxInt64}
	at := func(v int64) int64 { // no recording lasts 11 days, and none was made in January 1970
		if v < source.AbsoluteNS {
			return v + firstNS
		}
		return v
	}
	if v := r.TimeRange[0]; v != nil {
		k.FromNS = at(*v)
	}
	if v := r.TimeRange[1]; v != nil {
		k.ToNS = at(*v)
	}
	if k.FromNS >= k.ToNS {
		e := fault.Usagef("the time range is empty")
		if from, to := r.TimeRange[0], r.TimeRange[1]; from != nil && to != nil {
			e = fault.Usagef("the time range is empty: it ends at %d ns, not after its start at %d ns", at(*to), at(*from))
		}
		return nil, e.WithHint("name the earlier end first")
	}
	return &k, nil
}

// defaultOutput derives an output path from the inputs: a sibling of their common directory, <dir>_<suffix>.
func defaultOutput(nodes []*Node, f Format, suffix string) (string, error) {
	common := filepath.Dir(nodes[0].Path)
	for _, n := range nodes[1:] {
		for common != "/" && common != "." && !within(n.Path, common) {
			common = filepath.Dir(common)
		}
	}
	if nodes[0].Path == "-" || common == "/" || common == "." {
		return "", fault.Usagef("no output is named and none can be derived from the inputs").WithHint("name one with -o")
	}
	stem := common + "_" + suffix
	if len(nodes) == 1 {
		name := filepath.Base(nodes[0].Path)
		for _, ext := range []string{".gz", ".zst", ".json", ".pt.trace", ".trace", ".pb", ".xplane"} {
			name = strings.TrimSuffix(name, ext)
		}
		if f != FormatRun {
			stem = filepath.Join(common, name+"."+suffix)
		}
	}
	switch f {
	case FormatXPlane:
		return stem + ".xplane.pb", nil
	case FormatChrome:
		return stem + ".json.gz", nil
	}
	return stem, nil
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
