package repeat

// Canonical returns where the least rotation of a word starts, and the id that a class of this word has. A nil key stands for the symbols
// themselves, as in Options.
func Canonical(word []uint32, key func(symbol uint32) uint64) (start int, id uint64) {
	keys := make([]uint64, len(word))
	for i, s := range word {
		keys[i] = uint64(s)
		if key != nil {
			keys[i] = key(s)
		}
	}
	start = leastRotation(keys)
	return start, hashFrom(keys, start)
}

// Root is the length of the shortest word that a sequence is a whole number of times.
func Root(w []uint32) int { return primitive(w) }
