//! The engine of snippets from outside, by its public types: a worker of the built program for each
//! snippet. What a snippet may call and what is recorded is the executor's, and tested there.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rye::code::{
    Answer, Engine, EngineError, EngineLimit, JavaScript, PrintStream, Produced, Snippet,
    SnippetCall, SnippetFault, Stop, Surroundings, Thrown,
};
use serde_json::{Value, json};

/// Answers `echo` with its argument, `late` after a moment from another thread, `never` not at all,
/// and all else with an error.
#[derive(Default)]
struct Around {
    printed: Mutex<Vec<(PrintStream, String)>>,
    calls: Mutex<Vec<SnippetCall>>,
    kept: Mutex<Vec<Answer>>,
}

impl Surroundings for Around {
    fn call(&self, call: SnippetCall, answer: Answer) {
        self.calls.lock().unwrap().push(call.clone());
        let value = call.args.get(1).cloned().unwrap_or_default();
        match call.args.first().and_then(Value::as_str) {
            Some("echo") => answer.give(Ok(value)),
            Some("late") => drop(std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                answer.give(Ok(value));
            })),
            Some("never") => self.kept.lock().unwrap().push(answer),
            _ => answer.give(Err(Thrown {
                name: "ToolError",
                message: format!("`{}` failed", call.function),
                code: "some.code".into(),
                tool: Some("a/b".into()),
                data: json!({"deep": [1, 12_345_678_901_234_567_890_u64]}),
            })),
        }
    }

    fn print(&self, stream: PrintStream, text: &str) {
        self.printed.lock().unwrap().push((stream, text.to_owned()));
    }
}

struct Limits {
    memory_mib: u64,
    engine: Duration,
    time: Duration,
}

const USUAL: Limits =
    Limits { memory_mib: 64, engine: Duration::from_secs(20), time: Duration::from_mins(1) };

fn run_in(
    language: &str,
    code: &str,
    around: &Around,
    limits: &Limits,
    stop: &Stop,
) -> Result<Produced, EngineError> {
    let engine = JavaScript::with_program(env!("CARGO_BIN_EXE_rye"));
    let params = json!({"text": "é😀", "big": 98_765_432_109_876_543_210_u128, "one": 1});
    let snippet = Snippet {
        language,
        code,
        params: &params,
        memory_bytes: limits.memory_mib << 20,
        engine_time: limits.engine,
        deadline: Instant::now() + limits.time,
    };
    engine.run(&snippet, around, stop)
}

fn run(code: &str) -> Result<Produced, EngineError> {
    run_in("javascript", code, &Around::default(), &USUAL, &Stop::new())
}

fn value(code: &str) -> Value {
    run(code).unwrap_or_else(|error| panic!("{code}\n{error:?}")).value
}

fn fault(language: &str, code: &str) -> SnippetFault {
    match run_in(language, code, &Around::default(), &USUAL, &Stop::new()) {
        Err(EngineError::Failed(fault)) => fault,
        other => panic!("{code}\n{other:?}"),
    }
}

#[test]
fn a_snippet_computes_calls_prints_and_gives_a_value() {
    let around = Around::default();
    let code = "
        println('first', {a: [1, undefined, 2n]}, params.text);
        console.error(new Error('second'));
        const [a, b] = await Promise.all([runTool('late', {x: 1}), tools.echo(params.big)]);
        const caught = await runChain([]).catch(({name, message, code, tool, data}) =>
            ({name, message, code, tool, data}));
        __out = {a, b, caught, rest: [typeof searchTools, typeof listNamespaces,
            typeof describeTool, typeof listToolExamples]};";
    let produced = run_in("javascript", code, &around, &USUAL, &Stop::new()).unwrap();
    let want = json!({
        "a": {"x": 1},
        "b": 98_765_432_109_876_543_210_u128,
        "caught": {
            "name": "ToolError",
            "message": "`runChain` failed",
            "code": "some.code",
            "tool": "a/b",
            "data": {"deep": [1, 12_345_678_901_234_567_890_u64]},
        },
        "rest": ["function", "function", "function", "function"],
    });
    assert_eq!(produced.value, want);
    let want = [
        (PrintStream::Stdout, "first {\"a\":[1,null,2]} é😀\n".to_owned()),
        (PrintStream::Stderr, "Error: second\n".to_owned()),
    ];
    assert_eq!(*around.printed.lock().unwrap(), want);
    let calls = around.calls.lock().unwrap();
    let names: Vec<_> = calls.iter().map(|call| call.function.as_str()).collect();
    assert_eq!(names, ["runTool", "runTool", "runChain"]);
    assert_eq!(calls[1].args[0], json!("echo"));
}

#[test]
fn each_way_to_give_a_result_table() {
    for (code, want) in [
        ("__out = 1; 2", json!(1)),
        ("var __out = 1; 2", json!(1)),
        ("let __out = 1; 2", json!(1)),
        ("const __out = 1; 2", json!(1)),
        ("globalThis.__out = 1; 2", json!(1)),
        ("'use strict'; __out = 1; 2", json!(1)),
        ("__out = null; 2", json!(null)),
        ("__out = undefined; 2", json!(null)),
        ("__out = runTool('late', 1); 2", json!(1)),
        ("runTool('late', 1).then((it) => { __out = it }); 2", json!(1)),
        ("1; 2", json!(2)),
        ("if (true) { 2 } else { 3 }", json!(2)),
        ("2; function f() {}", json!(2)),
        ("await runTool('echo', 2)", json!(2)),
        ("runTool('late', 2)", json!(2)),
        ("let a = 5", json!(null)),
        ("", json!(null)),
    ] {
        assert_eq!(value(code), want, "{code}");
    }
    let fault = fault("javascript", "const a = 1;\nreturn a;");
    assert_eq!((fault.line, fault.column), (2, 1));
    assert!(fault.help.unwrap().contains("assign to `__out`"), "{fault:?}");
}

#[test]
fn each_value_is_json_or_is_refused_with_its_path_table() {
    for (code, want) in [
        ("[1, -1, 1.5, 1e21, 1e-7, -0]", json!([1, -1, 1.5, 1e21, 1e-7, 0])),
        ("2n ** 64n", json!(18_446_744_073_709_551_616_u128)),
        (
            "[true, null, undefined, , 'é😀\\u2028\\u0000']",
            json!([true, null, null, null, "é😀\u{2028}\0"]),
        ),
        ("({a: undefined, b: 1, [Symbol('c')]: 2})", json!({"b": 1})),
        ("new Date(0)", json!("1970-01-01T00:00:00.000Z")),
        ("new Uint8Array([1, 2])", json!([1, 2])),
        ("new Float64Array([0.5])", json!([0.5])),
        ("new Error('e')", json!({"name": "Error", "message": "e"})),
        ("Object.create(null)", json!({})),
        (
            "[new Number(1), new String('s'), new Boolean(true), Object(1n)]",
            json!([1, "s", true, 1]),
        ),
        ("new Proxy({a: 1}, {})", json!({"a": 1})),
        ("new Proxy([1, 2], {})", json!([1, 2])),
        ("({__proto__: {a: 1}, b: 2})", json!({"b": 2})),
        ("({['__proto__']: {a: 1}})", json!({"__proto__": {"a": 1}})),
        ("class P { a = 1; get b() { return 2 } } new P()", json!({"a": 1})),
        ("({toJSON() { return {a: 1n} }})", json!({"a": 1})),
        ("const a = {x: 1}; [a, a]", json!([{"x": 1}, {"x": 1}])),
        ("let a = 1; for (let i = 0; i < 90; i++) a = [a]; JSON.stringify(a).length", json!(181)),
        // A number that a tool gave comes back digit for digit.
        ("await runTool('echo', 9007199254740993n)", json!(9_007_199_254_740_993_u64)),
        (
            "const n = await runTool('echo', 9007199254740991n); [typeof n, n]",
            json!(["number", 9_007_199_254_740_991_u64]),
        ),
        ("typeof await runTool('echo', -9007199254740993n)", json!("bigint")),
        (
            "const it = await runTool('echo', {['__proto__']: 1}); Object.keys(it)",
            json!(["__proto__"]),
        ),
        ("params", json!({"text": "é😀", "big": 98_765_432_109_876_543_210_u128, "one": 1})),
    ] {
        assert_eq!(value(code), want, "{code}");
    }
    for (code, path, word) in [
        ("const a = {b: [0]}; a.b.push(a); a", "/b/1", "itself"),
        ("() => 1", "", "function"),
        ("({a: {b() {}}})", "/a/b", "function"),
        ("[Symbol('s')]", "/0", "symbol"),
        ("({'a/b~c': Symbol.iterator})", "/a~1b~0c", "symbol"),
        ("({get a() { throw new Error('mine') }})", "/a", "`mine`"),
        ("[{toJSON() { throw new Error('mine') }}]", "/0", "`mine`"),
        ("({get toJSON() { throw 1 }})", "", "toJSON"),
        ("new Map([[1, 2]])", "", "Map"),
        ("({a: new Set()})", "/a", "Set"),
        ("new ArrayBuffer(1)", "", "ArrayBuffer"),
        ("/x/", "", "RegExp"),
        ("(function* () {})()", "", "Generator"),
        ("[Promise.resolve(1)]", "/0", "promise"),
        ("'\\ud800'", "", "surrogate"),
        ("({'\\udc00': 1})", "", "surrogate"),
        ("new Proxy({}, {ownKeys() { throw new Error('mine') }})", "", "`mine`"),
        ("const {proxy, revoke} = Proxy.revocable({}, {}); revoke(); proxy", "", "revoked"),
        ("'x'.repeat(11 << 20)", "", "10 MiB"),
        ("new Array(300000).fill(1)", "/249999", "values"),
        ("const a = []; a.length = 4e9; a", "/249999", "values"),
        ("tools.a", "", "function"),
    ] {
        match run(code) {
            Err(EngineError::NotSerialisable { path: at, why }) => {
                assert_eq!(at, path, "{code}: {why}");
                assert!(why.contains(word), "{code}: {why}");
            }
            other => panic!("{code}\n{other:?}"),
        }
    }
    let deep = "let a = 1; for (let i = 0; i < 10000; i++) a = {a}; a";
    assert!(matches!(run(deep), Err(EngineError::NotSerialisable { .. })));
    let produced = run("({a: [NaN, -Infinity]})").unwrap();
    assert_eq!(produced.value, json!({"a": [null, null]}));
    let about: Vec<_> = produced.warnings.iter().filter(|it| it.starts_with("`/a/")).collect();
    assert_eq!(about.len(), 2, "{:?}", produced.warnings);
}

#[test]
fn arguments_that_are_not_json_are_an_error_of_the_call_alone() {
    for args in ["() => 1", "{get a() { throw 1 }}", "'\\ud800'", "new Map()"] {
        let code = format!("await runTool('echo', {args}).catch((it) => it.name)");
        assert_eq!(value(&code), json!("TypeError"), "{code}");
    }
}

/// The place where each wrong snippet is wrong: the line exactly, and a column inside of the word,
/// which is given, or one beside it.
#[test]
fn each_wrong_snippet_tells_its_place_table() {
    let javascript = [
        ("undefinedName", 1, "undefinedName"),
        ("let ä = 'ß';\n  undefinedName;", 2, "undefinedName"),
        ("'😀😀'; nope()", 1, "nope"),
        ("null.foo", 1, "foo"),
        ("let x;\nx.foo();", 2, "foo"),
        ("let o = {};\no.method(1);", 2, "method"),
        ("const f = 5;\n\n f();", 3, "f"),
        ("throw new Error('boom')", 1, "Error"),
        ("/* ü😀 */ throw new TypeError('x')", 1, "TypeError"),
        (
            "function a() {\n  b();\n}\nfunction b() { throw new RangeError('deep'); }\na();",
            4,
            "RangeError",
        ),
        ("await 0;\nlet q = {};\nq.nope();", 3, "nope"),
        ("await Promise.resolve().then(() => {\n  nope();\n});", 2, "nope"),
        ("async function g() {\n  await 1;\n  null.x;\n}\nawait g();", 3, "x"),
        ("class A { constructor() { this.x.y } }\nnew A();", 1, "y"),
        ("let 1x = 5;", 1, "1x"),
        ("foo(;", 1, ";"),
        ("const c = 1;\nc = 2;", 2, "c"),
        ("const d;", 1, "d"),
        ("\"ünterminated", 1, "\"ünterminated"),
        ("let a = 1;\n`abc", 2, "`abc"),
        ("if (true {\n}", 1, "{"),
        ("new Array(-1);", 1, "Array"),
        ("JSON.parse('{bad');", 1, "parse"),
        ("'x'.repeat(-1)", 1, "repeat"),
        ("[].reduce((a, b) => a)", 1, "reduce"),
        ("x = y + 1; let y = 2;", 1, "y + 1"),
        ("await runTool('bad')", 1, "runTool"),
        ("await runTool('echo', 1);\n/* ä */ await tools.bad.one();", 2, "tools.bad.one"),
        (
            "await Promise.all([runTool('echo', 1), (async () => { await null; zork })()])",
            1,
            "zork",
        ),
        ("(() => { 'use strict'; undefined_var = 5 })()", 1, "undefined_var"),
        ("return 7;", 1, "return"),
        ("let s = 1;\nlet s = 2;", 2, "s"),
        ("import x from 'y';", 1, "import x"),
        ("BigInt('zz')", 1, "BigInt"),
        ("runTool('late').then(() => { lost() }); 1", 1, "lost"),
        ("Promise.reject(new Error('nobody waits')); 1", 1, "Error"),
    ];
    let typescript = [
        ("const é: string = 'ß'; (é as any).foo!.bar", 1, "bar"),
        ("type A = {\n  a: '😀'\n};\nconst a: A | null = null;\na!.a;", 5, "a;"),
        ("let a: number = 1;\nenum E { A }", 2, "enum"),
        ("let ü: = 1", 1, "="),
        ("function f(a: number): never { throw new Error('t') }\nf(1)", 1, "Error"),
        ("class A { constructor(private a: string) {} }", 1, "private"),
        ("const a = 1;\nexport { a }", 2, "export"),
        ("namespace N { export const a = 1 }", 1, "namespace"),
        ("interface I { a: string }\nawait runTool<I>('bad')", 2, "runTool"),
    ];
    assert!(javascript.len() + typescript.len() >= 30);
    let all = javascript.iter().map(|row| ("javascript", row));
    for (language, (code, line, word)) in
        all.chain(typescript.iter().map(|row| ("typescript", row)))
    {
        let fault = fault(language, code);
        assert_eq!(fault.line, *line, "{code}\n{fault:?}");
        let text = code.split('\n').nth(usize::try_from(*line).unwrap() - 1).unwrap();
        let at = text.rfind(word).unwrap_or_else(|| panic!("{code}: {word}"));
        let from = text[..at].chars().count();
        // From 1, and one beside on each side.
        let around = from..=from + word.chars().count() + 1;
        let column = usize::try_from(fault.column).unwrap();
        assert!(around.contains(&column), "{code}\n{around:?} {fault:?}");
    }
}

#[test]
fn typescript_runs_without_its_types() {
    let code = "interface P { n: number }
        type Pair<T> = [T, T]
        const twice = <T,>(it: T): Pair<T> => [it, it];
        class Box<T> implements P { private readonly n2: number = 1; n!: number; constructor(v: number) { this.n = v } get v(): number { return this.n! } }
        const out = twice<number>(new Box<string>(4).v as number) satisfies Pair<number>
        ;[out].forEach((it: Pair<number>) => { __out = it })";
    let produced = run_in("typescript", code, &Around::default(), &USUAL, &Stop::new()).unwrap();
    assert_eq!(produced.value, json!([4, 4]));
}

#[test]
fn a_limit_ends_a_snippet_whatever_it_catches() {
    let endless = [
        "while (true) {}",
        "try { while (true) {} } catch {} finally { while (true) {} }",
        "await Promise.allSettled([(async () => { for (;;) await null })()])",
        "const f = () => Promise.resolve().then(f); await f()",
    ];
    let short = Limits { engine: Duration::from_millis(200), ..USUAL };
    for code in endless {
        let ended = run_in("javascript", code, &Around::default(), &short, &Stop::new());
        assert_eq!(ended, Err(EngineError::Limit(EngineLimit::Engine)), "{code}");
    }
    let filling = [
        "const a = []; for (;;) a.push(new Array(1000).fill(0))",
        "for (;;) { try { const a = []; for (;;) a.push([a.length]) } catch {} finally { 1 } }",
        "await Promise.allSettled([(async () => { const a = []; for (;;) a.push({}) })()]); 1",
        "try { new ArrayBuffer(1 << 30) } catch {} 'went on'",
    ];
    for code in filling {
        let ended = run_in("javascript", code, &Around::default(), &USUAL, &Stop::new());
        assert_eq!(ended, Err(EngineError::Limit(EngineLimit::Memory)), "{code}");
    }
    let waiting =
        ["await runTool('never')", "try { await runTool('never') } finally { for (;;) {} }"];
    let soon = Limits { time: Duration::from_millis(300), ..USUAL };
    for code in waiting {
        let ended = run_in("javascript", code, &Around::default(), &soon, &Stop::new());
        assert_eq!(ended, Err(EngineError::Limit(EngineLimit::Timeout)), "{code}");
    }
}

#[test]
fn waiting_for_calls_is_not_time_of_the_engine() {
    let short = Limits { engine: Duration::from_millis(400), ..USUAL };
    let code = "let n = 0; for (let i = 0; i < 30; i++) n += await runTool('late', 1); n";
    let around = Around::default();
    let produced = run_in("javascript", code, &around, &short, &Stop::new()).unwrap();
    assert_eq!(produced.value, json!(30));
}

#[test]
fn a_promise_that_nothing_can_settle_ends_the_snippet_at_once() {
    for code in [
        "await new Promise(() => {})",
        "await runTool('echo', 1); await new Promise(() => {})",
        "__out = new Promise(() => {})",
        "await Promise.race([])",
    ] {
        let fault = fault("javascript", code);
        assert!(fault.message.contains("nothing settles"), "{code}: {fault:?}");
    }
}

#[test]
fn what_was_printed_before_a_snippet_was_ended_is_there() {
    let around = Around::default();
    let short = Limits { engine: Duration::from_millis(200), ..USUAL };
    let code = "println('a'.repeat(40000)); console.error('b'); for (;;) {}";
    let ended = run_in("javascript", code, &around, &short, &Stop::new());
    assert_eq!(ended, Err(EngineError::Limit(EngineLimit::Engine)));
    let printed = around.printed.lock().unwrap();
    let of = |stream| {
        printed.iter().filter(|it| it.0 == stream).map(|it| it.1.as_str()).collect::<String>()
    };
    assert_eq!(of(PrintStream::Stdout).len(), 40_001);
    assert_eq!(of(PrintStream::Stderr), "b\n");
}

#[test]
fn a_snippet_is_stopped_from_outside_whatever_it_does() {
    for code in ["for (;;) {}", "await runTool('never')", "println(1); for (;;) await null"] {
        let stop = Stop::new();
        let asks = stop.clone();
        let asking = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            asks.now();
        });
        let around = Around::default();
        let ended = run_in("javascript", code, &around, &USUAL, &stop);
        assert_eq!(ended, Err(EngineError::Stopped), "{code}");
        asking.join().unwrap();
        // An answer that comes too late is nobody's.
        for answer in around.kept.lock().unwrap().drain(..) {
            answer.give(Ok(json!(1)));
        }
    }
}

#[test]
fn many_calls_at_once_are_all_answered_in_any_order() {
    let code = "const all = [];
        for (let i = 0; i < 500; i++) all.push(runTool(i % 10 ? 'echo' : 'late', i));
        (await Promise.all(all)).reduce((a, b) => a + b)";
    assert_eq!(value(code), json!(124_750));
}

/// How a hostile snippet ends.
#[derive(Clone, Copy)]
enum Ends {
    /// By the limit of the engine's time.
    ByTime,
    /// By that or by the limit of memory, whichever the machine reaches first.
    ByLimit,
    /// In any way, but its worker does what it must, and `escaped` is never its value.
    Unharmed,
}

/// Snippets that try to harm.
const HOSTILE: &[(&str, Ends)] = &[
    ("for (;;) {}", Ends::ByTime),
    ("while (true) { try { throw 1 } catch {} }", Ends::ByTime),
    ("do { continue } while (1)", Ends::ByTime),
    ("label: for (;;) { for (;;) continue label }", Ends::ByTime),
    ("const f = () => Promise.resolve().then(f); f(); await new Promise(() => {})", Ends::Unharmed),
    ("queueMicrotask(function f() { queueMicrotask(f) }); await 1", Ends::ByTime),
    ("(async function f() { await null; f() })(); await new Promise(() => {})", Ends::ByTime),
    ("for await (const x of (async function* () { for (;;) yield 1 })());", Ends::ByTime),
    (
        "function* g() { try { for (;;) yield } finally { for (;;); } } for (const x of g()) break",
        Ends::ByTime,
    ),
    ("for (const x of (function* () { for (;;) yield 1 })());", Ends::ByTime),
    ("/^(a+)+$/.test('a'.repeat(40) + 'b')", Ends::ByTime),
    ("/(?:(?:a|a)*)*b/.exec('a'.repeat(60))", Ends::ByTime),
    ("/(x+x+)+y/.test('x'.repeat(60))", Ends::ByTime),
    ("Array.from({length: 2 ** 40}, () => 1)", Ends::Unharmed),
    ("[...{[Symbol.iterator]: () => ({next: () => ({})})}]", Ends::ByLimit),
    ("const a = []; for (;;) a.push(a.slice())", Ends::ByLimit),
    ("const a = []; for (;;) try { for (;;) a.push([a.length]) } catch {}", Ends::ByLimit),
    ("let s = 'ab'; for (;;) s += s + 'c'; ", Ends::Unharmed),
    ("'x'.repeat(2 ** 29)", Ends::ByLimit),
    ("'x'.padEnd(2 ** 28)", Ends::ByLimit),
    ("new Array(2 ** 25).fill(0)", Ends::ByLimit),
    ("new ArrayBuffer(2 ** 31 - 1)", Ends::ByLimit),
    ("new Uint8Array(2 ** 30)", Ends::ByLimit),
    ("10n ** (10n ** 9n)", Ends::Unharmed),
    ("let b = 3n; for (;;) b *= b", Ends::Unharmed),
    ("const m = new Map(); for (let i = 0; ; i++) m.set(i, i)", Ends::ByLimit),
    ("const o = {}; for (let i = 0; ; i++) o['k' + i] = i", Ends::ByLimit),
    ("for (let i = 0; ; i++) Symbol.for('s' + i)", Ends::ByLimit),
    ("const a = []; for (;;) a.push(() => a)", Ends::ByLimit),
    ("const a = []; for (;;) a.push(Promise.reject(1))", Ends::ByLimit),
    ("const a = []; for (;;) a.push(new Promise(() => {}))", Ends::ByLimit),
    ("const a = []; for (;;) a.push(new Error('x'.repeat(1000)))", Ends::ByLimit),
    ("for (;;) runTool('echo', 'x'.repeat(1000))", Ends::Unharmed),
    ("for (;;) runTool('never', 1)", Ends::ByLimit),
    ("for (;;) runTool('a').catch(() => {})", Ends::Unharmed),
    ("JSON.parse('['.repeat(1e6))", Ends::Unharmed),
    ("JSON.stringify(Array(5e6).fill('xxxxxxxxxxxx'))", Ends::ByLimit),
    ("[..'x'.repeat(1e7)]", Ends::Unharmed),
    ("'x'.repeat(1e7).split('')", Ends::ByLimit),
    ("'a'.repeat(1e7).replace(/a/g, 'bbbbbbbbbbbbbbbbbbbb')", Ends::ByLimit),
    (
        "const a = Array.from({length: 3e5}, (_, i) => i); for (;;) a.sort(() => Math.random() - 0.5)",
        Ends::ByTime,
    ),
    ("[3, 2, 1].sort(() => { for (;;); })", Ends::ByTime),
    ("(function f() { f() })()", Ends::Unharmed),
    ("const f = () => [1].map(f); f()", Ends::Unharmed),
    ("let o = {}; for (let i = 0; i < 1e5; i++) o = {o}; JSON.stringify(o)", Ends::Unharmed),
    ("const p = new Proxy({}, {get: (t, k, r) => r[k]}); p.x", Ends::Unharmed),
    ("let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x", Ends::Unharmed),
    ("eval('('.repeat(1e5))", Ends::Unharmed),
    ("new Function('return ' + '['.repeat(1e5))()", Ends::Unharmed),
    ("new RegExp('('.repeat(1e5))", Ends::Unharmed),
    ("new RegExp('(?:a{1000}){1000}').test('a')", Ends::Unharmed),
    ("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", Ends::Unharmed),
    ("new WebAssembly.Module(new Uint8Array())", Ends::Unharmed),
    ("await import('fs'); 'escaped'", Ends::Unharmed),
    ("await import('/etc/passwd'); 'escaped'", Ends::Unharmed),
    ("await import('data:text/javascript,export default 1'); 'escaped'", Ends::Unharmed),
    ("eval(\"import('std')\").then(() => 'escaped')", Ends::Unharmed),
    ("require('fs'); 'escaped'", Ends::Unharmed),
    ("process.exit(0)", Ends::Unharmed),
    ("std.exit(0)", Ends::Unharmed),
    ("os.exec(['true']); 'escaped'", Ends::Unharmed),
    ("new Worker('x')", Ends::Unharmed),
    ("runTool.constructor.constructor('return process')(); 'escaped'", Ends::Unharmed),
    ("[].constructor.constructor('return this')().process.exit(); 'escaped'", Ends::Unharmed),
    (
        "(async () => {}).constructor('return await import(\"os\")')().then(() => 'escaped')",
        Ends::Unharmed,
    ),
    (
        "Object.getPrototypeOf(function* () {}).constructor('yield 1')().next().value === 1 && typeof std === 'undefined' ? 1 : 'escaped'",
        Ends::Unharmed,
    ),
    ("Object.prototype.toJSON = () => { for (;;); }; ({})", Ends::ByTime),
    ("({get a() { for (;;); }})", Ends::ByTime),
    ("({toJSON() { for (;;); }})", Ends::ByTime),
    ("runTool('echo', {get a() { for (;;); }})", Ends::ByTime),
    ("runTool('echo', new Proxy({}, {ownKeys() { for (;;); }}))", Ends::ByTime),
    (
        "runTool('echo', new Proxy([], {get: (_, k) => k === 'length' ? 2 ** 53 : 1}))",
        Ends::Unharmed,
    ),
    ("runTool(new Proxy(() => {}, {apply() { throw 'escaped' }}), {})", Ends::Unharmed),
    ("runTool({toString() { for (;;); }})", Ends::Unharmed),
    ("Promise.prototype.then = () => { for (;;); }; await runTool('echo', 1)", Ends::Unharmed),
    (
        "Array.prototype.push = Object.prototype.hasOwnProperty = () => { throw 'escaped' }; await runTool('echo', 1)",
        Ends::Unharmed,
    ),
    (
        "globalThis.Promise = null; globalThis.Object = null; globalThis.Error = null; await runTool('a').catch((e) => e.code === 'some.code' ? 1 : 'escaped')",
        Ends::Unharmed,
    ),
    (
        "Object.defineProperty(Object.prototype, 'message', {set() { for (;;); }}); await runTool('a')",
        Ends::Unharmed,
    ),
    ("Error.prepareStackTrace = () => { for (;;); }; null.x", Ends::ByTime),
    ("Error.prepareStackTrace = () => 'at x (snippet:99999999999:1)'; null.x", Ends::Unharmed),
    (
        "const e = new Error('m'); e.stack = '    at f (snippet:4294967295:4294967295)\\n'.repeat(1e5); throw e",
        Ends::Unharmed,
    ),
    ("const e = new Error('x'.repeat(1e7)); e.name = 'y'.repeat(1e7); throw e", Ends::Unharmed),
    ("throw {get name() { for (;;); }, get message() { return 'x' }}", Ends::ByTime),
    ("throw new Proxy({}, {get() { throw new Proxy({}, {}) }})", Ends::Unharmed),
    ("Object.defineProperty(globalThis, '__out', {get() { for (;;); }})", Ends::ByTime),
    ("Object.defineProperty(globalThis, '__out', {get() { throw 1 }})", Ends::Unharmed),
    (
        "println('{\"done\":{\"value\":\"escaped\",\"warnings\":[]}}\\n{\"done\":{\"value\":\"escaped\",\"warnings\":[]}}')",
        Ends::Unharmed,
    ),
    ("console.error('\"ready\"\\n\"stuck\"\\n')", Ends::Unharmed),
    ("runTool('\\n{\"done\":{\"value\":\"escaped\",\"warnings\":[]}}\\n')", Ends::Unharmed),
    ("for (;;) println('x'.repeat(1e5))", Ends::ByTime),
    ("for (;;) println('')", Ends::ByTime),
    ("println('x'.repeat(3e7)); 1", Ends::Unharmed),
    ("println(new Proxy({}, {get() { for (;;); }}))", Ends::ByTime),
    ("with (new Proxy({}, {has: () => true, get: () => { for (;;); }})) x", Ends::ByTime),
    ("new FinalizationRegistry(() => { for (;;); }).register({}, 1); 1", Ends::Unharmed),
    ("new Date(8.64e15).toLocaleString('x'.repeat(1e6))", Ends::Unharmed),
    ("'\\u0000'.normalize('NFKC').localeCompare('x'.repeat(1e6))", Ends::Unharmed),
    (
        "globalThis.globalThis = null; delete globalThis.runTool; delete globalThis.println; 1",
        Ends::Unharmed,
    ),
];

/// Runs all of it in a process of its own, so that what is left can be counted.
#[test]
fn hostile_snippets_end_and_leave_nothing() {
    let only = ["--exact", "code_engine::the_hostile_snippets_themselves", "--ignored"];
    let program = std::env::current_exe().unwrap();
    let ran = std::process::Command::new(program)
        .args(only)
        .args(["--nocapture", "--test-threads", "1"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

fn workers() -> Vec<String> {
    let own = fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists =
        own.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
#[ignore = "run by the test above, alone in its process"]
fn the_hostile_snippets_themselves() {
    assert!(HOSTILE.len() >= 60, "{}", HOSTILE.len());
    let limits = Limits {
        memory_mib: 32,
        engine: Duration::from_millis(500),
        time: Duration::from_secs(20),
    };
    let (peak, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let before = descriptors();
    let mut wrong = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for pid in workers() {
                    let status = fs::read_to_string(format!("/proc/{pid}/status"));
                    let status = status.unwrap_or_default();
                    // Before it is the worker, it is a copy of this process.
                    let is_worker = fs::read_to_string(format!("/proc/{pid}/cmdline"))
                        .is_ok_and(|line| line.contains("--code-worker"));
                    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                    let most = most.and_then(|it| it.trim().strip_suffix(" kB")?.parse().ok());
                    if let (true, Some(kib)) = (is_worker, most) {
                        peak.fetch_max(kib, Ordering::Relaxed);
                    }
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        for (code, want) in HOSTILE {
            let begin = Instant::now();
            let ended = run_in("javascript", code, &Around::default(), &limits, &Stop::new());
            eprintln!(
                "{:>5} ms {}",
                begin.elapsed().as_millis(),
                code.chars().take(70).collect::<String>()
            );
            let is_right = match (want, &ended) {
                (Ends::ByTime, ended) => *ended == Err(EngineError::Limit(EngineLimit::Engine)),
                (Ends::ByLimit, ended) => matches!(ended, Err(EngineError::Limit(_))),
                (Ends::Unharmed, Err(EngineError::Worker { .. })) => false,
                (Ends::Unharmed, Err(_)) => true,
                (Ends::Unharmed, Ok(it)) => !it.value.to_string().contains("escaped"),
            };
            if !is_right || !workers().is_empty() {
                let ended = format!("{ended:?}").chars().take(300).collect::<String>();
                wrong.push(format!("{code}\n    {ended}\n    left: {:?}", workers()));
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(wrong, [""; 0], "{}", wrong.join("\n"));
    assert_eq!(descriptors(), before);
    let peak = peak.into_inner();
    eprintln!("a worker took {peak} KiB at most");
    assert!(peak > 0 && peak < (limits.memory_mib + 32) << 10, "{peak} KiB");
}

#[test]
fn a_worker_that_is_killed_is_told_and_loses_nothing_that_came_before() {
    let program = std::env::current_exe().unwrap();
    let only = ["--exact", "code_engine::the_killed_worker_itself", "--ignored"];
    let ran = std::process::Command::new(program).args(only).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "run by the test above, alone in its process"]
fn the_killed_worker_itself() {
    let around = Around::default();
    let ended = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let code = "println('before'); runTool('never', 1); await runTool('never', 2)";
            run_in("javascript", code, &around, &USUAL, &Stop::new())
        });
        while around.calls.lock().unwrap().len() < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let pid = workers().pop().unwrap();
        // It holds three pipes and nothing else, has no environment, and can gain no right.
        assert_eq!(fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count(), 3);
        assert_eq!(fs::read(format!("/proc/{pid}/environ")).unwrap(), b"");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        for line in ["Seccomp:\t2", "NoNewPrivs:\t1", "Threads:\t1"] {
            assert!(status.contains(line), "{status}");
        }
        std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
        running.join().unwrap()
    });
    match ended {
        Err(EngineError::Worker { why }) => assert!(why.contains("signal 9"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(*around.printed.lock().unwrap(), [(PrintStream::Stdout, "before\n".to_owned())]);
    assert_eq!(workers(), [""; 0]);
}

/// The worker's own attempts, after it took its rights away as for a snippet.
#[test]
fn a_held_worker_can_open_start_reach_and_trace_nothing() {
    let mut worker = std::process::Command::new(env!("CARGO_BIN_EXE_rye"));
    worker.args(["--code-worker", "67108864", "5", "--try-to-escape"]).env_clear();
    let said = worker.output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let tries: Vec<(&str, &str)> = said.lines().filter_map(|line| line.split_once(' ')).collect();
    let names: Vec<_> = tries.iter().map(|(name, _)| *name).collect();
    let want = [
        "open",
        "create",
        "list",
        "socket",
        "unix-socket",
        "execve",
        "fork",
        "thread",
        "ptrace",
        "kill",
        "limit",
    ];
    assert_eq!(names, want, "{said}");
    for (name, ended) in tries {
        // EPERM, or EAGAIN as the library tells it of a thread.
        assert!(ended == "1" || (name == "thread" && ended == "11"), "{name} {ended}");
    }
}
