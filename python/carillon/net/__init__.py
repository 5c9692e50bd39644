"""What the network alone costs: round trips of a subframe's samples (the paper's section 8.3)."""
