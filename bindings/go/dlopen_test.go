//go:build toolnexus_dlopen

package toolnexus_test

import (
	"errors"
	"strings"
	"testing"

	toolnexus "toolnexus/bindings/go"
)

func TestLibraryThatIsNotThere(t *testing.T) {
	said, err := host(t, "version", "TOOLNEXUS_LIBRARY=/nowhere/libtoolnexus.so.0")
	if err != nil || !strings.Contains(said, "/nowhere/libtoolnexus.so.0") || !strings.Contains(said, "UseLibrary") {
		t.Errorf("it said %q, %v", said, err)
	}
}

func TestUseLibraryComesTooLate(t *testing.T) {
	if _, err := toolnexus.Version(); err != nil {
		t.Fatal(err)
	}
	if err := toolnexus.UseLibrary("/nowhere"); !errors.Is(err, toolnexus.ErrArgument) {
		t.Errorf("it gave %v", err)
	}
}
