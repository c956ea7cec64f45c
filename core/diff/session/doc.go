// Package session is many launches recorded together: the manifest that names them, the matching of the launches of two runs, and
// their comparison launch by launch. How two recordings of one launch compare is package diff's. Manifests are specified in
// docs/formats/session.md.
package session
