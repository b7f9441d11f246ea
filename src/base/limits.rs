//! The caps that more than one file uses, each with its reason. A cap of one file stands there.

/// Largest item in bytes. Items are read whole; a text that people review is far smaller.
pub(crate) const ITEM_BYTES: u64 = 4 << 20;
/// Longest item id in bytes: one file name's limit on the usual file systems.
pub(crate) const ID_BYTES: usize = 255;
/// Most segments of an item id; deeper trees are a sign of a mistake or an attack.
pub(crate) const ID_SEGMENTS: usize = 16;
/// Most links of a chain, tool and primitive included.
pub(crate) const CHAIN_LINKS: usize = 10;
/// Most parents of a directive by `extends`.
pub(crate) const EXTENDS_PARENTS: usize = 10;
/// Most nodes of a YAML document once aliases are expanded (core 7.1).
pub(crate) const YAML_NODES: usize = 10_000;
/// Most signs of a text of TOML or YAML that begin or part values: its readers take two hundred
/// bytes for each before anything else can be counted.
pub(crate) const DATA_SIGNS: usize = 150_000;
/// As [`DATA_SIGNS`], of a lock: one as large as a lock may be has about twenty in each of its
/// rows.
pub(crate) const LOCK_SIGNS: usize = 330_000;
/// Most values of a JSON text, from a caller, a tool or a server: each takes some hundred bytes of
/// memory in the copies that a run makes of it, and a dense text of 16 MiB has as many.
pub(crate) const JSON_NODES: usize = 250_000;
/// Most values of a message of another program, or of a document that another one wrote in JSON:
/// the readers take two or three hundred bytes for each, and far fewer say anything that is meant.
pub(crate) const MESSAGE_NODES: usize = 100_000;
/// Most values of the parameters of one call: far above what a person or an agent gives, and with
/// each copy that a run makes they stay below 32 MiB.
pub(crate) const PARAMS_NODES: usize = 100_000;
/// Most schemas on one way through a JSON Schema: who walks it does so on the stack.
pub(crate) const SCHEMA_DEPTH: usize = 64;
/// Deepest nesting of YAML, TOML, JSON and literals (core 7.1): readers recurse.
pub(crate) const DATA_DEPTH: usize = 64;
/// Captured standard output and standard error, each, in bytes (core 7.11).
pub(crate) const OUTPUT_BYTES: usize = 16 << 20;
/// Largest single argument in bytes: Linux refuses one over 128 KiB (core 7.7).
pub(crate) const ARGUMENT_BYTES: usize = 96 << 10;
/// Largest variable of a child's environment, name and value, in bytes: Linux refuses 128 KiB, and
/// the private folder's path may still come into it.
pub(crate) const VARIABLE_BYTES: usize = 124 << 10;
/// Largest parameter object in bytes, from a file or standard input.
pub(crate) const PARAMS_BYTES: u64 = 16 << 20;
/// Most hooks of one space: each is asked for every call.
pub(crate) const HOOKS: usize = 100;
/// Longest line of a server of the exec protocol, in bytes (exec-protocol 3.1).
pub(crate) const EXEC_LINE_BYTES: usize = 10 << 20;
/// Most programs that run on beside calls: each is a process, a private folder and five
/// descriptors, of which most machines allow a process 1024.
pub(crate) const EXEC_SERVERS: usize = 160;
/// Of them, hooks that are only told: what they are told of may come faster than they end.
pub(crate) const OBSERVERS: usize = 64;
/// The rest are servers.
pub(crate) const EXEC_KEPT: usize = EXEC_SERVERS - OBSERVERS;
/// Files of settings of git that are looked through before a tool may write a repository, the bytes
/// of all that git says of them, and the seconds that it may take.
pub(crate) const GIT_SETTINGS: usize = 64;
pub(crate) const GIT_SETTINGS_BYTES: usize = 4 << 20;
/// Bytes of git's index that a tool may leave: a million files take about 100 MiB.
pub(crate) const GIT_INDEX_BYTES: usize = 512 << 20;
/// Names that are looked at to find repositories in what a tool may write of a project, before it
/// starts and when it is done: 20,000 take 10 to 20 ms.
pub(crate) const INNER_NAMES: usize = 100_000;
/// Bytes of a file that says where a repository lies: a path, and a word before it.
pub(crate) const GIT_FILE_BYTES: u64 = 16 << 10;
/// Most work of scrypt for the passphrase of a private key, in blocks of 128 bytes: a few seconds,
/// and four times what OWASP asks for.
pub(crate) const SCRYPT_WORK: u64 = 1 << 22;
/// Most rounds of PBKDF2 for such a passphrase: a few seconds, and many times what OWASP asks for.
pub(crate) const PBKDF2_ROUNDS: u32 = 10_000_000;
/// Most requests of tools that wait for a person: more than a person reads.
pub(crate) const PENDING_WAITING: usize = 1_000;
/// Most bytes of the plans of these requests, with the parameters: they lie in the person's home.
pub(crate) const PENDING_BYTES: u64 = 64 << 20;
/// Decided requests that are kept to be looked at.
pub(crate) const PENDING_KEPT: usize = 500;
/// Shown of an answer that is none, in bytes (exec-protocol 2).
pub(crate) const SHOWN_BYTES: usize = 200;
/// Lines of standard error that reach the log for one call: a flood is of no use.
pub(crate) const NOTE_LINES: usize = 200;
/// Kept of the body of an HTTP answer, in bytes, unless the tool asks for less: as of a process.
pub(crate) const ANSWER_BYTES: u64 = OUTPUT_BYTES as u64;
/// Largest head of an HTTP answer in bytes: several times what servers send.
#[cfg(feature = "http")]
pub(crate) const HEADERS_BYTES: usize = 64 << 10;
/// Most tries of one HTTP request: each costs a server that is in trouble already.
pub(crate) const TRIES: u64 = 10;
/// Largest `rye/policy` or `rye/file-types`, in bytes: a page or two, and their reader's time grows
/// with the square of the brackets that stand open.
pub(crate) const OWN_CONFIG_BYTES: usize = 64 << 10;
/// Standard error shown with a failed tool, in bytes.
pub(crate) const STDERR_TAIL: usize = 4 << 10;
/// Most files one space may hold of a kind; a walk stops there instead of filling memory.
pub(crate) const LISTED_FILES: usize = 200_000;
/// Longest sentence about a text, in characters: it may quote the text, which may be of any length.
pub(crate) const MESSAGE_CHARS: usize = 400;
/// Most near names offered with a "not found".
pub(crate) const NEAR_NAMES: usize = 3;
/// Longest name that near ones are looked for, and longest that is offered, in bytes: comparing two
/// names costs the product of their lengths, and a longer one is hardly a slip.
pub(crate) const NEAR_BYTES: usize = 2 * ID_BYTES;
/// Longest directory walk below a kind's folder: ids have at most 16 segments.
pub(crate) const WALK_DEPTH: usize = ID_SEGMENTS;
/// Most files beside a tool that run with it: each is read, hashed and written for every run.
pub(crate) const PARTS: usize = 1024;
/// Most patterns of one tool, in `files` and `exec_files` each, and most of all tools that begin at
/// one folder which a file is held against.
pub(crate) const PATTERNS: usize = 128;
/// Most bytes of all these files together.
pub(crate) const PARTS_BYTES: usize = 64 << 20;
/// Most files and folders looked at to find those that a pattern means.
pub(crate) const PARTS_WALKED: usize = 20_000;
/// Largest small text that decides about an interpreter, in bytes: a version file, a `pyvenv.cfg`,
/// a path that a program prints. A few lines are usual.
pub(crate) const SMALL_TEXT_BYTES: u64 = 64 << 10;
/// Most calls that an MCP server runs at once: a client that asks for more waits, as at a shell.
#[cfg(feature = "mcp")]
pub(crate) const MCP_CALLS: usize = 16;
/// Most calls that wait for one of these: beyond it a client is told, and memory stays bounded.
#[cfg(feature = "mcp")]
pub(crate) const MCP_WAITING: usize = 256;
/// Largest message of an MCP client, in bytes: as large as what a tool may be given.
#[cfg(feature = "mcp")]
pub(crate) const MCP_MESSAGE_BYTES: usize = 16 << 20;
/// Most rows of a verification that a client is sent; of more only those that failed.
#[cfg(feature = "mcp")]
pub(crate) const MCP_ROWS: usize = 100;
/// Most pages that one session subscribes to, and most whose changes are told one by one.
#[cfg(feature = "mcp")]
pub(crate) const MCP_SUBSCRIPTIONS: usize = 1_000;
/// Largest message of an MCP server, and largest list of tools on all its pages, in bytes: as large
/// as an HTTP answer may be.
pub(crate) const MCP_ANSWER_BYTES: usize = 16 << 20;
/// Longest text that is looked for, in bytes: a few words are usual.
pub(crate) const SEARCH_BYTES: usize = 4 << 10;
/// Most different words of it: each is compared with every word that is known.
pub(crate) const SEARCH_WORDS: usize = 32;
/// Most bytes of a bundle's files, and of its archive: text and programs, no data sets.
pub(crate) const BUNDLE_BYTES: u64 = 64 << 20;
/// Largest signed manifest of a bundle in bytes: a row of each file, as base64.
pub(crate) const BUNDLE_MANIFEST_BYTES: u64 = 4 << 20;
/// Most hosts of a run's traffic that are told one by one, and most refusals: a receipt holds them.
pub(crate) const TRAFFIC_ROWS: usize = 256;
/// Most bytes of a page that `rye/web/fetch` takes, before and after it is decompressed: the
/// longest pages that people read are about as long.
#[cfg(feature = "http")]
pub(crate) const PAGE_BYTES: usize = 2 << 20;
/// Longest title of a page in characters.
#[cfg(feature = "http")]
pub(crate) const PAGE_TITLE_CHARS: usize = 300;
/// Room for the recursion of the converter over so many levels, with several times to spare.
#[cfg(feature = "http")]
pub(crate) const PAGE_STACK_BYTES: usize = 64 << 20;
/// Most hosts that one tool lists, each a rule that every call is compared with.
pub(crate) const EGRESS_HOSTS: usize = 256;
/// Most services of one tool, each with a listener of its own in its network.
pub(crate) const EGRESS_SERVICES: usize = 16;
/// Longest head of a request or an answer that a run's proxy reads, in bytes.
#[cfg(feature = "http")]
pub(crate) const PROXY_HEAD_BYTES: usize = 64 << 10;
/// Longest secret of a service in bytes: servers take no longer headers, and every answer is looked
/// through for each of its spellings.
pub(crate) const PROXY_SECRET_BYTES: usize = 16 << 10;
/// Most names that a run's proxy looks up at once; others wait. Each look-up has a thread, and
/// cannot be stopped.
#[cfg(feature = "http")]
pub(crate) const PROXY_LOOKUPS: usize = 16;
/// Largest certificate in bytes: the usual ones have one or two thousand.
pub(crate) const CERTIFICATE_BYTES: usize = 16 << 10;
#[cfg(feature = "code")]
pub(crate) const CODE_CHAIN: u64 = 20;
/// Largest text of a snippet in bytes: it is written by a model in one answer.
#[cfg(feature = "code")]
pub(crate) const CODE_BYTES: usize = 1 << 20;
/// Most patterns of what a snippet may reach, and most faults of a request that are told.
pub(crate) const CODE_PATTERNS: usize = 256;
/// Most bytes of the arguments of all open calls of a snippet, with 64 for each value: rye holds
/// some copies of each until its call ends. The largest single call takes less than half.
#[cfg(feature = "code")]
pub(crate) const CODE_OPEN_BYTES: usize = 64 << 20;
/// Most bytes of arguments and results in the records of a snippet that an agent runs: it wants
/// what the snippet made of the results.
#[cfg(all(feature = "code", feature = "mcp"))]
pub(crate) const MCP_RECORDS_BYTES: usize = 2 << 10;
/// Most bytes of arguments and results in the records of a saved snippet, which go with the result
/// of a tool.
#[cfg(feature = "code")]
pub(crate) const CODE_SAVED_RECORDS_BYTES: usize = 64 << 10;
/// Saved snippets that run within each other: one that calls itself ends, and what people write by
/// hand nests less.
#[cfg(feature = "code")]
pub(crate) const CODE_NESTED: usize = 4;
/// Saved snippets below one that run at once: each is a process with memory of its own.
#[cfg(feature = "code")]
pub(crate) const CODE_NESTED_AT_ONCE: usize = 16;
/// Most bytes of the answers to calls that the registry keeps for a snippet which waits for a
/// person: a snippet that was given more cannot wait (code-mode 3).
#[cfg(feature = "code")]
pub(crate) const CODE_JOURNAL_BYTES: usize = 4 << 20;
/// Longest line between rye and the worker of a snippet, in bytes: as long as one of a server.
#[cfg(feature = "code")]
pub(crate) const SNIPPET_LINE_BYTES: usize = 10 << 20;
/// Longest message of an error of a snippet, in bytes, and longest line of its stack: both are the
/// snippet's to write.
#[cfg(feature = "code")]
pub(crate) const SNIPPET_MESSAGE_BYTES: usize = 8 << 10;
/// Most calls of an error's stack that are told.
#[cfg(feature = "code")]
pub(crate) const SNIPPET_FRAMES: usize = 32;
/// Most bytes of arguments and results in the records of a snippet that the model of a thread runs.
#[cfg(feature = "code")]
pub(crate) const THREAD_SNIPPET_RECORDS_BYTES: usize = 2 << 10;
/// Longest text inside of one, in characters (threads 4.3).
pub(crate) const THREAD_TEXT_CHARS: usize = 12_000;
/// Longest name of a tool that a model is told (threads 4.1).
pub(crate) const THREAD_TOOL_NAME: usize = 64;
/// Most calls of tools in one turn of a model.
pub(crate) const THREAD_CALLS: usize = 64;
/// How often a model that ends without its outputs is asked for them.
pub(crate) const THREAD_ASKS: usize = 2;
/// Longest part of arguments that are not valid which is told, in characters (threads 4.2).
pub(crate) const THREAD_DETAIL_CHARS: usize = 2_000;
/// Deepest thread below another that anybody may ask for: each takes a part of the stack.
pub(crate) const THREAD_DEPTH: u64 = 32;
/// Times that a provider of models is asked for one turn (threads 6).
pub(crate) const PROVIDER_TRIES: u32 = 5;
/// Most parts of one answer, such as blocks and calls: each is looked for by its number.
pub(crate) const PROVIDER_PARTS: usize = 1_024;
/// Runs that wait for a place (remote 1), each in a process of its own; further ones are refused.
pub(crate) const DETACHED_WAITING: u64 = 1_000;
/// Largest request of such a run in bytes: its parameters, and the plan that was verified.
pub(crate) const DETACHED_REQUEST_BYTES: u64 = 64 << 20;
/// Most tokens, or millionths of a dollar, that one turn counts as: a hundred of it fit a table.
pub(crate) const LEDGER_MOST: u64 = 1 << 56;

/// Largest record of a thread that is read, in bytes: it is read as a whole.
pub(crate) const THREAD_RECORD_BYTES: u64 = 512 << 20;
/// Longest line of a transcript that is read while it is written, in bytes: what is longer than a
/// result may be is kept beside it.
pub(crate) const THREAD_LINE_BYTES: usize = 64 << 20;
/// Deepest nesting of JSON that rye wrote: what it was given stands some levels deeper there.
pub(crate) const KEPT_DEPTH: usize = 2 * DATA_DEPTH;

/// Most bytes kept of each output of a command in a workspace: many times what a model is given.
pub(crate) const WORKSPACE_OUTPUT_BYTES: usize = 1 << 20;
/// Most streams of one call of a tool in its sandbox: each has a thread.
pub(crate) const BACKEND_STREAMS: usize = 16;
/// Most payloads that wait in one of them: what is written is held in memory.
pub(crate) const STREAM_WAITING: usize = 256;
/// Deepest path in a workspace, in folders: each is opened by itself.
pub(crate) const WORKSPACE_DEPTH: usize = 64;
