//! The items that a key may sign, and until when (core 4.2).

use crate::base::Timestamp;
use crate::id::Pattern;
use crate::space::ProjectIdentity;

/// The items that a key may sign in one project.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InProject {
    pub(crate) project: ProjectIdentity,
    pub(crate) scope: KeyScope,
}

/// The items that a key may sign, and until when.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct KeyScope {
    /// `None` stands for everything except `rye/**`, hooks and, unless projects are named, config.
    pub(crate) items: Option<Vec<Pattern>>,
    /// The items were chosen by a proposal and not by a person, so the default limits hold as well.
    pub(crate) wished: bool,
    /// The items that the person added to those, or to the default.
    pub(crate) also: Vec<Pattern>,
    pub(crate) not_after: Option<Timestamp>,
}

impl KeyScope {
    /// Adds items to those that the key may sign; what is there already is not added again.
    pub(crate) fn add_items(&mut self, more: &[Pattern]) {
        let list = match &mut self.items {
            Some(items) if !self.wished => items,
            _ => &mut self.also,
        };
        for pattern in more {
            if !list.contains(pattern) {
                list.push(pattern.clone());
            }
        }
    }

    /// Replaces the items that the key may sign.
    pub(crate) fn set_items(&mut self, items: Vec<Pattern>) {
        (self.items, self.wished) = (Some(items), false);
        self.also.clear();
    }

    /// Goes back to what a key may sign of which nothing was said; the time stays.
    pub(crate) fn set_default(&mut self) {
        *self = Self { not_after: self.not_after, ..Self::default() };
    }

    pub(super) fn from_raw(
        items: Option<Vec<String>>,
        wished: bool,
        also: &[String],
        not_after: Option<&toml::Value>,
    ) -> Result<Self, String> {
        let items = items.map(|texts| patterns("items", &texts)).transpose()?;
        let (also, not_after) = (patterns("also", also)?, not_after.map(time).transpose()?);
        Ok(Self { items, wished, also, not_after })
    }

    pub(super) fn write(&self, table: &mut toml::Table) {
        let texts = |patterns: &[Pattern]| -> toml::Value {
            let texts = patterns.iter().map(|pattern| pattern.as_str().into());
            texts.collect::<Vec<toml::Value>>().into()
        };
        if let Some(items) = &self.items {
            table.insert("items".into(), texts(items));
        }
        if self.wished {
            table.insert("wished".into(), true.into());
        }
        if !self.also.is_empty() {
            table.insert("also".into(), texts(&self.also));
        }
        if let Some(at) = self.not_after {
            table.insert("not_after".into(), at.to_string().into());
        }
    }
}

fn patterns(field: &str, texts: &[String]) -> Result<Vec<Pattern>, String> {
    let parse = |text: &String| text.parse().map_err(|e| format!("`{field}`: {e}"));
    texts.iter().map(parse).collect()
}

/// A time as text or as a TOML date-time.
fn time(value: &toml::Value) -> Result<Timestamp, String> {
    let text = match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Datetime(time) => time.to_string(),
        _ => return Err("`not_after` is not a valid time".into()),
    };
    text.parse()
        .map_err(|()| "`not_after` is not a valid time such as `2027-01-01T00:00:00Z`".into())
}
