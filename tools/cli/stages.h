/* stages.h - calls that may crash within a library: the message of a crash names what was done

   To be included after all headers that declare these functions.                                */
#ifndef CLI_STAGES_H
#define CLI_STAGES_H

#define CLI_STAGE(stage, call) (cli_begin(&cli_stage_##stage), cli_after(call))
#define qnnrt_backend_open(a, b, c) CLI_STAGE(backend, qnnrt_backend_open(a, b, c))
#define qnnrt_backend_close(a) CLI_STAGE(backend, qnnrt_backend_close(a))
#define qnnrt_builder_finish(a, b, c) CLI_STAGE(build, qnnrt_builder_finish(a, b, c))
#define qnnrt_exec(a) CLI_STAGE(exec, qnnrt_exec(a))
#define qnnrt_open(a, b, c, d) CLI_STAGE(model, qnnrt_open(a, b, c, d))
#define qnnrt_save(a, b, c, d) CLI_STAGE(model, qnnrt_save(a, b, c, d))
#define qnnrt_close(a) CLI_STAGE(model, qnnrt_close(a))
#define qnnrt_manifest_open(a, b, c, d) CLI_STAGE(model, qnnrt_manifest_open(a, b, c, d))
#define qnnrt_manifest_close(a) CLI_STAGE(model, qnnrt_manifest_close(a))
#define qnnrt_compile_lower(a, b) CLI_STAGE(split, qnnrt_compile_lower(a, b))
#define qnnrt_compile_build(a, b) CLI_STAGE(split, qnnrt_compile_build(a, b))
#define qnnrt_llm_open(a, b, c, d) CLI_STAGE(llm, qnnrt_llm_open(a, b, c, d))
#define qnnrt_llm_decode(a, b) CLI_STAGE(llm, qnnrt_llm_decode(a, b))
#define qnnrt_ir_read(a, b, c, d, e) CLI_STAGE(read, qnnrt_ir_read(a, b, c, d, e))
#define qnnrt_lower_create(a, b, c) CLI_STAGE(lower, qnnrt_lower_create(a, b, c))

#endif
