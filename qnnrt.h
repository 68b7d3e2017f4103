/* qnnrt.h - v0.5.0 - open a folder of Qualcomm QNN context binaries and run it; C99, no SDK

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt.h"
       #include "qnnrt.h"
   Link with -ldl. Qualcomm's libraries are opened at run time; see "Finding the libraries".
   Keep qnnrt_json.h beside this file, or define QNNRT_NO_JSON.

       qnnrt *model; qnnrt_run *run; qnnrt_error err; size_t bytes;
       qnnrt_desc desc = {0};                          // every 0 is a default
       desc.backend_desc.path = "libs/libQnnHtp.so";   // or NULL: beside the program, then searched
       if (qnnrt_open("model_dir", &desc, &model, &err) != QNNRT_OK) { puts(err.text); return 1; }
       // NULL: the model's only pipeline; if it has several, give a name
       if (qnnrt_prepare(model, NULL, &run, &err) != QNNRT_OK) { puts(err.text); return 1; }
       if (qnnrt_bind(run, "input_ids", tokens, sizeof tokens) != QNNRT_OK ||      // no copy
           qnnrt_exec(run) != QNNRT_OK) { puts(qnnrt_run_error(run)->text); return 1; }
       const uint16_t *logits = (const uint16_t *)qnnrt_data(run, "logits", &bytes);
       qnnrt_run_destroy(run); qnnrt_close(model);

   Trust    Files and the names in them may be hostile. The caller's arguments are trusted, and so
            is the vendor library that they name. The vendor parses the bytes too, after our checks.
            Symbolic links in a folder are followed. If others can write to a mapped file, it can
            change between the metadata and the load: set desc.read, or replace files by rename.
   Memory   One allocator hook; only shared memory and guard pages come from the system.
            qnnrt_exec() allocates nothing, unless it loads contexts (see "Residency").
   Threads  None are created. Any thread may read a model; one thread at a time uses a run.
   Globals  One table of log slots, because the vendor's log callback has no user pointer. Nothing
            is printed, nothing aborts.
   Not yet  Special data formats, and on HTP optional tensors and dynamic dimensions, are reported
            and refused by qnnrt_prepare(). A tensor must be smaller than 4 GiB. Linux and Android,
            64-bit; macOS to inspect and check files. qnnrt_open() uses at most 16 KB of stack.
   Versions Before 1.0 nothing is promised about binary compatibility: compile the header and its
            users together; QNNRT_CHECK_VERSION() tells whether they are. HISTORY at the end lists
            what changed, with replacements.

   WORDS
       backend    an opened library that runs graphs, with its device and its log: the vendor's
                  (HTP: the NPU) or libQnnRef.so of this project, the reference for any CPU. A
                  context binary belongs to the backend that made it
       model      an opened folder: contexts, their graphs, and pipelines. Only what is loaded of it
                  changes
       context    one loaded context binary, a compiled model file; one of several is a shard
       graph      one callable function of a context, such as "prefill" and "decode"
       tensor     an input or output: name, id, dtype, dims (row-major), encoding, bytes
       encoding   how the stored integers of a quantized tensor become real numbers:
                  real = (q + offset) * scale
       step       a graph or a function of the caller (a host step)
       pipeline   steps in order, wired: an output of one is an input of a later one. Steps are
                  counted from 0; a single graph is a pipeline of one step
       slot       one place in memory that a pipeline reads or writes; found by name once, then used
                  by its handle
       edge       a slot that one step writes and later steps read. Both ends share one memory, so
                  nothing is copied
       plan       offsets for the slots of one or more pipelines, from sizes and lifetimes. Its
                  entries are pipelines; its blocks are the slots and buffers that have an offset
       group      entries that never execute at the same time, and therefore share scratch: the
                  memory of edges and outputs
       buffer     a named block that keeps its content between calls (a KV cache); a place puts a
                  slot at an offset of it
       mem        memory that follows a plan
       run        an entry of a plan made executable: arrays filled, ready to bind and exec

   LAYERS: headers of tools/, which an app includes after this one when it needs them
       qnnrt_json.h <-- qnnrt.h <-+- qnnrt_device.h    * votes for clocks, op packages, dims,
                                  |                      updates, swapping, recovery, memory
                                  +- qnnrt_profile.h   * what the library measured, as
                                  |                      tables and for the vendor's viewer
                                  +- qnnrt_builder.h   * graphs built in C, or from .dlc
                                  +- qnnrt_explain.h     what lines of logs mean
                                  +- qnnrt_convert.h     conversions, as host steps
                                  |    ^-- qnnrt_manifest.h   folders that say what they are
                                  +- qnnrt_llm.h         language models
                                  +- qnnrt_session.h     any engine that can run a model
                                  +- qnnrt_compile.h     graphs compiled for several backends
       tools/README.md lists all of them. They stand on the functions below. Those with * see more:
       their implementation is compiled in the same file as this one's, after it. This header knows
       none of them. Without qnnrt_device.h, runs with dynamic dims cannot execute, and optional
       tensors always take part.

   BUILD OPTIONS, defined before the header is first included
       QNNRT_STATIC           makes every function static (default: external). In a shared object
                              define this, or QNNRT_API with hidden visibility; otherwise two copies
                              of the library can clash
       QNNRT_API              replaces the storage and export prefix of all functions
                              Both also apply to qnnrt_json.h, unless it was included before
       QNNRT_LOG_SLOTS        number of backends that can log at the same time, 1 to 16 (default 8)
       QNNRT_NO_ERROR_TEXT    drops hints of this header, and symbols and causes of vendor codes
                              (13 KB)
       QNNRT_NO_JSON          reads metadata from libQnnSystem.so only; qnnrt_json.h is not needed.
                              JSON that desc.files names is then refused

   MANUAL

   Opening a folder
       qnnrt_open() takes a folder and finds the context binaries in it. It looks for these kinds
       of names, and uses only the files of the first line that fits:
           genie_config.json               shards that its "ctx-bins" lists: names in the folder
           forward_<i>.bin                 shards 0 .. n-1 of one model, in numeric order, no gaps
           <anything>_<i>_of_<n>.bin       shards 1 .. n of one model
           *.bin                           every context binary, in natural order; other files are
                                           skipped with a line in the log
       Instead of a folder, desc.files names files or memory blocks. A file may begin with
       ExecuTorch's 256-byte header. With desc.keep_going a shard that fails is reported in its
       qnnrt_context_info, and the others load.

   Metadata
       The binary itself says which graphs and tensors it has, with ids, dims and encodings, and
       libQnnSystem.so reads that. Without that library, use the text that the SDK's
       qnn-context-binary-utility prints: <name>_json.json beside <name>.bin (forward_0_json.json
       for forward_0.bin), or desc.files[i].json_path. Without the SDK, this makes the text:
           qnnrt-run inspect model_dir --json_file model_dir/
       One source is enough. If both exist, they must agree: a graph, tensor, id, direction,
       dtype, dimension or encoding (float32 bit by bit) that differs is an error with both values,
       because metadata of another build fails late and without a reason. desc.metadata chooses one
       source. Other *.json files in the folder are ignored. A tensor whose type is "UNKNOWN" in the
       text (old utilities) counts as APP_WRITE among inputs and as APP_READ among outputs.

   Looking inside
       desc.inspect reads without a backend. This prints the tensors of the first pipeline:
           const qnnrt_info *m = qnnrt_get_info(model);
           const qnnrt_pipeline_info *p = qnnrt_pipeline_get_info(m->pipelines[0]);
           for (i = 0; i < p->slot_count; ++i)
               printf("%s %s %s\n", qnnrt_role_name(p->slots[i].role), p->slots[i].address,
                      qnnrt_dtype_name(p->slots[i].tensor->dtype));
       The tool qnnrt-run (tools/ of the project) prints all of it without a line of code.

   Finding the libraries
       A path with a slash is opened as it is. A bare name (default: libQnnHtp.so) is searched in
       the folder of the running program, then in the folder of the shared object that holds this
       code, then by the system. It is never searched in the current folder or in the model's
       folder: if LD_LIBRARY_PATH has an empty element, which means the current folder, the system's
       search is left out. libQnnSystem.so: the given path; else the backend library itself if it
       has that interface too (libQnnRef.so has); else the file beside it; else the same search.
       qnnrt_backend_info.path is the path that was loaded. Core interfaces 2.23 to 2.40 are known
       (2.36 to 2.40 were run); older ones are refused, newer ones accepted with a log line.

   Sharing a backend
       Two models on one library share a backend, and with it its log and its lock:
           qnnrt_backend_open(&backend_desc, &backend, &err);
           desc.backend = backend;     // desc.backend_desc is then not used
           qnnrt_open("a", &desc, &a, &err);
           qnnrt_open("b", &desc, &b, &err);
       Close both models, then call qnnrt_backend_close(). The x86-64 emulator runs models of one
       NPU generation at a time: with v68 and v75, the one loaded first fails to execute (0x44c).

   Pipelines and wiring
       Graphs of several shards form one pipeline if their names are equal, or equal except for the
       shard number, or if every context has exactly one graph (then: file order). A pipeline has
       the name of its first graph, without a trailing "_1_of_<n>". Each input of a step is wired by
       the first rule that fits:
           1. the nearest earlier output of the same name; if dims, dtype or encoding differ, the
              wiring fails
           2. if no edge leads from a step to the next one: the only unmatched output and the only
              unmatched input of these two that fit each other (an input that an earlier step takes
              from the caller, such as a mask, stays the caller's)
       Every step after the first needs an edge from the step before it. Tensors that do not fit are
       refused by name and never guessed, because a wrong scale between two shards gives plausible
       but wrong output. If a pipeline cannot be wired, qnnrt_open() succeeds all the same: the
       single graphs stay callable as "<context>/<graph>" ("2/decode_3_of_4"), and
       qnnrt_pipeline_make() takes explicit edges. Inputs with the same name and equal facts are one
       slot, unless qnnrt_pipeline_make() keeps them apart. If several slots have a name, address
       one with its step: "2/output_0".

   Several backends
       What an NPU cannot do, another backend or this CPU can. A model has one backend; a pipeline
       may consist of graphs of several models, and of functions of yours, called host steps:
           steps[0].model = npu; steps[0].graph = "first";
           steps[1].host  = &softmax;                           // a qnnrt_host_step
           steps[2].model = npu; steps[2].context = 1; steps[2].graph = "last";
           edges[0].from_step = 0; edges[0].from = "y"; edges[0].to_step = 1; edges[0].to = "x";
           ...
           qnnrt_pipeline_make(&pipeline_desc, &pipeline, &err);
       Then plan and run it as any pipeline. An edge between equal tensors is one memory, whatever
       the backends are. Where only dtype, encoding or layout differ, a conversion between the two
       makes them fit: a host step of tools/qnnrt_convert.h. Inputs that never change, such as a
       table of embeddings, can be constants of the pipeline: they are read where they lie.
       The backends of a pipeline have the same alloc and free, and all a lock or none. Each step
       takes the lock of its own backend; host steps take none. qnnrt_step_text() says what a step
       is and where it runs.
       A folder can say all of this, and which file is for which backend, in the part "program" of
       its qnnrt.json. tools/qnnrt_manifest.h opens and writes such folders; qnnrt_open() refuses
       them (not with QNNRT_NO_JSON).

   Values
       qnnrt_data() gives the stored bytes in place. They order like the numbers, so an argmax
       needs no conversion. qnnrt_write_f32() and qnnrt_read_f32() convert by type and encoding,
       exactly; qnnrt_write_i32() and qnnrt_read_i32() do so for int32. All take a slot and the
       first element; look a name up once, before a loop:
           const qnnrt_slot *logits = qnnrt_run_slot(run, "logits");
           qnnrt_read_f32(run, logits, (uint64_t)row * vocabulary, values, vocabulary);
       An index that a graph looks up in a table must be one of its rows: for another one HTP fails
       (0x44c), and the CPU library fails (0x1770) or, with -1, computes with a wrong row. So an
       int32 input can have a range (qnnrt_use_desc), out of which the two functions that write
       take no value. Memory that you write yourself is not checked: compare with slot->low and
       slot->high.

   Memory
       qnnrt_prepare() plans one pipeline: inputs keep their content between calls and start as
       real zero; edges and outputs share memory where they can. A tensor may live in your
       memory instead (qnnrt_bind). For prefill, decode and a draft model over one arena, with
       caches that stay:
           entries[0].pipeline = prefill; entries[0].group = 1;      // never at the same time
           entries[1].pipeline = decode;  entries[1].group = 1;
           buffers[0].name = "cache";     buffers[0].bytes = cache_bytes;
           qnnrt_slot_find(decode, "past_key_0_in", QNNRT_ROLE_INPUT, &key_in, &err);
           places[0].entry = 1; places[0].slot = key_in; places[0].buffer = 0;
           plan_desc.entries = entries;   plan_desc.entry_count = 2; // buffers and places alike
           qnnrt_plan_create(&plan_desc, &plan, &err);               // offsets only
           qnnrt_mem_create(plan, NULL, &mem, &err);
           qnnrt_run_create(mem, 0, &prefill_run, &err);
           qnnrt_run_create(mem, 1, &decode_run, &err);
           cache = &qnnrt_mem_get_info(mem)->buffers[0];
           qnnrt_bind_at(decode_run, key_in, mem, cache->offset + moved);  // moved: your bytes
       examples/02_prefill_decode.c is the whole program. qnnrt_prepare_with() has choices for one
       pipeline: guard pages that fault at the first access beyond a tensor, edges that can be read
       after an exec, memory that is not filled, inputs and outputs in memory of the caller only.

   Shared memory
       An NPU cannot see plain memory: its library copies each input and output at every exec. It
       uses a tensor in place if the memory has a file descriptor and is registered:
           prepare_desc.mem.kind = QNNRT_MEM_SHARED;  // for qnnrt_prepare_with()
           mem_desc.kind = QNNRT_MEM_SHARED;          // for qnnrt_mem_create()
           qnnrt_run_transfers(run, &list, &count);   // list[i].registered, else list[i].reason
       QNNRT_MEM_SHARED takes FastRPC's allocator in libcdsprpc.so, then your qnnrt_mem_provider if
       there is one, else plain memory, with the reason in qnnrt_mem_info. QNNRT_MEM_RPCMEM or
       QNNRT_MEM_PROVIDER makes its absence an error. tools/qnnrt_device.h has providers for the
       kernel's heaps, for a descriptor of yours, such as a camera's buffer, and for anonymous
       files, which libQnnRef.so takes.
       A run registers its tensors when it is created, and the registrations are kept until the mem
       is destroyed or the context is freed: each (context, offset, type, shape) once, however many
       runs use it. A tensor is not registered, and reaches the device as without this, if it is
       bound to memory of yours, is a scalar, has elements of less than 8 bits or dimensions that
       may change, belongs to a step of another backend than the plan's first one, if the library
       refuses it, or if it moved to more than 16 offsets.
       Memory begins at a page, tensors at the plan's align (64 bytes); an offset must be a multiple
       of the element size. qnnrt makes no call to maintain caches: rpcmem's memory is cached (flag
       1), and the vendor's library does what is needed, as its "HTP Shared Buffer Tutorial" shows.
       Other users of the descriptor bracket their access with DMA_BUF_IOCTL_SYNC of
       linux/dma-buf.h. Nobody may write to an input during an exec.

   Residency
       By default all contexts exist on the backend until qnnrt_close(). With
           desc.residency = QNNRT_RESIDENT_CALLER;
       those exist that the caller loads with qnnrt_context_load(). After qnnrt_model_swap() of
       tools/qnnrt_device.h, qnnrt_exec() loads and frees them in a budget. The size of a context is
       an estimate, qnnrt_context_info.device_bytes. Files are opened again for that, and compared
       by their fingerprint: keep them in place; a file that was replaced is an error (QNNRT_E_IO)
       and not loaded. Memory blocks of desc.files must stay. Relative paths depend on the current
       folder. desc.progress shows how far qnnrt_open() is, and can end it.

   After a restart of the DSP
       Every call can return the vendor codes 1007 and 1011: the DSP restarted, and all that was
       loaded is lost. Calls then fail with QNNRT_E_BACKEND until everything on the backend was
       closed and opened again, or qnnrt_model_recover() of tools/qnnrt_device.h did that.

   Power
       On a device, an NPU without votes runs at low clocks:
           desc.backend_desc.power = QNNRT_POWER_BURST;
       The vote costs power as long as the backend is open. What the backend does not take is a
       warning in the log. tools/qnnrt_device.h changes votes, by single numbers too, and has an
       answer for each setting.

   Errors
       Calls that open or make things take a qnnrt_error, which may be NULL. Calls on a run keep it
       in the run: qnnrt_run_error(). The text is complete: what was tried, on which file, graph and
       tensor, what was expected and found, the vendor's code with its symbol, and the first error
       that the library logged meanwhile (later ones are its consequences). err.cause is the likely
       cause of the code, or NULL; err.hint says what to do, in one sentence, or is empty. Closing
       and destroying give a result only; the log hook gets the reason. tools/qnnrt_explain.h knows
       lines of logs, too. From a shell: qnnrt-run explain 0x1388

   Closing
       Destroy runs, then mems, plans, made pipelines, models, backends: each before what it uses.
       QNNRT_E_BUSY means that something is still in use, and nothing was freed. (From qnnrt_exec()
       it means that another run of the group is executing.)

   Threads
       One thread at a time per backend is always safe and needs no hook. For several threads, set
       hooks.lock and hooks.unlock: two releases of the x86 emulator (2.47, 2.48) return wrong
       results, without an error, when two threads are inside at once. Any thread may make and
       destroy runs, plans and mems of a model (with shared memory these call the vendor, and so
       does qnnrt_bind_at() at a new offset); never close what another thread still uses. With
       qnnrt_model_swap(), several threads need hooks.lock: a run frees contexts that another one
       may use. Facts that loading changes (.handle, .creates, .create_ns, .device_bytes,
       .device_peak) are not to be read meanwhile.

   A log on Android
       A log callback replaces the library's own output in logcat. This brings it back:
           static void to_logcat(void *user, qnnrt_log_level level, const char *part, uint64_t code,
                                 const char *text)
           { __android_log_write(ANDROID_LOG_INFO, part, text); }
           desc.backend_desc.hooks.log = to_logcat;

   On a phone
       Ship these files of one release: libQnnHtp.so, libQnnSystem.so, and for each NPU generation
       XX (68, 69, 73, 75, 79, 81) libQnnHtpVXXStub.so and libQnnHtpVXXSkel.so. Set
       ADSP_LIBRARY_PATH to the folder of the skel before opening (separate folders with ';', not
       ':'). Have libraries unpacked at install (useLegacyPackaging), and declare
       <uses-native-library android:name="libcdsprpc.so" android:required="false"/>; do not ship
       that one. qnnrt-run doctor FOLDER checks such a folder, and tools/phone.sh makes a first run
       on a phone. examples/android/README.md has the whole checklist.

   Unproven on device
       All of this ran on Qualcomm's genuine x86-64 libraries of five releases (2.47 to 2.51), in
       which an emulator replaces the NPU. What only a phone can prove has keys, which a transcript
       of tools/phone.sh ticks off and examples/android/README.md explains (keys: start, load,
       execute, output, time, power, memory, resident, text, weights, compose, restart).

   ROOMS (search for the tag)
       >>config >>os >>size >>sort >>mem >>err >>log >>share >>codes >>dtype >>float
       >>encoding >>value >>loop >>quant >>plan                                     the floor
       >>abi >>names >>library >>table >>compare >>htp >>power >>system
       >>record >>read_json
       >>friends >>backend >>register >>context                                     the vendor's
       >>model >>resident >>scan >>program >>wiring >>slot >>pipeline >>metadata
       >>folder >>open >>place >>area >>binding >>host >>run >>access >>exec
       >>version                                                                    ours
       >>vendor_codes >>vendor_names                                                the data
       (headers of tools/ list their own)
*/
#ifndef QNNRT__WHOLE
#ifndef QNNRT_H
#define QNNRT_H

#if defined(__cplusplus) ? __cplusplus < 201103L : !defined(__STDC_VERSION__)
#error "qnnrt.h needs C99 or C++11, or newer: -std=c99, -std=c++11"
#endif

#include <stddef.h>
#include <stdint.h>

#define QNNRT_VERSION_MAJOR 0
#define QNNRT_VERSION_MINOR 5
#define QNNRT_VERSION_PATCH 0
#define QNNRT_VERSION_NUMBER \
    (QNNRT_VERSION_MAJOR * 1000000 + QNNRT_VERSION_MINOR * 1000 + QNNRT_VERSION_PATCH)

#ifndef QNNRT_API
#ifdef QNNRT_STATIC
#define QNNRT_API static __attribute__((unused))
#else
#define QNNRT_API extern
#endif
#endif

#ifdef QNNRT_STATIC
#define QNNRT__DECLARED_STATIC
#endif

/* Functions of qnnrt_json.h are as visible as ours, unless it is included already. */
#if !defined(QNNRT_JSON_API) && !defined(QNNRT_JSON_STATIC)
#define QNNRT_JSON_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------ results and errors -- */

/* X(name, value, meaning): one list for the enum, qnnrt_result_name() and qnnrt_result_text(). */
#define QNNRT_RESULTS(X) \
    X(OK,             0, "success") \
    X(E_ARG,         -1, "a wrong argument") \
    X(E_MEMORY,      -2, "an allocation failed") \
    X(E_IO,          -3, "a file or folder cannot be read") \
    X(E_FORMAT,      -4, "not a context binary, or a damaged one") \
    X(E_LIBRARY,     -5, "not a vendor library, or one that cannot be opened") \
    X(E_VERSION,     -6, "releases that do not fit together") \
    X(E_NOT_FOUND,   -7, "no such file, graph, tensor or slot") \
    X(E_MISMATCH,    -8, "sizes, types or encodings that do not fit") \
    X(E_UNSUPPORTED, -9, "valid, but this version or this machine cannot run it") \
    X(E_BACKEND,    -10, "a vendor call failed; vendor_code has its answer") \
    X(E_BUSY,       -11, "still in use") \
    X(E_STATE,      -12, "called too early, such as exec before a required bind") \
    X(E_LIMIT,      -13, "over a limit of qnnrt_limits, or too large to address") \
    X(E_CANCELLED,  -14, "desc.progress ended the call")

typedef enum qnnrt_result {
#define QNNRT_X(name, value, meaning) QNNRT_##name = value,
    QNNRT_RESULTS(QNNRT_X)
#undef QNNRT_X
    QNNRT_RESULT_FORCE_INT = 0x7FFFFFFF
} qnnrt_result;

/* What failed, why, and what to do; print text, cause and hint in this order. Every call that takes
   one first sets it to QNNRT_OK, an empty text, no cause and an empty hint. */
typedef struct qnnrt_error {
    qnnrt_result code;
    uint64_t     vendor_code;   /* what the vendor call returned; the low 16 bits are the code.
                                   0: no vendor call failed */
    char         text[2048];    /* UTF-8, never empty after a failure; newlines are the only control
                                   characters in it */
    char         hint[512];     /* what to do: one sentence on one line, UTF-8; may be empty */
    const char  *cause;         /* the likely cause of vendor_code, constant; NULL: none is known */
} qnnrt_error;

/* Return the name of a result, such as "QNNRT_E_IO", or its meaning, such as "a file or folder
   cannot be read". Return "unknown" for any other number. */
QNNRT_API const char *qnnrt_result_name(qnnrt_result result);
QNNRT_API const char *qnnrt_result_text(qnnrt_result result);

/* Write "QNN_CONTEXT_ERROR_INVALID_ARGUMENT" for a vendor code (the low 16 bits count),
   "QNN_SUCCESS" for 0, or "" if it is unknown or QNNRT_NO_ERROR_TEXT is defined. What it means:
   qnnrt_explain_code() of tools/qnnrt_explain.h.
   text     receives the symbol, cut to room - 1 bytes; 80 bytes are enough
   Returns  text */
QNNRT_API const char *qnnrt_vendor_code_name(uint64_t vendor_code, char *text, size_t room);

/* Return the version of the implementation that is linked, "0.5.0". */
QNNRT_API const char *qnnrt_version(void);

/* ------------------------------------------------------------------------------------- hooks -- */

typedef enum qnnrt_log_level {     /* the vendor's numbers */
    QNNRT_LOG_DEFAULT = 0,         /* means QNNRT_LOG_WARN */
    QNNRT_LOG_ERROR   = 1,
    QNNRT_LOG_WARN    = 2,
    QNNRT_LOG_INFO    = 3,
    QNNRT_LOG_VERBOSE = 4,
    QNNRT_LOG_DEBUG   = 5
} qnnrt_log_level;

/* Functions of the host. They belong to a backend, and everything opened on it uses them.

   alloc, free   set both or neither. alloc returns memory aligned to 16 bytes or more, or NULL;
                 free gets what alloc returned, never NULL. They are called on the caller's threads
                 only.
   log           may be called from any thread, the vendor's included; must copy what it keeps. part
                 is "vendor", or the room or header that says it; text is one line; vendor_code may
                 be 0. qnnrt logs at every level, the vendor only up to log_level. A line may
                 arrive while the backend is being closed, but not later.

   lock, unlock  set both or neither. The lock is held during every call of a vendor library, except
                 while the library is loaded; a plain mutex is enough. Other hooks may be called
                 while it is held, and must not take it.

   A hook must not throw or longjmp: the call would leak memory, or keep the lock. It may call only
   those functions of qnnrt that take neither an object nor hooks: names and texts. */
typedef struct qnnrt_hooks {
    void *(*alloc)(void *user, size_t bytes);             /* default: malloc */
    void  (*free)(void *user, void *data);                /* default: free   */
    void   *alloc_user;
    void  (*log)(void *user, qnnrt_log_level level, const char *part, uint64_t vendor_code,
                 const char *text);                       /* default: silent */
    void   *log_user;
    void  (*lock)(void *user);                            /* default: none   */
    void  (*unlock)(void *user);
    void   *lock_user;
} qnnrt_hooks;

/* What exceeds one of these is refused with QNNRT_E_LIMIT. */
typedef struct qnnrt_limits {
    uint64_t file_bytes;    /* one context binary or container (default 0: 64 GiB) */
    uint64_t arena_bytes;   /* memory of one plan (default 0: 4 GiB) */
    uint32_t files;         /* context binaries of one model, and files of constants of its
                               manifest (default 0: 256) */
    uint32_t tensors;       /* graphs, inputs, outputs and updateables of one model, and entries of
                               its manifest (default 0: 1,000,000) */
    uint32_t name_bytes;    /* a name of a graph or tensor, or in a manifest (default 0: 1,024) */
    uint32_t rank;          /* dimensions of a tensor (default 0: 8) */
    uint64_t json_bytes;    /* one JSON file (default 0: 64 MiB) */
    uint32_t scales;        /* per-axis scales of one model (default 0: 67,108,864) */
    uint32_t entries;       /* of a folder, or of a plan; buffers of a plan (default 0: 100,000) */
    uint32_t places;        /* of one plan (default 0: 65,536) */
    uint32_t steps;         /* of one pipeline (default 0: 65,535) */
    uint32_t looks;         /* comparisons of tensors, or look-ups of graphs, in one search for
                               what belongs together (default 0: 20,000,000, a few seconds) */
} qnnrt_limits;

/* ----------------------------------------------------------------------- facts about a model -- */

typedef struct qnnrt         qnnrt;            /* a model */
typedef struct qnnrt_backend qnnrt_backend;

/* Element types, by the vendor's numbers: the high byte is the class, the low byte the number of
   bits as decimal digits (except in BF16). */
typedef enum qnnrt_dtype {
    QNNRT_DTYPE_I2  = 0x0002, QNNRT_DTYPE_I4  = 0x0004, QNNRT_DTYPE_I8  = 0x0008,
    QNNRT_DTYPE_I16 = 0x0016, QNNRT_DTYPE_I32 = 0x0032, QNNRT_DTYPE_I64 = 0x0064,
    QNNRT_DTYPE_U2  = 0x0102, QNNRT_DTYPE_U4  = 0x0104, QNNRT_DTYPE_U8  = 0x0108,
    QNNRT_DTYPE_U16 = 0x0116, QNNRT_DTYPE_U32 = 0x0132, QNNRT_DTYPE_U64 = 0x0164,
    QNNRT_DTYPE_F4  = 0x0204, QNNRT_DTYPE_F8  = 0x0208, QNNRT_DTYPE_F16 = 0x0216,
    QNNRT_DTYPE_BF16 = 0x0226, QNNRT_DTYPE_F32 = 0x0232, QNNRT_DTYPE_F64 = 0x0264,
    QNNRT_DTYPE_S2Q = 0x0302, QNNRT_DTYPE_S4Q = 0x0304, QNNRT_DTYPE_S8Q = 0x0308, /* quantized */
    QNNRT_DTYPE_S16Q = 0x0316, QNNRT_DTYPE_S32Q = 0x0332,
    /* unsigned, quantized */
    QNNRT_DTYPE_U2Q  = 0x0402, QNNRT_DTYPE_U4Q  = 0x0404, QNNRT_DTYPE_U8Q = 0x0408,
    QNNRT_DTYPE_U16Q = 0x0416, QNNRT_DTYPE_U32Q = 0x0432,
    QNNRT_DTYPE_BOOL8 = 0x0508, QNNRT_DTYPE_STRING = 0x0608, QNNRT_DTYPE_UNDEFINED = 0x7FFFFFFF
} qnnrt_dtype;

typedef enum qnnrt_encoding {
    QNNRT_ENCODING_NONE = 0,
    QNNRT_ENCODING_PER_TENSOR,     /* one scale and offset                       */
    QNNRT_ENCODING_PER_AXIS,       /* one scale and offset per index of an axis  */
    QNNRT_ENCODING_OTHER           /* runs, but without float access: see vendor_encoding */
} qnnrt_encoding;

/* How quantized values q become real numbers: real = (q + offset) * scale. */
typedef struct qnnrt_quant {
    qnnrt_encoding encoding;
    uint32_t       bitwidth;          /* bits of the storage that are used, 0: all. Each element has
                                         its own bytes: they are not packed */
    float          scale;             /* PER_TENSOR */
    int32_t        offset;            /* PER_TENSOR */
    int32_t        axis;              /* PER_AXIS: the dimension that the scales belong to */
    uint32_t       count;             /* PER_AXIS: dims[axis] */
    const float   *scales;            /* [count] */
    const int32_t *offsets;           /* [count], or NULL: all 0 */
    uint32_t       vendor_encoding;   /* the number in the file */
} qnnrt_quant;

typedef struct qnnrt_tensor_info {
    const char    *name;
    uint32_t       id;              /* the vendor finds the tensor by this number */
    qnnrt_dtype    dtype;
    uint32_t       rank;            /* 0: a scalar */
    const uint32_t *dims;           /* [rank], row-major */
    uint64_t       count;           /* elements */
    uint64_t       bytes;           /* of all elements as stored; types below 8 bits are packed */
    qnnrt_quant    quant;
    uint32_t       vendor_type;     /* Qnn_TensorType_t */
    uint32_t       vendor_format;   /* Qnn_TensorDataFormat_t, 0: plain */
    uint32_t       vendor_version;  /* 1 or 2: version of the vendor's struct in the metadata */
    const uint8_t *dynamic_dims;    /* [rank] not 0: dims[i] is the most, see qnnrt_set_dims()
                                       of qnnrt_device.h;
                                       NULL: no dimension may change */
    int            optional;        /* may be left out, with qnnrt_omit() of qnnrt_device.h */
    int            updateable;      /* may be replaced after compilation, with qnnrt_device.h */
} qnnrt_tensor_info;

typedef struct qnnrt_graph_info {
    const char              *name;
    size_t                   input_count, output_count, updateable_count;
    const qnnrt_tensor_info *inputs, *outputs, *updateables;
    const char              *unsupported;          /* why qnnrt_prepare() will refuse it, or NULL */
    uint64_t                 spill_fill_bytes;     /* this and all below: HTP; 0: not in the file */
    uint64_t                 vtcm_bytes;
    uint64_t                 shared_weights_bytes; /* not 0: its weights are shared with other
                                                      graphs */
    uint64_t                 const_bytes, io_bytes, op_data_bytes, ddr_bytes;
    uint64_t                 native_k_bytes, native_v_bytes;   /* one channel of a native KV
                                                                  cache */
    uint32_t                 optimization_level;
    uint32_t                 hvx_threads;
    uint32_t                 dlbc;                 /* not 0: bandwidth compression is on */
    uint32_t                 safe_share_io;
} qnnrt_graph_info;

typedef struct qnnrt_version_info { uint32_t major, minor, patch; } qnnrt_version_info;

typedef struct qnnrt_context_info {
    const char             *file;          /* file name in the folder, or the path that the caller
                                              gave; the JSON's name if there is no binary */
    const char             *json_file;     /* NULL: no JSON */
    int                     from_system;   /* 1: the facts below come from libQnnSystem.so */
    int                     from_json;     /* 1: they come from the JSON, or equal it */
    uint64_t                file_bytes;    /* 0: there is no binary */
    const char             *build_id;      /* of the SDK that made it, "v2.51.0.260929181845", or
                                              "" */
    uint32_t                backend_id;    /* 3 CPU, 4 GPU, 6 HTP, 5391686 Ref */
    qnnrt_version_info      core_api, backend_api, blob_version;
    uint64_t                blob_bytes;
    uint32_t                soc_model;     /* 0: not stated. 43 SM8550, 57 SM8650, 69 SM8750, 87
                                              SM8850 */
    uint32_t                dsp_arch;      /* 0: not stated. 73, 75, 79, 81 */
    size_t                  graph_count;
    const qnnrt_graph_info *graphs;
    uint32_t                context_tensor_count;
    uint64_t                metadata_ns, create_ns;   /* time of reading, and of creating it last */
    const qnnrt_error      *failure;       /* NULL, or why it did not load (with desc.keep_going) */
    uint64_t                fingerprint;   /* computed from the binary's size and 64 pieces of it:
                                              other weights in an equal graph give another number.
                                              It detects mistakes, not attacks. 0: there is no
                                              binary, or the context was built here */
    uint64_t                device_bytes;  /* estimate of what it takes on the device: the file,
                                              io_bytes and ddr_bytes of every graph, and the largest
                                              spill_fill_bytes */
    void                   *handle;        /* the vendor's Qnn_ContextHandle_t, NULL: the context
                                              does not exist on the backend now */
    uint32_t                creates;       /* how often it was created, with other graphs
                                              each time */
    qnnrt_backend          *backend;       /* that it belongs to; NULL after desc.inspect */
} qnnrt_context_info;

/* Return "ufixed16", "float32", ..., "unknown" for other numbers; and the bits of a stored element:
   2 and 4 are packed, 0 is without a fixed size. */
QNNRT_API const char *qnnrt_dtype_name(qnnrt_dtype dtype);
QNNRT_API uint32_t qnnrt_dtype_bits(qnnrt_dtype dtype);

typedef enum qnnrt_vendor_enum {
    QNNRT_VENDOR_DTYPE = 0,        /* of qnnrt_tensor_info.dtype             */
    QNNRT_VENDOR_TENSOR_TYPE,      /* of qnnrt_tensor_info.vendor_type       */
    QNNRT_VENDOR_FORMAT,           /* of qnnrt_tensor_info.vendor_format     */
    QNNRT_VENDOR_ENCODING          /* of qnnrt_quant.vendor_encoding         */
} qnnrt_vendor_enum;

/* Return the vendor's name of a number, without the prefix of its enum: "FLOAT_32", "APP_READ",
   "FLAT_BUFFER", "SCALE_OFFSET"; NULL if the number is not known. */
QNNRT_API const char *qnnrt_vendor_name(qnnrt_vendor_enum which, uint32_t value);

/* Return 1 if two encodings are equal, bit for bit: equal integers then mean equal numbers. */
QNNRT_API int qnnrt_quant_equal(const qnnrt_quant *a, const qnnrt_quant *b);

/* Write dtype, dims and encoding of a tensor, as error texts have them:
   "ufixed16[1,32,128] scale 0.00012 offset -32768"; with "<=" before a dynamic dimension.

   text     receives the text, cut to room - 1 bytes; 256 bytes are enough up to 8 dimensions

   Returns  text */
QNNRT_API const char *qnnrt_tensor_text(const qnnrt_tensor_info *tensor, char *text, size_t room);

/* ----------------------------------------------------------------------------------- backend -- */

/* Votes of this process for the clocks of the NPU. The system may overrule them. */
typedef enum qnnrt_power_preset {
    QNNRT_POWER_CUSTOM = 0,                 /* no vote; for qnnrt_power_set() of
                                               qnnrt_device.h: its numbers alone */
    QNNRT_POWER_BURST, QNNRT_POWER_SUSTAINED_HIGH_PERFORMANCE, QNNRT_POWER_HIGH_PERFORMANCE,
    QNNRT_POWER_BALANCED, QNNRT_POWER_LOW_BALANCED,
    QNNRT_POWER_HIGH_POWER_SAVER, QNNRT_POWER_POWER_SAVER, QNNRT_POWER_LOW_POWER_SAVER
} qnnrt_power_preset;

typedef struct qnnrt_backend_desc {
    const char     *path;        /* library to open (default NULL: "libQnnHtp.so"), see "Finding the
                                    libraries" */
    qnnrt_log_level log_level;   /* of the library (default 0: warnings and errors) */
    uint32_t        soc_model;   /* HTP: the chip of the device (default 0: the library chooses) */
    int             unload;      /* 1: dlclose the library when the backend is closed (default 0: it
                                    stays loaded, because some libraries crash on unload) */
    qnnrt_hooks     hooks;
    qnnrt_power_preset power;    /* vote from opening to closing, see "Power" (default 0: none) */
} qnnrt_backend_desc;

typedef struct qnnrt_backend_info {
    const char        *path;           /* of the library that was loaded                    */
    const char        *provider;       /* "HTP_QTI_AISW", or ""                             */
    const char        *build_id;       /* "v2.51.0.260929181845", or ""                     */
    uint32_t           id;             /* 6: HTP, 3: CPU                                    */
    qnnrt_version_info core_api, backend_api;
    int                has_log;        /* 0: it has no log, or all log slots were in use    */
    int                has_device;     /* 0: it has no device, such as CPU                  */
    uint64_t           open_ns;
    const qnnrt_hooks *hooks;          /* that it was opened with                           */
} qnnrt_backend_info;

/* Open a vendor library: load it, choose its provider, create log, backend and device.

   desc     options, may be NULL or on the stack; strings are copied
   out      receives the backend, NULL on failure

   Returns  QNNRT_OK, QNNRT_E_LIBRARY, QNNRT_E_VERSION, QNNRT_E_BACKEND, QNNRT_E_UNSUPPORTED (32-bit
            program), QNNRT_E_MEMORY, QNNRT_E_ARG
   Frees    qnnrt_backend_close()
   Threads  any, one call at a time per library
   Cost     40 to 180 ms for the x86-64 emulator, most of it loading the library */
QNNRT_API qnnrt_result qnnrt_backend_open(const qnnrt_backend_desc *desc, qnnrt_backend **out,
                                          qnnrt_error *err);

/* Free device, backend and log, in that order. NULL is fine.
   Returns  QNNRT_OK; QNNRT_E_BUSY while a model or a builder uses it (nothing is freed);
            QNNRT_E_BACKEND if the vendor refused to free something (everything else is freed; the
            log hook gets the code) */
QNNRT_API qnnrt_result qnnrt_backend_close(qnnrt_backend *backend);

/* Return the facts about an open backend, NULL for NULL. Valid until it is closed. */
QNNRT_API const qnnrt_backend_info *qnnrt_backend_get_info(const qnnrt_backend *backend);

/* ------------------------------------------------------------------------------------- model -- */

/* What memory is made of. The device uses shared memory in place; see "Shared memory". */
typedef enum qnnrt_mem_kind {
    QNNRT_MEM_HEAP = 0,      /* the allocator hook, or the caller's block */
    QNNRT_MEM_SHARED,        /* the first of RPCMEM and (if there is one) PROVIDER that works here;
                                else HEAP, and qnnrt_mem_info.reason says why */
    QNNRT_MEM_RPCMEM,        /* FastRPC's allocator: rpcmem_alloc2, or rpcmem_alloc up to 2 GiB */
    QNNRT_MEM_PROVIDER       /* the caller's qnnrt_mem_provider */
} qnnrt_mem_kind;

/* Memory that a file descriptor stands for. */
typedef struct qnnrt_mem_block {
    size_t   bytes, align;   /* that are asked for: align is that of the plan */
    void    *data;           /* mapped for reading and writing, at the begin of a page or aligned */
    int      fd;
    uint64_t fd_offset;      /* of data (default 0) */
    uint64_t fd_bytes;       /* of all that fd stands for (default 0: fd_offset + bytes) */
    void    *own;            /* the provider's */
} qnnrt_mem_block;

/* Where memory with a file descriptor comes from. */
typedef struct qnnrt_mem_provider {
    const char   *name;      /* in messages and qnnrt_mem_info (default NULL: "provider") */
    /* Give memory: set data and fd at least. backend: the one that is to use it, or NULL. On
       failure it fills err, whose code is its result, and keeps nothing */
    qnnrt_result (*alloc)(void *user, const qnnrt_backend *backend, qnnrt_mem_block *block,
                          qnnrt_error *err);
    void        (*free)(void *user, const qnnrt_mem_block *block);    /* what alloc gave, fd too */
    void         *user;      /* as all of this valid until the memory is freed */
    const struct qnnrt_mem_provider *next;   /* what QNNRT_MEM_SHARED tries where this one fails
                                (default NULL: plain memory) */
} qnnrt_mem_provider;

typedef struct qnnrt_file {
    const char *path;    /* a file; symbolic links are followed. With .data: its name in messages,
                            may be NULL */
    const char *name;    /* in messages and qnnrt_context_info.file (default NULL: .path). The name
                            of JSON is then shown without its folder */
    const void *data;    /* or a context binary in memory, used only during qnnrt_open(); with a
                            desc.residency other than QNNRT_RESIDENT_ALL until qnnrt_close() */
    size_t      bytes;   /* of data */
    const char *json_path;   /* its metadata as JSON (default NULL: none). With desc.inspect, JSON
                                alone is enough. With .json_data: its name in messages, may be
                                NULL */
    const char *json_data;   /* or the JSON text in memory, used only during qnnrt_open() */
    size_t      json_bytes;  /* of json_data */
} qnnrt_file;

typedef enum qnnrt_metadata {
    QNNRT_METADATA_ALL = 0,   /* every source that exists; two must agree. If all files have JSON,
                                 libQnnSystem.so may be missing (with a line in the log) */
    QNNRT_METADATA_SYSTEM,    /* libQnnSystem.so only: JSON files are ignored, except the order of
                                 shards in genie_config.json */
    QNNRT_METADATA_JSON       /* JSON only: libQnnSystem.so is not opened */
} qnnrt_metadata;

/* Which contexts of a model exist on the backend. See "Residency". */
typedef enum qnnrt_residency {
    QNNRT_RESIDENT_ALL = 0,   /* all, from qnnrt_open() to qnnrt_close() */
    QNNRT_RESIDENT_CALLER     /* those that qnnrt_context_load() created */
} qnnrt_residency;

/* The memory that the contexts of one process can take on an NPU, in bytes: addresses of the DSP
   have 32 bits, and users report failures (0x3ea) from 3.6 GB on. Newer chips may have more. */
#define QNNRT_DOMAIN_BYTES ((uint64_t)3600 * 1000 * 1000)

/* What an optional header does while the backend creates contexts, see qnnrt_desc.context_hooks. */
typedef struct qnnrt_context_hook qnnrt_context_hook;

typedef struct qnnrt_desc {
    qnnrt_backend    *backend;       /* an open backend to share (default NULL: the model opens its
                                        own with .backend_desc) */
    const char       *system_path;   /* libQnnSystem.so (default NULL: the backend library itself if
                                        it has that interface, else the one beside it, else
                                        searched) */
    const qnnrt_file *files;         /* instead of ctx_dir: [file_count], in shard order */
    size_t            file_count;
    int               inspect;       /* 1: read metadata only; no backend, nothing can run */
    qnnrt_metadata    metadata;      /* where graphs and tensors are taken from (default 0: all) */
    int               keep_going;    /* 1: load what loads, see qnnrt_context_info.failure */
    int               read;          /* 1: read files into memory instead of mapping them */
    qnnrt_limits      limits;
    qnnrt_backend_desc  backend_desc;    /* how the model opens its own backend; .unload also
                                            applies to libQnnSystem.so. Ignored when .backend is
                                            set. With .inspect only .unload, .hooks and .path are
                                            used (the folder of .path is searched for
                                            libQnnSystem.so) */
    qnnrt_residency   residency;     /* which contexts exist on the backend (default 0: all) */
    /* Called before each file is loaded, with the number of files that are done, and once more at
       the end with done equal to count and file "". It returns 1 to continue; with 0, qnnrt_open()
       frees everything and returns QNNRT_E_CANCELLED (default NULL: not called) */
    int             (*progress)(void *user, size_t done, size_t count, const char *file);
    void             *progress_user;
    int               no_manifest;       /* 1: open the files of a folder although its qnnrt.json
                                            has a program, which needs qnnrt_manifest.h (default 0:
                                            that is an error) */
    /* Called with all bytes of a file before a library gets them, also when it is read again. file
       is qnnrt_context_info.file. It returns QNNRT_OK, or fills err and returns its code, which is
       then the result of the call. hooks.lock may be held: it must not take that, nor call qnnrt
       with an object (default NULL: not called) */
    qnnrt_result    (*check)(void *user, const char *file, const void *data, uint64_t bytes,
                             qnnrt_error *err);
    void             *check_user;
    qnnrt_context_hook *context_hooks;   /* from an optional header, such as qnnrt_profile_hook()
                                            of qnnrt_profile.h; it stays until the model is closed
                                            (default NULL: none) */
} qnnrt_desc;

/* Open a folder of context binaries (see "Opening a folder") and create every context on the
   backend.

   ctx_dir  the folder; NULL when desc.files is given
   desc     options, may be NULL or on the stack
   out      receives the model, NULL on failure

   Returns  QNNRT_OK
            QNNRT_E_ARG          the arguments (folder and files, backend and its options)
            QNNRT_E_NOT_FOUND    folder or file is missing; no *.bin in the folder; a file that
                                 genie_config.json lists is missing; or JSON is missing and
                                 desc.metadata requires it
            QNNRT_E_IO           folder or file cannot be read, or changed during the call
            QNNRT_E_FORMAT       not a context binary, a damaged one, wrong JSON, or missing shards
            QNNRT_E_LIBRARY      a vendor library is missing, or the file is not one
            QNNRT_E_VERSION      library too old, or a binary newer than the library
            QNNRT_E_MISMATCH     a binary for another backend, or JSON that differs from it
            QNNRT_E_UNSUPPORTED  weights shared between graphs, on x86-64; a 32-bit program; a
                                 folder with a program, see qnnrt_manifest.h; QNNRT_METADATA_JSON in
                                 a program built with QNNRT_NO_JSON
            QNNRT_E_BACKEND      a vendor call failed
            QNNRT_E_LIMIT        more than desc.limits allows
            QNNRT_E_CANCELLED    desc.progress returned 0
            QNNRT_E_MEMORY; what desc.check returns
            err.text names the file. If another process cuts a mapped file short during this call,
            the program ends (SIGBUS): replace files by rename, or set desc.read
   Frees    qnnrt_close()
   Threads  one call per backend at a time
   Cost     maps each file, reads the metadata (0.1 ms), blocks until the device has loaded it */
QNNRT_API qnnrt_result qnnrt_open(const char *ctx_dir, const qnnrt_desc *desc, qnnrt **out,
                                  qnnrt_error *err);

/* Free the model's contexts, and its backend if it opened one. NULL is fine.
   Returns  QNNRT_OK; QNNRT_E_BUSY while a run, plan or made pipeline uses it, or another model
            shares the backend that this one opened (nothing is freed);
            QNNRT_E_BACKEND as in qnnrt_backend_close() */
QNNRT_API qnnrt_result qnnrt_close(qnnrt *model);

/* With QNNRT_RESIDENT_CALLER: create a context on the backend, or free it.

   context  index into qnnrt_info.contexts. If it is in that state already, the call
            does nothing

   Returns  QNNRT_OK; QNNRT_E_ARG (there is no such context, the residency is another, or
            qnnrt_model_swap() of qnnrt_device.h loads the contexts); what desc.check returns;
            QNNRT_E_STATE (the context could not be opened, see qnnrt_context_info.failure; or
            qnnrt_model_recover() has to succeed first); QNNRT_E_BUSY (another thread loads or
            unloads it); QNNRT_E_IO (the file was replaced, or cannot be read);
            QNNRT_E_NOT_FOUND (the file is missing); QNNRT_E_BACKEND (also if the vendor refused to
            free it, which ends it all the same); QNNRT_E_MEMORY
   Threads  any; never while a run that uses the context executes. Several threads may load several
            contexts at the same time if the library can (not releases 2.47 and 2.48 of the x86-64
            emulator, which hang); hooks.lock makes them take turns, and unloading in several
            threads needs it */
QNNRT_API qnnrt_result qnnrt_context_load(qnnrt *model, size_t context, qnnrt_error *err);
QNNRT_API qnnrt_result qnnrt_context_unload(qnnrt *model, size_t context, qnnrt_error *err);

typedef struct qnnrt_pipeline qnnrt_pipeline;

/* What a model consists of. All of it is valid until qnnrt_close(). */
typedef struct qnnrt_info {
    const char                   *folder;       /* the folder given to qnnrt_open(), to find other
                                                   files in it, such as a tokenizer. "" for
                                                   desc.files and for a built model */
    const char                   *system_path;  /* the libQnnSystem.so that read the metadata; "" if
                                                   it comes from JSON */
    qnnrt_backend                *backend;      /* the model's backend; other models may share it.
                                                   NULL after desc.inspect */
    size_t                        context_count;
    const qnnrt_context_info     *contexts;     /* in shard order; a context with .failure has no
                                                   graphs */
    size_t                        pipeline_count;
    const qnnrt_pipeline *const  *pipelines;    /* of graphs that belong together, and of each other
                                                   graph. A pipeline with
                                                   qnnrt_pipeline_info.failure cannot be prepared */
    uint64_t                      device_bytes;     /* sum of the contexts that exist now */
    uint64_t                      device_peak;      /* the most that it was */
} qnnrt_info;

/* Return the facts about a model, NULL for NULL. */
QNNRT_API const qnnrt_info *qnnrt_get_info(const qnnrt *model);

/* ---------------------------------------------------------------------------------- pipeline -- */

typedef enum qnnrt_role {
    QNNRT_ROLE_ANY = 0,                         /* for look-ups */
    QNNRT_ROLE_INPUT,                           /* from the caller, read by one or more steps */
    QNNRT_ROLE_OUTPUT,                          /* written by a step, read by no other */
    QNNRT_ROLE_EDGE,                            /* written by a step and read by later ones */
    QNNRT_ROLE_CONSTANT                         /* read by a step; its value was given with the
                                                   pipeline */
} qnnrt_role;

/* One of qnnrt_pipeline_info.slots; its address is its handle. A call that is given a slot of
   another pipeline returns QNNRT_E_ARG. */
typedef struct qnnrt_slot {
    const qnnrt_tensor_info *tensor;            /* as step .first describes it */
    qnnrt_role               role;
    uint32_t                 first, last;       /* steps between which the value is needed */
    const char              *address;           /* shortest name that finds it, given its role:
                                                   "logits", "2/hidden" */
    const void              *constant;          /* the value of a constant; NULL: not a constant */
    int                      has_range;         /* 1: an int32 input that takes values from low to
                                                   high, see qnnrt_use_desc */
    int32_t                  low, high;         /* 0 without has_range */
} qnnrt_slot;

typedef struct qnnrt_edge_info {
    uint32_t                 from_step, to_step;
    const qnnrt_tensor_info *from, *to;
    const qnnrt_slot        *slot;
    const char              *reason;            /* "equal names", "given", ... */
} qnnrt_edge_info;

typedef enum qnnrt_step_kind {
    QNNRT_STEP_GRAPH = 0,                       /* a graph of a context */
    QNNRT_STEP_HOST,                            /* a function of the caller */
    QNNRT_STEP_DERIVED                          /* a host step that is .derived */
} qnnrt_step_kind;

typedef struct qnnrt_step_info {
    const qnnrt            *model;              /* NULL, unless it is a graph */
    size_t                  context;            /* index into qnnrt_info.contexts */
    const qnnrt_graph_info *graph;              /* its name and tensors, whatever its kind */
    qnnrt_step_kind         kind;
    qnnrt_backend          *backend;            /* that executes it. NULL: this CPU without a
                                                   backend, or the model was opened with
                                                   desc.inspect */
    const struct qnnrt_host_step *host;         /* a copy of what the caller gave, or NULL */
} qnnrt_step_info;

typedef struct qnnrt_name_info {                /* a name that users have for a slot */
    const char *name;
    const qnnrt_slot *slot;
} qnnrt_name_info;

typedef struct qnnrt_buffer_desc {              /* keeps its content as long as the mem lives */
    const char *name;
    uint64_t    bytes;
    uint32_t    align;                          /* (default 0: the plan's) */
} qnnrt_buffer_desc;

#define QNNRT_NO_ENTRY      ((size_t)-1)        /* qnnrt_plan_block.entry of a buffer */

typedef struct qnnrt_place_desc {               /* where a slot of an entry lives, instead of
                                                   scratch */
    size_t     entry;
    const qnnrt_slot *slot;
    size_t     buffer;                          /* index into buffers */
    uint64_t   offset;                          /* within the buffer */
    int        caller_io;                       /* 1: no memory is planned; bind the slot before
                                                   exec. buffer and offset are not used */
} qnnrt_place_desc;

typedef struct qnnrt_pipeline_info {
    const char            *name;                /* for qnnrt_pipeline_find(); "<context>/<graph>" of
                                                   a graph whose pipeline has more of them */
    size_t                 step_count, slot_count, edge_count;
    const qnnrt_step_info *steps;
    const qnnrt_slot *slots;                    /* in the order in which the steps list them */
    const qnnrt_edge_info *edges;
    const qnnrt_error     *failure;             /* why it could not be wired, or NULL */
    size_t                 name_count, buffer_count, place_count;
    const qnnrt_name_info *names;               /* in the order of strcmp() */
    const qnnrt_buffer_desc *buffers;           /* these and their places are for plans that have */
    const qnnrt_place_desc *places;             /* the pipeline as entry 0: qnnrt_prepare() does */
    size_t                 input_count, output_count;
    const qnnrt_slot *const *inputs;            /* slots of these roles, in the order of .slots: */
    const qnnrt_slot *const *outputs;           /* that of a single graph, or in which they were
                                                   added to a built one */
} qnnrt_pipeline_info;

/* Return "input", "output", "edge", "constant"; "tensor" for any other number. */
QNNRT_API const char *qnnrt_role_name(qnnrt_role role);

/* Write what a step is, as reports and error texts have it:
       graph "decode" of forward_0.bin on HTP_QTI_AISW
       host "embedding"
       convert hidden: float16 -> float32, 131,072 bytes
   The last one is derived; the bytes are those that it writes. What is not visible in a name
   becomes "?".

   text     receives the text, cut to room - 1 bytes; 512 bytes are enough for usual names

   Returns  text */
QNNRT_API const char *qnnrt_step_text(const qnnrt_step_info *step, char *text, size_t room);

/* Return the facts about a pipeline, NULL for NULL. They are valid as long as the pipeline. */
QNNRT_API const qnnrt_pipeline_info *qnnrt_pipeline_get_info(const qnnrt_pipeline *pipeline);

/* Find a pipeline.

   name     of a pipeline, or of a graph that belongs to one pipeline only, or "<context>/<graph>"
            for a single graph; NULL when the model has exactly one pipeline
   out      receives the pipeline, which belongs to the model

   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND (the text lists the names that exist); QNNRT_E_ARG if the
            name is not unique; QNNRT_E_MISMATCH if the pipeline could not be wired (the text says
            why) */
QNNRT_API qnnrt_result qnnrt_pipeline_find(const qnnrt *model, const char *name,
                                           const qnnrt_pipeline **out, qnnrt_error *err);

/* A step that is a function of the caller: a look-up in a table, an operator that no backend has,
   pre- or post-processing, another engine. It is planned, wired, checked and reported like a graph.

   exec     called by qnnrt_exec() on its thread. inputs[i] and outputs[i] are the memory of the
            step's tensors, in the order of `inputs` and `outputs`; inputs are only read. It returns
            QNNRT_OK, or a failure with a text in *err, which qnnrt_run_error() then shows with the
            name of the step. It may use qnnrt, except the run that calls it and
            qnnrt_model_recover(). No lock is held */
typedef struct qnnrt_host_step {
    const char              *name;
    const qnnrt_tensor_info *inputs, *outputs;  /* of each: name, dtype, rank, dims and quant. The
                                                   rest is computed and need not be set */
    size_t                   input_count, output_count;
    qnnrt_result           (*exec)(void *user, const qnnrt_graph_info *step,
                                   const void *const *inputs, void *const *outputs,
                                   qnnrt_error *err);
    void                    *user;
    int                      derived;           /* 1: its outputs are its only input in another
                                                   form: "<step>/<name>" finds them, no rule wires
                                                   them, and no place of one overlaps one of the
                                                   input (default 0) */
} qnnrt_host_step;

typedef struct qnnrt_step_desc {                /* a graph or a host step */
    const qnnrt *model;
    size_t       context;                       /* index into qnnrt_info.contexts */
    const char  *graph;                         /* its name in that context */
    const qnnrt_host_step *host;                /* instead of these three; copied */
} qnnrt_step_desc;

typedef struct qnnrt_edge_desc {                /* output `from` of a step feeds input `to` of a
                                                   later step */
    size_t      from_step;
    const char *from;
    size_t      to_step;
    const char *to;
} qnnrt_edge_desc;

typedef struct qnnrt_use_desc {                 /* what is known about a tensor of a step: one or
                                                   more of the following */
    size_t      step;
    const char *tensor;
    int         output;                         /* 1: an output of the step (default 0: an input) */
    const char *name;                           /* what users call its slot: finds it before the
                                                   names of tensors do. Not "<step>/..." */
    int         in_buffer;                      /* 1: it lives in a buffer */
    size_t      buffer;                         /* index into buffers */
    uint64_t    offset;                         /* within the buffer */
    int         apart;                          /* 1: an input that is a slot of its own, even if
                                                   other steps have inputs of the same name: the
                                                   caches of shards that all count from 0 */
    const void *constant;                       /* the value that an input always has; borrowed
                                                   until the pipeline is destroyed, only read */
    size_t      constant_bytes;                 /* at least qnnrt_tensor_info.bytes */
    int         has_range;                      /* 1: an int32 input, a slot of QNNRT_ROLE_INPUT,
                                                   takes values from low to high, such as ids of
                                                   tokens: qnnrt_write_i32() and qnnrt_write_f32()
                                                   check. Several ranges of a slot: the values that
                                                   are in all of them */
    int32_t     low, high;
} qnnrt_use_desc;

typedef struct qnnrt_pipeline_desc {
    const char            *name;                /* (default NULL: the first graph's) */
    const qnnrt_step_desc *steps;
    size_t                 step_count;
    const qnnrt_edge_desc *edges;               /* used before the rules of "Pipelines and
                                                   wiring" */
    size_t                 edge_count;
    int                    edges_only;          /* 1: only the given edges (default 0: the rules
                                                   wire the other inputs) */
    const qnnrt_use_desc  *uses;                /* any number for each tensor */
    size_t                 use_count;
    const qnnrt_buffer_desc *buffers;           /* that qnnrt_prepare() plans, see
                                                   qnnrt_pipeline_info */
    size_t                 buffer_count;
    const qnnrt_hooks     *hooks;               /* of a pipeline of host steps alone (default
                                                   NULL: as a backend without hooks) */
} qnnrt_pipeline_desc;

/* Wire graphs of one or several models, and functions of the caller, by hand: see "Several
   backends". Given edges are checked like found ones: dims, dtype and
   encoding must be equal; tools/qnnrt_convert.h has steps that convert. All of desc is copied, but
   `user` of host steps and the data of constants are borrowed until qnnrt_pipeline_destroy().
   Without edges_only, every step after the first needs an edge from the one before it; with
   edges_only, steps that no edge joins run one after the other.
   Returns  QNNRT_OK; QNNRT_E_ARG, QNNRT_E_NOT_FOUND (the text names the step, edge or use);
            QNNRT_E_MISMATCH (two tensors or a constant do not fit, a range is for an
            input that is not int32, a step lacks edges, or the backends of two steps have
            different allocators, or only one has a lock); QNNRT_E_LIMIT; QNNRT_E_MEMORY
   Frees    qnnrt_pipeline_destroy(), before the models are closed */
QNNRT_API qnnrt_result qnnrt_pipeline_make(const qnnrt_pipeline_desc *desc, qnnrt_pipeline **out,
                                           qnnrt_error *err);

/* Free a pipeline that was made. NULL is fine.
   Returns  QNNRT_OK; QNNRT_E_BUSY while a plan uses it; QNNRT_E_ARG for a pipeline of a model */
QNNRT_API qnnrt_result qnnrt_pipeline_destroy(qnnrt_pipeline *pipeline);

/* Find a slot by a name of qnnrt_pipeline_info.names, by the name of a tensor, or by
   "<step>/<tensor>" (which is tried before a tensor of exactly that name). The names of both ends
   of an edge find it. role narrows the search: an input and an output may have the same name. With
   NULL as the name it is the only slot of that role; with QNNRT_ROLE_ANY, the only input.
   Returns  QNNRT_OK; QNNRT_E_MISMATCH (the pipeline could not be wired); QNNRT_E_NOT_FOUND (the
            text lists the names that exist); QNNRT_E_ARG if several slots have the name, or with
            NULL the role (the text lists their addresses) */
QNNRT_API qnnrt_result qnnrt_slot_find(const qnnrt_pipeline *pipeline, const char *name,
                                       qnnrt_role role, const qnnrt_slot **out, qnnrt_error *err);

/* -------------------------------------------------------------------------------------- plan -- */

typedef struct qnnrt_plan qnnrt_plan;

typedef struct qnnrt_entry_desc {               /* a pipeline of a plan; list it twice for two runs
                                                   at the same time */
    const qnnrt_pipeline *pipeline;
    uint32_t group;                             /* entries of one group share scratch and must not
                                                   run at the same time: qnnrt_exec() then returns
                                                   QNNRT_E_BUSY (default 0: a group of its own) */
    int      reuse_inputs;                      /* 1: after the last step that reads an input, its
                                                   memory serves other tensors, so write each input
                                                   before each exec (default 0: inputs keep their
                                                   content) */
    int      caller_io;                         /* 1: inputs and outputs without a place have no
                                                   memory: bind each before exec (default 0: they
                                                   have) */
} qnnrt_entry_desc;

typedef struct qnnrt_plan_desc {
    const qnnrt_entry_desc  *entries;
    size_t                   entry_count;
    const qnnrt_buffer_desc *buffers;
    size_t                   buffer_count;
    const qnnrt_place_desc  *places;            /* slots may share a buffer and overlap, but no
                                                   step of an entry may write over a value that
                                                   one of its later steps reads, or over one of its
                                                   outputs, nor a derived one over its input */
    size_t                   place_count;
    uint32_t                 align;             /* alignment of every block, a power of two
                                                   (default 0: 64) */
    int                      per_tensor;        /* 1: every slot without a place has a block of
                                                   its own, so that edges and outputs can be read
                                                   after an exec; peak is then equal to naive.
                                                   Groups and reuse_inputs share nothing (default
                                                   0: blocks share memory over time) */
    int                      guard;             /* 1: every block lies on pages of its own and ends,
                                                   up to less than an element, where an
                                                   inaccessible page begins: the first access
                                                   beyond it faults. Only memory that qnnrt
                                                   allocates, QNNRT_MEM_HEAP, has this */
} qnnrt_plan_desc;

typedef struct qnnrt_plan_block {               /* one rectangle of the plan */
    uint64_t   offset, bytes;
    size_t     entry;                           /* QNNRT_NO_ENTRY: a buffer, blocks[i] is buffer
                                                   i */
    const qnnrt_slot *slot;                     /* NULL: a buffer */
    uint32_t   first, last;                     /* steps in which it is alive, counted through its
                                                   group */
    int        kept;                            /* 1: keeps its content between calls */
} qnnrt_plan_block;

typedef struct qnnrt_plan_info {
    uint64_t                peak;               /* bytes that the plan needs */
    uint64_t                bound;              /* bytes that every plan needs */
    uint64_t                naive;              /* bytes of all blocks one after another */
    size_t                  align, block_count;
    const qnnrt_plan_block *blocks;
} qnnrt_plan_info;

/* Plan memory for pipelines, without touching any. Hooks and limits are those of the model of the
   first entry.
   Returns  QNNRT_OK; QNNRT_E_ARG (the text names the entry, buffer or place, or both tensors of
            places that must not overlap, with their steps); QNNRT_E_MISMATCH (a pipeline that
            could not be wired); QNNRT_E_UNSUPPORTED (a graph that cannot run); QNNRT_E_LIMIT;
            QNNRT_E_MEMORY
   Frees    qnnrt_plan_destroy(): QNNRT_E_BUSY while a mem uses it
   Cost     deterministic; n log n in entries and tensors, n * n in places, of which a plan takes
            limits.places; usually far under 1 ms. Where the lower bound cannot be met
            it searches on: up to 0.1 s for a group of a few hundred scratch tensors, 2 s for
            100,000, and about as long for any number of groups */
QNNRT_API qnnrt_result qnnrt_plan_create(const qnnrt_plan_desc *desc, qnnrt_plan **out,
                                         qnnrt_error *err);
QNNRT_API qnnrt_result qnnrt_plan_destroy(qnnrt_plan *plan);

/* Return the facts about a plan, NULL for NULL. They are valid as long as the plan. */
QNNRT_API const qnnrt_plan_info *qnnrt_plan_get_info(const qnnrt_plan *plan);

/* -------------------------------------------------------------------------------------- mem  -- */

typedef struct qnnrt_mem qnnrt_mem;

typedef struct qnnrt_mem_desc {
    void  *data;       /* the caller's block, aligned as the plan, borrowed until the mem is
                          destroyed (default NULL: the mem allocates its own) */
    size_t bytes;      /* of data, at least the plan's peak */
    qnnrt_mem_kind kind;     /* what the memory is made of (default 0: plain memory) */
    const char *rpcmem_path; /* QNNRT_MEM_RPCMEM (default NULL: "libcdsprpc.so", by the system's
                                search) */
    qnnrt_mem_provider provider;         /* QNNRT_MEM_PROVIDER: where it comes from; also tried by
                                            QNNRT_MEM_SHARED (default: none) */
    int         no_zero;     /* 1: leave the content as it is: that of the caller's block or
                                descriptor stays, that of other memory is undefined. Write every
                                input and buffer before the first exec (default 0: filled) */
} qnnrt_mem_desc;

/* Create the memory of a plan. Without no_zero, all of it is set to zero bytes (a caller's block
   too); then every input that has memory is set to real zero, in the order of entries and
   slots.
   desc     options; NULL for the defaults
   Returns  QNNRT_OK; QNNRT_E_ARG (a caller's block or descriptor that is too small or misaligned:
            the text has both values; a caller's block or shared memory for a plan with guard; a
            caller's block of another kind than HEAP; a provider without alloc or free);
            QNNRT_E_LIBRARY (no libcdsprpc.so), QNNRT_E_UNSUPPORTED (more than 2 GiB without
            rpcmem_alloc2), QNNRT_E_BACKEND (rpcmem_to_fd failed), or what a provider returns;
            QNNRT_E_MEMORY. QNNRT_MEM_SHARED takes the next kind instead, at last plain memory
   Frees    qnnrt_mem_destroy(): it returns QNNRT_E_BUSY while a run that was created on
            this memory exists, but ignores runs that only use it through qnnrt_bind_at() */
QNNRT_API qnnrt_result qnnrt_mem_create(qnnrt_plan *plan, const qnnrt_mem_desc *desc,
                                        qnnrt_mem **out, qnnrt_error *err);
QNNRT_API qnnrt_result qnnrt_mem_destroy(qnnrt_mem *mem);

/* Fill all memory as qnnrt_mem_create() does without no_zero: a new conversation. NULL is fine. */
QNNRT_API void qnnrt_mem_clear(qnnrt_mem *mem);

typedef struct qnnrt_buffer_info {
    void    *data;
    uint64_t bytes;
    uint64_t offset;                            /* its offset in the mem, for qnnrt_bind_at() */
} qnnrt_buffer_info;

typedef struct qnnrt_mem_info {
    size_t                   buffer_count;
    const qnnrt_buffer_info *buffers;           /* the buffers of the plan, in the same order */
    qnnrt_mem_kind           kind;              /* what it is; never QNNRT_MEM_SHARED */
    const char              *name;              /* of the kind, or of the provider */
    int                      fd;                /* of shared memory, else -1 */
    uint64_t                 fd_offset;         /* where offset 0 of the mem lies in fd */
    const char              *reason;            /* QNNRT_MEM_SHARED: why it is not shared, or
                                                   "" */
} qnnrt_mem_info;

/* Return the facts about a mem, NULL for NULL. They are valid as long as the mem. */
QNNRT_API const qnnrt_mem_info *qnnrt_mem_get_info(const qnnrt_mem *mem);

/* -------------------------------------------------------------------------------------- run  -- */

typedef struct qnnrt_run qnnrt_run;

/* Find a pipeline, plan it alone, and create its memory and its run, all in one call.
   name     as in qnnrt_pipeline_find()
   Returns  QNNRT_OK; what qnnrt_pipeline_find(), qnnrt_plan_create(), qnnrt_mem_create() and
            qnnrt_run_create() return
   Frees    qnnrt_run_destroy() frees all of it
   Threads  any */
QNNRT_API qnnrt_result qnnrt_prepare(qnnrt *model, const char *name, qnnrt_run **out,
                                     qnnrt_error *err);

typedef struct qnnrt_prepare_desc {
    int            caller_io;    /* 1: inputs and outputs have no memory of the run: each is memory
                                    of the caller, see qnnrt_bind(). Slots that the pipeline
                                    has a place for, and constants, have theirs. Before all are
                                    bound, qnnrt_exec() returns QNNRT_E_STATE; the text names the
                                    first that is not */
    int            per_tensor;   /* 1: no two tensors share memory, see qnnrt_plan_desc */
    int            guard;        /* 1: pages that fault, see qnnrt_plan_desc */
    uint32_t       align;        /* of every tensor, a power of two (default 0: 64) */
    qnnrt_mem_desc mem;          /* the memory of the run */
} qnnrt_prepare_desc;

/* Do what qnnrt_prepare() does, with choices about its memory. desc may be NULL or on the stack. */
QNNRT_API qnnrt_result qnnrt_prepare_with(qnnrt *model, const char *name,
                                          const qnnrt_prepare_desc *desc, qnnrt_run **out,
                                          qnnrt_error *err);

/* Do the same for a pipeline at hand, such as one that qnnrt_pipeline_make() made. */
QNNRT_API qnnrt_result qnnrt_pipeline_prepare(const qnnrt_pipeline *pipeline,
                                              const qnnrt_prepare_desc *desc, qnnrt_run **out,
                                              qnnrt_error *err);

/* Make entry `entry` of the plan of `mem` executable. qnnrt_prepare() is the short way. Runs of one
   entry, or of one group, share memory: qnnrt_exec() returns QNNRT_E_BUSY while another of them
   executes. To execute a pipeline twice at the same time, list it as two entries.
   Returns  QNNRT_OK; QNNRT_E_STATE (opened with desc.inspect); QNNRT_E_ARG; QNNRT_E_MEMORY
   Frees    qnnrt_run_destroy() */
QNNRT_API qnnrt_result qnnrt_run_create(qnnrt_mem *mem, size_t entry, qnnrt_run **out,
                                        qnnrt_error *err);

/* Free a run. NULL is fine. */
QNNRT_API void qnnrt_run_destroy(qnnrt_run *run);

/* Return the pipeline of a run, NULL for NULL. */
QNNRT_API const qnnrt_pipeline *qnnrt_run_pipeline(const qnnrt_run *run);

/* Return the slot of a tensor by its name, as qnnrt_slot_find() does with QNNRT_ROLE_ANY (NULL: the
   only input), or NULL. A call that is then given this NULL fails with the code and the text of the
   look-up, so only one of the two needs a check:
       if (qnnrt_write_f32(run, qnnrt_run_slot(run, "x"), 0, x, 4) != QNNRT_OK) ... */
QNNRT_API const qnnrt_slot *qnnrt_run_slot(qnnrt_run *run, const char *name);

/* Return the error of the last call on this run that failed; never NULL. */
QNNRT_API const qnnrt_error *qnnrt_run_error(const qnnrt_run *run);

/* Bind a tensor to the caller's memory: an input is read from it, an output is written to it,
   without a copy.

   name     as in qnnrt_slot_find(); NULL: the only input
   data     borrowed until the tensor is bound again or the run is destroyed; any alignment; inputs
            are only read. NULL: bind the run's own memory again
   bytes    of data, at least qnnrt_tensor_info.bytes; further bytes are not used
   Memory may overlap only where nothing is lost: two inputs may, and what a step writes may lie
   over values that only earlier steps read. qnnrt_exec() checks what was bound since the last exec,
   except places of qnnrt_bind_at(), and refuses with QNNRT_E_ARG. No operator is promised to work
   in place.

   qnnrt_bind_input() takes slots of QNNRT_ROLE_INPUT, and memory that cannot be written;
   qnnrt_bind_output() takes what a step writes, outputs and edges.
   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND, QNNRT_E_ARG as in qnnrt_slot_find(); QNNRT_E_ARG (a slot of
            the other direction); QNNRT_E_MISMATCH (the text has both sizes)
   Cost     by name: a look-up. By slot: a few stores, cheap enough before every call */
QNNRT_API qnnrt_result qnnrt_bind(qnnrt_run *run, const char *name, void *data, size_t bytes);
QNNRT_API qnnrt_result qnnrt_bind_input(qnnrt_run *run, const qnnrt_slot *slot, const void *data,
                                        size_t bytes);
QNNRT_API qnnrt_result qnnrt_bind_output(qnnrt_run *run, const qnnrt_slot *slot, void *data,
                                         size_t bytes);

/* Bind a tensor to a place in a buffer, at `offset` of its mem (see qnnrt_buffer_info): for moving
   caches, double buffers and sequences. The mem need not be the run's own, and must outlive the
   binding.
   In shared memory each offset of a slot is registered when it is bound for the first time, up to
   16 offsets for a slot of a run; at further offsets the tensor is not registered, and the library
   copies it. qnnrt_run_transfers() shows which.
   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND (no such slot); QNNRT_E_ARG if the tensor would not lie
            within one buffer
   Cost     a few stores; in shared memory also a search among the offsets of the slot, and vendor
            calls at a new offset */
QNNRT_API qnnrt_result qnnrt_bind_at(qnnrt_run *run, const qnnrt_slot *slot, const qnnrt_mem *mem,
                                     uint64_t offset);

/* Return the address of a tensor's memory; bytes (may be NULL) receives its size. A name of NULL is
   the only output. NULL: there is no such tensor, or it is not bound yet (qnnrt_run_error() has the
   text). Outputs are valid until the next exec of a run that shares their scratch. The memory of an
   edge is used again during the exec: to look at an edge, bind it to memory of your own, or set
   per_tensor. */
QNNRT_API void *qnnrt_data(qnnrt_run *run, const char *name, size_t *bytes);
QNNRT_API void *qnnrt_data_slot(qnnrt_run *run, const qnnrt_slot *slot, size_t *bytes);

/* How a tensor of a step reaches the device. */
typedef struct qnnrt_transfer_info {
    const qnnrt_slot *slot;
    uint32_t    step;
    int         registered;                     /* 1: the device uses its memory in place */
    const char *reason;                         /* why it is not registered, or "" */
} qnnrt_transfer_info;

/* List the tensors of all steps, a slot that several steps use several times: whether each one is
   registered where it is bound now, or why it is not. Valid until the next of these calls, or the
   end of the run.
   Returns  QNNRT_OK; QNNRT_E_MEMORY; QNNRT_E_ARG. After a failure *list is NULL and *count 0 */
QNNRT_API qnnrt_result qnnrt_run_transfers(qnnrt_run *run, const qnnrt_transfer_info **list,
                                           size_t *count);

/* Execute every step of the pipeline, in order, and return when the last one has finished; or only
   `count` steps, at least one, from step `first` on: so a caller can stop between two steps, or do
   something there. Everything must be bound, and the caller sees to it that the steps before were
   executed: edges keep their values until another run of the group executes.
   Returns  QNNRT_OK; QNNRT_E_STATE (a required bind is missing, a context is not loaded, or dims
            may change and nothing of qnnrt_device.h sets them); what a host step returned, such as
            QNNRT_E_MISMATCH of an exact conversion; QNNRT_E_BUSY (another run of the group is
            executing); QNNRT_E_BACKEND (the text names step, graph and vendor code; after 1007 and
            1011 see qnnrt_model_recover() of qnnrt_device.h); QNNRT_E_ARG (there are no such steps;
            or bound memory overlaps, see qnnrt_bind(): the text names both tensors; nothing was
            executed). With qnnrt_model_swap() also QNNRT_E_IO (a file was replaced, or cannot be
            read), QNNRT_E_NOT_FOUND, QNNRT_E_MEMORY and what desc.check returns. After a failure
            outputs are undefined
   Threads  one thread per run; per backend as in "Threads" above
   Cost     calls the vendor once per step; allocates, copies and looks up nothing, except for
            contexts that it loads. After binds at other addresses each is compared with the tensors
            of the run, about 1 ns each */
QNNRT_API qnnrt_result qnnrt_exec(qnnrt_run *run);
QNNRT_API qnnrt_result qnnrt_exec_steps(qnnrt_run *run, size_t first, size_t count);

/* Copy values into or out of a slot, converting between the tensor's dtype and float or int32.

   begin    first element, row-major
   count    of values; begin + count is at most the tensor's element count

   float    quantized types: converted by their encoding; q is rounded half to even and
            saturated, NaN becomes the q of real zero. Integer types: the value, rounded half to
            even and saturated, NaN becomes 0; bool8: 0 for 0, else 1 (also for NaN). 16-bit floats:
            rounded half to even. 4- and 8-bit floats are refused: their layout is not fixed
   int32    integer types: the value, saturated. Quantized types: what is stored. Float types are
            refused

   An input with qnnrt_slot.has_range takes no value out of its range, as it would be stored.
   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND; QNNRT_E_MISMATCH (begin or count); QNNRT_E_UNSUPPORTED (no
            conversion); QNNRT_E_STATE (not bound yet); QNNRT_E_ARG (also a value out of the range:
            the text has the element, and nothing was written) */
QNNRT_API qnnrt_result qnnrt_write_f32(qnnrt_run *run, const qnnrt_slot *slot, uint64_t begin,
                                       const float *values, size_t count);
QNNRT_API qnnrt_result qnnrt_read_f32(qnnrt_run *run, const qnnrt_slot *slot, uint64_t begin,
                                      float *values, size_t count);
QNNRT_API qnnrt_result qnnrt_write_i32(qnnrt_run *run, const qnnrt_slot *slot, uint64_t begin,
                                       const int32_t *values, size_t count);
QNNRT_API qnnrt_result qnnrt_read_i32(qnnrt_run *run, const qnnrt_slot *slot, uint64_t begin,
                                      int32_t *values, size_t count);

/* Convert float values to and from the stored form of a tensor in the caller's memory, such as the
   content of a file, by the same rules.

   values   [tensor->count]
   data     [tensor->bytes]

   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (no conversion); QNNRT_E_ARG */
QNNRT_API qnnrt_result qnnrt_encode_f32(const qnnrt_tensor_info *tensor, const float *values,
                                        void *data);
QNNRT_API qnnrt_result qnnrt_decode_f32(const qnnrt_tensor_info *tensor, const void *data,
                                        float *values);

/* ---------------------------------------------------------- for code that stands on qnnrt.h -- */

/* What headers and tools above this one share with it: error texts, memory, order, files. A program
   that only runs models needs none of it. */

#ifndef QNNRT__PRINTF       /* text, first: the numbers of these arguments */
#define QNNRT__PRINTF(text, first) __attribute__((format(printf, text, first)))
#endif

/* Write errors. err may be NULL in all of them.

   set      fill the error, without a hint, so that a failing check is one line. Return code
   hint     set the hint, one imperative sentence, unless the error has one. Return code
   add      append to the text
   about    put words in front of the text. Return code
   clear    make it QNNRT_OK without texts. Return QNNRT_OK

   format   as of printf: %s %c %d %i %u %x %X %o %g %f %e %p %%, with flags, widths, precisions, h,
            l, ll and z. What arguments insert is escaped as qnnrt_text_clean() does it, so a name
            from a file cannot forge a line or control a terminal. Newlines of the format itself
            stay. A text that does not fit is cut */
QNNRT_API qnnrt_result qnnrt_error_set(qnnrt_error *err, qnnrt_result code, const char *format, ...)
    QNNRT__PRINTF(3, 4);
QNNRT_API qnnrt_result qnnrt_error_hint(qnnrt_error *err, qnnrt_result code, const char *format,
                                        ...) QNNRT__PRINTF(3, 4);
QNNRT_API void qnnrt_error_add(qnnrt_error *err, const char *format, ...) QNNRT__PRINTF(2, 3);
QNNRT_API qnnrt_result qnnrt_error_about(qnnrt_error *err, qnnrt_result code, const char *format,
                                         ...) QNNRT__PRINTF(3, 4);
QNNRT_API qnnrt_result qnnrt_error_clear(qnnrt_error *err);

/* Return the number of bytes of the UTF-8 character at text, a string; 0 if it is not valid.
   *shown (may be NULL) receives 0 for what is not valid, and for characters that control a
   terminal, change the direction of text, break lines or are invisible: do not print these. They
   are U+0000-001F, U+007F-009F, U+00AD, U+061C, U+180E, U+200B-200F, U+2028-202E, U+2060-206F,
   U+FEFF, U+FFF9-FFFB, U+FFFE, U+FFFF and U+E0000-E007F. */
QNNRT_API size_t qnnrt_utf8_length(const char *text, int *shown);

/* Make a text one line that is safe to print: newlines become blanks, and each other byte that is
   not part of a visible character by qnnrt_utf8_length() becomes "?". */
QNNRT_API void qnnrt_text_clean(char *text);

/* Append to a text in `room` bytes by a format of printf; what does not fit is cut. */
QNNRT_API void qnnrt_text_append(char *text, size_t room, const char *format, ...)
    QNNRT__PRINTF(3, 4);

/* Pass a line, by a format of printf, to hooks->log, which may be NULL. It is cleaned; one of more
   than 2,399 bytes is cut, and ends with "...". */
QNNRT_API void qnnrt_log(const qnnrt_hooks *hooks, qnnrt_log_level level, const char *room,
                         uint64_t vendor_code, const char *format, ...) QNNRT__PRINTF(5, 6);

/* Allocate and free as hooks say: hooks, or hooks->alloc, may be NULL. The memory is zeroed and
   aligned to 16 bytes.
   Returns  memory for count * size bytes, at least one; NULL when out of memory, or if the product
            does not fit */
QNNRT_API void *qnnrt_hooks_alloc(const qnnrt_hooks *hooks, uint64_t count, uint64_t size);
QNNRT_API void  qnnrt_hooks_free(const qnnrt_hooks *hooks, void *data);

/* Memory that is freed together. Begins as { 0 }, with the fields that are wanted. */
typedef struct qnnrt_arena {
    qnnrt_hooks  hooks;         /* alloc and free (default: malloc and free) */
    uint64_t     limit;         /* most bytes (default 0: any number) */
    uint64_t     chunk;         /* bytes that are allocated at once (default 0: 16,384) */
    uint64_t     bytes;         /* that were allocated */
    qnnrt_result failed;        /* QNNRT_OK; QNNRT_E_MEMORY or QNNRT_E_LIMIT: a get failed, and all
                                   later ones fail, so one check after many of them is enough */
    struct qnnrt__arena_chunk *chunks;
} qnnrt_arena;

/* Get zeroed memory, aligned to 16 bytes; or a copy of `length` bytes with a NUL after them.
   Returns  the memory; NULL, see qnnrt_arena.failed */
QNNRT_API void *qnnrt_arena_get(qnnrt_arena *arena, uint64_t count, uint64_t size);
QNNRT_API char *qnnrt_arena_text(qnnrt_arena *arena, const char *text, size_t length);

/* Make room for one more item in an array of an arena, which has `count` items and room for *room;
   array may be NULL if *room is 0.
   Returns  the array, or its larger copy; NULL, see qnnrt_arena.failed */
QNNRT_API void *qnnrt_arena_more(qnnrt_arena *arena, void *array, size_t count, size_t *room,
                                 uint64_t size);

/* Free all memory of an arena, and let it begin again. */
QNNRT_API void qnnrt_arena_free(qnnrt_arena *arena);

/* Sort pointers in place by heap sort: no order of them takes longer than count * log(count), and
   nothing is allocated. compare() returns a number below, equal to or above 0. */
QNNRT_API void qnnrt_sort(const void **items, size_t count,
                          int (*compare)(const void *a, const void *b));

/* Convert elements of a tensor to those of another one: each becomes the nearest value that `to`
   has, ties to even. As qnnrt_read_f32() and qnnrt_write_f32(), but between any two types, and no
   value becomes an infinity: what is out of range becomes its end, an infinity 65504 in float16.
   Fast from and to float32.

   begin       the first element of both, in row-major order: it selects scales of an axis
   src, dst    the bytes in which that element lies, any alignment; they must not overlap
   count       0: check the tensors only
   lost        receives how many values did not fit: they were out of range, or a NaN where `to` has
               none

   Returns     QNNRT_OK; QNNRT_E_ARG, QNNRT_E_UNSUPPORTED, QNNRT_E_LIMIT (see the text) */
QNNRT_API qnnrt_result qnnrt_values_convert(const qnnrt_tensor_info *from, const void *src,
                                            const qnnrt_tensor_info *to, void *dst, uint64_t begin,
                                            size_t count, uint64_t *lost, qnnrt_error *err);

/* Read the beginning of a regular file, or all of it. The call never waits: a folder, a FIFO, a
   device or a socket is refused and not opened. Use it for settings or tokens beside a model.

   data     receives the first `room` bytes, or all if the file has fewer; may be NULL if room is 0
   bytes    receives the size of the file, which may be more than room; 0 on failure

   To read a whole file: get its size with room 0, compare it with a limit, allocate, read, and
   compare *bytes with the size again.
   Returns  QNNRT_OK; QNNRT_E_NOT_FOUND (the path does not exist); QNNRT_E_IO (text says why);
            QNNRT_E_ARG */
QNNRT_API qnnrt_result qnnrt_file_read(const char *path, void *data, size_t room, uint64_t *bytes,
                                       qnnrt_error *err);

/* Open a regular file to read. The call never waits: anything else is refused and not opened.

   fd       receives the descriptor, which the caller closes; -1 on failure
   bytes    receives the size of the file, 0 on failure

   Returns  as qnnrt_file_read() */
QNNRT_API qnnrt_result qnnrt_file_open(const char *path, int *fd, uint64_t *bytes,
                                       qnnrt_error *err);

/* --------------------------------------------------------------------------------- versions -- */

/* Return QNNRT_OK if the implementation that is linked has the version and the structs of this
   header, else QNNRT_E_VERSION: another copy of the library was linked. Call it once, where a
   program begins:
       if (QNNRT_CHECK_VERSION() != QNNRT_OK) { puts(qnnrt_version()); return 1; } */
#define QNNRT_CHECK_VERSION() qnnrt_check_version(QNNRT_VERSION_NUMBER, QNNRT__STRUCTS)
QNNRT_API qnnrt_result qnnrt_check_version(uint32_t version, size_t structs);

/* One number for the sizes of the structs that pass between the caller and the implementation. */
#define QNNRT__STRUCTS \
    (sizeof(qnnrt_error) + 3 * sizeof(qnnrt_desc) + 5 * sizeof(qnnrt_file) + \
     7 * sizeof(qnnrt_info) + 11 * sizeof(qnnrt_context_info) + 13 * sizeof(qnnrt_graph_info) + \
     17 * sizeof(qnnrt_tensor_info) + 19 * sizeof(qnnrt_backend_info) + \
     23 * sizeof(qnnrt_pipeline_info) + 29 * sizeof(qnnrt_slot) + \
     31 * sizeof(qnnrt_step_info) + 37 * sizeof(qnnrt_pipeline_desc) + \
     41 * sizeof(qnnrt_host_step) + 43 * sizeof(qnnrt_plan_desc) + 47 * sizeof(qnnrt_entry_desc) + \
     53 * sizeof(qnnrt_place_desc) + 59 * sizeof(qnnrt_plan_block) + \
     61 * sizeof(qnnrt_prepare_desc) + 67 * sizeof(qnnrt_mem_info) + \
     71 * sizeof(qnnrt_buffer_info) + 73 * sizeof(qnnrt_use_desc) + \
     79 * sizeof(qnnrt_edge_info) + 83 * sizeof(qnnrt_name_info) + \
     89 * sizeof(qnnrt_buffer_desc) + 97 * sizeof(qnnrt_step_desc) + \
     101 * sizeof(qnnrt_edge_desc) + \
     103 * sizeof(qnnrt_plan_info) + 107 * sizeof(qnnrt_transfer_info) + \
     109 * sizeof(qnnrt_mem_block) + 113 * sizeof(qnnrt_arena))

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_H, end of the declarations */

#ifdef QNNRT_IMPLEMENTATION
#ifndef QNNRT__IMPL_ONCE
#define QNNRT__IMPL_ONCE

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   Build options resolved once, compiler differences, static assertions.
   Needs: nothing     Knows nothing of: everything below
   ===================================================================================== */

#ifndef QNNRT_NO_JSON
#ifndef QNNRT_JSON_IMPLEMENTATION
#define QNNRT_JSON_IMPLEMENTATION
#endif
#include "qnnrt_json.h" /* missing? Copy it beside qnnrt.h, or define QNNRT_NO_JSON */
#endif

#include <stdarg.h>
#include <stdio.h>      /* snprintf and vsnprintf only                      */
#include <stdlib.h>     /* malloc and free, the default allocator; getenv   */
#include <string.h>

#ifndef QNNRT_LOG_SLOTS
#define QNNRT_LOG_SLOTS 8
#endif
#if QNNRT_LOG_SLOTS < 1 || QNNRT_LOG_SLOTS > 16
#error "QNNRT_LOG_SLOTS must be 1 to 16"
#endif
#if defined(QNNRT_STATIC) && !defined(QNNRT__DECLARED_STATIC)
#error "define QNNRT_STATIC before qnnrt.h is first included"
#endif

/* The compiler's message names qnnrt__assert_<name>. */
#define QNNRT__STATIC_ASSERT(name, cond) typedef char qnnrt__assert_##name[(cond) ? 1 : -1]

#define QNNRT__UNLIKELY(x)      __builtin_expect(!!(x), 0)
#define QNNRT__NOT_INLINE       __attribute__((noinline))
#define QNNRT__RESTRICT         __restrict
#define QNNRT__INLINE           static inline __attribute__((always_inline))
#define QNNRT__FOR_FRIENDS      __attribute__((unused))     /* only optional headers call it */

/* QNNRT__LOOP: a function of loops over elements; gcc makes vector code at -O2 too, as clang does;
   QNNRT__LOOP_LONG: with several vectors per turn. Parts of loops are QNNRT__INLINE functions. */
#ifndef __clang__
#define QNNRT__LOOP __attribute__((optimize("tree-vectorize", "vect-cost-model=dynamic")))
#define QNNRT__LOOP_LONG                                                                           \
    __attribute__((optimize("tree-vectorize", "vect-cost-model=dynamic", "unroll-loops")))
#else
#define QNNRT__LOOP
#define QNNRT__LOOP_LONG
#endif

/* 1 if loops may quantize by the floating-point unit. Wider temporaries (x87) or re-ordered sums
   would round twice or not at all. */
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || \
    (defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 1)
#define QNNRT__LOOP_UNIT_WRITES 0
#else
#define QNNRT__LOOP_UNIT_WRITES 1
#endif

/* Tests count the steps of functions whose time must be proportional to their input. */
#ifndef QNNRT__STEP
#define QNNRT__STEP() ((void)0)
#endif

/* In a build with AddressSanitizer, room >>mem makes more and smaller allocations. */
#ifdef __SANITIZE_ADDRESS__
#define QNNRT__ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QNNRT__ASAN
#endif
#endif

/* QNN exists for 64-bit little-endian programs. Elsewhere everything compiles, but opening a
   backend returns QNNRT_E_UNSUPPORTED. */
#if UINTPTR_MAX > 0xFFFFFFFFu && \
    (!defined(__BYTE_ORDER__) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define QNNRT__CAN_CALL 1
#else
#define QNNRT__CAN_CALL 0
#endif

/* =====================================================================================
   OPERATING SYSTEM                                                                  >>os
   Files, folders, pages, libraries, a clock and a spin lock. It is the only room with system
   headers, so a port to another system changes one room. Nothing here is newer than Android
   API 21. Functions that -std=c99 hides are declared under names of our own.
   Needs: >>config     Knows nothing of: errors, allocators, QNN
   ===================================================================================== */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#if (!defined(__linux__) && !defined(__APPLE__)) || !defined(__GNUC__)
#error "qnnrt supports gcc and clang on Linux, Android and macOS; others need another room >>os"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Values of Linux (all architectures that QNN exists for), hidden by -std=c99; and of macOS, where
   names in the linker begin with '_'. */
#ifdef __APPLE__
#define QNNRT__O_CLOEXEC  0x1000000
#define QNNRT__MAP_ANON   0x1000
#define QNNRT__MONOTONIC  6
#define QNNRT__OS(name)   __asm__("_" name)
#else
#define QNNRT__O_CLOEXEC  02000000
#define QNNRT__MAP_ANON   0x20
#define QNNRT__MONOTONIC  1
#define QNNRT__OS(name)   __asm__(name)
#endif

enum { QNNRT__PATH_MAX = 4096 };

/* struct timespec, and Dl_info */
typedef struct qnnrt__os_time { long sec, nsec; } qnnrt__os_time;
typedef struct qnnrt__os_symbol {
    const char *file; void *base; const char *name; void *address;
} qnnrt__os_symbol;
extern int qnnrt__os_clock_gettime(int clock, qnnrt__os_time *now) QNNRT__OS("clock_gettime");
extern int qnnrt__os_dladdr(const void *address, qnnrt__os_symbol *symbol) QNNRT__OS("dladdr");
extern ptrdiff_t qnnrt__os_readlink(const char *path, char *to, size_t room) QNNRT__OS("readlink");

/* Return the nanoseconds of a monotonic clock, or 0 if there is none. */
static uint64_t qnnrt__os_clock_ns(void)
{
    qnnrt__os_time now = { 0, 0 };
    if (qnnrt__os_clock_gettime(QNNRT__MONOTONIC, &now) != 0) return 0;
    return (uint64_t)now.sec * 1000000000u + (uint64_t)now.nsec;
}

#ifndef QNNRT_NO_JSON
/* Return 1 for the plain name of a file, without a path and not hidden: names that a file gives are
   never followed out of its folder. */
static int qnnrt__os_plain_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL &&
           strchr(name, '\\') == NULL;
}
#endif

/* Join the first `dir_length` bytes of dir, which may be out, and a name. Return 0 when they do not
   fit. */
static int qnnrt__os_path_join(char out[QNNRT__PATH_MAX], const char *dir, size_t dir_length,
                               const char *name)
{
    size_t name_length = strlen(name);
    int slash = dir_length > 0 && dir[dir_length - 1] != '/';
    if (dir_length >= QNNRT__PATH_MAX || name_length >= QNNRT__PATH_MAX - dir_length - 1) return 0;
    memmove(out, dir, dir_length);
    if (slash) out[dir_length++] = '/';
    memcpy(out + dir_length, name, name_length + 1);
    return 1;
}

/* Find the path of the library or program that contains an address. Return 0 when it is unknown. */
static int qnnrt__os_path_of(const void *address, char out[QNNRT__PATH_MAX])
{
    qnnrt__os_symbol found;
    if (qnnrt__os_dladdr(address, &found) == 0 || found.file == NULL) return 0;
    return qnnrt__os_path_join(out, "", 0, found.file);
}

/* Find the path of the running program. Return 0 when it is unknown. */
static int qnnrt__os_path_of_program(char out[QNNRT__PATH_MAX])
{
    const ptrdiff_t length = qnnrt__os_readlink("/proc/self/exe", out, QNNRT__PATH_MAX - 1);
    if (length <= 0) return 0;
    out[length] = '\0';
    return 1;
}

/* Find the path of the library or program that contains this code. */
static int qnnrt__os_path_of_self(char out[QNNRT__PATH_MAX])
{
    static const char here = 0;
    return qnnrt__os_path_of(&here, out);
}

/* A file that is open for reading. */
typedef struct qnnrt__os_file {
    void    *map;         /* the whole file, or NULL if it is not mapped */
    uint64_t bytes;
    int      fd;          /* -1: none */
    int      missing;     /* 1: the path does not exist */
    int      strange;     /* not a regular file: a folder, a FIFO, a socket */
    struct stat facts;    /* of the file when it was opened */
} qnnrt__os_file;

/* Open a regular file and find its size. Return NULL, or a text that says what failed. Anything
   else is refused and not even opened, because opening alone can have effects; O_NONBLOCK
   keeps the caller from hanging if a FIFO replaces the file meanwhile. fstat gives the size of the
   file that was really opened. */
static const char *qnnrt__os_file_open(const char *path, qnnrt__os_file *file)
{
    memset(file, 0, sizeof(*file));
    file->fd = -1;
    if (stat(path, &file->facts) != 0) {
        file->missing = errno == ENOENT || errno == ENOTDIR;
        return strerror(errno);
    }
    file->strange = !S_ISREG(file->facts.st_mode);
    if (S_ISDIR(file->facts.st_mode)) return "it is a folder";
    if (file->strange) return "it is not a regular file";
    do file->fd = open(path, O_RDONLY | O_NONBLOCK | QNNRT__O_CLOEXEC);
    while (file->fd < 0 && errno == EINTR);
    file->missing = file->fd < 0 && errno == ENOENT;     /* removed meanwhile */
    if (file->fd < 0) return strerror(errno);
    if (fstat(file->fd, &file->facts) != 0) return strerror(errno);
    if (!S_ISREG(file->facts.st_mode)) return "it was replaced while it was being opened";
    file->bytes = file->facts.st_size < 0 ? 0 : (uint64_t)file->facts.st_size;
    return NULL;
}

/* Return 1 if the file was written to since it was opened, by its size and times. A second write
   within one tick of the file system's clock is not seen; only reading instead of mapping
   excludes that. */
static int qnnrt__os_file_changed(const qnnrt__os_file *file)
{
    struct stat now;
    const size_t begin = offsetof(struct stat, st_mtime),
                 end = offsetof(struct stat, st_ctime) + 2 * sizeof(long);
    if (file->fd < 0) return 0;
    if (fstat(file->fd, &now) != 0 || now.st_size != file->facts.st_size) return 1;
    /* The times of modification and change stand side by side; C99 has no names for their
       nanoseconds. */
    return memcmp((const char *)&now + begin, (const char *)&file->facts + begin, end - begin) != 0;
}

/* Map the whole file. Return NULL, or a text that says what failed. */
static const char *qnnrt__os_file_map(qnnrt__os_file *file)
{
    void *at;
    if (file->bytes > SIZE_MAX / 2) return "it is larger than the address space";
    at = mmap(NULL, (size_t)file->bytes, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (at == MAP_FAILED) return strerror(errno);
    file->map = at;
    return NULL;
}

/* Read the first bytes of the file: all of them, or as many as `into` has room for. Return NULL, or
   a text that says what failed. */
static const char *qnnrt__os_file_read(const qnnrt__os_file *file, void *into, uint64_t room)
{
    const uint64_t bytes = file->bytes < room ? file->bytes : room;
    uint64_t done = 0;
    while (done < bytes) {
        const uint64_t left = bytes - done;
        ptrdiff_t got =
            read(file->fd, (char *)into + done, left > 0x40000000u ? 0x40000000u : (size_t)left);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return strerror(errno);
        if (got == 0) return "it became shorter while it was read";
        done += (uint64_t)got;
    }
    return NULL;
}

static void qnnrt__os_file_close(qnnrt__os_file *file)
{
    if (file->map != NULL) munmap(file->map, (size_t)file->bytes);
    if (file->fd >= 0) close(file->fd);
    memset(file, 0, sizeof(*file));
    file->fd = -1;
}

/* Read the first bytes of the file at a path, and find its size. Return NULL, or a text that says
   what failed. */
static const char *qnnrt__os_file_head(const char *path, void *into, uint64_t room, uint64_t *bytes,
                                       int *missing)
{
    qnnrt__os_file file;
    const char *why = qnnrt__os_file_open(path, &file);
    if (why == NULL) why = qnnrt__os_file_read(&file, into, room);
    *bytes = why == NULL ? file.bytes : 0;
    *missing = file.missing;
    qnnrt__os_file_close(&file);
    return why;
}

/* What a path is instead of a folder; 0: something else. */
enum { QNNRT__OS_FILE = 1, QNNRT__OS_MISSING };

/* Call `visit` for every entry of a folder until it returns a value other than 0, which *stopped
   receives. Return NULL, or a text that says what failed; *stopped then says what the path is. */
static const char *qnnrt__os_folder(const char *path, int (*visit)(void *user, const char *name),
                                    void *user, int *stopped)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    const char *why = NULL;
    *stopped = folder != NULL ? 0
             : errno == ENOTDIR ? QNNRT__OS_FILE : errno == ENOENT ? QNNRT__OS_MISSING : 0;
    if (folder == NULL) return strerror(errno);
    while (*stopped == 0) {
        errno = 0;
        entry = readdir(folder);
        if (entry == NULL) { if (errno != 0) why = strerror(errno); break; }
        *stopped = visit(user, entry->d_name);
    }
    closedir(folder);
    return why;
}

static size_t qnnrt__os_page_bytes(void)
{
    long bytes = sysconf(_SC_PAGESIZE);
    return bytes > 0 ? (size_t)bytes : 4096;
}

/* Return zeroed pages, or NULL. */
static void *qnnrt__os_pages(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | QNNRT__MAP_ANON, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Forbid every access to pages. Return 0 when the system refuses. */
static int qnnrt__os_pages_forbid(void *at, size_t bytes)
{
    return mprotect(at, bytes, PROT_NONE) == 0;
}

static void qnnrt__os_pages_free(void *at, size_t bytes) { munmap(at, bytes); }

/* Open a library. RTLD_NOW reports a missing symbol now and not in the middle of a run; RTLD_LOCAL
   lets two releases live in one process. On failure return NULL, with the loader's text in *why,
   which is valid until the next call on this thread. */
static void *qnnrt__os_library_open(const char *path, const char **why)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *why = NULL;
    if (library == NULL) {
        *why = dlerror();
        if (*why == NULL) *why = "the loader gave no reason";
    }
    return library;
}

/* Return 1 if the system searches the current folder for libraries, because LD_LIBRARY_PATH has an
   empty element. */
static int qnnrt__os_search_is_unsafe(void)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    size_t i, length = path != NULL ? strlen(path) : 0;
    for (i = 0; i < length; ++i)
        if ((path[i] == ':' || path[i] == ';') &&
            (i == 0 || i + 1 == length || path[i + 1] == path[i]))
            return 1;
    return 0;
}

static void *qnnrt__os_library_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

static void qnnrt__os_library_close(void *library) { dlclose(library); }

/* Let another thread run. */
static void qnnrt__os_yield(void) { (void)sched_yield(); }

/* Take a spin lock, for a few instructions: the vendor may log from several of its threads. */
static void qnnrt__os_lock(int *lock)
{
    while (__sync_lock_test_and_set(lock, 1) != 0) qnnrt__os_yield();
}

static void qnnrt__os_unlock(int *lock) { __sync_lock_release(lock); }

/* Take the lock if it is free. Return 0 when it is not. */
static int qnnrt__os_try_lock(int *lock) { return __sync_lock_test_and_set(lock, 1) == 0; }

/* Change a count of users, on any thread. */
static void qnnrt__os_count(uint32_t *users, int by)
{
    (void)__sync_fetch_and_add(users, (uint32_t)by);
}

/* Read a number that other threads may change at the same time. */
static uint32_t qnnrt__os_load(const uint32_t *number)
{
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}

static void qnnrt__os_store(uint32_t *number, uint32_t value)
{
    __atomic_store_n(number, value, __ATOMIC_RELAXED);
}

/* =====================================================================================
   SIZES                                                                           >>size
   Checked arithmetic. Every size, count or offset that comes from a file or a caller goes
   through these: each returns 1 if the result fits, else it returns 0 and sets
   *out = 0.
   Needs: >>config     Knows nothing of: what is counted
   ===================================================================================== */

static int qnnrt__size_add(uint64_t a, uint64_t b, uint64_t *out)
{
    *out = b <= UINT64_MAX - a ? a + b : 0;
    return b <= UINT64_MAX - a;
}

static int qnnrt__size_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    int fits = (a | b) <= UINT32_MAX || a == 0 || b <= UINT64_MAX / a;      /* seldom divides */
    *out = fits ? a * b : 0;
    return fits;
}

static int qnnrt__size_power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* Round a value up to a multiple of align, a power of two. */
static int qnnrt__size_align(uint64_t value, uint64_t align, uint64_t *out)
{
    int fits = value <= UINT64_MAX - (align - 1);
    *out = fits ? (value + (align - 1)) & ~(align - 1) : 0;
    return fits;
}

/* Return 1 if [offset, offset + bytes) is within [0, room). */
static int qnnrt__size_within(uint64_t offset, uint64_t bytes, uint64_t room)
{
    return offset <= room && bytes <= room - offset;
}

/* =====================================================================================
   SORT                                                                            >>sort
   Sorts pointers by heap sort: always n log n steps, without recursion or allocation (libc's
   qsort promises none of these). Finds one among sorted pointers.
   Needs: >>config     Knows nothing of: what the pointers point at
   ===================================================================================== */

typedef int (*qnnrt__sort_compare)(const void *a, const void *b);

static void qnnrt__sort_sift(const void **items, size_t root, size_t count,
                             qnnrt__sort_compare compare)
{
    for (;;) {
        size_t child = root * 2 + 1;
        const void *swap;
        if (child >= count) return;
        if (child + 1 < count && compare(items[child], items[child + 1]) < 0) ++child;
        if (compare(items[root], items[child]) >= 0) return;
        swap = items[root]; items[root] = items[child]; items[child] = swap;
        root = child;
    }
}

QNNRT_API void qnnrt_sort(const void **items, size_t count, qnnrt__sort_compare compare)
{
    size_t i;
    for (i = count / 2; i-- > 0;) qnnrt__sort_sift(items, i, count, compare);
    for (i = count; i-- > 1;) {
        const void *swap = items[0]; items[0] = items[i]; items[i] = swap;
        qnnrt__sort_sift(items, 0, i, compare);
    }
}

/* Return the index of the first sorted item that does not stand before the key; count if all do. */
static size_t qnnrt__sort_bound(const void *const *items, size_t count, const void *key,
                                qnnrt__sort_compare compare)
{
    size_t low = 0;
    while (low < count) {
        const size_t middle = low + (count - low) / 2;
        if (compare(items[middle], key) < 0) low = middle + 1;
        else count = middle;
    }
    return low;
}

/* Return the first sorted item that equals the key, or NULL. */
static const void *qnnrt__sort_find(const void *const *items, size_t count, const void *key,
                                    qnnrt__sort_compare compare)
{
    const size_t at = qnnrt__sort_bound(items, count, key, compare);
    return at < count && compare(items[at], key) == 0 ? items[at] : NULL;
}

/* =====================================================================================
   MEMORY                                                                           >>mem
   The allocator and lock hooks, and arenas: many small objects that are freed together. All
   tables of a model live in one arena, so closing it frees all of them.
   Needs: >>config >>size     Knows nothing of: what is stored
   ===================================================================================== */

/* Allocate memory, aligned to 16 as the hook promises, and leave its content undefined. Return NULL
   when out of memory. */
static QNNRT__NOT_INLINE void *qnnrt__mem_raw(const qnnrt_hooks *hooks, uint64_t bytes)
{
    const size_t some = bytes == 0 ? 1 : (size_t)bytes;
    if (bytes > SIZE_MAX / 2) return NULL;
    return hooks->alloc != NULL ? (hooks->alloc)(hooks->alloc_user, some) : malloc(some);
}

/* Allocate zeroed memory. Return NULL when out of memory. */
static void *qnnrt__mem_alloc(const qnnrt_hooks *hooks, uint64_t bytes)
{
    void *data = qnnrt__mem_raw(hooks, bytes);
    if (data != NULL) memset(data, 0, (size_t)bytes);
    return data;
}

static QNNRT__NOT_INLINE void qnnrt__mem_free(const qnnrt_hooks *hooks, void *data)
{
    if (data == NULL) return;
    if (hooks->free != NULL) (hooks->free)(hooks->alloc_user, data);
    else free(data);
}

static const qnnrt_hooks qnnrt__hooks_none = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };

static void qnnrt__hooks_lock(const qnnrt_hooks *hooks)
{
    if (hooks->lock != NULL) (hooks->lock)(hooks->lock_user);
}
static void qnnrt__hooks_unlock(const qnnrt_hooks *hooks)
{
    if (hooks->lock != NULL) (hooks->unlock)(hooks->lock_user);
}

typedef struct qnnrt__arena_chunk {
    struct qnnrt__arena_chunk *next;
    uint64_t used, room;                  /* of the bytes that follow this head */
} qnnrt__arena_chunk;

typedef qnnrt_arena qnnrt__arena;         /* its chunks: newest first, but a full one behind it */

enum { QNNRT__ARENA_HEAD = 32 };
#ifndef QNNRT__ASAN
enum { QNNRT__ARENA_ALIGN = 16, QNNRT__ARENA_CHUNK = 16384 };
#else       /* each object is an allocation of its own, so that no slack hides an overrun */
enum { QNNRT__ARENA_ALIGN = 1, QNNRT__ARENA_CHUNK = 0 };
#endif
QNNRT__STATIC_ASSERT(arena_head, sizeof(qnnrt__arena_chunk) <= QNNRT__ARENA_HEAD);

/* Allocate a chunk with room for `room` bytes. Return NULL when out of memory or over the limit. */
static qnnrt__arena_chunk *qnnrt__arena_chunk_make(qnnrt__arena *arena, uint64_t room)
{
    qnnrt__arena_chunk *chunk;
    if (room > UINT64_MAX - QNNRT__ARENA_HEAD) return NULL;
    if (arena->limit > 0 && room > arena->limit - arena->bytes) {
        arena->failed = QNNRT_E_LIMIT;
        return NULL;
    }
    chunk = (qnnrt__arena_chunk *)qnnrt__mem_alloc(&arena->hooks, room + QNNRT__ARENA_HEAD);
    if (chunk == NULL) return NULL;
    arena->bytes += room;
    chunk->room = room;
    return chunk;
}

/* Note that memory is missing, and return NULL. */
static void *qnnrt__arena_fail(qnnrt__arena *arena)
{
    if (arena->failed == QNNRT_OK) arena->failed = QNNRT_E_MEMORY;
    return NULL;
}

/* Return count * bytes of zeroed memory, or NULL when out of memory or the product does not fit;
   arena->failed then says so. An object that needs a chunk of its own leaves the newest one in
   use. */
static void *qnnrt__arena_alloc(qnnrt__arena *arena, uint64_t count, uint64_t bytes)
{
    qnnrt__arena_chunk *chunk = arena->chunks;
    const uint64_t usual = QNNRT__ARENA_CHUNK == 0 ? 0
                         : arena->chunk > 0 ? arena->chunk : (uint64_t)QNNRT__ARENA_CHUNK;
    uint64_t need;
    if (!qnnrt__size_mul(count, bytes, &need) ||
        !qnnrt__size_align(need == 0 ? 1 : need, QNNRT__ARENA_ALIGN, &need))
        return qnnrt__arena_fail(arena);
    if (chunk == NULL || need > chunk->room - chunk->used) {
        const int apart = chunk != NULL && usual > 0 && need >= usual;
        qnnrt__arena_chunk **at = apart ? &chunk->next : &arena->chunks;
        chunk = qnnrt__arena_chunk_make(arena, need > usual ? need : usual);
        if (chunk == NULL) return qnnrt__arena_fail(arena);
        chunk->next = *at;
        *at = chunk;
    }
    chunk->used += need;
    return (unsigned char *)chunk + QNNRT__ARENA_HEAD + (size_t)(chunk->used - need);
}

/* Return an array of at least `need` items: items itself while *room suffices, else a copy with at
   least twice the room. Return NULL when out of memory. The old array stays in the arena. */
static void *qnnrt__arena_grow(qnnrt__arena *arena, void *items, size_t count, size_t bytes,
                               uint64_t need, size_t *room)
{
    const uint64_t more = need > (uint64_t)*room * 2 ? need : (uint64_t)*room * 2;
    void *grown;
    if (need <= *room) return items;
    grown = qnnrt__arena_alloc(arena, more, bytes);
    if (grown == NULL) return NULL;
    if (count > 0) memcpy(grown, items, count * bytes);
    *room = (size_t)more;
    return grown;
}

QNNRT_API void qnnrt_arena_free(qnnrt_arena *arena)
{
    while (arena->chunks != NULL) {
        qnnrt__arena_chunk *next = arena->chunks->next;
        qnnrt__mem_free(&arena->hooks, arena->chunks);
        arena->chunks = next;
    }
    arena->bytes = 0;
    arena->failed = QNNRT_OK;
}

QNNRT_API void *qnnrt_hooks_alloc(const qnnrt_hooks *hooks, uint64_t count, uint64_t size)
{
    uint64_t bytes;
    if (!qnnrt__size_mul(count, size, &bytes)) return NULL;
    return qnnrt__mem_alloc(hooks != NULL ? hooks : &qnnrt__hooks_none, bytes > 0 ? bytes : 1);
}

QNNRT_API void qnnrt_hooks_free(const qnnrt_hooks *hooks, void *data)
{
    qnnrt__mem_free(hooks != NULL ? hooks : &qnnrt__hooks_none, data);
}

QNNRT_API void *qnnrt_arena_get(qnnrt_arena *arena, uint64_t count, uint64_t size)
{
    return arena->failed != QNNRT_OK ? NULL : qnnrt__arena_alloc(arena, count, size);
}

QNNRT_API char *qnnrt_arena_text(qnnrt_arena *arena, const char *text, size_t length)
{
    char *copy = (char *)qnnrt_arena_get(arena, (uint64_t)length + 1, 1);
    if (copy != NULL && length > 0) memcpy(copy, text, length);
    return copy;
}

QNNRT_API void *qnnrt_arena_more(qnnrt_arena *arena, void *array, size_t count, size_t *room,
                                 uint64_t size)
{
    if (count < *room) return array;
    if (arena->failed != QNNRT_OK || count == SIZE_MAX) return qnnrt__arena_fail(arena);
    return qnnrt__arena_grow(arena, array, count, (size_t)size, count < 16 ? 16 : count + 1, room);
}

/* =====================================================================================
   ERRORS                                                                           >>err
   Fills in errors. All texts are cut, terminated and cleaned here.
   Needs: >>config >>os     Knows nothing of: vendor codes, callers
   ===================================================================================== */

QNNRT_API size_t qnnrt_utf8_length(const char *text, int *shown)
{
    static const uint32_t hidden[][2] = {
        { 0, 0x1F }, { 0x7F, 0x9F }, { 0xAD, 0xAD }, { 0x61C, 0x61C }, { 0x180E, 0x180E },
        { 0x200B, 0x200F }, { 0x2028, 0x202E }, { 0x2060, 0x206F }, { 0xFEFF, 0xFEFF },
        { 0xFFF9, 0xFFFB }, { 0xFFFE, 0xFFFF }, { 0xE0000, 0xE007F }
    };
    const unsigned char *at = (const unsigned char *)text;
    const size_t length = at[0] < 0x80 ? 1 : at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
    uint32_t code = length == 1 ? at[0] : at[0] & (0x7Fu >> length);
    size_t i;
    int own;
    if (shown == NULL) shown = &own;
    *shown = 0;
    if (length > 1 && (at[0] < 0xC2 || at[0] > 0xF4)) return 0;
    for (i = 1; i < length; ++i) {
        if ((at[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (at[i] & 0x3Fu);
    }
    if (length == 3 && (code < 0x800 || (code >= 0xD800 && code <= 0xDFFF))) return 0;
    if (length == 4 && (code < 0x10000 || code > 0x10FFFF)) return 0;
    for (i = 0; code > hidden[i][1] && i + 1 < sizeof(hidden) / sizeof(hidden[0]);) ++i;
    *shown = code < hidden[i][0] || code > hidden[i][1];
    return length;
}

/* Names from files reach terminals and logs only through here. */
QNNRT_API void qnnrt_text_clean(char *text)
{
    while (*text != '\0') {
        int shown;
        const size_t length = qnnrt_utf8_length(text, &shown);
        if (!shown) *text = *text == '\n' ? ' ' : '?';
        text += shown ? length : 1;
    }
}

QNNRT_API void qnnrt_text_append(char *text, size_t room, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    if (used < room) vsnprintf(text + used, room - used, format, args);
    va_end(args);
}

/* Append `length` bytes to the text in `to`, which has room for `room` bytes. A text that does not
   fit is cut between two characters. */
static void qnnrt__err_append(char *to, size_t room, const char *text, size_t length)
{
    size_t used = strlen(to);
    if (length > room - 1 - used) {
        length = room - 1 - used;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) --length;
    }
    memcpy(to + used, text, length);
    to[used + length] = '\0';
}

/* Append to the text in `to` by a format, see qnnrt_error_set(). Arguments may be names from a
   file, so they are cleaned, newlines included: a name cannot forge a line. Newlines of the format
   stay. A conversion that is not known ends the text. */
static void qnnrt__err_format(char *to, size_t room, const char *format, va_list args)
{
    char piece[sizeof(((qnnrt_error *)0)->text)], spec[40];
    while (*format != '\0') {
        const char *percent = strchr(format, '%');
        size_t length = percent == NULL ? strlen(format) : (size_t)(percent - format);
        int longs = 0, kind;
        qnnrt__err_append(to, room, format, length);
        format += length;
        if (*format == '\0') return;
        spec[0] = *format++;
        for (length = 1; *format != '\0' && strchr("-+ #0123456789.*hlz", *format) != NULL &&
                         length < 24; ++format) {
            if (*format == '*')
                length += (size_t)snprintf(spec + length, 12, "%d", va_arg(args, int));
            else spec[length++] = *format;
            longs += *format == 'l' ? 1 : *format == 'z' ? 3 : 0;
        }
        kind = *format;
        spec[length] = *format;
        spec[length + 1] = '\0';
        if (kind == '\0' || strchr("scdiuxXogfep%", kind) == NULL) return;
        ++format;
        if (strchr("di", kind) != NULL) kind = 'u';     /* of the same size */
        if (kind == 's') snprintf(piece, sizeof(piece), spec, va_arg(args, const char *));
        else if (kind == 'p') snprintf(piece, sizeof(piece), spec, va_arg(args, void *));
        else if (kind == '%') memcpy(piece, "%", 2);
        else if (strchr("gfe", kind) != NULL)
            snprintf(piece, sizeof(piece), spec, va_arg(args, double));
        else if (longs == 1) snprintf(piece, sizeof(piece), spec, va_arg(args, unsigned long));
        else if (longs == 2) snprintf(piece, sizeof(piece), spec, va_arg(args, unsigned long long));
        else if (longs == 3) snprintf(piece, sizeof(piece), spec, va_arg(args, size_t));
        else snprintf(piece, sizeof(piece), spec, va_arg(args, unsigned));
        qnnrt_text_clean(piece);
        qnnrt__err_append(to, room, piece, strlen(piece));
    }
}

/* Append a text to an error's text without cleaning it. */
static void qnnrt__err_text(qnnrt_error *err, const char *text, size_t length)
{
    if (err != NULL) qnnrt__err_append(err->text, sizeof(err->text), text, length);
}

/* Append to an error's text by a format, see qnnrt__err_format(). */
static void qnnrt__err_vadd(qnnrt_error *err, const char *format, va_list args)
{
    if (err != NULL) qnnrt__err_format(err->text, sizeof(err->text), format, args);
}

QNNRT_API void qnnrt_error_add(qnnrt_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    qnnrt__err_vadd(err, format, args);
    va_end(args);
}

QNNRT_API qnnrt_result qnnrt_error_clear(qnnrt_error *err)
{
    if (err == NULL) return QNNRT_OK;
    err->code = QNNRT_OK;
    err->vendor_code = 0;
    err->cause = NULL;
    err->text[0] = err->hint[0] = '\0';
    return QNNRT_OK;
}

#define QNNRT__FAIL qnnrt_error_set

static qnnrt_result qnnrt__fail_memory(qnnrt_error *err, const char *what)
{
    return QNNRT__FAIL(err, QNNRT_E_MEMORY, "out of memory for %s", what);
}

/* Fail because a file cannot be read, for the reason `why`. missing: the path does not exist. */
static qnnrt_result qnnrt__fail_file(qnnrt_error *err, const char *path, const char *why,
                                     int missing)
{
    return QNNRT__FAIL(err, missing ? QNNRT_E_NOT_FOUND : QNNRT_E_IO, "cannot read %s: %s", path,
                       why);
}

/* The first hint stays, because it comes from the function that knows most:

       return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_IO, "%s is empty", path),
                          "Copy the file again."); */
#ifndef QNNRT_NO_ERROR_TEXT
#define QNNRT__HINT qnnrt_error_hint
#else       /* calls are inlined, and the texts vanish */
#define QNNRT__HINT qnnrt__hint_none
static qnnrt_result qnnrt__hint_none(qnnrt_error *err, qnnrt_result code, const char *format, ...)
    QNNRT__PRINTF(3, 4);
static qnnrt_result qnnrt__hint_none(qnnrt_error *err, qnnrt_result code, const char *format, ...)
{
    (void)err;
    (void)format;
    return code;
}
#endif

#define QNNRT__HINT_COMPILE \
    "Compile it with qnnrt-run compile FILE --output_dir DIR, and give DIR."

/* Begin a call that makes *out, and clear *err: fail if out or `from`, argument `what`, is NULL. */
static qnnrt_result qnnrt__err_begin(const char *call, const char *what, const void *from,
                                     void *out, qnnrt_error *err)
{
    qnnrt_error_clear(err);
    if (out != NULL) memset(out, 0, sizeof(void *));
    if (from != NULL && out != NULL) return QNNRT_OK;
    return QNNRT__FAIL(err, QNNRT_E_ARG, "%s: %s is NULL", call, out == NULL ? "out" : what);
}

/* Set the general hint of a result where there is none yet. Return the result. */
static qnnrt_result qnnrt__hint_general(qnnrt_error *err, qnnrt_result result)
{
    static const struct { qnnrt_result result; const char *hint; } hints[] = {
        { QNNRT_E_IO, "Check that it exists and that this process may read it." },
        { QNNRT_E_NOT_FOUND, "Check the name." },
        { QNNRT_E_FORMAT, "Copy the file again from where it was made and compare sizes or hashes;"
                          " if it is the same, make it again." },
        { QNNRT_E_LIMIT, "If the model is meant to be that large, raise the named field of"
                         " desc.limits; otherwise split it into shards." },
        { QNNRT_E_MISMATCH, "Take all files of the model from one build." },
        { QNNRT_E_MEMORY, "Close what is not needed, or run the model in shards." }
    };
    size_t i;
    for (i = 0; i < sizeof(hints) / sizeof(hints[0]); ++i)
        if (hints[i].result == result) QNNRT__HINT(err, result, "%s", hints[i].hint);
    return result;
}

QNNRT_API qnnrt_result qnnrt_error_about(qnnrt_error *err, qnnrt_result code, const char *format,
                                         ...)
{
    char text[sizeof(err->text)];
    va_list args;
    if (err == NULL) return code;
    memcpy(text, err->text, sizeof(text));
    err->code = code;
    err->text[0] = '\0';
    va_start(args, format);
    qnnrt__err_vadd(err, format, args);
    va_end(args);
    qnnrt__err_text(err, text, strlen(text));
    return code;
}

QNNRT_API qnnrt_result qnnrt_error_set(qnnrt_error *err, qnnrt_result code, const char *format, ...)
{
    va_list args;
    qnnrt_error_clear(err);
    if (err != NULL) err->code = code;
    va_start(args, format);
    qnnrt__err_vadd(err, format, args);
    va_end(args);
    return code;
}

QNNRT_API qnnrt_result qnnrt_error_hint(qnnrt_error *err, qnnrt_result code, const char *format,
                                        ...)
{
    va_list args;
    va_start(args, format);
    if (err != NULL && err->hint[0] == '\0')
        qnnrt__err_format(err->hint, sizeof(err->hint), format, args);
    va_end(args);
    return code;
}

/* Return the name of a result, or what it means. */
static const char *qnnrt__err_result(qnnrt_result result, int meant)
{
    switch ((int)result) {
#define QNNRT__X(name, value, meaning) case value: return meant ? meaning : "QNNRT_" #name;
        QNNRT_RESULTS(QNNRT__X)
#undef QNNRT__X
        default: return "unknown";
    }
}

QNNRT_API const char *qnnrt_result_name(qnnrt_result result)
{
    return qnnrt__err_result(result, 0);
}

QNNRT_API const char *qnnrt_result_text(qnnrt_result result)
{
    return qnnrt__err_result(result, 1);
}

QNNRT_API qnnrt_result qnnrt_file_read(const char *path, void *data, size_t room, uint64_t *bytes,
                                       qnnrt_error *err)
{
    const char *why;
    int missing;
    qnnrt_error_clear(err);
    if (bytes != NULL) *bytes = 0;
    if (path == NULL || bytes == NULL || (data == NULL && room > 0))
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_file_read: path, bytes or data is NULL");
    why = qnnrt__os_file_head(path, data, room, bytes, &missing);
    return why == NULL ? QNNRT_OK : qnnrt__fail_file(err, path, why, missing);
}

QNNRT_API qnnrt_result qnnrt_file_open(const char *path, int *fd, uint64_t *bytes,
                                       qnnrt_error *err)
{
    qnnrt__os_file file;
    const char *why;
    qnnrt_error_clear(err);
    if (fd != NULL) *fd = -1;
    if (bytes != NULL) *bytes = 0;
    if (path == NULL || fd == NULL || bytes == NULL)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_file_open: path, fd or bytes is NULL");
    why = qnnrt__os_file_open(path, &file);
    if (why != NULL) {
        const int missing = file.missing;
        qnnrt__os_file_close(&file);
        return qnnrt__fail_file(err, path, why, missing);
    }
    *fd = file.fd;
    *bytes = file.bytes;
    return QNNRT_OK;
}

/* =====================================================================================
   LOG                                                                              >>log
   Passes lines of the vendor and of our own to the host's hook, and keeps the vendor's last
   lines for error texts. The vendor's callback gets (format, level, time, va_list) and no
   user pointer, so each backend takes a slot of a static table, with a callback of its own.
   The slot has a pointer; what it points to is in the backend.
   Needs: >>config >>os >>err     Knows nothing of: backends, codes
   ===================================================================================== */

/* The first lines of a call are kept, because one of them tells the cause, and its last lines. */
enum { QNNRT__LOG_FIRST = 8, QNNRT__LOG_LAST = 16, QNNRT__LOG_LINES = 24, QNNRT__LOG_CHARS = 256,
       QNNRT__LOG_SHOWN = 7 };

typedef struct qnnrt__log_line {
    uint32_t level, number;
    char     text[QNNRT__LOG_CHARS];
} qnnrt__log_line;

typedef struct qnnrt__log_count {
    uint32_t lines;                             /* errors and warnings of the backend */
    uint32_t begin;                             /* number of lines when the last call began */
} qnnrt__log_count;

/* The log of a backend, zeroed with it. The lock of its slot guards it, except count. */
typedef struct qnnrt__log_book {
    int             closing;                    /* 1: lines are ignored */
    unsigned        calls;                      /* of the hook that run now, on any thread */
    qnnrt_hooks     hooks;
    qnnrt_log_level level;
    qnnrt__log_count count;
    qnnrt__log_line lines[QNNRT__LOG_LINES];    /* see qnnrt__log_place() */
} qnnrt__log_book;

typedef struct qnnrt__log_slot {
    int              lock;                      /* guards what follows */
    qnnrt__log_book *book;                      /* NULL: the slot is free */
} qnnrt__log_slot;

static qnnrt__log_slot qnnrt__log_slots[QNNRT_LOG_SLOTS];

QNNRT_API void qnnrt_log(const qnnrt_hooks *hooks, qnnrt_log_level level, const char *room,
                         uint64_t vendor_code, const char *format, ...)
{
    char line[2400];
    va_list args;
    int bytes;
    if (hooks->log == NULL) return;
    va_start(args, format);
    bytes = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (bytes >= (int)sizeof(line)) memcpy(line + sizeof(line) - 4, "...", 4);
    qnnrt_text_clean(line);
    (hooks->log)(hooks->log_user, level, room, vendor_code, line);
}

/* Pass the text of an error to the host's hook, line by line, the first of them behind `before`. */
static void qnnrt__log_error(const qnnrt_hooks *hooks, qnnrt_log_level level, const char *room,
                             const char *before, const qnnrt_error *err)
{
    const char *line = err->text;
    const char *end;
    for (; (end = strchr(line, '\n')) != NULL; line = end + 1, before = "")
        qnnrt_log(hooks, level, room, 0, "%s%.*s", before, (int)(end - line), line);
    qnnrt_log(hooks, level, room, 0, "%s%s", before, line);
    if (err->cause != NULL) qnnrt_log(hooks, level, room, 0, "likely cause: %s", err->cause);
}

/* Return where line `number` is kept, when the current call began with line `begin`. */
static uint32_t qnnrt__log_place(uint32_t number, uint32_t begin)
{
    uint32_t at = number - begin;
    return at < QNNRT__LOG_FIRST ? at
                                 : QNNRT__LOG_FIRST + (at - QNNRT__LOG_FIRST) % QNNRT__LOG_LAST;
}

/* Keep one line of the vendor and pass it on. The format comes from the vendor's library, which is
   trusted; its arguments may come from a file, so the line is cleaned. Runs on any thread, and may
   run after the slot was closed. */
static void qnnrt__log_take(qnnrt__log_slot *slot, const char *format, uint32_t level, va_list args)
{
    char line[QNNRT__LOG_CHARS], *text = line;
    qnnrt__log_book *book;
    size_t length;
    int pass = 0;
    if (format == NULL) return;
    vsnprintf(line, sizeof(line), format, args);
    length = strlen(line);
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        line[--length] = '\0';
    while (*text == ' ') ++text;
    qnnrt_text_clean(text);
    if (level > QNNRT_LOG_DEBUG) level = QNNRT_LOG_DEBUG;
    if (level < QNNRT_LOG_ERROR) level = QNNRT_LOG_WARN;     /* shown, but never as an error */
    qnnrt__os_lock(&slot->lock);
    book = slot->book;
    if (book != NULL && !book->closing) {
        pass = level <= (uint32_t)book->level && book->hooks.log != NULL;
        book->calls += pass ? 1 : 0;
        if (text[0] != '\0' && level <= QNNRT_LOG_WARN) {
            const uint32_t number = book->count.lines, begin = qnnrt__os_load(&book->count.begin);
            qnnrt__log_line *kept = &book->lines[qnnrt__log_place(number, begin)];
            kept->level = level;
            kept->number = number;
            memcpy(kept->text, text, strlen(text) + 1);
            qnnrt__os_store(&book->count.lines, number + 1);
        }
    }
    qnnrt__os_unlock(&slot->lock);
    if (!pass) return;
    /* The book stays until its calls have ended, see qnnrt__log_close(). */
    (book->hooks.log)(book->hooks.log_user, (qnnrt_log_level)level, "vendor", 0, text);
    qnnrt__os_lock(&slot->lock);
    --book->calls;
    qnnrt__os_unlock(&slot->lock);
}

/* One callback per slot: qnnrt__log_call_3 knows that it is number 3. */
#define QNNRT__LOG_CALLS(X)                                                                        \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define QNNRT__X(n) \
    static void qnnrt__log_call_##n(const char *format, uint32_t level, uint64_t time, \
                                    va_list args) \
    { \
        (void)time; \
        qnnrt__log_take(&qnnrt__log_slots[(n) < QNNRT_LOG_SLOTS ? (n) : 0], format, level, args); \
    }
QNNRT__LOG_CALLS(QNNRT__X)
#undef QNNRT__X

typedef void (*qnnrt__log_callback)(const char *format, uint32_t level, uint64_t time,
                                    va_list args);

#define QNNRT__X(n) qnnrt__log_call_##n,
static const qnnrt__log_callback qnnrt__log_callbacks[] = { QNNRT__LOG_CALLS(QNNRT__X) };
#undef QNNRT__X

/* Take a free slot. Return -1 when all are taken: the new backend then runs without a log. */
static int qnnrt__log_open(qnnrt__log_book *book, const qnnrt_hooks *hooks, qnnrt_log_level level)
{
    int i;
    book->hooks = *hooks;
    book->level = level;
    book->closing = 0;
    for (i = 0; i < QNNRT_LOG_SLOTS; ++i) {
        qnnrt__log_slot *slot = &qnnrt__log_slots[i];
        int mine;
        qnnrt__os_lock(&slot->lock);
        mine = slot->book == NULL;
        if (mine) slot->book = book;
        qnnrt__os_unlock(&slot->lock);
        if (mine) return i;
    }
    return -1;
}

/* Give a slot back. Wait for calls of the hook on other threads: the host may free what the hook
   uses as soon as its backend is closed. */
static void qnnrt__log_close(int index)
{
    qnnrt__log_slot *slot = &qnnrt__log_slots[index < 0 ? 0 : index];
    int open = index >= 0;
    while (open) {
        qnnrt__os_lock(&slot->lock);
        slot->book->closing = 1;
        if (slot->book->calls == 0) slot->book = NULL;
        open = slot->book != NULL;
        qnnrt__os_unlock(&slot->lock);
        if (open) qnnrt__os_yield();
    }
}

/* Begin a call: lines from the returned number on belong to it. When two calls run on one backend
   at a time, which needs locks by the manual, lines may be missed but never mixed up. */
static uint32_t qnnrt__log_begin(qnnrt__log_count *count)
{
    uint32_t lines = qnnrt__os_load(&count->lines);
    qnnrt__os_store(&count->begin, lines);
    return lines;
}

static uint32_t qnnrt__log_mark(int index)
{
    return index < 0 ? 0 : qnnrt__log_begin(&qnnrt__log_slots[index].book->count);
}

/* The lines that the vendor logged since a mark, in order. */
typedef struct qnnrt__log_part {
    qnnrt__log_line lines[QNNRT__LOG_LINES];
    uint32_t        count;
    uint32_t        gap;                        /* index of the first line after lost lines, or 0 */
    uint32_t        first;                      /* index of the line to show first: the first error,
                                                   else the first warning */
} qnnrt__log_part;

/* Copy what the vendor logged since a mark. */
static void qnnrt__log_copy(int index, uint32_t mark, qnnrt__log_part *part)
{
    qnnrt__log_slot *slot = &qnnrt__log_slots[index < 0 ? 0 : index];
    const qnnrt__log_book *book;
    uint32_t number, end, begin;
    part->count = part->gap = part->first = 0;
    if (index < 0) return;
    qnnrt__os_lock(&slot->lock);
    book = slot->book;
    end = book->count.lines;
    begin = qnnrt__os_load(&book->count.begin);
    for (number = mark; number != end; ++number) {
        const qnnrt__log_line *line;
        if (number - mark == QNNRT__LOG_FIRST && end - number > QNNRT__LOG_LAST) {
            number = end - QNNRT__LOG_LAST;
            part->gap = part->count;
        }
        line = &book->lines[qnnrt__log_place(number, begin)];
        if (line->number == number && part->count < QNNRT__LOG_LINES)
            part->lines[part->count++] = *line;
    }
    qnnrt__os_unlock(&slot->lock);
    while (part->first < part->count && part->lines[part->first].level != QNNRT_LOG_ERROR)
        ++part->first;
    if (part->first == part->count) part->first = 0;
}

/* Append what the vendor logged since a mark to an error: the line to show first, then the last
   ones. Lines in between are left out. qnnrt_explain_error() of tools/qnnrt_explain.h reads it. */
static void qnnrt__log_report(int index, uint32_t mark, qnnrt_error *err)
{
    qnnrt__log_part part;
    uint32_t i = 0;
    qnnrt__log_copy(index, mark, &part);
    if (part.count == 0) return;
    qnnrt_error_add(err, "\n  the library logged first, %s: %s",
                    part.lines[part.first].level == QNNRT_LOG_ERROR ? "an error" : "a warning",
                    part.lines[part.first].text);
    if (part.count > QNNRT__LOG_SHOWN) i = part.count - QNNRT__LOG_SHOWN;
    if (i > part.first + 1 || (part.gap > 0 && part.gap <= i)) qnnrt_error_add(err, "\n  ...");
    for (; i < part.count; ++i)
        if (i != part.first)
            qnnrt_error_add(err, "\n  and %s: %s", i < part.first ? "before" : "then",
                            part.lines[i].text);
}

/* Refuse to free what is in use. */
static qnnrt_result qnnrt__log_busy(const qnnrt_hooks *hooks, const char *what, uint32_t users)
{
    qnnrt_log(hooks, QNNRT_LOG_ERROR, "log", 0,
              "%s is still in use and stays open: %u users; destroy runs first, then mems, plans"
              " and made pipelines, then close models, then backends", what, (unsigned)users);
    return QNNRT_E_BUSY;
}

/* =====================================================================================
   SHARE                                                                          >>share
   Memory that a device can use in place, because a file descriptor stands for it.
   Source: inc/rpcmem.h of github.com/qualcomm/fastrpc: heap 25 (system), flag 1 (cached), no
   rpcmem_init() for users of libcdsprpc.so.
   Needs: >>os >>size >>err     Knows nothing of: plans, backends, other providers
   ===================================================================================== */

typedef struct qnnrt__share {
    qnnrt_mem_provider provider;
    qnnrt_mem_block    block;           /* as the provider gave it */
    unsigned char     *data;            /* in the block, aligned */
    uint64_t           fd_offset;       /* of data */
    void              *users;           /* of >>register, which ends them before close */
} qnnrt__share;

static void qnnrt__share_close(qnnrt__share *share)
{
    if (share->block.data != NULL) share->provider.free(share->provider.user, &share->block);
    share->block.data = NULL;
}

/* Find a function of libcdsprpc.so, and copy its address to `to`. Return 0 if it is missing. */
static int qnnrt__share_symbol(void *library, const char *name, void *to)
{
    void *found = qnnrt__os_library_symbol(library, name);
    memcpy(to, (const void *)&found, sizeof(found));
    return found != NULL;
}

/* Free what follows gave. */
static void qnnrt__share_rpcmem_free(void *user, const qnnrt_mem_block *block)
{
    void (*give_back)(void *) = NULL;
    (void)user;
    if (qnnrt__share_symbol(block->own, "rpcmem_free", (void *)&give_back)) give_back(block->data);
}

/* Allocate with FastRPC, from the library at the path `user`. It stays loaded: that of the backend
   uses it, too. */
static qnnrt_result qnnrt__share_rpcmem(void *user, const qnnrt_backend *backend,
                                        qnnrt_mem_block *block, qnnrt_error *err)
{
    enum { HEAP_SYSTEM = 25, FLAG_CACHED = 1 };
    const char *path = user != NULL ? (const char *)user : "libcdsprpc.so", *why, *lacks = NULL;
    void *(*alloc)(int, uint32_t, int) = NULL, *(*alloc2)(int, uint32_t, size_t) = NULL;
    void (*give_back)(void *) = NULL;
    int (*to_fd)(void *) = NULL;
    const unsigned long long bytes = block->bytes;
    void *library;
    qnnrt_result result;
    (void)backend;
    if (strchr(path, '/') == NULL && qnnrt__os_search_is_unsafe())
        return QNNRT__FAIL(err, QNNRT_E_LIBRARY, "%s is not searched, because LD_LIBRARY_PATH names"
                           " the current folder", path);
    library = qnnrt__os_library_open(path, &why);
    if (library == NULL)
        return QNNRT__FAIL(err, QNNRT_E_LIBRARY, "cannot open %s: %s", path, why);
    qnnrt__share_symbol(library, "rpcmem_alloc2", (void *)&alloc2);
    if (!qnnrt__share_symbol(library, "rpcmem_alloc", (void *)&alloc) && alloc2 == NULL)
        lacks = "rpcmem_alloc";
    if (!qnnrt__share_symbol(library, "rpcmem_free", (void *)&give_back)) lacks = "rpcmem_free";
    if (!qnnrt__share_symbol(library, "rpcmem_to_fd", (void *)&to_fd)) lacks = "rpcmem_to_fd";
    if (lacks != NULL)
        result = QNNRT__FAIL(err, QNNRT_E_LIBRARY, "%s has no function %s", path, lacks);
    else if (alloc2 == NULL && bytes > INT32_MAX)
        result = QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "%s has no rpcmem_alloc2, and rpcmem_alloc"
                             " takes at most 2147483647 bytes; %llu are needed", path, bytes);
    else {
        block->own = library;
        block->data = alloc2 != NULL ? alloc2(HEAP_SYSTEM, FLAG_CACHED, block->bytes)
                                     : alloc(HEAP_SYSTEM, FLAG_CACHED, (int)bytes);
        if (block->data != NULL) block->fd = to_fd(block->data);
        if (block->fd >= 0) return QNNRT_OK;
        result = block->data != NULL
            ? QNNRT__FAIL(err, QNNRT_E_BACKEND, "rpcmem_to_fd of %s gave %d for %llu bytes", path,
                          block->fd, bytes)
            : QNNRT__FAIL(err, QNNRT_E_MEMORY, "%s of %s gave no memory for %llu bytes",
                          alloc2 != NULL ? "rpcmem_alloc2" : "rpcmem_alloc", path, bytes);
        if (block->data != NULL) give_back(block->data);
    }
    qnnrt__os_library_close(library);
    return result;
}

/* Make memory of a provider, with room for `bytes` at an aligned address. */
static qnnrt_result qnnrt__share_open(qnnrt__share *share, const qnnrt_mem_provider *provider,
                                      const qnnrt_backend *backend, uint64_t bytes, uint64_t align,
                                      qnnrt_error *err)
{
    const char *name = provider->name != NULL ? provider->name : "provider";
    qnnrt_mem_block *block = &share->block;
    /* Memory of a provider begins at a page. */
    const uint64_t slack = align > qnnrt__os_page_bytes() ? align : 0;
    uint64_t need, lead, end;
    qnnrt_result result;
    memset(share, 0, sizeof(*share));
    share->provider = *provider;
    share->provider.name = name;
    if (provider->alloc == NULL || provider->free == NULL)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "memory of kind \"provider\" needs provider.alloc and"
                           " provider.free");
    if (!qnnrt__size_add(bytes == 0 ? 1 : bytes, slack, &need) || need > SIZE_MAX / 2)
        return QNNRT__FAIL(err, QNNRT_E_LIMIT, "memory does not fit into the address space");
    block->bytes = (size_t)need;
    block->align = (size_t)align;
    block->fd = -1;
    result = provider->alloc(provider->user, backend, block, err);
    if (result != QNNRT_OK) {
        block->data = NULL;
        return result;
    }
    if (block->data == NULL)
        return QNNRT__FAIL(err, QNNRT_E_MEMORY, "\"%.100s\" gave no memory for %llu bytes", name,
                           (unsigned long long)need);
    lead = (~(uint64_t)(uintptr_t)block->data + 1) & (align - 1);
    share->data = (unsigned char *)block->data + (size_t)lead;
    if (block->fd < 0)
        result = QNNRT__FAIL(err, QNNRT_E_BACKEND, "\"%.100s\" gave file descriptor %d for %llu"
                             " bytes", name, block->fd, (unsigned long long)need);
    else if (lead > slack || !qnnrt__size_add(block->fd_offset, need, &end))
        result = QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "the memory of \"%.100s\" is at an address"
                             " that is not aligned to %llu", name, (unsigned long long)align);
    if (result != QNNRT_OK) {
        qnnrt__share_close(share);
        return result;
    }
    share->fd_offset = block->fd_offset + lead;
    if (block->fd_bytes == 0) block->fd_bytes = end;
    return QNNRT_OK;
}

/* =====================================================================================
   VENDOR CODES                                                                   >>codes
   Explains answers of the vendor: symbol, likely cause and what to do. A code says little (0x1388
   has five causes); tools/qnnrt_explain.h knows all of them, and the lines that tell which applies.
   The entries come from tools/vendor/vendor.txt, see >>vendor_codes.
   Needs: >>err >>log     Knows nothing of: callers
   ===================================================================================== */

enum { QNNRT__CODES_SYMBOL = 80 };       /* room for a symbol */

/* The likely cause of a code that open, prepare or exec may meet. */
typedef struct qnnrt__codes_cause { uint32_t code; const char *cause, *fix; } qnnrt__codes_cause;

#ifndef QNNRT_NO_ERROR_TEXT
/* Get the data at the end of this file. Causes end with code 0. Symbols are words: a number is that
   of the next name, what ends with "_" is what names begin with from there on, after QNN_. */
static void qnnrt__codes_data(const char **symbols, const qnnrt__codes_cause **causes);
#endif

/* Find the cause of a code, by all 32 bits for codes of FastRPC and by the low 16 bits for others.
   NULL: none is known. */
static const qnnrt__codes_cause *qnnrt__codes_find(uint64_t vendor_code)
{
#ifndef QNNRT_NO_ERROR_TEXT
    const qnnrt__codes_cause *at;
    const char *symbols;
    qnnrt__codes_data(&symbols, &at);
    for (; at->code != 0; ++at)
        if (at->code == (vendor_code & (at->code > 0xFFFF ? 0xFFFFFFFFu : 0xFFFFu))) return at;
#endif
    (void)vendor_code;
    return NULL;
}

QNNRT_API const char *qnnrt_vendor_code_name(uint64_t vendor_code, char *text, size_t room)
{
    if (text == NULL || room == 0) return "";
    text[0] = '\0';
#ifndef QNNRT_NO_ERROR_TEXT
    {
        const uint32_t low = (uint32_t)(vendor_code & 0xFFFF);
        const qnnrt__codes_cause *causes;
        const char *at, *begin = "";
        uint32_t code = 0, digits;
        int length, begins = 0;
        qnnrt__codes_data(&at, &causes);
        for (; *at != '\0'; at += length + (at[length] == ' ')) {
            length = (int)strcspn(at, " ");
            if (at[0] >= '0' && at[0] <= '9')
                for (code = digits = 0; digits < (uint32_t)length; ++digits)
                    code = code * 10 + (uint32_t)(at[digits] - '0');
            else if (at[length - 1] == '_') {
                begin = at;
                begins = length;
            } else if (code++ == low && (low != 0 || vendor_code == 0))
                snprintf(text, room, "QNN_%.*s%.*s", begins, begin, length, at);
        }
    }
#endif
    (void)vendor_code;
    return text;
}

/* Complete an error whose text says what was attempted: append what the call returned and the
   library's own lines, and set likely cause and hint, unless it has them. vendor_code 0: the call
   returned no handle. */
static qnnrt_result qnnrt__codes_explain(qnnrt_error *err, const char *call, uint64_t vendor_code,
                                         int log_slot, uint32_t mark)
{
    const qnnrt__codes_cause *known = qnnrt__codes_find(vendor_code);
    char symbol[QNNRT__CODES_SYMBOL];
    if (err == NULL) return QNNRT_E_BACKEND;
    err->vendor_code = vendor_code;
    qnnrt_vendor_code_name(vendor_code, symbol, sizeof(symbol));
    qnnrt_error_add(err, ": %s%s answered 0x%x (%s)", call,
                    vendor_code == 0 && strchr(call, '(') == NULL ? " (without a handle)" : "",
                    (unsigned)(vendor_code & 0xFFFF),
                    symbol[0] != '\0' ? symbol : "no symbol known");
    if (vendor_code > 0xFFFF)
        qnnrt_error_add(err, ", in full 0x%llx", (unsigned long long)vendor_code);
    if (known != NULL && err->cause == NULL) err->cause = known->cause;
    if (known != NULL) QNNRT__HINT(err, QNNRT_E_BACKEND, "%s", known->fix);
    qnnrt__log_report(log_slot, mark, err);
    if (vendor_code == 0)       /* success without a result is a mistake of the library */
        return QNNRT__HINT(err, QNNRT_E_BACKEND, "Use another release of the library.");
    return QNNRT__HINT(err, QNNRT_E_BACKEND, "Set log_level to 5 (debug) and the log hook to see"
                       " all that the library logs.");
}

/* =====================================================================================
   DATA TYPES                                                                    >>dtype
   The element types of tensors: names, widths, and how many bytes a shape takes.
   Needs: >>size     Knows nothing of: tensors, scales, backends, files
   ===================================================================================== */

/* The hundreds of the vendor's numbers; string and undefined are opaque, without a width. */
typedef enum qnnrt__dtype_kind {
    QNNRT__DTYPE_INT, QNNRT__DTYPE_UINT, QNNRT__DTYPE_FLOAT, QNNRT__DTYPE_SFIXED,
    QNNRT__DTYPE_UFIXED, QNNRT__DTYPE_BOOL, QNNRT__DTYPE_OPAQUE
} qnnrt__dtype_kind;

typedef struct qnnrt__dtype_info {
    qnnrt_dtype dtype;
    uint32_t    bits;       /* of one stored element; 2 and 4 are packed; 0: opaque */
    const char *name;
} qnnrt__dtype_info;

static const qnnrt__dtype_info qnnrt__dtype_table[] = {
    { QNNRT_DTYPE_I2, 2, "int2" }, { QNNRT_DTYPE_I4, 4, "int4" }, { QNNRT_DTYPE_I8, 8, "int8" },
    { QNNRT_DTYPE_I16, 16, "int16" }, { QNNRT_DTYPE_I32, 32, "int32" },
    { QNNRT_DTYPE_I64, 64, "int64" }, { QNNRT_DTYPE_U2, 2, "uint2" },
    { QNNRT_DTYPE_U4, 4, "uint4" }, { QNNRT_DTYPE_U8, 8, "uint8" },
    { QNNRT_DTYPE_U16, 16, "uint16" }, { QNNRT_DTYPE_U32, 32, "uint32" },
    { QNNRT_DTYPE_U64, 64, "uint64" }, { QNNRT_DTYPE_F4, 4, "float4" },
    { QNNRT_DTYPE_F8, 8, "float8" }, { QNNRT_DTYPE_F16, 16, "float16" },
    { QNNRT_DTYPE_BF16, 16, "bfloat16" }, { QNNRT_DTYPE_F32, 32, "float32" },
    { QNNRT_DTYPE_F64, 64, "float64" }, { QNNRT_DTYPE_S2Q, 2, "sfixed2" },
    { QNNRT_DTYPE_S4Q, 4, "sfixed4" }, { QNNRT_DTYPE_S8Q, 8, "sfixed8" },
    { QNNRT_DTYPE_S16Q, 16, "sfixed16" }, { QNNRT_DTYPE_S32Q, 32, "sfixed32" },
    { QNNRT_DTYPE_U2Q, 2, "ufixed2" }, { QNNRT_DTYPE_U4Q, 4, "ufixed4" },
    { QNNRT_DTYPE_U8Q, 8, "ufixed8" }, { QNNRT_DTYPE_U16Q, 16, "ufixed16" },
    { QNNRT_DTYPE_U32Q, 32, "ufixed32" }, { QNNRT_DTYPE_BOOL8, 8, "bool8" },
    { QNNRT_DTYPE_STRING, 0, "string" }, { QNNRT_DTYPE_UNDEFINED, 0, "undefined" }
};

/* Find a type in the table. Return NULL when the table does not have it. */
static const qnnrt__dtype_info *qnnrt__dtype_find(qnnrt_dtype dtype)
{
    size_t i;
    for (i = 0; i < sizeof(qnnrt__dtype_table) / sizeof(qnnrt__dtype_table[0]); ++i)
        if (qnnrt__dtype_table[i].dtype == dtype) return &qnnrt__dtype_table[i];
    return NULL;
}

QNNRT_API const char *qnnrt_dtype_name(qnnrt_dtype dtype)
{
    const qnnrt__dtype_info *info = qnnrt__dtype_find(dtype);
    return info != NULL ? info->name : "unknown";
}

QNNRT_API uint32_t qnnrt_dtype_bits(qnnrt_dtype dtype)
{
    const qnnrt__dtype_info *info = qnnrt__dtype_find(dtype);
    return info != NULL ? info->bits : 0;
}

static qnnrt__dtype_kind qnnrt__dtype_kind_of(qnnrt_dtype dtype)
{
    const uint32_t number = (uint32_t)dtype >> 8;
    return number < QNNRT__DTYPE_OPAQUE ? (qnnrt__dtype_kind)number : QNNRT__DTYPE_OPAQUE;
}

static int qnnrt__dtype_is_fixed(qnnrt_dtype dtype)
{
    const qnnrt__dtype_kind kind = qnnrt__dtype_kind_of(dtype);
    return kind == QNNRT__DTYPE_SFIXED || kind == QNNRT__DTYPE_UFIXED;
}

/* Count the elements of a shape and the bytes they take, packed when an element has less than 8
   bits; both are 0 on failure. Rank 0 is one element.

   Returns  QNNRT_OK; QNNRT_E_UNSUPPORTED (the type has no fixed width); QNNRT_E_ARG (dims is
            missing or holds a 0); QNNRT_E_LIMIT (more than SIZE_MAX / 2 bytes) */
static qnnrt_result qnnrt__dtype_bytes(qnnrt_dtype dtype, const uint32_t *dims, uint32_t rank,
                                       uint64_t *count, uint64_t *bytes)
{
    const qnnrt__dtype_info *info = qnnrt__dtype_find(dtype);
    uint64_t n = 1, size = 0;
    int fits = 1;
    uint32_t i;

    *count = 0;
    *bytes = 0;
    if (info == NULL || info->bits == 0)
        return QNNRT_E_UNSUPPORTED;
    if (dims == NULL && rank != 0)
        return QNNRT_E_ARG;
    for (i = 0; i < rank; ++i) {
        if (dims[i] == 0)
            return QNNRT_E_ARG;
        fits = fits && qnnrt__size_mul(n, dims[i], &n);
    }
    /* The count must fit size_t too: of packed elements it is larger than the bytes. */
    if (!fits || n > SIZE_MAX || !qnnrt__size_mul(n / 8, info->bits, &size) ||
        !qnnrt__size_add(size, (n % 8 * info->bits + 7) / 8, &size) || size > SIZE_MAX / 2u)
        return QNNRT_E_LIMIT;
    *count = n;
    *bytes = size;
    return QNNRT_OK;
}

/* =====================================================================================
   FLOATS                                                                         >>float
   The bits of float32, and those of other formats from an exact value: rounded to nearest, ties to
   even, in every rounding mode and with flush-to-zero.
   Needs: nothing     Knows nothing of: encodings, tensors
   ===================================================================================== */

static uint32_t qnnrt__float_bits(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof(b));
    return b;
}

/* Return mant / 2^shift, rounded half to even; shift is not 0. */
static uint64_t qnnrt__float_shift_even(uint64_t mant, uint32_t shift)
{
    const uint64_t q    = shift < 64 ? mant >> shift : 0;
    const uint64_t rest = shift < 64 ? mant - (q << shift) : mant;
    const uint64_t half = (uint64_t)1 << ((shift - 1u) & 63u);
    return shift <= 64 && (rest > half || (rest == half && (q & 1u) != 0)) ? q + 1u : q;
}

/* Return the position of the highest set bit, 0 for 0. */
static int qnnrt__float_top_bit(uint64_t mant)
{
    return 63 - __builtin_clzll(mant | 1u);
}

/* Return the bits of the float nearest to mant * 2^exp in a format of `frac` bits of fraction whose
   exponent 0 is stored as `bias`; from the middle above the largest float on, infinity. */
static uint64_t qnnrt__float_round(uint64_t mant, int exp, int frac, int bias)
{
    const int top  = exp + qnnrt__float_top_bit(mant);
    const int last = (top < 1 - bias ? 1 - bias : top) - frac;  /* weight of the lowest bit */
    uint64_t q;

    if (mant == 0)
        return 0;
    if (top > bias)
        return ((uint64_t)(uint32_t)(2 * bias + 1)) << frac;
    if (last <= exp)
        q = mant << (exp - last);
    else
        q = qnnrt__float_shift_even(mant, (uint32_t)(last - exp));
    /* The leading bit adds itself to the exponent field, and so does a carry out of rounding. */
    if (top >= 1 - bias)
        q += (uint64_t)(uint32_t)(top + bias - 1) << frac;
    return q;
}

/* Return 1 when the floating-point unit rounds to nearest even and keeps denormals. It
   computes with volatiles, so the answer is the machine's and not the compiler's. */
static int qnnrt__float_is_plain(void)
{
    volatile float one = 1.0f, tiny = 1.0f / 1073741824.0f, small = 5.87747175e-39f, half = 0.5f;
    volatile float up = one + tiny, down = one - tiny;

    small = small * half;       /* 2^-127 * half; 0 when the unit flushes denormals */
    return up == 1.0f && down == 1.0f && qnnrt__float_bits(small) == 0x00200000u;
}

/* =====================================================================================
   ENCODINGS                                                                  >>encoding
   Checks whether an encoding is right for a type and a shape, and its range of stored integers.
   Needs: >>dtype >>float     Knows nothing of: how elements are stored, backends, files
   ===================================================================================== */

/* Return 1 for a scale that is positive and finite and whose 1 / scale is finite as a float, which
   excludes 2^-128 and below. It looks at the bits, so flush-to-zero does not change the answer. */
static int qnnrt__encoding_scale_ok(float scale)
{
    const uint32_t b = qnnrt__float_bits(scale);
    return b > 0x00200000u && b < 0x7F800000u;
}

static const char *qnnrt__encoding_check_axis(const qnnrt_tensor_info *tensor)
{
    const qnnrt_quant *quant = &tensor->quant;
    uint32_t i;
    if (tensor->dims == NULL || quant->axis < 0 || (uint32_t)quant->axis >= tensor->rank)
        return "axis is outside the rank";
    if (quant->count != tensor->dims[quant->axis])
        return "number of scales differs from the size of the axis";
    if (quant->scales == NULL)
        return "scales of the axis are missing";
    for (i = 0; i < quant->count; ++i)
        if (!qnnrt__encoding_scale_ok(quant->scales[i]))
            return "a scale of the axis is not positive and finite, or its 1/scale is infinite";
    return NULL;
}

/* Return why the encoding cannot be used with the tensor's type and shape, or NULL. An encoding on
   a type that carries values is never used and is accepted; see qnnrt__encoding_warn(). */
static const char *qnnrt__encoding_check(const qnnrt_tensor_info *tensor)
{
    const qnnrt__dtype_info *info = qnnrt__dtype_find(tensor->dtype);
    if (info == NULL)
        return "unknown data type";
    if (!qnnrt__dtype_is_fixed(tensor->dtype))
        return NULL;
    if (tensor->quant.bitwidth > info->bits)
        return "bitwidth exceeds the bits of the type";

    switch (tensor->quant.encoding) {
    case QNNRT_ENCODING_NONE:
    case QNNRT_ENCODING_OTHER:
        return NULL;
    case QNNRT_ENCODING_PER_TENSOR:
        return qnnrt__encoding_scale_ok(tensor->quant.scale) ? NULL
             : "scale is not positive and finite, or so small that 1/scale is infinite";
    case QNNRT_ENCODING_PER_AXIS:
        return qnnrt__encoding_check_axis(tensor);
    }
    return "unknown encoding";
}

/* Find the range of stored integers of `used` bits; that of uint64 is cut to INT64_MAX. */
static void qnnrt__encoding_range(qnnrt__dtype_kind kind, uint32_t used, int64_t *min, int64_t *max)
{
    const int is_signed = kind == QNNRT__DTYPE_INT || kind == QNNRT__DTYPE_SFIXED;
    *max = used < 64 ? ((int64_t)1 << (used - (is_signed ? 1u : 0u))) - 1 : INT64_MAX;
    *min = is_signed ? -*max - 1 : 0;
}

/* Return what is legal and still deserves a line in the log, or NULL. The encoding has passed
   qnnrt__encoding_check(). */
static const char *qnnrt__encoding_warn(const qnnrt_tensor_info *tensor)
{
    const qnnrt__dtype_info *info = qnnrt__dtype_find(tensor->dtype);
    const qnnrt_quant *quant = &tensor->quant;
    const int per_axis = quant->encoding == QNNRT_ENCODING_PER_AXIS;
    const uint32_t count = !per_axis ? 1 : quant->offsets != NULL ? quant->count : 0;
    int64_t min, max;
    uint32_t i;

    if (info == NULL)
        return NULL;
    if (!qnnrt__dtype_is_fixed(tensor->dtype))
        return quant->encoding == QNNRT_ENCODING_NONE ? NULL : "encoding on a type that has none";
    if (quant->encoding == QNNRT_ENCODING_NONE)
        return "fixed-point type without an encoding";
    if (quant->encoding != QNNRT_ENCODING_PER_TENSOR && !per_axis)
        return "encoding is not converted to float";

    qnnrt__encoding_range(qnnrt__dtype_kind_of(tensor->dtype),
                          quant->bitwidth != 0 ? quant->bitwidth : info->bits, &min, &max);
    for (i = 0; i < count; ++i) {
        const int64_t zero = -(int64_t)(per_axis ? quant->offsets[i] : quant->offset);
        if (zero < min || zero > max)
            return "offset is outside the range, so that real zero saturates";
    }
    return NULL;
}

/* =====================================================================================
   VALUES                                                                         >>value
   One element of any type: where it lies, which exact value it stands for, and the element of any
   other type that stores that value.
   Needs: >>dtype >>float >>encoding     Knows nothing of: shapes
   ===================================================================================== */

/* Each element stands for an exact value: a float, an integer, (integer + offset) * scale, or 0 or
   1 of bool8. Another type stores the nearest value that it has, ties to even. What does not fit is
   counted:

     out of range   The end of the range is stored. A value that rounding brings to the end fits.
                    Floats have infinities, unless they shall be finite.
     NaN            Floats keep it, and it fits. Else 0 is stored, or real zero; in bool8 it is 1.
     bool8          0 for 0, else 1; values from 0 to 1 fit.

   Elements are little-endian, as the host is. Stored bytes may have any alignment. */

/* How elements lie in memory, and the scale of those that are being converted. */
typedef struct qnnrt__form {
    const qnnrt_tensor_info *tensor;    /* NULL: a list of values */
    qnnrt_dtype dtype;
    qnnrt__dtype_kind kind;
    uint32_t bits;      /* size of an element                                                 */
    uint64_t mask;      /* the used bits                                                      */
    uint64_t sign;      /* the top used bit, 0 when unsigned                                  */
    int64_t  min, max;  /* stored integers; max of uint64 is cut to INT64_MAX                 */
    uint64_t total;     /* elements in the tensor                                             */
    int      plain;     /* the unit rounds to nearest and keeps denormals                     */
    int      finite;    /* a finite value does not become an infinity; in float16 nothing does */
    int      coded;     /* it stands for (integer + offset) * scale */
    /* set by qnnrt__quant_scale() */
    float    scale;     /* 1 for integer types, whose offset is 0                             */
    int32_t  offset;
    uint64_t mant;      /* scale = mant * 2^exp                                               */
    int      exp;
    int      by_unit;   /* the unit is exact, see room >>loop                                 */
} qnnrt__form;

/* Describe elements of a type of which `used` bits count. */
static void qnnrt__value_form(qnnrt__form *form, const qnnrt__dtype_info *info, uint32_t used)
{
    memset(form, 0, sizeof(*form));
    form->dtype = info->dtype;
    form->kind  = qnnrt__dtype_kind_of(info->dtype);
    form->bits  = info->bits;
    form->mask  = UINT64_MAX >> (64u - used);
    qnnrt__encoding_range(form->kind, used, &form->min, &form->max);
    if (form->min < 0) form->sign = (uint64_t)1 << (used - 1u);
}

/* Return an element as two's complement in 64 bits. Storage wider than the used bits is read by its
   low bits, so that sign-extended and zero-padded integers mean the same. */
static uint64_t qnnrt__value_load(const unsigned char *src, const qnnrt__form *form, size_t index)
{
    uint64_t raw = 0;
    switch (form->bits) {
    case 64: memcpy(&raw, src + 8 * index, 8); break;
    case 32: memcpy(&raw, src + 4 * index, 4); break;
    case 16: memcpy(&raw, src + 2 * index, 2); break;
    case 8:  raw = src[index]; break;
    default: raw = (uint64_t)src[index * form->bits / 8u] >> (index * form->bits % 8u);
    }
    return ((raw & form->mask) ^ form->sign) - form->sign;
}

/* Store the low bits of an element; its neighbours in the byte keep their value. */
static void qnnrt__value_store(unsigned char *dst, const qnnrt__form *form, size_t index,
                               uint64_t raw)
{
    const unsigned shift = (unsigned)(index * form->bits % 8u);
    const unsigned field = ((1u << form->bits % 8u) - 1u) << shift;
    unsigned char *byte = dst + index * form->bits / 8u;
    switch (form->bits) {
    case 64: memcpy(byte, &raw, 8); break;
    case 32: memcpy(byte, &raw, 4); break;
    case 16: memcpy(byte, &raw, 2); break;
    case 8:  *byte = (unsigned char)raw; break;
    default: *byte = (unsigned char)((*byte & ~field) | (((unsigned)raw << shift) & field));
    }
}

/* A value: +-mant * 2^exp, or an infinity or a NaN. */
typedef struct qnnrt__value {
    int      negative, exp;
    uint64_t mant;
    uint32_t special;       /* not 0: the bits of a float32 that is not finite, without its sign */
} qnnrt__value;

/* Find the bits of the fraction and the stored form of exponent 0. */
static void qnnrt__value_format(qnnrt_dtype dtype, int *frac, int *bias)
{
    *frac = dtype == QNNRT_DTYPE_F16 ? 10 : dtype == QNNRT_DTYPE_BF16 ? 7
          : dtype == QNNRT_DTYPE_F32 ? 23 : 52;
    *bias = dtype == QNNRT_DTYPE_F16 ? 15 : dtype == QNNRT_DTYPE_F64 ? 1023 : 127;
}

/* Return the value of a float. */
static qnnrt__value qnnrt__value_of_float(uint64_t raw, qnnrt_dtype dtype)
{
    qnnrt__value value;
    int frac, bias, field;
    qnnrt__value_format(dtype, &frac, &bias);
    field = (int)(raw >> frac) & (2 * bias + 1);
    value.negative = (raw >> frac) > (uint64_t)(2 * bias + 1);
    value.mant     = raw & (((uint64_t)1 << frac) - 1u);
    value.exp      = (field != 0 ? field : 1) - bias - frac;
    value.special  = 0;
    if (field == 2 * bias + 1) {
        value.special = 0x7F800000u | (value.mant != 0 ? 0x00400000u : 0u);
        value.special |= (uint32_t)(frac > 23 ? value.mant >> (frac - 23)
                                              : value.mant << (23 - frac));
    }
    value.mant |= (uint64_t)(field != 0) << frac;
    return value;
}

/* Return the value of an element. */
static qnnrt__value qnnrt__value_get(const unsigned char *src, const qnnrt__form *form,
                                     size_t index)
{
    const uint64_t raw = qnnrt__value_load(src, form, index);
    const uint64_t steps = form->kind == QNNRT__DTYPE_BOOL ? raw != 0
                                                           : raw + (uint64_t)(int64_t)form->offset;
    qnnrt__value value;

    if (form->kind == QNNRT__DTYPE_FLOAT)
        return qnnrt__value_of_float(raw, form->dtype);
    value.special  = 0;
    value.negative = (steps >> 63) != 0 && form->dtype != QNNRT_DTYPE_U64;
    /* Codes have 34 bits at most after the offset is added; wider elements have the scale 1. */
    value.mant     = (value.negative ? 0u - steps : steps) * form->mant;
    value.exp      = form->exp;
    return value;
}

/* Return round_half_even(mant * 2^exp / by), UINT64_MAX for more than that; by has 24 bits at
   most. */
static uint64_t qnnrt__value_divide(uint64_t mant, int exp, uint64_t by)
{
    uint64_t whole = mant / by, rest = mant % by;
    int step;

    for (; exp > 0 && mant != 0; exp -= step) {
        step = exp < 32 ? exp : 32;
        if ((whole >> (64 - step)) != 0)
            return UINT64_MAX;
        whole = (whole << step) | ((rest << step) / by);
        rest  = (rest << step) % by;
    }
    if (exp >= 0 || mant == 0)
        return whole + (2 * rest > by || (2 * rest == by && (whole & 1u) != 0) ? 1u : 0u);
    /* A rest is one more bit that is set; without one, by may be 1 and the number have 64 bits. */
    return rest == 0 ? qnnrt__float_shift_even(whole, (uint32_t)-exp)
                     : qnnrt__float_shift_even(whole << 1 | 1u, (uint32_t)(1 - exp));
}

/* Return the integer that stores a value; *lost grows by 1 if it does not fit. */
static uint64_t qnnrt__value_code(const qnnrt__value *value, const qnnrt__form *form,
                                  uint64_t *lost)
{
    const int special = value->special != 0;
    const uint64_t most = value->negative ? form->sign : form->mask ^ form->sign;
    uint64_t size = value->special > 0x7F800000u ? 0 : UINT64_MAX;

    if (!special)
        size = qnnrt__value_divide(value->mant, value->exp - form->exp, form->mant);
    if (form->coded) {
        int64_t code = size < (uint64_t)1 << 40 ? (int64_t)size : (int64_t)1 << 40;
        code = (value->negative ? -code : code) - form->offset;
        *lost += special || code < form->min || code > form->max;
        return (uint64_t)(code < form->min ? form->min : code > form->max ? form->max : code);
    }
    /* No value is UINT64_MAX, except that of an uint64 itself, which is not converted to one. */
    *lost += special || size > most || size == UINT64_MAX;
    size = size < most ? size : most;
    return value->negative ? 0u - size : size;
}

/* Return the bits of the float that stores a value; *lost grows by 1 if it does not fit. */
static uint64_t qnnrt__value_float(const qnnrt__value *value, const qnnrt__form *form,
                                   uint64_t *lost)
{
    uint64_t infinity, bits;
    int frac, bias;
    qnnrt__value_format(form->dtype, &frac, &bias);
    bits = infinity = (uint64_t)(uint32_t)(2 * bias + 1) << frac;

    if (value->special > 0x7F800000u) {     /* the top of what the NaN holds */
        const uint64_t load = value->special & 0x007FFFFFu;
        bits |= frac > 23 ? load << (frac - 23) : load >> (23 - frac);
    } else if (value->special == 0) {
        bits = qnnrt__float_round(value->mant, value->exp, frac, bias);
    }
    if (form->finite && bits == infinity &&
        (value->special == 0 || form->dtype == QNNRT_DTYPE_F16)) {
        bits -= 1;
        *lost += 1;
    }
    return value->negative ? bits | (infinity + ((uint64_t)1 << frac)) : bits;
}

/* Return the bits of the element that stores a value; *lost grows by 1 if it does not fit. */
static uint64_t qnnrt__value_element(const qnnrt__value *value, const qnnrt__form *form,
                                     uint64_t *lost)
{
    const int top = value->mant == 0 ? -1 : qnnrt__float_top_bit(value->mant) + value->exp;
    if (form->kind == QNNRT__DTYPE_FLOAT)
        return qnnrt__value_float(value, form, lost);
    if (form->kind != QNNRT__DTYPE_BOOL)
        return qnnrt__value_code(value, form, lost);
    *lost += value->special != 0 || (value->mant != 0 && value->negative) || top > 0 ||
             (top == 0 && (value->mant & (value->mant - 1u)) != 0);
    return value->special != 0 || value->mant != 0;
}

/* =====================================================================================
   LOOPS                                                                           >>loop
   Many elements of one scale at a time, in vector code where that gives the result of >>value.
   Needs: >>config >>float >>value     Knows nothing of: shapes
   ===================================================================================== */

/* The result is the same in every rounding mode, with flush-to-zero and with -ffast-math. 16-bit
   floats are converted on integers, which is always exact. Codes of 8 and 16 bits, and int32, are
   converted by the floating-point unit if qnnrt__float_is_plain() has seen that it rounds to
   nearest and keeps denormals, |offset| <= 2^22, so that |code + offset| < 2^23, and no bound below
   overflows a float. All else is converted one element at a time. The sticky flags (inexact,
   underflow) may be raised.

   Why writing by the unit is exact. Let t = x / scale, from 24-bit mantissas X and S. If t is not
   halfway between two integers it is at least 2^-25 away from any such point: with
   t = X * 2^e / S and an odd m, |t - m/2| is a non-zero integer over 2S (e >= -1), or over
   2D with D = S * 2^(-e-1) (e < -1), where D > 2^24 only raises the numerator with it.
   x * (1 / scale) in double is off by less than 2^-52 * |t| <= 2^-28. Snapping that to a grid of
   2^-26 therefore makes every true tie an exact tie again and moves nothing across one; the
   second addition then rounds to an integer, ties to even, in hardware. */

#define QNNRT__LOOP_SNAP    100663296.0             /* 1.5 * 2^26: leaves multiples of 2^-26   */
#define QNNRT__LOOP_ROUND   6755399340392448.0      /* 1.5 * 2^52 - SNAP: leaves integers      */
#define QNNRT__LOOP_OFFSET  ((int32_t)1 << 22)      /* the largest |offset| of the unit        */

/* Loops are flat and free of branches so that compilers turn them into vector code. Those that
   write return how many values did not fit. */

/* Return a if `take` is 1, b if it is 0; gcc makes a branch of a conditional expression whose sides
   cost something, and then no vector code. */
QNNRT__INLINE uint32_t qnnrt__loop_pick(int take, uint32_t a, uint32_t b)
{
    return b ^ ((a ^ b) & (0u - (uint32_t)take));
}

/* Read half-precision values in steps that are exact in every mode of the unit: each multiplies a
   power of two by a small integer. */
QNNRT__LOOP static void qnnrt__loop_read_f16(const unsigned char *QNNRT__RESTRICT src,
                                             unsigned char *QNNRT__RESTRICT dst, size_t n)
{
    size_t i;
    for (i = 0; i < n; ++i) {
        uint16_t h;
        uint32_t b, small;
        int32_t size;
        float f;
        memcpy(&h, src + 2 * i, sizeof(h));
        size = h & 0x7FFF;
        f = (float)size * (1.0f / 16777216.0f);
        memcpy(&small, &f, sizeof(small));
        b = ((uint32_t)size << 13) + 0x38000000u;
        b += qnnrt__loop_pick(size >= 0x7C00, 0x38000000u, 0u);
        b = qnnrt__loop_pick(size < 0x0400, small, b);
        b |= (uint32_t)(size > 0x7C00) << 22;
        b |= (uint32_t)(h & 0x8000u) << 16;
        memcpy(dst + 4 * i, &b, sizeof(b));
    }
}

QNNRT__LOOP static uint32_t qnnrt__loop_write_f16(const unsigned char *QNNRT__RESTRICT src,
                                                  unsigned char *QNNRT__RESTRICT dst, size_t n,
                                                  int finite)
{
    const uint32_t end = 0x7C00u - (uint32_t)finite;
    uint32_t lost = 0;
    size_t i;
    for (i = 0; i < n; ++i) {
        uint32_t b, small, up, h;
        int32_t size, whole;
        float f, rest;
        uint16_t out;
        memcpy(&b, src + 4 * i, sizeof(b));
        size = (int32_t)(b & 0x7FFFFFFFu);
        /* Below 2^-14 the result counts steps of 2^-24; everything here is exact. */
        small = qnnrt__loop_pick(size < 0x38800000, (uint32_t)size, 0u);
        memcpy(&f, &small, sizeof(f));
        f *= 16777216.0f;
        whole = (int32_t)f;
        rest  = f - (float)whole;
        up = (uint32_t)(rest > 0.5f) | ((uint32_t)(rest == 0.5f) & (uint32_t)whole);
        h = ((uint32_t)size - 0x38000000u + 0x0FFFu + (((uint32_t)size >> 13) & 1u)) >> 13;
        h = qnnrt__loop_pick(size < 0x38800000, (uint32_t)whole + (up & 1u), h);
        h = qnnrt__loop_pick(size >= 0x477FF000, end, h);       /* from 65520 on */
        h = qnnrt__loop_pick(size > 0x7F800000, 0x7E00u | (((uint32_t)size >> 13) & 0x03FFu), h);
        lost += (uint32_t)(size >= 0x477FF000) & (uint32_t)(size <= 0x7F800000);
        out = (uint16_t)(h | ((b >> 16) & 0x8000u));
        memcpy(dst + 2 * i, &out, sizeof(out));
    }
    return lost;
}

QNNRT__LOOP static void qnnrt__loop_read_bf16(const unsigned char *QNNRT__RESTRICT src,
                                              unsigned char *QNNRT__RESTRICT dst, size_t n)
{
    size_t i;
    for (i = 0; i < n; ++i) {
        uint16_t h;
        uint32_t b;
        memcpy(&h, src + 2 * i, sizeof(h));
        b = (uint32_t)h << 16;
        b |= (uint32_t)((h & 0x7FFFu) > 0x7F80u) << 22;
        memcpy(dst + 4 * i, &b, sizeof(b));
    }
}

QNNRT__INLINE uint32_t qnnrt__loop_bf16(const unsigned char *QNNRT__RESTRICT src,
                                        unsigned char *QNNRT__RESTRICT dst, size_t n, int finite)
{
    uint32_t lost = 0;
    size_t i;
    for (i = 0; i < n; ++i) {
        uint32_t b, r, over;
        int32_t size;
        uint16_t out;
        memcpy(&b, src + 4 * i, sizeof(b));
        size = (int32_t)(b & 0x7FFFFFFFu);
        r = b + 0x7FFFu + ((b >> 16) & 1u);
        over = (uint32_t)(size >= 0x7F7F8000) & (uint32_t)(size < 0x7F800000);
        lost += over;           /* a finite one that is rounded to infinity */
        if (finite) r -= over << 16;
        r = qnnrt__loop_pick(size > 0x7F800000, b | 0x00400000u, r);
        out = (uint16_t)(r >> 16);
        memcpy(dst + 2 * i, &out, sizeof(out));
    }
    return lost;
}

/* Two loops, as one that asks which of them it is would take longer. */
QNNRT__LOOP static uint32_t qnnrt__loop_write_bf16(const unsigned char *QNNRT__RESTRICT src,
                                                   unsigned char *QNNRT__RESTRICT dst, size_t n,
                                                   int finite)
{
    return finite ? qnnrt__loop_bf16(src, dst, n, 1) : qnnrt__loop_bf16(src, dst, n, 0);
}

/* Read quantized values. With the top bit flipped a signed one is unsigned, and larger by that bit;
   it is the fraction of a float from 2^23 on. The difference is exact, and not -0. */
#define QNNRT__LOOP_READ(name, type)                                                               \
    QNNRT__LOOP_LONG static void name(const qnnrt__form *form,                                     \
                                      const unsigned char *QNNRT__RESTRICT src,                    \
                                      unsigned char *QNNRT__RESTRICT dst, size_t n)                \
    {                                                                                              \
        const uint32_t bits = 0x4B000000u | (uint32_t)form->sign;                                  \
        const float base = (float)(8388608 - form->offset + (int32_t)form->sign);                  \
        const float scale = form->scale;                                                           \
        size_t i;                                                                                  \
        for (i = 0; i < n; ++i) {                                                                  \
            type code;                                                                             \
            uint32_t b;                                                                            \
            float x;                                                                               \
            memcpy(&code, src + i * sizeof(code), sizeof(code));                                   \
            b = code ^ bits;                                                                       \
            memcpy(&x, &b, sizeof(x));                                                             \
            x = (x - base) * scale;                                                                \
            memcpy(dst + i * sizeof(x), &x, sizeof(x));                                            \
        }                                                                                          \
    }
QNNRT__LOOP_READ(qnnrt__loop_read_8, uint8_t)
QNNRT__LOOP_READ(qnnrt__loop_read_16, uint16_t)         /* the logits of a model */
#undef QNNRT__LOOP_READ

QNNRT__LOOP_LONG static void qnnrt__loop_read_i32(const unsigned char *QNNRT__RESTRICT src,
                                                  unsigned char *QNNRT__RESTRICT dst, size_t n)
{
    size_t i;
    for (i = 0; i < n; ++i) {
        int32_t code;
        float x;
        memcpy(&code, src + 4 * i, sizeof(code));
        x = (float)code;
        memcpy(dst + 4 * i, &x, sizeof(x));
    }
}

/* Return the largest float that is stored as `code` at the offset 0. The middle above it is exact
   in double, and belongs to the even code. */
static float qnnrt__loop_end(int64_t code, float scale)
{
    const double middle = ((double)code + 0.5) * (double)scale;
    float end = (float)middle;
    if ((double)end > middle || ((code & 1) != 0 && (double)end == middle)) {
        const uint32_t b = qnnrt__float_bits(end) + (middle < 0 ? 1u : UINT32_MAX);
        memcpy(&end, &b, sizeof(end));
    }
    return end;
}

/* Quantize. A NaN is not within the range, and the end of int32 is not a float. */
#define QNNRT__LOOP_WRITE(name, type)                                                              \
    QNNRT__LOOP static uint32_t name(const qnnrt__form *form,                                      \
                                     const unsigned char *QNNRT__RESTRICT src,                     \
                                     unsigned char *QNNRT__RESTRICT dst, size_t n)                 \
    {                                                                                              \
        const int32_t zero = form->offset;                                                         \
        const float top = qnnrt__loop_end(form->max + zero, form->scale);                          \
        const float bottom = -qnnrt__loop_end(-(form->min + zero), form->scale);                   \
        const double inverse = 1.0 / (double)form->scale;                                          \
        uint32_t lost = 0;                                                                         \
        size_t i;                                                                                  \
        for (i = 0; i < n; ++i) {                                                                  \
            float x, fits;                                                                         \
            double t;                                                                              \
            uint64_t r;                                                                            \
            type code;                                                                             \
            memcpy(&x, src + i * sizeof(x), sizeof(x));                                            \
            fits = x < top ? x : top;                                                              \
            fits = fits > bottom ? fits : bottom;                                                  \
            lost += (uint32_t)(x != fits);                                                         \
            t = ((double)fits * inverse + QNNRT__LOOP_SNAP) + QNNRT__LOOP_ROUND;                   \
            memcpy(&r, &t, sizeof(r));                                                             \
            code = (type)((uint32_t)r - (uint32_t)zero);                                           \
            memcpy(dst + i * sizeof(code), &code, sizeof(code));                                   \
        }                                                                                          \
        return lost;                                                                               \
    }
QNNRT__LOOP_WRITE(qnnrt__loop_write_8, uint8_t)
QNNRT__LOOP_WRITE(qnnrt__loop_write_16, uint16_t)
QNNRT__LOOP_WRITE(qnnrt__loop_write_32, uint32_t)
#undef QNNRT__LOOP_WRITE

/* Convert one element at a time, from the element i of src to the element k of dst on. */
static uint64_t qnnrt__loop_each(const qnnrt__form *from, const unsigned char *src, size_t i,
                                 const qnnrt__form *to, unsigned char *dst, size_t k, size_t n)
{
    uint64_t lost = 0;
    for (; n > 0; --n, ++i, ++k) {
        const qnnrt__value value = qnnrt__value_get(src, from, i);
        qnnrt__value_store(dst, to, k, qnnrt__value_element(&value, to, &lost));
    }
    return lost;
}

/* Quantize by the unit, and again what it leaves at a wrong end: NaNs, and 2^31 as int32. */
static uint64_t qnnrt__loop_codes(const qnnrt__form *from, const unsigned char *src,
                                  const qnnrt__form *to, unsigned char *dst, size_t n)
{
    const uint32_t most = to->bits == 32 ? 0x4EFFFFFFu : 0x7F800000u;
    const uint32_t lost = to->bits == 8  ? qnnrt__loop_write_8(to, src, dst, n)
                        : to->bits == 16 ? qnnrt__loop_write_16(to, src, dst, n)
                                         : qnnrt__loop_write_32(to, src, dst, n);
    size_t i;
    for (i = 0; lost != 0 && i < n; ++i) {
        uint32_t b;
        memcpy(&b, src + 4 * i, sizeof(b));
        if ((b & 0x7FFFFFFFu) > most) qnnrt__loop_each(from, src, i, to, dst, i, 1);
    }
    return lost;
}

/* Convert n elements of one scale on either side. Return how many do not fit. */
static uint64_t qnnrt__loop_run(const qnnrt__form *from, const unsigned char *src, size_t i,
                                const qnnrt__form *to, unsigned char *dst, size_t k, size_t n)
{
    const int reads = to->dtype == QNNRT_DTYPE_F32, writes = from->dtype == QNNRT_DTYPE_F32;
    const unsigned char *at = src + i * (from->bits / 8u);
    unsigned char *out = dst + k * (to->bits / 8u);

    if (from->kind == to->kind && from->mask == UINT32_MAX && to->mask == UINT32_MAX &&
        !from->coded)
        memcpy(out, at, n * 4u);
    else if (reads && from->dtype == QNNRT_DTYPE_F16)
        qnnrt__loop_read_f16(at, out, n);
    else if (reads && from->dtype == QNNRT_DTYPE_BF16)
        qnnrt__loop_read_bf16(at, out, n);
    else if (reads && from->by_unit && from->bits == 8 && from->mask == 0xFFu)
        qnnrt__loop_read_8(from, at, out, n);
    else if (reads && from->by_unit && from->mask == 0xFFFFu)
        qnnrt__loop_read_16(from, at, out, n);
    else if (reads && from->by_unit && from->bits == 32)
        qnnrt__loop_read_i32(at, out, n);
    else if (writes && to->dtype == QNNRT_DTYPE_F16)
        return qnnrt__loop_write_f16(at, out, n, to->finite);
    else if (writes && to->dtype == QNNRT_DTYPE_BF16)
        return qnnrt__loop_write_bf16(at, out, n, to->finite);
    else if (QNNRT__LOOP_UNIT_WRITES && writes && to->by_unit)
        return qnnrt__loop_codes(from, at, to, out, n);
    else
        return qnnrt__loop_each(from, src, i, to, dst, k, n);
    return 0;
}

/* =====================================================================================
   QUANTIZATION                                                                  >>quant
   Converts between stored elements and float or int32: real = (integer + offset) * scale.
   Needs: >>size >>err >>dtype >>float >>encoding >>value >>loop
   Knows nothing of: backends, files
   ===================================================================================== */

/* Describe the elements of a tensor. codes: they are the stored integers of a fixed-point type.
   Else that needs an encoding that this room converts. On failure *why is one phrase. */
static qnnrt_result qnnrt__quant_open(const qnnrt_tensor_info *tensor, int codes,
                                      qnnrt__form *form, const char **why)
{
    const qnnrt__dtype_info *info = qnnrt__dtype_find(tensor->dtype);
    const qnnrt_quant *quant = &tensor->quant;
    const int fixed = qnnrt__dtype_is_fixed(tensor->dtype);
    uint32_t used;
    uint64_t total, bytes;
    const qnnrt_result result = qnnrt__dtype_bytes(tensor->dtype, tensor->dims, tensor->rank,
                                                   &total, &bytes);
    *why = result == QNNRT_E_UNSUPPORTED ? "its type has no fixed size"
         : result == QNNRT_E_LIMIT       ? "it has too many elements"
                                         : "a dimension is missing or 0";
    if (result != QNNRT_OK) return result;
    used = fixed && quant->bitwidth != 0 ? quant->bitwidth : info->bits;
    *why = "the format of its elements is not fixed";
    if (codes ? qnnrt__dtype_kind_of(tensor->dtype) == QNNRT__DTYPE_FLOAT
              : tensor->dtype == QNNRT_DTYPE_F4 || tensor->dtype == QNNRT_DTYPE_F8)
        return QNNRT_E_UNSUPPORTED;
    *why = "its values have no encoding that is converted";
    if (!codes && fixed && quant->encoding != QNNRT_ENCODING_PER_TENSOR &&
        quant->encoding != QNNRT_ENCODING_PER_AXIS)
        return QNNRT_E_UNSUPPORTED;
    *why = codes ? NULL : qnnrt__encoding_check(tensor);
    if (used > info->bits) *why = "bitwidth exceeds the bits of the type";
    if (*why != NULL) return QNNRT_E_ARG;
    qnnrt__value_form(form, info, used);
    form->coded = fixed && !codes;
    if (codes && fixed) form->kind = form->min < 0 ? QNNRT__DTYPE_INT : QNNRT__DTYPE_UINT;
    form->tensor = tensor;
    form->total = total;
    return QNNRT_OK;
}

/* Return how many of the elements from index on, at most left, share a scale, and set it. */
static size_t qnnrt__quant_scale(qnnrt__form *form, size_t index, size_t left)
{
    const qnnrt_tensor_info *tensor = form->tensor;
    uint32_t i;
    form->scale = 1.0f;
    form->mant  = 1;
    if (form->coded) {
        const qnnrt_quant *quant = &tensor->quant;
        qnnrt__value scale;
        form->scale  = quant->scale;
        form->offset = quant->offset;
        if (quant->encoding == QNNRT_ENCODING_PER_AXIS) {
            uint64_t inner = 1;
            uint32_t at;
            for (i = (uint32_t)quant->axis + 1u; i < tensor->rank; ++i)
                inner *= tensor->dims[i];           /* a part of form->total, which was checked */
            at = (uint32_t)((index / inner) % tensor->dims[quant->axis]);
            if (inner - index % inner < left) left = (size_t)(inner - index % inner);
            form->scale  = quant->scales[at];
            form->offset = quant->offsets != NULL ? quant->offsets[at] : 0;
        }
        scale = qnnrt__value_of_float(qnnrt__float_bits(form->scale), QNNRT_DTYPE_F32);
        form->mant = scale.mant;
        form->exp  = scale.exp;
    }
    form->by_unit = form->plain && (form->bits == 8 || form->bits == 16 ||
                                    form->dtype == QNNRT_DTYPE_I32) &&
                    form->kind != QNNRT__DTYPE_FLOAT && form->kind != QNNRT__DTYPE_BOOL &&
                    form->offset >= -QNNRT__LOOP_OFFSET && form->offset <= QNNRT__LOOP_OFFSET &&
                    form->scale < 1.2676506e30f;        /* 2^100 */
    return left;
}

/* Convert the elements [begin, begin + count); src and dst are the bytes that have the first one.
   Return how many do not fit. */
static uint64_t qnnrt__quant_convert(qnnrt__form *from, const void *src, qnnrt__form *to, void *dst,
                                     size_t begin, size_t count)
{
    const size_t i = from->bits < 8 ? begin % (8u / from->bits) : 0;
    const size_t k = to->bits < 8 ? begin % (8u / to->bits) : 0;
    uint64_t lost = 0;
    size_t done, n;
    from->plain = to->plain = qnnrt__float_is_plain();
    for (done = 0; done < count; done += n) {
        n = qnnrt__quant_scale(from, begin + done, count - done);
        n = qnnrt__quant_scale(to, begin + done, n);
        lost += qnnrt__loop_run(from, (const unsigned char *)src, i + done, to,
                                (unsigned char *)dst, k + done, n);
    }
    return lost;
}

/* ---- entry points -------------------------------------------------------------------------- */

/* Convert count stored elements, from index begin on in row-major order, to values of the type
   `as`, float32 or int32; or, if it writes, values to elements. Packed neighbours keep their value.

   float32  by the rules of room >>value. Floats overflow to infinity; NaNs become quiet, except
            between two float32, which are copied. A narrow code fills its storage sign-extended
   int32    integers, and the codes of fixed-point types, clamped to the type or the bitwidth, or to
            int32; bool8 is v != 0. Only .bitwidth of the encoding matters
   data     the tensor's first byte. It may have any alignment, as values may; they do not overlap

   Returns  QNNRT_OK; QNNRT_E_ARG (outside of the shape, NULL); as qnnrt__quant_open() */
static qnnrt_result qnnrt__quant_values(const qnnrt_tensor_info *tensor, void *data, size_t begin,
                                        qnnrt_dtype as, void *values, size_t count, int writes)
{
    qnnrt__form form, list;
    unsigned char *at;
    const char *why;
    const qnnrt_result result = qnnrt__quant_open(tensor, as == QNNRT_DTYPE_I32, &form, &why);
    if (result != QNNRT_OK) return result;
    if (!qnnrt__size_within(begin, count, form.total)) return QNNRT_E_ARG;
    if (count == 0) return QNNRT_OK;
    if (data == NULL || values == NULL) return QNNRT_E_ARG;
    qnnrt__value_form(&list, qnnrt__dtype_find(as), 32);
    at = (unsigned char *)data + begin / 8u * form.bits + begin % 8u * form.bits / 8u;
    if (writes) qnnrt__quant_convert(&list, values, &form, at, begin, count);
    else qnnrt__quant_convert(&form, at, &list, values, begin, count);
    return QNNRT_OK;
}

/* Fill a whole tensor with real zero: the clamped -offset for fixed types, along the axis too,
   and zero bytes for everything else, fixed types without encoding included. Unused bits of a
   packed last byte become 0.
   Returns  as qnnrt__quant_values(), except that float4 and float8 work */
static qnnrt_result qnnrt__quant_fill_zero(const qnnrt_tensor_info *tensor, void *dst)
{
    unsigned char *to = (unsigned char *)dst;
    const char *why;
    qnnrt__form form;
    qnnrt__value none;
    uint64_t count, bytes, zero, lost = 0;
    size_t unit, done, n, i, set, more;
    qnnrt_result result = qnnrt__dtype_bytes(tensor->dtype, tensor->dims, tensor->rank, &count,
                                             &bytes);
    if (result != QNNRT_OK) return result;
    if (dst == NULL) return QNNRT_E_ARG;
    if (!qnnrt__dtype_is_fixed(tensor->dtype) || tensor->quant.encoding == QNNRT_ENCODING_NONE) {
        memset(to, 0, (size_t)bytes);
        return QNNRT_OK;
    }
    result = qnnrt__quant_open(tensor, 0, &form, &why);
    if (result != QNNRT_OK) return result;
    unit = form.bits / 8u;
    memset(&none, 0, sizeof(none));
    to[bytes - 1u] = 0;
    for (done = 0; done < count; done += n) {
        n = qnnrt__quant_scale(&form, done, (size_t)count - done);
        zero = qnnrt__value_code(&none, &form, &lost);
        /* Packed runs are short enough to walk; others are set by copying what is set already. */
        for (i = 0; i < (unit == 0 ? n : 1); ++i)
            qnnrt__value_store(to, &form, done + i, zero);
        for (set = 1; unit != 0 && set < n; set += more) {
            more = set < n - set ? set : n - set;
            memcpy(to + (done + set) * unit, to + done * unit, more * unit);
        }
    }
    return QNNRT_OK;
}

QNNRT_API qnnrt_result qnnrt_values_convert(const qnnrt_tensor_info *from, const void *src,
                                            const qnnrt_tensor_info *to, void *dst, uint64_t begin,
                                            size_t count, uint64_t *lost, qnnrt_error *err)
{
    qnnrt__form one, other;
    const char *why;
    const qnnrt_tensor_info *wrong = from;
    qnnrt_result result = qnnrt__quant_open(from, 0, &one, &why);
    *lost = 0;
    if (result == QNNRT_OK) result = qnnrt__quant_open(wrong = to, 0, &other, &why);
    if (result != QNNRT_OK)
        return QNNRT__FAIL(err, result, "tensor \"%.200s\": %s",
                           wrong->name != NULL ? wrong->name : "", why);
    if (!qnnrt__size_within(begin, count, one.total) ||
        !qnnrt__size_within(begin, count, other.total))
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_values_convert: the elements do not lie within"
                           " both tensors");
    other.finite = 1;
    *lost = qnnrt__quant_convert(&one, src, &other, dst, (size_t)begin, count);
    return QNNRT_OK;
}

/* =====================================================================================
   PLAN                                                                          >>plan
   Places blocks of memory, each with a size and a lifetime, so that blocks that are never
   alive together share room. A pure function from integers to offsets.
   Needs: >>size >>sort     Knows nothing of: tensors, backends, memory
   ===================================================================================== */

/* A block is a rectangle: its lifetime is fixed along the axis of time, and its place along the
   axis of addresses is to be chosen. Rectangles must not overlap, and the pile should be low. The
   problem is NP-hard; this works in practice:

     1. Stack everything, nothing shared. That plan is always valid: each later step may only
        improve it, and may stop at any time. Blocks that meet every other one (weights, caches,
        masks) are at the bottom, because no block can share their room.
     2. Sweep through time and give each block the lowest gap among those alive, as malloc
        would at run time; once forwards, once backwards.
     3. Search: place the blocks in an order by some rule of thumb, each in the lowest gap. A block
        that does not fit below the best peak so far came too late: move it forward in the order
        and continue from there ("squeaky wheel" optimization by Joslin and Clements).

   On public sets of 150 to 450 blocks the sweeps alone need 1.17 to 1.82 times the bound, with the
   search 1.03 to 1.10.

   Cost: sorting, n log n; each of two sweeps, at most QNNRT__PLAN_PATIENCE looks per block; the
   searches, at most 2 * QNNRT__PLAN_LOOKS together. A look reads one neighbour, 1 to 3 ns on a
   desktop CPU: under 0.1 s for a few hundred blocks, some 1.5 s for the worst 100,000. Work is
   counted in looks and not in time, there is no floating point and no random number, so the same
   blocks get the same offsets on every machine. */

/* One block of memory to place: alive during the steps first..last, both inclusive. */
typedef struct qnnrt__plan_item {
    uint64_t bytes;    /* a block of 0 bytes gets offset 0 and takes no room                */
    uint64_t align;    /* a power of two, at least 1                                        */
    uint32_t first;
    uint32_t last;     /* >= first                                                          */
    uint64_t offset;   /* out                                                               */
} qnnrt__plan_item;

typedef struct qnnrt__plan_sums {
    uint64_t peak;     /* bytes of the arena; each block owns its size rounded up to align  */
    uint64_t bound;    /* lower bound of peak: most bytes alive in a step, sizes rounded up */
    uint64_t naive;    /* bytes with one block after another, no sharing; never below peak  */
} qnnrt__plan_sums;

#define QNNRT__PLAN_MAX      ((uint64_t)1 << 62)   /* two of them still fit 64 bits         */
#define QNNRT__PLAN_PATIENCE ((uint64_t)1 << 10)   /* looks for a gap in a sweep, per block */
#define QNNRT__PLAN_LOOKS    ((uint64_t)1 << 24)   /* looks of the first search, at most    */

/* The part of a placed block that a search reads. It takes half a cache line, because walks along
   these nodes take most of the time. */
typedef struct qnnrt__plan_node {
    uint64_t offset;
    uint64_t end;      /* offset plus the rounded size                                      */
    uint32_t first;
    uint32_t last;
    uint32_t next;     /* ring of placed blocks by rising offset; node[count] is its anchor */
    uint32_t prev;
} qnnrt__plan_node;

typedef struct qnnrt__plan_rank {
    uint64_t size;     /* bytes rounded up to the block's alignment                         */
    uint64_t key;      /* of the next sort ...                                              */
    uint64_t tie;      /* ... and of equal keys                                             */
    size_t   place;    /* in the order before it                                            */
} qnnrt__plan_rank;

typedef struct qnnrt__plan_work {
    qnnrt__plan_item *items;   /* offset holds the best plan so far                         */
    qnnrt__plan_node *node;    /* [count + 1]  the plan being tried                         */
    qnnrt__plan_rank *rank;    /* [count]                                                   */
    const void      **sorted;  /* [used]       for a sort                                   */
    uint32_t         *order;   /* [used]       the order of placement                       */
    uint32_t         *ends;    /* [used]       for a sweep: the order of deaths             */
    uint32_t          count;
    uint32_t          used;    /* blocks still to be placed: not empty, not at the bottom   */
    uint64_t          base;    /* end of the blocks at the bottom                           */
    uint64_t          best;    /* peak of the plan in items                                 */
    uint32_t          resume;  /* last block seen by a walk that was stopped for its length */
    uint64_t          looks;   /* work done by the current search                           */
} qnnrt__plan_work;

/* ---- orders ---- */

typedef enum qnnrt__plan_rule {
    QNNRT__PLAN_BY_START,      /* the first birth first                                     */
    QNNRT__PLAN_BY_END,        /* the first death first                                     */
    QNNRT__PLAN_BY_LENGTH,     /* the longest-lived first: they overlap with most others    */
    QNNRT__PLAN_BY_SIZE,       /* the largest first                                         */
    QNNRT__PLAN_BY_KEY         /* as the keys are                                           */
} qnnrt__plan_rule;

/* Order by falling key and tie; equal ones keep their order. */
static int qnnrt__plan_compare(const void *a, const void *b)
{
    const qnnrt__plan_rank *x = (const qnnrt__plan_rank *)a, *y = (const qnnrt__plan_rank *)b;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    if (x->tie != y->tie) return x->tie > y->tie ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static void qnnrt__plan_sort(const qnnrt__plan_work *w, uint32_t *order, qnnrt__plan_rule rule)
{
    uint32_t k;
    for (k = 0; k < w->used; ++k) {
        const qnnrt__plan_node *x = &w->node[order[k]];
        qnnrt__plan_rank *rank = &w->rank[order[k]];
        if (rule == QNNRT__PLAN_BY_START) rank->key = UINT32_MAX - x->first;
        if (rule == QNNRT__PLAN_BY_END) rank->key = UINT32_MAX - x->last;
        if (rule == QNNRT__PLAN_BY_LENGTH) rank->key = x->last - x->first;
        if (rule == QNNRT__PLAN_BY_SIZE) rank->key = 0;
        rank->tie = rule == QNNRT__PLAN_BY_END || rule == QNNRT__PLAN_BY_KEY ? 0 : rank->size;
        rank->place = k;
        w->sorted[k] = rank;
    }
    qnnrt_sort(w->sorted, w->used, qnnrt__plan_compare);
    for (k = 0; k < w->used; ++k)
        order[k] = (uint32_t)((const qnnrt__plan_rank *)w->sorted[k] - w->rank);
}

/* ---- one placement ---- */

static void qnnrt__plan_clear(qnnrt__plan_work *w)
{
    w->node[w->count].next = w->node[w->count].prev = w->resume = w->count;
    w->node[w->count].end = w->base;
}

/* Remove the blocks [from, to) of the order from the ring. */
static void qnnrt__plan_unlink(const qnnrt__plan_work *w, const uint32_t *order, uint32_t from,
                               uint32_t to)
{
    for (; from < to; ++from) {
        const qnnrt__plan_node *x = &w->node[order[from]];
        w->node[x->prev].next = x->next;
        w->node[x->next].prev = x->prev;
    }
}

static void qnnrt__plan_link(const qnnrt__plan_work *w, uint32_t i, uint32_t before)
{
    while (w->node[before].prev != w->count &&
           w->node[w->node[before].prev].offset > w->node[i].offset)
        before = w->node[before].prev;
    w->node[i].next = before;
    w->node[i].prev = w->node[before].prev;
    w->node[w->node[i].prev].next = i;
    w->node[before].prev = i;
}

/* Put block i into the lowest gap between the placed blocks that are alive at the same time (first
   fit). Return 0, and place nothing, when its end would not be below limit.

   The walk follows rising offsets and keeps `at`, the lowest offset above all blocks met so far.
   As soon as a block starts high enough, so do all that follow, and the gap is found.

   In a sweep all blocks of the ring are alive, so the last one ends highest, and after `patience`
   looks block i is placed above it. The next walk resumes where this one stopped, until one reaches
   the top (Knuth's roving pointer): starting at the same crowded bottom each time would leave
   every hole above it unused. A search has no limit of looks per block.

   Sums cannot overflow: padding is less than the size, so no end passes twice QNNRT__PLAN_MAX. */
static int qnnrt__plan_place(qnnrt__plan_work *w, uint32_t i, uint64_t limit, uint64_t patience)
{
    qnnrt__plan_node *const node = w->node;
    const uint64_t size = w->rank[i].size, mask = w->items[i].align - 1;
    const uint32_t first = node[i].first, last = node[i].last;
    uint64_t at = (node[w->resume].end + mask) & ~mask, looks = 0;
    uint32_t p = node[w->resume].next;
    for (; p != w->count && node[p].offset < at + size && looks++ < patience; p = node[p].next)
        if (node[p].end > at && node[p].last >= first && node[p].first <= last)
            at = (node[p].end + mask) & ~mask;
    if (looks > patience) {
        w->resume = node[p].prev;
        at = (node[node[w->count].prev].end + mask) & ~mask;
        p = w->count;
    } else if (p == w->count)
        w->resume = p;
    w->looks += looks + 1;
    if (at + size >= limit)
        return 0;
    node[i].offset = at;
    node[i].end = at + size;
    qnnrt__plan_link(w, i, p);
    return 1;
}

/* Return the peak of the plan just tried, and keep the plan when it is the best so far. */
static uint64_t qnnrt__plan_keep(qnnrt__plan_work *w)
{
    uint64_t peak = w->base;
    uint32_t k;
    for (k = 0; k < w->used; ++k)
        if (w->node[w->order[k]].end > peak)
            peak = w->node[w->order[k]].end;
    for (k = 0; k < w->used && peak < w->best; ++k)
        w->items[w->order[k]].offset = w->node[w->order[k]].offset;
    if (peak < w->best) w->best = peak;
    return peak;
}

/* ---- step 1: stack ---- */

/* Place all blocks one after another: first those that meet every other block in time, which stay
   there, then the rest; both groups by falling alignment. Sizes are multiples of alignments, so
   padding can occur only between the two groups. A block meets every other block if it is alive at
   the first death and at the last birth. */
static void qnnrt__plan_stack(qnnrt__plan_work *w)
{
    uint32_t first_death = UINT32_MAX, last_birth = 0, bottom = 0;
    uint64_t top = 0;
    uint32_t k;
    for (k = 0; k < w->used; ++k) {
        const qnnrt__plan_node *x = &w->node[w->order[k]];
        if (x->last < first_death) first_death = x->last;
        if (x->first > last_birth) last_birth = x->first;
    }
    for (k = 0; k < w->used; ++k) {
        const qnnrt__plan_node *x = &w->node[w->order[k]];
        const uint64_t meets = x->first <= first_death && x->last >= last_birth;
        w->rank[w->order[k]].key = meets << 63 | w->items[w->order[k]].align;
    }
    qnnrt__plan_sort(w, w->order, QNNRT__PLAN_BY_KEY);
    for (k = 0; k < w->used; ++k) {
        const uint32_t i = w->order[k];
        const uint64_t mask = w->items[i].align - 1;
        w->items[i].offset = (top + mask) & ~mask;
        top = w->items[i].offset + w->rank[i].size;
        if (w->rank[i].key >> 63) {
            w->base = top;
            ++bottom;
        }
    }
    w->best = top;
    w->order += bottom;
    w->used -= bottom;
}

/* ---- step 2: sweeps ---- */

/* Walk through time: at each birth remove the dead blocks, then place the new one. Return the most
   bytes alive together. The blocks at the bottom always count: they meet each of the others, so
   whenever a set of others is alive, some step has that set and all of them. */
static uint64_t qnnrt__plan_sweep(qnnrt__plan_work *w)
{
    uint64_t live = w->base, most = w->base;
    uint32_t dead = 0;
    uint32_t k;
    memcpy(w->ends, w->order, w->used * sizeof(*w->ends));
    qnnrt__plan_sort(w, w->ends, QNNRT__PLAN_BY_END);
    qnnrt__plan_sort(w, w->order, QNNRT__PLAN_BY_START);
    qnnrt__plan_clear(w);
    for (k = 0; k < w->used; ++k) {
        const uint32_t i = w->order[k];
        for (; w->node[w->ends[dead]].last < w->node[i].first; ++dead) {
            live -= w->rank[w->ends[dead]].size;
            if (w->resume == w->ends[dead])
                w->resume = w->node[w->resume].prev;
            qnnrt__plan_unlink(w, w->ends, dead, dead + 1);
        }
        (void)qnnrt__plan_place(w, i, UINT64_MAX, QNNRT__PLAN_PATIENCE);
        live += w->rank[i].size;
        if (live > most)
            most = live;
    }
    (void)qnnrt__plan_keep(w);
    return most;
}

/* Reverse time. Two blocks meet afterwards if and only if they met before. */
static void qnnrt__plan_mirror(const qnnrt__plan_work *w)
{
    uint32_t i;
    for (i = 0; i < w->count; ++i) {
        const uint32_t first = w->node[i].first;
        w->node[i].first = UINT32_MAX - w->node[i].last;
        w->node[i].last = UINT32_MAX - first;
    }
}

/* ---- step 3: search ---- */

/* Place the blocks in the order of a rule, below a limit, which is the peak of this search's last
   full plan. The block that does not fit, or in a full plan the first one that reaches its peak,
   moves forward by 1, 2, 3, ... places, up to a fifth of the way (the whole way while few blocks
   are before it), then by 1 again: short moves repair, long ones lead out of a dead end, and taking
   them in turn avoids circles. Only the blocks after its new place are placed again.
   The first plan of a search may be worse than the best one, so that it reaches other plans. */
static void qnnrt__plan_search(qnnrt__plan_work *w, qnnrt__plan_rule rule, uint64_t bound,
                               uint64_t looks)
{
    uint64_t limit = UINT64_MAX;
    uint32_t k = 0, round = 0, reach, to, i;
    qnnrt__plan_sort(w, w->order, rule);
    qnnrt__plan_clear(w);
    w->looks = 0;
    while (w->looks < looks && w->best > bound) {
        uint32_t placed = k;
        if (k < w->used && qnnrt__plan_place(w, w->order[k], limit, UINT64_MAX)) {
            ++k;
            continue;
        }
        if (k == w->used) {
            limit = qnnrt__plan_keep(w);
            for (k = 0; w->node[w->order[k]].end < limit;) ++k;
            w->looks += w->used;
        }
        if (k == 0)
            break;   /* the block does not fit alone: there is no lower plan */
        reach = k < 40 ? k : k / 5 + 1;
        to = k - 1 - round++ % reach;
        i  = w->order[k];
        qnnrt__plan_unlink(w, w->order, to, placed);
        memmove(w->order + to + 1, w->order + to, (k - to) * sizeof(*w->order));
        w->order[to] = i;
        w->looks += k - to;
        k = to;
    }
}

/* ---- entry points ---- */

/* Return the bytes of scratch that qnnrt__plan_pack() needs, SIZE_MAX when that overflows. */
static size_t qnnrt__plan_scratch(size_t count)
{
    const size_t node = sizeof(qnnrt__plan_node);
    const size_t each = node + sizeof(qnnrt__plan_rank) + sizeof(void *) + 2 * sizeof(uint32_t);
    if (count >= UINT32_MAX || count > (SIZE_MAX - node) / each)
        return SIZE_MAX;
    return node + count * each;
}

/* Check the blocks and fill in sizes, lifetimes and order. Empty blocks are not in the order; they
   keep the offset 0. */
static qnnrt_result qnnrt__plan_start(qnnrt__plan_work *w)
{
    uint64_t sum = 0;
    qnnrt_result result = QNNRT_OK;
    uint32_t i;
    for (i = 0; i < w->count; ++i) {
        qnnrt__plan_item *x = &w->items[i];
        x->offset = 0;
        if (!qnnrt__size_power_of_two(x->align) || x->last < x->first) result = QNNRT_E_ARG;
        else if (!qnnrt__size_align(x->bytes, x->align, &w->rank[i].size) ||
                 !qnnrt__size_add(sum, w->rank[i].size, &sum) || sum > QNNRT__PLAN_MAX)
            result = result == QNNRT_OK ? QNNRT_E_LIMIT : result;
        w->node[i].first = x->first;
        w->node[i].last = x->last;
        if (x->bytes > 0) w->order[w->used++] = i;
    }
    return result;
}

/* Improve the stacked plan by sweeps and searches. The best rule comes first, measured on public
   sets of 150 to 450 blocks, and each may work half as long as the one before. Few blocks have
   few orders, so they get fewer looks, and planning a small model takes less than 0.1 s. */
static void qnnrt__plan_improve(qnnrt__plan_work *w, qnnrt__plan_sums *sums, uint64_t *left)
{
    static const qnnrt__plan_rule rules[] = {
        QNNRT__PLAN_BY_LENGTH, QNNRT__PLAN_BY_START, QNNRT__PLAN_BY_SIZE
    };
    uint64_t looks = w->used > 128 ? QNNRT__PLAN_LOOKS : ((uint64_t)w->used * w->used) << 10;
    size_t r;
    sums->bound = qnnrt__plan_sweep(w);
    if (w->best > sums->bound) {
        qnnrt__plan_mirror(w);
        (void)qnnrt__plan_sweep(w);
        qnnrt__plan_mirror(w);
    }
    for (r = 0; r < sizeof(rules) / sizeof(rules[0]); ++r, looks /= 2) {
        qnnrt__plan_search(w, rules[r], sums->bound, looks < *left ? looks : *left);
        *left -= w->looks < *left ? w->looks : *left;
    }
}

/* Give each block an offset, so that blocks alive in the same step never overlap. scratch has
   qnnrt__plan_scratch(count) bytes, aligned to 8. left: looks that the searches may take; what they
   take is subtracted. After an error all offsets and sums are 0.
   Returns  QNNRT_OK; QNNRT_E_ARG; QNNRT_E_LIMIT  the rounded sizes together pass 2^62 bytes, or
            there are 2^32 - 1 blocks */
static qnnrt_result qnnrt__plan_pack(qnnrt__plan_item *items, size_t count, void *scratch,
                                     qnnrt__plan_sums *sums, uint64_t *left)
{
    qnnrt__plan_work w;
    qnnrt_result result;
    if (sums == NULL)
        return QNNRT_E_ARG;
    memset(sums, 0, sizeof(*sums));
    if (count == 0)
        return QNNRT_OK;
    if (items == NULL || scratch == NULL || ((uintptr_t)scratch & 7) != 0)
        return QNNRT_E_ARG;
    if (qnnrt__plan_scratch(count) == SIZE_MAX)
        return QNNRT_E_LIMIT;
    memset(&w, 0, sizeof(w));
    w.items = items;
    w.count = (uint32_t)count;
    w.node = (qnnrt__plan_node *)scratch;
    w.rank = (qnnrt__plan_rank *)(w.node + count + 1);
    w.sorted = (const void **)(w.rank + count);
    w.order = (uint32_t *)(w.sorted + count);
    w.ends = w.order + count;
    result = qnnrt__plan_start(&w);
    if (result != QNNRT_OK)
        return result;
    qnnrt__plan_stack(&w);
    sums->naive = w.best;
    qnnrt__plan_improve(&w, sums, left);
    sums->peak = w.best;
    return QNNRT_OK;
}

/* =====================================================================================
   VENDOR INTERFACE                                                                 >>abi
   The structs and slots of the vendor's C interface that are used here: facts (order, offsets,
   values) in declarations and names of our own, with assertions for sizes and offsets.
   Source: measured with compilers from six public header sets (core API 2.7 to 2.37) and
   run against the genuine libraries of core 2.36 to 2.40. Everything here is the same from
   core 2.23 on, the oldest we accept; older ones have other strides (tensors of 120 bytes).
   What the libraries do beyond their interface is in tools/vendor/TRAPS.md.
   Target: LP64, little-endian (aarch64 Android and Linux, x86-64 Linux).
   Needs: >>config     Knows nothing of: what the values mean to us
   ===================================================================================== */

typedef uint64_t qnnrt__abi_code;                 /* vendor: Qnn_ErrorHandle_t; 0 is success      */
typedef void    *qnnrt__abi_handle;               /* vendor: Qnn_Handle_t and all that derive     */
typedef void   (*qnnrt__abi_slot)(void);          /* a slot that we never call                    */

enum {
    QNNRT__ABI_CORE_MAJOR = 2, QNNRT__ABI_CORE_MINOR_MIN = 23, QNNRT__ABI_CORE_MINOR_KNOWN = 40,
    QNNRT__ABI_SYSTEM_MAJOR = 1, QNNRT__ABI_SYSTEM_MINOR_MIN = 2,
    QNNRT__ABI_SYSTEM_MINOR_WHOLE = 5, QNNRT__ABI_SYSTEM_MINOR_BROKEN = 8,
    QNNRT__ABI_NOT_SUPPORTED = 1000, QNNRT__ABI_MEM_ALLOC = 1002,
    QNNRT__ABI_RESTARTED = 1007, QNNRT__ABI_RESTARTED_FATAL = 1011,     /* of the DSP            */
    QNNRT__ABI_HTP_MULTI_CONTEXTS = 2,            /* vendor: QnnHtpContext_ConfigOption_t         */
    QNNRT__ABI_BACKEND_SAVER = 2, QNNRT__ABI_BACKEND_CPU = 3, QNNRT__ABI_BACKEND_HTP = 6,
    QNNRT__ABI_BACKEND_HTP_QEMU = 13,
    QNNRT__ABI_BACKEND_REF = 0x524546,            /* libQnnRef.so, with HTP's infrastructure */
    QNNRT__ABI_MEM_RAW = 0, QNNRT__ABI_MEM_HANDLE = 1,   /* of a tensor; vendor: ..._MEMHANDLE */
    QNNRT__ABI_MEM_REF_IN_PLACE = 0x524546,       /* of static data, libQnnRef.so only: stays */
    QNNRT__ABI_MEM_CUSTOM = 2,                    /* of a registration: described by the next one */
    QNNRT__ABI_MEM_HTP_SHARED = 1,
    QNNRT__ABI_DEFINED = 1                        /* vendor: QNN_DEFINITION_DEFINED               */
};
#define QNNRT__ABI_UNDEFINED 0x7FFFFFFFu
#define QNNRT__ABI_UNKNOWN   0x7FFFFFFEu          /* ours: a text with a name that is not known   */

enum {                                            /* vendor: Qnn_TensorType_t                     */
    QNNRT__ABI_APP_WRITE = 0, QNNRT__ABI_APP_READ = 1, QNNRT__ABI_NATIVE = 3,
    QNNRT__ABI_STATIC = 4, QNNRT__ABI_NULL = 5,
    QNNRT__ABI_UPDATEABLE_STATIC = 6, QNNRT__ABI_UPDATEABLE_APP_READWRITE = 10,      /* 6 to 10 */
    QNNRT__ABI_OPTIONAL_APP_WRITE = 11, QNNRT__ABI_OPTIONAL_APP_READ = 12,
    QNNRT__ABI_OPTIONAL_APP_READWRITE = 13
};

enum {                                            /* vendor: Qnn_QuantizationEncoding_t           */
    QNNRT__ABI_SCALE_OFFSET = 0, QNNRT__ABI_AXIS_SCALE_OFFSET = 1, QNNRT__ABI_BW_SCALE_OFFSET = 2,
    QNNRT__ABI_BW_AXIS_SCALE_OFFSET = 3, QNNRT__ABI_BLOCK = 4, QNNRT__ABI_BLOCKWISE_EXPANSION = 5
};

/* Qnn_Version_t */
typedef struct qnnrt__abi_version { uint32_t major, minor, patch; } qnnrt__abi_version;

typedef void (*qnnrt__abi_log_callback)(const char *format, uint32_t level, uint64_t time,
                                        va_list args);

typedef struct qnnrt__abi_scale_offset { float scale; int32_t offset; } qnnrt__abi_scale_offset;

typedef struct qnnrt__abi_expansion {             /* vendor: Qnn_BlockwiseExpansion_t             */
    int32_t        axis;                          /*  0                                           */
    const qnnrt__abi_scale_offset *pairs;         /*  8  [dims[axis]]                             */
    uint32_t       blocks, bitwidth, storage;     /* 16, 20, 24  storage 0: multipliers of 8 bits */
    const uint8_t *multipliers;                   /* 32                                           */
} qnnrt__abi_expansion;

typedef struct qnnrt__abi_quantize {              /* vendor: Qnn_QuantizeParams_t                 */
    uint32_t definition;                          /*  0  1: the other fields are used             */
    uint32_t encoding;                            /*  4                                           */
    union {                                       /*  8                                           */
        qnnrt__abi_scale_offset scale_offset;
        struct { int32_t axis; uint32_t count; const qnnrt__abi_scale_offset *pairs; } axis;
        struct { uint32_t bitwidth; float scale; int32_t offset; } bw;
        struct { uint32_t bitwidth; int32_t axis; uint32_t count; const float *scales;
                 const int32_t *offsets; } bw_axis;
        struct { const uint32_t *sizes; const qnnrt__abi_scale_offset *pairs; } block;
        const qnnrt__abi_expansion *expansion;
        uint64_t room[4];
    } u;
} qnnrt__abi_quantize;

typedef struct qnnrt__abi_client_buffer {      /* vendor: void *, but it only reads static data */
    const void *data;
    uint32_t    bytes;
} qnnrt__abi_client_buffer;

/* Versions 1 and 2 of a tensor begin with the same fields; version 2 has three more. In lists the
   library uses the size of version 2 for both. */
typedef struct qnnrt__abi_tensor_body {           /* vendor: Qnn_TensorV1_t, Qnn_TensorV2_t       */
    uint32_t    id;                               /*   0                                          */
    const char *name;                             /*   8                                          */
    uint32_t    type;                             /*  16                                          */
    uint32_t    format;                           /*  20                                          */
    uint32_t    dtype;                            /*  24                                          */
    qnnrt__abi_quantize quantize;                 /*  32                                          */
    uint32_t    rank;                             /*  72                                          */
    const uint32_t *dims;                         /*  80                                          */
    uint32_t    mem_type;                         /*  88                                          */
    qnnrt__abi_client_buffer buffer;              /*  96  MEM_HANDLE: data is the memory's handle */
    const uint8_t *dynamic_dims;                  /* 112  since tensor version 2                  */
    uint32_t    sparse[3];                        /* 120                                          */
    uint8_t     produced;                         /* 132                                          */
} qnnrt__abi_tensor_body;

typedef struct qnnrt__abi_tensor {                /* vendor: Qnn_Tensor_t                         */
    uint32_t               version;               /*   0  1 or 2                                  */
    qnnrt__abi_tensor_body body;                  /*   8                                          */
} qnnrt__abi_tensor;

typedef struct qnnrt__abi_mem_htp {               /* vendor: QnnMemHtp_Descriptor_t               */
    uint32_t type;                                /*  0                                           */
    uint64_t bytes;                               /*  8  of all that fd stands for                */
    int32_t  fd;                                  /* 16                                           */
    uint64_t offset;                              /* 24                                           */
} qnnrt__abi_mem_htp;

typedef struct qnnrt__abi_mem {                   /* vendor: Qnn_MemDescriptor_t                  */
    uint32_t        rank;                         /*  0                                           */
    const uint32_t *dims;                         /*  8                                           */
    const char     *shape_config;                 /* 16                                           */
    uint32_t        dtype;                        /* 24                                           */
    uint32_t        type;                         /* 28                                           */
    union {                                       /* 32                                           */
        const qnnrt__abi_mem_htp *custom;
        struct { int32_t fd; void *data; } dma;
    } u;
} qnnrt__abi_mem;

typedef struct qnnrt__abi_graph_info {            /* vendor: QnnSystemContext_GraphInfo_t         */
    uint32_t    version;                          /*  0  1, 2 or 3; each appends to the last */
    const char *name;                             /*  8                                           */
    uint32_t    input_count;                      /* 16                                           */
    const qnnrt__abi_tensor *inputs;              /* 24                                           */
    uint32_t    output_count;                     /* 32                                           */
    const qnnrt__abi_tensor *outputs;             /* 40                                           */
    uint32_t    updateable_count;                 /* 48  since version 2                          */
    const qnnrt__abi_tensor *updateables;         /* 56                                           */
    uint32_t    blob_bytes;                       /* 64  since version 3                          */
    const unsigned char *blob;                    /* 72                                           */
    uint32_t    start_op, end_op;                 /* 80                                           */
} qnnrt__abi_graph_info;

typedef struct qnnrt__abi_info_v1 {               /* vendor: ..._BinaryInfoV1_t and V2_t          */
    uint32_t           backend_id;                /*   0                                          */
    const char        *build_id;                  /*   8                                          */
    qnnrt__abi_version core, backend;             /*  16, 28                                      */
    const char        *soc_version;               /*  40                                          */
    qnnrt__abi_version hw_blob_version;           /*  48                                          */
    qnnrt__abi_version blob_version;              /*  60                                          */
    uint32_t           hw_blob_bytes;             /*  72                                          */
    const unsigned char *hw_blob;                 /*  80                                          */
    uint64_t           blob_bytes;                /*  88                                          */
    uint32_t           context_tensor_count;      /*  96                                          */
    const qnnrt__abi_tensor *context_tensors;     /* 104                                          */
    uint32_t           graph_count;               /* 112                                          */
    const qnnrt__abi_graph_info *graphs;          /* 120                                          */
} qnnrt__abi_info_v1;

typedef struct qnnrt__abi_info_v3 {               /* vendor: ..._BinaryInfoV3_t, not an extension */
    uint32_t           backend_id;                /*   0                                          */
    const char        *build_id;                  /*   8                                          */
    qnnrt__abi_version core, backend;             /*  16, 28                                      */
    const char        *soc_version;               /*  40                                          */
    qnnrt__abi_version blob_version;              /*  48                                          */
    uint64_t           blob_bytes;                /*  64                                          */
    uint32_t           context_tensor_count;      /*  72                                          */
    const qnnrt__abi_tensor *context_tensors;     /*  80                                          */
    uint32_t           graph_count;               /*  88                                          */
    const qnnrt__abi_graph_info *graphs;          /*  96                                          */
    const void        *platform;                  /* 104                                          */
    uint32_t           metadata_bytes;            /* 112                                          */
    const unsigned char *metadata;                /* 120                                          */
    uint32_t           soc_model;                 /* 128                                          */
} qnnrt__abi_info_v3;

typedef struct qnnrt__abi_info {                  /* vendor: QnnSystemContext_BinaryInfo_t        */
    uint32_t version;                             /*   0  1, 2 or 3                               */
    union { qnnrt__abi_info_v1 v1; qnnrt__abi_info_v3 v3; } u;   /* 8 */
} qnnrt__abi_info;

typedef struct qnnrt__abi_device_config {         /* vendor: QnnDevice_Config_t                   */
    uint32_t    option;                           /*  0  0: custom                                */
    const void *custom;                           /*  8                                           */
} qnnrt__abi_device_config;

enum {                                            /* vendor: QnnHtpPerfInfrastructure_...         */
    QNNRT__ABI_INFRASTRUCTURE_PERF = 0,
    QNNRT__ABI_POWER_DCVS_V3 = 1, QNNRT__ABI_POWER_RPC_LATENCY = 2,
    QNNRT__ABI_POWER_RPC_POLLING = 3,
    QNNRT__ABI_POWER_PERFORMANCE = 0x10,          /* a power mode                                 */
    QNNRT__ABI_POWER_POLLING_MOST = 9999,
    QNNRT__ABI_CORNER_MIN = 0x20, QNNRT__ABI_CORNER_MAX = 0xA0
};

typedef struct qnnrt__abi_dcvs {                  /* vendor: ..._DcvsV3_t; 16 words               */
    uint32_t id, set_dcvs, dcvs, mode, set_sleep_latency, sleep_latency_us, set_no_sleep, no_sleep;
    uint32_t set_bus, bus_min, bus_target, bus_max, set_core, core_min, core_target, core_max;
} qnnrt__abi_dcvs;

typedef struct qnnrt__abi_power_config {          /* vendor: ..._PowerConfig_t                    */
    uint32_t option;                              /*  0                                           */
    union { qnnrt__abi_dcvs dcvs; uint32_t us; } u;   /* 4 */
} qnnrt__abi_power_config;

typedef struct qnnrt__abi_infrastructure {        /* vendor: QnnHtpDevice_Infrastructure_t        */
    uint32_t type;                                /*  0                                           */
    qnnrt__abi_code (*create_id)(uint32_t device, uint32_t core, uint32_t *id);              /* 8 */
    qnnrt__abi_code (*destroy_id)(uint32_t id);   /* 16                                           */
    qnnrt__abi_code (*set)(uint32_t id, const qnnrt__abi_power_config **configs);           /* 24 */
    qnnrt__abi_slot  set_memory;                  /* 32                                           */
} qnnrt__abi_infrastructure;

typedef struct qnnrt__abi_config {                /* vendor: QnnContext_Config_t, ...Graph_...    */
    uint32_t option;                              /*  0  0: custom                                */
    union { const void *custom; uint32_t word; } u;   /* 8 */
} qnnrt__abi_config;

typedef struct qnnrt__abi_htp_config {            /* vendor: QnnHtpContext_CustomConfig_t (24),
                                                     QnnHtpGraph_CustomConfig_t (56)              */
    uint32_t option;                              /*  0                                           */
    union { uint32_t words[12]; uint64_t align; } u;  /* 8 */
} qnnrt__abi_htp_config;

/* Defined by the headers that make them, qnnrt_builder.h and qnnrt_profile.h. */
typedef struct qnnrt__abi_op qnnrt__abi_op;
typedef struct qnnrt__abi_front qnnrt__abi_front;
typedef struct qnnrt__abi_profile_config qnnrt__abi_profile_config;
typedef struct qnnrt__abi_event qnnrt__abi_event;
typedef struct qnnrt__abi_event_extended qnnrt__abi_event_extended;
typedef struct qnnrt__abi_profile_data qnnrt__abi_profile_data;
typedef struct qnnrt__abi_target qnnrt__abi_target;
typedef struct qnnrt__abi_target_config qnnrt__abi_target_config;

/* Function table of a backend, up to the last slot that is used here. From core 2.10 on the vendor
   keeps the order and only appends. All of these slots exist at core 2.23, so no slot after the end
   of a library's own table is read. */
typedef struct qnnrt__abi_calls {
    qnnrt__abi_slot property_has_capability; /*  0 */
    qnnrt__abi_code (*backend_create)(qnnrt__abi_handle log, const void **config,
        qnnrt__abi_handle *out);
    qnnrt__abi_slot backend_set_config;
    qnnrt__abi_code (*backend_get_api_version)(qnnrt__abi_version out[2]);
    qnnrt__abi_code (*backend_get_build_id)(const char **id);
    qnnrt__abi_code (*backend_register_op_package)(qnnrt__abi_handle backend, const char *path,
        const char *provider, const char *target); /*  5 */
    qnnrt__abi_slot backend_get_supported_operations;
    qnnrt__abi_code (*backend_validate_op)(qnnrt__abi_handle backend, qnnrt__abi_op op); /*  7 */
    qnnrt__abi_code (*backend_free)(qnnrt__abi_handle backend); /*  8 */
    qnnrt__abi_code (*context_create)(qnnrt__abi_handle backend, qnnrt__abi_handle device,
        const void **config, qnnrt__abi_handle *out); /*  9 */
    qnnrt__abi_slot context_set_config;
    qnnrt__abi_code (*context_get_binary_size)(qnnrt__abi_handle context, uint64_t *bytes); /* 11 */
    qnnrt__abi_code (*context_get_binary)(qnnrt__abi_handle context, void *binary, uint64_t bytes,
        uint64_t *written); /* 12 */
    qnnrt__abi_code (*context_create_from_binary)(qnnrt__abi_handle backend,
        qnnrt__abi_handle device, const void **config, const void *binary, uint64_t bytes,
        qnnrt__abi_handle *out, qnnrt__abi_handle profile); /* 13 */
    qnnrt__abi_code (*context_free)(qnnrt__abi_handle context, qnnrt__abi_handle profile); /* 14 */
    qnnrt__abi_code (*graph_create)(qnnrt__abi_handle context, const char *name,
        const void **config, qnnrt__abi_handle *out); /* 15 */
    qnnrt__abi_slot unused_16[2];
    qnnrt__abi_code (*graph_add_node)(qnnrt__abi_handle graph, qnnrt__abi_op op); /* 18 */
    qnnrt__abi_code (*graph_finalize)(qnnrt__abi_handle graph, qnnrt__abi_handle profile,
        qnnrt__abi_handle signal); /* 19 */
    qnnrt__abi_code (*graph_retrieve)(qnnrt__abi_handle context, const char *name,
        qnnrt__abi_handle *out); /* 20 */
    qnnrt__abi_code (*graph_execute)(qnnrt__abi_handle graph, const qnnrt__abi_tensor *inputs,
        uint32_t input_count, qnnrt__abi_tensor *outputs, uint32_t output_count,
        qnnrt__abi_handle profile, qnnrt__abi_handle signal); /* 21 */
    qnnrt__abi_slot unused_22[2];
    qnnrt__abi_code (*tensor_create)(qnnrt__abi_handle graph, qnnrt__abi_tensor *tensor); /* 24 */
    qnnrt__abi_code (*log_create)(qnnrt__abi_log_callback callback, uint32_t level,
        qnnrt__abi_handle *out); /* 25 */
    qnnrt__abi_slot log_set_level;
    qnnrt__abi_code (*log_free)(qnnrt__abi_handle log); /* 27 */
    qnnrt__abi_code (*profile_create)(qnnrt__abi_handle backend, uint32_t level,
        qnnrt__abi_handle *out); /* 28 */
    qnnrt__abi_code (*profile_set_config)(qnnrt__abi_handle profile,
        const qnnrt__abi_profile_config **config);
    qnnrt__abi_code (*profile_get_events)(qnnrt__abi_handle profile, const uint64_t **events,
        uint32_t *count); /* 30 */
    qnnrt__abi_code (*profile_get_sub_events)(uint64_t event, const uint64_t **events,
        uint32_t *count); /* 31 */
    qnnrt__abi_code (*profile_get_event)(uint64_t event, qnnrt__abi_event *data); /* 32 */
    qnnrt__abi_code (*profile_get_extended_event)(uint64_t event,
        qnnrt__abi_event_extended *data); /* 33 */
    qnnrt__abi_code (*profile_free)(qnnrt__abi_handle profile); /* 34 */
    qnnrt__abi_code (*mem_register)(qnnrt__abi_handle context, const qnnrt__abi_mem *list,
        uint32_t count, qnnrt__abi_handle *out); /* 35 */
    qnnrt__abi_code (*mem_deregister)(const qnnrt__abi_handle *list, uint32_t count); /* 36 */
    qnnrt__abi_slot unused_37[2];
    qnnrt__abi_code (*device_get_infrastructure)(const qnnrt__abi_infrastructure **out); /* 39 */
    qnnrt__abi_code (*device_create)(qnnrt__abi_handle log, const qnnrt__abi_device_config **config,
        qnnrt__abi_handle *out); /* 40 */
    qnnrt__abi_slot unused_41[2];
    qnnrt__abi_code (*device_free)(qnnrt__abi_handle device); /* 43 */
    qnnrt__abi_slot unused_44[13];
    qnnrt__abi_code (*tensor_update)(qnnrt__abi_handle graph, const qnnrt__abi_tensor **tensors,
        uint64_t count); /* 57 */
} qnnrt__abi_calls;

typedef struct qnnrt__abi_provider {              /* vendor: QnnInterface_t                       */
    uint32_t           backend_id;                /*  0                                           */
    const char        *name;                      /*  8  may be NULL                              */
    qnnrt__abi_version core, backend;             /* 16, 28                                       */
    qnnrt__abi_calls   calls;                     /* 40                                           */
} qnnrt__abi_provider;

/* 0 to 3 are the same in every version seen (1.1 to 1.15). The others exist from 1.5 on, except in
   1.8, whose table has another order. */
typedef struct qnnrt__abi_system_calls {
    qnnrt__abi_code (*create)(qnnrt__abi_handle *out); /*  0 */
    /* 1  the vendor's declaration has no const before void, but the call does not write */
    qnnrt__abi_code (*get_info)(qnnrt__abi_handle system, const void *binary, uint64_t bytes,
        const qnnrt__abi_info **info, uint64_t *info_bytes);
    qnnrt__abi_slot get_metadata;
    qnnrt__abi_code (*free)(qnnrt__abi_handle system); /*  3 */
    qnnrt__abi_slot unused_4[4];
    qnnrt__abi_code (*dlc_open)(qnnrt__abi_handle log, const char *path,
        qnnrt__abi_handle *out); /*  8 */
    qnnrt__abi_slot dlc_open_binary;
    qnnrt__abi_code (*dlc_compose)(qnnrt__abi_handle dlc, const void **configs,
        uint32_t config_count, qnnrt__abi_handle backend, qnnrt__abi_handle context,
        qnnrt__abi_front front, uint32_t version, const qnnrt__abi_graph_info **graphs,
        uint32_t *graph_count); /* 10 */
    qnnrt__abi_slot dlc_get_mappings;
    qnnrt__abi_code (*dlc_free)(qnnrt__abi_handle dlc); /* 12 */
    qnnrt__abi_code (*profile_create_target)(qnnrt__abi_target target,
        const qnnrt__abi_target_config *configs, uint32_t count, qnnrt__abi_handle *out); /* 13 */
    qnnrt__abi_code (*profile_write)(qnnrt__abi_handle target,
        const qnnrt__abi_profile_data **data, uint32_t count); /* 14 */
    qnnrt__abi_code (*profile_free_target)(qnnrt__abi_handle target); /* 15 */
} qnnrt__abi_system_calls;

typedef struct qnnrt__abi_system_provider {       /* vendor: QnnSystemInterface_t                 */
    uint32_t                backend_id;           /*  0                                           */
    const char             *name;                 /*  8                                           */
    qnnrt__abi_version      version;              /* 16  one version here, not two                */
    qnnrt__abi_system_calls calls;                /* 32                                           */
} qnnrt__abi_system_provider;

/* The first fields of both kinds of provider. */
typedef struct qnnrt__abi_provider_head {
    uint32_t           backend_id;                /*  0                                           */
    const char        *name;                      /*  8                                           */
    qnnrt__abi_version version;                   /* 16                                           */
} qnnrt__abi_provider_head;

typedef qnnrt__abi_code (*qnnrt__abi_get_providers)(const qnnrt__abi_provider_head ***list,
                                                    uint32_t *count);

#if QNNRT__CAN_CALL
#define QNNRT__AT(type, field, offset) \
    QNNRT__STATIC_ASSERT(type##_##field, offsetof(qnnrt__abi_##type, field) == (offset))
#define QNNRT__IS(type, bytes) QNNRT__STATIC_ASSERT(type##_is, sizeof(qnnrt__abi_##type) == (bytes))
QNNRT__IS(version, 12); QNNRT__IS(quantize, 40); QNNRT__AT(quantize, u, 8);
QNNRT__IS(client_buffer, 16); QNNRT__IS(tensor_body, 136); QNNRT__AT(tensor_body, name, 8);
QNNRT__AT(tensor_body, type, 16); QNNRT__AT(tensor_body, format, 20);
QNNRT__AT(tensor_body, dtype, 24); QNNRT__AT(tensor_body, quantize, 32);
QNNRT__AT(tensor_body, rank, 72); QNNRT__AT(tensor_body, dims, 80);
QNNRT__AT(tensor_body, mem_type, 88); QNNRT__AT(tensor_body, buffer, 96);
QNNRT__AT(tensor_body, dynamic_dims, 112); QNNRT__AT(tensor_body, sparse, 120);
QNNRT__AT(tensor_body, produced, 132); QNNRT__IS(tensor, 144); QNNRT__AT(tensor, body, 8);
QNNRT__IS(graph_info, 88); QNNRT__AT(graph_info, name, 8); QNNRT__AT(graph_info, input_count, 16);
QNNRT__AT(graph_info, inputs, 24); QNNRT__AT(graph_info, output_count, 32);
QNNRT__AT(graph_info, outputs, 40); QNNRT__AT(graph_info, updateable_count, 48);
QNNRT__AT(graph_info, updateables, 56); QNNRT__AT(graph_info, blob_bytes, 64);
QNNRT__AT(graph_info, blob, 72); QNNRT__AT(graph_info, start_op, 80); QNNRT__IS(info_v1, 128);
QNNRT__AT(info_v1, core, 16); QNNRT__AT(info_v1, soc_version, 40);
QNNRT__AT(info_v1, blob_version, 60); QNNRT__AT(info_v1, hw_blob, 80);
QNNRT__AT(info_v1, blob_bytes, 88); QNNRT__AT(info_v1, context_tensor_count, 96);
QNNRT__AT(info_v1, graph_count, 112); QNNRT__AT(info_v1, graphs, 120); QNNRT__IS(info_v3, 136);
QNNRT__AT(info_v3, core, 16); QNNRT__AT(info_v3, blob_version, 48);
QNNRT__AT(info_v3, blob_bytes, 64); QNNRT__AT(info_v3, context_tensor_count, 72);
QNNRT__AT(info_v3, graph_count, 88); QNNRT__AT(info_v3, graphs, 96);
QNNRT__AT(info_v3, metadata_bytes, 112); QNNRT__AT(info_v3, metadata, 120);
QNNRT__AT(info_v3, soc_model, 128); QNNRT__IS(info, 144); QNNRT__AT(info, u, 8);
QNNRT__IS(device_config, 16); QNNRT__IS(config, 16); QNNRT__AT(config, u, 8);
QNNRT__IS(htp_config, 56); QNNRT__AT(htp_config, u, 8); QNNRT__IS(expansion, 40);
QNNRT__AT(expansion, pairs, 8); QNNRT__AT(expansion, blocks, 16);
QNNRT__AT(expansion, multipliers, 32); QNNRT__AT(system_calls, dlc_open, 8 * 8);
QNNRT__AT(system_calls, profile_free_target, 15 * 8); QNNRT__AT(provider, name, 8);
QNNRT__AT(provider, core, 16); QNNRT__AT(provider, calls, 40); QNNRT__AT(provider_head, name, 8);
QNNRT__AT(provider_head, version, 16); QNNRT__AT(system_provider, version, 16);
QNNRT__AT(system_provider, calls, 32); QNNRT__AT(calls, context_create_from_binary, 13 * 8);
QNNRT__AT(calls, graph_execute, 21 * 8); QNNRT__AT(calls, backend_register_op_package, 5 * 8);
QNNRT__AT(calls, profile_create, 28 * 8); QNNRT__AT(calls, tensor_update, 57 * 8);
QNNRT__AT(calls, mem_register, 35 * 8); QNNRT__AT(calls, device_create, 40 * 8);
QNNRT__IS(mem_htp, 32); QNNRT__AT(mem_htp, bytes, 8); QNNRT__AT(mem_htp, fd, 16);
QNNRT__AT(mem_htp, offset, 24); QNNRT__IS(mem, 48); QNNRT__AT(mem, dims, 8);
QNNRT__AT(mem, dtype, 24); QNNRT__AT(mem, shape_config, 16); QNNRT__AT(mem, type, 28);
QNNRT__AT(mem, u, 32); QNNRT__IS(dcvs, 64); QNNRT__IS(power_config, 68);
QNNRT__AT(power_config, u, 4); QNNRT__IS(infrastructure, 40);
QNNRT__AT(infrastructure, create_id, 8); QNNRT__AT(infrastructure, set, 24);
#endif

static qnnrt_version_info qnnrt__abi_public_version(qnnrt__abi_version from)
{
    qnnrt_version_info to;
    to.major = from.major; to.minor = from.minor; to.patch = from.patch;
    return to;
}

/* =====================================================================================
   VENDOR NAMES                                                                    >>names
   Turns the vendor's enumerators into text and back, for metadata that is text. The names
   come from tools/vendor/vendor.txt, see >>vendor_names.
   Needs: >>config     Knows nothing of: tensors, JSON
   ===================================================================================== */

typedef struct qnnrt__names_entry { uint32_t value; const char *name; } qnnrt__names_entry;

/* Lists of our own, after those of qnnrt_vendor_enum. */
enum { QNNRT__NAMES_DEFINITION = QNNRT_VENDOR_ENCODING + 1, QNNRT__NAMES_LISTS };

/* Return a list, which ends with a NULL, from the end of this file. The first of several names of a
   number is the one to write. */
static const qnnrt__names_entry *qnnrt__names_get(int which);

QNNRT_API const char *qnnrt_vendor_name(qnnrt_vendor_enum which, uint32_t value)
{
    const qnnrt__names_entry *entry;
    if ((unsigned)which >= (unsigned)QNNRT__NAMES_DEFINITION) return NULL;
    entry = qnnrt__names_get((int)which);
    while (entry->name != NULL && entry->value != value) ++entry;
    return entry->name;
}

#ifndef QNNRT_NO_JSON
/* Find the number of a name with its list's prefix. Return 0 when the list does not have it. */
static int qnnrt__names_find(int which, const char *text, size_t bytes, uint32_t *value)
{
    static const char *const prefixes[] = { "QNN_DATATYPE_", "QNN_TENSOR_TYPE_",
                                            "QNN_TENSOR_DATA_FORMAT_", "QNN_QUANTIZATION_ENCODING_",
                                            "QNN_DEFINITION_" };
    const qnnrt__names_entry *entry = qnnrt__names_get(which);
    const size_t prefix = strlen(prefixes[which]);
    if (bytes <= prefix || memcmp(text, prefixes[which], prefix) != 0) return 0;
    text += prefix;
    bytes -= prefix;
    for (; entry->name != NULL; ++entry)
        if (strlen(entry->name) == bytes && memcmp(entry->name, text, bytes) == 0) {
            *value = entry->value;
            return 1;
        }
    return 0;
}
#endif

/* =====================================================================================
   LIBRARIES                                                                    >>library
   Finds a vendor library by the rule of the manual, says which file it really was, and
   chooses among its providers.
   Needs: >>os >>err >>log >>codes >>abi     Knows nothing of: what a provider's slots do
   ===================================================================================== */

/* Add what the loader omits: it says "not found" of a file of another architecture. */
static void qnnrt__library_explain(const char *path, qnnrt_error *err)
{
#ifdef __aarch64__
    const int own = 183;
#else
    const int own = 62;
#endif
    unsigned char head[20] = { 0 };      /* of an ELF file; the machine is in its last two bytes */
    uint64_t bytes;
    int missing, machine;
    if (qnnrt__os_file_head(path, head, sizeof(head), &bytes, &missing) != NULL) {
        QNNRT__HINT(err, QNNRT_E_LIBRARY, "Check the path.");
        return;
    }
    machine = head[18] | head[19] << 8;
    if (bytes < sizeof(head) || memcmp(head, "\177ELF", 4) != 0 || machine == 0)
        QNNRT__HINT(err, QNNRT_E_LIBRARY, "Give the path of a library; this file is not one.");
    else if (machine != own) {
        qnnrt_error_add(err, "\n  likely cause: the library is for another architecture (ELF"
                        " machine %d, this program is %d; 62 is x86-64, 183 aarch64)",
                        machine, own);
        QNNRT__HINT(err, QNNRT_E_LIBRARY, "Take the library that was built for this machine.");
    } else
        QNNRT__HINT(err, QNNRT_E_LIBRARY, "Run ldd on the file to see which library it needs and"
                    " does not find, and keep the folders of its release together.");
}

/* Write the path of `name` in the folder of `path`, which may be out. Return 0 without a folder. */
static int qnnrt__library_in(char out[QNNRT__PATH_MAX], const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && qnnrt__os_path_join(out, path, (size_t)(slash - path) + 1, name);
}

/* The places where a library without a path is searched, in this order. */
enum { QNNRT__LIBRARY_BESIDE, QNNRT__LIBRARY_PROGRAM, QNNRT__LIBRARY_SELF, QNNRT__LIBRARY_SYSTEM,
       QNNRT__LIBRARY_PLACES };

/* Write the path of a library in a place. Return 0 if there is no such place. */
static int qnnrt__library_place(int place, const char *name, const char *beside,
                                char at[QNNRT__PATH_MAX])
{
    switch (place) {
    case QNNRT__LIBRARY_BESIDE: return beside != NULL && qnnrt__library_in(at, beside, name);
    case QNNRT__LIBRARY_PROGRAM:
        return qnnrt__os_path_of_program(at) && qnnrt__library_in(at, at, name);
    case QNNRT__LIBRARY_SELF:   /* a relative path depends on where the program was started */
        return qnnrt__os_path_of_self(at) && at[0] == '/' && qnnrt__library_in(at, at, name);
    default: return qnnrt__os_path_join(at, "", 0, name);
    }
}

/* Open a library by the search rule of the manual. `beside` (may be NULL) is a path whose folder is
   tried first. at is room for a path. The caller closes the library. An error names all places. */
static qnnrt_result qnnrt__library_find(const char *name, const char *beside,
                                        char at[QNNRT__PATH_MAX], void **library, qnnrt_error *err)
{
    char tried[QNNRT__PATH_MAX] = "";
    const char *why = NULL;
    int place;
    *library = NULL;
    if (strchr(name, '/') != NULL) {
        *library = qnnrt__os_library_open(name, &why);
        if (*library != NULL) return QNNRT_OK;
        QNNRT__FAIL(err, QNNRT_E_LIBRARY, "cannot open the library %s: %s", name, why);
        qnnrt__library_explain(name, err);
        return QNNRT_E_LIBRARY;
    }
    QNNRT__FAIL(err, QNNRT_E_LIBRARY, "cannot find the library %s. Tried:", name);
    for (place = 0; place < QNNRT__LIBRARY_PLACES && *library == NULL; ++place) {
        const int system = place == QNNRT__LIBRARY_SYSTEM;
        if (!qnnrt__library_place(place, name, beside, at) || strcmp(at, tried) == 0) continue;
        memcpy(tried, at, QNNRT__PATH_MAX);
        if (system && qnnrt__os_search_is_unsafe()) {
            qnnrt_error_add(err, "\n  skipped the system's search: LD_LIBRARY_PATH has an empty"
                            " element, which means the current folder");
            break;
        }
        *library = qnnrt__os_library_open(at, &why);
        if (*library == NULL)
            qnnrt_error_add(err, "\n  %s%s", system ? "the system's search: " : "", why);
    }
    if (*library == NULL)
        return QNNRT__HINT(err, QNNRT_E_LIBRARY,
                           "Give the path with a slash in it, such as ./%.200s: the current folder"
                           " is not searched.", name);
    qnnrt_error_clear(err);
    return QNNRT_OK;
}

/* Write the path of the shared object that contains a symbol, which is the file that was loaded. */
static void qnnrt__library_path(void *symbol, const char *asked, char out[QNNRT__PATH_MAX])
{
    if (symbol != NULL && qnnrt__os_path_of(symbol, out)) return;
    if (!qnnrt__os_path_join(out, "", 0, asked)) out[0] = '\0';
}

/* An interface that a vendor library may have. */
typedef struct qnnrt__library_interface {
    const char *symbol;               /* the function that gives its providers */
    const char *name;                 /* for messages */
    const char *missing;              /* what it means that a library lacks the symbol */
    const char *room;                 /* of the log line */
    uint32_t    major, minor;         /* the oldest that is accepted, of this major version */
} qnnrt__library_interface;

/* Choose the first provider whose version is known. Callers hold the lock. */
static qnnrt_result qnnrt__library_choose(void *library, const char *path,
                                          const qnnrt__library_interface *wanted,
                                          const qnnrt_hooks *hooks, const void **out,
                                          qnnrt_error *err)
{
    qnnrt__abi_get_providers get;
    const qnnrt__abi_provider_head **list = NULL;
    uint32_t count = 0, i;
    qnnrt__abi_code code;
    void *symbol = qnnrt__os_library_symbol(library, wanted->symbol);
    if (symbol == NULL)
        return QNNRT__FAIL(err, QNNRT_E_LIBRARY, "%s: no symbol %s: %s", path, wanted->symbol,
                           wanted->missing);
    memcpy((void *)&get, (const void *)&symbol, sizeof(get));
    code = get(&list, &count);
    if (code != 0) {
        QNNRT__FAIL(err, QNNRT_E_BACKEND, "%s", path);
        return qnnrt__codes_explain(err, wanted->symbol, code, -1, 0);
    }
    for (i = 0; list != NULL && i < count; ++i)
        if (list[i] != NULL && list[i]->version.major == wanted->major &&
            list[i]->version.minor >= wanted->minor) {
            if (count > 1)
                qnnrt_log(hooks, QNNRT_LOG_INFO, wanted->room, 0,
                          "%s offers %u providers; number %u fits and is used", path,
                          (unsigned)count, (unsigned)i);
            *out = list[i];
            return QNNRT_OK;
        }
    if (list == NULL || count == 0 || list[0] == NULL)
        return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_LIBRARY, "%s offers no provider", path),
                           "Use a complete library of one release.");
    QNNRT__FAIL(err, QNNRT_E_VERSION,
                "%s speaks %s %u.%u; %u.%u or a newer %u.x is needed (QAIRT 2.30 or newer)", path,
                wanted->name, (unsigned)list[0]->version.major, (unsigned)list[0]->version.minor,
                (unsigned)wanted->major, (unsigned)wanted->minor, (unsigned)wanted->major);
    return QNNRT__HINT(err, QNNRT_E_VERSION, "Ship the libraries of QAIRT 2.30 or newer.");
}

/* Return the code for a provider whose table lacks a slot. */
static qnnrt_result qnnrt__library_lacks(const char *path, const char *slots, qnnrt_error *err)
{
    return QNNRT__HINT(err,
                       QNNRT__FAIL(err, QNNRT_E_LIBRARY, "%s: its table lacks %s", path, slots),
                       "Use a complete library of one release.");
}

/* =====================================================================================
   TABLE                                                                          >>table
   The facts about a context, checked, in structs and memory of our own. Whichever source
   fills it, the rooms below can rely on its names, ranks and sizes.
   Needs: >>mem >>err >>log >>sort >>dtype >>encoding >>abi
   Knows nothing of: files, libraries
   ===================================================================================== */

#define QNNRT__TABLE_SCALES 67108864u      /* per-axis scales in one model: half a GiB */

/* A context while its facts are filled in; the result is the public view. */
typedef struct qnnrt__table {
    qnnrt__arena        *arena;
    const qnnrt_limits  *limits;
    const char          *file;          /* for messages */
    const char          *graph;         /* for messages: the graph being filled, or NULL */
    uint32_t            *tensors_left;  /* of limits.tensors, for the whole model */
    uint32_t            *scales_left;   /* of limits.scales, for the whole model */
    int                  kept;          /* 1: names and arrays are in the arena already */
    qnnrt_error         *err;
} qnnrt__table;

/* The lists of tensors that a graph has. */
typedef enum qnnrt__table_kind {
    QNNRT__TABLE_INPUTS, QNNRT__TABLE_OUTPUTS, QNNRT__TABLE_UPDATEABLES, QNNRT__TABLE_KINDS
} qnnrt__table_kind;

static const struct { const char *noun; size_t tensors, count; } qnnrt__table_lists[] = {
    { "input", offsetof(qnnrt_graph_info, inputs), offsetof(qnnrt_graph_info, input_count) },
    { "output", offsetof(qnnrt_graph_info, outputs), offsetof(qnnrt_graph_info, output_count) },
    { "updateable tensor", offsetof(qnnrt_graph_info, updateables),
      offsetof(qnnrt_graph_info, updateable_count) }
};

/* Return what one tensor of a list is called in messages. */
static const char *qnnrt__table_noun(qnnrt__table_kind kind)
{
    return qnnrt__table_lists[kind].noun;
}

/* Return a list of a graph. */
static const qnnrt_tensor_info *qnnrt__table_get(const qnnrt_graph_info *graph,
                                                 qnnrt__table_kind kind, size_t *count)
{
    const char *base = (const char *)graph;
    *count = *(const size_t *)(base + qnnrt__table_lists[kind].count);
    return *(const qnnrt_tensor_info *const *)(base + qnnrt__table_lists[kind].tensors);
}

/* Fill an error whose text begins with the file and the graph. */
static qnnrt_result qnnrt__table_fail(qnnrt__table *table, qnnrt_result code, const char *format,
                                      ...) QNNRT__PRINTF(3, 4);
static qnnrt_result qnnrt__table_fail(qnnrt__table *table, qnnrt_result code, const char *format,
                                      ...)
{
    va_list args;
    QNNRT__FAIL(table->err, code, "%s: ", table->file);
    if (table->graph != NULL) qnnrt_error_add(table->err, "graph \"%.200s\": ", table->graph);
    va_start(args, format);
    qnnrt__err_vadd(table->err, format, args);
    va_end(args);
    return code;
}

/* Copy the name of number `index` of a kind. Missing and long ones are refused; kept ones fit. */
static qnnrt_result qnnrt__table_name(qnnrt__table *table, const char *name, const char *kind,
                                      size_t index, const char **out)
{
    const size_t most = table->limits->name_bytes;
    size_t length = 0;
    *out = NULL;
    if (name == NULL || name[0] == '\0')
        return qnnrt__table_fail(table, QNNRT_E_FORMAT, "%s %u has no name", kind, (unsigned)index);
    while (!table->kept && length <= most && name[length] != '\0') ++length;
    if (length > most)
        return qnnrt__table_fail(table, QNNRT_E_LIMIT, "%s %u has a name longer than %u bytes"
                                 " (limits.name_bytes)", kind, (unsigned)index, (unsigned)most);
    *out = table->kept ? name : qnnrt_arena_text(table->arena, name, length);
    return *out != NULL ? QNNRT_OK : qnnrt__fail_memory(table->err, "names");
}

/* Return an array in the table's memory: `data` itself or a copy. NULL: out of memory. */
static const void *qnnrt__table_keep(qnnrt__table *table, const void *data, size_t count,
                                     size_t bytes)
{
    void *copy;
    if (table->kept && data != NULL) return data;
    copy = qnnrt__arena_alloc(table->arena, count, bytes);
    if (copy != NULL && count > 0) memcpy(copy, data, count * bytes);
    return copy;
}

/* Split an array of (scale, offset) pairs into two arrays: conversion loops read one at a time. */
static int qnnrt__table_pairs(qnnrt__table *table, const qnnrt__abi_scale_offset *pairs,
                              qnnrt_quant *quant)
{
    float *scales = (float *)qnnrt__arena_alloc(table->arena, quant->count, sizeof(float));
    int32_t *offsets = (int32_t *)qnnrt__arena_alloc(table->arena, quant->count, sizeof(int32_t));
    uint32_t i;
    if (scales == NULL || offsets == NULL) return 0;
    for (i = 0; i < quant->count; ++i) {
        scales[i] = pairs[i].scale;
        offsets[i] = pairs[i].offset;
    }
    quant->scales = scales;
    quant->offsets = offsets;
    return 1;
}

/* Keep the scales and the offsets, which may be NULL, of an axis. */
static int qnnrt__table_copy_axis(qnnrt__table *table, const float *scales, const int32_t *offsets,
                                  qnnrt_quant *quant)
{
    quant->scales = (const float *)qnnrt__table_keep(table, scales, quant->count, sizeof(float));
    quant->offsets = NULL;
    if (offsets != NULL)
        quant->offsets = (const int32_t *)qnnrt__table_keep(table, offsets, quant->count,
                                                            sizeof(int32_t));
    return quant->scales != NULL && (quant->offsets != NULL || offsets == NULL);
}

/* Copy an encoding per axis. Its count is compared with the dimension before scales are read. */
static qnnrt_result qnnrt__table_quant_axis(qnnrt__table *table, const qnnrt__abi_quantize *from,
                                            qnnrt_tensor_info *tensor)
{
    const int bw = from->encoding == QNNRT__ABI_BW_AXIS_SCALE_OFFSET;
    const int some = bw ? from->u.bw_axis.scales != NULL : from->u.axis.pairs != NULL;
    qnnrt_quant *quant = &tensor->quant;
    int copied;
    quant->encoding = QNNRT_ENCODING_PER_AXIS;
    quant->bitwidth = bw ? from->u.bw_axis.bitwidth : 0;
    quant->axis = bw ? from->u.bw_axis.axis : from->u.axis.axis;
    quant->count = bw ? from->u.bw_axis.count : from->u.axis.count;
    if (quant->axis < 0 || (uint32_t)quant->axis >= tensor->rank)
        return qnnrt__table_fail(table, QNNRT_E_FORMAT,
                                 "tensor \"%.200s\": encoding over axis %d, but it has %u"
                                 " dimensions", tensor->name, (int)quant->axis,
                                 (unsigned)tensor->rank);
    if (quant->count != tensor->dims[quant->axis] || !some)
        return qnnrt__table_fail(table, QNNRT_E_FORMAT,
                                 "tensor \"%.200s\": encoding has %u scales for axis %d of"
                                 " %u elements", tensor->name, some ? (unsigned)quant->count : 0u,
                                 (int)quant->axis, (unsigned)tensor->dims[quant->axis]);
    /* Many tensors may share one long list in the file, but each gets its own copy. */
    if (quant->count > *table->scales_left)
        return qnnrt__table_fail(table, QNNRT_E_LIMIT, "more than %u scales in all encodings"
                                 " (limits.scales)", (unsigned)table->limits->scales);
    *table->scales_left -= quant->count;
    copied = bw ? qnnrt__table_copy_axis(table, from->u.bw_axis.scales, from->u.bw_axis.offsets,
                                         quant)
                : qnnrt__table_pairs(table, from->u.axis.pairs, quant);
    return copied ? QNNRT_OK : qnnrt__fail_memory(table->err, "encodings");
}

/* Copy an encoding, and check that it fits the tensor. */
static qnnrt_result qnnrt__table_quant(qnnrt__table *table, const qnnrt__abi_quantize *from,
                                       qnnrt_tensor_info *tensor)
{
    qnnrt_quant *quant = &tensor->quant;
    qnnrt_result result = QNNRT_OK;
    const char *why;
    memset(quant, 0, sizeof(*quant));
    quant->vendor_encoding = from->definition == QNNRT__ABI_DEFINED ? from->encoding
                                                                    : QNNRT__ABI_UNDEFINED;
    switch (quant->vendor_encoding) {
    case QNNRT__ABI_UNDEFINED:
        break;
    case QNNRT__ABI_SCALE_OFFSET:
        quant->encoding = QNNRT_ENCODING_PER_TENSOR;
        quant->scale = from->u.scale_offset.scale;
        quant->offset = from->u.scale_offset.offset;
        break;
    case QNNRT__ABI_BW_SCALE_OFFSET:
        quant->encoding = QNNRT_ENCODING_PER_TENSOR;
        quant->bitwidth = from->u.bw.bitwidth;
        quant->scale = from->u.bw.scale;
        quant->offset = from->u.bw.offset;
        break;
    case QNNRT__ABI_AXIS_SCALE_OFFSET:
    case QNNRT__ABI_BW_AXIS_SCALE_OFFSET:
        result = qnnrt__table_quant_axis(table, from, tensor);
        break;
    default:
        quant->encoding = QNNRT_ENCODING_OTHER;
    }
    if (result != QNNRT_OK || tensor->bytes == 0) return result;
    why = qnnrt__encoding_check(tensor);
    if (why != NULL)
        return qnnrt__table_fail(table, QNNRT_E_FORMAT, "tensor \"%.200s\" (%s): %s", tensor->name,
                                 qnnrt_dtype_name(tensor->dtype), why);
    why = qnnrt__encoding_warn(tensor);
    if (why != NULL)
        qnnrt_log(&table->arena->hooks, QNNRT_LOG_INFO, "table", 0,
                  "%s: tensor \"%.200s\" (%s): %s", table->file, tensor->name,
                  qnnrt_dtype_name(tensor->dtype), why);
    return QNNRT_OK;
}

/* Copy the dimensions and compute count and bytes. A type without a size has count and bytes 0,
   which qnnrt__table_usable() reports. */
static qnnrt_result qnnrt__table_dims(qnnrt__table *table, const uint32_t *dims,
                                      qnnrt_tensor_info *tensor)
{
    const uint32_t rank = tensor->rank;
    uint32_t i;
    if (rank > table->limits->rank)
        return qnnrt__table_fail(table, QNNRT_E_LIMIT, "tensor \"%.200s\" has rank %u, more than %u"
                                 " (limits.rank)", tensor->name, (unsigned)rank,
                                 (unsigned)table->limits->rank);
    if (rank > 0 && dims == NULL)
        return qnnrt__table_fail(table, QNNRT_E_FORMAT,
                                 "tensor \"%.200s\" has rank %u but no dimensions", tensor->name,
                                 (unsigned)rank);
    for (i = 0; i < rank; ++i)
        if (dims[i] == 0)
            return qnnrt__table_fail(table, QNNRT_E_FORMAT,
                                     "tensor \"%.200s\" has a dimension of 0", tensor->name);
    tensor->dims = (const uint32_t *)qnnrt__table_keep(table, dims, rank, sizeof(uint32_t));
    if (tensor->dims == NULL) return qnnrt__fail_memory(table->err, "dimensions");
    if (qnnrt__dtype_bytes(tensor->dtype, dims, rank, &tensor->count, &tensor->bytes) ==
        QNNRT_E_LIMIT)
        return qnnrt__table_fail(table, QNNRT_E_LIMIT, "tensor \"%.200s\": the product of its"
                                 " dimensions exceeds the address space", tensor->name);
    return QNNRT_OK;
}

/* Copy one tensor of the vendor's metadata. */
static qnnrt_result qnnrt__table_tensor(qnnrt__table *table, const qnnrt__abi_tensor *from,
                                        qnnrt__table_kind kind, size_t index,
                                        qnnrt_tensor_info *tensor)
{
    const qnnrt__abi_tensor_body *body = &from->body;
    const uint8_t *dynamic = from->version == 2 ? body->dynamic_dims : NULL;
    qnnrt_result result;
    uint32_t i;
    if (from->version != 1 && from->version != 2)
        return qnnrt__table_fail(table, QNNRT_E_FORMAT,
                                 "%s %u is a tensor of version %u, expected 1 or 2",
                                 qnnrt__table_noun(kind), (unsigned)index, (unsigned)from->version);
    result = qnnrt__table_name(table, body->name, qnnrt__table_noun(kind), index, &tensor->name);
    if (result != QNNRT_OK) return result;
    tensor->id = body->id;
    tensor->dtype = body->dtype < QNNRT_DTYPE_UNDEFINED ? (qnnrt_dtype)body->dtype
                                                        : QNNRT_DTYPE_UNDEFINED;
    tensor->rank = body->rank;
    tensor->vendor_type = body->type;
    tensor->vendor_format = body->format;
    tensor->vendor_version = from->version;
    tensor->optional = body->type >= QNNRT__ABI_OPTIONAL_APP_WRITE &&
                       body->type <= QNNRT__ABI_OPTIONAL_APP_READWRITE;
    tensor->updateable = body->type >= QNNRT__ABI_UPDATEABLE_STATIC &&
                         body->type <= QNNRT__ABI_UPDATEABLE_APP_READWRITE;
    result = qnnrt__table_dims(table, body->dims, tensor);
    if (result == QNNRT_OK) result = qnnrt__table_quant(table, &body->quantize, tensor);
    for (i = 0; dynamic != NULL && i < body->rank && dynamic[i] == 0;) ++i;
    if (result != QNNRT_OK || dynamic == NULL || i == body->rank) return result;
    tensor->dynamic_dims = (const uint8_t *)qnnrt__table_keep(table, dynamic, body->rank, 1);
    return tensor->dynamic_dims != NULL ? QNNRT_OK : qnnrt__fail_memory(table->err, "dimensions");
}

/* ---- lists ---- */

/* Compare the names of two tensors or graphs, which begin with them. */
static int qnnrt__table_name_order(const void *a, const void *b)
{
    QNNRT__STEP();
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int qnnrt__table_id_order(const void *a, const void *b)
{
    const uint32_t x = ((const qnnrt_tensor_info *)a)->id, y = ((const qnnrt_tensor_info *)b)->id;
    return x < y ? -1 : x > y;
}

/* Check that no two of an array's tensors or graphs are equal in what `order` compares, which
   messages call `same`. noun: of one. */
static qnnrt_result qnnrt__table_differ(qnnrt__table *table, const void *items, size_t count,
                                        size_t bytes, qnnrt__sort_compare order, const char *same,
                                        const char *noun)
{
    const void **sorted = (const void **)qnnrt__arena_alloc(table->arena, count, sizeof(*sorted));
    size_t i;
    if (sorted == NULL) return qnnrt__fail_memory(table->err, "tensors");
    for (i = 0; i < count; ++i) sorted[i] = (const char *)items + i * bytes;
    qnnrt_sort(sorted, count, order);
    for (i = 1; i < count; ++i)
        if (order(sorted[i - 1], sorted[i]) == 0)
            return qnnrt__table_fail(table, QNNRT_E_FORMAT,
                                     "%ss \"%.200s\" and \"%.200s\" have the same %s", noun,
                                     *(const char *const *)sorted[i - 1],
                                     *(const char *const *)sorted[i], same);
    return QNNRT_OK;
}

/* Check that the names of tensors or graphs differ. */
static qnnrt_result qnnrt__table_names(qnnrt__table *table, const void *items, size_t count,
                                       size_t bytes, const char *noun)
{
    return qnnrt__table_differ(table, items, count, bytes, qnnrt__table_name_order, "name", noun);
}

/* Count graphs and tensors against limits.tensors. */
static qnnrt_result qnnrt__table_take(qnnrt__table *table, uint32_t count)
{
    if (count > *table->tensors_left)
        return qnnrt__table_fail(table, QNNRT_E_LIMIT,
                                 "%u more would exceed %u graphs and tensors (limits.tensors)",
                                 (unsigned)count, (unsigned)table->limits->tensors);
    *table->tensors_left -= count;
    return QNNRT_OK;
}

/* Give a list of tensors, whose names and ids must differ, to a graph. */
static qnnrt_result qnnrt__table_close(qnnrt__table *table, qnnrt__table_kind kind,
                                       const qnnrt_tensor_info *tensors, size_t count,
                                       qnnrt_graph_info *graph)
{
    const char *noun = qnnrt__table_noun(kind);
    char *base = (char *)graph;
    qnnrt_result result = qnnrt__table_names(table, tensors, count, sizeof(*tensors), noun);
    if (result == QNNRT_OK)      /* the vendor matches by id */
        result = qnnrt__table_differ(table, tensors, count, sizeof(*tensors),
                                     qnnrt__table_id_order, "id", noun);
    *(const qnnrt_tensor_info **)(base + qnnrt__table_lists[kind].tensors) = tensors;
    *(size_t *)(base + qnnrt__table_lists[kind].count) = count;
    return result;
}

/* Copy a list of the vendor's metadata into a graph. */
static qnnrt_result qnnrt__table_tensors(qnnrt__table *table, const qnnrt__abi_tensor *from,
                                         uint32_t count, qnnrt__table_kind kind,
                                         qnnrt_graph_info *graph)
{
    qnnrt_tensor_info *tensors;
    qnnrt_result result = qnnrt__table_take(table, count);
    uint32_t i;
    if (result == QNNRT_OK && count > 0 && from == NULL)
        result = qnnrt__table_fail(table, QNNRT_E_FORMAT,
                                   "%u %ss declared, but the list is missing", (unsigned)count,
                                   qnnrt__table_noun(kind));
    if (result != QNNRT_OK) return result;
    tensors = (qnnrt_tensor_info *)qnnrt__arena_alloc(table->arena, count, sizeof(*tensors));
    if (tensors == NULL) return qnnrt__fail_memory(table->err, "tensors");
    for (i = 0; i < count && result == QNNRT_OK; ++i)
        result = qnnrt__table_tensor(table, &from[i], kind, i, &tensors[i]);
    return result == QNNRT_OK ? qnnrt__table_close(table, kind, tensors, count, graph) : result;
}

/* Return why this version cannot run a graph with this tensor, or NULL. htp: its backend is HTP. */
static const char *qnnrt__table_unsupported(const qnnrt_tensor_info *tensor, int htp)
{
    return tensor->bytes == 0 ? "has a dtype that this version cannot hold in memory"
         : htp && tensor->dynamic_dims != NULL
             ? "has dynamic dimensions, which HTP does not support"
         : htp && tensor->optional ? "is optional, which HTP does not support"
         : tensor->vendor_format != 0 ? "has a data format other than plain row-major"
         : tensor->bytes > UINT32_MAX
             ? "has 4 GiB or more, which the vendor's size field cannot hold" : NULL;
}

/* Note in a graph whose metadata is valid why this version cannot run it, if it cannot. */
static qnnrt_result qnnrt__table_usable(qnnrt__table *table, qnnrt_graph_info *graph, int htp)
{
    int kind;
    size_t i, count;
    for (kind = QNNRT__TABLE_INPUTS; kind <= QNNRT__TABLE_OUTPUTS; ++kind) {
        const qnnrt_tensor_info *tensors = qnnrt__table_get(graph, (qnnrt__table_kind)kind, &count);
        for (i = 0; i < count; ++i) {
            const char *why = qnnrt__table_unsupported(&tensors[i], htp);
            char text[512];
            if (why == NULL) continue;
            snprintf(text, sizeof(text), "%s \"%.200s\" %s (%s, 0x%04x)",
                     qnnrt__table_noun((qnnrt__table_kind)kind), tensors[i].name, why,
                     qnnrt_dtype_name(tensors[i].dtype), (unsigned)tensors[i].dtype);
            qnnrt_text_clean(text);
            graph->unsupported = qnnrt_arena_text(table->arena, text, strlen(text));
            return graph->unsupported != NULL ? QNNRT_OK : qnnrt__fail_memory(table->err, "tables");
        }
        if (count == 0) graph->unsupported = "it has no inputs or no outputs";
    }
    return QNNRT_OK;
}

/* =====================================================================================
   COMPARE                                                                      >>compare
   Compares two tensors, or two sources of one context, and tells where they differ.
   Needs: >>err >>dtype >>abi >>names >>table     Knows nothing of: where a table came from
   ===================================================================================== */

static int qnnrt__compare_u64(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

/* Return an offset of an encoding per axis. */
static int qnnrt__compare_offset(const qnnrt_quant *quant, uint32_t i)
{
    return quant->offsets != NULL ? quant->offsets[i] : 0;
}

/* Return 0 if two encodings are equal, bit for bit, else -1 or 1, always the same. */
static int qnnrt__compare_quant_order(const qnnrt_quant *a, const qnnrt_quant *b)
{
    int order = qnnrt__compare_u64((uint64_t)a->encoding, (uint64_t)b->encoding);
    uint32_t i;
    if (order == 0) order = qnnrt__compare_u64(a->bitwidth, b->bitwidth);
    if (order != 0 || a->encoding == QNNRT_ENCODING_NONE) return order;
    if (a->encoding == QNNRT_ENCODING_OTHER)
        return qnnrt__compare_u64(a->vendor_encoding, b->vendor_encoding);
    if (a->encoding == QNNRT_ENCODING_PER_TENSOR) {
        order = memcmp(&a->scale, &b->scale, sizeof(float));
        return order != 0 ? order : qnnrt__compare_u64((uint32_t)a->offset, (uint32_t)b->offset);
    }
    order = qnnrt__compare_u64((uint32_t)a->axis, (uint32_t)b->axis);
    if (order == 0) order = qnnrt__compare_u64(a->count, b->count);
    if (order == 0) order = memcmp(a->scales, b->scales, (size_t)a->count * sizeof(float));
    for (i = 0; i < a->count && order == 0 && a->offsets != b->offsets; ++i)
        order = qnnrt__compare_u64((uint32_t)qnnrt__compare_offset(a, i),
                                   (uint32_t)qnnrt__compare_offset(b, i));
    return order;
}

QNNRT_API int qnnrt_quant_equal(const qnnrt_quant *a, const qnnrt_quant *b)
{
    return a != NULL && b != NULL && qnnrt__compare_quant_order(a, b) == 0;
}

/* Return 0 if two tensors can share memory: same dimensions, dtype, format and encoding. Else
   return a number below or above 0: any order that always is the same. */
static int qnnrt__compare_order(const qnnrt_tensor_info *a, const qnnrt_tensor_info *b)
{
    int order = qnnrt__compare_u64((uint64_t)a->dtype, (uint64_t)b->dtype);
    QNNRT__STEP();
    if (order == 0) order = qnnrt__compare_u64(a->rank, b->rank);
    if (order == 0) order = qnnrt__compare_u64(a->vendor_format, b->vendor_format);
    if (order == 0 && a->rank > 0) order = memcmp(a->dims, b->dims, a->rank * sizeof(uint32_t));
    if (order == 0) order = (a->dynamic_dims != NULL) - (b->dynamic_dims != NULL);
    if (order == 0 && a->dynamic_dims != NULL)
        order = memcmp(a->dynamic_dims, b->dynamic_dims, a->rank);
    return order != 0 ? order : qnnrt__compare_quant_order(&a->quant, &b->quant);
}

/* Write where two per-axis encodings first differ; "" for other encodings. */
static const char *qnnrt__compare_first(const qnnrt_quant *a, const qnnrt_quant *b, char *out,
                                        size_t room)
{
    uint32_t i = 0;
    out[0] = '\0';
    if (a->encoding != QNNRT_ENCODING_PER_AXIS || b->encoding != QNNRT_ENCODING_PER_AXIS ||
        a->count != b->count)
        return out;
    while (i < a->count && memcmp(&a->scales[i], &b->scales[i], sizeof(float)) == 0 &&
           qnnrt__compare_offset(a, i) == qnnrt__compare_offset(b, i)) ++i;
    if (i < a->count)
        snprintf(out, room,
                 "; first at index %u of the axis: %.9g offset %d against %.9g offset %d",
                 (unsigned)i, (double)a->scales[i], qnnrt__compare_offset(a, i),
                 (double)b->scales[i], qnnrt__compare_offset(b, i));
    return out;
}

QNNRT_API const char *qnnrt_tensor_text(const qnnrt_tensor_info *tensor, char *text, size_t room)
{
    const qnnrt_quant *quant;
    uint32_t i;
    if (text == NULL || room == 0) return "";
    text[0] = '\0';
    if (tensor == NULL) return text;
    quant = &tensor->quant;
    snprintf(text, room, "%s[", qnnrt_dtype_name(tensor->dtype));
    for (i = 0; i < tensor->rank; ++i)
        qnnrt_text_append(text, room, "%s%s%u", i > 0 ? "," : "",
                            tensor->dynamic_dims != NULL && tensor->dynamic_dims[i] ? "<=" : "",
                            (unsigned)tensor->dims[i]);
    qnnrt_text_append(text, room, "]");
    if (quant->encoding == QNNRT_ENCODING_PER_TENSOR)
        qnnrt_text_append(text, room, " scale %.9g offset %d", (double)quant->scale,
                            (int)quant->offset);
    if (quant->encoding == QNNRT_ENCODING_PER_AXIS && quant->count > 0)
        qnnrt_text_append(text, room, " %u scales over axis %d, %.9g offset %d to %.9g offset %d",
                            (unsigned)quant->count, (int)quant->axis, (double)quant->scales[0],
                            qnnrt__compare_offset(quant, 0),
                            (double)quant->scales[quant->count - 1],
                            qnnrt__compare_offset(quant, quant->count - 1));
    if (quant->encoding == QNNRT_ENCODING_OTHER)
        qnnrt_text_append(text, room, " encoding %u", (unsigned)quant->vendor_encoding);
    if (quant->bitwidth != 0)
        qnnrt_text_append(text, room, " bitwidth %u", (unsigned)quant->bitwidth);
    if (tensor->vendor_format != 0)
        qnnrt_text_append(text, room, " format 0x%x", (unsigned)tensor->vendor_format);
    return text;
}

#ifndef QNNRT_NO_JSON
/* The two sources of a context while they are compared, and what messages call them. */
typedef struct qnnrt__compare_sides {
    qnnrt__table *table;
    const char   *one, *other;
} qnnrt__compare_sides;

/* Report a fact that differs. */
static qnnrt_result qnnrt__compare_differs(const qnnrt__compare_sides *sides, const char *what,
                                           const char *in_one, const char *in_other)
{
    qnnrt_error *err = sides->table->err;
    qnnrt__table_fail(sides->table, QNNRT_E_MISMATCH, "%s is %.500s in %s and %.500s in %s", what,
                      in_one, sides->one, in_other, sides->other);
    qnnrt_error_add(err, "\n  likely cause: one of the two is from another build of the model");
    return QNNRT__HINT(err, QNNRT_E_MISMATCH, "Make the JSON again from this binary (qnnrt-run"
                       " inspect --json_file), or remove it.");
}

/* Compare the names in two lists of tensors or graphs, which begin with them, up to the first that
   differs or is in one list only. */
static qnnrt_result qnnrt__compare_names(const qnnrt__compare_sides *sides, const char *noun,
                                         const void *a, size_t a_count, const void *b,
                                         size_t b_count, size_t bytes)
{
    char what[48], one[260] = "missing", other[260] = "missing";
    size_t i;
    for (i = 0; i < a_count || i < b_count; ++i) {
        const char *in_a = i < a_count ? *(const char *const *)((const char *)a + i * bytes) : "";
        const char *in_b = i < b_count ? *(const char *const *)((const char *)b + i * bytes) : "";
        if (strcmp(in_a, in_b) == 0) continue;
        snprintf(what, sizeof(what), "%s %u", noun, (unsigned)i);
        if (i < a_count) snprintf(one, sizeof(one), "\"%.250s\"", in_a);
        if (i < b_count) snprintf(other, sizeof(other), "\"%.250s\"", in_b);
        return qnnrt__compare_differs(sides, what, one, other);
    }
    return QNNRT_OK;
}

/* Write all that is compared of a tensor. */
static void qnnrt__compare_whole(const qnnrt_tensor_info *tensor, char *out, size_t room)
{
    const char *type = qnnrt_vendor_name(QNNRT_VENDOR_TENSOR_TYPE, tensor->vendor_type);
    char text[400];
    snprintf(out, room, "id %u, type 0x%x%s%s, %s", (unsigned)tensor->id,
             (unsigned)tensor->vendor_type, type != NULL ? " " : "", type != NULL ? type : "",
             qnnrt_tensor_text(tensor, text, sizeof(text)));
}

/* Compare one list of two graphs: the names, then the tensors. */
static qnnrt_result qnnrt__compare_list(const qnnrt__compare_sides *sides, qnnrt__table_kind kind,
                                        const qnnrt_graph_info *one, const qnnrt_graph_info *other)
{
    const char *noun = qnnrt__table_noun(kind);
    char what[300], in_a[600], in_b[600], first[160];
    size_t a_count, b_count, i;
    const qnnrt_tensor_info *a = qnnrt__table_get(one, kind, &a_count);
    const qnnrt_tensor_info *b = qnnrt__table_get(other, kind, &b_count);
    qnnrt_result result = qnnrt__compare_names(sides, noun, a, a_count, b, b_count, sizeof(*a));
    for (i = 0; i < a_count && result == QNNRT_OK; ++i) {
        qnnrt_tensor_info text = b[i];      /* what it cannot name is taken from the binary */
        if (text.vendor_format == QNNRT__ABI_UNKNOWN && a[i].vendor_format != 0)
            text.vendor_format = a[i].vendor_format;
        if (text.quant.vendor_encoding == QNNRT__ABI_UNKNOWN)
            text.quant.vendor_encoding = a[i].quant.vendor_encoding;
        if (a[i].id == text.id && a[i].vendor_type == text.vendor_type &&
            qnnrt__compare_order(&a[i], &text) == 0) continue;
        snprintf(what, sizeof(what), "%s \"%.200s\"", noun, a[i].name);
        qnnrt__compare_whole(&a[i], in_a, sizeof(in_a));
        qnnrt__compare_whole(&text, in_b, sizeof(in_b));
        qnnrt_text_append(in_b, sizeof(in_b), "%s",
                            qnnrt__compare_first(&a[i].quant, &text.quant, first, sizeof(first)));
        result = qnnrt__compare_differs(sides, what, in_a, in_b);
    }
    return result;
}

/* Compare two sources of one context. Not compared are sizes within blobs, whose units differ
   between releases of the tools, and struct versions. */
static qnnrt_result qnnrt__compare(qnnrt__table *table, const qnnrt_context_info *a,
                                   const qnnrt_context_info *b, const char *one, const char *other)
{
    const struct { const char *what; uint64_t a, b; } facts[] = {
        { "the backend id", a->backend_id, b->backend_id },
        { "the size of the context blob", a->blob_bytes, b->blob_bytes },
        { "the SoC model", a->soc_model, b->soc_model },
        { "the NPU generation", a->dsp_arch, b->dsp_arch }
    };
    qnnrt__compare_sides sides;
    char in_a[24], in_b[24];
    qnnrt_result result;
    size_t i;
    int kind;
    table->graph = NULL;
    sides.table = table;
    sides.one = one;
    sides.other = other;
    /* 0 and "" mean that a source does not state the fact. */
    if (a->build_id[0] != '\0' && b->build_id[0] != '\0' && strcmp(a->build_id, b->build_id) != 0)
        return qnnrt__compare_differs(&sides, "the build id", a->build_id, b->build_id);
    for (i = 0; i < sizeof(facts) / sizeof(facts[0]); ++i) {
        if (facts[i].a == 0 || facts[i].b == 0 || facts[i].a == facts[i].b) continue;
        snprintf(in_a, sizeof(in_a), "%llu", (unsigned long long)facts[i].a);
        snprintf(in_b, sizeof(in_b), "%llu", (unsigned long long)facts[i].b);
        return qnnrt__compare_differs(&sides, facts[i].what, in_a, in_b);
    }
    result = qnnrt__compare_names(&sides, "graph", a->graphs, a->graph_count, b->graphs,
                                  b->graph_count, sizeof(*a->graphs));
    for (i = 0; i < a->graph_count && result == QNNRT_OK; ++i) {
        table->graph = a->graphs[i].name;
        for (kind = 0; kind < QNNRT__TABLE_KINDS && result == QNNRT_OK; ++kind)
            result = qnnrt__compare_list(&sides, (qnnrt__table_kind)kind, &a->graphs[i],
                                         &b->graphs[i]);
    }
    table->graph = NULL;
    return result;
}
#endif

/* =====================================================================================
   HTP                                                                              >>htp
   What only the HTP backend has: its blobs in the metadata, the chip of a device, and what
   its emulator cannot do.
   Source: blob layouts measured from public headers (HTP API 5.30, 5.40) and read in files
   of five releases: graph blob = version 1 (40 bytes), then version 2 (72 bytes).
   Needs: >>abi     Knows nothing of: files, pipelines
   ===================================================================================== */

static uint32_t qnnrt__htp_u32(const unsigned char *at) { uint32_t v; memcpy(&v, at, 4); return v; }
static uint64_t qnnrt__htp_u64(const unsigned char *at) { uint64_t v; memcpy(&v, at, 8); return v; }

/* Read facts of a graph from its blob. Each part begins with its version; an unknown version ends
   the reading. */
static void qnnrt__htp_graph(const unsigned char *blob, uint32_t bytes, qnnrt_graph_info *graph)
{
    uint32_t at = 0;
    if (blob == NULL) return;
    if (bytes >= 40 && qnnrt__htp_u32(blob) == 1) {
        graph->spill_fill_bytes = qnnrt__htp_u64(blob + 8);
        graph->vtcm_bytes = qnnrt__htp_u32(blob + 16);
        graph->optimization_level = qnnrt__htp_u32(blob + 20);
        graph->dlbc = blob[24];
        graph->hvx_threads = (uint32_t)qnnrt__htp_u64(blob + 32);
        at = 40;
    }
    if (bytes >= at + 72 && qnnrt__htp_u32(blob + at) == 2) {
        graph->native_k_bytes = qnnrt__htp_u64(blob + at + 8);
        graph->native_v_bytes = qnnrt__htp_u64(blob + at + 16);
        graph->safe_share_io = qnnrt__htp_u32(blob + at + 24);
        graph->io_bytes = qnnrt__htp_u64(blob + at + 32);
        graph->op_data_bytes = qnnrt__htp_u64(blob + at + 40);
        graph->const_bytes = qnnrt__htp_u64(blob + at + 48);
        graph->ddr_bytes = qnnrt__htp_u64(blob + at + 56);
        graph->shared_weights_bytes = qnnrt__htp_u64(blob + at + 64);
    }
}

/* Return the NPU generation from the context's metadata: version 1, then the number. */
static uint32_t qnnrt__htp_arch(const unsigned char *metadata, uint32_t bytes)
{
    return metadata != NULL && bytes >= 8 && qnnrt__htp_u32(metadata) == 1
               ? qnnrt__htp_u32(metadata + 4)
               : 0;
}

/* Return the name of a graph that shares weights, or NULL. The emulator for x86-64 cannot load such
   a context: 2.47 to 2.49 return 0x3e8, 2.50 and 2.51 crash, so it is never called with one. */
static const char *qnnrt__htp_shares_weights(const qnnrt_context_info *context)
{
#if defined(__x86_64__) || defined(_M_X64)
    size_t i;
    if (context->backend_id != QNNRT__ABI_BACKEND_HTP) return NULL;
    for (i = 0; i < context->graph_count; ++i)
        if (context->graphs[i].shared_weights_bytes != 0) return context->graphs[i].name;
#endif
    (void)context;
    return NULL;
}

/* The device option that names a chip. Its payload moved from byte 4 to byte 8 with HTP API 5.47,
   and back with 5.49; a struct that has it in both places suits either layout. */
typedef struct qnnrt__htp_soc { uint32_t option, at_4, at_8, at_12; } qnnrt__htp_soc;

static void qnnrt__htp_soc_config(uint32_t soc_model, qnnrt__htp_soc *soc,
                                  qnnrt__abi_device_config *config)
{
    memset(soc, 0, sizeof(*soc));
    soc->at_4 = soc->at_8 = soc_model;
    memset(config, 0, sizeof(*config));
    config->custom = soc;
}

/* Return the spill-fill memory that a context needs: its graphs execute one after the other. */
static uint64_t qnnrt__htp_spill_fill(const qnnrt_context_info *context)
{
    uint64_t most = 0;
    size_t i;
    for (i = 0; i < context->graph_count; ++i)
        if (context->graphs[i].spill_fill_bytes > most) most = context->graphs[i].spill_fill_bytes;
    return most;
}

/* Estimate the memory that a context takes on the device. Sums that do not fit saturate. */
static uint64_t qnnrt__htp_device_bytes(const qnnrt_context_info *context)
{
    uint64_t sum = context->file_bytes, most = qnnrt__htp_spill_fill(context);
    size_t i;
    sum = most <= UINT64_MAX - sum ? sum + most : UINT64_MAX;
    for (i = 0; i < context->graph_count; ++i) {
        const qnnrt_graph_info *graph = &context->graphs[i];
        sum = graph->io_bytes <= UINT64_MAX - sum ? sum + graph->io_bytes : UINT64_MAX;
        sum = graph->ddr_bytes <= UINT64_MAX - sum ? sum + graph->ddr_bytes : UINT64_MAX;
    }
    return sum;
}

/* =====================================================================================
   POWER                                                                          >>power
   Votes for clocks and voltages of the NPU by a preset, through the HTP's infrastructure: one
   id for each backend, created by the first vote, destroyed at the end.
   Source of the presets: ONNX Runtime's QNN provider (corners, sleep latency, clocks),
   LiteRT ("sustained"), ExecuTorch (RPC latency and polling).
   Needs: >>log >>abi     Knows nothing of: contexts, what is executed
   ===================================================================================== */

typedef struct qnnrt__power {
    const qnnrt__abi_infrastructure *infrastructure;   /* NULL: there was no vote */
    uint32_t                         id;               /* a large number, never an index */
    int                              polling;          /* 1: a polling time is set */
} qnnrt__power;

enum { QNNRT__POWER_DCVS = 0, QNNRT__POWER_LATENCY, QNNRT__POWER_POLLING, QNNRT__POWER_SETTINGS };

static const char *const qnnrt__power_names[QNNRT__POWER_SETTINGS] =
    { "dcvs", "rpc_control_latency", "rpc_polling_time" };

/* Fill the vendor's config of one setting by a preset. 0: the preset does not ask for it. */
static int qnnrt__power_config(const qnnrt__power *p, qnnrt_power_preset preset, int setting,
                               qnnrt__abi_power_config *to)
{
    /* The corner is minimum, target and maximum of bus and core. */
    static const struct { uint32_t dcvs, sleep_latency_us, corner, polling_us; } presets[] = {
        { 0,    0,    0,    0 },
        { 0,   40, 0xA0, 9999 }, { 0,  100, 0x80, 9999 }, { 0,  100, 0x80, 9999 },
        { 1, 1000, 0x70,    0 }, { 1, 1000, 0x60,    0 },
        { 1, 1000, 0x50,    0 }, { 1, 1000, 0x40,    0 }, { 1, 1000, 0x30,    0 }
    };
    const int asked = preset != QNNRT_POWER_CUSTOM;
    qnnrt__abi_dcvs *dcvs = &to->u.dcvs;
    memset(to, 0, sizeof(*to));
    to->option = (uint32_t)(QNNRT__ABI_POWER_DCVS_V3 + setting);
    if (setting == QNNRT__POWER_LATENCY) to->u.us = asked ? 100 : 0;
    if (setting == QNNRT__POWER_POLLING) {
        to->u.us = presets[preset].polling_us;
        /* A preset that does not poll ends the polling of the one before; otherwise it sends
           nothing, because older NPUs do not know this setting. */
        return asked && (to->u.us != 0 || p->polling);
    }
    if (setting != QNNRT__POWER_DCVS) return asked;
    dcvs->id = p->id;
    dcvs->mode = QNNRT__ABI_POWER_PERFORMANCE;
    dcvs->set_dcvs = dcvs->set_sleep_latency = dcvs->set_bus = dcvs->set_core = (uint32_t)asked;
    dcvs->dcvs = presets[preset].dcvs;
    dcvs->sleep_latency_us = presets[preset].sleep_latency_us;
    dcvs->bus_min = dcvs->bus_target = dcvs->bus_max = presets[preset].corner;
    dcvs->core_min = dcvs->core_target = dcvs->core_max = presets[preset].corner;
    return asked;
}

/* Create the id, unless it exists, if the infrastructure has a layout that is known. Return the
   answer of the call whose name is then in *call. Callers hold the lock, here and below. */
static qnnrt__abi_code qnnrt__power_begin(qnnrt__power *p, const qnnrt__abi_provider *provider,
                                          const char **call)
{
    const qnnrt__abi_infrastructure *found = NULL;
    qnnrt__abi_code code;
    *call = "setPowerConfig";
    if (p->infrastructure != NULL ||
        (provider->backend_id != QNNRT__ABI_BACKEND_HTP &&
         provider->backend_id != QNNRT__ABI_BACKEND_HTP_QEMU &&
         provider->backend_id != QNNRT__ABI_BACKEND_REF) ||
        provider->calls.device_get_infrastructure == NULL) return 0;
    *call = "deviceGetInfrastructure";
    code = provider->calls.device_get_infrastructure(&found);
    if ((code & 0xFFFF) == QNNRT__ABI_NOT_SUPPORTED) return 0;
    if (code != 0 || found == NULL || found->type != QNNRT__ABI_INFRASTRUCTURE_PERF ||
        found->create_id == NULL || found->destroy_id == NULL || found->set == NULL) return code;
    *call = "createPowerConfigId";
    code = found->create_id(0, 0, &p->id);
    if (code != 0) return code;
    *call = "setPowerConfig";
    p->infrastructure = found;
    return 0;
}

/* Vote for one setting. Return the answer, or made, that to the id. Log what is not applied. */
static qnnrt__abi_code qnnrt__power_vote(qnnrt__power *p, const qnnrt__abi_power_config *config,
                                         qnnrt__abi_code made, const qnnrt_hooks *hooks)
{
    const qnnrt__abi_power_config *configs[2] = { NULL, NULL };
    configs[0] = config;
    if (p->infrastructure != NULL) made = p->infrastructure->set(p->id, configs);
    if (p->infrastructure == NULL || made != 0)
        qnnrt_log(hooks, QNNRT_LOG_WARN, "power", made, "%s: %s",
                  qnnrt__power_names[config->option - QNNRT__ABI_POWER_DCVS_V3],
                  made != 0 ? "refused" : "not available on this backend");
    else if (config->option == QNNRT__ABI_POWER_RPC_POLLING) p->polling = config->u.us != 0;
    return made;
}

/* Vote for each setting of a preset separately, so that each gets its own answer. */
static void qnnrt__power_set(qnnrt__power *p, const qnnrt__abi_provider *provider,
                             qnnrt_power_preset preset, const qnnrt_hooks *hooks)
{
    const char *call;
    const qnnrt__abi_code made =
        preset != QNNRT_POWER_CUSTOM ? qnnrt__power_begin(p, provider, &call) : 0;
    qnnrt__abi_power_config config;
    int i;
    for (i = 0; i < QNNRT__POWER_SETTINGS; ++i)
        if (qnnrt__power_config(p, preset, i, &config)) qnnrt__power_vote(p, &config, made, hooks);
}

/* Take the vote back. */
static qnnrt__abi_code qnnrt__power_release(qnnrt__power *p, const qnnrt_hooks *hooks)
{
    qnnrt__abi_power_config config;
    qnnrt__abi_code code = 0, last;
    if (p->infrastructure == NULL) return 0;
    qnnrt__power_config(p, QNNRT_POWER_CUSTOM, QNNRT__POWER_POLLING, &config);
    if (p->polling)
        code = qnnrt__power_vote(p, &config, 0, hooks);   /* it outlives the id */
    last = p->infrastructure->destroy_id(p->id);
    memset(p, 0, sizeof(*p));
    return code != 0 ? code : last;
}

/* =====================================================================================
   SYSTEM                                                                        >>system
   Metadata of a context binary from libQnnSystem.so, copied into the table.
   Needs: >>os >>mem >>err >>log >>codes >>abi >>library >>table >>htp
   Knows nothing of: backends, pipelines
   ===================================================================================== */

typedef struct qnnrt__system {
    void       *library;
    const qnnrt__abi_system_provider *provider;
    char        path[QNNRT__PATH_MAX];
} qnnrt__system;

static void qnnrt__system_close(qnnrt__system *system)
{
    if (system->library != NULL) qnnrt__os_library_close(system->library);
    system->library = NULL;
    system->provider = NULL;
}

#define QNNRT__SYSTEM_SYMBOL "QnnSystemInterface_getProviders"

/* Open a library if it has a system interface. */
static void *qnnrt__system_try(const char *path)
{
    const char *why;
    void *library = qnnrt__os_library_open(path, &why);
    if (library == NULL || qnnrt__os_library_symbol(library, QNNRT__SYSTEM_SYMBOL) != NULL)
        return library;
    qnnrt__os_library_close(library);
    return NULL;
}

/* When to use a backend's own system interface, such as that of libQnnRef.so: never (it knows
   neither .dlc nor logs), first, or only if no libQnnSystem.so lies beside it (the backend is not
   loaded, and may be large). */
enum { QNNRT__SYSTEM_OWN_NEVER, QNNRT__SYSTEM_OWN_FIRST, QNNRT__SYSTEM_OWN_SECOND };

/* Open the system library: that of `path`, or without one the backend's own or libQnnSystem.so,
   which is found by the rule of the manual. beside is the path of the backend, whose library is
   opened a second time, so that each of the two can be closed alone. */
static qnnrt_result qnnrt__system_open(const char *path, const char *beside, int own,
                                       const qnnrt_hooks *hooks, qnnrt__system *system,
                                       qnnrt_error *err)
{
    static const qnnrt__library_interface wanted = {
        QNNRT__SYSTEM_SYMBOL, "system interface", "this is not a libQnnSystem.so", "system",
        QNNRT__ABI_SYSTEM_MAJOR, QNNRT__ABI_SYSTEM_MINOR_MIN
    };
    const char *name = path != NULL ? path : "libQnnSystem.so";
    const qnnrt__abi_system_provider *p;
    const void *chosen = NULL;
    const int folder = path == NULL && beside != NULL && strchr(beside, '/') != NULL;
    qnnrt_result result = QNNRT_OK;
    memset(system, 0, sizeof(*system));
    if (name[0] == '\0')
        return QNNRT__FAIL(err, QNNRT_E_ARG, "the path of the system library is empty");
#if !QNNRT__CAN_CALL
    return QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED,
                       "QNN libraries need a 64-bit little-endian program");
#endif
    if (folder && own == QNNRT__SYSTEM_OWN_SECOND &&
        qnnrt__library_in(system->path, beside, name))
        system->library = qnnrt__system_try(system->path);
    if (folder && own != QNNRT__SYSTEM_OWN_NEVER && system->library == NULL)
        system->library = qnnrt__system_try(beside);
    if (system->library == NULL)
        result = qnnrt__library_find(name, path == NULL ? beside : NULL, system->path,
                                     &system->library, err);
    if (result == QNNRT_OK) {
        qnnrt__library_path(qnnrt__os_library_symbol(system->library, QNNRT__SYSTEM_SYMBOL), name,
                            system->path);
        qnnrt__hooks_lock(hooks);
        result = qnnrt__library_choose(system->library, system->path, &wanted, hooks, &chosen, err);
        qnnrt__hooks_unlock(hooks);
    }
    system->provider = p = (const qnnrt__abi_system_provider *)chosen;
    if (result == QNNRT_OK &&
        (p->calls.create == NULL || p->calls.get_info == NULL || p->calls.free == NULL))
        result = qnnrt__library_lacks(system->path, "systemContextCreate, GetBinaryInfo or Free",
                                      err);
    if (result != QNNRT_OK) {
        qnnrt__system_close(system);
        system->path[0] = '\0';
    }
    return result;
}

/* Copy one graph of the vendor's list. */
static qnnrt_result qnnrt__system_graph(qnnrt__table *table, const qnnrt__abi_graph_info *from,
                                        size_t index, int htp, qnnrt_graph_info *graph)
{
    qnnrt_result result;
    if (from->version < 1 || from->version > 3)
        return qnnrt__table_fail(table, QNNRT_E_FORMAT,
                                 "graph %u: information of version %u, expected 1 to 3",
                                 (unsigned)index, (unsigned)from->version);
    result = qnnrt__table_name(table, from->name, "graph", index, &graph->name);
    if (result != QNNRT_OK) return result;
    table->graph = graph->name;
    result = qnnrt__table_tensors(table, from->inputs, from->input_count, QNNRT__TABLE_INPUTS,
                                  graph);
    if (result == QNNRT_OK)
        result = qnnrt__table_tensors(table, from->outputs, from->output_count,
                                      QNNRT__TABLE_OUTPUTS, graph);
    if (result == QNNRT_OK && from->version >= 2)
        result = qnnrt__table_tensors(table, from->updateables, from->updateable_count,
                                      QNNRT__TABLE_UPDATEABLES, graph);
    if (result == QNNRT_OK) result = qnnrt__table_usable(table, graph, htp);
    if (result != QNNRT_OK) return result;
    if (from->version >= 3 && htp) qnnrt__htp_graph(from->blob, from->blob_bytes, graph);
    table->graph = NULL;
    return QNNRT_OK;
}

/* Copy the facts of the context, then its graphs. */
static qnnrt_result qnnrt__system_copy(qnnrt__table *table, const qnnrt__abi_info *info,
                                       qnnrt_context_info *context)
{
    const qnnrt__abi_info_v1 *v1 = &info->u.v1;      /* and version 2 */
    const qnnrt__abi_info_v3 *v3 = &info->u.v3;
    const int three = info->version == 3;
    const uint32_t count = three ? v3->graph_count : v1->graph_count;
    const qnnrt__abi_graph_info *graphs = three ? v3->graphs : v1->graphs;
    /* The first fields have the same offsets in all three structs. */
    const int htp = v1->backend_id == QNNRT__ABI_BACKEND_HTP;
    const char *build = v1->build_id != NULL ? v1->build_id : "";
    qnnrt_graph_info *copies;
    qnnrt_result result;
    uint32_t i;
    if (info->version < 1 || info->version > 3)
        return qnnrt__table_fail(table, QNNRT_E_FORMAT,
                                 "binary information of version %u, expected 1 to 3",
                                 (unsigned)info->version);
    context->backend_id = v1->backend_id;
    context->core_api = qnnrt__abi_public_version(v1->core);
    context->backend_api = qnnrt__abi_public_version(v1->backend);
    context->blob_version = qnnrt__abi_public_version(three ? v3->blob_version : v1->blob_version);
    context->blob_bytes = three ? v3->blob_bytes : v1->blob_bytes;
    context->context_tensor_count = three ? v3->context_tensor_count : v1->context_tensor_count;
    if (three) context->soc_model = v3->soc_model;
    if (three && htp) context->dsp_arch = qnnrt__htp_arch(v3->metadata, v3->metadata_bytes);
    context->build_id = qnnrt_arena_text(table->arena, build, strlen(build));
    if (count == 0) return qnnrt__table_fail(table, QNNRT_E_FORMAT, "it has no graphs");
    result = qnnrt__table_take(table, count);
    if (result != QNNRT_OK) return result;
    if (graphs == NULL)
        return qnnrt__table_fail(table, QNNRT_E_FORMAT,
                                 "%u graphs declared, but the list is missing", (unsigned)count);
    copies = (qnnrt_graph_info *)qnnrt__arena_alloc(table->arena, count, sizeof(*copies));
    if (copies == NULL || context->build_id == NULL)
        return qnnrt__fail_memory(table->err, "graphs");
    for (i = 0; i < count && result == QNNRT_OK; ++i)
        result = qnnrt__system_graph(table, &graphs[i], i, htp, &copies[i]);
    if (result == QNNRT_OK)
        result = qnnrt__table_names(table, copies, count, sizeof(*copies), "graph");
    if (result != QNNRT_OK) return result;
    context->graphs = copies;
    context->graph_count = count;
    return QNNRT_OK;
}

/* Return 1 if the slots after the first four are where >>abi declares them. */
static QNNRT__FOR_FRIENDS int qnnrt__system_is_whole(const qnnrt__system *system)
{
    const uint32_t minor = system->provider->version.minor;
    return minor >= QNNRT__ABI_SYSTEM_MINOR_WHOLE && minor != QNNRT__ABI_SYSTEM_MINOR_BROKEN;
}

/* Read the metadata of one binary. Everything is copied, so the vendor's handle is freed before the
   return. log_slot: where the library logs, -1: nowhere. */
static qnnrt_result qnnrt__system_read(const qnnrt__system *system, qnnrt__table *table,
                                       const unsigned char *binary, uint64_t bytes, int log_slot,
                                       qnnrt_context_info *context)
{
    qnnrt__abi_handle handle = NULL;
    const qnnrt__abi_info *info = NULL;
    uint64_t info_bytes = 0;
    qnnrt_result result;
    uint32_t mark = qnnrt__log_mark(log_slot);
    qnnrt__abi_code code = system->provider->calls.create(&handle);
    if (code != 0 || handle == NULL) {
        qnnrt__table_fail(table, QNNRT_E_BACKEND, "cannot read metadata through %s", system->path);
        return qnnrt__codes_explain(table->err, "systemContextCreate", code, log_slot, mark);
    }
    code = system->provider->calls.get_info(handle, binary, bytes, &info, &info_bytes);
    if (code != 0 || info == NULL) {
        qnnrt__table_fail(table, QNNRT_E_FORMAT, "%s cannot read its metadata", system->path);
        qnnrt__codes_explain(table->err,
                             code == 0 ? "systemContextGetBinaryInfo (without information)"
                                       : "systemContextGetBinaryInfo",
                             code, log_slot, mark);
        result = QNNRT_E_FORMAT;
    } else {
        result = qnnrt__system_copy(table, info, context);
    }
    code = system->provider->calls.free(handle);
    if (code != 0)
        qnnrt_log(&table->arena->hooks, QNNRT_LOG_WARN, "system", code,
                  "systemContextFree answered 0x%x; continuing", (unsigned)(code & 0xFFFF));
    return result;
}

#ifndef QNNRT_NO_JSON
/* =====================================================================================
   RECORDS                                                                        >>record
   Reads objects of a JSON text by tables: a row for each key says how its value is read and
   which member of a struct receives it. A record is {"version", "info": {...}} or flat: an
   object "info" counts as part of the record around it. Keys have any order; unknown keys are
   skipped, and a key that occurs twice is refused.
   Needs: >>mem >>err >>abi >>names >>table, and qnnrt_json.h
   Knows nothing of: what the members mean
   ===================================================================================== */

/* Callers check limits.json_bytes; counts of lists fit 32 bits. */
static const qnnrt_json_limits qnnrt__record_limits = { UINT32_MAX, 64 };

/* What is being read, for messages. */
typedef struct qnnrt__record_place {
    const char *kind;                 /* "graph", "input", or NULL */
    size_t      index;                /* its number */
    const char *name;                 /* its name, once that is read */
} qnnrt__record_place;

typedef struct qnnrt__record_reader {
    qnnrt_json_reader   r;
    qnnrt__table       *table;
    qnnrt_result        result;       /* the first failure */
    qnnrt__record_place place;
    int                 element;      /* 1: the next value is an element of a list, for messages */
    uint64_t            seen;         /* a bit for each row whose key the last object had */
    uint64_t            spare;        /* bytes that declared counts may still reserve */
    qnnrt_json_text     enum_text[QNNRT__NAMES_LISTS];    /* the last enumerator of each list; */
    uint32_t            enum_value[QNNRT__NAMES_LISTS];   /* the next one is often the same */
} qnnrt__record_reader;

/* A list while it is read. */
typedef struct qnnrt__record_list {
    void  *items;
    size_t count, room;
} qnnrt__record_list;

enum {
    QNNRT__IS_NEEDED   = 1,           /* the key must be there */
    QNNRT__IS_COUNTED  = 2,           /* a list; the row before it is a uint32_t, its count */
    QNNRT__MAY_BE_NULL = 4,           /* a list; null counts as an empty one */
    QNNRT__MAY_BE_NEW  = 8,           /* an enumerator; others than the known give ABI_UNKNOWN */
    QNNRT__IS_SHORT    = 16           /* a list; beyond limits.rank elements are only counted */
};

typedef struct qnnrt__record_row qnnrt__record_row;

/* Read the next value, that of a row, into the member at `to`. Return 0 after a failure. */
typedef int (*qnnrt__record_read)(qnnrt__record_reader *read, const qnnrt__record_row *row,
                                  void *to);

struct qnnrt__record_row {
    qnnrt_json_text          key;     /* rows are in the order of files, which is fastest */
    qnnrt__record_read       value;
    size_t                   at;      /* the member */
    unsigned                 flags, more;      /* more: list of an enumerator; bytes of an item */
    const qnnrt__record_row *rows;    /* of an object, or of the objects in a list */
    qnnrt__record_read       item;    /* of a list */
};

#define QNNRT__ROW_WITH(key, read, of, member, flags, more) \
    { QNNRT_JSON_TEXT(key), qnnrt__##read, offsetof(of, member), flags, more, NULL, NULL }
#define QNNRT__ROW(key, read, of, member) QNNRT__ROW_WITH(key, read, of, member, 0, 0)
#define QNNRT__ROW_NEEDED(key, read, of, member) \
    QNNRT__ROW_WITH(key, read, of, member, QNNRT__IS_NEEDED, 0)
#define QNNRT__ROW_ENUM(key, names, of, member, flags) \
    QNNRT__ROW_WITH(key, record_enum, of, member, flags, names)
#define QNNRT__ROW_OBJECT(key, read, rows, of, member) \
    { QNNRT_JSON_TEXT(key), qnnrt__##read, offsetof(of, member), 0, 0, rows, NULL }
#define QNNRT__ROW_LIST(key, item, type, rows, of, member, flags) \
    { QNNRT_JSON_TEXT(key), qnnrt__record_list_of, offsetof(of, member), flags, sizeof(type), \
      rows, qnnrt__##item }
#define QNNRT__ROW_SKIP(key) { QNNRT_JSON_TEXT(key), qnnrt__record_skip, 0, 0, 0, NULL, NULL }
#define QNNRT__ROW_END { { NULL, 0, 0 }, NULL, 0, 0, 0, NULL, NULL }

static int qnnrt__record_go_on(const qnnrt__record_reader *read)
{
    return read->result == QNNRT_OK && read->r.error == NULL;
}

/* Fill an error with place and byte; the first one stays, and one of the grammar. Return 0. */
static int qnnrt__record_fail(qnnrt__record_reader *read, qnnrt_result code, const char *format,
                              ...) QNNRT__PRINTF(3, 4);
static int qnnrt__record_fail(qnnrt__record_reader *read, qnnrt_result code, const char *format,
                              ...)
{
    qnnrt_error *err = read->table->err;
    const qnnrt__record_place *place = &read->place;
    va_list args;
    if (!qnnrt__record_go_on(read)) return 0;
    read->result = code;
    qnnrt__table_fail(read->table, code, "%s", "");
    if (place->kind != NULL && place->name == NULL)
        qnnrt_error_add(err, "%s %u: ", place->kind, (unsigned)place->index);
    else if (place->kind != NULL && place->name != read->table->graph)
        qnnrt_error_add(err, "%s \"%.200s\": ", place->kind, place->name);
    va_start(args, format);
    qnnrt__err_vadd(err, format, args);
    va_end(args);
    qnnrt_error_add(err, " (byte %llu)", (unsigned long long)(size_t)(read->r.at - read->r.begin));
    return 0;
}

/* Keep the first failure of the table. Return 1 if `result` is QNNRT_OK. */
static int qnnrt__record_result(qnnrt__record_reader *read, qnnrt_result result)
{
    if (read->result == QNNRT_OK) read->result = result;
    return result == QNNRT_OK;
}

/* Fail because the value that was just read is not what is expected. */
static int qnnrt__record_wrong(qnnrt__record_reader *read, const qnnrt__record_row *row,
                               const char *expected)
{
    static const char *const types[] = { "nothing", "null", "false", "true", NULL, NULL, "a list",
                                         "an object" };
    const qnnrt_json_type type = read->r.type;
    const size_t bytes = types[type] != NULL ? strlen(types[type]) : read->r.value.bytes;
    const char *text = types[type] != NULL ? types[type] : bytes > 0 ? read->r.value.text : "";
    const char *quote = type == QNNRT_JSON_STRING ? "\"" : "";
    return qnnrt__record_fail(read, QNNRT_E_FORMAT, "\"%s\" %s %s%.*s%s%s; expected %s",
                              row->key.text, read->element ? "contains" : "is", quote,
                              (int)(bytes < 40 ? bytes : 40), text, bytes > 40 ? "..." : "", quote,
                              expected);
}

/* ---- values ---- */

static int qnnrt__record_u64(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    return qnnrt_json_value_u64(&read->r, (uint64_t *)to) ||
           (qnnrt_json_value(&read->r) == QNNRT_JSON_NUMBER &&
            qnnrt_json_u64(&read->r.value, (uint64_t *)to)) ||
           qnnrt__record_wrong(read, row, "a whole number from 0 to 18446744073709551615");
}

static int qnnrt__record_u32(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    uint64_t value;
    const int whole = qnnrt_json_value_u64(&read->r, &value);
    if (!whole) qnnrt_json_value(&read->r);      /* for the message */
    if (!whole || value > UINT32_MAX)
        return qnnrt__record_wrong(read, row, "a whole number from 0 to 4294967295");
    *(uint32_t *)to = (uint32_t)value;
    return 1;
}

static int qnnrt__record_i32(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    int64_t value;
    if (qnnrt_json_value(&read->r) != QNNRT_JSON_NUMBER ||
        !qnnrt_json_i64(&read->r.value, &value) || value < INT32_MIN || value > INT32_MAX)
        return qnnrt__record_wrong(read, row, "a whole number of 32 bits");
    *(int32_t *)to = (int32_t)value;
    return 1;
}

/* Read a float; >>table checks whether it can be a scale. */
static int qnnrt__record_f32(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    return (qnnrt_json_value(&read->r) == QNNRT_JSON_NUMBER &&
            qnnrt_json_f32(&read->r.value, (float *)to)) ||
           qnnrt__record_wrong(read, row, "a number that a float32 can hold");
}

/* Read a text, a name, into the table's memory. */
static int qnnrt__record_text(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    qnnrt__table *table = read->table;
    const qnnrt_json_text *text = &read->r.value;
    const size_t most = table->limits->name_bytes;
    size_t bytes = SIZE_MAX;
    char *copy = NULL;
    if (qnnrt_json_value(&read->r) != QNNRT_JSON_STRING)
        return qnnrt__record_wrong(read, row, "text");
    /* An escape takes at most six bytes for one byte of text. */
    if ((text->escaped ? text->bytes / 6 : text->bytes) <= most) {
        copy = (char *)qnnrt__arena_alloc(table->arena, (uint64_t)text->bytes + 1, 1);
        if (copy == NULL)
            return qnnrt__record_result(read, qnnrt__fail_memory(table->err, "names"));
        bytes = qnnrt_json_copy(text, copy);
    }
    if (bytes > most)
        return qnnrt__record_fail(read, QNNRT_E_LIMIT, "\"%s\" is longer than %u bytes"
                                  " (limits.name_bytes)", row->key.text, (unsigned)most);
    if (strlen(copy) != bytes)
        return qnnrt__record_fail(read, QNNRT_E_FORMAT, "\"%s\" contains \\u0000; a name cannot",
                                  row->key.text);
    *(const char **)to = copy;
    return 1;
}

/* Read the name of an enumerator. */
static int qnnrt__record_enum(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    const qnnrt_json_text *text = &read->r.value;
    uint32_t *value = (uint32_t *)to;
    *value = read->enum_value[row->more];
    if (qnnrt_json_value_is(&read->r, &read->enum_text[row->more])) return 1;
    if (qnnrt_json_value(&read->r) == QNNRT_JSON_STRING && !text->escaped &&
        qnnrt__names_find((int)row->more, text->text, text->bytes, value)) {
        read->enum_text[row->more] = *text;
        read->enum_value[row->more] = *value;
        return 1;
    }
    *value = QNNRT__ABI_UNKNOWN;
    return (read->r.type == QNNRT_JSON_STRING && (row->flags & QNNRT__MAY_BE_NEW) != 0) ||
           qnnrt__record_wrong(read, row, "the name of an enumerator that is known");
}

/* Read a version, "2.34.0"; what follows the third number is ignored. */
static int qnnrt__record_version(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    qnnrt_version_info *version = (qnnrt_version_info *)to;
    uint32_t parts[3] = { 0, 0, 0 };
    const char *at;
    size_t i;
    if (qnnrt_json_value(&read->r) != QNNRT_JSON_STRING)
        return qnnrt__record_wrong(read, row, "text");
    at = read->r.value.text;             /* a quote follows it */
    for (i = 0; i < 3; ++i) {
        for (; *at >= '0' && *at <= '9' && parts[i] < 100000000; ++at)
            parts[i] = parts[i] * 10 + (uint32_t)(*at - '0');
        if (*at++ != '.') break;
    }
    version->major = parts[0]; version->minor = parts[1]; version->patch = parts[2];
    return 1;
}

static int qnnrt__record_skip(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    (void)row; (void)to;
    return qnnrt_json_skip(&read->r);
}

/* ---- objects and lists ---- */

/* Return the index of a key in a table, or -1. */
static int qnnrt__record_find(const qnnrt__record_row *rows, const qnnrt_json_text *key)
{
    int i;
    for (i = 0; rows[i].value != NULL; ++i)
        if (qnnrt_json_is(key, rows[i].key.text)) return i;
    return -1;
}

/* Fail because the object at `begin` has no such key. The keys that it has tell what it is. */
static int qnnrt__record_lacks(qnnrt__record_reader *read, const char *key,
                               const unsigned char *begin)
{
    qnnrt_json_reader r;
    char keys[240] = "";
    size_t count = 0;
    qnnrt_json_begin(&r, (const char *)begin, (size_t)(read->r.end - begin), NULL);
    qnnrt_json_value(&r);
    while (count < 8 && qnnrt_json_more(&r)) {
        const size_t bytes = r.key.bytes < 24 ? r.key.bytes : 24;
        if (qnnrt_json_is(&r.key, "info")) {
            qnnrt_json_value(&r);
            continue;
        }
        qnnrt_text_append(keys, sizeof(keys), "%s\"%.*s\"", count++ == 0 ? ", but " : ", ",
                            (int)bytes, bytes > 0 ? r.key.text : "");
        qnnrt_json_skip(&r);
    }
    return qnnrt__record_fail(read, QNNRT_E_FORMAT, "it has no \"%s\"%s", key, keys);
}

/* Check an object that was read: what is needed is there, and lists have their stated counts. */
static int qnnrt__record_check(qnnrt__record_reader *read, const qnnrt__record_row *rows,
                               const char *to, const unsigned char *begin)
{
    const uint64_t seen = read->seen;
    size_t i;
    for (i = 0; rows[i].value != NULL; ++i) {
        const qnnrt__record_list *list = (const qnnrt__record_list *)(to + rows[i].at);
        const uint32_t *stated;
        if ((seen >> i & 1) == 0 && (rows[i].flags & QNNRT__IS_NEEDED) != 0)
            return qnnrt__record_lacks(read, rows[i].key.text, begin);
        if ((rows[i].flags & QNNRT__IS_COUNTED) == 0 || (seen >> (i - 1) & 3) != 3) continue;
        stated = (const uint32_t *)(to + rows[i - 1].at);
        if (*stated != list->count)
            return qnnrt__record_fail(read, QNNRT_E_FORMAT, "\"%s\" is %u, but the list has %llu",
                                      rows[i - 1].key.text, (unsigned)*stated,
                                      (unsigned long long)list->count);
    }
    return 1;
}

/* Read an object by the table of its row into the struct at `to`. */
static int qnnrt__record_object(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    static const qnnrt__record_row info = QNNRT__ROW_SKIP("info");      /* for messages */
    const qnnrt__record_row *rows = row->rows;
    const unsigned char *begin = read->r.at;
    uint64_t seen = 0;
    size_t next = 0;      /* the row that probably follows: files keep one order */
    int within = 0, had_info = 0, more, at;
    if (qnnrt_json_value(&read->r) != QNNRT_JSON_OBJECT)
        return qnnrt__record_wrong(read, row, "an object");
    read->element = 0;
    while (qnnrt__record_go_on(read)) {
        more = qnnrt_json_more_as(&read->r, &rows[next].key);
        if (more == 0 && !within) break;
        if (more == 0) {
            within = 0;
            continue;
        }
        if (more == 1 && !within && qnnrt_json_is(&read->r.key, "info")) {
            if (had_info) return qnnrt__record_fail(read, QNNRT_E_FORMAT, "\"info\" occurs twice");
            if (qnnrt_json_value(&read->r) != QNNRT_JSON_OBJECT)
                return qnnrt__record_wrong(read, &info, "an object");
            within = had_info = 1;
            continue;
        }
        at = more == 2 ? (int)next : qnnrt__record_find(rows, &read->r.key);
        if (at < 0) {
            qnnrt_json_skip(&read->r);
            continue;
        }
        if ((seen >> at & 1) != 0)
            return qnnrt__record_fail(read, QNNRT_E_FORMAT, "\"%s\" occurs twice",
                                      rows[at].key.text);
        seen |= UINT64_C(1) << at;
        next = (size_t)at + 1;
        if (!rows[at].value(read, &rows[at], (char *)to + rows[at].at)) return 0;
    }
    read->seen = seen;
    return qnnrt__record_go_on(read) && qnnrt__record_check(read, rows, (const char *)to, begin);
}

/* Read a list; row->item reads each of its elements, which have row->more bytes. */
static int qnnrt__record_list_of(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    qnnrt__table *table = read->table;
    qnnrt__record_list *list = (qnnrt__record_list *)to;
    const qnnrt_json_type type = qnnrt_json_value(&read->r);
    const uint64_t room = (row->flags & QNNRT__IS_SHORT) != 0 ? table->limits->rank + UINT64_C(1)
                                                              : UINT64_MAX;
    uint64_t need = 0;
    if (type == QNNRT_JSON_NULL && (row->flags & QNNRT__MAY_BE_NULL) != 0) return 1;
    if (type != QNNRT_JSON_ARRAY) return qnnrt__record_wrong(read, row, "a list");
    if ((row->flags & QNNRT__IS_COUNTED) != 0) {
        /* All counts together reserve no more than the text could hold. */
        const uint64_t most = read->spare / row->more;
        need = *(const uint32_t *)((const char *)to - row->at + row[-1].at);
        if (need > most) need = most;
        read->spare -= need * row->more;
    }
    if (need == 0) need = 2;
    for (; qnnrt_json_more(&read->r); need = (uint64_t)++list->count + 1) {
        const size_t at = list->count < room ? list->count : (size_t)room - 1;
        list->items = qnnrt__arena_grow(table->arena, list->items, at, row->more,
                                        need < room ? need : room, &list->room);
        if (list->items == NULL)
            return qnnrt__record_result(read, qnnrt__fail_memory(table->err, "metadata"));
        read->element = 1;
        if (!row->item(read, row, (char *)list->items + at * row->more)) return 0;
    }
    read->element = 0;
    return read->r.error == NULL;
}

/* =====================================================================================
   READ JSON                                                                   >>read_json
   Metadata of a context binary from the text that qnn-context-binary-utility writes, into
   the table: one pass, nothing in between.
   Source: genuine files of two releases, and the keys and schemas that the tools contain.
   Needs: >>abi >>names >>table >>record, and qnnrt_json.h
   Knows nothing of: files, libraries, other sources of metadata
   ===================================================================================== */

/* ---- encodings ---- */

/* "quantizeParams" while it is read. */
typedef struct qnnrt__read_quant {
    qnnrt__abi_quantize abi;
    qnnrt__record_list  pairs, scales, offsets;      /* of an axis */
} qnnrt__read_quant;

static const qnnrt__record_row qnnrt__read_scale_offset[] = {
    QNNRT__ROW_NEEDED("scale", record_f32, qnnrt__abi_scale_offset, scale),
    QNNRT__ROW_NEEDED("offset", record_i32, qnnrt__abi_scale_offset, offset),
    QNNRT__ROW_END
};
static const qnnrt__record_row qnnrt__read_axis[] = {
    QNNRT__ROW_NEEDED("axis", record_i32, qnnrt__read_quant, abi.u.axis.axis),
    QNNRT__ROW("numScaleOffsets", record_u32, qnnrt__read_quant, abi.u.axis.count),
    QNNRT__ROW_LIST("scaleOffsets", record_object, qnnrt__abi_scale_offset,
                    qnnrt__read_scale_offset, qnnrt__read_quant, pairs,
                    QNNRT__IS_NEEDED | QNNRT__IS_COUNTED),
    QNNRT__ROW_END
};
static const qnnrt__record_row qnnrt__read_bw[] = {
    QNNRT__ROW_NEEDED("bitwidth", record_u32, qnnrt__read_quant, abi.u.bw.bitwidth),
    QNNRT__ROW_NEEDED("scale", record_f32, qnnrt__read_quant, abi.u.bw.scale),
    QNNRT__ROW_NEEDED("offset", record_i32, qnnrt__read_quant, abi.u.bw.offset),
    QNNRT__ROW_END
};
static const qnnrt__record_row qnnrt__read_bw_axis[] = {
    QNNRT__ROW_NEEDED("bitwidth", record_u32, qnnrt__read_quant, abi.u.bw_axis.bitwidth),
    QNNRT__ROW_NEEDED("axis", record_i32, qnnrt__read_quant, abi.u.bw_axis.axis),
    QNNRT__ROW("numElements", record_u32, qnnrt__read_quant, abi.u.bw_axis.count),
    QNNRT__ROW_LIST("scales", record_f32, float, NULL, qnnrt__read_quant, scales,
                    QNNRT__IS_NEEDED | QNNRT__IS_COUNTED),
    QNNRT__ROW_LIST("offsets", record_i32, int32_t, NULL, qnnrt__read_quant, offsets,
                    QNNRT__MAY_BE_NULL),
    QNNRT__ROW_END
};

enum { QNNRT__READ_OBJECTS = 2 };      /* the row of the first encoding's object */
static const qnnrt__record_row qnnrt__read_quant_rows[] = {
    QNNRT__ROW_ENUM("definition", QNNRT__NAMES_DEFINITION, qnnrt__read_quant, abi.definition,
                    QNNRT__IS_NEEDED),
    QNNRT__ROW_ENUM("quantizationEncoding", QNNRT_VENDOR_ENCODING, qnnrt__read_quant, abi.encoding,
                    QNNRT__IS_NEEDED | QNNRT__MAY_BE_NEW),
    /* in the order of the vendor's numbers */
    QNNRT__ROW_OBJECT("scaleOffset", record_object, qnnrt__read_scale_offset, qnnrt__read_quant,
                      abi.u.scale_offset),
    QNNRT__ROW_OBJECT("axisScaleOffset", record_object, qnnrt__read_axis, qnnrt__read_quant, abi),
    QNNRT__ROW_OBJECT("bwScaleOffset", record_object, qnnrt__read_bw, qnnrt__read_quant, abi),
    QNNRT__ROW_OBJECT("bwAxisScaleOffset", record_object, qnnrt__read_bw_axis, qnnrt__read_quant,
                      abi),
    QNNRT__ROW_END
};

/* Return the name of an encoding, for messages. */
static const char *qnnrt__read_encoding_name(uint32_t encoding)
{
    const char *name = qnnrt_vendor_name(QNNRT_VENDOR_ENCODING, encoding);
    return encoding == QNNRT__ABI_UNDEFINED ? "none" : name != NULL ? name : "an unknown one";
}

/* Read "quantizeParams". The encoding's object may precede its name; the two must agree. */
static int qnnrt__read_quantize(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    qnnrt__abi_quantize *out = (qnnrt__abi_quantize *)to;
    qnnrt__read_quant q;
    uint32_t found = QNNRT__ABI_UNDEFINED, i;
    memset(&q, 0, sizeof(q));
    if (!qnnrt__record_object(read, row, &q)) return 0;
    for (i = QNNRT__ABI_SCALE_OFFSET; i <= QNNRT__ABI_BW_AXIS_SCALE_OFFSET; ++i) {
        if ((read->seen >> (QNNRT__READ_OBJECTS + i) & 1) == 0) continue;
        if (found != QNNRT__ABI_UNDEFINED)
            return qnnrt__record_fail(read, QNNRT_E_FORMAT, "\"%s\" has two encodings",
                                      row->key.text);
        found = i;
    }
    if (q.abi.definition != QNNRT__ABI_DEFINED) return 1;
    if (q.abi.encoding != found && (found != QNNRT__ABI_UNDEFINED ||
                                    q.abi.encoding <= QNNRT__ABI_BW_AXIS_SCALE_OFFSET))
        return qnnrt__record_fail(read, QNNRT_E_FORMAT, "\"%s\" names %s but contains %s",
                                  row->key.text, qnnrt__read_encoding_name(q.abi.encoding),
                                  qnnrt__read_encoding_name(found));
    if (q.offsets.count != q.scales.count && q.offsets.count != 0)
        return qnnrt__record_fail(read, QNNRT_E_FORMAT, "\"%s\" has %llu scales and %llu offsets",
                                  row->key.text, (unsigned long long)q.scales.count,
                                  (unsigned long long)q.offsets.count);
    if (found == QNNRT__ABI_AXIS_SCALE_OFFSET) {
        q.abi.u.axis.count = (uint32_t)q.pairs.count;
        q.abi.u.axis.pairs = (const qnnrt__abi_scale_offset *)q.pairs.items;
    } else if (found == QNNRT__ABI_BW_AXIS_SCALE_OFFSET) {
        q.abi.u.bw_axis.count = (uint32_t)q.scales.count;
        q.abi.u.bw_axis.scales = (const float *)q.scales.items;
        q.abi.u.bw_axis.offsets = (const int32_t *)q.offsets.items;
    }
    *out = q.abi;
    return 1;
}

/* ---- tensors ---- */

typedef struct qnnrt__read_graph {
    qnnrt_graph_info   info;
    uint32_t           stated[QNNRT__TABLE_KINDS];
    qnnrt__record_list lists[QNNRT__TABLE_KINDS];      /* of qnnrt_tensor_info */
} qnnrt__read_graph;

/* Return the list that a row of a graph is for. */
static qnnrt__table_kind qnnrt__read_kind_of(const qnnrt__record_row *row)
{
    return (qnnrt__table_kind)((row->at - offsetof(qnnrt__read_graph, lists)) /
                               sizeof(qnnrt__record_list));
}

typedef struct qnnrt__read_tensor {
    qnnrt__abi_tensor  abi;
    qnnrt__record_list dims, dynamic;
} qnnrt__read_tensor;

/* Read the name of a tensor, which messages then use. */
static int qnnrt__read_name(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    if (!qnnrt__record_text(read, row, to)) return 0;
    read->place.name = *(const char **)to;
    return 1;
}

/* Read the version of a tensor, "QNN_TENSOR_VERSION_2". */
static int qnnrt__read_version(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    const qnnrt_json_text *text = &read->r.value;
    if (qnnrt_json_value(&read->r) != QNNRT_JSON_STRING)
        return qnnrt__record_wrong(read, row, "text");
    *(uint32_t *)to = text->bytes > 0 && text->text[text->bytes - 1] == '2' ? 2 : 1;
    return 1;
}

/* Read a flag: true, false, 1 or 0. */
static int qnnrt__read_flag(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    uint64_t flag;
    if (!qnnrt_json_value_u64(&read->r, &flag)) {
        const qnnrt_json_type type = qnnrt_json_value(&read->r);
        flag = type == QNNRT_JSON_TRUE ? 1 : type == QNNRT_JSON_FALSE ? 0 : 2;
    }
    if (flag > 1) return qnnrt__record_wrong(read, row, "true or false for each dimension");
    *(uint8_t *)to = (uint8_t)flag;
    return 1;
}

static const qnnrt__record_row qnnrt__read_tensor_rows[] = {
    QNNRT__ROW("version", read_version, qnnrt__read_tensor, abi.version),
    QNNRT__ROW_NEEDED("id", record_u32, qnnrt__read_tensor, abi.body.id),
    QNNRT__ROW_NEEDED("name", read_name, qnnrt__read_tensor, abi.body.name),
    QNNRT__ROW_ENUM("type", QNNRT_VENDOR_TENSOR_TYPE, qnnrt__read_tensor, abi.body.type,
                    QNNRT__MAY_BE_NEW),
    QNNRT__ROW_ENUM("dataFormat", QNNRT_VENDOR_FORMAT, qnnrt__read_tensor, abi.body.format,
                    QNNRT__MAY_BE_NEW),
    QNNRT__ROW_ENUM("dataType", QNNRT_VENDOR_DTYPE, qnnrt__read_tensor, abi.body.dtype,
                    QNNRT__IS_NEEDED),
    QNNRT__ROW("rank", record_u32, qnnrt__read_tensor, abi.body.rank),
    QNNRT__ROW_LIST("dimensions", record_u32, uint32_t, NULL, qnnrt__read_tensor, dims,
                    QNNRT__IS_NEEDED | QNNRT__IS_COUNTED | QNNRT__IS_SHORT),
    QNNRT__ROW_SKIP("memType"),
    QNNRT__ROW_OBJECT("quantizeParams", read_quantize, qnnrt__read_quant_rows, qnnrt__read_tensor,
                      abi.body.quantize),
    QNNRT__ROW_LIST("isDynamicDimensions", read_flag, uint8_t, NULL, qnnrt__read_tensor,
                    dynamic, QNNRT__MAY_BE_NULL | QNNRT__IS_SHORT),
    QNNRT__ROW_END
};

/* Read one tensor of the list that is read into the table. */
static int qnnrt__read_one(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    static const uint32_t types[QNNRT__TABLE_KINDS] = { QNNRT__ABI_APP_WRITE, QNNRT__ABI_APP_READ,
                                                        QNNRT__ABI_UPDATEABLE_STATIC };
    const qnnrt__table_kind kind = qnnrt__read_kind_of(row);
    qnnrt__read_tensor t;
    qnnrt__abi_tensor_body *body = &t.abi.body;
    memset(&t, 0, sizeof(t));
    t.abi.version = 1;
    body->type = types[kind];
    if (!qnnrt__record_object(read, row, &t)) return 0;
    if (body->type == QNNRT__ABI_UNKNOWN) body->type = types[kind];      /* newer than the writer */
    if (t.dynamic.count != 0 && t.dynamic.count != t.dims.count)
        return qnnrt__record_fail(read, QNNRT_E_FORMAT,
                                  "\"isDynamicDimensions\" has %llu elements for %llu dimensions",
                                  (unsigned long long)t.dynamic.count,
                                  (unsigned long long)t.dims.count);
    if (kind != QNNRT__TABLE_UPDATEABLES && body->type == types[1 - kind])
        return qnnrt__record_fail(read, QNNRT_E_FORMAT,
                                  "it is in the list of %ss, but its type is QNN_TENSOR_TYPE_%s",
                                  read->place.kind,
                                  qnnrt_vendor_name(QNNRT_VENDOR_TENSOR_TYPE, body->type));
    body->rank = (uint32_t)t.dims.count;
    body->dims = (const uint32_t *)t.dims.items;
    if (t.dynamic.count != 0) t.abi.version = 2;
    body->dynamic_dims = (const uint8_t *)t.dynamic.items;
    if (!qnnrt__record_result(read, qnnrt__table_take(read->table, 1)) ||
        !qnnrt__record_result(read, qnnrt__table_tensor(read->table, &t.abi, kind,
                                                        read->place.index,
                                                        (qnnrt_tensor_info *)to)))
        return 0;
    read->place.name = NULL;
    read->place.index += 1;
    return 1;
}

/* ---- graphs ---- */

static int qnnrt__read_graph_name(qnnrt__record_reader *read, const qnnrt__record_row *row,
                                  void *to)
{
    const char **name = (const char **)to;
    if (!qnnrt__record_text(read, row, to) ||
        !qnnrt__record_result(read, qnnrt__table_name(read->table, *name, "graph",
                                                      read->place.index, name)))
        return 0;
    read->place.name = read->table->graph = *name;
    return 1;
}

/* Read one of the lists of tensors. */
static int qnnrt__read_tensors(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    const qnnrt__record_place place = read->place;
    int good;
    read->place.kind = qnnrt__table_noun(qnnrt__read_kind_of(row));
    read->place.index = 0;
    read->place.name = NULL;
    good = qnnrt__record_list_of(read, row, to);
    read->place = place;
    return good;
}

/* Read a size of VTCM. The tool prints MiB; 65,536 or more are bytes, as in the binary. */
static int qnnrt__read_vtcm(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    uint64_t *bytes = (uint64_t *)to;
    if (!qnnrt__record_u64(read, row, to)) return 0;
    if (*bytes < 65536) *bytes <<= 20;
    return 1;
}

#define QNNRT__READ_BLOB(key, read, member) QNNRT__ROW(key, read, qnnrt_graph_info, member)
static const qnnrt__record_row qnnrt__read_blob[] = {
    QNNRT__READ_BLOB("spillFillBufferSize", record_u64, spill_fill_bytes),
    QNNRT__READ_BLOB("optimizationLevel", record_u32, optimization_level),
    QNNRT__READ_BLOB("vtcmSize", read_vtcm, vtcm_bytes),
    QNNRT__READ_BLOB("htpDlbc", record_u32, dlbc),
    QNNRT__READ_BLOB("numHvxThreads", record_u32, hvx_threads),
    QNNRT__READ_BLOB("nativeKChannelSize", record_u64, native_k_bytes),
    QNNRT__READ_BLOB("nativeVChannelSize", record_u64, native_v_bytes),
    QNNRT__READ_BLOB("isSafeShareIO", record_u32, safe_share_io),
    QNNRT__READ_BLOB("ioTensorSize", record_u64, io_bytes),
    QNNRT__READ_BLOB("opDataSize", record_u64, op_data_bytes),
    QNNRT__READ_BLOB("constSize", record_u64, const_bytes),
    QNNRT__READ_BLOB("ddrTensorSize", record_u64, ddr_bytes),
    QNNRT__READ_BLOB("sharedWeightsSize", record_u64, shared_weights_bytes),
    QNNRT__ROW_END
};

#define QNNRT__READ_LIST(count_key, key, kind, flags) \
    QNNRT__ROW(count_key, record_u32, qnnrt__read_graph, stated[kind]), \
    { QNNRT_JSON_TEXT(key), qnnrt__read_tensors, offsetof(qnnrt__read_graph, lists[kind]), \
      (flags) | QNNRT__IS_COUNTED, sizeof(qnnrt_tensor_info), qnnrt__read_tensor_rows, \
      qnnrt__read_one }
static const qnnrt__record_row qnnrt__read_graph_rows[] = {
    QNNRT__ROW_NEEDED("graphName", read_graph_name, qnnrt__read_graph, info.name),
    QNNRT__READ_LIST("numGraphInputs", "graphInputs", QNNRT__TABLE_INPUTS, QNNRT__IS_NEEDED),
    QNNRT__READ_LIST("numGraphOutputs", "graphOutputs", QNNRT__TABLE_OUTPUTS, QNNRT__IS_NEEDED),
    QNNRT__READ_LIST("numUpdateableTensors", "updateableTensors", QNNRT__TABLE_UPDATEABLES, 0),
    QNNRT__ROW_OBJECT("graphBlobInfo", record_object, qnnrt__read_blob, qnnrt__read_graph, info),
    QNNRT__ROW_OBJECT("graphBlobInfoV2", record_object, qnnrt__read_blob, qnnrt__read_graph, info),
    QNNRT__ROW_END
};

static int qnnrt__read_graph_item(qnnrt__record_reader *read, const qnnrt__record_row *row,
                                  void *to)
{
    qnnrt__read_graph graph;
    int kind;
    memset(&graph, 0, sizeof(graph));
    read->place.kind = "graph";
    read->place.name = NULL;
    if (!qnnrt__record_result(read, qnnrt__table_take(read->table, 1))) return 0;
    if (!qnnrt__record_object(read, row, &graph)) return 0;
    for (kind = 0; kind < QNNRT__TABLE_KINDS; ++kind)
        if (!qnnrt__record_result(read, qnnrt__table_close(read->table, (qnnrt__table_kind)kind,
                                                           (qnnrt_tensor_info *)
                                                               graph.lists[kind].items,
                                                           graph.lists[kind].count, &graph.info)))
            return 0;
    *(qnnrt_graph_info *)to = graph.info;
    read->table->graph = read->place.kind = NULL;
    read->place.index += 1;
    return 1;
}

/* ---- the document ---- */

typedef struct qnnrt__read_context {
    qnnrt_context_info info;
    uint32_t           graph_count;
    qnnrt__record_list tensors, graphs;
} qnnrt__read_context;

/* Check the header's kind of document. */
static int qnnrt__read_artifact(qnnrt__record_reader *read, const qnnrt__record_row *row, void *to)
{
    const qnnrt_json_text *text = &read->r.value;
    (void)to;
    if (qnnrt_json_value(&read->r) == QNNRT_JSON_STRING &&
        (qnnrt_json_is(text, "CONTEXT_BINARY_INFO") ||
         qnnrt_json_is(text, "CONTEXT_BINARY_INFO_UNIFIED"))) return 1;
    return qnnrt__record_wrong(read, row, "CONTEXT_BINARY_INFO");
}

static const qnnrt__record_row qnnrt__read_header[] = {
    QNNRT__ROW("artifact_type", read_artifact, qnnrt__read_context, info),
    QNNRT__ROW_END
};
static const qnnrt__record_row qnnrt__read_metadata[] = {
    QNNRT__ROW("dspArch", record_u32, qnnrt_context_info, dsp_arch), QNNRT__ROW_END
};

#define QNNRT__READ_FACT(key, read, member) \
    QNNRT__ROW(key, read, qnnrt__read_context, info.member)
static const qnnrt__record_row qnnrt__read_context_rows[] = {
    QNNRT__ROW_OBJECT("header", record_object, qnnrt__read_header, qnnrt__read_context, info),
    QNNRT__READ_FACT("backendId", record_u32, backend_id),
    QNNRT__READ_FACT("buildId", record_text, build_id),
    QNNRT__READ_FACT("coreApiVersion", record_version, core_api),
    QNNRT__READ_FACT("backendApiVersion", record_version, backend_api),
    QNNRT__ROW_SKIP("socVersion"),
    QNNRT__READ_FACT("contextBlobVersion", record_version, blob_version),
    QNNRT__READ_FACT("contextBlobSize", record_u64, blob_bytes),
    QNNRT__READ_FACT("numContextTensors", record_u32, context_tensor_count),
    QNNRT__ROW_LIST("contextTensors", record_skip, char, NULL, qnnrt__read_context, tensors,
                    QNNRT__IS_COUNTED),
    QNNRT__ROW("numGraphs", record_u32, qnnrt__read_context, graph_count),
    QNNRT__ROW_LIST("graphs", read_graph_item, qnnrt_graph_info, qnnrt__read_graph_rows,
                    qnnrt__read_context,
                    graphs, QNNRT__IS_NEEDED | QNNRT__IS_COUNTED),
    QNNRT__ROW_OBJECT("contextMetadata", record_object, qnnrt__read_metadata, qnnrt__read_context,
                      info),
    QNNRT__READ_FACT("socModel", record_u32, soc_model),
    QNNRT__ROW_END
};

/* Read metadata. Everything is copied from text. */
static qnnrt_result qnnrt__read_json(qnnrt__table *table, const char *text, size_t bytes,
                                     qnnrt_context_info *context)
{
    static const qnnrt__record_row whole =
        QNNRT__ROW_OBJECT("the text", record_object, qnnrt__read_context_rows, qnnrt__read_context,
                          info);
    qnnrt__record_reader read;
    const uint64_t chunk = table->arena->chunk;
    qnnrt__read_context doc;
    qnnrt_graph_info *graphs;
    size_t i;
    memset(&read, 0, sizeof(read));
    memset(&doc, 0, sizeof(doc));
    read.table = table;
    read.spare = bytes / 2;
    table->kept = 1;
    doc.info = *context;
    doc.info.build_id = "";
    /* A table takes about a fifth of the text that it is read from: one allocation. */
    table->arena->chunk = (uint64_t)bytes / 4 + 256;
    qnnrt_json_begin(&read.r, text, bytes, &qnnrt__record_limits);
    if (qnnrt__record_object(&read, &whole, &doc) && doc.graphs.count == 0)
        qnnrt__record_fail(&read, QNNRT_E_FORMAT, "it has no graphs");
    table->arena->chunk = chunk;
    if (read.result == QNNRT_OK) qnnrt_json_end(&read.r);
    table->graph = NULL;
    if (read.result == QNNRT_OK && read.r.error != NULL)
        return qnnrt__table_fail(table, QNNRT_E_FORMAT, "byte %llu: %s",
                                 (unsigned long long)read.r.error_at, read.r.error);
    if (read.result != QNNRT_OK) return read.result;
    graphs = (qnnrt_graph_info *)doc.graphs.items;
    doc.info.graphs = graphs;
    doc.info.graph_count = doc.graphs.count;
    *context = doc.info;
    /* The number of the backend may come after the graphs. */
    for (i = 0; i < doc.graphs.count; ++i)
        if (qnnrt__table_usable(table, &graphs[i],
                                doc.info.backend_id == QNNRT__ABI_BACKEND_HTP) != QNNRT_OK)
            return QNNRT_E_MEMORY;
    return qnnrt__table_names(table, graphs, doc.graphs.count, sizeof(*graphs), "graph");
}
#endif /* QNNRT_NO_JSON */

/* =====================================================================================
   FRIENDS                                                                      >>friends
   What optional headers add to backends, to models, to runs and to the creation of contexts:
   hooks, each in a struct of the header that owns it. A function of a run's that is NULL is not
   called.
   Needs: >>abi     Knows nothing of: what hooks do, pipelines, files
   ===================================================================================== */

/* A hook of a backend, in one of its lists. */
typedef struct qnnrt__backend_hook {
    struct qnnrt__backend_hook *next;
    void  *of;                          /* the model, the run, or what the header keeps */
    void (*call)(void *of);             /* see the lists in struct qnnrt_backend */
} qnnrt__backend_hook;

/* What a header keeps with a model that it made. It is told when the contexts were freed. */
typedef struct qnnrt__model_hook {
    qnnrt_result (*freed)(struct qnnrt__model_hook *hook, qnnrt *model);
} qnnrt__model_hook;

/* A hook of a run. Its exec then takes the slow path, and calls the hook: */
typedef struct qnnrt__run_hook {
    struct qnnrt__run_hook *next;
    /* before a step, whose execute gets the profile; a failure, with the run's error, ends exec */
    qnnrt_result (*before)(struct qnnrt__run_hook *hook, size_t step, qnnrt__abi_handle *profile);
    /* after a step that did not fail; a failure as above */
    qnnrt_result (*after)(struct qnnrt__run_hook *hook, size_t step);
    /* after all steps, or the one that failed */
    void (*end)(struct qnnrt__run_hook *hook, qnnrt_result result);
    /* when the backends of the run are about to be lost to a recovery. It may remove itself */
    void (*lost)(struct qnnrt__run_hook *hook, qnnrt_run *run);
    /* when the run is destroyed, before its contexts are freed */
    void (*destroyed)(struct qnnrt__run_hook *hook);
} qnnrt__run_hook;

/* What the library is about to create, or has created: a context, or a graph of a builder. */
typedef struct qnnrt__creation {
    qnnrt_backend     *backend;
    size_t             context;         /* its index in the model */
    int                renewed;         /* 1: the context existed before */
    qnnrt__abi_handle  profile;         /* that the library gets; a hook may set it */
    const void       **configs;         /* of a context, too; ends with NULL */
    int                created;         /* for after(): the library did it */
} qnnrt__creation;

/* A hook of the creation of contexts. Callers hold the lock of the backend. after() of all hooks
   follows before(), whatever the results. */
struct qnnrt_context_hook {
    qnnrt_context_hook *next;
    qnnrt_result (*before)(qnnrt_context_hook *hook, qnnrt__creation *creation, qnnrt_error *err);
    qnnrt_result (*after)(qnnrt_context_hook *hook, const qnnrt__creation *creation,
                          qnnrt_error *err);
};

/* Prepare for a creation. */
static qnnrt_result qnnrt__friends_before(qnnrt_context_hook *hook, qnnrt__creation *creation,
                                          qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    for (; hook != NULL && result == QNNRT_OK; hook = hook->next)
        result = hook->before(hook, creation, err);
    return result;
}

/* End a creation, whose result so far is given. Return the first failure. */
static qnnrt_result qnnrt__friends_after(qnnrt_context_hook *hook, const qnnrt__creation *creation,
                                         qnnrt_result result, qnnrt_error *err)
{
    for (; hook != NULL; hook = hook->next) {
        const qnnrt_result ended = hook->after(hook, creation, result == QNNRT_OK ? err : NULL);
        if (result == QNNRT_OK) result = ended;
    }
    return result;
}

/* =====================================================================================
   BACKEND                                                                      >>backend
   A vendor library in use: it is found and loaded and its provider chosen; log, backend and
   device are created in this order and freed in reverse.
   Needs: >>os >>mem >>err >>log >>codes >>abi >>library >>htp >>power >>friends
   Knows nothing of: files, graphs
   ===================================================================================== */

struct qnnrt_backend {
    qnnrt_hooks                 hooks;
    void                       *library;
    int                         unload;
    const qnnrt__abi_provider  *provider;
    const qnnrt__abi_calls     *calls;
    int                         log_slot;          /* -1: none */
    qnnrt__log_book             log_book;          /* of this slot */
    uint32_t                    mark;              /* first log line of the current cold call */
    qnnrt__abi_handle           log, backend, device;
    qnnrt__power                power;
    qnnrt_power_preset          preset;            /* of desc.power */
    uint32_t                    users;             /* number of models and builders */
    uint32_t                    soc_model;         /* as asked for */
    uint32_t                    dsp_arch;          /* of the context loaded last, 0: not stated */
    uint32_t                    dsp_arch_users;    /* contexts that exist and state one */
    int                         renewed;           /* a recovery created them again, or failed */
    int                         lists_lock;        /* of the next three */
    qnnrt__backend_hook        *models;            /* oldest first, also the runs; no call */
    qnnrt__backend_hook        *runs;              /* called by a recovery: their graphs are gone */
    qnnrt__backend_hook        *kept;              /* of optional headers; called when it is closed:
                                                      they free themselves */
    qnnrt_backend_info          info;
    char                        path[QNNRT__PATH_MAX];
    char                        provider_name[64];
    char                        build_id[128];
};


/* Enter a hook at the end of a list of a backend, with 0 before its first; with -1 remove it. */
static void qnnrt__backend_list(qnnrt_backend *b, qnnrt__backend_hook **at,
                                qnnrt__backend_hook *hook, int by)
{
    qnnrt__os_lock(&b->lists_lock);
    while (by != 0 && *at != (by > 0 ? NULL : hook)) at = &(*at)->next;
    if (by >= 0) hook->next = *at;
    *at = by >= 0 ? hook : hook->next;
    qnnrt__os_unlock(&b->lists_lock);
}

/* Check hooks of the caller. */
static qnnrt_result qnnrt__backend_hooks(const qnnrt_hooks *hooks, qnnrt_error *err)
{
    if ((hooks->alloc == NULL) != (hooks->free == NULL))
        return QNNRT__FAIL(err, QNNRT_E_ARG, "hooks.alloc and hooks.free: set both or neither");
    if ((hooks->lock == NULL) != (hooks->unlock == NULL))
        return QNNRT__FAIL(err, QNNRT_E_ARG, "hooks.lock and hooks.unlock: set both or neither");
    return QNNRT_OK;
}

/* Return the name of a required slot that is NULL, or NULL. */
static const char *qnnrt__backend_lacks(const qnnrt__abi_calls *calls)
{
    if (calls->backend_create == NULL) return "backendCreate";
    if (calls->backend_free == NULL) return "backendFree";
    if (calls->context_create_from_binary == NULL) return "contextCreateFromBinary";
    if (calls->context_free == NULL) return "contextFree";
    if (calls->graph_retrieve == NULL) return "graphRetrieve";
    if (calls->graph_execute == NULL) return "graphExecute";
    return NULL;
}

static qnnrt_result qnnrt__backend_choose(qnnrt_backend *b, const char *name, qnnrt_error *err)
{
    static const qnnrt__library_interface wanted = {
        "QnnInterface_getProviders", "QNN core interface",
        "this is not a QNN backend (libQnnHtp.so is; stubs, skels and libQnnSystem.so are not)",
        "backend", QNNRT__ABI_CORE_MAJOR, QNNRT__ABI_CORE_MINOR_MIN
    };
    const char *lacks;
    const void *chosen = NULL;
    qnnrt_result result;
    qnnrt__library_path(qnnrt__os_library_symbol(b->library, wanted.symbol), name, b->path);
    result = qnnrt__library_choose(b->library, b->path, &wanted, &b->hooks, &chosen, err);
    if (result != QNNRT_OK) return result;
    b->provider = (const qnnrt__abi_provider *)chosen;
    b->calls = &b->provider->calls;
    lacks = qnnrt__backend_lacks(b->calls);
    if (lacks != NULL) return qnnrt__library_lacks(b->path, lacks, err);
    if (b->provider->core.minor > QNNRT__ABI_CORE_MINOR_KNOWN)
        qnnrt_log(&b->hooks, QNNRT_LOG_WARN, "backend", 0,
                  "%s has core interface 2.%u, newer than the newest that was measured, 2.%d;"
                  " tables only grow, so it is used",
                  b->path, (unsigned)b->provider->core.minor, QNNRT__ABI_CORE_MINOR_KNOWN);
    return QNNRT_OK;
}

/* Create the log. It is optional: a library that fails here usually fails at backendCreate too, but
   logs the reason now, so a failure is logged and the next call decides. */
static void qnnrt__backend_create_log(qnnrt_backend *b, qnnrt_log_level level)
{
    qnnrt__abi_code code;
    b->log_slot = qnnrt__log_open(&b->log_book, &b->hooks, level);
    b->mark = qnnrt__log_mark(b->log_slot);
    if (b->log_slot < 0) {
        qnnrt_log(&b->hooks, QNNRT_LOG_WARN, "backend", 0,
                  "no log slot is free (QNNRT_LOG_SLOTS is %d): errors will not show the library's"
                  " log lines",
                  QNNRT_LOG_SLOTS);
        return;
    }
    if (b->calls->log_create == NULL || b->calls->log_free == NULL) return;
    /* At least warnings, because the line that explains a missing stub is one. */
    code = b->calls->log_create(qnnrt__log_callbacks[b->log_slot],
                                level < QNNRT_LOG_WARN ? (uint32_t)QNNRT_LOG_WARN : (uint32_t)level,
                                &b->log);
    if (code != 0) b->log = NULL;
    if (code != 0 && (code & 0xFFFF) != QNNRT__ABI_NOT_SUPPORTED)
        qnnrt_log(&b->hooks, QNNRT_LOG_WARN, "backend", code,
                  "logCreate answered 0x%x; continuing without", (unsigned)(code & 0xFFFF));
    b->info.has_log = b->log != NULL;
}

/* Create the backend and its device. */
static qnnrt_result qnnrt__backend_create(qnnrt_backend *b, uint32_t soc_model, qnnrt_error *err)
{
    qnnrt__htp_soc soc;
    qnnrt__abi_device_config config;
    const qnnrt__abi_device_config *configs[2] = { NULL, NULL };
    qnnrt__abi_code code = b->calls->backend_create(b->log, NULL, &b->backend);
    if (code != 0 || b->backend == NULL) {
        b->backend = NULL;
        QNNRT__FAIL(err, QNNRT_E_BACKEND, "cannot start the backend of %s", b->path);
        return qnnrt__codes_explain(err, "backendCreate", code, b->log_slot, b->mark);
    }
    if (soc_model != 0 && b->provider->backend_id == QNNRT__ABI_BACKEND_HTP) {
        qnnrt__htp_soc_config(soc_model, &soc, &config);
        configs[0] = &config;
    }
    if (b->calls->device_create == NULL || b->calls->device_free == NULL) return QNNRT_OK;
    code = b->calls->device_create(b->log, configs[0] != NULL ? configs : NULL, &b->device);
    /* CPU has no device. */
    if ((code & 0xFFFF) == QNNRT__ABI_NOT_SUPPORTED) { b->device = NULL; return QNNRT_OK; }
    if (code != 0 || b->device == NULL) {
        b->device = NULL;
        QNNRT__FAIL(err, QNNRT_E_BACKEND, "cannot create a device on %s", b->path);
        if (soc_model != 0)
            qnnrt_error_add(err, " with soc_model %u (the library may not know this chip; with 0 it"
                            " chooses one)", (unsigned)soc_model);
        return qnnrt__codes_explain(err, "deviceCreate", code, b->log_slot, b->mark);
    }
    b->info.has_device = 1;
    return QNNRT_OK;
}

/* Refuse a call on a backend or a context, of this name, that is not created again yet. */
static qnnrt_result qnnrt__backend_lost(const char *name, qnnrt_error *err)
{
    return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_STATE, "%s was lost when the DSP restarted",
                                        name), "Call qnnrt_model_recover() of qnnrt_device.h.");
}

/* Free power vote, device and backend, and with_log the log, as far as they exist. Refusals of the
   vendor are logged, and the result is QNNRT_E_BACKEND then. Callers hold the lock. */
static qnnrt_result qnnrt__backend_end(qnnrt_backend *b, int with_log, const char *when)
{
    static const char *const calls[4] = { "destroyPowerConfigId", "deviceFree", "backendFree",
                                          "logFree" };
    qnnrt__abi_code codes[4] = { 0, 0, 0, 0 };
    qnnrt_result result = QNNRT_OK;
    int i;
    codes[0] = qnnrt__power_release(&b->power, &b->hooks);
    if (b->device != NULL) codes[1] = b->calls->device_free(b->device);
    if (b->backend != NULL) codes[2] = b->calls->backend_free(b->backend);
    if (b->log != NULL && with_log) codes[3] = b->calls->log_free(b->log);
    b->device = b->backend = NULL;
    for (i = 0; i < 4; ++i) {
        if (codes[i] == 0) continue;
        result = QNNRT_E_BACKEND;
        qnnrt_log(&b->hooks, QNNRT_LOG_ERROR, "backend", codes[i], "%s answered 0x%x while %s was"
                  " %s", calls[i], (unsigned)(codes[i] & 0xFFFF), b->path, when);
    }
    return result;
}

/* Fill in the public info of a backend. */
static void qnnrt__backend_describe(qnnrt_backend *b)
{
    const char *build = NULL;
    if (b->provider->name != NULL)
        snprintf(b->provider_name, sizeof(b->provider_name), "%s", b->provider->name);
    if (b->calls->backend_get_build_id != NULL && b->calls->backend_get_build_id(&build) == 0 &&
        build != NULL)
        snprintf(b->build_id, sizeof(b->build_id), "%s", build);
    b->info.path = b->path;
    b->info.hooks = &b->hooks;
    b->info.provider = b->provider_name;
    b->info.build_id = b->build_id;
    b->info.id = b->provider->backend_id;
    b->info.core_api = qnnrt__abi_public_version(b->provider->core);
    b->info.backend_api = qnnrt__abi_public_version(b->provider->backend);
}

/* Free a backend, and all that exists of it. Return QNNRT_E_BACKEND if the vendor refused. */
static qnnrt_result qnnrt__backend_free(qnnrt_backend *b)
{
    qnnrt_hooks hooks = b->hooks;
    const int created = b->backend != NULL || b->renewed, alive = b->log != NULL || created;
    qnnrt_result result;
    if (alive) qnnrt__hooks_lock(&b->hooks);
    result = qnnrt__backend_end(b, 1, "closed");
    if (alive) qnnrt__hooks_unlock(&b->hooks);
    qnnrt__log_close(b->log_slot);
    while (b->kept != NULL) {
        qnnrt__backend_hook *hook = b->kept;
        b->kept = hook->next;
        hook->call(hook->of);
    }
    /* A library whose backend was never created can be unloaded; another one may have threads that
       are still running. */
    if (b->library != NULL && (b->unload || !created)) qnnrt__os_library_close(b->library);
    qnnrt__mem_free(&hooks, b);
    return result;
}

/* Check a description, and make a backend of it in which nothing exists yet. */
static qnnrt_result qnnrt__backend_new(const qnnrt_backend_desc *desc, qnnrt_backend **out,
                                       qnnrt_error *err)
{
    qnnrt_backend *b;
    const qnnrt_result result = qnnrt__backend_hooks(&desc->hooks, err);
    if (result != QNNRT_OK) return result;
    if ((int)desc->log_level < QNNRT_LOG_ERROR || (int)desc->log_level > QNNRT_LOG_DEBUG)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "log_level is %d, expected 0 to 5",
                           (int)desc->log_level);
    if ((unsigned)desc->power > (unsigned)QNNRT_POWER_LOW_POWER_SAVER)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "power is %d, expected 0 to %d", (int)desc->power,
                           (int)QNNRT_POWER_LOW_POWER_SAVER);
    if (desc->path[0] == '\0')
        return QNNRT__FAIL(err, QNNRT_E_ARG, "the path of the backend library is empty");
    if (!QNNRT__CAN_CALL)
        return QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED,
                           "QNN libraries need a 64-bit little-endian program");
    b = (qnnrt_backend *)qnnrt__mem_alloc(&desc->hooks, sizeof(*b));
    if (b == NULL) return qnnrt__fail_memory(err, "a backend");
    b->hooks = desc->hooks;
    b->unload = desc->unload;
    b->soc_model = desc->soc_model;
    b->log_slot = -1;
    b->preset = desc->power;
    *out = b;
    return QNNRT_OK;
}

QNNRT_API qnnrt_result qnnrt_backend_open(const qnnrt_backend_desc *desc, qnnrt_backend **out,
                                          qnnrt_error *err)
{
    qnnrt_backend_desc own;
    qnnrt_backend *b = NULL;
    const uint64_t began = qnnrt__os_clock_ns();
    qnnrt_result result = qnnrt__err_begin("qnnrt_backend_open", "out", out, out, err);
    if (result != QNNRT_OK) return result;
    memset(&own, 0, sizeof(own));
    if (desc != NULL) own = *desc;
    if (own.path == NULL) own.path = "libQnnHtp.so";
    if (own.log_level == QNNRT_LOG_DEFAULT) own.log_level = QNNRT_LOG_WARN;
    result = qnnrt__backend_new(&own, &b, err);
    if (result != QNNRT_OK) return result;
    result = qnnrt__library_find(own.path, NULL, b->path, &b->library, err);
    if (result == QNNRT_OK) {
        qnnrt__hooks_lock(&b->hooks);
        result = qnnrt__backend_choose(b, own.path, err);
        if (result == QNNRT_OK) qnnrt__backend_create_log(b, own.log_level);
        if (result == QNNRT_OK) result = qnnrt__backend_create(b, own.soc_model, err);
        if (result == QNNRT_OK) qnnrt__backend_describe(b);
        if (result == QNNRT_OK) qnnrt__power_set(&b->power, b->provider, b->preset, &b->hooks);
        qnnrt__hooks_unlock(&b->hooks);
    }
    if (result != QNNRT_OK) {
        qnnrt__backend_free(b);
        return result;
    }
    b->info.open_ns = qnnrt__os_clock_ns() - began;
    qnnrt_log(&b->hooks, QNNRT_LOG_INFO, "backend", 0, "loaded %s (%s, %s, core %u.%u)", b->path,
              b->provider_name, b->build_id, (unsigned)b->info.core_api.major,
              (unsigned)b->info.core_api.minor);
    *out = b;
    return QNNRT_OK;
}

QNNRT_API qnnrt_result qnnrt_backend_close(qnnrt_backend *backend)
{
    if (backend == NULL) return QNNRT_OK;
    if (qnnrt__os_load(&backend->users) > 0)
        return qnnrt__log_busy(&backend->hooks, "a backend", backend->users);
    return qnnrt__backend_free(backend);
}

QNNRT_API const qnnrt_backend_info *qnnrt_backend_get_info(const qnnrt_backend *backend)
{
    return backend != NULL ? &backend->info : NULL;
}

/* =====================================================================================
   REGISTER                                                                    >>register
   Shared memory that a context uses in place. The vendor registers per context, and a tensor
   carries a handle, never an offset: so each offset, type and shape is registered once and kept
   until the context or the memory goes.
   Source: the vendor's "HTP Shared Buffer Tutorial": one descriptor for many tensors is CUSTOM with
   SHARED_BUFFER and the size of the whole buffer. One descriptor per call, because their size
   differs between releases.
   Needs: >>os >>mem >>log >>share >>dtype >>abi >>backend (its struct)
   Knows nothing of: slots, runs
   ===================================================================================== */

typedef struct qnnrt__registration {
    struct qnnrt__registration *next;       /* of its owner */
    void                       *next_user;  /* of its memory: a registration, too */
    struct qnnrt__register     *owner;
    qnnrt_backend              *backend;
    qnnrt__share               *share;
    uint64_t                    offset;     /* in the memory */
    const qnnrt_tensor_info    *tensor;     /* type and shape */
    qnnrt__abi_handle           handle;
} qnnrt__registration;

typedef struct qnnrt__register {            /* of one context */
    qnnrt__registration *first;             /* the newest */
    uint32_t             ended;             /* grows when registrations end: earlier handles may be
                                               void. Read without the lock */
    int                  said, said_end;    /* 1: a refusal was logged, of memRegister and of
                                               memDeRegister */
    qnnrt__abi_code      lacks;             /* not 0: the library cannot register at all, and is not
                                               asked again */
} qnnrt__register;

/* The registration of a tensor, or why it has none. */
typedef struct qnnrt__registered {
    qnnrt__abi_handle handle;               /* NULL: it is not registered */
    const char       *why;                  /* why it is not registered. NULL: the vendor refused */
    qnnrt__abi_code   code;                 /* the vendor's answer */
    uint32_t          ended;                /* of the register, plus 1; 0: not asked yet */
} qnnrt__registered;

/* Return why a tensor is not registered by rule, or NULL. */
static const char *qnnrt__register_rule(const qnnrt_backend *b, const qnnrt__share *share,
                                        uint64_t offset, const qnnrt_tensor_info *tensor)
{
    const uint32_t bits = qnnrt__dtype_find(tensor->dtype)->bits;
    if (b->calls->mem_register == NULL || b->calls->mem_deregister == NULL)
        return "the backend has no memRegister";
    if (tensor->rank == 0) return "a scalar has no shape to register";
    if (tensor->dynamic_dims != NULL) return "its dimensions may change";
    if (bits < 8) return "its elements have less than 8 bits";
    if ((share->fd_offset + offset) % (bits / 8) != 0)
        return "its offset is not a multiple of its element size";
    return NULL;
}

/* End a registration: take it back from the vendor, and forget it. Callers hold the lock. */
static void qnnrt__register_end(qnnrt__registration *r)
{
    qnnrt_backend *b = r->backend;
    qnnrt__registration **at = &r->owner->first;
    void **user = &r->share->users;
    const qnnrt__abi_code code = b->calls->mem_deregister(&r->handle, 1);
    if (code != 0 && !r->owner->said_end)
        qnnrt_log(&b->hooks, QNNRT_LOG_ERROR, "register", code,
                  "memDeRegister answered 0x%x for \"%.200s\" at offset %llu (said once)",
                  (unsigned)(code & 0xFFFF), r->tensor->name, (unsigned long long)r->offset);
    r->owner->said_end |= code != 0;
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    while (*user != r) user = &((qnnrt__registration *)*user)->next_user;
    *user = r->next_user;
    qnnrt__os_count(&r->owner->ended, 1);
    qnnrt__mem_free(&b->hooks, r);
}

/* End all registrations of shared memory, before it is freed. Callers do not hold the lock. */
static void qnnrt__register_leave(const qnnrt__share *share)
{
    while (share->users != NULL) {
        qnnrt__registration *r = (qnnrt__registration *)share->users;
        qnnrt_backend *b = r->backend;
        qnnrt__hooks_lock(&b->hooks);
        qnnrt__register_end(r);
        qnnrt__hooks_unlock(&b->hooks);
    }
}

/* End all registrations of a context, before it is freed. Callers hold the lock. */
static void qnnrt__register_drop(qnnrt__register *all)
{
    while (all->first != NULL) qnnrt__register_end(all->first);
    qnnrt__os_count(&all->ended, 1);
    all->said = all->said_end = 0;
    all->lacks = 0;
}

/* Register a tensor at an offset of shared memory with the vendor. */
static qnnrt__abi_code qnnrt__register_ask(const qnnrt_backend *b, qnnrt__abi_handle context,
                                           const qnnrt__share *share, uint64_t offset,
                                           const qnnrt_tensor_info *tensor,
                                           qnnrt__abi_handle *handle)
{
    qnnrt__abi_mem_htp place;
    qnnrt__abi_mem memory;
    memset(&place, 0, sizeof(place));
    memset(&memory, 0, sizeof(memory));
    place.type = QNNRT__ABI_MEM_HTP_SHARED;
    place.bytes = share->block.fd_bytes;
    place.fd = share->block.fd;
    place.offset = share->fd_offset + offset;
    memory.rank = tensor->rank;
    memory.dims = tensor->dims;
    memory.dtype = (uint32_t)tensor->dtype;
    memory.type = QNNRT__ABI_MEM_CUSTOM;
    memory.u.custom = &place;
    return b->calls->mem_register(context, &memory, 1, handle);
}

/* Find the registration of a tensor at an offset of shared memory, or make it. Callers hold the
   lock. */
static qnnrt__registered qnnrt__register_take(qnnrt__register *all, qnnrt_backend *b,
                                              qnnrt__abi_handle context, qnnrt__share *share,
                                              uint64_t offset, const qnnrt_tensor_info *tensor)
{
    qnnrt__registration *r;
    qnnrt__registered got;
    memset(&got, 0, sizeof(got));
    got.why = context == NULL ? "its context is not loaded" : NULL;
    if (got.why != NULL) return got;
    got.ended = qnnrt__os_load(&all->ended) + 1;
    got.why = qnnrt__register_rule(b, share, offset, tensor);
    if (got.why != NULL) return got;
    for (r = all->first; r != NULL; r = r->next)
        if (r->share == share && r->offset == offset && r->tensor->dtype == tensor->dtype &&
            r->tensor->rank == tensor->rank &&
            memcmp(r->tensor->dims, tensor->dims, tensor->rank * sizeof(*tensor->dims)) == 0) {
            got.handle = r->handle;
            return got;
        }
    got.code = all->lacks;
    if (got.code != 0) return got;
    r = (qnnrt__registration *)qnnrt__mem_alloc(&b->hooks, sizeof(*r));
    got.why = r == NULL ? "out of memory for its registration" : NULL;
    if (r == NULL) return got;
    got.code = qnnrt__register_ask(b, context, share, offset, tensor, &r->handle);
    if (got.code != 0 || r->handle == NULL) {
        if (got.code == 0) got.why = "memRegister returned no handle";
        if (!all->said)
            qnnrt_log(&b->hooks, QNNRT_LOG_WARN, "register", got.code,
                      "memRegister answered 0x%x for \"%.200s\", which is then copied (said once)",
                      (unsigned)(got.code & 0xFFFF), tensor->name);
        all->said = 1;
        if ((got.code & 0xFFFF) == QNNRT__ABI_NOT_SUPPORTED) all->lacks = got.code;
        qnnrt__mem_free(&b->hooks, r);
        return got;
    }
    r->owner = all;
    r->backend = b;
    r->share = share;
    r->offset = offset;
    r->tensor = tensor;
    r->next = all->first;
    all->first = r;
    r->next_user = share->users;
    share->users = r;
    got.handle = r->handle;
    return got;
}

/* =====================================================================================
   CONTEXT                                                                      >>context
   One context binary: loads its bytes, checks it, creates it on the backend and frees it.
   Source of the ExecuTorch head: its public runtime sources (u32 0x5678ABCD, u64 signature,
   u64 size, padding to 256 bytes, little-endian).
   Needs: >>os >>mem >>err >>log >>codes >>abi >>htp >>backend (its struct) >>friends
          >>register
   Knows nothing of: folders, pipelines
   ===================================================================================== */

/* How the binaries of a model are read. */
typedef struct qnnrt__context_ways {
    const qnnrt_hooks  *hooks;
    const qnnrt_limits *limits;
    int                 read;           /* these are of qnnrt_desc */
    qnnrt_result      (*check)(void *user, const char *file, const void *data, uint64_t bytes,
                               qnnrt_error *err);
    void               *check_user;
} qnnrt__context_ways;

typedef struct qnnrt__context {
    qnnrt__os_file       file;          /* fd -1 and no map once created */
    void                *owned;         /* with desc.read: the bytes */
    const unsigned char *binary;        /* in the file, after a head */
    uint64_t             bytes;
    qnnrt__abi_handle   *graphs;        /* [info->graph_count] */
    qnnrt_context_info  *info;          /* the public view, with its handle and backend */
    qnnrt__register      registered;    /* shared memory */
    qnnrt_file           from;          /* its path, or the caller's bytes */
    const qnnrt_graph_info **by_name;   /* [info->graph_count] graphs in the order of strcmp() */
    int                  lost;          /* a recovery freed it and has not created it again */
    int                  busy;          /* a thread loads or unloads it */
    int                  stated;        /* it is one of the backend's dsp_arch_users */
} qnnrt__context;

enum { QNNRT__CONTEXT_LEAST = 64, QNNRT__CONTEXT_HEAD = 256 };

static void qnnrt__context_release_file(qnnrt__context *context, const qnnrt_hooks *hooks)
{
    if (context->file.fd >= 0 || context->file.map != NULL) qnnrt__os_file_close(&context->file);
    qnnrt__mem_free(hooks, context->owned);
    context->owned = NULL;
    context->binary = NULL;
}

/* A kind of file: the bytes by which it is known, in a file of at least `least` bytes, and what to
   do with it where another kind is expected. */
typedef struct qnnrt__context_kind {
    const char *magic;                /* NULL: qnnrt__context_look() knows it in another way */
    size_t      at, bytes, least;
    const char *text, *cure;
} qnnrt__context_kind;

enum { QNNRT__CONTEXT_ONNX, QNNRT__CONTEXT_TEXT, QNNRT__CONTEXT_VENDOR, QNNRT__CONTEXT_REF };

static const qnnrt__context_kind qnnrt__context_kinds[] = {
#define QNNRT__OTHER "Give a context binary; this file is of another kind."
#define QNNRT__INSIDE "Look with qnnrt-run extract whether it carries a context binary, and take" \
                      " that out with --output_dir."
    { NULL, 0, 0, 8, "an ONNX model", QNNRT__INSIDE },
    { NULL, 0, 0, 1, "text, probably JSON", QNNRT__OTHER },
    /* These bytes begin every one seen so far. It is never a reason to refuse a file that others
       do, because the layout is not documented. */
    { "\0\0\0\2\0\0\0\3\0\0\0\0\0\0\0\1", 0, 16, 16, "a context binary of Qualcomm's libraries",
      "Open it with Qualcomm's library that it was compiled for, such as libQnnHtp.so, or compile"
      " the model for libQnnRef.so." },
    { "QNNRTREF", 0, 8, 8, "a context binary of libQnnRef.so",
      "Open it with libQnnRef.so, or compile the model for this library." },
    { "\177ELF", 0, 4, 4, "an ELF file (a library or program)", QNNRT__OTHER },
    { "PK\3\4", 0, 4, 4, "a zip archive (a .dlc is one: compile it first)", QNNRT__INSIDE },
    { "ET1", 4, 3, 8, "an ExecuTorch program (.pte), not the context inside", QNNRT__INSIDE },
    { "GGUF", 0, 4, 4, "a language model as GGUF", QNNRT__HINT_COMPILE },
    { "version https://git-lfs", 0, 23, 30, "a git-lfs pointer: the file itself was not fetched",
      QNNRT__OTHER }
#undef QNNRT__OTHER
#undef QNNRT__INSIDE
};

/* Return what a file seems to be, or NULL: messages tell foreign files from damaged ones. */
static const qnnrt__context_kind *qnnrt__context_look(const unsigned char *data, uint64_t bytes)
{
    const qnnrt__context_kind *kinds = qnnrt__context_kinds;
    size_t i;
    for (i = QNNRT__CONTEXT_VENDOR; i < sizeof(qnnrt__context_kinds) / sizeof(*kinds); ++i)
        if (bytes >= kinds[i].least &&
            memcmp(data + kinds[i].at, kinds[i].magic, kinds[i].bytes) == 0) return &kinds[i];
    /* ONNX has no magic number: the version of the format, then another of the first fields. */
    if (bytes >= 8 && data[0] == 8 && data[1] > 0 && data[1] < 64 &&
        memchr("\x12\x1A\x22\x28\x32\x3A\x42", data[2], 7) != NULL)
        return &kinds[QNNRT__CONTEXT_ONNX];
    for (i = 0; i < bytes && i < 64 && data[i] != '\0' && strchr(" \n\r\t", data[i]) != NULL;) ++i;
    return i < bytes && (data[i] == '{' || data[i] == '[') ? &kinds[QNNRT__CONTEXT_TEXT] : NULL;
}

/* Return 1 if a file begins like the vendor's context binaries. */
static int qnnrt__context_looks_right(const unsigned char *data, uint64_t bytes)
{
    return qnnrt__context_look(data, bytes) == &qnnrt__context_kinds[QNNRT__CONTEXT_VENDOR];
}

/* Add to an error what the file's head tells. own: a backend's own system interface read the
   file; it knows its own binaries better than this code does, and no others. */
static void qnnrt__context_explain(const char *file, const unsigned char *data, uint64_t bytes,
                                   int own, qnnrt_error *err)
{
    const qnnrt__context_kind *kind = qnnrt__context_look(data, bytes);
    const qnnrt__context_kind *wanted =
        &qnnrt__context_kinds[own ? QNNRT__CONTEXT_REF : QNNRT__CONTEXT_VENDOR];
    uint64_t offset, size;
    if (err == NULL || (own && kind == wanted)) return;
    if (kind == NULL) {
        qnnrt_error_add(err, "\n  it does not begin like any context binary seen so far");
    } else if (kind != wanted) {
        const int context = kind == &qnnrt__context_kinds[QNNRT__CONTEXT_VENDOR] ||
                            kind == &qnnrt__context_kinds[QNNRT__CONTEXT_REF];
        qnnrt_error_about(err, err->code, "%s is no context binary%s: it looks like %s\n  ", file,
                          context ? " of this library" : "", kind->text);
        err->cause = context ? "it was made for another library" : "the file is of another kind";
        err->hint[0] = '\0';
        QNNRT__HINT(err, err->code, "%s", kind->cure);
    } else if (bytes >= 40) {
        memcpy(&offset, data + 24, 8);
        memcpy(&size, data + 32, 8);
        if (offset <= UINT64_MAX - size && offset + size > bytes)
            qnnrt_error_add(err, "\n  its head declares %llu bytes, but the file has %llu: it was"
                            " cut short", (unsigned long long)(offset + size),
                            (unsigned long long)bytes);
        else
            qnnrt_error_add(err, "\n  its head and size agree; bytes within it are damaged, or the"
                            " library is too old for it");
    }
}

/* Skip ExecuTorch's head, if there is one. */
static qnnrt_result qnnrt__context_skip_head(qnnrt__context *context, qnnrt_error *err)
{
    static const unsigned char magic[4] = { 0xCD, 0xAB, 0x78, 0x56 };
    const uint64_t after =
        context->bytes > QNNRT__CONTEXT_HEAD ? context->bytes - QNNRT__CONTEXT_HEAD : 0;
    uint64_t size;
    if (memcmp(context->binary, magic, sizeof(magic)) != 0) return QNNRT_OK;
    memcpy(&size, context->binary + 12, 8);
    if (size > after || size < QNNRT__CONTEXT_LEAST)
        return QNNRT__FAIL(err, QNNRT_E_FORMAT, "%s: its ExecuTorch header declares %llu bytes;"
                           " a context binary has at least %d, and %llu follow",
                           context->info->file, (unsigned long long)size, QNNRT__CONTEXT_LEAST,
                           (unsigned long long)after);
    context->binary += QNNRT__CONTEXT_HEAD;
    context->bytes = size;
    return QNNRT_OK;
}

/* Return a fingerprint (FNV-1a of 64-bit words) of a binary's size and of 64 pieces of it, evenly
   spread: to read all bytes would cost as much as to load them. */
static uint64_t qnnrt__context_fingerprint(const unsigned char *data, uint64_t bytes)
{
    enum { PIECES = 64, PIECE = 256 };
    const uint64_t last = bytes > PIECE ? bytes - PIECE : 0, take = bytes - last;
    uint64_t sum = 0xCBF29CE484222325u, word, i, at;
    sum = (sum ^ bytes) * 0x100000001B3u;
    for (i = 0; i < PIECES; ++i) {
        const unsigned char *piece = data + last / (PIECES - 1) * i;
        if (i == PIECES - 1) piece = data + last;
        for (at = 0; at + 8 <= take; at += 8) {
            memcpy(&word, piece + at, 8);
            sum = (sum ^ word) * 0x100000001B3u;
            sum ^= sum >> 32;
        }
    }
    return sum;
}

/* Check the bytes of a binary; when they are read again, that they are the same. */
static qnnrt_result qnnrt__context_accept(qnnrt__context *context, const qnnrt__context_ways *ways,
                                          qnnrt_error *err)
{
    qnnrt_context_info *info = context->info;
    const uint64_t bytes = context->bytes;
    const uint64_t found = bytes >= QNNRT__CONTEXT_LEAST
                               ? qnnrt__context_fingerprint(context->binary, bytes) : 0;
    qnnrt_result result = QNNRT_OK;
    if (info->fingerprint != 0 && (bytes != info->file_bytes || found != info->fingerprint))
        return QNNRT__HINT(
            err,
            QNNRT__FAIL(err, QNNRT_E_IO,
                        "%s was replaced after the model was opened: it had %llu bytes with"
                        " fingerprint %016llx, and has %llu with %016llx", info->file,
                        (unsigned long long)info->file_bytes, (unsigned long long)info->fingerprint,
                        (unsigned long long)bytes, (unsigned long long)found),
            "Put the file back, or close the model and open it again.");
    info->file_bytes = bytes;
    info->fingerprint = found;
    if (bytes < QNNRT__CONTEXT_LEAST) {
        const qnnrt__context_kind *kind = qnnrt__context_look(context->binary, bytes);
        QNNRT__FAIL(err, QNNRT_E_FORMAT, "%s has %llu bytes; a context binary has at least %d",
                    info->file, (unsigned long long)bytes, QNNRT__CONTEXT_LEAST);
        if (kind != NULL) qnnrt_error_add(err, "\n  it looks like %s", kind->text);
        return QNNRT_E_FORMAT;
    }
    if (ways->check != NULL)
        result = ways->check(ways->check_user, info->file, context->binary, bytes, err);
    return result == QNNRT_OK ? qnnrt__context_skip_head(context, err) : result;
}

/* Map or read the bytes of a binary, or take the caller's, for the first time or again. */
static qnnrt_result qnnrt__context_load(qnnrt__context *context, const qnnrt__context_ways *ways,
                                        qnnrt_error *err)
{
    const char *why = NULL;
    context->file.fd = -1;
    context->binary = (const unsigned char *)context->from.data;
    context->bytes = context->from.bytes;
    if (context->from.data == NULL) {
        why = qnnrt__os_file_open(context->from.path, &context->file);
        context->bytes = context->file.bytes;
    }
    if (why == NULL && context->bytes > ways->limits->file_bytes)
        return QNNRT__FAIL(err, QNNRT_E_LIMIT, "%s has %llu bytes, more than limits.file_bytes",
                           context->info->file, (unsigned long long)context->bytes);
    if (context->from.data == NULL && why == NULL && context->bytes > 0) {
        if (ways->read) context->owned = qnnrt__mem_raw(ways->hooks, context->bytes);
        if (ways->read && context->owned == NULL)
            return QNNRT__FAIL(err, QNNRT_E_MEMORY, "out of memory for the %llu bytes of %s",
                               (unsigned long long)context->bytes, context->from.path);
        why = ways->read ? qnnrt__os_file_read(&context->file, context->owned, context->bytes)
                         : qnnrt__os_file_map(&context->file);
        context->binary = (const unsigned char *)(ways->read ? context->owned : context->file.map);
    }
    if (why != NULL) return qnnrt__fail_file(err, context->from.path, why, context->file.missing);
    return qnnrt__context_accept(context, ways, err);
}

/* Check that the file of a context was not replaced while it was used. */
static qnnrt_result qnnrt__context_unchanged(const qnnrt__context *context, qnnrt_error *err)
{
    if (!qnnrt__os_file_changed(&context->file)) return QNNRT_OK;
    return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_IO, "%s changed while it was loaded",
                                        context->info->file),
                       "Replace files by rename, or set desc.read.");
}

/* Return the release of a build id as one number, "v2.51.0.260929181845" -> 2 * 65,536 + 51 + 1; 0:
   it has none. */
static uint32_t qnnrt__context_release(const char *build_id)
{
    uint32_t parts[2] = { 0, 0 };
    int i;
    if (*build_id == 'v') ++build_id;
    for (i = 0; i < 2; ++i) {
        if (*build_id < '0' || *build_id > '9') return 0;
        while (*build_id >= '0' && *build_id <= '9' && parts[i] < 6000)
            parts[i] = parts[i] * 10 + (uint32_t)(*build_id++ - '0');
        if (i == 0 && *build_id++ != '.') return 0;
    }
    return (parts[0] << 16 | parts[1]) + 1;
}

static const char *qnnrt__context_named(const char *build_id)
{
    return build_id[0] != '\0' ? build_id : "(unnamed)";
}

/* Check what the vendor does not check, or reports with a code that does not tell the cause. */
static qnnrt_result qnnrt__context_check(const qnnrt__context *context, qnnrt_error *err)
{
    const qnnrt_backend *b = context->info->backend;
    const qnnrt_context_info *info = context->info;
    const uint32_t release = qnnrt__context_release(b->build_id);
    const char *graph = qnnrt__htp_shares_weights(info);
    if (info->backend_id != 0 && b->info.id != 0 && info->backend_id != b->info.id &&
        b->info.id != QNNRT__ABI_BACKEND_SAVER)
        return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_MISMATCH, "%s was compiled for backend %u,"
                                            " and %s is backend %u (3 CPU, 4 GPU, 6 HTP, 5391686"
                                            " Ref)", info->file, (unsigned)info->backend_id,
                                            b->path, (unsigned)b->info.id),
                           "Open it with the library it was compiled for.");
    if (((uint64_t)info->core_api.major << 32 | info->core_api.minor) >
            ((uint64_t)b->info.core_api.major << 32 | b->info.core_api.minor) ||
        (release != 0 && qnnrt__context_release(info->build_id) > release)) {
        QNNRT__FAIL(err, QNNRT_E_VERSION,
                    "%s was made by release %s (core interface %u.%u), newer than the library"
                    " %s, %s (core interface %u.%u)",
                    info->file, qnnrt__context_named(info->build_id),
                    (unsigned)info->core_api.major, (unsigned)info->core_api.minor, b->path,
                    qnnrt__context_named(b->build_id), (unsigned)b->info.core_api.major,
                    (unsigned)b->info.core_api.minor);
        return QNNRT__HINT(err, QNNRT_E_VERSION, "Ship the libraries of its release or newer, or"
                           " compile it with the older release.");
    }
    if (graph == NULL || b->info.id != QNNRT__ABI_BACKEND_HTP) return QNNRT_OK;
    return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "%s: graph \"%.200s\" shares its"
                                        " weights with other graphs, and the x86-64 emulator cannot"
                                        " load that (releases 2.50 and 2.51 crash when asked)",
                                        info->file, graph),
                       "Run it on a device, or compile it without weight sharing.");
}

/* Fetch the graphs of a context that was just created. Callers hold the lock. */
static qnnrt_result qnnrt__context_fetch(qnnrt__context *context, uint32_t mark, qnnrt_error *err)
{
    qnnrt_backend *b = context->info->backend;
    size_t i;
    for (i = 0; i < context->info->graph_count; ++i) {
        const char *name = context->info->graphs[i].name;
        const qnnrt__abi_code code =
            b->calls->graph_retrieve(context->info->handle, name, &context->graphs[i]);
        if (code == 0 && context->graphs[i] != NULL) continue;
        context->graphs[i] = NULL;
        QNNRT__FAIL(err, QNNRT_E_BACKEND, "%s: the metadata lists graph \"%.200s\", but the library"
                    " does not return it", context->info->file, name);
        return qnnrt__codes_explain(err, "graphRetrieve", code, b->log_slot, mark);
    }
    return QNNRT_OK;
}

/* Create the context, number `at` of its model, and fetch its graphs. Callers hold the lock. */
static qnnrt_result qnnrt__context_create(qnnrt__context *context, size_t at,
                                          qnnrt_context_hook *hooks, qnnrt_error *err)
{
    qnnrt_backend *b = context->info->backend;
    uint64_t began = qnnrt__os_clock_ns();
    const uint32_t mark = qnnrt__log_mark(b->log_slot);
    qnnrt__creation creation;
    qnnrt_result result;
    if (b->backend == NULL) return qnnrt__backend_lost(b->path, err);
    memset(&creation, 0, sizeof(creation));
    creation.backend = b;
    creation.context = at;
    creation.renewed = context->info->creates > 0;
    result = qnnrt__friends_before(hooks, &creation, err);
    if (result == QNNRT_OK) {
        const qnnrt__abi_code code = b->calls->context_create_from_binary(
            b->backend, b->device, creation.configs, context->binary, context->bytes,
            &context->info->handle, creation.profile);
        creation.created = code == 0 && context->info->handle != NULL;
        if (!creation.created) {
            context->info->handle = NULL;     /* after a failure it may hold anything */
            QNNRT__FAIL(err, QNNRT_E_BACKEND, "%s: %s cannot load it", context->info->file,
                        b->path);
            result = qnnrt__codes_explain(err, "contextCreateFromBinary", code, b->log_slot, mark);
        }
    }
    result = qnnrt__friends_after(hooks, &creation, result, err);
    if (result == QNNRT_OK) result = qnnrt__context_fetch(context, mark, err);
    if (result != QNNRT_OK) return result;
    context->info->create_ns = qnnrt__os_clock_ns() - began;
    return QNNRT_OK;
}

/* Warn of contexts for several NPU generations, which the emulator cannot execute. */
static void qnnrt__context_generations(qnnrt__context *context)
{
    qnnrt_backend *b = context->info->backend;
#if defined(__x86_64__) || defined(_M_X64)
    if (b->dsp_arch != 0 && context->info->dsp_arch != 0 && b->dsp_arch != context->info->dsp_arch)
        qnnrt_log(&b->hooks, QNNRT_LOG_WARN, "context", 0,
                  "%s is for NPU generation v%u and others on this backend are for v%u; the x86-64"
                  " emulator runs only those loaded last", context->info->file,
                  (unsigned)context->info->dsp_arch, (unsigned)b->dsp_arch);
#endif
    if (context->info->dsp_arch == 0) return;
    b->dsp_arch = context->info->dsp_arch;
    if (!context->stated) ++b->dsp_arch_users;
    context->stated = 1;
}

/* Free the context, and its graphs with it. */
static qnnrt_result qnnrt__context_free(qnnrt__context *context)
{
    qnnrt_backend *b = context->info->backend;
    qnnrt__abi_code code;
    if (context->info->handle == NULL) return QNNRT_OK;
    qnnrt__register_drop(&context->registered);
    code = b->calls->context_free(context->info->handle, NULL);
    context->info->handle = NULL;
    if (context->stated && --b->dsp_arch_users == 0) b->dsp_arch = 0;
    context->stated = 0;
    if (code == 0) return QNNRT_OK;
    qnnrt_log(&b->hooks, QNNRT_LOG_ERROR, "context", code, "contextFree answered 0x%x for %s",
              (unsigned)(code & 0xFFFF), context->info->file);
    return QNNRT_E_BACKEND;
}

/* =====================================================================================
   MODEL                                                                       >>model
   What a model consists of, and how it ends: everything that was opened or built.
   Needs: >>os >>sort >>mem >>err >>log >>abi >>table >>friends >>backend >>context
   Knows nothing of: where contexts come from, pipelines
   ===================================================================================== */

struct qnnrt {
    qnnrt            *self;             /* not const: what a const view of it counts in */
    qnnrt_info        info;             /* what users see of it */
    qnnrt_limits      limits;
    qnnrt__backend_hook link;           /* in the list of info.backend */
    int               own;              /* 1: the model opened its backend, and closes it */
    uint32_t          users;            /* made pipelines, plans, runs */
    uint32_t          tensors_left, scales_left;      /* what limits leave, while opening */
    qnnrt__arena      arena;            /* its hooks are those of info.backend */
    qnnrt__context   *contexts;         /* [info.context_count] */
    qnnrt_context_info *infos;          /* info.contexts, to be written */
    qnnrt_pipeline  **pipelines;        /* info.pipelines, to be written; then [single_count] of
                                           single graphs, see qnnrt__pipeline_singles() */
    size_t            single_count;
    qnnrt_context_hook *context_hooks;   /* of desc */
    qnnrt_residency   residency;
    qnnrt__context_ways ways;
    int               counts_lock;      /* of info.device_bytes and info.device_peak */
    qnnrt_result    (*take)(qnnrt *model, size_t context, uint64_t since, qnnrt_error *err);
                                        /* of a friend, or NULL: creates contexts for steps;
                                           since: when the run's exec before this began */
    void             *taker;            /* what it keeps */
    qnnrt__model_hook *made;            /* of the builder that made it; NULL: it was opened */
    char              system_path[QNNRT__PATH_MAX];
};

static void qnnrt__model_limits(const qnnrt_limits *from, qnnrt_limits *to)
{
    *to = *from;
    if (to->file_bytes == 0) to->file_bytes = (uint64_t)64 << 30;
    if (to->arena_bytes == 0) to->arena_bytes = (uint64_t)4 << 30;
    if (to->files == 0) to->files = 256;
    if (to->tensors == 0) to->tensors = 1000000;
    if (to->name_bytes == 0) to->name_bytes = 1024;
    if (to->rank == 0) to->rank = 8;
    if (to->scales == 0) to->scales = QNNRT__TABLE_SCALES;
    if (to->entries == 0) to->entries = 100000;
    if (to->places == 0) to->places = 65536;
    if (to->steps == 0) to->steps = 65535;
    if (to->looks == 0) to->looks = 20000000;
    if (to->json_bytes == 0) to->json_bytes = (uint64_t)64 << 20;
    /* The text must fit in memory. */
    if (to->json_bytes > SIZE_MAX / 2) to->json_bytes = SIZE_MAX / 2;
}

/* Allocate an empty model, NULL when out of memory. */
static qnnrt *qnnrt__model_new(const qnnrt_hooks *hooks, const qnnrt_limits *limits)
{
    qnnrt *model = (qnnrt *)qnnrt__mem_alloc(hooks, sizeof(*model));
    if (model == NULL) return NULL;
    model->self = model;
    model->info.folder = "";
    model->info.system_path = model->system_path;
    model->arena.hooks = *hooks;
    qnnrt__model_limits(limits, &model->limits);
    model->tensors_left = model->limits.tensors;
    model->scales_left = model->limits.scales;
    return model;
}

/* Give a model its backend. own: the model closes it. */
static void qnnrt__model_give(qnnrt *model, qnnrt_backend *b, int own)
{
    model->info.backend = b;
    model->own = own;
    model->link.of = model;
    qnnrt__backend_list(b, &b->models, &model->link, 1);
    qnnrt__os_count(&b->users, 1);
}

/* Free everything that a model holds; it may be incomplete. */
static qnnrt_result qnnrt__model_free(qnnrt *model)
{
    qnnrt_hooks hooks = model->arena.hooks;
    qnnrt_backend *b = model->info.backend;
    qnnrt_result result = QNNRT_OK;
    size_t i = model->contexts != NULL ? model->info.context_count : 0;
    while (i-- > 0) {
        qnnrt__context *context = &model->contexts[i];
        const qnnrt_hooks *lock = context->info->backend != NULL ? &context->info->backend->hooks
                                                                 : &hooks;
        qnnrt__hooks_lock(lock);
        if (qnnrt__context_free(context) != QNNRT_OK) result = QNNRT_E_BACKEND;
        qnnrt__hooks_unlock(lock);
        qnnrt__context_release_file(context, &hooks);
    }
    if (model->made != NULL && model->made->freed(model->made, model) != QNNRT_OK)
        result = QNNRT_E_BACKEND;
    if (b != NULL) {
        qnnrt__backend_list(b, &b->models, &model->link, -1);
        qnnrt__os_count(&b->users, -1);
        if (model->own && qnnrt__backend_free(b) != QNNRT_OK) result = QNNRT_E_BACKEND;
    }
    qnnrt_arena_free(&model->arena);
    qnnrt__mem_free(&hooks, model);
    return result;
}

QNNRT_API qnnrt_result qnnrt_close(qnnrt *model)
{
    uint32_t others;
    if (model == NULL) return QNNRT_OK;
    if (qnnrt__os_load(&model->users) > 0)
        return qnnrt__log_busy(&model->arena.hooks, "a model", model->users);
    others = model->own ? qnnrt__os_load(&model->info.backend->users) - 1 : 0;
    if (others > 0)
        return qnnrt__log_busy(&model->arena.hooks, "a model whose backend others share", others);
    return qnnrt__model_free(model);
}

QNNRT_API const qnnrt_info *qnnrt_get_info(const qnnrt *model)
{
    return model != NULL ? &model->info : NULL;
}

/* Sort the graphs of a context by name. */
static qnnrt_result qnnrt__model_sort(qnnrt *model, qnnrt__context *context, qnnrt_error *err)
{
    const qnnrt_context_info *info = context->info;
    size_t g;
    context->by_name = (const qnnrt_graph_info **)qnnrt__arena_alloc(
        &model->arena, info->graph_count, sizeof(*context->by_name));
    if (context->by_name == NULL) return qnnrt__fail_memory(err, "graphs");
    for (g = 0; g < info->graph_count; ++g) context->by_name[g] = &info->graphs[g];
    qnnrt_sort((const void **)context->by_name, info->graph_count, qnnrt__table_name_order);
    return QNNRT_OK;
}

/* Find a graph of a context by its name. Return NULL if there is none. */
static const qnnrt_graph_info *qnnrt__model_graph(const qnnrt *model, size_t context,
                                                  const char *name)
{
    return (const qnnrt_graph_info *)qnnrt__sort_find(
        (const void *const *)model->contexts[context].by_name, model->infos[context].graph_count,
        &name, qnnrt__table_name_order);
}

/* Return the vendor's handle of a graph of a context, whose list of graphs may have moved since. */
static qnnrt__abi_handle qnnrt__model_handle(const qnnrt *model, size_t context,
                                             const qnnrt_graph_info *graph)
{
    const qnnrt_graph_info *now = qnnrt__model_graph(model, context, graph->name);
    return model->contexts[context].graphs[now - model->infos[context].graphs];
}

/* Return a table that puts the metadata of one file into the model. */
static qnnrt__table qnnrt__model_table(qnnrt *model, const char *file, qnnrt_error *err)
{
    const qnnrt__table table = { &model->arena, &model->limits, file, NULL, &model->tensors_left,
                                 &model->scales_left, 0, err };
    return table;
}

/* =====================================================================================
   RESIDENT                                                                    >>resident
   Which contexts of a model exist on the backend. A file is mapped only while its context is
   created.
   Needs: >>os >>mem >>err >>backend >>context >>model
   Knows nothing of: pipelines, steps, memory of tensors
   ===================================================================================== */

/* Count a context that was created, or with -1 freed. */
static void qnnrt__resident_count(qnnrt *model, size_t at, int by)
{
    qnnrt_context_info *info = &model->infos[at];
    qnnrt_info *all = &model->info;
    qnnrt__os_lock(&model->counts_lock);
    info->creates += by > 0;
    all->device_bytes = by > 0 ? all->device_bytes + info->device_bytes
                               : all->device_bytes - info->device_bytes;
    if (all->device_bytes > all->device_peak) all->device_peak = all->device_bytes;
    qnnrt__os_unlock(&model->counts_lock);
}

/* Free a context if it exists. Callers hold the lock of its backend, here and below. */
static qnnrt_result qnnrt__resident_free(qnnrt *model, size_t at)
{
    if (model->infos[at].handle != NULL) qnnrt__resident_count(model, at, -1);
    return qnnrt__context_free(&model->contexts[at]);
}

/* Create a context whose bytes are at hand. */
static qnnrt_result qnnrt__resident_create(qnnrt *model, size_t at, qnnrt_error *err)
{
    qnnrt_result result = qnnrt__context_create(&model->contexts[at], at,
                                                model->context_hooks, err);
    if (model->infos[at].handle != NULL) qnnrt__resident_count(model, at, 1);
    if (result != QNNRT_OK) qnnrt__resident_free(model, at);
    return result;
}

/* Read a context again and create it. */
static qnnrt_result qnnrt__resident_again(qnnrt *model, size_t at, qnnrt_error *err)
{
    qnnrt__context *context = &model->contexts[at];
    qnnrt_result result = qnnrt__context_load(context, &model->ways, err);
    if (result == QNNRT_OK) result = qnnrt__resident_create(model, at, err);
    if (result == QNNRT_OK) result = qnnrt__context_unchanged(context, err);
    if (result == QNNRT_OK) context->lost = 0;
    else qnnrt__resident_free(model, at);
    qnnrt__context_release_file(context, &model->arena.hooks);
    return result;
}

/* Refuse a step whose context does not exist. */
static qnnrt_result qnnrt__resident_missing(const qnnrt *model, size_t at, qnnrt_error *err)
{
    const char *file = model->infos[at].file;
    if (model->residency == QNNRT_RESIDENT_ALL) return qnnrt__backend_lost(file, err);
    return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_STATE, "context %u, %s, is not loaded",
                                        (unsigned)at, file),
                       "Call qnnrt_context_load() before qnnrt_exec().");
}

/* Check that the caller loads the contexts of a model; taken: or a friend does. */
static qnnrt_result qnnrt__resident_caller(const qnnrt *model, int taken, const char *call,
                                           qnnrt_error *err)
{
    qnnrt_error_clear(err);
    if (model == NULL) return QNNRT__FAIL(err, QNNRT_E_ARG, "%s: model is NULL", call);
    if (model->residency == QNNRT_RESIDENT_CALLER && model->info.backend != NULL &&
        (taken || model->take == NULL)) return QNNRT_OK;
    return QNNRT__FAIL(err, QNNRT_E_ARG, "%s: the model was not opened to run with desc.residency"
                       " QNNRT_RESIDENT_CALLER", call);
}

/* Load or unload a context for the caller. */
static qnnrt_result qnnrt__resident_set(qnnrt *model, size_t at, int load, qnnrt_error *err)
{
    const char *call = load ? "qnnrt_context_load" : "qnnrt_context_unload";
    qnnrt__context *context;
    qnnrt_result result = qnnrt__resident_caller(model, 0, call, err);
    if (result != QNNRT_OK) return result;
    if (at >= model->info.context_count)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "%s: context %llu, and the model has %llu", call,
                           (unsigned long long)at, (unsigned long long)model->info.context_count);
    context = &model->contexts[at];
    if (context->info->failure != NULL)
        return QNNRT__FAIL(err, QNNRT_E_STATE, "%s: %s could not be opened", call,
                           context->info->file);
    if (!qnnrt__os_try_lock(&context->busy))
        return QNNRT__FAIL(err, QNNRT_E_BUSY, "%s: another thread loads or unloads %s", call,
                           context->info->file);
    qnnrt__hooks_lock(&model->arena.hooks);
    if (!load) {
        result = qnnrt__resident_free(model, at);
        context->lost = 0;
        if (result != QNNRT_OK)
            QNNRT__FAIL(err, result, "%s: the library refused to free %s; it is gone all the same",
                        call, context->info->file);
    } else if (context->info->handle == NULL) {
        result = qnnrt__resident_again(model, at, err);
    }
    qnnrt__hooks_unlock(&model->arena.hooks);
    qnnrt__os_unlock(&context->busy);
    return result;
}

QNNRT_API qnnrt_result qnnrt_context_load(qnnrt *model, size_t context, qnnrt_error *err)
{
    return qnnrt__hint_general(err, qnnrt__resident_set(model, context, 1, err));
}

QNNRT_API qnnrt_result qnnrt_context_unload(qnnrt *model, size_t context, qnnrt_error *err)
{
    return qnnrt__resident_set(model, context, 0, err);
}

/* =====================================================================================
   SCAN                                                                            >>scan
   Finds which files of a folder form the model, their order, and the JSON of each.
   Names only: nothing is opened here, and no name is followed out of the folder.
   Needs: >>os >>mem >>err >>log >>sort     Knows nothing of: what the files hold
   ===================================================================================== */

typedef enum qnnrt__scan_kind {
    QNNRT__SCAN_LISTED,                 /* in a list of files, see scan.list */
    QNNRT__SCAN_FORWARD,                /* forward_<i>.bin                    */
    QNNRT__SCAN_PART,                   /* <prefix>_<i>_of_<n>.bin            */
    QNNRT__SCAN_ANY,                    /* any other *.bin                    */
    QNNRT__SCAN_TEXT                    /* *_json.json                        */
} qnnrt__scan_kind;

typedef struct qnnrt__scan_file {
    const char *name;
    const char *json;                   /* the "<name without .bin>_json.json" beside it, or NULL */
    qnnrt__scan_kind kind;
    uint64_t    index, total;           /* listed: its place; forward: i; part: i and n; any: 0 */
    size_t      prefix;                 /* part: bytes before "_<i>_of_<n>.bin" */
} qnnrt__scan_file;

typedef struct qnnrt__scan {
    qnnrt__arena       *arena;
    int                 no_texts;       /* 1: JSON files are ignored */
    qnnrt__scan_file  **files;          /* by name; then the model's [count], in shard order */
    size_t              count, room, binary_count;
    uint32_t            most;           /* entries of the folder */
    size_t              entries, listed;
    int                 genie;          /* the folder has a genie_config.json */
    int                 manifest;       /* the folder has a qnnrt.json */
    const char         *list;           /* the file that lists files, or NULL */
} qnnrt__scan;

#define QNNRT__SCAN_DIGITS "0123456789"

/* Read the number at *at, of at most 9 digits, and advance *at. Return 0 if there is none. */
static int qnnrt__scan_number(const char **at, uint64_t *value)
{
    int digits = 0;
    *value = 0;
    while (**at >= '0' && **at <= '9' && digits < 9) {
        *value = *value * 10 + (uint64_t)(*(*at)++ - '0');
        ++digits;
    }
    return digits > 0 && (**at < '0' || **at > '9');
}

/* Read the number, and `before` before it, that end at *at of text, and set *at to where they
   begin. Return 0 if they are not there. */
static int qnnrt__scan_back(const char *text, size_t *at, const char *before, uint64_t *value)
{
    const size_t end = *at, bytes = strlen(before);
    size_t begin = end;
    const char *from;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    from = text + begin;
    if (begin == end || end - begin > 9 || begin < bytes ||
        memcmp(from - bytes, before, bytes) != 0) return 0;
    *at = begin - bytes;
    return qnnrt__scan_number(&from, value);
}

/* Return 1 if the first `length` bytes of text end in "_<i>_of_<n>". *begin receives where that
   suffix begins. */
static int qnnrt__scan_suffix(const char *text, size_t length, size_t *begin, uint64_t *index,
                              uint64_t *total)
{
    *begin = length;
    return qnnrt__scan_back(text, begin, "_of_", total) &&
           qnnrt__scan_back(text, begin, "_", index);
}

/* Return 1 if text ends in `end` and something is before it. */
static int qnnrt__scan_ends(const char *text, const char *end)
{
    const size_t length = strlen(text), bytes = strlen(end);
    return length > bytes && strcmp(text + length - bytes, end) == 0;
}

/* Return 1 if the first `length` bytes of name are "forward_<i>". */
static int qnnrt__scan_forward(const char *name, size_t length, uint64_t *index)
{
    return qnnrt__scan_back(name, &length, "forward_", index) && length == 0;
}

/* Collect one entry of a folder. Return a failure to end the collecting. */
static int qnnrt__scan_visit(void *user, const char *name)
{
    qnnrt__scan *scan = (qnnrt__scan *)user;
    const int binary = qnnrt__scan_ends(name, ".bin");
    qnnrt__scan_file *file, **files;
    if (++scan->entries > scan->most) return QNNRT_E_LIMIT;
    scan->genie |= strcmp(name, "genie_config.json") == 0;
    scan->manifest |= strcmp(name, "qnnrt.json") == 0;
    if (name[0] == '.' ||
        (!binary && (scan->no_texts || !qnnrt__scan_ends(name, "_json.json")))) return 0;
    file = (qnnrt__scan_file *)qnnrt__arena_alloc(scan->arena, 1, sizeof(*file));
    files = (qnnrt__scan_file **)qnnrt__arena_grow(scan->arena, scan->files, scan->count,
                                                   sizeof(*files), (uint64_t)scan->count + 1,
                                                   &scan->room);
    if (file == NULL || files == NULL ||
        (file->name = qnnrt_arena_text(scan->arena, name, strlen(name))) == NULL)
        return QNNRT_E_MEMORY;
    file->kind = !binary ? QNNRT__SCAN_TEXT
                 : qnnrt__scan_forward(name, strlen(name) - 4, &file->index) ? QNNRT__SCAN_FORWARD
                 : qnnrt__scan_suffix(name, strlen(name) - 4, &file->prefix, &file->index,
                                      &file->total) ? QNNRT__SCAN_PART : QNNRT__SCAN_ANY;
    if (file->kind == QNNRT__SCAN_ANY) file->index = 0;
    scan->binary_count += (size_t)binary;
    scan->files = files;
    files[scan->count++] = file;
    return 0;
}

/* Compare names, numbers in them by value: part_2 is before part_10, and equal to part_02. */
static int qnnrt__scan_natural(const char *a, const char *b)
{
    for (;;) {
        size_t x = strspn(a, QNNRT__SCAN_DIGITS), y = strspn(b, QNNRT__SCAN_DIGITS);
        if (x > 0 && y > 0) {
            int order;
            for (; x > 1 && *a == '0'; --x) ++a;
            for (; y > 1 && *b == '0'; --y) ++b;
            if (x != y) return x < y ? -1 : 1;
            order = memcmp(a, b, x);
            if (order != 0) return order;
            a += x;
            b += y;
        } else {
            if (*a != *b) return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            if (*a == '\0') return 0;
            ++a;
            ++b;
        }
    }
}

static int qnnrt__scan_order(const void *a, const void *b)
{
    const qnnrt__scan_file *x = (const qnnrt__scan_file *)a, *y = (const qnnrt__scan_file *)b;
    int order;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    order = qnnrt__scan_natural(x->name, y->name);
    if (order == 0 && strlen(x->name) != strlen(y->name))
        return strlen(x->name) < strlen(y->name) ? -1 : 1;
    return order != 0 ? order : strcmp(x->name, y->name);
}

static int qnnrt__scan_name_order(const void *a, const void *b)
{
    return strcmp(((const qnnrt__scan_file *)a)->name, ((const qnnrt__scan_file *)b)->name);
}

/* Find a file by its name. Return NULL if there is none. */
static qnnrt__scan_file *qnnrt__scan_find(const qnnrt__scan *scan, const char *name)
{
    qnnrt__scan_file key;
    key.name = name;
    return (qnnrt__scan_file *)(uintptr_t)qnnrt__sort_find(
        (const void *const *)scan->files, scan->count, &key, qnnrt__scan_name_order);
}

/* Check that every numbered shard of a model occurs exactly once. */
static qnnrt_result qnnrt__scan_complete(const qnnrt__scan *scan, const char *folder,
                                         qnnrt_error *err)
{
    const qnnrt__scan_file *first = scan->files[0];
    const int part = first->kind == QNNRT__SCAN_PART;
    size_t i;
    for (i = 0; i < scan->count; ++i) {
        const qnnrt__scan_file *file = scan->files[i];
        const uint64_t expected = i + (part ? 1 : 0);
        if (part && (file->total != first->total || file->prefix != first->prefix ||
                     memcmp(file->name, first->name, file->prefix) != 0))
            return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_FORMAT,
                                                "%s holds shards of more than one model: %s and %s",
                                                folder, first->name, file->name),
                               "Give each model a folder of its own, or use desc.files.");
        if (i > 0 && file->index == scan->files[i - 1]->index)
            return QNNRT__FAIL(err, QNNRT_E_FORMAT, "%s: %s and %s are the same shard", folder,
                               scan->files[i - 1]->name, file->name);
        if (file->index != expected)
            return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_FORMAT, "%s: shard %llu is missing:"
                                                " found %s, and the numbers begin at %d", folder,
                                                (unsigned long long)expected, file->name, part),
                               "Put the missing file there, or name the files in desc.files.");
    }
    if (part && first->total != scan->count)
        return QNNRT__FAIL(err, QNNRT_E_FORMAT, "%s: %s names %llu shards, found %u", folder,
                           first->name, (unsigned long long)first->total, (unsigned)scan->count);
    return QNNRT_OK;
}

/* Collect the binaries and the JSON of a folder. */
static qnnrt_result qnnrt__scan_folder(qnnrt__scan *scan, const char *folder, qnnrt_error *err)
{
    int stopped;
    const char *why = qnnrt__os_folder(folder, qnnrt__scan_visit, scan, &stopped);
    if (why != NULL) {
        const qnnrt_result result = stopped == QNNRT__OS_MISSING ? QNNRT_E_NOT_FOUND : QNNRT_E_IO;
        QNNRT__FAIL(err, result, "cannot read the folder %s: %s", folder, why);
        return QNNRT__HINT(err, result, "%s",
                           stopped == QNNRT__OS_FILE
                               ? "Give the folder that holds the file. A file alone goes into"
                                 " desc.files."
                               : "Check that it exists and that this process may read it.");
    }
    if (stopped == QNNRT_E_MEMORY) return qnnrt__fail_memory(err, "file names");
    if (stopped == QNNRT_E_LIMIT)
        return QNNRT__FAIL(err, QNNRT_E_LIMIT, "%s has more than %u entries (limits.entries)",
                           folder, (unsigned)scan->most);
    qnnrt_sort((const void **)(void *)scan->files, scan->count, qnnrt__scan_name_order);
    return QNNRT_OK;
}

/* Give every binary its JSON, and refuse a forward_<i>_json.json without a binary. */
static qnnrt_result qnnrt__scan_pair(qnnrt__scan *scan, const char *folder, qnnrt_error *err)
{
    char other[512];      /* names have at most 255 bytes */
    uint64_t index;
    size_t i;
    for (i = 0; i < scan->count; ++i) {
        qnnrt__scan_file *file = scan->files[i];
        const int text = file->kind == QNNRT__SCAN_TEXT;
        const size_t stem = strlen(file->name) - (text ? strlen("_json.json") : strlen(".bin"));
        const qnnrt__scan_file *found;
        snprintf(other, sizeof(other), "%.*s%s", (int)stem, file->name,
                 text ? ".bin" : "_json.json");
        found = qnnrt__scan_find(scan, other);
        if (!text && found != NULL) file->json = found->name;
        if (text && found == NULL && qnnrt__scan_forward(file->name, stem, &index))
            return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_FORMAT, "%s: found %s, but not its"
                                                " binary %s", folder, file->name, other),
                               "Copy the folder again, or remove the JSON.");
    }
    return QNNRT_OK;
}

/* Leave the model's in scan->files. With inspect, a folder of JSON alone is accepted: its texts. */
static qnnrt_result qnnrt__scan_choose(qnnrt__scan *scan, const char *folder, int inspect,
                                       const qnnrt_hooks *hooks, qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    qnnrt__scan_kind kind;
    size_t i, kept = 0;
    if (scan->binary_count == 0 && (!inspect || scan->count == 0)) {
        QNNRT__FAIL(err, QNNRT_E_NOT_FOUND,
                    "no *.bin in the folder %s: a model folder holds context binaries"
                    " (forward_0.bin, model_1_of_4.bin, any *.bin)", folder);
        if (scan->count > 0)
            qnnrt_error_add(err, "\n  JSON without a binary can be inspected only");
        return QNNRT__HINT(err, QNNRT_E_NOT_FOUND, "Give the folder that holds the *.bin files.");
    }
    if (scan->binary_count > 0) result = qnnrt__scan_pair(scan, folder, err);
    if (result != QNNRT_OK) return result;
    qnnrt_sort((const void **)(void *)scan->files, scan->count, qnnrt__scan_order);
    kind = scan->files[0]->kind;
    for (i = 0; i < scan->count; ++i) {
        qnnrt__scan_file *file = scan->files[i];
        if (kind == QNNRT__SCAN_TEXT) file->json = file->name;
        if (file->kind == kind) ++kept;      /* they come first */
        else if (file->kind != QNNRT__SCAN_TEXT)
            qnnrt_log(hooks, QNNRT_LOG_INFO, "scan", 0,
                      "%s is left out: %s decides which files are the model", file->name,
                      kind == QNNRT__SCAN_LISTED ? scan->list : scan->files[0]->name);
    }
    scan->count = kept;
    return kind == QNNRT__SCAN_FORWARD || kind == QNNRT__SCAN_PART
               ? qnnrt__scan_complete(scan, folder, err) : QNNRT_OK;
}

/* =====================================================================================
   PROGRAM                                                                    >>program
   The steps of a pipeline's description: graphs and host steps, each described like a graph.
   Needs: >>mem >>err >>dtype >>encoding >>table >>backend (its struct) >>model
   Knows nothing of: slots, memory, execution
   ===================================================================================== */

QNNRT_API const char *qnnrt_step_text(const qnnrt_step_info *step, char *text, size_t room)
{
    const qnnrt_graph_info *graph = step != NULL ? step->graph : NULL;
    char digits[32], *digit = digits;
    if (text == NULL || room == 0) return "";
    text[0] = '\0';
    if (graph == NULL) return text;
    if (step->kind == QNNRT_STEP_HOST) {
        snprintf(text, room, "host \"%.160s\"", graph->name);
    } else if (step->kind == QNNRT_STEP_DERIVED) {
        snprintf(digits, sizeof(digits), "%llu", (unsigned long long)graph->outputs[0].bytes);
        snprintf(text, room, "%.170s: %s -> %s, ", graph->name,
                 qnnrt_dtype_name(graph->inputs[0].dtype),
                 qnnrt_dtype_name(graph->outputs[0].dtype));
        for (; *digit != '\0'; ++digit)
            qnnrt_text_append(text, room, digit > digits && strlen(digit) % 3 == 0 ? ",%c" : "%c",
                                *digit);
        qnnrt_text_append(text, room, " bytes");
    } else {
        snprintf(text, room, "graph \"%.160s\" of %.120s", graph->name,
                 step->model->infos[step->context].file);
        if (step->backend != NULL)
            qnnrt_text_append(text, room, " on %.60s", step->backend->info.provider[0] != '\0'
                                                            ? step->backend->info.provider
                                                            : step->backend->info.path);
    }
    qnnrt_text_clean(text);
    return text;
}

/* Set a step to a graph of a context. */
static qnnrt_result qnnrt__program_graph(qnnrt_step_info *to, const qnnrt_step_desc *step,
                                         size_t at, qnnrt_error *err)
{
    const qnnrt *model = step->model;
    const qnnrt_context_info *context;
    if (model == NULL || step->graph == NULL || step->context >= model->info.context_count)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "step %u: expected a model, one of its contexts and"
                           " the name of a graph, or a host step", (unsigned)at);
    context = &model->infos[step->context];
    to->kind = QNNRT_STEP_GRAPH;
    to->model = model;
    to->context = step->context;
    to->backend = context->backend;
    to->graph = qnnrt__model_graph(model, step->context, step->graph);
    if (to->graph != NULL) return QNNRT_OK;
    QNNRT__FAIL(err, QNNRT_E_NOT_FOUND, "step %u: %s has no graph \"%.200s\"", (unsigned)at,
                context->file, step->graph);
    if (context->failure != NULL) {
        qnnrt_error_add(err, "\n  it did not load: ");
        qnnrt__err_text(err, context->failure->text, strlen(context->failure->text));
    }
    return QNNRT_E_NOT_FOUND;
}

/* ---- host steps ---- */

/* Copy a tensor of a host step, checked as those of files are. */
static qnnrt_result qnnrt__program_tensor(qnnrt__table *table, const qnnrt_tensor_info *from,
                                          qnnrt__table_kind kind, size_t index,
                                          qnnrt_tensor_info *to)
{
    const qnnrt_quant *quant = &from->quant;
    const int per_axis = quant->encoding == QNNRT_ENCODING_PER_AXIS;
    const char *why;
    qnnrt_result result = qnnrt__table_name(table, from->name, qnnrt__table_noun(kind), index,
                                            &to->name);
    if (result != QNNRT_OK) return result;
    to->id = (uint32_t)index;
    to->dtype = from->dtype;
    to->rank = from->rank;
    to->vendor_version = 1;
    result = qnnrt__table_dims(table, from->dims, to);
    if (result != QNNRT_OK) return result;
    to->quant = *quant;
    if (per_axis && (quant->axis < 0 || (uint32_t)quant->axis >= to->rank ||
                     quant->scales == NULL || quant->count != to->dims[quant->axis]))
        return qnnrt__table_fail(table, QNNRT_E_ARG, "tensor \"%.200s\": the encoding has %u"
                                 " scales for axis %d, which does not fit its dimensions",
                                 to->name, (unsigned)quant->count, (int)quant->axis);
    why = to->bytes == 0 ? "a dtype that cannot be held in memory" : qnnrt__encoding_check(to);
    if (why != NULL)
        return qnnrt__table_fail(table, to->bytes == 0 ? QNNRT_E_UNSUPPORTED : QNNRT_E_ARG,
                                 "tensor \"%.200s\" (%s): %s", to->name,
                                 qnnrt_dtype_name(to->dtype), why);
    if (per_axis && !qnnrt__table_copy_axis(table, quant->scales, quant->offsets, &to->quant))
        return qnnrt__fail_memory(table->err, "encodings");
    return QNNRT_OK;
}

/* Copy a list of tensors of a host step. */
static qnnrt_result qnnrt__program_tensors(qnnrt__table *table, const qnnrt_tensor_info *from,
                                           size_t count, qnnrt__table_kind kind,
                                           qnnrt_graph_info *graph)
{
    qnnrt_tensor_info *tensors;
    qnnrt_result result;
    size_t i;
    if (count > UINT32_MAX || (from == NULL && count > 0))
        return qnnrt__table_fail(table, QNNRT_E_ARG, "%llu %ss, but the list is NULL or too long",
                                 (unsigned long long)count, qnnrt__table_noun(kind));
    result = qnnrt__table_take(table, (uint32_t)count);
    if (result != QNNRT_OK) return result;
    tensors = (qnnrt_tensor_info *)qnnrt__arena_alloc(table->arena, count, sizeof(*tensors));
    if (tensors == NULL) return qnnrt__fail_memory(table->err, "tensors");
    for (i = 0; i < count && result == QNNRT_OK; ++i)
        result = qnnrt__program_tensor(table, &from[i], kind, i, &tensors[i]);
    return result == QNNRT_OK ? qnnrt__table_close(table, kind, tensors, count, graph) : result;
}

/* Describe a host step like a graph. */
static qnnrt_result qnnrt__program_host(qnnrt__arena *arena, const qnnrt_limits *limits,
                                        const qnnrt_host_step *host, size_t at,
                                        qnnrt_step_info *to, qnnrt_error *err)
{
    qnnrt_graph_info *graph = (qnnrt_graph_info *)qnnrt__arena_alloc(arena, 1, sizeof(*graph));
    qnnrt_host_step *copy = (qnnrt_host_step *)qnnrt__arena_alloc(arena, 1, sizeof(*copy));
    uint32_t tensors = limits->tensors, scales = limits->scales;
    char where[32];
    const char *why;
    qnnrt__table table = { arena, limits, where, NULL, &tensors, &scales, 0, err };
    qnnrt_result result;
    if (graph == NULL || copy == NULL) return qnnrt__fail_memory(err, "a host step");
    snprintf(where, sizeof(where), "step %u", (unsigned)at);
    result = qnnrt__table_name(&table, host->name, "host step", at, &graph->name);
    table.graph = graph->name;
    why = host->exec == NULL ? "the host step has no function (exec)"
          : host->input_count + host->output_count == 0 ? "the host step has no tensors"
          : host->derived && host->input_count != 1 ? "a derived host step has one input" : NULL;
    if (result == QNNRT_OK && why != NULL)
        result = qnnrt__table_fail(&table, QNNRT_E_ARG, "%s", why);
    if (result == QNNRT_OK)
        result = qnnrt__program_tensors(&table, host->inputs, host->input_count,
                                        QNNRT__TABLE_INPUTS, graph);
    if (result == QNNRT_OK)
        result = qnnrt__program_tensors(&table, host->outputs, host->output_count,
                                        QNNRT__TABLE_OUTPUTS, graph);
    if (result == QNNRT_E_FORMAT) {      /* a mistake of the caller, not of a file */
        result = QNNRT_E_ARG;
        if (err != NULL) err->code = result;
    }
    *copy = *host;
    copy->name = graph->name;
    copy->inputs = graph->inputs;
    copy->outputs = graph->outputs;
    to->kind = host->derived ? QNNRT_STEP_DERIVED : QNNRT_STEP_HOST;
    to->graph = graph;
    to->host = copy;
    return result;
}

/* =====================================================================================
   WIRING                                                                     >>wiring
   Decides which output feeds which input. Every match has a reason, and tensors that do not fit are
   refused by name: equal bytes with another scale give plausible but wrong output.
   Needs: >>mem >>err >>sort >>compare >>backend (its struct) >>model >>program
   Knows nothing of: slots, memory, execution
   ===================================================================================== */

/* One end of a slot: a tensor of a step, or a name that users have for one. */
typedef struct qnnrt__end {
    const char *name;               /* of the tensor, or the user's */
    int        called;              /* 1: it is the user's */
    const qnnrt_tensor_info *tensor;
    uint32_t   step, index;
    int        output;
    int        apart;               /* input: shares its slot with no other */
    const void *constant;           /* input: its value, or NULL */
    struct qnnrt__end *source;      /* input: the output, or first input, of the same value */
    const char *reason;             /* input fed by an output: why */
    uint32_t   readers;             /* inputs whose source it is */
    size_t     slot;                /* index into the pipeline's slots */
} qnnrt__end;

struct qnnrt_pipeline {
    qnnrt_pipeline       *self;         /* the same object, not const; see struct qnnrt */
    qnnrt__arena         *arena;        /* the model's; else it was made, and the caller owns it */
    qnnrt__arena          own_arena;
    const qnnrt          *model;        /* of its first graph: whose hooks and limits it has */
    uint32_t              users;        /* number of runs and plans */
    qnnrt_pipeline_info   info;
    qnnrt_step_info      *steps;
    qnnrt_slot           *slots;
    qnnrt__end           *ends;         /* [end_count] of each step inputs, then outputs; then what
                                           users call them */
    qnnrt__end          **inputs;       /* [step] -> [input]: its part of ends */
    qnnrt__end          **outputs;
    qnnrt__end          **by_name;      /* [name_count] in the order of qnnrt__wiring_order() */
    size_t                end_count, name_count;
};

/* Order ends by name, then what users call one, then steps; inputs first. */
static int qnnrt__wiring_order(const void *a, const void *b)
{
    const qnnrt__end *x = (const qnnrt__end *)a, *y = (const qnnrt__end *)b;
    int order = strcmp(x->name, y->name);
    QNNRT__STEP();
    if (order == 0) order = y->called - x->called;
    if (order != 0) return order;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return x->output - y->output;
}

/* Write where a step is: 'step 1 (forward_1.bin, graph "decode")', 'step 2 (host "embedding")'. */
static const char *qnnrt__wiring_where(const qnnrt_pipeline *p, uint32_t step, char *out,
                                       size_t room)
{
    const qnnrt_step_info *is = &p->steps[step];
    char what[400];
    if (is->kind == QNNRT_STEP_GRAPH)
        snprintf(what, sizeof(what), "%.120s, graph \"%.160s\"",
                 is->model->infos[is->context].file, is->graph->name);
    else qnnrt_step_text(is, what, sizeof(what));
    snprintf(out, room, "step %u (%s)", (unsigned)step, what);
    return out;
}

/* Check that the backends can serve one pipeline: it has one allocator, and either every backend
   has a lock or none. */
static qnnrt_result qnnrt__wiring_hooks(const qnnrt_pipeline *p, qnnrt_error *err)
{
    const qnnrt_hooks *a = NULL, *b;
    const char *what;
    char where[2][512];
    uint32_t i, first = 0;
    for (i = 0; i < p->info.step_count; ++i) {
        if (p->steps[i].backend == NULL) continue;
        b = &p->steps[i].backend->hooks;
        if (a == NULL) { a = b; first = i; }
        what = a->alloc != b->alloc || a->free != b->free || a->alloc_user != b->alloc_user
                   ? "two allocators"
               : (a->lock == NULL) != (b->lock == NULL) ? "one has a lock, the other has none"
                                                        : NULL;
        if (what == NULL) continue;
        QNNRT__FAIL(err, QNNRT_E_MISMATCH, "the backends of %s and %s have different hooks: %s",
                    qnnrt__wiring_where(p, first, where[0], 512),
                    qnnrt__wiring_where(p, i, where[1], 512), what);
        return QNNRT__HINT(err, QNNRT_E_MISMATCH, "Open both backends with the same alloc and free,"
                                                  " and both with a lock or both without.");
    }
    return QNNRT_OK;
}

/* Make one end for every tensor of every step, and sort them by name. names: room for so many
   more. */
static qnnrt_result qnnrt__wiring_ends(qnnrt_pipeline *p, size_t names, qnnrt_error *err)
{
    const size_t steps = p->info.step_count;
    uint64_t count = 0;
    size_t step, i, at = 0;
    for (step = 0; step < steps; ++step)
        count += (uint64_t)p->steps[step].graph->input_count + p->steps[step].graph->output_count;
    if (count > INT32_MAX)
        return QNNRT__FAIL(err, QNNRT_E_LIMIT, "the pipeline has more than 2^31 tensors");
    p->inputs = (qnnrt__end **)qnnrt__arena_alloc(p->arena, steps, 2 * sizeof(*p->inputs));
    p->ends = (qnnrt__end *)qnnrt__arena_alloc(p->arena, count + names, sizeof(*p->ends));
    p->by_name = (qnnrt__end **)qnnrt__arena_alloc(p->arena, count + names, sizeof(*p->by_name));
    if (p->inputs == NULL || p->ends == NULL || p->by_name == NULL)
        return qnnrt__fail_memory(err, "a pipeline");
    p->outputs = p->inputs + steps;
    p->end_count = p->name_count = (size_t)count;
    for (step = 0; step < steps; ++step) {
        const qnnrt_graph_info *graph = p->steps[step].graph;
        p->inputs[step] = &p->ends[at];
        p->outputs[step] = &p->ends[at + graph->input_count];
        for (i = 0; i < graph->input_count + graph->output_count; ++i, ++at) {
            qnnrt__end *end = p->by_name[at] = &p->ends[at];
            end->output = i >= graph->input_count;
            end->step = (uint32_t)step;
            end->index = (uint32_t)(end->output ? i - graph->input_count : i);
            end->tensor = &(end->output ? graph->outputs : graph->inputs)[end->index];
            end->name = end->tensor->name;
        }
    }
    qnnrt_sort((const void **)(void *)p->by_name, p->end_count, qnnrt__wiring_order);
    return QNNRT_OK;
}

/* Return where an end stands in by_name, or would stand. */
static size_t qnnrt__wiring_bound(const qnnrt_pipeline *p, int called, size_t step, int output,
                                  const char *name)
{
    qnnrt__end key;
    key.name = name;
    key.called = called;
    key.step = (uint32_t)step;
    key.output = output;
    return qnnrt__sort_bound((const void *const *)p->by_name, p->name_count, &key,
                             qnnrt__wiring_order);
}

/* Return 1 if by_name has an end with this name at `at`. */
static int qnnrt__wiring_is(const qnnrt_pipeline *p, size_t at, const char *name)
{
    return at < p->name_count && strcmp(p->by_name[at]->name, name) == 0;
}

/* Find a tensor of a step by its name. Return NULL if there is none. */
static qnnrt__end *qnnrt__wiring_find(const qnnrt_pipeline *p, size_t step, int output,
                                      const char *name)
{
    const size_t at = qnnrt__wiring_bound(p, 0, step, output, name);
    return qnnrt__wiring_is(p, at, name) && p->by_name[at]->step == step &&
                   p->by_name[at]->output == output ? p->by_name[at] : NULL;
}

/* Write what an end is: 'output "hidden" of step 0 (...), float32[1,32,128]'. */
static const char *qnnrt__wiring_say(const qnnrt_pipeline *p, const qnnrt__end *end, char *out,
                                     size_t room)
{
    char where[512], facts[256];
    snprintf(out, room, "%s \"%.160s\" of %s, %s", end->output ? "output" : "input",
             end->tensor->name, qnnrt__wiring_where(p, end->step, where, sizeof(where)),
             qnnrt_tensor_text(end->tensor, facts, sizeof(facts)));
    return out;
}

static void qnnrt__wiring_connect(qnnrt__end *from, qnnrt__end *to, const char *reason)
{
    to->source = from;
    to->reason = reason;
    from->readers += 1;
}

/* Connect an output with an input that must fit it. */
static qnnrt_result qnnrt__wiring_match(const qnnrt_pipeline *p, qnnrt__end *from, qnnrt__end *to,
                                        const char *reason, qnnrt_error *err)
{
    char a[1024], b[1024], c[160];
    if (qnnrt__compare_order(from->tensor, to->tensor) == 0) {
        qnnrt__wiring_connect(from, to, reason);
        return QNNRT_OK;
    }
    QNNRT__FAIL(err, QNNRT_E_MISMATCH, "%s and %s (%s) do not fit%s",
                qnnrt__wiring_say(p, from, a, sizeof(a)), qnnrt__wiring_say(p, to, b, sizeof(b)),
                reason, qnnrt__compare_first(&from->tensor->quant, &to->tensor->quant, c,
                                             sizeof(c)));
    if (p->arena == &p->model->arena) return QNNRT_E_MISMATCH;
    return QNNRT__HINT(err, QNNRT_E_MISMATCH, "If both mean the same values, convert one to the"
                                              " other between them, see tools/qnnrt_convert.h.");
}

/* Apply rule 1: connect each input with the nearest earlier output of its name. Ends with the same
   name are sorted by step, so the last output seen is the nearest. */
static qnnrt_result qnnrt__wiring_by_name(const qnnrt_pipeline *p, qnnrt_error *err)
{
    qnnrt__end *producer = NULL;
    qnnrt_result result = QNNRT_OK;
    size_t at;
    for (at = 0; at < p->end_count && result == QNNRT_OK; ++at) {
        qnnrt__end *end = p->by_name[at];
        if (at == 0 || !qnnrt__wiring_is(p, at - 1, end->name)) producer = NULL;
        if (end->output) {
            if (p->steps[end->step].kind != QNNRT_STEP_DERIVED) producer = end;
        } else if (producer != NULL && end->source == NULL && end->constant == NULL) {
            result = qnnrt__wiring_match(p, producer, end, "equal names", err);
        }
    }
    return result;
}

static int qnnrt__wiring_share_order(const void *a, const void *b)
{
    const qnnrt__end *x = (const qnnrt__end *)a, *y = (const qnnrt__end *)b;
    int order = strcmp(x->name, y->name);
    if (order == 0) order = qnnrt__compare_order(x->tensor, y->tensor);
    return order != 0 ? order : x->step < y->step ? -1 : x->step > y->step;
}

/* Join inputs to one value if they have the same name and equal facts and no edge feeds them: each
   with the nearest earlier one. */
static qnnrt_result qnnrt__wiring_share(const qnnrt_pipeline *p, qnnrt_error *err)
{
    const qnnrt_hooks *hooks = &p->arena->hooks;
    qnnrt__end **inputs =
        (qnnrt__end **)qnnrt__mem_alloc(hooks, (uint64_t)p->end_count * sizeof(*inputs));
    size_t i, count = 0;
    if (inputs == NULL) return qnnrt__fail_memory(err, "a pipeline");
    for (i = 0; i < p->end_count; ++i) {
        qnnrt__end *end = &p->ends[i];
        if (!end->output && !end->apart && end->source == NULL && end->constant == NULL)
            inputs[count++] = end;
    }
    qnnrt_sort((const void **)(void *)inputs, count, qnnrt__wiring_share_order);
    for (i = 1; i < count; ++i)
        if (strcmp(inputs[i - 1]->name, inputs[i]->name) == 0 &&
            qnnrt__compare_order(inputs[i - 1]->tensor, inputs[i]->tensor) == 0)
            qnnrt__wiring_connect(inputs[i - 1], inputs[i], NULL);
    qnnrt__mem_free(hooks, (void *)inputs);
    return QNNRT_OK;
}

/* Fail because nothing joins two steps, and list up to three candidates of each. */
static qnnrt_result qnnrt__wiring_unjoined(const qnnrt_pipeline *p, uint32_t before, uint32_t step,
                                           uint64_t pairs, qnnrt_error *err)
{
    char a[1024];
    unsigned shown[2] = { 0, 0 };
    size_t i;
    QNNRT__FAIL(err, QNNRT_E_MISMATCH, "nothing joins step %u and %s: ", (unsigned)before,
                qnnrt__wiring_where(p, step, a, sizeof(a)));
    qnnrt_error_add(
        err,
        pairs == 0 ? "no unmatched output fits an unmatched input"
                   : "%llu pairs of unmatched tensors fit, and nothing tells which belong together",
        (unsigned long long)pairs);
    for (i = 0; i < p->end_count; ++i) {
        const qnnrt__end *end = &p->ends[i];
        if (end->step != (end->output ? before : step) || end->source != NULL || end->readers > 0)
            continue;
        if (++shown[end->output] <= 3)
            qnnrt_error_add(err, "\n  %s", qnnrt__wiring_say(p, end, a, sizeof(a)));
    }
    for (i = 2; i-- > 0;) {
        const char *what = i > 0 ? "output" : "input";
        if (shown[i] > 3) qnnrt_error_add(err, "\n  ... and %u more %ss", shown[i] - 3, what);
        if (shown[i] == 0) qnnrt_error_add(err, "\n  (no unmatched %s)", what);
    }
    return QNNRT__HINT(err, QNNRT_E_MISMATCH,
                       "Give the edges to qnnrt_pipeline_make(), or call the graphs one by one.");
}

/* Return 1 if an earlier step takes an input of this name and these facts from the caller: a mask
   or positions. Then this step does, too. */
static int qnnrt__wiring_callers(const qnnrt_pipeline *p, const qnnrt__end *input, uint64_t *looks)
{
    size_t at = qnnrt__wiring_bound(p, 0, 0, 0, input->name);
    for (; qnnrt__wiring_is(p, at, input->name) && p->by_name[at]->step < input->step &&
           *looks <= p->model->limits.looks; ++at, ++*looks)
        if (!p->by_name[at]->output && p->by_name[at]->source == NULL &&
            qnnrt__compare_order(p->by_name[at]->tensor, input->tensor) == 0) return 1;
    return 0;
}

/* Apply rule 2 to a step: if no edge leads to it from the step before it, also through a derived
   one, connect the only pair that fits. looks: what that took so far, in all steps. */
static qnnrt_result qnnrt__wiring_by_shape(const qnnrt_pipeline *p, uint32_t step, uint64_t *looks,
                                           qnnrt_error *err)
{
    const size_t inputs = p->steps[step].graph->input_count;
    qnnrt__end *from = NULL, *to = NULL;
    uint32_t at = step;
    uint64_t pairs = 0;
    size_t outputs, i, k;
    if (p->steps[step].kind == QNNRT_STEP_DERIVED) return QNNRT_OK;
    do --at; while (at > 0 && p->steps[at].kind == QNNRT_STEP_DERIVED);
    for (k = 0; k < inputs; ++k) {
        const qnnrt__end *source = p->inputs[step][k].source;
        if (source != NULL && p->steps[source->step].kind == QNNRT_STEP_DERIVED)
            source = p->inputs[source->step][0].source;
        if (source != NULL && source->step == at) return QNNRT_OK;
    }
    outputs = p->steps[at].graph->output_count;
    for (k = 0; k < inputs && pairs <= 1000; ++k) {
        qnnrt__end *input = &p->inputs[step][k];
        if (input->source != NULL || input->constant != NULL ||
            qnnrt__wiring_callers(p, input, looks)) continue;
        *looks += (uint64_t)outputs * (1 + (uint64_t)input->tensor->quant.count);
        if (*looks > p->model->limits.looks)
            return QNNRT__FAIL(err, QNNRT_E_LIMIT,
                               "steps %u and %u have too many tensors to look for a pair that fits"
                               " with limits.looks (%u)", (unsigned)at, (unsigned)step,
                               (unsigned)p->model->limits.looks);
        for (i = 0; i < outputs; ++i) {
            qnnrt__end *output = &p->outputs[at][i];
            if (output->readers > 0 || qnnrt__compare_order(output->tensor, input->tensor) != 0)
                continue;
            from = output;
            to = input;
            ++pairs;
        }
    }
    if (pairs != 1) return qnnrt__wiring_unjoined(p, at, step, pairs, err);
    qnnrt__wiring_connect(from, to, "the only pair that fits");
    return QNNRT_OK;
}

/* Connect an edge that the caller gave. */
static qnnrt_result qnnrt__wiring_edge(const qnnrt_pipeline *p, const qnnrt_edge_desc *edge,
                                       qnnrt_error *err)
{
    char where[512];
    qnnrt__end *from, *to;
    if (edge->from == NULL || edge->to == NULL || edge->to_step >= p->info.step_count ||
        edge->from_step >= edge->to_step)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "expected two names, and a step before the other; it"
                           " leads from step %llu to step %llu of %u",
                           (unsigned long long)edge->from_step, (unsigned long long)edge->to_step,
                           (unsigned)p->info.step_count);
    from = qnnrt__wiring_find(p, edge->from_step, 1, edge->from);
    to = qnnrt__wiring_find(p, edge->to_step, 0, edge->to);
    if (from == NULL || to == NULL)
        return QNNRT__FAIL(err, QNNRT_E_NOT_FOUND, "%s has no %s \"%.200s\"",
                           qnnrt__wiring_where(p, (uint32_t)(from == NULL ? edge->from_step
                                                                          : edge->to_step),
                                               where, sizeof(where)),
                           from == NULL ? "output" : "input", from == NULL ? edge->from : edge->to);
    if (to->source != NULL)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "input \"%.200s\" already has an edge", edge->to);
    return qnnrt__wiring_match(p, from, to, p->steps[from->step].kind == QNNRT_STEP_DERIVED ||
                                            p->steps[to->step].kind == QNNRT_STEP_DERIVED
                                                ? "given, converted" : "given", err);
}

/* Apply what a use says about an input: its constant, or that it shares no slot. */
static qnnrt_result qnnrt__wiring_use(const qnnrt_pipeline *p, const qnnrt_use_desc *use,
                                      qnnrt_error *err)
{
    const int of_input = use->apart || use->constant != NULL || use->has_range;
    qnnrt__end *end;
    char facts[256];
    if (use->tensor == NULL || use->step >= p->info.step_count)
        return QNNRT__FAIL(err, QNNRT_E_ARG, use->tensor == NULL ? "it has no tensor"
                                                                 : "there is no such step");
    end = qnnrt__wiring_find(p, use->step, use->output != 0, use->tensor);
    if (end == NULL) return QNNRT__FAIL(err, QNNRT_E_NOT_FOUND, "there is no such tensor");
    if (use->output && of_input)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "only inputs are apart, or have a constant or range");
    if (!of_input && !use->in_buffer && use->name == NULL)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "no name, buffer, constant or range, and not apart");
    end->apart |= use->apart != 0;
    if (use->constant == NULL) return QNNRT_OK;
    if (end->source != NULL || end->constant != NULL)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "it already has %s",
                           end->source != NULL ? "an edge" : "a constant");
    if (use->constant_bytes < end->tensor->bytes)
        return QNNRT__FAIL(err, QNNRT_E_MISMATCH, "%s needs %llu bytes, the constant has %llu",
                           qnnrt_tensor_text(end->tensor, facts, sizeof(facts)),
                           (unsigned long long)end->tensor->bytes,
                           (unsigned long long)use->constant_bytes);
    end->constant = use->constant;
    return QNNRT_OK;
}

/* Say which use failed. Return result. */
static qnnrt_result qnnrt__wiring_use_about(const qnnrt_pipeline *p, const qnnrt_use_desc *use,
                                            size_t at, qnnrt_result result, qnnrt_error *err)
{
    char where[512];
    if (use->step < p->info.step_count)
        qnnrt__wiring_where(p, (uint32_t)use->step, where, sizeof(where));
    else snprintf(where, sizeof(where), "step %llu", (unsigned long long)use->step);
    return qnnrt_error_about(err, result, "use %u, %s \"%.200s\" of %s: ", (unsigned)at,
                             use->output ? "output" : "input",
                             use->tensor != NULL ? use->tensor : "", where);
}

/* =====================================================================================
   SLOTS                                                                        >>slot
   Numbers the values that flow through a wired pipeline, and finds them by name.
   Needs: >>size >>sort >>mem >>err >>dtype >>scan >>model >>wiring
   Knows nothing of: memory, execution
   ===================================================================================== */

QNNRT_API const char *qnnrt_role_name(qnnrt_role role)
{
    static const char *const names[] = { "tensor", "input", "output", "edge", "constant" };
    return names[(unsigned)role <= QNNRT_ROLE_CONSTANT ? role : QNNRT_ROLE_ANY];
}

/* Add an end to the slot of its source, or begin a slot with it. The slot of an edge is listed. */
static void qnnrt__slot_of_end(qnnrt_pipeline *p, qnnrt__end *end, qnnrt_edge_info *edges)
{
    qnnrt__end *source = end->source;
    qnnrt_slot *slot;
    if (source != NULL && source->source != NULL) end->source = source = source->source;
    end->slot = source != NULL ? source->slot : p->info.slot_count++;
    slot = &p->slots[end->slot];
    slot->last = end->step;
    if (source == NULL) {
        slot->tensor = end->tensor;
        slot->constant = end->constant;
        slot->role = end->constant != NULL ? QNNRT_ROLE_CONSTANT
                     : !end->output        ? QNNRT_ROLE_INPUT
                     : end->readers > 0    ? QNNRT_ROLE_EDGE
                                           : QNNRT_ROLE_OUTPUT;
        slot->first = end->step;
    } else if (source->output) {
        qnnrt_edge_info *edge = &edges[p->info.edge_count++];
        edge->from_step = source->step;
        edge->to_step = end->step;
        edge->from = source->tensor;
        edge->to = end->tensor;
        edge->slot = slot;
        edge->reason = end->reason;
    }
}

/* Number the slots in the order in which steps list their tensors, and describe them. A source
   stands before the ends that have it. */
static qnnrt_result qnnrt__slot_number(qnnrt_pipeline *p, qnnrt_error *err)
{
    size_t slots = 0, i;
    qnnrt_edge_info *edges;
    const qnnrt_slot **inputs, **outputs;
    for (i = 0; i < p->end_count; ++i) slots += p->ends[i].source == NULL;
    p->slots = (qnnrt_slot *)qnnrt__arena_alloc(p->arena, slots, sizeof(*p->slots));
    inputs = (const qnnrt_slot **)qnnrt__arena_alloc(p->arena, slots, sizeof(*inputs));
    edges = (qnnrt_edge_info *)qnnrt__arena_alloc(p->arena, p->end_count - slots, sizeof(*edges));
    if (p->slots == NULL || inputs == NULL || edges == NULL)
        return qnnrt__fail_memory(err, "a pipeline");
    p->info.slots = p->slots;
    p->info.edges = edges;
    for (i = 0; i < p->end_count; ++i) qnnrt__slot_of_end(p, &p->ends[i], edges);
    for (i = 0; i < slots; ++i)
        if (p->slots[i].role == QNNRT_ROLE_INPUT) inputs[p->info.input_count++] = &p->slots[i];
    outputs = inputs + p->info.input_count;
    for (i = 0; i < slots; ++i)
        if (p->slots[i].role == QNNRT_ROLE_OUTPUT) outputs[p->info.output_count++] = &p->slots[i];
    p->info.inputs = inputs;
    p->info.outputs = outputs;
    return QNNRT_OK;
}

/* Return the index of a slot, or slot_count when it is not one of this pipeline. */
static size_t qnnrt__slot_index(const qnnrt_pipeline *p, const qnnrt_slot *slot)
{
    const size_t at = (size_t)((uintptr_t)slot - (uintptr_t)p->slots) / sizeof(*slot);
    return at < p->info.slot_count ? at : p->info.slot_count;
}

/* ---- names ---- */

/* Read "<number>/<name>". Return 0 if text does not have that form. */
static int qnnrt__slot_qualified(const char *text, uint64_t *number, const char **name)
{
    *name = text;
    if (!qnnrt__scan_number(name, number) || **name != '/') return 0;
    ++*name;
    return 1;
}

/* Make the text "<number>/<name>". */
static const char *qnnrt__slot_qualify(qnnrt__arena *arena, size_t number, const char *name)
{
    const size_t room = strlen(name) + 24;
    char *text = (char *)qnnrt__arena_alloc(arena, room, 1);
    if (text != NULL) snprintf(text, room, "%llu/%s", (unsigned long long)number, name);
    return text;
}

/* Find what users call by a name. Return NULL if there is no such name. */
static const qnnrt__end *qnnrt__slot_called(const qnnrt_pipeline *p, const char *name)
{
    const size_t at = qnnrt__wiring_bound(p, 1, 0, 0, name);
    return qnnrt__wiring_is(p, at, name) && p->by_name[at]->called ? p->by_name[at] : NULL;
}

/* Return 1 if a derived step writes the slot of an end. */
static int qnnrt__slot_derived(const qnnrt_pipeline *p, const qnnrt__end *end)
{
    const qnnrt_slot *slot = &p->slots[end->slot];
    return (slot->role == QNNRT_ROLE_EDGE || slot->role == QNNRT_ROLE_OUTPUT) &&
           p->steps[slot->first].kind == QNNRT_STEP_DERIVED;
}

/* Find the slot of a tensor by its name, role and step (-1: any step). Prefer a slot that begins at
   the step to one that only passes through; without a step, prefer one that no derived step
   writes. Return how many were found: 0, 1, or 2 for several. */
static int qnnrt__slot_means(const qnnrt_pipeline *p, const char *name, qnnrt_role role,
                             int64_t step, const qnnrt_slot **slot)
{
    const size_t begin = qnnrt__wiring_bound(p, 0, step >= 0 ? (size_t)step : 0, 0, name);
    size_t at;
    int pass, found = 0;
    for (pass = 0; pass < 2 && found == 0; ++pass)
        for (at = begin; qnnrt__wiring_is(p, at, name); ++at) {
            const qnnrt__end *it = p->by_name[at];
            const qnnrt_slot *is = &p->slots[it->slot];
            if (step >= 0 && it->step != (uint32_t)step) break;
            if (pass == 0 && (step >= 0 ? it->source != NULL : qnnrt__slot_derived(p, it)))
                continue;
            if (role != QNNRT_ROLE_ANY && is->role != role) continue;
            if (found == 1 && *slot != is) return 2;
            *slot = is;
            found = 1;
        }
    return found;
}

/* Give each slot the shortest text that finds it together with its role: what users call it, else
   its name if no other slot has it, else "<step>/<name>". What derived steps write does not take
   the name from a tensor that a graph or a host step has. */
static qnnrt_result qnnrt__slot_address(qnnrt_pipeline *p, qnnrt_error *err)
{
    size_t i;
    for (i = 0; i < p->end_count; ++i) {
        const qnnrt__end *end = &p->ends[i];
        const char *name = end->tensor->name, *rest;
        const qnnrt_slot *found;
        qnnrt_slot *slot = &p->slots[end->slot];
        uint64_t step;
        if (slot->address != NULL) continue;
        slot->address =
            qnnrt__slot_derived(p, end) || qnnrt__slot_called(p, name) != NULL ||
                    qnnrt__slot_qualified(name, &step, &rest) ||
                    qnnrt__slot_means(p, name, slot->role, -1, &found) != 1
                ? qnnrt__slot_qualify(p->arena, end->step, name) : name;
        if (slot->address == NULL) return qnnrt__fail_memory(err, "a pipeline");
    }
    return QNNRT_OK;
}

/* ---- uses ---- */

/* Give a slot the name of a use. */
static qnnrt_result qnnrt__slot_use_name(qnnrt_pipeline *p, const qnnrt_use_desc *use,
                                         const qnnrt__end *end, qnnrt_error *err)
{
    qnnrt__end *called = &p->ends[p->end_count + p->info.name_count];
    const char *rest;
    uint64_t step;
    if (use->name[0] == '\0' || qnnrt__slot_qualified(use->name, &step, &rest))
        return QNNRT__FAIL(err, QNNRT_E_ARG, "its name is \"%.200s\"; expected one that is not"
                           " empty and not like \"<step>/<tensor>\"", use->name);
    *called = *end;
    called->called = 1;
    called->name = qnnrt_arena_text(p->arena, use->name, strlen(use->name));
    if (called->name == NULL) return qnnrt__fail_memory(err, "a pipeline");
    p->by_name[p->end_count + p->info.name_count++] = called;
    p->slots[end->slot].address = called->name;
    return QNNRT_OK;
}

/* Add the names that uses gave to the index, and list them. */
static qnnrt_result qnnrt__slot_names(qnnrt_pipeline *p, qnnrt_error *err)
{
    qnnrt_name_info *names = (qnnrt_name_info *)qnnrt__arena_alloc(p->arena, p->info.name_count,
                                                                   sizeof(*names));
    size_t i, count = 0;
    if (names == NULL) return qnnrt__fail_memory(err, "a pipeline");
    p->info.names = names;
    if (p->info.name_count == 0) return QNNRT_OK;
    p->name_count = p->end_count + p->info.name_count;
    qnnrt_sort((const void **)(void *)p->by_name, p->name_count, qnnrt__wiring_order);
    for (i = 0; i < p->name_count; ++i) {
        if (!p->by_name[i]->called) continue;
        names[count].name = p->by_name[i]->name;
        names[count].slot = &p->slots[p->by_name[i]->slot];
        if (count > 0 && strcmp(names[count - 1].name, names[count].name) == 0)
            return QNNRT__FAIL(err, QNNRT_E_ARG, "the name \"%.200s\" is given twice",
                               names[count].name);
        ++count;
    }
    return QNNRT_OK;
}

/* Apply what a use says about the slot of an end: its name, place or range. */
static qnnrt_result qnnrt__slot_use(qnnrt_pipeline *p, const qnnrt_use_desc *use,
                                    const qnnrt__end *end, qnnrt_place_desc *places,
                                    qnnrt_error *err)
{
    qnnrt_slot *slot = &p->slots[end->slot];
    qnnrt_result result = use->name != NULL ? qnnrt__slot_use_name(p, use, end, err) : QNNRT_OK;
    if (use->in_buffer && result == QNNRT_OK) {
        const uint64_t bytes = slot->tensor->bytes;
        qnnrt_place_desc *to = &places[p->info.place_count++];
        if (use->buffer >= p->info.buffer_count ||
            !qnnrt__size_within(use->offset, bytes, p->info.buffers[use->buffer].bytes))
            return QNNRT__FAIL(err, QNNRT_E_ARG, "it needs %llu bytes from %llu on, but buffer %u"
                               " of %u has %llu", (unsigned long long)bytes,
                               (unsigned long long)use->offset, (unsigned)use->buffer,
                               (unsigned)p->info.buffer_count,
                               use->buffer >= p->info.buffer_count ? 0
                                   : (unsigned long long)p->info.buffers[use->buffer].bytes);
        to->slot = slot;
        to->buffer = use->buffer;
        to->offset = use->offset;
    }
    if (!use->has_range || result != QNNRT_OK) return result;
    if (slot->role != QNNRT_ROLE_INPUT || slot->tensor->dtype != QNNRT_DTYPE_I32)
        return QNNRT__FAIL(err, slot->role != QNNRT_ROLE_INPUT ? QNNRT_E_ARG : QNNRT_E_MISMATCH,
                           "it is %s %s of %s; a range expects an input of int32 that the caller"
                           " writes", slot->role == QNNRT_ROLE_CONSTANT ? "a" : "an",
                           qnnrt_role_name(slot->role), qnnrt_dtype_name(slot->tensor->dtype));
    if (!slot->has_range || use->low > slot->low) slot->low = use->low;
    if (!slot->has_range || use->high < slot->high) slot->high = use->high;
    slot->has_range = 1;
    return slot->low <= slot->high ? QNNRT_OK
                                   : QNNRT__FAIL(err, QNNRT_E_ARG, "it takes no value: its range is"
                                                 " %d to %d", (int)slot->low, (int)slot->high);
}

/* Copy the buffers of a description, and apply what uses say about slots. */
static qnnrt_result qnnrt__slot_uses(qnnrt_pipeline *p, const qnnrt_pipeline_desc *desc,
                                     qnnrt_error *err)
{
    qnnrt_buffer_desc *buffers = (qnnrt_buffer_desc *)qnnrt__arena_alloc(
        p->arena, desc->buffer_count, sizeof(*buffers));
    qnnrt_place_desc *places;
    size_t i, count = 0;
    for (i = 0; i < desc->use_count; ++i) count += desc->uses[i].in_buffer != 0;
    places = (qnnrt_place_desc *)qnnrt__arena_alloc(p->arena, count, sizeof(*places));
    if (buffers == NULL || places == NULL) return qnnrt__fail_memory(err, "a pipeline");
    p->info.buffers = buffers;
    p->info.buffer_count = desc->buffer_count;
    p->info.places = places;
    for (i = 0; i < desc->buffer_count; ++i) {
        const char *name = desc->buffers[i].name;
        buffers[i] = desc->buffers[i];
        if (name != NULL) buffers[i].name = qnnrt_arena_text(p->arena, name, strlen(name));
        if (name != NULL && buffers[i].name == NULL) return qnnrt__fail_memory(err, "a pipeline");
    }
    for (i = 0; i < desc->use_count; ++i) {
        const qnnrt_use_desc *use = &desc->uses[i];
        const qnnrt_result result = qnnrt__slot_use(
            p, use, qnnrt__wiring_find(p, use->step, use->output != 0, use->tensor), places, err);
        if (result != QNNRT_OK) return qnnrt__wiring_use_about(p, use, i, result, err);
    }
    return qnnrt__slot_names(p, err);
}

/* ---- look-up ---- */

/* Refuse a slot that does not belong to a pipeline. `where` begins the error text ("place 3: "). If
   another pipeline of the model has it, the text says which. */
static qnnrt_result qnnrt__slot_foreign(const qnnrt_pipeline *p, const qnnrt_slot *slot,
                                        const char *where, qnnrt_error *err)
{
    size_t i;
    QNNRT__FAIL(err, QNNRT_E_ARG, "%spipeline \"%.200s\" does not have this slot", where,
                p->info.name);
    for (i = 0; i < p->model->info.pipeline_count + p->model->single_count; ++i) {
        const qnnrt_pipeline *other = p->model->pipelines[i];
        if (qnnrt__slot_index(other, slot) == other->info.slot_count) continue;
        qnnrt_error_add(err, "; it is \"%.160s\" of pipeline \"%.160s\"", slot->address,
                        other->info.name);
        break;
    }
    return QNNRT__HINT(err, QNNRT_E_ARG,
                       "Find the slot with qnnrt_slot_find() in the pipeline that it is used for.");
}

/* Append the addresses of the slots of a role, of one name unless it is NULL. */
static void qnnrt__slot_list(const qnnrt_pipeline *p, qnnrt_role role, const char *name,
                             qnnrt_error *err)
{
    size_t i;
    unsigned count = 0;
    for (i = 0; i < p->info.slot_count; ++i) {
        const qnnrt_slot *slot = &p->slots[i];
        if ((role != QNNRT_ROLE_ANY && slot->role != role) ||
            (name != NULL && strcmp(slot->tensor->name, name) != 0)) continue;
        if (++count > 10) continue;
        if (name != NULL) qnnrt_error_add(err, "\n  %s", qnnrt_role_name(slot->role));
        qnnrt_error_add(err, " \"%.80s\"", slot->address);
    }
    if (count > 10) qnnrt_error_add(err, " and %u more", count - 10);
}

/* Find the only slot of a role. */
static qnnrt_result qnnrt__slot_only(const qnnrt_pipeline *p, qnnrt_role role,
                                     const qnnrt_slot **out, qnnrt_error *err)
{
    const char *word = qnnrt_role_name(role);
    unsigned count = 0;
    size_t i;
    for (i = 0; i < p->info.slot_count; ++i) {
        if (p->slots[i].role != role) continue;
        *out = &p->slots[i];
        ++count;
    }
    if (count == 1) return QNNRT_OK;
    *out = NULL;
    if (count == 0)
        return QNNRT__FAIL(err, QNNRT_E_NOT_FOUND, "pipeline \"%.200s\" has no %s", p->info.name,
                           word);
    QNNRT__FAIL(err, QNNRT_E_ARG, "pipeline \"%.160s\" has %u %ss, so one must be named:",
                p->info.name, count, word);
    qnnrt__slot_list(p, role, NULL, err);
    return QNNRT__HINT(err, QNNRT_E_ARG, "Name the %s.", word);
}

/* Refuse to use a pipeline that has a failure. */
static qnnrt_result qnnrt__slot_unwired(const qnnrt_pipeline *p, qnnrt_error *err)
{
    QNNRT__FAIL(err, QNNRT_E_MISMATCH, "pipeline \"%.200s\" could not be wired: ", p->info.name);
    qnnrt__err_text(err, p->info.failure->text, strlen(p->info.failure->text));
    QNNRT__HINT(err, QNNRT_E_MISMATCH, "%s", p->info.failure->hint);
    return QNNRT__HINT(err, QNNRT_E_MISMATCH,
                       "Take all parts from one build, or give the edges to"
                       " qnnrt_pipeline_make().");
}

/* A tensor may be named like an address: the address goes first, so that every address finds its
   slot. */
QNNRT_API qnnrt_result qnnrt_slot_find(const qnnrt_pipeline *p, const char *name, qnnrt_role role,
                                       const qnnrt_slot **out, qnnrt_error *err)
{
    const qnnrt__end *called;
    const char *rest;
    uint64_t step;
    int found = 0;
    const qnnrt_result result = qnnrt__err_begin("qnnrt_slot_find", "pipeline", p, out, err);
    if (result != QNNRT_OK) return result;
    if ((unsigned)role > QNNRT_ROLE_CONSTANT)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_slot_find: the role is unknown");
    if (p->info.failure != NULL) return qnnrt__slot_unwired(p, err);
    if (name == NULL)
        return qnnrt__slot_only(p, role == QNNRT_ROLE_ANY ? QNNRT_ROLE_INPUT : role, out, err);
    called = qnnrt__slot_called(p, name);
    if (called != NULL && (role == QNNRT_ROLE_ANY || p->slots[called->slot].role == role)) {
        *out = &p->slots[called->slot];
        return QNNRT_OK;
    }
    if (qnnrt__slot_qualified(name, &step, &rest))
        found = qnnrt__slot_means(p, rest, role, (int64_t)step, out);
    if (found == 0) {
        rest = name;
        found = qnnrt__slot_means(p, name, role, -1, out);
    }
    if (found == 1) return QNNRT_OK;
    *out = NULL;
    if (found > 1) {
        QNNRT__FAIL(err, QNNRT_E_ARG, "pipeline \"%.160s\": \"%.200s\" names several tensors:",
                    p->info.name, name);
        qnnrt__slot_list(p, role, rest, err);
        return QNNRT__HINT(err, QNNRT_E_ARG, "Give one of these, or its role (qnnrt_slot_find).");
    }
    QNNRT__FAIL(err, QNNRT_E_NOT_FOUND, "pipeline \"%.160s\" has no %s \"%.200s\"\n  it has:",
                p->info.name, qnnrt_role_name(role), name);
    qnnrt__slot_list(p, role, NULL, err);
    return QNNRT_E_NOT_FOUND;
}

/* =====================================================================================
   PIPELINE                                                                 >>pipeline
   Graphs in order: those that belong together by their names, and those that the caller joins.
   Needs: >>os >>mem >>err >>log >>scan >>model >>program >>wiring >>slot
   Knows nothing of: memory, execution
   ===================================================================================== */

/* Wire a pipeline whose steps are set. */
static qnnrt_result qnnrt__pipeline_wire(qnnrt_pipeline *p, const qnnrt_pipeline_desc *desc,
                                         qnnrt_error *err)
{
    const int rules = !desc->edges_only;
    uint64_t looks = 0;
    uint32_t step;
    size_t i, names = 0;
    qnnrt_result result = qnnrt__wiring_hooks(p, err);
    for (i = 0; i < desc->use_count; ++i) names += desc->uses[i].name != NULL;
    if (result == QNNRT_OK) result = qnnrt__wiring_ends(p, names, err);
    for (i = 0; i < desc->edge_count && result == QNNRT_OK; ++i) {
        result = qnnrt__wiring_edge(p, &desc->edges[i], err);
        if (result != QNNRT_OK) qnnrt_error_about(err, result, "edge %u: ", (unsigned)i);
    }
    for (i = 0; i < desc->use_count && result == QNNRT_OK; ++i) {
        result = qnnrt__wiring_use(p, &desc->uses[i], err);
        if (result != QNNRT_OK) qnnrt__wiring_use_about(p, &desc->uses[i], i, result, err);
    }
    if (result == QNNRT_OK && rules) result = qnnrt__wiring_by_name(p, err);
    for (step = 1; step < p->info.step_count && rules && result == QNNRT_OK; ++step)
        result = qnnrt__wiring_by_shape(p, step, &looks, err);
    if (result == QNNRT_OK) result = qnnrt__wiring_share(p, err);
    if (result == QNNRT_OK) result = qnnrt__slot_number(p, err);
    if (result == QNNRT_OK) result = qnnrt__slot_uses(p, desc, err);
    return result == QNNRT_OK ? qnnrt__slot_address(p, err) : result;
}

/* Make a pipeline of a description whose pointers were checked and whose name is in the arena, for
   the caller or for a model. *out is NULL or, if it could not be wired, incomplete. model: of its
   first graph. */
static qnnrt_result qnnrt__pipeline_build(qnnrt__arena *arena, const qnnrt *model,
                                          const qnnrt_pipeline_desc *desc, qnnrt_pipeline **out,
                                          qnnrt_error *err)
{
    qnnrt_pipeline *p = (qnnrt_pipeline *)qnnrt__arena_alloc(arena, 1, sizeof(*p));
    qnnrt_result result = QNNRT_OK;
    size_t i;
    *out = NULL;
    if (p == NULL || arena->failed != QNNRT_OK) return qnnrt__fail_memory(err, "a pipeline");
    p->self = p;
    p->arena = arena;
    p->model = model;
    p->info.name = desc->name;
    p->info.step_count = desc->step_count;
    p->info.steps = p->steps =
        (qnnrt_step_info *)qnnrt__arena_alloc(arena, desc->step_count, sizeof(*p->steps));
    if (p->steps == NULL) return qnnrt__fail_memory(err, "a pipeline");
    for (i = 0; i < desc->step_count && result == QNNRT_OK; ++i)
        result = desc->steps[i].host != NULL
                     ? qnnrt__program_host(arena, &model->limits, desc->steps[i].host, i,
                                           &p->steps[i], err)
                     : qnnrt__program_graph(&p->steps[i], &desc->steps[i], i, err);
    if (result != QNNRT_OK) return result;
    *out = p;
    return qnnrt__pipeline_wire(p, desc, err);
}

/* Count a user of the models of a pipeline, or with -1 one less. */
static void qnnrt__pipeline_hold_models(const qnnrt_pipeline *p, int by)
{
    size_t step;
    for (step = 0; step < p->info.step_count; ++step)
        if (p->steps[step].model != NULL)
            qnnrt__os_count(&p->steps[step].model->self->users, by);
}

/* Return a model without contexts, for a pipeline of host steps alone; NULL when out of memory. */
static const qnnrt *qnnrt__pipeline_alone(qnnrt__arena *arena)
{
    qnnrt *model = (qnnrt *)qnnrt__arena_alloc(arena, 1, sizeof(*model));
    if (model == NULL) return NULL;
    arena->hooks.lock = arena->hooks.unlock = NULL;     /* host steps take none */
    model->arena.hooks = arena->hooks;
    qnnrt__model_limits(&model->limits, &model->limits);
    return model;
}

QNNRT_API qnnrt_result qnnrt_pipeline_make(const qnnrt_pipeline_desc *desc, qnnrt_pipeline **out,
                                           qnnrt_error *err)
{
    const qnnrt_step_desc *first, *end;
    const qnnrt *model;
    qnnrt_pipeline_desc named;
    qnnrt__arena arena;
    qnnrt_pipeline *p;
    qnnrt_result result = qnnrt__err_begin("qnnrt_pipeline_make", "desc", desc, out, err);
    if (result != QNNRT_OK) return result;
    if (desc->steps == NULL || desc->step_count == 0 ||
        (desc->edges == NULL && desc->edge_count > 0) ||
        (desc->uses == NULL && desc->use_count > 0) ||
        (desc->buffers == NULL && desc->buffer_count > 0))
        return QNNRT__FAIL(err, QNNRT_E_ARG,
                           "qnnrt_pipeline_make: desc has no steps, or edges, uses or buffers are"
                           " NULL with a count");
    named = *desc;
    first = desc->steps;
    end = first + desc->step_count;
    while (first < end && (first->host != NULL || first->model == NULL)) ++first;
    memset(&arena, 0, sizeof(arena));
    if (first < end) arena.hooks = first->model->arena.hooks;
    else if (desc->hooks != NULL) arena.hooks = *desc->hooks;
    if ((arena.hooks.alloc == NULL) != (arena.hooks.free == NULL))
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_pipeline_make: hooks need alloc and free");
    if (desc->step_count < 8) arena.chunk = 1024;      /* a program may have thousands of them */
    model = first < end ? first->model : qnnrt__pipeline_alone(&arena);
    if (model == NULL) return qnnrt__fail_memory(err, "a pipeline");
    if (desc->step_count > model->limits.steps) {
        result = QNNRT__FAIL(err, QNNRT_E_LIMIT, "a pipeline of %llu steps, more than limits.steps"
                             " (%u)", (unsigned long long)desc->step_count,
                             (unsigned)model->limits.steps);
        qnnrt_arena_free(&arena);
        return result;
    }
    if (named.name == NULL && first < end) named.name = first->graph;
    else if (named.name == NULL && first[-1].host != NULL) named.name = first[-1].host->name;
    if (named.name != NULL)
        named.name = qnnrt_arena_text(&arena, named.name, strlen(named.name));
    result = qnnrt__pipeline_build(&arena, model, &named, &p, err);
    if (result != QNNRT_OK) {
        qnnrt_arena_free(&arena);
        return result;
    }
    p->own_arena = arena;
    p->arena = &p->own_arena;
    qnnrt__pipeline_hold_models(p, 1);
    *out = p;
    return QNNRT_OK;
}

QNNRT_API qnnrt_result qnnrt_pipeline_destroy(qnnrt_pipeline *pipeline)
{
    qnnrt__arena arena;
    if (pipeline == NULL) return QNNRT_OK;
    if (pipeline->arena == &pipeline->model->arena) return QNNRT_E_ARG;
    if (qnnrt__os_load(&pipeline->users) > 0)
        return qnnrt__log_busy(&pipeline->model->arena.hooks, "a made pipeline", pipeline->users);
    qnnrt__pipeline_hold_models(pipeline, -1);
    arena = pipeline->own_arena;      /* the pipeline lives in it */
    qnnrt_arena_free(&arena);
    return QNNRT_OK;
}

QNNRT_API const qnnrt_pipeline_info *qnnrt_pipeline_get_info(const qnnrt_pipeline *pipeline)
{
    return pipeline != NULL ? &pipeline->info : NULL;
}

/* ---- pipelines that names join ---- */

/* State of the search for graphs that form one pipeline. */
typedef struct qnnrt__join {
    qnnrt            *model;
    unsigned char   **used;         /* [context] -> [graph] */
    qnnrt_step_desc  *steps;        /* of the pipeline that is sought; room for one of a context */
    unsigned char   **marks;        /* of the graph of each step, in used */
    size_t            step_count;
} qnnrt__join;

enum { QNNRT__PIPELINE_NUMBERS = 16 };      /* tried per name; a name can have hundreds */

/* Add a graph to the steps. Return 0 if the context has none of this name that is not used. */
static int qnnrt__pipeline_take(qnnrt__join *join, size_t context, const char *name)
{
    const qnnrt_graph_info *graph = qnnrt__model_graph(join->model, context, name);
    qnnrt_step_desc *step = &join->steps[join->step_count];
    unsigned char *mark;
    if (graph == NULL) return 0;
    mark = &join->used[context][graph - join->model->infos[context].graphs];
    if (*mark) return 0;
    step->model = join->model;
    step->context = context;
    step->graph = graph->name;
    join->marks[join->step_count++] = mark;
    return 1;
}

/* Find graphs whose names are equal except for the number of the shard. Each number in the name of
   the first graph that can be the first shard's is tried. Return -1 when out of memory. */
static int qnnrt__pipeline_by_number(qnnrt__join *join, const char *name)
{
    size_t at = 0, digits, k, room = strlen(name) + 24;
    char *expect = (char *)qnnrt__mem_alloc(&join->model->arena.hooks, room);
    int found = 0, tried = 0;
    if (expect == NULL) return -1;
    for (; name[at] != '\0' && !found && tried < QNNRT__PIPELINE_NUMBERS; at += digits) {
        const char *from = name + at;
        uint64_t value;
        digits = strspn(from, QNNRT__SCAN_DIGITS);
        found = qnnrt__scan_number(&from, &value) && value <= 1;
        tried += found;
        join->step_count = 0;
        for (k = 0; k < join->model->info.context_count && found; ++k) {
            snprintf(expect, room, "%.*s%0*llu%s", (int)at, name, (int)digits,
                     (unsigned long long)(value + k), name + at + digits);
            found = qnnrt__pipeline_take(join, k, expect);
        }
        if (digits == 0) digits = 1;
    }
    qnnrt__mem_free(&join->model->arena.hooks, expect);
    return found;
}

/* Make a pipeline of graphs of a model, one of a context each. If it cannot be wired, it keeps the
   reason. name: in the arena; NULL: the first graph's, without the number of its shard. */
static qnnrt_result qnnrt__pipeline_of(qnnrt *model, const qnnrt_step_desc *steps, size_t count,
                                       const char *name, qnnrt_pipeline **out, qnnrt_error *err)
{
    qnnrt_pipeline_desc desc;
    qnnrt_error failure, *kept;
    qnnrt_result result;
    size_t k, begin;
    uint64_t index, total;
    memset(&desc, 0, sizeof(desc));
    qnnrt_error_clear(&failure);
    desc.steps = steps;
    desc.step_count = count;
    desc.name = name != NULL ? name : steps[0].graph;
    if (name == NULL &&
        qnnrt__scan_suffix(desc.name, strlen(desc.name), &begin, &index, &total) && begin > 0 &&
        index == 1 && total == count)
        desc.name = qnnrt_arena_text(&model->arena, desc.name, begin);
    result = qnnrt__pipeline_build(&model->arena, model, &desc, out, &failure);
    /* If a shard is missing, it is unknown which graphs belong together, and a part of a model
       must not look like the whole model. */
    for (k = 0; k < model->info.context_count && result == QNNRT_OK && name == NULL; ++k)
        if (model->infos[k].failure != NULL)
            result = QNNRT__FAIL(&failure, QNNRT_E_STATE,
                                 "%s did not load; the graphs of the other files are found as"
                                 " \"<context>/<graph>\"", model->infos[k].file);
    if (result == QNNRT_OK) return QNNRT_OK;
    kept = (qnnrt_error *)qnnrt__arena_alloc(&model->arena, 1, sizeof(*kept));
    if (result == QNNRT_E_MEMORY || kept == NULL) return qnnrt__fail_memory(err, "pipelines");
    *kept = failure;
    (*out)->info.failure = kept;
    (*out)->info.slot_count = (*out)->info.edge_count = 0;
    qnnrt_log(&model->arena.hooks, QNNRT_LOG_WARN, "pipeline", 0, "\"%s\" is not wired:",
              desc.name);
    qnnrt__log_error(&model->arena.hooks, QNNRT_LOG_WARN, "pipeline", "", kept);
    return QNNRT_OK;
}

typedef enum qnnrt__pipeline_rule {
    QNNRT__PIPELINE_BY_NAME,    /* graphs of equal names, or whose names differ in the shard's
                                   number */
    QNNRT__PIPELINE_IN_ORDER,   /* the only graph of each context, in the order of the files */
    QNNRT__PIPELINE_ALONE       /* each graph that is left */
} qnnrt__pipeline_rule;

/* Make the pipelines of a rule. */
static qnnrt_result qnnrt__pipeline_join(qnnrt__join *join, qnnrt__pipeline_rule rule,
                                         qnnrt_error *err)
{
    qnnrt *model = join->model;
    size_t k, g, c;
    for (k = 0; k < model->info.context_count; ++k)
        for (g = 0; g < model->infos[k].graph_count; ++g) {
            const char *name = model->infos[k].graphs[g].name;
            qnnrt_result result;
            int found = 1;
            if (join->used[k][g]) continue;
            join->step_count = 0;
            for (c = 0; c < model->info.context_count; ++c)
                if (rule != QNNRT__PIPELINE_ALONE || c == k)
                    qnnrt__pipeline_take(join, c, rule == QNNRT__PIPELINE_IN_ORDER
                                                      ? model->infos[c].graphs[0].name : name);
            if (rule == QNNRT__PIPELINE_BY_NAME && join->step_count < 2)
                found = k == 0 ? qnnrt__pipeline_by_number(join, name) : 0;
            if (found < 0) return qnnrt__fail_memory(err, "pipelines");
            if (!found) continue;
            for (c = 0; c < join->step_count; ++c) *join->marks[c] = 1;
            result = qnnrt__pipeline_of(model, join->steps, join->step_count, NULL,
                                        &model->pipelines[model->info.pipeline_count++], err);
            if (result != QNNRT_OK) return result;
        }
    return QNNRT_OK;
}

/* Make pipelines of single graphs, of all that only pipelines of several graphs have, or one that
   is not wired. */
static qnnrt_result qnnrt__pipeline_singles(qnnrt *model, qnnrt_error *err)
{
    qnnrt_pipeline **to = &model->pipelines[model->info.pipeline_count];
    qnnrt_result result = QNNRT_OK;
    size_t i, s;
    for (i = 0; i < model->info.pipeline_count; ++i) {
        const qnnrt_pipeline *p = model->pipelines[i];
        if (p->info.step_count == 1 && p->info.failure == NULL) continue;
        for (s = 0; s < p->info.step_count && result == QNNRT_OK; ++s) {
            const qnnrt_step_info *from = &p->steps[s];
            const char *name;
            qnnrt_step_desc step;
            memset(&step, 0, sizeof(step));
            step.model = model;
            step.context = from->context;
            step.graph = from->graph->name;
            name = qnnrt__slot_qualify(&model->arena, step.context, step.graph);
            result = qnnrt__pipeline_of(model, &step, 1, name, &to[model->single_count++], err);
        }
    }
    return result;
}

/* Find the pipelines of a model whose tables are complete: those that names join, and those of
   single graphs. */
static qnnrt_result qnnrt__pipeline_discover(qnnrt *model, qnnrt_error *err)
{
    const size_t contexts = model->info.context_count;
    qnnrt__pipeline_rule rest = QNNRT__PIPELINE_IN_ORDER;
    qnnrt__join join;
    qnnrt__arena scratch;
    qnnrt_result result = QNNRT_OK;
    size_t k, graphs = 0;
    memset(&scratch, 0, sizeof(scratch));
    scratch.hooks = model->arena.hooks;
    join.model = model;
    join.used = (unsigned char **)qnnrt__arena_alloc(&scratch, contexts, sizeof(*join.used));
    join.marks = (unsigned char **)qnnrt__arena_alloc(&scratch, contexts, sizeof(*join.marks));
    join.steps = (qnnrt_step_desc *)qnnrt__arena_alloc(&scratch, contexts, sizeof(*join.steps));
    for (k = 0; k < contexts && scratch.failed == QNNRT_OK; ++k) {
        const size_t count = model->infos[k].graph_count;
        if (count != 1) rest = QNNRT__PIPELINE_ALONE;
        graphs += count;
        join.used[k] = (unsigned char *)qnnrt__arena_alloc(&scratch, count, 1);
    }
    model->pipelines = (qnnrt_pipeline **)qnnrt__arena_alloc(
        &model->arena, (uint64_t)graphs * 2, sizeof(*model->pipelines));
    model->info.pipelines = (const qnnrt_pipeline *const *)model->pipelines;
    if (model->pipelines == NULL || scratch.failed != QNNRT_OK)
        result = qnnrt__fail_memory(err, "pipelines");
    else if ((uint64_t)graphs * contexts > model->limits.looks)
        result = QNNRT__FAIL(err, QNNRT_E_LIMIT,
                             "%u graphs in %u contexts: too many to look for pipelines with"
                             " limits.looks (%u)", (unsigned)graphs, (unsigned)contexts,
                             (unsigned)model->limits.looks);
    if (result == QNNRT_OK && contexts > 1)
        result = qnnrt__pipeline_join(&join, QNNRT__PIPELINE_BY_NAME, err);
    if (model->info.pipeline_count > 0) rest = QNNRT__PIPELINE_ALONE;
    if (result == QNNRT_OK) result = qnnrt__pipeline_join(&join, rest, err);
    if (result == QNNRT_OK) result = qnnrt__pipeline_singles(model, err);
    qnnrt_arena_free(&scratch);
    return result;
}

/* Ways to name a pipeline, in the order in which they are tried. */
typedef enum qnnrt__pipeline_way {
    QNNRT__PIPELINE_NAMED, QNNRT__PIPELINE_WITH_GRAPH, QNNRT__PIPELINE_SINGLE, QNNRT__PIPELINE_WAYS
} qnnrt__pipeline_way;

/* Return 1 if a name means a pipeline. */
static int qnnrt__pipeline_is(const qnnrt_pipeline *p, const char *name, int way)
{
    const char *graph = name;
    uint64_t context;
    size_t step = 0;
    if (way == QNNRT__PIPELINE_NAMED) return strcmp(p->info.name, name) == 0;
    if (way == QNNRT__PIPELINE_SINGLE &&
        (!qnnrt__slot_qualified(name, &context, &graph) || p->info.step_count != 1 ||
         p->info.failure != NULL || p->steps[0].context != context)) return 0;
    while (step < p->info.step_count && strcmp(p->steps[step].graph->name, graph) != 0) ++step;
    return step < p->info.step_count;
}

QNNRT_API qnnrt_result qnnrt_pipeline_find(const qnnrt *model, const char *name,
                                           const qnnrt_pipeline **out, qnnrt_error *err)
{
    const qnnrt_pipeline *found = NULL;
    size_t i, matches = 0;
    int way;
    qnnrt_result result = qnnrt__err_begin("qnnrt_pipeline_find", "model", model, out, err);
    if (result != QNNRT_OK) return result;
    if (name == NULL && model->info.pipeline_count == 1) name = model->pipelines[0]->info.name;
    for (way = 0; way < QNNRT__PIPELINE_WAYS && matches == 0 && name != NULL; ++way)
        for (i = 0; i < model->info.pipeline_count +
                            (way == QNNRT__PIPELINE_SINGLE ? model->single_count : 0); ++i) {
            if (!qnnrt__pipeline_is(model->pipelines[i], name, way)) continue;
            found = model->pipelines[i];
            ++matches;
        }
    if (matches == 1) {
        if (found->info.failure != NULL) return qnnrt__slot_unwired(found, err);
        *out = found;
        return QNNRT_OK;
    }
    result = matches > 1 ? QNNRT_E_ARG : QNNRT_E_NOT_FOUND;
    if (name == NULL)
        QNNRT__FAIL(err, result, "the model has %u pipelines, but no name is given",
                    (unsigned)model->info.pipeline_count);
    else
        QNNRT__FAIL(err, result, matches > 1 ? "\"%.200s\" names several pipelines"
                                             : "no pipeline or graph \"%.200s\"", name);
    qnnrt_error_add(err, "\n  it has:");
    for (i = 0; i < model->info.pipeline_count && i < 8; ++i)
        qnnrt_error_add(err, " \"%.100s\"%s", model->pipelines[i]->info.name,
                        model->pipelines[i]->info.failure != NULL ? " (not wired)" : "");
    if (i < model->info.pipeline_count)
        qnnrt_error_add(err, " and %u more", (unsigned)(model->info.pipeline_count - i));
    return QNNRT__HINT(err, result, "Give the name of one of them.");
}

/* =====================================================================================
   METADATA                                                                 >>metadata
   Reads the graphs and tensors of one context from libQnnSystem.so, from JSON, or from both;
   the two must agree.
   Needs: >>os >>mem >>err >>table >>compare >>system >>read_json >>backend >>context >>model
   Knows nothing of: folders, pipelines
   ===================================================================================== */

/* The sources of one context. */
typedef struct qnnrt__metadata_source {
    qnnrt_file  file;                   /* with its name in messages */
    const char *json;                   /* that of its JSON, as long as the model lives, or NULL */
    int         binary;                 /* 1: it has a binary, as a path or as data */
} qnnrt__metadata_source;

#ifndef QNNRT_NO_JSON
/* Check the size of a text. */
static qnnrt_result qnnrt__metadata_size(const qnnrt *model, const char *name, uint64_t bytes,
                                         qnnrt_error *err)
{
    if (bytes <= model->limits.json_bytes) return QNNRT_OK;
    return QNNRT__FAIL(err, QNNRT_E_LIMIT,
                       "%s has %llu bytes, more than limits.json_bytes (%llu)", name,
                       (unsigned long long)bytes, (unsigned long long)model->limits.json_bytes);
}

/* Read a text file into memory that the caller frees. It is not mapped, so that nobody can change
   it while it is parsed. */
static qnnrt_result qnnrt__metadata_text(const qnnrt *model, const char *path, void **text,
                                         size_t *bytes, qnnrt_error *err)
{
    qnnrt__os_file file;
    const char *why = qnnrt__os_file_open(path, &file);
    qnnrt_result result = QNNRT_OK;
    *text = NULL;
    *bytes = (size_t)file.bytes;
    if (why == NULL) result = qnnrt__metadata_size(model, path, file.bytes, err);
    if (why == NULL && result == QNNRT_OK) {
        *text = qnnrt__mem_raw(&model->arena.hooks, file.bytes);
        if (*text == NULL) result = qnnrt__fail_memory(err, "a text");
        else why = qnnrt__os_file_read(&file, *text, file.bytes);
    }
    if (why != NULL) result = qnnrt__fail_file(err, path, why, file.missing);
    qnnrt__os_file_close(&file);
    if (result == QNNRT_OK) return result;
    qnnrt__mem_free(&model->arena.hooks, *text);
    *text = NULL;
    return result;
}

/* Read the JSON of a context into the table's memory. */
static qnnrt_result qnnrt__metadata_json(const qnnrt *model, const qnnrt__metadata_source *source,
                                         qnnrt__table *table, qnnrt_context_info *info)
{
    const char *text = source->file.json_data;
    size_t bytes = source->file.json_bytes;
    void *owned = NULL;
    qnnrt_result result;
    const qnnrt__context_kind *kind;
    table->file = source->json;
    if (text != NULL) {
        result = qnnrt__metadata_size(model, source->json, bytes, table->err);
    } else {
        result = qnnrt__metadata_text(model, source->file.json_path, &owned, &bytes, table->err);
        text = (const char *)owned;
    }
    if (result == QNNRT_OK) result = qnnrt__read_json(table, text, bytes, info);
    if (result != QNNRT_OK && source->binary)
        QNNRT__HINT(table->err, result, "Make it again from the binary, remove it, or set"
                    " desc.metadata to QNNRT_METADATA_SYSTEM.");
    if (result == QNNRT_E_FORMAT) {
        kind = qnnrt__context_look((const unsigned char *)text, bytes);
        if (kind != NULL && kind != &qnnrt__context_kinds[QNNRT__CONTEXT_TEXT])
            qnnrt_error_add(table->err, "\n  it looks like %s%s", kind->text,
                            kind == &qnnrt__context_kinds[QNNRT__CONTEXT_VENDOR]
                                ? "; what is needed here is the JSON made from one" : "");
        QNNRT__HINT(table->err, result, "Take the text that qnnrt-run inspect --json_file, or"
                    " qnn-context-binary-utility, makes from the binary.");
    }
    qnnrt__mem_free(&model->arena.hooks, owned);
    return result;
}

/* Read the JSON into memory of its own and compare it with what the binary says. */
static qnnrt_result qnnrt__metadata_cross_check(const qnnrt *model,
                                                const qnnrt__metadata_source *source,
                                                qnnrt__table *table, const qnnrt_context_info *info)
{
    /* The same tensors are counted once, for the binary. */
    uint32_t tensors_left = model->limits.tensors, scales_left = model->limits.scales;
    qnnrt__arena aside;
    qnnrt_context_info second;
    qnnrt_result result;
    memset(&second, 0, sizeof(second));
    memset(&aside, 0, sizeof(aside));
    aside.hooks = model->arena.hooks;
    table->arena = &aside;
    table->tensors_left = &tensors_left;
    table->scales_left = &scales_left;
    result = qnnrt__metadata_json(model, source, table, &second);
    table->file = info->file;
    if (result == QNNRT_OK)
        result = qnnrt__compare(table, info, &second, "the binary", source->json);
    qnnrt_arena_free(&aside);
    return result;
}
#endif

/* Read graphs and tensors of one context from the sources that exist. */
static qnnrt_result qnnrt__metadata_read(qnnrt *model, qnnrt__context *context,
                                         const qnnrt__metadata_source *source,
                                         const qnnrt__system *system, qnnrt_metadata which,
                                         qnnrt_error *err)
{
    qnnrt_context_info *info = context->info;
    const qnnrt_backend *b = context->info->backend;
    const int json = source->json != NULL && which != QNNRT_METADATA_SYSTEM;
    qnnrt_result result = QNNRT_OK;
    qnnrt__table table = qnnrt__model_table(model, info->file, err);
    if (source->binary && system->library != NULL) {
        qnnrt__hooks_lock(&model->arena.hooks);
        /* A system interface in the backend's own library logs to the backend's slot. */
        result = qnnrt__system_read(system, &table, context->binary, context->bytes,
                                    b != NULL && strcmp(b->path, system->path) == 0 ? b->log_slot
                                                                                    : -1, info);
        qnnrt__hooks_unlock(&model->arena.hooks);
        /* An interface that belongs to a backend reads only the binaries of that backend. */
        if (result == QNNRT_E_FORMAT && err->vendor_code != 0)
            qnnrt__context_explain(info->file, context->binary, context->bytes,
                                   qnnrt__os_library_symbol(system->library,
                                                            "QnnInterface_getProviders") != NULL,
                                   err);
        info->from_system = result == QNNRT_OK;
    } else if (!json) {
        return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_NOT_FOUND, "%s has no JSON beside it, but"
                                            " desc.metadata asks for it", info->file),
                           "Make it with qnnrt-run inspect --json_file, as <name>_json.json for a"
                           " <name>.bin.");
    }
#ifndef QNNRT_NO_JSON
    if (result == QNNRT_OK && json) {
        info->json_file = source->json;
        result = info->from_system ? qnnrt__metadata_cross_check(model, source, &table, info)
                                   : qnnrt__metadata_json(model, source, &table, info);
        info->from_json = result == QNNRT_OK;
    }
#endif
    if (result == QNNRT_OK && source->binary && info->blob_bytes > context->bytes)
        result = QNNRT__FAIL(
            err, QNNRT_E_MISMATCH,
            "%s has %llu bytes, and %s says that its blob alone has %llu: it was cut"
            " short, or the JSON is of another build",
            info->file, (unsigned long long)context->bytes,
            info->from_system ? "its metadata" : info->json_file,
            (unsigned long long)info->blob_bytes);
    return result;
}

#ifndef QNNRT_NO_JSON
/* =====================================================================================
   FOLDER                                                                         >>folder
   Reads what a folder says about itself: which binaries form the model, from genie_config.json,
   and whether qnnrt.json has a program.
   Needs: >>os >>mem >>err >>log >>record >>model >>scan >>metadata, and qnnrt_json.h
   Knows nothing of: backends, pipelines
   ===================================================================================== */

/* Begin to read a JSON file of a folder, into *text. path receives its path. */
static qnnrt_result qnnrt__folder_begin(const qnnrt *model, const char *folder, const char *name,
                                        char path[QNNRT__PATH_MAX], void **text,
                                        qnnrt_json_reader *r, qnnrt_error *err)
{
    size_t bytes;
    qnnrt_result result;
    if (!qnnrt__os_path_join(path, folder, strlen(folder), name))
        return QNNRT__FAIL(err, QNNRT_E_ARG, "the path of %.200s is longer than %d bytes", folder,
                           QNNRT__PATH_MAX);
    result = qnnrt__metadata_text(model, path, text, &bytes, err);
    if (result != QNNRT_OK) return result;
    qnnrt_json_begin(r, (const char *)*text, bytes, &qnnrt__record_limits);
    qnnrt_json_value(r);
    return QNNRT_OK;
}

/* End the reading. A text that is not right JSON is an error. */
static qnnrt_result qnnrt__folder_end(const qnnrt *model, const char *path, void *text,
                                      qnnrt_json_reader *r, qnnrt_error *err)
{
    const int good = qnnrt_json_end(r);
    qnnrt__mem_free(&model->arena.hooks, text);
    if (good) return QNNRT_OK;
    return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_FORMAT, "%s: byte %llu: %s", path,
                                        (unsigned long long)r->error_at, r->error),
                       "Repair, remove or write it again, or name the files in desc.files.");
}

/* Take an element of "ctx-bins" as the next shard. most: limits.files. */
static qnnrt_result qnnrt__folder_bin(qnnrt__scan *scan, const char *folder, uint32_t most,
                                      qnnrt_json_reader *r, qnnrt_error *err)
{
    qnnrt__scan_file *file;
    char name[1024];
    if (qnnrt_json_value(r) != QNNRT_JSON_STRING) {
        if (r->error != NULL) return QNNRT_OK;      /* for qnnrt__folder_end() */
        return QNNRT__FAIL(err, QNNRT_E_FORMAT,
                           "%s/%s: byte %llu: \"ctx-bins\" must contain only names", folder,
                           scan->list, (unsigned long long)(size_t)(r->at - r->begin));
    }
    if (r->value.bytes >= sizeof(name) || qnnrt_json_copy(&r->value, name) != strlen(name))
        return QNNRT__FAIL(err, QNNRT_E_FORMAT, "%s/%s: \"ctx-bins\" holds a name of %u bytes; it"
                           " is too long or contains \\u0000", folder, scan->list,
                           (unsigned)r->value.bytes);
    if (scan->listed >= most)      /* each name is compared with all files */
        return QNNRT__FAIL(err, QNNRT_E_LIMIT, "%s/%s lists more than %u context binaries"
                           " (limits.files)", folder, scan->list, (unsigned)most);
    if (!qnnrt__os_plain_name(name))    /* a path in a file is never followed */
        return QNNRT__FAIL(err, QNNRT_E_FORMAT, "%s/%s: \"ctx-bins\" holds \"%.200s\"; a plain"
                           " name of a file in the folder is expected", folder, scan->list, name);
    file = qnnrt__scan_find(scan, name);
    if (file == NULL || file->kind == QNNRT__SCAN_TEXT)
        return QNNRT__FAIL(err, QNNRT_E_NOT_FOUND, "%s/%s lists \"%.200s\", but the folder has no"
                           " such *.bin", folder, scan->list, name);
    if (file->kind == QNNRT__SCAN_LISTED)
        return QNNRT__FAIL(err, QNNRT_E_FORMAT, "%s/%s lists \"%.200s\" twice", folder, scan->list,
                           name);
    file->kind = QNNRT__SCAN_LISTED;
    file->index = scan->listed++;
    return QNNRT_OK;
}

/* Take the names of the first list "ctx-bins" that is not empty, at any depth. *more receives the
   number of lists after it. */
static qnnrt_result qnnrt__folder_bins(qnnrt__scan *scan, const char *folder, uint32_t most,
                                       qnnrt_json_reader *r, size_t *more, qnnrt_error *err)
{
    qnnrt_result result = QNNRT_OK;
    *more = 0;
    while (r->depth > 0 && r->error == NULL && result == QNNRT_OK) {
        int key;
        if (!qnnrt_json_more(r)) continue;
        key = qnnrt_json_is(&r->key, "ctx-bins");
        if (qnnrt_json_value(r) != QNNRT_JSON_ARRAY || !key) continue;
        if (scan->listed > 0) *more += 1;
        else
            while (result == QNNRT_OK && qnnrt_json_more(r))
                result = qnnrt__folder_bin(scan, folder, most, r, err);
    }
    return result;
}

/* Read from a bundle's genie_config.json which binaries form the model, and in which order. */
static qnnrt_result qnnrt__folder_order(qnnrt *model, qnnrt__scan *scan, const char *folder,
                                        char path[QNNRT__PATH_MAX], qnnrt_error *err)
{
    qnnrt_json_reader r;
    qnnrt_result result, ended;
    void *text = NULL;
    size_t more;
    scan->list = "genie_config.json";
    result = qnnrt__folder_begin(model, folder, scan->list, path, &text, &r, err);
    if (result != QNNRT_OK) return result;
    result = qnnrt__folder_bins(scan, folder, model->limits.files, &r, &more, err);
    ended = qnnrt__folder_end(model, path, text, &r, result == QNNRT_OK ? err : NULL);
    if (result == QNNRT_OK) result = ended;
    if (result == QNNRT_OK && scan->listed == 0)
        qnnrt_log(&model->arena.hooks, QNNRT_LOG_INFO, "model", 0,
                  "%s has no \"ctx-bins\": file names decide which files form the model", path);
    if (result == QNNRT_OK && more > 0)
        qnnrt_log(&model->arena.hooks, QNNRT_LOG_WARN, "model", 0,
                  "%s has %llu lists \"ctx-bins\": the first one is taken, the others are ignored",
                  path, (unsigned long long)more + 1);
    return result;
}

/* Refuse a folder whose qnnrt.json has a program: its files may be for several backends. */
static qnnrt_result qnnrt__folder_refuse(const qnnrt *model, const char *folder,
                                         char path[QNNRT__PATH_MAX], qnnrt_error *err)
{
    qnnrt_json_reader r;
    void *text = NULL;
    int found = 0;
    qnnrt_result result = qnnrt__folder_begin(model, folder, "qnnrt.json", path, &text, &r, err);
    if (result != QNNRT_OK) return result;
    while (qnnrt_json_more(&r)) {
        found |= qnnrt_json_is(&r.key, "program");
        qnnrt_json_skip(&r);
    }
    result = qnnrt__folder_end(model, path, text, &r, err);
    if (result != QNNRT_OK || !found) return result;
    return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "%s has a program, which"
                                        " qnnrt_open() does not read", path),
                       "Open the folder with qnnrt_manifest_open() of qnnrt_manifest.h, or set"
                       " desc.no_manifest to take its files alone.");
}
#endif /* QNNRT_NO_JSON */

/* =====================================================================================
   OPEN                                                                         >>open
   Opens a folder or a list of files: chooses files, loads each, and joins their graphs.
   Needs: >>os >>mem >>err >>log >>abi >>system >>htp >>backend >>context >>scan >>pipeline >>model
          >>resident >>metadata >>folder
   Knows nothing of: memory plans, execution
   ===================================================================================== */

/* Working memory of opening, which is too large for the stack of a small thread. */
typedef struct qnnrt__open_work {
    qnnrt__scan             scan;
    qnnrt__system           system;
    qnnrt__metadata_source *sources;    /* [count] of the files of the model, in shard order */
    size_t                  count;
    char                    path[QNNRT__PATH_MAX];
    qnnrt_error             error, last;
} qnnrt__open_work;

/* Return what is wrong with the arguments of qnnrt_open(), or NULL. */
static const char *qnnrt__open_wrong(const char *ctx_dir, const qnnrt_desc *desc)
{
    if ((ctx_dir == NULL) == (desc->files == NULL))
        return "give a folder or desc.files, one of the two";
    if (ctx_dir != NULL && ctx_dir[0] == '\0') return "the folder's name is empty";
    if (desc->files != NULL && desc->file_count == 0) return "desc.file_count is 0";
    if ((unsigned)desc->metadata > (unsigned)QNNRT_METADATA_JSON)
        return "desc.metadata is not a qnnrt_metadata";
    if ((unsigned)desc->residency > (unsigned)QNNRT_RESIDENT_CALLER)
        return "desc.residency is not a qnnrt_residency";
    if (desc->backend != NULL && desc->inspect)
        return "desc.inspect does not use a backend; leave desc.backend NULL";
    if (desc->context_hooks != NULL && desc->inspect)
        return "desc.inspect does not create contexts; leave desc.context_hooks NULL";
    return NULL;
}

/* Choose the files of a folder. */
static qnnrt_result qnnrt__open_scan(qnnrt *model, qnnrt__open_work *work, const char *folder,
                                     const qnnrt_desc *desc, qnnrt_error *err)
{
    qnnrt__scan *scan = &work->scan;
    qnnrt_result result;
    scan->arena = &model->arena;
    scan->most = model->limits.entries;
    scan->no_texts = desc->metadata == QNNRT_METADATA_SYSTEM;
#ifdef QNNRT_NO_JSON
    scan->no_texts = 1;
#endif
    result = qnnrt__scan_folder(scan, folder, err);
#ifndef QNNRT_NO_JSON
    if (result == QNNRT_OK && scan->manifest && !desc->no_manifest)
        result = qnnrt__folder_refuse(model, folder, work->path, err);
    if (result == QNNRT_OK && scan->genie && scan->binary_count > 0)
        result = qnnrt__folder_order(model, scan, folder, work->path, err);
#else
    if (result == QNNRT_OK && scan->manifest && !desc->no_manifest)
        qnnrt_log(&model->arena.hooks, QNNRT_LOG_WARN, "open", 0,
                  "%s/qnnrt.json is ignored: this program was built with QNNRT_NO_JSON", folder);
#endif
    if (result != QNNRT_OK) return result;
    model->info.folder = qnnrt_arena_text(&model->arena, folder, strlen(folder));
    if (model->info.folder == NULL) return qnnrt__fail_memory(err, "a path");
    return qnnrt__scan_choose(scan, folder, desc->inspect, &model->arena.hooks, err);
}

/* Keep a path of a file in a folder, or with "" the caller's. NULL stays NULL. */
static qnnrt_result qnnrt__open_path(qnnrt *model, qnnrt__open_work *work, const char *folder,
                                     const char **path, qnnrt_error *err)
{
    if (*path == NULL) return QNNRT_OK;
    if (!qnnrt__os_path_join(work->path, folder, strlen(folder), *path))
        return QNNRT__FAIL(err, QNNRT_E_ARG, "the path of %.200s is longer than %d bytes", *path,
                           QNNRT__PATH_MAX);
    *path = qnnrt_arena_text(&model->arena, work->path, strlen(work->path));
    return *path != NULL ? QNNRT_OK : qnnrt__fail_memory(err, "a path");
}

/* Keep the names that a file and its JSON have in messages. `at` is its index, if there are
   several. */
static qnnrt_result qnnrt__open_names(qnnrt *model, qnnrt__metadata_source *source, size_t at,
                                      int several, qnnrt_error *err)
{
    qnnrt_file *file = &source->file;
    const char *slash = file->json_path != NULL ? strrchr(file->json_path, '/') : NULL;
    const char *name = file->name != NULL ? file->name : file->path;
    char text[32];
    source->binary = file->path != NULL || file->data != NULL;
    if (file->json_path != NULL)
        source->json = file->name != NULL && slash != NULL ? slash + 1 : file->json_path;
    else if (file->json_data != NULL) source->json = "(JSON in memory)";
    snprintf(text, sizeof(text), several ? "(memory %u)" : "(memory)", (unsigned)at);
    if (name == NULL) name = text;
    if (!source->binary && source->json != NULL) name = source->json;
    file->name = qnnrt_arena_text(&model->arena, name, strlen(name));
    return file->name != NULL ? QNNRT_OK : qnnrt__fail_memory(err, "names");
}

/* Check that a file of desc.files can be used. */
static qnnrt_result qnnrt__open_usable(const qnnrt__metadata_source *source, size_t at,
                                       const qnnrt_desc *desc, qnnrt_error *err)
{
    int alone = desc->inspect && desc->metadata != QNNRT_METADATA_SYSTEM && source->json != NULL;
#ifdef QNNRT_NO_JSON
    alone = 0;
#endif
    if (!source->binary && !alone)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_open: desc.files[%u] has neither path nor data",
                           (unsigned)at);
#ifdef QNNRT_NO_JSON
    if (source->json != NULL)
        return QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "qnnrt_open: desc.files[%u] names JSON, but"
                           " this program was built with QNNRT_NO_JSON", (unsigned)at);
#endif
    return QNNRT_OK;
}

/* List the files of a model, with complete paths. */
static qnnrt_result qnnrt__open_list(qnnrt *model, const char *folder, const qnnrt_desc *desc,
                                     qnnrt__open_work *work, qnnrt_error *err)
{
    const char *const before = folder != NULL ? folder : "";
    qnnrt_result result = QNNRT_OK;
    size_t i;
    work->count = folder != NULL ? work->scan.count : desc->file_count;
    if (work->count > model->limits.files)
        return QNNRT__FAIL(err, QNNRT_E_LIMIT,
                           "%llu context binaries, more than limits.files (%u)",
                           (unsigned long long)work->count, (unsigned)model->limits.files);
    work->sources = (qnnrt__metadata_source *)qnnrt__arena_alloc(&model->arena, work->count,
                                                                 sizeof(*work->sources));
    if (work->sources == NULL) return qnnrt__fail_memory(err, "files");
    for (i = 0; i < work->count && result == QNNRT_OK; ++i) {
        qnnrt__metadata_source *source = &work->sources[i];
        if (folder == NULL) source->file = desc->files[i];
        else {
            source->file.name = work->scan.files[i]->name;
            source->file.json_path = work->scan.files[i]->json;
            if (work->scan.binary_count > 0) source->file.path = source->file.name;
        }
        result = qnnrt__open_path(model, work, before, &source->file.path, err);
        if (result == QNNRT_OK)
            result = qnnrt__open_path(model, work, before, &source->file.json_path, err);
        if (result == QNNRT_OK) result = qnnrt__open_names(model, source, i, work->count > 1, err);
        if (result == QNNRT_OK && folder == NULL) result = qnnrt__open_usable(source, i, desc, err);
    }
    return result;
}

/* Open the system library if metadata comes from it. It may be missing only if no path was given
   and every context has JSON. */
static qnnrt_result qnnrt__open_system(qnnrt *model, const qnnrt_desc *desc, qnnrt__open_work *work,
                                       qnnrt_error *err)
{
    const qnnrt_backend *b = model->info.backend;
    int binaries = 0, texts = 1;
    uint64_t bytes;
    size_t i;
    qnnrt_result result;
    for (i = 0; i < work->count; ++i) {
        binaries |= work->sources[i].binary;
        texts &= work->sources[i].json != NULL;
    }
    if (desc->metadata == QNNRT_METADATA_JSON || !binaries) return QNNRT_OK;
    result = qnnrt__system_open(desc->system_path, b != NULL ? b->path : desc->backend_desc.path,
                                b != NULL ? QNNRT__SYSTEM_OWN_FIRST : QNNRT__SYSTEM_OWN_SECOND,
                                &model->arena.hooks, &work->system, &work->last);
    if (result == QNNRT_E_LIBRARY && texts && desc->system_path == NULL &&
        desc->metadata == QNNRT_METADATA_ALL) {
        qnnrt__log_error(&model->arena.hooks, QNNRT_LOG_WARN, "model",
                         "metadata comes from JSON alone and is not compared with the binaries: ",
                         &work->last);
        return QNNRT_OK;
    }
    if (result == QNNRT_OK) return result;
    for (i = 0; i < work->count; ++i) {      /* a wrong name is likelier */
        const qnnrt_file *file = &work->sources[i].file;
        qnnrt_result there = QNNRT_OK;
        if (file->data == NULL && file->path != NULL)
            there = qnnrt_file_read(file->path, NULL, 0, &bytes, err);
        if (there == QNNRT_OK && file->json_data == NULL && file->json_path != NULL &&
            desc->metadata == QNNRT_METADATA_ALL)
            there = qnnrt_file_read(file->json_path, NULL, 0, &bytes, err);
        if (there != QNNRT_OK) return there;
    }
    *err = work->last;
    return err->code;
}

static int qnnrt__open_is_htp(const qnnrt_backend *b)
{
    return b != NULL && b->info.id == QNNRT__ABI_BACKEND_HTP;
}

/* Add to an error what the contexts need together, if that may be why one could not be created. */
static void qnnrt__open_explain(const qnnrt *model, size_t at, qnnrt_error *err)
{
    const uint64_t need = model->info.device_bytes + model->infos[at].device_bytes;
    if (need <= QNNRT_DOMAIN_BYTES || !qnnrt__open_is_htp(model->info.backend)) return;
    qnnrt_error_add(err, "\n  with those before it, it needs about %llu bytes on the device; one"
                    " process has about %llu there", (unsigned long long)need,
                    (unsigned long long)QNNRT_DOMAIN_BYTES);
}

/* Create the context of a file that was read, if it is resident from the start. */
static qnnrt_result qnnrt__open_create(qnnrt *model, size_t at, qnnrt_error *err)
{
    qnnrt__context *context = &model->contexts[at];
    qnnrt_context_info *info = context->info;
    qnnrt_result result = qnnrt__model_sort(model, context, err);
    info->device_bytes = qnnrt__htp_device_bytes(info);
    context->graphs = (qnnrt__abi_handle *)qnnrt__arena_alloc(&model->arena, info->graph_count,
                                                              sizeof(*context->graphs));
    if (context->graphs == NULL) return qnnrt__fail_memory(err, "graphs");
    if (result == QNNRT_OK && info->backend != NULL) result = qnnrt__context_check(context, err);
    if (result == QNNRT_OK && info->backend != NULL && model->residency == QNNRT_RESIDENT_ALL) {
        qnnrt__hooks_lock(&info->backend->hooks);
        result = qnnrt__resident_create(model, at, err);
        if (result == QNNRT_OK) qnnrt__context_generations(context);
        qnnrt__hooks_unlock(&info->backend->hooks);
        if (result == QNNRT_E_BACKEND) qnnrt__open_explain(model, at, err);
    }
    return result == QNNRT_OK ? qnnrt__context_unchanged(context, err) : result;
}

/* Open one file. *foreign receives 1 if it is something else than a context binary, as opposed to a
   damaged one: no file at all, or content that the vendor refused and that does not begin like one.
   Empty files and broken links are missing shards. The mapping ends here. */
static qnnrt_result qnnrt__open_file(qnnrt *model, size_t at, const qnnrt__metadata_source *source,
                                     const qnnrt__system *system, qnnrt_metadata which,
                                     int *foreign, qnnrt_error *err)
{
    qnnrt__context *context = &model->contexts[at];
    qnnrt_context_info *info = &model->infos[at];
    const uint64_t began = qnnrt__os_clock_ns();
    qnnrt_result result = QNNRT_OK;
    context->info = info;
    context->from = source->file;
    context->file.fd = -1;
    info->file = source->file.name;
    info->build_id = "";
    info->backend = model->info.backend;
    if (source->binary) result = qnnrt__context_load(context, &model->ways, err);
    if (result == QNNRT_OK)
        result = qnnrt__metadata_read(model, context, source, system, which, err);
    info->metadata_ns = qnnrt__os_clock_ns() - began;
    *foreign = context->file.strange ||
               (result == QNNRT_E_FORMAT && err->vendor_code != 0 &&
                context->bytes == info->file_bytes &&
                !qnnrt__context_looks_right(context->binary, context->bytes));
    if (result == QNNRT_OK) result = qnnrt__open_create(model, at, err);
    qnnrt__context_release_file(context, &model->arena.hooks);
    return result;
}

/* Return the result of a file that did not load, or keep its error for desc.keep_going. */
static qnnrt_result qnnrt__open_forgive(qnnrt *model, size_t at, const qnnrt_desc *desc,
                                        qnnrt_result result, qnnrt_error *err)
{
    qnnrt_error *kept;
    if (result == QNNRT_OK || !desc->keep_going || result == QNNRT_E_MEMORY) return result;
    kept = (qnnrt_error *)qnnrt__arena_alloc(&model->arena, 1, sizeof(*kept));
    if (kept == NULL) return qnnrt__fail_memory(err, "an error");
    *kept = *err;
    qnnrt__hooks_lock(&model->arena.hooks);
    qnnrt__resident_free(model, at);
    qnnrt__hooks_unlock(&model->arena.hooks);
    model->infos[at].failure = kept;
    model->infos[at].graph_count = 0;
    qnnrt__log_error(&model->arena.hooks, QNNRT_LOG_ERROR, "model", "", kept);
    return QNNRT_OK;
}

/* Tell the caller how far the call is. */
static qnnrt_result qnnrt__open_progress(const qnnrt_desc *desc, size_t done, size_t count,
                                         const char *file, qnnrt_error *err)
{
    if (desc->progress == NULL || desc->progress(desc->progress_user, done, count, file) != 0)
        return QNNRT_OK;
    return QNNRT__FAIL(err, QNNRT_E_CANCELLED, "desc.progress ended the call after %u of %u files",
                       (unsigned)done, (unsigned)count);
}

/* Load all files in order. Among the "*.bin" of a scan, files that are not context binaries are
   skipped. */
static qnnrt_result qnnrt__open_load(qnnrt *model, const char *folder, const qnnrt_desc *desc,
                                     qnnrt__open_work *work, qnnrt_error *err)
{
    const size_t count = work->count;
    size_t i, at = 0, loaded = 0;
    model->contexts =
        (qnnrt__context *)qnnrt__arena_alloc(&model->arena, count, sizeof(*model->contexts));
    model->infos =
        (qnnrt_context_info *)qnnrt__arena_alloc(&model->arena, count, sizeof(*model->infos));
    if (model->contexts == NULL || model->infos == NULL) return qnnrt__fail_memory(err, "contexts");
    model->info.contexts = model->infos;
    for (i = 0; i < count; ++i) {
        const qnnrt__metadata_source *source = &work->sources[i];
        int foreign;
        qnnrt_result result = qnnrt__open_progress(desc, i, count, source->file.name, err);
        if (result != QNNRT_OK) return result;
        model->info.context_count = at + 1;
        result = qnnrt__open_file(model, at, source, &work->system, desc->metadata, &foreign, err);
        if (result != QNNRT_OK && foreign && folder != NULL &&
            work->scan.files[0]->kind == QNNRT__SCAN_ANY) {
            qnnrt_log(&model->arena.hooks, QNNRT_LOG_WARN, "model", 0, "%s is left out:",
                      source->file.name);
            qnnrt__log_error(&model->arena.hooks, QNNRT_LOG_WARN, "model", "", err);
            model->info.context_count = at;
            memset(&model->contexts[at], 0, sizeof(model->contexts[at]));
            memset(&model->infos[at], 0, sizeof(model->infos[at]));
            continue;
        }
        result = qnnrt__open_forgive(model, at, desc, result, err);
        if (result != QNNRT_OK) return result;
        loaded += model->infos[at++].failure == NULL;
    }
    if (loaded == 0 && at == 0)         /* every file was foreign */
        return qnnrt_error_about(err, QNNRT_E_FORMAT, "none of the %u *.bin files in %s can be"
                                 " opened; the last one: ", (unsigned)count, folder);
    if (loaded == 0) {
        *err = *model->infos[0].failure;
        return err->code;
    }
    qnnrt_error_clear(err);
    if (model->info.device_bytes > QNNRT_DOMAIN_BYTES && qnnrt__open_is_htp(model->info.backend))
        qnnrt_log(&model->arena.hooks, QNNRT_LOG_WARN, "model", 0,
                  "the contexts need about %llu bytes on the device; one process has about %llu"
                  " there: see \"Residency\" of qnnrt.h",
                  (unsigned long long)model->info.device_bytes,
                  (unsigned long long)QNNRT_DOMAIN_BYTES);
    return qnnrt__open_progress(desc, count, count, "", err);
}

/* Fill a model: choose the files, open the libraries, load, and join the graphs. */
static qnnrt_result qnnrt__open_model(qnnrt *model, const char *ctx_dir, const qnnrt_desc *desc,
                                      qnnrt__open_work *work, qnnrt_error *err)
{
    qnnrt_backend *b = desc->backend;
    qnnrt_result result = QNNRT_OK;
    /* desc.keep_going keeps texts, whether the caller wants them or not. */
    if (err == NULL) err = &work->error;
    if (ctx_dir != NULL) result = qnnrt__open_scan(model, work, ctx_dir, desc, err);
    if (result == QNNRT_OK) result = qnnrt__open_list(model, ctx_dir, desc, work, err);
    if (result == QNNRT_OK && !desc->inspect) {
        if (b == NULL) result = qnnrt_backend_open(&desc->backend_desc, &b, err);
        if (result == QNNRT_OK) qnnrt__model_give(model, b, desc->backend == NULL);
    }
    if (result == QNNRT_OK) result = qnnrt__open_system(model, desc, work, err);
    memcpy(model->system_path, work->system.path, sizeof(model->system_path));
    if (result == QNNRT_OK) result = qnnrt__open_load(model, ctx_dir, desc, work, err);
    return result == QNNRT_OK ? qnnrt__pipeline_discover(model, err) : result;
}

QNNRT_API qnnrt_result qnnrt_open(const char *ctx_dir, const qnnrt_desc *desc, qnnrt **out,
                                  qnnrt_error *err)
{
    qnnrt_desc defaults;
    const qnnrt_hooks *hooks;
    qnnrt__open_work *work;
    qnnrt *model;
    const char *wrong;
    qnnrt_result result = qnnrt__err_begin("qnnrt_open", "out", out, out, err);
    if (result != QNNRT_OK) return result;
    memset(&defaults, 0, sizeof(defaults));
    if (desc == NULL) desc = &defaults;
    wrong = qnnrt__open_wrong(ctx_dir, desc);
    if (wrong != NULL) return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_open: %s", wrong);
#ifdef QNNRT_NO_JSON
    if (desc->metadata == QNNRT_METADATA_JSON)
        return QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "qnnrt_open: desc.metadata asks for JSON, but"
                           " this program was built with QNNRT_NO_JSON");
#endif
    hooks = desc->backend != NULL ? &desc->backend->hooks : &desc->backend_desc.hooks;
    result = qnnrt__backend_hooks(hooks, err);
    if (result != QNNRT_OK) return result;
    model = qnnrt__model_new(hooks, &desc->limits);
    if (model == NULL) return qnnrt__fail_memory(err, "a model");
    model->ways.hooks = &model->arena.hooks;
    model->ways.limits = &model->limits;
    model->ways.read = desc->read;
    model->ways.check = desc->check;
    model->ways.check_user = desc->check_user;
    model->residency = desc->residency;
    model->context_hooks = desc->context_hooks;
    work = (qnnrt__open_work *)qnnrt__mem_alloc(hooks, sizeof(*work));
    result = work != NULL ? qnnrt__open_model(model, ctx_dir, desc, work, err)
                          : qnnrt__fail_memory(err, "a model");
    /* Where the caller wants libraries to be unloaded, this one is, too. */
    if (work != NULL && desc->backend == NULL && desc->backend_desc.unload)
        qnnrt__system_close(&work->system);
    qnnrt__mem_free(hooks, work);
    if (result != QNNRT_OK) {
        qnnrt__model_free(model);
        return qnnrt__hint_general(err, result);
    }
    *out = model;
    return QNNRT_OK;
}

/* =====================================================================================
   PLACE                                                                          >>place
   Slots of pipelines become blocks with lifetimes, and the plan gives them offsets.
   Needs: >>os >>size >>sort >>mem >>err >>log >>dtype >>plan >>model >>wiring >>slot >>pipeline
   Knows nothing of: vendor calls
   ===================================================================================== */

enum { QNNRT__SPOT_NONE, QNNRT__SPOT_BLOCK, QNNRT__SPOT_CALLER, QNNRT__SPOT_CONSTANT };

typedef struct qnnrt__spot {           /* where a slot of an entry lives */
    int      kind;
    size_t   block;
    uint64_t offset;                   /* within the block */
} qnnrt__spot;

typedef struct qnnrt__entry {
    const qnnrt_pipeline *pipeline;
    uint32_t     group;                /* 1 + the first entry of its group */
    uint32_t     begin;                /* its first step on the time line of its group */
    struct qnnrt__entry *next;         /* of its group */
    size_t       block;                /* the first one of its own */
    qnnrt__spot *spots;                /* [slot] */
} qnnrt__entry;

struct qnnrt_plan {
    qnnrt__arena      arena;
    qnnrt_limits      limits;
    qnnrt_plan_info   info;
    qnnrt_plan_block *blocks;
    qnnrt__entry     *entries;
    size_t            entry_count, buffer_count;    /* blocks [0, buffer_count) are the buffers */
    int               per_tensor;      /* qnnrt_plan_desc.per_tensor */
    uint64_t          guard;           /* bytes of a guard page, 0: there are none */
    uint32_t         *aligns;          /* [block] */
    uint32_t          users;           /* mems */
};

/* Count a user of a pipeline, or with -1 one less; it keeps the pipeline and its models. */
static void qnnrt__place_hold(const qnnrt_pipeline *pipeline, int by)
{
    qnnrt__os_count(&pipeline->self->users, by);
    qnnrt__pipeline_hold_models(pipeline, by);
}

/* Put slots where the caller placed them. */
static qnnrt_result qnnrt__place_take(qnnrt_plan *plan, const qnnrt_plan_desc *desc,
                                      qnnrt_error *err)
{
    size_t i, slot;
    for (i = 0; i < desc->place_count; ++i) {
        const qnnrt_place_desc *place = &desc->places[i];
        const qnnrt__entry *entry;
        char where[32];
        qnnrt__spot *spot;
        if (place->entry >= plan->entry_count)
            return QNNRT__FAIL(err, QNNRT_E_ARG, "place %u: the plan does not have entry %llu",
                               (unsigned)i, (unsigned long long)place->entry);
        entry = &plan->entries[place->entry];
        slot = qnnrt__slot_index(entry->pipeline, place->slot);
        if (slot >= entry->pipeline->info.slot_count) {
            snprintf(where, sizeof(where), "place %u: ", (unsigned)i);
            return qnnrt__slot_foreign(entry->pipeline, place->slot, where, err);
        }
        spot = &entry->spots[slot];
        if (place->slot->constant != NULL || spot->kind != QNNRT__SPOT_NONE)
            return QNNRT__FAIL(err, QNNRT_E_ARG, "place %u: \"%.200s\" of entry %u %s", (unsigned)i,
                               place->slot->address, (unsigned)place->entry,
                               place->slot->constant == NULL
                                   ? "already has a place"
                                   : "is a constant, which has its own memory");
        if (place->caller_io) { spot->kind = QNNRT__SPOT_CALLER; continue; }
        if (place->buffer >= plan->buffer_count)
            return QNNRT__FAIL(err, QNNRT_E_ARG, "place %u: the plan does not have buffer %u",
                               (unsigned)i, (unsigned)place->buffer);
        if (!qnnrt__size_within(place->offset, place->slot->tensor->bytes,
                                desc->buffers[place->buffer].bytes))
            return QNNRT__FAIL(
                err, QNNRT_E_ARG,
                "place %u: \"%.200s\" of %llu bytes at offset %llu does not lie within buffer %u"
                " \"%.100s\" of %llu bytes",
                (unsigned)i, place->slot->address,
                (unsigned long long)place->slot->tensor->bytes,
                (unsigned long long)place->offset, (unsigned)place->buffer,
                desc->buffers[place->buffer].name != NULL ? desc->buffers[place->buffer].name : "",
                (unsigned long long)desc->buffers[place->buffer].bytes);
        spot->kind = QNNRT__SPOT_BLOCK;
        spot->block = place->buffer;
        spot->offset = place->offset;
    }
    return QNNRT_OK;
}

/* Bytes of a buffer with the value of a slot, which is written once in each exec. */
typedef struct qnnrt__place_span {
    const qnnrt_place_desc *place;
    uint64_t from, to;                 /* bytes of the buffer */
    uint32_t written;                  /* 0: before the exec; s + 1: by step s */
    uint32_t until;                    /* s + 1: step s is the last to read it; UINT32_MAX: the
                                          caller reads it after the exec */
    uint32_t over;                     /* it may be written over values whose .until is not
                                          greater */
} qnnrt__place_span;

/* Describe a place of a pipeline. A step reads its inputs before it writes, except derived
   ones. */
static void qnnrt__place_span_of(const qnnrt_place_desc *place, const qnnrt_pipeline *p,
                                 qnnrt__place_span *span)
{
    const qnnrt_slot *slot = place->slot;
    const int written = slot->role == QNNRT_ROLE_EDGE || slot->role == QNNRT_ROLE_OUTPUT;
    const int derived = p->steps[slot->first].kind == QNNRT_STEP_DERIVED;
    span->place = place;
    span->from = place->offset;
    span->to = place->offset + slot->tensor->bytes;
    span->written = written ? slot->first + 1 : 0;
    span->until = slot->role == QNNRT_ROLE_OUTPUT ? UINT32_MAX : slot->last + 1;
    span->over = !written ? UINT32_MAX : derived ? slot->first : slot->first + 1;
}

/* Refuse a span that destroys the value of another one. */
static qnnrt_result qnnrt__place_hazard(const qnnrt_plan_desc *desc,
                                        const qnnrt__place_span *other,
                                        const qnnrt__place_span *span, qnnrt_error *err)
{
    const qnnrt_place_desc *place = span->place;
    const qnnrt_pipeline *p = desc->entries[place->entry].pipeline;
    const char *name = desc->buffers[place->buffer].name;
    char writer[512], reader[512];
    qnnrt__wiring_where(p, span->written - 1, writer, sizeof(writer));
    if (other->until == UINT32_MAX) snprintf(reader, sizeof(reader), "which is an output");
    else qnnrt__wiring_where(p, other->until - 1, reader, sizeof(reader));
    return QNNRT__HINT(
        err,
        QNNRT__FAIL(err, QNNRT_E_ARG,
                    "place %u: in buffer %u \"%.100s\", %s writes \"%.200s\" to bytes %llu to %llu,"
                    " over \"%.200s\" at bytes %llu to %llu, %s%s",
                    (unsigned)(place - desc->places), (unsigned)place->buffer,
                    name != NULL ? name : "", writer, place->slot->address,
                    (unsigned long long)span->from, (unsigned long long)span->to,
                    other->place->slot->address, (unsigned long long)other->from,
                    (unsigned long long)other->to,
                    other->until == UINT32_MAX ? "" : "still read by ", reader),
        "Wire the two with an edge, or give each a place of its own.");
}

/* Refuse places of an entry that overlap if a step writes one of them while the value in the other
   is still read: a step may write over values that no later step reads. */
static qnnrt_result qnnrt__place_hazards(const qnnrt_plan_desc *desc, qnnrt__arena *scratch,
                                         qnnrt_error *err)
{
    qnnrt__place_span *spans =
        (qnnrt__place_span *)qnnrt__arena_alloc(scratch, desc->place_count, sizeof(*spans));
    size_t i, k;
    if (spans == NULL) return qnnrt__fail_memory(err, "the places of a plan");
    for (i = 0; i < desc->place_count; ++i) {
        const qnnrt_place_desc *place = &desc->places[i];
        qnnrt__place_span_of(place, desc->entries[place->entry].pipeline, &spans[i]);
        QNNRT__STEP();
        for (k = 0; k < i && !place->caller_io; ++k) {
            const qnnrt__place_span *one = &spans[k], *other = &spans[i];
            if (one->to <= other->from || other->to <= one->from || one->place->caller_io ||
                one->place->entry != place->entry || one->place->buffer != place->buffer) continue;
            if (one->written > other->written) { one = &spans[i]; other = &spans[k]; }
            if (one->until > other->over) return qnnrt__place_hazard(desc, one, other, err);
        }
    }
    return QNNRT_OK;
}

/* Order entries by group; those of group 0 are alone. */
static int qnnrt__place_group_order(const void *a, const void *b)
{
    const qnnrt__entry *x = (const qnnrt__entry *)a, *y = (const qnnrt__entry *)b;
    QNNRT__STEP();
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Give each group the number of its first entry, and put its pipelines one after the other on a
   time line, so that the scratch of two of them is never alive at the same time. */
static void qnnrt__place_groups(qnnrt_plan *plan, const qnnrt_plan_desc *desc, const void **order)
{
    qnnrt__entry *last = NULL;
    uint32_t group = 0;
    size_t e;
    for (e = 0; e < plan->entry_count; ++e) {
        plan->entries[e].pipeline = desc->entries[e].pipeline;
        plan->entries[e].group = desc->entries[e].group;
        order[e] = &plan->entries[e];
    }
    qnnrt_sort(order, plan->entry_count, qnnrt__place_group_order);
    for (e = 0; e < plan->entry_count; ++e) {
        const size_t at = (size_t)((const qnnrt__entry *)order[e] - plan->entries);
        qnnrt__entry *entry = &plan->entries[at];
        if (group != 0 && entry->group == group) {
            last->next = entry;
            entry->group = last->group;
            entry->begin = last->begin + (uint32_t)last->pipeline->info.step_count;
        } else {
            group = entry->group;
            entry->group = (uint32_t)at + 1;
        }
        last = entry;
    }
}

/* Make a block for every slot that does not have a place yet. */
static void qnnrt__place_blocks(qnnrt_plan *plan, const qnnrt_plan_desc *desc)
{
    size_t e, s, block = plan->buffer_count, i;
    for (i = 0; i < plan->buffer_count; ++i) {
        plan->blocks[i].bytes = desc->buffers[i].bytes;
        plan->blocks[i].entry = QNNRT_NO_ENTRY;
        plan->blocks[i].slot = NULL;
        plan->blocks[i].kept = 1;
        plan->aligns[i] =
            desc->buffers[i].align != 0 ? desc->buffers[i].align : (uint32_t)plan->info.align;
    }
    for (e = 0; e < plan->entry_count; ++e) {
        qnnrt__entry *entry = &plan->entries[e];
        const qnnrt_pipeline_info *info = &entry->pipeline->info;
        uint32_t last = (uint32_t)info->step_count - 1;
        entry->block = block;
        for (s = 0; s < info->slot_count; ++s) {
            const qnnrt_slot *slot = &info->slots[s];
            qnnrt_plan_block *b;
            if (slot->constant != NULL) entry->spots[s].kind = QNNRT__SPOT_CONSTANT;
            if (desc->entries[e].caller_io && entry->spots[s].kind == QNNRT__SPOT_NONE &&
                (slot->role == QNNRT_ROLE_INPUT || slot->role == QNNRT_ROLE_OUTPUT))
                entry->spots[s].kind = QNNRT__SPOT_CALLER;
            if (entry->spots[s].kind != QNNRT__SPOT_NONE) continue;
            entry->spots[s].kind = QNNRT__SPOT_BLOCK;
            entry->spots[s].block = block;
            b = &plan->blocks[block];
            b->bytes = slot->tensor->bytes;
            b->entry = e;
            b->slot = slot;
            b->kept = slot->role == QNNRT_ROLE_INPUT &&
                      (!desc->entries[e].reuse_inputs || plan->per_tensor);
            /* An input is alive from the first step on, an output until the last. */
            b->first = entry->begin + (slot->role == QNNRT_ROLE_INPUT ? 0 : slot->first);
            b->last = entry->begin + (slot->role == QNNRT_ROLE_OUTPUT ? last : slot->last);
            plan->aligns[block] = (uint32_t)plan->info.align;
            ++block;
        }
    }
    plan->info.block_count = block;
}

/* The blocks of a region share memory over time. The first region has those that share none: what
   keeps its content, or all with per_tensor. The others have the scratch of a group each. */
typedef struct qnnrt__place_region {
    size_t            count;
    size_t           *blocks;          /* [count] */
    qnnrt__plan_item *items;           /* [count] */
    void             *scratch;
    uint64_t          looks;           /* that the searches of all regions may still take */
} qnnrt__place_region;

/* Add a block to a region of those that share memory over time, or of those that do not. */
static void qnnrt__place_add(const qnnrt_plan *plan, qnnrt__place_region *region, size_t block,
                             int shares)
{
    const qnnrt_plan_block *b = &plan->blocks[block];
    qnnrt__plan_item *item = &region->items[region->count];
    QNNRT__STEP();
    if (shares != (!b->kept && !plan->per_tensor)) return;
    region->blocks[region->count++] = block;
    item->bytes = b->bytes;
    item->align = plan->aligns[block];
    item->first = shares ? b->first : 0;
    item->last = shares ? b->last : 0;
}

/* Give each block pages of its own; it ends, as its elements allow, where its guard page begins. A
   buffer keeps its own alignment. */
static qnnrt_result qnnrt__place_guard(qnnrt_plan *plan)
{
    uint64_t at = 0, padded;
    size_t i;
    for (i = 0; i < plan->info.block_count; ++i) {
        qnnrt_plan_block *b = &plan->blocks[i];
        uint64_t align = plan->aligns[i];
        if (b->slot != NULL)
            align = (qnnrt__dtype_find(b->slot->tensor->dtype)->bits + 7) / 8;
        if (!qnnrt__size_align(b->bytes, align, &padded) || !qnnrt__size_add(at, padded, &at) ||
            !qnnrt__size_align(at, align > plan->guard ? align : plan->guard, &at) ||
            at > SIZE_MAX / 4) return QNNRT_E_LIMIT;
        b->offset = at - padded;
        at += plan->guard;
    }
    plan->info.peak = plan->info.bound = plan->info.naive = at;
    return QNNRT_OK;
}

/* Pack the blocks of a region after the blocks that have a place already, and make it empty. */
static qnnrt_result qnnrt__place_pack(qnnrt_plan *plan, qnnrt__place_region *region)
{
    qnnrt__plan_sums sums;
    uint64_t base, align = 1;
    size_t i;
    qnnrt_result result = qnnrt__plan_pack(region->items, region->count, region->scratch, &sums,
                                           &region->looks);
    if (result != QNNRT_OK) return result;
    for (i = 0; i < region->count; ++i)
        if (region->items[i].align > align) align = region->items[i].align;
    if (!qnnrt__size_align(plan->info.peak, align, &base) ||
        !qnnrt__size_add(plan->info.naive, base - plan->info.peak, &plan->info.naive) ||
        !qnnrt__size_add(plan->info.naive, sums.naive, &plan->info.naive) ||
        !qnnrt__size_add(plan->info.bound, sums.bound, &plan->info.bound) ||
        !qnnrt__size_add(base, sums.peak, &plan->info.peak)) return QNNRT_E_LIMIT;
    for (i = 0; i < region->count; ++i)
        plan->blocks[region->blocks[i]].offset = base + region->items[i].offset;
    region->count = 0;
    return QNNRT_OK;
}

/* Pack the blocks that keep their content, then the scratch of each group. */
static qnnrt_result qnnrt__place_regions(qnnrt_plan *plan, qnnrt__arena *scratch)
{
    const size_t count = plan->info.block_count;
    qnnrt__place_region region;
    qnnrt_result result;
    size_t e, i;
    region.count = 0;
    region.looks = QNNRT__PLAN_LOOKS << 4;      /* half a second on a desktop CPU */
    region.blocks = (size_t *)qnnrt__arena_alloc(scratch, count, sizeof(*region.blocks));
    region.items = (qnnrt__plan_item *)qnnrt__arena_alloc(scratch, count, sizeof(*region.items));
    region.scratch = qnnrt__arena_alloc(scratch, qnnrt__plan_scratch(count), 1);
    if (scratch->failed != QNNRT_OK) return QNNRT_E_MEMORY;
    for (i = 0; i < count; ++i) qnnrt__place_add(plan, &region, i, 0);
    result = qnnrt__place_pack(plan, &region);
    for (e = 0; e < plan->entry_count && result == QNNRT_OK; ++e) {
        const qnnrt__entry *entry = plan->entries[e].group == e + 1 ? &plan->entries[e] : NULL;
        for (; entry != NULL; entry = entry->next)
            for (i = entry->block; i < count && &plan->entries[plan->blocks[i].entry] == entry; ++i)
                qnnrt__place_add(plan, &region, i, 1);
        result = qnnrt__place_pack(plan, &region);
    }
    return result;
}

/* Give all blocks their offsets. */
static qnnrt_result qnnrt__place_offsets(qnnrt_plan *plan, qnnrt__arena *scratch, qnnrt_error *err)
{
    qnnrt_result result;
    size_t i;
    for (i = 0; i < plan->info.block_count; ++i)
        if (plan->aligns[i] > plan->info.align) plan->info.align = plan->aligns[i];
    result = plan->guard != 0 ? qnnrt__place_guard(plan) : qnnrt__place_regions(plan, scratch);
    if (result == QNNRT_E_MEMORY) return qnnrt__fail_memory(err, "planning");
    if (result != QNNRT_OK)
        return QNNRT__FAIL(err, result, "the sizes of the plan pass 2^62 bytes");
    if (plan->info.peak > plan->limits.arena_bytes)
        return QNNRT__FAIL(
            err, QNNRT_E_LIMIT, "the plan needs %llu bytes, more than limits.arena_bytes (%llu)",
            (unsigned long long)plan->info.peak, (unsigned long long)plan->limits.arena_bytes);
    return QNNRT_OK;
}

static qnnrt_result qnnrt__place_check(const qnnrt_plan_desc *desc, qnnrt_error *err)
{
    size_t i, step;
    if (desc->entries == NULL || desc->entry_count == 0)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "a plan needs at least one entry");
    if ((desc->buffers == NULL && desc->buffer_count > 0) ||
        (desc->places == NULL && desc->place_count > 0))
        return QNNRT__FAIL(err, QNNRT_E_ARG,
                           "buffers or places are NULL, but their count is not 0");
    if (desc->align != 0 && !qnnrt__size_power_of_two(desc->align))
        return QNNRT__FAIL(err, QNNRT_E_ARG, "align is %u; it must be a power of two",
                           (unsigned)desc->align);
    for (i = 0; i < desc->buffer_count; ++i)
        if (desc->buffers[i].bytes == 0 ||
            (desc->buffers[i].align != 0 && !qnnrt__size_power_of_two(desc->buffers[i].align)))
            return QNNRT__FAIL(
                err, QNNRT_E_ARG,
                "buffer %u \"%.100s\": %llu bytes, align %u; expected at least one byte and a"
                " power of two",
                (unsigned)i, desc->buffers[i].name != NULL ? desc->buffers[i].name : "",
                (unsigned long long)desc->buffers[i].bytes, (unsigned)desc->buffers[i].align);
    for (i = 0; i < desc->entry_count; ++i) {
        const qnnrt_pipeline *p = desc->entries[i].pipeline;
        char where[512];
        if (p == NULL)
            return QNNRT__FAIL(err, QNNRT_E_ARG, "entry %u of the plan has no pipeline",
                               (unsigned)i);
        if (p->info.failure != NULL) return qnnrt__slot_unwired(p, err);
        for (step = 0; step < p->info.step_count; ++step)
            if (p->steps[step].graph->unsupported != NULL)
                return QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED,
                                   "%s cannot be run by this version: %s",
                                   qnnrt__wiring_where(p, (uint32_t)step, where, sizeof(where)),
                                   p->steps[step].graph->unsupported);
    }
    return QNNRT_OK;
}

static void qnnrt__place_free_plan(qnnrt_plan *plan)
{
    qnnrt_hooks hooks = plan->arena.hooks;
    qnnrt_arena_free(&plan->arena);
    qnnrt__mem_free(&hooks, plan);
}

/* Fill in a plan that has room for all that it will have. */
static qnnrt_result qnnrt__place_fill(qnnrt_plan *plan, const qnnrt_plan_desc *desc,
                                      qnnrt__arena *scratch, qnnrt_error *err)
{
    uint64_t blocks = desc->buffer_count;
    const void **order;
    qnnrt_result result;
    size_t e;
    plan->info.align = desc->align != 0 ? desc->align : 64;
    plan->entry_count = desc->entry_count;
    plan->buffer_count = desc->buffer_count;
    plan->per_tensor = desc->per_tensor;
    plan->guard = desc->guard ? qnnrt__os_page_bytes() : 0;
    plan->entries =
        (qnnrt__entry *)qnnrt__arena_alloc(&plan->arena, plan->entry_count, sizeof(*plan->entries));
    for (e = 0; e < plan->entry_count && plan->entries != NULL; ++e) {
        const size_t slots = desc->entries[e].pipeline->info.slot_count;
        plan->entries[e].spots = (qnnrt__spot *)qnnrt__arena_alloc(&plan->arena, slots,
                                                                   sizeof(qnnrt__spot));
        blocks += slots;
    }
    plan->blocks =
        (qnnrt_plan_block *)qnnrt__arena_alloc(&plan->arena, blocks, sizeof(*plan->blocks));
    plan->aligns = (uint32_t *)qnnrt__arena_alloc(&plan->arena, blocks, sizeof(*plan->aligns));
    plan->info.blocks = plan->blocks;
    order = (const void **)qnnrt__arena_alloc(scratch, plan->entry_count, sizeof(*order));
    if (plan->arena.failed != QNNRT_OK || order == NULL) return qnnrt__fail_memory(err, "a plan");
    qnnrt__place_groups(plan, desc, order);
    result = qnnrt__place_take(plan, desc, err);
    if (result == QNNRT_OK) result = qnnrt__place_hazards(desc, scratch, err);
    if (result != QNNRT_OK) return result;
    qnnrt__place_blocks(plan, desc);
    return qnnrt__place_offsets(plan, scratch, err);
}

static qnnrt_result qnnrt__place_plan(const qnnrt_plan_desc *desc, qnnrt_plan **out,
                                      qnnrt_error *err)
{
    const qnnrt *model;
    qnnrt__arena scratch;
    qnnrt_plan *plan;
    size_t e;
    qnnrt_result result = qnnrt__place_check(desc, err);
    if (result != QNNRT_OK) return result;
    model = desc->entries[0].pipeline->model;
    if (desc->entry_count > model->limits.entries || desc->buffer_count > model->limits.entries ||
        desc->place_count > model->limits.places)       /* each is compared with all others */
        return QNNRT__FAIL(err, QNNRT_E_LIMIT, "a plan of %llu entries, %llu buffers and %llu"
                           " places, more than limits.entries (%u) or limits.places (%u)",
                           (unsigned long long)desc->entry_count,
                           (unsigned long long)desc->buffer_count,
                           (unsigned long long)desc->place_count, (unsigned)model->limits.entries,
                           (unsigned)model->limits.places);
    plan = (qnnrt_plan *)qnnrt__mem_alloc(&model->arena.hooks, sizeof(*plan));
    if (plan == NULL) return qnnrt__fail_memory(err, "a plan");
    memset(&scratch, 0, sizeof(scratch));
    plan->arena.hooks = scratch.hooks = model->arena.hooks;
    plan->limits = model->limits;
    result = qnnrt__place_fill(plan, desc, &scratch, err);
    qnnrt_arena_free(&scratch);
    if (result != QNNRT_OK) {
        qnnrt__place_free_plan(plan);
        return result;
    }
    for (e = 0; e < plan->entry_count; ++e) qnnrt__place_hold(plan->entries[e].pipeline, 1);
    *out = plan;
    return QNNRT_OK;
}

QNNRT_API qnnrt_result qnnrt_plan_create(const qnnrt_plan_desc *desc, qnnrt_plan **out,
                                         qnnrt_error *err)
{
    qnnrt_result result = qnnrt__err_begin("qnnrt_plan_create", "desc", desc, out, err);
    if (result == QNNRT_OK) result = qnnrt__place_plan(desc, out, err);
    return qnnrt__hint_general(err, result);
}

QNNRT_API qnnrt_result qnnrt_plan_destroy(qnnrt_plan *plan)
{
    size_t e;
    if (plan == NULL) return QNNRT_OK;
    if (qnnrt__os_load(&plan->users) > 0)
        return qnnrt__log_busy(&plan->arena.hooks, "a plan", plan->users);
    for (e = 0; e < plan->entry_count; ++e) qnnrt__place_hold(plan->entries[e].pipeline, -1);
    qnnrt__place_free_plan(plan);
    return QNNRT_OK;
}

QNNRT_API const qnnrt_plan_info *qnnrt_plan_get_info(const qnnrt_plan *plan)
{
    return plan != NULL ? &plan->info : NULL;
}

/* =====================================================================================
   AREA                                                                            >>area
   The memory of a plan: it gives the blocks of the plan their addresses.
   Needs: >>os >>size >>mem >>err >>log >>share >>quant >>register >>model >>wiring >>place
   Knows nothing of: how offsets are found, vendor calls
   ===================================================================================== */

struct qnnrt_mem {
    qnnrt__arena   arena;
    qnnrt_plan    *plan;
    unsigned char *data;
    void          *owned;              /* what the allocator gave, or NULL */
    void          *map;                /* pages of our own with guards, or NULL */
    qnnrt__share   shared;
    qnnrt__share  *share;              /* &shared; NULL: plain memory */
    qnnrt_backend *backend;            /* whose lock guards the users of the shared memory */
    size_t         map_bytes;
    qnnrt_buffer_info *buffers;        /* [buffer] */
    qnnrt_mem_info info;
    int           *busy;               /* [group] */
    uint32_t       users;              /* runs */
};

static void qnnrt__area_free(qnnrt_mem *mem)
{
    const qnnrt_hooks hooks = mem->arena.hooks;
    qnnrt__register_leave(&mem->shared);
    if (mem->share != NULL) qnnrt__share_close(mem->share);
    if (mem->map != NULL) qnnrt__os_pages_free(mem->map, mem->map_bytes);
    qnnrt__mem_free(&hooks, mem->owned);
    qnnrt_arena_free(&mem->arena);
    qnnrt__mem_free(&hooks, mem);
}

/* Make the memory one block, from the allocator or of the caller. */
static qnnrt_result qnnrt__area_block(qnnrt_mem *mem, const qnnrt_mem_desc *desc, qnnrt_error *err)
{
    const qnnrt_plan *plan = mem->plan;
    uint64_t align = plan->info.align, need;
    if (desc->data != NULL) {
        if (desc->bytes < plan->info.peak || ((uintptr_t)desc->data & (align - 1)) != 0)
            return QNNRT__FAIL(
                err, QNNRT_E_ARG,
                "the plan needs %llu bytes aligned to %llu; the caller's block has %llu bytes"
                " at an address aligned to %llu",
                (unsigned long long)plan->info.peak, (unsigned long long)align,
                (unsigned long long)desc->bytes,
                (unsigned long long)((uintptr_t)desc->data & (~(uintptr_t)desc->data + 1)));
        mem->data = (unsigned char *)desc->data;
        return QNNRT_OK;
    }
    if (!qnnrt__size_add(plan->info.peak, align, &need) ||
        (mem->owned = qnnrt__mem_raw(&mem->arena.hooks, need)) == NULL)
        return QNNRT__FAIL(err, QNNRT_E_MEMORY, "out of memory for an arena of %llu bytes",
                           (unsigned long long)plan->info.peak);
    mem->data = (unsigned char *)mem->owned + ((~(uintptr_t)mem->owned + 1) & (align - 1));
    return QNNRT_OK;
}

/* Make the memory one block of one kind of shared memory. */
static qnnrt_result qnnrt__area_kind(qnnrt_mem *mem, const qnnrt_mem_desc *desc,
                                     const qnnrt_mem_provider *provider, qnnrt_error *err)
{
    qnnrt_result result;
    if (mem->plan->guard != 0)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "memory with guard pages cannot be shared");
    if (mem->backend == NULL)
        return QNNRT__FAIL(err, QNNRT_E_UNSUPPORTED, "no step runs on a backend that could share"
                           " memory");
    if (desc->data != NULL)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "the caller's block cannot become memory of kind"
                           " \"%.100s\"; leave data NULL",
                           provider->name != NULL ? provider->name : "provider");
    result = qnnrt__share_open(&mem->shared, provider, mem->backend, mem->plan->info.peak,
                               mem->plan->info.align, err);
    if (result == QNNRT_E_LIBRARY || result == QNNRT_E_UNSUPPORTED || result == QNNRT_E_BACKEND)
        return QNNRT__HINT(err, result, "Use QNNRT_MEM_SHARED, which takes plain memory if no kind"
                           " works; on a phone declare libcdsprpc.so with uses-native-library.");
    if (result != QNNRT_OK) return result;
    mem->share = &mem->shared;
    mem->data = mem->shared.data;
    return QNNRT_OK;
}

/* Make the memory of the first kind of shared memory that works; if none does, it stays empty, and
   the reason is kept. */
static qnnrt_result qnnrt__area_shared(qnnrt_mem *mem, const qnnrt_mem_desc *desc,
                                       qnnrt_mem_provider *rpcmem, qnnrt_error *err)
{
    const qnnrt_mem_provider *from;
    qnnrt_error *why = (qnnrt_error *)qnnrt__arena_alloc(&mem->arena, 2, sizeof(*why));
    if (why == NULL) return qnnrt__fail_memory(err, "memory of a plan");
    rpcmem->next = desc->provider.alloc != NULL ? &desc->provider : NULL;
    for (from = rpcmem; from != NULL; from = from->next) {
        if (qnnrt__area_kind(mem, desc, from, &why[1]) == QNNRT_OK) return QNNRT_OK;
        qnnrt_error_add(&why[0], "%s%.500s", from != rpcmem ? "; " : "", why[1].text);
        if (mem->plan->guard != 0 || desc->data != NULL || mem->backend == NULL)
            break;                                                    /* one reason for all */
    }
    mem->info.reason = why[0].text;
    qnnrt__log_error(&mem->arena.hooks, QNNRT_LOG_WARN, "area",
                     "memory is not shared with the device: ", &why[0]);
    return QNNRT_OK;
}

/* Make the memory of pages, with the guard pages of the plan. */
static qnnrt_result qnnrt__area_guard(qnnrt_mem *mem, qnnrt_error *err)
{
    const qnnrt_plan_info *info = &mem->plan->info;
    const uint64_t page = mem->plan->guard, slack = info->align > page ? info->align : 0;
    size_t i;
    mem->map_bytes = (size_t)(info->peak + slack);
    mem->map = qnnrt__os_pages(mem->map_bytes);
    if (mem->map == NULL)
        return QNNRT__FAIL(err, QNNRT_E_MEMORY, "out of memory for %llu bytes of guarded pages",
                           (unsigned long long)info->peak);
    mem->data = (unsigned char *)mem->map + ((~(uintptr_t)mem->map + 1) & (info->align - 1));
    for (i = 0; i < info->block_count; ++i) {
        uint64_t end = info->blocks[i].offset + info->blocks[i].bytes;
        qnnrt__size_align(end, page, &end);
        if (!qnnrt__os_pages_forbid(mem->data + (size_t)end, (size_t)page))
            return QNNRT__FAIL(
                err, QNNRT_E_MEMORY,
                "cannot make guard pages for %u blocks; each takes two mappings, and the system"
                " limits their number (vm.max_map_count)",
                (unsigned)info->block_count);
    }
    return QNNRT_OK;
}

/* Return where a slot of an entry begins in the memory, NULL if it does not lie there. */
static unsigned char *qnnrt__area_address(const qnnrt_mem *mem, size_t entry, size_t slot)
{
    const qnnrt__spot *spot = &mem->plan->entries[entry].spots[slot];
    return spot->kind == QNNRT__SPOT_BLOCK
               ? mem->data + (size_t)(mem->plan->blocks[spot->block].offset + spot->offset)
               : NULL;
}

/* Set all inputs that have memory to real zero; the memory has zero bytes. */
static void qnnrt__area_zero(qnnrt_mem *mem)
{
    size_t e, s;
    for (e = 0; e < mem->plan->entry_count; ++e) {
        const qnnrt_pipeline_info *info = &mem->plan->entries[e].pipeline->info;
        for (s = 0; s < info->slot_count; ++s) {
            const qnnrt_tensor_info *t = info->slots[s].tensor;
            unsigned char *at = qnnrt__area_address(mem, e, s);
            int zero = t->quant.encoding == QNNRT_ENCODING_NONE ||
                       (t->quant.encoding == QNNRT_ENCODING_PER_TENSOR && t->quant.offset == 0);
            /* zero bytes it is already */
            if (info->slots[s].role == QNNRT_ROLE_INPUT && at != NULL && !zero)
                qnnrt__quant_fill_zero(t, at);
        }
    }
}

/* Fill in the public info of a memory. */
static void qnnrt__area_publish(qnnrt_mem *mem)
{
    size_t i;
    for (i = 0; i < mem->plan->buffer_count; ++i) {
        mem->buffers[i].offset = mem->plan->blocks[i].offset;
        mem->buffers[i].data = mem->data + (size_t)mem->buffers[i].offset;
        mem->buffers[i].bytes = mem->plan->blocks[i].bytes;
    }
    mem->info.buffers = mem->buffers;
    mem->info.buffer_count = mem->plan->buffer_count;
    mem->info.kind = mem->share == NULL ? QNNRT_MEM_HEAP
                   : mem->share->provider.alloc == qnnrt__share_rpcmem ? QNNRT_MEM_RPCMEM
                                                                       : QNNRT_MEM_PROVIDER;
    mem->info.name = mem->share != NULL ? mem->share->provider.name : "heap";
    mem->info.fd = mem->share != NULL ? mem->share->block.fd : -1;
    mem->info.fd_offset = mem->share != NULL ? mem->share->fd_offset : 0;
}

QNNRT_API qnnrt_result qnnrt_mem_create(qnnrt_plan *plan, const qnnrt_mem_desc *desc,
                                        qnnrt_mem **out, qnnrt_error *err)
{
    qnnrt_mem_provider rpcmem = { "rpcmem", qnnrt__share_rpcmem, qnnrt__share_rpcmem_free, NULL,
                                  NULL };
    qnnrt_mem_desc defaults;
    qnnrt_mem *mem;
    qnnrt_result result = qnnrt__err_begin("qnnrt_mem_create", "plan", plan, out, err);
    if (result != QNNRT_OK) return result;
    memset(&defaults, 0, sizeof(defaults));
    if (desc == NULL) desc = &defaults;
    rpcmem.user = (void *)(uintptr_t)desc->rpcmem_path;
    if ((unsigned)desc->kind > (unsigned)QNNRT_MEM_PROVIDER)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "%d is not a kind of memory", (int)desc->kind);
    if (plan->guard != 0 && desc->data != NULL)
        return QNNRT__FAIL(err, QNNRT_E_ARG,
                           "qnnrt_mem_create: guard pages need memory that qnnrt allocates, but"
                           " data is not NULL");
    mem = (qnnrt_mem *)qnnrt__mem_alloc(&plan->arena.hooks, sizeof(*mem));
    if (mem == NULL)
        return qnnrt__hint_general(err, qnnrt__fail_memory(err, "memory of a plan"));
    mem->arena.hooks = plan->arena.hooks;
    mem->arena.chunk = 512;
    mem->info.reason = "";
    mem->plan = plan;
    mem->backend = plan->entries[0].pipeline->model->info.backend;
    mem->buffers = (qnnrt_buffer_info *)qnnrt__arena_alloc(&mem->arena, plan->buffer_count,
                                                           sizeof(*mem->buffers));
    mem->busy = (int *)qnnrt__arena_alloc(&mem->arena, plan->entry_count + 1, sizeof(*mem->busy));
    if (mem->arena.failed != QNNRT_OK) result = qnnrt__fail_memory(err, "memory of a plan");
    if (result == QNNRT_OK && desc->kind == QNNRT_MEM_SHARED)
        result = qnnrt__area_shared(mem, desc, &rpcmem, err);
    else if (result == QNNRT_OK && desc->kind != QNNRT_MEM_HEAP)
        result = qnnrt__area_kind(mem, desc, desc->kind == QNNRT_MEM_RPCMEM ? &rpcmem
                                                                            : &desc->provider, err);
    if (result == QNNRT_OK && mem->share == NULL)
        result = plan->guard != 0 && plan->info.peak > 0 ? qnnrt__area_guard(mem, err)
                                                         : qnnrt__area_block(mem, desc, err);
    if (result != QNNRT_OK) {
        qnnrt__area_free(mem);
        return qnnrt__hint_general(err, result);
    }
    qnnrt__area_publish(mem);
    if (!desc->no_zero) {
        /* Pages between guards have zero bytes already. */
        if (mem->map == NULL) memset(mem->data, 0, (size_t)plan->info.peak);
        qnnrt__area_zero(mem);
    }
    qnnrt__os_count(&plan->users, 1);
    *out = mem;
    return QNNRT_OK;
}

QNNRT_API qnnrt_result qnnrt_mem_destroy(qnnrt_mem *mem)
{
    if (mem == NULL) return QNNRT_OK;
    if (qnnrt__os_load(&mem->users) > 0)
        return qnnrt__log_busy(&mem->arena.hooks, "a mem", mem->users);
    qnnrt__os_count(&mem->plan->users, -1);
    qnnrt__area_free(mem);
    return QNNRT_OK;
}

QNNRT_API void qnnrt_mem_clear(qnnrt_mem *mem)
{
    size_t i;
    if (mem == NULL) return;
    for (i = 0; i < mem->plan->info.block_count; ++i)
        memset(mem->data + (size_t)mem->plan->blocks[i].offset, 0,
               (size_t)mem->plan->blocks[i].bytes);
    qnnrt__area_zero(mem);
}

QNNRT_API const qnnrt_mem_info *qnnrt_mem_get_info(const qnnrt_mem *mem)
{
    return mem != NULL ? &mem->info : NULL;
}

/* =====================================================================================
   BINDING                                                                      >>binding
   Says where a slot of a run has its memory, and points the vendor's tensors to it: with an
   address, or with the handle of a registration.
   Needs: >>os >>size >>mem >>share >>abi >>backend (its struct) >>register >>context >>area
   Knows nothing of: what executes
   ===================================================================================== */

typedef struct qnnrt__binding_end {         /* a tensor of a step */
    qnnrt__abi_tensor       *tensor;        /* in the arrays of the step */
    const qnnrt_tensor_info *info;
    qnnrt__context          *context;       /* NULL: the step is not a graph */
    uint32_t                 step;
} qnnrt__binding_end;

typedef struct qnnrt__binding_spot {    /* an offset of shared memory where the slot was bound */
    struct qnnrt__binding_spot *next;
    qnnrt__share      *share;
    uint64_t           offset;
    qnnrt_backend     *backend;             /* the one that can register it */
    qnnrt__registered *ends;                /* [end_count] */
} qnnrt__binding_spot;

enum { QNNRT__BINDING_SPOTS = 16 };

typedef struct qnnrt__binding {
    void       *data;                   /* where it lives now; NULL: to be bound */
    void       *own;                    /* in the run's memory; NULL: the caller's */
    uint64_t    own_offset;
    qnnrt__binding_end *ends;           /* [end_count] */
    uint32_t    end_count;
    uint64_t    bytes;
    size_t      buffer;                 /* of the last qnnrt_bind_at() */
    qnnrt__binding_spot *spots;         /* all, newest first */
    qnnrt__binding_spot *spot;          /* where it lives now, NULL: not in shared memory */
    uint32_t    spot_count;
    const char *why;                    /* why spot is NULL */
    const void *constant;               /* its value, NULL: not a constant */
    const qnnrt_tensor_info *now;       /* its tensor, with dims that may change as they are now */
    int         omitted;                /* it is optional and left out */
    int         fresh;                  /* it is in the run's list of those */
} qnnrt__binding;

/* Point each end at its registration; one that is not registered gets the address. */
static void qnnrt__binding_aim(qnnrt__binding *binding)
{
    uint32_t i;
    for (i = 0; i < binding->end_count; ++i) {
        qnnrt__abi_tensor_body *body = &binding->ends[i].tensor->body;
        void *handle = binding->spot != NULL ? binding->spot->ends[i].handle : NULL;
        body->mem_type = handle != NULL ? QNNRT__ABI_MEM_HANDLE : QNNRT__ABI_MEM_RAW;
        body->buffer.data = handle != NULL ? handle : binding->data;
    }
}

/* Return why an end cannot be registered on a backend, or NULL. */
static const char *qnnrt__binding_why(const qnnrt__binding_end *end, const qnnrt_backend *b)
{
    return end->context == NULL         ? "its step runs without a backend"
           : end->context->info->backend != b ? "its memory belongs to another backend"
                                        : NULL;
}

/* Return 1 if a tensor cannot be registered, or was asked for, and no registration of its context
   ended since. */
static int qnnrt__binding_valid(const qnnrt__binding_end *end, const qnnrt__registered *got,
                                const qnnrt_backend *b)
{
    return qnnrt__binding_why(end, b) != NULL ||
           got->ended == qnnrt__os_load(&end->context->registered.ended) + 1;
}

/* Return 1 if all that a spot got is valid. */
static int qnnrt__binding_current(const qnnrt__binding *binding, const qnnrt__binding_spot *spot)
{
    uint32_t i;
    for (i = 0; i < binding->end_count; ++i)
        if (!qnnrt__binding_valid(&binding->ends[i], &spot->ends[i], spot->backend)) return 0;
    return 1;
}

/* Make an empty spot; if there are enough, empty one that is not current, such as one in memory
   that was destroyed. Return NULL if all are current, or out of memory. */
static qnnrt__binding_spot *qnnrt__binding_spare(qnnrt__binding *binding, qnnrt__arena *arena)
{
    qnnrt__binding_spot *spot = binding->spots;
    if (binding->spot_count == QNNRT__BINDING_SPOTS) {
        while (spot != NULL && qnnrt__binding_current(binding, spot)) spot = spot->next;
        if (spot != NULL) memset(spot->ends, 0, binding->end_count * sizeof(*spot->ends));
        return spot;
    }
    spot = (qnnrt__binding_spot *)qnnrt__arena_alloc(arena, 1, sizeof(*spot));
    if (spot == NULL) return NULL;
    spot->ends = (qnnrt__registered *)qnnrt__arena_alloc(arena, binding->end_count,
                                                         sizeof(*spot->ends));
    if (spot->ends == NULL) return NULL;
    spot->next = binding->spots;
    binding->spots = spot;
    binding->spot_count += 1;
    return spot;
}

/* Register the ends of a slot that are not registered at its offset, or whose registration ended,
   and point them at their handles. Do nothing for a slot in plain memory, or memory of another
   backend. Callers hold the lock, and call this for each slot of a run after a context was created
   again. */
static void qnnrt__binding_take(qnnrt__binding *binding, qnnrt_backend *b)
{
    qnnrt__binding_spot *spot = binding->spot;
    uint32_t i;
    if (spot == NULL || spot->backend != b) return;
    for (i = 0; i < binding->end_count; ++i) {
        const qnnrt__binding_end *end = &binding->ends[i];
        if (!qnnrt__binding_valid(end, &spot->ends[i], b))
            spot->ends[i] = qnnrt__register_take(&end->context->registered, b,
                                                 end->context->info->handle,
                                                 spot->share, spot->offset, end->info);
    }
    qnnrt__binding_aim(binding);
}

/* Point the ends of a slot, which are at plain memory, at an offset of shared memory. */
static void qnnrt__binding_share(qnnrt__binding *binding, qnnrt__arena *arena, qnnrt_backend *b,
                                 qnnrt__share *share, uint64_t offset)
{
    qnnrt__binding_spot *spot = binding->spots;
    while (spot != NULL && (spot->offset != offset || spot->share != share)) spot = spot->next;
    if (spot == NULL) {
        spot = qnnrt__binding_spare(binding, arena);
        if (spot == NULL) {
            binding->why = binding->spot_count == QNNRT__BINDING_SPOTS
                               ? "it was bound at 16 other offsets, which stay registered"
                               : "out of memory for its registration";
            return;
        }
        spot->share = share;
        spot->offset = offset;
        spot->backend = b;
    }
    binding->spot = spot;
    if (qnnrt__binding_current(binding, spot)) {
        qnnrt__binding_aim(binding);
        return;
    }
    qnnrt__hooks_lock(&b->hooks);
    qnnrt__binding_take(binding, b);
    qnnrt__hooks_unlock(&b->hooks);
}

/* Return 1 if a slot at this offset lies within one buffer. Compare its last buffer first, so that
   a cache that moves costs one comparison. */
static int qnnrt__binding_in_buffer(qnnrt__binding *binding, const qnnrt_mem *mem, uint64_t offset)
{
    size_t count = mem->info.buffer_count, i, at = binding->buffer < count ? binding->buffer : 0;
    for (i = 0; i < count; ++i) {
        const qnnrt_buffer_info *buffer = &mem->buffers[at];
        if (offset >= buffer->offset &&
            qnnrt__size_within(offset - buffer->offset, binding->bytes, buffer->bytes)) {
            binding->buffer = at;
            return 1;
        }
        at = at + 1 < count ? at + 1 : 0;
    }
    return 0;
}

/* =====================================================================================
   HOST                                                                            >>host
   Executes functions of the caller through one like the vendor's, so that a run calls every step in
   the same way.
   Needs: >>mem >>err >>abi
   Knows nothing of: memory plans, runs
   ===================================================================================== */

/* A step of a run that is not a graph; its vendor "graph" is the address of this. */
typedef struct qnnrt__host {
    const qnnrt_host_step  *work;
    const qnnrt_graph_info *step;
    const void            **inputs;     /* [input_count] filled before each call */
    void                  **outputs;    /* [output_count] */
    qnnrt_result            result;     /* of the last call */
    qnnrt_error            *err;        /* of the run's host steps; empty before each call */
} qnnrt__host;

/* Call a function of the caller. Return 1 if it fails. */
static qnnrt__abi_code qnnrt__host_call(qnnrt__abi_handle graph, const qnnrt__abi_tensor *inputs,
                                        uint32_t input_count, qnnrt__abi_tensor *outputs,
                                        uint32_t output_count, qnnrt__abi_handle profile,
                                        qnnrt__abi_handle signal)
{
    qnnrt__host *host = (qnnrt__host *)graph;
    uint32_t i;
    (void)profile; (void)signal;
    for (i = 0; i < input_count; ++i) host->inputs[i] = inputs[i].body.buffer.data;
    for (i = 0; i < output_count; ++i)
        host->outputs[i] = (void *)(uintptr_t)outputs[i].body.buffer.data;
    qnnrt_error_clear(host->err);
    host->result = host->work->exec(host->work->user, host->step, host->inputs, host->outputs,
                                    host->err);
    return host->result != QNNRT_OK;
}

/* Make what a run needs to execute a step that is not a graph. err: receives the texts of host
   steps. Return NULL when out of memory. */
static qnnrt__host *qnnrt__host_create(qnnrt__arena *arena, const qnnrt_step_info *info,
                                       qnnrt_error *err)
{
    qnnrt__host *host = (qnnrt__host *)qnnrt__arena_alloc(arena, 1, sizeof(*host));
    if (host == NULL) return NULL;
    host->work = info->host;
    host->step = info->graph;
    host->err = err;
    host->inputs = (const void **)qnnrt__arena_alloc(arena, host->step->input_count,
                                                     sizeof(*host->inputs));
    host->outputs = (void **)qnnrt__arena_alloc(arena, host->step->output_count,
                                                sizeof(*host->outputs));
    return host->inputs != NULL && host->outputs != NULL ? host : NULL;
}

/* Say why a step failed; err has the beginning of the text. Return the result. */
static qnnrt_result qnnrt__host_explain(qnnrt__host *host, qnnrt_error *err)
{
    qnnrt_error *from = host->err;
    /* A function of the caller may return any number, and may have filled the texts. */
    const int known = (int)host->result < 0 && (int)host->result >= (int)QNNRT_E_CANCELLED;
    from->text[sizeof(from->text) - 1] = from->hint[sizeof(from->hint) - 1] = '\0';
    err->code = known ? host->result : QNNRT_E_BACKEND;
    err->vendor_code = from->vendor_code;
    if (from->text[0] == '\0')
        qnnrt_error_add(err, ": its function returned %d without a text", (int)host->result);
    else qnnrt_error_add(err, ": ");
    qnnrt__err_text(err, from->text, strlen(from->text));
    if (from->hint[0] != '\0') QNNRT__HINT(err, err->code, "%s", from->hint);
    return err->code;
}

/* =====================================================================================
   RUN                                                                              >>run
   Arrays of vendor tensors, filled once; bind changes pointers in them, exec hands them to
   the vendor. Everything that can fail or cost happened before.
   Needs: >>os >>mem >>err >>log >>codes >>abi >>backend (its struct) >>friends >>register
          >>context >>model >>wiring >>slot >>pipeline >>place >>area >>binding >>host
   Knows nothing of: folders, metadata sources
   ===================================================================================== */

typedef struct qnnrt__step {
    qnnrt__abi_code (*execute)(qnnrt__abi_handle, const qnnrt__abi_tensor *, uint32_t,
                               qnnrt__abi_tensor *, uint32_t, qnnrt__abi_handle, qnnrt__abi_handle);
    qnnrt__abi_handle  graph;
    qnnrt__abi_tensor *inputs, *outputs;
    uint32_t           input_count, output_count;
} qnnrt__step;

/* A backend of a run, as one of its steps needs it. */
typedef struct qnnrt__run_part {
    qnnrt_backend    *backend;
    qnnrt__log_count *log_count;        /* of its log */
    uint32_t          mark;             /* first log line of the step that executes */
    qnnrt__backend_hook link;
} qnnrt__run_part;

struct qnnrt_run {
    qnnrt__step     *steps, *steps_end;
    int              careful;           /* exec has more to do than call: binds missing or new,
                                           locks, a busy flag, hooks, dims, contexts that go */
    qnnrt__log_count *log_count;        /* of the first part */
    qnnrt__log_count no_log;            /* without parts */
    uint32_t         mark;              /* first log line of the exec that is running */
    uint32_t         missing;           /* number of slots that must be bound and are not yet */
    uint32_t         fresh_count;       /* of fresh */
    uint32_t        *fresh;             /* [slots] that were bound elsewhere and not yet compared
                                           with the others */
    int             *busy;              /* of its group; NULL for the only run of a mem */
    qnnrt__binding  *slots;
    const qnnrt_pipeline *pipeline;
    qnnrt__run_part *parts;             /* [part_count] none: all steps are of the host */
    size_t           part_count;
    const qnnrt_hooks *common;          /* of the first part, or of the pipeline */
    qnnrt__run_part **of;               /* [step] its part; NULL: not a graph */
    int              mixed;             /* steps take turns with locks and log slots: of several
                                           backends, or of a backend with a lock and the host */
    qnnrt_mem       *mem;
    qnnrt__arena     arena;
    qnnrt_plan      *own_plan;          /* made by qnnrt_prepare */
    qnnrt_mem       *own_mem;
    qnnrt__run_hook *hooks;             /* of optional headers, newest first */
    const qnnrt_slot *rigid;            /* its dims may change, and no hook knows them; or NULL */
    qnnrt_transfer_info *transfers;     /* of qnnrt_run_transfers(), and then its texts */
    uint32_t        *generations;       /* [step] of the context that its graph is from */
    int              moves;             /* contexts of its models come and go */
    uint64_t         began[2];          /* then: when the last exec but one began, and the last */
    int              stale;             /* its graphs are gone: exec fetches them again */
    int              unfound;           /* the error is that of a look-up, for a slot of NULL */
    qnnrt_error     *host_error;        /* for host steps; NULL: there are none */
    qnnrt_error      error;
};

/* Return the error that receives the text of a failure. */
static qnnrt_error *qnnrt__run_err(qnnrt_run *run)
{
    run->unfound = 0;
    return &run->error;
}

/* Fail a call on a run. The text begins with its pipeline, and a slot if it is not NULL. */
static qnnrt_result qnnrt__run_fail(qnnrt_run *run, qnnrt_result code, const qnnrt_slot *slot,
                                    const char *format, ...) QNNRT__PRINTF(4, 5);
static qnnrt_result qnnrt__run_fail(qnnrt_run *run, qnnrt_result code, const qnnrt_slot *slot,
                                    const char *format, ...)
{
    va_list args;
    QNNRT__FAIL(qnnrt__run_err(run), code, "pipeline \"%.200s\": ", run->pipeline->info.name);
    if (slot != NULL)
        qnnrt_error_add(&run->error, "%s \"%.200s\" ", qnnrt_role_name(slot->role), slot->address);
    va_start(args, format);
    qnnrt__err_vadd(&run->error, format, args);
    va_end(args);
    return code;
}

/* Fill in the vendor's view of a tensor. The vendor matches by id; the rest is as in the metadata.
   */
static void qnnrt__run_tensor(const qnnrt_tensor_info *from, qnnrt__abi_tensor *to)
{
    const qnnrt_quant *quant = &from->quant;
    to->version = from->vendor_version;
    to->body.id = from->id;
    to->body.name = from->name;
    to->body.type = from->vendor_type;
    to->body.format = from->vendor_format;
    to->body.dtype = (uint32_t)from->dtype;
    to->body.rank = from->rank;
    to->body.dims = from->dims;
    to->body.mem_type = QNNRT__ABI_MEM_RAW;
    to->body.buffer.bytes = (uint32_t)from->bytes;
    to->body.sparse[0] = QNNRT__ABI_UNDEFINED;
    to->body.quantize.definition = to->body.quantize.encoding = QNNRT__ABI_UNDEFINED;
    if (quant->encoding != QNNRT_ENCODING_PER_TENSOR) return; /* others hold pointers and are not
                                                                 read on execute */
    to->body.quantize.definition = QNNRT__ABI_DEFINED;
    to->body.quantize.encoding = quant->vendor_encoding;
    if (quant->vendor_encoding == QNNRT__ABI_BW_SCALE_OFFSET) {
        to->body.quantize.u.bw.bitwidth = quant->bitwidth;
        to->body.quantize.u.bw.scale = quant->scale;
        to->body.quantize.u.bw.offset = quant->offset;
    } else {
        to->body.quantize.u.scale_offset.scale = quant->scale;
        to->body.quantize.u.scale_offset.offset = quant->offset;
    }
}

/* Set whether exec has more to do than to call. */
static void qnnrt__run_settle(qnnrt_run *run)
{
    run->careful = run->missing > 0 || run->fresh_count > 0 || run->busy != NULL ||
                   run->common->lock != NULL || run->mixed ||
                   run->hooks != NULL || run->moves || run->stale || run->rigid != NULL;
}

/* Point a slot at plain memory; NULL: it has none yet. why: what qnnrt_run_transfers() says. */
static void qnnrt__run_point(qnnrt_run *run, qnnrt__binding *slot, void *data, const char *why)
{
    if (data == NULL && slot->data != NULL) run->missing += 1;
    if (data != NULL && slot->data == NULL) run->missing -= 1;
    slot->data = data;
    slot->spot = NULL;
    slot->why = why;
    qnnrt__binding_aim(slot);
    qnnrt__run_settle(run);
}

/* Point a slot at an offset of a mem. */
static void qnnrt__run_point_at(qnnrt_run *run, qnnrt__binding *slot, const qnnrt_mem *mem,
                                uint64_t offset)
{
    uint32_t i;
    qnnrt__run_point(run, slot, mem->data + (size_t)offset,
                     mem->share != NULL ? "its memory belongs to another backend"
                                        : "its memory is not shared");
    if (mem->share == NULL) return;
    for (i = 0; i < slot->end_count; ++i)
        if (qnnrt__binding_why(&slot->ends[i], mem->backend) == NULL) {
            qnnrt__binding_share(slot, &run->arena, mem->backend, mem->share, offset);
            return;
        }
}

/* Point a slot at the memory that it has when it is not bound; if it has none, it is missing. */
static void qnnrt__run_home(qnnrt_run *run, qnnrt__binding *slot)
{
    if (slot->constant != NULL)
        qnnrt__run_point(run, slot, (void *)(uintptr_t)slot->constant, "it is a constant");
    else if (slot->own != NULL) qnnrt__run_point_at(run, slot, run->mem, slot->own_offset);
    else qnnrt__run_point(run, slot, NULL, "it is not bound");
}

/* Return the part of a backend, which is made if it is new. There is room for all. */
static qnnrt__run_part *qnnrt__run_part_of(qnnrt_run *run, qnnrt_backend *b)
{
    qnnrt__run_part *part = run->parts;
    while (part < run->parts + run->part_count && part->backend != b) ++part;
    if (part < run->parts + run->part_count) return part;
    run->part_count += 1;
    part->backend = b;
    part->log_count = &b->log_book.count;
    return part;
}

/* Check that the graph of a step can run. */
static qnnrt_result qnnrt__run_check(const qnnrt_step_info *info, qnnrt_error *err)
{
    if (info->host != NULL || info->backend != NULL) return QNNRT_OK;
    return QNNRT__HINT(err, QNNRT__FAIL(err, QNNRT_E_STATE, "%s was opened with desc.inspect, for"
                                        " reading only", info->model->infos[info->context].file),
                       "Open it without desc.inspect.");
}

/* Let a step execute its graph or its function. */
static qnnrt_result qnnrt__run_aim(qnnrt_run *run, size_t at, qnnrt_error *err)
{
    const qnnrt_step_info *info = &run->pipeline->steps[at];
    qnnrt__step *step = &run->steps[at];
    const qnnrt__context *context;
    if (info->host != NULL) {
        qnnrt__host *host = qnnrt__host_create(&run->arena, info, run->host_error);
        step->execute = qnnrt__host_call;
        step->graph = (qnnrt__abi_handle)host;
        return host != NULL ? QNNRT_OK : qnnrt__fail_memory(err, "a run");
    }
    if (qnnrt__run_check(info, err) != QNNRT_OK) return QNNRT_E_STATE;
    context = &info->model->contexts[info->context];
    run->of[at] = qnnrt__run_part_of(run, info->backend);
    step->execute = info->backend->calls->graph_execute;
    step->graph = qnnrt__model_handle(info->model, info->context, info->graph);
    run->generations[at] = context->info->creates;
    run->moves |= info->model->residency != QNNRT_RESIDENT_ALL;
    run->stale |= context->info->handle == NULL;
    return QNNRT_OK;
}

/* Fill the steps. tensors: memory for those of all steps, one after the other. */
static qnnrt_result qnnrt__run_steps(qnnrt_run *run, qnnrt__abi_tensor *tensors, qnnrt_error *err)
{
    size_t at, i;
    for (at = 0; at < run->pipeline->info.step_count; ++at) {
        const qnnrt_graph_info *graph = run->pipeline->steps[at].graph;
        qnnrt__step *step = &run->steps[at];
        const qnnrt_result result = qnnrt__run_aim(run, at, err);
        if (result != QNNRT_OK) return result;
        step->input_count = (uint32_t)graph->input_count;
        step->output_count = (uint32_t)graph->output_count;
        step->inputs = tensors;
        for (i = 0; i < graph->input_count; ++i) qnnrt__run_tensor(&graph->inputs[i], tensors++);
        step->outputs = tensors;
        for (i = 0; i < graph->output_count; ++i) qnnrt__run_tensor(&graph->outputs[i], tensors++);
    }
    run->steps_end = run->steps + run->pipeline->info.step_count;
    run->log_count = run->part_count > 0 ? run->parts[0].log_count : &run->no_log;
    run->common = run->part_count > 0 ? &run->parts[0].backend->hooks
                                      : &run->pipeline->model->arena.hooks;
    run->mixed = run->part_count > 1 || (run->host_error != NULL && run->common->lock != NULL);
    return QNNRT_OK;
}

/* Gather the tensors of each slot. ends: memory for those of all slots, one after the other. */
static void qnnrt__run_gather(qnnrt_run *run, qnnrt__binding_end *ends)
{
    const qnnrt_pipeline *p = run->pipeline;
    size_t at, s;
    for (at = 0; at < p->end_count; ++at) run->slots[p->ends[at].slot].end_count += 1;
    for (s = 0; s < p->info.slot_count; ++s) {
        run->slots[s].ends = ends;
        ends += run->slots[s].end_count;
        run->slots[s].end_count = 0;
    }
    for (at = 0; at < p->end_count; ++at) {
        const qnnrt__end *end = &p->ends[at];
        const qnnrt__step *step = &run->steps[end->step];
        const qnnrt_step_info *info = &p->steps[end->step];
        qnnrt__binding *slot = &run->slots[end->slot];
        qnnrt__binding_end *to = &slot->ends[slot->end_count++];
        to->tensor = &(end->output ? step->outputs : step->inputs)[end->index];
        to->info = &(end->output ? info->graph->outputs : info->graph->inputs)[end->index];
        to->context = info->host == NULL ? &info->model->contexts[info->context] : NULL;
        to->step = end->step;
    }
}

/* Allocate and fill the arrays of a run. */
static qnnrt_result qnnrt__run_fill(qnnrt_run *run, qnnrt_error *err)
{
    const qnnrt_pipeline *p = run->pipeline;
    const size_t steps = p->info.step_count, slots = p->info.slot_count;
    qnnrt__arena *arena = &run->arena;
    qnnrt__abi_tensor *tensors;
    qnnrt__binding_end *ends;
    qnnrt_result result;
    size_t at = 0;
    run->steps = (qnnrt__step *)qnnrt__arena_alloc(arena, steps, sizeof(*run->steps));
    run->slots = (qnnrt__binding *)qnnrt__arena_alloc(arena, slots, sizeof(*run->slots));
    run->generations = (uint32_t *)qnnrt__arena_alloc(arena, steps, sizeof(*run->generations));
    run->parts = (qnnrt__run_part *)qnnrt__arena_alloc(arena, steps, sizeof(*run->parts));
    run->of = (qnnrt__run_part **)qnnrt__arena_alloc(arena, steps, sizeof(*run->of));
    run->fresh = (uint32_t *)qnnrt__arena_alloc(arena, slots, sizeof(*run->fresh));
    tensors = (qnnrt__abi_tensor *)qnnrt__arena_alloc(arena, p->end_count, sizeof(*tensors));
    ends = (qnnrt__binding_end *)qnnrt__arena_alloc(arena, p->end_count, sizeof(*ends));
    while (at < steps && p->steps[at].host == NULL) ++at;
    if (at < steps) run->host_error = (qnnrt_error *)qnnrt__arena_alloc(arena, 1, sizeof(*err));
    if (arena->failed != QNNRT_OK) return qnnrt__fail_memory(err, "a run");
    result = qnnrt__run_steps(run, tensors, err);
    if (result == QNNRT_OK) qnnrt__run_gather(run, ends);
    return result;
}

static void qnnrt__run_free(qnnrt_run *run)
{
    qnnrt_hooks hooks = run->arena.hooks;
    size_t i;
    for (i = 0; i < run->part_count; ++i) {
        qnnrt__run_part *part = &run->parts[i];
        if (part->link.of != NULL)
            qnnrt__backend_list(part->backend, &part->backend->runs, &part->link, -1);
    }
    while (run->hooks != NULL) {
        qnnrt__run_hook *hook = run->hooks;
        run->hooks = hook->next;
        if (hook->destroyed != NULL) hook->destroyed(hook);
    }
    qnnrt_arena_free(&run->arena);
    qnnrt__mem_free(&hooks, run);
}

/* Let a run fetch its graphs again before its next exec. */
static void qnnrt__run_alert(void *of)
{
    qnnrt_run *run = (qnnrt_run *)of;
    qnnrt__run_hook *hook, *next;
    for (hook = run->hooks; hook != NULL; hook = next) {
        next = hook->next;
        if (hook->lost != NULL) hook->lost(hook, run);
    }
    run->stale = run->careful = 1;
}

QNNRT_API qnnrt_result qnnrt_run_create(qnnrt_mem *mem, size_t entry, qnnrt_run **out,
                                        qnnrt_error *err)
{
    const qnnrt_pipeline *p;
    size_t s;
    qnnrt_run *run;
    qnnrt_result result = qnnrt__err_begin("qnnrt_run_create", "mem", mem, out, err);
    if (result != QNNRT_OK) return result;
    if (entry >= mem->plan->entry_count)
        return QNNRT__FAIL(err, QNNRT_E_ARG, "qnnrt_run_create: the plan has %u entries, but not"
                           " entry %llu", (unsigned)mem->plan->entry_count,
                           (unsigned long long)entry);
    p = mem->plan->entries[entry].pipeline;
    run = (qnnrt_run *)qnnrt__mem_alloc(&mem->arena.hooks, sizeof(*run));
    if (run == NULL) return qnnrt__fail_memory(err, "a run");
    run->arena.hooks = mem->arena.hooks;
    run->pipeline = p;
    run->mem = mem;
    run->busy = &mem->busy[mem->plan->entries[entry].group];
    result = qnnrt__run_fill(run, err);
    if (result != QNNRT_OK) {
        qnnrt__run_free(run);
        return result;
    }
    run->missing = (uint32_t)p->info.slot_count;
    for (s = 0; s < p->info.slot_count; ++s) {
        qnnrt__binding *slot = &run->slots[s];
        unsigned char *own = qnnrt__area_address(mem, entry, s);
        slot->constant = p->info.slots[s].constant;
        slot->own = own;
        slot->now = p->info.slots[s].tensor;
        slot->bytes = slot->now->bytes;
        if (slot->now->dynamic_dims != NULL) run->rigid = &p->info.slots[s];
        if (own != NULL) slot->own_offset = (uint64_t)(own - mem->data);
        qnnrt__run_home(run, slot);
    }
    for (s = 0; s < run->part_count; ++s) {
        qnnrt__run_part *part = &run->parts[s];
        part->link.of = run;
        part->link.call = qnnrt__run_alert;
        qnnrt__backend_list(part->backend, &part->backend->runs, &part->link, 1);
    }
    qnnrt__run_settle(run);
    qnnrt__place_hold(p, 1);
    qnnrt__os_count(&mem->users, 1);
    *out = run;
    return QNNRT_OK;
}

QNNRT_API void qnnrt_run_destroy(qnnrt_run *run)
{
    qnnrt_mem *mem = run != NULL ? run->own_mem : NULL;
    qnnrt_plan *plan = run != NULL ? run->own_plan : NULL;
    if (run == NULL) return;
    qnnrt__os_count(&run->mem->users, -1);
    qnnrt__place_hold(run->pipeline, -1);
    qnnrt__run_free(run);
    qnnrt_mem_destroy(mem);
    qnnrt_plan_destroy(plan);
}

QNNRT_API qnnrt_result qnnrt_pipeline_prepare(const qnnrt_pipeline *pipeline,
                                              const qnnrt_prepare_desc *desc, qnnrt_run **out,
                                              qnnrt_error *err)
{
    qnnrt_prepare_desc defaults;
    qnnrt_entry_desc entry;
    qnnrt_plan_desc plan_desc;
    qnnrt_plan *plan = NULL;
    qnnrt_mem *mem = NULL;
    qnnrt_result result = qnnrt__err_begin("qnnrt_pipeline_prepare", "pipeline", pipeline, out,
                                           err);
    size_t i;
    if (result != QNNRT_OK) return result;
    if (pipeline->info.failure != NULL) return qnnrt__slot_unwired(pipeline, err);
    memset(&defaults, 0, sizeof(defaults));
    if (desc == NULL) desc = &defaults;
    memset(&entry, 0, sizeof(entry));
    memset(&plan_desc, 0, sizeof(plan_desc));
    entry.pipeline = pipeline;
    entry.caller_io = desc->caller_io;
    plan_desc.entries = &entry;
    plan_desc.entry_count = 1;
    plan_desc.buffers = pipeline->info.buffers;
    plan_desc.buffer_count = pipeline->info.buffer_count;
    plan_desc.places = pipeline->info.places;
    plan_desc.place_count = pipeline->info.place_count;
    plan_desc.align = desc->align;
    plan_desc.per_tensor = desc->per_tensor;
    plan_desc.guard = desc->guard;
    for (i = 0; i < pipeline->info.step_count && result == QNNRT_OK; ++i)
        result = qnnrt__run_check(&pipeline->steps[i], err);      /* before memory is asked for */
    if (result == QNNRT_OK) result = qnnrt__place_plan(&plan_desc, &plan, err);
    if (result == QNNRT_OK) result = qnnrt_mem_create(plan, &desc->mem, &mem, err);
    if (result == QNNRT_OK) result = qnnrt_run_create(mem, 0, out, err);
    if (result != QNNRT_OK) {
        qnnrt_mem_destroy(mem);
        qnnrt_plan_destroy(plan);
        return qnnrt__hint_general(err, result);
    }
    (*out)->busy = NULL;            /* nothing else executes over this mem */
    qnnrt__run_settle(*out);
    (*out)->own_mem = mem;
    (*out)->own_plan = plan;
    return QNNRT_OK;
}

/* Return why a tensor of a slot is not registered, "" if it is; NULL: the vendor refused it. */
static const char *qnnrt__run_reason(const qnnrt__binding *slot, const qnnrt__binding_end *end,
                                     const qnnrt__registered *got)
{
    const char *never = qnnrt__binding_why(end, got != NULL ? slot->spot->backend : NULL);
    if (got == NULL) return end->context != NULL ? slot->why : never;
    if (never != NULL) return never;
    if (end->context->info->handle == NULL) return "its context is not loaded";
    return got->handle != NULL ? "" : got->why;
}

QNNRT_API qnnrt_result qnnrt_run_transfers(qnnrt_run *run, const qnnrt_transfer_info **list,
                                           size_t *count)
{
    enum { TEXT = 128 };
    const qnnrt_pipeline *p = run != NULL ? run->pipeline : NULL;
    qnnrt_transfer_info *to = run != NULL ? run->transfers : NULL;
    char *text;
    size_t s, i;
    if (list != NULL) *list = NULL;
    if (count != NULL) *count = 0;
    if (run == NULL) return QNNRT_E_ARG;
    if (list == NULL || count == NULL)
        return qnnrt__run_fail(run, QNNRT_E_ARG, NULL, "qnnrt_run_transfers: list or count is"
                               " NULL");
    if (to == NULL) to = (qnnrt_transfer_info *)qnnrt__arena_alloc(&run->arena, p->end_count,
                                                                   sizeof(*to) + TEXT);
    if (to == NULL) return qnnrt__fail_memory(qnnrt__run_err(run), "the list of tensors");
    run->transfers = to;
    text = (char *)(to + p->end_count);
    for (s = 0; s < p->info.slot_count; ++s)
        for (i = 0; i < run->slots[s].end_count; ++i, ++to, text += TEXT) {
            const qnnrt__binding *slot = &run->slots[s];
            const qnnrt__registered *got = slot->spot != NULL ? &slot->spot->ends[i] : NULL;
            char name[QNNRT__CODES_SYMBOL];
            to->slot = &p->info.slots[s];
            to->step = slot->ends[i].step;
            to->reason = qnnrt__run_reason(slot, &slot->ends[i], got);
            to->registered = to->reason != NULL && to->reason[0] == '\0';
            if (to->reason != NULL) continue;
            qnnrt_vendor_code_name(got->code, name, sizeof(name));
            snprintf(text, TEXT, "memRegister answered 0x%x%s%s", (unsigned)(got->code & 0xFFFF),
                     name[0] != '\0' ? " " : "", name);
            to->reason = text;
        }
    *list = run->transfers;
    *count = p->end_count;
    return QNNRT_OK;
}

QNNRT_API qnnrt_result qnnrt_prepare_with(qnnrt *model, const char *name,
                                          const qnnrt_prepare_desc *desc, qnnrt_run **out,
                                          qnnrt_error *err)
{
    const qnnrt_pipeline *pipeline;
    qnnrt_result result = qnnrt__err_begin("qnnrt_prepare", "model", model, out, err);
    if (result == QNNRT_OK) result = qnnrt_pipeline_find(model, name, &pipeline, err);
    return result == QNNRT_OK ? qnnrt_pipeline_prepare(pipeline, desc, out, err)
                              : qnnrt__hint_general(err, result);
}

QNNRT_API qnnrt_result qnnrt_prepare(qnnrt *model, const char *name, qnnrt_run **out,
                                     qnnrt_error *err)
{
    return qnnrt_prepare_with(model, name, NULL, out, err);
}

QNNRT_API const qnnrt_pipeline *qnnrt_run_pipeline(const qnnrt_run *run)
{
    return run != NULL ? run->pipeline : NULL;
}

static const qnnrt_error qnnrt__run_none = { QNNRT_E_ARG, 0, "the run is NULL", "", NULL };

QNNRT_API const qnnrt_error *qnnrt_run_error(const qnnrt_run *run)
{
    return run != NULL ? &run->error : &qnnrt__run_none;
}

/* =====================================================================================
   ACCESS                                                                        >>access
   What a program does with the slots of a run: it finds, binds, reads and writes them.
   Needs: >>size >>err >>dtype >>quant >>compare >>wiring >>slot >>binding >>run
   Knows nothing of: steps, backends
   ===================================================================================== */

/* Find a slot by name; NULL: the only one of a role. */
static const qnnrt_slot *qnnrt__run_look_up(qnnrt_run *run, const char *name, qnnrt_role only)
{
    const qnnrt_role role = name == NULL ? only : QNNRT_ROLE_ANY;
    const qnnrt_slot *slot;
    run->unfound = qnnrt_slot_find(run->pipeline, name, role, &slot, NULL) != QNNRT_OK;
    if (run->unfound) qnnrt_slot_find(run->pipeline, name, role, &slot, &run->error);
    return slot;
}

/* Refuse a slot. If a look-up did not find it, keep the error text of that look-up. */
static qnnrt_result qnnrt__run_fail_slot(qnnrt_run *run, const qnnrt_slot *slot)
{
    if (slot == NULL && run->unfound) return run->error.code;
    if (slot == NULL) return qnnrt__run_fail(run, QNNRT_E_NOT_FOUND, NULL, "no slot is given");
    return qnnrt__slot_foreign(run->pipeline, slot, "", qnnrt__run_err(run));
}

/* Return what a run keeps about a slot, or NULL. */
static qnnrt__binding *qnnrt__run_find(const qnnrt_run *run, const qnnrt_slot *slot)
{
    const size_t at = qnnrt__slot_index(run->pipeline, slot);
    return QNNRT__UNLIKELY(at >= run->pipeline->info.slot_count) ? NULL : &run->slots[at];
}

/* Leave an optional slot out of executes, or take it in again. */
static void qnnrt__run_omit(qnnrt_run *run, qnnrt__binding *slot, int omitted)
{
    if (slot->omitted == omitted) return;
    slot->omitted = omitted;
    if (slot->data == NULL) run->missing += omitted ? (uint32_t)-1 : 1u;
    qnnrt__run_settle(run);
}

static qnnrt_result qnnrt__run_bind(qnnrt_run *run, const qnnrt_slot *which, qnnrt_role role,
                                    void *data, uint64_t bytes)
{
    qnnrt__binding *slot = qnnrt__run_find(run, which);
    const void *before;
    if (QNNRT__UNLIKELY(slot == NULL)) return qnnrt__run_fail_slot(run, which);
    if (QNNRT__UNLIKELY(role != QNNRT_ROLE_ANY &&
                        (role == QNNRT_ROLE_INPUT) != (which->role == QNNRT_ROLE_INPUT)))
        return QNNRT__HINT(
            &run->error, qnnrt__run_fail(run, QNNRT_E_ARG, which, "is of another role"),
            role == QNNRT_ROLE_INPUT ? "Bind it with qnnrt_bind_output()."
                                     : "Bind it with qnnrt_bind_input().");
    if (QNNRT__UNLIKELY(data == NULL && bytes > 0))
        return qnnrt__run_fail(run, QNNRT_E_ARG, which, "is given NULL, but with %llu bytes; NULL"
                               " and 0 go back to the run's memory", (unsigned long long)bytes);
    if (QNNRT__UNLIKELY(data != NULL && bytes < slot->bytes))
        return qnnrt__run_fail(run, QNNRT_E_MISMATCH, which,
                               "needs %llu bytes, the block has %llu",
                               (unsigned long long)slot->bytes, (unsigned long long)bytes);
    qnnrt__run_omit(run, slot, 0);
    before = slot->data;
    if (data == NULL) qnnrt__run_home(run, slot);
    else qnnrt__run_point(run, slot, data, "it is bound to the caller's memory");
    if (slot->data != before && !slot->fresh) {
        slot->fresh = 1;
        run->fresh[run->fresh_count++] = (uint32_t)(slot - run->slots);
        run->careful = 1;
    }
    return QNNRT_OK;
}

static qnnrt_result qnnrt__run_unbound(qnnrt_run *run, const qnnrt_slot *slot)
{
    return QNNRT__HINT(&run->error, qnnrt__run_fail(run, QNNRT_E_STATE, slot, "is not bound and"
                                                    " has no memory in the plan"),
                       "Call qnnrt_bind() before qnnrt_exec().");
}

/* Find the memory of a bound slot for a conversion, and check the range of elements. *now receives
   the slot's tensor with its dims of now. */
static qnnrt_result qnnrt__run_range(qnnrt_run *run, const qnnrt_slot *slot, uint64_t begin,
                                     uint64_t count, int writes, void **data,
                                     const qnnrt_tensor_info **now)
{
    const qnnrt__binding *found = qnnrt__run_find(run, slot);
    if (found == NULL) return qnnrt__run_fail_slot(run, slot);
    *data = found->data;
    *now = found->now;
    if (found->data == NULL) return qnnrt__run_unbound(run, slot);
    if (writes && found->data == found->constant)
        return QNNRT__HINT(&run->error,
                           qnnrt__run_fail(run, QNNRT_E_STATE, slot, "cannot be written"),
                           "Bind memory of your own to it first.");
    if (!qnnrt__size_within(begin, count, (*now)->count))
        return qnnrt__run_fail(run, QNNRT_E_MISMATCH, slot,
                               "has %llu elements; %llu elements from element %llu on do not lie"
                               " within it", (unsigned long long)(*now)->count,
                               (unsigned long long)count, (unsigned long long)begin);
    return QNNRT_OK;
}

/* Check that an input with a range takes values, int32 or float, from element `begin` on. */
static qnnrt_result qnnrt__run_takes(qnnrt_run *run, const qnnrt_slot *slot, uint64_t begin,
                                     qnnrt_dtype as, const void *values, size_t count)
{
    enum { PART = 64 };
    static const uint32_t dims[1] = { PART };
    int32_t stored[PART];
    qnnrt_tensor_info tensor = *slot->tensor;
    size_t done, part, i;
    tensor.rank = 1;
    tensor.dims = dims;
    for (done = 0; done < count; done += part) {
        const unsigned char *from = (const unsigned char *)values + 4u * done;
        part = count - done < PART ? count - done : (size_t)PART;
        qnnrt__quant_values(&tensor, stored, 0, as, (void *)(uintptr_t)from, part, 1);
        for (i = 0; i < part; ++i)
            if (stored[i] < slot->low || stored[i] > slot->high)
                return qnnrt__run_fail(run, QNNRT_E_ARG, slot,
                                       "element %llu is %d; expected %d to %d",
                                       (unsigned long long)(begin + done + i), (int)stored[i],
                                       (int)slot->low, (int)slot->high);
    }
    return QNNRT_OK;
}

QNNRT_API const qnnrt_slot *qnnrt_run_slot(qnnrt_run *run, const char *name)
{
    return run != NULL ? qnnrt__run_look_up(run, name, QNNRT_ROLE_INPUT) : NULL;
}

QNNRT_API qnnrt_result qnnrt_bind(qnnrt_run *run, const char *name, void *data, size_t bytes)
{
    if (run == NULL) return QNNRT_E_ARG;
    return qnnrt__run_bind(run, qnnrt_run_slot(run, name), QNNRT_ROLE_ANY, data, bytes);
}

QNNRT_API qnnrt_result qnnrt_bind_input(qnnrt_run *run, const qnnrt_slot *slot, const void *data,
                                        size_t bytes)
{
    if (run == NULL) return QNNRT_E_ARG;
    return qnnrt__run_bind(run, slot, QNNRT_ROLE_INPUT, (void *)(uintptr_t)data, bytes);
}

QNNRT_API qnnrt_result qnnrt_bind_output(qnnrt_run *run, const qnnrt_slot *slot, void *data,
                                         size_t bytes)
{
    if (run == NULL) return QNNRT_E_ARG;
    return qnnrt__run_bind(run, slot, QNNRT_ROLE_OUTPUT, data, bytes);
}

QNNRT_API qnnrt_result qnnrt_bind_at(qnnrt_run *run, const qnnrt_slot *slot, const qnnrt_mem *mem,
                                     uint64_t offset)
{
    qnnrt__binding *found;
    if (run == NULL) return QNNRT_E_ARG;
    if (mem == NULL)
        return qnnrt__run_fail(run, QNNRT_E_ARG, NULL, "qnnrt_bind_at: mem is NULL");
    found = qnnrt__run_find(run, slot);
    if (found == NULL) return qnnrt__run_fail_slot(run, slot);
    if (!qnnrt__binding_in_buffer(found, mem, offset))
        return qnnrt__run_fail(run, QNNRT_E_ARG, slot, "of %llu bytes at offset %llu does not lie"
                               " within a buffer of the mem", (unsigned long long)found->bytes,
                               (unsigned long long)offset);
    qnnrt__run_omit(run, found, 0);
    qnnrt__run_point_at(run, found, mem, offset);
    return QNNRT_OK;
}

QNNRT_API void *qnnrt_data_slot(qnnrt_run *run, const qnnrt_slot *slot, size_t *bytes)
{
    const qnnrt__binding *found = run != NULL ? qnnrt__run_find(run, slot) : NULL;
    if (bytes != NULL) *bytes = found != NULL ? (size_t)found->now->bytes : 0;
    if (found != NULL && found->data == NULL) qnnrt__run_unbound(run, slot);
    if (found == NULL && run != NULL) qnnrt__run_fail_slot(run, slot);
    return found != NULL ? found->data : NULL;
}

QNNRT_API void *qnnrt_data(qnnrt_run *run, const char *name, size_t *bytes)
{
    const qnnrt_slot *slot = run != NULL ? qnnrt__run_look_up(run, name, QNNRT_ROLE_OUTPUT) : NULL;
    return qnnrt_data_slot(run, slot, bytes);
}

static qnnrt_result qnnrt__run_converted(qnnrt_run *run, const qnnrt_slot *slot,
                                         qnnrt_result result, qnnrt_dtype as)
{
    char facts[256];
    if (result == QNNRT_OK) return result;
    return qnnrt__run_fail(run, QNNRT_E_UNSUPPORTED, slot, "(%s) cannot be converted to or from %s",
                           qnnrt_tensor_text(slot->tensor, facts, sizeof(facts)),
                           qnnrt_dtype_name(as));
}

/* QNNRT__X(write, f32, 1, const float, QNNRT_DTYPE_F32) defines qnnrt_write_f32(); likewise the
   other three. */
#define QNNRT__X(verb, name, writes, type, as) \
    QNNRT_API qnnrt_result qnnrt_##verb##_##name(qnnrt_run *run, const qnnrt_slot *slot, \
                                                 uint64_t begin, type *values, size_t count) \
    { \
        void *data = NULL; \
        const qnnrt_tensor_info *now = NULL; \
        qnnrt_result result; \
        if (run == NULL) return QNNRT_E_ARG; \
        result = qnnrt__run_range(run, slot, begin, count, writes, &data, &now); \
        if (result != QNNRT_OK) return result; \
        if (values == NULL && count > 0) \
            return qnnrt__run_fail(run, QNNRT_E_ARG, slot, "is given no values: NULL"); \
        if (writes && slot->has_range) \
            result = qnnrt__run_takes(run, slot, begin, as, values, count); \
        if (result != QNNRT_OK) return result; \
        result = qnnrt__quant_values(now, data, (size_t)begin, as, (void *)(uintptr_t)values, \
                                     count, writes); \
        return qnnrt__run_converted(run, slot, result, as); \
    }
QNNRT__X(write, f32, 1, const float, QNNRT_DTYPE_F32)
QNNRT__X(read, f32, 0, float, QNNRT_DTYPE_F32)
QNNRT__X(write, i32, 1, const int32_t, QNNRT_DTYPE_I32)
QNNRT__X(read, i32, 0, int32_t, QNNRT_DTYPE_I32)
#undef QNNRT__X

QNNRT_API qnnrt_result qnnrt_encode_f32(const qnnrt_tensor_info *tensor, const float *values,
                                        void *data)
{
    void *from = (void *)(uintptr_t)values;
    qnnrt_result result;
    if (tensor == NULL || values == NULL || data == NULL) return QNNRT_E_ARG;
    /* Ask with no values, because what is refused must not be written. */
    result = qnnrt__quant_values(tensor, data, 0, QNNRT_DTYPE_F32, from, 0, 1);
    if (result != QNNRT_OK) return result;
    /* Clear the spare bits of a packed type. */
    if (tensor->bytes > 0) ((unsigned char *)data)[tensor->bytes - 1] = 0;
    return qnnrt__quant_values(tensor, data, 0, QNNRT_DTYPE_F32, from, (size_t)tensor->count, 1);
}

QNNRT_API qnnrt_result qnnrt_decode_f32(const qnnrt_tensor_info *tensor, const void *data,
                                        float *values)
{
    if (tensor == NULL || values == NULL || data == NULL) return QNNRT_E_ARG;
    return qnnrt__quant_values(tensor, (void *)(uintptr_t)data, 0, QNNRT_DTYPE_F32, values,
                               (size_t)tensor->count, 0);
}

/* =====================================================================================
   EXEC                                                                            >>exec
   Calls the steps of a run: one after the other and nothing else, or with what is on: locks,
   hooks, contexts that come and go.
   Needs: >>os >>mem >>err >>log >>codes >>abi >>compare >>backend (its struct) >>friends
          >>context >>model >>resident >>wiring >>slot >>binding >>host >>run >>access
   Knows nothing of: memory plans, files
   ===================================================================================== */

/* Make sure that the context of a step exists. If it is another one than last time, fetch its graph
   and register the tensors again. */
static qnnrt_result qnnrt__exec_have(qnnrt_run *run, size_t at, qnnrt_error *err)
{
    const qnnrt_step_info *info = &run->pipeline->steps[at];
    const qnnrt__context *context = &info->model->contexts[info->context];
    qnnrt_result result = QNNRT_OK;
    size_t s;
    if (info->model->take != NULL)
        result = info->model->take(info->model->self, info->context, run->began[0], err);
    else if (context->info->handle == NULL)
        result = qnnrt__resident_missing(info->model, info->context, err);
    if (result != QNNRT_OK) return qnnrt__hint_general(err, result);
    if (run->generations[at] == context->info->creates) return QNNRT_OK;
    run->generations[at] = context->info->creates;
    run->steps[at].graph = qnnrt__model_handle(info->model, info->context, info->graph);
    for (s = 0; s < run->pipeline->info.slot_count; ++s)
        qnnrt__binding_take(&run->slots[s], info->backend);
    return QNNRT_OK;
}

/* Fail, because nothing sets dims. */
static qnnrt_result qnnrt__exec_rigid(qnnrt_run *run)
{
    char facts[400];
    return QNNRT__HINT(&run->error, qnnrt__run_fail(
                           run, QNNRT_E_STATE, run->rigid, "is %s, and its dims may change",
                           qnnrt_tensor_text(run->rigid->tensor, facts, sizeof(facts))),
                       "Call qnnrt_run_dynamic() or qnnrt_set_dims() of qnnrt_device.h first.");
}

/* Return 1 if two slots must not lie in the same memory: one is written while the value of the
   other is still needed. */
static int qnnrt__exec_collide(const qnnrt_slot *a, const qnnrt_slot *b)
{
    const int written_a = a->role == QNNRT_ROLE_OUTPUT || a->role == QNNRT_ROLE_EDGE;
    const int written_b = b->role == QNNRT_ROLE_OUTPUT || b->role == QNNRT_ROLE_EDGE;
    const uint32_t until_a = a->role == QNNRT_ROLE_OUTPUT ? UINT32_MAX : a->last;
    const uint32_t until_b = b->role == QNNRT_ROLE_OUTPUT ? UINT32_MAX : b->last;
    return (written_a || written_b) && (written_a ? a->first : 0) <= until_b &&
           (written_b ? b->first : 0) <= until_a;
}

/* Fail, because two slots have memory in common. */
static qnnrt_result qnnrt__exec_common(qnnrt_run *run, size_t a, size_t b)
{
    const size_t first = a < b ? a : b, second = a < b ? b : a;
    const qnnrt__binding *x = &run->slots[first], *y = &run->slots[second];
    const uintptr_t x_end = (uintptr_t)x->data + (uintptr_t)x->bytes;
    const uintptr_t y_end = (uintptr_t)y->data + (uintptr_t)y->bytes;
    const qnnrt_slot *slots = run->pipeline->info.slots;
    qnnrt__run_fail(run, QNNRT_E_ARG, &slots[first], "(%llu bytes) and %s \"%.160s\" (%llu bytes)"
                    " have %llu bytes of memory in common", (unsigned long long)x->bytes,
                    qnnrt_role_name(slots[second].role), slots[second].address,
                    (unsigned long long)y->bytes,
                    (unsigned long long)((x_end < y_end ? x_end : y_end) -
                                         (uintptr_t)(x->data > y->data ? x->data : y->data)));
    return QNNRT__HINT(&run->error, QNNRT_E_ARG, "Bind one of them to other memory.");
}

/* Compare the memory of the slots that were bound elsewhere with that of all. */
static qnnrt_result qnnrt__exec_overlap(qnnrt_run *run)
{
    const qnnrt_pipeline_info *info = &run->pipeline->info;
    uint32_t i;
    size_t s;
    for (i = 0; i < run->fresh_count; ++i) {
        const size_t at = run->fresh[i];
        const qnnrt__binding *slot = &run->slots[at];
        const uintptr_t begin = (uintptr_t)slot->data;
        if (slot->data == NULL || slot->omitted) continue;
        for (s = 0; s < info->slot_count; ++s) {
            const qnnrt__binding *other = &run->slots[s];
            const uintptr_t other_begin = (uintptr_t)other->data;
            if (begin >= other_begin + (uintptr_t)other->bytes ||
                other_begin >= begin + (uintptr_t)slot->bytes || s == at || other->data == NULL ||
                other->omitted || !qnnrt__exec_collide(&info->slots[at], &info->slots[s]))
                continue;
            return qnnrt__exec_common(run, at, s);
        }
    }
    while (run->fresh_count > 0) run->slots[run->fresh[--run->fresh_count]].fresh = 0;
    qnnrt__run_settle(run);
    return QNNRT_OK;
}

static qnnrt_result qnnrt__exec_failed(qnnrt_run *run, const qnnrt__step *step,
                                       qnnrt__abi_code code)
{
    const size_t at = (size_t)(step - run->steps);
    const qnnrt__run_part *part = run->of[at];
    char where[512];
    qnnrt__run_fail(run, QNNRT_E_BACKEND, NULL, "%s failed",
                    qnnrt__wiring_where(run->pipeline, (uint32_t)at, where, sizeof(where)));
    if (part == NULL) return qnnrt__host_explain((qnnrt__host *)step->graph, &run->error);
    if (run->part_count > 1) qnnrt_error_add(&run->error, " on %.200s", part->backend->path);
    return qnnrt__codes_explain(&run->error, "graphExecute", code, part->backend->log_slot,
                                  run->mixed ? part->mark : run->mark);
}

/* Execute a step with what is on: the hooks of the run, its context, and if steps are mixed, the
   lock and the log of its backend. */
static qnnrt_result qnnrt__exec_turn(qnnrt_run *run, const qnnrt__step *step)
{
    const size_t at = (size_t)(step - run->steps);
    qnnrt__run_part *part = run->of[at];
    const qnnrt_hooks *lock = run->mixed && part != NULL ? &part->backend->hooks : NULL;
    qnnrt__run_hook *hook;
    qnnrt__abi_handle profile = NULL;
    qnnrt_result result = QNNRT_OK;
    if (part != NULL) part->mark = qnnrt__log_begin(part->log_count);
    if (lock != NULL) qnnrt__hooks_lock(lock);
    if (part != NULL && (run->moves || run->stale))
        result = qnnrt__exec_have(run, at, qnnrt__run_err(run));
    for (hook = run->hooks; hook != NULL && result == QNNRT_OK; hook = hook->next)
        if (hook->before != NULL) result = hook->before(hook, at, &profile);
    if (result == QNNRT_OK) {
        const qnnrt__abi_code code = step->execute(step->graph, step->inputs, step->input_count,
                                                   step->outputs, step->output_count, profile,
                                                   NULL);
        if (QNNRT__UNLIKELY(code != 0)) result = qnnrt__exec_failed(run, step, code);
    }
    for (hook = run->hooks; hook != NULL && result == QNNRT_OK; hook = hook->next)
        if (hook->after != NULL) result = hook->after(hook, at);
    if (lock != NULL) qnnrt__hooks_unlock(lock);
    return result;
}

/* Execute the steps before `end` in turn. Hooks end after the last step of the pipeline, or the one
   that failed. */
static qnnrt_result qnnrt__exec_turns(qnnrt_run *run, const qnnrt__step *step,
                                      const qnnrt__step *end)
{
    const int first = step == run->steps, last = end == run->steps_end;
    qnnrt__run_hook *hook;
    qnnrt_result result = QNNRT_OK;
    if (run->moves && first) {
        const uint64_t now = qnnrt__os_clock_ns();
        run->began[0] = run->began[1] != 0 ? run->began[1] : now;
        run->began[1] = now;
    }
    for (; step < end && result == QNNRT_OK; ++step) result = qnnrt__exec_turn(run, step);
    for (hook = run->hooks; (last || result != QNNRT_OK) && hook != NULL; hook = hook->next)
        if (hook->end != NULL) hook->end(hook, result);
    if (result == QNNRT_OK && first && last) run->stale = 0;
    qnnrt__run_settle(run);
    return result;
}

/* Execute the steps before `end` with checks. It is not inlined, because qnnrt_exec() would then
   save more registers. */
static QNNRT__NOT_INLINE qnnrt_result qnnrt__exec_careful(qnnrt_run *run, const qnnrt__step *step,
                                                          const qnnrt__step *end)
{
    const qnnrt_hooks *hooks = run->common;
    qnnrt_result result = QNNRT_OK;
    if (run->missing > 0) {
        const qnnrt__binding *slot = run->slots;
        while (slot->data != NULL || slot->omitted) ++slot;
        return qnnrt__run_unbound(run, &run->pipeline->info.slots[slot - run->slots]);
    }
    if (run->rigid != NULL) return qnnrt__exec_rigid(run);
    if (run->fresh_count > 0) result = qnnrt__exec_overlap(run);
    if (result != QNNRT_OK) return result;
    if (run->busy != NULL && !qnnrt__os_try_lock(run->busy))
        return QNNRT__HINT(&run->error, qnnrt__run_fail(run, QNNRT_E_BUSY, NULL, "another run of"
                           " its group is executing; they share memory"),
                           "Wait until it returns, or plan entries in different groups.");
    if (!run->mixed) qnnrt__hooks_lock(hooks);
    result = qnnrt__exec_turns(run, step, end);
    if (!run->mixed) qnnrt__hooks_unlock(hooks);
    if (run->busy != NULL) qnnrt__os_unlock(run->busy);
    return result;
}

/* Add a hook to a run. */
static QNNRT__FOR_FRIENDS void qnnrt__exec_hook(qnnrt_run *run, qnnrt__run_hook *hook)
{
    hook->next = run->hooks;
    run->hooks = hook;
    qnnrt__run_settle(run);
}

/* Remove a hook of a run. */
static QNNRT__FOR_FRIENDS void qnnrt__exec_unhook(qnnrt_run *run, const qnnrt__run_hook *hook)
{
    qnnrt__run_hook **at = &run->hooks;
    while (*at != hook) at = &(*at)->next;
    *at = hook->next;
    qnnrt__run_settle(run);
}

QNNRT_API qnnrt_result qnnrt_exec(qnnrt_run *run)
{
    const qnnrt__step *step;
    if (QNNRT__UNLIKELY(run == NULL)) return QNNRT_E_ARG;
    run->mark = qnnrt__log_begin(run->log_count);    /* a failure shows the lines after it */
    if (QNNRT__UNLIKELY(run->careful))
        return qnnrt__exec_careful(run, run->steps, run->steps_end);
    step = run->steps;
    do {
        const qnnrt__abi_code code = step->execute(step->graph, step->inputs, step->input_count,
                                                   step->outputs, step->output_count, NULL, NULL);
        if (QNNRT__UNLIKELY(code != 0)) return qnnrt__exec_failed(run, step, code);
    } while (++step < run->steps_end);
    return QNNRT_OK;
}

QNNRT_API qnnrt_result qnnrt_exec_steps(qnnrt_run *run, size_t first, size_t count)
{
    const size_t steps = run != NULL ? run->pipeline->info.step_count : 0;
    if (run == NULL) return QNNRT_E_ARG;
    if (count == 0 || first >= steps || count > steps - first)
        return qnnrt__run_fail(run, QNNRT_E_ARG, NULL, "%llu steps from step %llu on, but it has"
                               " %llu", (unsigned long long)count, (unsigned long long)first,
                               (unsigned long long)steps);
    run->mark = qnnrt__log_begin(run->log_count);
    return qnnrt__exec_careful(run, run->steps + first, run->steps + first + count);
}

/* =====================================================================================
   VERSION                                                                      >>version
   Says which version this is.
   Needs: >>config     Knows nothing of: all else
   ===================================================================================== */

QNNRT_API const char *qnnrt_version(void)
{
#define QNNRT__TEXT2(x) #x
#define QNNRT__TEXT(x) QNNRT__TEXT2(x)
    return QNNRT__TEXT(QNNRT_VERSION_MAJOR) "." QNNRT__TEXT(QNNRT_VERSION_MINOR) "." QNNRT__TEXT(
        QNNRT_VERSION_PATCH);
#undef QNNRT__TEXT
#undef QNNRT__TEXT2
}

QNNRT_API qnnrt_result qnnrt_check_version(uint32_t version, size_t structs)
{
    return version == QNNRT_VERSION_NUMBER && structs == QNNRT__STRUCTS ? QNNRT_OK
                                                                        : QNNRT_E_VERSION;
}

#ifdef __cplusplus
}
#endif


/* ---- vendor data: `make vendor` writes all from here to its end, see tools/vendor ---- */

/* =====================================================================================
   VENDOR CODES                                                           >>vendor_codes
   Symbols, causes and hints of the vendor's codes.
   Needs: >>codes     Knows nothing of: callers
   ===================================================================================== */

#ifndef QNNRT_NO_ERROR_TEXT
/* Texts of several entries. */
static const char qnnrt__vendor_recover[] = "Call qnnrt_model_recover() of qnnrt_device.h, or close"
      " everything on this backend and open it again.";
static const char qnnrt__vendor_reopen[] = "Close everything on this backend and open it again.";
static const char qnnrt__vendor_skel[] = "Put libQnnHtpV<arch>Skel.so into a folder of"
      " ADSP_LIBRARY_PATH (separate folders by ';', not by ':').";
static const char qnnrt__vendor_unsignedpd[] = "the system does not allow it (SELinux), or the chip"
      " is a mid-range one that does not offer it";
static const char qnnrt__vendor_use_a[] = "Use a signed process domain, or ask the vendor for"
      " permission.";

static const qnnrt__codes_cause qnnrt__vendor_causes[] = {
    { 1000, "the x86-64 emulator lacks it: weight-shared contexts, registered memory, signals",
      "Go on without it, or use a binary that does not need it; the first line that was logged"
      " names what is missing." },
    { 1002, "the NPU's process domain is full: one context needs more than about 3.6 GB, or there"
      " are too many", "Split the model into shards, load fewer of them, or free contexts first; on"
      " x86-64 set soc_model (57)." },
    { 1006, "the machine has no chip or driver that the library can use", "Use the backend and the"
      " libraries of this platform." },
    { 1007, "the DSP restarted, and all handles became invalid", qnnrt__vendor_recover },
    { 1008, "stub and skel are of different releases; often the older one is in the phone's system"
      " image", "Ship backend, stub and skel of one release, and put their folder first in"
      " ADSP_LIBRARY_PATH." },
    { 1009, "the skel for this NPU is missing, or its folder is not on the DSP's search path",
      qnnrt__vendor_skel },
    { 1011, "the DSP restarted, and all handles became invalid", qnnrt__vendor_recover },
    { 1100, "an earlier call failed, such as backendCreate before deviceCreate",
      "Read the first line that was logged; on x86-64 close one model before you open another." },
    { 4000, "there is no NPU: the machine has no Snapdragon, or one that the library does not"
      " know", "Run it on the device; on Android declare <uses-native-library"
      " android:name=\"libcdsprpc.so\"/> in the manifest." },
    { 4005, "the path is wrong, or the package needs a library that is missing",
      "Check its path, and check that it was built for this backend." },
    { 4006, "the name is misspelled, or the symbol is hidden", "List the symbols of the package (nm"
      " -D) and pass the right name." },
    { 4007, "it is registered already", "Register it once, or read the first line that the library"
      " logged." },
    { 5000, "made by a newer release than the library, for another chip, or cut short",
      "Build it with the library's release or ship newer libraries, or copy the file again." },
    { 5001, "it was freed earlier, or it was never created", qnnrt__vendor_reopen },
    { 5004, "made by a newer release than the library, or by a very old one", "Build it with the"
      " library's release, or ship newer libraries." },
    { 5005, "it was compiled for another backend or chip", "Compile it for this chip and backend,"
      " with a vtcm_mb that the chip has." },
    { 5008, "it was compiled with options that this chip or release lacks", "Compile it for this"
      " chip with the library's release." },
    { 5010, "this library or platform refuses the option, as x86-64 refuses shared buffers",
      "Try again without the option, or read the first line that the library logged." },
    { 6000, "the list of inputs or of outputs is empty", "Check the arguments, and take names, ids,"
      " dims and types from the metadata of the binary itself." },
    { 6001, "the context of this graph was freed, or was lost with its backend or the DSP",
      qnnrt__vendor_reopen },
    { 6004, "the tensors differ from those the graph was built with, in ids, number or dims",
      "Bind every tensor, with names, ids, dims and types from the metadata of the binary"
      " itself." },
    { 6999, "the DSP crashed or timed out during the execute", qnnrt__vendor_reopen },
    { 14001, "no transport to the DSP: the stub or the skel is missing or not on the search path,"
      " or this process cannot open the driver", "Check that libQnnHtpV<arch>Stub.so is beside the"
      " backend and the Skel in ADSP_LIBRARY_PATH (separate folders by ';')." },
    { 14002, "the library does not support this chip", "Use libraries of this platform, in a"
      " release that lists the chip, or try again later." },
    { 14004, "the system's policy (SELinux, permissions) denies it", "Ask the vendor for"
      " permission, or run as an app that has it." },
    { 30001, "the file is empty", "Check that the file is a context binary and was read"
      " completely." },
    { 30002, "the binary is for another chip", "Compile it for this chip, or read the first line"
      " that the library logged." },
    { 30010, "damaged or cut short, or made by a release that the library cannot read",
      "Copy the file again and compare its size, or use a newer libQnnSystem.so." },
    { 0x80000406u, "the skel's folder is not in ADSP_LIBRARY_PATH, or its folders are separated by"
      " ':'", qnnrt__vendor_skel },
    { 0x8000040Du, "the skel is not on the DSP's search path, or it is not of the backend's"
      " release", qnnrt__vendor_skel },
    { 0x80000414u, qnnrt__vendor_unsignedpd, qnnrt__vendor_use_a },
    { 0x80000580u, qnnrt__vendor_unsignedpd, qnnrt__vendor_use_a },
    { 0x80000600u, "the skel's folder is not in ADSP_LIBRARY_PATH", qnnrt__vendor_skel },
    { 0, NULL, NULL }
};

static const char qnnrt__vendor_symbols[] =
    "0 SUCCESS COMMON_ERROR_ 1000 NOT_SUPPORTED 1002 MEM_ALLOC SYSTEM INVALID_ARGUMENT"
      " OPERATION_NOT_PERMITTED PLATFORM_NOT_SUPPORTED SYSTEM_COMMUNICATION INCOMPATIBLE_BINARIES"
      " LOADING_BINARIES RESOURCE_UNAVAILABLE SYSTEM_COMMUNICATION_FATAL 1100 GENERAL"
      " PROPERTY_ERROR_ 2000 UNKNOWN_KEY OP_PACKAGE_ERROR_ 3000 LIBRARY_ALREADY_INITIALIZED"
      " LIBRARY_NOT_INITIALIZED INVALID_HANDLE 3100 INVALID_INFRASTRUCTURE INVALID_INFO 3110"
      " VALIDATION_FAILURE 3200 INVALID_ARGUMENT BACKEND_ERROR_ 4000 CANNOT_INITIALIZE 4002"
      " TERMINATE_FAILED NOT_SUPPORTED INVALID_ARGUMENT OP_PACKAGE_NOT_FOUND"
      " OP_PACKAGE_IF_PROVIDER_NOT_FOUND OP_PACKAGE_REGISTRATION_FAILED"
      " OP_PACKAGE_UNSUPPORTED_VERSION OP_PACKAGE_DUPLICATE INCONSISTENT_CONFIG INVALID_HANDLE"
      " INVALID_CONFIG OP_PACKAGE_LOAD_FROM_BUFFER_FAILED SAVER_ERROR_ 4950 DUMMY_RETVALUE"
      " ALREADY_INSTANTIATED CONTEXT_ERROR_ 5000 INVALID_ARGUMENT CTX_DOES_NOT_EXIST"
      " INVALID_HANDLE NOT_FINALIZED BINARY_VERSION CREATE_FROM_BINARY GET_BINARY_SIZE_FAILED"
      " GET_BINARY_FAILED BINARY_CONFIGURATION SET_PROFILE INVALID_CONFIG BINARY_SUBOPTIMAL"
      " ABORTED TIMED_OUT INCREMENT_INVALID_BUFFER GRAPH_ERROR_ 6000 INVALID_ARGUMENT"
      " INVALID_HANDLE GRAPH_DOES_NOT_EXIST INVALID_NAME INVALID_TENSOR INVALID_OP_CONFIG"
      " SET_PROFILE UNCONNECTED_NODE 6020 CREATE_FAILED OPTIMIZATION_FAILED FINALIZE_FAILED"
      " GRAPH_NOT_FINALIZED GRAPH_FINALIZED EXECUTION_ASYNC_FIFO_FULL 6030 SIGNAL_IN_USE ABORTED"
      " PROFILE_IN_USE TIMED_OUT SUBGRAPH DISABLED DYNAMIC_TENSOR_SHAPE TENSOR_SPARSITY"
      " EARLY_TERMINATION INVALID_CONTEXT CYCLE_DETECTED GRAPH_ 6999 MAX_ERROR TENSOR_ERROR_ 7001"
      " INVALID_HANDLE DOES_NOT_EXIST ALREADY_EXISTS INVALID_TENSOR_PARAM UNSUPPORTED_TENSOR_PARAM"
      " NAME_HASH_COLLISION INCOMPATIBLE_TENSOR_UPDATE MEM_ERROR_ 8000 INVALID_ARGUMENT"
      " INVALID_HANDLE ALREADY_REGISTERED MAPPING INVALID_SHAPE UNSUPPORTED_MEMTYPE SIGNAL_ERROR_"
      " 9000 SIGNAL_IN_USE SIGNAL_IDLE INVALID_ARGUMENT INVALID_HANDLE TIMEOUT"
      " INCOMPATIBLE_SIGNAL_TYPE ERROR_ 10000 INVALID_ARGUMENT INVALID_ERROR_HANDLE LOG_ERROR_"
      " 11002 INITIALIZATION INVALID_ARGUMENT INVALID_HANDLE PROFILE_ERROR_ 12000 INVALID_HANDLE"
      " HANDLE_IN_USE INCOMPATIBLE_EVENT HTP_PERF_INFRASTRUCTURE_ERROR_ 13000 INVALID_HANDLE_PTR"
      " INVALID_INPUT UNSUPPORTED_CONFIG TRANSPORT UNSUPPORTED MEM_ALLOC FAILED DEVICE_ERROR_"
      " 14000 INVALID_HANDLE INVALID_CONFIG HARDWARE_UNAVAILABLE ASSOCIATED_TO_CONTEXT"
      " ACCESS_DENIED GLOBAL_CONFIG_ERROR_ 15000 INVALID_CONFIG SYSTEM_COMMON_ERROR_ 30000"
      " INVALID_HANDLE INVALID_ARGUMENT SYSTEM_CONTEXT_ERROR_ OPERATION_FAILED 30010"
      " MALFORMED_BINARY SYSTEM_PROFILE_ERROR_ 31000 MEM_ALLOC";

static void qnnrt__codes_data(const char **symbols, const qnnrt__codes_cause **causes)
{
    *symbols = qnnrt__vendor_symbols;
    *causes = qnnrt__vendor_causes;
}
#endif

/* =====================================================================================
   VENDOR NAMES                                                           >>vendor_names
   The vendor's enumerators as text.
   Needs: >>names     Knows nothing of: callers
   ===================================================================================== */

/* The lists one after the other, in the order of their numbers. */
static const qnnrt__names_entry qnnrt__vendor_names[] = {
    { 0x0002, "INT_2" }, { 0x0004, "INT_4" }, { 0x0008, "INT_8" }, { 0x0016, "INT_16" },
    { 0x0032, "INT_32" }, { 0x0064, "INT_64" }, { 0x0102, "UINT_2" }, { 0x0104, "UINT_4" },
    { 0x0108, "UINT_8" }, { 0x0116, "UINT_16" }, { 0x0132, "UINT_32" }, { 0x0164, "UINT_64" },
    { 0x0204, "FLOAT_4" }, { 0x0208, "FLOAT_8" }, { 0x0216, "FLOAT_16" }, { 0x0226, "BFLOAT_16" },
    { 0x0232, "FLOAT_32" }, { 0x0264, "FLOAT_64" }, { 0x0302, "SFIXED_POINT_2" },
    { 0x0304, "SFIXED_POINT_4" }, { 0x0308, "SFIXED_POINT_8" }, { 0x0316, "SFIXED_POINT_16" },
    { 0x0332, "SFIXED_POINT_32" }, { 0x0402, "UFIXED_POINT_2" }, { 0x0404, "UFIXED_POINT_4" },
    { 0x0408, "UFIXED_POINT_8" }, { 0x0416, "UFIXED_POINT_16" }, { 0x0432, "UFIXED_POINT_32" },
    { 0x0508, "BOOL_8" }, { 0x0608, "STRING" }, { 0x7FFFFFFF, "UNDEFINED" }, { 0, NULL },
    { 0, "APP_WRITE" }, { 1, "APP_READ" }, { 2, "APP_READWRITE" }, { 3, "NATIVE" }, { 4, "STATIC" },
    { 5, "NULL" }, { 6, "UPDATEABLE_STATIC" }, { 7, "UPDATEABLE_NATIVE" },
    { 8, "UPDATEABLE_APP_WRITE" }, { 9, "UPDATEABLE_APP_READ" }, { 10, "UPDATEABLE_APP_READWRITE" },
    { 11, "OPTIONAL_APP_WRITE" }, { 12, "OPTIONAL_APP_READ" }, { 13, "OPTIONAL_APP_READWRITE" },
    { 0x7FFFFFFF, "UNDEFINED" }, { 0, NULL }, { 0, "FLAT_BUFFER" }, { 0, "DENSE" }, { 1, "SPARSE" },
    { 2, "CODEBOOK" }, { 3, "MX" }, { 8, "HMX_WEIGHT_LAYOUT" }, { 0, NULL }, { 0, "SCALE_OFFSET" },
    { 1, "AXIS_SCALE_OFFSET" }, { 2, "BW_SCALE_OFFSET" }, { 3, "BW_AXIS_SCALE_OFFSET" },
    { 4, "BLOCK" }, { 5, "BLOCKWISE_EXPANSION" }, { 6, "VECTOR" }, { 7, "FLOAT_BLOCK" },
    { 8, "BW_AXIS_SCALE_OFFSET_MAPPED" }, { 9, "BW_BLOCK_MAPPED" },
    { 10, "BW_BLOCKWISE_EXPANSION_MAPPED" }, { 11, "BW_FLOAT_BLOCK" }, { 12, "MICROSCALING" },
    { 13, "ARRAY_OF" }, { 0x7FFFFFFF, "UNDEFINED" }, { 0, NULL }, { 0, "IMPL_GENERATED" },
    { 1, "DEFINED" }, { 0x7FFFFFFF, "UNDEFINED" }, { 0, NULL }
};

static const qnnrt__names_entry *qnnrt__names_get(int which)
{
    const qnnrt__names_entry *entry = qnnrt__vendor_names;
    for (; which > 0; ++entry) which -= entry->name == NULL;
    return entry;
}

/* ---- end of vendor data ---- */

#endif /* QNNRT__IMPL_ONCE */
#endif /* QNNRT_IMPLEMENTATION */

#ifdef QNNRT__IMPL_ONCE     /* nothing is left: compilers do not read the file again */
#define QNNRT__WHOLE
#endif
#endif /* QNNRT__WHOLE */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   What not every app calls has moved to headers of tools/. Old -> new:
     conversions: qnnrt_edge_desc.convert, .exact      qnnrt_conversions_create()      convert.h
     QNNRT_STEP_CONVERT, qnnrt_step_info.convert       QNNRT_STEP_DERIVED, qnnrt_convert_of()
     qnnrt_run_conversions(), qnnrt_conversion_info,   qnnrt_convert_get_info()        convert.h
         qnnrt_step_info.exact
     desc.backends, .host_functions                    qnnrt_manifest_open_desc        manifest.h
     desc.check_hashes                                 qnnrt_manifest_open_desc.sha256 manifest.h
     qnnrt_sha256_begin() ..                           the same                        sha256.h
     qnnrt_open() of a program or of roles             qnnrt_manifest_open()           manifest.h
     qnnrt_info.program, .constants; ..context_info.role   qnnrt_manifest_info         manifest.h
     qnnrt_backend_role, qnnrt_file.role               qnnrt_manifest_role             manifest.h
     qnnrt_constant_info                               qnnrt_manifest_constant         manifest.h
     qnnrt_host_function                               qnnrt_host_step
     QNNRT_RESIDENT_ONE, _BUDGET, desc.resident_bytes  qnnrt_model_swap()              device.h
     desc.share_spill_fill                             qnnrt_model_load_shared(), with device.h
                                                       QNNRT_RESIDENT_CALLER
     qnnrt_recover()                                   qnnrt_model_recover()           device.h
     qnnrt_power_set() and its types, qnnrt_update(),  the same                        device.h
         qnnrt_power_preset_name(),
         qnnrt_omit(), qnnrt_set_dims(), qnnrt_get_dims(), qnnrt_backend_register_ops()
     QNNRT_MEM_DMABUF, _MEMFD, _FD, and .fd, .heap     qnnrt_device_memory(), _heap(), device.h
         of qnnrt_mem_desc                             qnnrt_device_fd()
     qnnrt_context_info.resident                       .handle
     desc.profile_level                                qnnrt_profile_hook()            profile.h
     qnnrt_run_profile(), _events(), _profile_log(),   the same                        profile.h
         qnnrt_profile_event, qnnrt_profile_level
     qnnrt_info.events                                 qnnrt_profile_events()          profile.h
     qnnrt_explain(), qnnrt_explain_code()             the same                        explain.h
     qnnrt_explanation_get()                           qnnrt_explain_get()             explain.h
     the cause in qnnrt_error.text                     qnnrt_error.cause
     qnnrt_compose.h, QNNRT_COMPOSE                    qnnrt_builder.h, QNNRT_BUILDER_IMPLEMENTATION
     qnnrt_program.h, qnnrt_host.h                     qnnrt_compile.h, qnnrt_cpu_fallback.h
     qnnrt_known.h, qnnrt_decoder.h                    qnnrt_quirks.h, qnnrt_llm_graph.h: functions,
                                                       types and macros begin as their header
     qnnrt_profile_log.h, QNNRT_PROFILE_LOG_..         qnnrt_profile.h, QNNRT_PROFILE_..
     desc.align, .guard, .mem_kind, .no_zero, .per_tensor  qnnrt_prepare_with()
     qnnrt_mem_desc.guard                              .guard of a plan and of qnnrt_prepare_desc
     qnnrt_prepare_unbound(), .unbound                 .caller_io
     QNNRT_BUFFER_CALLER                               qnnrt_place_desc.caller_io
     qnnrt_bind_slot()                                 qnnrt_bind_input(), qnnrt_bind_output()
     qnnrt_run_memory(), qnnrt_memory_info             qnnrt_run_transfers(), qnnrt_transfer_info
     qnnrt_load(), qnnrt_unload()                      qnnrt_context_load(), _unload()
     qnnrt_vendor_code_name(code)                      qnnrt_vendor_code_name(code, text, room)
     qnnrt_run_watch()                                 qnnrt_exec_steps()
     qnnrt_pipeline_input(), qnnrt_pipeline_output()   qnnrt_pipeline_info.inputs, .outputs
     qnnrt_mem_kind_name()                             qnnrt_mem_info.name
     qnnrt_slot, qnnrt_slot_info, QNNRT_NO_SLOT        const qnnrt_slot *, qnnrt_slot, NULL
     apart, constants, names, keeps, ranges of         .uses: one qnnrt_use_desc for
         qnnrt_pipeline_desc                           qnnrt_apart_, _constant_, _name_,
                                                       _keep_ and qnnrt_range_desc
     qnnrt_manifest_context.backend, _context_info     .role, qnnrt_manifest_context   manifest.h
     qnnrt_manifest_constant.name .. .dims             .tensor, in open programs, too  manifest.h
     qnnrt_manifest_desc.wired; .conversions           -; qnnrt_manifest_pipeline      manifest.h
     "hash" of a context in qnnrt.json                 "fingerprint"                   manifest.h
     hooks of a role, some of them                     all of them, or none            manifest.h
     qnnrt_builder_extend(), _reset(), .shared and     - (graphs of one builder; weight_sharing
         context.shared_bytes, .shared_copies              on HTP, QNNRT_BORROW_MODEL on Ref)
     QNNRT_BUILDER_API, QNNRT_PROFILE_API, _DEVICE_API  QNNRT_API
           Added: qnnrt_backend_info.hooks, limits.scales, .entries, .places, .steps and .looks,
           desc.check, desc.context_hooks, QNNRT_CHECK_VERSION(), QNNRT_VERSION_NUMBER, which all
           headers above compare, qnnrt_exec_steps(), qnnrt_pipeline_prepare(), qnnrt_file.name,
           qnnrt_step_info.host, qnnrt_backend_desc.power, qnnrt_mem_provider,
           qnnrt_host_step.derived, pipelines of host steps alone (desc.hooks), and
           the calls for code that stands on qnnrt.h, with
           qnnrt_values_convert(); qnnrt_dtype_bits().
           Changed: a missing file or folder is QNNRT_E_NOT_FOUND in each call. A host step may
           have no outputs. A plan takes at most limits.places. A newline that an error inserts
           becomes a blank. Programs link without libgcc. qnnrt_power_set() after a recovery that
           failed is QNNRT_E_STATE.
           "layer" and "0/layer" are one pipeline, called "layer", if no graph joins it.
           Metadata is read as qnn-context-binary-utility and qnnrt-run write it: no longer
           "scaleOffsetEncoding" and its kin, "quantization", "data_type", "currentDimensions",
           "inputs" and "outputs" of a graph, enumerators as numbers, scale and offset without an
           object, pairs of an axis as texts or lists, sizes of tensors, and names of image layouts.
           Fixed: qnnrt_pipeline_make() with a count and no list; qnnrt_encode_f32()
           wrote before it refused; qnnrt_data() of a slot that is not bound set no text; a warning
           of two NPU generations after the first model was closed; newlines in logged errors;
           control characters in errors of headers above.
   0.4.0   Added: pipelines over several backends, with host steps, constants, names, buffers and
           ranges; qnnrt_run_watch(); memory that is not filled; plans without sharing; graphs that
           join a built model. Changed: an exec refuses bound memory in which outputs overlap.
   0.3.0   Added: shared memory, dynamic dims, optional and updateable tensors, residency, recovery,
           progress, shared spill-fill memory.
   0.2.0   Added: graphs built in C, op packages, profiling, power, hints of errors. Changed: slots
           are addresses; qnnrt_get_info() replaces seven calls.
   0.1.0   First version: open, wire, plan, bind and execute folders of context binaries.
   ---------------------------------------------------------------------------------------------- */
