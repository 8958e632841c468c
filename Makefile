# `make demo` shows the library at work, `make test` tests it. The rest: see each target.

TARGET := $(or $(CARGO_TARGET_DIR),target)
PREFIX ?= /usr/local
LIBDIR ?= lib
CARGO ?= cargo
export CC ?= cc
export CXX ?= c++

.PHONY: library header third-party demo test test-asan bench install dist-python dist-java clean

# The shared library as it is shipped: $(TARGET)/dist/libtoolnexus.so. Only with one crate type does cargo keep fat LTO.
library:
	$(CARGO) rustc --locked --profile dist --lib --crate-type cdylib
	ln -sf libtoolnexus.so $(TARGET)/dist/libtoolnexus.so.0

# Writes include/toolnexus.h from src/ffi.
header:
	TOOLNEXUS_WRITE_HEADER=1 $(CARGO) test --locked --test header

# Writes THIRD-PARTY from Cargo.lock.
third-party:
	tools/third-party >THIRD-PARTY.new
	mv THIRD-PARTY.new THIRD-PARTY

# Lists and reads a server's resources from C. Needs no Node: the server is a small Rust program.
demo: library
	$(CARGO) build --locked --example tiny-server
	tools/demo

# Everything that can be tested here. CI=true: an absent toolchain is a failure.
test: library
	tools/test

# The C programs of tests/c once more, with the library and themselves under the address sanitizer. A build of its own.
test-asan:
	tests/c/run --asan

bench: library
	tools/bench
	TOOLNEXUS_LIBRARY=$(TARGET)/dist/libtoolnexus.so bindings/java/bench

# $(TARGET)/dist/toolnexus-VERSION.jar, with the library inside, and beside it the jar that it needs. Needs a JDK and Maven.
dist-java: library
	tools/dist-java

# Installs to $(DESTDIR)$(PREFIX): both libraries (in $(LIBDIR)), the headers, the files for pkg-config and CMake, the licences.
install: library
	$(CARGO) rustc --locked --profile dist --lib --crate-type staticlib
	tools/install "$(DESTDIR)" "$(PREFIX)" "$(LIBDIR)"

# The Python wheel, with the shared library inside: $(TARGET)/python.
dist-python:
	tools/dist-python

clean:
	$(CARGO) clean
