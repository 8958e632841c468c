//go:build toolnexus_static

package ffi

// #cgo pkg-config: --static toolnexus
import "C"

// Open has nothing to do: the library is in the program.
func Open() error { return nil }
