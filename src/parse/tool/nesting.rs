//! Nesting: how deep a program may nest, known before a parser recurses into it.
//!
//! In:  the tokens of a program, one call for each.
//! Out: the greatest number of things that stand open at a time, and a stack on which a parser can
//!      hold them all.
//!
//! Invariants
//! - What is counted is never less than what a parser nests: where the tokens leave room for doubt,
//!   nothing is closed any more.
//! - A parser, the walk over its tree and the end of that tree run on one stack, whose size is
//!   known.

use std::thread;

use crate::parse::error::{PARSE_LIMIT, ParseFault};

/// Stack for each of them in bytes: several times what the deepest functions of a build without
/// optimisation take. It is address space until it is used.
const PROGRAM_LEVEL_BYTES: usize = 16 << 10;

/// So many of them fit on any stack that a thread of ours has.
const PROGRAM_SHALLOW: usize = 64;

/// Most brackets, blocks and operators of a program that stand open at a time: a parser recurses
/// into each, and the deepest of honest programs have some hundreds.
const PROGRAM_NESTING: usize = 4_000;

/// Most words and signs of such a program: a tree takes some hundred bytes for each, and a program
/// of that size has half as many.
const PROGRAM_TOKENS: usize = 200_000;

/// The depth and the tokens that a parser will need for a text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extent {
    /// The greatest number of things that stand open at a time.
    pub(super) depth: usize,
    pub(super) tokens: usize,
}

/// Counts what stands open: brackets, and in each of them what may nest without one, such as the
/// operators of an expression.
pub(super) struct Nesting<B> {
    open: Vec<Level<B>>,
    /// The open constructs outside all brackets.
    outermost: Open,
    now: usize,
    deepest: usize,
    unsure: bool,
}

struct Level<B> {
    bracket: B,
    inside: Open,
}

/// The open constructs inside one bracket.
#[derive(Default)]
struct Open {
    /// Those that end with an expression.
    links: usize,
    /// Those that end with a statement.
    clauses: usize,
    /// Those that end with a sign of their own, or with a statement.
    angles: usize,
}

impl<B> Nesting<B> {
    pub(super) fn new() -> Self {
        Self { open: Vec::new(), outermost: Open::default(), now: 0, deepest: 0, unsure: false }
    }

    fn inner(&mut self) -> &mut Open {
        match self.open.last_mut() {
            Some(level) => &mut level.inside,
            None => &mut self.outermost,
        }
    }

    fn add(&mut self, count: usize) {
        self.now += count;
        self.deepest = self.deepest.max(self.now);
    }

    /// A bracket opens.
    pub(super) fn open(&mut self, bracket: B) {
        self.open.push(Level { bracket, inside: Open::default() });
        self.add(1);
    }

    /// The innermost bracket.
    pub(super) fn innermost(&self) -> Option<&B> {
        self.open.last().map(|level| &level.bracket)
    }

    /// The innermost bracket closes, and is a link of what it stands in.
    pub(super) fn close(&mut self) -> Option<B> {
        if self.unsure {
            return None;
        }
        let level = self.open.pop()?;
        let Open { links, clauses, angles } = level.inside;
        self.now -= 1 + links + clauses + angles;
        self.link();
        Some(level.bracket)
    }

    /// Something that may nest until its expression ends.
    pub(super) fn link(&mut self) {
        self.inner().links += 1;
        self.add(1);
    }

    /// Something that may nest until its statement ends.
    #[cfg(feature = "code")]
    pub(super) fn clause(&mut self) {
        self.inner().clauses += 1;
        self.add(1);
    }

    /// Something that may nest until its own sign or its statement ends it, and how much it counts
    /// for.
    #[cfg(feature = "code")]
    pub(super) fn open_angle(&mut self, weight: usize) {
        self.inner().angles += weight;
        self.add(weight);
    }

    #[cfg(feature = "code")]
    pub(super) fn close_angle(&mut self, weight: usize) {
        if !self.unsure {
            let angles = &mut self.inner().angles;
            let ended = weight.min(*angles);
            *angles -= ended;
            self.now -= ended;
        }
    }

    /// An expression ended, inside the innermost bracket.
    pub(super) fn end_expression(&mut self) {
        if !self.unsure {
            self.now -= std::mem::take(&mut self.inner().links);
        }
    }

    /// A statement ended, inside the innermost bracket.
    pub(super) fn end_statement(&mut self) {
        if !self.unsure {
            let Open { links, clauses, angles } = std::mem::take(self.inner());
            self.now -= links + clauses + angles;
        }
    }

    /// From here on the tokens may differ from the parser's, so nothing closes any more.
    pub(super) fn doubt(&mut self) {
        self.unsure = true;
    }

    /// Counts this many more open things, none of which closes.
    #[cfg(feature = "code")]
    pub(super) fn at_most(&mut self, more: usize) {
        self.doubt();
        self.deepest = self.deepest.max(self.now + more);
    }

    pub(super) fn deepest(&self) -> usize {
        self.deepest
    }
}

/// Does `work`, which parses a text of this extent, on a stack that holds all of its levels.
///
/// # Errors
/// `parse.limit` for more than `PROGRAM_NESTING` levels or `PROGRAM_TOKENS` tokens, and where no
/// such stack can be had.
pub(super) fn on_a_stack_for<T: Send>(
    Extent { depth, tokens }: Extent,
    work: impl FnOnce() -> Result<T, ParseFault> + Send,
) -> Result<T, ParseFault> {
    if tokens > PROGRAM_TOKENS {
        let why = format!("it has more than {PROGRAM_TOKENS} words and signs");
        return Err(ParseFault::new(PARSE_LIMIT, why));
    }
    if depth > PROGRAM_NESTING {
        let why = format!("brackets and operators in it nest deeper than {PROGRAM_NESTING} levels");
        return Err(ParseFault::new(PARSE_LIMIT, why));
    }
    if depth <= PROGRAM_SHALLOW {
        return work();
    }
    let size = (depth + PROGRAM_SHALLOW) * PROGRAM_LEVEL_BYTES;
    let lacking =
        || ParseFault::new(PARSE_LIMIT, format!("no stack of {} KiB can be had", size >> 10));
    thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(size).spawn_scoped(scope, work);
        let done = worker.map_err(|_| lacking())?.join();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
