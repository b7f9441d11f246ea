//! Why a search is refused.

use crate::base::limits::{SEARCH_BYTES, SEARCH_WORDS};
use crate::diagnostic::{Code, Diagnose, codes};

codes! {
    SEARCH_QUERY = "search.query", Usage;
    SEARCH_CURSOR = "search.cursor", Usage;
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SearchError {
    #[error("the query has more than {SEARCH_WORDS} words or {SEARCH_BYTES} bytes")]
    TooMuch,
    #[error("the cursor does not belong to this search")]
    Cursor,
}

impl Diagnose for SearchError {
    fn code(&self) -> Code {
        match self {
            Self::TooMuch => SEARCH_QUERY,
            Self::Cursor => SEARCH_CURSOR,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::TooMuch => "name the few words that matter most".into(),
            Self::Cursor => {
                "give the cursor as it came, with the same words and filters; or begin without one"
                    .into()
            }
        })
    }
}
