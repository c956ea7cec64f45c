package api

import (
	"io"
	"slices"

	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/cycle"
	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/gate"
	"github.com/prlx-go/prlx/core/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/cycle/naming/signature"
	"github.com/prlx-go/prlx/core/cycle/rendering"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/report/cyclereport"
	"github.com/prlx-go/prlx/core/report/kernelreport"
)

// cycleArgs say where cycles are looked for, and how; both sides of a comparison have their own.
type cycleArgs struct {
	Paths             []string                 `json:"paths"` // one trace, or those of the ranks of one run
	IgnoreAnnotations bool                     `json:"ignore_annotations"`
	Keys              string                   `json:"keys"`
	Streams           string                   `json:"streams"`
	Rules             string                   `json:"rules"` // a TOML file
	PhaseMode         string                   `json:"phase_mode"`
	EditPercent       *int                     `json:"edit_percent"` // 0: none
	MaxLevels         *int                     `json:"max_levels"`
	Compat            *cycledoc.CompatSettings `json:"compat"`
	SkipUnreadable    bool                     `json:"skip_unreadable"`
	Salvage           bool                     `json:"salvage"`
	Modules           bool                     `json:"modules"` // what kernels belong to is read, in a second pass
}

type cyclesRequest struct {
	requestLimits
	cycleArgs
	Names     map[string]string `json:"names"` // how documents call a path; itself where it is not here
	Outputs   []outputArg       `json:"outputs"`
	Overwrite bool              `json:"overwrite"`
	Tables    []string          `json:"tables"` // "repetitions", "steps"
}

// cyclesReply is prlx.cycles/1 with what was written.
type cyclesReply struct {
	*cycledoc.Document
	writtenReports
}

type cyclesCompareRequest struct {
	requestLimits
	A          cycleArgs         `json:"a"`
	B          cycleArgs         `json:"b"`
	Baselines  []cycleArgs       `json:"baselines"` // runs that should be equal to a
	FailOn     []string          `json:"fail_on"`   // gates: docs/commands/cycles.md
	Names      map[string]string `json:"names"`
	Alpha      *float64          `json:"alpha"`
	MinChange  *float64          `json:"min_change"`
	Similarity *float64          `json:"similarity"`
	Outputs    []outputArg       `json:"outputs"`
	Overwrite  bool              `json:"overwrite"`
}

// cyclesCompareReply is prlx.cycles-compare/1 with what was written.
type cyclesCompareReply struct {
	*cycledoc.CompareDocument
	writtenReports
}

const cycleEndings = ".html, .md, .csv, .json or .trace.json"

func neverBinary(string) bool { return false }

var (
	cycleReports        = reportKind{cyclereport.Formats, cyclereport.FormatOf, neverBinary, cycleEndings}
	cycleCompareReports = reportKind{cyclereport.CompareFormats, cyclereport.FormatOf, neverBinary, ".html, .md, .csv, .xml or .json"}
)

func renderCycles(d *cycledoc.Document) render {
	return func(format string, w io.Writer, _ kernelreport.Options) error {
		return cyclereport.Write(format, w, d, cyclereport.Options{})
	}
}

func renderCycleComparison(d *cycledoc.CompareDocument) render {
	return func(format string, w io.Writer, _ kernelreport.Options) error {
		return cyclereport.WriteCompare(format, w, d, cyclereport.Options{})
	}
}

// findCycles reads one trace and finds what repeats in it.
func findCycles(j *job.Job, r *cyclesRequest) (*cyclesReply, error) {
	for _, name := range r.Tables {
		if name != "repetitions" && name != "steps" {
			return nil, fault.Usagef("there is no table %q", name).WithHint("the tables are repetitions and steps")
		}
	}
	out, err := createReports(cycleReports, r.Outputs, r.Overwrite, append(r.Paths, r.Rules), "")
	if err != nil {
		return nil, err
	}
	defer out.abort()
	found, skipped, err := r.find(j, r.Names)
	if err != nil {
		return nil, err
	}
	doc := found.Document()
	said, warnings := cycledoc.LeftOut(skipped)
	doc.Skipped, doc.Verdict, doc.Warnings = skipped, doc.Verdict+said, append(doc.Warnings, warnings...)
	if err := out.write(renderCycles(doc)); err != nil {
		return nil, err
	}
	for _, name := range r.Tables {
		if name == "repetitions" {
			attachTable(j, name, repetitionTable(found))
			continue
		}
		attachTable(j, name, stepTable(found))
	}
	return &cyclesReply{Document: doc, writtenReports: out.reply()}, nil
}

// compareCycles finds the cycles of two traces and compares them.
func compareCycles(j *job.Job, r *cyclesCompareRequest) (*cyclesCompareReply, error) {
	opt, err := r.options()
	if err != nil {
		return nil, err
	}
	inputs := slices.Concat(r.A.Paths, r.B.Paths, []string{r.A.Rules, r.B.Rules})
	for i := range r.Baselines {
		inputs = append(inputs, r.Baselines[i].Paths...)
	}
	out, err := createReports(cycleCompareReports, r.Outputs, r.Overwrite, inputs, "")
	if err != nil {
		return nil, err
	}
	defer out.abort()
	a, outA, err := r.A.find(j, r.Names)
	if err != nil {
		return nil, err
	}
	b, outB, err := r.B.find(j, r.Names)
	if err != nil {
		return nil, err
	}
	var baselines []*cycle.Result
	left := append(outA, outB...)
	for i := range r.Baselines {
		found, out, err := r.Baselines[i].find(j, r.Names)
		if err != nil {
			return nil, err
		}
		baselines, left = append(baselines, found), append(left, out...)
	}
	doc, err := cycle.Compare(j, a, b, opt, baselines...)
	if err != nil {
		return nil, err
	}
	doc.Skipped = left
	said, warnings := cycledoc.LeftOut(doc.Skipped)
	doc.Verdict, doc.Warnings = doc.Verdict+said, append(doc.Warnings, warnings...)
	if err := out.write(renderCycleComparison(doc)); err != nil {
		return nil, err
	}
	return &cyclesCompareReply{CompareDocument: doc, writtenReports: out.reply()}, nil
}

func (r *cyclesCompareRequest) options() (opt cycle.CompareOptions, err error) {
	if opt.Alpha, err = given("alpha", r.Alpha); err != nil {
		return opt, err
	}
	if opt.MinChange, err = given("min_change", r.MinChange); err != nil {
		return opt, err
	}
	if opt.Similarity, err = given("similarity", r.Similarity); err != nil {
		return opt, err
	}
	opt.Gates, err = gate.Parse(r.FailOn)
	return opt, err
}

// given is a number of a request for options in which 0 means the default: 0 where it is absent, refused where it is 0.
func given[T int | float64](name string, value *T) (T, error) {
	switch {
	case value == nil:
		return 0, nil
	case *value == 0:
		return 0, fault.Usagef("%s is 0, expected more", name).WithHint("leave it out for the default")
	}
	return *value, nil
}

// find reads and finds what the arguments name. skipped are traces that cannot be read, where that is accepted.
func (a *cycleArgs) find(j *job.Job, names map[string]string) (found *cycle.Result, skipped []cycledoc.Unreadable, err error) {
	opt := cycle.Options{
		IgnoreAnnotations: a.IgnoreAnnotations, Keys: a.Keys, Streams: a.Streams, PhaseMode: phase.Mode(a.PhaseMode),
		Compat: a.Compat,
	}
	if n := a.EditPercent; n != nil {
		if *n < 0 {
			return nil, nil, fault.Usagef("edit_percent is %d, expected 0 or more", *n)
		}
		if opt.EditPercent = *n; *n == 0 {
			opt.EditPercent = cycle.NoEdits
		}
	}
	if opt.MaxLevels, err = given("max_levels", a.MaxLevels); err != nil {
		return nil, nil, err
	}
	if opt.Rules, err = signature.ReadRules(j.Context(), a.Rules); err != nil {
		return nil, nil, err
	}
	skip := func(path string, err error) bool {
		if !a.SkipUnreadable || !combine.IsUnreadable(err) {
			return false
		}
		u := combine.UnreadableOf(combine.Input{Path: path}, err)
		if name, ok := names[path]; ok {
			u.Path = name
		}
		skipped = append(skipped, cycledoc.Unreadable{Path: u.Path, Error: u.Error, Hint: u.Hint})
		return true
	}
	t, err := cycle.Read(j, a.Paths, cycle.ReadOptions{Salvage: a.Salvage, Owners: a.Modules, Skip: skip})
	if err != nil {
		return nil, nil, err
	}
	first := t.Path
	if name, ok := names[first]; ok {
		t.Path = name
	}
	found, err = cycle.Find(j, t, opt)
	switch {
	case fault.Is(err, fault.Usage): // what is wrong with the request is not about the file
		return nil, nil, err
	case err != nil:
		return nil, nil, fault.Of(err).WithPath(first)
	}
	return found, skipped, nil
}

// repetitionTable is every repetition of every class.
func repetitionTable(found *cycle.Result) *table {
	var level, rank []int32
	var first, end, start, stop, wall, busy, edits []int64
	var id, name, device stringColumn
	found.EachRepetition(func(r rendering.RepetitionRow) {
		level, rank = append(level, int32(r.Level)), append(rank, int32(r.Rank))
		first, end, edits = append(first, r.First), append(end, r.End), append(edits, int64(r.Edits))
		start, stop = append(start, r.StartNS), append(stop, r.EndNS)
		wall, busy = append(wall, r.WallNS), append(busy, r.BusyNS)
		id.append(r.ID)
		name.append(r.Name)
		device.append(r.Device)
	})
	t := newTable(len(level))
	t.int32("level", "", level, nil)
	t.strings("class", &id)
	t.strings("name", &name)
	t.int32("rank", "", rank, nil)
	t.strings("device", &device)
	t.Int64("first", "", first, nil)
	t.Int64("end", "", end, nil)
	t.Int64("start_ns", "ns", start, nil)
	t.Int64("end_ns", "ns", stop, nil)
	t.Int64("wall_ns", "ns", wall, nil)
	t.Int64("busy_ns", "ns", busy, nil)
	t.Int64("edits", "", edits, nil)
	return t
}

// stepTable is every step.
func stepTable(found *cycle.Result) *table {
	var rank []int32
	var number, start, stop, wall, busy, gap, count, edits []int64
	var partial []bool
	var device, class, label, mark stringColumn
	found.EachStep(func(s cycledoc.Step) {
		rank, number = append(rank, int32(s.Rank)), append(number, s.Number)
		start, stop = append(start, s.StartNS), append(stop, s.EndNS)
		wall, busy, gap = append(wall, s.WallNS), append(busy, s.BusyNS), append(gap, s.GapNS)
		count, edits, partial = append(count, s.Kernels), append(edits, int64(s.Edits)), append(partial, s.Partial)
		device.append(s.Device)
		class.append(s.Class)
		label.append(s.Phase)
		mark.append(s.Mark)
	})
	t := newTable(len(rank))
	t.int32("rank", "", rank, nil)
	t.strings("device", &device)
	t.Int64("number", "", number, nil)
	t.strings("class", &class)
	t.strings("phase", &label)
	t.Int64("start_ns", "ns", start, nil)
	t.Int64("end_ns", "ns", stop, nil)
	t.Int64("wall_ns", "ns", wall, nil)
	t.Int64("busy_ns", "ns", busy, nil)
	t.Int64("gap_ns", "ns", gap, nil)
	t.Int64("kernels", "", count, nil)
	t.Int64("edits", "", edits, nil)
	t.strings("mark", &mark)
	t.bool("partial", partial, nil)
	return t
}
