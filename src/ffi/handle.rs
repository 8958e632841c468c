//! References as the host holds them: names that are checked, not addresses.
//!
//! A handle has bit 62 set, the kind of its object in bits 56 to 59, a generation in bits 28 to 55 and an index in bits
//! 0 to 27. No real address looks like that, so a pointer that is not ours does not decode; a freed handle has an old
//! generation. Objects are shared: a call under way keeps the one that it works on.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::context::Context;
use crate::ffi::tools::ToolsObject;
use crate::log;
use crate::mcp::source::Source;
use crate::outcome::{Failure, Outcome, Status};
use crate::queue::Queue;
use crate::runtime;
use crate::tool::Tool;
use crate::toolkit::Toolkit;

const MARK: u64 = 1 << 62;
const KIND_AT: u32 = 56;
const GENERATION_AT: u32 = 28;
const FIELD: u64 = (1 << 28) - 1;

/// The result of every call in a forked child. It is in no slot, so that using it takes no lock.
pub const FORKED: u64 = MARK | (Kind::Result as u64) << KIND_AT | FIELD;

/// What a handle can name. The numbers stand in handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Result = 1,
    Context = 2,
    Queue = 3,
    Mcp = 4,
    Tools = 5,
    Tool = 6,
    Toolkit = 7,
}

impl Kind {
    /// All of them, with the names that documents use.
    pub const ALL: [(Kind, &str); 7] = [
        (Kind::Result, "result"),
        (Kind::Context, "context"),
        (Kind::Queue, "queue"),
        (Kind::Mcp, "mcp"),
        (Kind::Tools, "tools"),
        (Kind::Tool, "tool"),
        (Kind::Toolkit, "toolkit"),
    ];

    fn name(number: u64) -> &'static str {
        Kind::ALL.iter().find(|(kind, _)| *kind as u64 == number).map_or("unknown object", |(_, name)| name)
    }
}

/// An object that handles name.
#[derive(Debug)]
pub enum Object {
    Result(Arc<Outcome>),
    Context(Arc<Context>),
    Queue(Arc<Queue>),
    Mcp(Arc<Source>),
    Tools(Arc<ToolsObject>),
    Tool(Arc<Tool>),
    Toolkit(Arc<Toolkit>),
}

impl Object {
    fn kind(&self) -> Kind {
        match self {
            Object::Result(_) => Kind::Result,
            Object::Context(_) => Kind::Context,
            Object::Queue(_) => Kind::Queue,
            Object::Mcp(_) => Kind::Mcp,
            Object::Tools(_) => Kind::Tools,
            Object::Tool(_) => Kind::Tool,
            Object::Toolkit(_) => Kind::Toolkit,
        }
    }
}

/// Connects an object's type, its kind and its variant.
pub trait Named: Sized {
    const KIND: Kind;
    fn wrap(object: Arc<Self>) -> Object;
    fn find(object: &Object) -> Option<&Arc<Self>>;
}

macro_rules! named {
    ($($type:ty => $variant:ident),+ $(,)?) => {$(
        impl Named for $type {
            const KIND: Kind = Kind::$variant;
            fn wrap(object: Arc<Self>) -> Object {
                Object::$variant(object)
            }
            fn find(object: &Object) -> Option<&Arc<Self>> {
                match object {
                    Object::$variant(object) => Some(object),
                    _ => None,
                }
            }
        }
    )+};
}

named! {
    Outcome => Result,
    Context => Context,
    Queue => Queue,
    Source => Mcp,
    ToolsObject => Tools,
    Tool => Tool,
    Toolkit => Toolkit,
}

struct Slot {
    generation: u32,
    object: Option<Object>,
}

impl Slot {
    /// Whether it holds what a handle of this kind, generation and index names.
    fn is(&self, (kind, generation, _): (u64, u32, usize)) -> bool {
        self.generation == generation && self.object.as_ref().is_some_and(|object| object.kind() as u64 == kind)
    }
}

struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

static TABLE: Mutex<Table> = Mutex::new(Table { slots: Vec::new(), free: Vec::new() });

/// Makes a new reference to `object`.
pub fn new<T: Named>(object: Arc<T>) -> u64 {
    insert(T::wrap(object), T::KIND)
}

fn insert(object: Object, kind: Kind) -> u64 {
    // Whoever holds a reference has used the library, and a child that is forked now must know.
    runtime::watch_forks();
    let mut table = TABLE.lock();
    let index = match table.free.pop() {
        Some(index) => index,
        None => {
            // 2^28 references at once are beyond any memory that this could run in.
            let index = u32::try_from(table.slots.len()).unwrap_or(u32::MAX);
            table.slots.push(Slot { generation: 1, object: None });
            index
        }
    };
    let slot = &mut table.slots[index as usize];
    slot.object = Some(object);
    MARK | (kind as u64) << KIND_AT | u64::from(slot.generation) << GENERATION_AT | u64::from(index)
}

/// The parts of a value that looks like a handle: kind, generation, index.
fn decode(handle: u64) -> Option<(u64, u32, usize)> {
    // Bits 60, 61 and 63 are zero.
    if handle >> 60 != MARK >> 60 {
        return None;
    }
    let generation = u32::try_from(handle >> GENERATION_AT & FIELD).ok()?;
    Some((handle >> KIND_AT & 0xf, generation, usize::try_from(handle & FIELD).ok()?))
}

/// The object that `handle` names. `what` is the argument's name in the message.
pub fn get<T: Named>(handle: u64, what: &str) -> Result<Arc<T>, Failure> {
    if handle == 0 {
        return Err(Failure::new(Status::Argument, format!("{what} is NULL")));
    }
    if let Some(name) = decode(handle) {
        let table = TABLE.lock();
        if let Some(slot) = table.slots.get(name.2)
            && slot.is(name)
            && let Some(object) = slot.object.as_ref().and_then(T::find)
        {
            return Ok(object.clone());
        }
    }
    Err(Failure::new(Status::Handle, format!("{what} {}", complaint(handle, Some(T::KIND)))))
}

/// Whether `handle` names an object of any kind.
pub fn check(handle: u64) -> Status {
    if handle == 0 {
        return Status::Argument;
    }
    let good = decode(handle).is_some_and(|name| TABLE.lock().slots.get(name.2).is_some_and(|slot| slot.is(name)));
    if good { Status::Ok } else { Status::Handle }
}

/// Gives a reference back. A bad one is logged and changes nothing.
pub fn free(handle: u64) {
    if handle == 0 {
        return;
    }
    let object = decode(handle).and_then(|name| {
        let mut table = TABLE.lock();
        let index = name.2;
        let slot = table.slots.get_mut(index).filter(|slot| slot.is(name))?;
        let object = slot.object.take()?;
        slot.generation += 1;
        // A slot whose generations are used up is never used again: its next handle would equal its first.
        if u64::from(slot.generation) < FIELD {
            table.free.push(u32::try_from(index).unwrap_or_default());
        }
        Some(object)
    });
    match &object {
        None => log::at!(Warn, "ffi", "tn_free: the reference {}", complaint(handle, None)),
        // Calls under way hold their queue; freeing its one reference is what ends it.
        Some(Object::Queue(queue)) => queue.discard(),
        Some(_) => {}
    }
    // The object is dropped here, outside the lock: it may be the last of a source.
}

/// Why a handle is bad.
fn complaint(handle: u64, wanted: Option<Kind>) -> String {
    let wanted = wanted.map(|kind| kind as u64);
    match decode(handle) {
        None => "is no reference of this library".to_owned(),
        Some((kind, ..)) if wanted.is_some_and(|wanted| wanted != kind) => {
            let (is, needed) = (Kind::name(kind), Kind::name(wanted.unwrap_or_default()));
            format!("is a tn_{is}, not a tn_{needed}")
        }
        Some((kind, ..)) => format!("was freed before (tn_{})", Kind::name(kind)),
    }
}

/// How many references of each kind there are now.
pub fn live() -> Vec<(&'static str, usize)> {
    let table = TABLE.lock();
    let mut counts = [0usize; 16];
    for object in table.slots.iter().filter_map(|slot| slot.object.as_ref()) {
        let kind = object.kind();
        counts[kind as usize] += 1;
    }
    Kind::ALL.iter().map(|(kind, name)| (*name, counts[*kind as usize])).filter(|(_, count)| *count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_handle_stays_bad_after_its_slot_is_used_again() {
        let first = new(Arc::new(Context::default()));
        free(first);
        let second = new(Arc::new(Context::default()));
        assert!(get::<Context>(second, "context").is_ok());
        assert_eq!(get::<Context>(first, "context").unwrap_err().status, Status::Handle);
        free(first);
        assert_eq!(check(second), Status::Ok, "a second free of the old one must not touch the new one");
        free(second);
        assert_eq!(check(second), Status::Handle);
    }

    #[test]
    fn foreign_values_do_not_decode() {
        let good = new(Arc::new(Context::default()));
        for value in [1, 0xdead_beef, u64::MAX, good | 1 << 63, good | 1 << 61, good | 1 << 60, good ^ MARK, FORKED] {
            assert_eq!(check(value), Status::Handle, "{value:x}");
            free(value);
        }
        assert_eq!(check(0), Status::Argument);
        assert_eq!(check(good), Status::Ok);
        let wrong = get::<Tool>(good, "tool").unwrap_err();
        assert_eq!((wrong.status, wrong.message.as_str()), (Status::Handle, "tool is a tn_context, not a tn_tool"));
        free(good);
    }
}
