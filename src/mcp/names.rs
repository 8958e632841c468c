//! Under which name a host sees a tool: unique over all servers, and the same whichever of them are up.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

/// The longest name that every provider takes.
const LIMIT: usize = 64;
/// What a hashed name keeps of the plain one: room is left for `_` and eight digits.
const KEPT: usize = 55;

/// How the tools of the configured servers are named.
///
/// Decided by the names in the config alone, disabled and failed servers included, so that a name does not change when
/// a server comes or goes. The price: a server that lists a tool under another server's hashed name is given that name
/// too, since nobody looks at both lists. Whoever joins the lists keeps the first.
#[derive(Debug)]
pub struct Names {
    servers: Vec<Server>,
}

#[derive(Debug)]
struct Server {
    name: String,
    prefix: String,
    /// Another server has the better right to this prefix.
    shadowed: bool,
    /// The longer prefixes of other servers which names of this one could begin with.
    foreign: Vec<String>,
}

impl Names {
    /// `configured` are all servers of the config, in its order.
    pub fn new(configured: &[&str]) -> Self {
        let owners = owners(configured);
        let prefixes: Vec<String> = configured.iter().map(|name| sanitize(name).into_owned() + "_").collect();
        let servers = configured.iter().enumerate().map(|(index, name)| {
            let prefix = prefixes[index].clone();
            let longer = |other: &&String| other.len() > prefix.len() && other.starts_with(&prefix);
            let foreign = prefixes.iter().filter(longer).cloned().collect();
            Server { name: (*name).to_owned(), shadowed: !owners.contains(&index), foreign, prefix }
        });
        Names { servers: servers.collect() }
    }

    /// The exposed names of one server's tools, in their order. `tools` is its whole list, each name once, before any filter.
    /// An index that is not configured gives no names.
    pub fn expose(&self, server: usize, tools: &[&str]) -> Vec<String> {
        let Some(server) = self.servers.get(server) else { return Vec::new() };
        let mut changed = false;
        let plain: Vec<String> = tools
            .iter()
            .map(|tool| {
                let clean = sanitize(tool);
                changed |= matches!(clean, Cow::Owned(_));
                // With room for the NUL that C wants.
                let mut name = String::with_capacity(server.prefix.len() + clean.len() + 1);
                name.push_str(&server.prefix);
                name.push_str(&clean);
                name
            })
            .collect();
        // Where sanitizing changed none, each owns its own.
        let owners = changed.then(|| owners(tools));
        let is_plain = |index: usize| {
            let name = &plain[index];
            !server.shadowed
                && owners.as_ref().is_none_or(|owners| owners.contains(&index))
                && name.len() <= LIMIT
                && !server.foreign.iter().any(|prefix| name.starts_with(prefix.as_str()))
        };
        let to_hash: Vec<usize> = (0..tools.len()).filter(|index| !is_plain(*index)).collect();
        if to_hash.is_empty() {
            return plain;
        }
        let mut taken: HashSet<String> =
            (0..tools.len()).filter(|index| is_plain(*index)).map(|index| plain[index].clone()).collect();
        let mut exposed = plain;
        for index in to_hash {
            exposed[index] = hashed(&server.name, tools[index], &exposed[index], &mut taken);
        }
        exposed
    }
}

/// Of names that sanitize alike, one may be used as it is: the one that sanitizing did not change, else the first.
fn owners(names: &[&str]) -> HashSet<usize> {
    let mut owners: HashMap<Cow<'_, str>, usize> = HashMap::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let clean = sanitize(name);
        let unchanged = clean == *name;
        let owner = owners.entry(clean).or_insert(index);
        // Unchanged twice is the same name twice: the first stays.
        if unchanged && names[*owner] != *name {
            *owner = index;
        }
    }
    owners.into_values().collect()
}

/// Each character but ASCII letters, digits, `_` and `-` becomes `_`.
fn sanitize(name: &str) -> Cow<'_, str> {
    let stays = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.bytes().all(|byte| stays(byte.into())) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().map(|c| if stays(c) { c } else { '_' }).collect())
}

/// The name that says by a hash whose it is. `taken` are the names given so far.
fn hashed(server: &str, tool: &str, plain: &str, taken: &mut HashSet<String>) -> String {
    let mut input = [server.as_bytes(), tool.as_bytes()].join(&0);
    loop {
        let mut name = plain[..plain.len().min(KEPT)].to_owned();
        name.push('_');
        for byte in &Sha256::digest(&input)[..4] {
            name.push_str(&format!("{byte:02x}"));
        }
        if taken.insert(name.clone()) {
            return name;
        }
        // A tool of this server really is called like that. Hash on; its own name is not ours to take.
        input.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(server: &str, tool: &str) -> String {
        let digest = Sha256::digest(format!("{server}\0{tool}"));
        digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn plain_names_are_joined_and_sanitized() {
        let names = Names::new(&["my server", "b"]);
        assert_eq!(
            names.expose(0, &["read.file", "Read-File", "größe", "a/b😀c"]),
            ["my_server_read_file", "my_server_Read-File", "my_server_gr__e", "my_server_a_b_c"]
        );
        assert_eq!(names.expose(1, &["x", "X"]), ["b_x", "b_X"]);
        assert_eq!(names.expose(2, &["x"]), [""; 0]);
    }

    #[test]
    fn the_hash_is_sha256_of_server_nul_tool() {
        // printf 'github\0<62 times x>' | sha256sum
        let tool = "x".repeat(62);
        let name = &Names::new(&["github"]).expose(0, &[&tool])[0];
        assert_eq!(*name, format!("github_{}_{}", "x".repeat(48), hash("github", &tool)));
        assert_eq!(&name[56..], "67a7f750");
    }

    #[test]
    fn more_than_64_characters_are_hashed_and_64_are_not() {
        let names = Names::new(&["s"]);
        let (fits, over, long) = ("t".repeat(62), "t".repeat(63), "ü".repeat(180));
        let exposed = names.expose(0, &[&fits, &over, &long]);
        assert_eq!(exposed[0], format!("s_{fits}"));
        assert_eq!(exposed[1], format!("s_{}_{}", "t".repeat(53), hash("s", &over)));
        assert_eq!(exposed[2], format!("s_{}_{}", "_".repeat(53), hash("s", &long)));
        assert!(exposed.iter().all(|name| name.len() == 64));
    }

    #[test]
    fn of_servers_that_sanitize_alike_the_changed_ones_are_hashed() {
        let names = Names::new(&["a.b", "a_b", "a b", "x.y", "x y", "x/y"]);
        assert_eq!(names.expose(0, &["t"]), [format!("a_b_t_{}", hash("a.b", "t"))]);
        assert_eq!(names.expose(1, &["t"]), ["a_b_t"]);
        assert_eq!(names.expose(2, &["t"]), [format!("a_b_t_{}", hash("a b", "t"))]);
        assert_eq!(names.expose(3, &["t"]), ["x_y_t"]);
        assert_eq!(names.expose(4, &["t"]), [format!("x_y_t_{}", hash("x y", "t"))]);
        assert_eq!(names.expose(5, &["t"]), [format!("x_y_t_{}", hash("x/y", "t"))]);
    }

    #[test]
    fn a_name_inside_a_longer_servers_prefix_is_hashed() {
        let names = Names::new(&["a", "a_b", "a.b.c"]);
        assert_eq!(
            names.expose(0, &["b", "b_", "b.t", "c", "bb_t"]),
            [
                "a_b".to_owned(),
                format!("a_b__{}", hash("a", "b_")),
                format!("a_b_t_{}", hash("a", "b.t")),
                "a_c".to_owned(),
                "a_bb_t".to_owned(),
            ]
        );
        assert_eq!(names.expose(1, &["t", "c_t"]), ["a_b_t".to_owned(), format!("a_b_c_t_{}", hash("a_b", "c_t"))]);
        assert_eq!(names.expose(2, &["t"]), ["a_b_c_t"]);
        // Alone, the short server has nothing to give way to.
        assert_eq!(Names::new(&["a"]).expose(0, &["b_t"]), ["a_b_t"]);
    }

    #[test]
    fn of_tools_that_sanitize_alike_the_changed_ones_are_hashed() {
        let names = Names::new(&["s"]);
        assert_eq!(
            names.expose(0, &["x.y", "x_y", "x y", "p q", "p.q"]),
            [
                format!("s_x_y_{}", hash("s", "x.y")),
                "s_x_y".to_owned(),
                format!("s_x_y_{}", hash("s", "x y")),
                "s_p_q".to_owned(),
                format!("s_p_q_{}", hash("s", "p.q")),
            ]
        );
    }

    #[test]
    fn a_tool_that_is_called_like_a_hash_keeps_its_name() {
        let names = Names::new(&["s"]);
        let twin = format!("x_y_{}", hash("s", "x y"));
        let exposed = names.expose(0, &["x_y", "x y", &twin]);
        assert_eq!(exposed[0], "s_x_y");
        assert_eq!(exposed[2], format!("s_{twin}"));
        assert_eq!(exposed[1], format!("s_x_y_{}", hash("s", "x y\0")));
    }

    #[test]
    fn names_are_unique_over_all_servers() {
        let pieces = ["a", "a_", "a.", "a_a", "a.a", "_", "", "a_a_a", "aa", "é"];
        let tools: Vec<String> =
            pieces.iter().flat_map(|left| pieces.iter().map(move |right| format!("{left}{right}"))).collect();
        let tools: Vec<&str> = tools.iter().map(String::as_str).filter(|tool| !tool.is_empty()).collect();
        let mut distinct: Vec<&str> = Vec::new();
        tools.iter().for_each(|tool| {
            if !distinct.contains(tool) {
                distinct.push(tool)
            }
        });
        let names = Names::new(&pieces);
        let mut seen = HashSet::new();
        for (server, piece) in pieces.iter().enumerate() {
            let exposed = names.expose(server, &distinct);
            assert_eq!(exposed.len(), distinct.len());
            for name in exposed {
                assert!(name.len() <= 64 && name == sanitize(&name));
                assert!(seen.insert(name.clone()), "{name} of {piece:?}");
            }
        }
    }
}
