package site

import "github.com/ianlancetaylor/demangle"

// maxMangled bounds what is demangled; a longer name stays as it is.
const maxMangled = 4096

// Readable is the name of a function as people wrote it, without its parameters: demangled where C++ or Rust mangled it.
func Readable(name string) string {
	if len(name) > maxMangled || len(name) < 3 || name[0] != '_' {
		return name
	}
	if plain, err := demangle.ToString(name, demangle.NoParams, demangle.MaxLength(10)); err == nil && plain != "" {
		return plain
	}
	return name
}
