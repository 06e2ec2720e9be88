# Each target sets up what it needs, once: the stamp files in .venv say what is installed.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check format bench docs exhibits figures wheel constraints clean

demo: .venv/installed
	rm -rf demo
	$(BIN)/farstep data info cartpole-swingup/medium
	$(BIN)/farstep reproduce demo dataset-returns dataset-states --preset quick --out demo
	$(BIN)/farstep report demo --only demo dataset-returns dataset-states --out demo/report.html
	@echo "open demo/report.html in a browser"

# Most of a toy-sized test is compiling, so it is done with few optimisations, but for what must be
# equal to the bit after kills, and each program once: processes and later runs find it in .venv.
# `make test QUICKLY=` compiles everything as users do.
QUICKLY ?= JAX_DISABLE_MOST_OPTIMIZATIONS=1 JAX_COMPILATION_CACHE_DIR=$(CURDIR)/.venv/compiled \
	JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=0 \
	XLA_FLAGS="--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
# PyTorch and XLA have one thread in each: threads of several processes wait for each other on few cores.
test: .venv/installed-dev
	OMP_NUM_THREADS=1 PJRT_NPROC=1 $(QUICKLY) $(BIN)/python -m pytest --numprocesses auto --dist loadfile $(PYTEST)

check: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

format: .venv/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/installed-dev
	$(BIN)/python -m benchmarks

# The two pictures of the README.
FIT := $(BIN)/farstep fit cartpole-swingup/random --preset paper --target delta --epochs 5
figures: .venv/installed
	rm -rf build/figures
	$(FIT) --horizon 1 --weights uniform --out build/figures/h1
	$(FIT) --horizon 4 --weights decay:0.75 --out build/figures/h4
	$(BIN)/farstep score build/figures/h1 build/figures/h4 --data cartpole-swingup/random --horizon 100 \
		--out build/figures/score
	cp build/figures/score/r2.png build/figures/score/animation.gif docs/figures/

# The pictures and tables of docs/paper.md and docs/data.md; what `results` has is not computed.
exhibits: .venv/installed-dev
	$(BIN)/farstep reproduce all --preset standard --out build/exhibits
	cd build/exhibits && cp --parents */standard/*.png */standard/*.md $(CURDIR)/docs/exhibits/

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
	cd $(AWAY) && ../bin/farstep fit cartpole-swingup/random --horizon 2 --weights uniform \
		--epochs 1 --width 16 --out model && ../bin/farstep score model --data cartpole-swingup/random

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
