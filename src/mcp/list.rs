//! Pages of tools, resources and resource templates, item by item: a bad one costs only itself.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use super::report::Report;
use super::tool::ToolInfo;
use crate::json::{Cursor, Kind, Raw};
use crate::wire::mux::Reply;

/// How much of a name a complaint about it repeats, in characters. A server decides how long its names are.
const QUOTED: usize = 256;

/// The bytes of a small tool.
const TOOL: usize = 256;

/// Something that was left out of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its name, or its place (`tools[3]`) if it has none.
    pub item: String,
    pub reason: String,
}

/// The tools of one server, gathered page by page.
#[derive(Debug, Default)]
pub struct ToolList {
    pub tools: Vec<Arc<ToolInfo>>,
    pub skipped: Report<Skipped>,
    pub warnings: Report<String>,
    names: HashSet<Arc<str>>,
}

impl ToolList {
    /// Adds the page whose result this is (checked text), and returns the cursor of the next page if there is one.
    /// Fails only if the result is no object; the reason says what it is.
    pub fn add_page(&mut self, result: &Arc<Reply>) -> Result<Option<String>, String> {
        let mut page = Page::open(result.raw(), "tools")?;
        // About so many: a set that grows hashes every name again.
        self.names.reserve(result.text().len() / TOOL);
        while let Some(index) = page.item(&mut self.warnings) {
            let mut faults = Report::default();
            match ToolInfo::read(&mut page.cursor, result, &mut faults) {
                Ok(tool) if self.names.insert(tool.name.clone()) => {
                    for fault in faults.items {
                        self.warnings.add(|| format!("tool {:?}: {fault}", shortened(&tool.name)));
                    }
                    self.tools.push(Arc::new(tool));
                }
                Ok(tool) => self.skipped.add(|| Skipped {
                    item: shortened(&tool.name),
                    reason: "an earlier tool of this server has the same name".to_owned(),
                }),
                Err(reason) => self.skipped.add(|| Skipped { item: format!("tools[{index}]"), reason }),
            }
        }
        Ok(page.next)
    }
}

/// What an [`ItemList`] lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    Resources,
    Templates,
}

/// A resource or a resource template. What it lacks, or has of a wrong type, is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// The uri, or of a template its pattern.
    pub uri: String,
    pub name: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
}

/// The resources or resource templates of one server, gathered page by page.
#[derive(Debug, Default)]
pub struct ItemList {
    pub items: Vec<Item>,
    pub skipped: Report<Skipped>,
    pub warnings: Report<String>,
}

impl ItemList {
    /// As [`ToolList::add_page`].
    pub fn add_page(&mut self, result: Raw<'_>, of: Items) -> Result<Option<String>, String> {
        let (list, uri) = match of {
            Items::Resources => ("resources", "uri"),
            Items::Templates => ("resourceTemplates", "uriTemplate"),
        };
        let mut page = Page::open(result, list)?;
        while let Some(index) = page.item(&mut self.warnings) {
            match Item::read(page.cursor.value(), uri) {
                Ok(item) => self.items.push(item),
                Err(reason) => self.skipped.add(|| Skipped { item: format!("{list}[{index}]"), reason }),
            }
        }
        Ok(page.next)
    }
}

impl Item {
    fn read(raw: Raw<'_>, uri: &str) -> Result<Item, String> {
        if raw.kind() != Kind::Object {
            return Err(format!("it is {}, expected an object", raw.kind().name()));
        }
        let mut item = Item::default();
        for (key, value) in raw.members() {
            let text = value.as_str().map(Cow::into_owned);
            match &*key {
                key if key == uri => item.uri = text.unwrap_or_default(),
                "name" => item.name = text,
                "title" => item.title = text,
                "description" => item.description = text,
                "mimeType" => item.mime_type = text,
                _ => {}
            }
        }
        if item.uri.is_empty() { Err(format!("it has no usable {uri}")) } else { Ok(item) }
    }
}

/// A page being walked. What stands before, between and behind the items is looked at on the way.
struct Page<'a> {
    cursor: Cursor<'a>,
    list: &'static str,
    found: bool,
    /// The number of the next item, while the list is being walked.
    index: Option<usize>,
    /// An empty string is a cursor too; anything but a string is the end.
    next: Option<String>,
}

impl<'a> Page<'a> {
    fn open(result: Raw<'a>, list: &'static str) -> Result<Self, String> {
        if result.kind() != Kind::Object {
            return Err(format!("the result is {}, expected an object with {list}", result.kind().name()));
        }
        let mut cursor = Cursor::new(result);
        cursor.open();
        Ok(Page { cursor, list, found: false, index: None, next: None })
    }

    /// Goes to the next item, which the caller has to pass, and returns its number.
    fn item(&mut self, warnings: &mut Report<String>) -> Option<usize> {
        let list = self.list;
        loop {
            if let Some(index) = self.index {
                if self.cursor.element() {
                    self.index = Some(index + 1);
                    return Some(index);
                }
                self.index = None;
            }
            let Some(key) = self.cursor.key() else {
                if !self.found {
                    warnings.add(|| format!("the result has no {list}, expected an array"));
                }
                return None;
            };
            if key != list {
                let value = self.cursor.value();
                if key == "nextCursor" {
                    self.next = value.as_str().map(Cow::into_owned);
                }
                continue;
            }
            self.found = true;
            if self.cursor.kind() == Kind::Array {
                self.cursor.open();
                self.index = Some(0);
            } else {
                let kind = self.cursor.value().kind().name();
                warnings.add(|| format!("{list} is {kind}, expected an array"));
            }
        }
    }
}

fn shortened(name: &str) -> String {
    name.chars().take(QUOTED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(pages: &[&str]) -> (ToolList, Vec<Option<String>>) {
        let mut list = ToolList::default();
        let cursors =
            pages.iter().map(|page| list.add_page(&Arc::new(Reply::from((*page).to_owned()))).unwrap()).collect();
        (list, cursors)
    }

    fn names(list: &ToolList) -> Vec<&str> {
        list.tools.iter().map(|tool| &*tool.name).collect()
    }

    #[test]
    fn a_bad_tool_costs_only_itself() {
        let (list, _) = tools(&[r#" {"tools":[{"name":"a","inputSchema":{}}, {"name":"b"},{"inputSchema":{}}, 7,
            {"name":"","inputSchema":{}},{"name":"c","inputSchema":null,"annotations":{"readOnlyHint":"yes"}},
            {"name":"a","description":"again"},{"name":"A","inputSchema":{}}],"ttlMs":-5.5}"#]);
        assert_eq!(names(&list), ["a", "b", "c", "A"]);
        let skipped: Vec<_> = list.skipped.items.iter().map(|skip| (&*skip.item, &*skip.reason)).collect();
        assert_eq!(
            skipped,
            [
                ("tools[2]", "it has no name"),
                ("tools[3]", "it is a number, expected an object"),
                ("tools[4]", "its name is empty"),
                ("a", "an earlier tool of this server has the same name"),
            ]
        );
        assert_eq!(
            list.warnings.items,
            [
                "tool \"b\": it has no inputSchema; it gets the empty one",
                "tool \"c\": readOnlyHint is a string, expected a boolean; it is left out",
                "tool \"c\": inputSchema is null, expected an object; it gets the empty one",
            ]
        );
    }

    #[test]
    fn pages_follow_their_cursors_wherever_these_stand() {
        let (list, cursors) = tools(&[
            r#"{"nextCursor":"","tools":[{"name":"a","inputSchema":{}}]}"#,
            r#"{"tools":[{"name":"a"},{"name":"b","inputSchema":{}}],"nextCursor":"p\u0032"}"#,
            r#"{"tools":[],"nextCursor":null}"#,
            r#"{"tools":[],"nextCursor":3}"#,
            r#"{"tools":[]}"#,
        ]);
        assert_eq!(cursors, [Some(String::new()), Some("p2".to_owned()), None, None, None]);
        assert_eq!(names(&list), ["a", "b"]);
        assert_eq!((list.skipped.items.len(), list.warnings.items.len()), (1, 0));
    }

    #[test]
    fn a_page_without_tools_is_a_warning_and_one_that_is_no_object_fails() {
        for (page, warning) in [
            ("{}", "the result has no tools, expected an array"),
            (r#"{"tools":null}"#, "tools is null, expected an array"),
            (r#"{"tools":{"name":"a"},"nextCursor":"n"}"#, "tools is an object, expected an array"),
        ] {
            let (list, _) = tools(&[page]);
            assert_eq!((names(&list).len(), &*list.warnings.items), (0, &[warning.to_owned()][..]));
        }
        let reason = ToolList::default().add_page(&Arc::new(Reply::from("null".to_owned()))).unwrap_err();
        assert_eq!(reason, "the result is null, expected an object with tools");
    }

    #[test]
    fn long_names_are_kept_whole_but_not_in_complaints() {
        let name = "ü".repeat(1_000);
        let (list, _) = tools(&[&format!(r#"{{"tools":[{{"name":"{name}"}},{{"name":"{name}"}}]}}"#)]);
        assert_eq!(names(&list), [name]);
        assert_eq!(list.skipped.items[0].item, "ü".repeat(QUOTED));
    }

    #[test]
    fn resources_and_templates() {
        let mut list = ItemList::default();
        let page = r#"{"resources":[{"uri":"fixture://hello","name":"hello","mimeType":"text/plain","description":"A\nb"},
            {"uri":"u","name":5,"title":"T"},{"name":"lost"},{"uri":["x"]},null],"nextCursor":"n"}"#;
        assert_eq!(list.add_page(Raw::parse(page).unwrap(), Items::Resources), Ok(Some("n".to_owned())));
        let page = r#"{"resourceTemplates":[{"uriTemplate":"f://{x}","uri":"no"},{"uri":"no"}]}"#;
        assert_eq!(list.add_page(Raw::parse(page).unwrap(), Items::Templates), Ok(None));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            list.items,
            [
                Item {
                    uri: "fixture://hello".to_owned(),
                    name: text("hello"),
                    title: None,
                    description: text("A\nb"),
                    mime_type: text("text/plain"),
                },
                Item { uri: "u".to_owned(), title: text("T"), ..Item::default() },
                Item { uri: "f://{x}".to_owned(), ..Item::default() },
            ]
        );
        let skipped: Vec<_> = list.skipped.items.iter().map(|skip| (&*skip.item, &*skip.reason)).collect();
        assert_eq!(
            skipped,
            [
                ("resources[2]", "it has no usable uri"),
                ("resources[3]", "it has no usable uri"),
                ("resources[4]", "it is null, expected an object"),
                ("resourceTemplates[1]", "it has no usable uriTemplate"),
            ]
        );
        assert!(list.warnings.is_empty());
        assert!(list.add_page(Raw::parse("[]").unwrap(), Items::Resources).is_err());
        assert_eq!(list.add_page(Raw::parse("{}").unwrap(), Items::Resources), Ok(None));
        assert_eq!(list.warnings.items, ["the result has no resources, expected an array"]);
    }
}
