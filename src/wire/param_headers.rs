//! Arguments that a tool wants repeated as HTTP headers (revision 2026-07-28, `x-mcp-header`), so that what stands between
//! host and server can route a call without reading its body.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::json::{Cursor, Kind, Raw};
use crate::outcome::shortened;

const ANNOTATION: &str = "x-mcp-header";
const PREFIX: &str = "Mcp-Param-";
/// A server decides how deep its schemas nest; the stack is ours.
const DEEPEST: usize = 64;
const ENCODED_START: &str = "=?base64?";
const ENCODED_END: &str = "?=";

/// Which arguments of one tool are sent as headers too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamHeaders(Vec<Param>);

/// A property with an annotation, or on the way to one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Param {
    name: String,
    header: Option<String>,
    inner: Vec<Param>,
}

impl ParamHeaders {
    /// Reads the annotations of a tool's input schema. An error says why the tool has to be left out: of a tool with a
    /// wrong annotation nobody knows what its calls must carry.
    pub fn from_schema(input_schema: Raw<'_>) -> Result<ParamHeaders, String> {
        // Nearly all tools have none.
        if memchr::memmem::find(input_schema.text().as_bytes(), ANNOTATION.as_bytes()).is_none() {
            return Ok(ParamHeaders::default());
        }
        let mut scan = Scan { path: Vec::new(), taken: HashSet::new() };
        let (_, params) = scan.schema(&mut Cursor::new(input_schema), Place::Root)?;
        Ok(ParamHeaders(params))
    }

    /// Whether a call needs no such header.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The headers of a call with these arguments, values ready to be sent. An argument that is absent or null, or has
    /// parts of its own, gets none.
    pub fn headers(&self, arguments: Raw<'_>) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        collect(&self.0, arguments, &mut headers);
        headers
    }
}

/// The text as the value of a header: itself where that arrives unchanged, else encoded as the protocol says. Also for
/// `Mcp-Method` and `Mcp-Name`.
pub fn safe_value(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let looks_encoded = text.get(..ENCODED_START.len()).is_some_and(|start| start.eq_ignore_ascii_case(ENCODED_START))
        && text.ends_with(ENCODED_END);
    if plain && !looks_encoded && !text.starts_with(' ') && !text.ends_with(' ') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{ENCODED_START}{}{ENCODED_END}", STANDARD.encode(text)))
}

fn collect(params: &[Param], arguments: Raw<'_>, headers: &mut Vec<(String, String)>) {
    // Of a repeated member the last counts, as for the server.
    let mut found: Vec<Option<Raw<'_>>> = vec![None; params.len()];
    for (name, value) in arguments.members() {
        if let Some((_, found)) = params.iter().zip(&mut found).find(|(param, _)| param.name == name) {
            *found = Some(value);
        }
    }
    for (param, value) in params.iter().zip(found) {
        let Some(value) = value else { continue };
        if let Some((header, text)) = param.header.as_ref().zip(text(value)) {
            headers.push((header.clone(), safe_value(&text).into_owned()));
        }
        collect(&param.inner, value, headers);
    }
}

/// A value that a header can repeat. Numbers as they are written: the body has them so.
fn text(value: Raw<'_>) -> Option<Cow<'_, str>> {
    match value.kind() {
        Kind::String => value.as_str(),
        Kind::Bool | Kind::Number => Some(Cow::Borrowed(value.text())),
        Kind::Null | Kind::Array | Kind::Object => None,
    }
}

/// What a schema is to the arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    /// It is reached through `properties` alone, so that every call has one place for its value.
    Property,
    Elsewhere,
}

struct Scan<'a> {
    /// The keys that lead to the schema, for messages.
    path: Vec<Cow<'a, str>>,
    /// The names of headers so far, in lower case.
    taken: HashSet<String>,
}

impl<'a> Scan<'a> {
    /// Passes the schema at the cursor, or an array of them. Returns its header and the properties with headers in it.
    fn schema(&mut self, cursor: &mut Cursor<'a>, place: Place) -> Result<(Option<String>, Vec<Param>), String> {
        if self.path.len() > DEEPEST {
            return Err(format!("its inputSchema, which has {ANNOTATION}, is nested deeper than {DEEPEST} levels"));
        }
        let (mut annotation, mut kind, mut inner) = (None, None, Vec::new());
        match cursor.kind() {
            Kind::Object => cursor.open(),
            Kind::Array => {
                cursor.open();
                while cursor.element() {
                    self.within("[]".into(), cursor, |scan, cursor| scan.schema(cursor, Place::Elsewhere))?;
                }
                return Ok((None, inner));
            }
            _ => {
                cursor.value();
                return Ok((None, inner));
            }
        }
        while let Some(key) = cursor.key() {
            match &*key {
                ANNOTATION => annotation = Some(cursor.value()),
                "type" => kind = Some(cursor.value()),
                "properties" => {
                    let place = if place == Place::Elsewhere { place } else { Place::Property };
                    inner = self.within(key, cursor, |scan, cursor| scan.schemas(cursor, place))?;
                }
                "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties" => {
                    self.within(key, cursor, |scan, cursor| scan.schemas(cursor, Place::Elsewhere))?;
                }
                "additionalItems"
                | "additionalProperties"
                | "allOf"
                | "anyOf"
                | "contains"
                | "contentSchema"
                | "else"
                | "if"
                | "items"
                | "not"
                | "oneOf"
                | "prefixItems"
                | "propertyNames"
                | "then"
                | "unevaluatedItems"
                | "unevaluatedProperties" => {
                    self.within(key, cursor, |scan, cursor| scan.schema(cursor, Place::Elsewhere))?;
                }
                // Values, or what is no part of JSON Schema: an annotation in there is none.
                _ => {
                    cursor.value();
                }
            }
        }
        let header = annotation.map(|annotation| self.header(annotation, kind, place)).transpose()?;
        Ok((header, inner))
    }

    /// Passes an object whose values are schemas. Returns those with headers.
    fn schemas(&mut self, cursor: &mut Cursor<'a>, place: Place) -> Result<Vec<Param>, String> {
        let mut params = Vec::new();
        if cursor.kind() != Kind::Object {
            cursor.value();
            return Ok(params);
        }
        cursor.open();
        while let Some(key) = cursor.key() {
            let name = key.clone().into_owned();
            let (header, inner) = self.within(key, cursor, |scan, cursor| scan.schema(cursor, place))?;
            if header.is_some() || !inner.is_empty() {
                params.push(Param { name, header, inner });
            }
        }
        Ok(params)
    }

    fn within<T>(
        &mut self,
        key: Cow<'a, str>,
        cursor: &mut Cursor<'a>,
        read: impl FnOnce(&mut Self, &mut Cursor<'a>) -> Result<T, String>,
    ) -> Result<T, String> {
        self.path.push(key);
        let read = read(self, cursor)?;
        self.path.pop();
        Ok(read)
    }

    /// The header that an annotation asks for.
    fn header(&mut self, annotation: Raw<'a>, kind: Option<Raw<'a>>, place: Place) -> Result<String, String> {
        let at = || format!("its inputSchema has an {ANNOTATION} at {:?}", shortened(&self.path.join("/")));
        if place != Place::Property {
            return Err(format!("{}, expected only at properties that are reached through \"properties\" alone", at()));
        }
        let Some(name) = annotation.as_str() else {
            return Err(format!("{} that is {}, expected a string", at(), annotation.kind().name()));
        };
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("{} that is {:?}, expected a name for an HTTP header", at(), shortened(&name)));
        }
        let kind = kind.and_then(Raw::as_str).unwrap_or_default();
        if !matches!(&*kind, "string" | "integer" | "boolean") {
            let kind = if kind.is_empty() { "none or several" } else { &shortened(&kind) };
            return Err(format!("{}, whose type is {kind}, expected string, integer or boolean", at()));
        }
        if !self.taken.insert(name.to_ascii_lowercase()) {
            return Err(format!("{} that is {:?}, as another property has it already", at(), shortened(&name)));
        }
        Ok(format!("{PREFIX}{name}"))
    }
}

/// A character of an HTTP token (RFC 9110, 5.6.2).
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(schema: &str) -> Result<ParamHeaders, String> {
        ParamHeaders::from_schema(Raw::parse(schema).unwrap())
    }

    fn of(properties: &str) -> Result<ParamHeaders, String> {
        read(&format!(r#"{{"type":"object","properties":{properties}}}"#))
    }

    fn sent(headers: &ParamHeaders, arguments: &str) -> Vec<String> {
        let headers = headers.headers(Raw::parse(arguments).unwrap());
        headers.into_iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }

    #[test]
    fn values_that_would_not_arrive_are_encoded() {
        for plain in ["us-west1", "", "two words", "~!@#$%^&*()_+", "=?base64?", "?=", "=?utf-8?x?="] {
            assert_eq!(safe_value(plain), plain);
        }
        assert_eq!(safe_value("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
        assert_eq!(safe_value(" padded "), "=?base64?IHBhZGRlZCA=?=");
        assert_eq!(safe_value("line1\r\nline2"), "=?base64?bGluZTENCmxpbmUy?=");
        for unsafe_text in
            [" x", "x ", "\tx", "x\ty", "x\0", "x\u{7f}", "é", "\n", "=?base64?eA==?=", "=?BASE64?eA==?="]
        {
            let value = safe_value(unsafe_text);
            let inner = value.strip_prefix(ENCODED_START).and_then(|rest| rest.strip_suffix(ENCODED_END)).unwrap();
            assert_eq!(STANDARD.decode(inner).unwrap(), unsafe_text.as_bytes());
        }
    }

    #[test]
    fn arguments_become_headers() {
        let headers =
            of(r#"{"region":{"type":"string","x-mcp-header":"Region"},"n":{"x-mcp-header":"N","type":"integer"},
            "on":{"type":"boolean","x-mcp-header":"Method"},"other":{"type":"number"}}"#)
            .unwrap();
        assert!(!headers.is_empty());
        let all = ["Mcp-Param-Region: a b", "Mcp-Param-N: -42", "Mcp-Param-Method: false"];
        assert_eq!(sent(&headers, r#"{"other":1.5,"on":false,"n":-42,"region":"a b"}"#), all);
        assert_eq!(sent(&headers, r#"{"region":"\u00e9","n":null}"#), ["Mcp-Param-Region: =?base64?w6k=?="]);
        assert_eq!(sent(&headers, r#"{"region":""}"#), ["Mcp-Param-Region: "]);
        assert_eq!(sent(&headers, r#"{"region":["a"],"n":{"a":1}}"#), [""; 0]);
        // The last counts, also where it takes the header away.
        assert_eq!(sent(&headers, r#"{"n":1,"n":2,"region":"x","region":null}"#), ["Mcp-Param-N: 2"]);
        for none in ["{}", "[]", "null", "\"region\""] {
            assert_eq!(sent(&headers, none), [""; 0]);
        }
    }

    #[test]
    fn properties_of_properties() {
        let headers =
            of(r#"{"image":{"type":"string"},"place":{"type":"object","properties":{"region":{"type":"string",
            "x-mcp-header":"Region"},"deep":{"properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}}}}}"#)
            .unwrap();
        let arguments = r#"{"image":"i","place":{"deep":{"zone":"z"},"region":"eu"}}"#;
        assert_eq!(sent(&headers, arguments), ["Mcp-Param-Region: eu", "Mcp-Param-Zone: z"]);
        assert_eq!(sent(&headers, r#"{"region":"eu","place":"eu"}"#), [""; 0]);
        assert_eq!(sent(&headers, r#"{"place":{"region":"eu"},"place":{}}"#), [""; 0]);
    }

    #[test]
    fn schemas_without_annotations() {
        for schema in ["{}", "true", "[]", r#"{"type":"object","properties":{"a":{"type":"string"}}}"#] {
            assert!(read(schema).unwrap().is_empty(), "{schema}");
        }
        // The words alone are no annotation: a property's name, a text, a value, a name that another one needs.
        assert!(of(r#"{"x-mcp-header":{"type":"string"},"a":{"description":"\"x-mcp-header\""}}"#).unwrap().is_empty());
        assert!(of(r#"{"a":{"default":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}]}}"#).unwrap().is_empty());
        assert!(read(r#"{"dependencies":{"x-mcp-header":["a"]},"required":["x-mcp-header"]}"#).unwrap().is_empty());
        assert!(read(r#"{"x-vendor":{"x-mcp-header":"A"}}"#).unwrap().is_empty());
    }

    #[test]
    fn tools_with_wrong_annotations_are_left_out() {
        let error = |properties: &str| of(properties).unwrap_err();
        for name in ["", "My Region", "Region:Primary", "Région", "Region\\t1", "a\\r\\nb: c", "\\u0000", "(a)"] {
            let error = error(&format!(r#"{{"v":{{"type":"string","x-mcp-header":"{name}"}}}}"#));
            assert!(error.contains(r#"at "properties/v""#) && error.contains("a name for an HTTP header"), "{error}");
        }
        for value in ["null", "1", "{}", "[\"A\"]"] {
            let error = error(&format!(r#"{{"v":{{"type":"string","x-mcp-header":{value}}}}}"#));
            assert!(error.contains("expected a string"), "{error}");
        }
        for kind in ["\"object\"", "\"array\"", "\"null\"", "\"number\"", "[\"string\",\"null\"]", "1"] {
            let error = error(&format!(r#"{{"v":{{"type":{kind},"x-mcp-header":"A"}}}}"#));
            assert!(error.contains("expected string, integer or boolean"), "{error}");
        }
        assert!(error(r#"{"v":{"x-mcp-header":"A"}}"#).contains("none or several"));
        for twin in ["Region", "rEGION"] {
            let twins = format!(
                r#"{{"a":{{"type":"string","x-mcp-header":"Region"}},
                    "b":{{"properties":{{"c":{{"type":"string","x-mcp-header":"{twin}"}}}}}}}}"#
            );
            assert!(error(&twins).contains("another property"), "{}", error(&twins));
        }
    }

    #[test]
    fn annotations_only_where_every_call_has_the_value() {
        let annotated = r#"{"type":"string","x-mcp-header":"A"}"#;
        let inside = format!(r#"{{"properties":{{"a":{annotated}}}}}"#);
        for keyword in ["items", "not", "if", "additionalProperties", "contains"] {
            for schema in [annotated, &inside] {
                let error = of(&format!(r#"{{"v":{{"{keyword}":{schema}}}}}"#)).unwrap_err();
                assert!(error.contains(&format!("properties/v/{keyword}")) && error.contains("alone"), "{error}");
            }
        }
        for keyword in ["oneOf", "anyOf", "allOf", "prefixItems", "items"] {
            assert!(read(&format!(r#"{{"{keyword}":[{{}},{annotated}]}}"#)).is_err(), "{keyword}");
        }
        for keyword in ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"] {
            for name in ["default", "properties", "x-mcp-header"] {
                assert!(read(&format!(r#"{{"{keyword}":{{"{name}":{inside}}}}}"#)).is_err(), "{keyword} {name}");
            }
        }
        assert!(read(annotated).unwrap_err().contains("at \"\", expected only at properties"));
    }

    #[test]
    fn a_deep_schema_takes_no_stack() {
        let deep = |levels: usize| {
            let (open, close) = (r#"{"properties":{"p":"#.repeat(levels), "}}".repeat(levels));
            read(&format!(r#"{open}{{"type":"string","x-mcp-header":"A"}}{close}"#))
        };
        assert!(!deep(DEEPEST / 2).unwrap().is_empty());
        assert!(deep(100_000).unwrap_err().contains("nested deeper"));
        let arrays = format!(r#"{{"x-mcp-header":1,"allOf":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert!(read(&arrays).unwrap_err().contains("nested deeper"));
    }
}
