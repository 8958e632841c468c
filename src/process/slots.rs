//! A table of small numbers that can be read without a lock: in a forked child, and while the host exits.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

const FREE: i32 = -1;
const CHUNK: usize = 64;

/// Grows by chunks, which are never freed: a reader may stand on any of them.
pub(super) struct Table {
    slots: [AtomicI32; CHUNK],
    next: OnceLock<Box<Table>>,
}

/// One number in the table, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot(&'static AtomicI32);

impl Table {
    pub(super) const fn new() -> Table {
        Table { slots: [const { AtomicI32::new(FREE) }; CHUNK], next: OnceLock::new() }
    }

    /// Keeps `value`, which is not negative, until the slot is dropped.
    pub(super) fn insert(&'static self, value: i32) -> Slot {
        let mut table = self;
        loop {
            for slot in &table.slots {
                if slot.compare_exchange(FREE, value, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    return Slot(slot);
                }
            }
            table = table.next.get_or_init(|| Box::new(Table::new()));
        }
    }

    /// Shows every number. Takes no lock and allocates nothing.
    pub(super) fn for_each(&self, mut visit: impl FnMut(i32)) {
        let mut table = Some(self);
        while let Some(chunk) = table {
            for slot in &chunk.slots {
                let value = slot.load(Ordering::Acquire);
                if value != FREE {
                    visit(value);
                }
            }
            table = chunk.next.get().map(|next| &**next);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.store(FREE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(table: &Table) -> (usize, i32) {
        let (mut count, mut sum) = (0, 0);
        table.for_each(|value| {
            count += 1;
            sum += value;
        });
        (count, sum)
    }

    #[test]
    fn grows_past_one_chunk_and_reuses_what_is_freed() {
        static TABLE: Table = Table::new();
        let mut slots: Vec<Slot> = (0..200).map(|value| TABLE.insert(value)).collect();
        assert_eq!(sum(&TABLE), (200, 199 * 200 / 2));
        slots.retain(|slot| slot.0.load(Ordering::Relaxed) % 2 == 0);
        assert_eq!(sum(&TABLE).0, 100);
        let address = slots.iter().map(|slot| std::ptr::from_ref(slot.0)).max();
        slots.extend((0..100).map(|value| TABLE.insert(value)));
        assert_eq!(sum(&TABLE).0, 200);
        assert!(slots.iter().map(|slot| std::ptr::from_ref(slot.0)).max() >= address);
        drop(slots);
        assert_eq!(sum(&TABLE), (0, 0));
    }
}
