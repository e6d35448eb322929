# Targets with a "##" comment are the verbs; `make` alone prints them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BUILD  := build/dev
JOBS   ?= 2
SANITIZE_FILES ?= 20000

PIP      := $(BIN)/python -m pip install -q --disable-pip-version-check
# A development install: no CMake here, `make build` compiles in place.
EDITABLE := $(PIP) --no-build-isolation --config-settings=wheel.cmake=false --config-settings=editable.mode=inplace
BENCH    := $(BIN)/python benchmarks
RECORDS  := build/bench
MKDOCS   := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

.DEFAULT_GOAL := help
.PHONY: help build demo test check fix bench soak sanitize docs wheel clean
.DELETE_ON_ERROR:

help: ## print this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

# ---- set-up: each step leaves a stamp, so it runs once -------------------------------------------------------------

build/.system: tools/setup_system.sh
	@mkdir -p build
	@sh tools/setup_system.sh "$(PYTHON)"
	@touch $@

build/.venv: build/.system
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@touch $@

build/.packages: build/.venv pyproject.toml
	@echo "installing strop's packages into $(VENV)"
	@$(PIP) "scikit-build-core>=0.10" "nanobind>=2.4" "numpy>=2"
	@$(EDITABLE) -e .
	@touch $@

build/.dev: build/.packages
	@echo "installing the tools of extra [dev]"
	@$(EDITABLE) -e ".[dev]"
	@touch $@

$(BUILD)/build.ninja: build/.packages CMakeLists.txt
	@cmake -G Ninja -S . -B $(BUILD) -DSTROP_INPLACE=ON -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" \
	    -DPython_FIND_VIRTUALENV=ONLY >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }

# ---- verbs ---------------------------------------------------------------------------------------------------------

build: $(BUILD)/build.ninja ## set up .venv and compile src/strop/_native (incremental)
	@cmake --build $(BUILD) -j $(JOBS)

demo: build ## tune contractions, diagnose a profile, judge a kernel: each verb on real input
	$(BIN)/strop tune "mk,kn->mn" m=97 n=131 k=61 --threads 1
	$(BIN)/strop tune "n c h+r w+s, o c r s -> n o h w" n=1 c=64 h=56 w=56 o=64 r=3 s=3 --threads 1
	$(BIN)/python examples/tune.py
	$(BIN)/strop diagnose examples/spmv
	$(BIN)/python examples/judge.py

test: build build/.dev ## run the tests, doctests and docs examples
	$(BIN)/pytest -n $(JOBS) $(PYTEST_ARGS)

check: build build/.dev ## lint, types, import rules, docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/test_house.py
	$(MKDOCS)

fix: build/.dev ## format, and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: build build/.dev ## measure every claim on a quiet machine; writes docs/performance.md
	@mkdir -p build/bench
	$(BIN)/python benchmarks/matmul.py --json build/bench/matmul.json
	$(BIN)/python benchmarks/matmul.py --aligned --json build/bench/matmul_aligned.json
	$(BIN)/python benchmarks/constant_schedules.py --json build/bench/constant_schedules.json
	$(BIN)/python benchmarks/code_generation.py --json build/bench/code_generation.json
	$(BIN)/python benchmarks/ranking.py --json build/bench/ranking.json
	$(BIN)/python benchmarks/latency.py --json build/bench/latency.json
	$(BIN)/python benchmarks/footprint.py --json build/bench/footprint.json
	$(BIN)/python benchmarks/diagnose.py --json build/bench/diagnose.json
	$(BIN)/python benchmarks/judge.py --json build/bench/judge.json
	$(BIN)/python benchmarks/write_performance.py

soak: build build/.dev ## run the large counts in full; writes docs/soak.json
	$(BIN)/pytest -n $(JOBS) --soak -m soak tests $(PYTEST_ARGS)

sanitize: build/.packages ## run 20,000 hostile ELFs and 20,000 lists of commands under address and UB sanitizers
	@cmake -G Ninja -S . -B build/sanitize -DSTROP_SANITIZE=ON -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" \
	    -DPython_FIND_VIRTUALENV=ONLY >build/sanitize.log 2>&1 || { cat build/sanitize.log; exit 1; }
	@cmake --build build/sanitize -j $(JOBS) --target rocket_fuzz gemmini_fuzz
	build/sanitize/rocket_fuzz $(SANITIZE_FILES)
	build/sanitize/gemmini_fuzz $(SANITIZE_FILES)

docs: build build/.dev ## build the pages into site/
	$(MKDOCS)

wheel: build/.venv ## build dist/strop-*.whl
	$(BIN)/python -m pip wheel -q --no-deps -w dist .

clean: ## remove builds and the environment
	rm -rf build dist site $(VENV) src/strop/_native*.so
