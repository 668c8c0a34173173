"""The physical layer of L-DACS1, for tables of error rates over the SNR."""
