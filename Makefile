# The two commands to start with are `make demo` and `make test`. They need Python 3.11+, pip and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Every process of a test, hundreds of them, would compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-peers test-generated test-browser corpus plans test-lowest test-newest wheels test-strange test-days fuzz mutation docs lint types mypy basedpyright models models-check bench-queue bench-client bench-informer bench-controller bench-webhook bench-apiserver bench-processes bench-shards bench-instructions bench-simulation bench-cluster bench-startup dist server-image check clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Installed again only when the project's metadata changed. One stamp per set of dependencies.
$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "setpoint needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; try make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	@touch $@

$(VENV)/.run: $(VENV)/.made pyproject.toml
	@echo 'installing setpoint into $(VENV) ...'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[server,exec]'
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo 'installing the development tools into $(VENV) ...'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@touch $@

demo: $(VENV)/.run ## Chronos and Mykind on the embedded API server, end to end
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev ## the whole test suite
	$(BIN)/python -m pytest -n auto --dist worksteal -q

test-strange: $(VENV)/.dev ## the suite on another day, in another zone and order, not as root; with its coverage
	$(BIN)/python tools/test_strange.py --days 400 --coverage

test-days: $(VENV)/.dev ## what touches the wall clock, 400 days ahead, in another zone and order, not as root
	$(BIN)/python tools/test_strange.py --days 400 -m "wall_clock and not generated" $$(grep -rl mark.wall_clock --include='*.py' tests examples)

mutation: $(VENV)/.dev ## mutation testing of one module: make mutation MODULE=workqueue
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group mutation
	$(BIN)/python tools/mutation.py $(MODULE)

test-lowest: $(VENV)/.made ## a part of it with the oldest dependencies that are allowed
	$(BIN)/python tools/other_environments.py lowest

test-newest: $(VENV)/.made ## the same part on the newest Python here, if there is a newer one
	$(BIN)/python tools/other_environments.py newest

wheels: $(VENV)/.made ## that nothing needs a compiler, on any Python and platform; from the registry, a minute
	$(BIN)/python tools/wheels.py $(ARGS)

test-peers: $(VENV)/.dev ## programs of other people: torture of controllers, envtest, clients in five languages; needs registries
	$(BIN)/python -m pytest -q -m peers tests/torture tests/envtest tests/clients tests/deploy tests/docs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group peers
	$(BIN)/python -m pytest -q tests/docs/test_coming_from.py

test-generated: $(VENV)/.dev ## projects of setpoint init in environments of their own, charts with helm: needs Go, and registries
	$(BIN)/python -m pytest -q -m generated tests/scaffold tests/cluster tests/deploy tests/docs examples

test-browser: $(VENV)/.dev ## the pages of operators and clusters in Chromium, with axe: needs Chromium, and registries
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group browser
	$(BIN)/python -m pytest -q -m browser tests/manager tests/cluster

corpus: $(VENV)/.dev ## the simulation on the corpus of controllers with known bugs, with the full budget: its table
	$(BIN)/python -m tests.simulation.corpus $(ARGS)
	$(BIN)/python -m pytest -q -m long tests/simulation tests/torture tests/apiserver/crashes examples

plans: $(VENV)/.dev ## 10,000 drawn plans over all examples, each made twice: no alarm, no difference (ARGS="--record FILE" to go on later)
	$(BIN)/python -m tests.simulation.plans $(ARGS)

SECONDS ?= 3600

fuzz: $(VENV)/.dev ## hostile requests for an hour (SECONDS=...): fails on a 500, on growth, on a request of over 500 ms of CPU time
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

docs: $(VENV)/.dev ## the site of the documentation in build/site, its links, anchors and search checked, its commands run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	$(BIN)/python -m tools.docs
	$(BIN)/python -m pytest -q -m sessions tests/docs

lint: $(VENV)/.dev ## ruff, the order of the packages, no circles of imports, and the words
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/lint-imports .importlinter-circles --no-cache
	$(BIN)/python tools/words.py

types: mypy basedpyright ## mypy --strict and basedpyright

mypy: $(VENV)/.dev
	$(BIN)/mypy

basedpyright: $(VENV)/.dev
	$(BIN)/basedpyright

models: $(VENV)/.dev ## generate the models again from the pinned schemas, the list of the public API, and tables of the reference
	$(BIN)/python tools/generate_models.py
	$(BIN)/python tools/generate_protobuf.py
	$(BIN)/python -m tools.generate_clientset
	$(BIN)/python -m tools.generate_blocking
	$(BIN)/python tools/served_table.py
	$(BIN)/python tools/public_api.py
	$(BIN)/python -m tools.docs.reference

models-check: $(VENV)/.dev ## fail if the models differ from what the generator writes
	$(BIN)/python tools/generate_models.py --check
	$(BIN)/python tools/generate_protobuf.py --check
	$(BIN)/python -m tools.generate_clientset --check
	$(BIN)/python -m tools.generate_blocking --check
	$(BIN)/python tools/served_table.py --check
	$(BIN)/python tools/public_api.py --check
	$(BIN)/python -m tools.docs.reference --check

# What they measure is written to benchmarks/.build/results; make bench-informer ARGS='--objects 1000 --systems setpoint'
# measures less, and ARGS='... --keep' stores the figures that docs/ shows, if nothing of those is missing.
bench-queue: $(VENV)/.dev ## the work queue beside client-go's
	$(BIN)/python benchmarks/workqueue.py $(ARGS)

bench-client: $(VENV)/.dev ## requests and lists beside other Python clients
	$(BIN)/python benchmarks/client.py $(ARGS)

bench-informer: $(VENV)/.dev ## informers beside those of Go, Rust, Java and Python
	$(BIN)/python benchmarks/informer.py $(ARGS)

bench-controller: $(VENV)/.dev ## controllers beside those of Go, Rust, Java and Python
	$(BIN)/python benchmarks/controller.py $(ARGS)

bench-apiserver: $(VENV)/.dev ## the embedded server beside a kube-apiserver (ARGS='--real DIR')
	$(BIN)/python benchmarks/apiserver.py $(ARGS)

bench-webhook: $(VENV)/.dev ## webhook servers beside controller-runtime's and kopf's
	$(BIN)/python benchmarks/webhook.py $(ARGS)

bench-processes: $(VENV)/.dev ## reconciles that write, by the number of processes of run --processes
	$(BIN)/python benchmarks/processes.py $(ARGS)

bench-shards: $(VENV)/.dev ## the memory of the processes of run --shards, and the events they get, by their number
	$(BIN)/python benchmarks/shards.py $(ARGS)

bench-instructions: $(VENV)/.dev ## this checkout beside another one, by instructions: ARGS='--before DIR'; needs valgrind
	$(BIN)/python benchmarks/instructions.py $(ARGS)

bench-simulation: $(VENV)/.dev ## what it costs to prove a controller against every fault
	$(BIN)/python benchmarks/simulation.py $(ARGS)

bench-cluster: $(VENV)/.dev ## Deployments on hollow nodes that converge: what each object costs
	$(BIN)/python benchmarks/cluster.py $(ARGS)

bench-startup: $(VENV)/.dev ## an operator's process until its caches have synced: ARGS='--before DIR'
	$(BIN)/python benchmarks/startup.py $(ARGS)

dist: $(VENV)/.dev ## the wheel and the sdist, tried in empty environments, and a bill of materials
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group release
	$(BIN)/python tools/dist.py

server-image: $(VENV)/.dev ## the image setpoint-server in dist/, for docker load: no container engine, but Debian's apt-get
	$(BIN)/python tools/server_image.py

check: lint types models-check test test-days test-lowest test-newest demo ## all that CI runs

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .venv-lowest .venv-newest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
