"""Learn a line through data with TensorFlow's `MultiWorkerMirroredStrategy`: each replica has a part of the data.

The strategy takes all that it knows of the other replicas from TF_CONFIG. TensorFlow is all that is needed.
"""

import tensorflow as tf

STEPS = 60
RATE = 0.5

strategy = tf.distribute.MultiWorkerMirroredStrategy()
task, replicas = strategy.cluster_resolver, strategy.num_replicas_in_sync

xs = tf.linspace(0.0, 1.0, 16)[task.task_id :: replicas]
ys = 3.0 * xs + 1.0

with strategy.scope():
    slope, offset = tf.Variable(0.0), tf.Variable(0.0)


def descend() -> None:
    """One step down the gradient, which is the mean of those of all replicas."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(slope * xs + offset - ys))
    gradients = tape.gradient(loss, [slope, offset])
    everywhere = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
    slope.assign_sub(RATE * everywhere[0])
    offset.assign_sub(RATE * everywhere[1])


step = tf.function(lambda: strategy.run(descend))
for _ in range(STEPS):
    step()
learned = f"{float(slope.read_value()):.1f} x + {float(offset.read_value()):.1f}"
print(f"{task.task_type}-{task.task_id} of {replicas}: y = {learned}", flush=True)
