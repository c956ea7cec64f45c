package combine

import (
	"math"
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
	Inputs []Input `json:"inputs"`

	// Where to write; nothing is overwritten without `--overwrite`. Left out, a sibling of the input is made whose name says what was
	// done: `_aligned`, `_unaligned` or `_merged`. Statistics of each node are written beside it.
	Output string `json:"output" takes:"path" metavar:"OUT" also:"-o" only:"combine align" group:"output"`
	// Replace an output that exists. Inputs are never touched.
	Overwrite bool `json:"overwrite" takes:"switch" only:"combine align" group:"output"`
	// What is written. `xplane` is one file, `run` a directory with one file per host, `chrome` one JSON.
	Format Format `json:"format" takes:"text" choices:"xplane run chrome" unset:"by inputs and output name" setting:"own" only:"combine" group:"output"`
	// Put all nodes on one clock, not only into one file. `--no-align` is refused beside a `--method` that relates
	// clocks.
	ApplyAlignment *bool `json:"apply_alignment" takes:"switch" default:"true" also:"--align" off:"--no-align: only merge; change no time" setting:"combine.align" only:"combine"`
	// Names and ids of the merged planes. Every viewer shows those of `viewer`.
	Naming string `json:"naming" takes:"text" choices:"viewer document tagged rocm" default:"viewer" setting:"own" only:"combine" group:"output"`

	// Readings of a tracer's clock: ID=FILE, or named by node. They are needed where the traces do not hold
	// them, as protobuf or JSON lines. A Chrome trace has no tracer clock: beside one they are left out with a warning.
	Snapshots []Input `json:"snapshots" takes:"inputs" only:"combine align validate stragglers" group:"clocks"`
	// Clock offsets (JSONL), as `prlx solve` writes them.
	Offsets string `json:"offsets" takes:"path" only:"combine align validate stragglers" group:"clocks"`
	// Network probes: raw stamps or windows, solved first.
	Probes []string `json:"probes" takes:"paths" only:"combine align validate stragglers" group:"clocks"`
	// Offsets you know: TOML or JSON, node -> offset. Drift and bound may stand beside an offset.
	Declared string `json:"declared" takes:"path" only:"combine align validate stragglers" group:"clocks"`
	// What relates the clocks of the nodes. `auto` takes [all that is there](concepts/solving.md#several-sources): for each node what
	// knows its clock best of probes, declared offsets and the collectives that the traces share, narrowed by the others, else the wall
	// clock. The other methods use one source alone;
	// `collectives` needs the traces only: what one node entered happened before another node, which needed its data, left.
	Method string `json:"method" takes:"text" choices:"auto probes declared collectives wall" default:"auto" setting:"combine.method align.method" only:"combine align stragglers" group:"clocks"`
	// What to do with times that no clock reading covers. `degrade` extrapolates and says so, `hold` keeps the last reading, and
	// `refuse` is an error.
	Policy policy `json:"policy" takes:"text" choices:"degrade hold refuse" default:"degrade" setting:"own" only:"combine align" group:"clocks"`
	// How far off a round offset can be where the file states no bound. It counts for a node with fewer than five offsets, too few to
	// scatter.
	RoundBoundNS *int64 `json:"round_bound_ns" takes:"whole" metavar:"NS" unset:"50 us" rare:"yes" only:"combine align validate stragglers" group:"clocks"`
	// The clock that the output shows. `host` writes host time of the reference, `tracer` goes back to the tracer clock of each node.
	Timebase string `json:"timebase" takes:"text" choices:"host tracer" default:"host" setting:"own" only:"combine align" group:"clocks"`
	// The node whose clock all others are put on.
	Reference string `json:"reference" takes:"node" unset:"the first node" setting:"own" only:"combine align" group:"clocks"`
	// Add to every event by how many ns it was moved. The stat is `timestamp_correction_ns`.
	CorrectionStat bool `json:"correction_stat" takes:"switch" setting:"own" rare:"yes" only:"combine align" group:"output"`
	// Trust the clocks of devices, check or correct them. `check` finds out from launches and waits
	// [how far the clock of a device is off its host's](concepts/device-clocks.md); `correct` also moves its events where one is in an impossible order, in Kineto JSON alone.
	DeviceClocks string `json:"device_clocks" takes:"text" choices:"trust check correct" default:"trust" setting:"own" rare:"yes" only:"combine align" group:"clocks"`
	// Add to every event by how many ns it can be off. The stat `timestamp_bound_ns` holds of its start and its end. A track shows the offset and the bound of each node over time.
	BoundStat bool `json:"bound_stat" takes:"switch" setting:"own" rare:"yes" only:"combine align" group:"output"`
	// 1.5s:2s from the start, or absolute ns; an end may be open. What overlaps this range is kept, and collectives are
	// counted in it alone. A range that keeps nothing is an error.
	// In Python also two absolute times in ns, either of which may be `None`.
	TimeRange []*int64 `json:"time_range" takes:"range" only:"combine" group:"output"`
	// Leave out traces that cannot be read, and say which. Without it one of them is an error; that none can be read always is.
	SkipUnreadable bool `json:"skip_unreadable" takes:"switch" rare:"yes" only:"combine validate stragglers"`
	// Read the complete part of a trace that was cut off. What was lost is said. Without it a cut file is an error.
	Salvage bool `json:"salvage" takes:"switch" rare:"yes" only:"combine align validate stragglers"`
	// Move clocks within their bounds to mend impossible orders. Each is moved by a constant within its smallest bound, until no
	// collective is in an impossible order, and its bound grows by that. The document says in `repaired` by how much, and which orders no
	// clock within its bound repairs: these are wrong matches or wrong bounds.
	Repair bool `json:"repair" takes:"switch" only:"combine"`
	// Show the measurements that fix the clock of this node. They are the collectives that keep it from being further ahead or
	// behind, and how far its ends are from those of the others: `explained` in the document. The
	// node is named by its id, its number or its host.
	Explain string `json:"explain" takes:"node" only:"combine"`
	// Write an HTML summary. Where collectives were matched it says who was late, too.
	Report string `json:"report" takes:"path" metavar:"FILE.html" also:"--html" only:"combine" group:"output"`

	Notes   []string `json:"-"`      // what the caller decided on the way, for the document's warnings
	Nearby  string   `json:"nearby"` // which clock files lie near the traces and are not used, and how to use them
	Files   *Ledger  `json:"files"`  // what became of what the arguments stand for; nil: nothing is known of others than the inputs
	Version string   `json:"-"`      // of prlx, for the outputs' marks

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

// timebaseName is what documents and marks call the clock that the output shows.
func (r *Request) timebaseName() string {
	if r.timebase == align.TracerTime {
		return "tracer"
	}
	return "host"
}

func (r *Request) applies() bool { return r.ApplyAlignment == nil || *r.ApplyAlignment }

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
