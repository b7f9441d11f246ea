//! Tools of a program that embeds rye, beside those of rye.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rye::{Request, RyeBuilder, ThreadSession, ThreadTool, ToolCallFault};
use serde_json::{Map, Value, json};

use super::{call, prepared, results};
use crate::world::World;

/// Says the weather of a town, and how often it was asked.
struct Weather(AtomicUsize);

impl ThreadTool for Weather {
    fn name(&self) -> &'static str {
        "weather"
    }

    fn description(&self) -> &'static str {
        "Says the weather of a town."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"],
        })
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn call(
        &self,
        session: &ThreadSession<'_>,
        args: Map<String, Value>,
    ) -> Result<Value, ToolCallFault> {
        self.0.fetch_add(1, Ordering::Relaxed);
        match args["town"].as_str() {
            Some("Atlantis") => Err(ToolCallFault::new("it sank").detail(json!({"depth": 9}))),
            Some("Babel") => std::panic::resume_unwind(Box::new("too high")),
            town => Ok(json!({"town": town, "sky": "clear", "call": session.call_id()})),
        }
    }
}

fn weather(town: &Value) -> Value {
    call("weather", &json!({"town": town}))
}

/// Runs the directive in this process and gives its results and how often the tool was called.
fn forked_here(world: &World, calls: &[Value], permissions: &str) -> (Vec<Value>, usize) {
    prepared(world, calls, permissions);
    let tool = Arc::new(Weather(AtomicUsize::new(0)));
    let vars = [("HOME".into(), world.home().into()), ("PATH".into(), "/usr/bin:/bin".into())];
    let rye = RyeBuilder::new().vars(vars).cwd(world.project()).thread_tool(tool.clone());
    let rye = rye.build().unwrap();
    let report = rye.run_json(&Request::new("directive:acme/go").fork());
    assert_eq!(report["status"], "success", "{report}");
    let id = report["thread_id"].as_str().unwrap();
    (results(world, id), tool.0.load(Ordering::Relaxed))
}

#[test]
fn a_tool_of_the_program_is_called_by_a_directive_that_permits_it() {
    let world = World::new();
    let calls = [
        weather(&json!("Oslo")),
        weather(&json!(7)),
        weather(&json!("Atlantis")),
        weather(&json!("Babel")),
        weather(&json!("Rome")),
    ];
    let (gave, called) = forked_here(&world, &calls, "<execute><tool>weather</tool></execute>");
    assert_eq!(gave[0], json!({"town": "Oslo", "sky": "clear", "call": "call-1"}));
    assert_eq!(gave[1]["error_kind"], "invalid_tool_arguments");
    assert_eq!(gave[1]["detail"][0]["pointer"], "/town", "{}", gave[1]);
    let sank = json!({
        "ok": false, "error_kind": "tool_execution_exception", "message": "it sank",
        "detail": {"depth": 9},
    });
    assert_eq!(gave[2], sank);
    assert_eq!(gave[3]["error_kind"], "tool_execution_exception", "{}", gave[3]);
    assert_eq!(gave[4]["town"], "Rome", "a panic ends neither the thread nor the tool");
    assert_eq!(called, 4, "what does not fit the schema is not called");
}

#[test]
fn a_tool_of_the_program_is_not_there_without_its_permission() {
    let world = World::new();
    let calls = [weather(&json!("Oslo"))];
    let (gave, called) = forked_here(&world, &calls, "<execute><tool>acme.*</tool></execute>");
    assert_eq!((&gave[0]["error_kind"], called), (&json!("unknown_tool"), 0), "{}", gave[0]);
}
