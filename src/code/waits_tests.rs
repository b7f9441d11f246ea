//! Waiting and going on, with an engine and tools of the tests.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Asks, Backend, CallAnswer, CodeConfig, CodeRequest, Engine, EngineError, EngineLimit, Executor,
    PausedSnippet, Produced, Snippet, SnippetCall, SnippetReach, Stop, Surroundings, ToolAnswer,
    ToolCall, ToolFault, Tools, Verdict,
};
use crate::diagnostic::Failure;

/// Calls `read` twice and then `write`; the second time other arguments where a flag is set.
struct Reads(Arc<AtomicBool>);

impl Engine for Reads {
    fn languages(&self) -> &'static [&'static str] {
        &["test"]
    }

    fn run(
        &self,
        _: &Snippet<'_>,
        around: &dyn Surroundings,
        stop: &Stop,
    ) -> Result<Produced, EngineError> {
        let mut answered = 0;
        let mut call = |tool: &str, n: u64| {
            let (tell, told) = channel();
            let wake = tell.clone();
            let _waking = stop.on_stop(move || drop(wake.send(None)));
            let args = vec![json!(tool), json!({"n": n})];
            let call = SnippetCall { function: "runTool".into(), args };
            around.call(call, CallAnswer::new(move |came, _| drop(tell.send(Some(came)))));
            around.idle(answered);
            answered += 1;
            match told.recv_timeout(Duration::from_mins(1)) {
                Ok(Some(came)) => Ok(came),
                _ => Err(EngineError::Stopped),
            }
        };
        let _ = call("read", 1)?;
        let n = if self.0.load(Ordering::SeqCst) { 3 } else { 2 };
        let _ = call("read", n)?;
        let came = call("write", 1)?.map_err(|thrown| thrown.code);
        Ok(Produced { value: json!(came), warnings: Vec::new() })
    }
}

/// Computes so many milliseconds, calls `write`, and computes as long again; each number is of one
/// run and of a machine that is slower or faster then. What it takes is told and not spent.
struct Computes(Mutex<Vec<u64>>);

impl Engine for Computes {
    fn languages(&self) -> &'static [&'static str] {
        &["computes"]
    }

    fn run(
        &self,
        snippet: &Snippet<'_>,
        around: &dyn Surroundings,
        stop: &Stop,
    ) -> Result<Produced, EngineError> {
        let took = Duration::from_millis(self.0.lock().unwrap().remove(0));
        let looks = |ran: Duration| {
            let left =
                around.engine_left(ran).unwrap().min(snippet.engine_time.saturating_sub(ran));
            if left.is_zero() { Err(EngineError::Limit(EngineLimit::Engine)) } else { Ok(()) }
        };
        looks(Duration::ZERO)?;
        looks(took)?;
        let (tell, told) = channel();
        let wake = tell.clone();
        let _waking = stop.on_stop(move || drop(wake.send(None)));
        let call = SnippetCall { function: "runTool".into(), args: vec![json!("write")] };
        around.call(call, CallAnswer::new(move |came, _| drop(tell.send(Some(came)))));
        around.idle(0);
        looks(took)?;
        let Ok(Some(_)) = told.recv_timeout(Duration::from_mins(1)) else {
            return Err(EngineError::Stopped);
        };
        // The second part takes as long as it does on the machine of the first run.
        looks(took + Duration::from_millis(600))?;
        Ok(Produced { value: json!("both"), warnings: Vec::new() })
    }
}

/// `write` needs a person.
#[derive(Default)]
struct Asking {
    ran: AtomicUsize,
    kept: Mutex<Option<Value>>,
    verdicts: Mutex<Vec<Verdict>>,
}

impl Tools for Asking {
    fn run_tool(&self, call: ToolCall<'_>) -> Result<ToolAnswer, ToolFault> {
        if call.id == "write" && call.approved.is_none() {
            let text = |text: &str| text.to_owned();
            let (reason, message) = (text("effects"), text("Write?"));
            let (item, request, is_for_all) = (text("tool:write"), None, false);
            let asks = Some(Asks { item, reason, message, request, is_for_all });
            return Err(ToolFault { asks, ..ToolFault::default() });
        }
        self.ran.fetch_add(1, Ordering::SeqCst);
        Ok(ToolAnswer { value: call.args.into(), backend: Backend::Local })
    }

    fn search_tools(
        &self,
        _: &str,
        _: Option<usize>,
        _: &SnippetReach,
    ) -> Result<Value, ToolFault> {
        Ok(Value::Null)
    }

    fn list_namespaces(&self, _: &SnippetReach) -> Result<Value, ToolFault> {
        Ok(Value::Null)
    }

    fn describe_tool(&self, _: &str, _: &str, _: &SnippetReach) -> Result<Value, ToolFault> {
        Ok(Value::Null)
    }

    fn list_tool_examples(
        &self,
        _: &str,
        _: Option<usize>,
        _: &SnippetReach,
    ) -> Result<Value, ToolFault> {
        Ok(Value::Null)
    }

    fn pause(&self, paused: &PausedSnippet) -> Result<Vec<String>, Failure> {
        *self.kept.lock().unwrap() = Some(paused.to_json().unwrap());
        Ok(vec!["p-1".into()])
    }

    fn goes_on(&self) -> Result<Vec<Verdict>, Failure> {
        Ok(std::mem::take(&mut *self.verdicts.lock().unwrap()))
    }
}

/// A snippet that waits, what it would be run again with, and what makes it another one.
fn paused() -> (Executor, Asking, Value, Arc<AtomicBool>) {
    let changed = Arc::new(AtomicBool::new(false));
    let config = CodeConfig::from_json(&json!({"timeout": "100s"})).unwrap();
    let executor = Executor::new(config).engine(Arc::new(Reads(Arc::clone(&changed))));
    let tools = Asking::default();
    let request = CodeRequest::new("x").language("test");
    let result = executor.run(&request, &tools, &|_, _| ());
    assert_eq!((result.pending_id(), tools.ran.load(Ordering::SeqCst)), (Some("p-1"), 2));
    let kept = tools.kept.lock().unwrap().take().unwrap();
    (executor, tools, kept, changed)
}

fn resume(executor: &Executor, tools: &Asking, kept: Value, verdict: Verdict) -> Value {
    let paused = PausedSnippet::from_json(kept).unwrap();
    *tools.verdicts.lock().unwrap() = vec![verdict];
    executor.resume(&paused, tools, &|_, _| ()).to_json()
}

#[test]
fn a_snippet_that_calls_something_else_than_before_is_ended_and_nothing_more_runs() {
    let (executor, tools, kept, changed) = paused();
    let told = resume(&executor, &tools, kept.clone(), Verdict::Approved);
    assert_eq!((&told["status"], &told["value"]["Ok"]), (&json!("success"), &json!({"n": 1})));
    assert_eq!(tools.ran.load(Ordering::SeqCst), 3, "the reads did not run again");
    let told = resume(&executor, &tools, kept.clone(), Verdict::Rejected("no".into()));
    assert_eq!(told["value"]["Err"], "rejected");
    changed.store(true, Ordering::SeqCst);
    let told = resume(&executor, &tools, kept, Verdict::Approved);
    assert_eq!(told["error"]["code"], "code.replay_diverged", "{told}");
    assert_eq!(tools.ran.load(Ordering::SeqCst), 3);
    assert_eq!(told["tool_calls"].as_array().unwrap().len(), 2, "what ran is told: {told}");
}

#[test]
fn the_time_of_a_snippet_goes_on_where_it_stopped() {
    let (executor, tools, mut kept, _) = paused();
    kept["used_ms"] = json!(99_999_999);
    let told = resume(&executor, &tools, kept.clone(), Verdict::Approved);
    assert!(told["duration_ms"].as_u64().unwrap() >= 99_999_999, "{told}");
    assert_eq!(told["error"]["data"], json!({"limit": "timeout", "most": 100_000}));
    assert_eq!(tools.ran.load(Ordering::SeqCst), 2, "the write did not run");
    let paused = PausedSnippet::from_json(kept).unwrap();
    assert_eq!(paused.counted(), 2);
}

/// Of an `engine_ms` it takes 600 before the wait and 600 behind it; computing it again takes what
/// it takes, here as long, no time, and three times as long.
#[test]
fn what_an_engine_computed_before_the_wait_counts_behind_it_and_computing_it_again_does_not() {
    for again in [600, 1, 1_800] {
        for (most, want) in [(1_000, None), (1_199, None), (1_201, Some("both"))] {
            let runs = Mutex::new(vec![600, again]);
            let config = CodeConfig::from_json(&json!({"engine_ms": most})).unwrap();
            let executor = Executor::new(config).engine(Arc::new(Computes(runs)));
            let tools = Asking::default();
            let request = CodeRequest::new("x").language("computes");
            let result = executor.run(&request, &tools, &|_, _| ()).to_json();
            assert_eq!(
                (&result["status"], tools.ran.load(Ordering::SeqCst)),
                (&json!("pending"), 0)
            );
            assert_eq!(result["limits"]["used"]["engine_ms"], 600, "{result}");
            let kept = tools.kept.lock().unwrap().take().unwrap();
            assert_eq!(kept["engine_ms"], 600, "{kept}");
            let told = resume(&executor, &tools, kept, Verdict::Approved);
            let what = format!("{most} {again}: {told}");
            assert_eq!(told["limits"]["used"]["engine_ms"], 1_200, "{what}");
            match want {
                Some(value) => assert_eq!(told["value"], value, "{what}"),
                None => {
                    let limit = json!({"limit": "engine", "most": most});
                    assert_eq!(told["error"]["data"], limit, "{what}");
                }
            }
        }
    }
    // What never comes to where it was ends all the same.
    let runs = Mutex::new(vec![600, 2_000]);
    let config = CodeConfig::from_json(&json!({"engine_ms": 1_000})).unwrap();
    let executor = Executor::new(config).engine(Arc::new(Computes(runs)));
    let tools = Asking::default();
    executor.run(&CodeRequest::new("x").language("computes"), &tools, &|_, _| ());
    let kept = tools.kept.lock().unwrap().take().unwrap();
    let told = resume(&executor, &tools, kept, Verdict::Approved);
    assert_eq!(told["error"]["data"]["limit"], "engine", "{told}");
    assert_eq!(tools.ran.load(Ordering::SeqCst), 0);
}

/// Nothing of the time before counts twice where the first call is the one that waits.
#[test]
fn the_time_of_what_is_computed_again_does_not_count_where_the_first_call_waits() {
    let config = CodeConfig::from_json(&json!({"timeout": "100s"})).unwrap();
    let executor = Executor::new(config).engine(Arc::new(Computes(Mutex::new(vec![10, 10]))));
    let tools = Asking::default();
    executor.run(&CodeRequest::new("x").language("computes"), &tools, &|_, _| ());
    let mut kept = tools.kept.lock().unwrap().take().unwrap();
    assert_eq!((&kept["answers"], kept["calls"].as_array().unwrap().len()), (&json!([]), 1));
    kept["used_ms"] = json!(99_000);
    let told = resume(&executor, &tools, kept, Verdict::Approved);
    assert_eq!((&told["value"], tools.ran.load(Ordering::SeqCst)), (&json!("both"), 1), "{told}");
    assert!(told["duration_ms"].as_u64().unwrap() >= 99_000, "{told}");
}

#[test]
fn what_was_kept_of_a_snippet_is_read_or_refused_table() {
    let (_, _, kept, _) = paused();
    assert!(PausedSnippet::from_json(kept.clone()).is_ok());
    for (pointer, wrong) in [
        ("/asked", json!([])),
        ("/answers/0/call", json!(1)),
        ("/answers/0/call", json!(99)),
        ("/seed", json!([1, 2, 3])),
        ("/calls/0", json!("x")),
        ("/records", json!(1)),
    ] {
        let mut other = kept.clone();
        *other.pointer_mut(pointer).unwrap() = wrong;
        assert!(PausedSnippet::from_json(other).is_err(), "{pointer}");
    }
}
