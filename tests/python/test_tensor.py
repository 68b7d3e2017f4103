"""Tensors without numpy: what they export by DLPack, read by a consumer of our own and by numpy."""
import ctypes
import gc
import os
import subprocess
import sys
import unittest

import qnnrt
from common import needs_numpy, numpy
from qnnrt import _arrays


def words(dtype, values, shape):
    tensor = qnnrt.Tensor.empty(dtype, shape)
    tensor.data[:] = memoryview(bytearray(tensor.nbytes)).cast(tensor.data.format)
    for i, value in enumerate(values):
        tensor.data[i] = value
    return tensor


class Consumer:
    """Read a capsule by the offsets of dlpack.h on 64 bits, not by the package's structs."""

    TENSOR = {b"dltensor": 0, b"dltensor_versioned": 32}
    DELETER = {b"dltensor": 56, b"dltensor_versioned": 16}

    def __init__(self, capsule):
        api = ctypes.pythonapi
        api.PyCapsule_GetName.argtypes, api.PyCapsule_GetName.restype = [ctypes.py_object], ctypes.c_char_p
        api.PyCapsule_GetPointer.argtypes, api.PyCapsule_GetPointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
        api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
        self.name = api.PyCapsule_GetName(capsule)
        self.base = api.PyCapsule_GetPointer(capsule, self.name)
        self.used = b"used_" + self.name
        api.PyCapsule_SetName(capsule, self.used)
        self.capsule, at = capsule, self.base + self.TENSOR[self.name]
        self.data = ctypes.c_void_p.from_address(at).value
        self.device = tuple((ctypes.c_int32 * 2).from_address(at + 8))
        rank = ctypes.c_int32.from_address(at + 16).value
        self.type = tuple((ctypes.c_uint8 * 2).from_address(at + 20)) + (ctypes.c_uint16.from_address(at + 22).value,)
        pointers = (ctypes.c_void_p * 2).from_address(at + 24)
        self.shape, self.strides = (tuple((ctypes.c_int64 * rank).from_address(p)) for p in pointers)
        self.flags = ctypes.c_uint64.from_address(self.base + 24).value if self.name == b"dltensor_versioned" else None
        self.version = tuple((ctypes.c_uint32 * 2).from_address(self.base)) if self.flags is not None else None

    def end(self):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.c_void_p.from_address(self.base + self.DELETER[self.name]).value)(self.base)


@unittest.skipIf(ctypes.sizeof(ctypes.c_void_p) != 8, "the offsets are those of 64 bits")
class DlpackTest(unittest.TestCase):
    def test_plain_and_versioned(self):
        tensor = words("int32", range(6), (2, 3))
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        for version, name in ((None, b"dltensor"), ((0, 8), b"dltensor"), ((1, 0), b"dltensor_versioned"), ((2, 3), b"dltensor_versioned")):
            got = Consumer(tensor.__dlpack__(max_version=version))
            self.assertEqual((got.name, got.device, got.type, got.shape, got.strides), (name, (1, 0), (0, 32, 1), (2, 3), (3, 1)))
            self.assertEqual((got.version, got.flags), (None, None) if name == b"dltensor" else ((1, 0), 0))
            self.assertEqual(list((ctypes.c_int32 * 6).from_address(got.data)), list(range(6)))
            ctypes.c_int32.from_address(got.data).value = 70
            self.assertEqual(tensor.data[0], 70)
            tensor.data[0] = 0
            got.end()
        copied = Consumer(tensor.__dlpack__(max_version=(1, 0), copy=True))
        ctypes.c_int32.from_address(copied.data).value = 70
        self.assertEqual((copied.flags, tensor.data[0]), (2, 0))
        copied.end()
        self.assertEqual(_arrays._exported, {})

    def test_types(self):
        for dtype, expected in (("float32", (2, 32, 1)), ("float16", (2, 16, 1)), ("bfloat16", (4, 16, 1)), ("bool", (6, 8, 1)), ("ufixed8", (1, 8, 1)),
                                ("sfixed16", (0, 16, 1)), ("uint64", (1, 64, 1))):
            got = Consumer(qnnrt.Tensor.empty(dtype, ()).__dlpack__())
            self.assertEqual((got.type, got.shape), (expected, ()), dtype)
            got.end()
        with self.assertRaisesRegex(BufferError, "int4"):
            qnnrt.Tensor(memoryview(bytearray(2)), "int4", (4,)).__dlpack__()

    def test_memory_stays(self):
        tensor = words("uint8", [1, 2, 3], (3,))
        owner = tensor.data.obj
        before = sys.getrefcount(owner)
        got = Consumer(tensor.__dlpack__())
        with self.assertRaises(BufferError):
            tensor.data.release()
        del tensor
        gc.collect()
        self.assertEqual(bytes((ctypes.c_uint8 * 3).from_address(got.data)), bytes([1, 2, 3]))
        with self.assertRaises(BufferError):
            owner.append(4)
        got.end()
        self.assertLess(sys.getrefcount(owner), before)
        owner.append(4)

    def test_capsules_that_nobody_used(self):
        tensor = words("uint8", [1, 2, 3], (3,))
        for version in (None, (1, 0)):
            capsule = tensor.__dlpack__(max_version=version)
            self.assertEqual(len(_arrays._exported), 1)
            del capsule
            self.assertEqual(_arrays._exported, {})

    def test_refusals(self):
        tensor = qnnrt.Tensor(memoryview(bytes(4)).cast("f"), "float32", (1,))
        with self.assertRaisesRegex(BufferError, "read-only"):
            tensor.__dlpack__()
        got = Consumer(tensor.__dlpack__(max_version=(1, 0)))
        self.assertEqual(got.flags, 1)
        got.end()
        with self.assertRaises(qnnrt.ArgumentError):
            tensor.__dlpack__(stream=1)
        with self.assertRaisesRegex(BufferError, "cpu"):
            tensor.__dlpack__(max_version=(1, 0), dl_device=(2, 0))
        tensor.data.release()
        with self.assertRaises(qnnrt.StateError):
            tensor.__dlpack__(max_version=(1, 0))
        self.assertEqual(_arrays._exported, {})

    @needs_numpy
    def test_numpy(self):
        tensor = words("float32", [1, 2, 3, 4], (2, 2))
        array = numpy.from_dlpack(tensor)
        self.assertEqual(array.tolist(), [[1, 2], [3, 4]])
        tensor.data[3] = 9
        del tensor
        gc.collect()
        self.assertEqual(array[1, 1], 9)
        del array
        fixed = numpy.from_dlpack(qnnrt.Tensor(memoryview(bytes(4)), "uint8", (4,)))
        self.assertFalse(fixed.flags.writeable)
        del fixed
        gc.collect()
        self.assertEqual(_arrays._exported, {})

    def test_at_the_end_of_the_process(self):
        program = ("import qnnrt, sys\nt = qnnrt.Tensor.empty('float32', (2,))\nkept = t.__dlpack__()\nsys.kept = t.__dlpack__(max_version=(1, 0))\n"
                   "try:\n    import numpy\n    sys.array = array = numpy.from_dlpack(t)\nexcept ImportError:\n    pass\n")
        done = subprocess.run([sys.executable, "-c", program], env=dict(os.environ), capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main()
