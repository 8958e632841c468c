//! Checks what a person filled in against the form that a server asked with (MCP, elicitation, requested schema).
//!
//! A form is flat: strings, numbers, booleans, choices. What it lacks gets the schema's default.
#![forbid(unsafe_code)]

use serde_json::{Map, Value};

/// Adds the defaults to `data` and checks it. The reason of a failure names the field.
pub fn fill(schema: &Value, data: &mut Map<String, Value>) -> Result<(), String> {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    for (name, field) in properties {
        // A default that does not fit its own field is the server's mistake, and not one that the host could mend.
        if !data.contains_key(name)
            && let Some(default) = field.get("default")
            && check(field, default).is_ok()
        {
            data.insert(name.clone(), default.clone());
        }
        if let Some(value) = data.get(name) {
            check(field, value).map_err(|reason| format!("data.{name} {reason}"))?;
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !data.contains_key(name) {
            return Err(format!("data.{name} is missing; the form requires it"));
        }
    }
    Ok(())
}

fn check(field: &Value, value: &Value) -> Result<(), String> {
    let number = |key: &str| field.get(key).and_then(Value::as_f64);
    match field.get("type").and_then(Value::as_str) {
        Some("string") => {
            let text = value.as_str().ok_or_else(|| format!("is {}, expected a string", kind(value)))?;
            let length = text.chars().count() as f64;
            if number("minLength").is_some_and(|least| length < least)
                || number("maxLength").is_some_and(|most| length > most)
            {
                return Err(format!("has {length} characters, which the form does not allow"));
            }
            one_of(field, value)
        }
        Some(wanted @ ("number" | "integer")) => {
            let given = value.as_f64().ok_or_else(|| format!("is {}, expected a number", kind(value)))?;
            if wanted == "integer" && given.fract() != 0.0 {
                return Err(format!("is {given}, expected a whole number"));
            }
            if number("minimum").is_some_and(|least| given < least)
                || number("maximum").is_some_and(|most| given > most)
            {
                return Err(format!("is {given}, which is out of the form's range"));
            }
            Ok(())
        }
        Some("boolean") if !value.is_boolean() => Err(format!("is {}, expected true or false", kind(value))),
        Some("array") => {
            let items = value.as_array().ok_or_else(|| format!("is {}, expected an array", kind(value)))?;
            let count = items.len() as f64;
            if number("minItems").is_some_and(|least| count < least)
                || number("maxItems").is_some_and(|most| count > most)
            {
                return Err(format!("has {count} items, which the form does not allow"));
            }
            let each = field.get("items").unwrap_or(&Value::Null);
            items.iter().try_for_each(|item| one_of(each, item))
        }
        // A type that no revision knows is the server's to check.
        _ => Ok(()),
    }
}

/// A choice: `enum`, or `oneOf`/`anyOf` of constants with titles.
fn one_of(field: &Value, value: &Value) -> Result<(), String> {
    let listed = |key: &str| field.get(key).and_then(Value::as_array);
    let allowed: Vec<&Value> = match (listed("enum"), listed("oneOf").or_else(|| listed("anyOf"))) {
        (Some(values), _) => values.iter().collect(),
        (None, Some(options)) => options.iter().filter_map(|option| option.get("const")).collect(),
        (None, None) => return Ok(()),
    };
    if allowed.is_empty() || allowed.contains(&value) {
        return Ok(());
    }
    let names: Vec<String> = allowed.iter().take(20).map(|value| value.to_string()).collect();
    Err(format!("is {value}, expected one of {}", names.join(", ")))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(field: Value, data: Value) -> Result<Value, String> {
        let schema = json!({"type":"object","properties":{"x":field},"required":["x"]});
        let mut data = data.as_object().cloned().unwrap_or_default();
        fill(&schema, &mut data).map(|()| Value::Object(data))
    }

    #[test]
    fn defaults_fill_what_is_missing() {
        assert_eq!(filled(json!({"type":"integer","default":7}), json!({})), Ok(json!({"x":7})));
        assert_eq!(filled(json!({"type":"integer","default":7}), json!({"x":8,"y":1})), Ok(json!({"x":8,"y":1})));
        let missing = filled(json!({"type":"integer","default":"7"}), json!({})).unwrap_err();
        assert_eq!(missing, "data.x is missing; the form requires it");
    }

    #[test]
    fn types_and_bounds_are_checked() {
        for (field, good, bad) in [
            (json!({"type":"string","minLength":2,"maxLength":3}), json!("äö"), json!("a")),
            (json!({"type":"string"}), json!(""), json!(1)),
            (json!({"type":"number","minimum":0.5,"maximum":2}), json!(2), json!(2.1)),
            (json!({"type":"integer"}), json!(3.0), json!(3.5)),
            (json!({"type":"integer"}), json!(-1), json!("1")),
            (json!({"type":"boolean"}), json!(false), json!("true")),
            (json!({"type":"string","enum":["a","b"]}), json!("b"), json!("c")),
            (json!({"type":"string","oneOf":[{"const":"a","title":"A"}]}), json!("a"), json!("A")),
            (json!({"type":"array","items":{"enum":["a","b"]},"maxItems":2}), json!(["a", "b"]), json!(["c"])),
            (json!({"type":"array","items":{"anyOf":[{"const":"a"}]},"minItems":1}), json!(["a"]), json!([])),
        ] {
            assert!(filled(field.clone(), json!({"x":good})).is_ok(), "{field}");
            let reason = filled(field.clone(), json!({"x":bad})).unwrap_err();
            assert!(reason.starts_with("data.x "), "{field}: {reason}");
        }
    }
}
