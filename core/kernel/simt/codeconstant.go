package simt

import "github.com/prlx-go/prlx/core/kernel/simt/lane"

// source says where the value of a constant register comes from.
type source uint8

const (
	fromLiteral  source = iota
	fromParam           // bytes of a parameter of the kernel
	fromVariable        // address of a .global variable of the module
	fromLane            // differs between the lanes of a warp: %tid, %laneid, %lanemask
	fromWarp            // the same for the lanes of a warp
	fromBlock           // the same for a block: %ctaid
	fromLaunch          // the same for a launch: %nctaid
)

// constant is a register that no instruction writes.
type constant struct {
	bank   lane.Bank
	from   source
	number int // of the parameter or variable, the special register
	bits   uint64
	bytes  uint8 // of a parameter: how many from offset bits on
	signed bool
	half   bool // a sign goes no further than 16 bits
	slot   int32
}

// Numbers of the special registers.
const (
	specialTID = iota // three each
	_
	_
	specialNTID
	_
	_
	specialCTAID
	_
	_
	specialNCTAID
	_
	_
	specialLane
	specialWarp
	specialWarps
	specialSM
	specialSMs
	specialGrid
	specialEQ
	specialLE
	specialLT
	specialGE
	specialGT
	specialDynamic
	specialShared
	specialSize
)
