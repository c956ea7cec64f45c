package chrometrace

import "github.com/prlx-go/prlx/core/trace/source"

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte { return source.AppendString(dst, s) }

// appendStamp prints microseconds with at least decimals digits after the point.
func appendStamp(dst []byte, s stamp, decimals int) []byte {
	return source.AppendStamp(dst, s.us, s.ps, decimals)
}
