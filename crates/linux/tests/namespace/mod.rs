//! A network namespace of a test's own.

use baton_linux::readiness::wait_readable;
use nix::sched::{CloneFlags, unshare};
use std::os::fd::AsFd;
use std::time::Duration;

/// A wait that takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Does `work` in a new network namespace, in which the kernel is silent.
pub fn in_new_namespace(work: impl FnOnce() + Send + 'static) {
    let inside = std::thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).expect("root may make namespaces");
        std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
        work();
    });
    inside.join().unwrap();
}

/// Waits until something can be read.
pub fn wait(descriptor: &impl AsFd) {
    let ready = wait_readable(&[descriptor.as_fd()], PATIENCE).unwrap();
    assert!(ready[0], "nothing comes");
}
