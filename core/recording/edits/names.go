package edits

import (
	"slices"
	"strings"
)

// NamedBefore returns the changed statement of a side whose names lead to one of the targets: what it assigns is read by a target, or by
// statements whose names are. Of several it is the last in the text. It follows the names of one function, with what stands inside of
// conditions and loops; it does not follow memory, calls, or attributes.
func (c *Changes) NamedBefore(side Side, targets []Line) (Line, bool) {
	changed := c.ChangedLines(side)
	for _, at := range slices.Backward(changed) {
		p, i := c.find(at)
		if p == nil || c.Renamed(at) {
			continue
		}
		wanted := map[int]bool{}
		for _, target := range targets {
			if q, k := c.find(target); q == p {
				wanted[p.of[side].statement[k]] = true
			}
		}
		if p.of[side].leads(i, wanted) {
			return at, true
		}
	}
	return Line{}, false
}

// leads reports whether names lead from a statement to one of those that are wanted, by their first lines.
func (t *text) leads(from int, wanted map[int]bool) bool {
	if wanted[from] {
		return true
	}
	names := map[string]bool{}
	for range 2 { // what a loop carries is assigned behind its use
		inside := -1 // the indentation of a compound statement that is led to
		for i := range t.lines {
			if t.statement[i] != i || t.code[i] == "" {
				continue
			}
			code := t.statementAt(i)
			indent := len(code) - len(strings.TrimLeft(code, " \t"))
			if indent <= inside {
				inside = -1
			}
			assigned, read := namesOf(code)
			led := i == from || inside >= 0 || slices.ContainsFunc(read, func(name string) bool { return names[name] })
			if !led {
				continue
			}
			if wanted[i] {
				return true
			}
			for _, name := range assigned {
				names[name] = true
			}
			if strings.HasSuffix(code, ":") && inside < 0 {
				inside = indent
			}
		}
	}
	return false
}

// statementAt is the code of a statement as one line.
func (t *text) statementAt(begin int) string {
	end := begin
	for end < len(t.lines) && t.statement[end] == begin {
		end++
	}
	return strings.Join(t.code[begin:end], " ")
}

// namesOf returns the names that a statement assigns, and those that it reads. Names that it reads and assigns are both.
func namesOf(code string) (assigned, read []string) {
	trimmed := strings.TrimSpace(code)
	if rest, is := strings.CutPrefix(trimmed, "for "); is {
		if targets, over, found := strings.Cut(rest, " in "); found {
			return identifiers(targets), identifiers(over)
		}
	}
	at := assignment(trimmed)
	if at < 0 {
		return nil, identifiers(trimmed)
	}
	target := strings.TrimRight(trimmed[:at], "+-*/%&|^<>@ ")
	assigned, read = identifiers(target), identifiers(trimmed[at+1:])
	if target != strings.TrimRight(trimmed[:at], " ") || strings.Contains(target, "[") {
		read = append(read, assigned...) // x += 1
	}
	return assigned, read
}

// assignment is the place of the sign that assigns, outside of brackets and strings; -1 none.
func assignment(code string) int {
	var s scanner
	for i := 0; i < len(code); {
		if s.quote != "" {
			i += s.inside(code[i:])
			continue
		}
		switch c := code[i]; {
		case c == '"' || c == '\'':
			s.quote = code[i : i+1]
		case c == '=' && s.depth == 0:
			if i+1 < len(code) && code[i+1] == '=' {
				i++
				break
			}
			if before := code[max(i-1, 0)]; before == '!' || before == '<' && !strings.HasSuffix(code[:i], "<<") || before == '>' && !strings.HasSuffix(code[:i], ">>") {
				break
			}
			return i
		default:
			s.depth = max(0, s.depth+bracket(c))
		}
		i++
	}
	return -1
}

// identifiers lists the names in a piece of code; attributes and keywords of calls belong to what they are of.
func identifiers(code string) []string {
	var found []string
	for i := 0; i < len(code); {
		if !letter(code[i]) {
			i++
			continue
		}
		end := i
		for end < len(code) && (letter(code[end]) || code[end] >= '0' && code[end] <= '9') {
			end++
		}
		if isName(code, i, end) {
			found = append(found, code[i:end])
		}
		i = end
	}
	return found
}

// isName reports whether a word is a name of its own: no attribute, no keyword of a call, no end of a number.
func isName(code string, from, end int) bool {
	keyword := end < len(code) && code[end] == '=' && (end+1 == len(code) || code[end+1] != '=')
	return (from == 0 || code[from-1] != '.' && (code[from-1] < '0' || code[from-1] > '9')) && !keyword
}

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
