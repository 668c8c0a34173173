"""The comparison of remedies: all of them, at all handovers, over the studies' paths or a user's own."""
