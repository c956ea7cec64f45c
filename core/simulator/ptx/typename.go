package ptx

// typeNames are the types as PTX spells them, without the dot.
var typeNames = [...]string{
	NoType: "", Pred: "pred", B8: "b8", B16: "b16", B32: "b32", B64: "b64", B128: "b128", U8: "u8", U16: "u16", U32: "u32", U64: "u64",
	S8: "s8", S16: "s16", S32: "s32", S64: "s64", F16: "f16", F16x2: "f16x2", BF16: "bf16", BF16x2: "bf16x2", F32: "f32", F64: "f64",
}

// String is the type as PTX spells it, without the dot; "" of NoType and of other numbers.
func (t Type) String() string {
	if int(t) >= len(typeNames) {
		return ""
	}
	return typeNames[t]
}
