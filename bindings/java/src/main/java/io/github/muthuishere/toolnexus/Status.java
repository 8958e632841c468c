package io.github.muthuishere.toolnexus;

/** How a call ended: the library's statuses, {@code TN_E_TIMEOUT} as {@link #TIMEOUT}. */
public enum Status {
    /** It worked. In a result whose error flag is set: the tool ran, and reported failure. */
    OK(0),
    /** An argument is missing, out of range, or names an unknown option. */
    ARGUMENT(1),
    /** A text is not valid Unicode. */
    UTF8(2),
    /** A text is not the JSON that is wanted there. */
    JSON(3),
    /** A reference was freed. */
    HANDLE(4),
    /** A function that blocks was called where it may not be. */
    REENTRANT(5),
    /** The process was forked from one that had used the library. */
    FORKED(6),
    /** The config as a whole cannot be read. */
    CONFIG(7),
    /** There is no such tool, server, resource or request. */
    NOT_FOUND(8),
    /** The program cancelled the call. */
    CANCELLED(20),
    /** The call's time-out or deadline has passed. */
    TIMEOUT(21),
    /** What the call needs was closed, before it or while it ran. */
    CLOSED(22),
    /** A message is larger than the limit. */
    LIMIT(23),
    /** A server's process could not be started. */
    SPAWN(40),
    /** A server is not up, or its connection broke. */
    TRANSPORT(41),
    /** A server broke the protocol. */
    PROTOCOL(42),
    /** A server answered with a JSON-RPC error. */
    SERVER(43),
    /** A server wants an authorization that it did not get. */
    AUTH(44),
    /** A defect in the library, or a status that a newer library added. */
    INTERNAL(90);

    private final int code;
    private final String nativeName;

    Status(int code) {
        this.code = code;
        nativeName = code == 0 ? "TN_OK" : "TN_E_" + name();
    }

    /**
     * The number of this status in the library's C header.
     *
     * @return the number
     */
    public int code() {
        return code;
    }

    static Status of(int code) {
        for (Status status : values()) if (status.code == code) return status;
        return INTERNAL;
    }

    /** Of a name as the library writes it, such as {@code TN_E_TIMEOUT}. */
    static Status of(String name) {
        for (Status status : values()) if (status.nativeName.equals(name)) return status;
        return INTERNAL;
    }

    String nativeName() {
        return nativeName;
    }

    /** Whether it means that the program used the library wrongly (or that the library is at fault): an exception everywhere. */
    boolean isMisuse() {
        return switch (this) {
            case ARGUMENT, UTF8, HANDLE, REENTRANT, FORKED, INTERNAL -> true;
            default -> false;
        };
    }
}
