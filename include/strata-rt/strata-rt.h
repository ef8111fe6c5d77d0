/*===- strata-rt.h - Strata's runtime, for C programs ----------------------*- C -*-===*\
|*
|* Loads a compiled model (a package, made by strata-compile) and continues prompts with it:
|*
|*   strata_rt_package *package;
|*   strata_rt_session *session;
|*   strata_rt_session_options options;
|*   int64_t prompt, count;
|*   const int32_t *tokens;
|*   strata_rt_package_open("model.strata", &package);
|*   strata_rt_session_options_init(&options, sizeof options);
|*   strata_rt_session_create(package, "checkpoint", &options, &session);
|*   strata_rt_session_add_prompt(session, ids, id_count, &prompt);
|*   strata_rt_session_generate(session);
|*   strata_rt_session_tokens(session, prompt, &tokens, &count);
|*   strata_rt_session_destroy(session);
|*   strata_rt_package_close(package);
|*
|* Every function that can fail returns a status; strata_rt_last_error then tells what went wrong.
|* A session is used by one thread at a time. Different sessions are independent, and may share a
|* package.
|*
|* The interface only grows: functions and fields are added at the end, none is changed or removed.
|*
\*===-----------------------------------------------------------------------------------===*/
#ifndef STRATA_RT_STRATA_RT_H
#define STRATA_RT_STRATA_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STRATA_RT_API __attribute__((visibility("default")))

/** Success is 0; other values may be added. */
typedef enum strata_rt_status {
  STRATA_RT_OK = 0,
  STRATA_RT_INVALID_ARGUMENT = 1, /**< an option, a prompt or a handle that can't be */
  STRATA_RT_NOT_FOUND = 2,        /**< a file or a tensor that is not there */
  STRATA_RT_CORRUPT = 3,          /**< a file or a model whose content contradicts itself */
  STRATA_RT_UNSUPPORTED = 4,      /**< understood, but not to be had here */
  STRATA_RT_OUT_OF_MEMORY = 5,    /**< a limit or the machine's memory is too small */
  STRATA_RT_IO = 6                /**< reading or writing failed */
} strata_rt_status;

/** A loaded package. */
typedef struct strata_rt_package strata_rt_package;
/** A model with its weights and caches, and the prompts that it works on. */
typedef struct strata_rt_session strata_rt_session;

/** The library's version, such as "0.1.0". */
STRATA_RT_API const char *strata_rt_version(void);

/**
 * What the last function that failed on this thread has to say: one line that names the thing.
 * Valid until the next failure on this thread; empty if there was none.
 */
STRATA_RT_API const char *strata_rt_last_error(void);

/*===- Packages -----------------------------------------------------------------------===*/

/** Opens and checks a package. On failure `*package` is null. */
STRATA_RT_API strata_rt_status strata_rt_package_open(const char *path,
                                                      strata_rt_package **package);

/** Closes a package; its sessions must be destroyed before. Null is allowed. */
STRATA_RT_API void strata_rt_package_close(strata_rt_package *package);

/** Token ids are 0 to this number − 1. */
STRATA_RT_API int64_t strata_rt_package_vocabulary_size(const strata_rt_package *package);
/** The most tokens that a sequence can have. */
STRATA_RT_API int64_t strata_rt_package_max_positions(const strata_rt_package *package);
/** How many layers choose rows (have an indexer of their own). */
STRATA_RT_API int64_t strata_rt_package_indexer_count(const strata_rt_package *package);
/** How many rows the indexer chooses for a token: k. 0 if there is no such indexer. */
STRATA_RT_API int64_t strata_rt_package_row_width(const strata_rt_package *package,
                                                  int64_t indexer);

/*===- Sessions -----------------------------------------------------------------------===*/

/** Always filled in by strata_rt_session_options_init first. */
typedef struct strata_rt_session_options {
  size_t struct_size;     /**< set by the init function */
  int64_t max_sequences;  /**< prompts that are worked on at the same time; 1 */
  int64_t max_context;    /**< room for this many tokens of each in the caches; 4096, or the model's
                             positions */
  int64_t max_new_tokens; /**< for each prompt; 16 */
  int64_t chunk;          /**< most tokens of one step; 256 */
  uint64_t memory_limit; /**< bytes for activations, caches and widened weights; 0: what the machine
                            has */
  int32_t threads;       /**< 0: one for each processor */
  int32_t ignore_eos;    /**< not 0: do not stop after an end-of-sequence id */
  int32_t all_logits;    /**< not 0: compute and keep the logits of all tokens */
  int32_t keep_rows;     /**< not 0: keep the rows that the indexers chose */
  int32_t keep_sequences; /**< not 0: finished prompts stay in the caches until they are dropped */
} strata_rt_session_options;

/** Fills in the defaults. `size`: sizeof(strata_rt_session_options), as the caller knows it. */
STRATA_RT_API void strata_rt_session_options_init(strata_rt_session_options *options, size_t size);

/**
 * Binds the weights of a checkpoint (a folder or a .safetensors file) and allocates all memory.
 * `options` may be null. On failure `*session` is null.
 */
STRATA_RT_API strata_rt_status strata_rt_session_create(const strata_rt_package *package,
                                                        const char *checkpoint,
                                                        const strata_rt_session_options *options,
                                                        strata_rt_session **session);

/** Null is allowed. */
STRATA_RT_API void strata_rt_session_destroy(strata_rt_session *session);

/**
 * Takes a prompt of `count` token ids and gives its number, counted from 0. May be called between
 * steps. Fails when max_sequences prompts are unfinished or kept.
 */
STRATA_RT_API strata_rt_status strata_rt_session_add_prompt(strata_rt_session *session,
                                                            const int32_t *tokens, size_t count,
                                                            int64_t *prompt);

/** Runs one step of all unfinished prompts. `*finished` (may be null) becomes 1 when none is left,
 * otherwise 0. */
STRATA_RT_API strata_rt_status strata_rt_session_step(strata_rt_session *session,
                                                      int32_t *finished);

/** Steps until all prompts are finished. */
STRATA_RT_API strata_rt_status strata_rt_session_generate(strata_rt_session *session);

/** The new tokens of a prompt so far. The array is valid until the session's next step or prompt,
 * as all below. */
STRATA_RT_API strata_rt_status strata_rt_session_tokens(const strata_rt_session *session,
                                                        int64_t prompt, const int32_t **tokens,
                                                        int64_t *count);

/** 1 if the prompt is finished, otherwise 0. */
STRATA_RT_API strata_rt_status strata_rt_session_finished(const strata_rt_session *session,
                                                          int64_t prompt, int32_t *finished);

/**
 * The logits of the `*count` tokens that went through the model (prompt, and new tokens but the
 * last; not those that were loaded): f32 [count, vocabulary]. Needs all_logits.
 */
STRATA_RT_API strata_rt_status strata_rt_session_logits(const strata_rt_session *session,
                                                        int64_t prompt, const float **logits,
                                                        int64_t *count);

/** The rows that an indexer chose for the same tokens: i32 [count, k], ascending, −1 at the tail.
 * Needs keep_rows. */
STRATA_RT_API strata_rt_status strata_rt_session_rows(const strata_rt_session *session,
                                                      int64_t prompt, int64_t indexer,
                                                      const int32_t **rows, int64_t *count);

/*===- Sequences that move ------------------------------------------------------------===*/

/*
 * A prompt that one session began can go on in another one, also in another process or on another
 * machine: all logits are the same as if it had stayed. The file holds its tokens and what the
 * caches hold of them: keys and values, and index keys.
 */

/**
 * Writes a prompt's sequence to a file, whole or not at all. The prompt is unfinished, or was kept
 * (keep_sequences), and has had a step. May be called between steps; nothing changes.
 */
STRATA_RT_API strata_rt_status strata_rt_session_save_sequence(const strata_rt_session *session,
                                                               int64_t prompt, const char *path);

/**
 * Takes a saved sequence, followed by `count` token ids (none: null and 0), as a prompt, and gives
 * its number. Fails as strata_rt_session_add_prompt does; if the file is damaged; and if the
 * sequence is of another model or its caches have another layout: the message names the field, what
 * was expected and what the file has.
 */
STRATA_RT_API strata_rt_status strata_rt_session_load_sequence(strata_rt_session *session,
                                                               const char *path,
                                                               const int32_t *tokens, size_t count,
                                                               int64_t *prompt);

/** Gives up the room of a finished prompt that was kept. Its results stay. */
STRATA_RT_API strata_rt_status strata_rt_session_drop_sequence(strata_rt_session *session,
                                                               int64_t prompt);

#ifdef __cplusplus
}
#endif

#endif
