//go:build !toolnexus_dlopen

// Command bench compares calls through this package with the same calls in C: 64 in flight, each with its output and its document
// read. The first rows have a server behind them; the last have none (the source is closed, so that the library answers at
// once), which shows what the two ways cost by themselves.
package main

/*
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../ffi/library.h"

enum { IN_FLIGHT = 64 };

// The microseconds that a call took, of `calls`, or less than 0.
static double in_c(const char *config, const char *name, const char *arguments, int calls, bool closed) {
	tn_result *loaded = tn_mcp_load(config, NULL, NULL, NULL);
	tn_mcp *mcp = tn_result_take_mcp(loaded);
	tn_tools *tools = tn_mcp_tools(mcp);
	tn_tool *tool = tn_tools_find(tools, name);
	tn_queue *queue = tn_queue_new();
	if (closed) tn_free(tn_mcp_close(mcp, NULL));
	tn_event events[IN_FLIGHT];
	int asked = 0, done = 0;
	struct timespec began, ended;
	clock_gettime(CLOCK_MONOTONIC, &began);
	while (asked < IN_FLIGHT) tn_tool_execute_submit(tool, arguments, NULL, queue, (uint64_t)++asked);
	while (done < calls) {
		size_t count = 0;
		if (tn_queue_take(queue, events, IN_FLIGHT, -1, &count) != TN_OK) return -1;
		for (size_t i = 0; i < count; i++) {
			size_t length;
			if (tn_result_is_error(events[i].result) != closed || !tn_result_output(events[i].result, &length)) return -1;
			// The binding copies them.
			free(strdup(tn_result_output(events[i].result, &length)));
			free(strdup(tn_result_json(events[i].result, &length)));
			tn_free(events[i].result);
			done++;
			if (asked < calls) tn_tool_execute_submit(tool, arguments, NULL, queue, (uint64_t)++asked);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	tn_free(tn_mcp_close(mcp, NULL));
	tn_free(queue), tn_free(tool), tn_free(tools), tn_free(mcp), tn_free(loaded);
	return ((double)(ended.tv_sec - began.tv_sec) * 1e9 + (double)(ended.tv_nsec - began.tv_nsec)) / 1e3 / calls;
}
*/
import "C"

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	toolnexus "toolnexus/bindings/go"
)

const (
	inFlight  = 64
	rounds    = 5
	arguments = `{"text":"some text of a hundred bytes, as a small tool would say it: it is read, and then it is thrown away"}`
)

func main() {
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"x": map[string]any{"command": []string{os.Getenv("TOOLNEXUS_TINY")}}}})
	if err != nil {
		log.Fatal(err)
	}
	row("echo, with a server", string(text), 10_000, false)
	row("no server", string(text), 100_000, true)
}

// row prints the medians of rounds in which C and Go take turns.
func row(what, config string, calls int, closed bool) {
	var c, plain, cancellable, threads []float64
	for range rounds {
		c = append(c, inC(config, calls, closed))
		took, _ := inGo(context.Background(), config, calls, closed)
		plain = append(plain, took)
		ctx, cancel := context.WithCancel(context.Background())
		took, grown := inGo(ctx, config, calls, closed)
		cancel()
		cancellable, threads = append(cancellable, took), append(threads, float64(grown))
	}
	show := func(way string, took []float64) {
		fmt.Printf("%-20s %-22s %9.0f calls/s  %7.2f us a call  %+6.2f us over C\n", what, way, 1e6/median(took), median(took), median(took)-median(c))
	}
	show("C", c)
	show("Go", plain)
	show("Go, can be cancelled", cancellable)
	fmt.Printf("%-20s %.0f threads more at the most with %d calls in flight\n", what, slices.Max(threads), inFlight)
}

func median(numbers []float64) float64 {
	slices.Sort(numbers)
	return numbers[len(numbers)/2]
}

func inC(config string, calls int, closed bool) float64 {
	texts := []*C.char{C.CString(config), C.CString("x_echo"), C.CString(arguments)}
	defer func() {
		for _, text := range texts {
			C.free(unsafe.Pointer(text))
		}
	}()
	took := float64(C.in_c(texts[0], texts[1], texts[2], C.int(calls), C.bool(closed)))
	if took < 0 {
		log.Fatal("a call failed in C")
	}
	return took
}

func inGo(ctx context.Context, config string, calls int, closed bool) (float64, int) {
	source, err := toolnexus.Load(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	echo := source.Tool("x_echo")
	if closed {
		if err := source.Close(); err != nil {
			log.Fatal(err)
		}
	}
	before := threads()
	var left atomic.Int64
	left.Store(int64(calls))
	var done sync.WaitGroup
	began := time.Now()
	for range inFlight {
		done.Add(1)
		go func() {
			defer done.Done()
			for left.Add(-1) >= 0 {
				got, err := echo.Execute(ctx, json.RawMessage(arguments))
				if err != nil || got.IsError != closed {
					log.Fatalf("a call failed in Go: %v, %v", got, err)
				}
			}
		}()
	}
	done.Wait()
	return float64(time.Since(began).Nanoseconds()) / 1e3 / float64(calls), threads() - before
}

func threads() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var count int
	_, after, _ := strings.Cut(string(status), "Threads:")
	_, _ = fmt.Sscan(after, &count) // 0 where there is none
	return count
}
