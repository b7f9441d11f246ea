//! Connections to the registry that are open, for the next who asks: to open one costs as much as a
//! few reads. Only a node keeps them; else another version of rye could not move the file aside.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::db::Registry;
use super::error::RegistryError;
use crate::base::sync::unpoisoned;

/// The open connections to the registry of one user space.
#[derive(Default)]
pub(crate) struct RegistryPool {
    free: Mutex<Vec<Registry>>,
    /// So many are kept.
    most: AtomicUsize,
}

/// A connection of a pool, which goes back there.
pub(crate) struct PooledRegistry<'p> {
    pool: &'p RegistryPool,
    /// There until it is dropped.
    registry: Option<Registry>,
}

impl RegistryPool {
    /// Keeps so many connections from now on.
    pub(crate) fn keep(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// The registry of a user space, which is the same at each call, if it has one.
    ///
    /// # Errors
    /// As [`Registry::open`].
    pub(crate) fn find(&self, user: &Path) -> Result<Option<PooledRegistry<'_>>, RegistryError> {
        let free = unpoisoned(self.free.lock()).pop();
        let registry = free.map_or_else(|| Registry::find(user), |free| Ok(Some(free)))?;
        Ok(registry.map(|registry| PooledRegistry { pool: self, registry: Some(registry) }))
    }
}

impl Deref for PooledRegistry<'_> {
    type Target = Registry;

    fn deref(&self) -> &Registry {
        self.registry.as_ref().expect("it is not dropped")
    }
}

impl DerefMut for PooledRegistry<'_> {
    fn deref_mut(&mut self) -> &mut Registry {
        self.registry.as_mut().expect("it is not dropped")
    }
}

impl Drop for PooledRegistry<'_> {
    fn drop(&mut self) {
        let mut free = unpoisoned(self.pool.free.lock());
        if free.len() < self.pool.most.load(Ordering::Relaxed) {
            free.extend(self.registry.take());
        }
    }
}
