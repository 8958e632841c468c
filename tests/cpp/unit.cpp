/* What toolnexus.hpp adds to the C ABI: ownership, exceptions and their twins, futures and callbacks, the host's functions, ends.
 * TOOLNEXUS_TINY and TOOLNEXUS_HOSTILE are the paths of the two example servers. */
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <set>
#include <stdexcept>

#include "toolnexus.hpp"

namespace {

using namespace std::chrono_literals;
using std::string;
namespace json = toolnexus::json;

/* -- what does not compile --------------------------------------------------------------------------------------------- */

template <class... T>
using execute_with = decltype(std::declval<toolnexus::tool &>().execute(std::declval<T>()...));
template <class... T>
using async_with = decltype(std::declval<toolnexus::tool &>().execute_async(std::declval<T>()...));
template <class... T>
using add_with = decltype(std::declval<toolnexus::toolkit &>().add(std::declval<T>()...));
template <class... T>
using timeout_with = decltype(std::declval<toolnexus::context &>().timeout(std::declval<T>()...));
template <class... T>
using schema_with = decltype(std::declval<toolnexus::tools &>().schema(std::declval<T>()...));
template <class... T>
using load_with = decltype(toolnexus::source::load(std::declval<T>()...));
template <class... T>
using create_with = decltype(toolnexus::tool::create(std::declval<T>()...));
template <class... T>
using log_with = decltype(toolnexus::log(std::declval<T>()...));

template <class, template <class...> class, class...>
constexpr bool compiles_ = false;
template <template <class...> class Call, class... T>
constexpr bool compiles_<std::void_t<Call<T...>>, Call, T...> = true;
template <template <class...> class Call, class... T>
constexpr bool compiles = compiles_<void, Call, T...>;

struct on_result {
  void operator()(toolnexus::result) const;
};
struct on_number {
  void operator()(int) const;
};
struct reply_with {
  toolnexus::reply operator()(const toolnexus::call &) const;
};
struct answer_with {
  toolnexus::answer operator()(const toolnexus::request &) const;
};

static_assert(compiles<execute_with>);
static_assert(compiles<execute_with, const char *>);
static_assert(compiles<execute_with, string>);
static_assert(compiles<execute_with, std::string_view, toolnexus::context &>);
static_assert(!compiles<execute_with, int>);
static_assert(!compiles<execute_with, std::nullptr_t>);
static_assert(!compiles<execute_with, toolnexus::context &>);
static_assert(!compiles<execute_with, const char *, toolnexus::queue &>);
static_assert(!compiles<execute_with, const char *, int>);
static_assert(compiles<async_with, const char *, on_result>);
static_assert(compiles<async_with, const char *, on_result, toolnexus::context &>);
static_assert(compiles<async_with, const char *, toolnexus::slot>);
static_assert(!compiles<async_with, const char *, on_number>);
static_assert(!compiles<async_with, const char *, toolnexus::queue &>);
static_assert(compiles<add_with, toolnexus::tool &>);
static_assert(!compiles<add_with, toolnexus::tools &>);
static_assert(!compiles<add_with, toolnexus::source &>);
static_assert(compiles<timeout_with, std::chrono::seconds>);
static_assert(!compiles<timeout_with, int>);
static_assert(!compiles<timeout_with, std::chrono::microseconds>);
static_assert(compiles<schema_with, toolnexus::provider>);
static_assert(!compiles<schema_with, const char *>);
static_assert(compiles<load_with, const char *, const char *, toolnexus::host>);
static_assert(!compiles<load_with, const char *, toolnexus::host>);
static_assert(!compiles<load_with, const char *, const char *, toolnexus::context &>);
static_assert(compiles<create_with, const char *, reply_with>);
static_assert(!compiles<create_with, const char *, on_number>);
static_assert(!compiles<create_with, const char *, answer_with>);
static_assert(!compiles<log_with, int, void (*)(toolnexus::level, std::string_view, std::string_view)>);
static_assert(!std::is_convertible_v<toolnexus::status, int>);
static_assert(!std::is_convertible_v<int, toolnexus::status>);
static_assert(!std::is_convertible_v<toolnexus::result, bool>);
static_assert(!std::is_convertible_v<tn_tool *, toolnexus::tool>);
static_assert(!std::is_constructible_v<toolnexus::tool, tn_tools *>);
static_assert(!std::is_constructible_v<toolnexus::reply, std::nullptr_t>);

template <class T>
constexpr bool moves_only = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
                            !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
static_assert(moves_only<toolnexus::result> && moves_only<toolnexus::context> && moves_only<toolnexus::queue>);
static_assert(moves_only<toolnexus::tool> && moves_only<toolnexus::tools> && moves_only<toolnexus::source>);
static_assert(moves_only<toolnexus::toolkit> && moves_only<toolnexus::event>);
static_assert(std::is_nothrow_copy_constructible_v<toolnexus::error>);

/* -- what is checked --------------------------------------------------------------------------------------------------- */

[[noreturn]] void fail(int line, const string &why) { throw std::runtime_error(std::to_string(line) + ": " + why); }

#define CHECK(condition) \
  do { \
    if (!(condition)) fail(__LINE__, #condition); \
  } while (0)

#define CHECK_TEXT(got, wanted) \
  do { \
    const string got_(got), wanted_(wanted); \
    if (got_ != wanted_) fail(__LINE__, #got " is \"" + got_ + "\", expected \"" + wanted_ + '"'); \
  } while (0)

template <class Call>
toolnexus::error thrown_by(int line, Call &&call) {
  try {
    call();
  } catch (const toolnexus::error &error) {
    return error;
  }
  fail(line, "nothing is thrown");
}
#define THROWN(...) thrown_by(__LINE__, [&] { __VA_ARGS__; })

string path(const char *variable) {
  const char *value = std::getenv(variable);
  if (!value) fail(__LINE__, string(variable) + " is not set");
  return json::quote(value);
}

string tiny() { return "{\"mcpServers\":{\"progress\":{\"command\":[" + path("TOOLNEXUS_TINY") + "]}}}"; }
string hostile(const string &behaviour, const string &more = "") {
  return "{\"mcpServers\":{\"x\":{\"command\":[" + path("TOOLNEXUS_HOSTILE") + "," + json::quote(behaviour) + more + "]}}}";
}

template <class T>
T get(std::future<T> future) {
  CHECK(future.wait_for(60s) == std::future_status::ready);
  return future.get();
}

void json_help() {
  CHECK_TEXT(json::quote("a\"b\\c\n\x01é"), "\"a\\\"b\\\\c\\u000a\\u0001é\"");
  const char *object = " { \"a\" : {\"b\":[1,\"}\"]} , \"b\":\"x\\\"y\",\"c\": -1.5e3 ,\"d\":[],\"e\":null}";
  CHECK_TEXT(json::member(object, "a"), "{\"b\":[1,\"}\"]}");
  CHECK_TEXT(json::member(object, "b"), "\"x\\\"y\"");
  CHECK_TEXT(json::member(object, "c"), "-1.5e3");
  CHECK_TEXT(json::member(object, "d"), "[]");
  CHECK_TEXT(json::member(object, "e"), "null");
  CHECK_TEXT(json::member(object, "f"), "");
  CHECK_TEXT(json::member("{}", "a"), "");
  CHECK_TEXT(json::member("[\"a\"]", "a"), "");
  for (size_t cut = 0; cut < string(object).size(); cut++) json::member(string(object, cut), "e");
  CHECK_TEXT(json::unquote("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\\ud83d!\""), "a\"\\/\b\f\n\r\té😀\xef\xbf\xbd!");
  CHECK_TEXT(json::unquote("12"), "");
  CHECK_TEXT(json::unquote("\"\\u12\""), "u12");
  const char bytes[] = "\0 \x1f \x7f \" \\ é 世 🦀";
  const string all(bytes, sizeof bytes - 1);
  CHECK_TEXT(json::unquote(json::quote(all)), all);
}

void ownership() {
  auto source = toolnexus::source::load(tiny());
  auto moved = std::move(source);
  CHECK(!source && moved);
  toolnexus::tool echo = moved.tools().find("progress_echo"), other = moved.tools()[2];
  CHECK(echo && !moved.tools().find("nope") && !moved.tools()[3]);
  CHECK_TEXT(other.name(), "progress_fail");
  other = std::move(echo);
  CHECK_TEXT(other.name(), "progress_echo");
  CHECK(!echo);
  CHECK_TEXT(other.execute("{\"text\":\"a\"}").output(), "a");
  CHECK(THROWN(echo.execute()).status() == toolnexus::status::argument);
  CHECK_TEXT(echo.name(), "");
  tn_tool *raw = other.release();
  CHECK(!other && tn_check(raw) == TN_OK);
  tn_free(raw);
  std::set<string> names;
  for (auto tool : moved.tools()) names.insert(string(tool.name()));
  CHECK((names == std::set<string>{"progress_echo", "progress_fail", "progress_slow"}));
  CHECK(moved.tools().size() == 3 && !moved.tools().empty());
  auto list = moved.tools();
  CHECK(list.json().substr(0, 24) == "[{\"name\":\"progress_echo\"");
}

void text_in() {
  auto source = toolnexus::source::load(tiny());
  auto echo = source.tools().at("progress_echo");
  const string whole = "{\"text\":\"view\"} and more";
  CHECK_TEXT(echo.execute(std::string_view(whole).substr(0, 15)).output(), "view");
  /* C would end at the NUL, and take what is before it for all. */
  const string with_nul("{\"text\":\"a\"}\0 more", 18);
  CHECK(echo.execute(with_nul).status() == toolnexus::status::json);
  CHECK(echo.execute(std::string_view(with_nul)).status() == toolnexus::status::json);
  CHECK(!source.tools().find(std::string_view("progress_echo\0x", 15)));
  const char *none = nullptr;
  CHECK(toolnexus::try_parse_config(none).status() == toolnexus::status::argument);
}

void errors() {
  auto error = THROWN(toolnexus::source::load("no/such/mcp.json"));
  CHECK(error.status() == toolnexus::status::config);
  CHECK(string(error.what()).find("no/such/mcp.json") != string::npos);
  CHECK(error.json().find("\"code\":\"config\"") != string::npos);
  auto outcome = toolnexus::source::try_load("no/such/mcp.json");
  CHECK(!outcome && outcome.result().status() == toolnexus::status::config);
  CHECK(THROWN(std::move(outcome).value()).status() == toolnexus::status::config);
  CHECK(THROWN(toolnexus::parse_config("{")).status() == toolnexus::status::config);
  CHECK(THROWN(toolnexus::toolkit::create("{\"no\":1}")).status() == toolnexus::status::argument);
  CHECK(THROWN(toolnexus::tool::create("{}", [](const toolnexus::call &) { return ""; })).status() == toolnexus::status::argument);
  CHECK(THROWN(toolnexus::context().timeout(-1ms)).status() == toolnexus::status::argument);
  toolnexus::context().timeout(std::chrono::hours(10000)); /* more than C can say: the most it can */

  auto source = toolnexus::source::load(tiny());
  auto echo = source.tools().at("progress_echo");
  CHECK_TEXT(THROWN(source.tools().at("nope")).what(), "there is no tool \"nope\"");
  CHECK(THROWN(source.request("nope", "tools/list")).status() == toolnexus::status::not_found);
  CHECK(source.try_request("nope", "tools/list").is_error());
  CHECK(THROWN(source.restart("nope")).status() == toolnexus::status::not_found);
  /* For the model, not for the program: */
  CHECK(echo.execute("[]").status() == toolnexus::status::json);
  auto failed = source.tools().at("progress_fail").execute();
  CHECK(failed.is_error() && failed.status() == toolnexus::status::ok);
  auto slow = source.tools().at("progress_slow");
  CHECK(slow.execute("{\"durationMs\":60000,\"intervalMs\":0}", toolnexus::context().timeout(20ms)).status() == toolnexus::status::timeout);
  /* For the program: */
  toolnexus::context context;
  context.cancel();
  CHECK(THROWN(echo.execute("{}", context)).status() == toolnexus::status::cancelled);
  CHECK(echo.try_execute("{}", context).status() == toolnexus::status::cancelled);
  CHECK(THROWN(echo.execute("\xff")).status() == toolnexus::status::utf8);
  source.close();
  source.close();
  CHECK(echo.execute("{}").status() == toolnexus::status::closed);
  CHECK_TEXT(toolnexus::name(toolnexus::status::not_found), "TN_E_NOT_FOUND");
}

void skills() {
  const string skill = "skill://acme/pdf/SKILL.md";
  auto source = toolnexus::source::load(hostile("skills"));
  auto read = source.read_skill("x", skill);
  CHECK(read.output().find("\nBody\n") != string::npos && read.json().find("\"uri\":\"" + skill + "\"") != string::npos);
  CHECK(source.read_skill("x", skill, "skill://acme/pdf/references/FORMS.md").output() == "Forms\n");
  CHECK(THROWN(source.read_skill("x", skill, "skill://acme/pdf/hidden.md")).status() == toolnexus::status::protocol);
  CHECK(source.try_read_skill("nope", skill).status() == toolnexus::status::not_found);
  CHECK(get(source.read_skill_async("x", skill)).output() == read.output());
  CHECK(THROWN(toolnexus::source::load(hostile("skill-digest")).read_skill("x", skill)).status() == toolnexus::status::protocol);
}

void futures() {
  auto source = get(toolnexus::source::load_async(tiny()));
  auto echo = source.tools().at("progress_echo");
  std::vector<std::future<toolnexus::result>> calls;
  for (int i = 0; i < 200; i++) calls.push_back(echo.execute_async("{\"text\":\"" + std::to_string(i) + "\"}"));
  for (int i = 0; i < 200; i++) CHECK_TEXT(get(std::move(calls[static_cast<size_t>(i)])).output(), std::to_string(i));
  toolnexus::context context;
  auto slow = source.tools().at("progress_slow").execute_async("{\"durationMs\":60000}", context);
  context.cancel();
  CHECK(THROWN(get(std::move(slow))).status() == toolnexus::status::cancelled);
  CHECK(get(echo.execute_async("[]")).status() == toolnexus::status::json);
  CHECK(THROWN(get(toolnexus::source::load_async("{"))).status() == toolnexus::status::config);
  CHECK(get(toolnexus::inventory_async(tiny())).json().find("\"progress\":\"connected\"") != string::npos);
  CHECK(get(source.request_async("progress", "resources/list")).json().find("fixture://hello") != string::npos);
  CHECK(THROWN(get(source.request_async("progress", "no/such"))).status() == toolnexus::status::server);
  CHECK(THROWN(get(source.read_skill_async("progress", "skill://x/SKILL.md"))).status() == toolnexus::status::not_found);
  CHECK(get(source.restart_async("progress")).json().find("connected") != string::npos);
  auto toolkit = get(toolnexus::toolkit::create_async("{\"mcpConfig\":" + tiny() + "}"));
  CHECK_TEXT(get(toolkit.execute_async("progress_echo", "{\"text\":\"b\"}")).output(), "b");
  get(toolkit.close_async());
  get(source.close_async());
}

void callbacks() {
  std::promise<string> told;
  std::promise<void> thrown;
  auto source = toolnexus::source::load(tiny());
  auto echo = source.tools().at("progress_echo");
  /* A function that throws loses its exception, and nothing else. */
  echo.execute_async("{}", [&](toolnexus::result) {
    thrown.set_value();
    throw 7;
  });
  get(thrown.get_future());
  /* It may hold what only moves. */
  auto only_moves = std::make_unique<string>("heard ");
  echo.execute_async("{\"text\":\"you\"}", [&told, held = std::move(only_moves)](toolnexus::result result) {
    told.set_value(*held + string(result.output()));
  });
  CHECK_TEXT(get(told.get_future()), "heard you");
  /* Blocking there is an error, starting another call is not. */
  std::promise<toolnexus::status> inside;
  std::promise<string> second;
  echo.execute_async("{}", [&](const toolnexus::result &) {
    inside.set_value(echo.try_execute().status());
    echo.execute_async("{\"text\":\"again\"}", [&](toolnexus::result &&result) { second.set_value(std::move(result).output()); });
  });
  CHECK(get(inside.get_future()) == toolnexus::status::reentrant);
  CHECK_TEXT(get(second.get_future()), "again");
  /* A load hands over its source, with what the host does for it. */
  std::promise<toolnexus::source> loaded;
  toolnexus::host host;
  host.request = [](const toolnexus::request &) { return toolnexus::answer::decline(); };
  toolnexus::source::load_async(hostile("asks-elicitation"), "{}", host, [&](toolnexus::outcome<toolnexus::source> outcome) {
    loaded.set_value(std::move(outcome).value());
  });
  auto asking = get(loaded.get_future());
  CHECK(asking.tools().at("x_odd").execute().output().find("decline") != string::npos);
}

void queues() {
  auto source = toolnexus::source::load(tiny());
  auto echo = source.tools().at("progress_echo");
  toolnexus::queue queue;
  CHECK(queue.take(0ms).empty());
  int fd = queue.fd();
  CHECK(fd >= 0);
  echo.execute_async("{\"text\":\"q\"}", queue.at(42));
  source.request_async("progress", "tools/list", "{}", queue.at(43));
  pollfd waiting = {fd, POLLIN, 0};
  CHECK(poll(&waiting, 1, 60000) == 1);
  std::vector<toolnexus::event> events;
  while (events.size() < 2) CHECK(queue.try_take(events, 60s) == toolnexus::status::ok);
  std::set<uint64_t> ids;
  for (auto &event : events) {
    CHECK(event.kind == TN_EVENT_DONE && !event.result.is_error());
    ids.insert(event.id);
  }
  CHECK((ids == std::set<uint64_t>{42, 43}));
  /* Progress comes before its end. */
  toolnexus::context context;
  context.progress(queue.at(7));
  source.tools().at("progress_slow").execute_async("{\"durationMs\":60,\"intervalMs\":20}", queue.at(8), context);
  events.clear();
  while (events.empty() || events.back().id != 8) CHECK(queue.try_take(events, 60s) == toolnexus::status::ok);
  CHECK(events.size() > 1 && events.front().id == 7 && events.front().kind == TN_EVENT_NOTICE);
  queue.close();
  CHECK(THROWN(queue.take(-1ms)).status() == toolnexus::status::closed);
  CHECK(THROWN(echo.execute_async("{}", queue.at(9))).status() == toolnexus::status::closed);
  close(fd);
}

void progress() {
  std::atomic<int> notices{0};
  toolnexus::context context;
  context.progress([&](std::string_view notice) {
    if (json::member(notice, "kind") == "\"progress\"") notices++;
    throw 7;
  });
  auto source = toolnexus::source::load(tiny());
  source.tools().at("progress_slow").execute("{\"durationMs\":100,\"intervalMs\":10}", context);
  context = toolnexus::context();
  CHECK(notices > 0);
}

void host_tools() {
  std::promise<void> both;
  std::atomic<int> inside{0};
  auto toolkit = toolnexus::toolkit::create("{\"mcpConfig\":" + tiny() + "}");
  CHECK(toolkit.source().status().json().find("\"connected\"") != string::npos);
  {
    auto length = toolnexus::tool::create("{\"name\":\"length\",\"description\":\"Counts.\"}", [](const toolnexus::call &call) {
      return std::to_string(json::unquote(json::member(call.arguments(), "text")).size());
    });
    CHECK(toolkit.add(length).json().find("\"registered\":true") != string::npos);
    CHECK(toolkit.add(length).json().find("\"registered\":false") != string::npos);
  }
  /* The toolkit keeps it. */
  CHECK_TEXT(toolkit.execute("length", "{\"text\":\"1234\"}").output(), "4");
  CHECK_TEXT(toolkit.find("length").execute("{\"text\":\"12\"}").output(), "2");
  toolkit.add(toolnexus::tool::create("{\"name\":\"throws\"}", [](const toolnexus::call &) -> toolnexus::reply {
    throw std::runtime_error("out of \"paper\"");
  }));
  auto thrown = toolkit.execute("throws");
  CHECK(thrown.is_error() && thrown.status() == toolnexus::status::ok);
  CHECK_TEXT(thrown.output(), "out of \"paper\"");
  toolkit.add(toolnexus::tool::create("{\"name\":\"throws_a_number\"}", [](const toolnexus::call &) -> toolnexus::reply {
    throw 7;
  }));
  CHECK(toolkit.execute("throws_a_number").is_error());
  /* More than text, and what the library refuses. */
  toolkit.add(toolnexus::tool::create("{\"name\":\"rich\"}", [](const toolnexus::call &call) {
    toolnexus::reply reply("see", true);
    reply.metadata = call.arguments() == "{}" ? "{\"a\":1}" : "[]";
    reply.parts = "[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AAAA\"}]";
    return reply;
  }));
  auto rich = toolkit.execute("rich");
  CHECK(rich.is_error() && rich.json().find("\"AAAA\"") != string::npos && rich.json().find("\"a\":1") != string::npos);
  auto refused = toolkit.execute("rich", "{\"b\":1}");
  CHECK(refused.is_error() && refused.output().find("metadata") != string::npos);
  /* Two calls at once, in threads of their own, of which each may call further tools. */
  auto meet = toolnexus::tool::create("{\"name\":\"meet\"}", [&](const toolnexus::call &call) {
    if (++inside == 2) both.set_value();
    if (call.arguments() == "{\"deeper\":true}") return toolkit.execute("meet").output();
    return string("met");
  });
  toolkit.add(meet);
  CHECK_TEXT(meet.execute("{\"deeper\":true}").output(), "met");
  get(both.get_future());
  /* A call that is cancelled is told so. */
  std::promise<bool> noticed;
  std::promise<void> started;
  toolnexus::context context;
  auto waits = toolnexus::tool::create("{\"name\":\"waits\"}", [&](const toolnexus::call &call) {
    started.set_value();
    while (call.wanted()) std::this_thread::yield();
    noticed.set_value(true);
    return "too late";
  });
  auto cancelled = waits.execute_async("{}", context);
  get(started.get_future());
  context.cancel();
  CHECK(THROWN(get(std::move(cancelled))).status() == toolnexus::status::cancelled);
  CHECK(get(noticed.get_future()));
  /* The end of a tool waits for what runs, and ends what is called. */
  std::promise<void> running, go;
  auto gone = go.get_future().share();
  std::atomic<bool> ended{false};
  auto last = std::make_unique<toolnexus::tool>(toolnexus::tool::create("{\"name\":\"last\"}", [&, gone](const toolnexus::call &) {
    running.set_value();
    gone.wait();
    ended = true;
    return "x";
  }));
  auto call = last->execute_async();
  get(running.get_future());
  std::thread opens([&] {
    if (call.wait_for(60s) == std::future_status::ready) go.set_value();
  });
  last.reset();
  CHECK(ended);
  opens.join();
  CHECK(get(std::move(call)).status() == toolnexus::status::closed);
}

void elicitation() {
  for (const char *era : {"legacy", "modern"}) {
    const string config = hostile("asks-elicitation", string(",\"--era\",\"") + era + '"');
    std::mutex lock;
    std::vector<string> kinds;
    std::atomic<int> turn{0};
    toolnexus::host host;
    host.request = [&](const toolnexus::request &request) {
      std::lock_guard<std::mutex> guard(lock);
      kinds.push_back(request.server() + " " + request.kind() + " " + request.prompt());
      CHECK(request.wanted());
      switch (turn++) {
        case 0: return toolnexus::answer::accept("{\"confirmed\":false}");
        case 1: return toolnexus::answer::decline();
        case 2: throw 7; /* cancels */
        default: return toolnexus::answer::accept("{\"confirmed\":\"perhaps\"}"); /* refused, and then cancelled */
      }
    };
    auto source = toolnexus::source::load(config, "{}", host);
    auto odd = source.tools().at("x_odd");
    for (const char *wanted : {"\"confirmed\":false", "decline", "cancel", "cancel"}) {
      const string output = odd.execute().output();
      if (output.find(wanted) == string::npos) fail(__LINE__, string(era) + ": " + wanted + " is not in " + output);
    }
    source.close();
    CHECK(kinds.size() == 4);
    CHECK_TEXT(kinds[0], "x input Go on?");
  }
}

void notices() {
  std::promise<void> changed;
  std::atomic<bool> once{false};
  toolnexus::host host;
  host.notice = [&](std::string_view notice) {
    if (json::unquote(json::member(notice, "kind")) == "tools_changed" && !once.exchange(true)) changed.set_value();
  };
  auto source = toolnexus::source::load(hostile("changes-tools"), "{}", host);
  source.tools().at("x_odd").execute();
  get(changed.get_future());
  CHECK(source.tools().find("x_added-1"));
}

void logs() {
  std::promise<string> said;
  std::atomic<bool> once{false};
  toolnexus::log(toolnexus::level::warning, [&](toolnexus::level level, std::string_view, std::string_view message) {
    if (level == toolnexus::level::warning && !once.exchange(true)) said.set_value(string(message));
    throw 7;
  });
  toolnexus::source::load("{\"mcpServers\":{\"bad\":{\"command\":\"toolnexus-no-such-command\"}}}");
  CHECK(get(said.get_future()).find("toolnexus-no-such-command") != string::npos);
  CHECK(tn_log_to_callback(1, nullptr, 0, nullptr) == TN_OK);
}

void shutdowns() {
  for (int i = 0; i < 3; i++) {
    auto source = toolnexus::source::load(tiny());
    auto slow = source.tools().at("progress_slow");
    auto call = slow.execute_async("{\"durationMs\":60000}");
    auto tool = toolnexus::tool::create("{\"name\":\"own\"}", [](const toolnexus::call &) { return "x"; });
    CHECK_TEXT(get(tool.execute_async()).output(), "x");
    auto ended = toolnexus::shutdown(30s);
    /* The result is in the future. */
    CHECK_TEXT(ended.json(), "{\"live\":{\"result\":1,\"mcp\":1,\"tool\":2}}");
    CHECK(get(std::move(call)).status() == toolnexus::status::closed);
    CHECK(tool.execute().status() == toolnexus::status::closed);
  }
  /* Also after one that C was asked for. */
  tn_free(tn_shutdown(30000));
  auto source = get(toolnexus::source::load_async(tiny()));
  CHECK(source);
}

void forks() {
  toolnexus::host host;
  host.notice = [](std::string_view) {};
  auto source = toolnexus::source::load(tiny(), "{}", host);
  auto echo = source.tools().at("progress_echo");
  auto tool = toolnexus::tool::create("{\"name\":\"own\"}", [](const toolnexus::call &) { return "x"; });
  CHECK_TEXT(get(echo.execute_async("{\"text\":\"a\"}")).output(), "a");
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    try {
      CHECK(THROWN(echo.execute()).status() == toolnexus::status::forked);
      CHECK(THROWN(echo.execute_async()).status() == toolnexus::status::forked);
      CHECK(THROWN(toolnexus::context()).status() == toolnexus::status::forked);
      CHECK(THROWN(toolnexus::source::load("{}")).status() == toolnexus::status::forked);
      CHECK(toolnexus::try_shutdown(1s).status() == toolnexus::status::forked);
      source = toolnexus::source();
      tool = toolnexus::tool();
    } catch (const std::exception &wrong) {
      std::cerr << "in the child: " << wrong.what() << std::endl;
      _exit(1);
    }
    /* What the parent's threads hold is lost here, which is no news for a leak checker: end as another program. */
    execl("/bin/true", "true", static_cast<char *>(nullptr));
    _exit(1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_TEXT(echo.execute("{\"text\":\"a\"}").output(), "a");
}

void version() {
  CHECK_TEXT(toolnexus::version(), tn_version());
  toolnexus::detail::check_version();
}

}  // namespace

int main(int argc, char **argv) {
  const std::pair<const char *, void (*)()> tests[] = {
      {"json_help", json_help},   {"ownership", ownership}, {"text_in", text_in},         {"errors", errors},
      {"futures", futures},       {"callbacks", callbacks}, {"queues", queues},           {"progress", progress},
      {"host_tools", host_tools}, {"elicitation", elicitation}, {"notices", notices},     {"logs", logs},
      {"shutdowns", shutdowns},   {"forks", forks},         {"version", version},         {"skills", skills},
  };
  int passed = 0, failed = 0;
  for (const auto &[name, test] : tests) {
    string complaint;
    if (argc > 1 && string(argv[1]) != name) continue;
    try {
      test();
    } catch (const std::exception &wrong) {
      complaint = wrong.what();
    }
    const string left = toolnexus::try_shutdown(30s).json();
    if (complaint.empty() && left != "{\"live\":{}}") complaint = "at the end there is still " + left;
    if (complaint.empty()) {
      passed++;
    } else {
      failed++;
      std::cout << "FAILED " << name << ": " << complaint << std::endl;
    }
  }
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return failed > 0 || passed == 0;
}
