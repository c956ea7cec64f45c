package comparing

// What decides in this room, in one table: every threshold with what it decides. Package pairs has its own.
const (
	// leastSimilarity is the least share of common kernels of classes that are paired where nothing more alike is there: runs on different
	// hardware have other matrix products and the same kernels between them.
	leastSimilarity = 0.2
	// defaultRepetitions of a class are tested, where the options say nothing; they may not ask for fewer than leastRepetitions.
	defaultRepetitions = 200
	leastRepetitions   = 2
	// longerShare of the distances between the places of a class are the period of a longer class, of which it is then a part.
	longerShare = 0.75
	// maxOriginWork bounds the kernels that are looked at in search of classes of the other run, in all; each class costs the length of the run.
	maxOriginWork = 1 << 30
	// viewValues bounds the times that are held of one class.
	viewValues = 4 << 20
)
