package api

// What the tests of package api_test see of this package.

type Size = size

var (
	NewTable  = newTable
	ParseSize = parseSize
)
