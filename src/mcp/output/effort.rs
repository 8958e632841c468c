//! How much work a check is at most.
//!
//! A schema of a few lines can ask for more than a lifetime of work: parts that refer to others twice, level by level. The
//! validator has no bound of its own, so the work is counted first. Counting is cheap where checking is not: what a part costs
//! on a value is worked out once, however often it is needed.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::ptr;

use serde_json::Value;

use super::outline::Outline;

/// Some hundred milliseconds of work.
const WORK_AT_MOST: u64 = 1_000_000;
/// How deep parts and values may lead into each other: the validator takes some 2 KiB of stack for each level, and the
/// thread is the host's.
const DEPTH_AT_MOST: usize = 128;

/// Fails if checking `content` is too much work.
pub fn allow(outline: &Outline, content: &Value) -> Result<(), String> {
    let mut count = Count { outline, known: HashMap::new(), left: WORK_AT_MOST };
    count.of(0, Subject::Value(content), 0).map(|_| ()).map_err(str::to_owned)
}

const TOO_MUCH: &str = "to check this content against this schema is too much work";
const TOO_DEEP: &str = "the schema and the content are nested too deep together";
const CIRCLE: &str = "the schema refers to itself without end";

/// What a part is applied to.
#[derive(Clone, Copy)]
enum Subject<'a> {
    Value(&'a Value),
    Name(&'a str),
}

impl Subject<'_> {
    fn has_inside(self) -> bool {
        matches!(self, Subject::Value(Value::Object(_) | Value::Array(_)))
    }

    fn address(self) -> usize {
        match self {
            Subject::Value(value) => ptr::from_ref(value).addr(),
            Subject::Name(name) => name.as_ptr().addr(),
        }
    }
}

/// The work, and how many levels it goes down.
#[derive(Clone, Copy)]
struct Cost {
    work: u64,
    depth: usize,
}

struct Count<'o> {
    outline: &'o Outline,
    /// By part and address. `None` while it is being worked out.
    known: HashMap<(usize, usize), Option<Cost>>,
    /// What the counting itself may still take.
    left: u64,
}

impl Count<'_> {
    fn of(&mut self, part: usize, subject: Subject<'_>, depth: usize) -> Result<Cost, &'static str> {
        if depth > DEPTH_AT_MOST {
            return Err(TOO_DEEP);
        }
        let simple = self.outline.parts.get(part).is_none_or(|part| part.same.is_empty()) && !subject.has_inside();
        if simple {
            // As cheap as looking it up, and most are.
            return self.work_out(part, subject, depth);
        }
        let key = (part, subject.address());
        match self.known.get(&key) {
            Some(None) => return Err(CIRCLE),
            Some(Some(cost)) if depth + cost.depth > DEPTH_AT_MOST => return Err(TOO_DEEP),
            Some(Some(cost)) => return Ok(*cost),
            None => {}
        }
        self.known.insert(key, None);
        let cost = self.work_out(part, subject, depth)?;
        self.known.insert(key, Some(cost));
        Ok(cost)
    }

    fn work_out(&mut self, part: usize, subject: Subject<'_>, depth: usize) -> Result<Cost, &'static str> {
        let outline = self.outline;
        let Some(part) = outline.parts.get(part) else { return Ok(Cost { work: 0, depth: 0 }) };
        let mut sum = Cost { work: 0, depth: 0 };
        self.add(&mut sum, part.fixed)?;
        for same in &part.same {
            self.lead(&mut sum, *same, subject, depth)?;
        }
        match subject {
            Subject::Name(text) => self.add(&mut sum, text_cost(text, part.text_byte))?,
            Subject::Value(Value::String(text)) => self.add(&mut sum, text_cost(text, part.text_byte))?,
            Subject::Value(Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.add(&mut sum, 1)?;
                    for inner in part.items.get(index).into_iter().chain(&part.inside) {
                        self.lead(&mut sum, *inner, Subject::Value(item), depth)?;
                    }
                }
            }
            Subject::Value(Value::Object(object)) => {
                for (name, value) in object {
                    self.add(&mut sum, 1 + text_cost(name, part.name_byte))?;
                    for inner in part.members.get(name).into_iter().chain(&part.inside) {
                        self.lead(&mut sum, *inner, Subject::Value(value), depth)?;
                    }
                    for inner in &part.names {
                        self.lead(&mut sum, *inner, Subject::Name(name), depth)?;
                    }
                }
            }
            Subject::Value(_) => {}
        }
        Ok(sum)
    }

    fn add(&mut self, sum: &mut Cost, work: u64) -> Result<(), &'static str> {
        self.left = self.left.checked_sub(work).ok_or(TOO_MUCH)?;
        sum.work += work;
        if sum.work > WORK_AT_MOST { Err(TOO_MUCH) } else { Ok(()) }
    }

    fn lead(&mut self, sum: &mut Cost, part: usize, subject: Subject<'_>, depth: usize) -> Result<(), &'static str> {
        self.add(sum, 1)?;
        let cost = self.of(part, subject, depth + 1)?;
        sum.depth = sum.depth.max(cost.depth + 1);
        sum.work += cost.work;
        if sum.work > WORK_AT_MOST { Err(TOO_MUCH) } else { Ok(()) }
    }
}

fn text_cost(text: &str, for_each_byte: u64) -> u64 {
    // Lengths are counted in characters.
    let bytes = text.len() as u64;
    bytes / 64 + bytes.saturating_mul(for_each_byte)
}
