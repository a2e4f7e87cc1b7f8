"""Reads the events of a directory with TensorBoard's own reader; prints the same as read_events.py."""
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1])
events.Reload()
for tag in sorted(events.Tags()["scalars"]):
    for event in events.Scalars(tag):
        print(f"{tag} {event.step} {event.value:.5g}")
