#!/usr/bin/env python3
"""Context binaries in files that ONNX Runtime and ExecuTorch wrote: qnnrt-run extract gives back the same bytes.

    build/engines/venv/bin/python tests/cli/containers.py [BUILD_DIR]       (make test-containers)

onnxruntime 1.31.1 with the provider of onnxruntime-qnn 2.7.0 compiles a model, with the binary in the .onnx and beside
it; qnnrt-run runs what was extracted on libQnnHtp.so 2.51, and its output is ONNX Runtime's, byte by byte. The .pte are
written by the serializer of the package executorch 1.5.1, which is fetched by its hash into BUILD_DIR/containers. Only its
serializer is used: the modules that need PyTorch are empty, and the delegates' bytes are the binary from above behind the
head that its QNN backend puts there."""
import os
import shutil
import subprocess
import sys
import tempfile
import types
import zipfile

import numpy
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime

import make_containers as make
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "fetch"))
import packages  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import check, close  # noqa: E402

EXECUTORCH = ("pip", "executorch", "1.5.1", "274c28c2fe2b76acb03f9fa381537425c40e0098dcf886baf6d97a1a55ffe300")
PLATFORMS = ["manylinux_2_28_x86_64"]
BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
TOOL = os.path.join(BUILD, "qnnrt-run")
QNN = os.path.join(BUILD, "qnn", "2.51", "onnxruntime_qnn")



def read(path):
    with open(path, "rb") as file:
        return file.read()


def tool(*words):
    done = subprocess.run([TOOL] + list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def taken(path, out):
    """Extract a file; return {name: bytes}."""
    code, said, wrong = tool("extract", path, "--output_dir", out)
    check("extract " + os.path.basename(path), code == 0 and wrong == "", said + wrong)
    return {name: read(os.path.join(out, name)) for name in sorted(os.listdir(out))} if code == 0 else {}


# ---- ONNX Runtime --------------------------------------------------------------------------------------------------


def model(path):
    random = numpy.random.RandomState(1)
    weight = onnx.numpy_helper.from_array((random.rand(32, 32).astype(numpy.float32) - 0.5), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["h"]), onnx.helper.make_node("Relu", ["h"], ["y"])], "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 32])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 32])], [weight])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), path)


def compile_model(tmp, embedded):
    """Let ONNX Runtime compile the model; return the path of what it wrote, and its output."""
    path = os.path.join(tmp, "embedded.onnx" if embedded else "beside.onnx")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    for key, value in (("ep.context_enable", "1"), ("ep.context_embed_mode", str(embedded)),
                       ("ep.context_file_path", path), ("session.disable_cpu_ep_fallback", "1")):
        options.add_session_config_entry(key, value)
    device = [one for one in onnxruntime.get_ep_devices() if one.ep_name.startswith("QNN")][:1]
    options.add_provider_for_devices(device, {"backend_type": "htp"})
    session = onnxruntime.InferenceSession(os.path.join(tmp, "model.onnx"), options)
    x = numpy.linspace(-1, 1, 32, dtype=numpy.float32).reshape(1, 32)
    x.tofile(os.path.join(tmp, "x.raw"))
    return path, session.run(None, {"x": x})[0].tobytes()


def runs(tmp, folder, expected):
    """What was extracted runs, and its output is ONNX Runtime's."""
    out = folder + "_out"
    code, said, wrong = tool("run", folder, "--backend_so", os.path.join(QNN, "libQnnHtp.so"), "--input",
                             "x=" + os.path.join(tmp, "x.raw"), "--output_dir", out)
    found = [os.path.join(at, name) for at, _, names in os.walk(out) for name in names if name == "y.raw"]
    check("run " + folder, code == 0 and len(found) == 1 and read(found[0]) == expected, said + wrong)


def models(tmp):
    onnxruntime.register_execution_provider_library("QNN", os.path.join(QNN, "libonnxruntime_providers_qnn.so"))
    model(os.path.join(tmp, "model.onnx"))
    for embedded in (0, 1):
        path, output = compile_model(tmp, embedded)
        nodes = [node for node in onnx.load(path).graph.node if node.op_type == "EPContext"]
        check(path, len(nodes) == 1, nodes)
        value = {one.name: one for one in nodes[0].attribute}
        check(path, value["embed_mode"].i == embedded, value)
        cache = value["ep_cache_context"].s
        binary = cache if embedded else read(os.path.join(tmp, cache.decode("utf-8")))
        out = os.path.join(tmp, "of_embedded" if embedded else "of_beside")
        got = taken(path, out)
        check(path, list(got.values()) == [binary], "%s, the node has %d bytes" % (got.keys(), len(binary)))
        runs(tmp, out, output)
    return binary, output


# ---- ExecuTorch ----------------------------------------------------------------------------------------------------


def fetch_executorch():
    """Return the folder of the unpacked serializer."""
    folder = os.path.join(BUILD, "containers", "executorch-1.5.1")
    stamp = EXECUTORCH[3] + "\n"

    def unpack(package, fresh):
        count = 0
        with zipfile.ZipFile(package) as archive:
            for name in archive.namelist():
                if name.startswith(("executorch/exir/_serialize/", "executorch-1.5.1.dist-info/licenses/")) or \
                        name in ("executorch/exir/schema.py", "executorch/exir/scalar_type.py",
                                 "executorch/exir/tensor_layout.py", "executorch/exir/backend/compile_spec_schema.py"):
                    archive.extract(name, fresh)
                    count += 1
        return count

    if not packages.is_there(folder, stamp):
        packages.say("fetching executorch 1.5.1 (19 MB)")
        packages.install(folder, stamp, lambda work: packages.download(*EXECUTORCH, PLATFORMS, work), unpack)
    return folder


class Empty(types.ModuleType):
    """A module in which every name is None."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def serializer(folder):
    """Import executorch's serializer without what needs PyTorch."""
    for name in ("executorch", "executorch.exir", "executorch.exir.backend"):
        module = types.ModuleType(name)
        module.__path__ = [os.path.join(folder, *name.split("."))]
        sys.modules[name] = module
    sys.modules["torch"] = Empty("torch")
    sys.modules["executorch.exir.tensor"] = tensor = Empty("executorch.exir.tensor")
    tensor.ALIGNMENT = 16
    from executorch.exir import schema
    from executorch.exir._serialize import _program
    return schema, _program


def programs(tmp, binary, output):
    schema, program = serializer(fetch_executorch())

    def delegate(owner, index):
        return schema.BackendDelegate(id=owner, compile_specs=[], processed=schema.BackendDelegateDataReference(
            schema.DataLocation.INLINE, index))

    def plan(name, delegates):
        return schema.ExecutionPlan(
            name=name, container_meta_type=schema.ContainerMetadata("", ""), values=[], inputs=[], outputs=[], chains=[],
            operators=[], delegates=delegates, non_const_buffer_sizes=[0])

    other = make.context(5, 4000)
    for at in (20, 256):
        for segments in (False, True):
            made = schema.Program(
                version=0, constant_buffer=[], segments=[], constant_segment=schema.SubsegmentOffsets(0, []),
                backend_delegate_data=[schema.BackendDelegateInlineData(data=data) for data in
                                       (make.wrapped(binary, at), b"weights of another", make.wrapped(other, at))],
                execution_plan=[plan("forward", [delegate("QnnBackend", 0), delegate("XnnpackBackend", 1)]),
                                plan("kv", [delegate("QnnBackend", 0), delegate("QnnBackend", 2)])])
            name = "program_%d_%d" % (at, segments)
            path = os.path.join(tmp, name + ".pte")
            with open(path, "wb") as file:
                file.write(bytes(program.serialize_pte_binary(program.PTEFile(program=made),
                                                              extract_delegate_segments=segments)))
            got = taken(path, os.path.join(tmp, name))
            check(name, got == {name + "_1_of_2.bin": binary, name + "_2_of_2.bin": other}, got.keys())
    alone = os.path.join(tmp, "alone")
    os.makedirs(alone)
    if got:
        shutil.copy(os.path.join(tmp, name, name + "_1_of_2.bin"), os.path.join(alone, "forward_0.bin"))
        runs(tmp, alone, output)


def main():
    tmp = tempfile.mkdtemp(prefix="containers.")
    try:
        programs(tmp, *models(tmp))
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    return close()


if __name__ == "__main__":
    sys.exit(main())
