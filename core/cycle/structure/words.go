package structure

import (
	"hash/fnv"

	"github.com/prlx-go/prlx/core/cycle/naming/signature"
)

// Words are the signatures of the names of a trace, numbered: two names with one key have one symbol.
type Words struct {
	names         []string
	Strict, Loose []uint32 // symbols by name
	StrictKeys    []string // by symbol
	LooseKeys     []string
	strictHash    []uint64
	looseHash     []uint64
	Collective    []bool // by name: it waits for other ranks
}

func newWords(names []string, rules *signature.Rules) *Words {
	w := &Words{names: names, Collective: make([]bool, len(names))}
	number := func(of func(string) string) (by []uint32, keys []string, hashes []uint64) {
		ids := map[string]uint32{}
		by = make([]uint32, len(names))
		for i, n := range names {
			key := of(n)
			id, ok := ids[key]
			if !ok {
				id = uint32(len(keys))
				ids[key] = id
				keys = append(keys, key)
				h := fnv.New64a()
				h.Write([]byte(key))
				hashes = append(hashes, h.Sum64())
			}
			by[i] = id
		}
		return by, keys, hashes
	}
	w.Strict, w.StrictKeys, w.strictHash = number(rules.Strict)
	w.Loose, w.LooseKeys, w.looseHash = number(rules.Loose)
	for i, n := range names {
		w.Collective[i] = signature.Collective(n)
	}
	return w
}

// Table gives the symbol of a name.
func (w *Words) Table(keys string) []uint32 {
	if keys == KeysLoose {
		return w.Loose
	}
	return w.Strict
}

// KeysOf are the keys by symbol.
func (w *Words) KeysOf(keys string) []string {
	if keys == KeysLoose {
		return w.LooseKeys
	}
	return w.StrictKeys
}

// Key gives a value of a symbol that is the same in every run.
func (w *Words) Key(keys string) func(uint32) uint64 {
	hashes := w.strictHash
	if keys == KeysLoose {
		hashes = w.looseHash
	}
	return func(symbol uint32) uint64 { return hashes[symbol] }
}
