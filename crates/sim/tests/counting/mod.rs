//! The system's allocator, counted, for the test of allocations and the benchmark of memory.
#![allow(unsafe_code)] // A global allocator cannot be written without.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts per thread, because tests run side by side.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static LIVE_BYTES: Cell<i64> = const { Cell::new(0) };
}

fn count(allocations: u64, bytes: i64) {
    ALLOCATIONS.set(ALLOCATIONS.get() + allocations);
    LIVE_BYTES.set(LIVE_BYTES.get() + bytes);
}

// SAFETY: every call goes to the system's allocator as it came; the counters are plain cells without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the allocations of this thread so far, including growth of existing ones.
#[allow(dead_code)] // The benchmark asks only for the other.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// Returns the bytes that this thread has allocated and not freed.
pub fn live_bytes() -> i64 {
    LIVE_BYTES.get()
}
