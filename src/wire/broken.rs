//! What a message that cannot be parsed still says: whether it was meant as a reply, and to which call.
#![forbid(unsafe_code)]

/// How far a broken message is searched for its id.
pub const HEAD: usize = 256;

/// What the first bytes of a broken message say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub id: Option<u64>,
    pub has_method: bool,
}

/// Reads the top-level `"id"` and `"method"` of a message's first [`HEAD`] bytes.
pub fn head(bytes: &[u8]) -> Head {
    let bytes = &bytes[..bytes.len().min(HEAD)];
    let mut found = Head::default();
    let mut depth = 0usize;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = at + 1;
                let end = string_end(bytes, start);
                let after = skip_blanks(bytes, end + 1);
                if depth == 1 && bytes.get(after) == Some(&b':') {
                    match &bytes[start..end.min(bytes.len())] {
                        b"method" => found.has_method = true,
                        b"id" if found.id.is_none() => found.id = number(bytes, skip_blanks(bytes, after + 1)),
                        _ => {}
                    }
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// True if a broken message was meant as a reply to one of our calls.
pub fn is_reply(bytes: &[u8]) -> bool {
    let has = |what: &[u8]| memchr::memmem::find(bytes, what).is_some();
    bytes.starts_with(b"{")
        && has(b"\"jsonrpc\"")
        && (has(b"\"result\"") || has(b"\"error\""))
        && !head(bytes).has_method
}

/// The index of the quote that ends the string, or the length if none does.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// An unsigned number, plain or as a string.
fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let at = if bytes.get(at) == Some(&b'"') { at + 1 } else { at };
    let digits: &[u8] = bytes.get(at..)?;
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_id_at_the_top_only() {
        let id = |text: &str| head(text.as_bytes()).id;
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"result":{"#), Some(7));
        assert_eq!(id(r#"{"id" : "12" ,"result":"#), Some(12));
        assert_eq!(id(r#"{"result":{"id":3,"text":"\"id\":4"},"id":5"#), Some(5));
        assert_eq!(id(r#"{"result":{"id":3"#), None);
        assert_eq!(id(r#"{"result":"an unended string, "id":9"#), None);
        assert_eq!(id(r#"{"id":null}"#), None);
        assert_eq!(id(r#"{"id":99999999999999999999999}"#), None);
        assert_eq!(id(&format!("{{\"x\":\"{}\",\"id\":1", "y".repeat(HEAD))), None);
        for end in 0..40 {
            head(&br#"{"jsonrpc":"2.0","id":7,"x":"\\\"","method":"m"}"#[..end]);
        }
    }

    #[test]
    fn tells_replies_from_noise() {
        assert!(is_reply(br#"{"jsonrpc":"2.0","id":7,"result":{"x":"#));
        assert!(is_reply(br#"{"jsonrpc":"2.0","id":7,"error":"#));
        assert!(!is_reply(br#"{"jsonrpc":"2.0","method":"x","result":"#));
        assert!(!is_reply(br#"{"id":7,"result":"#));
        assert!(!is_reply(br#"Listening. "jsonrpc" "result""#));
        // A method inside the result is no method of the message.
        assert!(is_reply(br#"{"jsonrpc":"2.0","id":7,"result":{"method":"x","#));
    }
}
