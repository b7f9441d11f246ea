//! `rye trust`: whom a person believes, and how they see it.

use std::fs;

use serde_json::json;

use super::others::{
    AT, clone_world, document, example, example_key, files, pem, put, put_home,
    refused_and_unchanged, signed_text, standing, stranger, trust, trusted, weak,
};
use crate::world::{End, MARKER_SH, World, fingerprint};

const FILE: &str = ".ai/tools/acme/mark.sh";
const ITEM: &str = "tool:acme/mark";

#[test]
fn add_list_show_and_remove_agree() {
    let world = World::new();
    let key = stranger(1);
    put_home(&world, &key, FILE, MARKER_SH);
    refused_and_unchanged(&world, ITEM, "verify.untrusted");
    fs::write(world.outside().join("acme build.pem"), pem(&key)).unwrap();
    let (status, said) = world.json(&["trust", "add", "../acme build.pem"]);
    assert_eq!((status, &said["owner"]), (0, &"acme build".into()), "{said}");
    assert_eq!(said["fingerprint"], *fingerprint(&key));
    world.works(ITEM);
    let (_, list) = world.json(&["trust", "list"]);
    let rows: Vec<_> = list["keys"].as_array().unwrap().iter().collect();
    let states: Vec<_> = rows.iter().map(|row| row["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["own key", "publisher", "trusted"]);
    assert_eq!(rows[0]["fingerprint"], *fingerprint(&world.own_key()));
    assert_eq!(rows[2]["owner"], "acme build");
    let (status, show) = world.json(&["trust", "show", &fingerprint(&key)[..6]]);
    assert_eq!((status, &show["owner"]), (0, &"acme build".into()));
    let file = fs::read_to_string(world.home().join(trusted(&key))).unwrap();
    assert!(file.ends_with(show["document"].as_str().unwrap()), "{show}");
    world.json(&["trust", "remove", &fingerprint(&key)[..6]]).ok();
    refused_and_unchanged(&world, ITEM, "verify.untrusted");
    for verb in ["remove", "show"] {
        world.rye(&["trust", verb, &fingerprint(&key), "--json"]).fails(3, "trust.not_found");
    }
}

#[test]
fn a_beginning_that_fits_two_keys_names_neither() {
    let world = World::new();
    // Two keys whose fingerprints begin alike cannot be had quickly; two documents' names can.
    let own = world.own_key();
    for name in ["abcdef00000000000000000000000001", "abcdef00000000000000000000000002"] {
        let path = format!(".ai/config/keys/trusted/{name}.toml");
        put_home(&world, &own, &path, &document(&stranger(1), "x", ""));
    }
    let before = standing(&world);
    world.rye(&["trust", "remove", "abcdef", "--json"]).fails(3, "trust.not_found");
    assert_eq!(standing(&world), before);
    // A broken document can still be taken away by its whole name.
    world.rye(&["trust", "remove", "abcdef00000000000000000000000001"]).ok();
}

#[test]
fn what_is_no_key_is_not_added() {
    let world = World::new();
    let before = standing(&world);
    let (_, weak) = weak();
    let good = pem(&stranger(1));
    for (text, code) in [
        ("", "trust.malformed"),
        ("hello", "trust.malformed"),
        (&good[..50], "trust.malformed"),
        (weak.as_str(), "verify.weak_key"),
    ] {
        fs::write(world.outside().join("key.pem"), text).unwrap();
        let said = world.rye(&["trust", "add", "../key.pem", "--json"]);
        assert_eq!((said.code().as_str(), said.status), (code, 4), "{text}");
    }
    for (args, status) in [
        (&["--items", "tool:{a,b}"][..], 2),
        (&["--items", "acme/*"], 2),
        (&["--items", "spell:*"], 2),
        (&["--not-after", "soon"], 2),
        (&["--in", "../nowhere"], 4),
    ] {
        fs::write(world.outside().join("key.pem"), &good).unwrap();
        let said = world.rye(&[&["trust", "add", "../key.pem", "--json"], args].concat());
        assert_eq!(said.status, status, "{args:?} {said:?}");
    }
    assert_eq!(standing(&world), before);
}

#[test]
fn review_shows_each_item_with_its_signer_and_what_it_shadows() {
    let world = clone_world();
    let (known, proposed, unknown) = (stranger(1), stranger(2), stranger(3));
    trust(&world, &known, &["--owner", "a friend"]);
    world.signed_home(".ai/tools/acme/known.sh", MARKER_SH);
    put(&world, &known, ".ai/tools/acme/known.sh", MARKER_SH);
    put(&world, &proposed, ".ai/tools/acme/proposed.sh", MARKER_SH);
    put(&world, &unknown, ".ai/tools/acme/unknown.sh", MARKER_SH);
    world.write(".ai/tools/acme/none.sh", MARKER_SH);
    let altered = signed_text(&known, "tool:acme/altered", "sh", AT, MARKER_SH) + "# more\n";
    world.write(".ai/tools/acme/altered.sh", altered);
    put(&world, &world.own_key(), ".ai/tools/acme/mine.sh", MARKER_SH);
    put(&world, &unknown, ".ai/tools/rye/bash.sh", MARKER_SH);
    let gone = stranger(4);
    trust(&world, &gone, &[]);
    put(&world, &gone, ".ai/tools/acme/gone.sh", MARKER_SH);
    world.rye(&["trust", "revoke", &fingerprint(&gone)]).ok();
    // Your fingerprint in the line, and somebody else's signature under it.
    let sign = |key| signed_text(key, "tool:acme/forged", "sh", AT, MARKER_SH);
    let (mine, theirs) = (sign(&world.own_key()), sign(&unknown));
    let at = mine.find(" sig=").unwrap();
    let forged = format!("{}{}{}", &mine[..at], &theirs[at..at + 91], &mine[at + 91..]);
    world.write(".ai/tools/acme/forged.sh", forged);
    // No place hides a tool: only a config is a proposal.
    world.write(".ai/tools/keys/trusted/hidden.sh", MARKER_SH);
    world.write(&trusted(&proposed), document(&proposed, "they say", ""));
    world.write(".ai/config/keys/trusted/broken.toml", "owner = 1");
    let before = files(&world);
    let (status, review) = world.json(&["trust", "review"]);
    assert_eq!((status, &review["accepted"]), (0, &false.into()));
    let rows: Vec<_> = review["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| json!([i["item_id"], i["signer_is"], i["owner"], i["altered"], i["shadows"]]))
        .collect();
    let want = [
        json!(["tool:acme/altered", "known", "a friend", true, []]),
        json!(["tool:acme/forged", "none", null, false, []]),
        json!(["tool:acme/gone", "revoked", null, false, []]),
        json!(["tool:acme/known", "known", "a friend", false, ["user"]]),
        json!(["tool:acme/mine", "known", "you", false, []]),
        json!(["tool:acme/none", "none", null, false, []]),
        json!(["tool:acme/proposed", "proposed", null, false, []]),
        json!(["tool:acme/unknown", "unknown", null, false, []]),
        json!(["tool:keys/trusted/hidden", "none", null, false, []]),
        json!(["tool:rye/bash", "unknown", null, false, ["system"]]),
    ];
    assert_eq!(rows, want);
    let proposals = review["proposals"].as_array().unwrap();
    assert_eq!(proposals.len(), 2, "{review}");
    assert_eq!(proposals[0]["fingerprint"], *fingerprint(&proposed));
    assert_eq!(proposals[0]["owner"], "they say");
    assert!(proposals[1]["error"].is_string(), "{review}");
    assert_eq!(files(&world), before, "looking wrote something");
    let text = world.rye(&["trust", "review"]);
    for word in ["not accepted", "they say", "tool:acme/none", "tool:rye/bash", "shadows system"] {
        assert!(text.stdout.contains(word), "{word}: {text:?}");
    }
}

#[test]
fn review_says_which_items_a_known_key_may_not_sign_here() {
    let world = clone_world();
    let friend = stranger(1);
    trust(&world, &friend, &["--owner", "a friend", "--items", "tool:acme/**"]);
    for path in [FILE, ".ai/tools/other/mark.sh", ".ai/tools/hooks/watch.sh"] {
        put(&world, &friend, path, MARKER_SH);
    }
    let (_, review) = world.json(&["trust", "review"]);
    let rows = review["items"].as_array().unwrap().iter();
    let rows: Vec<_> =
        rows.map(|i| json!([i["item_id"], i["signer_is"], i["out_of_scope"]])).collect();
    let why = "its trust document does not list this item";
    let want = [
        json!([ITEM, "known", null]),
        json!(["tool:hooks/watch", "known", why]),
        json!(["tool:other/mark", "known", why]),
    ];
    assert_eq!(rows, want, "{review}");
    let text = world.rye(&["trust", "review"]).stdout;
    let line = |item: &str| text.lines().find(|line| line.contains(item)).unwrap().to_owned();
    assert!(line("tool:other/mark").ends_with(&format!("may not sign this: {why}")), "{text}");
    assert!(!line(ITEM).contains("may not sign"), "{text}");
    // It is what the run says, once the project is accepted.
    world.rye(&["trust", "project"]).ok();
    assert_eq!(world.run(ITEM).1, "hook.unusable");
    // The refusal names the command that lets the hook in, and so does the list of hooks.
    let key = fingerprint(&friend);
    let command = format!("rye trust accept {key} --items 'tool:hooks/watch'");
    for args in [&["execute", ITEM][..], &["hooks", "list"]] {
        let said = world.rye(args);
        let said = said.stdout + &said.stderr;
        assert!(said.contains(&command), "{args:?}: {said}");
    }
    fs::remove_file(world.project().join(".ai/tools/hooks/watch.sh")).unwrap();
    world.works(ITEM);
    refused_and_unchanged(&world, "tool:other/mark", "verify.out_of_scope");
}

#[test]
fn no_owner_imitates_the_name_and_key_of_another() {
    let world = clone_world();
    let mallory = stranger(1);
    let owner = "rye` 78f7dae3a0d00013  (publisher) `x";
    fs::write(world.outside().join("mallory.pem"), pem(&mallory)).unwrap();
    let before = standing(&world);
    world.rye(&["trust", "add", "../mallory.pem", "--owner", owner]).fails(4, "trust.malformed");
    assert_eq!(standing(&world), before);
    // Nor by a proposal, or by a document that you would hand out.
    put(&world, &mallory, FILE, MARKER_SH);
    let proposal = world.write(&trusted(&mallory), document(&mallory, owner, ""));
    let (_, review) = world.json(&["trust", "review"]);
    assert!(review["proposals"][0]["error"].as_str().unwrap().contains("backticks"), "{review}");
    assert_eq!(review["items"][0]["signer_is"], "unknown", "{review}");
    let text = world.rye(&["trust", "review"]).stdout;
    assert!(!text.contains("(publisher)"), "{text}");
    assert_ne!(world.rye(&["trust", "accept", &fingerprint(&mallory)]).status, 0);
    assert_ne!(world.rye(&["keys", "export", "--document", owner]).status, 0);
    assert_eq!(standing(&world), before);
    // The same without it is taken.
    fs::write(proposal, document(&mallory, "mallory", "")).unwrap();
    world.rye(&["trust", "accept", &fingerprint(&mallory)]).ok();
    world.works(ITEM);
}

#[test]
fn accept_is_for_this_project_unless_it_is_said_to_be_for_all() {
    for everywhere in [false, true] {
        let world = clone_world();
        let key = stranger(1);
        put(&world, &key, FILE, MARKER_SH);
        put_home(&world, &key, ".ai/tools/acme/mine.sh", MARKER_SH);
        world.write(&trusted(&key), document(&key, "acme build", ""));
        let fp = fingerprint(&key);
        let more: &[&str] = if everywhere { &["--everywhere"] } else { &[] };
        let said = world.json(&[&["trust", "accept", &fp[..16]], more].concat()).ok();
        let project = fs::canonicalize(world.project()).unwrap().display().to_string();
        let want = if everywhere { json!(null) } else { json!([project]) };
        assert_eq!(said["projects"], want);
        world.works(ITEM);
        match everywhere {
            true => world.works("tool:acme/mine"),
            false => refused_and_unchanged(&world, "tool:acme/mine", "verify.out_of_scope"),
        }
    }
}

#[test]
fn a_proposed_key_is_named_by_sixteen_digits_or_more() {
    let world = clone_world();
    let key = stranger(1);
    world.write(&trusted(&key), document(&key, "acme build", ""));
    let fp = fingerprint(&key);
    let short_form = format!("{}…{}", &fp[..4], &fp[28..]);
    for verb in ["accept", "add"] {
        for name in [&fp[..8], &fp[..15], &short_form] {
            world.rye(&["trust", verb, name, "--json"]).fails(3, "id.malformed");
        }
    }
    assert!(!world.home().join(trusted(&key)).exists(), "nothing was trusted");
    world.rye(&["trust", "accept", &fp[..16]]).ok();
    assert!(world.home().join(trusted(&key)).exists());
}

#[test]
fn what_a_proposal_wishes_for_itself_is_never_more_than_the_default() {
    let key = stranger(1);
    let wishes = [
        "items = [\"*:**\"]\n",
        "items = [\"tool:acme/*\", \"config:**\"]\n",
        "items = [\"tool:**\", \"config:acme/*\"]\n",
    ];
    for wish in wishes {
        for verb in ["accept", "add"] {
            let world = clone_world();
            put(&world, &key, FILE, MARKER_SH);
            put(&world, &key, ".ai/config/acme/settings.yaml", "a: 1\n");
            world.write(&trusted(&key), document(&key, "acme build", wish));
            world.rye(&["trust", verb, &fingerprint(&key)]).ok();
            world.rye(&["trust", "project"]).ok();
            world.works(ITEM);
            // Config is among the default of a key that counts in one project.
            let (status, said) = world.json(&["verify", "config:acme/settings"]);
            assert_eq!(status, if *verb == *"add" { 4 } else { 0 }, "{verb} {wish}: {said}");
            put(&world, &key, ".ai/tools/hooks/watch.sh", MARKER_SH);
            let (status, said) = world.json(&["verify", "tool:hooks/watch"]);
            let code = &said["items"][0]["code"];
            assert_eq!((status, code), (4, &json!("verify.out_of_scope")), "{verb} {wish}");
        }
    }
    // What it wishes to be narrower is kept, also where a part of it is more than the default.
    let world = clone_world();
    put(&world, &key, FILE, MARKER_SH);
    for wish in [
        "items = [\"tool:other/*\"]\n",
        "items = [\"knowledge:**\"]\n",
        "items = [\"directive:*\", \"knowledge:acme/*\"]\n",
        "items = [\"config:acme/*\"]\n",
        "items = [\"tool:other/*\", \"config:**\"]\n",
        "items = [\"tool:*\"]\n",
        "items = [\"tool:a*/x\"]\n",
        "items = []\n",
        "not_after = \"2020-01-01T00:00:00Z\"\n",
    ] {
        world.write(&trusted(&key), document(&key, "acme build", wish));
        drop(world.rye(&["trust", "remove", &fingerprint(&key)]));
        let said = world.rye(&["trust", "accept", &fingerprint(&key)]);
        assert_eq!(said.status, 0, "{wish} {said:?}");
        let code = if wish.starts_with("not") { "verify.expired" } else { "verify.out_of_scope" };
        refused_and_unchanged(&world, ITEM, code);
    }
    // What the person says goes before it, and stands when the key is accepted again.
    world.rye(&["trust", "remove", &fingerprint(&key)]).ok();
    world.write(&trusted(&key), document(&key, "acme build", "items = [\"tool:other/*\"]\n"));
    let fp = fingerprint(&key);
    world.rye(&["trust", "accept", &fp, "--items", "tool:acme/*"]).ok();
    world.works(ITEM);
    world.write(&trusted(&key), document(&key, "acme build", ""));
    world.rye(&["trust", "accept", &fp]).ok();
    let (_, shown) = world.json(&["trust", "show", &fp]);
    assert!(shown["scope"].as_str().unwrap().starts_with("tool:acme/*"), "{shown}");
}

#[test]
fn a_revoked_key_is_shown_as_revoked_and_stays_so() {
    let world = World::new();
    let key = stranger(1);
    put_home(&world, &key, FILE, MARKER_SH);
    trust(&world, &key, &[]);
    world.works(ITEM);
    let fp = fingerprint(&key);
    world.rye(&["trust", "revoke", &fp[..8], "--reason", "lost"]).ok();
    refused_and_unchanged(&world, ITEM, "verify.revoked");
    let (_, list) = world.json(&["trust", "list"]);
    assert_eq!(list["revoked"], json!([fp]));
    let (_, show) = world.json(&["trust", "show", &fp]);
    assert_eq!(show["state"], "revoked", "{show}");
    // It cannot take the revocation back, whatever it signs.
    let file = super::others::revoked(&key);
    let own = fs::read(world.home().join(&file)).unwrap();
    let text = format!("fingerprint = \"{fp}\"\nreason = \"\"\n");
    put_home(&world, &key, &file, &text);
    refused_and_unchanged(&world, ITEM, "verify.trust_unreadable");
    world.write_home(&file, &text);
    refused_and_unchanged(&world, ITEM, "verify.trust_unreadable");
    world.write_home(&file, own);
    refused_and_unchanged(&world, ITEM, "verify.revoked");
    // What is still wanted is signed again.
    world.rye(&["sign", ITEM, "--space", "user"]).ok();
    world.works(ITEM);
}

#[test]
fn your_own_key_and_the_publishers_can_be_revoked() {
    let world = World::new().with(FILE, MARKER_SH);
    world.works(ITEM);
    let bash = ["execute", "tool:rye/bash", "--dry-run", "-i", "command=true", "--json"];
    world.rye(&bash).ok();
    let (_, list) = world.json(&["trust", "list"]);
    let publisher = list["keys"][1]["fingerprint"].as_str().unwrap().to_owned();
    world.rye(&["trust", "revoke", &publisher]).ok();
    world.rye(&bash).fails(4, "verify.revoked");
    world.json(&["trust", "list"]);
    world.rye(&["trust", "revoke", &fingerprint(&world.own_key()), "--yes"]).ok();
    let said = world.rye(&["execute", ITEM]);
    assert_eq!(said.status, 4, "{said:?}");
    assert!(said.stderr.contains("rye keys rotate"), "{said:?}");
    let (_, review) = world.json(&["trust", "review"]);
    assert_eq!(review["accepted"], false, "{review}");
    // It speaks for nobody any more, until there is another.
    for verb in [&["sign", ITEM][..], &["trust", "revoke", &fingerprint(&stranger(1))]] {
        world.rye(verb).fails(4, "verify.revoked");
    }
    world.rye(&["keys", "rotate"]).ok();
    // What it accepted is not taken over either.
    assert_eq!(world.rye(&["sign", ITEM]).code(), "verify.project_not_accepted");
    assert_eq!(world.rye_at_a_terminal("y\n", &["sign", ITEM]).status, 0);
    assert_eq!(world.rye(&bash).code(), "verify.revoked", "the revocation is carried over");
}

#[test]
fn the_example_key_is_refused_until_it_is_let_in_by_name() {
    let key = example_key();
    let world = World::new();
    put(&world, &key, FILE, MARKER_SH);
    refused_and_unchanged(&world, ITEM, "verify.example_key");
    let before = standing(&world);
    let public = example("example.pub");
    let fp = fingerprint(&key);
    let claimed = document(&key, "acme build", "example = true\n");
    world.write(&trusted(&key), &claimed);
    for args in
        [&["add", &public][..], &["add", &fp], &["accept", &fp], &["accept", &fp, "--everywhere"]]
    {
        world.rye(&[&["trust"], args, &["--json"]].concat()).fails(4, "verify.example_key");
        assert_eq!(standing(&world), before, "{args:?}");
    }
    // A document of your own that does not say so in so many words is not enough either.
    let own = world.own_key();
    let quiet = put_home(&world, &own, &trusted(&key), &document(&key, "x", ""));
    refused_and_unchanged(&world, ITEM, "verify.example_key");
    fs::remove_file(quiet).unwrap();
    let doctor = world.json(&["doctor"]).ok();
    assert!(!doctor.to_string().contains("example key"), "{doctor}");
    // To let it in by name says nothing of another key.
    fs::write(world.outside().join("key.pem"), pem(&stranger(1))).unwrap();
    world.rye(&["trust", "add", "--example", "../key.pem"]);
    assert!(!world.rye(&["doctor"]).stdout.contains("example key"));
    world.rye(&["trust", "add", "--example", &public]).ok();
    world.works(ITEM);
    world.rye(&["doctor"]).shows("example key");
    world.rye(&["trust", "remove", &fp]).ok();
    refused_and_unchanged(&world, ITEM, "verify.example_key");
}

#[test]
fn the_example_key_as_your_own_admits_nothing() {
    let world = World::empty();
    let key = example("example.key");
    let before = files(&world);
    world.rye(&["keys", "import", &key, "--json"]).fails(4, "verify.example_key");
    assert_eq!(files(&world), before);
    // Taken by name, it is a key to try signing with, and nothing that runs.
    world.rye(&["keys", "import", "--example", &key]).ok();
    world.rye(&["init"]);
    world.write(FILE, MARKER_SH);
    world.rye(&["sign", ITEM]);
    world.refused(ITEM, "verify.example_key", 4);
    let doctor = world.rye(&["doctor"]);
    assert!(doctor.status == 4 && doctor.stdout.contains("example key"), "{doctor:?}");
}
