/* Runs the shared cases through toolnexus.hpp, as tests/c/cases.c does through the C ABI. */
#include "../c/json.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>

#include "toolnexus.hpp"

namespace {

using namespace std::chrono_literals;
using std::string;

constexpr auto most_wait = 60s;

struct failed : std::runtime_error {
  using runtime_error::runtime_error;
};

struct tree {
  json *root;
  explicit tree(const string &text) : root(json_parse(text.c_str())) {}
  explicit tree(json *taken) : root(taken) {}
  tree(const tree &) = delete;
  tree &operator=(const tree &) = delete;
  ~tree() { json_free(root); }
};

string print(const json *value) {
  char *text = json_print(value);
  string copy = text;
  free(text);
  return copy;
}

/* A config or arguments: as they are if they are a text, else as JSON; the default if there are none. */
string text_of(const json *value, string otherwise = "{}") {
  if (!value) return otherwise;
  return value->kind == JSON_STRING ? string(value->text, value->length) : print(value);
}

string member(const json *object, const char *name) {
  const char *text = json_get_text(object, name);
  return text ? text : "";
}

void only(const json *object, const char *words) {
  if (const char *word = json_unknown(object, words)) throw failed(string("this runner does not know \"") + word + '"');
}

void check(bool good, const string &complaint) {
  if (!good) throw failed(complaint);
}

void holds(const char *what, std::string_view document, const json *part) {
  tree whole{string(document)};
  check(json_holds(whole.root, part), string(what) + " is " + string(document) + ", expected to hold " + print(part));
}

/* A call that was thrown, as what C gives. */
struct ended {
  toolnexus::status status;
  bool is_error;
  string output, document;
  explicit ended(const toolnexus::result &result)
      : status(result.status()), is_error(result.is_error()), output(result.output()), document(result.json()) {}
  explicit ended(const toolnexus::error &error)
      : status(error.status()), is_error(true), output(error.what()), document(error.json()) {}
  static ended wait(std::future<toolnexus::result> &future) {
    check(future.wait_for(most_wait) == std::future_status::ready, "a call does not end");
    try {
      return ended(future.get());
    } catch (const toolnexus::error &error) {
      return ended(error);
    }
  }
};

void check_result(const ended &got, const json *expect) {
  only(expect, " status isError output outputHas outputLength parts structured document serverError ");
  const string status = json_get(expect, "status") ? member(expect, "status") : "TN_OK";
  const json *wanted = json_get(expect, "isError");
  bool error = wanted ? wanted->kind == JSON_TRUE : status != "TN_OK";
  check(status == toolnexus::name(got.status), string("the status is ") + toolnexus::name(got.status) + ": " + got.output);
  check(got.is_error == error, "the error flag is wrong: " + got.output);
  if ((wanted = json_get(expect, "output"))) check(got.output == text_of(wanted), "the output is " + got.output);
  if ((wanted = json_get(expect, "outputHas")))
    for (const json *part = wanted->first; part; part = part->next)
      check(got.output.find(text_of(part)) != string::npos, "the output lacks " + text_of(part) + ": " + got.output);
  check(json_get_number(expect, "outputLength", static_cast<long>(got.output.size())) == static_cast<long>(got.output.size()),
        "the output has " + std::to_string(got.output.size()) + " bytes");
  for (const char *name : {"parts", "structured"})
    if ((wanted = json_get(expect, name))) holds(name, toolnexus::json::member(got.document, name), wanted);
  if ((wanted = json_get(expect, "document"))) holds("the document", got.document, wanted);
  if ((wanted = json_get(expect, "serverError"))) {
    tree document(got.document);
    check(json_holds(json_get(json_get(json_get(document.root, "error"), "data"), "code"), wanted),
          "the server's error is not " + string(wanted->text) + ": " + got.document);
  }
}

class run {
 public:
  explicit run(const json *spec) : spec_(spec) {}

  void all() {
    only(spec_, " name parse config options answers hostTool load steps ");
    config_ = text_of(json_get(spec_, json_get(spec_, "parse") ? "parse" : "config"));
    options_ = text_of(json_get(spec_, "options"));
    if (json_get(spec_, "parse")) {
      check_load(toolnexus::try_parse_config(config_, options_));
      return;
    }
    load();
    for (const json *step = json_get(spec_, "steps")->first; step; step = step->next) {
      number_++;
      do_step(step);
    }
    number_ = 0;
    if (source_) source_.close();
  }

  int step() const { return number_; }

 private:
  void check_load(const toolnexus::result &result) {
    const json *expect = json_get(spec_, "load");
    const string status = json_get(expect, "status") ? member(expect, "status") : "TN_OK";
    check(status == toolnexus::name(result.status()), "the load gives " + string(result.output()));
    if (expect && status == "TN_OK") holds("the load", result.json(), expect);
  }

  void load() {
    toolnexus::host host;
    if (const json *answers = json_get(spec_, "answers")) {
      answers_ = answers->first;
      host.request = [this](const toolnexus::request &) { return next_answer(); };
    }
    const json *tool = json_get(spec_, "hostTool");
    if (!tool) {
      auto loaded = toolnexus::source::try_load(config_, options_, host);
      check_load(loaded.result());
      if (loaded) source_ = std::move(loaded).value();
      return;
    }
    auto made = toolnexus::toolkit::try_create("{\"mcpConfig\":" + config_ + ",\"mcpOptions\":" + options_ + "}", host);
    check_load(made.result());
    toolkit_ = std::move(made).value();
    source_ = toolkit_->source();
    add_tool(tool);
  }

  toolnexus::answer next_answer() {
    const json *answer = answers_;
    if (!answer) return toolnexus::answer::cancel();
    answers_ = answer->next;
    if (json_get(answer, "ok")->kind == JSON_TRUE) return toolnexus::answer::accept(text_of(json_get(answer, "data")));
    return member(answer, "reason") == "declined" ? toolnexus::answer::decline() : toolnexus::answer::cancel();
  }

  void add_tool(const json *tool) {
    only(tool, " name description inputSchema does ");
    const string does = member(tool, "does");
    check(does == "upper" || does == "fail", "this runner does not know \"" + does + '"');
    const json *schema = json_get(tool, "inputSchema");
    string spec = "{\"name\":" + toolnexus::json::quote(member(tool, "name")) +
                  ",\"description\":" + toolnexus::json::quote(member(tool, "description")) +
                  (schema ? ",\"inputSchema\":" + print(schema) : "") + "}";
    /* The tool itself goes at the end of this function: the toolkit keeps it. */
    toolkit_->add(toolnexus::tool::create(spec, [does](const toolnexus::call &call) -> toolnexus::reply {
      if (does == "fail") throw std::runtime_error("it does not want to");
      string text = toolnexus::json::unquote(toolnexus::json::member(call.arguments(), "text"));
      for (char &c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
      return text;
    }));
  }

  toolnexus::tool find(const string &name) {
    auto tool = toolkit_ ? toolkit_->find(name) : source_.tools().find(name);
    return tool || !resources_ ? std::move(tool) : resources_.find(name);
  }

  void wait_for_server(const string &name) {
    const auto end = name.find('_');
    auto received = find(name.substr(0, end) + "_received");
    const string quoted = '"' + name.substr(end + 1) + '"';
    for (int i = 0; i < 1000; i++)
      if (received.execute().output().find(quoted) != string::npos) return;
    throw failed("the server does not get the call");
  }

  void call(const json *step, const string &name, bool await) {
    only(step, " call start expect arguments text timeoutMs deadlineMs cancel times through ");
    const json *raw = json_get(step, "text"), *expect = json_get(step, "expect");
    const string arguments = text_of(raw ? raw : json_get(step, "arguments"));
    const string cancel = member(step, "cancel"), through = member(step, "through");
    check(through.empty() || through == "toolkit", "this runner does not know \"" + through + '"');
    check(cancel.empty() || cancel == "before" || cancel == "during" || cancel == "after",
          "this runner does not know \"" + cancel + '"');
    toolnexus::context context;
    context.timeout(std::chrono::milliseconds(json_get_number(step, "timeoutMs", 0)));
    context.deadline(std::chrono::milliseconds(json_get_number(step, "deadlineMs", 0)));
    if (through.empty()) {
      last_ = find(name);
      check(static_cast<bool>(last_), "there is no tool " + name);
    }
    if (cancel == "before") context.cancel();
    std::vector<std::future<toolnexus::result>> calls;
    for (long i = json_get_number(step, "times", 1); i > 0; i--)
      calls.push_back(through.empty() ? last_.execute_async(arguments, context)
                                      : toolkit_->execute_async(name, arguments, context));
    if (cancel == "during") {
      wait_for_server(name);
      context.cancel();
    }
    if (!await) {
      started_ = std::move(calls.front());
      return;
    }
    for (auto &one : calls) check_result(ended::wait(one), expect);
    if (cancel == "after") context.cancel();
  }

  void check_names(const json *names) {
    auto tools = source_.tools();
    const json *name = names->first;
    for (auto tool : tools) {
      check(name && tool.name() == name->text, "a tool is " + string(tool.name()));
      name = name->next;
    }
    check(!name, "a tool is missing");
  }

  void check_schema(const json *step) {
    only(step, " schema contains ");
    const string name = member(step, "schema");
    check(name == "openai" || name == "anthropic" || name == "gemini", "this runner does not know \"" + name + '"');
    const string schema = source_.tools().schema(name == "openai"      ? toolnexus::provider::openai
                                                 : name == "anthropic" ? toolnexus::provider::anthropic
                                                                       : toolnexus::provider::gemini);
    for (const json *part = json_get(step, "contains")->first; part; part = part->next)
      check(schema.find(part->text) != string::npos, string("the schema lacks ") + part->text + ": " + schema);
  }

  void free_tool() {
    last_ = toolnexus::tool();
    try {
      last_.execute();
    } catch (const toolnexus::error &) {
      return;
    }
    throw failed("a tool that is gone can be called");
  }

  void do_step(const json *step) {
    const json *what = step->first;
    check(what != nullptr, "a step is empty");
    const string name = what->name;
    const json *expect = json_get(step, "expect");
    if (name == "call" || name == "start") {
      call(step, what->text, name == "call");
    } else if (name == "await") {
      only(step, " await expect ");
      check_result(ended::wait(started_), expect);
    } else if (name == "tool") {
      only(step, " tool document ");
      holds("the tool", find(what->text).json(), json_get(step, "document"));
    } else if (name == "schema") {
      check_schema(step);
    } else if (name == "request") {
      only(step, " request server params expect ");
      const string params = text_of(json_get(step, "params"));
      check_result(ended(source_.try_request(member(step, "server"), what->text, params)), expect);
    } else {
      only(step, (" " + name + " ").c_str());
      if (name == "tools") check_names(what);
      else if (name == "status") holds("the status", source_.status().json(), what);
      else if (name == "inventory") holds("the inventory", toolnexus::inventory(config_, options_).json(), what);
      else if (name == "resourceTools") resources_ = source_.resource_tools();
      else if (name == "close") toolkit_ ? toolkit_->close() : source_.close();
      else if (name == "free" && string(what->text) == "tool") free_tool();
      else throw failed("this runner does not know \"" + name + '"');
    }
  }

  const json *spec_;
  string config_, options_;
  const json *answers_ = nullptr;
  toolnexus::source source_;
  std::optional<toolnexus::toolkit> toolkit_; /* only with a tool of the host */
  toolnexus::tools resources_;
  toolnexus::tool last_; /* the tool of the last call */
  std::future<toolnexus::result> started_;
  int number_ = 0;
};

const char *server(const char *variable) {
  const char *path = std::getenv(variable);
  if (!path) json_stop("not set", variable);
  return path;
}

/* One case, and that nothing of it is left. Empty: passed. */
string complaint_of(const json *spec) {
  string complaint;
  try {
    run run(spec);
    try {
      run.all();
    } catch (const std::exception &wrong) {
      complaint = (run.step() ? "step " + std::to_string(run.step()) + ": " : "") + wrong.what();
    }
  } catch (const std::exception &wrong) {
    complaint = wrong.what();
  }
  const string left = toolnexus::try_shutdown(most_wait).json();
  if (complaint.empty() && left != "{\"live\":{}}") complaint = "at the end there is still " + left;
  return complaint;
}

}  // namespace

int main(int argc, char **argv) {
  int passed = 0, failed = 0;
  tree cases(json_read_file(argc > 1 ? argv[1] : "tests/cases/cases.json"));
  json_fill_in(cases.root, server("TOOLNEXUS_TINY"), server("TOOLNEXUS_HOSTILE"), server("TOOLNEXUS_REMOTE"));
  for (const json *spec = cases.root->first; spec; spec = spec->next) {
    const string name = member(spec, "name");
    if (argc > 2 && name != argv[2]) continue;
    const string complaint = complaint_of(spec);
    if (complaint.empty()) {
      passed++;
    } else {
      failed++;
      std::cout << "FAILED " << name << ": " << complaint.substr(0, 1000) << std::endl;
    }
  }
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return failed > 0 || passed == 0;
}
