//! Tools and resources: odd items, names, pages, cache hints, and lists that are none.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::common::{GENEROUS, Loaded, hostile, hostile_within, load};
use crate::{ERAS, connected, connects, echoes, fails, fails_at_once, received, works};

fn skipped(loaded: &Loaded) -> Vec<String> {
    let skipped = loaded.server("s")["skipped"].as_array().cloned().unwrap_or_default();
    skipped.iter().map(|skip| format!("{}: {}", skip["tool"].as_str().unwrap(), skip["reason"])).collect()
}

fn warnings(loaded: &Loaded) -> String {
    loaded.document["warnings"].to_string()
}

#[test]
fn row_20_a_bad_tool_costs_only_itself() {
    for era in ERAS {
        let loaded = works(hostile("bad-tools", &["--era", era]), era);
        assert_eq!(
            loaded.originals(),
            [
                "echo",
                "received",
                "process",
                "odd",
                "no-schema",
                "null-schema",
                "true-schema",
                "string-schema",
                "array-schema",
                "empty-schema",
                "no-type",
                "no-properties",
                "array-type",
                "array-properties",
                "wrong-hint",
                "string-annotations",
                "number-title",
                "number-description",
                "null-description",
                "string-output-schema",
                "odd-extras",
                "last-good"
            ]
        );
        let tools = loaded.tools();
        let tool = |name: &str| tools.iter().find(|tool| tool["originalName"] == name).unwrap();
        for name in ["no-schema", "null-schema", "true-schema", "string-schema", "array-schema", "empty-schema"] {
            assert_eq!(tool(name)["inputSchema"], json!({"type": "object", "properties": {}}), "{name}");
        }
        let with_a = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        assert_eq!(tool("no-type")["inputSchema"], with_a);
        assert_eq!(
            tool("no-properties")["inputSchema"],
            json!({"type": "object", "properties": {}, "additionalProperties": false})
        );
        assert_eq!(tool("wrong-hint")["hints"], json!({"idempotent": true}));
        assert_eq!(tool("string-annotations")["hints"], json!({}));
        assert_eq!(tool("number-title")["hints"], json!({"readOnly": true}));
        assert_eq!(tool("number-title").get("title"), None);
        assert_eq!(tool("number-description")["description"], "");
        assert_eq!(tool("string-output-schema").get("outputSchema"), None);

        // Each is reported: the nameless, those that are no tools, and the second echo.
        let skipped = skipped(&loaded);
        assert_eq!(skipped.len(), 11, "{skipped:#?}");
        assert!(skipped.iter().any(|skip| skip.starts_with("echo: ") && skip.contains("same name")), "{skipped:#?}");
        let warnings = warnings(&loaded);
        for name in ["no-schema", "null-schema", "true-schema", "string-schema", "array-schema", "wrong-hint"] {
            assert!(warnings.contains(name), "{name} in {warnings}");
        }
        assert_eq!(loaded.call("s_no-schema", json!({"x": 1})).ok(), "called no-schema");
    }
}

#[test]
fn row_21_lists_that_are_none() {
    for era in ERAS {
        for (behaviour, what) in [
            ("tools-null", "tools is null"),
            ("tools-missing", "no tools"),
            ("tools-object", "tools is an object"),
            ("tools-string", "tools is a string"),
        ] {
            let loaded = connected(behaviour, era, &[]);
            assert!(loaded.tools().is_empty());
            assert!(warnings(&loaded).contains(what), "{behaviour}: {}", loaded.document);
        }
        let loaded = connected("tools-empty", era, &[]);
        assert_eq!((loaded.tools().len(), warnings(&loaded)), (0, "[]".to_owned()));
        for (behaviour, what) in [("tools-result-null", "null"), ("tools-result-array", "an array")] {
            fails_at_once(behaviour, &["--era", era], "list", &["tools/list", what, "expected an object"]);
        }
        fails_at_once("tools-list-error", &["--era", era], "list", &["the back end is down"]);
        fails_at_once("second-page-fails", &["--era", era], "list", &["page 2 is lost"]);
        fails(
            hostile_within(5_000, "tools-list-silent", &["--era", era]),
            "list",
            &["no answer to tools/list within the time-out of 5000 ms"],
        );
    }
}

#[test]
fn row_22_odd_names_stay_callable() {
    for era in ERAS {
        let loaded = connected("odd-names", era, &[]);
        let tools = loaded.tools();
        let mut seen = HashSet::new();
        for tool in &tools {
            let (name, original) = (tool["name"].as_str().unwrap(), tool["originalName"].as_str().unwrap());
            assert!(name.len() <= 64 && seen.insert(name.to_owned()), "{name}");
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{name}");
            if !["echo", "received", "process"].contains(&original) {
                assert_eq!(loaded.call(name, json!({})).ok(), format!("called {original}"));
            }
        }
        let originals: HashSet<String> = loaded.originals().into_iter().collect();
        for name in ["with\nline\tbreak", "日本語", "nul\0byte", "twin", "Twin", "TWIN", "double", &"n".repeat(180)]
        {
            assert!(originals.contains(name), "{name:?}");
        }
        let skipped = skipped(&loaded);
        assert_eq!(skipped.len(), 2, "the empty one and the second double: {skipped:?}");
    }
}

#[test]
fn row_23_huge_and_deep_schemas() {
    for era in ERAS {
        let loaded = works(hostile("huge-schema", &["--era", era]), era);
        let huge = loaded.tools().pop().unwrap();
        assert_eq!(huge["inputSchema"]["properties"].as_object().unwrap().len(), 20_000);
        let loaded = connected("deep-schema", era, &[]);
        // Deeper than what JSON libraries read by default: passed on as it came.
        let inner = format!("{}true{}", r#"{"not":"#.repeat(199), "}".repeat(199));
        assert!(loaded.tools_json().contains(&inner));
        assert_eq!(loaded.call("s_deep", json!({})).ok(), "called deep");
    }
}

#[test]
fn many_tools_in_one_list() {
    let loaded = works(hostile("many-tools", &[]), "modern");
    assert_eq!(loaded.server("s")["tools"], 2_004);
    assert_eq!(loaded.call("s_tool_1999", json!({})).ok(), "called tool_1999");
}

#[test]
fn row_24_a_cursor_that_comes_again_ends_the_list() {
    for era in ERAS {
        for behaviour in ["cursor-loop", "cursor-ping-pong"] {
            let loaded = works(hostile(behaviour, &["--era", era]), era);
            assert!(warnings(&loaded).contains("repeated a cursor"), "{}", loaded.document);
            let asked = received(&loaded).iter().filter(|line| line.contains("\"tools/list\"")).count();
            assert!(asked <= 3, "{behaviour}: {asked} pages");
            assert!(loaded.originals().contains(&"tool_2".to_owned()), "keeps what it has");
        }
    }
}

#[test]
fn row_24_a_list_ends_after_a_thousand_pages() {
    for era in ERAS {
        for behaviour in ["cursor-1001-pages", "cursor-endless"] {
            let loaded = works(hostile(behaviour, &["--era", era]), era);
            assert!(warnings(&loaded).contains("1000 pages"), "{}", loaded.document["warnings"]);
            assert!(loaded.originals().contains(&"tool_1000".to_owned()));
            assert!(!loaded.originals().contains(&"tool_1001".to_owned()));
        }
    }
    let loaded = works(hostile("cursor-1001-pages", &["--count", "1000"]), "modern");
    assert_eq!(warnings(&loaded), "[]");
}

#[test]
fn row_24_a_page_that_never_comes_ends_by_the_time_out() {
    let expected = ["tools/list", "time-out of 5000 ms"];
    fails(hostile_within(5_000, "second-page-silent", &[]), "list", &expected);
}

#[test]
fn row_25_an_empty_cursor_is_one_and_null_is_none() {
    for era in ERAS {
        let loaded = works(hostile("cursor-empty", &["--era", era]), era);
        let originals = loaded.originals();
        for page in ["page-1", "page-2", "page-3"] {
            assert!(originals.contains(&page.to_owned()), "{originals:?}");
        }
        let loaded = works(hostile("cursor-number", &["--era", era]), era);
        assert_eq!(received(&loaded).iter().filter(|line| line.contains("\"tools/list\"")).count(), 1);
    }
}

#[test]
fn row_26_wrong_cache_hints_are_ignored() {
    let loaded = works(hostile("odd-cache-hints", &[]), "modern");
    assert_eq!(loaded.resources("list_mcp_resources", json!({})).ok(), "s fixture://hello — hello");
}

#[test]
fn only_what_is_announced_is_asked_for() {
    for era in ERAS {
        let loaded = works(hostile("no-tools-capability", &["--era", era]), era);
        assert_eq!(loaded.resources("list_mcp_resources", json!({})).ok(), "No resources.");
        assert!(!received(&loaded).iter().any(|line| line.contains("resources/")));
        let loaded = connected("nothing-at-all", era, &[]);
        assert_eq!((loaded.tools().len(), warnings(&loaded)), (0, "[]".to_owned()));
        let file = crate::common::scratch("record");
        let loaded = connected("resources-only", era, &["--record", file.to_str().unwrap()]);
        assert!(loaded.tools().is_empty());
        assert!(loaded.resources("list_mcp_resources", json!({})).ok().starts_with("s fixture://hello"));
        assert!(!std::fs::read_to_string(file).unwrap().contains("tools/list"));
    }
}

#[test]
fn filters_that_name_unknown_tools_are_told_once() {
    let mut entry = hostile("ordinary", &[]);
    entry["tools"] = json!(["echo", "no-such", "nor-this"]);
    let loaded = works(entry, "modern");
    assert_eq!(loaded.originals(), ["echo"]);
    let warnings = loaded.document["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].as_str().unwrap().contains("no-such, nor-this"));
}

fn lines(behaviour: &str, era: &str) -> (Loaded, String) {
    let loaded = connected(behaviour, era, &[]);
    let lines = loaded.resources("list_mcp_resources", json!({})).ok().to_owned();
    (loaded, lines)
}

#[test]
fn resources_page_by_page_and_item_by_item() {
    for era in ERAS {
        let (_, text) = lines("resources-pages", era);
        assert_eq!(
            text,
            "s fixture://page/1 — page 1\ns fixture://page/2 — page 2\ns fixture://page/3 — page 3\n\
             s fixture://page/1/{x} — template 1 [template]\ns fixture://page/2/{x} — template 2 [template]\n\
             s fixture://page/3/{x} — template 3 [template]"
        );
        let (loaded, text) = lines("resources-odd-items", era);
        assert_eq!(
            text,
            "s fixture://hello — hello (text/plain): A fixed text resource.\ns fixture://bare — bare\n\
             s fixture://no-name\ns fixture://null-name\ns fixture://number-name\n\
             s fixture://breaks — two lines: first second  third\ns not a uri — free text\ns fixture://last — last\n\
             s fixture://greet/{name} — greet (text/plain): A greeting. [template]\n\
             s fixture://no-name/{x} [template]\ns fixture://{unclosed — unclosed [template]"
        );
        echoes(&loaded);
        for behaviour in ["resources-null", "resources-empty"] {
            assert_eq!(lines(behaviour, era).1, "No resources.", "{behaviour}");
        }
        assert!(lines("templates-fail", era).1.starts_with("s fixture://hello"));
    }
}

#[test]
fn a_server_that_cannot_list_is_a_line_and_an_error_only_if_all_fail() {
    let loaded = load(json!({"s": hostile("resources-fail", &[])}));
    loaded.resources("list_mcp_resources", json!({})).failed("TN_E_SERVER", &["s: the disk is gone"]);
    let mut silent = hostile("resources-silent", &[]);
    silent["callTimeout"] = json!(1_000);
    let loaded = load(json!({
        "s": hostile("resources-fail", &[]), "t": hostile("templates-fail", &[]), "u": silent,
        "bad": hostile("exit-0", &[])
    }));
    let done = loaded.resources("list_mcp_resources", json!({}));
    let lines: Vec<&str> = done.ok().lines().collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[0], "s: the disk is gone");
    assert!(lines[1].starts_with("t fixture://hello — hello"));
    assert!(lines[2].starts_with("u: ") && lines[2].contains("no answer for 1000 ms"), "{lines:?}");
    let done = loaded.resources("list_mcp_resources", json!({"server": "bad"}));
    done.failed("TN_E_TRANSPORT", &["MCP server \"bad\" is not connected: ", "(connected: s, t, u)"]);
    let done = loaded.resources("read_mcp_resource", json!({"server": "nope", "uri": "x"}));
    done.failed("TN_E_NOT_FOUND", &["Unknown MCP server \"nope\" (connected: s, t, u)"]);
}

#[test]
fn odd_contents_of_resources() {
    let rows: &[(&str, &str, Value)] = &[
        ("several", "good\nsecond", json!([])),
        (
            "blob",
            "file (image/png, 3 bytes)\ngood",
            json!([{"type": "file", "mimeType": "image/png", "name": "fixture://blob", "content": 0}]),
        ),
        (
            "blob-no-mime",
            "file (application/octet-stream, 3 bytes)",
            json!([{"type": "file", "mimeType": "application/octet-stream", "name": "fixture://blob-no-mime", "content": 0}]),
        ),
        ("no-text-no-blob", "good", json!([])),
        ("number-text", "good", json!([])),
        ("no-uri", "without uri", json!([])),
        ("items", "good", json!([])),
        ("empty", "", json!([])),
        ("null", "", json!([])),
        ("string", "", json!([])),
        ("object", "", json!([])),
        ("no-contents", "", json!([])),
    ];
    for era in ERAS {
        let loaded = connected("resource-contents-odd", era, &[]);
        let read = |name: &str| {
            let uri = format!("fixture://{name}");
            loaded.resources("read_mcp_resource", json!({"server": "s", "uri": uri}))
        };
        for (name, output, parts) in rows {
            let done = read(name);
            assert_eq!((done.ok(), &done.doc()["parts"]), (*output, parts), "{name}");
        }
        assert!(read("bad-base64").ok().starts_with("file (image/png, "));
        read("result-null").failed("TN_E_PROTOCOL", &["resources/read", "null"]).well_under(GENEROUS);
        read("error-string").failed("TN_E_SERVER", &["no such thing"]);
        read("unknown").failed("TN_E_SERVER", &["Resource not found: fixture://unknown"]);
        let missing = loaded.resources("read_mcp_resource", json!({"server": "s"}));
        missing.failed("TN_OK", &["uri"]);
    }
}

#[test]
fn row_48_nothing_is_fetched() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/schema.json", listener.local_addr().unwrap());
    for era in ERAS {
        let loaded = connects(hostile("network-ref", &["--era", era, "--url", &url]), era);
        let tool = loaded.tools().pop().unwrap();
        assert_eq!(tool["inputSchema"]["$ref"], url);
        loaded.call("s_refers", json!({"a": 1})).ok();
        loaded.close();
    }
    let connection = listener.accept();
    assert_eq!(connection.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}
