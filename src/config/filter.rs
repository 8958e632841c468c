//! Which of a server's tools are wanted, by their original names.

use std::collections::HashSet;

/// The lists of an entry's `tools`, `includeTools`, `excludeTools` and `disabledTools`, together.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// None: all.
    allow: Option<Vec<String>>,
    drop: Vec<String>,
    /// Lists that name every tool (`"*"`) say so here and nowhere else.
    drop_all: bool,
    /// Every name mentioned, once, in the order of the file.
    mentioned: Vec<String>,
}

impl Filter {
    /// Whether the tool with this name is wanted.
    pub fn allows(&self, original_name: &str) -> bool {
        !self.drop_all
            && self.allow.as_ref().is_none_or(|allow| allow.iter().any(|name| name == original_name))
            && !self.drop.iter().any(|name| name == original_name)
    }

    /// The names in the filter that no tool has.
    pub fn unknown<'a>(&'a self, existing: &[&str]) -> Vec<&'a str> {
        if self.mentioned.is_empty() {
            return Vec::new();
        }
        let existing: HashSet<&str> = existing.iter().copied().collect();
        self.mentioned.iter().map(String::as_str).filter(|name| !existing.contains(name)).collect()
    }

    /// Only these, of those that were allowed before. `"*"` among them: no limit.
    pub(super) fn allow(&mut self, names: Vec<String>) {
        self.mention(&names);
        if names.iter().any(|name| name == "*") {
            return;
        }
        self.allow = Some(match self.allow.take() {
            None => names,
            Some(before) => before.into_iter().filter(|name| names.contains(name)).collect(),
        });
    }

    /// Not these. `"*"` among them: none at all.
    pub(super) fn drop(&mut self, names: Vec<String>) {
        self.mention(&names);
        self.drop_all |= names.iter().any(|name| name == "*");
        self.drop.extend(names.into_iter().filter(|name| name != "*"));
    }

    /// A map of names: with a `true` in it, those that are true; else all but those that are false.
    pub(super) fn choose(&mut self, map: Vec<(String, bool)>) {
        let (wanted, unwanted): (Vec<_>, Vec<_>) = map.into_iter().partition(|(_, wanted)| *wanted);
        let names = |list: Vec<(String, bool)>| list.into_iter().map(|(name, _)| name);
        let allows = !wanted.is_empty();
        if allows {
            self.allow(names(wanted).collect());
        }
        // `"*": false` beside a true says what an allow-list says anyway.
        self.drop(names(unwanted).filter(|name| !(allows && name == "*")).collect());
    }

    /// The filter as a value of the key `tools`; None: it keeps everything.
    pub(super) fn to_json(&self) -> Option<serde_json::Value> {
        use serde_json::Value;
        if self.drop_all {
            return Some(serde_json::json!({"*": false}));
        }
        match &self.allow {
            Some(allow) if !allow.iter().any(|name| self.allows(name)) => Some(Value::Array(Vec::new())),
            None if self.drop.is_empty() => None,
            allow => {
                let mut map = serde_json::Map::new();
                map.extend(allow.iter().flatten().map(|name| (name.clone(), Value::Bool(true))));
                map.extend(self.drop.iter().map(|name| (name.clone(), Value::Bool(false))));
                Some(Value::Object(map))
            }
        }
    }

    fn mention(&mut self, names: &[String]) {
        for name in names {
            if name != "*" && !self.mentioned.contains(name) {
                self.mentioned.push(name.clone());
            }
        }
    }
}
