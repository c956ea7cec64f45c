package memory

// BitsOfSlot is bitsOfSlot for tests, which cannot make arrays as large as those that it is about.
var BitsOfSlot = bitsOfSlot

type Freed = freed
