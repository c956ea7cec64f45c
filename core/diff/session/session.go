package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/safe"
)

// ManifestName is the manifest's file name inside a session's directory.
const ManifestName = "session.json"

// schemaName is the schema of our own form of the manifest.
const schemaName = "prlx.session/1"

// Session is the launches of one run, in the order in which they were launched.
type Session struct {
	Dir       string // its directory
	Manifest  bool   // there is a manifest; else the launches are the recordings found in the directory
	Described bool   // the manifest is the array of original prlx 0.5, not prlx.session/1
	Partial   bool   // the manifest says that recording did not come to its end
	Producer  string
	Launches  []Launch
	Warnings  []string
}

// Launch is one launch of a session.
type Launch struct {
	Number         uint64 // the launch index of the run that was recorded
	Kernel         string
	File           string // relative to the directory, with slashes
	Grid           [3]uint32
	Block          [3]uint32
	ArgumentDigest uint64            // hash over the arguments, 0 unknown
	ModuleHash     string            // "" unknown
	Stream         string            // "" unknown
	Origin         *origin.Origin    // what the kernel computes; nil unknown
	Fidelity       *Fidelity         // how far what the simulator computed can be trusted; nil unknown
	Partial        bool              // the recording of this launch did not come to its end
	Problem        error             // why the header could not be read; nil when it was read or not looked at
	Header         *warptrace.Header // nil until Describe
}

// name is how documents name a launch.
func (l *Launch) name() string { return fmt.Sprintf("%s (launch %d)", l.Kernel, l.Number) }

// Open opens the session in a directory, or that of a manifest. A directory without a manifest is a session of the recordings in it.
// The recordings themselves are not opened: one that is missing or damaged is that launch's problem.
func Open(ctx context.Context, path string) (*Session, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.FromIO(path, err)
	}
	dir := path
	if !info.IsDir() {
		if filepath.Base(path) != ManifestName {
			return nil, fault.Usagef("a session is a directory, this is a file").WithPath(path).
				WithHint("name the directory that has %s, or compare two recordings without --session", ManifestName)
		}
		dir = filepath.Dir(path)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fault.FromIO(dir, err)
	}
	defer root.Close()
	s := &Session{Dir: dir}
	// What a name stands for is asked before it is opened: opening a pipe would wait for whoever writes to it.
	switch found, err := root.Stat(ManifestName); {
	case err == nil && !found.Mode().IsRegular():
		return nil, fault.Formatf(s.manifestPath(), fault.Unknown, "the session manifest is not a regular file")
	case err == nil:
		return s, s.readManifest(ctx, root)
	case errors.Is(err, fs.ErrNotExist) && info.IsDir():
		return s, s.list(ctx, root)
	default:
		return nil, fault.FromIO(s.manifestPath(), err)
	}
}

// openTrace opens the recording of a launch. A path that leaves the directory, by itself or through links, is refused.
func (s *Session) openTrace(ctx context.Context, launch int) (*warptrace.Trace, error) {
	path, err := s.resolve(&s.Launches[launch])
	if err != nil {
		return nil, err
	}
	return warptrace.OpenPath(ctx, path)
}

// resolve returns where a launch's recording is.
func (s *Session) resolve(l *Launch) (string, error) {
	name := filepath.FromSlash(l.File)
	path := filepath.Join(s.Dir, name)
	if !filepath.IsLocal(name) {
		return "", s.outside(l, nil)
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return "", fault.FromIO(s.Dir, err)
	}
	defer root.Close()
	info, err := root.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return "", fault.Formatf(path, fault.Unknown, "the recording of %s is not a regular file", l.name())
	case err == nil:
		return path, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return "", fault.FromIO(path, err)
	}
	return "", s.outside(l, err)
}

// outside refuses a path that leaves the session; err says how, when that takes following links.
func (s *Session) outside(l *Launch, err error) error {
	return fault.Formatf(s.manifestPath(), fault.Unknown, "the file of %s is %q, which is not inside the session", l.name(), l.File).
		Wrap(err).WithHint("files are named relative to the manifest's directory, and neither they nor links lead out of it")
}

func (s *Session) manifestPath() string { return filepath.Join(s.Dir, ManifestName) }

// Describe reads the header of every recording and fills in what the manifest left open. A header that cannot be read is the
// launch's Problem. It does nothing the second time.
func (s *Session) Describe(j *job.Job) error {
	group, ctx := safe.NewGroup(j.Context())
	var next atomic.Int64
	for range min(j.Workers(), len(s.Launches)) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(s.Launches) {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				s.describe(ctx, i)
				j.Progress().Add(1)
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return j.Context().Err()
}

func (s *Session) describe(ctx context.Context, i int) {
	l := &s.Launches[i]
	if l.Header != nil || l.Problem != nil {
		return
	}
	t, err := s.openTrace(ctx, i)
	if err != nil {
		if ctx.Err() == nil {
			l.Problem = err
		}
		return
	}
	defer t.Close()
	l.Header = t.Header()
	l.fill(l.Header)
}

// fill takes from the recording's header what the manifest did not say.
func (l *Launch) fill(h *warptrace.Header) {
	if l.Kernel == "" {
		l.Kernel = h.Kernel
	}
	if l.Grid == ([3]uint32{}) {
		l.Grid = h.Grid
	}
	if l.Block == ([3]uint32{}) {
		l.Block = h.Block
	}
	if l.ArgumentDigest == 0 {
		l.ArgumentDigest = h.ArgumentDigest
	}
	if l.ModuleHash == "" {
		l.ModuleHash = h.ModuleHash
	}
	if l.Origin == nil {
		l.Origin = h.Origin
	}
	l.Partial = l.Partial || h.Truncated
}
