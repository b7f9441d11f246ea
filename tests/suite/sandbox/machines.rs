//! Machines and containers that let a process have less: each run is held by what works there, and
//! the doctor says the same.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{BWRAP, LANDLOCK, doer, levels, not_run, works};
#[cfg(feature = "mcp")]
use crate::mcp::client::Client;
use crate::threads::{call, directive, hand_over, provider, transcript};
use crate::world::{BASH, World};

/// Executes the rest of its command line with a filter in which some calls fail: `ERROR` and the
/// numbers of the calls stand before `--`.
const FILTERED: &str = r"
import ctypes, os, struct, sys
at = sys.argv.index('--'); error, *calls = map(int, sys.argv[1:at])
step = lambda code, jt, jf, k: struct.pack('HBBI', code, jt, jf, k)
steps = step(0x20, 0, 0, 0) + b''.join(step(0x15, 0, 1, n) + step(6, 0, 0, 0x50000 | error) for n in calls)
steps = ctypes.create_string_buffer(steps + step(6, 0, 0, 0x7fff0000))
program = struct.pack('HxxxxxxQ', len(steps) // 8, ctypes.addressof(steps))
c = ctypes.CDLL(None); c.prctl(38, 1, 0, 0, 0)
assert c.prctl(22, 2, program, 0, 0) == 0
os.execvp(sys.argv[at + 1], sys.argv[at + 1:])
";

/// As docker and podman cover it: one part read only, another not to be read.
const MASKED: &str = "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && \
                      mount --bind /dev/null /proc/keys || exit 99";
const NO_BWRAP: &str =
    "[ ! -e /usr/bin/bwrap ] || mount --bind /dev/null /usr/bin/bwrap || exit 99";

/// All but the folder of the test.
const READ_ONLY: &str = "at=$(dirname \"$PWD\"); mount --bind \"$at\" \"$at\" && cd \"$PWD\" && \
                         mount -o remount,bind,ro / || exit 99";
/// Puts a copy that another user owns over the home.
const FOREIGN: &str = "rm -rf ../copy; cp -a \"$HOME\" ../copy && chown -R 4321 ../copy && \
                       mount --bind ../copy \"$HOME\" || exit 99";

/// Says if this machine lets the test make mounts of its own.
fn can_mount(test: &str) -> bool {
    let tried = Command::new("unshare").args(["--mount", "true"]).output();
    let can = tried.is_ok_and(|it| it.status.success());
    if !can {
        not_run(test, BWRAP, "only root has mounts of its own");
    }
    can
}

#[test]
fn where_a_machine_lets_less_a_run_takes_what_works_and_the_doctor_says_the_same_table() {
    let test = "where_a_machine_lets_less_a_run_takes_what_works";
    if !works(test, BWRAP) || !works(test, LANDLOCK) || !can_mount(test) {
        return;
    }
    let world = World::new_on_disk().held().at_the_door();
    doer(&world, "reads", "");
    doer(&world, "writes", "[sandbox.fs]\nwrite = [\"{project_path}\"]");
    let code = "print(open('/proc/1/cmdline').read())";
    let turns = json!([call("reads", &json!({ "code": code })), hand_over()]);
    world.signed_home(".ai/tools/acme/script.yaml", &provider(&turns));
    let may = "<execute><tool>reads</tool></execute>";
    world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"4\"", may));
    let script = world.write("filtered.py", FILTERED);
    let mount = if cfg!(target_arch = "x86_64") { 165 } else { 40 };
    let filter = |words: &str| format!("exec python3 {} {words} -- \"$@\"", script.display());
    let has_program = Path::new("/usr/bin/bwrap").exists();
    let (own, user) = ("unshare --mount", "unshare --user --map-root-user --mount");
    let refuses = filter(&format!("1 {mount} 430"));
    let refused = "space.untrusted_root";
    for (what, before, set_up, level) in [
        ("as it is", own, "", BWRAP),
        ("no bubblewrap", own, NO_BWRAP, BWRAP),
        ("own process ids", "unshare --fork --pid --mount-proc", "/bin/true; /bin/true", BWRAP),
        // Here the program `bwrap` can what rye cannot.
        ("an old kernel", own, filter("38 428 429 430 442").as_str(), BWRAP),
        ("parts of /proc are covered", own, MASKED, LANDLOCK),
        ("that, and no bubblewrap", own, &format!("{MASKED}; {NO_BWRAP}"), LANDLOCK),
        ("none", user, "echo 0 > /proc/sys/user/max_user_namespaces || exit 99", LANDLOCK),
        ("a filter that refuses mounts", own, &refuses, LANDLOCK),
        ("no new privileges", own, &filter("1"), BWRAP),
        ("a root that is read only", own, READ_ONLY, BWRAP),
        ("a home of somebody else", own, FOREIGN, refused),
    ] {
        if what == "an old kernel" && !has_program {
            continue;
        }
        let script = format!("{set_up}\nexec \"$@\"");
        let mut words: Vec<&str> = before.split(' ').skip(1).collect();
        words.extend(["bash", "-c", &script, "bash"]);
        let rye = |args: &[&str]| world.run_through("unshare", &words, args).json();
        let took = |said: &Value| {
            let level = said["metadata"]["sandbox"]["level"].as_str().or(said["code"].as_str());
            level.unwrap_or_else(|| panic!("{what}: {said}")).to_owned()
        };
        let said = rye(&["execute", "reads", "--json", "-i", &format!("code={code}")]);
        assert_eq!(took(&said), level, "{what}: {said}");
        if level == BWRAP && what != "an old kernel" {
            // The first process there is rye's, and tells nothing.
            let seen = said["data"]["stdout"].as_str().unwrap();
            assert!(!seen.contains("execute"), "{what}: {said}");
        }
        #[cfg(feature = "mcp")]
        if level == refused {
            assert_eq!(took(&rye(&["mcp", "--json"])), level, "{what}");
        } else {
            let mut client = Client::of(world.command_through("unshare", &words, &["mcp"]), &world);
            client.hello();
            let asked = json!({"item_id": "tool:reads", "parameters": { "code": code }});
            let (said, _) = client.call("rye_execute", asked);
            assert_eq!(took(&said), level, "{what}, by mcp: {said}");
        }
        let said = rye(&["execute", "directive:acme/go", "--thread", "fork", "--json"]);
        if level == refused {
            assert_eq!(took(&said), level, "{what}, in a thread");
        } else {
            let told = transcript(&world, said["thread_id"].as_str().unwrap());
            let told = fs::read_to_string(told).unwrap();
            let gave = told.lines().find(|line| line.contains("tool_call_result")).unwrap();
            // What the program `bwrap` makes has that for its first process.
            let is_hidden = gave.contains(r#"stdout\":\"\\u0000"#) || what == "an old kernel";
            assert_eq!(is_hidden, level == BWRAP, "{what}, in a thread: {gave}");
        }
        let file = format!("f-{}", what.len());
        let code = format!("code=open('{file}', 'w')");
        let said = rye(&["execute", "writes", "--json", "-i", &code]);
        match level {
            BWRAP => assert!(said["status"] == "success", "{what}: {said}"),
            LANDLOCK => assert!(said["code"] == "sandbox.cannot_protect", "{what}: {said}"),
            code => assert!(said["code"] == code, "{what}: {said}"),
        }
        assert_eq!(world.project().join(&file).exists(), level == BWRAP, "{what}");
        let told = rye(&["doctor", "--json"]);
        let rows = told["checks"].as_array().unwrap().iter();
        let good: Vec<_> = rows
            .filter(|row| row["name"] == "sandbox" && row["state"] == "good")
            .map(|row| row["text"].as_str().unwrap().split(' ').next().unwrap())
            .collect();
        let says = good.first().copied().or(told["code"].as_str());
        assert_eq!(says, Some(level), "{what}: {told}");
    }
}

/// A user who has one id alone there, such as in a container without a range of ids: all that is of
/// root is of an unknown user then.
#[test]
fn where_root_has_no_id_a_tool_runs_all_the_same() {
    let test = "where_root_has_no_id_a_tool_runs_all_the_same";
    if !can_mount(test) {
        return;
    }
    let world = World::new_on_disk().at_the_door();
    doer(&world, "says", "");
    let whole = world.outside().to_str().unwrap();
    let words = ["-R", "12345:12345", whole];
    assert!(Command::new("chown").args(words).status().is_ok_and(|it| it.success()));
    let user = ["--reuid=12345", "--regid=12345", "--clear-groups"];
    let through = [&user[..], &["unshare", "--user", "--map-root-user"]].concat();
    let said = world.run_through(
        "setpriv",
        &through,
        &["execute", "says", "--json", "-i", "code=print(9)"],
    );
    assert_eq!(said.json()["data"], 9, "{said:?}");
}

/// Certificates that lie elsewhere, and a file of root that the settings of ssh include.
const ELSEWHERE: &str = "etc=$(dirname \"$PWD\")/etc; cp -a /etc \"$etc\"; cd \"$etc\" || exit 99\n\
    mount -t tmpfs t /mnt && mkdir /mnt/issuers && echo issuers > /mnt/issuers/all || exit 99\n\
    mkdir -p ssl ssh/ssh_config.d && rm -rf ssl/certs && ln -s /mnt/issuers ssl/certs || exit 99\n\
    echo 'Include /etc/ssh/ssh_config.d/*.conf' > ssh/ssh_config && echo > ssh/ssh_config.d/a.conf\n\
    cd \"$OLDPWD\" && mount --bind \"$etc\" /etc || exit 99\n\
    exec setpriv --reuid=12345 --regid=12345 --clear-groups \"$@\"";

#[test]
fn settings_behind_a_link_and_those_of_ssh_serve_an_ordinary_user_with_a_network() {
    let test = "settings_behind_a_link_and_those_of_ssh_serve_an_ordinary_user";
    if !can_mount(test) {
        return;
    }
    let world = World::new_on_disk().held().at_the_door();
    doer(&world, "reads", "sandbox.net = \"any\"");
    let whole = world.outside().to_str().unwrap();
    let owned = Command::new("chown").args(["-R", "12345:12345", whole]).status();
    assert!(owned.is_ok_and(|it| it.success()));
    let code = "code=print(open('/etc/ssl/certs/all').read().strip())\n\
                print(os.stat('/etc/ssh/ssh_config.d/a.conf').st_uid == os.getuid())";
    let words = ["--mount", "bash", "-c", ELSEWHERE, "bash"];
    for level in levels(test) {
        let args = ["execute", "reads", "--sandbox", level, "--json", "-i", code];
        let said = world.run_through("unshare", &words, &args).json();
        let want = if level == BWRAP { "issuers\nTrue\n" } else { "issuers\nFalse\n" };
        assert_eq!(said["data"]["stdout"], want, "{level}: {said}");
        fs::remove_dir_all(world.outside().join("etc")).unwrap();
    }
}

#[test]
fn what_was_kept_of_a_machine_and_is_so_no_more_is_tried_again_before_the_tool_runs() {
    let test = "what_was_kept_of_a_machine_and_is_so_no_more_is_tried_again";
    if !works(test, BWRAP) || !works(test, LANDLOCK) || !can_mount(test) {
        return;
    }
    BASH.needed();
    let world = World::new_on_disk().held().at_the_door();
    fs::create_dir_all(world.home().join(".ai/state")).unwrap();
    doer(&world, "says", "");
    doer(&world, "lists", "[sandbox]\nnet = \"loopback\"");
    let kept = world.home().join(".ai/state/sandbox");
    let again = "cp kept \"$kept\"";
    let script = format!(
        "kept={}; says=(execute says --json -i 'code=print(9)'); lists=(execute lists --json -i code=1)\n\
         \"$@\" \"${{says[@]}}\"; cp \"$kept\" kept; {MASKED}; \"$@\" \"${{says[@]}}\"\n\
         {again}; \"$@\" \"${{lists[@]}}\"; {again}; \"$@\" \"${{says[@]}}\" --sandbox bwrap\n\
         {again}; \"$@\" plan says --out plan --json -i 'code=print(9)'\n\
         \"$@\" execute --plan plan --json",
        kept.display()
    );
    let said = world.run_through("unshare", &["--mount", "bash", "-c", &script, "bash"], &[]);
    let lines = serde_json::Deserializer::from_str(&said.stdout).into_iter::<Value>();
    let said: Vec<Value> = lines.map(Result::unwrap).collect();
    let level = |at: usize| said[at]["metadata"]["sandbox"]["level"].as_str();
    assert_eq!((level(0), level(1)), (Some(BWRAP), Some(LANDLOCK)), "{said:#?}");
    assert_eq!(said[1]["data"], 9, "{}", said[1]);
    let codes: Vec<_> = said[2..].iter().map(|it| it["code"].as_str()).collect();
    let (limit, none) = (Some("sandbox.cannot_limit"), Some("sandbox.unavailable"));
    assert_eq!(codes, [limit, none, None, Some("plan.drifted")], "{said:#?}");
}
