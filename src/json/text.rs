//! Strings and blanks.
#![forbid(unsafe_code)]

use std::borrow::Cow;

use super::raw::Raw;

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES * 0x80;
const BACKSLASHES: u64 = ONES * b'\\' as u64;

/// Marks the high bit of the first zero byte of a word. Bytes above it may be marked wrongly.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

/// What makes a quote, and no other, the next one behind the control characters.
const FLIP: u8 = b'"' ^ 0x20;

/// Marks the high bit of the first quote, backslash or control character of a word; above it as [`zeros`].
const fn specials(word: u64) -> u64 {
    let low = (word ^ (ONES * FLIP as u64)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ BACKSLASHES).wrapping_sub(ONES);
    (low | backslash) & !word & HIGHS
}

const fn is_special(byte: u8) -> bool {
    (byte ^ FLIP <= 0x20) | (byte == b'\\')
}

/// How a run of plain characters is looked through first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// From the beginning of a string: most are short.
    First,
    /// Behind an escape: the string has some length.
    Next,
}

/// The index of the first quote, backslash or control character at or after `at`; the length if there is none.
pub(super) fn plain_end(bytes: &[u8], at: usize, run: Run) -> usize {
    search(bytes, at, run, specials, is_special).unwrap_or(bytes.len())
}

/// The index of the first byte at or after `at` that `is_it`. `marks` marks the high bit of the first one of a word.
#[inline(always)]
fn search(
    bytes: &[u8],
    mut at: usize,
    run: Run,
    marks: impl Fn(u64) -> u64,
    is_it: impl Fn(u8) -> bool,
) -> Option<usize> {
    // Words give the exact place at once.
    let mut words = if run == Run::First { 2 } else { 0 };
    loop {
        for _ in 0..words {
            let rest = bytes.get(at..)?;
            let Some(word) = rest.first_chunk() else {
                return Some(at + rest.iter().position(|&byte| is_it(byte))?);
            };
            let marks = marks(u64::from_le_bytes(*word));
            if marks != 0 {
                return Some(at + (marks.trailing_zeros() / 8) as usize);
            }
            at += 8;
        }
        // A long run: the compiler makes vector code of this, on any target.
        while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<CHUNK>()) {
            if chunk.iter().fold(0, |found, &byte| found | u8::from(is_it(byte))) != 0 {
                break;
            }
            at += CHUNK;
        }
        words = CHUNK / 8;
    }
}

const CHUNK: usize = 32;

/// The index of the first `wanted` at or after `at`.
#[inline]
pub(super) fn find(wanted: u8, bytes: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..3 {
        let rest = bytes.get(at..)?;
        let Some(word) = rest.first_chunk() else {
            return Some(at + rest.iter().position(|&byte| byte == wanted)?);
        };
        let marks = zeros(u64::from_le_bytes(*word) ^ (ONES * wanted as u64));
        if marks != 0 {
            return Some(at + (marks.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    Some(at + memchr::memchr(wanted, bytes.get(at..)?)?)
}

/// The index behind the closing quote of the string in checked text whose first character is at `start`.
pub(super) fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(quote) = find(b'"', bytes, at) {
        at = quote + 1;
        // What is before `start` is the opening quote.
        if bytes.get(quote.wrapping_sub(1)) != Some(&b'\\') {
            return at;
        }
        let backslashes = bytes.get(start..quote).unwrap_or_default().iter().rev().take_while(|b| **b == b'\\').count();
        if backslashes % 2 == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Appends what the inside of a JSON string stands for. A lone surrogate becomes U+FFFD.
pub(super) fn unescape(body: &str, out: &mut String) {
    let bytes = body.as_bytes();
    let (mut from, mut at) = (0, 0);
    let next = |at| search(bytes, at, Run::Next, |word| zeros(word ^ BACKSLASHES), |byte| byte == b'\\');
    while let Some(backslash) = next(at) {
        out.push_str(body.get(from..backslash).unwrap_or_default());
        at = backslash + 2;
        from = at;
        let Some(kind) = bytes.get(backslash + 1) else { return };
        match kind {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                let (character, end) = unicode(bytes, at);
                out.push(character);
                at = end;
                from = end;
            }
            // It stands for itself, and goes with what follows.
            _ => from = backslash + 1,
        }
    }
    out.push_str(body.get(from..).unwrap_or_default());
}

/// The character whose hex digits begin at `at`, and the index behind it.
fn unicode(bytes: &[u8], at: usize) -> (char, usize) {
    let first = hex4(bytes, at);
    let end = at + 4;
    if (0xd800..0xdc00).contains(&first) && bytes.get(end..end + 2) == Some(b"\\u") {
        let second = hex4(bytes, end + 2);
        if (0xdc00..0xe000).contains(&second) {
            let joined = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return (char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER), end + 6);
        }
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), end)
}

fn hex4(bytes: &[u8], at: usize) -> u32 {
    let digits = bytes.get(at..at + 4).unwrap_or_default();
    digits.iter().fold(0, |value, digit| value << 4 | (*digit as char).to_digit(16).unwrap_or(0))
}

/// Appends `text` as a JSON string, quotes included.
pub fn quote(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let (mut from, mut run) = (0, Run::First);
    out.push('"');
    loop {
        let at = plain_end(bytes, from, run);
        run = Run::Next;
        out.push_str(text.get(from..at).unwrap_or_default());
        let Some(&special) = bytes.get(at) else { break };
        from = at + 1;
        match special {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => {
                out.push_str("\\u00");
                for digit in [control >> 4, control & 15] {
                    out.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
                }
            }
        }
    }
    out.push('"');
}

pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Appends `raw` without the blanks between its tokens. Nothing else changes.
pub fn compact(raw: Raw<'_>, out: &mut String) {
    let text = raw.text();
    let bytes = text.as_bytes();
    out.reserve(text.len());
    let (mut from, mut at) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' {
            at = string_end(bytes, at + 1);
        } else if is_blank(byte) {
            out.push_str(text.get(from..at).unwrap_or_default());
            at += 1;
            from = at;
        } else {
            at += 1;
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
}

/// `raw` on one line, as stdio needs it: line breaks between tokens become spaces. In strings JSON has none.
pub fn single_line(raw: Raw<'_>) -> Cow<'_, str> {
    let text = raw.text();
    match memchr::memchr2(b'\n', b'\r', text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.replace(['\n', '\r'], " ")),
    }
}
