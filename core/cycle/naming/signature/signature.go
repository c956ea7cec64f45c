// Package signature gives a kernel's name two keys. The strict key says "the same kernel": demangled, without return type and
// argument list, with functor and data type. The loose key says "the same work, generated or tuned differently": template
// arguments, generated numbers and the tiles of matrix products are removed by rule. Users may add rules in a TOML file.
package signature

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxName bounds what is demangled and searched; a longer name is its own key.
const maxName = 1 << 14

// Strict is the key that two names share when they are the same kernel.
func (r *Rules) Strict(name string) string {
	return r.apply(strictKey, builtinStrict(name))
}

// Loose is the key that two names share when they do the same work. Names that differ only in what a generator numbers or a tuner
// chooses share it.
func (r *Rules) Loose(name string) string {
	return loosen(r.apply(looseKey, r.Strict(name)))
}

func builtinStrict(name string) string {
	name = strings.TrimSpace(name)
	if len(name) > maxName {
		return name
	}
	name = strings.TrimSuffix(name, ".kd") // the descriptor of a kernel in AMD's code objects
	if strings.HasPrefix(name, "_Z") {     // ROCm traces carry mangled names
		if plain, err := demangle.ToString(name, demangle.MaxLength(14)); err == nil && plain != "" {
			name = plain
		}
	}
	cut, cpp := cutArguments(name)
	if cpp || strings.HasPrefix(cut, "void ") || strings.Contains(cut, "::") {
		cut = cutReturnType(cut)
	}
	for strings.Contains(cut, "> >") {
		cut = strings.ReplaceAll(cut, "> >", ">>")
	}
	if cut == "" {
		return name
	}
	return cut
}

var closing = map[byte]byte{')': '(', '>': '<', ']': '[', '}': '{'}

// brackets visits the outermost bracket groups of s: text[from:to] with the brackets; to is len(s) for a group that is never
// closed. A ">" that closes nothing (a comparison, an arrow) is text.
func brackets(s string, visit func(open byte, from, to int) bool) {
	var stack []byte
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch c {
		case '(', '<', '[', '{':
			if c == '<' && strings.HasSuffix(s[:i], "operator") || c == '<' && strings.HasSuffix(s[:i], "operator<") {
				continue
			}
			if len(stack) == 0 {
				start = i
			}
			stack = append(stack, c)
		case ')', '>', ']', '}':
			at := len(stack) - 1
			if c != '>' {
				for at >= 0 && stack[at] == '<' && closing[c] != '<' { // "(a < b)": the "<" was a comparison
					at--
				}
			}
			if at < 0 || stack[at] != closing[c] {
				continue
			}
			stack = stack[:at]
			if at == 0 && !visit(s[start], start, i+1) {
				return
			}
		}
	}
	if len(stack) > 0 {
		visit(s[start], start, len(s))
	}
}

// cutArguments removes the argument list. A group in parentheses is no argument list when it follows a space ("Memcpy HtoD (Pinned
// -> Device)") or a scope goes on behind it ("f(int)::{lambda()#1}").
func cutArguments(s string) (string, bool) {
	at := -1
	brackets(s, func(open byte, from, to int) bool {
		if open != '(' || from == 0 || s[from-1] == ' ' || s[from-1] == ':' {
			return true
		}
		if s[from:to] == "()" && strings.HasSuffix(s[:from], "operator") {
			return true
		}
		rest := strings.TrimPrefix(s[to:], " const")
		if strings.HasPrefix(rest, "::") {
			return true
		}
		at = from
		return false
	})
	if at < 0 {
		return s, false
	}
	return s[:at], true
}

// cutReturnType removes what stands before the last space outside of brackets.
func cutReturnType(s string) string {
	masked := []byte(s)
	brackets(s, func(_ byte, from, to int) bool {
		for i := from; i < to; i++ {
			masked[i] = 'x'
		}
		return true
	})
	plain := strings.ReplaceAll(string(masked), "operator ", "operator_")
	plain = strings.TrimRight(strings.TrimSuffix(plain, " const"), " ")
	if i := strings.LastIndexByte(plain, ' '); i >= 0 && i+1 < len(plain) {
		return s[i+1 : len(plain)]
	}
	return s[:len(plain)]
}
