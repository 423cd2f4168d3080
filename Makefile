# The two commands of the README: make demo, make test. Both set up all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Hundreds of tests start a Python of their own: what it reads is translated once.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-no-numba test-oldest check browser format bench fuzz clean

demo: $(READY)
	$(BIN)/python examples/demo.py

# The browser is fetched while packages are installed and types are checked.
test:
	@$(MAKE) --no-print-directory --jobs=2 check browser
	$(BIN)/python -m pytest -n auto --dist worksteal

# As on a machine without numba: half an hour, since loops are Python.
test-no-numba: $(READY)
	LINSEP_NO_NUMBA=1 $(BIN)/python -m pytest -n auto --dist worksteal tests/unit

# The oldest release of every package that pyproject.toml allows, in a venv of its own.
# Old packages on new ones are full of deprecations: these are no errors here.
test-oldest:
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	$(PYTHON) scripts/oldest.py > .venv-oldest/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint .venv-oldest/oldest.txt --editable '.[test]'
	.venv-oldest/bin/python -m pytest -n auto --dist worksteal -W ignore::DeprecationWarning \
	  -W ignore::pytest.PytestRemovedIn10Warning tests/unit tests/laws

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The replay page and the lab are tested in a real browser; without one those tests are skipped and say so.
# Nothing is asked on the way: in the background nobody could answer.
browser:
	@command -v chromium > /dev/null || command -v google-chrome > /dev/null || \
	{ test "$$(id -u)" = 0 && command -v apt-get > /dev/null && \
	  export DEBIAN_FRONTEND=noninteractive && exec < /dev/null && \
	  apt-get update -qq > /dev/null && apt-get install -y -qq chromium > /dev/null; } || \
	echo "no Chromium here: the browser tests will be skipped"

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

# Damaged and forged files of every format, for five minutes; make fuzz ARGS="--seed 7" repeats.
fuzz: $(READY)
	$(BIN)/python -W ignore -m tests.fuzz $(ARGS)

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $(READY)

clean:
	rm -rf $(VENV) .venv-oldest demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
