#!/bin/sh
# Compiles Baton's own crates with what libFuzzer needs and all checks of a debug build (make fuzz). Coverage is a
# pass of LLVM's own, so that stable Rust does; a sanitizer would tell nothing more where there is no `unsafe`.
exec "$@" --cfg fuzzing -Cdebug-assertions -Coverflow-checks -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares
