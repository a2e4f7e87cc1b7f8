"""Compares unroll.torch with torch.nn: random networks and inputs, every way of calling them, and what a training script
relies on. Outputs agree within 1e-6 and gradients within 1e-5 of their scale."""

import concurrent.futures
import copy
import gc
import io
import os
import pickle
import random
import signal
import threading
import unittest
import unittest.mock
import warnings

from common import needs_torch, torch

if torch:
    from torch import nn
    from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

    import unroll
    import unroll.torch as ours

    class Outer(nn.Module):
        """A module of a script, with one of ours inside."""

        def __init__(self):
            super().__init__()
            self.rnn = ours.LSTM(3, 4, 2, batch_first=True)
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            y, (h, c) = self.rnn(x)
            return self.head(y) + c[-1].mean()

warnings.filterwarnings("ignore", message="LSTM with projections is not supported with oneDNN")
warnings.filterwarnings("ignore", message="dropout option adds dropout after all but last")


def pair(name, *args, **keywords):
    """Returns PyTorch's module and ours with the same weights."""
    theirs = getattr(nn, name)(*args, **keywords)
    mine = getattr(ours, name)(*args, **keywords)
    mine.load_state_dict(theirs.state_dict())
    return theirs, mine


def tensors(value):
    """Returns all tensors of nested tuples, in order."""
    if torch.is_tensor(value):
        return [value]
    if isinstance(value, PackedSequence):
        return [value.data]
    return [t for item in value for t in tensors(item)]


class Case(unittest.TestCase):
    def close(self, a, b, tolerance, what):
        self.assertEqual(a.shape, b.shape, what)
        scale = max(1.0, b.abs().max().item()) if b.numel() else 1.0
        difference = (a - b).abs().max().item() if b.numel() else 0.0
        self.assertLessEqual(difference, tolerance * scale, what)

    def compare(self, theirs, mine, make, what=""):
        """make() returns new leaves and the arguments of a call: (leaves, arguments)."""
        (acc_blocks_a, in_a), (acc_blocks_b, in_b) = make(), make()
        out_a, out_b = tensors(theirs(*in_a)), tensors(mine(*in_b))
        self.assertEqual(len(out_a), len(out_b))
        for i, (a, b) in enumerate(zip(out_a, out_b)):
            self.close(b, a, 1e-6, f"{what}: output {i}")
        torch.manual_seed(99)
        seeds = [torch.randn_like(t) for t in out_a]
        for out in (out_a, out_b):
            sum((t * g).sum() for t, g in zip(out, seeds)).backward()
        for i, (a, b) in enumerate(zip(acc_blocks_a, acc_blocks_b)):
            self.close(b.grad, a.grad, 1e-5, f"{what}: gradient of argument {i}")
        for (name, a), b in zip(theirs.named_parameters(), mine.parameters()):
            self.close(b.grad, a.grad, 1e-5, f"{what}: gradient of {name}")


def draw_case(rng):
    name = rng.choice(["LSTM", "GRU", "RNN"])
    hidden = rng.randint(2, 40)
    keywords = {
        "num_layers": rng.randint(1, 3),
        "bias": rng.random() < 0.8,
        "batch_first": rng.random() < 0.5,
        "bidirectional": rng.random() < 0.5,
        "dropout": rng.choice([0, 0.3]),
    }
    if name == "LSTM" and rng.random() < 0.4:
        keywords["proj_size"] = rng.randint(1, hidden - 1)
    if name == "RNN":
        keywords["nonlinearity"] = rng.choice(["tanh", "relu"])
    return name, rng.randint(1, 30), hidden, keywords


def draw_states(name, module, rows, rng):
    """Returns random initial states as leaves, or none."""
    if rng.random() < 0.4:
        return []
    first = module.num_layers * (2 if module.bidirectional else 1)
    sizes = [module.proj_size or module.hidden_size] + ([module.hidden_size] if name == "LSTM" else [])
    return [torch.randn(first, *rows, size) for size in sizes]


def call_of(x, states):
    if not states:
        return (x,)
    return (x, tuple(states)) if len(states) == 2 else (x, states[0])


@needs_torch
class Parity(Case):
    def test_random_networks(self):
        rng = random.Random(5)
        for number in range(40):
            name, inputs, hidden, keywords = draw_case(rng)
            theirs, mine = pair(name, inputs, hidden, **keywords)
            theirs.eval(), mine.eval()                  # dropout would draw other masks; in evaluation it has no effect
            T, B, batched = rng.randint(1, 20), rng.randint(1, 9), rng.random() < 0.8
            shape = (T, inputs) if not batched else (B, T, inputs) if mine.batch_first else (T, B, inputs)
            x = torch.randn(shape)
            states = draw_states(name, mine, (B,) if batched else (), rng)

            def make():
                leaves = [t.clone().requires_grad_() for t in (x, *states)]
                return leaves, call_of(leaves[0], leaves[1:])

            self.compare(theirs, mine, make, f"{number}: {name}({inputs}, {hidden}, {keywords}) on {shape}")

    def test_random_packed(self):
        rng = random.Random(6)
        for number in range(20):
            name, inputs, hidden, keywords = draw_case(rng)
            theirs, mine = pair(name, inputs, hidden, **keywords)
            theirs.eval(), mine.eval()
            B = rng.randint(1, 8)
            lengths = torch.tensor([rng.randint(1, 15) for _ in range(B)])
            is_sorted = rng.random() < 0.3
            lengths = lengths.sort(descending=True)[0] if is_sorted else lengths
            x = torch.randn(B, int(lengths.max()), inputs)
            states = draw_states(name, mine, (B,), rng)

            def make():
                leaves = [t.clone().requires_grad_() for t in (x, *states)]
                packed = pack_padded_sequence(leaves[0], lengths, batch_first=True, enforce_sorted=is_sorted)
                return leaves, call_of(packed, leaves[1:])

            self.compare(theirs, mine, make, f"{number}: {name}({inputs}, {hidden}, {keywords}) of {lengths.tolist()}")
            _, arguments = make()
            a, b = theirs(*arguments)[0], mine(*arguments)[0]
            self.assertTrue(torch.equal(a.batch_sizes, b.batch_sizes))
            self.close(pad_packed_sequence(b)[0], pad_packed_sequence(a)[0], 1e-6, "padded again")

    def test_parts_of_the_graph(self):
        """Gradients that come only from the states, and go only to some of the leaves."""
        theirs, mine = pair("LSTM", 3, 5, num_layers=2)
        for freeze in (False, True):
            for module in (theirs, mine):
                module.zero_grad()
                module.weight_hh_l0.requires_grad_(not freeze)
                module.bias_ih_l1.requires_grad_(not freeze)
                x = torch.ones(4, 2, 3)
                _, (_, cn) = module(x)
                cn.sin().sum().backward()
            for (name, a), b in zip(theirs.named_parameters(), mine.parameters()):
                self.assertEqual(a.grad is None, b.grad is None, name)
                if a.grad is not None:
                    self.close(b.grad, a.grad, 1e-5, name)

    def test_nothing_is_wanted_of_frozen_modules(self):
        theirs, mine = pair("GRU", 3, 5)
        gradients = []
        for module in (theirs, mine):
            module.requires_grad_(False)
            x = torch.ones(4, 2, 3, requires_grad=True)
            module(x)[0].sum().backward()
            gradients.append(x.grad)
        self.close(gradients[1], gradients[0], 1e-5, "d.x")

    def test_without_gradients(self):
        theirs, mine = pair("LSTM", 6, 7, num_layers=2, bidirectional=True)
        x = torch.randn(9, 3, 6)
        for context in (torch.no_grad(), torch.inference_mode()):
            with context:
                a, b = tensors(theirs(x)), tensors(mine(x))
            self.assertFalse(b[0].requires_grad)
            for i, j in zip(a, b):
                self.close(j, i, 1e-6, "no_grad")
        self.assertEqual(mine(x)[0].requires_grad, True)


@needs_torch
class DropIn(Case):
    @classmethod
    def setUpClass(cls):
        cls.threads = torch.get_num_threads()
        torch.set_num_threads(1)                        # Parity uses more; here threads would only wait for each other

    @classmethod
    def tearDownClass(cls):
        torch.set_num_threads(cls.threads)

    def test_constructors_and_state_dicts(self):
        for name, args, keywords in (
            ("LSTM", (3, 4, 2), {"proj_size": 2, "bidirectional": True}),
            ("GRU", (3, 4), {"bias": False, "num_layers": 3, "dropout": 0.2, "batch_first": True}),
            ("RNN", (3, 4, 2, "relu"), {}),
            ("RNN", (3, 4), {"nonlinearity": "tanh", "dtype": torch.float32, "device": "cpu"}),
        ):
            torch.manual_seed(3)
            theirs = getattr(nn, name)(*args, **keywords)
            torch.manual_seed(3)
            mine = getattr(ours, name)(*args, **keywords)
            self.assertEqual(repr(mine), repr(theirs))
            self.assertIsInstance(mine, getattr(nn, name))
            a, b = theirs.state_dict(), mine.state_dict()
            self.assertEqual(list(a), list(b))
            for key in a:
                self.assertTrue(torch.equal(a[key], b[key]), key)       # the same initial values
            mine.flatten_parameters()
        for wrong in ({"nonlinearity": "sine"}, {"hidden_size": 0}, {"num_layers": 0}):
            with self.assertRaises(ValueError):
                ours.RNN(**({"input_size": 2, "hidden_size": 2} | wrong))

    def test_copies_and_pickles(self):
        mine = ours.LSTM(3, 4, 2)
        x = torch.randn(5, 2, 3)
        y = mine(x)[0]
        file = io.BytesIO()
        torch.save(mine, file)
        file.seek(0)
        others = [copy.deepcopy(mine), pickle.loads(pickle.dumps(mine)), torch.load(file, weights_only=False)]
        with torch.no_grad():
            mine.weight_ih_l0.add_(1)
        for other in others:
            self.assertTrue(torch.equal(other(x)[0], y))
        self.assertFalse(torch.equal(mine(x)[0], y))

    def test_loads_with_weights_only(self):
        """Saved like PyTorch's own modules; the script allows our classes."""
        mine, file = Outer(), io.BytesIO()
        torch.save(mine, file)
        file.seek(0)
        with torch.serialization.safe_globals([Outer, nn.Linear]):
            other = torch.load(file, weights_only=True)
        x = torch.randn(2, 5, 3)
        self.assertTrue(torch.equal(other(x), mine(x)))

    def test_weights_that_change(self):
        """In every way: in place, .data, load_state_dict, another tensor, functional_call."""
        theirs, mine = pair("GRU", 3, 4)
        x = torch.randn(5, 2, 3)

        def same(what):
            self.close(mine(x)[0], theirs(x)[0], 1e-6, what)

        same("at first")
        for module in (theirs, mine):
            module.weight_hh_l0.data.mul_(0.5)          # not recorded by a version counter
        same(".data")
        for module in (theirs, mine):
            with torch.no_grad():
                module.bias_ih_l0.add_(0.25)
        same("in place")
        state = {key: value + 0.1 for key, value in theirs.state_dict().items()}
        for module in (theirs, mine):
            module.load_state_dict(state)
        same("load_state_dict")
        weight = nn.Parameter(torch.randn_like(mine.weight_ih_l0))
        for module in (theirs, mine):
            module.weight_ih_l0 = weight
        same("another parameter")
        changed = {key: value * 2 for key, value in theirs.state_dict().items()}
        self.close(
            torch.func.functional_call(mine, changed, (x,))[0],
            torch.func.functional_call(theirs, changed, (x,))[0], 1e-6, "functional_call")
        same("after functional_call")

    def test_a_training_is_the_same(self):
        """A shared module in two places, an optimizer, clipping: the same losses."""
        losses = []
        for module in pair("LSTM", 4, 8, num_layers=2, batch_first=True):
            torch.manual_seed(1)
            head = nn.Linear(8, 1)
            optimizer = torch.optim.AdamW([*module.parameters(), *head.parameters()], lr=0.02)
            x, y = torch.randn(6, 10, 4), torch.randn(6, 10, 1)
            found = []
            for _ in range(25):
                optimizer.zero_grad()
                first, states = module(x)
                second, _ = module(x.flip(1), states)   # twice before the backward
                loss = (head(first + second) - y).square().mean()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(module.parameters(), 0.5)
                optimizer.step()
                found.append(loss.item())
            losses.append(found)
        self.assertLess(max(abs(a - b) for a, b in zip(*losses)), 1e-4)
        self.assertLess(losses[1][-1], 0.9 * losses[1][0])

    def test_many_calls_before_backward(self):
        """A decoder: each step is a call, of which a hundred wait for their backward."""
        theirs, mine = pair("LSTM", 3, 5)
        gradients = []
        for module in (theirs, mine):
            x, states = torch.ones(1, 2, 3), None
            total = 0.0
            for _ in range(100):
                y, states = module(x, states)
                x = y[..., :3]
                total = total + y.sum()
            total.backward()
            gradients.append([p.grad for p in module.parameters()])
        for a, b in zip(*gradients):
            self.close(b, a, 1e-5, "decoder")

    def test_a_loop_makes_its_sessions_once(self):
        mine = ours.GRU(3, 5)
        calls = 3 * ours.IDLE_SESSIONS
        for _ in range(3):
            state = None
            for _ in range(calls):
                y, state = mine(torch.ones(1, 2, 3), state)
            y.sum().backward()
            self.assertEqual(ours.memory(mine)["made"], calls)
        self.assertEqual(ours.memory(mine)["idle"], calls)
        bytes_of_one = ours.memory(mine)["bytes"] / calls
        with unittest.mock.patch.object(ours, "IDLE_BYTES", 5.5 * bytes_of_one):
            self.assertEqual(ours.memory(mine)["idle"], 5)
        self.assertAlmostEqual(ours.memory(mine)["bytes"], 5 * bytes_of_one)

    def test_retained_graphs(self):
        theirs, mine = pair("GRU", 3, 5, num_layers=2)
        x = torch.randn(4, 2, 3)
        for module in (theirs, mine):
            loss = module(x)[0].sum()
            loss.backward(retain_graph=True)
            loss.backward()
        for a, b in zip(theirs.parameters(), mine.parameters()):
            self.close(b.grad, a.grad, 1e-5, "twice")
        loss = mine(x)[0].sum()
        loss.backward()
        with self.assertRaises(RuntimeError):
            loss.backward()

    def test_dropout(self):
        mine = ours.LSTM(8, 32, 2, dropout=0.5)
        x = torch.randn(10, 4, 8)
        torch.manual_seed(7)
        first, second = mine(x)[0], mine(x)[0]
        torch.manual_seed(7)
        with torch.no_grad():
            again = mine(x)[0]                          # training mode also drops without gradients
        self.assertTrue(torch.equal(first, again))
        self.assertFalse(torch.equal(first, second))
        plain = ours.LSTM(8, 32, 2)
        plain.load_state_dict(mine.state_dict())
        self.assertFalse(torch.equal(first, plain(x)[0]))
        mine.eval()
        self.assertTrue(torch.equal(mine(x)[0], plain(x)[0]))
        mine.train()
        torch.manual_seed(8)
        loss = mine(x)[0].sum()
        loss.backward(retain_graph=True)                # a repeated forward has the same masks
        once = [p.grad.clone() for p in mine.parameters()]
        loss.backward()
        for p, g in zip(mine.parameters(), once):
            self.close(p.grad, 2 * g, 1e-6, "masks of a second backward")
        mean = torch.stack([mine(x)[0] for _ in range(200)]).mean(0)
        self.assertLess((mean - plain(x)[0]).abs().mean().item(), 0.05)
        mine.dropout = 0.0                              # a script may change it
        self.assertTrue(torch.equal(mine(x)[0], plain(x)[0]))

    def test_threads(self):
        theirs, mine = pair("LSTM", 6, 9, num_layers=2)
        inputs = [torch.randn(t, 3, 6) for t in range(2, 8)]
        with torch.no_grad():
            expected = [theirs(x)[0] for x in inputs]
        wrong = []

        def work():
            for _ in range(15):
                for x, y in zip(inputs, expected):
                    leaf = x.clone().requires_grad_()
                    out = mine(leaf)[0]
                    (gradient,) = torch.autograd.grad(out.sum(), leaf)
                    if (out - y).abs().max() > 1e-6 or not gradient.isfinite().all():
                        wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_sessions_are_bounded(self):
        mine = ours.GRU(3, 5)
        for _ in range(2):
            for steps in range(1, 60):
                mine(torch.randn(steps, 2, 3))[0].sum().backward()
        found = ours.memory(mine)
        self.assertLessEqual(found["idle"], ours.IDLE_SESSIONS)
        kept = [mine(torch.randn(3, 2, 3))[0] for _ in range(5)]
        made = ours.memory(mine)["made"]
        del kept                                        # graphs that end without a backward return their sessions
        gc.collect()
        kept = [mine(torch.randn(3, 2, 3))[0] for _ in range(5)]
        self.assertEqual(ours.memory(mine)["made"], made)
        steady = ours.memory(mine)["made"]
        for steps in (33, 34, 35, 36) * 5:              # similar lengths: one session
            mine(torch.randn(steps, 2, 3))[0].sum().backward()
        self.assertLessEqual(ours.memory(mine)["made"] - steady, 1)


class Refusals(unittest.TestCase):
    def refused(self, kind, words, call):
        with self.assertRaises(kind) as caught:
            call()
        self.assertIn(words, str(caught.exception))


@needs_torch
class Compilers(Case, Refusals):
    """Tools that record or rewrite a module either work around our kernels, or are refused."""

    def setUp(self):
        torch.compiler.reset()

    def test_compile(self):
        """The script is compiled around them, for any shape; nothing is printed about objects created by dynamo."""
        mine = Outer()
        compiled = torch.compile(mine, backend="eager", dynamic=True)
        with unittest.mock.patch("sys.unraisablehook") as unraisable:
            for rows, steps in ((2, 5), (3, 7), (4, 2)):
                x = torch.randn(rows, steps, 3)
                gradients = []
                for module in (mine, compiled):
                    mine.zero_grad()
                    y = module(x)
                    y.square().sum().backward()
                    gradients.append([y, *(p.grad for p in mine.parameters())])
                for a, b in zip(*gradients):
                    self.assertTrue(torch.equal(a, b))
            gc.collect()
        unraisable.assert_not_called()

    def test_whole_graphs(self):
        """PyTorch refuses all RNNs here; if told not to, the reason is ours."""
        words = "the kernels of unroll.torch are no operations of PyTorch's; fix: without fullgraph"
        x = torch.randn(2, 5, 3)
        with torch._dynamo.config.patch(allow_rnn=True):
            compiled = torch.compile(Outer(), backend="eager", fullgraph=True)
            self.refused(torch._dynamo.exc.Unsupported, words, lambda: compiled(x))
        self.refused(torch._dynamo.exc.Unsupported, words, lambda: torch.export.export(Outer(), (x,), strict=True))

    def test_fx(self):
        mine, x = Outer(), torch.randn(2, 5, 3)
        graph = torch.fx.symbolic_trace(mine)
        self.assertIs(graph.rnn, mine.rnn)
        self.assertTrue(torch.equal(graph(x), mine(x)))
        self.assertTrue(torch.equal(pickle.loads(pickle.dumps(graph))(x), mine(x)))
        self.refused(RuntimeError, "GRU is a leaf of torch.fx's graphs; fix: trace what holds it",
                     lambda: torch.fx.symbolic_trace(ours.GRU(3, 4)))

    def test_tracing(self):
        mine, x = ours.GRU(3, 4), torch.randn(5, 2, 3)
        words = "unroll.torch.GRU can't be part of a graph that is traced or exported"
        self.refused(RuntimeError, words, lambda: torch.jit.trace(mine, x))
        self.refused(RuntimeError, words, lambda: torch.onnx.export(mine, (x,), io.BytesIO(), dynamo=False))
        self.refused(RuntimeError, words, lambda: torch.export.export(mine, (x,)))
        for mode in ("real", "fake"):
            make = torch.fx.experimental.proxy_tensor.make_fx(lambda x: mine(x)[0], tracing_mode=mode)
            self.refused(RuntimeError, words, lambda make=make: make(x))

    def test_script(self):
        words = "unroll.torch.LSTM can't be compiled by torch.jit.script; fix: load its state_dict into torch.nn.LSTM"
        for module in (ours.LSTM(3, 4), Outer()):
            self.refused(RuntimeError, words, lambda module=module: torch.jit.script(module))

    def test_func(self):
        mine, x = Outer(), torch.randn(2, 5, 3)
        parameters = dict(mine.named_parameters())

        def loss(parameters):
            return torch.func.functional_call(mine, parameters, (x,)).sum()

        words = "unroll.torch.LSTM can't be transformed by torch.func (grad, vmap, jvp, ..); fix: backward()"
        for transformed in (lambda: torch.func.grad(loss)(parameters), lambda: torch.func.jacrev(loss)(parameters),
                            lambda: torch.func.vmap(lambda row: mine(row[None]))(x),
                            lambda: torch.func.jvp(loss, (parameters,), (parameters,))):
            self.refused(RuntimeError, words, transformed)
        loss(parameters).backward()                     # without a transform it is an ordinary call


@needs_torch
class Refused(Refusals):

    def test_inputs(self):
        mine = ours.LSTM(3, 4, 2)
        x = torch.randn(5, 2, 3)
        self.refused(TypeError, "torch.float64", lambda: mine(x.double()))
        self.refused(TypeError, "the parameter weight_ih_l0 is torch.float64", lambda: ours.GRU(3, 4).double()(x))
        self.refused(RuntimeError, "on the device meta", lambda: mine(x.to("meta")))
        self.refused(RuntimeError, "input.size(-1)", lambda: mine(torch.randn(5, 2, 4)))
        self.refused(ValueError, "2D or 3D", lambda: mine(torch.randn(5, 2, 3, 1)))
        self.refused(RuntimeError, "both must be 1 or more", lambda: mine(torch.randn(0, 2, 3)))
        self.refused(RuntimeError, "c_0", lambda: mine(x, (torch.zeros(2, 2, 4), torch.zeros(2, 2, 5))))
        self.refused(RuntimeError, "h_0", lambda: mine(x, (torch.zeros(1, 2, 4), torch.zeros(2, 2, 4))))
        self.refused(RuntimeError, "3-D", lambda: mine(x, (torch.zeros(2, 4), torch.zeros(2, 4))))
        self.refused(ValueError, "is NaN", lambda: mine(torch.full((5, 2, 3), float("nan"))))
        self.refused(ValueError, "pair (h_0, c_0)", lambda: mine(x, torch.zeros(2, 2, 4)))
        mine(x)                                         # and still works

    def test_changed_before_backward(self):
        mine = ours.LSTM(3, 4)
        y = mine(torch.randn(5, 2, 3))[0]
        with torch.no_grad():
            mine.weight_hh_l0.add_(1)
        self.refused(RuntimeError, "modified by an inplace operation", lambda: y.sum().backward())

    def test_double_backward(self):
        mine = ours.RNN(3, 4)
        x = torch.randn(5, 2, 3, requires_grad=True)
        (g,) = torch.autograd.grad(mine(x)[0].sin().sum(), x, create_graph=True)
        self.refused(RuntimeError, "differentiate twice", lambda: g.sum().backward())
        (g,) = torch.autograd.grad(mine(x)[0].sum(), x, create_graph=True)      # of a constant gradient, too
        self.refused(RuntimeError, "differentiate twice", lambda: g.square().sum().backward())

    def test_one_state_of_two(self):
        mine, x, state = ours.LSTM(3, 4), torch.randn(5, 2, 3), torch.ones(1, 2, 4)
        mine(x, (state, state))                         # the next call must not use this session's states
        for pair_of_states in (state, None), (None, state):
            self.refused(ValueError, "the pair (h_0, c_0)", lambda given=pair_of_states: mine(x, given))

    def test_dropout_of_all(self):
        self.refused(ValueError, "`dropout` = 1", lambda: ours.LSTM(3, 4, 2, dropout=1.0)(torch.randn(5, 2, 3)))


@needs_torch
class Losses(Case):
    def test_values_and_gradients(self):
        """Compares with torch.nn in double, for logits up to +-100. The argument is a dense layer's bias, whose gradient
        is read.
        """
        targets = {"mse": torch.randn, "mae": torch.randn, "huber": torch.randn, "bce": torch.rand,
                   "poisson": lambda n: torch.poisson(3 * torch.rand(n))}
        theirs = {"mse": nn.MSELoss(), "mae": nn.L1Loss(), "huber": nn.HuberLoss(), "bce": nn.BCEWithLogitsLoss(),
                  "poisson": nn.PoissonNLLLoss(log_input=True, full=False)}
        torch.manual_seed(4)
        for name, loss in theirs.items():
            edges = torch.tensor([-100, -30, -1, 0, 1, 30, 100 if name != "poisson" else 80], dtype=torch.float32)
            for z in (torch.randn(40), edges):
                y = targets[name](len(z))
                m = unroll.Model.from_network([{"kind": "dense", "name": "z", "width": len(z)}], input=1, loss=name)
                torch.from_dlpack(m.parameters()["z.bias"]).copy_(z)
                s = m.session("train", steps=1, rows=1)
                s.forward(inputs=torch.zeros(1, 1, 1), target_values=y[None, None])
                s.backward()
                exact = z.double().requires_grad_()
                value = loss(exact, y.double())
                value.backward()
                self.assertAlmostEqual(s.result()["loss"] / value.item(), 1, delta=1e-12, msg=name)
                mine = torch.as_tensor(s.read("d.z.bias")).double()
                error = (mine - exact.grad).abs() / (exact.grad.abs() + 1e-2 / len(z))
                self.assertLess(error.max().item(), 1e-5, f"{name}: {mine} and {exact.grad}")


@needs_torch
class Classes(Case, Refusals):
    def test_weights_and_smoothing(self):
        """Losses are means, as in torch.nn.CrossEntropyLoss."""
        torch.manual_seed(6)
        z, y = torch.randn(40), torch.randint(0, 5, (8,), dtype=torch.int32)
        weights = torch.tensor([0.5, 2, 0, 1, 1.5])
        m = unroll.Model.from_network([{"kind": "dense", "name": "z", "width": 5, "bias": 0}], input=8, loss="xent")
        torch.from_dlpack(m.parameters()["z.weight"]).copy_(z.reshape(8, 5).T)
        s = m.session("train", steps=1, rows=8, class_weights=weights, label_smoothing=0.1)
        s.forward(inputs=torch.eye(8)[None], targets=y[None])
        s.backward()
        exact = z.reshape(8, 5).double().requires_grad_()
        value = nn.CrossEntropyLoss(weights.double(), label_smoothing=0.1)(exact, y.long())
        value.backward()
        result = s.result()
        self.assertAlmostEqual(result["loss"], value.item(), delta=1e-6)
        mine = torch.as_tensor(s.read("d.z.weight")).double().T / result["weight"]
        self.assertLess((mine - exact.grad).abs().max().item(), 1e-6)
        self.refused(ValueError, "class_weights", lambda: m.session("train", class_weights=torch.ones(2)))


@needs_torch
class Forks(unittest.TestCase):
    def test_child_trains_on(self):
        """Also if a thread of the parent held the locks."""
        mine, x = ours.LSTM(3, 4), torch.randn(5, 2, 3)
        mine(x)[0].sum().backward()
        expected = mine.weight_hh_l0.grad.clone()
        mine.zero_grad()
        held = ours._engines[mine].lock, ours._engines_lock
        with concurrent.futures.ThreadPoolExecutor(1) as other:
            for lock in held:
                other.submit(lock.acquire).result()
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                try:
                    mine(x)[0].sum().backward()
                    os._exit(0 if torch.equal(mine.weight_hh_l0.grad, expected) else 1)
                finally:
                    os._exit(2)
            for lock in held:
                other.submit(lock.release).result()
        self.assertEqual(os.waitpid(pid, 0)[1], 0)


if __name__ == "__main__":
    unittest.main()
