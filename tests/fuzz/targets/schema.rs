//! Output schemas and what is checked against them: no schema of a server's stops anything, however odd it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolnexus::mcp::output::Check;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    // The schema, and after a NUL the content.
    let (schema, content) = text.split_once('\0').unwrap_or((&text, "{\"a\":[1,\"x\"]}"));
    match Check::new(schema) {
        Ok(check) => {
            for content in [content, schema, "null"] {
                if let Ok(faults) = check.faults(content) {
                    assert!(faults.items.iter().all(|fault| !fault.is_empty() && fault.len() < 8_000));
                }
            }
        }
        Err(reason) => assert!(!reason.is_empty() && reason.len() < 8_000),
    }
});
