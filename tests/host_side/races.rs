//! Answers, cancels, restarts and the close from many threads at once: each call ends once, each question at most once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::support::{CANCEL, Context, ERAS, Host, NOTICE, REQUEST, accept, answer, of_era};

const CALLS: usize = 60;

#[test]
fn everything_at_once() {
    for era in ERAS {
        let host = Host::new(of_era(era, "asks-elicitation"), json!({"restart": {"max": 0}}));
        let contexts: Vec<Context> = (0..CALLS).map(|_| Context::new()).collect();
        let calls: Vec<u64> = contexts.iter().map(|context| host.begin("odd", json!({}), Some(context))).collect();
        let taken = AtomicUsize::new(0);
        let ends = std::thread::scope(|scope| {
            let ends = scope.spawn(|| calls.iter().map(|_| host.next_end()).collect::<Vec<_>>());
            scope.spawn(|| contexts.iter().step_by(3).for_each(Context::cancel));
            scope.spawn(|| {
                // Each question is answered by two at once: one of them is too late.
                let mut open = HashMap::new();
                while let Some(event) = host.events.next_within(200) {
                    match event.kind {
                        REQUEST => {
                            assert!(open.insert(event.id, ()).is_none(), "asked twice");
                            let id = event.id;
                            let other = scope.spawn(move || !answer(id, accept(json!({}))).is_error);
                            let both = [!answer(id, accept(json!({}))).is_error, other.join().unwrap()];
                            assert_ne!(both, [true, true], "taken twice");
                            taken.fetch_add(usize::from(both[0] || both[1]), Ordering::Relaxed);
                        }
                        CANCEL => assert!(open.contains_key(&event.id), "cancelled before it was asked"),
                        kind => assert_eq!(kind, NOTICE),
                    }
                    if taken.load(Ordering::Relaxed) == CALLS / 4 {
                        host.close();
                    }
                }
                // The legacy server keeps one call in mind and forgets the others.
                host.close();
            });
            ends.join().unwrap()
        });
        let mut ids: Vec<u64> = ends.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        assert_eq!(ids, calls, "{era}: every call ends once");
        for (_, done) in ends {
            let status = done.status.as_str();
            assert!(["TN_OK", "TN_E_CANCELLED", "TN_E_CLOSED"].contains(&status), "{era}: {done:?}");
        }
    }
}
