//! The calls that complete in a queue, each exactly once.

use std::sync::Arc;

use super::Queue;
use crate::outcome::{Failure, Outcome, Status};

/// The calls that are to complete in a queue, and what stops them.
#[derive(Default)]
pub(super) struct Calls {
    places: Vec<Place>,
    free: Vec<usize>,
    next: u64,
}

pub(super) struct Place {
    /// The number of the call that has the place; places are used again, numbers are not.
    call: Option<u64>,
    stop: Option<Stop>,
}

/// What stops a call: a function, and which call it is in the words of whoever runs it.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    pub with: fn(seat: usize, number: u64),
    pub seat: usize,
    pub number: u64,
}

impl Stop {
    pub(super) fn stop(self) {
        (self.with)(self.seat, self.number);
    }
}

impl Calls {
    pub fn add(&mut self) -> (usize, u64) {
        let call = self.next;
        self.next += 1;
        let place = self.free.pop().unwrap_or(self.places.len());
        match self.places.get_mut(place) {
            Some(free) => free.call = Some(call),
            None => self.places.push(Place { call: Some(call), stop: None }),
        }
        (place, call)
    }

    pub fn get(&mut self, place: usize, call: u64) -> Option<&mut Place> {
        self.places.get_mut(place).filter(|place| place.call == Some(call))
    }

    pub fn remove(&mut self, place: usize, call: u64) {
        if let Some(found) = self.get(place, call) {
            *found = Place { call: None, stop: None };
            self.free.push(place);
        }
    }

    /// What stops each of them, once.
    pub fn stops(&mut self) -> Vec<Stop> {
        self.places.iter_mut().filter_map(|place| place.stop.take()).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.free.len() == self.places.len()
    }
}

/// A submitted call: completes in its queue exactly once.
#[derive(Debug)]
pub struct Ticket {
    pub(super) queue: Arc<Queue>,
    pub(super) place: usize,
    pub(super) call: u64,
    pub(super) id: u64,
    pub(super) failed: fn(Failure) -> Outcome,
    pub(super) open: bool,
}

impl Ticket {
    /// Completes a call that did not come to its end.
    pub fn fail(self, failure: Failure) {
        let outcome = (self.failed)(failure);
        self.complete(outcome);
    }

    pub fn complete(mut self, outcome: Outcome) {
        self.open = false;
        self.queue.complete(&self, outcome);
    }

    /// What [`Ticket::complete`] needs to be told of who stops the call.
    pub fn track(&self) -> Track {
        Track { queue: self.queue.clone(), place: self.place, call: self.call }
    }
}

/// Where to say what stops a call.
#[derive(Debug)]
pub struct Track {
    queue: Arc<Queue>,
    place: usize,
    call: u64,
}

impl Track {
    /// Says what stops the call. If its queue is closed already it is stopped at once.
    pub fn stop_with(self, stop: Stop) {
        let mut state = self.queue.state.lock();
        let closed = state.closed;
        match state.open.get(self.place, self.call) {
            Some(place) if !closed => place.stop = Some(stop),
            Some(_) => {
                drop(state);
                stop.stop();
            }
            None => {}
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.open {
            let closed_by_host = {
                let state = self.queue.state.lock();
                state.closed && !state.shut_down
            };
            let failure = if closed_by_host {
                Failure::new(Status::Cancelled, "the call was cancelled: its queue was closed")
            } else {
                Failure::new(Status::Closed, "the library was shut down before the call ended")
            };
            self.queue.complete(self, (self.failed)(failure));
        }
    }
}
