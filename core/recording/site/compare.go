package site

import "strings"

// LLVM's spellings of its predicates: of floats from 0 on, of integers from firstIntegerCompare on.
var (
	floatCompares   = strings.Fields("false oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une true")
	integerCompares = strings.Fields("eq ne ugt uge ult ule sgt sge slt sle")
)

const firstIntegerCompare = 32

// Name is LLVM's spelling of a predicate, "" for one that compares nothing.
func (c Compare) Name() string {
	switch n := int(c); {
	case n < len(floatCompares):
		return floatCompares[n]
	case n >= firstIntegerCompare && n-firstIntegerCompare < len(integerCompares):
		return integerCompares[n-firstIntegerCompare]
	}
	return ""
}
