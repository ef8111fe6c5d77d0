# One command per thing that a person wants. Each installs what it needs, says in one line what it does, and keeps the
# long output in build/logs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.NOTPARALLEL:
.PHONY: all build demo test test-full docs format clean packages configure

BUILD := build
LOGS := $(BUILD)/logs
JOBS := $(shell nproc)

# $(call quietly,MESSAGE,NAME,COMMAND): the command's output goes to a log, whose end is shown if the command fails.
define quietly
@mkdir -p $(LOGS); echo "$(1)"; \
if ! { $(3); } >$(LOGS)/$(2).log 2>&1; then \
  tail -n 60 $(LOGS)/$(2).log >&2; echo "failed; the whole log is $(LOGS)/$(2).log" >&2; exit 1; \
fi
endef

all: build

packages:
	@cmake/install-packages.sh

configure: packages
	@[ -f $(BUILD)/build.ninja ] || $(MAKE) --no-print-directory $(BUILD)/build.ninja

$(BUILD)/build.ninja:
	$(call quietly,Configuring in $(BUILD)/,configure,cmake --preset default)

build: configure
	$(call quietly,Building everything (the first time some minutes on two cores),build,ninja -C $(BUILD) -j $(JOBS))

# The checkpoint in examples/ is a small GLM-5.2 trained on a public-domain text, with bytes as tokens.
MODEL := examples/mini-glm-5.2
DEMO := $(BUILD)/demo
PROMPT := 2Th1:2 Grace unto you,

demo: configure
	$(call quietly,Building the importer and the compiler and the runtime,build-demo,\
	  ninja -C $(BUILD) -j $(JOBS) strata-import strata-compile strata-run)
	@mkdir -p $(DEMO)
	@echo "Importing $(MODEL) to $(DEMO)/model.mlir"
	@$(BUILD)/bin/strata-import $(MODEL) -o $(DEMO)/model.mlir
	@echo "Compiling it to $(DEMO)/model.strata"
	@$(BUILD)/bin/strata-compile $(DEMO)/model.mlir --compute=f32 --cache=f32 -o $(DEMO)/model.strata
	@echo "Running it for 200 tokens on the prompt \"$(PROMPT)\""
	@$(BUILD)/bin/strata-run $(DEMO)/model.strata --weights $(MODEL) --prompt-text "$(PROMPT)" \
	  --max-new-tokens 200 --trace $(DEMO)/trace.json
	@echo "The trace is $(DEMO)/trace.json: open it at https://ui.perfetto.dev"

test: build
	@python3 test/tools/run-tests.py $(BUILD)/test

test-full: build
	@STRATA_TEST_COUNTS=full python3 test/tools/run-tests.py $(BUILD)/test

docs: configure
	$(call quietly,Writing the reference of ops and types and passes to $(BUILD)/docs,docs,ninja -C $(BUILD) docs)

format:
	@cmake/install-packages.sh clang-format-22
	@echo "Formatting the C++ files"
	@git ls-files -z '*.cpp' '*.h' | xargs -0 clang-format-22 -i

clean:
	@echo "Removing $(BUILD)/"
	@rm -rf $(BUILD)
