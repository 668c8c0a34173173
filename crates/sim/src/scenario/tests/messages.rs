//! Mistakes and their messages.
