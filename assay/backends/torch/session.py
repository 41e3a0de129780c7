"""PyTorch: a step is forward, loss, backward and update, over tensors that stay on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import torch
from torch.nn import functional

from assay.backends import options
from assay.backends.torch import setup, trees
from assay.backends.torch.ddp import TeamMember
from assay.core.errors import UsageError
from assay.core.records import Case, Value
from assay.core.sessions import Job

_MIXED = {"bfloat16": torch.bfloat16, "float16": torch.float16}
_FORMATS = {
    "channels_last": torch.channels_last,
    "channels_first": torch.contiguous_format,
}


def _cross_entropy(logits: Any, labels: Any) -> Any:
    """Over the last axis if there is a label for each row, else as in torch."""
    if logits.ndim > 2 and logits.shape[:-1] == labels.shape:
        logits, labels = logits.flatten(0, -2), labels.flatten()
    return functional.cross_entropy(logits, labels)


_LOSSES: dict[Any, Callable[..., Any]] = {
    "cross-entropy": _cross_entropy,
    "mse": functional.mse_loss,
    "binary-cross-entropy": functional.binary_cross_entropy_with_logits,
    "mean": trees.mean,
}
WARM_UP = 3  # steps before a capture, as torch's notes on CUDA graphs recommend


class TorchSession:
    def __init__(self, job: Job, case: Case, member: TeamMember | None = None) -> None:
        self._case, self._device, self._member = case, setup.device(), member
        self._train, self._as_given = options.is_training(job, case), job.as_given
        self._model = _place_model(job.model, case, self._device).train(self._train)
        self._inputs, self._targets = _batch(job, case, self._device)
        self._batch = self._inputs
        self._parallel: Any = self._model
        if member:  # each has its rows; gradients are averaged while they are computed
            self._targets = member.own_rows(self._targets)
            self._parallel = torch.nn.parallel.DistributedDataParallel(self._model)
        self._share = member.own_rows(self._inputs) if member else self._inputs
        self.items = options.items(job)
        self._mixed = _MIXED.get(str(case.options["precision"]))
        self._optimizer_name = options.optimizer_name(case, job.optimizer)
        self._optimizer: Any = _optimizer(job, case, self._model) if self._train else None
        self._scaler = torch.amp.GradScaler(self._device.type)
        self._forward = compile_function(
            self._loss_of(job) if self._train else self._outputs_of(), case
        )
        self._stepped = self._capture_first if uses_cuda_graphs(case) else self._step_here()
        self._enqueue = self._first_step
        self._found: Any = None

    def step(self) -> None:
        if self._member:
            self._member.request_step()
        self._enqueue()

    def wait(self) -> None:
        # wait for the device, not for an output: the weights are updated last
        setup.wait()

    def fresh_inputs(self, number: int) -> Any:
        return trees.vary(self._batch, number)

    def set_inputs(self, inputs: Any) -> None:
        self._inputs = self._share = inputs

    def step_output(self) -> tuple[tuple[int, ...], Any]:
        return trees.sample_output(self._found)

    def outputs(self) -> Any:
        return trees.as_array(self._infer_outputs())

    def sampled_outputs(self) -> tuple[tuple[int, ...], Any]:
        """Before the first step, from the pass in which the work is counted."""
        return self._look.sample if self._fresh else trees.sample_output(self._infer_outputs())

    def read(self) -> object:
        # through the model: work that it enqueues itself has to be waited for too
        return trees.sample_output(self._infer_outputs(self._first_item))

    def predict(self, inputs: Any) -> Any:
        """Outputs of a batch, without dropout; images are channels last."""
        values = options.to_layout(inputs, channels_first=True)
        tensors = _place_inputs(values, self._case, self._device)
        self._model.eval()
        with torch.inference_mode():
            outputs = (self._outputs_of() if self._train else self._forward)(tensors)
        self._model.train(self._train)
        return outputs.float().cpu().numpy()

    def macs(self) -> float:
        return self._look.macs

    def executed_macs(self) -> float:
        return self._look.executed

    def count_again(self) -> tuple[float, str]:
        now = setup.inspect_forward(self._infer_outputs)
        return now.macs, now.product_dtypes

    def product_dtypes(self) -> str:
        return self._look.product_dtypes

    @cached_property
    def _look(self) -> setup.ForwardFacts:
        """Facts of one forward pass before the first step."""
        return setup.inspect_forward(self._infer_outputs)

    def weights(self) -> Iterator[Any]:
        return (weight.detach().float().cpu().numpy() for weight in self._model.parameters())

    def facts(self) -> Mapping[str, Value]:
        weights = list(self._model.parameters())
        return {
            **options.facts(self._case),
            **setup.facts(),
            "mode": options.mode(self._train),
            "input_shape": options.shape_text(*trees.tensors(self._inputs)),
            "parameters": sum(weight.numel() for weight in weights if weight.requires_grad),
            "compute_dtype": setup.name(self._mixed or trees.dtype(self._inputs, weights)),
            "parameter_dtype": setup.name(weights[0].dtype) if weights else "",
            "output_dtype": setup.name(self._output_dtype()),
            "data_format": self._case.options["data_format"],
            "compiler": self._case.options["compiler"],
            "cuda_graphs": self._case.options["cuda_graphs"],
            "optimizer": self._optimizer_name,
        }

    def _output_dtype(self) -> torch.dtype:
        return self._look.dtype

    def _outputs_of(self) -> Callable[..., Any]:
        """The forward pass as a plain function: torch.compile guards all that a method can see."""
        model, mixed, device = self._model, self._mixed, self._device.type
        call = trees.caller(model, self._inputs)
        if mixed is None:  # no context: entering one costs 1 % of a short step
            return call

        def outputs(inputs: Any) -> Any:
            with torch.autocast(device, dtype=mixed):
                return call(inputs)

        return outputs

    def _loss_of(self, job: Job) -> Callable[..., Any]:
        mixed, device, targets = self._mixed, self._device.type, self._targets
        criterion = job.loss if callable(job.loss) else _LOSSES[job.loss]
        call = trees.caller(self._parallel, self._inputs)
        if mixed is None:
            return lambda inputs: criterion(call(inputs), targets)

        def loss(inputs: Any) -> Any:
            with torch.autocast(device, dtype=mixed):
                return criterion(call(inputs), targets)

        return loss

    @cached_property
    def _first_item(self) -> Any:
        """One item; all of them if the model only takes its example as given."""
        return self._inputs if self._as_given else trees.first_item(self._inputs)

    def _infer_outputs(self, inputs: Any = None) -> Any:
        """Outputs without dropout, with the current weights; by default of the batch."""
        self._model.eval()
        with torch.no_grad():
            outputs = self._outputs_of()(self._inputs if inputs is None else inputs)
        self._model.train(self._train)
        return outputs

    @property
    def _fresh(self) -> bool:
        return self._enqueue == self._first_step

    def _first_step(self) -> None:
        self._enqueue = self._stepped
        self._enqueue()

    def _step_here(self) -> Callable[[], None]:
        if not self._train:
            return self._infer
        scaled = self._case.options["precision"] == "float16"
        return self._train_with_scaler if scaled else self._train_plain

    def _infer(self) -> None:
        with torch.inference_mode():
            self._found = self._forward(self._inputs)

    def _train_plain(self) -> None:
        self._optimizer.zero_grad()
        self._forward(self._share).backward()
        self._optimizer.step()

    def _train_with_scaler(self) -> None:
        self._optimizer.zero_grad()
        self._scaler.scale(self._forward(self._share)).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()

    def _capture_first(self) -> None:
        """The first step captures, later ones replay. Tensors stay in place."""
        step, aside = self._step_here(), torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):  # compile, autotune, create the optimizer's state
                step()
        torch.cuda.current_stream().wait_stream(aside)
        if self._train:
            self._optimizer.zero_grad()  # the capture allocates gradients in its own memory
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            step()
        self._enqueue = self._graph.replay
        self._enqueue()


def open_session(job: Job, case: Case, member: TeamMember | None = None) -> TorchSession:
    if member:
        return TorchSession(job, case, member)

    return (TorchGeneration if isinstance(job.model, GeneratesTokens) else TorchSession)(job, case)


def uses_cuda_graphs(case: Case) -> bool:
    return case.options["cuda_graphs"] == "on"


def compile_function(function: Callable[..., Any], case: Case) -> Callable[..., Any]:
    chosen = str(case.options["compiler"])
    if chosen == "off":
        return function
    function_compiled: Callable[..., Any] = torch.compile(
        function, mode=None if chosen == "on" else chosen
    )
    return function_compiled


def _place_model(model: Any, case: Case, device: torch.device) -> Any:
    if not isinstance(model, torch.nn.Module):
        raise UsageError(
            f"{case.workload} gave a {type(model).__module__}.{type(model).__name__}, "
            "but torch opens a torch.nn.Module.",
            hint="Return a torch.nn.Module, or choose a backend for what it returns.",
        )
    dtype = torch.bfloat16 if case.options["precision"] == "pure-bfloat16" else torch.float32
    return model.to(device, dtype, memory_format=_FORMATS[str(case.options["data_format"])])


def _batch(job: Job, case: Case, device: torch.device) -> tuple[Any, Any]:
    arrays, targets = options.batch(job, case, channels_first=True)
    inputs = _place_inputs(arrays, case, device)
    if job.as_given:
        return inputs, _place_inputs(targets, case, device)
    kind = torch.int64 if job.loss == "cross-entropy" else trees.dtype(inputs)
    return inputs, torch.from_numpy(targets).to(device, kind)


def _place_inputs(inputs: Any, case: Case, device: torch.device) -> Any:
    pure = torch.bfloat16 if case.options["precision"] == "pure-bfloat16" else None
    layout = _FORMATS[str(case.options["data_format"])]
    return trees.place(inputs, device, pure, layout)


def _optimizer(job: Job, case: Case, model: torch.nn.Module) -> Any:
    weights, rate, capturable = list(model.parameters()), job.learning_rate, uses_cuda_graphs(case)
    weights = [weight for weight in weights if weight.requires_grad]
    if not weights:
        raise UsageError(f"{case.workload} has no weights to train.", hint="Use --mode infer.")
    fused = weights[0].is_cuda  # one kernel for all of it; rmsprop has none
    optimizers: dict[str, Callable[[], Any]] = {
        "sgd": lambda: torch.optim.SGD(weights, rate, fused=fused),
        "momentum": lambda: torch.optim.SGD(weights, rate, momentum=0.9, fused=fused),
        # decay and epsilon of Keras, so that all contenders compute the same
        "rmsprop": lambda: torch.optim.RMSprop(
            weights, rate, alpha=0.9, eps=1e-7, capturable=capturable
        ),
        "adam": lambda: torch.optim.Adam(
            weights, rate, eps=1e-7, capturable=capturable, fused=fused
        ),
    }
    return optimizers[options.optimizer_name(case, job.optimizer)]()


# Text generation: a step reads a prompt, then generates one token after the other. The step of one
# token is compiled and captured as a CUDA graph; the loop over tokens stays on the host, which
# could send each to a user as it comes.


@runtime_checkable
class GeneratesTokens(Protocol):
    """A module that generates; its state stays in place between calls."""

    generated: int

    def start(self, prompt: Any, dtype: torch.dtype) -> None: ...

    def prefill(self, prompt: Any) -> None: ...

    def decode(self) -> None: ...


class TorchGeneration(TorchSession):
    sees_tokens = True

    def __init__(self, job: Job, case: Case) -> None:
        super().__init__(job, case)
        model = self._model
        self.tokens = model.generated
        model.start(self._inputs, self._mixed or model.embed.weight.dtype)
        self._prefill = compile_function(self._in_precision(model.prefill), case)
        self._decode = compile_function(self._in_precision(model.decode), case)
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

    def step_output(self) -> tuple[tuple[int, ...], Any]:
        return trees.sample_output(self._model.made)

    def read(self) -> object:
        return int(self._model.made[0, -1])  # the last token

    def _generate(self) -> None:
        with torch.inference_mode():
            self._prefill(self._inputs)
            for _ in range(self.tokens - 1):
                self._one_more()

    def _one_more(self) -> None:
        if uses_cuda_graphs(self._case):
            self._graph = self._graph or self._capture_decode()
            self._graph.replay()
        else:
            self._decode()

    def _capture_decode(self) -> torch.cuda.CUDAGraph:
        """One token as a graph. Warm-up generates tokens too, so the prompt is read again."""
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

        def within(*values: Any) -> Any:
            with torch.autocast(device, dtype=mixed):
                return function(*values)

        return within

    def _output_dtype(self) -> torch.dtype:
        return self._model.made.dtype
