//! The YAML at the head of a SKILL.md, compared with the JSON that a server says it is (SEP-2640, frontmatter verification).
//!
//! YAML 1.1 and 1.2 disagree on what a bare `yes` is, so a bare scalar is not given a type of its own: it is equal to each
//! JSON value that a YAML reader may have made of it.
#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

use crate::mcp::rpc::shortened;

/// No frontmatter is longer, in bytes, or deeper.
const LONGEST: usize = 256 * 1024;
const DEEPEST: usize = 100;

/// Checks that the frontmatter of `markdown` is `expected`, field by field. Else the reason, to be read after "its".
pub fn check(markdown: &str, expected: &Value) -> Result<(), String> {
    let tree = Tree::read(block(markdown)?)?;
    tree.differs(tree.root, expected, "").map_or(Ok(()), Err)
}

/// What stands between the two lines of three dashes.
fn block(markdown: &str) -> Result<&str, String> {
    let text = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    let mut lines = text.split_inclusive('\n');
    let fence = |line: &str| line.trim_end() == "---";
    let first = lines.next().filter(|line| fence(line)).ok_or("frontmatter is missing: the first line is not ---")?;
    let mut length = 0;
    for line in lines {
        if fence(line) {
            return Ok(text.get(first.len()..first.len() + length).unwrap_or_default());
        }
        length += line.len();
        if length > LONGEST {
            return Err(format!("frontmatter is longer than {LONGEST} bytes"));
        }
    }
    Err("frontmatter does not end: there is no second line ---".to_owned())
}

enum Node {
    Scalar {
        text: String,
        /// Without quotes or a tag: it may be more than text.
        bare: bool,
    },
    Sequence(Vec<usize>),
    Mapping(Vec<(String, usize)>),
}

/// A YAML document. An alias is the place of the node that it names, so that none is copied.
struct Tree {
    nodes: Vec<Node>,
    root: usize,
}

impl Tree {
    fn read(yaml: &str) -> Result<Tree, String> {
        let mut reader = Reader { events: Parser::new_from_str(yaml), nodes: Vec::new(), anchors: HashMap::new() };
        let root = loop {
            match reader.next()? {
                Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
                event @ Event::MappingStart(..) => break reader.node(event, 0)?,
                _ => return Err("frontmatter is no YAML mapping".to_owned()),
            }
        };
        loop {
            match reader.next()? {
                Event::StreamEnd => return Ok(Tree { nodes: reader.nodes, root }),
                Event::DocumentEnd | Event::Nothing => {}
                _ => return Err("frontmatter is more than one YAML document".to_owned()),
            }
        }
    }

    /// Where the node and the value are not the same. The work is bounded by the value, however often aliases repeat a node.
    fn differs(&self, at: usize, expected: &Value, path: &str) -> Option<String> {
        let equal = match (&self.nodes[at], expected) {
            (Node::Scalar { text, .. }, Value::String(string)) => text == string,
            (Node::Scalar { text, bare: true }, Value::Null) => {
                matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL")
            }
            (Node::Scalar { text, bare: true }, Value::Bool(value)) => boolean(text) == Some(*value),
            (Node::Scalar { text, bare: true }, Value::Number(number)) => is_number(text, number),
            (Node::Sequence(items), Value::Array(values)) if items.len() == values.len() => {
                return items
                    .iter()
                    .zip(values)
                    .enumerate()
                    .find_map(|(index, (item, value))| self.differs(*item, value, &format!("{path}[{index}]")));
            }
            (Node::Mapping(members), Value::Object(object)) => return self.mapping_differs(members, object, path),
            _ => false,
        };
        if equal {
            return None;
        }
        Some(format!(
            "frontmatter has {} as {path}, expected {}",
            shortened(&self.show(at)),
            shortened(&expected.to_string())
        ))
    }

    fn mapping_differs(&self, members: &[(String, usize)], object: &Map<String, Value>, path: &str) -> Option<String> {
        let inner = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let names: HashSet<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        if let Some(key) = object.keys().find(|key| !names.contains(key.as_str())) {
            return Some(format!(
                "frontmatter has no {}, expected {}",
                inner(key),
                shortened(&object[key].to_string())
            ));
        }
        members.iter().find_map(|(key, node)| match object.get(key) {
            Some(value) => self.differs(*node, value, &inner(key)),
            None => Some(format!(
                "frontmatter has {} as {}, expected none",
                shortened(&self.show(*node)),
                shortened(&inner(key))
            )),
        })
    }

    fn show(&self, at: usize) -> String {
        match &self.nodes[at] {
            Node::Scalar { text, bare: false } => Value::from(text.as_str()).to_string(),
            Node::Scalar { text, .. } if text.is_empty() => "nothing".to_owned(),
            Node::Scalar { text, .. } => text.clone(),
            Node::Sequence(items) => format!("a list of {}", items.len()),
            Node::Mapping(members) => format!("a mapping of {}", members.len()),
        }
    }
}

/// What readers of YAML 1.2 and 1.1 take for a boolean.
fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn is_number(text: &str, number: &Number) -> bool {
    let radix = |prefix, radix| text.strip_prefix(prefix).and_then(|digits| u64::from_str_radix(digits, radix).ok());
    if let Some(integer) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return number.as_u64() == Some(integer);
    }
    // What Rust reads as a float and YAML does not: inf and nan.
    if text.bytes().any(|byte| byte.is_ascii_alphabetic() && !matches!(byte, b'e' | b'E')) {
        return false;
    }
    // Whole numbers exactly: as floats the large ones would be equal to their neighbours.
    match text.parse::<i128>() {
        Ok(integer) if !number.is_f64() => {
            number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)) == Some(integer)
        }
        _ => text.parse::<f64>().is_ok_and(|float| number.as_f64() == Some(float)),
    }
}

struct Reader<'a> {
    events: Parser<'a, saphyr_parser::StrInput<'a>>,
    nodes: Vec<Node>,
    anchors: HashMap<usize, usize>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.events.next() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(format!("frontmatter is not valid YAML: {error}")),
            None => Err("frontmatter ends too early".to_owned()),
        }
    }

    /// The node that `event` begins.
    fn node(&mut self, event: Event<'a>, depth: usize) -> Result<usize, String> {
        if depth > DEEPEST {
            return Err(format!("frontmatter is nested more than {DEEPEST} deep"));
        }
        let (node, anchor) = match event {
            Event::Alias(anchor) => {
                return self.anchors.get(&anchor).copied().ok_or("frontmatter names a node within itself".to_owned());
            }
            Event::Scalar(text, style, anchor, tag) => {
                let bare = style == ScalarStyle::Plain && tag.is_none();
                (Node::Scalar { text: text.into_owned(), bare }, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => break,
                        event => items.push(self.node(event, depth + 1)?),
                    }
                }
                (Node::Sequence(items), anchor)
            }
            Event::MappingStart(anchor, _) => (Node::Mapping(self.members(depth)?), anchor),
            _ => return Err("frontmatter ends too early".to_owned()),
        };
        let place = self.nodes.len();
        self.nodes.push(node);
        if anchor != 0 {
            self.anchors.insert(anchor, place);
        }
        Ok(place)
    }

    fn members(&mut self, depth: usize) -> Result<Vec<(String, usize)>, String> {
        let mut members: Vec<(String, usize)> = Vec::new();
        let mut keys = HashSet::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(members),
                event => self.node(event, depth + 1)?,
            };
            let Node::Scalar { text, .. } = &self.nodes[key] else {
                return Err("frontmatter has a key that is no text".to_owned());
            };
            let key = text.clone();
            // Which of two would count is a matter of the reader: what was approved must not depend on it.
            if !keys.insert(key.clone()) {
                return Err(format!("frontmatter has {} twice", shortened(&key)));
            }
            let event = self.next()?;
            members.push((key, self.node(event, depth + 1)?));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(yaml: &str, expected: &Value) -> Result<(), String> {
        check(&format!("---\n{yaml}\n---\nBody\n"), expected)
    }

    #[test]
    fn equal_whatever_the_style() {
        let expected = json!({
            "name": "a-b", "description": "One: two\nthree", "license": "MIT", "n": 3, "big": 9_007_199_254_740_993_u64,
            "f": 1.5, "hex": 255, "yes": true, "no": false, "empty": null, "version": "1.0", "date": "2026-01-02",
            "allowed-tools": ["Read", "Bash(git:*)"], "metadata": {"author": "é", "tags": [], "o": {}},
        });
        let yaml = "name: a-b # a comment\ndescription: |-\n  One: two\n  three\nlicense: 'MIT'\nn: 3\n\
            big: 9007199254740993\nf: 1.50\nhex: 0xFF\nyes: yes\nno: False\nempty:\nversion: 1.0\ndate: 2026-01-02\n\
            allowed-tools: [Read, \"Bash(git:*)\"]\nmetadata:\n  author: \"\\u00e9\"\n  tags: []\n  o: {}";
        assert_eq!(checked(yaml, &expected), Ok(()));
        assert_eq!(check(&format!("\u{feff}---\r\n{}\r\n--- \r\n", yaml.replace('\n', "\r\n")), &expected), Ok(()));
        // The order does not matter, and an alias is what it names.
        assert_eq!(checked("b: &x [1, 2]\na: *x", &json!({"a": [1, 2], "b": [1, 2]})), Ok(()));
    }

    #[test]
    fn each_discrepancy_says_where_and_what() {
        let expected = json!({"name": "a", "m": {"k": ["x", 1]}});
        for (yaml, reason) in [
            ("name: b\nm: {k: [x, 1]}", "frontmatter has b as name, expected \"a\""),
            ("name: a\nm: {k: [x, 2]}", "frontmatter has 2 as m.k[1], expected 1"),
            ("name: a\nm: {k: [x, '1']}", "frontmatter has \"1\" as m.k[1], expected 1"),
            ("name: a\nm: {k: [x, !!str 1]}", "frontmatter has \"1\" as m.k[1], expected 1"),
            ("name: a\nm: {k: [x]}", "frontmatter has a list of 1 as m.k, expected [\"x\",1]"),
            ("name: a\nm: {}", "frontmatter has no m.k, expected [\"x\",1]"),
            ("name: a\nm:", "frontmatter has nothing as m, expected {\"k\":[\"x\",1]}"),
            ("name: a\nm: {k: [x, 1]}\nhooks: evil", "frontmatter has evil as hooks, expected none"),
            ("name: a\nname: a\nm: {k: [x, 1]}", "frontmatter has name twice"),
            ("m: {k: [x, 1]}", "frontmatter has no name, expected \"a\""),
            ("- a", "frontmatter is no YAML mapping"),
            ("? [a]\n: b", "frontmatter has a key that is no text"),
            ("name: &x [*x]", "frontmatter names a node within itself"),
            ("name: *x", "frontmatter is not valid YAML"),
            ("name: 'a", "frontmatter is not valid YAML"),
            ("name: a\n...\n--- # another\nm: 1", "frontmatter is more than one YAML document"),
        ] {
            let found = checked(yaml, &expected).unwrap_err();
            assert!(found.starts_with(reason), "{yaml:?}: {found}");
        }
    }

    #[test]
    fn numbers_are_those_of_yaml() {
        for (text, value) in
            [("inf", json!("x")), ("nan", json!(1)), ("9007199254740993", json!(9_007_199_254_740_992_u64))]
        {
            assert!(checked(&format!("a: {text}"), &json!({"a": value})).is_err(), "{text}");
        }
        for text in ["1", "1.0", "+1", "0x1", "0o1", "1e0"] {
            let expected = json!({"a": if text.contains(['.', 'e']) { json!(1.0) } else { json!(1) }});
            assert_eq!(checked(&format!("a: {text}"), &expected), Ok(()), "{text}");
        }
        assert!(checked("a: -0x1", &json!({"a": -1})).is_err());
    }

    #[test]
    fn what_is_no_frontmatter_or_too_much_of_it() {
        for (text, reason) in [
            ("", "the first line is not ---"),
            ("# A title\n---\nname: a\n---\n", "the first line is not ---"),
            ("---\nname: a\n", "no second line ---"),
            ("---\n---\n", "no YAML mapping"),
        ] {
            let found = check(text, &json!({"name": "a"})).unwrap_err();
            assert!(found.contains(reason), "{text:?}: {found}");
        }
        let long = format!("a: {}", "x".repeat(LONGEST));
        assert!(checked(&long, &json!({})).unwrap_err().contains("longer than"));
        let deep = format!("a: {}{}", "[".repeat(DEEPEST * 2), "]".repeat(DEEPEST * 2));
        assert!(checked(&deep, &json!({})).is_err());
    }

    #[test]
    fn repeated_aliases_cost_nothing() {
        let mut yaml = String::from("a0: &a0 [x, x]\n");
        for level in 1..60 {
            yaml.push_str(&format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1));
        }
        assert!(checked(&yaml, &json!({"a0": ["x", "x"]})).unwrap_err().contains("expected none"));
    }
}
