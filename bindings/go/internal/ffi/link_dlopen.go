//go:build toolnexus_dlopen

package ffi

/*
#cgo CFLAGS: -DTOOLNEXUS_DLOPEN -I${SRCDIR}/../../../../include
#include <stdlib.h>
#include "library.h"

tn_library tn_loaded;

// The version comes first: a library of another version may lack a function. *problem gets what is wrong, or stays NULL.
static void open_library(const char *path, const char **problem) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	*problem = NULL;
	if (library == NULL) {
		*problem = dlerror();
		return;
	}
	tn_loaded.tn_abi_version = (__typeof__(&tn_abi_version))dlsym(library, "tn_abi_version");
	if (tn_loaded.tn_abi_version == NULL) {
		*problem = "it has no function tn_abi_version";
		return;
	}
	uint32_t found = tn_loaded.tn_abi_version();
	if (found >> 16 != TN_ABI_VERSION >> 16 || found < TN_ABI_VERSION) return; // for the caller to refuse
#define TN_FIND(name) \
	if ((tn_loaded.name = (__typeof__(&name))dlsym(library, #name)) == NULL) *problem = "it has no function " #name;
	TN_FUNCTIONS(TN_FIND)
}
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"unsafe"
)

const fileName = "libtoolnexus.so.0"

// Path is the library that the host named.
var Path string

// Open finds the library: the one that the host named, that of TOOLNEXUS_LIBRARY, beside the program, or where the system looks.
func Open() error {
	path := Path
	if path == "" {
		path = os.Getenv("TOOLNEXUS_LIBRARY")
	}
	if path == "" {
		path = fileName
		if program, err := os.Executable(); err == nil {
			beside := filepath.Join(filepath.Dir(program), fileName)
			if _, err := os.Stat(beside); err == nil {
				path = beside
			}
		}
	}
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	var problem *C.char
	C.open_library(text, &problem)
	if problem != nil {
		return fmt.Errorf("toolnexus: the library %s cannot be used: %s; name it with UseLibrary or TOOLNEXUS_LIBRARY, or put %s beside the program", path, C.GoString(problem), fileName)
	}
	return nil
}
