package site

import (
	"path"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// Pattern chooses sites. ParsePattern makes one; the zero Pattern chooses none.
type Pattern struct {
	text     string
	id       uint64
	hasID    bool
	kind     string // glob over Kind.String
	function string // glob
	file     string // glob over the path or its last element
	line     uint32 // 0: any
}

const patternHint = `write "kernel.py:42", "kernel.py", "func:softmax*", "kind:atomic" or "0x1234abcd"`

// ParsePattern reads a pattern: an id or key ("0x1234abcd"), a file with or without a line ("kernel.py:42", "src/*.cu"), a function
// ("func:softmax*") or a kind ("kind:atomic"). Stars, question marks and brackets are globs as in path.Match.
func ParsePattern(text string) (Pattern, error) {
	p := Pattern{text: text}
	trimmed := strings.TrimSpace(text)
	glob := ""
	switch {
	case trimmed == "":
		return p, fault.Usagef("a site pattern is empty").WithHint(patternHint)
	case strings.HasPrefix(trimmed, "0x") || strings.HasPrefix(trimmed, "0X"):
		id, err := strconv.ParseUint(trimmed[2:], 16, 64)
		if err != nil {
			return p, fault.Usagef("%q is not a site id", text).WithHint(patternHint)
		}
		p.id, p.hasID = id, true
		return p, nil
	case strings.HasPrefix(trimmed, "kind:"):
		p.kind = trimmed[len("kind:"):]
		glob = p.kind
	case strings.HasPrefix(trimmed, "func:"):
		p.function = trimmed[len("func:"):]
		glob = p.function
	default:
		p.file = trimmed
		if i := strings.LastIndexByte(trimmed, ':'); i > 0 {
			if n, err := strconv.ParseUint(trimmed[i+1:], 10, 32); err == nil && n > 0 {
				p.file, p.line = trimmed[:i], uint32(n)
			}
		}
		glob = p.file
	}
	if _, err := path.Match(glob, ""); err != nil || glob == "" {
		return p, fault.Usagef("%q is not a site pattern", text).WithHint(patternHint)
	}
	if p.kind != "" && !someKind(p.kind) {
		return p, fault.Usagef("%q names no kind of site", text).WithHint("the kinds are %s", strings.Join(kindNames[:], ", "))
	}
	return p, nil
}

func someKind(glob string) bool {
	for k := range 256 {
		if globs(glob, Kind(k).String()) {
			return true
		}
	}
	return false
}

// IsID reports whether the pattern is the id or key of one site, which a recording may know without its site map.
func (p Pattern) IsID() bool { return p.hasID }

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Match reports whether a site is meant. id is what names it in its recording; s may be nil, then only ids match. A location matches
// when any frame of the chain does, so that a pattern may name the line that a helper was inlined at.
func (p Pattern) Match(s *Site, id uint64) bool {
	if p.hasID {
		return id == p.id || s != nil && (uint64(s.ID) == p.id && p.id != 0 || uint64(s.Key) == p.id && p.id != 0)
	}
	if s == nil {
		return false
	}
	if p.kind != "" {
		return globs(p.kind, s.Kind.String())
	}
	for _, f := range s.Chain {
		if p.function != "" {
			if globs(p.function, f.Function) {
				return true
			}
			continue
		}
		if p.file != "" && (p.line == 0 || p.line == f.Line) && (globs(p.file, f.File) || globs(p.file, path.Base(f.File)) || strings.HasSuffix(f.File, "/"+p.file)) {
			return true
		}
	}
	return false
}

func globs(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return err == nil && ok
}
