//! The committed header is what the exports' documentation says, object by object. `make header` writes it: `TOOLNEXUS_WRITE_HEADER=1`.

use std::fs;
use std::path::Path;

#[test]
fn the_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for object in ["types", "library", "result", "context", "config", "mcp", "tools", "toolkit", "queue"] {
        builder = builder.with_src(root.join("src/ffi").join(object).with_extension("rs"));
    }
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = root.join("include/toolnexus.h");
    if std::env::var_os("TOOLNEXUS_WRITE_HEADER").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(made == committed, "include/toolnexus.h is stale: run `make header` and commit it");
}
