# qnnrt: build, test, install.
# `make help` lists the targets; two are enough to begin: run and test.
#
# CC, CXX, CPPFLAGS, CFLAGS, LDFLAGS are yours and come last on the command line. Everything is
# made below build/, objects and programs in build/<config>/; only install writes elsewhere.
# Targets on a subject of their own are in tests/make. What runs tests is in tests/harness: suite.sh builds and runs a
# list, which list.sh writes from the table tests/index.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDEXPANSION:
MAKEFLAGS += --no-print-directory

export B        := build
export PYTHON   ?= python3
PREFIX          ?= /usr/local
OPT             ?= -O2
# Where speed does not matter, -Og (about -O1) in place of -O2: a third of the compiler's time.
OPT_LIGHT       ?= $(patsubst -O2,-Og,$(OPT))
WARN            ?= -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual
V               ?= 0
Q               := $(if $(filter 0,$(V)),@)
say              = @$(if $(filter 0,$(V)),printf '  %-8s %s\n' '$(1)' '$@',:)

# Releases of Qualcomm's libraries: what qnn-libs fetches, what test and test-all use.
QNN_RELEASES         ?= 2.47 2.51
export TEST_RELEASES ?= 2.47 2.51
ALL_RELEASES         := 2.47 2.48 2.49 2.50 2.51

# Compilers. ASan: clang where it is complete, else the C compiler; chosen when it is first needed.
export AARCH64_CC      ?= aarch64-linux-gnu-gcc
export AARCH64_SYSROOT ?= /usr/aarch64-linux-gnu
export QEMU            ?= qemu-aarch64-static
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
PROBE     = mkdir -p $(B); echo 'int main(void) { return 0; }' > $(B)/probe.$$$$.c; \
            if clang $(SANITIZE) -o $(B)/probe.$$$$ $(B)/probe.$$$$.c 2>/dev/null; then echo clang; else echo '$(CC)'; fi; \
            rm -f $(B)/probe.$$$$*
ASAN_CC   = $(eval ASAN_CC := $$(shell $$(PROBE)))$(ASAN_CC)

# Goals that build nothing themselves. tests/harness/suite.sh runs make: beside another goal, both would write the same files.
SUITES := test test-all check oom
ifneq ($(filter $(SUITES),$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# ---- the files ------------------------------------------------------------------------------------

# The table of headers, tools/headers: rows with | between the columns.
HEADERS := tools/headers
ROWS    := $(shell sed '/^#/d; /^$$/d; s/  */|/g' $(HEADERS))
column   = $(word $(1),$(subst |, ,$(2)))
comma   := ,
list     = $(subst $(comma), ,$(filter-out -,$(1)))
# Rows of which the list in a column has a word, and the object of a row.
having   = $(foreach row,$(ROWS),$(if $(filter $(2),$(call list,$(call column,$(1),$(row)))),$(row)))
object   = $(call column,3,$(1)).o
# The option that says that the implementation of a row was compiled.
once     = $(if $(filter -,$(call column,3,$(1))),,-D$(call column,2,$(1))__IMPL_ONCE)
# Friends are compiled with qnnrt.h, after it.
FRIENDS := $(foreach row,$(call having,7,friend),-D$(call column,4,$(row)) -include $(call column,1,$(row)))

TOOLS    := $(B)/qnnrt-run $(B)/qnnrt-llm
EXAMPLES := $(patsubst %.c,$(B)/%,$(wildcard examples/*.c examples/llm/*.c examples/server/*.c))
REF      := $(patsubst tools/refbackend/%.c,%,$(wildcard tools/refbackend/*.c))
# Operators know nothing of the rest: their tests are linked with these alone.
REF_OPS  := $(filter ref_op ops ops_%,$(REF))

LIBS      := -ldl -pthread
TEST_LIBS := -ldl -lm -pthread
# Refuse a test that is defined but never run.
TEST_WARN := $(WARN) -Werror=unused-function
# Tests may use POSIX names; `make silent` checks that qnnrt.h needs none.
TEST_CPPFLAGS := -I. -Itests/harness -Itools -D_POSIX_C_SOURCE=200809L

# A change of flags rebuilds everything.
FLAGS := $(CC) | $(CXX) | $(CPPFLAGS) | $(CFLAGS) | $(LDFLAGS) | $(OPT) | $(WARN) | $(AARCH64_CC)

.PHONY: FORCE
$(B)/.flags: FORCE
	@mkdir -p $(B)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' > $@.$$$$; \
	if cmp -s $@.$$$$ $@; then rm -f $@.$$$$; else mv $@.$$$$ $@; fi

# The compiler writes what a file includes beside the object or program. Who builds nothing does not read it: another
# make may be writing it.
DEPEND = -MMD -MP -MF $@.d -MT $@
ifneq ($(filter-out $(SUITES) help%,$(or $(MAKECMDGOALS),all)),)
-include $(filter-out $(TOOLS:=.d),$(wildcard $(B)/*.d $(B)/*/*.d $(B)/examples/*/*.d $(B)/*/ref/*.d $(B)/*/fake/*.d \
    $(foreach d,$(B) $(B)/*,$d/units/*/*.d $d/units/*/*/*.d)))
endif

# ---- tools and examples ---------------------------------------------------------------------------

EXAMPLE_REFS := $(addsuffix libQnnRef.so,$(B)/examples/ $(B)/examples/llm/ $(B)/examples/server/)

.PHONY: all
## all: build the tools, the examples and libQnnRef.so (default)
all: $(TOOLS) $(EXAMPLES) $(EXAMPLE_REFS)

# The implementations are compiled once, into build/lib; a program that includes them finds them done. By hand, one
# line compiles all: see the head of each program.
LIB    := $(B)/lib/libqnnrt.a
# What these call is in fewer objects; `make run` builds no more.
$(addprefix $(B)/,qnnrt-run examples/05_make_model examples/06_generate): LIB := $(B)/lib/libtool.a
LINKED := $(foreach row,$(ROWS),$(call once,$(row)))
OPT_LEVEL = $(OPT)
BUILD_C99 = $(CC) -std=c99 $(OPT_LEVEL) $(WARN) -I. -Itools $(LINKED) $(DEPEND) $(CPPFLAGS) $(CFLAGS) -o $@ $<

# The programs are made of units, an object each: tools/run/io/zip.c becomes build/units/run/io/zip.o.
units      = $(patsubst tools/%.c,%.o,$(wildcard $(addprefix tools/,$(1))))
RUN_UNITS := $(call units,run/*.c run/*/*.c cli/*.c)
LLM_UNITS := $(call units,llm/*.c cli/*.c)
$(B)/units/%.o: OPT_LEVEL = $(OPT_LIGHT)
$(B)/units/%.o: tools/%.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(BUILD_C99) -c

$(B)/qnnrt-run: $(addprefix $(B)/units/,$(RUN_UNITS))
$(B)/qnnrt-llm: $(addprefix $(B)/units/,$(LLM_UNITS))
$(TOOLS): $$(LIB) $(B)/.flags
	$(call say,LD)
	$(Q)$(CC) $(OPT_LIGHT) $(CFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LDFLAGS) $(LIBS) -lm

$(B)/examples/llm/export: $(addprefix $(B)/units/,$(call units,cli/*.c))
$(EXAMPLES): $(B)/%: %.c $$(LIB) $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(BUILD_C99) $(filter %.o,$^) $(LIB) $(LDFLAGS) $(LIBS) -lm

# Examples find the backend beside them.
$(EXAMPLE_REFS): UP := ../..
$(B)/examples/libQnnRef.so: UP := ..
$(EXAMPLE_REFS): $(B)/libQnnRef.so
	@mkdir -p $(@D)
	@ln -sf $(UP)/libQnnRef.so $@

# ---- Qualcomm's libraries -------------------------------------------------------------------------

fetch = if command -v $(PYTHON) >/dev/null 2>&1; then $(PYTHON) tools/fetch/qnn-libs.py --dir $(B)/qnn $(1); \
        else echo "qnn-libs: python3 is missing; it and its pip are needed to fetch Qualcomm's libraries"; false; fi

# A copy of tests/data in which the contexts of language models are unpacked: documents and tests name it.
$(B)/data/.made: tests/harness/data.py $$(shell find tests/data -type f)
	@$(PYTHON) $< $(@D) && touch $@

.PHONY: qnn-libs
## qnn-libs: fetch Qualcomm's libraries into build/qnn, unpack models for them into build/data (QNN_RELEASES=all, aarch64 or a list)
qnn-libs: $(B)/data/.made
	@$(call fetch,$(QNN_RELEASES))

ENGINES ?= onnxruntime-1.31.1 openvino-2026.4.1
.PHONY: engine-libs
## engine-libs: fetch the inference engines that tests use into build/engines (ENGINES=all or a list)
engine-libs:
	@$(PYTHON) tools/fetch/engine-libs.py --dir $(B)/engines $(ENGINES)

# A virtual environment of Python with the packages of a file, by hash.
venv_of = $(PYTHON) -m venv --clear $(@D) && $(@D)/bin/python -m pip install --quiet --disable-pip-version-check \
          --no-compile --no-deps --only-binary=:all: --require-hashes -r $(1)
venv    = $(call venv_of,$<)

# What else there is, each file on a subject of its own.
PARTS := $(addprefix tests/make/,run.mk configs.mk tests.mk project.mk real.mk bench.mk engines.mk exports.mk ggml.mk python.mk android.mk)
include $(PARTS)

# ---- tests ----------------------------------------------------------------------------------------

# tests/harness/suite.sh builds what the tests of a list need, and runs them.
.PHONY: check test test-all oom help-tests
## check: run the unit tests of the headers in one configuration, in a minute or two (T=wire: part of a name)
check:
	@MAKE='$(MAKE)' CC='$(CC)' sh tests/harness/suite.sh check '$(T)'

## test: run all tests, ASan and the genuine libraries included (T=part of a label for some)
test:
	@MAKE='$(MAKE)' CC='$(CC)' sh tests/harness/suite.sh test '$(T)'

## test-all: run all tests with all five releases, and the unit tests for 32 bits and for aarch64 under qemu
test-all:
	@MAKE='$(MAKE)' CC='$(CC)' TEST_RELEASES='$(ALL_RELEASES)' sh tests/harness/suite.sh all '$(T)'

## oom: let every allocation fail in turn, with ASan
oom:
	@MAKE='$(MAKE)' CC='$(CC)' sh tests/harness/suite.sh oom '$(T)'

## help-tests: list which test belongs to which room or file, and what it costs
help-tests:
	@sed -n '/^# file  /,$$p' tests/index

# ---- the shared library ---------------------------------------------------------------------------

# Calls between its functions stay inside, whatever the program defines; it exports what the headers declare.
# VERSION is read once.
VERSION    = $(eval VERSION := $$(shell sed -n '1s/.* v\([0-9][0-9.]*\) .*/\1/p' qnnrt.h))$(VERSION)
SOVERSION  = $(firstword $(subst ., ,$(VERSION)))
LIB_FLAGS := -fPIC -fvisibility=hidden -fno-semantic-interposition -DQNNRT_API='extern __attribute__((visibility("default")))'
$(B)/libqnnrt.so: $(addprefix $(B)/lib/,$(IMPL_OBJECTS))
	$(call say,LD)
	$(Q)$(CC) $(OPT) $(CFLAGS) -shared -Wl,--no-undefined -Wl,-Bsymbolic-functions \
	    -Wl,-soname,libqnnrt.so.$(SOVERSION) -o $@ $(filter %.o,$^) $(LDFLAGS) -lm -ldl
	@ln -sf libqnnrt.so $@.$(SOVERSION)

.PHONY: lib
## lib: build build/libqnnrt.so, a shared library with the functions of all headers
lib: $(B)/libqnnrt.so

.PHONY: wheel python-abi
## wheel: build the Python package with the library, build/wheel/qnnrt-<version>-py3-none-linux_x86_64.whl
wheel: $(B)/libqnnrt.so $(B)/libQnnRef.so $(TOOLS)
	@$(PYTHON) tools/python/build_wheel.py $(B) $(B)/wheel

## python-abi: write the declarations of the Python package anew, from the headers
python-abi:
	@CC='$(CC)' $(PYTHON) tools/python/make_abi.py

# ---- install --------------------------------------------------------------------------------------

INSTALL ?= install
INSTALL_HEADERS := $(foreach row,$(ROWS),$(call column,1,$(row))) tools/qnnrt.hpp
INSTALL_CMAKE   := qnnrtConfig.cmake qnnrtConfigVersion.cmake
# Examples include the headers as they are installed. llm/export is left out: it is written with tools/cli/.
INSTALL_EXAMPLES = $(filter-out examples/llm/export.c examples/llm/executorch.h,$(sort $(wildcard examples/*.[ch] examples/*/*.[ch] examples/*/*.py)))
# Where the shells look: name of the shell, folder, and name of the file with % for the program.
COMPLETIONS     := bash:share/bash-completion/completions:% zsh:share/zsh/site-functions:_% fish:share/fish/vendor_completions.d:%.fish
COMPLETION_FILES = $(foreach tool,$(notdir $(TOOLS)),$(foreach row,$(COMPLETIONS),$(word 2,$(subst :, ,$(row)))/$(subst %,$(tool),$(word 3,$(subst :, ,$(row))))))
INSTALL_TO       = $(DESTDIR)$(PREFIX)
LIB_NAMES        = libqnnrt.so.$(VERSION) libqnnrt.so.$(SOVERSION) libqnnrt.so

# pc NAME TEXT FLAGS LIBS: a file for pkg-config; qnnrt has the headers alone, libqnnrt the shared library, too
pc = { echo 'prefix=$(PREFIX)'; echo 'includedir=$${prefix}/include'; echo 'libdir=$${prefix}/lib'; echo; echo 'Name: $(1)'; \
       echo 'Description: Run compiled Qualcomm QNN models from C99, $(2)'; echo 'Version: $(VERSION)'; \
       echo 'Cflags: -I"$${includedir}"'; echo 'Libs: $(3)'; } > $(B)/$(1).pc

.PHONY: install
## install: install headers, libqnnrt.so, tools with man pages and completions, libQnnRef.so, examples (PREFIX, DESTDIR)
install: $(TOOLS) $(B)/libqnnrt.so $(B)/libQnnRef.so
	@$(call pc,qnnrt,one header,-ldl)
	@$(call pc,libqnnrt,as a shared library,-L"$${libdir}" -lqnnrt)
	@for file in $(INSTALL_CMAKE); do \
	    sed 's/@VERSION@/$(VERSION)/; s/@SOVERSION@/$(SOVERSION)/' tools/lib/$$file > $(B)/$$file || exit 1; done
	$(INSTALL) -d '$(INSTALL_TO)/include' '$(INSTALL_TO)/bin' '$(INSTALL_TO)/lib/pkgconfig' '$(INSTALL_TO)/lib/cmake/qnnrt' \
	    '$(INSTALL_TO)/share/doc/qnnrt'
	$(INSTALL) -m 644 LICENSE '$(INSTALL_TO)/share/doc/qnnrt'
	$(INSTALL) -m 644 $(INSTALL_HEADERS) '$(INSTALL_TO)/include'
	$(INSTALL) -m 755 $(TOOLS) '$(INSTALL_TO)/bin'
	$(INSTALL) -m 755 $(B)/libqnnrt.so '$(INSTALL_TO)/lib/$(word 1,$(LIB_NAMES))'
	ln -sf $(word 1,$(LIB_NAMES)) '$(INSTALL_TO)/lib/$(word 2,$(LIB_NAMES))'
	ln -sf $(word 2,$(LIB_NAMES)) '$(INSTALL_TO)/lib/$(word 3,$(LIB_NAMES))'
	$(INSTALL) -m 644 $(B)/qnnrt.pc $(B)/libqnnrt.pc '$(INSTALL_TO)/lib/pkgconfig'
	$(INSTALL) -m 644 $(INSTALL_CMAKE:%=$(B)/%) '$(INSTALL_TO)/lib/cmake/qnnrt'
	$(INSTALL) -m 755 $(B)/libQnnRef.so '$(INSTALL_TO)/lib'
	$(INSTALL) -d '$(INSTALL_TO)/share/man/man1' $(foreach row,$(COMPLETIONS),'$(INSTALL_TO)/$(word 2,$(subst :, ,$(row)))')
	@set -e; for tool in $(notdir $(TOOLS)); do \
	    $(B)/$$tool --man > $(B)/$$tool.1; $(INSTALL) -m 644 $(B)/$$tool.1 '$(INSTALL_TO)/share/man/man1'; \
	    for row in $(COMPLETIONS); do \
	        shell=$${row%%:*} rest=$${row#*:}; name=$${rest#*:}; file=$${name%%\%*}$$tool$${name##*\%}; \
	        $(B)/$$tool --completion $$shell > $(B)/$$tool.$$shell; \
	        $(INSTALL) -m 644 $(B)/$$tool.$$shell '$(INSTALL_TO)'/$${rest%%:*}/$$file; done; done
	@for file in $(INSTALL_EXAMPLES); do \
	    $(INSTALL) -d "$(INSTALL_TO)/share/qnnrt/$$(dirname $$file)" && \
	    sed 's|^#include "tools/\(engines/\)*|#include "|' $$file > $(B)/example && \
	    $(INSTALL) -m 644 $(B)/example "$(INSTALL_TO)/share/qnnrt/$$file" || exit 1; done; rm -f $(B)/example

.PHONY: uninstall
## uninstall: remove what install put there
uninstall:
	rm -f $(patsubst %,'$(INSTALL_TO)/include/%',$(notdir $(INSTALL_HEADERS))) \
	    $(patsubst %,'$(INSTALL_TO)/bin/%',$(notdir $(TOOLS))) $(LIB_NAMES:%='$(INSTALL_TO)/lib/%') \
	    '$(INSTALL_TO)/lib/pkgconfig/qnnrt.pc' '$(INSTALL_TO)/lib/pkgconfig/libqnnrt.pc' \
	    $(INSTALL_CMAKE:%='$(INSTALL_TO)/lib/cmake/qnnrt/%') '$(INSTALL_TO)/lib/libQnnRef.so' \
	    '$(INSTALL_TO)/share/doc/qnnrt/LICENSE' $(patsubst %,'$(INSTALL_TO)/share/man/man1/%.1',$(notdir $(TOOLS))) $(COMPLETION_FILES:%='$(INSTALL_TO)/%') \
	    $(INSTALL_EXAMPLES:%='$(INSTALL_TO)/share/qnnrt/%')
	@rmdir '$(INSTALL_TO)/lib/cmake/qnnrt' '$(INSTALL_TO)/share/doc/qnnrt' 2>/dev/null || true
	@find '$(INSTALL_TO)/share/qnnrt' -depth -type d -exec rmdir {} + 2>/dev/null || true

.PHONY: clean
## clean: remove what was built, but not the fetched libraries
clean:
	@if [ -d $(B) ]; then find $(B) -mindepth 1 -maxdepth 1 ! -name qnn -exec rm -rf {} +; fi

.PHONY: distclean
## distclean: remove build/ with the fetched libraries
distclean:
	rm -rf $(B)

# The targets that most people need, under headings.
HELP := 'To begin:all run llm run-compile' 'In your project:lib wheel install uninstall' \
        'Libraries of others:qnn-libs engine-libs' 'To change qnnrt:check test silent help-all'
show  = sed -n "s/^\#\# \($(1)\): \(.*\)/\1|\2/p" $(2) | awk -F '|' '{ printf "  make %-20s %s\n", $$1, $$2 }'
.PHONY: help help-all
## help: print the targets that most people need
help:
	@for part in $(HELP); do echo "$${part%%:*}:"; \
	    for name in $${part#*:}; do $(call show,$$name,Makefile $(PARTS)); done; done

## help-all: print all targets
help-all:
	@for file in Makefile $(PARTS); do sed -n '1s/^# \(.*\)\.$$/\1:/p' $$file; $(call show,[a-z-]*,$$file); done
