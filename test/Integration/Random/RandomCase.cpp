//===- RandomCase.cpp - One model, one batch, several plans ---------------===//
#include "RandomCase.h"

#include "Comparison.h"
#include "PlacedRuns.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <filesystem>

namespace strata::test {

/// In f32, with the oracle's choices: largest error of a logit in standard deviations of all.
static constexpr double kLogitTolerance = 1e-4;
/// With bf16 operands or caches, and the oracle's choices: rms error.
static constexpr double kBF16Tolerance = 0.05;

//===----------------------------------------------------------------------===//
// Drawing
//===----------------------------------------------------------------------===//

/// Of 10,000 cases a thousand: planning and waiting take longer than the rest of a case.
static constexpr uint64_t kPlacedEvery = 10;

static TokenBatch drawBatch(RandomNumbers &random, const RandomModel &model) {
  int64_t k = std::max<int64_t>(model.rows(), 4), vocabulary = model.config["vocab_size"];
  TokenBatch batch(size_t(random.between(1, 4)));
  for (std::vector<int32_t> &tokens : batch) {
    int64_t kind = random.between(0, 99);
    int64_t length = kind < 12   ? 0
                     : kind < 30 ? random.between(1, k)
                     : kind < 60 ? std::min(kLongestSequence, random.between(k + 1, 3 * k + 5))
                     : kind < 80 ? 20
                                 : random.between(1, kLongestSequence);
    for (int64_t i = 0; i < length; ++i)
      tokens.push_back(int32_t(random.between(0, vocabulary - 1)));
  }
  if (std::all_of(batch.begin(), batch.end(), [](const auto &tokens) { return tokens.empty(); }))
    batch[0].push_back(0);
  return batch;
}

RandomCase::RandomCase(uint64_t seed, uint64_t number) {
  RandomNumbers random(splitmix64(seed) + number);
  model = drawModel(random);
  batch = drawBatch(random, model);
  randomPlan = planRandomly(batch, random);
  randomPlanThreads = random.chance(30) ? 2 : 1;
  auto add = [&](StepPlan plan) {
    plan.seed = random.next();
    otherPlans.push_back(std::move(plan));
  };
  if (std::any_of(batch.begin(), batch.end(),
                  [](const auto &tokens) { return tokens.size() == 20; })) {
    switch (random.between(0, 2)) {
    case 0:
      add(planChunks(batch, {7, 13}));
      break;
    case 1:
      add(planChunks(batch, {1, 19}));
      break;
    default:
      add(planChunks(batch, {19, 1}));
    }
  }
  if (random.chance(50))
    add(planChunks(batch, {1}));
  if (random.chance(60))
    add(planAlone(batch));
  if (random.chance(30))
    replayedChoices = size_t(random.between(1, 4));
  comparesFusion = random.chance(20);
  scheduleSeed = random.next();
  comparesPlaced = number % kPlacedEvery == 0;
  placementSeed = random.next();
}

std::string RandomCase::describe() const {
  std::string text = model.describe() + "sequences of";
  for (const std::vector<int32_t> &tokens : batch)
    text += " " + std::to_string(tokens.size());
  return text + "\n" + test::describe(randomPlan);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {

class CaseRun {
public:
  CaseRun(const RandomCase &randomCase, const TestedModel &model, Coverage &coverage)
      : case_(randomCase), model_(model), coverage_(coverage) {}
  std::string run();
  /// After `run`: what the CPU gave.
  const RunResults &results() const { return oneShot_; }
  /// After `run`: the model without fusion gives the same bits.
  std::string compareUnfused(const TestedModel &unfused);
  /// After `run`: the reference on the model before it was shared, with the rows of each leader
  /// imported for its followers, gives the same bits as on the shared module.
  std::string compareUnshared(const TestedModel &unshared);

private:
  Expected<RunResults> runReference(OracleScores &scores);
  Expected<RunResults> runCpu(const StepPlan &plan, int threads, const Imports &imports = {});
  std::string comparePlan(const StepPlan &plan, int threads);
  std::string compareReplay();
  std::string compareWithOracle(const OracleScores &scores);
  std::string checkLogits(const RunResults &found);

  const RandomCase &case_;
  const TestedModel &model_;
  Coverage &coverage_;
  RunResults oracle_, oneShot_;
};

} // namespace

static void countModel(const RandomModel &model, Coverage &coverage) {
  std::string type = model.config["model_type"];
  ++coverage[Coverage::Models];
  ++coverage[type == "glm_moe_dsa"    ? Coverage::ModelsGlm
             : type == "deepseek_v32" ? Coverage::ModelsDeepseekV32
             : type == "deepseek_v3"  ? Coverage::ModelsDeepseekV3
             : type == "llama"        ? Coverage::ModelsLlama
                                      : Coverage::ModelsMistral];
  const ModuleChanges &changes = model.changes;
  coverage[Coverage::ModelsBF16] += !model.isF32();
  coverage[Coverage::ModelsFP8] += model.weights.fp8Blocks;
  coverage[Coverage::ModelsExact] += model.isExact();
  coverage[Coverage::ModelsNearlyTied] += model.isNearlyTied();
  coverage[Coverage::ModelsChanged] += changes.softmaxScoring || changes.maximumGroupScore ||
                                       changes.hadamard || changes.planar ||
                                       changes.lastTokens != 0;
}

static void countBatch(const RandomModel &model, const TokenBatch &batch, Coverage &coverage) {
  for (const std::vector<int32_t> &tokens : batch) {
    int64_t length = int64_t(tokens.size());
    auto above = [&](int64_t limit) {
      return limit == 0 ? 0 : std::max<int64_t>(length - limit, 0);
    };
    coverage[Coverage::EmptySequences] += length == 0;
    coverage[Coverage::Tokens] += length;
    coverage[Coverage::TokensBeyondK] += above(model.rows());
    coverage[Coverage::TokensBeyondWindow] += above(model.window());
    coverage[Coverage::PageBorders] += std::max<int64_t>(length - 1, 0) / model.pageSize;
  }
}

static void countPlan(const TokenBatch &batch, const StepPlan &plan, int threads,
                      Coverage &coverage) {
  ++coverage[Coverage::Runs];
  coverage[Coverage::TwoThreadRuns] += threads == 2;
  for (const std::vector<Segment> &step : plan.steps) {
    auto isDecoding = [](const Segment &segment) {
      return segment.count == 1 && segment.begin != 0;
    };
    bool some = std::any_of(step.begin(), step.end(), isDecoding),
         all = std::all_of(step.begin(), step.end(), isDecoding);
    ++coverage[Coverage::Steps];
    coverage[Coverage::EmptySteps] += step.empty();
    coverage[Coverage::MixedSteps] += some && !all;
    coverage[Coverage::WaitingSequences] += int64_t(batch.size() - step.size());
  }
  coverage[Coverage::Chunks7And13] += plan.name == "chunks 7 13";
  coverage[Coverage::Chunks1And19] += plan.name == "chunks 1 19";
  coverage[Coverage::Chunks19And1] += plan.name == "chunks 19 1";
  coverage[Coverage::OneByOne] += plan.name == "chunks 1";
  coverage[Coverage::AloneRuns] += plan.reusesPages;
}

Expected<RunResults> CaseRun::runReference(OracleScores &scores) {
  StepPlan plan = case_.randomPlan;
  plan.wantedPercent = 100;
  StepBuilder builder(case_.batch, plan, case_.model.pageSize);
  auto executor = model_.createReference(limitsFor(case_.batch, builder, 1));
  if (!executor.ok())
    return executor.status();
  (*executor)->setObserver(scores.observer());
  return runPlan(**executor, model_, case_.batch, plan, builder, {},
                 [&](const std::vector<TokenPlace> &places) { scores.beginStep(places); });
}

Expected<RunResults> CaseRun::runCpu(const StepPlan &plan, int threads, const Imports &imports) {
  countPlan(case_.batch, plan, threads, coverage_);
  StepBuilder builder(case_.batch, plan, case_.model.pageSize);
  auto executor = model_.createCpu(limitsFor(case_.batch, builder, threads));
  if (!executor.ok())
    return executor.status();
  return runPlan(**executor, model_, case_.batch, plan, builder, imports);
}

std::string CaseRun::comparePlan(const StepPlan &plan, int threads) {
  Expected<RunResults> results = runCpu(plan, threads);
  std::string difference =
      results.ok() ? compareBits(model_, oneShot_, *results) : results.status().message();
  return difference.empty() ? "" : "cpu, " + plan.name + " against one shot: " + difference;
}

/// A run that takes over what another one chose is that one again.
std::string CaseRun::compareReplay() {
  ++coverage_[Coverage::Replays];
  Expected<RunResults> results =
      runCpu(planOneShot(case_.batch), 1, {&oneShot_, case_.replayedChoices});
  std::string difference =
      results.ok() ? compareBits(model_, oneShot_, *results) : results.status().message();
  return difference.empty() ? "" : "cpu, with its own choices imported: " + difference;
}

std::string CaseRun::checkLogits(const RunResults &found) {
  LogitErrors errors = compareLogits(oracle_, found);
  bool isF32 = case_.model.isF32();
  double error = isF32 ? errors.largest : errors.rms;
  double &largest = isF32 ? coverage_.largestError : coverage_.largestBF16Error;
  largest = std::max(largest, error);
  if (error <= (isF32 ? kLogitTolerance : kBF16Tolerance))
    return "";
  return "cpu against reference: logits differ by " + std::to_string(error) +
         " standard deviations" + (isF32 ? "" : " (rms)");
}

/// Choice by choice in program order: what differs is judged, and the run is repeated with the
/// oracle's choice in its place, so that what comes after it can be judged as well.
std::string CaseRun::compareWithOracle(const OracleScores &scores) {
  const std::vector<Choice> &choices = model_.choices();
  StepPlan plan = planOneShot(case_.batch);
  int64_t lastLayer = case_.model.config["num_hidden_layers"].get<int64_t>() - 1;
  RunResults found = oneShot_;
  size_t imported = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    bool exact = case_.model.isExact() && (choices[i].isIndexer || choices[i].layer != lastLayer);
    if (!case_.model.isF32() && !exact)
      continue; // roundings before it have changed its scores: not for this rule
    int64_t differing = 0;
    std::string difference = compareChoice(model_, i, scores, exact, case_.model.leastScore(),
                                           oracle_, found, differing);
    if (!difference.empty())
      return "cpu against reference: " + difference;
    if (differing == 0)
      continue;
    coverage_[!choices[i].isIndexer        ? Coverage::DifferingExperts
              : case_.model.isNearlyTied() ? Coverage::NearlyTiedRows
                                           : Coverage::DifferingRows] += differing;
    imported = i + 1;
    ++coverage_[Coverage::Reruns];
    Expected<RunResults> rerun = runCpu(plan, 1, {&oracle_, imported});
    if (!rerun.ok())
      return rerun.status().message();
    found = std::move(*rerun);
  }
  if (!case_.model.isF32() && imported != choices.size()) {
    Expected<RunResults> rerun = runCpu(plan, 1, {&oracle_, choices.size()});
    if (!rerun.ok())
      return rerun.status().message();
    found = std::move(*rerun);
  }
  return checkLogits(found);
}

std::string CaseRun::run() {
  OracleScores scores(model_, case_.batch);
  Expected<RunResults> oracle = runReference(scores);
  if (!oracle.ok())
    return "reference: " + oracle.status().message();
  oracle_ = std::move(*oracle);
  countTies(model_, scores, oracle_, case_.model.isExact(), coverage_);
  Expected<RunResults> oneShot = runCpu(planOneShot(case_.batch), 1);
  if (!oneShot.ok())
    return "cpu: " + oneShot.status().message();
  oneShot_ = std::move(*oneShot);
  if (oneShot_.nanScores != 0 || oracle_.nanScores != 0)
    return "expected no index score to be NaN but got " + std::to_string(oneShot_.nanScores) +
           " on the cpu and " + std::to_string(oracle_.nanScores) + " in the reference";
  if (std::string difference = comparePlan(case_.randomPlan, case_.randomPlanThreads);
      !difference.empty())
    return difference;
  for (const StepPlan &plan : case_.otherPlans)
    if (std::string difference = comparePlan(plan, 1); !difference.empty())
      return difference;
  if (case_.replayedChoices != 0)
    if (std::string difference = compareReplay(); !difference.empty())
      return difference;
  return compareWithOracle(scores);
}

std::string CaseRun::compareUnfused(const TestedModel &unfused) {
  ++coverage_[Coverage::Unfused];
  CaseRun other(case_, unfused, coverage_);
  Expected<RunResults> results = other.runCpu(planOneShot(case_.batch), 1);
  std::string difference =
      results.ok() ? compareBits(model_, oneShot_, *results) : results.status().message();
  return difference.empty() ? "" : "cpu, without fusion: " + difference;
}

std::string CaseRun::compareUnshared(const TestedModel &unshared) {
  // The indexer whose rows each of the unshared model's indexers has to give.
  std::vector<size_t> leaders;
  for (const Choice &choice : unshared.choices()) {
    if (!choice.isIndexer)
      continue;
    size_t leader = 0;
    for (const Choice &candidate : model_.choices())
      if (candidate.isIndexer && candidate.layer <= choice.layer)
        leader = candidate.number;
    leaders.push_back(leader);
  }
  RunResults imported = oracle_;
  for (SequenceResults &sequence : imported.sequences) {
    std::vector<std::vector<int32_t>> rows;
    for (size_t leader : leaders)
      rows.push_back(sequence.rows[leader]);
    sequence.rows = std::move(rows);
  }
  StepPlan plan = planOneShot(case_.batch);
  StepBuilder builder(case_.batch, plan, case_.model.pageSize);
  auto executor = unshared.createReference(limitsFor(case_.batch, builder, 1));
  if (!executor.ok())
    return executor.status().message();
  Expected<RunResults> results = runPlan(**executor, unshared, case_.batch, plan, builder,
                                         {&imported, unshared.choices().size()});
  std::string difference =
      results.ok() ? compareBits(unshared, imported, *results) : results.status().message();
  return difference.empty()
             ? ""
             : "reference, with the leaders' rows imported before sharing: " + difference;
}

/// The model under a schedule that it was not trained for, if it has one.
static std::string runShared(const RandomCase &randomCase, const TestedModel &declared,
                             Coverage &coverage) {
  RandomNumbers random(randomCase.scheduleSeed);
  std::optional<std::string> schedule = declared.drawSchedule(random);
  if (!schedule)
    return "";
  ++coverage[Coverage::Schedules];
  ++coverage[llvm::StringRef(*schedule).starts_with("pattern") ? Coverage::SchedulesByPattern
             : llvm::StringRef(*schedule).starts_with("every") ? Coverage::SchedulesByFrequency
                                                               : Coverage::SchedulesByGroups];
  std::string failure;
  Expected<std::unique_ptr<TestedModel>> shared = declared.withSchedule(*schedule);
  if (shared.ok()) {
    CaseRun run(randomCase, **shared, coverage);
    failure = run.run();
    if (failure.empty())
      failure = run.compareUnshared(declared);
  } else {
    failure = shared.status().message();
  }
  return failure.empty() ? "" : "schedule " + *schedule + ": " + failure;
}

static std::string runModel(const RandomCase &randomCase, const TestedModel &model,
                            Coverage &coverage) {
  CaseRun run(randomCase, model, coverage);
  if (std::string failure = run.run(); !failure.empty())
    return failure;
  if (randomCase.comparesFusion) {
    Expected<std::unique_ptr<TestedModel>> unfused = model.withoutFusion();
    std::string failure = unfused.ok() ? run.compareUnfused(**unfused) : unfused.status().message();
    if (!failure.empty())
      return failure;
  }
  if (randomCase.comparesPlaced)
    if (std::string failure = comparePlaced(randomCase, model, run.results(), coverage);
        !failure.empty())
      return failure;
  return runShared(randomCase, model, coverage);
}

std::string runCase(const RandomCase &randomCase, const std::string &folder, Coverage &coverage) {
  countModel(randomCase.model, coverage);
  countBatch(randomCase.model, randomCase.batch, coverage);
  std::string result;
  {
    Expected<std::unique_ptr<TestedModel>> model = TestedModel::create(randomCase.model, folder);
    result = model.ok() ? runModel(randomCase, **model, coverage) : model.status().message();
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return result;
}

} // namespace strata::test
