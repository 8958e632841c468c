//! Link arguments of the shared library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The soname lets distributions install several majors side by side.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtoolnexus.so.0");
    // Unloading a library that has threads crashes the process, so `dlclose` must not unload it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
