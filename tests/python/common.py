"""What the tests of the package share. QNNRT_BUILD: the build folder, QNNRT_TEST_MODELS: models that test_python.sh made."""
import os
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("QNNRT_BUILD", os.path.join(TOP, "build"))
MODELS = os.environ.get("QNNRT_TEST_MODELS", os.path.join(BUILD, "python-models"))
LAYER, LLM = os.path.join(MODELS, "layer"), os.path.join(MODELS, "llm")
REF = "libQnnRef.so"

try:
    import numpy
except ImportError:
    numpy = None
needs_numpy = unittest.skipIf(numpy is None, "numpy is not installed")
