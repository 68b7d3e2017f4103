#!/usr/bin/env python3
"""Write eight JSON dumps of a language model in eight shards, as qnn-context-binary-utility would.

    python3 tests/cli/make_eight_shards.py FOLDER

The model is artificial, its names are those of real exports: a hidden state goes from shard to shard, each
layer has its cache of keys and values, position and mask come from the caller of every shard. The same
files every time.
"""
import json
import os
import sys

SHARDS, LAYERS = 8, 2                   # layers in each shard
TOKENS, CONTEXT, HIDDEN, VOCABULARY = 128, 2048, 1024, 8192
HEADS, HEAD = 4, 64                     # heads of keys and values, and their width


def tensor(ids, name, kind, dtype, dims, scale=None, offset=0):
    quant = {"definition": "QNN_DEFINITION_UNDEFINED", "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_UNDEFINED"}
    if scale is not None:
        quant = {"definition": "QNN_DEFINITION_DEFINED",
                 "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET",
                 "scaleOffset": {"scale": scale, "offset": offset}}
    ids[0] += 3
    return {"version": "QNN_TENSOR_VERSION_2",
            "info": {"id": ids[0], "name": name, "type": "QNN_TENSOR_TYPE_" + kind,
                     "dataFormat": "QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER", "dataType": "QNN_DATATYPE_" + dtype,
                     "rank": len(dims), "dimensions": dims, "memType": "QNN_TENSORMEMTYPE_RAW", "quantizeParams": quant}}


def hidden(ids, shard, kind):
    """Return the tensors that go from shard - 1 to shard."""
    return tensor(ids, "_model_layers_%d_Add_1_Add_output_0" % (shard * LAYERS - 1), kind, "UFIXED_POINT_16",
                  [1, TOKENS, HIDDEN], 0.0009765625 * (shard + 1), -32768)


def graph(shard):
    ids = [0]
    inputs, outputs = [], []
    if shard == 0:
        inputs.append(tensor(ids, "input_ids", "APP_WRITE", "INT_32", [1, TOKENS]))
    else:
        inputs.append(hidden(ids, shard, "APP_WRITE"))
    inputs.append(tensor(ids, "attention_mask", "APP_WRITE", "UFIXED_POINT_16", [1, 1, TOKENS, CONTEXT], 0.001953125, -65535))
    for name in ("position_ids_cos", "position_ids_sin"):
        inputs.append(tensor(ids, name, "APP_WRITE", "UFIXED_POINT_16", [1, 1, TOKENS, HEAD // 2], 0.0001220703125, -32768))
    for layer in range(shard * LAYERS, (shard + 1) * LAYERS):
        past = CONTEXT - TOKENS
        for what, old, new in (("key", [HEADS, 1, HEAD, past], [HEADS, 1, HEAD, TOKENS]),
                               ("value", [HEADS, 1, past, HEAD], [HEADS, 1, TOKENS, HEAD])):
            scale = 0.0078125 * (1 + layer % 3)
            inputs.append(tensor(ids, "past_%s_%d_in" % (what, layer), "APP_WRITE", "UFIXED_POINT_8", old, scale, -128))
            outputs.append(tensor(ids, "past_%s_%d_out" % (what, layer), "APP_READ", "UFIXED_POINT_8", new, scale, -128))
    if shard == SHARDS - 1:
        outputs.append(tensor(ids, "logits", "APP_READ", "UFIXED_POINT_16", [1, TOKENS, VOCABULARY], 0.0009765625, -30000))
    else:
        outputs.append(hidden(ids, shard + 1, "APP_READ"))
    return {"version": "QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3",
            "info": {"graphName": "prompt_ar%d_cl%d_%d_of_%d" % (TOKENS, CONTEXT, shard + 1, SHARDS),
                     "numGraphInputs": len(inputs), "graphInputs": inputs,
                     "numGraphOutputs": len(outputs), "graphOutputs": outputs,
                     "numUpdateableTensors": 0, "updateableTensors": [],
                     "graphBlobInfoSize": 112,
                     "graphBlobInfo": {"version": "QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1",
                                       "info": {"spillFillBufferSize": 1048576, "optimizationLevel": 3, "vtcmSize": 8,
                                                "htpDlbc": 0, "numHvxThreads": 4}},
                     "graphBlobInfoV2": {"version": "QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V2",
                                         "nativeKChannelSize": 256, "nativeVChannelSize": 64, "isSafeShareIO": 0,
                                         "ioTensorSize": 4194304, "opDataSize": 262144, "constSize": 67108864,
                                         "ddrTensorSize": 0, "sharedWeightsSize": 0}}}


def document(shard):
    return {"header": {"artifact_type": "CONTEXT_BINARY_INFO", "version": {"major": 3, "minor": 0, "patch": 0},
                       "header_version": {"major": 0, "minor": 1, "patch": 0}},
            "version": "QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3",
            "info": {"backendId": 6, "buildId": "v2.51.0.260929181845", "coreApiVersion": "2.40.0",
                     "backendApiVersion": "5.51.0", "socVersion": "", "contextBlobVersion": "4.0.6",
                     "contextBlobSize": 70000000 + 4096 * shard, "numContextTensors": 0, "contextTensors": [],
                     "numGraphs": 1, "graphs": [graph(shard)],
                     "contextMetadataSize": 8,
                     "contextMetadata": {"version": "QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_VERSION_V1",
                                         "info": {"dspArch": 79}},
                     "socModel": 69}}


if len(sys.argv) != 2:
    sys.exit(__doc__.split("\n\n")[1].strip())
os.makedirs(sys.argv[1], exist_ok=True)
for number in range(SHARDS):
    with open(os.path.join(sys.argv[1], "forward_%d_json.json" % number), "w") as out:
        out.write(json.dumps(document(number), indent=4) + "\n")
