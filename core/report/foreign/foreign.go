// Package foreign makes text from files fit for reports: names and sentences that anybody can have written.
package foreign

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a text fit for people: valid UTF-8, no control characters, none that turn the direction of text or that cannot be seen, at
// most limit characters. What is not fit becomes U+FFFD, and an ellipsis stands for what is cut off.
func Clean(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == limit {
			b.WriteRune('…')
			break
		}
		if unfit(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// Fit is Clean without a limit.
func Fit(s string) string {
	return strings.Map(func(r rune) rune {
		if unfit(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// Cell keeps a spreadsheet from evaluating a text as a formula: one that begins like a formula gets an apostrophe in front.
func Cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// markdownSpecial are the characters that mean something in a line of Markdown, of CommonMark and in tables.
const markdownSpecial = "\\`*_{}[]()<>#+-!|~&"

// Markdown is a text within a line of Markdown: Fit, with every character escaped that would be more than itself, and without
// addresses that become links by themselves.
func Markdown(s string) string {
	s = Fit(s)
	var b strings.Builder
	for i, r := range s {
		if strings.ContainsRune(markdownSpecial, r) || r == ':' && strings.HasPrefix(s[i:], "://") || r == '.' && endsInWWW(s[:i]) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func endsInWWW(s string) bool {
	return len(s) >= 3 && strings.EqualFold(s[len(s)-3:], "www")
}

func unfit(r rune) bool {
	return r == utf8.RuneError || r == 0xFFFE || r == 0xFFFF ||
		r != ' ' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}
