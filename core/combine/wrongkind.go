package combine

import (
	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
)

// flagOf names the flag that takes clock readings of a kind.
var flagOf = map[clockfile.Kind]string{
	clockfile.KindSnapshots: "--snapshots", clockfile.KindWindows: "--probes", clockfile.KindStamps: "--probes",
	clockfile.KindRounds: "--offsets", clockfile.KindDeclared: "--declared",
}

// wrongKind is the error of clock readings that were given as those of another kind.
func wrongKind(f *clockfile.File, expected string) *fault.Error {
	err := fault.New(fault.Usage, "holds %s, expected %s", f.Kind, expected)
	if flag := flagOf[f.Kind]; flag != "" {
		return err.WithHint("such a file is given by %s", flag)
	}
	return err
}
