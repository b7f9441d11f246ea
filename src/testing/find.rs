//! Which specs there are, and what they say.

use std::collections::BTreeSet;

use super::error::TestError;
use super::spec::{Case, read};
use crate::base::limits::NEAR_NAMES;
use crate::base::text::near;
use crate::diagnostic::{Diagnose, Diagnostic, Failure, Place};
use crate::id::{Kind, Pattern, Query, Ref, Space};
use crate::rye::Rye;
use crate::space::Entry;

/// One spec.
#[derive(Debug)]
pub(crate) struct Suite {
    /// The item that it lies beside.
    pub(crate) item: Ref,
    /// The same, so that no copy of another space answers.
    pub(super) query: Query,
    pub(crate) place: Place,
    /// Its cases, or why it cannot be used.
    pub(crate) cases: Result<Vec<Case>, Diagnostic>,
}

/// The specs of a space whose items are asked for, sorted by ref; all of them if nothing is asked.
///
/// # Errors
/// `verify.project_not_accepted`: nothing of the project was read then. `test.no_spec` for the
/// first that has none, `id.*`, `space.*`.
pub(crate) fn find(rye: &Rye, space: Space, asked: &[SpecFilter]) -> Result<Vec<Suite>, Failure> {
    let mut specs = Vec::new();
    let mut items = BTreeSet::new();
    for kind in [Kind::Tool, Kind::Directive] {
        let Some(root) = rye.spaces().get(space) else { continue };
        specs.extend(root.specs(kind)?);
        items.extend(
            rye.items().list(space, kind)?.into_iter().map(|entry| (entry.item.clone(), entry)),
        );
    }
    if space == Space::Project && !specs.is_empty() {
        rye.project().must_be_accepted()?;
    }
    for one in asked {
        if !specs.iter().any(|spec| one.matches(&spec.item, space)) {
            return Err(no_spec(one, &specs).into());
        }
    }
    specs.retain(|spec| asked.is_empty() || asked.iter().any(|one| one.matches(&spec.item, space)));
    specs.sort();
    let items: Vec<Entry> = items.into_iter().map(|(_, entry)| entry).collect();
    Ok(specs.iter().map(|spec| suite(rye, spec, &specs, &items)).collect())
}

/// The specs that are asked for.
#[derive(Debug, Clone)]
pub(crate) enum SpecFilter {
    Item(Query),
    /// A pattern, and the folder or glob that it was typed as.
    Pattern(Pattern, String),
}

impl SpecFilter {
    fn matches(&self, item: &Ref, space: Space) -> bool {
        match self {
            Self::Item(query) => {
                query.id == item.id
                    && query.kind.is_none_or(|kind| kind == item.kind)
                    && query.space.is_none_or(|named| named == space)
            }
            Self::Pattern(pattern, _) => pattern.matches(item),
        }
    }
}

fn no_spec(asked: &SpecFilter, specs: &[Entry]) -> TestError {
    let known: Vec<String> = specs.iter().map(|spec| spec.item.to_string()).collect();
    let (asked, near) = match asked {
        SpecFilter::Item(query) => {
            let ids = specs.iter().map(|spec| spec.item.id.as_str());
            let ids = near(query.id.as_str(), ids, NEAR_NAMES);
            let of = |item: &&String| ids.iter().any(|id| item.ends_with(&format!(":{id}")));
            (query.to_string(), known.iter().filter(of).cloned().collect())
        }
        SpecFilter::Pattern(_, typed) => (typed.clone(), Vec::new()),
    };
    TestError::NoSpec { asked, near }
}

fn suite(rye: &Rye, spec: &Entry, specs: &[Entry], items: &[Entry]) -> Suite {
    let item = spec.item.clone();
    let root = rye.spaces().get(spec.space);
    let place = root.map(|root| root.shown(&spec.relative())).unwrap_or_default();
    let own = items.iter().find(|entry| entry.item == item);
    // A copy of a system item, as in rye's own repository, is passed over: the original answers.
    let passed_over = own.is_some_and(|own| rye.items().is_system_copy(own));
    let space = if passed_over { Space::System } else { spec.space };
    let query = Query { space: Some(space), ..Query::from(item.clone()) };
    let twice = specs.iter().filter(|other| other.item == item).count() > 1;
    let cases = if own.is_none() {
        Err(Diagnostic::from(&TestError::NoItem { place: place.clone(), item: item.clone() }))
    } else if twice {
        let why = "there is one in `.test.yaml` and one in `.test.yml`".to_owned();
        let fault = TestError::Malformed { place: place.clone(), pointer: String::new(), why };
        Err(Diagnostic::from(&fault))
    } else {
        cases(rye, spec, &place)
    };
    Suite { item, query, place, cases }
}

fn cases(rye: &Rye, spec: &Entry, place: &Place) -> Result<Vec<Case>, Diagnostic> {
    let gone = || {
        let why = "it is gone".to_owned();
        Diagnostic::from(&TestError::Malformed {
            place: place.clone(),
            pointer: String::new(),
            why,
        })
    };
    let root = rye.spaces().get(spec.space).ok_or_else(gone)?;
    let bytes = root.read(&spec.relative()).map_err(|error| Diagnostic::from(&error))?;
    read(&bytes.ok_or_else(gone)?, place).map_err(|error| Diagnostic::from(&error as &dyn Diagnose))
}
