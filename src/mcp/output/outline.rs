//! The outline of a schema: which of its parts apply to which parts of the content.
//!
//! It is what the effort is counted on. Where it cannot tell, it says more than is so. What it does not understand is not
//! checked.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::ptr;

use boon::Draft;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::mcp::rpc::shortened;

/// More than any honest schema has.
const VALUES_AT_MOST: usize = 10_000;
const PARTS_AT_MOST: usize = 2_000;
/// A schema is itself checked against that of its dialect, which takes some stack for each level.
const NESTED_AT_MOST: usize = 32;
const PATTERNS_AT_MOST: usize = 100;
const PATTERN_AT_MOST: usize = 2_000;

/// How large the program of a pattern may be, in bytes, and what a byte of text then costs at most: the engine is linear in
/// the text for any pattern, times the size of the program.
const PATTERN_COSTS: [(usize, u64); 3] = [(4 * 1024, 2), (32 * 1024, 16), (128 * 1024, 64)];

#[derive(Debug)]
pub struct Outline {
    /// The first is the whole schema.
    pub parts: Vec<Part>,
}

/// A schema, or a schema in it. Numbers are places in [`Outline::parts`].
#[derive(Debug, Default)]
pub struct Part {
    /// What it costs whatever it is applied to: the items of its lists.
    pub fixed: u64,
    /// For each byte of a text, and of a member's name.
    pub text_byte: u64,
    pub name_byte: u64,
    /// What applies to the same value.
    pub same: Vec<usize>,
    /// To the member of that name.
    pub members: HashMap<String, usize>,
    /// To the item with that number.
    pub items: Vec<usize>,
    /// To any member or item.
    pub inside: Vec<usize>,
    /// To the names of the members.
    pub names: Vec<usize>,
}

impl Outline {
    /// Fails with the reason why content cannot be checked against this schema.
    pub fn new(schema: &Value) -> Result<Outline, String> {
        let draft = dialect(schema)?;
        let anchors = survey(schema, if draft == Draft::V4 { "id" } else { "$id" })?;
        let mut builder =
            Builder { draft, schema, anchors, known: HashMap::new(), parts: Vec::new(), todo: Vec::new(), patterns: 0 };
        builder.part(schema)?;
        while let Some((part, value)) = builder.todo.pop() {
            let read = builder.read(value)?;
            if let Some(slot) = builder.parts.get_mut(part) {
                *slot = read;
            }
        }
        Ok(Outline { parts: builder.parts })
    }
}

/// Without `$schema` a schema is of 2020-12 (MCP 2025-11-25 and later).
fn dialect(schema: &Value) -> Result<Draft, String> {
    match schema.get("$schema") {
        None => Ok(Draft::V2020_12),
        Some(Value::String(url)) => Draft::from_url(url).ok_or_else(|| {
            format!("its dialect {:?} is not supported (2020-12, 2019-09, draft-07, -06 and -04 are)", shortened(url))
        }),
        Some(_) => Err("its $schema is not a string".to_owned()),
    }
}

/// Looks at every value once: how many and how deep they are, which is where, and whether any begins a schema of its own.
fn survey<'a>(schema: &'a Value, id: &str) -> Result<HashMap<&'a str, &'a Value>, String> {
    let mut anchors = HashMap::new();
    let mut todo = vec![(schema, 0)];
    let mut count = 0;
    while let Some((value, depth)) = todo.pop() {
        count += 1;
        if count > VALUES_AT_MOST {
            return Err(format!("the schema has more than {VALUES_AT_MOST} values"));
        }
        if depth > NESTED_AT_MOST {
            return Err(format!("the schema is nested more than {NESTED_AT_MOST} levels deep"));
        }
        match value {
            Value::Object(object) => {
                if depth > 0 && object.get(id).is_some_and(Value::is_string) {
                    return Err(format!("the schema holds schemas of their own ({id}), which is not supported"));
                }
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = object.get(key) {
                        anchors.insert(name.as_str(), value);
                    }
                }
                todo.extend(object.values().map(|value| (value, depth + 1)));
            }
            Value::Array(items) => todo.extend(items.iter().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    Ok(anchors)
}

struct Builder<'a> {
    draft: Draft,
    schema: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    /// Where the parts are that have one already, by their address.
    known: HashMap<*const Value, usize>,
    parts: Vec<Part>,
    todo: Vec<(usize, &'a Value)>,
    patterns: usize,
}

impl<'a> Builder<'a> {
    fn part(&mut self, value: &'a Value) -> Result<usize, String> {
        if let Some(known) = self.known.get(&ptr::from_ref(value)) {
            return Ok(*known);
        }
        let place = self.parts.len();
        if place == PARTS_AT_MOST {
            return Err(format!("the schema has more than {PARTS_AT_MOST} parts"));
        }
        self.known.insert(value, place);
        self.parts.push(Part::default());
        self.todo.push((place, value));
        Ok(place)
    }

    fn read(&mut self, value: &'a Value) -> Result<Part, String> {
        let mut part = Part { fixed: 1, ..Part::default() };
        let Value::Object(schema) = value else { return Ok(part) };
        for (key, value) in schema {
            part.fixed += 1;
            match key.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    let target = self.target(value)?;
                    part.same.push(self.part(target)?);
                }
                "allOf" | "anyOf" | "oneOf" => self.all(value, &mut part.same)?,
                "not" | "if" | "then" | "else" => part.same.push(self.part(value)?),
                "dependentSchemas" | "dependencies" => {
                    part.fixed += size(value);
                    for (_, value) in members(value).filter(|(_, value)| !value.is_array()) {
                        part.same.push(self.part(value)?);
                    }
                }
                "properties" => {
                    for (name, value) in members(value) {
                        part.members.insert(name.clone(), self.part(value)?);
                    }
                }
                "patternProperties" => {
                    for (pattern, value) in members(value) {
                        part.name_byte += self.pattern(pattern)?;
                        part.inside.push(self.part(value)?);
                    }
                }
                "additionalProperties"
                | "unevaluatedProperties"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains" => part.inside.push(self.part(value)?),
                "items" if value.is_array() => self.all(value, &mut part.items)?,
                "items" => part.inside.push(self.part(value)?),
                "prefixItems" => self.all(value, &mut part.items)?,
                "propertyNames" => part.names.push(self.part(value)?),
                "pattern" => part.text_byte += self.pattern(value.as_str().unwrap_or_default())?,
                // The validator would compile the text of the content.
                "format" if self.draft <= Draft::V7 && value == "regex" => {
                    return Err("it asks for texts that are regexes".to_owned());
                }
                "enum" | "const" | "required" | "dependentRequired" => part.fixed += size(value),
                _ => {}
            }
        }
        Ok(part)
    }

    fn all(&mut self, value: &'a Value, places: &mut Vec<usize>) -> Result<(), String> {
        for item in value.as_array().into_iter().flatten() {
            places.push(self.part(item)?);
        }
        Ok(())
    }

    /// What a reference means, if it is in this schema.
    fn target(&self, reference: &Value) -> Result<&'a Value, String> {
        let Value::String(reference) = reference else { return Err("a $ref in it is not a string".to_owned()) };
        let elsewhere = || {
            format!("it refers to {:?}, which is not part of the schema, and nothing is fetched", shortened(reference))
        };
        let fragment = reference.strip_prefix('#').ok_or_else(elsewhere)?;
        let fragment = percent_decode_str(fragment).decode_utf8().map_err(|_| elsewhere())?;
        let found = if fragment.is_empty() || fragment.starts_with('/') {
            self.schema.pointer(&fragment)
        } else {
            self.anchors.get(&*fragment).copied()
        };
        found.ok_or_else(elsewhere)
    }

    /// What a byte of text costs with this pattern.
    fn pattern(&mut self, pattern: &str) -> Result<u64, String> {
        self.patterns += 1;
        if self.patterns > PATTERNS_AT_MOST {
            return Err(format!("the schema has more than {PATTERNS_AT_MOST} patterns"));
        }
        if pattern.len() <= PATTERN_AT_MOST {
            for (bytes, cost) in PATTERN_COSTS {
                if compiles(pattern, bytes) {
                    return Ok(cost);
                }
            }
        }
        Err(format!("its pattern {:?} is too large, or of a kind that is not supported", shortened(pattern)))
    }
}

/// Whether the program of a pattern fits. The classes of ECMA-262 (`\w`, `\d`) are those of ASCII; with `\p` none are.
fn compiles(pattern: &str, bytes: usize) -> bool {
    let compiles =
        |unicode| regex::bytes::RegexBuilder::new(pattern).unicode(unicode).size_limit(bytes).build().is_ok();
    compiles(false) || compiles(true)
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// The number of values in a value.
fn size(value: &Value) -> u64 {
    let mut count = 0;
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        count += 1;
        match value {
            Value::Object(object) => todo.extend(object.values()),
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
    count
}
