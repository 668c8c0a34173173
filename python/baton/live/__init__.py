"""A scenario in real time, with the kernel's own protocols and any program: `baton live`."""
