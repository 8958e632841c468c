//! The one pass that validates.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::text::{Run, is_blank, plain_end, unescape};

/// Where a text stops being JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The byte offset.
    pub at: usize,
    /// What is wrong there, in words that follow "at byte N: ".
    pub what: &'static str,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not valid JSON at byte {}: {}", self.at, self.what)
    }
}

impl std::error::Error for Error {}

/// A JSON-RPC message, or what came instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// An object. It may lack everything that makes a message.
    Message(Message),
    /// An array, by its place. Walk it with [`super::Raw::elements`] and open each element with [`envelope`]: a list of
    /// its elements could be many times its size.
    Batch(Range<usize>),
    /// Valid JSON that is neither.
    Other,
}

/// Where a message has its members, as byte ranges of the text it was found in. Of a repeated member the last counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Whether there is a `jsonrpc`, whatever its value.
    pub jsonrpc: bool,
    pub id: Option<Range<usize>>,
    pub method: Option<Range<usize>>,
    pub params: Option<Range<usize>>,
    pub result: Option<Range<usize>>,
    pub error: Option<Range<usize>>,
    /// Of a result that is an object.
    pub marks: Marks,
}

/// Where a result says what it is. Noted in the one pass, since finding them later means passing the whole result again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub is_error: Option<Range<usize>>,
    pub result_type: Option<Range<usize>>,
}

/// Checks that `bytes` is one JSON value (RFC 8259) and nothing else but blanks.
///
/// Nesting has no limit (one bit a level is kept). Lone surrogate escapes are accepted. Whether the bytes are UTF-8 is
/// not looked at.
pub fn check(bytes: &[u8]) -> Result<(), Error> {
    let mut checker = Checker { bytes, at: 0 };
    checker.value()?;
    checker.end()
}

/// Checks a whole message like [`check`], and says where its members are, in the same pass.
pub fn envelope(bytes: &[u8]) -> Result<Envelope, Error> {
    let mut checker = Checker { bytes, at: 0 };
    checker.blanks();
    let start = checker.at;
    let found = match checker.peek() {
        Some(b'{') => Envelope::Message(checker.message()?),
        Some(b'[') => {
            checker.value()?;
            Envelope::Batch(start..checker.at)
        }
        _ => {
            checker.value()?;
            Envelope::Other
        }
    };
    checker.end()?;
    Ok(found)
}

struct Checker<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Checker<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn fail<T>(&self, what: &'static str) -> Result<T, Error> {
        Err(Error { at: self.at, what })
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        self.blanks();
        if self.at == self.bytes.len() { Ok(()) } else { self.fail("expected the end after the value") }
    }

    fn message(&mut self) -> Result<Message, Error> {
        let mut message = Message::default();
        self.object(|checker, key| {
            let start = checker.at;
            let mut marks = Marks::default();
            if &*key == b"result" && checker.peek() == Some(b'{') {
                checker.object(|checker, key| {
                    let start = checker.at;
                    checker.value()?;
                    match &*key {
                        b"isError" => marks.is_error = Some(start..checker.at),
                        b"resultType" => marks.result_type = Some(start..checker.at),
                        _ => {}
                    }
                    Ok(())
                })?;
            } else {
                checker.value()?;
            }
            message.note(&key, start..checker.at, marks);
            Ok(())
        })?;
        Ok(message)
    }

    /// An object, whose values `member` passes.
    fn object(&mut self, mut member: impl FnMut(&mut Self, Cow<'a, [u8]>) -> Result<(), Error>) -> Result<(), Error> {
        self.at += 1;
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = self.key()?.plain();
            self.blanks();
            member(self, key)?;
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                None => return self.fail("the text ends inside an object or array"),
                _ => return self.fail("expected ',' or '}' after a member"),
            }
            self.blanks();
        }
    }

    /// One value. A loop, not a recursion: a server decides how deep its answers nest.
    fn value(&mut self) -> Result<(), Error> {
        let mut open = Nest::default();
        loop {
            self.blanks();
            match self.peek() {
                Some(b'"') => {
                    self.string()?;
                }
                Some(bracket @ (b'{' | b'[')) => {
                    self.at += 1;
                    self.blanks();
                    // The closing brackets are two characters behind the opening ones.
                    if self.peek() == Some(bracket + 2) {
                        self.at += 1;
                    } else {
                        open.push(bracket == b'{');
                        if bracket == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                Some(_) => return self.fail("expected a value"),
                None => return self.fail("the text ends where a value was expected"),
            }
            // A value has ended; so may what holds it.
            loop {
                let Some(object) = open.top() else { return Ok(()) };
                self.blanks();
                match (self.peek(), object) {
                    (Some(b','), _) => break,
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        open.pop();
                    }
                    (None, _) => return self.fail("the text ends inside an object or array"),
                    (_, true) => return self.fail("expected ',' or '}' after a member"),
                    (_, false) => return self.fail("expected ',' or ']' after an element"),
                }
            }
            self.at += 1;
            if open.top() == Some(true) {
                self.blanks();
                self.key()?;
            }
        }
    }

    /// A key and its colon.
    fn key(&mut self) -> Result<Body<'a>, Error> {
        if self.peek() != Some(b'"') {
            return self.fail("expected a key in double quotes");
        }
        let key = self.string()?;
        self.blanks();
        if self.peek() != Some(b':') {
            return self.fail("expected ':' after a key");
        }
        self.at += 1;
        Ok(key)
    }

    /// A string, from its opening quote on.
    fn string(&mut self) -> Result<Body<'a>, Error> {
        let start = self.at + 1;
        self.at = start;
        let (mut escaped, mut run) = (false, Run::First);
        loop {
            self.at = plain_end(self.bytes, self.at, run);
            match self.peek() {
                Some(b'"') => {
                    let inside = self.bytes.get(start..self.at).unwrap_or_default();
                    self.at += 1;
                    return Ok(Body { inside, escaped });
                }
                Some(b'\\') => {
                    (escaped, run) = (true, Run::Next);
                    self.escape()?;
                }
                Some(_) => return self.fail("a control character inside a string"),
                None => return self.fail("the text ends inside a string"),
            }
        }
    }

    /// An escape, from its backslash on.
    fn escape(&mut self) -> Result<(), Error> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 2..self.at + 6).unwrap_or_default();
                if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return self.fail("expected four hex digits after \\u");
                }
                self.at += 6;
            }
            _ => return self.fail("a backslash that escapes nothing JSON knows"),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Error> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Error> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return self.fail("expected a digit");
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Error> {
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return self.fail("expected true, false or null");
        }
        self.at += word.len();
        Ok(())
    }
}

/// The inside of a string as it was written.
struct Body<'a> {
    inside: &'a [u8],
    escaped: bool,
}

impl<'a> Body<'a> {
    fn plain(self) -> Cow<'a, [u8]> {
        if !self.escaped {
            return Cow::Borrowed(self.inside);
        }
        let mut plain = String::new();
        unescape(&String::from_utf8_lossy(self.inside), &mut plain);
        Cow::Owned(plain.into_bytes())
    }
}

impl Message {
    fn note(&mut self, key: &[u8], range: Range<usize>, marks: Marks) {
        match key {
            b"jsonrpc" => self.jsonrpc = true,
            b"id" => self.id = Some(range),
            b"method" => self.method = Some(range),
            b"params" => self.params = Some(range),
            b"result" => (self.result, self.marks) = (Some(range), marks),
            b"error" => self.error = Some(range),
            _ => {}
        }
    }
}

/// The open objects (1) and arrays (0), innermost in the lowest bit of `word`, full words below it.
#[derive(Default)]
struct Nest {
    full: Vec<u64>,
    word: u64,
    depth: usize,
}

impl Nest {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.full.push(self.word);
        }
        self.word = self.word << 1 | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.word >>= 1;
        self.depth -= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.word = self.full.pop().unwrap_or_default();
        }
    }

    fn top(&self) -> Option<bool> {
        if self.depth == 0 { None } else { Some(self.word & 1 == 1) }
    }
}
