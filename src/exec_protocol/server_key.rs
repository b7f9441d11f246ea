//! The key of a kept process: two calls share a process if it is started and held alike for both.

use crate::base::Digest;
use crate::host::Spawn;
use crate::plan::{Plan, Process};

/// Everything that tells one kept process from another, each part behind its length.
#[derive(Default)]
pub(crate) struct ServerKey(Vec<u8>);

impl ServerKey {
    pub(crate) fn add(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.0.extend(part.len().to_le_bytes());
        self.0.extend(part);
    }

    /// The process that a plan starts, and what holds it. Variables `of_one_run` have another value
    /// each time and are none of it.
    pub(crate) fn add_start(&mut self, plan: &Plan, process: &Process, of_one_run: &[&str]) {
        let Spawn { program, args, env, cwd, sandbox, .. } = plan.spawn(process, None, None);
        self.add(program.as_os_str().as_encoded_bytes());
        self.add(cwd.as_os_str().as_encoded_bytes());
        self.add(args.len().to_le_bytes());
        for argument in &args {
            self.add(argument.as_encoded_bytes());
        }
        for (name, value) in env.iter().filter(|(name, _)| !of_one_run.contains(&name.as_str())) {
            self.add(name);
            self.add(value.as_encoded_bytes());
        }
        self.add(plan.sandbox().to_string());
        for (service, secret) in sandbox.iter().flat_map(|sandbox| &sandbox.egress.secrets) {
            self.add(service);
            self.add(secret.as_str());
        }
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}
