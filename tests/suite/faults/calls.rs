//! The system calls that change the file system, and what they touch.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One call, as the kernel saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub name: &'static str,
    /// What it touches; of two paths the second, which is what comes to be.
    pub path: PathBuf,
    /// The flags of an open.
    pub flags: i32,
}

/// Where a call's path stands among its arguments.
#[derive(Debug, Clone, Copy)]
enum Where {
    Descriptor(usize),
    Path(usize),
    /// A folder's descriptor and a path from there.
    At(usize, usize),
    /// A process or, below zero, a group of them: its program is what is touched.
    Process(usize),
}

/// What is known of a kind of call.
pub struct Shape {
    name: &'static str,
    number: libc::c_long,
    place: Where,
    /// Which argument holds the flags of an open.
    flags: Option<usize>,
    /// Whether a full disk can make it fail.
    pub needs_space: fn(&Call) -> bool,
}

const fn row(name: &'static str, number: libc::c_long, place: Where, needs_space: bool) -> Shape {
    Shape { name, number, place, flags: None, needs_space: if needs_space { yes } else { no } }
}

const fn open(name: &'static str, number: libc::c_long, place: Where, flags: usize) -> Shape {
    Shape { name, number, place, flags: Some(flags), needs_space: creates }
}

fn yes(_: &Call) -> bool {
    true
}

fn no(_: &Call) -> bool {
    false
}

fn creates(call: &Call) -> bool {
    call.flags & libc::O_CREAT != 0
}

const SHAPES: &[Shape] = &[
    open("openat", libc::SYS_openat, Where::At(0, 1), 2),
    row("write", libc::SYS_write, Where::Descriptor(0), true),
    row("pwrite64", libc::SYS_pwrite64, Where::Descriptor(0), true),
    row("writev", libc::SYS_writev, Where::Descriptor(0), true),
    row("copy_file_range", libc::SYS_copy_file_range, Where::Descriptor(2), true),
    row("sendfile", libc::SYS_sendfile, Where::Descriptor(0), true),
    row("fallocate", libc::SYS_fallocate, Where::Descriptor(0), true),
    row("fsync", libc::SYS_fsync, Where::Descriptor(0), true),
    row("fdatasync", libc::SYS_fdatasync, Where::Descriptor(0), true),
    row("ftruncate", libc::SYS_ftruncate, Where::Descriptor(0), false),
    row("fchmod", libc::SYS_fchmod, Where::Descriptor(0), false),
    row("fchown", libc::SYS_fchown, Where::Descriptor(0), false),
    row("fchmodat", libc::SYS_fchmodat, Where::At(0, 1), false),
    row("fchownat", libc::SYS_fchownat, Where::At(0, 1), false),
    row("renameat2", libc::SYS_renameat2, Where::At(2, 3), true),
    row("renameat", libc::SYS_renameat, Where::At(2, 3), true),
    row("linkat", libc::SYS_linkat, Where::At(2, 3), true),
    row("symlinkat", libc::SYS_symlinkat, Where::At(1, 2), true),
    row("unlinkat", libc::SYS_unlinkat, Where::At(0, 1), false),
    // It changes no file, and is a step of its own where a test names it.
    row("kill", libc::SYS_kill, Where::Process(0), false),
    row("mkdirat", libc::SYS_mkdirat, Where::At(0, 1), true),
    #[cfg(target_arch = "x86_64")]
    open("open", libc::SYS_open, Where::Path(0), 1),
    #[cfg(target_arch = "x86_64")]
    row("creat", libc::SYS_creat, Where::Path(0), true),
    #[cfg(target_arch = "x86_64")]
    row("chmod", libc::SYS_chmod, Where::Path(0), false),
    #[cfg(target_arch = "x86_64")]
    row("chown", libc::SYS_chown, Where::Path(0), false),
    #[cfg(target_arch = "x86_64")]
    row("rename", libc::SYS_rename, Where::Path(1), true),
    #[cfg(target_arch = "x86_64")]
    row("link", libc::SYS_link, Where::Path(1), true),
    #[cfg(target_arch = "x86_64")]
    row("symlink", libc::SYS_symlink, Where::Path(1), true),
    #[cfg(target_arch = "x86_64")]
    row("unlink", libc::SYS_unlink, Where::Path(0), false),
    #[cfg(target_arch = "x86_64")]
    row("rmdir", libc::SYS_rmdir, Where::Path(0), false),
    #[cfg(target_arch = "x86_64")]
    row("mkdir", libc::SYS_mkdir, Where::Path(0), true),
];

/// The kind of call of that number, if it may change the file system.
pub fn shape(number: u64) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| u64::try_from(shape.number) == Ok(number))
}

impl Call {
    /// The call with these arguments; `None` for an open that only reads.
    pub fn of(
        pid: libc::pid_t,
        shape: &Shape,
        args: [u64; 6],
        text: &dyn Fn(u64) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let number = |index: usize| (args[index] & 0xffff_ffff) as u32;
        let flags = shape.flags.map_or(0, |index| number(index).cast_signed());
        let changes = libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY | libc::O_RDWR;
        if shape.flags.is_some() && flags & changes == 0 {
            return None;
        }
        let path = |index: usize| Some(PathBuf::from(OsStr::from_bytes(&text(args[index])?)));
        let link = |name: String| fs::read_link(format!("/proc/{pid}/{name}")).ok();
        let path = match shape.place {
            Where::Descriptor(index) => link(format!("fd/{}", number(index)))?,
            Where::Process(index) => {
                let process = number(index).cast_signed().unsigned_abs();
                fs::read_link(format!("/proc/{process}/exe")).ok()?
            }
            Where::Path(index) => link("cwd".into())?.join(path(index)?),
            Where::At(folder, index) => {
                let folder = match number(folder).cast_signed() {
                    libc::AT_FDCWD => "cwd".to_owned(),
                    fd => format!("fd/{fd}"),
                };
                link(folder)?.join(path(index)?)
            }
        };
        Some(Self { name: shape.name, path: real(&path), flags })
    }

    /// Whether it takes away a file or folder.
    pub fn removes(&self) -> bool {
        matches!(self.name, "unlink" | "unlinkat" | "rmdir")
    }
}

/// The path with its folder's links resolved; what is not there yet keeps its name.
fn real(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
