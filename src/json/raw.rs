//! Walking in text that was checked.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::ops::Range;

use super::check::{Error, check};
use super::text::{find, is_blank, string_end, unescape};

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    /// The kind with its article, for messages: "an array".
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "a boolean",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        }
    }
}

/// One JSON value in checked text, without blanks around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// Checks `text` and wraps it.
    pub fn parse(text: &'a str) -> Result<Self, Error> {
        check(text.as_bytes())?;
        Ok(Raw::checked(text))
    }

    /// Wraps text that [`check`] or [`super::envelope`] has seen. Other text gives nonsense, but no panic.
    pub fn checked(text: &'a str) -> Self {
        let edge = |byte: Option<&u8>| byte.copied().is_some_and(is_blank);
        if edge(text.as_bytes().first()) || edge(text.as_bytes().last()) {
            return Raw(text.trim_matches([' ', '\t', '\n', '\r']));
        }
        Raw(text)
    }

    /// The value as it was written.
    pub const fn text(self) -> &'a str {
        self.0
    }

    /// Where the value is in `whole`, if it is a part of it: for callers that keep the text and want a range.
    pub fn range_in(self, whole: &str) -> Option<Range<usize>> {
        let start = (self.0.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
        let end = start + self.0.len();
        (end <= whole.len()).then_some(start..end)
    }

    pub fn kind(self) -> Kind {
        kind_of(self.0.as_bytes().first().copied())
    }

    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The number, if it is written as an integer that fits.
    pub fn as_i64(self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// The number, if it is written as a non-negative integer that fits.
    pub fn as_u64(self) -> Option<u64> {
        self.0.parse().ok()
    }

    pub fn as_f64(self) -> Option<f64> {
        if self.kind() == Kind::Number { self.0.parse().ok() } else { None }
    }

    /// The string, unescaped; a lone surrogate is U+FFFD. Copies only if there is an escape.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let body = self.body()?;
        if find(b'\\', body.as_bytes(), 0).is_none() {
            return Some(Cow::Borrowed(body));
        }
        let mut text = String::with_capacity(body.len());
        unescape(body, &mut text);
        Some(Cow::Owned(text))
    }

    /// Appends the string, unescaped; anything else appends nothing. At most `text().len()` bytes are added.
    pub fn push_str_to(self, out: &mut String) {
        unescape(self.body().unwrap_or_default(), out);
    }

    /// The inside of a string as it was written, escapes and all.
    pub fn body(self) -> Option<&'a str> {
        self.0.strip_prefix('"')?.strip_suffix('"')
    }

    /// The members of an object, in order, repeated keys included. Of anything else: none.
    pub fn members(self) -> impl Iterator<Item = (Cow<'a, str>, Raw<'a>)> {
        let mut cursor = Cursor::new(self);
        let object = self.kind() == Kind::Object;
        cursor.open();
        std::iter::from_fn(move || {
            if !object {
                return None;
            }
            let key = cursor.key()?;
            Some((key, cursor.value()))
        })
    }

    /// The elements of an array. Of anything else: none.
    pub fn elements(self) -> impl Iterator<Item = Raw<'a>> {
        let mut cursor = Cursor::new(self);
        let array = self.kind() == Kind::Array;
        cursor.open();
        std::iter::from_fn(move || (array && cursor.element()).then(|| cursor.value()))
    }

    /// The member of that name. Of a repeated one the last, as serde_json has it.
    pub fn get(self, name: &str) -> Option<Raw<'a>> {
        self.members().filter(|(key, _)| key == name).last().map(|(_, value)| value)
    }
}

/// A place in checked text. Unlike nested [`Raw::members`], a cursor passes every byte once, however deep it goes: that
/// is what large results and long lists are read with.
///
/// After [`Cursor::key`] or [`Cursor::element`] the cursor stands at a value, which has to be passed: whole with
/// [`Cursor::value`], or with [`Cursor::open`] and its members or elements to the end.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(raw: Raw<'a>) -> Self {
        Cursor { text: raw.text(), at: 0 }
    }

    /// The offset where the cursor stands.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What the value at the cursor is.
    pub fn kind(&self) -> Kind {
        kind_of(self.peek())
    }

    /// The value that began at `start` and has just been passed.
    pub fn since(&self, start: usize) -> Raw<'a> {
        Raw(self.text.get(start..self.at).unwrap_or_default())
    }

    /// Enters the object or array at the cursor.
    pub fn open(&mut self) {
        self.at += 1;
    }

    /// The next key of the object that was entered, or `None` once its end is passed.
    pub fn key(&mut self) -> Option<Cow<'a, str>> {
        if !self.element() {
            return None;
        }
        let key = self.value().as_str().unwrap_or_default();
        self.skip(|byte| is_blank(byte) || byte == b':');
        Some(key)
    }

    /// Whether the array that was entered has another element; if not, its end is passed.
    pub fn element(&mut self) -> bool {
        self.skip(|byte| is_blank(byte) || byte == b',');
        match self.peek() {
            None => false,
            Some(b']' | b'}') => {
                self.at += 1;
                false
            }
            Some(_) => true,
        }
    }

    /// Passes the value at the cursor and returns it.
    pub fn value(&mut self) -> Raw<'a> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        match self.peek() {
            Some(b'"') => self.at = string_end(bytes, start + 1),
            Some(b'{' | b'[') => self.pass_nested(),
            _ => self.skip(|byte| !is_blank(byte) && !matches!(byte, b',' | b']' | b'}' | b':')),
        }
        if self.at == start {
            // Only in text that was never checked: go on, so that every loop over it ends.
            self.at += 1;
        }
        self.since(start)
    }

    fn pass_nested(&mut self) {
        let bytes = self.text.as_bytes();
        let (mut at, mut depth) = (self.at, 0usize);
        while let Some(byte) = bytes.get(at) {
            at += 1;
            if *byte == b'"' {
                at = string_end(bytes, at);
                continue;
            }
            // Brackets are braces less one bit.
            match byte | 0x20 {
                b'{' => depth += 1,
                b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
        }
        self.at = at;
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, passed: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&passed) {
            self.at += 1;
        }
    }
}

/// By its first character.
fn kind_of(first: Option<u8>) -> Kind {
    match first {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'-' | b'0'..=b'9') => Kind::Number,
        _ => Kind::Null,
    }
}
