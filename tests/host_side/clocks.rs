//! While the host thinks, idle time stands still and deadlines run.

use std::thread::{scope, sleep};
use std::time::Duration;

use serde_json::json;

use crate::support::{Context, ERAS, Host, accept, answer, of_era};

/// The silence that a call may have, and how long the host thinks: longer. The sleep is the thinking.
const IDLE_MS: u32 = 2_000;
const THOUGHT: Duration = Duration::from_millis(3_000);

#[test]
fn thinking_is_no_silence() {
    let think = |era, behaviour| {
        let host = Host::new(of_era(era, behaviour), json!({"sampling": true}));
        let call = host.begin("odd", json!({}), Some(&Context::new().idle(IDLE_MS)));
        let (id, _) = host.asked();
        sleep(THOUGHT);
        let message = json!({"role": "assistant", "content": {}, "model": "m"});
        assert!(!answer(id, accept(message)).is_error);
        host.end(call).ok();
    };
    scope(|scope| {
        for era in ERAS {
            for behaviour in ["asks-elicitation", "asks-sampling"] {
                scope.spawn(move || think(era, behaviour));
            }
        }
    });
}

#[test]
fn other_calls_of_the_server_wait_too() {
    let host = Host::new(of_era("legacy", "asks-and-goes"), json!({}));
    let asking = host.begin("odd", json!({}), Some(&Context::new().idle(IDLE_MS)));
    let (id, _) = host.asked();
    // The behaviour has one call that waits: this one replaces it, and the first is never answered.
    let second = host.begin("odd", json!({}), Some(&Context::new().idle(IDLE_MS)));
    sleep(THOUGHT);
    assert!(!answer(id, accept(json!({}))).is_error);
    assert_eq!(host.next_end().0, second, "it had the patience");
    // Its clock runs again once nobody thinks.
    host.end(asking).failed("TN_E_TIMEOUT", "no answer for 2000 ms");
}

#[test]
fn a_deadline_runs_while_the_host_thinks() {
    for era in ERAS {
        let host = Host::new(of_era(era, "asks-elicitation"), json!({}));
        let call = host.begin("odd", json!({}), Some(&Context::new().idle(IDLE_MS).deadline(3_000)));
        let (id, _) = host.asked();
        host.end(call).failed("TN_E_TIMEOUT", "deadline of 3000 ms");
        host.taken_back(id);
    }
}

#[test]
fn idle_time_runs_again_after_the_answer() {
    let host = Host::new(of_era("modern", "input-required-then-silent"), json!({}));
    let call = host.begin("odd", json!({}), Some(&Context::new().idle(IDLE_MS)));
    let (id, _) = host.asked();
    sleep(THOUGHT);
    assert!(!answer(id, accept(json!({}))).is_error);
    host.end(call).failed("TN_E_TIMEOUT", "no answer for 2000 ms");
}
