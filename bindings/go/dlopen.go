//go:build toolnexus_dlopen

package toolnexus

import "toolnexus/bindings/go/internal/ffi"

// UseLibrary names the file of the library. It must come before anything else; else it is [ErrArgument].
func UseLibrary(path string) error {
	engine.mu.Lock()
	defer engine.mu.Unlock()
	if engine.checked {
		return wrong("UseLibrary(%q) came too late: the library is in use", path)
	}
	ffi.Path = path
	return nil
}
