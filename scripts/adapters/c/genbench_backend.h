/* The child's side of the protocol genbench.backend/1 (docs/backend-protocol.md) for engines in C or C++.
 *
 * Fill a gb_engine and call gb_serve from main. Needs C11 and POSIX threads, nothing else:
 *   cc -std=c11 -O2 -pthread my_engine.c genbench_backend.c -lm -o my-engine
 * The calls below are made on the thread that called gb_serve, one at a time; requests are read on another thread, so that
 * cancel, clock and unload are heard meanwhile. File descriptor 1 leads to stderr while gb_serve runs: printing is harmless.
 */
#ifndef GENBENCH_BACKEND_H
#define GENBENCH_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One request while it runs. */
typedef struct gb_run gb_run;

/* Calls return 0, or what gb_fail returned. */
typedef struct {
  const char *name, *version, *device; /* device may be NULL: "cpu" */
  int threads;                         /* 0: not known */
  /* Lists end with NULL; a NULL list is empty, but NULL schedulers mean "takes none but its own". */
  const char *const *capabilities, *const *schedulers, *const *ops;
  /* Keys of the requests that are honoured; settings that are there and aren't listed are refused. */
  const char *const *load_settings, *const *image_settings, *const *text_settings;
  /* What the interface can't give, and why: pairs of a key and a reason. */
  const char *const *unavailable;
  /* Passed to each call. */
  void *context;
  /* Sets *model, and tells the keys of `loaded` with gb_put_…. */
  int (*load)(void *context, gb_run *run, void **model);
  void (*unload)(void *context, void *model);
  int (*generate_images)(void *context, void *model, gb_run *run);
  int (*generate_text)(void *context, void *model, gb_run *run);
  int (*op)(void *context, gb_run *run);
} gb_engine;

/* Serves until bye or the end of stdin. Returns main's exit code. */
int gb_serve(const gb_engine *engine);

/* Ends the request in an error: a code of the protocol and a sentence (what, expected, found, remedy). Returns -1. */
int gb_fail(gb_run *run, const char *code, const char *format, ...);
/* Whether the request was cancelled: look often, then return gb_fail(run, "cancelled", …). */
bool gb_cancelled(gb_run *run);

/* Settings of the request. gb_text: NULL when left out. */
bool gb_has(gb_run *run, const char *key);
const char *gb_text(gb_run *run, const char *key);
double gb_number(gb_run *run, const char *key, double otherwise);
int64_t gb_integer(gb_run *run, const char *key, int64_t otherwise);
uint64_t gb_unsigned(gb_run *run, const char *key, uint64_t otherwise);
bool gb_flag(gb_run *run, const char *key, bool otherwise);
/* Turns of a conversation: gb_turn returns false beyond the last one. */
bool gb_turn(gb_run *run, int index, const char **role, const char **text);
/* A number of an operator's attributes. */
double gb_attribute(gb_run *run, const char *key, double otherwise);

enum { GB_MAX_RANK = 8 };
typedef struct {
  bool is_u8;               /* else float */
  int rank;
  int64_t shape[GB_MAX_RANK];
  int64_t count;
  const void *data;         /* valid until the request ends */
} gb_tensor;
/* The tensor that a key refers to (`latents`, `image`, `mask`). 1: there; 0: left out; -1: wrong, and the request has failed. */
int gb_read(gb_run *run, const char *key, gb_tensor *tensor);
/* An input of an operator; as gb_read. */
int gb_input(gb_run *run, const char *name, gb_tensor *tensor);

/* Events. `index` counts from 0, -1 for none; `step` from 1. Stages end in the reverse order; open ones are ended for you. */
void gb_begin(gb_run *run, const char *stage, int index);
void gb_end(gb_run *run);
void gb_progress(gb_run *run, int step, int total);
/* Pixels are RGB, row by row. `safety`: "passed", "filtered" or "unchecked". */
int gb_preview(gb_run *run, int step, const uint8_t *pixels, int width, int height, const char *safety);
void gb_token(gb_run *run, int id, const char *text);
void gb_memory(gb_run *run, int64_t device_bytes); /* -1: no device memory */
void gb_warning(gb_run *run, const char *format, ...);

/* The reply. */
void gb_put_text(gb_run *run, const char *key, const char *value);
void gb_put_number(gb_run *run, const char *key, double value);
void gb_put_integer(gb_run *run, const char *key, int64_t value);
void gb_put_integers(gb_run *run, const char *key, const int64_t *values, size_t count);
/* A value that is JSON already. */
void gb_put_json(gb_run *run, const char *key, const char *json);
void gb_put_unavailable(gb_run *run, const char *key, const char *reason);
/* A picture of `images`. */
int gb_put_image(gb_run *run, const uint8_t *pixels, int width, int height, const char *safety, uint64_t seed);
/* A tensor of the trace, or an output of an operator; the values are copied. */
int gb_put_tensor(gb_run *run, const char *name, const float *values, const int64_t *shape, int rank);
/* What the operator itself took; without it the whole call is told. */
void gb_put_elapsed(gb_run *run, uint64_t ns);

uint64_t gb_time_ns(void);

#ifdef __cplusplus
}
#endif
#endif
