/* Texts that NCCL passes, each stored once. Anyone may intern at any time: room is taken by adding to a number, an entry is written, and
 * only then put into the table, which forgets nothing. Two threads that intern the same text at once may store it twice. */
#include "recorder.h"

struct text_entry { uint32_t hash, stored, whole, zero; char text[]; };

/* More than half again as many as there is room for entries: a text that is not there is known to be new after a few places. */
enum { places = 1 << 15 };
static _Atomic uint32_t table[places];
_Static_assert(places >= 3 * (string_bytes / (sizeof(struct text_entry) + 8)) / 2, "a table that is nearly full is looked through for long");

static uint32_t hash_of(const char *text, uint32_t n) {
  uint32_t h = 2166136261u;
  for (uint32_t i = 0; i < n; i++) h = (h ^ (uint8_t)text[i]) * 16777619u;
  return h;
}

static struct text_entry *entry_of(uint32_t number) { return (struct text_entry *)(recorder.strings + (size_t)number * 8); }

static int same(const struct text_entry *e, uint32_t hash, const char *text, uint32_t n) {
  return e->hash == hash && e->stored == n && memcmp(e->text, text, n) == 0;
}

/* Writes an entry; its number, 0 where the section is full. Numbers count 8 bytes and start at 1: the first 8 are not used. */
static uint32_t store(uint32_t hash, const char *text, uint32_t n, uint32_t whole) {
  uint32_t units = (uint32_t)(sizeof(struct text_entry) + n + 7) / 8, used = relaxed32(&recorder.header->strings_used);
  do {
    if (used + units > string_bytes / 8) return 0;
  } while (!atomic_compare_exchange_weak(&recorder.header->strings_used, &used, used + units));
  struct text_entry *e = entry_of(used);
  e->hash = hash;
  e->stored = n;
  e->whole = whole;
  memcpy(e->text, text, n);
  return used;
}

uint32_t intern(const char *text) {
  if (text == NULL) return 0;
  uint32_t n = 0;
  while (n <= string_longest && text[n]) n++;
  uint32_t whole = n <= string_longest;
  if (!whole) n = string_longest;
  uint32_t hash = hash_of(text, n), stored = 0;
  for (uint32_t i = 0; i < places; i++) {
    _Atomic uint32_t *place = &table[(hash + i) % places];
    uint32_t number = atomic_load_explicit(place, memory_order_acquire);
    if (number == 0) {
      if (stored == 0) stored = store(hash, text, n, whole);
      if (stored == 0) break;
      if (atomic_compare_exchange_strong(place, &number, stored)) return stored;
    }
    if (same(entry_of(number), hash, text, n)) return number;
  }
  atomic_fetch_add_explicit(&recorder.header->lost_strings, 1, memory_order_relaxed);
  return UINT32_MAX;
}
