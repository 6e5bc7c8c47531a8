/* See genbench_backend.h and docs/backend-protocol.md. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "genbench_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define PROTOCOL "genbench.backend/1"
enum { LINE_LIMIT = 1 << 20, DEPTH_LIMIT = 64, STAGE_LIMIT = 32, HEADER_LIMIT = 1 << 24 };

static void *need(void *pointer) {
  if (pointer) return pointer;
  fputs("genbench_backend: no memory left\n", stderr);
  _exit(70);
}

uint64_t gb_time_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---------------------------------------------------------------- text that grows */

typedef struct {
  char *bytes;
  size_t count, capacity;
} text;

static void add_bytes(text *t, const char *bytes, size_t count) {
  if (t->count + count + 1 > t->capacity) {
    t->capacity = (t->count + count + 1) * 2;
    t->bytes = need(realloc(t->bytes, t->capacity));
  }
  memcpy(t->bytes + t->count, bytes, count);
  t->count += count;
  t->bytes[t->count] = 0;
}
static void add(text *t, const char *string) { add_bytes(t, string, strlen(string)); }
static void add_format(text *t, const char *format, ...) {
  char buffer[128];
  va_list list;
  va_start(list, format);
  vsnprintf(buffer, sizeof buffer, format, list);
  va_end(list);
  add(t, buffer);
}

/* The length of the UTF-8 character at s, 0 when it isn't one. */
static int utf8_length(const unsigned char *s, const unsigned char *end) {
  if (s[0] < 0x80) return 1;
  int count = s[0] >= 0xC2 && s[0] < 0xE0 ? 2 : s[0] >= 0xE0 && s[0] < 0xF0 ? 3 : s[0] >= 0xF0 && s[0] < 0xF5 ? 4 : 0;
  if (!count || end - s < count) return 0;
  for (int i = 1; i < count; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F)) return 0;
  return count;
}

/* A JSON string; what isn't UTF-8 becomes U+FFFD. */
static void add_quoted(text *t, const char *string) {
  const unsigned char *s = (const unsigned char *)string, *end = s + strlen(string);
  add(t, "\"");
  while (s < end) {
    int count = utf8_length(s, end);
    if (*s == '"' || *s == '\\') {
      add_format(t, "\\%c", *s);
    } else if (*s < 0x20) {
      add_format(t, "\\u%04x", *s);
    } else if (count) {
      add_bytes(t, (const char *)s, (size_t)count);
    } else {
      add(t, "\xEF\xBF\xBD");
    }
    s += count ? count : 1;
  }
  add(t, "\"");
}

static void add_key(text *t, const char *key) {
  if (t->count && t->bytes[t->count - 1] != '{') add(t, ", ");
  add_quoted(t, key);
  add(t, ": ");
}

/* ---------------------------------------------------------------- JSON that comes in */

typedef struct json json;
struct json {
  enum { NOTHING, BOOLEAN, NUMBER, STRING, ARRAY, OBJECT } kind;
  bool flag;
  char *string;       /* of a number: its words, so that 64-bit seeds stay exact */
  char *key;          /* of an object's member */
  json *first, *next; /* elements; the next one beside it */
};

static void free_json(json *value) {
  while (value) {
    json *next = value->next;
    free_json(value->first);
    free(value->string);
    free(value->key);
    free(value);
    value = next;
  }
}

typedef struct {
  const char *at, *end;
} reader;

static void skip_space(reader *r) {
  while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at) r->at++;
}

static int hex4(reader *r) {
  int value = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    if (r->at >= r->end) return -1;
    int c = *r->at, digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

static void add_scalar(text *t, int c) {
  char b[4];
  int count = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const int lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (int i = count - 1; i > 0; i--, c >>= 6) b[i] = (char)(0x80 | (c & 0x3F));
  b[0] = (char)(lead[count] | c);
  add_bytes(t, b, (size_t)count);
}

/* After the opening quote; NULL when it isn't a string. Characters of code 0 have no place in C's strings and are refused. */
static char *parse_string(reader *r) {
  text t = {0};
  add(&t, "");
  while (r->at < r->end && *r->at != '"') {
    unsigned char c = (unsigned char)*r->at;
    if (c < 0x20) break;
    if (c != '\\') {
      int count = utf8_length((const unsigned char *)r->at, (const unsigned char *)r->end);
      if (!count) break;
      add_bytes(&t, r->at, (size_t)count);
      r->at += count;
      continue;
    }
    if (++r->at >= r->end) break;
    char escape = *r->at++;
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found = escape ? strchr(from, escape) : NULL;
    if (found) {
      add_bytes(&t, &to[found - from], 1);
      continue;
    }
    int unit = escape == 'u' ? hex4(r) : -1;
    if (unit <= 0) goto wrong;
    if (unit >= 0xD800 && unit < 0xDC00 && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u') {
      reader ahead = {r->at + 2, r->end};
      int low = hex4(&ahead);
      if (low >= 0xDC00 && low < 0xE000) {
        r->at = ahead.at;
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
      }
    }
    add_scalar(&t, unit >= 0xD800 && unit < 0xE000 ? 0xFFFD : unit);
  }
  if (r->at < r->end && *r->at == '"') {
    r->at++;
    return t.bytes;
  }
wrong:
  free(t.bytes);
  return NULL;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool parse_number(reader *r, json *value) {
  const char *start = r->at;
  if (r->at < r->end && *r->at == '-') r->at++;
  if (r->at >= r->end || !is_digit(*r->at)) return false;
  if (*r->at == '0') r->at++;
  else
    while (r->at < r->end && is_digit(*r->at)) r->at++;
  if (r->at < r->end && *r->at == '.') {
    const char *digits = ++r->at;
    while (r->at < r->end && is_digit(*r->at)) r->at++;
    if (r->at == digits) return false;
  }
  if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
    r->at++;
    if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
    const char *digits = r->at;
    while (r->at < r->end && is_digit(*r->at)) r->at++;
    if (r->at == digits) return false;
  }
  value->kind = NUMBER;
  value->string = need(strndup(start, (size_t)(r->at - start)));
  return true;
}

static bool parse_word(reader *r, const char *word) {
  size_t count = strlen(word);
  if ((size_t)(r->end - r->at) < count || memcmp(r->at, word, count)) return false;
  r->at += count;
  return true;
}

static json *parse_value(reader *r, int depth) {
  json *value = need(calloc(1, sizeof *value));
  skip_space(r);
  if (depth > DEPTH_LIMIT || r->at >= r->end) goto wrong;
  if (*r->at == '{' || *r->at == '[') {
    bool object = *r->at++ == '{';
    char closing = object ? '}' : ']';
    value->kind = object ? OBJECT : ARRAY;
    json **last = &value->first;
    skip_space(r);
    if (r->at < r->end && *r->at == closing) {
      r->at++;
      return value;
    }
    for (;;) {
      char *key = NULL;
      skip_space(r);
      if (object) {
        if (r->at >= r->end || *r->at++ != '"' || !(key = parse_string(r))) goto wrong;
        skip_space(r);
        if (r->at >= r->end || *r->at++ != ':') {
          free(key);
          goto wrong;
        }
      }
      json *element = parse_value(r, depth + 1);
      if (!element) {
        free(key);
        goto wrong;
      }
      element->key = key;
      *last = element;
      last = &element->next;
      skip_space(r);
      if (r->at >= r->end) goto wrong;
      char c = *r->at++;
      if (c == closing) return value;
      if (c != ',') goto wrong;
    }
  }
  if (*r->at == '"') {
    r->at++;
    value->kind = STRING;
    if ((value->string = parse_string(r))) return value;
    goto wrong;
  }
  if (parse_word(r, "null")) return value;
  if (parse_word(r, "true") || parse_word(r, "false")) {
    value->kind = BOOLEAN;
    value->flag = r->at[-2] == 'u';
    return value;
  }
  if (parse_number(r, value)) return value;
wrong:
  free_json(value);
  return NULL;
}

static json *parse(const char *bytes, size_t count) {
  reader r = {bytes, bytes + count};
  json *value = parse_value(&r, 0);
  skip_space(&r);
  if (value && r.at != r.end) {
    free_json(value);
    return NULL;
  }
  return value;
}

/* A member that isn't null. */
static json *member(const json *object, const char *key) {
  if (!object || object->kind != OBJECT) return NULL;
  for (json *element = object->first; element; element = element->next)
    if (!strcmp(element->key, key)) return element->kind == NOTHING ? NULL : element;
  return NULL;
}
static const char *string_of(const json *value) { return value && value->kind == STRING ? value->string : NULL; }
static bool is_whole(const json *value) { return value && value->kind == NUMBER && !strpbrk(value->string, ".eE"); }
static bool whole(const json *value, int64_t *result) {
  if (!is_whole(value)) return false;
  errno = 0;
  *result = strtoll(value->string, NULL, 10);
  return errno == 0;
}

/* ---------------------------------------------------------------- the state */

typedef struct file_data {
  struct file_data *next;
  char *name;
  char *bytes;
  size_t count;
  json *header;
} file_data;

typedef struct {
  char *name;
  float *values;
  int64_t shape[GB_MAX_RANK], count;
  int rank;
} output;

struct gb_run {
  json *request;
  const char *kind;
  int64_t id;
  atomic_bool cancelled;
  struct {
    char *name;
    int index;
  } stages[STAGE_LIMIT];
  int depth;
  text reply, images, unavailable;
  char *code, *message;
  file_data *files;
  output *outputs;
  size_t output_count;
  uint64_t elapsed;
  gb_run *next; /* in the queue */
};

typedef struct loaded {
  struct loaded *next;
  char id[32];
  void *value;
} loaded;

static const gb_engine *engine;
static int sink = -1, source = -1;
static char *exchange;
static int64_t last_id = -1;
static loaded *models;
static atomic_uint_fast64_t numbers = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, writing = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static gb_run *queue, **queue_end = &queue, *running;
static bool ended;

static void write_all(const char *bytes, size_t count) {
  pthread_mutex_lock(&writing);
  while (count) {
    ssize_t done = write(sink, bytes, count);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) _exit(0); /* nobody listens any more */
    bytes += done;
    count -= (size_t)done;
  }
  pthread_mutex_unlock(&writing);
}

static text answer(const char *type, int64_t id) {
  text t = {0};
  add(&t, "{\"type\": ");
  add_quoted(&t, type);
  add_format(&t, ", \"id\": %" PRId64, id);
  return t;
}
static void finish(text *t) {
  add(t, "}\n");
  write_all(t->bytes, t->count);
  free(t->bytes);
}
static void put_member(text *t, const char *key, const char *value) {
  add_key(t, key);
  add_quoted(t, value);
}
static void send_ok(int64_t id) {
  text t = answer("ok", id);
  finish(&t);
}
/* An id below 0: the error belongs to no request. */
static void send_error(int64_t id, const char *code, const char *message) {
  text t = {0};
  if (id < 0) add(&t, "{\"type\": \"error\", \"id\": null");
  else t = answer("error", id);
  put_member(&t, "code", code);
  put_member(&t, "message", message);
  finish(&t);
}

static int fail_list(gb_run *run, const char *code, const char *format, va_list list) {
  char buffer[4096];
  vsnprintf(buffer, sizeof buffer, format, list);
  if (!run->code) {
    run->code = need(strdup(code));
    run->message = need(strdup(buffer));
  }
  return -1;
}
int gb_fail(gb_run *run, const char *code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int result = fail_list(run, code, format, list);
  va_end(list);
  return result;
}
bool gb_cancelled(gb_run *run) { return atomic_load(&run->cancelled); }

/* ---------------------------------------------------------------- settings */

bool gb_has(gb_run *run, const char *key) { return member(run->request, key) != NULL; }
const char *gb_text(gb_run *run, const char *key) { return string_of(member(run->request, key)); }
static double number_of(const json *value, double otherwise) { return value && value->kind == NUMBER ? strtod(value->string, NULL) : otherwise; }
double gb_number(gb_run *run, const char *key, double otherwise) { return number_of(member(run->request, key), otherwise); }
int64_t gb_integer(gb_run *run, const char *key, int64_t otherwise) {
  int64_t result;
  return whole(member(run->request, key), &result) ? result : otherwise;
}
uint64_t gb_unsigned(gb_run *run, const char *key, uint64_t otherwise) {
  json *value = member(run->request, key);
  return is_whole(value) ? strtoull(value->string, NULL, 10) : otherwise;
}
bool gb_flag(gb_run *run, const char *key, bool otherwise) {
  json *value = member(run->request, key);
  return value && value->kind == BOOLEAN ? value->flag : otherwise;
}
double gb_attribute(gb_run *run, const char *key, double otherwise) { return number_of(member(member(run->request, "attributes"), key), otherwise); }
bool gb_turn(gb_run *run, int index, const char **role, const char **words) {
  json *turns = member(run->request, "turns"), *turn = turns ? turns->first : NULL;
  while (turn && index-- > 0) turn = turn->next;
  if (!turn) return false;
  *role = string_of(member(turn, "role"));
  *words = string_of(member(turn, "text"));
  return *role && *words;
}

/* ---------------------------------------------------------------- tensors */

static bool plain(const char *name) { return name && *name && !strpbrk(name, "/\\") && strcmp(name, ".") && strcmp(name, ".."); }

static char *path_of(const char *name) {
  text t = {0};
  add(&t, exchange);
  add(&t, "/");
  add(&t, name);
  return t.bytes;
}

static void remove_file(const char *name) {
  if (!plain(name)) return;
  char *path = path_of(name);
  unlink(path);
  free(path);
}

/* Reads a file whole and deletes it. */
static file_data *open_file(gb_run *run, const char *name) {
  for (file_data *file = run->files; file; file = file->next)
    if (!strcmp(file->name, name)) return file;
  if (!plain(name)) {
    gb_fail(run, "invalid_input", "%s is no plain file name: references stay inside the exchange folder", name ? name : "(nothing)");
    return NULL;
  }
  char *path = path_of(name);
  int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  struct stat about;
  if (descriptor < 0 || fstat(descriptor, &about) || !S_ISREG(about.st_mode)) {
    if (descriptor >= 0) close(descriptor);
    free(path);
    gb_fail(run, "invalid_input", "%s: no such file in the exchange folder", name);
    return NULL;
  }
  size_t count = (size_t)about.st_size, done = 0;
  char *bytes = need(malloc(count + 8));
  while (done < count) {
    ssize_t part = read(descriptor, bytes + done, count - done);
    if (part <= 0) break;
    done += (size_t)part;
  }
  close(descriptor);
  unlink(path);
  free(path);
  uint64_t length = 0;
  for (int i = 0; i < 8 && done >= 8; i++) length |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
  json *header = done == count && count >= 8 && length <= count - 8 && length <= HEADER_LIMIT ? parse(bytes + 8, (size_t)length) : NULL;
  if (!header || header->kind != OBJECT) {
    free_json(header);
    free(bytes);
    gb_fail(run, "invalid_input", "%s: not a safetensors file", name);
    return NULL;
  }
  file_data *file = need(calloc(1, sizeof *file));
  *file = (file_data){run->files, need(strdup(name)), bytes, count, header};
  run->files = file;
  return file;
}

static int find_tensor(gb_run *run, file_data *file, const char *name, gb_tensor *tensor) {
  json *entry = member(file->header, name), *shape = member(entry, "shape"), *offsets = member(entry, "data_offsets");
  const char *type = string_of(member(entry, "dtype"));
  if (!entry || !type || !shape || !offsets || !offsets->first) return gb_fail(run, "invalid_input", "%s: no tensor %s", file->name, name);
  uint64_t start = 8;
  for (int i = 0; i < 8; i++) start += (uint64_t)(unsigned char)file->bytes[i] << (8 * i);
  tensor->is_u8 = !strcmp(type, "U8");
  if (!tensor->is_u8 && strcmp(type, "F32")) return gb_fail(run, "invalid_input", "%s: %s is %s; expected F32 or U8", file->name, name, type);
  tensor->rank = 0;
  tensor->count = 1;
  for (json *side = shape->first; side; side = side->next) {
    int64_t length;
    if (!whole(side, &length) || length < 0 || tensor->rank == GB_MAX_RANK || (length && tensor->count > (INT64_C(1) << 40) / length))
      return gb_fail(run, "invalid_input", "%s: the shape of %s can't be read", file->name, name);
    tensor->shape[tensor->rank++] = length;
    tensor->count *= length;
  }
  int64_t begin, end, bytes = tensor->count * (tensor->is_u8 ? 1 : 4);
  if (!whole(offsets->first, &begin) || !whole(offsets->first->next, &end) || begin < 0 || end < begin || end - begin != bytes ||
      start + (uint64_t)end > file->count)
    return gb_fail(run, "invalid_input", "%s: the offsets of %s don't fit its shape or the file", file->name, name);
  char *data = file->bytes + start + begin;
  if (!tensor->is_u8 && (uintptr_t)data % 4) { /* headers needn't be padded: give it a copy that is aligned */
    file_data *copy = need(calloc(1, sizeof *copy));
    *copy = (file_data){run->files, need(strdup("")), need(malloc((size_t)bytes + 8)), 0, NULL};
    run->files = copy;
    data = memcpy(copy->bytes, data, (size_t)bytes);
  }
  tensor->data = data;
  for (int64_t i = 0; !tensor->is_u8 && i < tensor->count; i++)
    if (!isfinite(((const float *)(const void *)data)[i])) return gb_fail(run, "invalid_input", "%s: %s holds values that aren't finite", file->name, name);
  return 1;
}

int gb_read(gb_run *run, const char *key, gb_tensor *tensor) {
  json *reference = member(run->request, key);
  if (!reference) return 0;
  const char *file = string_of(member(reference, "file")), *name = string_of(member(reference, "tensor"));
  if (!file || !name) return gb_fail(run, "invalid_input", "%s: a reference needs 'file' and 'tensor'", key);
  file_data *data = open_file(run, file);
  return data ? find_tensor(run, data, name, tensor) : -1;
}

int gb_input(gb_run *run, const char *name, gb_tensor *tensor) {
  file_data *data = open_file(run, gb_text(run, "inputs"));
  if (!data) return -1;
  return member(data->header, name) ? find_tensor(run, data, name, tensor) : 0;
}

/* Writes one file under a name of its own, which it returns (free it); NULL when the request has failed. */
static char *write_file(gb_run *run, const text *header, const void *const *parts, const size_t *counts, size_t count) {
  char name[64];
  snprintf(name, sizeof name, "child-%ld-%" PRIuFAST64 ".safetensors", (long)getpid(), atomic_fetch_add(&numbers, 1));
  text temporary = {0};
  add(&temporary, exchange);
  add_format(&temporary, "/%s.part", name);
  FILE *file = fopen(temporary.bytes, "wb");
  bool good = file != NULL;
  if (good) {
    size_t padded = (header->count + 7) / 8 * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(padded >> (8 * i));
    good = fwrite(length, 1, 8, file) == 8 && fwrite(header->bytes, 1, header->count, file) == header->count;
    for (size_t i = header->count; good && i < padded; i++) good = fputc(' ', file) != EOF;
    for (size_t i = 0; good && i < count; i++) good = fwrite(parts[i], 1, counts[i], file) == counts[i];
    good = fclose(file) == 0 && good;
  }
  char *path = path_of(name);
  good = good && rename(temporary.bytes, path) == 0;
  if (!good) {
    gb_fail(run, "processing_failed", "%s: can't be written: %s", path, strerror(errno));
    unlink(temporary.bytes);
  }
  free(path);
  free(temporary.bytes);
  return good ? need(strdup(name)) : NULL;
}

static void describe(text *header, const char *name, const char *type, const int64_t *shape, int rank, size_t begin, size_t end) {
  if (!header->count) add(header, "{");
  add_key(header, name);
  add_format(header, "{\"dtype\": \"%s\", \"shape\": [", type);
  for (int i = 0; i < rank; i++) add_format(header, "%s%" PRId64, i ? ", " : "", shape[i]);
  add_format(header, "], \"data_offsets\": [%zu, %zu]}", begin, end);
}

/* A reference to a picture; false when the request has failed. */
static bool add_picture(gb_run *run, text *t, const uint8_t *pixels, int width, int height) {
  int64_t shape[] = {height, width, 3};
  size_t count = (size_t)width * (size_t)height * 3;
  text header = {0};
  describe(&header, "image", "U8", shape, 3, 0, count);
  add(&header, "}");
  const void *part = pixels;
  char *name = write_file(run, &header, &part, &count, 1);
  free(header.bytes);
  if (!name) return false;
  add(t, "{\"file\": ");
  add_quoted(t, name);
  add(t, ", \"tensor\": \"image\"}");
  free(name);
  return true;
}

int gb_put_tensor(gb_run *run, const char *name, const float *values, const int64_t *shape, int rank) {
  if (rank < 0 || rank > GB_MAX_RANK) return gb_fail(run, "processing_failed", "%s: %d axes; at most %d", name, rank, GB_MAX_RANK);
  output *made;
  run->outputs = need(realloc(run->outputs, (run->output_count + 1) * sizeof *run->outputs));
  made = &run->outputs[run->output_count++];
  made->name = need(strdup(name));
  made->rank = rank;
  made->count = 1;
  for (int i = 0; i < rank; i++) made->count *= made->shape[i] = shape[i];
  made->values = need(malloc((size_t)made->count * 4 + 4));
  memcpy(made->values, values, (size_t)made->count * 4);
  return 0;
}

static char *write_outputs(gb_run *run) {
  text header = {0};
  const void **parts = need(malloc((run->output_count + 1) * sizeof *parts));
  size_t *counts = need(malloc((run->output_count + 1) * sizeof *counts)), offset = 0;
  for (size_t i = 0; i < run->output_count; i++) {
    output *made = &run->outputs[i];
    parts[i] = made->values;
    counts[i] = (size_t)made->count * 4;
    describe(&header, made->name, "F32", made->shape, made->rank, offset, offset + counts[i]);
    offset += counts[i];
  }
  if (!header.count) add(&header, "{");
  add(&header, "}");
  char *name = write_file(run, &header, parts, counts, run->output_count);
  free(header.bytes);
  free(parts);
  free(counts);
  return name;
}

/* ---------------------------------------------------------------- events and the reply */

static void add_time(text *t) {
  add_key(t, "time_ns");
  add_format(t, "%" PRIu64, gb_time_ns());
}
static void send_stage(gb_run *run, const char *phase) {
  text t = answer("stage", run->id);
  put_member(&t, "stage", run->stages[run->depth - 1].name);
  put_member(&t, "phase", phase);
  if (run->stages[run->depth - 1].index >= 0) add_format(&t, ", \"index\": %d", run->stages[run->depth - 1].index);
  add_time(&t);
  finish(&t);
}
void gb_begin(gb_run *run, const char *stage, int index) {
  if (run->depth == STAGE_LIMIT) {
    gb_fail(run, "processing_failed", "more than %d stages are open", STAGE_LIMIT);
    return;
  }
  run->stages[run->depth].name = need(strdup(stage));
  run->stages[run->depth++].index = index;
  send_stage(run, "begin");
}
void gb_end(gb_run *run) {
  if (!run->depth) return;
  send_stage(run, "end");
  free(run->stages[--run->depth].name);
  if (!run->depth) gb_memory(run, -1);
}
void gb_progress(gb_run *run, int step, int total) {
  text t = answer("progress", run->id);
  add_format(&t, ", \"step\": %d, \"total\": %d", step, total);
  add_time(&t);
  finish(&t);
}
int gb_preview(gb_run *run, int step, const uint8_t *pixels, int width, int height, const char *safety) {
  text t = answer("preview", run->id);
  add_format(&t, ", \"step\": %d, \"image\": ", step);
  if (!add_picture(run, &t, pixels, width, height)) {
    free(t.bytes);
    return -1;
  }
  put_member(&t, "safety", safety);
  finish(&t);
  return 0;
}
void gb_token(gb_run *run, int id, const char *words) {
  text t = answer("token", run->id);
  add_format(&t, ", \"token\": %d", id);
  put_member(&t, "text", words);
  add_time(&t);
  finish(&t);
}
void gb_memory(gb_run *run, int64_t device_bytes) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return; /* not told here: nothing is sent */
  bool found = fscanf(file, "%*d %ld", &pages) == 1;
  fclose(file);
  if (!found) return;
  text t = answer("memory", run->id);
  add_format(&t, ", \"resident_bytes\": %" PRId64, (int64_t)pages * sysconf(_SC_PAGESIZE));
  if (device_bytes >= 0) add_format(&t, ", \"device_bytes\": %" PRId64, device_bytes);
  add_time(&t);
  finish(&t);
}
void gb_warning(gb_run *run, const char *format, ...) {
  char buffer[4096];
  va_list list;
  va_start(list, format);
  vsnprintf(buffer, sizeof buffer, format, list);
  va_end(list);
  text t = answer("warning", run->id);
  put_member(&t, "message", buffer);
  finish(&t);
}

void gb_put_json(gb_run *run, const char *key, const char *value) {
  if (!run->reply.count) add(&run->reply, "{");
  add_key(&run->reply, key);
  add(&run->reply, value);
}
void gb_put_text(gb_run *run, const char *key, const char *value) {
  text t = {0};
  add_quoted(&t, value);
  gb_put_json(run, key, t.bytes);
  free(t.bytes);
}
void gb_put_number(gb_run *run, const char *key, double value) {
  char buffer[40];
  if (!isfinite(value)) return; /* JSON has no word for it: left out */
  snprintf(buffer, sizeof buffer, "%.17g", value);
  gb_put_json(run, key, buffer);
}
void gb_put_integer(gb_run *run, const char *key, int64_t value) {
  char buffer[40];
  snprintf(buffer, sizeof buffer, "%" PRId64, value);
  gb_put_json(run, key, buffer);
}
void gb_put_integers(gb_run *run, const char *key, const int64_t *values, size_t count) {
  text t = {0};
  add(&t, "[");
  for (size_t i = 0; i < count; i++) add_format(&t, "%s%" PRId64, i ? ", " : "", values[i]);
  add(&t, "]");
  gb_put_json(run, key, t.bytes);
  free(t.bytes);
}
void gb_put_unavailable(gb_run *run, const char *key, const char *reason) {
  if (!run->unavailable.count) add(&run->unavailable, "{");
  put_member(&run->unavailable, key, reason);
}
void gb_put_elapsed(gb_run *run, uint64_t ns) { run->elapsed = ns; }
int gb_put_image(gb_run *run, const uint8_t *pixels, int width, int height, const char *safety, uint64_t seed) {
  add(&run->images, run->images.count ? ", " : "[");
  add(&run->images, "{\"image\": ");
  if (!add_picture(run, &run->images, pixels, width, height)) return -1;
  put_member(&run->images, "safety", safety);
  add_format(&run->images, ", \"seed\": %" PRIu64 "}", seed);
  return 0;
}

/* ---------------------------------------------------------------- what holds for every engine */

static bool listed(const char *const *list, const char *word) {
  for (; list && *list; list++)
    if (!strcmp(*list, word)) return true;
  return false;
}

/* A setting: its key, its type (s text, b flag, i whole from 1, u whole from 0, n number, r reference, a list, o object), the value that asks for nothing. */
typedef struct {
  const char *key;
  char type;
  const char *neutral; /* "*" any value */
} setting;
static const setting load_keys[] = {
    {"path", 's', "*"}, {"threads", 'i', "*"}, {"projector", 's', NULL}, {"variant", 's', NULL}, {"prediction_type", 's', NULL},
    {"safety", 's', "if_present off"}, {"reduce_memory", 'b', "false"}, {"precision", 's', "f32"}, {NULL, 0, NULL}};
static const setting image_keys[] = {
    {"model", 's', "*"}, {"prompt", 's', "*"}, {"negative_prompt", 's', NULL}, {"width", 'i', NULL}, {"height", 'i', NULL}, {"steps", 'i', NULL},
    {"guidance_scale", 'n', NULL}, {"guidance_rescale", 'n', "0"}, {"scheduler", 's', NULL}, {"timestep_spacing", 's', NULL}, {"eta", 'n', NULL},
    {"seed", 'u', NULL}, {"random_source", 's', NULL}, {"latents", 'r', NULL}, {"image", 'r', NULL}, {"mask", 'r', NULL}, {"strength", 'n', NULL},
    {"image_count", 'i', "1"}, {"checks_safety", 'b', "*"}, {"preview_stride", 'i', NULL}, {"trace_level", 's', "none"}, {"long_prompt", 's', NULL},
    {"clip_skip", 'u', "0"}, {NULL, 0, NULL}};
static const setting text_keys[] = {
    {"model", 's', "*"}, {"prompt", 's', "*"}, {"seed", 'u', "*"}, {"max_tokens", 'i', "*"}, {"turns", 'a', NULL}, {"raw", 'b', "false"},
    {"image", 'r', NULL}, {"temperature", 'n', "0"}, {"top_k", 'u', "0"}, {"top_p", 'n', "1"}, {"min_p", 'n', "0"},
    {"repetition_penalty", 'n', "1"}, {NULL, 0, NULL}};
static const setting op_keys[] = {{"op", 's', "*"}, {"attributes", 'o', "*"}, {"inputs", 's', "*"}, {NULL, 0, NULL}};

static bool fits(const json *value, char type) {
  switch (type) {
    case 's': return value->kind == STRING;
    case 'b': return value->kind == BOOLEAN;
    case 'n': return value->kind == NUMBER && isfinite(strtod(value->string, NULL));
    case 'i': return is_whole(value) && value->string[0] != '-' && strtod(value->string, NULL) >= 1 && strtod(value->string, NULL) <= INT_MAX;
    case 'u':
      errno = 0;
      return is_whole(value) && value->string[0] != '-' && (strtoull(value->string, NULL, 10), errno == 0);
    case 'a': return value->kind == ARRAY;
    default: return value->kind == OBJECT;
  }
}

static bool is_neutral(const gb_run *run, const setting *s, const json *value) {
  if (!strcmp(s->key, "strength") && !member(run->request, "image")) return true;
  if ((!strcmp(s->key, "seed") || !strcmp(s->key, "random_source")) && member(run->request, "latents")) return true;
  if (value->kind == ARRAY) return !value->first;
  if (!s->neutral) return false;
  if (!strcmp(s->neutral, "*")) return true;
  if (value->kind == BOOLEAN) return value->flag == !strcmp(s->neutral, "true");
  if (value->kind == NUMBER) return strtod(value->string, NULL) == strtod(s->neutral, NULL);
  if (value->kind != STRING) return false;
  for (const char *word = s->neutral; word; word = strchr(word, ' ')) {
    word += *word == ' ';
    size_t count = strcspn(word, " ");
    if (strlen(value->string) == count && !strncmp(word, value->string, count)) return true;
  }
  return false;
}

static int check(gb_run *run, const setting *settings, const char *const *honoured, const char *const *required) {
  for (; *required; required++)
    if (!gb_has(run, *required)) return gb_fail(run, "invalid_input", "%s: '%s' is missing", run->kind, *required);
  for (const setting *s = settings; s->key; s++) {
    json *value = member(run->request, s->key);
    if (!value) continue;
    if (!fits(value, s->type)) return gb_fail(run, "invalid_input", "%s: '%s' has a wrong type or value", run->kind, s->key);
    if (!strcmp(s->key, "strength") && (gb_number(run, "strength", 0) < 0 || gb_number(run, "strength", 0) > 1))
      return gb_fail(run, "invalid_input", "'strength' must be in 0...1");
    if (!listed(honoured, s->key) && !is_neutral(run, s, value))
      return gb_fail(run, "not_supported", "'%s' can't be honoured by this engine; leave it out", s->key);
  }
  return 0;
}

/* ---------------------------------------------------------------- the loop */

static void free_run(gb_run *run) {
  free_json(run->request);
  free(run->reply.bytes);
  free(run->images.bytes);
  free(run->unavailable.bytes);
  free(run->code);
  free(run->message);
  while (run->files) {
    file_data *next = run->files->next;
    free(run->files->name);
    free(run->files->bytes);
    free_json(run->files->header);
    free(run->files);
    run->files = next;
  }
  for (size_t i = 0; i < run->output_count; i++) {
    free(run->outputs[i].name);
    free(run->outputs[i].values);
  }
  free(run->outputs);
  free(run);
}

static void add_list(text *t, const char *key, const char *const *list) {
  add_key(t, key);
  add(t, "[");
  for (size_t i = 0; list && list[i]; i++) {
    if (i) add(t, ", ");
    add_quoted(t, list[i]);
  }
  add(t, "]");
}

static void add_unavailable(text *t, const gb_run *run) {
  text all = {0};
  add(&all, "{");
  for (const char *const *pair = engine->unavailable; pair && *pair; pair += 2) put_member(&all, pair[0], pair[1]);
  if (run && run->unavailable.count) {
    if (all.count > 1) add(&all, ", ");
    add(&all, run->unavailable.bytes + 1);
  }
  add(&all, "}");
  add_key(t, "unavailable");
  add(t, all.bytes);
  free(all.bytes);
}

static int hello(gb_run *run) {
  json *protocols = member(run->request, "protocols");
  bool found = false;
  for (json *p = protocols && protocols->kind == ARRAY ? protocols->first : NULL; p; p = p->next)
    found = found || (p->kind == STRING && !strcmp(p->string, PROTOCOL));
  if (!found) return gb_fail(run, "not_supported", "this speaks %s; the client doesn't offer it", PROTOCOL);
  const char *folder = gb_text(run, "exchange");
  struct stat about;
  if (!folder || folder[0] != '/' || stat(folder, &about) || !S_ISDIR(about.st_mode))
    return gb_fail(run, "invalid_input", "the exchange folder %s isn't there", folder ? folder : "(nothing)");
  exchange = need(strdup(folder));
  text t = answer("welcome", run->id);
  put_member(&t, "protocol", PROTOCOL);
  put_member(&t, "name", engine->name);
  put_member(&t, "version", engine->version);
  add_list(&t, "capabilities", engine->capabilities);
  put_member(&t, "device", engine->device ? engine->device : "cpu");
  if (engine->threads) add_format(&t, ", \"threads\": %d", engine->threads);
  if (engine->schedulers) add_list(&t, "schedulers", engine->schedulers);
  add_list(&t, "ops", engine->ops);
  add(&t, ", \"details\": {}");
  add_unavailable(&t, NULL);
  finish(&t);
  return 0;
}

static void push(gb_run *run) {
  pthread_mutex_lock(&lock);
  *queue_end = run;
  queue_end = &run->next;
  pthread_cond_signal(&more);
  pthread_mutex_unlock(&lock);
}

/* One request on the reading thread: answered here, or handed over. */
static void take(gb_run *run) {
  const char *kind = run->kind;
  int result = 0;
  bool kept = false;
  if (run->id <= last_id) {
    result = gb_fail(run, "invalid_input", "the id %" PRId64 " isn't above the last one, %" PRId64, run->id, last_id);
  } else if (last_id = run->id, strcmp(kind, "bye") && !strcmp(kind, "hello") == (exchange != NULL)) {
    result = gb_fail(run, "invalid_input", exchange ? "hello comes once" : "hello comes first");
  } else if (!strcmp(kind, "hello")) {
    result = hello(run);
  } else if (!strcmp(kind, "clock")) {
    text t = answer("clock", run->id);
    add_time(&t);
    finish(&t);
  } else if (!strcmp(kind, "cancel")) {
    int64_t target;
    if (!whole(member(run->request, "target"), &target)) {
      result = gb_fail(run, "invalid_input", "cancel: 'target' must be the id of a request");
    } else {
      pthread_mutex_lock(&lock);
      if (running && running->id == target) atomic_store(&running->cancelled, true);
      pthread_mutex_unlock(&lock);
      send_ok(run->id);
    }
  } else if (!strcmp(kind, "unload") || !strcmp(kind, "bye")) {
    const char *model = gb_text(run, "model");
    if (kind[0] == 'u' && !model) {
      result = gb_fail(run, "invalid_input", "unload: 'model' is missing");
    } else {
      pthread_mutex_lock(&lock);
      const char *busy = running ? gb_text(running, "model") : NULL;
      if (busy && model && !strcmp(busy, model)) atomic_store(&running->cancelled, true);
      pthread_mutex_unlock(&lock);
      kept = true;
      push(run);
    }
  } else if (!strcmp(kind, "load") || !strcmp(kind, "op") || !strcmp(kind, "generate_images") || !strcmp(kind, "generate_text")) {
    pthread_mutex_lock(&lock);
    int64_t busy = running ? running->id : -1;
    if (!running) running = run;
    pthread_mutex_unlock(&lock);
    if (busy >= 0) {
      result = gb_fail(run, "busy", "request %" PRId64 " is running; one at a time", busy);
    } else {
      kept = true;
      push(run);
    }
  } else {
    result = gb_fail(run, "not_supported", "there is no request '%.60s' in %s", kind, PROTOCOL);
  }
  if (result) send_error(run->id, run->code, run->message);
  if (!kept) free_run(run);
}

static void take_line(const char *line, size_t count) {
  json *request = parse(line, count);
  json *id = member(request, "id");
  const char *kind = string_of(member(request, "type"));
  int64_t number;
  if (!kind || !whole(id, &number) || number < 0) {
    free_json(request);
    send_error(-1, "invalid_input", "a line that is no request: expected a JSON object with 'type' and a whole 'id'");
    return;
  }
  gb_run *run = need(calloc(1, sizeof *run));
  run->request = request;
  run->kind = kind;
  run->id = number;
  take(run);
}

static void *read_lines(void *unused) {
  (void)unused;
  char *line = need(malloc(LINE_LIMIT)), block[1 << 16];
  size_t count = 0;
  bool too_long = false;
  for (;;) {
    ssize_t part = read(source, block, sizeof block);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) break;
    for (ssize_t i = 0; i < part; i++) {
      if (block[i] == '\n') {
        bool blank = true;
        for (size_t j = 0; j < count && blank; j++) blank = line[j] == ' ' || line[j] == '\r' || line[j] == '\t';
        if (too_long) send_error(-1, "invalid_input", "a line is longer than 1 MiB");
        else if (!blank) take_line(line, count);
        count = 0;
        too_long = false;
      } else if (count + 1 < LINE_LIMIT) {
        line[count++] = block[i];
      } else {
        too_long = true;
      }
    }
  }
  free(line);
  pthread_mutex_lock(&lock);
  if (running) atomic_store(&running->cancelled, true);
  ended = true;
  pthread_cond_signal(&more);
  pthread_mutex_unlock(&lock);
  return NULL;
}

static int load(gb_run *run) {
  static const char *const required[] = {"path", NULL};
  if (!engine->load) return gb_fail(run, "not_supported", "this engine loads no models");
  if (check(run, load_keys, engine->load_settings, required)) return -1;
  loaded *model = need(calloc(1, sizeof *model));
  snprintf(model->id, sizeof model->id, "m%" PRId64, run->id);
  if (engine->load(engine->context, run, &model->value)) {
    free(model);
    return -1;
  }
  gb_put_text(run, "id", model->id);
  model->next = models;
  models = model;
  return 0;
}

static int work_on(gb_run *run) {
  static const char *const generating[] = {"model", "prompt", NULL}, *const operating[] = {"op", "inputs", NULL};
  if (gb_cancelled(run)) return gb_fail(run, "cancelled", "the request was cancelled");
  if (!strcmp(run->kind, "load")) return load(run);
  if (!strcmp(run->kind, "op")) {
    if (check(run, op_keys, NULL, operating)) return -1;
    if (!engine->op || !listed(engine->ops, gb_text(run, "op"))) return gb_fail(run, "not_supported", "there is no operator '%.60s' here", gb_text(run, "op"));
    uint64_t start = gb_time_ns();
    int result = engine->op(engine->context, run);
    if (!run->elapsed) run->elapsed = gb_time_ns() - start;
    return result;
  }
  bool images = !strcmp(run->kind, "generate_images");
  if (check(run, images ? image_keys : text_keys, images ? engine->image_settings : engine->text_settings, generating)) return -1;
  loaded *model = models;
  while (model && strcmp(model->id, gb_text(run, "model"))) model = model->next;
  if (!model) return gb_fail(run, "not_loaded", "no model '%.60s' is loaded", gb_text(run, "model"));
  int (*call)(void *, void *, gb_run *) = images ? engine->generate_images : engine->generate_text;
  if (!call) return gb_fail(run, "not_supported", images ? "this engine makes no images" : "this engine makes no text");
  return call(engine->context, model->value, run);
}

static void reply_to(gb_run *run, int result) {
  while (run->depth) gb_end(run);
  if (!result && run->code) result = -1;
  text t = {0};
  if (!result) {
    bool loads = !strcmp(run->kind, "load"), operates = !strcmp(run->kind, "op"), images = !strcmp(run->kind, "generate_images");
    char *file = run->output_count || operates ? write_outputs(run) : NULL;
    t = answer(loads ? "loaded" : operates ? "op_result" : images ? "images" : "text", run->id);
    if (!run->reply.count) add(&run->reply, "{");
    if (loads) {
      add(&t, ", \"model\": ");
      add(&t, run->reply.bytes);
      add(&t, "}");
    } else if (run->reply.count > 1) {
      add(&t, ", ");
      add(&t, run->reply.bytes + 1);
    }
    if (images) {
      add(&t, ", \"images\": ");
      add(&t, run->images.count ? run->images.bytes : "[");
      add(&t, "]");
    }
    if (file) put_member(&t, operates ? "outputs" : "trace", file);
    if (operates) add_format(&t, ", \"elapsed_ns\": %" PRIu64, run->elapsed);
    if (!loads && !operates) add_unavailable(&t, run);
    free(file);
    if (run->code || t.count + 2 > LINE_LIMIT) {
      gb_fail(run, "processing_failed", "the reply doesn't fit a line of 1 MiB");
      result = -1;
    }
  }
  static const char *const references[] = {"latents", "image", "mask"};
  for (int i = 0; i < 3; i++) remove_file(string_of(member(member(run->request, references[i]), "file")));
  remove_file(gb_text(run, "inputs"));
  pthread_mutex_lock(&lock);
  running = NULL;
  pthread_mutex_unlock(&lock);
  if (!result) {
    finish(&t);
    return;
  }
  free(t.bytes);
  send_error(run->id, run->code ? run->code : "processing_failed", run->message ? run->message : "the engine failed without saying why");
}

static void unload(const char *id) {
  for (loaded **at = &models; *at; at = &(*at)->next) {
    if (id && strcmp((*at)->id, id)) continue;
    loaded *model = *at;
    *at = model->next;
    if (engine->unload) engine->unload(engine->context, model->value);
    free(model);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    return;
  }
}

int gb_serve(const gb_engine *served) {
  engine = served;
  sink = dup(1);
  source = dup(0);
  dup2(2, 1);
  pthread_t thread;
  if (sink < 0 || source < 0 || pthread_create(&thread, NULL, read_lines, NULL)) return 70;
  pthread_detach(thread);
  for (;;) {
    pthread_mutex_lock(&lock);
    while (!queue && !ended) pthread_cond_wait(&more, &lock);
    gb_run *run = queue;
    if (run && !(queue = run->next)) queue_end = &queue;
    pthread_mutex_unlock(&lock);
    if (!run) break; /* the end of stdin */
    if (!strcmp(run->kind, "bye")) {
      while (models) unload(NULL);
      send_ok(run->id);
      break;
    }
    if (!strcmp(run->kind, "unload")) {
      unload(gb_text(run, "model"));
      send_ok(run->id);
    } else {
      reply_to(run, work_on(run));
    }
    free_run(run);
  }
  while (models) unload(NULL);
  return 0;
}
