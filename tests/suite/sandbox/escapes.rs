//! k01: what is tried, as data; `battery.rs` tries it.

use super::{BWRAP, LANDLOCK};

/// Says `escaped` if it is not stopped. `HOME` and `PROJECT` are folders, `HOST` is a process of
/// the same user outside.
pub struct Escape {
    pub name: &'static str,
    pub code: &'static str,
    /// The levels that claim to stop it, each with the grants that the tool has there.
    pub stopped: &'static [(&'static str, &'static str)],
}

const ALL: &str = "[sandbox]\nnet = \"any\"\n[sandbox.fs]\nread = [\"/\"]\nwrite = [\"{project_path}\", \"{user_space}/.local/share\", \"{user_space}/.config/app\"]";
const NARROW: &str = "[sandbox]\nnet = \"any\"\n[sandbox.fs]\nwrite = [\"{project_path}/build/\"]";
const PARTS: &str = "[sandbox]\nnet = \"any\"\n[sandbox.fs]\nread = [\"/\"]\nwrite = [\"{project_path}\", \"{user_space}/.local/share\", \"{user_space}/.config/app\"]\npartial = true";
const NO_NET: &str = "[sandbox]\nnet = \"none\"";
const BOTH: &[(&str, &str)] = &[(BWRAP, ALL), (LANDLOCK, NARROW), (LANDLOCK, PARTS)];
/// What only root can do at all.
pub const OF_ROOT: &[&str] = &[
    "writes a setting of the kernel",
    "writes a setting of a device",
    "makes a group of processes",
    "writes to the log of the kernel",
    "reads the passwords of the system",
    "reads the passwords of groups",
];
/// Escapes that work where any program may make user namespaces.
pub const OF_NAMESPACES: &[&str] = &["lifts a mount in namespaces of its own"];
const BOTH_WITHOUT_NET: &[(&str, &str)] = &[(BWRAP, NO_NET), (LANDLOCK, NO_NET)];
const BOTH_ALSO_WITHOUT_NET: &[(&str, &str)] =
    &[(BWRAP, NO_NET), (LANDLOCK, NO_NET), (BWRAP, ALL), (LANDLOCK, PARTS)];

pub const ESCAPES: &[Escape] = &[
    Escape {
        name: "leaves a program that runs as its owner for whoever starts it",
        // As each call can say it; the numbers are those of x86-64 and, behind `or`, of all others.
        code: "c = ctypes.CDLL(None, use_errno=True); at = PROJECT + '/build/'\n\
               x86 = os.uname().machine == 'x86_64'\n\
               def file(name): open(at + name, 'w').close(); return (at + name).encode()\n\
               def how(mode): return (ctypes.c_uint64 * 3)(0o101, mode, 0)\n\
               for bit in (0o4000, 0o2000, 0o6000):\n  \
               mode = bit | 0o755; n = lambda name: ('%s%o' % (name, bit)); new = lambda name: (at + n(name)).encode()\n  \
               fd = os.open(file(n('f')), os.O_RDWR)\n  \
               c.chmod(file(n('c')), mode); c.fchmod(fd, mode); c.fchmodat(-100, file(n('a')), mode, 0)\n  \
               c.syscall(452, -100, file(n('b')), mode, 0)\n  \
               c.open(new('o'), 0o101, mode); c.openat(-100, new('p'), 0o101, mode); c.creat(new('q'), mode)\n  \
               c.mknod(new('m'), 0o100000 | mode, 0); c.mknodat(-100, new('n'), 0o100000 | mode, 0)\n  \
               c.syscall(437, -100, new('2'), ctypes.byref(how(mode)), 24)\n  \
               t = c.open(at.encode(), 0o20200002, mode)\n  \
               if t >= 0: c.linkat(-100, b'/proc/self/fd/%d' % t, -100, new('t'), 0x400)\n  \
               if x86: c.syscall(0x40000000 | 90, file(n('y')), mode)\n\
               for name in os.listdir(at):\n  \
               if os.stat(at + name).st_mode & 0o6000: print('escaped', name)",
        stopped: &[(BWRAP, ALL), (LANDLOCK, NARROW), (LANDLOCK, PARTS)],
    },
    Escape {
        name: "holds up those who open a file that it may only read",
        code: "import fcntl, signal\n\
               fd = os.open(PROJECT + '/.ai/tools/mine.txt', os.O_RDONLY)\n\
               fcntl.fcntl(fd, 1024, fcntl.F_WRLCK)\n\
               print('escaped'); fcntl.fcntl(fd, 1024, fcntl.F_UNLCK)",
        stopped: BOTH_WITHOUT_NET,
    },
    Escape {
        name: "changes the attributes of a file that it may only read",
        code: "os.setxattr(PROJECT + '/.ai/tools/mine.txt', 'user.x', b'1'); print('escaped')",
        stopped: BOTH_WITHOUT_NET,
    },
    Escape {
        name: "changes the flags of a file that it may only read",
        code: "import fcntl\n\
               fd = os.open(PROJECT + '/.ai/tools/mine.txt', os.O_RDONLY); flags = bytearray(8)\n\
               fcntl.ioctl(fd, 0x80086601, flags); flags[0] ^= 0x40\n\
               fcntl.ioctl(fd, 0x40086602, flags); print('escaped')",
        stopped: BOTH_WITHOUT_NET,
    },
    Escape {
        name: "watches what happens in a folder that it may not read",
        code: "c = ctypes.CDLL(None, use_errno=True); f = c.inotify_init1(0)\n\
               if f >= 0 and c.inotify_add_watch(f, (HOME + '/.ai/config/keys').encode(), 0xfff) >= 0: print('escaped')",
        stopped: &[(BWRAP, NO_NET), (LANDLOCK, NARROW), (LANDLOCK, PARTS)],
    },
    Escape {
        name: "changes an item",
        code: "open(PROJECT + '/.ai/tools/mine.txt', 'w').write('x'); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "makes an item",
        code: "open(PROJECT + '/.ai/tools/new.txt', 'w').write('x'); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "changes the trust folder",
        code: "os.makedirs(HOME + '/.ai/config/keys/trusted', exist_ok=True)\n\
               open(HOME + '/.ai/config/keys/trusted/x.toml', 'w').write('x'); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "reads the private key",
        code: "print('escaped', len(open(HOME + '/.ai/config/keys/signing/private_key.pem').read()))",
        stopped: BOTH,
    },
    Escape {
        name: "adds a login key",
        code: "open(HOME + '/.ssh/authorized_keys', 'a').write('x'); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "makes a start-up file that is not there",
        code: "open(HOME + '/.bashrc', 'a').write('x'); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "makes what a start-up file or a session reads",
        code: "for name in ['.bash_aliases', '.bashrc.d/x', '.xinitrc', '.xsessionrc', '.config/environment.d/x', '.config/zsh/.zshrc', '.config/app/../nushell/config.nu', '.local/bin/ls', '.local/share/systemd/user/x.service', '.local/share/applications/x.desktop']:\n  \
               try:\n    os.makedirs(os.path.dirname(HOME + '/' + name), exist_ok=True)\n    \
               open(HOME + '/' + name, 'a').write('x'); print('escaped', name)\n  except OSError: pass",
        stopped: BOTH,
    },
    Escape {
        name: "makes a hook of git where there is no repository",
        code: "os.makedirs(PROJECT + '/.git/hooks', exist_ok=True)\n\
               open(PROJECT + '/.git/hooks/pre-commit', 'w').write('x'); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "moves what is kept away and puts another in its place",
        code: "os.rename(PROJECT + '/.ai', PROJECT + '/gone')\nos.mkdir(PROJECT + '/.ai'); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "moves the folder that holds what is kept",
        code: "os.makedirs(PROJECT + '/.git/hooks', exist_ok=True)\n\
               os.rename(PROJECT + '/.git', PROJECT + '/gone')\nos.makedirs(PROJECT + '/.git/hooks'); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "points git at hooks and a configuration elsewhere",
        code: "os.makedirs(PROJECT + '/.git', exist_ok=True)\n\
               open(PROJECT + '/.git/commondir', 'w').write('../build\\n'); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "writes by a link of the project",
        code: "os.symlink(HOME + '/.ssh', PROJECT + '/build/out')\n\
               open(PROJECT + '/build/out/config', 'w').write('x'); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "lifts a mount in namespaces of its own",
        code: "sh = 'umount -l ' + PROJECT + '/.ai; echo x > ' + PROJECT + '/.ai/lifted'\n\
               subprocess.run(['unshare', '-Urm', 'sh', '-c', sh])\n\
               os.stat(PROJECT + '/.ai/lifted'); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "writes the memory of whoever started it",
        code: "f = open('/proc/%d/mem' % HOST, 'rb+'); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "writes its own memory as a file",
        code: "f = open('/proc/self/mem', 'rb+'); print('escaped')",
        stopped: &[(LANDLOCK, NARROW), (LANDLOCK, PARTS)],
    },
    Escape {
        name: "reads the environment of whoever started it",
        code: "print('escaped', open('/proc/%d/environ' % HOST).read()[:4])",
        stopped: BOTH,
    },
    Escape {
        name: "traces whoever started it",
        code: "c = ctypes.CDLL(None)\n\
               if c.ptrace(0x4206, HOST, 0, 0) == 0: print('escaped')", // PTRACE_SEIZE
        stopped: BOTH,
    },
    Escape {
        name: "signals whoever started it",
        code: "os.kill(HOST, 0); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "speaks to a socket without a path",
        code: "s = socket.socket(socket.AF_UNIX); s.connect('\\0rye-k01-%d' % HOST); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "connects without a network",
        code: "s = socket.create_connection(('127.0.0.1', PORT), 5); print('escaped')",
        stopped: BOTH_WITHOUT_NET,
    },
    Escape {
        name: "sends a datagram without a network",
        code: "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', PORT)); print('escaped')",
        stopped: BOTH_WITHOUT_NET,
    },
    Escape {
        name: "takes a ring of the kernel, which no filter sees",
        code: "c = ctypes.CDLL(None, use_errno=True); p = ctypes.create_string_buffer(120)\n\
               if c.syscall(425, 1, p) >= 0: print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "joins the user's keyring",
        code: "c = ctypes.CDLL(None, use_errno=True)\n\
               if c.syscall(248, b'user', b'rye-k01', b'x', 1, -3) >= 0: print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "writes a setting of the kernel",
        code: "for folder, _, names in os.walk('/proc/sys'):\n  for name in names:\n    \
               try:\n      os.close(os.open(folder + '/' + name, os.O_WRONLY)); print('escaped', folder, name)\n    \
               except OSError: pass",
        stopped: BOTH_ALSO_WITHOUT_NET,
    },
    Escape {
        name: "writes what the kernel shows of a process",
        code: "open('/proc/self/oom_score_adj', 'w').write('500'); print('escaped')",
        stopped: BOTH_ALSO_WITHOUT_NET,
    },
    Escape {
        name: "writes a setting of a device",
        code: "for folder in ['/sys/kernel', '/sys/module', '/sys/fs', '/sys/block']:\n  for place, _, names in os.walk(folder):\n    \
               for name in names:\n      try:\n        os.close(os.open(place + '/' + name, os.O_WRONLY)); print('escaped'); sys.exit()\n      \
               except OSError: pass",
        stopped: BOTH_ALSO_WITHOUT_NET,
    },
    Escape {
        name: "makes a group of processes",
        code: "for at in ['/sys/fs/cgroup', '/sys/fs/cgroup/unified']:\n  try:\n    \
               os.mkdir(at + '/rye-k01-%d' % HOST); os.rmdir(at + '/rye-k01-%d' % HOST); print('escaped')\n  except OSError: pass",
        stopped: BOTH_ALSO_WITHOUT_NET,
    },
    Escape {
        name: "writes to the log of the kernel",
        code: "os.close(os.open('/dev/kmsg', os.O_WRONLY)); print('escaped')",
        stopped: BOTH_ALSO_WITHOUT_NET,
    },
    Escape {
        name: "reads the passwords of the system",
        code: "open('/etc/shadow').read(); print('escaped')",
        stopped: BOTH_ALSO_WITHOUT_NET,
    },
    Escape {
        name: "reads the passwords of groups",
        code: "open('/etc/gshadow').read(); print('escaped')",
        stopped: BOTH_ALSO_WITHOUT_NET,
    },
    Escape {
        name: "makes what git runs, reads or goes on with",
        code: "for name in ['modules/lib/hooks/post-checkout', 'modules/lib/config', 'worktrees/w/config.worktree',\n             \
               'rebase-merge/git-rebase-todo', 'info/attributes', 'config']:\n  try:\n    \
               os.makedirs(os.path.dirname(PROJECT + '/.git/' + name), exist_ok=True)\n    \
               open(PROJECT + '/.git/' + name, 'a').write('x'); print('escaped', name)\n  except OSError: pass",
        stopped: BOTH,
    },
    Escape {
        name: "limits another process",
        code: "import resource; was = resource.prlimit(HOST, resource.RLIMIT_CORE)\n\
               resource.prlimit(HOST, resource.RLIMIT_CORE, was); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "reads the limits of another process",
        code: "import resource; print('escaped', resource.prlimit(HOST, resource.RLIMIT_CORE))",
        stopped: BOTH,
    },
    Escape {
        name: "says when another process runs",
        code: "c = ctypes.CDLL(None)\n\
               if c.setpriority(0, HOST, 19) == 0: print('escaped')\n\
               if c.setpriority(1, HOST, 19) == 0: print('escaped')\n\
               try: os.sched_setscheduler(HOST, os.SCHED_BATCH, os.sched_param(0)); print('escaped')\n\
               except OSError: pass",
        stopped: BOTH,
    },
    Escape {
        name: "says where another process runs",
        code: "os.sched_setaffinity(HOST, os.sched_getaffinity(0)); print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "reads memory that others share",
        code: "c = ctypes.CDLL(None); c.shmat.restype = ctypes.c_long\n\
               i = c.shmget(0x52000000 + HOST, 64, 0)\n\
               if i >= 0 and c.shmat(i, 0, 0) != -1: print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "has the semaphores and messages of others",
        code: "c = ctypes.CDLL(None)\n\
               if c.semget(0x52000000 + HOST, 1, 0) >= 0: print('escaped')\n\
               if c.msgget(0x52000000 + HOST, 0) >= 0: print('escaped')\n\
               if c.mq_open(b'/rye-k01-%d' % HOST, os.O_RDWR) >= 0: print('escaped')",
        stopped: BOTH,
    },
    Escape {
        name: "speaks to a service of a folder that it may read",
        code: "s = socket.socket(socket.AF_UNIX); s.connect(PROJECT + '/service'); print('escaped')",
        stopped: BOTH_WITHOUT_NET,
    },
    Escape {
        name: "writes to a pipe of a folder that it may read",
        code: "os.write(os.open(PROJECT + '/pipe', os.O_RDWR), b'x'); print('escaped')",
        stopped: BOTH_WITHOUT_NET,
    },
];
