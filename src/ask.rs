//! Questions to the host: what a server asks of it, and calls of its own tools.
//!
//! A question is an event with an id; it is answered at most once. A bad answer is the host's mistake and leaves the question
//! open. When a question is no longer wanted, its event goes if nobody has read it; else the host gets a cancel event with its id.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::outcome::{Failure, Outcome, Status};
use crate::queue::{Kind, Queue};

/// Checks an answer and gives it back as the asker wants it.
pub type Check = Arc<dyn Fn(&str) -> Result<String, Failure> + Send + Sync>;

struct Open {
    check: Check,
    answer: oneshot::Sender<String>,
}

/// An ordered map: what a hash map keeps when it is empty looks lost to a leak checker, since it points into the middle of it.
static OPEN: Mutex<BTreeMap<u64, Open>> = Mutex::new(BTreeMap::new());
/// Ids are small enough for languages whose numbers are doubles.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A question that waits for its answer. Dropping it takes it back.
#[derive(Debug)]
pub struct Question {
    id: u64,
    /// The number of its event in the queue.
    event: u64,
    queue: Arc<Queue>,
    answer: oneshot::Receiver<String>,
}

impl Question {
    /// Puts a question into `queue`. `document` makes the event's document from the id. None: the queue is closed.
    pub fn put(queue: &Arc<Queue>, kind: Kind, check: Check, document: impl FnOnce(u64) -> String) -> Option<Question> {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (answer, receiver) = oneshot::channel();
        OPEN.lock().insert(id, Open { check, answer });
        let mut question = Question { id, event: 0, queue: queue.clone(), answer: receiver };
        question.event = queue.push(kind, id, Outcome::document(document(id)))?;
        Some(question)
    }

    /// Waits for the answer. None: the queue was closed before there was one.
    pub async fn answer(mut self) -> Option<String> {
        let closed = self.queue.closed().clone();
        tokio::select! {
            biased;
            answer = &mut self.answer => answer.ok(),
            () = closed.cancelled() => None,
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let open = OPEN.lock().remove(&self.id);
        if open.is_some() {
            self.queue.take_back(self.event, self.id);
        }
    }
}

/// Answers a question.
pub fn answer(id: u64, text: &str) -> Result<(), Failure> {
    let unknown = || {
        Failure::new(
            Status::NotFound,
            format!("there is no open request or call with id {id}: it was answered, or ended"),
        )
    };
    let check = OPEN.lock().get(&id).ok_or_else(unknown)?.check.clone();
    // Checked outside the lock: other questions need not wait for a long answer.
    let checked = check(text)?;
    let open = OPEN.lock().remove(&id).ok_or_else(unknown)?;
    open.answer.send(checked).map_err(|_| unknown())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::queue::{Most, Taken};

    fn ask(queue: &Arc<Queue>) -> Option<Question> {
        Question::put(queue, Kind::Request, Arc::new(|text| Ok(text.to_owned())), |id| format!("{{\"id\":{id}}}"))
    }

    fn taken(queue: &Queue) -> Vec<(Kind, u64)> {
        match queue.wait(Most::events(usize::MAX), Some(Duration::ZERO)) {
            Taken::Events(events) => events.iter().map(|event| (event.kind, event.id)).collect(),
            Taken::Closed => Vec::new(),
        }
    }

    #[test]
    fn what_is_taken_back_unread_leaves_nothing() {
        let queue = Queue::new();
        let first = ask(&queue).unwrap();
        for _ in 0..1000 {
            drop(ask(&queue));
        }
        let last = ask(&queue).unwrap();
        assert_eq!(taken(&queue), [(Kind::Request, first.id), (Kind::Request, last.id)]);
        let ids = (first.id, last.id);
        drop((first, last));
        assert_eq!(taken(&queue), [(Kind::Cancel, ids.0), (Kind::Cancel, ids.1)]);
        assert_eq!(answer(ids.0, "{}").unwrap_err().status, Status::NotFound);
    }

    #[test]
    fn a_closed_queue_keeps_what_it_holds_and_takes_no_more() {
        let queue = Queue::new();
        let question = ask(&queue).unwrap();
        queue.close();
        assert!(ask(&queue).is_none());
        let id = question.id;
        drop(question);
        assert_eq!(taken(&queue), [(Kind::Request, id)]);
    }
}
