# One build mode for everyone (docs/adr/0001): the workspace, no VCS stamp, no local paths in binaries.
export GOFLAGS := -buildvcs=false -trimpath

# The tag of images built from a checkout; a release sets its number.
VERSION ?= dev

# The workspace. A module joins this list with its first code; until then its targets do not exist.
MODULES := $(foreach m,apis controller mover webhook kopiurctl e2e,$(if $(wildcard $(m)/go.mod),$(m)))

# Helpers with code of ours, each outside go.work. Modules that only pin something others wrote hold no .go file and
# are left alone.
HACK_MODULES := $(foreach f,$(wildcard hack/*/go.mod hack/tools/*/go.mod),$(if \
	$(shell find $(dir $(f)) -name '*.go' -print -quit),$(patsubst %/,%,$(dir $(f)))))

M ?= $(MODULES) $(HACK_MODULES)

.PHONY: sync
sync: ## Equalize dependency versions across modules and tidy each.
	go work sync
	for m in $(MODULES) $(HACK_MODULES); do (cd $$m && GOWORK=off go mod tidy); done
