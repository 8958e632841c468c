//go:build !toolnexus_static && !toolnexus_dlopen

package ffi

// #cgo pkg-config: toolnexus
import "C"

// Open has nothing to do: the loader found the library before main.
func Open() error { return nil }
