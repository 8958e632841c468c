use serde_json::{Value, json};

use super::*;

const SKILL: &str = "skill://acme/pdf/SKILL.md";
const FORMS: &str = "skill://acme/pdf/references/FORMS.md";
const MARKDOWN: &str = "---\nname: pdf\ndescription: About é\n---\n\nBody\n";

fn entry_of(change: impl FnOnce(&mut Value)) -> Result<Entry, Failure> {
    let mut entry = json!({
        "uri": SKILL,
        "frontmatter": {"name": "pdf", "description": "About é"},
        "resources": [SkillResource::from_bytes(SKILL, MARKDOWN.as_bytes()), SkillResource::from_bytes(FORMS, b"\0\xff1")],
    });
    change(&mut entry);
    Entry::read(entry.to_string())
}

fn entry() -> Entry {
    entry_of(|_| ()).unwrap()
}

#[track_caller]
fn message(failure: Option<Failure>) -> String {
    let failure = failure.expect("it is refused");
    assert_eq!(failure.status, Status::Protocol, "{failure}");
    failure.message
}

#[test]
fn an_entry_that_breaks_a_rule_is_refused() {
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 14] = [
        (|e| e["uri"] = Value::Null, "does not end in /SKILL.md"),
        (|e| e["uri"] = json!("skill://acme/other/SKILL.md"), "frontmatter name pdf"),
        (|e| e["frontmatter"] = Value::Null, "frontmatter: invalid type: null"),
        (|e| e["frontmatter"] = json!({"name": "pdf"}), "frontmatter: missing field `description`"),
        (|e| e["frontmatter"]["name"] = json!("P D F"), "invalid skill name"),
        (|e| e["resources"] = json!("dynamic"), "\"dynamic\""),
        (|e| e["resources"] = json!("static"), "it has no list of resources"),
        (|e| e["resources"] = Value::Null, "it has no list of resources"),
        (|e| e["resources"] = json!([]), "does not list its own SKILL.md"),
        (|e| e["resources"][0]["size"] = Value::Null, "resources: invalid type: null, expected u64"),
        (|e| e["resources"][0]["digest"] = json!("md5:1"), "malformed digest md5:1"),
        (|e| e["resources"][1]["uri"] = json!(SKILL), "twice"),
        (|e| e["resources"][1]["uri"] = json!("skill://acme/other/x"), "does not identify a file within"),
        (|e| e["resources"][1]["uri"] = json!("skill://acme/pdf/../x"), "does not identify a file within"),
    ];
    for (change, why) in changes {
        let message = message(entry_of(change).err());
        assert!(message.contains(why) && message.contains(" is refused: "), "{message}");
    }
    assert!(message(Entry::read("{}".to_owned()).err()).starts_with("a skill without a uri is refused"));
}

#[test]
fn only_listed_files() {
    let entry = entry();
    assert_eq!(entry.file(None).unwrap().uri, SKILL);
    assert_eq!(entry.file(Some(FORMS)).unwrap().uri, FORMS);
    for uri in ["", "references/FORMS.md", "skill://acme/pdf/references/forms.md", "file:///etc/passwd"] {
        let message = message(entry.file(Some(uri)).err());
        assert!(message.contains(uri) && message.contains("not among the 2 files"), "{message}");
    }
}

fn verified(uri: &str, result: Value) -> Result<(), Failure> {
    let entry = entry();
    let file = entry.file(Some(uri)).unwrap();
    let result = result.to_string();
    entry.verify(file, Raw::checked(&result))
}

#[test]
fn what_fits_its_entry_is_verified() {
    assert!(verified(SKILL, json!({"contents": [{"uri": SKILL, "text": MARKDOWN}]})).is_ok());
    for blob in ["AP8x", "AP8x\n", "AP\r\n8x"] {
        assert!(verified(FORMS, json!({"contents": [{"uri": FORMS, "blob": blob}]})).is_ok(), "{blob:?}");
    }
}

#[test]
fn what_does_not_fit_names_the_file_what_was_found_and_what_was_expected() {
    let size = MARKDOWN.len();
    let digest = |text: &str| SkillResource::from_bytes("", text.as_bytes()).digest;
    let other = MARKDOWN.replace("Body", "Evil");
    for (uri, contents, why) in [
        (SKILL, json!([{"text": MARKDOWN.to_owned() + "x"}]), format!("is {} bytes, expected {size}", size + 1)),
        (SKILL, json!([{"text": other}]), format!("has the digest {}, expected {}", digest(&other), digest(MARKDOWN))),
        (SKILL, json!([]), "was read as 0 contents, expected 1".to_owned()),
        (SKILL, json!([{"text": MARKDOWN}, {"text": "more"}]), "was read as 2 contents, expected 1".to_owned()),
        (SKILL, json!({"text": MARKDOWN}), "was read as 0 contents, expected 1".to_owned()),
        (SKILL, json!([MARKDOWN]), "with 0 texts and blobs, expected 1".to_owned()),
        (SKILL, json!([{"text": MARKDOWN, "blob": "AP8x"}]), "with 2 texts and blobs, expected 1".to_owned()),
        (SKILL, json!([{"text": 7}]), "with a number as text, expected a string".to_owned()),
        (FORMS, json!([{"blob": "A*8x"}]), "broken base64".to_owned()),
        (FORMS, json!([{"blob": "AP8y"}]), "has the digest".to_owned()),
        (FORMS, json!([{"text": "\u{0}1"}]), "is 2 bytes, expected 3".to_owned()),
    ] {
        let message = message(verified(uri, json!({"contents": contents})).err());
        assert!(message.starts_with(&format!("skill pdf ({SKILL}) is refused: {uri} ")), "{message}");
        assert!(message.ends_with(&why) || message.contains(&why), "{message}, expected {why}");
    }
    // A reader of JSON may take the first of two.
    let twice = format!("{{\"contents\":[{{\"text\":\"evil\",\"text\":{}}}]}}", quoted(MARKDOWN));
    let entry = entry();
    assert!(message(entry.verify(&entry.files[0], Raw::checked(&twice)).err()).contains("2 texts and blobs"));
}

#[test]
fn the_frontmatter_is_compared_in_skill_md_alone() {
    let other = entry_of(|entry| entry["frontmatter"]["description"] = json!("Kind words")).unwrap();
    let result = json!({"contents": [{"text": MARKDOWN}]}).to_string();
    let message = message(other.verify(&other.files[0], Raw::checked(&result)).err());
    assert!(message.contains(&format!("{SKILL}: its frontmatter has About é as description, expected \"Kind words\"")));
    let forms = json!({"contents": [{"blob": "AP8x"}]}).to_string();
    assert!(other.verify(&other.files[1], Raw::checked(&forms)).is_ok());
}

#[test]
fn a_skill_is_named_by_its_entry_or_its_uri() {
    let failure = |skill| SkillRead::new(skill, None).unwrap_err();
    assert_eq!(failure("").status, Status::Argument);
    assert_eq!(failure(" {\"uri\": }").status, Status::Json);
    assert!(
        matches!(SkillRead::new(" {\"uri\":1} ", None).unwrap().skill, Wanted::Entry(text) if text == "{\"uri\":1}")
    );
    assert!(matches!(SkillRead::new(SKILL, Some(FORMS)).unwrap().skill, Wanted::Uri(uri) if uri == SKILL));
}
