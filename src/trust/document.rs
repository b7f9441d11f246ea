//! Trust documents: whom a person believes (core 4.2).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::key_scope::{InProject, KeyScope};
use crate::base::Timestamp;
use crate::base::limits::DATA_SIGNS;
use crate::base::text::{brief_line, unfit};
use crate::base::value_count::has_more_signs;
use crate::id::{Fingerprint, Pattern};
use crate::signature::{MARK, PublicKey};
use crate::space::ProjectIdentity;

/// Whom a person believes, for what, where and until when.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrustDocument {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) owner: String,
    /// The items that it may sign wherever it counts, unless a project has its own answer.
    pub(crate) scope: KeyScope,
    /// `None` stands for every project.
    pub(crate) projects: Option<Vec<PathBuf>>,
    /// The folders at those paths, as they were when the document was written: another folder that
    /// is put at the path later is another project.
    pub(crate) project_ids: Vec<ProjectIdentity>,
    /// The answers for single projects, each instead of the scope above.
    pub(crate) in_project: Vec<InProject>,
    /// The person insisted on a key whose private half is public.
    pub(crate) example: bool,
    /// The key was your own until you rotated it. It may sign what your own key may sign.
    pub(crate) was_own: bool,
    pub(crate) public_key: PublicKey,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawInProject {
    project: ProjectIdentity,
    items: Option<Vec<String>>,
    #[serde(default)]
    wished: bool,
    #[serde(default)]
    also: Vec<String>,
    not_after: Option<toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    fingerprint: String,
    owner: String,
    items: Option<Vec<String>>,
    #[serde(default)]
    wished: bool,
    #[serde(default)]
    also: Vec<String>,
    projects: Option<Vec<PathBuf>>,
    #[serde(default)]
    project_ids: Vec<ProjectIdentity>,
    not_after: Option<toml::Value>,
    #[serde(default)]
    in_project: Vec<RawInProject>,
    #[serde(default)]
    example: bool,
    #[serde(default)]
    was_own: bool,
    public_key: RawKey,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKey {
    pub(super) pem: String,
}

impl RawKey {
    /// The key, which has that fingerprint.
    pub(super) fn with(&self, fingerprint: &str) -> Result<PublicKey, DocumentFault> {
        let fingerprint: Fingerprint =
            fingerprint.parse().map_err(|_| "`fingerprint` is not a valid fingerprint")?;
        match PublicKey::from_pem(&self.pem) {
            None => Err("`public_key.pem` is not a valid Ed25519 public key".into()),
            Some(Err(_)) => Err(DocumentFault::Weak),
            Some(Ok(key)) if key.fingerprint() == fingerprint => Ok(key),
            Some(Ok(_)) => Err("`fingerprint` is not the fingerprint of `public_key.pem`".into()),
        }
    }
}

impl TrustDocument {
    /// Reads the text of a document; says nothing about who wrote it.
    ///
    /// # Errors
    /// [`DocumentFault::Weak`] for a key that proves nothing; else a sentence that says what is
    /// wrong, for example a fingerprint that is not the key's.
    pub(crate) fn parse(text: &str) -> Result<Self, DocumentFault> {
        if has_more_signs(text, DATA_SIGNS) {
            return Err("it holds more than any trust document".into());
        }
        let raw: Raw =
            toml::from_str(text).map_err(|e| DocumentFault::Wrong(brief_line(e.message())))?;
        let public_key = raw.public_key.with(&raw.fingerprint)?;
        // The owner is shown between these marks, so it must not hold one.
        let is_line = !raw.owner.contains(|c: char| c.is_control() || c == '`')
            && unfit(&raw.owner).is_none();
        if !is_line || raw.owner.len() > 200 {
            return Err("`owner` is not a short line of plain text without backticks".into());
        }
        // In a document of your own it would be taken for a second signature line.
        let ids = raw.project_ids.iter().chain(raw.in_project.iter().map(|own| &own.project));
        let paths = raw.projects.iter().flatten().chain(ids.map(|id| &id.path));
        if raw.owner.contains(MARK) || paths.into_iter().any(|p| p.to_string_lossy().contains(MARK))
        {
            return Err("a value looks like a signature line".into());
        }
        let Raw { owner, projects, project_ids, example, was_own, .. } = raw;
        let not_after = raw.not_after.as_ref();
        let scope = KeyScope::from_raw(raw.items, raw.wished, &raw.also, not_after)?;
        let own = |raw: RawInProject| {
            let not_after = raw.not_after.as_ref();
            let scope = KeyScope::from_raw(raw.items, raw.wished, &raw.also, not_after)?;
            Ok::<_, String>(InProject { project: raw.project, scope })
        };
        let in_project = raw.in_project.into_iter().map(own).collect::<Result<_, _>>()?;
        Ok(Self {
            fingerprint: public_key.fingerprint(),
            owner,
            scope,
            projects,
            project_ids,
            in_project,
            example,
            was_own,
            public_key,
        })
    }

    /// The document of a key with its owner and no other statement.
    pub(crate) fn new(public_key: PublicKey, owner: String) -> Self {
        Self {
            fingerprint: public_key.fingerprint(),
            owner,
            scope: KeyScope::default(),
            projects: None,
            project_ids: Vec::new(),
            in_project: Vec::new(),
            example: false,
            was_own: false,
            public_key,
        }
    }

    /// The document as it counts for items of this project. A caller that asks about another space
    /// names no project: a person's answer about a project counts for its own items alone. If
    /// another folder lies at the path of an answer, the answer's list stands until the person
    /// answers again.
    pub(crate) fn as_in(&self, project: Option<&ProjectIdentity>) -> Self {
        let own = project.and_then(|here| self.in_project.iter().find(|own| own.project.is(here)));
        let scope = match (own, self.answer_for_other(project)) {
            (Some(own), _) => own.scope.clone(),
            (None, Some(other)) => KeyScope {
                not_after: [other.not_after, self.scope.not_after].into_iter().flatten().min(),
                ..if other.items.is_some() { other } else { &self.scope }.clone()
            },
            (None, None) => self.scope.clone(),
        };
        Self { scope, in_project: Vec::new(), ..self.clone() }
    }

    /// The answers that hold together in this project, so that the narrower counts: that for the
    /// project, or that for another folder which lay at its path and that for every project.
    pub(super) fn answers_in(&self, project: Option<&ProjectIdentity>) -> Vec<Self> {
        let with = |scope: &KeyScope| Self {
            scope: scope.clone(),
            in_project: Vec::new(),
            ..self.clone()
        };
        match self.answer_for_other(project) {
            Some(other) => vec![with(other), with(&self.scope)],
            None => vec![self.as_in(project)],
        }
    }

    /// The answer for another folder that lay at this project's path, where the project itself has
    /// none.
    pub(crate) fn answer_for_other(&self, project: Option<&ProjectIdentity>) -> Option<&KeyScope> {
        let here = project?;
        if self.in_project.iter().any(|own| own.project.is(here)) {
            return None;
        }
        let other = self.in_project.iter().find(|own| own.project.path == here.path)?;
        Some(&other.scope)
    }

    /// Says what the key may sign in this project, and changes nothing of what it may sign
    /// elsewhere.
    pub(crate) fn set_scope_in(&mut self, project: &ProjectIdentity, scope: KeyScope) {
        self.in_project.retain(|own| own.project.path != project.path);
        let is_only_one = self.projects.as_deref() == Some(std::slice::from_ref(&project.path));
        if is_only_one {
            self.scope = scope;
        } else if scope != self.scope {
            self.in_project.push(InProject { project: project.clone(), scope });
        }
    }

    /// Lets the key count in every project, with this scope. Those that it was limited to keep what
    /// was said of them.
    pub(crate) fn set_scope_everywhere(&mut self, scope: KeyScope) {
        for project in std::mem::take(&mut self.project_ids) {
            let is_said = self.in_project.iter().any(|own| own.project.path == project.path);
            if !is_said && self.scope != scope {
                self.in_project.push(InProject { project, scope: self.scope.clone() });
            }
        }
        (self.projects, self.scope) = (None, scope);
    }

    /// The part of another person's document that counts: the key, the owner, where and until when,
    /// and its items as a wish.
    pub(crate) fn into_wish(self) -> Self {
        let wished = self.scope.items.is_some();
        let scope = KeyScope { wished, also: Vec::new(), ..self.scope };
        Self { scope, in_project: Vec::new(), example: false, was_own: false, ..self }
    }

    /// The items that the key may sign, in words for people.
    pub(crate) fn covers(&self) -> String {
        let never = match self.projects {
            None => "`rye/**`, hooks and config",
            Some(_) => "`rye/**` and hooks",
        };
        let joined =
            |items: &[Pattern]| items.iter().map(Pattern::as_str).collect::<Vec<_>>().join(", ");
        let mut covers = match &self.scope.items {
            None if self.was_own => "what your own key may sign".to_owned(),
            None => format!("everything but {never}"),
            Some(items) if self.scope.wished => format!("{}, but for {never}", joined(items)),
            Some(items) => joined(items),
        };
        if !self.scope.also.is_empty() {
            covers.push_str(&format!("; also {}", joined(&self.scope.also)));
        }
        covers
    }

    /// As [`Self::covers`], with the projects and the time, each project that has its own answer
    /// apart.
    pub(crate) fn covers_everywhere(&self) -> String {
        let own = |path: &PathBuf| self.in_project.iter().find(|own| own.project.path == *path);
        let said = |document: &Self, paths: &[&PathBuf]| {
            let until =
                document.scope.not_after.map(|at| format!(", until {at}")).unwrap_or_default();
            let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            let place = if paths.is_empty() { "" } else { ", in " };
            format!("{}{place}{}{until}", document.covers(), paths.join(", "))
        };
        let plain: Vec<&PathBuf> = match &self.projects {
            Some(projects) => projects.iter().filter(|path| own(path).is_none()).collect(),
            None => Vec::new(),
        };
        let is_plain = self.projects.is_none() || !plain.is_empty();
        let here = |own: &InProject| {
            let said = said(&self.as_in(Some(&own.project)), &[&own.project.path]);
            match ProjectIdentity::read(&own.project.path) {
                Ok(now) if !own.project.is(&now) => format!(
                    "{said} (another folder lies there now, where no more than that holds until \
                     you say it anew with `rye trust accept`)"
                ),
                _ => said,
            }
        };
        let parts = is_plain.then(|| said(self, &plain)).into_iter();
        parts.chain(self.in_project.iter().map(here)).collect::<Vec<_>>().join("; ")
    }

    /// The end of each answer of the document that counts somewhere.
    pub(crate) fn times(&self) -> impl Iterator<Item = Option<Timestamp>> {
        let has_own = |path: &PathBuf| self.in_project.iter().any(|own| own.project.path == *path);
        let is_plain = self.projects.as_ref().is_none_or(|paths| !paths.iter().all(has_own));
        let plain = is_plain.then_some(self.scope.not_after);
        plain.into_iter().chain(self.in_project.iter().map(|own| own.scope.not_after))
    }

    /// The text of the document. A TOML writer makes it, so no value can become another key.
    pub(crate) fn to_toml(&self) -> String {
        let mut table = toml::Table::new();
        table.insert("fingerprint".into(), self.fingerprint.to_string().into());
        table.insert("owner".into(), self.owner.clone().into());
        self.scope.write(&mut table);
        if let Some(projects) = &self.projects {
            let projects: Vec<toml::Value> =
                projects.iter().map(|p| p.to_string_lossy().into_owned().into()).collect();
            table.insert("projects".into(), projects.into());
        }
        if self.example {
            table.insert("example".into(), true.into());
        }
        if self.was_own {
            table.insert("was_own".into(), true.into());
        }
        let id = |id: &ProjectIdentity| {
            toml::Value::try_from(id).expect("a project id is texts and numbers")
        };
        let ids: Vec<toml::Value> = self.project_ids.iter().map(id).collect();
        if !ids.is_empty() {
            table.insert("project_ids".into(), ids.into());
        }
        let own = |own: &InProject| {
            let mut table = toml::Table::from_iter([("project".into(), id(&own.project))]);
            own.scope.write(&mut table);
            toml::Value::Table(table)
        };
        if !self.in_project.is_empty() {
            let own: Vec<toml::Value> = self.in_project.iter().map(own).collect();
            table.insert("in_project".into(), own.into());
        }
        let mut key = toml::Table::new();
        key.insert("pem".into(), self.public_key.to_pem().into());
        table.insert("public_key".into(), key.into());
        toml::to_string_pretty(&table).expect("a table of TOML values is TOML")
    }
}

/// Why a text is not a trust document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DocumentFault {
    #[error("its public key is weak: not canonical, or not of full order")]
    Weak,
    #[error("{0}")]
    Wrong(String),
}

impl From<&str> for DocumentFault {
    fn from(why: &str) -> Self {
        Self::Wrong(why.to_owned())
    }
}

impl From<String> for DocumentFault {
    fn from(why: String) -> Self {
        Self::Wrong(why)
    }
}

#[cfg(test)]
mod tests {
    use super::{InProject, KeyScope, TrustDocument};
    use crate::base::Timestamp;
    use crate::signature::KeyPair;
    use crate::space::ProjectIdentity;
    use crate::trust::own_file::write_signed;

    fn document() -> TrustDocument {
        let public_key = KeyPair::generate().unwrap().public();
        TrustDocument {
            fingerprint: public_key.fingerprint(),
            owner: "acme build".into(),
            scope: KeyScope {
                items: Some(vec!["tool:acme/*".parse().unwrap()]),
                wished: true,
                also: vec!["config:acme/*".parse().unwrap()],
                not_after: Some("2027-01-01T00:00:00Z".parse().unwrap()),
            },
            projects: Some(vec!["/".into()]),
            project_ids: vec![ProjectIdentity::read("/".as_ref()).unwrap()],
            in_project: vec![InProject {
                project: ProjectIdentity::read("/usr".as_ref()).unwrap(),
                scope: KeyScope {
                    also: vec!["tool:hooks/*".parse().unwrap()],
                    ..KeyScope::default()
                },
            }],
            example: false,
            was_own: true,
            public_key,
        }
    }

    #[test]
    fn a_document_survives_its_file() {
        let document = document();
        assert_eq!(TrustDocument::parse(&document.to_toml()), Ok(document));
    }

    #[test]
    fn d04_an_owner_cannot_write_other_keys() {
        let evil = "x\"\nitems = [\"*:**\"]\nowner2 = \"y";
        let document =
            TrustDocument { owner: evil.into(), scope: KeyScope::default(), ..document() };
        let text = document.to_toml();
        assert!(TrustDocument::parse(&text).is_err(), "a line feed in an owner is refused");
        let quiet = TrustDocument { owner: "x\" ] } [".into(), ..document };
        assert_eq!(TrustDocument::parse(&quiet.to_toml()), Ok(quiet));
    }

    #[test]
    fn no_value_of_a_document_looks_like_a_signature_line() {
        let evil = "x # rye:signed:v2";
        let good = document();
        assert_eq!(TrustDocument::parse(&good.to_toml()).as_ref(), Ok(&good));
        let owner = TrustDocument { owner: evil.into(), ..good.clone() };
        let project = TrustDocument { projects: Some(vec![evil.into()]), ..good.clone() };
        for document in [owner, project] {
            let error = TrustDocument::parse(&document.to_toml()).unwrap_err().to_string();
            assert_eq!(error, "a value looks like a signature line");
            // Such a value is not written either, wherever it came from.
            let folder = tempfile::tempdir().unwrap();
            let id = "keys/trusted/x".parse().unwrap();
            let (pair, now) = (KeyPair::generate().unwrap(), Timestamp::from_second(0));
            let write = |body: &str| write_signed(folder.path(), &id, "toml", body, &pair, now);
            assert!(write(&document.to_toml()).is_err());
            assert!(!folder.path().join(".ai").exists());
            assert!(write(&good.to_toml()).is_ok_and(|path| path.is_file()));
        }
    }

    #[test]
    fn wrong_documents_table() {
        let good = document().to_toml();
        let other = KeyPair::generate().unwrap().public();
        for (bad, why) in [
            (good.replace("acme build", "acme\\u202e"), "owner"),
            (good.replace("acme build", "acme\\rbuild"), "owner"),
            (good.replace("acme build", "acme\\tbuild"), "owner"),
            (good.replace(&document().fingerprint.to_string(), "x"), ""),
            (good.replacen("fingerprint = \"", "fingerprint = \"0", 1), "fingerprint"),
            (
                {
                    let line = good.lines().next().unwrap();
                    good.replace(line, &format!("fingerprint = \"{}\"", other.fingerprint()))
                },
                "not the fingerprint of",
            ),
            (format!("trusted = true\n{good}"), "trusted"),
            (good.replace("tool:acme/*", "tool:{a,b}"), "items"),
            (good.replace("2027-01-01T00:00:00Z", "soon"), "not_after"),
        ] {
            if bad == good {
                continue;
            }
            let error = TrustDocument::parse(&bad).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
