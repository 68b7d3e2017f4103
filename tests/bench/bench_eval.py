"""How fast the host computes operators, beside torch on the CPU with one thread: make bench-eval.

    bench_eval.py LIBQNNRT [NAME ...]

Each case is exported with qnnrt.export(), and runs in this process in turn with torch, float32, weights in memory. Times
are those of the processor, so that other programs disturb little. least: ratio of the shortest runs; middle: median of
the ratios of neighbours. BAR=5 makes the exit status 1 if a least ratio is above it."""
import ctypes
import json
import os
import re
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
ROUNDS, SLICE = 7, 0.03                     # rounds of both, and seconds that one has in a round at least


def cases():
    """Yield name, module and inputs."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Call(nn.Module):
        def __init__(self, function, part=None):
            super().__init__()
            self.function, self.part = function, part

        def forward(self, *args):
            return self.function(*args) if self.part is None else self.function(self.part, *args)
    r = torch.randn
    first = lambda part, x: part(x)[0]                                  # noqa: E731
    grid = lambda *shape: torch.rand(*shape) * 2.2 - 1.1                # noqa: E731
    yield "lstm 256, 50 steps, 2 layers", Call(first, nn.LSTM(256, 256, 2, batch_first=True)), (r(1, 50, 256),)
    yield "lstm 128, 20 steps, 8 rows, both ways", Call(first, nn.LSTM(128, 128, batch_first=True, bidirectional=True)), (r(8, 20, 128),)
    yield "gru 256, 50 steps", Call(first, nn.GRU(256, 256, batch_first=True)), (r(1, 50, 256),)
    yield "grid_sample bilinear 32x64x64", Call(lambda x, g: F.grid_sample(x, g, align_corners=False)), (r(1, 32, 64, 64), grid(1, 64, 64, 2))
    yield "grid_sample bicubic 16x48x48", Call(lambda x, g: F.grid_sample(x, g, mode="bicubic", align_corners=False)), (r(1, 16, 48, 48), grid(1, 48, 48, 2))
    yield "grid_sample 3d 8x16x16x16", Call(lambda x, g: F.grid_sample(x, g, align_corners=True)), (r(1, 8, 16, 16, 16), grid(1, 16, 16, 16, 3))
    yield "einsum bhqd,bhkd->bhqk", Call(lambda a, b: torch.einsum("bhqd,bhkd->bhqk", a, b)), (r(1, 8, 128, 64), r(1, 8, 128, 64))
    yield "einsum bixy,ioxy->boxy", Call(lambda a, b: torch.einsum("bixy,ioxy->boxy", a, b)), (r(4, 32, 16, 16), r(32, 32, 16, 16))
    yield "einsum btd,bte->btde", Call(lambda a, b: torch.einsum("btd,bte->btde", a, b)), (r(2, 64, 64), r(2, 64, 64))
    yield "conv3d 16->32, 3x3x3, 8x28x28", nn.Conv3d(16, 32, 3, padding=1), (r(1, 16, 8, 28, 28),)
    yield "conv3d 3->32, 3x7x7 by 2, 8x56x56", nn.Conv3d(3, 32, (3, 7, 7), (1, 2, 2), (1, 3, 3)), (r(1, 3, 8, 56, 56),)
    yield "rfft 1024, 64 rows", Call(lambda x: torch.view_as_real(torch.fft.rfft(x))), (r(64, 1024),)
    yield "rfft 1000, 64 rows", Call(lambda x: torch.view_as_real(torch.fft.rfft(x))), (r(64, 1000),)
    yield "rfft 997, 64 rows", Call(lambda x: torch.view_as_real(torch.fft.rfft(x))), (r(64, 997),)
    yield "fft2 and back 64x64, 8 images", Call(lambda x: torch.fft.irfft2(torch.fft.rfft2(x), s=(64, 64))), (r(8, 64, 64),)
    window = torch.hann_window(400)
    yield "stft 400 by 160, 1 s of 16 kHz", Call(lambda x: torch.stft(x, 400, 160, window=window, return_complex=True).abs()), (r(1, 16000),)
    yield "conv2d 64->64, 3x3, 56x56", nn.Conv2d(64, 64, 3, padding=1), (r(1, 64, 56, 56),)
    yield "linear 768->3072, 128 rows", nn.Linear(768, 3072), (r(128, 768),)


class Graph:
    """A graph on the host. Weights are inputs here, so that nothing is read from files."""

    def __init__(self, library, folder):
        import numpy
        with open(folder + "/graph.json", encoding="utf-8") as file:
            graph = json.load(file)
        with open(folder + "/weights.safetensors", "rb") as file:
            head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            data = file.read()
        types = {"F32": "f4", "I64": "i8", "BOOL": "?", "I32": "i4", "F64": "f8", "U8": "u1"}
        names, self.inputs = {t["name"] for t in graph["graph_inputs"]}, []
        shapes = {t["name"]: t for n in graph["nodes"] for t in n["inputs"]}
        for name, key in graph["weight_name_mapping"].items():
            if name in shapes and name not in names:
                graph["graph_inputs"].append({k: shapes[name][k] for k in ("name", "shape", "dtype")})
                row = head[key]
                self.inputs.append(numpy.frombuffer(data[slice(*row["data_offsets"])], types[row["dtype"]]).copy())
        graph["weights"], graph["weight_name_mapping"] = [], {}
        text = json.dumps(graph).encode()
        self.library, self.ir, self.error = library, ctypes.c_void_p(), ctypes.create_string_buffer(1 << 14)
        self.call("qnnrt_ir_read", text, ctypes.c_size_t(len(text)), None, ctypes.byref(self.ir))
        self.call("qnnrt_ir_check", self.ir, None, None)
        sizes = {"float32": 4, "int64": 8, "bool": 1}
        self.outputs = [ctypes.create_string_buffer(sizes[t["dtype"]] * int(numpy.prod(t["shape"]))) for t in graph["graph_outputs"]]

    def call(self, name, *words):
        if getattr(self.library, name)(*words, self.error) != 0:
            raise ValueError("%s: %s" % (name, b"".join(re.findall(rb"[ -~\n]{8,}", self.error.raw)[:1]).decode()))

    def bind(self, args):
        self.arrays = [a.contiguous().numpy() for a in args] + self.inputs
        pointers = [a.ctypes.data for a in self.arrays]
        self.into = (ctypes.c_void_p * len(pointers))(*pointers)
        self.out = (ctypes.c_void_p * len(self.outputs))(*[ctypes.addressof(o) for o in self.outputs])

    def run(self):
        self.call("qnnrt_ir_run", self.ir, None, self.into, self.out)


def timed(function, seconds):
    """Return the seconds of one call, from as many calls as fill the time."""
    count, begin = 0, time.thread_time()
    while True:
        function()
        count += 1
        spent = time.thread_time() - begin
        if spent >= seconds:
            return spent / count


def main():
    import numpy
    import qnnrt
    import torch
    torch.set_num_threads(1)
    library, wanted, bar, bad = ctypes.CDLL(os.path.abspath(sys.argv[1])), sys.argv[2:], float(os.environ.get("BAR", "inf")), 0
    print("%-40s %10s %10s %7s %7s %9s" % ("", "torch ms", "host ms", "least", "middle", "apart"))
    for name, module, args in cases():
        if wanted and not any(w in name for w in wanted):
            continue
        torch.manual_seed(0)
        module = module.eval()
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            try:
                qnnrt.export(module, args, folder + "/case", samples=0)
                graph = Graph(library, folder + "/case")
                graph.bind(args)
                graph.run()
            except (qnnrt.Error, ValueError) as error:
                print("%-40s %s" % (name, " ".join(str(error).split())[:200]))
                bad += bar < float("inf")
                continue
            want = module(*args).numpy()
            apart = float(numpy.abs(numpy.frombuffer(graph.outputs[0], "<f4").reshape(want.shape) - want).max() / max(1e-30, numpy.abs(want).max()))
            ours, theirs = [], []
            for _ in range(ROUNDS):
                theirs.append(timed(lambda: module(*args), SLICE))
                ours.append(timed(graph.run, SLICE))
        least = min(ours) / min(theirs)
        middle = statistics.median(a / b for a, b in zip(ours, theirs))
        bad += least > bar or apart > 1e-4
        print("%-40s %10.3f %10.3f %7.2f %7.2f %9.1e" % (name, 1e3 * min(theirs), 1e3 * min(ours), least, middle, apart), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
