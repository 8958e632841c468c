/* toolnexus for C++17 and later: the whole of toolnexus.h as types that give back what they hold. Header-only: link libtoolnexus.
 *
 *     auto source = toolnexus::source::load("mcp.json");
 *     for (auto tool : source.tools()) std::cout << tool.name() << '\n';
 *     std::cout << source.tools().at("files_read").execute(R"({"path": "a.txt"})").output() << '\n';
 *
 * The rules, beyond those of toolnexus.h, which hold here too:
 *
 * - Objects can be moved and not copied. An empty one (moved from, or made by default) is false; using it is an error.
 * - A call of a tool gives a result whatever comes of it, for a model to read. What is a mistake of the program (a status below
 *   20 but for json and not_found, internal, and those that are not known), or its own cancel, is thrown as toolnexus::error.
 *   What is no call of a tool throws whenever it fails.
 * - Each call that throws has a twin, try_..., that does not, and gives the result, the status, or an outcome. (Without memory
 *   or threads both throw. The twin of tools.at() is find().)
 * - ..._async does not block. Without a completion it gives a std::future, which throws as the function would. With one it
 *   calls it, once, on a thread of the library: it may start calls, answer and destroy objects, but not block. What it throws
 *   is lost. A completion can also be a place in a queue: queue.at(id).
 * - Tools of the host and answers to servers are functions. They run on threads of their own, several at a time, and may block.
 *   A tool that throws gives an error result; an answer that throws cancels.
 * - In a forked child everything fails with forked, and ends quietly.
 * - Text goes in as std::string_view, std::string or char pointer, as UTF-8, and comes out as std::string_view, which lives as
 *   long as its object (asked of a temporary result or tool: as std::string). */

#ifndef TOOLNEXUS_HPP
#define TOOLNEXUS_HPP

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "toolnexus.h"

namespace toolnexus {

/* How a call ended: the TN_ constants of toolnexus.h. Take a value that has no name here as internal. */
enum class status : tn_status {
  ok = TN_OK,
  argument = TN_E_ARGUMENT,
  utf8 = TN_E_UTF8,
  json = TN_E_JSON,
  handle = TN_E_HANDLE,
  reentrant = TN_E_REENTRANT,
  forked = TN_E_FORKED,
  config = TN_E_CONFIG,
  not_found = TN_E_NOT_FOUND,
  cancelled = TN_E_CANCELLED,
  timeout = TN_E_TIMEOUT,
  closed = TN_E_CLOSED,
  limit = TN_E_LIMIT,
  spawn = TN_E_SPAWN,
  transport = TN_E_TRANSPORT,
  protocol = TN_E_PROTOCOL,
  server = TN_E_SERVER,
  auth = TN_E_AUTH,
  internal = TN_E_INTERNAL
};

/* The name of a status, such as "TN_E_TIMEOUT". */
inline const char *name(status of) noexcept { return tn_status_name(static_cast<tn_status>(of)); }

/* The form in which a provider of models wants tools. */
enum class provider { openai, anthropic, gemini };

/* What went wrong: what() is the message, for a person; json() the document of the result, {} if there is none. */
class error : public std::exception {
 public:
  error(toolnexus::status status, std::string message, std::string json = "{}")
      : shared_(std::make_shared<const contents>(contents{status, std::move(message), std::move(json)})) {}
  toolnexus::status status() const noexcept { return shared_->status; }
  const char *what() const noexcept override { return shared_->message.c_str(); }
  std::string_view json() const noexcept { return shared_->json; }

 private:
  struct contents {
    toolnexus::status status;
    std::string message, json;
  };
  std::shared_ptr<const contents> shared_; /* copying an exception must not throw */
};

/* Text on its way in, only ever a parameter. It is not copied if a NUL already ends it, so a std::string costs less than a
 * std::string_view. */
class text {
 public:
  text(const char *in) : at_(in) {}
  text(const std::string &in) : at_(in.c_str()) {
    if (in.find('\0') != std::string::npos) copy(in);
  }
  text(std::string_view in) { copy(in); }
  text(std::nullptr_t) = delete;
  const char *c_str() const noexcept { return copied_ ? copy_.c_str() : at_; }

 private:
  /* C would end the text at a NUL and take what is before it for the whole. No JSON holds this one, and no name. */
  void copy(std::string_view in) {
    copy_.assign(in);
    copied_ = true;
    for (char &c : copy_)
      if (c == '\0') c = '\x01';
  }
  const char *at_ = nullptr;
  std::string copy_;
  bool copied_ = false;
};

/* The little JSON that a host needs without a library for it. */
namespace json {

/* Text as a JSON string, quotes included. */
inline std::string quote(std::string_view text) {
  static const char digits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\', quoted += c;
    } else if (static_cast<unsigned char>(c) < ' ') {
      quoted += "\\u00", quoted += digits[c >> 4], quoted += digits[c & 15];
    } else {
      quoted += c;
    }
  }
  return quoted += '"';
}

namespace detail {

inline std::size_t blanks(std::string_view json, std::size_t at) {
  at = json.find_first_not_of(" \t\r\n", at);
  return at == std::string_view::npos ? json.size() : at;
}

/* Behind the value that begins at `at`. */
inline std::size_t skip(std::string_view json, std::size_t at) {
  std::size_t depth = 0;
  bool quoted = false;
  for (; at < json.size(); at++) {
    char c = json[at];
    if (quoted) {
      if (c == '\\') at++;
      if (c == '"') quoted = false;
      if (quoted || depth) continue;
      return at + 1;
    }
    if (c == '"') quoted = true;
    else if (c == '{' || c == '[') depth++;
    else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    } else if (depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n')) return at;
  }
  return json.size();
}

inline unsigned long hex(std::string_view digits) {
  unsigned long value = 0;
  for (char c : digits) value = value * 16 + static_cast<unsigned long>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
  return value;
}

inline void add_utf8(std::string &to, unsigned long c) {
  if (c < 0x80) {
    to += static_cast<char>(c);
    return;
  }
  int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  to += static_cast<char>((0xf00 >> (more + 1) & 0xff) | c >> 6 * more);
  while (more-- > 0) to += static_cast<char>(0x80 | (c >> 6 * more & 0x3f));
}

}  // namespace detail

/* The value of a top-level member of a JSON object, as it stands there; empty if there is none. For the library's own
 * documents: the object must be well formed, and the member's name written without escapes. */
inline std::string_view member(std::string_view object, std::string_view name) {
  std::size_t at = detail::blanks(object, 0);
  if (at >= object.size() || object[at] != '{') return {};
  for (at = detail::blanks(object, at + 1); at < object.size() && object[at] == '"';) {
    std::size_t end = detail::skip(object, at);
    bool found = object.substr(at + 1, end - at - 2) == name;
    at = detail::blanks(object, detail::blanks(object, end) + 1);
    end = detail::skip(object, at);
    if (found) return object.substr(at, end - at);
    at = detail::blanks(object, end);
    if (at < object.size() && object[at] == ',') at = detail::blanks(object, at + 1);
  }
  return {};
}

/* The text of a JSON string; empty for a value that is no string. Half a surrogate pair becomes U+FFFD. */
inline std::string unquote(std::string_view value) {
  std::string text;
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return text;
  value = value.substr(1, value.size() - 2);
  for (std::size_t i = 0; i < value.size(); i++) {
    if (value[i] != '\\' || i + 1 == value.size()) {
      text += value[i];
      continue;
    }
    static const char known[] = "bfnrt", meant[] = "\b\f\n\r\t";
    char c = value[++i];
    if (c == 'u' && i + 4 < value.size()) {
      unsigned long code = detail::hex(value.substr(i + 1, 4));
      i += 4;
      if (code >= 0xd800 && code < 0xdc00 && value.substr(i + 1, 2) == "\\u" && i + 6 < value.size()) {
        unsigned long low = detail::hex(value.substr(i + 3, 4));
        if (low >= 0xdc00 && low < 0xe000) code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00), i += 6;
      }
      detail::add_utf8(text, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
    } else if (const char *at = std::strchr(known, c)) {
      text += meant[at - known];
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace json

namespace detail {

struct give_back {
  void operator()(void *reference) const noexcept { tn_free(reference); }
};
template <class T>
using reference = std::unique_ptr<T, give_back>;

/* What every type is: a reference of its own, which moves and does not copy. */
template <class T>
class object {
 public:
  object() noexcept = default;
  explicit object(T *reference) noexcept : reference_(reference) {}
  explicit operator bool() const noexcept { return reference_ != nullptr; }
  /* The reference for a function of toolnexus.h; it stays this object's. */
  T *get() const noexcept { return reference_.get(); }
  /* Gives the reference away: it is then yours to tn_free. */
  T *release() noexcept { return reference_.release(); }

 protected:
  reference<T> reference_;
};

/* Whether a call of a tool throws its result: see the top. */
inline bool thrown(status status) noexcept {
  switch (status) {
    case status::ok:
    case status::json:
    case status::config:
    case status::not_found:
    case status::timeout:
    case status::closed:
    case status::limit:
    case status::spawn:
    case status::transport:
    case status::protocol:
    case status::server:
    case status::auth: return false;
    default: return true;
  }
}

inline void check(tn_status got, const char *what) {
  if (got != TN_OK) throw error(status{got}, std::string(what) + " gives " + tn_status_name(got));
}

/* The linker takes any library with the right soname. */
inline void check_version() {
  std::uint32_t found = tn_abi_version(), wanted = TN_ABI_VERSION;
  auto dotted = [](std::uint32_t v) { return std::to_string(v >> 16) + "." + std::to_string(v & 0xffff); };
  if (found >> 16 != wanted >> 16 || (found & 0xffff) < (wanted & 0xffff))
    throw error(status::argument, "libtoolnexus has the ABI " + dotted(found) + " (version " + tn_version() +
                                      "), and this program needs " + dotted(wanted) + ": install a version that fits");
}

}  // namespace detail

/* The outcome of a call. */
class result : public detail::object<tn_result> {
 public:
  using object::object;
  /* The call failed, or the tool ran and reported failure (then the status is ok). */
  bool is_error() const noexcept { return tn_result_is_error(get()); }
  toolnexus::status status() const noexcept { return toolnexus::status{tn_result_status(get())}; }
  /* The text for the model: what the tool said, or the message of the failure. */
  std::string_view output() const &noexcept {
    std::size_t length;
    const char *text = tn_result_output(get(), &length);
    return {text, length};
  }
  std::string output() const && { return std::string(output()); }
  /* The whole document: see tn_result_json. */
  std::string_view json() const &noexcept {
    std::size_t length;
    const char *text = tn_result_json(get(), &length);
    return {text, length};
  }
  std::string json() const && { return std::string(json()); }
  /* What a failed call is thrown as. */
  error as_error() const { return error(status(), std::string(output()), std::string(json())); }
};

/* What was asked for, or the result that says why it is not there. */
template <class T>
class outcome {
 public:
  outcome(T made, toolnexus::result of) : value_(std::move(made)), result_(std::move(of)) {}
  explicit operator bool() const noexcept { return static_cast<bool>(value_); }
  /* Takes the value out, or throws the failure. */
  T value() && {
    if (!value_) throw result_.as_error();
    return std::move(value_);
  }
  T *operator->() noexcept { return &value_; }
  T &operator*() &noexcept { return value_; }
  /* What came of the call: its document, and the failure if it failed. */
  const toolnexus::result &result() const noexcept { return result_; }

 private:
  T value_;
  toolnexus::result result_;
};

/* One event of a queue: see TN_EVENT_DONE and the others in toolnexus.h. */
struct event {
  std::int32_t kind;
  std::uint64_t id;
  toolnexus::result result;
};

/* A place in a queue for one completion. */
struct slot {
  tn_queue *queue;
  std::uint64_t id;
};

/* Where completions and events arrive, for programs that wait for them themselves. */
class queue : public detail::object<tn_queue> {
 public:
  queue() : object(tn_queue_new()) {
    if (!*this) throw error(status::forked, "no queue can be made in a forked child");
  }
  explicit queue(tn_queue *reference) noexcept : object(reference) {}
  slot at(std::uint64_t id) const noexcept { return {get(), id}; }
  /* A socket to wait on: see tn_queue_fd. It is yours to close; -1 if there is none. */
  int fd() const noexcept { return tn_queue_fd(get()); }
  /* Waits for the first event, at most so long (negative: for ever), and takes at most `most`. None: the time is over. Throws
   * closed when nothing will come any more. */
  std::vector<event> take(std::chrono::milliseconds wait, std::size_t most = 64) {
    std::vector<event> events;
    detail::check(static_cast<tn_status>(try_take(events, wait, most)), "taking from a queue");
    return events;
  }
  status try_take(std::vector<event> &events, std::chrono::milliseconds wait, std::size_t most = 64) {
    tn_event taken[64];
    std::size_t count = 0;
    auto ms = wait.count() < 0 ? -1 : wait.count() > INT32_MAX ? INT32_MAX : static_cast<std::int32_t>(wait.count());
    events.reserve(events.size() + (most < 64 ? most : 64));
    tn_status status = tn_queue_take(get(), taken, most < 64 ? most : 64, ms, &count);
    for (std::size_t i = 0; i < count; i++) events.push_back({taken[i].kind, taken[i].id, result(taken[i].result)});
    return toolnexus::status{status};
  }
  void close() { detail::check(tn_queue_close(get()), "closing a queue"); }
  status try_close() noexcept { return status{tn_queue_close(get())}; }
};

namespace detail {

/* -- completions: one callback queue for the program, whose ids are the addresses of what waits ------------------------ */

struct completion {
  virtual ~completion() = default;
  virtual void complete(result result) = 0;
};

inline void complete(std::uintptr_t, const tn_event *event) noexcept {
  if (event->kind != TN_EVENT_DONE) {
    tn_free(event->result);
    return;
  }
  std::unique_ptr<completion> waiting(reinterpret_cast<completion *>(static_cast<std::uintptr_t>(event->id)));
  try {
    waiting->complete(result(event->result));
  } catch (...) { /* has no caller to go to */
  }
}

/* The queue frees itself when it is closed, by a shutdown, and everything that was to complete in it has. `user` is where its
 * reference stands, or will: the one who comes second frees it. */
using outlet = std::atomic<tn_queue *>;
inline tn_queue *dropped() noexcept { return reinterpret_cast<tn_queue *>(std::uintptr_t{1}); }

inline void drop_outlet(std::uintptr_t user) noexcept {
  std::unique_ptr<outlet> closed(reinterpret_cast<outlet *>(user));
  if (tn_queue *queue = closed->exchange(dropped())) tn_free(queue);
  else closed.release();
}

/* The queue of now. Never destroyed: library threads may use it until the end of the process. */
inline outlet &outlet_of_now() noexcept {
  static outlet queue{nullptr};
  return queue;
}

/* Makes the queue, or another one in place of `closed`. */
inline tn_queue *make_outlet(tn_queue *closed) {
  static std::mutex lock;
  std::lock_guard<std::mutex> guard(lock);
  if (outlet_of_now() != closed) return outlet_of_now();
  auto place = std::make_unique<outlet>(nullptr);
  tn_queue *made = tn_queue_with_callback(complete, reinterpret_cast<std::uintptr_t>(place.get()), drop_outlet);
  if (!made) throw error(status::internal, "no thread for completions can be started");
  if (place->exchange(made) == dropped()) tn_free(made);
  else place.release();
  outlet_of_now() = made;
  return made;
}

/* Calls submit(queue, id) so that `waiting` gets the completion. */
template <class Call>
void submit(std::unique_ptr<completion> waiting, Call &&call) {
  auto id = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(waiting.get()));
  tn_queue *queue = outlet_of_now().load(std::memory_order_acquire);
  if (!queue) queue = make_outlet(nullptr);
  tn_status got = call(queue, id);
  if (got == TN_E_CLOSED || got == TN_E_HANDLE) got = call(make_outlet(queue), id);
  check(got, "submitting a call");
  waiting.release();
}

/* What stands for "give me a future". */
struct use_future {};

template <class To, class T>
inline constexpr bool is_completion = std::is_invocable_v<std::decay_t<To> &, T> || std::is_same_v<std::decay_t<To>, slot>;
template <class To>
using if_completion = std::enable_if_t<is_completion<To, result> || std::is_same_v<std::decay_t<To>, use_future>>;

template <class T, class Make, class To>
struct calling final : completion {
  Make make;
  To to;
  calling(Make making, To called) : make(std::move(making)), to(std::move(called)) {}
  void complete(result done) override { to(make(std::move(done))); }
};

/* What a future of a call gives: the result, or what the call would throw. */
inline result settle(result done) {
  if (thrown(done.status())) throw done.as_error();
  return done;
}
template <class T>
T settle(outcome<T> done) {
  return std::move(done).value();
}

template <class T, class Make>
struct promising final : completion {
  Make make;
  std::promise<T> promise;
  explicit promising(Make making) : make(std::move(making)) {}
  void complete(result done) override {
    try {
      promise.set_value(settle(make(std::move(done))));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }
};

/* Starts a call: `make` turns its result into what `to` gets, T in a future. */
template <class T, class Make, class To, class Submit>
auto begin(Make make, To &&to, Submit &&call) {
  if constexpr (std::is_same_v<std::decay_t<To>, slot>) {
    check(call(to.queue, to.id), "submitting a call");
  } else if constexpr (std::is_same_v<std::decay_t<To>, use_future>) {
    auto waiting = std::make_unique<promising<T, Make>>(std::move(make));
    auto future = waiting->promise.get_future();
    submit(std::move(waiting), call);
    return future;
  } else {
    using waiting = calling<T, Make, std::decay_t<To>>;
    submit(std::make_unique<waiting>(std::move(make), std::forward<To>(to)), call);
  }
}

inline result as_it_is(result done) noexcept { return done; }

template <class To, class Submit>
auto begin_call(To &&to, Submit &&call) {
  return begin<result>(as_it_is, std::forward<To>(to), std::forward<Submit>(call));
}

/* -- crews: threads that serve what servers and callers ask of the host ------------------------------------------------ */

/* A question that waits for an answer. */
struct question {
  std::uint64_t id;
  result document;
  std::atomic<bool> wanted{true};
};

/* What its threads share: they take one event at a time, one after the other, so that notices stay in order; a question lets
 * the next thread take while it is answered. */
struct crew_state {
  reference<tn_queue> queue;
  std::function<void(question &)> answer;
  std::function<void(std::string_view)> notice;
  std::mutex taking, lock;
  std::condition_variable left;
  std::size_t threads = 0, idle = 0;
  std::map<std::uint64_t, question *> open;
};

constexpr std::size_t most_threads = 64;

/* The crew that this thread belongs to. */
inline crew_state *&crew_of_this_thread() noexcept {
  static thread_local crew_state *crew = nullptr;
  return crew;
}

/* How many threads all crews have. Never destroyed, as they may end later than main. */
struct headcount {
  std::mutex lock;
  std::condition_variable changed;
  std::size_t count = 0;
  static headcount &of_all() {
    static headcount *all = new headcount;
    return *all;
  }
  static void add(std::size_t by) {
    headcount &all = of_all();
    std::lock_guard<std::mutex> guard(all.lock);
    all.count += by;
    all.changed.notify_all();
  }
};

inline void work(std::shared_ptr<crew_state> crew);

/* Starts one more thread. Called with the lock held. */
inline void hire(const std::shared_ptr<crew_state> &crew) {
  crew->threads++, crew->idle++;
  headcount::add(1);
  try {
    std::thread(work, crew).detach();
  } catch (...) {
    crew->threads--, crew->idle--;
    headcount::add(static_cast<std::size_t>(-1));
    throw;
  }
}

inline void answer_question(const std::shared_ptr<crew_state> &crew, const tn_event &event) {
  question asked{event.id, result(event.result)};
  {
    std::lock_guard<std::mutex> guard(crew->lock);
    crew->open[asked.id] = &asked;
    crew->idle--;
    try {
      if (crew->idle == 0 && crew->threads < most_threads) hire(crew);
    } catch (...) { /* then one question after the other */
    }
  }
  crew->taking.unlock();
  crew->answer(asked);
  std::lock_guard<std::mutex> guard(crew->lock);
  crew->open.erase(asked.id);
  crew->idle++;
}

inline void work(std::shared_ptr<crew_state> crew) {
  crew_of_this_thread() = crew.get();
  for (;;) {
    tn_event event;
    std::size_t count = 0;
    crew->taking.lock();
    if (tn_queue_take(crew->queue.get(), &event, 1, -1, &count) != TN_OK || count == 0) break;
    if (event.kind == TN_EVENT_REQUEST || event.kind == TN_EVENT_CALL) {
      answer_question(crew, event); /* unlocks */
      continue;
    }
    result document(event.result);
    if (event.kind == TN_EVENT_CANCEL) {
      std::lock_guard<std::mutex> guard(crew->lock);
      auto asked = crew->open.find(event.id);
      if (asked != crew->open.end()) asked->second->wanted = false;
    } else if (event.kind == TN_EVENT_NOTICE && crew->notice) {
      try {
        crew->notice(document.json());
      } catch (...) { /* has no caller to go to */
      }
    }
    crew->taking.unlock();
  }
  crew->taking.unlock();
  std::unique_lock<std::mutex> guard(crew->lock);
  bool last = --crew->threads == 0;
  if (last) crew->queue.reset();
  crew->left.notify_all();
  guard.unlock();
  crew.reset();
  headcount::add(static_cast<std::size_t>(-1));
}

/* Owns a crew: its end closes the queue and waits for the functions that run, but for the one that brings the end about. */
class crew {
 public:
  crew(std::function<void(question &)> answer, std::function<void(std::string_view)> notice)
      : state_(std::make_shared<crew_state>()) {
    state_->queue.reset(tn_queue_new());
    queue_ = state_->queue.get();
    if (!queue_) throw error(status::forked, "no queue can be made in a forked child");
    state_->answer = std::move(answer);
    state_->notice = std::move(notice);
    std::lock_guard<std::mutex> guard(state_->lock);
    hire(state_);
  }
  crew(const crew &) = delete;
  crew &operator=(const crew &) = delete;
  ~crew() {
    if (tn_queue_close(queue_) == TN_E_FORKED) return; /* the threads are the parent's */
    std::size_t self = crew_of_this_thread() == state_.get() ? 1 : 0;
    std::unique_lock<std::mutex> guard(state_->lock);
    state_->left.wait(guard, [&] { return state_->threads <= self; });
  }
  tn_queue *queue() const noexcept { return queue_; }

 private:
  std::shared_ptr<crew_state> state_;
  tn_queue *queue_;
};

}  // namespace detail

/* Time-outs and a way to cancel, for any number of calls. See tn_context_new. */
class context : public detail::object<tn_context> {
 public:
  context() : object(tn_context_new()) {
    if (!*this) throw error(status::forked, "no context can be made in a forked child");
  }
  /* How long a call may be silent, and how long it may take in all. 0: the default. */
  context &timeout(std::chrono::milliseconds idle) {
    detail::check(tn_context_set_timeout(get(), in_range(idle)), "setting a time-out");
    return *this;
  }
  context &deadline(std::chrono::milliseconds total) {
    detail::check(tn_context_set_deadline(get(), in_range(total)), "setting a deadline");
    return *this;
  }
  /* Has the progress of the calls arrive in a queue, as TN_EVENT_NOTICE with this id. */
  context &progress(slot to) {
    detail::check(tn_context_set_progress(get(), to.queue, to.id), "setting where progress goes");
    return *this;
  }
  /* Calls the function with each notice of progress, {"kind":"progress",…}, in order, on a thread of the context's. */
  context &progress(std::function<void(std::string_view notice)> told) {
    auto made = std::make_unique<detail::crew>(nullptr, std::move(told));
    progress(slot{made->queue(), 0});
    crew_ = std::move(made);
    return *this;
  }
  /* Ends every call that uses the context, now and later, with cancelled. Any thread. */
  void cancel() { detail::check(tn_context_cancel(get()), "cancelling"); }
  status try_cancel() noexcept { return status{tn_context_cancel(get())}; }

 private:
  static std::uint32_t in_range(std::chrono::milliseconds time) {
    if (time.count() < 0) throw error(status::argument, "a time is negative");
    return time.count() > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(time.count());
  }
  std::unique_ptr<detail::crew> crew_;
};

/* The context of a call, or none for the defaults. */
class with {
 public:
  with() noexcept = default;
  with(const context &context) noexcept : context_(context.get()) {}
  tn_context *get() const noexcept { return context_; }

 private:
  tn_context *context_ = nullptr;
};

/* -- what the host is asked -------------------------------------------------------------------------------------------- */

/* A server asks the host something: a form or a URL (elicitation), or a message of a model (sampling). */
class request {
 public:
  explicit request(detail::question &asked) noexcept : asked_(asked) {}
  /* {"id":7,"server":"…","kind":"input","prompt":"…","url":"…","data":{"schema":{…}},"tool":"…","params":{…}} */
  std::string_view json() const noexcept { return asked_.document.json(); }
  std::string kind() const { return toolnexus::json::unquote(toolnexus::json::member(json(), "kind")); }
  std::string server() const { return toolnexus::json::unquote(toolnexus::json::member(json(), "server")); }
  std::string prompt() const { return toolnexus::json::unquote(toolnexus::json::member(json(), "prompt")); }
  /* False once the server wants no answer any more. */
  bool wanted() const noexcept { return asked_.wanted; }

 private:
  detail::question &asked_;
};

/* What the host answers to a request. */
class answer {
 public:
  /* Accepts; `data`, a JSON object, is what was asked for. */
  static answer accept(text data = "{}") { return answer("{\"ok\":true,\"data\":" + std::string(data.c_str()) + "}"); }
  static answer decline() { return answer("{\"ok\":false,\"reason\":\"declined\"}"); }
  static answer cancel() { return answer("{\"ok\":false,\"reason\":\"cancelled\"}"); }
  const std::string &json() const noexcept { return json_; }

 private:
  explicit answer(std::string made) : json_(std::move(made)) {}
  std::string json_;
};

/* A tool of the host is called. */
class call {
 public:
  explicit call(detail::question &asked) noexcept : asked_(asked) {}
  /* The arguments, a JSON object. */
  std::string_view arguments() const { return toolnexus::json::member(asked_.document.json(), "arguments"); }
  /* False once the caller wants no answer any more. */
  bool wanted() const noexcept { return asked_.wanted; }

 private:
  detail::question &asked_;
};

/* What a tool of the host gives: text, and if need be more. */
struct reply {
  reply(std::string said, bool failed = false) : output(std::move(said)), is_error(failed) {}
  reply(std::string_view said) : output(said) {}
  reply(const char *said) : output(said) {}
  reply(std::nullptr_t) = delete;
  std::string output;
  bool is_error = false;
  std::string metadata; /* a JSON object; empty: none */
  std::string parts;    /* a JSON array of objects with `data` or `url`; empty: none */
  std::string json() const {
    return "{\"output\":" + json::quote(output) + (is_error ? ",\"isError\":true" : "") +
           (metadata.empty() ? "" : ",\"metadata\":" + metadata) + (parts.empty() ? "" : ",\"parts\":" + parts) + "}";
  }
};

/* The host's side of a source: the functions that it calls. */
struct host {
  /* Answers what servers ask; without it they are told that nobody can be asked. May run several times at once. */
  std::function<answer(const request &)> request;
  /* Told of changed lists, servers' states and logs: {"kind":"tools_changed","server":"…"}. One at a time, in order. */
  std::function<void(std::string_view notice)> notice;
};

namespace detail {

/* Answers, and if the answer does not fit says so in place of it, so that nobody waits for another. */
inline void send(std::uint64_t id, const std::string &json, const char *kind_of_refusal) {
  result sent(tn_answer(id, json.c_str()));
  if (sent.status() != status::json && sent.status() != status::argument && sent.status() != status::utf8) return;
  std::string instead = kind_of_refusal ? kind_of_refusal : reply(std::string(sent.output()), true).json();
  tn_free(tn_answer(id, instead.c_str()));
}

inline std::unique_ptr<crew> host_crew(host host) {
  if (!host.request && !host.notice) return nullptr;
  auto answer = [ask = std::move(host.request)](question &asked) {
    static const char cancelled[] = "{\"ok\":false,\"reason\":\"cancelled\"}";
    std::string json = cancelled;
    try {
      if (ask) json = ask(request(asked)).json();
    } catch (...) { /* cancels */
    }
    send(asked.id, json, cancelled);
  };
  return std::make_unique<crew>(std::move(answer), std::move(host.notice));
}

inline std::shared_ptr<crew> tool_crew(std::function<reply(const call &)> run) {
  auto answer = [run = std::move(run)](question &asked) {
    std::string json;
    try {
      json = run(call(asked)).json();
    } catch (const std::exception &thrown) {
      json = reply(thrown.what(), true).json();
    } catch (...) {
      json = reply("the tool failed, and does not say why", true).json();
    }
    send(asked.id, json, nullptr);
  };
  return std::make_shared<crew>(std::move(answer), nullptr);
}

}  // namespace detail

/* -- tools ------------------------------------------------------------------------------------------------------------- */

/* One tool. */
class tool : public detail::object<tn_tool> {
  template <class To>
  auto start(const text &arguments, To &&to, with context) const {
    return detail::begin_call(std::forward<To>(to), [&](tn_queue *queue, std::uint64_t id) {
      return tn_tool_execute_submit(get(), arguments.c_str(), context.get(), queue, id);
    });
  }

 public:
  using object::object;

  /* Makes a tool that the host runs: {"name":"add","description":"…","inputSchema":{…},"hints":{…}}. `run` gets each call, on a
   * thread of the tool's, several at a time. The tool works while this object lives, or a toolkit that it was added to. */
  static tool create(text spec, std::function<reply(const call &)> run) { return try_create(spec, std::move(run)).value(); }
  static outcome<tool> try_create(text spec, std::function<reply(const call &)> run) {
    auto crew = detail::tool_crew(std::move(run));
    result made(tn_tool_create(spec.c_str(), crew->queue()));
    tool created(tn_result_take_tool(made.get()));
    if (created) created.crew_ = std::move(crew);
    return {std::move(created), std::move(made)};
  }

  std::string_view name() const &noexcept {
    const char *text = tn_tool_name(get());
    return text ? text : std::string_view();
  }
  std::string name() const && { return std::string(name()); }
  /* What the tool is: see tn_tool_json. */
  std::string_view json() const &noexcept {
    std::size_t length;
    const char *text = tn_tool_json(get(), &length);
    return text ? std::string_view(text, length) : std::string_view();
  }
  std::string json() const && { return std::string(json()); }

  /* Calls the tool and waits. `arguments`: a JSON object. */
  result execute(text arguments = "{}", with context = {}) const { return detail::settle(try_execute(arguments, context)); }
  result try_execute(text arguments = "{}", with context = {}) const {
    return result(tn_tool_execute(get(), arguments.c_str(), context.get()));
  }
  std::future<result> execute_async(text arguments = "{}", with context = {}) const {
    return start(arguments, detail::use_future{}, context);
  }
  template <class To, class = detail::if_completion<To>>
  void execute_async(text arguments, To &&to, with context = {}) const {
    start(arguments, std::forward<To>(to), context);
  }

 private:
  friend class toolkit;
  std::shared_ptr<detail::crew> crew_;
};

/* A list of tools: a snapshot that never changes. */
class tools : public detail::object<tn_tools> {
 public:
  using object::object;

  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = tool;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = tool;
    iterator(const tn_tools *tools, std::size_t at) noexcept : tools_(tools), at_(at) {}
    tool operator*() const noexcept { return tool(tn_tools_get(tools_, at_)); }
    iterator &operator++() noexcept {
      at_++;
      return *this;
    }
    bool operator==(const iterator &other) const noexcept { return at_ == other.at_; }
    bool operator!=(const iterator &other) const noexcept { return at_ != other.at_; }

   private:
    const tn_tools *tools_;
    std::size_t at_;
  };

  std::size_t size() const noexcept { return tn_tools_len(get()); }
  bool empty() const noexcept { return size() == 0; }
  iterator begin() const noexcept { return {get(), 0}; }
  iterator end() const noexcept { return {get(), size()}; }
  /* The tool at a place; empty past the end. */
  tool operator[](std::size_t index) const noexcept { return tool(tn_tools_get(get(), index)); }
  /* The tool of a name; empty, or thrown as not_found, if there is none. */
  tool find(text name) const { return tool(tn_tools_find(get(), name.c_str())); }
  tool at(text name) const {
    tool found = find(name);
    if (!found) throw error(status::not_found, "there is no tool " + json::quote(name.c_str() ? name.c_str() : ""));
    return found;
  }
  /* The documents of all tools, one JSON array. */
  std::string_view json() const &noexcept {
    std::size_t length;
    const char *text = tn_tools_json(get(), &length);
    return text ? std::string_view(text, length) : std::string_view();
  }
  std::string json() const && { return std::string(json()); }
  /* The tools in the form of a provider of models: see tn_tools_schema. */
  std::string schema(provider provider) const {
    result made = try_schema(provider);
    if (made.is_error()) throw made.as_error();
    return std::move(made).json();
  }
  result try_schema(provider provider) const {
    static const char *const names[] = {"openai", "anthropic", "gemini"};
    return result(tn_tools_schema(get(), names[static_cast<std::size_t>(provider)]));
  }
};

namespace detail {

/* A result that is no tool's: it throws whenever it failed. */
inline result succeeded(result done) {
  if (done.is_error()) throw done.as_error();
  return done;
}

/* A future of such a result. */
struct document {
  result of;
};
inline result settle(document done) { return succeeded(std::move(done.of)); }
inline document as_document(result done) { return {std::move(done)}; }

template <class To, class Submit>
auto begin_document(To &&to, Submit &&call) {
  if constexpr (std::is_same_v<std::decay_t<To>, use_future>)
    return begin<result>(as_document, std::forward<To>(to), std::forward<Submit>(call));
  else
    return begin_call(std::forward<To>(to), std::forward<Submit>(call));
}

}  // namespace detail

/* -- sources ----------------------------------------------------------------------------------------------------------- */

/* Reads and checks a config, and starts nothing: see tn_config_parse. */
inline result try_parse_config(text config, text options = "{}") {
  return result(tn_config_parse(config.c_str(), options.c_str()));
}
inline result parse_config(text config, text options = "{}") {
  return detail::succeeded(try_parse_config(config, options));
}

/* Says what the servers of a config offer, and keeps nothing open: see tn_mcp_inventory. */
inline result try_inventory(text config, text options = "{}", with context = {}) {
  return result(tn_mcp_inventory(config.c_str(), options.c_str(), context.get()));
}
inline result inventory(text config, text options = "{}", with context = {}) {
  return detail::succeeded(try_inventory(config, options, context));
}
template <class To, class = detail::if_completion<To>>
auto inventory_async(text config, text options, To &&to, with context = {}) {
  return detail::begin_document(std::forward<To>(to), [&](tn_queue *queue, std::uint64_t id) {
    return tn_mcp_inventory_submit(config.c_str(), options.c_str(), context.get(), queue, id);
  });
}
inline std::future<result> inventory_async(text config, text options = "{}", with context = {}) {
  return inventory_async(config, options, detail::use_future{}, context);
}

/* The connected servers of one config. Its end closes it, in the background; close() waits. */
class source : public detail::object<tn_mcp> {
  static outcome<source> taken(result loaded, std::shared_ptr<detail::crew> crew) {
    source made(tn_result_take_mcp(loaded.get()));
    if (made) made.crew_ = std::move(crew);
    return {std::move(made), std::move(loaded)};
  }
  template <class To>
  static auto start(const text &config, const text &options, host host, To &&to, with context) {
    detail::check_version();
    std::shared_ptr<detail::crew> crew = detail::host_crew(std::move(host));
    tn_queue *events = crew ? crew->queue() : nullptr;
    auto make = [crew = std::move(crew)](result loaded) mutable { return taken(std::move(loaded), std::move(crew)); };
    return detail::begin<source>(std::move(make), std::forward<To>(to), [&](tn_queue *queue, std::uint64_t id) {
      return tn_mcp_load_submit(config.c_str(), options.c_str(), events, context.get(), queue, id);
    });
  }

 public:
  using object::object;

  /* Connects to every server of a config, JSON text or a path, and waits until each is connected or has failed: see
   * tn_mcp_load. A server that failed is no failure; status() tells. */
  static source load(text config, text options = "{}", host host = {}, with context = {}) {
    detail::check_version();
    return try_load(config, options, std::move(host), context).value();
  }
  static outcome<source> try_load(text config, text options = "{}", host host = {}, with context = {}) {
    auto crew = detail::host_crew(std::move(host));
    result loaded(tn_mcp_load(config.c_str(), options.c_str(), crew ? crew->queue() : nullptr, context.get()));
    return taken(std::move(loaded), std::move(crew));
  }
  /* The same without blocking. A completion gets an outcome<source>. */
  static std::future<source> load_async(text config, text options = "{}", host host = {}, with context = {}) {
    return start(config, options, std::move(host), detail::use_future{}, context);
  }
  template <class To, class = std::enable_if_t<std::is_invocable_v<std::decay_t<To> &, outcome<source>>>>
  static void load_async(text config, text options, host host, To &&to, with context = {}) {
    start(config, options, std::move(host), std::forward<To>(to), context);
  }

  /* Every server's tools, as of now. */
  toolnexus::tools tools() const noexcept { return toolnexus::tools(tn_mcp_tools(get())); }
  /* list_mcp_resources and read_mcp_resource. */
  toolnexus::tools resource_tools() const noexcept { return toolnexus::tools(tn_resource_tools(get())); }
  /* The state of every server: the document of tn_mcp_load. */
  result status() const { return detail::succeeded(try_status()); }
  result try_status() const noexcept { return result(tn_mcp_status(get())); }

  /* Sends any request to one server and waits for its reply, which is the document: see tn_mcp_request. */
  result request(text server, text method, text params = "{}", with context = {}) {
    return detail::succeeded(try_request(server, method, params, context));
  }
  result try_request(text server, text method, text params = "{}", with context = {}) {
    return result(tn_mcp_request(get(), server.c_str(), method.c_str(), params.c_str(), context.get()));
  }
  template <class To, class = detail::if_completion<To>>
  auto request_async(text server, text method, text params, To &&to, with context = {}) {
    return detail::begin_document(std::forward<To>(to), [&](tn_queue *queue, std::uint64_t id) {
      return tn_mcp_request_submit(get(), server.c_str(), method.c_str(), params.c_str(), context.get(), queue, id);
    });
  }
  std::future<result> request_async(text server, text method, text params = "{}", with context = {}) {
    return request_async(server, method, params, detail::use_future{}, context);
  }

  /* For `uri` in read_skill: SKILL.md itself. */
  static constexpr const char *skill_md = nullptr;
  /* Reads a file of a skill, if it is what the skill's entry says: see tn_mcp_skill_read. `skill` is the entry, as JSON, or the uri
   * of SKILL.md; what does not verify is an error with status::protocol. */
  result read_skill(text server, text skill, text uri = skill_md, with context = {}) {
    return detail::succeeded(try_read_skill(server, skill, uri, context));
  }
  result try_read_skill(text server, text skill, text uri = skill_md, with context = {}) {
    return result(tn_mcp_skill_read(get(), server.c_str(), skill.c_str(), uri.c_str(), context.get()));
  }
  template <class To, class = detail::if_completion<To>>
  auto read_skill_async(text server, text skill, text uri, To &&to, with context = {}) {
    return detail::begin_document(std::forward<To>(to), [&](tn_queue *queue, std::uint64_t id) {
      return tn_mcp_skill_read_submit(get(), server.c_str(), skill.c_str(), uri.c_str(), context.get(), queue, id);
    });
  }
  std::future<result> read_skill_async(text server, text skill, text uri = skill_md, with context = {}) {
    return read_skill_async(server, skill, uri, detail::use_future{}, context);
  }

  /* Ends a server and starts it again; all of them without a name. */
  result restart(text server, with context = {}) { return detail::succeeded(try_restart(server, context)); }
  result restart(with context = {}) { return detail::succeeded(try_restart(context)); }
  result try_restart(text server, with context = {}) {
    return result(tn_mcp_restart(get(), server.c_str(), context.get()));
  }
  result try_restart(with context = {}) { return result(tn_mcp_restart(get(), nullptr, context.get())); }
  template <class To, class = detail::if_completion<To>>
  auto restart_async(text server, To &&to, with context = {}) {
    return detail::begin_document(std::forward<To>(to), [&](tn_queue *queue, std::uint64_t id) {
      return tn_mcp_restart_submit(get(), server.c_str(), context.get(), queue, id);
    });
  }
  std::future<result> restart_async(text server, with context = {}) {
    return restart_async(server, detail::use_future{}, context);
  }

  /* Closes the source: calls under way end with closed. Waits until nothing of it runs; again: no effect. */
  void close(with context = {}) { detail::succeeded(try_close(context)); }
  result try_close(with context = {}) noexcept { return result(tn_mcp_close(get(), context.get())); }
  template <class To, class = detail::if_completion<To>>
  auto close_async(To &&to, with context = {}) {
    return detail::begin_document(std::forward<To>(to), [&](tn_queue *queue, std::uint64_t id) {
      return tn_mcp_close_submit(get(), context.get(), queue, id);
    });
  }
  std::future<result> close_async(with context = {}) {
    return close_async(detail::use_future{}, context);
  }

 private:
  std::shared_ptr<detail::crew> crew_; /* what the host does for the servers */
};

/* Many sources of tools as one: the servers of a config, and the host's own. Its end closes it, in the background. */
class toolkit : public detail::object<tn_toolkit> {
  static outcome<toolkit> taken(result made, std::shared_ptr<detail::crew> crew) {
    toolkit created(tn_result_take_toolkit(made.get()));
    if (created && crew) created.crews_.push_back(std::move(crew));
    return {std::move(created), std::move(made)};
  }
  template <class To>
  static auto start(const text &options, host host, To &&to, with context) {
    detail::check_version();
    std::shared_ptr<detail::crew> crew = detail::host_crew(std::move(host));
    tn_queue *events = crew ? crew->queue() : nullptr;
    auto make = [crew = std::move(crew)](result made) mutable { return taken(std::move(made), std::move(crew)); };
    return detail::begin<toolkit>(std::move(make), std::forward<To>(to), [&](tn_queue *queue, std::uint64_t id) {
      return tn_toolkit_create_submit(options.c_str(), events, context.get(), queue, id);
    });
  }
  template <class To>
  auto begin_execute(const text &name, const text &arguments, To &&to, with context) {
    return detail::begin_call(std::forward<To>(to), [&](tn_queue *queue, std::uint64_t id) {
      return tn_toolkit_execute_submit(get(), name.c_str(), arguments.c_str(), context.get(), queue, id);
    });
  }

 public:
  using object::object;

  /* Options: {"mcpConfig":…,"mcpOptions":{…},"disableTools":["…"]}; see tn_toolkit_create. Waits for the servers. */
  static toolkit create(text options = "{}", host host = {}, with context = {}) {
    detail::check_version();
    return try_create(options, std::move(host), context).value();
  }
  static outcome<toolkit> try_create(text options = "{}", host host = {}, with context = {}) {
    auto crew = detail::host_crew(std::move(host));
    result made(tn_toolkit_create(options.c_str(), crew ? crew->queue() : nullptr, context.get()));
    return taken(std::move(made), std::move(crew));
  }
  /* The same without blocking. A completion gets an outcome<toolkit>. */
  static std::future<toolkit> create_async(text options = "{}", host host = {}, with context = {}) {
    return start(options, std::move(host), detail::use_future{}, context);
  }
  template <class To, class = std::enable_if_t<std::is_invocable_v<std::decay_t<To> &, outcome<toolkit>>>>
  static void create_async(text options, host host, To &&to, with context = {}) {
    start(options, std::move(host), std::forward<To>(to), context);
  }

  /* Adds a tool. A name that is taken stays with the tool that has it: the document says what became of it. */
  result add(const tool &tool) { return detail::succeeded(try_add(tool)); }
  result try_add(const tool &tool) {
    if (tool.crew_) crews_.reserve(crews_.size() + 1);
    result added(tn_toolkit_register(get(), tool.get()));
    if (tool.crew_ && !added.is_error()) crews_.push_back(tool.crew_);
    return added;
  }
  /* The tools as of now: the servers', then those that were added. */
  toolnexus::tools tools() const noexcept { return toolnexus::tools(tn_toolkit_tools(get())); }
  /* The tool of a name; empty if there is none. */
  tool find(text name) const { return tool(tn_toolkit_get(get(), name.c_str())); }
  /* The source that the toolkit was created with; empty if it has none. */
  toolnexus::source source() const noexcept { return toolnexus::source(tn_toolkit_mcp(get())); }

  /* Calls the tool of a name and waits. */
  result execute(text name, text arguments = "{}", with context = {}) {
    return detail::settle(try_execute(name, arguments, context));
  }
  result try_execute(text name, text arguments = "{}", with context = {}) {
    return result(tn_toolkit_execute(get(), name.c_str(), arguments.c_str(), context.get()));
  }
  std::future<result> execute_async(text name, text arguments = "{}", with context = {}) {
    return begin_execute(name, arguments, detail::use_future{}, context);
  }
  template <class To, class = detail::if_completion<To>>
  void execute_async(text name, text arguments, To &&to, with context = {}) {
    begin_execute(name, arguments, std::forward<To>(to), context);
  }

  /* Closes the toolkit and its source. Waits until nothing of it runs; again: no effect. */
  void close(with context = {}) { detail::succeeded(try_close(context)); }
  result try_close(with context = {}) noexcept { return result(tn_toolkit_close(get(), context.get())); }
  template <class To, class = detail::if_completion<To>>
  auto close_async(To &&to, with context = {}) {
    return detail::begin_document(std::forward<To>(to), [&](tn_queue *queue, std::uint64_t id) {
      return tn_toolkit_close_submit(get(), context.get(), queue, id);
    });
  }
  std::future<result> close_async(with context = {}) {
    return close_async(detail::use_future{}, context);
  }

 private:
  std::vector<std::shared_ptr<detail::crew>> crews_; /* of the tools that were added, and of the host */
};

/* -- the library ------------------------------------------------------------------------------------------------------- */

/* The version of the library, such as "0.1.0". */
inline std::string_view version() noexcept { return tn_version(); }

enum class level : std::int32_t { off, error, warning, info, debug, trace };

/* Sends the library's log to a function, which runs on a thread of the library: it must not block. What it throws is lost. */
inline void log(level least, std::function<void(level, std::string_view target, std::string_view message)> to) {
  using function = decltype(to);
  auto kept = std::make_unique<function>(std::move(to));
  auto say = [](std::uintptr_t user, std::int32_t level, const char *target, const char *message) noexcept {
    try {
      (*reinterpret_cast<function *>(user))(toolnexus::level{level}, target, message);
    } catch (...) { /* has no caller to go to */
    }
  };
  auto drop = [](std::uintptr_t user) noexcept { delete reinterpret_cast<function *>(user); };
  detail::check(tn_log_to_callback(static_cast<std::int32_t>(least), say, reinterpret_cast<std::uintptr_t>(kept.get()), drop),
                "setting the log");
  kept.release();
}

/* Ends everything, for tests and the end of main: see tn_shutdown. Sources close, calls end with closed, threads stop, those of
 * host tools too. Later calls start anew. The document counts what still lives, {"live":{"tool":3}}. */
inline result try_shutdown(std::chrono::milliseconds timeout) {
  auto until = std::chrono::steady_clock::now() + timeout;
  auto left = [&] {
    auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    return static_cast<std::uint32_t>(ms < 0 ? 0 : ms > UINT32_MAX ? UINT32_MAX : ms);
  };
  result ended(tn_shutdown(left()));
  if (ended.is_error() || ended.json() == "{\"live\":{}}") return ended;
  ended = result(); /* or it would be counted */
  /* The threads of tools and hosts have yet to see it, and hold their queues until then. */
  std::size_t self = detail::crew_of_this_thread() ? 1 : 0;
  detail::headcount &all = detail::headcount::of_all();
  std::unique_lock<std::mutex> guard(all.lock);
  all.changed.wait_until(guard, until, [&] { return all.count <= self; });
  guard.unlock();
  return result(tn_shutdown(left() + 1));
}
inline result shutdown(std::chrono::milliseconds timeout) { return detail::succeeded(try_shutdown(timeout)); }

}  // namespace toolnexus

#endif /* TOOLNEXUS_HPP */
