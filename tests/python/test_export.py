"""qnnrt.export(): what of a model is in the folder, and what is refused by name. It needs torch: make test-export."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

import qnnrt
from common import BUILD, REF

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    torch = None

if torch is not None:
    torch.cuda.is_current_stream_capturing = lambda: False      # with stubs of the CUDA libraries the original crashes

    def module(function, *parts):
        """A module whose forward is the function; parts are modules that it can use as self.parts[i]."""
        class Made(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList(parts)

            def forward(self, *args, **kwargs):
                return function(self, *args, **kwargs)
        return Made()




def factory():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.GELU()), (torch.randn(2, 4),)


def read(path):
    """The tensors of a .safetensors file as torch's, and its metadata."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header, data = json.loads(file.read(size)), file.read()
    kinds = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
             "I32": torch.int32, "U8": torch.uint8, "BOOL": torch.bool, "C64": torch.complex64}
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, row in header.items():
        begin, end = row["data_offsets"]
        raw = bytearray(data[begin:end])
        tensors[name] = torch.frombuffer(raw, dtype=kinds[row["dtype"]]).reshape(row["shape"]) if raw else \
            torch.empty(row["shape"], dtype=kinds[row["dtype"]])
    return tensors, metadata


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Export(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "model")
        torch.manual_seed(0)

    def export(self, model, args=(), **options):
        self.done = qnnrt.export(model, args, self.path, **options)
        with open(os.path.join(self.path, "graph.json"), encoding="utf-8") as file:
            self.graph = json.load(file)
        self.weights, _ = read(os.path.join(self.path, "weights.safetensors"))
        self.samples, self.metadata = {}, {}
        if self.done.samples:
            self.samples, self.metadata = read(os.path.join(self.path, "samples.safetensors"))
        self.assertEqual(self.done.nodes, len(self.graph["nodes"]))
        names = [t["name"] for n in self.graph["nodes"] for t in n["outputs"]] + [t["name"] for t in self.graph["graph_inputs"]]
        self.assertEqual(len(names), len(set(names)))
        known = set(names) | set(self.graph["weight_name_mapping"])
        for node in self.graph["nodes"]:
            self.assertTrue(node["op_type"].startswith(("aten.", "qnnrt.")), node["op_type"])
            self.assertNotIn("_.", node["op_type"])
            for tensor in node["inputs"]:
                self.assertIn(tensor["name"], known)
        for tensor in self.graph["graph_outputs"]:
            self.assertIn(tensor["name"], known)
        self.assertLessEqual(set(self.graph["weight_name_mapping"].values()), set(self.weights))
        return self.done

    def ops(self):
        return [n["op_type"][5:] for n in self.graph["nodes"]]

    def refused(self, model, args, *words, **options):
        path = os.path.join(os.path.dirname(self.path), "refused")
        with self.assertRaises(qnnrt.UnsupportedError) as caught:
            qnnrt.export(model, args, path, **options)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertFalse(os.path.exists(path))
        return caught.exception

    # ---- the folder

    def test_a_layer(self):
        model = nn.Linear(4, 3)
        x = torch.randn(2, 4)
        done = self.export(model, x, samples=3)
        self.assertEqual((done.inputs, done.outputs, done.nodes, done.weights, done.samples), (["input"], ["output"], 1, 2, 3))
        self.assertEqual((self.graph["format"], self.graph["version"], self.graph["model_name"]), ("qnnrt.graph", 1, "Linear"))
        self.assertEqual(self.graph["exporter"], "qnnrt " + qnnrt.__version__)
        node = self.graph["nodes"][0]
        self.assertEqual([t["name"] for t in node["inputs"]], ["input", "p_weight", "p_bias"])
        self.assertEqual(node["outputs"][0], {"name": "output", "shape": [2, 3], "dtype": "float32", "producer_node": node["name"], "producer_output_idx": 0})
        self.assertTrue(torch.equal(self.weights["weight"], model.weight))
        self.assertEqual(sorted(self.samples), ["%d/%s" % (i, k) for i in range(3) for k in ("input/input", "output/output")])
        self.assertTrue(torch.equal(self.samples["0/input/input"], x))
        self.assertFalse(torch.equal(self.samples["1/input/input"], x))
        for i in range(3):
            want = model.double()(self.samples["%d/input/input" % i].double())
            self.assertEqual(self.samples["%d/output/output" % i].dtype, torch.float64)
            self.assertTrue(torch.equal(self.samples["%d/output/output" % i], want))
        self.assertEqual(self.metadata["computed_in"], "float64")
        self.assertLess(float(self.metadata["float16_error"]), 1e-2)

    def test_equal_exports_are_equal_files(self):
        files = []
        for _ in range(2):
            torch.manual_seed(7)
            qnnrt.export(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(1, 4), self.path)
            files.append([open(os.path.join(self.path, n), "rb").read() for n in sorted(os.listdir(self.path))])
        self.assertEqual(len(files[0]), 3)
        self.assertEqual(files[0], files[1])

    def test_names_are_those_of_the_model(self):
        class Model(nn.Module):
            def forward(self, ids, cache, *, mask=None, flag=False):
                if flag:
                    return {"logits": ids + cache["k"], "cache": [cache["k"] * 2, (mask, 3, None)]}
                return ids
        x = torch.randn(2, 4)
        done = self.export(Model(), (x, {"k": x, "v": x}), kwargs={"mask": x, "flag": True})
        self.assertEqual(done.inputs, ["ids", "cache_k", "cache_v", "mask"])
        self.assertEqual(done.outputs, ["logits", "cache_0", "cache_1_0"])

    def test_results_that_are_inputs_weights_or_twice(self):
        x = torch.randn(2, 4)
        self.export(module(lambda self, x: (x, x, self.parts[0].weight, self.parts[0](x)), nn.Linear(4, 4)), x)
        self.assertEqual(self.done.outputs, ["output_0", "output_1", "output_2", "output_3"])
        self.assertEqual(self.ops().count("alias.default"), 3)

    def test_dtypes_are_kept(self):
        args = (torch.tensor([1, 2]), torch.tensor([3, 4], dtype=torch.uint8), torch.tensor([True, False]), torch.randn(2).bfloat16())
        self.export(module(lambda self, a, b, c, d: (a + 1, b + b, ~c, d * 2)), args)
        self.assertEqual([t["dtype"] for t in self.graph["graph_inputs"]], ["int64", "uint8", "bool", "bfloat16"])
        self.assertEqual([t["dtype"] for t in self.graph["graph_outputs"]], ["int64", "uint8", "bool", "bfloat16"])
        self.assertEqual(self.samples["0/output/output_1"].dtype, torch.uint8)
        self.assertEqual(self.samples["0/output/output_2"].dtype, torch.bool)

    def test_tied_weights_once_and_unread_ones_not(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.head, self.unused = nn.Embedding(8, 4), nn.Linear(4, 8, bias=False), nn.Linear(3, 3)
                self.head.weight = self.embed.weight
                self.register_buffer("shift", torch.arange(4.0), persistent=False)

            def forward(self, ids):
                return self.head(self.embed(ids) + self.shift + torch.tensor([1.0, 2.0, 3.0, 4.0]))
        self.export(Tied(), torch.randint(0, 8, (2, 3)))
        mapping = self.graph["weight_name_mapping"]
        self.assertEqual(len([k for k in mapping if k.endswith("weight")]), 1)
        self.assertEqual(len(self.weights), 3)
        self.assertIn("shift", self.weights)

    @unittest.skipUnless(hasattr(getattr(getattr(torch, "fx", None), "proxy", None), "TracerBase") and
                         hasattr(torch.fx.proxy.TracerBase, "_filter_traceback_frames"), "this torch keeps the lines of forward() alone")
    def test_source_lines(self):
        def inner(x):
            return x.cos()
        self.export(module(lambda self, x: inner(x) + self.parts[0](x), nn.Linear(4, 4)), torch.randn(2, 4))
        sources = {n["op_type"]: n["source"] for n in self.graph["nodes"]}
        self.assertRegex(sources["aten.cos.default"], r"^[\w/]*test_export\.py:\d+: return x\.cos\(\)$")
        self.assertRegex(sources["aten.linear.default"], r"^[\w/]*test_export\.py:\d+: .*self\.parts\[0\]\(x\)")

    def test_inner_values(self):
        self.export(module(lambda self, x: (x * 2).cos().split(2, 1)[1]), torch.randn(2, 4), inner=True, samples=1)
        x = self.samples["0/input/" + self.done.inputs[0]]
        self.assertTrue(torch.equal(self.samples["0/node/mul"], x.double() * 2))
        for node in self.graph["nodes"]:
            for tensor in node["outputs"]:
                self.assertIn("0/node/" + tensor["name"], self.samples)

    def test_samples_are_float32_where_float64_has_no_numbers(self):
        def forward(self, x, mask):                          # transformers' Canine: the mask is float32, the least number is of x
            return x + (1.0 - mask.to(torch.float32)) * torch.finfo(x.dtype).min
        self.export(module(forward), (torch.randn(2, 3), torch.ones(2, 3, dtype=torch.int64)))
        self.assertEqual(self.metadata["computed_in"], "float32")
        self.assertTrue(bool(self.samples["0/output/output"].isfinite().all()))

        def hidden(self, x, mask):                           # BLOOM: softmax is in float32, where that number is infinite
            return x.masked_fill(mask == 0, torch.finfo(x.dtype).min).softmax(-1, dtype=torch.float32)
        rows = [(torch.randn(2, 3), torch.full((2, 3), ones)) for ones in (1, 0)]
        self.export(module(hidden), rows[0], samples=rows)
        self.assertEqual(self.metadata["computed_in"], "float32")
        self.assertTrue(bool(self.samples["1/output/output"].isfinite().all()))

    def test_own_samples_and_ranges(self):
        model = nn.Embedding(8, 4)
        rows = [(torch.tensor([i, 7 - i]),) for i in range(3)]
        self.export(model, rows[0], samples=rows, ranges={"input": (0, 7)})
        self.assertEqual(self.graph["ranges"], {"input": [0, 7]})
        self.assertEqual(self.samples["2/input/input"].tolist(), [2, 5])
        with self.assertRaises(qnnrt.MismatchError):
            qnnrt.export(model, rows[0], self.path, samples=[(torch.tensor([1.0, 2.0]),)])
        with self.assertRaises(qnnrt.MismatchError):
            qnnrt.export(model, rows[2], self.path, ranges={"input": (0, 3)})
        for ranges in ({"x": (0, 1)}, {"input": (1, 0)}):
            with self.assertRaises(qnnrt.ArgumentError):
                qnnrt.export(model, rows[0], self.path, ranges=ranges)

    def test_a_failed_export_leaves_the_former_one(self):
        self.export(nn.Linear(4, 3), torch.randn(2, 4))
        with self.assertRaises(qnnrt.UnsupportedError):
            qnnrt.export(module(lambda self, x: x[x > 0]), torch.randn(4), self.path)
        self.assertEqual(sorted(os.listdir(self.path)), ["graph.json", "samples.safetensors", "weights.safetensors"])
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["model"])
        with open(self.path + "/file", "w", encoding="utf-8"):
            with self.assertRaises(qnnrt.FileError):
                qnnrt.export(nn.Linear(4, 3), torch.randn(2, 4), self.path + "/file")

    def test_a_model_on_meta_has_no_weights_and_samples(self):
        with torch.device("meta"):
            model, x = nn.Linear(4, 3), torch.randn(2, 4)
        done = self.export_meta(model, x)
        self.assertEqual((done.samples, done.weights, len(done.notes)), (0, 2, 1))

    def export_meta(self, model, x):
        done = qnnrt.export(model, x, self.path)
        self.assertEqual(sorted(os.listdir(self.path)), ["graph.json", "weights.safetensors"])
        return done

    def test_a_program_of_torch(self):
        program = torch.export.export(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), (torch.randn(2, 4),))
        self.export(program)
        self.assertEqual((self.done.inputs, self.done.outputs, self.done.samples), (["input"], ["output"], 4))

    def test_an_old_torch(self):
        before = torch.__version__
        self.addCleanup(setattr, torch, "__version__", before)
        torch.__version__ = "2.6.1+cpu"
        with self.assertRaises(qnnrt.NotFoundError) as caught:
            qnnrt.export(nn.Linear(4, 3), torch.randn(2, 4), self.path)
        self.assertIn("needs PyTorch 2.7 or later, this is 2.6.1+cpu", str(caught.exception))

    def test_wrong_arguments(self):
        for model, args, path in ((3, (), self.path), (nn.Linear(4, 3), torch.randn(2, 4), None), (module(lambda self, x: 3), torch.randn(2), self.path)):
            with self.assertRaises(qnnrt.ArgumentError):
                qnnrt.export(model, args, path)
        script = torch.jit.script(nn.Linear(4, 3))
        self.refused(script, torch.randn(2, 4), "torch.jit.ScriptModule")

    def test_the_model_is_afterwards_as_before(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.cache = nn.BatchNorm1d(4), None
                self.register_buffer("count", torch.zeros(1))

            def forward(self, x):
                self.cache = torch.arange(4.0)
                self.count += 1
                return self.norm(x) + self.cache
        model = Model()
        model.norm.eval()
        self.export(model, torch.randn(3, 4))
        self.assertTrue(model.training)
        self.assertFalse(model.norm.training)
        self.assertIsNone(model.cache)
        self.assertEqual(float(model.count), 0)

    # ---- bodies, changes in place, states

    def test_blocks_have_bodies(self):
        def forward(self, x):
            with torch.no_grad():
                a = x.cos()
                with torch.enable_grad():
                    a = a * 3
            with torch.autocast("cpu", enabled=False):
                b = self.parts[0](x)
            return a + b + torch.utils.checkpoint.checkpoint(self.parts[1], x, use_reentrant=False)
        self.export(module(forward, nn.Linear(4, 4), nn.Linear(4, 4)), torch.randn(2, 4))
        self.assertEqual(sorted(self.ops()), ["add.Tensor", "add.Tensor", "cos.default", "linear.default", "linear.default", "mul.Tensor"])
        for node in self.graph["nodes"]:
            self.assertIn("test_export.py", node["source"])

    def test_autocast_is_in_the_graph(self):
        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return self.parts[0](x)
        self.export(module(forward, nn.Linear(4, 4)), torch.randn(2, 4))
        self.assertEqual(self.graph["graph_outputs"][0]["dtype"], "bfloat16")

    def test_changes_in_place_are_gone(self):
        def forward(self, x):
            y = x.clone()
            y[:, 1:3].mul_(2)
            y[0] = 1.0
            y.view(-1)[3:5] += 1
            return y
        self.export(module(forward), torch.randn(2, 4))

    def test_a_changed_input_is_a_result(self):
        self.export(module(lambda self, x: x.add_(1) * 2), torch.randn(2, 4))
        self.assertEqual([t["name"] for t in self.graph["graph_outputs"]], ["output", self.done.inputs[0] + "_out"])

    def test_states(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("total", torch.zeros(4))
                self.register_buffer("rows", torch.zeros(1, 8, 4))
                self.register_buffer("at", torch.zeros(1, dtype=torch.int64), persistent=False)
                self.scale = nn.Parameter(torch.ones(1))

            def forward(self, x):
                self.total.add_(x[0])
                self.rows.index_copy_(1, self.at, x[:1].unsqueeze(0))
                self.at = self.at + 1                          # replaced, not changed in place
                with torch.no_grad():
                    self.scale.mul_(2)
                return {"y": self.total * self.scale, "rows": self.rows.sum(1)}
        done = self.export(Model(), torch.randn(2, 4))
        self.assertEqual(sorted(done.states), ["at", "rows", "scale", "total"])
        states = {s["name"]: s for s in self.graph["states"]}
        self.assertEqual([t["name"] for t in self.graph["graph_inputs"]][0], done.inputs[0])
        self.assertEqual([t["name"] for t in self.graph["graph_outputs"]][:2], ["y", "rows"])
        total = torch.zeros(4, dtype=torch.float64)
        for i in range(4):
            x = self.samples["%d/input/%s" % (i, done.inputs[0])]
            self.assertTrue(torch.equal(self.samples["%d/input/%s" % (i, states["total"]["input"])].double(), total))
            total = total + x[0]
            self.assertTrue(torch.equal(self.samples["%d/output/%s" % (i, states["total"]["output"])], total))
            self.assertEqual(int(self.samples["%d/output/%s" % (i, states["at"]["output"])]), i + 1)
            self.assertTrue(torch.equal(self.samples["%d/output/y" % i], total * 2.0 ** (i + 1)))
        self.assertEqual(float(self.weights["total"].sum()), 0)
        self.assertNotIn(states["total"]["input"], self.graph["weight_name_mapping"])

    def test_state_that_is_no_buffer_is_refused(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.last = None

            def forward(self, x):
                self.last = x if self.last is None else self.last + x
                return self.last * 2
        self.refused(Model(), torch.randn(2, 4), "a call changes last", "buffer")

    def test_eval_mode(self):
        self.export(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)), torch.randn(2, 4))
        self.assertEqual(self.done.states, [])

    # ---- operators

    def test_no_primitives_and_no_fused_layers(self):
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.export(nn.TransformerEncoder(layer, 1), torch.randn(2, 6, 8), kwargs={"src_key_padding_mask": torch.tensor([[False] * 5 + [True]] * 2)})
        self.assertIn("scaled_dot_product_attention.default", self.ops())
        self.assertIn("layer_norm.default", self.ops())

    def test_rules_of_its_own(self):
        def forward(self, x):
            row = x.sort(1)[0]
            return (torch.std_mean(x), x.unfold(1, 3, 2), x.diagonal(1), x.as_strided((2, 3), (2, 1), 1), torch.searchsorted(row, x), x.median(1),
                    x.log1p(), x.sinh(), x.fmod(0.3), x.clamp(torch.tensor(-1.0), torch.tensor(1.0)), x.kthvalue(2, 1), torch.cdist(x, x),
                    torch.einsum("ij,kj->ik", x, x), x.bool().any((0, 1)), F.pixel_unshuffle(x.view(1, 1, 2, 4), 2), x.fmod(x + 3))
        self.export(module(forward), torch.rand(2, 4) + 0.1)
        from qnnrt._operators import OPERATORS
        self.assertEqual([op for op in self.ops() if op not in OPERATORS], [])

    def test_constants_are_folded_where_qnnrt_could_not(self):
        self.export(module(lambda self, x: x + torch.tril_indices(4, 4)[0].float()[:4] + torch.linalg.inv(self.parts[0].weight).sum(), nn.Linear(4, 4)),
                    torch.randn(2, 4))
        self.assertNotIn("linalg_inv.default", self.ops())

    def test_a_number_before_a_tensor(self):
        self.export(module(lambda self, x: (torch.sub(1, x), torch.div(1, x), 2 ** x)), torch.rand(2, 4) + 1)
        for node in self.graph["nodes"]:
            self.assertEqual("self" in node["attrs"], node["op_type"] == "aten.pow.Scalar")

    def test_recurrent_layers(self):
        for layer in (nn.LSTM(4, 5, batch_first=True, bidirectional=True), nn.GRU(4, 5)):
            self.export(layer, torch.randn(2, 3, 4), samples=2)

    def test_weight_norm(self):
        self.export(nn.utils.weight_norm(nn.Conv1d(2, 3, 3)), torch.randn(1, 2, 5))
        self.assertIn("weight_v", self.weights)

    def test_complex_tensors_are_real_ones(self):
        x, z = torch.randn(2, 3, 8), torch.randn(2, 3, 8, dtype=torch.complex64)
        window, signal = torch.hann_window(32), torch.randn(2, 200)
        spectrum = torch.stft(signal, 32, 10, window=window, return_complex=True)
        for function, args in (
                (lambda self, a, b: (a * b + 2 * a - b / (a + 3) + 1j * a, (a * (1 + 2j)).conj() - b.real, a @ b.mT, a.abs(), a == b), (z, z.flip(0))),
                (lambda self, a: (torch.fft.rfft2(a, norm="ortho"), torch.fft.ifftn(a, s=(4, 5), dim=(0, 2)), torch.fft.hfft(a.mT)), (x,)),
                (lambda self, a: (a.mT[..., 1:].reshape(2, -1), torch.cat([a, a], -1), a.sum(), a.mean((0, 1)), a.flip(-1), a.roll(3), *a.split(3, -1),
                                  a[:, [0, 2]], F.pad(a, (1, 2)), a[:1].squeeze(), torch.where(a.real > 0, a, a * 2), a.repeat(1, 2, 1)), (z,)),
                (lambda self, a, b: (torch.polar(a.abs(), b), torch.complex(a, b).exp(), torch.complex(a, b) ** 3), (x, x.flip(0))),
                (lambda self, a: (torch.stft(a, 32, 8, window=window, return_complex=True),
                                  torch.stft(a, 32, 10, 20, window[:20], False, normalized=True, onesided=False, return_complex=True)), (signal,)),
                (lambda self, a: (torch.istft(a, 32, 10, window=window, length=205), torch.istft(a, 32, 10, window=window * 0 + 1, center=False)),
                 (spectrum,))):
            self.export(module(function), args)
            self.assertLess(self.done.error, 1e-6)
            self.assertFalse([t for n in self.graph["nodes"] for t in n["outputs"] if "complex" in t["dtype"]])
        self.export(module(lambda self, a: (a * 2, torch.view_as_real(a), a.real)), (z,))
        self.assertEqual(self.graph["complex"], ["args_0", "output_0"])
        self.assertEqual([t["shape"] for t in self.graph["graph_inputs"] + self.graph["graph_outputs"]], [[2, 3, 8, 2]] * 3 + [[2, 3, 8]])
        self.assertIn("args_0, output_0", self.done.notes[-1])
        with self.assertRaisesRegex(qnnrt.UnsupportedError, "prod.dim_int of complex tensors is not known\n  at test_export.py"):
            self.export(module(lambda self, a: a.prod(-1)), (z,))

    def test_absent_tensors_are_told(self):
        x, i = torch.randn(4, 5, 6), torch.tensor([0, 2])
        self.export(module(lambda self, x, i: (x[:, i], F.instance_norm(x, running_mean=torch.zeros(5), running_var=torch.ones(5), use_input_stats=False))), (x, i))
        node = next(n for n in self.graph["nodes"] if n["op_type"] == "aten.index.Tensor")
        self.assertEqual(node["attrs"]["_tensor_list_none_masks"], [[True, False]])

    def test_infinities_are_in_the_file(self):
        self.export(module(lambda self, x: x.masked_fill(x > 0, float("-inf"))), torch.randn(2, 4))
        node = next(n for n in self.graph["nodes"] if "masked_fill" in n["op_type"])
        self.assertEqual(node["attrs"]["value"], {"float": "000000000000f0ff"})

    # ---- quantized models

    def quantized(self):
        """A convolution as PT2E leaves it: int8 weights with a scale of each channel, tensors rounded to uint8."""
        import torch.ao.quantization.fx._decomposed     # pylint: disable=unused-import
        ops = torch.ops.quantized_decomposed

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("codes", torch.randint(-127, 128, (4, 3, 3, 3), dtype=torch.int8))
                self.register_buffer("scales", torch.rand(4) * 0.0005 + 0.0005)
                self.register_buffer("zeros", torch.zeros(4, dtype=torch.int64))

            def forward(self, x):
                def rounded(y, scale, zero):
                    y = ops.quantize_per_tensor(y, scale, zero, 0, 255, torch.uint8)
                    return ops.dequantize_per_tensor(y, scale, zero, 0, 255, torch.uint8)
                weight = ops.dequantize_per_channel(self.codes, self.scales, self.zeros, 0, -127, 127, torch.int8)
                return rounded(torch.relu(rounded(F.conv2d(rounded(x, 0.03, 120), weight), 0.01, 130)), 0.01, 0)
        return Model(), (torch.randn(1, 3, 6, 6),)

    def test_quantized_nodes(self):
        model, args = self.quantized()
        self.export(model, args)
        self.assertEqual(self.ops().count("round.default"), 3)
        self.assertEqual([(w["name"], w["dtype"]) for w in self.graph["weights"]], [("constant.dequantize_per_channel", "float32")])
        self.assertEqual(self.done.error, 0)
        self.export(torch.export.export(model, args))
        self.export(module(lambda self, x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127)), torch.randn(2, 4))
        self.assertIn("round.default", self.ops())
        ops = torch.ops.quantized_decomposed
        self.export(module(lambda self, x: ops.dequantize_per_tensor(ops.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)[:1], 0.1, 3, -128, 127, torch.int8)),
                    torch.randn(2, 4))

    def test_quantized_encodings(self):
        model, args = self.quantized()
        self.export(model, args, encodings=True)
        self.assertEqual(self.ops(), ["conv2d.default", "relu.default"])
        rows = {row["name"]: row for row in self.graph["activation_encodings"]}
        self.assertEqual([(rows[n]["scale"], rows[n]["offset"], rows[n]["bw"]) for n in (self.done.inputs[0], "conv2d", "output")],
                         [([0.03], [-120], 8), ([0.01], [-130], 8), ([0.01], [0], 8)])

    @unittest.skipUnless(os.access(os.path.join(BUILD, "qnnrt-run"), os.X_OK), "qnnrt-run is not built")
    def test_quantized_compile(self):
        os.environ.setdefault("QNNRT_PROGRAMS", BUILD)
        model, args = self.quantized()
        self.export(model, args)
        said = qnnrt.compile(self.path, self.path + "-ref", backends="cpu,host", backend_so="cpu=" + os.path.join(BUILD, REF), verify=4)
        self.assertIn("torch's results", said)
        library = os.path.join(BUILD, "qnn", "2.51", "onnxruntime_qnn", "libQnnHtp.so")
        if os.path.exists(library):
            self.export(model, args, encodings=True)
            said = qnnrt.compile(self.path, self.path + "-htp", backend_so=library, weight_bits=8, encodings=os.path.join(self.path, "graph.json"),
                                 calibrate=self.path, verify=4)
            self.assertIn("encodings of 3 tensors", said)
            self.assertLess(float(said.split(", relative ")[1].split(",")[0]), 0.03)

    def test_an_exported_model_has_no_modes(self):
        program = torch.export.export(nn.Linear(4, 3), (torch.randn(2, 4),)).module()

        def refuse(mode=True):
            raise NotImplementedError("eval() is not supported for exported models")
        program.eval = program.train = refuse
        self.export(program, torch.randn(2, 4))

    # ---- refused by name

    def test_control_flow(self):
        def branch(self, x):
            if x.sum() > 0:
                return x + 1
            return x - 1
        error = self.refused(module(branch), torch.randn(2, 4), "test_export.py", "if x.sum() > 0:")
        self.assertIn("torch.where", error.hint)
        self.refused(module(lambda self, x: torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))), torch.randn(2, 4), "torch.cond", "test_export.py")

    def test_sizes_that_depend_on_data(self):
        self.refused(module(lambda self, x: x.nonzero()), torch.randn(2, 4), "aten.nonzero.default", "test_export.py")
        self.refused(module(lambda self, x: x[x > 0]), torch.randn(2, 4), "test_export.py")
        self.refused(module(lambda self, x: x * x.max().item()), torch.randn(2, 4), ".item()", "test_export.py")

    def test_conditions_on_constants(self):
        class Model(nn.Module):                              # transformers' Encodec: sizes come from buffers
            def __init__(self):
                super().__init__()
                self.register_buffer("stride", torch.tensor(2), persistent=False)
                self.register_buffer("count", torch.tensor(0))

            def forward(self, x):
                extra = torch.ceil((x.shape[-1] - 1) / self.stride).to(torch.int64) * self.stride + 2 - x.shape[-1]
                mask = torch.ones(4, dtype=torch.bool)
                mask[2] = False
                if extra > 0:
                    x = F.pad(x, (0, extra))
                for i in torch.arange(2):
                    x = x + int(i)
                return x[..., : extra + 3] * 2, x[:, mask.nonzero()[:, 0]], x[:, :4][:, mask], torch.zeros_like(x)[mask.sum() - 2]
        self.export(Model(), torch.randn(2, 5))
        self.assertEqual([t["shape"] for t in self.graph["graph_outputs"]], [[2, 4], [2, 3], [2, 3], [6]])

    def test_conditions_in_the_ranges_of_inputs(self):
        def forward(self, x, mask):                          # transformers' Longformer
            wide = (1.0 - mask[:, None, :].float()) * torch.finfo(torch.float32).min
            wide[(mask == 2)[:, None, :]] = 5.0
            if (wide.flatten() > 0).any().item():
                raise ValueError("global attention")
            return x + wide
        args = (torch.randn(1, 3, 4), torch.tensor([[1, 1, 1, 0]]))
        error = self.refused(module(forward), args, "Could not guard", "test_export.py")
        self.assertIn("ranges={'args_1': (0, 1)}", error.hint)
        self.export(module(forward), args, ranges={"args_1": (0, 1)})
        error = self.refused(module(lambda self, x, n: x[:, :int(n.max())]), (torch.randn(2, 4), torch.tensor([3])), "test_export.py")
        self.assertIn("ranges={'args_1': (3, 3)}", error.hint)

    def test_conditions_on_inputs_that_mix(self):
        def outer(self, x, mask):                            # no element depends on one element of the mask alone
            return x * 2 if (mask[:, None] != mask[None, :]).any() else x
        self.refused(module(outer), (torch.randn(3), torch.tensor([1, 0, 1])), "test_export.py", ranges={"args_1": (0, 1)})

    def test_a_state_decides_nothing(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

            def forward(self, x):
                first = self.calls == 0
                self.calls += 1
                return x * 2 if first else x
        self.refused(Model(), torch.randn(3), "test_export.py")

    def test_strides_of_memory(self):
        def forward(self, x):                                # of what is not contiguous: transformers' Longformer
            y = x.transpose(0, 1)
            return y.as_strided((2, 3), (1, 4), 1), y.transpose(0, 1).as_strided((3,), (2,))
        self.export(module(forward), torch.randn(3, 4))

    def test_random_numbers(self):
        self.refused(module(lambda self, x: x + torch.randn_like(x)), torch.randn(2, 4), "aten.randn_like.default makes random numbers", "test_export.py")
        self.refused(module(lambda self, x: F.dropout(x, 0.5, True)), torch.randn(2, 4), "aten.dropout.default makes random numbers")

    def test_what_torch_cannot_trace(self):
        self.refused(module(lambda self, x: torch.from_numpy(x.numpy() * 2)), torch.randn(2, 4), "torch.export cannot trace", "test_export.py")

    def test_a_value_that_decides(self):
        # The trace takes one way, the samples another.
        class Model(nn.Module):
            def forward(self, x):
                return x + 1 if torch.compiler.is_exporting() else x - 1
        self.refused(Model(), torch.randn(2, 4), "the exported graph is not the model", "output \"output\" of sample")

    # ---- the command, and what follows

    def test_the_command(self):
        from qnnrt.__main__ import main
        out = io.StringIO()
        sys.modules["test_export_factory"] = sys.modules[__name__]
        self.addCleanup(sys.modules.pop, "test_export_factory")
        with contextlib.redirect_stdout(out):
            self.assertEqual(main(["export", "test_export_factory:factory", self.path, "--samples", "2", "--inner"]), 0)
        self.assertIn("2 nodes, 2 weights, 2 samples in float64", out.getvalue())
        for arguments, status in ((["export", "no_such_module:f", self.path], 1), (["export", "test_export_factory:read", self.path], None)):
            with contextlib.redirect_stderr(io.StringIO()):
                if status is not None:
                    self.assertEqual(main(arguments), status)

    @unittest.skipUnless(os.access(os.path.join(BUILD, "qnnrt-run"), os.X_OK), "qnnrt-run is not built")
    def test_compile_and_verify(self):
        class Rope(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("speed", 3.0 / torch.arange(1.0, 5.0), persistent=False)
                self.inner = nn.Linear(8, 8)

            def forward(self, x, positions):
                with torch.no_grad():
                    angles = -0.5 * positions[..., None] * self.speed
                    cos, sin = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()
                x = self.inner(x)
                return {"y": x * cos + torch.cat([-x[..., 4:], x[..., :4]], -1) * sin}
        self.export(Rope(), (torch.randn(1, 6, 8), torch.arange(6)[None]))
        os.environ.setdefault("QNNRT_PROGRAMS", BUILD)
        said = qnnrt.compile(self.path, self.path + "-compiled", backends="cpu,host", backend_so="cpu=" + os.path.join(BUILD, REF), verify=4)
        self.assertIn("torch's results", said)


if __name__ == "__main__":
    done = unittest.main(exit=False).result
    bad, skipped = len(done.failures) + len(done.errors), len(done.skipped)
    print("%d passed, %d failed%s" % (done.testsRun - bad - skipped, bad, ", %d skipped" % skipped if skipped else ""))
    sys.exit(1 if bad else 0)
