# Builds the engine as the testing framework OpenBench does: `make EXE=name`. For all other purposes use cargo.

EXE ?= menagerie
ifeq ($(OS),Windows_NT)
    SUFFIX := .exe
endif

.PHONY: all
all:
	cargo build --release --locked --bin menagerie
	cp "$${CARGO_TARGET_DIR:-target}/release/menagerie$(SUFFIX)" "$(EXE:$(SUFFIX)=)$(SUFFIX)"
