//! A [`RyeBuilder`] whose facade carries out every kind of run.

use std::sync::Arc;

use super::run_modes::Modes;
use crate::host::Vars;
use crate::rye::RyeBuilder;

impl Default for RyeBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl RyeBuilder {
    /// The environment and working directory of this process.
    pub fn new() -> Self {
        Self::from_vars(Vars::from_process())
    }

    /// This environment, which was read already, and the working directory of this process.
    pub(crate) fn from_vars(vars: Vars) -> Self {
        Self::with(vars, Arc::new(Modes))
    }
}
