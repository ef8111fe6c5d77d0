//===- TransferRowsTest.cpp - Rows 70 to 72: caches that move ------------===//
#include "Harness.h"

#include "strata/dialects/Strata/IR.h"
#include "strata/lib/Checkpoint/TestSafetensors.h"
#include "strata/lib/Support/Text.h"
#include "strata/runtime/core/Checksum.h"
#include "strata/runtime/core/SequenceFile.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace strata;
using namespace strata::rows;

namespace {

/// Tokens of a sequence in the caches.
constexpr int64_t kContext = 40;
constexpr int64_t kPromptTokens = 21;
constexpr int64_t kNewTokens = 12;

/// A machine whose near memory is too small for the weights and most of the caches.
PlacementOptions smallMachine() {
  PlacementOptions placement;
  placement.machine = "cpu-two-tier";
  placement.nearBytes = 400'000;
  placement.context = kContext;
  placement.batch = 2;
  placement.tokens = 32; // more than the steps have, whose logits are all wanted
  return placement;
}

/// Where an executor keeps a model: in one memory, or most of the caches far away.
std::unique_ptr<Model> makeModel(bool tiers, NumberFormat compute = NumberFormat::F32) {
  ModelOptions options;
  options.compute = compute;
  if (tiers)
    options.placement = smallMachine();
  return Model::create(glmConfig(), options);
}

/// An executor and a session of two sequences.
class KeptRun {
public:
  KeptRun(Model &model, int64_t newTokens, int64_t chunk, int64_t transferDelay = 0) {
    rt::SessionOptions options;
    options.chunk = chunk;
    options.maxNewTokens = newTokens;
    options.maxContext = kContext;
    options.ignoreEos = options.allLogits = options.keepRows = options.keepSequences = true;
    rt::ExecutorOptions limits;
    limits.threads = 2;
    limits.poison = true;
    limits.transferDelay = transferDelay;
    Status status = planExecutor(model.description(), options, {kContext, kContext}, limits);
    EXPECT_TRUE(status.ok()) << status.message();
    executor_ = model.executor(Device::Cpu, limits);
    if (executor_)
      session_ = std::make_unique<rt::Session>(*executor_, limits, options);
  }

  rt::Session &session() { return *session_; }
  int64_t add(const std::vector<int32_t> &tokens) {
    Expected<int64_t> number = session_->addPrompt({tokens, {}, {}});
    EXPECT_TRUE(number.ok()) << number.status().message();
    return number.ok() ? *number : 0;
  }
  /// The status of loading; the sequence is the session's last prompt.
  Status load(const std::string &path) {
    Expected<rt::SequenceFile> file = rt::SequenceFile::open(path);
    if (!file.ok())
      return file.status();
    return session_->addPrompt({{}, {}, {}}, &*file).status();
  }
  void finish() {
    while (!session_->finished())
      if (Status status = session_->step(); !status.ok()) {
        ADD_FAILURE() << status.message();
        return;
      }
  }

private:
  std::unique_ptr<rt::Executor> executor_;
  std::unique_ptr<rt::Session> session_;
};

/// Prefills in `first`, saves, and expects that `second` decodes what `whole` does, bit by bit.
void expectSameElsewhere(Model &whole, Model &first, Model &second, int64_t delay = 0) {
  TestFolder folder;
  std::vector<int32_t> prompt = makePrompt(kPromptTokens, 70);
  KeptRun one(whole, kNewTokens, 256);
  one.add(prompt);
  one.finish();
  const rt::Generation &expected = one.session().generation(0);

  KeptRun prefill(first, 1, 7, delay);
  prefill.add(prompt);
  prefill.finish();
  Status saved = prefill.session().saveSequence(0, folder.file("s"));
  ASSERT_TRUE(saved.ok()) << saved.message();

  // Another sequence has the first pages and, with tiers, slots; a third one had those that the
  // loaded sequence gets.
  KeptRun decode(second, kNewTokens - 1, 5, delay);
  decode.add(makePrompt(25, 7));
  int64_t third = decode.add(makePrompt(23, 8));
  decode.finish();
  ASSERT_TRUE(decode.session().dropSequence(third).ok());
  Status loaded = decode.load(folder.file("s"));
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  decode.finish();
  const rt::Generation &found = decode.session().generation(2);

  EXPECT_EQ(found.loaded, kPromptTokens);
  ASSERT_EQ(expected.tokens.size(), size_t(kNewTokens));
  EXPECT_EQ(found.tokens, std::vector<int32_t>(expected.tokens.begin() + 1, expected.tokens.end()));
  ASSERT_EQ(found.computed(), kNewTokens - 1);
  auto expectTail = [&](const auto &part, const auto &all) {
    ASSERT_LT(part.size(), all.size());
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.end() - int64_t(part.size())));
  };
  expectTail(found.logits, expected.logits);
  ASSERT_EQ(found.rows.size(), expected.rows.size());
  for (size_t i = 0; i < found.rows.size(); ++i)
    expectTail(found.rows[i], expected.rows[i]);
}

TEST(DomainRows, Row70DecodingGoesOnElsewhere) {
  for (NumberFormat compute : {NumberFormat::F32, NumberFormat::BF16}) {
    std::unique_ptr<Model> whole = makeModel(false, compute);
    expectSameElsewhere(*whole, *whole, *whole);
  }
}

TEST(DomainRows, Row70CachesMoveBetweenTiers) {
  std::unique_ptr<Model> whole = makeModel(false), tiers = makeModel(true);
  std::set<package::Residence> residences;
  for (const package::Cache *cache : *tiers->package().manifest().caches())
    residences.insert(cache->residence());
  EXPECT_EQ(residences.count(package::Residence::Rows), 1u);
  EXPECT_EQ(residences.count(package::Residence::Streamed), 1u);
  expectSameElsewhere(*whole, *whole, *tiers);
  expectSameElsewhere(*whole, *tiers, *whole);
  expectSameElsewhere(*whole, *tiers, *tiers);
}

//===----------------------------------------------------------------------===//
// Files that were changed
//===----------------------------------------------------------------------===//

/// The tensors of a saved sequence.
struct SavedTensors {
  explicit SavedTensors(const std::string &path) {
    Expected<SafetensorsFile> file = SafetensorsFile::open(path);
    EXPECT_TRUE(file.ok()) << file.status().message();
    for (const auto &[name, view] : file->tensors())
      tensors[name] = {std::string(view.dtype), view.shape,
                       std::string(reinterpret_cast<const char *>(view.data), view.bytes)};
  }

  /// Replaces the descriptor, and its checksum.
  void setDescriptor(const json &descriptor) {
    StoredTensor &tensor = tensors.at("descriptor");
    tensor.bytes = descriptor.dump();
    tensor.shape = {int64_t(tensor.bytes.size())};
    uint64_t sum = rt::checksum(tensor.bytes.data(), tensor.bytes.size());
    std::memcpy(tensors.at("checksums").bytes.data(), &sum, sizeof sum);
  }
  json descriptor() { return json::parse(tensors.at("descriptor").bytes, nullptr, false); }

  std::string write(const TestFolder &folder, const std::string &name) const {
    std::vector<TestTensor> list;
    for (const auto &[tensor, stored] : tensors)
      list.push_back({tensor, stored.dtype, shapeText(stored.shape), stored.bytes});
    return folder.write(name, safetensorsFile(list));
  }

  StoredTensors tensors;
};

/// A model, and a sequence of `kPromptTokens` tokens of it that was saved.
class DomainRowsOfFiles : public testing::Test {
protected:
  static void SetUpTestSuite() { model = makeModel(false).release(); }
  static void TearDownTestSuite() { delete model; }

  void SetUp() override {
    KeptRun run(*model, 1, 256);
    run.add(makePrompt(kPromptTokens, 70));
    run.finish();
    Status status = run.session().saveSequence(0, path);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  /// The number of a cache.
  size_t cacheOf(const std::string &name) {
    const auto &caches = *model->package().manifest().caches();
    for (uint32_t i = 0; i < caches.size(); ++i)
      if (caches[i]->name()->str() == name)
        return i;
    ADD_FAILURE() << "there is no cache " << name;
    return 0;
  }
  /// Expects that a file is refused by `reader`, which goes on working.
  void expectRefusal(Model &reader, const std::string &file, StatusCode code,
                     const std::string &message) {
    KeptRun run(reader, kNewTokens, 256);
    Status status = run.load(file);
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message(), file + ": " + message);
    run.add(makePrompt(kPromptTokens, 70));
    run.finish();
    EXPECT_EQ(run.session().generation(0).tokens.size(), size_t(kNewTokens));
  }

  static inline Model *model = nullptr;
  TestFolder folder;
  std::string path = folder.file("s");
};

TEST_F(DomainRowsOfFiles, Row70AFileWithoutIndexKeysIsRefused) {
  SavedTensors saved(path);
  json descriptor = saved.descriptor();
  json &caches = descriptor["identity"]["caches"];
  size_t index = cacheOf("layer 0 index keys");
  caches.erase(index);
  saved.setDescriptor(descriptor);
  expectRefusal(*model, saved.write(folder, "d"), StatusCode::InvalidArgument,
                R"(caches["layer 0 index keys"]: expected it to be there but got nothing)");

  // A descriptor that promises them does not help.
  SavedTensors lacking(path);
  lacking.tensors.erase("pages." + std::to_string(index));
  size_t tensors = lacking.tensors.size();
  expectRefusal(*model, lacking.write(folder, "l"), StatusCode::Corrupt,
                "expected " + std::to_string(tensors + 1) + " tensors but got " +
                    std::to_string(tensors));
}

TEST_F(DomainRowsOfFiles, Row71IndexKeysThatCameLateAreFound) {
  // What the index keys were when the last page had not arrived.
  SavedTensors saved(path);
  StoredTensor &pages = saved.tensors.at("pages." + std::to_string(cacheOf("layer 1 index keys")));
  int64_t pageBytes = pages.shape[1];
  ASSERT_EQ(pages.shape[0], 6);
  std::fill(pages.bytes.end() - pageBytes, pages.bytes.end(), '\0');
  expectRefusal(*model, saved.write(folder, "late"), StatusCode::Corrupt,
                "layer 1 index keys: checksum of page 5 (positions 20 to 20) differs: the file is "
                "damaged");
  // Or another page came instead.
  SavedTensors mixed(path);
  std::string &bytes =
      mixed.tensors.at("pages." + std::to_string(cacheOf("layer 1 index keys"))).bytes;
  std::copy_n(bytes.begin() + pageBytes, pageBytes, bytes.begin() + 2 * pageBytes);
  expectRefusal(*model, mixed.write(folder, "mixed"), StatusCode::Corrupt,
                "layer 1 index keys: checksum of page 2 (positions 8 to 11) differs: the file is "
                "damaged");
}

TEST(DomainRows, Row71LateTransfersChangeNothing) {
  std::unique_ptr<Model> whole = makeModel(false), tiers = makeModel(true);
  expectSameElsewhere(*whole, *tiers, *tiers, /*delay=*/200'000);
}

/// The model with index keys said to be transformed, and all else as it is.
void flipHadamard(mlir::ModuleOp module) {
  mlir::AttrTypeReplacer replacer;
  replacer.addReplacement([](CacheType type) -> std::optional<mlir::Type> {
    if (type.getFields().size() != 1)
      return type;
    return CacheType::get(type.getContext(), type.getFields(), type.getPageSize(), type.getPlanar(),
                          type.getRope(), !type.getHadamard());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

TEST_F(DomainRowsOfFiles, Row72AnotherLayoutIsRefused) {
  ModelOptions hadamard;
  hadamard.change = flipHadamard;
  expectRefusal(*Model::create(glmConfig(), hadamard), path, StatusCode::InvalidArgument,
                R"(caches["layer 0 index keys"].hadamard: expected true but got false)");
  ModelOptions pages;
  pages.pageSize = 8;
  expectRefusal(*Model::create(glmConfig(), pages), path, StatusCode::InvalidArgument,
                R"(caches["layer 0 keys"].page_size: expected 8 but got 4)");
  ModelOptions narrow;
  narrow.compute = NumberFormat::BF16;
  expectRefusal(*Model::create(glmConfig(), narrow), path, StatusCode::InvalidArgument,
                R"(caches["layer 0 keys"].fields[0].type: expected "bf16" but got "f32")");
}

TEST_F(DomainRowsOfFiles, Row72AnotherModelIsRefused) {
  auto refusal = [&](const json &config, const ModelOptions &options) {
    std::unique_ptr<Model> other = Model::create(config, options);
    KeptRun run(*other, 1, 256);
    std::string message = run.load(path).message();
    return message.substr(0, message.find(": expected"));
  };
  ModelOptions seed;
  seed.checkpoint.seed = 2;
  EXPECT_EQ(refusal(glmConfig(), seed), path + ": weights_checksum");
  json config = glmConfig();
  config["rope_parameters"]["rope_theta"] = 20000;
  EXPECT_EQ(refusal(config, {}), path + ": rotations_checksum");
  EXPECT_EQ(refusal(glmConfigWithoutSharing(), {}), path + R"(: caches["layer 3 index keys"])");
}

} // namespace
