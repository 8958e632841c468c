/* Everything at once, by chance but from a seed: threads that submit to several queues and sources, cancel, free, close and take.
 * Each call that was accepted ends exactly once, or with the queue that was freed; and nothing is left.
 *
 *   queue_stress [SECONDS [SEED]]     3 seconds if not said
 */

#include "queue.h"

enum { WORKERS = 4, TAKERS = 3, QUEUES = 4, SOURCES = 2, CONTEXTS = 3, TOOLS = 3, CALLS = 1 << 14, RECORDS = 1 << 16 };

/* One queue's. An id is the number of the submit, and the index of the record: it is never used for a second queue, so that a late
 * event is seen. */
typedef struct {
    tn_queue *handle;
    int64_t accepted, ended, users, submits;
    int index, dropped;
    bool called, freed;
    /* By the number of the submit. */
    bool ended_once[CALLS];
} queue_record;

/* Each holds a reference under a lock, which other threads replace. */
typedef struct {
    pthread_mutex_t lock;
    void *object;
} slot;

static slot queues[QUEUES], sources[SOURCES], contexts[CONTEXTS], tools[SOURCES][TOOLS];
static queue_record *records[RECORDS];
static int record_count;
static bool stop;
static uint64_t seed;
static int64_t counts[8];

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static bool stopped(void) {
    return __atomic_load_n(&stop, __ATOMIC_SEQ_CST);
}

static void count(int64_t *what, int64_t by) {
    __atomic_add_fetch(what, by, __ATOMIC_SEQ_CST);
}

static int64_t get(int which) {
    return __atomic_load_n(&counts[which], __ATOMIC_SEQ_CST);
}

static void end(const tn_event *event) {
    queue_record *record = records[event->id % RECORDS];
    CHECK_INT(event->kind, TN_EVENT_DONE);
    CHECK_INT(tn_result_status(event->result), event->status);
    switch (event->status) {
    case TN_OK:
    case TN_E_CANCELLED:
    case TN_E_TIMEOUT:
    case TN_E_CLOSED:
    case TN_E_HANDLE:
    case TN_E_ARGUMENT:
        break;
    default:
        CHECK_STATUS(event->result, TN_OK);
    }
    count(&counts[event->status == TN_OK ? 0 : event->status == TN_E_CANCELLED ? 1 : 2], 1);
    tn_free(event->result);
    CHECK(!__atomic_exchange_n(&record->ended_once[event->id / RECORDS], true, __ATOMIC_SEQ_CST));
    count(&record->ended, 1);
}

static void on_event(uintptr_t user, const tn_event *event) {
    CHECK(records[event->id % RECORDS] == (queue_record *)user);
    end(event);
}

static void on_drop(uintptr_t user) {
    count(&counts[7], 1);
    __atomic_add_fetch(&((queue_record *)user)->dropped, 1, __ATOMIC_SEQ_CST);
}

/* With the lock of its slot. */
static queue_record *new_queue(bool called) {
    queue_record *record = calloc(1, sizeof *record);
    int index = __atomic_fetch_add(&record_count, 1, __ATOMIC_SEQ_CST);
    CHECK(record != NULL && index < RECORDS);
    records[index] = record;
    record->index = index;
    record->called = called;
    record->handle = called ? tn_queue_with_callback(on_event, (uintptr_t)record, on_drop) : tn_queue_new();
    CHECK(record->handle != NULL);
    return record;
}

static void load(int index) {
    config servers = {0};
    if (index == 0)
        add_tiny(&servers, "a");
    else
        add_hostile(&servers, "a", "never-answers");
    tn_mcp *mcp = load_all(&servers);
    sources[index].object = mcp;
    static const char *const names[SOURCES][TOOLS] = {{"a_echo", "a_slow", "a_fail"}, {"a_odd", "a_odd", "a_echo"}};
    for (int i = 0; i < TOOLS; i++) {
        pthread_mutex_lock(&tools[index][i].lock);
        tn_free(tools[index][i].object);
        tools[index][i].object = find_tool(mcp, names[index][i]);
        pthread_mutex_unlock(&tools[index][i].lock);
    }
}

/* Submits a call. The record is counted first: the end may come before the submit returns. */
static void submit_one(uint64_t *random) {
    slot *at = &queues[next_random(random) % QUEUES];
    int which = (int)(next_random(random) % SOURCES);
    slot *tool = &tools[which][next_random(random) % TOOLS], *context = &contexts[next_random(random) % CONTEXTS];
    pthread_mutex_lock(&at->lock);
    queue_record *record = at->object;
    uint64_t number = (uint64_t)__atomic_fetch_add(&record->submits, 1, __ATOMIC_SEQ_CST);
    count(&record->users, 1);
    pthread_mutex_unlock(&at->lock);
    if (number >= CALLS) {
        count(&record->users, -1);
        return;
    }
    uint64_t id = number * RECORDS + (uint64_t)record->index;
    /* Without the locks from here on: every reference may be freed meanwhile. */
    tn_tool *called = __atomic_load_n(&tool->object, __ATOMIC_SEQ_CST);
    tn_context *with = next_random(random) % 4 ? __atomic_load_n(&context->object, __ATOMIC_SEQ_CST) : NULL;
    /* A call of a server that never answers needs somebody who ends it. */
    if (which == 1 && with == NULL)
        with = __atomic_load_n(&context->object, __ATOMIC_SEQ_CST);
    count(&record->accepted, 1);
    tn_status status = tn_tool_execute_submit(called, "{\"text\":\"x\",\"durationMs\":3}", with, record->handle, id);
    if (status != TN_OK) {
        CHECK(status == TN_E_CLOSED || status == TN_E_HANDLE);
        count(&record->accepted, -1);
    }
    count(&record->users, -1);
}

static void replace_queue(slot *at, uint64_t *random) {
    pthread_mutex_lock(&at->lock);
    queue_record *old = at->object;
    at->object = new_queue(next_random(random) % 3 == 0);
    pthread_mutex_unlock(&at->lock);
    if (next_random(random) % 2) {
        tn_queue_close(old->handle);
        /* Taken to its end, unless its own thread does that. */
        tn_event event;
        size_t got;
        tn_status status;
        if (!old->called) {
            while ((status = tn_queue_take(old->handle, &event, 1, PATIENCE_MS, &got)) == TN_OK) {
                CHECK_INT(got, 1);
                end(&event);
            }
            CHECK_INT(status, TN_E_CLOSED);
        } else {
            WAIT_FOR(__atomic_load_n(&old->dropped, __ATOMIC_SEQ_CST));
        }
        /* Submits and takers that are still under way hold what they have got. */
        WAIT_FOR(__atomic_load_n(&old->users, __ATOMIC_SEQ_CST) == 0);
        CHECK_INT(old->ended, old->accepted);
        count(&counts[3], 1);
    } else {
        old->freed = true;
        count(&counts[4], 1);
    }
    tn_free(old->handle);
}

static void *work(void *number) {
    uint64_t random = seed * 0x9e3779b97f4a7c15u + (uint64_t)(uintptr_t)number * 0xbf58476d1ce4e5b9u + 1;
    while (!stopped()) {
        uint64_t what = next_random(&random) % 1000;
        if (what < 975) {
            submit_one(&random);
        } else if (what < 982) {
            slot *at = &contexts[next_random(&random) % CONTEXTS];
            pthread_mutex_lock(&at->lock);
            tn_context *old = at->object;
            tn_context *new = tn_context_new();
            if (next_random(&random) % 2)
                tn_context_set_timeout(new, 5);
            __atomic_store_n(&at->object, new, __ATOMIC_SEQ_CST);
            pthread_mutex_unlock(&at->lock);
            CHECK_INT(tn_context_cancel(old), TN_OK);
            tn_free(old);
        } else if (what < 990) {
            replace_queue(&queues[next_random(&random) % QUEUES], &random);
        } else if (what < 991) {
            /* A source is closed, or just freed, under the calls. */
            int which = (int)(next_random(&random) % SOURCES);
            pthread_mutex_lock(&sources[which].lock);
            tn_mcp *old = sources[which].object;
            if (next_random(&random) % 2)
                EXPECT(tn_mcp_close(old, NULL), TN_OK);
            tn_free(old);
            load(which);
            count(&counts[5], 1);
            pthread_mutex_unlock(&sources[which].lock);
        } else {
            /* Rest, so that the takers find an empty queue now and then. */
            nap();
        }
    }
    return NULL;
}

static void *take(void *number) {
    uint64_t random = seed + (uint64_t)(uintptr_t)number * 7919 + 1;
    tn_event events[8];
    while (!stopped()) {
        slot *at = &queues[next_random(&random) % QUEUES];
        pthread_mutex_lock(&at->lock);
        queue_record *record = at->object;
        count(&record->users, 1);
        pthread_mutex_unlock(&at->lock);
        size_t got = 0;
        size_t capacity = 1 + next_random(&random) % 8;
        if (!record->called) {
            tn_status status = tn_queue_take(record->handle, events, capacity, (int32_t)(next_random(&random) % 3), &got);
            CHECK(status == TN_OK || status == TN_E_CLOSED || status == TN_E_HANDLE);
            CHECK(got <= capacity);
            for (size_t i = 0; i < got; i++) {
                CHECK(records[events[i].id % RECORDS] == record);
                end(&events[i]);
            }
        }
        count(&record->users, -1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int seconds = argc > 1 ? atoi(argv[1]) : 3;
    pthread_t workers[WORKERS], takers[TAKERS];
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    begin();
    for (int i = 0; i < QUEUES; i++)
        pthread_mutex_init(&queues[i].lock, NULL);
    for (int i = 0; i < CONTEXTS; i++) {
        pthread_mutex_init(&contexts[i].lock, NULL);
        contexts[i].object = tn_context_new();
    }
    for (int i = 0; i < SOURCES; i++) {
        pthread_mutex_init(&sources[i].lock, NULL);
        for (int j = 0; j < TOOLS; j++)
            pthread_mutex_init(&tools[i][j].lock, NULL);
        load(i);
    }
    for (int i = 0; i < QUEUES; i++)
        queues[i].object = new_queue(i % 2);
    for (int i = 0; i < WORKERS; i++)
        workers[i] = start_thread(work, (void *)(uintptr_t)i);
    for (int i = 0; i < TAKERS; i++)
        takers[i] = start_thread(take, (void *)(uintptr_t)i);
    int64_t until = now_ms() + seconds * 1000;
    /* Until everything that is to happen has happened once. */
    while (now_ms() < until)
        nap();
    WAIT_FOR(get(0) > 0 && get(1) > 0 && get(3) > 0 && get(4) > 0);
    __atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
    for (int i = 0; i < WORKERS; i++)
        join_thread(workers[i]);
    for (int i = 0; i < TAKERS; i++)
        join_thread(takers[i]);
    /* The sources first: what is still open ends as closed, in queues that somebody takes to their end. */
    for (int i = 0; i < SOURCES; i++) {
        EXPECT(tn_mcp_close(sources[i].object, NULL), TN_OK);
        tn_free(sources[i].object);
        for (int j = 0; j < TOOLS; j++)
            tn_free(tools[i][j].object);
    }
    for (int i = 0; i < QUEUES; i++) {
        queue_record *record = queues[i].object;
        CHECK_INT(tn_queue_close(record->handle), TN_OK);
        tn_event event;
        size_t got;
        while (!record->called && tn_queue_take(record->handle, &event, 1, PATIENCE_MS, &got) == TN_OK) {
            CHECK_INT(got, 1);
            end(&event);
        }
        WAIT_FOR(!record->called || __atomic_load_n(&record->dropped, __ATOMIC_SEQ_CST));
        CHECK_INT(record->ended, record->accepted);
        tn_free(record->handle);
    }
    for (int i = 0; i < CONTEXTS; i++)
        tn_free(contexts[i].object);
    finish();
    int64_t accepted = 0, ended = 0, lost = 0;
    for (int i = 0; i < record_count; i++) {
        accepted += records[i]->accepted;
        ended += records[i]->ended;
        if (records[i]->freed)
            lost += records[i]->accepted - records[i]->ended;
        /* A callback queue was told of its end once, whichever it was. */
        CHECK_INT(records[i]->dropped, records[i]->called);
        free(records[i]);
    }
    CHECK_INT(ended + lost, accepted);
    printf("seed %llu: %lld calls in %d queues; %lld done, %lld cancelled, %lld else, %lld went with freed queues; "
           "%lld queues closed, %lld freed, %lld sources replaced\n",
           (unsigned long long)seed, (long long)accepted, record_count, (long long)counts[0], (long long)counts[1],
           (long long)counts[2], (long long)lost, (long long)counts[3], (long long)counts[4], (long long)counts[5]);
    return 0;
}
