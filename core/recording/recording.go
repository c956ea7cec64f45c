// Package recording opens recordings of kernels as people name them: a path that may be another format, a site map that names the sites
// of format v1 and may have to be looked for. What is in a recording is package warptrace's.
package recording

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Maps says where the names of the sites of v1 recordings come from.
type Maps struct {
	SiteMap string // the file; "" looks for one
	LookIn  string // the directory from which it is looked for besides that of the recording; "" does not look
}

// Recording is an open recording with what was noticed on the way.
type Recording struct {
	*warptrace.Trace
	SiteMap  string // the site map in use, "" none
	Found    bool   // the site map was looked for, not named
	Bytes    int64  // of the file, as it lies on disk
	Warnings []string
}

// Open opens a recording and gives one of format v1 the sites of a site map.
func Open(ctx context.Context, path string, maps Maps) (*Recording, error) {
	t, err := OpenTrace(ctx, path)
	if err != nil {
		return nil, err
	}
	var size int64
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	r, err := Of(ctx, t, path, size, maps)
	if err != nil {
		t.Close()
	}
	return r, err
}

// Of gives an open recording of format v1 the sites of a site map. path is where it lies, size how many bytes it has there.
func Of(ctx context.Context, t *warptrace.Trace, path string, size int64, maps Maps) (*Recording, error) {
	r := &Recording{Trace: t, Bytes: size}
	if err := r.nameSites(ctx, path, maps); err != nil {
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

// OpenTrace opens a recording and names a file that is certainly none. What is not known may be a damaged one: its reader says where.
// The path is opened once: it may be a pipe.
func OpenTrace(ctx context.Context, path string) (*warptrace.Trace, error) {
	if err := refuseDirectory(path); err != nil {
		return nil, err
	}
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

func (r *Recording) nameSites(ctx context.Context, path string, maps Maps) error {
	if r.Header().Version != 1 {
		if maps.SiteMap != "" {
			if _, err := os.Stat(maps.SiteMap); err != nil {
				return fault.FromIO(maps.SiteMap, err)
			}
			r.Warnings = append(r.Warnings, "the recording has its sites inside: the site map that was named is not used")
		}
		return nil
	}
	r.SiteMap = maps.SiteMap
	if r.SiteMap == "" {
		r.SiteMap, r.Found = findSiteMap(path, maps.LookIn)
	}
	if r.SiteMap == "" {
		return nil
	}
	table, warnings, err := readSiteMap(ctx, r.SiteMap)
	if err != nil {
		return err
	}
	r.SetSites(table)
	r.Warnings = append(r.Warnings, warnings...)
	if older(r.SiteMap, path) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s is older than the recording: its lines may be those of another build", filepath.Base(r.SiteMap)))
	}
	return nil
}

// readSiteMap reads the file of a site map, with what is odd in it.
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

// Table reads the site map that m names, else the one that is found for a recording at path; nil where there is none. found is its path
// where it was looked for.
func (m Maps) Table(ctx context.Context, path string) (table *site.Table, found string, err error) {
	named := m.SiteMap
	if named == "" {
		var ok bool
		if named, ok = findSiteMap(path, m.LookIn); !ok {
			return nil, "", nil
		}
		found = named
	}
	table, _, err = readSiteMap(ctx, named)
	return table, found, err
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

// Relative is a path as seen from a directory, where it lies below it.
func Relative(path, directory string) string {
	if directory == "" {
		return path
	}
	rel, err := filepath.Rel(directory, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}

// SiteText is how documents spell a site: eight digits for an id of v1, sixteen for a key.
func SiteText(t *warptrace.Trace, local uint32) string {
	if t.Header().Version == 1 {
		return fmt.Sprintf("0x%08x", t.SiteID(local))
	}
	return fmt.Sprintf("0x%016x", t.SiteID(local))
}

// Holds says what is at a path: "recording", "session", or "" for what is neither.
func Holds(ctx context.Context, path string) (string, error) {
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
