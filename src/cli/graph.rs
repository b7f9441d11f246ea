//! `rye graph`: what items run through and use, as a picture.

use serde_json::{Value, json};

use super::context::Context;
use super::exit::Exit;
use super::named::{listed, queries};
use super::out::Out;
use crate::diagnostic::Failure;
use crate::graph::Graph;
use crate::id::{Query, Space};
use crate::rye::{Reach, Rye};

/// Draw what items run through and use, with who signed each part
///
/// Chain, modules, config, files, the program, and the copies that are shadowed. What is refused is
/// drawn with its code, and drawing it is no failure: `rye verify` is what fails.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Items such as `tool:acme/deploy`, globs such as 'tool:acme/**', or paths of files and
    /// folders
    #[arg(value_name = "REF|GLOB|PATH", required_unless_present = "all", add = super::complete::refs())]
    items: Vec<String>,
    /// Every tool and directive, with what they share drawn once
    #[arg(long, conflicts_with = "items")]
    all: bool,
    /// With `--all`, only what lies in this space
    #[arg(long, value_name = "SPACE", requires = "all", value_parser = super::value_parsers::space())]
    space: Option<Space>,
    /// As Mermaid, for Markdown
    #[arg(long, conflicts_with = "svg")]
    mermaid: bool,
    /// As SVG: one file that needs nothing else
    #[arg(long)]
    svg: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let queries = match args.all {
        true => everything(&rye, args.space)?,
        false => queries(&args.items, None, &rye)?,
    };
    let mut reached: Vec<Reach> = Vec::new();
    for one in rye.items().reach(queries) {
        reached.push(one?);
    }
    let graph = Graph::from_reached(&reached);
    if out.is_json() {
        let value = serde_json::to_value(&graph).expect("a graph is JSON");
        let items: Vec<_> = reached.iter().map(|reach| reach.item.to_string()).collect();
        let mut fields = json!({"items": items});
        if let (Some(fields), Value::Object(graph)) = (fields.as_object_mut(), value) {
            fields.extend(graph);
        }
        out.success(fields);
        return Ok(Exit::DONE);
    }
    let text = match (args.mermaid, args.svg) {
        (true, _) => graph.to_mermaid(),
        (_, true) => graph.to_svg(),
        _ => graph.to_text(out.paint()),
    };
    match args.mermaid || args.svg {
        true => out.exact(&text),
        false => out.text(&text),
    }
    if reached.is_empty() {
        out.note("nothing here yet: `rye new tool acme/hello` makes a first tool");
    }
    Ok(Exit::DONE)
}

/// Every tool and directive; runtimes and primitives are drawn with what they run.
fn everything(rye: &Rye, space: Option<Space>) -> Result<Vec<Query>, Failure> {
    let all = listed(&super::value_parsers::pattern("**")?, space, rye)?;
    Ok(all.into_iter().filter(|query| !query.id.is_runtime_part()).collect())
}
