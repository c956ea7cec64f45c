package code

import "github.com/prlx-go/prlx/core/simulator/simt/lane"

// ValueSource says where the value of a constant register comes from.
type ValueSource uint8

// The sources.
const (
	FromLiteral  ValueSource = iota
	FromParam                // bytes of a parameter of the kernel
	FromVariable             // address of a .global variable of the module
	FromLane                 // differs between the lanes of a warp: %tid, %laneid, %lanemask
	FromWarp                 // the same for the lanes of a warp
	FromBlock                // the same for a block: %ctaid
	FromLaunch               // the same for a launch: %nctaid
)

// Constant is a register that no instruction writes.
type Constant struct {
	Bank   lane.Bank
	From   ValueSource
	Number int    // of the parameter or variable, the special register
	Bits   uint64 // of a literal; of a parameter or variable: the offset in bytes
	Bytes  uint8  // of a parameter: how many
	Signed bool
	Half   bool  // a sign goes no further than 16 bits
	Slot   int32 // its register in the bank
}

// The special registers with three dimensions, by their Number: that of x, behind which stand y and z.
const (
	SpecialTID    = 0
	SpecialNTID   = 3
	SpecialCTAID  = 6
	SpecialNCTAID = 9
)

// The other special registers.
const (
	SpecialLane  = iota + 12 // %laneid
	SpecialWarp              // %warpid
	SpecialWarps             // %nwarpid
	SpecialSM                // %smid
	SpecialSMs               // %nsmid
	SpecialGrid              // %gridid
	SpecialEQ                // %lanemask_eq, and the other masks
	SpecialLE
	SpecialLT
	SpecialGE
	SpecialGT
	SpecialDynamic // %dynamic_smem_size
	SpecialShared  // %total_smem_size
	SpecialSize    // WARP_SZ

	SpecialGridHigh // %envreg1 and %envreg2: the address of what a cooperative grid shares
	SpecialGridLow
	SpecialParams // the address of the parameters
)
