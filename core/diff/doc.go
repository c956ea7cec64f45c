// Package diff compares two recordings of a kernel: it pairs their warps, aligns the events of those that are not equal, says what
// differs, gathers warps that differ in the same way, and ranks what can be a cause before what can only follow from it.
//
// It compares and explains; it neither reads files (warptrace) nor renders (report).
package diff
