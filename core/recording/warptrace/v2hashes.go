package warptrace

import "math/bits"

// HashStart is what a hash over lanes begins with.
const HashStart = 1

// HashLanes adds the values of lanes to a hash. Recorders give events of loads and stores the hash over all lanes as their value (TypeHash):
// of a load over the values, of a store over the addresses, then the values; element by element where it has several.
func HashLanes(h uint64, values []uint64, lanes uint64) uint64 {
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros64(rest)
		h = (h ^ values[l]*0x9e3779b97f4a7c15 ^ uint64(l)) * 0x100000001b3
		h ^= h >> 29
	}
	return h
}

// hashedOperands says which operands the value of an event is a hash over: those of its snapshots, which follow each other.
type hashedOperands struct {
	n     int
	head  func(i int) (event int32, role SnapshotRole, active uint64, single bool)
	lanes func(i int, second bool) []uint64
}

// xor takes from values what can be computed again: where an event has its snapshots, its hash is 0 then. A second time gives the values back.
func (o *hashedOperands) xor(types []ValueType, values []uint64) {
	at, h := int32(-1), uint64(0)
	end := func() {
		if at >= 0 {
			values[at] ^= h
		}
		at = -1
	}
	for i := range o.n {
		event, role, active, single := o.head(i)
		if event < 0 || types[event] != TypeHash || role != RoleLoad && role != RoleStore || single {
			end()
			continue
		}
		if event != at {
			end()
			at, h = event, HashStart
			if role == RoleStore {
				h = HashLanes(h, o.lanes(i, false), active)
			}
		}
		h = HashLanes(h, o.lanes(i, true), active)
	}
	end()
}

// hashedSnapshots are the operands of snapshots that are written.
func hashedSnapshots(all []Snapshot, wave int) *hashedOperands {
	none := make([]uint64, wave)
	return &hashedOperands{
		n: len(all),
		head: func(i int) (int32, SnapshotRole, uint64, bool) {
			return all[i].Event, all[i].Role, all[i].Active & fullWave(wave), all[i].Rhs == nil
		},
		lanes: func(i int, second bool) []uint64 {
			lanes := all[i].Lhs
			if second {
				lanes = all[i].Rhs
			}
			if len(lanes) < wave {
				lanes = append(lanes[:len(lanes):len(lanes)], none[len(lanes):]...)
			}
			return lanes
		},
	}
}

// hashed are the operands of a warp that is read, whose track is decoded.
func (t *v2Tracks) hashed(warp int) *hashedOperands {
	track, row := &t.tracks[t.of[warp]], int(t.row[warp])
	heads, l := t.heads[track.from:][:track.n], &track.layout
	return &hashedOperands{
		n: len(heads),
		head: func(i int) (int32, SnapshotRole, uint64, bool) {
			return heads[i].event, heads[i].role, t.active(track, row, i) & fullWave(t.wave), heads[i].single
		},
		lanes: func(i int, second bool) []uint64 {
			column, at := l.places[i].columns+firstColumn, l.places[i].at
			if second {
				column, at = l.places[i].columns+secondColumn, l.places[i].second
			}
			return track.numbers[column][(row*l.counts[column]+at)*t.wave:][:t.wave]
		},
	}
}
