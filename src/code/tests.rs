//! The executor with an engine whose snippets are functions of the tests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    Backend, CallAnswer, CodeConfig, CodeRequest, Engine, EngineError, EngineLimit, Executor,
    PrintStream, Produced, Snippet, SnippetCall, SnippetReach, Stop, Surroundings, Thrown,
    ToolAnswer, ToolCall, ToolFault, Tools,
};
use crate::host::{Host, Os};

const PATIENCE: Duration = Duration::from_mins(1);

type Body = dyn Fn(&dyn Surroundings, &Stop) -> Result<Value, EngineError> + Send + Sync;

/// An engine that does one thing, whatever the snippet says.
struct Does(Box<Body>);

impl Engine for Does {
    fn languages(&self) -> &'static [&'static str] {
        &["test"]
    }

    fn run(
        &self,
        _snippet: &Snippet<'_>,
        around: &dyn Surroundings,
        stop: &Stop,
    ) -> Result<Produced, EngineError> {
        (self.0)(around, stop).map(|value| Produced { value, warnings: Vec::new() })
    }
}

/// `echo` gives its arguments, `fail` fails, `sleep` waits to be ended, `meet` waits for three
/// others.
struct Own {
    ran: Arc<AtomicUsize>,
    ended: AtomicUsize,
    meets: Barrier,
    kept: Mutex<Vec<u8>>,
}

impl Own {
    fn new() -> Self {
        let (ran, ended) = (Arc::default(), AtomicUsize::new(0));
        Self { ran, ended, meets: Barrier::new(4), kept: Mutex::default() }
    }

    fn ran(&self) -> usize {
        self.ran.load(Ordering::SeqCst)
    }
}

impl Tools for Own {
    fn run_tool(&self, call: ToolCall<'_>) -> Result<ToolAnswer, ToolFault> {
        self.ran.fetch_add(1, Ordering::SeqCst);
        let failed = |code: &str| {
            let message = format!("`{}` failed", call.id);
            ToolFault { code: code.into(), message, backend: Backend::Exec, ..ToolFault::default() }
        };
        if !call.reach.allows(call.id) {
            return Err(failed("grant.denied"));
        }
        let value = match call.id {
            "echo" => Value::Object(call.args),
            "sleep" => {
                let ended = Os::new(false).sleep(PATIENCE).unwrap();
                self.ended.fetch_add(usize::from(ended.is_some()), Ordering::SeqCst);
                return Err(ToolFault { signal: ended, ..failed("execute.interrupted") });
            }
            "meet" => {
                self.meets.wait();
                json!(call.number)
            }
            _ => return Err(failed("execute.tool_failed")),
        };
        Ok(ToolAnswer { value, backend: Backend::Mcp })
    }

    fn search_tools(
        &self,
        words: &str,
        most: Option<usize>,
        _: &SnippetReach,
    ) -> Result<Value, ToolFault> {
        Ok(json!([words, most]))
    }

    fn list_namespaces(&self, _: &SnippetReach) -> Result<Value, ToolFault> {
        Ok(json!(["acme"]))
    }

    fn describe_tool(&self, id: &str, level: &str, _: &SnippetReach) -> Result<Value, ToolFault> {
        Ok(json!([id, level]))
    }

    fn list_tool_examples(
        &self,
        id: &str,
        _: Option<usize>,
        _: &SnippetReach,
    ) -> Result<Value, ToolFault> {
        Ok(json!([id]))
    }

    fn keep(&self, result: &[u8]) -> Option<String> {
        *self.kept.lock().unwrap() = result.to_vec();
        Some("here".into())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a call reads well with its arguments in it")]
/// Makes a call and gives what tells its answer.
fn begin(
    around: &dyn Surroundings,
    function: &str,
    args: Value,
) -> std::sync::mpsc::Receiver<Result<Value, Thrown>> {
    let (tell, told) = channel();
    let args = args.as_array().unwrap().clone();
    let call = SnippetCall { function: function.into(), args };
    around.call(call, CallAnswer::new(move |came, _| drop(tell.send(came))));
    told
}

fn call(around: &dyn Surroundings, function: &str, args: Value) -> Result<Value, Thrown> {
    begin(around, function, args).recv_timeout(PATIENCE).expect("an answer")
}

#[expect(clippy::needless_pass_by_value, reason = "a call reads well with its arguments in it")]
fn run_with(
    config: Value,
    tools: &Own,
    body: impl Fn(&dyn Surroundings, &Stop) -> Result<Value, EngineError> + Send + Sync + 'static,
) -> Value {
    let config = CodeConfig::from_json(&config).unwrap();
    let executor = Executor::new(config).engine(Arc::new(Does(Box::new(body))));
    let request = CodeRequest::new("x").language("test");
    let told = executor.run(&request, tools, &|_, _| ()).to_json();
    for key in ["value", "stdout", "stderr", "tool_calls", "duration_ms", "limits"] {
        assert!(told.get(key).is_some(), "{key} is not in {told}");
    }
    assert_eq!(told["status"] == "error", told.get("error").is_some(), "{told}");
    told
}

fn codes(told: &Value) -> Vec<&str> {
    let calls = told["tool_calls"].as_array().unwrap().iter();
    calls.map(|call| call["error"]["code"].as_str().unwrap_or("")).collect()
}

#[test]
fn a_call_is_answered_counted_and_recorded_field_by_field() {
    let tools = Own::new();
    let told = run_with(json!({}), &tools, |around, _| {
        assert_eq!(call(around, "runTool", json!(["echo"])), Ok(json!({})));
        assert_eq!(call(around, "runTool", json!(["echo", {"a": 1}])), Ok(json!({"a": 1})));
        let thrown = call(around, "runTool", json!(["gone", {}])).unwrap_err();
        assert_eq!((&*thrown.name, thrown.code.as_str()), ("ToolError", "execute.tool_failed"));
        assert_eq!(thrown.tool.as_deref(), Some("gone"));
        assert_eq!(call(around, "searchTools", json!(["w", 3])), Ok(json!(["w", 3])));
        assert_eq!(call(around, "describeTool", json!(["x"])), Ok(json!(["x", "schema"])));
        assert_eq!(call(around, "listNamespaces", json!([])), Ok(json!(["acme"])));
        assert_eq!(call(around, "listToolExamples", json!(["x", 1])), Ok(json!(["x"])));
        around.print(PrintStream::Stdout, "out\n");
        around.print(PrintStream::Stderr, "err\n");
        Ok(json!(7))
    });
    assert_eq!(
        (&told["value"], &told["stdout"], &told["stderr"]),
        (&json!(7), &json!("out\n"), &json!("err\n"))
    );
    assert_eq!(told["limits"]["used"]["tool_calls"], 3, "lookups do not count");
    let calls = told["tool_calls"].as_array().unwrap();
    let ids: Vec<_> = calls.iter().map(|call| call["tool_id"].as_str().unwrap()).collect();
    let lookups = ["searchTools", "describeTool", "listNamespaces", "listToolExamples"];
    assert_eq!(ids, [&["echo", "echo", "gone"][..], &lookups].concat());
    let second = &calls[1];
    assert_eq!((&second["args"], &second["structured"]), (&json!({"a": 1}), &json!({"a": 1})));
    assert_eq!((&second["backend_kind"], &second["error"]), (&json!("mcp"), &Value::Null));
    assert_eq!(second["error_op"], Value::Null);
    let third = &calls[2];
    assert_eq!((&third["error_op"], &third["backend_kind"]), (&json!("run"), &json!("exec")));
    assert_eq!(
        (&third["error"]["code"], &third["structured"]),
        (&json!("execute.tool_failed"), &Value::Null)
    );
    for call in calls {
        assert!(call["started_ms"].is_u64() && call["duration_ms"].is_u64(), "{call}");
        assert_eq!(call.as_object().unwrap().len(), 8, "{call}");
    }
}

#[test]
fn a_call_that_is_not_made_as_its_function_wants_it_is_a_type_error_and_runs_nothing_table() {
    let tools = Own::new();
    let told = run_with(json!({}), &tools, |around, _| {
        for (function, args) in [
            ("runTool", json!([])),
            ("runTool", json!([5])),
            ("runTool", json!(["echo", [1]])),
            ("runTool", json!(["echo", "x"])),
            ("searchTools", json!([])),
            ("searchTools", json!(["x", -1])),
            ("describeTool", json!(["x", 5])),
            ("listToolExamples", json!(["x", 0.5])),
            ("constructor", json!([])),
            ("", json!([])),
        ] {
            let thrown = call(around, function, args.clone()).unwrap_err();
            assert_eq!(thrown.name, "TypeError", "{function} {args}");
        }
        Ok(Value::Null)
    });
    assert_eq!((tools.ran(), told["tool_calls"].as_array().unwrap().len()), (0, 10));
    assert_eq!(told["limits"]["used"]["tool_calls"], 4, "a call of `runTool` counts");
}

#[test]
fn exactly_as_many_parallel_calls_run_as_the_limit_says_and_the_others_are_recorded_as_refused() {
    let tools = Own::new();
    let answered = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&answered);
    let told = run_with(json!({"max_tool_calls": 37}), &tools, move |around, _| {
        let threads = 4;
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let seen = &seen;
                scope.spawn(move || {
                    for _ in 0..1000 / threads {
                        let seen = Arc::clone(seen);
                        let count = move |_, _| {
                            seen.fetch_add(1, Ordering::SeqCst);
                        };
                        let args = vec![json!("echo"), json!({})];
                        let call = SnippetCall { function: "runTool".into(), args };
                        around.call(call, CallAnswer::new(count));
                    }
                });
            }
        });
        // As if everything had been caught.
        Ok(json!("it went on"))
    });
    assert_eq!(tools.ran(), 37);
    assert_eq!(
        (&told["error"]["code"], &told["value"]),
        (&json!("code.limit_exceeded"), &Value::Null)
    );
    assert_eq!(told["error"]["data"], json!({"limit": "tool_calls", "most": 37}));
    let codes = codes(&told);
    assert_eq!(codes.len(), 1000);
    assert_eq!(codes.iter().filter(|code| code.is_empty()).count(), 37);
    assert_eq!(codes.iter().filter(|code| **code == "code.limit_exceeded").count(), 963);
    assert!(answered.load(Ordering::SeqCst) <= 37, "a refused call was answered");
}

#[test]
fn a_snippet_that_is_over_its_calls_is_stopped_and_what_was_let_in_ends_by_itself() {
    let tools = Own::new();
    let told = run_with(json!({"max_tool_calls": 4}), &tools, |around, stop| {
        for _ in 0..5 {
            drop(begin(around, "runTool", json!(["meet"])));
        }
        let (tell, told) = channel();
        let _waking = stop.on_stop(move || {
            let _ = tell.send(());
        });
        told.recv_timeout(PATIENCE).expect("it is stopped");
        Err(EngineError::Stopped)
    });
    assert_eq!(codes(&told), ["", "", "", "", "code.limit_exceeded"]);
}

#[test]
fn calls_of_one_snippet_run_at_once() {
    let tools = Own::new();
    let told = run_with(json!({}), &tools, |around, _| {
        let all: Vec<_> = (0..4).map(|_| begin(around, "runTool", json!(["meet"]))).collect();
        let mut numbers: Vec<_> = all
            .into_iter()
            .map(|told| told.recv_timeout(PATIENCE).unwrap().unwrap().as_u64().unwrap())
            .collect();
        numbers.sort_unstable();
        Ok(json!(numbers))
    });
    assert_eq!(told["value"], json!([1, 2, 3, 4]));
}

/// How a snippet ends.
type End = fn() -> Result<Value, EngineError>;

#[test]
fn what_is_open_when_the_snippet_ends_is_ended_table() {
    let ends: [(&str, End); 5] = [
        ("", || Ok(json!(1))),
        ("code.limit_exceeded", || Err(EngineError::Limit(EngineLimit::Timeout))),
        ("code.limit_exceeded", || Err(EngineError::Limit(EngineLimit::Memory))),
        ("code.failed", || Err(EngineError::Failed(super::SnippetFault::default()))),
        ("code.worker", || Err(EngineError::Worker { why: "it is gone".into() })),
    ];
    for (code, end) in ends {
        let tools = Own::new();
        let ran = Arc::clone(&tools.ran);
        let told = run_with(json!({}), &tools, move |around, _| {
            call(around, "runTool", json!(["echo", {"n": 1}])).unwrap();
            for _ in 0..3 {
                drop(begin(around, "runTool", json!(["sleep"])));
            }
            around.print(PrintStream::Stdout, "kept");
            let since = Instant::now();
            while ran.load(Ordering::SeqCst) < 4 {
                assert!(since.elapsed() < PATIENCE, "not all of them run");
                std::thread::yield_now();
            }
            end()
        });
        assert_eq!(told["error"]["code"].as_str().unwrap_or(""), code);
        let all = codes(&told);
        assert_eq!(all[0], "", "{told}");
        assert_eq!(all[1..], ["code.cancelled"; 3], "{told}");
        assert_eq!(tools.ended.load(Ordering::SeqCst), 3, "{code}");
        assert_eq!(told["stdout"], "kept");
    }
}

#[test]
fn a_chain_is_refused_whole_and_each_step_that_ran_counts() {
    let tools = Own::new();
    let step = |id: &str| json!({"tool_id": id, "args": {"a": 1}});
    let next = |id: &str| json!({"tool_id": id, "use_previous": true, "previous_path": "/a"});
    let told = run_with(json!({"max_tool_calls": 6}), &tools, move |around, _| {
        let came = call(around, "runChain", json!([[step("echo"), next("echo")]])).unwrap();
        assert_eq!(came["value"], json!({"previous": 1}));
        assert_eq!(came["steps"][0], json!({"tool_id": "echo", "value": {"a": 1}}));
        let chain = json!([[step("echo"), step("fail"), step("echo")]]);
        let thrown = call(around, "runChain", chain).unwrap_err();
        assert_eq!(
            (thrown.code.as_str(), &thrown.data["step"]),
            ("execute.tool_failed", &json!(2))
        );
        assert_eq!(
            (thrown.tool.as_deref(), thrown.data["steps"].as_array().unwrap().len()),
            (Some("fail"), 1)
        );
        let thrown = call(around, "runChain", json!([[]])).unwrap_err();
        assert_eq!(thrown.code, "code.chain");
        // Two are left: the third step of the chain before did not run.
        drop(begin(around, "runChain", json!([[step("echo"), step("echo"), step("echo")]])));
        Ok(json!(1))
    });
    assert_eq!(tools.ran(), 4);
    assert_eq!(told["limits"]["used"]["tool_calls"], 4);
    assert_eq!(told["error"]["data"]["limit"], "tool_calls");
    let limit = "code.limit_exceeded";
    assert_eq!(
        codes(&told),
        ["", "", "", "execute.tool_failed", "code.chain", limit, limit, limit]
    );
    assert_eq!(told["tool_calls"][3]["error_op"], "chain");
    let long = run_with(json!({"max_chain_steps": 2}), &tools, move |around, _| {
        drop(begin(around, "runChain", json!([[step("echo"), step("echo"), step("echo")]])));
        Ok(json!(1))
    });
    assert_eq!(long["error"]["data"], json!({"limit": "chain_steps", "most": 2}));
}

#[test]
fn what_is_printed_is_cut_at_the_limit_and_a_longer_value_is_kept_elsewhere() {
    let tools = Own::new();
    let told = run_with(json!({"max_output_bytes": 10}), &tools, |around, _| {
        around.print(PrintStream::Stdout, "12345");
        around.print(PrintStream::Stderr, "ääää");
        Ok(json!(1))
    });
    assert_eq!((&told["stdout"], &told["stderr"]), (&json!("12345"), &json!("ää")));
    assert_eq!(told["error"]["data"], json!({"limit": "output", "most": 10}));
    let told = run_with(json!({"max_output_bytes": 10}), &tools, |_, _| Ok(json!("123456789")));
    assert_eq!((&told["value"]["too_long"], &told["value"]["bytes"]), (&json!(true), &json!(11)));
    assert_eq!(told["value"]["kept"], "here");
    assert_eq!(*tools.kept.lock().unwrap(), b"\"123456789\"");
    let whole = run_with(json!({"max_output_bytes": 11}), &tools, |_, _| Ok(json!("123456789")));
    assert_eq!(whole["value"], "123456789");
}

#[test]
fn a_chain_without_a_snippet_is_run_and_recorded_the_same_way() {
    let tools = Own::new();
    let executor = Executor::new(CodeConfig::default());
    let run = |steps: Value, request: Value| {
        executor.run_chain(&steps, CodeRequest::from_json(request), &tools).to_json()
    };
    let step = |id: &str| json!({"tool_id": id, "args": {"a": 1}});
    let told = run(json!([step("echo"), step("echo")]), json!({}));
    assert_eq!((&told["value"]["value"], codes(&told).len()), (&json!({"a": 1}), 2));
    let told = run(json!([step("echo"), step("fail")]), json!({}));
    assert_eq!(told["error"]["data"]["code"], "execute.tool_failed", "{told}");
    assert_eq!(codes(&told), ["", "execute.tool_failed"]);
    let told = run(json!([step("sleep")]), json!({"timeout_ms": 50}));
    assert_eq!(told["error"]["data"]["limit"], "timeout");
    assert_eq!(codes(&told), ["code.cancelled"]);
    let told = run(json!([step("echo")]), json!({"allowed_tools": ["tool:other/**"]}));
    assert_eq!(told["error"]["data"]["code"], "grant.denied");
    assert_eq!(run(json!([]), json!({}))["error"]["data"]["code"], "code.chain");
    assert_eq!(
        run(json!([step("echo")]), json!({"timeout_ms": -1}))["error"]["code"],
        "code.configuration"
    );
}
