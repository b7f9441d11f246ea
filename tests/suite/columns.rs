//! What rye says fits the terminal that it says it in (core 11): no line is wider, no word is
//! broken, and a pipe gets each line whole.

use unicode_width::UnicodeWidthStr;

use crate::dev::{Dev, at_terminal};
use crate::keys::others::{put, stranger};
use crate::world::{GREET_MD, MARKER_SH, World, fingerprint, whole};

const FOLDER: &str = ".ai/tools/acme/of/some/length";
const ITEM: &str = "tool:acme/of/some/length/send_it";

/// A tool of which everything is long.
fn wordy() -> String {
    let about = "Sends what stands in a file to a place that is named by its address, and says how \
                 long it took; 漢字の説明文 も ここに あります, in columns twice as wide as the Latin \
                 ones, so that counting letters would not do";
    let header = format!(
        "# description = \"{about}\"\n# env = [\"ACME_FIRST_ADDRESS\", \"ACME_SECOND_ADDRESS\", \
         \"ACME_THIRD_ADDRESS\"]\n# [input_schema.properties]\n\
         # address_of_the_place = {{type = \"string\", description = \"{about}\"}}\n\
         # [sandbox.fs]\n# write = [\"{{project_path}}/out/of/the/first\", \
         \"{{project_path}}/out/of/the/second\"]\n"
    );
    MARKER_SH
        .replace("# description = \"Leaves a marker\"\n", &header)
        .replace(": > marker", "echo '[INFO] it runs'")
}

/// A project in which each verb has much to say.
fn world() -> World {
    let world = World::new()
        .with(&format!("{FOLDER}/send_it.sh"), &wordy())
        .with(".ai/directives/acme/greet.md", GREET_MD);
    world.write(
        &format!("{FOLDER}/send_it.test.yaml"),
        "cases:\n  - {name: a case that is named at some length, for whoever reads it, expect: \
         {text: 'another text, which it does not say, however long somebody waits for it to be'}}\n",
    );
    world.write("notes.test.yaml", "");
    let well = |args: &[&str], env: &[(&str, &str)]| {
        let said = world.rye_env(&world.project(), args, b"", env);
        assert_eq!(said.status, 0, "{args:?}: {said:?}");
        said.stdout
    };
    well(&["lock"], &[]);
    well(&["run", ITEM, "--receipt", "receipt.json"], &[]);
    // A colleague, whose key is proposed here, and another, whom you trust.
    for name in ["ada", "bob"] {
        let home = world.outside().join(name).display().to_string();
        let env = [("HOME", home.as_str())];
        well(&["keys", "generate"], &env);
        let owner = format!("{name} of the house at the end of the street");
        let document = well(&["keys", "export", "--document", &owner], &env);
        let key = well(&["keys", "show", "--json"], &env);
        let key: serde_json::Value = serde_json::from_str(&key).unwrap();
        let key = key["fingerprint"].as_str().unwrap();
        world.write(&format!(".ai/config/keys/trusted/{key}.toml"), &document);
        let scope = ["--items", "tool:acme/of/some/length/**", "--items", "knowledge:acme/**"];
        let only_bob =
            if name == "bob" { &scope[..] } else { &["--not-after", "2099-01-01T00:00:00Z"] };
        well(&[&["trust", "add", key, "--in", "."], only_bob].concat(), &[]);
    }
    world.write(&format!("{FOLDER}/unsigned.sh"), wordy());
    world.write(&format!("{FOLDER}/broken.sh"), MARKER_SH.replace("executor_id", "exceutor_id"));
    world
}

/// Each verb that shows more than a word, and what stops it.
const ROWS: &[&[&str]] = &[
    &["graph", ITEM],
    &["graph", "--all"],
    &["why", ITEM],
    &["why", "acme/of/some/length/unsigned"],
    &["show", ITEM],
    &["show", "rye/bash"],
    &["describe", ITEM],
    &["run", ITEM, "--dry-run"],
    &["run", ITEM, "--sandbox", "none"],
    &["run", ITEM, "adress_of_the_place=x"],
    &["run", "acme/of/some/length/broken"],
    &["trust", "list"],
    &["trust", "review"],
    &["sign", ITEM],
    &["sign", "acme/of/some/length/broken"],
    &["sign", "--all", "--check"],
    &["lock", "--check"],
    &["receipt", "verify", "receipt.json"],
    &["receipt", "verify", "nothing-of-the-kind.json"],
    &["keys", "list"],
    &["init"],
    &["trust", "propose", "--owner", "Grace"],
    &["verify"],
    &["doctor"],
    &["test"],
    &["explain", "verify.altered"],
    &["explain", "--list"],
    &["explain"],
    &["fetch", "knowledge:rye/tools"],
    &["fetch", "knowledge:rye/trust"],
    &["search", "write a file of the project"],
    &["nosuch"],
    &["trust", "accept", "a139"],
];

/// The text with each number as `0`: times differ from run to run.
fn timeless(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('0') => {}
            '0'..='9' => out.push('0'),
            c => out.push(c),
        }
    }
    out
}

fn words(text: &str) -> String {
    let text = text.replace(['│', '├', '└', '─'], " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words in the order of their letters, without the lines of tables.
fn bag(text: &str) -> Vec<&str> {
    let is_line = |word: &&str| word.chars().all(|c| "|-:".contains(c));
    let mut all: Vec<_> = text.split_whitespace().filter(|word| !is_line(word)).collect();
    all.sort_unstable();
    all
}

/// The text without codes for colours.
fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').unwrap().1).collect::<String>()
}

#[track_caller]
fn fits(text: &str, columns: u16, args: &[&str]) {
    let (mut in_code, mut in_front) = (false, text.starts_with("---\n"));
    for (at, line) in text.lines().map(str::trim_end).enumerate() {
        // A program in a page is shown as it is, and so is the front matter.
        in_code ^= line.trim_start().starts_with("```");
        in_front &= at == 0 || line != "---";
        if args[0] == "fetch" && (in_code || in_front) {
            continue;
        }
        let is_one_word = !words(line).contains(' ');
        let fits = line.width() <= usize::from(columns) || is_one_word;
        assert!(fits, "{args:?} in {columns} columns: {line}\n{text}");
    }
}

/// One verb in eight in 120 columns, in colours and through a pipe here; the whole is each verb.
#[test]
fn what_each_verb_says_fits_the_terminal_with_no_word_broken_and_a_pipe_gets_each_line_whole() {
    let world = world();
    let mut folded = 0;
    for (row, args) in ROWS.iter().enumerate() {
        let wide = world.rye_in_columns(2000, args).stdout.replace("\r\n", "\n");
        let is_more = row % 8 == 0 || whole();
        if is_more {
            let said = world.rye(args);
            let sorted = |text: &str| {
                let mut lines: Vec<_> = text.lines().map(timeless).collect();
                lines.sort_unstable();
                lines
            };
            let piped = said.stdout + &said.stderr;
            match piped.contains("\n|") {
                // The tables of a page are laid out for a terminal.
                true => assert_eq!(bag(&timeless(&piped)), bag(&timeless(&wide)), "{args:?}"),
                false => assert_eq!(sorted(&piped), sorted(&wide), "{args:?}"),
            }
        }
        let wide = timeless(&wide);
        for columns in [80, 120] {
            if columns == 120 && !is_more {
                continue;
            }
            let said = world.rye_in_columns(columns, args).stdout.replace("\r\n", "\n");
            fits(&said, columns, args);
            let said = timeless(&said);
            match said.contains("--  --") {
                true => assert_eq!(bag(&said), bag(&wide), "{args:?} in {columns} columns"),
                false => assert_eq!(words(&said), words(&wide), "{args:?} in {columns} columns"),
            }
            folded += usize::from(said != wide);
            // Colours take no room; of a line that clap does not understand they are clap's.
            let is_plain = *args.last().unwrap() == "nosuch" || args.contains(&"none");
            if is_more && !is_plain {
                let args = [*args, &["--color", "always"][..]].concat();
                let colored = world.rye_in_columns(columns, &args).stdout.replace("\r\n", "\n");
                assert_eq!(timeless(&plain(&colored)), said, "{args:?} in {columns} columns");
            }
        }
    }
    assert!(folded > ROWS.len() / 2, "{folded} of them had to be folded");
}

/// A project whose lock, workflow and proposal name the own key, and one of whose items is signed by
/// a key that nobody proposes.
fn entangled() -> World {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    for args in [
        &["trust", "propose", "--owner", "Ann"][..],
        &["lock"],
        &["new", "ci", "shell"],
        &["new", "ci", "github"],
    ] {
        world.rye(args).ok();
    }
    put(&world, &stranger(1), ".ai/tools/acme/theirs.sh", MARKER_SH);
    world
}

/// The text with each fingerprint as `KEY`, short ones too.
fn keyless(text: &str) -> String {
    let is_key = |word: &str| {
        let digits = word.chars().filter(char::is_ascii_hexdigit).count();
        digits == 32 || (digits == 8 && word.contains('…'))
    };
    let is_end = |c: char| !(c.is_ascii_hexdigit() || c == '…');
    let words = text.split_inclusive(is_end).map(|part| {
        let word = part.trim_end_matches(is_end);
        if is_key(word) { part.replacen(word, "KEY", 1) } else { part.to_owned() }
    });
    words.collect()
}

/// What is said once, since it changes something: each sentence is one line where there is room,
/// and fits where there is less.
#[test]
fn a_sentence_is_one_line_where_there_is_room_and_is_folded_where_there_is_not() {
    let rows: &[(&[&str], &[&str])] = &[
        (
            &["keys", "rotate"],
            &[
                "  sign your items again with `rye sign --all`, in each project and with \
                 `--space user`; it passes over what others signed",
                "  1 row of `.ai/rye.lock` here names the old key: then run `rye lock --update`",
                "  `.ai/config/keys/trusted/KEY.toml` proposes the old key to others: run \
                 `rye trust propose`, and commit it",
                "  `ci/rye.sh` trusts the old key: put KEY beside it, and commit it; take the old \
                 one out once nothing here is signed by it",
                "  then stop trusting the old key: `rye trust revoke KEY`",
            ],
        ),
        (
            &["trust", "revoke", "OLD"],
            &[
                "  `.github/workflows/rye.yml` still trusts it in CI: take it out there, and commit",
                "  `.ai/config/keys/trusted/KEY.toml` still proposes it to others: remove the \
                 file, and commit",
            ],
        ),
        (
            &["trust", "review"],
            &[
                "KEY is proposed by nobody here. Ask whoever signed: they run `rye trust propose` in \
               this project and commit the file; or they send you what `rye keys export` prints, \
               and you run `rye trust add FILE.pem --in .`",
            ],
        ),
        (
            &["trust", "propose", "--owner", "Ann"],
            &[
                "next: commit that file; the others read it with `rye trust review` and let your \
                 key in with `rye trust accept KEY`; tell them the fingerprint in another way too, \
                 so that they can compare",
                "`.ai/config/keys/trusted/KEY.toml` proposes a key that you replaced: remove it \
                 once nothing here is signed by that key",
            ],
        ),
        (
            &["new", "ci", "gitlab"],
            &["  say in `.gitlab-ci.yml` how rye is installed, and commit \
            it; as it is, it fails on a runner without rye (or remove it, and write it anew with \
            `--install 'COMMAND'`)"],
        ),
    ];
    for (args, lines) in rows {
        let said = [2000, 80].map(|columns| {
            let world = entangled();
            let old = fingerprint(&world.own_key());
            if args.contains(&"OLD") || args.contains(&"propose") {
                world.rye(&["keys", "rotate"]).ok();
            }
            let args: Vec<&str> =
                args.iter().map(|arg| if *arg == "OLD" { old.as_str() } else { arg }).collect();
            let said = world.rye_in_columns(columns, &args).stdout.replace("\r\n", "\n");
            fits(&said, columns, &args);
            keyless(&said).replace(world.outside().to_str().unwrap(), "WORLD")
        });
        for line in *lines {
            assert!(said[0].lines().any(|said| said == *line), "{line}\n{}", said[0]);
        }
        assert_eq!(words(&said[1]), words(&said[0]), "{args:?}");
        assert!(said[1].lines().count() > said[0].lines().count(), "{args:?}: {}", said[1]);
    }
}

#[test]
fn a_session_of_dev_fits_the_terminal() {
    let world = World::new();
    let file = format!("{FOLDER}/send_it.sh");
    world.signed(&file, &wordy());
    let mut command = at_terminal(&world, &["dev", ITEM]);
    command.env("TEST_COLUMNS", "80").env("NO_COLOR", "1");
    let mut dev = Dev::of(command);
    let mut seen: Vec<String> = Vec::new();
    let mut until = |text: &str| {
        while !seen.last().is_some_and(|line| line.contains(text)) {
            seen.push(dev.line().trim_end().to_owned());
        }
    };
    until("q quit");
    until("  ran  ");
    world.write(&file, wordy().replace("executor_id", "exceutor_id"));
    until("help: ");
    // A change to a file is shown as it is.
    seen.retain(|line| !line.starts_with(['+', '-', ' ', '@']) || line.starts_with("  "));
    fits(&seen.join("\n"), 80, &["dev"]);
    let error = seen.iter().position(|line| line.starts_with("error[")).unwrap();
    assert!(seen[error + 1].starts_with("    "), "{seen:#?}");
}
