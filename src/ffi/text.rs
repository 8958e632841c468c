//! Strings in and out.

use libc::size_t;
use std::ffi::{CStr, c_char};

use crate::outcome::{Failure, Status, Text};

/// A string that the host gave. It is valid for as long as the call that it was given to.
///
/// # Safety
/// `pointer` is NULL or points to bytes that end with a NUL and do not change during `'a`.
pub unsafe fn required<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: the caller's promise.
    match unsafe { optional(pointer, what) }? {
        Some(text) => Ok(text),
        None => Err(Failure::new(Status::Argument, format!("{what} is NULL"))),
    }
}

/// The same, where NULL means that there is none.
///
/// # Safety
/// As for [`required`].
pub unsafe fn optional<'a>(pointer: *const c_char, what: &str) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL, and the caller promises the rest.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map(Some).map_err(|error| {
        Failure::new(Status::Utf8, format!("{what} is not valid UTF-8: byte {} is wrong", error.valid_up_to()))
    })
}

/// Hands out a text: its pointer, and its length if `len` is wanted. NULL and 0 for none.
///
/// # Safety
/// `len` is NULL or points to a `size_t` that may be written.
pub unsafe fn out(text: Option<&Text>, len: *mut size_t) -> *const c_char {
    let length = text.map_or(0, |text| text.as_str().len());
    if !len.is_null() {
        // SAFETY: the caller's promise.
        unsafe { len.write(length) };
    }
    text.map_or(std::ptr::null(), |text| text.as_ptr().cast())
}
