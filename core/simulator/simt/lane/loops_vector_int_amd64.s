//go:build amd64

#include "textflag.h"
#include "loops_vector_amd64.h"

// Loops over the lanes of whole numbers with vectors of 256 bits: each does what the loop in Go of the same key does. A register of 32 bits
// has four vectors, one of 64 bits eight.

DATA low16<>+0(SB)/4, $0x0000ffff
GLOBL low16<>(SB), RODATA|NOPTR, $4

// A bit for each of eight lanes.
DATA lanes8<>+0(SB)/8, $0x0000000200000001
DATA lanes8<>+8(SB)/8, $0x0000000800000004
DATA lanes8<>+16(SB)/8, $0x0000002000000010
DATA lanes8<>+24(SB)/8, $0x0000008000000040
GLOBL lanes8<>(SB), RODATA|NOPTR, $32

#define VPADDDS(at) WITHTWO(VPADDD, at)
#define VPADDQS(at) WITHTWO(VPADDQ, at)
#define VPANDS(at) WITHTWO(VPAND, at)
#define VPMAXSDS(at) WITHTWO(VPMAXSD, at)
#define VPMAXUDS(at) WITHTWO(VPMAXUD, at)
#define VPMINSDS(at) WITHTWO(VPMINSD, at)
#define VPMINUDS(at) WITHTWO(VPMINUD, at)
#define VPMULLDS(at) WITHTWO(VPMULLD, at)
#define VPORS(at) WITHTWO(VPOR, at)
#define VPSLLVDS(at) WITHTWO(VPSLLVD, at)
#define VPSRAVDS(at) WITHTWO(VPSRAVD, at)
#define VPSRLVDS(at) WITHTWO(VPSRLVD, at)
#define VPSUBDS(at) WITHTWO(VPSUBD, at)
#define VPSUBQS(at) WITHTWO(VPSUBQ, at)
#define VPXORS(at) WITHTWO(VPXOR, at)

#define MADS(at) \
	VMOVDQU at(SI), Y0; \
	VPMULLD at(DX), Y0, Y0; \
	VPADDD at(R8), Y0, Y0; \
	VMOVDQU Y0, at(DI)

#define NOTS(at) \
	VPXOR at(SI), Y15, Y0; \
	VMOVDQU Y0, at(DI)

#define NEGS(at) \
	VPSUBD at(SI), Y15, Y0; \
	VMOVDQU Y0, at(DI)

#define MOVES(at) \
	VMOVDQU at(SI), Y0; \
	VMOVDQU Y0, at(DI)

// SHIFTS shift four numbers of 64 bits by counts of 32.
#define SHIFTS(OP, at) \
	VPMOVZXDQ (at/2)(DX), Y1; \
	VMOVDQU at(SI), Y0; \
	OP Y1, Y0, Y0; \
	VMOVDQU Y0, at(DI)

#define LEFTS(at) SHIFTS(VPSLLVQ, at)

#define RIGHTS(at) SHIFTS(VPSRLVQ, at)

// PRODUCTS multiply four numbers of 32 bits each.
#define PRODUCTS(WIDEN, OP, at) \
	WIDEN (at/2)(SI), Y0; \
	WIDEN (at/2)(DX), Y1; \
	OP Y1, Y0, Y0

#define UNSIGNEDS(at) \
	PRODUCTS(VPMOVZXDQ, VPMULUDQ, at); \
	VMOVDQU Y0, at(DI)

#define SIGNEDS(at) \
	PRODUCTS(VPMOVSXDQ, VPMULDQ, at); \
	VMOVDQU Y0, at(DI)

#define UNSIGNEDSUMS(at) \
	PRODUCTS(VPMOVZXDQ, VPMULUDQ, at); \
	VPADDQ at(R8), Y0, Y0; \
	VMOVDQU Y0, at(DI)

#define SIGNEDSUMS(at) \
	PRODUCTS(VPMOVSXDQ, VPMULDQ, at); \
	VPADDQ at(R8), Y0, Y0; \
	VMOVDQU Y0, at(DI)

#define ZEROEXTENDED(at) \
	VPMOVZXDQ (at/2)(SI), Y0; \
	VMOVDQU Y0, at(DI)

#define SIGNEXTENDED(at) \
	VPMOVSXDQ (at/2)(SI), Y0; \
	VMOVDQU Y0, at(DI)

// CUT takes the low halves of eight numbers of 64 bits.
#define CUT(at) \
	VMOVUPS (2*at)(SI), Y0; \
	VSHUFPS $0x88, (2*at+32)(SI), Y0, Y0; \
	VPERMQ $0xd8, Y0, Y0; \
	VMOVDQU Y0, at(DI)

// The registers of pack and unpack are in the list of operands: R9 is where it begins.
#define LISTED(at, to) \
	MOVLQSX at(R9), to; \
	SHLQ $7, to; \
	ADDQ CX, to

#define PACKS(at) \
	VPAND at(SI), Y15, Y0; \
	VMOVDQU at(DX), Y1; \
	VPSLLD $16, Y1, Y1; \
	VPOR Y1, Y0, Y0; \
	VMOVDQU Y0, at(DI)

#define UNPACKS(at) \
	VMOVDQU at(SI), Y0; \
	VPSRLD $16, Y0, Y1; \
	VPAND Y15, Y0, Y0; \
	VMOVDQU Y0, at(DI); \
	VMOVDQU Y1, at(DX)

// SELECTS take the lanes of a whose bit is set, else those of b. R10 has the bits.
#define SELECTS(at) \
	VMOVD R10, X0; \
	VPBROADCASTD X0, Y0; \
	SHRL $8, R10; \
	VPAND Y15, Y0, Y0; \
	VPCMPEQD Y15, Y0, Y0; \
	VMOVDQU at(DX), Y1; \
	VBLENDVPS Y0, at(SI), Y1, Y1; \
	VMOVDQU Y1, at(DI)

#define SELECTS64(at) \
	VMOVD R10, X0; \
	VPBROADCASTD X0, Y0; \
	SHRL $4, R10; \
	VPAND Y15, Y0, Y0; \
	VPCMPEQD Y15, Y0, Y0; \
	VPMOVSXDQ X0, Y0; \
	VMOVDQU at(DX), Y1; \
	VBLENDVPD Y0, at(SI), Y1, Y1; \
	VMOVDQU Y1, at(DI)

#define PREDICATE(at, to) \
	MOVQ 48(AX), R9; \
	MOVLQSX at(BX), R12; \
	MOVL (R9)(R12*4), to

// func addU32Wide(r *Regs, o *Operands)
TEXT ·addU32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPADDDS)
	DONE

// func subU32Wide(r *Regs, o *Operands)
TEXT ·subU32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPSUBDS)
	DONE

// func andU32Wide(r *Regs, o *Operands)
TEXT ·andU32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPANDS)
	DONE

// func orU32Wide(r *Regs, o *Operands)
TEXT ·orU32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPORS)
	DONE

// func xorU32Wide(r *Regs, o *Operands)
TEXT ·xorU32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPXORS)
	DONE

// func mulLoU32Wide(r *Regs, o *Operands)
TEXT ·mulLoU32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPMULLDS)
	DONE

// func minS32Wide(r *Regs, o *Operands)
TEXT ·minS32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPMINSDS)
	DONE

// func maxS32Wide(r *Regs, o *Operands)
TEXT ·maxS32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPMAXSDS)
	DONE

// func minU32Wide(r *Regs, o *Operands)
TEXT ·minU32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPMINUDS)
	DONE

// func maxU32Wide(r *Regs, o *Operands)
TEXT ·maxU32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPMAXUDS)
	DONE

// func shlU32Wide(r *Regs, o *Operands)
TEXT ·shlU32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPSLLVDS)
	DONE

// func shrU32Wide(r *Regs, o *Operands)
TEXT ·shrU32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPSRLVDS)
	DONE

// func shrS32Wide(r *Regs, o *Operands)
TEXT ·shrS32Wide(SB), NOSPLIT, $0-16
	TWO32
	FOUR(VPSRAVDS)
	DONE

// func addU64Wide(r *Regs, o *Operands)
TEXT ·addU64Wide(SB), NOSPLIT, $0-16
	TWO64
	EIGHT(VPADDQS)
	DONE

// func subU64Wide(r *Regs, o *Operands)
TEXT ·subU64Wide(SB), NOSPLIT, $0-16
	TWO64
	EIGHT(VPSUBQS)
	DONE

// func andU64Wide(r *Regs, o *Operands)
TEXT ·andU64Wide(SB), NOSPLIT, $0-16
	TWO64
	EIGHT(VPANDS)
	DONE

// func orU64Wide(r *Regs, o *Operands)
TEXT ·orU64Wide(SB), NOSPLIT, $0-16
	TWO64
	EIGHT(VPORS)
	DONE

// func xorU64Wide(r *Regs, o *Operands)
TEXT ·xorU64Wide(SB), NOSPLIT, $0-16
	TWO64
	EIGHT(VPXORS)
	DONE

// func madLoU32Wide(r *Regs, o *Operands)
TEXT ·madLoU32Wide(SB), NOSPLIT, $0-16
	TWO32
	NARROW(C, R8)
	FOUR(MADS)
	DONE

// func notU32Wide(r *Regs, o *Operands)
TEXT ·notU32Wide(SB), NOSPLIT, $0-16
	BEGIN
	NARROW(A, SI)
	NARROW(D, DI)
	VPCMPEQD Y15, Y15, Y15
	FOUR(NOTS)
	DONE

// func negU32Wide(r *Regs, o *Operands)
TEXT ·negU32Wide(SB), NOSPLIT, $0-16
	BEGIN
	NARROW(A, SI)
	NARROW(D, DI)
	VPXOR Y15, Y15, Y15
	FOUR(NEGS)
	DONE

// func mov32Wide(r *Regs, o *Operands)
TEXT ·mov32Wide(SB), NOSPLIT, $0-16
	BEGIN
	NARROW(A, SI)
	NARROW(D, DI)
	FOUR(MOVES)
	DONE

// func mov64Wide(r *Regs, o *Operands)
TEXT ·mov64Wide(SB), NOSPLIT, $0-16
	BEGIN
	WIDE(A, SI)
	WIDE(D, DI)
	EIGHT(MOVES)
	DONE

// func shlU64Wide(r *Regs, o *Operands)
TEXT ·shlU64Wide(SB), NOSPLIT, $0-16
	BEGIN
	WIDE(A, SI)
	NARROW(B, DX)
	WIDE(D, DI)
	EIGHT(LEFTS)
	DONE

// func shrU64Wide(r *Regs, o *Operands)
TEXT ·shrU64Wide(SB), NOSPLIT, $0-16
	BEGIN
	WIDE(A, SI)
	NARROW(B, DX)
	WIDE(D, DI)
	EIGHT(RIGHTS)
	DONE

// func mulWideU32Wide(r *Regs, o *Operands)
TEXT ·mulWideU32Wide(SB), NOSPLIT, $0-16
	BEGIN
	NARROW(A, SI)
	NARROW(B, DX)
	WIDE(D, DI)
	EIGHT(UNSIGNEDS)
	DONE

// func mulWideS32Wide(r *Regs, o *Operands)
TEXT ·mulWideS32Wide(SB), NOSPLIT, $0-16
	BEGIN
	NARROW(A, SI)
	NARROW(B, DX)
	WIDE(D, DI)
	EIGHT(SIGNEDS)
	DONE

// func madWideU32Wide(r *Regs, o *Operands)
TEXT ·madWideU32Wide(SB), NOSPLIT, $0-16
	BEGIN
	NARROW(A, SI)
	NARROW(B, DX)
	WIDE(C, R8)
	WIDE(D, DI)
	EIGHT(UNSIGNEDSUMS)
	DONE

// func madWideS32Wide(r *Regs, o *Operands)
TEXT ·madWideS32Wide(SB), NOSPLIT, $0-16
	BEGIN
	NARROW(A, SI)
	NARROW(B, DX)
	WIDE(C, R8)
	WIDE(D, DI)
	EIGHT(SIGNEDSUMS)
	DONE

// func cvtU64U32Wide(r *Regs, o *Operands)
TEXT ·cvtU64U32Wide(SB), NOSPLIT, $0-16
	BEGIN
	NARROW(A, SI)
	WIDE(D, DI)
	EIGHT(ZEROEXTENDED)
	DONE

// func cvtS64S32Wide(r *Regs, o *Operands)
TEXT ·cvtS64S32Wide(SB), NOSPLIT, $0-16
	BEGIN
	NARROW(A, SI)
	WIDE(D, DI)
	EIGHT(SIGNEXTENDED)
	DONE

// func cvtU32U64Wide(r *Regs, o *Operands)
TEXT ·cvtU32U64Wide(SB), NOSPLIT, $0-16
	BEGIN
	WIDE(A, SI)
	NARROW(D, DI)
	FOUR(CUT)
	DONE

// func pack16Wide(r *Regs, o *Operands)
TEXT ·pack16Wide(SB), NOSPLIT, $0-16
	BEGIN
	MOVQ 24(BX), R9
	LISTED(0, DI)
	LISTED(4, SI)
	LISTED(8, DX)
	VPBROADCASTD low16<>(SB), Y15
	FOUR(PACKS)
	DONE

// func unpack16Wide(r *Regs, o *Operands)
TEXT ·unpack16Wide(SB), NOSPLIT, $0-16
	BEGIN
	MOVQ 24(BX), R9
	LISTED(0, DI)
	LISTED(4, DX)
	LISTED(8, SI)
	VPBROADCASTD low16<>(SB), Y15
	FOUR(UNPACKS)
	DONE

// func selp32Wide(r *Regs, o *Operands)
TEXT ·selp32Wide(SB), NOSPLIT, $0-16
	TWO32
	PREDICATE(C, R10)
	VMOVDQU lanes8<>(SB), Y15
	FOUR(SELECTS)
	DONE

// func selp64Wide(r *Regs, o *Operands)
TEXT ·selp64Wide(SB), NOSPLIT, $0-16
	TWO64
	PREDICATE(C, R10)
	VMOVDQU lanes8<>(SB), Y15
	EIGHT(SELECTS64)
	DONE
