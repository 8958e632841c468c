package io.github.muthuishere.toolnexus;

import java.util.Map;

/**
 * The library was used wrongly, could not be loaded, or could not do what was asked of it as a whole, such as reading a
 * config. What a tool or a server did wrong in a call is no exception but a {@link ToolResult}.
 */
public final class ToolnexusException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What kind of failure it is. */
    private final Status status;
    /** What the library says about it. */
    private final transient Map<String, Object> details;

    ToolnexusException(Status status, String message) {
        this(status, message, Map.of());
    }

    ToolnexusException(Status status, String message, Map<String, Object> details) {
        super(message);
        this.status = status;
        this.details = details;
    }

    /**
     * What kind of failure it is.
     *
     * @return the status
     */
    public Status status() {
        return status;
    }

    /**
     * What the library says about it: {@code code}, {@code message}, and where they apply {@code phase}, {@code server} and
     * {@code data}, which for {@link Status#SERVER} is the server's error object.
     *
     * @return the error, or an empty map
     */
    public Map<String, Object> details() {
        return details == null ? Map.of() : details;
    }
}
