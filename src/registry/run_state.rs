//! The state of a run.

use std::fmt;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

/// The state of a thread or of a detached run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunState {
    /// It waits for a place.
    Created,
    Running,
    /// It waits for a person.
    Waiting,
    Completed,
    Failed,
    Cancelled,
    /// Another thread goes on for it.
    Continued,
    /// Its process is gone and did not say how it ended.
    Killed,
}

impl RunState {
    pub(crate) const ALL: [Self; 8] = [
        Self::Created,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Continued,
        Self::Killed,
    ];

    /// The word for it in the registry and in every answer.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Continued => "continued",
            Self::Killed => "killed",
        }
    }

    /// It waits for a place, or runs.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::Created | Self::Running)
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for RunState {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl ToSql for RunState {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

impl FromSql for RunState {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = value.as_str()?;
        Self::ALL.into_iter().find(|known| known.as_str() == text).ok_or(FromSqlError::InvalidType)
    }
}
