/* An example for genbench_backend.h: an engine without weights, whose pictures and texts follow from the request alone.
 *
 *   cc -std=c11 -O2 -pthread toy_engine.c genbench_backend.c -lm -o toy-engine
 *   genbench generate --backend proc:./toy-engine --model FILE --prompt "a cat"
 *
 * Any file or folder is a model. It has latents, steps that can be cancelled, previews, a trace, text token by token, and the
 * operators `silu` and `softmax`. `--step-ms N` makes each step and token take N milliseconds.
 */
#include "genbench_backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int step_ms;

typedef struct {
  float *weights; /* 8 MiB, so that loading and unloading can be seen in the memory */
} toy;
enum { WEIGHTS = 2 << 20, LARGEST = 4096 };

static uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
static double uniform(uint64_t x) { return ((double)(mix(x) >> 11) + 0.5) / 9007199254740992.0; }
static float normal(uint64_t x) {
  const double two_pi = 6.283185307179586;
  return (float)(sqrt(-2 * log(uniform(2 * x))) * cos(two_pi * uniform(2 * x + 1)));
}
static uint64_t hash(const char *words, uint64_t start) {
  for (; words && *words; words++) start = mix(start ^ (unsigned char)*words);
  return start;
}

/* One step's or token's time, in slices, so that cancelling takes a few milliseconds. False when it was cancelled. */
static bool work(gb_run *run) {
  for (int left = step_ms; left > 0 && !gb_cancelled(run); left -= 5) {
    struct timespec slice = {0, (left < 5 ? left : 5) * 1000000L};
    nanosleep(&slice, NULL);
  }
  return !gb_cancelled(run);
}
static int cancelled(gb_run *run) { return gb_fail(run, "cancelled", "the request was cancelled"); }

static int load(void *context, gb_run *run, void **model) {
  (void)context;
  const char *path = gb_text(run, "path");
  if (access(path, R_OK)) return gb_fail(run, "model_not_found", "%s: no such file or folder", path);
  gb_begin(run, "load", -1);
  toy *made = malloc(sizeof *made);
  if (made) made->weights = malloc(WEIGHTS * sizeof(float));
  if (!made || !made->weights) {
    free(made);
    return gb_fail(run, "out_of_memory", "8 MiB for the weights aren't there");
  }
  for (int i = 0; i < WEIGHTS; i++) made->weights[i] = (float)uniform((uint64_t)i);
  if (!work(run)) {
    free(made->weights);
    free(made);
    return cancelled(run);
  }
  gb_end(run);
  *model = made;
  gb_put_text(run, "variant", "sd15");
  gb_put_json(run, "capabilities", "[\"text_to_image\", \"negative_prompt\", \"latents_input\", \"previews\", \"trace\", \"batch\", \"text_generation\", \"image_understanding\"]");
  gb_put_json(run, "native_sizes", "[[64, 64], [128, 128]]");
  gb_put_integer(run, "size_multiple", 8);
  gb_put_text(run, "prediction_type", "epsilon");
  gb_put_text(run, "default_scheduler", "euler");
  gb_put_integer(run, "default_steps", 4);
  gb_put_number(run, "default_guidance_scale", 7.5);
  gb_put_integer(run, "context_length", 1024);
  gb_put_integer(run, "parameter_count", WEIGHTS);
  gb_put_integer(run, "weight_bytes", WEIGHTS * 4);
  return 0;
}

static void unload(void *context, void *model) {
  (void)context;
  free(((toy *)model)->weights);
  free(model);
}

/* Latents to pixels: three of the four channels, each value a square of 8 pixels. */
static void decode(const float *x, int h, int w, uint8_t *pixels) {
  for (int y = 0; y < h * 8; y++)
    for (int column = 0; column < w * 8; column++)
      for (int c = 0; c < 3; c++) {
        float value = x[(c * h + y / 8) * w + column / 8] * 40 + 128;
        pixels[(y * w * 8 + column) * 3 + c] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
      }
}

/* One picture: x moves towards what the prompt stands for, step by step. */
static int make_image(gb_run *run, const gb_tensor *noise, int image, int width, int height, int steps, int done, int total) {
  int h = height / 8, w = width / 8, stride = (int)gb_integer(run, "preview_stride", 0), result = -1;
  size_t count = (size_t)h * (size_t)w * 4;
  double scale = gb_number(run, "guidance_scale", 7.5);
  const char *level = gb_text(run, "trace_level");
  bool traced = level && strcmp(level, "none") && image == 0;
  uint64_t seed = gb_unsigned(run, "seed", 0) + (uint64_t)image;
  uint64_t wanted = hash(gb_text(run, "prompt"), 1), avoided = hash(gb_text(run, "negative_prompt"), 2);
  int64_t shape[] = {1, 4, h, w};
  float *x = malloc(count * sizeof *x), *prediction = malloc(count * sizeof *x);
  uint8_t *pixels = malloc((size_t)width * (size_t)height * 3);
  if (!x || !prediction || !pixels) {
    gb_fail(run, "out_of_memory", "%dx%d doesn't fit into memory", width, height);
    goto end;
  }
  gb_begin(run, "latents", -1);
  for (size_t i = 0; i < count; i++) x[i] = noise ? ((const float *)noise->data)[i] : normal(mix(seed) + i);
  gb_end(run);
  if (traced) gb_put_tensor(run, "latents.init", x, shape, 4);
  for (int step = 0; step < steps; step++) {
    char name[40];
    gb_begin(run, "step", done + step);
    gb_begin(run, "unet", done + step);
    if (!work(run)) {
      cancelled(run);
      goto end;
    }
    for (size_t i = 0; i < count; i++) {
      double target = uniform(wanted + i) * 2 - 1, other = uniform(avoided + i) * 2 - 1;
      prediction[i] = (float)(x[i] - (target + (scale - 1) * 0.02 * (target - other)));
    }
    gb_end(run);
    gb_begin(run, "scheduler", done + step);
    for (size_t i = 0; i < count; i++) x[i] -= prediction[i] / (float)(steps - step + 1);
    gb_end(run);
    gb_end(run);
    gb_progress(run, done + step + 1, total);
    snprintf(name, sizeof name, "noise_pred.%d", step);
    if (traced) gb_put_tensor(run, name, prediction, shape, 4);
    snprintf(name, sizeof name, "latents.%d", step);
    if (traced) gb_put_tensor(run, name, x, shape, 4);
    if (stride && (step + 1) % stride == 0) {
      decode(x, h, w, pixels);
      if (gb_preview(run, done + step + 1, pixels, width, height, "unchecked")) goto end;
    }
  }
  gb_begin(run, "vae_decode", -1);
  decode(x, h, w, pixels);
  gb_end(run);
  result = gb_put_image(run, pixels, width, height, "unchecked", seed);
end:
  free(x);
  free(prediction);
  free(pixels);
  return result;
}

static int generate_images(void *context, void *model, gb_run *run) {
  (void)context;
  (void)model;
  int width = (int)gb_integer(run, "width", 64), height = (int)gb_integer(run, "height", 64);
  int steps = (int)gb_integer(run, "steps", 4), images = (int)gb_integer(run, "image_count", 1);
  double scale = gb_number(run, "guidance_scale", 7.5);
  const char *scheduler = gb_text(run, "scheduler"), *prompt = gb_text(run, "prompt");
  if (width % 8 || height % 8 || width > LARGEST || height > LARGEST)
    return gb_fail(run, "invalid_input", "%dx%d: sides must be multiples of 8, at most %d", width, height, LARGEST);
  if (scheduler && strcmp(scheduler, "euler")) return gb_fail(run, "not_supported", "there is no scheduler '%.60s' here, only 'euler'", scheduler);
  if (!prompt[strspn(prompt, " \t\r\n")]) return gb_fail(run, "invalid_input", "the prompt is empty");
  if (steps > 1000 || images > 64) return gb_fail(run, "invalid_input", "at most 1000 steps and 64 images");
  gb_tensor noise = {0};
  int given = gb_read(run, "latents", &noise);
  if (given < 0) return given;
  if (given && (noise.is_u8 || noise.rank != 4 || noise.shape[0] != 1 || noise.shape[1] != 4 || noise.shape[2] != height / 8 || noise.shape[3] != width / 8))
    return gb_fail(run, "invalid_input", "latents: expected F32 of [1, 4, %d, %d]", height / 8, width / 8);
  if (given && images > 1) return gb_fail(run, "invalid_input", "latents are of one image; image_count is %d", images);
  gb_begin(run, "text_encode", -1);
  gb_end(run);
  for (int image = 0; image < images; image++)
    if (make_image(run, given ? &noise : NULL, image, width, height, steps, image * steps, images * steps)) return -1;
  gb_put_text(run, "scheduler", "euler");
  gb_put_integer(run, "steps", steps);
  gb_put_number(run, "guidance_scale", scale);
  gb_put_integer(run, "dropped_tokens", 0);
  return 0;
}

/* The bytes of the character at s, which is UTF-8: JSON that isn't was refused. */
static int character(const char *s, char *out, int64_t *code) {
  unsigned char lead = (unsigned char)s[0];
  int count = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  *code = count == 1 ? lead : lead & (0xFF >> (count + 1));
  for (int i = 1; i < count; i++) *code = *code << 6 | (s[i] & 0x3F);
  memcpy(out, s, (size_t)count);
  out[count] = 0;
  return count;
}

/* Says the prompt again, a character a token. */
static int generate_text(void *context, void *model, gb_run *run) {
  (void)context;
  (void)model;
  const char *prompt = gb_text(run, "prompt"), *at = prompt;
  int limit = (int)gb_integer(run, "max_tokens", 128), count = 0;
  size_t length = strlen(prompt);
  if (!length) return gb_fail(run, "invalid_input", "the prompt is empty");
  gb_tensor image;
  if (gb_read(run, "image", &image) < 0) return -1;
  int64_t *ids = malloc((length + 1) * sizeof *ids), *prompt_ids = malloc((length + 1) * sizeof *ids);
  char *words = malloc(length + 1), part[8];
  if (!ids || !prompt_ids || !words) abort();
  uint64_t start = gb_time_ns(), first = 0;
  size_t prompt_count = 0;
  gb_begin(run, "prefill", -1);
  for (const char *c = prompt; *c; prompt_count++) c += character(c, part, &prompt_ids[prompt_count]);
  gb_end(run);
  int result = 0;
  for (; *at && count < limit && !result; count++) {
    gb_begin(run, "decode", count);
    if (!work(run)) {
      result = cancelled(run);
      break;
    }
    at += character(at, part, &ids[count]);
    gb_end(run);
    gb_token(run, (int)ids[count], part);
    if (!first) first = gb_time_ns();
  }
  if (!result) {
    memcpy(words, prompt, (size_t)(at - prompt));
    words[at - prompt] = 0;
    uint64_t now = gb_time_ns();
    gb_put_text(run, "text", words);
    gb_put_integers(run, "ids", ids, (size_t)count);
    gb_put_integers(run, "prompt_ids", prompt_ids, prompt_count);
    gb_put_text(run, "finish_reason", *at ? "length" : "stop");
    gb_put_integer(run, "time_to_first_token_ns", (int64_t)(first - start));
    gb_put_integer(run, "total_ns", (int64_t)(now - start));
    if (count > 1 && now > first) gb_put_number(run, "decode_tokens_per_second", (count - 1) * 1e9 / (double)(now - first));
    gb_put_unavailable(run, "prefill_tokens_per_second", "the toy has no prefill to time");
  }
  free(ids);
  free(prompt_ids);
  free(words);
  return result;
}

/* `silu`, and `softmax` along the last axis. */
static int op(void *context, gb_run *run) {
  (void)context;
  gb_tensor x;
  int there = gb_input(run, "input", &x);
  if (there < 0) return there;
  if (!there || x.is_u8) return gb_fail(run, "invalid_input", "the operator needs an F32 tensor 'input'");
  float *y = malloc(((size_t)x.count + 1) * sizeof *y);
  if (!y) return gb_fail(run, "out_of_memory", "%lld values don't fit", (long long)x.count);
  const float *values = x.data;
  uint64_t start = gb_time_ns();
  if (!strcmp(gb_text(run, "op"), "silu")) {
    for (int64_t i = 0; i < x.count; i++) y[i] = (float)(values[i] / (1 + exp(-(double)values[i])));
  } else {
    int64_t row = x.rank ? x.shape[x.rank - 1] : 1;
    for (int64_t begin = 0; begin + row <= x.count && row; begin += row) {
      double largest = values[begin], sum = 0;
      for (int64_t i = 0; i < row; i++) largest = fmax(largest, values[begin + i]);
      for (int64_t i = 0; i < row; i++) sum += exp(values[begin + i] - largest);
      for (int64_t i = 0; i < row; i++) y[begin + i] = (float)(exp(values[begin + i] - largest) / sum);
    }
  }
  gb_put_elapsed(run, gb_time_ns() - start);
  gb_put_tensor(run, "output", y, x.shape, x.rank);
  free(y);
  return 0;
}

int main(int count, char **words) {
  if (count == 3 && !strcmp(words[1], "--step-ms")) {
    step_ms = atoi(words[2]);
  } else if (count != 1) {
    fprintf(stderr, "usage: %s [--step-ms N]\n", words[0]);
    return 64;
  }
  static const char *const capabilities[] = {"text_to_image", "negative_prompt", "latents_input",   "previews",           "trace",
                                             "batch",         "text_generation", "image_understanding", NULL};
  static const char *const images[] = {"negative_prompt", "width",       "height",         "steps",       "guidance_scale", "scheduler", "seed",
                                       "latents",         "image_count", "preview_stride", "trace_level", NULL};
  static const char *const texts[] = {"image", NULL}, *const schedulers[] = {"euler", NULL}, *const ops[] = {"silu", "softmax", NULL};
  static const char *const unavailable[] = {"prompt_embeds", "the toy has no encoder", "block trace", "the toy has no blocks", NULL};
  gb_engine engine = {
      .name = "toy", .version = "1.0", .threads = 1, .capabilities = capabilities, .schedulers = schedulers, .ops = ops,
      .image_settings = images, .text_settings = texts, .unavailable = unavailable, .load = load, .unload = unload,
      .generate_images = generate_images, .generate_text = generate_text, .op = op};
  return gb_serve(&engine);
}
