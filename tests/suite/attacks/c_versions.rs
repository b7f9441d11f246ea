//! Row c09, version managers: shims are never run, and a project's version files count by
//! permission alone and never lead out of the manager's folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::c_interpreters::{allow, passed_over, program, was_evil};
use crate::world::World;
use crate::world::items::native;

/// A shim that leaves `evil`: it must never run.
fn shim(world: &World, path: &Path) {
    let mark = world.project().join("evil");
    program(path, &format!("#!/bin/sh\n# asdf-plugin: lang 1.0\n: > '{}'\n", mark.display()));
}

/// An installed version of `lang`, which says its number.
fn install(path: &Path, version: &str) {
    program(path, &format!("#!/bin/sh\necho '\"{version}\"'\n"));
}

/// A world with a tool that runs `lang`, found on `PATH` after the folder of shims.
struct Managed {
    world: World,
    path: String,
    env: Vec<(&'static str, String)>,
}

impl Managed {
    fn new(shims: &str) -> Self {
        let world = World::new();
        let native = &native("");
        world.signed(".ai/tools/lang.yaml", &format!("{native}config: {{command: lang}}\n"));
        let shims = world.home().join(shims);
        shim(&world, &shims.join("lang"));
        let last = world.outside().join("last");
        install(&last.join("lang"), "machine");
        let path = format!("{}:{}:/usr/bin:/bin", shims.display(), last.display());
        Self { world, path, env: Vec::new() }
    }

    fn home(&self, path: &str) -> PathBuf {
        self.world.home().join(path)
    }

    /// What `lang` says when the tool runs; no shim may have run.
    #[track_caller]
    fn says(&self) -> String {
        let mut env: Vec<(&str, &str)> = vec![("PATH", &self.path)];
        env.extend(self.env.iter().map(|(name, value)| (*name, value.as_str())));
        let args = ["execute", "tool:lang", "--json"];
        let said = self.world.rye_env(&self.world.project(), &args, b"", &env);
        assert!(!was_evil(&self.world), "a shim ran");
        let value = said.json();
        value["data"].as_str().unwrap_or_else(|| panic!("{said:?}")).to_owned()
    }

    /// The project's version file with each hostile text, allowed: the operator's program runs.
    #[track_caller]
    fn refuses_hostile(&self, file: &str, form: &dyn Fn(&str) -> String, instead: &str) {
        let project = self.world.project();
        install(&project.join("x/bin/lang"), "hostile");
        install(&self.home("x/bin/lang"), "hostile");
        let absolute = project.join("x").display().to_string();
        let climbs = "../../../project/x";
        for hostile in [climbs, "../x", absolute.as_str(), "system", ".", "..", "1.0/../../x"] {
            self.world.write(file, form(hostile));
            allow(&self.world, &project.join(file));
            assert_eq!(self.says(), instead, "{file}: {hostile}");
        }
    }
}

#[test]
fn c09_a_pyenv_shim_is_resolved_by_the_operators_own_settings() {
    let mut lang = Managed::new(".pyenv/shims");
    for version in ["1.0", "2.0", "3.1.9", "3.1.10"] {
        install(&lang.home(&format!(".pyenv/versions/{version}/bin/lang")), version);
    }
    assert_eq!(lang.says(), "machine", "without a version it is the machine's own");
    lang.world.write_home(".pyenv/version", "# mine\n1.0\n");
    assert_eq!(lang.says(), "1.0");
    lang.world.write(".python-version", "2.0\n");
    assert_eq!(lang.says(), "1.0", "a project's version file counts without permission");
    allow(&lang.world, Path::new(".python-version"));
    assert_eq!(lang.says(), "2.0", "it was allowed and does not count");
    lang.world.write(".python-version", "3.1\n");
    assert_eq!(lang.says(), "1.0", "a changed version file counts");
    allow(&lang.world, Path::new(".python-version"));
    assert_eq!(lang.says(), "3.1.10");
    lang.refuses_hostile(".python-version", &|text| format!("{text}\n"), "machine");
    lang.env.push(("PYENV_VERSION", "2.0".into()));
    assert_eq!(lang.says(), "2.0", "the operator's environment speaks first");
    lang.env[0].1 = "9.9:1.0".into();
    assert_eq!(lang.says(), "1.0");
    lang.env[0].1 = "system".into();
    assert_eq!(lang.says(), "machine");
}

#[test]
fn c09_a_version_file_without_permission_is_said() {
    let lang = Managed::new(".pyenv/shims");
    install(&lang.home(".pyenv/versions/1.0/bin/lang"), "1.0");
    lang.world.write_home(".pyenv/version", "1.0");
    let world = World::new();
    drop(world);
    lang.world.write(".python-version", "1.0");
    let env = [("PATH", lang.path.as_str())];
    let args = ["execute", "tool:lang", "--dry-run"];
    lang.world
        .rye_env(&lang.world.project(), &args, b"", &env)
        .shows("passed over")
        .shows("rye trust allow-interpreter");
    assert!(passed_over(&lang.world, "tool:lang").is_empty(), "without a shim nobody asks for it");
}

#[test]
fn c09_asdf_mise_and_nvm_are_read_and_a_projects_files_count_by_permission_alone() {
    let mut lang = Managed::new(".asdf/shims");
    for version in ["1.0", "2.0"] {
        install(&lang.home(&format!(".asdf/installs/lang/{version}/bin/lang")), version);
    }
    assert_eq!(lang.says(), "machine", "no version is set");
    lang.world.write_home(".tool-versions", "other 2.0\nlang 1.0\n");
    assert_eq!(lang.says(), "1.0");
    lang.world.write(".tool-versions", "lang 2.0\n");
    assert_eq!(lang.says(), "1.0", "a project's file counts without permission");
    allow(&lang.world, Path::new(".tool-versions"));
    assert_eq!(lang.says(), "2.0");
    lang.refuses_hostile(".tool-versions", &|text| format!("lang {text}\n"), "machine");
    lang.env.push(("ASDF_LANG_VERSION", "2.0".into()));
    assert_eq!(lang.says(), "2.0");
    {
        let lang = Managed::new(".local/share/mise/shims");
        let shims = lang.home(".local/share/mise/shims");
        shim(&lang.world, &lang.home(".local/bin/mise"));
        fs::remove_file(shims.join("lang")).unwrap();
        symlink(lang.home(".local/bin/mise"), shims.join("lang")).unwrap();
        for version in ["1.0", "2.0.1", "2.0.12"] {
            install(
                &lang.home(&format!(".local/share/mise/installs/lang/{version}/bin/lang")),
                version,
            );
        }
        lang.world.write_home(".config/mise/config.toml", "[tools]\nlang = '1.0'\n");
        assert_eq!(lang.says(), "1.0");
        lang.world.write("mise.toml", "[tools]\nlang = '2.0'\n");
        assert_eq!(lang.says(), "1.0", "a project's file counts without permission");
        allow(&lang.world, Path::new("mise.toml"));
        assert_eq!(lang.says(), "2.0.12");
        let form = |text: &str| format!("[tools]\nlang = '{text}'\n");
        lang.refuses_hostile("mise.toml", &form, "machine");
    }
    {
        let lang = Managed::new("none/shims");
        let block = "env_config:\n  interpreter: {type: version_manager, manager: nvm, binary: lang, \
                 var: IT, fallback: lang}\nconfig: {command: '${IT}'}\n";
        let native = &native("");
        lang.world.signed(".ai/tools/lang.yaml", &format!("{native}{block}"));
        fs::remove_dir_all(lang.home("none")).unwrap();
        assert_eq!(lang.says(), "machine");
        for version in ["v18.20.1", "v20.9.0", "v20.10.0"] {
            install(&lang.home(&format!(".nvm/versions/node/{version}/bin/lang")), version);
        }
        lang.world.write_home(".nvm/alias/default", "lts/*\n");
        lang.world.write_home(".nvm/alias/lts/*", "lts/hydrogen\n");
        lang.world.write_home(".nvm/alias/lts/hydrogen", "v18.20.1\n");
        assert_eq!(lang.says(), "v18.20.1");
        lang.world.write(".nvmrc", "20\n");
        assert_eq!(lang.says(), "v18.20.1", "a project's file counts without permission");
        allow(&lang.world, Path::new(".nvmrc"));
        assert_eq!(lang.says(), "v20.10.0");
        lang.refuses_hostile(".nvmrc", &|text| format!("{text}\n"), "machine");
        // Aliases in a circle end.
        fs::remove_file(lang.world.project().join(".nvmrc")).unwrap();
        lang.world.write_home(".nvm/alias/default", "default\n");
        assert_eq!(lang.says(), "machine");
    }
}
