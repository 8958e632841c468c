package io.github.muthuishere.toolnexus;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongFunction;

/** One reference of the library: given back by {@link #free}, or when the garbage collector finds nobody who has it. */
final class Handle {
    private static final Cleaner CLEANER = Cleaner.create();
    /** What is not given back yet, for the tests, which want everything given back. */
    private static final Set<Cleaner.Cleanable> LIVE = ConcurrentHashMap.newKeySet();

    private final long value;
    private final Cleaner.Cleanable cleanable;

    Handle(long value) {
        this.value = value;
        // The action must not know this object, else it would never be collected.
        Cleaner.Cleanable[] self = new Cleaner.Cleanable[1];
        cleanable = CLEANER.register(this, () -> {
            Lib.tn_free(value);
            LIVE.remove(self[0]);
        });
        self[0] = cleanable;
        LIVE.add(cleanable);
    }

    /** Uses the reference, which is not given back meanwhile unless {@link #free} is called: the library tells then. */
    <T> T with(LongFunction<T> use) {
        try {
            return use.apply(value);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Gives the reference back; again: no effect. */
    void free() {
        cleanable.clean();
    }

    static int live() {
        return LIVE.size();
    }

    static void freeAll() {
        List.copyOf(LIVE).forEach(Cleaner.Cleanable::clean);
    }
}
