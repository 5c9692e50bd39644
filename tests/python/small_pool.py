"""A pool that is simulated in no time, for tests."""

SMALL = """devices: [{type: a100, count: 2}]
cells: [{cell: 64x32-uplink}]
frames: 60
warm_up: 10
"""
