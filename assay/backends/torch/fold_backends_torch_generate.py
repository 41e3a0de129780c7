"""PyTorch making text: a step reads a prompt, then makes one token after the other.

What makes a token is compiled, and captured as a CUDA graph, by itself: the loop over tokens stays
the host's, which could send each to a user as it comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import torch

from assay.backends.torch import setup
from assay.backends.torch.session import WARM_UP, TorchSession, captures, compiled
from assay.core.records import Case
from assay.core.sessions import Job


@runtime_checkable
class MakesTokens(Protocol):
    """What a module has that generates: all it remembers stays in place between the calls."""

    generated: int

    def start(self, prompt: Any, dtype: torch.dtype) -> None: ...  # noqa: ANN401 (a tensor)

    def prefill(self, prompt: Any) -> None: ...  # noqa: ANN401

    def decode(self) -> None: ...


class TorchGeneration(TorchSession):
    sees_tokens = True

    def __init__(self, job: Job, case: Case) -> None:
        super().__init__(job, case)
        model = self._model
        self.tokens = model.generated
        model.start(self._inputs, self._mixed or model.embed.weight.dtype)
        self._prefill = compiled(self._in_precision(model.prefill), case)
        self._decode = compiled(self._in_precision(model.decode), case)
        self._graph: Any = None
        self._stepped = self._generate

    def first_token(self) -> None:
        with torch.inference_mode():
            self._prefill(self._inputs)
        setup.wait()

    def next_token(self) -> None:
        with torch.inference_mode():
            self._one_more()
        setup.wait()

    def read(self) -> object:
        return int(self._model.made[0, -1])  # the token that is made last

    def _generate(self) -> None:
        with torch.inference_mode():
            self._prefill(self._inputs)
            for _ in range(self.tokens - 1):
                self._one_more()

    def _one_more(self) -> None:
        if captures(self._case):
            self._graph = self._graph or self._captured()
            self._graph.replay()
        else:
            self._decode()

    def _captured(self) -> torch.cuda.CUDAGraph:
        """One token as a graph. What warms up makes tokens too, so the prompt is read anew."""
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                self._prefill(self._inputs)
                self._decode()
            self._prefill(self._inputs)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._decode()
        return graph

    def _in_precision(self, function: Callable[..., Any]) -> Callable[..., Any]:
        mixed, device = self._mixed, self._device.type
        if mixed is None:
            return function

        def within(*given: Any) -> Any:  # noqa: ANN401
            with torch.autocast(device, dtype=mixed):
                return function(*given)

        return within

    def _output_dtype(self) -> torch.dtype:
        return self._model.made.dtype
