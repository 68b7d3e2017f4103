#!/usr/bin/env python3
"""Write a folder of config.json, model.safetensors and tokenizer.json as GGUF files, with the package gguf.

    build/ggml/venv/bin/python tests/ggml/make_gguf.py MODEL_FOLDER OUT_FOLDER KIND ...      (make ggml-models)

KIND is f32, f16, bf16, q8_0 or q4_0: OUT_FOLDER/KIND.gguf holds every matrix in that type, and the vectors as f32.
KIND-f32 (such as q8_0-f32) holds as f32 what the matrices of KIND dequantize to: ggml's CPU backend quantizes
activations beside quantized weights, so this is the file that a backend's quantized run is compared with.
big-KIND has random weights of 100 MB as f32, and the tokenizer of MODEL_FOLDER.

Architectures: llama, qwen2 and qwen3. The tokenizer is byte-level BPE. A tokenizer without merges gets one that joins
nothing, because llama.cpp expects a list of merges."""
import json
import os
import struct
import sys

import gguf
import numpy

KINDS = {"f32": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32),
         "f16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
         "bf16": (gguf.GGMLQuantizationType.BF16, gguf.LlamaFileType.MOSTLY_BF16),
         "q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
         "q4_0": (gguf.GGMLQuantizationType.Q4_0, gguf.LlamaFileType.MOSTLY_Q4_0)}
TYPES = {"F32": numpy.float32, "F16": numpy.float16}
ARCHITECTURES = ("llama", "qwen2", "qwen3")

# GGUF's names of what is in every layer: name in GGUF, name in safetensors. Absent tensors are left out.
LAYER = (("attn_norm.weight", "input_layernorm.weight"), ("ffn_norm.weight", "post_attention_layernorm.weight"),
         ("attn_q.weight", "self_attn.q_proj.weight"), ("attn_k.weight", "self_attn.k_proj.weight"),
         ("attn_v.weight", "self_attn.v_proj.weight"), ("attn_output.weight", "self_attn.o_proj.weight"),
         ("attn_q.bias", "self_attn.q_proj.bias"), ("attn_k.bias", "self_attn.k_proj.bias"),
         ("attn_v.bias", "self_attn.v_proj.bias"), ("attn_q_norm.weight", "self_attn.q_norm.weight"),
         ("attn_k_norm.weight", "self_attn.k_norm.weight"), ("ffn_gate.weight", "mlp.gate_proj.weight"),
         ("ffn_up.weight", "mlp.up_proj.weight"), ("ffn_down.weight", "mlp.down_proj.weight"))


def read_tensors(path):
    """Return {name: float32 array} of a .safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            values = numpy.frombuffer(data[start + first:start + last], TYPES[entry["dtype"]])
            tensors[name] = values.reshape(entry["shape"]).astype(numpy.float32)
    return tensors


def read_json(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def pairs(values, heads):
    """Reorder a projection's rows: llama's GGUF turns neighbours (2i, 2i+1), checkpoints turn (i, i + half)."""
    size = values.shape[0] // heads
    order = numpy.arange(size).reshape(2, size // 2).T.reshape(-1)
    rows = (numpy.arange(heads)[:, None] * size + order).reshape(-1)
    return numpy.ascontiguousarray(values[rows])


def add_head(writer, config, kind):
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    writer.add_name("qnnrt test model")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(head_dim)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(KINDS[kind][1])


def add_tokenizer(writer, tokenizer, config):
    model = tokenizer["model"]
    if model["type"] != "BPE" or tokenizer["pre_tokenizer"]["type"] != "ByteLevel":
        sys.exit("make_gguf.py: tokenizer.json: expected byte-level BPE")
    texts = sorted(model["vocab"], key=model["vocab"].get)
    if [model["vocab"][text] for text in texts] != list(range(config["vocab_size"])):
        sys.exit("make_gguf.py: tokenizer.json: expected the ids 0 to %d" % (config["vocab_size"] - 1))
    merges = [one if isinstance(one, str) else " ".join(one) for one in model["merges"]]
    space = "\u0120"                             # the space in byte-level BPE
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(texts)
    writer.add_token_types([gguf.TokenType.NORMAL] * len(texts))
    writer.add_token_merges(merges or [space + " " + space])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token(False)


def add_tensor(writer, name, values, kind, back):
    """Add a tensor: matrices in the type of kind, or as f32 what that type makes of them."""
    values = numpy.ascontiguousarray(values, numpy.float32)
    dtype = KINDS[kind][0] if values.ndim > 1 else gguf.GGMLQuantizationType.F32
    data = gguf.quants.quantize(values, dtype)
    if back:
        data, dtype = gguf.quants.dequantize(data, dtype), gguf.GGMLQuantizationType.F32
    writer.add_tensor(name, data, raw_dtype=dtype)


def grow(config):
    """Return the config of a larger model, and random weights for it."""
    config = dict(config, hidden_size=512, intermediate_size=1408, num_hidden_layers=8, num_attention_heads=8,
                  num_key_value_heads=4, head_dim=64)
    width, inner, keys = config["hidden_size"], config["intermediate_size"], 4 * 64
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], width), "lm_head.weight": (config["vocab_size"], width),
              "model.norm.weight": (width,)}
    for layer in range(config["num_hidden_layers"]):
        for name, shape in (("input_layernorm", (width,)), ("post_attention_layernorm", (width,)),
                            ("self_attn.q_proj", (width, width)), ("self_attn.k_proj", (keys, width)),
                            ("self_attn.v_proj", (keys, width)), ("self_attn.o_proj", (width, width)),
                            ("mlp.gate_proj", (inner, width)), ("mlp.up_proj", (inner, width)),
                            ("mlp.down_proj", (width, inner))):
            shapes["model.layers.%d.%s.weight" % (layer, name)] = shape
    random = numpy.random.default_rng(1)
    return config, {name: random.uniform(-1, 1, shape).astype(numpy.float32) * numpy.float32(3 / shape[-1]) ** 0.5
                    if len(shape) > 1 else numpy.ones(shape, numpy.float32) for name, shape in shapes.items()}


def write(folder, path, name):
    config, tensors = read_json(folder, "config.json"), read_tensors(os.path.join(folder, "model.safetensors"))
    if name.startswith("big-"):
        config, tensors = grow(config)
        name = name[4:]
    kind, back = name[:-4] if name.endswith("-f32") else name, name.endswith("-f32")
    architecture = config["model_type"]
    if architecture not in ARCHITECTURES:
        sys.exit("make_gguf.py: model_type is '%s', expected one of %s" % (architecture, ", ".join(ARCHITECTURES)))
    writer = gguf.GGUFWriter(path, architecture)
    add_head(writer, config, "f32" if back else kind)
    add_tokenizer(writer, read_json(folder, "tokenizer.json"), config)
    add_tensor(writer, "token_embd.weight", tensors["model.embed_tokens.weight"], kind, back)
    add_tensor(writer, "output_norm.weight", tensors["model.norm.weight"], kind, back)
    if not config.get("tie_word_embeddings"):
        add_tensor(writer, "output.weight", tensors["lm_head.weight"], kind, back)
    heads = {"attn_q.weight": config["num_attention_heads"], "attn_k.weight": config["num_key_value_heads"]}
    for layer in range(config["num_hidden_layers"]):
        for ours, theirs in LAYER:
            values = tensors.get("model.layers.%d.%s" % (layer, theirs))
            if values is None:
                continue
            if architecture == "llama" and ours in heads:
                values = pairs(values, heads[ours])
            add_tensor(writer, "blk.%d.%s" % (layer, ours), values, kind, back)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(arguments):
    names = list(KINDS) + [kind + "-f32" for kind in KINDS if kind != "f32"]
    names += ["big-" + name for name in names]
    if len(arguments) < 3 or not set(arguments[2:]) <= set(names):
        print(__doc__.split("\n\n")[1] + "\n\nKIND: " + " ".join(names), file=sys.stderr)
        return 2
    os.makedirs(arguments[1], exist_ok=True)
    for name in arguments[2:]:
        path = os.path.join(arguments[1], name + ".gguf")
        write(arguments[0], path + ".part", name)
        os.replace(path + ".part", path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
