//! What a result says: the text for the model, and where its other parts are.
//!
//! A result may be many megabytes, so it is walked once, and each text is unescaped straight into the output. Nothing
//! else is decoded: parts point at their element of the server's own array.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::fmt::Write;

use super::report::Report;
use crate::json::{self, Cursor, Kind, Raw};
use crate::process::memory;

#[cfg(test)]
mod tests;

const DEFAULT_MIME: &str = "application/octet-stream";

/// What a `tools/call` answered.
#[derive(Debug)]
pub struct ToolResult<'a> {
    pub is_error: bool,
    /// The text for the model.
    pub output: String,
    /// What is not text, as a JSON array.
    pub parts: Cow<'static, str>,
    /// The server's own `content`, whatever it is.
    pub content: Option<Raw<'a>>,
    /// The server's own `structuredContent`; null is none.
    pub structured: Option<Raw<'a>>,
    /// `resultType`, which decides whether this is a result at all.
    pub result_type: Option<Raw<'a>>,
    /// What was not understood. It is still there, in `content`.
    pub warnings: Report<String>,
}

/// What a `resources/read` answered.
#[derive(Debug)]
pub struct ReadResult<'a> {
    pub output: String,
    /// What is not text, as a JSON array. Its numbers point into `contents`.
    pub parts: Cow<'static, str>,
    pub contents: Option<Raw<'a>>,
    pub result_type: Option<Raw<'a>>,
    pub warnings: Report<String>,
}

/// Reads the result of a `tools/call`. Fails only if it is no object; the reason says what it is.
pub fn tool_result(result: Raw<'_>) -> Result<ToolResult<'_>, String> {
    let mut cursor = enter(result)?;
    let mut blocks = Blocks::default();
    let mut warnings = Report::default();
    let (mut is_error, mut content, mut structured, mut result_type) = (false, None, None, None);
    while let Some(key) = cursor.key() {
        match &*key {
            "content" => {
                let start = cursor.at();
                blocks = Blocks::read(&mut cursor);
                content = Some(cursor.since(start));
            }
            "structuredContent" => structured = Some(cursor.value()).filter(|value| !value.is_null()),
            "isError" => is_error = error_flag(cursor.value(), &mut warnings),
            "resultType" => result_type = Some(cursor.value()),
            _ => {
                cursor.value();
            }
        }
    }
    let output = blocks.output(is_error, structured);
    for warning in blocks.warnings.items {
        warnings.add(|| warning);
    }
    warnings.more += blocks.warnings.more;
    Ok(ToolResult { is_error, output, parts: blocks.parts.finish(), content, structured, result_type, warnings })
}

/// Reads the result of a `resources/read`. Fails only if it is no object.
pub fn read_result(result: Raw<'_>) -> Result<ReadResult<'_>, String> {
    let mut cursor = enter(result)?;
    let (mut contents, mut result_type) = (None, None);
    let mut said = Contents::default();
    while let Some(key) = cursor.key() {
        match &*key {
            "contents" => {
                let start = cursor.at();
                said = Contents::read(&mut cursor);
                contents = Some(cursor.since(start));
            }
            "resultType" => result_type = Some(cursor.value()),
            _ => {
                cursor.value();
            }
        }
    }
    if contents.is_none() {
        said.warnings.add(|| "the result has no contents".to_owned());
    }
    let Contents { output, parts, warnings, .. } = said;
    Ok(ReadResult { output, parts: parts.finish(), contents, result_type, warnings })
}

fn enter(result: Raw<'_>) -> Result<Cursor<'_>, String> {
    if result.kind() != Kind::Object {
        return Err(format!("the result is {}, expected an object", result.kind().name()));
    }
    let mut cursor = Cursor::new(result);
    cursor.open();
    Ok(cursor)
}

/// Whether an `isError` says that the tool failed.
pub fn says_error(value: Raw<'_>) -> bool {
    matches!(value.text(), "true" | "\"true\"")
}

fn error_flag(value: Raw<'_>, warnings: &mut Report<String>) -> bool {
    match value.text() {
        "true" => return true,
        "false" | "null" => return false,
        _ => {}
    }
    let says_true = value.text() == "\"true\"";
    warnings.add(|| format!("isError is {}, expected true or false; taken as {says_true}", value.kind().name()));
    says_true
}

/// The members of a content block or of a resource that matter here, if they are strings.
#[derive(Clone, Copy, Default)]
struct Fields<'a> {
    kind: Option<Raw<'a>>,
    text: Option<Raw<'a>>,
    data: Option<Raw<'a>>,
    blob: Option<Raw<'a>>,
    mime: Option<Raw<'a>>,
    uri: Option<Raw<'a>>,
    name: Option<Raw<'a>>,
}

impl<'a> Fields<'a> {
    /// Passes the object at the cursor. The `resource` in it goes to `resource`, if that is wanted.
    fn read(cursor: &mut Cursor<'a>, mut resource: Option<&mut Fields<'a>>) -> Self {
        let mut fields = Fields::default();
        cursor.open();
        while let Some(key) = cursor.key() {
            if let ("resource", Some(inner), Kind::Object) = (&*key, resource.as_deref_mut(), cursor.kind()) {
                *inner = Fields::read(cursor, None);
                continue;
            }
            let value = cursor.value();
            let slot = match &*key {
                "type" => &mut fields.kind,
                "text" => &mut fields.text,
                "data" => &mut fields.data,
                "blob" => &mut fields.blob,
                "mimeType" => &mut fields.mime,
                "uri" => &mut fields.uri,
                "name" => &mut fields.name,
                _ => continue,
            };
            *slot = Some(value).filter(|value| value.kind() == Kind::String);
        }
        fields
    }
}

/// What the `content` of a tool's result holds.
#[derive(Default)]
struct Blocks<'a> {
    texts: Vec<Raw<'a>>,
    embedded: Vec<Raw<'a>>,
    parts: Parts,
    /// One line for each part, for results that have nothing else to say.
    lines: String,
    warnings: Report<String>,
}

impl<'a> Blocks<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Self {
        let mut blocks = Blocks::default();
        match cursor.kind() {
            Kind::Array => {
                cursor.open();
                let mut index = 0;
                while cursor.element() {
                    blocks.block(index, cursor);
                    index += 1;
                }
            }
            // Some servers answer with the bare text. It can only be meant for the model.
            Kind::String => {
                blocks.texts.push(cursor.value());
                blocks.warnings.add(|| "content is a string, expected an array; it is taken as text".to_owned());
            }
            other => {
                cursor.value();
                if other != Kind::Null {
                    blocks.warnings.add(|| format!("content is {}, expected an array", other.name()));
                }
            }
        }
        blocks
    }

    fn block(&mut self, index: usize, cursor: &mut Cursor<'a>) {
        match cursor.kind() {
            Kind::Object => {}
            Kind::String => {
                self.texts.push(cursor.value());
                let warning = || format!("content[{index}] is a string, expected an object; it is taken as text");
                return self.warnings.add(warning);
            }
            other => {
                cursor.value();
                return self.warnings.add(|| format!("content[{index}] is {}, expected an object", other.name()));
            }
        }
        let mut resource = Fields::default();
        let block = Fields::read(cursor, Some(&mut resource));
        let kind = block.kind.and_then(Raw::as_str).unwrap_or_default();
        let missing = match &*kind {
            "text" => match block.text {
                Some(text) => return self.texts.push(text),
                None => "text",
            },
            "image" | "audio" => match block.data {
                Some(data) => return self.part(&kind, &block, None, None, Some(data), index),
                None => "data",
            },
            "resource_link" => match block.uri {
                Some(uri) => return self.part("file", &block, Some(uri), block.name, None, index),
                None => "uri",
            },
            "resource" => match (resource.text, resource.blob) {
                (Some(text), _) => return self.embedded.push(text),
                (None, Some(blob)) => return self.part("file", &resource, None, resource.uri, Some(blob), index),
                (None, None) => "resource with a text or blob",
            },
            "" => "type",
            _ => {
                let kind: String = kind.chars().take(80).collect();
                let warning = || format!("content[{index}] has the unknown type {kind:?}; it is kept as it is");
                return self.warnings.add(warning);
            }
        };
        self.warnings.add(|| {
            let what = if kind.is_empty() { "" } else { &format!(" is of type {kind} and") };
            format!("content[{index}]{what} has no usable {missing}; it is kept as it is")
        });
    }

    fn part(
        &mut self,
        kind: &str,
        fields: &Fields<'_>,
        url: Option<Raw<'_>>,
        name: Option<Raw<'_>>,
        data: Option<Raw<'_>>,
        index: usize,
    ) {
        self.parts.add(kind, fields.mime, url, name, index);
        if !self.lines.is_empty() {
            self.lines.push('\n');
        }
        describe(kind, fields.mime, data, &mut self.lines);
    }

    fn output(&mut self, is_error: bool, structured: Option<Raw<'_>>) -> String {
        if is_error {
            let output = join_spoken(&self.texts);
            return if output.is_empty() { "MCP tool returned an error".to_owned() } else { output };
        }
        if let Some(structured) = structured {
            let mut output = memory::text(structured.text().len());
            json::compact(structured, &mut output);
            return output;
        }
        let output = join(self.texts.iter().chain(&self.embedded));
        if output.is_empty() { std::mem::take(&mut self.lines) } else { output }
    }
}

/// The texts, joined by line breaks.
fn join<'r, 'a: 'r>(texts: impl Iterator<Item = &'r Raw<'a>> + Clone) -> String {
    // Unescaping never lengthens, and the quotes make room for the separators.
    let mut out = memory::text(texts.clone().map(|text| text.text().len()).sum());
    for (index, text) in texts.enumerate() {
        if index > 0 {
            out.push('\n');
        }
        text.push_str_to(&mut out);
    }
    out
}

/// The texts that are not blank, joined by blank lines.
fn join_spoken(texts: &[Raw<'_>]) -> String {
    let mut out = memory::text(texts.iter().map(|text| text.text().len()).sum());
    for text in texts {
        let before = out.len();
        if before > 0 {
            out.push_str("\n\n");
        }
        let start = out.len();
        text.push_str_to(&mut out);
        if out.get(start..).unwrap_or_default().trim().is_empty() {
            out.truncate(before);
        }
    }
    out
}

/// What the `contents` of a resource hold.
#[derive(Default)]
struct Contents {
    output: String,
    parts: Parts,
    warnings: Report<String>,
    spoken: bool,
}

impl Contents {
    fn read(cursor: &mut Cursor<'_>) -> Self {
        let mut said = Contents::default();
        if cursor.kind() != Kind::Array {
            let kind = cursor.value().kind().name();
            said.warnings.add(|| format!("contents is {kind}, expected an array"));
            return said;
        }
        cursor.open();
        let mut index = 0;
        while cursor.element() {
            said.item(index, cursor);
            index += 1;
        }
        said
    }

    fn item(&mut self, index: usize, cursor: &mut Cursor<'_>) {
        if cursor.kind() != Kind::Object {
            let kind = cursor.value().kind().name();
            return self.warnings.add(|| format!("contents[{index}] is {kind}, expected an object"));
        }
        let item = Fields::read(cursor, None);
        if item.text.is_none() && item.blob.is_none() {
            return self.warnings.add(|| format!("contents[{index}] has neither a text nor a blob; it is skipped"));
        }
        if self.spoken {
            self.output.push('\n');
        }
        self.spoken = true;
        if let Some(text) = item.text {
            self.output.reserve(text.text().len());
            text.push_str_to(&mut self.output);
        } else {
            self.parts.add("file", item.mime, None, item.uri, index);
            describe("file", item.mime, item.blob, &mut self.output);
        }
    }
}

/// The `parts` of a result's document, as they are written.
#[derive(Default)]
struct Parts(String);

impl Parts {
    fn add(&mut self, kind: &str, mime: Option<Raw<'_>>, url: Option<Raw<'_>>, name: Option<Raw<'_>>, index: usize) {
        let out = &mut self.0;
        out.push(if out.is_empty() { '[' } else { ',' });
        // Strings are passed on as the server wrote them.
        let _ = match mime {
            Some(mime) => write!(out, r#"{{"type":"{kind}","mimeType":{}"#, mime.text()),
            None => write!(out, r#"{{"type":"{kind}","mimeType":"{DEFAULT_MIME}""#),
        };
        for (key, value) in [("url", url), ("name", name)] {
            if let Some(value) = value {
                let _ = write!(out, r#","{key}":{}"#, value.text());
            }
        }
        let _ = write!(out, r#","content":{index}}}"#);
    }

    fn finish(mut self) -> Cow<'static, str> {
        if self.0.is_empty() {
            return Cow::Borrowed("[]");
        }
        self.0.push(']');
        Cow::Owned(self.0)
    }
}

/// `image (image/png, 1234 bytes)`, on one line whatever the server calls its type.
fn describe(kind: &str, mime: Option<Raw<'_>>, data: Option<Raw<'_>>, out: &mut String) {
    let mime = mime.and_then(Raw::as_str).unwrap_or(Cow::Borrowed(DEFAULT_MIME));
    let mime = mime.replace(char::is_control, " ");
    let size = data.and_then(Raw::body).map_or(0, decoded_len);
    let _ = write!(out, "{kind} ({mime}, {size} bytes)");
}

/// How many bytes base64 stands for, by its length and padding alone. Some servers escape `/`, or break lines.
fn decoded_len(body: &str) -> u64 {
    let mut characters = body.len();
    if memchr::memchr(b'\\', body.as_bytes()).is_some() {
        characters = 0;
        let mut bytes = body.bytes();
        while let Some(byte) = bytes.next() {
            if byte != b'\\' {
                characters += 1;
                continue;
            }
            match bytes.next() {
                Some(b'/') => characters += 1,
                Some(b'u') => {
                    characters += 1;
                    bytes.nth(3);
                }
                _ => {}
            }
        }
    }
    let padding = body.len() - body.trim_end_matches('=').len();
    characters.saturating_sub(padding) as u64 * 3 / 4
}
