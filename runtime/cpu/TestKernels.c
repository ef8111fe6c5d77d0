/*===- TestKernels.c - Kernels for the tests of the CPU executor -----------*- C -*-===*/
#include "strata-rt/kernel-abi.h"

/* Rows of 32 floats everywhere; pages of 4 records. */
enum { WIDTH = 32, PAGE = 4 };

/* Token ids, f32 table [vocabulary, 32] → f32 [tokens, 32]. */
void gather(void *const *arguments, int64_t begin, int64_t end) {
  const int32_t *ids = arguments[0];
  const float *table = arguments[1];
  float *output = arguments[2];
  for (int64_t n = begin; n < end; ++n)
    for (int i = 0; i < WIDTH; ++i)
      output[n * WIDTH + i] = table[(int64_t)ids[n] * WIDTH + i];
}

/* i32 → f32, item by item. */
void to_float(void *const *arguments, int64_t begin, int64_t end) {
  const int32_t *input = arguments[0];
  float *output = arguments[1];
  for (int64_t i = begin; i < end; ++i)
    output[i] = (float)input[i];
}

/* Wanted, f32 [tokens, 32] → f32 [wanted, 32]. */
void pick(void *const *arguments, int64_t begin, int64_t end) {
  const int32_t *wanted = arguments[0];
  const float *input = arguments[1];
  float *output = arguments[2];
  for (int64_t n = begin; n < end; ++n)
    for (int i = 0; i < WIDTH; ++i)
      output[n * WIDTH + i] = input[(int64_t)wanted[n] * WIDTH + i];
}

static int64_t record(const int32_t *pages, int64_t position) {
  return (int64_t)pages[position / PAGE] * PAGE + position % PAGE;
}

/* f32 [tokens, 32], positions, page beginnings, pages → cache of f32 records [32]. */
void append(void *const *arguments, int64_t begin, int64_t end) {
  const float *input = arguments[0];
  const int32_t *positions = arguments[1], *pageBegin = arguments[2], *pages = arguments[3];
  float *cache = arguments[4];
  for (int64_t n = begin; n < end; ++n)
    for (int i = 0; i < WIDTH; ++i)
      cache[record(pages + pageBegin[n], positions[n]) * WIDTH + i] = input[n * WIDTH + i];
}

/* Σ of the first entries of all records that a token sees: f32 [tokens, 1] (stride 32). */
void sum_visible(void *const *arguments, int64_t begin, int64_t end) {
  const int32_t *positions = arguments[0], *pageBegin = arguments[1], *pages = arguments[2];
  const float *cache = arguments[3];
  float *output = arguments[4];
  for (int64_t n = begin; n < end; ++n) {
    float sum = 0;
    for (int64_t s = 0; s <= positions[n]; ++s)
      sum += cache[record(pages + pageBegin[n], s) * WIDTH];
    output[n * WIDTH] = sum;
  }
}

/* The score of a position is the second entry of its record, times the query's first and the first head weight. */
void scores(void *const *arguments, int64_t begin, int64_t end) {
  const float *query = arguments[0], *weights = arguments[1], *cache = arguments[2];
  const int32_t *pages = arguments[3];
  float *output = arguments[4];
  for (int64_t s = begin; s < end; ++s)
    output[s - begin] = query[0] * cache[record(pages, s) * WIDTH + 1] * weights[0];
}
