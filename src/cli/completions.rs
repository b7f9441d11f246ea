//! `rye completions`: the script that teaches a shell to complete rye's words.

use crate::diagnostic::Failure;
use serde_json::json;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;

/// Print the completion script for a shell
///
/// For bash: `source <(rye completions bash)`. The script asks rye itself, so refs and input names
/// are completed too.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The shell
    #[arg(value_name = "SHELL", value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
}

pub(super) fn run(args: &Args, _: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let shells = clap_complete::env::Shells::builtins();
    let mut script = Vec::new();
    if let Some(shell) = shells.completer(&args.shell) {
        let written = shell.write_registration("COMPLETE", "rye", "rye", "rye", &mut script);
        written.map_err(|source| CliError::InputFile { path: args.shell.clone(), source })?;
    }
    let mut script = String::from_utf8_lossy(&script).into_owned();
    match args.shell.as_str() {
        "bash" => script.push_str(BASH),
        "zsh" => script = script.replace(ZSH.0, ZSH.1),
        _ => {}
    }
    if out.is_json() {
        out.success(json!({"shell": args.shell, "script": script}));
    } else {
        out.exact(&script);
    }
    Ok(Exit::DONE)
}

/// Zsh puts a space behind each answer; behind `name=` the value is typed on.
const ZSH: (&str, &str) = (
    "        [[ -n $other ]] && _describe -V 'values' other\n",
    r"        local -a open=(${(M)other:#*=(|:*)})
        other=(${other:#*=(|:*)})
        [[ -n $open ]] && _describe -V 'values' open -S ''
        [[ -n $other ]] && _describe -V 'values' other
",
);

/// Bash breaks words at `:` and `=`, which stand in refs and inputs. The words are put together
/// again before rye is asked, and what bash has already is cut from the answers.
const BASH: &str = r#"
_rye_complete() {
    local -a joined=()
    local i word at=0 glue=
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $glue == yes || $word == [:=]* ]]; then
            joined[${#joined[@]} - 1]+=$word
        else
            joined+=("$word")
        fi
        glue=
        if [[ $word == *[:=] ]]; then glue=yes; fi
        if ((i == COMP_CWORD)); then at=$((${#joined[@]} - 1)); fi
    done
    local -a COMP_WORDS=("${joined[@]}")
    local COMP_CWORD=$at current=${joined[at]}
    _clap_complete_rye "$1" "$current" "$3"
    local shown=${current%"${current##*[:=]}"}
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=${COMPREPLY[i]#"$shown"}
    done
}
complete -o nospace -o bashdefault -F _rye_complete rye
"#;
