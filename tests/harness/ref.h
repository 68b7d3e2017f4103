/* ref.h - libQnnRef.so for tests that call it through its table, without qnnrt.h

   ref_open() loads it once; ref.x are its calls; ref_begin(faults) sets rules and forgets logged
   lines. */
#ifndef TESTS_REF_H
#define TESTS_REF_H

#include <dlfcn.h>
#include <pthread.h>
#include "test.h"
#include "refbackend/qnn_abi.h"

#ifndef TEST_REF_LIB
#define TEST_REF_LIB "build/libQnnRef.so"
#endif

/* index in the table, name, arguments */
#define REF_CALLS(X)                                                                              \
    X(0, property, (uint32_t))                                                                    \
    X(1, backend_create, (q_handle, const q_config **, q_handle *))                               \
    X(3, api_version, (q_versions *))                                                             \
    X(4, build_id, (const char **))                                                               \
    X(5, op_package, (q_handle, const char *, const char *, const char *))                        \
    X(6, operations, (q_handle, uint32_t *, const q_op_name **))                                  \
    X(7, validate, (q_handle, q_op))                                                              \
    X(8, backend_free, (q_handle))                                                                \
    X(9, context_create, (q_handle, q_handle, const q_config **, q_handle *))                     \
    X(10, context_config, (q_handle, const q_config **))                                          \
    X(11, binary_size, (q_handle, uint64_t *))                                                    \
    X(12, binary, (q_handle, void *, uint64_t, uint64_t *))                                       \
    X(13, load, (q_handle, q_handle, const q_config **, const void *, uint64_t, q_handle *,       \
                 q_handle))                                                                       \
    X(14, context_free, (q_handle, q_handle))                                                     \
    X(15, graph_create, (q_handle, const char *, const q_config **, q_handle *))                  \
    X(17, graph_config, (q_handle, const q_config **))                                            \
    X(18, add_node, (q_handle, q_op))                                                             \
    X(19, finalize, (q_handle, q_handle, q_handle))                                               \
    X(20, retrieve, (q_handle, const char *, q_handle *))                                         \
    X(21, execute, (q_handle, const q_tensor *, uint32_t, q_tensor *, uint32_t, q_handle,         \
                    q_handle))                                                                    \
    X(24, graph_tensor, (q_handle, q_tensor *))                                                   \
    X(25, log_create, (q_log_callback, uint32_t, q_handle *))                                     \
    X(26, log_level, (q_handle, uint32_t))                                                        \
    X(27, log_free, (q_handle))                                                                   \
    X(28, profile_create, (q_handle, uint32_t, q_handle *))                                       \
    X(30, profile_events, (q_handle, const uint64_t **, uint32_t *))                              \
    X(31, profile_sub, (uint64_t, const uint64_t **, uint32_t *))                                 \
    X(32, profile_data, (uint64_t, q_event *))                                                    \
    X(33, profile_extended, (uint64_t, q_extended_event *))                                       \
    X(34, profile_free, (q_handle))                                                               \
    X(35, mem_register, (q_handle, const q_mem_descriptor *, uint32_t, q_handle *))               \
    X(36, mem_deregister, (const q_handle *, uint32_t))                                           \
    X(37, platform_info, (q_handle, const q_platform_info **))                                    \
    X(38, platform_free, (q_handle, const q_platform_info *))                                     \
    X(39, infrastructure, (q_infrastructure **))                                                  \
    X(40, device_create, (q_handle, const q_config **, q_handle *))                               \
    X(42, device_info, (q_handle, const q_platform_info **))                                      \
    X(43, device_free, (q_handle))                                                                \
    X(44, signal_create, (q_handle, const q_config **, q_handle *))                               \
    X(48, error_message, (q_code, const char **))                                                 \
    X(54, validate_binary, (q_handle, q_handle, const q_config **, const void *, uint64_t))       \
    X(57, update, (q_handle, const q_tensor **, uint64_t))
#define REF_SYSTEM_CALLS(X)                                                                       \
    X(0, system_create, (q_handle *))                                                             \
    X(1, system_info, (q_handle, void *, uint64_t, const q_binary_info **, uint64_t *))           \
    X(2, metadata, (q_handle, const void *, uint64_t, const q_binary_info **))                    \
    X(3, system_free, (q_handle))

typedef q_code (*ref_get_core)(const q_core_provider ***, uint32_t *);
typedef q_code (*ref_get_system)(const q_system_provider ***, uint32_t *);

typedef struct ref_api {
    void *library;
    int (*control)(const char *, char *, size_t);
    ref_get_core get_core;
    ref_get_system get_system;
#define REF_MEMBER(index, name, arguments) q_code (*name) arguments;
    REF_CALLS(REF_MEMBER)
    REF_SYSTEM_CALLS(REF_MEMBER)
} ref_api;

static ref_api ref;

static char   ref_lines[65536];          /* lines of all logs, the newest last */
static size_t ref_line_bytes;
static pthread_mutex_t ref_lines_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void ref_logged(const char *format, uint32_t level, uint64_t time, va_list args)
{
    (void)level; (void)time;
    pthread_mutex_lock(&ref_lines_lock);
    if (ref_line_bytes > sizeof(ref_lines) / 2) ref_line_bytes = 0;
    vsnprintf(ref_lines + ref_line_bytes, sizeof(ref_lines) / 2, format, args);
    ref_line_bytes += strlen(ref_lines + ref_line_bytes);
    pthread_mutex_unlock(&ref_lines_lock);
}

/* Return the answer to a command, in one static buffer. */
static inline const char *ref_ask(const char *command)
{
    static char answer[65536];
    if (ref.control(command, answer, sizeof(answer)) < 0 && answer[0] == '\0')
        snprintf(answer, sizeof(answer), "(no such command)");
    return answer;
}

/* Return the milliseconds that rules have delayed calls, in total. */
static inline unsigned long long ref_delayed_ms(void)
{
    unsigned long long ms = 0;
    if (sscanf(ref_ask("counters"), "allocations %*u delayed_ms %llu", &ms) != 1) exit(1);
    return ms;
}

/* Take the calls of any library that has these interfaces. */
static inline void ref_slots_of(ref_api *api)
{
    const q_core_provider **core = NULL;
    const q_system_provider **system = NULL;
    uint32_t count = 0;
#define REF_TAKE(index, name, arguments)                                                          \
    memcpy((void *)&api->name, (const void *)&core[0]->slots[index], sizeof(api->name));
#define REF_TAKE_SYSTEM(index, name, arguments)                                                   \
    memcpy((void *)&api->name, (const void *)&system[0]->slots[index], sizeof(api->name));
    if (api->get_core(&core, &count) == 0 && core != NULL) { REF_CALLS(REF_TAKE) }
    if (api->get_system != NULL && api->get_system(&system, &count) == 0 && system != NULL) {
        REF_SYSTEM_CALLS(REF_TAKE_SYSTEM)
    }
}

static inline void ref_slots(void) { ref_slots_of(&ref); }

static inline void *ref_symbol(const char *name)
{
    void *symbol = dlsym(ref.library, name);
    if (symbol == NULL) {
        printf("%s has no symbol %s\n", TEST_REF_LIB, name);
        exit(1);
    }
    return symbol;
}

static inline void ref_open(void)
{
    void *symbol;
    if (ref.library != NULL) return;
    ref.library = dlopen(TEST_REF_LIB, RTLD_NOW | RTLD_LOCAL);
    if (ref.library == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    symbol = ref_symbol("QnnInterface_getProviders");
    memcpy((void *)&ref.get_core, (const void *)&symbol, sizeof(symbol));
    symbol = ref_symbol("QnnSystemInterface_getProviders");
    memcpy((void *)&ref.get_system, (const void *)&symbol, sizeof(symbol));
    symbol = ref_symbol("QnnRef_control");
    memcpy((void *)&ref.control, (const void *)&symbol, sizeof(symbol));
    ref_slots();
}

/* Set the rules and read the tables again. */
static inline void ref_begin(const char *faults)
{
    char command[1024];
    ref_open();
    snprintf(command, sizeof(command), "faults %s", faults);
    if (ref.control(command, NULL, 0) < 0) {
        printf("no such faults: %s\n", faults);
        exit(1);
    }
    ref_slots();
    ref_line_bytes = 0;
    ref_lines[0] = '\0';
}

#endif
