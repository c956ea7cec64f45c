package memory

// BitsOfSlot is bitsOfSlot for tests, which cannot make arrays as large as those that it is about.
var BitsOfSlot = bitsOfSlot

type Freed = freed

// KeepLittle makes the search for races drop states after n, and make tables of what is n deep.
func KeepLittle(n int) { fewStates, deepest = n, int32(n) }
