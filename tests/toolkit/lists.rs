//! Which tools a toolkit has, under which names, and how providers see them.

use std::ffi::CStr;
use std::ptr::null_mut;

use serde_json::json;
use toolnexus::ffi::library::{tn_log_to_callback, tn_log_to_queue};
use toolnexus::ffi::mcp::{tn_mcp_restart, tn_mcp_tools, tn_resource_tools};
use toolnexus::ffi::queue::tn_queue_new;
use toolnexus::ffi::result::{tn_result_take_tool, tn_result_take_toolkit};
use toolnexus::ffi::toolkit::*;
use toolnexus::ffi::tools::*;
use toolnexus::ffi::types::*;

use crate::exports::*;

#[test]
fn mcp_tools_come_first_and_a_taken_name_stays() {
    let _alone = alone();
    let calls = Ref(tn_queue_new());
    let (toolkit, loaded) = create(&json!({"mcpConfig": config(), "builtins": false}));
    assert_eq!(loaded["servers"]["progress"]["status"], "connected");
    assert_eq!(names(tn_toolkit_tools(toolkit.0)), MCP);

    let (one, two) = (tool(&json!({"name": "one"}), &calls), tool(&json!({"name": "two"}), &calls));
    assert_eq!(register(&toolkit, &two), json!({"registered": true, "warnings": []}));
    assert_eq!(register(&toolkit, &one)["registered"], true);
    let again = register(&toolkit, &two);
    assert_eq!(again["registered"], false);
    assert_eq!(
        again["warnings"],
        json!([r#"tool "two" is not registered: a tool of this name was registered before"#])
    );
    let taken = register(&toolkit, &tool(&json!({"name": "progress_echo"}), &calls));
    assert_eq!(taken["registered"], false);
    assert_eq!(taken["warnings"], json!([r#"tool "progress_echo" is not registered: a server's tool has this name"#]));

    let all: Vec<&str> = MCP.into_iter().chain(["two", "one"]).collect();
    assert_eq!(names(tn_toolkit_tools(toolkit.0)), all);
    let echo = execute(&toolkit, "progress_echo", r#"{"text":"mine"}"#, null_mut());
    assert_eq!((echo.status(), echo.output()), (TN_OK, "mine"));

    // SAFETY: strings that end with a NUL.
    let (found, missing) =
        unsafe { (Ref(tn_toolkit_get(toolkit.0, c"two".as_ptr())), tn_toolkit_get(toolkit.0, c"three".as_ptr())) };
    assert_eq!(document(&found), document(&two));
    assert!(missing.is_null());
    // The resource tools are registered by the host alone.
    let source = Ref(tn_toolkit_mcp(toolkit.0));
    let resources = Ref(tn_resource_tools(source.0));
    assert_eq!(register(&toolkit, &Ref(tn_tools_get(resources.0, 0)))["registered"], true);
    let list = execute(&toolkit, "list_mcp_resources", "{}", null_mut());
    assert!(list.output().starts_with("progress fixture://hello"), "{}", list.output());
}

#[test]
fn unknown_tools_and_bad_arguments_are_results_for_the_model() {
    let _alone = alone();
    let (toolkit, loaded) = create(&json!({}));
    assert_eq!(loaded, json!({"servers": {}, "warnings": []}));
    assert!(names(tn_toolkit_tools(toolkit.0)).is_empty());
    assert!(tn_toolkit_mcp(toolkit.0).is_null());

    let unknown = execute(&toolkit, "no\"pe", "{}", null_mut());
    assert_eq!((unknown.status(), unknown.is_error()), (TN_E_NOT_FOUND, true));
    assert_eq!(unknown.output(), "Unknown tool: no\"pe");
    assert_eq!(unknown.json()["error"]["code"], "not_found");
    assert_eq!((&unknown.json()["isError"], &unknown.json()["output"]), (&json!(true), &json!("Unknown tool: no\"pe")));

    let calls = Ref(tn_queue_new());
    register(&toolkit, &tool(&json!({"name": "t"}), &calls));
    for bad in ["[]", "{", "\"\"", ""] {
        let result = execute(&toolkit, "t", bad, null_mut());
        assert_eq!((result.status(), result.is_error()), (TN_E_JSON, true), "{bad}");
        assert!(result.output().contains("JSON object"), "{}", result.output());
    }
    // SAFETY: NULL is told from a name; the bytes end with a NUL.
    unsafe {
        let none: Res = Ref(tn_toolkit_execute(toolkit.0, std::ptr::null(), std::ptr::null(), null_mut()));
        assert_eq!((none.status(), none.output()), (TN_E_ARGUMENT, "name is NULL"));
        let bytes: Res = Ref(tn_toolkit_execute(toolkit.0, c"t".as_ptr(), c"\xff".as_ptr(), null_mut()));
        assert_eq!((bytes.status(), &bytes.json()["isError"]), (TN_E_UTF8, &json!(true)));
        let stale: Res = Ref(tn_toolkit_execute(calls.0.cast(), c"t".as_ptr(), std::ptr::null(), null_mut()));
        assert_eq!((stale.status(), stale.output()), (TN_E_HANDLE, "toolkit is a tn_queue, not a tn_toolkit"));
        assert!(tn_toolkit_get(toolkit.0, std::ptr::null()).is_null());
        assert!(tn_toolkit_tools(null_mut()).is_null() && tn_toolkit_mcp(null_mut()).is_null());
    }
    let stale: Res = Ref(tn_toolkit_register(toolkit.0, calls.0.cast()));
    assert_eq!(stale.status(), TN_E_HANDLE);
}

#[test]
fn options_that_do_not_fit_are_errors() {
    let _alone = alone();
    for (options, status, named) in [
        (r#"{"builtins":true}"#, TN_E_ARGUMENT, "there are no built-in tools"),
        (r#"{"mcpconfig":{}}"#, TN_E_ARGUMENT, "option mcpconfig"),
        (r#"{"mcpConfig":{},"mcpOptions":{"parallel":-1}}"#, TN_E_ARGUMENT, "mcpOptions: option parallel"),
        (r#"{"mcpConfig":"/no/such/file"}"#, TN_E_CONFIG, "/no/such/file"),
        ("[", TN_E_JSON, "options is not valid JSON"),
    ] {
        let made = try_create(options);
        assert_eq!(made.status(), status, "{options}: {}", made.output());
        assert!(made.output().contains(named), "{options}: {}", made.output());
        assert!(tn_result_take_toolkit(made.0).is_null());
    }
}

#[test]
fn disabled_tools_are_not_there_whoever_brings_them() {
    let _alone = alone();
    // A bad server is reported, not fatal; the config is given as text.
    let text =
        json!({"mcpServers": {"progress": {"command": tiny()}, "bad": {"command": "/no/such/program"}}}).to_string();
    let (toolkit, loaded) =
        create(&json!({"mcpConfig": text, "disableTools": ["progress_slow", "mine", "unheard_of"]}));
    assert_eq!(loaded["servers"]["bad"]["status"], "failed");
    assert_eq!(names(tn_toolkit_tools(toolkit.0)), ["progress_echo", "progress_fail"]);
    let result = execute(&toolkit, "progress_slow", "{}", null_mut());
    assert_eq!((result.status(), result.output()), (TN_E_NOT_FOUND, "Unknown tool: progress_slow"));
    let calls = Ref(tn_queue_new());
    let refused = register(&toolkit, &tool(&json!({"name": "mine"}), &calls));
    assert_eq!(
        refused,
        json!({"registered": false,
        "warnings": [r#"tool "mine" is not registered: disableTools names it"#]})
    );
    // The source itself knows nothing of it.
    let source = Ref(tn_toolkit_mcp(toolkit.0));
    assert_eq!(names(tn_mcp_tools(source.0)), MCP);
}

#[test]
fn a_server_that_lists_a_registered_name_later_does_not_get_it() {
    let _alone = alone();
    let log = Ref(tn_queue_new());
    assert_eq!(tn_log_to_queue(2, log.0), TN_OK);
    // After the first start the server's tool `echo` is called `add`.
    let flag = std::env::temp_dir().join(format!("toolnexus-toolkit-{}", std::process::id()));
    let script = r#"if [ -e "$1" ]; then "$2" | sed -u 's/"name":"echo"/"name":"add"/'; else : >"$1"; exec "$2"; fi"#;
    let config = json!({"mcpServers": {"s": {"command": "sh", "args": ["-c", script, "sh", flag, tiny()]}}});
    let (toolkit, _) = create(&json!({"mcpConfig": config}));
    assert_eq!(names(tn_toolkit_tools(toolkit.0)), ["s_echo", "s_slow", "s_fail"]);

    let calls = Ref(tn_queue_new());
    let server = serve(&calls, |_| r#"{"output":"the host's"}"#.to_owned());
    assert_eq!(register(&toolkit, &tool(&json!({"name": "s_add"}), &calls))["registered"], true);
    let source = Ref(tn_toolkit_mcp(toolkit.0));
    // SAFETY: NULL for all servers.
    let restarted: Res = Ref(unsafe { tn_mcp_restart(source.0, std::ptr::null(), null_mut()) });
    std::fs::remove_file(&flag).unwrap();
    assert_eq!(restarted.status(), TN_OK, "{}", restarted.output());

    assert_eq!(names(tn_mcp_tools(source.0)), ["s_add", "s_slow", "s_fail"]);
    assert_eq!(names(tn_toolkit_tools(toolkit.0)), ["s_slow", "s_fail", "s_add"]);
    assert_eq!(execute(&toolkit, "s_add", "{}", null_mut()).output(), "the host's");
    let notice = next(&log);
    assert_eq!(notice.result.json()["target"], "toolkit");
    assert!(notice.result.json()["message"].as_str().unwrap().contains("s_add"), "{}", notice.result.raw());
    // SAFETY: no function, no user.
    assert_eq!(unsafe { tn_log_to_callback(2, None, 0, None) }, TN_OK);
    end(&calls, server);
}

#[test]
fn schemas_are_byte_for_byte() {
    let _alone = alone();
    let calls = Ref(tn_queue_new());
    let (toolkit, _) = create(&json!({"mcpConfig": config(), "disableTools": ["progress_slow", "progress_fail"]}));
    // SAFETY: a string that ends with a NUL.
    let made: Res = Ref(unsafe {
        tn_tool_create(
            c"{\"name\":\"add\",\"description\":\"a\\u0064d \\\"x\\\"\",\"inputSchema\":{ \"properties\" : {\"a\":{\"const\":1.0}},\"type\":\"object\"}}"
                .as_ptr(),
            calls.0,
        )
    });
    register(&toolkit, &Ref(tn_result_take_tool(made.0)));
    let tools = Ref(tn_toolkit_tools(toolkit.0));
    let echo = r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;
    let add = r#"{ "properties" : {"a":{"const":1.0}},"type":"object"}"#;
    let names = [
        r#""name":"progress_echo","description":"Gives back the text.""#,
        r#""name":"add","description":"a\u0064d \"x\"""#,
    ];
    let [one, two] = names;
    let schema = |provider: &CStr| -> Res {
        // SAFETY: a string that ends with a NUL.
        Ref(unsafe { tn_tools_schema(tools.0, provider.as_ptr()) })
    };
    for (provider, expected) in [
        (
            c"openai",
            format!(
                r#"[{{"type":"function","function":{{{one},"parameters":{echo}}}}},{{"type":"function","function":{{{two},"parameters":{add}}}}}]"#
            ),
        ),
        (c"anthropic", format!(r#"[{{{one},"input_schema":{echo}}},{{{two},"input_schema":{add}}}]"#)),
        (
            c"gemini",
            format!(r#"[{{"functionDeclarations":[{{{one},"parameters":{echo}}},{{{two},"parameters":{add}}}]}}]"#),
        ),
    ] {
        let made = schema(provider);
        assert_eq!((made.status(), made.is_error(), made.output()), (TN_OK, false, ""));
        assert_eq!(made.raw(), expected);
        made.json();
    }
    for wrong in [c"", c"OpenAI", c"cohere"] {
        let made = schema(wrong);
        assert_eq!(made.status(), TN_E_ARGUMENT);
        assert!(made.output().ends_with(r#"expected "openai", "anthropic" or "gemini""#), "{}", made.output());
    }
    let (empty, _) = create(&json!({}));
    let none = Ref(tn_toolkit_tools(empty.0));
    // SAFETY: strings that end with a NUL, or NULL.
    unsafe {
        let made: Res = Ref(tn_tools_schema(none.0, c"gemini".as_ptr()));
        assert_eq!(made.raw(), r#"[{"functionDeclarations":[]}]"#);
        let made: Res = Ref(tn_tools_schema(none.0, std::ptr::null()));
        assert_eq!(made.status(), TN_E_ARGUMENT);
        let made: Res = Ref(tn_tools_schema(std::ptr::null(), c"openai".as_ptr()));
        assert_eq!(made.status(), TN_E_ARGUMENT);
    }
}
