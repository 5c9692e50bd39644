"""Cells on a pool of simulated devices in virtual time. Nothing of it is measured."""
