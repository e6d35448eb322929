# Targets with a "##" comment are the verbs; `make` alone prints them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BUILD  := build/dev
JOBS   ?= 2

.DEFAULT_GOAL := help
.PHONY: help build demo test check fix bench soak docs wheel clean
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
	@echo "installing Python packages into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check "scikit-build-core>=0.10" "nanobind>=2.4" "numpy>=2"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation \
	    --config-settings=wheel.cmake=false --config-settings=editable.mode=inplace -e ".[dev]"
	@touch $@

$(BUILD)/build.ninja: build/.packages CMakeLists.txt
	@cmake -G Ninja -S . -B $(BUILD) -DSTROP_INPLACE=ON -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" \
	    -DPython_FIND_VIRTUALENV=ONLY >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }

build: $(BUILD)/build.ninja ## set up .venv and compile src/strop/_native (incremental)
	@cmake --build $(BUILD) -j $(JOBS)

clean: ## remove builds and the environment
	rm -rf build dist site $(VENV) src/strop/_native*.so
