#include "driver.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int room(struct text *t, size_t more) {
  if (t->n + more + 1 <= t->room) return 1;
  size_t bytes = (t->n + more + 1) * 2;
  char *at = realloc(t->at, bytes);
  if (!at) return 0;
  t->at = at, t->room = bytes;
  return 1;
}

void say(struct text *t, const char *format, ...) {
  va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  int n = vsnprintf(NULL, 0, format, list);
  if (n >= 0 && room(t, (size_t)n)) t->n += (size_t)vsnprintf(t->at + t->n, (size_t)n + 1, format, again);
  va_end(list);
  va_end(again);
}

void say_quoted(struct text *t, const char *s, size_t n) {
  if (!room(t, 6 * n + 2)) return;
  char *out = t->at + t->n;
  *out++ = '"';
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c == '"' || c == '\\') *out++ = '\\', *out++ = (char)c;
    else if (c == '\n') *out++ = '\\', *out++ = 'n';
    else if (c < 32 || c > 126) out += sprintf(out, "\\u%04x", c); /* PTX is ASCII; names of files may not be */
    else *out++ = (char)c;
  }
  *out++ = '"';
  *out = 0;
  t->n = (size_t)(out - t->at);
}

void say_base64(struct text *t, const void *data, size_t n) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *b = data;
  if (!room(t, n * 4 / 3 + 8)) return;
  char *out = t->at + t->n;
  *out++ = '"';
  for (size_t i = 0; i < n; i += 3) {
    size_t left = n - i;
    uint32_t v = (uint32_t)b[i] << 16 | (left > 1 ? (uint32_t)b[i + 1] << 8 : 0) | (left > 2 ? b[i + 2] : 0);
    *out++ = digits[v >> 18], *out++ = digits[v >> 12 & 63];
    *out++ = left > 1 ? digits[v >> 6 & 63] : '=', *out++ = left > 2 ? digits[v & 63] : '=';
  }
  *out++ = '"';
  *out = 0;
  t->n = (size_t)(out - t->at);
}

static const char *behind_string(const char *s) {
  for (s++; *s && *s != '"'; s++)
    if (*s == '\\' && s[1]) s++;
  return *s ? s + 1 : s;
}

const char *after(const char *value) {
  int depth = 0;
  for (const char *s = value; *s;) {
    if (*s == '"') s = behind_string(s);
    else {
      if (*s == '{' || *s == '[') depth++;
      if (*s == '}' || *s == ']') {
        if (depth == 0) return s;
        depth--;
      }
      if (depth == 0 && (*s == ',' )) return s;
      s++;
    }
    if (depth == 0 && (*s == ',' || *s == '}' || *s == ']' || *s == 0)) return s;
  }
  return value + strlen(value);
}

const char *value_of(const char *json, const char *key) {
  size_t n = strlen(key);
  for (const char *s = json; s && *s;) {
    if (*s != '"') {
      s++;
      continue;
    }
    const char *end = behind_string(s);
    if ((size_t)(end - s) == n + 2 && memcmp(s + 1, key, n) == 0 && *end == ':') return end + 1;
    s = end;
  }
  return NULL;
}

long long number_of(const char *json, const char *key, long long otherwise) {
  const char *v = value_of(json, key);
  char *end;
  if (!v) return otherwise;
  long long n = strtoll(v, &end, 10);
  return end == v ? otherwise : n;
}

int string_of(const char *value, char *to, size_t bytes) {
  size_t n = 0;
  if (!value || *value != '"' || bytes == 0) return 0;
  for (const char *s = value + 1; *s && *s != '"' && n + 1 < bytes; s++) {
    if (*s == '\\' && s[1]) {
      s++;
      if (*s == 'u') { /* what is beyond ASCII is shown as a question */
        unsigned c = 0;
        sscanf(s + 1, "%4x", &c);
        to[n++] = c < 128 ? (char)c : '?';
        s += 4;
        continue;
      }
      to[n++] = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s;
    } else to[n++] = *s;
  }
  to[n] = 0;
  return 1;
}

int is(const char *json, const char *key, const char *string) {
  char found[64];
  return string_of(value_of(json, key), found, sizeof found) && strcmp(found, string) == 0;
}
