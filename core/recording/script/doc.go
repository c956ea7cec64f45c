// Package script finds a minimal edit script between two sequences of keys, within a stated budget. It knows nothing of events.
package script
