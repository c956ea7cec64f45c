package api

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/kernel/site"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// siteMapArgs are the fields of a request that say where the names of the sites of v1 recordings come from.
type siteMapArgs struct {
	SiteMap string `json:"site_map"` // the file; "" looks for one
	LookIn  string `json:"look_in"`  // the directory from which it is looked for besides that of the recording; "" does not look
}

// recording is an open recording with what was noticed on the way.
type recording struct {
	*warptrace.Trace
	siteMap  string // the site map in use, "" none
	found    bool   // the site map was looked for, not named
	bytes    int64  // of the file, as it lies on disk
	warnings []string
}

// openRecording opens a recording and gives one of format v1 the sites of a site map.
func openRecording(ctx context.Context, path string, maps siteMapArgs) (*recording, error) {
	if err := refuseDirectory(path); err != nil {
		return nil, err
	}
	t, err := openTrace(ctx, path)
	if err != nil {
		return nil, err
	}
	r := &recording{Trace: t}
	if info, err := os.Stat(path); err == nil {
		r.bytes = info.Size()
	}
	if err := r.nameSites(ctx, path, maps); err != nil {
		t.Close()
		return nil, err
	}
	return r, nil
}

func refuseDirectory(path string) error {
	if path == "" {
		return fault.Usagef("a recording has no path")
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fault.New(fault.Usage, "is a directory, expected a recording").WithPath(path).WithHint("name a .prlx file; sessions are compared with sessions")
	}
	return nil
}

// openTrace opens a recording and names a file that is certainly none. What is not known may be a damaged one: its reader says where.
// The path is opened once: it may be a pipe.
func openTrace(ctx context.Context, path string) (*warptrace.Trace, error) {
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	head, err := src.Head(format.HeadBytes)
	if err != nil {
		src.Close()
		return nil, err
	}
	if kind := format.Of(head); kind.Known() && kind != format.Recording && kind != format.Empty {
		src.Close()
		return nil, kind.Refuse(path, "a recording of a kernel (.prlx)")
	}
	t, err := warptrace.OpenOwned(ctx, src)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (r *recording) nameSites(ctx context.Context, path string, maps siteMapArgs) error {
	if r.Header().Version != 1 {
		if maps.SiteMap != "" {
			if _, err := os.Stat(maps.SiteMap); err != nil {
				return fault.FromIO(maps.SiteMap, err)
			}
			r.warnings = append(r.warnings, "the recording has its sites inside: the site map that was named is not used")
		}
		return nil
	}
	r.siteMap = maps.SiteMap
	if r.siteMap == "" {
		r.siteMap, r.found = findSiteMap(path, maps.LookIn)
	}
	if r.siteMap == "" {
		return nil
	}
	table, warnings, err := readSiteMap(ctx, r.siteMap)
	if err != nil {
		return err
	}
	r.SetSites(table)
	r.warnings = append(r.warnings, warnings...)
	if older(r.siteMap, path) {
		r.warnings = append(r.warnings, fmt.Sprintf("%s is older than the recording: its lines may be those of another build", filepath.Base(r.siteMap)))
	}
	return nil
}

func readSiteMap(ctx context.Context, path string) (*site.Table, []string, error) {
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	table, warnings, err := site.ReadMap(ctx, src)
	if err != nil {
		return nil, nil, fault.Of(err).WithPath(path)
	}
	return table, warnings, nil
}

// findSiteMap looks for the site map beside the recording, then from the directory of the caller on.
func findSiteMap(recording, lookIn string) (string, bool) {
	if lookIn == "" {
		return "", false
	}
	if found, ok := site.Find(filepath.Dir(recording)); ok {
		return found, true
	}
	return site.Find(lookIn)
}

// older reports whether a was written before b; false where that is not known.
func older(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && ia.ModTime().Before(ib.ModTime())
}

// relative is a path as seen from a directory, where it lies below it.
func relative(path, directory string) string {
	if directory == "" {
		return path
	}
	rel, err := filepath.Rel(directory, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}

// siteText is how documents spell a site: eight digits for an id of v1, sixteen for a key.
func siteText(t *warptrace.Trace, local uint32) string {
	if t.Header().Version == 1 {
		return fmt.Sprintf("0x%08x", t.SiteID(local))
	}
	return fmt.Sprintf("0x%016x", t.SiteID(local))
}

type recogniseRequest struct {
	requestLimits
	Path string `json:"path"`
}

// recogniseDocument says what a path holds.
type recogniseDocument struct {
	Schema string `json:"schema"`
	What   string `json:"what"` // "recording", "session" or "timeline"
}

// recognise tells recordings and sessions from everything else, which is a timeline's to refuse.
func recognise(j *job.Job, r *recogniseRequest) (*recogniseDocument, error) {
	doc := &recogniseDocument{Schema: "prlx.recognise/1", What: "timeline"}
	switch kind, err := kernelKind(j.Context(), r.Path); {
	case err != nil:
		return nil, err
	case kind != "":
		doc.What = kind
	}
	return doc, nil
}

// kernelKind is "recording", "session", or "" for what is neither.
func kernelKind(ctx context.Context, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || path == "" {
		return "", nil // whoever opens it says why that fails
	}
	if info.IsDir() {
		return sessionKind(path)
	}
	if !info.Mode().IsRegular() {
		return "", nil
	}
	head, _, err := file.Head(ctx, path, 16)
	if err != nil {
		return "", err
	}
	if warptrace.IsRecording(head) {
		return "recording", nil
	}
	return "", nil
}

// sessionKind tells a session: a directory with a manifest, or with recordings and nothing that looks like a trace.
func sessionKind(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fault.FromIO(dir, err)
	}
	recordings := false
	for _, e := range entries {
		if e.Name() == "session.json" {
			return "session", nil
		}
		recordings = recordings || !e.IsDir() && strings.HasSuffix(e.Name(), ".prlx")
	}
	if recordings {
		return "session", nil
	}
	return "", nil
}

// parsePatterns reads patterns of sites.
func parsePatterns(texts []string) ([]site.Pattern, error) {
	var out []site.Pattern
	for _, text := range texts {
		p, err := site.ParsePattern(text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
