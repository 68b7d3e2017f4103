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
QNNRT_RESULT_FORCE_INT = 2147483647
QNNRT_LOG_DEFAULT = 0
QNNRT_LOG_ERROR = 1
QNNRT_LOG_WARN = 2
QNNRT_LOG_INFO = 3
QNNRT_LOG_VERBOSE = 4
QNNRT_LOG_DEBUG = 5
QNNRT_DTYPE_I2 = 2
QNNRT_DTYPE_I4 = 4
QNNRT_DTYPE_I8 = 8
QNNRT_DTYPE_I16 = 22
QNNRT_DTYPE_I32 = 50
QNNRT_DTYPE_I64 = 100
QNNRT_DTYPE_U2 = 258
QNNRT_DTYPE_U4 = 260
QNNRT_DTYPE_U8 = 264
QNNRT_DTYPE_U16 = 278
QNNRT_DTYPE_U32 = 306
QNNRT_DTYPE_U64 = 356
QNNRT_DTYPE_F4 = 516
QNNRT_DTYPE_F8 = 520
QNNRT_DTYPE_F16 = 534
QNNRT_DTYPE_BF16 = 550
QNNRT_DTYPE_F32 = 562
QNNRT_DTYPE_F64 = 612
QNNRT_DTYPE_S2Q = 770
QNNRT_DTYPE_S4Q = 772
QNNRT_DTYPE_S8Q = 776
QNNRT_DTYPE_S16Q = 790
QNNRT_DTYPE_S32Q = 818
QNNRT_DTYPE_U2Q = 1026
QNNRT_DTYPE_U4Q = 1028
QNNRT_DTYPE_U8Q = 1032
QNNRT_DTYPE_U16Q = 1046
QNNRT_DTYPE_U32Q = 1074
QNNRT_DTYPE_BOOL8 = 1288
QNNRT_DTYPE_STRING = 1544
QNNRT_DTYPE_UNDEFINED = 2147483647
QNNRT_ENCODING_NONE = 0
QNNRT_ENCODING_PER_TENSOR = 1
QNNRT_ENCODING_PER_AXIS = 2
QNNRT_ENCODING_OTHER = 3
QNNRT_VENDOR_DTYPE = 0
QNNRT_VENDOR_TENSOR_TYPE = 1
QNNRT_VENDOR_FORMAT = 2
QNNRT_VENDOR_ENCODING = 3
QNNRT_POWER_CUSTOM = 0
QNNRT_POWER_BURST = 1
QNNRT_POWER_SUSTAINED_HIGH_PERFORMANCE = 2
QNNRT_POWER_HIGH_PERFORMANCE = 3
QNNRT_POWER_BALANCED = 4
QNNRT_POWER_LOW_BALANCED = 5
QNNRT_POWER_HIGH_POWER_SAVER = 6
QNNRT_POWER_POWER_SAVER = 7
QNNRT_POWER_LOW_POWER_SAVER = 8
QNNRT_MEM_HEAP = 0
QNNRT_MEM_SHARED = 1
QNNRT_MEM_RPCMEM = 2
QNNRT_MEM_PROVIDER = 3
QNNRT_METADATA_ALL = 0
QNNRT_METADATA_SYSTEM = 1
QNNRT_METADATA_JSON = 2
QNNRT_RESIDENT_ALL = 0
QNNRT_RESIDENT_CALLER = 1
QNNRT_ROLE_ANY = 0
QNNRT_ROLE_INPUT = 1
QNNRT_ROLE_OUTPUT = 2
QNNRT_ROLE_EDGE = 3
QNNRT_ROLE_CONSTANT = 4
QNNRT_STEP_GRAPH = 0
QNNRT_STEP_HOST = 1
QNNRT_STEP_DERIVED = 2
QNNRT_PROFILE_OFF = 0
QNNRT_PROFILE_BASIC = 1
QNNRT_PROFILE_DETAILED = 2
QNNRT_PROFILE_OPTRACE = 3
QNNRT_LLM_ROLE_UNKNOWN = 0
QNNRT_LLM_ROLE_TOKENS = 1
QNNRT_LLM_ROLE_POSITIONS = 2
QNNRT_LLM_ROLE_ROPE_COS = 3
QNNRT_LLM_ROLE_ROPE_SIN = 4
QNNRT_LLM_ROLE_MASK = 5
QNNRT_LLM_ROLE_WINDOW_MASK = 6
QNNRT_LLM_ROLE_KEY_IN = 7
QNNRT_LLM_ROLE_VALUE_IN = 8
QNNRT_LLM_ROLE_KEY_OUT = 9
QNNRT_LLM_ROLE_VALUE_OUT = 10
QNNRT_LLM_ROLE_HIDDEN = 11
QNNRT_LLM_ROLE_LOGITS = 12
QNNRT_LLM_ROLE_LAST_HIDDEN = 13
QNNRT_LLM_ROLE_PADDING = 14
QNNRT_LLM_ROLE_TOKEN_TYPES = 15
QNNRT_LLM_ROLE_UNUSED = 16
QNNRT_LLM_ROLE_EDGE = 17
QNNRT_LLM_ROLE_CONSTANT = 18
QNNRT_LLM_ROLE_COUNT = 19
QNNRT_LLM_ROPE_PLAIN = 0
QNNRT_LLM_ROPE_LINEAR = 1
QNNRT_LLM_ROPE_LLAMA3 = 2
QNNRT_LLM_ROPE_UNKNOWN = 0
QNNRT_LLM_ROPE_HALF = 1
QNNRT_LLM_ROPE_INTERLEAVED = 2
QNNRT_LLM_SMART_MASK = 0
QNNRT_LLM_SHIFT_POINTER = 1
QNNRT_LLM_SEQUENCES = 64
QNNRT_LLM_POOL_MEAN = 0
QNNRT_LLM_POOL_LAST = 1
QNNRT_POWER_NOT_ASKED = 0
QNNRT_POWER_APPLIED = 1
QNNRT_POWER_REFUSED = 2
QNNRT_POWER_NOT_AVAILABLE = 3
QNNRT_POWER_SETTINGS = 3
QNNRT_CACHE_HASH = 32
QNNRT_CACHE_KEY_BYTES = 65
QNNRT_CACHE_PATH = 4096
QNNRT_SESSION_RANK = 16
QNNRT_SESSION_WORKSPACE = 1073741824
QNNRT_MODEL_FOLDER = 1
QNNRT_MODEL_GRAPH = 2
QNNRT_MODEL_ONNX = 4
QNNRT_MODEL_OPENVINO = 8
QNNRT_MODEL_TENSORRT = 16
QNNRT_PRECISION_DEFAULT = 0
QNNRT_PRECISION_FP32 = 1
QNNRT_PRECISION_FP16 = 2
QNNRT_PRECISION_INT8 = 3
QNNRT_POLICY_KERNEL = 0
QNNRT_POLICY_EXECUTION = 1
QNNRT_POLICY_BYTES = 65536
QNNRT_POLICY_ENTRIES = 1024
QNNRT_JSON_NONE = 0
QNNRT_JSON_NULL = 1
QNNRT_JSON_FALSE = 2
QNNRT_JSON_TRUE = 3
QNNRT_JSON_NUMBER = 4
QNNRT_JSON_STRING = 5
QNNRT_JSON_ARRAY = 6
QNNRT_JSON_OBJECT = 7
QNNRT_JSON_DEPTH = 1024
QNNRT_JSON_BUFFER = 4096
QNNRT_CONVERT_NONE = 0
QNNRT_CONVERT_VALUES = 1
QNNRT_CONVERT_TO_NHWC = 2
QNNRT_CONVERT_TO_NCHW = 3
QNNRT_ENGINES = 8


class qnnrt_error(Structure):
    pass


class qnnrt_hooks(Structure):
    pass


class qnnrt_limits(Structure):
    pass


class qnnrt_quant(Structure):
    pass


class qnnrt_tensor_info(Structure):
    pass


class qnnrt_graph_info(Structure):
    pass


class qnnrt_version_info(Structure):
    pass


class qnnrt_context_info(Structure):
    pass


class qnnrt_backend_desc(Structure):
    pass


class qnnrt_backend_info(Structure):
    pass


class qnnrt_mem_block(Structure):
    pass


class qnnrt_mem_provider(Structure):
    pass


class qnnrt_file(Structure):
    pass


class qnnrt_desc(Structure):
    pass


class qnnrt_info(Structure):
    pass


class qnnrt_slot(Structure):
    pass


class qnnrt_edge_info(Structure):
    pass


class qnnrt_step_info(Structure):
    pass


class qnnrt_name_info(Structure):
    pass


class qnnrt_buffer_desc(Structure):
    pass


class qnnrt_place_desc(Structure):
    pass


class qnnrt_pipeline_info(Structure):
    pass


class qnnrt_host_step(Structure):
    pass


class qnnrt_step_desc(Structure):
    pass


class qnnrt_edge_desc(Structure):
    pass


class qnnrt_use_desc(Structure):
    pass


class qnnrt_pipeline_desc(Structure):
    pass


class qnnrt_entry_desc(Structure):
    pass


class qnnrt_plan_desc(Structure):
    pass


class qnnrt_plan_block(Structure):
    pass


class qnnrt_plan_info(Structure):
    pass


class qnnrt_mem_desc(Structure):
    pass


class qnnrt_buffer_info(Structure):
    pass


class qnnrt_mem_info(Structure):
    pass


class qnnrt_prepare_desc(Structure):
    pass


class qnnrt_transfer_info(Structure):
    pass


class qnnrt_profile_event(Structure):
    pass


class qnnrt_llm_sampler_desc(Structure):
    pass


class qnnrt_llm_role_desc(Structure):
    pass


class qnnrt_llm_rope(Structure):
    pass


class qnnrt_llm_desc(Structure):
    pass


class qnnrt_llm_tensor_info(Structure):
    pass


class qnnrt_llm_graph_info(Structure):
    pass


class qnnrt_llm_info(Structure):
    pass


class qnnrt_llm_progress(Structure):
    pass


class qnnrt_llm_session_desc(Structure):
    pass


class qnnrt_llm_session_info(Structure):
    pass


class qnnrt_llm_batch(Structure):
    pass


class qnnrt_llm_pool_desc(Structure):
    pass


class qnnrt_llm_cache_info(Structure):
    pass


class qnnrt_llm_matrix(Structure):
    pass


class qnnrt_llm_adapter_desc(Structure):
    pass


class qnnrt_explanation(Structure):
    pass


class qnnrt_device_source(Structure):
    pass


class qnnrt_power_corners(Structure):
    pass


class qnnrt_power_desc(Structure):
    pass


class qnnrt_power_setting(Structure):
    pass


class qnnrt_power_report(Structure):
    pass


class qnnrt_cache_desc(Structure):
    pass


class qnnrt_cache_file(Structure):
    pass


class qnnrt_cache_entry(Structure):
    pass


class qnnrt_value(Structure):
    pass


class qnnrt_session_tensor(Structure):
    pass


class qnnrt_session_option(Structure):
    pass


class qnnrt_session_shape(Structure):
    pass


class qnnrt_session_pair(Structure):
    pass


class qnnrt_dispatch(Structure):
    pass


class qnnrt_session_desc(Structure):
    pass


class qnnrt_session_candidate(Structure):
    pass


class qnnrt_session_info(Structure):
    pass


class qnnrt_json_text(Structure):
    pass


class qnnrt_json_limits(Structure):
    pass


class qnnrt_json_reader(Structure):
    pass


class qnnrt_json_writer(Structure):
    pass


class qnnrt_conversion(Structure):
    pass


class qnnrt_converter_info(Structure):
    pass


class qnnrt_manifest_role(Structure):
    pass


class qnnrt_manifest_open_desc(Structure):
    pass


class qnnrt_manifest_context(Structure):
    pass


class qnnrt_manifest_constant(Structure):
    pass


class qnnrt_manifest_info(Structure):
    pass


class qnnrt_manifest_pipeline(Structure):
    pass


class qnnrt_manifest_desc(Structure):
    pass


class qnnrt_sha256(Structure):
    pass


qnnrt_error._fields_ = [
    ('code', c_int),
    ('vendor_code', c_uint64),
    ('text', c_char * 2048),
    ('hint', c_char * 512),
    ('cause', c_char_p),
]
qnnrt_hooks._fields_ = [
    ('alloc', CFUNCTYPE(c_void_p, c_void_p, c_size_t)),
    ('free', CFUNCTYPE(None, c_void_p, c_void_p)),
    ('alloc_user', c_void_p),
    ('log', CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_uint64, c_char_p)),
    ('log_user', c_void_p),
    ('lock', CFUNCTYPE(None, c_void_p)),
    ('unlock', CFUNCTYPE(None, c_void_p)),
    ('lock_user', c_void_p),
]
qnnrt_limits._fields_ = [
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
qnnrt_quant._fields_ = [
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
qnnrt_tensor_info._fields_ = [
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
qnnrt_graph_info._fields_ = [
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
qnnrt_version_info._fields_ = [
    ('major', c_uint32),
    ('minor', c_uint32),
    ('patch', c_uint32),
]
qnnrt_context_info._fields_ = [
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
qnnrt_backend_desc._fields_ = [
    ('path', c_char_p),
    ('log_level', c_int),
    ('soc_model', c_uint32),
    ('unload', c_int),
    ('hooks', qnnrt_hooks),
    ('power', c_int),
]
qnnrt_backend_info._fields_ = [
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
qnnrt_mem_block._fields_ = [
    ('bytes', c_size_t),
    ('align', c_size_t),
    ('data', c_void_p),
    ('fd', c_int),
    ('fd_offset', c_uint64),
    ('fd_bytes', c_uint64),
    ('own', c_void_p),
]
qnnrt_mem_provider._fields_ = [
    ('name', c_char_p),
    ('alloc', CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(qnnrt_mem_block), POINTER(qnnrt_error))),
    ('free', CFUNCTYPE(None, c_void_p, POINTER(qnnrt_mem_block))),
    ('user', c_void_p),
    ('next', POINTER(qnnrt_mem_provider)),
]
qnnrt_file._fields_ = [
    ('path', c_char_p),
    ('name', c_char_p),
    ('data', c_void_p),
    ('bytes', c_size_t),
    ('json_path', c_char_p),
    ('json_data', c_char_p),
    ('json_bytes', c_size_t),
]
qnnrt_desc._fields_ = [
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
qnnrt_info._fields_ = [
    ('folder', c_char_p),
    ('system_path', c_char_p),
    ('backend', c_void_p),
    ('context_count', c_size_t),
    ('contexts', POINTER(qnnrt_context_info)),
    ('pipeline_count', c_size_t),
    ('pipelines', POINTER(c_void_p)),
    ('device_bytes', c_uint64),
    ('device_peak', c_uint64),
]
qnnrt_slot._fields_ = [
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
qnnrt_edge_info._fields_ = [
    ('from_step', c_uint32),
    ('to_step', c_uint32),
    ('from', POINTER(qnnrt_tensor_info)),
    ('to', POINTER(qnnrt_tensor_info)),
    ('slot', POINTER(qnnrt_slot)),
    ('reason', c_char_p),
]
qnnrt_step_info._fields_ = [
    ('model', c_void_p),
    ('context', c_size_t),
    ('graph', POINTER(qnnrt_graph_info)),
    ('kind', c_int),
    ('backend', c_void_p),
    ('host', POINTER(qnnrt_host_step)),
]
qnnrt_name_info._fields_ = [
    ('name', c_char_p),
    ('slot', POINTER(qnnrt_slot)),
]
qnnrt_buffer_desc._fields_ = [
    ('name', c_char_p),
    ('bytes', c_uint64),
    ('align', c_uint32),
]
qnnrt_place_desc._fields_ = [
    ('entry', c_size_t),
    ('slot', POINTER(qnnrt_slot)),
    ('buffer', c_size_t),
    ('offset', c_uint64),
    ('caller_io', c_int),
]
qnnrt_pipeline_info._fields_ = [
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
qnnrt_host_step._fields_ = [
    ('name', c_char_p),
    ('inputs', POINTER(qnnrt_tensor_info)),
    ('outputs', POINTER(qnnrt_tensor_info)),
    ('input_count', c_size_t),
    ('output_count', c_size_t),
    ('exec', CFUNCTYPE(c_int, c_void_p, POINTER(qnnrt_graph_info), POINTER(c_void_p), POINTER(c_void_p), POINTER(qnnrt_error))),
    ('user', c_void_p),
    ('derived', c_int),
]
qnnrt_step_desc._fields_ = [
    ('model', c_void_p),
    ('context', c_size_t),
    ('graph', c_char_p),
    ('host', POINTER(qnnrt_host_step)),
]
qnnrt_edge_desc._fields_ = [
    ('from_step', c_size_t),
    ('from', c_char_p),
    ('to_step', c_size_t),
    ('to', c_char_p),
]
qnnrt_use_desc._fields_ = [
    ('step', c_size_t),
    ('tensor', c_char_p),
    ('output', c_int),
    ('name', c_char_p),
    ('in_buffer', c_int),
    ('buffer', c_size_t),
    ('offset', c_uint64),
    ('apart', c_int),
    ('constant', c_void_p),
    ('constant_bytes', c_size_t),
    ('has_range', c_int),
    ('low', c_int32),
    ('high', c_int32),
]
qnnrt_pipeline_desc._fields_ = [
    ('name', c_char_p),
    ('steps', POINTER(qnnrt_step_desc)),
    ('step_count', c_size_t),
    ('edges', POINTER(qnnrt_edge_desc)),
    ('edge_count', c_size_t),
    ('edges_only', c_int),
    ('uses', POINTER(qnnrt_use_desc)),
    ('use_count', c_size_t),
    ('buffers', POINTER(qnnrt_buffer_desc)),
    ('buffer_count', c_size_t),
]
qnnrt_entry_desc._fields_ = [
    ('pipeline', c_void_p),
    ('group', c_uint32),
    ('reuse_inputs', c_int),
    ('caller_io', c_int),
]
qnnrt_plan_desc._fields_ = [
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
qnnrt_plan_block._fields_ = [
    ('offset', c_uint64),
    ('bytes', c_uint64),
    ('entry', c_size_t),
    ('slot', POINTER(qnnrt_slot)),
    ('first', c_uint32),
    ('last', c_uint32),
    ('kept', c_int),
]
qnnrt_plan_info._fields_ = [
    ('peak', c_uint64),
    ('bound', c_uint64),
    ('naive', c_uint64),
    ('align', c_size_t),
    ('block_count', c_size_t),
    ('blocks', POINTER(qnnrt_plan_block)),
]
qnnrt_mem_desc._fields_ = [
    ('data', c_void_p),
    ('bytes', c_size_t),
    ('kind', c_int),
    ('rpcmem_path', c_char_p),
    ('provider', qnnrt_mem_provider),
    ('no_zero', c_int),
]
qnnrt_buffer_info._fields_ = [
    ('data', c_void_p),
    ('bytes', c_uint64),
    ('offset', c_uint64),
]
qnnrt_mem_info._fields_ = [
    ('buffer_count', c_size_t),
    ('buffers', POINTER(qnnrt_buffer_info)),
    ('kind', c_int),
    ('name', c_char_p),
    ('fd', c_int),
    ('fd_offset', c_uint64),
    ('reason', c_char_p),
]
qnnrt_prepare_desc._fields_ = [
    ('caller_io', c_int),
    ('per_tensor', c_int),
    ('guard', c_int),
    ('align', c_uint32),
    ('mem', qnnrt_mem_desc),
]
qnnrt_transfer_info._fields_ = [
    ('slot', POINTER(qnnrt_slot)),
    ('step', c_uint32),
    ('registered', c_int),
    ('reason', c_char_p),
]
qnnrt_profile_event._fields_ = [
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
qnnrt_llm_sampler_desc._fields_ = [
    ('temperature', c_float),
    ('top_k', c_uint32),
    ('top_p', c_float),
    ('min_p', c_float),
    ('repetition_penalty', c_float),
    ('repetition_last', c_uint32),
    ('seed', c_uint64),
    ('hooks', qnnrt_hooks),
]
qnnrt_llm_role_desc._fields_ = [
    ('tensor', c_char_p),
    ('role', c_int),
    ('layer', c_uint32),
    ('head', c_uint32),
]
qnnrt_llm_rope._fields_ = [
    ('theta', c_double),
    ('scaling', c_int),
    ('factor', c_double),
    ('low_frequency', c_double),
    ('high_frequency', c_double),
    ('original_context', c_uint32),
    ('pairs', c_int),
]
qnnrt_llm_desc._fields_ = [
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
qnnrt_llm_tensor_info._fields_ = [
    ('tensor', POINTER(qnnrt_tensor_info)),
    ('step', c_uint32),
    ('output', c_int),
    ('role', c_int),
    ('layer', c_uint32),
    ('head', c_uint32),
    ('reason', c_char_p),
]
qnnrt_llm_graph_info._fields_ = [
    ('name', c_char_p),
    ('ar', c_uint32),
    ('context', c_uint32),
    ('tensor_count', c_size_t),
    ('tensors', POINTER(qnnrt_llm_tensor_info)),
]
qnnrt_llm_info._fields_ = [
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
qnnrt_llm_progress._fields_ = [
    ('cache', c_void_p),
    ('done', c_size_t),
    ('count', c_size_t),
    ('step', c_uint32),
    ('steps', c_uint32),
    ('ar', c_uint32),
]
qnnrt_llm_session_desc._fields_ = [
    ('caches', c_size_t),
    ('kv', c_int),
    ('positions', c_uint32),
    ('clock_ns', CFUNCTYPE(c_uint64, c_void_p)),
    ('clock_user', c_void_p),
    ('mem_kind', c_int),
    ('progress', CFUNCTYPE(c_int, c_void_p, POINTER(qnnrt_llm_progress))),
    ('progress_user', c_void_p),
    ('by_cost', c_int),
    ('turn_keys', c_int),
    ('mem_provider', qnnrt_mem_provider),
]
qnnrt_llm_session_info._fields_ = [
    ('arena_bytes', c_uint64),
    ('naive_bytes', c_uint64),
    ('cache_bytes', c_uint64),
    ('steps', c_uint64),
    ('executes', c_uint64),
    ('exec_ns', c_uint64),
    ('host_ns', c_uint64),
    ('mem_kind', c_int),
    ('mem_reason', c_char_p),
    ('tensors', c_size_t),
    ('registered', c_size_t),
    ('mem_name', c_char_p),
]
qnnrt_llm_batch._fields_ = [
    ('tokens', POINTER(c_int32)),
    ('count', c_size_t),
    ('sequence', c_uint32),
    ('sequences', POINTER(c_uint64)),
    ('positions', POINTER(c_int32)),
    ('parents', POINTER(c_int32)),
    ('wanted', POINTER(c_ubyte)),
    ('logits', POINTER(c_float)),
    ('codes', c_void_p),
    ('embeddings', POINTER(c_float)),
    ('hidden', POINTER(c_float)),
]
qnnrt_llm_pool_desc._fields_ = [
    ('pooling', c_int),
    ('sequence', c_uint32),
    ('normalize', c_int),
]
qnnrt_llm_cache_info._fields_ = [
    ('cells', c_uint32),
    ('used', c_uint32),
    ('end', c_uint32),
    ('at_once', c_uint32),
]
qnnrt_llm_matrix._fields_ = [
    ('name', c_char_p),
    ('dtype', c_int),
    ('rows', c_uint32),
    ('columns', c_uint32),
    ('data', c_void_p),
]
qnnrt_llm_adapter_desc._fields_ = [
    ('parts', POINTER(qnnrt_llm_matrix)),
    ('part_count', c_size_t),
    ('scale', c_double),
]
qnnrt_explanation._fields_ = [
    ('code', c_uint32),
    ('symbol', c_char_p),
    ('text', c_char_p),
    ('meaning', c_char_p),
    ('causes', c_char_p * 4),
    ('fix', c_char_p),
]
qnnrt_device_source._fields_ = [
    ('fd', c_int),
    ('offset', c_uint64),
    ('data', c_void_p),
]
qnnrt_power_corners._fields_ = [
    ('min', c_uint32),
    ('target', c_uint32),
    ('max', c_uint32),
]
qnnrt_power_desc._fields_ = [
    ('preset', c_int),
    ('dcvs', c_int),
    ('sleep_latency_us', c_uint32),
    ('bus', qnnrt_power_corners),
    ('core', qnnrt_power_corners),
    ('rpc_latency_us', c_uint32),
    ('rpc_polling_us', c_uint32),
]
qnnrt_power_setting._fields_ = [
    ('name', c_char_p),
    ('answer', c_int),
    ('vendor_code', c_uint64),
]
qnnrt_power_report._fields_ = [
    ('settings', qnnrt_power_setting * 3),
]
qnnrt_cache_desc._fields_ = [
    ('hooks', qnnrt_hooks),
    ('limit', c_uint64),
]
qnnrt_cache_file._fields_ = [
    ('name', c_char_p),
    ('bytes', c_uint64),
]
qnnrt_cache_entry._fields_ = [
    ('key', c_char * 65),
    ('bytes', c_uint64),
    ('used', c_int64),
    ('files', POINTER(qnnrt_cache_file)),
    ('file_count', c_size_t),
    ('damage', c_char_p),
]
qnnrt_value._fields_ = [
    ('name', c_char_p),
    ('dtype', c_int),
    ('rank', c_uint32),
    ('dims', c_int64 * 16),
    ('data', c_void_p),
    ('bytes', c_size_t),
]
qnnrt_session_tensor._fields_ = [
    ('name', c_char_p),
    ('dtype', c_int),
    ('rank', c_uint32),
    ('dims', c_int64 * 16),
    ('dim_names', POINTER(c_char_p)),
    ('quant', POINTER(qnnrt_quant)),
    ('optional', c_int),
    ('any_rank', c_int),
]
qnnrt_session_option._fields_ = [
    ('engine', c_char_p),
    ('key', c_char_p),
    ('value', c_char_p),
]
qnnrt_session_shape._fields_ = [
    ('name', c_char_p),
    ('rank', c_uint32),
    ('dims', c_int64 * 16),
]
qnnrt_session_pair._fields_ = [
    ('key', c_char_p),
    ('value', c_char_p),
]
qnnrt_dispatch._fields_ = [
    ('step', c_size_t),
    ('name', c_char_p),
    ('engine', c_char_p),
    ('device', c_char_p),
    ('dtype', c_int),
    ('rank', c_uint32),
    ('dims', c_int64 * 16),
    ('us', c_double),
]
qnnrt_session_desc._fields_ = [
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
qnnrt_session_candidate._fields_ = [
    ('engine', c_char_p),
    ('device', c_char_p),
    ('taken', c_int),
    ('reason', c_char_p),
]
qnnrt_session_info._fields_ = [
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
qnnrt_json_text._fields_ = [
    ('text', c_char_p),
    ('bytes', c_size_t),
    ('escaped', c_int),
]
qnnrt_json_limits._fields_ = [
    ('bytes', c_size_t),
    ('depth', c_uint32),
]
qnnrt_json_reader._fields_ = [
    ('key', qnnrt_json_text),
    ('value', qnnrt_json_text),
    ('type', c_int),
    ('depth', c_uint32),
    ('error', c_char_p),
    ('error_at', c_size_t),
    ('begin', POINTER(c_ubyte)),
    ('at', POINTER(c_ubyte)),
    ('end', POINTER(c_ubyte)),
    ('max_depth', c_uint32),
    ('state', c_int),
    ('objects', c_uint64 * 16),
]
qnnrt_json_writer._fields_ = [
    ('error', c_char_p),
    ('write', CFUNCTYPE(c_int, c_void_p, c_char_p, c_size_t)),
    ('user', c_void_p),
    ('indent', c_uint32),
    ('depth', c_uint32),
    ('line_depth', c_uint32),
    ('used', c_uint32),
    ('filled', c_int),
    ('key', c_int),
    ('done', c_int),
    ('objects', c_uint64 * 16),
    ('buffer', c_char * 4096),
]
qnnrt_conversion._fields_ = [
    ('how', c_int),
    ('exact', c_int),
]
qnnrt_converter_info._fields_ = [
    ('how', c_int),
    ('exact', c_int),
    ('lost', c_uint64),
    ('lost_ever', c_uint64),
]
qnnrt_manifest_role._fields_ = [
    ('role', c_char_p),
    ('backend', c_void_p),
    ('desc', qnnrt_backend_desc),
]
qnnrt_manifest_open_desc._fields_ = [
    ('backends', POINTER(qnnrt_manifest_role)),
    ('backend_count', c_size_t),
    ('host_functions', POINTER(qnnrt_host_step)),
    ('host_function_count', c_size_t),
    ('sha256', CFUNCTYPE(None, c_void_p, c_uint64, c_char_p)),
    ('model', qnnrt_desc),
]
qnnrt_manifest_context._fields_ = [
    ('file', c_char_p),
    ('role', c_char_p),
    ('fingerprint', c_uint64),
    ('sha256', c_char_p),
    ('model', c_void_p),
    ('context', c_size_t),
    ('failure', POINTER(qnnrt_error)),
    ('info', POINTER(qnnrt_context_info)),
]
qnnrt_manifest_constant._fields_ = [
    ('tensor', qnnrt_tensor_info),
    ('file', c_char_p),
    ('offset', c_uint64),
    ('data', c_void_p),
]
qnnrt_manifest_info._fields_ = [
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
qnnrt_manifest_pipeline._fields_ = [
    ('desc', qnnrt_pipeline_desc),
    ('conversions', POINTER(qnnrt_conversion)),
]
qnnrt_manifest_desc._fields_ = [
    ('contexts', POINTER(qnnrt_manifest_context)),
    ('context_count', c_size_t),
    ('constants', POINTER(qnnrt_manifest_constant)),
    ('constant_count', c_size_t),
    ('pipelines', POINTER(qnnrt_manifest_pipeline)),
    ('pipeline_count', c_size_t),
    ('more', CFUNCTYPE(None, c_void_p, POINTER(qnnrt_json_writer))),
    ('more_user', c_void_p),
]
qnnrt_sha256._fields_ = [
    ('state', c_uint32 * 8),
    ('bytes', c_uint64),
    ('block', c_ubyte * 64),
]

FUNCTIONS = {
    'qnnrt_backend_close': (c_int, [c_void_p]),
    'qnnrt_backend_get_info': (POINTER(qnnrt_backend_info), [c_void_p]),
    'qnnrt_backend_open': (c_int, [POINTER(qnnrt_backend_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_backend_register_ops': (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, POINTER(qnnrt_error)]),
    'qnnrt_bind': (c_int, [c_void_p, c_char_p, c_void_p, c_size_t]),
    'qnnrt_bind_at': (c_int, [c_void_p, POINTER(qnnrt_slot), c_void_p, c_uint64]),
    'qnnrt_bind_input': (c_int, [c_void_p, POINTER(qnnrt_slot), c_void_p, c_size_t]),
    'qnnrt_bind_output': (c_int, [c_void_p, POINTER(qnnrt_slot), c_void_p, c_size_t]),
    'qnnrt_binding_create': (c_int, [c_void_p, POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_binding_destroy': (c_int, [c_void_p]),
    'qnnrt_binding_get': (c_int, [c_void_p, c_char_p, POINTER(qnnrt_value)]),
    'qnnrt_binding_input': (c_int, [c_void_p, POINTER(qnnrt_value)]),
    'qnnrt_binding_output': (c_int, [c_void_p, POINTER(qnnrt_value)]),
    'qnnrt_binding_run': (c_int, [c_void_p]),
    'qnnrt_cache_aside': (c_int, [c_char_p, c_uint, c_char_p]),
    'qnnrt_cache_aside_end': (None, [c_int, c_char_p]),
    'qnnrt_cache_aside_folder': (c_int, [c_int, c_char_p, c_char_p]),
    'qnnrt_cache_clear': (c_int, [c_void_p, POINTER(c_size_t), POINTER(c_uint64), POINTER(qnnrt_error)]),
    'qnnrt_cache_close': (None, [c_void_p]),
    'qnnrt_cache_list': (c_int, [c_void_p, CFUNCTYPE(None, c_void_p, POINTER(qnnrt_cache_entry)), c_void_p, POINTER(qnnrt_error)]),
    'qnnrt_cache_open': (c_int, [c_char_p, POINTER(qnnrt_cache_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_cache_sweep': (None, [c_char_p]),
    'qnnrt_check_version': (c_int, [c_uint32, c_size_t]),
    'qnnrt_close': (c_int, [c_void_p]),
    'qnnrt_context_load': (c_int, [c_void_p, c_size_t, POINTER(qnnrt_error)]),
    'qnnrt_context_unload': (c_int, [c_void_p, c_size_t, POINTER(qnnrt_error)]),
    'qnnrt_conversions_create': (c_int, [POINTER(qnnrt_pipeline_desc), POINTER(qnnrt_conversion), POINTER(qnnrt_hooks), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_conversions_desc': (POINTER(qnnrt_pipeline_desc), [c_void_p]),
    'qnnrt_conversions_free': (None, [c_void_p]),
    'qnnrt_conversions_step': (c_size_t, [c_void_p, c_size_t]),
    'qnnrt_convert_create': (c_int, [POINTER(qnnrt_tensor_info), POINTER(qnnrt_tensor_info), POINTER(qnnrt_conversion), POINTER(qnnrt_hooks), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_convert_free': (None, [c_void_p]),
    'qnnrt_convert_get_info': (qnnrt_converter_info, [c_void_p]),
    'qnnrt_convert_of': (c_void_p, [POINTER(qnnrt_step_info)]),
    'qnnrt_convert_step': (POINTER(qnnrt_host_step), [c_void_p]),
    'qnnrt_data': (c_void_p, [c_void_p, c_char_p, POINTER(c_size_t)]),
    'qnnrt_data_slot': (c_void_p, [c_void_p, POINTER(qnnrt_slot), POINTER(c_size_t)]),
    'qnnrt_decode_f32': (c_int, [POINTER(qnnrt_tensor_info), c_void_p, POINTER(c_float)]),
    'qnnrt_device_fd': (qnnrt_mem_provider, [POINTER(qnnrt_device_source)]),
    'qnnrt_device_heap': (qnnrt_mem_provider, [c_char_p]),
    'qnnrt_device_memory': (c_int, [c_char_p, POINTER(qnnrt_mem_desc)]),
    'qnnrt_dtype_bits': (c_uint32, [c_int]),
    'qnnrt_dtype_name': (c_char_p, [c_int]),
    'qnnrt_encode_f32': (c_int, [POINTER(qnnrt_tensor_info), POINTER(c_float), c_void_p]),
    'qnnrt_engine_onnxruntime': (c_void_p, []),
    'qnnrt_engine_onnxruntime_trt': (c_void_p, []),
    'qnnrt_engine_openvino': (c_void_p, []),
    'qnnrt_engine_qnn': (c_void_p, []),
    'qnnrt_engines_default': (POINTER(c_void_p), [POINTER(c_void_p)]),
    'qnnrt_exec': (c_int, [c_void_p]),
    'qnnrt_exec_steps': (c_int, [c_void_p, c_size_t, c_size_t]),
    'qnnrt_explain': (POINTER(qnnrt_explanation), [c_char_p]),
    'qnnrt_explain_code': (POINTER(qnnrt_explanation), [c_uint64]),
    'qnnrt_explain_error': (None, [POINTER(qnnrt_error)]),
    'qnnrt_explain_get': (POINTER(qnnrt_explanation), [c_size_t]),
    'qnnrt_file_read': (c_int, [c_char_p, c_void_p, c_size_t, POINTER(c_uint64), POINTER(qnnrt_error)]),
    'qnnrt_get_dims': (POINTER(c_uint32), [c_void_p, POINTER(qnnrt_slot), POINTER(c_uint32)]),
    'qnnrt_get_info': (POINTER(qnnrt_info), [c_void_p]),
    'qnnrt_json_begin': (None, [POINTER(qnnrt_json_reader), c_char_p, c_size_t, POINTER(qnnrt_json_limits)]),
    'qnnrt_json_copy': (c_size_t, [POINTER(qnnrt_json_text), c_char_p]),
    'qnnrt_json_end': (c_int, [POINTER(qnnrt_json_reader)]),
    'qnnrt_json_f32': (c_int, [POINTER(qnnrt_json_text), POINTER(c_float)]),
    'qnnrt_json_f64': (c_int, [POINTER(qnnrt_json_text), POINTER(c_double)]),
    'qnnrt_json_i64': (c_int, [POINTER(qnnrt_json_text), POINTER(c_int64)]),
    'qnnrt_json_is': (c_int, [POINTER(qnnrt_json_text), c_char_p]),
    'qnnrt_json_leave': (c_int, [POINTER(qnnrt_json_reader)]),
    'qnnrt_json_more': (c_int, [POINTER(qnnrt_json_reader)]),
    'qnnrt_json_more_as': (c_int, [POINTER(qnnrt_json_reader), POINTER(qnnrt_json_text)]),
    'qnnrt_json_skip': (c_int, [POINTER(qnnrt_json_reader)]),
    'qnnrt_json_u64': (c_int, [POINTER(qnnrt_json_text), POINTER(c_uint64)]),
    'qnnrt_json_value': (c_int, [POINTER(qnnrt_json_reader)]),
    'qnnrt_json_value_is': (c_int, [POINTER(qnnrt_json_reader), POINTER(qnnrt_json_text)]),
    'qnnrt_json_value_u64': (c_int, [POINTER(qnnrt_json_reader), POINTER(c_uint64)]),
    'qnnrt_json_write_array': (None, [POINTER(qnnrt_json_writer), c_int]),
    'qnnrt_json_write_begin': (None, [POINTER(qnnrt_json_writer), CFUNCTYPE(c_int, c_void_p, c_char_p, c_size_t), c_void_p, c_uint32]),
    'qnnrt_json_write_bool': (None, [POINTER(qnnrt_json_writer), c_int]),
    'qnnrt_json_write_close': (None, [POINTER(qnnrt_json_writer)]),
    'qnnrt_json_write_end': (c_int, [POINTER(qnnrt_json_writer)]),
    'qnnrt_json_write_f32': (None, [POINTER(qnnrt_json_writer), c_float]),
    'qnnrt_json_write_f64': (None, [POINTER(qnnrt_json_writer), c_double]),
    'qnnrt_json_write_i64': (None, [POINTER(qnnrt_json_writer), c_int64]),
    'qnnrt_json_write_key': (None, [POINTER(qnnrt_json_writer), c_char_p]),
    'qnnrt_json_write_null': (None, [POINTER(qnnrt_json_writer)]),
    'qnnrt_json_write_object': (None, [POINTER(qnnrt_json_writer), c_int]),
    'qnnrt_json_write_string': (None, [POINTER(qnnrt_json_writer), c_char_p]),
    'qnnrt_json_write_u64': (None, [POINTER(qnnrt_json_writer), c_uint64]),
    'qnnrt_llm_accept': (c_int, [c_void_p, POINTER(c_uint32), c_size_t]),
    'qnnrt_llm_adapter_applied': (c_void_p, [c_void_p]),
    'qnnrt_llm_adapter_apply': (c_int, [c_void_p, c_void_p, POINTER(qnnrt_error)]),
    'qnnrt_llm_adapter_create': (c_int, [c_void_p, POINTER(qnnrt_llm_adapter_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_llm_adapter_destroy': (c_int, [c_void_p]),
    'qnnrt_llm_adapter_mix': (None, [c_void_p]),
    'qnnrt_llm_argmax': (c_int32, [c_void_p, c_size_t]),
    'qnnrt_llm_cache_copy': (c_int, [c_void_p, c_void_p]),
    'qnnrt_llm_cache_get': (c_void_p, [c_void_p, c_size_t, c_size_t]),
    'qnnrt_llm_cache_get_info': (qnnrt_llm_cache_info, [c_void_p]),
    'qnnrt_llm_can_shift': (c_int, [c_void_p]),
    'qnnrt_llm_clear': (None, [c_void_p]),
    'qnnrt_llm_close': (c_int, [c_void_p]),
    'qnnrt_llm_codes': (c_void_p, [c_void_p, c_size_t]),
    'qnnrt_llm_compact': (c_uint32, [c_void_p]),
    'qnnrt_llm_cost_get': (c_uint64, [c_void_p, c_size_t, c_size_t]),
    'qnnrt_llm_cost_set': (c_int, [c_void_p, c_size_t, c_size_t, c_uint64]),
    'qnnrt_llm_decode': (c_int, [c_void_p, POINTER(qnnrt_llm_batch)]),
    'qnnrt_llm_describe': (None, [c_void_p, CFUNCTYPE(None, c_void_p, c_char_p), c_void_p]),
    'qnnrt_llm_embedding': (c_int, [c_void_p, POINTER(qnnrt_graph_info), POINTER(c_void_p), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_llm_error': (POINTER(qnnrt_error), [c_void_p]),
    'qnnrt_llm_eval': (c_int, [c_void_p, POINTER(qnnrt_llm_batch)]),
    'qnnrt_llm_get_info': (POINTER(qnnrt_llm_info), [c_void_p]),
    'qnnrt_llm_hidden': (c_int, [c_void_p, c_size_t, POINTER(c_float)]),
    'qnnrt_llm_is_eos': (c_int, [c_void_p, c_int32]),
    'qnnrt_llm_logits': (c_int, [c_void_p, c_size_t, POINTER(c_float)]),
    'qnnrt_llm_open': (c_int, [c_void_p, POINTER(qnnrt_llm_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_llm_pool': (c_int, [c_void_p, POINTER(qnnrt_llm_batch), POINTER(qnnrt_llm_pool_desc), POINTER(c_float), POINTER(qnnrt_error)]),
    'qnnrt_llm_role_name': (c_char_p, [c_int]),
    'qnnrt_llm_sample': (c_int32, [c_void_p, c_void_p]),
    'qnnrt_llm_sampler_accept': (None, [c_void_p, c_int32]),
    'qnnrt_llm_sampler_create': (c_int, [POINTER(qnnrt_tensor_info), POINTER(qnnrt_llm_sampler_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_llm_sampler_destroy': (None, [c_void_p]),
    'qnnrt_llm_sampler_reset': (None, [c_void_p]),
    'qnnrt_llm_sequence_copy': (c_int, [c_void_p, c_int, c_int, c_int32, c_int32]),
    'qnnrt_llm_sequence_first': (c_int32, [c_void_p, c_int]),
    'qnnrt_llm_sequence_keep': (c_int, [c_void_p, c_int]),
    'qnnrt_llm_sequence_last': (c_int32, [c_void_p, c_int]),
    'qnnrt_llm_sequence_remove': (c_int, [c_void_p, c_int, c_int32, c_int32]),
    'qnnrt_llm_sequence_shift': (c_int, [c_void_p, c_int, c_int32, c_int32, c_int32]),
    'qnnrt_llm_sequence_state_bytes': (c_size_t, [c_void_p, c_int]),
    'qnnrt_llm_sequence_state_restore': (c_int, [c_void_p, c_int, c_void_p, c_size_t]),
    'qnnrt_llm_sequence_state_save': (c_int, [c_void_p, c_int, c_void_p, c_size_t, POINTER(c_size_t)]),
    'qnnrt_llm_session_create': (c_int, [POINTER(c_void_p), c_size_t, POINTER(qnnrt_llm_session_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_llm_session_destroy': (None, [c_void_p]),
    'qnnrt_llm_session_get_info': (qnnrt_llm_session_info, [c_void_p]),
    'qnnrt_llm_session_runs': (c_uint64, [c_void_p, c_size_t, c_size_t]),
    'qnnrt_llm_state_bytes': (c_size_t, [c_void_p]),
    'qnnrt_llm_state_restore': (c_int, [c_void_p, c_void_p, c_size_t]),
    'qnnrt_llm_state_save': (c_int, [c_void_p, c_void_p, c_size_t, POINTER(c_size_t)]),
    'qnnrt_manifest_close': (c_int, [c_void_p]),
    'qnnrt_manifest_find': (c_int, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_manifest_get_info': (POINTER(qnnrt_manifest_info), [c_void_p]),
    'qnnrt_manifest_open': (c_int, [c_char_p, POINTER(qnnrt_manifest_open_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_manifest_prepare': (c_int, [c_void_p, c_char_p, POINTER(qnnrt_prepare_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_manifest_recover': (c_int, [c_void_p, CFUNCTYPE(c_int, c_void_p, POINTER(qnnrt_error)), POINTER(qnnrt_error)]),
    'qnnrt_manifest_write': (c_int, [POINTER(qnnrt_manifest_desc), CFUNCTYPE(c_int, c_void_p, c_char_p, c_size_t), c_void_p, POINTER(qnnrt_error)]),
    'qnnrt_mem_clear': (None, [c_void_p]),
    'qnnrt_mem_create': (c_int, [c_void_p, POINTER(qnnrt_mem_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_mem_destroy': (c_int, [c_void_p]),
    'qnnrt_mem_get_info': (POINTER(qnnrt_mem_info), [c_void_p]),
    'qnnrt_model_load_shared': (c_int, [c_void_p, POINTER(qnnrt_error)]),
    'qnnrt_model_recover': (c_int, [c_void_p, POINTER(qnnrt_error)]),
    'qnnrt_model_swap': (c_int, [c_void_p, c_uint64, POINTER(qnnrt_error)]),
    'qnnrt_omit': (c_int, [c_void_p, POINTER(qnnrt_slot)]),
    'qnnrt_open': (c_int, [c_char_p, POINTER(qnnrt_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_pipeline_destroy': (c_int, [c_void_p]),
    'qnnrt_pipeline_find': (c_int, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_pipeline_get_info': (POINTER(qnnrt_pipeline_info), [c_void_p]),
    'qnnrt_pipeline_make': (c_int, [POINTER(qnnrt_pipeline_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_pipeline_prepare': (c_int, [c_void_p, POINTER(qnnrt_prepare_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_plan_create': (c_int, [POINTER(qnnrt_plan_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_plan_destroy': (c_int, [c_void_p]),
    'qnnrt_plan_get_info': (POINTER(qnnrt_plan_info), [c_void_p]),
    'qnnrt_policy_check': (c_int, [c_int, c_char_p, CFUNCTYPE(None, c_void_p, c_char_p), c_void_p, POINTER(qnnrt_error)]),
    'qnnrt_policy_merge': (c_int, [c_int, c_char_p, c_char_p, c_char_p, c_size_t, POINTER(c_size_t), POINTER(qnnrt_error)]),
    'qnnrt_power_preset_name': (c_char_p, [c_int]),
    'qnnrt_power_set': (c_int, [c_void_p, POINTER(qnnrt_power_desc), POINTER(qnnrt_power_report), POINTER(qnnrt_error)]),
    'qnnrt_precision_name': (c_char_p, [c_int]),
    'qnnrt_prepare': (c_int, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_prepare_with': (c_int, [c_void_p, c_char_p, POINTER(qnnrt_prepare_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_profile_create': (c_int, [c_int, POINTER(qnnrt_hooks), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_profile_destroy': (None, [c_void_p]),
    'qnnrt_profile_events': (None, [c_void_p, POINTER(POINTER(qnnrt_profile_event)), POINTER(c_size_t)]),
    'qnnrt_profile_hook': (c_void_p, [c_void_p]),
    'qnnrt_quant_equal': (c_int, [POINTER(qnnrt_quant), POINTER(qnnrt_quant)]),
    'qnnrt_read_f32': (c_int, [c_void_p, POINTER(qnnrt_slot), c_uint64, POINTER(c_float), c_size_t]),
    'qnnrt_read_i32': (c_int, [c_void_p, POINTER(qnnrt_slot), c_uint64, POINTER(c_int32), c_size_t]),
    'qnnrt_result_name': (c_char_p, [c_int]),
    'qnnrt_result_text': (c_char_p, [c_int]),
    'qnnrt_role_name': (c_char_p, [c_int]),
    'qnnrt_run_create': (c_int, [c_void_p, c_size_t, POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_run_destroy': (None, [c_void_p]),
    'qnnrt_run_dynamic': (c_int, [c_void_p]),
    'qnnrt_run_error': (POINTER(qnnrt_error), [c_void_p]),
    'qnnrt_run_events': (c_int, [c_void_p, POINTER(POINTER(qnnrt_profile_event)), POINTER(c_size_t)]),
    'qnnrt_run_pipeline': (c_void_p, [c_void_p]),
    'qnnrt_run_profile': (c_int, [c_void_p, c_int]),
    'qnnrt_run_profile_log': (c_int, [c_void_p, c_char_p]),
    'qnnrt_run_slot': (POINTER(qnnrt_slot), [c_void_p, c_char_p]),
    'qnnrt_run_transfers': (c_int, [c_void_p, POINTER(POINTER(qnnrt_transfer_info)), POINTER(c_size_t)]),
    'qnnrt_sample_argmax': (c_int32, [POINTER(qnnrt_tensor_info), c_void_p]),
    'qnnrt_session_bytes': (c_int, [c_int, c_uint32, POINTER(c_int64), POINTER(c_size_t)]),
    'qnnrt_session_cancel': (c_int, [c_void_p]),
    'qnnrt_session_create': (c_int, [c_char_p, POINTER(qnnrt_session_desc), POINTER(c_void_p), POINTER(qnnrt_error)]),
    'qnnrt_session_destroy': (c_int, [c_void_p]),
    'qnnrt_session_error': (POINTER(qnnrt_error), [c_void_p]),
    'qnnrt_session_get_info': (POINTER(qnnrt_session_info), [c_void_p]),
    'qnnrt_session_run': (c_int, [c_void_p, POINTER(qnnrt_value), c_size_t, POINTER(qnnrt_value), c_size_t]),
    'qnnrt_set_dims': (c_int, [c_void_p, POINTER(qnnrt_slot), POINTER(c_uint32), c_uint32]),
    'qnnrt_sha256_add': (None, [POINTER(qnnrt_sha256), c_void_p, c_uint64]),
    'qnnrt_sha256_begin': (None, [POINTER(qnnrt_sha256)]),
    'qnnrt_sha256_end': (None, [POINTER(qnnrt_sha256), POINTER(c_ubyte), c_char_p]),
    'qnnrt_sha256_text': (None, [c_void_p, c_uint64, c_char_p]),
    'qnnrt_slot_find': (c_int, [c_void_p, c_char_p, c_int, POINTER(POINTER(qnnrt_slot)), POINTER(qnnrt_error)]),
    'qnnrt_step_text': (c_char_p, [POINTER(qnnrt_step_info), c_char_p, c_size_t]),
    'qnnrt_tensor_text': (c_char_p, [POINTER(qnnrt_tensor_info), c_char_p, c_size_t]),
    'qnnrt_update': (c_int, [c_void_p, c_size_t, c_char_p, c_char_p, c_void_p, c_size_t, POINTER(qnnrt_error)]),
    'qnnrt_utf8_length': (c_size_t, [c_char_p, POINTER(c_int)]),
    'qnnrt_vendor_code_name': (c_char_p, [c_uint64, c_char_p, c_size_t]),
    'qnnrt_vendor_name': (c_char_p, [c_int, c_uint32]),
    'qnnrt_version': (c_char_p, []),
    'qnnrt_write_f32': (c_int, [c_void_p, POINTER(qnnrt_slot), c_uint64, POINTER(c_float), c_size_t]),
    'qnnrt_write_i32': (c_int, [c_void_p, POINTER(qnnrt_slot), c_uint64, POINTER(c_int32), c_size_t]),
}
