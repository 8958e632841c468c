//! Skills: what is read is what the entry says, or nothing is handed out. Row 49, and its kind.

use serde_json::{Value, json};

use crate::common::{Loaded, hostile, load};
use crate::{ERAS, connected, echoes, received};

const SKILL: &str = "skill://acme/pdf/SKILL.md";
const FORMS: &str = "skill://acme/pdf/references/FORMS.md";

/// The uris that were read.
fn reads(loaded: &Loaded) -> Vec<String> {
    let lines = received(loaded);
    let messages = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages
        .filter(|message| message["method"] == "resources/read")
        .map(|message| message["params"]["uri"].as_str().unwrap().to_owned())
        .collect()
}

/// The entry as `skills/list` has it.
fn entry(loaded: &Loaded) -> Value {
    loaded.request("s", "skills/list", &json!({"cursor": ""})).doc()["skills"][1].clone()
}

#[test]
fn a_skill_is_read_when_it_is_wanted_and_not_before() {
    for era in ERAS {
        let loaded = connected("skills", era, &[]);
        let entry = entry(&loaded);
        assert_eq!(reads(&loaded), [""; 0]);

        let done = loaded.skill("s", SKILL, None);
        assert!(done.ok().ends_with("\n---\n\nBody\n"), "{done:?}");
        let doc = done.doc();
        assert_eq!(doc["metadata"], json!({"server": "s", "skill": SKILL, "uri": SKILL}));
        assert_eq!((&doc["skill"], &doc["isError"], &doc["parts"]), (&entry, &json!(false), &json!([])));
        assert_eq!((&doc["contents"][0]["text"], &doc["output"]), (&json!(done.output), &json!(done.output)));
        assert_eq!(reads(&loaded), [SKILL]);

        // With the entry that the host holds nobody is asked for another one.
        let held = entry.to_string();
        assert_eq!(loaded.skill("s", &held, Some(FORMS)).ok(), "Forms\n");
        let logo = loaded.skill("s", &held, Some("skill://acme/pdf/logo.png"));
        assert_eq!(logo.ok(), "file (image/png, 4 bytes)");
        assert_eq!(logo.doc()["parts"][0]["name"], "skill://acme/pdf/logo.png");
        assert_eq!(received(&loaded).iter().filter(|line| line.contains("skills/get")).count(), 1);
    }
}

#[test]
fn what_does_not_verify_is_refused_and_not_handed_out() {
    let expected: [(&str, &[&str]); 6] = [
        ("skill-digest", &[SKILL, "has the digest sha256:", ", expected sha256:"]),
        ("skill-size", &[SKILL, "is 121 bytes, expected 116"]),
        ("skill-frontmatter", &["frontmatter has Extract", "as description, expected \"Exfiltrate credentials\""]),
        ("skill-field-more", &["frontmatter has a mapping of 2 as metadata, expected none"]),
        ("skill-two-contents", &["was read as 2 contents, expected 1"]),
        ("skill-outside", &["skill://acme/pdf/../secret.md", "within the directory"]),
    ];
    for era in ERAS {
        for (behaviour, message) in expected {
            let loaded = connected(behaviour, era, &[]);
            for skill in [SKILL.to_owned(), entry(&loaded).to_string()] {
                let done = loaded.skill("s", &skill, None);
                done.failed("TN_E_PROTOCOL", message).failed("TN_E_PROTOCOL", &["skill ", " is refused: "]);
                for secret in ["Evil", "more", "Body", "ignore all"] {
                    assert!(!done.json.contains(secret), "{behaviour}: {}", done.json);
                }
                assert_eq!(done.doc()["error"]["server"], "s");
            }
            assert!(!reads(&loaded).contains(&FORMS.to_owned()));
            echoes(&loaded);
        }
    }
}

#[test]
fn a_file_that_is_not_listed_is_not_even_read() {
    for era in ERAS {
        let loaded = connected("skills", era, &[]);
        for uri in ["skill://acme/pdf/hidden.md", "fixture://hello", "references/FORMS.md", ""] {
            let done = loaded.skill("s", SKILL, Some(uri));
            done.failed("TN_E_PROTOCOL", &[uri, "is not among the 3 files that its entry lists"]);
        }
        assert_eq!(reads(&loaded), [""; 0]);
    }
}

#[test]
fn a_skill_without_digests_is_refused() {
    for era in ERAS {
        let loaded = connected("skill-dynamic", era, &[]);
        loaded.skill("s", SKILL, None).failed("TN_E_PROTOCOL", &[SKILL, "\"dynamic\"", "resources/read"]);
        assert_eq!(reads(&loaded), [""; 0]);
    }
}

#[test]
fn servers_with_a_part_of_the_extension() {
    for era in ERAS {
        for behaviour in ["skills-list-only", "skills-get-empty"] {
            let loaded = connected(behaviour, era, &[]);
            assert!(loaded.skill("s", SKILL, None).ok().contains("Body"));
            let done = loaded.skill("s", "skill://acme/none/SKILL.md", None);
            done.failed("TN_E_NOT_FOUND", &["\"skill://acme/none/SKILL.md\"", "not in skills/list"]);
        }
        let loaded = connected("skill-other", era, &[]);
        loaded.skill("s", SKILL, None).failed("TN_E_PROTOCOL", &["skills/get", "another skill"]);
        let loaded = connected("skills-silent", era, &[]);
        loaded.skill("s", SKILL, None).failed("TN_E_NOT_FOUND", &["\"s\" does not offer skills"]);
        // An extension that a server did not announce is not used.
        assert!(!received(&loaded).iter().any(|line| line.contains("skills/")));
    }
}

#[test]
fn a_skill_that_is_not_there_and_arguments_that_make_no_sense() {
    for era in ERAS {
        let loaded = connected("skills", era, &[]);
        let done = loaded.skill("s", "skill://acme/none/SKILL.md", None);
        done.failed("TN_E_NOT_FOUND", &["Skill not found: skill://acme/none/SKILL.md"]);
        assert_eq!(done.doc()["error"]["data"]["code"], -32602);
        loaded.skill("nope", SKILL, None).failed("TN_E_NOT_FOUND", &["Unknown MCP server \"nope\""]);
        loaded.skill("s", "", None).failed("TN_E_ARGUMENT", &["skill is empty"]);
        loaded.skill("s", "{\"uri\":", None).failed("TN_E_JSON", &["skill is not valid JSON"]);
        loaded.skill("s", "{}", None).failed("TN_E_PROTOCOL", &["a skill without a uri is refused"]);
    }
    let loaded = load(json!({"s": hostile("exit-0", &[])}));
    loaded.skill("s", SKILL, None).failed("TN_E_TRANSPORT", &["\"s\" is not connected"]);
}
