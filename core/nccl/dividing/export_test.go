package dividing

// What the tests of package dividing_test see of this package.

const (
	StatusFaster       = statusFaster
	StatusInconclusive = statusInconclusive
	StatusSame         = statusSame
	StatusSlower       = statusSlower
)
