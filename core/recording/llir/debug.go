package llir

import (
	"strings"

	"github.com/prlx-go/prlx/core/recording/site"
)

// location is what a !DILocation says, with its chain of inlining.
type location struct{ chain []site.Frame }

// Limits of chains of metadata, which may go in circles.
const (
	maxFrames = 64
	maxScopes = 64
)

// chain is where an instruction comes from, innermost first; nil where nothing is known.
func (m *module) chain(debug int32) []site.Frame {
	if debug < 0 {
		return nil
	}
	if known, ok := m.memo[debug]; ok {
		return known.chain
	}
	var chain []site.Frame
	for id, ok := debug, true; ok && len(chain) < maxFrames; {
		text, found := m.nodeText(id)
		if !found || !strings.Contains(text, "DILocation(") {
			break
		}
		frame := site.Frame{Line: uint32(max(number(text, "line: "), 0)), Column: uint32(max(number(text, "column: "), 0))}
		if scope, known := reference(text, "scope: !"); known {
			frame.Function, frame.File = m.scope(scope)
		}
		chain = append(chain, frame)
		id, ok = reference(text, "inlinedAt: !")
	}
	m.memo[debug] = &location{chain}
	return chain
}

// nodeText is what stands behind the sign of a node.
func (m *module) nodeText(id int32) (string, bool) {
	s, ok := m.metadata[id]
	return m.at(s), ok
}

// scope is the function and the file of a scope, which may be a block inside of the function.
func (m *module) scope(id int32) (function, file string) {
	for range maxScopes {
		text, ok := m.nodeText(id)
		if !ok {
			return function, file
		}
		if file == "" {
			if f, known := reference(text, "file: !"); known {
				file = m.file(f)
			}
		}
		if strings.Contains(text, "DISubprogram(") {
			return quoted(text, "name: "), file
		}
		if id, ok = reference(text, "scope: !"); !ok {
			return function, file
		}
	}
	return function, file
}

// file is the path of a !DIFile.
func (m *module) file(id int32) string {
	text, ok := m.nodeText(id)
	if !ok {
		return ""
	}
	name, directory := quoted(text, "filename: "), quoted(text, "directory: ")
	if directory == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimSuffix(directory, "/") + "/" + name
}

// field finds what stands behind a key of a node: "line: ", at the start of a field.
func field(text, key string) (string, bool) {
	for from := 0; ; {
		i := strings.Index(text[from:], key)
		if i < 0 {
			return "", false
		}
		i += from
		if i > 0 && (text[i-1] == ' ' || text[i-1] == '(') {
			return text[i+len(key):], true
		}
		from = i + 1
	}
}

func number(text, key string) int64 {
	rest, ok := field(text, key)
	if !ok {
		return -1
	}
	n, ok := decimal(rest)
	if !ok {
		return -1
	}
	return int64(n)
}

func reference(text, key string) (int32, bool) {
	rest, ok := field(text, key)
	if !ok {
		return 0, false
	}
	return decimal(rest)
}

// quoted is a text in quotes behind a key, its escapes resolved.
func quoted(text, key string) string {
	rest, ok := field(text, key)
	if !ok || !strings.HasPrefix(rest, `"`) {
		return ""
	}
	s, _, ok := strings.Cut(rest[1:], `"`)
	if !ok {
		return ""
	}
	return unescaped(s)
}

// unescaped resolves \5C and its kin.
func unescaped(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+2 < len(s) {
			hi, ok1 := hexDigit(s[i+1])
			lo, ok2 := hexDigit(s[i+2])
			if ok1 && ok2 {
				b = append(b, hi<<4|lo)
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
