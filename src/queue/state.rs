//! What a queue holds, and in which order it goes out.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

use super::calls::{Calls, Stop};
use super::{Event, Kind, Wake};
use crate::outcome::Outcome;

/// Unread notices that are kept, and the bytes of their documents; the oldest go first.
pub(super) const NOTICES: usize = 1024;
pub(super) const NOTICE_BYTES: usize = 16 * 1024 * 1024;

pub(super) struct Notice {
    pub id: u64,
    /// The members of the document.
    pub members: String,
    /// How many notices before this one were dropped.
    pub lost: u64,
}

#[derive(Default)]
pub(super) struct State {
    /// In order of their number; notices apart, since only they are dropped.
    pub events: VecDeque<(u64, Event)>,
    pub notices: VecDeque<(u64, Notice)>,
    pub notice_bytes: usize,
    next: u64,
    pub open: Calls,
    pub closed: bool,
    /// It was the shutdown that closed it.
    pub shut_down: bool,
    /// Nothing is kept or delivered any more.
    pub discarded: bool,
    pub waiting: usize,
    /// That something came is about to be announced: what comes meanwhile needs none of its own.
    pub announcing: bool,
    pub wake: Option<Arc<dyn Wake>>,
}

/// How much is taken at once.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    pub events: usize,
    /// About so many bytes of documents, but always one event.
    pub bytes: usize,
}

impl Most {
    pub fn events(events: usize) -> Most {
        Most { events, bytes: usize::MAX }
    }
}

impl State {
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.notices.is_empty()
    }

    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub fn pop_notice(&mut self) -> Option<Notice> {
        let (_, notice) = self.notices.pop_front()?;
        self.notice_bytes -= notice.members.len();
        Some(notice)
    }

    /// True if nothing comes in any more.
    pub fn is_over(&self) -> bool {
        self.discarded || (self.closed && self.open.is_empty())
    }

    pub fn close(&mut self) -> Vec<Stop> {
        self.closed = true;
        self.open.stops()
    }

    pub fn take(&mut self, most: Most) -> Vec<Event> {
        let count = most.events.min(self.events.len() + self.notices.len());
        let mut taken = Vec::with_capacity(count);
        let mut bytes = 0usize;
        while taken.len() < count {
            let notice_first = match (self.events.front(), self.notices.front()) {
                (Some((event, _)), Some((notice, _))) => notice < event,
                (event, _) => event.is_none(),
            };
            let size = if notice_first {
                self.notices.front().map_or(0, |(_, notice)| notice.members.len())
            } else {
                self.events.front().map_or(0, |(_, event)| event.outcome.size())
            };
            bytes = bytes.saturating_add(size);
            if bytes > most.bytes && !taken.is_empty() {
                break;
            }
            if notice_first {
                taken.extend(self.pop_notice().map(Notice::event));
            } else {
                taken.extend(self.events.pop_front().map(|(_, event)| event));
            }
        }
        taken
    }
}

impl Notice {
    fn event(self) -> Event {
        let mut json = self.members;
        json.insert(0, '{');
        if self.lost > 0 {
            let _ = write!(json, ",\"lost\":{}", self.lost);
        }
        json.push('}');
        Event { kind: Kind::Notice, id: self.id, outcome: Outcome::document(json) }
    }
}
