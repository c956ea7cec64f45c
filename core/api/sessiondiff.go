package api

import (
	"context"
	"io"
	"path/filepath"
	"slices"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/report/kernelreport"
)

// sessionDiffReply is a document, and what else the caller is told.
type sessionDiffReply struct {
	*session.Document
	Notes []string `json:"notes,omitempty"`
	writtenReports
}

// sessionDiff compares two sessions launch by launch and writes the reports that were asked for.
func sessionDiff(j *job.Job, r *diffRequest) (*sessionDiffReply, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	options, err := r.compareOptions()
	if err != nil {
		return nil, err
	}
	opt := session.Options{Diff: options, Document: r.documentOptions(), Today: r.Today, Explain: r.Explain}
	a, b, err := r.openSessions(j.Context(), &opt)
	if err != nil {
		return nil, err
	}
	inputs := r.filesOfSessions(slices.Concat([]*session.Session{a, b}, opt.BaselineA, opt.BaselineB))
	out, err := createReports(comparisonReports, r.Outputs, r.Overwrite, inputs, r.Root)
	if err != nil {
		return nil, err
	}
	defer out.abort()
	if r.Accepted != "" {
		if opt.Accepted, err = diff.ReadAccepted(j.Context(), r.Accepted); err != nil {
			return nil, err
		}
		if known, ok := r.Names[opt.Accepted.Path]; ok {
			opt.Accepted.Path = known
		}
	}
	reply := &sessionDiffReply{}
	if reply.Notes, err = r.sessionSites(j.Context(), &opt); err != nil {
		return nil, err
	}
	if reply.Document, err = session.Compare(j, a, b, opt); err != nil {
		return nil, err
	}
	if err := r.completeSession(j.Context(), reply.Document, a); err != nil {
		return nil, err
	}
	err = out.write(func(format string, w io.Writer, opt kernelreport.Options) error {
		return kernelreport.WriteSession(format, w, reply.Document, opt)
	})
	reply.writtenReports = out.reply()
	return reply, err
}

// filesOfSessions lists what must not be written over.
func (r *diffRequest) filesOfSessions(sessions []*session.Session) []string {
	files := []string{r.SiteMap, r.SiteMapB, r.Accepted}
	for _, s := range sessions {
		files = append(files, filepath.Join(s.Dir, session.ManifestName))
		for i := range s.Launches {
			files = append(files, filepath.Join(s.Dir, filepath.FromSlash(s.Launches[i].File)))
		}
	}
	return files
}

func (r *diffRequest) openSessions(ctx context.Context, opt *session.Options) (a, b *session.Session, err error) {
	open := func(paths []string) (out []*session.Session, err error) {
		for _, path := range paths {
			s, err := session.Open(ctx, path)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
		return out, nil
	}
	sessionsA, err := open(slices.Concat(r.A, r.Baseline))
	if err != nil {
		return nil, nil, err
	}
	sessionsB, err := open(slices.Concat(r.B, r.BaselineB))
	if err != nil {
		return nil, nil, err
	}
	opt.BaselineA, opt.BaselineB = sessionsA[1:], sessionsB[1:]
	return sessionsA[0], sessionsB[0], nil
}

// sessionSites reads the site maps for recordings of format v1: those that are named, else what is found from the session on.
func (r *diffRequest) sessionSites(ctx context.Context, opt *session.Options) (notes []string, err error) {
	read := func(maps recording.Maps, dir string) (*site.Table, error) {
		table, found, err := maps.Table(ctx, filepath.Join(dir, session.ManifestName))
		if note := "sites are named by " + recording.Relative(found, r.LookIn); found != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
		return table, err
	}
	if opt.SitesA, err = read(r.maps(), r.A[0]); err != nil {
		return nil, err
	}
	opt.SitesB, err = read(r.mapsOfB(), r.B[0])
	return notes, err
}

// completeSession names the sessions as the caller does and adds sources to the launch that is shown in full.
func (r *diffRequest) completeSession(ctx context.Context, doc *session.Document, a *session.Session) error {
	name := func(path string) string {
		if known, ok := r.Names[path]; ok {
			return known
		}
		return path
	}
	doc.A.Path, doc.B.Path = name(doc.A.Path), name(doc.B.Path)
	if doc.Baseline != nil {
		for _, list := range [][]string{doc.Baseline.SessionsA, doc.Baseline.SessionsB} {
			for i := range list {
				list[i] = name(list[i])
			}
		}
	}
	if doc.First == nil || doc.First.Diff == nil {
		return nil
	}
	d := doc.First.Diff
	for _, s := range []struct {
		dir  string
		path *string
	}{{r.A[0], &d.A.Path}, {r.B[0], &d.B.Path}} {
		if rel, err := filepath.Rel(s.dir, *s.path); err == nil {
			*s.path = filepath.Join(name(s.dir), rel)
		}
	}
	l := &a.Launches[doc.First.IndexA]
	return r.complete(ctx, d, doc.First.Result, filepath.Join(a.Dir, filepath.FromSlash(l.File)))
}
