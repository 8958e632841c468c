//go:build !toolnexus_dlopen

package main

// #cgo pkg-config: toolnexus
import "C"
