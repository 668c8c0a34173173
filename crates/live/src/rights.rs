//! The right to make network namespaces: the caller's own, or that of a user namespace.

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid, getgid, getuid, setfsgid, setfsuid};
use std::fs;
use std::io;

/// Bit of capabilities(7).
const NET_ADMIN: u64 = 1 << 12;
const SYS_ADMIN: u64 = 1 << 21;

/// The caller, who runs the programs and owns the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invoker {
    /// User.
    pub uid: Uid,
    /// Group.
    pub gid: Gid,
}

impl Invoker {
    /// Returns the user who typed the command: with `sudo`, its caller.
    pub fn find() -> Invoker {
        let behind_sudo = |name: &str| {
            let number: Option<u32> = std::env::var(name).ok().and_then(|text| text.parse().ok());
            number.filter(|_| getuid().is_root())
        };
        Invoker {
            uid: behind_sudo("SUDO_UID").map_or_else(getuid, Uid::from_raw),
            gid: behind_sudo("SUDO_GID").map_or_else(getgid, Gid::from_raw),
        }
    }
}

impl Invoker {
    /// Works with files as the invoker, who owns all new files, and whose links cannot redirect writes to places the
    /// invoker may not write. Threads started meanwhile remain so. In a user namespace there is only the invoker.
    pub fn with_files<T>(self, rights: Rights, work: impl FnOnce() -> T) -> T {
        if rights == Rights::UserNamespace || self.uid == getuid() {
            return work();
        }
        // The group is changed first and restored last: the user determines the right to change it.
        let group = setfsgid(self.gid);
        let user = setfsuid(self.uid);
        let result = work();
        setfsuid(user);
        setfsgid(group);
        result
    }
}

/// Source of the right to make namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// The process has the capabilities.
    Capabilities,
    /// The process has entered a user namespace, in which it has the capabilities.
    UserNamespace,
}

impl Rights {
    /// Returns the name for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Rights::Capabilities => "root",
            Rights::UserNamespace => "user namespace",
        }
    }
}

/// Reason for the lack of a right.
#[derive(Debug, thiserror::Error)]
#[error(
    "no right to make network namespaces: this process does not have the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN, and \
     the kernel does not give them to it in a user namespace of its own ({reason}). Run it as root (sudo), or \
     allow user namespaces: {remedy}"
)]
pub struct NoRights {
    reason: Errno,
    remedy: &'static str,
}

impl Rights {
    /// Returns the number of the invoker's group in this process.
    pub fn group_number(self, invoker: Invoker) -> u32 {
        match self {
            Rights::Capabilities => invoker.gid.as_raw(),
            Rights::UserNamespace => 0,
        }
    }

    /// Acquires the right; the process must have a single thread. In a user namespace the caller becomes its root.
    ///
    /// # Errors
    /// [`NoRights`], with advice.
    pub fn acquire() -> Result<Rights, NoRights> {
        let wanted = NET_ADMIN | SYS_ADMIN;
        if effective_capabilities().is_ok_and(|own| own & wanted == wanted) {
            return Ok(Rights::Capabilities);
        }
        let (uid, gid) = (getuid(), getgid());
        let entered = unshare(CloneFlags::CLONE_NEWUSER)
            .and_then(|()| map_identity(uid, gid, 0, 0).map_err(errno));
        match entered {
            Ok(()) => Ok(Rights::UserNamespace),
            Err(reason) => Err(NoRights {
                reason,
                remedy: user_namespace_remedy(),
            }),
        }
    }
}

/// Maps one user and one group of a new user namespace to `inside_uid` and `inside_gid`.
pub(crate) fn map_identity(uid: Uid, gid: Gid, inside_uid: u32, inside_gid: u32) -> io::Result<()> {
    // Otherwise the kernel lets only the privileged map groups (user_namespaces(7)).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{inside_uid} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{inside_gid} {gid} 1"))
}

fn errno(error: io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or_default())
}

fn effective_capabilities() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Returns the setting that forbids user namespaces here, and the way to change it.
fn user_namespace_remedy() -> &'static str {
    let is =
        |file: &str, value: &str| fs::read_to_string(file).is_ok_and(|text| text.trim() == value);
    if is(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    ) {
        "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "sudo sysctl kernel.unprivileged_userns_clone=1"
    } else if is("/proc/sys/user/max_user_namespaces", "0") {
        "sudo sysctl user.max_user_namespaces=10000"
    } else {
        "in a container, start it with --cap-add=NET_ADMIN --cap-add=SYS_ADMIN --device=/dev/net/tun \
         --security-opt=seccomp=unconfined --security-opt=apparmor=unconfined"
    }
}
