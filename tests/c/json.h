/* A small JSON reader for the runners of the shared cases, in C and C++: a tree, its text, and "holds". Not for hostile input:
 * it stops the program at what is no JSON. */

#ifndef TN_TEST_JSON_H
#define TN_TEST_JSON_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

typedef struct json {
  enum json_kind kind;
  char *name;         /* in an object; else NULL */
  char *text;         /* of a string, with a NUL behind it; of a number as it was written */
  size_t length;      /* of the text: a string may hold NULs */
  struct json *first; /* the members or elements */
  struct json *next;
} json;

/* Text in the making. Start with {0}, end with free(text). */
typedef struct {
  char *text;
  size_t length, size;
} json_text;

static inline void json_stop(const char *why, const char *at) {
  fprintf(stderr, "json: %s: %.40s\n", why, at ? at : "");
  exit(2);
}

static inline void json_add(json_text *to, const char *bytes, size_t count) {
  if (to->size < to->length + count + 1) {
    to->size = (to->length + count + 1) * 2;
    to->text = (char *)realloc(to->text, to->size);
    if (!to->text) json_stop("no memory", NULL);
  }
  if (count) memcpy(to->text + to->length, bytes, count);
  to->length += count;
  to->text[to->length] = 0;
}

static inline json *json_new(enum json_kind kind) {
  json *made = (json *)calloc(1, sizeof *made);
  if (!made) json_stop("no memory", NULL);
  made->kind = kind;
  return made;
}

static inline void json_free(json *value) {
  while (value) {
    json *next = value->next;
    json_free(value->first);
    free(value->name);
    free(value->text);
    free(value);
    value = next;
  }
}

/* -- reading --------------------------------------------------------------------------------------------------------- */

static inline const char *json_blanks(const char *at) {
  return at + strspn(at, " \t\r\n");
}

static inline void json_add_utf8(json_text *to, unsigned long c) {
  char bytes[4];
  size_t count = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = count - 1; i > 0; i--, c >>= 6) bytes[i] = (char)(0x80 | (c & 0x3f));
  bytes[0] = (char)(count == 1 ? c : (0xf00ul >> count & 0xfful) | c);
  json_add(to, bytes, count);
}

static inline unsigned long json_hex4(const char *at) {
  char digits[5] = {0};
  char *end;
  strncpy(digits, at, 4);
  unsigned long c = strtoul(digits, &end, 16);
  if (end != digits + 4) json_stop("four hex digits are missing", at);
  return c;
}

/* Reads a string whose opening quote is at `at`. */
static inline const char *json_string(const char *at, json_text *to) {
  json_add(to, "", 0);
  for (at++; *at != '"';) {
    if ((unsigned char)*at < ' ') json_stop("a string does not end", at);
    if (*at != '\\') {
      size_t count = strcspn(at, "\"\\");
      json_add(to, at, count);
      at += count;
    } else if (at[1] == 'u') {
      unsigned long c = json_hex4(at + 2);
      at += 6;
      if (c >= 0xd800 && c < 0xdc00 && at[0] == '\\' && at[1] == 'u') {
        c = 0x10000 + ((c - 0xd800) << 10) + (json_hex4(at + 2) - 0xdc00);
        at += 6;
      }
      json_add_utf8(to, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    } else {
      const char *known = "\"\\/bfnrt", *meant = "\"\\/\b\f\n\r\t", *found = at[1] ? strchr(known, at[1]) : NULL;
      if (!found) json_stop("an unknown escape", at);
      json_add(to, meant + (found - known), 1);
      at += 2;
    }
  }
  return at + 1;
}

static inline const char *json_value(const char *at, json **value);

static inline const char *json_members(const char *at, json *parent) {
  char end = parent->kind == JSON_OBJECT ? '}' : ']';
  json **last = &parent->first;
  at = json_blanks(at + 1);
  while (*at != end) {
    json_text name = {NULL, 0, 0};
    if (end == '}') {
      if (*at != '"') json_stop("a name is missing", at);
      at = json_blanks(json_string(at, &name));
      if (*at++ != ':') json_stop("a colon is missing", at - 1);
    }
    at = json_blanks(json_value(json_blanks(at), last));
    (*last)->name = name.text;
    last = &(*last)->next;
    if (*at == ',') {
      at = json_blanks(at + 1);
      if (*at == end) json_stop("a comma too many", at);
    } else if (*at != end) {
      json_stop("a comma is missing", at);
    }
  }
  return at + 1;
}

static inline const char *json_value(const char *at, json **value) {
  static const char *const words[] = {"null", "false", "true"};
  json_text text = {NULL, 0, 0};
  for (int i = 0; i < 3; i++) {
    size_t length = strlen(words[i]);
    if (strncmp(at, words[i], length) == 0) {
      *value = json_new((enum json_kind)i);
      return at + length;
    }
  }
  if (*at == '{' || *at == '[') {
    *value = json_new(*at == '{' ? JSON_OBJECT : JSON_ARRAY);
    return json_members(at, *value);
  }
  *value = json_new(*at == '"' ? JSON_STRING : JSON_NUMBER);
  if (*at == '"') {
    at = json_string(at, &text);
  } else {
    size_t length = strspn(at, "0123456789+-.eE");
    if (length == 0) json_stop("no value", at);
    json_add(&text, at, length);
    at += length;
  }
  (*value)->text = text.text;
  (*value)->length = text.length;
  return at;
}

/* Reads a whole document. */
static inline json *json_parse(const char *text) {
  json *value;
  const char *end = json_blanks(json_value(json_blanks(text), &value));
  if (*end) json_stop("more than one value", end);
  return value;
}

static inline json *json_read_file(const char *path) {
  json_text text = {NULL, 0, 0};
  char buffer[4096];
  size_t count;
  FILE *file = fopen(path, "r");
  if (!file) json_stop("cannot be opened", path);
  while ((count = fread(buffer, 1, sizeof buffer, file)) > 0) json_add(&text, buffer, count);
  fclose(file);
  json *value = json_parse(text.text ? text.text : "");
  free(text.text);
  return value;
}

/* -- looking --------------------------------------------------------------------------------------------------------- */

/* A member of an object; NULL if it is not there, and for whatever is no object. */
static inline const json *json_get(const json *object, const char *name) {
  if (!object || object->kind != JSON_OBJECT) return NULL;
  for (const json *member = object->first; member; member = member->next)
    if (strcmp(member->name, name) == 0) return member;
  return NULL;
}

static inline const char *json_get_text(const json *object, const char *name) {
  const json *member = json_get(object, name);
  return member && member->kind == JSON_STRING ? member->text : NULL;
}

static inline long json_get_number(const json *object, const char *name, long otherwise) {
  const json *member = json_get(object, name);
  return member && member->kind == JSON_NUMBER ? strtol(member->text, NULL, 10) : otherwise;
}

/* Whether `whole` holds `part`: members that `part` names must be there and hold theirs; all else must be equal. */
static inline bool json_holds(const json *whole, const json *part) {
  if (!whole || whole->kind != part->kind) return false;
  if (part->kind == JSON_OBJECT) {
    for (const json *member = part->first; member; member = member->next)
      if (!json_holds(json_get(whole, member->name), member)) return false;
    return true;
  }
  if (part->kind == JSON_ARRAY) {
    const json *a = whole->first, *b = part->first;
    while (a && b && json_holds(a, b)) a = a->next, b = b->next;
    return !a && !b;
  }
  if (part->kind == JSON_NUMBER) return strtod(whole->text, NULL) == strtod(part->text, NULL);
  return part->kind != JSON_STRING || (whole->length == part->length && memcmp(whole->text, part->text, part->length) == 0);
}

/* -- writing --------------------------------------------------------------------------------------------------------- */

static inline void json_write_string(json_text *to, const char *text, size_t length) {
  json_add(to, "\"", 1);
  for (size_t i = 0; i < length; i++) {
    char escape[8];
    unsigned char c = (unsigned char)text[i];
    if (c < ' ' || c == '"' || c == '\\') json_add(to, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
    else json_add(to, text + i, 1);
  }
  json_add(to, "\"", 1);
}

static inline void json_write(json_text *to, const json *value) {
  static const char *const words[] = {"null", "false", "true"};
  if (value->kind <= JSON_TRUE) json_add(to, words[value->kind], strlen(words[value->kind]));
  else if (value->kind == JSON_NUMBER) json_add(to, value->text, value->length);
  else if (value->kind == JSON_STRING) json_write_string(to, value->text, value->length);
  else {
    bool object = value->kind == JSON_OBJECT;
    json_add(to, object ? "{" : "[", 1);
    for (const json *member = value->first; member; member = member->next) {
      if (member != value->first) json_add(to, ",", 1);
      if (object) {
        json_write_string(to, member->name, strlen(member->name));
        json_add(to, ":", 1);
      }
      json_write(to, member);
    }
    json_add(to, object ? "}" : "]", 1);
  }
}

/* Its JSON, to be given back with free(). */
static inline char *json_print(const json *value) {
  json_text text = {NULL, 0, 0};
  json_write(&text, value);
  return text.text;
}

/* -- the words of the cases ------------------------------------------------------------------------------------------ */

static inline void json_replace(json *value, const char *word, const char *by) {
  json_text made = {NULL, 0, 0};
  const char *at = value->text, *found;
  if (!by || strlen(value->text) != value->length || !strstr(at, word)) return;
  for (; (found = strstr(at, word)); at = found + strlen(word)) {
    json_add(&made, at, (size_t)(found - at));
    json_add(&made, by, strlen(by));
  }
  json_add(&made, at, strlen(at));
  free(value->text);
  value->text = made.text;
  value->length = made.length;
}

/* Puts in what $tiny, $hostile, $remote and {"$repeat":[text,count]} stand for, everywhere. */
static inline void json_fill_in(json *value, const char *tiny, const char *hostile, const char *remote) {
  const json *repeat = json_get(value, "$repeat");
  for (json *member = value->first; member; member = member->next) json_fill_in(member, tiny, hostile, remote);
  if (value->kind == JSON_STRING) {
    json_replace(value, "$tiny", tiny);
    json_replace(value, "$hostile", hostile);
    json_replace(value, "$remote", remote);
  } else if (repeat) {
    const json *what = repeat->first;
    json_text made = {NULL, 0, 0};
    json_add(&made, "", 0);
    for (long i = strtol(what->next->text, NULL, 10); i > 0; i--) json_add(&made, what->text, what->length);
    json_free(value->first);
    value->kind = JSON_STRING;
    value->first = NULL;
    value->text = made.text;
    value->length = made.length;
  }
}

/* The first member that is not in `words` (names with a blank before and behind each); NULL if all are known. */
static inline const char *json_unknown(const json *object, const char *words) {
  if (!object) return NULL;
  for (const json *member = object->first; member; member = member->next) {
    char word[64];
    snprintf(word, sizeof word, " %s ", member->name ? member->name : "(no object)");
    if (!strstr(words, word)) return member->name ? member->name : "(no object)";
  }
  return NULL;
}

#endif
