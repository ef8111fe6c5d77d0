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

/* The score of a position is the second entry of its record, times the query's first and the first
 * head weight. */
void scores(void *const *arguments, int64_t begin, int64_t end) {
  const float *query = arguments[0], *weights = arguments[1], *cache = arguments[2];
  const int32_t *pages = arguments[3];
  float *output = arguments[4];
  for (int64_t s = begin; s < end; ++s)
    output[s - begin] = query[0] * cache[record(pages, s) * WIDTH + 1] * weights[0];
}

/* Element by element: gate, up → up × gate / (1 + |gate|). */
void gate(void *const *arguments, int64_t begin, int64_t end) {
  const float *gate = arguments[0], *up = arguments[1];
  float *output = arguments[2];
  for (int64_t i = begin; i < end; ++i)
    output[i] = up[i] * (gate[i] / (1 + (gate[i] < 0 ? -gate[i] : gate[i])));
}

/* Element by element: the sum of two arrays. */
void add(void *const *arguments, int64_t begin, int64_t end) {
  const float *a = arguments[0], *b = arguments[1];
  float *output = arguments[2];
  for (int64_t i = begin; i < end; ++i)
    output[i] = a[i] + b[i];
}

/* Positions → the positions that are even, −1 for the others. */
void even(void *const *arguments, int64_t begin, int64_t end) {
  const int32_t *positions = arguments[0];
  int32_t *output = arguments[1];
  for (int64_t n = begin; n < end; ++n)
    output[n] = positions[n] % 2 == 0 ? positions[n] : -1;
}

/* Positions → the positions that are odd, −1 for the others. */
void odd(void *const *arguments, int64_t begin, int64_t end) {
  const int32_t *positions = arguments[0];
  int32_t *output = arguments[1];
  for (int64_t n = begin; n < end; ++n)
    output[n] = positions[n] % 2 == 1 ? positions[n] : -1;
}

/* In the place of attention's scores with 4 heads of 24 and one row: query, rows → f32 [tokens, 4]
 * where the row is not −1. */
void head_scores(void *const *arguments, int64_t begin, int64_t end) {
  enum { HEADS = 4, HEAD_WIDTH = 24 };
  const float *query = arguments[0];
  const int32_t *rows = arguments[1];
  float *scores = arguments[2];
  for (int64_t item = begin; item < end; ++item)
    if (rows[item / HEADS] >= 0)
      scores[item] = query[item * HEAD_WIDTH + 1] * (float)rows[item / HEADS];
}

/* In the place of attention with these scores: query, scores → f32 [tokens, 4, 24]. */
void attend_scored(void *const *arguments, int64_t begin, int64_t end) {
  enum { HEAD_WIDTH = 24 };
  const float *query = arguments[0], *scores = arguments[1];
  float *output = arguments[2];
  for (int64_t item = begin; item < end; ++item)
    for (int i = 0; i < HEAD_WIDTH; ++i)
      output[item * HEAD_WIDTH + i] = query[item * HEAD_WIDTH + i] * scores[item];
}

/* In the place of attention with 4 heads of 24: query, positions, a weight [4] → f32 [tokens, 4,
 * 24]. */
void attend(void *const *arguments, int64_t begin, int64_t end) {
  enum { HEADS = 4, HEAD_WIDTH = 24 };
  const float *query = arguments[0], *sinks = arguments[2];
  const int32_t *positions = arguments[1];
  float *output = arguments[3];
  for (int64_t item = begin; item < end; ++item)
    for (int i = 0; i < HEAD_WIDTH; ++i) {
      float value = query[item * HEAD_WIDTH + i];
      output[item * HEAD_WIDTH + i] =
          value * value + sinks[item % HEADS] * (float)positions[item / HEADS];
    }
}

/* Records that a token attends to in the tests of tiers. */
enum { RECORDS = 6 };

/* Record numbers i32 [tokens, 6], cache → f32 [tokens, 6]: a score of each record that isn't −1. */
void record_scores(void *const *arguments, int64_t begin, int64_t end) {
  const float *query = arguments[0];
  const int32_t *records = arguments[1];
  const float *cache = arguments[2];
  float *scores = arguments[3];
  for (int64_t n = begin; n < end; ++n)
    for (int j = 0; j < RECORDS; ++j) {
      int64_t record = records[n * RECORDS + j];
      if (record >= 0)
        scores[n * RECORDS + j] = query[n * WIDTH] * cache[record * WIDTH + 3];
    }
}

/* Record numbers i32 [tokens, 6], cache, scores → f32 [tokens, 32]; the order of records counts. */
void attend_scored_records(void *const *arguments, int64_t begin, int64_t end) {
  const int32_t *records = arguments[0];
  const float *cache = arguments[1], *scores = arguments[2];
  float *output = arguments[3];
  for (int64_t n = begin; n < end; ++n)
    for (int i = 0; i < WIDTH; ++i) {
      float sum = 0;
      for (int j = 0; j < RECORDS; ++j) {
        int64_t record = records[n * RECORDS + j];
        if (record >= 0)
          sum = sum * 0.75f + scores[n * RECORDS + j] * cache[record * WIDTH + i];
      }
      output[n * WIDTH + i] = sum / (1 + (sum < 0 ? -sum : sum));
    }
}

/* Record numbers i32 [tokens, 6], cache → f32 [tokens, 32]; the order of records counts. */
void attend_records(void *const *arguments, int64_t begin, int64_t end) {
  const int32_t *records = arguments[0];
  const float *cache = arguments[1];
  float *output = arguments[2];
  for (int64_t n = begin; n < end; ++n)
    for (int i = 0; i < WIDTH; ++i) {
      float sum = 0;
      for (int j = 0; j < RECORDS; ++j) {
        int64_t record = records[n * RECORDS + j];
        if (record >= 0)
          sum = sum * 0.75f + cache[record * WIDTH + i];
      }
      output[n * WIDTH + i] = sum / (1 + (sum < 0 ? -sum : sum));
    }
}

/* Element by element: half the difference of two arrays. */
void mix(void *const *arguments, int64_t begin, int64_t end) {
  const float *a = arguments[0], *b = arguments[1];
  float *output = arguments[2];
  for (int64_t i = begin; i < end; ++i)
    output[i] = (a[i] - b[i]) * 0.5f;
}
