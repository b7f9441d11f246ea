//! The time in which the engine of a snippet itself runs. It counts on where a snippet goes on
//! that waited for a person, and what is computed again for that does not count again.

use std::time::Duration;

/// The time that an engine used of its limit.
#[derive(Debug)]
pub(super) struct EngineTime {
    most: Duration,
    /// The time that counted when the snippet waited.
    before: Duration,
    /// The time that the engine ran in this run, computing again included.
    ran: Duration,
    counts: Counts,
}

/// From where on what the engine runs counts.
#[derive(Debug)]
enum Counts {
    /// Nothing does: it computes what it computed before.
    NotYet,
    /// From the next look at the clock on.
    Next,
    From(Duration),
}

impl EngineTime {
    pub(super) fn new(most: Duration) -> Self {
        Self {
            most,
            before: Duration::ZERO,
            ran: Duration::ZERO,
            counts: Counts::From(Duration::ZERO),
        }
    }

    /// As [`Self::new`], but for a snippet that goes on after a wait; `before` is the time that
    /// counted until then.
    pub(super) fn again(most: Duration, before: Duration) -> Self {
        Self { before, counts: Counts::NotYet, ..Self::new(most) }
    }

    /// The most that a run takes which computes again what another one did. It may take twice as
    /// long as that could, since the machine may be busier now.
    pub(super) fn most_again(most: Duration) -> Duration {
        most.saturating_mul(3)
    }

    /// All that was computed before was computed again.
    pub(super) fn caught_up(&mut self) {
        self.counts = Counts::Next;
    }

    /// The time that is left to an engine that ran so long by now.
    pub(super) fn left(&mut self, ran: Duration) -> Duration {
        self.ran = ran;
        if let Counts::Next = self.counts {
            self.counts = Counts::From(ran);
        }
        match self.counts {
            Counts::From(_) => self.most.saturating_sub(self.used()),
            Counts::NotYet | Counts::Next => self.most.saturating_mul(2).saturating_sub(ran),
        }
    }

    /// The time that counts by now.
    pub(super) fn used(&self) -> Duration {
        match self.counts {
            Counts::From(from) => self.before + self.ran.saturating_sub(from),
            Counts::NotYet | Counts::Next => self.before,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::EngineTime;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn what_is_computed_again_does_not_count_and_what_counted_before_does() {
        let mut first = EngineTime::new(ms(1_000));
        assert_eq!((first.left(ms(0)), first.left(ms(600))), (ms(1_000), ms(400)));
        let before = first.used();
        for slower in [1, 600, 1_900] {
            let mut again = EngineTime::again(ms(1_000), before);
            assert!(again.left(ms(slower)) > ms(0), "it may compute it again");
            again.caught_up();
            assert_eq!(again.left(ms(slower)), ms(400), "{slower}");
            assert_eq!(again.left(ms(slower + 300)), ms(100), "{slower}");
            assert_eq!(again.left(ms(slower + 400)), ms(0), "{slower}");
            assert_eq!(again.used(), ms(1_000));
        }
        let mut endless = EngineTime::again(ms(1_000), before);
        assert_eq!((endless.left(ms(2_000)), endless.used()), (ms(0), before));
    }
}
