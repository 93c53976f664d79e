# Every task of this repository, for people, for pre-commit and for CI alike. Plain GNU make and a POSIX shell;
# all paths are relative, so a checkout may live anywhere.

PYTHON    ?= python3
VENV      := .venv
DEMO_VENV := .venv-demo
LOCK_VENV := .venv-lock
PY        := $(VENV)/bin/python

# What a recipe hands on: `make test ARGS="-k pause -x"`, `make run ARGS=--help`.
ARGS  ?=
# Simulated runs of `make sim`, of each family; SEED picks one of them instead.
SEEDS ?= 2000
SEED  ?=
# The size of `make fire` (LOG: sqlite or kafka, else both) and of `make chaos`.
JOBS  ?= $(if $(filter chaos,$(MAKECMDGOALS)),1000,200)
KILLS ?= 50
STOPS ?= 10
APISERVER_KILLS ?= 10
NODE_KILLS ?= 10
BROKER_KILLS ?= $(if $(filter chaos,$(MAKECMDGOALS)),20,5)
LOG   ?=
ROLES ?=
# How long `make soak` goes on at least, and with what (all parts by default).
HOURS ?= 0
PARTS ?=
# What `make count`, `make house` and `make bench ARGS=--compare` compare with.
BASE  ?=
# How tests are shared out: to three processes (there is a server of each kind in each of them), simulated seeds to two, or to
# as many as JOBLEDGER_TEST_WORKERS says; `--pdb` in ARGS turns it off.
spread = -n $${JOBLEDGER_TEST_WORKERS:-$(1)} --dist loadgroup --no-loadscope-reorder

MAKEFLAGS += --no-print-directory
# What is imported is compiled once, also on machines whose environment forbids that: tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install demo check contract test test-all sim fire chaos soak flaky museum mutants count house bench format lint types imports generated generate docs crds \
        run lock clean bench-cluster bench-kafka cluster-tools kueue-tools cluster cluster-stop kafka-tools tensorflow-tools flink-tools

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

# ---- environments ------------------------------------------------------------------------------------------------

# Says in one sentence what is wrong with $(PYTHON), or nothing.
define check_python
@found=$$("$(PYTHON)" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || { \
    echo "jobledger needs Python 3.11 or newer, and '$(PYTHON)' does not run here; name another with PYTHON=, for example PYTHON=python3.12" >&2; \
    exit 2; }; \
"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
    echo "jobledger needs Python 3.11 or newer, and '$(PYTHON)' is $$found; name another with PYTHON=, for example PYTHON=python3.12" >&2; \
    exit 2; }; \
"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
    echo "'$(PYTHON)' has no venv module; install it (on Debian and Ubuntu: the package python3-venv) and try again" >&2; \
    exit 2; }
endef

# $(call environment,folder,lock): a virtual environment with exactly the locked packages, and this checkout on top.
# An environment of another Python, or one whose Python is gone, is made anew; any other is brought up to date.
define environment
@echo "making $(1) from $(2)"
@version='import sys; print(sys.version, sys.implementation.name)'; \
if [ "$$("$(1)/bin/python" -c "$$version" 2>/dev/null)" != "$$("$(PYTHON)" -c "$$version")" ]; then \
    "$(PYTHON)" -m venv --clear $(1); \
fi
@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(2)
@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
@touch $@
endef

install: $(VENV)/.stamp ## make .venv with everything for working on jobledger
	@echo "$(VENV) is up to date"

$(VENV)/.stamp: requirements/dev.txt pyproject.toml
	$(check_python)
	$(call environment,$(VENV),requirements/dev.txt)

$(DEMO_VENV)/.stamp: requirements/run.txt pyproject.toml
	$(check_python)
	$(call environment,$(DEMO_VENV),requirements/run.txt)

demo: $(DEMO_VENV)/.stamp ## a training job that fails, restarts and finishes, in a small environment of its own
	@$(DEMO_VENV)/bin/python examples/demo.py $(ARGS)

run: $(VENV)/.stamp ## start jobledger on this machine: controller, API and console
	@$(PY) -m jobledger serve $(ARGS)

# ---- tests -------------------------------------------------------------------------------------------------------

check: lint types imports generated contract flaky test ## what has to be green before a commit: eight minutes

test: $(VENV)/.stamp ## all tests that need nothing but this checkout: six minutes
	@$(PY) -m pytest $(call spread,3) -m "not integration" $(ARGS)

test-all: $(VENV)/.stamp ## the same and those that start real programs and servers: twenty-two minutes
	@$(PY) -m pytest $(call spread,3) $(ARGS)

soak: $(VENV)/.stamp ## what takes hours: fresh seeds, fire and chaos at full size, memory: HOURS=8 PARTS="simulation fire"; goes on where it was stopped (ARGS=--anew)
	@$(PY) -m tests.soak --hours $(HOURS) $(PARTS) $(ARGS)

mutants: $(VENV)/.stamp ## small wrong changes of the product that tests have to notice: ARGS="NAME…" JOBS=2
	@JOBS='$(if $(filter command line environment,$(origin JOBS)),$(JOBS))' $(PY) -m tests.mutants $(ARGS)

contract: $(VENV)/.stamp ## fail when public events break what a release has promised of them
	@$(PY) -m tests.contract check

flaky: $(VENV)/.stamp ## fail when a test that failed once here has no row in tests/flaky.md
	@$(PY) -m tests.gate flaky

museum: $(VENV)/.stamp ## the mistakes of the field: write docs/field-mistakes.md anew, and run its tests
	@$(PY) -m tests.museum
	@$(PY) -m pytest tests/museum $(ARGS)

count: $(VENV)/.stamp ## how many tests and assertions there are; BASE=REVISION shows where that differs
	@$(PY) -m tests.gate count $(BASE)

house: $(VENV)/.stamp ## how large packages, modules and functions are, who imports how many; beside BASE=REVISION; HOPS=1: how many one change passes through
	@$(PY) -m tests.gate $(if $(HOPS),hops,house $(BASE))

sim: $(VENV)/.stamp ## more simulated runs and what they met: SEEDS=10000 of each family, which goes on where it was stopped (ARGS=--anew), or one again: SEED=123
	@JOBLEDGER_SIM_SEEDS='$(SEEDS)' JOBLEDGER_SIM_KAFKA_SEEDS='$(SEEDS)' $(if $(SEED),JOBLEDGER_SIM_SEED='$(SEED)') \
	    $(PY) -m tests.simulation $(call spread,2) $(ARGS)

fire: $(VENV)/.stamp ## jobs on a real API server while everything is killed: JOBS=200 KILLS=50 APISERVER_KILLS=10 SEED=1 LOG=kafka ROLES=apart
	@JOBLEDGER_FIRE_JOBS='$(JOBS)' JOBLEDGER_FIRE_KILLS='$(KILLS)' JOBLEDGER_FIRE_SEED='$(SEED)' \
	    JOBLEDGER_FIRE_APISERVER_KILLS='$(APISERVER_KILLS)' JOBLEDGER_FIRE_NODE_KILLS='$(NODE_KILLS)' JOBLEDGER_FIRE_BROKER_KILLS='$(BROKER_KILLS)' JOBLEDGER_FIRE_LOG='$(LOG)' JOBLEDGER_FIRE_ROLES='$(ROLES)' \
	    $(PY) -m pytest --timeout=0 --log-cli-level=INFO --log-disable=httpx --log-disable=aiokafka.consumer.subscription_state tests/integration/cluster/test_under_fire.py $(ARGS)

chaos: $(VENV)/.stamp ## the same with four engines and three brokers: JOBS=1000 KILLS=50 STOPS=10 APISERVER_KILLS=10 NODE_KILLS=10 BROKER_KILLS=20 SEED=1
	@JOBLEDGER_CHAOS_JOBS='$(JOBS)' JOBLEDGER_CHAOS_KILLS='$(KILLS)' JOBLEDGER_CHAOS_STOPS='$(STOPS)' \
	    JOBLEDGER_CHAOS_APISERVER_KILLS='$(APISERVER_KILLS)' JOBLEDGER_CHAOS_NODE_KILLS='$(NODE_KILLS)' JOBLEDGER_CHAOS_BROKER_KILLS='$(BROKER_KILLS)' JOBLEDGER_CHAOS_SEED='$(SEED)' \
	    $(PY) -m pytest --timeout=0 --log-cli-level=INFO --log-disable=httpx --log-disable=aiokafka.consumer.subscription_state tests/integration/cluster/test_chaos.py $(ARGS)

bench: $(VENV)/.stamp ## measure throughput and latency, print a table; ARGS=--compare: against BASE (the commit before)
	@BASE='$(BASE)' $(PY) -m tests.bench $(ARGS)

bench-kafka: $(VENV)/.stamp ## measure on a real Kafka of its own, print a table (ARGS=--help)
	@$(PY) -m tests.bench.kafka $(ARGS)

bench-cluster: $(VENV)/.stamp ## measure on a real API server of its own, print a table (ARGS=--help)
	@$(PY) -m tests.bench.cluster $(ARGS)

# ---- a cluster on this machine -----------------------------------------------------------------------------------

cluster-tools: ## build the Kubernetes control plane, helm and CoreDNS that tests use: twelve minutes, once a machine
	@tests/harness/kube install
	@tests/harness/helm install-tool
	@tests/harness/coredns install-tool

kueue-tools: ## build the Kueue of `make soak PARTS=kueue`: ten minutes, once a machine
	@tests/harness/kueue install-tool

cluster: ## start a control plane in .cluster/, with our kinds: ARGS="--port 20000 --nodes 8"
	@tests/harness/kube start --dir .cluster $(ARGS)
	@tests/harness/kube kubectl --dir .cluster apply --server-side -f crds -f tests/harness/crds
	@echo "export KUBECONFIG=$$(tests/harness/kube kubeconfig --dir .cluster)"

cluster-stop: ## stop it and forget what it held
	@tests/harness/kube stop --dir .cluster --purge

# ---- Kafka on this machine ---------------------------------------------------------------------------------------

kafka-tools: ## fetch the Kafka that tests use, with Java and Maven: half a minute, once a machine
	@tests/harness/kafka install

# ---- TensorFlow on this machine ----------------------------------------------------------------------------------

tensorflow-tools: ## fetch the TensorFlow that a test trains with: a minute or two and 1.5 GB, once a machine
	@tests/harness/tensorflow install

# ---- Flink's parser ----------------------------------------------------------------------------------------------

flink-tools: ## fetch the parser of Flink SQL that tests use, with Java and Maven: seconds and 20 MB, once a machine
	@tests/harness/flink-sql install

# ---- code --------------------------------------------------------------------------------------------------------

format: $(VENV)/.stamp ## sort imports, lay code out
	@$(PY) -m ruff check --quiet --select I --fix .
	@$(PY) -m ruff format .

lint: $(VENV)/.stamp ## ruff: rules and layout, changes nothing
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

types: $(VENV)/.stamp ## mypy, strict
	@$(PY) -m mypy

imports: $(VENV)/.stamp ## who may import whom
	@$(VENV)/bin/lint-imports --no-logo

# ---- generated files ---------------------------------------------------------------------------------------------

generated: $(VENV)/.stamp ## fail when a checked-in generated file is stale
	@$(PY) -m jobledger.generate --check

generate: $(VENV)/.stamp ## write all generated files: crds/, docs/cli.md, diagram, schemas
	@$(PY) -m jobledger.generate

docs: generate ## same as generate

crds: generate ## same as generate

# ---- upkeep ------------------------------------------------------------------------------------------------------

UV_COMPILE = $(LOCK_VENV)/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 $(UPGRADE) \
             --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links

# Keeps every pin that still fits; `make lock UPGRADE=--upgrade` takes the newest of everything.
lock: ## write requirements/*.txt anew from pyproject.toml
	$(check_python)
	@"$(PYTHON)" -m venv --clear $(LOCK_VENV)
	@$(LOCK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check uv
	@$(UV_COMPILE) --group build --output-file requirements/run.txt
	@$(UV_COMPILE) --all-extras --group build --group dev --constraint requirements/run.txt --output-file requirements/dev.txt
	@$(UV_COMPILE) --extra kubernetes --extra kafka --extra postgresql --extra tracing --group build --constraint requirements/dev.txt --output-file requirements/cluster.txt
	@rm -rf $(LOCK_VENV)
	@if grep -n '://' requirements/*.txt; then echo "an address got into a lock, see above" >&2; exit 1; fi

clean: cluster-stop ## remove environments, caches and build results
	@rm -rf $(VENV) $(DEMO_VENV) $(LOCK_VENV) build dist *.egg-info
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
