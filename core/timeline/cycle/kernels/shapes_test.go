package kernels

import (
	"context"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// fromBytes reads a trace that is in memory.
func fromBytes(name string, b []byte, opt Options) (*Trace, error) {
	ctx := context.Background()
	if isXSpace(b[:min(len(b), headBytes)]) {
		src, err := file.FromBytes(name, b)
		if err != nil {
			return nil, err
		}
		g, err := gatherXSpace(ctx, src, opt, nil)
		if err != nil {
			return nil, err
		}
		return g.finish(ctx, "xspace")
	}
	if hint := otherFormat(b); hint != "" {
		return nil, fault.Formatf(name, 0, "not a trace that cycles are found in").WithHint("%s", hint)
	}
	in, err := file.StreamBytes(name, b)
	if err != nil {
		return nil, err
	}
	g, err := readChrome(ctx, in, name, opt, nil)
	if err != nil {
		return nil, err
	}
	return g.finish(ctx, "chrome")
}
