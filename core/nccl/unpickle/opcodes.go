package unpickle

// The opcodes that data is made of, as CPython's pickletools documents them.
const (
	opProto, opFrame, opStop = 0x80, 0x95, '.'

	opMark, opPop, opPopMark, opDup = '(', '0', '1', '2'

	opNone, opTrue, opFalse               = 'N', 0x88, 0x89
	opInt4, opInt1, opInt2, opFloat       = 'J', 'K', 'M', 'G'
	opLong1, opLong4                      = 0x8a, 0x8b
	opText1, opText4, opText8             = 0x8c, 'X', 0x8d
	opString1, opString4                  = 'U', 'T'
	opBytes1, opBytes4, opBytes8          = 'C', 'B', 0x8e
	opEmptyList, opEmptyTuple, opEmptySet = ']', ')', 0x8f
	opEmptyDict, opList, opTuple, opDict  = '}', 'l', 't', 'd'
	opTuple1, opTuple2, opTuple3          = 0x85, 0x86, 0x87
	opFrozenSet                           = 0x91
	opAppend, opAppends, opAddItems       = 'a', 'e', 0x90
	opSetItem, opSetItems                 = 's', 'u'
	opPut1, opPut4, opMemoize             = 'q', 'r', 0x94
	opGet1, opGet4                        = 'h', 'j'

	opGlobal, opInst = 'c', 'i'
)

// sized are the opcodes that a length in so many bytes follows, and then a text or bytes.
var sized = map[byte]uint64{
	opText1: 1, opText4: 4, opText8: 8, opString1: 1, opString4: 4, opBytes1: 1, opBytes4: 4, opBytes8: 8,
}

// dangerous are the opcodes that import, call or reach outside.
var dangerous = map[byte]string{
	opGlobal: "it imports", 0x93: "it imports a name", 'R': "it calls something", 'b': "it changes an object by its own code", opInst: "it makes an object of",
	'o': "it makes an object", 0x81: "it makes an object", 0x92: "it makes an object", 'P': "it refers to an object outside of it", 'Q': "it refers to an object outside of it",
	0x82: "it refers to a registered class", 0x83: "it refers to a registered class", 0x84: "it refers to a registered class",
	0x96: "it holds memory that may be changed", 0x97: "it refers to memory outside of it", 0x98: "it refers to memory outside of it",
}
