//! Server-sent events (WHATWG HTML, 9.2.6), pushed in as their bytes arrive.
//!
//! An event is held once, as the data that its caller gets, and never more of it than the limit.
#![forbid(unsafe_code)]

use std::time::Duration;

/// How much of an event over the limit is shown: enough to find the id of the reply that it was.
pub const HEAD: usize = 4096;
/// No name that means anything is longer, and no server can be sent a longer id: it would be a header.
const LONGEST_VALUE: usize = 1024;
/// The longest known field name is shorter than this by far; with room for the byte order mark.
const LONGEST_FIELD: usize = 8;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a stream says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An event with data. Without a name it is a `message`; what other names mean is for the caller to judge.
    Message { name: Option<String>, data: Vec<u8> },
    /// The data of an event is over the limit. `head` is how it begins; the rest is skipped.
    TooLong { head: Vec<u8> },
}

/// The parser of one stream.
#[derive(Debug)]
pub struct Events {
    limit: usize,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    first_line: bool,
    field: Field,
    /// A blank behind the colon is no part of the value. Whether one may still come.
    blank_due: bool,
    /// The name of the line's field until it is known, then its value unless that is data.
    small: Vec<u8>,
    name: Option<String>,
    /// The lines of the event's data; `None` before the first.
    data: Option<Vec<u8>>,
    /// The event was over the limit and has been reported.
    skipped: bool,
    /// Becomes `last_id` at the end of the event.
    id: String,
    last_id: String,
    retry: Option<Duration>,
    seen: bool,
}

/// Whose value the rest of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// The colon has not come yet.
    Unread,
    Data,
    Event,
    Id,
    Retry,
    /// A comment, or a name that the standard does not have.
    Ignored,
}

impl Field {
    fn named(name: &[u8]) -> Field {
        match name {
            b"data" => Field::Data,
            b"event" => Field::Event,
            b"id" => Field::Id,
            b"retry" => Field::Retry,
            _ => Field::Ignored,
        }
    }
}

impl Events {
    /// A parser for a new stream, whose events may have `limit` bytes of data.
    pub fn new(limit: usize) -> Events {
        Events {
            limit,
            after_return: false,
            first_line: true,
            field: Field::Unread,
            blank_due: false,
            small: Vec::new(),
            name: None,
            data: None,
            skipped: false,
            id: String::new(),
            last_id: String::new(),
            retry: None,
            seen: false,
        }
    }

    /// Takes the next bytes of the stream and hands over each event that they complete. What the stream's end leaves
    /// unfinished is no event, and needs no call.
    pub fn feed(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Event)) {
        loop {
            if self.after_return && !bytes.is_empty() {
                self.after_return = false;
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            let Some(end) = memchr::memchr2(b'\r', b'\n', bytes) else { break };
            let (line, rest) = bytes.split_at(end);
            self.piece(line, each);
            self.line_end(each);
            self.after_return = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.piece(bytes, each);
    }

    /// The id to resume behind: that of the last event that ended, with data or without.
    pub fn last_id(&self) -> Option<&str> {
        Some(&*self.last_id).filter(|id| !id.is_empty())
    }

    /// How long the server last asked to wait before a new connection. Any length: it is for the caller to bound.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Whether any field of an event has come, or only comments and what is no event stream at all.
    pub fn seen_any(&self) -> bool {
        self.seen
    }

    /// How many bytes of an unfinished event are held. Never more than the limit and a little.
    pub fn held(&self) -> usize {
        self.small.len() + self.data.as_ref().map_or(0, Vec::len)
    }

    /// Takes a part of a line.
    fn piece(&mut self, mut piece: &[u8], each: &mut dyn FnMut(Event)) {
        if self.field == Field::Unread {
            let may_be_name = piece.get(..=LONGEST_FIELD).unwrap_or(piece);
            match may_be_name.iter().position(|byte| *byte == b':') {
                Some(colon) => {
                    self.small.extend_from_slice(&piece[..colon]);
                    piece = &piece[colon + 1..];
                    self.begin_value(each);
                    self.blank_due = true;
                }
                None if self.small.len() + piece.len() > LONGEST_FIELD => {
                    self.small.clear();
                    self.field = Field::Ignored;
                }
                None => self.small.extend_from_slice(piece),
            }
        }
        if self.blank_due && !piece.is_empty() {
            self.blank_due = false;
            piece = piece.strip_prefix(b" ").unwrap_or(piece);
        }
        match self.field {
            Field::Unread | Field::Ignored => {}
            Field::Data => self.append(piece, each),
            Field::Event | Field::Id | Field::Retry => {
                // One byte more than may be, so that the end of the line sees what was too long.
                let room = (LONGEST_VALUE + 1).saturating_sub(self.small.len());
                self.small.extend_from_slice(piece.get(..room).unwrap_or(piece));
            }
        }
    }

    /// The name of the field is complete: what follows is its value.
    fn begin_value(&mut self, each: &mut dyn FnMut(Event)) {
        self.field = Field::named(self.field_name());
        self.small.clear();
        self.seen |= self.field != Field::Ignored;
        if self.field == Field::Data {
            match self.data {
                Some(_) => self.append(b"\n", each),
                None => self.data = Some(Vec::new()),
            }
        }
    }

    fn field_name(&self) -> &[u8] {
        match self.small.strip_prefix(BYTE_ORDER_MARK) {
            Some(name) if self.first_line => name,
            _ => &self.small,
        }
    }

    /// Appends to the data, unless that makes it too long.
    fn append(&mut self, piece: &[u8], each: &mut dyn FnMut(Event)) {
        if self.skipped {
            return;
        }
        let limit = self.limit;
        let data = self.data.get_or_insert_default();
        let needed = data.len() + piece.len();
        if needed > limit {
            let mut head = self.data.take().unwrap_or_default();
            head.truncate(HEAD);
            let room = HEAD.min(limit).saturating_sub(head.len());
            head.extend_from_slice(piece.get(..room).unwrap_or(piece));
            head.shrink_to_fit();
            self.skipped = true;
            each(Event::TooLong { head });
            return;
        }
        if needed > data.capacity() {
            // As vectors grow, but not beyond the limit.
            let wanted = needed.max(data.capacity().saturating_mul(2)).min(limit);
            data.reserve_exact(wanted - data.len());
        }
        data.extend_from_slice(piece);
    }

    fn line_end(&mut self, each: &mut dyn FnMut(Event)) {
        if self.field == Field::Unread {
            if self.field_name().is_empty() {
                self.event_end(each);
            } else {
                // A field without a colon has an empty value.
                self.begin_value(each);
            }
        }
        match self.field {
            Field::Unread | Field::Ignored | Field::Data => {}
            Field::Event => {
                // Of a name that is too long the beginning: it is no known one either way.
                let name = String::from_utf8_lossy(&self.small);
                self.name = Some(name.into_owned()).filter(|name| !name.is_empty());
            }
            Field::Id if self.small.contains(&0) => {}
            Field::Id => {
                self.id.clear();
                // An id that cannot be sent back is as good as none. The one before it would bring events twice.
                if self.small.len() <= LONGEST_VALUE {
                    self.id.push_str(&String::from_utf8_lossy(&self.small));
                }
            }
            Field::Retry => {
                let digits = std::str::from_utf8(&self.small).ok().filter(|text| !text.starts_with('+'));
                if let Some(milliseconds) = digits.and_then(|text| text.parse().ok()) {
                    self.retry = Some(Duration::from_millis(milliseconds));
                }
            }
        }
        self.small.clear();
        self.field = Field::Unread;
        self.blank_due = false;
        self.first_line = false;
    }

    fn event_end(&mut self, each: &mut dyn FnMut(Event)) {
        self.last_id.clone_from(&self.id);
        let name = self.name.take();
        self.skipped = false;
        // Without data it is no event by the standard; with empty data it is one that says nothing.
        if let Some(data) = self.data.take().filter(|data| !data.is_empty()) {
            each(Event::Message { name, data });
        }
    }
}

#[cfg(test)]
mod standard;
#[cfg(test)]
mod tests;
