package io.github.muthuishere.toolnexus;

import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON to and from maps, lists, texts, numbers, booleans and null: enough for this package, so that it needs no JSON
 * library, whose version would have to suit the program's. Reading does not recurse: servers decide how deep a text is.
 */
final class Json {
    private static final int DEPTH = 1000;

    private final byte[] bytes;
    private final int end;
    private int at;

    Json(byte[] bytes, int from, int to) {
        this.bytes = bytes;
        this.at = from;
        this.end = to;
    }

    static Object parse(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return parse(bytes, 0, bytes.length);
    }

    /** Reads the one value that is there. */
    static Object parse(byte[] bytes, int from, int to) {
        Json json = new Json(bytes, from, to);
        Object value = json.value();
        json.blanks();
        if (json.at != to) throw json.wrong("nothing more");
        return value;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return value instanceof Map<?, ?> map ? (Map<String, Object>) map : Map.of();
    }

    static String text(Object value) {
        return value instanceof String text ? text : null;
    }

    static List<?> list(Object value) {
        return value instanceof List<?> list ? list : List.of();
    }

    // -- reading ------------------------------------------------------------------------------------------------------

    /** An open object or array, and the key that waits for its value. */
    private static final class Open {
        final Map<String, Object> object;
        final List<Object> array;
        String key;

        Open(boolean isObject) {
            object = isObject ? new LinkedHashMap<>() : null;
            array = isObject ? null : new ArrayList<>();
        }

        Object done() {
            return object != null ? Collections.unmodifiableMap(object) : Collections.unmodifiableList(array);
        }

        void put(Object value) {
            if (object != null) object.put(key, value);
            else array.add(value);
        }
    }

    private Object value() {
        ArrayDeque<Open> stack = new ArrayDeque<>();
        while (true) {
            blanks();
            Object value;
            byte c = next("a value");
            if (c == '{' || c == '[') {
                at++;
                Open open = new Open(c == '{');
                blanks();
                if (!skip(c == '{' ? '}' : ']')) {
                    if (open.object != null) open.key = key();
                    stack.push(open);
                    continue;
                }
                value = open.done();
            } else {
                value = scalar(c);
            }
            // The value may be the last one of what is open, and of what that is in.
            while (true) {
                Open open = stack.peek();
                if (open == null) return value;
                open.put(value);
                blanks();
                if (skip(',')) {
                    if (open.object != null) open.key = key();
                    break;
                }
                if (!skip(open.object != null ? '}' : ']')) throw wrong("a comma or the end");
                value = stack.pop().done();
            }
        }
    }

    private Object scalar(byte c) {
        return switch (c) {
            case '"' -> string();
            case 't' -> word("true", Boolean.TRUE);
            case 'f' -> word("false", Boolean.FALSE);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Object word(String word, Object value) {
        for (int i = 0; i < word.length(); i++) if (at + i >= end || bytes[at + i] != word.charAt(i)) throw wrong("a value");
        at += word.length();
        return value;
    }

    private String key() {
        blanks();
        String key = string();
        expect(':');
        return key;
    }

    String string() {
        if (next("a text") != '"') throw wrong("a text");
        int start = ++at;
        while (at < end && bytes[at] != '"' && bytes[at] != '\\' && (bytes[at] & 0xe0) != 0) at++;
        if (at < end && bytes[at] == '"') return new String(bytes, start, at++ - start, StandardCharsets.UTF_8);
        StringBuilder text = new StringBuilder(new String(bytes, start, at - start, StandardCharsets.UTF_8));
        while (true) {
            byte c = next("the end of the text");
            if (c == '"') {
                at++;
                return text.toString();
            }
            if (c == '\\') {
                at++;
                text.append(escaped());
                continue;
            }
            if (c >= 0 && c < 0x20) throw wrong("no control character in a text");
            start = at;
            while (at < end && bytes[at] != '"' && bytes[at] != '\\' && (bytes[at] & 0xe0) != 0) at++;
            text.append(new String(bytes, start, at - start, StandardCharsets.UTF_8));
        }
    }

    private char escaped() {
        byte c = next("an escape");
        at++;
        switch (c) {
            case '"', '\\', '/':
                return (char) c;
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                int code = 0;
                for (int i = 0; i < 4; i++, at++) {
                    int digit = Character.digit(next("four hex digits"), 16);
                    if (digit < 0) throw wrong("four hex digits");
                    code = code << 4 | digit;
                }
                return (char) code;
            default:
                at--;
                throw wrong("an escape");
        }
    }

    private Number number() {
        int start = at;
        boolean whole = true;
        while (at < end) {
            byte c = bytes[at];
            if (c == '.' || c == 'e' || c == 'E') whole = false;
            else if (c != '-' && c != '+' && (c < '0' || c > '9')) break;
            at++;
        }
        String text = new String(bytes, start, at - start, StandardCharsets.ISO_8859_1);
        try {
            if (whole) {
                if (text.startsWith("+")) throw new NumberFormatException();
                return text.length() < 19 ? (Number) Long.valueOf(text) : big(new BigInteger(text));
            }
            double value = Double.parseDouble(text);
            // What a double cannot hold must not change on its way through.
            BigDecimal exact = new BigDecimal(text);
            boolean same = !Double.isInfinite(value) && BigDecimal.valueOf(value).compareTo(exact) == 0;
            return same ? (Number) value : exact;
        } catch (NumberFormatException e) {
            at = start;
            throw wrong("a value");
        }
    }

    private static Number big(BigInteger value) {
        return value.bitLength() < 64 ? (Number) value.longValue() : value;
    }

    // -- walking without reading, for the pump ------------------------------------------------------------------------

    int at() {
        return at;
    }

    void expect(char c) {
        blanks();
        if (!skip(c)) throw wrong("'" + c + "'");
        blanks();
    }

    /** Takes the character if it is the next one. */
    boolean skip(int c) {
        blanks();
        if (at >= end || bytes[at] != c) return false;
        at++;
        return true;
    }

    long integer() {
        return number().longValue();
    }

    /** Goes past one value of a text that is known to be JSON. */
    void skipValue() {
        int depth = 0;
        do {
            blanks();
            byte c = next("a value");
            if (c == '"') {
                for (at++; next("the end of the text") != '"'; at++) if (bytes[at] == '\\') at++;
                at++;
            } else {
                if (c == '{' || c == '[') depth++;
                if (c == '}' || c == ']') depth--;
                at++;
                if (depth == 0 && c != '}' && c != ']') while (at < end && ",]}".indexOf(bytes[at]) < 0) at++;
            }
        } while (depth > 0);
    }

    private byte next(String wanted) {
        if (at >= end) throw wrong(wanted);
        return bytes[at];
    }

    private void blanks() {
        while (at < end && (bytes[at] == ' ' || bytes[at] == '\n' || bytes[at] == '\r' || bytes[at] == '\t')) at++;
    }

    private ToolnexusException wrong(String wanted) {
        return new ToolnexusException(Status.JSON, "not JSON: " + wanted + " was expected at byte " + at);
    }

    // -- writing ------------------------------------------------------------------------------------------------------

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out, 0);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out, int depth) {
        if (depth > DEPTH) throw unwritable("a value is nested deeper than " + DEPTH + ", or contains itself");
        if (value == null || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof CharSequence || value instanceof Character || value instanceof Enum<?>) {
            quote(value.toString(), out);
        } else if (value instanceof Number) {
            double number = ((Number) value).doubleValue();
            if ((value instanceof Double || value instanceof Float) && (Double.isNaN(number) || Double.isInfinite(number)))
                throw unwritable("JSON has no " + value);
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            char before = '{';
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(before);
                quote(String.valueOf(entry.getKey()), out);
                out.append(':');
                write(entry.getValue(), out, depth + 1);
                before = ',';
            }
            out.append(before == '{' ? "{}" : "}");
        } else if (value instanceof Iterable<?> many) {
            char before = '[';
            for (Iterator<?> each = many.iterator(); each.hasNext(); before = ',') {
                out.append(before);
                write(each.next(), out, depth + 1);
            }
            out.append(before == '[' ? "[]" : "]");
        } else if (value instanceof Object[] array) {
            write(Arrays.asList(array), out, depth);
        } else if (value.getClass().isArray()) {
            List<Object> items = new ArrayList<>();
            for (int i = 0; i < Array.getLength(value); i++) items.add(Array.get(value, i));
            write(items, out, depth);
        } else {
            throw unwritable("a " + value.getClass().getName() + " is no map, list, text, number, boolean or null");
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    boolean pair = Character.isHighSurrogate(c)
                            && i + 1 < text.length()
                            && Character.isLowSurrogate(text.charAt(i + 1));
                    // Half a pair has no UTF-8, but JSON has a way to write it.
                    if (c < 0x20 || Character.isSurrogate(c) && !pair) {
                        out.append(String.format("\\u%04x", (int) c));
                    } else {
                        out.append(c);
                        if (pair) out.append(text.charAt(++i));
                    }
                }
            }
        }
        out.append('"');
    }

    private static ToolnexusException unwritable(String why) {
        return new ToolnexusException(Status.ARGUMENT, "cannot be written as JSON: " + why);
    }
}
