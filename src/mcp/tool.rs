//! One tool as its server listed it.
//!
//! It keeps places in the page it came in instead of copies: a list of thousands costs little more than being read.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::output::{self, Check};
use super::report::Report;
use crate::json::{self, Cursor, Kind, Raw};
use crate::tool::{self, EMPTY_SCHEMA, Hints};
use crate::wire::mux::Reply;

/// A tool, in the words of its server.
#[derive(Debug)]
pub struct ToolInfo {
    /// The server's own name for it.
    pub name: Arc<str>,
    pub hints: Hints,
    page: Arc<Reply>,
    raw_name: Range<usize>,
    title: Option<Range<usize>>,
    description: Option<Range<usize>>,
    input: Schema,
    output: Option<Box<Output>>,
}

/// The schema of the structured content, and what came of compiling it, once that was needed.
#[derive(Debug)]
struct Output {
    schema: Range<usize>,
    check: OnceLock<Result<Check, String>>,
}

#[derive(Debug)]
enum Schema {
    /// The server's own.
    Own(Range<usize>),
    /// The server's own, behind what it lacked.
    Completed(Arc<str>),
    Empty,
}

impl ToolInfo {
    /// Reads the tool at the cursor, which walks in `page`, and passes it. Adds to `faults` what the tool lost. Fails
    /// with the reason if it cannot be called at all.
    pub fn read(cursor: &mut Cursor<'_>, page: &Arc<Reply>, faults: &mut Report<String>) -> Result<ToolInfo, String> {
        if cursor.kind() != Kind::Object {
            return Err(format!("it is {}, expected an object", cursor.value().kind().name()));
        }
        let place = |raw: Raw<'_>| raw.range_in(page.text());
        let mut name = None;
        let (mut title, mut description, mut output) = (None, None, None);
        let (mut input, mut input_kind) = (Schema::Empty, None);
        let mut annotations = Annotations::default();
        cursor.open();
        while let Some(key) = cursor.key() {
            match &*key {
                "name" => name = Some(cursor.value()),
                "title" => title = expect("title", Kind::String, cursor.value(), faults),
                "description" => description = expect("description", Kind::String, cursor.value(), faults),
                "inputSchema" => {
                    input_kind = Some(cursor.kind());
                    input = read_schema(cursor, page.text());
                }
                "outputSchema" => output = expect("outputSchema", Kind::Object, cursor.value(), faults),
                "annotations" => annotations = Annotations::read(cursor, faults),
                _ => {
                    cursor.value();
                }
            }
        }
        match input_kind {
            Some(Kind::Object) => {}
            None => faults.add(|| "it has no inputSchema; it gets the empty one".to_owned()),
            Some(kind) => {
                faults.add(|| format!("inputSchema is {}, expected an object; it gets the empty one", kind.name()));
            }
        }
        let raw_name = name.ok_or("it has no name")?;
        let Some(name) = raw_name.as_str() else {
            return Err(format!("its name is {}, expected a string", raw_name.kind().name()));
        };
        if name.is_empty() {
            return Err("its name is empty".to_owned());
        }
        Ok(ToolInfo {
            name: name.into(),
            hints: annotations.hints,
            page: page.clone(),
            raw_name: place(raw_name).unwrap_or_default(),
            title: title.or(annotations.title).and_then(place),
            description: description.and_then(place),
            input,
            output: output.and_then(place).map(|schema| Box::new(Output { schema, check: OnceLock::new() })),
        })
    }

    fn raw(&self, range: &Range<usize>) -> &str {
        self.page.text().get(range.clone()).unwrap_or_default()
    }

    /// The name as a JSON string, as the server wrote it: what a call has to send.
    pub fn raw_name(&self) -> &str {
        self.raw(&self.raw_name)
    }

    /// The title as a JSON string.
    pub fn raw_title(&self) -> Option<&str> {
        self.title.as_ref().map(|range| self.raw(range))
    }

    /// The description as a JSON string, an empty one if there is none.
    pub fn raw_description(&self) -> &str {
        self.description.as_ref().map_or("\"\"", |range| self.raw(range))
    }

    /// The schema of the arguments: an object with `type` and `properties`, whatever the server sent.
    pub fn input_schema(&self) -> &str {
        match &self.input {
            Schema::Own(range) => self.raw(range),
            Schema::Completed(text) => text,
            Schema::Empty => EMPTY_SCHEMA,
        }
    }

    pub fn output_schema(&self) -> Option<&str> {
        self.output.as_ref().map(|output| self.raw(&output.schema))
    }

    /// What structured content of this tool has that its `outputSchema` does not promise. Without a schema: nothing.
    pub fn output_warnings(&self, structured: Raw<'_>) -> Vec<String> {
        let Some(Output { schema, check }) = self.output.as_deref() else { return Vec::new() };
        output::warnings(check.get_or_init(|| Check::new(self.raw(schema))), structured.text())
    }

    /// The tool's document, as `tn_tool_json` gives it.
    pub fn json(&self, exposed: &str, server: &str) -> String {
        let (description, schema) = (self.raw_description(), self.input_schema());
        let output = self.output_schema();
        let names = exposed.len() + server.len() + self.raw_name.len();
        let big = description.len() + schema.len() + output.map_or(0, str::len);
        let mut out = String::with_capacity(names + big + self.raw_title().map_or(0, str::len) + 240);
        out.push_str("{\"name\":");
        json::quote(exposed, &mut out);
        let _ = write!(out, r#","description":{description},"inputSchema":{schema},"source":"mcp","server":"#);
        json::quote(server, &mut out);
        let _ = write!(out, r#","originalName":{}"#, self.raw_name());
        for (key, value) in [("title", self.raw_title()), ("outputSchema", output)] {
            if let Some(value) = value {
                let _ = write!(out, r#","{key}":{value}"#);
            }
        }
        out.push_str(",\"hints\":");
        self.hints.write(&mut out);
        out.push('}');
        out
    }
}

impl ToolInfo {
    /// The tool as the inventory shows it: under the server's own name.
    pub fn inventory_json(&self) -> String {
        let mut out = format!(
            r#"{{"name":{},"description":{},"inputSchema":{}"#,
            self.raw_name(),
            self.raw_description(),
            self.input_schema()
        );
        for (key, value) in [("title", self.raw_title()), ("outputSchema", self.output_schema())] {
            if let Some(value) = value {
                let _ = write!(out, r#","{key}":{value}"#);
            }
        }
        out.push_str(",\"hints\":");
        self.hints.write(&mut out);
        out.push('}');
        out
    }
}

/// The value if it is of the kind it should be. Null is as good as absent; anything else is a fault.
fn expect<'a>(what: &str, kind: Kind, value: Raw<'a>, faults: &mut Report<String>) -> Option<Raw<'a>> {
    if value.kind() == kind {
        return Some(value);
    }
    if !value.is_null() {
        faults.add(|| format!("{what} is {}, expected {}; it is left out", value.kind().name(), kind.name()));
    }
    None
}

/// Passes the schema at the cursor.
fn read_schema(cursor: &mut Cursor<'_>, page: &str) -> Schema {
    match tool::pass_schema(cursor) {
        None => Schema::Empty,
        Some(Cow::Borrowed(own)) => Raw::checked(own).range_in(page).map_or(Schema::Empty, Schema::Own),
        Some(Cow::Owned(completed)) => Schema::Completed(completed.into()),
    }
}

#[derive(Default)]
struct Annotations<'a> {
    hints: Hints,
    /// Where revisions before 2025-06-18 have the title.
    title: Option<Raw<'a>>,
}

impl<'a> Annotations<'a> {
    fn read(cursor: &mut Cursor<'a>, faults: &mut Report<String>) -> Self {
        let mut read = Annotations::default();
        if cursor.kind() != Kind::Object {
            expect("annotations", Kind::Object, cursor.value(), faults);
            return read;
        }
        cursor.open();
        while let Some(key) = cursor.key() {
            let value = cursor.value();
            let hint = match &*key {
                "readOnlyHint" => &mut read.hints.read_only,
                "destructiveHint" => &mut read.hints.destructive,
                "idempotentHint" => &mut read.hints.idempotent,
                "openWorldHint" => &mut read.hints.open_world,
                "title" => {
                    read.title = expect("annotations.title", Kind::String, value, faults);
                    continue;
                }
                _ => continue,
            };
            *hint = expect(&key, Kind::Bool, value, faults).and_then(Raw::as_bool);
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(text: &str) -> (Result<ToolInfo, String>, Vec<String>) {
        // Blanks in front, so that places in the page and in the walked text differ.
        let page = Arc::new(Reply::from(format!(" \n{text} ")));
        let mut faults = Report::default();
        let tool = ToolInfo::read(&mut Cursor::new(Raw::parse(page.text()).unwrap()), &page, &mut faults);
        (tool, faults.items)
    }

    fn schema(text: &str) -> (String, usize) {
        let (tool, faults) = read(&format!(r#"{{"name":"t","inputSchema":{text}}}"#));
        (tool.unwrap().input_schema().to_owned(), faults.len())
    }

    #[test]
    fn the_document_is_made_of_what_the_server_wrote() {
        let input = r#"{ "properties" : {"type": 1.0}, "type":"object", "x":"\ud800" }"#;
        let text = format!(
            r#"{{"inputSchema":{input},"name":"s\u006cow","title":"T\u0021","description":"d\n","outputSchema":{{"b": 1}},
            "annotations":{{"readOnlyHint":true,"openWorldHint":false,"title":"old"}},"icons":[],"_meta":{{}}}}"#
        );
        let (tool, faults) = read(&text);
        let tool = tool.unwrap();
        assert_eq!(faults, [""; 0]);
        assert_eq!((&*tool.name, tool.raw_name()), ("slow", r#""s\u006cow""#));
        assert_eq!((tool.input_schema(), tool.output_schema()), (input, Some(r#"{"b": 1}"#)));
        assert_eq!(
            tool.json("p_\"slow", "p\n"),
            format!(
                "{}{input}{}",
                r#"{"name":"p_\"slow","description":"d\n","inputSchema":"#,
                concat!(
                    r#","source":"mcp","server":"p\n","originalName":"s\u006cow","title":"T\u0021","#,
                    r#""outputSchema":{"b": 1},"hints":{"readOnly":true,"openWorld":false}}"#
                )
            )
        );
    }

    #[test]
    fn what_was_not_given_is_not_there() {
        let (tool, faults) = read(r#"{"name":"t","title":null,"outputSchema":null,"annotations":null}"#);
        assert_eq!(faults, ["it has no inputSchema; it gets the empty one"]);
        let document: Value = serde_json::from_str(&tool.unwrap().json("s_t", "s")).unwrap();
        let expected = json!({"name":"s_t","description":"","inputSchema":{"type":"object","properties":{}},"source":"mcp",
            "server":"s","originalName":"t","hints":{}});
        assert_eq!(document, expected);
    }

    #[test]
    fn the_older_place_of_the_title() {
        let (tool, _) = read(r#"{"name":"t","annotations":{"title":"old"},"inputSchema":{}}"#);
        assert_eq!(tool.unwrap().raw_title(), Some("\"old\""));
    }

    #[test]
    fn schemas_are_completed_and_else_untouched() {
        for own in [r#"{"type":"object","properties":{}}"#, r#"{"properties":null, "ty\u0070e":["object"]}"#] {
            assert_eq!(schema(own), (own.to_owned(), 0));
        }
        for (own, completed) in [
            ("{}", r#"{"type":"object","properties":{}}"#),
            ("{ }", r#"{"type":"object","properties":{} }"#),
            (r#"{"type":"object"}"#, r#"{"properties":{},"type":"object"}"#),
            (r#"{ "properties":{"a":{}}}"#, r#"{"type":"object", "properties":{"a":{}}}"#),
            (
                r#"{"a":{"type":1,"properties":2}}"#,
                r#"{"type":"object","properties":{},"a":{"type":1,"properties":2}}"#,
            ),
        ] {
            assert_eq!(schema(own), (completed.to_owned(), 0));
        }
        for own in ["null", "true", "[]", "\"{}\"", "1"] {
            assert_eq!(schema(own), (EMPTY_SCHEMA.to_owned(), 1), "{own}");
        }
    }

    #[test]
    fn a_wrong_type_costs_only_itself() {
        let (tool, faults) = read(
            r#"{"name":"t","title":1,"description":["x"],"outputSchema":true,"inputSchema":{"type":"object","properties":{}},
            "annotations":{"readOnlyHint":"true","destructiveHint":0,"idempotentHint":null,"openWorldHint":true,"title":{}}}"#,
        );
        let tool = tool.unwrap();
        assert_eq!(tool.hints, Hints { open_world: Some(true), ..Hints::default() });
        assert_eq!((tool.raw_title(), tool.raw_description(), tool.output_schema()), (None, "\"\"", None));
        assert_eq!(faults.len(), 6);
        assert!(faults.contains(&"readOnlyHint is a string, expected a boolean; it is left out".to_owned()));
        let (tool, faults) = read(r#"{"annotations":7,"name":"t","inputSchema":{}}"#);
        assert_eq!((tool.unwrap().hints, faults.len()), (Hints::default(), 1));
    }

    #[test]
    fn without_a_name_it_cannot_be_called() {
        for (text, reason) in [
            (r#"{"inputSchema":{}}"#, "it has no name"),
            (r#"{"name":""}"#, "its name is empty"),
            (r#"{"name":7}"#, "its name is a number, expected a string"),
            (r#"{"name":null}"#, "its name is null, expected a string"),
            ("[{}]", "it is an array, expected an object"),
        ] {
            assert_eq!(read(text).0.unwrap_err(), reason);
        }
    }
}
