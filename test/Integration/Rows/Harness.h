//===- Harness.h - Small models from checkpoint to rows and logits -*- C++ -*-===//
//
// A model is written as a checkpoint, imported, compiled and run in this process, by the CPU's
// kernels and by the reference executor.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_TEST_INTEGRATION_ROWS_HARNESS_H
#define STRATA_TEST_INTEGRATION_ROWS_HARNESS_H

#include "CheckpointWriter.h"

#include "strata/Pipeline.h"
#include "strata/lib/Checkpoint/Checkpoint.h"
#include "strata/lib/Import/ImportModel.h"
#include "strata/lib/Reference/ReferenceExecutor.h"
#include "strata/lib/Support/TestFolder.h"
#include "strata/runtime/core/Package.h"
#include "strata/runtime/core/Session.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <functional>

namespace strata::rows {

using nlohmann::json;

/// GLM-5.2 in small: 10 layers FFFSSSFSSS, hidden size 64, 4 heads, an indexer of 4 heads of 16
/// features, k = 8, interleaved RoPE.
json glmConfig();
/// GLM-5 in small: 4 layers, each with an indexer of its own.
json glmConfigWithoutSharing();
/// DeepSeek V3.2 in small: YaRN, nothing said about the indexer's layout.
json deepSeekConfig();

/// The tensors of a checkpoint, to be changed before they are written again.
struct StoredTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};
using StoredTensors = std::map<std::string, StoredTensor>;
using Edit = std::function<void(StoredTensors &)>;

/// Multiplies an f32 tensor.
Edit scaled(const std::string &tensor, float factor);
/// Drops every tensor whose name has `part`.
Edit without(const std::string &part);

struct ModelOptions {
  test::CheckpointOptions checkpoint = {};
  /// Whose weights the checkpoint gets; null: those of the config itself.
  json weightsConfig = nullptr;
  Edit edit = nullptr;
  /// Changes the module of the phase `input` before anything runs it.
  std::function<void(mlir::ModuleOp)> change = nullptr;
  NumberFormat compute = NumberFormat::F32;
  int64_t pageSize = 4;
  /// Where memory is; a machine of the name "" has one.
  PlacementOptions placement = {};
};

enum class Device { Cpu, Reference };

/// A model with everything that it needs.
class Model {
public:
  /// A null pointer if anything fails; `error` says what.
  static std::unique_ptr<Model> create(const json &config, std::string &error,
                                       const ModelOptions &options = {});
  /// A model that must work: the test program ends otherwise.
  static std::unique_ptr<Model> create(const json &config, const ModelOptions &options = {});

  /// The module of the phase `input`.
  mlir::ModuleOp module() { return *module_; }
  const rt::Package &package() const { return *package_; }
  const Checkpoint &checkpoint() const { return *checkpoint_; }
  const rt::ModelDescription &description() const { return package_->model(); }
  /// What the import had to say.
  const std::vector<importer::Note> &notes() const { return notes_; }
  std::unique_ptr<rt::Executor> executor(Device device, const rt::ExecutorOptions &options);

private:
  Model() = default;
  Status build(const json &config, const ModelOptions &options);

  TestFolder folder_;
  mlir::MLIRContext context_;
  std::vector<importer::Note> notes_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::vector<std::aligned_storage_t<16, 16>> bytes_; ///< of the package
  std::unique_ptr<rt::Package> package_;
  std::optional<Checkpoint> checkpoint_;
};

/// Compiles a module of the phase `input` and gives the bytes of the package. The module is
/// lowered.
std::string compile(mlir::ModuleOp module, NumberFormat compute, int64_t pageSize,
                    const PlacementOptions &placement = {});

struct RunOptions {
  Device device = Device::Cpu;
  int64_t chunk = 256;
  int64_t newTokens = 1;
  int threads = 2;
  bool poison = true;
  /// Lengths up to k are what the test is about: see Runner.
  bool shortIsMeant = false;
  /// Equal scores are what the test is about: see Runner.
  bool tiesAreMeant = false;
};

using Prompts = std::vector<std::vector<int32_t>>;

/// An executor on memory full of NaN, which runs one batch after another and keeps logits, rows and
/// experts of all tokens.
///
/// Up to a length of k every position is selected whatever the indexer says: a test of an indexer
/// on such prompts proves nothing and fails here (row 5). The reference also watches that no choice
/// is a near-tie, in which two correct implementations may differ.
class Runner {
public:
  /// Has room for batches like this one.
  Runner(Model &model, const Prompts &largest, const RunOptions &options = {});
  /// One result for each prompt.
  std::vector<rt::Generation> run(const Prompts &prompts);

private:
  void expectBeyondK(const Prompts &prompts) const;

  const rt::ModelDescription &model_;
  RunOptions options_;
  rt::SessionOptions session_;
  rt::ExecutorOptions limits_;
  std::unique_ptr<rt::Executor> executor_;
};

/// One batch with a runner of its own.
std::vector<rt::Generation> run(Model &model, const Prompts &prompts,
                                const RunOptions &options = {});

/// Tokens of one sequence for a step that a test makes by hand.
struct Piece {
  int32_t sequence;
  int32_t firstPosition;
  std::vector<int32_t> tokens;
};

/// What came of them, in the order of the pieces: [tokens, vocabulary], and for each indexer
/// [tokens, k].
struct StepResult {
  Status status;
  std::vector<float> logits;
  std::vector<std::vector<int32_t>> rows;
};

/// The pages of a sequence, in order.
using PageTable = std::function<std::vector<int32_t>(int32_t sequence)>;

/// Runs one step. `importedRows`, if given, has one array for each indexer.
StepResult runStep(rt::Executor &executor, const std::vector<Piece> &pieces, const PageTable &pages,
                   const std::vector<std::vector<int32_t>> &importedRows = {});

/// A prompt of pseudo-random tokens below 256.
std::vector<int32_t> makePrompt(int64_t length, uint64_t seed = 1);

/// The row of a token of one indexer.
std::vector<int32_t> rowOf(const rt::Generation &generation, int64_t indexer, int64_t token);

/// Expects all bits to be equal.
void expectSameBits(const rt::Generation &found, const rt::Generation &expected);
/// Expects equal tokens, rows and experts, and logits within `tolerance` of the largest one.
void expectAgreement(const rt::Generation &found, const rt::Generation &expected,
                     double tolerance = 1e-4);
/// Runs on both devices, expects agreement and gives the CPU's result.
std::vector<rt::Generation> runBoth(Model &model, const Prompts &prompts, RunOptions options = {});

} // namespace strata::rows

#endif // STRATA_TEST_INTEGRATION_ROWS_HARNESS_H
