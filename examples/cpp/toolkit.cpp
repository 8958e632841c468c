/* The tools of MCP servers and one of the program's own, from C++: listed, called one after the other and all at once.
 *
 *   toolkit CONFIG      CONFIG: an mcp.json, as text or as a path, with the fixture as its server `progress`
 */
#include <chrono>
#include <future>
#include <iostream>
#include <string>
#include <vector>

#include "toolnexus.hpp"

namespace json = toolnexus::json; /* a real program uses its JSON library */

namespace {

/* Asks the person at the terminal what a server wants to know. */
toolnexus::answer ask(const toolnexus::request &request) {
  std::cout << request.server() << " asks: " << request.prompt() << "\nyes or no? " << std::flush;
  std::string line;
  return std::getline(std::cin, line) && line == "yes" ? toolnexus::answer::accept() : toolnexus::answer::decline();
}

toolnexus::reply add(const toolnexus::call &call) {
  long a = std::stol(std::string(json::member(call.arguments(), "a"))); /* what it throws becomes an error result */
  long b = std::stol(std::string(json::member(call.arguments(), "b")));
  return std::to_string(a + b);
}

void use(const std::string &config) {
  toolnexus::host host;
  host.request = ask;
  /* In the options the config is an object, or a string with its path. */
  auto toolkit = toolnexus::toolkit::create(
      "{\"mcpConfig\":" + (config.front() == '{' ? config : json::quote(config)) + "}", host);
  toolkit.add(toolnexus::tool::create(
      R"({"name":"add","description":"Adds two whole numbers.","inputSchema":{"type":"object","properties":
          {"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]},"hints":{"readOnly":true}})",
      add));
  for (auto tool : toolkit.tools()) std::cout << tool.name() << '\n';

  /* Whatever comes of a call is for the model to read. */
  std::cout << "add: " << toolkit.execute("add", R"({"a":1,"b":2})").output() << '\n';
  std::cout << "add without b: " << (toolkit.execute("add", R"({"a":1})").is_error() ? "failed" : "worked") << '\n';
  std::cout << "subtract: " << toolkit.execute("subtract").output() << '\n';
  std::cout << "progress_fail: " << toolkit.execute("progress_fail").output() << '\n';

  /* Many at once. */
  std::vector<std::future<toolnexus::result>> calls;
  for (int i = 0; i < 100; i++) calls.push_back(toolkit.execute_async("add", "{\"a\":" + std::to_string(i) + ",\"b\":0}"));
  long sum = 0;
  for (auto &call : calls) sum += std::stol(call.get().output());
  std::cout << "0 + … + 99: " << sum << '\n';

  /* With limits. */
  toolnexus::context context;
  context.timeout(std::chrono::milliseconds(50));
  auto late = toolkit.execute("progress_slow", R"({"durationMs":60000,"intervalMs":0})", context);
  std::cout << "progress_slow: " << toolnexus::name(late.status()) << '\n';
  toolkit.close();
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: toolkit CONFIG\n";
    return 2;
  }
  try {
    use(argv[1]);
    std::cout << "left: " << toolnexus::shutdown(std::chrono::seconds(10)).json() << '\n';
  } catch (const toolnexus::error &error) {
    std::cerr << "toolkit: " << error.what() << '\n';
    return 1;
  }
}
