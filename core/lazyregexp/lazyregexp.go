// Package lazyregexp holds regular expressions that are compiled when they are first used.
//
// The core has dozens of them, and every command loads the whole core: compiling all at the start would cost each command
// milliseconds for expressions that it never uses. A test compiles every expression of the core (core/startup_test.go), so that a
// mistake in one is found even where no other test reaches it.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression in the syntax of package regexp. It may be used by several goroutines.
type Regexp struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// New is the regular expression of a text, which must be valid: its first use panics where it is not.
func New(text string) *Regexp { return &Regexp{text: text} }

func (r *Regexp) regexp() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.text) })
	return r.compiled
}

// MatchString reports whether the text holds a match.
func (r *Regexp) MatchString(s string) bool { return r.regexp().MatchString(s) }

// FindStringSubmatch is the leftmost match and what its groups matched; nil without a match.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.regexp().FindStringSubmatch(s) }

// FindAllStringSubmatch is that of the package regexp.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.regexp().FindAllStringSubmatch(s, n)
}

// FindAllString are the first n matches that do not overlap, all of them where n is negative; nil without a match.
func (r *Regexp) FindAllString(s string, n int) []string { return r.regexp().FindAllString(s, n) }

// ReplaceAllString is the text with every match replaced; $1 in the replacement is what the first group matched.
func (r *Regexp) ReplaceAllString(s, replacement string) string {
	return r.regexp().ReplaceAllString(s, replacement)
}
