//! Rye's own tools, as they are listed to clients.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::base::json::object;
/// Returns true if a name is rye's own or reserved for it.
pub(super) fn is_own(name: &str) -> bool {
    name.starts_with("rye_")
}

/// All of them, in the order that they are listed.
pub(super) fn own(may_sign: bool) -> Vec<Tool> {
    let mut tools = vec![execute(), fetch(), search(), describe(), verify(), thread()];
    #[cfg(feature = "code")]
    tools.extend([code(), run_chain()]);
    tools.extend(may_sign.then(sign));
    tools
}

fn execute() -> Tool {
    let input = json!({
        "item_id": {"type": "string", "description": "what to run, such as `tool:acme/deploy` or `directive:acme/release`"},
        "project_path": project(),
        "parameters": {"type": "object", "description": "the item's inputs, by name", "default": {}},
        "dry_run": {"type": "boolean", "description": "check everything and show the plan; start nothing", "default": false},
        "target": {"type": "string", "description": "where to run: `local`, `remote` or `remote:<name>`", "default": "local"},
        "thread": {"type": "string", "description": "who runs it: `inline`, or `fork` for a model thread", "default": "inline"},
        "model": {"type": "string", "description": "of a thread: the tier or the name of the model that answers"},
        "limit_overrides": {"type": "object", "description": "of a thread: what it may use, such as `{\"turns\": 5, \"spend\": 0.5}`"},
        "async": {"type": "boolean", "description": "run it in a process of its own and give its `thread_id` at once; see `rye_thread`", "default": false},
        "trace": {"type": "boolean", "description": "give each decision with its time", "default": false},
    });
    let output = json!({
        "status": {"type": "string", "enum": ["success", "running", "created", "pending", "validation_passed", "error"]},
        "type": {"type": "string"},
        "thread_id": {"type": "string", "description": "of a thread, or of what runs on by itself"},
        "thread_status": {"type": "string", "description": "`waiting`: what it asked was rejected, and it cannot go on here"},
        "failure": {"type": "object", "description": "why it cannot"},
        "result": {"type": "string", "description": "of a thread: the last words of the model"},
        "outputs": {"type": ["object", "null"], "description": "of a thread: what it handed over"},
        "cost": {"type": "object", "description": "of a thread: what it used"},
        "async": {"type": "boolean"},
        "execution_mode": {"type": "string", "enum": ["inline", "fork"]},
        "state": {"type": "string", "enum": ["running", "created"], "description": "it runs, or waits for a place"},
        "pid": {"type": ["integer", "null"]},
        "data": {"description": "what the tool gave, of any type"},
        "your_directions": {"type": "string", "description": "of a directive: what to follow now"},
        "chain": {"type": "array", "items": {"type": "string"}},
        "trace": {"type": "array"},
    });
    let about = "Run a signed tool, or get the directions of a signed directive. Every file that takes part is verified first; what is refused is told with a code and what to do about it.";
    tool("rye_execute", about, (input, &["item_id", "project_path"]), output)
        .annotate(ToolAnnotations::with_title("Run an item").read_only(false).destructive(true))
}

#[cfg(feature = "code")]
fn code() -> Tool {
    let input = json!({
        "code": {"type": "string", "description": "the snippet: it calls `await runTool(id, args)`, `runChain(steps)`, `searchTools(words, limit)`, `describeTool(id, level)`, `listToolExamples(id, max)`, `listNamespaces()`, prints with `println`, and assigns its result to `__out`"},
        "project_path": project(),
        "language": {"type": "string", "description": "`javascript` or `typescript`", "default": "javascript"},
        "params": {"type": "object", "description": "what the snippet finds as `params`", "default": {}},
        "timeout_ms": {"type": "integer", "minimum": 0, "description": "most time, calls included, if that is less than is configured"},
        "engine_ms": {"type": "integer", "minimum": 0, "description": "most time in which the snippet itself computes"},
        "max_tool_calls": {"type": "integer", "minimum": 0, "description": "most calls of tools"},
        "allowed_tools": {"type": "array", "items": {"type": "string"}, "description": "only these, such as `tool:acme/**`"},
    });
    let about = "Run a snippet that finds, reads about and calls tools, in one call instead of one for each. Several calls run at once with `Promise.all`. Each call is checked as `rye_execute` checks it; before the first call of a tool that does not say `effects: read` the snippet waits for a person (`status: pending`), unless their configuration lets snippets call it.";
    tool("rye_code", about, (input, &["code", "project_path"]), coded())
        .annotate(ToolAnnotations::with_title("Run a snippet").read_only(false).destructive(true))
}

#[cfg(feature = "code")]
fn run_chain() -> Tool {
    let step = json!({
        "type": "object", "required": ["tool_id"], "additionalProperties": false,
        "properties": {
            "tool_id": {"type": "string", "description": "such as `acme/deploy`"},
            "args": {"type": "object", "default": {}},
            "use_previous": {"type": "boolean", "default": false, "description": "give the step what the one before it gave"},
            "previous_as": {"type": "string", "description": "as this argument", "default": "previous"},
            "previous_path": {"type": "string", "description": "of that, what lies at this JSON pointer"},
        },
    });
    let input = json!({
        "steps": {"type": "array", "items": step, "minItems": 1},
        "project_path": project(),
        "timeout_ms": {"type": "integer", "minimum": 0, "description": "most time for all steps"},
        "allowed_tools": {"type": "array", "items": {"type": "string"}, "description": "only these, such as `tool:acme/**`"},
    });
    let about = "Call several tools one after the other, where each may take what the one before it gave. It stops at the first that fails; `value` has the value of the last step and what each step gave.";
    tool("rye_run_chain", about, (input, &["steps", "project_path"]), coded())
        .annotate(ToolAnnotations::with_title("Run a chain").read_only(false).destructive(true))
}

/// The schema of the result of a snippet.
#[cfg(feature = "code")]
fn coded() -> Value {
    json!({
        "status": {"type": "string", "enum": ["success", "pending", "error"]},
        "type": {"type": "string"},
        "pending": {"type": "object", "description": "what a person is asked: `id`, `item_id`, `args`, `message`; once they approve it with `rye pending approve`, the snippet goes on there"},
        "value": {"description": "what the snippet assigned to `__out`, of any type; null where it failed"},
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "tool_calls": {"type": "array", "items": {"type": "object", "properties": {
            "tool_id": {"type": "string"}, "args": {}, "structured": {},
            "backend_kind": {"type": "string", "enum": ["local", "exec", "mcp", "http", "remote"]},
            "error": {"type": ["object", "null"]},
            "error_op": {"type": ["string", "null"], "enum": ["run", "chain", null]},
            "started_ms": {"type": "integer"}, "duration_ms": {"type": "integer"},
        }}},
        "duration_ms": {"type": "integer"},
        "limits": {"type": "object"},
        "warnings": {"type": "array"},
        "error": {"type": ["object", "string"], "description": "why it failed: `code`, `message`, `line`, `column`, `stack`"},
    })
}

fn fetch() -> Tool {
    let mut input = narrowing();
    input["item_id"] = json!({"type": "string", "description": "the item, such as `knowledge:rye/overview` or `tool:acme/deploy@user`"});
    input["query"] =
        json!({"type": "string", "description": "instead of `item_id`: words to search for"});
    let mut output = hits();
    output["content"] = json!({"type": "string", "description": "the verified text"});
    output["detail"] = json!({"type": "object", "description": "where it lies and who signed it"});
    let about = "Read the verified content of one item: a tool, a directive, knowledge or config; or search with `query`.";
    tool("rye_fetch", about, (input, &["project_path"]), output)
        .annotate(ToolAnnotations::with_title("Read an item").read_only(true).open_world(false))
}

fn search() -> Tool {
    let mut input = narrowing();
    input["query"] = json!({"type": "string", "description": "words in any order; beginnings and small slips count too"});
    let about = "Find items by words of their names, ids, tags, descriptions and parameters. Hits are verified; of one that is refused only its name and the code are given.";
    tool("rye_search", about, (input, &["query", "project_path"]), hits())
        .annotate(ToolAnnotations::with_title("Search items").read_only(true).open_world(false))
}

fn describe() -> Tool {
    let input = json!({
        "item_id": {"type": "string", "description": "the item, such as `tool:acme/deploy`"},
        "project_path": project(),
        "level": {"type": "string", "enum": ["summary", "schema", "full"], "default": "schema", "description": "what it is for; and what it takes; and notes, examples and references"},
        "examples": {"type": "integer", "minimum": 0, "description": "at most so many"},
    });
    let output = json!({"status": {"type": "string", "enum": ["success", "error"]}});
    let about = "Describe one verified item for whoever wants to call it: what it is for and what it takes.";
    tool("rye_describe", about, (input, &["item_id", "project_path"]), output)
        .annotate(ToolAnnotations::with_title("Describe an item").read_only(true).open_world(false))
}

/// The filters of a search.
fn narrowing() -> Value {
    json!({
        "project_path": project(),
        "kind": {"type": "string", "enum": ["tool", "directive", "knowledge", "config"]},
        "space": {"type": "string", "enum": ["project", "user", "system"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
        "cursor": {"type": "string", "description": "the `next_cursor` of the page before"},
    })
}

fn hits() -> Value {
    json!({
        "status": {"type": "string", "enum": ["success", "error"]},
        "hits": {"type": "array", "items": {"type": "object"}, "description": "the best first"},
        "total": {"type": "integer"},
        "next_cursor": {"type": "string", "description": "there where there is more"},
    })
}

fn verify() -> Tool {
    let input = json!({
        "items": {"type": "array", "items": {"type": "string"}, "description": "items, or globs such as `tool:acme/**`, at most 2,000; all without any", "default": []},
        "project_path": project(),
    });
    let output = json!({
        "status": {"type": "string", "enum": ["verified", "refused", "error"]},
        "verified": {"type": "integer"},
        "refused": {"type": "integer"},
        "items": {"type": "array", "items": {"type": "object"}, "description": "a row for each; of many only those that are refused"},
        "left_out": {"type": "integer", "description": "rows that are not given"},
    });
    let about = "Check signatures without running anything: of named items with all that they run through, or of every item.";
    tool("rye_verify", about, (input, &["project_path"]), output)
        .annotate(ToolAnnotations::with_title("Verify items").read_only(true).open_world(false))
}

fn thread() -> Tool {
    let input = json!({
        "project_path": project(),
        "action": {"type": "string", "enum": ["list", "show", "wait", "cancel"], "description": "`list` all of the project, `show` what one did, `wait` until it ended and get what it gave, or `cancel` it"},
        "thread_id": {"type": "string", "description": "which one, as `rye_execute` named it, or the last four or more characters of that"},
        "timeout_ms": {"type": "integer", "minimum": 0, "description": "of `wait`: no longer than this"},
    });
    let mut output = object(json!({
        "status": {"type": "string", "enum": ["success", "pending", "error"]},
        "threads": {"type": "array", "items": {"type": "object", "properties": known_run()}, "description": "the newest last"},
        "left_out": {"type": "integer", "description": "older rows that are not given"},
        "waits_above": {"type": "string", "description": "of `cancel`: the thread at the top of those that waited with it and wait on"},
        "data": {"description": "of `show`: the events of a thread, or the report of a run; of `wait`: what the tool gave"},
    }));
    output.extend(object(known_run()));
    output.extend(object(came()));
    let about = "See threads (directives that a model runs) and detached runs of this project, wait for one, or cancel it with everything that it started.";
    tool("rye_thread", about, (input, &["project_path", "action"]), output.into())
        .annotate(ToolAnnotations::with_title("Threads").read_only(false).destructive(true))
}

/// The schema of a thread or a detached run.
fn known_run() -> Value {
    json!({
        "thread_id": {"type": "string"},
        "item_id": {"type": "string", "description": "what it runs"},
        "base": {"type": "string", "description": "the folder that holds the `.ai` of its record"},
        "thread_status": {"type": "string", "enum": ["created", "running", "waiting", "completed", "failed", "cancelled", "killed", "continued"], "description": "`created` waits for a place, `waiting` for a person; of `continued` the thread `continued_by` goes on for it"},
        "thread_code": {"type": ["string", "null"], "description": "why it failed: a stable name, for `rye explain`"},
        "failure": {"type": ["object", "null"], "description": "why it failed: `code`, `error`, `help` and `data`"},
        "pending_id": {"type": "string", "description": "of a tool that waits for a person: the request, for `rye pending`"},
        "asked_at": {"type": "string"},
        "started_at": {"type": ["string", "null"], "description": "null if it waits for a place, or never began"},
        "ended_at": {"type": ["string", "null"]},
        "async": {"type": "boolean", "description": "it has a process of its own"},
        "pid": {"type": ["integer", "null"], "description": "the process that runs it"},
        "elsewhere": {"type": "boolean", "description": "it runs in another container, so nobody here can tell how it is"},
        "log": {"type": "string", "description": "the file of what a detached tool writes"},
        "remote": {"type": "object", "description": "the node that runs it: `name` and `node`"},
        "parent": {"type": ["string", "null"], "description": "the thread above"},
        "continued_by": {"type": ["string", "null"], "description": "the thread that goes on for it"},
        "provider": {"type": "string", "description": "of a thread: what asks its model"},
        "model": {"type": "string", "description": "of a thread: its model"},
        "limits": {"type": "object", "description": "of a thread: what it may use"},
        "used": {"type": "object", "description": "of a thread: what it used of its limits"},
    })
}

/// The schema of the result that `wait` gives for a run that ended, or waits for a person: the one
/// that `rye_execute` would have given.
fn came() -> Value {
    json!({
        "type": {"type": "string"},
        "directive": {"type": "string"},
        "result": {"type": ["string", "null"], "description": "of a thread: the last words of the model"},
        "outputs": {"type": ["object", "null"], "description": "of a thread: what it handed over"},
        "replaced_by": {"type": "string", "description": "the guardrail that put its text in the place of both"},
        "cost": {"type": "object", "description": "of a thread: what it used"},
        "pending": {"type": ["object", "null"], "description": "what it asks a person: `id`, `item_id`, `reason` and `message`"},
        "your_directions": {"type": "string", "description": "of a directive: what to follow now"},
        "instructions": {"type": "string", "description": "how to follow them"},
        "declared_inputs": {"description": "of an error: the inputs that the item takes"},
        "place": {"type": "object", "description": "of an error: the file that it is about"},
        "chain": {"type": "array", "items": {"type": "string"}},
        "hooks": {"type": "array", "description": "what hooks did"},
        "warnings": {"type": "array"},
    })
}

fn sign() -> Tool {
    let input = json!({
        "item_id": {"type": "string", "description": "an item of the project, or a glob such as `tool:acme/**`; never a hook, nor what is about keys or the operator's configuration"},
        "project_path": project(),
        "space": {"type": "string", "enum": ["project"], "description": "an agent signs in the project alone"},
        "confirm_digest": {"type": "string", "description": "what the first call gave; only then anything is signed"},
    });
    let output = json!({
        "status": {"type": "string", "enum": ["confirmation_required", "signed", "changed", "error"]},
        "confirm_digest": {"type": "string"},
        "items": {"type": "array", "items": {"type": "object"}, "description": "first each with its diff, then what became of it"},
        "passed_over": {"type": "array", "items": {"type": "string"}, "description": "what a glob leaves: signed by others, or held back by `rye dev`; each is signed by its name"},
    });
    let about = "Sign items of the project with the person's own key, in two calls: the first gives a diff and `confirm_digest`, the second with that digest signs exactly what was shown. Show the diff to the person in between. Hooks, keys, the operator's configuration and the user space are left to the person.";
    tool("rye_sign", about, (input, &["item_id", "project_path"]), output)
        .annotate(ToolAnnotations::with_title("Sign items").read_only(false).destructive(true))
}

fn project() -> Value {
    json!({"type": "string", "description": "the project's folder, the one that holds `.ai`"})
}

fn tool(name: &'static str, about: &'static str, input: (Value, &[&str]), output: Value) -> Tool {
    let (properties, required) = input;
    let input = json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    });
    Tool::new(name, about, Arc::new(object(input)))
        .with_raw_output_schema(Arc::new(object(answered(output))))
}

/// The output schema of every tool of rye: its own fields, or the structured error.
fn answered(own: Value) -> Value {
    let mut properties = object(own);
    for (name, about) in [
        ("code", "of an error: its stable name, for `rye explain`"),
        ("error", "what went wrong"),
        ("help", "what to do next"),
        ("item_id", "the item that this is about"),
    ] {
        let field = json!({"type": "string", "description": about});
        properties.entry(name).or_insert(field);
    }
    properties.entry("metadata").or_insert_with(|| json!({"type": "object"}));
    json!({"type": "object", "properties": properties, "required": ["status"]})
}
