//! The parts of the spaces that plans take beyond their chains, admitted like everything else.

use std::borrow::Cow;

use super::load::Loader;
use crate::diagnostic::Failure;
use crate::id::{Kind, Ref, Space};
use crate::parse::Item;
use crate::plan::{ConfigCopy, PlanError, PlanSource};
use crate::space::{Folder, SpaceError};
use crate::verify::{PartsRoot, Source};

impl PlanSource for Loader<'_> {
    fn parts_folder<'s>(
        &'s self,
        source: &Source,
        root: PartsRoot,
    ) -> Result<Option<(Folder<'s>, String)>, SpaceError> {
        source.parts_folder(&self.rye.spaces, root)
    }

    fn admit_beside(&self, beside: &Source, path: &str) -> Result<Option<Source>, Failure> {
        let Some(path) = path.strip_prefix(".ai/") else { return Ok(None) };
        let kind = Kind::ALL.into_iter().find_map(|kind| {
            let rest = path.strip_prefix(kind.folder())?.strip_prefix('/')?;
            Some((kind, rest))
        });
        let Some((kind, (id, ext))) = kind.and_then(|(k, rest)| Some((k, rest.rsplit_once('.')?)))
        else {
            return Ok(None);
        };
        let (Ok(id), Some(_)) = (id.parse(), self.rye.types.find(kind, ext)) else {
            return Ok(None);
        };
        let item = Ref::new(kind, id);
        let found = self.resolver(|resolver| resolver.in_space(&item, beside.space()))?;
        match found.filter(|found| found.ext == ext) {
            Some(found) => Ok(Some(self.verify(found)?)),
            None => Ok(None),
        }
    }

    fn configs(&self, item: &Ref) -> Result<Vec<ConfigCopy>, Failure> {
        let mut copies = Vec::new();
        for space in Space::NEAREST_FIRST {
            if space == Space::Project && !self.accepts_project() {
                continue;
            }
            let found = self.resolver(|resolver| resolver.in_space(item, space))?;
            let Some(found) = found else { continue };
            if self.resolver(|resolver| resolver.is_passed_over(&found))? {
                continue;
            }
            let source = self.verify(found)?;
            if let Item::Config(config) = Item::parse(&source)? {
                copies.push(ConfigCopy { space, source, value: config.value });
            }
        }
        copies.reverse();
        Ok(copies)
    }

    fn dotenv(&self) -> Result<Option<Cow<'static, [u8]>>, Failure> {
        if !self.accepts_project() {
            return Ok(None);
        }
        let Some(root) = self.rye.spaces.get(Space::Project) else { return Ok(None) };
        let Some(folder) = root.base_folder()? else { return Ok(None) };
        let Ok(name) = ".env".parse() else { return Ok(None) };
        folder.read(&name).map_err(|error| PlanError::EnvFile(error).into())
    }
}

impl Loader<'_> {
    fn accepts_project(&self) -> bool {
        let identity = self.rye.spaces.project_identity();
        identity.is_some_and(|identity| self.trust.accepts(identity).unwrap_or(false))
    }
}
