package kernelreport

import (
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// place is a source location taken apart. Line 0 means that it is not known.
type place struct {
	File, Function string
	Line, Column   int
}

// placeOf takes apart "file:function:line:column". A function may hold colons (C++), a file may begin with a drive letter.
func placeOf(location string) place {
	rest, column, ok := cutNumber(location)
	if !ok {
		return place{Function: location}
	}
	head, line, ok := cutNumber(rest)
	if !ok { // "file:function:line" of a reader that knows no columns
		head, line, column = rest, column, 0
	}
	p := place{Line: line, Column: column}
	from := 0
	if len(head) > 2 && head[1] == ':' && (head[2] == '\\' || head[2] == '/') {
		from = 2
	}
	at := strings.IndexByte(head[from:], ':')
	if at < 0 {
		p.File = head
		return p
	}
	p.File, p.Function = head[:from+at], head[from+at+1:]
	return p
}

// cutNumber splits "text:12" at its last colon.
func cutNumber(s string) (head string, n int, ok bool) {
	at := strings.LastIndexByte(s, ':')
	if at < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[at+1:])
	if err != nil || n < 0 || n > 1<<30 {
		return s, 0, false
	}
	return s[:at], n, true
}

// short is the location as people write it: "kernel.py:12:7", the last part of the path only.
func (p place) short() string {
	if p.File == "" || p.Line == 0 {
		return p.Function
	}
	s := lastPart(p.File) + ":" + strconv.Itoa(p.Line)
	if p.Column > 0 {
		s += ":" + strconv.Itoa(p.Column)
	}
	return s
}

func lastPart(file string) string {
	if at := strings.LastIndexAny(file, `/\`); at >= 0 && at+1 < len(file) {
		return file[at+1:]
	}
	return file
}

// known reports whether an editor could open the place.
func (p place) known() bool { return p.File != "" && p.Line > 0 && len(p.File) <= maxText }

// relative is the path seen from root, with slashes; a path outside of root stays as it is.
func relative(file, root string) string {
	f := slashes(file)
	if root == "" {
		return f
	}
	r := strings.TrimSuffix(path.Clean(slashes(root)), "/") + "/"
	if inside, ok := strings.CutPrefix(path.Clean(f), r); ok {
		return inside
	}
	return f
}

func slashes(file string) string {
	if strings.Contains(file, "/") && !(len(file) > 2 && file[1] == ':') {
		return file
	}
	return strings.ReplaceAll(file, `\`, "/")
}

// uri is the path as a URI reference: relative where the path is, with scheme file where it is absolute.
func uri(file string) (reference string, isRelative bool) {
	file = valid(file)
	switch {
	case strings.HasPrefix(file, "/"):
		u := url.URL{Scheme: "file", Path: path.Clean("/" + strings.TrimLeft(file, "/"))}
		return u.String(), false
	case len(file) > 2 && file[1] == ':' && file[2] == '/':
		u := url.URL{Scheme: "file", Path: "/" + file}
		return u.String(), false
	}
	u := url.URL{Path: strings.TrimPrefix(path.Clean(file), "./")}
	return u.String(), true
}

// valid is the text as writeJSON keeps it, so that a document says the same before and after it was saved.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
