package io.github.muthuishere.toolnexus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
    @Test
    void readsEveryKindOfValue() {
        Map<String, Object> wanted = new LinkedHashMap<>();
        wanted.put("a", List.of(1L, -2L, 1.5, true, false, List.of(), Map.of()));
        wanted.put("n", null);
        assertEquals(wanted, Json.parse(" {\"a\" : [1,-2, 1.5 ,true,false,[],{ }],\n\"n\":null}\t"));
        assertEquals(Map.of("a", 2L), Json.parse("{\"a\":1,\"a\":2}"));
    }

    @Test
    void readsTexts() {
        assertEquals("grüße 世界 🦀", Json.parse("\"grüße 世界 🦀\""));
        assertEquals("🦀/\"\\\b\f\n\r\t\0é", Json.parse("\"\\ud83e\\udd80\\/\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u00e9\""));
        assertEquals("\ud800", Json.parse("\"\\ud800\""));
    }

    @Test
    void numbersKeepTheirValue() {
        assertEquals(Long.MAX_VALUE, Json.parse("9223372036854775807"));
        assertEquals(new BigInteger("9223372036854775808"), Json.parse("9223372036854775808"));
        assertEquals(0.1, Json.parse("0.1"));
        assertEquals(new BigDecimal("1e400"), Json.parse("1e400"));
        assertEquals(new BigDecimal("0.12345678901234567890123"), Json.parse("0.12345678901234567890123"));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "", " ", "{", "[1", "[1,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "tru", "nul", "1 2", "\"", "\"\\", "\"\\u12\"",
        "\"\\x\"", "\"\n\"", "[}", "]", "--1", "1.e.2", "+1", "-", "nan", "{\"a\":1]"
    })
    void refusesWhatIsNoJson(String text) {
        ToolnexusException failed = assertThrows(ToolnexusException.class, () -> Json.parse(text));
        assertEquals(Status.JSON, failed.status());
        assertTrue(failed.getMessage().contains("at byte"), failed.getMessage());
    }

    @Test
    void depthIsNoDanger() {
        Object value = Json.parse("[".repeat(1_000_000) + "]".repeat(1_000_000));
        assertTrue(value instanceof List<?> list && list.size() == 1);
        assertThrows(ToolnexusException.class, () -> Json.parse("[".repeat(1_000_000)));
        List<Object> itself = new ArrayList<>();
        itself.add(itself);
        assertTrue(assertThrows(ToolnexusException.class, () -> Json.write(itself)).getMessage().contains("contains itself"));
    }

    @Test
    void writesWhatItReads() {
        for (String text : List.of(
                "{\"a\":[1,-2,1.5,true,null,\"x\"],\"b\":{}}", "\"🦀 \\\"\\\\ \\n\\u0001 \\ud800\"", "[]", "12345678901234567890"))
            assertEquals(text, Json.write(Json.parse(text)));
    }

    @Test
    void writesWhatProgramsHave() {
        assertEquals("[1,\"a\",\"b\"]", Json.write(new Object[] {1, 'a', new StringBuilder("b")}));
        assertEquals("[1,2]", Json.write(new int[] {1, 2}));
        assertEquals("{\"1\":[\"OK\"]}", Json.write(Map.of(1, Arrays.asList(Status.OK))));
        for (Object bad : List.of(new Object(), Double.NaN, Float.POSITIVE_INFINITY))
            assertEquals(Status.ARGUMENT, assertThrows(ToolnexusException.class, () -> Json.write(bad)).status());
    }

    @Test
    void skipsOneValue() {
        for (String value : List.of("{\"a\":[1,\"]}\\\"\",{}],\"b\":{}}", "\"a\\\\\"", "12.5e3", "true", "[]", "[[],[[1]]]", "{}")) {
            byte[] bytes = (value + ",7]").getBytes(StandardCharsets.UTF_8);
            Json json = new Json(bytes, 0, bytes.length);
            json.skipValue();
            assertEquals(value.length(), json.at(), value);
        }
    }
}
