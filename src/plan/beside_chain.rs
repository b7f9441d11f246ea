//! The items that a run takes from the spaces beside its chain.

use super::config_layers;
use super::listed_hosts;
use super::plan_source::PlanSource;
use super::tree::Anchored;
use super::verify_deps;
use crate::chain::Chain;
use crate::diagnostic::Failure;
use crate::trace::Sink;
use crate::verify::Source;

/// The modules with a line of their own and the config that a plan of this chain would admit,
/// without making one: no parameters are asked for, and nothing of the machine is looked at.
///
/// # Errors
/// Those of [`super::Plan::build`] that are about these files.
pub(crate) fn dependencies(
    chain: &Chain,
    plan_source: &dyn PlanSource,
    sink: &dyn Sink,
) -> Result<Vec<Source>, Failure> {
    let anchored = Anchored::find(chain, plan_source, sink)?;
    let modules = verify_deps::modules(chain, anchored.as_ref(), plan_source, sink)?;
    let resolved = config_layers::resolve(chain, plan_source, sink)?;
    let listed = listed_hosts::sources(chain, plan_source, sink)?;
    let (_, limited_by) = config_layers::limits(chain.tool().item(), plan_source, sink)?;
    Ok([modules, resolved.sources, listed, limited_by].concat())
}
