"""Speed and memory, as ratios against peers in the same process on the same data."""
