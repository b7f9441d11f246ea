//! At a terminal: keys, what is shown, and how it ends.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{
    Dev, OTHER, OTHER_FILE, SAY, SAY_FILE, admitted, at_terminal, edit, reword, says, signer, world,
};
use crate::world::World;

const FRESH: &str = "tool:acme/fresh";
const FRESH_FILE: &str = ".ai/tools/acme/fresh.sh";

/// A session at a terminal, with a question open about a new tool.
fn asked(world: &World) -> Dev {
    let mut dev = Dev::at_terminal(world, &[SAY]);
    assert_eq!(dev.seen[0]["asks"], true);
    assert_eq!(dev.ran(), "first");
    world.write(FRESH_FILE, says("fresh"));
    dev.about("question", FRESH);
    dev
}

#[test]
fn y_signs_what_was_shown_and_n_leaves_it() {
    let world = world();
    let mut dev = asked(&world);
    dev.press("n");
    dev.about("skipped", FRESH);
    assert_eq!(signer(&world, FRESH_FILE), "");
    assert_eq!(world.run(FRESH), (4, "verify.unsigned".into()));
    // Asked again when it changes.
    reword(&world, FRESH_FILE, "fresher");
    dev.about("question", FRESH);
    dev.press("y");
    let signed = dev.about("signed", FRESH);
    assert_eq!(signed["asked"], true);
    assert_eq!(dev.ran(), "first");
    admitted(&world, FRESH);
    // You said yes to it, so the next plain edit is signed at once.
    reword(&world, FRESH_FILE, "freshest");
    assert_eq!(dev.about("signed", FRESH)["asked"], false);
}

#[test]
fn with_many_unsigned_items_at_the_start_what_appears_afterwards_is_asked_about() {
    let world = world();
    for n in 0..6 {
        world.write(&format!(".ai/tools/acme/bare{n}.sh"), says("bare"));
    }
    let mut dev = Dev::at_terminal(&world, &[]);
    assert_eq!(dev.seen[0]["unsigned"], 6);
    world.write(FRESH_FILE, says("fresh"));
    assert_eq!(dev.about("waits", FRESH)["why"], serde_json::json!(["new"]));
    dev.about("question", FRESH);
    dev.press("y");
    assert_eq!(dev.about("signed", FRESH)["asked"], true);
    admitted(&world, FRESH);
    // And one of them, once it changes.
    reword(&world, ".ai/tools/acme/bare3.sh", "changed");
    let waits = dev.about("waits", "tool:acme/bare3");
    assert_eq!(waits["why"], serde_json::json!(["not_admitted"]));
    assert_eq!(dev.about("question", "tool:acme/bare3")["left"], 0);
}

#[test]
fn the_other_keys_show_run_and_quit() {
    let world = world();
    let mut dev = asked(&world);
    dev.press("d");
    let changed = dev.about("changed", FRESH);
    assert!(changed["files"][0]["diff"].as_str().unwrap().contains("+echo "), "{changed}");
    dev.about("question", FRESH);
    dev.press("r");
    assert_eq!(dev.ran(), "first");
    dev.about("question", FRESH);
    dev.press("q");
    assert_eq!(dev.end(), 0);
    assert_eq!(signer(&world, FRESH_FILE), "");
}

#[test]
fn what_is_typed_before_a_question_answers_nothing() {
    let world = world();
    // It waits until somebody typed a key that nobody has read yet.
    let waits = "python3 -c 'import fcntl, struct, termios, time
tty = open(\"/dev/tty\")
while not struct.unpack(\"i\", fcntl.ioctl(tty, termios.FIONREAD, bytes(4)))[0]:
    time.sleep(0.01)'";
    let tool =
        says("typed").replace("echo ", &format!("cp {SAY_FILE} {FRESH_FILE}\n{waits}\necho "));
    world.signed(OTHER_FILE, &tool);
    let mut dev = Dev::at_terminal(&world, &[OTHER]);
    // Before that, the key would be read and passed over, and the tool would wait for another one.
    dev.until("runs");
    dev.press("y");
    assert_eq!(dev.ran(), "typed");
    let waits = dev.about("waits", FRESH);
    assert!(waits["why"].to_string().contains("during_run"), "{waits}");
    dev.about("question", FRESH);
    dev.press("q");
    assert_eq!(dev.end(), 0);
    assert!(dev.all("signed").is_empty(), "{:#?}", dev.seen);
    // Once, when all was told and nothing more is forgotten: the answer to it is heard.
    assert_eq!(dev.all("question").len(), 1, "{:#?}", dev.seen);
}

#[test]
fn a_question_stands_right_below_the_diff_of_the_item_that_it_asks_about() {
    let world = world();
    let mut dev = Dev::at_terminal(&world, &[]);
    let (evil, good) = ("tool:acme/evil", "tool:acme/good");
    world.write(".ai/tools/acme/evil.sh", says("evil"));
    dev.about("question", evil);
    world.write(".ai/tools/acme/good.sh", says("good"));
    // It was shown, and another is asked about.
    dev.about("changed", good);
    assert_eq!(dev.until("question")["item_id"], evil);
    dev.press("y");
    dev.about("signed", evil);
    dev.about("question", good);
    dev.press("r");
    dev.about("question", good);
    dev.press("n");
    dev.about("skipped", good);
    let questions = dev.seen.windows(3).filter(|three| three[2]["event"] == "question");
    let mut count = 0;
    for three in questions {
        count += 1;
        let names: Vec<_> = three.iter().map(|event| event["event"].as_str().unwrap()).collect();
        assert_eq!(names, ["changed", "waits", "question"], "{three:#?}");
        let items: Vec<_> = three.iter().map(|event| &event["item_id"]).collect();
        assert!(items.iter().all(|item| *item == items[2]), "{three:#?}");
    }
    assert!(count >= 4, "{:#?}", dev.seen);
    assert_eq!(signer(&world, ".ai/tools/acme/good.sh"), "");
}

#[test]
fn ctrl_c_ends_it_with_all_that_it_started() {
    for at_a_terminal in [true, false] {
        let world = world();
        let tool = says("x").replace("echo ", "sleep 600 & echo $! $$ > pids\nwait\necho ");
        world.signed(OTHER_FILE, &tool);
        let mut dev = match at_a_terminal {
            true => Dev::at_terminal(&world, &[OTHER]),
            false => Dev::start(&world, &[OTHER]),
        };
        dev.until("runs");
        let pids = world.project().join("pids");
        let pids = loop {
            match std::fs::read_to_string(&pids) {
                Ok(text) if text.ends_with('\n') => break text,
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        match at_a_terminal {
            true => dev.press("\x03"),
            false => dev.signal(rustix::process::Signal::INT),
        }
        assert_eq!(dev.end(), 130, "{:#?}", dev.seen);
        for pid in pids.split_whitespace() {
            let late = Instant::now() + Duration::from_mins(1);
            while is_running(pid) {
                assert!(Instant::now() < late, "{pid} still runs");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.starts_with('Z'));
    state == Some(false)
}

#[test]
fn below_a_run_a_person_is_asked_before_anything_is_watched() {
    let world = world();
    let before = world.snapshot();
    world.rye_below_a_run(&["dev", "--json"]).fails(2, "cli.not_confirmed");
    assert_eq!(world.snapshot(), before);
}

#[test]
fn people_read_a_diff_a_signature_and_a_result() {
    let world = world();
    let mut command = at_terminal(&world, &["dev", SAY, "--color", "never"]);
    command.stderr(Stdio::null());
    let mut dev = Dev::of(command);
    let mut read = |end: &str| {
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains(end)) {
            lines.push(dev.line().trim_end().to_owned());
        }
        lines
    };
    let start = read("  \"said\": \"first\"").join("\n");
    for part in
        ["rye dev  ", "2 items; the dev key ", "runs  tool:acme/say after each save", "q quit"]
    {
        assert!(start.contains(part), "{part}: {start}");
    }
    edit(&world, SAY_FILE, "first", "second");
    let shown = read("  \"said\": \"second\"").join("\n");
    let wanted = [
        "differs   tool:acme/say  .ai/tools/acme/say.sh",
        "-echo '{\"said\": \"first\"}'",
        "+echo '{\"said\": \"second\"}'",
        "signed    tool:acme/say  with the dev key",
        "ran       tool:acme/say",
    ];
    let mut rest = shown.as_str();
    for part in wanted {
        let at = rest.find(part).unwrap_or_else(|| panic!("`{part}`, in order: {shown}"));
        rest = &rest[at..];
    }
    edit(&world, OTHER_FILE, "# ///\necho", "# secrets = [\"TOKEN\"]\n# ///\necho");
    let shown = read("sign tool:acme/other?").join("\n");
    assert!(shown.contains(&format!("waits     {OTHER}  its `secrets` changed")), "{shown}");
    dev.press("q");
    dev.end();
}
