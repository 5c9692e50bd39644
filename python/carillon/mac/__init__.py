"""An example of a scheduler at a cell's data port (docs/mac.md). No standard's MAC: it divides
resource blocks, adapts rates and sends again what failed, without headers or anything that a user
would have to learn beyond the grants."""
