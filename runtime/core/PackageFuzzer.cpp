//===- PackageFuzzer.cpp - libFuzzer target for the package reader --------===//
//
// The first byte says what the others are: a file; a manifest, put into a file with right
// checksums; or changes to a sound manifest, without tiers or with, three bytes each (offset,
// value), put into such a file. The last finds what random bytes can't: manifests that contradict
// themselves in one field.
//
//===----------------------------------------------------------------------===//
#include "strata/runtime/core/PackagePrinter.h"
#include "strata/runtime/core/TestPackage.h"
#include "strata/runtime/core/TieredTestPackage.h"

#include <cstdlib>
#include <cstring>
#include <set>

using namespace strata::rt;
namespace package = strata::package;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

/// Do `rows` rows of a view lie within its slot? Looked at step by step, unlike in the verifier.
static void requireWithin(const package::Manifest &manifest, const package::View &view,
                          int64_t rows, int64_t batch, int64_t width, int64_t tokens,
                          int64_t wanted) {
  if (rows == 0)
    return;
  int64_t last = (rows - 1) * view.row_stride() + (batch - 1) * view.batch_stride() + width;
  int64_t bytes = evaluate(*manifest.slots()->Get(view.base().index())->bytes(), tokens, wanted);
  require(view.base().offset() >= 0 && view.base().offset() + 4 * last <= bytes);
}

static void requireWithin(const package::Manifest &manifest, const package::Product &product,
                          int64_t tokens, int64_t wanted) {
  int64_t rows = evaluate(*product.rows(), tokens, wanted), batch = product.batch();
  requireWithin(manifest, *product.input(), rows, batch, product.inputs(), tokens, wanted);
  for (const package::ProductPart *part : *product.parts()) {
    requireWithin(manifest, *part->output(), rows, batch, part->outputs(), tokens, wanted);
    if (product.residual())
      requireWithin(manifest, *product.residual(), rows, batch, part->outputs(), tokens, wanted);
  }
}

static void requireWithin(const package::Manifest &manifest,
                          const package::HeadAttention &attention, int64_t tokens, int64_t wanted) {
  int64_t items = evaluate(*attention.attention()->items(), tokens, wanted);
  for (const package::Product *product : {attention.absorb(), attention.expand()})
    if (product) {
      require(product->batch() == attention.heads());
      require(evaluate(*product->rows(), tokens, wanted) * attention.heads() == items);
      requireWithin(manifest, *product, tokens, wanted);
    }
}

/// What memory of tiers do the commands name, and does each transfer end within the step?
static void requireTransfers(const package::Manifest &manifest) {
  auto requireCache = [&](int32_t index, auto isAllowed) {
    require(index >= 0 && uint32_t(index) < manifest.caches()->size());
    require(isAllowed(manifest.caches()->Get(uint32_t(index))->residence()));
  };
  auto requireEngine = [&](int32_t engine) {
    require(engine >= 0 && manifest.engines() && uint32_t(engine) < manifest.engines()->size());
  };
  std::set<int32_t> running;
  for (const package::CommandEntry *entry : *manifest.commands()) {
    if (const package::Launch *launch = entry->command_as_Launch())
      for (const package::Argument *argument : *launch->arguments()) {
        if (argument->kind() == package::ArgumentKind::HotSet)
          require(uint32_t(argument->index()) < manifest.hot_sets()->size());
        if (argument->kind() == package::ArgumentKind::Stage)
          requireCache(argument->index(), [](package::Residence residence) {
            return residence == package::Residence::Rows ||
                   residence == package::Residence::Streamed;
          });
      }
    if (const package::Gather *gather = entry->command_as_Gather()) {
      requireEngine(gather->engine());
      require(uint32_t(gather->hot_set()) < manifest.hot_sets()->size());
      require(running.insert(gather->transfer()).second);
    }
    if (const package::WriteBack *back = entry->command_as_WriteBack()) {
      requireEngine(back->engine());
      requireCache(back->cache(), [](package::Residence residence) {
        return residence != package::Residence::Whole;
      });
      require(running.insert(back->transfer()).second);
    }
    if (const package::Reload *reload = entry->command_as_Reload()) {
      requireEngine(reload->engine());
      if (reload->weight() == -1)
        requireCache(reload->cache(), [](package::Residence residence) {
          return residence == package::Residence::Reloaded;
        });
      else
        require(manifest.weights()->Get(uint32_t(reload->weight()))->slot() >= 0);
      require(running.insert(reload->transfer()).second);
    }
    if (const package::Wait *wait = entry->command_as_Wait())
      require(running.erase(wait->transfer()) == 1);
  }
  require(running.empty());
}

/// What an executor would touch in some steps.
static void walk(const Package &package) {
  const package::Manifest &manifest = package.manifest();
  constexpr int64_t kSteps[][2] = {{1, 0}, {1, 1}, {2, 1}, {7, 0}, {7, 7}, {1000, 3}};
  for (auto [tokens, wanted] : kSteps) {
    requireWithin(manifest, *manifest.logits(), wanted, 1, manifest.vocabulary_size(), tokens,
                  wanted);
    for (const package::CommandEntry *entry : *manifest.commands()) {
      if (const package::Product *product = entry->command_as_Product())
        requireWithin(manifest, *product, tokens, wanted);
      if (const package::HeadAttention *attention = entry->command_as_HeadAttention())
        requireWithin(manifest, *attention, tokens, wanted);
      if (const package::GatedProduct *product = entry->command_as_GatedProduct()) {
        int64_t rows = evaluate(*product->rows(), tokens, wanted);
        requireWithin(manifest, *product->input(), rows, 1, product->inputs(), tokens, wanted);
        requireWithin(manifest, *product->output(), rows, 1, product->outputs(), tokens, wanted);
      }
    }
  }
  requireTransfers(manifest);
  for (const package::Variant *variant : *manifest.variants())
    require(!package.blob(*variant->object()).empty());
  require(!printPackage(package).empty());
}

static void readPackage(std::string_view bytes) {
  strata::Expected<std::unique_ptr<Package>> package = Package::fromBytes(bytes);
  if (package.ok())
    walk(**package);
  else
    require(!package.status().message().empty());
}

static void readManifest(std::vector<uint8_t> manifest, size_t objects) {
  PackageContent content = makeTestContent();
  content.manifest = std::move(manifest);
  content.objects.resize(objects);
  strata::Expected<std::string> bytes = packPackage(std::move(content));
  if (bytes.ok())
    readPackage(*bytes);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (size == 0)
    return 0;
  const uint8_t *end = bytes + size;
  switch (uint8_t kind = *bytes++ % 4) {
  case 0: {
    std::vector<char> file(bytes, end); // aligned
    readPackage({file.data(), file.size()});
    break;
  }
  case 1:
    readManifest({bytes, end}, 2);
    break;
  default: {
    static const std::vector<uint8_t> plain = makeTestManifest(), tiered = makeTieredTestManifest();
    std::vector<uint8_t> manifest = kind == 2 ? plain : tiered;
    for (; end - bytes >= 3; bytes += 3)
      manifest[(bytes[0] | bytes[1] << 8) % manifest.size()] = bytes[2];
    readManifest(std::move(manifest), kind == 2 ? 2 : 1);
  }
  }
  return 0;
}
