"""Draw where the tensors of a pipeline lie, and where its time goes.

    python examples/python/plan_and_profile.py MODEL_DIR [BACKEND_LIBRARY [OUT.png]]

For example, after `make run`, with the wheel of `make wheel` installed:

    python examples/python/plan_and_profile.py build/run/ref/model libQnnRef.so plan_and_profile.png

The cells (# %%) run one by one in an editor for notebooks. Without matplotlib the numbers are printed, not drawn."""

# %% Open the model, and look at it.
import sys

import qnnrt

if len(sys.argv) < 2:
    sys.exit(__doc__)
path = sys.argv[1]
backend = sys.argv[2] if len(sys.argv) > 2 else "libQnnRef.so"
out = sys.argv[3] if len(sys.argv) > 3 else "plan_and_profile.png"
model = qnnrt.open(path, backend=backend)
name = next(iter(model.pipelines))
print(model)
print(model.pipelines[name])

# %% The plan: which bytes a tensor has, and in which steps.
plan = model.plan(name)
print("%s: %d bytes, %d without sharing" % (plan.pipeline, plan.peak, plan.naive))
for block in plan.blocks:
    print("  %8d..%-8d steps %d to %d  %-7s %s" % (block.offset, block.offset + block.nbytes, block.first, block.last, block.role, block.name))

# %% The profile: what each node took in one exec.
run = model.prepare(name)
run.exec()
run.profile("detailed")
run.exec()
events = run.events()
nodes = [e for e in events if e.node]
nodes.sort(key=lambda e: -e.value)
for event in nodes[:10]:
    print("  %10g %-6s step %d  %s" % (event.value, event.unit, event.step, event.node))

# %% Both as pictures.
try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    print("plan_and_profile: skipped: matplotlib is not installed")
    sys.exit(0)

colors = {"input": "#4477aa", "output": "#228833", "edge": "#ccbb44", "buffer": "#aa3377"}
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5))
for block in plan.blocks:
    left.broken_barh([(block.first, block.last - block.first + 1)], (block.offset, block.nbytes), facecolors=colors.get(block.role, "#bbbbbb"), edgecolor="white")
left.set(title="plan of %s: %d bytes" % (plan.pipeline, plan.peak), xlabel="step", ylabel="offset")
top = nodes[:20][::-1]
right.barh([e.node for e in top], [e.value for e in top], color="#4477aa")
right.set(title="profile on %s" % model.device, xlabel=top[0].unit if top else "")
figure.tight_layout()
figure.savefig(out)
print("wrote " + out)
