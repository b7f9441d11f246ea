//! Whether rye was started by something that rye runs.

/// Whether this process, or one above it, was started by a run of rye. A program can hide this by
/// detaching from its parents; the threat model says so.
pub(crate) fn is_below_a_run() -> bool {
    if std::env::var_os("RYE_RUN_ID").is_some() {
        return true;
    }
    let mut pid = std::os::unix::process::parent_id();
    // No chain of parents is deeper, and a reused process id must not lead in a circle.
    for _ in 0..64 {
        if pid <= 1 {
            break;
        }
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if environ.split(|&b| b == 0).any(|pair| pair.starts_with(b"RYE_RUN_ID=")) {
            return true;
        }
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name, in brackets, may hold anything; the parent is the second field behind it.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        pid = parent.and_then(|parent| parent.parse().ok()).unwrap_or(0);
    }
    false
}
