//===- CApi.cpp - The functions of strata-rt.h ----------------------------===//
#include "strata-rt/strata-rt.h"

#include "strata/runtime/core/Session.h"
#include "strata/runtime/cpu/CpuExecutor.h"

#include <algorithm>
#include <cstring>

using namespace strata;

struct strata_rt_package {
  std::unique_ptr<rt::Package> package;
};

struct strata_rt_session {
  explicit strata_rt_session(Checkpoint checkpoint) : checkpoint(std::move(checkpoint)) {}

  Checkpoint checkpoint;
  rt::SessionOptions options;
  std::unique_ptr<rt::Executor> executor; // uses the checkpoint
  std::unique_ptr<rt::Session> session;   // uses the executor
};

static thread_local std::string lastError;

static strata_rt_status report(const Status &status) {
  if (!status.ok())
    lastError = status.message();
  return strata_rt_status(status.code());
}

static strata_rt_status invalid(std::string message) {
  return report(Status(StatusCode::InvalidArgument, std::move(message)));
}

const char *strata_rt_version(void) { return STRATA_VERSION; }

const char *strata_rt_last_error(void) { return lastError.c_str(); }

//===----------------------------------------------------------------------===//
// Packages
//===----------------------------------------------------------------------===//

strata_rt_status strata_rt_package_open(const char *path, strata_rt_package **package) {
  if (!package)
    return invalid("expected a place for the package but got null");
  *package = nullptr;
  if (!path)
    return invalid("expected a path but got null");
  Expected<std::unique_ptr<rt::Package>> opened = rt::Package::open(path);
  if (!opened.ok())
    return report(opened.status());
  *package = new strata_rt_package{std::move(*opened)};
  return STRATA_RT_OK;
}

void strata_rt_package_close(strata_rt_package *package) { delete package; }

int64_t strata_rt_package_vocabulary_size(const strata_rt_package *package) {
  return package->package->model().vocabularySize;
}

int64_t strata_rt_package_max_positions(const strata_rt_package *package) {
  return package->package->model().maxPositions;
}

int64_t strata_rt_package_indexer_count(const strata_rt_package *package) {
  return int64_t(package->package->model().rowWidths.size());
}

int64_t strata_rt_package_row_width(const strata_rt_package *package, int64_t indexer) {
  const std::vector<int64_t> &widths = package->package->model().rowWidths;
  return indexer >= 0 && indexer < int64_t(widths.size()) ? widths[size_t(indexer)] : 0;
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

static strata_rt_session_options defaultOptions() {
  rt::SessionOptions defaults;
  strata_rt_session_options options = {};
  options.struct_size = sizeof options;
  options.max_sequences = 1;
  options.max_context = 4096;
  options.max_new_tokens = defaults.maxNewTokens;
  options.chunk = defaults.chunk;
  return options;
}

void strata_rt_session_options_init(strata_rt_session_options *options, size_t size) {
  strata_rt_session_options defaults = defaultOptions();
  defaults.struct_size = size;
  // A caller that was compiled with an older header has room for fewer fields.
  std::memset(options, 0, size);
  std::memcpy(options, &defaults, std::min(size, sizeof defaults));
}

static Status planSession(const rt::ModelDescription &model, const strata_rt_session_options &given,
                          rt::SessionOptions &options, rt::ExecutorOptions &limits) {
  constexpr int64_t kMaxSequences = 1 << 20;
  if (given.max_sequences < 1 || given.max_sequences > kMaxSequences)
    return Status(StatusCode::InvalidArgument, "expected max_sequences of 1 to " +
                                                   std::to_string(kMaxSequences) + " but got " +
                                                   std::to_string(given.max_sequences));
  if (given.max_context < 1)
    return Status(StatusCode::InvalidArgument, "expected max_context of at least 1 but got " +
                                                   std::to_string(given.max_context));
  if (given.threads < 0)
    return Status(StatusCode::InvalidArgument,
                  "expected threads of at least 0 but got " + std::to_string(given.threads));
  options.chunk = given.chunk;
  options.maxNewTokens = given.max_new_tokens;
  options.maxContext = std::min(given.max_context, model.maxPositions);
  options.ignoreEos = given.ignore_eos != 0;
  options.allLogits = given.all_logits != 0;
  options.keepRows = given.keep_rows != 0;
  options.keepSequences = given.keep_sequences != 0;
  limits.memoryLimit = given.memory_limit;
  limits.threads = given.threads;
  // The prompts are not known yet: each may be as long as the context.
  std::vector<int64_t> lengths(size_t(given.max_sequences), options.maxContext);
  return planExecutor(model, options, lengths, limits);
}

strata_rt_status strata_rt_session_create(const strata_rt_package *package, const char *checkpoint,
                                          const strata_rt_session_options *options,
                                          strata_rt_session **session) {
  if (!session)
    return invalid("expected a place for the session but got null");
  *session = nullptr;
  if (!package || !checkpoint)
    return invalid("expected a package and a checkpoint but got null");
  strata_rt_session_options given = defaultOptions();
  if (options) {
    if (options->struct_size < sizeof options->struct_size || options->struct_size > sizeof given)
      return invalid("expected options of at most " + std::to_string(sizeof given) +
                     " bytes but got " + std::to_string(options->struct_size) +
                     ": strata_rt_session_options_init fills them in");
    std::memcpy(&given, options, options->struct_size);
  }
  const rt::ModelDescription &model = package->package->model();
  rt::SessionOptions sessionOptions;
  rt::ExecutorOptions limits;
  if (Status status = planSession(model, given, sessionOptions, limits); !status.ok())
    return report(status);
  Expected<Checkpoint> opened = Checkpoint::open(checkpoint);
  if (!opened.ok())
    return report(opened.status());
  auto result = std::make_unique<strata_rt_session>(std::move(*opened));
  result->options = sessionOptions;
  Expected<std::unique_ptr<rt::Executor>> executor =
      rt::createCpuExecutor(*package->package, result->checkpoint, limits);
  if (!executor.ok())
    return report(executor.status());
  result->executor = std::move(*executor);
  result->session = std::make_unique<rt::Session>(*result->executor, limits, sessionOptions);
  *session = result.release();
  return STRATA_RT_OK;
}

void strata_rt_session_destroy(strata_rt_session *session) { delete session; }

strata_rt_status strata_rt_session_add_prompt(strata_rt_session *session, const int32_t *tokens,
                                              size_t count, int64_t *prompt) {
  if (!session || (!tokens && count != 0))
    return invalid("expected a session and tokens but got null");
  Expected<int64_t> number = session->session->addPrompt({{tokens, tokens + count}, {}, {}});
  if (!number.ok())
    return report(number.status());
  if (prompt)
    *prompt = *number;
  return STRATA_RT_OK;
}

strata_rt_status strata_rt_session_step(strata_rt_session *session, int32_t *finished) {
  if (!session)
    return invalid("expected a session but got null");
  if (Status status = session->session->step(); !status.ok())
    return report(status);
  if (finished)
    *finished = session->session->finished();
  return STRATA_RT_OK;
}

strata_rt_status strata_rt_session_generate(strata_rt_session *session) {
  int32_t finished = 0;
  while (!finished)
    if (strata_rt_status status = strata_rt_session_step(session, &finished))
      return status;
  return STRATA_RT_OK;
}

/// The results of a prompt, or why there are none.
static strata_rt_status findGeneration(const strata_rt_session *session, int64_t prompt,
                                       const void *output, const void *count,
                                       const rt::Generation *&generation) {
  if (!session || !output || !count)
    return invalid("expected a session and places for the result but got null");
  if (prompt < 0 || prompt >= session->session->promptCount())
    return invalid("there is no prompt " + std::to_string(prompt));
  generation = &session->session->generation(prompt);
  return STRATA_RT_OK;
}

strata_rt_status strata_rt_session_tokens(const strata_rt_session *session, int64_t prompt,
                                          const int32_t **tokens, int64_t *count) {
  const rt::Generation *generation = nullptr;
  if (strata_rt_status status = findGeneration(session, prompt, tokens, count, generation))
    return status;
  *tokens = generation->tokens.data();
  *count = int64_t(generation->tokens.size());
  return STRATA_RT_OK;
}

strata_rt_status strata_rt_session_finished(const strata_rt_session *session, int64_t prompt,
                                            int32_t *finished) {
  const rt::Generation *generation = nullptr;
  if (strata_rt_status status = findGeneration(session, prompt, finished, finished, generation))
    return status;
  *finished = generation->finish != rt::FinishReason::None;
  return STRATA_RT_OK;
}

strata_rt_status strata_rt_session_logits(const strata_rt_session *session, int64_t prompt,
                                          const float **logits, int64_t *count) {
  const rt::Generation *generation = nullptr;
  if (strata_rt_status status = findGeneration(session, prompt, logits, count, generation))
    return status;
  if (!session->options.allLogits)
    return invalid("logits are kept with all_logits only");
  *logits = generation->logits.data();
  *count = generation->computed();
  return STRATA_RT_OK;
}

strata_rt_status strata_rt_session_rows(const strata_rt_session *session, int64_t prompt,
                                        int64_t indexer, const int32_t **rows, int64_t *count) {
  const rt::Generation *generation = nullptr;
  if (strata_rt_status status = findGeneration(session, prompt, rows, count, generation))
    return status;
  if (!session->options.keepRows)
    return invalid("rows are kept with keep_rows only");
  if (indexer < 0 || indexer >= int64_t(generation->rows.size()))
    return invalid("there is no indexer " + std::to_string(indexer));
  *rows = generation->rows[size_t(indexer)].data();
  *count = generation->computed();
  return STRATA_RT_OK;
}

strata_rt_status strata_rt_session_save_sequence(const strata_rt_session *session, int64_t prompt,
                                                 const char *path) {
  if (!session || !path)
    return invalid("expected a session and a path but got null");
  return report(session->session->saveSequence(prompt, path));
}

strata_rt_status strata_rt_session_load_sequence(strata_rt_session *session, const char *path,
                                                 const int32_t *tokens, size_t count,
                                                 int64_t *prompt) {
  if (!session || !path || (!tokens && count != 0))
    return invalid("expected a session, a path and tokens but got null");
  Expected<rt::SequenceFile> saved = rt::SequenceFile::open(path);
  if (!saved.ok())
    return report(saved.status());
  Expected<int64_t> number =
      session->session->addPrompt({{tokens, tokens + count}, {}, {}}, &*saved);
  if (!number.ok())
    return report(number.status());
  if (prompt)
    *prompt = *number;
  return STRATA_RT_OK;
}

strata_rt_status strata_rt_session_drop_sequence(strata_rt_session *session, int64_t prompt) {
  if (!session)
    return invalid("expected a session but got null");
  return report(session->session->dropSequence(prompt));
}
