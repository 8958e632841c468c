use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

const NESTED: usize = 32;
const PATTERN: usize = 2_000;

/// The warnings that the library gives about `content`.
fn told(schema: &str, content: &str) -> Vec<String> {
    warnings(&Check::new(schema), content)
}

#[track_caller]
fn fits(schema: &Value, content: &Value) {
    assert_eq!(told(&schema.to_string(), &content.to_string()), [""; 0]);
}

#[track_caller]
fn faults(schema: &Value, content: &Value, expected: &[&str]) {
    let expected: Vec<String> =
        expected.iter().map(|fault| format!("structuredContent does not match the outputSchema: {fault}")).collect();
    assert_eq!(told(&schema.to_string(), &content.to_string()), expected);
}

/// It is not checked, for this reason, and finding that out takes no time to speak of.
#[track_caller]
fn unchecked(schema: &str, content: &str, reason: &str) {
    let began = Instant::now();
    let told = told(schema, content);
    let took = began.elapsed();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("structuredContent was not checked against the outputSchema: "), "{told:?}");
    assert!(told[0].contains(reason), "{told:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn content_that_fits_and_content_that_does_not() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}, "s": {"type": "string"}},
        "required": ["n", "s"], "additionalProperties": false});
    fits(&schema, &json!({"n": 1, "s": "x"}));
    faults(&schema, &json!({"n": "1", "s": "x"}), &["/n: want integer, but got string"]);
    faults(
        &schema,
        &json!({"n": -1, "t": 2}),
        &[
            "at the top: missing properties 's'",
            "/n: must be >=0, but got -1",
            "at the top: additionalProperties 't' not allowed",
        ],
    );
}

#[test]
fn content_may_be_any_value() {
    fits(&json!({"type": "array", "items": {"type": "number"}}), &json!([1, 2.5]));
    fits(&json!({"const": null}), &json!(null));
    fits(&json!(true), &json!("anything"));
    faults(&json!({"type": "object"}), &json!([]), &["at the top: want object, but got array"]);
    faults(&json!({"type": "object"}), &json!("text"), &["at the top: want object, but got string"]);
}

#[test]
fn where_there_is_a_choice_the_branches_say_why_not() {
    let schema = json!({"properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}}});
    fits(&schema, &json!({"x": null}));
    faults(&schema, &json!({"x": 1}), &["/x: anyOf failed (want string, but got number; want null, but got number)"]);
}

#[test]
fn many_faults_are_few_warnings() {
    let told = told(r#"{"items":{"type":"string"}}"#, &json!(vec![1; 500]).to_string());
    assert_eq!(told.len(), FAULTS + 1);
    assert_eq!(told[FAULTS], format!("and {} more of this kind", 500 - FAULTS));
}

#[test]
fn long_texts_are_cut_in_warnings() {
    let name = "y".repeat(100_000);
    let told = told(r#"{"propertyNames":false,"additionalProperties":false}"#, &json!({name: 1}).to_string());
    for warning in &told {
        assert!(warning.len() < 500 && warning.contains("…"), "{} bytes", warning.len());
    }
    assert_eq!(told.len(), 2);
}

#[test]
fn references_within_the_schema() {
    let schema = json!({"$defs": {"a%b": {"type": "string"}, "tree": {"$anchor": "tree", "type": "object",
        "properties": {"name": {"$ref": "#/$defs/a%25b"}, "children": {"items": {"$ref": "#tree"}}}}}, "$ref": "#/$defs/tree"});
    fits(&schema, &json!({"name": "a", "children": [{"name": "b", "children": []}]}));
    faults(
        &schema,
        &json!({"children": [{"children": [{"name": 7}]}]}),
        &["/children/0/children/0/name: want string, but got number"],
    );
    let schema = json!({"$id": "https://example.invalid/tree", "$dynamicAnchor": "node", "type": "object",
        "additionalProperties": {"$dynamicRef": "#node"}});
    fits(&schema, &json!({"a": {"b": {}}}));
    faults(&schema, &json!({"a": {"b": 1}}), &["/a/b: want object, but got number"]);
}

#[test]
fn nothing_elsewhere_is_fetched() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    silent.set_nonblocking(true).unwrap();
    let url = format!("http://{}/schema.json", silent.local_addr().unwrap());
    let folder = std::env::temp_dir().join(format!("toolnexus-schema-{}", std::process::id()));
    std::fs::write(&folder, "false").unwrap();
    let file = format!("file://{}", folder.display());
    for elsewhere in [&*url, &format!("{url}#/a"), &file, "other.json", "//127.0.0.1/x", "urn:x", "#/none", "#none"] {
        for schema in [
            json!({"$ref": elsewhere}),
            json!({"$dynamicRef": elsewhere}),
            json!({"properties": {"a": {"items": [{"$ref": elsewhere}]}}}),
        ] {
            unchecked(&schema.to_string(), "{}", "is not part of the schema, and nothing is fetched");
        }
    }
    unchecked(&json!({"$schema": url}).to_string(), "{}", "dialect");
    unchecked(&json!({"$id": url, "$ref": "x"}).to_string(), "{}", "nothing is fetched");
    unchecked(&json!({"$defs": {"a": {"$id": url}}, "$ref": "#/$defs/a"}).to_string(), "{}", "schemas of their own");
    std::fs::remove_file(&folder).unwrap();
    assert_eq!(silent.accept().map(|_| ()).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn the_dialects() {
    // Not the same in all of them: what `items` means.
    let schema = |dialect: &str| json!({"$schema": dialect, "items": [{"type": "string"}]});
    for dialect in [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2019-09/schema",
    ] {
        fits(&schema(dialect), &json!(["a", 1]));
        faults(&schema(dialect), &json!([1]), &["/0: want string, but got number"]);
    }
    let modern =
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"type": "string"}]});
    faults(&modern, &json!([1]), &["/0: want string, but got number"]);
    faults(&json!({"prefixItems": [{"type": "string"}]}), &json!([1]), &["/0: want string, but got number"]);
    for dialect in ["https://json-schema.org/draft/2031-01/schema", "https://example.com/mine", "", "x"] {
        unchecked(&schema(dialect).to_string(), "[]", &format!("its dialect {dialect:?} is not supported"));
    }
    unchecked(r#"{"$schema":7}"#, "[]", "its $schema is not a string");
}

#[test]
fn schemas_that_are_none() {
    unchecked(r#"{"type":"strin"}"#, "{}", "/type: ");
    unchecked(r#"{"properties":[]}"#, "{}", "/properties: want object, but got array");
    unchecked(r#"{"minimum":"\ud800"}"#, "{}", "the schema: ");
    unchecked(r#"{"minimum":1e999}"#, "{}", "the schema: ");
    unchecked("{}", "1e999", "number out of range");
    unchecked("{}", r#""\udc00""#, "surrogate");
}

#[test]
fn large_schemas_and_large_content() {
    let properties = |count| {
        let properties: serde_json::Map<String, Value> =
            (0..count).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
        json!({"properties": properties})
    };
    faults(&properties(1_500), &json!({"p1499": 1}), &["/p1499: want string, but got number"]);
    unchecked(&properties(2_000).to_string(), "{}", "more than 2000 parts");
    unchecked(&properties(8_000).to_string(), "{}", "more than 10000 values");
    unchecked(&properties(20_000).to_string(), "{}", "at most 262144 are looked at");
    let schema = json!({"items": {"type": "integer"}});
    fits(&schema, &json!(vec![1; 100_000]));
    unchecked(&schema.to_string(), &json!(vec![1; 600_000]).to_string(), "at most 1048576 are looked at");
}

#[test]
fn deep_schemas_and_deep_content() {
    let nested = |levels: usize| format!("{}true{}", r#"{"not":"#.repeat(levels), "}".repeat(levels));
    unchecked(&nested(NESTED + 1), "1", "nested more than 32 levels deep");
    unchecked(&nested(20_000), "1", "recursion limit");
    let array = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let list = r##"{"type":"array","items":{"$ref":"#"}}"##;
    // Without optimization the validator takes four times the stack that it does in the library as it is shipped.
    let deepest = (nested(NESTED), array(60));
    let roomy = std::thread::Builder::new().stack_size(4 << 20);
    let deepest = roomy.spawn(move || [told(&deepest.0, "1"), told(list, &deepest.1)].concat()).unwrap();
    assert_eq!(deepest.join().unwrap(), [""; 0]);
    unchecked(list, &array(70), "nested too deep");
    unchecked(list, &array(100_000), "recursion limit");
    // A chain of references is as deep.
    let defs: serde_json::Map<String, Value> =
        (0..1_000).map(|n| (n.to_string(), json!({"$ref": format!("#/$defs/{}", n + 1)}))).collect();
    let mut chain = json!({"$defs": defs, "$ref": "#/$defs/0"});
    chain["$defs"]["1000"] = json!(true);
    unchecked(&chain.to_string(), "1", "nested too deep");
}

#[test]
fn schemas_that_go_round_in_a_circle() {
    unchecked(r##"{"$ref":"#"}"##, "1", "refers to itself without end");
    unchecked(r##"{"allOf":[{"not":{"$ref":"#"}}]}"##, "1", "refers to itself without end");
    // Only where it applies.
    let schema = json!({"properties": {"a": {"$ref": "#/properties/a"}}, "type": "object"});
    fits(&schema, &json!({"b": 1}));
    unchecked(&schema.to_string(), r#"{"a":1}"#, "refers to itself without end");
}

#[test]
fn schemas_that_ask_for_endless_work() {
    // Each level applies the next one twice: 2^40 in a few lines.
    let doubling = |how: fn(String) -> Value| {
        let mut defs: serde_json::Map<String, Value> =
            (0..40).map(|n| (n.to_string(), how(format!("#/$defs/{}", n + 1)))).collect();
        defs.insert("40".to_owned(), json!({"type": "integer"}));
        json!({"$defs": defs, "$ref": "#/$defs/0"}).to_string()
    };
    let twice = |next: String| json!({"allOf": [{"$ref": next}, {"$ref": next}]});
    unchecked(&doubling(twice), "1", "too much work");
    unchecked(&doubling(|next| json!({"if": {"$ref": next}, "else": {"not": {"$ref": next}}})), "1", "too much work");
    // A tree in which each level of the content is looked at twice.
    let tree = json!({"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}).to_string();
    assert_eq!(told(&tree, "[[[[]]]]"), [""; 0]);
    unchecked(&tree, &format!("{}{}", "[".repeat(40), "]".repeat(40)), "too much work");
    // Long lists of values for long lists of items.
    let schema = json!({"items": {"enum": (0..9_000).collect::<Vec<_>>()}}).to_string();
    assert_eq!(told(&schema, "[8999]"), [""; 0]);
    unchecked(&schema, &json!(vec![8_999; 100_000]).to_string(), "too much work");
    fits(&json!({"uniqueItems": true}), &json!((0..50_000).collect::<Vec<_>>()));
}

#[test]
fn patterns() {
    faults(
        &json!({"properties": {"id": {"pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}}}),
        &json!({"id": "x"}),
        &["/id: does not match the pattern ^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"],
    );
    fits(&json!({"pattern": r"^[\w.+-]+@[\w-]+\.[\w.-]+$"}), &json!("someone@example.com"));
    fits(&json!({"patternProperties": {"^x-": {"type": "integer"}}}), &json!({"x-a": 1, "b": "c"}));
    fits(&json!({"pattern": r"^\p{Letter}é*$"}), &json!("éé"));
    for bomb in ["(a{1000}){1000}", "((((a{100}){100}){100}){100}){100}", r"\w{5000}", "(?=a)b", r"(a)\1", "("] {
        unchecked(&json!({"pattern": bomb}).to_string(), "\"a\"", "is too large, or of a kind that is not supported");
        unchecked(&json!({"patternProperties": {bomb: true}}).to_string(), "\"a\"", "not supported");
    }
    unchecked(&json!({"pattern": "a".repeat(PATTERN + 1)}).to_string(), "\"a\"", "too large");
    // Catastrophic for engines that track back.
    let long = json!("a".repeat(20_000) + "!");
    faults(&json!({"pattern": "^(a+)+$"}), &long, &["at the top: does not match the pattern ^(a+)+$"]);
    // Slow for this one.
    let slow = json!({"pattern": "(a|b)*a(a|b){200}$"}).to_string();
    unchecked(&slow, &json!("ab".repeat(400_000)).to_string(), "too much work");
    let many: Vec<Value> = (0..101).map(|n| json!({"pattern": n.to_string()})).collect();
    unchecked(&json!({"anyOf": many}).to_string(), "1", "more than 100 patterns");
}

#[test]
fn formats_are_words() {
    for dialect in ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"] {
        for format in FORMATS {
            fits(&json!({"$schema": dialect, "format": format}), &json!("none of these at all ((%"));
        }
    }
    fits(&json!({"format": "regex"}), &json!("(("));
    unchecked(
        &json!({"$schema": "http://json-schema.org/draft-07/schema#", "format": "regex"}).to_string(),
        "1",
        "regexes",
    );
}
