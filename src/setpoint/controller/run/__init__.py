"""One run of a controller: delivery of events, workers, reconciler, and the share of one process."""
