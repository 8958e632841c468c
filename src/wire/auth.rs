//! What a server asks for before it serves a client (RFC 9110, section 11; MCP, authorization).
//!
//! Only static headers are sent so far. What a server asked for is read, so that the host is told.
#![forbid(unsafe_code)]

use http::{HeaderMap, StatusCode, header};

/// What a 401 or a 403 asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// The scheme as it was sent (`Bearer`, `Basic`), or None if the answer did not name one.
    pub scheme: Option<String>,
    /// Where the server describes how to be authorized (RFC 9728).
    pub resource_metadata: Option<String>,
    pub scope: Option<String>,
    pub error: Option<String>,
}

/// So much of a header is read.
const LONGEST: usize = 8 * 1024;

impl Challenge {
    /// The challenge of an answer: the one for Bearer where there are several, which is what MCP speaks of.
    pub fn of(headers: &HeaderMap) -> Challenge {
        let mut all = Vec::new();
        for value in headers.get_all(header::WWW_AUTHENTICATE) {
            let text = String::from_utf8_lossy(value.as_bytes());
            let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST).unwrap_or(text.len());
            read(&text[..end], &mut all);
        }
        let bearer = all.iter().position(Challenge::is_bearer).unwrap_or(0);
        if all.is_empty() { Challenge::default() } else { all.swap_remove(bearer) }
    }

    fn is_bearer(&self) -> bool {
        self.scheme.as_deref().is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
    }

    /// The status of a server that answers so: a 403 without a word is a refusal that no authorization changes.
    pub fn is_asked(status: StatusCode, challenge: &Challenge) -> bool {
        status == StatusCode::UNAUTHORIZED || challenge.scheme.is_some()
    }

    /// What the host can do about it. `sent`: the request had an `Authorization`.
    pub fn advice(&self, sent: bool) -> String {
        let mut text = String::new();
        if sent {
            text.push_str("the Authorization that was sent (from \"headers\" or the url) is not accepted; ");
        }
        text.push_str(&self.asked());
        text
    }

    fn asked(&self) -> String {
        let Some(scheme) = &self.scheme else {
            return "the answer does not say how (no WWW-Authenticate header); if the server takes a key, give it in \
                    \"headers\", as \"Authorization\""
                .to_owned();
        };
        let mut text = format!("it asks for {scheme} authorization");
        let mut more = Vec::new();
        for (name, value) in
            [("error", &self.error), ("scope", &self.scope), ("resource_metadata", &self.resource_metadata)]
        {
            if let Some(value) = value {
                more.push(format!("{name} {value:?}"));
            }
        }
        if !more.is_empty() {
            text.push_str(&format!(" ({})", more.join(", ")));
        }
        text.push_str(match () {
            () if self.is_bearer() => "; give a token in \"headers\", as \"Authorization\": \"Bearer …\"",
            () if scheme.eq_ignore_ascii_case("basic") => {
                "; give \"Authorization\": \"Basic …\" in \"headers\", or user and password in the url"
            }
            () => ", which this library does not speak; give what it needs in \"headers\"",
        });
        text
    }
}

/// Reads one `WWW-Authenticate`: challenges and their parameters, all parted by commas.
fn read(text: &str, all: &mut Vec<Challenge>) {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (word, after) = token(rest);
        if word.is_empty() {
            return;
        }
        let value = after.trim_start();
        match value.strip_prefix('=') {
            // A parameter of the challenge before it. Two equals signs, or none after it: the end of a token68.
            Some(value) if !value.starts_with('=') => {
                let (value, after) = parameter(value.trim_start());
                rest = after;
                let Some(challenge) = all.last_mut() else { continue };
                let known = match word.to_ascii_lowercase().as_str() {
                    "resource_metadata" => &mut challenge.resource_metadata,
                    "scope" => &mut challenge.scope,
                    "error" => &mut challenge.error,
                    _ => continue,
                };
                known.get_or_insert(value);
            }
            _ => {
                all.push(Challenge { scheme: Some(word.to_owned()), ..Challenge::default() });
                rest = after;
                // A token68 in place of parameters: nothing that we read.
                let (first, behind) = token68(rest.trim_start());
                if !first.is_empty() && (behind.is_empty() || behind.trim_start().starts_with(',')) {
                    rest = behind;
                }
            }
        }
    }
}

fn split(text: &str, inside: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !inside(c)).unwrap_or(text.len()))
}

fn token(text: &str) -> (&str, &str) {
    split(text, |c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}

fn token68(text: &str) -> (&str, &str) {
    let (start, rest) = split(text, |c| c.is_ascii_alphanumeric() || "-._~+/".contains(c));
    let end = start.len() + (rest.len() - rest.trim_start_matches('=').len());
    text.split_at(end)
}

fn parameter(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = token(text);
        // What is neither a token nor quoted is skipped to the next comma.
        let rest = if value.is_empty() { &rest[rest.find(',').unwrap_or(rest.len())..] } else { rest };
        return (value.to_owned(), rest);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&'static str]) -> Challenge {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::WWW_AUTHENTICATE, http::HeaderValue::from_static(value));
        }
        Challenge::of(&headers)
    }

    #[test]
    fn challenges_are_read() {
        let bearer = of(&[
            r#"Bearer realm="x, y", resource_metadata="https://h/.well-known/p", scope="a b", error=invalid_token"#,
        ]);
        assert_eq!(bearer.scheme.as_deref(), Some("Bearer"));
        assert_eq!(bearer.resource_metadata.as_deref(), Some("https://h/.well-known/p"));
        assert_eq!(bearer.scope.as_deref(), Some("a b"));
        assert_eq!(bearer.error.as_deref(), Some("invalid_token"));
        assert_eq!(of(&["Basic realm=\"x\""]).scheme.as_deref(), Some("Basic"));
        assert_eq!(of(&["Basic realm=\"x\"", "bearer scope=s"]).scope.as_deref(), Some("s"));
        assert_eq!(of(&["Basic realm=\"x\", Bearer scope=\"s\""]).scope.as_deref(), Some("s"));
        assert_eq!(of(&["Negotiate abc==, Bearer scope=s"]).scope.as_deref(), Some("s"));
        assert_eq!(of(&["Bearer"]).scheme.as_deref(), Some("Bearer"));
        assert_eq!(of(&[r#"Bearer scope="a\"b"#]).scope.as_deref(), Some("a\"b"));
        assert_eq!(of(&[]), Challenge::default());
        for odd in ["=", ",,,", "\"", "Bearer =", "Bearer x=", "Bearer x=\"", "a b c d=e,=f"] {
            of(&[odd]);
        }
    }

    #[test]
    fn the_advice_names_the_scheme() {
        assert!(
            of(&["Bearer error=\"invalid_token\""])
                .advice(false)
                .contains("Bearer authorization (error \"invalid_token\")")
        );
        assert!(
            of(&["Digest nonce=x"]).advice(false).contains("Digest authorization, which this library does not speak")
        );
        assert!(of(&[]).advice(false).contains("no WWW-Authenticate"));
        assert!(of(&["Bearer"]).advice(true).starts_with("the Authorization that was sent"));
    }
}
