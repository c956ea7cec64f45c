// What loops with vectors of 256 bits share.

// Registers of an instruction: CX is the first of 32 bits, R11 the first of 64, BX the operands.
#define BEGIN \
	MOVQ r+0(FP), AX; \
	MOVQ o+8(FP), BX; \
	MOVQ (AX), CX; \
	MOVQ 24(AX), R11

#define NARROW(at, to) \
	MOVLQSX at(BX), to; \
	SHLQ $7, to; \
	ADDQ CX, to

#define WIDE(at, to) \
	MOVLQSX at(BX), to; \
	SHLQ $8, to; \
	ADDQ R11, to

#define D 0
#define D2 4
#define A 8
#define B 12
#define C 16

#define FOUR(OP) \
	OP(0); \
	OP(32); \
	OP(64); \
	OP(96)

#define EIGHT(OP) \
	FOUR(OP); \
	OP(128); \
	OP(160); \
	OP(192); \
	OP(224)

#define TWO32 \
	BEGIN; \
	NARROW(A, SI); \
	NARROW(B, DX); \
	NARROW(D, DI)

#define TWO64 \
	BEGIN; \
	WIDE(A, SI); \
	WIDE(B, DX); \
	WIDE(D, DI)

#define DONE \
	VZEROUPPER; \
	RET

#define WITHTWO(OP, at) \
	VMOVDQU at(SI), Y0; \
	OP at(DX), Y0, Y0; \
	VMOVDQU Y0, at(DI)

// CLEAN makes a NaN the one of results; Y15 holds it.
#define CLEAN(y, t) \
	VCMPPS $3, y, y, t; \
	VBLENDVPS t, Y15, y, y

#define LOADCLEAN VBROADCASTSS ones<>(SB), Y15

// FLUSH makes a denormal number a zero of its sign: Y12 has zeros, Y13 exponents, Y15 all but signs.
#define FLUSH(y, t) \
	VPAND Y13, y, t; \
	VPCMPEQD Y12, t, t; \
	VPAND Y15, t, t; \
	VPANDN y, t, y

#define LOADFLUSH \
	LOADCLEAN; \
	VPXOR Y12, Y12, Y12; \
	VBROADCASTSS exponents32<>(SB), Y13
