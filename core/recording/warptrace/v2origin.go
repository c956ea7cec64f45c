package warptrace

import (
	"errors"

	"github.com/prlx-go/prlx/core/recording/origin"
)

// v2MaxOrigin is how many bytes of a header say what the kernel computes. A fused kernel of a few dozen operations takes a few kilobytes.
const v2MaxOrigin = 256 << 10

// encodeOrigin leaves out operations that do not fit.
func encodeOrigin(o *origin.Origin) message {
	m := message(nil).text(1, o.Region).text(2, o.Graph).flag(3, o.Backward)
	for i := range o.Nodes {
		n := &o.Nodes[i]
		one := message(nil).text(1, n.Node).text(2, n.Op).text(3, n.Module).text(4, n.File).uint(5, uint64(n.Line)).text(6, n.Function).text(7, n.Code)
		if len(m)+len(one) > v2MaxOrigin {
			return m.uint(5, uint64(len(o.Nodes)-i))
		}
		m = m.sub(4, one)
	}
	return m.uint(5, uint64(o.More))
}

func decodeOrigin(b []byte) (*origin.Origin, error) {
	o := &origin.Origin{Nodes: []origin.Node{}}
	err := eachField(b, func(f *field) (err error) {
		switch f.num {
		case 1:
			o.Region = f.text()
		case 2:
			o.Graph = f.text()
		case 3:
			o.Backward = f.v != 0
		case 4:
			if len(o.Nodes) == origin.MaxNodes {
				return errors.New("its origin has more operations than are read")
			}
			var n origin.Node
			n, err = decodeNode(f.b)
			o.Nodes = append(o.Nodes, n)
		case 5:
			o.More = int64(min(f.v, 1<<31))
		}
		return err
	})
	if err == nil && o.Check() != nil {
		err = errors.New("a text of its origin is longer than is read")
	}
	return o, err
}

func decodeNode(b []byte) (n origin.Node, err error) {
	err = eachField(b, func(f *field) error {
		switch f.num {
		case 1:
			n.Node = f.text()
		case 2:
			n.Op = f.text()
		case 3:
			n.Module = f.text()
		case 4:
			n.File = f.text()
		case 5:
			n.Line = uint32(f.v)
		case 6:
			n.Function = f.text()
		case 7:
			n.Code = f.text()
		}
		return nil
	})
	return n, err
}
