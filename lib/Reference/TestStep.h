//===- TestStep.h - Runs small modules in unit tests ------------*- C++ -*-===//
#ifndef STRATA_LIB_REFERENCE_TESTSTEP_H
#define STRATA_LIB_REFERENCE_TESTSTEP_H

#include "strata/lib/Reference/InputModule.h"
#include "strata/lib/Reference/Interpreter.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

#include <cstring>

namespace strata::reference {

/// An f32 tensor as the text of a constant: `arith.constant dense<…> : tensor<…>`, exact.
inline std::string constantText(llvm::ArrayRef<int64_t> shape, const std::vector<float> &values) {
  std::string type = "tensor<";
  for (int64_t size : shape)
    type += std::to_string(size) + "x";
  llvm::StringRef bytes(reinterpret_cast<const char *>(values.data()), 4 * values.size());
  // A single element in hexadecimal would be taken for the value of all.
  std::string text = "arith.constant dense<\"0x" + llvm::toHex(bytes) + "\"> : " + type + "f32>";
  return text;
}

/// Appends tokens `positions` of a sequence to a step.
inline void addTokens(rt::StepInput &input, int32_t sequence, int32_t begin, int32_t end) {
  for (int32_t position = begin; position < end; ++position) {
    input.tokenIds.push_back(0);
    input.positions.push_back(position);
    input.sequences.push_back(sequence);
  }
}

/// One sequence's tokens at positions [begin, end).
inline rt::StepInput tokensAt(int32_t begin, int32_t end) {
  rt::StepInput input;
  addTokens(input, 0, begin, end);
  return input;
}

/// A module with an interpreter. The text is that of @step's arguments, body and result types.
class TestStep {
public:
  /// `text`: all of the function after `func.func @step`.
  explicit TestStep(const std::string &text, int64_t sequences = 4,
                    const Checkpoint *checkpoint = nullptr)
      : context(mlir::MLIRContext::Threading::DISABLED) {
    Expected<mlir::OwningOpRef<mlir::ModuleOp>> parsed =
        parseInputModule("func.func @step" + text, context);
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    if (!parsed.ok())
      return;
    module = std::move(*parsed);
    rt::ExecutorOptions options;
    options.maxSequences = sequences;
    options.threads = 2;
    Expected<std::unique_ptr<Interpreter>> created =
        Interpreter::create(*module, checkpoint, options);
    if (created.ok())
      interpreter = std::move(*created);
    else
      error = created.status().message();
  }

  /// The results of a step; none, and `error`, if it failed.
  std::vector<Tensor> run(const rt::StepInput &input) {
    EXPECT_TRUE(interpreter) << error;
    if (!interpreter)
      return {};
    Expected<std::vector<Tensor>> results = interpreter->run(input, output);
    error = results.ok() ? "" : results.status().message();
    return results.ok() ? *results : std::vector<Tensor>();
  }
  /// The only result of a step that must succeed.
  Tensor runOne(const rt::StepInput &input) {
    std::vector<Tensor> results = run(input);
    EXPECT_EQ(error, "");
    EXPECT_EQ(results.size(), 1u);
    return results.empty() ? Tensor() : results.front();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<Interpreter> interpreter;
  rt::StepOutput output;
  std::string error;
};

/// Expects values equal to within `tolerance`.
inline void expectNear(const std::vector<float> &found, const std::vector<double> &expected,
                       double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], tolerance) << "element " << i;
}

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_TESTSTEP_H
