//! What must not be shown, and how it is hidden.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use memchr::memmem::Finder;

/// Shorter values are no secrets: hiding them would garble every message.
const SHORTEST: usize = 6;

/// The values that are replaced by `***` in whatever the library itself writes.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Longest first, each once.
    finders: Vec<Finder<'static>>,
}

impl Secrets {
    /// Hides `value` from now on, in the forms in which it may turn up: whole, as text inside JSON, and, if it has
    /// several lines, line by line, because servers' stderr is read by the line.
    pub(super) fn add(&mut self, value: &str) {
        self.add_form(value);
        if let Ok(quoted) = serde_json::to_string(value) {
            self.add_form(quoted.get(1..quoted.len() - 1).unwrap_or_default());
        }
        if value.contains('\n') {
            value.lines().for_each(|line| self.add_form(line.trim()));
        }
    }

    /// Hides the credentials of an `Authorization` header by themselves too: servers repeat them without the scheme.
    pub(super) fn add_header(&mut self, name: &str, value: &str) {
        // The word before a token that is not there is no secret, and messages need it.
        if ["basic", "bearer", "digest"].iter().any(|scheme| value.trim().eq_ignore_ascii_case(scheme)) {
            return;
        }
        self.add(value);
        if name.to_ascii_lowercase().ends_with("authorization")
            && let Some((_, credentials)) = value.split_once(' ')
        {
            self.add(credentials.trim());
        }
    }

    /// Hides the passwords of the URLs in `text`, also as they are sent.
    pub(super) fn add_user_info(&mut self, text: &str) {
        for (start, end) in user_infos(text) {
            let info = text.get(start..end).unwrap_or_default();
            let password = info.split_once(':').map_or(info, |(_, password)| password);
            self.add(password);
            self.add(&String::from_utf8_lossy(&percent_decoded(password)));
            self.add(&basic_credentials(info));
        }
    }

    /// The length in bytes of the longest one. What is cut within so many bytes of an edge may hold part of one.
    pub fn longest(&self) -> usize {
        self.finders.first().map_or(0, |finder| finder.needle().len())
    }

    fn add_form(&mut self, form: &str) {
        if form.chars().count() < SHORTEST {
            return;
        }
        let longer = self.finders.partition_point(|finder| finder.needle().len() >= form.len());
        let same_length = self.finders.iter().take(longer).rev().take_while(|it| it.needle().len() == form.len());
        if !same_length.into_iter().any(|finder| finder.needle() == form.as_bytes()) {
            self.finders.insert(longer, Finder::new(form).into_owned());
        }
    }

    /// `text` with every secret replaced by `***`. Secrets that overlap are hidden together, so that no end of one
    /// stays. Costs one search for each secret, and no copy if there is none in `text`.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut hits: Vec<(usize, usize)> = Vec::new();
        for finder in &self.finders {
            // From the byte after each hit: a secret may overlap itself.
            let mut from = 0;
            while let Some(found) = text.as_bytes().get(from..).and_then(|rest| finder.find(rest)) {
                let start = from + found;
                hits.push((start, start + finder.needle().len()));
                from = start + 1;
            }
        }
        if hits.is_empty() {
            return Cow::Borrowed(text);
        }
        hits.sort_unstable();
        let mut hidden: Vec<(usize, usize)> = Vec::with_capacity(hits.len());
        for (start, end) in hits {
            match hidden.last_mut() {
                Some(last) if start < last.1 => last.1 = last.1.max(end),
                _ => hidden.push((start, end)),
            }
        }
        Cow::Owned(without(text, &hidden, "***"))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.finders.len())
    }
}

/// What `Authorization: Basic` says for the user info of a URL (RFC 7617).
pub fn basic_credentials(user_info: &str) -> String {
    let mut decoded = percent_decoded(user_info);
    if !decoded.contains(&b':') {
        decoded.push(b':');
    }
    BASE64_STANDARD.encode(decoded)
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16)).map(|digit| digit as u8);
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push(high * 16 + low);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    out
}

/// `text` with the user info of every URL in it taken out: `scheme://user:password@host` -> `scheme://host`.
pub fn without_user_info(text: &str) -> Cow<'_, str> {
    let infos: Vec<(usize, usize)> = user_infos(text).into_iter().map(|(start, end)| (start, end + 1)).collect();
    if infos.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(without(text, &infos, "")) }
}

/// Where the user infos stand, without their `@`. A `/` in a `${…}` does not end the host part.
fn user_infos(text: &str) -> Vec<(usize, usize)> {
    let mut infos = Vec::new();
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("://")) {
        let start = from + at + 3;
        let mut end = None;
        let mut at = start;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'$' if bytes.get(at + 1) == Some(&b'{') => {
                    at += text.get(at..).and_then(|rest| rest.find('}')).unwrap_or_default();
                }
                b'@' => end = Some(at),
                b'/' | b'?' | b'#' | b'\\' | b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' => break,
                _ => {}
            }
            at += 1;
        }
        infos.extend(end.map(|end| (start, end)));
        from = at;
    }
    infos
}

/// `text` with the ranges (in order, on character boundaries, not overlapping) replaced.
fn without(text: &str, ranges: &[(usize, usize)], replacement: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for &(start, end) in ranges {
        out.push_str(text.get(done..start).unwrap_or_default());
        out.push_str(replacement);
        done = end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[&str]) -> Secrets {
        let mut secrets = Secrets::default();
        values.iter().for_each(|value| secrets.add(value));
        secrets
    }

    #[test]
    fn a_secret_that_overlaps_itself_leaves_no_end() {
        let mut secrets = Secrets::default();
        secrets.add("ababab");
        assert_eq!(secrets.mask("x abababab y"), "x *** y");
    }

    #[test]
    fn masks() {
        for (values, text, expected) in [
            (&["secret"][..], "my secret, secret", "my ***, ***"),
            (&["short"], "short", "short"),
            (&["sécret"], "a sécret b", "a *** b"),
            (&["secret", "secret-longer"], "secret-longer secret", "*** ***"),
            (&["secret-longer", "secret"], "secret-longer secret", "*** ***"),
            (&["abcdef", "defghi"], "xabcdefghix", "x***x"),
            (&["abcdef", "ghijkl"], "abcdefghijkl", "******"),
            (&["abcdef"], "", ""),
            (&["with\"quote"], "{\"a\":\"with\\\"quote\"} with\"quote", "{\"a\":\"***\"} ***"),
            (&["line one\nline two"], "says line two", "says ***"),
        ] {
            assert_eq!(secrets(values).mask(text), expected, "{values:?} {text}");
        }
        assert!(matches!(secrets(&["secret"]).mask("nothing"), Cow::Borrowed("nothing")));
        assert_eq!(secrets(&["secret", "abcdef", "secret"]).finders.len(), 2);
        assert_eq!(format!("{:?}", secrets(&["secret"])), "Secrets(1)");
    }

    #[test]
    fn credentials_and_passwords_are_secrets_by_themselves() {
        let mut secrets = Secrets::default();
        secrets.add_header("Authorization", "Bearer hunter22");
        secrets.add_user_info("--db=postgres://me:pass-word@host/db and https://token-only@host");
        assert_eq!(secrets.mask("hunter22 pass-word token-only"), "*** *** ***");
    }

    #[test]
    fn a_scheme_without_its_token_is_no_secret() {
        let mut secrets = Secrets::default();
        secrets.add_header("Authorization", "Bearer ");
        assert_eq!(secrets.mask("Bearer authorization"), "Bearer authorization");
    }

    #[test]
    fn user_info_goes() {
        for (text, expected) in [
            ("https://user:pass@host/x", "https://host/x"),
            ("https://host/x@y", "https://host/x@y"),
            ("https://user@ho@st", "https://st"),
            ("https://${USER}:${PASS:-a/b}@host/", "https://host/"),
            ("--a=pg://u:p@h/d --b=pg://v:q@i", "--a=pg://h/d --b=pg://i"),
            ("http://h?x@y", "http://h?x@y"),
            ("mail@example.org", "mail@example.org"),
            ("https://u:p{w@host/", "https://host/"),
            ("https://u:p${w@host/", "https://host/"),
            ("https://ü:ö@hóst/", "https://hóst/"),
            ("://", "://"),
            ("://@", "://"),
        ] {
            assert_eq!(without_user_info(text), expected, "{text}");
        }
    }
}
