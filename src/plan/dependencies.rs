//! What a run takes from the spaces beside its chain.

use super::deps;
use super::error::PlanError;
use super::layered;
use super::shelf::Shelf;
use super::tree::Anchored;
use crate::chain::Chain;
use crate::trace::Sink;
use crate::verify::Source;

/// The modules with a line of their own and the config that a plan of this chain would admit,
/// without making one: no parameters are asked for, and nothing of the machine is looked at.
///
/// # Errors
/// Those of [`super::Plan::build`] that are about these files.
pub(crate) fn dependencies(
    chain: &Chain,
    shelf: &dyn Shelf,
    sink: &dyn Sink,
) -> Result<Vec<Source>, PlanError> {
    let anchored = Anchored::of(chain, shelf, sink)?;
    let modules = deps::modules(chain, anchored.as_ref(), shelf, sink)?;
    let resolved = layered::resolve(chain, shelf, sink)?;
    let (_, limited_by) = layered::limits(chain.tool().item(), shelf, sink)?;
    Ok([modules, resolved.sources, limited_by].concat())
}
