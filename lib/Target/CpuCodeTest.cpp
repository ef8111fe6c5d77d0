//===- CpuCodeTest.cpp - Compiled kernels are loaded and called -----------===//
#include "strata/lib/Target/CpuCode.h"

#include "strata-rt/kernel-abi.h"
#include "strata/lib/Support/TestFolder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace strata;

namespace {

/// Kernels from text, compiled; diagnostics are collected.
class CpuCodeTest : public testing::Test {
protected:
  CpuCodeTest()
      : context(getDialects()), handler(&context, [this](Diagnostic &diagnostic) {
          messages += diagnostic.str() + "\n";
          return success();
        }) {}
  ~CpuCodeTest() override {
    for (void *library : libraries)
      dlclose(library);
  }

  static DialectRegistry getDialects() {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                    memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
    return registry;
  }

  FailureOr<std::vector<std::string>> compile(StringRef text,
                                              ArrayRef<StringRef> processors = {"x86-64"}) {
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return failure();
    std::vector<KernelEntry> entries;
    for (auto function : module->getOps<func::FuncOp>())
      if (function.isPublic())
        entries.push_back({function, function.getSymName().str()});
    std::vector<Processor> resolved;
    for (StringRef name : processors)
      resolved.push_back(*getProcessorByName(name));
    return compileKernels(*module, entries, resolved);
  }

  void *load(StringRef object) {
    std::string path =
        folder.write("kernels" + std::to_string(libraries.size()) + ".so", object.str());
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    if (library)
      libraries.push_back(library);
    return library;
  }
  static strata_rt_kernel find(void *library, const char *symbol) {
    return reinterpret_cast<strata_rt_kernel>(dlsym(library, symbol));
  }

  MLIRContext context;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
  std::string messages;
  TestFolder folder;
  std::vector<void *> libraries;
};

/// y[n, i] = x[n, 2 i] × 2 for four i, in vectors, with a strided input; calls a function of the
/// module.
constexpr const char *kScale = R"(
  func.func private @factor() -> f32 { %f = arith.constant 2.0 : f32  return %f : f32 }
  func.func @scale(%x: memref<?x2x4xf32, strided<[10, 5, 1]>>, %y: memref<?x2x4xf32>, %begin: index, %end: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %f = func.call @factor() : () -> f32
    %factors = vector.broadcast %f : f32 to vector<4xf32>
    scf.for %n = %begin to %end step %c1 {
      scf.for %h = %c0 to %c2 step %c1 {
        %v = vector.load %x[%n, %h, %c0] : memref<?x2x4xf32, strided<[10, 5, 1]>>, vector<4xf32>
        %p = arith.mulf %v, %factors : vector<4xf32>
        vector.store %p, %y[%n, %h, %c0] : memref<?x2x4xf32>, vector<4xf32>
      }
    }
    return
  }
)";

TEST_F(CpuCodeTest, StridedViewsAndItemRanges) {
  auto objects = compile(kScale, {"x86-64", "native"});
  ASSERT_TRUE(succeeded(objects)) << messages;
  ASSERT_EQ(objects->size(), 2u);
  for (const std::string &object : *objects) {
    strata_rt_kernel scale = find(load(object), "scale");
    ASSERT_NE(scale, nullptr);
    // One element off, so that vectors lie at addresses that are aligned to elements only.
    std::vector<float> x(1 + 3 * 10), y(1 + 3 * 8, -1);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i) - 1;
    void *arguments[] = {x.data() + 1, y.data() + 1};
    scale(arguments, 1, 3);
    for (int64_t n = 0; n < 3; ++n)
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t i = 0; i < 4; ++i)
          EXPECT_EQ(y[size_t(1 + n * 8 + h * 4 + i)],
                    n == 0 ? -1.f : float(2 * (n * 10 + h * 5 + i)));
  }
}

TEST_F(CpuCodeTest, SameInputGivesSameBytes) {
  auto first = compile(kScale, {"x86-64", "x86-64-v4"});
  ASSERT_TRUE(succeeded(first)) << messages;
  auto second = compile(kScale, {"x86-64", "x86-64-v4"});
  ASSERT_TRUE(succeeded(second)) << messages;
  EXPECT_EQ(*first, *second);
}

TEST_F(CpuCodeTest, ExportsEntriesAlone) {
  auto objects = compile(kScale);
  ASSERT_TRUE(succeeded(objects)) << messages;
  EXPECT_EQ(find(load(objects->front()), "factor"), nullptr);
}

TEST_F(CpuCodeTest, RoundsToBF16ToNearestEven) {
  auto objects = compile(R"(
    func.func @round(%x: memref<?xf32>, %y: memref<?xbf16>, %begin: index, %end: index) {
      %c1 = arith.constant 1 : index
      scf.for %n = %begin to %end step %c1 {
        %v = vector.load %x[%n] : memref<?xf32>, vector<1xf32>
        %r = arith.truncf %v : vector<1xf32> to vector<1xbf16>
        vector.store %r, %y[%n] : memref<?xbf16>, vector<1xbf16>
      }
      return
    }
    func.func @widen(%x: memref<?xbf16>, %y: memref<?xf32>, %begin: index, %end: index) {
      %c1 = arith.constant 1 : index
      scf.for %n = %begin to %end step %c1 {
        %v = memref.load %x[%n] : memref<?xbf16>
        %w = arith.extf %v : bf16 to f32
        memref.store %w, %y[%n] : memref<?xf32>
      }
      return
    })",
                         {"x86-64", "native"});
  ASSERT_TRUE(succeeded(objects)) << messages;
  // Exact, half to even (down, up), above half, subnormal, infinity.
  const uint32_t bits[] = {0x3f800000, 0x3f808000, 0x3f818000, 0x3f808001, 0x00018000, 0xff800000};
  const uint16_t rounded[] = {0x3f80, 0x3f80, 0x3f82, 0x3f81, 0x0002, 0xff80};
  for (const std::string &object : *objects) {
    void *library = load(object);
    uint16_t narrow[6] = {};
    uint32_t source[6], wide[6] = {};
    std::copy(std::begin(bits), std::end(bits), source);
    void *roundArguments[] = {source, narrow}, *widenArguments[] = {narrow, wide};
    find(library, "round")(roundArguments, 0, 6);
    find(library, "widen")(widenArguments, 0, 6);
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(narrow[i], rounded[i]) << i;
      EXPECT_EQ(wide[i], uint32_t(rounded[i]) << 16) << i;
    }
  }
}

TEST_F(CpuCodeTest, RefusesCallsByName) {
  auto objects = compile(R"(
    func.func @power(%x: memref<?xf32>, %begin: index, %end: index) {
      %v = memref.load %x[%begin] : memref<?xf32>
      %e = math.exp %v : f32
      memref.store %e, %x[%begin] : memref<?xf32>
      return
    })");
  EXPECT_TRUE(failed(objects));
  EXPECT_EQ(messages, "kernel 'power' calls 'expf' when compiled for x86-64, but generated code "
                      "has to do without\n");
}

TEST_F(CpuCodeTest, RefusesUndefinedFunctions) {
  auto objects = compile(R"(
    func.func private @elsewhere()
    func.func @caller(%begin: index, %end: index) { func.call @elsewhere() : () -> ()  return })");
  EXPECT_TRUE(failed(objects));
  EXPECT_EQ(messages, "kernel 'caller' calls 'elsewhere' when compiled for x86-64, but generated "
                      "code has to do without\n");
}

TEST_F(CpuCodeTest, RefusesOpsWithoutLowering) {
  context.allowUnregisteredDialects();
  auto objects =
      compile(R"(func.func @odd(%begin: index, %end: index) { "other.op"() : () -> ()  return })");
  EXPECT_TRUE(failed(objects));
  EXPECT_NE(messages.find("kernel 'odd' uses other.op, which can't be lowered to LLVM IR"),
            std::string::npos)
      << messages;
}

TEST_F(CpuCodeTest, RefusesOtherSignatures) {
  EXPECT_TRUE(failed(compile("func.func @one(%end: index) { return }")));
  EXPECT_NE(messages.find("expected two last arguments of type index"), std::string::npos)
      << messages;
  messages.clear();
  EXPECT_TRUE(failed(compile("func.func @shifted(%x: memref<4xf32, strided<[1], offset: 2>>, "
                             "%begin: index, %end: index) { return }")));
  EXPECT_NE(messages.find("expected argument 0 to be a memref with static strides and no offset"),
            std::string::npos)
      << messages;
}

TEST_F(CpuCodeTest, KnowsLevelsByName) {
  EXPECT_FALSE(getProcessorByName("i386"));
  EXPECT_EQ(getProcessorByName("x86-64-v3")->level, "x86-64-v3");
  EXPECT_EQ(getProcessorByName("native")->level.substr(0, 6), "x86-64");
}

} // namespace
