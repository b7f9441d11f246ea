//! Every cap, once, each with its reason; those of what a thread does in its sandbox stand in
//! `limits/workspace.rs`, those of what is kept of it in `limits/record.rs`.

mod record;
mod workspace;

pub(crate) use record::{
    KEPT_DEPTH, KEPT_NODES, LIVE_WORDS_BYTES, LOCK_TRIES, THREAD_END_BYTES, THREAD_FILE_BYTES,
    THREAD_FILES_TOLD, THREAD_LINE_BYTES, THREAD_READINGS, THREAD_RECORD_BYTES,
};

pub(crate) use workspace::{
    BACKEND_STREAMS, STREAM_WAITING, WORKSPACE_COMMAND_CHARS, WORKSPACE_DEPTH,
    WORKSPACE_FILE_BYTES, WORKSPACE_FILE_MIB, WORKSPACE_FILES, WORKSPACE_MIB, WORKSPACE_NAMES,
    WORKSPACE_OUTPUT_BYTES,
};

/// Largest item in bytes. Items are read whole; a text that people review is far smaller.
pub(crate) const ITEM_BYTES: u64 = 4 << 20;
/// Longest item id in bytes: one file name's limit on the usual file systems.
pub(crate) const ID_BYTES: usize = 255;
/// Most segments of an item id; deeper trees are a sign of a mistake or an attack.
pub(crate) const ID_SEGMENTS: usize = 16;
/// Longest signature line in bytes: the fixed fields and the longest id fit with room.
pub(crate) const SIGNATURE_LINE: usize = 1024;
/// Most links of a chain, tool and primitive included.
pub(crate) const CHAIN_LINKS: usize = 10;
/// Most remembered versions of one item: more than a person looks back through.
pub(crate) const VERSIONS_KEPT: usize = 32;
/// Most bytes of the remembered versions of one item: two of the largest, or many usual ones.
pub(crate) const VERSIONS_BYTES: u64 = 2 * ITEM_BYTES;
/// Most parents of a directive by `extends`.
pub(crate) const EXTENDS_PARENTS: usize = 10;
/// Largest metadata fence in bytes: the XML reader's attribute check is quadratic.
pub(crate) const FENCE_BYTES: usize = 64 << 10;
/// Most attributes of one XML element, for the same reason.
pub(crate) const XML_ATTRIBUTES: usize = 64;
/// Most nodes of a YAML document once aliases are expanded (core 7.1).
pub(crate) const YAML_NODES: usize = 10_000;
/// Most signs of a text of TOML or YAML that begin or part values: its readers take two hundred
/// bytes for each before anything else can be counted.
pub(crate) const DATA_SIGNS: usize = 150_000;
/// The same of a lock: one as large as a lock may be has about twenty in each of its rows.
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
/// Most steps of a JSON Schema once its references are followed: a small file can name itself over
/// and over. The largest published schemas have some ten thousand.
pub(crate) const SCHEMA_NODES: u64 = 100_000;
/// Most schemas on one way through a JSON Schema: who walks it does so on the stack.
pub(crate) const SCHEMA_DEPTH: usize = 64;
/// Most steps of checking one value: about a second.
pub(crate) const CHECK_STEPS: u64 = 20_000_000;
/// Most steps of listing all that is wrong with one value; beyond it the first fault is told.
/// What is listed counts by its size, so that it stays below 16 MiB.
pub(crate) const LIST_STEPS: u64 = 2_000_000;
/// Most violations of a schema that an answer lists, and bytes of their places and messages.
pub(crate) const VIOLATIONS: usize = 100;
pub(crate) const VIOLATIONS_BYTES: usize = 64 << 10;
/// Most bytes of a compiled pattern of a schema, and of the table that runs it.
pub(crate) const SCHEMA_PATTERN_BYTES: usize = 1 << 18;
/// Most steps back of one search by a pattern that needs them.
pub(crate) const SCHEMA_PATTERN_STEPS: usize = 100_000;
/// Deepest nesting of YAML, TOML, JSON and literals (core 7.1): readers recurse.
pub(crate) const DATA_DEPTH: usize = 64;
/// Most linked work trees of one repository that are looked at: more than a person keeps.
pub(crate) const WORK_TREES: usize = 256;
/// Captured standard output and standard error, each, in bytes (core 7.11).
pub(crate) const OUTPUT_BYTES: usize = 16 << 20;
/// Bytes of a result that wait for its end where output is shown as it comes; a larger one is shown
/// as it is, so that a copy beside what is captured stays small.
pub(crate) const LIVE_RESULT_BYTES: usize = 1 << 20;
/// Largest single argument in bytes: Linux refuses one over 128 KiB (core 7.7).
pub(crate) const ARGUMENT_BYTES: usize = 96 << 10;
/// Largest variable of a child's environment, name and value, in bytes: Linux refuses 128 KiB, and
/// the private folder's path may still come into it.
pub(crate) const VARIABLE_BYTES: usize = 124 << 10;
/// Largest parameter object in bytes, from a file or standard input.
pub(crate) const PARAMS_BYTES: u64 = 16 << 20;
/// Largest plan file in bytes: parameters are stored as text in it, whose quotes are escaped twice.
pub(crate) const PLAN_BYTES: u64 = 4 * PARAMS_BYTES;
/// Largest receipt in bytes: a chain has few links, and outputs are digests.
pub(crate) const RECEIPT_BYTES: u64 = 4 << 20;
/// Most hooks of one space: each is asked for every call.
pub(crate) const HOOKS: usize = 100;
/// Longest line of a server of the exec protocol, in bytes (exec-protocol 3.1).
pub(crate) const EXEC_LINE_BYTES: usize = 10 << 20;
/// So many ends within a minute, and a server is left alone for half a minute.
pub(crate) const EXEC_DEATHS: usize = 5;
/// Timeouts in a row after which a server of several calls at once is replaced.
pub(crate) const EXEC_TIMEOUTS: usize = 3;
/// How often what a call left behind is looked for: so deep may that stand below one another.
pub(crate) const SWEEP_ROUNDS: usize = 100;
/// Most programs that run on beside calls: each is a process, a private folder and five
/// descriptors, of which most machines allow a process 1024.
pub(crate) const EXEC_SERVERS: usize = 160;
/// Of them, hooks that are only told: what they are told of may come faster than they end.
pub(crate) const OBSERVERS: usize = 64;
/// The rest are servers.
pub(crate) const EXEC_KEPT: usize = EXEC_SERVERS - OBSERVERS;
/// What lies in the shared `/tmp` and is shown to a run that is watched; each takes `bwrap` a
/// moment.
pub(crate) const SANDBOX_MOUNTS: usize = 1_000;
/// Files of settings of git that are looked through before a tool may write a repository, the bytes
/// of all that git says of them, and the seconds that it may take.
pub(crate) const GIT_SETTINGS: usize = 64;
pub(crate) const GIT_SETTINGS_BYTES: usize = 4 << 20;
/// Bytes of git's index that a tool may leave: a million files take about 100 MiB.
pub(crate) const GIT_INDEX_BYTES: usize = 512 << 20;
/// Names that are looked at to find repositories in what a tool may write of a project, before it
/// starts and when it is done: 20,000 take 10 to 20 ms.
pub(crate) const INNER_NAMES: usize = 100_000;
/// Repositories and submodules that are kept from one tool: `bwrap` takes some 0.3 s for 170, and
/// 2 s for so many.
pub(crate) const INNER_REPOSITORIES: usize = 500;
/// Repositories that a tool made and that are told one by one: more are not read.
pub(crate) const NEW_REPOSITORIES: usize = 20;
/// Bytes of a file that says where a repository lies: a path, and a word before it.
pub(crate) const GIT_FILE_BYTES: u64 = 16 << 10;
/// Longest path in git's index, in bytes: Linux takes no longer one.
pub(crate) const PATH_BYTES: usize = 4 << 10;
/// New items that one run may leave (`items: write`), with folders and hidden names, and the bytes
/// of the items: they are held in memory while they are taken over, and a person reads each.
pub(crate) const NEW_ITEMS: usize = 1_000;
pub(crate) const NEW_ITEMS_BYTES: usize = 64 << 20;
/// Memory that the passphrase of a private key may take, in bytes: OWASP asks for 128 MiB.
pub(crate) const SCRYPT_BYTES: u64 = 256 << 20;
/// The same as work, in blocks of 128 bytes: a few seconds, and four times what OWASP asks for.
pub(crate) const SCRYPT_WORK: u64 = 1 << 22;
/// The same in rounds of PBKDF2: a few seconds, and many times what OWASP asks for.
pub(crate) const PBKDF2_ROUNDS: u32 = 10_000_000;
/// Most lines of one file that are named because they hold the id of an item that moves: more than
/// a person goes through.
pub(crate) const MENTIONS: usize = 20;
/// Different things that are remembered of what a watched child did; a build touches some
/// thousands.
pub(crate) const WATCHED_ACCESSES: usize = 200_000;
/// Longest text of a request to a person, in bytes: it is read on a screen.
pub(crate) const PENDING_TEXT_BYTES: usize = 16 << 10;
/// Most requests of tools that wait for a person: more than a person reads.
pub(crate) const PENDING_WAITING: usize = 1_000;
/// What their plans, with the parameters, may come to in bytes: they lie in the person's home.
pub(crate) const PENDING_BYTES: u64 = 64 << 20;
/// Decided requests that are kept to be looked at.
pub(crate) const PENDING_KEPT: usize = 500;
/// Shown of an answer that is none, in bytes (exec-protocol 2).
pub(crate) const SHOWN_BYTES: usize = 200;
/// Lines of standard error that reach the log for one call: a flood helps nobody.
pub(crate) const NOTE_LINES: usize = 200;
/// Most calls that a server is sent before it answered the first: each is held in memory.
pub(crate) const EXEC_IN_FLIGHT: usize = 1024;
/// Most faults of an imported document that are told at once: each is looked up from its top, and
/// nobody mends more in one go.
pub(crate) const IMPORT_FAULTS: usize = 64;
/// Kept of the body of an HTTP answer, in bytes, unless the tool asks for less: as of a process.
pub(crate) const ANSWER_BYTES: u64 = OUTPUT_BYTES as u64;
/// Largest head of an HTTP answer in bytes: several times what servers send.
#[cfg(feature = "http")]
pub(crate) const HEADERS_BYTES: usize = 64 << 10;
/// Longest URL in bytes: many servers refuse a longer one.
pub(crate) const URL_BYTES: usize = 8 << 10;
/// Most tries of one HTTP request: each costs a server that is in trouble already.
pub(crate) const TRIES: u64 = 10;
/// Tries of an HTTP request unless the tool says otherwise.
pub(crate) const TRIES_DEFAULT: u64 = 3;
/// Most redirects that are followed: a longer way is a loop or a mistake.
pub(crate) const REDIRECTS: u64 = 10;
/// Redirects followed unless the tool says otherwise.
pub(crate) const REDIRECTS_DEFAULT: u64 = 5;
/// Largest program whose header is read from a syntax tree, in bytes: time to read it is in the way
/// of each run.
pub(crate) const PROGRAM_BYTES: usize = 512 << 10;
/// Most words and signs of such a program: a tree takes some hundred bytes for each, and a program
/// of that size has half as many.
pub(crate) const PROGRAM_TOKENS: usize = 200_000;
/// Most brackets, blocks and operators of a program that stand open at a time: a parser recurses
/// into each, and the deepest of honest programs have some hundreds.
pub(crate) const PROGRAM_NESTING: usize = 4_000;
/// So many of them fit on any stack that a thread of ours has.
pub(crate) const PROGRAM_SHALLOW: usize = 64;
/// Stack for each of them in bytes: several times what the deepest functions of a build without
/// optimisation take. It is address space until it is used.
pub(crate) const PROGRAM_LEVEL_BYTES: usize = 16 << 10;
/// Most items that the record of an approval names; its digest is over all of them. Each takes some
/// 170 bytes of a file that a person may read.
pub(crate) const APPROVED_ITEMS: usize = 500;
/// Largest `rye/policy` or `rye/file-types`, in bytes: a page or two, and their reader's time grows
/// with the square of the brackets that stand open.
pub(crate) const OWN_CONFIG_BYTES: usize = 64 << 10;
/// Largest message of an editor in bytes: the largest item with each byte escaped, and what is
/// around it.
#[cfg(feature = "lsp")]
pub(crate) const LSP_MESSAGE_BYTES: u64 = 6 * ITEM_BYTES + (1 << 20);
/// Longest header of such a message in bytes: two short lines are usual.
#[cfg(feature = "lsp")]
pub(crate) const LSP_HEADER_BYTES: u64 = 4 << 10;
/// Most messages that wait to be answered; then the editor waits as well.
#[cfg(feature = "lsp")]
pub(crate) const LSP_QUEUE: usize = 8;
/// Most questions that wait for a person at a time; older ones are given up.
#[cfg(feature = "lsp")]
pub(crate) const LSP_AWAITED: usize = 16;
/// Most bytes of all open texts: eight of the largest, or thousands of usual ones.
#[cfg(feature = "lsp")]
pub(crate) const LSP_OPEN_BYTES: usize = 32 << 20;
/// Longest change that a question holds, in bytes: about two screens.
#[cfg(feature = "lsp")]
pub(crate) const LSP_QUESTION_BYTES: usize = 8 << 10;
/// Standard error shown with a failed tool, in bytes.
pub(crate) const STDERR_TAIL: usize = 4 << 10;
/// Most files one space may hold of a kind; a walk stops there instead of filling memory.
pub(crate) const LISTED_FILES: usize = 200_000;
/// Longest sentence about a text, in characters: it may quote the text, which may be of any length.
pub(crate) const MESSAGE_CHARS: usize = 400;
/// Longest message of an error, and longest help, in bytes: a thousand findings fit, and whatever
/// an error quotes, a terminal and a log are not filled by it.
pub(crate) const DIAGNOSTIC_BYTES: usize = 64 << 10;
/// Most near names offered with a "not found".
pub(crate) const NEAR_NAMES: usize = 3;
/// Longest name that near ones are looked for, and longest that is offered, in bytes: telling two
/// names apart costs the product of their lengths, and nobody means a longer one by a slip.
pub(crate) const NEAR_BYTES: usize = 2 * ID_BYTES;
/// How often names near to one that was not found are looked for in one run: each time costs a walk
/// over every item, and whoever names a thousand items that are not there reads no thousand
/// suggestions.
pub(crate) const SUGGESTIONS: usize = 16;
/// Longest directory walk below a kind's folder: ids have at most 16 segments.
pub(crate) const WALK_DEPTH: usize = ID_SEGMENTS;
/// Most signatures that a process remembers as good: a server's items fit, and they take 300 KiB.
pub(crate) const KNOWN_SIGNATURES: usize = 4096;
/// Longest path in a tool's `files`, in bytes: it is joined to a private folder's path.
pub(crate) const PART_PATH_BYTES: usize = 1024;
/// Most files beside a tool that run with it: each is read, hashed and written for every run.
pub(crate) const PARTS: usize = 1024;
/// Most patterns of one tool, in `files` and `exec_files` each, and most of all tools that begin at
/// one folder which a file is held against.
pub(crate) const PATTERNS: usize = 128;
/// Longest of them in bytes.
pub(crate) const PATTERN_BYTES: usize = 256;
/// Most bytes of all these files together.
pub(crate) const PARTS_BYTES: usize = 64 << 20;
/// Most files and folders looked at to find those that a pattern means.
pub(crate) const PARTS_WALKED: usize = 20_000;
/// Largest small text that decides about an interpreter, in bytes: a version file, a `pyvenv.cfg`,
/// a path that a program prints. A few lines are usual.
pub(crate) const SMALL_TEXT_BYTES: u64 = 64 << 10;
/// Most cases of one test spec: more are several specs.
pub(crate) const TEST_CASES: usize = 1_000;
/// Most evals of one case of a test spec: each is a run of its own.
pub(crate) const TEST_EVALS: usize = 64;
/// Most calls that an MCP server runs at once: a client that asks for more waits, as at a shell.
#[cfg(feature = "mcp")]
pub(crate) const MCP_CALLS: usize = 16;
/// Threads that an MCP server has at the least: for a call, for hints that files changed, for what
/// comes in and for what goes out.
#[cfg(feature = "mcp")]
pub(crate) const MCP_THREADS: usize = 4;
/// Most calls that wait for one of these: beyond it a client is told, and memory stays bounded.
#[cfg(feature = "mcp")]
pub(crate) const MCP_WAITING: usize = 256;
/// Largest message of an MCP client, in bytes: as large as what a tool may be given.
#[cfg(feature = "mcp")]
pub(crate) const MCP_MESSAGE_BYTES: usize = 16 << 20;
/// Most messages that wait to be read by an MCP client before it is listened to again: what is
/// answered to one that never reads must not fill the memory.
#[cfg(feature = "mcp")]
pub(crate) const MCP_UNREAD: usize = 64;
/// Longest question to the person at an MCP client, in bytes: more is not read in a dialog, and who
/// approves a part of it does not know what runs.
#[cfg(feature = "mcp")]
pub(crate) const MCP_QUESTION_BYTES: usize = 8 << 10;
/// Most lines of a tool's standard error that are sent to a client while a call runs, the first
/// ones, and as many when it is done, the last ones.
#[cfg(feature = "mcp")]
pub(crate) const MCP_LOG_LINES: usize = 100;
/// Most rows of a verification that a client is sent; of more only those that failed.
#[cfg(feature = "mcp")]
pub(crate) const MCP_ROWS: usize = 100;
/// Most items that one call of an MCP client names to be verified: each is a chain that is read and
/// judged, and whoever has more asks for a pattern.
#[cfg(feature = "mcp")]
pub(crate) const MCP_ITEMS: usize = 2_000;
/// Most prompts or resources on one page of a list.
#[cfg(feature = "mcp")]
pub(crate) const MCP_PAGE: usize = 100;
/// Most connections that an MCP server over HTTP has at once; others wait. Each call has one, and
/// some are left to listen, and to cancel a call.
#[cfg(feature = "mcp")]
pub(crate) const MCP_CONNECTIONS: usize = MCP_CALLS + MCP_WAITING + 48;
/// Most sessions that an MCP server over HTTP has at once: the one that a client left longest makes
/// room for another.
#[cfg(feature = "mcp")]
pub(crate) const MCP_SESSIONS: usize = 256;
/// Most pages of a server's list of tools that are read; a list that goes on has no end.
pub(crate) const MCP_LIST_PAGES: usize = 64;
/// Most pages that one session subscribes to, and most whose changes are told one by one.
#[cfg(feature = "mcp")]
pub(crate) const MCP_SUBSCRIPTIONS: usize = 1_000;
/// Most tools of a server: more than any person reads.
pub(crate) const MCP_LIST_TOOLS: usize = 1_000;
/// Largest message of an MCP server, and largest list of tools on all its pages, in bytes: as large
/// as an HTTP answer may be.
pub(crate) const MCP_ANSWER_BYTES: usize = 16 << 20;
/// Most bytes that wait to be written to an MCP server beside a call: answers to what it asks.
pub(crate) const MCP_REPLY_BYTES: usize = 1 << 20;
/// Most files that `rye dev` signs at once without asking: a person saves one, a program many.
pub(crate) const DEV_FILES: usize = 5;
/// Most short options in one argument behind which a file's name is looked for: nobody writes as
/// many, and each costs a look at the disk.
pub(crate) const SHORT_OPTIONS: usize = 16;
/// Longest text that is looked for, in bytes: a few words are usual.
pub(crate) const SEARCH_BYTES: usize = 4 << 10;
/// Most different words of it: each is compared with every word that is known.
pub(crate) const SEARCH_WORDS: usize = 32;
/// Longest word that is told from others, in bytes: what is longer is no word.
pub(crate) const SEARCH_WORD_BYTES: usize = 64;
/// Most hits of one page: each is verified before it is shown.
pub(crate) const SEARCH_PAGE: usize = 100;
/// Most lines of a change that a batch shows of one item before it asks; `rye diff` shows all.
pub(crate) const CHANGE_LINES: usize = 40;
/// Most items whose change a batch shows before it asks: more are not read.
pub(crate) const CHANGES_SHOWN: usize = 10;
/// Longest summary of an item in characters (code-mode 4).
pub(crate) const SUMMARY_CHARS: usize = 200;
/// Most examples that an item is described with.
pub(crate) const EXAMPLES_SHOWN: usize = 20;
/// What is read of one text about an item to find it by, in bytes: the beginning says what it is
/// for.
pub(crate) const SEARCH_TEXT_BYTES: usize = 8 << 10;
/// Most different words of one item: a page of text.
pub(crate) const SEARCH_DOC_WORDS: usize = 512;
/// Most different words of a search index: more than a language has.
pub(crate) const SEARCH_TERMS: usize = 1_000_000;
/// Most files of a bundle: a large collection has some hundreds.
pub(crate) const BUNDLE_FILES: usize = 5_000;
/// Most bytes of a bundle's files, and of its archive: text and programs, no data sets.
pub(crate) const BUNDLE_BYTES: u64 = 64 << 20;
/// Largest signed manifest of a bundle in bytes: a row of each file, as base64.
pub(crate) const BUNDLE_MANIFEST_BYTES: u64 = 4 << 20;
/// Largest window of a bundle's compression in bytes: what the usual levels use, held in memory.
pub(crate) const BUNDLE_WINDOW: u64 = 8 << 20;
/// Most calls that a service lists: a person reads them before trusting the item.
pub(crate) const SERVICE_CALLS: usize = 64;
/// Longest name of a service, of its header and of its variables, in bytes.
pub(crate) const SERVICE_NAME_BYTES: usize = 64;
/// Longest pattern of a call that a service lists, and longest form of its header, in bytes.
pub(crate) const CALL_PATTERN_BYTES: usize = 256;
/// Most hosts of a run's traffic that are told one by one, and most refusals: a receipt holds them.
pub(crate) const TRAFFIC_ROWS: usize = 256;
/// Longest text of one of those refusals in bytes: a name, or what a person reads of a path.
pub(crate) const TRAFFIC_TEXT_BYTES: usize = 300;
/// Most bytes of a page that `rye/web/fetch` takes, before and after it is decompressed: the
/// longest pages that people read are about as long.
#[cfg(feature = "http")]
pub(crate) const PAGE_BYTES: usize = 2 << 20;
/// Most characters of its words that come back unless the caller says otherwise: a tenth of what a
/// large model reads at once.
#[cfg(feature = "http")]
pub(crate) const PAGE_CHARS: usize = 100_000;
/// Longest title of a page in characters.
#[cfg(feature = "http")]
pub(crate) const PAGE_TITLE_CHARS: usize = 300;
/// Most bytes of the parameters of `rye/web/fetch`: a URL, many times over.
#[cfg(feature = "http")]
pub(crate) const PAGE_PARAMS_BYTES: u64 = 64 << 10;
/// Most redirects before a page.
#[cfg(feature = "http")]
pub(crate) const PAGE_REDIRECTS: usize = 5;
/// Most separators, of which one stands before each attribute, in a part of a page that does not
/// end: each attribute is compared with all before it in its tag. A picture of a megabyte that is
/// written into a tag has fewer.
#[cfg(feature = "http")]
pub(crate) const PAGE_ATTRIBUTES: usize = 20_000;
/// Most elements of a page that are open at once; browsers stop at 512. One more start tag costs as
/// many steps.
#[cfg(feature = "http")]
pub(crate) const PAGE_OPEN: usize = 256;
/// Most lists and quotations of a page that are open at once: each makes every line in it longer.
#[cfg(feature = "http")]
pub(crate) const PAGE_INDENTING: usize = 24;
/// Most levels of the tree of a page: misnested elements are deeper in it than they were open.
#[cfg(feature = "http")]
pub(crate) const PAGE_LEVELS: usize = 1_024;
/// Room for the recursion of the converter over so many levels, with several times to spare.
#[cfg(feature = "http")]
pub(crate) const PAGE_STACK_BYTES: usize = 64 << 20;
/// Most hosts that one tool lists, each a rule that every call is compared with.
pub(crate) const EGRESS_HOSTS: usize = 256;
/// Most services of one tool, each with a listener of its own in its network.
pub(crate) const EGRESS_SERVICES: usize = 16;
/// Most connections that a run's proxy serves at once; others wait. Each takes two or three open
/// files of the thousand that a process has, and no tool needs as many.
#[cfg(feature = "http")]
pub(crate) const PROXY_CONNECTIONS: usize = 256;
/// Longest head of a request or an answer that a run's proxy reads, in bytes.
#[cfg(feature = "http")]
pub(crate) const PROXY_HEAD_BYTES: usize = 64 << 10;
/// Longest greeting of TLS that a run's proxy reads, in bytes: the largest have four thousand.
#[cfg(feature = "http")]
pub(crate) const PROXY_GREETING_BYTES: usize = 32 << 10;
/// Longest secret of a service in bytes: servers take no longer headers, and every answer is looked
/// through for each of its spellings.
pub(crate) const PROXY_SECRET_BYTES: usize = 16 << 10;
/// Most names that a run's proxy looks up at once; others wait. Each look-up has a thread, and
/// cannot be stopped.
#[cfg(feature = "http")]
pub(crate) const PROXY_LOOKUPS: usize = 16;
/// Most addresses of one name that a run's proxy tries.
#[cfg(feature = "http")]
pub(crate) const PROXY_ADDRESSES: usize = 8;
/// What a run's proxy reads at once of a tunnel, from the child and to it, in bytes: a download
/// through buffers of a quarter of this takes a tenth longer.
#[cfg(feature = "http")]
pub(crate) const PROXY_UP_BYTES: usize = 64 << 10;
#[cfg(feature = "http")]
pub(crate) const PROXY_DOWN_BYTES: usize = 256 << 10;
/// Most certificates of a signature file and of a list of roots, and most extensions of one: chains
/// have three or four, and each may be asked whether it made the signature of each other.
pub(crate) const CERTIFICATES: usize = 16;
/// Most entries of a log that a signature file names, and most signed times: one signature is in
/// one log, or in two.
pub(crate) const LOG_ENTRIES: usize = 4;
/// Most hashes of the proof that a log holds an entry: a log has no more than 2^64 of them.
pub(crate) const PROOF_HASHES: usize = 64;
/// Largest trusted root in bytes: the usual ones have seven to thirty thousand.
pub(crate) const TRUSTED_ROOT_BYTES: usize = 256 << 10;
/// Longest identity and longest issuer of a signer in bytes: an address, or that of a workflow.
pub(crate) const IDENTITY_BYTES: usize = 1 << 10;
/// Largest certificate in bytes: the usual ones have one or two thousand.
pub(crate) const CERTIFICATE_BYTES: usize = 16 << 10;
/// Calls of tools of one snippet, steps of one chain, and mebibytes of its values, unless it is
/// configured otherwise (code-mode 1).
#[cfg(feature = "code")]
pub(crate) const CODE_CALLS: u64 = 100;
#[cfg(feature = "code")]
pub(crate) const CODE_CHAIN: u64 = 20;
#[cfg(feature = "code")]
pub(crate) const CODE_MEMORY_MIB: u64 = 64;
/// What a snippet prints and gives, in bytes, unless it is configured otherwise: a model reads it.
#[cfg(feature = "code")]
pub(crate) const CODE_OUTPUT_BYTES: u64 = 256 << 10;
/// The most of them that can be configured: each call is held in memory until the end.
#[cfg(feature = "code")]
pub(crate) const CODE_CALLS_MAX: u64 = 10_000;
#[cfg(feature = "code")]
pub(crate) const CODE_CHAIN_MAX: u64 = 1_000;
#[cfg(feature = "code")]
pub(crate) const CODE_MEMORY_MAX_MIB: u64 = 1_024;
#[cfg(feature = "code")]
pub(crate) const CODE_OUTPUT_MAX_BYTES: u64 = 8 << 20;
/// Largest text of a snippet in bytes: it is written by a model in one answer.
#[cfg(feature = "code")]
pub(crate) const CODE_BYTES: usize = 1 << 20;
/// Most patterns of what a snippet may reach, and most faults of a request that are told.
pub(crate) const CODE_PATTERNS: usize = 256;
/// What the arguments of all open calls of a snippet may come to, in bytes with 64 for each value:
/// rye holds some copies of each until it ends. The largest single call takes less than half.
#[cfg(feature = "code")]
pub(crate) const CODE_OPEN_BYTES: usize = 64 << 20;
/// Longest text of a tool's id that is told of a call of a snippet, in bytes: any id with its kind
/// and its space.
#[cfg(feature = "code")]
pub(crate) const CODE_TOLD_ID_BYTES: usize = 300;
/// Calls of one snippet that run at once: as many as of an MCP server.
#[cfg(feature = "code")]
pub(crate) const CODE_THREADS: usize = 16;
/// Searches and descriptions of one snippet that wait at once; they are not counted otherwise.
#[cfg(feature = "code")]
pub(crate) const CODE_LOOKUPS: usize = 1_000;
/// Most calls of one snippet that are recorded, refused ones and searches too; of more it is told
/// how many.
#[cfg(feature = "code")]
pub(crate) const CODE_RECORDS: usize = 20_000;
/// Bytes of arguments and results in the records of one snippet; a longer one is told by its size
/// and digest. The snippet itself gets each whole.
#[cfg(feature = "code")]
pub(crate) const CODE_RECORDS_BYTES: usize = 4 << 20;
/// The same where an agent reads them: it wants what the snippet made of the results.
#[cfg(all(feature = "code", feature = "mcp"))]
pub(crate) const MCP_RECORDS_BYTES: usize = 2 << 10;
/// The same of a saved snippet, whose records go with the result of a tool.
#[cfg(feature = "code")]
pub(crate) const CODE_SAVED_RECORDS_BYTES: usize = 64 << 10;
/// Saved snippets that run within each other: one that calls itself ends, and what people write by
/// hand nests less.
#[cfg(feature = "code")]
pub(crate) const CODE_NESTED: usize = 4;
/// Saved snippets below one that run at once: each is a process with memory of its own.
#[cfg(feature = "code")]
pub(crate) const CODE_NESTED_AT_ONCE: usize = 16;
/// What the answers to calls of a snippet that waits for a person take in the registry, in bytes: a
/// snippet that was given more cannot wait (code-mode 3).
#[cfg(feature = "code")]
pub(crate) const CODE_JOURNAL_BYTES: usize = 4 << 20;
/// Results of snippets that are kept because they were too long for an answer; the oldest go.
#[cfg(feature = "code")]
pub(crate) const CODE_KEPT: usize = 50;
/// Longest line between rye and the worker of a snippet, in bytes: as long as one of a server.
#[cfg(feature = "code")]
pub(crate) const SNIPPET_LINE_BYTES: usize = 10 << 20;
/// Most bytes that wait for the worker of a snippet, which does not take them.
#[cfg(feature = "code")]
pub(crate) const SNIPPET_QUEUE_BYTES: usize = 64 << 20;
/// Deepest nesting of a value of a snippet: below what a reader of JSON recurses into.
#[cfg(feature = "code")]
pub(crate) const SNIPPET_DEPTH: usize = 100;
/// What the worker of a snippet may have beside the values of the snippet, in bytes: its stack, and
/// the longest line in both forms.
#[cfg(feature = "code")]
pub(crate) const SNIPPET_WORKER_BYTES: u64 = 22 << 20;
/// Stack of an engine, in bytes: some thousand calls, in a quarter of the usual stack of a process.
#[cfg(feature = "code")]
pub(crate) const SNIPPET_STACK_BYTES: usize = 2 << 20;
/// Longest message of an error of a snippet, in bytes, and longest line of its stack: both are the
/// snippet's to write.
#[cfg(feature = "code")]
pub(crate) const SNIPPET_MESSAGE_BYTES: usize = 8 << 10;
/// Most calls of an error's stack that are told.
#[cfg(feature = "code")]
pub(crate) const SNIPPET_FRAMES: usize = 32;
/// Most bytes of what a worker said before it ended without a result.
#[cfg(feature = "code")]
pub(crate) const SNIPPET_LAST_WORDS: usize = 2 << 10;
/// The same where the model of a thread reads them.
#[cfg(feature = "code")]
pub(crate) const THREAD_SNIPPET_RECORDS_BYTES: usize = 2 << 10;
/// Longest tool result that a model is given, in characters of its JSON (threads 4.3).
pub(crate) const THREAD_RESULT_CHARS: usize = 48_000;
/// Longest text inside of one, in characters (threads 4.3).
pub(crate) const THREAD_TEXT_CHARS: usize = 12_000;
/// Most entries of a folder in one (threads 4.3).
pub(crate) const THREAD_ENTRIES: usize = 500;
/// Most tools that a model is told of by name; the others it calls with `rye_execute`.
pub(crate) const THREAD_TOOLS: usize = 128;
/// Longest name of a tool that a model is told (threads 4.1).
pub(crate) const THREAD_TOOL_NAME: usize = 64;
/// Most calls of tools in one turn of a model.
pub(crate) const THREAD_CALLS: usize = 64;
/// Calls of one turn that run at once, of tools that only read (threads 4.2).
pub(crate) const THREAD_READS: usize = 4;
/// How often a model that ends without its outputs is asked for them.
pub(crate) const THREAD_ASKS: usize = 2;
/// How much of a context window is full before another thread goes on, in percent (threads 6).
pub(crate) const CONTINUE_AT_PERCENT: u128 = 90;
/// How often a model is asked for the summary that the other thread is told.
pub(crate) const SUMMARY_ASKS: usize = 2;
/// Longest part of arguments that are not valid which is told, in characters (threads 4.2).
pub(crate) const THREAD_DETAIL_CHARS: usize = 2_000;
/// Verdicts of hooks that are kept until their call is written down; of more the newest are told.
pub(crate) const THREAD_HOOK_EVENTS: usize = 1_000;
/// Most events of a thread that are kept to warn whoever started it.
pub(crate) const THREAD_WARNINGS: usize = 1_000;
/// Most sentences that these are told in, and most names in one of them.
pub(crate) const WARNING_SENTENCES: usize = 20;
/// Deepest thread below another that anybody may ask for: each takes a part of the stack.
pub(crate) const THREAD_DEPTH: u64 = 32;
/// Most evals of one copy of `config:agent/guardrails`: each runs for every thread.
pub(crate) const GUARDRAILS: usize = 32;
/// Most rows of one copy of `config:agent/risk`: each is held against each permission.
pub(crate) const RISK_ROWS: usize = 256;
/// Most turns in the script of a provider.
pub(crate) const SCRIPT_TURNS: usize = 1_000;
/// Longest answer of a model in tokens where its provider says nothing of it.
pub(crate) const THREAD_ANSWER_TOKENS: u64 = 4_096;
/// Times that a provider of models is asked for one turn (threads 6).
pub(crate) const PROVIDER_TRIES: u32 = 5;
/// Largest answer of a provider in bytes: many times what a model writes in one turn.
pub(crate) const PROVIDER_ANSWER_BYTES: usize = 64 << 20;
/// Largest turn of a model in bytes, as written down: far less than the longest line of a record.
pub(crate) const PROVIDER_TURN_BYTES: usize = 16 << 20;
/// Largest event of its stream in bytes: one piece of an answer.
pub(crate) const PROVIDER_EVENT_BYTES: usize = 8 << 20;
/// What is read of an answer that says what went wrong, in bytes.
pub(crate) const PROVIDER_FAULT_BYTES: usize = 64 << 10;
/// Most parts of one answer, such as blocks and calls: each is looked for by its number.
pub(crate) const PROVIDER_PARTS: usize = 1_024;
/// Runs that wait for a place (remote 1), each in a process of its own; further ones are refused.
pub(crate) const DETACHED_WAITING: u64 = 1_000;
/// Runs in processes of their own that are kept with their reports once they ended; the oldest go.
pub(crate) const DETACHED_KEPT: u64 = 4_000;
/// Such runs at once for each processor, unless it is configured otherwise (remote 1).
pub(crate) const DETACHED_PER_CORE: u64 = 4;
/// The most of them that can be configured: each is a process, and its tool another one.
pub(crate) const DETACHED_MAX: u64 = 1_000;
/// Longest log of what such a run of a tool writes, in bytes; what it gives is whole.
pub(crate) const DETACHED_LOG_BYTES: usize = 4 << 20;
/// Largest request of such a run in bytes: its parameters, and the plan that was verified.
pub(crate) const DETACHED_REQUEST_BYTES: u64 = 64 << 20;
/// Bytes of the newest events of a thread that an agent is shown; it reads them all.
#[cfg(feature = "mcp")]
pub(crate) const MCP_EVENTS_BYTES: usize = 64 << 10;
/// Most tokens, or millionths of a dollar, that one turn counts as: a hundred of it fit a table.
pub(crate) const LEDGER_MOST: u64 = 1 << 56;
