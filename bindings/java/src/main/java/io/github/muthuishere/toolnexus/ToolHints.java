package io.github.muthuishere.toolnexus;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** What a tool says of itself. A server's hints are claims, not facts. */
public final class ToolHints {
    /** Nothing is said. */
    public static final ToolHints NONE = new ToolHints(Map.of());
    /** The tool changes nothing. */
    public static final ToolHints READ_ONLY = new ToolHints(Map.of("readOnly", true));

    private final Map<String, Object> given;

    private ToolHints(Map<String, Object> given) {
        this.given = given;
    }

    static ToolHints of(Map<String, Object> given) {
        if (given.isEmpty()) return NONE;
        return given.equals(READ_ONLY.given) ? READ_ONLY : new ToolHints(given);
    }

    /**
     * Hints for a tool of the program's own; null where nothing is to be said.
     *
     * @param readOnly whether the tool changes nothing
     * @param destructive whether it can destroy something
     * @param idempotent whether calling it again changes nothing more
     * @param openWorld whether it reaches what is outside the program
     * @return the hints
     */
    public static ToolHints of(Boolean readOnly, Boolean destructive, Boolean idempotent, Boolean openWorld) {
        Map<String, Object> given = new LinkedHashMap<>();
        if (readOnly != null) given.put("readOnly", readOnly);
        if (destructive != null) given.put("destructive", destructive);
        if (idempotent != null) given.put("idempotent", idempotent);
        if (openWorld != null) given.put("openWorld", openWorld);
        return of(given);
    }

    /**
     * Whether the tool says that it changes nothing.
     *
     * @return false also if it says nothing
     */
    public boolean readOnly() {
        return hint("readOnly").orElse(false);
    }

    /**
     * Whether it can destroy something.
     *
     * @return empty if it does not say
     */
    public Optional<Boolean> destructive() {
        return hint("destructive");
    }

    /**
     * Whether calling it again changes nothing more.
     *
     * @return empty if it does not say
     */
    public Optional<Boolean> idempotent() {
        return hint("idempotent");
    }

    /**
     * Whether it reaches what is outside the program.
     *
     * @return empty if it does not say
     */
    public Optional<Boolean> openWorld() {
        return hint("openWorld");
    }

    Map<String, Object> given() {
        return given;
    }

    private Optional<Boolean> hint(String name) {
        return given.get(name) instanceof Boolean hint ? Optional.of(hint) : Optional.empty();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ToolHints hints && given.equals(hints.given);
    }

    @Override
    public int hashCode() {
        return given.hashCode();
    }

    @Override
    public String toString() {
        return given.toString();
    }
}
