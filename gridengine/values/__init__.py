"""Small values without a state: times and sizes, ranges, task keys, names of instances, topology."""
