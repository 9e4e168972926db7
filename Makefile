# The two commands: `make demo` and `make test`. Each does all set-up it needs.
# `make check`: lint, types, tests, and the wheel in an empty environment. CI runs it,
# `make coverage`, `make sanitize` and `make sanitize-threads`.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check
# A process of tests per core; the slow ends of the suite are shared out.
PYTEST := -m pytest -n auto --maxprocesses 8 --dist worksteal

.PHONY: demo test check checked coverage coverage-html sanitize sanitize-threads clang lint types wheel wheels bench build setup clean

demo: build $(VENV)/demo
	$(RUN) examples/digits.py

test: build $(VENV)/test
	$(RUN) $(PYTEST) tests

# Here, not in builds for use, a warning of the C++ compiler is an error.
check: BUILD_OPTIONS = --werror
check: lint types test checked wheel

lint: $(VENV)/check
	$(RUN) -m ruff format --check src tests tools benchmarks examples setup.py
	$(RUN) -m ruff check src tests tools benchmarks examples setup.py
	@$(VENV)/bin/clang-format --dry-run -Werror $$(find runtime tests src/pellucid/include -name '*.h' -o -name '*.cpp')

types: build $(VENV)/check
	$(RUN) -m mypy

wheel: build $(VENV)/check
	$(RUN) tools/wheels.py

# For every CPython of this machine; kept in dist/.
wheels: build $(VENV)/check
	$(RUN) tools/wheels.py --all --output dist

# Kernels whose every access to memory is checked: docs/checked-mode.md. Two files check
# kernels of their own in the same way wherever they run.
OWN_CHECKS := tests/compiler/test_checked.py tests/compiler/test_bounds.py

checked: build $(VENV)/test
	$(RUN) tools/freeze.py --definitions build/definitions.pickle
	PELLUCID_CHECKED=build/definitions.pickle PELLUCID_CACHE=build/checked \
	  $(RUN) $(PYTEST) tests/compiler tests/exec/test_native.py \
	  $(OWN_CHECKS:%=--ignore=%) -k "not float64"

# The lines of Python that a sample of the suite runs, in the processes it starts too; the
# floor is in pyproject.toml. What runs no other lines than the rest is not in it.
UNSEEN := tests/autograd/test_native.py tests/runtime tests/compiler/test_checked.py \
  tests/compiler/test_bounds.py tests/native/test_fuzz.py tests/native/test_threads.py \
  tests/native/test_damaged_files.py tests/lower/test_growth.py \
  tests/distributed/test_kills.py tests/docs tests/structure tests/suite

coverage: build $(VENV)/test $(VENV)/coverage
	$(RUN) -m coverage erase
	$(RUN) -m coverage run $(PYTEST) tests --sample 12 $(UNSEEN:%=--ignore=%)
	$(RUN) -m coverage combine --quiet
	$(RUN) -m coverage report --format total

# Afterwards: which lines those are, as pages in build/coverage-html.
coverage-html:
	$(RUN) -m coverage html --quiet --directory build/coverage-html --fail-under 0

# The C++ runtime under AddressSanitizer and UndefinedBehaviorSanitizer: docs/sanitizers.md.
sanitize: build $(VENV)/test
	$(RUN) tools/sanitize.py

# The runtime through a second compiler, which warns of other things.
clang: setup
	CXX=clang++ $(RUN) tools/build.py --only-compile --werror

# Many threads at once under ThreadSanitizer.
sanitize-threads: build $(VENV)/test
	$(RUN) tools/sanitize.py --threads

# Speed beside PyTorch, which is installed for this command alone.
bench: build $(VENV)/bench
	$(RUN) benchmarks/compare.py

build: setup
	@$(RUN) tools/build.py $(BUILD_OPTIONS)

setup: $(VENV)/ready

$(VENV)/ready: pyproject.toml tools/preflight.py
	@$(PYTHON) tools/preflight.py
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "setuptools>=77" wheel
	$(PIP) $$($(RUN) tools/preflight.py --requirements)
	@$(RUN) tools/preflight.py --link-source
	@touch $@

$(VENV)/demo $(VENV)/test $(VENV)/check $(VENV)/coverage: $(VENV)/ready
	$(PIP) $$($(RUN) tools/preflight.py --requirements $(notdir $@))
	@touch $@

$(VENV)/bench: $(VENV)/ready
	$(PIP) torch==2.13.0
	@touch $@

clean:
	rm -rf build dist $(VENV) src/pellucid/_C.*.so src/pellucid/distributed/*.so src/pellucid/*.bin src/pellucid/*.pack src/pellucid/_C/_op_types src/pellucid/_package/offers.py
