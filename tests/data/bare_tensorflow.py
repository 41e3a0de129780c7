"""A bare tf.Module."""

import tensorflow as tf


class Linear(tf.Module):
    def __init__(self, units=3):
        super().__init__()
        self.w = tf.Variable(tf.ones((4, units)))

    def __call__(self, x, scale):
        return x @ self.w * scale


Linear.example = (tf.ones((2, 4)), tf.constant(2.0))
