//! Signing: one item or many (core 3.8, 6.6).

use std::borrow::Cow;

use super::SIGN_INVALID;
use super::batch::{SignReport, Signed};
use super::call_policy::{CallPolicy, LockMode};
use super::facade::Rye;
use super::hooks::BELOW as HOOKS_BELOW;
use super::load::Loader;
use super::thread_settings::check_settings;
use crate::base::secret_forms::secret_forms;
use crate::base::text::{Position, PositionFinder, escape_line, invisible, position};
use crate::chain::{Fetch as _, executors};
use crate::diagnostic::Failure;
use crate::diagnostic::{Code, Diagnose, Place};
use crate::id::{Kind, Pattern, Query, Ref, Space};
use crate::interpolate::undeclared;
#[cfg(feature = "code")]
use crate::parse::SNIPPET;
use crate::parse::{
    Finding, Item, Severity, Tool, check_for_signing, misspelt_keywords, write_files,
};
#[cfg(feature = "code")]
use crate::plan::check_snippet;
use crate::plan::{ConfigCopy, check_config, check_examples, check_schema, unknown_names};
use crate::resolve::{Found, ResolveError};
use crate::trace::Quiet;
use crate::verify::{
    KeyError, KeyPair, OwnKeys, PartFinding, PublicKey, SignWith, SignedFile, Source, TrustError,
    VERIFY_UNSIGNED, VERIFY_UNTRUSTED, check_own_config, stage,
};

/// An item that does not validate is not signed.
#[derive(Debug, thiserror::Error)]
#[error("`{item}` does not validate, so it was not signed{}", lines(.findings))]
pub(crate) struct Unsignable {
    pub(crate) item: Ref,
    pub(crate) place: Place,
    pub(crate) findings: Vec<Finding>,
}

fn lines(findings: &[Finding]) -> String {
    let mut out = String::new();
    for finding in findings.iter().filter(|f| f.severity == Severity::Error) {
        let at = finding.position.map(|p| format!("{}:{}: ", p.line, p.column)).unwrap_or_default();
        out.push_str(&format!("\n{at}{}", finding.message));
    }
    out
}

impl Diagnose for Unsignable {
    fn code(&self) -> Code {
        SIGN_INVALID
    }

    fn help(&self) -> Option<String> {
        Some("mend what is listed and sign again".into())
    }

    fn place(&self) -> Option<Place> {
        let first =
            self.findings.iter().filter(|f| f.severity == Severity::Error).find_map(|f| f.position);
        Some(match first {
            Some(position) => self.place.clone().at(position),
            None => self.place.clone(),
        })
    }

    fn item(&self) -> Option<String> {
        Some(self.item.to_string())
    }

    fn data(&self) -> serde_json::Map<String, serde_json::Value> {
        let findings: Vec<_> = self.findings.iter().map(Finding::to_json).collect();
        [("findings".to_owned(), findings.into())].into_iter().collect()
    }
}

/// The state of a file's signature line for you.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureState {
    /// There is none.
    Nothing,
    /// Yours, and the file is what you signed.
    Yours,
    /// Yours, and the file is what you signed, but the lock lists another version of it.
    YoursUnlocked,
    /// Another key's.
    Others,
    /// The file is not what was signed, the lock refuses it, a dev key of yours signed it, or it
    /// cannot be said.
    Broken,
}

impl SignatureState {
    /// Returns true if the file is what you signed, whichever version the lock lists.
    pub(crate) fn is_yours(self) -> bool {
        matches!(self, Self::Yours | Self::YoursUnlocked)
    }
}

/// An item that is signed in memory and may be written.
pub(super) struct Unwritten {
    pub(super) staged: SignedFile,
    pub(super) item: Item,
    pub(super) findings: Vec<Finding>,
    /// Listed files that are not as its header said before.
    pub(super) files: Vec<PartFinding>,
}

impl Unwritten {
    pub(super) fn source(&self) -> &Source {
        self.staged.source()
    }
}

/// Signing files, and your own key.
#[derive(Clone, Copy)]
pub(crate) struct Signing<'a> {
    pub(super) rye: &'a Rye,
}

impl Rye {
    /// Signing files, and your own key.
    pub(crate) fn signing(&self) -> Signing<'_> {
        Signing { rye: self }
    }
}

impl Signing<'_> {
    /// The file of one item in the space asked for; without one the project's or the user space's.
    ///
    /// # Errors
    /// `resolve.ambiguous_space` where both hold it and no space is named; those of finding it.
    pub(crate) fn find(self, query: &Query, space: Option<Space>) -> Result<Found, Failure> {
        let query = Query { space: space.or(query.space), ..query.clone() };
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let loader = policy.loader(&Quiet);
        // Not `answer`: a reserved copy is refused when it runs, but its author may look at it.
        let kinds = query.kind.map_or(vec![Kind::Tool, Kind::Directive], |kind| vec![kind]);
        let mut found = Vec::new();
        for kind in kinds {
            let item = Ref::new(kind, query.id.clone());
            let copies = loader.resolver(|resolver| resolver.copies(&item));
            let mut of_kind = Vec::new();
            let wanted = |f: &Found| {
                query.space.is_none_or(|space| f.space == space)
                    && (query.bundle.is_none() || f.bundle == query.bundle)
            };
            for copy in copies {
                let copy = match copy {
                    // It is not in the way of what another space holds.
                    Err(ResolveError::Proposal { .. }) if query.space == Some(Space::User) => {
                        continue;
                    }
                    copy => copy?,
                };
                if wanted(&copy) {
                    of_kind.push(copy);
                }
            }
            let own = of_kind.iter().filter(|copy| is_written_by_people(copy.space));
            let own: Vec<Space> = own.map(|copy| copy.space).collect();
            if let [_, _, ..] = own.as_slice() {
                // The choice must not depend on what another person put into the project.
                return Err(ResolveError::AmbiguousSpace { item, spaces: own }.into());
            }
            found.extend(of_kind.into_iter().next());
        }
        match found.len() {
            1 => Ok(found.remove(0)),
            // None, or a tool and a directive: `answer` says which.
            _ => loader.find(&query),
        }
    }

    /// The files of a space that any of the patterns matches, and those that cannot be used.
    pub(crate) fn find_all(
        self,
        patterns: &[Pattern],
        space: Space,
    ) -> Result<(Vec<Found>, Vec<SignReport>), Failure> {
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let loader = policy.loader(&Quiet);
        let (mut found, mut failed) = (Vec::new(), Vec::<SignReport>::new());
        let Some(root) = self.rye.spaces.get(space) else { return Ok((found, failed)) };
        for kind in Kind::ALL {
            for entry in self.rye.items().list_to_sign(space, kind)? {
                if entry.item.is_about_keys()
                    || !patterns.iter().any(|pattern| pattern.matches(&entry.item))
                {
                    continue;
                }
                match loader.resolver(|r| r.in_space(&entry.item, space)) {
                    Ok(file) => found.extend(file),
                    // Two files of one id are one failure.
                    Err(_) if failed.last().is_some_and(|last| last.item == entry.item) => {}
                    Err(error) => {
                        let place = root.shown(&entry.relative());
                        let signed = Signed::Failed(error.into());
                        failed.push(SignReport { item: entry.item, place, signed });
                    }
                }
            }
        }
        Ok((found, failed))
    }

    /// Signs a file in memory, by every rule of signing; nothing is written.
    ///
    /// # Errors
    /// `sign.*`, `parse.*`, and those of reading the files that it lists.
    pub(super) fn in_memory(
        self,
        found: Found,
        by: SignWith<'_>,
        loader: Loader<'_>,
    ) -> Result<Unwritten, Failure> {
        let trust = loader.trust;
        let may_shadow =
            found.space == Space::User && trust.may_shadow(&found.item.id).unwrap_or(false);
        let own_config = found.space == Space::User && found.item.is_own_config();
        let may = may_shadow || own_config;
        let found_in = found.space;
        let staged = stage(found.clone(), by, trust.now(), may)?;
        let (staged, files) = match self.with_digests(staged.source())? {
            // The header lists the files as they are now; what is signed says so.
            Some((text, files)) => {
                let filled = Found { bytes: Cow::Owned(text.into_bytes()), ..found };
                (stage(filled, by, trust.now(), may)?, files)
            }
            None => (staged, Vec::new()),
        };
        let source = staged.source();
        let (parsed, mut findings) = judge_content(source, staged.added_lines())?;
        if let Item::Tool(tool) = &parsed {
            findings.extend(lost_executor(tool, found_in, loader));
        }
        if findings.iter().any(|f| f.severity == Severity::Error) {
            let (item, place) = (source.item().clone(), source.place());
            return Err(Unsignable { item, place, findings }.into());
        }
        Ok(Unwritten { staged, item: parsed, findings, files })
    }

    /// The text of a tool with the digests of its `files`, and which of them are not as the header
    /// said before; `None` if it lists none.
    fn with_digests(self, source: &Source) -> Result<Option<(String, Vec<PartFinding>)>, Failure> {
        // What does not parse is reported by the checks that follow.
        let Ok(Item::Tool(tool)) = Item::parse(source) else { return Ok(None) };
        let Some(listed) = &tool.files else { return Ok(None) };
        let cannot = |findings: Vec<Finding>| -> Failure {
            let (item, place) = (source.item().clone(), source.place());
            Unsignable { item, place, findings }.into()
        };
        let digests = match source.parts_folder(&self.rye.spaces, listed.root)? {
            Some((folder, own)) => listed.digests_now(&folder, &own),
            None => Err(vec![PartFinding::NoFolder]),
        };
        let digests = digests.map_err(|findings| {
            let findings = findings.iter().map(|f| Finding::error(format!("files: {f}")));
            cannot(findings.collect())
        })?;
        let mut shared = Vec::new();
        if let Some((folder, _)) = source.parts_folder(&self.rye.spaces, listed.root)? {
            for path in digests.keys() {
                let bytes = folder.read(path).ok().flatten().unwrap_or_default();
                let text = std::str::from_utf8(&bytes).unwrap_or_default();
                let found = slips(text, path.as_str());
                let named = |finding: Finding| {
                    let line = finding.position.map_or(1, |position| position.line);
                    Finding::error(format!("files: `{path}:{line}`: {}", finding.message))
                };
                shared.extend(found.into_iter().map(named));
                if shared.len() >= MOST_SLIPS {
                    break;
                }
            }
        }
        if !shared.is_empty() {
            return Err(cannot(shared));
        }
        let text = write_files(source.text(), &source.header_style(), listed, &digests);
        let text = text.map_err(|why| cannot(vec![Finding::error(why)]))?;
        let was = &listed.digests;
        let now = digests.iter().filter_map(|(path, digest)| match was.get(path) {
            None | Some(None) => Some(PartFinding::Extra(path.to_string())),
            Some(Some(old)) => (old != digest).then(|| PartFinding::Changed(path.to_string())),
        });
        let gone = was.keys().filter(|path| !digests.contains_key(*path));
        let gone = gone.map(|path| PartFinding::Missing(path.to_string()));
        Ok(Some((text, now.chain(gone).collect())))
    }

    /// The state of a file's signature line, and of the file in the lock.
    pub(crate) fn signature_state(self, found: &Found) -> SignatureState {
        let trust = self.rye.trust();
        let own = trust.own().ok().flatten().map(PublicKey::fingerprint);
        match self.judge(found, own, &trust) {
            None => self.locked_state(found),
            Some(VERIFY_UNSIGNED) => SignatureState::Nothing,
            Some(VERIFY_UNTRUSTED) => SignatureState::Others,
            Some(_) => SignatureState::Broken,
        }
    }

    /// The state of a file that is what you signed. One that the lock refuses is broken: an old
    /// version would become a new one by a new signature.
    fn locked_state(self, found: &Found) -> SignatureState {
        let policy = CallPolicy::new(self.rye, LockMode::Listed);
        let Ok(source) = policy.loader(&Quiet).verify(found.clone()) else {
            return SignatureState::Broken;
        };
        match policy.locked_digest(source.item(), source.space()) {
            Some(locked) if locked != source.digest() => SignatureState::YoursUnlocked,
            _ => SignatureState::Yours,
        }
    }

    /// The user's own key pair.
    ///
    /// # Errors
    /// `key.*`, `trust.*`; `thread.outside` where it is missing within a thread.
    pub(crate) fn own_pair(self) -> Result<KeyPair, Failure> {
        let pair = OwnKeys::new(self.rye.spaces.user()?).pair();
        if matches!(pair, Err(KeyError::Missing)) {
            // A sandbox hides it from what a thread starts, where it may well be there.
            self.rye.above().may_read()?;
        }
        let pair = pair?;
        if self.rye.trust().own_is_revoked() {
            let fingerprint = pair.public().fingerprint();
            return Err(TrustError::Revoked { fingerprint, own: true }.into());
        }
        Ok(pair)
    }
}

/// Returns true if people write items into the space: a copy in the system space is asked for by
/// name.
fn is_written_by_people(space: Space) -> bool {
    matches!(space, Space::Project | Space::User)
}

/// An executor that a tool of `space` would not find. It may be written and signed later.
pub(super) fn lost_executor(tool: &Tool, space: Space, loader: Loader<'_>) -> Option<Finding> {
    let executor = Ref::new(Kind::Tool, tool.executor.clone()?);
    let found = loader.resolver(|resolver| resolver.resolve(&executor, space, &Quiet));
    if !matches!(found, Ok(None)) {
        return None;
    }
    let above = loader.find_above(&executor, space);
    let near = if above.is_some() { Vec::new() } else { executors(loader.near(&executor)) };
    let fault = match above {
        Some(above) => format!("lies only in the {above} space, out of reach of this one"),
        None => match near.as_slice() {
            [] => "is in no space".to_owned(),
            near => format!("is in no space; did you mean `{}`?", near.join("` or `")),
        },
    };
    let message = format!("it cannot run yet: its executor `{}` {fault}", executor.id);
    Some(Finding { meant: Some((executor.id.to_string(), near)), ..Finding::warning(message) })
}

/// The item that a source holds, and everything that should be mended in it. Places are those of
/// the text as it was before `added` lines of the signature were put above it.
///
/// # Errors
/// `parse.*`; `sign.invalid` for a config of your own that nothing could read.
pub(super) fn judge_content(
    source: &Source,
    added: usize,
) -> Result<(Item, Vec<Finding>), Failure> {
    if source.space() == Space::User
        && source.item().is_own_config()
        && let Err(why) = check_own_config(source.item().id.as_str(), source.ext(), source.text())
    {
        let (item, place) = (source.item().clone(), source.place());
        return Err(Unsignable { item, place, findings: vec![Finding::error(why)] }.into());
    }
    let parsed = match Item::parse(source) {
        Ok(parsed) => parsed,
        Err(error) => match conflict_mark(source.text()) {
            // Whatever the parser stumbles over, this is why.
            Some(mark) => {
                let (item, place) = (source.item().clone(), source.place());
                let findings = vec![mark.up(added)];
                return Err(Unsignable { item, place, findings }.into());
            }
            None => return Err(error.up(added).into()),
        },
    };
    let mut findings = check_for_signing(&parsed, source.item(), source);
    findings.extend(slips(source.text(), source.ext()));
    findings.extend(schema_findings(&parsed));
    if let Item::Tool(tool) = &parsed {
        findings.extend(wishes(tool, source.item()));
        #[cfg(feature = "code")]
        findings.extend(snippet_finding(tool, source));
    }
    if let Item::Config(config) = &parsed {
        findings.extend(settings_finding(config.value.clone(), source));
    }
    if let Item::Directive(directive) = &parsed {
        findings.extend(undeclared(directive, source.text()));
    }
    // The person looks at the file on disk, which has no signature line yet.
    let findings = findings.into_iter().map(|finding| finding.up(added)).collect();
    Ok((parsed, findings))
}

/// The fault of a configuration that no thread would start with.
fn settings_finding(
    value: serde_json::Map<String, serde_json::Value>,
    source: &Source,
) -> Option<Finding> {
    let copy = ConfigCopy { space: source.space(), source: source.clone(), value };
    check_settings(&copy).err().map(|failure| Finding::error(failure.to_string()))
}

/// The mark in a line, or in the one above it, for a text that only looks like a secret.
const NOT_A_SECRET: &str = "rye:not-a-secret";

/// How many secrets are told at once; more of them is the same slip.
const MOST_SLIPS: usize = 20;

/// Slips that a person does not mean to sign, in an item or in a file that it lists.
fn slips(text: &str, name: &str) -> Vec<Finding> {
    let hidden = invisible(text).map(|(char, at)| {
        let message = format!("holds the invisible character U+{:04X}", u32::from(char));
        Finding::error(message).at(Some(position(text.as_bytes(), at)))
    });
    let is_shell = name.rsplit('.').next() == Some("sh");
    let first_return = text.find('\r').filter(|_| is_shell).map(|at| {
        let message = "its lines end in a carriage return, which a shell takes for a part of each \
                       command: save it with line feeds alone";
        Finding::error(message).at(Some(position(text.as_bytes(), at)))
    });
    let more = conflict_mark(text).into_iter().chain(hidden).chain(first_return);
    secrets(text).into_iter().chain(more).collect()
}

/// The first mark that an unfinished merge left: three lines, in their order.
fn conflict_mark(text: &str) -> Option<Finding> {
    let mut lines = text.lines().enumerate();
    let (first, _) = lines.find(|(_, line)| line.starts_with("<<<<<<< "))?;
    lines.find(|(_, line)| *line == "=======")?;
    lines.find(|(_, line)| line.starts_with(">>>>>>> "))?;
    let message = "a merge left its marks here: choose between the two sides, and take them out";
    Some(Finding::error(message).at(Some(Position { line: first + 1, column: 1 })))
}

/// Each text that has the form of a secret of a known service, up to a bound; what is signed is
/// shared.
fn secrets(text: &str) -> Vec<Finding> {
    let mut places = PositionFinder::new(text.as_bytes());
    // The end of the line that was looked at last, and whether it is said that it holds none.
    let (mut known, mut is_said) = (0, false);
    let mut findings = Vec::new();
    for (at, what) in secret_forms(text) {
        if at >= known {
            let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
            let above =
                text[..line].strip_suffix('\n').map_or(0, |text| text.rfind('\n').unwrap_or(0));
            known = text[at..].find('\n').map_or(text.len(), |end| at + end);
            is_said = text[above..known].contains(NOT_A_SECRET);
        }
        if is_said {
            continue;
        }
        let message = format!(
            "this looks like {what}: name a variable under `secrets` and read that, or write \
             `{NOT_A_SECRET}` beside it"
        );
        findings.push(Finding::error(message).at(Some(places.find(at))));
        if findings.len() == MOST_SLIPS {
            break;
        }
    }
    findings
}

/// The fields that a tool should have and lacks.
fn wishes(tool: &Tool, item: &Ref) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A provider is asked, and not run.
    let runs = tool.tool_type.as_deref() != Some("primitive") && tool.provider.is_none();
    if tool.executor.is_none() && runs {
        let runtime = "`rye/core/runtimes/python/script`";
        let message = format!("it cannot run: it names no `executor_id`, such as {runtime}");
        findings.push(Finding::warning(message));
    }
    if tool.eval.is_some() && tool.exec.is_none() {
        findings
            .push(Finding::error("it is an eval, and needs an `exec` block that says what scores"));
    }
    if tool.hook.is_some() && !item.id.as_str().starts_with(HOOKS_BELOW) {
        let message = "nobody asks it: a hook is in force below `tools/hooks/` alone";
        findings.push(Finding::error(message));
    }
    if let Err((pointer, why)) = check_config(tool.executor.as_ref(), &tool.config) {
        findings.push(Finding::warning(format!("it cannot run: `{pointer}` {why}")));
    }
    for (name, near) in unknown_names(tool.executor.as_ref(), tool.schema.as_ref(), &tool.config) {
        let message =
            format!("`/config/body` names `{{{name}}}`, which is not a declared parameter");
        findings.push(Finding::warning(message).meant(&name, near));
    }
    if tool.version.is_none() {
        findings.push(Finding::warning("it has no version"));
    }
    if tool.description.is_none() {
        findings.push(Finding::warning("it has no description"));
    }
    let folder = item.id.folder();
    if let Some(category) = tool.category.as_deref().filter(|category| *category != folder) {
        let message = format!("its category is `{category}`, its folder `{folder}`");
        findings.push(Finding::warning(message));
    }
    findings
}

/// Why a saved snippet cannot run: what `rye code check` says of it.
#[cfg(feature = "code")]
fn snippet_finding(tool: &Tool, source: &Source) -> Option<Finding> {
    let is_snippet = tool.executor.as_ref().is_some_and(|id| id.as_str() == SNIPPET);
    let failure = is_snippet.then(|| check_snippet(source).err()).flatten()?;
    let place = failure.inner().place().unwrap_or_default();
    let position = place.line.zip(place.column).map(|(line, column)| Position { line, column });
    Some(Finding::error(failure.to_string()).at(position))
}

/// A schema that is not one, slips of its keywords, and examples that do not fit it.
fn schema_findings(item: &Item) -> Vec<Finding> {
    let Item::Tool(tool) = item else { return Vec::new() };
    if let Some(Err(why)) = tool.output_schema.as_ref().map(check_schema) {
        return vec![Finding::error(format!("the `output_schema` cannot be used: {why}"))];
    }
    let Some(schema) = &tool.schema else { return Vec::new() };
    if let Err(why) = check_schema(schema) {
        return vec![Finding::error(format!("the schema cannot be used: {why}"))];
    }
    let slips = misspelt_keywords(schema).into_iter().map(|slip| {
        let at = escape_line(&slip.pointer);
        let message =
            format!("the schema's `{at}` is not a keyword of JSON Schema and checks nothing");
        Finding::warning(message).meant(&slip.word, vec![slip.meant.to_owned()])
    });
    let faults = check_examples(schema, &tool.examples).into_iter();
    faults.map(Finding::error).chain(slips).collect()
}
