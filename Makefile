# heapdump.h: `make help` lists the targets. With INSTALL=1 they install the Debian packages that they need; without it they
# print the missing packages and the command that installs them. Root needs no INSTALL=1 for `make test`.

CC ?= cc
CXX ?= c++
CLANG ?= clang
CFLAGS ?= -O2 -g
CXXFLAGS ?= -O2 -g
STB := $(shell pkg-config --cflags stb 2>/dev/null || echo -I/usr/include/stb)
WARN := -Wall -Wextra -Wpedantic -Wconversion -Wshadow
CWARN := $(WARN) -Wstrict-prototypes
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local
VERSION := $(shell sed -n 's/^\#define HEAPDUMP_VERSION "\(.*\)"/\1/p' heapdump.h)
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
B := build

# $(call install,packages[,optional]): installs the missing Debian packages with INSTALL=1. Without it, root still gets
# missing packages if the tests need no others (TEST_PACKAGES). Otherwise it prints the command that installs them, and
# the optional ones. One installation at a time: make and scripts of peers take the same lock.
define install
@command -v dpkg >/dev/null && command -v apt-get >/dev/null || { \
  echo "make: not Debian; needed packages, by these names or others: $(sort $(1))" >&2; exit 0; }; \
missing() { for p in "$$@"; do dpkg -s $$p >/dev/null 2>&1 || printf ' %s' $$p; done; }; \
missing=$$(missing $(sort $(1))); [ -n "$$missing" ] || exit 0; \
if [ "$(INSTALL)" = 1 ]; then why=INSTALL=1; \
elif [ -z "$(SUDO)" ] && [ -z "$$(missing $(filter-out $(TEST_PACKAGES),$(1)))" ]; then why="the tests need them"; \
else \
  printf 'make: missing Debian packages. Install them with INSTALL=1, or with this command:\n\n  %s%s\n\n' \
    "$(SUDO:%=% )apt-get install -y" "$$missing$$(missing $(2))" >&2; exit 1; \
fi; \
echo "make: installing$$missing ($$why)" >&2; \
flock /var/lib/dpkg sh -c "$(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=600 $$missing >/dev/null"
endef

# library-deps is the first target that installs. It asks for the packages of all goals, so that one command is enough.
LIBRARY_PACKAGES := gcc g++ libc6-dev libstb-dev
TEST_PACKAGES := $(LIBRARY_PACKAGES) libcmocka-dev
TOOLS_PACKAGES := libunwind-dev libdw-dev libelf-dev libiberty-dev zlib1g-dev libzstd-dev liblzma-dev libyaml-dev libwebsockets-dev libncurses-dev
PAGE_PACKAGES := node-d3-hierarchy node-d3-selection
GOALS := $(or $(MAKECMDGOALS),all)
OF_TOOLS := $(filter all recorded-demo install peers digests bench%,$(GOALS))
GOAL_PACKAGES := $(if $(OF_TOOLS),$(TOOLS_PACKAGES)) $(if $(filter test,$(GOALS)),$(TEST_PACKAGES))
export INSTALL

ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif

.PHONY: all help demo recorded-demo install uninstall test peers fuzz bench clean library-deps tools-deps page-deps test-deps fuzz-deps
.DELETE_ON_ERROR:

TOOL := $(patsubst examples/heapdump/%.c,$(B)/tool/%.o,$(wildcard examples/heapdump/*.c examples/heapdump/*/*.c)) \
  $(B)/tool/license.o $(B)/tool/report_page.o
# Its peer script, tests/peers/scripts/mpi.sh, builds merge_mpi, which needs mpi.h.
EXAMPLES := $(patsubst examples/%,$(B)/examples/%,$(basename $(filter-out examples/merge_mpi.c,$(wildcard examples/*.c examples/*.cc))))

all: $(B)/heapdump $(B)/heapdump.1 $(B)/libheapdump_record.so $(EXAMPLES) ## build everything in examples/

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24

# The command and the recorder ------------------------------------------------------------------

library-deps:
	$(call install,$(LIBRARY_PACKAGES) $(GOAL_PACKAGES),$(if $(OF_TOOLS),$(PAGE_PACKAGES)))

# After library-deps, so that only one target installs at a time.
tools-deps: library-deps
	$(call install,$(TOOLS_PACKAGES))

# The compiler writes the headers that a product depends on into a file next to the product.
DEPENDS = -MMD -MP -MF $@.d -MT $@

# The API half of heapdump.h, without the implementation. It is replaced only if it differs: so a change of the
# implementation does not recompile objects that only use the API. These objects depend on this file instead of
# heapdump.h ($(api_depends) after compiling). `+`: make -n also compares, and lists only targets that would be made.
$(B)/api/heapdump.h: heapdump.h | library-deps
	+@mkdir -p $(@D) && sed '/^#if defined(HEAPDUMP_IMPLEMENTATION)/,/^#endif .*HEAPDUMP_IMPLEMENTATION/d' $< >$@.new && $(replace_if_new)

replace_if_new = if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
api_depends = sed -i 's|[^ ]*\.\./heapdump\.h|$(B)/api/heapdump.h|' $@.d

$(B)/heapdump: $(TOOL)
	$(CC) $(CFLAGS) $^ -o $@ -ldw -lelf -lz -lzstd -llzma -lyaml -lwebsockets -lncursesw -ltinfo -liberty -lstdc++ -ldl -lm -lpthread

$(B)/tool/library.o: | library-deps
$(filter-out $(B)/tool/library.o,$(TOOL)): | tools-deps $(B)/api/heapdump.h
$(filter-out $(B)/tool/library.o,$(TOOL)): private then = && $(api_depends)
$(B)/tool/%.o: examples/heapdump/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(CFLAGS) $(CWARN) -Wmissing-prototypes $(STB) $(DEPENDS) -c $< -o $@ $(then)

# The licence is the end of heapdump.h.
$(B)/tool/license.o: heapdump.h
	@mkdir -p $(@D)
	{ echo 'extern const char license_text[]; const char license_text[] ='; \
	  sed -n '/^\/\* Licence: /,$${s/ \*\/$$//; s/^\/\* //; s/^   //; s/["\\]/\\&/g; s/.*/"&\\n"/; p}' $<; echo ';'; } | $(CC) $(CFLAGS) -x c -c - -o $@

$(B)/heapdump.1: examples/heapdump/heapdump.1 $(B)/heapdump
	$(B)/heapdump --man | sed -e 's/@VERSION@/$(VERSION)/' -e '/TABLES$$/{r /dev/stdin' -e 'd}' $< >$@

# The command contains the page of `heapdump report` and D3, the library that draws it, from two small Debian packages
# without dependencies. On other systems: make D3="d3-hierarchy.min.js d3-selection.min.js" (npm's versions 1 to 3).
# Without D3 the page is empty, with time 0 so that the next make tries again, and `heapdump report` reports it.
D3 ?= /usr/share/nodejs/d3-hierarchy/dist/d3-hierarchy.min.js /usr/share/nodejs/d3-selection/dist/d3-selection.min.js

page-deps: tools-deps
	$(if $(filter 1,$(INSTALL)),-$(call install,$(PAGE_PACKAGES)))

$(B)/report.html: $(filter-out %.png %.c %.h %.md,$(wildcard examples/heapdump/report/*)) | page-deps
	@mkdir -p $(@D)
	@examples/heapdump/report/page.sh $(D3) >$@ || { touch -d @0 $@; echo "make: without D3 (Debian: node-d3-hierarchy node-d3-selection) heapdump has no \`report\`" >&2; }

$(B)/tool/report_page.o: $(B)/report.html
	@mkdir -p $(@D)
	cd $(B) && $(LD) -r -b binary -z noexecstack -o tool/report_page.o report.html

# No vectors of two words: loading both words at once would wait for two separate stores.
$(B)/libheapdump_record.so: examples/recorder/heapdump_record.c | tools-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(CFLAGS) $(CWARN) $(STB) $(DEPENDS) -fPIC -shared -fno-tree-slp-vectorize -ftls-model=initial-exec -fvisibility=hidden \
	  -fno-omit-frame-pointer $< -o $@ -Wl,-z,nodelete,-z,now -l:libunwind.so.8 -ldl -lpthread

# Each example includes the implementation. HD__IMPLEMENTED omits it, so that all link with the command's copy.
$(B)/examples/%.o: examples/%.c | library-deps $(B)/api/heapdump.h
	@mkdir -p $(@D)
	@$(CC) -std=c99 -DHD__IMPLEMENTED $(CFLAGS) $(CWARN) $(STB) $(DEPENDS) -c $< -o $@ && $(api_depends)

$(B)/examples/%.o: examples/%.cc | library-deps $(B)/api/heapdump.h
	@mkdir -p $(@D)
	@$(CXX) -std=c++11 -DHD__IMPLEMENTED $(CXXFLAGS) $(WARN) $(STB) $(DEPENDS) -c $< -o $@ && $(api_depends)

link_example = $(if $(wildcard examples/$(@F).cc),$(CXX) $(CXXFLAGS),$(CC) $(CFLAGS)) $^ -o $@ -lpthread

$(EXAMPLES): %: %.o $(B)/tool/library.o
	$(link_example)

-include $(TOOL:=.d) $(B)/libheapdump_record.so.d $(EXAMPLES:=.o.d)

# Installed files, below PREFIX. Package builders set DESTDIR, which is put before PREFIX.
INSTALLED := bin/heapdump lib/heapdump/libheapdump_record.so include/heapdump.h share/pkgconfig/heapdump.pc \
  share/cmake/heapdump/heapdump-config.cmake share/cmake/heapdump/heapdump-config-version.cmake \
  share/man/man1/heapdump.1 share/bash-completion/completions/heapdump share/zsh/site-functions/_heapdump share/fish/vendor_completions.d/heapdump.fish
to = $(DESTDIR)$(PREFIX)
# The header includes stb_ds.h: from the directory of pkg-config, or else where make found it.
for_package := s|@VERSION@|$(VERSION)|; s|@STB@|$(shell pkg-config --exists stb 2>/dev/null && echo Requires: stb)|; \
  s|^\(Cflags: .*\)|\1$(shell pkg-config --exists stb 2>/dev/null || echo " $(STB)")|

install: $(B)/heapdump $(B)/heapdump.1 $(B)/libheapdump_record.so ## install the command and the header in PREFIX [/usr/local]; packages: DESTDIR
	install -d $(sort $(dir $(INSTALLED:%=$(to)/%)))
	install -m 755 $(B)/heapdump $(to)/bin/
	install -m 644 $(B)/libheapdump_record.so $(to)/lib/heapdump/
	install -m 644 heapdump.h $(to)/include/
	sed '$(for_package)' examples/package/heapdump.pc | install -m 644 /dev/stdin $(to)/share/pkgconfig/heapdump.pc
	install -m 644 examples/package/heapdump-config.cmake $(to)/share/cmake/heapdump/
	sed 's|@VERSION@|$(VERSION:-dev=)|' examples/package/heapdump-config-version.cmake | install -m 644 /dev/stdin $(to)/share/cmake/heapdump/heapdump-config-version.cmake
	install -m 644 $(B)/heapdump.1 $(to)/share/man/man1/
	$(B)/heapdump --completion bash | install -m 644 /dev/stdin $(to)/share/bash-completion/completions/heapdump
	$(B)/heapdump --completion zsh | install -m 644 /dev/stdin $(to)/share/zsh/site-functions/_heapdump
	$(B)/heapdump --completion fish | install -m 644 /dev/stdin $(to)/share/fish/vendor_completions.d/heapdump.fish

uninstall: ## remove the installed files
	rm -f $(INSTALLED:%=$(to)/%)
	@for d in lib/heapdump share/cmake/heapdump; do rmdir $(to)/$$d 2>/dev/null || true; done

# A small C++ server with a leak, to be recorded like a program of a new user.
$(B)/demo/server: examples/recorder/demo.cc | library-deps
	@mkdir -p $(@D)
	$(CXX) -std=c++11 -g -O1 $(WARN) $< -o $@ -pthread

define demo_next

To record a program of your own, compiled with -g so that functions have lines, call make, then:
  build/heapdump record --at exit,every=1 -o app.json -- ./app ARGS...
  build/heapdump suspects app.json; build/heapdump tree app.json; build/heapdump report -o app.html app.json
endef
export demo_next

# If the command is not built yet, the demo compiles one without optimization, in a quarter of the time.
demo: ## record a small C++ server, and show its leak and its largest allocators
	@$(MAKE) --no-print-directory $(if $(wildcard $(B)/heapdump),,B=$(B)/quick CFLAGS=-O0) recorded-demo

recorded-demo: $(B)/heapdump $(B)/libheapdump_record.so $(B)/demo/server
	$(B)/heapdump record --at exit,peak,every=0.2 -o $(B)/demo/server.json -- $(B)/demo/server
	@echo; echo "What grew, the likeliest leak first:"
	$(B)/heapdump suspects $(B)/demo/server.json
	@echo; echo "What the server held when it was stopped, by call stack:"
	$(B)/heapdump tree --min-share 0.03 $(B)/demo/server.json
	@echo "$$demo_next"

# Tests --------------------------------------------------------------------------------------
# Every tests/test_*.c is a cmocka program. It runs without sanitizers, with AddressSanitizer and UBSan, and, if its first
# line says "threads", with ThreadSanitizer. For each of these the library is compiled once, with access to its private
# names (tests/private.h), and all programs share it.

# The command's YAML format is tested only if its parser, libyaml, is installed.
YAMLED := test_memprof_yaml
HAS_YAML := $(shell echo '\#include <yaml.h>' | $(CC) -E - >/dev/null 2>&1 && echo yes)
TESTS := $(filter-out $(if $(HAS_YAML),,$(YAMLED)),$(patsubst tests/%.c,%,$(wildcard tests/test_*.c)))
THREADED := $(patsubst tests/%.c,%,$(shell grep -l '^/\* threads' tests/test_*.c 2>/dev/null))
RUNS := $(TESTS:%=$(B)/tests/plain/%) $(TESTS:%=$(B)/tests/asan/%) $(THREADED:%=$(B)/tests/tsan/%)
# Long scripts start first, so that at the end no long script runs on its own.
LONG_PEERS := memprof-programs memprof-index memprof-raw compilers long-tests suspects referee referee-objects totals regions \
  register every-command trees identity
PEERS := $(LONG_PEERS:%=tests/peers/scripts/%.sh)
PEERS += $(filter-out $(PEERS),$(wildcard tests/peers/scripts/*.sh))

# -fno-tree-dce: also checks reads with unused results. Warnings are for -O1, which gives no false ones.
plain_flags := -O1 $(CWARN)
asan_flags := -Og -fno-tree-dce -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
tsan_flags := -O1 -fsanitize=thread
# Tests do little work, so -O0 saves more compile time than -O1 would save run time.
$(TESTS:%=$(B)/tests/asan/%.o): private asan_flags := -O0 $(filter -f%,$(asan_flags))
$(TESTS:%=$(B)/tests/plain/%.o): private plain_flags := -O0 $(CWARN)
$(TESTS:%=$(B)/tests/tsan/%.o): private tsan_flags := -O0 -fsanitize=thread

test-deps: library-deps
	$(call install,$(TEST_PACKAGES))

define compile_test
@mkdir -p $(@D)
@$(CC) -std=gnu99 -g1 $($(notdir $(@D))_flags) $(STB) $(DEPENDS) -Itests -I$(B)/tests -c $< -o $@ && $(api_depends)
endef

define test_rules
$(TESTS:%=$(B)/tests/$(1)/%): %: %.o $(B)/tests/$(1)/library.o
	@$$(CC) $$(filter -f%,$$($(1)_flags)) $$< $$(or $$(filter %/counted.o,$$^),$$(filter %/library.o,$$^)) -o $$@ \
	  -lcmocka $$(if $$(filter $$(@F),$(YAMLED)),-lyaml) -lpthread -lm

$(TESTS:%=$(B)/tests/$(1)/%.o): $(B)/tests/$(1)/%.o: tests/%.c | $(B)/api/heapdump.h $(B)/tests/names.h test-deps
	$$(compile_test)

$(B)/tests/$(1)/library.o $(B)/tests/$(1)/counted.o: tests/library.c $(B)/tests/library.h | test-deps
	$$(compile_test)
endef
$(foreach v,plain asan tsan,$(eval $(call test_rules,$(v))))

$(B)/tests/library.h: heapdump.h tests/private.awk
	@mkdir -p $(@D)
	@awk -v as=library -f tests/private.awk $< >$@

# Replaced only if it differs, like the API half: after a change inside functions, tests are linked but not compiled.
$(B)/tests/names.h: heapdump.h tests/private.awk | library-deps
	+@mkdir -p $(@D) && awk -v as=names -f tests/private.awk $< >$@.new && $(replace_if_new)

# The table of calls of all public functions.
$(B)/tests/calls.h: $(B)/api/heapdump.h tests/calls.awk
	@mkdir -p $(@D)
	@awk -f tests/calls.awk $< >$@
$(B)/tests/plain/test_calls.o $(B)/tests/asan/test_calls.o: $(B)/tests/calls.h

# Counts function calls, a measure of work that is the same on each machine. It uses an instrumented library without the
# recorder, graphs, and all formats except Chrome's.
COUNTED := $(foreach v,plain asan,$(B)/tests/$(v)/counted.o $(B)/tests/$(v)/test_profile_growth.o)
counted_flags := -O0 -finstrument-functions $(patsubst %,-DHEAPDUMP_NO_%,RECORDER GRAPH NETCF DART MEMPROF FOLDED PPROF V8 ROWS)
$(COUNTED): private plain_flags := $(counted_flags)
$(COUNTED): private asan_flags := $(counted_flags) $(filter -f%,$(asan_flags))
$(B)/tests/plain/test_profile_growth: $(B)/tests/plain/counted.o
$(B)/tests/asan/test_profile_growth: $(B)/tests/asan/counted.o
-include $(wildcard $(B)/tests/*/*.o.d)

# $(call ended,log): the end of each test run: prints the log and exits with the status.
ended = [ $$status = 0 ] || echo "== ended with status $$status" >>$(1); cat $(1); exit $$status

# Tests run as soon as they are built, several at a time; the output of each stays together.
.PHONY: $(RUNS:%=%.run) $(PEERS:%=%.run)
$(RUNS:%=%.run): %.run: %
	@{ echo "== $<"; TSAN_OPTIONS=halt_on_error=1 ASAN_OPTIONS=detect_leaks=1 $<; } >$<.log 2>&1; status=$$?; $(call ended,$<.log)

# A script that hangs fails after 30 minutes; the others continue.
peer_limit := $(if $(FULL),,timeout --kill-after=10 1800)
$(PEERS:%=%.run): %.run: % | all
	@mkdir -p $(B)/peers
	@{ echo "== $<"; $(peer_limit) bash $<; } >$(B)/peers/$(<F).log 2>&1; status=$$?; cat $(B)/peers/$(<F).log; exit $$status

.PHONY: rooms
rooms: ## check the structure: rooms of heapdump.h, floors of the command, places of each format
	@mkdir -p $(B)
	@{ echo "== tests/rooms.sh"; tests/rooms.sh --self-test && tests/rooms.sh --enforce && tests/floors.sh --self-test && tests/floors.sh --enforce && tests/formats.sh --self-test && tests/formats.sh && tests/words.sh --self-test && tests/words.sh --enforce; } >$(B)/rooms.log 2>&1; status=$$?; $(call ended,$(B)/rooms.log)

.PHONY: digests
digests: $(B)/heapdump ## print digests of all answers of the command to the files of tests and fuzz; compare them before and after a change
	@tests/digests.sh $<

# Linked with the tests' library, which is built before the command's.
TEST_EXAMPLES := $(EXAMPLES:$(B)/%=$(B)/tests/%)
$(TEST_EXAMPLES): $(B)/tests/%: $(B)/%.o $(B)/tests/plain/library.o
	@mkdir -p $(@D)
	@$(link_example)

.PHONY: $(B)/examples.run
$(B)/examples.run: tests/examples.sh $(TEST_EXAMPLES)
	@{ echo "== $<"; CC="$(CC)" CXX="$(CXX)" CLANG="$(CLANG)" STB="$(STB)" $< $(B)/tests; } >$(B)/examples.log 2>&1; status=$$?; $(call ended,$(B)/examples.log)

.PHONY: test-programs $(B)/include.run
$(B)/include.run: tests/include/run.sh heapdump.h
	@{ echo "== $<"; CC="$(CC)" CXX="$(CXX)" CLANG="$(CLANG)" STB="$(STB)" $< $(B)/tests/include --first; } >$(B)/include.log 2>&1; status=$$?; $(call ended,$(B)/include.log)

test-programs: $(RUNS:%=%.run) $(B)/examples.run rooms $(B)/include.run

LOGS := $(RUNS:%=%.log) $(B)/examples.log $(B)/rooms.log $(B)/include.log

# After a failed test the others still run.
test: test-deps ## run the tests (needs a compiler, cmocka and stb); the last line has the totals
	@rm -f $(LOGS)
	@$(if $(HAS_YAML),,echo "SKIP: $(YAMLED): libyaml is missing (apt-get install libyaml-dev)")
	@$(MAKE) --no-print-directory -k test-programs; status=$$?; tests/totals.sh $(LOGS) && exit $$status

peers: $(PEERS:%=%.run) ## compare with the real programs of each format

# Fuzzing and benchmarks ---------------------------------------------------------------------

FUZZERS := $(patsubst fuzz/%.c,%,$(wildcard fuzz/fuzz_*.c))

fuzz-deps:
	$(call install,clang libstb-dev libyaml-dev zlib1g-dev pkg-config libclang-rt-14-dev)

# The library is compiled once, instrumented, for all harnesses.
fuzz_flags := -std=gnu99 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all

$(B)/fuzz/library.o: tests/library.c $(B)/tests/library.h | fuzz-deps
	@mkdir -p $(@D)
	$(CLANG) $(fuzz_flags) -fsanitize=fuzzer-no-link $(STB) $(DEPENDS) -Itests -I$(B)/tests -c $< -o $@

$(B)/fuzz/%: fuzz/%.c $(B)/fuzz/library.o | $(B)/tests/names.h fuzz-deps
	@mkdir -p $(@D)
	@$(CLANG) $(fuzz_flags) -fsanitize=fuzzer $(STB) $(DEPENDS) -I$(B)/tests $(fuzz_formats) $< $(B)/fuzz/library.o -o $@ -lyaml -lz

# With all formats of the command. $(DEPENDS) records only the headers of the harness, which is compiled last.
$(B)/fuzz/fuzz_all: private fuzz_formats := $(wildcard examples/heapdump/formats/*.c)
$(B)/fuzz/fuzz_all: $(wildcard examples/heapdump/formats/*.[ch])

-include $(FUZZERS:%=$(B)/fuzz/%.d) $(B)/fuzz/library.o.d

# Built and run one after the other; after a failure the others still run.
fuzz: $(B)/fuzz/library.o ## fuzz every reader for FUZZ_SECONDS [60] each; logs are in build/fuzz/*.log
	@FUZZ_SECONDS=$(FUZZ_SECONDS) fuzz/run.sh $(B) $(FUZZERS)

.PHONY: bench-deps bench-register bench-programs bench-v8 bench-index bench-yaml bench-pprof bench-heap-text bench-fleet
.PHONY: bench-slopes bench-compile bench-hprof bench-all
PROGRAMS := bench/programs.py --build $(B)

# After tools-deps, so that only one target installs at a time.
bench-deps: tools-deps
	$(call install,pkg-config libbenchmark-dev libabsl-dev libboost1.81-dev python3 sqlite3 heaptrack libgoogle-perftools4 libjemalloc2 libsimdjson-dev redis-server)

# NDEBUG turns off the checks inside the peers.
$(B)/bench: bench/bench.cc heapdump.h | bench-deps
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(CXXFLAGS) -DNDEBUG $(STB) $< -o $@ -lbenchmark -lpthread $$(pkg-config --libs absl_flat_hash_map)

$(B)/libregister_trace.so: bench/register_trace.c | bench-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(CFLAGS) -shared -fPIC -Wall -Wextra $< -o $@ -ldl

bench-register: $(B)/bench $(B)/libregister_trace.so ## benchmark the register with malloc calls of real programs, and its peers; REGISTER_ARGS: a part
	@bench/register_traces.py --build $(B) $(REGISTER_ARGS)

$(B)/two_threads: bench/two_threads.c | bench-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(CFLAGS) $(CWARN) $< -o $@ -lpthread

$(B)/trace: bench/trace.cc heapdump.h | bench-deps
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(CXXFLAGS) -DNDEBUG $(STB) $< -o $@ -lsimdjson -lpthread

$(B)/cutoff: bench/cutoff.c heapdump.h | bench-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(CFLAGS) $(CWARN) $(STB) $< -o $@ -lm -lpthread

$(B)/memprof_fleet: bench/memprof_fleet.c heapdump.h tests/memprof.h | bench-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(CFLAGS) $(CWARN) $(STB) $< -o $@ -lpthread

# Shorter than the library's own half second for each, and without the largest, to take at most five minutes.
LARGEST := 10M live|10000000 blocks|[12]0 M objects|million functions
bench: $(B)/bench ## run the microbenchmarks, ours and the peers'; BENCH_ARGS: longer, or a part (--benchmark_filter=. is all)
	@$(B)/bench --benchmark_min_time=0.02 "--benchmark_filter=-$(LARGEST)" $(BENCH_ARGS)

bench-all: all $(B)/bench $(B)/trace $(B)/two_threads $(B)/cutoff $(B)/memprof_fleet ## run all benchmarks, whole programs too: more than an hour
	@$(B)/bench $(BENCH_ARGS)
	@$(MAKE) --no-print-directory bench-register
	@$(B)/trace $(TRACE_ARGS)
	@$(MAKE) --no-print-directory bench-cutoff
	@$(MAKE) --no-print-directory bench-memprof
	@$(MAKE) --no-print-directory bench-index
	@$(MAKE) --no-print-directory bench-yaml
	@$(MAKE) --no-print-directory bench-heap-text
	@$(MAKE) --no-print-directory bench-v8
	@$(MAKE) --no-print-directory bench-pprof
	@$(MAKE) --no-print-directory bench-slopes
	@$(PROGRAMS) $(PROGRAMS_ARGS)

.PHONY: bench-against
ROUNDS ?= 5
bench-against: $(B)/bench ## compare benchmarks with heapdump.h of revision REV and this one, ROUNDS [5] times; BENCH_ARGS: a part
	@$(if $(REV),,echo "usage: make bench-against REV=HEAD~1 [ROUNDS=5] [BENCH_ARGS=--benchmark_filter=register]" >&2; exit 2)
	@CXX="$(CXX)" CXXFLAGS="$(CXXFLAGS)" STB="$(STB)" LIBS="-lbenchmark -lpthread $$(pkg-config --libs absl_flat_hash_map)" \
	  bench/against.py --build $(B) --rounds $(ROUNDS) "$(REV)" -- $(BENCH_ARGS)

# Compares the cut-off policies on the heaps of three programs, recorded with all their entries.
define cutoff_python
import json, os
people = [{"id": i, "name": "name %d" % (i * 7919 % 100003), "tags": ["t%d" % (i % k) for k in range(2, 8)]} for i in range(20000)]
assert json.loads(json.dumps(people)) == people
os._exit(0)
endef
define cutoff_sql
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000) select i, 'name ' || (i * 7919 % 5000) c from n order by c limit 1;
create table t(a integer primary key, b text, c text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000) insert into t select i, 'name ' || (i * 7919 % 5000), 'city ' || (i % 400) from n;
create index x on t(b);
create index y on t(c, b);
endef
export cutoff_python cutoff_sql

.PHONY: bench-cutoff
bench-cutoff: all $(B)/cutoff ## compare how much of real heaps each cut-off policy explains, at equal size of the output
	@mkdir -p $(B)/cutoffs
	@echo '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n#include <pthread.h>\nint main(void) { return 0; }' >$(B)/cutoffs/c.c
	@$(B)/heapdump record --min-bytes 1 -o $(B)/cutoffs/python3.json -- /usr/bin/python3 -c "$$cutoff_python"
	@$(B)/heapdump record --min-bytes 1 --at peak -o $(B)/cutoffs/sqlite3.json -- sqlite3 :memory: "$$cutoff_sql" >/dev/null
	@$(B)/heapdump record --min-bytes 1 -o $(B)/cutoffs/gcc.json -- $$($(CC) -print-prog-name=cc1) -O2 -quiet $(B)/cutoffs/c.c -o $(B)/cutoffs/c.s
	@$(B)/cutoff $(B)/cutoffs/python3.json $(B)/cutoffs/sqlite3.json $(B)/cutoffs/gcc.json

.PHONY: bench-memprof
bench-memprof: all $(B)/memprof_fleet ## compare with LLVM's tools: merge 500 MemProf profiles, name addresses
	$(call install,python3 clang-19 llvm-19 binutils time)
	@bench/memprof.py --build $(B) $(MEMPROF_ARGS)

bench-index: all ## compare heapdump index and merge with llvm-profdata merge, output sizes too: ten minutes
	$(call install,python3 clang-19 llvm-19 libclang-rt-19-dev)
	@bench/memprof_index.py --build $(B) $(INDEX_ARGS)

bench-yaml: all ## compare heapdump index with llvm-profdata-22 on 100 MB of MemProf YAML: a minute
	$(call install,python3)
	@bench/memprof_yaml.py --build $(B) $(YAML_ARGS)

bench-compile: library-deps ## measure the compile time of the header, complete and without groups of rooms
	@CC="$(CC)" STB="$(STB)" bench/compile.sh $(B)

bench-heap-text: all ## compare heapdump top with jeprof --text on a jemalloc heap profile: a minute
	$(call install,python3 libjemalloc2 libjemalloc-dev binutils)
	@bench/heap_text.py --build $(B) $(HEAP_TEXT_ARGS)

bench-v8: all ## compare heapdump retained with v8-heap-parser and memlab on a large V8 snapshot: two minutes; FULL=1: also one of 2 GB
	$(call install,python3)
	@bench/v8.py --build $(B) $(if $(FULL),--full) $(V8_ARGS)

bench-hprof: all ## compare heapdump with VisualVM's library on a heap dump of 316 MB: five minutes; HPROF_ARGS='--large 2': also 2 GB
	$(call install,python3 openjdk-17-jdk-headless)
	@bench/hprof.py --build $(B) $(HPROF_ARGS)

bench-pprof: all ## compare with go tool pprof: merge 500 pprof profiles, a few minutes
	$(call install,python3 golang-go)
	@bench/pprof.py --build $(B) $(PPROF_ARGS)

$(B)/bench_fleet: bench/fleet.c heapdump.h | bench-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(CFLAGS) $(CWARN) $(STB) $< -o $@ -lz -lm -lpthread

bench-fleet: all $(B)/bench_fleet ## merge up to 10,000 profiles of a fleet, in one process, by MPI, and by go tool pprof: ten minutes
	$(call install,python3 golang-go libopenmpi-dev openmpi-bin time)
	OMPI_CC="$(CC)" mpicc -std=gnu99 $(CFLAGS) $(STB) examples/merge_mpi.c -o $(B)/merge_mpi -lz -lpthread
	@bench/fleet.py --build $(B) $(FLEET_ARGS)

bench-slopes: all ## measure time and memory of inputs that aim at more than linear cost
	$(call install,python3)
	@bench/slopes.py $(B)/heapdump $(SLOPES_ARGS)

bench-programs: all $(B)/two_threads ## measure the overhead of recording whole programs, ours and others': a quarter of an hour
	@$(PROGRAMS) $(PROGRAMS_ARGS)

clean: ## remove build/
	rm -rf $(B)
