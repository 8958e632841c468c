//! Room for large texts.
//!
//! A page that is touched for the first time costs a microsecond or more, and a large text has thousands: more than
//! reading and checking it. So the system is asked for huge pages there.

/// The size of a huge page, where it is not larger still.
#[cfg(target_os = "linux")]
const HUGE: usize = 2 * 1024 * 1024;

/// Makes room for exactly `more` bytes, and some that cost nothing until they are used. False: there is no such room.
pub fn reserve(buffer: &mut Vec<u8>, more: usize) -> bool {
    #[cfg(target_os = "linux")]
    if more >= 2 * HUGE {
        // The last bytes lie in a huge page only if all of it is ours.
        if buffer.try_reserve_exact(more.saturating_add(HUGE)).is_err() {
            return false;
        }
        let spare = buffer.spare_capacity_mut();
        let start = spare.as_ptr().addr().next_multiple_of(HUGE);
        let end = (spare.as_ptr().addr() + spare.len()) / HUGE * HUGE;
        // SAFETY: the range lies within memory that is ours, and the advice changes nothing that can be seen in it. A
        // system that does not take it goes on with small pages.
        unsafe {
            libc::madvise(std::ptr::without_provenance_mut(start), end.saturating_sub(start), libc::MADV_HUGEPAGE);
        }
        return true;
    }
    buffer.try_reserve_exact(more).is_ok()
}

/// A text with room for `bytes`.
pub fn text(bytes: usize) -> String {
    let mut buffer = Vec::new();
    reserve(&mut buffer, bytes);
    String::from_utf8(buffer).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_there_and_holds_what_is_put_into_it() {
        let mut buffer = b"begin".to_vec();
        assert!(reserve(&mut buffer, 9 << 20));
        assert!(buffer.capacity() >= buffer.len() + (9 << 20));
        buffer.resize(9 << 20, b'x');
        assert!(buffer.starts_with(b"beginx") && buffer.ends_with(b"x"));
        assert!(!reserve(&mut buffer, usize::MAX / 2));
        let text = text(8 << 20);
        assert!(text.is_empty() && text.capacity() >= 8 << 20);
    }
}
