package site

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"
	"strings"
)

// KeyOf returns the key of a site: FNV-1a-64 over its chain (innermost first; of every frame the last element of the file, the
// function, line and column), kind and occurrence, as docs/formats/prlx-sites.md spells it. Directories do not count, so that a
// build elsewhere gives the same keys. It is never 0.
func KeyOf(s *Site) Key {
	h := fnv.New64a()
	b := appendChain(make([]byte, 0, 128), s)
	b = strconv.AppendUint(append(b, "kind "...), uint64(s.Kind), 10)
	b = strconv.AppendUint(append(b, " occurrence "...), uint64(s.Occurrence), 10)
	h.Write(append(b, '\n'))
	return Key(max(1, h.Sum64()))
}

func appendChain(b []byte, s *Site) []byte {
	for i := range s.Chain {
		f := &s.Chain[i]
		b = append(append(b, fileBase(f.File)...), 0)
		b = append(append(b, f.Function...), 0)
		b = strconv.AppendUint(b, uint64(f.Line), 10)
		b = strconv.AppendUint(append(b, ':'), uint64(f.Column), 10)
		b = append(b, '\n')
	}
	return b
}

// fileBase is the last element of a path of either kind of slash: recordings travel between systems.
func fileBase(file string) string { return file[strings.LastIndexAny(file, `/\`)+1:] }

// AssignKeys sets Occurrence and Key of the sites of one module, in their order, so that no two share a key.
//
// Sites with a hash of their code count among those of one hash, from a number that the hash gives. So a compare that one language has
// and the other does not, at a line with many, leaves the keys of the others as they are.
func AssignKeys(sites []Site) {
	next := make(map[string]uint32, len(sites))
	used := make(map[Key]struct{}, len(sites))
	var text []byte
	for i := range sites {
		s := &sites[i]
		text = append(appendChain(text[:0], s), byte(s.Kind))
		text = binary.LittleEndian.AppendUint32(text, s.Code)
		n, counted := next[string(text)]
		if !counted && s.Code != 0 {
			n = s.Code << occurrenceBits
		}
		for {
			s.Occurrence = n
			s.Key = KeyOf(s)
			n++
			if _, taken := used[s.Key]; !taken {
				break
			}
		}
		next[string(text)] = n
		used[s.Key] = struct{}{}
	}
}

// occurrenceBits are those that count in an occurrence which a hash of code begins.
const occurrenceBits = 8

func hex16(v uint64) string {
	const digits = "0123456789abcdef"
	var b [16]byte
	for i := range b {
		b[i] = digits[v>>(60-4*i)&15]
	}
	return string(b[:])
}
