//! The standard's algorithm to the letter, on a whole stream in memory: what the tests and the fuzzer hold the parser to.

#[derive(Debug, Default)]
pub struct Said {
    /// Name (empty if there is none) and data of each event whose data is not empty.
    pub events: Vec<(String, Vec<u8>)>,
    pub last_id: String,
    pub retry: Option<u64>,
}

pub fn read(stream: &[u8]) -> Said {
    let mut said = Said::default();
    let (mut name, mut data, mut id) = (String::new(), Vec::new(), String::new());
    for line in lines(stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream)) {
        if line.is_empty() {
            said.last_id.clone_from(&id);
            data.pop();
            let event = (std::mem::take(&mut name), std::mem::take(&mut data));
            if !event.1.is_empty() {
                said.events.push(event);
            }
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = String::from_utf8_lossy(value);
        match &line[..colon] {
            b"event" => name = text.into_owned(),
            b"data" => data.extend([value, b"\n"].concat()),
            b"id" if !value.contains(&0) => id = text.into_owned(),
            b"retry" if value.iter().all(u8::is_ascii_digit) => said.retry = text.parse().ok().or(said.retry),
            _ => {}
        }
    }
    said
}

/// The lines that have ended.
fn lines(stream: &[u8]) -> Vec<&[u8]> {
    let (mut lines, mut start) = (Vec::new(), 0);
    for (at, byte) in stream.iter().enumerate() {
        match byte {
            b'\n' if at == start && at > 0 && stream[at - 1] == b'\r' => start = at + 1,
            b'\n' | b'\r' => {
                lines.push(&stream[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    lines
}
