package diagnosing

// What the tests of package diagnosing_test see of this package.

const (
	ClassEnded         = classEnded
	ClassMismatch      = classMismatch
	ClassNeverArrived  = classNeverArrived
	ClassStage         = classStage
	ClassStraggler     = classStraggler
	StatusInconclusive = statusInconclusive
)
