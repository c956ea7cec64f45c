package api

import (
	"context"
	"io"

	"github.com/prlx-go/prlx/core/diff/compat"
	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/report/kernelreport"
)

// compatArgs are the flags of original prlx 0.5; diff_compat and session_diff_compat share them.
type compatArgs struct {
	Values            bool    `json:"values"`
	Limit             int64   `json:"limit"`
	Lookahead         int     `json:"lookahead"`
	Force             bool    `json:"force"`
	CrossGPU          bool    `json:"cross_gpu"`
	ContinueAfterPath bool    `json:"continue_after_path"`
	IgnoreActiveMask  bool    `json:"ignore_active_mask"`
	MaxDivergences    int64   `json:"max_divergences"`
	Warps             *string `json:"warps"`
	Kinds             *string `json:"kinds"`
	Sites             *string `json:"sites"`
	Map               string  `json:"site_map"`
	RemapA            string  `json:"remap_a"`
	RemapB            string  `json:"remap_b"`
}

type diffCompatRequest struct {
	requestLimits
	compatArgs
	A         string      `json:"a"`
	B         string      `json:"b"`
	Outputs   []outputArg `json:"outputs"` // csv and chrome
	Overwrite bool        `json:"overwrite"`
}

// compatReply is original prlx 0.5's document as it prints it.
type compatReply struct {
	Schema   string   `json:"schema"`
	Text     string   `json:"text"`
	Passed   bool     `json:"passed"`
	Warnings []string `json:"warnings"`
	writtenReports
}

func (c *compatArgs) compatOptions(ctx context.Context) (compat.Options, error) {
	opt := compat.Options{
		Values: c.Values, Limit: c.Limit, Lookahead: c.Lookahead, Force: c.Force, CrossGPU: c.CrossGPU,
		ContinueAfterPath: c.ContinueAfterPath, IgnoreActiveMask: c.IgnoreActiveMask, Threshold: c.MaxDivergences,
		Warps: c.Warps, Kinds: c.Kinds, Sites: c.Sites,
	}
	for _, m := range []struct {
		path string
		into **compat.SiteMap
	}{{c.Map, &opt.Map}, {c.RemapA, &opt.RemapA}, {c.RemapB, &opt.RemapB}} {
		if m.path == "" {
			continue
		}
		var err error
		if *m.into, err = readCompatMap(ctx, m.path); err != nil {
			return opt, err
		}
	}
	return opt, nil
}

func readCompatMap(ctx context.Context, path string) (*compat.SiteMap, error) {
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return compat.ReadSiteMap(ctx, src)
}

// diffCompat compares two recordings as original prlx 0.5 does, quirks included.
func diffCompat(j *job.Job, r *diffCompatRequest) (*compatReply, error) {
	opt, err := r.compatOptions(j.Context())
	if err != nil {
		return nil, err
	}
	out, err := createReports(comparisonReports, r.Outputs, r.Overwrite, []string{r.A, r.B, r.Map, r.RemapA, r.RemapB}, "")
	if err != nil {
		return nil, err
	}
	defer out.abort()
	var traces [2]*warptrace.Trace
	for i, path := range []string{r.A, r.B} {
		if traces[i], err = recording.OpenTrace(j.Context(), path); err != nil {
			return nil, err
		}
		defer traces[i].Close()
	}
	result, err := compat.Compare(j, traces[0], traces[1], opt)
	if err != nil {
		return nil, err
	}
	err = out.write(func(format string, w io.Writer, _ kernelreport.Options) error {
		switch format {
		case "csv":
			return result.CSV(w)
		case "chrome":
			return result.Flamegraph(w)
		}
		return fault.Usagef("original prlx 0.5 writes csv and chrome, not %s", format)
	})
	if err != nil {
		return nil, err
	}
	return &compatReply{
		Schema: "prlx.diff_compat/1", Text: string(result.JSON()), Passed: result.Passed(),
		Warnings: append([]string{}, result.Warnings...), writtenReports: out.reply(),
	}, nil
}

type sessionDiffCompatRequest struct {
	requestLimits
	compatArgs
	A         string      `json:"a"`
	B         string      `json:"b"`
	Outputs   []outputArg `json:"outputs"` // none: original prlx 0.5 writes none for sessions
	Overwrite bool        `json:"overwrite"`
}

// sessionDiffCompat compares two sessions as original prlx 0.5 does, quirks included.
func sessionDiffCompat(j *job.Job, r *sessionDiffCompatRequest) (*compatReply, error) {
	if len(r.Outputs) > 0 {
		return nil, fault.Usagef("original prlx 0.5 writes no files for sessions").WithHint("leave out --compat")
	}
	opt, err := r.compatOptions(j.Context())
	if err != nil {
		return nil, err
	}
	var sessions [2]*session.Session
	for i, path := range []string{r.A, r.B} {
		if sessions[i], err = session.Open(j.Context(), path); err != nil {
			return nil, err
		}
	}
	result, err := session.CompareCompat(j, sessions[0], sessions[1], opt)
	if err != nil {
		return nil, err
	}
	return &compatReply{
		Schema: "prlx.session_diff_compat/1", Text: string(result.JSON()), Passed: result.Passed(), Warnings: append([]string{}, result.Warnings...),
	}, nil
}
