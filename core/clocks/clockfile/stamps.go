package clockfile

import "fmt"

// Stamp is one probe and its answer: four readings in ns, each on the wall clock of the node that made it.
type Stamp struct {
	Src, Dst int32
	Seq      int64
	T1       int64 // Src sends the probe
	T2       int64 // Dst receives it
	T3       int64 // Dst sends the answer
	T4       int64 // Src receives it
}

// LongestTrip is what the round trip took at most: an answer may be sent a while after the probe arrived, and two clocks, which differ by less
// than 1000 ppm, take that for different times.
func (s Stamp) LongestTrip() int64 { return (s.T4 - s.T1) - (s.T3 - s.T2) + (s.T3-s.T2)/1000 }

func (f *File) stamp(b []byte) error {
	var s Stamp
	have := 0
	err := object(b, func(key, value []byte) error {
		var err error
		var n int
		switch string(key) {
		case "src":
			n, err = nodeID(value)
			s.Src = int32(n)
			have |= 1
		case "dst":
			n, err = nodeID(value)
			s.Dst = int32(n)
			have |= 2
		case "seq":
			s.Seq, _, err = integer(value)
		case "t1":
			s.T1, err = instant(value)
			have |= 4
		case "t2":
			s.T2, err = instant(value)
			have |= 8
		case "t3":
			s.T3, err = instant(value)
			have |= 16
		case "t4":
			s.T4, err = instant(value)
			have |= 32
		}
		return err
	})
	if err != nil {
		return err
	}
	if have != 63 {
		return fmt.Errorf("a probe stamp needs src, dst, t1, t2, t3 and t4")
	}
	if s.Src == s.Dst {
		return fmt.Errorf("node %d probes itself", s.Src)
	}
	f.Stamps = append(f.Stamps, s)
	return nil
}

// instant reads an absolute instant in ns: positive, and printed with all its digits.
func instant(v []byte) (int64, error) {
	n, quantum, err := integer(v)
	if err != nil {
		return 0, err
	}
	if n <= 0 {
		return 0, fmt.Errorf("%d ns is not an instant", n)
	}
	if quantum > 1 {
		return 0, fmt.Errorf("%q is an instant printed with too few digits (+-%.0f ns)", clip(string(v)), quantum)
	}
	return n, nil
}
