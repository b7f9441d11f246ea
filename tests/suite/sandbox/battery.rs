//! k01: escapes. Each is a program that works without a sandbox and fails in one, as root and as an
//! ordinary user.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use super::escapes::{ESCAPES, Escape, OF_NAMESPACES, OF_ROOT};
use super::{BWRAP, LANDLOCK, doer, does, levels, not_run, works};
use crate::faults::day;
use crate::world::{BASH, End, PYTHON, World, program, whole};

/// A world with everything that the escapes want.
fn world() -> World {
    let world = World::new_on_disk();
    fs::create_dir(world.home().join(".ssh")).unwrap();
    fs::create_dir_all(world.home().join(".local/share")).unwrap();
    fs::create_dir_all(world.home().join(".config/app")).unwrap();
    fs::create_dir(world.project().join("build")).unwrap();
    world.write(".ai/tools/mine.txt", "mine");
    let pipe = world.project().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Its listener lives as long as the tests do.
    std::mem::forget(UnixListener::bind(world.project().join("service")).unwrap());
    // An ordinary user cannot enter the home of root, where this interpreter may lie.
    world.env("PATH", "/usr/local/bin:/usr/bin:/bin")
}

/// Whose tools try to escape.
#[derive(Clone, Copy)]
enum Who {
    Us,
    Ordinary,
}

const ORDINARY: [&str; 4] = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"];

/// A process of that user outside, with objects of its own that have no file; it ends with its
/// input.
const OUTSIDE: &str = "import ctypes, os, sys\n\
    c = ctypes.CDLL(None); key = 0x52000000 + os.getpid(); name = b'/rye-k01-%d' % os.getpid()\n\
    made = [c.shmget(key, 64, 0o1600), c.semget(key, 1, 0o1600), c.msgget(key, 0o1600)]\n\
    made.append(c.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None))\n\
    print(min(made), flush=True); sys.stdin.read()\n\
    c.shmctl(made[0], 0, None); c.semctl(made[1], 0, 0); c.msgctl(made[2], 0, None); c.mq_unlink(name)";

impl Who {
    /// A command line of this user.
    fn command(self, program: &str) -> Command {
        match self {
            Self::Us => Command::new(program),
            Self::Ordinary => {
                let mut command = Command::new(ORDINARY[0]);
                command.args(&ORDINARY[1..]).arg(program);
                command
            }
        }
    }

    fn outside(self) -> Child {
        let mut command = self.command("/usr/bin/python3");
        let command = command.args(["-c", OUTSIDE]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert!(said.trim().parse::<i64>().is_ok_and(|least| least >= 0), "objects: {said}");
        child
    }

    fn escapes(
        self,
        world: &World,
        at: &str,
        level: &str,
        place: (u16, u32),
        escape: &Escape,
    ) -> bool {
        let (port, host) = place;
        let code = format!(
            "code=HOME, PROJECT, HOST, PORT = {:?}, {:?}, {host}, {port}\n{}",
            world.home().display().to_string(),
            world.project().display().to_string(),
            escape.code
        );
        let args = ["execute", at, "--sandbox", level, "--json", "-i", &code];
        let said = match self {
            Self::Us => world.rye(&args),
            Self::Ordinary => {
                let mut chown = Command::new("chown");
                let chown = chown.args(["-R", "12345:12345"]).arg(world.outside());
                assert!(chown.status().unwrap().success());
                world.run_through(ORDINARY[0], &ORDINARY[1..], &args)
            }
        };
        let said = said.json();
        assert!(
            said["code"].is_null() || said["code"] == "execute.tool_failed",
            "{}: {said}",
            escape.name
        );
        said["data"]["stdout"].as_str().unwrap_or_default().contains("escaped")
    }

    /// Those of the claims that are tried today: one a level, or one of all as an ordinary user.
    fn tried<'a>(self, claims: Vec<(&'a str, &'a str)>, at: usize) -> Vec<(&'a str, &'a str)> {
        let is_same =
            |a: &(&str, &str), b: &(&str, &str)| a.0 == b.0 || matches!(self, Self::Ordinary);
        match whole() {
            true => claims,
            false => claims.chunk_by(is_same).map(|one| one[(day() + at) % one.len()]).collect(),
        }
    }

    /// Each escape works untouched, and at no level that claims to stop it.
    fn tries(self, test: &str) {
        PYTHON.needed();
        BASH.needed();
        let levels = levels(test);
        let mut outside = self.outside();
        let host = outside.id();
        // Whoever they knock at.
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = (tcp.local_addr().unwrap().port(), host);
        let abstracted = SocketAddr::from_abstract_name(format!("rye-k01-{host}")).unwrap();
        let listener = UnixListener::bind_addr(&abstracted).unwrap();
        let is_root = matches!(self, Self::Us) && is_root();
        let may_unshare = *NAMESPACES;
        if !may_unshare {
            for name in OF_NAMESPACES {
                not_run(name, "any level", "no user namespaces");
            }
        }
        let fits = |escape: &&Escape| {
            (is_root || !OF_ROOT.contains(&escape.name))
                && (may_unshare || !OF_NAMESPACES.contains(&escape.name))
        };
        let escapes: Vec<&Escape> = ESCAPES.iter().filter(fits).collect();
        std::thread::scope(|scope| {
            for half in escapes.chunks(escapes.len().div_ceil(2)) {
                let levels = &levels;
                scope.spawn(move || {
                    for (at, escape) in half.iter().enumerate() {
                        // That it works untouched is shown by what the own user does.
                        let is_free = matches!(self, Self::Us) || at % 4 == 0 || whole();
                        let free = is_free.then(world);
                        if let Some(free) = &free {
                            doer(free, "free", "");
                            assert!(
                                self.escapes(free, "free", "auto", place, escape),
                                "{}: it works untouched",
                                escape.name
                            );
                        }
                        let claims = escape.stopped.iter().filter(|(l, _)| levels.contains(l));
                        for (level, grants) in self.tried(claims.copied().collect(), at) {
                            let held = world();
                            doer(&held, "held", grants);
                            assert!(
                                !self.escapes(&held, "held", level, place, escape),
                                "{} at {level} with {grants}",
                                escape.name
                            );
                        }
                    }
                });
            }
        });
        drop((tcp, listener, outside.stdin.take()));
        outside.wait().unwrap();
    }
}

/// Says if any program may make user namespaces here.
static NAMESPACES: LazyLock<bool> = LazyLock::new(|| {
    let tried = Command::new("unshare").args(["-Urm", "true"]).output();
    tried.is_ok_and(|tried| tried.status.success())
});

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Each at a level with one of its grants here, another each day; the whole is each with each.
#[test]
fn k01_each_escape_works_without_a_sandbox_and_at_no_level_that_claims_to_stop_it() {
    Who::Us.tries("k01_each_escape_works_without_a_sandbox_and_at_no_level");
}

/// Each at one level here, another each day; the whole is each at each.
#[test]
fn k01_no_escape_of_an_ordinary_user_works_either() {
    let test = "k01_no_escape_of_an_ordinary_user_works_either";
    let mut asks = Who::Ordinary.command(program());
    let may = asks.arg("--version").output().is_ok_and(|said| said.status.success());
    match may && is_root() {
        true => Who::Ordinary.tries(test),
        false => super::not_run(test, "every level", "only root can start another user's program"),
    }
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
    let world = World::new_on_disk();
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
fn without_a_network_no_socket_has_an_address_that_leads_out() {
    let world = World::new_on_disk().held();
    doer(&world, "net_none", "[sandbox]\nnet = \"none\"");
    let code = "def may(f, t):\n  try: socket.socket(f, t).close(); return True\n  except OSError: return False\n\
                print(json.dumps([f for f in range(1, 64) if any(may(f, t) for t in (1, 2, 3, 5))]))";
    for level in levels("without_a_network_no_socket_has_an_address_that_leads_out") {
        let (said, status) = does(&world, "net_none", level, code);
        assert_eq!((&said["data"], status), (&serde_json::json!([]), 0), "{level}: {said}");
        // A pair that is a pipe is let through; of a pair of datagrams each could send elsewhere
        // too.
        let pair = |kind: &str| {
            does(&world, "net_none", level, &format!("socket.socketpair(type=socket.{kind})"))
        };
        assert_eq!(pair("SOCK_STREAM").1, 0, "{level}");
        assert_eq!(pair("SOCK_DGRAM").1, 1, "{level}");
    }
}

#[test]
fn a_tool_in_a_sandbox_has_no_terminal() {
    let world = World::new_on_disk();
    doer(&world, "plain", "");
    let code = "code=try:\n  open('/dev/tty', 'w').write('your password:')\n  print('it ha' + 's one')\n\
                except OSError: print('it has no' + 'ne')";
    let said = |level: &str| {
        let args = ["execute", "plain", "--sandbox", level, "-i", code];
        world.rye_below_a_run_at_a_terminal("", &args).stdout
    };
    let free = said("auto");
    assert!(free.contains("it has one"), "it works untouched: {free}");
    for level in levels("a_tool_in_a_sandbox_has_no_terminal") {
        let held = said(level);
        assert!(held.contains("it has none") && !held.contains("password"), "{level}: {held}");
    }
}

#[test]
fn what_steers_the_loader_steers_the_tool_and_not_what_holds_it() {
    let test = "what_steers_the_loader_steers_the_tool_and_not_what_holds_it";
    if !works(test, BWRAP) {
        return;
    }
    let world = World::new_on_disk().held();
    let said = world.project().join("said").display().to_string();
    let text = format!(
        "version: \"1.0.0\"\nexecutor_id: rye/core/primitives/execute\ndescription: x\n\
         config: {{command: /usr/bin/env}}\n\
         env_config: {{env: {{LD_DEBUG: files, LD_DEBUG_OUTPUT: \"{said}\"}}}}\n"
    );
    world.signed(".ai/tools/steers.yaml", &text);
    let shown = world.json(&["execute", "steers", "--sandbox", BWRAP]).ok();
    assert!(shown["data"]["stdout"].as_str().unwrap().contains("LD_DEBUG=files"), "{shown}");
    let names = fs::read_dir(world.project()).unwrap().flatten();
    let wrote: Vec<_> = names.map(|e| e.file_name()).filter(|name| name != ".ai").collect();
    assert!(wrote.is_empty(), "the loader of what holds it wrote {wrote:?}");
}

#[test]
fn a_private_key_is_hidden_also_where_every_program_may_read() {
    let test = "a_private_key_is_hidden_also_where_every_program_may_read";
    let Ok(place) = tempfile::tempdir_in("/opt") else {
        return super::not_run(test, "every level", "nothing can be made in `/opt`");
    };
    let mut world = World::new_on_disk().held();
    doer(&world, "plain", "");
    let home = place.path().join("home");
    let copied = std::process::Command::new("cp").arg("-a").arg(world.home()).arg(&home).status();
    assert!(copied.unwrap().success());
    world = world.env("HOME", &home.display().to_string());
    let key = home.join(".ai/config/keys/signing/private_key.pem");
    assert!(key.is_file());
    fs::write(home.join("open"), "o").unwrap();
    let code = format!(
        "print('may', len(open({:?}).read()))\nprint('read', len(open({key:?}).read()))",
        home.join("open")
    );
    for level in levels(test) {
        let (said, status) = does(&world, "plain", level, &code);
        assert_eq!(
            (said["data"]["stdout"].as_str(), status),
            (Some("may 1\n"), 1),
            "{level}: {said}"
        );
    }
}

#[test]
fn what_is_kept_behind_a_link_is_not_had_by_another_link() {
    let test = "what_is_kept_behind_a_link_is_not_had_by_another_link";
    let code = "os.unlink('.git'); os.makedirs('.git/hooks'); open('.git/hooks/pre-commit', 'w')";
    for level in levels(test) {
        let world = World::new_on_disk().held();
        fs::create_dir_all(world.project().join("elsewhere/hooks")).unwrap();
        std::os::unix::fs::symlink("elsewhere", world.project().join(".git")).unwrap();
        doer(&world, "wide", "[sandbox.fs]\nwrite = [\"{project_path}\"]");
        let (said, status) = does(&world, "wide", level, code);
        let got = (said["code"].as_str(), status);
        assert_eq!(got, (Some("sandbox.cannot_protect"), 6), "{level}: {said}");
        assert!(!world.project().join(".git/hooks/pre-commit").exists());
    }
}

#[test]
fn a_run_does_not_reach_what_rye_keeps_behind_a_link_of_the_home() {
    let test = "a_run_does_not_reach_what_rye_keeps_behind_a_link_of_the_home";
    for level in levels(test) {
        let world = World::new_on_disk().held();
        let kept = world.home().join("elsewhere/rye");
        fs::create_dir_all(kept.parent().unwrap()).unwrap();
        doer(&world, "wide", "[sandbox.fs]\nwrite = [\"{user_space}/elsewhere\"]");
        let (said, status) = does(&world, "wide", level, "open('../home/elsewhere/free', 'w')");
        assert_eq!(status, 0, "the fixture is good: {said}");
        fs::rename(world.home().join(".ai/state"), &kept).unwrap();
        std::os::unix::fs::symlink(&kept, world.home().join(".ai/state")).unwrap();
        let (said, status) = does(&world, "wide", level, "open('../home/elsewhere/rye/x', 'w')");
        let want = if level == BWRAP { "execute.tool_failed" } else { "sandbox.cannot_protect" };
        assert_eq!((said["code"].as_str(), status != 0), (Some(want), true), "{level}: {said}");
        assert!(!kept.join("x").exists(), "{level}");
    }
}

#[test]
fn a_run_reaches_no_private_folder_of_another_run() {
    let test = "a_run_reaches_no_private_folder_of_another_run";
    let world = World::new_on_disk().held();
    let session = world.outside().join("session");
    fs::create_dir(&session).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&session, private).unwrap();
    let world = world.env("XDG_RUNTIME_DIR", &session.display().to_string());
    let grant = format!("[sandbox.fs]\nwrite = [{:?}]", session.display().to_string());
    doer(&world, "reaches", &grant);
    let code = format!("open({:?} + '/rye/other', 'w')", session.display().to_string());
    for level in levels(test) {
        let (said, status) = does(&world, "reaches", level, &code);
        let want = if level == BWRAP { "execute.tool_failed" } else { "sandbox.cannot_protect" };
        assert_eq!(said["code"], want, "{level}: {said}");
        assert_ne!(status, 0);
        assert!(!session.join("rye/other").exists());
    }
}

#[test]
fn f06_what_left_its_group_ends_with_the_run_at_the_level_bwrap() {
    if !works("f06_what_left_its_group_ends_with_the_run_at_the_level_bwrap", BWRAP) {
        return;
    }
    let world = World::new_on_disk();
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
