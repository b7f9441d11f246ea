//! `rye import skill` and `rye export skill`: a skill becomes a signed directive, and a tool that
//! gives out its files; what comes back is the skill.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world::{End, World};

const SKILL_MD: &str = "---\nname: pdf-forms\ndescription: \"Fills in PDF forms: use it when a form is to be filled in.\"\n\
    license: Apache-2.0\ncompatibility: \"Needs python3 & <a printer>\"\nmetadata:\n  author: acme-org\n  \
    version: \"1.2\"\nallowed-tools: \"Bash(git:*) Read\"\n---\n\n# PDF forms\n\nSee [the reference](references/FORMS.md).\n\n\
    ```sh\npython3 scripts/fill.py\n```\n";

/// A world with a skill beside the project.
fn world() -> World {
    let world = World::new();
    let files: [(&str, &[u8], u32); 5] = [
        ("SKILL.md", SKILL_MD.as_bytes(), 0o644),
        ("references/FORMS.md", b"# Forms\n\nAll about forms.\n", 0o644),
        ("scripts/fill.py", b"#!/usr/bin/env python3\nprint('filled')\n", 0o755),
        ("scripts/more/deep.sh", b"echo deep\n", 0o644),
        ("assets/logo.png", &[0x89, b'P', 0, 0xff], 0o644),
    ];
    for (path, bytes, mode) in files {
        let path = skill(&world).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    world
}

fn skill(world: &World) -> PathBuf {
    world.outside().join("pdf-forms")
}

/// Each file of a folder, with whether it is a program.
pub(super) fn tree(folder: &Path) -> BTreeMap<String, (Vec<u8>, bool)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(&inner).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            let is_program = path.metadata().unwrap().permissions().mode() & 0o111 != 0;
            found.insert(name, (fs::read(&path).unwrap(), is_program));
        }
    }
    found
}

fn import(world: &World, more: &[&str]) -> (i32, Value) {
    world.json(&[&["import", "skill", "../pdf-forms"], more].concat())
}

#[test]
fn a_skill_is_imported_signed_used_and_comes_back_as_it_was() {
    let world = world();
    let said = world.rye(&["import", "skill", "../pdf-forms", "--yes"]).ok();
    for told in [
        "`allowed-tools: Bash(git:*) Read` is kept, and allows nothing here",
        "  See [the reference](references/FORMS.md).",
        "copies scripts/fill.py to pdf_forms_skill.files/scripts/fill.py  sha256 ",
        "signed  directive:skills/pdf_forms",
        "signed  tool:skills/pdf_forms_skill",
    ] {
        assert!(said.stdout.contains(told), "{told}: {}", said.stdout);
    }
    world.rye(&["verify", "tool:skills/**", "directive:skills/**", "--ci"]).ok();
    assert_eq!(world.rye(&["sign", "--all", "--check"]).status, 0, "nothing is left to sign");
    // An agent is told where the files come from, and gets just what was signed.
    world
        .rye(&["execute", "directive:skills/pdf_forms"])
        .shows("rye execute tool:skills/pdf_forms_skill -i file=PATH")
        .shows("# PDF forms\n\nSee [the reference]");
    let give = |input: &str| world.json(&["execute", "tool:skills/pdf_forms_skill", "-i", input]);
    let (status, said) = give("file=references/FORMS.md");
    assert_eq!((status, &said["data"]), (0, &json!({"text": "# Forms\n\nAll about forms.\n"})));
    let (_, said) = give("file=assets/logo.png");
    assert_eq!(said["data"], json!({"base64": "iVAA/w=="}));
    assert_eq!(give("file=../pdf_forms_skill.py").0, 1);
    assert_eq!(give("to=work/skill").0, 0);
    assert_eq!(world.shell("python3 work/skill/scripts/fill.py"), "filled\n");
    for there in ["to=../elsewhere", "to=work", "to=/tmp/rye-skill-slip", "to=.ai/tools/new"] {
        assert_eq!(give(there).0, 1, "{there}");
    }

    world.rye(&["export", "skill", "skills/pdf_forms", "--to", "out"]).ok();
    let (was, is) = (tree(&skill(&world)), tree(&world.project().join("out/pdf-forms")));
    assert_eq!(was.keys().collect::<Vec<_>>(), is.keys().collect::<Vec<_>>());
    assert_eq!(was, is, "to the byte");
    world
        .rye(&["export", "skill", "skills/pdf_forms", "--to", "out", "--json"])
        .fails(4, "import.exists");
}

#[test]
fn a_skill_with_manifests_is_imported_signed_and_read_and_nothing_of_them_runs() {
    let world = world();
    let ran = world.outside().join("ran");
    let mark = format!("touch {}", ran.display());
    let package = json!({"name": "x", "version": "1.0.0", "scripts": {
        "preinstall": mark, "postinstall": mark, "prepare": mark}});
    fs::write(skill(&world).join("package.json"), package.to_string()).unwrap();
    let setup = format!("import os\nos.system({mark:?})\n");
    for name in ["setup.py", "conftest.py", "sitecustomize.py"] {
        fs::write(skill(&world).join(name), &setup).unwrap();
    }
    fs::write(skill(&world).join("Makefile"), format!("all:\n\t{mark}\n")).unwrap();
    world.shell("python3 ../pdf-forms/setup.py");
    fs::remove_file(&ran).expect("the fixture itself works");
    assert_eq!(import(&world, &["--yes"]).0, 0);
    for file in ["package.json", "setup.py", "Makefile"] {
        let input = format!("file={file}");
        let (status, said) = world.json(&["execute", "tool:skills/pdf_forms_skill", "-i", &input]);
        assert!(status == 0 && said["data"]["text"].is_string(), "{said}");
    }
    assert_eq!(world.json(&["execute", "tool:skills/pdf_forms_skill", "-i", "to=work/skill"]).0, 0);
    assert!(world.project().join("work/skill/package.json").exists());
    world.rye(&["run", "skills/pdf_forms"]).ok();
    assert!(!ran.exists(), "something of the skill ran");
}

#[test]
fn a_byte_order_mark_before_a_skill_is_left_out_and_told() {
    let world = world();
    fs::write(skill(&world).join("SKILL.md"), format!("\u{feff}{SKILL_MD}")).unwrap();
    let (status, said) = import(&world, &["--yes"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.to_string().contains("it begins with a byte order mark"), "{said}");
}

#[test]
fn a_skill_comes_back_to_the_byte_however_it_is_laid_out() {
    let world = world();
    let front = "name: pdf-forms\ndescription: |\n  Fills in\n  PDF forms.\n\n# a comment\nlicense:   'MIT'\n";
    let fenced = format!("{front}metadata:\n  x: |\n    ```yaml\n    a: 1\n    ```\n");
    for (at, (front, body)) in [
        (front, "\n# Forms\n"),
        (front, "# No line between\n\n\n\n"),
        (front, "\n\n\n# No line feed at the end"),
        (front, "\n```xml\n<other/>\n```\n\ntext  \n \n"),
        (front, "\n---\n\n---\n"),
        (front, "\n"),
        (&*fenced, "\n# Forms\n"),
    ]
    .into_iter()
    .enumerate()
    {
        for with_files in [true, false] {
            let text = format!("---\n{front}---\n{body}");
            fs::write(skill(&world).join("SKILL.md"), &text).unwrap();
            for folder in ["references", "scripts", "assets"] {
                drop(fs::remove_dir_all(skill(&world).join(folder)));
            }
            if with_files {
                fs::create_dir(skill(&world).join("assets")).unwrap();
                fs::write(skill(&world).join("assets/a.txt"), "a").unwrap();
            }
            let category = format!("c{at}{with_files}");
            let (status, said) = import(&world, &["--category", &category, "--yes"]);
            assert_eq!(status, 0, "{text:?}: {said}");
            let item = format!("{category}/pdf_forms");
            let said = world.rye(&["export", "skill", &item, "--to", &category]);
            assert_eq!(said.status, 0, "{text:?}: {said:?}");
            let back = tree(&world.project().join(&category).join("pdf-forms"));
            assert_eq!(back, tree(&skill(&world)), "{text:?}");
        }
    }
}

#[test]
fn a_skill_that_breaks_rules_of_the_format_is_taken_with_remarks_if_a_person_says_so() {
    let world = world();
    let long = "x".repeat(1025);
    let rows = [
        ("name: pdf-forms", "name: other-name".to_owned(), "is not the folder's"),
        ("name: pdf-forms", "name: PDF_Forms".to_owned(), "holds more than small letters"),
        ("Needs python3 & <a printer>", long, "is longer than 500"),
    ];
    for (from, to, part) in &rows {
        let text = SKILL_MD.replace(from, to);
        fs::write(skill(&world).join("SKILL.md"), &text).unwrap();
        assert_eq!(import(&world, &["--dry-run"]).0, 5, "{to}: the rule is one");
        let (status, said) = import(&world, &["--lenient", "--yes", "--force"]);
        assert_eq!(status, 0, "{to}: {said}");
        assert!(said["remarks"].to_string().contains(part), "{to}: {said}");
        let item = said["items"].as_array().unwrap().last().unwrap()["item_id"].clone();
        let out = format!("out{}", part.len());
        let args = ["export", "skill", item.as_str().unwrap(), "--to", &out, "--json"];
        let said = world.rye(&args).json();
        let back =
            fs::read(world.project().join(said["folder"].as_str().unwrap()).join("SKILL.md"));
        assert_eq!(String::from_utf8(back.unwrap()).unwrap(), text, "{to}");
    }
    // What is no rule of the format's own is one all the same.
    fs::write(skill(&world).join("SKILL.md"), SKILL_MD.replace("name: pdf-forms\n", "")).unwrap();
    assert_eq!(import(&world, &["--lenient", "--yes"]).0, 5);
}

#[test]
fn the_keys_of_published_skills_are_kept_and_told() {
    let world = world();
    let keys = [
        ("disable-model-invocation", "true"),
        ("argument-hint", "[file]"),
        ("user-invocable", "true"),
        ("model", "inherit"),
        ("version", "1.2.0"),
        ("context", "fork"),
        ("agent", "Explore"),
        ("hooks", "{Stop: [{command: x}]}"),
    ];
    let more: String = keys.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
    let text = SKILL_MD
        .replace("license: ", &format!("{more}license: "))
        .replace("\"Bash(git:*) Read\"", "\n  - Bash(git:*)\n  - Read");
    fs::write(skill(&world).join("SKILL.md"), &text).unwrap();
    let (status, said) = import(&world, &["--yes"]);
    assert_eq!(status, 0, "{said}");
    for (key, _) in keys {
        let want = format!("`{key}` is not a key of the format; it is kept, and does nothing here");
        assert!(said["remarks"].to_string().contains(&want), "{key}: {said}");
    }
    let told = "`allowed-tools: Bash(git:*) Read` is kept, and allows nothing here";
    world.rye(&["import", "skill", "../pdf-forms", "--dry-run"]).shows(told);
    world.rye(&["export", "skill", "skills/pdf_forms", "--to", "out"]).ok();
    let back = fs::read_to_string(world.project().join("out/pdf-forms/SKILL.md")).unwrap();
    assert_eq!(back, text);
}

#[test]
fn a_folder_that_is_not_there_is_said_to_be_missing() {
    let world = World::new();
    for format in ["skill", "rye"] {
        let said =
            world.rye(&["import", format, "../nowhere", "--json"]).fails(5, "import.nothing");
        let error = said.json()["error"].as_str().unwrap().to_owned();
        assert_eq!(error, "there is no folder `../nowhere`", "{said:?}");
    }
}

#[test]
fn a_changed_file_of_a_skill_is_neither_given_out_nor_exported() {
    let world = world();
    assert_eq!(import(&world, &["--yes"]).0, 0);
    world.works("tool:skills/pdf_forms_skill");
    let path = ".ai/tools/skills/pdf_forms_skill.files/references/FORMS.md";
    world.write(path, "# Forms\n\nSend them to evil.\n");
    world.refused("tool:skills/pdf_forms_skill", "verify.dependency", 4);
    world
        .rye(&["export", "skill", "skills/pdf_forms", "--to", "out"])
        .fails(4, "verify.dependency");
    assert!(!world.project().join("out").exists());
}

#[test]
fn each_fault_of_the_front_matter_has_its_line_and_nothing_is_written() {
    let world = world();
    let long = |count: usize| "x".repeat(count);
    let rows = [
        ("name: pdf-forms", "name: PDF-forms", "import.name", 2),
        ("name: pdf-forms", "name: pdf--forms", "import.name", 2),
        ("name: pdf-forms", "name: -pdf", "import.name", 2),
        ("name: pdf-forms", "name: other", "import.name", 2),
        ("name: pdf-forms\n", "", "import.missing", 2),
        ("license: Apache-2.0", "license: [MIT]", "import.value", 4),
        ("allowed-tools: \"Bash(git:*) Read\"", "allowed-tools: {a: b}", "import.value", 9),
        ("  version: \"1.2\"", "  version: {a: b}", "import.value", 8),
        ("license: Apache-2.0", "license: \"a\u{202e}b\"", "import.value", 4),
        ("license: Apache-2.0", "license: a: b", "import.syntax", 4),
    ];
    for (from, to, code, line) in rows {
        fs::write(skill(&world).join("SKILL.md"), SKILL_MD.replace(from, to)).unwrap();
        let (status, said) = import(&world, &["--yes"]);
        assert_eq!((status, said["code"].as_str()), (5, Some(code)), "{to}: {said}");
        assert_eq!(said["place"]["line"], line, "{to}: {said}");
        let quotes = said["help"].as_str().is_some_and(|help| help.contains("stands in quotes"));
        assert_eq!(quotes, code == "import.syntax", "{to}: {said}");
    }
    let description = SKILL_MD.lines().find(|line| line.starts_with("description")).unwrap();
    for (count, fits) in [(1024, true), (1025, false)] {
        let text = SKILL_MD.replace(description, &format!("description: {}", long(count)));
        fs::write(skill(&world).join("SKILL.md"), text).unwrap();
        assert_eq!(import(&world, &["--dry-run"]).0 == 0, fits, "{count}");
    }
    fs::write(skill(&world).join("SKILL.md"), b"---\nname: \xff\n---\n").unwrap();
    let (status, said) = import(&world, &["--yes"]);
    assert_eq!((status, said["code"].as_str()), (5, Some("import.value")), "{said}");
    for text in ["# PDF\n", "---\nname: pdf-forms\n", ""] {
        fs::write(skill(&world).join("SKILL.md"), text).unwrap();
        let (status, said) = import(&world, &["--yes"]);
        assert_eq!((status, said["code"].as_str()), (5, Some("import.missing")), "{said}");
    }
    fs::remove_file(skill(&world).join("SKILL.md")).unwrap();
    let (status, said) = import(&world, &["--yes"]);
    assert_eq!((status, said["code"].as_str()), (5, Some("import.nothing")), "{said}");
    assert!(!world.project().join(".ai/directives/skills").exists());
}

#[test]
fn a_link_in_a_skill_is_a_fault_and_a_hidden_file_is_told() {
    let world = world();
    fs::write(skill(&world).join(".env"), "TOKEN=1").unwrap();
    let (status, said) = import(&world, &["--dry-run"]);
    assert_eq!((status, said["remarks"].as_array().unwrap().len()), (0, 1), "{said}");
    assert!(!said.to_string().contains("TOKEN"), "{said}");
    symlink("/etc/passwd", skill(&world).join("references/more.md")).unwrap();
    let (status, said) = import(&world, &["--yes"]);
    assert_eq!((status, said["code"].as_str()), (5, Some("import.file")), "{said}");
    let (error, help) = (said["error"].to_string(), said["help"].to_string());
    assert!(error.contains("`references/more.md`, which is a symbolic link"), "{said}");
    assert!(help.contains("into the folder itself, as regular files"), "{said}");
    assert!(!world.project().join(".ai/tools/skills").exists());
}

#[test]
fn a_skill_of_more_than_a_tool_can_have_is_a_fault_before_it_is_read_whole() {
    let world = world();
    for at in 0..20 {
        let file = fs::File::create(skill(&world).join(format!("assets/{at}.bin"))).unwrap();
        file.set_len(4 << 20).unwrap();
        if at == 14 {
            let (status, said) = import(&world, &["--dry-run"]);
            assert_eq!(status, 0, "60 MiB are not too much: {said}");
        }
    }
    let (status, said) = import(&world, &["--yes"]);
    assert_eq!((status, said["code"].as_str()), (5, Some("import.file")), "{said}");
    assert_eq!(said["findings"].as_array().map(Vec::len), Some(1), "{said}");
    assert!(!world.project().join(".ai/tools/skills").exists());
}

#[test]
fn an_import_that_cannot_be_written_to_its_end_leaves_nothing_of_itself() {
    let world = world();
    world.write(".ai/directives/skills", "a file where a folder should be");
    world.write(".ai/tools/skills/mine.txt", "mine");
    let (status, said) = import(&world, &["--yes"]);
    assert_eq!((status, said["code"].as_str()), (6, Some("import.io")), "{said}");
    let tools: Vec<_> = tree(&world.project().join(".ai/tools")).into_keys().collect();
    assert_eq!(tools, ["skills/mine.txt"]);
    assert!(!world.project().join(".ai/tools/skills/pdf_forms_skill.files").exists());
    fs::remove_file(world.project().join(".ai/directives/skills")).unwrap();
    assert_eq!(import(&world, &["--yes"]).0, 0, "once the cause is mended it is imported");
}

#[test]
fn e07_a_skill_with_text_that_nobody_sees_is_shown_escaped_and_not_signed() {
    let world = world();
    let text = SKILL_MD.replace("See [the", "See \u{e0041}\u{202e}[the");
    fs::write(skill(&world).join("SKILL.md"), text).unwrap();
    let said =
        world.rye(&["import", "skill", "../pdf-forms", "--yes"]).fails(5, "parse.invisible_text");
    assert!(said.stdout.contains("u{202e}") && !said.stdout.contains('\u{202e}'), "{said:?}");
}

#[test]
fn a_directive_of_one_s_own_is_a_skill_if_the_format_can_hold_it() {
    let world = World::new();
    let text = |inputs: &str| {
        format!(
            "# Tell\n\n```xml\n<directive name=\"tell_it\" version=\"2.0.0\">\n  <metadata>\n    \
             <description>Tells</description>\n    <category>acme</category>\n    <author>ada</author>\n  \
             </metadata>\n{inputs}</directive>\n```\n\nTell it.\n"
        )
    };
    world.signed(".ai/directives/acme/tell_it.md", &text(""));
    world.rye(&["export", "skill", "acme/tell_it", "--to", "out"]).ok();
    let got = fs::read_to_string(world.project().join("out/tell-it/SKILL.md")).unwrap();
    let want = "---\nname: tell-it\ndescription: Tells\nmetadata:\n  author: ada\n  version: \"2.0.0\"\n---\n\nTell it.\n";
    assert_eq!(got, want);
    let inputs = "  <inputs>\n    <input name=\"who\" type=\"string\">x</input>\n  </inputs>\n";
    world.signed(".ai/directives/acme/tell_it.md", &text(inputs));
    world.rye(&["export", "skill", "acme/tell_it", "--to", "out2"]).fails(5, "import.not_a_skill");
}

/// What the tool of the skill gives out, after it put all of it into a folder.
fn given_out(world: &World, to: &str) -> Vec<String> {
    let input = format!("to={to}");
    let said = world.json(&["execute", "tool:skills/pdf_forms_skill", "-i", &input]).ok();
    let put: Vec<_> = tree(&world.project().join(to)).into_keys().collect();
    assert_eq!(json!(put), said["data"]["files"], "{said}");
    put
}

#[test]
fn what_lies_in_the_folder_of_a_skill_s_files_and_is_not_the_skill_s_belongs_to_no_item() {
    let world = world();
    let planted = ".ai/tools/skills/pdf_forms_skill.files/scripts/evil.sh";
    world.write(planted, "echo evil\n");
    assert_eq!(import(&world, &["--yes"]).ok()["left_over"], json!([planted]));
    let text = String::from_utf8(world.read(".ai/tools/skills/pdf_forms_skill.py")).unwrap();
    assert!(!text.contains("evil"), "{text}");
    assert!(text.contains("\"pdf_forms_skill.files/scripts/fill.py\" = \""), "{text}");
    let own = ["assets/logo.png", "references/FORMS.md", "scripts/fill.py", "scripts/more/deep.sh"];
    assert_eq!(given_out(&world, "work"), own);
    // Also when it is signed once more, and when it comes later.
    world.write(".ai/tools/skills/pdf_forms_skill.files/later.sh", "echo later\n");
    world.write(".ai/tools/skills/pdf_forms_skill.py", text.split_once('\n').unwrap().1);
    world.rye(&["sign", "tool:skills/pdf_forms_skill"]).ok();
    assert_eq!(given_out(&world, "again"), own);
    world.rye(&["export", "skill", "skills/pdf_forms", "--to", "out"]).ok();
    assert_eq!(tree(&world.project().join("out/pdf-forms")), tree(&skill(&world)));
}

#[test]
fn a_newer_version_of_a_skill_with_fewer_files_gives_out_just_those() {
    let world = world();
    assert_eq!(import(&world, &["--yes"]).0, 0);
    assert!(given_out(&world, "first").contains(&"scripts/more/deep.sh".to_owned()));
    fs::remove_dir_all(skill(&world).join("scripts")).unwrap();
    let (status, said) = import(&world, &["--yes", "--force"]);
    let old = |name: &str| format!(".ai/tools/skills/pdf_forms_skill.files/scripts/{name}");
    let left = json!([old("fill.py"), old("more/deep.sh")]);
    assert_eq!((status, &said["left_over"]), (0, &left), "{said}");
    assert_eq!(given_out(&world, "second"), ["assets/logo.png", "references/FORMS.md"]);
}

#[test]
fn a_newer_version_of_a_skill_without_files_names_the_tool_of_the_older_one() {
    let world = world();
    assert_eq!(import(&world, &["--yes"]).0, 0);
    for folder in ["scripts", "assets", "references"] {
        fs::remove_dir_all(skill(&world).join(folder)).unwrap();
    }
    assert_eq!(
        import(&world, &["--yes", "--force"]).ok()["older_tools"],
        json!(["tool:skills/pdf_forms_skill"])
    );
    let said = world.rye(&["import", "skill", "../pdf-forms", "--yes", "--force"]);
    let told = "`tool:skills/pdf_forms_skill` is there already and gives out files that this skill has not";
    assert!(said.stderr.contains(told), "{said:?}");
    fs::remove_file(world.project().join(".ai/tools/skills/pdf_forms_skill.py")).unwrap();
    assert_eq!(import(&world, &["--yes", "--force"]).ok()["older_tools"], json!([]));
}

#[test]
fn a_skill_of_as_many_files_as_a_tool_can_have_is_imported_and_given_out() {
    let world = world();
    let many = skill(&world).join("many");
    fs::create_dir(&many).unwrap();
    for at in 0..1020 {
        fs::write(many.join(format!("{at:04} FILES_LINE FILE_NAMES SIGNED_LINE.md")), "x").unwrap();
    }
    import(&world, &["--yes"]).ok();
    assert_eq!(given_out(&world, "work").len(), 1024);
}

#[test]
fn the_files_of_a_skill_are_put_into_the_project_from_the_sandbox_of_their_tool() {
    let test = "the_files_of_a_skill_are_put_into_the_project_from_the_sandbox_of_their_tool";
    if !crate::sandbox::works(test, crate::sandbox::BWRAP) {
        return;
    }
    let world = world().held();
    assert_eq!(import(&world, &["--yes"]).0, 0);
    world.rye(&["run", "tool:skills/pdf_forms_skill", "to=work"]).ok();
    assert_eq!(world.shell("python3 work/scripts/fill.py"), "filled\n");
}
