# Each target sets up what it needs, once: the stamp files in .venv say what is installed.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-all check format bench docs paper figures wheel constraints clean

demo: .venv/installed
	rm -rf demo
	$(BIN)/farstep data info cartpole-swingup/medium
	$(BIN)/python -m reproduction demo dataset-returns dataset-observations --preset quick --out demo
	@echo "open demo/report.html in a browser"

# The programs of tests are small and compile longer than they run, so they are compiled with few
# optimisations and kept in .venv/compiled for other processes and later runs. `make test FAST_COMPILE=`
# compiles as users do. PyTorch and XLA get one thread in each of the test processes.
FAST_COMPILE ?= JAX_DISABLE_MOST_OPTIMIZATIONS=1 JAX_COMPILATION_CACHE_DIR=$(CURDIR)/.venv/compiled \
	JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=0 \
	XLA_FLAGS="--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
RUN_TESTS := OMP_NUM_THREADS=1 PJRT_NPROC=1 $(FAST_COMPILE) $(BIN)/python -m pytest \
	--numprocesses auto --dist loadfile

test: .venv/installed-dev
	$(RUN_TESTS) $(PYTEST)

test-all: test
	$(RUN_TESTS) tests/slow $(PYTEST)

check: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

format: .venv/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/installed-dev
	$(BIN)/python -m benchmarks

# The figures and tables of the paper, redrawn from reproduction/results.
paper: .venv/installed-dev
	$(BIN)/python -m reproduction all --preset standard --out build/paper \
		--figures docs/figures/paper
	$(BIN)/python scripts/fill_tables.py

# The figure of the README: about three minutes of one core.
figures: .venv/installed
	$(BIN)/python scripts/readme_figure.py

# Tables are copied into the pages, since not every reader of Markdown includes files.
docs: .venv/installed-dev
	$(BIN)/python scripts/fill_tables.py
	$(BIN)/mkdocs build --strict

# The wheel in an empty environment, away from the source tree.
AWAY := build/wheel/away
wheel: .venv/installed-dev
	rm -rf dist build
	$(BIN)/python -m build --wheel --no-isolation --outdir dist
	$(PYTHON) -m venv build/wheel && mkdir $(AWAY)
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt dist/*.whl
	cd $(AWAY) && ../bin/farstep doctor && ../bin/farstep data list
	cd $(AWAY) && ../bin/farstep fit cartpole-swingup/random --preset paper --horizon 2 \
		--weights uniform --epochs 1 --width 16 --out model
	cd $(AWAY) && ../bin/farstep evaluate cartpole-swingup/random --model model

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) --editable .
	touch $@

.venv/installed-dev: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) --editable '.[dev]'
	touch .venv/installed $@

# Pins everything, with all extras, at what pip picks today.
constraints:
	rm -rf .venv-constraints && $(PYTHON) -m venv .venv-constraints
	.venv-constraints/bin/python -m pip install --quiet --editable '.[ray,tune,dev]'
	(head -n 1 constraints.txt; .venv-constraints/bin/python -m pip freeze --exclude-editable --all \
		| sed -e '/^pip==/d' -e 's/^\(torch==[0-9.]*\)+.*/\1/') > constraints.new
	mv constraints.new constraints.txt && rm -rf .venv-constraints

clean:
	rm -rf .venv demo site build dist
