//! Reading a config without connecting.

use std::ffi::c_char;

use crate::config::{self, Config, Options};
use crate::ffi::types::tn_result;
use crate::ffi::{guard, text};
use crate::outcome::{Failure, Outcome};

/// What a load needs to know: the config and the options, checked.
///
/// # Safety
/// Both are NULL or strings as `text::required` wants them.
pub unsafe fn read(
    config: *const c_char,
    options: *const c_char,
    allow_secrets: bool,
) -> Result<(Config, Options), Failure> {
    // SAFETY: the caller's promise.
    let (config, options) = unsafe { (text::required(config, "config")?, text::optional(options, "options")?) };
    let options = Options::parse(options, allow_secrets)?;
    Ok((parse(config, &options)?, options))
}

/// Reads a config in the host's environment.
pub fn parse(config: &str, options: &Options) -> Result<Config, Failure> {
    // Variables that are no UTF-8 cannot be named in a config, and a server gets none of them.
    let environment: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    config::parse(config, options, &environment)
}

/// Reads and checks a config. Starts nothing and connects to nothing.
///
/// The document: {"servers":{name:{…}},"failed":{name:{"path":"…","reason":"…"}},"warnings":["…"]}. Values of `env` and
/// `headers` and of expanded variables are shown as ***, unless the options say "secrets":true.
///
/// @param config   JSON text (first character `{`, comments and trailing commas allowed), or the path of a file
/// @param options  a JSON object as for tn_mcp_load, or NULL
/// @return         a result, yours to free. A bad entry is in `failed`; the call fails only if the text as a whole cannot
///                 be read (TN_E_CONFIG, with line and column) or an argument is wrong (TN_E_ARGUMENT, TN_E_UTF8,
///                 TN_E_JSON)
///
/// Any thread. Reads files; waits for nothing else.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_config_parse(config: *const c_char, options: *const c_char) -> *mut tn_result {
    guard::result(|| {
        // SAFETY: the caller's promise.
        let (config, options) = unsafe { read(config, options, true) }?;
        Ok(Outcome::document(config.document(options.secrets)))
    })
}
