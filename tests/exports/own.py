"""Modules of our own for the list of models (zoo.py): small, and each with something that libraries' models lack.

ROWS: name, class, inputs as zoo.py describes them, options."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class SmallCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.c2, self.b2 = nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32)
        self.dw, self.fc = nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.b1(self.c1(x))), 2)
        x = F.relu(self.b2(self.c2(x)))
        x = F.relu_(x + self.dw(x))
        return F.softmax(self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 2), 1)), dim=-1)


class SmallMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.scale = nn.Linear(32, 64), nn.Linear(64, 16, bias=False), nn.Parameter(torch.rand(64))

    def forward(self, x):
        x = torch.tanh(self.a(x)) * self.scale - 0.25
        return F.log_softmax(self.b(x.clamp(-0.9, 0.9)), dim=-1), x.sum(dim=-1)


class SmallUnet(nn.Module):
    """Both ways up, and the way back in."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.n1, self.n2 = nn.GroupNorm(4, 16), nn.GroupNorm(4, 32)
        self.up, self.mid = nn.ConvTranspose2d(32, 16, 2, stride=2), nn.Conv2d(32, 16, 3, padding=1)
        self.last = nn.Conv2d(16, 3, 1)

    def forward(self, x):
        a = F.leaky_relu(self.n1(self.down1(x)), 0.1)
        b = F.silu(self.n2(self.down2(a)))
        c = F.relu(self.mid(torch.cat([self.up(b), a], dim=1)))
        return torch.sigmoid(self.last(F.interpolate(c, scale_factor=2, mode="bilinear", align_corners=False)))


class SmallAudio(nn.Module):
    """Convolutions in one dimension, gates, and a mean over time."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv1d(8, 32, 5, stride=2, padding=2), nn.Conv1d(16, 32, 3, padding=1)
        self.n, self.c = nn.BatchNorm1d(32), nn.Conv1d(32, 32, 3, padding=1, groups=32)
        self.out = nn.Linear(32, 12)

    def forward(self, x):
        x, gate = self.a(x).chunk(2, dim=1)
        x = x * torch.sigmoid(gate)
        x = F.elu(self.n(self.b(x)))
        x = x + F.gelu(self.c(x), approximate="tanh")
        return self.out(x.transpose(1, 2)).mean(dim=1)


class Block(nn.Module):
    """A decoder layer as one writes it by hand: RMSNorm, rope, grouped heads, a mask, SiLU."""

    def __init__(self, width=64, heads=4, groups=2, tokens=8, vocabulary=128):
        super().__init__()
        self.heads, self.groups, self.d = heads, groups, width // heads
        self.embed = nn.Embedding(vocabulary, width)
        self.norm1, self.norm2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = nn.Linear(width, groups * self.d, bias=False), nn.Linear(width, groups * self.d, bias=False)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down, self.head = nn.Linear(2 * width, width, bias=False), nn.Linear(width, vocabulary, bias=False)
        angles = torch.outer(torch.arange(tokens).float(), 10000.0 ** (-torch.arange(0, self.d, 2).float() / self.d))
        self.register_buffer("cos", torch.cat([angles.cos()] * 2, -1), persistent=False)
        self.register_buffer("sin", torch.cat([angles.sin()] * 2, -1), persistent=False)

    def norm(self, x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight

    def turn(self, x):
        a, b = x[..., :self.d // 2], x[..., self.d // 2:]
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, ids, mask):
        x = self.embed(ids)
        n, s, w = x.shape
        h = self.norm(x, self.norm1)
        q = self.turn(self.q(h).view(n, s, self.heads, self.d).transpose(1, 2))
        k = self.turn(self.k(h).view(n, s, self.groups, self.d).transpose(1, 2))
        v = self.v(h).view(n, s, self.groups, self.d).transpose(1, 2)
        k, v = (t.repeat_interleave(self.heads // self.groups, dim=1) for t in (k, v))
        scores = F.softmax(q @ k.transpose(-1, -2) / math.sqrt(self.d) + mask, dim=-1)
        x = x + self.o((scores @ v).transpose(1, 2).reshape(n, s, w))
        h = self.norm(x, self.norm2)
        return self.head(x + self.down(F.silu(self.gate(h)) * self.up(h)))


class Recurrent(nn.Module):
    """A recurrent layer of torch, and its last states."""

    def __init__(self, cell, **options):
        super().__init__()
        self.rnn = getattr(nn, cell)(16, 24, batch_first=True, **options)

    def forward(self, x):
        y, state = self.rnn(x)
        return (y, *state) if isinstance(state, tuple) else (y, state)


class Cells(nn.Module):
    """A loop over time, written with cells."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = nn.LSTMCell(8, 16), nn.GRUCell(16, 16), nn.Linear(16, 4)

    def forward(self, x):
        h = c = g = x.new_zeros(x.shape[0], 16)
        results = []
        for t in range(x.shape[1]):
            h, c = self.a(x[:, t], (h, c))
            g = self.b(h, g)
            results.append(self.out(g))
        return torch.stack(results, 1)


class ConvLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.Conv2d(3 + 8, 32, 3, padding=1)

    def forward(self, frames):
        n, t, _, height, width = frames.shape
        h = c = frames.new_zeros(n, 8, height, width)
        for i in range(t):
            a, f, o, g = self.gates(torch.cat([frames[:, i], h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(a) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h, c


class Wavenet(nn.Module):
    """Dilated causal convolutions with weight norm."""

    def __init__(self):
        super().__init__()
        norm = torch.nn.utils.parametrizations.weight_norm
        self.first = nn.Conv1d(1, 16, 1)
        self.gates = nn.ModuleList(norm(nn.Conv1d(16, 32, 2, dilation=2 ** i)) for i in range(4))
        self.skips = nn.ModuleList(nn.Conv1d(16, 16, 1) for _ in range(4))
        self.last = nn.Conv1d(16, 4, 1)

    def forward(self, x):
        x, total = self.first(x), 0
        for i, (gate, skip) in enumerate(zip(self.gates, self.skips)):
            a, b = gate(F.pad(x, (2 ** i, 0))).chunk(2, 1)
            y = skip(torch.tanh(a) * torch.sigmoid(b))
            x, total = x + y, total + y
        return self.last(F.relu(total))


class Attention(nn.Module):
    """nn.MultiheadAttention with a padding mask, and its weights."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x, padding):
        return self.attention(x, x, x, key_padding_mask=padding)


class Encoder(nn.Module):
    def __init__(self, **options):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, **options)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.encoder(x)


class Translator(nn.Module):
    """nn.Transformer with a causal mask that it makes itself."""

    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(50, 32), nn.Linear(32, 50)
        self.model = nn.Transformer(32, 4, 1, 1, 64, batch_first=True)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.out(self.model(self.embed(source), self.embed(target), tgt_mask=mask, tgt_is_causal=True))


class Experts(nn.Module):
    """Every expert runs; the two best are weighed."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(16, 4)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)) for _ in range(4))

    def forward(self, x):
        values, places = self.router(x).topk(2, dim=-1)
        weights = torch.zeros_like(self.router(x)).scatter(-1, places, values.softmax(-1))
        return (torch.stack([e(x) for e in self.experts], -1) * weights.unsqueeze(-2)).sum(-1), places


class CachedDecoder(nn.Module):
    """A decoder that keeps its cache in buffers."""

    def __init__(self):
        super().__init__()
        self.embed, self.qkv, self.out = nn.Embedding(50, 32), nn.Linear(32, 96), nn.Linear(32, 50)
        self.register_buffer("keys", torch.zeros(1, 16, 32))
        self.register_buffer("values", torch.zeros(1, 16, 32))

    def forward(self, ids, position):
        q, k, v = self.qkv(self.embed(ids)).chunk(3, -1)
        self.keys.index_copy_(1, position, k)
        self.values.index_copy_(1, position, v)
        scores = q @ self.keys.transpose(1, 2) / 32 ** 0.5
        scores = scores.masked_fill(torch.arange(16) > position[:, None], -10000.0)
        return self.out(scores.softmax(-1) @ self.values)


class Counter(nn.Module):
    """A count and a running mean of what it saw."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x):
        y = self.a(x)
        self.count.add_(1)
        self.mean.mul_(0.9).add_(y.mean(0), alpha=0.1)
        return y - self.mean, self.count.clone()


class Stream(nn.Module):
    """A causal convolution over chunks: the end of the last chunk is kept."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 8, 5)
        self.register_buffer("past", torch.zeros(1, 4, 4))

    def forward(self, x):
        whole = torch.cat([self.past, x], -1)
        self.past.copy_(whole[..., -4:])
        return self.conv(whole).relu()


class Ring(nn.Module):
    """A buffer of the last 8 rows: written by slice assignment and roll."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(8, 4))

    def forward(self, x):
        self.rows[:] = self.rows.roll(-1, 0)
        self.rows[-1] = x
        return self.rows.mean(0), self.rows.amax(0)


class Dlrm(nn.Module):
    """Embedding bags and products of pairs."""

    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(40, 8, mode="sum") for _ in range(3))
        self.bottom, self.top = nn.Linear(6, 8), nn.Linear(8 + 6, 1)

    def forward(self, dense, sparse):
        x = F.relu(self.bottom(dense))
        parts = torch.stack([x] + [bag(sparse[:, i]) for i, bag in enumerate(self.bags)], 1)
        pairs = parts @ parts.transpose(1, 2)
        row, column = torch.tril_indices(4, 4, -1)
        return torch.sigmoid(self.top(torch.cat([x, pairs[:, row, column]], 1)))


class Dcgan(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.ConvTranspose2d(16, 32, 4), nn.BatchNorm2d(32), nn.ReLU(True), nn.ConvTranspose2d(32, 16, 4, 2, 1),
            nn.BatchNorm2d(16), nn.ReLU(True), nn.ConvTranspose2d(16, 3, 3, 2, 1, output_padding=1), nn.Tanh())

    def forward(self, z):
        return self.layers(z)


class StyleConv(nn.Module):
    """Weights that depend on the input, as a convolution in groups."""

    def __init__(self):
        super().__init__()
        self.weight, self.style = nn.Parameter(torch.randn(8, 4, 3, 3) * 0.2), nn.Linear(6, 4)

    def forward(self, x, w):
        n = x.shape[0]
        weight = self.weight * self.style(w).view(n, 1, 4, 1, 1)
        weight = weight * torch.rsqrt(weight.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        y = F.conv2d(x.reshape(1, n * 4, *x.shape[2:]), weight.view(n * 8, 4, 3, 3), padding=1, groups=n)
        return F.leaky_relu(y.view(n, 8, *x.shape[2:]), 0.2)


class Espcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.p = nn.Conv2d(3, 16, 5, padding=2), nn.Conv2d(16, 12, 3, padding=1), nn.PReLU(16)

    def forward(self, x):
        y = F.pixel_shuffle(self.b(self.p(self.a(x))), 2)
        return y + F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)


class Nerf(nn.Module):
    """Positions as sines of many frequencies."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3 + 3 * 2 * 6, 64), nn.Linear(64, 4)
        self.register_buffer("frequencies", 2.0 ** torch.arange(6))

    def forward(self, x):
        angles = (x[..., None] * self.frequencies).flatten(-2)
        y = self.b(F.relu(self.a(torch.cat([x, angles.sin(), angles.cos()], -1))))
        density = F.softplus(y[..., 3])
        through = torch.cumprod(torch.cat([torch.ones_like(density[:, :1]), torch.exp(-density * 0.1)], 1), 1)
        weights = through[:, :-1] * (1 - torch.exp(-density * 0.1))
        return (weights[..., None] * torch.sigmoid(y[..., :3])).sum(1), weights


class Siren(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(2, 32), nn.Linear(32, 32), nn.Linear(32, 3)

    def forward(self, x):
        return self.c(torch.sin(self.b(torch.sin(5 * self.a(x)))))


class GraphNet(nn.Module):
    """Messages along edges given as indices, added at their targets."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x, edges):
        for _ in range(2):
            messages = F.relu(self.a(x[edges[0]]))
            x = x + torch.zeros_like(x).index_add(0, edges[1], messages)
        return self.b(x)


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv1d(3, 32, 1), nn.Conv1d(32, 64, 1), nn.Linear(64, 5)
        self.t = nn.Linear(64, 9)

    def forward(self, x):
        turn = self.t(self.b(F.relu(self.a(x))).max(2)[0]).view(-1, 3, 3) + torch.eye(3)
        x = (x.transpose(1, 2) @ turn).transpose(1, 2)
        return self.c(self.b(F.relu(self.a(x))).amax(2))


class Fourier(nn.Module):
    """A spectral layer: modes of a transform over two dimensions are multiplied with complex weights."""

    def __init__(self):
        super().__init__()
        self.lift, self.out = nn.Conv2d(1, 8, 1), nn.Conv2d(8, 1, 1)
        self.real, self.imaginary = nn.Parameter(torch.randn(8, 8, 4, 4) / 8), nn.Parameter(torch.randn(8, 8, 4, 4) / 8)

    def forward(self, x):
        x = self.lift(x)
        modes = torch.fft.rfft2(x)
        weights = torch.complex(self.real, self.imaginary)
        kept = torch.einsum("bixy,ioxy->boxy", modes[:, :, :4, :4], weights)
        modes = F.pad(kept, (0, modes.shape[-1] - 4, 0, modes.shape[-2] - 4))
        return self.out(F.gelu(torch.fft.irfft2(modes, s=x.shape[-2:])))


class Spectrogram(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64), persistent=False)

    def forward(self, x):
        return torch.log1p(torch.stft(x, 64, 16, window=self.window, return_complex=True).abs())


class Detector(nn.Module):
    """A head with anchors: boxes and classes, and the best 10 without a threshold."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, 4, 1), nn.SiLU(), nn.Conv2d(16, 2 * 7, 3, 2, 1))
        self.register_buffer("anchors", torch.tensor([[10.0, 14.0], [23.0, 27.0]]))

    def forward(self, x):
        y = self.body(x).unflatten(1, (2, 7)).permute(0, 1, 3, 4, 2)
        height, width = y.shape[2:4]
        rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        centres = (y[..., :2].sigmoid() * 2 - 0.5 + torch.stack([columns, rows], -1)) * 8
        sizes = (y[..., 2:4].sigmoid() * 2) ** 2 * self.anchors[:, None, None]
        boxes = torch.cat([centres - sizes / 2, centres + sizes / 2], -1).flatten(1, 3)
        scores = (y[..., 4:5].sigmoid() * y[..., 5:].sigmoid()).flatten(1, 3).amax(-1)
        best, places = scores.topk(10)
        return boxes.gather(1, places[..., None].expand(-1, -1, 4)), best


class SlowScan(nn.Module):
    """A selective state space, step by step."""

    def __init__(self):
        super().__init__()
        self.project, self.step, self.out = nn.Linear(8, 8 + 2 * 4), nn.Linear(8, 8), nn.Linear(8, 8)
        self.log_a, self.conv = nn.Parameter(torch.rand(8, 4)), nn.Conv1d(8, 8, 4, padding=3, groups=8)

    def forward(self, x):
        t = x.shape[1]
        x = F.silu(self.conv(x.transpose(1, 2))[..., :t].transpose(1, 2))
        gate, b, c = self.project(x).split([8, 4, 4], -1)
        delta = F.softplus(self.step(x))
        state, results = x.new_zeros(x.shape[0], 8, 4), []
        for i in range(t):
            state = state * torch.exp(-delta[:, i, :, None] * self.log_a.exp()) + delta[:, i, :, None] * b[:, i, None] * x[:, i, :, None]
            results.append((state * c[:, i, None]).sum(-1))
        return self.out(torch.stack(results, 1) * F.silu(gate))


class Performer(nn.Module):
    """Linear attention with sums over the past."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        past = torch.einsum("btd,bte->btde", k, v).cumsum(1)
        return torch.einsum("btd,btde->bte", q, past) / (q * k.cumsum(1)).sum(-1, keepdim=True)


class Splines(nn.Module):
    """Piecewise polynomials by comparison with knots."""

    def __init__(self):
        super().__init__()
        self.register_buffer("knots", torch.linspace(-2, 2, 9))
        self.weights = nn.Parameter(torch.randn(6, 6, 4) * 0.3)

    def forward(self, x):
        x = x.clamp(-1.9, 1.9).unsqueeze(-1)
        bases = ((x >= self.knots[:-1]) & (x < self.knots[1:])).to(x.dtype)
        for k in (1, 2):
            left = (x - self.knots[:-k - 1]) / (self.knots[k:-1] - self.knots[:-k - 1])
            right = (self.knots[k + 1:] - x) / (self.knots[k + 1:] - self.knots[1:-k])
            bases = left * bases[..., :-1] + right * bases[..., 1:]
        return torch.einsum("bik,iok->bo", bases, self.weights.new_ones(6, 6, 6) * self.weights.mean(-1, keepdim=True))


class Stn(nn.Module):
    """A picture turned by what the network sees in it."""

    def __init__(self):
        super().__init__()
        self.where, self.conv = nn.Linear(3 * 16, 6), nn.Conv2d(3, 4, 3)

    def forward(self, x):
        theta = self.where(F.adaptive_avg_pool2d(x, 4).flatten(1)).view(-1, 2, 3) * 0.1 + torch.eye(2, 3)
        return self.conv(F.grid_sample(x, F.affine_grid(theta, list(x.shape), align_corners=False), align_corners=False))


class ComplexRope(nn.Module):
    """Rotation by complex numbers, as in the first Llama."""

    def __init__(self):
        super().__init__()
        self.q = nn.Linear(16, 16)
        angles = torch.outer(torch.arange(8).float(), 1.0 / 100.0 ** (torch.arange(0, 8).float() / 8))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def forward(self, x):
        pairs = torch.view_as_complex(self.q(x).unflatten(-1, (8, 2)))
        return torch.view_as_real(pairs * self.turns.to(pairs.dtype)).flatten(-2)


class Sorting(nn.Module):
    """Order, counts and positions: outputs of integers."""

    def forward(self, x):
        values, places = x.sort(dim=-1, descending=True)
        return values.cumsum(-1), places, (x > 0).sum(-1), x.argmax(-1), torch.searchsorted(x.sort(-1)[0], values)


class Integers(nn.Module):
    """Hashes of tokens: products beyond 32 bits."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(64, 8)

    def forward(self, ids):
        hashed = (ids * 2654435761 + 12345) % 1000003 % 64
        return self.table(hashed), ids * 1000000007, ids // 3, ids.float().mean()


class Padded(nn.Module):
    """Rows whose mask is -inf everywhere, in attention and in softmax."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, x, mask):
        q, k, v = self.qkv(x).unflatten(-1, (3, 2, 8)).permute(2, 0, 3, 1, 4)
        bias = torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))[:, None]
        return F.scaled_dot_product_attention(q, k, v, bias), F.scaled_dot_product_attention(q, k, v, mask[:, None])


class Reductions(nn.Module):
    def forward(self, x):
        return (x.std(-1), x.var((0, 2)), x.norm(dim=1), x.logsumexp(-1), x.median(-1)[0], x.prod(-1), x.amin((1, 2)),
                torch.aminmax(x, dim=-1)[1], x.mean(), torch.linalg.vector_norm(x, 1, 2))


class Elementary(nn.Module):
    """Functions of one value that models use now and then."""

    def forward(self, x):
        a = x.abs() + 0.1
        return (torch.erf(x), torch.expm1(x), torch.log2(a), torch.atan2(x, a), torch.floor(x * 3), torch.round(x * 3), x.sign(),
                torch.lerp(x, a, 0.3), F.mish(x), F.softsign(x), F.hardshrink(x), F.selu(x), torch.fmod(x, 0.7), torch.remainder(x, 0.7),
                torch.where(x.isnan(), a, x), torch.asinh(x), torch.frac(x), torch.logit(torch.sigmoid(x)))


class Shapes(nn.Module):
    """Ways to move values."""

    def forward(self, x):
        windows = x.unfold(-1, 4, 2)
        return (windows.mean(-1), x.flip(1), x.roll((1, -2), (1, 2)), x.repeat(1, 2, 1), torch.tril(x), x.diagonal(dim1=1, dim2=2), x.movedim(0, -1),
                F.unfold(x[:, None], 3, padding=1), F.pad(x, (2, 2), mode="reflect"), F.pad(x, (1, 1), mode="circular"), torch.rot90(x, 1, (1, 2)),
                F.one_hot((x > 0).long(), 2), x.tile(2), torch.stack(x.tensor_split(3, -1)[:2]))


class Vae(nn.Module):
    """Two outputs and their divergence; the noise is an input."""

    def __init__(self):
        super().__init__()
        self.a, self.mean, self.log = nn.Linear(32, 32), nn.Linear(32, 8), nn.Linear(32, 8)
        self.b = nn.Linear(8, 32)

    def forward(self, x, noise):
        h = F.relu(self.a(x))
        mean, log = self.mean(h), self.log(h).clamp(-4, 4)
        return self.b(mean + noise * torch.exp(log / 2)), -0.5 * (1 + log - mean ** 2 - log.exp()).sum(-1)


class Crf(nn.Module):
    """Viterbi's best path: maxima and their places over time."""

    def __init__(self):
        super().__init__()
        self.moves = nn.Parameter(torch.randn(5, 5))

    def forward(self, x):
        score, back = x[:, 0], []
        for t in range(1, x.shape[1]):
            score, place = (score[:, :, None] + self.moves).max(1)
            score = score + x[:, t]
            back.append(place)
        tag = score.argmax(-1)
        path = [tag]
        for place in reversed(back):
            tag = place.gather(1, tag[:, None])[:, 0]
            path.append(tag)
        return torch.stack(path[::-1], 1), score.amax(-1)


class Quantized(nn.Module):
    """uint8 in, rounding as quantization does it, uint8 out."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        y = self.conv(x.float() / 255)
        steps = torch.clamp(torch.round(y / 0.05) + 128, 0, 255)
        return steps.to(torch.uint8), (steps - 128) * 0.05


class Dictionary(nn.Module):
    """Inputs and outputs in dicts, one of them unused."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)

    def forward(self, batch, scale):
        return {"sum": self.a(batch["left"]) + batch["right"] * scale, "same": batch["right"], "fixed": torch.arange(4)}


class Video(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv3d(3, 8, 3, padding=1), nn.Conv3d(8, 8, (3, 1, 1), stride=2)
        self.n, self.c = nn.BatchNorm3d(8), nn.Linear(8, 4)

    def forward(self, x):
        x = F.max_pool3d(F.relu(self.n(self.a(x))), (1, 2, 2))
        return self.c(F.adaptive_avg_pool3d(self.b(x), 1).flatten(1))


class Deformable(nn.Module):
    def __init__(self):
        super().__init__()
        import torchvision
        self.offsets, self.conv = nn.Conv2d(4, 18, 3, padding=1), torchvision.ops.DeformConv2d(4, 8, 3, padding=1)

    def forward(self, x):
        return self.conv(x, self.offsets(x))


class Regions(nn.Module):
    def forward(self, x, boxes):
        import torchvision
        return torchvision.ops.roi_align(x, [boxes], (3, 3), 0.25, 2)


def ids(*shape, count=200):
    return ("ids", shape, count)


def normal(*shape, scale=1.0):
    return ("normal", shape, scale)


SEQUENCE = {"x": normal(2, 6, 16)}
ROWS = [
    ("cnn", "SmallCnn", {"x": ("image", (1, 3, 16, 16))}, {}), ("mlp", "SmallMlp", {"x": normal(4, 32)}, {}),
    ("unet", "SmallUnet", {"x": ("image", (1, 3, 32, 32))}, {}), ("audio", "SmallAudio", {"x": normal(1, 8, 64)}, {}),
    ("block", "Block", {"ids": ids(1, 8, count=128), "mask": ("causal", 8, 8)}, {}),
    ("lstm", "Recurrent", SEQUENCE, {"cell": "LSTM", "num_layers": 2}), ("gru", "Recurrent", SEQUENCE, {"cell": "GRU"}),
    ("bilstm", "Recurrent", SEQUENCE, {"cell": "LSTM", "bidirectional": True}), ("rnn", "Recurrent", SEQUENCE, {"cell": "RNN"}),
    ("cells", "Cells", {"x": normal(2, 5, 8)}, {}), ("conv_lstm", "ConvLstm", {"frames": normal(1, 3, 3, 8, 8)}, {}),
    ("wavenet", "Wavenet", {"x": normal(1, 1, 64)}, {}),
    ("attention", "Attention", {"x": normal(2, 6, 32), "padding": ("falses", (2, 6), 4)}, {}),
    ("encoder", "Encoder", {"x": normal(2, 6, 32)}, {}), ("encoder_first", "Encoder", {"x": normal(2, 6, 32)}, {"norm_first": True, "activation": "gelu"}),
    ("translator", "Translator", {"source": ids(1, 7, count=50), "target": ids(1, 5, count=50)}, {}),
    ("experts", "Experts", {"x": normal(5, 16)}, {}),
    ("cached_decoder", "CachedDecoder", {"ids": ids(1, 2, count=50), "position": ("int", [3, 4])}, {}),
    ("counter", "Counter", {"x": normal(4, 8)}, {}), ("stream", "Stream", {"x": normal(1, 4, 12)}, {}), ("ring", "Ring", {"x": normal(4)}, {}),
    ("dlrm", "Dlrm", {"dense": normal(4, 6), "sparse": ids(4, 3, 2, count=40)}, {}), ("dcgan", "Dcgan", {"z": normal(1, 16, 1, 1)}, {}),
    ("style_conv", "StyleConv", {"x": normal(2, 4, 8, 8), "w": normal(2, 6)}, {}), ("espcn", "Espcn", {"x": ("image", (1, 3, 12, 12))}, {}),
    ("nerf", "Nerf", {"x": normal(4, 8, 3)}, {}), ("siren", "Siren", {"x": normal(16, 2)}, {}),
    ("graph_net", "GraphNet", {"x": normal(10, 16), "edges": ids(2, 20, count=10)}, {}), ("point_net", "PointNet", {"x": normal(2, 3, 40)}, {}),
    ("fourier", "Fourier", {"x": normal(1, 1, 12, 12)}, {}), ("spectrogram", "Spectrogram", {"x": normal(1, 400)}, {}),
    ("detector", "Detector", {"x": ("image", (1, 3, 64, 64))}, {}), ("scan", "SlowScan", {"x": normal(1, 6, 8)}, {}),
    ("performer", "Performer", {"x": normal(1, 8, 16)}, {}), ("splines", "Splines", {"x": normal(4, 6)}, {}), ("stn", "Stn", {"x": ("image", (1, 3, 16, 16))}, {}),
    ("complex_rope", "ComplexRope", {"x": normal(1, 8, 16)}, {}), ("sorting", "Sorting", {"x": normal(3, 7)}, {}),
    ("integers", "Integers", {"ids": ids(1, 8, count=100000)}, {}), ("padded", "Padded", {"x": normal(1, 4, 16), "mask": ("rows", (1, 4, 4), 3)}, {}),
    ("reductions", "Reductions", {"x": normal(3, 4, 5)}, {}), ("elementary", "Elementary", {"x": normal(3, 8)}, {}), ("shapes", "Shapes", {"x": normal(1, 6, 6)}, {}),
    ("vae", "Vae", {"x": normal(2, 32), "noise": normal(2, 8)}, {}), ("crf", "Crf", {"x": normal(2, 6, 5)}, {}),
    ("quantized", "Quantized", {"x": ("bytes", (1, 3, 8, 8))}, {}),
    ("dictionary", "Dictionary", {"batch": ("dict", {"left": normal(2, 8), "right": normal(2, 8)}), "scale": normal(1)}, {}),
    ("video", "Video", {"x": normal(1, 3, 6, 8, 8)}, {}), ("deformable", "Deformable", {"x": normal(1, 4, 8, 8)}, {}),
    ("regions", "Regions", {"x": normal(1, 4, 16, 16), "boxes": ("float", [[0.0, 0.0, 40.0, 40.0], [8.0, 12.0, 60.0, 50.0]])}, {}),
]
