# Two commands do everything on a machine that has Python 3.11 or newer and make:
#
#   make demo    sets up, then runs the main job: thousands of real files, two workers, one of them killed
#   make test    sets up, then formats-checks, lints, type-checks, builds the wheel and runs every test against it
#
# and for whoever works on echomq:
#
#   make ports   the tests that speak to a server, on the other servers that can be had here
#   make soak    the state machine and the demo's kill, for minutes
#   make fuzz    the module under the sanitizers, against the scripts (SECONDS=120)
#   make bench   every benchmark, as ratios within one run
#   make tables  rewrites docs/lifecycle.md, docs/keys.md, the lists of docs/module.md and the blocking face
#   make figures measures what docs/module.md tells, some minutes

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV := .venv
SECONDS ?= 120
BIN := $(VENV)/bin
SOURCES := $(shell find src -type f -not -name '*.pyc')
CODE := src tests tools bench

.PHONY: demo test check types unit ports soak fuzz bench tables figures clean

demo: $(VENV)/installed
	$(BIN)/echomq demo

test: check types unit

check: $(VENV)/installed
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/python tools/blocking.py --check
	$(BIN)/python tools/tables.py --check
	$(BIN)/python tools/module_page.py --check

types: $(VENV)/installed
	$(BIN)/mypy src tests tools

unit: $(VENV)/installed
	@$(BIN)/python -c 'import echomq; assert "site-packages" in echomq.__file__, "the tests must run against the wheel"'
	$(BIN)/pytest -n 2 --script-flush-hz=50

ports: $(VENV)/installed
	$(BIN)/python -m tools.ports

soak: $(VENV)/installed
	$(BIN)/pytest tests/stateful --hypothesis-profile=soak -p no:randomly
	$(BIN)/python tools/soak_demo.py --times 20

fuzz: $(VENV)/installed
	$(MAKE) -C module sanitize starve
	PYTHONPATH=. $(BIN)/python -m tests.module.fuzz --seconds $$(( $(SECONDS) / 2 ))
	PYTHONPATH=. $(BIN)/python -m tests.module.fuzz_waiting --seconds $$(( $(SECONDS) / 8 ))
	PYTHONPATH=. $(BIN)/python -m tests.module.fuzz_waiting --seconds $$(( $(SECONDS) / 8 )) --starve
	PYTHONPATH=. $(BIN)/python -m tests.module.fuzz --seconds $$(( $(SECONDS) / 4 )) --starve

bench: $(VENV)/installed
	$(BIN)/pip install --quiet --requirement bench/requirements.txt
	for file in bench/*.py; do $(BIN)/python $$file --json || exit 1; done

tables: $(VENV)/installed
	$(BIN)/python tools/blocking.py
	$(BIN)/python tools/tables.py
	$(BIN)/python tools/module_page.py

figures: $(VENV)/installed
	$(BIN)/python tools/module_page.py --figures

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

# The environment: tools first, then the wheel, built anew whenever a source file is newer. An environment of another
# Python than the one asked for is made anew.
ifneq ($(shell cat $(VENV)/python 2>/dev/null),$(PYTHON))
.PHONY: $(VENV)/python
endif

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "echomq needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@echo $(PYTHON) > $@

$(VENV)/tools: $(VENV)/python pyproject.toml
	$(BIN)/pip install --quiet --group dev
	@touch $@

$(VENV)/installed: $(VENV)/tools $(SOURCES) pyproject.toml README.md
	rm -rf build/wheel && mkdir -p build
	$(BIN)/python -m build --wheel --no-isolation --outdir build/wheel > build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
	$(BIN)/pip install --quiet --force-reinstall --no-deps build/wheel/*.whl
	$(BIN)/pip install --quiet "$$(ls build/wheel/*.whl)[all]"
	@touch $@
