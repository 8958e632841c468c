#!/usr/bin/env python3
"""Writes misuse.c: every function of the header, with each argument wrong in every way that its type knows.

    misuse.py HEADER > misuse.c

What is wrong, and what must come of it, follows from the types, from the names of the arguments, and from what the
header's comments say about NULL. So a new function is covered by itself; where this script does not know what to do
with one, it fails and says what to add.
"""

import re
import sys

# How to make a good object of each kind. `made` is a result that must hold it.
MAKERS = {
    "tn_result": 'tn_config_parse("{}", NULL)',
    "tn_context": "tn_context_new()",
    "tn_queue": "tn_queue_new()",
    "tn_mcp": "new_mcp()",
    "tn_tools": "tn_mcp_tools(good_tn_mcp)",
    "tn_tool": 'tn_tools_find(good_tn_tools, "a_echo")',
    "tn_toolkit": "new_toolkit()",
}
# What a string argument is, by its name: a good value, and bad ones with what must come of them.
JSON = [('"{\\"a\\":"', "TN_E_JSON"), ('"[1]"', "TN_E_JSON"), ('""', "TN_E_JSON")]
STRINGS = {
    "config": ("good_config", [('"{\\"a\\":"', "TN_E_CONFIG"), ('"/nowhere/mcp.json"', "TN_E_CONFIG"), ('""', "TN_E_CONFIG")]),
    "options": ('"{}"', [('"{\\"a\\":"', "TN_E_JSON"), ('""', "TN_E_JSON"), ('"[1]"', "TN_E_JSON"),
                         ('"{\\"nope\\":1}"', "TN_E_ARGUMENT")]),
    "params": ('"{}"', JSON),
    "arguments": ('"{\\"text\\":\\"x\\"}"', JSON),
    "server": ('"a"', [('"nope"', "TN_E_NOT_FOUND"), ('""', "TN_E_NOT_FOUND")]),
    "method": ('"tools/list"', [('"no/such/method"', "TN_E_SERVER")]),
    "skill": ('"skill://x/SKILL.md"', [('"{\\"a\\":"', "TN_E_JSON"), ('""', "TN_E_ARGUMENT")]),
    "uri": ('"skill://x/y.md"', []),
    "name": ('"a_echo"', [('"nope"', "TN_E_NOT_FOUND"), ('""', "TN_E_NOT_FOUND")]),
    "provider": ('"openai"', [('"nope"', "TN_E_ARGUMENT"), ('""', "TN_E_ARGUMENT")]),
    "spec": ('"{\\"name\\":\\"x\\",\\"description\\":\\"x\\"}"', JSON),
    "answer": ('"{\\"ok\\":true}"', JSON),
}
# Numbers: a good value, and bad ones with what must come of them. None bad: the whole range is good.
NUMBERS = {
    "level": ("0", [(text, "TN_E_ARGUMENT") for text in ("-1", "6", "INT32_MIN", "INT32_MAX")]),
    "index": ("0", [(text, "nothing") for text in ("SIZE_MAX", "4")]),
    "capacity": ("1", [("0", "TN_E_ARGUMENT")]),
    "timeout_ms": ("0", [("-2", "TN_E_ARGUMENT"), ("INT32_MIN", "TN_E_ARGUMENT")]),
    "idle_ms": ("0", []),
    "total_ms": ("0", []),
    "user": ("0", []),
    "id": ("77", []),
    "status": ("TN_OK", []),
}
# What good arguments give where that is not TN_OK.
GOOD = {"tn_answer": "TN_E_NOT_FOUND", "tn_mcp_skill_read": "TN_E_NOT_FOUND", "tn_mcp_skill_read_submit": "TN_E_NOT_FOUND",
        "tn_queue_take_json": "TN_OK"}
# A wrong argument may be met after another fault that good arguments have: no question with that id is open.
ALSO = {"tn_answer": {"TN_E_NOT_FOUND"}}


def fail(text):
    sys.exit(f"misuse.py: {text}")


class Argument:
    def __init__(self, type_, name):
        self.type, self.name = type_, name
        self.object = None
        found = re.fullmatch(r"(?:const )?struct (tn_\w+) \*", type_)
        if found and found[1] != "tn_event":
            self.object = found[1]


class Function:
    def __init__(self, returns, name, arguments, comment):
        self.returns, self.name, self.arguments = returns, name, arguments
        self.docs = {}
        for found in re.finditer(r"@param\s+(\w+)\s+(.*?)(?=@param|@return|\n\s*\n|\Z)", comment, re.S):
            self.docs[found[1]] = " ".join(found[2].split())


def read_header(text):
    functions = {}
    body = text[text.index('extern "C"') :]
    for found in re.finditer(r"/\*\*(.*?)\*/\s*([^;{}]*?)\b(tn_\w+)\(([^;]*?)\);", body, re.S):
        comment = re.sub(r"^ \* ?", "", found[1], flags=re.M)
        arguments = []
        for part in filter(lambda part: part != "void", (" ".join(part.split()) for part in found[4].split(","))):
            split = re.fullmatch(r"(.*?[ *])(\w+)", part)
            if not split:
                fail(f"{found[3]}: cannot read the argument {part}")
            arguments.append(Argument(split[1].strip(), split[2]))
        functions[found[3]] = Function(" ".join(found[2].split()), found[3], arguments, comment)
    declared = set(re.findall(r"\b(tn_\w+)\(", re.sub(r"/\*.*?\*/", "", body, flags=re.S)))
    if declared - functions.keys():
        fail(f"cannot read the declarations of {declared - functions.keys()}")
    return functions


def optional(functions, function, name):
    """Whether the comment says that the argument may be NULL."""
    text = function.docs.get(name)
    if text is None and function.name.endswith("_submit"):
        return optional(functions, functions[function.name.removesuffix("_submit")], name) if name != "queue" else False
    if text is None:
        fail(f"{function.name}: the comment lacks @param {name}")
    if re.search(r"\bor NULL\b|\bmay be NULL\b", text):
        return True
    elsewhere = re.search(r"\bas for (tn_\w+)", text)
    return bool(elsewhere) and optional(functions, functions[elsewhere[1]], name)


def good_value(function, argument):
    if argument.object:
        return f"good_{argument.object}"
    if argument.type == "const char *":
        if argument.name not in STRINGS:
            fail(f"{function.name}: unknown string {argument.name}: add it to STRINGS")
        return STRINGS[argument.name][0]
    if argument.type in ("const void *", "void *"):
        return "good_tn_context"
    if argument.type == "size_t *":
        return "&length"
    if argument.type == "struct tn_event *":
        return "&event"
    if argument.type in ("tn_log_fn", "tn_drop_fn", "tn_event_fn"):
        return {"tn_log_fn": "on_log", "tn_drop_fn": "NULL", "tn_event_fn": "on_event"}[argument.type]
    if argument.type in ("int32_t", "uint32_t", "uint64_t", "size_t", "uintptr_t", "tn_status"):
        if argument.name not in NUMBERS:
            fail(f"{function.name}: unknown number {argument.name}: add it to NUMBERS")
        return NUMBERS[argument.name][0]
    fail(f"{function.name}: unknown type {argument.type} of {argument.name}")


def bad_values(functions, function, argument):
    """Pairs of C expression and expected status; expression None: every bad reference."""
    bad = []
    if argument.object or argument.type in ("const void *", "void *"):
        bad.append((None, "TN_E_HANDLE"))
        if not (function.name != "tn_check" and optional(functions, function, argument.name)):
            bad.append(("NULL", "TN_E_ARGUMENT"))
    elif argument.type == "const char *":
        bad.append(('"a\\xff\\xfe"', "TN_E_UTF8"))
        bad += STRINGS[argument.name][1]
        if not optional(functions, function, argument.name):
            bad.append(("NULL", "TN_E_ARGUMENT"))
    elif argument.type in ("size_t *", "struct tn_event *", "tn_event_fn"):
        if argument.type == "tn_event_fn" or not optional(functions, function, argument.name):
            bad.append(("NULL", "TN_E_ARGUMENT"))
    elif argument.name in NUMBERS:
        # In an unsigned type they are large numbers, and good.
        negative = argument.type.startswith("u") and ("-", "INT32_MIN")
        bad += [pair for pair in NUMBERS[argument.name][1] if not (negative and pair[0].startswith(negative))]
    return bad


def check(function, wanted, wrong):
    """The statements that judge what came, in `got`."""
    returns = function.returns
    statuses = sorted({wanted} | ALSO.get(function.name, set()))
    expected = " || ".join(f"is == {status}" for status in statuses)
    on_result = function.arguments and function.arguments[0].object == "tn_result"
    if returns == "void":
        return []
    if returns == "struct tn_result *":
        return [f"tn_status is = tn_result_status(got); expect({expected}, is);", "expect_failure(got);"]
    if returns == "tn_status":
        if function.name.endswith("_submit") and wrong.name != "queue":
            return ["expect(got == TN_OK, got);", "tn_result *done = complete();",
                    f"tn_status is = tn_result_status(done); expect({expected}, is);", "expect_failure(done);"]
        return [f"tn_status is = got; expect({expected}, is);"]
    if returns == "const char *":
        has_length = any(argument.type == "size_t *" for argument in function.arguments)
        text = ["expect(got != NULL && got[0] == 0, 0);"] if on_result else ["expect(got == NULL, 0);"]
        return text + (["expect(length == 0, (int)length);"] if has_length else [])
    if returns == "bool":
        return ["expect(got, 0);"]
    if returns == "size_t":
        return ["expect(got == 0, (int)got);"]
    if returns == "int32_t":
        return ["expect(got == -1, got);"]
    if returns.endswith("*"):
        return ["expect(got == NULL, 0);"]
    fail(f"{function.name}: unknown return type {returns}")


def accept(function):
    """The same where all is good, but for what may be NULL and is."""
    returns, wanted = function.returns, GOOD.get(function.name, "TN_OK")
    if returns == "struct tn_result *":
        return [f"expect(tn_result_status(got) == {wanted}, tn_result_status(got));", "tn_free(got);"]
    if returns == "tn_status" and function.name.endswith("_submit"):
        return ["expect(got == TN_OK, got);", "tn_result *done = complete();",
                f"expect(tn_result_status(done) == {wanted}, tn_result_status(done));", "tn_free(done);"]
    if returns == "tn_status":
        return [f"expect(got == {wanted}, got);"]
    if returns in ("const char *",) or returns.endswith("*"):
        return ["expect(got != NULL, 0);"] + ([] if returns == "const char *" else ["tn_free(got);"])
    return ["(void)got;"] if returns != "void" else []


def call(function, wrong, value):
    values = [value if argument is wrong else good_value(function, argument) for argument in function.arguments]
    text = f"{function.name}({', '.join(values)});"
    return text if function.returns == "void" else f"{function.returns} got = {text}"


def block(place, lines):
    return [f'    {{', f'        place = "{place}";', *(f"        {line}" for line in lines), "    }"]


def cases(functions, function):
    for argument in function.arguments:
        for value, wanted in bad_values(functions, function, argument):
            if wanted == "nothing" or (function.returns == "tn_status" and argument.type == "tn_status"):
                wanted = "TN_E_ARGUMENT"
            shown = (value or "bad references").replace('"', "'").replace("\\", "/")
            place = f"{function.name}, {argument.name}: {shown}"
            lines = ["length = 12345;"]
            if value is None:
                kind = argument.object or "void"
                lines += [f"for (int i = 0; i < bad_count; i++) {{", f"    if (!bad_for(\"{kind}\", i)) continue;",
                          f"    at = i; length = 12345;", "    " + call(function, argument, "(void *)bad[i].value"),
                          *("    " + line for line in check(function, wanted, argument)), "}", "at = -1;"]
            else:
                lines += [call(function, argument, value), *check(function, wanted, argument)]
            yield block(place, lines)
        is_pointer = argument.type.endswith("*") or argument.type.endswith("_fn")
        if is_pointer and function.name != "tn_check" and argument.type != "tn_event_fn":
            if argument.type == "tn_drop_fn" or optional(functions, function, argument.name):
                yield block(f"{function.name}, {argument.name}: NULL, which is good",
                            ["fresh();", call(function, argument, "NULL"), *accept(function)])
        if argument.type == "tn_status":
            for value in ("-1", "12345", "INT32_MIN", "INT32_MAX"):
                yield block(f"{function.name}, {argument.name}: {value}",
                            [call(function, argument, value), "expect(got != NULL && got[0] != 0, 0);"])


def main():
    with open(sys.argv[1], encoding="utf-8") as header:
        functions = read_header(header.read())
    kinds = [kind for kind in MAKERS
             if any(argument.object == kind for function in functions.values() for argument in function.arguments)]
    for function in functions.values():
        for argument in function.arguments:
            if argument.object and argument.object not in MAKERS:
                fail(f"{function.name}: nobody knows how to make a good {argument.object}: add it to MAKERS")
    made = {name: list(cases(functions, function)) for name, function in functions.items()}
    for name, function in functions.items():
        pointers = [argument for argument in function.arguments if argument.type.endswith("*")]
        if pointers and not made[name]:
            fail(f"{name} would not be called at all")
    print("/* Made by misuse.py. Every function with each argument wrong: the documented status, and nothing else. */\n")
    print('#include "test.h"\n')
    for kind in kinds:
        print(f"static {kind} *good_{kind};")
    with open(__file__.replace("misuse.py", "misuse.inc"), encoding="utf-8") as support:
        print(support.read())
    # Made in this order, each from those before it.
    print("static void make(void) {")
    for kind in kinds:
        print(f"    good_{kind} = {MAKERS[kind]};\n    CHECK(good_{kind} != NULL);")
    print("}\n\nstatic void give_back(void) {")
    for kind in reversed(kinds):
        print(f"    tn_free(good_{kind});")
    print("}\n\n/* What was used up by a good call is made anew. */")
    print("static void fresh(void) {\n    give_back();\n    make();\n    list_bad();\n}\n")
    print("static void list_bad(void) {\n    bad_count = 0;")
    for kind in kinds:
        print(f'    add_bad("{kind}", "live", (uintptr_t)good_{kind});')
        print(f'    add_bad(NULL, "freed {kind}", freed({MAKERS[kind]}));')
        print(f'    add_near((uintptr_t)good_{kind});')
    print("    add_garbage();\n}\n")
    for name, blocks in made.items():
        if blocks:
            print(f"static void test_{name}(void) {{")
            print("\n".join(line for lines in blocks for line in lines))
            print("}\n")
    print("int main(void) {\n    start();\n    make();\n    list_bad();")
    for name, blocks in made.items():
        if blocks:
            print(f"    fresh();\n    test_{name}();")
    print("    fresh();\n    all_is_well();\n    give_back();\n    end();\n    return 0;\n}")
    print(f"misuse.py: {len(functions)} functions, {sum(map(len, made.values()))} kinds of misuse", file=sys.stderr)


if __name__ == "__main__":
    main()
