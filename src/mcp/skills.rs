//! One verified read of a skill's file (SEP-2640, the skills extension).
//!
//! A skill is a directory of resources. Its entry says how large each file is and what its digest is, and what SKILL.md
//! begins with. Nothing is read before somebody asks for it, and what does not fit the entry is not handed out. A digest
//! shows that a server is consistent with itself, no more: it and the file come from the same hand.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use rmcp::model::{SKILLS_EXTENSION_ID, Skill, SkillFrontmatter, SkillIntegrityError, SkillResource, SkillResources};

use crate::context::Limits;
use crate::json::{self, Kind, Raw};
use crate::mcp::frontmatter;
use crate::mcp::input::Ask;
use crate::mcp::resources::ReadReply;
use crate::mcp::rpc;
use crate::mcp::server::{Server, pages};
use crate::outcome::{Failure, Outcome, Phase, Status, quoted};
use crate::wire::mux::Reply;

/// Some servers leave the padding away.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A checked request to read a file of a skill.
#[derive(Debug)]
pub struct SkillRead {
    skill: Wanted,
    file: Option<String>,
}

/// The skill: its entry as the host holds it, or where it is.
#[derive(Debug)]
enum Wanted {
    Entry(String),
    Uri(String),
}

impl SkillRead {
    /// `skill`: an entry, which begins with a brace, or the uri of a SKILL.md. `file`: the uri of one of its files, or none
    /// for SKILL.md.
    pub fn new(skill: &str, file: Option<&str>) -> Result<Self, Failure> {
        let skill = if skill.trim_start().starts_with('{') {
            json::check(skill.as_bytes()).map_err(|error| {
                Failure::new(Status::Json, format!("skill is not valid JSON: {} at byte {}", error.what, error.at))
            })?;
            Wanted::Entry(Raw::checked(skill).text().to_owned())
        } else if skill.is_empty() {
            return Err(Failure::new(
                Status::Argument,
                "skill is empty, expected the uri of a SKILL.md or the skill's entry as JSON",
            ));
        } else {
            Wanted::Uri(skill.to_owned())
        };
        Ok(SkillRead { skill, file: file.map(str::to_owned) })
    }

    /// Reads the file and gives it as the outcome, if it is what the entry says.
    pub async fn send(self, server: &Arc<Server>, limits: &Limits) -> Result<Outcome, Failure> {
        let session = limits.bound("the start of the server", server.session()).await??;
        if !session.peer.extends(SKILLS_EXTENSION_ID) {
            let why = format!("MCP server {:?} does not offer skills ({SKILLS_EXTENSION_ID})", server.name);
            return Err(Failure::new(Status::NotFound, why).of(&server.name));
        }
        let read = async {
            let text = match self.skill {
                Wanted::Entry(entry) => entry,
                Wanted::Uri(uri) => find(server, &uri, limits).await?,
            };
            let skill = Entry::read(text)?;
            let file = skill.file(self.file.as_deref())?;
            let mut members = String::from("\"uri\":");
            json::quote(&file.uri, &mut members);
            let reply = server.read(Ask::plain("resources/read", &members), limits).await?;
            skill.verify(file, rpc::complete("resources/read", &reply)?)?;
            let metadata = format!(
                "\"server\":{},\"skill\":{},\"uri\":{}",
                quoted(&server.name),
                quoted(&skill.skill.uri),
                quoted(&file.uri)
            );
            let more = format!(",\"skill\":{}", skill.text);
            Ok(ReadReply { reply, metadata, more }.outcome())
        };
        let read = limits.bound("the read", read).await?;
        read.map_err(|failure: Failure| failure.at(Phase::Call).of(&server.name))
    }
}

/// The entry of a skill as the server has it now.
async fn find(server: &Arc<Server>, uri: &str, limits: &Limits) -> Result<String, Failure> {
    let mut members = String::from("\"uri\":");
    json::quote(uri, &mut members);
    let reply = server.read(Ask::plain("skills/get", &members), limits).await?;
    // A server may have only the list.
    if reply.is_error && rpc::code(reply.raw()) == Some(rpc::METHOD_NOT_FOUND) {
        return find_in_list(server, uri, limits).await;
    }
    if reply.is_error && rpc::code(reply.raw()) == Some(rpc::INVALID_PARAMS) {
        let Failure { message, data, .. } = rpc::server_error(reply.raw());
        let why = format!("the server has no skill {uri:?}: {message}");
        return Err(Failure { data, ..Failure::new(Status::NotFound, why) });
    }
    let Some(entry) = rpc::complete("skills/get", &reply)?.get("skill").filter(|entry| entry.kind() == Kind::Object)
    else {
        return find_in_list(server, uri, limits).await;
    };
    if entry.get("uri").and_then(Raw::as_str).as_deref() != Some(uri) {
        let why = format!("the server answered skills/get of {uri:?} with another skill");
        return Err(Failure::new(Status::Protocol, why));
    }
    Ok(entry.text().to_owned())
}

async fn find_in_list(server: &Arc<Server>, uri: &str, limits: &Limits) -> Result<String, Failure> {
    let mut found = None;
    let mut warnings = Vec::new();
    let ask = |members: String| async move { server.read(Ask::plain("skills/list", &members), limits).await };
    let take = |page: Arc<Reply>| {
        let listed = page.raw().get("skills");
        let is_it = |entry: &Raw<'_>| entry.get("uri").and_then(Raw::as_str).as_deref() == Some(uri);
        found = listed.and_then(|list| list.elements().find(is_it)).map(|entry| entry.text().to_owned());
        let cursor = page.raw().get("nextCursor").and_then(Raw::as_str);
        Ok(cursor.filter(|_| found.is_none()).map(Cow::into_owned))
    };
    pages("skills/list", "skills", &mut warnings, ask, take).await?;
    found.ok_or_else(|| {
        let cut: String = warnings.iter().map(|warning| format!("; {warning}")).collect();
        Failure::new(Status::NotFound, format!("the server has no skill {uri:?}: it is not in skills/list{cut}"))
    })
}

/// A skill's entry that keeps the rules of the extension.
struct Entry {
    /// As it came.
    text: String,
    skill: Skill,
    files: Vec<SkillResource>,
}

impl Entry {
    fn read(text: String) -> Result<Entry, Failure> {
        let raw = Raw::checked(&text);
        let uri = raw.get("uri").and_then(Raw::as_str).unwrap_or_default();
        let wrong = |why: String| refused("", &uri, &format!("its entry is not usable: {why}"));
        let resources = raw.get("resources");
        if resources.and_then(Raw::as_str).as_deref() == Some("dynamic") {
            return Err(refused(
                "",
                &uri,
                "its resources are \"dynamic\", so there are no digests to verify it by; resources/read reads it unverified",
            ));
        }
        let Some(resources) = resources.filter(|resources| resources.kind() == Kind::Array) else {
            return Err(wrong("it has no list of resources".to_owned()));
        };
        let frontmatter = raw.get("frontmatter").map_or("null", Raw::text);
        let frontmatter: SkillFrontmatter =
            serde_json::from_str(frontmatter).map_err(|error| wrong(format!("frontmatter: {error}")))?;
        let files: Vec<SkillResource> =
            serde_json::from_str(resources.text()).map_err(|error| wrong(format!("resources: {error}")))?;
        let skill = Skill::new(uri.clone(), frontmatter, SkillResources::Files(files.clone()));
        skill.validate().map_err(|error| wrong(error.to_string()))?;
        Ok(Entry { skill, files, text })
    }

    /// The file that is wanted. One that is not listed is no part of the skill, whatever the server has there.
    fn file(&self, uri: Option<&str>) -> Result<&SkillResource, Failure> {
        let uri = uri.unwrap_or(&self.skill.uri);
        self.files.iter().find(|file| file.uri == uri).ok_or_else(|| {
            self.refused(&format!("{uri} is not among the {} files that its entry lists", self.files.len()))
        })
    }

    /// Checks what was read against the entry: one content, of the size and with the digest of the file, and in SKILL.md the
    /// frontmatter.
    fn verify(&self, file: &SkillResource, result: Raw<'_>) -> Result<(), Failure> {
        let contents = result.get("contents").filter(|contents| contents.kind() == Kind::Array);
        let contents: Vec<Raw<'_>> = contents.map(|contents| contents.elements().collect()).unwrap_or_default();
        let [content] = contents[..] else {
            let count = contents.len();
            return Err(self.refused(&format!("{} was read as {count} contents, expected 1", file.uri)));
        };
        // With two of them, one would be handed out unverified.
        let said: Vec<(Cow<'_, str>, Raw<'_>)> =
            content.members().filter(|(key, _)| matches!(&**key, "text" | "blob")).collect();
        let [(key, value)] = &said[..] else {
            let count = said.len();
            return Err(self.refused(&format!("{} was read with {count} texts and blobs, expected 1", file.uri)));
        };
        let Some(value) = value.as_str() else {
            let kind = value.kind().name();
            return Err(self.refused(&format!("{} was read with {kind} as {key}, expected a string", file.uri)));
        };
        let bytes = if key == "text" { value.into_owned().into_bytes() } else { self.decode(file, &value)? };
        file.verify(&bytes).map_err(|error| {
            self.refused(&match error {
                SkillIntegrityError::Size { uri, expected, actual } => {
                    format!("{uri} is {actual} bytes, expected {expected}")
                }
                SkillIntegrityError::Digest { uri, expected, actual } => {
                    format!("{uri} has the digest {actual}, expected {expected}")
                }
                other => other.to_string(),
            })
        })?;
        if file.uri == self.skill.uri {
            let markdown = std::str::from_utf8(&bytes)
                .map_err(|error| self.refused(&format!("{} is not UTF-8: {error}", file.uri)))?;
            let expected = serde_json::to_value(&self.skill.frontmatter).unwrap_or_default();
            frontmatter::check(markdown, &expected).map_err(|why| self.refused(&format!("{}: its {why}", file.uri)))?;
        }
        Ok(())
    }

    /// What base64 stands for. Some servers break its lines.
    fn decode(&self, file: &SkillResource, blob: &str) -> Result<Vec<u8>, Failure> {
        let digits: Vec<u8> = blob.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        BASE64
            .decode(digits)
            .map_err(|error| self.refused(&format!("{} was read with broken base64: {error}", file.uri)))
    }

    fn refused(&self, why: &str) -> Failure {
        refused(self.skill.name(), &self.skill.uri, why)
    }
}

/// What does not fit its entry may be stale, broken or forged: which of them nobody can tell.
fn refused(name: &str, uri: &str, why: &str) -> Failure {
    let which = match (name, uri) {
        ("", "") => "a skill without a uri".to_owned(),
        ("", uri) => format!("skill {uri}"),
        (name, uri) => format!("skill {name} ({uri})"),
    };
    Failure::new(Status::Protocol, format!("{which} is refused: {why}"))
}

#[cfg(test)]
mod tests;
