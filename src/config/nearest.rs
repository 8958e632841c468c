//! The known key that a mistyped one was probably meant to be.

/// The key of `known` that takes the fewest edits, whatever the case; the first of equals.
pub(super) fn nearest<'a>(key: &str, known: &[&'a str]) -> &'a str {
    known.iter().copied().min_by_key(|candidate| distance(key, candidate)).unwrap_or_default()
}

/// Levenshtein's distance, ignoring case. Only the beginning of a long key is looked at.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().take(64).enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let best = (left + 1).min(*cell + 1).min(diagonal + usize::from(x != *y));
            diagonal = std::mem::replace(cell, best);
            left = best;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("ENV", "env", 0),
            ("comand", "command", 1),
            ("flaw", "lawn", 2),
            ("größe", "grosse", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn finds_the_nearest() {
        assert_eq!(nearest("headersHelper", &["env", "headers", "serverUrl"]), "headers");
        assert_eq!(nearest("x", &[]), "");
    }
}
