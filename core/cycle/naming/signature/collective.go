package signature

import "github.com/prlx-go/prlx/core/lazyregexp"

// collectiveName tells kernels that wait for other ranks.
var collectiveName = lazyregexp.New(`(?i)nccl|rccl|all[-_]?reduce|all[-_]?gather|reduce[-_]?scatter|all[-_]?to[-_]?all|collective[-_]?permute|cross_device_reduce|(^|[-_ ])(send|recv)($|[-_ ])`)

// Collective reports whether a kernel waits for other ranks.
func Collective(name string) bool { return collectiveName.MatchString(name) }
