"""How likely a subframe is late over clock and load: points, models and their search.

Source: Malm, Ruttik and Tirkkonen, "Latency-aware power management in software-defined radios".
"""
