"""The comparison of remedies: all that there are, at all handovers, over the studies' paths or a user's own."""
