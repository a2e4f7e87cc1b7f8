"""Replacements for LSTM, GRU and RNN of torch.nn: the same constructors, parameters, initial values, inputs and outputs,
with forward and backward computed by Unroll's kernels.

    from unroll.torch import LSTM                   # was: from torch.nn import LSTM

They are subclasses of torch.nn's modules, so state_dicts, repr and isinstance work as before. Tensors must be float32
on the CPU; others are refused with a message. Double backward is refused by PyTorch.

"""

from __future__ import annotations

import collections
import os
import sys
import threading
import weakref
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch._compile import _disable_dynamo
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from . import _core

__all__ = ["GRU", "LSTM", "RNN", "IDLE_BYTES", "IDLE_SESSIONS", "memory"]

#: Idle sessions, each for one shape of batches, that a module keeps: this many, or the most that it used at once, and
#: at most this many bytes.
IDLE_SESSIONS = 12
IDLE_BYTES = 1 << 30

_CELLS = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn", "RNN_RELU": "rnn-relu"}

_Key = tuple[Any, ...]
_Tensors = tuple[Optional[Tensor], ...]


# ---- sessions of one module -----------------------------------------------------------------


class _Idle(NamedTuple):
    key: _Key
    session: _core.Session
    bytes: int


class _Lease:
    """A session reserved for a graph: from a forward to its backward, or to the end of the graph."""

    def __init__(self, returned: collections.deque[_Idle], idle: _Idle):
        self.session = idle.session
        self._idle = idle
        self._returned = returned

    def __del__(self) -> None:
        self._returned.append(self._idle)


class _Engine:
    """A model of Unroll's with the shape of one module, and its sessions by the shape of batches. The lock is held for a
    whole forward or backward, because sessions share weights and gradients."""

    def __init__(self, spec: dict[str, Any]):
        self.spec = spec
        self.lock = threading.RLock()
        self.model = _core.Model(**spec)
        self.idle: collections.OrderedDict[_Key, list[_Idle]] = collections.OrderedDict()
        self.returned: collections.deque[_Idle] = collections.deque()
        self.count = self.bytes = 0             # of the idle ones
        self.made = self.leased = self.most = 0  # created so far; in use; the most at once

    def lease(self, **config: Any) -> _Lease:
        """Returns an idle session with this configuration, or a new one."""
        key = tuple(config.items())
        self._collect()
        if key in self.idle:
            idle = self._take(key, -1)
        else:
            session = _core.Session(self.model, **config)
            idle = _Idle(key, session, session.info["bytes"])
            self.made += 1
        self.leased += 1
        self.most = max(self.most, self.leased)
        return _Lease(self.returned, idle)

    def _take(self, key: _Key, index: int) -> _Idle:
        idle = self.idle[key].pop(index)
        if not self.idle[key]:
            del self.idle[key]
        self.count -= 1
        self.bytes -= idle.bytes
        return idle

    def _collect(self) -> None:
        """Makes returned sessions idle, and ends those that have been idle longest."""
        while self.returned:
            idle = self.returned.popleft()
            self.idle.setdefault(idle.key, []).append(idle)
            self.idle.move_to_end(idle.key)
            self.leased -= 1
            self.count += 1
            self.bytes += idle.bytes
        while self.count > max(IDLE_SESSIONS, self.most) or (self.count > 1 and self.bytes > IDLE_BYTES):
            self._take(next(iter(self.idle)), 0)


def _capacity(steps: int) -> int:
    """Returns the steps of the session for a batch: rounded up by an eighth at most, so that batches of similar length
    share sessions. A session computes only the steps of the batch."""
    unit = 1 << max(0, (steps - 1).bit_length() - 4)
    return -(-steps // unit) * unit


def _threads(products: int) -> int:
    """Returns PyTorch's number of threads if a step has work for them. With 0 the library would measure by itself, but
    PyTorch's idle threads spin and disturb that. Smaller steps are left to the library."""
    threads = torch.get_num_threads()
    return threads if threads == 1 or products > 1_000_000 else 0


_engines: weakref.WeakKeyDictionary[nn.Module, _Engine] = weakref.WeakKeyDictionary()
_engines_lock = threading.Lock()


def _after_fork() -> None:
    """Resets the locks in a child: the threads that may hold the parent's do not exist. A thread that held one used a
    session of its own, which is never returned."""
    global _engines_lock
    _engines_lock = threading.Lock()
    for engine in list(_engines.values()):
        engine.lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


def _engine_of(module: nn.RNNBase) -> _Engine:
    spec = {
        "cell": _CELLS[module.mode],
        "layers": module.num_layers,
        "hidden": module.hidden_size,
        "bidirectional": module.bidirectional,
        "projection": module.proj_size,
        "bias": module.bias,
        "dropout": module.dropout if module.num_layers > 1 else 0.0,
        "input": module.input_size,
    }
    with _engines_lock:
        engine = _engines.get(module)
        if engine is None or engine.spec != spec:
            engine = _engines[module] = _Engine(spec)
        return engine


def memory(module: nn.Module) -> dict[str, int]:
    """For a module that has run: the number of sessions created so far, how many are idle now, and their bytes."""
    engine = _engines.get(module)
    if engine is None:
        return {"made": 0, "idle": 0, "bytes": 0}
    with engine.lock:
        engine._collect()
        return {"made": engine.made, "idle": engine.count, "bytes": engine.bytes}


# ---- running --------------------------------------------------------------------------------


class _Call:
    """The description of a forward, without its tensors: enough to repeat it."""

    def __init__(self, engine: _Engine, config: dict[str, Any], lengths: Tensor):
        self.engine = engine
        self.config = config
        self.lengths = lengths
        spec = engine.spec
        self.layers = range(spec["layers"])
        self.directions = ("", ".reverse") if spec["bidirectional"] else ("",)
        self.has_cell = spec["cell"] == "lstm"
        self.output = f"y.l{spec['layers'] - 1}"
        # masks come from PyTorch's generator: torch.manual_seed repeats them
        draws = config["mode"] == "module" and not config["no_dropout"]
        self.masks = int(torch.randint(2**31 - 1, ())) if draws else 0

    def states(self, prefix: str) -> list[str]:
        """Returns the names of a session's state arrays in the order of PyTorch's first axis."""
        return [f"{prefix}.l{layer}{direction}" for layer in self.layers for direction in self.directions]

    def forward(self, x: Tensor, states: _Tensors, weights: tuple[Tensor, ...]) -> tuple[_Lease, tuple[Tensor, ...]]:
        """Runs a session on x [T, B, input]; returns it and y, hn and, for an LSTM, cn."""
        lease = self.engine.lease(**self.config)
        session = lease.session
        session.set_weights([w.detach().contiguous() for w in weights])
        if states[0] is None:
            session.reset()
        else:
            self._write_states(session, "h0", states[0])
            self._write_states(session, "s0", states[1])
        session.counters = (self.masks, 0)
        session.forward(inputs=x.detach().contiguous(), lengths=self.lengths)
        return lease, self._results(session, x)

    def _results(self, session: _core.Session, x: Tensor) -> tuple[Tensor, ...]:
        spec = self.engine.spec
        width = spec["projection"] or spec["hidden"]
        first = len(self.layers) * len(self.directions)
        y = x.new_empty(x.shape[0], x.shape[1], width * len(self.directions))
        session.read(self.output, y)
        hn = self._read_states(session, "hn", x.new_empty(first, x.shape[1], width))
        if not self.has_cell:
            return y, hn
        return y, hn, self._read_states(session, "sn", x.new_empty(first, x.shape[1], spec["hidden"]))

    def backward(
        self, session: _core.Session, gradients: _Tensors, wanted: tuple[bool, ...], x: Tensor, weights: tuple[Tensor, ...]
    ) -> list[Optional[Tensor]]:
        """Computes the gradients of x, h0, c0 and the weights, where required, from those of y, hn, cn."""
        dy, dhn, dcn = gradients
        dy = x.new_zeros(x.shape[0], x.shape[1], self._width()) if dy is None else dy
        session.write("d." + self.output, dy.detach().contiguous())
        self._write_gradients(session, "d.hn", dhn, x)
        if self.has_cell:
            self._write_gradients(session, "d.sn", dcn, x)
        session.backward()
        made: list[Optional[Tensor]] = [None] * 3
        if wanted[0]:
            made[0] = torch.empty_like(x, memory_format=torch.contiguous_format)
            session.read("d.x", made[0])
        for i, prefix in ((1, "d.h0"), (2, "d.s0")):
            if wanted[i]:
                made[i] = self._read_states(session, prefix, x.new_empty(self._state_shape(prefix, x)))
        of_weights = [torch.empty_like(w, memory_format=torch.contiguous_format) if want else None
                      for w, want in zip(weights, wanted[3:])]
        session.gradients(of_weights)
        return made + of_weights

    def _width(self) -> int:
        spec = self.engine.spec
        return int((spec["projection"] or spec["hidden"]) * len(self.directions))

    def _state_shape(self, prefix: str, x: Tensor) -> tuple[int, int, int]:
        spec = self.engine.spec
        width = spec["hidden"] if prefix.startswith("d.s") else spec["projection"] or spec["hidden"]
        return len(self.layers) * len(self.directions), x.shape[1], width

    def _write_states(self, session: _core.Session, prefix: str, states: Optional[Tensor]) -> None:
        if states is not None:
            for name, state in zip(self.states(prefix), states.detach().contiguous().unbind()):
                session.write(name, state)

    def _write_gradients(self, session: _core.Session, prefix: str, gradient: Optional[Tensor], x: Tensor) -> None:
        self._write_states(session, prefix, x.new_zeros(self._state_shape(prefix, x)) if gradient is None else gradient)

    def _read_states(self, session: _core.Session, prefix: str, to: Tensor) -> Tensor:
        for name, state in zip(self.states(prefix), to.unbind()):
            session.read(name, state)
        return to


class _Recurrence(torch.autograd.Function):
    """The whole stack as one operation in PyTorch's graph: x [T, B, input], h0 and c0 (or None), weights."""

    @staticmethod
    def forward(ctx: Any, call: _Call, x: Tensor, h0: Optional[Tensor], c0: Optional[Tensor], *weights: Tensor) -> Any:
        with call.engine.lock:
            ctx.lease, results = call.forward(x, (h0, c0), weights)
        ctx.call = call
        ctx.save_for_backward(x, h0, c0, *weights)
        ctx.set_materialize_grads(False)
        return results

    @staticmethod
    def backward(ctx: Any, *gradients: Optional[Tensor]) -> Any:
        if torch.is_grad_enabled():     # a second derivative is refused, even if these gradients are constant
            gradients = tuple(None if g is None else g.detach().requires_grad_() for g in gradients)
        return once_differentiable(_backward)(ctx, *gradients)


def _backward(ctx: Any, dy: Optional[Tensor], dhn: Optional[Tensor], dcn: Optional[Tensor] = None) -> Any:
    x, h0, c0, *weights = ctx.saved_tensors             # raises if one was changed in place since
    call: _Call = ctx.call
    with call.engine.lock:
        lease, ctx.lease = ctx.lease, None
        if lease is None:                               # a second backward of a retained graph
            lease, _ = call.forward(x, (h0, c0), tuple(weights))
        wanted = ctx.needs_input_grad[1:]
        return (None, *call.backward(lease.session, (dy, dhn, dcn), wanted, x, tuple(weights)))


def _run(call: _Call, x: Tensor, states: _Tensors, weights: tuple[Tensor, ...], graph: bool) -> tuple[Tensor, ...]:
    if graph:
        results: tuple[Tensor, ...] = _Recurrence.apply(call, x, *states, *weights)  # type: ignore[no-untyped-call]
        return results
    with call.engine.lock:
        return call.forward(x, states, weights)[1]


# ---- PyTorch's compilers ---------------------------------------------------------------------


#: Dispatch modes that record operations, or have tensors without values.
_RECORDERS = ("FakeTensorMode", "FunctionalTensorMode", "ProxyTorchDispatchMode")


def _refuse_tracing(name: str) -> None:
    """True if a tracer is recording, which would miss our kernels."""
    traced = torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    if traced or any(type(mode).__name__ in _RECORDERS for mode in _get_current_dispatch_mode_stack()):
        raise RuntimeError(
            f"unroll.torch.{name} can't be part of a graph that is traced or exported; fix: load its state_dict into "
            f"torch.nn.{name} and give that"
        )
    if torch._C._are_functorch_transforms_active():
        raise RuntimeError(
            f"unroll.torch.{name} can't be transformed by torch.func (grad, vmap, jvp, ..); fix: backward() or "
            f"torch.autograd.grad, or load its state_dict into torch.nn.{name}"
        )


def _leaf(module: nn.RNNBase, x: torch.fx.Proxy, hx: Any) -> torch.fx.Proxy:
    """Returns the call in a graph of torch.fx, whose tracer treats torch.nn's modules as leaves."""
    path = x.tracer.path_of_module(module)  # type: ignore[attr-defined]
    if not path:
        raise RuntimeError(f"unroll.torch.{type(module).__name__} is a leaf of torch.fx's graphs; fix: trace what holds it")
    return x.tracer.create_proxy("call_module", path, (x, hx), {})


# ---- modules --------------------------------------------------------------------------------


def _refuse(module: nn.RNNBase, what: str, tensor: Tensor) -> None:
    if tensor.is_cpu and tensor.dtype is torch.float32:
        return
    name = type(module).__name__
    if tensor.device.type != "cpu":
        raise RuntimeError(
            f"unroll.torch.{name}: {what} is on the device {tensor.device}; its kernels run on the CPU; "
            f"fix: .cpu(), or torch.nn.{name}"
        )
    if tensor.dtype != torch.float32:
        raise TypeError(
            f"unroll.torch.{name}: {what} is {tensor.dtype}; its kernels compute in torch.float32; "
            f"fix: .float(), or torch.nn.{name}"
        )


class _Recurrent(nn.RNNBase):
    """Shared by the three modules: converts PyTorch's inputs to a call, and the results back."""

    def __prepare_scriptable__(self) -> nn.Module:
        name = type(self).__name__
        raise RuntimeError(
            f"unroll.torch.{name} can't be compiled by torch.jit.script; fix: load its state_dict into torch.nn.{name}"
        )

    def flatten_parameters(self) -> None:
        """Does nothing: weights are packed when they have changed."""

    def _weights(self) -> tuple[Tensor, ...]:
        weights = tuple(getattr(self, name) for name in self._flat_weights_names)
        for name, weight in zip(self._flat_weights_names, weights):
            _refuse(self, f"the parameter {name}", weight)
        return weights

    def _check(self, x: Tensor, states: _Tensors) -> None:
        _refuse(self, "the input", x)
        if x.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.size(-1)}"
            )
        if 0 in x.shape[:2]:
            raise RuntimeError(f"the input has {x.shape[0]} steps of {x.shape[1]} rows: both must be 1 or more")
        first = self.num_layers * (2 if self.bidirectional else 1)
        for name, state, width in zip(("h_0", "c_0"), states, (self.proj_size or self.hidden_size, self.hidden_size)):
            if state is not None:
                _refuse(self, name, state)
                if state.shape != (first, x.shape[1], width):
                    raise RuntimeError(
                        f"Expected {name} of the size {(first, x.shape[1], width)}, got {list(state.shape)}"
                    )

    def _call(self, x: Tensor, states: _Tensors, lengths: Optional[Tensor]) -> tuple[Tensor, ...]:
        """Runs x [T, B, input], time-major; states (h0, c0) or (None, None)."""
        if "torch._dynamo" in sys.modules:              # importing it takes seconds; without it nothing is compiled
            return self._uncompiled(x, states, lengths)
        return self._compute(x, states, lengths)

    def _compute(self, x: Tensor, states: _Tensors, lengths: Optional[Tensor]) -> tuple[Tensor, ...]:
        _refuse_tracing(type(self).__name__)
        weights = self._weights()
        self._check(x, states)
        tensors = (x, *states, *weights)
        graph = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)
        drops = self.training and self.dropout > 0 and self.num_layers > 1
        config = {
            "mode": "module" if graph or drops else "infer",
            "steps": _capacity(x.shape[0]),
            "rows": x.shape[1],
            "lengths": True,
            "input_gradient": graph and x.requires_grad,
            "no_dropout": not drops,
            "threads": _threads(sum(w.numel() for w in weights) * x.shape[1]),
        }
        if lengths is None:
            lengths = torch.full((x.shape[1],), x.shape[0], dtype=torch.int32)
        return _run(_Call(_engine_of(self), config, lengths), x, states, weights, graph)

    # torch.compile skips these. The reason is set like torch.compiler.disable does, which would import torch._dynamo.
    _uncompiled = _disable_dynamo(_compute)
    _reason = "the kernels of unroll.torch are no operations of PyTorch's; fix: without fullgraph, or torch.nn's module"
    setattr(_call, "_torchdynamo_disable", True)
    setattr(_call, "_torchdynamo_disable_msg", _reason)

    def _padded(self, x: Tensor, states: _Tensors) -> tuple[Tensor, ...]:
        """Runs rows of equal length, with or without a batch axis."""
        if x.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {x.dim()}D instead")
        batched = x.dim() == 3
        for state in states:
            if state is not None and state.dim() != x.dim():
                raise RuntimeError(
                    f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx should be {x.dim()}-D but got "
                    f"{state.dim()}-D tensor"
                )
        if not batched:
            x = x.unsqueeze(1)
            states = tuple(None if s is None else s.unsqueeze(1) for s in states)
        elif self.batch_first:
            x = x.transpose(0, 1)
        y, *last = self._call(x, states, None)
        if not batched:
            return (y.squeeze(1), *(s.squeeze(1) for s in last))
        return (y.transpose(0, 1) if self.batch_first else y, *last)

    def _packed(self, packed: PackedSequence, states: _Tensors) -> tuple[Any, ...]:
        """Runs rows of any length: they are padded, which costs memory but no arithmetic."""
        data, sizes, order, back = packed
        x, lengths = pad_packed_sequence(PackedSequence(data, sizes))
        if order is not None:
            states = tuple(None if s is None else s.index_select(1, order) for s in states)
        y, *last = self._call(x, states, lengths.to(torch.int32))
        if back is not None:
            last = [s.index_select(1, back) for s in last]
        results = pack_padded_sequence(y, lengths)
        return (PackedSequence(results.data, results.batch_sizes, order, back), *last)

    def _any(self, x: Any, states: _Tensors) -> tuple[Any, ...]:
        return self._packed(x, states) if isinstance(x, PackedSequence) else self._padded(x, states)


class LSTM(_Recurrent, nn.LSTM):
    """torch.nn.LSTM on Unroll's kernels."""

    def forward(self, input: Any, hx: Optional[tuple[Tensor, Tensor]] = None) -> Any:
        if isinstance(input, torch.fx.Proxy):
            return _leaf(self, input, hx)
        pair = isinstance(hx, (tuple, list)) and len(hx) == 2 and (hx[0] is None) == (hx[1] is None)
        if hx is not None and not pair:
            raise ValueError("hx of an LSTM is the pair (h_0, c_0)")
        y, hn, cn = self._any(input, (None, None) if hx is None else tuple(hx))
        return y, (hn, cn)


class GRU(_Recurrent, nn.GRU):
    """torch.nn.GRU on Unroll's kernels."""

    def forward(self, input: Any, hx: Optional[Tensor] = None) -> Any:
        if isinstance(input, torch.fx.Proxy):
            return _leaf(self, input, hx)
        return self._any(input, (hx, None))


class RNN(_Recurrent, nn.RNN):
    """torch.nn.RNN, tanh or relu, on Unroll's kernels."""

    def forward(self, input: Any, hx: Optional[Tensor] = None) -> Any:
        if isinstance(input, torch.fx.Proxy):
            return _leaf(self, input, hx)
        return self._any(input, (hx, None))


if hasattr(torch.serialization, "add_safe_globals"):    # torch.load accepts them like torch.nn's
    torch.serialization.add_safe_globals([LSTM, GRU, RNN])
