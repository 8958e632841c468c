//! Many sources, one list: the tools of an MCP source, as they are now, then those that the host registered.
//!
//! A name stays with the tool that had it first. What a model knows by a name never becomes something else, least of all
//! because a server that is already trusted adds a tool with the name of one of the host's.
#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::config;
use crate::context::Limits;
use crate::json::Kind;
use crate::log;
use crate::mcp::server::Listed;
use crate::mcp::source::Source;
use crate::outcome::{Failure, Phase, Status, quoted};
use crate::tool::{self, Arguments, Running, Tool};

/// What a toolkit is made from.
#[derive(Debug, Default)]
pub struct Options {
    /// As [`config::parse`] wants it. None: no servers.
    pub config: Option<String>,
    pub load: config::Options,
    /// Exposed names that are left out.
    pub disabled: HashSet<String>,
}

impl Options {
    /// None: the defaults. A key whose value is null counts as not given.
    pub fn parse(json: Option<&str>) -> Result<Options, Failure> {
        let mut options = Options::default();
        let Some(json) = json else { return Ok(options) };
        for (key, value) in tool::object("options", json)?.members() {
            let wrong = |expected: &str| {
                let message = format!("option {key} is {}, expected {expected}", value.kind().name());
                Failure::new(Status::Argument, message)
            };
            match (&*key, value.kind()) {
                ("mcpConfig" | "mcpOptions" | "builtins" | "disableTools", Kind::Null) => {}
                ("mcpConfig", Kind::Object) => options.config = Some(value.text().to_owned()),
                ("mcpConfig", _) => {
                    let text = value.as_str().ok_or_else(|| wrong("an object, JSON text or a path"))?;
                    options.config = Some(text.into_owned());
                }
                ("mcpOptions", Kind::Object) => {
                    options.load = config::Options::parse(Some(value.text()), false).map_err(|failure| {
                        let message = format!("mcpOptions: {}", failure.message);
                        Failure { message, ..failure }
                    })?;
                }
                ("mcpOptions", _) => return Err(wrong("an object")),
                ("builtins", Kind::Bool) if value.as_bool() == Some(false) => {}
                ("builtins", Kind::Bool) => {
                    let message = "option builtins: there are no built-in tools; leave it out, or set it to false";
                    return Err(Failure::new(Status::Argument, message));
                }
                ("builtins", _) => return Err(wrong("false")),
                ("disableTools", Kind::Array) => {
                    for (index, name) in value.elements().enumerate() {
                        let name = name.as_str().ok_or_else(|| {
                            let what = name.kind().name();
                            let message = format!("option disableTools[{index}] is {what}, expected a tool's name");
                            Failure::new(Status::Argument, message)
                        })?;
                        options.disabled.insert(name.into_owned());
                    }
                }
                ("disableTools", _) => return Err(wrong("a list of tools' names")),
                _ => {
                    let message = format!(
                        "option {key}: there is no such option; expected mcpConfig, mcpOptions, builtins or disableTools"
                    );
                    return Err(Failure::new(Status::Argument, message));
                }
            }
        }
        Ok(options)
    }
}

/// A toolkit. Dropping it lets go of its source, which closes if nobody else has it.
#[derive(Debug)]
pub struct Toolkit {
    source: Option<Arc<Source>>,
    disabled: HashSet<String>,
    list: Mutex<List>,
    /// Cancelled by the close.
    closed: CancellationToken,
}

#[derive(Debug, Default)]
struct List {
    /// The servers' lists that `mcp` was made from.
    made_from: Vec<Arc<Listed>>,
    mcp: Vec<Arc<Tool>>,
    registered: Vec<Arc<Tool>>,
    by_name: HashMap<String, Arc<Tool>>,
    /// Servers' tools that are hidden, because their names were taken. Each is reported once.
    hidden: HashSet<String>,
}

fn closed() -> Failure {
    Failure::new(Status::Closed, "the toolkit is closed")
}

impl Toolkit {
    pub fn new(source: Option<Arc<Source>>, disabled: HashSet<String>) -> Arc<Toolkit> {
        Arc::new(Toolkit { source, disabled, list: Mutex::default(), closed: CancellationToken::new() })
    }

    pub fn source(&self) -> Option<&Arc<Source>> {
        self.source.as_ref()
    }

    /// The document of its load.
    pub fn status(&self) -> String {
        self.source.as_ref().map_or_else(|| r#"{"servers":{},"warnings":[]}"#.to_owned(), |source| source.status())
    }

    /// Every tool, as of now. After the close, the last ones.
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        let list = self.current();
        list.mcp.iter().chain(&list.registered).cloned().collect()
    }

    pub fn get(&self, name: &str) -> Option<Arc<Tool>> {
        self.current().by_name.get(name).cloned()
    }

    /// Adds a tool of the host's. A warning, and not added: its name is taken or disabled.
    pub fn register(&self, tool: &Arc<Tool>) -> Result<Option<String>, Failure> {
        if self.closed.is_cancelled() {
            return Err(closed());
        }
        let name = tool.name().as_str();
        let refused = |why: &str| Ok(Some(format!("tool {} is not registered: {why}", quoted(name))));
        if self.disabled.contains(name) {
            return refused("disableTools names it");
        }
        let mut list = self.current();
        if list.by_name.contains_key(name) {
            let by_host = list.registered.iter().any(|tool| tool.name().as_str() == name);
            return refused(if by_host {
                "a tool of this name was registered before"
            } else {
                "a server's tool has this name"
            });
        }
        list.by_name.insert(name.to_owned(), tool.clone());
        list.registered.push(tool.clone());
        Ok(None)
    }

    /// Calls the tool of that name. Every failure is an outcome that a model can read.
    pub fn execute(&self, name: &str, arguments: Option<&str>, limits: Limits) -> Running {
        match self.start(name, arguments, limits) {
            Ok(running) => running,
            Err(failure) => Box::pin(std::future::ready(Ok(tool::refused(failure.at(Phase::Call))))),
        }
    }

    fn start(&self, name: &str, arguments: Option<&str>, limits: Limits) -> Result<Running, Failure> {
        if self.closed.is_cancelled() {
            return Err(closed());
        }
        let unknown = || Failure::new(Status::NotFound, format!("Unknown tool: {name}"));
        let running = self.get(name).ok_or_else(unknown)?.run(Arguments::parse(arguments)?, limits);
        let ended = self.closed.clone();
        Ok(Box::pin(async move {
            tokio::select! {
                biased;
                outcome = running => outcome,
                () = ended.cancelled() => Ok(tool::refused(closed().at(Phase::Call))),
            }
        }))
    }

    /// Ends its calls and closes its source; returns when nothing of it runs. Further calls wait for the same end.
    pub async fn close(&self) {
        self.begin_close();
        if let Some(source) = &self.source {
            source.close().await;
        }
    }

    /// Begins to close, and does not wait.
    pub fn begin_close(&self) {
        self.closed.cancel();
        if let Some(source) = &self.source {
            source.begin_close();
        }
    }

    /// The list, made anew if a server's has changed.
    fn current(&self) -> parking_lot::MutexGuard<'_, List> {
        let mut list = self.list.lock();
        let servers = self.source.as_ref().map(|source| source.servers()).unwrap_or_default();
        let same = servers.len() == list.made_from.len()
            && servers.iter().zip(&list.made_from).all(|(server, before)| Arc::ptr_eq(&server.listed(), before));
        if !same {
            list.update(servers.iter().map(|server| server.listed()).collect(), &self.disabled);
        }
        list
    }
}

impl List {
    fn update(&mut self, lists: Vec<Arc<Listed>>, disabled: &HashSet<String>) {
        let mut by_name: HashMap<String, Arc<Tool>> =
            self.registered.iter().map(|tool| (tool.name().as_str().to_owned(), tool.clone())).collect();
        let mut hidden = HashSet::new();
        self.mcp.clear();
        for tool in lists.iter().flat_map(|listed| &listed.tools) {
            let name = tool.name().as_str();
            if disabled.contains(name) {
                continue;
            }
            if by_name.contains_key(name) {
                if !self.hidden.contains(name) {
                    log::at!(
                        Warn,
                        "toolkit",
                        "a server now lists a tool as {name:?}: the name is taken, and the earlier tool keeps it"
                    );
                }
                hidden.insert(name.to_owned());
                continue;
            }
            by_name.insert(name.to_owned(), tool.clone());
            self.mcp.push(tool.clone());
        }
        self.by_name = by_name;
        self.hidden = hidden;
        self.made_from = lists;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosted;
    use crate::queue::Queue;

    fn tool(name: &str) -> Arc<Tool> {
        Arc::new(hosted::create(&format!(r#"{{"name":"{name}"}}"#), Queue::new()).unwrap())
    }

    fn names(tools: &[Arc<Tool>]) -> Vec<&str> {
        tools.iter().map(|tool| tool.name().as_str()).collect()
    }

    #[test]
    fn options_are_checked() {
        let options = Options::parse(Some(
            r#"{"mcpConfig":{"mcpServers":{}},"mcpOptions":{"sampling":true},"builtins":false,"disableTools":["a","a"]}"#,
        ))
        .unwrap();
        assert_eq!(options.config.as_deref(), Some(r#"{"mcpServers":{}}"#));
        assert!(options.load.sampling && options.disabled.len() == 1);
        assert_eq!(Options::parse(Some(r#"{"mcpConfig":"a\"b"}"#)).unwrap().config.as_deref(), Some("a\"b"));
        let nulls = r#"{"mcpConfig":null,"mcpOptions":null,"builtins":null,"disableTools":null}"#;
        for none in [None, Some("{}"), Some(nulls)] {
            assert!(Options::parse(none).unwrap().config.is_none());
        }
        for (text, status, named) in [
            ("{", Status::Json, "options is not valid JSON"),
            ("[]", Status::Json, "options is an array"),
            (r#"{"mcp":{}}"#, Status::Argument, "option mcp: there is no such option"),
            (r#"{"mcp":null}"#, Status::Argument, "option mcp: there is no such option"),
            (r#"{"builtins":true}"#, Status::Argument, "there are no built-in tools"),
            (r#"{"builtins":{}}"#, Status::Argument, "option builtins is an object"),
            (r#"{"mcpConfig":[]}"#, Status::Argument, "option mcpConfig is an array"),
            (r#"{"mcpOptions":"{}"}"#, Status::Argument, "option mcpOptions is a string"),
            (r#"{"mcpOptions":{"x":1}}"#, Status::Argument, "mcpOptions: option x"),
            (r#"{"disableTools":"a"}"#, Status::Argument, "option disableTools is a string"),
            (r#"{"disableTools":["a",1]}"#, Status::Argument, "option disableTools[1] is a number"),
        ] {
            let failure = Options::parse(Some(text)).unwrap_err();
            assert_eq!(failure.status, status, "{text}: {failure}");
            assert!(failure.message.contains(named), "{text}: {failure}");
        }
    }

    #[test]
    fn a_server_that_lists_a_taken_name_later_does_not_get_it() {
        let list = |names: &[&str]| {
            Arc::new(Listed { tools: names.iter().map(|name| tool(name)).collect(), ..Listed::default() })
        };
        let disabled = HashSet::from(["off".to_owned()]);
        let mut all = List::default();
        let ours = tool("add");
        all.registered.push(ours.clone());
        all.update(vec![list(&["a_x", "off"]), list(&["b_x"])], &disabled);
        assert_eq!(names(&all.mcp), ["a_x", "b_x"]);
        all.update(vec![list(&["a_x", "add"]), list(&["b_x", "a_x"])], &disabled);
        assert_eq!(names(&all.mcp), ["a_x", "b_x"]);
        assert!(Arc::ptr_eq(&all.by_name["add"], &ours));
        assert_eq!(all.hidden, HashSet::from(["add".to_owned(), "a_x".to_owned()]));
        all.update(vec![list(&[]), list(&["a_x"])], &disabled);
        assert_eq!((names(&all.mcp), all.hidden.len(), all.by_name.len()), (vec!["a_x"], 0, 2));
    }
}
