//! k01: escapes. Each is a program that works without a sandbox and fails in one.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::{BWRAP, LANDLOCK, doer, does, levels, works};
use crate::world::World;

/// Says `escaped` if it is not stopped. `HOME` and `PROJECT` are folders, `HOST` is the process id of
/// the test.
struct Escape {
    name: &'static str,
    code: &'static str,
    /// The levels that claim to stop it, each with the grants that the tool has there.
    stopped: &'static [(&'static str, &'static str)],
}

const ALL: &str = "[sandbox]\nnet = \"any\"\n[sandbox.fs]\nread = [\"/\"]\nwrite = [\"{project_path}\", \"{user_space}\"]";
const NARROW: &str = "[sandbox]\nnet = \"any\"\n[sandbox.fs]\nwrite = [\"{project_path}/build/\"]";
const PARTS: &str = "[sandbox]\nnet = \"any\"\n[sandbox.fs]\nread = [\"/\"]\nwrite = [\"{project_path}\", \"{user_space}\"]\npartial = true";
const NO_NET: &str = "[sandbox]\nnet = \"none\"";
const BOTH: &[(&str, &str)] = &[(BWRAP, ALL), (LANDLOCK, NARROW), (LANDLOCK, PARTS)];
const BOTH_WITHOUT_NET: &[(&str, &str)] = &[(BWRAP, NO_NET), (LANDLOCK, NO_NET)];

const ESCAPES: &[Escape] = &[
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
];

/// A world with everything that the escapes want.
fn world() -> World {
    let world = World::new();
    fs::create_dir(world.home().join(".ssh")).unwrap();
    fs::create_dir(world.project().join("build")).unwrap();
    world.write(".ai/tools/mine.txt", "mine");
    world
}

fn escapes(world: &World, tool: &str, level: &str, port: u16, escape: &Escape) -> bool {
    let code = format!(
        "HOME, PROJECT, HOST, PORT = {:?}, {:?}, {}, {port}\n{}",
        world.home().display().to_string(),
        world.project().display().to_string(),
        std::process::id(),
        escape.code
    );
    let (said, _) = does(world, tool, level, &code);
    let data = &said["data"];
    assert!(
        said["code"].is_null() || said["code"] == "execute.tool_failed",
        "{}: {said}",
        escape.name
    );
    data["stdout"].as_str().unwrap_or_default().contains("escaped")
}

#[test]
fn k01_each_escape_works_without_a_sandbox_and_at_no_level_that_claims_to_stop_it() {
    let levels = levels("k01_each_escape_works_without_a_sandbox_and_at_no_level");
    // Whoever they knock at.
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let name = format!("rye-k01-{}", std::process::id());
    let abstracted = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&abstracted).unwrap();
    std::thread::scope(|scope| {
        for half in ESCAPES.chunks(ESCAPES.len().div_ceil(2)) {
            let levels = &levels;
            scope.spawn(move || {
                for escape in half {
                    let free = world();
                    doer(&free, "free", "");
                    assert!(
                        escapes(&free, "free", "auto", port, escape),
                        "{}: it works untouched",
                        escape.name
                    );
                    for (level, grants) in escape.stopped.iter().filter(|(l, _)| levels.contains(l))
                    {
                        let held = world();
                        doer(&held, "held", grants);
                        assert!(
                            !escapes(&held, "held", level, port, escape),
                            "{} at {level} with {grants}",
                            escape.name
                        );
                    }
                }
            });
        }
    });
    drop((tcp, listener));
}

/// A listener that answers one caller with a word.
fn answers(word: &'static str) -> u16 {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((mut caller, _)) = tcp.accept() {
            drop(std::io::Write::write_all(&mut caller, word.as_bytes()));
            drop(caller.read(&mut [0; 1]));
        }
    });
    port
}

#[test]
fn a_network_policy_is_held_against_a_listener_of_this_machine() {
    let test = "a_network_policy_is_held_against_a_listener_of_this_machine";
    let port = answers("heard");
    let world = World::new();
    for net in ["none", "loopback", "any"] {
        doer(&world, &format!("net_{net}"), &format!("[sandbox]\nnet = \"{net}\""));
    }
    doer(&world, "net_default", "");
    let ask = format!("print(socket.create_connection(('127.0.0.1', {port}), 5).recv(9).decode())");
    let own = "l = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(l.getsockname())\n\
               l.accept()[0].sendall(b'own'); print(c.recv(9).decode())";
    for level in levels(test) {
        for (net, code, hears) in [
            ("any", ask.as_str(), Some("heard")),
            ("none", &ask, None),
            ("default", &ask, None),
            ("none", own, None),
            ("any", own, Some("own")),
            ("loopback", &ask, None),
            ("loopback", own, Some("own")),
        ] {
            let (said, status) = does(&world, &format!("net_{net}"), level, code);
            if (level, net) == (LANDLOCK, "loopback") {
                assert_eq!((said["code"].as_str(), status), (Some("sandbox.cannot_limit"), 6));
                continue;
            }
            let heard = said["data"]["stdout"].as_str().map(str::trim).filter(|_| status == 0);
            assert_eq!(heard, hears, "{net} at {level}: {said}");
        }
    }
}

#[test]
fn f06_what_left_its_group_ends_with_the_run_at_the_level_bwrap() {
    if !works("f06_what_left_its_group_ends_with_the_run_at_the_level_bwrap", BWRAP) {
        return;
    }
    let world = World::new();
    doer(&world, "leaves", "[sandbox.fs]\nwrite = [\"{project_path}/build/\"]");
    let code = "subprocess.Popen(['sh', '-c', 'setsid sh -c \"while :; do date +%s%N >build/beat; sleep 0.02; done\" &'])\n\
                import time\nwhile not os.path.exists('build/beat'): time.sleep(0.01)\nprint('left')";
    let (said, status) = does(&world, "leaves", BWRAP, code);
    assert_eq!(status, 0, "{said}");
    let beat = || fs::read(world.project().join("build/beat")).unwrap();
    let last = beat();
    std::thread::park_timeout(std::time::Duration::from_millis(300));
    assert_eq!(beat(), last, "it still runs");
}
