"""A small generator of pictures: a flow-matching transformer, its training and its samplers."""
