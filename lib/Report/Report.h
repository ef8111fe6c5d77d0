//===- Report.h - What a model costs, as text, JSON or a page ---*- C++ -*-===//
#ifndef STRATA_LIB_REPORT_REPORT_H
#define STRATA_LIB_REPORT_REPORT_H

#include "strata/Pipeline.h"
#include "strata/lib/Analysis/StepCosts.h"
#include "strata/lib/Report/Workspace.h"

#include <optional>
#include <string>
#include <vector>

namespace strata {

enum class ReportFormat { Text, Json, Html };

/// Which step is counted.
enum class StepKind {
  Decode,  ///< each sequence gets one token and sees `context` positions, that token included
  Prefill, ///< each sequence is a prompt of `context` tokens, of which the last one gives logits
};

struct ReportOptions {
  StepKind step = StepKind::Decode;
  int64_t context = 0; ///< 0: as many as the model has positions
  int64_t batch = 1;   ///< sequences
  /// Formats of StoredBytes.h. Caches as written are what the compiler would make of them.
  StorageFormat weights = StorageFormat::AsWritten;
  StorageFormat caches = StorageFormat::AsWritten;

  /// Tokens of the step.
  int64_t getTokens() const { return step == StepKind::Decode ? batch : batch * context; }
};

/// An account of one step of a model. Costs are those of one token: the step's, divided by its
/// tokens.
struct Report {
  ReportOptions options; ///< with the context filled in
  std::string modelType;
  int64_t maxPositions = 0;
  /// The types of caches as the module has them, and bytes of a record in the asked format; 0 where
  /// there are none.
  double recordBytes = 0, indexRecordBytes = 0;
  StepCosts costs;
  Workspace workspace; ///< of the step
  /// The same without kernels of several ops; nothing when the module came with them.
  std::optional<Workspace> unfused;

  /// The same at other lengths, for an overview.
  struct AtContext {
    int64_t context;
    KindCosts costs;
  };
  std::vector<AtContext> contexts;
};

/// Takes a module from the end of phase `from`, an earlier one than lower, through the pipeline up
/// to lower, and counts on the way: costs where ops still say them, launches and workspace at the
/// end. Errors are diagnostics.
mlir::FailureOr<Report> makeReport(mlir::ModuleOp module, const ReportOptions &options,
                                   const PipelineOptions &pipeline, Phase from);

std::string writeReport(const Report &report, ReportFormat format);

// The three formats.
std::string writeText(const Report &report);
std::string writeJson(const Report &report);
std::string writeHtml(const Report &report);

} // namespace strata

#endif // STRATA_LIB_REPORT_REPORT_H
