"""The C interface of libqnnrt.so. Written by tools/python/make_abi.py: do not change it here."""
# pylint: skip-file
# ruff: noqa
from ctypes import *

VERSION = (0, 5, 0)

QNNRT_OK = 0
QNNRT_E_ARG = -1
QNNRT_E_MEMORY = -2
QNNRT_E_IO = -3
QNNRT_E_FORMAT = -4
QNNRT_E_LIBRARY = -5
QNNRT_E_VERSION = -6
QNNRT_E_NOT_FOUND = -7
QNNRT_E_MISMATCH = -8
QNNRT_E_UNSUPPORTED = -9
QNNRT_E_BACKEND = -10
QNNRT_E_BUSY = -11
QNNRT_E_STATE = -12
QNNRT_E_LIMIT = -13
QNNRT_E_CANCELLED = -14
QNNRT_DTYPE_I8 = 8
QNNRT_DTYPE_I16 = 22
QNNRT_DTYPE_I32 = 50
QNNRT_DTYPE_I64 = 100
QNNRT_DTYPE_U8 = 264
QNNRT_DTYPE_U16 = 278
QNNRT_DTYPE_U32 = 306
QNNRT_DTYPE_U64 = 356
QNNRT_DTYPE_F16 = 534
QNNRT_DTYPE_BF16 = 550
QNNRT_DTYPE_F32 = 562
QNNRT_DTYPE_F64 = 612
QNNRT_DTYPE_S8Q = 776
QNNRT_DTYPE_S16Q = 790
QNNRT_DTYPE_S32Q = 818
QNNRT_DTYPE_U8Q = 1032
QNNRT_DTYPE_U16Q = 1046
QNNRT_DTYPE_U32Q = 1074
QNNRT_DTYPE_BOOL8 = 1288
QNNRT_DTYPE_STRING = 1544
QNNRT_ENCODING_PER_TENSOR = 1
QNNRT_ENCODING_PER_AXIS = 2
QNNRT_RESIDENT_CALLER = 1
QNNRT_ROLE_INPUT = 1
QNNRT_ROLE_OUTPUT = 2
QNNRT_ROLE_EDGE = 3
QNNRT_ROLE_CONSTANT = 4
QNNRT_STEP_GRAPH = 0
QNNRT_STEP_HOST = 1
QNNRT_STEP_DERIVED = 2
QNNRT_PRECISION_DEFAULT = 0
QNNRT_PRECISION_FP32 = 1
QNNRT_PRECISION_FP16 = 2
QNNRT_PRECISION_INT8 = 3
QNNRT_ENGINES = 8


class qnnrt_error(Structure):
    _fields_ = [
        ('code', c_int),
        ('vendor_code', c_uint64),
        ('text', c_char * 2048),
        ('hint', c_char * 512),
        ('cause', c_char_p),
    ]


class qnnrt_hooks(Structure):
    _fields_ = [
        ('alloc', CFUNCTYPE(c_void_p, c_void_p, c_size_t)),
        ('free', CFUNCTYPE(None, c_void_p, c_void_p)),
        ('alloc_user', c_void_p),
        ('log', CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_uint64, c_char_p)),
        ('log_user', c_void_p),
        ('lock', CFUNCTYPE(None, c_void_p)),
        ('unlock', CFUNCTYPE(None, c_void_p)),
        ('lock_user', c_void_p),
    ]


class qnnrt_limits(Structure):
    _fields_ = [
        ('file_bytes', c_uint64),
        ('arena_bytes', c_uint64),
        ('files', c_uint32),
        ('tensors', c_uint32),
        ('name_bytes', c_uint32),
        ('rank', c_uint32),
        ('json_bytes', c_uint64),
        ('scales', c_uint32),
        ('entries', c_uint32),
        ('places', c_uint32),
        ('steps', c_uint32),
        ('looks', c_uint32),
    ]


class qnnrt_quant(Structure):
    _fields_ = [
        ('encoding', c_int),
        ('bitwidth', c_uint32),
        ('scale', c_float),
        ('offset', c_int32),
        ('axis', c_int32),
        ('count', c_uint32),
        ('scales', POINTER(c_float)),
        ('offsets', POINTER(c_int32)),
        ('vendor_encoding', c_uint32),
    ]


class qnnrt_tensor_info(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('id', c_uint32),
        ('dtype', c_int),
        ('rank', c_uint32),
        ('dims', POINTER(c_uint32)),
        ('count', c_uint64),
        ('bytes', c_uint64),
        ('quant', qnnrt_quant),
        ('vendor_type', c_uint32),
        ('vendor_format', c_uint32),
        ('vendor_version', c_uint32),
        ('dynamic_dims', POINTER(c_uint8)),
        ('optional', c_int),
        ('updateable', c_int),
    ]


class qnnrt_graph_info(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('input_count', c_size_t),
        ('output_count', c_size_t),
        ('updateable_count', c_size_t),
        ('inputs', POINTER(qnnrt_tensor_info)),
        ('outputs', POINTER(qnnrt_tensor_info)),
        ('updateables', POINTER(qnnrt_tensor_info)),
        ('unsupported', c_char_p),
        ('spill_fill_bytes', c_uint64),
        ('vtcm_bytes', c_uint64),
        ('shared_weights_bytes', c_uint64),
        ('const_bytes', c_uint64),
        ('io_bytes', c_uint64),
        ('op_data_bytes', c_uint64),
        ('ddr_bytes', c_uint64),
        ('native_k_bytes', c_uint64),
        ('native_v_bytes', c_uint64),
        ('optimization_level', c_uint32),
        ('hvx_threads', c_uint32),
        ('dlbc', c_uint32),
        ('safe_share_io', c_uint32),
    ]


class qnnrt_version_info(Structure):
    _fields_ = [
        ('major', c_uint32),
        ('minor', c_uint32),
        ('patch', c_uint32),
    ]


class qnnrt_context_info(Structure):
    _fields_ = [
        ('file', c_char_p),
        ('json_file', c_char_p),
        ('from_system', c_int),
        ('from_json', c_int),
        ('file_bytes', c_uint64),
        ('build_id', c_char_p),
        ('backend_id', c_uint32),
        ('core_api', qnnrt_version_info),
        ('backend_api', qnnrt_version_info),
        ('blob_version', qnnrt_version_info),
        ('blob_bytes', c_uint64),
        ('soc_model', c_uint32),
        ('dsp_arch', c_uint32),
        ('graph_count', c_size_t),
        ('graphs', POINTER(qnnrt_graph_info)),
        ('context_tensor_count', c_uint32),
        ('metadata_ns', c_uint64),
        ('create_ns', c_uint64),
        ('failure', POINTER(qnnrt_error)),
        ('fingerprint', c_uint64),
        ('device_bytes', c_uint64),
        ('handle', c_void_p),
        ('creates', c_uint32),
        ('backend', c_void_p),
    ]


class qnnrt_backend_desc(Structure):
    _fields_ = [
        ('path', c_char_p),
        ('log_level', c_int),
        ('soc_model', c_uint32),
        ('unload', c_int),
        ('hooks', qnnrt_hooks),
        ('power', c_int),
    ]


class qnnrt_backend_info(Structure):
    _fields_ = [
        ('path', c_char_p),
        ('provider', c_char_p),
        ('build_id', c_char_p),
        ('id', c_uint32),
        ('core_api', qnnrt_version_info),
        ('backend_api', qnnrt_version_info),
        ('has_log', c_int),
        ('has_device', c_int),
        ('open_ns', c_uint64),
        ('hooks', POINTER(qnnrt_hooks)),
    ]


class qnnrt_mem_block(Structure):
    _fields_ = [
        ('bytes', c_size_t),
        ('align', c_size_t),
        ('data', c_void_p),
        ('fd', c_int),
        ('fd_offset', c_uint64),
        ('fd_bytes', c_uint64),
        ('own', c_void_p),
    ]


class qnnrt_mem_provider(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('alloc', CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(qnnrt_mem_block), POINTER(qnnrt_error))),
        ('free', CFUNCTYPE(None, c_void_p, POINTER(qnnrt_mem_block))),
        ('user', c_void_p),
        ('next', c_void_p),
    ]


class qnnrt_file(Structure):
    _fields_ = [
        ('path', c_char_p),
        ('name', c_char_p),
        ('data', c_void_p),
        ('bytes', c_size_t),
        ('json_path', c_char_p),
        ('json_data', c_char_p),
        ('json_bytes', c_size_t),
    ]


class qnnrt_desc(Structure):
    _fields_ = [
        ('backend', c_void_p),
        ('system_path', c_char_p),
        ('files', POINTER(qnnrt_file)),
        ('file_count', c_size_t),
        ('inspect', c_int),
        ('metadata', c_int),
        ('keep_going', c_int),
        ('read', c_int),
        ('limits', qnnrt_limits),
        ('backend_desc', qnnrt_backend_desc),
        ('residency', c_int),
        ('progress', CFUNCTYPE(c_int, c_void_p, c_size_t, c_size_t, c_char_p)),
        ('progress_user', c_void_p),
        ('no_manifest', c_int),
        ('check', CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_uint64, POINTER(qnnrt_error))),
        ('check_user', c_void_p),
        ('context_hooks', c_void_p),
    ]


class qnnrt_slot(Structure):
    _fields_ = [
        ('tensor', POINTER(qnnrt_tensor_info)),
        ('role', c_int),
        ('first', c_uint32),
        ('last', c_uint32),
        ('address', c_char_p),
        ('constant', c_void_p),
        ('has_range', c_int),
        ('low', c_int32),
        ('high', c_int32),
    ]


class qnnrt_edge_info(Structure):
    _fields_ = [
        ('from_step', c_uint32),
        ('to_step', c_uint32),
        ('from', POINTER(qnnrt_tensor_info)),
        ('to', POINTER(qnnrt_tensor_info)),
        ('slot', POINTER(qnnrt_slot)),
        ('reason', c_char_p),
    ]


class qnnrt_host_step(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('inputs', POINTER(qnnrt_tensor_info)),
        ('outputs', POINTER(qnnrt_tensor_info)),
        ('input_count', c_size_t),
        ('output_count', c_size_t),
        ('exec', CFUNCTYPE(c_int, c_void_p, POINTER(qnnrt_graph_info), POINTER(c_void_p), POINTER(c_void_p), POINTER(qnnrt_error))),
        ('user', c_void_p),
        ('derived', c_int),
    ]


class qnnrt_step_info(Structure):
    _fields_ = [
        ('model', c_void_p),
        ('context', c_size_t),
        ('graph', POINTER(qnnrt_graph_info)),
        ('kind', c_int),
        ('backend', c_void_p),
        ('host', POINTER(qnnrt_host_step)),
    ]


class qnnrt_name_info(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('slot', POINTER(qnnrt_slot)),
    ]


class qnnrt_buffer_desc(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('bytes', c_uint64),
        ('align', c_uint32),
    ]


class qnnrt_place_desc(Structure):
    _fields_ = [
        ('entry', c_size_t),
        ('slot', POINTER(qnnrt_slot)),
        ('buffer', c_size_t),
        ('offset', c_uint64),
        ('caller_io', c_int),
    ]


class qnnrt_pipeline_info(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('step_count', c_size_t),
        ('slot_count', c_size_t),
        ('edge_count', c_size_t),
        ('steps', POINTER(qnnrt_step_info)),
        ('slots', POINTER(qnnrt_slot)),
        ('edges', POINTER(qnnrt_edge_info)),
        ('failure', POINTER(qnnrt_error)),
        ('name_count', c_size_t),
        ('buffer_count', c_size_t),
        ('place_count', c_size_t),
        ('names', POINTER(qnnrt_name_info)),
        ('buffers', POINTER(qnnrt_buffer_desc)),
        ('places', POINTER(qnnrt_place_desc)),
        ('input_count', c_size_t),
        ('output_count', c_size_t),
        ('inputs', POINTER(POINTER(qnnrt_slot))),
        ('outputs', POINTER(POINTER(qnnrt_slot))),
    ]


class qnnrt_entry_desc(Structure):
    _fields_ = [
        ('pipeline', c_void_p),
        ('group', c_uint32),
        ('reuse_inputs', c_int),
        ('caller_io', c_int),
    ]


class qnnrt_plan_desc(Structure):
    _fields_ = [
        ('entries', POINTER(qnnrt_entry_desc)),
        ('entry_count', c_size_t),
        ('buffers', POINTER(qnnrt_buffer_desc)),
        ('buffer_count', c_size_t),
        ('places', POINTER(qnnrt_place_desc)),
        ('place_count', c_size_t),
        ('align', c_uint32),
        ('per_tensor', c_int),
        ('guard', c_int),
    ]


class qnnrt_plan_block(Structure):
    _fields_ = [
        ('offset', c_uint64),
        ('bytes', c_uint64),
        ('entry', c_size_t),
        ('slot', POINTER(qnnrt_slot)),
        ('first', c_uint32),
        ('last', c_uint32),
        ('kept', c_int),
    ]


class qnnrt_plan_info(Structure):
    _fields_ = [
        ('peak', c_uint64),
        ('bound', c_uint64),
        ('naive', c_uint64),
        ('align', c_size_t),
        ('block_count', c_size_t),
        ('blocks', POINTER(qnnrt_plan_block)),
    ]


class qnnrt_mem_desc(Structure):
    _fields_ = [
        ('data', c_void_p),
        ('bytes', c_size_t),
        ('kind', c_int),
        ('rpcmem_path', c_char_p),
        ('provider', qnnrt_mem_provider),
        ('no_zero', c_int),
    ]


class qnnrt_prepare_desc(Structure):
    _fields_ = [
        ('caller_io', c_int),
        ('per_tensor', c_int),
        ('guard', c_int),
        ('align', c_uint32),
        ('mem', qnnrt_mem_desc),
    ]


class qnnrt_profile_event(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('node', c_char_p),
        ('type', c_uint32),
        ('unit', c_uint32),
        ('unit_name', c_char_p),
        ('value', c_double),
        ('time', c_uint64),
        ('depth', c_uint32),
        ('vendor_code', c_uint32),
        ('step', c_size_t),
    ]


class qnnrt_llm_sampler_desc(Structure):
    _fields_ = [
        ('temperature', c_float),
        ('top_k', c_uint32),
        ('top_p', c_float),
        ('min_p', c_float),
        ('repetition_penalty', c_float),
        ('repetition_last', c_uint32),
        ('seed', c_uint64),
        ('hooks', qnnrt_hooks),
    ]


class qnnrt_llm_role_desc(Structure):
    _fields_ = [
        ('tensor', c_char_p),
        ('role', c_int),
        ('layer', c_uint32),
        ('head', c_uint32),
    ]


class qnnrt_llm_rope(Structure):
    _fields_ = [
        ('theta', c_double),
        ('scaling', c_int),
        ('factor', c_double),
        ('low_frequency', c_double),
        ('high_frequency', c_double),
        ('original_context', c_uint32),
        ('pairs', c_int),
    ]


class qnnrt_llm_desc(Structure):
    _fields_ = [
        ('folder', c_char_p),
        ('config', c_char_p),
        ('config_bytes', c_size_t),
        ('roles', POINTER(qnnrt_llm_role_desc)),
        ('role_count', c_size_t),
        ('pipelines', POINTER(c_char_p)),
        ('pipeline_count', c_size_t),
        ('made', POINTER(c_void_p)),
        ('made_count', c_size_t),
        ('models', POINTER(c_void_p)),
        ('model_count', c_size_t),
        ('rope', qnnrt_llm_rope),
        ('eos', POINTER(c_int32)),
        ('eos_count', c_size_t),
        ('bos', POINTER(c_int32)),
        ('window', c_uint32),
        ('masked', c_float),
        ('hooks', qnnrt_hooks),
        ('embeddings', c_int),
        ('table', POINTER(qnnrt_tensor_info)),
        ('table_data', c_void_p),
        ('update', CFUNCTYPE(c_int, c_void_p, c_size_t, c_char_p, c_char_p, c_void_p, c_size_t, POINTER(qnnrt_error))),
    ]


class qnnrt_llm_tensor_info(Structure):
    _fields_ = [
        ('tensor', POINTER(qnnrt_tensor_info)),
        ('step', c_uint32),
        ('output', c_int),
        ('role', c_int),
        ('layer', c_uint32),
        ('head', c_uint32),
        ('reason', c_char_p),
    ]


class qnnrt_llm_graph_info(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('ar', c_uint32),
        ('context', c_uint32),
        ('tensor_count', c_size_t),
        ('tensors', POINTER(qnnrt_llm_tensor_info)),
    ]


class qnnrt_llm_info(Structure):
    _fields_ = [
        ('ar', c_uint32),
        ('context', c_uint32),
        ('cells', c_uint32),
        ('layers', c_uint32),
        ('heads', c_uint32),
        ('key_dim', c_uint32),
        ('value_dim', c_uint32),
        ('vocabulary', c_uint32),
        ('logits', POINTER(qnnrt_tensor_info)),
        ('logits_bytes', c_size_t),
        ('cache_dtype', c_int),
        ('layout', c_char_p),
        ('rope', qnnrt_llm_rope),
        ('rope_source', c_char_p),
        ('eos', POINTER(c_int32)),
        ('eos_count', c_size_t),
        ('bos', c_int32),
        ('window', c_uint32),
        ('fingerprint', c_uint64),
        ('graph_count', c_size_t),
        ('graphs', POINTER(qnnrt_llm_graph_info)),
        ('words', c_uint32),
        ('width', c_uint32),
        ('hidden', POINTER(qnnrt_tensor_info)),
        ('embeddings', POINTER(qnnrt_tensor_info)),
        ('adapter_tensors', c_size_t),
        ('adapter_rank', c_uint32),
    ]


class qnnrt_llm_progress(Structure):
    _fields_ = [
        ('cache', c_void_p),
        ('done', c_size_t),
        ('count', c_size_t),
        ('step', c_uint32),
        ('steps', c_uint32),
        ('ar', c_uint32),
    ]


class qnnrt_llm_session_desc(Structure):
    _fields_ = [
        ('caches', c_size_t),
        ('kv', c_int),
        ('positions', c_uint32),
        ('clock_ns', CFUNCTYPE(c_uint64, c_void_p)),
        ('clock_user', c_void_p),
        ('mem_kind', c_int),
        ('progress', CFUNCTYPE(c_int, c_void_p, POINTER(qnnrt_llm_progress))),
        ('progress_user', c_void_p),
        ('by_cost', c_int),
        ('k_shift', c_int),
        ('mem_provider', qnnrt_mem_provider),
    ]


class qnnrt_llm_batch(Structure):
    _fields_ = [
        ('tokens', POINTER(c_int32)),
        ('count', c_size_t),
        ('sequence', c_uint32),
        ('sequences', POINTER(c_uint64)),
        ('positions', POINTER(c_int32)),
        ('parents', POINTER(c_int32)),
        ('wanted', POINTER(c_ubyte)),
        ('logits', POINTER(c_float)),
        ('stored', c_void_p),
        ('embeddings', POINTER(c_float)),
        ('hidden', POINTER(c_float)),
    ]


class qnnrt_llm_cache_info(Structure):
    _fields_ = [
        ('cells', c_uint32),
        ('used', c_uint32),
        ('end', c_uint32),
        ('at_once', c_uint32),
    ]


class qnnrt_explanation(Structure):
    _fields_ = [
        ('code', c_uint32),
        ('symbol', c_char_p),
        ('text', c_char_p),
        ('meaning', c_char_p),
        ('causes', c_char_p * 4),
        ('fix', c_char_p),
    ]


class qnnrt_cpu_fallback_desc(Structure):
    _fields_ = [
        ('hooks', qnnrt_hooks),
        ('file_bytes', c_uint64),
        ('steps', c_uint32),
        ('value_bytes', c_uint64),
    ]


class qnnrt_cache_desc(Structure):
    _fields_ = [
        ('hooks', qnnrt_hooks),
        ('limit', c_uint64),
    ]


class qnnrt_cache_file(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('bytes', c_uint64),
    ]


class qnnrt_cache_entry(Structure):
    _fields_ = [
        ('key', c_char * 65),
        ('bytes', c_uint64),
        ('used', c_int64),
        ('files', POINTER(qnnrt_cache_file)),
        ('file_count', c_size_t),
        ('damage', c_char_p),
    ]


class qnnrt_value(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('dtype', c_int),
        ('rank', c_uint32),
        ('dims', c_int64 * 16),
        ('data', c_void_p),
        ('bytes', c_size_t),
    ]


class qnnrt_session_tensor(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('dtype', c_int),
        ('rank', c_uint32),
        ('dims', c_int64 * 16),
        ('dim_names', POINTER(c_char_p)),
        ('quant', POINTER(qnnrt_quant)),
        ('optional', c_int),
        ('any_rank', c_int),
    ]


class qnnrt_session_option(Structure):
    _fields_ = [
        ('engine', c_char_p),
        ('key', c_char_p),
        ('value', c_char_p),
    ]


class qnnrt_session_shape(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('rank', c_uint32),
        ('dims', c_int64 * 16),
    ]


class qnnrt_dispatch(Structure):
    _fields_ = [
        ('step', c_size_t),
        ('name', c_char_p),
        ('engine', c_char_p),
        ('device', c_char_p),
        ('dtype', c_int),
        ('rank', c_uint32),
        ('dims', c_int64 * 16),
        ('us', c_double),
    ]


class qnnrt_session_desc(Structure):
    _fields_ = [
        ('engines', POINTER(c_void_p)),
        ('engine', c_char_p),
        ('device', c_char_p),
        ('precision', c_int),
        ('cache_dir', c_char_p),
        ('cache_bytes', c_uint64),
        ('max_batch_size', c_uint32),
        ('workspace_bytes', c_uint64),
        ('threads', c_uint32),
        ('allow_fallback', c_int),
        ('native_io', c_int),
        ('options', POINTER(qnnrt_session_option)),
        ('option_count', c_size_t),
        ('shapes', POINTER(qnnrt_session_shape)),
        ('shape_count', c_size_t),
        ('kernel_policy', c_char_p),
        ('execution_policy', c_char_p),
        ('hooks', qnnrt_hooks),
        ('dispatch', CFUNCTYPE(None, c_void_p, POINTER(qnnrt_dispatch))),
        ('dispatch_user', c_void_p),
        ('policy_cache_dir', c_int),
    ]


class qnnrt_session_candidate(Structure):
    _fields_ = [
        ('engine', c_char_p),
        ('device', c_char_p),
        ('taken', c_int),
        ('reason', c_char_p),
    ]


class qnnrt_session_info(Structure):
    _fields_ = [
        ('path', c_char_p),
        ('kind', c_int),
        ('engine', c_char_p),
        ('engine_version', c_char_p),
        ('library', c_char_p),
        ('device', c_char_p),
        ('precision', c_int),
        ('inputs', POINTER(qnnrt_session_tensor)),
        ('outputs', POINTER(qnnrt_session_tensor)),
        ('input_count', c_size_t),
        ('output_count', c_size_t),
        ('candidates', POINTER(qnnrt_session_candidate)),
        ('candidate_count', c_size_t),
        ('warnings', POINTER(c_char_p)),
        ('warning_count', c_size_t),
        ('fallback', c_char_p),
        ('cache', c_char_p),
        ('cache_key', c_char_p),
        ('text', c_char_p),
    ]


class qnnrt_manifest_role(Structure):
    _fields_ = [
        ('role', c_char_p),
        ('backend', c_void_p),
        ('desc', qnnrt_backend_desc),
    ]


class qnnrt_manifest_open_desc(Structure):
    _fields_ = [
        ('backends', POINTER(qnnrt_manifest_role)),
        ('backend_count', c_size_t),
        ('host_functions', POINTER(qnnrt_host_step)),
        ('host_function_count', c_size_t),
        ('sha256', CFUNCTYPE(None, c_void_p, c_uint64, c_char_p)),
        ('model', qnnrt_desc),
    ]


class qnnrt_manifest_context(Structure):
    _fields_ = [
        ('file', c_char_p),
        ('role', c_char_p),
        ('fingerprint', c_uint64),
        ('sha256', c_char_p),
        ('model', c_void_p),
        ('context', c_size_t),
        ('failure', POINTER(qnnrt_error)),
        ('info', POINTER(qnnrt_context_info)),
    ]


class qnnrt_manifest_constant(Structure):
    _fields_ = [
        ('tensor', qnnrt_tensor_info),
        ('file', c_char_p),
        ('offset', c_uint64),
        ('data', c_void_p),
    ]


class qnnrt_manifest_info(Structure):
    _fields_ = [
        ('folder', c_char_p),
        ('system_path', c_char_p),
        ('backend', c_void_p),
        ('program', c_int),
        ('model_count', c_size_t),
        ('models', POINTER(c_void_p)),
        ('context_count', c_size_t),
        ('contexts', POINTER(qnnrt_manifest_context)),
        ('constant_count', c_size_t),
        ('constants', POINTER(qnnrt_manifest_constant)),
        ('pipeline_count', c_size_t),
        ('pipelines', POINTER(c_void_p)),
    ]


class qnnrt_manifest_end(Structure):
    _fields_ = [
        ('step', c_size_t),
        ('tensor', c_char_p),
    ]


class qnnrt_manifest_state(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('to', POINTER(qnnrt_manifest_end)),
        ('to_count', c_size_t),
        ('from', qnnrt_manifest_end),
        ('constant', c_void_p),
        ('tensor', POINTER(qnnrt_tensor_info)),
    ]


FUNCTIONS = {
    'qnnrt_backend_get_info': (POINTER(qnnrt_backend_info), [c_void_p]),
    'qnnrt_bind_input': (c_int, [c_void_p, POINTER(qnnrt_slot), c_void_p, c_size_t]),
    'qnnrt_bind_output': (c_int, [c_void_p, POINTER(qnnrt_slot), c_void_p, c_size_t]),
    'qnnrt_binding_create': (c_int, [c_void_p, POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_binding_destroy': (c_int, [c_void_p]),
    'qnnrt_binding_get': (c_int, [c_void_p, c_char_p, POINTER(qnnrt_value)]),
    'qnnrt_binding_input': (c_int, [c_void_p, POINTER(qnnrt_value)]),
    'qnnrt_binding_output': (c_int, [c_void_p, POINTER(qnnrt_value)]),
    'qnnrt_binding_run': (c_int, [c_void_p]),
    'qnnrt_cache_clear': (c_int, [c_void_p, POINTER(c_size_t), POINTER(c_uint64), POINTER(qnnrt_error)]),
    'qnnrt_cache_close': (None, [c_void_p]),
    'qnnrt_cache_list': (c_int, [c_void_p, CFUNCTYPE(None, c_void_p, POINTER(qnnrt_cache_entry)), c_void_p, POINTER(qnnrt_error)]),
    'qnnrt_cache_open': (c_int, [c_char_p, POINTER(qnnrt_cache_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_cpu_fallback_close': (None, [c_void_p]),
    'qnnrt_cpu_fallback_functions': (POINTER(qnnrt_host_step), [c_void_p, POINTER(c_size_t)]),
    'qnnrt_cpu_fallback_open': (c_int, [c_char_p, POINTER(qnnrt_cpu_fallback_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_data_slot': (c_void_p, [c_void_p, POINTER(qnnrt_slot), POINTER(c_size_t)]),
    'qnnrt_device_memory': (c_int, [c_char_p, POINTER(qnnrt_mem_desc)]),
    'qnnrt_engines_default': (POINTER(c_void_p), [POINTER(c_void_p)]),
    'qnnrt_exec': (c_int, [c_void_p]),
    'qnnrt_explain': (POINTER(qnnrt_explanation), [c_char_p]),
    'qnnrt_explain_code': (POINTER(qnnrt_explanation), [c_uint64]),
    'qnnrt_explain_error': (None, [POINTER(qnnrt_error)]),
    'qnnrt_get_dims': (POINTER(c_uint32), [c_void_p, POINTER(qnnrt_slot), POINTER(c_uint32)]),
    'qnnrt_llm_cache_get': (c_void_p, [c_void_p, c_size_t, c_size_t]),
    'qnnrt_llm_cache_get_info': (qnnrt_llm_cache_info, [c_void_p]),
    'qnnrt_llm_clear': (None, [c_void_p]),
    'qnnrt_llm_close': (c_int, [c_void_p]),
    'qnnrt_llm_decode': (c_int, [c_void_p, POINTER(qnnrt_llm_batch)]),
    'qnnrt_llm_error': (POINTER(qnnrt_error), [c_void_p]),
    'qnnrt_llm_get_info': (POINTER(qnnrt_llm_info), [c_void_p]),
    'qnnrt_llm_logits': (c_int, [c_void_p, c_size_t, POINTER(c_float)]),
    'qnnrt_llm_open': (c_int, [c_void_p, POINTER(qnnrt_llm_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_llm_sample': (c_int32, [c_void_p, c_void_p]),
    'qnnrt_llm_sampler_accept': (None, [c_void_p, c_int32]),
    'qnnrt_llm_sampler_create': (c_int, [POINTER(qnnrt_tensor_info), POINTER(qnnrt_llm_sampler_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_llm_sampler_destroy': (None, [c_void_p]),
    'qnnrt_llm_session_create': (c_int, [POINTER(c_void_p), c_size_t, POINTER(qnnrt_llm_session_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_llm_session_destroy': (None, [c_void_p]),
    'qnnrt_llm_stored_logits': (c_void_p, [c_void_p, c_size_t]),
    'qnnrt_manifest_close': (c_int, [c_void_p]),
    'qnnrt_manifest_find': (c_int, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_manifest_get_info': (POINTER(qnnrt_manifest_info), [c_void_p]),
    'qnnrt_manifest_open': (c_int, [c_char_p, POINTER(qnnrt_manifest_open_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_manifest_reset': (c_int, [c_void_p, POINTER(qnnrt_error)]),
    'qnnrt_manifest_restore': (c_int, [c_void_p, c_void_p, c_size_t, POINTER(qnnrt_error)]),
    'qnnrt_manifest_save': (c_int, [c_void_p, CFUNCTYPE(c_int, c_void_p, c_char_p, c_size_t), c_void_p, POINTER(qnnrt_error)]),
    'qnnrt_manifest_state_data': (c_void_p, [c_void_p, c_char_p]),
    'qnnrt_manifest_states': (POINTER(qnnrt_manifest_state), [c_void_p, POINTER(c_size_t)]),
    'qnnrt_model_recover': (c_int, [c_void_p, POINTER(qnnrt_error)]),
    'qnnrt_model_swap': (c_int, [c_void_p, c_uint64, POINTER(qnnrt_error)]),
    'qnnrt_pipeline_get_info': (POINTER(qnnrt_pipeline_info), [c_void_p]),
    'qnnrt_pipeline_prepare': (c_int, [c_void_p, POINTER(qnnrt_prepare_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_plan_create': (c_int, [POINTER(qnnrt_plan_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_plan_destroy': (c_int, [c_void_p]),
    'qnnrt_plan_get_info': (POINTER(qnnrt_plan_info), [c_void_p]),
    'qnnrt_profile_create': (c_int, [c_int, POINTER(qnnrt_hooks), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_profile_destroy': (None, [c_void_p]),
    'qnnrt_profile_events': (None, [c_void_p, POINTER(POINTER(qnnrt_profile_event)), POINTER(c_size_t)]),
    'qnnrt_profile_hook': (c_void_p, [c_void_p]),
    'qnnrt_read_f32': (c_int, [c_void_p, POINTER(qnnrt_slot), c_uint64, POINTER(c_float), c_size_t]),
    'qnnrt_run_destroy': (None, [c_void_p]),
    'qnnrt_run_dynamic': (c_int, [c_void_p]),
    'qnnrt_run_error': (POINTER(qnnrt_error), [c_void_p]),
    'qnnrt_run_events': (c_int, [c_void_p, POINTER(POINTER(qnnrt_profile_event)), POINTER(c_size_t)]),
    'qnnrt_run_profile': (c_int, [c_void_p, c_int]),
    'qnnrt_run_slot': (POINTER(qnnrt_slot), [c_void_p, c_char_p]),
    'qnnrt_session_cancel': (c_int, [c_void_p]),
    'qnnrt_session_create': (c_int, [c_char_p, POINTER(qnnrt_session_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_session_destroy': (c_int, [c_void_p]),
    'qnnrt_session_error': (POINTER(qnnrt_error), [c_void_p]),
    'qnnrt_session_get_info': (POINTER(qnnrt_session_info), [c_void_p]),
    'qnnrt_session_run': (c_int, [c_void_p, POINTER(qnnrt_value), c_size_t, POINTER(qnnrt_value), c_size_t]),
    'qnnrt_set_dims': (c_int, [c_void_p, POINTER(qnnrt_slot), POINTER(c_uint32), c_uint32]),
    'qnnrt_sha256_text': (None, [c_void_p, c_uint64, c_char_p]),
    'qnnrt_step_text': (c_char_p, [POINTER(qnnrt_step_info), c_char_p, c_size_t]),
    'qnnrt_version': (c_char_p, []),
    'qnnrt_write_f32': (c_int, [c_void_p, POINTER(qnnrt_slot), c_uint64, POINTER(c_float), c_size_t]),
    'qnnrt_write_i32': (c_int, [c_void_p, POINTER(qnnrt_slot), c_uint64, POINTER(c_int32), c_size_t]),
}
