package diff

import (
	"context"
	"math"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// noiseSize is how many times as far apart as in any two equal runs floats may be between A and B and still be noise: the largest of a
// few samples is exceeded now and then by a little, and never by much where rounding alone is at work.
const noiseSize = 8

// maxSizedChunks is how many chunks of an array are looked at for that.
const maxSizedChunks = 1024

// farApart is how far apart elements of an array are, over the chunks that differ and whose contents both recordings kept: relative to
// the larger one, and at least 1. ok is false where that cannot be determined: no contents, no floats.
func farApart(ctx context.Context, p *arrayPair, keeps bool, a, b *warptrace.Trace) (distance float64, ok bool, err error) {
	if !keeps || p.a == nil || p.b == nil || len(p.chunks) == 0 {
		return 0, false, nil
	}
	types := p.types()
	t := types[0]
	if types[1] != t {
		return 0, false, nil
	}
	if _, isFloat := warptrace.Float(0, t); !isFloat {
		return 0, false, nil
	}
	err = keptOfBoth(ctx, a, b, p, p.chunks[:min(len(p.chunks), maxSizedChunks)], func(x, y *warptrace.Contents) bool {
		size := int(x.Element)
		for at := 0; size > 0 && size == int(y.Element) && at+size <= min(len(x.Bytes), len(y.Bytes)); at += size {
			if !x.WrittenAt(at) || !y.WrittenAt(at) {
				continue
			}
			ok = true
			va, _ := warptrace.Float(wordAt(x.Bytes[at:at+size]), t)
			vb, _ := warptrace.Float(wordAt(y.Bytes[at:at+size]), t)
			if va != vb && !(math.IsNaN(va) && math.IsNaN(vb)) {
				apart := math.Abs(va-vb) / max(math.Abs(va), math.Abs(vb), 1)
				if math.IsNaN(apart) { // one of them is not a number
					apart = math.Inf(1)
				}
				distance = max(distance, apart)
			}
		}
		return true
	})
	return distance, ok, err
}

// tooFar takes the mark of noise from the chunks of an array whose floats are much further apart than those of equal runs.
func (n *outputNoise) tooFar(p *arrayPair, distance float64) {
	if most, known := n.apart[p.name()]; known && distance > noiseSize*most {
		for i := range p.noise {
			p.noise[i] = false
		}
	}
}
