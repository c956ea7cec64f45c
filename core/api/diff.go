package api

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/diff/sources"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/report/kernelreport"
)

// compareArgs are the fields of a request that say how recordings compare; diff and session_diff share them.
type compareArgs struct {
	// Compare values, too; bit for bit without a tolerance.
	Values bool `json:"values" takes:"switch" only:"diff assert" group:"rules"`
	// How far values may be apart: rel=1e-5, f16:ulp=4. Implies `--values`. In Python also a number, which is relative, or a mapping
	// of types to either.
	Tolerance string `json:"tolerance" takes:"tolerance" metavar:"SPEC" only:"diff assert" group:"rules"`
	// How NaN compares. Implies `--values`.
	NaN string `json:"nan" takes:"text" choices:"equal bits never" rare:"yes" only:"diff assert" group:"rules"`
	// Sites that do not count: file:line, func:NAME, kind:NAME. Also a file or the id of a site, with `*` and `?`. May be repeated.
	Ignore []string `json:"ignore" takes:"names" metavar:"PATTERN" only:"diff assert" group:"rules"`
	// More runs equal to A: what differs among them is noise. See [noise](concepts/noise.md).
	Baseline []string `json:"baseline" takes:"recordings" only:"diff assert" group:"noise"`
	// More runs equal to B.
	BaselineB []string `json:"baseline_b" takes:"recordings" rare:"yes" only:"diff assert" group:"noise"`
	// Say why: the evidence, and what kind of cause it is. It names the statement to look at where the code was recorded.
	Explain bool `json:"explain" takes:"switch" also:"--classify" assert.also:"" assert.default:"true" assert.off:"--no-explain: do not say why" assert.rare:"yes" only:"diff assert"`
	// Compare only these warps: 0-10,15.
	Warps string `json:"warps" takes:"warps" metavar:"LIST" assert.rare:"yes" only:"diff assert" group:"only"`
	// Report only these kinds of divergences: Branch,Value. The others are ActiveMask, Path, ExtraEvents, Output, Store and Finding.
	Kinds []string `json:"kinds" takes:"list" metavar:"LIST" also:"--filter-kind" assert.rare:"yes" only:"diff assert" group:"only"`
	// Report only these sites: ids, or file:line.
	Sites []string `json:"sites" takes:"sites" metavar:"LIST" also:"--filter-sites" assert.rare:"yes" only:"diff assert" group:"only"`
	siteMapArgs
	// Site map of B, where it was built apart.
	SiteMapB string `json:"site_map_b" takes:"path" also:"--remap-b" rare:"yes" only:"diff assert" group:"code"`
	// Divergences that may count; KIND=N for one kind. In Python also a mapping of kinds to numbers, where `*` is every other kind
	// together, 0 when left out.
	MaxDivergences diff.Allowed `json:"max_divergences" takes:"allowed" metavar:"N" also:"--max-allowed-divergences" default:"0" diff.rare:"yes" only:"diff assert" group:"rules"`
	// What must agree: control-flow,outputs,values. The last implies `--values`.
	Require []string `json:"require" takes:"list" metavar:"LIST" setting:"diff.require" unset:"control-flow,outputs" only:"diff assert" group:"rules"`
	// Read all of both recordings, to notice damage. Otherwise equal digests tell that warps are equal.
	Verify bool `json:"verify" takes:"switch" off:"--no-verify" unset:"where CI is set in the environment" assert.unset:"" assert.default:"true" rare:"yes" only:"diff assert"`
	// Differences that are accepted for a while. A file of [them](formats/accepted.md).
	Accepted string `json:"accepted" takes:"path" diff.rare:"yes" only:"diff assert" group:"noise"`
	// Divergences that documents and reports list, 0 for all. Counts and tables are of all.
	Limit *int64 `json:"limit" takes:"number" also:"-l" default:"100" unset:"100 beside tables in Python, else 10000" rare:"yes" only:"diff" group:"only"`
	// Directories in which sources are looked for.
	SourceRoots []string `json:"source_roots" takes:"paths" metavar:"DIR" also:"--source-root" rare:"yes" only:"diff assert" group:"code"`
	// Files whose lines come after those that call them: globs or folders. They are added to Triton's language and Inductor's runtime;
	// `none` alone names the innermost line, also in a
	// library. May be repeated.
	Libraries []string `json:"libraries" takes:"names" metavar:"PATTERN" rare:"yes" only:"diff assert" group:"code"`
	// Differences of active lanes alone do not count.
	IgnoreActiveMask bool `json:"ignore_active_mask" takes:"switch" diff.rare:"yes" only:"diff assert" group:"rules"`
	// Another order of divergent paths differs, too.
	StrictOrder bool `json:"strict_order" takes:"switch" rare:"yes" only:"diff assert" group:"rules"`
	// Show operands of unknown type as floats.
	Floats bool `json:"floats" takes:"switch" also:"--float" rare:"yes" only:"diff" group:"rules"`
	// Compare different kernels, too.
	Force bool `json:"force" takes:"switch" rare:"yes" only:"diff assert" group:"rules"`
	// Compare recordings of different machines by thread. Warps of 32 lanes compare with warps of 64.
	CrossGPU bool `json:"cross_gpu" takes:"switch" rare:"yes" only:"diff assert" group:"rules"`

	Clusters  *int64       `json:"clusters"` // that the document lists; 0: all, absent: as package diff has it
	Today     string       `json:"today"`
	Outputs   []outputArg  `json:"outputs"`
	Overwrite bool         `json:"overwrite"`
	Tested    *diff.Tested `json:"tested"` // what came of running texts between those of A and B
	Root      string       `json:"root"`   // the directory as seen from which reports name sources
}

type diffRequest struct {
	compareArgs
	requestLimits
	A       []string          `json:"a"` // the first is compared, the others tell what is noise
	B       []string          `json:"b"`
	OrdersA []string          `json:"orders_a"` // runs of A in another order of blocks and warps
	OrdersB []string          `json:"orders_b"`
	Names   map[string]string `json:"names"` // how documents call a path; itself where it is not here
	Tables  bool              `json:"tables"`
}

// diffReply is a document, and what else the caller is told.
type diffReply struct {
	*diff.Document
	Notes []string `json:"notes,omitempty"`
	writtenReports
}

func (c *compareArgs) compareOptions() (diff.Options, error) {
	opt := diff.Options{
		Values: c.Values, IgnoreActiveMask: c.IgnoreActiveMask, Force: c.Force, CrossGPU: c.CrossGPU, StrictOrder: c.StrictOrder,
		MaxDivergences: c.MaxDivergences, Verify: c.Verify, Libraries: c.Libraries, Tested: c.Tested,
		Settings: diff.Settings{
			Values: c.Values, Tolerance: c.Tolerance, NaN: c.NaN, Ignore: c.Ignore, IgnoreActiveMask: c.IgnoreActiveMask,
			Warps: c.Warps, Kinds: c.Kinds, SiteFilter: c.Sites, Force: c.Force, CrossGPU: c.CrossGPU, Libraries: c.Libraries, Require: c.Require,
		},
	}
	var err error
	if opt.Tolerance, err = diff.ParseTolerance(c.Tolerance); err != nil {
		return opt, err
	}
	if opt.NaN, err = diff.ParseNaN(c.NaN); err != nil {
		return opt, err
	}
	if opt.Ignore, err = site.ParsePatterns(c.Ignore); err != nil {
		return opt, err
	}
	if opt.SiteFilter, err = site.ParsePatterns(c.Sites); err != nil {
		return opt, err
	}
	if opt.Kinds, err = diff.ParseKinds(c.Kinds); err != nil {
		return opt, err
	}
	if opt.Require, err = diff.ParseRequire(c.Require); err != nil {
		return opt, err
	}
	if opt.Require.Has(diff.AspectValues) {
		opt.Values, opt.Settings.Values = true, true
	}
	opt.Warps, err = diff.ParseWarps(c.Warps)
	return opt, err
}

// check refuses what no comparison could mean.
func (r *diffRequest) check() error {
	switch {
	case len(r.A) == 0 || len(r.B) == 0:
		return fault.Usagef("the request names no recording for A or for B")
	case r.Limit != nil && *r.Limit < 0:
		return fault.Usagef("limit is %d, expected 0 or more", *r.Limit).WithHint("0 lists all")
	case r.Clusters != nil && *r.Clusters < 0:
		return fault.Usagef("clusters is %d, expected 0 or more", *r.Clusters).WithHint("0 lists all")
	}
	return nil
}

// runs opens recordings that should be equal to one side.
func (r *diffRequest) runs(j *job.Job, paths []string, maps recording.Maps) (runs []*warptrace.Trace, closeAll func(), err error) {
	closeAll = func() {
		for _, t := range runs {
			t.Close()
		}
	}
	for _, path := range paths {
		t, err := recording.Open(j.Context(), path, maps)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		runs = append(runs, t.Trace)
	}
	return runs, closeAll, nil
}

// diffRecordings compares two recordings and writes the reports that were asked for.
func diffRecordings(j *job.Job, r *diffRequest) (*diffReply, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	opt, err := r.compareOptions()
	if err != nil {
		return nil, err
	}
	inputs := slices.Concat(r.A, r.B, r.Baseline, r.BaselineB, []string{r.SiteMap, r.SiteMapB, r.Accepted})
	out, err := createReports(comparisonReports, r.Outputs, r.Overwrite, inputs, r.Root)
	if err != nil {
		return nil, err
	}
	defer out.abort()

	a, err := recording.Open(j.Context(), r.A[0], r.maps())
	if err != nil {
		return nil, err
	}
	defer a.Close()
	mapsB := r.mapsOfB()
	b, err := recording.Open(j.Context(), r.B[0], mapsB)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	reply, result, err := r.compare(j, a, b, opt, mapsB)
	if err != nil {
		return nil, err
	}
	if r.Tables {
		attachTable(j, "divergences", divergenceTable(result))
		attachTable(j, "clusters", clusterTable(reply.Document))
		attachTable(j, "sites", siteSummaryTable(reply.Document))
	}
	err = out.write(func(format string, w io.Writer, opt kernelreport.Options) error {
		return kernelreport.Write(format, w, reply.Document, opt)
	})
	reply.writtenReports = out.reply()
	return reply, err
}

func (c *compareArgs) mapsOfB() recording.Maps {
	if c.SiteMapB != "" {
		return recording.Maps{SiteMap: c.SiteMapB}
	}
	return c.maps()
}

func (r *diffRequest) compare(j *job.Job, a, b *recording.Recording, opt diff.Options, mapsB recording.Maps) (*diffReply, *diff.Result, error) {
	if err := diff.CheckSites(a.Trace, b.Trace, opt.SiteFilter); err != nil {
		return nil, nil, err
	}
	result, err := diff.Compare(j, a.Trace, b.Trace, opt)
	if err != nil {
		return nil, nil, err
	}
	if err := r.judge(j, result, a, b, opt, mapsB); err != nil {
		return nil, nil, err
	}
	doc, err := result.Document(r.documentOptions())
	if err != nil {
		return nil, nil, err
	}
	if err := r.complete(j.Context(), doc, result, r.A[0]); err != nil {
		return nil, nil, err
	}
	doc.A.Origin = session.OriginOf(j.Context(), r.A[0], a.Header())
	doc.B.Origin = session.OriginOf(j.Context(), r.B[0], b.Header())
	doc.Losses = diff.LossesOfBoth{A: diff.DescribeLosses(result.LossesA), B: diff.DescribeLosses(result.LossesB)}
	r.nameInputs(doc)
	doc.Warnings = append(doc.Warnings, r.warnings(result, a, b)...)
	for _, p := range diff.Unmatched(a.Trace, b.Trace, opt.Ignore) {
		doc.Warnings = append(doc.Warnings, fmt.Sprintf("no site of these recordings is %q: ignoring it changes nothing", p))
	}
	return &diffReply{Document: doc, Notes: r.notes(a, b)}, result, nil
}

func (c *compareArgs) documentOptions() diff.DocumentOptions {
	return diff.DocumentOptions{Rows: c.Limit, Clusters: c.Clusters}
}

// complete adds to a document what package diff leaves to its callers: sources, and the meaning of bits as the user knows it.
func (c *compareArgs) complete(ctx context.Context, doc *diff.Document, result *diff.Result, path string) (err error) {
	roots := slices.Concat(c.SourceRoots, []string{filepath.Dir(path)})
	if c.Root != "" {
		roots = append(roots, c.Root)
	}
	if c.Floats {
		doc.ShowFloats()
	}
	doc.Sources, err = sources.Read(ctx, doc, sources.From{
		A: result.TextsA, B: result.TextsB, Changes: result.Changes, Roots: roots, Recorded: sources.RecordedAt(path, result.A),
	})
	return err
}

// judge says which divergences are noise, which are accepted, and why the first one happened.
func (r *diffRequest) judge(j *job.Job, result *diff.Result, a, b *recording.Recording, opt diff.Options, mapsB recording.Maps) error {
	baselineA, baselineB := slices.Concat(r.A[1:], r.Baseline), slices.Concat(r.B[1:], r.BaselineB)
	if len(baselineA)+len(baselineB) > 0 {
		runsA, closeA, err := r.runs(j, baselineA, r.maps())
		if err != nil {
			return err
		}
		defer closeA()
		runsB, closeB, err := r.runs(j, baselineB, mapsB)
		if err != nil {
			return err
		}
		defer closeB()
		if _, err := diff.ApplyBaseline(j, result, a.Trace, b.Trace, runsA, runsB, opt); err != nil {
			return err
		}
	}
	if r.Accepted != "" {
		accepted, err := diff.ReadAccepted(j.Context(), r.Accepted)
		if err != nil {
			return err
		}
		if known, ok := r.Names[accepted.Path]; ok {
			accepted.Path = known
		}
		if _, err := accepted.Apply(result, r.Today); err != nil {
			return err
		}
	}
	if len(r.OrdersA)+len(r.OrdersB) > 0 {
		if err := r.compareReruns(j, result, a, b); err != nil {
			return err
		}
	}
	result.Settle()
	if r.Explain {
		if _, err := diff.Explain(j, result, a.Trace, b.Trace, opt); err != nil {
			return err
		}
	}
	return nil
}

// compareReruns compares the runs that were made in another order.
func (r *diffRequest) compareReruns(j *job.Job, result *diff.Result, a, b *recording.Recording) error {
	runsA, closeA, err := r.runs(j, r.OrdersA, r.maps())
	if err != nil {
		return err
	}
	defer closeA()
	runsB, closeB, err := r.runs(j, r.OrdersB, r.mapsOfB())
	if err != nil {
		return err
	}
	defer closeB()
	return diff.CompareReruns(j.Context(), result, a.Trace, b.Trace, runsA, runsB)
}

// nameInputs calls paths what the caller calls them: absolute paths of a machine have no place in a document.
func (r *diffRequest) nameInputs(doc *diff.Document) {
	name := func(path string) string {
		if known, ok := r.Names[path]; ok {
			return known
		}
		return path
	}
	doc.A.Path, doc.B.Path = name(doc.A.Path), name(doc.B.Path)
	if doc.Baseline != nil {
		for i, path := range doc.Baseline.Paths {
			doc.Baseline.Paths[i] = name(path)
		}
	}
}

// warnings says what was noticed while opening, and whether the site map fits.
func (r *diffRequest) warnings(result *diff.Result, a, b *recording.Recording) []string {
	var out []string
	for _, side := range []struct {
		name string
		r    *recording.Recording
	}{{"A", a}, {"B", b}} {
		for _, w := range side.r.Warnings {
			out = append(out, side.name+": "+w)
		}
	}
	if a.SiteMap == "" && b.SiteMap == "" || len(result.Sites) == 0 {
		return out
	}
	if unknown := result.Unnamed(); unknown > 0 {
		out = append(out, fmt.Sprintf("%d of %s are not in the site map %s: is it of another build?", unknown,
			plural(int64(len(result.Sites)), "reported site"), filepath.Base(cmp.Or(a.SiteMap, b.SiteMap))))
	}
	return out
}

// notes says which site map was found.
func (r *diffRequest) notes(a, b *recording.Recording) []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range []*recording.Recording{a, b} {
		if t.Found && !seen[t.SiteMap] {
			seen[t.SiteMap] = true
			out = append(out, "sites are named by "+recording.Relative(t.SiteMap, r.LookIn))
		}
	}
	if a.Header().Version == 1 && a.SiteMap == "" {
		out = append(out, "no site map was found: sites show as ids; --map prlx-sites.json names them")
	}
	return out
}
