//go:build gopydeps

package pybind

// The generated code imports this; naming it here keeps it in go.mod and in vendored trees.
import _ "github.com/go-python/gopy/gopyh"
