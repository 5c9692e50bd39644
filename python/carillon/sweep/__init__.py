"""Many runs of a command over a grid of parameters. Nothing is imported here, for the workers."""
