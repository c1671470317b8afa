# Targets of this project. `make test` and `make demo` install their own dependencies.
#
#   make demo                  run a temporary cell of three exec hosts on this machine, as the current user
#   make demo -- --web         the same with the web console, until Ctrl-C
#   make test                  lint, types and all tests            make lint     the first two alone
#   make check                 in a minute: lint, types, tests of the source itself, and the unit tests that uncommitted changes affect
#   make test-cost TESTS=tests/unit  the processor time of these tests, their fixtures and all that they start (root)
#   make fresh [SUITE=trixie]  make demo and make test of the last commit on a minimal Debian (root, Debian)
#   make pythons [SUITE=trixie]  make demo and the unit tests of the last commit on each Python that a Debian release has (root, Debian)
#   make fuzz-api EXAMPLES=100 SEED=  schemathesis on the REST API of a demo cell, as a user and as a manager
#   make fuzz-methods SEEDS=100 FROM=1  tasks with broken methods of all kinds on a shepherd of this host, with their outcomes
#   make fuzz MINUTES=2 SEED=  random requests against a qmaster in one process and against a demo cell
#   make statements            list the statements of docs/statements.md that no test cites
#   make prose N=30            docstring sentences with a pronoun in place of a noun: share by folder, and the N worst
#   make mutants N=200 SEED=1  make N small wrong changes, one at a time, and list those that no test notices;
#                              only in files like ONLY='daemons/qmaster/decide/*'
#   make keep-spool NAME=v2    keep the spool of this version in tests/data, for tests of later versions
#   make pages                 generate docs/commands from the option table, the tables of docs/formats, and the man pages for this checkout
#   make messages              generate tests/data/messages.txt and console_texts.txt, all texts of the commands and of the console, to review their changes
#   make pictures              take the pictures of docs/web.md again, from a cell in one process (chromium-headless-shell)
#   make docs                  build the documentation site in build/site, which needs no network; make install includes it
#   make drmaa                 build libdrmaa.so.1.0 in build/drmaa/ARCH, also for 64-bit ARM if aarch64-linux-gnu-gcc is installed
#   make drmaa-sanitizers      run its tests, and those of the native front, with the address, undefined behaviour and thread sanitizers of gcc
#   make install PREFIX=DIR    install for all users of this host (default /opt/gridengine), beside releases that run (KEEP=2)
#   make wheel                 build/wheel: the system as pip installs it
#   make deb rpm archive       build/deb, build/rpm, build/archive: packages for all users of a host, which need no network (docs/guide/install.md)
#   make interpreter           build/interpreter: the Python that they bring, from Debian's sources as of today
#   make release KEY=FILE      all of these in build/release, with the bill of materials, SHA256SUMS, and its signature by a key of minisign
#   make packages              build all of them twice, compare, install them on machines without the project, run jobs, also in a cell of Debian 12 and 13
#   make machines STEPS=       the Debian package on two virtual machines: units, closed devices, reboots, power cuts, clocks (root, Debian 12; an hour)
#   make cell HOSTS=3          a master and three exec hosts in namespaces of this machine (root); build/cell.env drives it
#   make cell-down             remove that cell                     make bench    measure it
#   make bench-accounting RECORDS=N  fill that cell with years of accounting records, and measure qacct
#   make bench-peers           measure this system beside Grid Engine 8.1.9, Slurm and HyperQueue (root; 20 minutes; ARRAY= TINY= ROUNDS=)
#   make bench-task-lists      measure the commands of a task list (qsub -tasks), beside HyperQueue
#   make bench-forecasts [JOBS=30000] [SEED=1]  how often jobs of a trace start in the range of their forecast (half an hour)
#   make bench-api             measure the Python interface on a cell of its own
#   make scale HOSTS=10000 JOBS=1000000 [RACK=40]   a cell of simulated hosts through the code of qmaster and scheduler; build/scale.json
#   make scale RATE=1000       the highest rate of one-second tasks that such a cell holds, tried from this rate on
#   make bench-web    time each page at 1,000 hosts and 10,000 jobs, and that cell with a hundred open pages and pollers
#   make bench-arco JOBS=1000000     fill the accounting database, on DuckDB and on PostgreSQL, and time each stored query
#   make torture MINUTES=10 SEED=1 [SHADOW=1] [RACK=1]   break a cell of the test bed under a mixed load, and check the results (root)
#   make simulate SEEDS=1000 FROM=0 [RACK=1]  run this many seeds of the simulation, each a cell with random faults
#   make masters SEEDS=200 FROM=0  check that random shadows, takeovers, power failures and old files never give two masters
#   make kills MINUTES=10 SEED=1     kill processes of a cell while tasks start and end: every task must run once
#   make racks                 a cell whose hosts share a Ray node: jobs, deaths of hosts and of the node, a restart of the qmaster
#   make clusters              run Ray, Dask, MPICH and Jupyter in jobs, and lose a host during a map, on the test bed (root)
#   make sites                a cell with IPv6 alone, with users of an LDAP server, with homes that root cannot enter, by Ansible; SELinux (root)
#   make unmodified            run unmodified Dask, Parsl, Snakemake, Toil, ipyparallel and gridmap on a cell
#   make siege                 measure the effect of one user's attacks on another user of that cell
#   make clean                 remove the files made by these targets in this directory

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:
.PHONY: --web help setup test test-core test-types test-hosts test-commands test-aside test-later test-jobs test-admin test-web test-torture test-cost lint types check fresh pythons fuzz fuzz-api fuzz-methods statements prose mutants keep-spool pages pictures demo install wheel deb rpm archive interpreter release packages cell hosts-can-be-made cell-down bench bench-accounting bench-arco bench-peers bench-web siege torture kills messages docs drmaa drmaa-sanitizers bench-api bench-forecasts bench-task-lists clusters sites unmodified machines simulate masters scale clean racks

PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
PREFIX ?= /opt/gridengine
HOSTS ?= 3
N ?= 200
ARCH = $(shell $(PYTHON) -m gridengine.files.architecture)
VENV := .venv
BIN := $(VENV)/bin
PYTEST := tests/open_checkout $(BIN)/pytest  # other users take part in tests: they must reach the programs
CODE := $(wildcard gridengine shepherd daemons clients tools bench)
PIP := pip install --quiet --disable-pip-version-check --constraint requirements.lock
MPICH := mpich==5.0.2

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

# The environment is made anew only when the project's or the libraries' description has changed.
$(VENV)/complete: pyproject.toml requirements.lock
	@echo "setting up $(VENV) with $(PYTHON)"
	$(PYTHON) -B -m gridengine.python_range
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	# Debian's pip takes a minute of a processor to choose versions, a new one seconds; modules are compiled when they are imported
	$(BIN)/$(PIP) --upgrade pip
	$(BIN)/$(PIP) --no-compile --config-settings editable_mode=compat --editable '.[dev]'
	# else the first fsync of a test's spool waits for all of these files to reach the disk
	sync
	touch $@

setup: $(VENV)/complete
	@$(BIN)/python tools/launchers.py $(BIN)

lint: setup
	@$(BIN)/ruff check .

types: setup
	@$(BIN)/mypy $(CODE)

check: lint types
	@$(PYTEST) -q -p no:cacheprovider tests/tidy $$($(BIN)/python -m tools.affected_tests)

# Tests that start daemons mostly wait, so of these parts four run at a time, and the next one when a part has ended: those that
# take long come first. That of the test bed's hosts is seen as it goes. A demo cell costs 11 s of a processor to start, and an idle
# one 3 s a minute to the end of its part: its users are together in few parts, and come last there (tests/integration/conftest.py).
PARTS := hosts core commands aside later web types admin torture jobs
COMMANDS := execd clients api drmaa
ASIDE := shepherd dbwriter $(foreach name,accounting_reader executables manual replication report_reader write_errors,test_$(name).py)
LATER := crashes runtime $(foreach name,backup gpu_guide guides lost_spool upgrade,test_$(name).py) qmaster test_reservation_life.py
TESTS_OF_JOBS := $(foreach name,checkpointing closed_devices configuration forecasts interactive jobs load_values log remote_methods simulation task_lists,test_$(name).py)
APART := $(COMMANDS) $(ASIDE) $(LATER) $(TESTS_OF_JOBS) admin web
QUIET_TESTS = $(PYTEST) -p no:cacheprovider

test: lint
	@mkdir -p build
	rm -f $(PARTS:%=build/test-%.log)
	failed=0
	$(MAKE) --no-print-directory --silent --keep-going --jobs=4 $(PARTS:%=test-%) || failed=$$?
	cat $(patsubst %,build/test-%.log,$(filter-out hosts,$(PARTS)))
	# once more at the end what else is far above
	[ $$failed = 0 ] || grep -hE '^(FAILED|ERROR|E  |BROKEN)|error:|Error: ' build/test-*.log | cut -c1-250 | tail -n 40 || true
	exit $$failed

test-core:
	@$(QUIET_TESTS) --ignore=tests/integration >build/$@.log 2>&1

test-types:
	@$(BIN)/mypy $(CODE) >build/$@.log 2>&1

test-hosts:
	@$(PYTEST) tests/integration $(APART:%=--ignore=tests/integration/%) 2>&1 | tee build/$@.log

test-aside:
	@$(QUIET_TESTS) $(ASIDE:%=tests/integration/%) >build/$@.log 2>&1

test-commands:
	@$(QUIET_TESTS) $(COMMANDS:%=tests/integration/%) >build/$@.log 2>&1

test-later:
	@$(QUIET_TESTS) $(LATER:%=tests/integration/%) >build/$@.log 2>&1

test-jobs:
	@$(QUIET_TESTS) $(TESTS_OF_JOBS:%=tests/integration/%) >build/$@.log 2>&1

test-admin test-web: test-%:
	@$(QUIET_TESTS) tests/integration/$* >build/$@.log 2>&1

test-cost: setup
	@$(PYTEST) -p no:cacheprovider -p tests.cost -q $(TESTS)

# three minutes on hosts of its own; where there can be no test bed (2) it says why
test-torture:
	@($(BIN)/python -m tests.torture 3 1 || [ $$? = 2 ]) >build/$@.log 2>&1

# HEAD, with the packages of the README and no others
fresh:
	@$(if $(SUITE),SUITE="$(SUITE)") tests/testbed/fresh test

# Debian 12 has Python 3.11, Debian 13 has 3.13, the testing release has 3.14; none has 3.12. What failed is in build/pythons-SUITE.log
pythons:
	@mkdir -p build
	failed=0
	for suite in $(or $(SUITE),bookworm trixie forky); do
	  log=build/pythons-$$suite.log
	  SUITE=$$suite tests/testbed/fresh test "python3 -V" "make demo" "$(QUIET_TESTS) $(addprefix tests/,unit property simulation)" >$$log 2>&1 || failed=$$?
	  echo "$$suite, $$(grep -m1 '^Python ' $$log || echo 'no Python'): $$(grep -oE '[0-9]+ (failed|passed).* in [0-9.]+s' $$log || tail -n 1 $$log)"
	done
	exit $$failed

fuzz: setup
	@$(BIN)/python -m tests.fuzz --minutes "$(or $(MINUTES),2)" --seed "$(or $(SEED),0)"

fuzz-methods: setup
	@$(BIN)/python -m tests.fuzz.methods --seeds "$(or $(SEEDS),100)" --from "$(or $(FROM),1)"

fuzz-api: setup $(VENV)/fuzz-api/complete
	@$(BIN)/python -m tests.fuzz.api $(VENV)/fuzz-api/bin/schemathesis --examples "$(or $(EXAMPLES),100)" --seed "$(or $(SEED),0)"

$(VENV)/fuzz-api/complete:
	@$(PYTHON) -m venv $(@D) && $(@D)/bin/pip install -q --disable-pip-version-check "schemathesis==4.32.5" && touch $@

statements: setup
	@$(BIN)/python tools/statements.py

prose:
	@$(PYTHON) -m tools.prose $(if $(filter file,$(origin N)),30,$(N))

mutants: setup
	@nice $(BIN)/python -m tools.mutants $(N) $(or $(SEED),1) --only "$(or $(ONLY),*)"

keep-spool: setup
	@$(BIN)/python -m tests.past "$(NAME)"

pages: setup
	@$(BIN)/python -m tools.command_pages
	@$(BIN)/python -m tools.attribute_tables
	$(BIN)/python -m tools.manual_pages $(VENV)/share/man

pictures: setup
	@$(BIN)/python -m tests.integration.web.pictures

messages: setup
	@$(BIN)/python -m tools.messages
	@$(BIN)/python -m tools.console_texts

demo: setup
	@$(BIN)/gridengine demo $(filter --web,$(MAKECMDGOALS))

--web:
	@:

# The site is built in an environment of its own: nothing of the system needs what builds it.
DOCS := build/docs-environment
docs: $(DOCS)/complete
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --quiet --strict
	@echo "open build/site/index.html"

$(DOCS)/complete: requirements.lock
	@$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/$(PIP) $$($(PYTHON) -c 'import tomllib
	print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"])')
	touch $@

drmaa:
	@command -v "$(CC)" >/dev/null || { echo "no C compiler ($(CC)): install gcc and libc6-dev"; exit 1; }
	$(MAKE) --silent -C clients/drmaa BUILD="$(CURDIR)/build/drmaa/$(ARCH)"
	@if command -v aarch64-linux-gnu-gcc >/dev/null; then
	  $(MAKE) --silent -C clients/drmaa BUILD="$(CURDIR)/build/drmaa/lx-arm64" CC=aarch64-linux-gnu-gcc
	fi

drmaa-sanitizers: setup
	@for checked in address,undefined thread; do
	  DRMAA_CHECKED=$$checked $(BIN)/pytest -p no:cacheprovider tests/integration/drmaa/test_c_programs.py
	done
	DRMAA_CHECKED=address,undefined $(BIN)/pytest -p no:cacheprovider $(addprefix tests/integration/clients/test_front,.py _accounting.py _faults.py _waits.py)

install:
	@KEEP="$(or $(KEEP),2)" tools/install "$(PREFIX)" "$(PYTHON)"

# isolated: no setup but Python, pip and a C compiler
wheel: drmaa
	@$(PYTHON) -m venv build/wheel-maker
	rm -rf build/wheel
	build/wheel-maker/bin/$(PIP) --upgrade pip
	python="$(PYTHON)"; . packaging/facts  # its time
	build/wheel-maker/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	ls build/wheel/*.whl

deb rpm archive:
	@packaging/$@/build "$(PYTHON)" build/$@

interpreter:
	@packaging/interpreter "$(PYTHON)" build/interpreter

release: wheel
	@packaging/release "$(PYTHON)" build/release "$(KEY)"

packages: setup
	@GRIDENGINE_TEST_LIBRARIES="$(MPICH)" $(BIN)/pytest -p no:cacheprovider -m apart -o faulthandler_timeout=1800 tests/integration/packages

# not part of `make test`; STEPS="reboot stop" runs these alone on machines that are up
machines: $(if $(STEPS),,deb)
	@$(PYTHON) -m tests.machines $(STEPS)

cell: hosts-can-be-made install
	@PREFIX="$(PREFIX)" tests/testbed/cell up "$(HOSTS)" "$(CURDIR)/build/cell.env"

# before what takes minutes
hosts-can-be-made:
	@tests/testbed/hosts check

cell-down:
	@PREFIX="$(PREFIX)" tests/testbed/cell down
	rm -f build/cell.env

bench: setup
	@$(BIN)/python -m bench.placements
	@$(BIN)/python -m bench.measure build/cell.env $(if $(GE_ENV),--reference $(GE_ENV))

build/hyperqueue/complete:
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/$(PIP) hyperqueue==0.27.0
	@touch $@

bench-task-lists: setup build/hyperqueue/complete
	@$(BIN)/python -m bench.task_lists --hyperqueue build/hyperqueue/bin/python

bench-accounting: setup
	@$(BIN)/python -m bench.accounting build/cell.env --records "$(or $(RECORDS),10000000)"

bench-arco: setup
	@$(BIN)/python -m bench.arco "$(or $(JOBS),1000000)"

# without the package of HyperQueue the others are measured all the same
bench-peers: setup install
	-@$(MAKE) --no-print-directory build/hyperqueue/complete
	@$(BIN)/python -m bench.peers "$(PREFIX)" --hyperqueue build/hyperqueue/bin/python \
	  --array "$(or $(ARRAY),1000)" --tiny "$(or $(TINY),100000)" --rounds "$(or $(ROUNDS),1)"

bench-forecasts: setup
	@$(BIN)/python -m bench.forecasts --jobs "$(or $(JOBS),30000)" --seed "$(or $(SEED),1)"

bench-api: setup
	@$(BIN)/python -m bench.api

# 10,000 hosts, unless the command line names another number
scale: setup
	@mkdir -p build
	@$(BIN)/python -m bench.scale$(if $(RATE),.rate --rate "$(RATE)" --pending,$(if $(RACK), --rack "$(RACK)") --jobs) "$(or $(JOBS),$(if $(RATE),100000,1000000))" \
	  --hosts "$(if $(filter file,$(origin HOSTS)),10000,$(HOSTS))" --json build/scale.json

bench-web: setup
	@$(BIN)/python -m bench.pages
	@$(BIN)/python -m bench.web build/cell.env

torture: setup
	@$(BIN)/python -m tests.torture "$(or $(MINUTES),10)" "$(or $(SEED),1)" $(if $(SHADOW),shadow) $(if $(RACK),rack)

masters: setup
	@$(BIN)/python -m tests.property.masters_world --seeds "$(or $(SEEDS),200)" --from "$(or $(FROM),0)"

racks: setup
	@$(PYTEST) -p no:cacheprovider -m apart -o faulthandler_timeout=1800 --durations=5 tests/integration/test_racks.py

simulate: setup
	@$(BIN)/python -m tests.simulation --seeds "$(or $(SEEDS),1000)" --from "$(or $(FROM),0)" $(if $(RACK),--rack)

kills: setup
	@$(BIN)/python -m tests.integration.kill_play "$(or $(MINUTES),10)" "$(or $(SEED),1)"

# what sites have beside the cell: IPv6 alone, a directory of users, homes that root cannot enter, Ansible, SELinux
sites: setup $(VENV)/ansible/complete
	@$(PYTEST) -p no:cacheprovider -m apart -o faulthandler_timeout=1800 --durations=5 \
	  $(patsubst %,tests/integration/%.py,test_ipv6 test_directory_server test_closed_homes test_ansible admin/test_selinux)

$(VENV)/ansible/complete:
	@$(PYTHON) -m venv $(@D) && $(@D)/bin/pip install -q --disable-pip-version-check "ansible-core==2.19.14" && touch $@

# what these tests need is installed for them alone
clusters: setup
	@GRIDENGINE_TEST_LIBRARIES="dask==2026.8.0 distributed==2026.8.0 jupyter-server==2.21.1 $(MPICH)" $(BIN)/pytest -p no:cacheprovider -m apart -o faulthandler_timeout=1800 --durations=5 \
	  tests/integration/test_clusters.py tests/integration/api/test_lost_host.py

# each program in an environment of its own, by the versions in its file
THEIR_TESTS := tests/integration/unmodified
unmodified: setup drmaa $(patsubst $(THEIR_TESTS)/%.txt,$(VENV)/clients/%/complete,$(wildcard $(THEIR_TESTS)/*.txt))
	@$(BIN)/pytest -p no:cacheprovider -m apart -o faulthandler_timeout=1800 --durations=5 $(THEIR_TESTS)

$(VENV)/clients/%/complete: $(THEIR_TESTS)/%.txt
	@$(PYTHON) -m venv --clear $(@D) && $(@D)/bin/pip install -q --disable-pip-version-check -r $< && touch $@

siege: setup
	@$(BIN)/python bench/siege.py build/cell.env

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
