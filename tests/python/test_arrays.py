"""Arrays as arguments and results: shared memory, and every kind of array that is refused."""

import array
import copy
import gc
import pickle
import sys
import unittest
import weakref

import unroll
from common import flat, floats, integers, needs_numpy, needs_torch, numpy, torch

T, B, INPUT, HIDDEN = 5, 3, 4, 6


def model(**more):
    return unroll.Model(**({"input": INPUT, "hidden": HIDDEN, "seed": 2} | more))


class In(unittest.TestCase):
    def setUp(self):
        self.model = model()
        self.x = floats(T, B, INPUT)
        self.expected = flat(self.model.run(self.x).outputs)

    def test_memoryview_and_bytes_are_alike(self):
        self.assertEqual(flat(self.model.run(self.x).outputs), self.expected)

    @needs_numpy
    def test_numpy(self):
        x = numpy.asarray(self.x)
        self.assertEqual(flat(self.model.run(x).outputs), self.expected)
        x.flags.writeable = False                       # reading does not require write access
        self.assertEqual(flat(self.model.run(x).outputs), self.expected)

    @needs_torch
    def test_torch(self):
        x = torch.tensor(flat(self.x)).view(T, B, INPUT)
        self.assertEqual(flat(self.model.run(x).outputs), self.expected)
        part = torch.cat([torch.zeros(T, B, INPUT), x])[T:]     # begins inside its memory
        self.assertEqual(flat(self.model.run(part).outputs), self.expected)

    def test_own_arrays_come_in(self):
        other = model(input=HIDDEN)
        y = self.model.run(self.x).outputs
        self.assertEqual(flat(other.run(y).outputs), flat(other.run(memoryview(y)).outputs))

    def refused(self, kind, words, x, **more):
        with self.assertRaises(kind) as caught:
            self.model.run(x, **more)
        self.assertIn(words, str(caught.exception))

    def test_wrong_types(self):
        self.refused(TypeError, "expected values of float32, not d", array.array("d", [0.0] * T))
        self.refused(TypeError, "not i", integers(T, B, below=3))
        self.refused(TypeError, "not 'list'", [[1.0]])
        self.refused(TypeError, "the model reads inputs", None)
        self.refused(TypeError, "lengths", self.x, lengths=array.array("f", [1.0] * B))

    def test_wrong_shapes(self):
        self.refused(ValueError, "expected the shape [steps, rows, input]", array.array("f", [0.0] * T))
        self.refused(ValueError, f", not [{T}, {B}, {INPUT + 1}]", floats(T, B, INPUT + 1))
        self.refused(ValueError, f"lengths: expected the shape [{B}]", self.x, lengths=array.array("i", [1]))
        self.refused(ValueError, "more than 4", memoryview(bytes(4)).cast("f", (1, 1, 1, 1, 1)))
        self.refused(ValueError, "the model has no 'x.l0'", self.x, states={"x.l0": self.x})
        self.refused(ValueError, "h0.l0: expected the shape", self.x, states={"h.l0": self.x})
        self.refused(ValueError, f"h0.l0: expected the shape [{B}, {HIDDEN}], not [{HIDDEN}, {B}]", self.x,
                     states={"h.l0": floats(HIDDEN, B)})

    def test_wrong_numbers(self):
        flat_x = array.array("f", flat(self.x))
        flat_x[7] = float("nan")
        with self.assertRaises(unroll.DataError) as caught:
            self.model.run(memoryview(flat_x).cast("B").cast("f", (T, B, INPUT)))
        self.assertEqual(caught.exception.status, 3)
        self.assertIn("inputs[t=0, row=1, 3] is NaN", str(caught.exception))
        state = array.array("f", [0.0] * B * HIDDEN)
        state[5] = float("inf")
        self.refused(unroll.DataError, "'h0.l0' contains NaN or infinity at index 5", self.x,
                     states={"h.l0": memoryview(state).cast("B").cast("f", (B, HIDDEN))})
        self.refused(unroll.DataError, "lengths[row=1] = 9", self.x, lengths=array.array("i", [1, 9, 2]))

    @needs_numpy
    def test_not_contiguous(self):
        x = numpy.zeros((B, T, INPUT), "f").transpose(1, 0, 2)
        self.refused(ValueError, "not contiguous", x)
        self.refused(ValueError, "not contiguous", numpy.zeros((T, B, 2 * INPUT), "f")[:, :, ::2])
        self.refused(TypeError, "not >f", numpy.zeros((T, B, INPUT), ">f4"))
        self.refused(TypeError, "float32", numpy.zeros((T, B, INPUT)))
        self.refused(TypeError, "float32", numpy.zeros((T, B, INPUT), "f2"))

    @needs_torch
    def test_refused_tensors(self):
        self.refused(ValueError, "not contiguous", torch.zeros(B, T, INPUT).transpose(0, 1))
        self.refused(TypeError, "float64", torch.zeros(T, B, INPUT, dtype=torch.float64))
        self.refused(TypeError, "bfloat16", torch.zeros(T, B, INPUT, dtype=torch.bfloat16))
        self.refused(BufferError, "require gradient", torch.zeros(T, B, INPUT, requires_grad=True))

    def test_a_strange_capsule(self):
        class Strange:
            def __init__(self, device, capsule):
                self.device, self.capsule = device, capsule

            def __dlpack__(self):
                return self.capsule

            def __dlpack_device__(self):
                return self.device

        self.refused(ValueError, "another device", Strange((2, 0), None))
        self.refused(TypeError, "no DLPack capsule", Strange((1, 0), 3))
        self.refused(TypeError, "", Strange(1, 3))


class Out(unittest.TestCase):
    def setUp(self):
        self.y = model().run(floats(T, B, INPUT)).outputs

    def test_looks(self):
        self.assertEqual((self.y.shape, self.y.dtype, len(self.y)), ((T, B, HIDDEN), "float32", T))
        self.assertEqual(repr(self.y), f"Array(shape=({T}, {B}, {HIDDEN}), dtype='float32')")
        self.assertEqual(self.y[1, 2, 3], self.y.tolist()[1][2][3])

    def test_pickles_and_copies(self):
        result = model().run(floats(T, B, INPUT))
        for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
            self.assertEqual((bytes(other.outputs), other.outputs.shape), (bytes(self.y), self.y.shape))
            self.assertEqual(bytes(other.states["s.l0"]), bytes(result.states["s.l0"]))
        other = copy.copy(self.y)
        memoryview(other)[0, 0, 0] = 7
        self.assertNotEqual(self.y[0, 0, 0], 7)
        for shape, dtype in (((3,), "float32"), ((2, -1), "float32"), ((1,) * 5, "float32"), ((2,), "float64"),
                             ((1 << 40, 1 << 40), "uint8"), (("2",), "float32")):
            with self.assertRaises((ValueError, TypeError)):
                unroll._core.array(bytes(8), shape, dtype)

    def test_memoryview_shares(self):
        view = memoryview(self.y)
        self.assertEqual((view.format, view.shape, view.readonly), ("f", (T, B, HIDDEN), False))
        view[0, 0, 0] = 0.25
        self.assertEqual(self.y[0, 0, 0], 0.25)

    @needs_numpy
    def test_numpy_shares(self):
        for y in (numpy.asarray(self.y), numpy.from_dlpack(self.y)):
            self.assertEqual((y.shape, y.dtype), ((T, B, HIDDEN), numpy.float32))
            y[0, 0, 0] += 1
            self.assertEqual(self.y[0, 0, 0], y[0, 0, 0])
        copied = numpy.from_dlpack(self.y, copy=True)
        copied[0, 0, 0] += 1
        self.assertNotEqual(self.y[0, 0, 0], copied[0, 0, 0])

    @needs_torch
    def test_torch_shares(self):
        y = torch.from_dlpack(self.y)
        self.assertEqual(tuple(y.shape), (T, B, HIDDEN))
        y[0, 0, 0] = 3
        self.assertEqual(self.y[0, 0, 0], 3)
        here = self.y[1, 1, 1]
        self.y = None                                   # the tensor keeps the memory alive
        gc.collect()
        self.assertEqual(y[1, 1, 1].item(), here)

    def test_capsules_nobody_takes(self):
        before = sys.getrefcount(self.y)
        for version in (None, (1, 0), (1, 1), (2, 0), (0, 8)):
            capsule = self.y.__dlpack__(max_version=version)
            self.assertEqual(sys.getrefcount(self.y), before + 1)
            del capsule
        self.assertEqual(sys.getrefcount(self.y), before)
        self.assertEqual(self.y.__dlpack_device__(), (1, 0))
        for wrong in ({"stream": 1}, {"dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                self.y.__dlpack__(**wrong)

    def test_no_references_stay(self):
        x = floats(T, B, INPUT)
        m = model()
        m.run(x)
        before = sys.getrefcount(x)
        for _ in range(20):
            m.run(x)
        self.assertEqual(sys.getrefcount(x), before)
        with self.assertRaises(ValueError):
            m.run(x, states={"h.l0": x})
        self.assertEqual(sys.getrefcount(x), before)

    def test_model_and_its_sessions_end_together(self):
        m = model()
        m.run(floats(T, B, INPUT))                      # keeps a session, which keeps the model
        ended = weakref.ref(m)
        del m
        gc.collect()
        self.assertIsNone(ended())

    def test_weights_are_the_models_memory(self):
        m = model()
        w = m.parameters()["rnn.bias_ih_l0"]
        memoryview(w)[0] = 0.5
        self.assertEqual(m.parameters()["rnn.bias_ih_l0"][0], 0.5)
        del m
        gc.collect()
        self.assertEqual(w[0], 0.5)
        with self.assertRaises(TypeError):
            unroll.Array()


class Into(unittest.TestCase):
    """Results written into the caller's arrays."""

    def test_out(self):
        stream = model().stream(rows=B)
        out = floats(B, HIDDEN)
        given = stream.step(floats(B, INPUT), out)
        self.assertIs(given, out)
        other = model().stream(rows=B)
        self.assertEqual(flat(out), flat(other.step(floats(B, INPUT))))

    def test_refused(self):
        stream = model().stream(rows=B)
        x = floats(B, INPUT)
        with self.assertRaisesRegex(ValueError, "read-only"):
            stream.step(x, floats(B, HIDDEN).toreadonly())
        with self.assertRaisesRegex(ValueError, "shape"):
            stream.step(x, floats(B, HIDDEN + 1))
        with self.assertRaisesRegex(TypeError, "not 'bytes'|not 'list'|not B"):
            stream.step(x, bytes(4 * B * HIDDEN))


if __name__ == "__main__":
    unittest.main()
