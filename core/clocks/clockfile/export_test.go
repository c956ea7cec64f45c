package clockfile

// What the tests of package clockfile_test see of this package.

type Basis = basis

const (
	AlphaDrift = alphaDrift
	AlphaMixed = alphaMixed
	AlphaRatio = alphaRatio
)
