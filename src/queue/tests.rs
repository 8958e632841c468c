//! What a queue promises.

use super::*;

fn ids(taken: Taken) -> Vec<u64> {
    match taken {
        Taken::Events(events) => events.iter().map(|event| event.id).collect(),
        Taken::Closed => vec![u64::MAX],
    }
}

#[test]
fn keeps_the_order_of_events_and_notices() {
    let queue = Queue::new();
    queue.notice(1, String::new());
    queue.push(Kind::Request, 2, Outcome::document(String::new()));
    queue.notice(3, String::new());
    assert_eq!(ids(queue.wait(Most::events(2), None)), [1, 2]);
    assert_eq!(ids(queue.wait(Most::events(2), Some(Duration::ZERO))), [3]);
    assert_eq!(ids(queue.wait(Most::events(2), Some(Duration::ZERO))), [0u64; 0]);
}

#[test]
fn unread_notices_are_bounded_and_the_rest_is_counted() {
    let queue = Queue::new();
    for id in 0..NOTICES as u64 + 7 {
        queue.notice(id, "\"kind\":\"log\"".to_owned());
    }
    queue.push(Kind::Call, 9, Outcome::document(String::new()));
    let Taken::Events(events) = queue.wait(Most::events(usize::MAX), None) else { panic!("closed") };
    assert_eq!(events.len(), NOTICES + 1);
    assert_eq!(events[0].id, 7);
    assert_eq!(events[0].outcome.json().as_str(), r#"{"kind":"log","lost":7}"#);
    assert_eq!(events[1].outcome.json().as_str(), r#"{"kind":"log"}"#);
}

#[test]
fn unread_notices_are_bounded_in_size_too() {
    let queue = Queue::new();
    for id in 0..20 {
        queue.notice(id, "x".repeat(NOTICE_BYTES / 16));
    }
    let Taken::Events(events) = queue.wait(Most::events(1), None) else { panic!("closed") };
    assert_eq!(events[0].id, 4);
    assert!(events[0].outcome.json().as_str().ends_with("x,\"lost\":4}"));
    // What is too large by itself is kept by itself.
    queue.notice(20, "x".repeat(NOTICE_BYTES * 2));
    let Taken::Events(events) = queue.wait(Most::events(9), None) else { panic!("closed") };
    assert_eq!(events.len(), 1);
    assert!(events[0].outcome.json().as_str().ends_with("x,\"lost\":15}"));
    assert_eq!(queue.state.lock().notice_bytes, 0);
}

#[test]
fn calls_end_as_closed_where_it_was_a_shutdown_that_closed_their_queue() {
    let (by_host, by_shutdown) = (Queue::new(), Queue::new());
    let tickets = [by_host.begin(1, Outcome::from).unwrap(), by_shutdown.begin(1, Outcome::from).unwrap()];
    by_host.close();
    for queue in [&by_host, &by_shutdown] {
        queue.after_close(queue.begin_close(true));
    }
    drop(tickets);
    for (queue, status) in [(by_host, Status::Cancelled), (by_shutdown, Status::Closed)] {
        let Taken::Events(events) = queue.wait(Most::events(9), None) else { panic!("closed") };
        assert_eq!(events[0].outcome.status, status);
    }
}

#[test]
fn a_ticket_completes_once_also_when_it_is_dropped() {
    let queue = Queue::new();
    queue.begin(1, Outcome::from).unwrap().complete(Outcome::document(String::new()));
    let dropped = queue.begin(2, Outcome::from).unwrap();
    let late = queue.begin(3, Outcome::from).unwrap();
    drop(dropped);
    queue.close();
    assert_eq!(queue.begin(4, Outcome::from).unwrap_err().status, Status::Closed);
    let Taken::Events(events) = queue.wait(Most::events(9), None) else { panic!("closed") };
    let seen: Vec<_> = events.iter().map(|event| (event.id, event.outcome.status)).collect();
    assert_eq!(seen, [(1, Status::Ok), (2, Status::Closed)]);
    assert_eq!(ids(queue.wait(Most::events(9), Some(Duration::ZERO))), [0u64; 0], "one call is still open");
    drop(late);
    let Taken::Events(events) = queue.wait(Most::events(9), None) else { panic!("closed") };
    assert_eq!((events[0].id, events[0].outcome.status), (3, Status::Cancelled));
    assert!(matches!(queue.wait(Most::events(9), None), Taken::Closed));
}

#[test]
fn discarding_ends_waiting_takers() {
    let queue = Queue::new();
    let waiting = {
        let queue = queue.clone();
        std::thread::spawn(move || ids(queue.wait(Most::events(1), None)))
    };
    while queue.state.lock().waiting == 0 {
        std::thread::yield_now();
    }
    let open = queue.begin(1, Outcome::from).unwrap();
    queue.discard();
    assert_eq!(waiting.join().unwrap(), [u64::MAX]);
    drop(open);
    assert!(matches!(queue.wait(Most::events(1), None), Taken::Closed));
}
