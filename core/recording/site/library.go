package site

import (
	"path"
	"strings"
)

// libraryFolders are the folders of libraries whose code is inlined into kernels of users: tl.sum is a few lines of Triton's own.
// A recording may come from another machine, so they are known by their names, wherever they were installed.
var libraryFolders = []string{"triton/language/", "torch/_inductor/runtime/", "include/cccl/", "include/crt/", "include/cooperative_groups/"}

// libraryFiles are the headers of CUDA and of clang whose functions are inlined into kernels, as globs over their names.
var libraryFiles = []string{
	"*_indirect_functions.h", "sm_*_intrinsics.hpp", "sm_*_atomic_functions.hpp", "device_atomic_functions.hpp", "cooperative_groups.h",
	"cuda_fp*.hpp", "cuda_bf16.hpp", "cuda_pipeline*.h", "cuda_awbarrier*.h", "__clang_cuda_*.h",
}

// noLibrary, as the only pattern of libraries, says that no file is one: places are then the innermost frames.
const noLibrary = "none"

// libraries says which files belong to a library, with an answer for each file that was asked about.
type libraries struct {
	more  []string
	none  bool
	known map[string]bool
}

func newLibraries(patterns []string) *libraries {
	return &libraries{more: patterns, none: len(patterns) == 1 && patterns[0] == noLibrary, known: make(map[string]bool)}
}

// has reports whether a file belongs to a library: it lies in a folder of one, or a pattern names it, its last element or a folder
// that it lies in.
func (l *libraries) has(file string) bool {
	if is, ok := l.known[file]; ok {
		return is
	}
	is := !l.none && l.matches("/"+strings.TrimPrefix(strings.ReplaceAll(file, `\`, "/"), "/"))
	l.known[file] = is
	return is
}

func (l *libraries) matches(file string) bool {
	for _, folder := range libraryFolders {
		if strings.Contains(file, "/"+folder) {
			return true
		}
	}
	for _, p := range libraryFiles {
		if globs(p, path.Base(file)) {
			return true
		}
	}
	for _, p := range l.more {
		if globs(p, file) || globs(p, path.Base(file)) || strings.Contains(file, "/"+strings.Trim(p, "/")+"/") {
			return true
		}
	}
	return false
}

// shown is the position in a chain of the frame that names a place to its user: the innermost with a line that is of no library, else
// the outermost with a line.
func (l *libraries) shown(chain []Frame) int {
	outermost := 0
	for i := range chain {
		if chain[i].Line == 0 {
			continue
		}
		if outermost = i; !l.has(chain[i].File) {
			break
		}
	}
	return outermost
}

// User is the frame of a chain, innermost first, that names a place to its user: the innermost with a line outside of the libraries that
// are known by name, else the outermost with a line. It is nil where no line is known.
func User(chain []Frame) *Frame {
	at := newLibraries(nil).shown(chain)
	if at >= len(chain) || chain[at].Line == 0 {
		return nil
	}
	return &chain[at]
}

// WithLibraries is the table whose sites name the innermost frame outside of libraries: of those that are known by name, and of files
// that a pattern means: a glob over the path or its last element, or a folder. The one pattern noLibrary turns them all off.
func (t *Table) WithLibraries(patterns []string) *Table {
	if t == nil {
		return nil
	}
	out := *t
	out.sites = append([]Site(nil), t.sites...)
	out.name(newLibraries(patterns))
	return &out
}

// name finds which frame names each site.
func (t *Table) name(l *libraries) {
	for i := range t.sites {
		t.sites[i].shown = l.shown(t.sites[i].Chain)
	}
}

// Shown returns the location that names the site to its user: the innermost frame that is not of a library, once the site is in a
// Table. The zero Frame where nothing is known.
func (s *Site) Shown() Frame {
	if len(s.Chain) == 0 {
		return Frame{}
	}
	return s.Chain[min(s.shown, len(s.Chain)-1)]
}

// Inside returns the frames of libraries within Shown, innermost first.
func (s *Site) Inside() []Frame { return s.Chain[:min(s.shown, len(s.Chain))] }
