/* What toolnexus.hpp adds to the C ABI: the same calls, 64 in flight, by C (a queue that is read, a queue that calls back) and by
 * C++ (completions, futures), in turns.
 *
 *     cpp SERVER [ROUNDS [CALLS]]
 *
 * Prints the median of each in nanoseconds a call, on the clock and of the CPU: "read callback completion future". */
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <string>

#include "common.h"
#include "toolnexus.hpp"

namespace {

constexpr unsigned long in_flight = 64;
const char *const arguments = "{\"size\":100}";

void check(bool error, std::size_t length) {
    if (error || length != 100) fail("call", "the output is not what was asked for");
}

/* C: submits, and reads the queue. */
void read_queue(const toolnexus::tool &tool, unsigned long calls) {
    tn_queue *queue = tn_queue_new();
    unsigned long started = 0, done = 0;
    for (; started < in_flight; started++) tn_tool_execute_submit(tool.get(), arguments, nullptr, queue, started);
    while (done < calls) {
        tn_event events[in_flight];
        std::size_t count = 0, length;
        if (tn_queue_take(queue, events, in_flight, -1, &count) != TN_OK) fail("call", "the queue ended");
        for (std::size_t i = 0; i < count; i++, done++) {
            tn_result_output(events[i].result, &length);
            check(tn_result_is_error(events[i].result), length);
            tn_free(events[i].result);
            if (started < calls) tn_tool_execute_submit(tool.get(), arguments, nullptr, queue, started++);
        }
    }
    tn_free(queue);
}

/* Counts completions, and starts the next call in each. */
struct chain {
    const toolnexus::tool &tool;
    const unsigned long calls;
    unsigned long started = in_flight, done = 0;
    tn_queue *queue = nullptr;
    std::mutex lock;
    std::condition_variable changed;
    bool over = false;

    chain(const toolnexus::tool &called, unsigned long times) : tool(called), calls(times) {}
    bool next() {
        if (++done < calls) return started++ < calls;
        std::lock_guard<std::mutex> guard(lock);
        over = true;
        changed.notify_all();
        return false; /* the chain may be gone now */
    }
    void wait() {
        std::unique_lock<std::mutex> guard(lock);
        changed.wait(guard, [this] { return over; });
    }
};

/* C: a queue that calls back. No event comes before the first call, and the chain then knows its queue. */
void call_back(const toolnexus::tool &tool, unsigned long calls) {
    chain chain(tool, calls);
    std::atomic<bool> dropped{false};
    struct both {
        struct chain *chain;
        std::atomic<bool> *dropped;
    } both{&chain, &dropped};
    chain.queue = tn_queue_with_callback(
        [](std::uintptr_t user, const tn_event *event) {
            auto &chain = *reinterpret_cast<struct both *>(user)->chain;
            std::size_t length;
            tn_result_output(event->result, &length);
            check(tn_result_is_error(event->result), length);
            tn_free(event->result);
            if (chain.next()) tn_tool_execute_submit(chain.tool.get(), arguments, nullptr, chain.queue, 0);
        },
        reinterpret_cast<std::uintptr_t>(&both),
        [](std::uintptr_t user) { *reinterpret_cast<struct both *>(user)->dropped = true; });
    for (unsigned long i = 0; i < in_flight; i++) tn_tool_execute_submit(tool.get(), arguments, nullptr, chain.queue, 0);
    chain.wait();
    tn_free(chain.queue);
    while (!dropped) std::this_thread::yield();
}

void start(chain &chain) {
    chain.tool.execute_async(arguments, [&chain](const toolnexus::result &result) {
        check(result.is_error(), result.output().size());
        if (chain.next()) start(chain);
    });
}

void complete(const toolnexus::tool &tool, unsigned long calls) {
    chain chain(tool, calls);
    for (unsigned long i = 0; i < in_flight; i++) start(chain);
    chain.wait();
}

void wait_for_futures(const toolnexus::tool &tool, unsigned long calls) {
    std::deque<std::future<toolnexus::result>> waiting;
    for (unsigned long started = 0, done = 0; done < calls; done++) {
        for (; started < calls && waiting.size() < in_flight; started++) waiting.push_back(tool.execute_async(arguments));
        toolnexus::result result = waiting.front().get();
        waiting.pop_front();
        check(result.is_error(), result.output().size());
    }
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 2) fail("usage", "cpp SERVER [ROUNDS [CALLS]]");
    unsigned long rounds = argc > 2 ? number(argc, argv, 2) : 7, calls = argc > 3 ? number(argc, argv, 3) : 20000;
    void (*const ways[])(const toolnexus::tool &, unsigned long) = {read_queue, call_back, complete, wait_for_futures};
    constexpr std::size_t count = std::size(ways);
    auto source = toolnexus::source::load(std::string("{\"mcpServers\":{\"s\":{\"command\":[") + toolnexus::json::quote(argv[1]) + ",\"1\"]}}}");
    auto tool = source.tools()[0];
    std::vector<std::uint64_t> clock[count], cpu[count];
    for (auto way : ways) way(tool, in_flight); /* warm */
    for (unsigned long round = 0; round < rounds; round++)
        for (std::size_t i = 0; i < count; i++) {
            std::uint64_t began = now_ns(), spent = cpu_ns();
            ways[i](tool, calls);
            clock[i].push_back((now_ns() - began) / calls);
            cpu[i].push_back((cpu_ns() - spent) / calls);
        }
    for (auto *times : {clock, cpu})
        for (std::size_t i = 0; i < count; i++)
            std::printf("%llu%c", static_cast<unsigned long long>(median(times[i].data(), rounds)), i + 1 < count ? ' ' : '\n');
    source.close();
    toolnexus::shutdown(std::chrono::seconds(5));
    return 0;
}
