package joining

// What the tests of package joining_test see of this package.

const (
	ByCollectives = byCollectives
	ByProbes      = byProbes
)
