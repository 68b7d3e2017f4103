"""Language models: text in, text out."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from . import _abi as abi
from . import _errors as errors
from ._core import Guard, Object, Owner, call, failure, lib
from ._model import Model


class ByteTokenizer:
    """Tokens are the bytes of UTF-8: for models with a vocabulary of 256."""

    def encode(self, text: str) -> List[int]:
        """Text to tokens."""
        return list(text.encode("utf-8"))

    def decode(self, tokens: Sequence[int]) -> str:
        """Tokens to text; what is not valid becomes U+FFFD."""
        return bytes(tokens).decode("utf-8", "replace")


@dataclass(frozen=True)
class LlmInfo:
    """The facts about a language model."""
    vocabulary: int
    context: int
    layers: int
    ar: int
    layout: str
    eos: Tuple[int, ...]
    bos: int


class LLM(Object):
    """A language model in a folder, with one cache.

        with qnnrt.LLM("model_dir", backend="libQnnHtp.so", tokenizer=tokenizer) as llm:
            for piece in llm.generate("Once upon a time", max_tokens=64):
                print(piece, end="", flush=True)

    path       a folder, or a Model
    tokenizer  anything with encode(text) -> tokens (a list, or an object with .ids, as of the package tokenizers) and
               decode(tokens) -> text; without one, texts are bytes if the vocabulary is 256, else prompts are tokens
    options    as of qnnrt.open()
    """

    _kind = "language model"

    def __init__(self, path: Any, *, tokenizer: Any = None, eos: Optional[Sequence[int]] = None, **options: Any) -> None:
        self._own = not isinstance(path, Model)
        self._model = path if isinstance(path, Model) else Model(path, **options)
        if isinstance(path, Model) and options:
            raise errors.ArgumentError("%s is an option of a folder, and a model was given" % ", ".join(sorted(options)))
        desc = abi.qnnrt_llm_desc()
        if eos is not None:
            ends = (ctypes.c_int32 * max(1, len(eos)))(*eos)
            desc.eos, desc.eos_count = ends, len(eos)
        made = c_void_p()
        parent = self._model._handle()
        self._caught = self._model._caught
        program = self._model._info
        desc.folder = program.folder
        desc.made, desc.made_count = program.pipelines, program.pipeline_count
        desc.models, desc.model_count = program.models, program.model_count
        call(lib.qnnrt_llm_open, None, byref(desc), byref(made), caught=self._caught)
        self._llm: Optional[Owner] = Owner(made.value, lib.qnnrt_llm_close, parent)
        info = lib.qnnrt_llm_get_info(self._llm).contents
        self._info = info
        self.info = LlmInfo(info.vocabulary, info.context, info.layers, info.ar, info.layout.decode(), tuple(info.eos[:info.eos_count]), info.bos)
        session = c_void_p()
        call(lib.qnnrt_llm_session_create, byref(c_void_p(self._llm.value)), 1, None, byref(session), caught=self._caught)
        self._owner = Owner(session.value, lib.qnnrt_llm_session_destroy, self._llm)
        self._cache = lib.qnnrt_llm_cache_get(self._owner, 0, 0)
        self._guard = Guard("language model")
        if not self._own:
            self._model._child(self)
        self.tokenizer: Any = tokenizer if tokenizer is not None else ByteTokenizer() if info.vocabulary == 256 else None
        if self._caught:
            self.close()
            self._caught.check()

    def _check(self, code: int) -> None:
        if code or self._caught:
            self._caught.check(failure(lib.qnnrt_llm_error(self._cache).contents, code) if code else None)

    def encode(self, text: str) -> List[int]:
        """Text to tokens, with the tokenizer."""
        if self.tokenizer is None:
            raise errors.ArgumentError("this model has %d tokens, and no tokenizer was given" % self.info.vocabulary,
                                       "Pass tokenizer=, or tokens instead of text.")
        tokens = self.tokenizer.encode(text)
        return [int(t) for t in getattr(tokens, "ids", tokens)]

    def clear(self) -> None:
        """Forget the text so far."""
        self._handle()
        with self._guard:
            lib.qnnrt_llm_clear(self._cache)

    @property
    def used(self) -> int:
        """Tokens in the cache."""
        self._handle()
        used: int = lib.qnnrt_llm_cache_get_info(self._cache).used
        return used

    def decode(self, tokens: Sequence[int]) -> None:
        """Compute tokens that continue the text, and keep them. Python's lock is released meanwhile."""
        self._handle()
        try:
            memory = (ctypes.c_int32 * max(1, len(tokens)))(*tokens)
        except TypeError as error:
            raise errors.ArgumentError("tokens are whole numbers: %s" % error) from None
        batch = abi.qnnrt_llm_batch(tokens=memory, count=len(tokens))
        with self._guard:
            self._check(lib.qnnrt_llm_decode(self._cache, byref(batch)))
        self._row = (len(tokens) - 1)

    def logits(self) -> Any:
        """The logits of the last token, as float32."""
        from . import _arrays as arrays
        self._handle()
        made, address, _ = arrays.empty(abi.QNNRT_DTYPE_F32, (self.info.vocabulary,))
        with self._guard:
            self._check(lib.qnnrt_llm_logits(self._cache, self._row, ctypes.cast(address, ctypes.POINTER(ctypes.c_float))))
        return made

    def generate_tokens(self, prompt: Union[str, Iterable[int]], max_tokens: int = 128, *, temperature: float = 0.0, top_k: int = 0, top_p: float = 0.0,
                        min_p: float = 0.0, repetition_penalty: float = 0.0, seed: int = 0, keep: bool = False) -> Iterator[int]:
        """Yield the tokens that follow a prompt, until the text ends, the context is full, or max_tokens.

        temperature 0 takes the most probable token. keep: the prompt continues the text so far, else it is a new one."""
        tokens = self.encode(prompt) if isinstance(prompt, str) else [int(t) for t in prompt]
        if not tokens:
            raise errors.ArgumentError("the prompt is empty", "Give at least one token.")
        owner = self._handle()
        desc = abi.qnnrt_llm_sampler_desc(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, repetition_penalty=repetition_penalty, seed=seed)
        made = c_void_p()
        call(lib.qnnrt_llm_sampler_create, self._info.logits, byref(desc), byref(made))
        sampler = Owner(made.value, lib.qnnrt_llm_sampler_destroy, owner)
        return self._tokens(sampler, tokens, max_tokens, keep)

    def _tokens(self, sampler: Owner, tokens: List[int], max_tokens: int, keep: bool) -> Iterator[int]:
        if not keep:
            self.clear()
        for number in range(max_tokens):
            if number and self.used >= self.info.context:
                return
            try:
                self.decode(tokens)
            except errors.LimitError:
                if not number:
                    raise
                return
            with self._guard:
                stored = lib.qnnrt_llm_stored_logits(self._cache, self._row)
                if not stored:
                    raise failure(lib.qnnrt_llm_error(self._cache).contents)
                token = lib.qnnrt_llm_sample(sampler, stored)
            if token < 0:
                raise errors.BackendError("all logits are NaN")
            if token in self.info.eos:
                return
            lib.qnnrt_llm_sampler_accept(sampler, token)
            yield token
            tokens = [token]

    def generate(self, prompt: Union[str, Iterable[int]], max_tokens: int = 128, **options: Any) -> Iterator[str]:
        """Yield the text that follows a prompt, piece by piece. Options as of generate_tokens()."""
        if self.tokenizer is None:
            raise errors.ArgumentError("this model has %d tokens, and no tokenizer was given" % self.info.vocabulary, "Pass tokenizer=, or use generate_tokens().")
        return self._pieces(self.generate_tokens(prompt, max_tokens, **options))

    def _pieces(self, tokens: Iterator[int]) -> Iterator[str]:
        # A character of several tokens is held back until it is whole. Decoding starts at the last whole piece but one, because
        # a tokenizer may join words differently at the beginning of a text.
        seen: List[int] = []
        begin = shown = 0
        for token in tokens:
            seen.append(token)
            before, text = self.tokenizer.decode(seen[begin:shown]), self.tokenizer.decode(seen[begin:])
            if len(text) > len(before) and not text.endswith("\ufffd"):
                yield text[len(before):]
                begin, shown = shown, len(seen)
        if shown < len(seen):
            before, text = self.tokenizer.decode(seen[begin:shown]), self.tokenizer.decode(seen[begin:])
            if text[len(before):]:
                yield text[len(before):]

    def close(self) -> None:
        """Free it, and the model that it has opened itself."""
        super().close()
        self._llm = None
        if self._own:
            self._model.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<LLM %s closed>" % self._model.path
        return "<LLM %s engine=qnn device=%s: %d layers, %d tokens, context %d>" % (self._model.path, self._model.device, self.info.layers, self.info.vocabulary,
                                                                                    self.info.context)
