//! Questions to the host: what a server asks of it, and calls of its own tools.
//!
//! A question is an event with an id; it is answered at most once. A bad answer is the host's mistake and leaves the question
//! open. When a question is no longer wanted the host gets a cancel event with its id.
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
    queue: Arc<Queue>,
    answer: oneshot::Receiver<String>,
}

impl Question {
    /// Puts a question into `queue`. `document` makes the event's document from the id. None: the queue is closed.
    pub fn put(queue: &Arc<Queue>, kind: Kind, check: Check, document: impl FnOnce(u64) -> String) -> Option<Question> {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (answer, receiver) = oneshot::channel();
        OPEN.lock().insert(id, Open { check, answer });
        let question = Question { id, queue: queue.clone(), answer: receiver };
        queue.push(kind, id, Outcome::document(document(id))).then_some(question)
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
            self.queue.push(Kind::Cancel, self.id, Outcome::document(format!("{{\"id\":{}}}", self.id)));
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
