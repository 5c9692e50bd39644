"""Carillon: real-time massive-MIMO baseband. Commands, configuration, studies and reports.

Nothing is imported here, so that the program (`__main__`) is ready for Ctrl-C at once.
"""
