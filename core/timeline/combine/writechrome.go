package combine

import "github.com/prlx-go/prlx/core/fault"

func (t *task) writeChrome() error {
	return fault.Usagef("Chrome JSON output is not available in this version").WithHint("use --format run or xplane")
}
