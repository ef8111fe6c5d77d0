"""How lit runs the tests: `.mlir` and `.test` files here, and the GoogleTest programs (Unit/).

What a RUN line may use:
  strata-opt, strata-import, strata-compile, strata-run, strata-sim, strata-bench   the build's tools
  FileCheck, not, split-file, count                       LLVM 22's
  %python           the interpreter that runs lit
  %inputs           test/Inputs
  %examples         examples/
  %test-models      the checkpoints of test/Inputs/models, with their weights
  %models           the folder of further checkpoints, with `REQUIRES: models`
  %docs             the generated reference
  %build            the build's folder
  REQUIRES: full-counts   a test that takes minutes
  %random-models    how many random small models a comparison goes through: 200, or 10000 for the full counts

The full counts are asked for by the environment variable STRATA_TEST_COUNTS=full, which tests see as well; the
folder of models by STRATA_TEST_MODELS, in the environment or in CMake's cache.
"""

import os
import sys

import lit.formats

config.name = "Strata"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "tools", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.strata_build_dir, "test")

tools = os.path.join(config.strata_build_dir, "bin")
config.environment["PATH"] = os.pathsep.join([tools, config.llvm_tools_dir, config.environment["PATH"]])

full = os.environ.get("STRATA_TEST_COUNTS") == "full"
config.environment["STRATA_TEST_COUNTS"] = "full" if full else "quick"
if full:
    config.available_features.add("full-counts")

models = os.environ.get("STRATA_TEST_MODELS") or config.strata_test_models
if models:
    models = os.path.abspath(models)
    config.environment["STRATA_TEST_MODELS"] = models
    config.available_features.add("models")

# libMLIR is built without annotations for containers; with them AddressSanitizer sees overflows that are none.
if config.strata_sanitize == "ON":
    config.environment["ASAN_OPTIONS"] = "detect_container_overflow=0"
    config.available_features.add("sanitizers")

config.substitutions += [
    ("%random-models", "10000" if full else "200"),
    ("%python", sys.executable),
    ("%inputs", os.path.join(config.strata_source_dir, "test", "Inputs")),
    ("%examples", os.path.join(config.strata_source_dir, "examples")),
    ("%test-models", os.path.join(config.strata_build_dir, "test-models")),
    ("%models", models),
    ("%build", config.strata_build_dir),
    ("%docs", os.path.join(config.strata_build_dir, "docs")),
]
