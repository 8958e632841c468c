//! Answers that a server said may be used again for a while (MCP 2026-07-28, caching: `ttlMs`, `cacheScope`).
//!
//! Each session has a cache of its own, and with it goes what it holds: after a restart, or for a server that is down, nothing
//! is answered from memory. There is one authorization for each server, so that answers of either scope are kept alike.
#![forbid(unsafe_code)]

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::json::{Kind, Raw};
use crate::mcp::input::Ask;
use crate::wire::mux::{Era, Reply};

/// What is held at most: of the answers the first ones that came go first.
const ANSWERS: usize = 128;
const BYTES: usize = 8 * 1024 * 1024;
/// One that is larger would push out all others.
const ANSWER_BYTES: usize = BYTES / 4;
/// However long a server says: what it forgets to announce is found out after a day.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

const METHODS: [&str; 6] =
    ["server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list", "resources/read"];

/// The answers of one session.
#[derive(Debug, Default)]
pub struct Cache(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    answers: Vec<Answer>,
    bytes: usize,
    /// Counts what was said to have changed: an answer that was under way meanwhile may be from before.
    changes: u64,
}

#[derive(Debug)]
struct Answer {
    method: &'static str,
    members: String,
    reply: Reply,
    until: Instant,
}

/// The place of one request's answer.
#[derive(Debug)]
pub struct Slot<'a> {
    cache: &'a Cache,
    method: &'static str,
    members: &'a str,
    changes: u64,
}

impl Cache {
    /// The place of the answer to `ask`, if such answers are kept at all.
    pub fn slot<'a>(&'a self, era: Era, ask: &Ask<'a>) -> Option<Slot<'a>> {
        if !ask.cached || era != Era::Modern {
            return None;
        }
        let method = METHODS.into_iter().find(|method| *method == ask.method)?;
        Some(Slot { cache: self, method, members: ask.members, changes: self.0.lock().changes })
    }

    /// The answers to these methods are not so any more.
    pub fn forget(&self, methods: &[&str]) {
        self.0.lock().changed(|answer| methods.contains(&answer.method));
    }

    /// This resource, or without a uri some resource, reads differently now.
    pub fn forget_resource(&self, uri: Option<&str>) {
        self.0.lock().changed(|answer| {
            let of =
                || Raw::checked(&format!("{{{}}}", answer.members)).get("uri")?.as_str().map(|uri| uri.into_owned());
            answer.method == "resources/read" && uri.is_none_or(|uri| of().as_deref() == Some(uri))
        });
    }
}

impl Slot<'_> {
    /// The answer that is still good.
    pub fn get(&self) -> Option<Reply> {
        let mut state = self.cache.0.lock();
        let now = Instant::now();
        state.remove(|answer| answer.until <= now);
        state.answers.iter().find(|answer| self.is_of(answer)).map(|answer| answer.reply.clone())
    }

    /// Keeps an answer, if it is complete and the server said for how long.
    pub fn keep(&self, reply: &Reply) {
        let complete = reply.result_type().is_none_or(|kind| kind.as_str().as_deref() == Some("complete"));
        let bytes = reply.text().len() + self.members.len();
        if reply.is_error || !complete || bytes > ANSWER_BYTES {
            return;
        }
        let Some(until) = good_for(reply.raw()).and_then(|time| Instant::now().checked_add(time)) else { return };
        let mut state = self.cache.0.lock();
        if state.changes != self.changes {
            return;
        }
        state.remove(|answer| self.is_of(answer));
        while state.answers.len() >= ANSWERS || state.bytes + bytes > BYTES {
            let first = state.answers.remove(0);
            state.bytes -= first.bytes();
        }
        let members = self.members.to_owned();
        let answer = Answer { method: self.method, members, reply: reply.clone(), until };
        state.bytes += answer.bytes();
        state.answers.push(answer);
    }

    fn is_of(&self, answer: &Answer) -> bool {
        answer.method == self.method && answer.members == self.members
    }
}

impl State {
    fn changed(&mut self, what: impl Fn(&Answer) -> bool) {
        self.changes += 1;
        self.remove(what);
    }

    fn remove(&mut self, what: impl Fn(&Answer) -> bool) {
        self.answers.retain(|answer| !what(answer));
        self.bytes = self.answers.iter().map(Answer::bytes).sum();
    }
}

impl Answer {
    fn bytes(&self) -> usize {
        self.reply.text().len() + self.members.len()
    }
}

/// For how long a result may be used. Hints that make no sense count as none.
fn good_for(result: Raw<'_>) -> Option<Duration> {
    if result.kind() != Kind::Object {
        return None;
    }
    let (mut time, mut scope) = (None, None);
    for (key, value) in result.members() {
        match &*key {
            "ttlMs" => time = value.as_u64().filter(|ms| *ms > 0),
            "cacheScope" => scope = Some(value),
            _ => {}
        }
    }
    if scope.is_some_and(|scope| !matches!(scope.as_str().as_deref(), Some("public" | "private"))) {
        return None;
    }
    time.map(|ms| Duration::from_millis(ms).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(text: &str) -> Reply {
        Reply::from(text.to_owned())
    }

    fn slot<'a>(cache: &'a Cache, method: &'a str, members: &'a str) -> Option<Slot<'a>> {
        cache.slot(Era::Modern, &Ask::plain(method, members))
    }

    /// Keeps it, and says whether it is there afterwards.
    fn is_kept(text: &str) -> bool {
        let cache = Cache::default();
        let slot = slot(&cache, "tools/list", "").unwrap();
        slot.keep(&reply(text));
        slot.get().is_some_and(|kept| kept.text() == text)
    }

    #[tokio::test]
    async fn the_hints_decide() {
        for text in [
            r#"{"ttlMs":60000,"cacheScope":"private"}"#,
            r#"{"tools":[],"cacheScope":"public","ttlMs":1000}"#,
            r#"{"ttlMs":18446744073709551615}"#,
            r#"{"ttlMs":60000,"resultType":"complete"}"#,
        ] {
            assert!(is_kept(text), "{text}");
        }
        for text in [
            "{}",
            r#"{"ttlMs":0,"cacheScope":"public"}"#,
            r#"{"ttlMs":-5}"#,
            r#"{"ttlMs":1.5}"#,
            r#"{"ttlMs":1e9}"#,
            r#"{"ttlMs":99999999999999999999}"#,
            r#"{"ttlMs":"60000"}"#,
            r#"{"ttlMs":null}"#,
            r#"{"ttlMs":true}"#,
            r#"{"ttlMs":60000,"ttlMs":0}"#,
            r#"{"ttlMs":60000,"cacheScope":"weird"}"#,
            r#"{"ttlMs":60000,"cacheScope":7}"#,
            "[1]",
            "null",
            "7",
        ] {
            assert!(!is_kept(text), "{text}");
        }
        assert!(!is_kept(&format!(r#"{{"ttlMs":60000,"x":"{}"}}"#, "y".repeat(ANSWER_BYTES))));
    }

    #[tokio::test]
    async fn only_lists_and_reads_of_the_modern_era() {
        let cache = Cache::default();
        for method in METHODS {
            let ask = Ask::plain(method, "");
            assert!(cache.slot(Era::Modern, &ask).is_some() && cache.slot(Era::Legacy, &ask).is_none(), "{method}");
            assert!(cache.slot(Era::Modern, &Ask { cached: false, ..ask }).is_none(), "{method}");
        }
        for method in ["tools/call", "prompts/get", "completion/complete", "resources/subscribe", "tasks/get", ""] {
            assert!(slot(&cache, method, "").is_none(), "{method}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_good_until_its_time_is_over() {
        let cache = Cache::default();
        slot(&cache, "tools/list", "").unwrap().keep(&reply(r#"{"ttlMs":1000}"#));
        tokio::time::advance(Duration::from_millis(999)).await;
        assert!(slot(&cache, "tools/list", "").unwrap().get().is_some());
        assert!(slot(&cache, "tools/list", "\"cursor\":\"\"").unwrap().get().is_none());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(slot(&cache, "tools/list", "").unwrap().get().is_none());
        assert_eq!(cache.0.lock().bytes, 0);
    }

    #[tokio::test]
    async fn what_changed_is_forgotten_also_while_it_is_under_way() {
        let cache = Cache::default();
        let good = reply(r#"{"ttlMs":60000}"#);
        let (a, b) = (r#""uri":"a""#, r#""x":1,"uri":"\u0062""#);
        let all = [("tools/list", ""), ("prompts/list", ""), ("resources/read", a), ("resources/read", b)];
        let keep = || all.map(|(method, members)| slot(&cache, method, members).unwrap().keep(&good));
        let kept = || all.map(|(method, members)| slot(&cache, method, members).unwrap().get().is_some());
        keep();
        cache.forget(&["tools/list"]);
        assert_eq!(kept(), [false, true, true, true]);
        cache.forget_resource(Some("b"));
        assert_eq!(kept(), [false, true, true, false]);
        keep();
        cache.forget_resource(None);
        assert_eq!(kept(), [true, true, false, false]);
        let under_way = slot(&cache, "resources/read", a).unwrap();
        cache.forget_resource(Some("a"));
        under_way.keep(&good);
        assert_eq!(kept(), [true, true, false, false]);
    }

    #[tokio::test]
    async fn memory_is_bounded() {
        let cache = Cache::default();
        let names: Vec<String> = (0..ANSWERS + 10).map(|n| format!("\"cursor\":\"{n}\"")).collect();
        for members in &names {
            slot(&cache, "tools/list", members).unwrap().keep(&reply(r#"{"ttlMs":60000}"#));
        }
        assert_eq!(cache.0.lock().answers.len(), ANSWERS);
        assert!(slot(&cache, "tools/list", &names[9]).unwrap().get().is_none());
        assert!(slot(&cache, "tools/list", &names[10]).unwrap().get().is_some());
        let large = reply(&format!(r#"{{"ttlMs":60000,"x":"{}"}}"#, "y".repeat(ANSWER_BYTES - 100)));
        for members in &names[..6] {
            slot(&cache, "tools/list", members).unwrap().keep(&large);
            // Twice the same is kept once.
            slot(&cache, "tools/list", members).unwrap().keep(&large);
            let state = cache.0.lock();
            assert!(state.bytes <= BYTES);
            assert_eq!(state.bytes, state.answers.iter().map(Answer::bytes).sum::<usize>());
        }
        assert_eq!(cache.0.lock().answers.len(), 4);
    }
}
