//! The environment of a child: what it gets of the host's, the dotenv file, and what the entry says.

use std::collections::{HashMap, HashSet};

use super::server::InheritEnv;

/// What every server gets: where it is, who runs it, how it reaches the world. Nothing that is usually secret.
const PASSED: &[&str] = &[
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    "LANG",
    "TMPDIR",
    "TZ",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
];

fn passed(name: &str) -> bool {
    PASSED.contains(&name) || name.starts_with("LC_") || name.starts_with("XDG_")
}

/// The complete environment of a child, and the names that the host has and the child does not get. Later layers win;
/// a None in `own` takes the variable away, whoever gave it.
pub(super) fn child(
    host: &[(String, String)],
    inherit: &InheritEnv,
    file: &[(String, String)],
    own: &[(String, Option<String>)],
) -> (Vec<(String, String)>, Vec<String>) {
    let inherited: HashSet<&str> = match inherit {
        InheritEnv::Names(names) => names.iter().map(String::as_str).collect(),
        InheritEnv::All(_) => HashSet::new(),
    };
    let all = *inherit == InheritEnv::All(true);
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut env: Vec<(&str, Option<&str>)> = Vec::new();
    for (name, value) in host {
        let given = all || passed(name) || inherited.contains(name.as_str());
        // Of two equal names in the host's environment the first counts, as for `getenv`.
        if given && !places.contains_key(name.as_str()) {
            places.insert(name, env.len());
            env.push((name, Some(value)));
        }
    }
    let file = file.iter().map(|(name, value)| (name.as_str(), Some(value.as_str())));
    let own = own.iter().map(|(name, value)| (name.as_str(), value.as_deref()));
    for (name, value) in file.chain(own) {
        let place = *places.entry(name).or_insert(env.len());
        match env.get_mut(place) {
            Some(variable) => variable.1 = value,
            None => env.push((name, value)),
        }
    }
    let env: Vec<(String, String)> =
        env.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    let mut seen: HashSet<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
    let withheld = host.iter().map(|(name, _)| name.as_str()).filter(|name| seen.insert(name)).map(str::to_owned);
    let withheld = withheld.collect();
    (env, withheld)
}

/// What a dotenv file says: its variables, and the numbers of the lines that say nothing. `NAME=value`, an optional
/// `export`, `#` comments; `'…'` as it is, `"…"` with escapes, both over several lines. Nothing is expanded.
pub(super) fn dotenv(text: &str) -> (Vec<(String, String)>, Vec<usize>) {
    let mut variables = Vec::new();
    let mut bad = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let (line, below) = rest.split_once('\n').unwrap_or((rest, ""));
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            rest = below;
            continue;
        }
        let Some((name, value)) = rest.split_once('=').filter(|(name, _)| !name.contains('\n')) else {
            bad.push(number);
            rest = below;
            continue;
        };
        let name = name.trim();
        let name = name.strip_prefix("export ").unwrap_or(name).trim();
        let value = value.trim_start_matches([' ', '\t']);
        let read = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => quoted(value, quote),
            _ => Some((unquoted(value.split('\n').next().unwrap_or_default()), below)),
        };
        match read {
            Some((value, below)) if is_name(name) && !value.contains('\0') => {
                let taken = rest.len() - below.len();
                number += rest.get(..taken).unwrap_or_default().matches('\n').count().saturating_sub(1);
                variables.push((name.to_owned(), value));
                rest = below;
            }
            _ => {
                bad.push(number);
                rest = below;
            }
        }
    }
    (variables, bad)
}

/// Whether a variable can have this name at all.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c == '=' || c == '\0' || c.is_whitespace())
}

/// A value without quotes ends at the line's end, or at a comment.
fn unquoted(line: &str) -> String {
    let comment = line.char_indices().find(|(at, c)| {
        *c == '#' && line.get(..*at).is_none_or(|before| before.is_empty() || before.ends_with([' ', '\t']))
    });
    let end = comment.map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or_default().trim().to_owned()
}

/// The value in quotes that `text` begins with, and what stands below its line. None: it does not end, or is followed
/// by something that is no comment.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == quote {
            let after = text.get(at + 1..)?;
            let (tail, below) = after.split_once('\n').unwrap_or((after, ""));
            let tail = tail.trim();
            return (tail.is_empty() || tail.starts_with('#')).then_some((value, below));
        }
        if c != '\\' || quote == '\'' {
            value.push(c);
            continue;
        }
        match chars.next()?.1 {
            'n' => value.push('\n'),
            'r' => value.push('\r'),
            't' => value.push('\t'),
            escaped @ ('"' | '\\' | '$' | '\'') => value.push(escaped),
            other => value.extend(['\\', other]),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn dotenv_files() {
        for (text, variables, bad) in [
            ("", &[][..], &[][..]),
            ("A=1\nB=2", &[("A", "1"), ("B", "2")], &[]),
            ("\u{feff}A=1\r\nB=2\r\n", &[("A", "1"), ("B", "2")], &[]),
            ("# c\n\n export A = x y  # c\nB=a#b", &[("A", "x y"), ("B", "a#b")], &[]),
            ("A=\nB=#c\n", &[("A", ""), ("B", "")], &[]),
            ("A='a $B #\\n' # c\nB=\"a\\n\\t\\\"\\$\\\\\\q\"", &[("A", "a $B #\\n"), ("B", "a\n\t\"$\\\\q")], &[]),
            ("A=\"one\ntwo\"\nnonsense\nB=1", &[("A", "one\ntwo"), ("B", "1")], &[3]),
            ("A=\"open\nB=1", &[("B", "1")], &[1]),
            ("A='x'y\nB=1", &[("B", "1")], &[1]),
            ("=x\n a b=1\nC=1", &[("C", "1")], &[1, 2]),
            ("A=${B}=c", &[("A", "${B}=c")], &[]),
            ("nothing\nA=1", &[("A", "1")], &[1]),
            ("A=1\nA=2", &[("A", "1"), ("A", "2")], &[]),
            ("Ä=ö", &[("Ä", "ö")], &[]),
        ] {
            assert_eq!(dotenv(text), (pairs(variables), bad.to_vec()), "{text:?}");
        }
    }

    #[test]
    fn layers() {
        let host =
            pairs(&[("PATH", "/bin"), ("LC_ALL", "C"), ("XDG_X", "x"), ("AWS_KEY", "k"), ("PATH", "/2"), ("N", "")]);
        let names = InheritEnv::Names(vec!["AWS_KEY".to_owned(), "NOT_THERE".to_owned()]);
        let file = pairs(&[("A", "file"), ("PATH", "/file")]);
        let own = [("A".to_owned(), Some("own".to_owned())), ("XDG_X".to_owned(), None), ("N".to_owned(), None)];
        let (env, withheld) = child(&host, &InheritEnv::All(false), &[], &[]);
        assert_eq!(env, pairs(&[("PATH", "/bin"), ("LC_ALL", "C"), ("XDG_X", "x")]));
        assert_eq!(withheld, ["AWS_KEY", "N"]);
        let (env, withheld) = child(&host, &names, &file, &own);
        assert_eq!(env, pairs(&[("PATH", "/file"), ("LC_ALL", "C"), ("AWS_KEY", "k"), ("A", "own")]));
        assert_eq!(withheld, ["XDG_X", "N"]);
        let (env, withheld) = child(&host, &InheritEnv::All(true), &[], &[]);
        assert_eq!((env.len(), withheld.len()), (5, 0));
    }

    #[test]
    fn what_is_passed() {
        let given = "HOME LOGNAME PATH SHELL TERM USER LANG LC_ALL TMPDIR TZ XDG_RUNTIME_DIR DISPLAY WAYLAND_DISPLAY \
                     DBUS_SESSION_BUS_ADDRESS DOCKER_HOST HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy \
                     https_proxy no_proxy all_proxy NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE";
        assert!(given.split_whitespace().all(passed));
        for name in ["GITHUB_TOKEN", "HOMEX", "PATHS", "LC", "XDG", "path", "OPENAI_API_KEY"] {
            assert!(!passed(name), "{name}");
        }
    }
}
