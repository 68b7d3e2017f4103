"""Time what comes before `qnnrt-run compile`: torch.export and pytorch-ir on Qwen2.5-1.5B without weights, 128 tokens.

    python3 tests/bench/bench_export.py
"""
import time

import torch
from torch_ir import extract_ir
from transformers import Qwen2Config, Qwen2ForCausalLM


class Prefill(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, use_cache=False).logits


config = Qwen2Config(hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12, num_key_value_heads=2,
                     vocab_size=151936, tie_word_embeddings=True, attn_implementation="eager")
with torch.device("meta"):
    model = Prefill(Qwen2ForCausalLM(config).to(torch.bfloat16)).eval()
    ids = torch.zeros(1, 128, dtype=torch.int64)
begin = time.monotonic()
torch.export.export(model, (ids,), strict=False)
middle = time.monotonic()
nodes = len(extract_ir(model, (ids,), model_name="qwen2", strict=False).to_dict()["nodes"])
end = time.monotonic()
print("torch %s\n  torch.export               %8.0f ms\n  with pytorch-ir            %8.0f ms, %d nodes"
      % (torch.__version__, 1e3 * (middle - begin), 1e3 * (end - middle), nodes))
