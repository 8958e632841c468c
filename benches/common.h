/* What the benchmark programs share: clocks, medians, memory. */

#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The CPU time of this process, its threads included. */
static inline uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void fail(const char *what, const char *why) {
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

static inline void *room_for(size_t bytes) {
    void *room = malloc(bytes);
    if (!room) fail("memory", "there is none left");
    return room;
}

static inline int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static inline uint64_t median(uint64_t *values, size_t count) {
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

/* A line of /proc/self/status in bytes: "VmRSS" is the memory now, "VmHWM" the most so far. */
static inline uint64_t memory(const char *name) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long long kib = 0;
    size_t length = strlen(name);
    if (!status) fail("/proc/self/status", "cannot be read");
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, name, length) && line[length] == ':') kib = strtoull(line + length + 1, NULL, 10);
    fclose(status);
    return (uint64_t)kib * 1024;
}

static inline unsigned long number(int argc, char **argv, int index) {
    return index < argc ? strtoul(argv[index], NULL, 10) : 0;
}

static inline void print(uint64_t value) {
    printf("%llu\n", (unsigned long long)value);
}

#endif
