# The implementation, libQnnRef.so and the fake libraries of tests in each configuration, build/<config>/.

# How each compiles. The tests of c99 and c++11 use the backends of build/, which the tools use, too.
CC_check    = $(CC) -std=c99 $(OPT_TEST) -g1 -DTEST_SHARE=5 $(CPPFLAGS) $(CFLAGS)
CC_c99      = $(CC) -std=c99 $(OPT_C99) -g $(CPPFLAGS) $(CFLAGS)
CC_lib      = $(CC) -std=c99 $(OPT_LIB) $(CPPFLAGS) $(CFLAGS) $(LIB_FLAGS)
CC_c++11    = $(CXX) -x c++ -std=c++11 $(OPT_CXX) -g $(CPPFLAGS) $(CXXFLAGS)
CC_asan     = $(ASAN_CC) -std=c99 $(OPT_ASAN) -g $(SANITIZE) $(CPPFLAGS) $(CFLAGS)
CC_m32      = $(CC) -std=c99 -m32 -msse2 -mfpmath=sse -O1 -g $(M32_HEADERS) $(CPPFLAGS) $(CFLAGS)
CC_aarch64  = $(AARCH64_CC) -std=c99 -O2 -g
CC_fuzz     = clang -std=c99 -O1 -g $(SANITIZE) -fsanitize=fuzzer-no-link
CC_tsan     = $(CC) -std=c99 -O1 -g -fsanitize=thread $(CPPFLAGS) $(CFLAGS)
# One heap object per allocation, as with ASan: each can then fail.
CC_cover    = clang -std=c99 -O0 -g -DQNNRT__ASAN -fprofile-instr-generate -fcoverage-mapping $(CPPFLAGS) $(CFLAGS)
CONFIGS    := lib check c99 c++11 asan m32 aarch64 fuzz tsan cover
# Debian's gcc-12-multilib has no 32-bit asm/; use the one for 64 bits.
M32_HEADERS = $(eval M32_HEADERS := -idirafter /usr/include/$$(shell $$(CC) -print-multiarch))$(M32_HEADERS)

# What prepares and is not called again and again: a second of a compiler's time is worth more there.
LIGHT      := $(foreach row,$(call having,7,light),$(call object,$(row)))
OPT_LIB     = $(if $(filter $(LIGHT),$(@F)),$(OPT_LIGHT),$(OPT))

# Users' level, -O2, is that of build/lib, with which the tests of c99 are linked. A test that includes an
# implementation is compiled in 1 s with -O0, in 1.7 s with -Og and in 7 s with -O2 (clang and ASan: 2 s, and 14 s with
# -O1): only what computes for longer than that has more. make check plays a fifth of the long sweeps.
SLOW       := impl.o llm.o test_plan test_quant test_json test_llm_sample
OPT_TEST    = $(if $(filter $(SLOW),$(@F)),-Og,-O0)
OPT_CXX     = $(if $(filter impl.o llm.o,$(@F)),-O0,$(OPT_TEST))
OPT_ASAN    = $(if $(filter test_plan test_quant test_json test_llm_sample,$(@F)),-O1,-O0)
OPT_C99     = $(if $(filter ops llm_exact llm_plain,$(@F)),-O2,$(if $(filter test_plan test_json test_llm_sample,$(@F)),-Og,-O0))

# The configuration of a target, which is build/<config>/<file> or build/<config>/<folder>/<file>.
config      = $(firstword $(subst /, ,$(patsubst $(B)/%,%,$@)))

# libQnnRef.so, the reference backend: build/libQnnRef.so, and one for each configuration that needs its own.
REF_DIRS   := $(B) $(addprefix $(B)/,check asan m32 aarch64 fuzz tsan)
REF_FLAGS  := -ffp-contract=off -D_POSIX_C_SOURCE=200809L -fPIC -fvisibility=hidden
# Products of matrices take most of the time of language models in tests.
REF_OPT     = $(if $(filter check,$(config)),$(if $(filter ops_linear.o,$(@F)),-O2,-O1),$(if $(filter asan,$(config)),-O1))
# What computes for long; the rest is called once for a graph or a call.
REF_HOT    := $(REF_OPS) shape tensor execute
REF_BUILD   = $(or $(CC_$(config)),$(CC) -std=c99 $(if $(filter $(REF_HOT:%=%.o),$(@F)),$(OPT),$(OPT_LIGHT)) $(CPPFLAGS) $(CFLAGS)) $(REF_OPT)
$(foreach d,$(REF_DIRS),$(REF:%=$d/ref/%.o)): tools/refbackend/$$(basename $$(@F)).c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(REF_BUILD) $(WARN) $(DEPEND) $(REF_FLAGS) -c -o $@ $<

$(REF_DIRS:%=%/libQnnRef.so): $(REF:%=$$(@D)/ref/%.o)
	$(call say,LD)
	$(Q)$(REF_BUILD) -shared -o $@ $^ $(LDFLAGS) -lm -pthread

.PHONY: ref
## ref: build the reference backend, build/libQnnRef.so (tools/refbackend/README.md)
ref: $(B)/libQnnRef.so

# libQnnFake.so, which tests steer.
FAKE_DIRS  := $(B)/fake $(addprefix $(B)/,check/fake m32/fake aarch64/fake fuzz/fake)
CC_fake     = $(CC_c99)
$(FAKE_DIRS:%=%/libQnnFake.so): tests/fake/fake_qnn.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_$(config)) $(WARN) $(TEST_CPPFLAGS) $(DEPEND) -fPIC -shared -o $@ $< $(LDFLAGS) -ldl -pthread

# libcdsprpc.so as it is in phones, and as it was without rpcmem_alloc2.
$(FAKE_DIRS:%=%/libcdsprpc.so) $(FAKE_DIRS:%=%/old/libcdsprpc.so): tests/fake/fake_cdsprpc.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_$(config)) $(WARN) $(if $(findstring /old/,$@),-DOLD) -fPIC -shared -o $@ $< $(LDFLAGS)

# libFakeOrt.so has the table of ONNX Runtime.
$(FAKE_DIRS:%=%/libFakeOrt.so): tests/fake/fake_ort.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_$(config)) $(WARN) $(DEPEND) -fvisibility=hidden -fPIC -shared -o $@ $< $(LDFLAGS)

# OpenVINO's C library as tests need it.
$(FAKE_DIRS:%=%/openvino/libopenvino_c.so.9990): tests/fake/fake_openvino.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_$(config)) $(WARN) $(TEST_CPPFLAGS) -fPIC -shared -o $@ $< $(LDFLAGS)

$(B)/fake/libOpPackage.so: tests/fake/op_package.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC_c99) $(WARN) -fPIC -shared -o $@ $< $(LDFLAGS)

# The implementation of the headers, once for each configuration. A test takes from libqnnrt.a what it
# does not define itself; tests/project/test_own.py knows which tests define something. The configuration "lib" is for
# what users get: tools, examples and libqnnrt.so are linked with it, and the tests of c99, too.
# make test lets a warning in build/lib fail (LIB_WARN=-Werror).
LIB_WARN    =
IMPL        = $(CC_$(config)) $(WARN) $(if $(filter lib,$(config)),$(LIB_WARN)) $(TEST_CPPFLAGS) $(DEPEND) $(if $(filter c++11,$(config)),,-x c) -c -o $@ $<
IN_EACH     = $(addprefix $(B)/,$(addsuffix /$(1),$(CONFIGS)))

# For tests, each plan of qnnrt_compile.h is checked.
PLAN_CHECK  = $(if $(filter lib,$(config)),,-DQNNRT_COMPILE_PLAN_CHECK=partition_check -include partition_check.h)

# header OBJECT HEADER MACROS FLAGS: how build/<config>/OBJECT is made
define header
IMPL_OBJECTS += $(1)
$$(call IN_EACH,$(1)): $(2) tools/headers $$(B)/.flags
	$$(call say,CC)
	@mkdir -p $$(@D)
	$$(Q)$$(IMPL) $(if $(filter QNNRT_IMPLEMENTATION,$(3)),,-DQNNRT__IMPL_ONCE) $(addprefix -D,$(3)) $(4)
endef
$(foreach row,$(ROWS),$(if $(filter -% +%,$(call column,3,$(row))),,$(eval $(call header,$(call object,$(row)),$(call column,1,$(row)),\
    $(call list,$(call column,4,$(row))),$(if $(filter impl,$(call column,3,$(row))),$(FRIENDS))$(if $(filter compile,$(call column,3,$(row))),$$(PLAN_CHECK))))))

$(call IN_EACH,nojson.o): qnnrt.h $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(IMPL) -DQNNRT_NO_JSON -DQNNRT_IMPLEMENTATION

TOOL_OBJECTS := $(foreach row,$(call having,7,tool),$(call object,$(row)))
$(call IN_EACH,libqnnrt.a): $$(addprefix $$(@D)/,$(IMPL_OBJECTS))
$(B)/lib/libtool.a: $(addprefix $(B)/lib/,$(TOOL_OBJECTS))
$(call IN_EACH,libqnnrt.a) $(B)/lib/libtool.a:
	@rm -f $@ && ar rc $@ $^
