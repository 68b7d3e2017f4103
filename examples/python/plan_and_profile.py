"""Draw where the tensors of a pipeline lie, and where its time goes.

    python examples/python/plan_and_profile.py MODEL_DIR [BACKEND_LIBRARY [OUT.png]]

For example, after `make run`, with the wheel of `make wheel` installed:

    python examples/python/plan_and_profile.py build/run/ref/model libQnnRef.so plan_and_profile.png

The cells (# %%) run one by one in an editor for notebooks. Without matplotlib the numbers are printed, not drawn."""

# %% Open the model, and look at it.
import signal
import sys

import qnnrt

signal.signal(signal.SIGPIPE, signal.SIG_DFL)    # `| head` ends it, without a traceback

if len(sys.argv) < 2:
    sys.exit(__doc__)
path = sys.argv[1]
backend = sys.argv[2] if len(sys.argv) > 2 else "libQnnRef.so"
out = sys.argv[3] if len(sys.argv) > 3 else "plan_and_profile.png"
try:
    model = qnnrt.open(path, backend=backend)
except (OSError, qnnrt.Error) as error:
    sys.exit("plan_and_profile: %s" % error)
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
    import matplotlib.ticker
except ImportError:
    print("plan_and_profile: skipped: matplotlib is not installed")
    sys.exit(0)

colors = {"input": "#4477aa", "output": "#228833", "edge": "#ccbb44", "buffer": "#aa3377"}
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6))
seen = {}
for block in plan.blocks:
    seen[block.role] = color = colors.get(block.role, "#bbbbbb")
    left.broken_barh([(block.first - 0.5, block.last - block.first + 1)], (block.offset, block.nbytes), facecolors=color, edgecolor="white")
    if block.nbytes * 30 > plan.peak:
        left.text((block.first + block.last) / 2, block.offset + block.nbytes / 2, block.name, ha="center", va="center", color="white", fontsize=7, clip_on=True)
left.set(title="plan of %s: %s bytes" % (plan.pipeline, format(plan.peak, ",")), xlabel="step", ylabel="offset in bytes")
left.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True, min_n_ticks=1))
left.yaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,.0f}"))
left.legend([plt.Rectangle((0, 0), 1, 1, color=c) for c in seen.values()], list(seen), loc="upper left", bbox_to_anchor=(0, -0.1), ncols=len(seen) or 1, frameon=False)
# Two steps may have nodes of one name: bars have numbers, and names are labels.
top = nodes[:20][::-1]
right.barh(range(len(top)), [e.value for e in top], color="#4477aa", tick_label=["%s (step %d)" % (e.node, e.step) for e in top])
right.tick_params(axis="y", labelsize=8)
right.set(title="profile on %s: %d of %d nodes" % (model.device, len(top), len(nodes)), xlabel=top[0].unit if top else "no events")
figure.tight_layout()
figure.savefig(out, dpi=110)
print("wrote " + out)
